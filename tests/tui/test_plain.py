"""The account: how things stand, then each change, in lines that are safe; and how its process ends."""

import asyncio
import contextlib
import fcntl
import os
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from phelix_core.strictjson import dumps, loads
from phelix_tui.desk import Desk
from phelix_tui.messages import SnapshotFailed, SnapshotLoaded, SnapshotPatched
from phelix_tui.plain import Account, follow
from tests.rig import did
from tests.tui.hostile import ALL, hostile_record, write_hostile
from tests.tui.plans import planned
from tests.tui.pty_terminal import PtyTerminal, clean_environment
from tests.tui.queues import MINUTE, filled
from tests.tui.stage import Stage
from tests.tui.walks import agent_does

ROOT = Path(__file__).resolve().parents[2]
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]")


class Reader:
    """Whoever listens: every line so far, and waiting for one."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._came = asyncio.Event()

    def write(self, line: str) -> None:
        self.lines.append(line)
        self._came.set()

    async def until(self, true: Callable[[], object], what: str = "", timeout: float = 10.0) -> None:  # noqa: ASYNC109
        try:
            async with asyncio.timeout(timeout):
                while not true():
                    self._came.clear()
                    await self._came.wait()
        except TimeoutError:
            raise AssertionError(f"never said: {what}\n" + "\n".join(self.lines)) from None

    async def says(self, text: str) -> str:
        await self.until(lambda: any(text in line for line in self.lines), text)
        return next(line for line in self.lines if text in line)


@asynccontextmanager
async def told(stage: Stage) -> AsyncGenerator[Reader]:
    reader = Reader()
    task = asyncio.create_task(follow(stage.console, reader.write))
    try:
        await reader.until(lambda: reader.lines, "how things stand")
        yield reader
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def created(stage: Stage, title: str, **more: object) -> str:
    return agent_does(stage, "session create", title=title, **more).session_id


def linked_by_another_tool(file: Path) -> None:
    """One more event, and a reference."""
    record: Any = loads(file.read_bytes())
    event = {**record["events"][-1], "seq": record["rev"] + 1, "type": "linked"}
    record |= {"rev": event["seq"], "plan_ids": ["pln_00000000000000aa"], "events": [*record["events"], event]}
    new = file.with_suffix(".new")
    new.write_bytes(dumps(record).encode())
    new.rename(file)


async def test_it_begins_with_a_line_a_session_attention_first(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data")
    late = created(stage, "ship billing v3", app="billing")
    agent_does(stage, "session checkpoint", session_id=late, step="deploy")
    stage.clock.wall_ms += 90 * MINUTE
    fresh = created(stage, "rotate keys")
    async with told(stage) as reader:
        assert reader.lines == [
            f"13:30:00Z 2 sessions in {stage.data_dir} (1 stale, 1 active), no queue, 0 plans and operations",
            f"stale {late}, ship billing v3, app billing, step deploy, age 90m, last event 90m ago",
            f"active {fresh}, rotate keys, age 0s, last event 0s ago",
        ]


async def test_each_change_of_a_session_is_a_line_under_its_time(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data")
    one = created(stage, "ship billing v3", app="billing")
    async with told(stage) as reader:
        agent_does(stage, "session checkpoint", session_id=one, step="deploy", note="canary at 10%")
        assert await reader.says("checkpoint") == f"12:00:00Z {one} checkpoint: step deploy"
        linked_by_another_tool(stage.data_dir / "sessions" / f"{one}.json")
        await reader.says(f"{one} changed: revision 3")
        stage.clock.wall_ms += 5_000
        agent_does(stage, "session complete", session_id=one, result="shipped to 100%")
        assert await reader.says("completed") == f"12:00:05Z {one} became completed: ship billing v3, shipped to 100%"
        two = created(stage, "rotate keys", app="auth")
        assert await reader.says(two) == f"12:00:05Z {two} appeared: active, rotate keys, app auth"
        file = stage.data_dir / "sessions" / f"{two}.json"
        file.write_text("{")
        assert await reader.says("unreadable") == f"12:00:05Z {two} became unreadable: SESSION_CORRUPT"
        file.unlink()
        await reader.says(f"{two} is gone")
        assert len(reader.lines) == 8, reader.lines


async def test_time_alone_turns_a_session_stale_and_that_is_told_once(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data")
    one = created(stage, "ship billing v3")
    async with told(stage) as reader:
        stage.clock.wall_ms += 61 * MINUTE
        line = await reader.says("became stale")
        assert line == f"13:01:00Z {one} became stale: ship billing v3, last event 61m ago"
        agent_does(stage, "session checkpoint", session_id=one, step="deploy")
        await reader.says("became active")
        await reader.says("checkpoint: step deploy")
        assert [line for line in reader.lines if "stale" in line] == [line]


async def test_the_queue_begins_with_what_needs_a_person_and_goes_on_with_states(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data")
    queue, ids = filled(stage)
    issue = {task.split()[0]: issue_id for task, issue_id in ids.items()}
    async with told(stage) as reader:
        assert "13 issues" in reader.lines[0]
        standing = [line for line in reader.lines[1:] if not re.match(r"\S+ ses_", line)]
        assert standing[0].startswith("claims BLOCKED P-")
        assert any(line.startswith(f"needs_recovery {issue['Replay']}: Replay last month's") for line in standing)
        assert any(line.startswith(f"stale lease {issue['Port']}: Port the ledger schema") for line in standing)
        assert not any(issue["Reconcile"] in line for line in reader.lines), "what is ready needs nobody"
        queue.does("recover", issue_id=issue["Replay"], resolution="requeue", reason="its agent died")
        await reader.says(f"{issue['Replay']} became ready: Replay last month's")
        await reader.says("claims BLOCKED P-")
        stage.clock.wall_ms += 60 * MINUTE
        await reader.says(f"{issue['Draft']} became stale: Draft the runbook, builder-1")


async def test_plans_that_wait_are_told_first_and_then_what_becomes_of_them(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data")
    plans, ids = planned(stage)
    async with told(stage) as reader:
        line = f"plan waits {ids['waiting']}: deploy invoices 2.2.0, wants an approval, asked by mcp, for 14m"
        assert line in reader.lines
        assert any(line.startswith(f"indeterminate {ids['indeterminate']}: ") for line in reader.lines)
        assert not any(ids["approved"] in line for line in reader.lines), "what is approved needs nobody"
        plans.approve(ids["waiting"])
        said = await reader.says(f"{ids['waiting']} became")
        assert said == f"12:00:00Z {ids['waiting']} became approved: deploy invoices 2.2.0"
        made = plans.create("invoices", "2.0.0")
        assert await reader.says(made) == f"12:00:00Z {made} appeared waits: deploy invoices 2.0.0"


async def test_what_cannot_be_read_is_told_once_and_that_it_can_be_read_again(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data")
    one = created(stage, "ship billing v3")
    sessions, aside = stage.data_dir / "sessions", stage.data_dir / "aside"
    sessions.rename(aside)
    sessions.write_text("")
    async with told(stage) as reader:
        assert reader.lines[1].startswith("sessions unreadable: FILESYSTEM_ERROR: ")
        sessions.unlink()
        aside.rename(sessions)
        await reader.says("sessions can be read again")
        await reader.says(f"{one} appeared: active")


def test_a_failure_that_is_met_again_is_not_told_again(tmp_path: Path) -> None:
    account = begun(Stage(tmp_path / "data"))
    first = account.take(SnapshotFailed("FILESYSTEM_ERROR", "No.\x1b[2J"))
    assert [line[10:] for line in first] == [
        "sessions cannot be read, and what was told before may be old: FILESYSTEM_ERROR: No.␛[2J"
    ]
    assert account.take(SnapshotFailed("FILESYSTEM_ERROR", "No.\x1b[2J")) == []
    assert [line[10:] for line in account.take(SnapshotLoaded({}))] == ["sessions can be read again"]


def test_the_first_few_of_many_records_are_not_taken_for_all_of_them(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data")
    one = created(stage, "ship billing v3")
    found = did(stage.agent, "session list").sessions[0]
    account = Account(Desk(stage.console))
    assert account.take(SnapshotPatched({one: found})) == []
    assert not account.is_begun


def begun(stage: Stage) -> Account:
    """An account that has told how things stand where there is nothing."""
    from phelix_core.commands.registry import load_command  # noqa: PLC0415 - here alone
    from phelix_core.commands.run import run  # noqa: PLC0415
    from phelix_tui.messages import PlansLoaded, QueueGone  # noqa: PLC0415

    board: Any = run(load_command("arc board"), {}, stage.console).result
    account = Account(Desk(stage.console))
    for message in (SnapshotLoaded({}), QueueGone()):
        assert account.take(message) == []
    assert len(account.take(PlansLoaded(board))) == 1
    return account


async def test_whatever_stands_in_records_a_line_is_one_line_and_safe(tmp_path: Path) -> None:
    """Report 2."""
    stage = Stage(tmp_path / "data")
    secret = "sk-ant-api03-" + "aB3" * 31
    ids = write_hostile(stage.data_dir, [*ALL, secret])
    async with told(stage) as reader:
        for number, session_id in enumerate(ids):
            record = hostile_record(session_id, [*ALL, secret][number - 1], "completed")
            new = stage.data_dir / "sessions" / f"{session_id}.new"
            new.write_bytes(dumps(record).encode())
            new.rename(new.with_suffix(".json"))
        changed = re.compile("ses_.* became completed")
        await reader.until(
            lambda: sum(bool(changed.search(line)) for line in reader.lines) >= len(ids), "all completed"
        )
        assert not [line for line in reader.lines if CONTROL.search(line)]
        assert not [line for line in reader.lines if "aB3aB3" in line]
        assert max(map(len, reader.lines)) < 3_000, "what floods is cut"


# The process


def program(data_dir: Path, name: str = "run_plain") -> tuple[list[str], dict[str, str]]:
    environ = clean_environment(HOME=str(data_dir.parent), PHELIX_DATA_DIR=str(data_dir), PYTHONPATH=str(ROOT))
    return [sys.executable, "-m", "tests.tui.plain_program", name], environ | {"TMPDIR": str(data_dir.parent)}


@contextmanager
def running(data_dir: Path, stdout: int | IO[bytes], name: str = "run_plain") -> Generator[subprocess.Popen[bytes]]:
    argv, environ = program(data_dir, name)
    with subprocess.Popen(argv, stdout=stdout, stderr=subprocess.PIPE, env=environ, cwd=ROOT) as process:
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()


def a_fleet(tmp_path: Path, sessions: int) -> Path:
    stage = Stage(tmp_path / "data")
    stage.fill(sessions)
    return stage.data_dir


def test_lines_come_as_they_happen_and_ctrl_c_ends_it_quietly(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data")
    stage.clock.wall_ms = int(time.time() * 1000)
    one = created(stage, "ship billing v3")
    with running(stage.data_dir, subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert b"1 sessions in ~/data" in process.stdout.readline()
        assert process.stdout.readline().startswith(f"active {one}, ship billing v3".encode())
        agent_does(stage, "session checkpoint", session_id=one, step="deploy")
        assert process.stdout.readline().endswith(f"{one} checkpoint: step deploy\n".encode())
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130
        assert process.stdout.read() == b""
        assert process.stderr.read() == b""


def test_on_a_terminal_it_writes_plain_lines_and_ctrl_c_is_typed(tmp_path: Path) -> None:
    argv, environ = program(a_fleet(tmp_path, 3))
    with PtyTerminal(argv, cols=120, env=environ, cwd=str(ROOT)) as terminal:
        terminal.wait_for("sessions in ~/data", 20)
        terminal.wait_for(lambda terminal: terminal.raw.count(b"\n") >= 4)
        assert b"\x1b" not in terminal.raw
        terminal.send("ctrl+c")
        assert terminal.wait_end() == 130
        assert b"Traceback" not in terminal.raw


def test_a_reader_that_has_gone_ends_it_though_nothing_changes(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data")
    stage.clock.wall_ms = int(time.time() * 1000)
    created(stage, "ship billing v3")
    with running(stage.data_dir, subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(10) == 1
        assert process.stderr.read() == b""
    with running(stage.data_dir, subprocess.PIPE, "naive") as process:
        assert process.stdout is not None
        for _ in range(2):
            process.stdout.readline()
        process.stdout.close()
        with pytest.raises(subprocess.TimeoutExpired):  # the control: nothing is written, so nothing is noticed
            process.wait(2.5)


@pytest.mark.parametrize("name", ["run_plain", "naive"])
def test_ctrl_c_ends_it_while_a_reader_that_does_not_read_keeps_it_writing(tmp_path: Path, name: str) -> None:
    data_dir = a_fleet(tmp_path, 60)
    read_end, write_end = os.pipe()
    full = fill_up(write_end)
    os.read(read_end, 4096)  # less than the list needs, more than nothing
    with running(data_dir, write_end, name) as process:
        until_held(read_end, full)
        process.send_signal(signal.SIGINT)
        if name == "naive":  # the control: the loop is not there to hear of it
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(1.5)
        else:
            assert process.wait(10) == 130
            assert process.stderr is not None
            assert process.stderr.read() == b""
    os.close(read_end)
    os.close(write_end)


def fill_up(descriptor: int) -> int:
    """Write into a pipe until it takes no more; answers how much that was."""
    os.set_blocking(descriptor, False)
    written = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            written += os.write(descriptor, b"." * 512)
    os.set_blocking(descriptor, True)
    return written


def until_held(descriptor: int, full: int, seconds: float = 20.0) -> None:
    """Wait until a line no longer fits into the pipe."""
    deadline = time.monotonic() + seconds
    while full - struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, b"\0\0\0\0"))[0] > 300:
        assert time.monotonic() < deadline, "it never wrote so much"
