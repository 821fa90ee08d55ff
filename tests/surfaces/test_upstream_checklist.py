"""The checklist of the upstream page's section 11, line by line, with our own answers.

Numbers in the docstrings are the checklist's; where `sessions.md` decides otherwise, its answer is the one tested.
"""

import itertools
import json
import os
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from phelix_core.arc.model import plan_document
from phelix_core.checks import Surface
from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import CATALOGUE, load_command
from phelix_core.sessions import transitions
from phelix_core.sessions.transitions import References, Stamp
from phelix_core.strictjson import dumps
from tests.contract.guide_works import (
    answer_of,
    applying,
    end_of_command,
    executions,
    held,
    operation_of,
    planned,
    works,
)
from tests.core.arc.stage import APPROVED_FIRST, put_policy
from tests.mcp.host import Host, serve_argv
from tests.rig import FixedClock, Phelix, Ran, bytes_of, did, environment, refused

PLAN = "pln_00000000000000aa"
OPERATION = "op_00000000000000aa"
ABSENT = "ses_00000000000000ff"
SECRET = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
CLOSERS = {"complete": "completed", "fail": "failed", "cancel": "cancelled"}
MUTATIONS = {"checkpoint": ["--step", "s"], "complete": [], "fail": [], "cancel": []}
PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700


def record(data_dir: Path, session_id: str) -> Path:
    return data_dir / "sessions" / f"{session_id}.json"


def write_plan(data_dir: Path, plan_id: str = PLAN, **changed: object) -> Path:
    path = data_dir / "plans" / f"{plan_id}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dumps(plan_document(plan_id, "billing", 1) | changed))
    return path


def write_operation(data_dir: Path, operation_id: str = OPERATION, **changed: object) -> Path:
    path = data_dir / "ops" / f"{operation_id}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {"schema_version": "1", "id": operation_id, "kind": "deploy", "status": "succeeded", "created_at_ms": 1}
    path.write_text(dumps(document | changed))
    return path


def filled(env: Environment) -> str:
    """Id of a session that holds 200 events."""
    stamp = Stamp(at_ms=1, via="cli")
    session = transitions.create(f"ses_{1:016x}", env.actor, stamp, title=None, project=None, app=None)
    for _ in range(199):
        session = transitions.checkpoint(session, stamp, step="s", note=None, linked=References())
    return env.sessions.create(session).session_id


def created(phelix: Phelix, *options: str) -> Any:
    return phelix("session", "create", *options, "--json").result


def all_events(session: Any) -> list[str]:
    return [event["type"] for event in session["events"]]


def test_create_opens_an_active_session_at_revision_one_in_a_private_file(phelix: Phelix, data_dir: Path) -> None:
    """1."""
    session = created(phelix, "--title", "ship billing v3", "--app", "billing")
    assert re.fullmatch("ses_[0-9a-f]{16}", session["session_id"])
    assert (session["status"], session["rev"], all_events(session)) == ("active", 1, ["created"])
    assert session["events"][0]["seq"] == 0
    path = record(data_dir, session["session_id"])
    assert json.loads(path.read_bytes()) == session
    assert path.stat().st_mode & 0o7777 == PRIVATE_FILE
    assert {path.parent.stat().st_mode & 0o7777, data_dir.stat().st_mode & 0o7777} == {PRIVATE_FOLDER}


def test_identical_state_is_identical_bytes_with_keys_in_their_order(tmp_path: Path) -> None:
    """2."""
    written: list[bytes] = []
    for name in ("a", "b"):
        env = environment(tmp_path / name, FixedClock())
        session = did(env, "session create", title="t", project="p", app="a")
        did(env, "session checkpoint", session_id=session.session_id, step="s", note="n", deployments=["dep-1"])
        did(env, "session complete", session_id=session.session_id, result="r")
        written.append(record(tmp_path / name, session.session_id).read_bytes())
    assert written[0] == written[1]
    assert list(json.loads(written[0])) == [
        "schema_version", "session_id", "status", "title", "project", "app", "actor", "rev", "created_at_ms",
        "updated_at_ms", "deployment_ids", "checkpoint", "final_result", "events",
    ]  # fmt: skip
    assert written[0].startswith(b'{\n  "schema_version": "1",\n')
    assert not written[0].endswith(b"\n")


def test_no_session_answer_holds_an_operation_id_and_a_failure_tells_four_things(phelix: Phelix) -> None:
    """3."""
    session_id = created(phelix)["session_id"]
    answers = [
        phelix("session", *argv, "--json")
        for argv in (["show", session_id], ["list"], ["checkpoint", session_id, "--step", "s"], ["fail", session_id])
    ]
    for answer in answers:
        assert list(answer.envelope) == ["schema_version", "status", "result"]
    failed = phelix("session", "fail", session_id, "--json")
    assert list(failed.envelope) == ["schema_version", "status", "error"]
    assert {"code", "message", "exit_code", "retryable"} <= failed.error.keys()
    assert failed.error["exit_code"] == failed.code


@pytest.mark.parametrize(("verb", "status"), CLOSERS.items())
def test_checkpoint_keeps_a_session_active_and_each_closing_verb_reaches_its_own_status(
    phelix: Phelix, verb: str, status: str
) -> None:
    """4."""
    session_id = created(phelix)["session_id"]
    assert phelix("session", "checkpoint", session_id, "--note", "n", "--json").result["status"] == "active"
    closed = phelix("session", verb, session_id, "--json").result
    assert closed["status"] == status
    assert all_events(closed) == ["created", "checkpoint", status]


@pytest.mark.parametrize("status_verb", CLOSERS)
@pytest.mark.parametrize("verb", MUTATIONS)
def test_a_closed_session_refuses_every_verb_and_keeps_every_byte(
    phelix: Phelix, data_dir: Path, env: Environment, status_verb: str, verb: str
) -> None:
    """5."""
    session_id = did(env, "session create").session_id
    did(env, f"session {status_verb}", session_id=session_id)
    before = bytes_of(data_dir)
    answer = phelix("session", verb, session_id, *MUTATIONS[verb], "--json")
    assert (answer.code, answer.error["code"]) == (3, "SESSION_INVALID_TRANSITION")
    assert bytes_of(data_dir) == before


