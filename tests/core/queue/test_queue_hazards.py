"""What is handed in wrong and what stands wrong on the disk: a coded refusal, no row, no byte, no secret."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from phelix_core.checks import Surface
from phelix_core.queue import sqlite as driver
from phelix_core.queue.model import REASON_CAP, SUMMARY_CAP, TITLE_CAP
from phelix_core.sqlite import Database
from tests.canaries import CANARIES
from tests.core.queue.desk import HOST, REPORT, Desk, milestone, work
from tests.rig import FixedClock, Phelix, bytes_of, did, environment, refused

WRITES: list[tuple[str, dict[str, Any]]] = [
    ("init", {"name": "lab"}),
    ("claim", HOST),
    ("promote", {}),
    ("reconcile", {}),
    ("rollback", {"issue_id": "I-1", "reason": "r"}),
    ("close", {"lease": "L-1", "status": "done", **REPORT}),
]
READS: list[tuple[str, dict[str, Any]]] = [("list", {}), ("health", {}), ("show", {"issue_id": "I-1"})]


# What is handed in


@pytest.mark.parametrize(
    ("verb", "raw", "code"),
    [
        ("show", {"issue_id": "I-none"}, "NOT_FOUND"),
        ("unblock", {"issue_id": "I-none", "reason": "r"}, "NOT_FOUND"),
        ("retry", {"issue_id": "I-none", "reason": "r"}, "NOT_FOUND"),
        ("rollback", {"issue_id": "../I", "reason": "r"}, "NOT_FOUND"),
        ("recover", {"resolution": "fail", "issue_id": "I-none", "reason": "r"}, "NOT_FOUND"),
        ("recover", {"resolution": "resume", "issue_id": "I-none", **HOST}, "NOT_FOUND"),
        ("claim", {"issue_id": "I-none", **HOST}, "NOT_FOUND"),
        ("claim", {"project": "P-none", **HOST}, "NOT_FOUND"),
        ("claim", {"campaign": "C-none", **HOST}, "NOT_FOUND"),
        ("promote", {"project": "none"}, "NOT_FOUND"),
        ("reconcile", {"campaign": "none"}, "NOT_FOUND"),
        ("drain", {"campaign_id": "none", "reason": "r"}, "NOT_FOUND"),
        ("archive", {"campaign_id": "first", "project": "none", "reason": "r"}, "NOT_FOUND"),
        ("plan", {"batch": '{"milestones":[]}', "project": "none"}, "INVALID_ARGUMENT"),
        ("artifacts save", {"issue": "I-none", "kind": "k", "path": "p"}, "NOT_FOUND"),
        ("artifacts list", {"issue": "I-none"}, "NOT_FOUND"),
        ("heartbeat", {"lease": "L-none"}, "LEASE_LOST"),
        ("close", {"lease": "L-none", "status": "done", **REPORT}, "LEASE_LOST"),
        ("checkpoint", {"status": "done", **REPORT}, "INVALID_ARGUMENT"),
        ("checkpoint", {"lease": "L", "context": "{}", "status": "done", **REPORT}, "INVALID_ARGUMENT"),
        ("recover", {"resolution": "fail", "reason": "r"}, "INVALID_ARGUMENT"),
        ("recover", {"resolution": "fail", "issue_id": "I-none"}, "INVALID_ARGUMENT"),
        ("recover", {"resolution": "resume"}, "INVALID_ARGUMENT"),
        ("recover", {"resolution": "undo", "issue_id": "I"}, "INVALID_ARGUMENT"),
        ("claim", {**HOST, "workload_classes": ["c"] * 501}, "INVALID_ARGUMENT"),
        ("claim", {**HOST, "capabilities": ["c"] * 501}, "INVALID_ARGUMENT"),
        ("claim", {**HOST, "artifacts": ["a=b"] * 2}, "INVALID_ARGUMENT"),
        ("claim", {**HOST, "artifacts": [f"a={n}" for n in range(51)]}, "INVALID_ARGUMENT"),
        ("claim", {**HOST, "artifacts": ["no kind"]}, "INVALID_ARGUMENT"),
        ("claim", {**HOST, "holder_pid": 2**22}, "INVALID_ARGUMENT"),
        ("claim", {**HOST, "holder_pid": 2**63}, "INVALID_ARGUMENT"),
        ("claim", {**HOST, "actor": "root"}, "INVALID_ARGUMENT"),
        ("retry", {"issue_id": "I", "reason": "r", "if_epoch": 2**63}, "INVALID_ARGUMENT"),
        ("list", {"limit": -1}, "INVALID_ARGUMENT"),
        ("list", {"limit": 2**63}, "INVALID_ARGUMENT"),
        ("list", {"status": "open"}, "INVALID_ARGUMENT"),
    ],
)
def test_a_call_that_names_what_is_not_there_or_not_so_changes_no_row(
    desk: Desk, verb: str, raw: dict[str, Any], code: str
) -> None:
    desk.open().plan(milestone("m", "a"))
    assert desk.no(verb, **raw)["code"] == code


@pytest.mark.parametrize("text", ["nul\0inside", "lone \ud800 surrogate", ""])
def test_text_that_no_surface_takes_is_refused_in_every_field(desk: Desk, text: str) -> None:
    desk.open().plan(milestone("m", "a"))
    lease = desk.claim("a")["leaseId"]
    whole: list[tuple[str, dict[str, Any]]] = [
        ("claim", {**HOST, "agent": "a", "session": "s", "project": "p", "campaign": "c", "request_id": "r"}),
        ("close", {**REPORT, "status": "done", "lease": lease, "title": "t", "request_id": "r"}),
        ("rollback", {"issue_id": desk.ids["a"], "reason": "r"}),
        ("artifacts save", {"issue": desk.ids["a"], "kind": "k", "path": "p", "lease": lease}),
        ("campaign", {"project_name": "p", "campaign_name": "c"}),
        ("init", {"name": "n"}),
    ]
    for verb, raw in whole:
        for name, value in raw.items():
            bad = [text] if isinstance(value, list) else text
            assert desk.no(verb, **{**raw, name: bad})["code"] == "INVALID_ARGUMENT", (verb, name)
    for place in ("task", "priority", "size"):
        issue = {"task": "t", "priority": "low", "size": "S", place: text}
        batch = json.dumps({"milestones": [milestone("k", issue)]})
        assert desk.no("plan", batch=batch)["code"] == "INVALID_ARGUMENT"


@pytest.mark.parametrize(
    ("verb", "field", "cap"),
    [
        ("claim", "agent", 128),
        ("claim", "host", 128),
        ("claim", "session", 128),
        ("close", "summary", SUMMARY_CAP),
        ("close", "next_step", 1_000),
        ("close", "title", TITLE_CAP),
        ("rollback", "reason", REASON_CAP),
        ("artifacts save", "path", 1_000),
        ("artifacts save", "kind", 128),
    ],
)
def test_caps_are_bytes_as_sent_and_nothing_is_cut(desk: Desk, verb: str, field: str, cap: int) -> None:
    desk.open().plan(milestone("m", "a"))
    raw: dict[str, Any] = {"issue_id": desk.ids["a"], **HOST}
    if verb != "claim":
        lease = desk.claim("a")["leaseId"]
        raw = {
            "close": {**REPORT, "status": "done", "lease": lease},
            "rollback": {"issue_id": desk.ids["a"], "reason": "r"},
            "artifacts save": {"issue": desk.ids["a"], "kind": "k", "path": "p", "lease": lease},
        }[verb]
    error = desk.no(verb, **{**raw, field: "é" * (cap // 2) + "é"})
    assert error["code"] == "INVALID_ARGUMENT"
    assert str(cap) in error["message"]
    desk.do(verb, **{**raw, field: "é" * (cap // 2)})
    assert any("é" * (cap // 2) in str(row) for rows in desk.content().values() for row in rows)


@pytest.mark.parametrize(
    "context",
    ["", "[]", "{}", "null", "{", '{"leaseId": 7}', '{"leaseId": ""}', '{"leaseId":"L","leaseEpoch":1e3}',
     '{"leaseId":"L","leaseEpoch":9223372036854775808}', '{"leaseId":"L","issueId":[]}', "[" * 100_000,
     '{"leaseId":"L","leaseId":"L"}', '{"leaseId":NaN}'],
)  # fmt: skip
def test_a_context_that_is_none_is_refused(desk: Desk, context: str) -> None:
    desk.open().plan(milestone("m", "a"))
    desk.claim("a")
    assert desk.no("close", context=context, status="done", **REPORT)["code"] == "INVALID_ARGUMENT"


def test_a_lease_of_another_issue_saves_no_artifact(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a", "b"))
    lease = desk.claim("a")["leaseId"]
    foreign = {"issue": desk.ids["b"], "kind": "k", "path": "p", "lease": lease}
    assert desk.no("artifacts save", **foreign)["code"] == "LEASE_LOST"
    for metadata in ("[]", "{", '"x"', json.dumps({"a": "x" * 20_000}), '{"a": 99999999999999999999}'):
        raw = {"issue": desk.ids["a"], "kind": "k", "path": "p", "metadata": metadata}
        assert desk.no("artifacts save", **raw)["code"] == "INVALID_ARGUMENT"


def test_a_claim_out_of_scope_is_refused(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"), project="Acme")
    desk.campaign_of("second").plan(milestone("n", "b"), project="Acme")
    desk.campaign_of("theirs", project="Other").plan(milestone("o", "c"), project="Other")
    for task, scope in (("b", {"project": "Acme", "campaign": "first"}), ("c", {"project": "Acme"})):
        error = desk.unclaimed(task, **scope)
        assert (error["code"], error["details"]["issueId"]) == ("ISSUE_NOT_CLAIMABLE", desk.ids[task])
    error = desk.unclaimed()
    assert error["code"] == "INVALID_ARGUMENT"
    assert "Acme" in error["message"]
    assert "Other" in error["message"]


def test_a_campaigns_name_that_two_projects_have_is_told_and_not_guessed(desk: Desk) -> None:
    desk.open("same").campaign_of("same", project="Other")
    error = desk.no("archive", campaign_id="same", reason="r")
    assert error["code"] == "INVALID_ARGUMENT"
    assert desk.campaign in error["message"]
    assert desk.do("archive", campaign_id="same", project="Other", reason="r")["campaignId"] == desk.campaign


@pytest.mark.parametrize("canary", CANARIES, ids=lambda canary: canary.kind)
def test_no_refusal_repeats_a_secret_and_no_row_holds_one(desk: Desk, canary: Any) -> None:
    desk.open().plan(milestone("m", "a"))
    secret = f"uses {canary.text} there"
    told = [
        desk.no("show", issue_id=canary.text[:128]),
        desk.no("claim", **{**HOST, "project": canary.text[:128]}),
        desk.no("plan", batch=json.dumps({"milestones": [{**milestone("k", "t"), secret: 1}]})),
        desk.no("plan", batch=json.dumps({secret: 1})),
        desk.no("plan", batch=json.dumps({"milestones": [milestone("k", work("t", priority=secret))]})),
        desk.no("campaign", project_name="p", campaign_name="c", policy=json.dumps({secret: 1})),
    ]
    assert canary.secret not in json.dumps(told)
    context = desk.claim("a", agent=secret[:128], artifacts=[f"k={secret}"])
    desk.say(context, summary=secret, next_step=secret[:900], evidence=[secret[:900]])
    desk.do("artifacts save", issue=desk.ids["a"], kind="k", path="p", metadata=json.dumps({secret: [secret]}))
    refs = [{"id": "r", secret: secret}]
    desk.plan(milestone("k", work(secret[:900], externalRefs=refs, recipients=[{"id": "x", "mail": secret}])))
    for path in desk.data_dir.rglob("*"):
        assert not path.is_file() or canary.secret.encode() not in path.read_bytes(), path


# What stands on the disk


def _foreign(path: Path, script: str) -> None:
    """A database of somebody else's, its log left where it was: the process ends without closing."""
    code = f"import sqlite3, os; c = sqlite3.connect({str(path)!r}); c.executescript({script!r}); os._exit(0)"
    subprocess.run([sys.executable, "-c", code], check=True)


