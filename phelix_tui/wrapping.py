"""Cells of text laid into lines of a given width: words kept whole where they fit, roles kept on each piece."""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from phelix_core.frozen import frozen_in_order
from phelix_core.text import SafeStr
from phelix_tui.cells import cell_width, settled
from phelix_tui.widgets.rowlist import Cell

_WORD_OR_SPACES = re.compile(" +|[^ ]+")


@frozen_in_order
class TextLine:
    """One logical line; what does not fit goes on below it, `hang` cells in."""

    cells: tuple[Cell, ...] = ()
    hang: int = 0


def line(*parts: Cell | str, hang: int = 0) -> TextLine:
    """A line of cells; bare text is our own and has no role."""
    return TextLine(tuple(part if isinstance(part, Cell) else Cell(SafeStr(part)) for part in parts), hang)


def wrapped(text: TextLine, width: int) -> list[tuple[Cell, ...]]:
    """`text` as lines of at most `width` cells; an empty line stays one empty line."""
    if width <= 0:
        return []
    hang = min(text.hang, max(0, width - 8))
    lines: list[list[Cell]] = [[]]
    room = width
    for piece, role in _pieces(text.cells):
        for part in _parts(piece, width - hang):
            taken = cell_width(part)
            if taken > room and part.isspace():
                room = 0  # the line ends here; whether another follows, the next word decides
                continue
            if taken > room:
                lines.append([Cell(SafeStr(" " * hang))] if hang else [])
                room = width - hang
            lines[-1].append(Cell(SafeStr(part), role))
            room -= taken
    return [tuple(_joined(found)) for found in lines]


def _joined(cells: Iterable[Cell]) -> Iterable[Cell]:
    """Neighbours of one role made one, so that a line costs the terminal few bytes."""
    for role, group in groupby(cells, key=lambda cell: cell.role):
        yield Cell(SafeStr("".join(cell.text for cell in group)), role)


def _pieces(cells: Iterable[Cell]) -> Iterable[tuple[str, str]]:
    """Words and the spaces between them, each with its role."""
    for cell in cells:
        for piece in _WORD_OR_SPACES.findall(settled(cell.text)):
            yield piece, cell.role


def _parts(piece: str, width: int) -> Sequence[str]:
    """A word cut into what fits on a line of its own."""
    if cell_width(piece) <= width:
        return (piece,)
    if piece.isascii():
        return [piece[start : start + width] for start in range(0, len(piece), width)]
    parts: list[str] = []
    start = taken = 0
    for index, character in enumerate(piece):
        more = cell_width(f"x{character}") - 1  # behind a letter, so that a mark counts nothing
        if taken + more > width and index > start:
            parts.append(piece[start:index])
            start, taken = index, 0
        taken += more
    return (*parts, piece[start:])
