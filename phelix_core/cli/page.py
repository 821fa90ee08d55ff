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
    "ok": "green",
    "warn": "yellow",
    "fail": "red",
}


_LEAST_ROOM: Final = 24
"""A terminal that leaves less than so many cells beside what hangs gets lines that do not hang."""
_NAMING: Final = 2
"""Columns of a table that say which row it is."""
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
        head, rest = text.divide([hang])
        for number, part in enumerate(rest.wrap(self._console, self._console.width - hang)):
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
        """A table; column `flexible` gives way first where the terminal is narrow, the two that name a row never."""
        if self._console is None:
            self._plain_table(titles, rows)
            return
        from rich.box import SIMPLE_HEAD  # noqa: PLC0415 - on a terminal only
        from rich.table import Table  # noqa: PLC0415 - on a terminal only
        from rich.text import Text  # noqa: PLC0415 - on a terminal only

        table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1), header_style="bold")
        for index, title in enumerate(titles):
            kept = index < _NAMING and index != flexible
            least = max(_cells(title), *(_cells(row[index][0]) for row in rows)) if kept else None
            ratio = 1 if index == flexible else None
            table.add_column(title, no_wrap=True, overflow="ellipsis", ratio=ratio, min_width=least)
        for row in rows:
            table.add_row(*(Text(text, style=_ROLES.get(role, role)) for text, role in row))
        self._console.print(table)

    def _plain_table(self, titles: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
        lines = [list(titles), *([text for text, _ in row] for row in rows)]
        widths = [max(_cells(line[column]) for line in lines) for column in range(len(titles))]
        for line in lines:
            padded = (text + " " * (width - _cells(text)) for text, width in zip(line, widths, strict=True))
            self._stream.write("  ".join(padded).rstrip() + "\n")


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


def _cells(text: str) -> int:
    """How many columns `text` takes: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(char) in "WF" else not combining(char) for char in text)
