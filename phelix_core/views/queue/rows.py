"""Issues as the rows of a list: attention first, each state by glyph, word and role, leases by what is left.

A state is the issue's status or a finding about it as of now; findings come from the queue's own rules. Whatever
came from a row is made safe for a terminal here. Source: console page, sections 2 and 5.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from phelix_core.clock import Moment
from phelix_core.frozen import frozen
from phelix_core.queue import staleness
from phelix_core.queue.board import BoardIssue
from phelix_core.queue.gates import Gate, first_closed
from phelix_core.queue.model import (
    ACTIVE,
    ARCHIVED,
    BLOCKED,
    CRASH_LOOP,
    DONE,
    FAILED,
    FINISHED,
    IN_PROGRESS,
    INCOHERENT,
    NEEDS_RECOVERY,
    PENDING,
    PRIORITIES,
    READY,
    Lease,
)
from phelix_core.text import SafeStr
from phelix_core.views.moments import long_span, span
from phelix_core.views.queue.glyphs import GLYPHS
from phelix_core.views.rows import State
from phelix_core.views.shown import shown

STALE: Final = "stale"
CLOCK: Final = "clock"
_FAR: Final = 1 << 62
TAIL: Final = 6
"""Characters of an id that a list shows."""

STATES: Final[Mapping[str, State]] = {
    NEEDS_RECOVERY: State(GLYPHS[NEEDS_RECOVERY], "needs_recovery", "error", 0),
    STALE: State(GLYPHS[STALE], "stale", "stale", 1),
    CLOCK: State(GLYPHS[CLOCK], "clock?", "stale", 2),
    CRASH_LOOP: State(GLYPHS[CRASH_LOOP], "crash_loop", "failed", 3),
    FAILED: State(GLYPHS[FAILED], "failed", "failed", 4),
    IN_PROGRESS: State(GLYPHS[IN_PROGRESS], "in_progress", "active", 5),
    READY: State(GLYPHS[READY], "ready", "accent", 6),
    BLOCKED: State(GLYPHS[BLOCKED], "blocked", "warning", 7),
    PENDING: State(GLYPHS[PENDING], "pending", "muted", 8),
    DONE: State(GLYPHS[DONE], "done", "completed", 9),
    ARCHIVED: State(GLYPHS[ARCHIVED], "archived", "cancelled", 10),
}

Key = tuple[int, int, int, int, int, str]


@frozen
class IssueRow:
    """One line of the list; every text is safe for a terminal."""

    issue_id: str
    state: str
    tail: SafeStr
    task: SafeStr
    priority: str
    milestone: SafeStr
    left: SafeStr
    about: SafeStr

    @property
    def looks(self) -> State:
        """Glyph, word, role and rank of the row's state."""
        return STATES[self.state]


def tail_of(word: str) -> SafeStr:
    """An id by its last characters, safe for a terminal."""
    return shown(word if len(word) <= TAIL else f"…{word[-TAIL:]}")


def state_of(issue: BoardIssue, lease: Lease | None, now: Moment, *, archived: bool = False) -> str:
    """An issue's state as shown: its status, or what its lease and the clock make of it."""
    status = issue.status
    if archived and status not in FINISHED:
        return ARCHIVED
    if status == FAILED and issue.blocked_reason == CRASH_LOOP:
        return CRASH_LOOP
    if status in FINISHED or status == NEEDS_RECOVERY:
        return status
    if finding_of(issue, lease, now) is not None:
        return STALE
    if lease is None or lease.status != ACTIVE or status != IN_PROGRESS:
        return status
    return CLOCK if staleness.of_lease(lease, now).state == staleness.CANNOT_TELL else status


def finding_of(issue: BoardIssue, lease: Lease | None, now: Moment) -> str | None:
    """Which rule makes an unfinished issue stale now, as reconcile would find; None where none does."""
    if lease is None or lease.status != ACTIVE:
        return INCOHERENT if issue.status == IN_PROGRESS else None
    finding = staleness.why_stale(issue.status, lease, now)
    return None if finding is None else finding.reason


