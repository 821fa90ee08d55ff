"""What rows of the file say together: gates, epochs, who held what, and what an issue waits for. Pure.

A gate that can never open (a dependency that was not taken, a cycle) is no edge of ours: what waits behind it is
kept blocked, and an operator's `unblock` decides. A ready issue before a closed gate waits like any other. At most
one lease of an issue stays active; what reconcile finds later, reconcile records.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from phelix_core.frozen import changed, frozen
from phelix_core.queue.gates import Gate, first_closed
from phelix_core.queue.importing.cells import told
from phelix_core.queue.importing.graph import on_a_cycle
from phelix_core.queue.importing.taking import Taking
from phelix_core.queue.model import (
    ACTIVE,
    ARCHIVED,
    BLOCKED,
    DONE,
    NEEDS_RECOVERY,
    PENDING,
    READY,
    RECOVERED,
    RELEASED,
    Checkpoint,
    Issue,
    Lease,
    Milestone,
    Run,
)
from phelix_core.queue.policy import ranked_row

_BEGINS: Final = frozenset({"claim", "resume", "recovery_claim"})
"""Titles of the checkpoints by which a run takes a lease."""
_UNREADABLE: Final = "depends_on cannot be read"


@frozen
class Gates:
    """By id what a row depends on, and of those behind a gate that never opens, which one that is."""

    edges: Mapping[str, tuple[str, ...]]
    never: Mapping[str, str]


def settle(taking: Taking, now_ms: int) -> tuple[Gates, Gates]:
    """Finish the rows that were taken; answers the gates of milestones and of issues."""
    points = _by_issue(taking.new["checkpoints"].values())
    _hold(taking, points, now_ms)
    _bind(taking, points)
    milestones, issues = _gates(taking, "milestones"), _gates(taking, "issues")
    _place_milestones(taking)
    _place_issues(taking, Waiting(taking, milestones, issues), points, now_ms)
    _cite(taking)
    return milestones, issues


def _by_issue(rows: Iterable[Checkpoint]) -> dict[str, list[Checkpoint]]:
    found: dict[str, list[Checkpoint]] = {}
    for row in rows:
        found.setdefault(row.issue_id, []).append(row)
    return found


# Leases


def _hold(taking: Taking, points: Mapping[str, list[Checkpoint]], now_ms: int) -> None:
    """Epochs in the order of claims, the active lease last; each with its last checkpoint."""
    by_issue: dict[str, list[Lease]] = {}
    for lease in taking.new["leases"].values():
        by_issue.setdefault(lease.issue_id, []).append(lease)
    for issue_id, leases in by_issue.items():
        leases.sort(key=lambda lease: (lease.status == ACTIVE, lease.acquired_at))
        for other in [lease for lease in leases[:-1] if lease.status == ACTIVE]:
            leases.remove(other)
            del taking.new["leases"][other.id]
            taking.note("leases", other.id, "status: a newer lease of its issue is active, and one alone may be")
        issue: Issue = taking.new["issues"][issue_id]
        for epoch, lease in enumerate(leases, 1):
            kept = _ended(taking, issue, lease, now_ms) if lease.status == ACTIVE else lease
            until = kept.released_at
            at = [
                point.created_at
                for point in points.get(issue_id, ())
                if kept.acquired_at <= point.created_at and (until is None or point.created_at <= until)
            ]
            taking.new["leases"][kept.id] = changed(kept, epoch=epoch, checkpoint_at=max(at, default=None))
        recovered = sum(lease.status == RECOVERED for lease in leases)
        taking.new["issues"][issue_id] = changed(issue, lease_epoch=len(leases), recoveries=recovered)


def _ended(taking: Taking, issue: Issue, lease: Lease, now_ms: int) -> Lease:
    """An active lease, ended where nobody could hold one here."""
    if issue.status == NEEDS_RECOVERY:
        taking.note("leases", lease.id, "status: its issue needs recovery, and so does the lease")
        return changed(lease, status=NEEDS_RECOVERY, end_reason=issue.blocked_reason or NEEDS_RECOVERY)
    if issue.campaign_id is not None and taking.of("campaigns", issue.campaign_id, "status") == ARCHIVED:
        taking.note("leases", lease.id, "status: its campaign is archived; the lease is released")
        return changed(lease, status=RELEASED, end_reason=ARCHIVED, released_at=now_ms)
    return lease


def _bind(taking: Taking, points: Mapping[str, list[Checkpoint]]) -> None:
    """Runs and leases that belong together: artifacts name both, else a run's first checkpoint under a claim does."""
    leases: dict[str, Lease] = taking.new["leases"]
    runs: dict[str, Run] = taking.new["runs"]
    held = {run_id: lease_id for run_id, lease_id in reversed(taking.holds) if lease_id in leases}
    claims = _claims(leases, points)
    for run_id, lease_id in claims.items():
        held.setdefault(run_id, lease_id)
    newest: dict[str, Run] = {}
    for run_id, run in runs.items():
        lease = leases.get(held.get(run_id, ""))
        if lease is not None:
            agent = run.agent_id or lease.agent_id
            runs[run_id] = changed(run, agent_id=agent, lease_id=lease.id, issue_id=lease.issue_id)
            if lease.id not in newest or newest[lease.id].started_at <= run.started_at:
                newest[lease.id] = run
        elif not run.agent_id:
            runs[run_id] = changed(run, agent_id=run_id)
    for lease_id, lease in leases.items():
        run = newest.get(lease_id)
        if run is not None:
            leases[lease_id] = changed(lease, run_id=run.id, host=run.host)
        elif lease.status == ACTIVE:
            taking.note("leases", lease_id, "its run is not told: its agent goes on by claiming the issue again")


