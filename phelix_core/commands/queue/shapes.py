"""Rows as answers show them: the lifecycle's names, and what a reader computes beside them."""

from typing import Any

from phelix_core.clock import Moment, iso
from phelix_core.commands.queue.holders import is_gone
from phelix_core.queue import staleness
from phelix_core.queue.model import (
    ACTIVE,
    PRIORITIES,
    Artifact,
    Issue,
    Lease,
    MemoryLink,
    Milestone,
    Run,
    StoredEvent,
    epoch_key,
)
from phelix_core.queue.policy import breaches, is_escalated, stored_policy
from phelix_core.queue.verbs.answers import present, stored_json

Shape = dict[str, Any]


def time_or_none(ms: int | None) -> str | None:
    """An ISO time, or nothing."""
    return None if ms is None else iso(ms)


def issue_shape(issue: Issue, now_ms: int) -> Shape:
    """An issue."""
    policy = stored_policy(issue.policy)
    found = breaches(policy, issue, now_ms) if policy is not None else ()
    effective = PRIORITIES[issue.rank]
    state = {
        "effectivePriority": effective,
        "escalated": is_escalated(issue, found),
        "breaches": [
            present(
                {
                    "trigger": breach.trigger,
                    "breachedAt": iso(breach.at),
                    "minutesOverdue": (now_ms - breach.at) // 60_000,
                    "action": breach.action,
                    "priority": breach.priority,
                    "note": breach.note,
                }
            )
            for breach in found
        ],
    }
    return present(
        {
            "id": issue.id,
            "task": issue.task,
            "priority": issue.priority,
            "status": issue.status,
            "size": issue.size,
            "projectId": issue.project_id,
            "campaignId": issue.campaign_id,
            "milestoneId": issue.milestone_id,
            "nextBestAction": issue.next_best_action,
            "blockedReason": issue.blocked_reason,
            "deadlineAt": time_or_none(issue.deadline_at),
            "leaseEpoch": issue.lease_epoch,
            "effectId": epoch_key(issue.id, issue.lease_epoch) if issue.lease_epoch else None,
            "recoveries": issue.recoveries,
            "maxRecoveries": issue.max_recoveries,
            "recipients": stored_json(issue.recipients) or None,
            "approvals": stored_json(issue.approvals) or None,
            "externalRefs": stored_json(issue.external_refs) or None,
            "policy": stored_json(issue.policy) or None,
            "policyState": state if found or effective != issue.priority else None,
            "createdAt": iso(issue.created_at),
            "updatedAt": iso(issue.updated_at),
        }
    )


def lease_shape(lease: Lease, now: Moment) -> Shape:
    """A lease, and how it stands now."""
    standing = staleness.of_lease(lease, now)
    fresh = staleness.of_checkpoint(lease, now)
    is_active = lease.status == ACTIVE
    return present(
        {
            "id": lease.id,
            "issueId": lease.issue_id,
            "runId": lease.run_id,
            "sessionId": lease.session_id,
            "agentId": lease.agent_id,
            "host": lease.host,
            "status": lease.status,
            "epoch": lease.epoch,
            "acquiredAt": iso(lease.acquired_at),
            "renewedAt": iso(lease.renewed_at),
            "expiresAt": iso(lease.expires_at),
            "ttlSeconds": lease.ttl_ms // 1000,
            "checkpointFreshnessSeconds": lease.freshness_ms // 1000,
            "lastHeartbeatAt": time_or_none(lease.last_heartbeat_at),
            "lastCheckpointAt": time_or_none(lease.checkpoint_at),
            "releasedAt": time_or_none(lease.released_at),
            "endReason": lease.end_reason,
            "standing": standing.state if is_active else None,
            "leftMs": standing.left_ms if is_active else None,
            "clock": standing.clock if is_active else None,
            "checkpointStanding": fresh.state if is_active else None,
            "checkpointLeftMs": fresh.left_ms if is_active else None,
            "holderPid": lease.holder_pid,
            "holderGone": is_gone(lease.holder_pid, lease.holder_started, lease.boot, now.boot) if is_active else None,
        }
    )


def run_shape(run: Run) -> Shape:
    """A run."""
    return present(
        {
            "id": run.id,
            "sessionType": run.session_type,
            "status": run.status,
            "host": run.host,
            "agentId": run.agent_id,
            "leaseId": run.lease_id,
            "via": run.via,
            "startedAt": iso(run.started_at),
            "finishedAt": time_or_none(run.finished_at),
        }
    )


def artifact_shape(artifact: Artifact) -> Shape:
    """An artifact."""
    return present(
        {
            "id": artifact.id,
            "issueId": artifact.issue_id,
            "runId": artifact.run_id,
            "kind": artifact.kind,
            "path": artifact.path,
            "status": artifact.status,
            "metadata": stored_json(artifact.metadata) or None,
            "createdAt": iso(artifact.created_at),
            "releasedAt": time_or_none(artifact.released_at),
        }
    )


def link_shape(link: MemoryLink) -> Shape:
    """What the memory knows."""
    return present(
        {
            "id": link.id,
            "issueId": link.issue_id,
            "runId": link.run_id,
            "checkpointId": link.checkpoint_id,
            "memoryKind": link.memory_kind,
            "memoryRef": link.memory_ref,
            "summary": link.summary,
            "createdAt": iso(link.created_at),
        }
    )


def event_shape(event: StoredEvent) -> Shape:
    """An event."""
    return present(
        {
            "id": event.id,
            "seq": event.seq,
            "kind": event.kind,
            "issueId": event.issue_id,
            "runId": event.run_id,
            "via": event.via,
            "payload": stored_json(event.payload),
            "createdAt": iso(event.at),
        }
    )


def milestone_shape(milestone: Milestone, status: str, reason: str | None, counts: dict[str, int]) -> Shape:
    """A milestone with its derived status."""
    return present(
        {
            "id": milestone.id,
            "key": milestone.key,
            "description": milestone.description,
            "campaignId": milestone.campaign_id,
            "status": status,
            "blockedReason": reason,
            "issueCounts": counts,
            "deadlineAt": time_or_none(milestone.deadline_at),
        }
    )
