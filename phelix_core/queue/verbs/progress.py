"""What a holder does under its lease: checkpoint, heartbeat, close, save an artifact.

Each names the lease; what else is given must match. A lease that is no longer active is `LEASE_LOST`, with how
it ended, and nothing is written: time only allows reconcile to act, the lease row alone decides who may
write. Source: queue page, Who may write.
"""

from typing import Any

from phelix_core.clock import iso
from phelix_core.errors import InvalidArgument, LeaseConflict, LeaseLost
from phelix_core.frozen import changed, frozen
from phelix_core.queue.journal import Change, Update, insert
from phelix_core.queue.model import (
    ACTIVE,
    BLOCKED,
    DONE,
    NEEDS_RECOVERY,
    READY,
    RELEASED,
    Artifact,
    Checkpoint,
    Issue,
    Lease,
    Run,
    Scope,
)
from phelix_core.queue.transitions import (
    CHECKPOINT,
    CHECKPOINT_STATUSES,
    CLOSE,
    CLOSE_STATUSES,
    require_status,
)
from phelix_core.queue.verbs import memory
from phelix_core.queue.verbs.answers import NOT_ENABLED, Answer, checkpoint_answer, context_answer, present, remembers
from phelix_core.queue.verbs.leases import renewal
from phelix_core.queue.verbs.ledger import Ledger, Words, the_issue, the_project
from phelix_core.queue.verbs.memory import NO_WISH, Wish

SCORECARD = "csqr-lite-scorecard"
"""The kind of a scorecard's artifact."""


@frozen
class Holding:
    """What a caller says of the lease that it holds."""

    lease_id: str
    issue_id: str | None = None
    run_id: str | None = None
    agent_id: str | None = None
    epoch: int | None = None
    path: str = ""


@frozen
class Scorecard:
    """A scorecard that a caller hands in beside its report; `content` is its JSON."""

    path: str
    content: str


@frozen
class Report:
    """What a checkpoint or a close says."""

    status: str
    summary: str
    next_step: str
    evidence: tuple[str, ...]
    title: str | None = None
    reason: str | None = None
    memory: Wish = NO_WISH
    scorecards: tuple[Scorecard, ...] = ()


def held(ledger: Ledger, holding: Holding) -> tuple[Lease, Issue, Run]:
    """The lease, its issue and its run, while the lease is the one that holds the issue."""
    lease = ledger.tx.lease(holding.lease_id)
    if lease is None:
        raise LeaseLost("There is no such lease.", details={"leaseId": holding.lease_id, "ended": None})
    if lease.status != ACTIVE:
        raise _lost(ledger, lease)
    matches = (
        holding.issue_id in (None, lease.issue_id)
        and holding.run_id in (None, lease.run_id)
        and holding.agent_id in (None, lease.agent_id)
        and holding.epoch in (None, lease.epoch)
    )
    if not matches:
        raise LeaseLost(
            "The lease is not of this issue, run, agent and epoch: another process may have gone on with it.",
            details={"leaseId": lease.id, "ended": None},
        )
    run = ledger.tx.run(lease.run_id)
    if run is None:
        raise LeaseConflict(f"The run of lease {lease.id} is missing.", hint="`phelix doctor` looks into it.")
    return lease, the_issue(ledger.tx, lease.issue_id), run


def _lost(ledger: Ledger, lease: Lease) -> LeaseLost:
    followed = next((one for one in ledger.tx.leases_of(lease.issue_id) if one.epoch > lease.epoch), None)
    told = (
        f"{lease.status} ({lease.end_reason})"
        if lease.end_reason and lease.end_reason != lease.status
        else lease.status
    )
    by = f"; {followed.agent_id} holds epoch {followed.epoch} since" if followed is not None else ""
    return LeaseLost(
        f"Lease {lease.id} is {told}{by}. Stop working on {lease.issue_id}; nothing was written.",
        details=present(
            {
                "leaseId": lease.id,
                "issueId": lease.issue_id,
                "ended": lease.status,
                "reason": lease.end_reason,
                "endedAt": iso(lease.released_at) if lease.released_at else None,
                "followedBy": followed.id if followed else None,
            }
        ),
    )


