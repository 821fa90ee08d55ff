"""The port: what verbs ask of a queue's store. One driver here, on SQLite; a PostgreSQL one is planned.

A transaction answers whole lists, never cursors. Nothing in a driver decides: where a question names a limit
(`suspects`), the driver may answer more than was asked, and the rules look again. Source: queue page, Store.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from phelix_core.clock import Moment
from phelix_core.queue.board import BoardIssue
from phelix_core.queue.journal import Event, RowChange
from phelix_core.queue.model import (
    Artifact,
    Campaign,
    Checkpoint,
    Issue,
    Lease,
    MemoryLink,
    Milestone,
    OutboxRow,
    Project,
    Run,
    Scope,
    StoredEvent,
    Workspace,
)

_Answer = TypeVar("_Answer")

Recorded = tuple[Event, tuple[RowChange, ...]]
"""An event with what it did to rows."""
Watch = Callable[[list[Recorded]], None]


class Questions(Protocol):
    """What can be read, in one consistent view."""

    def workspaces(self) -> list[Workspace]:
        """Every workspace."""
        ...

    def projects(self, word: str | None = None) -> list[Project]:
        """Projects of that id, key or name; all without a word."""
        ...

    def campaigns(self, project_id: str, word: str | None = None) -> list[Campaign]:
        """Campaigns of that id or name in a project; all without a word, oldest first."""
        ...

    def milestones(self, scope: Scope) -> list[Milestone]:
        """Milestones in scope, in the order they were planned."""
        ...

    def milestone(self, milestone_id: str) -> Milestone | None:
        """One milestone."""
        ...

    def issue(self, issue_id: str) -> Issue | None:
        """One issue."""
        ...

    def issues(
        self, scope: Scope, *, status: str | None, milestone_id: str | None, after: Issue | None, limit: int
    ) -> list[Issue]:
        """A page of issues in the order they were made, behind `after`."""
        ...

    def lease(self, lease_id: str) -> Lease | None:
        """One lease."""
        ...

    def leases_of(self, issue_id: str) -> list[Lease]:
        """Every lease of an issue, oldest first."""
        ...

    def active_leases(self, scope: Scope) -> list[Lease]:
        """Active leases in scope, archived campaigns left out, oldest first."""
        ...

    def leases_with_records(self, after: str, limit: int) -> list[Lease]:
        """Leases that name a session record of ours, in the order of their ids, behind `after`."""
        ...

    def run(self, run_id: str) -> Run | None:
        """One run."""
        ...

    def runs_of(self, issue_id: str) -> list[Run]:
        """Runs of an issue, oldest first."""
        ...

    def checkpoints_of(self, issue_id: str, *, limit: int, before: int | None = None) -> list[Checkpoint]:
        """The newest checkpoints of an issue, newest first; those before an event where one is named."""
        ...

    def checkpoint(self, checkpoint_id: str) -> Checkpoint | None:
        """One checkpoint."""
        ...

    def artifacts_of(self, issue_id: str) -> list[Artifact]:
        """Artifacts of an issue, oldest first."""
        ...

    def events_of(self, issue_id: str, *, limit: int, before: int | None = None) -> list[StoredEvent]:
        """The newest events of an issue, newest first; those before an event where one is named."""
        ...

    def events_since(self, seq: int, *, limit: int) -> list[StoredEvent]:
        """Events behind `seq`, in order."""
        ...

    def last_seq(self) -> int:
        """The number of the newest event."""
        ...

    def dependencies(self, issue_id: str) -> list[tuple[str, str]]:
        """What an issue depends on, as (id, status)."""
        ...

    def dependents(self, issue_id: str) -> list[Issue]:
        """Issues that depend on an issue."""
        ...

    def milestone_dependencies(self, milestone_id: str) -> list[str]:
        """Milestones that a milestone depends on."""
        ...

    def milestone_dependents(self, milestone_id: str) -> list[str]:
        """Milestones that depend on a milestone."""
        ...

    def is_milestone_done(self, milestone_id: str) -> bool:
        """Whether it has issues and all of them are done."""
        ...

    def milestone_counts(self, scope: Scope) -> Mapping[str, Mapping[str, int]]:
        """Issues of each status, by milestone."""
        ...

    def status_counts(self, scope: Scope) -> Mapping[str, int]:
        """Issues of each status."""
        ...

    def open_counts(self, scope: Scope) -> Mapping[str, int]:
        """How many issues are in progress, blocked and pending; of many pending ones at least a thousand."""
        ...

    def needing_recovery(self, scope: Scope) -> list[Issue]:
        """Issues in `needs_recovery`, archived campaigns left out, in claim order."""
        ...

    def memory_links_of(self, issue_id: str) -> list[MemoryLink]:
        """What the memory knows of an issue, oldest first."""
        ...

    def outbox(self, *, limit: int) -> list[OutboxRow]:
        """Texts that wait for the memory: those tried least first, then the oldest."""
        ...

    def outbox_row(self, row_id: str) -> OutboxRow | None:
        """One of them."""
        ...

    # What a claim looks at

    def suspects(self, scope: Scope, now: Moment) -> list[tuple[Lease, Issue]]:
        """Active leases that may need reconciling, with their issues, archived campaigns left out."""
        ...

    def strays(self, scope: Scope) -> list[Issue]:
        """Issues in progress that nobody holds, archived campaigns left out."""
        ...

    def routes(self, project_id: str, campaign_id: str | None) -> list[str]:
        """The distinct routes of ready issues."""
        ...

    def first_ready(self, project_id: str, campaign_id: str | None, route: str, limit: int) -> list[Issue]:
        """Ready issues of a route in claim order."""
        ...

    def promotable(self, scope: Scope) -> list[Issue]:
        """Pending issues with every gate open, running campaigns only, in claim order."""
        ...

    # What an inspection asks

    def stuck(self, scope: Scope, *, limit: int) -> list[Issue]:
        """Blocked issues that nobody holds, archived campaigns left out, in claim order."""
        ...

    def failed_before_issues(self, scope: Scope, *, limit: int) -> list[tuple[str, str]]:
        """Failed issues that a pending one depends on, as (failed, pending), archived campaigns left out."""
        ...

    def failed_before_milestones(self, scope: Scope, *, limit: int) -> list[tuple[str, str]]:
        """Failed issues of milestones that one with pending issues depends on, as (failed, a pending one)."""
        ...

    def page_of(self, scope: Scope, statuses: Sequence[str], *, waiting: bool, skip: int, limit: int) -> list[Issue]:
        """Issues of these statuses in claim order; with `waiting` those alone that a closed gate keeps back."""
        ...

    def tracked(self, scope: Scope, *, limit: int) -> list[Issue]:
        """Unfinished issues with a deadline or a policy, in claim order."""
        ...

    def top_priority(self, milestone_id: str) -> int | None:
        """The place of the highest priority among a milestone's issues."""
        ...

    def recent_runs(self, scope: Scope, *, limit: int) -> list[Run]:
        """The newest runs in scope, newest first."""
        ...

    def failed_runs(self, scope: Scope) -> int:
        """How many runs in scope ended as failed."""
        ...

    def recent_events(self, scope: Scope, *, limit: int) -> list[StoredEvent]:
        """The newest events in scope, those of no issue too, newest first."""
        ...

    def last_checkpoint_at(self, scope: Scope) -> int | None:
        """When the newest checkpoint in scope was recorded."""
        ...

    def event(self, seq: int) -> StoredEvent | None:
        """One event."""
        ...

    def numbers_of(self, issue_id: str, *, at_most: int) -> tuple[int, int]:
        """How many checkpoints and events an issue has, counted up to `at_most`."""
        ...

    # What an import asks

    def known(self, table: str, columns: Sequence[str], ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        """These columns of the rows of a table that have one of these ids."""
        ...

    # What a live view asks

    def board_issues(self, ids: Sequence[str] | None) -> list[BoardIssue]:
        """Issues as a list needs them; all without ids."""
        ...

    def issue_needs(self, ids: Sequence[str] | None) -> list[tuple[str, str]]:
        """Pairs of an issue and one it depends on; of every issue without ids."""
        ...

    def every_milestone(self) -> list[Milestone]:
        """Milestones of every project, in the order they were planned."""
        ...

    def milestone_needs(self) -> list[tuple[str, str]]:
        """Pairs of a milestone and one it depends on."""
        ...

    def standing_leases(self, ids: Sequence[str] | None) -> list[Lease]:
        """Leases that are active or wait for recovery, an issue's oldest first; of every issue without ids."""
        ...

    def named_holders(self) -> list[Lease]:
        """Active leases whose holder named its process."""
        ...

    def touched_since(self, seq: int, *, limit: int) -> list[str | None]:
        """What each event behind `seq` is about: an issue, or None for more than one."""
        ...


class Transaction(Questions, Protocol):
    """One write transaction: questions, and the one way to change a row. `via` is the surface it comes through."""

    now: Moment
    via: str

    def record(self, event: Event) -> str:
        """Write an event and its changes; answers its id. A guard that no longer holds is `LeaseConflict`."""
        ...

    def keep(self) -> None:
        """What was recorded up to here stays, even when the verb is refused later."""
        ...

    def own_leases(self, scope: Scope, agent_id: str) -> list[Lease]:
        """Active leases of an agent, newest first."""
        ...

    def rank_due(self, scope: Scope, at_ms: int) -> list[Issue]:
        """Ready issues whose rank may rise by now."""
        ...

    def pending(self, scope: Scope, *, limit: int) -> list[Issue]:
        """Pending issues in claim order."""
        ...

    def in_milestones(self, milestone_ids: Sequence[str], statuses: Sequence[str]) -> list[Issue]:
        """Issues of these milestones in one of these statuses."""
        ...

    def in_campaign(self, campaign_id: str, statuses: Sequence[str]) -> list[Issue]:
        """Issues of a campaign in one of these statuses."""
        ...

    def active_artifacts(self, lease_id: str) -> list[Artifact]:
        """Artifacts that runs under this lease still work on."""
        ...

    def unknown_milestones(self, project_id: str, ids: Sequence[str]) -> list[str]:
        """Those of `ids` that are no milestone of the project."""
        ...

    def answered(self, project_id: str, request_id: str) -> tuple[str, str, str] | None:
        """Verb, input and answer of a request that was carried out."""
        ...


class QueueStore(Protocol):
    """A queue's store."""

    def read(self, body: Callable[[Questions], _Answer]) -> _Answer:
        """Ask in one consistent view; nothing of it is held open afterwards."""
        ...

    def write(self, body: Callable[[Transaction], _Answer], via: str, watch: Watch | None = None) -> _Answer:
        """One transaction: committed whole, or nothing; a refusal commits what was kept before it.

        Its moment is taken once the store's lock is had, so that a long wait costs a new lease nothing. `watch` is
        shown what was recorded, before it is committed; what it raises takes everything back.
        """
        ...

    def rehearse(self, body: Callable[[Transaction], _Answer], via: str) -> tuple[_Answer, list[Recorded]]:
        """The same, taken back: the answer, and what would have been recorded."""
        ...