@pytest.mark.parametrize("status", ["failed", "running", "pending", "cancelled"])
def test_a_session_completes_whatever_became_of_its_operation_and_fail_leaves_the_operation(
    env: Environment, data_dir: Path, status: str
) -> None:
    """6."""
    path = write_operation(data_dir, status=status, pid=os.getpid())
    before = path.read_bytes()
    for verb in ("complete", "fail"):
        session_id = f"ses_{1 + (verb == 'fail'):016x}"
        did(env, "session create")
        assert did(env, f"session {verb}", session_id=session_id, operations=[OPERATION]).status == CLOSERS[verb]
    assert path.read_bytes() == before


def test_a_session_is_closed_as_completed_whatever_became_of_what_it_really_ran(phelix: Phelix, data_dir: Path) -> None:
    """6, with an operation that failed and one that still runs."""
    works(data_dir, "exit 3")
    failed = planned(phelix)
    assert phelix("plan", "apply", failed, "--json").error["code"] == "DEPLOY_FAILED"
    gate = held(data_dir)
    running = planned(phelix)
    with applying(phelix, running) as applier:
        gate.reached()
        for verb, plan_id in itertools.product(("complete", "fail"), (failed, running)):
            before = {path: path.read_bytes() for path in (data_dir / "ops").glob("op_*.json")}
            answer = phelix(
                "session", verb, created(phelix)["session_id"], "--operation", operation_of(plan_id), "--json"
            )
            assert answer.result["status"] == CLOSERS[verb]
            assert {path: path.read_bytes() for path in (data_dir / "ops").glob("op_*.json")} == before
        gate.opened()
        assert answer_of(applier)["result"]["status"] == "succeeded", "fail ended nothing"


@pytest.mark.parametrize("verb", CLOSERS)
def test_closing_a_session_leaves_every_plan_operation_and_deploy_file(
    phelix: Phelix, data_dir: Path, verb: str
) -> None:
    """7."""
    write_plan(data_dir)
    write_operation(data_dir, deployment_id="dep-1", status="running")
    (data_dir / "apps/Billing").mkdir(parents=True)
    (data_dir / "apps/Billing/deploy.json").write_text('{"deployment_id": "dep-1"}')
    linked = ["--plan", PLAN, "--operation", OPERATION, "--deployment", "dep-1"]
    session_id = created(phelix)["session_id"]
    phelix("session", "checkpoint", session_id, *linked)
    before = {name: data for name, data in bytes_of(data_dir).items() if not name.startswith("sessions")}
    assert phelix("session", verb, session_id).code == 0
    assert {name: data for name, data in bytes_of(data_dir).items() if not name.startswith("sessions")} == before


@pytest.mark.parametrize("verb", MUTATIONS)
def test_a_guard_applies_at_its_revision_and_conflicts_at_any_other(phelix: Phelix, data_dir: Path, verb: str) -> None:
    """8."""
    session_id = created(phelix)["session_id"]
    before = bytes_of(data_dir)
    for rev in ("2", "99"):
        answer = phelix("session", verb, session_id, *MUTATIONS[verb], "--if-rev", rev, "--json")
        assert (answer.code, answer.error["code"], answer.error["retryable"]) == (1, "SESSION_CONFLICT", True)
        assert answer.error["details"]["rev"] == 1
    assert bytes_of(data_dir) == before
    assert phelix("session", verb, session_id, *MUTATIONS[verb], "--if-rev", "1", "--json").result["rev"] == 2


@pytest.mark.parametrize("rev", ["0", "-1", "x", "1.0"])
def test_a_guard_that_names_no_revision_is_a_usage_error_and_never_no_guard(phelix: Phelix, rev: str) -> None:
    """8: ours asks for N >= 1, where the guide's tool takes a negative one for none."""
    answer = phelix("session", "fail", ABSENT, "--if-rev", rev, "--json")
    assert (answer.code, answer.error["code"]) == (2, "INVALID_ARGUMENT")


def test_concurrent_writers_without_a_guard_all_land_and_lose_no_reference(phelix: Phelix, data_dir: Path) -> None:
    """9, with processes of their own."""
    session_id = created(phelix)["session_id"]

    def call(number: int) -> Ran:
        return phelix("session", "checkpoint", session_id, "--deployment", f"dep-{number:x}")

    with ThreadPoolExecutor(12) as pool:
        codes = [ran.code for ran in pool.map(call, range(12))]
    assert codes == [0] * 12
    session = json.loads(record(data_dir, session_id).read_bytes())
    assert session["rev"] == 13
    assert [event["seq"] for event in session["events"]] == list(range(13))
    assert sorted(session["deployment_ids"]) == sorted(f"dep-{n:x}" for n in range(12))


def test_of_concurrent_writers_with_one_guard_exactly_one_wins(phelix: Phelix, data_dir: Path) -> None:
    """10, with processes of their own."""
    session_id = created(phelix)["session_id"]

    def call(number: int) -> Ran:
        return phelix("session", "checkpoint", session_id, "--step", f"{number}", "--if-rev", "1", "--json")

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(call, range(8)))
    assert sorted(answer.code for answer in answers) == [0, *[1] * 7]
    assert {answer.error["code"] for answer in answers if answer.code} == {"SESSION_CONFLICT"}
    assert json.loads(record(data_dir, session_id).read_bytes())["rev"] == 2


CAPS = [
    ("session create", "title", 200), ("session create", "project", 200), ("session create", "app", 128),
    ("session checkpoint", "step", 120), ("session checkpoint", "note", 500), ("session complete", "result", 2_000),
    ("session fail", "reason", 2_000), ("session cancel", "reason", 2_000),
]  # fmt: skip


