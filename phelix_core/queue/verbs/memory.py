"""What is handed to the memory and what came of it: outbox rows, links that name their checkpoint, skips recorded.

Nothing here changes a status, a lease, a checkpoint or a claim. A text is put by in the transaction of its
checkpoint and handed over after the commit. Source: queue page, Memory.
"""

from typing import Final

from phelix_core.frozen import frozen
from phelix_core.queue.journal import Update, insert
from phelix_core.queue.model import (
    BLOCKED,
    DELIVERED,
    DONE,
    FAILED,
    NEEDS_RECOVERY,
    QUEUED,
    Checkpoint,
    Issue,
    MemoryLink,
    OutboxRow,
)
from phelix_core.queue.transitions import CLOSE
from phelix_core.queue.verbs.ledger import Ledger, the_issue

SKIPPED: Final = "mem0WriteSkippedReason"
"""In an answer: why nothing is remembered of it."""
OUTBOX: Final = "memoryOutboxId"
"""In an answer: what is on its way into the memory."""

_SIGNIFICANT: Final = frozenset({BLOCKED, NEEDS_RECOVERY, DONE, FAILED})
_KINDS: Final = {DONE: "summary", FAILED: "artifact_context", BLOCKED: "decision", NEEDS_RECOVERY: "decision"}


@frozen
class Wish:
    """What a caller says about remembering a report; without a word the status decides."""

    persist: bool | None = None
    kind: str | None = None
    content: str | None = None
    metadata: str = "{}"


NO_WISH: Final = Wish()
"""What most callers say."""


def is_due(verb: str, status: str, wish: Wish) -> bool:
    """Whether a report is to be remembered: where it says so, else at any close and at what ends or stops work."""
    return verb == CLOSE or status in _SIGNIFICANT if wish.persist is None else wish.persist


def put_by(ledger: Ledger, issue: Issue, point: Checkpoint, verb: str, wish: Wish) -> str:
    """Put a report by for the memory, in its checkpoint's transaction; answers the row's id."""
    kind = wish.kind or ("summary" if verb == CLOSE else _KINDS.get(point.task_status, "note"))
    row = OutboxRow(
        id=f"MO-{ledger.mint()}",
        project_id=issue.project_id,
        campaign_id=issue.campaign_id,
        issue_id=issue.id,
        run_id=point.run_id,
        checkpoint_id=point.id,
        memory_kind=kind,
        content=wish.content or point.summary,
        metadata=wish.metadata,
        status=QUEUED,
        attempts=0,
        last_reason=None,
        created_at=ledger.now.wall_ms,
        delivered_at=None,
    )
    told = {"checkpointId": point.id, "memoryKind": kind}
    ledger.record("memory_put_by", issue, (insert("memory_outbox", row),), told, run_id=point.run_id)
    return row.id


def link(ledger: Ledger, row: OutboxRow, ref: str) -> MemoryLink:
    """Record that the memory has a text: its link names the checkpoint."""
    issue, now = the_issue(ledger.tx, row.issue_id), ledger.now.wall_ms
    made = MemoryLink(
        id=f"ML-{ledger.mint()}",
        project_id=row.project_id,
        campaign_id=row.campaign_id,
        issue_id=row.issue_id,
        run_id=row.run_id,
        checkpoint_id=row.checkpoint_id,
        memory_kind=row.memory_kind,
        memory_ref=ref,
        summary=row.content,
        created_at=now,
    )
    put = {"status": DELIVERED, "attempts": row.attempts + 1, "delivered_at": now}
    changes = (
        insert("memory_links", made),
        Update(table="memory_outbox", id=row.id, set=put, guard={"status": QUEUED}),
    )
    told = {"checkpointId": row.checkpoint_id, "memoryId": ref, "memoryKind": row.memory_kind}
    ledger.record("mem0_memory_linked", issue, changes, told, run_id=row.run_id)
    return made


def skip(ledger: Ledger, row: OutboxRow, reason: str) -> None:
    """Record that the memory did not take a text; it stays put by."""
    put = {"attempts": row.attempts + 1, "last_reason": reason}
    update = Update(table="memory_outbox", id=row.id, set=put, guard={"status": QUEUED})
    told = {"checkpointId": row.checkpoint_id, "reason": reason}
    ledger.record("mem0_write_skipped", the_issue(ledger.tx, row.issue_id), (update,), told, run_id=row.run_id)


def note_recall(ledger: Ledger, issue_id: str, run_id: str, query: str, *, count: int, reason: str | None) -> None:
    """Record what a begin was told by the memory, or why it was told nothing."""
    kind = "mem0_context_loaded" if reason is None else "mem0_context_unavailable"
    told: dict[str, object] = {"query": query, "recalledMemoryCount": count}
    if reason is not None:
        told["details"] = reason
    ledger.record(kind, the_issue(ledger.tx, issue_id), (), told, run_id=run_id)
