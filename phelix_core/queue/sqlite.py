"""The queue's store on SQLite: the only writer of `queue.db`.

Every verb is one immediate transaction that is fetched whole. An event and the rows it changes are written
together, and its number is the last one plus one, so that the journal has no gap. A file of another
application or a newer version is refused as it is. Source: queue page, Store.
"""

import json
import os
from _thread import RLock
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from operator import attrgetter
from stat import S_ISDIR, S_ISREG, S_ISVTX
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
from phelix_core.files import Folder
from phelix_core.frozen import made_of, members_of
from phelix_core.mounts import remote_kind
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
from phelix_core.sqlite import ABSENT, MEMORY, Database, DatabaseRefused, DatabaseUnusable, Row, patiently

_Answer = TypeVar("_Answer")
_Model = TypeVar("_Model")

APPLICATION_ID: Final = 0x50484C58
"""`PHLX`, in the file's header."""
VERSION: Final = 1
_SCHEMA: Final = "schema.sql"
_NEW_FILE: Final = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_DEADLINE: Final = 9_223_372_036_854_775_807
_CLAIM_ORDER: Final = f"rank, ifnull(deadline_at, {_NO_DEADLINE}), created_at, position, id"
_NOT_ARCHIVED: Final = (
    "({0}campaign_id IS NULL OR {0}campaign_id NOT IN"
    " (SELECT id FROM campaigns WHERE project_id = ? AND status = 'archived'))"
)
_RUNNING: Final = (
    "(campaign_id IS NULL OR campaign_id NOT IN (SELECT id FROM campaigns WHERE project_id = ? AND status <> 'active'))"
)


class SqliteQueue:
    """One queue file; a connection is opened at the first question and kept, one thread at a time uses it."""

    def __init__(self, path: str, clock: Clock, *, own_folder: bool = False) -> None:
        """`own_folder` says that the folder around it is ours too, and is to be as private as the file."""
        self.path = path
        self._own_folder = own_folder
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
        if create and self.path != MEMORY and not self._holds_something():
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
            db = self._open_reader()
            found = [str(row[0]) for row in db.ask("PRAGMA quick_check(1)")]
            missing = db.ask("SELECT ifnull(max(seq), 0) - count(*) FROM events")[0][0] if found == ["ok"] else 0
        if missing:
            return f"{missing} events are missing from the journal"
        return None if found == ["ok"] else "; ".join(found)

    def lax_modes(self) -> list[str]:
        """Files of it that are open to other users."""
        lax: list[str] = []
        for suffix in ("", "-wal", "-shm"):
            try:
                found = os.lstat(self.path + suffix)
            except OSError:
                continue
            if found.st_mode & 0o077 and S_ISREG(found.st_mode):
                lax.append(self.path + suffix)
        return lax

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
            self._require_file(create=create)
            self._require_not_foreign()
        try:  # any step may find the file locked by one who makes it or opens it at the same moment
            return patiently(lambda: self._made_ready(read_only=read_only, create=create), self._clock)
        except DatabaseUnusable as error:
            # The log's index cannot be made in a folder that may not be written; where the log holds nothing, the
            # main file alone is the whole queue.
            if not read_only or not isinstance(error, DatabaseRefused) or self.wal_bytes():
                raise
        return self._made_ready(read_only=True, immutable=True)

    def _made_ready(self, *, read_only: bool, create: bool = False, immutable: bool = False) -> Database:
        db = Database(self.path, self._clock, read_only=read_only, immutable=immutable)
        try:
            db.script("PRAGMA foreign_keys=ON; PRAGMA trusted_schema=OFF; PRAGMA temp_store=MEMORY;")
            if create or self.path == MEMORY:
                self._make_schema(db)
            self._require_ours(db)
            if not read_only:
                self._prepare(db)
        except BaseException:
            db.close(as_it_was=True)
            raise
        return db

    def _require_not_foreign(self) -> None:
        """Refuse what the main file's header tells of another application or version, before anything opens it."""
        try:
            db = Database(self.path, self._clock, read_only=True, immutable=True)
            try:
                found = _header(db)
            finally:
                db.close()
        except DatabaseUnusable:
            return  # damaged, or read without a lock in the middle of somebody's checkpoint: opening it will tell
        if found != (0, 0):  # of a new queue, the header may still be in the log
            self._require_header(found)

    def _require_file(self, *, create: bool) -> None:
        """Make the file where it may be made, private; refuse what SQLite must not be let near."""
        folder = os.path.dirname(self.path)
        try:
            exists = _is_there(self.path)
            if not exists and not create:
                raise _no_queue()
            if system := remote_kind(folder):
                raise FilesystemError(
                    f"The queue's folder is on a network file system ({system}); SQLite cannot share one there.",
                    hint="Put the queue on a local disk: --queue or PHELIX_QUEUE names the file.",
                )
            if not exists:
                if not os.path.isdir(folder):
                    Folder(folder, self._clock).prepare()
                with suppress(FileExistsError):  # somebody else has just made it
                    made = os.open(self.path, _NEW_FILE, 0o600)
                    try:
                        os.fchmod(made, 0o600)  # whatever the umask took away
                    finally:
                        os.close(made)
        except OSError as error:
            raise FilesystemError(f"The queue cannot be opened: {os.strerror(error.errno or 0)}.") from None

    def _holds_something(self) -> bool:
        """Whether there is anything at the path that a new queue could not simply take."""
        try:
            found = os.lstat(self.path)
        except OSError:
            return False
        return not S_ISREG(found.st_mode) or found.st_size > 0

    def _tighten(self) -> None:
        """Close modes that let others in: of the file, of the two beside it, of the folder where it is ours alone."""
        if self._own_folder:
            folder = os.path.dirname(self.path)
            with suppress(OSError):  # as below
                found = os.lstat(folder)
                shared = found.st_mode & S_ISVTX or found.st_uid != os.geteuid()
                if found.st_mode & 0o077 and S_ISDIR(found.st_mode) and not shared:
                    os.chmod(folder, 0o700)
        for path in self.lax_modes():
            with suppress(FileNotFoundError, PermissionError):  # another user's file: opening it will tell
                os.chmod(path, 0o600)

    def _make_schema(self, db: Database) -> None:
        """The schema in a file that holds nothing; several processes may come here at once."""
        if not _is_empty(db):
            return
        db.ask("PRAGMA journal_mode=WAL")
        with db.immediate(deadline_s=0):
            if _is_empty(db):
                with open(os.path.join(os.path.dirname(__file__), _SCHEMA), encoding="utf-8") as file:
                    db.script(file.read())
                db.script(f"PRAGMA application_id={APPLICATION_ID}; PRAGMA user_version={VERSION};")

    def _prepare(self, db: Database) -> None:
        """Modes closed, the write-ahead log on and kept, every commit on the disk."""
        if self.path != MEMORY:
            self._tighten()
            db.keep_log()
        db.ask("PRAGMA journal_mode=WAL")
        db.script("PRAGMA synchronous=FULL; PRAGMA secure_delete=ON; PRAGMA journal_size_limit=67108864;")

    def _require_ours(self, db: Database) -> None:
        if _is_empty(db):
            raise _no_queue()
        self._require_header(_header(db))

    def _require_header(self, found: tuple[int, int]) -> None:
        application, version = found
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
        if str(error) == ABSENT:
            return _no_queue()
        if isinstance(error, DatabaseRefused):
            return FilesystemError(
                f"The system refused to read or write the queue ({error}); nothing was written.",
                hint="See whether the disk is full, and who owns the file.",
            )
        return QueueCorrupt(
            f"The queue cannot be read: {error}.",
            hint="Keep the file, and go on from a backup; `phelix doctor` says what it finds.",
        )


