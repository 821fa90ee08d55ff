"""The console as an account, line by line and never taken back: for screen readers, pipes and logs.

First how things stand: a line a session, attention first; a line for each thing of the queue and of the plans that
needs a person. Then a line for each change, under the time at which it was seen. The same feeds, states and words as
on the screen, so that both always agree; changes that follow each other within a read are one. Nothing is looked at
beyond what the feeds look at: a tick a second lets time pass, as sessions and leases go stale with nothing written.

Each line is free of secrets and safe for a terminal, is flushed as it is written, and has no colour. Ctrl-C ends the
account with status 130; a reader that has gone ends it within a second, as any answer of the command line ends.
Source: console page, section 11.
"""

import asyncio
import select
import signal
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from types import FrameType
from typing import Final

from textual.message import Message

from phelix_core.arc.board import ArcBoard
from phelix_core.cli.streams import Unheard, answering, let_go
from phelix_core.commands.environment import Environment
from phelix_core.errors import Interrupted
from phelix_core.sessions.summary import SessionSummary
from phelix_core.text import SafeStr, visible
from phelix_core.views.arc import rows as plans
from phelix_core.views.moments import time_of_day
from phelix_core.views.queue import rows as issues
from phelix_core.views.queue.attention import Cause, plans_cause, queue_cause
from phelix_core.views.rows import STATES, BadRecord, Found, SessionRow
from phelix_core.views.shown import shown
from phelix_tui.arc_feed import ArcFeed
from phelix_tui.desk import Desk
from phelix_tui.feed import Feed
from phelix_tui.messages import (
    BoardFailed,
    BoardLoaded,
    PlansFailed,
    PlansLoaded,
    QueueGone,
    SnapshotFailed,
    SnapshotLoaded,
    SnapshotPatched,
)
from phelix_tui.queue_feed import QueueFeed

_TICK_S: Final = 1.0
_LONGEST: Final = 400
"""Characters of a result that are told; the cap of what we write is higher, and this is one line."""
_OF_ITS_OWN: Final = frozenset({"policy", "claims", "gone", "milestone"})
"""Causes that are no state of an issue or a plan, and so are told for themselves."""

Seen = tuple[str, Found]
"""A session as it was last told of: its state, and what the look at it gave."""


