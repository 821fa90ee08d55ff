"""The only writer of `sessions/*.json`: bytes and locks, no rules.

`change` gets the record as it is under the lock and answers the one to write, or raises; then nothing
was written. Readers take no lock.
"""

import os
from collections.abc import Callable, Iterator

from phelix_core.clock import Clock
from phelix_core.errors import NotFound, PhelixError, SessionCorrupt
from phelix_core.files import Folder, Stamp, UnreadableFile
from phelix_core.sessions.listing import INDEX_FILE, NOTES_FILE, Listed, Progress, Wanted
from phelix_core.sessions.model import RECORD_NAME, Session, decode, encode, lock_name, record_name
from phelix_core.touched import Touched

_LEFTOVER_AGE_S = 3_600


def _is_foreign_leftover(name: str) -> bool:
    """Whether `name` is a temporary file as the guide's own tool names them."""
    record, mark, pid = name.partition(".tmp-")
    return bool(mark) and pid.isdecimal() and RECORD_NAME.fullmatch(record) is not None


class SessionStore:
    """Session records in one folder."""

    def __init__(self, folder: str, clock: Clock, cache: str) -> None:
        self._cache = cache
        self._notes = Touched(f"{cache}/{NOTES_FILE}", clock)
        self._folder = Folder(folder, clock, self._notes)
        self._clock = clock
        # The record seen last and its bytes: a process that works on one session parses it once, not at every step.
        self._seen: tuple[bytes, Session] | None = None

    @property
    def path(self) -> str:
        """The folder that holds the records."""
        return self._folder.path

    def ids(self) -> list[str]:
        """Ids of all records, readable or not, in no order."""
        matches = map(RECORD_NAME.fullmatch, self._folder.names())
        return [match[1] for match in matches if match]

    def load(self, session_id: str) -> Session:
        """One record; raises `NotFound`, `SessionCorrupt`, `SessionInvalid` or `FilesystemError`."""
        try:
            data = self._folder.read(record_name(session_id))
        except NotFound:
            raise _no_session(session_id) from None
        except UnreadableFile as unreadable:
            raise SessionCorrupt(
                f"The record is {unreadable}; it was not opened further.", details={"session_id": session_id}
            ) from None
        seen = self._seen
        if seen is not None and seen[0] == data and seen[1].session_id == session_id:
            return seen[1]
        session = decode(data, session_id)
        self._seen = (data, session)
        return session

    def load_all(self) -> Iterator[tuple[str, Session | PhelixError]]:
        """Every record with its id, or why it cannot be read; a record that vanishes meanwhile is left out."""
        for session_id in self.ids():
            try:
                yield session_id, self.load(session_id)
            except NotFound:
                continue
            except PhelixError as error:
                yield session_id, error

    def listed(self, wanted: Wanted, *, check: bool = False, progress: Progress | None = None) -> Listed:
        """Answer a listing from the index; `check` compares every file first. Raises `FilesystemError`."""
        from phelix_core.sessions.index import SessionIndex  # noqa: PLC0415 - only listings pay for SQLite

        self._folder.require_listable()
        index = SessionIndex(self.path, self._cache, self._clock, self.load, self._notes)
        return index.list(wanted, check=check, progress=progress)

    def stamps(self) -> dict[str, Stamp]:
        """The stamp of every record's file, one pass over the folder: what changed since has another one."""
        return {
            match[1]: stamp
            for name, stamp in self._folder.stamps()
            if (match := RECORD_NAME.fullmatch(name)) is not None
        }

    @property
    def is_indexed(self) -> bool:
        """Whether a listing would be answered from an index that is there already."""
        return os.path.exists(f"{self._cache}/{INDEX_FILE}")

    def create(self, session: Session) -> Session:
        """Write a new record; an existing id is `AlreadyExists`."""
        self._folder.create(record_name(session.session_id), encode(session))
        return session

    def update(self, session_id: str, change: Callable[[Session], Session]) -> Session:
        """Read, change and write one record under its lock."""
        name = record_name(session_id)
        try:
            with self._folder.locked(name, lock_name(session_id)) as found:
                after = change(self.load(session_id))
                data = encode(after)
                self._folder.clear_staged(name)
                self._folder.replace(name, data, found)
                self._seen = (data, after)
                return after
        except NotFound:
            raise _no_session(session_id) from None

    def remove(self, session_id: str, agreed: Callable[[Session], bool]) -> bool:
        """Remove a record and its lock if `agreed` still says so under the lock; answers whether it did."""
        name, lock = record_name(session_id), lock_name(session_id)
        try:
            with self._folder.locked(name, lock):
                if not agreed(self.load(session_id)):
                    return False
                self._folder.clear_staged(name)
                self._folder.remove(name, lock)
                return True
        except NotFound:
            return False

    def lax_modes(self) -> list[str]:
        """Paths among the records that other users may open."""
        return self._folder.lax_modes()

    def leftovers(self) -> list[str]:
        """Paths of temporary files, ours or the guide's tool's, that are over an hour old."""
        return self._folder.old_leftovers(self._clock.now_ms() / 1_000, _LEFTOVER_AGE_S, _is_foreign_leftover)

    def repair(self, lax: list[str], leftovers: list[str]) -> list[str]:
        """Close modes and remove leftovers; answers what was done."""
        return self._folder.repair(lax, leftovers)


def _no_session(session_id: str) -> NotFound:
    return NotFound(f"There is no session {session_id}.", hint="`phelix session list` shows those there are.")
