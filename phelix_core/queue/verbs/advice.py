"""What may be done next in a scope: the first stage that has something to say, and the call that would do it.

Nothing is written and nothing decided: a payload is suggested that succeeds, once its `requires` are filled in, if
nobody else acts in between. Stages in order: expired_lease, needs_recovery, dispatch_mismatch, ready_issue,
blocked_issue, blocked_milestone, pending_promotion, idle. Source: queue page, Actions (next_action).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from phelix_core.clock import Moment
from phelix_core.frozen import frozen
from phelix_core.queue import staleness
from phelix_core.queue.model import (
    DEFAULT_FRESHNESS_S,
    DEFAULT_TTL_S,
    DRAIN_REASON,
    DRAINED,
    INCOHERENT,
    NEEDS_RECOVERY,
    RUNNING,
    Issue,
    Lease,
    Scope,
    claim_order,
)
from phelix_core.queue.routing import Host, fit, route_from
from phelix_core.queue.store import Questions
from phelix_core.queue.verbs.answers import Answer, candidate_answer, present
from phelix_core.queue.verbs.ledger import campaign_of, gate_of

STAGES: Final = (
    "expired_lease",
    "needs_recovery",
    "dispatch_mismatch",
    "ready_issue",
    "blocked_issue",
    "blocked_milestone",
    "pending_promotion",
    "idle",
)
CONTRACT_VERSION: Final = "6.0.0"
"""Version of the lifecycle document that payloads name."""
_CANDIDATES: Final = 3
_LOOKED_AT: Final = 50
_REASON: Final = ("input.reason",)


@frozen
class Advice:
    """One stage with what it is about; `action` and `given` are the call that is suggested, None where none is."""

    stage: str
    reason: str
    action: str | None = None
    given: Mapping[str, object] | None = None
    requires: tuple[str, ...] = ()
    issue: Issue | None = None
    lease: Lease | None = None
    blocker: Mapping[str, object] | None = None
    candidates: tuple[Answer, ...] = ()

    @property
    def payload(self) -> Answer | None:
        """The whole payload that is suggested."""
        if self.action is None:
            return None
        return {"contractVersion": CONTRACT_VERSION, "action": self.action, "input": dict(self.given or {})}


def advise(tx: Questions, scope: Scope, host: Host, now: Moment) -> Advice:
    """The advice for a host."""
    looks = (_stale, _recovery, _ready, _stuck, _behind_milestone, _promotion)
    for look in looks:
        if (found := look(tx, scope, host, now)) is not None:
            return found
    return Advice(stage="idle", reason=_idle_reason(tx, scope))


def _scoped(scope: Scope, **more: object) -> dict[str, object]:
    return present({"projectId": scope.project.id, "campaignId": scope.campaign_id, **more})


def _hosted(scope: Scope, host: Host, **more: object) -> dict[str, object]:
    """The input of a begin, with every default."""
    return _scoped(
        scope,
        workspaceId=scope.project.workspace_id,
        host=host.name,
        hostCapabilities={
            "workloadClasses": sorted(host.workload_classes),
            "capabilities": sorted(host.capabilities),
        },
        mem0Enabled=False,
        leaseTtlSeconds=DEFAULT_TTL_S,
        checkpointFreshnessSeconds=DEFAULT_FRESHNESS_S,
        **more,
    )


def _stale(tx: Questions, scope: Scope, host: Host, now: Moment) -> Advice | None:
    """Work that the next begin would find stale: what it would mark decides what can be done about it."""
    found: list[tuple[Issue, Lease | None, str]] = []
    for lease, issue in tx.suspects(scope, now):
        finding = staleness.why_stale(issue.status, lease, now)
        if finding is not None and finding.reason is not None:
            found.append((issue, lease, finding.reason))
    found += [(issue, None, INCOHERENT) for issue in tx.strays(scope)]
    if not found:
        return None
    issue, lease, reason = min(found, key=lambda one: (not _fits(one[0], host), claim_order(one[0])))
    blocker = _blocker("stale_lease" if lease else INCOHERENT, reason, lease.id if lease else issue.id)
    if issue.recoveries >= issue.max_recoveries:
        told = f"Issue {issue.id} went stale ({reason}) and was recovered {issue.recoveries} times: it will be failed."
        return Advice(
            stage="expired_lease",
            reason=told,
            action="reconcile",
            given=_scoped(scope),
            issue=issue,
            lease=lease,
            blocker=blocker,
        )
    told = f"Issue {issue.id} is stale ({reason}); nothing new can be claimed before it is recovered."
    return _recovering(scope, host, issue, stage="expired_lease", reason=told, lease=lease, blocker=blocker)


def _recovery(tx: Questions, scope: Scope, host: Host, now: Moment) -> Advice | None:
    """Work that is marked already."""
    del now
    waiting = tx.needing_recovery(scope)
    if not waiting:
        return None
    issue = next((one for one in waiting if _fits(one, host)), waiting[0])
    why = issue.blocked_reason or NEEDS_RECOVERY
    told = f"Issue {issue.id} needs recovery ({why}); nothing new can be claimed before it is recovered."
    blocker = _blocker(NEEDS_RECOVERY, why, issue.id)
    return _recovering(scope, host, issue, stage=NEEDS_RECOVERY, reason=told, lease=None, blocker=blocker)


def _recovering(
    scope: Scope,
    host: Host,
    issue: Issue,
    *,
    stage: str,
    reason: str,
    lease: Lease | None,
    blocker: Mapping[str, object],
) -> Advice:
    """Taking it over, where the host may; else an operator's word that puts it back for a host that may."""
    if _fits(issue, host):
        return Advice(
            stage=stage,
            reason=reason,
            action="begin_recovery",
            given=_hosted(scope, host, preferredIssueId=issue.id),
            requires=("input.artifacts", "input.recoverySummary"),
            issue=issue,
            lease=lease,
            blocker=blocker,
        )
    return Advice(
        stage="dispatch_mismatch",
        reason=f'{reason} Host "{host.name}" may not take it over: {fit(route_from(issue.route), host).told}.',
        action="recover",
        given={"issueId": issue.id, "resolution": "requeue"},
        requires=_REASON,
        issue=issue,
        lease=lease,
        blocker=blocker,
        candidates=(_candidate(issue, host),),
    )


