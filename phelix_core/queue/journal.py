"""What a verb decided, as data: events, each with the row changes that it tells of. Pure.

The store applies an event's changes and writes the event in the same transaction, so that replaying the
journal rebuilds every row. A change may speak of its event before the event has a number: `SEQ` and
`CITED` are filled in by the store. Source: queue page, Store.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from phelix_core.frozen import frozen, members_in

SEQ: Final = object()
"""Stands for the number of the event that carries the change."""
CITED: Final = object()
"""Stands for a JSON list that holds the id of the event that carries the change."""

_NO_MEMBERS: Final[Mapping[str, object]] = MappingProxyType({})


@frozen
class Insert:
    """A new row."""

    table: str
    row: Mapping[str, Any]


@frozen
class Update:
    """Some columns of the row `id`; `guard` are columns that must still hold what the decision saw."""

    table: str
    id: str
    set: Mapping[str, Any]
    guard: Mapping[str, Any] = _NO_MEMBERS


Change = Insert | Update


@frozen
class Event:
    """One fact with the changes that make it true; `imported_…` are those of another tool's journal."""

    kind: str
    changes: tuple[Change, ...] = ()
    project_id: str | None = None
    campaign_id: str | None = None
    issue_id: str | None = None
    run_id: str | None = None
    payload: Mapping[str, object] = _NO_MEMBERS
    imported_id: str | None = None
    imported_at: int | None = None


@frozen
class RowChange:
    """What an event did to a row, for a person to look at first; `before` is None for a new row."""

    table: str
    id: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any]


def insert(table: str, row: Any, **instead: object) -> Insert:
    """The insertion of a model; `instead` overrides members by what only the store knows."""
    return Insert(table=table, row=members_in(row) | instead)
