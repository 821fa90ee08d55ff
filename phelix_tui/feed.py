"""From a data directory that changes to messages: what was found, what changed, what failed.

One loop, one read at a time, so that loads never overlap and the last change is never lost: the folder's
watch collects names while a read is under way. Everything is read through the core's commands. A record
that fails to parse is looked at again after 20, 60 and 150 ms, since somebody may be writing it in place;
only then is it told as bad. A failed look at the whole folder is told as such, never as an empty list, and
tried again every two seconds; the next that works is of everything.
Source: console page, section 9; architecture page, flow iii.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from textual.message import Message

from phelix_core.cli.main import unforeseen
from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.commands.session import ShownSession
from phelix_core.commands.session_listing import SessionList
from phelix_core.errors import NotFound, PhelixError, SessionCorrupt
from phelix_core.sessions.model import RECORD_NAME
from phelix_core.sessions.summary import summarise
from phelix_core.views.rows import BadRecord, Found
from phelix_tui.messages import SnapshotFailed, SnapshotLoaded, SnapshotPatched
from phelix_tui.watch import FolderWatch

SECOND_LOOKS_S: Final = (0.02, 0.06, 0.15)
"""Pauses before a record that does not parse is looked at again."""
_AGAIN_S: Final = 2.0
"""Pause after a look at everything that failed."""


class Feed:
    """The loop; `post` takes its messages and may be called from the event loop only."""

    def __init__(self, env: Environment, post: Callable[[Message], object], watch: FolderWatch | None = None) -> None:
        self._env = env
        self._post = post
        self.watch = watch or FolderWatch(env.sessions.path, ignores=_is_no_record)
        self.looks = 0
        self._failing: SnapshotFailed | None = None

    async def run(self) -> None:
        """Look whenever something may have changed, for ever."""
        changes = self.watch.changes()
        coming = asyncio.ensure_future(anext(changes))
        try:
            while True:
                done, _ = await asyncio.wait({coming}, timeout=_AGAIN_S if self._failing else None)
                names = None
                if done:
                    names = coming.result().names
                    coming = asyncio.ensure_future(anext(changes))
                await self._look(names)
        finally:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)

    async def _look(self, names: Iterable[str] | None) -> None:
        """Look at what has these names, or at everything; whatever happens, the loop goes on."""
        self.looks += 1
        try:
            message = await (self._all() if names is None or self._failing else self._named(names))
        except Exception as error:  # noqa: BLE001 - a worker's edge: a feed that died would look like a quiet fleet
            message = self._failing or _told(unforeseen(error))  # one report, however often it is tried again
        self._failing = message if isinstance(message, SnapshotFailed) else None
        if message is not None:
            self._post(message)

    async def _all(self) -> Message:
        message = await asyncio.to_thread(self._everything)
        if isinstance(message, SnapshotLoaded):
            return SnapshotLoaded(_there(await self._second_looks(dict(message.known))))
        return message

    async def _named(self, names: Iterable[str]) -> Message | None:
        ids = [match[1] for name in names if (match := RECORD_NAME.fullmatch(name))]
        return SnapshotPatched(await self._some(ids)) if ids else None

    def _everything(self) -> Message:
        envelope = run(load_command("session list"), {"limit": 0}, self._env)
        if envelope.error is not None:
            return SnapshotFailed(envelope.error.code, envelope.error.message)
        assert isinstance(envelope.result, SessionList)  # noqa: S101 - what this command answers
        known: dict[str, Found] = {summary.session_id: summary for summary in envelope.result.sessions}
        known.update((bad.file.removesuffix(".json"), BadRecord(bad.code)) for bad in envelope.result.unreadable)
        return SnapshotLoaded(known)

    async def _some(self, ids: Iterable[str]) -> Mapping[str, Found | None]:
        return await self._second_looks(await asyncio.to_thread(self._look_at, ids))

    async def _second_looks(self, found: dict[str, Found | None]) -> dict[str, Found | None]:
        """Look again, up to three times, at records that do not parse."""
        for pause in SECOND_LOOKS_S:
            torn = [session_id for session_id, seen in found.items() if _may_be_half_written(seen)]
            if not torn:
                break
            await asyncio.sleep(pause)
            found |= await asyncio.to_thread(self._look_at, torn)
        return found

    async def look_at(self, session_id: str) -> Found | None:
        """Look at one record now."""
        return (await self._some((session_id,)))[session_id]

    def _look_at(self, ids: Iterable[str]) -> dict[str, Found | None]:
        return {session_id: self._look_at_one(session_id) for session_id in ids}

    def _look_at_one(self, session_id: str) -> Found | None:
        envelope = run(load_command("session show"), {"session_id": session_id, "no_resolve": True}, self._env)
        if isinstance(envelope.error, NotFound):
            return None
        if envelope.error is not None:
            return BadRecord(envelope.error.code)
        assert isinstance(envelope.result, ShownSession)  # noqa: S101 - what this command answers
        return summarise(envelope.result.session, self._env.clock.now_ms(), self._env.settings.stale_after_ms)


def _told(fault: PhelixError) -> SnapshotFailed:
    return SnapshotFailed(fault.code, f"{fault.message} {fault.hint}")


def _may_be_half_written(seen: Found | None) -> bool:
    return isinstance(seen, BadRecord) and seen.code == SessionCorrupt.code


def _there(found: Mapping[str, Found | None]) -> dict[str, Found]:
    return {session_id: seen for session_id, seen in found.items() if seen is not None}


def _is_no_record(name: str) -> bool:
    return RECORD_NAME.fullmatch(name) is None
