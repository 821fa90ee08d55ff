"""`authz approve`, `revoke`, `check` and `list`: a person's word on one exact plan, and what the policy makes of it.

An approval is bound to the plan's id and hash, and proves no more than that somebody could write in this data
directory; that is why nothing that asks over MCP can give one. Source: arc page; upstream sessions page, section 3.
"""

from typing import TYPE_CHECKING, Annotated, Final

from phelix_core.arc.applicability import require_applicable
from phelix_core.arc.approvals import Approval, Decision, new_approval
from phelix_core.arc.authorization import authorize
from phelix_core.arc.model import CREATED, Actor, Plan
from phelix_core.arc.records import Unreadable
from phelix_core.arc.standing import NONE, ApprovalStanding, PolicyTold, Standing, policy_told
from phelix_core.checks import Help, full_match
from phelix_core.commands.arc.answers import RulingTold, ruling_told
from phelix_core.commands.arc.fields import NOT_OVER_MCP, Limit, PlanId, limit_for
from phelix_core.commands.arc.reading import ArcReading, asker_of
from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import Effect, command
from phelix_core.errors import AlreadyExists, InvalidArgument, NotFound, PhelixError, PlanHashMismatch
from phelix_core.frozen import frozen
from phelix_core.strictjson import plain

if TYPE_CHECKING:  # a plain write starts without the means to describe itself
    from phelix_core.commands.preview import WritePlan

_HASH: Final = full_match("sha256:[0-9a-f]{64}", "a plan's hash: sha256: and 64 lowercase hex digits")


@frozen
class ApprovePlan:
    """Approve one exact plan, so that whoever the policy lets execute it with an approval may do so, once."""

    plan_id: PlanId
    expect_hash: Annotated[str | None, _HASH, Help("Approve only if the plan has this hash, as plan show tells")] = None


@frozen
class RevokeApproval:
    """Take the approval of a plan away; nothing that has begun is stopped."""

    plan_id: PlanId


@frozen
class CheckPlan:
    """Ask whether a plan may be executed from here, and why; nothing is executed, and nothing logged."""

    plan_id: PlanId


@frozen
class ListApprovals:
    """List approvals and the newest decisions about executing plans, and tell the policy in force."""

    limit: Limit = None


@frozen
class Checked:
    """What `plan apply` would be told from here, the authorization alone; `rulings` say it for each kind of asker."""

    plan_id: str
    plan_hash: str
    actor: Actor
    allowed: bool
    decision: str
    code: str
    mode: str
    rule_index: int
    reason: str
    approval: ApprovalStanding
    rulings: dict[str, RulingTold]


@frozen
class ApprovalList:
    """Approvals and decisions, the newest first, and what of them cannot be read."""

    approvals: tuple[Approval, ...]
    count: int
    truncated: bool
    unreadable: tuple[Unreadable, ...]
    policy: PolicyTold
    decisions: tuple[Decision, ...]
    unreadable_decisions: int


@frozen
class Revoked:
    """Whose approval was taken away."""

    plan_id: str
    approval_id: str | None


@command(
    "authz approve",
    effect=Effect.WRITE,
    result=Approval,
    surfaces=NOT_OVER_MCP,
    caution="It executes nothing; it is good for this plan as it stands, and for no other.",
)
def approve_plan(request: ApprovePlan, env: Environment) -> "Approving":
    """Decide an approval."""
    return Approving(request, env)


@command(
    "authz revoke",
    effect=Effect.WRITE,
    result=Revoked,
    surfaces=NOT_OVER_MCP,
    caution="An operation that has begun is not stopped: `operation cancel` does that.",
)
def revoke_approval(request: RevokeApproval, env: Environment) -> "Revoking":
    """Decide to take an approval away."""
    return Revoking(request, env)


@command("authz check", effect=Effect.READ, surfaces=NOT_OVER_MCP)
def check_plan(request: CheckPlan, env: Environment) -> Checked:
    """Evaluate the policy for whoever asks here."""
    reading = ArcReading(env)
    plan = reading.store.plan(request.plan_id)
    asker = asker_of(env)
    ruling = authorize(reading.policy, asker, plan, reading.approval(plan.plan_id))
    standing = reading.standing(plan)
    return Checked(
        plan_id=plan.plan_id,
        plan_hash=plan.plan_hash,
        actor=asker,
        allowed=ruling.allowed,
        decision=ruling.effect,
        code=ruling.code,
        mode=ruling.mode,
        rule_index=ruling.rule_index,
        reason=ruling.reason,
        approval=standing.approval,
        rulings={kind: ruling_told(told) for kind, told in standing.rulings.items()},
    )


@command("authz list", effect=Effect.READ, surfaces=NOT_OVER_MCP)
def list_approvals(request: ListApprovals, env: Environment) -> ApprovalList:
    """Read approvals, policy and the log of decisions."""
    limit = limit_for(request.limit, env.surface)
    reading = ArcReading(env)
    approvals, unreadable = reading.store.approvals()
    decisions, bad = reading.store.decisions()
    return ApprovalList(
        approvals=tuple(approvals[:limit]),
        count=len(approvals[:limit]),
        truncated=len(approvals[:limit]) < len(approvals),
        unreadable=tuple(unreadable),
        policy=policy_told(reading.policy),
        decisions=tuple(decisions[:limit]),
        unreadable_decisions=bad,
    )


