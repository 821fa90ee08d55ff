"""The typed face of apsw: open, ask, change in one immediate transaction with a fair retry.

Nothing else imports apsw. Every statement is fetched whole, so that no cursor outlives its transaction.
The built-in busy handler lets old waiters starve; BEGIN is retried here, with jitter and a deadline.
Source: queue page, Store; speed page, facts.
"""

import os
import stat
from array import array
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeVar, cast

import apsw

from phelix_core.clock import Clock
from phelix_core.errors import OutcomeUnknown, StoreBusy

Value = None | int | float | str | bytes
Row = tuple[Any, ...]
_Answer = TypeVar("_Answer")

MEMORY: Final = ":memory:"
"""The path of a database that lives as long as its connection."""
ABSENT: Final = "absent"
"""What `DatabaseUnusable` says of a file that is not there."""
BUSY_DEADLINE_S: Final = 10.0
_ONE: Final = array("i", [1])
"""An integer that has an address: file controls take one."""
_IN_URI: Final = str.maketrans({"%": "%25", "?": "%3f", "#": "%23"})
_SHORTEST_WAIT_S: Final = 0.0002
_LONGEST_WAIT_S: Final = 0.004


class DatabaseUnusable(Exception):
    """The file is no database that can be used: absent, damaged, not a regular file, or not permitted."""


class DatabaseRefused(DatabaseUnusable):
    """The system refused to open, read or write the file, which may be sound."""


class Database:
    """One connection; not shared between threads."""

    def __init__(self, path: str, clock: Clock, *, read_only: bool = False, immutable: bool = False) -> None:
        """Open `path`; `immutable` reads the main file alone, without a lock and without leaving a file beside it."""
        if path != MEMORY:
            _require_regular(path, may_be_absent=not read_only)
            # A link is refused where the file should be; the folders on the way to it may be links.
            path = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        flags = apsw.SQLITE_OPEN_READONLY if read_only else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        if immutable:
            path, flags = f"file:{path.translate(_IN_URI)}?immutable=1", flags | apsw.SQLITE_OPEN_URI
        self._clock = clock
        try:
            self._connection: Any = apsw.Connection(path, flags=flags | apsw.SQLITE_OPEN_NOFOLLOW)
        except apsw.Error as error:
            raise _unusable(error) from None

    def keep_log(self) -> None:
        """Leave the write-ahead log on closing, so that others may read without writing."""
        self._connection.file_control("main", apsw.SQLITE_FCNTL_PERSIST_WAL, _ONE.buffer_info()[0])

    def close(self, *, as_it_was: bool = False) -> None:
        """Let go of the file; with `as_it_was` what stands in its log stays there."""
        with suppress(apsw.Error):
            if as_it_was:
                self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            self._connection.close()

    def ask(self, sql: str, values: Sequence[Value] = ()) -> list[Row]:
        """All rows of one statement; raises `DatabaseUnusable` or `StoreBusy`."""
        try:
            return cast("list[Row]", self._connection.execute(sql, values).fetchall())
        except (apsw.Error, UnicodeDecodeError) as error:
            raise _fault(error) from None

    def each(self, sql: str, values: Sequence[Value] = ()) -> Iterator[Row]:
        """The rows of one statement, as they are asked for: of very many, none is kept here. Raises as `ask` does."""
        try:
            yield from cast("Iterator[Row]", self._connection.execute(sql, values))
        except (apsw.Error, UnicodeDecodeError) as error:
            raise _fault(error) from None

    def change(self, sql: str, values: Sequence[Value] = ()) -> int:
        """Carry out one statement that answers no rows; says how many it changed."""
        self.ask(sql, values)
        return cast("int", self._connection.changes())

    def many(self, sql: str, rows: Iterable[Sequence[Value]]) -> None:
        """One statement for each of `rows`, inside a transaction of the caller's."""
        try:
            for _ in self._connection.executemany(sql, rows):
                pass
        except apsw.Error as error:
            raise _unusable(error) from None

    def script(self, text: str) -> None:
        """Several statements, each to its end: apsw runs a text only as far as its first row."""
        try:
            for _ in self._connection.execute(text):
                pass
        except apsw.Error as error:
            raise _fault(error) from None

    @contextmanager
    def snapshot(self) -> Generator[None]:
        """Several questions in one consistent view; no lock outlives it."""
        if self._connection.in_transaction:
            yield
            return
        self.patiently("BEGIN")
        try:
            self.patiently("SELECT 1 FROM sqlite_schema LIMIT 1")  # the view begins here, and may have to wait
            yield
        finally:
            with suppress(apsw.Error):
                self._connection.execute("ROLLBACK")

    @contextmanager
    def immediate(self, deadline_s: float = BUSY_DEADLINE_S) -> Generator[None]:
        """One write transaction: committed whole, or rolled back whole on any exception.

        Raises `StoreBusy` where the lock was not had in time, and `OutcomeUnknown` where the disk failed while the
        transaction was being committed.
        """
        self.patiently("BEGIN IMMEDIATE", deadline_s)
        try:
            yield
        except BaseException:
            self._take_back()
            raise
        self._commit()

    def patiently(self, sql: str, deadline_s: float = BUSY_DEADLINE_S) -> list[Row]:
        """One statement that may have to wait for a lock, tried again with jitter."""
        return patiently(lambda: self.ask(sql), self._clock, deadline_s)

    def _commit(self) -> None:
        try:
            self._connection.execute("COMMIT").fetchall()
        except apsw.IOError:
            self._take_back()
            raise OutcomeUnknown(hint="Look at the issue before you repeat the call.") from None
        except apsw.Error as error:
            self._take_back()
            raise _unusable(error) from None

    def _take_back(self) -> None:
        if self._connection.in_transaction:
            with suppress(apsw.Error):
                self._connection.execute("ROLLBACK")


