"""Questions to the queue's tables: each one statement, fetched whole, rows as models.

Partial indexes answer them, one a question (schema.sql); what is few is ordered here, since setting up a sort
costs the engine more than a look. Source: queue page, Store; speed page, facts.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from sys import intern
from typing import Any, Final, TypeVar, cast

from phelix_core.clock import Moment
from phelix_core.frozen import made_of, members_of
from phelix_core.queue.board import BoardIssue
from phelix_core.queue.model import (
    NO_DEADLINE,
    PRIORITIES,
    Artifact,
    Campaign,
    Checkpoint,
    Issue,
    Lease,
    MemoryLink,
    Milestone,
    OutboxRow,
    Project,
    Run,
    Scope,
    StoredEvent,
    Workspace,
    claim_order,
)
from phelix_core.sqlite import Database

_Model = TypeVar("_Model")

CLAIM_ORDER: Final = f"rank, ifnull(deadline_at, {NO_DEADLINE}), created_at, position, id"
"""`claim_order`, for the engine."""
NOT_ARCHIVED: Final = (
    "({0}campaign_id IS NULL OR {0}campaign_id NOT IN"
    " (SELECT id FROM campaigns WHERE project_id = ? AND status = 'archived'))"
)
RUNNING: Final = (
    "(campaign_id IS NULL OR campaign_id NOT IN (SELECT id FROM campaigns WHERE project_id = ? AND status <> 'active'))"
)


BY_ID: Final = attrgetter("id")
BY_AGE: Final = attrgetter("created_at", "id")
BY_CLAIM: Final = attrgetter("acquired_at", "id")
_BY_EPOCH: Final = attrgetter("epoch", "acquired_at")
_AS_PLANNED: Final = attrgetter("created_at", "position", "id")


def newest_claim(lease: Lease) -> tuple[object, ...]:
    """The newest lease first."""
    return -lease.acquired_at, -lease.epoch, lease.id


_TABLES: Final[dict[type, str]] = {
    Workspace: "workspaces",
    Project: "projects",
    Campaign: "campaigns",
    Milestone: "milestones",
    Issue: "issues",
    Lease: "leases",
    Run: "runs",
    Checkpoint: "checkpoints",
    Artifact: "artifacts",
    StoredEvent: "events",
    BoardIssue: "issues",
    MemoryLink: "memory_links",
    OutboxRow: "memory_outbox",
}
_BEHIND_ALL: Final = NO_DEADLINE
_SHORT: Final = 32
_WITH_MEMORY: Final = 2
"""Files of an older version hold no memory links, and are not changed by looking."""


def marks(values: Sequence[object]) -> str:
    """As many place holders."""
    return ", ".join("?" * len(values))


def _columns(model: type, prefix: str = "") -> str:
    return ", ".join(f"{prefix}{name}" for name, _ in members_of(model))


_COLUMNS: Final[dict[type, str]] = {kind: _columns(kind) for kind in _TABLES}


def _shared(row: Iterable[Any]) -> Iterable[Any]:
    """The row, its short texts shared with all that have the same: ids and statuses of very many rows are few."""
    return [intern(value) if type(value) is str and len(value) <= _SHORT else value for value in row]


class Reading:
    """Questions on one connection, inside a snapshot or a transaction of the caller's."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def _rows(
        self, kind: type[_Model], rest: str, values: Sequence[Any] = (), order: Callable[[_Model], Any] | None = None
    ) -> list[_Model]:
        """Rows of a table; what is few is put in `order` here: setting up a sort costs the engine more than a look."""
        table = _TABLES[cast("type", kind)]
        found = self._db.ask(f"SELECT {_COLUMNS[kind]} FROM {table} {rest}", values)
        rows = [made_of(kind, row) for row in found]
        if order is not None and len(rows) > 1:
            rows.sort(key=order)
        return rows

    def _one(self, kind: type[_Model], rest: str, values: Sequence[Any]) -> _Model | None:
        return next(iter(self._rows(kind, rest, values)), None)

    def _in(self, scope: Scope, prefix: str = "") -> tuple[str, list[Any]]:
        if scope.campaign_id is None:
            return f"{prefix}project_id = ?", [scope.project.id]
        return f"{prefix}project_id = ? AND {prefix}campaign_id = ?", [scope.project.id, scope.campaign_id]

    def workspaces(self) -> list[Workspace]:
        return self._rows(Workspace, "ORDER BY created_at, id")

    def projects(self, word: str | None = None) -> list[Project]:
        if word is None:
            return self._rows(Project, "", (), BY_AGE)
        for column in ("id", "key", "name"):
            if found := self._rows(Project, f"WHERE {column} = ?", [word], BY_AGE):
                return found
        return []

    def campaigns(self, project_id: str, word: str | None = None) -> list[Campaign]:
        if word is None:
            return self._rows(Campaign, "WHERE project_id = ?", [project_id], BY_AGE)
        for column in ("id", "name"):
            if found := self._rows(Campaign, f"WHERE project_id = ? AND {column} = ?", [project_id, word]):
                return found
        return []

    def milestones(self, scope: Scope) -> list[Milestone]:
        where, values = self._in(scope)
        return self._rows(Milestone, f"WHERE {where} ORDER BY created_at, position, id", values)

    def milestone(self, milestone_id: str) -> Milestone | None:
        return self._one(Milestone, "WHERE id = ?", [milestone_id])

    def issue(self, issue_id: str) -> Issue | None:
        return self._one(Issue, "WHERE id = ?", [issue_id])

    def issues(
        self,
        scope: Scope,
        *,
        status: str | None = None,
        milestone_id: str | None = None,
        after: Issue | None = None,
        limit: int,
    ) -> list[Issue]:
        where, values = self._in(scope)
        if status is not None:
            where, values = f"{where} AND status = ?", [*values, status]
        if milestone_id is not None:
            where, values = f"{where} AND milestone_id = ?", [*values, milestone_id]
        if after is not None:
            where = f"{where} AND (created_at, position, id) > (?, ?, ?)"
            values = [*values, after.created_at, after.position, after.id]
        return self._rows(Issue, f"WHERE {where} ORDER BY created_at, position, id LIMIT ?", [*values, limit])

    def lease(self, lease_id: str) -> Lease | None:
        return self._one(Lease, "WHERE id = ?", [lease_id])

    def leases_of(self, issue_id: str) -> list[Lease]:
        return self._rows(Lease, "WHERE issue_id = ? ORDER BY epoch, acquired_at", [issue_id])

    def active_leases(self, scope: Scope) -> list[Lease]:
        where, values = self._in(scope)
        rest = f"WHERE {where} AND status = 'active' AND {NOT_ARCHIVED.format('')}"
        return self._rows(Lease, rest, [*values, scope.project.id], BY_CLAIM)

    def leases_with_records(self, after: str, limit: int) -> list[Lease]:
        return self._rows(
            Lease, "WHERE id > ? AND session_id LIKE 'ses\\_%' ESCAPE '\\' ORDER BY id LIMIT ?", [after, limit]
        )

    def run(self, run_id: str) -> Run | None:
        return self._one(Run, "WHERE id = ?", [run_id])

    def runs_of(self, issue_id: str) -> list[Run]:
        rest = "WHERE lease_id IN (SELECT id FROM leases WHERE issue_id = ?) ORDER BY started_at, id"
        return self._rows(Run, rest, [issue_id])

    def checkpoints_of(self, issue_id: str, *, limit: int, before: int | None = None) -> list[Checkpoint]:
        rest = "WHERE issue_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?"
        return self._rows(Checkpoint, rest, [issue_id, _BEHIND_ALL if before is None else before, limit])

    def checkpoint(self, checkpoint_id: str) -> Checkpoint | None:
        return self._one(Checkpoint, "WHERE id = ?", [checkpoint_id])

    def artifacts_of(self, issue_id: str) -> list[Artifact]:
        return self._rows(Artifact, "WHERE issue_id = ?", [issue_id], BY_AGE)

    def events_of(self, issue_id: str, *, limit: int, before: int | None = None) -> list[StoredEvent]:
        rest = "WHERE issue_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?"
        return self._rows(StoredEvent, rest, [issue_id, _BEHIND_ALL if before is None else before, limit])

    def events_since(self, seq: int, *, limit: int) -> list[StoredEvent]:
        return self._rows(StoredEvent, "WHERE seq > ? ORDER BY seq LIMIT ?", [seq, limit])

    def last_seq(self) -> int:
        return int(self._db.ask("SELECT ifnull(max(seq), 0) FROM events")[0][0])

    def dependencies(self, issue_id: str) -> list[tuple[str, str]]:
        sql = (
            "SELECT i.id, i.status FROM issue_dependencies d JOIN issues i ON i.id = d.depends_on"
            " WHERE d.issue_id = ? ORDER BY i.created_at, i.position, i.id"
        )
        return cast("list[tuple[str, str]]", self._db.ask(sql, [issue_id]))

    def dependents(self, issue_id: str) -> list[Issue]:
        rest = "WHERE id IN (SELECT issue_id FROM issue_dependencies WHERE depends_on = ?)"
        return self._rows(Issue, rest, [issue_id], _AS_PLANNED)

    def milestone_dependencies(self, milestone_id: str) -> list[str]:
        sql = (
            "SELECT m.id FROM milestone_dependencies d JOIN milestones m ON m.id = d.depends_on"
            " WHERE d.milestone_id = ? ORDER BY m.created_at, m.position, m.id"
        )
        return [str(row[0]) for row in self._db.ask(sql, [milestone_id])]

    def milestone_dependents(self, milestone_id: str) -> list[str]:
        sql = "SELECT milestone_id FROM milestone_dependencies WHERE depends_on = ?"
        return [str(row[0]) for row in self._db.ask(sql, [milestone_id])]

    def is_milestone_done(self, milestone_id: str) -> bool:
        sql = (
            "SELECT EXISTS (SELECT 1 FROM issues WHERE milestone_id = ?1),"
            " EXISTS (SELECT 1 FROM issues WHERE milestone_id = ?1 AND status <> 'done')"
        )
        some, unfinished = self._db.ask(sql, [milestone_id])[0]
        return bool(some) and not unfinished

    def milestone_counts(self, scope: Scope) -> Mapping[str, Mapping[str, int]]:
        where, values = self._in(scope, "m.")
        sql = (
            "SELECT i.milestone_id, i.status, count(*) FROM milestones m JOIN issues i ON i.milestone_id = m.id"
            f" WHERE {where} GROUP BY 1, 2"
        )
        counts: dict[str, dict[str, int]] = {}
        for milestone_id, status, number in self._db.ask(sql, values):
            counts.setdefault(milestone_id, {})[status] = number
        return counts

    def status_counts(self, scope: Scope) -> Mapping[str, int]:
        where, values = self._in(scope)
        return dict(self._db.ask(f"SELECT status, count(*) FROM issues WHERE {where} GROUP BY status", values))

    def open_counts(self, scope: Scope) -> Mapping[str, int]:
        where, values = self._in(scope)
        counts: dict[str, int] = {}
        for status in ("in_progress", "blocked", "pending"):
            sql = f"SELECT count(*) FROM (SELECT 1 FROM issues WHERE {where} AND status = '{status}' LIMIT 1000)"
            counts[status] = self._db.ask(sql, values)[0][0]
        return counts

    def needing_recovery(self, scope: Scope) -> list[Issue]:
        where, values = self._in(scope)
        rest = f"WHERE {where} AND status = 'needs_recovery' AND {NOT_ARCHIVED.format('')}"
        return self._rows(Issue, rest, [*values, scope.project.id], claim_order)

    def board_issues(self, ids: Sequence[str] | None) -> list[BoardIssue]:
        if ids is None:
            sql = f"SELECT {_COLUMNS[BoardIssue]} FROM {_TABLES[BoardIssue]}"
            return [made_of(BoardIssue, _shared(row)) for row in self._db.each(sql)]
        return [issue for one in ids if (issue := self._one(BoardIssue, "WHERE id = ?", [one])) is not None]

    def issue_needs(self, ids: Sequence[str] | None) -> list[tuple[str, str]]:
        sql = "SELECT issue_id, depends_on FROM issue_dependencies"
        if ids is None:
            return cast("list[tuple[str, str]]", [tuple(_shared(row)) for row in self._db.each(sql)])
        found = [row for one in ids for row in self._db.ask(f"{sql} WHERE issue_id = ?", [one])]
        return cast("list[tuple[str, str]]", found)

    def every_milestone(self) -> list[Milestone]:
        return self._rows(Milestone, "ORDER BY created_at, position, id")

    def milestone_needs(self) -> list[tuple[str, str]]:
        sql = "SELECT milestone_id, depends_on FROM milestone_dependencies"
        return cast("list[tuple[str, str]]", self._db.ask(sql))

    def standing_leases(self, ids: Sequence[str] | None) -> list[Lease]:
        if ids is not None:
            rest = "WHERE issue_id = ? AND status IN ('active', 'needs_recovery')"
            return [lease for one in ids for lease in self._rows(Lease, rest, [one], _BY_EPOCH)]
        waiting = "issue_id IN (SELECT id FROM issues WHERE status = 'needs_recovery') AND status = 'needs_recovery'"
        return [*self._rows(Lease, "WHERE status = 'active'"), *self._rows(Lease, f"WHERE {waiting}")]

    def named_holders(self) -> list[Lease]:
        return self._rows(Lease, "WHERE status = 'active' AND holder_pid IS NOT NULL")

    def touched_since(self, seq: int, *, limit: int) -> list[str | None]:
        rows = self._db.ask("SELECT issue_id FROM events WHERE seq > ? ORDER BY seq LIMIT ?", [seq, limit])
        return [row[0] for row in rows]

    def memory_links_of(self, issue_id: str) -> list[MemoryLink]:
        return self._rows(MemoryLink, "WHERE issue_id = ?", [issue_id], BY_AGE) if self._has_memory() else []

    def outbox(self, *, limit: int) -> list[OutboxRow]:
        rest = "WHERE status = 'queued' ORDER BY attempts, created_at, id LIMIT ?"
        return self._rows(OutboxRow, rest, [limit]) if self._has_memory() else []

    def outbox_row(self, row_id: str) -> OutboxRow | None:
        return self._one(OutboxRow, "WHERE id = ?", [row_id]) if self._has_memory() else None

    def known(self, table: str, columns: Sequence[str], ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        if not ids or (table == _TABLES[MemoryLink] and not self._has_memory()):
            return {}
        sql = f"SELECT id, {', '.join(columns)} FROM {table} WHERE id IN (SELECT value FROM json_each(?))"
        found = self._db.ask(sql, [json.dumps(list(ids))])
        return {row[0]: dict(zip(columns, row[1:], strict=True)) for row in found}

    def _has_memory(self) -> bool:
        return bool(self._db.ask("PRAGMA user_version")[0][0] >= _WITH_MEMORY)

    def suspects(self, scope: Scope, now: Moment) -> list[tuple[Lease, Issue]]:
        where, values = self._in(scope)
        rest = (
            f"WHERE {where} AND status = 'active' AND {NOT_ARCHIVED.format('')} AND ("
            " boot <> ? OR boot = '' OR deadline_mono IS NULL OR deadline_mono <= ?"
            " OR checkpoint_mono IS NULL OR checkpoint_mono <= ? - freshness_ms"
            " OR (SELECT i.status FROM issues i WHERE i.id = leases.issue_id) <> 'in_progress')"
        )
        asked = [*values, scope.project.id, now.boot, now.mono_ms, now.mono_ms]
        found = ((lease, self.issue(lease.issue_id)) for lease in self._rows(Lease, rest, asked, BY_CLAIM))
        return [(lease, issue) for lease, issue in found if issue is not None]

    def strays(self, scope: Scope) -> list[Issue]:
        where, values = self._in(scope)
        rest = (
            f"WHERE {where} AND status = 'in_progress' AND {NOT_ARCHIVED.format('')} AND NOT EXISTS"
            " (SELECT 1 FROM leases l WHERE l.issue_id = issues.id AND l.status = 'active')"
        )
        return self._rows(Issue, rest, [*values, scope.project.id], BY_ID)

    def routes(self, project_id: str, campaign_id: str | None) -> list[str]:
        ready = "SELECT route FROM issues WHERE project_id = ? AND campaign_id IS ? AND status = 'ready'"
        found = self._db.ask(f"{ready} ORDER BY route LIMIT 1", [project_id, campaign_id])
        routes: list[str] = []
        while found:
            routes.append(str(found[0][0]))
            found = self._db.ask(f"{ready} AND route > ? ORDER BY route LIMIT 1", [project_id, campaign_id, routes[-1]])
        return routes

    def first_ready(self, project_id: str, campaign_id: str | None, route: str, limit: int) -> list[Issue]:
        rest = (
            "WHERE project_id = ? AND campaign_id IS ? AND status = 'ready' AND route = ?"
            f" ORDER BY {CLAIM_ORDER} LIMIT ?"
        )
        return self._rows(Issue, rest, [project_id, campaign_id, route, limit])

    def promotable(self, scope: Scope) -> list[Issue]:
        where, values = self._in(scope)
        rest = f"WHERE {where} AND promotable = 1 AND {RUNNING}"
        return self._rows(Issue, rest, [*values, scope.project.id], claim_order)

    def stuck(self, scope: Scope, *, limit: int) -> list[Issue]:
        where, values = self._in(scope)
        rest = (
            f"WHERE {where} AND status = 'blocked' AND {NOT_ARCHIVED.format('')} AND NOT EXISTS"
            " (SELECT 1 FROM leases l WHERE l.issue_id = issues.id AND l.status = 'active')"
            f" ORDER BY {CLAIM_ORDER} LIMIT ?"
        )
        return self._rows(Issue, rest, [*values, scope.project.id, limit])

    def failed_before_issues(self, scope: Scope, *, limit: int) -> list[tuple[str, str]]:
        where, values = self._in(scope, "f.")
        sql = (
            "SELECT f.id, p.id FROM issues f JOIN issue_dependencies d ON d.depends_on = f.id"
            " JOIN issues p ON p.id = d.issue_id AND p.status = 'pending'"
            f" WHERE {where} AND f.status = 'failed' AND {NOT_ARCHIVED.format('f.')} LIMIT ?"
        )
        return cast("list[tuple[str, str]]", self._db.ask(sql, [*values, scope.project.id, limit]))

    def failed_before_milestones(self, scope: Scope, *, limit: int) -> list[tuple[str, str]]:
        where, values = self._in(scope, "f.")
        sql = (
            "SELECT f.id, p.id FROM issues f JOIN milestone_dependencies d ON d.depends_on = f.milestone_id"
            " JOIN issues p ON p.milestone_id = d.milestone_id AND p.status = 'pending'"
            f" WHERE {where} AND f.status = 'failed' AND {NOT_ARCHIVED.format('f.')} LIMIT ?"
        )
        return cast("list[tuple[str, str]]", self._db.ask(sql, [*values, scope.project.id, limit]))

    def page_of(self, scope: Scope, statuses: Sequence[str], *, waiting: bool, skip: int, limit: int) -> list[Issue]:
        where, values = self._in(scope)
        kept = " AND promotable = 0" if waiting else ""
        rest = f"WHERE {where} AND status IN ({marks(statuses)}){kept} ORDER BY {CLAIM_ORDER} LIMIT ? OFFSET ?"
        return self._rows(Issue, rest, [*values, *statuses, limit, skip])

    def tracked(self, scope: Scope, *, limit: int) -> list[Issue]:
        where, values = self._in(scope)
        rest = (
            f"WHERE {where} AND status NOT IN ('done', 'failed') AND (policy <> '{{}}' OR deadline_at IS NOT NULL)"
            f" ORDER BY {CLAIM_ORDER} LIMIT ?"
        )
        return self._rows(Issue, rest, [*values, limit])

    def top_priority(self, milestone_id: str) -> int | None:
        places = " ".join(f"WHEN '{word}' THEN {place}" for place, word in enumerate(PRIORITIES))
        sql = f"SELECT min(CASE priority {places} END) FROM issues WHERE milestone_id = ?"
        return cast("int | None", self._db.ask(sql, [milestone_id])[0][0])

    def recent_runs(self, scope: Scope, *, limit: int) -> list[Run]:
        where, values = self._in(scope)
        return self._rows(Run, f"WHERE {where} ORDER BY started_at DESC, id LIMIT ?", [*values, limit])

    def failed_runs(self, scope: Scope) -> int:
        where, values = self._in(scope)
        return int(self._db.ask(f"SELECT count(*) FROM runs WHERE {where} AND status = 'failed'", values)[0][0])

    def recent_events(self, scope: Scope, *, limit: int) -> list[StoredEvent]:
        where, values = self._in(scope)
        return self._rows(StoredEvent, f"WHERE {where} ORDER BY seq DESC LIMIT ?", [*values, limit])

    def last_checkpoint_at(self, scope: Scope) -> int | None:
        where, values = self._in(scope, "e.")
        sql = (
            "SELECT c.created_at FROM events e JOIN checkpoints c ON c.issue_id = e.issue_id AND c.seq = e.seq"
            f" WHERE {where} ORDER BY e.seq DESC LIMIT 1"
        )
        found = self._db.ask(sql, values)
        return int(found[0][0]) if found else None

    def event(self, seq: int) -> StoredEvent | None:
        return self._one(StoredEvent, "WHERE seq = ?", [seq])

    def numbers_of(self, issue_id: str, *, at_most: int) -> tuple[int, int]:
        counted = "SELECT count(*) FROM (SELECT 1 FROM {0} WHERE issue_id = ?1 LIMIT ?2)"
        sql = f"SELECT ({counted.format('checkpoints')}), ({counted.format('events')})"
        points, events = self._db.ask(sql, [issue_id, at_most])[0]
        return int(points), int(events)
