"""What a queue write is about, and what must still hold when it is applied."""

from typing import Any

from phelix_core.clock import iso
from phelix_core.commands.queue.intent import Subject, Target
from phelix_core.errors import LeaseLost, NotFound
from phelix_core.queue.model import Issue, Scope
from phelix_core.queue.store import Questions
from phelix_core.queue.verbs.answers import present
from phelix_core.queue.verbs.ledger import active_of, the_campaign, the_issue, the_project


def scope_of(tx: Questions, project: str | None, campaign: str | None, workspace: str | None = None) -> Scope:
    """The project that is meant, or one campaign of it; a workspace that is named must be the project's."""
    found = the_project(tx, project)
    if workspace is not None and not any(
        workspace in (one.id, one.name) for one in tx.workspaces() if one.id == found.workspace_id
    ):
        raise NotFound("There is no such project in the workspace that is named.")
    return Scope(project=found, campaign=the_campaign(tx, found, campaign))


def scope_target(request: Any) -> Target:
    """A write about a scope."""

    def target(tx: Questions) -> Subject:
        return about(scope_of(tx, request.project, request.campaign))

    return target


def about(scope: Scope) -> Subject:
    """The subject of a write about a scope."""
    named = present({"project": scope.project.id, "campaign": scope.campaign_id})
    return Subject(project_id=scope.project.id, target=named)


def issue_target(issue_id: str) -> Target:
    """A write about an issue, bound to its status, its lease and its last checkpoint as they are."""

    def target(tx: Questions) -> Subject:
        issue = the_issue(tx, issue_id)
        return Subject(
            project_id=issue.project_id,
            target={"issue": issue.id, "task": issue.task},
            preconditions=preconditions(tx, issue),
        )

    return target


def lease_target(lease_id: str) -> Target:
    """A write about the issue that a lease holds."""

    def target(tx: Questions) -> Subject:
        lease = tx.lease(lease_id)
        if lease is None:
            raise LeaseLost("There is no such lease.", details={"leaseId": lease_id, "ended": None})
        issue = the_issue(tx, lease.issue_id)
        return Subject(
            project_id=issue.project_id,
            target={"issue": issue.id, "task": issue.task, "lease": lease.id},
            preconditions=preconditions(tx, issue),
        )

    return target


def preconditions(tx: Questions, issue: Issue) -> dict[str, object]:
    """What an operator sees of an issue and its lease; any change of it is a conflict."""
    leases = tx.leases_of(issue.id)
    lease = active_of(leases) or next(reversed(leases), None)
    last = next(iter(tx.checkpoints_of(issue.id, limit=1)), None)
    return present(
        {
            "status": issue.status,
            "epoch": issue.lease_epoch,
            "lease": lease.id if lease else None,
            "lease_status": lease.status if lease else None,
            "holder": lease.agent_id if lease else None,
            "expires_at": iso(lease.expires_at) if lease else None,
            "last_checkpoint": last.id if last else None,
        }
    )
