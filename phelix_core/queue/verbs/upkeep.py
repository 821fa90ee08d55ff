"""What an operator does to the queue: set up, plan, promote, recover, unblock, retry, roll back, drain, archive.

Each names its reason and leaves a checkpoint for every status it changes. Source: queue page, Actions.
"""

from collections.abc import Sequence
from typing import Any

from phelix_core.errors import AlreadyExists, InvalidArgument, LeaseConflict, QueueCorrupt, QueueInvalidTransition
from phelix_core.queue.journal import Event, Insert, Update, insert
from phelix_core.queue.model import (
    ARCHIVED,
    BLOCKED,
    DONE,
    DRAIN_REASON,
    DRAINED,
    FAILED,
    NEEDS_RECOVERY,
    PENDING,
    READY,
    RECOVERED,
    RUNNING,
    Campaign,
    Issue,
    Project,
    Scope,
    Workspace,
    claim_order,
)
from phelix_core.queue.planning import PlannedMilestone, batch_of
from phelix_core.queue.policy import NO_POLICY, stored_policy
from phelix_core.queue.transitions import ARCHIVE, DRAIN, RECOVERY, RETRY, ROLLBACK, UNBLOCK
from phelix_core.queue.verbs.answers import Answer, present
from phelix_core.queue.verbs.begin import raise_ranks
from phelix_core.queue.verbs.ledger import NOTHING_BEHIND, Ledger, Words, campaign_of, gate_of, the_issue
from phelix_core.queue.verbs.reconcile import reconcile

_KEPT_BACK = 1_000


def add_workspace(ledger: Ledger, name: str) -> Answer:
    """A workspace; the same name again answers the one there is."""
    for known in ledger.tx.workspaces():
        if known.name == name:
            return {"workspaceId": known.id, "name": name, "created": False}
    now = ledger.now.wall_ms
    workspace = Workspace(id=f"W-{ledger.mint()}", name=name, kind="local", created_at=now, updated_at=now)
    told = {"workspaceId": workspace.id}
    ledger.tx.record(Event(kind="workspace_created", changes=(insert("workspaces", workspace),), payload=told))
    return {"workspaceId": workspace.id, "name": name, "created": True}


def add_campaign(
    ledger: Ledger, project_name: str, name: str, *, objective: str, policy: str, workspace: str | None
) -> Answer:
    """A campaign, and its project where that is new; the same again answers what there is."""
    tx, now = ledger.tx, ledger.now.wall_ms
    found = tx.projects(project_name)
    if len(found) > 1:
        raise InvalidArgument("project: several have this name.", hint="Name it by its id.")
    project = found[0] if found else _new_project(ledger, project_name, workspace)
    for known in tx.campaigns(project.id, name):
        if known.name == name:
            if (known.objective, known.policy) != (
                objective or known.objective,
                policy if policy != "{}" else known.policy,
            ):
                raise AlreadyExists(
                    f"Campaign {known.id} has this name, with another objective or policy.",
                    hint="Give the new one another name; what was planned goes by the policy it was planned under.",
                )
            return {"projectId": project.id, "projectKey": project.key, "campaignId": known.id, "created": False}
    campaign = Campaign(
        id=f"C-{ledger.mint()}",
        project_id=project.id,
        name=name,
        objective=objective,
        status=RUNNING,
        scope="{}",
        policy=policy,
        created_at=now,
        updated_at=now,
    )
    told = {"campaignId": campaign.id, "name": name}
    tx.record(
        Event(
            kind="campaign_created",
            changes=(insert("campaigns", campaign),),
            project_id=project.id,
            campaign_id=campaign.id,
            payload=told,
        )
    )
    return {"projectId": project.id, "projectKey": project.key, "campaignId": campaign.id, "created": True}


def _new_project(ledger: Ledger, name: str, word: str | None) -> Project:
    tx, now = ledger.tx, ledger.now.wall_ms
    workspaces = [one for one in tx.workspaces() if word in (None, one.id, one.name)]
    if len(workspaces) != 1:
        known = ", ".join(f"{one.name} ({one.id})" for one in tx.workspaces())
        raise InvalidArgument(
            f"workspace: say which: {known or 'there is none yet'}.", hint="`phelix queue init NAME`."
        )
    workspace = workspaces[0]
    key = _free_key(ledger, f"{_slug(workspace.name)}-{_slug(name)}")
    project = Project(
        id=f"P-{ledger.mint()}",
        workspace_id=workspace.id,
        key=key,
        name=name,
        domain="general",
        status="active",
        created_at=now,
        updated_at=now,
    )
    told = {"projectId": project.id, "name": name}
    tx.record(
        Event(kind="project_created", changes=(insert("projects", project),), project_id=project.id, payload=told)
    )
    return project


