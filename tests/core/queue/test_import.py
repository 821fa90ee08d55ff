"""An existing lifecycle database comes in whole: ids kept, the file only read, what did not fit told."""

import json
import os
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phelix_core.checks import Surface
from phelix_core.clock import from_iso
from phelix_core.commands.registry import load_command, validate
from phelix_core.commands.run import run
from phelix_core.queue.importing.graph import on_a_cycle
from phelix_core.queue.importing.source import COLUMNS
from phelix_core.queue.model import JSON_CAP
from phelix_core.redaction import redact
from phelix_core.strictjson import plain
from tests.core.queue import oracle
from tests.core.queue.desk import HOST, Desk, shown
from tests.core.queue.foreign import BEGAN, GPU, HOUR, OWNED, SCHEMA, Foreign, as_agents_left_it, at
from tests.rig import NOW_MS, FixedClock, Phelix, bytes_of, did, environment
from tests.surfaces.schema_reader import faults

SECRET = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
NOTHING = dict.fromkeys((*(table for table in COLUMNS if table != "memory_links"), "memoryLinks"), 0)


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A folder of another tool's."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    return folder


@pytest.fixture
def small(theirs: Path) -> Foreign:
    """A database with nothing but a project and its campaign."""
    return Foreign(theirs / "small.db").scope()


def brought(desk: Desk, made: Foreign) -> Any:
    return desk.do("import", file=str(made.path))


def misfits(answer: Any) -> dict[tuple[str, str], list[str]]:
    """Reasons by table and id."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in answer["leftOut"]:
        found.setdefault((one["table"], one["id"]), []).append(one["reason"])
    assert answer["leftOutCount"] == sum(map(len, found.values()))
    return found


def ours(desk: Desk, table: str) -> dict[str, dict[str, Any]]:
    """Rows of the queue by their id."""
    with closing(sqlite3.connect(f"file:{desk.path}?mode=ro", uri=True)) as db:
        db.row_factory = sqlite3.Row
        return {str(row["id"]): dict(row) for row in db.execute(f"SELECT * FROM {table}")}


# What comes in

Reader = Callable[[Any], Any]


def as_it_is(value: Any) -> Any:
    return value


def ms(value: Any) -> Any:
    return None if value is None else from_iso(value)


def read(value: Any) -> Any:
    return None if value is None else json.loads(value)


SAME: Mapping[str, Mapping[str, tuple[str, Reader, Reader]]] = {
    table: {name: (name, as_it_is, as_it_is) for name in as_they_are.split()}
    | {name: (name, ms, as_it_is) for name in times.split()}
    | {f"{name}{suffix}": (name, read, read) for name, suffix in (word.split(":") for word in documents.split())}
    for table, as_they_are, times, documents in (
        ("workspaces", "name kind", "created_at updated_at", ""),
        ("projects", "workspace_id key name domain status", "created_at updated_at", ""),
        ("campaigns", "project_id name objective", "created_at updated_at", "scope:_json policy:_json"),
        (
            "milestones", "project_id description", "deadline_at",
            "recipients:_json approvals:_json external_refs:_json",
        ),
        (
            "issues",
            "project_id campaign_id milestone_id task priority size status next_best_action blocked_reason",
            "deadline_at created_at", "recipients:_json approvals:_json external_refs:_json policy:_json",
        ),
        ("runs", "project_id campaign_id session_type host status", "started_at finished_at", "notes:"),
        (
            "leases", "project_id campaign_id issue_id agent_id status",
            "acquired_at expires_at last_heartbeat_at released_at", "",
        ),
        ("artifacts", "project_id campaign_id issue_id kind path", "created_at", "metadata:_json"),
        ("checkpoints", "run_id issue_id title summary task_status next_step", "created_at", "artifact_ids:_json"),
        ("memory_links", "project_id campaign_id issue_id memory_kind memory_ref summary", "created_at", ""),
        ("events", "run_id issue_id kind", "", "payload:"),
    )
}  # fmt: skip
DIFFERS = {
    ("campaigns", "C-2", "status"): "drained",
    ("issues", "I-owned", "policy_json"): OWNED | {"owner": "dev"},
    ("issues", "I-corrupt", "policy_json"): OWNED,
    ("issues", "I-lost", "policy_json"): OWNED,
    ("issues", "I-drained", "policy_json"): OWNED,
    ("issues", "I-old", "policy_json"): OWNED,
    ("issues", "I-old", "created_at"): BEGAN,
    ("issues", "I-lost", "status"): "blocked",
    ("issues", "I-lost", "blocked_reason"): "issue_dependency:I-gone",
}
"""What is not the same, and what it is: merged with its campaign's, read as none, or unable to ever be promoted."""


