"""`phelix mcp lifecycle` through real processes: what it offers, does and refuses; tokens, parallel calls, the end."""

import json
import signal
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import CallToolResult, TextContent

from phelix_core.checks import Surface
from phelix_core.lifecycle.actions import ACTIONS
from phelix_core.mcp.lifecycle import TOOLS
from phelix_core.settings import Settings
from phelix_core.strictjson import dumps
from tests.contract.lifecycle import filled, misfits, payloads
from tests.mcp.host import Host, environ_of
from tests.rig import PHELIX, FixedClock, bytes_of, did, environment

HOST = {"host": "h1", "hostCapabilities": {"workloadClasses": ["code"]}}
REPORT = {"title": "t", "summary": "s", "nextStep": "n", "artifactIds": ["commit:1"]}
READS = {"harness_inspector"}
DESTROY = {"harness_orchestrator", "harness_admin"}
SECRET = "ghp_0123456789abcdefghijABCDEFGHIJ012345"


def argv_of(data_dir: Path, *more: str) -> list[str]:
    return [str(PHELIX), "mcp", "lifecycle", "--data-dir", str(data_dir), *more]


@pytest.fixture
def server(tmp_path: Path, data_dir: Path) -> Iterator[Host]:
    """A host of the server over an empty data directory, after the handshake."""
    with Host(argv_of(data_dir), tmp_path) as host:
        host.greet()
        yield host


def told(server: Host, tool: str, action: str, /, **given: object) -> Any:
    """The answer of a call that must succeed; as text and as structure it is the same."""
    result = server.answer(server.call(tool, action=action, **given))["result"]
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    assert not result.get("isError"), result["structuredContent"]
    return result["structuredContent"]


def refused(server: Host, tool: str, action: str, /, **given: object) -> Any:
    """The account of a call that must be refused."""
    result = server.answer(server.call(tool, action=action, **given))["result"]
    assert result["isError"] is True
    document = result["structuredContent"]
    assert list(document)[:2] == ["error", "code"]
    assert json.loads(result["content"][0]["text"]) == document
    return document


def planned(host: Host, *tasks: str) -> dict[str, str]:
    """A queue with ready issues; answers the ids that calls name."""
    workspace = told(host, "harness_orchestrator", "init_workspace", workspaceName="w")["result"]["workspaceId"]
    made = told(host, "harness_orchestrator", "create_campaign", projectName="p", campaignName="c", objective="o")[
        "result"
    ]
    issues = [{"task": task, "priority": "medium", "size": "S"} for task in tasks]
    told(
        host,
        "harness_orchestrator",
        "plan_issues",
        projectId="p",
        milestones=[{"milestone_key": "m", "description": "d", "issues": issues}],
    )
    return {"workspaceId": workspace, "projectId": made["projectId"]}


def begun(host: Host, scope: dict[str, str], **more: object) -> Any:
    asked = {**scope, **HOST, "artifacts": [{"kind": "branch", "path": "b"}], "mem0Enabled": False, **more}
    return told(host, "harness_session", "begin", **asked)


# What is offered


def test_five_tools_are_offered_each_with_its_actions_and_hints_that_are_true(server: Host) -> None:
    tools = server.answer(server.request("tools/list", {}))["result"]["tools"]
    assert {tool["name"]: tool["inputSchema"]["properties"]["action"]["enum"] for tool in tools} == {
        "harness_inspector": ["capabilities", "get_context", "next_action", "export", "audit", "health_snapshot"],
        "harness_orchestrator": [
            "init_workspace", "create_campaign", "plan_issues", "promote_queue", "rollback_issue", "unblock", "retry",
            "recover",
        ],
        "harness_session": ["begin", "begin_recovery", "checkpoint", "close", "advance", "heartbeat"],
        "harness_artifacts": ["save", "list"],
        "harness_admin": ["reconcile", "drain", "undrain", "archive", "memory_sync"],
    }  # fmt: skip
    for tool in tools:
        schema = tool["inputSchema"]
        assert (schema["type"], schema["required"], schema["additionalProperties"]) == ("object", ["action"], False)
        assert "$ref" not in json.dumps(schema)
        assert not schema["properties"].keys() & {"dbPath", "holderPid", "contractVersion", "actor", "via"}
        assert tool["annotations"] == {
            "readOnlyHint": tool["name"] in READS,
            "destructiveHint": tool["name"] in DESTROY,
            "idempotentHint": tool["name"] in READS,
            "openWorldHint": False,
        }
        for action in schema["properties"]["action"]["enum"]:
            assert f"{action}: " in tool["description"]