def _free_key(ledger: Ledger, key: str) -> str:
    number, free = 1, key
    while ledger.tx.projects(free):
        number += 1
        free = f"{key}-{number}"
    return free


def _slug(name: str) -> str:
    words = "".join(char if char.isascii() and char.isalnum() else " " for char in name.lower()).split()
    return "-".join(words)[:40].strip("-") or "x"


def plan_issues(ledger: Ledger, scope: Scope, milestones: tuple[PlannedMilestone, ...]) -> Answer:
    """Milestones, issues and their gates, all pending, in one event."""
    tx = ledger.tx
    if scope.campaign is not None and scope.campaign.status == ARCHIVED:
        raise QueueInvalidTransition(f"Campaign {scope.campaign.id} is archived; nothing is planned into it.")
    wanted = list(dict.fromkeys(known for milestone in milestones for known in milestone.depends_on_ids))
    if unknown := tx.unknown_milestones(scope.project.id, wanted):
        place = next(i for i, milestone in enumerate(milestones) if unknown[0] in milestone.depends_on_ids)
        where = f"milestones[{place}].depends_on_milestone_ids"
        raise InvalidArgument(f"{where}: names no milestone of the project.", details={"fields": {where: "unknown"}})
    policy = NO_POLICY if scope.campaign is None else stored_policy(scope.campaign.policy)
    if policy is None:
        raise QueueCorrupt("The campaign's policy is damaged; nothing is planned under another one.")
    batch = batch_of(
        milestones,
        scope,
        policy,
        is_done=tx.is_milestone_done,
        mint=ledger.mint,
        at_ms=ledger.now.wall_ms,
    )
    edges = [
        *(("milestone_dependencies", "milestone_id", *edge) for edge in batch.milestone_edges),
        *(("issue_dependencies", "issue_id", *edge) for edge in batch.issue_edges),
    ]
    tx.record(
        Event(
            kind="issues_planned",
            changes=(
                *(insert("milestones", row) for row in batch.milestones),
                *(insert("issues", row) for row in batch.issues),
                *(Insert(table=table, row={own: before, "depends_on": after}) for table, own, before, after in edges),
            ),
            project_id=scope.project.id,
            campaign_id=scope.campaign_id,
            payload={"milestoneCount": len(batch.milestones), "issueCount": len(batch.issues)},
        )
    )
    return _planned(batch.milestones, batch.issues, batch.milestone_edges, batch.issue_edges)


def _planned(
    milestones: Sequence[Any],
    issues: Sequence[Issue],
    milestone_edges: Sequence[tuple[str, str]],
    issue_edges: Sequence[tuple[str, str]],
) -> Answer:
    needs: dict[str, list[str]] = {}
    for before, after in (*milestone_edges, *issue_edges):
        needs.setdefault(before, []).append(after)
    members: dict[str | None, list[Answer]] = {}
    for issue in issues:
        told = {"id": issue.id, "task": issue.task, "dependsOn": needs.get(issue.id, [])}
        members.setdefault(issue.milestone_id, []).append(told)
    return {
        "milestoneCount": len(milestones),
        "issueCount": len(issues),
        "generatedMilestones": [
            {
                "key": one.key,
                "id": one.id,
                "description": one.description,
                "dependsOnMilestoneIds": needs.get(one.id, []),
                "generatedIssues": members.get(one.id, []),
            }
            for one in milestones
        ],
    }


def promote_queue(ledger: Ledger, scope: Scope) -> Answer:
    """Make ready what may be, and say of the rest which gate keeps it back."""
    ledger.acts_as("promotion")
    raise_ranks(ledger, scope)
    promoted = ledger.promote(scope)
    kept: list[Answer] = []
    for issue in ledger.tx.pending(scope, limit=_KEPT_BACK):
        gate = gate_of(ledger.tx, issue)
        if gate is not None:
            kept.append({"issueId": issue.id, "task": issue.task, "reason": gate.reason})
    return {
        "promotedIssueIds": [one.id for one in sorted(promoted, key=claim_order)],
        "keptBack": kept,
    }


def reconcile_now(ledger: Ledger, scope: Scope) -> Answer:
    """Reconcile by itself."""
    return reconcile(ledger, scope).answer()


