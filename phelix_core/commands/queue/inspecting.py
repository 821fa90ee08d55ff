"""`queue export` and `health`: how the queue stands, read to the byte and never written.

The lifecycle document's keys, with ours beside them. What may be long is paged by a cursor that the page before told,
the number of the next one. Source: queue page, Actions (inspect_export, inspect_health_snapshot).
"""

from collections.abc import Sequence
from typing import Annotated, Any, Final

from phelix_core.checks import Help, at_least, full_match
from phelix_core.clock import Moment, iso, moment_of
from phelix_core.commands.environment import Environment
from phelix_core.commands.queue.fields import (
    CampaignWord,
    ProjectWord,
)
from phelix_core.commands.queue.shapes import (
    event_shape,
    issue_shape,
    lease_shape,
    milestone_shape,
    run_shape,
    time_or_none,
)
from phelix_core.commands.queue.targets import scope_of
from phelix_core.commands.registry import Effect, command
from phelix_core.frozen import frozen
from phelix_core.queue import gates, policy, staleness
from phelix_core.queue.model import (
    BLOCKED,
    IN_PROGRESS,
    NEEDS_RECOVERY,
    PENDING,
    PRIORITIES,
    READY,
    Issue,
    Lease,
    Milestone,
    Scope,
    StoredEvent,
)
from phelix_core.queue.store import Questions
from phelix_core.queue.verbs.answers import Answer, present
from phelix_core.queue.verbs.ledger import gate_of, the_issue
from phelix_core.queue.verbs.reconcile import blockers

_LISTED: Final = 100
_RUNS: Final = 10
_EVENTS: Final = 20
_TRACKED: Final = 10_000
_MOST: Final = 1_000
_AGES_S: Final = (60, 300, 900, 3_600, 14_400, 86_400)
"""Ages of leases are told in these steps."""
_PAGE: Final = full_match("p[0-9]{1,6}", "the nextCursor of the page before")

ListLimit = Annotated[int | None, at_least(1, _MOST), Help(f"At most so many of each kind ({_LISTED})")]


@frozen
class ExportQueue:
    """Export how a project stands: issues by what they wait for, leases, runs, policy, what happened last."""

    project: ProjectWord = None
    campaign: CampaignWord = None
    runs: Annotated[int, at_least(1, 100), Help(f"At most so many runs ({_RUNS})")] = _RUNS
    events: Annotated[int, at_least(1, 100), Help(f"At most so many events ({_EVENTS})")] = _EVENTS
    limit: ListLimit = None
    cursor: Annotated[str | None, _PAGE, Help("The nextCursor of the page before")] = None


@frozen
class QueueHealth:
    """Say how the queue stands: counts, leases, what blocks claims."""

    project: ProjectWord = None
    campaign: CampaignWord = None


@command("queue export", effect=Effect.READ, result="phelix_core.commands.queue.answers:Export")
def export_queue(request: ExportQueue, env: Environment) -> dict[str, Any]:
    """Read an export."""
    now, limit = moment_of(env.clock), request.limit or _LISTED
    page = 0 if request.cursor is None else int(request.cursor[1:])
    return env.queue.read(
        lambda tx: _export(tx, scope_of(tx, request.project, request.campaign), now, request, limit=limit, page=page)
    )


def _export(tx: Questions, scope: Scope, now: Moment, request: ExportQueue, *, limit: int, page: int) -> Answer:
    skip, more = page * limit, False

    def part(*statuses: str, waiting: bool = False) -> list[Issue]:
        nonlocal more
        found = tx.page_of(scope, statuses, waiting=waiting, skip=skip, limit=limit + 1)
        more = more or len(found) > limit
        return found[:limit]

    ready, recovery, working = part(READY), part(NEEDS_RECOVERY), part(IN_PROGRESS)
    blocked = part(BLOCKED, PENDING, waiting=True)
    milestones = [one for one in milestones_of(tx, scope) if one["status"] == BLOCKED]
    more = more or len(milestones) > skip + limit
    leases = tx.active_leases(scope)
    events, runs = tx.recent_events(scope, limit=request.events), tx.recent_runs(scope, limit=request.runs)
    watched = _watched(tx, scope, now)
    return present(
        {
            "exportVersion": 1,
            "generatedAt": iso(now.wall_ms),
            "scope": {"projectId": scope.project.id, "campaignId": scope.campaign_id},
            "queue": {
                "statusCounts": status_counts(tx, scope),
                "readyIssues": [issue_shape(one, now.wall_ms) for one in ready],
                "inProgressIssues": [issue_shape(one, now.wall_ms) for one in working],
                "recoveryIssues": [issue_shape(one, now.wall_ms) for one in recovery],
                "blockedIssues": [_kept_back(tx, one, now) for one in blocked],
                "blockedMilestones": [_ranked(tx, one) for one in milestones[skip : skip + limit]],
            },
            "leases": {
                "activeCount": len(leases),
                "active": [lease_shape(one, now) for one in leases[skip : skip + limit]],
                **_stale_leases(tx, leases, now),
            },
            "runs": {"recentCount": len(runs), "recent": [run_shape(one) for one in runs]},
            "checkpoints": {"lastCheckpointAt": time_or_none(tx.last_checkpoint_at(scope))},
            "policy": {
                "trackedIssues": watched.tracked,
                "escalatedIssues": [issue_shape(one, now.wall_ms) for one in watched.escalated[:limit]],
                "breachedIssues": [issue_shape(one, now.wall_ms) for one in watched.breached[:limit]],
                "breachCounts": watched.counts,
            },
            "audit": {"recentEventCount": len(events), "recentEvents": [event_shape(one) for one in events]},
            "nextCursor": f"p{page + 1}" if more or len(leases) > skip + limit else None,
        }
    )


