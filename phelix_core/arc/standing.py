"""Where a plan stands: what a reader wants to know first, in one word.

Computed from the plan, its one operation, its approval, the policy and the facts, and never stored. A plan *waits*
when nothing but an approval keeps whoever asked for it from executing it. Source: console page, Approvals; arc page.
"""

from collections.abc import Mapping
from typing import Final

from phelix_core.arc.applicability import APPLICABLE, Applicability
from phelix_core.arc.approvals import Approval
from phelix_core.arc.authorization import Ruling, authorize
from phelix_core.arc.model import CREATED, Actor, Plan
from phelix_core.arc.operations import Operation, became
from phelix_core.arc.policies import Policy
from phelix_core.errors import ApprovalInvalid, ApprovalRequired, AuthzInvalid, AuthzUnavailable, PhelixError
from phelix_core.frozen import frozen

WAITING: Final = "waiting"
APPROVED: Final = "approved"
READY: Final = "ready"
DENIED: Final = "denied"
STALE: Final = "stale"

ASKERS: Final = ("cli", "mcp")
"""Who can come with a plan here: neither proves who it is."""

NONE: Final = "none"
VALID: Final = "valid"


@frozen
class Execution:
    """A plan's one execution: under which id it is, and its derived status, or the code that keeps it from being told.

    Where the plan was never executed there is no status.
    """

    operation_id: str
    operation: Operation | None = None
    status: str | None = None


@frozen
class ApprovalStanding:
    """Whether a plan is approved: `none`, `valid`, or the code of what is wrong with the approval that is filed."""

    state: str
    approval_id: str | None = None
    approved_at_ms: int | None = None
    approver_type: str | None = None
    approver_provenance: str | None = None


@frozen
class Standing:
    """All that was looked up about one plan; `state` is the word for it, `rulings` what each asker would be told."""

    plan: Plan
    state: str
    applicability: Applicability
    approval: ApprovalStanding
    rulings: Mapping[str, Ruling]
    operation: Operation | None
    operation_status: str | None
    operation_id: str | None

    @property
    def status(self) -> str:
        """What became of the plan, in the words that the guide's tool stores on it."""
        return became(self.plan, self.operation_status)


FiledApproval = Approval | ApprovalInvalid | AuthzUnavailable | None
FiledPolicy = Policy | AuthzInvalid | AuthzUnavailable | None

ABSENT: Final = "absent"


@frozen
class PolicyTold:
    """The policy in force: `state` is absent, its mode, or the code of what is wrong with it."""

    state: str
    rules: int = 0
    reason: str | None = None


def policy_told(policy: FiledPolicy) -> PolicyTold:
    """The policy in force, in a few words."""
    if policy is None:
        return PolicyTold(state=ABSENT)
    if isinstance(policy, PhelixError):
        return PolicyTold(state=policy.code, reason=policy.message)
    return PolicyTold(state=policy.mode, rules=len(policy.rules))


def standing_of(
    plan: Plan,
    applicability: Applicability,
    approval: FiledApproval,
    policy: FiledPolicy,
    execution: Execution,
) -> Standing:
    """Where `plan` stands; a policy or an approval that could not be had is the error that says why."""
    rulings = {
        kind: authorize(policy, Actor(type=kind, id=None, authenticated=False), plan, approval) for kind in ASKERS
    }
    told = _approval_of(plan, approval)
    if execution.status is not None:
        state = execution.status
    elif plan.status != CREATED:
        state = plan.status
    elif applicability.state != APPLICABLE:
        state = STALE
    else:
        state = _by_rulings(plan, rulings, told)
    return Standing(
        plan=plan,
        state=state,
        applicability=applicability,
        approval=told,
        rulings=rulings,
        operation=execution.operation,
        operation_status=execution.status,
        operation_id=execution.operation_id if execution.status is not None else None,
    )


def _by_rulings(plan: Plan, rulings: Mapping[str, Ruling], approval: ApprovalStanding) -> str:
    asker = rulings.get(plan.actor.type) if plan.actor is not None else None
    allowed = any(ruling.allowed for ruling in rulings.values())
    if asker is not None and asker.code == ApprovalRequired.code:
        return WAITING
    if allowed:
        return APPROVED if approval.state == VALID else READY
    return WAITING if any(ruling.code == ApprovalRequired.code for ruling in rulings.values()) else DENIED


def _approval_of(plan: Plan, approval: FiledApproval) -> ApprovalStanding:
    if approval is None:
        return ApprovalStanding(state=NONE)
    if isinstance(approval, PhelixError):
        return ApprovalStanding(state=approval.code)
    return ApprovalStanding(
        state=VALID if approval.is_for(plan) else "APPROVAL_STALE",
        approval_id=approval.approval_id,
        approved_at_ms=approval.approved_at_ms,
        approver_type=approval.approver_type,
        approver_provenance=approval.approver_provenance,
    )
