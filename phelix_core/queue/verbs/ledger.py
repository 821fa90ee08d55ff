"""What one verb records: moves of issues with their checkpoints, leases ended, gates opened behind what is done.

Every change of an issue's status, by whomever, goes through `move`: it is checked against the transition
table and writes one checkpoint. What the machine moves cites its event as evidence. Source: queue page,
Vocabulary and transitions.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from phelix_core.errors import InvalidArgument, NotFound
from phelix_core.frozen import changed
from phelix_core.queue import gates
from phelix_core.queue.journal import CITED, SEQ, Change, Event, Update, insert
from phelix_core.queue.model import (
    ACTIVE,
    FINISHED,
    NEEDS_RECOVERY,
    PENDING,
    READY,
    RECOVERED,
    RELEASED,
    TASK_STATUSES,
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
_MOST_TOLD: Final = 20
_Thing = TypeVar("_Thing")

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
        self.event_id = ""
        """The event recorded last."""
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
        event_id = self.record(
            kind,
            issue,
            (*extra, *also, *((moved,) if put else ()), insert("checkpoints", checkpoint, **cites)),
            {"from": issue.status, **told, **(payload or {})},
            run_id=run_id,
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
        update = Update(table="issues", id=issue.id, set=columns, guard={"status": issue.status})
        self.record(kind, issue, (update,), payload)

    def record(
        self,
        kind: str,
        issue: Issue,
        changes: tuple[Change, ...],
        payload: Mapping[str, object],
        *,
        run_id: str | None = None,
    ) -> str:
        """One event of an issue, of the machine's own run where none is named; answers its id."""
        if run_id is None:
            run, extra = self.machine_run(issue.project_id, issue.campaign_id)
            run_id, changes = run.id, (*extra, *changes)
        self.event_id = self.tx.record(
            Event(
                kind=kind,
                changes=changes,
                project_id=issue.project_id,
                campaign_id=issue.campaign_id,
                issue_id=issue.id,
                run_id=run_id,
                payload=payload,
            )
        )
        return self.event_id

    # Leases

    def release(self, lease: Lease, reason: str, *, status: str = RELEASED) -> tuple[Change, ...]:
        """End a lease, its run and the artifacts that its runs still had; its session's duty follows the commit."""
        now = self.now.wall_ms
        put: dict[str, Any] = {"status": status, "end_reason": reason}
        if status != NEEDS_RECOVERY:
            put["released_at"] = now
        self.touched[lease.id] = changed(lease, **put)
        guard = {"status": lease.status, "epoch": lease.epoch}
        changes: list[Change] = [Update(table="leases", id=lease.id, set=put, guard=guard)]
        run = self.tx.run(lease.run_id)
        if run is not None and run.finished_at is None:
            changes.append(Update(table="runs", id=run.id, set={"status": reason, "finished_at": now}))
        changes += [
            Update(table="artifacts", id=artifact.id, set={"status": RELEASED, "released_at": now})
            for artifact in self.tx.active_artifacts(lease.id)
        ]
        return tuple(changes)

    def free(self, issue: Issue, reason: str) -> tuple[tuple[Change, ...], list[str]]:
        """End every lease that still stands on an issue; the changes, and the leases' ids.

        What the operator or a new holder recovers is `recovered`; elsewhere only a lease that waits for it is.
        """
        changes: list[Change] = []
        ended: list[str] = []
        for lease in self.tx.standing_leases([issue.id]):
            recovers = lease.status == NEEDS_RECOVERY or reason == RECOVERED
            changes += self.release(lease, reason, status=RECOVERED if recovers else RELEASED)
            ended.append(lease.id)
        return tuple(changes), ended

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
            behind += tx.in_milestones(tx.milestone_dependents(issue.milestone_id), TASK_STATUSES)
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
            elif one.status not in (PENDING, *FINISHED):
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


def active_of(leases: Sequence[Lease]) -> Lease | None:
    """The lease that holds an issue now, among the issue's."""
    return next((lease for lease in leases if lease.status == ACTIVE), None)


def campaign_of(tx: Questions, issue: Issue) -> Campaign | None:
    """The campaign of an issue; None where it has none."""
    found = tx.campaigns(issue.project_id, issue.campaign_id) if issue.campaign_id is not None else ()
    return next((one for one in found if one.id == issue.campaign_id), None)  # a name may look like an id


def the_project(tx: Questions, word: str | None) -> Project:
    """The project that is meant; the only one where none is named."""
    found = tx.projects(word)
    hint = "--project takes its id, key or name."
    return the_one("project", found, _named, hint=hint, known=() if found else tx.projects())


def the_campaign(tx: Questions, project: Project, word: str | None, *, required: bool = False) -> Campaign | None:
    """The campaign that is meant; without a word the whole project, or the only campaign where one is required."""
    if word is None and not required:
        return None
    found = tx.campaigns(project.id, word)
    hint = "--campaign takes its id or name."
    return the_one("campaign", found, _named, hint=hint, known=() if found else tx.campaigns(project.id))


def the_issue(tx: Questions, issue_id: str) -> Issue:
    """The issue of that id."""
    issue = tx.issue(issue_id)
    if issue is None:
        raise NotFound("There is no such issue.")
    return issue


def the_one(
    kind: str, found: Sequence[_Thing], told: Callable[[_Thing], str], *, hint: str, known: Sequence[_Thing] = ()
) -> _Thing:
    """The only thing found; else a refusal with those found, as `told`, or with what is known where none was."""
    if len(found) == 1:
        return found[0]
    listed = ", ".join(told(one) for one in (found or known)[:_MOST_TOLD])
    if not found:
        raise NotFound(f"There is no such {kind}.", hint=f"Known: {listed}." if listed else None)
    raise InvalidArgument(f"{kind}: say which: {listed}.", hint=hint)


def _named(one: Project | Campaign) -> str:
    return f"{one.name} ({one.id})"
