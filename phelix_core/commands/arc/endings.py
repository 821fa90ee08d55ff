"""How an execution ended: from what was seen of it to its record, and from the record to the answer.

The answer is made of the record alone, so that whoever asks again is told the same. Source: arc page.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from phelix_core.arc.applicability import VERSION_INPUT, Facts
from phelix_core.arc.model import CREATED, DEPLOY, ROLLBACK, Plan
from phelix_core.arc.operations import (
    CANCELLED,
    FAILED,
    INDETERMINATE,
    PENDING,
    SUCCEEDED,
    Operation,
    OperationError,
    finished,
)
from phelix_core.arc.store import ArcStore
from phelix_core.commands.arc.operating import cancel_message
from phelix_core.commands.arc.reading import ArcReading
from phelix_core.commands.environment import Environment
from phelix_core.errors import (
    Cancelled,
    DeployFailed,
    DeployLocked,
    HealthCheckFailed,
    Interrupted,
    OutcomeUnknown,
    PhelixError,
    PlanHashMismatch,
    RollbackFailed,
    TimedOut,
)
from phelix_core.frozen import frozen
from phelix_core.redaction import redact

if TYPE_CHECKING:
    from phelix_core.arc.executor import Outcome

UNHEALTHY: Final = "unhealthy"
_TAIL_LINES: Final = 5
_INTERRUPTED: Final = "It was interrupted before its end; what it did before is not undone."
_FAILURES: Final[Mapping[str, type[PhelixError]]] = {
    kind.code: kind for kind in (DeployFailed, RollbackFailed, TimedOut, Cancelled)
}
_FAILED_BY: Final[Mapping[str, type[PhelixError]]] = {DEPLOY: DeployFailed, ROLLBACK: RollbackFailed}


@frozen
class Applied:
    """What came of a plan; `already_applied` says that it was executed before, and that nothing ran this time."""

    plan_id: str
    plan_hash: str
    operation_id: str | None
    deployment_id: str | None
    application: str
    action: str
    status: str
    already_applied: bool
    result: Mapping[str, Any] | None

    @property
    def durable_operation_id(self) -> str | None:
        """The operation that the answer stands for."""
        return self.operation_id


def require_over(operation: Operation, plan: Plan, status: str) -> None:
    """Refuse a plan whose one execution goes on, was never heard of again, or was of another content."""
    told: dict[str, Any] = {"plan_id": plan.plan_id, "operation_id": operation.id, "status": status}
    if operation.plan_hash not in (None, plan.plan_hash):
        raise PlanHashMismatch(
            "The plan was executed with another content than it has now. Nothing was executed.",
            details=told,
            operation_id=operation.id,
        )
    if operation.is_finished:
        return
    if status == INDETERMINATE:
        raise OutcomeUnknown(
            "The plan was executed, and how that ended is not known: its processes are gone and recorded nothing. "
            "It is never executed again.",
            hint=f"Look at the application: phelix inspect health {operation.app}. Then make a new plan.",
            details=told,
            operation_id=operation.id,
        )
    begun = "is about to be executed" if operation.status == PENDING else "is being executed"
    raise DeployLocked(
        f"The plan {begun}: its operation is {status}. Nothing more was executed.",
        hint=f"phelix operation status {operation.id}",
        details=told,
        operation_id=operation.id,
    )


def answer_of_foreign(plan: Plan, reading: ArcReading) -> Applied | None:
    """The answer of a plan that the guide's own tool applied, as it noted that on the plan; None if it did not."""
    if plan.status == CREATED:
        return None
    told = plan.correlation
    operation = reading.execution_of(plan).operation
    operation_id = told.operation_id if told is not None else None
    if plan.status == FAILED:
        raise _FAILED_BY.get(plan.action.type, DeployFailed)(
            "The plan was executed before, and that failed. It is never executed again.",
            hint="Make a new plan.",
            details={"plan_id": plan.plan_id, "operation_id": operation_id},
            operation_id=operation_id,
        )
    return Applied(
        plan_id=plan.plan_id,
        plan_hash=plan.plan_hash,
        operation_id=operation_id,
        deployment_id=told.deployment_id if told is not None else None,
        application=plan.action.application,
        action=plan.action.type,
        status=SUCCEEDED,
        already_applied=True,
        result=None if operation is None else operation.result,
    )


