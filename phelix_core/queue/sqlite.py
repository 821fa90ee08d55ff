"""The queue's store on SQLite: the only writer of `queue.db`.

Every verb is one immediate transaction that is fetched whole. An event and the rows it changes are written
together, and its number is the last one plus one, so that the journal has no gap. A file of another
application or a newer version is refused as it is. Source: queue page, Store.
"""

import json
import os
from _thread import RLock
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from stat import S_ISREG
from typing import Any, Final, NoReturn, TypeVar, cast

from phelix_core.clock import Clock, Moment, moment_of
from phelix_core.errors import (
    FilesystemError,
    LeaseConflict,
    NotFound,
    PhelixError,
    QueueCorrupt,
    QueueIncompatible,
)
from phelix_core.frozen import members_of
from phelix_core.mounts import remote_kind
from phelix_core.queue.board import BoardIssue
from phelix_core.queue.journal import CITED, SEQ, Event, Insert, RowChange, Update
from phelix_core.queue.model import (
    Artifact,
    Campaign,
    Checkpoint,
    Issue,
    Lease,
    Milestone,
    Project,
    Run,
    Scope,
    StoredEvent,
    Workspace,
)
from phelix_core.queue.store import Recorded, Watch
from phelix_core.sqlite import MEMORY, Database, DatabaseUnusable, Row

_Answer = TypeVar("_Answer")
_Model = TypeVar("_Model")

APPLICATION_ID: Final = 0x50484C58
"""`PHLX`, in the file's header."""
VERSION: Final = 1
_SCHEMA: Final = "schema.sql"
_CLAIM_ORDER: Final = "rank, ifnull(deadline_at, 9223372036854775807), created_at, position, id"
_NOT_ARCHIVED: Final = (
    "({0}campaign_id IS NULL OR {0}campaign_id NOT IN"
    " (SELECT id FROM campaigns WHERE project_id = ? AND status = 'archived'))"
)
_RUNNING: Final = (
    "(campaign_id IS NULL OR campaign_id NOT IN (SELECT id FROM campaigns WHERE project_id = ? AND status <> 'active'))"
)


