"""The tables of a lifecycle database to rows of ours: each kept, known already, or left out with a reason. Pure.

A row is known already where the queue holds one of its id that belongs to the same and began at the same moment;
it stays as it has become since, and so does whatever hangs on such an issue. A row whose parent was not taken is
left out with it. What depends on other rows of its own table is settled afterwards (settling.py).
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar, cast

from phelix_core.frozen import changed, frozen
from phelix_core.queue.importing.cells import Cells, Unfit, compact, told
from phelix_core.queue.importing.source import COLUMNS, Source
from phelix_core.queue.model import (
    ACTIVE,
    ARCHIVED,
    DEFAULT_FRESHNESS_S,
    DRAINED,
    LONGEST_S,
    NEEDS_RECOVERY,
    PRIORITIES,
    RECOVERED,
    RELEASED,
    RUNNING,
    SIZES,
    TASK_STATUSES,
    WORD_CAP,
    Artifact,
    Campaign,
    Checkpoint,
    Issue,
    Lease,
    MemoryLink,
    Milestone,
    Project,
    Run,
    Workspace,
)
from phelix_core.queue.policy import NO_POLICY, max_recoveries_of, merged, policy_text, route_of, stored_policy
from phelix_core.strictjson import JsonRefused, loads

_Model = TypeVar("_Model")

IDENTITY: Final[Mapping[str, tuple[str, ...]]] = {
    "workspaces": ("created_at",),
    "projects": ("workspace_id", "created_at"),
    "campaigns": ("project_id", "created_at"),
    "milestones": ("project_id",),
    "issues": ("project_id", "created_at"),
    "runs": ("project_id", "started_at"),
    "leases": ("issue_id", "agent_id", "acquired_at"),
    "artifacts": ("kind", "path", "created_at"),
    "checkpoints": ("run_id", "issue_id", "created_at"),
    "events": ("kind", "run_id", "at"),
    "memory_links": ("memory_ref", "created_at"),
}
"""Columns that never change: with the id they say that two rows are one."""
_ALSO: Final[Mapping[str, tuple[str, ...]]] = {
    "campaigns": ("policy", "status"),
    "issues": ("status", "campaign_id"),
    "runs": ("campaign_id",),
}
WANTED: Final = {table: (*names, *_ALSO.get(table, ())) for table, names in IDENTITY.items()}
"""What is asked of rows that the queue holds already."""

VIA: Final = "import"
"""The surface of a run that no surface of ours began."""
_STATES: Final = {"active": RUNNING, "paused": DRAINED, "archived": ARCHIVED}
_LEASES: Final = (ACTIVE, RELEASED, NEEDS_RECOVERY, RECOVERED)


@frozen
class Misfit:
    """A row that was left out, or what a row was kept without."""

    table: str
    id: str
    reason: str


@frozen
class Known:
    """What the queue holds already: rows under ids of the file, and keys and names that are given.

    `done` are those of its milestones that open what is behind them.
    """

    rows: Mapping[str, Mapping[str, Mapping[str, Any]]]
    done: frozenset[str]
    keys: frozenset[str]
    names: frozenset[tuple[str, str]]


NOTHING_KNOWN: Final = Known(
    rows={table: {} for table in COLUMNS}, done=frozenset(), keys=frozenset(), names=frozenset()
)
"""A queue that is not there yet."""


@frozen
class Happening:
    """An event of the file."""

    id: str
    kind: str
    project_id: str
    campaign_id: str | None
    issue_id: str | None
    run_id: str
    at: int
    payload: Mapping[str, Any]


class Taking:
    """What has been read so far: new rows as models, those known already, and what did not fit.

    `needs` are ids that a milestone or an issue waits for, None where they could not be read; `holds` are pairs of
    a run and a lease that artifacts name together.
    """

    def __init__(self, source: Source, known: Known) -> None:
        self.source = source
        self.new: dict[str, dict[str, Any]] = {table: {} for table in COLUMNS}
        self.old: dict[str, dict[str, Mapping[str, Any]]] = {table: {} for table in COLUMNS}
        self.misfits: list[Misfit] = []
        self.needs: dict[str, dict[str, tuple[str, ...] | None]] = {"milestones": {}, "issues": {}}
        self.holds: list[tuple[str, str]] = []
        self.known = known
        self._keys = set(known.keys)
        self._names = set(known.names)
        self._place = 0

    def take(self) -> None:
        """Read every table, what a row hangs on first."""
        self._table("workspaces", self._workspace)
        self._table("projects", self._project, fitted=self._keyed)
        self._table("campaigns", self._campaign, fitted=self._named)
        self._table("milestones", self._milestone)
        self._table("issues", self._issue)
        self._table("runs", self._run)
        self._table("leases", self._lease)
        self._table("artifacts", self._artifact)
        self._table("checkpoints", self._checkpoint)
        self._table("events", self._event)
        self._table("memory_links", self._memory_link)

    def of(self, table: str, own: str, column: str) -> Any:
        """A column of a row that was taken or is known."""
        model = self.new[table].get(own)
        return self.old[table][own][column] if model is None else getattr(model, column)

    def has(self, table: str, own: str) -> bool:
        """Whether the row was taken, now or before."""
        return own in self.new[table] or own in self.old[table]

    def note(self, table: str, own: str, reason: str) -> None:
        """Tell what a row was kept without, or why it was not kept."""
        self.misfits.append(Misfit(table=table, id=own, reason=reason))

    def _table(
        self,
        table: str,
        read: Callable[[Cells], _Model],
        fitted: Callable[[_Model, Cells], _Model] | None = None,
    ) -> None:
        seen: set[str] = set()
        for place, row in enumerate(self.source.rows[table]):
            cells, self._place = Cells(row), place
            try:
                own = cells.key()
                if own in seen:
                    raise Unfit("id: it stands twice in the file")  # noqa: TRY301 - a row's faults are told in one way
                seen.add(own)
                model = read(cells)
                if self._is_known(table, own, model):
                    continue
                self._require_new_issue(table, model)
                self.new[table][own] = model if fitted is None else fitted(model, cells)
            except Unfit as unfit:
                self.note(table, told(row["id"]), str(unfit))
                continue
            for note in cells.notes:
                self.note(table, own, note)

    def _is_known(self, table: str, own: str, model: object) -> bool:
        held = self.known.rows[table].get(own)
        if held is None:
            return False
        if any(getattr(model, name) != held[name] for name in IDENTITY[table]):
            raise Unfit("id: the queue holds another row under it")
        self.old[table][own] = held
        return True

    def _require_new_issue(self, table: str, model: object) -> None:
        """Refuse what would go on with an issue, or fill a milestone, that has a life of its own here by now."""
        if getattr(model, "issue_id", None) in self.old["issues"]:
            raise Unfit("issue_id: its issue was in the queue before, and goes by what is recorded here")
        if table == "issues" and cast("Issue", model).milestone_id in self.old["milestones"]:
            raise Unfit("milestone_id: its milestone was in the queue before, and is complete")

    # Parents

    def _parent(self, table: str, cells: Cells, name: str) -> str:
        own = cells.reference(name)
        if not self.has(table, own):
            raise Unfit(f"{name}: {told(own)} was not taken")
        return own

    def _maybe_parent(self, table: str, cells: Cells, name: str, project_id: str) -> str | None:
        """A row of the same project that this one names."""
        if not cells.is_set(name):
            return None
        own = self._parent(table, cells, name)
        if self.of(table, own, "project_id") != project_id:
            raise Unfit(f"{name}: {told(own)} belongs to another project")
        return own

    def _project_of(self, cells: Cells) -> str:
        """The project that a row names; its workspace follows from that."""
        project_id = self._parent("projects", cells, "project_id")
        if cells.reference("workspace_id") != self.of("projects", project_id, "workspace_id"):
            cells.notes.append("workspace_id: not the project's; the project's holds")
        return project_id

    def _since(self, cells: Cells, project_id: str) -> int:
        return cells.time_or("created_at", self.of("projects", project_id, "created_at"), "that of its project")

    # Scopes

    def _workspace(self, cells: Cells) -> Workspace:
        made = cells.time_or("created_at", 0, "the beginning of 1970")
        return Workspace(
            id=cells.key(),
            name=cells.text("name"),
            kind=cells.text("kind"),
            created_at=made,
            updated_at=cells.time_or("updated_at", made, "created_at"),
        )

    def _project(self, cells: Cells) -> Project:
        workspace_id = self._parent("workspaces", cells, "workspace_id")
        made = cells.time_or("created_at", self.of("workspaces", workspace_id, "created_at"), "that of its workspace")
        return Project(
            id=cells.key(),
            workspace_id=workspace_id,
            key=cells.text("key"),
            name=cells.text("name"),
            domain=cells.text("domain"),
            status=cells.text("status"),
            created_at=made,
            updated_at=cells.time_or("updated_at", made, "created_at"),
        )

    def _keyed(self, project: Project, cells: Cells) -> Project:
        """The project under a key that no other has."""
        key = self._free(project.key, lambda key: key in self._keys, project.id)
        if key != project.key:
            cells.notes.append(f"key: another project has it; this one is {key}")
        self._keys.add(key)
        return changed(project, key=key)

    def _campaign(self, cells: Cells) -> Campaign:
        project_id = self._parent("projects", cells, "project_id")
        made = self._since(cells, project_id)
        policy = cells.lenient("policy_json", cells.policy, NO_POLICY)
        return Campaign(
            id=cells.key(),
            project_id=project_id,
            name=cells.text("name"),
            objective=cells.text("objective"),
            status=self._state(cells),
            scope=cells.lenient("scope_json", cells.members, "{}"),
            policy=policy_text(policy),
            created_at=made,
            updated_at=cells.time_or("updated_at", made, "created_at"),
        )

    def _state(self, cells: Cells) -> str:
        """A campaign's state; under a word that is not known, nothing new is claimed before somebody says so."""
        word = cells.text("status")
        if word not in _STATES:
            cells.notes.append("status: not one of active, paused, archived; it is drained, and `undrain` starts it")
        return _STATES.get(word, DRAINED)

    def _named(self, campaign: Campaign, cells: Cells) -> Campaign:
        """The campaign under a name that no other of its project has."""
        name = self._free(
            campaign.name, lambda name: (campaign.project_id, name) in self._names, f"{campaign.name} ({campaign.id})"
        )
        if name != campaign.name:
            cells.notes.append("name: another campaign of the project has it; this one has its id beside it")
        self._names.add((campaign.project_id, name))
        return changed(campaign, name=name)

    def _free(self, word: str, is_taken: Callable[[str], bool], instead: str) -> str:
        number, free = 1, word
        while is_taken(free):
            free = instead if number == 1 and len(instead.encode()) <= WORD_CAP else f"{word}-{number}"
            number += 1
        return free

    # Work

    def _needs(self, table: str, cells: Cells) -> None:
        try:
            self.needs[table][cells.key()] = cells.ids("depends_on")
        except Unfit:
            self.needs[table][cells.key()] = None

    def _shared(self, cells: Cells) -> dict[str, Any]:
        return {
            "deadline_at": cells.maybe("deadline_at", cells.time),
            "recipients": cells.lenient("recipients_json", cells.entries, "[]"),
            "approvals": cells.lenient("approvals_json", cells.entries, "[]"),
            "external_refs": cells.lenient("external_refs_json", cells.entries, "[]"),
        }

    def _milestone(self, cells: Cells) -> Milestone:
        project_id = self._parent("projects", cells, "project_id")
        self._needs("milestones", cells)
        return Milestone(
            id=cells.key(),
            project_id=project_id,
            campaign_id=None,
            key=cells.key(),
            description=cells.text("description"),
            position=self._place,
            created_at=self.of("projects", project_id, "created_at"),
            **self._shared(cells),
        )

    def _issue(self, cells: Cells) -> Issue:
        project_id = self._parent("projects", cells, "project_id")
        campaign_id = self._maybe_parent("campaigns", cells, "campaign_id", project_id)
        around = NO_POLICY
        scope, whose = ("projects", project_id) if campaign_id is None else ("campaigns", campaign_id)
        if campaign_id is not None:
            around = stored_policy(self.of("campaigns", campaign_id, "policy")) or NO_POLICY
        policy = merged(around, cells.lenient("policy_json", cells.policy, NO_POLICY))
        made = cells.time_or("created_at", self.of(scope, whose, "created_at"), f"that of its {scope[:-1]}")
        priority = cells.one_of("priority", PRIORITIES)
        self._needs("issues", cells)
        return Issue(
            id=cells.key(),
            project_id=project_id,
            campaign_id=campaign_id,
            milestone_id=self._maybe_parent("milestones", cells, "milestone_id", project_id),
            position=self._place,
            task=cells.text("task"),
            priority=priority,
            size=cells.one_of("size", SIZES),
            status=cells.one_of("status", TASK_STATUSES),
            rank=PRIORITIES.index(priority),
            rank_due_at=None,
            promotable=0,
            route=route_of(policy).text,
            policy=policy_text(policy),
            max_recoveries=max_recoveries_of(policy),
            next_best_action=cells.maybe("next_best_action", cells.text),
            blocked_reason=cells.maybe("blocked_reason", cells.text),
            lease_epoch=0,
            recoveries=0,
            ready_at=None,
            created_at=made,
            updated_at=made,
            **self._shared(cells),
        )

    # Who worked

    def _run(self, cells: Cells) -> Run:
        project_id = self._project_of(cells)
        began = cells.time_or(
            "started_at", self.of("projects", project_id, "created_at"), "the beginning of its project"
        )
        notes = cells.maybe("notes", cells.members_or_text) or "{}"
        agent = members_in_text(notes).get("agentId")
        return Run(
            id=cells.key(),
            project_id=project_id,
            campaign_id=self._maybe_parent("campaigns", cells, "campaign_id", project_id),
            issue_id=None,
            lease_id=None,
            session_type=cells.text("session_type"),
            host=cells.text("host"),
            agent_id=agent if isinstance(agent, str) else "",
            status=cells.text("status"),
            via=VIA,
            started_at=began,
            finished_at=cells.maybe("finished_at", cells.time),
            notes=notes,
            begin_input="{}",
        )

    def _lease(self, cells: Cells) -> Lease:
        """A lease; which clock it was taken by is not told, so that the wall clock decides."""
        project_id = self._project_of(cells)
        issue_id = self._maybe_parent("issues", cells, "issue_id", project_id)
        if issue_id is None:
            raise Unfit("issue_id: a lease of no issue holds nothing")
        campaign_id: str | None = self.of("issues", issue_id, "campaign_id")
        if cells.is_set("campaign_id") and cells.reference("campaign_id") != campaign_id:
            cells.notes.append("campaign_id: not the issue's; the issue's holds")
        status = cells.one_of("status", _LEASES)
        acquired, expires = cells.time("acquired_at"), cells.time("expires_at")
        beat = cells.maybe("last_heartbeat_at", cells.time)
        released = cells.maybe("released_at", cells.time)
        if status == ACTIVE and cells.is_set("released_at"):
            cells.notes.append("status: active and yet released; it is released")
            status = RELEASED
        renewed = acquired if beat is None else max(acquired, beat)
        return Lease(
            id=cells.key(),
            project_id=project_id,
            campaign_id=campaign_id,
            issue_id=issue_id,
            run_id="",
            session_id=None,
            agent_id=cells.text("agent_id"),
            host="",
            status=status,
            epoch=0,
            ttl_ms=min(max(expires - renewed, 1_000), LONGEST_S * 1_000),
            freshness_ms=DEFAULT_FRESHNESS_S * 1_000,
            boot="",
            acquired_at=acquired,
            renewed_at=renewed,
            expires_at=expires,
            deadline_mono=None,
            checkpoint_at=None,
            checkpoint_mono=None,
            last_heartbeat_at=beat,
            released_at=released,
            end_reason=None,
            holder_pid=None,
            holder_started=None,
        )

    def _artifact(self, cells: Cells) -> Artifact:
        project_id = self._project_of(cells)
        metadata = cells.lenient("metadata_json", cells.members, "{}")
        members = members_in_text(metadata)
        run_id = members.get("runId")
        known_run = run_id if isinstance(run_id, str) and self.has("runs", run_id) else None
        if known_run is not None and isinstance(lease_id := members.get("leaseId"), str):
            self.holds.append((known_run, lease_id))
        return Artifact(
            id=cells.key(),
            project_id=project_id,
            campaign_id=self._maybe_parent("campaigns", cells, "campaign_id", project_id),
            issue_id=self._maybe_parent("issues", cells, "issue_id", project_id),
            run_id=known_run,
            kind=cells.text("kind"),
            path=cells.text("path"),
            status=ACTIVE if members.get("status") == ACTIVE else RELEASED,
            metadata=metadata,
            created_at=self._since(cells, project_id),
            released_at=None,
        )

    # What happened

    def _checkpoint(self, cells: Cells) -> Checkpoint:
        run_id = self._parent("runs", cells, "run_id")
        if not cells.is_set("issue_id"):
            raise Unfit("issue_id: a checkpoint of no issue")
        return Checkpoint(
            id=cells.key(),
            seq=0,
            run_id=run_id,
            issue_id=self._parent("issues", cells, "issue_id"),
            lease_id=None,
            title=cells.text("title"),
            summary=cells.text("summary"),
            task_status=cells.one_of("task_status", TASK_STATUSES),
            next_step=cells.text("next_step"),
            artifact_ids=compact(cells.lenient("artifact_ids_json", cells.texts, [])),
            created_at=cells.time_or("created_at", self.of("runs", run_id, "started_at"), "the beginning of its run"),
        )

    def _event(self, cells: Cells) -> Happening:
        run_id = self._parent("runs", cells, "run_id")
        issue_id = self._parent("issues", cells, "issue_id") if cells.is_set("issue_id") else None
        table, own = ("runs", run_id) if issue_id is None else ("issues", issue_id)
        return Happening(
            id=cells.key(),
            kind=cells.text("kind"),
            project_id=self.of(table, own, "project_id"),
            campaign_id=self.of(table, own, "campaign_id"),
            issue_id=issue_id,
            run_id=run_id,
            at=cells.time_or("created_at", self.of("runs", run_id, "started_at"), "the beginning of its run"),
            payload=members_in_text(cells.members("payload")),
        )

    def _memory_link(self, cells: Cells) -> MemoryLink:
        project_id = self._project_of(cells)
        return MemoryLink(
            id=cells.key(),
            project_id=project_id,
            campaign_id=self._maybe_parent("campaigns", cells, "campaign_id", project_id),
            issue_id=self._maybe_parent("issues", cells, "issue_id", project_id),
            run_id=None,
            checkpoint_id=None,
            memory_kind=cells.text("memory_kind"),
            memory_ref=cells.text("memory_ref"),
            summary=cells.text("summary"),
            created_at=self._since(cells, project_id),
        )


def members_in_text(text: str) -> Mapping[str, Any]:
    """The members of a JSON object; none where the text is no such."""
    try:
        value = loads(text.encode())
    except JsonRefused:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
