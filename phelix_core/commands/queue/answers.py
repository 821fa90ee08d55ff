"""The shapes of what queue commands answer, for `phelix schema`; nothing else reads them.

Members are the lifecycle document's; `NotRequired` ones are left out where there is nothing to tell.
"""

from typing import Any, NotRequired

from typing_extensions import TypedDict


class HostCapabilities(TypedDict):
    """What a host takes and can do."""

    workloadClasses: list[str]
    capabilities: list[str]


class NamedArtifact(TypedDict):
    """An artifact of a run."""

    id: str
    kind: str
    path: str


class ContextScope(TypedDict):
    """Where a run stands."""

    workspace: str
    project: str
    campaign: NotRequired[str]
    task: str
    run: str


class Mem0Context(TypedDict):
    """What memory had to say."""

    enabled: bool
    available: bool
    query: str
    details: NotRequired[str]
    recalledMemories: list[dict[str, Any]]


class FailedSessionWrite(TypedDict):
    """A session record that could not be written; the doctor catches up."""

    sessionId: str
    issueId: str
    code: str


class Extras(TypedDict):
    """What any write may add."""

    replayed: NotRequired[bool]
    sessionWritesFailed: NotRequired[list[FailedSessionWrite]]


class Context(Extras):
    """What a claim answers, and what later calls hand back."""

    sessionId: str
    dbPath: str
    workspaceId: str
    projectId: str
    campaignId: NotRequired[str]
    agentId: str
    host: str
    hostCapabilities: NotRequired[HostCapabilities]
    runId: str
    leaseId: str
    leaseEpoch: int
    leaseExpiresAt: str
    effectId: str
    issueId: str
    issueTask: str
    claimMode: str
    artifacts: list[NamedArtifact]
    scope: ContextScope
    currentTaskStatus: str
    currentCheckpointId: str
    nextBestAction: NotRequired[str]
    mem0: Mem0Context
    promotedIssueIds: NotRequired[list[str]]


class CheckpointShape(TypedDict):
    """A checkpoint."""

    id: str
    runId: str
    issueId: str
    title: str
    summary: str
    taskStatus: str
    nextStep: str
    artifactIds: list[str]
    createdAt: str
    payloadEventId: NotRequired[str]


class Checkpointed(Extras):
    """What a checkpoint answers."""

    context: Context
    checkpoint: CheckpointShape
    csqrLiteScorecardArtifactIds: NotRequired[list[str]]
    memoryId: NotRequired[str]
    memoryQueued: NotRequired[bool]
    mem0WriteSkippedReason: NotRequired[str]


class Closed(Checkpointed):
    """What a close answers."""

    releasedLease: str
    promotedIssueIds: list[str]


class StopReason(TypedDict):
    """Why nothing was claimed after a close."""

    code: str
    message: str
    details: NotRequired[dict[str, Any]]


class Advanced(TypedDict):
    """What `advance` answers; the close stands in any case."""

    advanced: bool
    closeResult: Closed
    context: NotRequired[Context]
    stopReason: NotRequired[StopReason]


class Recovered(Extras):
    """What a recovery answers: a context where the issue was taken over, else what became of it."""

    issueId: str
    previousStatus: NotRequired[str]
    newStatus: NotRequired[str]
    resolution: NotRequired[str]
    recoveredLeaseIds: NotRequired[list[str]]
    leaseEpoch: int
    leaseId: NotRequired[str]
    claimMode: NotRequired[str]


class Extended(Extras):
    """What a heartbeat answers."""

    leaseId: str
    issueId: str
    leaseEpoch: int
    leaseExpiresAt: str


class SavedArtifact(Extras):
    """What saving an artifact answers."""

    artifactId: str
    issueId: str
    kind: str
    path: str


class WorkspaceMade(Extras):
    """What `init` answers."""

    workspaceId: str
    name: str
    created: bool


class CampaignMade(Extras):
    """What `campaign` answers."""

    projectId: str
    projectKey: str
    campaignId: str
    created: bool


class PlannedIssue(TypedDict):
    """An issue of a plan."""

    id: str
    task: str
    dependsOn: list[str]


class GeneratedMilestone(TypedDict):
    """A milestone of a plan."""

    key: str
    id: str
    description: str
    dependsOnMilestoneIds: list[str]
    generatedIssues: list[PlannedIssue]


class Planned(Extras):
    """What `plan` answers."""

    milestoneCount: int
    issueCount: int
    generatedMilestones: list[GeneratedMilestone]


class KeptBack(TypedDict):
    """An issue that stays pending, and the first gate before it."""

    issueId: str
    task: str
    reason: str


class Promoted(Extras):
    """What `promote` answers."""

    promotedIssueIds: list[str]
    keptBack: list[KeptBack]


class Found(TypedDict):
    """An issue and why."""

    issueId: str
    reason: str


class Reconciled(Extras):
    """What `reconcile` answers."""

    needsRecovery: list[Found]
    failed: list[Found]
    released: list[str]


