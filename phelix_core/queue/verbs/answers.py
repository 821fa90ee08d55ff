"""Answers in the shapes of the lifecycle document: camelCase, ISO times, plain JSON values."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from phelix_core.clock import iso
from phelix_core.queue.model import Artifact, Checkpoint, Issue, Lease, Project, Run, epoch_key

if TYPE_CHECKING:  # a holder's own steps are routed nowhere
    from phelix_core.queue.routing import Fit, Host

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


NOT_ENABLED: Final = "memory is not enabled for this session"


def _notes(run: Run) -> dict[str, Any]:
    """What a begin noted; nothing where somebody damaged it."""
    notes = stored_json(run.notes)
    return cast("dict[str, Any]", notes) if isinstance(notes, dict) else {}


def remembers(run: Run) -> bool:
    """Whether the run began with memory."""
    return _notes(run).get("memory") is True


def checkpoint_answer(checkpoint: Checkpoint, event_id: str | None = None) -> Answer:
    """A checkpoint as payloads show it; `event_id` names the event that carries it, where the caller wrote it."""
    told = {} if event_id is None else {"payloadEventId": event_id}
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
        **told,
    }


def candidate_answer(issue: Issue, verdict: "Fit") -> Answer:
    """An issue that a host may not take, with what the host misses."""
    return present(
        {
            "issueId": issue.id,
            "task": issue.task,
            "requiredWorkloadClass": verdict.required_class,
            "requiredHostCapabilities": list(verdict.required),
            "missingWorkloadClass": verdict.required_class if verdict.missing_class else None,
            "missingHostCapabilities": list(verdict.missing),
        }
    )


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
    notes = _notes(run)
    capabilities, with_memory = notes.get("hostCapabilities"), notes.get("memory") is True
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
            "mem0": present(
                {
                    "enabled": with_memory,
                    "available": False,
                    "query": issue.task,
                    "details": None if with_memory else NOT_ENABLED,
                    "recalledMemories": [],
                }
            ),
        }
    )
