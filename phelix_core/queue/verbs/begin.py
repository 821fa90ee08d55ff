"""Taking work: reconcile, resume one's own lease, promote, claim; and the taking over of stale work.

Order and rules: queue page, Actions (begin_incremental, host routing, begin_recovery) and Reconcile.
"""

import json
from collections.abc import Sequence
from typing import Any, Final

from phelix_core.errors import (
    AlreadyExists,
    HostMismatch,
    InvalidArgument,
    IssueNotClaimable,
    NothingReady,
    RecoveryRequired,
)
from phelix_core.frozen import changed, frozen
from phelix_core.queue import staleness
from phelix_core.queue.duties import RESUMED
from phelix_core.queue.journal import Change, Update, insert
from phelix_core.queue.model import (
    ACTIVE,
    BLOCKED,
    DEFAULT_FRESHNESS_S,
    DEFAULT_TTL_S,
    IN_PROGRESS,
    NEEDS_RECOVERY,
    READY,
    RECOVERED,
    RELEASED,
    RUNNING,
    Artifact,
    Issue,
    Lease,
    Run,
    Scope,
    claim_order,
)
from phelix_core.queue.policy import Policy, ranked, stored_policy
from phelix_core.queue.routing import Host, fit, route_from
from phelix_core.queue.store import Transaction
from phelix_core.queue.transitions import CLAIM, RECOVERY
from phelix_core.queue.verbs.answers import Answer, candidate_answer, context_answer, present
from phelix_core.queue.verbs.leases import renewal
from phelix_core.queue.verbs.ledger import Ledger, Words, active_of, campaign_of, gate_of, the_issue
from phelix_core.queue.verbs.reconcile import blockers, reconcile

_TOLD_BLOCKERS: Final = 100
_CANDIDATES: Final = 3


@frozen
class Ask:
    """What a begin is given; `record_id` is the session record to make where the caller names no session."""

    scope: Scope
    host: Host
    agent_id: str | None = None
    preferred: str | None = None
    session_id: str | None = None
    record_id: str | None = None
    artifacts: tuple[tuple[str, str], ...] = ()
    ttl_s: int = DEFAULT_TTL_S
    freshness_s: int = DEFAULT_FRESHNESS_S
    holder_pid: int | None = None
    holder_started: int | None = None
    path: str = ""
    begin_input: str = "{}"
    memory: bool = False


def begin(ledger: Ledger, ask: Ask) -> Answer:
    """Claim or resume; refusals are those of the page."""
    _require_distinct(ask.artifacts)
    tx, scope = ledger.tx, ask.scope
    reconcile(ledger, scope)
    ledger.keep()
    if (mine := _own_lease(ledger, ask)) is not None:
        return _resume(ledger, ask, mine)
    if scope.campaign is not None and scope.campaign.status != RUNNING:
        raise IssueNotClaimable(
            f"Campaign {scope.campaign.id} is {scope.campaign.status}: nothing new is claimed in it."
        )
    if stale := tx.needing_recovery(scope):
        first = stale[0]
        raise RecoveryRequired(
            f"{len(stale)} issue{'' if len(stale) == 1 else 's'} in scope must be recovered first: {first.id}.",
            hint=f"`phelix queue recover {first.id}` takes it over or decides what becomes of it.",
            details={"blockers": blockers(tx, stale[:_TOLD_BLOCKERS]), "blockerCount": len(stale)},
        )
    ledger.acts_as("promotion")
    promoted = ledger.promote(scope)
    raise_ranks(ledger, scope)
    issue = _preferred(ledger, ask) if ask.preferred else _first_fitting(tx, ask)
    answer = _take(ledger, ask, issue, "claim")
    return answer | present({"promotedIssueIds": [one.id for one in promoted] or None})


def begin_recovery(ledger: Ledger, ask: Ask, summary: str, next_step: str | None) -> Answer:
    """Take over an issue that needs recovery."""
    _require_distinct(ask.artifacts)
    tx = ledger.tx
    reconcile(ledger, ask.scope)
    ledger.keep()
    waiting = [the_issue(tx, ask.preferred)] if ask.preferred else tx.needing_recovery(ask.scope)
    if not waiting:
        raise NothingReady("No issue in scope needs recovery.")
    if ask.preferred:
        _require_in_scope(waiting[0], ask.scope)
        if waiting[0].status != NEEDS_RECOVERY:
            raise IssueNotClaimable(
                f"Issue {waiting[0].id} is {waiting[0].status}; only needs_recovery can be recovered.",
                details={"issueId": waiting[0].id, "status": waiting[0].status},
            )
    fitting = next((one for one in waiting if fit(route_from(one.route), ask.host).eligible), None)
    if fitting is None:
        raise _mismatch(waiting[:_CANDIDATES], ask.host)
    return _take(ledger, ask, fitting, "recovery", summary=summary, next_step=next_step)


