"""An operation: one execution of one plan, from before its command starts until its outcome is known.

Promises: `pending → running → succeeded | failed | cancelled` and no other change of status, but that one of which
nothing has begun can be cancelled at once; members that this version does not know are kept; an operation that never
told its end, and whose processes are gone, is `indeterminate` to whoever reads it, is never stored as such, never
taken for failed and never run again.

The operation of a plan has the plan's sixteen digits: `op_` for `pln_`. Operations are created and never made anew,
so that the name alone makes a second execution impossible, whatever dies between two of its steps, on every surface,
with no ledger beside the records that could disagree with them. Who wants another try makes another plan, which is
looked at and approved on its own. Source: arc page; upstream sessions page, section 4.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, cast

from phelix_core.arc.model import CREATED, PLAN_NAME, RECORD_VERSION, Actor, Plan, members_from
from phelix_core.checks import full_match
from phelix_core.errors import InvalidArgument, OperationCorrupt
from phelix_core.frozen import changed, frozen
from phelix_core.processes import ProcessIdentity
from phelix_core.shapes import Members, ShapeRefused
from phelix_core.strictjson import JsonRefused, dumps, loads, plain

OPERATION_NAME: Final = full_match("op_[0-9a-f]{16}", "an operation id")
MAX_OPERATION_BYTES: Final = 1 << 20
"""What readers open; an operation of ours takes about one thousand."""

PENDING: Final = "pending"
RUNNING: Final = "running"
SUCCEEDED: Final = "succeeded"
FAILED: Final = "failed"
CANCELLED: Final = "cancelled"
FINISHED: Final = frozenset({SUCCEEDED, FAILED, CANCELLED})
INDETERMINATE: Final = "indeterminate"
NEXT: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {PENDING: frozenset({RUNNING, CANCELLED}), RUNNING: FINISHED}
)
"""To which statuses one may go from each; what stands nowhere here is an end."""

_STATUSES = frozenset(NEXT) | FINISHED
_NO_MEMBERS: Final[Mapping[str, object]] = MappingProxyType({})


@frozen
class Processes:
    """Who carries an operation out: the applier, and the declared command's process once there is one."""

    applier: ProcessIdentity
    child: ProcessIdentity | None = None
    extra: Mapping[str, object] = _NO_MEMBERS


@frozen
class OperationActor:
    """On whose word the operation was begun."""

    type: str
    id: str | None
    authenticated: bool
    extra: Mapping[str, object] = _NO_MEMBERS


@frozen
class OperationError:
    """Why it failed; the message is redacted before it gets here."""

    code: str
    message: str
    extra: Mapping[str, object] = _NO_MEMBERS


@frozen
class CancelAsked:
    """That somebody asked for the end of it before it had ended by itself, and through which surface."""

    at_ms: int
    via: str
    extra: Mapping[str, object] = _NO_MEMBERS


@frozen
class Operation:
    """One execution; `status` is the stored one, `pid` the applier's number as the guide's tool notes it."""

    schema_version: str
    id: str
    kind: str
    app: str | None = None
    status: str
    request_key: str | None = None
    actor: OperationActor | None = None
    deployment_id: str | None = None
    plan_id: str | None = None
    plan_hash: str | None = None
    authz_decision_id: str | None = None
    approval_id: str | None = None
    pid: int = 0
    process: Processes | None = None
    cancel: CancelAsked | None = None
    created_at_ms: int
    updated_at_ms: int
    finished_at_ms: int | None = None
    result: Mapping[str, object] | None = None
    error: OperationError | None = None
    extra: Mapping[str, object] = _NO_MEMBERS

    @property
    def is_finished(self) -> bool:
        """Whether its outcome is recorded."""
        return self.status in FINISHED


def operation_id_of(plan_id: str) -> str:
    """The id that the one execution of a plan has."""
    return f"op_{PLAN_NAME.apply(plan_id).removeprefix('pln_')}"


def became(plan: Plan, operation_status: str | None) -> str:
    """What became of a plan: as its one execution tells, and without one as it is stored on it."""
    return plan.status if operation_status is None else _BECAME.get(operation_status, CREATED)


