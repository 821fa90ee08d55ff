"""What a filter looks at: one record, as a list knows it, with its words ready to be searched.

A `Filterable` is built once for each change of a record and serves any number of filters. It shares the
texts of the summary; only `haystack` is new, about 100 bytes a record.
"""

from collections.abc import Callable, Collection
from operator import attrgetter
from typing import Final, NamedTuple

from phelix_core.sessions.model import Actor
from phelix_core.sessions.summary import SessionSummary
from phelix_core.views.filter.fields import FIELDS, Kind
from phelix_core.views.rows import Found


class Filterable(NamedTuple):
    """One record as filters see it; a record that went bad keeps what was last read well, but has no status.

    `references` holds the linked ids, needed where `Query.needs_reference_ids`; `states` the states they
    resolved to, needed where `Query.needs_references`, None while nobody looked.
    """

    session_id: str
    haystack: str
    known: SessionSummary | None
    code: str | None = None
    references: tuple[str, ...] = ()
    states: frozenset[str] | None = None


def filterable(
    session_id: str,
    found: Found,
    references: tuple[str, ...] = (),
    states: frozenset[str] | None = None,
) -> Filterable:
    """What filters see of `found`; costs a microsecond."""
    if isinstance(found, SessionSummary):
        known, code, tail = found, None, ""
    else:
        known, code, tail = found.last_good, found.code, f"\n{found.code}"
    if known is None:
        haystack = f"{session_id}{tail}"
    else:
        point = known.checkpoint
        haystack = (
            f"{session_id}\n{known.title or ''}\n{known.app or ''}\n{(point.step if point else None) or ''}{tail}"
        )
    return Filterable(session_id, haystack.casefold(), known, code, references, states)


def as_lines(texts: Collection[str]) -> str:
    """Several texts as one, a line each, so that a whole line can be looked for; none is empty."""
    return "\n".join(("", *texts, "")) if texts else ""


def _text(get: Callable[[SessionSummary], str | None]) -> Callable[[Filterable], str]:
    """A reader of the summary; `attrgetter` spares a call a row, which counts a hundred thousand times."""

    def read(row: Filterable) -> str:
        known = row.known
        return "" if known is None else get(known) or ""

    return read


def _status(row: Filterable) -> str:
    return "" if row.known is None or row.code is not None else row.known.status


def _actor(actor: Actor) -> str:
    return as_lines([actor.type, actor.id] if actor.id else [actor.type])


LINKED: Final = {"plan": "pln_", "op": "op_", "dep": "dep-"}
"""How the ids start that each field of references looks at."""


def _linked(field: str) -> Callable[[Filterable], str]:
    prefix = LINKED[field]
    return lambda row: as_lines([reference for reference in row.references if reference.startswith(prefix)])


TEXTS: Final[dict[str, Callable[[Filterable], str]]] = {
    "status": _status,
    "app": _text(attrgetter("app")),
    "project": _text(attrgetter("project")),
    "actor": _text(lambda known: _actor(known.actor)),
    "step": _text(lambda known: known.checkpoint.step if known.checkpoint else None),
    "title": _text(attrgetter("title")),
    "id": lambda row: row.session_id,
    "result": _text(attrgetter("final_result")),
    "plan": _linked("plan"),
    "op": _linked("op"),
    "dep": _linked("dep"),
}
"""Each text field as written; one of several texts is `as_lines`; what is missing is empty."""

NUMBERS: Final[dict[str, Callable[[SessionSummary], int]]] = {
    "rev": attrgetter("rev"),
    "age": attrgetter("created_at_ms"),
    "created": attrgetter("created_at_ms"),
    "seen": attrgetter("last_event_ms"),
    "updated": attrgetter("updated_at_ms"),
}
"""Each field that is compared as a number; ages are asked of the moments they are counted from."""


def has(row: Filterable, what: str) -> bool:
    """Whether the record has a checkpoint, a result or any reference."""
    known = row.known
    if known is None:
        return False
    if what == "checkpoint":
        return known.checkpoint is not None
    if what == "result":
        return known.final_result is not None
    counts = known.references
    return counts.plans + counts.operations + counts.deployments > 0


LINE_FIELDS: Final = frozenset(field.name for field in FIELDS.values() if field.kind is Kind.LINES)