def status_counts(tx: Questions, scope: Scope) -> dict[str, int]:
    """Issues of each status, and all of them."""
    counts = dict(tx.status_counts(scope))
    return {**counts, "total": sum(counts.values())}


def _kept_back(tx: Questions, issue: Issue, now: Moment) -> Answer:
    """An issue with what keeps it back: what was recorded, else the gate that is closed now."""
    told = issue_shape(issue, now.wall_ms)
    if issue.status == PENDING and (gate := gate_of(tx, issue)) is not None:
        told["blockedReason"] = gate.reason
    return told


def _ranked(tx: Questions, milestone: Answer) -> Answer:
    place = tx.top_priority(milestone["id"])
    return present({**milestone, "priority": None if place is None else PRIORITIES[place]})


@frozen
class _Watched:
    """Issues that a policy or a deadline watches."""

    tracked: int
    escalated: tuple[Issue, ...]
    breached: tuple[Issue, ...]
    counts: dict[str, int]


def _watched(tx: Questions, scope: Scope, now: Moment) -> _Watched:
    issues = tx.tracked(scope, limit=_TRACKED)
    escalated: list[Issue] = []
    breached: list[Issue] = []
    counts: dict[str, int] = dict.fromkeys(policy.TRIGGERS, 0)
    for issue in issues:
        rules = policy.stored_policy(issue.policy)
        found = () if rules is None else policy.breaches(rules, issue, now.wall_ms)
        if policy.is_escalated(issue, found):
            escalated.append(issue)
        if found:
            breached.append(issue)
        for trigger in {one.trigger for one in found}:
            counts[trigger] += 1
    return _Watched(tracked=len(issues), escalated=tuple(escalated), breached=tuple(breached), counts=counts)


@command(
    "queue health",
    effect=Effect.READ,
    result="phelix_core.commands.queue.answers:Health",
)
def queue_health(request: QueueHealth, env: Environment) -> dict[str, Any]:
    """Read how the queue stands."""
    now = moment_of(env.clock)
    return env.queue.read(lambda tx: _health(tx, scope_of(tx, request.project, request.campaign), now))


def _health(tx: Questions, scope: Scope, now: Moment) -> Answer:
    leases, waiting = tx.active_leases(scope), tx.needing_recovery(scope)
    standing, watched = _stale_leases(tx, leases, now), _watched(tx, scope, now)
    events: list[StoredEvent] = tx.recent_events(scope, limit=1)
    return {
        "snapshotVersion": 1,
        "generatedAt": iso(now.wall_ms),
        "scope": {"projectId": scope.project.id, "campaignId": scope.campaign_id},
        "queue": {"statusCounts": status_counts(tx, scope)},
        "leases": {
            "activeCount": len(leases),
            "activeLeaseIds": [lease.id for lease in leases],
            **standing,
            "ages": _ages(leases, now),
        },
        "checkpoints": {"lastCheckpointAt": time_or_none(tx.last_checkpoint_at(scope))},
        "sessions": {"activeCount": len(leases)},
        "policy": {
            "trackedIssues": watched.tracked,
            "escalatedIssueCount": len(watched.escalated),
            "breachedIssueCount": len(watched.breached),
            "breachCounts": watched.counts,
        },
        "audit": {
            "failedRunCount": tx.failed_runs(scope),
            "lastEventAt": iso(events[0].at) if events else None,
        },
        "claimsBlockedBy": blockers(tx, waiting),
        "milestones": milestones_of(tx, scope),
        "alerts": [
            {"kind": kind, "severity": severity, "count": len(ids), "refIds": ids}
            for kind, severity, ids in (
                ("stale_leases", "high", standing["staleLeaseIds"]),
                (NEEDS_RECOVERY, "high", [issue.id for issue in waiting]),
                ("policy_breaches", "medium", [issue.id for issue in watched.breached]),
            )
            if ids
        ],
    }


def milestones_of(tx: Questions, scope: Scope) -> list[Answer]:
    """Milestones with their derived status, in the order they were planned."""
    counts = tx.milestone_counts(scope)
    return [_milestone(tx, one, dict(counts.get(one.id, {}))) for one in tx.milestones(scope)]


def _milestone(tx: Questions, milestone: Milestone, counts: dict[str, int]) -> Answer:
    closed = next((one for one in tx.milestone_dependencies(milestone.id) if not tx.is_milestone_done(one)), None)
    status, reason = gates.milestone_status(counts, closed)
    return milestone_shape(milestone, status, reason, counts)


def _stale_leases(tx: Questions, leases: Sequence[Lease], now: Moment) -> Answer:
    """Which leases are stale by either rule, why, and of which that cannot be told."""
    stale: dict[str, str] = {}
    for lease in leases:
        finding = staleness.why_stale(the_issue(tx, lease.issue_id).status, lease, now)
        if finding is not None and finding.reason is not None:
            stale[lease.id] = finding.reason
    return {
        "staleCount": len(stale),
        "staleLeaseIds": list(stale),
        "staleReasons": stale,
        "cannotTell": [one.id for one in leases if staleness.of_lease(one, now).state == staleness.CANNOT_TELL],
    }


def _ages(leases: Sequence[Lease], now: Moment) -> list[Answer]:
    """How many leases are how old, in steps; the last step is open."""
    ages = [max(0, now.wall_ms - lease.acquired_at) // 1000 for lease in leases]
    told: list[Answer] = []
    least = 0
    for most in (*_AGES_S, None):
        number = sum(least <= age and (most is None or age < most) for age in ages)
        told.append(present({"fromSeconds": least, "toSeconds": most, "count": number}))
        least = most or least
    return told