_BECAME: Final[Mapping[str, str]] = MappingProxyType({SUCCEEDED: "applied", FAILED: FAILED, CANCELLED: FAILED})


def new_operation(
    plan: Plan,
    *,
    actor: Actor,
    applier: ProcessIdentity,
    deployment_id: str,
    authz_decision_id: str,
    approval_id: str | None,
    at_ms: int,
) -> Operation:
    """The operation of `plan`, authorized and not yet begun."""
    return Operation(
        schema_version=RECORD_VERSION,
        id=operation_id_of(plan.plan_id),
        kind=plan.action.type,
        app=plan.action.application,
        status=PENDING,
        request_key=f"pln:{plan.plan_id}",
        actor=OperationActor(type=actor.type, id=actor.id, authenticated=actor.authenticated),
        deployment_id=deployment_id,
        plan_id=plan.plan_id,
        plan_hash=plan.plan_hash,
        authz_decision_id=authz_decision_id,
        approval_id=approval_id,
        pid=applier.pid,
        process=Processes(applier=applier),
        created_at_ms=at_ms,
        updated_at_ms=at_ms,
    )


def begun(operation: Operation, at_ms: int) -> Operation:
    """The operation from the moment on from which its command may have had an effect."""
    return _moved(operation, RUNNING, at_ms)


def with_child(operation: Operation, child: ProcessIdentity, at_ms: int) -> Operation:
    """The running operation, whose command is that process."""
    if operation.status != RUNNING or operation.process is None:
        raise _refused(operation, RUNNING)
    return changed(
        operation,
        process=changed(operation.process, child=child),
        updated_at_ms=max(at_ms, operation.updated_at_ms),
    )


def cancel_asked(operation: Operation, at_ms: int, via: str) -> Operation:
    """The operation whose end was asked for: whoever carries it out records `cancelled`, however the command ends."""
    if operation.is_finished:
        raise _refused(operation, CANCELLED)
    asked = operation.cancel or CancelAsked(at_ms=at_ms, via=via)
    return changed(operation, cancel=asked, updated_at_ms=max(at_ms, operation.updated_at_ms))


def verified(operation: Operation, verification: Mapping[str, object], at_ms: int) -> Operation:
    """The operation that succeeded, with what a look at the application's health found right after it."""
    if operation.status != SUCCEEDED or operation.result is None or "verification" in operation.result:
        raise _refused(operation, SUCCEEDED)
    return changed(
        operation,
        result={**operation.result, "verification": verification},
        updated_at_ms=max(at_ms, operation.updated_at_ms),
    )


def finished(
    operation: Operation,
    status: str,
    at_ms: int,
    *,
    result: Mapping[str, object] | None = None,
    error: OperationError | None = None,
) -> Operation:
    """The operation with its outcome, for good."""
    if status not in FINISHED:
        raise _refused(operation, status)
    ended = _moved(operation, status, at_ms)
    return changed(ended, finished_at_ms=ended.updated_at_ms, result=result, error=error)


def _moved(operation: Operation, status: str, at_ms: int) -> Operation:
    if status not in NEXT.get(operation.status, frozenset()):
        raise _refused(operation, status)
    return changed(operation, status=status, updated_at_ms=max(at_ms, operation.updated_at_ms))


def _refused(operation: Operation, status: str) -> InvalidArgument:
    return InvalidArgument(
        f"The operation {operation.id} is {operation.status}; it cannot become {status}.",
        details={"reason": "operation_status", "operation_id": operation.id, "status": operation.status},
    )


def derived_status(operation: Operation, *, applier_alive: bool | None, child_alive: bool | None) -> str:
    """The status to tell: an unfinished operation whose processes are both gone is indeterminate, never failed.

    None says that it cannot be told whether the process lives, and that is not gone.
    """
    gone = applier_alive is False and child_alive is False
    return INDETERMINATE if gone and not operation.is_finished else operation.status


