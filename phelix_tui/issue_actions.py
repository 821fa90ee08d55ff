"""What an operator can do to an issue of the queue, bound to the lease and the epoch on the screen.

Checkpoints and heartbeats are the holder's own and not offered. Source: console page, sections 3 and 6.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from phelix_core.commands.preview import WritePlan
from phelix_core.frozen import frozen_in_order
from phelix_core.queue.board import BoardIssue
from phelix_core.queue.model import ACTIVE, BLOCKED, DONE, FAILED, IN_PROGRESS, NEEDS_RECOVERY, PENDING, READY, Lease
from phelix_core.text import SafeStr, visible
from phelix_core.views.moments import moment
from phelix_core.views.queue.rows import CLOCK, STALE, tail_of
from phelix_tui.actions import TERMINAL, WIDE, Action, Guard, filled

if TYPE_CHECKING:
    from phelix_tui.desk import Desk

_RESUME: Final = "resume"
_REPORT: Final = ("summary", "next_step", "evidence")

RECOVER: Final = Action(
    key="r",
    command="queue recover",
    verb="Recover",
    summary="stale work: requeue, block, fail, or take it over",
    tier=WIDE,
    fields=("resolution", "reason"),
    also={_RESUME: ("next_step", "agent", "host", "workload_classes", "capabilities")},
    asks="reason",
)
PROMOTE: Final = Action(
    key="p",
    command="queue promote",
    verb="Promote",
    summary="its project: make ready what has every gate open",
    tier=WIDE,
    fields=(),
)
UNBLOCK: Final = Action(
    key="u",
    command="queue unblock",
    verb="Unblock",
    summary="let a blocked issue go on",
    tier=TERMINAL,
    fields=("reason",),
    asks="reason",
)
RELEASE: Final = Action(
    key="l",
    command="queue close",
    verb="Release",
    summary="hand it back as ready, under the lease shown",
    tier=TERMINAL,
    fields=_REPORT,
    asks="summary",
    preset={"status": READY},
)
CLOSE: Final = Action(
    key="o",
    command="queue close",
    verb="Close",
    summary="end it: done, failed, blocked, under the lease shown",
    tier=TERMINAL,
    fields=("status", *_REPORT, "reason"),
    asks="summary",
    choices={"status": (DONE, FAILED, BLOCKED, NEEDS_RECOVERY)},
)
ROLLBACK: Final = Action(
    key="b",
    command="queue rollback",
    verb="Roll back",
    summary="to pending, and what it had opened with it",
    tier=TERMINAL,
    fields=("reason",),
    asks="reason",
)
RETRY: Final = Action(
    key="t",
    command="queue retry",
    verb="Retry",
    summary="try a failed issue anew",
    tier=TERMINAL,
    fields=("reason",),
    asks="reason",
)
NO_ISSUE: Final = "no issue is selected"
ISSUE_ACTIONS: Final = (RECOVER, PROMOTE, UNBLOCK, RELEASE, CLOSE, ROLLBACK, RETRY)


@frozen_in_order
class IssueTarget:
    """An issue as it is on the screen: bound to its epoch, its lease and its last renewal."""

    issue: BoardIssue
    lease: Lease | None
    state: str
    project: str = ""

    @property
    def id(self) -> str:
        """The issue's id."""
        return self.issue.id

    @property
    def kind(self) -> str:
        """An issue."""
        return "issue"

    @property
    def standing(self) -> str:
        """Status, epoch and lease."""
        held = "" if self.lease is None else f" · lease {tail_of(self.lease.id)}"
        return f"{self.issue.status} · epoch {self.issue.lease_epoch}{held}"

    def names(self, action: Action) -> tuple[str, str, str]:
        """Its id, task and standing; a promotion is about the project."""
        if action is PROMOTE:
            return self.issue.project_id, self.project, "the whole project"
        return self.id, self.issue.task, self.standing

    @property
    def actions(self) -> Sequence[Action]:
        """All that can be done to an issue."""
        return ISSUE_ACTIONS

    def why_not(self, action: Action | None) -> str | None:
        """Why an action makes no sense on this issue now."""
        return None if action is None else _WHY_NOT[action.verb](self)

    def raw(self, action: Action, values: Mapping[str, object]) -> dict[str, object]:
        """What was filled in, bound to the epoch or the lease on the screen."""
        chosen = {**action.preset, **filled(values)}
        if action is PROMOTE:
            return {"project": self.issue.project_id, **chosen}
        if action.command == "queue close":
            return {"lease": "" if self.lease is None else self.lease.id, **chosen}
        scope = {"project": self.issue.project_id} if chosen.get("resolution") == _RESUME else {}
        return {"issue_id": self.id, **chosen, **scope, "if_epoch": self.issue.lease_epoch}

    def guard(self, desk: "Desk", action: Action) -> Guard:
        """Whether the issue and its lease are as they were; a promotion is held to its digest alone."""
        if action is PROMOTE:
            return Guard(fresh=True, text=SafeStr("✓ applied only if exactly this is still what would move"), role="ok")
        now = desk.issue_target(self.id)
        if now is None:
            return Guard(fresh=False, text=SafeStr("✗ the issue is not in the queue any more"), role="error")
        if now.fingerprint == self.fingerprint:
            return Guard(fresh=True, text=visible(f"✓ unchanged: {self.standing}"), role="ok")
        what = now.standing if now.standing != self.standing else "its lease was renewed, or a checkpoint written"
        return Guard(fresh=False, text=visible(f"▲ now {what}: go back and look again"), role="warning")

    @property
    def fingerprint(self) -> tuple[object, ...]:
        """What an operator goes by: any change of it wants another look."""
        lease = self.lease
        held = () if lease is None else (lease.id, lease.status, lease.expires_at, lease.checkpoint_at)
        return (self.issue.status, self.issue.lease_epoch, self.issue.updated_at, *held)

    def proof(self, action: Action, plan: WritePlan) -> str:
        """The last four of the id; how many move, where it is about many."""
        if action is PROMOTE:
            return str(len(cast("Sequence[str]", (plan.outcome or {}).get("promotedIssueIds") or ())))
        return self.id[-4:]

    def told(self, action: Action, result: object) -> str:
        """What became of it."""
        answer = cast("Mapping[str, Any]", result if isinstance(result, Mapping) else {})
        if action is PROMOTE:
            return f"Promote: {len(answer.get('promotedIssueIds') or ())} moved to ready"
        context = cast("Mapping[str, Any]", answer.get("context") or answer)
        status = answer.get("newStatus") or context.get("currentTaskStatus")
        return f"{action.verb}: {self.id} is {status or 'written'}"

    def members(self) -> list[tuple[str, str]]:
        """Status, epoch, lease and holder."""
        issue, lease = self.issue, self.lease
        pairs = [
            ("status", issue.status),
            ("epoch", str(issue.lease_epoch)),
            ("task", issue.task),
            ("reason", issue.blocked_reason),
            ("next", issue.next_best_action),
            ("updated", moment(issue.updated_at)),
        ]
        if lease is not None:
            pairs += [
                ("lease", f"{tail_of(lease.id)} {lease.status}"),
                ("holder", f"{lease.agent_id} on {lease.host}"),
                ("expires", moment(lease.expires_at)),
            ]
        return [(name, value) for name, value in pairs if value]


def _not_stale(target: IssueTarget) -> str | None:
    if target.state in (STALE, NEEDS_RECOVERY):
        return None
    if target.state == CLOCK:
        return "cannot tell whether its lease still runs, so it is left alone"
    if target.state == IN_PROGRESS:
        return "its lease is live; only stale work is recovered"
    return f"{target.state}: only stale work is recovered"


def _not_held(target: IssueTarget) -> str | None:
    if target.lease is None or target.lease.status != ACTIVE:
        return f"{target.issue.status}: no active lease holds it"
    return None


def _unless(status: str) -> Any:
    def reason(target: IssueTarget) -> str | None:
        return None if target.issue.status == status else f"{target.issue.status}: only a {status} issue"

    return reason


def _pending_already(target: IssueTarget) -> str | None:
    return "it is pending already" if target.issue.status == PENDING else None


def _never(_: IssueTarget) -> str | None:
    return None


_WHY_NOT: Final = {
    RECOVER.verb: _not_stale,
    PROMOTE.verb: _never,
    UNBLOCK.verb: _unless(BLOCKED),
    RELEASE.verb: _not_held,
    CLOSE.verb: _not_held,
    ROLLBACK.verb: _pending_already,
    RETRY.verb: _unless(FAILED),
}
