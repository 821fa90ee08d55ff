"""What one verb records: moves of issues with their checkpoints, leases ended, gates opened behind what is done.

Every change of an issue's status, by whomever, goes through `move`: it is checked against the transition
table and writes one checkpoint. What the machine moves cites its event as evidence. Source: queue page,
Vocabulary and transitions.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from phelix_core.errors import InvalidArgument
from phelix_core.frozen import changed
from phelix_core.queue import gates
from phelix_core.queue.journal import CITED, SEQ, Change, Event, Update, insert
from phelix_core.queue.model import (
    ACTIVE,
    DONE,
    PENDING,
    READY,
    RELEASED,
    Campaign,
    Checkpoint,
    Issue,
    Lease,
    Project,
    Run,
    Scope,
)
from phelix_core.queue.store import Questions, Transaction
from phelix_core.queue.transitions import PROMOTION, ROLLBACK, require_transition

MACHINE: Final = "phelix"
"""Host of the runs in which the machine acts."""
_MOVED: Final = (
    "status",
    "rank",
    "rank_due_at",
    "promotable",
    "next_best_action",
    "blocked_reason",
    "ready_at",
    "updated_at",
)


NOTHING_BEHIND: Final[Mapping[str, list[str]]] = {"returned": [], "goingOn": []}
"""What a rollback takes back where nothing had been opened."""


class Words(NamedTuple):
    """What a checkpoint says."""

    title: str
    summary: str
    next_step: str


class Ledger:
    """One verb's record, inside its transaction."""

    def __init__(self, tx: Transaction, mint: Callable[[], str]) -> None:
        self.tx = tx
        self.now = tx.now
        self.mint = mint
        self.via = tx.via
        self.touched: dict[str, Lease] = {}
        self.kept: dict[str, Lease] = {}
        self._machine_run: Run | None = None
        self._machine_kind = "system"

    # Runs

    def acts_as(self, kind: str) -> None:
        """Name the run that the machine's own moves belong to from here on."""
        if kind != self._machine_kind:
            self._machine_kind, self._machine_run = kind, None

    def keep(self) -> None:
        """What was recorded up to here stays, even when the verb is refused later."""
        self.tx.keep()
        self.kept = dict(self.touched)

    def machine_run(self, project_id: str, campaign_id: str | None) -> tuple[Run, tuple[Change, ...]]:
        """The run of the machine's own moves, and its row where this is its first."""
        if self._machine_run is not None:
            return self._machine_run, ()
        run = Run(
            id=f"RUN-{self.mint()}",
            project_id=project_id,
            campaign_id=campaign_id,
            issue_id=None,
            lease_id=None,
            session_type=self._machine_kind,
            host=MACHINE,
            agent_id=MACHINE,
            status="finished",
            via=self.via,
            started_at=self.now.wall_ms,
            finished_at=self.now.wall_ms,
            notes="{}",
            begin_input="{}",
        )
        self._machine_run = run
        return run, (insert("runs", run),)

    # Issues

    def move(
        self,
        kind: str,
        issue: Issue,
        to: str,
        verb: str,
        words: Words,
        *,
        run_id: str | None = None,
        lease_id: str | None = None,
        evidence: Sequence[str] | None = None,
        also: Sequence[Change] = (),
        payload: Mapping[str, object] | None = None,
        **columns: Any,
    ) -> tuple[Issue, Checkpoint]:
        """Set an issue's status (or keep it) with its one checkpoint, as one event; `columns` go with it."""
        require_transition(issue, to, verb)
        after = self._after(issue, to, columns)
        extra: tuple[Change, ...] = ()
        if run_id is None:
            run, extra = self.machine_run(issue.project_id, issue.campaign_id)
            run_id = run.id
        checkpoint = Checkpoint(
            id=f"K-{self.mint()}",
            seq=0,
            run_id=run_id,
            issue_id=issue.id,
            lease_id=lease_id,
            title=words.title,
            summary=words.summary,
            task_status=to,
            next_step=words.next_step,
            artifact_ids="[]" if evidence is None else json.dumps(list(evidence), ensure_ascii=False),
            created_at=self.now.wall_ms,
        )
        put = {
            name: getattr(after, name) for name in (*_MOVED, *columns) if getattr(after, name) != getattr(issue, name)
        }
        moved = Update(
            table="issues", id=issue.id, set=put, guard={"status": issue.status, "lease_epoch": issue.lease_epoch}
        )
        cites = {"seq": SEQ} | ({"artifact_ids": CITED} if evidence is None else {})
        told: dict[str, object] = {"checkpointId": checkpoint.id, "taskStatus": to, "nextStep": words.next_step}
        event_id = self.tx.record(
            Event(
                kind=kind,
                changes=(*extra, *also, *((moved,) if put else ()), insert("checkpoints", checkpoint, **cites)),
                project_id=issue.project_id,
                campaign_id=issue.campaign_id,
                issue_id=issue.id,
                run_id=run_id,
                payload={"from": issue.status, **told, **(payload or {})},
            )
        )
        if evidence is None:
            checkpoint = changed(checkpoint, artifact_ids=json.dumps([event_id]))
        return after, checkpoint

    def _after(self, issue: Issue, to: str, columns: Mapping[str, Any]) -> Issue:
        now = self.now.wall_ms
        ready_at = (issue.ready_at if issue.status == READY else now) if to == READY else None
        members: dict[str, Any] = {"promotable": 0, "blocked_reason": None, **columns}
        after = changed(issue, status=to, ready_at=ready_at, updated_at=now, **members)
        if to not in (READY, PENDING):
            return after
        from phelix_core.queue.policy import ranked_row  # noqa: PLC0415 - a holder's own steps rank nothing

        return ranked_row(after, now)

    def note(self, kind: str, issue: Issue, columns: Mapping[str, Any], payload: Mapping[str, object]) -> None:
        """Change columns of an issue whose status stays."""
        run, extra = self.machine_run(issue.project_id, issue.campaign_id)
        update = Update(table="issues", id=issue.id, set=columns, guard={"status": issue.status})
        self.tx.record(
            Event(
                kind=kind,
                changes=(*extra, update),
                project_id=issue.project_id,
                campaign_id=issue.campaign_id,
                issue_id=issue.id,
                run_id=run.id,
                payload=payload,
            )
        )

    # Leases

    def ended(self, lease: Lease, status: str, reason: str) -> Update:
        """The change that ends a lease; its session's duty is looked at after the commit."""
        put: dict[str, Any] = {"status": status, "end_reason": reason}
        if status != "needs_recovery":
            put["released_at"] = self.now.wall_ms
        self.touched[lease.id] = changed(lease, **put)
        return Update(table="leases", id=lease.id, set=put, guard={"status": lease.status, "epoch": lease.epoch})

    def settled(self, lease: Lease, final: str) -> tuple[Change, ...]:
        """What ends with a lease: its run, and the artifacts that its runs still had."""
        run = self.tx.run(lease.run_id)
        changes: list[Change] = []
        if run is not None and run.finished_at is None:
            changes.append(Update(table="runs", id=run.id, set={"status": final, "finished_at": self.now.wall_ms}))
        changes += [
            Update(table="artifacts", id=artifact.id, set={"status": RELEASED, "released_at": self.now.wall_ms})
            for artifact in self.tx.active_artifacts(lease.id)
        ]
        return tuple(changes)

    def release(self, lease: Lease, reason: str, *, status: str = RELEASED) -> tuple[Change, ...]:
        """End a lease and what ends with it."""
        return (self.ended(lease, status, reason), *self.settled(lease, reason))

    def active_lease(self, issue_id: str) -> Lease | None:
        """The lease that holds an issue now."""
        return next((lease for lease in self.tx.leases_of(issue_id) if lease.status == ACTIVE), None)

    # Gates

    def landing(self, issue: Issue) -> tuple[str, dict[str, Any]]:
        """Where an issue goes that is to be worked on again: ready, or pending where a gate has closed meanwhile."""
        gate = gate_of(self.tx, issue)
        return (READY, {}) if gate is None else (PENDING, {"blocked_reason": gate.reason})

    def mark_opened(self, issue: Issue) -> None:
        """An issue is done: mark what waited for it and for nothing else any more."""
        tx = self.tx
        behind = tx.dependents(issue.id)
        if issue.milestone_id is not None and tx.is_milestone_done(issue.milestone_id):
            opened = [
                milestone_id
                for milestone_id in tx.milestone_dependents(issue.milestone_id)
                if all(tx.is_milestone_done(needed) for needed in tx.milestone_dependencies(milestone_id))
            ]
            behind += tx.in_milestones(opened, (PENDING,))
        for waiting in {one.id: one for one in behind}.values():
            if waiting.status == PENDING and not waiting.promotable and gate_of(tx, waiting) is None:
                self.note("gates_opened", waiting, {"promotable": 1, "blocked_reason": None}, {"by": issue.id})

    def close_behind(self, issue: Issue) -> dict[str, list[str]]:
        """An issue is no longer done: take back what it had opened. Answers who went back, and who goes on."""
        tx = self.tx
        behind = tx.dependents(issue.id)
        if issue.milestone_id is not None:
            statuses = ("pending", "ready", "in_progress", "blocked", "needs_recovery", "done", "failed")
            behind += tx.in_milestones(tx.milestone_dependents(issue.milestone_id), statuses)
        told: dict[str, list[str]] = {"returned": [], "goingOn": []}
        for one in {one.id: one for one in behind}.values():
            gate = gate_of(tx, one)
            if gate is None:
                continue
            if one.status == READY:
                words = Words("rollback", f"Back to pending: {issue.id} was rolled back.", f"Wait for {issue.id}.")
                payload = {"rolledBack": issue.id}
                self.move("issue_returned", one, PENDING, ROLLBACK, words, payload=payload, blocked_reason=gate.reason)
                told["returned"].append(one.id)
            elif one.status == PENDING and one.promotable:
                self.note("gates_closed", one, {"promotable": 0, "blocked_reason": gate.reason}, {"by": issue.id})
            elif one.status not in (PENDING, DONE, "failed"):
                told["goingOn"].append(one.id)
        return told

    def promote(self, scope: Scope) -> list[Issue]:
        """Make every issue ready whose gates are open, in claim order."""
        promoted: list[Issue] = []
        for issue in self.tx.promotable(scope):
            words = Words("promotion", "Every gate is open.", issue.next_best_action or "Claim it.")
            after, _ = self.move("issue_promoted", issue, READY, PROMOTION, words)
            promoted.append(after)
        return promoted


