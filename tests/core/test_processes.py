"""A process is told by pid, start and boot; what cannot be told is not guessed."""

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from phelix_core import processes
from phelix_core.commands.queue.holders import is_gone
from phelix_core.processes import UNTOLD, ProcessIdentity, group_lives, identity_of, is_alive, started_at

BOOT = "boot-1"
NO_PID = 2**22 + 1  # above what Linux gives
on_linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only /proc tells when a process started")


@contextmanager
def waiting(*, group: bool = False) -> Generator[subprocess.Popen[bytes]]:
    """A process that waits for its input to end, and is waited for afterwards."""
    code = "import sys; sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", code], stdin=subprocess.PIPE, start_new_session=group
    ) as started:
        yield started


def seen(pid: int) -> ProcessIdentity:
    identity = identity_of(pid, BOOT)
    assert identity is not None
    return identity


def ended(process: subprocess.Popen[bytes]) -> None:
    """Let it end, and leave it a zombie."""
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)


@on_linux
def test_a_process_that_runs_is_alive_and_one_that_ended_is_not_even_before_it_is_waited_for() -> None:
    with waiting() as process:
        identity = seen(process.pid)
        assert is_alive(identity, BOOT) is True
        ended(process)
        assert is_alive(identity, BOOT) is False
        assert identity_of(process.pid, BOOT) is None
    assert is_alive(identity, BOOT) is False


@on_linux
def test_another_process_of_the_same_pid_is_not_the_one() -> None:
    me = seen(os.getpid())
    assert is_alive(ProcessIdentity(pid=me.pid, started=me.started + 1, boot=BOOT), BOOT) is False


@on_linux
def test_the_start_is_told_whatever_the_program_is_called(tmp_path: Path) -> None:
    odd = tmp_path / "a) Z 1 (b"
    odd.symlink_to(sys.executable)
    with subprocess.Popen([odd, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert (started_at(process.pid) or 0) >= (started_at(os.getpid()) or 0) > UNTOLD
        process.kill()


def test_a_reboot_ended_every_process() -> None:
    assert is_alive(seen(os.getpid()), "boot-2") is False


@pytest.mark.parametrize(("then", "now"), [("", BOOT), (BOOT, ""), ("", "")])
def test_without_a_boot_to_compare_a_pid_in_use_proves_nothing(then: str, now: str) -> None:
    me = seen(os.getpid())
    assert is_alive(ProcessIdentity(pid=me.pid, started=me.started, boot=then), now) is None
    assert is_alive(ProcessIdentity(pid=NO_PID, started=me.started, boot=then), now) is False


def test_a_pid_without_its_start_can_only_be_told_as_gone() -> None:
    assert is_alive(ProcessIdentity(pid=os.getpid(), started=UNTOLD, boot=BOOT), BOOT) is None
    assert is_alive(ProcessIdentity(pid=NO_PID, started=UNTOLD, boot=BOOT), BOOT) is False


@pytest.mark.parametrize("pid", [0, -1])
def test_what_is_no_pid_of_a_process_tells_nothing(pid: int) -> None:
    assert is_alive(ProcessIdentity(pid=pid, started=5, boot=BOOT), BOOT) is None


def test_a_pid_that_no_system_gives_is_nobody() -> None:
    assert identity_of(2**70, BOOT) is None


@on_linux
def test_a_group_lives_until_its_last_process_has_ended() -> None:
    with waiting(group=True) as process:
        assert group_lives(process.pid)
        ended(process)
        assert not group_lives(process.pid)
    assert not group_lives(process.pid)


def test_where_there_is_no_proc_a_pid_in_use_proves_nothing_and_a_free_one_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(processes, "_PROC", "/nowhere")
    with waiting(group=True) as process:
        identity = seen(process.pid)
        assert identity.started == UNTOLD
        assert is_alive(identity, BOOT) is None
        assert group_lives(process.pid)
        process.kill()
        process.wait()
        assert is_alive(identity, BOOT) is False
        assert identity_of(process.pid, BOOT) is None
        assert not group_lives(process.pid)


def test_what_cannot_be_read_is_not_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(processes, "_PROC", str(tmp_path))
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "stat").write_text("7 (of another system) S")
    assert started_at(7) == UNTOLD
    assert not group_lives(7)


def test_asking_signals_nobody() -> None:
    got: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: got.append(number))
    try:
        group_lives(os.getpgrp())
        is_alive(seen(os.getpid()), BOOT)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert got == []


@pytest.mark.parametrize(
    ("pid", "started", "boot", "gone"),
    [
        (None, None, BOOT, None),
        (NO_PID, 5, "boot-0", None),
        (NO_PID, 5, BOOT, True),
        (NO_PID, None, BOOT, True),
        (os.getpid(), None, BOOT, False),
        (os.getpid(), started_at(os.getpid()), BOOT, False),
    ],
    ids=["nobody named", "another boot", "gone", "gone, start unknown", "there, start unknown", "there"],
)
def test_a_holder_is_gone_only_where_that_is_known(
    pid: int | None,
    started: int | None,
    boot: str,
    gone: bool | None,  # noqa: FBT001 - a column of the table
) -> None:
    assert is_gone(pid, started, boot, BOOT) is gone
