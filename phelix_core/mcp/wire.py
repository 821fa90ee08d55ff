"""The process's standard streams, taken for the protocol alone.

While they are taken, descriptor 0 reads nothing and descriptor 1 is standard error, for whatever in this process or
in a child of it reads or prints: no stray byte reaches the protocol, and none of it is taken away.
"""

import fcntl
import os
import select
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final, TypeVar

from phelix_core.mcp.gate import LINE_CAP

_Answer = TypeVar("_Answer")
_CHUNK: Final = 1 << 16
_BEYOND_STANDARD: Final = 3


class Wire:
    """Lines in and lines out, both blocking; one thread may read while another writes."""

    def __init__(self, incoming: int, outgoing: int) -> None:
        self._incoming = incoming
        self._outgoing = outgoing

    def lines(self) -> Iterator[bytes | None]:
        """Each line without its end, until the stream's end; None for one over `LINE_CAP`, which is not kept."""
        held, over = bytearray(), False
        while chunk := _patiently(partial(os.read, self._incoming, _CHUNK), self._incoming, select.POLLIN):
            first, *more = chunk.split(b"\n")
            held += first
            for part in more:
                yield None if over or len(held) > LINE_CAP else bytes(held)
                held, over = bytearray(part), False
            if len(held) > LINE_CAP:
                held, over = bytearray(), True
        if held or over:
            yield None if over else bytes(held)

    def send(self, line: str) -> None:
        """Write one line whole; raises `OSError` where nobody reads any more."""
        data, sent = line.encode() + b"\n", 0
        while sent < len(data):
            rest = memoryview(data)[sent:]
            sent += _patiently(partial(os.write, self._outgoing, rest), self._outgoing, select.POLLOUT)


@contextmanager
def taken() -> Generator[Wire]:
    """Take standard input and output for the protocol; afterwards they are what they were."""
    sys.stdout.flush()
    # These stay open: at the end a thread may still wait for a line, and a number used again would be another file.
    incoming, outgoing = (fcntl.fcntl(standard, fcntl.F_DUPFD_CLOEXEC, _BEYOND_STANDARD) for standard in (0, 1))
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # standard error is closed
        os.dup2(nothing, 1)
    os.close(nothing)
    try:
        yield Wire(incoming, outgoing)
    finally:
        sys.stdout.flush()
        os.dup2(incoming, 0)
        os.dup2(outgoing, 1)


def _patiently(act: Callable[[], _Answer], descriptor: int, event: int) -> _Answer:
    """Do what may have to wait, also where another process has made the shared stream a non-blocking one."""
    while True:
        try:
            return act()
        except BlockingIOError:
            ready = select.poll()
            ready.register(descriptor, event)
            ready.poll()