def left_ms(lease: Lease, now: Moment) -> int | None:
    """Until the lease or its last checkpoint runs out, whichever is first; None where that cannot be told."""
    known = [
        standing.left_ms
        for standing in (staleness.of_lease(lease, now), staleness.of_checkpoint(lease, now))
        if standing.left_ms is not None
    ]
    return min(known, default=None)


def countdown(issue: BoardIssue, lease: Lease | None, now: Moment) -> SafeStr:
    """What is left of a lease, or how long ago it ran out; nothing where nobody holds the issue."""
    if lease is None or lease.status != ACTIVE:
        return SafeStr("")
    left = staleness.of_lease(lease, now).left_ms if issue.status == BLOCKED else left_ms(lease, now)
    if left is None:
        return SafeStr("?")
    return long_span(left) if left > 0 else SafeStr(f"{span(-left)} ago")


def gate_of(
    issue: BoardIssue, milestones: Iterable[tuple[str, bool]], issues: Iterable[tuple[str, str]]
) -> Gate | None:
    """The first closed gate of an issue that waits; None where it waits for none."""
    return first_closed(list(milestones), list(issues)) if issue.status == PENDING else None


def issue_row(
    issue: BoardIssue,
    lease: Lease | None,
    now: Moment,
    *,
    milestone: str,
    gate: SafeStr,
    gone: bool = False,
    archived: bool = False,
) -> IssueRow:
    """The line for an issue; `gate` says what a pending one waits for."""
    return IssueRow(
        issue_id=issue.id,
        state=state_of(issue, lease, now, archived=archived),
        tail=tail_of(issue.id),
        task=_for_a_line(issue.task),
        priority=PRIORITIES[issue.rank],
        milestone=_for_a_line(milestone),
        left=countdown(issue, lease, now),
        about=_about(issue, lease, gate, gone=gone),
    )


def _about(issue: BoardIssue, lease: Lease | None, gate: SafeStr, *, gone: bool) -> SafeStr:
    """Who holds the issue, or what it waits for."""
    if lease is not None and lease.status == ACTIVE and issue.status != BLOCKED:
        return SafeStr(f"{'gone: ' if gone else ''}{_for_a_line(lease.agent_id)}")
    if issue.status == PENDING:
        return gate
    return _for_a_line(issue.blocked_reason or "")


@lru_cache(8_192)
def _for_a_line(text: str) -> SafeStr:
    """Rows on the screen are drawn every second, with the same texts."""
    return shown(text)


def sort_key(state: str, issue: BoardIssue, lease: Lease | None) -> Key:
    """Attention first; within a state what matters there: what runs out first, claim order, newest."""
    rank = STATES[state].rank
    if state in (IN_PROGRESS, STALE, CLOCK):
        return rank, _runs_out(lease), issue.rank, issue.created_at, issue.position, issue.id
    if state in (DONE, FAILED, CRASH_LOOP, ARCHIVED):
        return rank, -issue.updated_at, 0, issue.created_at, issue.position, issue.id
    deadline = _FAR if issue.deadline_at is None else issue.deadline_at
    return rank, issue.rank, deadline, issue.created_at, issue.position, issue.id


def _runs_out(lease: Lease | None) -> int:
    """When a lease or its checkpoint runs out by the wall clock; only an order, no decision."""
    if lease is None:
        return 0
    fresh = _FAR if lease.checkpoint_at is None else lease.checkpoint_at + lease.freshness_ms
    return min(lease.expires_at, fresh)


def blocks_claims(state: str, issue: BoardIssue) -> bool:
    """Whether claims in the issue's scope are refused for it; one recovered too often will be failed instead."""
    return state == NEEDS_RECOVERY or (state == STALE and issue.recoveries < issue.max_recoveries)