class SqliteQueue:
    """One queue file; a connection is opened at the first question and kept, one thread at a time uses it."""

    def __init__(self, path: str, clock: Clock) -> None:
        self.path = path
        self._clock = clock
        self._turn = RLock()
        self._reader: Database | None = None
        self._writer: Database | None = None

    # The port

    def read(self, body: Callable[["Reading"], _Answer]) -> _Answer:
        """Ask in one consistent view; raises `NotFound` where there is no queue."""
        with self._turn, self._reported():
            db = self._open_reader()
            with db.snapshot():
                return body(Reading(db))

    def write(
        self,
        body: Callable[["Writing"], _Answer],
        via: str,
        watch: Watch | None = None,
        *,
        create: bool = False,
    ) -> _Answer:
        """One transaction; a refusal raised by `body` commits what it kept, and is raised on."""
        refusal: PhelixError | None = None
        answer: Any = None
        with self._turn, self._reported():
            db = self._open_writer(create=create)
            with db.immediate():
                transaction = Writing(db, via, moment_of(self._clock), watched=watch is not None)
                try:
                    answer = body(transaction)
                except PhelixError as refused:
                    if not transaction.kept:
                        raise
                    db.ask("ROLLBACK TO kept")
                    refusal = refused
                if watch is not None and refusal is None:
                    watch(transaction.recorded)
        if refusal is not None:
            raise refusal
        return cast("_Answer", answer)

    def rehearse(
        self, body: Callable[["Writing"], _Answer], via: str, *, create: bool = False
    ) -> tuple[_Answer, list[Recorded]]:
        """What `write` would record, taken back again; a queue that is not there yet is rehearsed in memory."""
        kept: list[tuple[_Answer, list[Recorded]]] = []
        if create and self.path != MEMORY and not os.path.lexists(self.path):
            return SqliteQueue(MEMORY, self._clock).rehearse(body, via)
        try:
            with self._turn, self._reported():
                db = self._open_writer()
                with db.immediate():
                    transaction = Writing(db, via, moment_of(self._clock), watched=True)
                    kept.append((body(transaction), transaction.recorded))
                    _take_back()
        except _TakenBack:
            return kept[0]

    @contextmanager
    def _reported(self) -> Generator[None]:
        """Faults of the database inside, told by their code."""
        try:
            yield
        except DatabaseUnusable as error:
            raise self._corrupt(error) from None

    # What only a file has

    def version(self) -> int | None:
        """A number that changes when somebody else commits; None where there is no queue."""
        with self._turn, self._reported():
            try:
                return int(self._open_reader().ask("PRAGMA data_version")[0][0])
            except NotFound:
                return None

    def close(self) -> None:
        """Let go of the file."""
        with self._turn:
            for db in (self._reader, self._writer):
                if db is not None:
                    db.close()
            self._reader = self._writer = None

    def check(self) -> str | None:
        """What the engine finds wrong with the file; None when it is sound."""
        with self._turn, self._reported():
            found = [str(row[0]) for row in self._open_reader().ask("PRAGMA quick_check(1)")]
        return None if found == ["ok"] else "; ".join(found)

    def wal_bytes(self) -> int:
        """Size of the write-ahead log."""
        try:
            return os.stat(f"{self.path}-wal").st_size
        except OSError:
            return 0

    def _open_reader(self) -> Database:
        if self._writer is not None:
            return self._writer
        if self._reader is None:
            self._reader = self._opened(read_only=True)
        return self._reader

    def _open_writer(self, *, create: bool = False) -> Database:
        if self._writer is None:
            self._writer = self._opened(read_only=False, create=create)
            if self._reader is not None:
                self._reader.close()
                self._reader = None
        return self._writer

    def _opened(self, *, read_only: bool, create: bool = False) -> Database:
        if self.path != MEMORY:
            self._require_file(read_only=read_only, create=create)
        try:
            db = Database(self.path, self._clock, read_only=read_only, keep_wal=not read_only)
        except DatabaseUnusable as error:
            raise self._corrupt(error) from None
        try:
            db.script("PRAGMA foreign_keys=ON; PRAGMA trusted_schema=OFF;")
            if not read_only:
                self._prepare(db)
            self._require_ours(db)
        except DatabaseUnusable as error:
            db.close()
            raise self._corrupt(error) from None
        except BaseException:
            db.close()
            raise
        return db

    def _require_file(self, *, read_only: bool, create: bool) -> None:
        """Make the file where it may be made, its modes strict; refuse what SQLite must not be let near."""
        folder = os.path.dirname(self.path)
        try:
            exists = os.path.lexists(self.path)
            if not exists and not create:
                raise NotFound("There is no queue here.", hint="`phelix queue init NAME` makes one.")
            if system := remote_kind(folder):
                raise FilesystemError(
                    f"The queue's folder is on a network file system ({system}); SQLite cannot share one there.",
                    hint="Put the queue on a local disk: --queue or PHELIX_QUEUE names the file.",
                )
            if not exists:
                os.makedirs(folder, mode=0o700, exist_ok=True)
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
            elif not read_only:
                self._tighten()
        except FileExistsError:
            return  # somebody else has just made it
        except OSError as error:
            raise FilesystemError(f"The queue cannot be opened: {os.strerror(error.errno or 0)}.") from None

    def _tighten(self) -> None:
        """Close modes that let others in, of the file and of the two beside it."""
        for suffix in ("", "-wal", "-shm"):
            try:
                found = os.lstat(self.path + suffix)
                if found.st_mode & 0o077 and S_ISREG(found.st_mode):
                    os.chmod(self.path + suffix, 0o600)
            except FileNotFoundError:
                continue
            except PermissionError:
                continue  # another user's file: opening it will tell

    def _prepare(self, db: Database) -> None:
        """The write-ahead log, and the schema in a new file; several processes may come here at once."""
        if db.ask("PRAGMA application_id")[0][0] == 0 and not db.ask("SELECT 1 FROM sqlite_schema LIMIT 1"):
            if db.ask("PRAGMA user_version")[0][0] != 0:
                return
            db.patiently("PRAGMA journal_mode=WAL")
            with db.immediate():
                if not db.ask("SELECT 1 FROM sqlite_schema LIMIT 1"):
                    with open(os.path.join(os.path.dirname(__file__), _SCHEMA), encoding="utf-8") as file:
                        db.script(file.read())
                    db.script(f"PRAGMA application_id={APPLICATION_ID}; PRAGMA user_version={VERSION};")
        elif db.ask("PRAGMA application_id")[0][0] == APPLICATION_ID:
            db.patiently("PRAGMA journal_mode=WAL")
        db.script("PRAGMA synchronous=FULL; PRAGMA secure_delete=ON; PRAGMA journal_size_limit=67108864;")

    def _require_ours(self, db: Database) -> None:
        application, version = db.ask("PRAGMA application_id")[0][0], db.ask("PRAGMA user_version")[0][0]
        if application != APPLICATION_ID:
            raise QueueIncompatible(
                "The file is a database of another application; it was left as it is.",
                hint="`phelix queue import` reads a lifecycle database into a queue of ours." if version else None,
            )
        if version != VERSION:
            raise QueueIncompatible(
                f"The queue has version {version}; this Phelix knows {VERSION}. It was left as it is.",
                hint="Install the newer Phelix that made it.",
            )

    def _corrupt(self, error: DatabaseUnusable) -> PhelixError:
        told = str(error)
        if told in ("full", "io"):
            return FilesystemError(f"The queue's disk refused ({told}); nothing was written.")
        if told in ("readonly", "cantopen", "perm"):
            return FilesystemError(f"The queue cannot be opened or written ({told}).", hint="See who owns the file.")
        return QueueCorrupt(
            f"The queue cannot be read: {told}.",
            hint="Keep the file, and go on from a backup; `phelix doctor` says what it finds.",
        )


