"""The guide's recovery: whoever comes after an agent that was killed, at whatever point, recovers by reading alone."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

from phelix_core.strictjson import dumps, loads
from tests.contract import guide_agent
from tests.contract.guide_agent import (
    LONG,
    OPERATIONS,
    SHORT,
    Call,
    Instructions,
    Stories,
    calls_done,
    read,
    told_by,
    work,
)
from tests.contract.guide_stage import (
    LINKED,
    OPERATION,
    PATIENCE_S,
    PLAN,
    asked,
    created,
    meeting,
    path_of,
    planted,
    readable,
    watching,
)
from tests.mcp.host import environ_of, serve_argv
from tests.mcp.test_session_tools import connected, did_call
from tests.rig import PHELIX, Phelix, bytes_of
from tests.surfaces.test_upstream_checklist import write_operation, write_plan

SEEDS = int(os.environ.get("PHELIX_RECOVERY_SEEDS", "3"))
"""Agents killed between calls; twice as many amid one."""
MOST_CHANGES = 12
"""More than any one call makes; whoever is to wait before a later one waits at its end, when it has answered."""


# Agents, the one that dies and those that come after


def agent(phelix: Phelix, told: Instructions, scratch: Path) -> "subprocess.Popen[bytes]":
    """An agent at work, in a process group of its own together with every call that it makes."""
    return subprocess.Popen(
        [sys.executable, guide_agent.__file__, str(PHELIX), told.json()],
        stdout=subprocess.PIPE,
        env={**phelix.environ, **watching(scratch)},
        start_new_session=True,
    )


def killed_amid_a_call(phelix: Phelix, calls: list[Call], scratch: Path, *, call: int, change: int) -> tuple[int, str]:
    """Kill an agent and its call before that change of a file; answers how many were acknowledged, and before what."""
    with meeting(scratch) as place:
        told = Instructions(calls, pause_in=call, pause=place.before(change))
        with agent(phelix, told, scratch) as running:
            assert running.stdout
            readable(place.end)
            _, what = place.heard()
            os.killpg(running.pid, signal.SIGKILL)
            acknowledged = running.stdout.read().count(b"told ")
            assert running.wait(PATIENCE_S) == -signal.SIGKILL
    assert acknowledged == call
    return acknowledged, what


def killed_after_it_said(phelix: Phelix, calls: list[Call], scratch: Path, *, call: int) -> int:
    """Kill an agent and whatever call it is in as soon as it says that one is done; answers how many were."""
    with agent(phelix, Instructions(calls), scratch) as running:
        assert running.stdout
        said = b""
        while f"told {call}\n".encode() not in said:
            readable(running.stdout.fileno())
            said += os.read(running.stdout.fileno(), 4096)
        os.killpg(running.pid, signal.SIGKILL)
        said += running.stdout.read()
    return said.count(b"told ")


def recovered(phelix: Phelix) -> tuple[Stories, dict[str, str]]:
    """What a fresh agent learns with `session list` and `session show` alone, and the ids that it learns."""
    before = bytes_of(phelix.data_dir / "sessions")
    listed = phelix("session", "list", "--json").result
    assert listed["unreadable"] == []
    assert listed["truncated"] is False
    ids = {row["title"]: row["session_id"] for row in listed["sessions"]}
    stories = read(phelix("session", "show", session_id, "--json").result for session_id in ids.values())
    active = phelix("session", "list", "--status", "active", "--json").result["sessions"]
    assert {row["title"] for row in active} == {title for title, story in stories.items() if story.status == "active"}
    for row in active:
        story = stories[row["title"]]
        assert row["references"] == {kind: len(getattr(story, kind)) for kind in row["references"]}
        assert row.get("checkpoint", {}).get("step") == story.step
    assert bytes_of(phelix.data_dir / "sessions") == before, "recovering is reading"
    return stories, ids


def goes_on(phelix: Phelix, calls: list[Call], acknowledged: int, scratch: Path) -> int:
    """A fresh agent recovers, and takes the work to its end; answers how many calls it found done."""
    found, ids = recovered(phelix)
    done = calls_done(calls, acknowledged, found)
    with agent(phelix, Instructions(calls[done:], ids), scratch) as running:
        assert running.wait(PATIENCE_S) == 0
    assert recovered(phelix)[0] == [*told_by(calls)][-1]
    return done


@pytest.mark.parametrize("seed", range(2 * SEEDS))
def test_an_agent_killed_amid_a_call_left_what_was_acknowledged_or_that_call_as_well(
    phelix: Phelix, data_dir: Path, tmp_path: Path, seed: int
) -> None:
    planted(data_dir)
    calls, random = work(seed), Random(f"kill {seed}")
    call, change = random.randrange(len(calls)), random.randrange(8)
    acknowledged, what = killed_amid_a_call(phelix, calls, tmp_path, call=call, change=change)
    done = goes_on(phelix, calls, acknowledged, tmp_path)
    assert done == acknowledged + 1 or what != "end", "whoever has answered has stored"


@pytest.mark.parametrize("seed", range(SEEDS))
def test_an_agent_killed_whenever_it_has_said_something_left_no_less_than_it_said(
    phelix: Phelix, data_dir: Path, tmp_path: Path, seed: int
) -> None:
    planted(data_dir)
    calls = work(100 + seed)
    acknowledged = killed_after_it_said(phelix, calls, tmp_path, call=seed)
    assert acknowledged >= seed + 1
    goes_on(phelix, calls, acknowledged, tmp_path)


@pytest.mark.parametrize(
    "last",
    [
        Call("create", SHORT),
        Call("checkpoint", LONG, {"step": "s", "plans": [PLAN]}),
        Call("complete", LONG, {"result": "done"}),
    ],
    ids=lambda call: call.verb,
)
def test_before_each_change_of_a_file_a_call_may_be_killed_and_from_one_of_them_on_it_is_done(
    data_dir: Path, tmp_path: Path, last: Call
) -> None:
    calls = [Call("create", LONG), last]
    found: list[tuple[str, int]] = []
    for change in range(MOST_CHANGES + 1):
        scratch = tmp_path / str(change)
        scratch.mkdir()
        here = Phelix(data_dir / str(change), scratch)
        planted(here.data_dir)
        acknowledged, what = killed_amid_a_call(here, calls, scratch, call=1, change=change)
        found.append((what, calls_done(calls, acknowledged, recovered(here)[0])))
        if what == "end":
            break
    done = [number for _, number in found]
    assert done == sorted(done)
    assert (done[0], found[-1]) == (1, ("end", 2)), found
    assert len(found) > 4


def test_the_judge_refuses_a_record_that_is_not_what_was_acknowledged(
    phelix: Phelix, data_dir: Path, tmp_path: Path
) -> None:
    """The control: what was lost, turned back, added or torn is found by the same reading."""
    planted(data_dir)
    calls = work(1)
    at: dict[int, bytes] = {}
    ids: dict[str, str] = {}
    for number, call in enumerate(calls):
        answer = phelix(*call.argv(ids)).result
        ids[answer["title"]] = answer["session_id"]
        at[number] = path_of(data_dir, ids[LONG]).read_bytes()
    path, whole = path_of(data_dir, ids[LONG]), at[len(calls) - 1]
    assert calls_done(calls, len(calls), recovered(phelix)[0]) == len(calls)
    assert goes_on(phelix, calls, len(calls) - 1, tmp_path) == len(calls)

    def changed(change: Callable[[Any], object]) -> bytes:
        record: Any = loads(whole)
        change(record)
        return dumps(record).encode()

    assert not is_refused(phelix, calls)
    tampered = {
        "turned back": at[2],
        "torn": whole[: len(whole) // 2],
        "active again": changed(lambda record: record.update(status="active")),
        "another result": changed(lambda record: record.update(final_result="better")),
        "another step": changed(lambda record: record["checkpoint"].update(step="elsewhere")),
        "a reference less": changed(lambda record: record["deployment_ids"].pop()),
        "an event less": changed(lambda record: record["events"].pop()),
        "an event of another kind": changed(lambda record: record["events"][1].update(type="failed")),
    }
    for data in tampered.values():
        path.write_bytes(data)
        assert is_refused(phelix, calls)
    path.unlink()
    assert is_refused(phelix, calls)


def is_refused(phelix: Phelix, calls: list[Call]) -> bool:
    """Whether the records are not taken for what all of the calls made."""
    try:
        calls_done(calls, len(calls), recovered(phelix)[0])
    except AssertionError:
        return True
    return False


# The same through MCP


async def killed_server(data_dir: Path, calls: list[Call], scratch: Path, *, change: int) -> int:
    """Make each call until the server dies before that change of a file; answers how many were acknowledged."""
    ids: dict[str, str] = {}
    acknowledged = 0
    with meeting(scratch) as place, (scratch / "stderr.txt").open("w") as stderr:
        command, *args = serve_argv(data_dir)
        env = {**environ_of(scratch), **watching(scratch), "PHELIX_WATCH_PAUSE": place.before(change)}
        server = stdio_client(StdioServerParameters(command=command, args=args, env=env), errlog=stderr)

        async def kill() -> None:
            with anyio.fail_after(PATIENCE_S):
                await anyio.wait_readable(place.end)
            pid, what = place.heard()
            assert what != "end"
            os.kill(pid, signal.SIGKILL)

        async with Client(server) as client, anyio.create_task_group() as tasks:
            tasks.start_soon(kill)
            for call in calls:
                try:
                    answer = await did_call(client, f"phelix_session_{call.verb}", **call.arguments(ids))
                except MCPError:
                    return acknowledged
                ids[answer["title"]] = answer["session_id"]
                acknowledged += 1
    raise AssertionError("nobody killed the server")


async def recovered_over_mcp(client: Client) -> tuple[Stories, dict[str, str]]:
    """What a fresh agent learns with the two tools that read, and the ids that it learns."""
    listed = await did_call(client, "phelix_session_list")
    assert (listed["unreadable"], listed["truncated"]) == ([], False)
    ids = {row["title"]: row["session_id"] for row in listed["sessions"]}
    shown = [await did_call(client, "phelix_session_show", session_id=session_id) for session_id in ids.values()]
    return read(shown), ids


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_a_fresh_server_answers_with_what_a_killed_one_acknowledged_or_the_call_it_died_in_as_well(
    phelix: Phelix, data_dir: Path, tmp_path: Path, seed: int
) -> None:
    planted(data_dir)
    calls = work(200 + seed)
    acknowledged = await killed_server(data_dir, calls, tmp_path, change=Random(f"server {seed}").randrange(32))
    async with connected(data_dir, tmp_path) as client:
        before = bytes_of(data_dir / "sessions")
        found, ids = await recovered_over_mcp(client)
        assert bytes_of(data_dir / "sessions") == before, "recovering is reading"
        assert found == recovered(phelix)[0], "the command line reads the same"
        done = calls_done(calls, acknowledged, found)
        for call in calls[done:]:
            answer = await did_call(client, f"phelix_session_{call.verb}", **call.arguments(ids))
            ids[answer["title"]] = answer["session_id"]
        assert (await recovered_over_mcp(client))[0] == [*told_by(calls)][-1]


# The four steps


def test_list_and_show_tell_status_checkpoint_and_references_to_a_process_that_knows_nothing(
    phelix: Phelix, data_dir: Path
) -> None:
    planted(data_dir)
    closed = created(phelix, "--title", "done long ago")
    phelix("session", "complete", closed)
    session_id = created(phelix, "--title", "ship billing v3", "--app", "billing")
    phelix("session", "checkpoint", session_id, "--step", "deploy", "--note", "canary at 10%", *LINKED)
    [row] = phelix("session", "list", "--status", "active", "--json").result["sessions"]
    assert (row["session_id"], row["title"], row["checkpoint"]["step"]) == (session_id, "ship billing v3", "deploy")
    assert row["references"] == {"plans": 1, "operations": 1, "deployments": 1}
    shown = phelix("session", "show", session_id, "--json").result
    assert (shown["status"], shown["checkpoint"]["note"]) == ("active", "canary at 10%")
    assert {kind: [one["id"] for one in shown["resolved"][kind]] for kind in shown["resolved"]} == {
        "plans": shown["plan_ids"],
        "operations": shown["operation_ids"],
        "deployments": shown["deployment_ids"],
    }


def test_a_plan_that_changed_or_went_since_it_was_linked_is_told_at_the_next_reading(
    phelix: Phelix, data_dir: Path
) -> None:
    planted(data_dir)
    session_id = created(phelix)
    phelix("session", "checkpoint", session_id, "--plan", PLAN)
    before = path_of(data_dir, session_id).read_bytes()

    def state() -> tuple[str, str | None]:
        [plan] = phelix("session", "show", session_id, "--json").result["resolved"]["plans"]
        return plan["state"], plan.get("error_code")

    assert state() == ("present", None)
    path = write_plan(data_dir, PLAN, target={"app_name": "other"})
    assert state() == ("unavailable", "PLAN_HASH_MISMATCH")
    path.unlink()
    assert state() == ("missing", None)
    assert path_of(data_dir, session_id).read_bytes() == before


def test_an_operation_is_told_as_it_really_is_and_an_incomplete_one_never_as_failed(
    phelix: Phelix, data_dir: Path
) -> None:
    planted(data_dir)
    gone = subprocess.Popen(["true"])
    gone.wait()
    session_id = created(phelix)
    phelix("session", "checkpoint", session_id, "--operation", OPERATION)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as alive:
        for stored, pid, told in (
            ("succeeded", gone.pid, "succeeded"),
            ("failed", gone.pid, "failed"),
            ("running", alive.pid, "running"),
            ("running", gone.pid, "indeterminate"),
            ("running", 0, "indeterminate"),
            ("pending", gone.pid, "indeterminate"),
        ):
            path = write_operation(data_dir, OPERATION, status=stored, pid=pid)
            before = path.read_bytes()
            shown = phelix("session", "show", session_id, "--json").result
            assert shown["resolved"]["operations"][0]["status"] == told
            assert shown["status"] == "active"
            assert path.read_bytes() == before, "what is derived is not written back"


def test_no_reading_and_no_closing_takes_up_an_interrupted_operation(
    phelix: Phelix, data_dir: Path, tmp_path: Path
) -> None:
    planted(data_dir)
    for operation_id in OPERATIONS:
        write_operation(data_dir, operation_id, status="running", pid=0, plan_id=PLAN)
    arc = {name: data for name, data in bytes_of(data_dir).items() if name.startswith(("plans", "ops"))}
    watched = watching(tmp_path)
    session_id = phelix("session", "create", "--json", env=watched).result["session_id"]
    linked = [word for operation_id in OPERATIONS for word in ("--operation", operation_id)]
    for argv in (
        ["checkpoint", session_id, "--plan", PLAN, *linked],
        ["list"],
        ["show", session_id],
        ["complete", session_id, "--dry-run"],
        ["complete", session_id],
        ["show", session_id],
    ):
        assert phelix("session", *argv, "--json", env=watched).code == 0
    assert [event for event in asked(tmp_path) if not event.startswith("os.kill ")] == [], "no program, no connection"
    assert {name: data for name, data in bytes_of(data_dir).items() if name.startswith(("plans", "ops"))} == arc


def test_what_is_read_holds_what_was_recorded_and_no_advice_what_to_do_next(phelix: Phelix, data_dir: Path) -> None:
    planted(data_dir)
    session_id = created(phelix, "--title", "t", "--project", "p", "--app", "a")
    phelix("session", "checkpoint", session_id, "--step", "s", *LINKED)
    stored = json.loads(path_of(data_dir, session_id).read_bytes())
    shown = phelix("session", "show", session_id, "--json").result
    assert shown.keys() - set(stored) == {"resolved", "events_left"}
    [row] = phelix("session", "list", "--json").result["sessions"]
    assert row.keys() - set(stored) == {"references"}
