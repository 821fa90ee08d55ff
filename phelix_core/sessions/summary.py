"""A session as one row of a list: no events, counts instead of references, staleness computed."""

from typing import Annotated

from phelix_core.checks import Unprinted
from phelix_core.frozen import frozen
from phelix_core.sessions.model import Actor, Checkpoint, Session
from phelix_core.sessions.staleness import Stale, why_stale
from phelix_core.strictjson import plain_members


@frozen
class ReferenceCounts:
    """How many references of each kind are linked."""

    plans: int
    operations: int
    deployments: int


@frozen
class SessionSummary:
    """One session in a list; times are milliseconds since 1970 UTC.

    `last_event_ms` is what staleness goes by: for readers that let time pass, never written out.
    """

    session_id: str
    status: str
    title: str | None = None
    project: str | None = None
    app: str | None = None
    actor: Actor
    rev: int
    created_at_ms: int
    updated_at_ms: int
    checkpoint: Checkpoint | None = None
    final_result: str | None = None
    references: ReferenceCounts
    stale: Stale | None = None
    last_event_ms: Annotated[int, Unprinted()]

    def members(self) -> dict[str, object]:
        """The row as it is printed."""
        printed = plain_members(self)
        del printed["last_event_ms"]
        return printed


def summarise(session: Session, now_ms: int, stale_after_ms: int) -> SessionSummary:
    """The row for `session`."""
    return SessionSummary(
        session_id=session.session_id,
        status=session.status,
        title=session.title,
        project=session.project,
        app=session.app,
        actor=session.actor,
        rev=session.rev,
        created_at_ms=session.created_at_ms,
        updated_at_ms=session.updated_at_ms,
        checkpoint=session.checkpoint,
        final_result=session.final_result,
        references=ReferenceCounts(
            plans=len(session.plan_ids),
            operations=len(session.operation_ids),
            deployments=len(session.deployment_ids),
        ),
        stale=why_stale(session.status, session.last_event_ms, now_ms, stale_after_ms),
        last_event_ms=session.last_event_ms,
    )