def test_every_action_of_the_lifecycle_is_reached_by_exactly_one_tool() -> None:
    reached = [way.action for ways in TOOLS.values() for way in ways.values() if way.action != "capabilities"]
    assert sorted(reached) == sorted(ACTIONS)


def test_capabilities_name_the_tools_the_actions_and_the_codes(server: Host) -> None:
    result = told(server, "harness_inspector", "capabilities")["result"]
    assert result["contractVersion"] == "6.0.0"
    assert result["tools"] == {name: list(ways) for name, ways in TOOLS.items()}
    assert result["actions"]["close"] == {"command": "phelix queue close", "writes": True}
    assert result["codes"]["STORE_BUSY"] is True


# The examples


def test_our_example_payloads_do_over_mcp_what_they_do_on_the_command_line(server: Host, data_dir: Path) -> None:
    known: dict[str, Any] = {}
    ways = {way.action: (tool, word, way) for tool, words in TOOLS.items() for word, way in words.items()}
    for name, payload in payloads("lifecycle").items():
        tool, word, way = ways[payload["action"]]
        given = filled(payload["input"], known)
        if way.part == "input":
            given = {"input": given, "sessionToken": known["token"]}
        elif way.part == "close_input":
            given = {"closeInput": given, "context": known["context"]}
        elif way.action == "heartbeat":
            given["sessionToken"] = known["token"]
        answer = told(server, tool, word, **given)
        assert answer["action"] == payload["action"], name
        context = answer.get("context") or answer["result"].get("context")
        if context is not None and "leaseId" in context:
            known |= {"context": context, "issueId": context["issueId"]}
        if "sessionToken" in answer:
            known["token"] = answer["sessionToken"]
    assert sorted(data_dir.glob("sessions/ses_*.json"))
    for record in data_dir.glob("sessions/ses_*.json"):
        assert json.loads(record.read_bytes())["actor"]["type"] == "mcp"


def test_a_begin_answers_the_documents_context_and_a_token_beside_it(server: Host) -> None:
    scope = planned(server, "a")
    answer = begun(server, scope)
    assert list(answer) == ["action", "context", "sessionToken"]
    shape = payloads("upstream")["02_begin_incremental"]["stdout"]["context"]
    assert list(misfits({**shape, "campaignId": "text"}, answer["context"])) == []


# Sessions


def test_a_token_is_good_after_the_server_was_killed_and_another_process_took_its_place(
    tmp_path: Path, data_dir: Path
) -> None:
    with Host(argv_of(data_dir), tmp_path) as first:
        first.greet()
        token = begun(first, planned(first, "a"))["sessionToken"]
        first.signal(signal.SIGKILL)
        first.process.wait()
    with Host(argv_of(data_dir), tmp_path) as second:
        second.greet()
        answer = told(
            second, "harness_session", "close", sessionToken=token, closeInput={**REPORT, "taskStatus": "done"}
        )
        assert answer["result"]["checkpoint"]["taskStatus"] == "done"


def test_the_token_of_a_run_that_another_process_went_on_with_is_lost(server: Host) -> None:
    scope = planned(server, "a")
    older = begun(server, scope, agentId="ann")
    newer = begun(server, scope, agentId="ann")
    assert newer["context"]["claimMode"] == "resume"
    error = refused(
        server,
        "harness_session",
        "checkpoint",
        sessionToken=older["sessionToken"],
        input={**REPORT, "taskStatus": "done"},
    )
    assert error["code"] == "LEASE_LOST"
    error = refused(server, "harness_session", "heartbeat", context=older["context"])
    assert error["code"] == "LEASE_LOST"
    told(server, "harness_session", "heartbeat", sessionToken=newer["sessionToken"])


def test_an_advance_answers_the_token_of_what_it_took_next(server: Host) -> None:
    scope = planned(server, "a", "b")
    token = begun(server, scope)["sessionToken"]
    answer = told(server, "harness_session", "advance", sessionToken=token, closeInput={**REPORT, "taskStatus": "done"})
    assert answer["result"]["advanced"] is True
    assert answer["sessionToken"] != token
    told(server, "harness_session", "heartbeat", sessionToken=answer["sessionToken"])