def test_every_value_that_both_schemas_hold_is_the_same_afterwards(desk: Desk, theirs: Path) -> None:
    made = as_agents_left_it(theirs / "their.db")
    answer = brought(desk, made)
    compared = 0
    for table, members in SAME.items():
        here, there = ours(desk, table), made.rows(table)
        assert here.keys() >= there.keys()
        for own, row in there.items():
            for name, (column, of_theirs, of_ours) in members.items():
                expected = DIFFERS.get((table, own, name), Ellipsis)
                expected = of_theirs(row[name]) if expected is Ellipsis else expected
                assert of_ours(here[own][column]) == expected, (table, own, name)
                compared += 1
        assert answer["imported"]["memoryLinks" if table == "memory_links" else table] == len(there)
    assert compared > 400
    assert {own: row["at"] for own, row in ours(desk, "events").items() if own.startswith("V-")} == {
        own: from_iso(row["created_at"]) for own, row in made.rows("events").items()
    }
    assert {tuple(row) for row in desk.ask("SELECT issue_id, depends_on FROM issue_dependencies")} == {
        ("I-open", "I-done"), ("I-behind", "I-held"),
    }  # fmt: skip
    assert desk.ask("SELECT milestone_id, depends_on FROM milestone_dependencies") == [("M-2", "M-1")]
    assert answer["alreadyThere"] == NOTHING


def test_the_schema_of_the_builder_holds_the_columns_that_are_read() -> None:
    for table, columns in COLUMNS.items():
        assert [name for name in columns if f"{name} TEXT" not in SCHEMA[table]] == [], table


def test_what_is_altered_is_told_and_nothing_else(desk: Desk, theirs: Path) -> None:
    answer = brought(desk, as_agents_left_it(theirs / "their.db"))
    assert misfits(answer) == {
        ("issues", "I-corrupt"): ['policy_json: unknown member "unheard of"; kept without it'],
        ("issues", "I-old"): ["created_at: no time; that of its campaign stands for it"],
        ("issues", "I-lost"): [
            "depends_on: I-gone, which was not taken; what waits for it is kept blocked",
            "status: pending; blocked here, and `queue unblock` decides",
        ],
    }
    assert {one["table"]: one["count"] for one in answer["notTaken"]} == {
        "milestones": 2, "active_sessions": 1, "sync_state": 1,
    }  # fmt: skip
    assert all(one["reason"] for one in answer["notTaken"])


def test_what_only_our_rows_have_follows_from_the_file(desk: Desk, theirs: Path) -> None:
    brought(desk, as_agents_left_it(theirs / "their.db"))
    leases, issues, runs = ours(desk, "leases"), ours(desk, "issues"), ours(desk, "runs")
    assert {own: (row["epoch"], row["run_id"], row["boot"]) for own, row in leases.items()} == {
        "L-1": (1, "RUN-1", ""), "L-2": (1, "RUN-2", ""), "L-3": (2, "RUN-3", ""), "L-4": (1, "RUN-4", ""),
    }  # fmt: skip
    assert (leases["L-3"]["ttl_ms"], leases["L-3"]["renewed_at"]) == (HOUR, BEGAN + 5 * HOUR)
    assert leases["L-3"]["checkpoint_at"] == BEGAN + 4 * HOUR + 1
    assert {own: row["lease_epoch"] for own, row in issues.items() if row["lease_epoch"]} == {
        "I-done": 1, "I-held": 2, "I-stale": 1,
    }  # fmt: skip
    assert {own: row["recoveries"] for own, row in issues.items() if row["recoveries"]} == {"I-held": 1}
    assert [own for own, row in issues.items() if row["promotable"]] == ["I-open"]
    assert (issues["I-held"]["route"], issues["I-ready"]["rank"]) == ('["gpu", "cuda"]', 3)
    assert (runs["RUN-3"]["agent_id"], runs["RUN-3"]["lease_id"], runs["RUN-3"]["issue_id"]) == ("ann", "L-3", "I-held")
    assert {own: row["campaign_id"] for own, row in ours(desk, "milestones").items()} == {"M-1": "C-1", "M-2": "C-1"}
    assert {own: row["lease_id"] for own, row in ours(desk, "checkpoints").items()}["K-stale"] == "L-4"
    links = ours(desk, "memory_links")
    assert (links["MEM-1"]["checkpoint_id"], links["MEM-1"]["run_id"]) == ("K-end", "RUN-1")
    assert (links["MEM-2"]["checkpoint_id"], links["MEM-2"]["run_id"]) == (None, None)
    assert {row["status"] for own, row in ours(desk, "artifacts").items() if "RUN-3" in own} == {"active"}
    assert {row["status"] for own, row in ours(desk, "artifacts").items() if "RUN-3" not in own} == {"released"}


def test_a_checkpoint_stands_in_the_event_that_told_of_it_and_a_story_reads_in_its_order(
    desk: Desk, theirs: Path
) -> None:
    brought(desk, as_agents_left_it(theirs / "their.db"))
    for own, seq in desk.ask("SELECT id, seq FROM checkpoints"):
        assert desk.one("SELECT id, kind FROM events WHERE seq = ?", seq) == (f"V-{own}", "checkpoint_payload")
    told = desk.do("show", issue_id="I-done")
    assert [event["id"] for event in told["events"]] == ["V-mem", "V-K-end", "V-K-RUN-1"]
    assert [point["title"] for point in told["checkpoints"]] == ["close", "claim"]
    assert told["events"][0]["createdAt"] == at(BEGAN + 2 * HOUR + 5)


