"""The guide's MCP tools, through the SDK's own client of a real `phelix mcp serve`."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

from phelix_core.strictjson import loads
from tests.contract.guide_stage import (
    DEPLOYMENT,
    LINKED,
    OPERATION,
    PLAN,
    SECRET,
    asked,
    beside_sessions,
    created,
    path_of,
    planted,
    watching,
)
from tests.mcp.host import environ_of, serve_argv
from tests.mcp.test_session_tools import called, connected, did_call
from tests.rig import Phelix, bytes_of
from tests.surfaces.test_surfaces_agree import provenance_aside

TOOLS = ["create", "show", "list", "checkpoint", "complete", "fail"]
REFERENCES = {"plans": [PLAN], "operations": [OPERATION], "deployments": [DEPLOYMENT]}
FORGED = ["actor", "role", "authenticated", "approval", "identity", "principal", "token", "credential", "via"]


@asynccontextmanager
async def watched(data_dir: Path, scratch: Path) -> AsyncGenerator[Client]:
    """A client of a server that notes what it asks of the system."""
    command, *args = serve_argv(data_dir)
    parameters = StdioServerParameters(command=command, args=args, env={**environ_of(scratch), **watching(scratch)})
    with (scratch / "stderr.txt").open("w") as stderr:
        async with Client(stdio_client(parameters, errlog=stderr)) as client:
            yield client


async def test_the_session_tools_are_six_and_to_cancel_is_not_among_them(tmp_path: Path, data_dir: Path) -> None:
    async with connected(data_dir, tmp_path) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert [name for name in names if name.startswith("phelix_session_")] == [
            f"phelix_session_{name}" for name in TOOLS
        ]
        for absent in ("phelix_session_cancel", "phelix_session_prune", "phelix_authz_approve"):
            with pytest.raises(MCPError, match="Unknown tool"):
                await client.call_tool(absent, {})


async def test_a_guard_by_revision_is_for_the_command_line_alone(tmp_path: Path, data_dir: Path) -> None:
    async with connected(data_dir, tmp_path) as client:
        session_id = (await did_call(client, "phelix_session_create"))["session_id"]
        before = bytes_of(data_dir)
        for verb, more in (("checkpoint", {"step": "s"}), ("complete", {}), ("fail", {})):
            tool = next(tool for tool in (await client.list_tools()).tools if tool.name == f"phelix_session_{verb}")
            assert "if_rev" not in tool.input_schema["properties"]
            for rev in (1, 99):
                answer = await called(client, tool.name, session_id=session_id, if_rev=rev, **more)
                assert answer["error"]["details"]["fields"] == {"if_rev": "unknown field"}
        assert bytes_of(data_dir) == before


async def test_a_tool_and_a_command_store_the_same_and_answer_the_same_also_when_they_refuse(
    phelix: Phelix, data_dir: Path, tmp_path: Path
) -> None:
    theirs = Phelix(tmp_path / "theirs", tmp_path)
    planted(data_dir)
    planted(theirs.data_dir)
    async with connected(data_dir, tmp_path) as client:
        ours = (await did_call(client, "phelix_session_create", title="ship", app="billing"))["session_id"]
        shell = created(theirs, "--title", "ship", "--app", "billing")
        for verb, given, words in (
            (
                "checkpoint",
                {"step": "deploy", "note": SECRET, **REFERENCES},
                ["--step=deploy", f"--note={SECRET}", *LINKED],
            ),
            ("checkpoint", {}, []),
            ("checkpoint", {"step": "x" * 121}, [f"--step={'x' * 121}"]),
            ("checkpoint", {"plans": ["pln_00000000000000ff"]}, ["--plan=pln_00000000000000ff"]),
            ("show", {}, []),
            ("complete", {"result": "done"}, ["--result=done"]),
            ("complete", {"result": "again"}, ["--result=again"]),
            ("fail", {"reason": "too late"}, ["--reason=too late"]),
            ("show", {"no_resolve": True}, ["--no-resolve"]),
        ):
            by_tool = await called(client, f"phelix_session_{verb}", session_id=ours, **given)
            by_words = theirs("session", verb, shell, *words, "--json").envelope
            assert provenance_aside(by_tool) == provenance_aside(by_words), verb
        by_tool = await did_call(client, "phelix_session_list", status="completed")
        assert provenance_aside(by_tool) == provenance_aside(
            theirs("session", "list", "--status", "completed", "--json").result
        )
    stored = loads(path_of(data_dir, ours).read_bytes())
    assert provenance_aside(stored) == provenance_aside(loads(path_of(theirs.data_dir, shell).read_bytes()))
    assert phelix("session", "show", ours, "--json").result["status"] == "completed", "and each reads the other's"


async def test_work_that_did_not_succeed_is_told_as_failed_and_then_never_as_completed(
    phelix: Phelix, data_dir: Path, tmp_path: Path
) -> None:
    async with connected(data_dir, tmp_path) as client:
        session_id = (await did_call(client, "phelix_session_create"))["session_id"]
        failed = await did_call(client, "phelix_session_fail", session_id=session_id, reason="canary regressed")
        assert (failed["status"], failed["final_result"]) == ("failed", "canary regressed")
        answer = await called(client, "phelix_session_complete", session_id=session_id)
        assert answer["error"]["code"] == "SESSION_INVALID_TRANSITION"
    assert phelix("session", "show", session_id, "--json").result["events"][-1]["type"] == "failed"


async def test_the_two_provenances_never_merge_in_a_record_that_both_write(
    phelix: Phelix, data_dir: Path, tmp_path: Path
) -> None:
    of_the_shell = created(phelix)
    async with connected(data_dir, tmp_path) as client:
        of_mcp = (await did_call(client, "phelix_session_create"))["session_id"]
        for session_id in (of_the_shell, of_mcp):
            await did_call(client, "phelix_session_checkpoint", session_id=session_id, step="by a tool")
            assert phelix("session", "checkpoint", session_id, "--step", "by a command").code == 0
            await did_call(client, "phelix_session_complete", session_id=session_id)
    for session_id, actor in ((of_the_shell, "cli"), (of_mcp, "mcp")):
        record: Any = loads(path_of(data_dir, session_id).read_bytes())
        assert record["actor"] == {"type": actor, "id": None, "authenticated": False}
        assert [event["via"] for event in record["events"]] == [actor, "mcp", "cli", "mcp"]


async def test_no_argument_names_an_actor_and_no_byte_changes_when_one_tries(tmp_path: Path, data_dir: Path) -> None:
    async with connected(data_dir, tmp_path) as client:
        session_id = (await did_call(client, "phelix_session_create"))["session_id"]
        before = bytes_of(data_dir)
        for tool in (await client.list_tools()).tools:
            assert not set(FORGED) & set(tool.input_schema["properties"])
            target = {"session_id": session_id} if "session_id" in tool.input_schema["properties"] else {}
            for field in FORGED:
                answer = await called(client, tool.name, **target, **{field: "cli"})
                assert answer["error"]["details"]["fields"][field] == "unknown field"
        assert bytes_of(data_dir) == before


async def test_no_session_tool_executes_authorizes_or_touches_a_deployment_and_the_server_has_pipes_alone(
    data_dir: Path, tmp_path: Path
) -> None:
    planted(data_dir)
    before = beside_sessions(bytes_of(data_dir))
    async with watched(data_dir, tmp_path) as client:
        offered = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
        tools = {name: told for name, told in offered.items() if name.startswith("phelix_session_")}
        for verb in ("complete", "fail"):
            session_id = (await did_call(client, "phelix_session_create", title="t"))["session_id"]
            for tool, given in (("checkpoint", {"step": "s", **REFERENCES}), ("show", {}), (verb, REFERENCES)):
                await did_call(client, f"phelix_session_{tool}", session_id=session_id, **given)
            await did_call(client, "phelix_session_list")
    assert asked(tmp_path) == [], "no program was started, nothing was connected, bound or signalled"
    assert "change os.rename" in (tmp_path / "watch.log").read_text(), "the watch was there"
    assert beside_sessions(bytes_of(data_dir)) == before
    assert all(told is not None and told.destructive_hint is told.open_world_hint is False for told in tools.values())
    reading = {name.removeprefix("phelix_session_") for name, told in tools.items() if told and told.read_only_hint}
    assert reading == {"show", "list"}


async def test_an_agent_that_only_has_the_tools_can_tell_what_was_in_flight_and_where_it_got_to(
    phelix: Phelix, data_dir: Path, tmp_path: Path
) -> None:
    planted(data_dir)
    session_id = created(phelix, "--title", "ship billing v3", "--app", "billing")
    phelix("session", "checkpoint", session_id, "--step", "deploy", *LINKED)
    async with connected(data_dir, tmp_path) as client:
        [row] = (await did_call(client, "phelix_session_list", status="active", app="billing"))["sessions"]
        shown = await did_call(client, "phelix_session_show", session_id=row["session_id"])
    assert (row["session_id"], shown["checkpoint"]["step"], shown["plan_ids"]) == (session_id, "deploy", [PLAN])
    assert shown == phelix("session", "show", session_id, "--json").result
