"""The inputs of the lifecycle's actions, one frozen class each; payloads name their members in camelCase.

Pydantic reads them strictly from JSON text: an unknown member, another type or a value over its cap is refused with
its place. Source: surfaces page, JSON-driven lifecycle CLI; reference page on the lifecycle's runtime, section 2.
"""

from collections.abc import Callable
from typing import Annotated, Any, Final, TypeVar, dataclass_transform

from phelix_core.checks import NATURAL, Check, CheckFailed, Help, at_least, capped, one_of
from phelix_core.commands.queue.fields import NO_SECRET, NOT_EMPTY, Seconds
from phelix_core.frozen import frozen
from phelix_core.queue.model import (
    JSON_CAP,
    LINE_CAP,
    MEMORY_KINDS,
    MOST_ARTIFACTS,
    MOST_CAPABILITIES,
    REASON_CAP,
    SUMMARY_CAP,
    TASK_STATUSES,
    TITLE_CAP,
    WORD_CAP,
)
from phelix_core.redaction import free_text

_Made = TypeVar("_Made")


def camel(name: str) -> str:
    """The payload's name of a member."""
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)


STRICT: Final[dict[str, Any]] = {"extra": "forbid", "strict": True, "alias_generator": camel}
"""What pydantic must know of every input: no unknown member, no coercion, the payload's names."""


@dataclass_transform(frozen_default=True, kw_only_default=True)
def payload_input(declared: type[_Made]) -> type[_Made]:
    """Make a class an input of payloads."""
    made: Any = frozen(declared)
    made.__pydantic_config__ = STRICT
    return made


def _sized(most: int, least: int = 0) -> Check:
    """So many items."""

    def apply(items: tuple[object, ...]) -> tuple[object, ...]:
        if not least <= len(items) <= most:
            raise CheckFailed(f"expected {least} to {most} items")
        return items

    return Check(apply, {"minItems": least, "maxItems": most} if least else {"maxItems": most})


def _released(value: bool) -> bool:  # noqa: FBT001 - a check takes its value
    if not value:
        raise CheckFailed("a close ends the lease; a checkpoint goes on with it")
    return value


def _no_equals(value: str) -> str:
    if "=" in value:
        raise CheckFailed("a kind holds no `=`")
    return value


Word = Annotated[str, free_text(WORD_CAP), NOT_EMPTY]
Line = Annotated[str, free_text(LINE_CAP), NOT_EMPTY]
Reason = Annotated[str, free_text(REASON_CAP), NOT_EMPTY]
MaybeWord = Annotated[str | None, free_text(WORD_CAP), NOT_EMPTY]
MaybeLine = Annotated[str | None, free_text(LINE_CAP), NOT_EMPTY]
Words = Annotated[tuple[Word, ...], _sized(MOST_CAPABILITIES)]
DbPath = Annotated[str | None, capped(4_096), NOT_EMPTY, Help("The queue's file; else --queue and the environment")]
RequestId = Annotated[
    str | None, capped(WORD_CAP), NOT_EMPTY, NO_SECRET, Help("A retry under the same id gets the first answer")
]
PageLimit = Annotated[int | None, at_least(1, 100)]


@payload_input
class HostCapabilities:
    """What a host takes and can do."""

    workload_classes: Annotated[tuple[Word, ...], _sized(MOST_CAPABILITIES, 1), Help("Classes of work it takes")]
    capabilities: Annotated[Words, Help("What it can do")] = ()


@payload_input
class ArtifactRef:
    """What the work is on; `id` may name an earlier row and is replaced by a new one's."""

    kind: Annotated[str, free_text(WORD_CAP), NOT_EMPTY, Check(_no_equals)]
    path: Line
    id: MaybeWord = None


_Artifacts = Annotated[tuple[ArtifactRef, ...], _sized(MOST_ARTIFACTS, 1), Help("What the work is on, at least one")]


@payload_input
class BeginIncremental:
    """Take the best ready issue that the host may take, or go on under one's own lease."""

    workspace_id: Word
    project_id: Word
    artifacts: _Artifacts
    mem0_enabled: Annotated[bool, Help("Whether the memory is asked, and told of reports")]
    host: Word
    host_capabilities: HostCapabilities
    session_id: Annotated[MaybeWord, Help("The run's own id; one is made without")] = None
    db_path: DbPath = None
    campaign_id: MaybeWord = None
    preferred_issue_id: MaybeWord = None
    agent_id: Annotated[MaybeWord, Help("Who works; the session's id without")] = None
    lease_ttl_seconds: Seconds = None
    checkpoint_freshness_seconds: Seconds = None
    memory_query: MaybeLine = None
    memory_search_limit: Annotated[int | None, at_least(1, 25)] = None
    holder_pid: Annotated[int | None, at_least(1, 2**22), Help("The process that holds the lease")] = None
    request_id: RequestId = None