def test_a_checkpoint_that_no_event_tells_of_gets_one(desk: Desk, small: Foreign) -> None:
    small.issue("I-1", "done")
    small.add("runs", "RUN-1", started_at=at(BEGAN))
    small.point("I-1", "RUN-1", "K-1", BEGAN + 2)
    small.say("DELETE FROM events")
    brought(desk, small)
    assert desk.one("SELECT id, task_status, seq FROM checkpoints")[0] == "K-1"
    assert desk.one("SELECT kind, issue_id, at FROM events WHERE issue_id IS NOT NULL") == (
        "checkpoint_imported", "I-1", BEGAN + 2,
    )  # fmt: skip


# The file, and importing again


def test_importing_twice_is_importing_once_and_the_file_stays_as_it_is(desk: Desk, theirs: Path) -> None:
    made = as_agents_left_it(theirs / "their.db")
    before = bytes_of(theirs)
    first = brought(desk, made)
    content = desk.content()
    again = brought(desk, made)
    assert bytes_of(theirs) == before
    assert desk.content() == content
    assert (again["imported"], again["alreadyThere"]) == (NOTHING, first["imported"])
    assert again["leftOut"] == []


def test_what_has_gone_on_here_since_stays_as_it_is(desk: Desk, theirs: Path) -> None:
    made = as_agents_left_it(theirs / "their.db")
    brought(desk, made)
    desk.do("reconcile")
    desk.do("recover", issue_id="I-held", resolution="requeue", reason="its agent died")
    content = desk.content()
    made.point("I-held", "RUN-3", "K-late", NOW_MS)
    made.issue("I-late", "pending", "I-held")
    made.issue("I-into", "pending", milestone_id="M-1")
    answer = brought(desk, made)
    assert answer["imported"] == NOTHING | {"issues": 1}
    assert {where: len(reasons) for where, reasons in misfits(answer).items()} == {
        ("checkpoints", "K-late"): 1, ("events", "V-K-late"): 1, ("issues", "I-into"): 1,
    }  # fmt: skip
    after = desk.content()
    assert [row for row in after["issues"] if row[0] != "I-late"] == content["issues"]
    assert after["leases"] == content["leases"]
    assert desk.one("SELECT promotable FROM issues WHERE id = 'I-late'") == 0


def test_a_queue_that_changes_while_the_file_is_read_is_looked_at_again(desk: Desk, theirs: Path) -> None:
    made = as_agents_left_it(theirs / "their.db")
    command = load_command("queue import")
    intent: Any = command(validate(command, {"file": str(made.path)}, Surface.CLI), desk.env)
    first = Desk(desk.data_dir, desk.clock)
    answer = brought(first, made)
    first.env.queue.close()
    assert intent.apply(None)["alreadyThere"] == answer["imported"]


def test_rows_that_stand_only_in_the_log_come_in_and_only_an_index_is_left_beside_it(desk: Desk, theirs: Path) -> None:
    living = Foreign(theirs / "their.db", setup="PRAGMA journal_mode=WAL;").scope()
    writer = sqlite3.connect(living.path)
    writer.execute("INSERT INTO workspaces VALUES ('W-log', 'late', 'local', ?, ?)", [at(BEGAN)] * 2)
    writer.commit()
    crashed = theirs / "crashed"
    crashed.mkdir()
    for suffix in ("", "-wal"):
        (crashed / f"their.db{suffix}").write_bytes(Path(f"{living.path}{suffix}").read_bytes())
    before = bytes_of(crashed)
    assert desk.do("import", file=str(crashed / "their.db"))["imported"]["workspaces"] == 2
    assert {name: data for name, data in bytes_of(crashed).items() if not name.endswith("-shm")} == before
    listed = sorted(os.listdir(theirs))
    held = living.path.read_bytes(), Path(f"{living.path}-wal").read_bytes()
    assert desk.do("import", file=str(living.path))["alreadyThere"]["workspaces"] == 2
    assert (sorted(os.listdir(theirs)), held) == (
        listed, (living.path.read_bytes(), Path(f"{living.path}-wal").read_bytes()),
    )  # fmt: skip
    writer.close()


def test_a_database_in_another_encoding_reads_the_same(desk: Desk, theirs: Path) -> None:
    made = Foreign(theirs / "wide.db", setup="PRAGMA encoding='UTF-16le';").scope()
    made.issue("I-1", "ready", next_best_action="vérifier ✓ 清理")
    brought(desk, made)
    assert desk.one("SELECT next_best_action FROM issues") == "vérifier ✓ 清理"


def test_a_dry_run_writes_nothing_and_its_digest_lets_that_import_through_alone(desk: Desk, theirs: Path) -> None:
    made = as_agents_left_it(theirs / "their.db")
    raw = {"file": str(made.path)}
    plan = shown(desk.run("import", raw, dry_run=True))
    assert not desk.data_dir.exists()
    told = {change["field"]: change["after"] for change in plan["changes"]}
    assert told.pop("rows").startswith("sha256:")
    answer = plan["outcome"]
    assert told == {table: number for table, number in answer["imported"].items() if number}
    assert any("I-lost" in note for note in plan["side_effects"])
    made.issue("I-more", "ready")
    refusal = desk.run("import", raw, digest=plan["digest"])
    assert refusal.error is not None
    assert refusal.error.code == "LEASE_CONFLICT"
    assert desk.content().get("issues", []) == []
    made.say("DELETE FROM issues WHERE id = 'I-more'")
    assert desk.run("import", raw, digest=plan["digest"]).result == answer
    assert shown(desk.run("import", raw, dry_run=True))["changes"] == []


