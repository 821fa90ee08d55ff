"""One write transaction on the queue's tables: what verbs ask inside it, and the journal that is written with each row.

Consecutive insertions of one form are one statement. `replay` rebuilds every row from the journal. Source:
queue page, Store.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Final, cast

from phelix_core.clock import Moment
from phelix_core.errors import LeaseConflict
from phelix_core.queue.journal import CITED, SEQ, Event, Insert, RowChange, Update
from phelix_core.queue.model import Artifact, Issue, Lease, Scope, StoredEvent
from phelix_core.queue.reading import (
    BY_AGE,
    BY_ID,
    CLAIM_ORDER,
    NOT_ARCHIVED,
    RUNNING,
    Reading,
    marks,
    newest_claim,
)
from phelix_core.queue.store import Recorded
from phelix_core.sqlite import Database, Row


class Writing(Reading):
    """A write transaction: questions, and `record`."""

    def __init__(self, db: Database, via: str, now: Moment, *, watched: bool = False) -> None:
        super().__init__(db)
        self.via = via
        self.now = now
        self._seq: int | None = None
        self._watched = watched
        self.kept = False
        self.recorded: list[Recorded] = []

    def record(self, event: Event) -> str:
        """Write an event and its changes; answers its id."""
        self._seq = (self.last_seq() if self._seq is None else self._seq) + 1
        seq = self._seq
        event_id = event.imported_id or f"E-{seq}"
        seen = tuple(self._seen(change) for change in event.changes) if self._watched else ()
        changes = self._applied(event.changes, seq, event_id)
        self.recorded.append((event, seen))
        row = event.changes[0] if event.changes else None
        project_id, campaign_id = self._place(event, row)
        self._db.ask(
            "INSERT INTO events (seq, id, kind, project_id, campaign_id, issue_id, run_id, via, at, payload, changes)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                seq, event_id, event.kind, project_id, campaign_id, event.issue_id, event.run_id, self.via,
                self.now.wall_ms if event.imported_at is None else event.imported_at,
                _compact(event.payload), _compact(changes),
            ],
        )  # fmt: skip
        return event_id

    def keep(self) -> None:
        """What was recorded up to here stays, even when the verb is refused later."""
        if self.kept:
            self._db.ask("RELEASE kept")
        self._db.ask("SAVEPOINT kept")
        self.kept = True

    def _place(self, event: Event, first: Insert | Update | None) -> tuple[str | None, str | None]:
        """The scope that an event belongs to: told by the event, else by the row it makes."""
        if event.project_id is not None:
            return event.project_id, event.campaign_id
        if isinstance(first, Insert):
            own = first.row["id"] if first.table == "projects" else first.row.get("project_id")
            return cast("str | None", own), cast("str | None", first.row.get("campaign_id"))
        return None, None

    def _seen(self, change: Insert | Update) -> RowChange:
        """A change beside what it changes."""
        if isinstance(change, Insert):
            own = str(change.row.get("id", change.row.get("issue_id", change.row.get("milestone_id", ""))))
            return RowChange(table=change.table, id=own, before=None, after=change.row)
        row = self._db.ask(f"SELECT {', '.join(change.set)} FROM {change.table} WHERE id = ?", [change.id])
        before = dict(zip(change.set, row[0], strict=True)) if row else {}
        return RowChange(table=change.table, id=change.id, before=before, after=change.set)

    def _applied(self, changes: Sequence[Insert | Update], seq: int, event_id: str) -> list[Any]:
        """Carry changes out in their order, many of one form with one statement; answers how the event tells them."""
        if len(changes) < _MANY:
            return [self._apply(change, seq, event_id) for change in changes]
        told: list[Any] = []
        for sql, run in groupby(changes, _form):
            if sql is None:
                told += [self._apply(change, seq, event_id) for change in run]
            else:
                rows = [
                    (change.table, _filled(change.row, seq, event_id)) for change in run if isinstance(change, Insert)
                ]
                self._db.many(sql, [list(row.values()) for _, row in rows])
                told += [["+", table, row] for table, row in rows]
        return told

    def _apply(self, change: Insert | Update, seq: int, event_id: str) -> list[Any]:
        if isinstance(change, Insert):
            row = _filled(change.row, seq, event_id)
            self._db.ask(_insertion(change.table, tuple(row)), list(row.values()))
            return ["+", change.table, row]
        put = _filled(change.set, seq, event_id)
        sql = _updating(change.table, tuple(put), tuple(change.guard))
        if not self._db.change(sql, [*put.values(), change.id, *change.guard.values()]):
            raise LeaseConflict(details={"row": change.id})
        return ["~", change.table, change.id, put]

    def own_leases(self, scope: Scope, agent_id: str) -> list[Lease]:
        where, values = self._in(scope)
        rest = f"WHERE {where} AND agent_id = ? AND status = 'active' AND {NOT_ARCHIVED.format('')}"
        return self._rows(Lease, rest, [*values, agent_id, scope.project.id], newest_claim)

    def rank_due(self, scope: Scope, at_ms: int) -> list[Issue]:
        where, values = self._in(scope)
        rest = f"WHERE {where} AND status = 'ready' AND rank_due_at IS NOT NULL AND rank_due_at <= ?"
        return self._rows(Issue, rest, [*values, at_ms], BY_ID)

    def pending(self, scope: Scope, *, limit: int) -> list[Issue]:
        where, values = self._in(scope)
        # Named, because with statistics the planner would read all issues where most of them wait.
        rest = (
            f"INDEXED BY issues_pending WHERE {where} AND status = 'pending' AND {RUNNING}"
            f" ORDER BY {CLAIM_ORDER} LIMIT ?"
        )
        return self._rows(Issue, rest, [*values, scope.project.id, limit])

    def in_milestones(self, milestone_ids: Sequence[str], statuses: Sequence[str]) -> list[Issue]:
        found: list[Issue] = []
        for milestone_id in milestone_ids:
            rest = f"WHERE milestone_id = ? AND status IN ({marks(statuses)}) ORDER BY position, id"
            found += self._rows(Issue, rest, [milestone_id, *statuses])
        return found

    def in_campaign(self, campaign_id: str, statuses: Sequence[str]) -> list[Issue]:
        rest = (
            f"WHERE project_id = (SELECT project_id FROM campaigns WHERE id = ?) AND campaign_id = ?"
            f" AND status IN ({marks(statuses)}) ORDER BY created_at, position, id"
        )
        return self._rows(Issue, rest, [campaign_id, campaign_id, *statuses])

    def active_artifacts(self, lease_id: str) -> list[Artifact]:
        rest = "WHERE status = 'active' AND run_id IN (SELECT id FROM runs WHERE lease_id = ?)"
        return self._rows(Artifact, rest, [lease_id], BY_AGE)

    def unknown_milestones(self, project_id: str, ids: Sequence[str]) -> list[str]:
        sql = "SELECT 1 FROM milestones WHERE id = ? AND project_id = ?"
        return [known for known in ids if not self._db.ask(sql, [known, project_id])]

    def answered(self, project_id: str, request_id: str) -> tuple[str, str, str] | None:
        sql = "SELECT verb, input, answer FROM requests WHERE project_id = ? AND request_id = ?"
        found = self._db.ask(sql, [project_id, request_id])
        return cast("tuple[str, str, str]", found[0]) if found else None


_MANY: Final = 32
"""Fewer changes are not looked at for what they have in common."""
_SQL: dict[tuple[object, ...], str] = {}


def _form(change: Insert | Update) -> str | None:
    """The statement of an insertion."""
    return _insertion(change.table, tuple(change.row)) if isinstance(change, Insert) else None


def _insertion(table: str, names: tuple[str, ...]) -> str:
    key = ("+", table, names)
    if key not in _SQL:
        _SQL[key] = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks(names)})"
    return _SQL[key]


def _updating(table: str, names: tuple[str, ...], guards: tuple[str, ...]) -> str:
    key = ("~", table, names, guards)
    if key not in _SQL:
        put = ", ".join(f"{name} = ?" for name in names)
        held = "".join(f" AND {name} IS ?" for name in guards)
        _SQL[key] = f"UPDATE {table} SET {put} WHERE id = ?{held}"
    return _SQL[key]


def _filled(row: Mapping[str, Any], seq: int, event_id: str) -> Mapping[str, Any]:
    """The row, with what only the store knows in the place of the words for it."""
    if SEQ not in row.values() and CITED not in row.values():
        return row
    known = {SEQ: seq, CITED: _compact([event_id])}
    return {name: known.get(value, value) for name, value in row.items()}


_encoded: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _compact(value: Any) -> str:
    return _encoded(dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else value)


def replay(db: Database, events: Sequence[StoredEvent]) -> None:
    """Apply the changes of events, in order, to a database with the schema and no rows."""
    for event in events:
        for change in json.loads(event.changes):
            if change[0] == "+":
                db.ask(_insertion(change[1], tuple(change[2])), list(change[2].values()))
            else:
                db.ask(_updating(change[1], tuple(change[3]), ()), [*change[3].values(), change[2]])


def rows_of(db: Database, table: str) -> list[Row]:
    """Every row of a table, in the order of its key, for comparisons."""
    return db.ask(f"SELECT * FROM {table} ORDER BY 1, 2")