def raise_ranks(ledger: Ledger, scope: Scope) -> None:
    """Raise the priority of ready issues whose deadline, service level or age says so by now."""
    for issue in ledger.tx.rank_due(scope, ledger.now.wall_ms):
        rank, due = ranked(issue, stored_policy(issue.policy) or Policy(), ledger.now.wall_ms)
        ledger.note("priority_raised", issue, {"rank": rank, "rank_due_at": due}, {"from": issue.rank, "to": rank})


def _require_distinct(artifacts: Sequence[tuple[str, str]]) -> None:
    if len(set(artifacts)) != len(artifacts):
        told = "the same kind and path stand twice"
        raise InvalidArgument(f"artifacts: {told}.", details={"fields": {"artifacts": told}})


def _require_in_scope(issue: Issue, scope: Scope) -> None:
    if issue.project_id != scope.project.id:
        raise IssueNotClaimable(f"Issue {issue.id} belongs to another project.", details={"issueId": issue.id})
    if scope.campaign_id is not None and issue.campaign_id != scope.campaign_id:
        raise IssueNotClaimable(f"Issue {issue.id} belongs to another campaign.", details={"issueId": issue.id})


def _own_lease(ledger: Ledger, ask: Ask) -> tuple[Lease, Issue] | None:
    """The lease to go on under: of the run that is named again, of the preferred issue, else the newest at work."""
    agent = ask.agent_id or ask.session_id
    if agent is None:
        return None
    mine = ledger.tx.own_leases(ask.scope, agent)
    again = [lease for lease in mine if lease.run_id == ask.session_id]
    for lease in again or mine:
        issue = the_issue(ledger.tx, lease.issue_id)
        allowed = (IN_PROGRESS, BLOCKED) if again or issue.id == ask.preferred else (IN_PROGRESS,)
        if ask.preferred not in (None, issue.id) or issue.status not in allowed:
            continue
        if staleness.of_lease(lease, ledger.now).state != staleness.EXPIRED:
            return lease, issue
    return None


def _preferred(ledger: Ledger, ask: Ask) -> Issue:
    issue = the_issue(ledger.tx, ask.preferred or "")
    _require_in_scope(issue, ask.scope)
    if issue.status != READY:
        holder = active_of(ledger.tx.leases_of(issue.id))
        gate = gate_of(ledger.tx, issue) if issue.status == "pending" else None
        why = f" by {holder.agent_id} until its lease ends" if holder else ""
        why = f", waiting for {gate.kind} {gate.id}" if gate else why
        raise IssueNotClaimable(
            f"Issue {issue.id} is {issue.status}{why}.",
            details=present(
                {
                    "issueId": issue.id,
                    "status": issue.status,
                    "leaseId": holder.id if holder else None,
                    "gate": gate.reason if gate else None,
                }
            ),
        )
    if (campaign := campaign_of(ledger.tx, issue)) is not None and campaign.status != RUNNING:
        raise IssueNotClaimable(f"The campaign of issue {issue.id} is not running.", details={"issueId": issue.id})
    if not fit(route_from(issue.route), ask.host).eligible:
        raise _mismatch([issue], ask.host)
    return issue


def _first_fitting(tx: Transaction, ask: Ask) -> Issue:
    """The first ready issue that the host may take; what does not fit is looked at for the refusal alone."""
    scope = ask.scope
    lanes: list[str | None] = [scope.campaign_id]
    if scope.campaign_id is None:
        lanes += [one.id for one in tx.campaigns(scope.project.id) if one.status == RUNNING]
    best: list[Issue] = []
    others: list[tuple[str | None, str]] = []
    for lane in lanes:
        for route in tx.routes(scope.project.id, lane):
            if fit(route_from(route), ask.host).eligible:
                best += tx.first_ready(scope.project.id, lane, route, 1)
            else:
                others.append((lane, route))
    if best:
        return min(best, key=claim_order)
    if others:
        candidates = [
            one for lane, route in others for one in tx.first_ready(scope.project.id, lane, route, _CANDIDATES)
        ]
        raise _mismatch(sorted(candidates, key=claim_order)[:_CANDIDATES], ask.host)
    counts = tx.open_counts(scope)
    told = ", ".join(f"{number} {status}" for status, number in counts.items() if number)
    raise NothingReady(
        f"No issue is ready in this scope{f': {told}' if told else ''}.", details={"openCounts": dict(counts)}
    )


