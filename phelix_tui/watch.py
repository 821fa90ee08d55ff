"""Tell which names in one folder may have changed; promise that none stays unnoticed for long.

Three layers, each covering what the one above it loses:

1. inotify (FSEvents on macOS), through watchfiles, on the folder and on its parent: some 20 ms, names
   known. The parent tells when the folder is deleted and made anew; the watch then moves to the new
   one. A folder that does not exist yet is waited for on its nearest existing ancestor.
2. A `stat` of the folder, one a second: sees a folder that was replaced behind our back, and a folder
   whose time moved although no event came. Where events are not to be had (network file systems, no
   inotify watches or descriptors left) the same look, four times a second, is all there is.
3. A full look every `reconcile_s`, whatever happened: overflow is silent, and a write in place does not
   move the folder's time.

Records are never read here, and an idle folder costs one `stat` a second. Not seen by layer 1 and 2:
writes in place on a network file system by another machine; they wait for layer 3.
Source: console page, refresh pipeline and watchfiles facts; measurements, part E.
"""

import asyncio
import os
import stat
import sys
import time
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, Final, Literal

from phelix_core.frozen import frozen_in_order
from phelix_core.mounts import remote_kind

if TYPE_CHECKING:  # the screen is painted before the watch is loaded
    from watchfiles import Change

Reason = Literal["start", "changed", "replaced", "restarted", "missed", "polled", "reconcile"]
Changes = AsyncIterator[set[tuple["Change", str]]]

_MODIFIED: Final = 2
"""`Change.modified`."""

NATIVE = "fsevents" if sys.platform == "darwin" else "inotify"
POLLING = "polling"

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 5.0
"""Pause before the watcher is started again after a failure; doubled each time."""
HEALTHY_S = 10.0
"""A watcher that lived this long has its earlier failures forgiven."""
SAME_TICK_NS = 50_000_000
"""Changes this close together may leave one and the same folder time behind."""


@frozen_in_order
class Batch:
    """Names to look at again, relative to the folder; None means all of them, and gone ones too."""

    names: frozenset[str] | None
    reason: Reason


@frozen_in_order
class Stamp:
    """What one `stat` of the folder said: which folder it is, and when its entries last changed."""

    identity: tuple[int, int]
    mtime_ns: int


def look(folder: str) -> Stamp | None:
    """`stat` the folder; None if there is none."""
    try:
        status = os.stat(folder)
    except (OSError, ValueError):
        return None
    if not stat.S_ISDIR(status.st_mode):
        return None
    return Stamp((status.st_dev, status.st_ino), status.st_mtime_ns)


def _nothing(_name: str) -> bool:
    return False


def _native_changes(*folders: str, **options: Any) -> Changes:
    from phelix_tui.native import native_changes  # noqa: PLC0415 - see above

    return native_changes(*folders, **options)


