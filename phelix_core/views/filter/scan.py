"""Text to lexemes: where each term of a filter starts and ends, and what it is made of; no meaning yet."""

from collections.abc import Iterator
from typing import Final

from phelix_core.frozen import frozen, frozen_in_order
from phelix_core.text import SafeStr, TextRefused, utf8_size, visible
from phelix_core.views.filter.errors import FilterError
from phelix_core.views.filter.fields import OPERATORS

MAX_BYTES: Final = 2_000
_SHOWN: Final = 40
_QUOTE_IT: Final = 'quote text to search for it as it is: "…"'

_NO_TERM_STARTS: Final = {
    "(": ("Parentheses are not part of the filter language.", f"{{usual}}=a,b means any of; {_QUOTE_IT}"),
    "-": ("A term has one minus sign at most.", f"as in -{{usual}}=billing; {_QUOTE_IT}"),
    "!": ("A term cannot start with an exclamation mark.", f"- excludes, as in -{{usual}}=billing; {_QUOTE_IT}"),
    "'": ("Single quotes do not quote.", 'use double ones: "two words"'),
    **dict.fromkeys(
        "=<>~",
        ("An operator needs a field right before it.", f"no spaces around it, as in {{usual}}=billing; {_QUOTE_IT}"),
    ),
}
"""What no term starts with: what is wrong then, and a hint that takes the name of a usual field."""
NO_VALUE_STARTS: Final = "=~<>!:'"
"""What an unquoted value must not start with: more likely a slip than meant."""


@frozen_in_order
class Piece:
    """A word, a quoted text without its quotes, or the inside of a pattern, and where it stands with them."""

    text: str
    start: int
    end: int
    quoted: bool = False


@frozen
class Lexeme:
    """One term as written; `name` and `operator` are empty but for a comparison."""

    start: int
    end: int
    pieces: tuple[Piece, ...]
    negated: bool = False
    pattern: bool = False
    name: str = ""
    operator: str = ""