def test_read_only_refuses_it(data_dir: Path, clock: FixedClock, small: Foreign) -> None:
    env = environment(data_dir, clock, read_only=True)
    refusal = run(load_command("queue import"), {"file": str(small.path)}, env)
    assert refusal.error is not None
    assert refusal.error.code == "READ_ONLY"
    assert not data_dir.exists()


# What our verbs make of it


def test_the_verbs_go_on_where_their_agents_stopped(desk: Desk, theirs: Path) -> None:
    brought(desk, as_agents_left_it(theirs / "their.db"))
    issues = {issue["id"]: issue for issue in desk.do("list", limit=0)["issues"]}
    assert len(issues) == 13
    assert desk.do("show", issue_id="I-behind")["waitsFor"] == "issue_dependency:I-held"
    assert desk.do("reconcile") == {
        "needsRecovery": [{"issueId": "I-held", "reason": "lease_expired"}], "failed": [], "released": [],
    }  # fmt: skip
    blocked = desk.unclaimed(agent="bob")
    assert blocked["code"] == "RECOVERY_REQUIRED"
    assert {one["issueId"] for one in blocked["details"]["blockers"]} == {"I-held", "I-stale"}
    desk.do("recover", issue_id="I-stale", resolution="requeue", reason="its agent died")
    gpu = {**HOST, "workload_classes": ["gpu", "code"], "capabilities": ["cuda"]}
    held = desk.do("recover", issue_id="I-held", resolution="resume", reason="on", agent="bob", **gpu)
    assert (held["leaseEpoch"], held["claimMode"]) == (3, "recovery")
    assert "I-open" in desk.do("promote")["promotedIssueIds"]
    assert "I-behind" in desk.close(held)["promotedIssueIds"]
    assert desk.one("SELECT status FROM leases WHERE id = 'L-3'") == "recovered"
    assert desk.do("undrain", campaign_id="C-2", reason="go on")["unblockedIssueIds"] == ["I-drained"]
    assert desk.do("unblock", issue_id="I-lost", reason="I-gone is not needed")["newStatus"] == "ready"
    while (claimed := desk.run("claim", {**gpu, "agent": "bob"})).error is None:
        desk.close(claimed.result)
    assert claimed.error.code == "NOTHING_READY"
    assert set(desk.ask("SELECT status FROM issues WHERE id NOT IN ('I-failed', 'I-owned')")) == {("done",)}
    health = desk.do("health")
    assert health["claimsBlockedBy"] == []


def test_a_living_lease_goes_on_under_its_id_and_its_agent_resumes_it(desk: Desk, small: Foreign) -> None:
    small.issue("I-1", "in_progress")
    small.began("I-1", "RUN-1", "L-1", NOW_MS - 60_000, agent_id="ann")
    brought(desk, small)
    assert desk.do("reconcile")["needsRecovery"] == []
    assert desk.say({"leaseId": "L-1"})["context"]["runId"] == "RUN-1"
    resumed = desk.claim(agent="ann")
    assert (resumed["leaseId"], resumed["claimMode"]) == ("L-1", "resume")
    assert desk.close(resumed)["releasedLease"] == "L-1"


def test_what_is_imported_keeps_the_rules_of_gates(desk: Desk, small: Foreign) -> None:
    for number, (status, behind) in enumerate(
        (one, other) for one in ("pending", "ready", "in_progress", "done") for other in ("done", "failed", "ready")
    ):
        small.issue(f"I-{number}-first", behind)
        small.issue(f"I-{number}-then", status, f"I-{number}-first")
    answer = brought(desk, small)
    rows = _rows_of(desk)
    oracle.judge_gates(rows)
    assert sum("ready before" in reasons[0] for reasons in misfits(answer).values()) == 2


def _rows_of(desk: Desk) -> oracle.Rows:
    found = oracle.no_rows()
    for table in ("issues", "milestones"):
        found[table] = dict(ours(desk, table))
    for table, own in (("issue_dependencies", "issue_id"), ("milestone_dependencies", "milestone_id")):
        found[table] = {key: {} for key in desk.ask(f"SELECT {own}, depends_on FROM {table}")}
    return found


# What does not fit


