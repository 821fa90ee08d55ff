"""`phelix mcp serve` through the SDK's own client and by raw lines: what it offers, stores, answers and refuses."""

import json
import signal
import time
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent

from phelix_core.commands.environment import Environment
from phelix_core.strictjson import dumps, loads
from tests.mcp.host import PATIENCE_S, Host, environ_of, serve_argv
from tests.rig import Phelix, bytes_of, did
from tests.surfaces.test_surfaces_agree import provenance_aside

TOOLS: dict[str, tuple[list[str], list[str], list[bool]]] = {
    "phelix_session_create": ([], ["title", "project", "app"], [False, False, False]),
    "phelix_session_show": (["session_id"], ["session_id", "no_resolve"], [True, False, True]),
    "phelix_session_list": ([], ["status", "app", "limit"], [True, False, True]),
    "phelix_session_checkpoint": (
        ["session_id"],
        ["session_id", "step", "note", "plans", "operations", "deployments"],
        [False, False, False],
    ),
    "phelix_session_complete": (
        ["session_id"],
        ["session_id", "result", "plans", "operations", "deployments"],
        [False, False, False],
    ),
    "phelix_session_fail": (
        ["session_id"],
        ["session_id", "reason", "plans", "operations", "deployments"],
        [False, False, False],
    ),
}
"""For each tool what it requires, what it takes, and its hints: read-only, destructive, idempotent."""
ID = "ses_0000000000000001"
WRONG: list[Any] = [1.5, {}, [1], [[]], {"a": "b"}]
IDENTITY = ["actor", "via", "authenticated", "if_rev", "cancel", "role", "token", "where", "view", "check", "id", "rev"]
SECRET = "ghp_0123456789abcdefghijABCDEFGHIJ012345"


def connected(data_dir: Path, scratch: Path, *more: str, mode: Any = "auto") -> AbstractAsyncContextManager[Client]:
    """The SDK's client of a server over `data_dir`; by its own choice it speaks the newest protocol."""

    @asynccontextmanager
    async def connect() -> AsyncGenerator[Client]:
        command, *args = serve_argv(data_dir, *more)
        parameters = StdioServerParameters(command=command, args=args, env=environ_of(scratch))
        with (scratch / "stderr.txt").open("w") as stderr:
            async with Client(stdio_client(parameters, errlog=stderr), mode=mode) as client:
                yield client
        assert (scratch / "stderr.txt").read_text() == ""

    return connect()


async def called(client: Client, tool: str, **arguments: object) -> Any:
    """What a call answers, which must stand in it twice: as text and as structure."""
    answer = await client.call_tool(tool, arguments)
    assert isinstance(answer, CallToolResult)
    [content] = answer.content
    assert isinstance(content, TextContent)
    assert content.text == dumps(answer.structured_content), "the command line's own form"
    document: Any = answer.structured_content
    assert answer.is_error is (document["status"] == "failed")
    return document


async def did_call(client: Client, tool: str, **arguments: object) -> Any:
    document = await called(client, tool, **arguments)
    assert document["status"] == "succeeded", document
    return document["result"]


def stored(data_dir: Path) -> list[Any]:
    records = [provenance_aside(loads(path.read_bytes())) for path in data_dir.glob("sessions/ses_*.json")]
    return sorted(records, key=str)


# What is offered


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_exactly_six_session_tools_are_offered_in_each_era_of_the_protocol(
    tmp_path: Path, data_dir: Path, mode: str
) -> None:
    async with connected(data_dir, tmp_path, mode=mode) as client:
        tools = {
            tool.name: tool for tool in (await client.list_tools()).tools if tool.name.startswith("phelix_session")
        }
        assert client.server_info is not None
        assert client.server_info.name == "phelix"
        assert "secret" in str(client.instructions).lower()
    assert list(tools) == list(TOOLS)
    for name, (required, properties, hints) in TOOLS.items():
        tool = tools[name]
        assert tool.title
        assert tool.description
        schema = tool.input_schema
        assert schema["type"] == "object"
        assert schema.get("required", []) == required
        assert list(schema["properties"]) == properties
        assert schema["additionalProperties"] is False
        assert all(field["description"] for field in schema["properties"].values())
        told = tool.annotations
        assert told is not None
        assert [told.read_only_hint, told.destructive_hint, told.idempotent_hint] == hints
        assert told.open_world_hint is False
    assert bytes_of(data_dir) == {".": "absent"}, "looking at tools makes nothing"


