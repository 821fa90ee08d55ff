"""`queue export`, `audit`, `health`, `next` and `context`: how the queue stands, read to the byte and never written.

The lifecycle document's keys, with ours beside them. What may be long is paged by a cursor that the answer before
gave: of an export it counts pages, of an audit it names an event. Source: queue page, Actions (inspect_*, next_action).
"""

from collections.abc import Sequence
from typing import Annotated, Any, Final

from phelix_core.checks import Help, at_least, full_match
from phelix_core.clock import Moment, iso, moment_of
from phelix_core.commands.environment import Environment
from phelix_core.commands.queue.fields import (
    NOT_EMPTY,
    CampaignWord,
    Capabilities,
    Classes,
    HostName,
    IssueId,
    ProjectWord,
    require_few,
)
from phelix_core.commands.queue.shapes import (
    artifact_shape,
    event_shape,
    issue_shape,
    lease_shape,
    link_shape,
    milestone_shape,
    run_shape,
    time_or_none,
)
from phelix_core.commands.queue.targets import scope_of
from phelix_core.commands.registry import Effect, command
from phelix_core.errors import NotFound, PhelixError
from phelix_core.frozen import frozen
from phelix_core.queue import gates, policy, staleness
from phelix_core.queue.model import (
    BLOCKED,
    IN_PROGRESS,
    NEEDS_RECOVERY,
    PENDING,
    PRIORITIES,
    READY,
    WORD_CAP,
    Issue,
    Lease,
    Milestone,
    Scope,
    StoredEvent,
)
from phelix_core.queue.routing import Host, fit, route_from
from phelix_core.queue.store import Questions
from phelix_core.queue.verbs.advice import CONTRACT_VERSION, Advice, advise
from phelix_core.queue.verbs.answers import Answer, checkpoint_answer, present
from phelix_core.queue.verbs.ledger import gate_of, the_issue
from phelix_core.queue.verbs.reconcile import blockers
from phelix_core.redaction import free_text

_LISTED: Final = 100
_RUNS: Final = 10
_EVENTS: Final = 20
_AUDITED: Final = 50
_COUNTED: Final = 5_000
_TRACKED: Final = 10_000
_MOST: Final = 1_000
_AGES_S: Final = (60, 300, 900, 3_600, 14_400, 86_400)
"""Ages of leases are told in these steps."""
_PAGE: Final = full_match("p[0-9]{1,6}", "the nextCursor of the page before")
_BEFORE: Final = full_match("e[0-9]{1,18}", "the nextCursor of the page before")

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
class AuditIssue:
    """Tell everything that was recorded of one issue, newest first, a page at a time."""

    issue_id: IssueId
    limit: Annotated[int, at_least(1, 100), Help(f"At most so many events a page ({_AUDITED})")] = _AUDITED
    cursor: Annotated[str | None, _BEFORE, Help("The nextCursor of the page before")] = None


@frozen
class QueueHealth:
    """Say how the queue stands: counts, leases, what blocks claims."""

    project: ProjectWord = None
    campaign: CampaignWord = None


@frozen
class NextAction:
    """Say what this host could do next, and the very call for it; nothing is decided or written."""

    host: HostName
    workload_classes: Classes
    capabilities: Capabilities = ()
    project: ProjectWord = None
    campaign: CampaignWord = None


@frozen
class ShowContext:
    """Say which workspaces, projects and campaigns there are, and how many issues of each status."""

    project: Annotated[str | None, free_text(WORD_CAP), NOT_EMPTY, Help("Only this project")] = None


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
                "statusCounts": _counts(tx, scope),
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


def _counts(tx: Questions, scope: Scope) -> dict[str, int]:
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


@command("queue audit", effect=Effect.READ, result="phelix_core.commands.queue.answers:Audit")
def audit_issue(request: AuditIssue, env: Environment) -> dict[str, Any]:
    """Read one page of an issue's history."""
    now = moment_of(env.clock)
    before = None if request.cursor is None else int(request.cursor[1:])
    return env.queue.read(
        lambda tx: _audit(tx, the_issue(tx, request.issue_id), now, limit=request.limit, before=before)
    )