def _header(db: Database) -> tuple[int, int]:
    """Application and version."""
    return db.ask("PRAGMA application_id")[0][0], db.ask("PRAGMA user_version")[0][0]


def _is_empty(db: Database) -> bool:
    """Whether nobody has made the file theirs yet."""
    return _header(db) == (0, 0) and not db.ask("SELECT 1 FROM sqlite_schema LIMIT 1")


def _no_queue() -> NotFound:
    return NotFound("There is no queue here.", hint="`phelix queue init NAME` makes one.")


def _is_there(path: str) -> bool:
    """Whether anything has this name; a system that does not say is an `OSError`, and no absent file."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    return True


class _TakenBack(Exception):
    """Ends a rehearsal."""


def _take_back() -> NoReturn:
    raise _TakenBack


def _columns(model: type, prefix: str = "") -> str:
    return ", ".join(f"{prefix}{name}" for name, _ in members_of(model))


_COLUMNS: Final[dict[type, str]] = {
    kind: _columns(kind)
    for kind in (Workspace, Project, Campaign, Milestone, Issue, Lease, Run, Checkpoint, Artifact, StoredEvent)
}


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
            return self._rows(Project, "", (), _BY_AGE)
        for column in ("id", "key", "name"):
            if found := self._rows(Project, f"WHERE {column} = ?", [word], _BY_AGE):
                return found
        return []

    def campaigns(self, project_id: str, word: str | None = None) -> list[Campaign]:
        if word is None:
            return self._rows(Campaign, "WHERE project_id = ?", [project_id], _BY_AGE)
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
        rest = f"WHERE {where} AND status = 'active' AND {_NOT_ARCHIVED.format('')}"
        return self._rows(Lease, rest, [*values, scope.project.id], _BY_CLAIM)

    def leases_with_records(self, after: str, limit: int) -> list[Lease]:
        return self._rows(
            Lease, "WHERE id > ? AND session_id LIKE 'ses\\_%' ESCAPE '\\' ORDER BY id LIMIT ?", [after, limit]
        )

    def run(self, run_id: str) -> Run | None:
        return self._one(Run, "WHERE id = ?", [run_id])

    def runs_of(self, issue_id: str) -> list[Run]:
        rest = "WHERE lease_id IN (SELECT id FROM leases WHERE issue_id = ?) ORDER BY started_at, id"
        return self._rows(Run, rest, [issue_id])

    def checkpoints_of(self, issue_id: str, *, limit: int) -> list[Checkpoint]:
        return self._rows(Checkpoint, "WHERE issue_id = ? ORDER BY seq DESC LIMIT ?", [issue_id, limit])

    def artifacts_of(self, issue_id: str) -> list[Artifact]:
        return self._rows(Artifact, "WHERE issue_id = ?", [issue_id], _BY_AGE)

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
        rest = f"WHERE {where} AND status = 'needs_recovery' AND {_NOT_ARCHIVED.format('')}"
        return self._rows(Issue, rest, [*values, scope.project.id], _first_to_claim)


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

    def suspects(self, scope: Scope, now: Moment) -> list[tuple[Lease, Issue]]:
        where, values = self._in(scope)
        rest = (
            f"WHERE {where} AND status = 'active' AND {_NOT_ARCHIVED.format('')} AND ("
            " boot <> ? OR boot = '' OR deadline_mono IS NULL OR deadline_mono <= ?"
            " OR checkpoint_mono IS NULL OR checkpoint_mono <= ? - freshness_ms"
            " OR (SELECT i.status FROM issues i WHERE i.id = leases.issue_id) <> 'in_progress')"
        )
        asked = [*values, scope.project.id, now.boot, now.mono_ms, now.mono_ms]
        found = ((lease, self.issue(lease.issue_id)) for lease in self._rows(Lease, rest, asked, _BY_CLAIM))
        return [(lease, issue) for lease, issue in found if issue is not None]

    def strays(self, scope: Scope) -> list[Issue]:
        where, values = self._in(scope)
        rest = (
            f"WHERE {where} AND status = 'in_progress' AND {_NOT_ARCHIVED.format('')} AND NOT EXISTS"
            " (SELECT 1 FROM leases l WHERE l.issue_id = issues.id AND l.status = 'active')"
        )
        return self._rows(Issue, rest, [*values, scope.project.id], _BY_ID)

    def own_leases(self, scope: Scope, agent_id: str) -> list[Lease]:
        where, values = self._in(scope)
        rest = f"WHERE {where} AND agent_id = ? AND status = 'active' AND {_NOT_ARCHIVED.format('')}"
        return self._rows(Lease, rest, [*values, agent_id, scope.project.id], _newest_claim)

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
            f" ORDER BY {_CLAIM_ORDER} LIMIT ?"
        )
        return self._rows(Issue, rest, [project_id, campaign_id, route, limit])

    def rank_due(self, scope: Scope, at_ms: int) -> list[Issue]:
        where, values = self._in(scope)
        rest = f"WHERE {where} AND status = 'ready' AND rank_due_at IS NOT NULL AND rank_due_at <= ?"
        return self._rows(Issue, rest, [*values, at_ms], _BY_ID)

    def promotable(self, scope: Scope) -> list[Issue]:
        where, values = self._in(scope)
        rest = f"WHERE {where} AND promotable = 1 AND {_RUNNING}"
        return self._rows(Issue, rest, [*values, scope.project.id], _first_to_claim)

    def pending(self, scope: Scope, *, limit: int) -> list[Issue]:
        where, values = self._in(scope)
        # Named, because with statistics the planner would read all issues where most of them wait.
        rest = (
            f"INDEXED BY issues_pending WHERE {where} AND status = 'pending' AND {_RUNNING}"
            f" ORDER BY {_CLAIM_ORDER} LIMIT ?"
        )
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

    def active_artifacts(self, lease_id: str) -> list[Artifact]:
        rest = "WHERE status = 'active' AND run_id IN (SELECT id FROM runs WHERE lease_id = ?)"
        return self._rows(Artifact, rest, [lease_id], _BY_AGE)

    def unknown_milestones(self, project_id: str, ids: Sequence[str]) -> list[str]:
        sql = "SELECT 1 FROM milestones WHERE id = ? AND project_id = ?"
        return [known for known in ids if not self._db.ask(sql, [known, project_id])]

    def answered(self, project_id: str, request_id: str) -> tuple[str, str, str] | None:
        sql = "SELECT verb, input, answer FROM requests WHERE project_id = ? AND request_id = ?"
        found = self._db.ask(sql, [project_id, request_id])
        return cast("tuple[str, str, str]", found[0]) if found else None


_BY_ID: Final = attrgetter("id")
_BY_AGE: Final = attrgetter("created_at", "id")
_BY_CLAIM: Final = attrgetter("acquired_at", "id")
_AS_PLANNED: Final = attrgetter("created_at", "position", "id")


def _first_to_claim(issue: Issue) -> tuple[object, ...]:
    """`_CLAIM_ORDER`, for what is few."""
    deadline = _NO_DEADLINE if issue.deadline_at is None else issue.deadline_at
    return issue.rank, deadline, issue.created_at, issue.position, issue.id


def _newest_claim(lease: Lease) -> tuple[object, ...]:
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
}


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


_MANY: Final = 32
"""Fewer changes are not looked at for what they have in common."""
_SQL: dict[tuple[object, ...], str] = {}


def _form(change: Insert | Update) -> str | None:
    """The statement of an insertion."""
    return _insertion(change.table, tuple(change.row)) if isinstance(change, Insert) else None


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