def with_outcome(plan: Plan, facts: Facts, outcome: "Outcome", env: Environment) -> Callable[[Operation], Operation]:
    """The change that records how the command ended; an end that somebody else recorded stands."""
    at_ms = env.clock.now_ms()
    log = {"bytes": outcome.log_bytes, "truncated": outcome.log_truncated, "output_bytes": outcome.output_bytes}
    seen: dict[str, Any] = {"exit_code": outcome.exit_code, "signal": outcome.signal, "log": log}
    seen = {name: value for name, value in seen.items() if value is not None}
    action = plan.action.type

    def change(now: Operation) -> Operation:
        if now.is_finished:
            return now
        if outcome.kind == "exited" and outcome.exit_code == 0 and now.cancel is None:
            version = {"version": plan.inputs[VERSION_INPUT], "from_version": facts.current_version}
            return finished(now, SUCCEEDED, at_ms, result=version | seen)
        if outcome.kind == "cancelled" or (now.cancel is not None and outcome.kind in ("exited", "signalled")):
            message = cancel_message(now) if now.cancel is not None else _INTERRUPTED
            if outcome.exit_code == 0:  # a shell that is asked to end may say so, whatever it had done by then
                message += " Its command ended with 0 all the same: look at the application."
            error = OperationError(code=Cancelled.code, message=redact(message))
            return finished(now, CANCELLED, at_ms, result=seen, error=error)
        if outcome.kind in ("exited", "signalled") and (outcome.exit_code, outcome.signal) == (None, None):
            raise OutcomeUnknown(
                "The system did not tell how the command ended.", details={"operation_id": now.id}, operation_id=now.id
            )
        kind = TimedOut if outcome.kind == "timed_out" else _FAILED_BY[action]
        error = OperationError(code=kind.code, message=redact(_why(action, outcome)))
        return finished(now, FAILED, at_ms, result=seen, error=error)

    return change


def _why(action: str, outcome: "Outcome") -> str:
    more = f" ({outcome.reason})" if outcome.reason else ""
    if outcome.kind == "not_started":
        return f"Nothing of the {action} command ran: {outcome.reason or 'the system did not say why'}."
    if outcome.kind == "timed_out":
        return f"The {action} command was ended: {outcome.reason or 'it ran too long'}."
    if outcome.signal is not None:
        return f"The {action} command was ended by signal {outcome.signal}{more}."
    return f"The {action} command ended with exit status {outcome.exit_code}{more}."


def answer_of(operation: Operation, arc: ArcStore, *, already: bool, interrupted: bool = False) -> Applied:
    """The answer that a finished operation gives; raises where it failed or was cancelled, or left no health."""
    result = dict(operation.result or {})
    told: dict[str, Any] = {"plan_id": operation.plan_id, "operation_id": operation.id, "status": operation.status}
    told |= {name: result[name] for name in ("exit_code", "signal") if name in result}
    if operation.status != SUCCEEDED:
        error = operation.error
        kind = _FAILURES.get(error.code if error else "", DeployFailed)
        if kind is Cancelled and interrupted:
            kind = Interrupted
        raise kind(
            error.message if error else f"The operation {operation.id} {operation.status}.",
            hint=f"phelix operation status {operation.id} --log-lines 50",
            details=told | {"log": list(arc.log_tail(operation.id, _TAIL_LINES)), "already_applied": already},
            operation_id=operation.id,
        )
    verification = cast("dict[str, Any]", result.get("verification") or {})
    if verification.get("status") == UNHEALTHY:
        raise HealthCheckFailed(
            f"The {operation.kind} succeeded, and {operation.app} was not healthy after it.",
            hint=f"phelix inspect health {operation.app} looks again.",
            details=told | {"verification": verification, "already_applied": already},
            operation_id=operation.id,
        )
    return applied(operation, already=already)


def applied(operation: Operation, *, already: bool) -> Applied:
    """What there is to say of an operation, as the answer to an apply."""
    return Applied(
        plan_id=operation.plan_id or "",
        plan_hash=operation.plan_hash or "",
        operation_id=operation.id,
        deployment_id=operation.deployment_id,
        application=operation.app or "",
        action=operation.kind,
        status=operation.status,
        already_applied=already,
        result=operation.result,
    )
