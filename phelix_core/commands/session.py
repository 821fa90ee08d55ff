"""The session commands: create, show, list, checkpoint, complete, fail, cancel, prune."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Final

from phelix_core.checks import NATURAL, POSITIVE, Alias, Help, Only, Surface, full_match, one_of
from phelix_core.commands.environment import ArcReferences, Environment
from phelix_core.commands.registry import Command, Effect, command, equivalent
from phelix_core.commands.run import NEW, FieldChange, WritePlan, digest_of, field_changes, require_digest
from phelix_core.errors import InvalidArgument, PhelixError
from phelix_core.redaction import free_text
from phelix_core.sessions import model, transitions
from phelix_core.sessions.model import Session
from phelix_core.sessions.references import ResolvedReferences, require_loadable, resolve
from phelix_core.sessions.summary import SessionSummary, summarise
from phelix_core.sessions.transitions import References, Stamp
from phelix_core.strictjson import plain

TERMINAL_AND_CONSOLE: Final = Only(Surface.CLI, Surface.TUI)
NOT_OVER_MCP: Final = frozenset({Surface.CLI, Surface.TUI})
CLOSING: Final = "It ends the tracking only: no deployment, operation or application is stopped or changed."
NOTHING: Final[Mapping[str, object]] = MappingProxyType({})
_LIST_LIMIT: Final = 100
_MCP_LIST_LIMIT: Final = 20
_MCP_LIST_CAP: Final = 100
_UNIT_MS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def _milliseconds(duration: str) -> int:
    """Milliseconds in a duration that passed `DURATION`."""
    return int(duration[:-1]) * _UNIT_MS[duration[-1]]


DURATION: Final = full_match("[0-9]{1,6}[smhd]", "a duration such as 45s, 15m, 2h or 30d")

SessionId = Annotated[str, model.SESSION_ID, Help("Session to work on")]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateSession:
    """Open a session: a durable record of one unit of work."""

    title: Annotated[str | None, free_text(model.TITLE_CAP), Help("What the work is")] = None
    project: Annotated[str | None, free_text(model.PROJECT_CAP), Help("Project it belongs to")] = None
    app: Annotated[str | None, free_text(model.APP_CAP), Help("Application it concerns")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowSession:
    """Show one session whole, with the state of everything it references."""

    session_id: SessionId
    no_resolve: Annotated[bool, Help("Leave out the state of references")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ListSessions:
    """List sessions, newest first."""

    status: Annotated[str | None, one_of(*model.STATUSES), Help("Only sessions of this status")] = None
    app: Annotated[str | None, free_text(model.APP_CAP), Help("Only sessions of this application")] = None
    limit: Annotated[int | None, NATURAL, Help("At most so many rows; 0 means all")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointSession:
    """Record a step and/or link references to an active session."""

    session_id: SessionId
    step: Annotated[str | None, free_text(model.STEP_CAP), Help("Step reached")] = None
    note: Annotated[str | None, free_text(model.NOTE_CAP), Help("What happened, in a line")] = None
    plans: Plans = ()
    operations: Operations = ()
    deployments: Deployments = ()
    if_rev: IfRev = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompleteSession:
    """Close a session as completed: the tracked work reports that it finished."""

    session_id: SessionId
    result: Annotated[str | None, free_text(model.RESULT_CAP), Help("What came of it")] = None
    plans: Plans = ()
    operations: Operations = ()
    deployments: Deployments = ()
    if_rev: IfRev = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailSession:
    """Close a session as failed: an honest record that the work did not succeed."""

    session_id: SessionId
    reason: Annotated[str | None, free_text(model.RESULT_CAP), Help("Why it failed")] = None
    plans: Plans = ()
    operations: Operations = ()
    deployments: Deployments = ()
    if_rev: IfRev = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelSession:
    """Close a session as cancelled: the work is no longer wanted."""

    session_id: SessionId
    reason: Annotated[str | None, free_text(model.RESULT_CAP), Help("Why it is no longer wanted")] = None
    if_rev: IfRev = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneSessions:
    """Remove closed sessions that are beyond the newest KEEP and older than a duration."""

    keep: Annotated[int, NATURAL, Help("How many of the newest closed sessions to keep in any case")]
    older_than: Annotated[str, DURATION, Help("Closed for longer than this, such as 30d")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSession:
    """A session with what a reader computes about it."""

    session: Session
    resolved: ResolvedReferences | None
    events_left: int

    def members(self) -> dict[str, object]:
        """The record's members flat, then what was computed."""
        computed = {} if self.resolved is None else {"resolved": plain(self.resolved)}
        return {**plain(self.session), **computed, "events_left": self.events_left}


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A record that cannot be listed, with the code that says why."""

    file: str
    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionList:
    """Rows, how many there are here, whether more matched, and the records that cannot be read."""

    sessions: tuple[SessionSummary, ...]
    count: int
    truncated: bool
    unreadable: tuple[Unreadable, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """Which sessions were removed, and how many closed ones remain."""

    removed: tuple[str, ...]
    kept: int


@command("session show", effect=Effect.READ)
def show_session(request: ShowSession, env: Environment) -> ShownSession:
    """Read one record and look its references up."""
    session = env.sessions.load(request.session_id)
    resolved = None if request.no_resolve else resolve(session, ArcReferences(env.arc))
    left = session.events_left if session.status == model.ACTIVE else 0
    return ShownSession(session=session, resolved=resolved, events_left=left)


@command("session list", effect=Effect.READ)
def list_sessions(request: ListSessions, env: Environment) -> SessionList:
    """Read all records; a bad one is reported and hides no other."""
    now_ms, rows, unreadable = env.clock.now_ms(), list[SessionSummary](), list[Unreadable]()
    for session_id, found in env.sessions.load_all():
        if isinstance(found, PhelixError):
            unreadable.append(Unreadable(file=model.record_name(session_id), code=found.code))
        elif request.status in (None, found.status) and request.app in (None, found.app):
            rows.append(summarise(found, now_ms, env.settings.stale_after_ms))
    rows.sort(key=lambda row: (row.created_at_ms, row.session_id), reverse=True)
    limit = _list_limit(request.limit, env.surface) or len(rows)
    return SessionList(
        sessions=tuple(rows[:limit]),
        count=min(limit, len(rows)),
        truncated=len(rows) > limit,
        unreadable=tuple(sorted(unreadable, key=lambda bad: bad.file)),
    )


def _list_limit(asked: int | None, surface: Surface) -> int:
    if surface is not Surface.MCP:
        return _LIST_LIMIT if asked is None else asked
    if asked is not None and asked > _MCP_LIST_CAP:
        raise InvalidArgument(f"limit: at most {_MCP_LIST_CAP} here.")
    return asked or _MCP_LIST_LIMIT


@command("session create", effect=Effect.WRITE, result=Session)
def create_session(request: CreateSession, env: Environment) -> "RecordCreation":
    """Decide a new record."""
    return RecordCreation(request, env)


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


@command(
    "session prune",
    effect=Effect.WRITE,
    result=Pruned,
    surfaces=NOT_OVER_MCP,
    caution="Active sessions are never removed.",
)
def prune_sessions(request: PruneSessions, env: Environment) -> "Pruning":
    """Decide which closed sessions to remove."""
    return Pruning(request, env)


def _closing(command: Command, request: Any, env: Environment, outcome: str, text: str | None) -> "RecordUpdate":
    kinds = [getattr(request, kind, ()) for kind in ("plans", "operations", "deployments")]
    linked = transitions.references(*kinds)

    def change(before: Session, stamp: Stamp) -> Session:
        return transitions.close(before, stamp, outcome, text=text or None, linked=linked)

    return RecordUpdate(command, request, env, linked, change)


class RecordCreation:
    """The intent to write one new record."""

    def __init__(self, request: CreateSession, env: Environment) -> None:
        self._request = request
        self._env = env

    def _session(self, session_id: str) -> Session:
        request = self._request
        return transitions.create(
            session_id,
            self._env.actor,
            self._env.stamp(),
            title=request.title or None,
            project=request.project or None,
            app=request.app or None,
        )

    def plan(self) -> WritePlan:
        """Describe the record; its id and times are fixed only when it is written."""
        after = {**plain(self._session("")), "session_id": NEW}
        event = _event_shown(after)
        changes = field_changes({}, after)
        target = {"session_id": NEW}
        return _plan_of(create_session, self._request, self._env, target=target, changes=changes, event=event)

    def apply(self, expect_digest: str | None) -> Session:
        """Write the record under a fresh id."""
        require_digest(expect_digest, self.plan().digest if expect_digest else "")
        session = self._session(f"ses_{self._env.mint()}")
        try:
            return self._env.sessions.create(session)
        except PhelixError as error:
            error.details.setdefault("session_id", session.session_id)
            raise


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
            require_loadable(self._linked, ArcReferences(self._env.arc))
        return self._change(before, self._env.stamp())

    def plan(self) -> WritePlan:
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
                require_digest(expect_digest, self._describe(before, after).digest)
            return after

        return self._env.sessions.update(self._request.session_id, guarded)

    def _describe(self, before: Session, after: Session) -> WritePlan:
        old, new = plain(before), plain(after)
        event = _event_shown(new)
        for members in (old, new):
            del members["events"]
        return _plan_of(
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
        resolved = resolve(after, ArcReferences(self._env.arc))
        return tuple(
            f"{operation.id} is {operation.status}; closing the session does not stop it"
            for operation in resolved.operations
            if operation.status in {"pending", "running"}
        )


class Pruning:
    """The intent to remove closed sessions that both conditions name."""

    def __init__(self, request: PruneSessions, env: Environment) -> None:
        self._request = request
        self._env = env

    def _closed(self) -> list[Session]:
        """Closed sessions, newest first."""
        found = [
            session
            for _, session in self._env.sessions.load_all()
            if isinstance(session, Session) and session.status != model.ACTIVE
        ]
        return sorted(found, key=lambda session: (session.created_at_ms, session.session_id), reverse=True)

    def _doomed(self, closed: list[Session]) -> list[Session]:
        before_ms = self._env.clock.now_ms() - _milliseconds(self._request.older_than)
        return [session for session in closed[self._request.keep :] if session.updated_at_ms < before_ms]

    def plan(self) -> WritePlan:
        """Name each session that would go."""
        return self._describe(self._doomed(self._closed()))

    def _describe(self, doomed: list[Session]) -> WritePlan:
        changes = tuple(
            FieldChange(field=f"sessions/{model.record_name(session.session_id)}", before=session.status, after=None)
            for session in doomed
        )
        target = {"sessions": len(doomed)}
        return _plan_of(prune_sessions, self._request, self._env, target=target, changes=changes)

    def apply(self, expect_digest: str | None) -> Pruned:
        """Remove them one by one, each looked at again under its lock."""
        closed = self._closed()
        doomed = self._doomed(closed)
        if expect_digest:
            require_digest(expect_digest, self._describe(doomed).digest)
        removed = [
            session.session_id
            for session in doomed
            if self._env.sessions.remove(session.session_id, lambda now, seen=session: now == seen)
        ]
        return Pruned(removed=tuple(removed), kept=len(closed) - len(removed))


def _event_shown(members: Mapping[str, Any]) -> dict[str, object]:
    return {**members["events"][-1], "at_ms": "‹now›"}


def _plan_of(
    command: Command,
    request: object,
    env: Environment,
    *,
    target: Mapping[str, object],
    changes: tuple[FieldChange, ...],
    preconditions: Mapping[str, object] = NOTHING,
    event: Mapping[str, object] | None = None,
    side_effects: tuple[str, ...] = (),
) -> WritePlan:
    pinned = {"if_rev": preconditions["rev"]} if "rev" in preconditions else {}
    return WritePlan(
        action=command.name,
        target={**target, "data_dir": env.settings.data_dir},
        preconditions=preconditions,
        changes=changes,
        event=event,
        side_effects=side_effects,
        command=equivalent(command, request, env.settings.data_dir, **pinned),
        digest=digest_of(command.name, target, preconditions, changes),
    )
