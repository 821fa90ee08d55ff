"""A query as a condition on the table that the listing index keeps: what SQL can tell, bound and exact.

`COLUMNS` and `columns_of` say what the table holds, so that rows and SQL cannot come to differ. Text is
folded before it is stored, as SQLite folds ASCII alone; substrings are found by `instr`, which knows no
wildcard. Values never become part of the text. A record that cannot be read has a `code` and no `status`.
Where SQL cannot tell (patterns, marks, the states of references), it selects more, and says so.
"""

from typing import Final

from phelix_core.frozen import frozen_in_order
from phelix_core.sessions.model import ACTIVE
from phelix_core.views.filter.fields import FIELDS, Kind
from phelix_core.views.filter.ranges import Range, ranges, state_ranges
from phelix_core.views.filter.reading import FLAG_STATES, Circumstances, states_named
from phelix_core.views.filter.subject import LINE_FIELDS, LINKED, TEXTS, Filterable
from phelix_core.views.filter.terms import Alternatives, Comparison, Pattern, Phrase, Term
from phelix_core.views.rows import UNREADABLE

Column = str | int | None


@frozen_in_order
class Where:
    """A condition with its parameters; one that is not `exact` selects too much, never too little."""

    text: str
    parameters: tuple[str | int, ...] = ()
    exact: bool = True


COLUMNS: Final = {
    "id": "TEXT",
    "haystack": "TEXT",
    "code": "TEXT",
    "status": "TEXT",
    "rev": "INTEGER",
    "created_at_ms": "INTEGER",
    "updated_at_ms": "INTEGER",
    "last_event_ms": "INTEGER",
    "has_checkpoint": "INTEGER",
    "app_folded": "TEXT",
    "project_folded": "TEXT",
    "actor_folded": "TEXT",
    "step_folded": "TEXT",
    "title_folded": "TEXT",
    "result_folded": "TEXT",
    "reference_ids": "TEXT",
}
"""The columns that a condition may name, with their types: `columns_of` in this order."""

_COLUMN_OF: Final = {
    "status": "status",
    "app": "app_folded",
    "project": "project_folded",
    "actor": "actor_folded",
    "step": "step_folded",
    "title": "title_folded",
    "id": "id",
    "result": "result_folded",
    "rev": "rev",
    "age": "created_at_ms",
    "created": "created_at_ms",
    "seen": "last_event_ms",
    "updated": "updated_at_ms",
}
_HAS: Final = {
    "checkpoint": "has_checkpoint = 1",
    "result": "result_folded <> ''",
    "reference": "reference_ids <> ''",
}
_EVERY_ROW: Final = Where("1", (), exact=False)


def columns_of(row: Filterable) -> tuple[Column, ...]:
    """The row's values for `COLUMNS`; texts that are missing are NULL, and so is the status of a bad record."""
    known = row.known
    return (
        row.session_id,
        row.haystack,
        row.code,
        TEXTS["status"](row) or None,
        known and known.rev,
        known and known.created_at_ms,
        known and known.updated_at_ms,
        known and known.last_event_ms,
        int(known is not None and known.checkpoint is not None),
        *(_folded(row, name) for name in ("app", "project", "actor", "step", "title", "result")),
        f" {' '.join(row.references)} " if row.references else None,
    )


def where(alternatives: Alternatives, at: Circumstances) -> Where:
    """The rows that fit one of `alternatives`; none at all mean every row."""
    if not alternatives:
        return Where("1")
    return _joined(" OR ", [_joined(" AND ", [_term(term, at) for term in terms]) for terms in alternatives])


def _folded(row: Filterable, field: str) -> str | None:
    return TEXTS[field](row).casefold() or None


def _joined(word: str, parts: list[Where]) -> Where:
    if len(parts) == 1:
        return parts[0]
    return Where(
        f"({word.join(part.text for part in parts)})",
        tuple(parameter for part in parts for parameter in part.parameters),
        all(part.exact for part in parts),
    )