def test_the_server_is_the_holder_of_what_it_takes(server: Host, data_dir: Path) -> None:
    issue = begun(server, planned(server, "a"))["context"]["issueId"]
    env = environment(data_dir, FixedClock())
    assert [one["holderPid"] for one in did(env, "queue show", issue_id=issue)["leases"]] == [server.process.pid]
    env.queue.close()


def test_what_next_action_suggests_is_what_its_tool_takes(server: Host) -> None:
    planned(server, "a")
    advised = told(server, "harness_inspector", "next_action", **HOST)["result"]
    assert advised["requires"] == ["input.artifacts"]
    given = {**advised["suggestedArguments"], "artifacts": [{"kind": "log", "path": "p"}]}
    answer = server.result(server.call(advised["tool"], **given))
    assert answer["context"]["issueTask"] == "a"


# Refusals

BAD: dict[str, tuple[str, str, dict[str, Any]]] = {
    "an unknown action": ("harness_session", "commit", {}),
    "an unknown member": ("harness_inspector", "get_context", {"limit": 5}),
    "the member of another action": ("harness_session", "heartbeat", {"sessionToken": "ST-x", "input": {}}),
    "a database": ("harness_inspector", "get_context", {"dbPath": "/tmp/other.db"}),
    "a process": ("harness_session", "begin", {"holderPid": 1}),
    "a contract version": ("harness_inspector", "get_context", {"contractVersion": "6.0.0"}),
    "an actor": ("harness_orchestrator", "init_workspace", {"workspaceName": "w", "actor": {"type": "cli"}}),
    "a surface": ("harness_orchestrator", "init_workspace", {"workspaceName": "w", "via": "cli"}),
    "a number for a text": ("harness_orchestrator", "init_workspace", {"workspaceName": 7}),
    "no token and no context": ("harness_session", "checkpoint", {"input": {**REPORT, "taskStatus": "done"}}),
    "both": ("harness_session", "heartbeat", {"sessionToken": "ST-x", "context": {"leaseId": "L"}}),
    "another kind of token": ("harness_session", "heartbeat", {"sessionToken": "x"}),
    "a secret as an action": ("harness_session", SECRET, {SECRET: SECRET}),
}


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Host, Path]]:
    """One server for every refusal, and its data directory."""
    folder = tmp_path_factory.mktemp("strict")
    with Host(argv_of(folder / "data"), folder) as host:
        host.greet()
        yield host, folder / "data"


@pytest.mark.parametrize("name", BAD)
def test_is_refused_with_its_place_and_changes_nothing(strict: tuple[Host, Path], name: str) -> None:
    host, data_dir = strict
    tool, action, given = BAD[name]
    error = refused(host, tool, action, **given)
    assert error["code"] == "INVALID_ARGUMENT"
    assert error["issues"]
    assert SECRET not in json.dumps(error)
    assert bytes_of(data_dir) == {".": "absent"}


def test_a_context_of_another_queue_is_refused(server: Host) -> None:
    context = begun(server, planned(server, "a"))["context"]
    error = refused(server, "harness_session", "heartbeat", context={**context, "dbPath": "/tmp/other.db"})
    assert error["issues"][0]["path"] == ["context", "dbPath"]
    told(server, "harness_session", "heartbeat", context=context)


def test_a_refusal_of_the_queue_has_its_code_its_hint_and_its_details(server: Host) -> None:
    scope = planned(server, "a", "b")
    token = begun(server, scope)["sessionToken"]
    told(server, "harness_session", "checkpoint", sessionToken=token, input={**REPORT, "taskStatus": "needs_recovery"})
    error = refused(
        server,
        "harness_session",
        "begin",
        **{**scope, **HOST, "artifacts": [{"kind": "b", "path": "b"}], "mem0Enabled": False},
    )
    assert error["code"] == "RECOVERY_REQUIRED"
    assert "phelix queue recover" in error["hint"]
    assert error["details"]["blockerCount"] == 1


def test_a_read_only_server_looks_and_refuses_every_change(tmp_path: Path, data_dir: Path) -> None:
    with Host(argv_of(data_dir), tmp_path) as host:
        host.greet()
        scope = planned(host, "a")
    with Host(argv_of(data_dir, "--read-only"), tmp_path) as host:
        host.greet()
        assert told(host, "harness_inspector", "health_snapshot", projectId=scope["projectId"])["result"]
        error = refused(host, "harness_orchestrator", "promote_queue", projectId=scope["projectId"])
        assert error["code"] == "READ_ONLY"