def _ready(tx: Questions, scope: Scope, host: Host, now: Moment) -> Advice | None:
    """What a claim would take, promoted first where every gate is open."""
    del now
    if scope.campaign is not None and scope.campaign.status != RUNNING:
        return None
    fitting = [issue for issue in tx.promotable(scope) if _fits(issue, host)][:1]
    others: list[Issue] = []
    for lane in _lanes(tx, scope):
        for route in tx.routes(scope.project.id, lane):
            fits = fit(route_from(route), host).eligible
            found = tx.first_ready(scope.project.id, lane, route, 1 if fits else _CANDIDATES)
            (fitting if fits else others).extend(found)
    if fitting:
        best = min(fitting, key=claim_order)
        return Advice(
            stage="ready_issue",
            reason=f"Issue {best.id} is {'ready' if best.status == 'ready' else 'about to be promoted'}.",
            action="begin_incremental",
            given=_hosted(scope, host, preferredIssueId=best.id),
            requires=("input.artifacts",),
            issue=best,
        )
    if not others:
        return None
    others = sorted(others, key=claim_order)[:_CANDIDATES]
    return Advice(
        stage="dispatch_mismatch",
        reason=f'Issues are ready, and host "{host.name}" may take none of them.',
        issue=others[0],
        blocker=_blocker("dispatch_mismatch", fit(route_from(others[0].route), host).told, others[0].id),
        candidates=tuple(_candidate(issue, host) for issue in others),
    )


def _lanes(tx: Questions, scope: Scope) -> list[str | None]:
    if scope.campaign is not None:
        return [scope.campaign.id]
    return [None, *(one.id for one in tx.campaigns(scope.project.id) if one.status == RUNNING)]


def _stuck(tx: Questions, scope: Scope, host: Host, now: Moment) -> Advice | None:
    """Blocked work that nobody holds, and failed work that keeps an issue back."""
    del host, now
    for issue in tx.stuck(scope, limit=_LOOKED_AT):
        why = issue.blocked_reason or "blocked"
        blocker = _blocker("blocked", why, issue.id)
        campaign = campaign_of(tx, issue)
        if campaign is not None and campaign.status == DRAINED:
            told = f"Campaign {campaign.id} is drained, and issue {issue.id} waits in it."
            undrain = {"campaignId": campaign.id, "projectId": scope.project.id}
            if why == f"{DRAIN_REASON}:{campaign.id}":
                blocker = _blocker(DRAIN_REASON, why, campaign.id, kind="campaign")
            return Advice(
                stage="blocked_issue",
                reason=told,
                action="undrain",
                given=undrain,
                requires=_REASON,
                issue=issue,
                blocker=blocker,
            )
        return Advice(
            stage="blocked_issue",
            reason=f"Issue {issue.id} is blocked: {why}.",
            action="unblock",
            given={"issueId": issue.id},
            requires=_REASON,
            issue=issue,
            blocker=blocker,
        )
    return _retrying(tx, "blocked_issue", tx.failed_before_issues(scope, limit=1))


def _behind_milestone(tx: Questions, scope: Scope, host: Host, now: Moment) -> Advice | None:
    """Failed work that keeps a milestone closed."""
    del host, now
    return _retrying(tx, "blocked_milestone", tx.failed_before_milestones(scope, limit=1))


def _retrying(tx: Questions, stage: str, found: Sequence[tuple[str, str]]) -> Advice | None:
    if not found:
        return None
    failed, waiting = tx.issue(found[0][0]), tx.issue(found[0][1])
    if failed is None or waiting is None:
        return None
    gate = gate_of(tx, waiting)
    why = gate.reason if gate else failed.id
    return Advice(
        stage=stage,
        reason=f"Issue {failed.id} failed, and {waiting.id} waits for it; a failed one never unlocks.",
        action="retry",
        given={"issueId": failed.id},
        requires=_REASON,
        issue=waiting,
        blocker=_blocker("failed", why, failed.id)
        | ({"milestoneId": failed.milestone_id} if failed.milestone_id else {}),
    )


def _promotion(tx: Questions, scope: Scope, host: Host, now: Moment) -> Advice | None:
    """Pending issues whose gates are open, though this host may take none of them."""
    del host, now
    opened = tx.promotable(scope)
    if not opened:
        return None
    return Advice(
        stage="pending_promotion",
        reason=f"{len(opened)} pending issues wait for nothing any more.",
        action="promote_queue",
        given=_scoped(scope),
        issue=opened[0],
    )


def _idle_reason(tx: Questions, scope: Scope) -> str:
    told = ", ".join(f"{number} {status}" for status, number in tx.open_counts(scope).items() if number)
    return (
        f"Nothing can be claimed, recovered or unblocked: {told}." if told else "There is no open work in this scope."
    )


def _fits(issue: Issue, host: Host) -> bool:
    return fit(route_from(issue.route), host).eligible


def _candidate(issue: Issue, host: Host) -> Answer:
    return candidate_answer(issue, fit(route_from(issue.route), host))


def _blocker(code: str, summary: str, ref: str, kind: str | None = None) -> dict[str, Any]:
    told = kind or ("lease" if code == "stale_lease" else "issue")
    return {"code": code, "kind": code, "refId": ref, "refType": told, "summary": summary}
