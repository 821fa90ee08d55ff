"""`queue checkpoint`, `heartbeat`, `close`, `advance` and `artifacts`: what a holder does under its lease."""

from typing import Annotated, Any, cast

from phelix_core.checks import Help, capped
from phelix_core.commands.environment import Environment
from phelix_core.commands.queue.fields import (
    NOT_EMPTY,
    BlockReason,
    ContextFile,
    Evidence,
    LeaseId,
    MemoryContent,
    MemoryKind,
    Metadata,
    NextStep,
    Remember,
    RequestId,
    RunWord,
    Scorecards,
    Seconds,
    Summary,
    Title,
    holding_of,
    json_of,
    require_few,
)
from phelix_core.commands.queue.intent import QueueWrite
from phelix_core.commands.queue.targets import issue_target, lease_target
from phelix_core.commands.registry import Command, Effect, command
from phelix_core.errors import PhelixError
from phelix_core.frozen import frozen, members_of
from phelix_core.queue import transitions
from phelix_core.queue.model import JSON_CAP, LINE_CAP, MOST_ARTIFACTS, WORD_CAP
from phelix_core.queue.store import Questions
from phelix_core.queue.verbs.answers import Answer, stored_json
from phelix_core.queue.verbs.ledger import Ledger, the_issue
from phelix_core.queue.verbs.memory import NO_WISH, OUTBOX, Wish
from phelix_core.queue.verbs.progress import (
    Holding,
    Report,
    Scorecard,
    checkpoint,
    close,
    heartbeat,
    require_report,
    save_artifact,
)
from phelix_core.redaction import free_text

_LISTS = frozenset({"workload_classes", "capabilities", "artifacts"})
_BEGUN_WITH = frozenset({"host", "workload_classes"})
ENDS_NO_PROCESS = "It stops no process and undoes nothing."


@frozen
class CheckpointIssue:
    """Record progress on the issue that is held, and renew the lease."""

    status: Annotated[str, capped(WORD_CAP), Help(f"One of {', '.join(transitions.CHECKPOINT_STATUSES)}")]
    summary: Summary
    next_step: NextStep
    evidence: Evidence = ()
    lease: LeaseId = None
    context: ContextFile = None
    run: RunWord = None
    title: Title = None
    reason: BlockReason = None
    memory: Remember = None
    memory_kind: MemoryKind = None
    memory_content: MemoryContent = None
    metadata: Metadata = None
    scorecards: Scorecards = None
    request_id: RequestId = None


@frozen
class CloseIssue:
    """End the work on the issue that is held: done, failed, blocked, needs_recovery, or ready to hand it off."""

    status: Annotated[str, capped(WORD_CAP), Help(f"One of {', '.join(transitions.CLOSE_STATUSES)}")]
    summary: Summary
    next_step: NextStep
    evidence: Evidence = ()
    lease: LeaseId = None
    context: ContextFile = None
    run: RunWord = None
    title: Title = None
    reason: BlockReason = None
    memory: Remember = None
    memory_kind: MemoryKind = None
    memory_content: MemoryContent = None
    metadata: Metadata = None
    scorecards: Scorecards = None
    request_id: RequestId = None


@frozen
class AdvanceIssue:
    """Close, then claim the next one; the close stays whatever the claim answers."""

    status: Annotated[str, capped(WORD_CAP), Help(f"One of {', '.join(transitions.CLOSE_STATUSES)}")]
    summary: Summary
    next_step: NextStep
    evidence: Evidence = ()
    lease: LeaseId = None
    context: ContextFile = None
    run: RunWord = None
    title: Title = None
    reason: BlockReason = None
    memory: Remember = None
    memory_kind: MemoryKind = None
    memory_content: MemoryContent = None
    metadata: Metadata = None
    scorecards: Scorecards = None
    request_id: RequestId = None


@frozen
class HeartbeatLease:
    """Extend the lease; it is no checkpoint."""

    lease: LeaseId = None
    context: ContextFile = None
    run: RunWord = None
    ttl: Annotated[Seconds, Help("Seconds from now; the lease's own without")] = None
    request_id: RequestId = None