def _audit(tx: Questions, issue: Issue, now: Moment, *, limit: int, before: int | None) -> Answer:
    found = tx.events_of(issue.id, limit=limit + 1, before=before)
    events, more = found[:limit], len(found) > limit
    last = events[-1].seq if events and more else 0
    points = [one for one in tx.checkpoints_of(issue.id, limit=limit, before=before) if one.seq >= last]
    leases, links = tx.leases_of(issue.id), tx.memory_links_of(issue.id)
    point_count, event_count = tx.numbers_of(issue.id, at_most=_COUNTED)
    evidence = {
        "leases": [lease_shape(one, now) for one in leases],
        "checkpoints": [checkpoint_answer(one) for one in points],
        "memoryLinks": [link_shape(one) for one in links],
        "artifacts": [artifact_shape(one) for one in tx.artifacts_of(issue.id)],
        "events": [event_shape(one) for one in events],
    }
    until = None if before is None else tx.event(before)
    window = (events[-1].at if more else None, None if until is None else until.at)
    timeline = _timeline(evidence, leases, window)
    return present(
        {
            "auditVersion": 1,
            "generatedAt": iso(now.wall_ms),
            "scope": present(
                {"projectId": issue.project_id, "campaignId": issue.campaign_id, "issueId": issue.id},
            ),
            "issue": issue_shape(issue, now.wall_ms),
            "summary": present(
                {
                    "leaseCount": len(leases),
                    "checkpointCount": point_count,
                    "memoryLinkCount": len(links),
                    "eventCount": event_count,
                    "timelineEntryCount": len(timeline),
                    "countedUpTo": _COUNTED if _COUNTED in (point_count, event_count) else None,
                }
            ),
            "evidence": evidence,
            "timeline": timeline,
            "nextCursor": f"e{last}" if more else None,
        }
    )


def _timeline(
    evidence: dict[str, list[Answer]], leases: Sequence[Lease], window: tuple[int | None, int | None]
) -> list[Answer]:
    """The page's entries, newest first; a lease's beginning and end stand on the page that their time belongs to."""
    after, until = window

    def here(ms: int | None) -> bool:
        return ms is not None and (after is None or ms > after) and (until is None or ms <= until)

    entries: list[Answer] = [{"at": one["createdAt"], "entryType": "event", "event": one} for one in evidence["events"]]
    entries += [
        {"at": one["createdAt"], "entryType": "checkpoint", "checkpoint": one} for one in evidence["checkpoints"]
    ]
    for lease, told in zip(leases, evidence["leases"], strict=True):
        named = {"leaseId": lease.id, "issueId": lease.issue_id, "agentId": lease.agent_id}
        if here(lease.acquired_at):
            entries.append({"at": told["acquiredAt"], "entryType": "lease_acquired", "lease": told})
        if here(lease.last_heartbeat_at):
            entries.append({"at": told["lastHeartbeatAt"], "entryType": "lease_heartbeat", **named})
        if here(lease.released_at):
            entries.append({"at": told["releasedAt"], "entryType": "lease_released", **named, "status": lease.status})
    entries += [
        {"at": one["createdAt"], "entryType": "memory_link", "memoryLink": one} for one in evidence["memoryLinks"]
        if (after is None or one["createdAt"] > iso(after)) and (until is None or one["createdAt"] <= iso(until))
    ]  # fmt: skip
    return sorted(entries, key=lambda entry: entry["at"], reverse=True)


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
        "queue": {"statusCounts": _counts(tx, scope)},
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


@command("queue next", effect=Effect.READ, result="phelix_core.commands.queue.answers:NextAction")
def next_action(request: NextAction, env: Environment) -> dict[str, Any]:
    """Look for what could be done next."""
    require_few(request)
    host = Host(
        name=request.host,
        workload_classes=frozenset(request.workload_classes),
        capabilities=frozenset(request.capabilities),
    )
    now = moment_of(env.clock)

    def body(tx: Questions) -> Answer:
        if request.project is None and (unclear := _unclear(tx)) is not None:
            return unclear
        scope = scope_of(tx, request.project, request.campaign)
        return _advised(scope, advise(tx, scope, host, now), host, now)

    try:
        return env.queue.read(body)
    except NotFound:
        if _has_queue(env):
            raise
        return _setup("There is no queue here yet.", "init_workspace", {}, ("input.workspaceName",))


