"""`session checkpoint`, `complete`, `fail` and `cancel`: the intent to change one record."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Final

from phelix_core.checks import POSITIVE, Alias, Help
from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import Command, Effect, command
from phelix_core.commands.session_fields import NOT_OVER_MCP, TERMINAL_AND_CONSOLE, SessionId
from phelix_core.errors import InvalidArgument
from phelix_core.frozen import frozen
from phelix_core.redaction import free_text
from phelix_core.sessions import model, transitions
from phelix_core.sessions.model import Session
from phelix_core.sessions.transitions import References, Stamp
from phelix_core.strictjson import plain

if TYPE_CHECKING:  # a plain write starts without the means to describe itself
    from phelix_core.commands.preview import WritePlan

CLOSING: Final = "It ends the tracking only: no deployment, operation or application is stopped or changed."

Plans = Annotated[tuple[Annotated[str, model.PLAN_ID], ...], Alias("plan"), Help("Plan to link; repeatable")]
Operations = Annotated[
    tuple[Annotated[str, model.OPERATION_ID], ...], Alias("operation"), Help("Operation to link; repeatable")
]
Deployments = Annotated[
    tuple[Annotated[str, model.DEPLOYMENT_ID], ...],
    Alias("deployment"),
    Help("Deployment to link; repeatable"),
]
IfRev = Annotated[
    int | None, POSITIVE, TERMINAL_AND_CONSOLE, Help("Apply only if the session is still at this revision")
]


@frozen
class CheckpointSession:
    """Record a step and/or link references to an active session."""

    session_id: SessionId
    step: Annotated[str | None, free_text(model.STEP_CAP), Help("Step reached")] = None
    note: Annotated[str | None, free_text(model.NOTE_CAP), Help("What happened, in a line")] = None
    plans: Plans = ()
    operations: Operations = ()
    deployments: Deployments = ()
    if_rev: IfRev = None


@frozen
class CompleteSession:
    """Close a session as completed: the tracked work reports that it finished."""

    session_id: SessionId
    result: Annotated[str | None, free_text(model.RESULT_CAP), Help("What came of it")] = None
    plans: Plans = ()
    operations: Operations = ()
    deployments: Deployments = ()
    if_rev: IfRev = None


@frozen
class FailSession:
    """Close a session as failed: an honest record that the work did not succeed."""

    session_id: SessionId
    reason: Annotated[str | None, free_text(model.RESULT_CAP), Help("Why it failed")] = None
    plans: Plans = ()
    operations: Operations = ()
    deployments: Deployments = ()
    if_rev: IfRev = None


@frozen
class CancelSession:
    """Close a session as cancelled: the work is no longer wanted."""

    session_id: SessionId
    reason: Annotated[str | None, free_text(model.RESULT_CAP), Help("Why it is no longer wanted")] = None
    if_rev: IfRev = None


@command("session checkpoint", effect=Effect.WRITE, result=Session)
def checkpoint_session(request: CheckpointSession, env: Environment) -> "RecordUpdate":
    """Decide a checkpoint."""
    linked = transitions.references(request.plans, request.operations, request.deployments)

    def change(before: Session, stamp: Stamp) -> Session:
        return transitions.checkpoint(
            before, stamp, step=request.step or None, note=request.note or None, linked=linked
        )

    if not (request.step or request.note or linked):
        raise InvalidArgument("A checkpoint needs at least one of step, note and a reference.")
    return RecordUpdate(checkpoint_session, request, env, linked, change)


@command("session complete", effect=Effect.WRITE, result=Session, caution=CLOSING)
def complete_session(request: CompleteSession, env: Environment) -> "RecordUpdate":
    """Decide a completion."""
    return _closing(complete_session, request, env, model.COMPLETED, request.result)


@command("session fail", effect=Effect.WRITE, result=Session, caution=CLOSING)
def fail_session(request: FailSession, env: Environment) -> "RecordUpdate":
    """Decide a failure."""
    return _closing(fail_session, request, env, model.FAILED, request.reason)


@command("session cancel", effect=Effect.WRITE, result=Session, surfaces=NOT_OVER_MCP, caution=CLOSING)
def cancel_session(request: CancelSession, env: Environment) -> "RecordUpdate":
    """Decide a cancellation."""
    return _closing(cancel_session, request, env, model.CANCELLED, request.reason)


def _closing(command: Command, request: Any, env: Environment, outcome: str, text: str | None) -> "RecordUpdate":
    kinds = [getattr(request, kind, ()) for kind in ("plans", "operations", "deployments")]
    linked = transitions.references(*kinds)

    def change(before: Session, stamp: Stamp) -> Session:
        return transitions.close(before, stamp, outcome, text=text or None, linked=linked)

    return RecordUpdate(command, request, env, linked, change)


class RecordUpdate:
    """The intent to change one record, guarded by what the record is when it is applied."""

    def __init__(
        self,
        command: Command,
        request: Any,
        env: Environment,
        linked: References,
        change: Callable[[Session, Stamp], Session],
    ) -> None:
        self._command = command
        self._request = request
        self._env = env
        self._linked = linked
        self._change = change

    def _changed(self, before: Session) -> Session:
        """The record after the change; checks run in the contract's order: rev, status, references, caps."""
        transitions.require_rev(before, self._request.if_rev)
        transitions.require_active(before)
        if self._linked:
            from phelix_core.sessions.references import require_loadable  # noqa: PLC0415 - most writes link nothing

            require_loadable(self._linked, self._env.references)
        return self._change(before, self._env.stamp())

    def plan(self) -> "WritePlan":
        """Describe the change to the record as it is now."""
        before = self._env.sessions.load(self._request.session_id)
        after = self._changed(before)
        model.encode(after)
        return self._describe(before, after)

    def apply(self, expect_digest: str | None) -> Session:
        """Change the record under its lock."""

        def guarded(before: Session) -> Session:
            after = self._changed(before)
            if expect_digest:
                from phelix_core.commands.preview import require_digest  # noqa: PLC0415 - previews only

                require_digest(expect_digest, self._describe(before, after).digest)
            return after

        return self._env.sessions.update(self._request.session_id, guarded)

    def _describe(self, before: Session, after: Session) -> "WritePlan":
        from phelix_core.commands.preview import event_shown, field_changes, plan_of  # noqa: PLC0415 - previews only

        old, new = plain(before), plain(after)
        event = event_shown(new)
        for members in (old, new):
            del members["events"]
        return plan_of(
            self._command,
            self._request,
            self._env,
            target={"session_id": before.session_id},
            preconditions={"rev": before.rev, "status": before.status},
            changes=field_changes(old, new),
            event=event,
            side_effects=self._side_effects(after),
        )

    def _side_effects(self, after: Session) -> tuple[str, ...]:
        """What a person should know about what is linked, and what this does not do to it."""
        if after.status == model.ACTIVE:
            return ()
        from phelix_core.sessions.references import resolve  # noqa: PLC0415 - previews only

        resolved = resolve(after, self._env.references)
        return tuple(
            f"{operation.id} is {operation.status}; closing the session does not stop it"
            for operation in resolved.operations
            if operation.status in {"pending", "running"}
        )