def _claims(leases: Mapping[str, Lease], points: Mapping[str, list[Checkpoint]]) -> dict[str, str]:
    """By run: the newest lease of the issue that its first claim or resume is under."""
    found: dict[str, str] = {}
    by_issue: dict[str, list[Lease]] = {}
    for lease in leases.values():
        by_issue.setdefault(lease.issue_id, []).append(lease)
    for issue_id, own in by_issue.items():
        own.sort(key=lambda lease: lease.acquired_at)
        for point in points.get(issue_id, ()):
            if point.title in _BEGINS:
                for lease in own:
                    if lease.acquired_at <= point.created_at:
                        found[point.run_id] = lease.id
    return found


def _cite(taking: Taking) -> None:
    """Checkpoints with the lease that their run was under; memory links with the checkpoint that was remembered."""
    points: dict[str, Checkpoint] = taking.new["checkpoints"]
    for own, point in points.items():
        run: Run | None = taking.new["runs"].get(point.run_id)
        if run is not None and run.issue_id == point.issue_id:
            points[own] = changed(point, lease_id=run.lease_id)
    linked = {
        memory: (happened.run_id, told_of)
        for happened in taking.new["events"].values()
        if happened.kind == "mem0_memory_linked"
        and isinstance(memory := happened.payload.get("memoryId"), str)
        and isinstance(told_of := happened.payload.get("checkpointId"), str)
        and told_of in points
    }
    links = taking.new["memory_links"]
    for own, link in links.items():
        if link.memory_ref in linked:
            run_id, checkpoint_id = linked[link.memory_ref]
            links[own] = changed(link, run_id=run_id, checkpoint_id=checkpoint_id)


# Gates