def require_report(report: Report, verb: str) -> None:
    """Refuse a report that is not one, before anything is read."""
    require_status(report.status, CHECKPOINT_STATUSES if verb == CHECKPOINT else CLOSE_STATUSES, verb)
    missing = [
        name
        for name, value in (
            ("summary", report.summary),
            ("next_step", report.next_step),
            ("evidence", report.evidence or report.scorecards),
        )
        if not value
    ]
    if missing:
        raise InvalidArgument(
            f"{missing[0].removesuffix('_step')}: a checkpoint needs a status, a summary, evidence and a next step.",
            details={"fields": dict.fromkeys(missing, "required")},
        )
    if report.reason is not None and report.status != BLOCKED:
        told = "only a blocked issue has one; say it in the summary"
        raise InvalidArgument(f"reason: {told}.", details={"fields": {"reason": told}})


def checkpoint(ledger: Ledger, holding: Holding, report: Report) -> Answer:
    """Record progress, and renew the lease; needs_recovery ends it."""
    require_report(report, CHECKPOINT)
    lease, issue, run = held(ledger, holding)
    ends = report.status == NEEDS_RECOVERY
    also: tuple[Change, ...]
    if ends:
        also = ledger.release(lease, NEEDS_RECOVERY, status=NEEDS_RECOVERY)
    else:
        put = renewal(ledger, lease, checkpointed=True)
        also = (Update(table="leases", id=lease.id, set=put, guard={"status": ACTIVE, "epoch": lease.epoch}),)
        if run.status != report.status:
            also = (*also, Update(table="runs", id=run.id, set={"status": report.status}))
        lease = changed(lease, **put)
    after, point, told = _reported(ledger, issue, lease, run, report, verb=CHECKPOINT, also=also)
    if report.status == DONE and issue.status != DONE:
        ledger.mark_opened(after)
    return {
        "context": _context(ledger, lease, after, changed(run, status=report.status), point=point, path=holding.path),
        **told,
    }


def close(ledger: Ledger, holding: Holding, report: Report) -> Answer:
    """The last word under a lease: final checkpoint, lease ended, and what waited for it promoted."""
    require_report(report, CLOSE)
    lease, issue, run = held(ledger, holding)
    to, columns = report.status, {}
    if to == READY:
        to, columns = ledger.landing(issue)
    status = NEEDS_RECOVERY if to == NEEDS_RECOVERY else RELEASED
    also = ledger.release(lease, "handoff" if report.status == READY else to, status=status)
    after, point, told = _reported(ledger, issue, lease, run, report, verb=CLOSE, also=also, to=to, columns=columns)
    promoted: list[str] = []
    if to == DONE:
        ledger.acts_as("promotion")
        if issue.status != DONE:
            ledger.mark_opened(after)
        project = the_project(ledger.tx, issue.project_id)
        promoted = [one.id for one in ledger.promote(Scope(project=project))]
    ended = changed(run, status=to, finished_at=ledger.now.wall_ms)
    return {
        "context": _context(ledger, lease, after, ended, point=point, path=holding.path),
        **told,
        "releasedLease": lease.id,
        "promotedIssueIds": promoted,
    }


def _reported(
    ledger: Ledger,
    issue: Issue,
    lease: Lease,
    run: Run,
    report: Report,
    *,
    verb: str,
    also: tuple[Change, ...],
    to: str | None = None,
    columns: dict[str, Any] | None = None,
) -> tuple[Issue, Checkpoint, Answer]:
    """Move the issue with its checkpoint; answers both, and what the answer tells of them."""
    to = to or report.status
    cards, registered = _scorecards(ledger, issue, run, report.scorecards)
    evidence = (*report.evidence, *cards)
    due = memory.is_due(verb, report.status, report.memory)
    skipped = NOT_ENABLED if due and not remembers(run) else None
    reason = (report.reason or report.summary[:200]) if to == BLOCKED else None
    more: dict[str, Any] = {"blocked_reason": reason, "next_best_action": report.next_step, **(columns or {})}
    payload = {"leaseId": lease.id, "epoch": lease.epoch, "artifactIds": list(evidence)}
    after, point = ledger.move(
        "checkpoint_payload" if verb == CHECKPOINT else "session_closed",
        issue,
        to,
        verb,
        Words(report.title or verb, report.summary, report.next_step),
        run_id=run.id,
        lease_id=lease.id,
        evidence=evidence,
        also=(*registered, *also),
        payload=payload | present({"csqrLiteScorecardArtifactIds": cards or None, "memoryWriteSkipped": skipped}),
        **more,
    )
    told = present(
        {
            "checkpoint": checkpoint_answer(point, ledger.event_id),
            "csqrLiteScorecardArtifactIds": cards or None,
            memory.SKIPPED: skipped,
            memory.OUTBOX: memory.put_by(ledger, after, point, verb, report.memory) if due and not skipped else None,
        }
    )
    return after, point, told


