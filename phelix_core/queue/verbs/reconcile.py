"""Reconcile: turn what the clock and the rows say is stale into `needs_recovery`, recorded, before any claim.

Rules in their order: staleness.py. A finding is recorded once, however often this runs; what has been
recovered too often is failed as a crash loop and blocks nobody. Source: queue page, Reconcile.
"""

from collections.abc import Sequence

from phelix_core.frozen import frozen
from phelix_core.queue import staleness
from phelix_core.queue.model import (
    CRASH_LOOP,
    FAILED,
    INCOHERENT,
    NEEDS_RECOVERY,
    RELEASED,
    Issue,
    Lease,
    Scope,
)
from phelix_core.queue.store import Questions
from phelix_core.queue.transitions import RECONCILE
from phelix_core.queue.verbs.ledger import Ledger, Words

_SUMMARY = {
    staleness.LEASE_EXPIRED: "The lease expired.",
    staleness.CHECKPOINT_STALE: "The last checkpoint is too old.",
    INCOHERENT: "The issue and its lease contradict each other.",
}
RECOVER = "Recover it before anything new is claimed."


@frozen
class Reconciled:
    """What was recorded."""

    needs_recovery: tuple[tuple[str, str], ...]
    failed: tuple[str, ...]
    released: tuple[str, ...]

    def answer(self) -> dict[str, object]:
        """In the shape of payloads."""
        return {
            "needsRecovery": [{"issueId": issue, "reason": reason} for issue, reason in self.needs_recovery],
            "failed": [{"issueId": issue, "reason": CRASH_LOOP} for issue in self.failed],
            "released": list(self.released),
        }


def reconcile(ledger: Ledger, scope: Scope, *, only: Issue | None = None) -> Reconciled:
    """Record what is stale in scope, or of one issue of it."""
    found = [
        (lease, issue) for lease, issue in ledger.tx.suspects(scope, ledger.now) if only is None or issue.id == only.id
    ]
    strays = [issue for issue in ledger.tx.strays(scope) if only is None or issue.id == only.id]
    ledger.acts_as("reconcile")
    marked: list[tuple[str, str]] = []
    failed: list[str] = []
    released: list[str] = []
    for lease, issue in found:
        finding = staleness.why_stale(issue.status, lease, ledger.now)
        if finding is None:
            continue
        if finding.reason is None:
            _release(ledger, lease, issue, finding.ends)
            released.append(lease.id)
        elif _mark(ledger, issue, lease, finding.reason) == FAILED:
            failed.append(issue.id)
        else:
            marked.append((issue.id, finding.reason))
    for issue in strays:
        if _mark(ledger, issue, None, INCOHERENT) == FAILED:
            failed.append(issue.id)
        else:
            marked.append((issue.id, INCOHERENT))
    return Reconciled(needs_recovery=tuple(marked), failed=tuple(failed), released=tuple(released))


def _release(ledger: Ledger, lease: Lease, issue: Issue, reason: str) -> None:
    changes = ledger.release(lease, reason if reason != "finished" else issue.status)
    ledger.record("lease_released", issue, changes, {"leaseId": lease.id, "reason": reason})


def _mark(ledger: Ledger, issue: Issue, lease: Lease | None, reason: str) -> str:
    crash_loop = issue.recoveries >= issue.max_recoveries
    to = FAILED if crash_loop else NEEDS_RECOVERY
    summary = _SUMMARY[reason]
    if crash_loop:
        summary = f"{summary} It was recovered {issue.recoveries} times already: a crash loop."
    words = Words(to, summary, "Look into why it dies, then retry it." if crash_loop else RECOVER)
    also = () if lease is None else ledger.release(lease, reason, status=RELEASED if crash_loop else NEEDS_RECOVERY)
    ledger.move(
        "crash_loop" if crash_loop else "needs_recovery",
        issue,
        to,
        RECONCILE,
        words,
        lease_id=None if lease is None else lease.id,
        also=also,
        payload={"leaseId": None if lease is None else lease.id, "reason": reason},
        blocked_reason=CRASH_LOOP if crash_loop else reason,
    )
    return to


def blockers(tx: Questions, issues: Sequence[Issue]) -> list[dict[str, object]]:
    """What stands in the way of a claim, one entry an issue."""
    told: list[dict[str, object]] = []
    for issue in issues:
        last = next(iter(tx.checkpoints_of(issue.id, limit=1)), None)
        lease = next(reversed(tx.leases_of(issue.id)), None)
        told.append(
            {
                "issueId": issue.id,
                "leaseId": lease.id if lease else None,
                "reason": issue.blocked_reason or NEEDS_RECOVERY,
                "summary": last.summary if last else "",
                "nextStep": last.next_step if last else RECOVER,
            }
        )
    return told
