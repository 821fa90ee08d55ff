"""`operation status`, `list` and `cancel`: what became of an execution, and the end of one that still runs.

An operation that never told its end and whose processes are gone is told as indeterminate, whoever asks and however
often; looking changes nothing. Source: arc page; upstream sessions page, section 4.
"""

import os
from collections.abc import Callable
from signal import SIGKILL, SIGTERM
from typing import TYPE_CHECKING, Annotated, Final

from phelix_core.arc.operations import (
    CANCELLED,
    FINISHED,
    INDETERMINATE,
    PENDING,
    Operation,
    OperationError,
    cancel_asked,
    finished,
)
from phelix_core.arc.store import ArcStore
from phelix_core.checks import Help, at_least, one_of
from phelix_core.commands.arc.answers import OperationList, ShownOperation
from phelix_core.commands.arc.fields import (
    NOT_OVER_MCP,
    Limit,
    OnlyApplication,
    OperationId,
    limit_for,
)
from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import Effect, command
from phelix_core.errors import (
    Cancelled,
    InvalidArgument,
    OutcomeUnknown,
    SessionConflict,
    Unavailable,
)
from phelix_core.frozen import frozen
from phelix_core.processes import is_alive
from phelix_core.strictjson import plain

if TYPE_CHECKING:  # a plain write starts without the means to describe itself
    from phelix_core.commands.preview import WritePlan

_MOST_LINES: Final = 1_000
_GRACE_S: Final = 5.0
"""Between asking the command to end and ending it."""
_RECORD_S: Final = 5.0
"""How long whoever applies may take to record the end, before it is recorded here."""
_LOOK_S: Final = 0.02
_STATUSES: Final = ("pending", "running", *sorted(FINISHED), INDETERMINATE)


@frozen
class ShowOperation:
    """Show one operation: its record, and its status as it can be told now."""

    operation_id: OperationId
    log_lines: Annotated[int, at_least(0, _MOST_LINES), Help("So many of its log's last lines as well")] = 0


@frozen
class ListOperations:
    """List operations, newest first, each with its status as it can be told now."""

    app: OnlyApplication = None
    status: Annotated[str | None, one_of(*_STATUSES), Help("Only those of this status")] = None
    limit: Limit = None


@frozen
class CancelOperation:
    """End a running operation: its command and all that belongs to it, and record that it was cancelled."""

    operation_id: OperationId


@command("operation status", effect=Effect.READ)
def show_operation(request: ShowOperation, env: Environment) -> ShownOperation:
    """Read one operation."""
    operation, status = env.arc.told(env.arc.operation(request.operation_id))
    log = env.arc.log_tail(operation.id, request.log_lines) if request.log_lines else None
    return ShownOperation(operation=operation, status=status, log=log)


@command("operation list", effect=Effect.READ)
def list_operations(request: ListOperations, env: Environment) -> OperationList:
    """Read the newest operations."""
    limit = limit_for(request.limit, env.surface)
    found, unreadable = env.arc.operations()
    wanted = [one for one in found if request.app in (None, one.app)]
    if request.status is None:
        rows = _shown(wanted[:limit], env.arc)
        is_whole = limit is None or len(wanted) <= limit
    else:
        shown = [one for one in _shown(wanted, env.arc) if one.status == request.status]
        rows, is_whole = shown[:limit], limit is None or len(shown) <= limit
    return OperationList(
        operations=tuple(rows),
        count=len(rows),
        truncated=not is_whole,
        unreadable=tuple(unreadable),
    )


def _shown(operations: list[Operation], arc: ArcStore) -> list[ShownOperation]:
    return [ShownOperation(operation=one, status=status) for one, status in arc.all_told(operations)]


@command(
    "operation cancel",
    effect=Effect.WRITE,
    result=ShownOperation,
    surfaces=NOT_OVER_MCP,
    caution="What the command did before its end is not undone.",
)
def cancel_operation(request: CancelOperation, env: Environment) -> "Cancelling":
    """Decide to end one operation."""
    return Cancelling(request, env)


