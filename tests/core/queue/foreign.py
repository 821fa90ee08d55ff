"""A lifecycle database of version 5, made from the reference page's table alone, and one as agents leave it."""

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from phelix_core.clock import iso
from tests.rig import NOW_MS

MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR
BEGAN = NOW_MS - 3 * DAY

_SCOPE = "workspace_id TEXT NOT NULL REFERENCES workspaces(id), project_id TEXT NOT NULL REFERENCES projects(id)"
_WITHIN = f"{_SCOPE}, campaign_id TEXT REFERENCES campaigns(id)"
_STATUSES = "'pending','ready','in_progress','blocked','needs_recovery','done','failed'"
_PLANNED = (
    "priority TEXT NOT NULL CHECK (priority IN ('critical','high','medium','low')), {status},"
    " depends_on TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(depends_on)), deadline_at TEXT,"
    " recipients_json TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(recipients_json)),"
    " approvals_json TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(approvals_json)),"
    " external_refs_json TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(external_refs_json))"
)
_MILESTONE_STATUS = "status TEXT NOT NULL CHECK (status IN ('pending','ready','in_progress','blocked','done','failed'))"
SCHEMA: Mapping[str, str] = {
    "workspaces": (
        "id TEXT PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, created_at TEXT NOT NULL,"
        " updated_at TEXT NOT NULL"
    ),
    "projects": (
        "id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL REFERENCES workspaces(id), key TEXT NOT NULL UNIQUE,"
        " name TEXT NOT NULL, domain TEXT NOT NULL, status TEXT NOT NULL, created_at TEXT NOT NULL,"
        " updated_at TEXT NOT NULL"
    ),
    "campaigns": (
        "id TEXT PRIMARY KEY, project_id TEXT NOT NULL REFERENCES projects(id), name TEXT NOT NULL,"
        " objective TEXT NOT NULL, status TEXT NOT NULL,"
        " scope_json TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(scope_json)),"
        " policy_json TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(policy_json)),"
        " created_at TEXT NOT NULL, updated_at TEXT NOT NULL"
    ),
    "runs": (
        f"id TEXT PRIMARY KEY, {_WITHIN}, session_type TEXT NOT NULL, host TEXT NOT NULL, status TEXT NOT NULL,"
        " started_at TEXT NOT NULL, finished_at TEXT, notes TEXT"
    ),
    "milestones": (
        "id TEXT PRIMARY KEY, project_id TEXT NOT NULL REFERENCES projects(id), description TEXT NOT NULL,"
        f" {_PLANNED.format(status=_MILESTONE_STATUS)}, blocked_reason TEXT"
    ),
    "issues": (
        "id TEXT PRIMARY KEY, project_id TEXT NOT NULL REFERENCES projects(id),"
        " campaign_id TEXT REFERENCES campaigns(id), milestone_id TEXT REFERENCES milestones(id), task TEXT NOT NULL,"
        f" {_PLANNED.format(status=f'status TEXT NOT NULL CHECK (status IN ({_STATUSES}))')},"
        " size TEXT NOT NULL CHECK (size IN ('S','M','L','XL')),"
        " policy_json TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(policy_json)),"
        " next_best_action TEXT, blocked_reason TEXT, created_at TEXT NOT NULL DEFAULT ''"
    ),
    "leases": (
        f"id TEXT PRIMARY KEY, {_WITHIN}, issue_id TEXT REFERENCES issues(id), agent_id TEXT NOT NULL,"
        " status TEXT NOT NULL CHECK (status IN ('active','released','needs_recovery','recovered')),"
        " acquired_at TEXT NOT NULL, expires_at TEXT NOT NULL, last_heartbeat_at TEXT, released_at TEXT"
    ),
    "checkpoints": (
        "id TEXT PRIMARY KEY, run_id TEXT NOT NULL REFERENCES runs(id), issue_id TEXT REFERENCES issues(id),"
        f" title TEXT NOT NULL, summary TEXT NOT NULL, task_status TEXT NOT NULL CHECK (task_status IN ({_STATUSES})),"
        " next_step TEXT NOT NULL, artifact_ids_json TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(artifact_ids_json)),"
        " created_at TEXT NOT NULL"
    ),
    "events": (
        "id TEXT PRIMARY KEY, run_id TEXT NOT NULL REFERENCES runs(id), issue_id TEXT REFERENCES issues(id),"
        " kind TEXT NOT NULL, payload TEXT NOT NULL CHECK (json_valid(payload)), created_at TEXT NOT NULL"
    ),
    "artifacts": (
        f"id TEXT PRIMARY KEY, {_WITHIN}, issue_id TEXT REFERENCES issues(id), kind TEXT NOT NULL, path TEXT NOT NULL,"
        " metadata_json TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(metadata_json)), created_at TEXT NOT NULL"
    ),
    "memory_links": (
        f"id TEXT PRIMARY KEY, {_WITHIN}, issue_id TEXT REFERENCES issues(id), memory_kind TEXT NOT NULL,"
        " memory_ref TEXT NOT NULL, summary TEXT NOT NULL, created_at TEXT NOT NULL"
    ),
    "active_sessions": (
        f"token TEXT PRIMARY KEY, run_id TEXT NOT NULL UNIQUE REFERENCES runs(id), {_WITHIN},"
        " issue_id TEXT NOT NULL REFERENCES issues(id), lease_id TEXT NOT NULL REFERENCES leases(id),"
        " status TEXT NOT NULL CHECK (status IN ('active','closed')), context_json TEXT NOT NULL,"
        " begin_input_json TEXT NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL, closed_at TEXT"
    ),
    "sync_state": (
        "family TEXT PRIMARY KEY, last_source TEXT, last_runtime_sync_at TEXT, status TEXT NOT NULL, notes TEXT"
    ),
}
INDEXES = (
    "CREATE UNIQUE INDEX one_active ON leases (issue_id)"  # noqa: ISC004 - one statement
    " WHERE status = 'active' AND released_at IS NULL AND issue_id IS NOT NULL",
    "CREATE INDEX issues_by_status ON issues (project_id, campaign_id, status, priority)",
)
WITHIN = {"workspace_id": "W-1", "project_id": "P-1"}