def _mismatch(issues: Sequence[Issue], host: Host) -> HostMismatch:
    candidates: list[dict[str, object]] = []
    told: list[str] = []
    for issue in issues:
        verdict = fit(route_from(issue.route), host)
        told.append(f"{issue.id} {verdict.told}")
        candidates.append(candidate_answer(issue, verdict))
    return HostMismatch(
        f'Host "{host.name}" may take none of the issues: {"; ".join(told)}.', details={"candidates": candidates}
    )


def _run(ledger: Ledger, ask: Ask, run_id: str, issue: Issue, *, lease_id: str, agent_id: str, kind: str) -> Run:
    capabilities = {
        "workloadClasses": sorted(ask.host.workload_classes),
        "capabilities": sorted(ask.host.capabilities),
    }
    return Run(
        id=run_id,
        project_id=issue.project_id,
        campaign_id=issue.campaign_id,
        issue_id=issue.id,
        lease_id=lease_id,
        session_type=kind,
        host=ask.host.name,
        agent_id=agent_id,
        status=IN_PROGRESS,
        via=ledger.via,
        started_at=ledger.now.wall_ms,
        finished_at=None,
        notes=json.dumps(
            {"hostCapabilities": capabilities} | ({"memory": True} if ask.memory else {}),
            ensure_ascii=False,
            separators=(",", ":"),
        ),
        begin_input=ask.begin_input,
    )


def _fresh_run_id(ledger: Ledger, run_id: str) -> str:
    if ledger.tx.run(run_id) is not None:
        raise AlreadyExists(
            f"There is a run {run_id} already; a session id names one run.",
            hint="Leave the session id out, and one is made.",
        )
    return run_id


def _take(
    ledger: Ledger, ask: Ask, issue: Issue, mode: str, *, summary: str | None = None, next_step: str | None = None
) -> Answer:
    """A new lease on an issue that is ready, or that needs recovery."""
    now, recovery = ledger.now, mode == "recovery"
    own_id = ask.session_id or ask.record_id or f"RUN-{ledger.mint()}"
    run_id, agent_id = _fresh_run_id(ledger, own_id), ask.agent_id or own_id
    epoch = issue.lease_epoch + 1
    lease = Lease(
        id=f"L-{ledger.mint()}",
        project_id=issue.project_id,
        campaign_id=issue.campaign_id,
        issue_id=issue.id,
        run_id=run_id,
        session_id=own_id,
        agent_id=agent_id,
        host=ask.host.name,
        status=ACTIVE,
        epoch=epoch,
        ttl_ms=ask.ttl_s * 1000,
        freshness_ms=ask.freshness_s * 1000,
        boot=now.boot,
        acquired_at=now.wall_ms,
        renewed_at=now.wall_ms,
        expires_at=now.wall_ms + ask.ttl_s * 1000,
        deadline_mono=now.mono_ms + ask.ttl_s * 1000,
        checkpoint_at=now.wall_ms,
        checkpoint_mono=now.mono_ms,
        last_heartbeat_at=None,
        released_at=None,
        end_reason=None,
        holder_pid=ask.holder_pid,
        holder_started=ask.holder_started,
    )
    run = _run(
        ledger,
        ask,
        run_id,
        issue,
        lease_id=lease.id,
        agent_id=agent_id,
        kind="incremental-recovery" if recovery else "incremental",
    )
    before, recovered = ledger.free(issue, RECOVERED) if recovery else ((), [])
    artifacts, registered = _registered(ledger, issue, run_id, ask.artifacts)
    words = Words(
        "recovery_claim" if recovery else "claim",
        summary or f"Claimed by {agent_id} on {ask.host.name}.",
        next_step or issue.next_best_action or f"Work on: {issue.task}",
    )
    columns: dict[str, Any] = {"lease_epoch": epoch}
    if recovery:
        columns["recoveries"] = issue.recoveries + 1
    payload: dict[str, object] = {"leaseId": lease.id, "epoch": epoch, "agentId": agent_id, "claimMode": mode}
    if recovery:
        payload |= {"recoveredLeaseIds": recovered, "replacementLeaseId": lease.id}
    after, checkpoint = ledger.move(
        "recovery_resolved" if recovery else "lease_claimed",
        issue,
        IN_PROGRESS,
        RECOVERY if recovery else CLAIM,
        words,
        run_id=run_id,
        lease_id=lease.id,
        evidence=[one.id for one in artifacts] or None,
        also=(insert("runs", run), *before, insert("leases", lease), *registered),
        payload=payload | {"artifactIds": [one.id for one in artifacts]},
        **columns,
    )
    ledger.touched[lease.id] = lease
    return context_answer(
        path=ask.path,
        project=ask.scope.project,
        issue=after,
        lease=lease,
        run=run,
        claim_mode=mode,
        host=ask.host,
        artifacts=artifacts,
        checkpoint=checkpoint,
    )