@payload_input
class BeginRecovery:
    """Take over an issue that needs recovery; what is stale is marked first."""

    workspace_id: Word
    project_id: Word
    artifacts: _Artifacts
    mem0_enabled: Annotated[bool, Help("Whether the memory is asked, and told of reports")]
    host: Word
    host_capabilities: HostCapabilities
    recovery_summary: Annotated[str, free_text(SUMMARY_CAP), NOT_EMPTY, Help("What was found")]
    recovery_next_step: MaybeLine = None
    session_id: Annotated[MaybeWord, Help("The run's own id; one is made without")] = None
    db_path: DbPath = None
    campaign_id: MaybeWord = None
    preferred_issue_id: MaybeWord = None
    agent_id: Annotated[MaybeWord, Help("Who works; the session's id without")] = None
    lease_ttl_seconds: Seconds = None
    checkpoint_freshness_seconds: Seconds = None
    memory_query: MaybeLine = None
    memory_search_limit: Annotated[int | None, at_least(1, 25)] = None
    holder_pid: Annotated[int | None, at_least(1, 2**22), Help("The process that holds the lease")] = None
    request_id: RequestId = None


@payload_input
class ScorecardRef:
    """A scorecard, kept as an artifact; it judges nothing here."""

    path: Line
    scorecard: dict[str, Any]


_Scorecards = Annotated[tuple[ScorecardRef, ...], _sized(MOST_ARTIFACTS)]
_Persist = Annotated[bool | None, Help("Whether it is remembered, whatever its status")]
_Content = Annotated[str | None, free_text(SUMMARY_CAP), NOT_EMPTY, Help("What is remembered; the summary without")]
_BlockedReason = Annotated[str | None, free_text(REASON_CAP), NOT_EMPTY, Help("Why it is blocked; only where it is")]


@payload_input
class Report:
    """A checkpoint: a status, a summary, what backs it, and what comes next."""

    title: Annotated[str, free_text(TITLE_CAP), NOT_EMPTY]
    summary: Annotated[str, free_text(SUMMARY_CAP), NOT_EMPTY]
    task_status: Annotated[str, one_of(*TASK_STATUSES)]
    next_step: Line
    blocked_reason: _BlockedReason = None
    artifact_ids: Annotated[tuple[Line, ...], _sized(MOST_ARTIFACTS), Help("What backs it: ids, paths, links")] = ()
    csqr_lite_scorecards: _Scorecards = ()
    persist_to_mem0: _Persist = None
    memory_kind: Annotated[str | None, one_of(*MEMORY_KINDS)] = None
    memory_content: _Content = None
    metadata: dict[str, str] | None = None
    request_id: RequestId = None


@payload_input
class Closing:
    """The last word under a lease; it ends the lease in any case."""

    title: Annotated[str, free_text(TITLE_CAP), NOT_EMPTY]
    summary: Annotated[str, free_text(SUMMARY_CAP), NOT_EMPTY]
    task_status: Annotated[str, one_of(*TASK_STATUSES)]
    next_step: Line
    blocked_reason: _BlockedReason = None
    artifact_ids: Annotated[tuple[Line, ...], _sized(MOST_ARTIFACTS), Help("What backs it: ids, paths, links")] = ()
    csqr_lite_scorecards: _Scorecards = ()
    persist_to_mem0: _Persist = None
    memory_kind: Annotated[str | None, one_of(*MEMORY_KINDS)] = None
    memory_content: _Content = None
    metadata: dict[str, str] | None = None
    release_lease: Annotated[bool, Check(_released), Help("Always true")] = True
    request_id: RequestId = None


@payload_input
class Heartbeat:
    """Extend the lease; it is no checkpoint."""

    lease_ttl_seconds: Seconds = None
    request_id: RequestId = None


@payload_input
class ContextRef:
    """What a begin answered, handed back as it was."""

    lease_id: Word
    session_id: MaybeWord = None
    db_path: DbPath = None
    workspace_id: MaybeWord = None
    project_id: MaybeWord = None
    campaign_id: MaybeWord = None
    agent_id: MaybeWord = None
    host: MaybeWord = None
    host_capabilities: HostCapabilities | None = None
    run_id: MaybeWord = None
    lease_epoch: Annotated[int | None, NATURAL] = None
    lease_expires_at: MaybeWord = None
    effect_id: MaybeLine = None
    issue_id: MaybeWord = None
    issue_task: MaybeLine = None
    claim_mode: MaybeWord = None
    artifacts: Annotated[tuple[ArtifactRef, ...], _sized(MOST_ARTIFACTS)] = ()
    scope: dict[str, str] | None = None
    current_task_status: MaybeWord = None
    current_checkpoint_id: MaybeWord = None
    next_best_action: MaybeLine = None
    mem0: dict[str, Any] | None = None
    promoted_issue_ids: tuple[str, ...] = ()
    session_token: MaybeWord = None
    replayed: bool | None = None
    session_writes_failed: Annotated[tuple[dict[str, Any], ...], Help("As it was answered")] = ()


