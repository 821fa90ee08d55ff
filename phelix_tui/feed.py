"""From a data directory that changes to messages: what was found, what changed, what failed.

One loop, one read at a time, so that loads never overlap and the last change is never lost: the folder's
watch collects names while a read is under way. Everything is read through the core's commands. A record
that fails to parse is looked at again after 20, 60 and 150 ms, since somebody may be writing it in place;
only then is it told as bad. A failed look at the whole folder is told as such, never as an empty list, and
tried again every two seconds; the next that works is of everything.
Source: console page, section 9; architecture page, flow iii.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final

from textual.message import Message

from phelix_core.commands.environment import Environment
from phelix_core.commands.faults import unforeseen
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.commands.session import ShownSession
from phelix_core.commands.session_listing import SessionList
from phelix_core.errors import NotFound, PhelixError, SessionCorrupt
from phelix_core.files import Stamp
from phelix_core.sessions.model import ACTIVE, RECORD_NAME
from phelix_core.sessions.summary import summarise
from phelix_core.views.rows import BadRecord, Found
from phelix_tui.arrangement import Arrangement
from phelix_tui.messages import SnapshotFailed, SnapshotLoaded, SnapshotPatched
from phelix_tui.waiting import at_once
from phelix_tui.watch import FolderWatch

SECOND_LOOKS_S: Final = (0.02, 0.06, 0.15)
"""Pauses before a record that does not parse is looked at again."""
MANY: Final = 2_000
"""From so many records on, a full look reads only those whose file has another stamp, and sorts in its thread."""
_FIRST: Final = 100
_RECONCILE_S: Final = 30.0
_RECONCILE_SHARE: Final = 120.0
_AGAIN_S: Final = 2.0
"""Pause after a look at everything that failed."""


class Feed:
    """The loop; `post` takes its messages and may be called from the event loop only."""

    def __init__(
        self,
        env: Environment,
        post: Callable[[Message], object],
        watch: FolderWatch | None = None,
        *,
        many: int = MANY,
    ) -> None:
        self._many = many
        self.ready: Callable[[], Awaitable[None]] = at_once
        """Waited for before anything is read; changes gather in the watch meanwhile."""
        self._stamps: dict[str, int] = {}
        self._env = env
        self._post = post
        self.watch = watch or FolderWatch(env.sessions.path, ignores=_is_no_record)
        self.looks = 0
        self.scans = 0
        """Full looks that no event had asked for, made from time to time."""
        self._drift = 0
        self._heard: set[str] = set()
        self._differing: list[str] = []
        self._suspects: set[str] = set()
        self._failing: SnapshotFailed | None = None

    async def run(self) -> None:
        """Look whenever something may have changed, for ever."""
        changes = self.watch.changes()
        coming = asyncio.ensure_future(anext(changes))
        try:
            while True:
                done, _ = await asyncio.wait({coming}, timeout=_AGAIN_S if self._failing else None)
                names, is_scan = None, False
                if done:
                    names, is_scan = coming.result().names, coming.result().reason == "reconcile"
                    coming = asyncio.ensure_future(anext(changes))
                await self.ready()
                await self._look(names)
                if names is None:
                    self._take_stock(is_scan=is_scan)
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

    @property
    def drift(self) -> int:
        """Changes that scans have found and no event had told of, nor told of since."""
        return self._drift + len(self._suspects)

    def _take_stock(self, *, is_scan: bool) -> None:
        """After a full look: what differed and was not heard of is drift, unless its event comes yet."""
        if is_scan and self._failing is None:
            self.scans += 1
            self._drift += len(self._suspects)
            self._suspects = set(self._differing) - self._heard
        self._heard, self._differing = set(), []

    async def _all(self) -> Message | None:
        if self._failing or len(self._stamps) < self._many:
            return await self._whole()
        drifted = await asyncio.to_thread(self._drifted)
        if drifted is None or len(drifted) > self._many:
            return await self._whole()
        return SnapshotPatched(await self._some(drifted)) if drifted else None

    async def _whole(self) -> Message:
        """Read everything; of many records the first few at once, so that nobody waits for the rest."""
        if not self._stamps and self._env.sessions.is_indexed and (first := await asyncio.to_thread(self._first_rows)):
            self._post(SnapshotPatched(first))
        message = await asyncio.to_thread(self._everything)
        if not isinstance(message, SnapshotLoaded):
            return message
        known = _there(await self._second_looks(dict(message.known)))
        if len(known) < self._many:
            return SnapshotLoaded(known)
        return SnapshotLoaded(known, await asyncio.to_thread(self._sorted, known))

    def _sorted(self, known: Mapping[str, Found]) -> Arrangement:
        arrangement = Arrangement(self._env.settings.stale_after_ms)
        arrangement.load(known, self._env.clock.now_ms())
        return arrangement

    def _first_rows(self) -> dict[str, Found | None]:
        """What stands on top of the list: the newest that are stale, and the newest that are active."""
        rows: dict[str, Found | None] = {}
        for asked in ({"where": "is:stale"}, {"status": ACTIVE}):
            answer = run(load_command("session list"), {**asked, "limit": _FIRST}, self._env).result
            if isinstance(answer, SessionList):
                rows.update((summary.session_id, summary) for summary in answer.sessions)
        return rows

    def _drifted(self) -> list[str] | None:
        """Ids whose file has another stamp than at the last full look, or has gone; None if that cannot be told."""
        start = self._env.clock.monotonic()
        answer = run(load_command("session list"), {"stamps": True}, self._env).result
        if not isinstance(answer, SessionList) or answer.stamps is None:
            return None
        before, self._stamps = self._stamps, _brief(answer.stamps)
        took = self._env.clock.monotonic() - start
        self.watch.reconcile_every(max(_RECONCILE_S, took * _RECONCILE_SHARE))
        self._differing = _differing(before, self._stamps)
        return self._differing

    async def _named(self, names: Iterable[str]) -> Message | None:
        ids = [match[1] for name in names if (match := RECORD_NAME.fullmatch(name))]
        self._heard.update(ids)
        self._suspects.difference_update(ids)
        return SnapshotPatched(await self._some(ids)) if ids else None

    def _everything(self) -> Message:
        # Stamps first: what changes while the rows are read has another one at the next full look.
        stamps = run(load_command("session list"), {"stamps": True}, self._env).result
        envelope = run(load_command("session list"), {"limit": 0}, self._env)
        if envelope.error is not None:
            return SnapshotFailed(envelope.error.code, envelope.error.message)
        assert isinstance(envelope.result, SessionList)  # noqa: S101 - what this command answers
        before, self._stamps = self._stamps, _brief(stamps.stamps or {}) if isinstance(stamps, SessionList) else {}
        self._differing = _differing(before, self._stamps) if before else []
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


def _brief(stamps: Mapping[str, Stamp]) -> dict[str, int]:
    """Stamps as numbers, a fifth of the memory: they are only ever compared."""
    return {session_id: hash(stamp) for session_id, stamp in stamps.items()}


def _differing(before: Mapping[str, int], now: Mapping[str, int]) -> list[str]:
    """Ids whose file has another stamp, is new, or has gone."""
    return [
        *(session_id for session_id, stamp in now.items() if before.get(session_id) != stamp),
        *(session_id for session_id in before if session_id not in now),
    ]


def _told(fault: PhelixError) -> SnapshotFailed:
    return SnapshotFailed(fault.code, f"{fault.message} {fault.hint}")


def _may_be_half_written(seen: Found | None) -> bool:
    return isinstance(seen, BadRecord) and seen.code == SessionCorrupt.code


def _there(found: Mapping[str, Found | None]) -> dict[str, Found]:
    return {session_id: seen for session_id, seen in found.items() if seen is not None}


def _is_no_record(name: str) -> bool:
    return RECORD_NAME.fullmatch(name) is None
