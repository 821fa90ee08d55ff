"""JSON in and out, strictly: one reading of each text, one form of each value.

In: UTF-8 only, at most 32 levels, no duplicate keys, no NaN or infinity, integers within 64 bits, no
lone surrogates; anything else is `JsonRefused` with the reason. Out: two-space indent, UTF-8, keys as
given, the same value always the same bytes. Source: trust page, input hazards.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, NoReturn, cast

MAX_DEPTH = 32
_INTEGER_DIGITS = 19
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)  # an open one ends with the text: linear


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


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_refuse_constant, parse_int=_integer, parse_float=_number
)


def _require_depth(data: bytes) -> None:
    """Refuse more than `MAX_DEPTH` levels before any parser recurses."""
    if data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return
    brackets = _STRINGS.sub(b"", data).translate(None, _NOT_BRACKETS)
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
    try:
        value: object = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise JsonRefused(f"not JSON: {error.msg} at line {error.lineno} column {error.colno}") from None
    except RecursionError:
        raise JsonRefused(f"nested deeper than {MAX_DEPTH} levels") from None
    if "\\u" in text:
        _require_text(value)
    return value


def dumps(value: object) -> str:
    """Write a plain value in the one form: two-space indent, UTF-8, no trailing newline."""
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)


def canonical(value: object) -> bytes:
    """Bytes for a digest: sorted keys, no white space."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "surrogatepass")


@cache
def _members(kind: type) -> tuple[tuple[str, object], ...]:
    """Names of a dataclass with the default that leaves a member out (`MISSING`: always written)."""
    return tuple((f.name, f.default) for f in fields(kind) if f.name != "extra")


def plain(value: Any) -> Any:
    """Turn models into dicts, lists and scalars, ready for `dumps`.

    A field that has a default is left out while it holds it; a field without one is always written.
    A model with a method `members` says its own.
    A field named `extra` holds members of a record that this version does not know: they follow the rest.
    """
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in cast("tuple[object, ...]", value)]
    if isinstance(value, Mapping):
        return {key: plain(member) for key, member in cast("Mapping[str, object]", value).items()}
    if is_dataclass(value) and not isinstance(value, type):
        if (own := getattr(value, "members", None)) is not None:
            return own()
        members: dict[str, object] = {}
        for name, default in _members(type(value)):
            member = getattr(value, name)
            if default is MISSING or member != default:
                members[name] = plain(member)
        return members | dict(getattr(value, "extra", {}))
    raise TypeError(f"no JSON form for {type(value).__name__}")