@payload_input
class InScope:
    """A project, or one campaign of it."""

    project_id: Word
    db_path: DbPath = None
    campaign_id: MaybeWord = None
    request_id: RequestId = None


@payload_input
class InspectExport:
    """How a project stands."""

    project_id: Word
    db_path: DbPath = None
    campaign_id: MaybeWord = None
    run_limit: PageLimit = None
    event_limit: PageLimit = None
    limit: Annotated[int | None, at_least(1, 1_000), Help("At most so many issues of each kind")] = None
    cursor: Annotated[str | None, capped(WORD_CAP), Help("The nextCursor of the page before")] = None


@payload_input
class InspectAudit:
    """Everything that was recorded of one issue, a page at a time."""

    issue_id: Word
    db_path: DbPath = None
    event_limit: PageLimit = None
    cursor: Annotated[str | None, capped(WORD_CAP), Help("The nextCursor of the page before")] = None


@payload_input
class InspectHealth:
    """Counts, leases, what blocks claims."""

    project_id: Word
    db_path: DbPath = None
    campaign_id: MaybeWord = None


@payload_input
class InitWorkspace:
    """Make the queue, or a further workspace in it."""

    workspace_name: Word
    db_path: DbPath = None


@payload_input
class CreateCampaign:
    """Make a campaign, and its project where that is new."""

    project_name: Word
    campaign_name: Word
    objective: Line
    workspace_id: MaybeWord = None
    policy: Annotated[dict[str, Any] | None, Help("serviceLevel, escalationRules, dispatch, maxRecoveries")] = None
    db_path: DbPath = None


@payload_input
class PlanIssues:
    """Bring work in: milestones with their issues and what waits for what, all or nothing."""

    milestones: Annotated[
        tuple[dict[str, Any], ...],
        Help("Each with milestone_key, description, issues[] {task, priority, size}, and what it depends on"),
    ]
    workspace_id: MaybeWord = None
    project_id: MaybeWord = None
    project_name: MaybeWord = None
    campaign_id: MaybeWord = None
    campaign_name: MaybeWord = None
    db_path: DbPath = None
    request_id: RequestId = None


@payload_input
class NextAction:
    """What this host could do next."""

    host: Word
    host_capabilities: HostCapabilities
    project_id: MaybeWord = None
    project_name: MaybeWord = None
    campaign_id: MaybeWord = None
    db_path: DbPath = None


@payload_input
class GetContext:
    """Which workspaces, projects and campaigns there are."""

    project_id: MaybeWord = None
    db_path: DbPath = None


@payload_input
class OnIssue:
    """An operator's act on an issue."""

    issue_id: Word
    reason: Annotated[Reason, Help("Why; it is recorded")]
    db_path: DbPath = None
    request_id: RequestId = None


@payload_input
class Recover:
    """An operator's word on what becomes of stale work; `begin_recovery` takes it over."""

    issue_id: Word
    resolution: Annotated[str, one_of("requeue", "block", "fail")]
    reason: Annotated[Reason, Help("Why; it is recorded")]
    next_step: MaybeLine = None
    db_path: DbPath = None
    request_id: RequestId = None


@payload_input
class OnCampaign:
    """An operator's act on a campaign."""

    campaign_id: Word
    reason: Annotated[Reason, Help("Why; it is recorded")]
    project_id: MaybeWord = None
    db_path: DbPath = None
    request_id: RequestId = None


@payload_input
class SaveArtifact:
    """Note something that the work on an issue made."""

    issue_id: Word
    kind: Word
    path: Line
    metadata: Annotated[dict[str, Any] | None, Help(f"At most {JSON_CAP} bytes")] = None
    lease_id: MaybeWord = None
    db_path: DbPath = None
    request_id: RequestId = None


@payload_input
class ListArtifacts:
    """What the work on an issue made or was on."""

    issue_id: Word
    db_path: DbPath = None


@payload_input
class MemorySync:
    """Hand the memory what waits for it."""

    limit: Annotated[int | None, at_least(1, 100_000)] = None
    db_path: DbPath = None


def without(kind: type, *names: str) -> type:
    """The same input for a surface that does not carry some members: to it they are unknown ones."""
    members = {name: hint for name, hint in kind.__annotations__.items() if name not in names}
    defaults = {name: value for name, value in dict(_defaults(kind)).items() if name in members}
    body: dict[str, Any] = {"__annotations__": members, "__doc__": kind.__doc__, "__module__": kind.__module__}
    made: Callable[[type], type] = payload_input
    return made(type(kind.__name__, (), body | defaults))


def _defaults(kind: type) -> list[tuple[str, object]]:
    from phelix_core.frozen import REQUIRED, members_of  # noqa: PLC0415 - as the class was made

    return [(name, default) for name, default in members_of(kind) if default is not REQUIRED]
