"""The queue's store on SQLite: the only writer of `queue.db`.

Every verb is one immediate transaction that is fetched whole. An event and the rows it changes are written
together, and its number is the last one plus one, so that the journal has no gap. A file of another
application or a newer version is refused as it is. Source: queue page, Store.
"""

import os
from _thread import RLock
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from stat import S_ISDIR, S_ISREG, S_ISVTX
from typing import Any, Final, NoReturn, TypeVar, cast

from phelix_core.clock import Clock, moment_of
from phelix_core.errors import (
    FilesystemError,
    NotFound,
    PhelixError,
    QueueCorrupt,
    QueueIncompatible,
    Unavailable,
)
from phelix_core.files import Folder
from phelix_core.mounts import remote_kind
from phelix_core.queue.reading import Reading
from phelix_core.queue.store import Recorded, Watch
from phelix_core.queue.writing import Writing
from phelix_core.sqlite import (
    ABSENT,
    MEMORY,
    Database,
    DatabaseRefused,
    DatabaseUnusable,
    engine_version,
    is_sound,
    patiently,
)

_Answer = TypeVar("_Answer")

APPLICATION_ID: Final = 0x50484C58
"""`PHLX`, in the file's header."""
SCRIPTS: Final = ("schema.sql", "memory.sql")
"""Each brings an older file one version further; the first makes it."""
VERSION: Final = len(SCRIPTS)
_NEW_FILE: Final = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC


class SqliteQueue:
    """One queue file; a connection is opened at the first question and kept, one thread at a time uses it."""

    def __init__(
        self, path: str, clock: Clock, *, own_folder: bool = False, engine: Callable[[], str] = engine_version
    ) -> None:
        """`own_folder` says that the folder around it is ours too, and is to be as private as the file.

        `engine` answers the engine's version: one that may lose commits is only read with.
        """
        self._engine = engine
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
            if not is_sound(version := self._engine()):
                raise Unavailable(
                    f"SQLite {version} may lose what several processes commit; the queue is only read with it.",
                    hint="Install apsw 3.51.3 or newer.",
                )
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
            version = self._require_ours(db)
            if not read_only:
                self._prepare(db)
                if version < VERSION:
                    self._bring_on(db)
        except BaseException:
            db.close(as_it_was=True)
            raise
        return db

    def _require_not_foreign(self) -> None:
        """Refuse what the main file's header tells of another application or version, before anything opens it.

        Through SQLite and not by hand: closing a descriptor of our own would drop the locks of a connection that this
        process has open.
        """
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
                _advance(db, 0)

    def _bring_on(self, db: Database) -> None:
        """A file of an older version, brought to this one whole; another process may have been faster."""
        with db.immediate():
            _, version = _header(db)
            if version < VERSION:
                _advance(db, version)

    def _prepare(self, db: Database) -> None:
        """Modes closed, the write-ahead log on and kept, every commit on the disk."""
        if self.path != MEMORY:
            self._tighten()
            db.keep_log()
        db.ask("PRAGMA journal_mode=WAL")
        db.script("PRAGMA synchronous=FULL; PRAGMA secure_delete=ON; PRAGMA journal_size_limit=67108864;")

    def _require_ours(self, db: Database) -> int:
        """The version of a file that is a queue of ours."""
        if _is_empty(db):
            raise _no_queue()
        self._require_header(found := _header(db))
        return found[1]

    def _require_header(self, found: tuple[int, int]) -> None:
        application, version = found
        if application != APPLICATION_ID:
            raise QueueIncompatible(
                "The file is a database of another application; it was left as it is.",
                hint="`phelix queue import` reads a lifecycle database into a queue of ours." if version else None,
            )
        if not 1 <= version <= VERSION:
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


def _advance(db: Database, version: int) -> None:
    """Run the scripts that a file of `version` lacks, inside a transaction of the caller's."""
    for name in SCRIPTS[version:]:
        with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
            db.script(file.read())
    db.script(f"PRAGMA application_id={APPLICATION_ID}; PRAGMA user_version={VERSION};")


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