class Cancelling:
    """The intent to end one operation that still runs."""

    def __init__(self, request: CancelOperation, env: Environment) -> None:
        self._request = request
        self._env = env
        self._arc = env.arc

    def _running(self) -> Operation:
        """The operation, if there is anything left to end."""
        operation = self._arc.operation(self._request.operation_id)
        status = self._arc.status_of(operation)
        if operation.is_finished:
            raise InvalidArgument(
                f"The operation {operation.id} is {status}: it has ended.",
                details={"reason": "operation_status", "operation_id": operation.id, "status": status},
                operation_id=operation.id,
            )
        if status == INDETERMINATE and operation.status != PENDING:
            raise OutcomeUnknown(
                f"Nothing of the operation {operation.id} runs any more, and how it ended was not recorded: "
                "there is nothing left to cancel.",
                hint="Look at the application itself: phelix inspect health.",
                details={"operation_id": operation.id},
                operation_id=operation.id,
            )
        return operation

    def plan(self) -> "WritePlan":
        """Describe what would be ended."""
        return self._describe(self._running())

    def _describe(self, operation: Operation) -> "WritePlan":
        from phelix_core.commands.preview import FieldChange, plan_of  # noqa: PLC0415 - previews only

        child = operation.process.child if operation.process else None
        ends = "nothing of it has begun" if child is None else f"ends the process group {child.pid}"
        return plan_of(
            cancel_operation,
            self._request,
            self._env,
            target={"operation_id": operation.id, "application": operation.app, "plan_id": operation.plan_id},
            preconditions={"status": operation.status, "process": plain(child) if child else None},
            changes=(FieldChange(field="status", before=operation.status, after=CANCELLED),),
            side_effects=(ends, "whatever exit status the command still gives, the operation is recorded as cancelled"),
        )

    def apply(self, expect_digest: str | None) -> ShownOperation:
        """End it, and see that the end is recorded, by whoever applies it or else here."""
        operation = self._running()
        if expect_digest:
            from phelix_core.commands.preview import require_digest  # noqa: PLC0415 - previews only

            require_digest(expect_digest, self._describe(operation).digest)
        operation = self._asked(operation, self._env.surface.value)
        if not operation.is_finished:
            was_ended = self._end(operation)
            self._wait(operation.id, lambda now: now.is_finished or self._is_left_alone(now), _RECORD_S)
            operation = self._seen_to(operation.id, was_ended=was_ended)
        _require_cancelled(operation)
        return ShownOperation(operation=operation, status=operation.status)

    def _asked(self, seen: Operation, via: str) -> Operation:
        """The operation with the wish on it, so that whoever applies it records `cancelled` and not a failure."""

        def ask(now: Operation) -> Operation:
            at_ms = self._env.clock.now_ms()
            if now.is_finished:
                return now
            asked = cancel_asked(now, at_ms, via)
            return _ended(asked, at_ms) if now.status == PENDING else asked

        return self._arc.update_operation(seen.id, ask)

    def _end(self, operation: Operation) -> bool:
        """Ask the command's group to end, and end it where it does not; whether it ended by that."""
        was_signalled = False
        for number in (SIGTERM, SIGKILL):
            if not self._signalled(operation.id, number):
                break
            was_signalled = True
            self._wait(operation.id, lambda now: not self._lives(now), _GRACE_S)
        return was_signalled and self._is_gone(operation)

    def _signalled(self, operation_id: str, number: int) -> bool:
        """Send a signal to the group, once it is certain whose it is; whether there was anybody to send it to."""
        operation = self._arc.operation(operation_id)
        child = operation.process.child if operation.process else None
        if child is None or operation.is_finished or not self._lives(operation):
            return False
        try:
            os.killpg(child.pid, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def _seen_to(self, operation_id: str, *, was_ended: bool) -> Operation:
        """The operation with its end: as whoever applied it recorded it, or cancelled if it was ended from here."""
        operation, at_ms = self._arc.operation(operation_id), self._env.clock.now_ms()
        if operation.is_finished:
            return operation
        if was_ended:
            return self._arc.update_operation(operation_id, lambda now: _ended(now, at_ms))
        details = {"operation_id": operation_id}
        if self._is_gone(operation):
            raise OutcomeUnknown(
                "The command had ended before it could be asked to, and how it ended is not recorded.",
                hint="Look at the application itself: phelix inspect health.",
                details=details,
                operation_id=operation_id,
            )
        raise Unavailable(
            "The command could not be ended from here, and may still run; that its end was asked for is recorded.",
            hint=f"phelix operation status {operation_id}",
            details=details,
            operation_id=operation_id,
        )

    def _lives(self, operation: Operation) -> bool:
        """Whether the command or a part of it certainly runs: what cannot be told is signalled by nobody."""
        child = operation.process.child if operation.process else None
        boot = self._env.clock.boot()
        if child is None or operation.is_finished or child.boot != boot:
            return False
        return is_alive(child, boot) is True or self._arc.has_left_running(operation, child)

    def _is_gone(self, operation: Operation) -> bool:
        """Whether the command and all of its group have certainly ended."""
        child = operation.process.child if operation.process else None
        if child is None or is_alive(child, self._env.clock.boot()) is not False:
            return False
        return not self._arc.has_left_running(operation, child)

    def _is_left_alone(self, operation: Operation) -> bool:
        """Whether nobody is there any more to record the end."""
        return self._arc.status_of(operation) == INDETERMINATE

    def _wait(self, operation_id: str, until: Callable[[Operation], bool], patience_s: float) -> None:
        deadline = self._env.clock.monotonic() + patience_s
        while not until(self._arc.operation(operation_id)) and self._env.clock.monotonic() < deadline:
            self._env.clock.sleep(_LOOK_S)


def _require_cancelled(operation: Operation) -> None:
    """Refuse to tell an operation as cancelled that ended by itself."""
    if operation.status != CANCELLED:
        raise SessionConflict(
            f"The operation {operation.id} has {operation.status} meanwhile; nothing was cancelled.",
            details={"operation_id": operation.id, "status": operation.status},
            operation_id=operation.id,
        )


def _ended(now: Operation, at_ms: int) -> Operation:
    """The operation with its end, unless whoever applied it has recorded one."""
    if now.is_finished:
        return now
    return finished(now, CANCELLED, at_ms, error=OperationError(code=Cancelled.code, message=cancel_message(now)))


def cancel_message(operation: Operation) -> str:
    """Why an operation was ended."""
    via = "" if operation.cancel is None else f" through {operation.cancel.via}"
    return f"It was cancelled{via}; what it did before is not undone."