def at(ms: int) -> str:
    """A time as that tool writes it."""
    return iso(ms)


class Foreign:
    """One such database, filled row by row; a row's other members have what a plain row has."""

    def __init__(self, path: Path, *, setup: str = "", without: str = "", version: int = 5) -> None:
        self.path = path
        with closing(sqlite3.connect(path)) as db:
            db.executescript(f"PRAGMA encoding='UTF-8';{setup}")
            for table, columns in SCHEMA.items():
                if table != without:
                    db.execute(f"CREATE TABLE {table} ({columns})")
            for index in INDEXES:
                if without not in {"leases", "issues"}:
                    db.execute(index)
            db.execute(f"PRAGMA user_version={version}")
            db.commit()

    def say(self, script: str) -> None:
        """Any statements, past every constraint."""
        with closing(sqlite3.connect(self.path)) as db:
            db.executescript(f"PRAGMA ignore_check_constraints=ON; PRAGMA foreign_keys=OFF; {script}")
            db.commit()

    def add(self, table: str, own: str | None, **members: Any) -> None:
        """One row; members that are lists or mappings are written as JSON."""
        row: dict[str, Any] = {"id": own, **_PLAIN.get(table, {}), **members}
        if table in {"active_sessions", "sync_state"}:
            row["token" if table == "active_sessions" else "family"] = row.pop("id")
        row = {name: json.dumps(value) if isinstance(value, (list, dict)) else value for name, value in row.items()}
        with closing(sqlite3.connect(self.path)) as db:
            db.execute("PRAGMA ignore_check_constraints=ON")
            names, marks = ", ".join(row), ", ".join("?" * len(row))
            db.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(row.values()))
            db.commit()

    def rows(self, table: str) -> dict[str, dict[str, Any]]:
        """Rows by their id."""
        with closing(sqlite3.connect(self.path)) as db:
            db.row_factory = sqlite3.Row
            return {str(row["id"]): dict(row) for row in db.execute(f"SELECT * FROM {table}")}

    def scope(self) -> "Foreign":
        """A workspace, a project, and a campaign in it."""
        self.add("workspaces", "W-1")
        self.add("projects", "P-1")
        self.add("campaigns", "C-1")
        return self

    def issue(self, own: str, status: str = "pending", *after: str, **members: Any) -> None:
        self.add("issues", own, status=status, depends_on=list(after), task=f"do {own}", **members)

    def began(
        self, own: str, run: str, lease: str, when: int, *, status: str = "active", title: str = "claim", **members: Any
    ) -> None:
        """What a begin leaves: run, lease, artifact, checkpoint and events; `members` are the lease's."""
        campaign = self.rows("issues")[own]["campaign_id"]
        agent = members.pop("agent_id", f"agent of {run}")
        told = {"agentId": agent, "mem0Enabled": True, "hostCapabilities": {"workloadClasses": ["code"]}}
        self.add("runs", run, campaign_id=campaign, started_at=at(when), notes=told)
        self.add(
            "leases", lease, issue_id=own, campaign_id=campaign, agent_id=agent, status=status, acquired_at=at(when),
            **{"expires_at": at(when + 30 * MINUTE), **members},
        )  # fmt: skip
        metadata = {"runId": run, "leaseId": lease, "status": "active" if status == "active" else "released"}
        artifact = f"session-artifact-{run}-001"
        self.add(
            "artifacts", artifact, issue_id=own, campaign_id=campaign, metadata_json=metadata, created_at=at(when),
            path=f"work/{run}",
        )  # fmt: skip
        self.point(own, run, f"K-{run}", when + 1, title=title, artifacts=[artifact])

    def point(
        self, own: str, run: str, point: str, when: int, *, task_status: str = "in_progress", title: str = "checkpoint",
        artifacts: list[str] | None = None,
    ) -> None:  # fmt: skip
        """A checkpoint and the event that tells of it."""
        told = {"checkpointId": point, "taskStatus": task_status, "nextStep": f"after {point}"}
        self.add(
            "checkpoints", point, run_id=run, issue_id=own, title=title, summary=f"about {point}",
            task_status=task_status, next_step=f"after {point}", artifact_ids_json=artifacts or [], created_at=at(when),
        )  # fmt: skip
        self.add(
            "events", f"V-{point}", run_id=run, issue_id=own, kind="checkpoint_payload", payload=told,
            created_at=at(when),
        )  # fmt: skip


