"""A queue to try things on: set up through the commands, looked at through its rows."""

import json
from copy import copy, deepcopy
from pathlib import Path
from shutil import copytree
from typing import Any

from phelix_core.checks import Surface
from phelix_core.commands.environment import Environment, open_environment
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.envelope import Envelope
from phelix_core.queue import sqlite as driver
from phelix_core.queue.model import StoredEvent
from phelix_core.queue.writing import replay, rows_of
from phelix_core.settings import Settings
from phelix_core.sqlite import MEMORY, Database
from phelix_core.strictjson import plain
from tests.rig import CountedIds, FixedClock, did, refused

TABLES = (
    "workspaces", "projects", "campaigns", "milestones", "issues", "issue_dependencies", "milestone_dependencies",
    "leases", "runs", "checkpoints", "artifacts", "requests", "memory_outbox", "memory_links",
)  # fmt: skip
HOST: dict[str, Any] = {"host": "host-1", "workload_classes": ["code"], "capabilities": ["net"]}
REPORT: dict[str, Any] = {"summary": "so far", "next_step": "go on", "evidence": ["commit:abc"]}
HOUR = 3_600


class Desk:
    """One queue, its clock, and the surface that it is worked through."""

    def __init__(self, data_dir: Path, clock: FixedClock, surface: Surface = Surface.CLI) -> None:
        self.data_dir, self.clock, self.mint = data_dir, clock, CountedIds()
        self.env = self.surface(surface)
        self.ids: dict[str, str] = {}
        self.milestones: dict[str, str] = {}
        self.campaign = ""
        self.damaged = False

    def surface(self, surface: Surface, **chosen: Any) -> Environment:
        """A further process over the same files, so to speak."""
        return open_environment(
            Settings(data_dir=str(self.data_dir), **chosen), surface, clock=self.clock, mint=self.mint
        )

    def twin(self, data_dir: Path) -> "Desk":
        """The same queue at the same moment, elsewhere."""
        self.env.queue.close()
        copytree(self.data_dir, data_dir)
        made = Desk(data_dir, copy(self.clock))
        made.mint = deepcopy(self.mint)
        made.env = made.surface(self.env.surface)
        made.ids, made.milestones, made.campaign = dict(self.ids), dict(self.milestones), self.campaign
        return made

    @property
    def path(self) -> Path:
        return self.data_dir / "queue.db"

    def do(self, name: str, /, **raw: object) -> Any:
        return did(self.env, f"queue {name}", **raw)

    def no(self, name: str, /, **raw: object) -> Any:
        """The error of a verb that must be refused, having changed no row at all."""
        before = self.content()
        error = refused(self.env, f"queue {name}", **raw)
        assert self.content() == before, error
        return error

    def run(self, name: str, raw: dict[str, Any], *, dry_run: bool = False, digest: str | None = None) -> Envelope:
        return run(load_command(f"queue {name}"), raw, self.env, dry_run=dry_run, expect_digest=digest)

    # Setting up

    def open(self, campaign: str = "first", policy: dict[str, Any] | None = None, project: str = "Acme") -> "Desk":
        self.do("init", name="lab")
        return self.campaign_of(campaign, policy, project)

    def campaign_of(self, name: str, policy: dict[str, Any] | None = None, project: str = "Acme") -> "Desk":
        given = {} if policy is None else {"policy": json.dumps(policy)}
        self.campaign = self.do("campaign", project_name=project, campaign_name=name, **given)["campaignId"]
        return self

    def plan(self, *milestones: dict[str, Any], promote: bool = True, **raw: object) -> "Desk":
        """Bring milestones in; ids are found again by task and by key."""
        if "campaign" not in raw:
            raw["campaign"] = self.campaign
        for one in self.do("plan", batch=json.dumps({"milestones": milestones}), **raw)["generatedMilestones"]:
            self.milestones[one["key"]] = one["id"]
            self.ids |= {issue["task"]: issue["id"] for issue in one["generatedIssues"]}
        if promote:
            scope = {name: raw[name] for name in ("project",) if name in raw}
            self.do("promote", **scope)
        return self

    # Working

    def claim(self, task: str | None = None, agent: str | None = "ann", **more: object) -> Any:
        chosen: dict[str, object] = {} if task is None else {"issue_id": self.ids[task]}
        named = {} if agent is None else {"agent": agent}
        return self.do("claim", **{**HOST, **chosen, **named, **more})

    def unclaimed(self, task: str | None = None, agent: str | None = "bob", **more: object) -> Any:
        """The refusal of a claim; what reconcile found may have been recorded."""
        chosen: dict[str, object] = {} if task is None else {"issue_id": self.ids[task]}
        named = {} if agent is None else {"agent": agent}
        return refused(self.env, "queue claim", **{**HOST, **chosen, **named, **more})

    def say(self, context: Any, status: str = "in_progress", **more: object) -> Any:
        return self.do("checkpoint", lease=context["leaseId"], status=status, **{**REPORT, **more})

    def close(self, context: Any, status: str = "done", **more: object) -> Any:
        return self.do("close", lease=context["leaseId"], status=status, **{**REPORT, **more})

    def go(self, task: str, status: str) -> None:
        """Bring a ready issue to a status by the ways there are."""
        if status == "pending":
            self.do("rollback", issue_id=self.ids[task], reason="to pending")
        elif status != "ready":
            context = self.claim(task, agent=f"for {task}")
            if status in ("done", "failed", "blocked", "needs_recovery"):
                self.close(context, status)

    # Looking

    def ask(self, sql: str, *values: Any) -> list[Any]:
        db = Database(str(self.path), self.clock, read_only=True)
        try:
            return db.ask(sql, values)
        finally:
            db.close()

    def one(self, sql: str, *values: Any) -> Any:
        rows = self.ask(sql, *values)
        assert len(rows) == 1, rows
        return rows[0][0] if len(rows[0]) == 1 else rows[0]

    def issue(self, task: str, columns: str = "status") -> Any:
        return self.one(f"SELECT {columns} FROM issues WHERE id = ?", self.ids[task])

    def statuses(self) -> dict[str, str]:
        return dict(self.ask("SELECT task, status FROM issues"))

    def lease(self, lease_id: str, columns: str = "status") -> Any:
        return self.one(f"SELECT {columns} FROM leases WHERE id = ?", lease_id)

    def titles(self, task: str) -> list[str]:
        """Titles of an issue's checkpoints, oldest first."""
        return [
            row[0] for row in self.ask("SELECT title FROM checkpoints WHERE issue_id = ? ORDER BY seq", self.ids[task])
        ]

    def events(self, kind: str) -> list[Any]:
        return [json.loads(row[0]) for row in self.ask("SELECT payload FROM events WHERE kind = ? ORDER BY seq", kind)]

    def content(self) -> dict[str, list[Any]]:
        """Every row of every table; nothing where there is no queue."""
        if not self.path.exists():
            return {}
        db = Database(str(self.path), self.clock, read_only=True)
        try:
            return {table: rows_of(db, table) for table in (*TABLES, "events")}
        finally:
            db.close()

    @property
    def writer(self) -> Database:
        """The connection that verbs write with."""
        return self.env.queue._open_writer()  # pyright: ignore[reportPrivateUsage]

    @property
    def connection(self) -> Any:
        """What is behind it."""
        return self.writer._connection  # pyright: ignore[reportPrivateUsage]

    def damage(self, sql: str) -> None:
        """Change rows behind the journal's back."""
        self.damaged = True
        db = Database(str(self.path), self.clock)
        db.script(sql)
        db.close()

    def require_replay(self) -> None:
        """The journal has no gap, and replayed into an empty schema it makes the very rows that are there."""
        found = self.content()
        if not found or self.damaged:
            return
        db = Database(str(self.path), self.clock, read_only=True)
        assert db.ask("PRAGMA foreign_key_check") == []
        assert db.ask("PRAGMA integrity_check") == [("ok",)]
        db.close()
        events = [StoredEvent(**dict(zip(_EVENT, row, strict=True))) for row in found["events"]]
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        again = Database(MEMORY, self.clock)
        for script in driver.SCRIPTS:
            again.script(Path(driver.__file__).with_name(script).read_text(encoding="utf-8"))
        replay(again, events)
        assert {table: rows_of(again, table) for table in TABLES} == {table: found[table] for table in TABLES}
        again.close()


_EVENT = ("seq", "id", "kind", "project_id", "campaign_id", "issue_id", "run_id", "via", "at", "payload", "changes")


def milestone(key: str, *issues: Any, after: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    """A milestone as a batch holds it; an issue may be no more than its task."""
    told = {"depends_on_milestone_keys": list(after)} if after else {}
    made: list[Any] = [work(issue) if isinstance(issue, str) else issue for issue in issues]
    return {"milestone_key": key, "description": f"about {key}", "issues": made, **told, **more}


def work(task: str, *after: int, priority: str = "medium", size: str = "M", **more: Any) -> dict[str, Any]:
    """An issue as a batch holds it."""
    told = {"depends_on_indices": list(after)} if after else {}
    return {"task": task, "priority": priority, "size": size, **told, **more}


def shown(envelope: Envelope) -> Any:
    """A dry run's plan as plain JSON."""
    assert envelope.error is None, envelope.error
    return plain(envelope.result)
