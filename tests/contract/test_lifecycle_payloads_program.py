"""Payloads through the real program: streams, exit statuses, files, which queue is meant, and no byte changed."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from phelix_core.lifecycle.actions import ACTIONS
from phelix_core.lifecycle.inputs import camel
from phelix_core.lifecycle.performing import PAYLOAD_CAP
from tests.canaries import CANARIES, found_in
from tests.contract.lifecycle import LIFECYCLE, VERSION, Program
from tests.contract.payload_desk import BEGIN, REPORT
from tests.contract.payload_table import kept, payload_of, text_of
from tests.core.queue.desk import milestone
from tests.rig import AS_A_PLAIN_USER, FixedClock, bytes_of, did, environment

LOOK: dict[str, Any] = {"contractVersion": VERSION, "action": "get_context", "input": {}}


@pytest.fixture
def program(data_dir: Path, tmp_path: Path, clock: FixedClock) -> Program:
    """The program over a queue with one issue, which is ready."""
    env = environment(data_dir, clock)
    did(env, "queue init", name="lab")
    did(env, "queue campaign", project_name="Acme", campaign_name="first")
    did(env, "queue plan", batch=json.dumps({"milestones": [milestone("m", "a")]}))
    did(env, "queue promote")
    env.queue.close()
    return Program(data_dir, tmp_path)


def asking(action: str, /, **given: Any) -> dict[str, Any]:
    return {"contractVersion": VERSION, "action": action, "input": given}


def holding(action: str, lease: str, /, **given: Any) -> dict[str, Any]:
    return {**asking(action, **given), "context": {"leaseId": lease}}


REFUSALS: dict[str, tuple[Any, str]] = {
    "nothing": (b"", "INVALID_ARGUMENT"),
    "no JSON": (b"{'action'}", "INVALID_ARGUMENT"),
    "UTF-16": ("{}".encode("utf-16"), "INVALID_ARGUMENT"),
    "a deep one": (b"[" * 1_000_000, "INVALID_ARGUMENT"),
    "a list": ([LOOK], "INVALID_ARGUMENT"),
    "too much": (b" " * (PAYLOAD_CAP + 1), "INVALID_ARGUMENT"),
    "an older version": ({**LOOK, "contractVersion": "5.0.0"}, "INVALID_ARGUMENT"),
    "an unknown action": ({**LOOK, "action": "inspect_overview"}, "INVALID_ARGUMENT"),
    "an unknown member": (asking("get_context", zzz=1), "INVALID_ARGUMENT"),
    "no host": (asking("begin_incremental", **{**BEGIN, "host": None}), "INVALID_ARGUMENT"),
    "an old plan": (asking("plan_issues", milestoneDescription="d", issues=[]), "INVALID_ARGUMENT"),
    "no such project": (asking("inspect_health_snapshot", projectId="none"), "NOT_FOUND"),
    "no such issue": (asking("inspect_audit", issueId="none"), "NOT_FOUND"),
    "no such queue": (asking("get_context", dbPath="/nowhere/queue.db"), "NOT_FOUND"),
    "a lease that nobody holds": (holding("close", "L-none", taskStatus="done", **REPORT), "LEASE_LOST"),
    "another's issue": (asking("begin_incremental", **BEGIN, preferredIssueId="none"), "NOT_FOUND"),
    "nothing to recover": (asking("begin_recovery", **BEGIN, recoverySummary="s"), "NOTHING_READY"),
    "not blocked": (asking("retry", issueId="I", reason="r"), "NOT_FOUND"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_is_one_document_on_stderr_with_exit_1_and_no_byte_of_the_data_directory_changes(
    program: Program, name: str
) -> None:
    payload, code = REFUSALS[name]
    before = kept(program.data_dir)
    told = program(payload)
    assert told.error["code"] == code
    assert list(told.error)[:2] == ["error", "code"]
    assert told.err.endswith(b"\n}\n")
    assert b"Traceback" not in told.err
    assert kept(program.data_dir) == before


@pytest.mark.parametrize("name", ["get_context", "begin_incremental", "inspect_export", "memory_sync", "next_action"])
def test_where_there_is_no_queue_nothing_is_made_by_asking_for_what_could_be_in_it(tmp_path: Path, name: str) -> None:
    program = Program(tmp_path / "data", tmp_path)
    payload = payload_of(ACTIONS[name])
    left_out = {"dbPath", *(camel(second) for _, second in ACTIONS[name].either)}
    payload["input"] = {member: value for member, value in payload["input"].items() if member not in left_out}
    told = program(payload)
    if name == "next_action":  # it says which call would make one
        assert told.answer["result"]["action"] == "setup_required"
    else:
        assert told.error["code"] in {"NOT_FOUND", "INVALID_ARGUMENT"}
    assert bytes_of(tmp_path / "data") == {".": "absent"}


def test_a_success_is_one_document_on_stdout_with_exit_0_and_nothing_on_stderr(program: Program) -> None:
    told = program(LOOK)
    assert (told.code, told.err) == (0, b"")
    assert told.out.endswith(b"\n}\n")
    assert list(json.loads(told.out)) == ["action", "result"]
    assert list(program(asking("begin_incremental", **BEGIN)).answer) == ["action", "context"]


def test_a_refusal_tells_no_secret_wherever_it_stood(program: Program) -> None:
    for number, place in enumerate(("key", "value", "text", "path", "option", "file")):
        canary = CANARIES[number * 5]
        payloads: dict[str, tuple[Any, list[str]]] = {
            "key": ({**LOOK, canary.text: canary.text}, []),
            "value": (asking("inspect_audit", issueId=canary.text[:120]), []),
            "text": (canary.text.encode(), []),
            "path": (asking("get_context", dbPath=f"/nowhere/{canary.text.replace('/', '')}/q.db"), []),
            "option": (LOOK, [f"--{canary.text}"]),
            "file": (b"", ["--input", f"/nowhere/{canary.text}"]),
        }
        payload, argv = payloads[place]
        told = program(payload, *argv)
        assert told.code == 1, place
        assert found_in(told.out + told.err) == [], place


# From a file


def input_of(program: Program, path: Path | str) -> Any:
    """What is said of a file that cannot be a payload; standard input is not looked at."""
    told = program(LOOK, "--input", str(path))
    return told.error


def test_a_payload_is_read_from_a_file_or_from_standard_input_by_a_dash(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "payload.json"
    path.write_bytes(text_of(LOOK))
    by_file, by_dash = program(b"never read", "--input", str(path)), program(LOOK, "--input", "-")
    assert by_file.answer == by_dash.answer == program(LOOK).answer


@pytest.mark.parametrize("make", ["missing", "folder", "fifo", "device", "no name", "a file's child", "a loop"])
def test_an_input_that_is_no_file_is_refused_at_once_and_nothing_is_waited_for(
    program: Program, tmp_path: Path, make: str
) -> None:
    path = tmp_path / "input"
    (tmp_path / "file").touch()
    makes: dict[str, Callable[[], object]] = {
        "missing": lambda: None,
        "folder": path.mkdir,
        "fifo": lambda: os.mkfifo(path),
        "device": lambda: path.symlink_to("/dev/zero"),
        "no name": lambda: None,
        "a file's child": lambda: path.symlink_to(tmp_path / "file" / "child"),
        "a loop": lambda: path.symlink_to(path),
    }
    makes[make]()
    before = kept(program.data_dir)
    error = input_of(program, "" if make == "no name" else path)
    assert error["code"] == "INVALID_ARGUMENT"
    assert error["error"].startswith("input: ")
    assert kept(program.data_dir) == before


def test_an_input_that_may_not_be_read_is_refused(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "payload.json"
    path.write_bytes(text_of(LOOK))
    path.chmod(0)
    argv = [sys.executable, "-c", AS_A_PLAIN_USER, str(LIFECYCLE), "--input", str(path)]
    ran = subprocess.run(argv, capture_output=True, env=program.environ, timeout=60, check=False)
    assert (ran.returncode, ran.stdout) == (1, b"")
    assert json.loads(ran.stderr)["error"] == "input: the file cannot be read: Permission denied."


@pytest.mark.parametrize(
    "argv", [["--zzz"], ["close"], ["--input"], ["--queue"], ["--input=a", "b"], ["--data-di", "x"]]
)
def test_words_that_are_no_options_are_refused_as_json_too(program: Program, argv: list[str]) -> None:
    error = program(LOOK, *argv).error
    assert error["code"] == "INVALID_ARGUMENT"
    assert "--help" in error["hint"]


# Streams that are closed, full or left


def shell(program: Program, redirections: str, payload: Any, *argv: str) -> "subprocess.CompletedProcess[bytes]":
    """The program behind a shell that closes streams, with a payload in a file."""
    path = program.data_dir.parent / "payload.json"
    path.write_bytes(text_of(payload))
    words = ["sh", "-c", f'exec "$0" "$@" {redirections}', str(LIFECYCLE), *(argv or ("--input", str(path)))]
    return subprocess.run(words, capture_output=True, env=program.environ, timeout=60, check=False)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-", "2>/dev/full"])
@pytest.mark.parametrize("name", ["a success", "a refusal"])
def test_closed_streams_change_neither_the_exit_status_nor_what_is_said_on_the_others(
    program: Program, closed: str, name: str
) -> None:
    payload, code = (LOOK, 0) if name == "a success" else (asking("inspect_audit", issueId="none"), 1)
    whole, ran = shell(program, "", payload), shell(program, closed, payload)
    assert (whole.returncode, ran.returncode) == (code, code)
    assert ran.stdout == (b"" if " >&-" in f" {closed}" else whole.stdout)
    assert ran.stderr == (b"" if "2>" in closed else whole.stderr)


def test_a_write_with_every_stream_closed_is_stored_as_it_is_with_all_of_them(program: Program) -> None:
    ran = shell(program, "<&- >&- 2>&-", asking("begin_incremental", **BEGIN))
    assert ran.returncode == 0
    assert program.do("inspect_health_snapshot", projectId="Acme")["result"]["leases"]["activeCount"] == 1
    (record,) = (program.data_dir / "sessions").glob("*.json")
    assert json.loads(record.read_bytes())["status"] == "active"


def test_no_standard_input_is_an_empty_payload(program: Program) -> None:
    ran = shell(program, "<&-", LOOK, "--data-dir", str(program.data_dir))
    assert (ran.returncode, ran.stdout) == (1, b"")
    assert json.loads(ran.stderr)["code"] == "INVALID_ARGUMENT"


def test_an_answer_that_cannot_be_written_is_a_coded_failure(program: Program) -> None:
    ran = shell(program, ">/dev/full", LOOK)
    assert ran.returncode == 1
    told = json.loads(ran.stderr)
    assert told["code"] == "FILESYSTEM_ERROR"
    assert told["error"] == "The answer could not be written: No space left on device."


@pytest.mark.parametrize("name", ["a success", "a refusal"])
def test_a_reader_that_has_gone_is_met_with_silence(program: Program, name: str) -> None:
    payload = LOOK if name == "a success" else asking("inspect_audit", issueId="none")
    reading, writing = os.pipe()
    os.close(reading)
    end, other = ("stdout", "stderr") if name == "a success" else ("stderr", "stdout")
    streams: dict[str, Any] = {end: writing, other: subprocess.PIPE}
    ran = subprocess.run(
        [str(LIFECYCLE)], input=text_of(payload), env=program.environ, timeout=60, check=False, **streams
    )
    os.close(writing)
    assert ran.returncode == 1
    assert getattr(ran, other) == b""


# Which queue is meant


@pytest.fixture
def queues(tmp_path: Path, clock: FixedClock) -> dict[str, str]:
    """Five queues, each with a workspace of its own name."""
    made: dict[str, str] = {}
    for name in ("payload", "option", "ours", "theirs", "data"):
        env = environment(tmp_path / f"at {name}", clock)
        did(env, "queue init", name=name)
        env.queue.close()
        made[name] = str(tmp_path / f"at {name}" / "queue.db")
    return made


def test_the_payloads_queue_goes_before_the_option_ours_the_lifecycles_and_the_data_directorys(
    tmp_path: Path, queues: dict[str, str]
) -> None:
    program = Program(tmp_path / "at data", tmp_path)
    before = {name: kept(Path(path).parent) for name, path in queues.items()}
    env = {"PHELIX_QUEUE": queues["ours"], "HARNESS_DB_PATH": queues["theirs"]}

    def meant(payload: Any, *argv: str, **env: str) -> str:
        (workspace,) = program(payload, *argv, env=env).answer["result"]["workspaces"]
        return workspace["name"]

    option = ("--queue", queues["option"])
    assert meant(asking("get_context", dbPath=queues["payload"]), *option, **env) == "payload"
    assert meant(LOOK, *option, **env) == "option"
    assert meant(LOOK, **env) == "ours"
    assert meant(LOOK, HARNESS_DB_PATH=queues["theirs"]) == "theirs"
    assert meant(LOOK) == "data"
    assert meant(LOOK, "--data-dir", str(tmp_path / "at payload")) == "payload"
    assert {name: kept(Path(path).parent) for name, path in queues.items()} == before


def test_what_is_done_under_a_lease_is_done_in_the_queue_that_its_context_names(
    program: Program, queues: dict[str, str]
) -> None:
    context = program.do("begin_incremental", **BEGIN)["context"]
    assert context["dbPath"] == str(program.data_dir / "queue.db")
    elsewhere = {"PHELIX_QUEUE": queues["ours"]}
    payload = {**asking("checkpoint", taskStatus="in_progress", **REPORT), "context": context}
    assert program(payload, "--queue", queues["option"], env=elsewhere).answer["result"]["checkpoint"]
    without = {name: value for name, value in context.items() if name != "dbPath"}
    assert program({**payload, "context": without}, env=elsewhere).error["code"] == "LEASE_LOST"
    assert program({**payload, "context": {**context, "dbPath": queues["payload"]}}).error["code"] == "LEASE_LOST"


@pytest.mark.parametrize("path", ["", " ", "a\0b", "x" * 4_097])
def test_a_queue_that_cannot_be_a_path_is_refused_with_its_place(program: Program, path: str) -> None:
    (told,) = program(asking("get_context", dbPath=path)).error["issues"]
    assert told["path"] == ["input", "dbPath"]


def test_a_queue_that_is_another_programs_file_is_left_alone(program: Program, tmp_path: Path) -> None:
    for name, data in (("text", b"a letter to a friend\n" * 100), ("empty", b"")):
        path = tmp_path / name
        path.write_bytes(data)
        for action in ("get_context", "promote_queue"):
            given = {"projectId": "Acme"} if action == "promote_queue" else {}
            error = program(asking(action, dbPath=str(path), **given)).error
            assert error["code"] in {"QUEUE_CORRUPT", "QUEUE_INCOMPATIBLE", "NOT_FOUND"}
        assert path.read_bytes() == data
    assert sorted(tmp_path.glob("text-*")) + sorted(tmp_path.glob("empty-*")) == []