NEWER = driver.VERSION + 1
FOREIGN = {
    "another application": "PRAGMA application_id=7; CREATE TABLE t(x); INSERT INTO t VALUES (1);",
    "no application": "CREATE TABLE t(x); INSERT INTO t VALUES (1);",
    "with a log": "PRAGMA journal_mode=WAL; CREATE TABLE t(x); INSERT INTO t VALUES (1);",
    "the lifecycle's": "PRAGMA journal_mode=WAL; PRAGMA user_version=5; CREATE TABLE runs(id); PRAGMA user_version=5;",
    "newer": f"PRAGMA application_id={driver.APPLICATION_ID}; PRAGMA user_version={NEWER}; CREATE TABLE t(x)",
    "newer in its log": (
        f"PRAGMA journal_mode=WAL; CREATE TABLE t(x); PRAGMA application_id={driver.APPLICATION_ID};"
        f" PRAGMA user_version={NEWER};"
    ),
    "only a version": "PRAGMA user_version=3;",
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_database_of_another_application_or_a_newer_version_stays_as_it_is(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "theirs.db"
    _foreign(path, FOREIGN[kind])
    path.chmod(0o644)
    kept = {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path) if not name.endswith("-shm")}
    for verb, raw in (*WRITES, *READS):
        env = environment(tmp_path / "data", FixedClock(), queue=str(path))
        error = refused(env, f"queue {verb}", **raw)
        assert (error["code"], error["exit_code"]) == ("QUEUE_INCOMPATIBLE", 3)
        env.queue.close()
        assert {name: (tmp_path / name).read_bytes() for name in kept} == kept
    assert path.stat().st_mode & 0o777 == 0o644
    assert sqlite3.connect(path).execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def _damaged(tmp_path: Path, how: str) -> Path:
    """A queue with work in it, spoiled."""
    desk = Desk(tmp_path / "data", FixedClock())
    desk.open().plan(milestone("m", *(f"task {number}" for number in range(60))))
    desk.claim()
    desk.writer.ask("PRAGMA wal_checkpoint(TRUNCATE)")
    desk.env.queue.close()
    for suffix in ("-wal", "-shm"):
        desk.path.with_name(f"queue.db{suffix}").unlink(missing_ok=True)
    data = bytearray(desk.path.read_bytes())
    if how == "truncated":
        data = data[: len(data) // 2]
    elif how == "page":
        for start in range(4096, len(data), 4096):
            data[start : start + 64] = b"\xff" * 64
    elif how == "header":
        data[:16] = b"not a database!!"
    elif how == "nul":
        data = bytearray(len(data))
    elif how == "short":
        data = data[:50]
    elif how == "text":
        data = bytearray(b"hello, this is no database\n" * 40)
    desk.path.write_bytes(data)
    return desk.path


@pytest.mark.parametrize("how", ["truncated", "page", "header", "nul", "short", "text"])
def test_a_damaged_file_is_told_as_one_and_left_as_it_is(tmp_path: Path, how: str) -> None:
    path = _damaged(tmp_path, how)
    before = path.read_bytes()
    for verb, raw in (*WRITES, *READS):
        env = environment(tmp_path / "data", FixedClock())
        error = refused(env, f"queue {verb}", **raw)
        assert (error["code"], error["exit_code"]) == ("QUEUE_CORRUPT", 3), (verb, error)
        assert error["hint"]
        env.queue.close()
        assert path.read_bytes() == before


@pytest.mark.parametrize("kind", ["directory", "fifo", "link", "dangling link", "link to a queue"])
def test_what_is_no_regular_file_is_never_opened(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "queue.db"
    aside = Desk(tmp_path / "aside", FixedClock()).open()
    if kind == "directory":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        target = {"link": tmp_path / "file", "dangling link": tmp_path / "none"}.get(kind, aside.path)
        (tmp_path / "file").write_bytes(b"keep me")
        path.symlink_to(target)
    aside.env.queue.close()
    before = bytes_of(tmp_path)
    for verb, raw in (*WRITES, *READS):
        error = refused(environment(tmp_path / "data", FixedClock(), queue=str(path)), f"queue {verb}", **raw)
        assert (error["code"], error["exit_code"]) == ("QUEUE_CORRUPT", 3)
    assert bytes_of(tmp_path) == before


@pytest.mark.parametrize("size", [None, 0])
def test_an_absent_or_an_empty_file_is_no_queue_and_only_init_makes_one(tmp_path: Path, size: int | None) -> None:
    path = tmp_path / "queue.db"
    if size == 0:
        path.write_bytes(b"")
    before = bytes_of(tmp_path)
    env = environment(tmp_path, FixedClock())
    for verb, raw in (*WRITES[1:], *READS):
        error = refused(env, f"queue {verb}", **raw)
        assert (error["code"], error["exit_code"]) == ("NOT_FOUND", 12)
        assert "queue init" in error["hint"]
    assert bytes_of(tmp_path) == before
    did(env, "queue init", name="lab")
    assert path.stat().st_mode & 0o777 == 0o600
    assert did(env, "queue init", name="lab")["created"] is False


def test_a_folder_that_is_a_file_or_too_long_a_name_is_the_file_systems_refusal(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for place in (tmp_path / "file" / "queue.db", tmp_path / ("x" * 300)):
        env = environment(tmp_path / "data", FixedClock(), queue=str(place))
        error = refused(env, "queue init", name="lab")
        assert (error["code"], error["exit_code"]) == ("FILESYSTEM_ERROR", 1)
        assert refused(env, "queue health")["code"] in ("NOT_FOUND", "FILESYSTEM_ERROR")


def test_a_folder_may_be_reached_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    env = environment(tmp_path / "link", FixedClock())
    did(env, "queue init", name="lab")
    assert (tmp_path / "real" / "queue.db").exists()


def test_a_folder_on_the_network_is_refused_with_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nfs(_: str) -> str:
        return "nfs4"

    monkeypatch.setattr(driver, "remote_kind", nfs)
    error = refused(environment(tmp_path / "data", FixedClock()), "queue init", name="lab")
    assert (error["code"], error["exit_code"]) == ("FILESYSTEM_ERROR", 1)
    assert "nfs4" in error["message"]
    assert "--queue" in error["hint"]
    assert not (tmp_path / "data").exists()


def test_every_file_of_a_queue_is_private_and_lax_ones_are_closed_by_the_next_writer(desk: Desk) -> None:
    desk.open()
    names = ["queue.db", "queue.db-shm", "queue.db-wal"]
    assert sorted(path.name for path in desk.data_dir.glob("queue.db*")) == names
    assert desk.data_dir.stat().st_mode & 0o777 == 0o700
    desk.env.queue.close()
    assert sorted(path.name for path in desk.data_dir.glob("queue.db*")) == names  # kept for those who only read
    for name in names:
        (desk.data_dir / name).chmod(0o666)
    did(desk.surface(Surface.CLI), "queue init", name="lab")
    assert {(desk.data_dir / name).stat().st_mode & 0o777 for name in names} == {0o600}


def test_a_damaged_value_in_a_row_hides_nothing_else(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a", "b", work("c", policy={"dispatch": {"workloadClass": "code"}})))
    lease = desk.claim("a")["leaseId"]
    desk.damage(
        "UPDATE issues SET policy = '[[', route = CASE task WHEN 'c' THEN '{' ELSE route END, recipients = '{';"
        "UPDATE runs SET notes = '[1]', begin_input = '[2]'; UPDATE campaigns SET policy = '[]', scope = '7';"
    )
    assert desk.do("list")["count"] == 3
    assert desk.do("show", issue_id=desk.ids["c"])["issue"]["status"] == "ready"
    assert desk.do("checkpoint", lease=lease, status="in_progress", **REPORT)["context"]["issueTask"] == "a"
    stopped = desk.do("advance", lease=lease, status="done", **REPORT)
    assert (stopped["advanced"], desk.issue("a")) == (False, "done")
    assert desk.claim()["issueTask"] == "b"
    assert desk.unclaimed(agent="eve")["code"] == "HOST_MISMATCH"
    desk.clock.advance(2_000)
    assert len(desk.do("reconcile")["needsRecovery"]) == 1


def test_nothing_is_planned_under_a_damaged_policy(desk: Desk) -> None:
    desk.open(policy={"dispatch": {"workloadClass": "gpu"}})
    desk.damage("UPDATE campaigns SET policy = '[]'")
    error = desk.no("plan", batch=json.dumps({"milestones": [milestone("m", "a")]}))
    assert (error["code"], error["exit_code"]) == ("QUEUE_CORRUPT", 3)


def test_no_process_of_ours_ends_in_a_traceback(phelix: Phelix, tmp_path: Path) -> None:
    path = tmp_path / "data" / "queue.db"
    path.parent.mkdir(mode=0o700)
    path.write_bytes(b"no database at all, and more than a page's header of it: " * 9)
    for argv in (["claim", "--host", "h", "--workload-class", "c"], ["health"], ["init", "lab"]):
        ran = phelix("queue", *argv, "--json")
        assert (ran.code, ran.error["code"]) == (3, "QUEUE_CORRUPT")
    path.unlink()
    for argv in (["plan", "-", "--json"], ["close", "--context", "-", "--status", "done", "--summary", "s", "--json"]):
        ran = phelix("queue", *argv, stdin=b"\xff\xfe{")
        assert (ran.code, ran.error["code"]) == (2, "INVALID_ARGUMENT")


@pytest.mark.parametrize("log", ["full", "empty", "absent"])
def test_a_folder_that_may_not_be_written_is_read_and_a_write_is_refused(tmp_path: Path, log: str) -> None:
    desk = Desk(tmp_path / "data", FixedClock()).open().plan(milestone("m", "a", "b"))
    if log != "full":
        desk.env.queue.close()
    assert ((desk.data_dir / "queue.db-wal").stat().st_size > 0) == (log == "full")
    if log == "absent":
        (desk.data_dir / "queue.db-wal").unlink()
        (desk.data_dir / "queue.db-shm").unlink()
    before = bytes_of(desk.data_dir)
    for path in desk.data_dir.glob("queue.db*"):
        path.chmod(0o400)
    desk.data_dir.chmod(0o500)
    phelix = Phelix(desk.data_dir, tmp_path)
    try:
        assert phelix.as_a_plain_user("queue", "list", "--json").result["count"] == 2
        assert phelix.as_a_plain_user("queue", "init", "other lab", "--json").error["code"] == "FILESYSTEM_ERROR"
    finally:
        desk.data_dir.chmod(0o700)
    assert bytes_of(desk.data_dir) == before
    desk.env.queue.close()


def test_a_queue_of_the_first_version_is_read_as_it_is_and_brought_on_by_the_first_write(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    desk.env.queue.close()
    db = Database(str(desk.path), desk.clock)
    db.script(
        "DROP TABLE memory_outbox; DROP TABLE memory_links; PRAGMA user_version=1; PRAGMA wal_checkpoint(TRUNCATE);"
    )
    db.close()
    before = desk.path.read_bytes()
    looking = desk.surface(Surface.CLI)
    assert did(looking, "queue show", issue_id=desk.ids["a"])["issue"]["task"] == "a"
    assert looking.queue.read(lambda tx: (tx.memory_links_of(desk.ids["a"]), tx.outbox(limit=1))) == ([], [])
    looking.queue.close()
    assert desk.path.read_bytes() == before, "a reader changes no byte of an older file"
    context = did(desk.surface(Surface.CLI), "queue claim", **HOST)
    assert context["issueTask"] == "a"
    assert desk.one("PRAGMA user_version") == driver.VERSION
    assert desk.ask("SELECT count(*) FROM memory_links") == [(0,)]