def _registered(
    ledger: Ledger, issue: Issue, run_id: str, wanted: Sequence[tuple[str, str]]
) -> tuple[list[Artifact], list[Change]]:
    """Artifacts of a run; what was active before under the same kind and path is superseded."""
    if not wanted:
        return [], []
    changes: list[Change] = [
        Update(table="artifacts", id=old.id, set={"status": RELEASED, "released_at": ledger.now.wall_ms})
        for old in ledger.tx.artifacts_of(issue.id)
        if old.status == ACTIVE and (old.kind, old.path) in wanted
    ]
    made = [
        Artifact(
            id=f"A-{ledger.mint()}",
            project_id=issue.project_id,
            campaign_id=issue.campaign_id,
            issue_id=issue.id,
            run_id=run_id,
            kind=kind,
            path=path,
            status=ACTIVE,
            metadata='{"source":"session"}',
            created_at=ledger.now.wall_ms,
            released_at=None,
        )
        for kind, path in wanted
    ]
    return made, [*changes, *(insert("artifacts", one) for one in made)]


def _resume(ledger: Ledger, ask: Ask, mine: tuple[Lease, Issue]) -> Answer:
    """Go on under one's own lease: bound to the new run, so that an older process of the agent is fenced off."""
    lease, issue = mine
    same_run = ask.session_id is not None and ask.session_id == lease.run_id
    run = ledger.tx.run(lease.run_id) if same_run else None
    before: list[Change] = []
    if run is None:
        run_id = _fresh_run_id(ledger, ask.session_id or f"RUN-{ledger.mint()}")
        run = _run(ledger, ask, run_id, issue, lease_id=lease.id, agent_id=lease.agent_id, kind="incremental")
        older = ledger.tx.run(lease.run_id)
        before.append(insert("runs", run))
        if older is not None and older.finished_at is None:
            put = {"status": "superseded", "finished_at": ledger.now.wall_ms}
            before.append(Update(table="runs", id=older.id, set=put))
    artifacts, registered = _registered(ledger, issue, run.id, ask.artifacts)
    holder = {"holder_pid": ask.holder_pid, "holder_started": ask.holder_started}
    renewed = renewal(ledger, lease, checkpointed=True) | {"run_id": run.id, "host": ask.host.name, **holder}
    if ask.session_id is not None and ask.session_id != lease.session_id:
        ledger.touched[f"{lease.id} before"] = changed(lease, status=RELEASED, end_reason=RESUMED)
        renewed["session_id"] = ask.session_id
    guard = {"status": ACTIVE, "epoch": lease.epoch}
    words = Words(
        "resume", f"Resumed by {lease.agent_id} on {ask.host.name}.", issue.next_best_action or f"Work on: {issue.task}"
    )
    after, checkpoint = ledger.move(
        "lease_resumed",
        issue,
        IN_PROGRESS,
        CLAIM,
        words,
        run_id=run.id,
        lease_id=lease.id,
        evidence=[one.id for one in artifacts] or None,
        also=(*before, Update(table="leases", id=lease.id, set=renewed, guard=guard), *registered),
        payload={"leaseId": lease.id, "epoch": lease.epoch, "agentId": lease.agent_id, "claimMode": "resume"},
    )
    lease = changed(lease, **renewed)
    ledger.touched[lease.id] = lease
    return context_answer(
        path=ask.path,
        project=ask.scope.project,
        issue=after,
        lease=lease,
        run=run,
        claim_mode="resume",
        host=ask.host,
        artifacts=artifacts,
        checkpoint=checkpoint,
    )
