"""What needs a person: one row a cause, of sessions, of the queue and of plans, the most pressing first.

Source: console page, section 2 (Attention).
"""

from collections.abc import Mapping
from typing import Final

from phelix_core.clock import Moment
from phelix_core.frozen import frozen
from phelix_core.queue import staleness
from phelix_core.queue.board import BoardIssue
from phelix_core.queue.model import CRASH_LOOP, NEEDS_RECOVERY, Lease
from phelix_core.text import SafeStr, visible
from phelix_core.views import rows as sessions
from phelix_core.views.moments import span
from phelix_core.views.queue.rows import CLOCK, STALE, finding_of, left_ms, tail_of
from phelix_core.views.rows import BadRecord, State
from phelix_core.views.shown import shown

CAUSES: Final[Mapping[str, State]] = {
    "queue": State("⚠", "queue unreadable", "unread", 0),
    "plans": State("⚠", "plans unreadable", "unread", 0),
    "policy": State("⚠", "policy unusable", "error", 0),
    "claims": State("■", "claims BLOCKED", "error", 0),
    "recovery": State("⚠", "needs_recovery", "error", 1),
    "operation": State("?", "indeterminate", "error", 2),
    "approval": State("◆", "plan waits", "warning", 3),
    "lease": State("▲", "stale lease", "stale", 4),
    "gone": State("◌", "holder gone", "stale", 5),
    "lease-clock": State("?", "lease clock?", "stale", 6),
    "crash": State("✗", "crash_loop", "failed", 7),
    "milestone": State("✗", "milestone failed", "failed", 8),
    "file": State("⚠", "plan unreadable", "unread", 9),
    "record": State("⚠", "unreadable", "unread", 9),
    "session": State("▲", "stale session", "stale", 10),
    "session-clock": State("?", "session clock?", "stale", 11),
}

ISSUE: Final = "issue"
SESSION: Final = "session"
QUEUE: Final = "queue"
PLAN: Final = "plan"
PLANS: Final = "plans"
"""What a cause opens: the room of one thing, or of all."""


@frozen
class Cause:
    """One line: what is wrong with what, why, and for how long; `opens` and `about` say where enter leads."""

    kind: str
    about: str
    opens: str
    title: SafeStr
    reason: SafeStr
    since: SafeStr
    since_ms: int

    @property
    def id(self) -> str:
        """The row's own id: a thing may have several causes."""
        return f"{self.kind}:{self.about}"

    @property
    def tail(self) -> SafeStr:
        """The end of the id that it is about."""
        return tail_of(self.about)

    @property
    def looks(self) -> State:
        """Glyph, word, role and rank of the cause."""
        return CAUSES[self.kind]


def issue_cause(issue: BoardIssue, state: str, lease: Lease | None, now: Moment, *, gone: bool) -> Cause | None:
    """Why an issue needs a person; None where it does not."""
    if state == NEEDS_RECOVERY:
        return _of_issue("recovery", issue, now, issue.updated_at, shown(issue.blocked_reason or "reported"))
    if state == CRASH_LOOP:
        reason = SafeStr(f"recovered {issue.recoveries} times; blocks no claims")
        return _of_issue("crash", issue, now, issue.updated_at, reason)
    if state == STALE:
        left = None if lease is None else left_ms(lease, now)
        since = now.wall_ms if left is None else now.wall_ms + min(left, 0)
        by = "" if lease is None else f", {shown(lease.agent_id)}{' (gone)' if gone else ''}"
        return _of_issue("lease", issue, now, since, SafeStr(f"{finding_of(issue, lease, now)}{by}"))
    if lease is not None and gone:
        return _of_issue(
            "gone", issue, now, now.wall_ms, SafeStr(f"process {lease.holder_pid} of {shown(lease.agent_id)}")
        )
    if state == CLOCK and lease is not None:
        reason = SafeStr(f"cannot tell: {staleness.of_lease(lease, now).clock} clock before its renewal")
        return _of_issue("lease-clock", issue, now, now.wall_ms, reason)
    return None


def _of_issue(kind: str, issue: BoardIssue, now: Moment, since_ms: int, reason: SafeStr) -> Cause:
    return Cause(
        kind=kind,
        about=issue.id,
        opens=ISSUE,
        title=shown(issue.task),
        reason=reason,
        since=span(now.wall_ms - since_ms),
        since_ms=since_ms,
    )


def queue_cause(told: SafeStr) -> Cause:
    """The queue cannot be read; `told` says why."""
    return Cause(
        kind="queue", about="", opens=QUEUE, title=SafeStr("the queue"), reason=told, since=SafeStr(""), since_ms=0
    )


def plans_cause(told: SafeStr) -> Cause:
    """Plans and operations cannot be read; `told` says why."""
    return _of_all_plans("plans", "the plans", told)


def policy_cause(told: SafeStr) -> Cause:
    """The policy cannot be used, and so nothing executes; `told` says why."""
    return _of_all_plans("policy", "authz/policy.json", told)


def _of_all_plans(kind: str, title: str, reason: SafeStr) -> Cause:
    return Cause(kind=kind, about="", opens=PLANS, title=SafeStr(title), reason=reason, since=SafeStr(""), since_ms=0)


def claims_cause(project_id: str, name: str, blockers: int, ready: int) -> Cause:
    """New claims of a project are refused."""
    return Cause(
        kind="claims",
        about=project_id,
        opens=QUEUE,
        title=shown(name),
        reason=SafeStr(f"{blockers:,} to recover; {ready:,} ready wait"),
        since=SafeStr(""),
        since_ms=0,
    )


def milestone_cause(milestone_id: str, key: str, failed: int, opens: str) -> Cause:
    """A milestone has failed; `opens` is one of the issues that failed it."""
    return Cause(
        kind="milestone",
        about=opens,
        opens=ISSUE,
        title=shown(key),
        reason=SafeStr(f"{failed:,} failed issue{'' if failed == 1 else 's'} in {tail_of(milestone_id)}"),
        since=SafeStr(""),
        since_ms=0,
    )


def session_cause(session_id: str, found: sessions.Found, state: str, now_ms: int) -> Cause | None:
    """Why a session needs a person; None where it does not."""
    kind = {sessions.UNREADABLE: "record", sessions.STALE: "session", sessions.CLOCK: "session-clock"}.get(state)
    if kind is None:
        return None
    good = found.last_good if isinstance(found, BadRecord) else found
    since_ms = now_ms if good is None else good.last_event_ms
    reason = SafeStr("no event within the limit")
    if isinstance(found, BadRecord):
        reason = visible(found.code)
    elif kind == "session-clock":
        reason = SafeStr("cannot tell: its last event is in the future")
    return Cause(
        kind=kind,
        about=session_id,
        opens=SESSION,
        title=shown((good.title if good else None) or "untitled"),
        reason=reason,
        since=span(now_ms - since_ms) if good is not None else SafeStr(""),
        since_ms=since_ms,
    )
