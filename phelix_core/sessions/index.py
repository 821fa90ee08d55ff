"""The listing index: what `session list` answers from, derived, deletable at any time.

One SQLite file in the cache folder holds a row a record, with the file's stamp (mtime, size, inode). What
keeps it true: the folder's mtime says whether any record was added, removed or renamed into place; our own
writers note which they touched, so that an unbroken chain of notes tells exactly what to read again; a broken
one means that somebody else was there, and every file is compared. Rows about to be returned are compared
with their files. Whatever is wrong with the index, it is rebuilt or left aside (`IndexUnusable`), and then
the records themselves are read. Source: sessions page, Rules; speed page, listing.
"""

import os
import stat
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import islice
from typing import Any, Final

from phelix_core.clock import Clock
from phelix_core.errors import NotFound, PhelixError, StoreBusy
from phelix_core.files import Stamp, stamp_of
from phelix_core.sessions.listing import (
    COLUMNS,
    INDEX_FILE,
    LISTED_COLUMNS,
    PLACE,
    Listed,
    Progress,
    Row,
    Value,
    Wanted,
)
from phelix_core.sessions.model import RECORD_NAME, Actor, Checkpoint, Session, record_name
from phelix_core.sqlite import MEMORY, Database, DatabaseUnusable
from phelix_core.strictjson import canonical, plain
from phelix_core.touched import Touched, chained

APPLICATION_ID: Final = 0x50484C58
"""Says that the file is ours: `PHLX`."""
VERSION: Final = 1
WORTH_AN_INDEX: Final = 100
"""From so many names in the folder on, an index is made; below, reading the records costs less."""
TICK_NS: Final = 20_000_000
"""Where folder times are coarse, two changes this close together may share one."""

_BATCH: Final = 2_000
_FINE_STAMPS_SINCE: Final = (6, 13)
"""Linux gives each change that was looked at a folder time of its own since this version."""

_FINE_KINDS: Final = frozenset({"btrfs", "ext4", "tmpfs", "xfs"})

_SCHEMA: Final = """
CREATE TABLE rows (
    id TEXT PRIMARY KEY, mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL, inode INTEGER NOT NULL,
    code TEXT, status TEXT, title TEXT, project TEXT, app TEXT, actor TEXT, actor_id TEXT, authenticated INTEGER,
    rev INTEGER, created_at_ms INTEGER, updated_at_ms INTEGER, has_checkpoint INTEGER NOT NULL,
    step TEXT, note TEXT, checkpoint_at_ms INTEGER, checkpoint_seq INTEGER, final_result TEXT,
    plans INTEGER, operations INTEGER, deployments INTEGER, reference_ids TEXT, haystack TEXT NOT NULL,
    extra TEXT, last_event_ms INTEGER, app_folded TEXT, project_folded TEXT, actor_folded TEXT, step_folded TEXT,
    title_folded TEXT, result_folded TEXT
) STRICT;
CREATE TABLE stamp (device INTEGER NOT NULL, inode INTEGER NOT NULL, mtime_ns INTEGER NOT NULL) STRICT;
"""
_INDEXES: Final = """
CREATE INDEX newest ON rows (created_at_ms DESC, id DESC) WHERE code IS NULL;
CREATE INDEX newest_of_status ON rows (status, created_at_ms DESC, id DESC) WHERE code IS NULL;
CREATE INDEX newest_of_app ON rows (app, created_at_ms DESC, id DESC) WHERE code IS NULL;
CREATE INDEX unreadable ON rows (id) WHERE code IS NOT NULL;
"""
_NO_INDEXES: Final = """
DROP INDEX newest; DROP INDEX newest_of_status; DROP INDEX newest_of_app; DROP INDEX unreadable;
"""
_LISTED: Final = ", ".join("NULL" if name == "haystack" else name for name in LISTED_COLUMNS)
_INSERT: Final = f"INSERT OR REPLACE INTO rows ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"  # noqa: S608 - names of ours


class IndexUnusable(Exception):
    """There is no index to answer from; the records themselves must be read."""