class Account:
    """What has been told, and what there is to tell; takes the feeds' messages, and reads and writes nothing."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._unread = {"sessions", "queue", "plans"}
        self._failing: dict[str, SafeStr] = {}
        self._sessions: dict[str, Seen] = {}
        self._issues: dict[str, str] = {}
        self._plans: dict[str, str] = {}
        self._causes: dict[str, Cause] = {}

    @property
    def is_begun(self) -> bool:
        """Whether everything was looked at once."""
        return not self._unread

    def take(self, message: Message) -> list[SafeStr]:
        """Take in what a feed found; answers the lines for it."""
        if isinstance(message, SnapshotPatched) and "sessions" in self._unread:
            return []  # the first few of many: all of them follow
        before = self.is_begun
        lines = [*self._taken(message)]
        if before or not self.is_begun:
            return lines
        return [*self._standing()]

    def tick(self) -> list[SafeStr]:
        """Let time pass; answers the lines for what it changed."""
        return [*self._passed()] if self.is_begun else []

    # What comes in

    def _taken(self, message: Message) -> Iterator[SafeStr]:
        if isinstance(message, (SnapshotFailed, BoardFailed, PlansFailed)):
            yield from self._failed(message)
        elif isinstance(message, (SnapshotLoaded, SnapshotPatched)):
            yield from self._read("sessions")
            yield from self._session_lines(self._records(message))
        elif isinstance(message, (BoardLoaded, QueueGone)):
            yield from self._read("queue")
            yield from self._issue_lines(self._board(message))
        elif isinstance(message, PlansLoaded):
            yield from self._read("plans")
            yield from self._plan_lines(message.board)
        yield from self._cause_lines()

    def _failed(self, message: SnapshotFailed | BoardFailed | PlansFailed) -> Iterator[SafeStr]:
        """A failure is told once, however often it is met again."""
        of = {SnapshotFailed: "sessions", BoardFailed: "queue", PlansFailed: "plans"}[type(message)]
        self._unread.discard(of)
        told = shown(f"{message.code}: {message.reason}")
        before, self._failing[of] = self._failing.get(of), told
        if before != told and self.is_begun:
            yield self._now(f"{of} cannot be read, and what was told before may be old: {told}")

    def _read(self, of: str) -> Iterator[SafeStr]:
        self._unread.discard(of)
        if self._failing.pop(of, None) is not None and self.is_begun:
            yield self._now(f"{of} can be read again")

    def _records(self, message: SnapshotLoaded | SnapshotPatched) -> Collection[str]:
        """Take records in; answers those to look at."""
        desk = self._desk
        if isinstance(message, SnapshotPatched):
            patch = desk.arrangement.change(message.changes, desk.now_ms())
            return [*message.changes, *(row.session_id for row in patch.rows if row.session_id not in message.changes)]
        if message.arrangement is None:
            desk.arrangement.load(message.known, desk.now_ms())
        else:
            desk.replace(message.arrangement)
        return dict.fromkeys([*self._sessions, *message.known])

    def _board(self, message: BoardLoaded | QueueGone) -> Collection[str]:
        """Take the queue in; answers the issues to look at."""
        desk = self._desk
        if isinstance(message, QueueGone):
            desk.backlog.forget()
            return list(self._issues)
        if message.backlog is None:
            touched = desk.backlog.take(message.board, desk.moment())
        else:
            desk.backlog, touched = message.backlog, {issue.id for issue in message.board.issues}
        return sorted(touched | (self._issues.keys() - desk.backlog.issues.keys()))

    def _passed(self) -> Iterator[SafeStr]:
        desk = self._desk
        turned = desk.backlog.tick(desk.moment(), ())
        rows = desk.arrangement.tick(desk.now_ms(), ()).rows
        yield from self._session_lines([row.session_id for row in rows])
        yield from self._issue_lines(sorted(turned))
        yield from self._cause_lines()

    # How things stand

    def _standing(self) -> Iterator[SafeStr]:
        """Everything, the first time."""
        for _ in self._session_lines(()):
            pass  # states that come from leases are part of how things stand, and no change
        yield self._now(self._summary())
        for row in self._desk.arrangement.in_order():
            yield _line(row)
        if "sessions" in self._failing:
            yield SafeStr(f"sessions unreadable: {self._failing['sessions']}")
        for cause in self._pressing():
            yield _cause_line(cause)

    def _summary(self) -> str:
        desk = self._desk
        counts = ", ".join(f"{number:,} {STATES[state].word}" for state, number in desk.arrangement.summary().items())
        parts = [
            f"{len(desk.arrangement):,} sessions in {desk.place}{f' ({counts})' if counts else ''}",
            "no queue" if desk.backlog.projects is None else f"{len(desk.backlog):,} issues",
            f"{len(desk.plans):,} plans and operations",
        ]
        return ", ".join([*parts, "read-only"] if desk.read_only else parts)

    def _pressing(self) -> list[Cause]:
        """What of queue and plans needs a person, the most pressing first."""
        desk = self._desk
        causes = [*desk.backlog.causes(desk.moment()), *desk.plans.causes(desk.now_ms())]
        causes += [queue_cause(told) for of, told in self._failing.items() if of == "queue"]
        causes += [plans_cause(told) for of, told in self._failing.items() if of == "plans"]
        return sorted(causes, key=lambda cause: (cause.looks.rank, cause.since_ms, cause.about))

    # What changed

    def _session_lines(self, ids: Iterable[str]) -> Iterator[SafeStr]:
        joined = self._lease()
        for session_id in dict.fromkeys([*ids, *joined]):
            row, found = self._desk.arrangement.row(session_id), self._desk.arrangement.found(session_id)
            before = self._sessions.get(session_id)
            if row is None or found is None:
                if self._sessions.pop(session_id, None) is not None and self.is_begun:
                    yield self._now(f"{session_id} is gone")
                continue
            self._sessions[session_id] = (row.state, found)
            if self.is_begun:
                yield from (self._now(f"{session_id} {said}") for said in _said(before, row, found))

    def _lease(self) -> list[str]:
        """Sessions whose lease gives them another state than they had."""
        desk = self._desk
        return [row.session_id for row in desk.arrangement.lease(desk.backlog.session_states(), desk.now_ms()).rows]

    def _issue_lines(self, ids: Iterable[str]) -> Iterator[SafeStr]:
        backlog = self._desk.backlog
        for issue_id in ids:
            state, before = backlog.state(issue_id), self._issues.get(issue_id)
            if state is None or issue_id not in backlog.issues:
                if self._issues.pop(issue_id, None) is not None and self.is_begun:
                    yield self._now(f"{issue_id} is gone")
                continue
            self._issues[issue_id] = state
            if before != state and self.is_begun and (row := backlog.row(issue_id)) is not None:
                became = "appeared" if before is None else "became"
                about = f", {row.about}" if row.about else ""
                yield self._now(f"{issue_id} {became} {issues.STATES[state].word}: {row.task}{about}")
        if ids:
            # A session that works under a lease takes its state from there.
            yield from self._session_lines(())

    def _plan_lines(self, board: ArcBoard) -> Iterator[SafeStr]:
        desk = self._desk
        desk.plans.take(board)
        now = {row_id: plans.state_of(seen) for row_id in desk.plans.order() if (seen := desk.plans.seen(row_id))}
        before, self._plans = self._plans, now
        if not self.is_begun:
            return
        for row_id, state in now.items():
            seen = desk.plans.seen(row_id)
            if before.get(row_id) != state and seen is not None:
                became = "became" if row_id in before else "appeared"
                yield self._now(f"{row_id} {became} {plans.STATES[state].word}: {plans.subject_of(seen)}")
        for row_id in sorted(before.keys() - now.keys()) if desk.plans.holds_all() else ():
            yield self._now(f"{row_id} is gone")

    def _cause_lines(self) -> Iterator[SafeStr]:
        """What needs a person and is the state of no one thing: told when it begins, changes and ends."""
        now = {cause.id: cause for cause in self._pressing() if cause.kind in _OF_ITS_OWN}
        before, self._causes = self._causes, now
        if not self.is_begun:
            return
        for name, cause in now.items():
            known = before.get(name)
            if known is None or known.reason != cause.reason:
                yield self._now(_cause_line(cause))
        for name in sorted(before.keys() - now.keys()):
            yield self._now(f"no longer: {_cause_line(before[name])}")

    def _now(self, told: str) -> SafeStr:
        """A line under the time of now; its parts are safe already."""
        return SafeStr(f"{time_of_day(self._desk.now_ms())} {told}")


def _line(row: SessionRow) -> SafeStr:
    """A session as it stands: state, id, title, application, step, age."""
    parts = [
        f"{row.looks.word} {row.session_id}",
        row.title or "untitled",
        f"app {row.app}" if row.app else "",
        f"step {row.step}" if row.step else "",
        f"age {row.age}" if row.age else "",
        f"last event {row.seen} ago" if row.seen else "",
    ]
    return SafeStr(", ".join(part for part in parts if part))


def _said(before: Seen | None, row: SessionRow, found: Found) -> Iterator[str]:
    """What is to be said of a session that may have changed."""
    if before is None:
        yield f"appeared: {row.looks.word}, {row.title or 'untitled'}{f', app {row.app}' if row.app else ''}"
        return
    state, old = before
    if state != row.state:
        yield f"became {row.looks.word}{_why(row, found)}"
    if not isinstance(found, SessionSummary) or not isinstance(old, SessionSummary) or old.rev == found.rev:
        return
    if found.checkpoint is not None and old.checkpoint != found.checkpoint:
        yield f"checkpoint: step {row.step}" if row.step else "checkpoint: a note"
    elif state == row.state:
        yield f"changed: revision {found.rev}"


def _why(row: SessionRow, found: Found) -> str:
    """What goes with a state that a session came to."""
    if isinstance(found, BadRecord):
        return f": {visible(found.code)}"
    title = f": {row.title or 'untitled'}"
    text = found.final_result or ""
    result = shown(text) if len(text) <= _LONGEST else f"{shown(text[: 2 * _LONGEST])[:_LONGEST]}…"
    return f"{title}, {result}" if result else f"{title}, last event {row.seen} ago"


def _cause_line(cause: Cause) -> SafeStr:
    """A cause with what it is about, why, and for how long."""
    about = f" {shown(cause.about)}" if cause.about else ""
    since = f", for {cause.since}" if cause.since else ""
    return SafeStr(f"{cause.looks.word}{about}: {cause.title}, {cause.reason}{since}")


async def follow(env: Environment, write: Callable[[SafeStr], object], *, gone: Callable[[], bool] = bool) -> None:
    """Tell how things stand, then each change, for ever; `write` takes a line and ends it by raising.

    `gone` is asked once a second whether anybody still reads. A feed that dies ends the account with what it died of:
    it must not pass for a quiet fleet.
    """
    coming: asyncio.Queue[Message] = asyncio.Queue()
    account = Account(Desk(env))
    feeds = (Feed(env, coming.put_nowait), QueueFeed(env, coming.put_nowait), ArcFeed(env, coming.put_nowait))
    tasks = [asyncio.ensure_future(feed.run()) for feed in feeds]
    loop = asyncio.get_running_loop()
    due = loop.time() + _TICK_S
    try:
        while not gone():
            if loop.time() >= due:
                due, lines = loop.time() + _TICK_S, account.tick()
            else:
                lines = await _heard(coming, account, due - loop.time())
            for line in lines:
                write(line)
            for task in tasks:
                if task.done():
                    task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _heard(coming: asyncio.Queue[Message], account: Account, pause: float) -> list[SafeStr]:
    """The lines for the next message, if one comes before the pause is over."""
    try:
        async with asyncio.timeout(pause):
            message = await coming.get()
    except TimeoutError:
        return []
    return account.take(message)


def run_plain(env: Environment) -> int:
    """Give the account on standard output until it is interrupted or nobody reads; answers the exit status.

    What the output refuses is raised as `Unheard`, for the command line to tell.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        # asyncio's own handler only asks the loop, which cannot hear while a full pipe keeps it writing.
        signal.signal(signal.SIGINT, _interrupt)
    try:
        asyncio.run(follow(env, _tell, gone=_is_unread))
    except KeyboardInterrupt:
        let_go(sys.stdout)  # a line that it was kept from writing is not waited for at the end
        return Interrupted.exit_code
    finally:
        signal.signal(signal.SIGINT, before)
    raise Unheard(BrokenPipeError())


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _tell(line: SafeStr) -> None:
    with answering():
        sys.stdout.write(f"{line}\n")


def _is_unread() -> bool:
    """Whether the reader of standard output has gone: a quiet account would never learn it by writing."""
    with suppress(OSError, ValueError):
        poller = select.poll()
        poller.register(sys.stdout.fileno(), 0)
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in poller.poll(0))
    return False