class FolderWatch:
    """The watch over one folder; iterate over `changes()` once, in one task.

    `ignores` is asked for each name; nothing else is left out. `awatch` and `monotonic` stand for
    `native_changes` and the clock, so that a test may drop events or fail on purpose.
    """

    def __init__(
        self,
        folder: str,
        *,
        ignores: Callable[[str], bool] = _nothing,
        reconcile_s: float = 30.0,
        look_s: float = 1.0,
        poll_s: float = 0.25,
        awatch: Callable[..., Changes] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        remote_kind: Callable[[str], str | None] = remote_kind,
    ) -> None:
        self.folder = os.path.abspath(folder)
        self._ignores = ignores
        self._reconcile_s, self._look_s, self._poll_s = reconcile_s, look_s, poll_s
        self._awatch: Callable[..., Changes] = awatch or _native_changes
        self._monotonic, self._remote_kind = monotonic, remote_kind
        self._mode, self._reason = POLLING, "not started"
        self._restarts, self._failures = 0, 0
        self._last_event_at: float | None = None
        self._last_lag_ms: float | None = None
        self._stamp: Stamp | None = None
        self._doubt = False
        self._stirred = False
        self._real = self.folder
        self._roots: tuple[str, ...] = ()
        self._events: Changes | None = None
        self._pull: asyncio.Task[set[tuple[Change, str]]] | None = None
        self._armed_at = self._look_due = self._reconcile_due = 0.0
        self._rearm_due: float | None = None

    # For the doctor line

    @property
    def mode(self) -> str:
        """`inotify`, `fsevents` or `polling`."""
        return self._mode

    @property
    def reason(self) -> str:
        """Why it polls, or what the watcher died of within the last 10 s; empty if all is well."""
        lives = self._mode == NATIVE and self._monotonic() - self._armed_at >= HEALTHY_S
        return "" if lives else self._reason

    @property
    def restarts(self) -> int:
        """How often the watcher was set up again since the start."""
        return self._restarts

    @property
    def last_event_at(self) -> float | None:
        """Monotonic seconds of the last change that was reported by name, or found by polling."""
        return self._last_event_at

    @property
    def last_lag_ms(self) -> float | None:
        """Milliseconds from the folder's time to our hearing of it, at the last change."""
        return self._last_lag_ms

    def reconcile_every(self, seconds: float) -> None:
        """Look at everything so often from the next full look on: a caller for whom that is work asks for less."""
        self._reconcile_s = seconds

    # The watch itself

    async def changes(self) -> AsyncIterator[Batch]:
        """Yield what to look at, for ever. The first batch says "everything", once the watch stands.

        Nothing is lost while the caller is busy between two batches: events go on collecting.
        """
        self._reconcile_due = self._monotonic() + self._reconcile_s
        try:
            yield await self._arm("start")
            while True:
                batch = await self._next()
                if batch is not None:
                    yield batch
        finally:
            await self._disarm()

    async def _next(self) -> Batch | None:
        """Wait for the first thing to happen, and deal with that one thing."""
        due = min(self._look_due, self._reconcile_due, self._rearm_due or self._look_due)
        pause = max(0.0, due - self._monotonic())
        if self._pull is None:
            await asyncio.sleep(pause)
        else:
            await asyncio.wait({self._pull}, timeout=pause)
            if self._pull.done():
                return await self._heard(self._pull)
        now = self._monotonic()
        if now >= self._reconcile_due:
            return await self._reconcile(now)
        if self._rearm_due is not None and now >= self._rearm_due:
            return await self._arm("restarted")
        return await self._glance(now) if now >= self._look_due else None

    async def _heard(self, pull: "asyncio.Task[set[tuple[Change, str]]]") -> Batch | None:
        """Turn what the watcher reported, or died of, into a batch."""
        try:
            changes = pull.result()
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - this is the watcher's edge
            return await self._stumble(error)
        if any(change != _MODIFIED and self._leads_to_folder(path) for change, path in changes):
            # Not by comparing inodes: a folder made right after another went often gets the same one.
            return await self._arm("replaced")
        self._listen()
        stamp = look(self.folder)
        self._note_event(stamp)
        names = frozenset(name for _, path in changes if (name := self._name(path)) is not None)
        return Batch(names, "changed") if names else None

    async def _glance(self, now: float) -> Batch | None:
        """Layer 2: notice a folder that was replaced, or changed without a word."""
        stamp = await asyncio.to_thread(look, self.folder)
        self._look_due = now + (self._poll_s if self._pull is None else self._look_s)
        if (stamp and stamp.identity) != (self._stamp and self._stamp.identity):
            return await self._arm("replaced")
        if stamp is None or self._stamp is None or stamp.mtime_ns == self._stamp.mtime_ns:
            self._doubt = False
            return None
        if self._pull is None:
            return self._poll_found(stamp)
        if self._stirred or not self._doubt:
            # Events are on their way, or were for ignored names only: believe it at the second look.
            self._stamp = stamp if self._stirred else self._stamp
            self._doubt, self._stirred = not self._stirred, False
            return None
        self._note_event(stamp)
        return await self._arm("missed")  # The watch may be on a folder that is gone.

    def _poll_found(self, stamp: Stamp) -> Batch:
        """Report a folder whose time moved; keep doubting a time that the next change might share."""
        self._note_event(stamp)
        if abs(time.time_ns() - stamp.mtime_ns) < SAME_TICK_NS:
            self._stamp = Stamp(stamp.identity, -1)
        return Batch(None, "polled")

    async def _reconcile(self, now: float) -> Batch:
        """Layer 3; also the moment to ask again for what the system refused before."""
        self._reconcile_due = now + self._reconcile_s
        if self._pull is None and self._rearm_due is None:
            return await self._arm("reconcile")
        self._stamp = await asyncio.to_thread(look, self.folder) or self._stamp
        return Batch(None, "reconcile")

    # Setting up and taking down

    async def _arm(self, reason: Reason) -> Batch:
        """Watch what is there now, by the best means there are."""
        await self._disarm()
        self._restarts += reason not in {"start", "reconcile"}
        self._rearm_due, self._doubt, self._stirred = None, False, False
        kind = await asyncio.to_thread(self._survey)
        self._armed_at = self._monotonic()
        if kind is not None:
            self._mode, self._reason = POLLING, f"{kind} file system: changes may come without events"
        else:
            await self._start_native(reason)
        self._look_due = self._monotonic() + (self._poll_s if self._pull is None else self._look_s)
        return Batch(None, reason)

    def _survey(self) -> str | None:
        """See what is there; in a thread, for a dead network server may keep the answer for ever."""
        self._stamp = look(self.folder)
        self._real = os.path.realpath(self.folder)
        self._roots = self._wanted_roots()
        return self._remote_kind(self._roots[0])

    async def _start_native(self, reason: Reason) -> None:
        """Start watchfiles; where the system refuses, say why and leave it to polling."""
        self._events = self._awatch(*self._roots, watch_filter=self._concerns)
        self._mode, self._reason = NATIVE, self._reason if reason == "restarted" else ""
        pull = self._listen()
        # watchfiles sets the watch up in the first step of its generator; after that step it stands.
        await asyncio.sleep(0)
        if not pull.done() or pull.cancelled() or (error := pull.exception()) is None:
            return
        await self._disarm()
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            self._back_off(error)
        else:
            self._mode, self._reason = POLLING, _told(error)

    def _listen(self) -> "asyncio.Task[set[tuple[Change, str]]]":
        """Ask the watcher for its next set of changes."""
        assert self._events is not None  # noqa: S101 - only called with a watcher
        self._pull = asyncio.ensure_future(_next_of(self._events))
        return self._pull

    async def _stumble(self, error: BaseException) -> Batch | None:
        """Take a dead watcher down and plan the next; the folder is polled meanwhile."""
        await self._disarm()
        if self._monotonic() - self._armed_at >= HEALTHY_S:
            self._failures = 0
        self._back_off(error)
        return None

    def _back_off(self, error: BaseException) -> None:
        pause = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2**self._failures)
        self._failures = min(self._failures + 1, 16)
        self._rearm_due = self._monotonic() + pause
        self._look_due = self._monotonic() + self._poll_s
        self._mode, self._reason = POLLING, f"watcher ended: {_told(error)}"

    async def _disarm(self) -> None:
        """Stop the watcher, if there is one, and wait until it has let go."""
        pull, events, self._pull, self._events = self._pull, self._events, None, None
        if pull is not None:
            pull.cancel()
            await asyncio.gather(pull, return_exceptions=True)
        close: Any = getattr(events, "aclose", None)
        if close is not None:
            await asyncio.gather(close(), return_exceptions=True)

    # Which paths matter

    def _wanted_roots(self) -> tuple[str, ...]:
        """Name the folder and the one that holds it; of a folder not there, the nearest that is."""
        holder = os.path.dirname(self.folder)
        if os.path.isdir(self._real):
            return (self._real, holder) if os.path.isdir(holder) else (self._real,)
        while not os.path.isdir(holder) and holder != os.path.dirname(holder):
            holder = os.path.dirname(holder)
        return (holder,)

    def _concerns(self, _change: "Change", path: str) -> bool:
        """Watchfiles' filter: what is in the folder, and the folder and its ancestors themselves."""
        if self._leads_to_folder(path):
            return True
        self._stirred = self._stirred or os.path.dirname(path) == self._real
        return self._name(path) is not None

    def _leads_to_folder(self, path: str) -> bool:
        return path in {self._real, self.folder} or self.folder.startswith(path + os.sep)

    def _name(self, path: str) -> str | None:
        """Name in the folder that `path` stands for, if it is one that the caller wants."""
        parent, name = os.path.split(path)
        return name if parent == self._real and not self._ignores(name) else None

    def _note_event(self, stamp: Stamp | None) -> None:
        self._stamp, self._doubt, self._stirred = stamp, False, False
        self._last_event_at = self._monotonic()
        if stamp is not None:
            self._last_lag_ms = max(0.0, (time.time_ns() - stamp.mtime_ns) / 1e6)


async def _next_of(changes: Changes) -> "set[tuple[Change, str]]":
    return await anext(changes)


def _told(error: BaseException) -> str:
    """One line about an error, taken out of the group that watchfiles wraps it in."""
    while inner := getattr(error, "exceptions", None):
        error = inner[0]
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]
