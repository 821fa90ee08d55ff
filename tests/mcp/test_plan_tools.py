"""The seven tools that plan, execute and look, over real pipes: what they offer, refuse and carry to its end."""

import json
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from phelix_core.clock import SystemClock
from phelix_core.processes import ProcessIdentity, is_alive, started_at
from phelix_core.strictjson import loads
from tests.contract.guide_works import end_of_command, executions, held, operation_of, planned, works
from tests.core.arc.samples import rule
from tests.core.arc.stage import APPROVED_FIRST, declare, put_policy
from tests.mcp.host import PATIENCE_S, Gate, Host, serve_argv
from tests.mcp.test_session_tools import TOOLS, WRONG, connected
from tests.rig import Phelix, bytes_of

READS, WRITES, EXECUTES = [True, False, True], [False, False, False], [False, True, True]
ARC_TOOLS: dict[str, tuple[list[str], list[str], list[bool]]] = {
    "phelix_context": ([], ["app", "versions", "operations", "log_lines"], READS),
    "phelix_inspect": (["resource"], ["resource", "app", "limit"], READS),
    "phelix_plan_create": (["action", "app"], ["action", "app", "to", "reason"], WRITES),
    "phelix_plan_show": (["plan_id"], ["plan_id"], READS),
    "phelix_plan_list": ([], ["app", "limit"], READS),
    "phelix_plan_apply": (["plan_id"], ["plan_id"], EXECUTES),
    "phelix_operation_status": (["operation_id"], ["operation_id", "log_lines"], READS),
}
"""For each tool what it requires, what it takes, and its hints: read-only, destructive, idempotent."""
FORGEABLE = re.compile("actor|role|authenticat|appro|identit|principal|token|credential|user|via|force|secret|key|rev$")
A_PERSONS_ALONE = ["authz_approve", "authz_revoke", "authz_check", "authz_list", "operation_cancel", "operation_list"]
FREE = rule(actor={"type": "mcp", "authenticated": False})
PLAN, SECRET = "pln_00000000000000aa", "ghp_0123456789abcdefghijABCDEFGHIJ012345"


@pytest.fixture
def server(sessions: Host, data_dir: Path) -> Iterator[Host]:
    """A host of a server over an application whose deployments are free; what it began is gone when the test is."""
    works(data_dir)
    put_policy(data_dir, FREE)
    yield sessions
    sessions.process.kill()
    sessions.process.wait(PATIENCE_S)
    for path in data_dir.glob("ops/op_*.json"):
        end_of_command(data_dir, path.stem.replace("op_", "pln_"))


def plan_of(host: Host, version: str = "1.4.0") -> str:
    plan_id: str = done(host, "plan_create", action="deploy", app="shop", to=version)["plan_id"]
    return plan_id


def done(host: Host, tool: str, **arguments: object) -> Any:
    """The result of a call that must succeed, which must be the next thing said."""
    answer = host.result(host.call(f"phelix_{tool}", **arguments))
    assert answer["status"] == "succeeded", answer
    return answer["result"]


def refused(host: Host, tool: str, **arguments: object) -> Any:
    """The envelope of a call that must fail, which must be the next thing said."""
    answer = host.answer(host.call(f"phelix_{tool}", **arguments))["result"]
    assert answer["isError"], answer
    return answer["structuredContent"]


def record_of(data_dir: Path, plan_id: str) -> Any:
    return loads((data_dir / "ops" / f"{operation_of(plan_id)}.json").read_bytes())