def gate_of(tx: Questions, issue: Issue) -> gates.Gate | None:
    """The first gate that keeps an issue back; None where every one is open."""
    milestones: list[tuple[str, bool]] = []
    if issue.milestone_id is not None:
        milestones = [
            (needed, tx.is_milestone_done(needed)) for needed in tx.milestone_dependencies(issue.milestone_id)
        ]
    return gates.first_closed(milestones, tx.dependencies(issue.id))


def the_project(tx: Questions, word: str | None) -> Project:
    """The project that is meant; the only one where none is named."""
    found = tx.projects(word)
    if len(found) == 1:
        return found[0]
    known = ", ".join(f"{project.name} ({project.id})" for project in (found or tx.projects())[:20])
    if word is not None and not found:
        raise not_found("project", known)
    if not found:
        raise not_found("project", "")
    raise InvalidArgument(f"project: say which: {known}.", hint="--project takes its id, key or name.")


def the_campaign(tx: Questions, project: Project, word: str | None, *, required: bool = False) -> Campaign | None:
    """The campaign that is meant; without a word the whole project, or the only campaign where one is required."""
    if word is None and not required:
        return None
    found = tx.campaigns(project.id, word)
    if len(found) == 1:
        return found[0]
    known = ", ".join(f"{campaign.name} ({campaign.id})" for campaign in (found or tx.campaigns(project.id))[:20])
    if not found:
        raise not_found("campaign", known)
    raise InvalidArgument(f"campaign: say which: {known}.", hint="--campaign takes its id or name.")


def the_issue(tx: Questions, issue_id: str) -> Issue:
    """The issue of that id."""
    issue = tx.issue(issue_id)
    if issue is None:
        raise not_found("issue", "")
    return issue


def not_found(kind: str, known: str) -> Exception:
    """No such thing, and what there is."""
    from phelix_core.errors import NotFound  # noqa: PLC0415 - a name used once

    return NotFound(f"There is no such {kind}.", hint=f"Known: {known}." if known else None)