_TIMES = {"created_at": at(BEGAN), "updated_at": at(BEGAN)}
_PLAIN: Mapping[str, Mapping[str, Any]] = {
    "workspaces": {"name": "lab", "kind": "local", **_TIMES},
    "projects": {
        "workspace_id": "W-1", "key": "lab-acme", "name": "Acme", "domain": "general", "status": "active", **_TIMES,
    },
    "campaigns": {"project_id": "P-1", "name": "first", "objective": "ship it", "status": "active", **_TIMES},
    "milestones": {"project_id": "P-1", "description": "a gate", "priority": "high", "status": "pending"},
    "issues": {
        "project_id": "P-1", "campaign_id": "C-1", "milestone_id": None, "priority": "medium", "size": "M",
        "created_at": at(BEGAN),
    },
    "runs": {
        **WITHIN, "campaign_id": "C-1", "session_type": "incremental", "host": "build-1", "status": "in_progress",
    },
    "leases": {**WITHIN, "campaign_id": "C-1"},
    "artifacts": {**WITHIN, "campaign_id": "C-1", "kind": "diff"},
    "memory_links": {
        **WITHIN, "campaign_id": "C-1", "memory_kind": "summary", "summary": "learned", "created_at": at(BEGAN),
    },
}  # fmt: skip
GPU = {"dispatch": {"workloadClass": "gpu", "requiredHostCapabilities": ["cuda"]}}
OWNED = {"owner": "ops", "serviceLevel": {"resolveWithinMinutes": 90_000}}