class Approving:
    """The intent to file one approval."""

    def __init__(self, request: ApprovePlan, env: Environment) -> None:
        self._request = request
        self._env = env

    def _plan(self) -> tuple[Plan, Standing]:
        """The plan, if there is anything to approve about it."""
        reading = ArcReading(self._env)
        plan = reading.store.plan(self._request.plan_id)
        _require_hash(plan, self._request.expect_hash)
        standing = reading.standing(plan)
        if standing.operation_status is not None or standing.status != CREATED:
            raise InvalidArgument(
                f"The plan {plan.plan_id} has been executed: its operation is {standing.state}. Nothing was approved.",
                hint="Make a new plan.",
                details={"reason": "executed", "plan_id": plan.plan_id, "operation_id": standing.operation_id},
            )
        if standing.approval.state != NONE:
            raise AlreadyExists(
                f"The plan {plan.plan_id} has an approval already ({standing.approval.state}).",
                hint="Revoke it first, then approve the plan again.",
                details={"plan_id": plan.plan_id},
            )
        require_applicable(plan, standing.applicability)
        return plan, standing

    def _approval(self, plan: Plan, approval_id: str) -> Approval:
        return new_approval(
            plan,
            asker_of(self._env),
            approval_id=approval_id,
            at_ms=self._env.clock.now_ms(),
            provenance=self._env.surface.value,
        )

    def plan(self) -> "WritePlan":
        """Describe the approval, and what it lets happen."""
        return self._describe(*self._plan())

    def _describe(self, plan: Plan, standing: Standing) -> "WritePlan":
        from phelix_core.commands.preview import NEW, NOW, field_changes, plan_of  # noqa: PLC0415 - previews only

        after = plain(self._approval(plan, "apr_0000000000000000"))
        after |= {"approval_id": NEW, "approved_at_ms": NOW}
        lets = [kind for kind, ruling in standing.rulings.items() if ruling.effect == "approval_required"]
        told = f"lets {' and '.join(lets)} execute this plan, once" if lets else "changes nothing: no rule asks for it"
        request = ApprovePlan(plan_id=plan.plan_id, expect_hash=plan.plan_hash)
        return plan_of(
            approve_plan,
            request,
            self._env,
            target={"plan_id": plan.plan_id, "plan_hash": plan.plan_hash, "application": plan.action.application},
            preconditions={"plan_hash": plan.plan_hash, "approval": NONE, "state": standing.state},
            changes=field_changes({}, after),
            side_effects=(told,),
        )

    def apply(self, expect_digest: str | None) -> Approval:
        """File the approval of the plan as it stands now."""
        plan, standing = self._plan()
        if expect_digest:
            from phelix_core.commands.preview import require_digest  # noqa: PLC0415 - previews only

            require_digest(expect_digest, self._describe(plan, standing).digest)
        approval = self._approval(plan, f"apr_{self._env.mint()}")
        self._env.arc.add_approval(approval)
        return approval


def _require_hash(plan: Plan, expected: str | None) -> None:
    if expected is not None and expected != plan.plan_hash:
        raise PlanHashMismatch(
            "The plan has another hash than the one expected. Nothing was approved.",
            hint="Look at the plan again.",
            details={"plan_id": plan.plan_id, "expected_hash": expected, "plan_hash": plan.plan_hash},
        )


class Revoking:
    """The intent to take one approval away."""

    def __init__(self, request: RevokeApproval, env: Environment) -> None:
        self._request = request
        self._env = env

    def _filed(self) -> ApprovalStanding:
        """What is filed for the plan, damaged or not; the plan itself need not be there any more."""
        plan_id = self._request.plan_id
        found = ArcReading(self._env).approval(plan_id)
        if found is None:
            raise NotFound(f"There is no approval for the plan {plan_id}.")
        if isinstance(found, PhelixError):
            return ApprovalStanding(state=found.code)
        return ApprovalStanding(state="filed", approval_id=found.approval_id, approved_at_ms=found.approved_at_ms)

    def plan(self) -> "WritePlan":
        """Describe what would be taken away."""
        return self._describe(self._filed())

    def _describe(self, filed: ApprovalStanding) -> "WritePlan":
        from phelix_core.commands.preview import field_changes, plan_of  # noqa: PLC0415 - previews only

        return plan_of(
            revoke_approval,
            self._request,
            self._env,
            target={"plan_id": self._request.plan_id},
            preconditions={"approval": filed.state, "approval_id": filed.approval_id},
            changes=field_changes(plain(filed), {}),
            side_effects=("what has begun under it goes on",),
        )

    def apply(self, expect_digest: str | None) -> Revoked:
        """Take it away."""
        filed = self._filed()
        if expect_digest:
            from phelix_core.commands.preview import require_digest  # noqa: PLC0415 - previews only

            require_digest(expect_digest, self._describe(filed).digest)
        self._env.arc.remove_approval(self._request.plan_id)
        return Revoked(plan_id=self._request.plan_id, approval_id=filed.approval_id)
