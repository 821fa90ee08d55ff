"""What keys are called where the screen tells of them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {"escape": "esc", "pagedown": "pgdn", "pageup": "pgup", "question_mark": "?", "slash": "/", "colon": ":"}
)


def key_name(key: str) -> str:
    """A key as a person calls it: `?` for `question_mark`."""
    from textual.keys import key_to_character  # noqa: PLC0415 - a name is asked for when a key is told of

    if key in _NAMES or len(key) == 1:
        return _NAMES.get(key, key)
    modifiers, plus, last = key.rpartition("+")
    character = key_to_character(last)
    is_sign = character is not None and character.isprintable() and not character.isspace()
    return f"{modifiers}{plus}{character if is_sign else _NAMES.get(last, last)}"
