"""`queue audit`: everything that was recorded of one issue, a page at a time, read and never written.

A page is as many events, newest first, with the checkpoints that they carry; its cursor names its last event. Source:
queue page, Actions (inspect_audit).
"""

from collections.abc import Sequence
from typing import Annotated, Any, Final

from phelix_core.checks import Help, at_least, full_match
from phelix_core.clock import Moment, iso, moment_of
from phelix_core.commands.environment import Environment
from phelix_core.commands.queue.fields import (
    IssueId,
)
from phelix_core.commands.queue.shapes import (
    artifact_shape,
    event_shape,
    issue_shape,
    lease_shape,
    link_shape,
)
from phelix_core.commands.registry import Effect, command
from phelix_core.frozen import frozen
from phelix_core.queue.model import (
    Issue,
    Lease,
)
from phelix_core.queue.store import Questions
from phelix_core.queue.verbs.answers import Answer, checkpoint_answer, present
from phelix_core.queue.verbs.ledger import the_issue

_AUDITED: Final = 50
_COUNTED: Final = 5_000
_BEFORE: Final = full_match("e[0-9]{1,18}", "the nextCursor of the page before")


@frozen
class AuditIssue:
    """Tell everything that was recorded of one issue, newest first, a page at a time."""

    issue_id: IssueId
    limit: Annotated[int, at_least(1, 100), Help(f"At most so many events a page ({_AUDITED})")] = _AUDITED
    cursor: Annotated[str | None, _BEFORE, Help("The nextCursor of the page before")] = None


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