# At once


def test_thirty_two_begins_at_once_take_thirty_two_issues_and_reads_go_on_between(server: Host) -> None:
    scope = planned(server, *(f"task {number}" for number in range(32)))
    asked = {**scope, **HOST, "artifacts": [{"kind": "b", "path": "b"}], "mem0Enabled": False}
    wanted = {server.call("harness_session", action="begin", **asked) for _ in range(32)}
    looks = {
        server.call("harness_inspector", action="health_snapshot", projectId=scope["projectId"]) for _ in range(32)
    }
    answers = {message["id"]: message["result"] for message in (server.hear() for _ in range(64))}
    assert answers.keys() == wanted | looks
    taken = [answers[one]["structuredContent"]["context"]["issueId"] for one in wanted]
    assert len(set(taken)) == 32
    for one in looks:
        assert answers[one]["structuredContent"]["result"]["snapshotVersion"] == 1


def test_the_end_of_input_ends_the_server_and_its_queue_stays_whole(server: Host, data_dir: Path) -> None:
    scope = planned(server, "a")
    asked = {**scope, **HOST, "artifacts": [{"kind": "b", "path": "b"}], "mem0Enabled": False}
    last = server.call("harness_session", action="begin", **asked)
    server.input.close()
    heard = server.hear_all()
    assert heard[last]["result"]["structuredContent"]["context"]["claimMode"] == "claim"
    assert server.ended(time.monotonic()) == 0
    env = environment(data_dir, FixedClock())
    assert env.queue.check() is None
    env.queue.close()


# The SDK's own client


@asynccontextmanager
async def connected(data_dir: Path, scratch: Path) -> AsyncGenerator[Callable[..., Any]]:
    """`call(tool, **arguments)` through the SDK's client."""
    command, *args = argv_of(data_dir)
    parameters = StdioServerParameters(command=command, args=args, env=environ_of(scratch))
    with (scratch / "client-stderr.txt").open("w") as stderr:
        async with Client(stdio_client(parameters, errlog=stderr)) as client:

            async def call(tool: str, **arguments: object) -> Any:
                answer = await client.call_tool(tool, arguments)
                assert isinstance(answer, CallToolResult)
                [content] = answer.content
                assert isinstance(content, TextContent)
                assert content.text == dumps(answer.structured_content)
                return answer.is_error, answer.structured_content

            yield call


async def test_a_whole_session_goes_through_the_sdks_client(tmp_path: Path, data_dir: Path) -> None:
    async with connected(data_dir, tmp_path) as call:
        await call("harness_orchestrator", action="init_workspace", workspaceName="w")
        await call("harness_orchestrator", action="create_campaign", projectName="p", campaignName="c", objective="o")
        issues = [{"task": "a", "priority": "high", "size": "S"}]
        milestones = [{"milestone_key": "m", "description": "d", "issues": issues}]
        await call("harness_orchestrator", action="plan_issues", projectId="p", milestones=milestones)
        asked = {"workspaceId": "w", "projectId": "p", **HOST, "mem0Enabled": False}
        failed, answer = await call("harness_session", action="begin", artifacts=[{"kind": "b", "path": "b"}], **asked)
        assert failed is False
        token = answer["sessionToken"]
        failed, _ = await call(
            "harness_session", action="checkpoint", sessionToken=token, input={**REPORT, "taskStatus": "in_progress"}
        )
        assert failed is False
        failed, answer = await call(
            "harness_session", action="close", sessionToken=token, closeInput={**REPORT, "taskStatus": "done"}
        )
        assert failed is False
        assert answer["result"]["releasedLease"]
        failed, answer = await call(
            "harness_session", action="close", sessionToken=token, closeInput={**REPORT, "taskStatus": "done"}
        )
        assert (failed, answer["code"]) == (True, "LEASE_LOST")


# What is recorded


def test_what_mcp_writes_is_what_the_command_line_writes_but_for_who_wrote_it(server: Host, data_dir: Path) -> None:
    begun(server, planned(server, "a"))
    env = environment(data_dir, FixedClock())
    events = env.queue.read(lambda tx: tx.events_since(0, limit=1_000))
    assert {event.via for event in events} == {Surface.MCP.value}
    assert Settings(data_dir=str(data_dir)).read_only is False
    env.queue.close()
