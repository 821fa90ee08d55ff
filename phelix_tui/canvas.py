"""What the terminal shows, cell by cell, so that a frame is sent in the cells that differ from it.

Textual paints regions: a list that is laid out anew, a page that is drawn again, a screen that comes back are sent
whole, though most of their cells are on the terminal already. Over a slow line that is what a person waits for. Here
each frame is laid over the one before it, and only the difference is written. What is not known is written as it
comes: after a change of size, of screen, or anything that this does not read, nothing is known.
Source: console page, Textual engineering facts ("it does not cell-diff, so region size is SSH bandwidth").
"""

import re
from functools import lru_cache
from typing import Final

from phelix_tui.cells import cells_of
from phelix_tui.sgr import change, joined

_PLACE: Final = re.compile(r"\x1b\[([0-9]+);([0-9]+)H")
_TOKEN: Final = re.compile(r"\x1b\[([0-9;]*)m|([^\x00-\x1f\x7f-\x9f]+)|\n\Z")
_PAINTS_NOTHING: Final = re.compile(
    r"(?:\x1b\[\?(?!1049|1047|47)[0-9;]+(?:[hl]|\$p)"  # modes but for the other screen, and questions about them
    r"|\x1b\[[<>=]?[0-9;]*u|\x1b\[[0-9]* q"  # keyboards, the cursor's shape
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1bP(?:[^\x1b]|\x1b\x1b)*\x1b\\|\x07)*"  # titles, clipboards, bells
)
_NEAR: Final = 5
"""Cells that are alike between two that differ are written again where going around them takes as many bytes."""

Cell = tuple[str, str] | None
"""What a cell holds and its style; the second half of a wide character holds "". None where nobody knows."""


class _Unread(Exception):
    """A frame of a kind that this does not read."""


class Canvas:
    """One terminal's cells."""

    def __init__(self) -> None:
        self._lines: dict[int, _Line] = {}
        self._cursor = ("", "")

    def forget(self) -> None:
        """Nothing is known of what the terminal shows."""
        self._lines.clear()
        self._cursor = ("", "")

    def difference(self, data: str) -> str | None:
        """What to write so that the terminal looks as after `data`; None for what is written as it is."""
        if _PAINTS_NOTHING.fullmatch(data):
            return None
        before, *rest = _PLACE.split(data)
        if before or not rest or rest[-1]:  # a frame begins with a place, and ends with the cursor's
            self.forget()
            return None
        written: list[str] = []
        style = ""
        try:
            for row, column, body in zip(rest[0:-3:3], rest[1:-3:3], rest[2:-3:3], strict=True):
                line = self._lines.get(int(row))
                if line is None:
                    line = self._lines[int(row)] = _Line(row)
                style = line.lay(int(column), body, written, style)
        except _Unread:
            self.forget()
            return None
        if style:
            written.append(change(style, ""))
        cursor = (rest[-3], rest[-2])
        if written or cursor != self._cursor:
            written.append(f"\x1b[{cursor[0]};{cursor[1]}H")
            self._cursor = cursor
        return "".join(written)


class _Line:
    """One line of it."""

    def __init__(self, row: str) -> None:
        self._row = row
        self._cells: list[Cell] = []
        self._bodies: dict[int, tuple[str, int]] = {}
        """What was laid last from a column on, and where it ends, as far as nothing was laid over it since."""

    def lay(self, x: int, body: str, written: list[str], style: str) -> str:
        """Lay a piece over the line, and write where they differ; answers the style then in force."""
        if self._bodies.get(x, ("",))[0] == body:
            return style
        cells = _cells_of(body)
        if not cells:
            return style
        known, end = self._cells, x + len(cells)
        if len(known) <= end:
            known.extend([None] * (end + 1 - len(known)))
        before = known[x:end]
        self._bodies = {at: laid for at, laid in self._bodies.items() if laid[1] <= x or at >= end}
        if before != cells:
            self._split(x, end)
            known[x:end] = cells
            for start, stop in _differing(before, cells):
                written.append(f"\x1b[{self._row};{x + start}H")
                for text, wanted in cells[start:stop]:
                    if wanted != style:
                        written.append(change(style, wanted))
                        style = wanted
                    written.append(text)
        self._bodies[x] = (body, end)
        return style

    def _split(self, x: int, end: int) -> None:
        """Half of a wide character goes with the other half."""
        if x and _is_half(self._cells[x]):
            self._lose(x - 1)
        if _is_half(self._cells[end]):
            self._lose(end)

    def _lose(self, place: int) -> None:
        self._cells[place] = None
        self._bodies = {at: laid for at, laid in self._bodies.items() if not at <= place < laid[1]}


@lru_cache(maxsize=2_048)
def _cells_of(body: str) -> "list[tuple[str, str]]":
    """The cells of a piece of a line; not to be changed. Raises `_Unread`."""
    cells: list[tuple[str, str]] = []
    style, read = "", 0
    for found in _TOKEN.finditer(body):
        if found.start() != read:
            raise _Unread
        read = found.end()
        codes, text = found.groups()
        if text is not None:
            taken = cells_of(text)
            if taken is None:
                raise _Unread
            cells += [(cell, style) for cell in taken]
        elif codes is not None:
            style = joined(style, codes)
    if read != len(body) or style:
        raise _Unread
    return cells


def _differing(before: list[Cell], after: "list[tuple[str, str]]") -> list[tuple[int, int]]:
    """Ranges of cells to write, wide characters whole, those that are near each other as one."""
    if not any(before):
        return [(0, len(after))]
    found: list[tuple[int, int]] = []
    start = stop = -_NEAR - 1
    for index in [index for index, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]:
        if index - stop > _NEAR:
            if stop > 0:
                found.append((start, stop))
            start = index
        stop = index + 1
    return [_whole(before, after, *reach) for reach in (*found, (start, stop))]


def _whole(before: list[Cell], after: "list[tuple[str, str]]", start: int, stop: int) -> tuple[int, int]:
    """The range, with the other halves of wide characters at its ends."""
    while start > 0 and (_is_half(before[start]) or _is_half(after[start])):
        start -= 1
    while stop < len(after) and (_is_half(before[stop]) or _is_half(after[stop])):
        stop += 1
    return start, stop


def _is_half(cell: Cell) -> bool:
    return cell is not None and cell[0] == ""