# What is offered


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_exactly_thirteen_tools_are_offered_with_hints_that_are_true(
    tmp_path: Path, data_dir: Path, mode: str
) -> None:
    async with connected(data_dir, tmp_path, mode=mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert tools.keys() == {*TOOLS, *ARC_TOOLS}
    assert len(tools) == 13
    for name, (required, properties, hints) in ARC_TOOLS.items():
        tool = tools[name]
        assert tool.title
        assert tool.description
        schema = tool.input_schema
        assert (schema["type"], schema["additionalProperties"]) == ("object", False)
        assert schema.get("required", []) == required
        assert list(schema["properties"]) == properties
        assert all(field["description"] for field in schema["properties"].values())
        told = tool.annotations
        assert told is not None
        assert [told.read_only_hint, told.destructive_hint, told.idempotent_hint] == hints, name
        assert told.open_world_hint is False
    assert {name for name, tool in tools.items() if tool.annotations and tool.annotations.destructive_hint} == {
        "phelix_plan_apply"
    }
    assert bytes_of(data_dir) == {".": "absent"}, "looking at tools makes nothing"


def test_no_tool_takes_anything_that_resembles_an_identity_and_none_approves_revokes_or_cancels(sessions: Host) -> None:
    tools = sessions.answer(sessions.request("tools/list", {}))["result"]["tools"]
    for tool in tools:
        assert not re.search("approve|revoke|cancel|authz", tool["name"])
        assert [field for field in tool["inputSchema"]["properties"] if FORGEABLE.search(field)] == []
    for name in A_PERSONS_ALONE:
        answer = sessions.answer(sessions.call(f"phelix_{name}", plan_id=PLAN))
        assert answer["error"]["code"] == -32602, "an unknown tool"


def test_each_forged_or_ill_typed_argument_is_refused_by_its_name_and_changes_nothing(
    server: Host, data_dir: Path
) -> None:
    before = bytes_of(data_dir)
    good: dict[str, dict[str, object]] = {
        "plan_create": {"action": "deploy", "app": "shop", "to": "1.4.0"}, "plan_apply": {"plan_id": PLAN},
        "plan_show": {"plan_id": PLAN}, "operation_status": {"operation_id": operation_of(PLAN)},
        "plan_list": {}, "inspect": {"resource": "project"}, "context": {},
    }  # fmt: skip
    for tool, arguments in good.items():
        for forged in ("actor", "approved", "role", "token", "force", "dry_run", "expect_digest", "env", SECRET):
            error = refused(server, tool, **arguments, **{forged: "cli"})["error"]
            assert error["code"] == "INVALID_ARGUMENT"
            assert list(error["details"]["fields"].values()) == ["unknown field"]
            assert SECRET not in str(error)
        for field in ARC_TOOLS[f"phelix_{tool}"][1]:
            for wrong in WRONG:
                error = refused(server, tool, **(arguments | {field: wrong}))["error"]
                assert (error["code"], field in error["details"]["fields"]) == ("INVALID_ARGUMENT", True)
    for tool, arguments in (
        ("plan_apply", {"plan_id": "../plans/x"}),
        ("plan_show", {"plan_id": "pln_00000000000000AA"}),
        ("plan_create", {"action": "rebuild", "app": "shop"}),
        ("plan_create", {"action": "deploy", "app": "shop", "to": "--force"}),
        ("plan_list", {"limit": 101}),
        ("plan_list", {"limit": -1}),
        ("inspect", {"resource": "secrets"}),
        ("inspect", {"resource": "health"}),
        ("context", {"versions": 101}),
        ("context", {"log_lines": 1_001}),
    ):
        assert refused(server, tool, **arguments)["error"]["code"] == "INVALID_ARGUMENT", (tool, arguments)
    assert bytes_of(data_dir) == before


def test_a_refusal_and_an_answer_are_the_command_lines_own(server: Host, phelix: Phelix) -> None:
    plan_id = planned(phelix)
    for tool, arguments, argv in (
        ("plan_show", {"plan_id": PLAN}, ["plan", "show", PLAN]),
        ("operation_status", {"operation_id": operation_of(PLAN)}, ["operation", "status", operation_of(PLAN)]),
        ("plan_apply", {"plan_id": PLAN}, ["plan", "apply", PLAN]),
        ("inspect", {"resource": "versions", "app": "shop"}, ["inspect", "versions", "shop"]),
    ):
        answer = server.answer(server.call(f"phelix_{tool}", **arguments))["result"]["structuredContent"]
        assert answer == phelix(*argv, "--json").envelope
    shown, words = done(server, "plan_show", plan_id=plan_id), phelix("plan", "show", plan_id, "--json").result
    for answer in (shown, words):
        answer["applicability"].pop("checked_at_ms")
    assert shown == words


def test_a_read_only_server_looks_and_neither_plans_nor_executes(
    tmp_path: Path, data_dir: Path, phelix: Phelix
) -> None:
    works(data_dir)
    put_policy(data_dir, FREE)
    plan_id = planned(phelix)
    before = bytes_of(data_dir)
    with Host(serve_argv(data_dir, "--read-only"), tmp_path) as host:
        host.greet()
        assert done(host, "plan_show", plan_id=plan_id)["state"] == "ready"
        assert done(host, "context", app="shop")
        for tool, arguments in (
            ("plan_apply", {"plan_id": plan_id}),
            ("plan_create", {"action": "deploy", "app": "shop", "to": "1.4.0"}),
        ):
            assert refused(host, tool, **arguments)["error"]["code"] == "READ_ONLY"
    assert bytes_of(data_dir) == before
    assert executions(data_dir) == 0


# Who may execute


def test_without_a_policy_nothing_is_executed_over_mcp(sessions: Host, data_dir: Path) -> None:
    works(data_dir)
    plan_id = plan_of(sessions)
    answer = refused(sessions, "plan_apply", plan_id=plan_id)
    assert (answer["error"]["code"], answer["error"]["exit_code"]) == ("AUTHZ_DENIED", 11)
    assert "operation_id" not in answer
    assert executions(data_dir) == 0
    assert not (data_dir / "ops").exists() or not list((data_dir / "ops").glob("op_*"))


def test_what_wants_an_approval_runs_once_after_a_person_gave_it(server: Host, data_dir: Path, phelix: Phelix) -> None:
    put_policy(data_dir, APPROVED_FIRST)
    plan_id = plan_of(server)
    assert done(server, "plan_show", plan_id=plan_id)["state"] == "waiting"
    assert refused(server, "plan_apply", plan_id=plan_id)["error"]["code"] == "APPROVAL_REQUIRED"
    assert executions(data_dir) == 0
    assert phelix("authz", "approve", plan_id).code == 0
    answer = server.result(server.call("phelix_plan_apply", plan_id=plan_id))
    assert list(answer) == ["schema_version", "operation_id", "status", "result"]
    assert (answer["operation_id"], answer["result"]["already_applied"]) == (operation_of(plan_id), False)
    again = server.result(server.call("phelix_plan_apply", plan_id=plan_id))
    assert again["result"] == answer["result"] | {"already_applied": True}
    assert executions(data_dir) == 1
    assert done(server, "operation_status", operation_id=operation_of(plan_id))["actor"]["type"] == "mcp"


def test_a_failure_of_the_command_is_an_error_with_the_operation_that_tells_it(server: Host, data_dir: Path) -> None:
    works(data_dir, f"echo about {SECRET}; exit 3")
    assert "secret" in refused(server, "plan_create", action="deploy", app="shop", to="1.4.0")["error"]["message"]
    works(data_dir, "printf 'about gh'; printf 'p_0123456789abcdefghijABCDEFGHIJ012345\\n'; exit 3")
    plan_id = plan_of(server)
    answer = refused(server, "plan_apply", plan_id=plan_id)
    assert (answer["operation_id"], answer["error"]["code"]) == (operation_of(plan_id), "DEPLOY_FAILED")
    assert answer["error"]["details"]["exit_code"] == 3
    shown = done(server, "operation_status", operation_id=operation_of(plan_id), log_lines=5)
    assert (shown["status"], len(shown["log"])) == ("failed", 1)
    files = b"".join(data for data in bytes_of(data_dir).values() if isinstance(data, bytes))
    assert SECRET not in str([answer, shown])
    assert SECRET.encode() not in files


# While one runs


@pytest.fixture
def applying(server: Host, data_dir: Path) -> tuple[Host, Gate, str, int]:
    """A server amid an apply, the gate that its command waits at, the plan, and the call."""
    gate = held(data_dir)
    plan_id = plan_of(server)
    call = server.call("phelix_plan_apply", plan_id=plan_id)
    gate.reached()
    return server, gate, plan_id, call


Applying = tuple[Host, Gate, str, int]


def test_while_one_runs_checkpoints_plans_and_reads_are_answered(applying: Applying, data_dir: Path) -> None:
    server, gate, plan_id, call = applying
    session_id = done(server, "session_create", title="ship")["session_id"]
    linked = {"plans": [plan_id], "operations": [operation_of(plan_id)]}
    assert done(server, "session_checkpoint", session_id=session_id, step="apply", **linked)["rev"] == 2
    assert done(server, "operation_status", operation_id=operation_of(plan_id))["status"] == "running"
    assert done(server, "plan_show", plan_id=plan_id)["state"] == "running"
    assert done(server, "context", app="shop")
    other = plan_of(server)
    for locked in (plan_id, other):
        error = refused(server, "plan_apply", plan_id=locked)["error"]
        assert (error["code"], error["retryable"]) == ("DEPLOY_LOCKED", True)
    gate.opened()
    assert server.result(call)["result"]["status"] == "succeeded"
    assert refused(server, "plan_apply", plan_id=other)["error"]["code"] == "PLAN_STALE", "the version has changed"
    assert executions(data_dir) == 1


def test_a_caller_that_changes_its_mind_does_not_end_what_has_begun(applying: Applying, data_dir: Path) -> None:
    server, gate, plan_id, call = applying
    server.notify("notifications/cancelled", requestId=call, reason="changed its mind")
    server.ping()
    assert done(server, "operation_status", operation_id=operation_of(plan_id))["status"] == "running"
    gate.opened()
    assert server.result(call)["result"]["status"] == "succeeded"
    assert record_of(data_dir, plan_id)["status"] == "succeeded"


def test_a_host_that_leaves_amid_one_ends_nothing_of_it_and_its_end_is_recorded_and_answered(
    applying: Applying, data_dir: Path
) -> None:
    server, gate, plan_id, call = applying
    server.input.close()
    assert server.process.poll() is None
    since = gate.opened()
    heard = server.hear_all()
    assert server.ended(since, within_s=3) == 0
    assert heard[call]["result"]["structuredContent"]["result"]["status"] == "succeeded"
    assert record_of(data_dir, plan_id)["status"] == "succeeded"
    assert executions(data_dir) == 1


def test_a_host_that_hears_nothing_any_more_leaves_a_record_of_the_end_all_the_same(
    applying: Applying, data_dir: Path
) -> None:
    server, gate, plan_id, _ = applying
    server.output.close()
    server.input.close()
    gate.opened()
    assert server.process.wait(PATIENCE_S) in {0, 1}
    assert record_of(data_dir, plan_id)["status"] == "succeeded"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_amid_one_ends_its_command_records_that_answers_and_ends_the_server(
    applying: Applying, data_dir: Path, phelix: Phelix, number: signal.Signals
) -> None:
    server, _, plan_id, call = applying
    child = ProcessIdentity(**record_of(data_dir, plan_id)["process"]["child"])
    server.signal(number)
    since = time.monotonic()
    heard = server.hear_all()
    assert server.ended(since, within_s=4) == 128 + number
    answer = heard[call]["result"]["structuredContent"]
    assert (answer["operation_id"], answer["error"]["code"]) == (operation_of(plan_id), "CANCELLED")
    record = record_of(data_dir, plan_id)
    assert (record["status"], record["error"]["code"]) == ("cancelled", "CANCELLED")
    assert is_alive(child, SystemClock().boot()) is False
    again = phelix("plan", "apply", plan_id, "--json")
    assert (again.error["code"], again.error["details"]["already_applied"]) == ("CANCELLED", True)
    assert executions(data_dir) == 1
    assert "Traceback" not in server.stderr


@pytest.mark.parametrize("given_up", [False, True], ids=["awaited", "given up"])
@pytest.mark.parametrize("number", [None, signal.SIGTERM], ids=["end of input", "signal"])
def test_a_check_of_health_that_does_not_end_keeps_no_server_and_is_not_left_behind(
    sessions: Host,
    data_dir: Path,
    tmp_path: Path,
    number: signal.Signals | None,
    given_up: bool,  # noqa: FBT001 - a table's column
) -> None:
    gate = Gate(tmp_path, "well")
    check = json.dumps(["sh", "-c", f"echo $$ > {tmp_path}/pid; cat {tmp_path}/well; sleep 600"])
    declare(data_dir, more=f"\n[health]\ncommand = {check}\ntime_limit_seconds = 600\n")
    call = sessions.call("phelix_inspect", resource="health", app="shop")
    gate.reached()
    pid = int((tmp_path / "pid").read_text())
    if given_up:
        sessions.notify("notifications/cancelled", requestId=call, reason="changed its mind")
        sessions.ping()
    if number is None:
        sessions.input.close()
    else:
        sessions.signal(number)
    since = time.monotonic()
    heard = sessions.hear_all()
    assert sessions.ended(since, within_s=4) == (0 if number is None else 128 + number)
    assert started_at(pid) is None
    if not given_up:
        assert heard[call]["result"]["structuredContent"]["result"]["status"] == "unknown"


def test_after_a_server_was_killed_amid_one_another_tells_the_truth_and_runs_nothing_again(
    applying: Applying, data_dir: Path, tmp_path: Path
) -> None:
    killed, _, plan_id, _ = applying
    killed.process.kill()
    killed.process.wait(PATIENCE_S)
    (tmp_path / "other").mkdir()
    with Host(serve_argv(data_dir), tmp_path / "other") as host:
        host.greet()
        assert done(host, "operation_status", operation_id=operation_of(plan_id))["status"] == "running"
        assert refused(host, "plan_apply", plan_id=plan_id)["error"]["code"] == "DEPLOY_LOCKED"
        end_of_command(data_dir, plan_id)
        shown = done(host, "operation_status", operation_id=operation_of(plan_id))
        assert (shown["status"], shown["source"]) == ("indeterminate", "derived")
        answer = refused(host, "plan_apply", plan_id=plan_id)
        assert (answer["error"]["code"], answer["operation_id"]) == ("OUTCOME_UNKNOWN", operation_of(plan_id))
    assert record_of(data_dir, plan_id)["status"] == "running"
    assert executions(data_dir) == 1
