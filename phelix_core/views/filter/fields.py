"""The words of the filter language: fields, the operators each takes, and the values that are known.

A vocabulary is what parsing, completion and error messages share about one list: sessions' is here, that of the
queue's issues in `issues.words`. Each knows of the other, to tell where a word belongs.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Final

from phelix_core.frozen import frozen_in_order
from phelix_core.sessions.model import STATUSES
from phelix_core.sessions.references import MISSING, PRESENT, UNAVAILABLE, UNKNOWN


class Kind(Enum):
    """How the values of a field are written and compared."""

    TEXT = "text"
    LINES = "lines"
    NUMBER = "number"
    SPAN = "span"
    MOMENT = "moment"
    LEFT = "left"
    SET = "set"


@frozen_in_order
class Field:
    """One field: its kind, its operators (the usual one first), an example, and its values where they are fixed."""

    name: str
    kind: Kind
    operators: tuple[str, ...]
    example: str
    values: tuple[str, ...] = ()

    def value_named(self, word: str) -> str | None:
        """The fixed value that `word` is, whatever its case, as it is spelled here."""
        folded = word.lower()
        return next((value for value in self.values if value.lower() == folded), None)


@frozen_in_order
class Vocabulary:
    """What one list's filter may say; `usual` is the text field that hints take for their examples.

    `elsewhere` makes the other list's, which only somebody who used a word of it pays for.
    """

    rows: str
    usual: str
    fields: Mapping[str, Field]
    elsewhere: Callable[[], "Vocabulary"]


TEXT: Final = ("=", "!=", "~")
PART: Final = ("~", "=", "!=")
NUMBER: Final = ("=", "!=", "<", "<=", ">", ">=")
SPAN: Final = (">", ">=", "<", "<=")
MOMENT: Final = (">", ">=", "<", "<=", "=", "!=")
LEFT: Final = ("<", "<=", ">", ">=")
SET: Final = (":",)
"""Operators, the usual one first."""

FIELDS: Final = {
    field.name: field
    for field in (
        Field("status", Kind.TEXT, TEXT, "status=active", STATUSES),
        Field("app", Kind.TEXT, TEXT, "app=billing"),
        Field("project", Kind.TEXT, TEXT, "project=shop"),
        Field("actor", Kind.LINES, TEXT, "actor=mcp"),
        Field("step", Kind.TEXT, TEXT, "step=deploy"),
        Field("title", Kind.TEXT, PART, "title~invoice"),
        Field("id", Kind.TEXT, PART, "id~7081"),
        Field("result", Kind.TEXT, PART, "result~timeout"),
        Field("rev", Kind.NUMBER, NUMBER, "rev>3"),
        Field("age", Kind.SPAN, SPAN, "age>2h"),
        Field("seen", Kind.SPAN, SPAN, "seen<15m"),
        Field("created", Kind.MOMENT, MOMENT, "created>=2026-08-01"),
        Field("updated", Kind.MOMENT, MOMENT, "updated>2h"),
        Field("is", Kind.SET, SET, "is:stale", ("stale", "active", "closed", "unparsed", "marked")),
        Field("has", Kind.SET, SET, "has:checkpoint", ("checkpoint", "result", "reference")),
        Field("ref", Kind.SET, SET, "ref:missing", (MISSING, UNAVAILABLE, UNKNOWN, PRESENT)),
        Field("plan", Kind.LINES, TEXT, "plan=pln_0123456789abcdef"),
        Field("op", Kind.LINES, TEXT, "op=op_0123456789abcdef"),
        Field("dep", Kind.LINES, TEXT, "dep=dep-0123"),
    )
}


def _issues() -> Vocabulary:
    from phelix_core.views.filter.issues.words import ISSUES  # noqa: PLC0415 - a filter on sessions starts without it

    return ISSUES


SESSIONS: Final = Vocabulary("sessions", "app", FIELDS, _issues)

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
