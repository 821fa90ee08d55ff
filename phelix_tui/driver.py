"""Textual's driver, with frames made thinner, counting what it was given and what the system has taken of it."""

from typing import IO, Any, cast

from textual.drivers.linux_driver import LinuxDriver

from phelix_tui.sgr import thinned


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

    def write(self, data: str) -> None:
        """Hand it to the thread that writes."""
        data = thinned(data)
        self.given += len(data)
        super().write(data)

    def unsent(self) -> int:
        """Characters that the system has not taken yet."""
        return self.given - self._taken.taken