class _TakenBack(Exception):
    """Ends a rehearsal."""


def _take_back() -> NoReturn:
    raise _TakenBack


def _columns(model: type, prefix: str = "") -> str:
    return ", ".join(f"{prefix}{name}" for name, _ in members_of(model))


_COLUMNS: Final[dict[type, str]] = {
    kind: _columns(kind)
    for kind in (
        Workspace,
        Project,
        Campaign,
        Milestone,
        Issue,
        Lease,
        Run,
        Checkpoint,
        Artifact,
        StoredEvent,
        BoardIssue,
    )
}


def _made(kind: type[_Model], row: Sequence[Any]) -> _Model:
    return kind(**dict(zip((name for name, _ in members_of(kind)), row, strict=True)))


class Reading:
    """Questions on one connection, inside a snapshot or a transaction of the caller's."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def _rows(self, kind: type[_Model], rest: str, values: Sequence[Any] = ()) -> list[_Model]:
        table = _TABLES[cast("type", kind)]
        return [_made(kind, row) for row in self._db.ask(f"SELECT {_COLUMNS[kind]} FROM {table} {rest}", values)]

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
            return self._rows(Project, "ORDER BY created_at, id")
        for column in ("id", "key", "name"):
            if found := self._rows(Project, f"WHERE {column} = ? ORDER BY created_at, id", [word]):
                return found
        return []

    def campaigns(self, project_id: str, word: str | None = None) -> list[Campaign]:
        if word is None:
            return self._rows(Campaign, "WHERE project_id = ? ORDER BY created_at, id", [project_id])
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
        rest = f"WHERE {where} AND status = 'active' AND {_NOT_ARCHIVED.format('')} ORDER BY acquired_at, id"
        return self._rows(Lease, rest, [*values, scope.project.id])

    def run(self, run_id: str) -> Run | None:
        return self._one(Run, "WHERE id = ?", [run_id])

    def runs_of(self, issue_id: str) -> list[Run]:
        rest = "WHERE lease_id IN (SELECT id FROM leases WHERE issue_id = ?) ORDER BY started_at, id"
        return self._rows(Run, rest, [issue_id])

    def checkpoints_of(self, issue_id: str, *, limit: int) -> list[Checkpoint]:
        return self._rows(Checkpoint, "WHERE issue_id = ? ORDER BY seq DESC LIMIT ?", [issue_id, limit])

    def artifacts_of(self, issue_id: str) -> list[Artifact]:
        return self._rows(Artifact, "WHERE issue_id = ? ORDER BY created_at, id", [issue_id])

    def events_of(self, issue_id: str, *, limit: int) -> list[StoredEvent]:
        return self._rows(StoredEvent, "WHERE issue_id = ? ORDER BY seq DESC LIMIT ?", [issue_id, limit])

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
        rest = (
            "WHERE id IN (SELECT issue_id FROM issue_dependencies WHERE depends_on = ?)"
            " ORDER BY created_at, position, id"
        )
        return self._rows(Issue, rest, [issue_id])

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

    def needing_recovery(self, scope: Scope) -> list[Issue]:
        where, values = self._in(scope)
        rest = f"WHERE {where} AND status = 'needs_recovery' AND {_NOT_ARCHIVED.format('')} ORDER BY {_CLAIM_ORDER}"
        return self._rows(Issue, rest, [*values, scope.project.id])

    def board_issues(self, ids: Sequence[str] | None) -> list[BoardIssue]:
        if ids is None:
            return self._rows(BoardIssue, "")
        return [issue for one in ids if (issue := self._one(BoardIssue, "WHERE id = ?", [one])) is not None]

    def issue_needs(self, ids: Sequence[str] | None) -> list[tuple[str, str]]:
        sql = "SELECT issue_id, depends_on FROM issue_dependencies"
        if ids is None:
            return cast("list[tuple[str, str]]", self._db.ask(sql))
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
            return [lease for one in ids for lease in self._rows(Lease, rest, [one])]
        waiting = "issue_id IN (SELECT id FROM issues WHERE status = 'needs_recovery') AND status = 'needs_recovery'"
        return [*self._rows(Lease, "WHERE status = 'active'"), *self._rows(Lease, f"WHERE {waiting}")]

    def named_holders(self) -> list[Lease]:
        return self._rows(Lease, "WHERE status = 'active' AND holder_pid IS NOT NULL")

    def touched_since(self, seq: int, *, limit: int) -> list[str | None]:
        rows = self._db.ask("SELECT issue_id FROM events WHERE seq > ? ORDER BY seq LIMIT ?", [seq, limit])
        return [row[0] for row in rows]


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
        changes = [self._apply(change, seq, event_id) for change in event.changes]
        self.recorded.append((event, seen))
        row = event.changes[0] if event.changes else None
        project_id, campaign_id = self._place(event, row)
        self._db.ask(
            "INSERT INTO events (seq, id, kind, project_id, campaign_id, issue_id, run_id, via, at, payload, changes)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                seq, event_id, event.kind, project_id, campaign_id, event.issue_id, event.run_id, self.via,
                self.now.wall_ms, _compact(event.payload), _compact(changes),
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

    def _apply(self, change: Insert | Update, seq: int, event_id: str) -> list[Any]:
        if isinstance(change, Insert):
            row = {name: _filled(value, seq, event_id) for name, value in change.row.items()}
            self._db.ask(_insertion(change.table, tuple(row)), list(row.values()))
            return ["+", change.table, row]
        put = {name: _filled(value, seq, event_id) for name, value in change.set.items()}
        done = self._db.ask(
            _updating(change.table, tuple(put), tuple(change.guard)), [*put.values(), change.id, *change.guard.values()]
        )
        if not done:
            raise LeaseConflict(details={"row": change.id})
        return ["~", change.table, change.id, put]

    def suspects(self, scope: Scope, now: Moment) -> list[tuple[Lease, Issue]]:
        where, values = self._in(scope, "l.")
        sql = (
            f"SELECT {_columns(Lease, 'l.')}, {_columns(Issue, 'i.')} FROM leases l JOIN issues i ON i.id = l.issue_id"
            f" WHERE {where} AND l.status = 'active' AND {_NOT_ARCHIVED.format('l.')} AND ("
            " i.status <> 'in_progress' OR l.boot <> ? OR l.boot = '' OR l.deadline_mono IS NULL"
            " OR l.deadline_mono <= ? OR l.checkpoint_mono IS NULL OR l.checkpoint_mono <= ? - l.freshness_ms)"
            " ORDER BY l.acquired_at, l.id"
        )
        rows = self._db.ask(sql, [*values, scope.project.id, now.boot, now.mono_ms, now.mono_ms])
        width = len(members_of(Lease))
        return [(_made(Lease, row[:width]), _made(Issue, row[width:])) for row in rows]

    def strays(self, scope: Scope) -> list[Issue]:
        where, values = self._in(scope)
        rest = (
            f"WHERE {where} AND status = 'in_progress' AND {_NOT_ARCHIVED.format('')} AND NOT EXISTS"
            " (SELECT 1 FROM leases l WHERE l.issue_id = issues.id AND l.status = 'active') ORDER BY id"
        )
        return self._rows(Issue, rest, [*values, scope.project.id])

    def own_leases(self, scope: Scope, agent_id: str) -> list[Lease]:
        where, values = self._in(scope)
        rest = (
            f"WHERE {where} AND agent_id = ? AND status = 'active' AND {_NOT_ARCHIVED.format('')}"
            " ORDER BY acquired_at DESC, epoch DESC, id"
        )
        return self._rows(Lease, rest, [*values, agent_id, scope.project.id])

    def routes(self, project_id: str, campaign_id: str | None) -> list[str]:
        sql = (
            "WITH RECURSIVE lane(route) AS ("
            " SELECT (SELECT route FROM issues WHERE project_id = ?1 AND campaign_id IS ?2 AND status = 'ready'"
            "  ORDER BY route LIMIT 1)"
            " UNION ALL"
            " SELECT (SELECT i.route FROM issues i WHERE i.project_id = ?1 AND i.campaign_id IS ?2"
            "  AND i.status = 'ready' AND i.route > lane.route ORDER BY i.route LIMIT 1)"
            " FROM lane WHERE lane.route IS NOT NULL)"
            " SELECT route FROM lane WHERE route IS NOT NULL"
        )
        return [str(row[0]) for row in self._db.ask(sql, [project_id, campaign_id])]

    def first_ready(self, project_id: str, campaign_id: str | None, route: str, limit: int) -> list[Issue]:
        rest = (
            "WHERE project_id = ? AND campaign_id IS ? AND status = 'ready' AND route = ?"
            f" ORDER BY {_CLAIM_ORDER} LIMIT ?"
        )
        return self._rows(Issue, rest, [project_id, campaign_id, route, limit])

    def rank_due(self, scope: Scope, at_ms: int) -> list[Issue]:
        where, values = self._in(scope)
        rest = f"WHERE {where} AND status = 'ready' AND rank_due_at IS NOT NULL AND rank_due_at <= ? ORDER BY id"
        return self._rows(Issue, rest, [*values, at_ms])

    def promotable(self, scope: Scope) -> list[Issue]:
        where, values = self._in(scope)
        rest = f"WHERE {where} AND promotable = 1 AND {_RUNNING} ORDER BY {_CLAIM_ORDER}"
        return self._rows(Issue, rest, [*values, scope.project.id])

    def pending(self, scope: Scope, *, limit: int) -> list[Issue]:
        where, values = self._in(scope)
        rest = f"WHERE {where} AND status = 'pending' AND {_RUNNING} ORDER BY {_CLAIM_ORDER} LIMIT ?"
        return self._rows(Issue, rest, [*values, scope.project.id, limit])

    def in_milestones(self, milestone_ids: Sequence[str], statuses: Sequence[str]) -> list[Issue]:
        found: list[Issue] = []
        for milestone_id in milestone_ids:
            rest = f"WHERE milestone_id = ? AND status IN ({_marks(statuses)}) ORDER BY position, id"
            found += self._rows(Issue, rest, [milestone_id, *statuses])
        return found

    def in_campaign(self, campaign_id: str, statuses: Sequence[str]) -> list[Issue]:
        rest = (
            f"WHERE project_id = (SELECT project_id FROM campaigns WHERE id = ?) AND campaign_id = ?"
            f" AND status IN ({_marks(statuses)}) ORDER BY created_at, position, id"
        )
        return self._rows(Issue, rest, [campaign_id, campaign_id, *statuses])

    def active_artifacts(self, run_ids: Sequence[str]) -> list[Artifact]:
        rest = f"WHERE status = 'active' AND run_id IN ({_marks(run_ids)}) ORDER BY created_at, id"
        return self._rows(Artifact, rest, run_ids)

    def unknown_milestones(self, project_id: str, ids: Sequence[str]) -> list[str]:
        sql = "SELECT 1 FROM milestones WHERE id = ? AND project_id = ?"
        return [known for known in ids if not self._db.ask(sql, [known, project_id])]

    def answered(self, project_id: str, request_id: str) -> tuple[str, str, str] | None:
        sql = "SELECT verb, input, answer FROM requests WHERE project_id = ? AND request_id = ?"
        found = self._db.ask(sql, [project_id, request_id])
        return cast("tuple[str, str, str]", found[0]) if found else None


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
}


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


_SQL: dict[tuple[object, ...], str] = {}


def _insertion(table: str, names: tuple[str, ...]) -> str:
    key = ("+", table, names)
    if key not in _SQL:
        _SQL[key] = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({_marks(names)})"
    return _SQL[key]


def _updating(table: str, names: tuple[str, ...], guards: tuple[str, ...]) -> str:
    key = ("~", table, names, guards)
    if key not in _SQL:
        put = ", ".join(f"{name} = ?" for name in names)
        held = "".join(f" AND {name} IS ?" for name in guards)
        _SQL[key] = f"UPDATE {table} SET {put} WHERE id = ?{held} RETURNING 1"
    return _SQL[key]


def _filled(value: Any, seq: int, event_id: str) -> Any:
    if value is SEQ:
        return seq
    return _compact([event_id]) if value is CITED else value


def _compact(value: Any) -> str:
    members: Any = dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else value
    return json.dumps(members, ensure_ascii=False, separators=(",", ":"))


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
