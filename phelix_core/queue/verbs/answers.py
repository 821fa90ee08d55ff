"""Answers in the shapes of the lifecycle document: camelCase, ISO times, plain JSON values."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from phelix_core.clock import iso
from phelix_core.queue.model import Artifact, Checkpoint, Issue, Lease, Project, Run, epoch_key

if TYPE_CHECKING:  # a holder's own steps are routed nowhere
    from phelix_core.queue.routing import Host

Answer = dict[str, Any]


def present(members: Mapping[str, Any]) -> Answer:
    """Without members that hold nothing."""
    return {name: value for name, value in members.items() if value is not None}


def stored_json(text: str) -> Any:
    """JSON from a row; None where somebody damaged it, which must hide nothing else."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def checkpoint_answer(checkpoint: Checkpoint) -> Answer:
    """A checkpoint as payloads show it."""
    return {
        "id": checkpoint.id,
        "runId": checkpoint.run_id,
        "issueId": checkpoint.issue_id,
        "title": checkpoint.title,
        "summary": checkpoint.summary,
        "taskStatus": checkpoint.task_status,
        "nextStep": checkpoint.next_step,
        "artifactIds": stored_json(checkpoint.artifact_ids),
        "createdAt": iso(checkpoint.created_at),
    }


def context_answer(
    *,
    path: str,
    project: Project,
    issue: Issue,
    lease: Lease,
    run: Run,
    claim_mode: str,
    host: "Host | None",
    artifacts: Sequence[Artifact],
    checkpoint: Checkpoint,
) -> Answer:
    """The context that a begin answers and that later verbs take back."""
    scope = {"workspace": project.workspace_id, "project": project.id, "campaign": issue.campaign_id}
    notes = stored_json(run.notes)
    capabilities = cast("dict[str, Any]", notes).get("hostCapabilities") if isinstance(notes, dict) else None
    if host is not None:
        capabilities = {"workloadClasses": sorted(host.workload_classes), "capabilities": sorted(host.capabilities)}
    return present(
        {
            "sessionId": lease.session_id or run.id,
            "dbPath": path,
            "workspaceId": project.workspace_id,
            "projectId": project.id,
            "campaignId": issue.campaign_id,
            "agentId": lease.agent_id,
            "host": lease.host,
            "hostCapabilities": capabilities,
            "runId": run.id,
            "leaseId": lease.id,
            "leaseEpoch": lease.epoch,
            "leaseExpiresAt": iso(lease.expires_at),
            "effectId": epoch_key(issue.id, lease.epoch),
            "issueId": issue.id,
            "issueTask": issue.task,
            "claimMode": claim_mode,
            "artifacts": [{"id": one.id, "kind": one.kind, "path": one.path} for one in artifacts],
            "scope": present({**scope, "task": issue.id, "run": run.id}),
            "currentTaskStatus": issue.status,
            "currentCheckpointId": checkpoint.id,
            "nextBestAction": issue.next_best_action,
            "mem0": {
                "enabled": False,
                "available": False,
                "query": issue.task,
                "details": "memory is not enabled for this session",
                "recalledMemories": [],
            },
        }
    )