def test_a_cycle_is_told_and_never_unlocks_by_itself(desk: Desk, small: Foreign) -> None:
    small.issue("I-1", "pending", "I-3", "I-0")
    small.issue("I-2", "pending", "I-1")
    small.issue("I-3", "pending", "I-2")
    small.issue("I-self", "ready", "I-self")
    small.issue("I-0", "done")
    small.issue("I-after", "pending", "I-3")
    small.add("milestones", "M-1", depends_on=["M-2"])
    small.add("milestones", "M-2", depends_on=["M-1"])
    small.issue("I-in", "pending", milestone_id="M-1")
    answer = brought(desk, small)
    edges = desk.ask("SELECT issue_id, depends_on FROM issue_dependencies ORDER BY 1")
    assert edges == [("I-1", "I-0"), ("I-after", "I-3")]
    assert desk.ask("SELECT * FROM milestone_dependencies") == []
    assert dict(desk.ask("SELECT id, blocked_reason FROM issues WHERE status = 'blocked'")) == {
        "I-1": "issue_dependency:I-3", "I-2": "issue_dependency:I-1", "I-3": "issue_dependency:I-2",
        "I-self": "issue_dependency:I-self", "I-in": "milestone_dependency:M-2",
    }  # fmt: skip
    assert desk.one("SELECT status FROM issues WHERE id = 'I-after'") == "pending"
    assert {own for _, own in misfits(answer)} == {"I-1", "I-2", "I-3", "I-self", "I-in", "M-1", "M-2"}
    assert desk.do("promote")["promotedIssueIds"] == []


def test_a_row_that_would_lie_is_left_out_with_what_hangs_on_it(desk: Desk, small: Foreign) -> None:
    small.issue("I-1", "done")
    small.add("runs", "RUN-1", started_at=at(BEGAN))
    small.add("issues", "I-size", status="done", size="XXL", task="t")
    small.add("issues", "I-blob", status="done", task=b"\xff\xfe")
    small.add("issues", "I-long", status="done", task="x" * (JSON_CAP + 1))
    small.add("issues", "I-nul", status="done", task="a\0b")
    small.add("issues", "I" * 129, status="done", task="t")
    small.add("issues", SECRET, status="done", task="t")
    small.add("issues", None, status="done", task="t")
    small.add("leases", "L-none", issue_id=None, agent_id="a", status="released", acquired_at=at(1), expires_at=at(2))
    small.add("leases", "L-time", issue_id="I-1", agent_id="a", status="released", acquired_at="soon", expires_at="x")
    small.point("I-size", "RUN-1", "K-1", BEGAN)
    small.point("I-1", "RUN-gone", "K-2", BEGAN)
    small.add("events", "V-list", run_id="RUN-1", kind="k", payload=[1], created_at=at(BEGAN))
    small.add("memory_links", "MEM-1", memory_ref="m", issue_id="I-blob")
    answer = brought(desk, small)
    found = misfits(answer)
    assert {own: reasons[0].split(":")[0] for (_, own), reasons in found.items()} == {
        "I-size": "size", "I-blob": "task", "I-long": "task", "I-nul": "task", "(an id over the cap)": "id",
        redact(SECRET): "id", "(no id)": "id", "L-none": "issue_id", "L-time": "acquired_at",
        "K-1": "issue_id", "K-2": "run_id", "V-K-1": "issue_id", "V-K-2": "run_id", "V-list": "payload",
        "MEM-1": "issue_id",
    }  # fmt: skip
    assert list(ours(desk, "issues")) == ["I-1"]
    assert SECRET not in json.dumps(answer)


def test_what_only_adds_to_a_row_is_left_out_of_it_and_told(desk: Desk, small: Foreign) -> None:
    small.add(
        "issues", "I-1", status="done", task="t", deadline_at="tomorrow", recipients_json=[{"no": "id"}],
        next_best_action="n" * (JSON_CAP + 1), blocked_reason="b" * JSON_CAP, policy_json="{not json",
    )  # fmt: skip
    small.add("runs", "RUN-1", started_at="once", notes="no JSON at all")
    found = misfits(brought(desk, small))
    words = [reason.split(":")[0] for reason in found["issues", "I-1"]]
    assert sorted(words) == ["deadline_at", "next_best_action", "policy_json", "recipients_json[0].id"]
    assert len(found["runs", "RUN-1"]) == 1
    assert desk.one("SELECT deadline_at, recipients, next_best_action, length(blocked_reason), policy FROM issues") == (
        None, "[]", None, JSON_CAP, "{}",
    )  # fmt: skip
    assert desk.one("SELECT started_at, notes, agent_id FROM runs") == (BEGAN, "no JSON at all", "RUN-1")


def test_a_text_longer_than_our_own_commands_take_is_kept_whole(desk: Desk, small: Foreign) -> None:
    small.add("issues", "I-1", status="ready", task="é" * 4_000)
    assert brought(desk, small)["leftOutCount"] == 0
    assert desk.do("show", issue_id="I-1")["issue"]["task"] == "é" * 4_000
    desk.close(desk.claim())


def test_no_secret_of_another_tool_is_stored_or_told(desk: Desk, small: Foreign) -> None:
    words = f"the token is {SECRET} now"
    small.issue("I-1", "done", next_best_action=words, recipients_json=[{"id": "a", "note": words}])
    small.began("I-1", "RUN-1", "L-1", BEGAN, status="released", released_at=at(BEGAN + 9))
    small.say(f"UPDATE checkpoints SET summary = '{words}'; UPDATE runs SET notes = '{words}'")
    small.say(f"""UPDATE events SET payload = '{{"checkpointId": "K-RUN-1", "{SECRET}": ["{words}"]}}'""")
    small.add("memory_links", "MEM-1", memory_ref="m", issue_id="I-1", summary=words)
    small.say(f'CREATE TABLE "{SECRET}" (a); INSERT INTO "{SECRET}" VALUES (1)')
    answer = brought(desk, small)
    assert any("REDACTED" in one["table"] for one in answer["notTaken"])
    assert SECRET not in json.dumps(answer)
    assert all(SECRET.encode() not in data for data in bytes_of(desk.data_dir).values() if isinstance(data, bytes))