def resolve(
    ledger: Ledger,
    scope: Scope,
    issue_id: str,
    *,
    resolution: str,
    reason: str,
    next_step: str | None,
    if_epoch: int | None,
) -> Answer:
    """The operator's recovery: what becomes of stale work, decided and recorded in one transaction."""
    issue = the_issue(ledger.tx, issue_id)
    require_epoch(issue, if_epoch)
    reconcile(ledger, scope, only=issue)
    ledger.keep()
    issue = the_issue(ledger.tx, issue_id)
    if issue.status != NEEDS_RECOVERY:
        raise QueueInvalidTransition(
            f"Issue {issue.id} is {issue.status}; only needs_recovery can be recovered.",
            details={"issueId": issue.id, "status": issue.status},
        )
    to, columns = _resolved(ledger, issue, resolution, reason)
    also, recovered = ledger.free(issue, RECOVERED)
    ledger.acts_as("recovery")
    words = Words("recovery", f"Resolved by an operator ({resolution}): {reason}", next_step or _next(to, issue))
    after, _ = ledger.move(
        "recovery_resolved",
        issue,
        to,
        RECOVERY,
        words,
        also=also,
        payload={"resolution": resolution, "recoveredLeaseIds": recovered, "reason": reason},
        recoveries=issue.recoveries + 1,
        next_best_action=next_step or issue.next_best_action,
        **columns,
    )
    return _moved(issue, after) | {"recoveredLeaseIds": recovered, "resolution": resolution}


def _resolved(ledger: Ledger, issue: Issue, resolution: str, reason: str) -> tuple[str, dict[str, Any]]:
    if resolution == "requeue":
        return ledger.landing(issue)
    return {"block": (BLOCKED, {"blocked_reason": reason}), "fail": (FAILED, {"blocked_reason": reason})}[resolution]


def _next(to: str, issue: Issue) -> str:
    if to == BLOCKED:
        return "Unblock it when what blocks it is gone."
    if to == FAILED:
        return "Retry it, or roll it back."
    return issue.next_best_action or "Claim it."


def _moved(before: Issue, after: Issue) -> Answer:
    return present(
        {
            "issueId": after.id,
            "previousStatus": before.status,
            "newStatus": after.status,
            "leaseEpoch": after.lease_epoch,
            "blockedReason": after.blocked_reason,
        }
    )


def require_epoch(issue: Issue, epoch: int | None) -> None:
    """Refuse where the issue was taken again since it was shown."""
    if epoch is not None and issue.lease_epoch != epoch:
        raise LeaseConflict(
            f"Issue {issue.id} is at lease epoch {issue.lease_epoch}, not {epoch}: somebody took it since.",
            hint="Look at it again.",
            details={"issueId": issue.id, "leaseEpoch": issue.lease_epoch},
        )


def unblock(ledger: Ledger, issue_id: str, reason: str, if_epoch: int | None) -> Answer:
    """A blocked issue goes on: ready, or pending where a gate is closed; a lease on it ends."""
    issue = the_issue(ledger.tx, issue_id)
    require_epoch(issue, if_epoch)
    _require_running(ledger, issue)
    return _again(ledger, issue, UNBLOCK, kind="issue_unblocked", title="unblock", reason=reason, columns={})


def retry(ledger: Ledger, issue_id: str, reason: str, if_epoch: int | None) -> Answer:
    """A failed issue is tried anew; how often it was recovered starts again from nothing."""
    issue = the_issue(ledger.tx, issue_id)
    require_epoch(issue, if_epoch)
    return _again(ledger, issue, RETRY, kind="issue_retried", title="retry", reason=reason, columns={"recoveries": 0})


def _again(
    ledger: Ledger, issue: Issue, verb: str, *, kind: str, title: str, reason: str, columns: dict[str, Any]
) -> Answer:
    expected = BLOCKED if verb == UNBLOCK else FAILED
    if issue.status != expected:
        raise QueueInvalidTransition(
            f"Issue {issue.id} is {issue.status}; {verb} is for {expected} ones.",
            details={"issueId": issue.id, "status": issue.status},
        )
    to, landing = ledger.landing(issue)
    also, ended = ledger.free(issue, title)
    ledger.acts_as(title)
    words = Words(title, reason, issue.next_best_action or "Claim it.")
    after, _ = ledger.move(
        kind,
        issue,
        to,
        verb,
        words,
        also=also,
        payload={"reason": reason, "endedLeaseIds": ended},
        **landing,
        **columns,
    )
    return _moved(issue, after) | {"endedLeaseIds": ended}


def _require_running(ledger: Ledger, issue: Issue) -> None:
    if (campaign := campaign_of(ledger.tx, issue)) is not None and campaign.status != RUNNING:
        raise QueueInvalidTransition(
            f"Campaign {campaign.id} is {campaign.status}.",
            hint=f"`phelix queue undrain {campaign.id}` first." if campaign.status == DRAINED else None,
        )