class SessionIndex:
    """The index of one folder of records; opened for each listing, so that a deleted one is no matter."""

    def __init__(
        self,
        folder: str,
        cache: str,
        clock: Clock,
        read: Callable[[str], Session],
        notes: Touched,
        *,
        worth: int = WORTH_AN_INDEX,
    ) -> None:
        self._worth = worth
        self._folder = folder
        self._cache = cache
        self._clock = clock
        self._read = read
        self._notes = notes

    def list(self, wanted: Wanted, *, check: bool = False, progress: Progress | None = None) -> Listed:
        """Answer a listing; `check` compares every file first."""
        if self._is_worth_it():
            with suppress(IndexUnusable):
                return self._listed(wanted, check=check, progress=progress)
        return self._read_all(wanted, progress)

    def _is_worth_it(self) -> bool:
        """An index that is there serves; for a few records none is made."""
        if os.path.lexists(f"{self._cache}/{INDEX_FILE}"):
            return True
        try:
            with os.scandir(self._folder) as entries:
                return sum(1 for _ in islice(entries, self._worth)) >= self._worth
        except OSError:
            return False

    def _read_all(self, wanted: Wanted, progress: Progress | None) -> Listed:
        """The same answer from an index in memory, made of all records and forgotten."""
        database = Database(MEMORY, self._clock)
        try:
            database.script(_SCHEMA + _INDEXES)
            with database.immediate():
                self._compare_all(database, progress)
            return self._answer(database, wanted)
        finally:
            database.close()

    def _listed(self, wanted: Wanted, *, check: bool, progress: Progress | None) -> Listed:
        try:
            database = self._open()
            try:
                self._catch_up(database, check=check, progress=progress)
                return self._answer(database, wanted)
            finally:
                database.close()
        except DatabaseUnusable as unusable:
            self._discard_if_ours()
            raise IndexUnusable(str(unusable)) from None
        except (StoreBusy, OSError) as error:
            raise IndexUnusable(str(error)) from None

    # Opening

    def _open(self) -> Database:
        """The index, made or made anew where it is absent, damaged or of another version."""
        path = f"{self._cache}/{INDEX_FILE}"
        for attempt in (1, 2):
            try:
                database = self._opened(path)
            except DatabaseUnusable:
                if attempt == 2 or not self._discard_if_ours():  # noqa: PLR2004 - the second try is the last
                    raise
            else:
                return database
        raise AssertionError

    def _opened(self, path: str) -> Database:
        _make_private(self._cache)
        is_new = not os.path.lexists(path)
        if is_new:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        database = Database(path, self._clock)
        database.ask("PRAGMA synchronous=NORMAL")
        (version,) = database.ask("PRAGMA user_version")[0]
        (application,) = database.ask("PRAGMA application_id")[0]
        if (application, version) == (APPLICATION_ID, VERSION):
            return database
        if application not in (0, APPLICATION_ID) or (application == 0 and database.ask("SELECT 1 FROM sqlite_schema")):
            database.close()
            raise IndexUnusable("another database stands in the index's place")
        self._create(database)
        return database

    def _create(self, database: Database) -> None:
        """Make the tables, once, however many processes try."""
        database.ask("PRAGMA journal_mode=WAL")
        self._notes.begin()
        with database.immediate():
            if database.ask("PRAGMA user_version")[0][0] == VERSION:
                return
            for kind, name in database.ask("SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'"):
                if kind == "table":
                    database.ask(f'DROP TABLE "{name}"')
            database.script(_SCHEMA + _INDEXES)
            database.ask(f"PRAGMA application_id={APPLICATION_ID}")
            database.ask(f"PRAGMA user_version={VERSION}")

    def _discard_if_ours(self) -> bool:
        """Delete a damaged index; what is no regular file, or another's database, is left alone."""
        path = f"{self._cache}/{INDEX_FILE}"
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            head = os.read(descriptor, 100) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
        except OSError:
            return False
        finally:
            os.close(descriptor)
        if head is None or (
            head.startswith(b"SQLite format 3\0") and head[68:72] not in (bytes(4), APPLICATION_ID.to_bytes(4, "big"))
        ):
            return False
        for suffix in ("", "-wal", "-shm"):
            with suppress(OSError):
                os.unlink(path + suffix)
        return True

    # Keeping it true

    def _catch_up(self, database: Database, *, check: bool, progress: Progress | None) -> None:
        """Bring the index up to the folder as it is now."""
        if not check and self._is_current(database):
            return
        with database.immediate():
            taken = self._notes.take(self._folder)
            identity, mtime_ns = self._look()
            known = database.ask("SELECT device, inode, mtime_ns FROM stamp")
            touched: set[str] | None = None
            if taken is not None and known and known[0][:2] == identity and not check:
                mtime_ns, notes = taken
                touched = chained(notes, known[0][2], mtime_ns)
            if touched is None:
                self._compare_all(database, progress)
            else:
                self._read_again(database, filter(None, map(_id_of, touched)))
            database.ask("DELETE FROM stamp")
            database.ask("INSERT INTO stamp VALUES (?, ?, ?)", (*identity, mtime_ns))

    def _is_current(self, database: Database) -> bool:
        identity, mtime_ns = self._look()
        if database.ask("SELECT device, inode, mtime_ns FROM stamp") != [(*identity, mtime_ns)]:
            return False
        return self._clock.now_ms() * 1_000_000 - mtime_ns > TICK_NS or _has_fine_stamps(self._folder)

    def _look(self) -> tuple[tuple[int, int], int]:
        """Which folder it is, and when its entries last changed; an absent one is (0, 0)."""
        try:
            found = os.stat(self._folder)
        except FileNotFoundError:
            return (0, 0), 0
        return (found.st_dev, found.st_ino), found.st_mtime_ns

    def _compare_all(self, database: Database, progress: Progress | None) -> None:
        """Compare every file's stamp with its row; read what differs, forget what has gone."""
        known: dict[str, Stamp] = {
            row[0]: row[1:] for row in database.ask("SELECT id, mtime_ns, size, inode FROM rows")
        }
        is_first = not known
        differing: list[tuple[str, Stamp]] = []
        try:
            with os.scandir(self._folder) as entries:
                for entry in entries:
                    match = RECORD_NAME.fullmatch(entry.name)
                    if match is None:
                        continue
                    stamp = stamp_of(entry.stat(follow_symlinks=False))
                    if known.pop(match[1], None) != stamp:
                        differing.append((match[1], stamp))
        except FileNotFoundError:
            pass
        if is_first:
            database.script(_NO_INDEXES)  # sorted once at the end, they cost a third of what they cost row by row
        for start in range(0, len(differing), _BATCH):
            database.many(
                _INSERT, [self._row(session_id, stamp) for session_id, stamp in differing[start : start + _BATCH]]
            )
            if progress is not None:
                progress(min(start + _BATCH, len(differing)), len(differing))
        if is_first:
            database.script(_INDEXES)
        database.many("DELETE FROM rows WHERE id = ?", [(session_id,) for session_id in known])

    def _read_again(self, database: Database, session_ids: Iterable[str]) -> None:
        for session_id in session_ids:
            try:
                stamp = stamp_of(os.lstat(f"{self._folder}/{record_name(session_id)}"))
            except FileNotFoundError:
                database.ask("DELETE FROM rows WHERE id = ?", (session_id,))
            else:
                database.ask(_INSERT, self._row(session_id, stamp))

    def _row(self, session_id: str, stamp: Stamp) -> tuple[Value, ...]:
        """A record's row; one that vanished since it was looked at counts as unreadable until the next look."""
        try:
            session = self._read(session_id)
        except NotFound:
            return _bad_row(session_id, (0, 0, 0), NotFound.code)
        except PhelixError as error:
            return _bad_row(session_id, stamp, error.code)
        return _good_row(session, stamp)

    # Answering

    def _answer(self, database: Database, wanted: Wanted) -> Listed:
        """Rows that match, each compared with its file; after a difference the question is asked again."""
        sql = (
            f"SELECT {_LISTED} FROM rows WHERE code IS NULL AND ({wanted.sql}) "  # noqa: S608 - values are bound
            "ORDER BY created_at_ms DESC, id DESC LIMIT ?"
        )
        values = (*wanted.values, -1 if wanted.limit is None else wanted.limit + 1)
        bad: list[Row] = []
        made: list[object] = []
        for _ in range(4):
            made, differing = [], list[str]()
            for row in database.each(sql, values):
                if not self._matches(row[0], row[1:4]):
                    differing.append(row[0])
                made.append(wanted.make(row))
            bad = database.ask("SELECT id, code, mtime_ns, size, inode FROM rows WHERE code IS NOT NULL ORDER BY id")
            differing += [row[0] for row in bad if not self._matches(row[0], row[2:5])]
            if not differing:
                break
            with database.immediate():
                self._read_again(database, differing)
        more = wanted.limit is not None and len(made) > wanted.limit
        shown = made[: wanted.limit] if more else made
        return Listed(rows=tuple(shown), more=more, unreadable=tuple((row[0], row[1]) for row in bad))

    def _matches(self, session_id: str, stamp: tuple[Any, ...]) -> bool:
        try:
            return stamp_of(os.lstat(f"{self._folder}/{record_name(session_id)}")) == stamp
        except OSError:
            return False


