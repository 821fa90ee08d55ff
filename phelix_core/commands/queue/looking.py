"""`queue list` and `show`: what is in the queue, read and never written."""

from collections.abc import Callable, Collection, Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Any, Final

from phelix_core.checks import Help, one_of
from phelix_core.clock import Moment, iso, moment_of
from phelix_core.commands.environment import Environment
from phelix_core.commands.filtering import parsed, told
from phelix_core.commands.queue.fields import (
    NOT_EMPTY,
    CampaignWord,
    IssueId,
    Limit,
    ProjectWord,
)
from phelix_core.commands.queue.shapes import (
    artifact_shape,
    event_shape,
    issue_shape,
    lease_shape,
    link_shape,
    run_shape,
)
from phelix_core.commands.queue.targets import scope_of
from phelix_core.commands.registry import Effect, command
from phelix_core.frozen import frozen
from phelix_core.queue import staleness
from phelix_core.queue.model import (
    CRASH_LOOP,
    FAILED,
    NEEDS_RECOVERY,
    PENDING,
    TASK_STATUSES,
    WORD_CAP,
    Issue,
    Lease,
    Milestone,
    Scope,
)
from phelix_core.queue.store import Questions
from phelix_core.queue.verbs.answers import Answer, checkpoint_answer, present
from phelix_core.queue.verbs.ledger import active_of, campaign_of, gate_of, the_issue, the_one, the_project
from phelix_core.redaction import free_text
from phelix_core.saved_views.model import WHERE_CAP

if TYPE_CHECKING:
    from phelix_core.views.filter.issues import IssueQuery

_LIST_LIMIT = 100
_SHOWN = 50
_PAGE = 1_000
_LARGEST_PAGE = 32_000
_PATTERN_SECONDS: Final = 2.0
"""How long a filter's patterns may take over a whole queue; nobody types the next letter meanwhile."""


@frozen
class ListIssues:
    """List issues, in the order they were planned."""

    status: Annotated[str | None, one_of(*TASK_STATUSES), Help("Only issues of this status")] = None
    milestone: Annotated[str | None, free_text(WORD_CAP), NOT_EMPTY, Help("Only of this milestone, by id or key")] = (
        None
    )
    where: Annotated[
        str | None, free_text(WHERE_CAP), Help("Only what this filter accepts, as status=ready priority=high age>2d")
    ] = None
    project: ProjectWord = None
    campaign: CampaignWord = None
    limit: Limit = None


@frozen
class ShowIssue:
    """Show one issue whole: what it waits for, who holds it, and what was recorded."""

    issue_id: IssueId
    limit: Limit = None


@command(
    "queue list",
    effect=Effect.READ,
    result="phelix_core.commands.queue.answers:IssueList",
)
def list_issues(request: ListIssues, env: Environment) -> dict[str, Any]:
    """Read a list of issues."""
    limit = _LIST_LIMIT if request.limit is None else request.limit
    query = None if request.where is None else _parsed(request.where)

    def body(tx: Questions) -> tuple[list[Issue], int]:
        scope = scope_of(tx, request.project, request.campaign)
        now = moment_of(env.clock)
        accepts = None if query is None else _accepting(query, tx, scope, now, env)
        found: list[Issue] = []
        for page in _pages(tx, scope, _narrowed(request.status, query), _milestone_id(tx, scope, request.milestone)):
            found += page if accepts is None else filter(accepts, page)
            if limit and len(found) > limit:
                break
        return found, now.wall_ms

    with told() if query is not None else nullcontext():
        found, now_ms = env.queue.read(body)
    kept = found if limit == 0 else found[:limit]
    return {
        "issues": [issue_shape(issue, now_ms) for issue in kept],
        "count": len(kept),
        "truncated": len(kept) < len(found),
    }


def _the_milestone(tx: Questions, scope: Scope, word: str) -> Milestone:
    match = [one for one in tx.milestones(scope) if word in (one.id, one.key)]
    return the_one("milestone", match, lambda one: one.id, hint="Several have this key: take its id.")


def _parsed(text: str) -> "IssueQuery":
    from phelix_core.views.filter.issues import parse_issues  # noqa: PLC0415 - most lists have no filter

    return parsed(parse_issues, text)


def _accepting(
    query: "IssueQuery", tx: Questions, scope: Scope, now: Moment, env: Environment
) -> Callable[[Issue], bool]:
    """Whether an issue of the scope fits, as of now."""
    from phelix_core.views.filter.issues import Surroundings  # noqa: PLC0415 - loaded with the query

    around = Surroundings(
        [scope.project], tx.campaigns(scope.project.id), tx.milestones(scope), tx.active_leases(scope)
    )
    accepts = query.predicate(now, clock=env.clock.monotonic, pattern_seconds=_PATTERN_SECONDS)
    return lambda issue: accepts(around.filterable(issue))


