"""`queue memory sync`, and what a begin or a report has to do with the memory once it is committed.

The memory is asked and told outside every transaction, within its deadline; whatever it does or fails to do, the
verb's answer stands. Source: queue page, Memory.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

from phelix_core.checks import Help, at_least
from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import Effect, command
from phelix_core.errors import PhelixError
from phelix_core.frozen import frozen
from phelix_core.memory.port import Keepsake, MemoryScope, MemoryUnavailable, Recalled
from phelix_core.queue.model import QUEUED, OutboxRow
from phelix_core.queue.store import Questions
from phelix_core.queue.verbs import memory
from phelix_core.queue.verbs.answers import Answer, present, stored_json
from phelix_core.queue.verbs.ledger import Ledger, the_project
from phelix_core.redaction import redact

DEFAULT_RECALLS: Final = 5
_A_SYNC: Final = 1_000
_BESIDE: Final = 20
"""How many texts of others a delivery takes along."""
_LONGEST_S: Final = 5.0
"""How long a delivery looks for further ones."""
_LONGEST_SYNC_S: Final = 120.0


@frozen
class SyncMemory:
    """Hand the memory what waits for it."""

    limit: Annotated[int, at_least(1, 100_000), Help(f"At most so many texts ({_A_SYNC})")] = _A_SYNC


@command(
    "queue memory sync",
    effect=Effect.WRITE,
    result="phelix_core.commands.queue.answers:MemorySynced",
)
def sync_memory(request: SyncMemory, env: Environment) -> "MemorySync":
    """Decide to hand over what waits."""
    return MemorySync(request, env)


class MemorySync:
    """The intent to hand over what waits; which of it the memory takes is its own affair."""

    def __init__(self, request: SyncMemory, env: Environment) -> None:
        self._request = request
        self._env = env

    def plan(self) -> Any:
        """Say what would be handed over."""
        from phelix_core.commands.preview import FieldChange, plan_of  # noqa: PLC0415 - previews only

        waiting = self._waiting()
        changes = tuple(
            FieldChange(field=f"text for the memory {row.id} · status", before=row.status, after="delivered")
            for row in waiting
        )
        told = f"{len(waiting)} texts are offered to the memory; it may take none of them"
        return plan_of(sync_memory, self._request, self._env, target={}, changes=changes, side_effects=(told,))

    def apply(self, expect_digest: str | None) -> Answer:
        """Hand over, one after the other."""
        if expect_digest is not None:
            from phelix_core.commands.preview import require_digest  # noqa: PLC0415 - guarded calls only

            require_digest(expect_digest, self.plan().digest)
        linked: list[str] = []
        skipped: list[Answer] = []
        until = self._env.clock.monotonic() + _LONGEST_SYNC_S
        for row in self._waiting():
            if self._env.clock.monotonic() >= until:
                break  # `waiting` tells what is left
            ref, reason = _offer(self._env, row)
            if ref is not None:
                linked.append(ref)
            else:
                skipped.append({"checkpointId": row.checkpoint_id, "reason": reason})
                if not linked:  # a memory that does not answer the first will not answer the rest
                    break
        waiting = len(self._env.queue.read(lambda tx: tx.outbox(limit=self._request.limit)))
        return {"linkedMemoryIds": linked, "skipped": skipped, "waiting": waiting}

    def _waiting(self) -> Sequence[OutboxRow]:
        return self._env.queue.read(lambda tx: tx.outbox(limit=self._request.limit))


def recalled(env: Environment, request: Any, context: Answer) -> Answer:
    """The context of a begin with what the memory had to say; recorded either way."""
    query = request.memory_query or context["issueTask"]
    found, reason = _asked(env, query, context["scope"], request.memory_limit or DEFAULT_RECALLS)

    def body(tx: Any) -> None:
        memory.note_recall(
            Ledger(tx, env.mint), context["issueId"], context["runId"], query, count=len(found), reason=reason
        )

    try:
        env.queue.write(body, env.surface.value)
    except PhelixError as error:  # the claim stands; the journal alone does not know what was recalled
        reason = reason or f"recalled, and not recorded: {error.code}"
    told = present(
        {
            "enabled": True,
            "available": not reason,
            "query": query,
            "details": reason,
            "recalledMemories": [
                present({"id": one.ref, "memory": redact(one.text), "score": one.score}) for one in found
            ],
        }
    )
    return {**context, "mem0": told}


def _asked(env: Environment, query: str, scope: Mapping[str, str], limit: int) -> tuple[Sequence[Recalled], str | None]:
    where = MemoryScope(
        workspace=scope["workspace"],
        project=scope["project"],
        campaign=scope.get("campaign"),
        task=scope["task"],
    )
    try:
        return env.memory.recall(query, where, limit), None
    except MemoryUnavailable as unavailable:
        return (), redact(str(unavailable))


def delivered(env: Environment, answer: Answer, row_id: str) -> Answer:
    """The answer of a report with what became of its text; others that wait are handed over beside it."""
    row = env.queue.read(lambda tx: tx.outbox_row(row_id))
    if row is None or row.status != QUEUED:
        return answer
    until = env.clock.monotonic() + _LONGEST_S
    ref, reason = _offer(env, row)
    if ref is None:
        return {**answer, "memoryQueued": True, memory.SKIPPED: reason}
    for other in env.queue.read(lambda tx: tx.outbox(limit=_BESIDE)):
        if env.clock.monotonic() >= until or _offer(env, other)[0] is None:
            break
    return {**answer, "memoryId": ref}


def _offer(env: Environment, row: OutboxRow) -> tuple[str | None, str | None]:
    """Hand one text over and record it; answers the memory's reference, or why there is none."""
    try:
        ref = env.memory.remember(env.queue.read(lambda tx: _keepsake(tx, row)))
    except MemoryUnavailable as unavailable:
        reason = redact(str(unavailable))
        _noted(env, row, None, reason)
        return None, reason
    _noted(env, row, ref, "")
    return ref, None


def _noted(env: Environment, row: OutboxRow, ref: str | None, reason: str) -> None:
    def body(tx: Any) -> None:
        now = tx.outbox_row(row.id)
        if now is None or now.status != QUEUED:
            return  # another process handed it over meanwhile; to the memory it is one
        if ref is None and now.last_reason == reason:
            return  # told once, however often it is offered
        ledger = Ledger(tx, env.mint)
        if ref is None:
            memory.skip(ledger, now, reason)
        else:
            memory.link(ledger, now, ref)

    try:
        env.queue.write(body, env.surface.value)
    except PhelixError:
        return  # it stays put by, and is offered again


def _keepsake(tx: Questions, row: OutboxRow) -> Keepsake:
    point = tx.checkpoint(row.checkpoint_id)
    evidence = stored_json(point.artifact_ids) if point else None
    metadata = stored_json(row.metadata)
    return Keepsake(
        key=row.id,
        kind=row.memory_kind,
        text=row.content,
        scope=MemoryScope(
            workspace=the_project(tx, row.project_id).workspace_id,
            project=row.project_id,
            campaign=row.campaign_id,
            task=row.issue_id,
            run=row.run_id,
        ),
        checkpoint_id=row.checkpoint_id,
        artifact_ids=tuple(str(one) for one in evidence) if isinstance(evidence, list) else (),  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        note=point.next_step if point else "",
        metadata=metadata if isinstance(metadata, dict) else {},  # pyright: ignore[reportUnknownArgumentType]
    )
