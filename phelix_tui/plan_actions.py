"""What an operator can do to a plan and to the operation that carries it out, bound to what is on the screen.

An approval names the hash that was seen; an apply and a cancel want the end of the id typed. What somebody else has
done first is told, and nothing is tried again. Source: console page, section 6 and Approvals.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from phelix_core.arc.approvals import Approval
from phelix_core.arc.board import BadFile, BoardOperation, Seen
from phelix_core.arc.model import CREATED
from phelix_core.arc.operations import INDETERMINATE, PENDING, Operation
from phelix_core.arc.standing import DENIED, NONE, STALE, VALID, Standing
from phelix_core.commands.preview import WritePlan
from phelix_core.errors import ApprovalRequired
from phelix_core.frozen import frozen_in_order
from phelix_core.text import SafeStr, visible
from phelix_core.views.arc.rows import ENDED, STATES, row_id_of, stale_reason, state_of, subject_of
from phelix_core.views.arc.story import denied_reason
from phelix_core.views.moments import moment, time_of_day
from phelix_tui.actions import TERMINAL, WIDE, Action, Guard

if TYPE_CHECKING:
    from phelix_core.commands.arc.answers import ShownOperation
    from phelix_core.commands.arc.endings import Applied
    from phelix_tui.desk import Desk

APPROVE: Final = Action(
    key="p",
    command="authz approve",
    verb="Approve",
    summary="let it be applied, once, as it is shown here",
    tier=TERMINAL,
    fields=(),
)
REVOKE: Final = Action(
    key="v",
    command="authz revoke",
    verb="Revoke",
    summary="take its approval away",
    tier=TERMINAL,
    fields=(),
)
APPLY: Final = Action(
    key="e",
    command="plan apply",
    verb="Apply",
    summary="execute it now, once",
    tier=WIDE,
    fields=(),
)
CANCEL: Final = Action(
    key="x",
    command="operation cancel",
    verb="End operation",
    summary="cancel it: end the command that runs",
    tier=WIDE,
    fields=(),
)
NO_PLAN: Final = "no plan is selected"
PLAN_ACTIONS: Final = (APPROVE, REVOKE, APPLY, CANCEL)


@frozen_in_order
class PlanTarget:
    """A plan, an operation without one, or a file that is none, as it is on the screen."""

    seen: Seen

    @property
    def id(self) -> str:
        """The plan's id, or the operation's."""
        return row_id_of(self.seen)

    @property
    def kind(self) -> str:
        """A plan."""
        return "plan"

    @property
    def standing(self) -> str:
        """The state."""
        return STATES[state_of(self.seen)].word

    @property
    def operation(self) -> Operation | None:
        """What carries it out, or did."""
        return None if isinstance(self.seen, BadFile) else self.seen.operation

    def names(self, action: Action) -> tuple[str, str, str]:
        """Its id, what it is about, and its state; a cancel is about the operation."""
        if action is CANCEL and self.operation is not None:
            return self.operation.id, subject_of(self.seen), self.standing
        return self.id, subject_of(self.seen), self.standing

    @property
    def actions(self) -> Sequence[Action]:
        """All that can be done to a plan."""
        return PLAN_ACTIONS

    def why_not(self, action: Action | None) -> str | None:
        """Why an action makes no sense on what is shown; whether it is possible is the core's to say."""
        return None if action is None else _WHY_NOT[action.verb](self)

    def raw(self, action: Action, values: Mapping[str, object]) -> dict[str, object]:
        """Input for the command; an approval is of the hash on the screen."""
        del values  # nothing is filled in
        if action is CANCEL:
            return {"operation_id": "" if self.operation is None else self.operation.id}
        if action is APPROVE and isinstance(self.seen, Standing):
            return {"plan_id": self.id, "expect_hash": self.seen.plan.plan_hash}
        return {"plan_id": self.id}

    def guard(self, desk: "Desk", action: Action) -> Guard:
        """Whether plan, approval and operation are as they were, and what has changed if not."""
        now = desk.plans.seen(self.id)
        if now is None:
            if STATES[state_of(self.seen)].rank == ENDED and not desk.plans.holds_all():
                held = SafeStr("✓ done only if exactly this is still what would change")
                return Guard(fresh=True, text=held, role="ok")
            return Guard(fresh=False, text=SafeStr("✗ the record has gone"), role="error")
        changed = what_changed(self.seen, now, action)
        if changed is None:
            return Guard(fresh=True, text=visible(f"✓ unchanged: {self.standing}{_hash_of(now)}"), role="ok")
        return Guard(fresh=False, text=visible(f"▲ {changed}; look again"), role="warning")

    def proof(self, action: Action, plan: WritePlan) -> str:
        """The last four of the plan's id, or of the operation's."""
        del plan
        return self.names(action)[0][-4:]

    def told(self, action: Action, result: object) -> str:
        """What came of it."""
        return f"{action.verb}: {_TOLD[action.verb](self, result)}"

    def members(self) -> list[tuple[str, str]]:
        """State and hash."""
        return [("state", self.standing), ("hash", _hash_of(self.seen))]


def _hash_of(seen: Seen) -> str:
    return f", {seen.plan.plan_hash[:19]}…" if isinstance(seen, Standing) else ""


# What has changed


def what_changed(before: Seen, now: Seen, action: Action) -> str | None:
    """What an operator goes by and is not as it was, in words; None where all of it is."""
    if isinstance(before, Standing) and isinstance(now, Standing):
        return _running_changed(before, now) if action is CANCEL else _plan_changed(before, now)
    if isinstance(before, BoardOperation) and isinstance(now, BoardOperation):
        return None if before.status == now.status else f"the operation is {now.status} now"
    if isinstance(before, BadFile) and isinstance(now, BadFile):
        return None if before.code == now.code else f"it reads as {now.code} now"
    if isinstance(now, BadFile):
        return f"the record cannot be trusted now ({now.code})"
    return "it is another record now"


