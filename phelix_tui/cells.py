"""Text in terminal cells: what `fit` answers is exactly as wide as asked, on every terminal.

Terminals, and the tables of rich and wcwidth, disagree about the width of some text. A line that
one of them draws wider than we counted pushes everything behind it out of its column, so the rule is
conservative: only characters whose width nobody disputes are shown, in this order.

1. The text is composed (NFC), so that most accents and all modern Hangul are single characters.
2. Variation selectors (VS1 to VS16), joiners (ZWJ, ZWNJ), enclosing keycaps and the skin tones that
   follow something are left out: the plain characters they would merge stay, side by side.
3. Flags, which are pairs of regional indicators, are shown as their two letters.
4. Combining marks stay on what they belong to, three at most; one with nothing to sit on gets `◌`.
5. Any other character stays if `unicodedata` (East Asian Width) and rich agree on its width, and
   shows as `�`, one cell, if not: spacing marks of Indic scripts, lone jamo, the symbols that became
   wide in Unicode 16, what this Python has never heard of, and controls, should one get this far.

East Asian *ambiguous* characters (`①`, `…`, the box lines and our own glyphs) count one cell, as in
every terminal's default; a terminal set to draw them wide needs its own setting changed.
Source: console page, public reports 16 and anthropics/claude-code 13438.
"""

from functools import cache, lru_cache
from typing import Literal
from unicodedata import category, east_asian_width, normalize

from rich.cells import get_character_cell_size

from phelix_core.text import SafeStr

Align = Literal["left", "right"]

DISPUTED = "�"
"""Stands, one cell wide, for a character whose width terminals do not agree on."""

ELLIPSIS = "…"
"""Stands, one cell wide, for what did not fit."""

_MOST_MARKS = 3
_KEYCAP = 0x20E3
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_REGIONAL = range(0x1F1E6, 0x1F200)
_SILENT = frozenset((0x200C, 0x200D, _KEYCAP, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))
_WIDENED = frozenset(
    # Symbols that turned from one cell to two in Unicode 16: the terminal's age decides.
    (*range(0x2630, 0x2638), *range(0x268A, 0x2690), *range(0x4DC0, 0x4E00), *range(0x1D300, 0x1D380))
)


@cache
def _width(character: str) -> int:
    """Cells that every terminal gives `character`: 0, 1 or 2; -1 where they disagree."""
    kind = category(character)
    if ord(character) in _WIDENED or kind in {"Cc", "Cf", "Cn", "Cs", "Mc", "Zl", "Zp"}:
        return -1
    wide = east_asian_width(character) in {"W", "F"}
    expected = 0 if kind in {"Mn", "Me"} else 1 + wide
    return expected if get_character_cell_size(character) == expected else -1


def _settled_character(character: str, *, after_something: bool) -> str:
    """Give what stands for one character that is not a combining mark; may be nothing."""
    code = ord(character)
    if code in _SILENT:
        return ""
    if code in _SKIN_TONES:
        return "" if after_something else DISPUTED
    if code in _REGIONAL:
        return chr(code - _REGIONAL.start + ord("A"))
    return character if _width(character) > 0 else DISPUTED


@lru_cache(4096)
def settled(text: str) -> SafeStr:
    """`text` in characters of undisputed width only, each either a base or a mark on one."""
    kept: list[str] = []
    marks = 0
    for character in normalize("NFC", text):
        if _width(character) == 0 and ord(character) not in _SILENT:
            marks += 1
            if not kept:
                kept.append("◌")
            if marks <= _MOST_MARKS:
                kept.append(character)
            continue
        if shown := _settled_character(character, after_something=bool(kept)):
            kept.append(shown)
            marks = 0
    return SafeStr("".join(kept))


def cell_width(text: str) -> int:
    """Cells that `text` takes once it has passed `fit` without being cut."""
    if text.isascii() and text.isprintable():
        return len(text)
    return sum(map(_width, settled(text)))


def cells_of(text: str) -> list[str] | None:
    """What each cell holds when `text` is shown as it is: marks with their base, "" in a wide one's second cell.

    None where terminals disagree, or where a mark has nothing to sit on.
    """
    if text.isascii() and text.isprintable():
        return list(text)
    cells: list[str] = []
    for character in text:
        width = _width(character)
        if width > 0:
            cells += (character, "") if width > 1 else (character,)
        elif width < 0 or not cells:
            return None
        else:
            cells[-1 if cells[-1] else -2] += character
    return cells


def crop(text: str, width: int) -> SafeStr:
    """As much of `text` as fits into `width` cells, settled, with an ellipsis if something is missing.

    The answer may be narrower than `width`: it is not padded, and half a wide character is not shown.
    """
    if text.isascii() and text.isprintable():
        if len(text) <= width:
            return SafeStr(text)
        return SafeStr(text[: width - 1] + ELLIPSIS) if width > 0 else SafeStr("")
    shown = settled(text)
    if sum(map(_width, shown)) <= width:
        return shown
    return SafeStr(_leading(shown, width - 1) + ELLIPSIS) if width > 0 else SafeStr("")


def _leading(shown: str, width: int) -> str:
    """Give the longest start of settled text that takes at most `width` cells, marks included."""
    taken = 0
    for index, character in enumerate(shown):
        taken += _width(character)
        if taken > width:
            return shown[:index]
    return shown


def fit(text: str, width: int, align: Align = "left") -> SafeStr:
    """`text` in exactly `width` cells: settled, cropped with an ellipsis, padded with spaces.

    A `width` of zero or less answers nothing.
    """
    shown = crop(text, width)
    padding = " " * (width - cell_width(shown))
    return SafeStr(padding + shown if align == "right" else shown + padding)
