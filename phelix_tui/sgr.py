"""A frame's colours and attributes in fewer bytes, each cell looking the same.

Textual sets every piece of a line from nothing: a reset, both colours, the attributes, though the next piece mostly has
the same ground, and often all the same. Here only what differs is set, as it differs. Each frame begins and ends with a
terminal that is reset, so that nothing depends on what was written before. Source: speed page, one-row patch.
"""

import re
from functools import lru_cache
from typing import Final

_STYLE: Final = re.compile(r"\x1b\[([0-9;]*)m")
_MOVES: Final = re.compile(r"(?:\r\n|\x1b\[[0-9;]*H|\x1b\[\?2026[hl])*")
"""What moves the cursor and paints no cell: the style in force does not matter to it, as it does to what erases."""
_RESET: Final = ""


def thinned(frame: str) -> str:
    """The same frame; styles that are set, reset and set again are set once."""
    written: list[str] = []
    in_force = wanted = _RESET
    place = 0
    for found in _STYLE.finditer(frame):
        if text := frame[place : found.start()]:
            if wanted != in_force and not _MOVES.fullmatch(text):
                written.append(change(in_force, wanted))
                in_force = wanted
            written.append(text)
        place = found.end()
        wanted = joined(wanted, found[1])
    rest = frame[place:]
    if wanted != in_force:
        written.append(change(in_force, wanted))
    written.append(rest)
    return "".join(written)


def joined(wanted: str, codes: str) -> str:
    """What holds after these codes as well."""
    if codes in {"", "0"}:
        return _RESET
    if codes.startswith("0;"):
        return codes[2:]
    return f"{wanted};{codes}" if wanted else codes


@lru_cache(maxsize=4_096)
def change(before: str, after: str) -> str:
    """The sequence that makes one style of another."""
    if not after:
        return "\x1b[0m"
    whole = f"\x1b[0;{after}m" if before else f"\x1b[{after}m"
    if not before:
        return whole
    had, has = _parts(before), _parts(after)
    if had is None or has is None or had[0] != has[0] or (had[1] and not has[1]) or (had[2] and not has[2]):
        return whole
    differing = [new for old, new in zip(had[1:], has[1:], strict=True) if old != new]
    return f"\x1b[{';'.join(differing)}m" if differing else ""


@lru_cache(maxsize=4_096)
def _parts(codes: str) -> tuple[str, str, str] | None:
    """Attributes, foreground and background of a style; None of one that this does not read."""
    attributes, front, back = list[str](), "", ""
    left = codes.split(";")
    while left:
        code = left.pop(0)
        if code in {"38", "48"}:
            length = {"2": 4, "5": 2}.get(left[0] if left else "", 0)
            if not length or len(left) < length:
                return None
            colour = ";".join((code, *left[:length]))
            del left[:length]
            front, back = (colour, back) if code == "38" else (front, colour)
        elif re.fullmatch(r"3[0-7]|9[0-7]", code):
            front = code
        elif re.fullmatch(r"4[0-7]|10[0-7]", code):
            back = code
        elif re.fullmatch(r"[1-9]", code):
            attributes.append(code)
        else:
            return None
    return ";".join(attributes), front, back
