"""What the commands about plans and operations answer: records as they are stored, and what readers compute."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from phelix_core.arc.applicability import Applicability
from phelix_core.arc.authorization import Ruling
from phelix_core.arc.model import Action, Actor, Correlation
from phelix_core.arc.operations import SUCCEEDED, Operation
from phelix_core.arc.records import Unreadable
from phelix_core.arc.standing import ApprovalStanding, Standing
from phelix_core.frozen import frozen
from phelix_core.strictjson import plain

PERSISTED: Final = "persisted"
DERIVED: Final = "derived"
_NOTHING: Final[Mapping[str, object]] = MappingProxyType({})


@frozen
class ShownOperation:
    """An operation's record with the status to tell; `source` says whether that is stored or was derived just now."""

    operation: Operation
    status: str
    log: tuple[str, ...] | None = None

    @property
    def source(self) -> str:
        """Where the status is from."""
        return PERSISTED if self.status == self.operation.status else DERIVED

    @property
    def durable_operation_id(self) -> str:
        """The operation that an answer about one stands for."""
        return self.operation.id

    def members(self) -> dict[str, object]:
        """The record's members flat, the status told in the place of the stored one."""
        log = {} if self.log is None else {"log": list(self.log)}
        return {**plain(self.operation), "status": self.status, "source": self.source, **log}


@frozen
class OperationList:
    """Operations, how many there are here, whether there are more, and files that are none."""

    operations: tuple[ShownOperation, ...]
    count: int
    truncated: bool
    unreadable: tuple[Unreadable, ...]


@frozen
class OperationTold:
    """A plan's one execution, by its id and derived status; a record that cannot be trusted is told by its code."""

    operation_id: str
    status: str


@frozen
class RulingTold:
    """What a kind of asker would be told: `decision` is allow, deny or approval_required."""

    decision: str
    code: str
    mode: str
    rule_index: int
    reason: str


@frozen
class PlanSummary:
    """A plan as a list shows it; `state` is the word for where it stands, `status` what became of it."""

    plan_id: str
    plan_hash: str
    created_at_ms: int
    status: str
    state: str
    actor: Actor | None = None
    action: Action
    inputs: Mapping[str, Any]
    applicability: Applicability
    approval: ApprovalStanding
    operation: OperationTold | None = None


@frozen
class PlanList:
    """Plans, how many there are here, whether there are more, and files that are none."""

    plans: tuple[PlanSummary, ...]
    count: int
    truncated: bool
    unreadable: tuple[Unreadable, ...]


@frozen
class ShownPlan:
    """A plan's record flat, with what became of it, and what a reader computes about it."""

    schema_version: str
    plan_id: str
    plan_hash: str
    created_at_ms: int
    status: str
    actor: Actor | None = None
    action: Action
    target: Mapping[str, Any]
    inputs: Mapping[str, Any]
    execution: Mapping[str, Any]
    preconditions: tuple[Mapping[str, Any], ...]
    capabilities: tuple[str, ...]
    correlation: Correlation | None = None
    state: str
    applicability: Applicability
    approval: ApprovalStanding
    authorization: Mapping[str, RulingTold]
    operation: OperationTold | None = None
    extra: Mapping[str, Any] = _NOTHING


_SHOWN: Final = frozenset(
    {
        *("schema_version", "plan_id", "plan_hash", "created_at_ms", "status", "actor", "action"),
        *("target", "inputs", "execution", "preconditions", "capabilities", "correlation"),
    }
)


def shown_plan(standing: Standing) -> ShownPlan:
    """One plan whole."""
    plan = standing.plan
    return ShownPlan(
        schema_version=str(plan.document["schema_version"]),
        plan_id=plan.plan_id,
        plan_hash=plan.plan_hash,
        created_at_ms=plan.created_at_ms,
        status=standing.status,
        actor=plan.actor,
        action=plan.action,
        target=plan.target,
        inputs=plan.inputs,
        execution=plan.execution,
        preconditions=tuple(plain(fact) for fact in plan.preconditions),
        capabilities=plan.capabilities,
        correlation=correlation_of(standing),
        state=standing.state,
        applicability=standing.applicability,
        approval=standing.approval,
        authorization={kind: ruling_told(ruling) for kind, ruling in standing.rulings.items()},
        operation=_operation_told(standing),
        extra={name: value for name, value in plan.document.items() if name not in _SHOWN},
    )


def plan_summary(standing: Standing) -> PlanSummary:
    """One plan as a row."""
    plan = standing.plan
    return PlanSummary(
        plan_id=plan.plan_id,
        plan_hash=plan.plan_hash,
        created_at_ms=plan.created_at_ms,
        status=standing.status,
        state=standing.state,
        actor=plan.actor,
        action=plan.action,
        inputs=plan.inputs,
        applicability=standing.applicability,
        approval=standing.approval,
        operation=_operation_told(standing),
    )


def ruling_told(ruling: Ruling) -> RulingTold:
    """A ruling as answers tell it."""
    return RulingTold(
        decision=ruling.effect,
        code=ruling.code,
        mode=ruling.mode,
        rule_index=ruling.rule_index,
        reason=ruling.reason,
    )


def correlation_of(standing: Standing) -> Correlation | None:
    """Which operation and deployment a plan led to; nothing of it is stored on a plan of ours."""
    operation = standing.operation
    if operation is None:
        return standing.plan.correlation
    ended = operation.finished_at_ms if operation.status == SUCCEEDED else None
    return Correlation(
        operation_id=operation.id, deployment_id=operation.deployment_id, applied_at_ms=ended or operation.created_at_ms
    )


def _operation_told(standing: Standing) -> OperationTold | None:
    if standing.operation_id is None or standing.operation_status is None:
        return None
    return OperationTold(operation_id=standing.operation_id, status=standing.operation_status)