def _scorecards(
    ledger: Ledger, issue: Issue, run: Run, cards: tuple[Scorecard, ...]
) -> tuple[list[str], tuple[Change, ...]]:
    """Scorecards as artifacts, which count as evidence; they are kept, and judge nothing."""
    rows = [
        Artifact(
            id=f"A-{ledger.mint()}",
            project_id=issue.project_id,
            campaign_id=issue.campaign_id,
            issue_id=issue.id,
            run_id=run.id,
            kind=SCORECARD,
            path=card.path,
            status=RELEASED,
            metadata=card.content,
            created_at=ledger.now.wall_ms,
            released_at=ledger.now.wall_ms,
        )
        for card in cards
    ]
    return [one.id for one in rows], tuple(insert("artifacts", one) for one in rows)


def _context(ledger: Ledger, lease: Lease, issue: Issue, run: Run, *, point: Any, path: str) -> Answer:
    return context_answer(
        path=path,
        project=the_project(ledger.tx, issue.project_id),
        issue=issue,
        lease=lease,
        run=run,
        claim_mode="recovery" if run.session_type == "incremental-recovery" else "claim",
        host=None,
        artifacts=[one for one in ledger.tx.artifacts_of(issue.id) if one.run_id == run.id],
        checkpoint=point,
    )


def heartbeat(ledger: Ledger, holding: Holding, ttl_s: int | None) -> Answer:
    """Extend a lease; it never shortens one, and it is no checkpoint."""
    lease, issue, run = held(ledger, holding)
    put = renewal(ledger, lease, ttl_ms=None if ttl_s is None else ttl_s * 1000)
    put["last_heartbeat_at"] = ledger.now.wall_ms
    update = Update(table="leases", id=lease.id, set=put, guard={"status": ACTIVE, "epoch": lease.epoch})
    told = {"leaseId": lease.id, "epoch": lease.epoch, "leaseExpiresAt": iso(put["expires_at"])}
    ledger.record("lease_heartbeat", issue, (update,), told, run_id=run.id)
    return {
        "leaseId": lease.id,
        "issueId": issue.id,
        "leaseEpoch": lease.epoch,
        "leaseExpiresAt": iso(put["expires_at"]),
    }


def save_artifact(
    ledger: Ledger, issue_id: str, holding: Holding | None, *, kind: str, path: str, metadata: str
) -> Answer:
    """Note something that the work on an issue made."""
    extra: tuple[Change, ...] = ()
    if holding is not None:
        _, issue, run = held(ledger, changed(holding, issue_id=issue_id))
    else:
        issue = the_issue(ledger.tx, issue_id)
        run, extra = ledger.machine_run(issue.project_id, issue.campaign_id)
    artifact = Artifact(
        id=f"A-{ledger.mint()}",
        project_id=issue.project_id,
        campaign_id=issue.campaign_id,
        issue_id=issue.id,
        run_id=run.id,
        kind=kind,
        path=path,
        status=ACTIVE if holding is not None else RELEASED,
        metadata=metadata,
        created_at=ledger.now.wall_ms,
        released_at=None if holding is not None else ledger.now.wall_ms,
    )
    told = {"artifactId": artifact.id, "kind": kind, "path": path}
    ledger.record("artifact_saved", issue, (*extra, insert("artifacts", artifact)), told, run_id=run.id)
    return {"artifactId": artifact.id, "issueId": issue.id, "kind": kind, "path": path}
