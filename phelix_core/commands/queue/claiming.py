"""`queue claim` and `recover`: taking work, and deciding what becomes of work that went stale."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, Final

from phelix_core.checks import Alias, Help, one_of
from phelix_core.commands.environment import Environment
from phelix_core.commands.queue.fields import (
    NOT_EMPTY,
    Agent,
    Artifacts,
    CampaignWord,
    Capabilities,
    Classes,
    HolderPid,
    HostName,
    IfEpoch,
    MaybeIssueId,
    Memory,
    MemoryLimit,
    MemoryQuery,
    ProjectWord,
    RequestId,
    Seconds,
    Session,
    Workspace,
    artifacts_of,
    require_few,
)
from phelix_core.commands.queue.intent import QueueWrite
from phelix_core.commands.queue.targets import issue_target, scope_of, scope_target
from phelix_core.commands.registry import Effect, command
from phelix_core.errors import InvalidArgument
from phelix_core.frozen import frozen
from phelix_core.processes import started_at
from phelix_core.queue.model import DEFAULT_FRESHNESS_S, DEFAULT_TTL_S, LINE_CAP, REASON_CAP, SUMMARY_CAP, WORD_CAP
from phelix_core.queue.routing import Host
from phelix_core.queue.verbs.answers import Answer, present
from phelix_core.queue.verbs.begin import Ask, begin, begin_recovery
from phelix_core.queue.verbs.ledger import Ledger, the_issue, the_project
from phelix_core.queue.verbs.upkeep import require_epoch, resolve
from phelix_core.redaction import free_text

RESUME: Final = "resume"
RESOLUTIONS: Final = ("requeue", "block", "fail", RESUME)
TAKES_NO_PROCESS: Final = "It stops no process: a holder that still runs is refused from now on."


@frozen
class ClaimIssue:
    """Take the best ready issue that this host may take, or go on under one's own lease."""

    host: HostName
    workload_classes: Classes
    issue_id: MaybeIssueId = None
    agent: Agent = None
    capabilities: Capabilities = ()
    project: ProjectWord = None
    campaign: CampaignWord = None
    session: Session = None
    artifacts: Artifacts = ()
    ttl: Annotated[Seconds, Help(f"Seconds the lease lives without a word from its holder ({DEFAULT_TTL_S})")] = None
    freshness: Annotated[Seconds, Help(f"Seconds a checkpoint stays fresh ({DEFAULT_FRESHNESS_S})")] = None
    holder_pid: HolderPid = None
    workspace: Workspace = None
    memory: Memory = False
    memory_query: MemoryQuery = None
    memory_limit: MemoryLimit = None
    request_id: RequestId = None


@frozen
class RecoverIssue:
    """Decide what becomes of stale work: put it back, block it, fail it, or take it over."""

    resolution: Annotated[str, one_of(*RESOLUTIONS), Help("requeue, block, fail, or resume to take it over")]
    issue_id: MaybeIssueId = None
    reason: Annotated[str | None, free_text(REASON_CAP), NOT_EMPTY, Help("Why; it is recorded")] = None
    summary: Annotated[
        str | None, free_text(SUMMARY_CAP), NOT_EMPTY, Help("What was found, for the checkpoint of a resume")
    ] = None
    next_step: Annotated[str | None, free_text(LINE_CAP), NOT_EMPTY, Alias("next"), Help("What comes next")] = None
    agent: Agent = None
    host: Annotated[str | None, free_text(WORD_CAP), NOT_EMPTY, Help("The host that takes it over")] = None
    workload_classes: Classes = ()
    capabilities: Capabilities = ()
    project: ProjectWord = None
    campaign: CampaignWord = None
    session: Session = None
    artifacts: Artifacts = ()
    ttl: Annotated[Seconds, Help("Seconds the new lease lives")] = None
    freshness: Annotated[Seconds, Help("Seconds a checkpoint stays fresh")] = None
    holder_pid: HolderPid = None
    workspace: Workspace = None
    memory: Memory = False
    memory_query: MemoryQuery = None
    memory_limit: MemoryLimit = None
    if_epoch: IfEpoch = None
    request_id: RequestId = None


@command(
    "queue claim",
    effect=Effect.WRITE,
    result="phelix_core.commands.queue.answers:Context",
)
def claim(request: ClaimIssue, env: Environment) -> QueueWrite:
    """Decide a claim."""
    require_few(request)
    _require_memory(request)
    asked = _asker(request, env, request.host)
    return QueueWrite(
        claim,
        request,
        env,
        lambda ledger: begin(ledger, asked(ledger)),
        target=scope_target(request),
        after=partial(_recalled, request, env),
    )