def _gates(taking: Taking, table: str) -> Gates:
    """The edges of new rows, but for those that can never open."""
    needs = {own: taking.needs[table][own] for own in taking.new[table]}
    known = {own: tuple(one for one in needed or () if taking.has(table, one)) for own, needed in needs.items()}
    cycles = on_a_cycle(known)
    never: dict[str, str] = {}
    edges: dict[str, tuple[str, ...]] = {}
    for own, needed in needs.items():
        edges[own] = tuple(one for one in known[own] if (own, one) not in cycles)
        if needed is None:
            never[own] = _UNREADABLE
            taking.note(table, own, f"{_UNREADABLE}; what waits for it is kept blocked")
        for one in needed or ():
            if one not in edges[own]:
                never.setdefault(own, Gate(kind=table[:-1], id=told(one)).reason)
                why = "which closes a cycle" if (own, one) in cycles else "which was not taken"
                taking.note(table, own, f"depends_on: {told(one)}, {why}; what waits for it is kept blocked")
    return Gates(edges=edges, never=never)


def _place_milestones(taking: Taking) -> None:
    """The campaign of a milestone is that of its issues, where they agree; it began with the first of them."""
    members: dict[str, list[Issue]] = {}
    for issue in taking.new["issues"].values():
        members.setdefault(issue.milestone_id or "", []).append(issue)
    milestones: dict[str, Milestone] = taking.new["milestones"]
    for own, milestone in milestones.items():
        campaigns = {issue.campaign_id for issue in members.get(own, ())}
        if len(campaigns) > 1:
            taking.note("milestones", own, "its issues are of several campaigns; it belongs to none")
        campaign_id = campaigns.pop() if len(campaigns) == 1 else None
        began = min((issue.created_at for issue in members.get(own, ())), default=milestone.created_at)
        milestones[own] = changed(milestone, campaign_id=campaign_id, created_at=began)


# Issues


def _place_issues(taking: Taking, waiting: "Waiting", points: Mapping[str, list[Checkpoint]], now_ms: int) -> None:
    issues: dict[str, Issue] = taking.new["issues"]
    for own, issue in issues.items():
        touched = max((issue.created_at, *(point.created_at for point in points.get(own, ()))))
        after = waiting.placed(changed(issue, updated_at=touched))
        if after.status == READY:
            after = changed(after, ready_at=touched)
        issues[own] = ranked_row(after, now_ms)


class Waiting:
    """What issues wait for, by the statuses that the file and the queue tell."""

    def __init__(self, taking: Taking, milestones: Gates, issues: Gates) -> None:
        self._taking = taking
        self._milestones = milestones
        self._issues = issues
        self._statuses: dict[str, str] = {own: issue.status for own, issue in taking.new["issues"].items()}
        self._members: dict[str, set[str]] = {}
        for issue in taking.new["issues"].values():
            self._members.setdefault(issue.milestone_id or "", set()).add(issue.status)

    def placed(self, issue: Issue) -> Issue:
        """A pending or ready issue as its gates have it; any other as it is."""
        if issue.status not in (PENDING, READY):
            return issue
        taking, milestone_id = self._taking, issue.milestone_id or ""
        never = self._milestones.never.get(milestone_id) or self._issues.never.get(issue.id)
        if never is not None:
            taking.note("issues", issue.id, f"status: {issue.status}; blocked here, and `queue unblock` decides")
            return changed(issue, status=BLOCKED, blocked_reason=never)
        closed = first_closed(
            [(one, self._opens(one)) for one in self._milestones.edges.get(milestone_id, ())],
            [(one, self._status(one)) for one in self._issues.edges[issue.id]],
        )
        if closed is None:
            return changed(issue, promotable=int(issue.status == PENDING))
        if issue.status == PENDING:
            return issue
        taking.note("issues", issue.id, f"status: ready before {closed.reason}; pending until that is done")
        return changed(issue, status=PENDING, blocked_reason=closed.reason)

    def _opens(self, milestone_id: str) -> bool:
        if milestone_id in self._taking.old["milestones"]:
            return milestone_id in self._taking.known.done
        return self._members.get(milestone_id) == {DONE}

    def _status(self, issue_id: str) -> str:
        return self._statuses.get(issue_id) or self._taking.of("issues", issue_id, "status")