def _id_of(name: str) -> str | None:
    match = RECORD_NAME.fullmatch(name)
    return match[1] if match else None


def _make_private(folder: str) -> None:
    if not os.path.isdir(folder):
        os.mkdir(folder, 0o700)


def _has_fine_stamps(folder: str) -> bool:
    """Whether each change that was looked at gets a folder time of its own here."""
    if sys.platform != "linux":
        return False
    parts = os.uname().release.split(".")[:2]
    return tuple(map(int, filter(str.isdecimal, parts))) >= _FINE_STAMPS_SINCE and _kind_of(folder) in _FINE_KINDS


def _kind_of(folder: str, mounts: str = "/proc/self/mounts") -> str | None:
    """Type of the file system under `folder`."""
    path, longest, kind = os.path.realpath(folder), "", None
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as table:
            for line in table:
                _, point, found, *_ = line.split(" ")
                if (path == point or path.startswith(f"{point.rstrip('/')}/")) and len(point) >= len(longest):
                    longest, kind = point, found
    except (OSError, ValueError):
        return None
    return kind


def _bad_row(session_id: str, stamp: Stamp, code: str) -> tuple[Value, ...]:
    row: list[Value] = [None] * len(COLUMNS)
    row[:5] = [session_id, *stamp, code]
    row[PLACE["has_checkpoint"]] = 0
    row[PLACE["haystack"]] = f"{session_id}\n{code}".casefold()
    return tuple(row)