@frozen
class SaveArtifact:
    """Note something that the work on an issue made."""

    issue: Annotated[str, free_text(WORD_CAP), NOT_EMPTY, Help("The issue it belongs to")]
    kind: Annotated[str, free_text(WORD_CAP), NOT_EMPTY, Help("What it is: diff, report, log")]
    path: Annotated[str, free_text(LINE_CAP), NOT_EMPTY, Help("Where it is")]
    metadata: Annotated[str | None, capped(JSON_CAP), Help("A JSON object about it")] = None
    lease: LeaseId = None
    request_id: RequestId = None


@frozen
class ListArtifacts:
    """List what the work on an issue made or was on."""

    issue: Annotated[str, free_text(WORD_CAP), NOT_EMPTY, Help("The issue")]


def _report(request: Any) -> Report:
    return Report(
        status=request.status,
        summary=request.summary,
        next_step=request.next_step,
        evidence=request.evidence,
        title=request.title,
        reason=request.reason,
        memory=_wish(request),
        scorecards=_scorecards(request.scorecards),
    )


def _wish(request: Any) -> Wish:
    """What a report says about remembering it."""
    if (request.memory, request.memory_kind, request.memory_content, request.metadata) == (None,) * 4:
        return NO_WISH
    return Wish(
        persist=request.memory,
        kind=request.memory_kind,
        content=request.memory_content,
        metadata=_metadata(request.metadata),
    )


def _metadata(text: str | None) -> str:
    from phelix_core.queue.payload import an_object, free_json, wrong  # noqa: PLC0415 - few reports carry any

    value = json_of(text, "metadata")
    if not all(isinstance(one, str) for one in an_object(value, "metadata", None).values()):
        wrong("metadata", "expected texts by name")
    return free_json(value, "metadata")


def _remembered(env: Environment, answer: Answer) -> Answer:
    """The answer, with what became of a text for the memory; a call that ends soon leaves it to others."""
    row_id = answer.pop(OUTBOX, None)
    if row_id is None:
        return answer
    if not env.delivers:
        return {**answer, "memoryQueued": True}
    from phelix_core.commands.queue.remembering import delivered  # noqa: PLC0415 - few reports are remembered

    return delivered(env, answer, row_id)


def _scorecards(text: str | None) -> tuple[Scorecard, ...]:
    if text is None:
        return ()
    from phelix_core.queue import payload  # noqa: PLC0415 - few reports carry any

    items = payload.a_list(json_of(text, "scorecards"), "scorecards", MOST_ARTIFACTS)
    cards: list[Scorecard] = []
    for index, item in enumerate(items):
        where = f"scorecards[{index}]"
        members = payload.an_object(item, where, ("path", "scorecard"))
        path = payload.text(members.get("path"), f"{where}.path", LINE_CAP)
        if not isinstance(members.get("scorecard"), dict):
            payload.wrong(f"{where}.scorecard", "expected an object")
        cards.append(Scorecard(path=path, content=payload.free_json(members["scorecard"], f"{where}.scorecard")))
    return tuple(cards)


def _reporting(own: Command, request: Any, env: Environment, verb: Any, name: str) -> QueueWrite:
    require_few(request)
    report = _report(request)
    require_report(report, name)
    holding = holding_of(request, env)
    return QueueWrite(
        own,
        request,
        env,
        lambda ledger: verb(ledger, holding, report),
        target=lease_target(holding.lease_id),
        effects=_promoting,
        after=lambda answer: _remembered(env, answer),
    )


def _promoting(answer: Answer) -> tuple[str, ...]:
    promoted = cast("list[str]", answer.get("promotedIssueIds") or [])
    return tuple(f"{issue_id} becomes ready" for issue_id in promoted)


@command(
    "queue checkpoint",
    effect=Effect.WRITE,
    result="phelix_core.commands.queue.answers:Checkpointed",
)
def checkpoint_issue(request: CheckpointIssue, env: Environment) -> QueueWrite:
    """Decide a checkpoint."""
    return _reporting(checkpoint_issue, request, env, checkpoint, transitions.CHECKPOINT)


@command(
    "queue close",
    effect=Effect.WRITE,
    result="phelix_core.commands.queue.answers:Closed",
    caution=ENDS_NO_PROCESS,
)
def close_issue(request: CloseIssue, env: Environment) -> QueueWrite:
    """Decide a close."""
    return _reporting(close_issue, request, env, close, transitions.CLOSE)