def test_leases_that_contradict_their_issue_become_what_reconcile_can_end(desk: Desk, small: Foreign) -> None:
    small.add("campaigns", "C-old", name="old", status="archived")
    for status in ("pending", "ready", "in_progress", "blocked", "needs_recovery", "done", "failed"):
        small.issue(f"I-{status}", status)
        small.began(f"I-{status}", f"RUN-{status}", f"L-{status}", NOW_MS - 60_000)
    small.issue("I-away", "in_progress", campaign_id="C-old")
    small.began("I-away", "RUN-away", "L-away", NOW_MS - 60_000)
    small.issue("I-twice", "in_progress")
    small.began("I-twice", "RUN-a", "L-a", NOW_MS - 90_000)
    small.say("DROP INDEX one_active")
    small.began("I-twice", "RUN-b", "L-b", NOW_MS - 60_000)
    small.issue("I-freed", "in_progress")
    small.began("I-freed", "RUN-f", "L-f", NOW_MS - 60_000, released_at=at(NOW_MS))
    small.issue("I-stray", "in_progress")
    answer = brought(desk, small)
    assert {own for table, own in misfits(answer) if table == "leases"} == {"L-needs_recovery", "L-away", "L-a", "L-f"}
    statuses = dict(desk.ask("SELECT id, status FROM leases"))
    assert "L-a" not in statuses
    assert {own: status for own, status in statuses.items() if status != "active"} == {
        "L-needs_recovery": "needs_recovery", "L-away": "released", "L-f": "released",
    }  # fmt: skip
    found = desk.do("reconcile")
    assert {one["issueId"] for one in found["needsRecovery"]} == {"I-pending", "I-ready", "I-freed", "I-stray"}
    assert sorted(found["released"]) == ["L-done", "L-failed"]
    assert desk.do("reconcile") == {"needsRecovery": [], "failed": [], "released": []}


def test_ids_keys_and_names_that_the_queue_has_given_already_are_told(desk: Desk, small: Foreign) -> None:
    desk.open("first", project="Acme")
    key = desk.one("SELECT key FROM projects")
    small.say(f"UPDATE projects SET key = '{key}'")
    small.add("campaigns", "C-2", name="first")
    assert misfits(brought(desk, small)) == {
        ("projects", "P-1"): ["key: another project has it; this one is P-1"],
        ("campaigns", "C-2"): ["name: another campaign of the project has it; this one has its id beside it"],
    }
    other = Foreign(small.path.with_name("other.db")).scope()
    other.say(f"UPDATE projects SET created_at = '{at(BEGAN + 1)}', key = 'other'")
    other.issue("I-other", "ready")
    before = desk.content()
    found = misfits(brought(desk, other))
    assert found["projects", "P-1"] == ["id: the queue holds another row under it"]
    assert found["issues", "I-other"] == ["project_id: P-1 was not taken"]
    assert desk.content() == before


def test_a_table_without_its_keys_that_holds_an_id_twice_gives_it_once(desk: Desk, theirs: Path) -> None:
    made = Foreign(theirs / "loose.db", without="workspaces")
    made.say("CREATE TABLE workspaces (id, name, kind, created_at, updated_at, extra)")
    for name in ("one", "two"):
        made.add("workspaces", "W-1", name=name)
    made.add("workspaces", "W-2", name=7)
    answer = brought(desk, made)
    assert desk.ask("SELECT id, name FROM workspaces") == [("W-1", "one")]
    assert misfits(answer) == {
        ("workspaces", "W-1"): ["id: it stands twice in the file"], ("workspaces", "W-2"): ["name: expected text"],
    }  # fmt: skip
    assert {one["table"] for one in answer["notTaken"]} == {"workspaces.extra"}


# Files that are none


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _link(path: Path) -> None:
    Foreign(path.with_name("target.db"))
    path.symlink_to("target.db")


def _torn(path: Path) -> None:
    as_agents_left_it(path)
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xa5" * (len(data) - 4096))


def _huge(path: Path) -> None:
    Foreign(path)
    os.truncate(path, 1 << 40)


def _fifo_beside(path: Path) -> None:
    Foreign(path)
    os.mkfifo(f"{path}-wal")


def _computed(path: Path) -> None:
    made = Foreign(path, without="events")
    made.say(
        "CREATE TABLE events (id, run_id, issue_id, kind, created_at,"
        " payload TEXT GENERATED ALWAYS AS (hex(zeroblob(300000000))) VIRTUAL)"
    )


def _viewed(path: Path) -> None:
    Foreign(path, without="issues").say("CREATE VIEW issues AS SELECT * FROM milestones")


