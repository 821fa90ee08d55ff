"""The words of the filter language: fields, the operators each takes, and the values that are known.

This table is the vocabulary that parsing, completion and error messages share.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from phelix_core.sessions.model import STATUSES
from phelix_core.sessions.references import MISSING, PRESENT, UNAVAILABLE, UNKNOWN


class Kind(Enum):
    """How the values of a field are written and compared."""

    TEXT = "text"
    LINES = "lines"
    NUMBER = "number"
    SPAN = "span"
    MOMENT = "moment"
    SET = "set"


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its kind, its operators (the usual one first), an example, and its values where they are fixed."""

    name: str
    kind: Kind
    operators: tuple[str, ...]
    example: str
    values: tuple[str, ...] = ()


_TEXT: Final = ("=", "!=", "~")
_PART: Final = ("~", "=", "!=")
_NUMBER: Final = ("=", "!=", "<", "<=", ">", ">=")
_SPAN: Final = (">", ">=", "<", "<=")
_MOMENT: Final = (">", ">=", "<", "<=", "=", "!=")
_SET: Final = (":",)

FIELDS: Final = {
    field.name: field
    for field in (
        Field("status", Kind.TEXT, _TEXT, "status=active", STATUSES),
        Field("app", Kind.TEXT, _TEXT, "app=billing"),
        Field("project", Kind.TEXT, _TEXT, "project=shop"),
        Field("actor", Kind.LINES, _TEXT, "actor=mcp"),
        Field("step", Kind.TEXT, _TEXT, "step=deploy"),
        Field("title", Kind.TEXT, _PART, "title~invoice"),
        Field("id", Kind.TEXT, _PART, "id~7081"),
        Field("result", Kind.TEXT, _PART, "result~timeout"),
        Field("rev", Kind.NUMBER, _NUMBER, "rev>3"),
        Field("age", Kind.SPAN, _SPAN, "age>2h"),
        Field("seen", Kind.SPAN, _SPAN, "seen<15m"),
        Field("created", Kind.MOMENT, _MOMENT, "created>=2026-08-01"),
        Field("updated", Kind.MOMENT, _MOMENT, "updated>2h"),
        Field("is", Kind.SET, _SET, "is:stale", ("stale", "active", "closed", "unparsed", "marked")),
        Field("has", Kind.SET, _SET, "has:checkpoint", ("checkpoint", "result", "reference")),
        Field("ref", Kind.SET, _SET, "ref:missing", (MISSING, UNAVAILABLE, UNKNOWN, PRESENT)),
        Field("plan", Kind.LINES, _TEXT, "plan=pln_0123456789abcdef"),
        Field("op", Kind.LINES, _TEXT, "op=op_0123456789abcdef"),
        Field("dep", Kind.LINES, _TEXT, "dep=dep-0123"),
    )
}

QUEUE_FIELDS: Final = ("lease", "task", "milestone")
QUEUE_STATES: Final = ("blocked",)

OPERATORS: Final = ("!=", "<=", ">=", "=", "~", "<", ">", ":")
"""Longest first, so that the first one found at a place is the one written there."""

RESERVED: Final = ("OR", "AND", "NOT")
"""Capital words that are not searched for unless quoted; only OR means something."""

_LONGEST_TYPO: Final = 20


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` looks like a slip of, if there is one."""
    if len(word) > _LONGEST_TYPO:
        return None
    from difflib import get_close_matches  # noqa: PLC0415 - only someone who mistyped pays for it

    return next(iter(get_close_matches(word, list(known), n=1, cutoff=0.6)), None)