def test_the_schema_of_a_list_tells_the_limit_that_it_has_here(sessions: Host) -> None:
    tools = sessions.answer(sessions.request("tools/list", {}))["result"]["tools"]
    for name in ("phelix_session_list", "phelix_plan_list", "phelix_inspect"):
        [limit] = [tool["inputSchema"]["properties"]["limit"] for tool in tools if tool["name"] == name]
        assert limit["anyOf"][0] == {"type": "integer", "minimum": 0, "maximum": 100}


# What is stored and answered


async def test_each_tool_stores_and_answers_what_the_command_line_does(
    tmp_path: Path, data_dir: Path, phelix: Phelix
) -> None:
    theirs = Phelix(tmp_path / "theirs", tmp_path)
    async with connected(data_dir, tmp_path) as client:
        ours: list[Any] = []
        by_words: list[Any] = []
        for verb, arguments, words in (
            ("complete", {"result": "it is done"}, ["--result", "it is done"]),
            ("fail", {"reason": f"it broke on {SECRET}"}, ["--reason", f"it broke on {SECRET}"]),
        ):
            opened = await did_call(client, "phelix_session_create", title="ship", project="northwind", app="billing")
            shell = theirs("session", "create", "--title=ship", "--project=northwind", "--app=billing", "--json").result
            ours.append(opened)
            by_words.append(shell)
            at, there = opened["session_id"], shell["session_id"]
            ours.append(
                await did_call(
                    client,
                    "phelix_session_checkpoint",
                    session_id=at,
                    step="s",
                    note="n",
                    deployments=["dep-1", "dep-2"],
                )
            )
            linked = ["--deployment=dep-1", "--deployment=dep-2"]
            by_words.append(theirs("session", "checkpoint", there, "--step=s", "--note=n", *linked, "--json").result)
            ours.append(await did_call(client, f"phelix_session_{verb}", session_id=at, **arguments))
            by_words.append(theirs("session", verb, there, *words, "--json").result)
            ours.append(await did_call(client, "phelix_session_show", session_id=at))
            by_words.append(theirs("session", "show", there, "--json").result)
            ours.append(await did_call(client, "phelix_session_show", session_id=at, no_resolve=True))
            by_words.append(theirs("session", "show", there, "--no-resolve", "--json").result)
        for arguments, words in (
            ({}, []),
            ({"status": "failed", "app": "billing"}, ["--status=failed", "--app=billing"]),
        ):
            ours.append(await did_call(client, "phelix_session_list", **arguments))
            by_words.append(theirs("session", "list", *words, "--json").result)
        shown = await called(client, "phelix_session_show", session_id=ours[0]["session_id"])
        assert shown == phelix("session", "show", ours[0]["session_id"], "--json").envelope, "to the last member"
    assert provenance_aside(ours) == provenance_aside(by_words)
    assert stored(data_dir) == stored(tmp_path / "theirs")
    assert SECRET not in str(bytes_of(data_dir))


async def test_what_is_written_here_says_so_and_a_record_keeps_who_made_it(
    tmp_path: Path, data_dir: Path, env: Environment
) -> None:
    theirs = did(env, "session create", title="by a person").session_id
    async with connected(data_dir, tmp_path) as client:
        ours = await did_call(client, "phelix_session_create")
        changed = await did_call(client, "phelix_session_checkpoint", session_id=theirs, step="s")
    assert ours["actor"] == {"type": "mcp", "id": None, "authenticated": False}
    assert changed["actor"]["type"] == "cli"
    assert [event["via"] for event in changed["events"]] == ["cli", "mcp"]


