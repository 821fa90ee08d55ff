"""JSON in and out, strictly: one reading of each text, one form of each value.

In: UTF-8 only, at most 32 levels, no duplicate keys, no NaN or infinity, integers within 64 bits, no
lone surrogates; anything else is `JsonRefused` with the reason. Out: two-space indent, UTF-8, keys as
given, the same value always the same bytes. Source: trust page, input hazards.
"""

import json
import re
from collections.abc import Mapping
from enum import Enum
from json.encoder import encode_basestring
from typing import Any, NoReturn, cast

from phelix_core.frozen import REQUIRED, members_of

MAX_DEPTH = 32
_INTEGER_DIGITS = 19
_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_NO_STRUCTURE = bytes(set(range(256)) - set(b'[]{}"'))
_ZEROS = bytes.maketrans(b"123456789", b"000000000")


class JsonRefused(ValueError):
    """The text is not JSON as this project accepts it; the message says why."""


def _refuse_constant(_: str) -> NoReturn:
    raise JsonRefused("NaN and infinity are not JSON")


def _integer(digits: str) -> int:
    if len(digits.lstrip("-")) > _INTEGER_DIGITS or not -(2**63) <= (value := int(digits)) < 2**63:
        raise JsonRefused("an integer is outside 64 bits")
    return value


def _number(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise JsonRefused("a number is too large")
    return value


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise JsonRefused("a key stands twice in one object")
    return members


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse_constant, parse_float=_number)
_LONG_NUMBERS = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_refuse_constant, parse_float=_number, parse_int=_integer
)
"""A call for each integer would double the time to read a record, so only texts with many digits in a row pay it."""


def _require_depth(data: bytes) -> None:
    """Refuse more than `MAX_DEPTH` levels before any parser recurses.

    Every second part between quotes lies outside the strings, once escapes are gone.
    """
    if data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return
    unescaped = _ESCAPED.sub(b"", data) if b"\\" in data else data
    brackets = b"".join(unescaped.translate(None, _NO_STRUCTURE).split(b'"')[::2])
    depth = 0
    for bracket in brackets:
        depth += 1 if bracket in b"[{" else -1
        if depth > MAX_DEPTH:
            raise JsonRefused(f"nested deeper than {MAX_DEPTH} levels")


def _require_text(value: object) -> None:
    """Refuse lone surrogates anywhere, keys included."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise JsonRefused("a text holds a lone surrogate") from None
    elif isinstance(value, dict):
        for key, member in cast("dict[str, object]", value).items():
            _require_text(key)
            _require_text(member)
    elif isinstance(value, list):
        for member in cast("list[object]", value):
            _require_text(member)


def loads(data: bytes) -> object:
    """Parse one JSON document; raises `JsonRefused`."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise JsonRefused("not UTF-8") from None
    _require_depth(data)
    decoder = _LONG_NUMBERS if b"0" * _INTEGER_DIGITS in data.translate(_ZEROS) else _DECODER
    try:
        value: object = decoder.decode(text)
    except json.JSONDecodeError as error:
        raise JsonRefused(f"not JSON: {error.msg} at line {error.lineno} column {error.colno}") from None
    except RecursionError:
        raise JsonRefused(f"nested deeper than {MAX_DEPTH} levels") from None
    if "\\u" in text:
        _require_text(value)
    return value


quoted = encode_basestring
"""A text as JSON writes it."""


def dumps(value: object, newline: str = "\n") -> str:
    """Write a plain value in the one form: two-space indent, UTF-8, no trailing newline.

    `newline` is a line feed and the indent of the line that the value begins in.
    """
    return _written(value, newline)


_CONSTANTS = ((None, "null"), (False, "false"), (True, "true"))


def _written(value: Any, newline: str) -> str:
    """What `json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)` says, at the depth of `newline`.

    The standard encoder indents in generators, a step a token, which was most of what a record's write computed:
    this is 2.5 times faster, and the same to the byte.
    """
    kind: type[object] = value.__class__
    if kind is str:
        return encode_basestring(value)
    if kind is dict:
        return _object_text(value, newline) if value else "{}"
    if kind is list:
        deeper = newline + "  "
        items = f",{deeper}".join([_written(item, deeper) for item in value])
        return f"[{deeper}{items}{newline}]" if value else "[]"
    for constant, word in _CONSTANTS:
        if value is constant:
            return word
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False).replace("\n", newline)


def _object_text(members: dict[str, Any], newline: str) -> str:
    deeper = newline + "  "
    lines = [
        f"{encode_basestring(name)}: "
        f"{encode_basestring(item) if type(item) is str else item if type(item) is int else _written(item, deeper)}"
        for name, item in members.items()
    ]
    return f"{{{deeper}{f',{deeper}'.join(lines)}{newline}}}"


def canonical(value: object) -> bytes:
    """Bytes for a digest: sorted keys, no white space."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "surrogatepass")


_AS_IT_IS: frozenset[type[Any]] = frozenset({str, int, float, bool, type(None)})


def plain(value: Any) -> Any:
    """Turn models into dicts, lists and scalars, ready for `dumps`.

    A field that has a default is left out while it holds it; a field without one is always written.
    A model with a method `members` says its own.
    A field named `extra` holds members of a record that this version does not know: they follow the rest.
    """
    kind: type[object] = value.__class__
    if kind in _AS_IT_IS:
        return value
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in cast("tuple[object, ...]", value)]
    if hasattr(kind, "__frozen_members__") or hasattr(kind, "__dataclass_fields__"):
        own = getattr(value, "members", None)
        return plain_members(value) if own is None else own()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {key: plain(member) for key, member in cast("Mapping[str, object]", value).items()}
    raise TypeError(f"no JSON form for {kind.__name__}")


def plain_members(model: Any) -> dict[str, object]:
    """The members of one model as `plain` writes them, without its own `members`."""
    members: dict[str, object] = {}
    kind: type[object] = model.__class__
    for name, default in members_of(kind):
        member = getattr(model, name)
        if name != "extra" and (default is REQUIRED or member != default):
            members[name] = member if type(member) in _AS_IT_IS else plain(member)
    if extra := getattr(model, "extra", None):
        members.update(extra)
    return members