def shown(text: str) -> SafeStr:
    """Text of a filter as a message may echo it: safe for a terminal, and short."""
    return visible(text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…")


def require_readable(text: str) -> None:
    """Refuse text that is too long or holds what no text may hold."""
    try:
        size = utf8_size(text)
    except TextRefused as refused:
        raise FilterError(f"The filter is not readable: {refused}.", 0, len(text)) from None
    if size > MAX_BYTES:
        message = f"The filter is {size} bytes long, over the cap of {MAX_BYTES}."
        raise FilterError(message, 0, len(text), "use fewer terms")


def lexemes(text: str, usual: str) -> Iterator[Lexeme]:
    """The terms of `text`, in order; hints take `usual` for a field."""
    at = _skip_spaces(text, 0)
    while at < len(text):
        lexeme = _lexeme(text, at, usual)
        yield lexeme
        at = _skip_spaces(text, lexeme.end)


def operator_after_name(text: str, start: int) -> tuple[int, str]:
    """Where the field's name that starts at `start` ends, and the operator there; empty if it is no comparison."""
    at = start
    while at < len(text) and text[at].isascii() and (text[at].isalpha() or text[at] == "_"):
        at += 1
    if at == start:
        return at, ""
    return at, next((operator for operator in OPERATORS if text.startswith(operator, at)), "")


def is_bare_word(text: str) -> bool:
    """Whether `text` unquoted reads as one word that means itself, `OR` and the like apart."""
    return bool(text) and text[0] not in f'/"{"".join(_NO_TERM_STARTS)}' and _is_bare(text) and not _names_field(text)


def is_bare_value(text: str) -> bool:
    """Whether `text` unquoted reads as one value that means itself."""
    return bool(text) and text[0] not in NO_VALUE_STARTS and _is_bare(text) and "," not in text


def _is_bare(text: str) -> bool:
    return '"' not in text and not any(char.isspace() for char in text)


def _names_field(text: str) -> bool:
    return bool(operator_after_name(text, 0)[1])


def _skip_spaces(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _ends(text: str, at: int) -> bool:
    return at >= len(text) or text[at].isspace()


def _lexeme(text: str, start: int, usual: str) -> Lexeme:
    negated = text[start] == "-"
    at = start + negated
    if _ends(text, at):
        hint = f"as in -{usual}=billing; {_QUOTE_IT}"
        raise FilterError("A minus sign needs a term right after it.", start, at, hint)
    if text[at] == '"':
        piece = _closed(text, _quoted(text, at), "closing quote")
        return Lexeme(start=start, end=piece.end, pieces=(piece,), negated=negated)
    if text[at] == "/":
        piece = _closed(text, _pattern(text, at), "pattern")
        return Lexeme(start=start, end=piece.end, pieces=(piece,), negated=negated, pattern=True)
    if text[at] in _NO_TERM_STARTS:
        message, hint = _NO_TERM_STARTS[text[at]]
        raise FilterError(message, start, _word(text, at, strict=False).end, hint.format(usual=usual))
    name_end, operator = operator_after_name(text, at)
    if not operator:
        piece = _word(text, at)
        return Lexeme(start=start, end=piece.end, pieces=(piece,), negated=negated)
    values = _values(text, name_end + len(operator))
    name = text[at:name_end]
    return Lexeme(start=start, end=values[-1].end, pieces=values, negated=negated, name=name, operator=operator)


def _word(text: str, start: int, stops: str = "", *, strict: bool = True) -> Piece:
    """Everything up to a space or one of `stops`."""
    at = start
    while not _ends(text, at) and text[at] not in stops:
        if strict and text[at] == '"':
            raise FilterError(
                "A quote inside a word.", start, at + 1, 'quote the whole, and write \\" for a quote in it'
            )
        at += 1
    return Piece(text[start:at], start, at)


def _quoted(text: str, start: int) -> Piece:
    """Text in double quotes; a backslash before a quote or a backslash takes it literally, else means itself."""
    kept: list[str] = []
    at = start + 1
    while at < len(text) and text[at] != '"':
        if text[at] == "\n":
            raise FilterError("A quoted text must not run over a line break.", start, at)
        at += text[at] == "\\" and text[at + 1 : at + 2] in ("\\", '"')
        kept.append(text[at])
        at += 1
    if at >= len(text):
        raise FilterError("This quote is not closed.", start, len(text), 'end it with "')
    return Piece("".join(kept), start, at + 1, quoted=True)


def _pattern(text: str, start: int) -> Piece:
    """A pattern between slashes; a backslash keeps the slash after it in the pattern."""
    at = start + 1
    while at < len(text) and text[at] != "/":
        at += 2 if text[at] == "\\" else 1
    if at >= len(text):
        raise FilterError("This pattern is not closed.", start, len(text), f"end it with /; {_QUOTE_IT}")
    if "\n" in text[start:at]:
        raise FilterError("A pattern must not run over a line break.", start, at + 1)
    return Piece(text[start + 1 : at], start, at + 1, quoted=True)


def _closed(text: str, piece: Piece, what: str) -> Piece:
    if not _ends(text, piece.end):
        rest = _word(text, piece.end, strict=False)
        raise FilterError(
            f"Text right after a {what}.", rest.start, rest.end, f"put a space between two terms; {_QUOTE_IT}"
        )
    return piece


def _values(text: str, at: int) -> tuple[Piece, ...]:
    """One value, or several with commas between them; an empty one is nothing where a value should be."""
    values = [_value(text, at)]
    while text[values[-1].end : values[-1].end + 1] == ",":
        values.append(_value(text, values[-1].end + 1))
    if values[-1].quoted:
        _closed(text, values[-1], "closing quote")
    return tuple(values)


def _value(text: str, at: int) -> Piece:
    return _quoted(text, at) if text[at : at + 1] == '"' else _word(text, at, stops=",")