@command(
    "queue recover",
    effect=Effect.WRITE,
    result="phelix_core.commands.queue.answers:Recovered",
    caution=TAKES_NO_PROCESS,
)
def recover(request: RecoverIssue, env: Environment) -> QueueWrite:
    """Decide a recovery."""
    require_few(request)
    _require_memory(request)
    if request.resolution == RESUME:
        return _taking_over(request, env)
    if request.issue_id is None:
        raise InvalidArgument("issue-id: say which issue; only `resume` chooses one by itself.")
    if request.reason is None:
        raise InvalidArgument("reason: say why; it is recorded.")
    issue_id, reason = request.issue_id, request.reason

    def verb(ledger: Ledger) -> Answer:
        scope = scope_of(ledger.tx, the_project(ledger.tx, the_issue(ledger.tx, issue_id).project_id).id, None)
        return resolve(
            ledger,
            scope,
            issue_id,
            resolution=request.resolution,
            reason=reason,
            next_step=request.next_step,
            if_epoch=request.if_epoch,
        )

    return QueueWrite(recover, request, env, verb, target=issue_target(issue_id), effects=_after_recovery)


def _taking_over(request: RecoverIssue, env: Environment) -> QueueWrite:
    if request.host is None or not request.workload_classes:
        raise InvalidArgument("host: to take work over, say which --host and --workload-class do.")
    asked = _asker(request, env, request.host)
    summary = request.summary or request.reason or "Taken over after its lease went stale."

    def verb(ledger: Ledger) -> Answer:
        if request.issue_id is not None:
            require_epoch(the_issue(ledger.tx, request.issue_id), request.if_epoch)
        return begin_recovery(ledger, asked(ledger), summary, request.next_step)

    target = scope_target(request) if request.issue_id is None else issue_target(request.issue_id)
    return QueueWrite(
        recover, request, env, verb, target=target, after=lambda context: _recalled(request, env, context)
    )


def _require_memory(request: Any) -> None:
    """Refuse questions to a memory that was not asked for."""
    if not request.memory and (request.memory_query is not None or request.memory_limit is not None):
        raise InvalidArgument("memory-query: it says what to recall; --memory asks for it.")


def _recalled(request: Any, env: Environment, context: Answer) -> Answer:
    if not request.memory:
        return context
    from phelix_core.commands.queue.remembering import recalled  # noqa: PLC0415 - few begins ask

    return recalled(env, request, context)


def _after_recovery(answer: Answer) -> tuple[str, ...]:
    return (f"The issue goes to {answer['newStatus']} and keeps its history.",)


def _asker(request: Any, env: Environment, host: str) -> Callable[[Ledger], Ask]:
    """What a begin is asked, once the scope is known."""
    started = None if request.holder_pid is None else started_at(request.holder_pid)
    if request.holder_pid is not None and started is None:
        raise InvalidArgument("holder-pid: there is no such process.")
    artifacts, path = artifacts_of(request), env.queue.path

    def asked(ledger: Ledger) -> Ask:
        return Ask(
            scope=scope_of(ledger.tx, request.project, request.campaign, request.workspace),
            host=Host(
                name=host,
                workload_classes=frozenset(request.workload_classes),
                capabilities=frozenset(request.capabilities),
            ),
            agent_id=request.agent,
            preferred=request.issue_id,
            session_id=request.session,
            # By the ledger, so that a plan tells it from what it stands for, and its digest holds when it is applied.
            record_id=None if request.session is not None else f"ses_{ledger.mint()}",
            artifacts=artifacts,
            ttl_s=request.ttl or DEFAULT_TTL_S,
            freshness_s=request.freshness or DEFAULT_FRESHNESS_S,
            holder_pid=request.holder_pid,
            holder_started=started,
            path=path,
            memory=request.memory,
            begin_input=json.dumps(_input_of(request, host), ensure_ascii=False, separators=(",", ":")),
        )

    return asked


def _input_of(request: Any, host: str) -> Mapping[str, object]:
    """What `advance` begins with again: the input without its session and its preferred issue."""
    return present(
        {
            "project": request.project,
            "campaign": request.campaign,
            "agent": request.agent,
            "host": host,
            "workload_classes": list(request.workload_classes),
            "capabilities": list(request.capabilities),
            "artifacts": list(request.artifacts),
            "ttl": request.ttl,
            "freshness": request.freshness,
            "holder_pid": request.holder_pid,
            "workspace": request.workspace,
            "memory": request.memory or None,
            "memory_query": request.memory_query,
            "memory_limit": request.memory_limit,
        }
    )
