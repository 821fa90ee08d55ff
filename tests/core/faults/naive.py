"""Stores that write as one would without a second thought: each must fail the proofs that the real one passes."""

import os
from collections.abc import Callable
from contextlib import suppress

from phelix_core.errors import FilesystemError
from phelix_core.sessions.model import Session, encode, lock_name, record_name
from phelix_core.sessions.store import SessionStore


class InPlaceStore(SessionStore):
    """Takes the lock, and then opens the record itself for writing."""

    def create(self, session: Session) -> Session:
        os.makedirs(self.path, exist_ok=True)
        self._write(session)
        return session

    def update(self, session_id: str, change: Callable[[Session], Session]) -> Session:
        with self._folder.locked(record_name(session_id), lock_name(session_id)):
            after = change(self.load(session_id))
            self._write(after)
            return after

    def _write(self, session: Session) -> None:
        path = f"{self.path}/{record_name(session.session_id)}"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        data = encode(session)
        half = len(data) // 2
        for part in (data[:half], data[half:]):  # as a buffered writer does
            os.write(descriptor, part)
        os.fsync(descriptor)
        os.close(descriptor)


class UncheckedStore(InPlaceStore):
    """Renames a temporary file into place, and does not look at how writing it went."""

    def _write(self, session: Session) -> None:
        path = f"{self.path}/{record_name(session.session_id)}"
        temporary = f"{path}.tmp"
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with suppress(OSError):
                os.write(descriptor, encode(session))
                os.fsync(descriptor)
            os.close(descriptor)
            os.rename(temporary, path)
        except OSError as error:
            raise FilesystemError from error


class UnlockedStore(SessionStore):
    """Replaces atomically and durably, and takes no lock between reading and writing."""

    def update(self, session_id: str, change: Callable[[Session], Session]) -> Session:
        after = change(self.load(session_id))
        name = record_name(session_id)
        self._folder.replace(name, encode(after), os.stat(f"{self.path}/{name}"))
        return after


STORES: dict[str, type[SessionStore]] = {
    "real": SessionStore,
    "in-place": InPlaceStore,
    "unchecked": UncheckedStore,
    "unlocked": UnlockedStore,
}
