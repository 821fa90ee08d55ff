"""An `os` that fails, is interrupted, writes short or dies at the Nth call of what a store does to the disk.

Put in place of the name `os` inside the modules that write, so that a bare machine can sweep every call without
tracing rights. The calls are counted across all those modules.
"""

import errno
import os
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from phelix_core import files
from tests.core.faults import naive

CALLS = frozenset(
    {"chmod", "chown", "close", "fchmod", "fchown", "fstat", "fsync", "link", "listdir", "lstat", "mkdir", "open"}
    | {"read", "rename", "stat", "unlink", "write"}
)
MODES = ("kill-before", "kill-after", "interrupt-before", "interrupt-after", "short")
ERRNOS = ("ENOSPC", "EIO", "EROFS", "EACCES")


class FaultyOs:
    """Forwards everything to `os`; at call number `at` of `CALLS` it does `mode` instead, or as well."""

    def __init__(self, mode: str = "count", at: int = 0) -> None:
        self.mode = mode
        self.at = at
        self.made: list[str] = []

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name not in CALLS:
            return real

        def call(*args: Any, **named: Any) -> Any:
            self.made.append(name)
            return self._faulty(name, real, args, named) if len(self.made) == self.at else real(*args, **named)

        return call

    def _faulty(self, name: str, real: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if name == "close" and not self.mode.startswith("kill"):
            real(*args)  # Linux lets go of the descriptor whatever close answers; an interrupt lands after it
            real = _nothing
        if self.mode in ERRNOS:
            number = getattr(errno, self.mode)
            raise OSError(number, os.strerror(number))
        if self.mode == "short" and name == "write":
            return real(args[0], args[1][: max(1, len(args[1]) // 3)])
        if self.mode.endswith("-before"):
            self._strike()
        answer = real(*args, **named)
        if self.mode.endswith("-after"):
            self._strike()
        return answer

    def _strike(self) -> None:
        if self.mode.startswith("kill"):
            os.kill(os.getpid(), signal.SIGKILL)
        raise KeyboardInterrupt


def _nothing(*_: Any, **__: Any) -> None: ...


@contextmanager
def faulty(mode: str = "count", at: int = 0) -> Generator[FaultyOs]:
    """Let the stores work on a `FaultyOs`."""
    shim: Any = FaultyOs(mode, at)
    modules: tuple[Any, ...] = (files, naive)
    try:
        for module in modules:
            module.os = shim
        yield shim
    finally:
        for module in modules:
            module.os = os
