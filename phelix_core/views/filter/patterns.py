r"""Regular expressions that cannot run away: the engine inside pydantic-core, which takes linear time.

It is Rust's `regex`: no back-references and no look-around, a size limit on what is compiled, and a time
that grows with the text alone. Python's own engine may take for ever on `(a+)+b`, and one with a timeout
costs thirty times as much a row. It is imported when a filter holds a pattern, never otherwise.
"""

from collections.abc import Callable
from typing import Final

from phelix_core.views.filter.errors import FilterError
from phelix_core.views.filter.scan import Piece

_FLAGS: Final = "(?i)"
_INDENT: Final = 4
_REASONS: Final = {
    "look-around, including look-ahead and look-behind, is not supported": "look-ahead and look-behind are not known",
    "backreferences are not supported": "back-references are not known",
}


def compile_pattern(piece: Piece) -> Callable[[str], bool]:
    """Whether the pattern occurs in a text, whatever its case; a bad one is refused with the place it goes wrong."""
    from pydantic_core import SchemaError, SchemaValidator, core_schema  # noqa: PLC0415 - 40 ms, for patterns alone

    if not piece.text:
        raise FilterError("This pattern is empty.", piece.start, piece.end, "write it between the slashes: /v[12]/")
    schema = core_schema.str_schema(pattern=_FLAGS + piece.text, regex_engine="rust-regex", strict=True)
    try:
        return SchemaValidator(schema).isinstance_python
    except SchemaError as error:
        raise _refusal(piece, str(error)) from None


def _refusal(piece: Piece, told: str) -> FilterError:
    """The engine's answer, which draws carets under what it dislikes, as an error with offsets."""
    if "size limit" in told:
        return FilterError("This pattern is too large once expanded.", piece.start, piece.end, "repeat less: {1,20}")
    lines = told.split("\n")
    reason = next((line.removeprefix("error: ") for line in lines if line.startswith("error: ")), "not a pattern")
    carets = next((line for line in lines if "^" in line and not line.strip(" ^")), "")
    start, end = piece.start, piece.end
    if carets:
        inside = piece.start + 1
        start = inside + min(max(carets.index("^") - _INDENT - len(_FLAGS), 0), len(piece.text))
        length = len(carets.lstrip(" ").split(" ")[0])
        end = min(max(start + length, start + 1), piece.end)
    message = f"This pattern is not valid: {_REASONS.get(reason, reason)}."
    return FilterError(message, start, end, r"a backslash takes a sign literally: \( \/; plain words need no slashes")
