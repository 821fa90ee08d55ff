"""What is wrong with a payload, as `issues`: each with its place, a code and a message, and never with the value.

The codes are those that schema validators of the document's world use, so that programs that read them go on reading
them. Source: surfaces page, JSON-driven lifecycle CLI.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, cast

from phelix_core.errors import InvalidArgument, PhelixError
from phelix_core.queue.payload import UNKNOWN
from phelix_core.redaction import redact

Issue = dict[str, Any]

_CODES: Final = {
    "missing": "invalid_type",
    "unexpected_keyword_argument": "unrecognized_keys",
    "extra_forbidden": "unrecognized_keys",
    "value_error": "invalid_value",
    "literal_error": "invalid_value",
}
_WORDS: Final = {
    "missing": "Required",
    "unexpected_keyword_argument": "Unknown member",
    "extra_forbidden": "Unknown member",
    "string_type": "Expected text",
    "int_type": "Expected a whole number",
    "bool_type": "Expected true or false",
    "tuple_type": "Expected a list",
    "list_type": "Expected a list",
    "dict_type": "Expected an object",
    "dataclass_type": "Expected an object",
}
NO_DETAILS: Final[Mapping[str, object]] = MappingProxyType({})
_SHOWN: Final = 64
_MOST: Final = 100


class PayloadInvalid(InvalidArgument):
    """The payload is not a lifecycle command; nothing was written."""

    def __init__(
        self,
        issues: Sequence[Issue],
        message: str | None = None,
        *,
        hint: str | None = None,
        details: Mapping[str, object] = NO_DETAILS,
    ) -> None:
        super().__init__(message, hint=hint, details={**details, "issues": list(issues[:_MOST])})


def issue(code: str, path: Sequence[str | int], message: str, **more: object) -> Issue:
    """One thing that is wrong."""
    return {"code": code, **more, "path": [_safe(part) for part in path], "message": message}


def issues_of(errors: Sequence[Any], before: Sequence[str | int]) -> list[Issue]:
    """What pydantic found, with the place of the part that it looked at put before each."""
    return [_issue(error, before) for error in errors]


def _issue(error: Any, before: Sequence[str | int]) -> Issue:
    kind, place = str(error["type"]), [*before, *error["loc"]]
    code = _CODES.get(kind, "invalid_type" if kind.endswith("_type") else "invalid_value")
    if code == "unrecognized_keys":
        return issue(code, place[:-1], f"Unknown member {_safe(place[-1])!r}", keys=[_safe(place[-1])])
    told = _WORDS.get(kind) or redact(str(error["msg"]).removeprefix("Value error, "))
    return issue(code, place, f"{told[:1].upper()}{told[1:]}")


def issues_in(error: PhelixError) -> list[Issue]:
    """The issues that a refusal names."""
    return cast("list[Issue]", error.details.get("issues") or [])


def placed(error: PhelixError, place_of: Callable[[str], Sequence[str]], before: Sequence[str]) -> PhelixError:
    """A rule's refusal with an issue for each field at fault, at the place that the payload has for it."""
    fields = cast("dict[str, object]", error.details.get("fields") or {})
    if not isinstance(error, InvalidArgument) or not fields:
        return error
    issues: list[Issue] = []
    for name, reason in fields.items():
        first, *rest = _parts(name)
        own: Sequence[str | int] = ["context"] if first == "context" else [*before, *place_of(str(first))]
        issues.append(_of_rule([*own, *rest], str(reason)))
    others = {name: value for name, value in error.details.items() if name != "fields"}
    return PayloadInvalid(issues, _told_at(issues[0]["path"], error.message), hint=error.hint, details=others)


def _of_rule(place: Sequence[str | int], reason: str) -> Issue:
    """What a rule found at a place; names of members that nobody knows are told as keys."""
    if not reason.startswith(UNKNOWN):
        return issue("invalid_value", place, f"{reason[:1].upper()}{reason[1:]}")
    names = reason.removeprefix(UNKNOWN).removeprefix("s").strip()
    return issue("unrecognized_keys", place, f"{reason[:1].upper()}{reason[1:]}", keys=json.loads(f"[{names}]"))


def _told_at(place: Sequence[str | int], message: str) -> str:
    """A message that begins with a command's word for a field, with the payload's in its place."""
    _, colon, rest = message.partition(": ")
    return f"{'.'.join(map(str, place))}: {rest}" if colon else message


def _parts(place: str) -> list[str | int]:
    """The members of a place such as `milestones[2].issues[0].size`."""
    words = place.replace("]", "").replace("[", ".").split(".")
    return [int(word) if word.isdecimal() else word for word in words]


def _safe(part: str | int) -> str | int:
    """A key that somebody sent, fit to be told."""
    return part if isinstance(part, int) else redact(part)[:_SHOWN]