async def test_a_list_has_twenty_rows_or_as_many_as_are_asked_for_up_to_a_hundred(
    tmp_path: Path, data_dir: Path, env: Environment
) -> None:
    for _ in range(25):
        did(env, "session create")
    async with connected(data_dir, tmp_path) as client:
        for limit, rows in (
            ({}, 20),
            ({"limit": 0}, 20),
            ({"limit": None}, 20),
            ({"limit": 3}, 3),
            ({"limit": 100}, 25),
        ):
            answer = await did_call(client, "phelix_session_list", **limit)
            assert (answer["count"], answer["truncated"]) == (rows, rows < 25)
        for limit in (101, -1, True, "3", 1.0):
            document = await called(client, "phelix_session_list", limit=limit)
            assert document["error"]["code"] == "INVALID_ARGUMENT"


# What is refused


async def test_whatever_is_refused_changes_no_byte(tmp_path: Path, data_dir: Path, env: Environment) -> None:
    did(env, "session create", title="ship")
    closed = did(env, "session create", title="done").session_id
    did(env, "session complete", session_id=closed)
    before = bytes_of(data_dir)
    async with connected(data_dir, tmp_path) as client:
        for tool, (required, properties, _) in TOOLS.items():
            good = {"session_id": ID} if required else {}
            more = {"step": "s"} if "step" in properties else {}
            for unknown in (*IDENTITY, "plan", "titel", "__class__", "", SECRET):
                if unknown in properties:
                    continue
                error = (await called(client, tool, **good, **more, **{unknown: "cli"}))["error"]
                assert error["code"] == "INVALID_ARGUMENT"
                assert list(error["details"]["fields"].values()) == ["unknown field"]
                assert SECRET not in str(error)
            for name in properties:
                for wrong in WRONG:
                    error = (await called(client, tool, **{**good, **more, name: wrong}))["error"]
                    assert error["code"] == "INVALID_ARGUMENT"
                    assert name in error["details"]["fields"]
            if required:
                assert (await called(client, tool))["error"]["details"]["fields"]["session_id"] == "required"
        for tool, arguments, code in (
            ("create", {"title": "x" * 201}, "INVALID_ARGUMENT"),
            ("create", {"title": "a\0b"}, "INVALID_ARGUMENT"),
            ("show", {"session_id": "ses_00000000000000ff"}, "NOT_FOUND"),
            ("show", {"session_id": "../../etc/passwd"}, "INVALID_ARGUMENT"),
            ("list", {"status": "paused"}, "INVALID_ARGUMENT"),
            ("checkpoint", {"session_id": ID}, "INVALID_ARGUMENT"),
            ("checkpoint", {"session_id": closed, "step": "s"}, "SESSION_INVALID_TRANSITION"),
            ("complete", {"session_id": closed}, "SESSION_INVALID_TRANSITION"),
            ("fail", {"session_id": ID, "plans": ["pln_0000000000000001"]}, "INVALID_ARGUMENT"),
        ):
            document = await called(client, f"phelix_session_{tool}", **arguments)
            assert document["error"]["code"] == code
        for tool in ("phelix_session_cancel", "phelix_session_prune", "session create", "../x"):
            with pytest.raises(MCPError, match="Unknown tool"):
                await client.call_tool(tool, {"session_id": ID})
    assert bytes_of(data_dir) == before


def test_a_refusal_has_the_words_of_the_command_line(sessions: Host, phelix: Phelix) -> None:
    absent = "ses_00000000000000ff"
    assert sessions.result(sessions.call("phelix_session_show", session_id=absent)) == (
        phelix("session", "show", absent, "--json").envelope
    )


def test_a_read_only_server_reads_and_refuses_every_write(tmp_path: Path, data_dir: Path, env: Environment) -> None:
    did(env, "session create", title="ship")
    before = bytes_of(data_dir)
    with Host(serve_argv(data_dir, "--read-only"), tmp_path) as host:
        host.greet()
        assert host.result(host.call("phelix_session_show", session_id=ID))["status"] == "succeeded"
        assert host.result(host.call("phelix_session_list"))["result"]["count"] == 1
        for tool, arguments in (
            ("create", {}),
            ("checkpoint", {"session_id": ID, "step": "s"}),
            ("fail", {"session_id": ID}),
        ):
            assert host.result(host.call(f"phelix_session_{tool}", **arguments))["error"]["code"] == "READ_ONLY"
    assert bytes_of(data_dir) == before


# Many at once, and the end


