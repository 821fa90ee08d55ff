"""May this actor execute this plan, and why not.

Promises: without a policy the command line executes and nobody else; under one a matching deny wins, then the first
matching allow decides, else nobody executes; where that allow wants an approval, only one of this very plan counts.
Each ruling has its code and its reason, so that the log tells what was told. Source: arc page, policy.
"""

from typing import Final

from phelix_core.arc.approvals import Approval, Decision
from phelix_core.arc.model import RECORD_VERSION, Actor, Plan
from phelix_core.arc.policies import ALLOW, DENY, ENFORCED, LEGACY_LOCAL, Policy
from phelix_core.errors import (
    ApprovalInvalid,
    ApprovalRequired,
    ApprovalStale,
    AuthzDenied,
    AuthzInvalid,
    AuthzUnavailable,
    PhelixError,
)
from phelix_core.frozen import frozen

ALLOWED: Final = "AUTHZ_ALLOWED"
APPROVAL_REQUIRED: Final = "approval_required"
NO_RULE: Final = -1


@frozen
class Ruling:
    """What was decided; `rule_index` is the place of the rule that decided, or `NO_RULE`."""

    allowed: bool
    code: str
    mode: str
    rule_index: int
    reason: str
    approval_id: str | None = None

    @property
    def effect(self) -> str:
        """The decision as the log calls it."""
        if self.allowed:
            return ALLOW
        return APPROVAL_REQUIRED if self.code == ApprovalRequired.code else DENY


def authorize(
    policy: Policy | AuthzInvalid | AuthzUnavailable | None,
    actor: Actor,
    plan: Plan,
    approval: Approval | ApprovalInvalid | AuthzUnavailable | None,
) -> Ruling:
    """The ruling; a policy or an approval that could not be had is handed in as the error that says why."""
    if isinstance(policy, PhelixError):
        return Ruling(allowed=False, code=policy.code, mode=ENFORCED, rule_index=NO_RULE, reason=policy.message)
    if policy is None or policy.mode == LEGACY_LOCAL:
        return _without_policy(actor)
    subject = (actor, plan.action.type, plan.action.application)
    matching = [(place, rule) for place, rule in enumerate(policy.rules) if rule.matches(*subject)]
    for place, rule in matching:
        if rule.effect == DENY:
            return _ruling(policy, AuthzDenied.code, place, "A rule denies this actor this action on this application.")
    for place, rule in matching:
        if rule.require_approval:
            return _by_approval(policy, place, plan, approval)
        return _ruling(policy, ALLOWED, place, "A rule allows this actor this action on this application.")
    return _ruling(policy, AuthzDenied.code, NO_RULE, "No rule allows this actor this action on this application.")


def _without_policy(actor: Actor) -> Ruling:
    allowed = actor.type == "cli"
    return Ruling(
        allowed=allowed,
        code=ALLOWED if allowed else AuthzDenied.code,
        mode=LEGACY_LOCAL,
        rule_index=NO_RULE,
        reason="No policy is enforced: the command line may execute."
        if allowed
        else "No policy is enforced, and without one only the command line may execute.",
    )


def _by_approval(
    policy: Policy, place: int, plan: Plan, approval: Approval | ApprovalInvalid | AuthzUnavailable | None
) -> Ruling:
    if approval is None:
        return _ruling(policy, ApprovalRequired.code, place, "This plan may be executed once it has been approved.")
    if isinstance(approval, PhelixError):
        return _ruling(policy, approval.code, place, approval.message)
    if not approval.is_for(plan):
        return _ruling(
            policy,
            ApprovalStale.code,
            place,
            "The approval is for another plan, content, action or application.",
            approval.approval_id,
        )
    return _ruling(policy, ALLOWED, place, "A rule allows it, and this very plan is approved.", approval.approval_id)


def _ruling(policy: Policy, code: str, place: int, reason: str, approval_id: str | None = None) -> Ruling:
    return Ruling(
        allowed=code == ALLOWED,
        code=code,
        mode=policy.mode,
        rule_index=place,
        reason=reason,
        approval_id=approval_id,
    )


_REFUSALS: Final = {
    kind.code: kind
    for kind in (AuthzDenied, AuthzInvalid, AuthzUnavailable, ApprovalRequired, ApprovalStale, ApprovalInvalid)
}


def require_allowed(ruling: Ruling, plan: Plan) -> None:
    """Refuse with the ruling's code and reason, unless it allows."""
    if not ruling.allowed:
        waits = ruling.code == ApprovalRequired.code
        raise _REFUSALS[ruling.code](
            f"{ruling.reason} Nothing was executed." if waits else ruling.reason,
            hint=f"A person approves it in the console, or by `phelix authz approve {plan.plan_id}`."
            if waits
            else None,
            details={"plan_id": plan.plan_id, "mode": ruling.mode, "rule_index": ruling.rule_index},
        )


def decision_of(
    ruling: Ruling, actor: Actor, plan: Plan, *, decision_id: str, at_ms: int, provenance: str | None = None
) -> Decision:
    """The line of the log that tells this ruling."""
    return Decision(
        schema_version=RECORD_VERSION,
        decision_id=decision_id,
        decided_at_ms=at_ms,
        actor_type=actor.type,
        actor_id=actor.id,
        actor_authenticated=actor.authenticated,
        actor_provenance=provenance,
        action=plan.action.type,
        target=plan.action.application,
        plan_id=plan.plan_id,
        plan_hash=plan.plan_hash,
        decision=ruling.effect,
        code=ruling.code,
        reason=ruling.reason,
        mode=ruling.mode,
        rule_index=ruling.rule_index,
        approval_id=ruling.approval_id,
    )