def encode_operation(operation: Operation) -> bytes:
    """The record's bytes; a record that no reader would open again is `InvalidArgument`."""
    data = dumps(plain(operation)).encode()
    if len(data) > MAX_OPERATION_BYTES:
        raise InvalidArgument(f"The operation's record would be {len(data)} bytes, over {MAX_OPERATION_BYTES}.")
    return data


def decode_operation(data: bytes, operation_id: str) -> Operation:
    """The operation in `data`, which stands under the name of `operation_id`; raises `OperationCorrupt`."""
    try:
        return operation_of(loads(data), operation_id)
    except JsonRefused as refused:
        raise OperationCorrupt(f"The operation cannot be read: {refused}.") from None


def operation_of(document: object, operation_id: str) -> Operation:
    """The operation that `document` is; raises `OperationCorrupt`."""
    try:
        operation = _operation(members_from(document, "the operation"))
    except ShapeRefused as refused:
        raise OperationCorrupt(f"The operation cannot be read: {refused}.") from None
    if operation.id != operation_id or operation.status not in _STATUSES:
        raise OperationCorrupt
    if operation.schema_version != RECORD_VERSION:
        raise OperationCorrupt("The operation is of another version than this one of Phelix reads.")
    return operation


def _operation(members: Members) -> Operation:
    rest = members.rest
    version = rest.pop("schema_version", RECORD_VERSION)
    if not isinstance(version, str):
        members.wrong("schema_version", "text")
    created_at_ms = members.integer("created_at_ms", 0)
    return Operation(
        schema_version=version,
        id=members.text("id"),
        kind=members.text("kind"),
        app=members.optional_text("app"),
        status=members.text("status"),
        request_key=members.optional_text("request_key"),
        actor=_actor(rest.pop("actor", None)),
        deployment_id=members.optional_text("deployment_id"),
        plan_id=members.optional_text("plan_id"),
        plan_hash=members.optional_text("plan_hash"),
        authz_decision_id=members.optional_text("authz_decision_id"),
        approval_id=members.optional_text("approval_id"),
        pid=members.integer("pid", 0),
        process=_processes(rest.pop("process", None)),
        cancel=_cancel(rest.pop("cancel", None)),
        created_at_ms=created_at_ms,
        updated_at_ms=members.integer("updated_at_ms", created_at_ms),
        finished_at_ms=members.integer("finished_at_ms", 0) or None,
        result=_result(members),
        error=_error(rest.pop("error", None)),
        extra=rest,
    )


def _actor(value: object) -> OperationActor | None:
    if value is None:
        return None
    members = members_from(value, "the actor")
    return OperationActor(
        type=members.text("type"),
        id=members.optional_text("id"),
        authenticated=members.flag("authenticated"),
        extra=members.rest,
    )


def _processes(value: object) -> Processes | None:
    if value is None:
        return None
    members = members_from(value, "the process")
    child = members.rest.pop("child", None)
    return Processes(
        applier=_process(members.rest.pop("applier", None)),
        child=None if child is None else _process(child),
        extra=members.rest,
    )


def _cancel(value: object) -> CancelAsked | None:
    if value is None:
        return None
    members = members_from(value, "the cancel")
    return CancelAsked(at_ms=members.integer("at_ms"), via=members.text("via"), extra=members.rest)


def _process(value: object) -> ProcessIdentity:
    members = members_from(value, "a process")
    identity = ProcessIdentity(
        pid=members.integer("pid"), started=members.integer("started"), boot=members.text("boot")
    )
    if members.rest:
        raise ShapeRefused("a process is told apart by what this version of Phelix does not compare")
    return identity


def _result(members: Members) -> Mapping[str, object] | None:
    value = members.rest.pop("result", None)
    if value is not None and not isinstance(value, dict):
        members.wrong("result", "an object")
    return cast("dict[str, object] | None", value)


def _error(value: object) -> OperationError | None:
    if value is None:
        return None
    members = members_from(value, "the error")
    return OperationError(code=members.text("code"), message=members.text("message"), extra=members.rest)