def rollback(ledger: Ledger, issue_id: str, reason: str, if_epoch: int | None) -> Answer:
    """An issue goes back to pending, whatever it was; what it had opened goes back with it."""
    issue = the_issue(ledger.tx, issue_id)
    require_epoch(issue, if_epoch)
    also, ended = ledger.free(issue, "rollback")
    ledger.acts_as("system_rollback")
    gate = gate_of(ledger.tx, issue)
    after, point = ledger.move(
        "issue_rollback",
        issue,
        PENDING,
        ROLLBACK,
        Words("rollback", reason, "It is promoted again when every gate is open."),
        also=also,
        payload={"previousStatus": issue.status, "rolledBackTo": PENDING, "reason": reason, "endedLeaseIds": ended},
        next_best_action=None,
        blocked_reason=gate.reason if gate else None,
        promotable=int(gate is None),
        recoveries=0,
    )
    told = ledger.close_behind(after) if issue.status == DONE else NOTHING_BEHIND
    return (
        _moved(issue, after)
        | {"rollbackRunId": point.run_id, "endedLeaseIds": ended}
        | {
            "returnedIssueIds": told["returned"],
            "goingOnIssueIds": told["goingOn"],
        }
    )


def drain(ledger: Ledger, campaign: Campaign, reason: str) -> Answer:
    """Nothing new is claimed in a campaign; what runs goes on to its end."""
    _require_status(campaign, RUNNING, "drain")
    _set_status(ledger, campaign, DRAINED, "campaign_drained", reason)
    words = Words("drain", reason, "Undrain the campaign to go on.")
    drained: list[str] = []
    for issue in ledger.tx.in_campaign(campaign.id, (PENDING, READY)):
        ledger.move("issue_drained", issue, BLOCKED, DRAIN, words, blocked_reason=f"{DRAIN_REASON}:{campaign.id}")
        drained.append(issue.id)
    return {"campaignId": campaign.id, "status": DRAINED, "blockedIssueIds": drained}


def undrain(ledger: Ledger, campaign: Campaign, reason: str) -> Answer:
    """A drained campaign goes on; what the drain blocked is ready or pending again."""
    _require_status(campaign, DRAINED, "undrain")
    _set_status(ledger, campaign, RUNNING, "campaign_undrained", reason)
    words = Words("undrain", reason, "Claim it.")
    back: list[str] = []
    for issue in ledger.tx.in_campaign(campaign.id, (BLOCKED,)):
        if issue.blocked_reason == f"{DRAIN_REASON}:{campaign.id}":
            to, columns = ledger.landing(issue)
            ledger.move("issue_undrained", issue, to, UNBLOCK, words, **columns)
            back.append(issue.id)
    return {"campaignId": campaign.id, "status": RUNNING, "unblockedIssueIds": back}


def archive(ledger: Ledger, campaign: Campaign, reason: str) -> Answer:
    """A campaign is put away: its leases end, their issues go back to pending, nobody claims from it."""
    if campaign.status == ARCHIVED:
        raise QueueInvalidTransition(f"Campaign {campaign.id} is archived already.")
    _set_status(ledger, campaign, ARCHIVED, "campaign_archived", reason)
    words = Words("archive", reason, "The campaign is archived; nobody claims from it.")
    ended: list[str] = []
    returned: list[str] = []
    for issue in ledger.tx.in_campaign(campaign.id, ("in_progress", BLOCKED, NEEDS_RECOVERY, DONE, FAILED)):
        also, leases = ledger.free(issue, "archived")
        if issue.status in (DONE, FAILED):
            if leases:
                ledger.record("lease_released", issue, also, {"leaseId": leases[0], "reason": "archived"})
                ended += leases
            continue
        if not leases and issue.status == BLOCKED:
            continue
        gate = gate_of(ledger.tx, issue)
        columns: dict[str, Any] = {"blocked_reason": gate.reason if gate else None, "promotable": int(gate is None)}
        ledger.move("issue_archived", issue, PENDING, ARCHIVE, words, also=also, payload={"reason": reason}, **columns)
        ended += leases
        returned.append(issue.id)
    return {"campaignId": campaign.id, "status": ARCHIVED, "endedLeaseIds": ended, "returnedIssueIds": returned}


def _require_status(campaign: Campaign, status: str, verb: str) -> None:
    if campaign.status != status:
        raise QueueInvalidTransition(f"Campaign {campaign.id} is {campaign.status}; {verb} is for {status} ones.")


def _set_status(ledger: Ledger, campaign: Campaign, status: str, kind: str, reason: str) -> None:
    put = {"status": status, "updated_at": ledger.now.wall_ms}
    ledger.acts_as(kind)
    ledger.tx.record(
        Event(
            kind=kind,
            changes=(Update(table="campaigns", id=campaign.id, set=put, guard={"status": campaign.status}),),
            project_id=campaign.project_id,
            campaign_id=campaign.id,
            payload={"from": campaign.status, "to": status, "reason": reason},
        )
    )