def as_agents_left_it(path: Path) -> Foreign:
    """Two campaigns: done, failed, blocked and recovered work, an expired lease, gates, memories, and faults."""
    made = Foreign(path, setup="PRAGMA journal_mode=WAL;").scope()
    made.add("campaigns", "C-2", name="second", objective="", status="paused", policy_json=OWNED, scope_json={"a": [1]})
    made.add("milestones", "M-1", status="in_progress", deadline_at=at(NOW_MS + DAY))
    made.add("milestones", "M-2", status="blocked", depends_on=["M-1"], blocked_reason="milestone_dependency:M-1")
    _first_campaign(made)
    _second_campaign(made)
    made.add("events", "V-run", run_id="RUN-1", kind="reconciliation_blocked", payload={"blockers": []},
             created_at=at(BEGAN + 8 * HOUR))  # fmt: skip
    made.add(
        "active_sessions", "ST-0123456789ab", run_id="RUN-3", **WITHIN, issue_id="I-held", lease_id="L-3",
        status="active", context_json={}, begin_input_json={}, created_at=at(BEGAN), updated_at=at(BEGAN),
    )  # fmt: skip
    made.add("sync_state", "lifecycle", status="idle")
    made.say("CREATE TABLE scheduler_injections (job_key, scheduled_for, issue_id, created_at)")
    return made


def _first_campaign(made: Foreign) -> None:
    people = [{"id": "ops", "name": "Operations"}]
    made.issue(
        "I-done", "done", milestone_id="M-1", next_best_action="nothing", priority="critical", size="XL",
        recipients_json=people, approvals_json=[{"id": "a", "recipientIds": ["ops"]}],
        external_refs_json=[{"id": "JIRA-1", "url": "https://tracker.example/1"}],
    )  # fmt: skip
    made.issue("I-held", "in_progress", milestone_id="M-1", deadline_at=at(NOW_MS + HOUR), policy_json=GPU)
    made.issue("I-open", "pending", "I-done", milestone_id="M-1")
    made.issue("I-behind", "pending", "I-held", milestone_id="M-1", blocked_reason="issue_dependency:I-held")
    made.issue("I-gated", "pending", milestone_id="M-2", blocked_reason="milestone_dependency:M-1")
    made.issue("I-ready", "ready", priority="low", size="S")
    made.issue("I-failed", "failed", blocked_reason="it broke")
    made.issue("I-stale", "needs_recovery", blocked_reason="lease_expired")
    made.began("I-done", "RUN-1", "L-1", BEGAN + HOUR, status="released", released_at=at(BEGAN + 2 * HOUR))
    made.point("I-done", "RUN-1", "K-end", BEGAN + 2 * HOUR, task_status="done", title="close")
    made.add("memory_links", "MEM-1", issue_id="I-done", memory_ref="mem-of-1")
    made.add("memory_links", "MEM-2", memory_ref="mem-of-nothing", memory_kind="note")
    linked = {"checkpointId": "K-end", "memoryId": "mem-of-1", "memoryKind": "summary"}
    made.add("events", "V-mem", run_id="RUN-1", issue_id="I-done", kind="mem0_memory_linked", payload=linked,
             created_at=at(BEGAN + 2 * HOUR + 5))  # fmt: skip
    made.began("I-held", "RUN-2", "L-2", BEGAN + 3 * HOUR, status="recovered", released_at=at(BEGAN + 4 * HOUR))
    made.began(
        "I-held", "RUN-3", "L-3", BEGAN + 4 * HOUR, title="recovery_claim", agent_id="ann",
        last_heartbeat_at=at(BEGAN + 5 * HOUR), expires_at=at(BEGAN + 6 * HOUR),
    )  # fmt: skip
    made.began("I-stale", "RUN-4", "L-4", BEGAN + 5 * HOUR, status="needs_recovery")
    made.point("I-stale", "RUN-4", "K-stale", BEGAN + 7 * HOUR, task_status="needs_recovery", title="needs_recovery")


def _second_campaign(made: Foreign) -> None:
    made.issue("I-drained", "blocked", campaign_id="C-2", blocked_reason="campaign_drain:C-2")
    made.issue("I-owned", "failed", campaign_id="C-2", policy_json={"owner": "dev"})
    made.issue("I-corrupt", "done", campaign_id="C-2", policy_json={"owner": 7, "unheard of": True})
    made.issue("I-lost", "pending", "I-gone", campaign_id="C-2")
    made.issue("I-old", "done", campaign_id="C-2", created_at="")