def _good_row(session: Session, stamp: Stamp) -> tuple[Value, ...]:
    point, actor = session.checkpoint, session.actor
    step = point.step if point else None
    references = (*session.plan_ids, *session.operation_ids, *session.deployment_ids)
    words = f"{session.session_id}\n{session.title or ''}\n{session.app or ''}\n{step or ''}"
    return (
        session.session_id,
        *stamp,
        None,
        session.status,
        session.title,
        session.project,
        session.app,
        actor.type,
        actor.id,
        int(actor.authenticated),
        session.rev,
        session.created_at_ms,
        session.updated_at_ms,
        int(point is not None),
        step,
        point.note if point else None,
        point.at_ms if point else None,
        point.seq if point else None,
        session.final_result,
        len(session.plan_ids),
        len(session.operation_ids),
        len(session.deployment_ids),
        f" {' '.join(references)} " if references else None,
        words.casefold(),
        _extra(actor, point),
        session.last_event_ms,
        *(None if text is None else text.casefold() for text in _folded(session, step)),
    )


def _folded(session: Session, step: str | None) -> tuple[str | None, ...]:
    """Texts that filters compare whatever their case: SQLite folds ASCII alone."""
    who = "\n".join(("", *filter(None, (session.actor.type, session.actor.id)), ""))
    return session.app, session.project, who, step, session.title, session.final_result


def _extra(actor: Actor, point: Checkpoint | None) -> str | None:
    """What other versions wrote beside what this one knows, as JSON; None for nothing, which is the rule."""
    found: dict[str, object] = {}
    if actor.extra:
        found["actor"] = plain(actor.extra)
    if point and point.extra:
        found["checkpoint"] = plain(point.extra)
    return canonical(found).decode() if found else None
