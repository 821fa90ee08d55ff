"""Notes of which names in a folder our own writers touched, so that a derived index need not look at all.

A note holds a name and the folder's mtime before and after the change. Notes are written one at a time, under
a lock that is held for the change of the name alone, so that each note begins where the one before it ended:
an unbroken chain from one mtime to another says that nobody else changed the folder in between. A writer that
cannot note says nothing, and the chain breaks; then every file is compared. Losing notes is always safe.
"""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Final

from phelix_core.clock import Clock
from phelix_core.frozen import frozen

_TRIES: Final = 8
_PAUSE_S: Final = 0.0005
_LONGEST: Final = 4 << 20
"""Bytes of notes beyond which a reader that is far behind does better to compare everything."""


@frozen
class Note:
    """One change: the name, and the folder's mtime in nanoseconds before and after."""

    name: str
    before_ns: int
    after_ns: int


class Touched:
    """The notes about one folder, in a file that readers make and take away."""

    def __init__(self, path: str, clock: Clock) -> None:
        self._path = path
        self._clock = clock

    @contextmanager
    def noting(self, folder: str | int, name: str) -> Generator[None]:
        """Around one change of a name in `folder`; notes nothing where nobody asked for notes."""
        descriptor = self._locked(os.O_WRONLY | os.O_APPEND)
        if descriptor is None:
            yield
            return
        try:
            before_ns = _mtime_ns(folder)
            yield
            with suppress(OSError):
                os.write(descriptor, f"{name} {before_ns} {_mtime_ns(folder)}\n".encode())
        finally:
            os.close(descriptor)

    def take(self, folder: str) -> tuple[int, list[Note]] | None:
        """The folder's mtime now and the notes that lead to it, taken away; None where they cannot be had."""
        descriptor = self._locked(os.O_RDWR)
        if descriptor is None:
            return None
        try:
            mtime_ns = os.stat(folder).st_mtime_ns
            size = os.fstat(descriptor).st_size
            data = os.read(descriptor, size) if size <= _LONGEST else b""
            if size:
                os.ftruncate(descriptor, 0)
            return mtime_ns, _parsed(data)
        except OSError:
            return None
        finally:
            os.close(descriptor)

    def begin(self) -> None:
        """Ask for notes from now on: make the file, private."""
        with suppress(OSError):
            os.close(
                os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
            )

    def _locked(self, flags: int) -> int | None:
        """The file, locked; None where it is absent, not ours, or held by somebody who does not move on."""
        try:
            descriptor = os.open(self._path, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            return None
        for _ in range(_TRIES):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._clock.sleep(_PAUSE_S)
            except OSError:
                break
            else:
                return descriptor
        os.close(descriptor)
        return None


def _mtime_ns(folder: str | int) -> int:
    """The folder's mtime; 0 where it cannot be told, which joins no chain."""
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0


def _parsed(data: bytes) -> list[Note]:
    """Notes in order; one that is not whole ends them, since what follows it cannot be joined."""
    notes: list[Note] = []
    for line in data.splitlines():
        parts = line.split()
        if len(parts) != 3 or not (parts[1].isdigit() and parts[2].isdigit()):  # noqa: PLR2004 - name, before, after
            break
        name, before, after = parts
        notes.append(Note(name=name.decode("utf-8", "replace"), before_ns=int(before), after_ns=int(after)))
    return notes


def chained(notes: list[Note], from_ns: int, to_ns: int) -> set[str] | None:
    """Names touched between two folder times; None where the notes do not join up."""
    names: set[str] = set()
    at_ns = from_ns
    for note in notes:
        if note.before_ns != at_ns:
            if note.after_ns <= from_ns:
                continue  # told before the index was stamped
            return None
        names.add(note.name)
        at_ns = note.after_ns
    return names if at_ns == to_ns else None
