"""What the queue holds: rows as frozen values, and the words for their states. Pure.

Times are integer milliseconds, `…_at` by the wall clock and `…_mono` by the monotonic clock of `boot`.
Members named as JSON (`policy`, `recipients`, …) are kept as JSON text. Source: queue page, Store and
Vocabulary.
"""

from typing import Final

from phelix_core.frozen import frozen

PENDING: Final = "pending"
READY: Final = "ready"
IN_PROGRESS: Final = "in_progress"
BLOCKED: Final = "blocked"
NEEDS_RECOVERY: Final = "needs_recovery"
DONE: Final = "done"
FAILED: Final = "failed"
TASK_STATUSES: Final = (PENDING, READY, IN_PROGRESS, BLOCKED, NEEDS_RECOVERY, DONE, FAILED)
FINISHED: Final = frozenset({DONE, FAILED})

ACTIVE: Final = "active"
RELEASED: Final = "released"
RECOVERED: Final = "recovered"
"""A lease's own states, with `NEEDS_RECOVERY`."""

RUNNING: Final = "active"
DRAINED: Final = "drained"
ARCHIVED: Final = "archived"
"""A campaign's states."""

PRIORITIES: Final = ("critical", "high", "medium", "low")
"""A priority's rank is its place here: 0 goes first."""
SIZES: Final = ("S", "M", "L", "XL")

DEFAULT_TTL_S: Final = 1_800
DEFAULT_FRESHNESS_S: Final = 3_600
LONGEST_S: Final = 86_400
DEFAULT_MAX_RECOVERIES: Final = 5
NO_DEADLINE: Final = 9_223_372_036_854_775_807
"""Stands behind every deadline, where issues are ordered."""

WORD_CAP: Final = 128
TITLE_CAP: Final = 200
LINE_CAP: Final = 1_000
REASON_CAP: Final = 500
SUMMARY_CAP: Final = 4_000
JSON_CAP: Final = 16 * 1024
MOST_ARTIFACTS: Final = 50
MOST_CAPABILITIES: Final = 500
BATCH_CAP: Final = 8 * 1024 * 1024
"""Caps in UTF-8 bytes as sent, or in items."""

MEMORY_KINDS: Final = ("decision", "preference", "summary", "artifact_context", "note")
"""Kinds of what is remembered, as payloads name them."""
QUEUED: Final = "queued"
DELIVERED: Final = "delivered"
"""An outbox row's states."""

DRAIN_REASON: Final = "campaign_drain"
CRASH_LOOP: Final = "crash_loop"
LEASE_EXPIRED: Final = "lease_expired"
CHECKPOINT_STALE: Final = "checkpoint_stale"
INCOHERENT: Final = "incoherent_state"


@frozen
class Workspace:
    """The outermost scope."""

    id: str
    name: str
    kind: str
    created_at: int
    updated_at: int


@frozen
class Project:
    """What campaigns and issues belong to."""

    id: str
    workspace_id: str
    key: str
    name: str
    domain: str
    status: str
    created_at: int
    updated_at: int


@frozen
class Campaign:
    """An effort that holds milestones."""

    id: str
    project_id: str
    name: str
    objective: str
    status: str
    scope: str
    policy: str
    created_at: int
    updated_at: int


@frozen
class Milestone:
    """A gate that groups issues; its status is derived and never stored."""

    id: str
    project_id: str
    campaign_id: str | None
    key: str
    description: str
    position: int
    deadline_at: int | None
    recipients: str
    approvals: str
    external_refs: str
    created_at: int


@frozen
class Issue:
    """A unit of work. `rank` is the effective priority; `promotable` says that every gate of it is open."""

    id: str
    project_id: str
    campaign_id: str | None
    milestone_id: str | None
    position: int
    task: str
    priority: str
    size: str
    status: str
    rank: int
    rank_due_at: int | None
    promotable: int
    deadline_at: int | None
    route: str
    policy: str
    max_recoveries: int
    recipients: str
    approvals: str
    external_refs: str
    next_best_action: str | None
    blocked_reason: str | None
    lease_epoch: int
    recoveries: int
    ready_at: int | None
    created_at: int
    updated_at: int


@frozen
class Lease:
    """A time-bound exclusive right to one issue; its row alone decides who may write."""

    id: str
    project_id: str
    campaign_id: str | None
    issue_id: str
    run_id: str
    session_id: str | None
    agent_id: str
    host: str
    status: str
    epoch: int
    ttl_ms: int
    freshness_ms: int
    boot: str
    acquired_at: int
    renewed_at: int
    expires_at: int
    deadline_mono: int | None
    checkpoint_at: int | None
    checkpoint_mono: int | None
    last_heartbeat_at: int | None
    released_at: int | None
    end_reason: str | None
    holder_pid: int | None
    holder_started: int | None


@frozen
class Run:
    """One process's stretch of work, or one act of the machine's."""

    id: str
    project_id: str
    campaign_id: str | None
    issue_id: str | None
    lease_id: str | None
    session_type: str
    host: str
    agent_id: str
    status: str
    via: str
    started_at: int
    finished_at: int | None
    notes: str
    begin_input: str


@frozen
class Checkpoint:
    """A recorded point of progress; `seq` is its event's."""

    id: str
    seq: int
    run_id: str
    issue_id: str
    lease_id: str | None
    title: str
    summary: str
    task_status: str
    next_step: str
    artifact_ids: str
    created_at: int


@frozen
class Artifact:
    """Something a run works on or made."""

    id: str
    project_id: str
    campaign_id: str | None
    issue_id: str | None
    run_id: str | None
    kind: str
    path: str
    status: str
    metadata: str
    created_at: int
    released_at: int | None


@frozen
class OutboxRow:
    """A text on its way into the memory; `status` is `QUEUED` or `DELIVERED`."""

    id: str
    project_id: str
    campaign_id: str | None
    issue_id: str
    run_id: str
    checkpoint_id: str
    memory_kind: str
    content: str
    metadata: str
    status: str
    attempts: int
    last_reason: str | None
    created_at: int
    delivered_at: int | None


@frozen
class MemoryLink:
    """What the memory knows of a checkpoint; an imported one may name none."""

    id: str
    project_id: str
    campaign_id: str | None
    issue_id: str | None
    run_id: str | None
    checkpoint_id: str | None
    memory_kind: str
    memory_ref: str
    summary: str
    created_at: int


@frozen
class StoredEvent:
    """What happened, as it stands in the journal."""

    seq: int
    id: str
    kind: str
    project_id: str | None
    campaign_id: str | None
    issue_id: str | None
    run_id: str | None
    via: str
    at: int
    payload: str
    changes: str


@frozen
class Scope:
    """What a verb looks at: a project, or one campaign of it."""

    project: Project
    campaign: Campaign | None = None

    @property
    def campaign_id(self) -> str | None:
        """The campaign's id, None for the whole project."""
        return self.campaign.id if self.campaign else None


def claim_order(issue: Issue) -> tuple[int, int, int, int, str]:
    """Who goes first: effective priority, deadline (none last), age, place in its plan, id."""
    deadline = NO_DEADLINE if issue.deadline_at is None else issue.deadline_at
    return issue.rank, deadline, issue.created_at, issue.position, issue.id


def epoch_key(issue_id: str, epoch: int) -> str:
    """The idempotency key for effects outside: one per issue and lease epoch."""
    return f"{issue_id}:{epoch}"
