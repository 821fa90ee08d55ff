"""What a listing asks and what it answers: plain values between a command and whatever answers it."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from sys import intern
from typing import Any, Final

from phelix_core.frozen import frozen
from phelix_core.sessions.model import Actor, Checkpoint
from phelix_core.sessions.staleness import why_stale
from phelix_core.sessions.summary import ReferenceCounts, SessionSummary
from phelix_core.strictjson import loads

Value = None | int | float | str | bytes
Row = tuple[Any, ...]
"""One record as the index keeps it, in the order of `COLUMNS`."""
Progress = Callable[[int, int], None]
"""Told how many records were read so far, of how many."""

INDEX_FILE: Final = "sessions.sqlite3"
NOTES_FILE: Final = "sessions.touched"
"""Where writers note which records they touched, in the cache folder."""

COLUMNS: Final = (
    "id", "mtime_ns", "size", "inode", "code", "status", "title", "project", "app", "actor", "actor_id",
    "authenticated", "rev", "created_at_ms", "updated_at_ms", "has_checkpoint", "step", "note", "checkpoint_at_ms",
    "checkpoint_seq", "final_result", "plans", "operations", "deployments", "reference_ids", "haystack", "extra",
    "last_event_ms", "app_folded", "project_folded", "actor_folded", "step_folded", "title_folded", "result_folded",
)  # fmt: skip
LISTED_COLUMNS: Final = COLUMNS[: COLUMNS.index("app_folded")]
"""What a listing answers: all but what only conditions look at."""
_NOTHING: Final[Mapping[str, Any]] = {}
"""One for all rows, never changed."""
PLACE: Final = {name: place for place, name in enumerate(COLUMNS)}


@frozen
class Wanted:
    """Which rows: a condition over `COLUMNS` with its values, and at most how many (None: all).

    `make` is given each row as it is read: of very many, none is kept beside what it is made into.
    """

    sql: str = "1"
    values: tuple[Value, ...] = ()
    limit: int | None = None
    make: Callable[[Row], object] = tuple


@frozen
class Listed:
    """Rows newest first, each as it was asked for, whether more matched, and the unreadable records: id and code."""

    rows: tuple[Any, ...]
    more: bool
    unreadable: tuple[tuple[str, str], ...]


@lru_cache(1024)
def _actor(kind: str, actor_id: str | None, authenticated: bool) -> Actor:  # noqa: FBT001 - a column
    """One actor for all its sessions: of a hundred thousand rows few differ in it."""
    return Actor(type=kind, id=actor_id, authenticated=authenticated)


@lru_cache(1024)
def _counts(plans: int, operations: int, deployments: int) -> ReferenceCounts:
    return ReferenceCounts(plans=plans, operations=operations, deployments=deployments)


def summary_of(row: Row, now_ms: int, stale_after_ms: int) -> SessionSummary:
    """The summary that a row holds, its staleness computed now."""
    (session_id, _, _, _, _, status, title, project, app, actor, actor_id, authenticated, rev, created_at_ms,
     updated_at_ms, has_checkpoint, step, note, at_ms, seq, final_result, plans, operations, deployments, _, _, extra,
     last_event_ms) = row  # fmt: skip
    kept: Any = loads(extra.encode()) if extra else _NOTHING
    point = (
        Checkpoint(step=step and intern(step), note=note, at_ms=at_ms, seq=seq, extra=kept.get("checkpoint", _NOTHING))
        if has_checkpoint
        else None
    )
    return SessionSummary(
        session_id=session_id,
        status=intern(status),
        title=title,
        project=project and intern(project),
        app=app and intern(app),
        actor=_actor(actor, actor_id, bool(authenticated))
        if "actor" not in kept
        else Actor(type=actor, id=actor_id, authenticated=bool(authenticated), extra=kept["actor"]),
        rev=rev,
        created_at_ms=created_at_ms,
        updated_at_ms=updated_at_ms,
        checkpoint=point,
        final_result=final_result,
        references=_counts(plans, operations, deployments),
        stale=why_stale(status, last_event_ms, now_ms, stale_after_ms),
        last_event_ms=last_event_ms,
    )