@command(
    "queue heartbeat",
    effect=Effect.WRITE,
    result="phelix_core.commands.queue.answers:Extended",
)
def heartbeat_lease(request: HeartbeatLease, env: Environment) -> QueueWrite:
    """Decide a heartbeat."""
    holding = holding_of(request, env)
    return QueueWrite(
        heartbeat_lease,
        request,
        env,
        lambda ledger: heartbeat(ledger, holding, request.ttl),
        target=lease_target(holding.lease_id),
    )


@command(
    "queue advance",
    effect=Effect.WRITE,
    result="phelix_core.commands.queue.answers:Advanced",
    caution=ENDS_NO_PROCESS,
)
def advance(request: AdvanceIssue, env: Environment) -> "Advance":
    """Decide a close that is followed by a claim."""
    closing = _reporting(advance, request, env, close, transitions.CLOSE)
    return Advance(closing, holding_of(request, env), request.request_id, env)


class Advance:
    """The intent to close and go on; what is shown first is the close."""

    def __init__(self, closing: QueueWrite, holding: Holding, request_id: str | None, env: Environment) -> None:
        self._closing = closing
        self._holding = holding
        self._request_id = request_id
        self._env = env

    def plan(self) -> Any:
        """Describe the close; which issue follows is decided when it is claimed."""
        return self._closing.plan()

    def apply(self, expect_digest: str | None) -> Answer:
        """Close, then begin as the run began, less its session and its preferred issue."""
        from phelix_core.commands.queue.claiming import ClaimIssue, claim  # noqa: PLC0415 - no other call here claims

        begin_input = self._env.queue.read(self._begun)
        closed = self._closing.apply(expect_digest)
        told = {"advanced": False, "closeResult": closed}
        if begin_input is None:
            return {**told, "stopReason": {"code": "INVALID_ARGUMENT", "message": "The run began in another way."}}
        request_id = None if self._request_id is None else f"{self._request_id}:begin"
        try:
            write = cast("QueueWrite", claim(ClaimIssue(**begin_input, request_id=request_id), self._env))
            return {**told, "advanced": True, "context": write.apply(None)}
        except PhelixError as stopped:
            return {
                **told,
                "stopReason": {"code": stopped.code, "message": stopped.message, "details": stopped.details},
            }

    def _begun(self, tx: Questions) -> dict[str, Any] | None:
        lease = tx.lease(self._holding.lease_id)
        run = tx.run(lease.run_id) if lease is not None else None
        if run is None:
            return None
        from phelix_core.commands.queue.claiming import ClaimIssue  # noqa: PLC0415 - as above

        members, known = stored_json(run.begin_input), {name for name, _ in members_of(ClaimIssue)} - {"request_id"}
        if not isinstance(members, dict) or not _BEGUN_WITH <= members.keys() <= known:
            return None
        given = cast("dict[str, Any]", members)
        return {name: tuple(value) if name in _LISTS else value for name, value in given.items()}


@command(
    "queue artifacts save",
    effect=Effect.WRITE,
    result="phelix_core.commands.queue.answers:SavedArtifact",
)
def save_an_artifact(request: SaveArtifact, env: Environment) -> QueueWrite:
    """Decide an artifact's row."""
    from phelix_core.queue.payload import free_json  # noqa: PLC0415 - see `_metadata`

    metadata = free_json(json_of(request.metadata, "metadata"), "metadata")
    holding = None if request.lease is None else Holding(lease_id=request.lease)

    def verb(ledger: Ledger) -> Answer:
        return save_artifact(ledger, request.issue, holding, kind=request.kind, path=request.path, metadata=metadata)

    return QueueWrite(save_an_artifact, request, env, verb, target=issue_target(request.issue))


@command(
    "queue artifacts list",
    effect=Effect.READ,
    result="phelix_core.commands.queue.answers:Artifacts",
)
def list_artifacts(request: ListArtifacts, env: Environment) -> dict[str, Any]:
    """Read an issue's artifacts."""
    from phelix_core.commands.queue.shapes import artifact_shape  # noqa: PLC0415 - writes do without

    def body(tx: Questions) -> list[Answer]:
        the_issue(tx, request.issue)
        return [artifact_shape(one) for one in tx.artifacts_of(request.issue)]

    found = env.queue.read(body)
    return {"artifacts": found, "count": len(found)}
