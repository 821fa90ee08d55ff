"""What a live view of the queue is made of: light rows, the leases that stand, the gates. Pure.

A board is a snapshot, or what changed of one since an event; whoever keeps it derives states, countdowns and
gates from it by themselves as time passes. Source: console page, sections 5 and 9.
"""

from phelix_core.frozen import frozen
from phelix_core.queue.model import Campaign, Lease, Milestone, Project


@frozen
class BoardIssue:
    """One issue as a list needs it."""

    id: str
    project_id: str
    campaign_id: str | None
    milestone_id: str | None
    position: int
    task: str
    status: str
    rank: int
    deadline_at: int | None
    next_best_action: str | None
    blocked_reason: str | None
    lease_epoch: int
    recoveries: int
    max_recoveries: int
    created_at: int
    updated_at: int


@frozen
class Board:
    """Everything where `whole`; else what changed, each issue with all of its gates and its standing lease.

    `leases` are the active ones and those that wait for recovery; `needs` are pairs of an issue and one it
    depends on, `milestone_needs` the same of milestones. `gone` are leases whose holder's process is gone.
    """

    seq: int
    whole: bool
    projects: tuple[Project, ...]
    campaigns: tuple[Campaign, ...]
    milestones: tuple[Milestone, ...]
    milestone_needs: tuple[tuple[str, str], ...]
    issues: tuple[BoardIssue, ...]
    needs: tuple[tuple[str, str], ...]
    leases: tuple[Lease, ...]
    gone: tuple[str, ...]