def patiently(act: Callable[[], _Answer], clock: Clock, deadline_s: float = BUSY_DEADLINE_S) -> _Answer:
    """Do what may have to wait for a lock, again and again with jitter; `StoreBusy` where it waited too long."""
    deadline = clock.monotonic() + deadline_s
    while True:
        try:
            return act()
        except StoreBusy:
            if clock.monotonic() >= deadline:
                raise
            share = os.urandom(1)[0] / 255
            clock.sleep(_SHORTEST_WAIT_S + share * (_LONGEST_WAIT_S - _SHORTEST_WAIT_S))


SOUND_ENGINE: Final = (3, 51, 3)
"""Before it, a commit may be lost where two connections write with a write-ahead log."""


def engine_version() -> str:
    """The version of the SQLite inside."""
    return apsw.sqlite_lib_version()


def is_sound(version: str) -> bool:
    """Whether an engine of this version keeps what several processes commit."""
    return tuple(int(part) for part in version.split(".")[:3]) >= SOUND_ENGINE


_REFUSALS: Final = (
    apsw.CantOpenError, apsw.FullError, apsw.IOError, apsw.NoMemError, apsw.PermissionsError, apsw.ReadOnlyError,
)  # fmt: skip


def _fault(error: apsw.Error | UnicodeDecodeError) -> StoreBusy | DatabaseUnusable:
    """What a statement that failed is told as."""
    if isinstance(error, apsw.BusyError):
        return StoreBusy()
    if isinstance(error, UnicodeDecodeError):
        return DatabaseUnusable("a text in it is not UTF-8")
    return _unusable(error)


def _unusable(error: apsw.Error) -> DatabaseUnusable:
    told = type(error).__name__.removesuffix("Error").lower()
    return DatabaseRefused(told) if isinstance(error, _REFUSALS) else DatabaseUnusable(told)


def _require_regular(path: str, *, may_be_absent: bool) -> None:
    """A FIFO would block the open; a folder or a device is no database."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        if may_be_absent:
            return
        raise DatabaseUnusable(ABSENT) from None
    except OSError as error:
        raise DatabaseRefused(os.strerror(error.errno or 0)) from None
    if not stat.S_ISREG(found.st_mode):
        raise DatabaseUnusable("not a regular file")