def _ours(path: Path) -> None:
    env = environment(path.parent / "data", FixedClock())
    did(env, "queue init", name="lab")
    env.queue.close()
    (path.parent / "data" / "queue.db").rename(path)


HOSTILE: Mapping[str, tuple[Callable[[Path], object], str]] = {
    "absent": (lambda _: None, "INVALID_ARGUMENT"),
    "folder": (Path.mkdir, "INVALID_ARGUMENT"),
    "fifo": (_fifo, "INVALID_ARGUMENT"),
    "link": (_link, "INVALID_ARGUMENT"),
    "huge": (_huge, "INVALID_ARGUMENT"),
    "fifo beside it": (_fifo_beside, "INVALID_ARGUMENT"),
    "empty": (Path.touch, "QUEUE_INCOMPATIBLE"),
    "text": (lambda path: path.write_text("no database\n" * 1000), "QUEUE_CORRUPT"),
    "torn": (_torn, "QUEUE_CORRUPT"),
    "older": (lambda path: Foreign(path, version=4), "QUEUE_INCOMPATIBLE"),
    "newer": (lambda path: Foreign(path, version=6), "QUEUE_INCOMPATIBLE"),
    "a table short": (lambda path: Foreign(path, without="leases"), "QUEUE_INCOMPATIBLE"),
    "a column short": (
        lambda path: Foreign(path).say("ALTER TABLE memory_links DROP COLUMN summary"), "QUEUE_INCOMPATIBLE",
    ),
    "a computed column": (_computed, "QUEUE_INCOMPATIBLE"),
    "a view": (_viewed, "QUEUE_INCOMPATIBLE"),
    "a queue of ours": (_ours, "QUEUE_INCOMPATIBLE"),
}  # fmt: skip


@pytest.mark.parametrize(("make", "code"), HOSTILE.values(), ids=HOSTILE.keys())
def test_what_is_no_such_database_is_refused_by_code_and_nothing_changes(
    desk: Desk, theirs: Path, make: Callable[[Path], object], code: str
) -> None:
    desk.do("init", name="lab")
    path = theirs / "their.db"
    make(path)
    before = {name: told for name, told in _stamps(theirs).items() if not name.endswith("-shm")}
    error = desk.no("import", file=str(path))
    assert error["code"] == code, error
    assert {name: told for name, told in _stamps(theirs).items() if not name.endswith("-shm")} == before


def _stamps(folder: Path) -> dict[str, tuple[int, int]]:
    """What is there, by size and time; one of the files is larger than any memory."""
    return {str(path): (path.lstat().st_size, path.lstat().st_mtime_ns) for path in folder.rglob("*")}


def test_what_is_missing_is_named(desk: Desk, theirs: Path) -> None:
    made = Foreign(theirs / "their.db", without="leases")
    made.say("ALTER TABLE memory_links DROP COLUMN summary")
    error = desk.no("import", file=str(made.path))
    assert error["details"] == {"missing": ["table leases", "column memory_links.summary"], "missingCount": 2}


def test_the_queues_own_file_is_not_imported_into_itself(desk: Desk) -> None:
    desk.do("init", name="lab")
    assert "own file" in desk.no("import", file=str(desk.path))["message"]


def test_it_is_the_command_lines_alone_since_it_reads_a_file_by_its_name() -> None:
    assert load_command("queue import").surfaces == {Surface.CLI}


EDGES = st.dictionaries(st.sampled_from("abcdefgh"), st.lists(st.sampled_from("abcdefgh"), max_size=4), max_size=8)


@given(EDGES)
def test_an_edge_lies_on_a_cycle_iff_its_end_leads_back(edges: dict[str, list[str]]) -> None:
    def leads(start: str, to: str) -> bool:
        seen, rest = {start}, [start]
        while rest:
            node = rest.pop()
            if node == to:
                return True
            rest += [one for one in edges.get(node, ()) if one not in seen]
            seen |= set(edges.get(node, ()))
        return False

    expected = {(one, to) for one, needed in edges.items() for to in needed if leads(to, one)}
    assert on_a_cycle(edges) == expected


