"""Textual's driver, sending of each frame what differs, counting what it was given and what the system has taken."""

from typing import IO, Any, cast

from textual.drivers.linux_driver import LinuxDriver

from phelix_tui.canvas import Canvas
from phelix_tui.sgr import thinned

_BEGINS, _ENDS = "\x1b[?2026h", "\x1b[?2026l"
"""Around a frame, where the terminal is to show it all at once."""


class _Taken:
    """The terminal's file, counting what it took; written to by one thread alone."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self.taken = 0

    def write(self, text: str) -> int:
        written = self._file.write(text)
        self.taken += len(text)
        return written

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class CountingDriver(LinuxDriver):
    """The driver of a terminal whose line may be slow."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)  # pyright: ignore[reportUnknownMemberType] - App[Unknown]
        assert self._file is not None  # noqa: S101 - a console has its standard error
        self._taken = _Taken(self._file)
        self._file = cast("Any", self._taken)  # a file in all that is used of one
        self.given = 0
        self.canvas = Canvas()
        self._begun = False

    def write(self, data: str) -> None:
        """Hand what differs to the thread that writes; a frame without a difference is none."""
        if data == _BEGINS:
            self._begun = True
            return
        if data == _ENDS and self._begun:
            self._begun = False
            return
        difference = self.canvas.difference(data)
        data = thinned(data) if difference is None else difference
        if data:
            data = _BEGINS + data if self._begun else data
            self._begun = False
            self.given += len(data)
            super().write(data)

    def unsent(self) -> int:
        """Characters that the system has not taken yet."""
        return self.given - self._taken.taken