def _term(term: Term, at: Circumstances) -> Where:
    match term:
        case Phrase():
            found = _phrase(term.text.casefold(), at)
        case Pattern():
            return _EVERY_ROW
        case Comparison():
            found = _comparison(term, at)
    if not term.negated:
        return found
    return Where(f"NOT ifnull({found.text}, 0)", found.parameters) if found.exact else _EVERY_ROW


def _phrase(folded: str, at: Circumstances) -> Where:
    found = Where("instr(haystack, ?) > 0", (folded,))
    states = states_named(lambda word: folded in word.casefold())
    return _joined(" OR ", [found, _in_states(states, at)]) if states else found


def _in_states(states: frozenset[str], at: Circumstances) -> Where:
    """Rows that are shown in one of `states`."""
    limits = state_ranges(at.now_ms, at.stale_after_ms)
    parts: list[Where] = []
    if UNREADABLE in states:
        parts.append(Where("code IS NOT NULL"))
    parts.extend(
        _joined(" AND ", [Where("status = ?", (ACTIVE,)), _in_range("last_event_ms", limits[state])])
        for state in sorted(states & limits.keys())
    )
    parts.extend(Where("status = ?", (status,)) for status in sorted(states - limits.keys() - {UNREADABLE}))
    return _joined(" OR ", parts)


def _comparison(term: Comparison, at: Circumstances) -> Where:
    kind = FIELDS[term.field].kind
    if kind is Kind.SET:
        return _joined(" OR ", [_flag(term.field, str(value), at) for value in term.values])
    if term.field in LINKED:
        return _linked(term, LINKED[term.field])
    column = _COLUMN_OF[term.field]
    if kind in (Kind.TEXT, Kind.LINES):
        return _text(term, column, [str(value).casefold() for value in term.values])
    return _joined(" OR ", [_in_range(column, span) for span in ranges(term, kind, at.now_ms)])


def _in_range(column: str, span: Range) -> Where:
    sides = [(">=", span.low), ("<", span.high)]
    return _joined(" AND ", [Where(f"{column} {side} ?", (end,)) for side, end in sides if end is not None])


def _text(term: Comparison, column: str, values: list[str]) -> Where:
    if term.operator == "~":
        return _joined(" OR ", [_containing(column, value) for value in values])
    parts = [Where(f"ifnull({column}, '') = ''")] if "" in values else []
    some = tuple(value for value in values if value)
    if term.field in LINE_FIELDS:
        parts += [_containing(column, f"\n{value}\n") for value in some]
    elif some:
        parts.append(Where(f"{column} IN ({', '.join('?' * len(some))})", some))
    return _joined(" OR ", parts)


def _linked(term: Comparison, prefix: str) -> Where:
    """Ids stand between spaces, all kinds in one column; a kind's prefix occurs only where an id of it starts."""
    values = [str(value).casefold() for value in term.values]
    if term.operator == "~":
        return _joined(" OR ", [_part_of_linked(value, prefix) for value in values])
    none = Where("instr(ifnull(reference_ids, ''), ?) = 0", (f" {prefix}",))
    parts = [_whole_linked(value, prefix) if value else none for value in values]
    return _joined(" OR ", parts)


def _whole_linked(value: str, prefix: str) -> Where:
    return _containing("reference_ids", f" {value} ") if _may_be(value, prefix) else Where("0")


def _part_of_linked(part: str, prefix: str) -> Where:
    if not part or _may_be(part, prefix):
        return _containing("reference_ids", part)
    return Where(_containing("reference_ids", part).text, (part,), exact=False)


def _may_be(value: str, prefix: str) -> bool:
    return value.startswith(prefix) and " " not in value


def _containing(column: str, part: str) -> Where:
    return Where(f"instr(ifnull({column}, ''), ?) > 0", (part,))


def _flag(field: str, value: str, at: Circumstances) -> Where:
    if field == "has":
        return Where(_HAS[value])
    if field == "ref":
        return Where(_HAS["reference"], exact=False)
    return _EVERY_ROW if value == "marked" else _in_states(FLAG_STATES[value], at)