async def test_thirty_two_calls_at_once_are_each_answered_right(tmp_path: Path, data_dir: Path) -> None:
    async with connected(data_dir, tmp_path) as client:
        opened = [
            (await did_call(client, "phelix_session_create", title=str(number)))["session_id"] for number in range(8)
        ]
        answers: dict[int, Any] = {}

        async def one(number: int) -> None:
            at = opened[number % 8]
            if number < 16:
                answers[number] = await did_call(client, "phelix_session_checkpoint", session_id=at, step=str(number))
            elif number < 24:
                answers[number] = await did_call(client, "phelix_session_show", session_id=at)
            else:
                answers[number] = await did_call(client, "phelix_session_list", limit=number)

        async with anyio.create_task_group() as tasks:
            for number in range(32):
                tasks.start_soon(one, number)
        for number, answer in answers.items():
            if number < 16:
                assert (answer["session_id"], answer["checkpoint"]["step"]) == (opened[number % 8], str(number))
                assert answer["rev"] == 2 + number // 8
            elif number < 24:
                assert (answer["session_id"], answer["title"]) == (opened[number % 8], str(number % 8))
            else:
                assert answer["count"] == 8
        assert len(answers) == 32


def test_steps_sent_at_once_are_recorded_in_the_order_in_which_they_were_sent(
    sessions: Host, data_dir: Path, env: Environment
) -> None:
    did(env, "session create")
    asked = [sessions.call("phelix_session_checkpoint", session_id=ID, step=str(step)) for step in range(32)]
    asked.append(sessions.call("phelix_session_complete", session_id=ID, result="done"))
    for request_id in asked:
        assert sessions.result(request_id)["status"] == "succeeded"
    record = json.loads((data_dir / "sessions" / f"{ID}.json").read_bytes())
    assert (record["checkpoint"]["step"], record["status"], record["rev"]) == ("31", "completed", 34)


async def test_a_call_that_its_caller_gives_up_leaves_the_old_record_or_the_new_one(
    tmp_path: Path, data_dir: Path
) -> None:
    async with connected(data_dir, tmp_path) as client:
        at = (await did_call(client, "phelix_session_create"))["session_id"]
        for _ in range(20):
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(client.call_tool, "phelix_session_checkpoint", {"session_id": at, "step": "s"})
                    await anyio.lowlevel.checkpoint()
                    scope.cancel()
        shown = await did_call(client, "phelix_session_show", session_id=at)
        assert 1 <= shown["rev"] <= 21
        assert shown["rev"] == len(shown["events"])
        assert (await did_call(client, "phelix_session_checkpoint", session_id=at, step="last"))["status"] == "active"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_amid_writes_leaves_whole_records_and_each_answer_true(
    sessions: Host, data_dir: Path, phelix: Phelix, number: signal.Signals
) -> None:
    asked = [sessions.call("phelix_session_create", title=str(turn)) for turn in range(64)]
    first = sessions.result(asked[0])
    sessions.signal(number)
    since = time.monotonic()
    heard = sessions.hear_all()
    assert sessions.ended(since, within_s=2) == 128 + number
    documents = [first, *(answer["result"]["structuredContent"] for answer in heard.values() if "result" in answer)]
    told = {cast("str", each["result"]["session_id"]) for each in documents if each["status"] == "succeeded"}
    assert {each["error"]["code"] for each in documents if each["status"] == "failed"} <= {"CANCELLED"}
    assert {path.stem for path in data_dir.glob("sessions/ses_*.json")} == told
    assert [path for path in data_dir.rglob("*") if path.is_file() and path.suffix not in {".json", ".lock"}] == []
    listed = phelix("session", "list", "--limit=0", "--json").result
    assert (listed["count"], listed["unreadable"]) == (len(told), [])


def test_the_end_of_input_amid_writes_carries_each_of_them_out(sessions: Host, data_dir: Path) -> None:
    asked = [sessions.call("phelix_session_create", title=str(turn)) for turn in range(32)]
    sessions.input.close()
    heard = sessions.hear_all()
    assert sessions.process.wait(PATIENCE_S) == 0
    assert list(heard) == asked
    assert len(list(data_dir.glob("sessions/ses_*.json"))) == 32
