"""The guide's account of what a session is, of its lifecycle and of its schema, through the real command line."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from phelix_core.strictjson import loads
from tests.canaries import CANARIES, IDS, Canary, found_in, found_under
from tests.contract.guide_stage import (
    CLOSERS,
    DEPLOYMENT,
    LINKED,
    MUTATIONS,
    OPERATION,
    PLAN,
    asked,
    beside_sessions,
    created,
    path_of,
    planted,
    watching,
)
from tests.rig import Phelix, Ran, bytes_of
from tests.surfaces.test_upstream_checklist import write_operation

KEYS = [
    "schema_version", "session_id", "status", "title", "project", "app", "actor", "rev", "created_at_ms",
    "updated_at_ms", "plan_ids", "operation_ids", "deployment_ids", "checkpoint", "final_result", "events",
]  # fmt: skip
CAPS = [
    ("create", "title", 200), ("create", "project", 200), ("create", "app", 128), ("checkpoint", "step", 120),
    ("checkpoint", "note", 500), ("complete", "result", 2_000), ("fail", "reason", 2_000), ("cancel", "reason", 2_000),
]  # fmt: skip


def stored(data_dir: Path, session_id: str) -> Any:
    return loads(path_of(data_dir, session_id).read_bytes())


def worked(phelix: Phelix, close: str | None = None) -> str:
    """The id of a session that went through the whole arc."""
    session_id = created(phelix, "--title", "ship billing v3", "--project", "northwind", "--app", "billing")
    for words in (
        ["--step", "inspect"],
        ["--step", "plan", "--plan", PLAN],
        ["--step", "deploy", "--note", "canary at 10%", "--operation", OPERATION, "--deployment", DEPLOYMENT],
        ["--step", "verify"],
    ):
        assert phelix("session", "checkpoint", session_id, *words).code == 0
    if close:
        option = "--result" if close == "complete" else "--reason"
        assert phelix("session", close, session_id, option, "shipped v3 to 100%").code == 0
    return session_id


# What a session is


def test_one_record_carries_a_unit_of_work_from_inspecting_to_its_completion(phelix: Phelix, data_dir: Path) -> None:
    planted(data_dir)
    record = stored(data_dir, worked(phelix, "complete"))
    assert [event["type"] for event in record["events"]] == ["created", *["checkpoint"] * 4, "completed"]
    assert [event["detail"] for event in record["events"]] == [
        "session created",
        "step=inspect",
        f"step=plan; linked {PLAN}",
        f"step=deploy; canary at 10%; linked {OPERATION}, {DEPLOYMENT}",
        "step=verify",
        "shipped v3 to 100%",
    ]
    assert (record["plan_ids"], record["operation_ids"], record["deployment_ids"]) == (
        [PLAN],
        [OPERATION],
        [DEPLOYMENT],
    )


def test_what_one_process_recorded_is_there_for_every_later_one_and_lives_in_no_process(
    phelix: Phelix, data_dir: Path, tmp_path: Path
) -> None:
    session_id = worked_without_references(phelix)
    path = path_of(data_dir, session_id)
    elsewhere = Phelix(tmp_path / "restored", tmp_path)
    path_of(elsewhere.data_dir, session_id).parent.mkdir(parents=True)
    path_of(elsewhere.data_dir, session_id).write_bytes(path.read_bytes())
    assert elsewhere("session", "show", session_id, "--json").result == (
        phelix("session", "show", session_id, "--json").result
    )


def worked_without_references(phelix: Phelix) -> str:
    session_id = created(phelix, "--title", "ship billing v3")
    assert phelix("session", "checkpoint", session_id, "--step", "deploy").code == 0
    return session_id


def test_every_change_is_an_event_that_says_what_when_in_which_order_and_through_what(
    phelix: Phelix, data_dir: Path
) -> None:
    planted(data_dir)
    record = stored(data_dir, worked(phelix, "fail"))
    assert [event["seq"] for event in record["events"]] == list(range(6))
    times = [event["at_ms"] for event in record["events"]]
    assert times == sorted(times)
    assert (times[0], times[-1]) == (record["created_at_ms"], record["updated_at_ms"])
    assert {event["via"] for event in record["events"]} == {"cli"}
    assert record["checkpoint"] == {"step": "verify", "at_ms": times[4], "seq": 4}


def test_no_session_command_starts_a_program_or_reaches_out_of_the_machine(
    phelix: Phelix, data_dir: Path, tmp_path: Path
) -> None:
    planted(data_dir)
    watched = watching(tmp_path)
    for verb in CLOSERS:
        session_id = phelix("session", "create", "--title", "t", "--json", env=watched).result["session_id"]
        for argv in (["checkpoint", session_id, "--step", "s", *LINKED], ["show", session_id], ["list"]):
            assert phelix("session", *argv, env=watched).code == 0
        assert phelix("session", verb, session_id, env=watched).code == 0
    assert phelix("session", "prune", "--keep", "0", "--older-than", "0s", env=watched).code == 0
    assert asked(tmp_path) == []


def test_the_watch_sees_whoever_starts_a_program_connects_or_signals(phelix: Phelix, tmp_path: Path) -> None:
    """The control: the same watch in a process that does what no session command may."""
    code = "import os, socket, subprocess; subprocess.run(['true']); os.kill(os.getpid(), 0); socket.socket().bind(('127.0.0.1', 0))"  # noqa: E501 - a program
    subprocess.run([sys.executable, "-c", code], env={**phelix.environ, **watching(tmp_path)}, check=True)
    assert {line.split()[0] for line in asked(tmp_path)} >= {"subprocess.Popen", "os.kill", "socket.bind"}


def test_a_session_knows_ids_of_plans_operations_and_deployments_and_never_their_state(
    phelix: Phelix, data_dir: Path
) -> None:
    planted(data_dir)
    session_id = worked(phelix)
    before = path_of(data_dir, session_id).read_bytes()
    for copied in (b"sha256", b"plan_hash", b"succeeded"):
        assert copied not in before

    def told() -> str:
        status: str = phelix("session", "show", session_id, "--json").result["resolved"]["operations"][0]["status"]
        return status

    assert told() == "succeeded"
    write_operation(data_dir, OPERATION, status="failed")
    assert told() == "failed", "the operation's own record is the only source"
    assert path_of(data_dir, session_id).read_bytes() == before


@pytest.mark.parametrize("verb", CLOSERS)
def test_closing_ends_the_tracking_and_touches_no_process_operation_deployment_plan_or_application(
    phelix: Phelix, data_dir: Path, verb: str
) -> None:
    planted(data_dir)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, start_new_session=True) as running:
        write_operation(data_dir, OPERATION, status="running", pid=running.pid, deployment_id=DEPLOYMENT)
        session_id = created(phelix, "--app", "billing")
        phelix("session", "checkpoint", session_id, *LINKED)
        before = beside_sessions(bytes_of(data_dir))
        assert phelix("session", verb, session_id, "--json").result["status"] == CLOSERS[verb]
        assert beside_sessions(bytes_of(data_dir)) == before
        assert {name.split("/")[0] for name in before} >= {"plans", "ops", "apps", "authz"}
        assert running.poll() is None, "the operation's process runs on"
        resolved = phelix("session", "show", session_id, "--json").result["resolved"]
        assert resolved["operations"][0]["status"] == resolved["deployments"][0]["status"] == "running"


# Lifecycle


def test_create_makes_an_active_session_and_a_checkpoint_keeps_it_active(phelix: Phelix) -> None:
    session = phelix("session", "create", "--json").result
    assert (session["status"], session["rev"]) == ("active", 1)
    for words in (["--step", "s"], ["--note", "n"], ["--deployment", "dep-1"]):
        assert phelix("session", "checkpoint", session["session_id"], *words, "--json").result["status"] == "active"


@pytest.mark.parametrize(("verb", "status"), CLOSERS.items())
def test_each_closing_verb_leads_to_its_own_end_and_from_there_no_verb_leads_on(
    phelix: Phelix, data_dir: Path, verb: str, status: str
) -> None:
    session_id = created(phelix)
    assert phelix("session", verb, session_id, "--json").result["status"] == status
    before = bytes_of(data_dir)
    for again, words in MUTATIONS.items():
        for guard in ([], ["--if-rev", "2"]):
            answer = phelix("session", again, session_id, *words, *guard, "--json")
            assert (answer.code, answer.error["code"]) == (3, "SESSION_INVALID_TRANSITION")
            assert answer.error["retryable"] is False
    assert bytes_of(data_dir) == before
    assert phelix("session", "list", "--status", status, "--json").result["count"] == 1


def test_completed_is_what_the_agent_reports_and_a_failed_operation_forces_nothing(
    phelix: Phelix, data_dir: Path
) -> None:
    planted(data_dir)
    session_id = created(phelix)
    phelix("session", "checkpoint", session_id, *LINKED)
    write_operation(data_dir, OPERATION, status="failed", deployment_id=DEPLOYMENT)
    assert phelix("session", "show", session_id, "--json").result["status"] == "active"
    closed = phelix("session", "complete", session_id, "--result", "shipped", "--operation", OPERATION, "--json")
    assert (closed.result["status"], closed.result["final_result"]) == ("completed", "shipped")
    shown = phelix("session", "show", session_id, "--json").result
    assert (shown["status"], shown["resolved"]["operations"][0]["status"]) == ("completed", "failed"), "both are told"


# Schema


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_a_session_is_one_file_of_its_id_that_only_its_owner_may_read_whatever_the_umask(
    phelix: Phelix, data_dir: Path, umask: int
) -> None:
    session_id = phelix("session", "create", "--json", umask=umask).result["session_id"]
    assert phelix("session", "checkpoint", session_id, "--step", "s", umask=umask).code == 0
    path = path_of(data_dir, session_id)
    assert [file for file in data_dir.rglob("ses_*") if file.suffix != ".lock"] == [path]
    assert path.stat().st_mode & 0o7777 == 0o600
    assert path.parent.stat().st_mode & 0o7777 == 0o700


def test_the_same_state_is_the_same_bytes_but_for_ids_and_times(phelix: Phelix, data_dir: Path, tmp_path: Path) -> None:
    written: list[bytes] = []
    for here in (phelix, Phelix(tmp_path / "again", tmp_path)):
        planted(here.data_dir)
        data = path_of(here.data_dir, worked(here, "complete")).read_bytes()
        assert data == json.dumps(json.loads(data), indent=2, ensure_ascii=False).encode(), "one form, no more, no less"
        written.append(re.sub(rb'ses_[0-9a-f]{16}|(?<=_ms": )\d+', b"*", data))
    assert written[0] == written[1]
    assert data_dir.exists()


def test_a_record_has_the_fields_of_the_guide_with_their_types_in_their_order(phelix: Phelix, data_dir: Path) -> None:
    planted(data_dir)
    record = stored(data_dir, worked(phelix, "complete"))
    assert list(record) == KEYS
    texts = ("schema_version", "session_id", "status", "title", "project", "app", "final_result")
    assert all(isinstance(record[name], str) for name in texts)
    assert all(type(record[name]) is int for name in ("rev", "created_at_ms", "updated_at_ms"))
    assert record["schema_version"] == "1"
    assert record["actor"] == {"type": "cli", "id": None, "authenticated": False}
    assert list(record["checkpoint"]) == ["step", "at_ms", "seq"]
    assert [list(event) for event in record["events"]] == [["seq", "type", "at_ms", "detail", "via"]] * 6
    assert record["events"][0] == {
        "seq": 0,
        "type": "created",
        "at_ms": record["created_at_ms"],
        "detail": "session created",
        "via": "cli",
    }
    assert list(stored(data_dir, created(phelix))) == [name for name in KEYS if name in {
        "schema_version", "session_id", "status", "actor", "rev", "created_at_ms", "updated_at_ms", "events",
    }], "what is empty is left out"  # fmt: skip


def test_a_record_as_the_guides_tool_writes_it_opens_and_goes_on(phelix: Phelix, data_dir: Path) -> None:
    session_id = created(phelix, "--title", "theirs")
    record = stored(data_dir, session_id)
    del record["events"][0]["via"]
    path_of(data_dir, session_id).write_text(json.dumps(record, indent=2))
    after = phelix("session", "checkpoint", session_id, "--step", "s", "--json").result
    assert [event.get("via") for event in after["events"]] == [None, "cli"]


def test_an_id_is_minted_at_creation_and_nobody_can_choose_it(phelix: Phelix) -> None:
    ids = {created(phelix, "--title", "the same") for _ in range(4)}
    assert len(ids) == 4
    assert all(re.fullmatch("ses_[0-9a-f]{16}", session_id) for session_id in ids)
    for option in ("--session-id", "--id"):
        answer = phelix("session", "create", option, "ses_1a2b3c4d5e6f7081", "--json")
        assert (answer.code, answer.error["code"]) == (2, "INVALID_ARGUMENT")


def test_a_revision_rises_by_one_with_every_change_and_with_nothing_else_and_events_are_only_added(
    phelix: Phelix, data_dir: Path
) -> None:
    session_id = created(phelix)
    before = stored(data_dir, session_id)
    for changes, words in (
        (True, ["checkpoint", session_id, "--step", "a"]),
        (False, ["checkpoint", session_id]),
        (False, ["checkpoint", session_id, "--plan", "pln_00000000000000ff"]),
        (False, ["checkpoint", session_id, "--step", "b", "--if-rev", "9"]),
        (False, ["checkpoint", session_id, "--step", "b", "--dry-run"]),
        (False, ["show", session_id]),
        (True, ["checkpoint", session_id, "--step", "a"]),
        (True, ["fail", session_id]),
        (False, ["fail", session_id]),
    ):
        phelix("session", *words)
        after = stored(data_dir, session_id)
        assert after["rev"] == len(after["events"]) == before["rev"] + changes, words
        assert after["events"][: before["rev"]] == before["events"], "history is never rewritten"
        before = after


def test_the_history_is_ordered_and_counted_and_not_signed(phelix: Phelix, data_dir: Path) -> None:
    session_id = worked_without_references(phelix)
    record = stored(data_dir, session_id)
    assert [event["seq"] for event in record["events"]] == [0, 1]
    record["events"][1]["detail"] = "forged"
    path_of(data_dir, session_id).write_text(json.dumps(record, indent=2))
    assert phelix("session", "show", session_id, "--json").result["events"][1]["detail"] == "forged"
    del record["events"][1]
    path_of(data_dir, session_id).write_text(json.dumps(record, indent=2))
    assert phelix("session", "show", session_id, "--json").error["code"] == "SESSION_INVALID"


@pytest.mark.parametrize("capped", CAPS, ids=lambda capped: f"{capped[0]}-{capped[1]}")
def test_text_up_to_its_cap_is_stored_whole_and_a_byte_more_is_refused_and_never_cut(
    phelix: Phelix, data_dir: Path, capped: tuple[str, str, int]
) -> None:
    verb, field, cap = capped
    target = [] if verb == "create" else [created(phelix)]
    before = bytes_of(data_dir) if target else {".": "absent"}
    exact = "é" * (cap // 2)
    for over in (f"{exact}x", "x" * (cap + 1), "é" * cap):
        answer = phelix("session", verb, *target, f"--{field}", over, "--json")
        assert (answer.code, answer.error["code"]) == (2, "INVALID_ARGUMENT")
        assert field in answer.error["details"]["fields"]
    assert bytes_of(data_dir) == before
    result = phelix("session", verb, *target, f"--{field}", exact, "--json").result
    assert exact in {result.get(field), result.get("checkpoint", {}).get(field), result.get("final_result")}


@pytest.mark.parametrize("canary", CANARIES[::4], ids=IDS[::4])
def test_free_text_is_stored_and_told_without_the_secret_in_it(
    phelix: Phelix, data_dir: Path, tmp_path: Path, canary: Canary
) -> None:
    text = f"it was {canary.text} until now"[:500]
    ran: list[Ran] = []
    short = canary.text[:100]
    ran.append(phelix("session", "create", f"--title={short}", f"--project={short}", f"--app={short}", "--json"))
    session_id = ran[0].result["session_id"]
    ran.append(phelix("session", "checkpoint", session_id, f"--step={short}", f"--note={text}", "--json"))
    ran.append(phelix("session", "fail", session_id, f"--reason={text}", "--json"))
    assert [answer.code for answer in ran] == [0, 0, 0]
    assert found_under(tmp_path) == {}
    assert found_in(b"".join(answer.out for answer in ran)) == []
    assert found_in("".join(answer.err for answer in ran)) == []
    assert "[REDACTED:" in stored(data_dir, session_id)["final_result"]