def _narrowed(status: str | None, query: "IssueQuery | None") -> Collection[str] | None:
    """The statuses that are worth a look; None for all of them."""
    allowed = None if query is None or query.statuses.issuperset(TASK_STATUSES) else query.statuses
    if status is None:
        return allowed
    return () if allowed is not None and status not in allowed else (status,)


def _milestone_id(tx: Questions, scope: Scope, word: str | None) -> str | None:
    return None if word is None else _the_milestone(tx, scope, word).id


def _pages(
    tx: Questions, scope: Scope, statuses: Collection[str] | None, milestone_id: str | None
) -> Iterator[list[Issue]]:
    """Issues in the order they were planned; a store narrows to one status, of several it answers all issues.

    Each page is larger than the one before, as a store may have to sort all that is left for it.
    """
    if statuses is not None and not statuses:
        return
    status = next(iter(statuses)) if statuses is not None and len(statuses) == 1 else None
    size, last = _PAGE, None
    while True:
        page = tx.issues(scope, status=status, milestone_id=milestone_id, after=last, limit=size)
        yield page
        if len(page) < size:
            return
        size, last = min(4 * size, _LARGEST_PAGE), page[-1]


@command(
    "queue show",
    effect=Effect.READ,
    result="phelix_core.commands.queue.answers:IssueShown",
)
def show_issue(request: ShowIssue, env: Environment) -> dict[str, Any]:
    """Read one issue."""
    now, limit = moment_of(env.clock), _SHOWN if request.limit is None else request.limit or 1_000_000
    return env.queue.read(lambda tx: _shown(tx, the_issue(tx, request.issue_id), now, limit))


def _shown(tx: Questions, issue: Issue, now: Moment, limit: int) -> Answer:
    project = the_project(tx, issue.project_id)
    campaign = campaign_of(tx, issue)
    milestone = tx.milestone(issue.milestone_id) if issue.milestone_id else None
    leases = tx.leases_of(issue.id)
    gate = gate_of(tx, issue)
    dependencies = [
        present({"id": one, "status": status, "task": other.task if (other := tx.issue(one)) else None})
        for one, status in tx.dependencies(issue.id)
    ]
    return present(
        {
            "issue": issue_shape(issue, now.wall_ms),
            "project": {"id": project.id, "key": project.key, "name": project.name},
            "campaign": None
            if campaign is None
            else {"id": campaign.id, "name": campaign.name, "status": campaign.status},
            "milestone": None
            if milestone is None
            else {"id": milestone.id, "key": milestone.key, "description": milestone.description},
            "waitsFor": None if gate is None or issue.status != PENDING else gate.reason,
            "milestoneDependencies": []
            if milestone is None
            else [{"id": one, "done": tx.is_milestone_done(one)} for one in tx.milestone_dependencies(milestone.id)],
            "dependencies": dependencies,
            "dependents": [
                present(
                    {
                        "id": one.id,
                        "status": one.status,
                        "task": one.task,
                        "waitsFor": waits.reason if one.status == PENDING and (waits := gate_of(tx, one)) else None,
                    }
                )
                for one in tx.dependents(issue.id)
            ],
            "staleness": _staleness(issue, active_of(leases), now),
            "leases": [lease_shape(lease, now) for lease in leases],
            "runs": [run_shape(run) for run in tx.runs_of(issue.id)],
            "checkpoints": [checkpoint_answer(point) for point in tx.checkpoints_of(issue.id, limit=limit)],
            "artifacts": [artifact_shape(artifact) for artifact in tx.artifacts_of(issue.id)],
            "memoryLinks": [link_shape(link) for link in tx.memory_links_of(issue.id)],
            "events": [event_shape(event) for event in tx.events_of(issue.id, limit=limit)],
        }
    )


def _staleness(issue: Issue, lease: Lease | None, now: Moment) -> Answer | None:
    """Why the issue is stale or will be recovered: the rule, its inputs, and by which clock."""
    if issue.status == NEEDS_RECOVERY:
        return {"state": NEEDS_RECOVERY, "reason": issue.blocked_reason, "blocksClaims": True}
    if issue.status == FAILED and issue.blocked_reason == CRASH_LOOP:
        return {
            "state": CRASH_LOOP,
            "recoveries": issue.recoveries,
            "limit": issue.max_recoveries,
            "blocksClaims": False,
        }
    if lease is None:
        return None
    finding = staleness.why_stale(issue.status, lease, now)
    standing, fresh = staleness.of_lease(lease, now), staleness.of_checkpoint(lease, now)
    reason = finding.reason if finding is not None else None
    return present(
        {
            "state": "stale" if reason else standing.state,
            "reason": reason,
            "clock": standing.clock,
            "expiresAt": iso(lease.expires_at),
            "leaseLeftMs": standing.left_ms,
            "lastCheckpointAt": None if lease.checkpoint_at is None else iso(lease.checkpoint_at),
            "checkpointLeftMs": fresh.left_ms,
            "freshnessSeconds": lease.freshness_ms // 1000,
            "blocksClaims": reason is not None,
        }
    )
