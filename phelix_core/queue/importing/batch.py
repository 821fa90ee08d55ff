"""The events that carry what was taken, and the report. Pure.

Rows come in few events, a project's together; then what happened, in its order and at its own times, one event of
ours for each of the file's, under its id. A checkpoint stands in the event that told of it. So the journal
rebuilds every row, and an issue's story reads as it was written.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from phelix_core.frozen import frozen
from phelix_core.queue.importing.settling import Gates, settle
from phelix_core.queue.importing.source import COLUMNS, DERIVED, NOT_TAKEN, UNKNOWN_COLUMN, UNKNOWN_TABLE, Source
from phelix_core.queue.importing.taking import Happening, Known, Taking
from phelix_core.queue.journal import SEQ, Change, Event, Insert, insert
from phelix_core.queue.model import Checkpoint
from phelix_core.redaction import redact

IMPORTED: Final = "lifecycle_imported"
"""The event that brings rows."""
CHECKPOINT: Final = "checkpoint_imported"
"""The event of a checkpoint that no event of the file tells of."""
_TELLS: Final = "checkpoint_payload"
_ROWS: Final = ("campaigns", "milestones", "issues", "runs", "leases", "artifacts", "memory_links")
"""What an event of a project brings, each after what it refers to."""
_AT_ONCE: Final = 1_000
_MOST_TOLD: Final = 1_000
"""Misfits that an answer lists; it counts all."""
_IN_ANSWERS: Final = {"memory_links": "memoryLinks"}


@frozen
class Batch:
    """What an import comes to, beside what the queue was known to hold."""

    known: Known
    events: tuple[Event, ...]
    answer: Mapping[str, Any]


def batch_of(source: Source, known: Known, now_ms: int) -> Batch:
    """Rows, events and report of a database."""
    taking = Taking(source, known)
    taking.take()
    milestones, issues = settle(taking, now_ms)
    events = (*_scopes(taking), *_edges(taking, milestones, issues), *_history(taking))
    return Batch(known=known, events=events, answer=_answer(taking))


def _scopes(taking: Taking) -> Iterator[Event]:
    yield from _bringing([("workspaces", insert("workspaces", row)) for row in taking.new["workspaces"].values()], None)
    rows: dict[str, list[tuple[str, Change]]] = {}
    for row in taking.new["projects"].values():
        rows.setdefault(row.id, []).append(("projects", insert("projects", row)))
    for table in _ROWS:
        for row in taking.new[table].values():
            rows.setdefault(row.project_id, []).append((table, insert(table, row)))
    for project_id, found in rows.items():
        yield from _bringing(found, project_id)


def _edges(taking: Taking, milestones: Gates, issues: Gates) -> Iterator[Event]:
    """Gates come last: they may lead from one project into another."""
    rows: dict[str, list[tuple[str, Change]]] = {}
    for table, own, gates in (
        ("milestone_dependencies", "milestone_id", milestones),
        ("issue_dependencies", "issue_id", issues),
    ):
        of = "milestones" if gates is milestones else "issues"
        for before, needed in gates.edges.items():
            found = rows.setdefault(taking.of(of, before, "project_id"), [])
            found += [(table, Insert(table=table, row={own: before, "depends_on": after})) for after in needed]
    for project_id, found in rows.items():
        yield from _bringing(found, project_id)


def _bringing(rows: Sequence[tuple[str, Change]], project_id: str | None) -> Iterator[Event]:
    for start in range(0, len(rows), _AT_ONCE):
        part = rows[start : start + _AT_ONCE]
        counts: dict[str, int] = {}
        for table, _ in part:
            counts[table] = counts.get(table, 0) + 1
        changes = tuple(change for _, change in part)
        yield Event(kind=IMPORTED, changes=changes, project_id=project_id, payload={"rows": counts})


def _history(taking: Taking) -> list[Event]:
    """What happened, oldest first; at one moment in the order of the file."""
    points: dict[str, Checkpoint] = dict(taking.new["checkpoints"])
    happened = sorted(taking.new["events"].values(), key=lambda one: one.at)
    told = [(one.at, _told(one, points)) for one in happened]
    alone = [(point.created_at, _alone(taking, point)) for point in points.values()]
    return [event for _, event in sorted((*told, *alone), key=lambda entry: entry[0])]


def _told(one: Happening, points: dict[str, Checkpoint]) -> Event:
    """An event of the file, with the checkpoint that it tells of; each is told of once."""
    point = points.get(str(one.payload.get("checkpointId"))) if one.kind == _TELLS else None
    changes: tuple[Change, ...] = ()
    if point is not None and (point.issue_id, point.run_id) == (one.issue_id, one.run_id):
        del points[point.id]
        changes = (insert("checkpoints", point, seq=SEQ),)
    return Event(
        kind=one.kind,
        changes=changes,
        project_id=one.project_id,
        campaign_id=one.campaign_id,
        issue_id=one.issue_id,
        run_id=one.run_id,
        payload=one.payload,
        imported_id=one.id,
        imported_at=one.at,
    )


def _alone(taking: Taking, point: Checkpoint) -> Event:
    return Event(
        kind=CHECKPOINT,
        changes=(insert("checkpoints", point, seq=SEQ),),
        project_id=taking.of("issues", point.issue_id, "project_id"),
        campaign_id=taking.of("issues", point.issue_id, "campaign_id"),
        issue_id=point.issue_id,
        run_id=point.run_id,
        payload={"checkpointId": point.id, "taskStatus": point.task_status, "nextStep": point.next_step},
        imported_at=point.created_at,
    )


def _answer(taking: Taking) -> dict[str, Any]:
    misfits = taking.misfits
    return {
        "imported": {_IN_ANSWERS.get(table, table): len(taking.new[table]) for table in COLUMNS},
        "alreadyThere": {_IN_ANSWERS.get(table, table): len(taking.old[table]) for table in COLUMNS},
        "leftOut": [{"table": one.table, "id": one.id, "reason": one.reason} for one in misfits[:_MOST_TOLD]],
        "leftOutCount": len(misfits),
        "notTaken": list(_not_taken(taking.source)),
    }


def _not_taken(source: Source) -> Iterator[dict[str, Any]]:
    if count := len(source.rows["milestones"]):
        yield {"table": "milestones", "count": count, "reason": DERIVED}
    for table, count in source.others.items():
        reason = NOT_TAKEN.get(table) or (UNKNOWN_COLUMN if "." in table else UNKNOWN_TABLE)
        yield {"table": redact(table), "count": count, "reason": reason}
