"""What may happen to a session: create, checkpoint, close. Pure: records in, records out.

Every success appends exactly one event and raises `rev` by one; time never runs backwards inside one
record; a closed session never changes. Source: sessions page, Rules.
"""

from collections.abc import Sequence
from typing import Final

from phelix_core.checks import MAX_INTEGER
from phelix_core.errors import InvalidArgument, SessionConflict, SessionInvalid, SessionInvalidTransition
from phelix_core.frozen import changed, frozen
from phelix_core.sessions.model import (
    ACTIVE,
    CANCELLED,
    COMPLETED,
    FAILED,
    MAX_EVENTS,
    MAX_REFERENCES,
    RECORD_VERSION,
    Actor,
    Checkpoint,
    Event,
    Session,
)

OUTCOMES: Final = (COMPLETED, FAILED, CANCELLED)


@frozen
class Stamp:
    """When and through which surface a change happens."""

    at_ms: int
    via: str


@frozen
class References:
    """Ids to link, in the order given, without duplicates."""

    plans: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    deployments: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is anything to link."""
        return bool(self.plans or self.operations or self.deployments)

    @property
    def all(self) -> tuple[str, ...]:
        """Every id, plans first."""
        return (*self.plans, *self.operations, *self.deployments)


def references(plans: Sequence[str], operations: Sequence[str], deployments: Sequence[str]) -> References:
    """Gather references; more than 50 of a kind after removing duplicates is `InvalidArgument`."""
    kinds = {"plans": plans, "operations": operations, "deployments": deployments}
    distinct = {kind: tuple(dict.fromkeys(ids)) for kind, ids in kinds.items()}
    for kind, ids in distinct.items():
        _require_reference_cap(kind, ids)
    return References(**distinct)


def create(
    session_id: str, actor: Actor, stamp: Stamp, *, title: str | None, project: str | None, app: str | None
) -> Session:
    """Open a session."""
    return Session(
        schema_version=RECORD_VERSION,
        session_id=session_id,
        status=ACTIVE,
        title=title,
        project=project,
        app=app,
        actor=actor,
        rev=1,
        created_at_ms=stamp.at_ms,
        updated_at_ms=stamp.at_ms,
        events=(Event(seq=0, type="created", at_ms=stamp.at_ms, detail="session created", via=stamp.via),),
    )


def require_rev(session: Session, if_rev: int | None) -> None:
    """Refuse a change that was meant for another revision."""
    if if_rev is not None and session.rev != if_rev:
        raise SessionConflict(
            f"The session is at revision {session.rev}, not {if_rev}; nothing was written.",
            hint="Read it again, and repeat the change if it still makes sense.",
            details={"session_id": session.session_id, "expected_rev": if_rev, "rev": session.rev},
        )


def require_active(session: Session) -> None:
    """Refuse any change of a closed session."""
    if session.status != ACTIVE:
        raise SessionInvalidTransition(
            f"The session is {session.status}; a closed session never changes.",
            hint="Open a new session for further work.",
            details={"session_id": session.session_id, "status": session.status, "rev": session.rev},
        )


def checkpoint(session: Session, stamp: Stamp, *, step: str | None, note: str | None, linked: References) -> Session:
    """Record a step and link references; references alone keep the step and note that were there."""
    require_active(session)
    if not (step or note or linked):
        raise InvalidArgument("A checkpoint needs at least one of step, note and a reference.")
    if len(session.events) >= MAX_EVENTS:
        raise InvalidArgument(
            f"The session holds {MAX_EVENTS} events, the most it can; it can only be closed now.",
            hint="Close it and go on in a new session.",
            details={"reason": "event_cap", "events": len(session.events)},
        )
    at_ms = _no_earlier(session, stamp.at_ms)
    before, seq = session.checkpoint, _next_seq(session)
    point = Checkpoint(at_ms=at_ms, seq=seq) if before is None else changed(before, at_ms=at_ms, seq=seq)
    if step or note:
        point = changed(point, step=step, note=note)
    detail = "; ".join(part for part in (f"step={step}" if step else None, note, _linked(linked)) if part)
    event = Event(seq=seq, type="checkpoint", at_ms=at_ms, detail=detail, via=stamp.via)
    return _advanced(session, event, linked, checkpoint=point)


def close(session: Session, stamp: Stamp, outcome: str, *, text: str | None, linked: References) -> Session:
    """End the tracking with `outcome`; exempt from the event cap, so that a session can always be closed."""
    require_active(session)
    detail = "; ".join(part for part in (text or f"session {outcome}", _linked(linked)) if part)
    at_ms = _no_earlier(session, stamp.at_ms)
    event = Event(seq=_next_seq(session), type=outcome, at_ms=at_ms, detail=detail, via=stamp.via)
    return _advanced(session, event, linked, status=outcome, final_result=text)


def _next_seq(session: Session) -> int:
    """The number behind the last event's: another tool may have counted from somewhere else."""
    last = session.events[-1].seq
    if last >= MAX_INTEGER:
        raise SessionInvalid("The record's events cannot be numbered further.")
    return last + 1


def _advanced(session: Session, event: Event, linked: References, **changes: object) -> Session:
    return changed(
        session,
        rev=session.rev + 1,
        updated_at_ms=event.at_ms,
        events=(*session.events, event),
        **_links(session, linked),
        **changes,
    )


def _no_earlier(session: Session, now_ms: int) -> int:
    return max(now_ms, session.updated_at_ms, session.last_event_ms)


def _links(session: Session, linked: References) -> dict[str, tuple[str, ...]]:
    """The session's references together with what is linked anew, by member; each stands once."""
    if not linked:
        return {}
    kinds = {
        "plan_ids": (session.plan_ids, linked.plans),
        "operation_ids": (session.operation_ids, linked.operations),
        "deployment_ids": (session.deployment_ids, linked.deployments),
    }
    together = {kind: tuple(dict.fromkeys((*before, *new))) for kind, (before, new) in kinds.items()}
    for kind, (_, new) in kinds.items():
        if new:
            _require_reference_cap(kind, together[kind])
    return together


def _require_reference_cap(kind: str, ids: tuple[str, ...]) -> None:
    if len(ids) > MAX_REFERENCES:
        raise InvalidArgument(
            f"{len(ids)} {kind.removesuffix('_ids')} references are over the cap of {MAX_REFERENCES} a session.",
            details={"reason": "reference_cap", "kind": kind},
        )


def _linked(linked: References) -> str | None:
    return f"linked {', '.join(linked.all)}" if linked else None
