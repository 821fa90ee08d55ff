"""Strict reading of JSON that people and programs hand in: each member by kind, unknown ones refused. Pure.

Every refusal is an `InvalidArgument` that names the place, such as `milestones[2].issues[0].size`; values are
never echoed. Free text comes out redacted.
"""

import json
from collections.abc import Mapping
from typing import Final, NoReturn, cast

from phelix_core.checks import MAX_INTEGER
from phelix_core.clock import from_iso
from phelix_core.errors import InvalidArgument
from phelix_core.queue.model import JSON_CAP, WORD_CAP
from phelix_core.redaction import redact
from phelix_core.text import TextRefused, utf8_size

_MOST_ENTRIES = 100
UNKNOWN: Final = "unknown member"
"""How a refusal of members that nobody knows begins; their names follow as JSON."""


def wrong(where: str, reason: str) -> NoReturn:
    """Refuse the member at `where`."""
    raise InvalidArgument(f"{where}: {reason}.", details={"fields": {where: reason}})


def an_object(value: object, where: str, known: tuple[str, ...] | None) -> Mapping[str, object]:
    """An object with no member but `known`; any where that is None."""
    if not isinstance(value, dict):
        wrong(where, "expected an object")
    members = cast("dict[str, object]", value)
    unknown = [] if known is None else [name for name in members if name not in known]
    if unknown:
        told = ", ".join(json.dumps(redact(name)[:WORD_CAP]) for name in unknown[:_MOST_ENTRIES])
        wrong(where, f"{UNKNOWN}{'s' if len(unknown) > 1 else ''} {told}")
    return members


def a_list(value: object, where: str, most: int, least: int = 0) -> list[object]:
    """A list of so many items."""
    if not isinstance(value, list):
        wrong(where, "expected a list")
    items = cast("list[object]", value)
    if len(items) > most:
        wrong(where, f"holds {len(items)} items, at most {most} are taken")
    if len(items) < least:
        wrong(where, f"needs at least {least} item{'' if least == 1 else 's'}")
    return items


def text(value: object, where: str, cap: int = WORD_CAP) -> str:
    """Text that is not empty, capped in UTF-8 bytes, redacted."""
    if not isinstance(value, str) or not value:
        wrong(where, "expected text")
    try:
        size = utf8_size(value)
    except TextRefused as refused:
        wrong(where, str(refused))
    if size > cap:
        wrong(where, f"{size} bytes of UTF-8 are over the cap of {cap}; shorten it, it is never cut")
    return redact(value)


def optional_text(value: object, where: str, cap: int = WORD_CAP) -> str | None:
    """The same, or nothing."""
    return None if value is None else text(value, where, cap)


def a_whole(value: object, where: str, most: int = MAX_INTEGER, least: int = 1) -> int | None:
    """A whole number within limits, or nothing."""
    if value is None:
        return None
    if type(value) is not int or not least <= value <= most:
        wrong(where, f"expected a whole number from {least} to {most}")
    return value


def one_of(value: object, where: str, words: tuple[str, ...]) -> str:
    """One of `words`."""
    if value not in words:
        wrong(where, f"expected one of {', '.join(words)}")
    return cast("str", value)


def a_time(value: object, where: str) -> int | None:
    """An ISO time with an offset, in milliseconds, or nothing."""
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > WORD_CAP:
        wrong(where, "expected an ISO time with its offset, such as 2026-08-01T12:00:00Z")
    try:
        at = from_iso(value)
    except (ValueError, OverflowError, OSError):
        wrong(where, "expected an ISO time with its offset, such as 2026-08-01T12:00:00Z")
    if not 0 <= at <= MAX_INTEGER:
        wrong(where, "expected a time after 1970")
    return at


def entries(value: object, where: str) -> list[Mapping[str, object]]:
    """A list of objects that each carry an `id` of their own, redacted throughout."""
    found: list[Mapping[str, object]] = []
    if value is None:
        return found
    seen: set[str] = set()
    for index, item in enumerate(a_list(value, where, _MOST_ENTRIES)):
        members = an_object(item, f"{where}[{index}]", None)
        own = text(members.get("id"), f"{where}[{index}].id")
        if own in seen:
            wrong(f"{where}[{index}].id", "stands twice")
        seen.add(own)
        found.append(cast("Mapping[str, object]", _redacted(members, f"{where}[{index}]")))
    if len(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace")) > JSON_CAP:
        wrong(where, f"over the cap of {JSON_CAP} bytes")
    return found


def free_json(value: object, where: str) -> str:
    """Any JSON object within the cap, redacted, as text."""
    kept = _redacted(an_object({} if value is None else value, where, None), where)
    written = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
    if len(written.encode("utf-8", "replace")) > JSON_CAP:
        wrong(where, f"over the cap of {JSON_CAP} bytes")
    return written


def _redacted(value: object, where: str) -> object:
    if isinstance(value, str):
        return text(value, where, JSON_CAP) if value else value
    if isinstance(value, list):
        return [_redacted(item, where) for item in cast("list[object]", value)]
    if isinstance(value, Mapping):
        members = cast("Mapping[str, object]", value)
        return {
            redact(name): _redacted(member, f"{where}.{redact(name)[:WORD_CAP]}") for name, member in members.items()
        }
    return value