@pytest.mark.parametrize("unit", ["x ", "é", "清", "😀"])
@pytest.mark.parametrize("capped", CAPS, ids=str)
def test_each_cap_counts_bytes_takes_exactly_its_size_and_never_cuts(
    env: Environment, data_dir: Path, capped: tuple[str, str, int], unit: str
) -> None:
    """11."""
    name, field, cap = capped
    size = len(unit.encode())
    exact = unit * (cap // size) + "y" * (cap % size)
    target = {} if name == "session create" else {"session_id": did(env, "session create").session_id}
    before = bytes_of(data_dir)
    error = refused(env, name, **target, **{field: exact + "z"})
    assert error["code"] == "INVALID_ARGUMENT"
    assert field in error["details"]["fields"]
    assert bytes_of(data_dir) == before
    session = did(env, name, **target, **{field: exact})
    stored = json.loads(record(data_dir, session.session_id).read_bytes())
    found = {
        **stored,
        **stored.get("checkpoint", {}),
        "result": stored.get("final_result"),
        "reason": stored.get("final_result"),
    }
    assert found[field] == exact


def test_no_secret_reaches_the_disk_the_answer_the_narration_or_an_event(phelix: Phelix, data_dir: Path) -> None:
    """12."""
    text = f"key {SECRET} end"
    ran = [phelix("session", "create", "--title", text, "--project", text, "--app", text, "--json")]
    session_id = ran[0].result["session_id"]
    ran += [
        phelix("session", "checkpoint", session_id, "--step", text, "--note", text, "--json"),
        phelix("session", "complete", session_id, "--result", text, "--dry-run"),
        phelix("session", "complete", session_id, "--result", text, "--dry-run", "--json"),
        phelix("session", "complete", session_id, "--result", text),
        phelix("session", "list", "--app", text),
        phelix("session", "show", session_id),
        phelix("session", "show", SECRET, "--json"),
        phelix("session", "list", SECRET),
        phelix(SECRET, "--json"),
        phelix("session", "list", f"--{SECRET}"),
        phelix("session", "create", "--title", SECRET * 20),
    ]
    for reason in ("fail", "cancel"):
        closed = created(phelix)["session_id"]
        ran.append(phelix("session", reason, closed, "--reason", text, "--json"))
    for answer in ran:
        assert SECRET not in answer.out.decode() + answer.err
        assert "Traceback" not in answer.err
    assert [
        name for name, data in bytes_of(data_dir).items() if isinstance(data, bytes) and SECRET.encode() in data
    ] == []
    stored = json.loads(record(data_dir, session_id).read_bytes())
    for told in (
        stored["title"],
        stored["project"],
        stored["app"],
        stored["checkpoint"]["note"],
        stored["final_result"],
    ):
        assert re.fullmatch(r"key \[REDACTED:[a-z0-9-]+\] end", told)


def test_the_actor_is_the_surfaces_and_no_input_can_name_one(phelix: Phelix, tmp_path: Path) -> None:
    """13."""
    assert created(phelix)["actor"] == {"type": "cli", "id": None, "authenticated": False}
    for option in ("--actor", "--authenticated", "--role", "--via", "--id", "--session-id"):
        answer = phelix("session", "create", option, "root", "--json")
        assert (answer.code, answer.error["code"]) == (2, "INVALID_ARGUMENT")
    over_mcp = environment(tmp_path / "mcp", FixedClock(), Surface.MCP)
    for field in ("actor", "role", "authenticated", "approval", "identity", "principal", "token", "credential"):
        assert refused(over_mcp, "session create", **{field: "root"})["details"]["fields"] == {field: "unknown field"}
    assert did(over_mcp, "session create").actor.type == "mcp"


def test_a_checkpoint_over_mcp_leaves_the_recorded_actor(env: Environment, data_dir: Path) -> None:
    """14."""
    session_id = did(env, "session create").session_id
    over_mcp = environment(data_dir, FixedClock(), Surface.MCP)
    after = did(over_mcp, "session checkpoint", session_id=session_id, step="s")
    assert after.actor.type == "cli"
    assert [event.via for event in after.events] == ["cli", "mcp"]


def test_a_plan_that_needs_approval_answers_so_after_it_was_linked_and_approved_it_works_once(
    phelix: Phelix, data_dir: Path
) -> None:
    """15."""
    works(data_dir)
    put_policy(data_dir, APPROVED_FIRST)
    plan_id = planned(phelix)
    assert phelix("session", "checkpoint", created(phelix)["session_id"], "--plan", plan_id).code == 0
    answer = phelix("plan", "apply", plan_id, "--json")
    assert (answer.code, answer.error["code"]) == (11, "APPROVAL_REQUIRED")
    assert executions(data_dir) == 0
    assert not list(data_dir.glob("ops/op_*")), "a refusal leaves no operation"
    assert phelix("authz", "approve", plan_id).code == 0
    answers = [phelix("plan", "apply", plan_id, "--json").result for _ in range(2)]
    assert [answer["already_applied"] for answer in answers] == [False, True]
    assert executions(data_dir) == 1


def test_an_apply_over_mcp_without_a_policy_is_denied_also_where_the_plan_is_linked(
    phelix: Phelix, data_dir: Path, tmp_path: Path
) -> None:
    """16, by a real server."""
    works(data_dir)
    plan_id = planned(phelix)
    assert phelix("session", "checkpoint", created(phelix)["session_id"], "--plan", plan_id).code == 0
    with Host(serve_argv(data_dir), tmp_path) as host:
        host.greet()
        error = host.result(host.call("phelix_plan_apply", plan_id=plan_id))["error"]
    assert (error["code"], error["exit_code"]) == ("AUTHZ_DENIED", 11)
    assert executions(data_dir) == 0


BAD_RECORDS = {
    "garbage": (b"garbage", "SESSION_CORRUPT"),
    "empty": (b"", "SESSION_CORRUPT"),
    "null": (b"null", "SESSION_CORRUPT"),
    "a list": (b"[]", "SESSION_CORRUPT"),
    "NUL bytes": (b"\0" * 400, "SESSION_CORRUPT"),
    "numeric schema_version": (b'"schema_version": 1', "SESSION_CORRUPT"),
    "string rev": (b'"rev": "1"', "SESSION_CORRUPT"),
    "another schema_version": (b'"schema_version": "2"', "SESSION_INVALID"),
    "another status": (b'"status": "paused"', "SESSION_INVALID"),
    "another id": (b'"session_id": "ses_00000000000000aa"', "SESSION_INVALID"),
    "another rev": (b'"rev": 2', "SESSION_INVALID"),
    "a negative time": (b'"updated_at_ms": -1', "SESSION_INVALID"),
}


@pytest.mark.parametrize(("bad", "code"), BAD_RECORDS.values(), ids=BAD_RECORDS.keys())
def test_a_bad_record_has_its_code_on_every_verb_and_is_never_touched(
    phelix: Phelix, env: Environment, data_dir: Path, bad: bytes, code: str
) -> None:
    """17 and 33."""
    session_id = did(env, "session create").session_id
    path = record(data_dir, session_id)
    if b": " in bad:
        member = bad.split(b":")[0]
        bad = re.sub(member + rb': ("[^"]*"|\d+)', bad, path.read_bytes(), count=1)
    path.write_bytes(bad)
    before = bytes_of(data_dir)
    for verb in ("session show", "session checkpoint", "session complete", "session fail", "session cancel"):
        raw: dict[str, object] = {"step": "s"} if verb == "session checkpoint" else {}
        assert refused(env, verb, session_id=session_id, **raw)["code"] == code
    answer = phelix("session", "show", session_id, "--json")
    assert (answer.code, answer.error["code"]) == (3, code)
    assert phelix("session", "list", "--json").result["unreadable"] == [{"file": path.name, "code": code}]
    assert bytes_of(data_dir) == before


def test_a_missing_session_is_not_found_and_nothing_is_made_for_it(phelix: Phelix, data_dir: Path) -> None:
    """17."""
    created(phelix)
    before = sorted(path.name for path in data_dir.rglob("*"))
    for verb, options in {"show": [], **MUTATIONS}.items():
        answer = phelix("session", verb, ABSENT, *options, "--json")
        assert (answer.code, answer.error["code"]) == (12, "NOT_FOUND")
    assert sorted(path.name for path in data_dir.rglob("*")) == before, "not even a lock file"


ARC_FAULTS: dict[str, tuple[str, str, str | None, tuple[int, str]]] = {
    "a plan that is missing": ("plan show", "pln_00000000000000ff", None, (12, "NOT_FOUND")),
    "a plan whose id is none": ("plan show", "pln_00000000000000FF", None, (2, "INVALID_ARGUMENT")),
    "a plan that is garbage": ("plan show", PLAN, "garbage", (3, "PLAN_CORRUPT")),
    "a plan of another version": ("plan show", PLAN, '"schema_version": "2"', (3, "PLAN_INVALID")),
    "a plan of another status": ("plan show", PLAN, '"status": "done"', (3, "PLAN_INVALID")),
    "a plan of another id": ("plan show", PLAN, '"plan_id": "pln_00000000000000bb"', (3, "PLAN_INVALID")),
    "a plan of another content": ("plan show", PLAN, '"type": "rollback"', (3, "PLAN_HASH_MISMATCH")),
    "an operation that is missing": ("operation status", "op_00000000000000ff", None, (12, "NOT_FOUND")),
    "an operation whose id is none": ("operation status", "../op_00000000000000ff", None, (2, "INVALID_ARGUMENT")),
    "an operation that is garbage": ("operation status", OPERATION, "garbage", (3, "OPERATION_CORRUPT")),
    "an operation of another id": ("operation status", OPERATION, '"id": "op_1"', (3, "OPERATION_CORRUPT")),
    "an operation of another status": ("operation status", OPERATION, '"status": "done"', (3, "OPERATION_CORRUPT")),
}


@pytest.mark.parametrize("fault", ARC_FAULTS.values(), ids=ARC_FAULTS.keys())
def test_a_bad_plan_or_operation_has_its_code_as_a_bad_session_has(
    phelix: Phelix, data_dir: Path, fault: tuple[str, str, str | None, tuple[int, str]]
) -> None:
    """17, of what a session links."""
    command, name, bad, told = fault
    path = write_plan(data_dir) if name.startswith("pln") else write_operation(data_dir)
    if bad is not None:
        member = bad.split(":")[0]
        path.write_text(re.sub(member + ': "[^"]*"', bad, path.read_text(), count=1) if ":" in bad else bad)
    before = bytes_of(data_dir)
    answer = phelix(*command.split(), name, "--json")
    assert (answer.code, answer.error["code"]) == told
    assert "operation_id" not in answer.envelope, "where there is no operation"
    assert bytes_of(data_dir) == before


def test_show_tells_four_states_of_references_and_never_fails_for_them(phelix: Phelix, data_dir: Path) -> None:
    """18."""
    names = {"present": "a", "missing": "b", "unavailable": "c"}
    for digit in names.values():
        write_plan(data_dir, f"pln_{digit * 16}")
        write_operation(data_dir, f"op_{digit * 16}", deployment_id=f"dep-{digit}")
    linked = [word for d in names.values() for word in ("--plan", f"pln_{d * 16}", "--operation", f"op_{d * 16}")]
    session_id = created(phelix)["session_id"]
    linked += ["--deployment", "dep-a", "--deployment", "dep-f"]
    assert phelix("session", "checkpoint", session_id, *linked).code == 0
    (data_dir / f"plans/pln_{'b' * 16}.json").unlink()
    (data_dir / f"ops/op_{'b' * 16}.json").unlink()
    write_plan(data_dir, f"pln_{'c' * 16}", inputs={"tampered": True})
    (data_dir / f"ops/op_{'c' * 16}.json").write_text("{")
    resolved = phelix("session", "show", session_id, "--json").result["resolved"]
    told = {
        kind: [(r["state"], r["present"], r.get("status"), r.get("error_code")) for r in resolved[kind]]
        for kind in resolved
    }
    assert told == {
        "plans": [
            ("present", True, "applied", None),
            ("missing", False, None, None),
            ("unavailable", False, None, "PLAN_HASH_MISMATCH"),
        ],
        "operations": [
            ("present", True, "succeeded", None),
            ("missing", False, None, None),
            ("unavailable", False, None, "OPERATION_CORRUPT"),
        ],
        "deployments": [("present", True, "succeeded", None), ("unknown", False, None, None)],
    }
    assert "resolved" not in phelix("session", "show", session_id, "--no-resolve", "--json").result


def test_over_mcp_there_are_six_session_commands_without_cancel_and_without_a_guard() -> None:
    """19, the core's half."""
    carried = [name for name in CATALOGUE if name.startswith("session ") and Surface.MCP in load_command(name).surfaces]
    assert carried == [
        "session create",
        "session show",
        "session list",
        "session checkpoint",
        "session complete",
        "session fail",
    ]
    fields = {name: [field.name for field in load_command(name).fields(Surface.MCP)] for name in carried}
    assert fields == {
        "session create": ["title", "project", "app"],
        "session show": ["session_id", "no_resolve"],
        "session list": ["status", "app", "limit"],
        "session checkpoint": ["session_id", "step", "note", "plans", "operations", "deployments"],
        "session complete": ["session_id", "result", "plans", "operations", "deployments"],
        "session fail": ["session_id", "reason", "plans", "operations", "deployments"],
    }


def test_a_fresh_process_reads_the_whole_state_and_no_read_changes_a_file(phelix: Phelix, data_dir: Path) -> None:
    """20."""
    works(data_dir)
    plan_id = planned(phelix)
    applied = phelix("plan", "apply", plan_id, "--json").result
    session_id = created(phelix, "--title", "ship")["session_id"]
    linked = ["--plan", plan_id, "--operation", applied["operation_id"], "--deployment", applied["deployment_id"]]
    last = phelix("session", "checkpoint", session_id, "--step", "deploy", *linked, "--json").result
    before = {path: (path.stat().st_mtime_ns, path.stat().st_mode) for path in data_dir.rglob("*")}
    shown = phelix("session", "show", session_id, "--json").result
    assert {name: shown[name] for name in last} == last
    for argv in (["list"], ["list", "--json"], ["show", session_id], ["list", "--status", "failed"]):
        assert phelix("session", *argv).code == 0
    for number, argv in enumerate((
        ["plan", "show", plan_id], ["plan", "list"], ["operation", "status", applied["operation_id"]],
        ["operation", "list"], ["authz", "check", plan_id], ["authz", "list"], ["context", "shop"],
        *(["inspect", resource, "shop"] for resource in ("app", "deployment", "versions", "health")),
        *(["inspect", resource] for resource in ("project", "runtime", "config", "capabilities", "operations")),
    )):  # fmt: skip
        assert phelix(*argv, *(["--json"] if number % 2 else [])).code == 0, argv
    assert phelix("doctor").code == 0
    assert {path: (path.stat().st_mtime_ns, path.stat().st_mode) for path in data_dir.rglob("*")} == before


def test_a_plan_that_changed_after_it_was_linked_is_told_by_show_and_the_session_stays(
    phelix: Phelix, data_dir: Path
) -> None:
    """21, of the record itself."""
    write_plan(data_dir)
    session_id = created(phelix)["session_id"]
    phelix("session", "checkpoint", session_id, "--plan", PLAN)
    before = record(data_dir, session_id).read_bytes()
    write_plan(data_dir, target={"app_name": "other"})
    resolved = phelix("session", "show", session_id, "--json").result["resolved"]
    assert resolved["plans"][0]["error_code"] == "PLAN_HASH_MISMATCH"
    assert record(data_dir, session_id).read_bytes() == before


def test_plan_show_tells_drift_of_file_and_version_while_the_session_stays_as_it_is(
    phelix: Phelix, data_dir: Path
) -> None:
    """21."""
    works(data_dir)
    plan_id, other = planned(phelix), planned(phelix, "1.2.0", "rollback")
    session_id = created(phelix)["session_id"]
    phelix("session", "checkpoint", session_id, "--plan", plan_id)
    before = record(data_dir, session_id).read_bytes()

    def failed() -> set[str]:
        shown = phelix("plan", "show", plan_id, "--json").result
        assert (shown["state"] == "stale") is (shown["applicability"]["state"] == "stale")
        return {one["type"] for one in shown["applicability"]["failed_preconditions"]}

    file = data_dir / "apps" / "shop" / "app.toml"
    declared = file.read_text()
    assert failed() == set()
    file.write_text(declared.replace('"1.4.0"', '"1.5.0"'))
    assert failed() >= {"version_exists"}
    file.write_text(declared)
    assert failed() == set()
    assert phelix("plan", "apply", other).code == 0
    assert failed() == {"current_version"}
    assert record(data_dir, session_id).read_bytes() == before


def test_an_operation_whose_applier_was_killed_is_told_as_indeterminate_and_never_as_failed(
    phelix: Phelix, data_dir: Path
) -> None:
    """22, with processes that were really killed."""
    gate = held(data_dir)
    plan_id = planned(phelix)
    session_id = created(phelix)["session_id"]
    with applying(phelix, plan_id) as applier:
        gate.reached()
        deployment_id = phelix("operation", "status", operation_of(plan_id), "--json").result["deployment_id"]
        linked = ["--plan", plan_id, "--operation", operation_of(plan_id), "--deployment", deployment_id]
        phelix("session", "checkpoint", session_id, *linked)
        applier.kill()
        applier.wait()
        end_of_command(data_dir, plan_id)
    before = bytes_of(data_dir)
    resolved = phelix("session", "show", session_id, "--json").result["resolved"]
    assert [one["status"] for kind in resolved for one in resolved[kind]] == ["created", *["indeterminate"] * 2]
    shown = phelix("operation", "status", operation_of(plan_id), "--json").result
    assert (shown["status"], shown["source"]) == ("indeterminate", "derived")
    assert [one["status"] for one in phelix("operation", "list", "--json").result["operations"]] == ["indeterminate"]
    assert phelix("operation", "list", "--status", "failed", "--json").result["count"] == 0
    assert bytes_of(data_dir) == before


def test_a_crashed_operation_is_told_as_indeterminate_and_never_as_failed(phelix: Phelix, data_dir: Path) -> None:
    """22, of the guide's own tool."""
    gone = subprocess.Popen(["true"])
    gone.wait()
    path = write_operation(data_dir, status="running", pid=gone.pid, deployment_id="dep-1")
    before = path.read_bytes()
    session_id = created(phelix)["session_id"]
    phelix("session", "checkpoint", session_id, "--operation", OPERATION, "--deployment", "dep-1")
    resolved = phelix("session", "show", session_id, "--json").result["resolved"]
    assert resolved["operations"][0]["status"] == resolved["deployments"][0]["status"] == "indeterminate"
    assert path.read_bytes() == before


@pytest.mark.parametrize("options", [[], ["--step", ""], ["--note", "", "--step", ""]])
def test_an_empty_checkpoint_is_refused(phelix: Phelix, data_dir: Path, options: list[str]) -> None:
    """23."""
    session_id = created(phelix)["session_id"]
    before = bytes_of(data_dir)
    answer = phelix("session", "checkpoint", session_id, *options, "--json")
    assert (answer.code, answer.error["code"]) == (2, "INVALID_ARGUMENT")
    assert bytes_of(data_dir) == before


def test_a_reference_given_twice_is_stored_once_and_the_revision_still_rises(phelix: Phelix) -> None:
    """23."""
    session_id = created(phelix)["session_id"]
    phelix("session", "checkpoint", session_id, "--deployment", "dep-1", "--deployment", "dep-1")
    after = phelix("session", "checkpoint", session_id, "--deployment", "dep-1", "--json").result
    assert (after["deployment_ids"], after["rev"], len(after["events"])) == (["dep-1"], 3, 3)


def test_the_51st_reference_is_refused_with_the_whole_call(env: Environment, data_dir: Path) -> None:
    """24."""
    session_id = did(env, "session create").session_id
    did(env, "session checkpoint", session_id=session_id, deployments=[f"dep-{n:x}" for n in range(50)])
    before = bytes_of(data_dir)
    for deployments in (["dep-0", "dep-ff"], [f"dep-{n:x}" for n in range(60, 111)]):
        error = refused(env, "session checkpoint", session_id=session_id, step="s", deployments=deployments)
        assert (error["code"], error["details"]["reason"]) == ("INVALID_ARGUMENT", "reference_cap")
    assert bytes_of(data_dir) == before


def test_at_200_events_only_closing_is_left_and_the_refusal_says_so(env: Environment, data_dir: Path) -> None:
    """25."""
    session_id = filled(env)
    assert did(env, "session show", session_id=session_id).events_left == 0
    before = bytes_of(data_dir)
    error = refused(env, "session checkpoint", session_id=session_id, step="s")
    assert (error["code"], error["details"]["reason"]) == ("INVALID_ARGUMENT", "event_cap")
    assert bytes_of(data_dir) == before
    assert did(env, "session complete", session_id=session_id).rev == 201


def test_an_active_record_over_256_kib_can_still_be_closed(env: Environment, data_dir: Path) -> None:
    """25: ours exempts closing from the size as well."""
    session_id = did(env, "session create").session_id
    path = record(data_dir, session_id)
    text = path.read_text()
    path.write_text(text[:-2] + ',\n  "from_the_future": "' + "x" * 262_000 + '"\n}')
    before = bytes_of(data_dir)
    error = refused(env, "session checkpoint", session_id=session_id, note="n" * 500)
    assert (error["code"], error["details"]["reason"]) == ("INVALID_ARGUMENT", "size_cap")
    assert bytes_of(data_dir) == before
    assert did(env, "session complete", session_id=session_id, result="r" * 2_000).status == "completed"
    assert did(env, "session show", session_id=session_id).session.extra["from_the_future"].startswith("xxx")


@pytest.mark.parametrize("verb", ["checkpoint", "complete", "fail"])
def test_one_bad_reference_among_good_ones_links_none_and_is_named(phelix: Phelix, data_dir: Path, verb: str) -> None:
    """26."""
    write_plan(data_dir)
    write_plan(data_dir, f"pln_{'b' * 16}", inputs={"tampered": True})
    session_id = created(phelix)["session_id"]
    before = bytes_of(data_dir)
    for bad in (["--plan", f"pln_{'b' * 16}"], ["--plan", f"pln_{'0' * 16}"], ["--operation", OPERATION]):
        answer = phelix("session", verb, session_id, "--plan", PLAN, *bad, "--json")
        assert (answer.code, answer.error["code"]) == (2, "INVALID_ARGUMENT")
        assert answer.error["details"]["id"] == bad[1]
        assert bad[1] in answer.error["message"]
    assert bytes_of(data_dir) == before


BAD_IDS = [
    "ses_0123456789ABCDEF", "../ses_0123456789abcdef", "ses_0123456789abcdef\n", "ses_0123456789abcde",
    "ses_0123456789abcdef0", "pln_0123456789abcdef", "op_0123456789abcdef", "dep-1", "ses_../../etc/passw", "",
    " ses_0123456789abcdef", "ses_0123456789abcdef.json", "/etc/passwd", "~", "x" * 300,
]  # fmt: skip


@pytest.mark.parametrize("session_id", BAD_IDS, ids=repr)
def test_a_malformed_id_never_reaches_the_file_system(env: Environment, data_dir: Path, session_id: str) -> None:
    """27."""
    for name in ("session show", "session checkpoint", "session complete", "session fail", "session cancel"):
        raw: dict[str, object] = {"step": "s"} if name == "session checkpoint" else {}
        error = refused(env, name, session_id=session_id, **raw)
        assert (error["code"], error["exit_code"]) == ("INVALID_ARGUMENT", 2)
    assert not data_dir.exists()


def test_a_malformed_id_on_the_command_line_is_a_usage_error(phelix: Phelix) -> None:
    """27."""
    for session_id in ("../x", "ses_0123456789ABCDEF", "ses_0123456789abcdef\n"):
        answer = phelix("session", "show", session_id, "--json")
        assert (answer.code, answer.error["code"]) == (2, "INVALID_ARGUMENT")


def test_too_much_text_comes_before_a_missing_session_and_a_bad_reference_before_both(env: Environment) -> None:
    """28: the order of checks."""
    long, bad = "x" * 501, ["pln_x"]
    assert refused(env, "session checkpoint", session_id=ABSENT, note=long)["code"] == "INVALID_ARGUMENT"
    assert refused(env, "session checkpoint", session_id=ABSENT, plans=bad)["code"] == "INVALID_ARGUMENT"
    assert refused(env, "session checkpoint", session_id=ABSENT, plans=[PLAN])["code"] == "NOT_FOUND"
    assert refused(env, "session complete", session_id=ABSENT, if_rev=3)["code"] == "NOT_FOUND"


def test_a_stale_guard_comes_before_the_status_and_the_status_before_linked_references(env: Environment) -> None:
    """29: the order of checks."""
    session_id = did(env, "session create").session_id
    did(env, "session complete", session_id=session_id)
    assert refused(env, "session fail", session_id=session_id, if_rev=1)["code"] == "SESSION_CONFLICT"
    assert refused(env, "session fail", session_id=session_id, if_rev=2)["code"] == "SESSION_INVALID_TRANSITION"
    assert refused(env, "session fail", session_id=session_id, plans=[PLAN])["code"] == "SESSION_INVALID_TRANSITION"


def test_linked_references_come_before_the_event_cap(env: Environment) -> None:
    """29: the order of checks."""
    error = refused(env, "session checkpoint", session_id=filled(env), plans=[PLAN])
    assert error["details"]["id"] == PLAN


def test_list_is_newest_first_filters_and_says_what_it_left_out(
    phelix: Phelix, env: Environment, clock: FixedClock
) -> None:
    """30."""
    ids: list[str] = []
    for number in range(6):
        clock.wall_ms += number % 2  # pairs of the same moment, told apart by id
        ids.append(did(env, "session create", app="web" if number % 3 else "api").session_id)
    did(env, "session fail", session_id=ids[4])
    did(env, "session fail", session_id=ids[3])

    def listed(*options: str) -> Any:
        return phelix("session", "list", *options, "--json").result

    everything = listed()
    assert [row["session_id"] for row in everything["sessions"]] == ids[::-1]
    assert (everything["count"], everything["truncated"], everything["unreadable"]) == (6, False, [])
    assert [row["session_id"] for row in listed("--status", "failed", "--app", "web")["sessions"]] == [ids[4]]
    some = listed("--limit", "2")
    assert ([row["session_id"] for row in some["sessions"]], some["count"], some["truncated"]) == (ids[:3:-1], 2, True)
    assert listed("--limit", "0")["count"] == 6
    assert list(everything["sessions"][1]) == [
        "session_id", "status", "app", "actor", "rev", "created_at_ms", "updated_at_ms", "references",
    ]  # fmt: skip
    for wrong in (["--limit", "-1"], ["--status", "bogus"], ["--limit", "x"]):
        answer = phelix("session", "list", *wrong, "--json")
        assert (answer.code, answer.error["code"]) == (2, "INVALID_ARGUMENT")


def test_list_shows_a_hundred_unless_told_otherwise(env: Environment) -> None:
    """30."""
    for _ in range(101):
        did(env, "session create")
    assert (did(env, "session list").count, did(env, "session list").truncated) == (100, True)
    assert (did(env, "session list", limit=0).count, did(env, "session list", limit=0).truncated) == (101, False)


def test_an_absent_data_directory_lists_as_nothing_and_is_not_made(phelix: Phelix, data_dir: Path) -> None:
    """30."""
    assert phelix("session", "list", "--json").result == {
        "sessions": [],
        "count": 0,
        "truncated": False,
        "unreadable": [],
    }
    assert not data_dir.exists()


def test_over_mcp_a_list_has_twenty_rows_and_at_most_a_hundred(
    env: Environment, data_dir: Path, clock: FixedClock
) -> None:
    """31."""
    for _ in range(102):
        did(env, "session create")
    over_mcp = environment(data_dir, clock, Surface.MCP)
    assert did(over_mcp, "session list").count == did(over_mcp, "session list", limit=0).count == 20
    assert did(over_mcp, "session list", limit=100).count == 100
    for limit in (101, -1):
        assert refused(over_mcp, "session list", limit=limit)["code"] == "INVALID_ARGUMENT"


def test_leftovers_of_killed_writers_are_ignored_and_the_next_write_works(phelix: Phelix, data_dir: Path) -> None:
    """32: a kill at every system call is test_durability's."""
    session_id = created(phelix)["session_id"]
    path = record(data_dir, session_id)
    (path.parent / f"{path.name}.tmp-4242").write_bytes(path.read_bytes()[:50])
    (path.parent / ".staging" / f"{path.name}.0123456789abcdef").write_bytes(b"half")
    assert phelix("session", "list", "--json").result["count"] == 1
    assert phelix("session", "checkpoint", session_id, "--step", "s", "--json").result["rev"] == 2
    assert list((path.parent / ".staging").iterdir()) == []


def test_references_alone_keep_the_step_and_the_note(phelix: Phelix) -> None:
    """34: ours keeps them, where the guide's tool blanks them."""
    session_id = created(phelix)["session_id"]
    phelix("session", "checkpoint", session_id, "--step", "deploy", "--note", "10%")
    after = phelix("session", "checkpoint", session_id, "--deployment", "dep-1", "--json").result
    assert (after["checkpoint"]["step"], after["checkpoint"]["note"], after["checkpoint"]["seq"]) == (
        "deploy",
        "10%",
        2,
    )


@pytest.mark.parametrize(("verb", "option"), [("complete", "--result"), ("fail", "--reason"), ("cancel", "--reason")])
@pytest.mark.parametrize("given", [True, False])
def test_closing_needs_no_word_and_then_stores_none(phelix: Phelix, verb: str, option: str, given: bool) -> None:  # noqa: FBT001 - a table's column
    """35."""
    session_id = created(phelix)["session_id"]
    closed = phelix("session", verb, session_id, *([option, ""] if given else []), "--json").result
    assert "final_result" not in closed
    assert closed["events"][-1]["detail"] == f"session {CLOSERS[verb]}"


def test_a_reason_is_stored_as_the_final_result(phelix: Phelix) -> None:
    """35."""
    session_id = created(phelix)["session_id"]
    assert (
        phelix("session", "fail", session_id, "--reason", "canary regressed", "--json").result["final_result"]
        == "canary regressed"
    )


@pytest.mark.parametrize("text", ["task-42", "disk-full", "asia-east1", "greyjoy", "risk-based", "bearer of news"])
def test_ordinary_words_are_not_taken_for_secrets(env: Environment, text: str) -> None:
    """36: ours leaves alone what the guide's tool mangles."""
    assert did(env, "session create", title=text).title == text


def test_redaction_is_stable_and_may_carry_a_text_past_its_cap(env: Environment) -> None:
    """36: the cap counts what was sent."""
    stored = did(env, "session create", title=f"postgres://u:p@h {SECRET}").title
    assert did(env, "session create", title=stored).title == stored
    assert SECRET not in stored
    session_id = did(env, "session create").session_id
    sent = " postgres://usr:pwd12@hst"
    sent = "x" * (120 - len(sent)) + sent
    after = did(env, "session checkpoint", session_id=session_id, step=sent)
    assert "pwd12" not in after.checkpoint.step
    assert len(after.checkpoint.step.encode()) > 120


def test_an_id_that_exists_is_never_written_over(env: Environment, data_dir: Path, clock: FixedClock) -> None:
    """37."""
    did(env, "session create", title="first")
    before = bytes_of(data_dir)
    again = environment(data_dir, clock)  # its ids count from the start again
    error = refused(again, "session create", title="second")
    assert (error["code"], error["exit_code"]) == ("ALREADY_EXISTS", 1)
    assert bytes_of(data_dir) == before


def test_resolving_fifty_deployments_opens_each_operation_once(env: Environment, data_dir: Path) -> None:
    """38."""
    opened: list[str] = []

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and str(arguments[0]).startswith(f"{data_dir}/ops/op_"):
            opened.append(str(arguments[0]))

    for number in range(5):
        write_operation(data_dir, f"op_{number:016x}", deployment_id=f"dep-{number:x}")
    session_id = did(env, "session create").session_id
    did(env, "session checkpoint", session_id=session_id, deployments=[f"dep-{n:x}" for n in range(50)])
    sys.addaudithook(note)  # cannot be taken back; it looks at this test's folder alone
    resolved = did(env, "session show", session_id=session_id).resolved
    assert sorted(opened) == [f"{data_dir}/ops/op_{number:016x}.json" for number in range(5)]
    assert [found.state for found in resolved.deployments] == ["present"] * 5 + ["unknown"] * 45


def test_resolving_fifty_of_each_kind_is_one_pass_over_each_kind(env: Environment, data_dir: Path) -> None:
    """38, of plans and operations as well."""
    opened: Counter[str] = Counter()

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and str(arguments[0]).startswith((f"{data_dir}/ops/op_", f"{data_dir}/plans/pln_")):
            opened[str(arguments[0])] += 1

    numbers = [f"{number:016x}" for number in range(50)]
    for number in numbers:
        write_plan(data_dir, f"pln_{number}")
        write_operation(data_dir, f"op_{number}", deployment_id=f"dep-{number}")
    session_id = did(env, "session create").session_id
    linked = {"plans": [f"pln_{number}" for number in numbers], "operations": [f"op_{number}" for number in numbers]}
    did(env, "session checkpoint", session_id=session_id, deployments=[f"dep-{number}" for number in numbers], **linked)
    sys.addaudithook(note)  # cannot be taken back; it looks at this test's folder alone
    resolved = did(env, "session show", session_id=session_id).resolved
    assert {found.state for kind in (resolved.plans, resolved.operations, resolved.deployments) for found in kind} == {
        "present"
    }
    plans = {path: times for path, times in opened.items() if "/plans/" in path}
    assert set(plans.values()) == {1}
    assert len(plans) == 50
    assert max(times for path, times in opened.items() if "/ops/" in path) <= 3, "once for each kind that it tells of"


def test_nothing_is_pruned_by_itself_and_prune_keeps_active_sessions_and_the_newest(
    phelix: Phelix, env: Environment, clock: FixedClock, data_dir: Path
) -> None:
    """39: ours deletes on demand only, where both conditions hold."""
    closed: list[str] = []
    for _ in range(104):
        clock.wall_ms += 1_000
        session = did(env, "session create")
        did(env, "session complete", session_id=session.session_id)
        closed.append(session.session_id)
    active = did(env, "session create").session_id
    assert did(env, "session list", limit=0).count == 105, "no create prunes"
    shown = phelix("session", "prune", "--keep", "2", "--older-than", "1d", "--dry-run", "--json").result
    answer = did(env, "session prune", keep=2, older_than="1d")
    assert answer.removed == (), "by its own clock none is a day old"
    clock.wall_ms += 2 * 86_400_000
    answer = did(env, "session prune", keep=2, older_than="1d")
    assert len(answer.removed) == len(shown["changes"]) == 102
    assert (sorted(answer.removed), answer.kept) == (sorted(closed[:-2]), 2)
    left = {path.name for path in (data_dir / "sessions").iterdir() if path.suffix in (".json", ".lock")}
    assert {name for name in left if name.endswith(".json")} == {f"{name}.json" for name in (*closed[-2:], active)}
    assert {name.split(".")[0] for name in left} == {*closed[-2:], active}, "their locks are gone too"


@pytest.mark.parametrize(
    "argv",
    [
        ["session", "list", "--bogus"], ["session", "show"], ["session", "bogus"], ["bogus"],
        ["session", "create", "extra"], ["session", "list", "--limit", "many"], ["--bogus", "session", "list"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_usage_error_under_json_is_an_envelope_and_told_on_stderr_too(phelix: Phelix, argv: list[str]) -> None:
    """40: ours is an envelope, where the guide's tool prints none."""
    answer = phelix(*argv, "--json")
    assert (answer.code, answer.error["code"], answer.error["exit_code"]) == (2, "INVALID_ARGUMENT", 2)
    assert answer.err.startswith("INVALID_ARGUMENT: ")
    plain = phelix(*argv)
    assert (plain.code, plain.out) == (2, b"")
    assert plain.err == answer.err


def test_cancel_takes_no_references(phelix: Phelix, data_dir: Path) -> None:
    """42."""
    session_id = created(phelix)["session_id"]
    before = bytes_of(data_dir)
    for option, value in (("--plan", PLAN), ("--operation", OPERATION), ("--deployment", "dep-1")):
        answer = phelix("session", "cancel", session_id, option, value, "--json")
        assert (answer.code, answer.error["code"]) == (2, "INVALID_ARGUMENT")
    assert bytes_of(data_dir) == before
