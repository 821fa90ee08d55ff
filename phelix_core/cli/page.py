"""Lines and tables for people: rich on a terminal, plain and stable text elsewhere; nothing is parsed as markup.

On a terminal no line of ours is wider than it: what does not fit goes on below, `hang` cells in, and commands are
continued so that a shell takes them as they stand. Elsewhere nothing is broken.
"""

import os
import re
from collections.abc import Sequence
from typing import Any, Final, TextIO
from unicodedata import combining, east_asian_width

from phelix_core.text import SafeStr

_ROLES: Final = {
    "ready": "green",
    "in_progress": "bright_blue",
    "pending": "bright_black",
    "blocked": "yellow",
    "needs_recovery": "bright_red",
    "done": "cyan",
    "active": "green",
    "stale": "yellow",
    "completed": "cyan",
    "failed": "red",
    "cancelled": "bright_black",
    "unread": "red",
    "present": "green",
    "missing": "red",
    "unavailable": "red",
    "unknown": "bright_black",
    "waiting": "bright_yellow",
    "approved": "green",
    "denied": "red",
    "applied": "cyan",
    "running": "bright_blue",
    "succeeded": "green",
    "indeterminate": "bright_red",
    "healthy": "green",
    "unhealthy": "red",
    "ok": "green",
    "warn": "yellow",
    "fail": "red",
}


_LEAST_ROOM: Final = 24
"""A terminal that leaves less than so many cells beside what hangs gets lines that do not hang."""
_NAMING: Final = 2
"""Columns of a table that say which row it is."""
_LEAST_COLUMN: Final = 8
"""Cells that a column keeps, or it is left out."""
_BETWEEN: Final = 2
_SHELL_WORD: Final = re.compile(r"""(?:'[^']*'|"[^"]*"|[^\s'"])+""")
_CONTINUED: Final = " \\"

Cell = tuple[SafeStr | str, str]
"""Text and its role, "" for none."""


class Page:
    """Lines and tables on one stream, with colour only where a person looks at a terminal."""

    def __init__(self, stream: TextIO, *, no_color: bool) -> None:
        self._stream = stream
        self._console: Any = None
        if stream.isatty() and os.environ.get("TERM") != "dumb":
            from rich.console import Console  # noqa: PLC0415 - plain output and JSON start without rich

            self._console = Console(file=stream, highlight=False, markup=False, no_color=no_color or None)

    def line(self, *cells: Cell | str, hang: int = 0) -> None:
        """One line of text; cells follow each other without a gap. What a terminal has no room for hangs below it."""
        parts = [(cell, "") if isinstance(cell, str) else cell for cell in cells]
        if self._console is None:
            self._stream.write("".join(text for text, _ in parts) + "\n")
            return
        from rich.text import Text  # noqa: PLC0415 - on a terminal only

        text = Text.assemble(*((text, _ROLES.get(role, role)) for text, role in parts))
        if not hang or self._console.width - hang < _LEAST_ROOM:
            self._console.print(text)
            return
        head, rest = text.divide([_within(text.plain, hang)])
        wrapped = rest.wrap(self._console, self._console.width - hang) if rest else [rest]
        for number, part in enumerate(wrapped):
            self._console.print((Text(" " * hang) if number else head) + part)

    def shell(self, command: str) -> None:
        """A command to copy: in one line, or on a terminal that is narrower continued before its options."""
        if self._console is None:
            self._stream.write(f"  {command}\n")
            return
        from rich.text import Text  # noqa: PLC0415 - on a terminal only

        lines = _continued(command, self._console.width - len(_CONTINUED))
        for number, line in enumerate(lines):
            end = _CONTINUED if number < len(lines) - 1 else ""
            self._console.print(Text(f"{line}{end}", style="bold"), soft_wrap=True)

    def verbatim(self, text: str) -> None:
        """Text for another program, ASCII: no line of it is broken or coloured."""
        self._stream.write(text)

    def table(self, titles: Sequence[str], rows: Sequence[Sequence[Cell]], *, flexible: int) -> None:
        """A table; where the terminal is narrow the widest columns give way, but for the two that name a row.

        `flexible` is the column that gives way even if it is one of these, and that is never left out.
        """
        lines = [[(title, "bold") for title in titles], *rows]
        widths = [max(_cells(line[column][0]) for line in lines) for column in range(len(titles))]
        if self._console is None:
            for line in lines:
                padded = (text + " " * (width - _cells(text)) for (text, _), width in zip(line, widths, strict=True))
                self._stream.write("  ".join(padded).rstrip() + "\n")
            return
        from rich.text import Text  # noqa: PLC0415 - on a terminal only

        widths = _fitting(widths, self._console.width, flexible)
        for line in lines:
            parts: list[Any] = []
            for (text, role), width in zip(line, widths, strict=True):
                if width:
                    parts.append(Text(text, style=_ROLES.get(role, role)))
                    parts[-1].truncate(width, overflow="ellipsis", pad=True)
            joined = Text("  ").join(parts)
            joined.rstrip()
            self._console.print(joined, no_wrap=True, crop=True)


def _fitting(widths: Sequence[int], room: int, flexible: int) -> list[int]:
    """Widths that fit into `room`, two cells between columns; a column of none is left out."""
    fitted = list(widths)
    giving = {flexible, *range(_NAMING, len(widths))}
    while sum(fitted) + _BETWEEN * (sum(width > 0 for width in fitted) - 1) > room:
        widest = max(giving, key=lambda column: (fitted[column], column == flexible))
        if fitted[widest] > _LEAST_COLUMN:
            fitted[widest] -= 1
            continue
        left_out = max((column for column in giving if fitted[column] and column != flexible), default=None)
        if left_out is not None:
            fitted[left_out] = 0
        elif fitted[flexible] > 1:
            fitted[flexible] -= 1
        else:
            break
    return fitted


def _continued(command: str, width: int) -> list[str]:
    """A command in lines of at most `width` cells, an option and its value kept together, single words as they are."""
    groups: list[str] = []
    for word in _SHELL_WORD.findall(command):
        if groups and groups[-1].startswith("--") and " " not in groups[-1] and not word.startswith("--"):
            groups[-1] += f" {word}"
        else:
            groups.append(word)
    lines = [f"  {groups[0]}"]
    for group in groups[1:]:
        if _cells(f"{lines[-1]} {group}") <= width:
            lines[-1] += f" {group}"
        else:
            lines.append(f"      {group}")
    return lines


def _within(text: str, cells: int) -> int:
    """How many characters of `text` fit into so many cells."""
    place = taken = 0
    while place < len(text) and (taken := taken + _cells(text[place])) <= cells:
        place += 1
    return place


def _cells(text: str) -> int:
    """How many columns `text` takes: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(char) in "WF" else not combining(char) for char in text)