VALUES: list[Any] = [
    None, b"\xff\x00", 7, 1.5, "", "\0", "x" * 20_000, "[]", "{}", "null", "[1]", '["I-done", "\\u0000"]', '{"a": NaN}',
    "9999-12-31T23:59:59.999Z", "1969-01-01T00:00:00Z", "2026-01-01", "active", "done", "I-done", "C-2", "P-1", "W-1",
    "M-2", "RUN-3", "L-3", "é" * 100, "[" * 200, '{"runId": "RUN-1", "leaseId": "L-4", "status": "active"}',
    '{"checkpointId": "K-end", "memoryId": [1]}', "0001-01-01T00:00:00Z", "9" * 30,
]  # fmt: skip
CELLS = [(table, name) for table, names in COLUMNS.items() for name in names]


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made once; each example damages a copy."""
    return as_agents_left_it(tmp_path_factory.mktemp("pristine") / "their.db").path


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(CELLS), st.integers(0, 12), st.sampled_from(VALUES)), min_size=1, max_size=6))
def test_whatever_stands_in_its_cells_the_queue_is_sound_and_importing_again_changes_nothing(
    pristine: Path, damage: list[tuple[tuple[str, str], int, Any]]
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "their.db"
        path.write_bytes(pristine.read_bytes())
        with closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA ignore_check_constraints=ON")
            for (table, name), place, value in damage:
                with suppress(sqlite3.IntegrityError):
                    where = f"rowid = (SELECT rowid FROM {table} LIMIT 1 OFFSET {place})"
                    db.execute(f"UPDATE {table} SET {name} = ? WHERE {where}", [value])
            db.commit()
        desk = Desk(Path(folder) / "data", FixedClock())
        answer = desk.do("import", file=str(path))
        content = desk.content()
        again = desk.do("import", file=str(path))
        assert (again["imported"], again["alreadyThere"]) == (NOTHING, answer["imported"])
        assert desk.content() == content
        for (project,) in desk.ask("SELECT id FROM projects"):
            desk.do("reconcile", project=project)
            desk.do("promote", project=project)
        for (issue,) in desk.ask("SELECT id FROM issues"):
            desk.do("show", issue_id=issue)
        desk.require_replay()
        desk.env.queue.close()


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 2**17), st.integers(0, 255)), min_size=1, max_size=20))
def test_whatever_bytes_are_damaged_it_is_refused_by_code_or_comes_in_soundly(
    pristine: Path, damage: list[tuple[int, int]]
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "their.db"
        data = bytearray(pristine.read_bytes())
        for place, value in damage:
            data[place % (len(data) if place % 3 else 100)] = value
        path.write_bytes(data)
        desk = Desk(Path(folder) / "data", FixedClock())
        envelope = desk.run("import", {"file": str(path)})
        assert path.read_bytes() == data
        if envelope.error is None:
            desk.require_replay()
        else:
            assert envelope.error.code in {"QUEUE_CORRUPT", "QUEUE_INCOMPATIBLE"}
            assert not desk.data_dir.exists()
        desk.env.queue.close()


def test_a_chain_of_many_thousand_issues_comes_in(desk: Desk, small: Foreign) -> None:
    with closing(sqlite3.connect(small.path)) as db:
        db.executemany(
            "INSERT INTO issues (id, project_id, campaign_id, task, priority, status, size, depends_on, created_at)"
            " VALUES (?, 'P-1', 'C-1', 'one of many', 'low', 'pending', 'S', ?, ?)",
            [(f"I-{n}", json.dumps([f"I-{n - 1}"] if n else []), at(BEGAN)) for n in range(5_000)],
        )
        db.commit()
    assert brought(desk, small)["imported"]["issues"] == 5_000
    assert desk.one("SELECT count(*) FROM issue_dependencies") == 4_999
    assert desk.ask("SELECT id FROM issues WHERE promotable = 1") == [("I-0",)]
    assert desk.one("SELECT max(length(changes)) FROM events") < 2**20


# By its own process


def test_a_process_imports_and_tells_the_same_in_json_and_in_words(tmp_path: Path, theirs: Path) -> None:
    made = as_agents_left_it(theirs / "their.db")
    before = bytes_of(theirs)
    json_told = Phelix(tmp_path / "a", tmp_path)("queue", "import", str(made.path), "--json").result
    root = did(environment(tmp_path / "none", FixedClock()), "schema", words=["queue", "import"])["result"]
    assert faults(root, plain(json_told), root) == []
    phelix = Phelix(tmp_path / "b", tmp_path)
    dry = phelix("queue", "import", str(made.path), "--dry-run")
    assert (dry.code, dry.err) == (0, "")
    assert b"13" in dry.out
    assert b"I-lost" in dry.out
    assert not (tmp_path / "b").exists()
    ran = phelix("queue", "import", "their.db", cwd=theirs)
    assert (ran.code, ran.err) == (0, "")
    words = ran.out.decode()
    assert "13 issues" in words
    assert "4 did not fit" in words
    assert "active_sessions" in words
    assert "13 issues" in phelix("queue", "import", str(made.path)).out.decode()
    assert phelix("queue", "list", "--limit", "0", "--json").result["count"] == 13
    assert (tmp_path / "b" / "queue.db").stat().st_mode & 0o777 == 0o600
    assert bytes_of(theirs) == before


def test_a_process_that_names_their_database_as_the_queue_leaves_it_as_it_is(tmp_path: Path, theirs: Path) -> None:
    made = as_agents_left_it(theirs / "their.db")
    before = bytes_of(theirs)
    phelix = Phelix(tmp_path / "data", tmp_path)
    found = phelix("queue", "import", str(made.path), "--json", env={"HARNESS_DB_PATH": str(made.path)}).error
    assert found["code"] == "INVALID_ARGUMENT"
    assert bytes_of(theirs) == before
    gone = phelix("queue", "import", str(theirs / "none.db"))
    assert (gone.code, gone.out) == (2, b"")
    assert gone.err.startswith("INVALID_ARGUMENT: file: there is no such file.")


def test_a_gpu_issue_still_goes_to_a_host_that_has_one(desk: Desk, small: Foreign) -> None:
    small.issue("I-1", "ready", policy_json=GPU)
    brought(desk, small)
    assert desk.unclaimed()["code"] == "HOST_MISMATCH"