class Moved(Extras):
    """What an operator's act on an issue answers."""

    issueId: str
    previousStatus: str
    newStatus: str
    leaseEpoch: int
    blockedReason: NotRequired[str]
    endedLeaseIds: list[str]


class RolledBack(Moved):
    """What `rollback` answers."""

    rollbackRunId: str
    returnedIssueIds: list[str]
    goingOnIssueIds: list[str]


class CampaignMoved(Extras):
    """What an act on a campaign answers."""

    campaignId: str
    status: str
    blockedIssueIds: NotRequired[list[str]]
    unblockedIssueIds: NotRequired[list[str]]
    endedLeaseIds: NotRequired[list[str]]
    returnedIssueIds: NotRequired[list[str]]


class IssueShape(TypedDict):
    """An issue."""

    id: str
    task: str
    priority: str
    status: str
    size: str
    projectId: str
    campaignId: NotRequired[str]
    milestoneId: NotRequired[str]
    nextBestAction: NotRequired[str]
    blockedReason: NotRequired[str]
    deadlineAt: NotRequired[str]
    leaseEpoch: int
    effectId: NotRequired[str]
    recoveries: int
    maxRecoveries: int
    recipients: NotRequired[list[dict[str, Any]]]
    approvals: NotRequired[list[dict[str, Any]]]
    externalRefs: NotRequired[list[dict[str, Any]]]
    policy: NotRequired[dict[str, Any]]
    policyState: NotRequired[dict[str, Any]]
    createdAt: str
    updatedAt: str


class IssueList(TypedDict):
    """What `list` answers."""

    issues: list[IssueShape]
    count: int
    truncated: bool


class IssueShown(TypedDict):
    """What `show` answers: the issue, what it waits for, who holds it, and what was recorded, newest first."""

    issue: IssueShape
    project: dict[str, Any]
    campaign: NotRequired[dict[str, Any]]
    milestone: NotRequired[dict[str, Any]]
    waitsFor: NotRequired[str]
    milestoneDependencies: list[dict[str, Any]]
    dependencies: list[dict[str, Any]]
    dependents: list[dict[str, Any]]
    staleness: NotRequired[dict[str, Any]]
    leases: list[dict[str, Any]]
    runs: list[dict[str, Any]]
    checkpoints: list[CheckpointShape]
    artifacts: list[dict[str, Any]]
    memoryLinks: list[dict[str, Any]]
    events: list[dict[str, Any]]


class Artifacts(TypedDict):
    """What `artifacts list` answers."""

    artifacts: list[dict[str, Any]]
    count: int


class Health(TypedDict):
    """What `health` answers."""

    snapshotVersion: int
    generatedAt: str
    scope: dict[str, Any]
    queue: dict[str, Any]
    leases: dict[str, Any]
    checkpoints: dict[str, Any]
    sessions: dict[str, Any]
    policy: dict[str, Any]
    audit: dict[str, Any]
    claimsBlockedBy: list[dict[str, Any]]
    milestones: list[dict[str, Any]]
    alerts: list[dict[str, Any]]


class Export(TypedDict):
    """What `export` answers, a page of it."""

    exportVersion: int
    generatedAt: str
    scope: dict[str, Any]
    queue: dict[str, Any]
    leases: dict[str, Any]
    runs: dict[str, Any]
    checkpoints: dict[str, Any]
    policy: dict[str, Any]
    audit: dict[str, Any]
    nextCursor: NotRequired[str]


class Audit(TypedDict):
    """What `audit` answers, a page of it, newest first."""

    auditVersion: int
    generatedAt: str
    scope: dict[str, Any]
    issue: IssueShape
    summary: dict[str, int]
    evidence: dict[str, list[dict[str, Any]]]
    timeline: list[dict[str, Any]]
    nextCursor: NotRequired[str]


class NextAction(TypedDict):
    """What `next` answers: what could be done, why, and the call; `requires` names what the caller fills in."""

    action: str
    reason: str
    suggestedPayload: NotRequired[dict[str, Any]]
    requires: list[str]
    context: dict[str, Any]


class QueueContext(TypedDict):
    """What `context` answers."""

    workspaces: list[dict[str, Any]]
    projects: list[dict[str, Any]]


class MemorySynced(TypedDict):
    """What `memory sync` answers."""

    linkedMemoryIds: list[str]
    skipped: list[dict[str, Any]]
    waiting: int


class Misfit(TypedDict):
    """A row that was left out, or what a row was kept without."""

    table: str
    id: str
    reason: str


class NotTaken(TypedDict):
    """Rows that an import leaves where they are."""

    table: str
    count: int
    reason: str


class ImportCounts(TypedDict):
    """Rows by the table of the file that they stand in."""

    workspaces: int
    projects: int
    campaigns: int
    milestones: int
    issues: int
    runs: int
    leases: int
    artifacts: int
    checkpoints: int
    events: int
    memoryLinks: int


class Imported(Extras):
    """What `import` answers; `leftOut` lists the first of so many."""

    imported: ImportCounts
    alreadyThere: ImportCounts
    leftOut: list[Misfit]
    leftOutCount: int
    notTaken: list[NotTaken]