def _running_changed(before: Standing, now: Standing) -> str | None:
    if before.operation_id == now.operation_id and before.operation_status == now.operation_status:
        return None
    return f"the operation is {now.operation_status or 'gone'} now"


def _plan_changed(before: Standing, now: Standing) -> str | None:
    """The first that differs of what is told, the weightiest first."""
    stale = f"now stale: {stale_reason(now)}" if now.state == STALE else "it applies again"
    compared = (
        (before.plan.plan_hash, now.plan.plan_hash, "the plan has another content now"),
        (before.operation_status, now.operation_status, f"its operation is {now.operation_status or 'gone'} now"),
        (before.approval, now.approval, _approval_now(now)),
        (before.applicability.failed_preconditions, now.applicability.failed_preconditions, stale),
        (before.state, now.state, f"now {STATES[state_of(now)].word}"),
        (before.rulings, now.rulings, "the policy rules otherwise now"),
    )
    return next((told for was, is_now, told in compared if was != is_now), None)


def _approval_now(now: Standing) -> str:
    found = now.approval
    if found.state == NONE:
        return "its approval was revoked"
    at = "" if found.approved_at_ms is None else f" at {time_of_day(found.approved_at_ms)}"
    by = f" through {found.approver_provenance}" if found.approver_provenance else ""
    return f"approved{at}{by}" if found.state == VALID else f"its approval is {found.state}"


# Why not


def _not_of_a_plan(target: PlanTarget) -> str | None:
    if isinstance(target.seen, BadFile):
        return f"the record cannot be trusted ({target.seen.code}); nothing is done with it"
    if isinstance(target.seen, BoardOperation):
        return "this operation's plan is not here"
    return None


def _executed(standing: Standing) -> str | None:
    if standing.operation_status is not None:
        return f"executed: its operation is {standing.operation_status}"
    return None if standing.plan.status == CREATED else f"executed: the plan says that it is {standing.plan.status}"


def _approved_at(standing: Standing) -> str:
    at_ms = standing.approval.approved_at_ms
    return "already approved" if at_ms is None else f"already approved at {time_of_day(at_ms)}"


def _not_to_approve(target: PlanTarget) -> str | None:
    reason = _not_of_a_plan(target)
    if reason is not None or not isinstance(target.seen, Standing):
        return reason
    standing = target.seen
    if (executed := _executed(standing)) is not None:
        return executed
    if standing.approval.state == VALID:
        return _approved_at(standing)
    if standing.approval.state != NONE:
        return f"its approval is {standing.approval.state}: revoke it first"
    return _not_to_execute(standing, "no approval can help")


def _not_to_execute(standing: Standing, closing: str) -> str | None:
    """Stale, or denied."""
    if standing.state == STALE:
        return f"stale: {stale_reason(standing)}"
    return f"denied, {closing}: {denied_reason(standing)}" if standing.state == DENIED else None


def _not_to_revoke(target: PlanTarget) -> str | None:
    if isinstance(target.seen, Standing):
        return "no approval" if target.seen.approval.state == NONE else None
    return _not_of_a_plan(target)


def _not_to_apply(target: PlanTarget) -> str | None:
    reason = _not_of_a_plan(target)
    if reason is not None or not isinstance(target.seen, Standing):
        return reason
    standing, ruling = target.seen, target.seen.rulings["cli"]
    if (executed := _executed(standing)) is not None:
        return executed
    if standing.state == STALE:
        return f"stale: {stale_reason(standing)}"
    if ruling.allowed:
        return None
    if ruling.code == ApprovalRequired.code:
        return "no approval: it waits for one"
    return f"denied: {denied_reason(standing)}"


def _not_to_cancel(target: PlanTarget) -> str | None:
    operation = target.operation
    if operation is None:
        return "no operation: it was not applied" if isinstance(target.seen, Standing) else _not_of_a_plan(target)
    state = state_of(target.seen)
    if operation.is_finished:
        return f"the operation has ended: {operation.status}"
    if state == INDETERMINATE and operation.status != PENDING:
        return "nothing of the operation runs any more: it is indeterminate"
    return None


_WHY_NOT: Final = {
    APPROVE.verb: _not_to_approve,
    REVOKE.verb: _not_to_revoke,
    APPLY.verb: _not_to_apply,
    CANCEL.verb: _not_to_cancel,
}


# What came of it


def _approved(target: PlanTarget, result: object) -> str:
    at = f" at {moment(result.approved_at_ms)}" if isinstance(result, Approval) else ""
    return f"{subject_of(target.seen)} is approved{at}; nothing was executed"


def _revoked(target: PlanTarget, result: object) -> str:
    del result
    return f"{subject_of(target.seen)} has no approval any more"


def _applied(target: PlanTarget, result: "Applied") -> str:
    subject, operation_id = subject_of(target.seen), result.operation_id or ""
    if result.already_applied:
        return f"{subject} was applied before ({operation_id}); nothing ran this time"
    return f"{subject} is {result.status} as {operation_id}; enter on it follows its log"


def _cancelled(target: PlanTarget, result: "ShownOperation") -> str:
    return f"{subject_of(target.seen)}: {result.operation.id} is {result.status}"


_TOLD: Final[Mapping[str, Callable[[PlanTarget, Any], str]]] = {
    APPROVE.verb: _approved,
    REVOKE.verb: _revoked,
    APPLY.verb: _applied,
    CANCEL.verb: _cancelled,
}
