"""Text at the edges: caps in bytes, characters that are refused, and what a terminal may see.

Stores and `--json` keep text exact. Whatever a person will see passes `visible` (one line) or
`visible_block` (lines kept) once, in the read models; the result is `SafeStr`, and nothing else may
reach a terminal. Source: trust page, input hazards; console page, text safety.
"""

from functools import cache
from typing import NewType

SafeStr = NewType("SafeStr", str)
"""Text that holds no control, no bidirectional override and no line break of its own."""


class TextRefused(ValueError):
    """The text holds a character that no surface accepts."""


def utf8_size(text: str) -> int:
    """Size of `text` in UTF-8 bytes; NUL and lone surrogates raise `TextRefused`."""
    if "\0" in text:
        raise TextRefused("text must not hold NUL characters")
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise TextRefused("text must be valid Unicode: it holds a lone surrogate") from None


@cache
def _replacements() -> dict[int, str]:
    """Map each code point that a terminal must not see to the mark that stands for it."""
    marks = {code: chr(0x2400 + code) for code in range(0x20)}
    marks[0x7F] = "␡"
    marks |= dict.fromkeys(range(0x80, 0xA0), "�")
    marks |= dict.fromkeys(range(0xD800, 0xE000), "�")
    marks |= dict.fromkeys((0x0A, 0x0D, 0x2028, 0x2029), "⏎")
    marks[0x09] = " "
    invisible = [
        0x00AD,  # soft hyphen
        0x034F,  # combining grapheme joiner
        0x061C,  # Arabic letter mark
        0x115F,
        0x1160,
        0x17B4,
        0x17B5,
        0x180E,
        0x3164,
        0xFEFF,
        0xFFA0,
        *range(0x200B, 0x200D),  # zero-width space and non-joiner; the joiner U+200D stays
        *range(0x200E, 0x2010),  # direction marks
        *range(0x202A, 0x202F),  # embeddings and overrides
        *range(0x2060, 0x2070),  # word joiner, isolates, deprecated format characters
        *range(0xFFF0, 0xFFFC),
        *range(0x1BCA0, 0x1BCA4),
        *range(0x1D173, 0x1D17B),
        *range(0xE0000, 0xE0080),  # tag characters
    ]
    return marks | dict.fromkeys(invisible, "·")


def visible(text: str) -> SafeStr:
    """Text for one line of a terminal: each hazardous character becomes a visible mark."""
    return SafeStr(text.translate(_replacements()))


def visible_block(text: str) -> SafeStr:
    """Text for several lines: as `visible`, but the line feeds stay."""
    return SafeStr("\n".join(visible(line) for line in text.split("\n")))
