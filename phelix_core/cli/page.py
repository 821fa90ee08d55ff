"""Lines and tables for people: rich on a terminal, plain and stable text elsewhere; nothing is parsed as markup."""

import os
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

    def line(self, *cells: Cell | str) -> None:
        """One line of text; cells follow each other without a gap."""
        parts = [(cell, "") if isinstance(cell, str) else cell for cell in cells]
        if self._console is None:
            self._stream.write("".join(text for text, _ in parts) + "\n")
            return
        from rich.text import Text  # noqa: PLC0415 - on a terminal only

        self._console.print(Text.assemble(*((text, _ROLES.get(role, role)) for text, role in parts)))

    def verbatim(self, text: str) -> None:
        """Text for another program, ASCII: no line of it is broken or coloured."""
        self._stream.write(text)

    def table(self, titles: Sequence[str], rows: Sequence[Sequence[Cell]], *, flexible: int) -> None:
        """A table; column `flexible` gives way where the terminal is narrow."""
        if self._console is None:
            self._plain_table(titles, rows)
            return
        from rich.box import SIMPLE_HEAD  # noqa: PLC0415 - on a terminal only
        from rich.table import Table  # noqa: PLC0415 - on a terminal only
        from rich.text import Text  # noqa: PLC0415 - on a terminal only

        table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1), header_style="bold")
        for index, title in enumerate(titles):
            table.add_column(title, no_wrap=True, overflow="ellipsis", ratio=1 if index == flexible else None)
        for row in rows:
            table.add_row(*(Text(text, style=_ROLES.get(role, role)) for text, role in row))
        self._console.print(table)

    def _plain_table(self, titles: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
        lines = [list(titles), *([text for text, _ in row] for row in rows)]
        widths = [max(_cells(line[column]) for line in lines) for column in range(len(titles))]
        for line in lines:
            padded = (text + " " * (width - _cells(text)) for text, width in zip(line, widths, strict=True))
            self._stream.write("  ".join(padded).rstrip() + "\n")


def _cells(text: str) -> int:
    """How many columns `text` takes: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(char) in "WF" else not combining(char) for char in text)