def _has_queue(env: Environment) -> bool:
    try:
        env.queue.read(lambda tx: tx.last_seq())
    except PhelixError:
        return False
    return True


def _unclear(tx: Questions) -> Answer | None:
    """What keeps a question without a project from having one answer; None where there is exactly one project."""
    projects = tx.projects()
    if len(projects) == 1:
        return None
    if projects:
        return {
            "action": "clarify_scope",
            "reason": f"There are {len(projects)} projects: say which is meant.",
            "requires": ["input.projectId"],
            "context": {"projects": [{"id": one.id, "key": one.key, "name": one.name} for one in projects[:_LISTED]]},
        }
    if not tx.workspaces():
        return _setup("There is no workspace yet.", "init_workspace", {}, ("input.workspaceName",))
    needed = ("input.projectName", "input.campaignName", "input.objective")
    workspace = tx.workspaces()[0]
    return _setup("There is no project yet.", "create_campaign", {"workspaceId": workspace.id}, needed)


def _setup(reason: str, action: str, given: Answer, requires: Sequence[str]) -> Answer:
    return {
        "action": "setup_required",
        "reason": reason,
        "suggestedPayload": {"contractVersion": CONTRACT_VERSION, "action": action, "input": given},
        "requires": list(requires),
        "context": {"stage": "setup_required"},
    }


def _advised(scope: Scope, advice: Advice, host: Host, now: Moment) -> Answer:
    issue, lease = advice.issue, advice.lease
    verdict = None if issue is None else fit(route_from(issue.route), host)
    return present(
        {
            "action": "idle" if advice.action is None else "call_tool",
            "reason": advice.reason,
            "suggestedPayload": advice.payload,
            "requires": list(advice.requires),
            "context": present(
                {
                    "stage": advice.stage,
                    "priority": None if issue is None else PRIORITIES[issue.rank],
                    "projectId": scope.project.id,
                    "campaignId": scope.campaign_id,
                    "host": host.name,
                    "issue": None if issue is None else issue_shape(issue, now.wall_ms),
                    "dispatch": None
                    if verdict is None
                    else present(
                        {
                            "eligible": verdict.eligible,
                            "requiredWorkloadClass": verdict.required_class,
                            "requiredHostCapabilities": list(verdict.required),
                            "missingWorkloadClass": verdict.required_class if verdict.missing_class else None,
                            "missingHostCapabilities": list(verdict.missing) or None,
                        }
                    ),
                    "lease": None if lease is None else lease_shape(lease, now),
                    "blocker": None if advice.blocker is None else dict(advice.blocker),
                    "candidates": list(advice.candidates) or None,
                }
            ),
        }
    )


@command("queue context", effect=Effect.READ, result="phelix_core.commands.queue.answers:QueueContext")
def show_context(request: ShowContext, env: Environment) -> dict[str, Any]:
    """Read what there is."""

    def body(tx: Questions) -> Answer:
        projects = tx.projects(request.project)
        if request.project is not None and not projects:
            raise NotFound("There is no such project.")
        return {
            "workspaces": [{"id": one.id, "name": one.name} for one in tx.workspaces()],
            "projects": [
                {
                    "id": project.id,
                    "key": project.key,
                    "name": project.name,
                    "workspaceId": project.workspace_id,
                    "statusCounts": _counts(tx, Scope(project=project)),
                    "campaigns": [
                        {
                            "id": one.id,
                            "name": one.name,
                            "objective": one.objective,
                            "status": one.status,
                            "statusCounts": _counts(tx, Scope(project=project, campaign=one)),
                        }
                        for one in tx.campaigns(project.id)
                    ],
                }
                for project in projects
            ],
        }

    return env.queue.read(body)
