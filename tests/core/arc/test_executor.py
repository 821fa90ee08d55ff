"""The executor runs what was declared, only with a record, only so long, and leaves nothing behind."""

import fcntl
import json
import os
import select
import signal
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from phelix_core import processes
from phelix_core.arc import executor
from phelix_core.arc.executor import Execution, Outcome, run_command
from phelix_core.arc.output import CUT, LINE_CAP, LOG_CAP
from phelix_core.clock import Clock, SystemClock
from phelix_core.processes import ProcessIdentity, identity_of, is_alive
from tests.canaries import CANARIES, found_in
from tests.core.arc.applier import locked
from tests.rig import FixedClock

ROOT = Path(__file__).resolve().parents[3]
BOOT = "boot-1"
PRELUDE = """
import os, signal, sys
def say(*words): os.write(1, (" ".join(map(str, words)) + "\\n").encode())
"""
IGNORING = "signal.signal(signal.SIGTERM, lambda *_: say('asked to end'))\n"
FOR_EVER = "while True: signal.pause()\n"
on_linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")


class Hurried(FixedClock):
    """A clock that runs while it is looked at."""

    def monotonic(self) -> float:
        self.elapsed += 0.5
        return self.elapsed


def python(code: str, *args: object) -> tuple[str, ...]:
    """A command in Python: it may `say` a line."""
    return (sys.executable, "-I", "-S", "-c", PRELUDE + textwrap.dedent(code), *map(str, args))


def wait_for_end(identity: ProcessIdentity) -> None:
    """Until a process of somebody else has ended, where the system can tell that."""
    if hasattr(os, "pidfd_open"):
        with suppress(ProcessLookupError):
            process = os.pidfd_open(identity.pid)
            select.select([process], [], [])
            os.close(process)
        assert is_alive(identity, identity.boot) is False


@dataclass
class Stage:
    """Runs commands in `folder` and keeps what it was told."""

    folder: Path
    clock: Clock = field(default_factory=FixedClock)
    begun: list[ProcessIdentity] = field(default_factory=list[ProcessIdentity])
    told: list[str] = field(default_factory=list[str])
    environ: dict[str, str] = field(default_factory=dict[str, str])
    on_line: Callable[[str], object] = lambda _: None
    on_begin: Callable[[ProcessIdentity], object] = lambda _: None
    cancelled: Callable[[], bool] = lambda: False

    @property
    def log(self) -> Path:
        return self.folder / "run.log"

    @property
    def lock(self) -> Path:
        return self.folder / "app.lock"

    def __call__(self, *argv: str, **changes: Any) -> Outcome:
        def begun(identity: ProcessIdentity) -> None:
            self.begun.append(identity)
            self.on_begin(identity)

        def told(line: str) -> None:
            self.told.append(line)
            self.on_line(line)

        lock = locked(str(self.lock))
        asked: dict[str, Any] = {
            "argv": argv,
            "folder": str(self.folder),
            "environ": self.environ,
            "time_limit_s": 60,
            "log_path": str(self.log),
            "lock_fd": lock,
        }
        try:
            ask = Execution(**{**asked, **changes})
            return run_command(ask, clock=self.clock, begun=begun, told=told, cancelled=self.cancelled)
        finally:
            os.close(lock)

    def is_locked(self) -> bool:
        """Whether somebody holds the lock now."""
        try:
            os.close(locked(str(self.lock)))
        except BlockingIOError:
            return True
        return False

    def wait_for_lock(self) -> None:
        """Until nobody holds the lock any more."""
        with open(self.lock) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)

    def has_ended(self) -> bool:
        """Whether the process of the last begin is gone."""
        return identity_of(self.begun[-1].pid, BOOT) is None


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@pytest.fixture
def held(tmp_path: Path) -> Path:
    """A FIFO that holds whoever opens it, until a test opens its other end."""
    path = tmp_path / "held"
    os.mkfifo(path)
    return path


class TestACommand:
    @pytest.mark.parametrize("code", [0, 1, 3, 255])
    def test_that_ends_by_itself_is_told_by_its_exit_code(self, stage: Stage, code: int) -> None:
        outcome = stage(*python(f"say('done'); sys.exit({code})"))
        assert outcome == Outcome(kind="exited", exit_code=code, log_bytes=5, output_bytes=5)
        assert stage.has_ended()

    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGABRT])
    def test_that_a_signal_ends_is_told_by_it(self, stage: Stage, number: int) -> None:
        assert stage(*python(f"os.kill(os.getpid(), {int(number)})")) == Outcome(kind="signalled", signal=number)

    def test_is_read_by_no_shell(self, stage: Stage) -> None:
        words = ["$HOME", "*", "; exit 9", "`id`", "a  b", "", "é\udcff", "'\""]
        outcome = stage(*python("import json; say(json.dumps(sys.argv[1:]))", *words))
        assert outcome.exit_code == 0
        assert json.loads(stage.told[0]) == words

    def test_is_looked_for_on_the_path_that_it_is_given_or_from_its_folder(self, stage: Stage) -> None:
        (stage.folder / "bin").mkdir()
        (stage.folder / "bin" / "ship").symlink_to("/bin/pwd")
        stage.environ = {"PATH": str(stage.folder / "bin")}
        assert stage("ship").exit_code == 0
        stage.log.unlink()
        stage.environ = {}
        assert stage("bin/ship").exit_code == 0
        assert stage.told == [str(stage.folder.resolve())] * 2

    def test_sees_exactly_the_environment_that_it_is_given(self, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AMBIENT", "not for the command")
        stage.environ = {"PATH": "/usr/bin:/bin", "B": "two=2", "EMPTY": "", "PYTHONPATH": "/nowhere"}
        assert stage("env").exit_code == 0
        assert sorted(stage.told) == sorted(f"{name}={value}" for name, value in stage.environ.items())

    def test_reads_nothing_and_leads_a_session_and_group_of_its_own(self, stage: Stage) -> None:
        code = "say(os.path.samefile(0, os.devnull), os.getpid() == os.getsid(0) == os.getpgid(0))"
        assert stage(*python(code)).exit_code == 0
        assert stage.told == ["True True"]

    def test_inherits_no_descriptor_but_the_lock(self, stage: Stage) -> None:
        ours = os.open(stage.folder, os.O_RDONLY)
        os.set_inheritable(ours, True)  # noqa: FBT003 - os takes no keyword
        code = """
            def is_open(number):
                try: os.fstat(number)
                except OSError: return False
                return True
            say([number for number in range(256) if is_open(number)], os.path.samefile(int(sys.argv[1]), sys.argv[2]))
        """
        lock = locked(str(stage.lock) + "2")
        try:
            assert stage(*python(code, executor.LOCK_NUMBER, f"{stage.lock}2"), lock_fd=lock).exit_code == 0
        finally:
            os.close(ours)
            os.close(lock)
        assert stage.told == ["[0, 1, 2, 9] True"]

    @on_linux
    def test_starts_with_no_signal_ignored_or_blocked(self, stage: Stage) -> None:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGTERM})
        try:
            assert stage("/bin/grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status").exit_code == 0
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        assert [line.split()[1].strip("0") for line in stage.told] == ["", ""]

    def test_that_closes_its_output_is_followed_to_its_end(self, stage: Stage) -> None:
        code = "say('bye'); os.close(1); os.close(2); open('marker', 'w').close(); sys.exit(5)"
        assert stage(*python(code)).exit_code == 5
        assert (stage.folder / "marker").exists()

    def test_whose_end_the_system_forgets_is_not_taken_for_a_success(self, applying: Callable[..., "Applying"]) -> None:
        outcome = applying(python("say('done'); sys.exit(3)"), unwaited=True).outcome()
        assert (outcome["kind"], outcome["exit_code"], outcome["signal"]) == ("exited", None, None)
        assert outcome["reason"] == "the system did not tell how it ended"

    @pytest.mark.parametrize(
        ("code", "expected"), [("sys.exit(3)", (3, None)), ("os.kill(os.getpid(), 9)", (None, 9)), ("", (0, None))]
    )
    def test_is_told_the_same_where_the_system_has_neither_proc_nor_waitid(
        self, stage: Stage, monkeypatch: pytest.MonkeyPatch, code: str, expected: tuple[int | None, int | None]
    ) -> None:
        monkeypatch.delattr(os, "waitid")
        monkeypatch.setattr(processes, "_PROC", "/nowhere")
        outcome = stage(*python("say('done');" + code))
        assert (outcome.exit_code, outcome.signal) == expected
        assert (stage.told, outcome.reason) == (["done"], None)


class TestACommandThatCannotBeStarted:
    @pytest.mark.parametrize(
        ("argv", "changes", "reason"),
        [
            (("./absent",), {}, "it cannot be started: No such file or directory"),
            (("absent-from-the-path",), {}, "it cannot be started: No such file or directory"),
            (("/",), {}, "it cannot be started: Permission denied"),
            (("./plain",), {}, "it cannot be started: Permission denied"),
            (("./nonsense",), {}, "it cannot be started: Exec format error"),
            (("/bin/pwd",), {"folder": "/nowhere/at/all"}, "its folder cannot be entered: No such file or directory"),
            ((), {}, "no command is given"),
            (("/bin/pwd", "a\0b"), {}, "the command holds a NUL character"),
            (("/bin/pwd",), {"environ": {"A=B": "c"}}, "a variable has no possible name"),
            (("/bin/pwd", "\ud800"), {}, "the command holds characters that the system cannot take"),
            (("/bin/pwd",), {"lock_fd": 999}, "no process can be started: Bad file descriptor"),
        ],
    )
    def test_says_why_and_leaves_nothing(
        self, stage: Stage, argv: tuple[str, ...], changes: dict[str, Any], reason: str
    ) -> None:
        (stage.folder / "plain").write_text("#!/bin/sh\n")
        (stage.folder / "nonsense").write_text("echo a shell would run this > marker\n")
        (stage.folder / "nonsense").chmod(0o755)
        outcome = stage(*argv, **changes)
        assert outcome == Outcome(kind="not_started", reason=reason)
        assert sorted(os.listdir(stage.folder)) == ["app.lock", "nonsense", "plain"]
        assert not stage.begun or stage.has_ended()
        assert not stage.is_locked()

    def test_is_not_even_begun_where_its_log_cannot_be_made(self, stage: Stage) -> None:
        stage.log.write_text("another's")
        link = stage.folder / "link"
        link.symlink_to(stage.folder / "target")
        for path, reason in (
            (stage.log, "File exists"),
            (link, "File exists"),
            (stage.folder / "absent" / "log", "No such file or directory"),
        ):
            outcome = stage(*python("open('marker', 'w')"), log_path=str(path))
            assert outcome == Outcome(kind="not_started", reason=f"the log cannot be made: {reason}")
        assert stage.begun == []
        assert sorted(os.listdir(stage.folder)) == ["app.lock", "link", "run.log"]
        assert stage.log.read_text() == "another's"

    def test_whose_process_ends_before_it_becomes_the_command_is_told_as_that(self, stage: Stage) -> None:
        stage.on_begin = lambda identity: os.kill(identity.pid, signal.SIGKILL)
        outcome = stage(*python("open('marker', 'w')"))
        assert outcome.kind == "not_started"
        assert sorted(os.listdir(stage.folder)) == ["app.lock"]


class TestNothingRunsWithoutARecord:
    def test_since_the_command_begins_when_begun_has_returned(self, stage: Stage) -> None:
        marker = stage.folder / "marker"
        seen: list[tuple[bool, bool | None]] = []
        stage.on_begin = lambda who: seen.append((marker.exists(), is_alive(who, BOOT)))
        assert stage(*python("open('marker', 'w').close(); say(os.getpid())")).exit_code == 0
        assert seen == [(False, True)]
        assert marker.exists()
        assert [who.pid for who in stage.begun] == [int(stage.told[0])], "the record names the command itself"

    @pytest.mark.parametrize("fault", [OSError, KeyboardInterrupt])
    def test_so_where_it_cannot_be_made_the_command_never_ran(self, stage: Stage, fault: type[BaseException]) -> None:
        def failing(_: ProcessIdentity) -> None:
            raise fault

        stage.on_begin = failing
        with pytest.raises(fault):
            stage(*python("open('marker', 'w')"))
        assert sorted(os.listdir(stage.folder)) == ["app.lock"]
        assert stage.has_ended()
        assert not stage.is_locked()

    @pytest.mark.parametrize("is_taken", [False, True], ids=["free", "taken"])
    @pytest.mark.parametrize("kept", [0, 1, 5, -1, None])
    def test_and_an_order_that_does_not_come_whole_is_none(
        self, stage: Stage, kept: int | None, *, is_taken: bool
    ) -> None:
        payload = b"\0".join([os.fsencode(stage.folder), b"3", b"/bin/sh", b"-c", b": > marker", b"A=b"])
        order = b"%d\n%s" % (len(payload), payload)
        go, tell = os.pipe()
        saying, said = os.pipe()
        gate = subprocess.Popen(
            [
                sys.executable,
                "-I",
                "-S",
                "-c",
                executor.GATE,
                str(go),
                str(said),
                "-1",
                str(said if is_taken else executor.LOCK_NUMBER),
            ],
            pass_fds=(go, said),
        )
        for end in (go, said):
            os.close(end)
        os.write(tell, order[:kept])
        os.close(tell)
        with open(saying, "rb") as answer:
            assert answer.read() == (b">>" if kept is None else b"")
        assert gate.wait() == (0 if kept is None else 1)
        assert (stage.folder / "marker").exists() is (kept is None)


class TestACommandIsEnded:
    def test_at_its_time_limit(self, stage: Stage) -> None:
        stage.clock = SystemClock()
        outcome = stage(*python(FOR_EVER), time_limit_s=1)
        assert outcome == Outcome(kind="timed_out", signal=signal.SIGTERM, reason="it ran longer than 1 s")
        assert stage.has_ended()

    def test_as_it_likes_within_the_grace(self, stage: Stage, clock: FixedClock) -> None:
        stage.clock, stage.on_line = clock, lambda line: clock.advance(30 if line == "ready" else 0)
        code = f"""
            signal.signal(signal.SIGTERM, lambda *_: (say('cleaned up'), sys.exit(7)))
            say('ready')
            {FOR_EVER}"""
        outcome = stage(*python(code), time_limit_s=30)
        assert (outcome.kind, outcome.exit_code, outcome.signal) == ("timed_out", 7, None)
        assert stage.told == ["ready", "cleaned up"]
        assert stage.log.read_text() == "ready\ncleaned up\n"

    def test_by_force_when_it_does_not_go(self, stage: Stage, clock: FixedClock) -> None:
        stage.clock, stage.on_line = clock, lambda _: clock.advance(30)
        outcome = stage(*python(IGNORING + "say('ready')\n" + FOR_EVER), time_limit_s=30)
        assert (outcome.kind, outcome.exit_code, outcome.signal) == ("timed_out", None, signal.SIGKILL)
        assert stage.told == ["ready", "asked to end"]
        assert stage.has_ended()

    def test_when_it_is_cancelled(self, stage: Stage) -> None:
        stage.cancelled = lambda: "ready" in stage.told
        outcome = stage(*python("say('ready')\n" + FOR_EVER))
        assert (outcome.kind, outcome.signal, outcome.reason) == ("cancelled", signal.SIGTERM, None)
        assert stage.has_ended()

    def test_also_before_it_has_become_the_command(self, stage: Stage) -> None:
        stage.cancelled = lambda: True
        stage.on_begin = lambda identity: os.kill(identity.pid, signal.SIGSTOP)
        stage.clock = Hurried()
        outcome = stage(*python("open('marker', 'w')"))
        assert outcome == Outcome(kind="cancelled", reason="the command had not begun")
        assert sorted(os.listdir(stage.folder)) == ["app.lock"]

    def test_where_a_callback_fails_and_its_fault_goes_on(self, stage: Stage) -> None:
        def failing(_: str) -> None:
            raise LookupError

        stage.on_line = failing
        with pytest.raises(LookupError):
            stage(*python("say('ready')\n" + FOR_EVER))
        assert stage.has_ended()
        assert stage.log.read_text() == "ready\n"

    def test_by_ctrl_c_and_the_interrupt_goes_on(self, applying: Callable[..., "Applying"]) -> None:
        applier = applying(python("say('ready')\n" + FOR_EVER))
        command = applier.identity()
        assert applier.line() == "told ready"
        applier.process.send_signal(signal.SIGINT)
        assert applier.line() == "interrupted"
        assert is_alive(command, command.boot) is False
        assert applier.stage.log.read_text() == "ready\n"

    def test_at_once_by_a_second_ctrl_c(self, applying: Callable[..., "Applying"], held: Path) -> None:
        code = f"""
            def asked(*_):
                with open(sys.argv[1], 'w') as held: held.write('asked')
            signal.signal(signal.SIGTERM, asked)
            say('ready')
            {FOR_EVER}"""
        applier = applying(python(code, held), patient=True)
        command = applier.identity()
        assert applier.line() == "told ready"
        applier.process.send_signal(signal.SIGINT)
        assert held.read_text() == "asked"
        applier.process.send_signal(signal.SIGINT)
        assert applier.line() == "interrupted"
        wait_for_end(command)


class TestNoProcessIsLeft:
    def test_of_the_group_after_the_command_has_ended(self, stage: Stage) -> None:
        children: list[ProcessIdentity | None] = []
        stage.on_line = lambda line: children.append(identity_of(int(line), BOOT))
        code = """
            ready, tell = os.pipe()
            for _ in range(3):
                if os.fork() == 0:
                    say(os.getpid()); os.write(tell, b'.')
                    while True: signal.pause()
            for _ in range(3): os.read(ready, 1)
            sys.exit(4)
        """
        outcome = stage(*python(code))
        assert (outcome.kind, outcome.exit_code) == ("exited", 4)
        assert outcome.reason == "what it left running was ended"
        assert [child is not None and is_alive(child, BOOT) for child in children] == [False] * 3

    def test_also_where_one_does_not_go_when_asked(self, stage: Stage, clock: FixedClock) -> None:
        children: list[ProcessIdentity | None] = []

        def heard(line: str) -> None:
            if line.isdecimal():
                children.append(identity_of(int(line), BOOT))
            else:
                clock.advance(5)

        stage.clock, stage.on_line = clock, heard
        code = """
            ready, tell = os.pipe()
            if os.fork() == 0:
                signal.signal(signal.SIGTERM, lambda *_: say('asked to end'))
                say(os.getpid()); os.write(tell, b'.')
                while True: signal.pause()
            os.read(ready, 1)
        """
        assert stage(*python(code)).exit_code == 0
        assert stage.told[1:] == ["asked to end"]
        assert [child is not None and is_alive(child, BOOT) for child in children] == [False]

    def test_whose_child_cleans_up_while_the_command_is_gone_already(self, stage: Stage) -> None:
        code = """
            ready, tell = os.pipe()
            if os.fork() == 0:
                signal.signal(signal.SIGTERM, lambda *_: (say('unlocked'), os._exit(0)))
                os.write(tell, b'.')
                while True: signal.pause()
            os.read(ready, 1)
            say('ready')
            while True: signal.pause()
        """
        stage.cancelled = lambda: "ready" in stage.told
        outcome = stage(*python(code))
        assert (outcome.kind, outcome.signal) == ("cancelled", signal.SIGTERM)
        assert stage.told == ["ready", "unlocked"]

    def test_but_one_that_left_the_group_is_told_and_keeps_output_and_lock(self, stage: Stage, held: Path) -> None:
        stage.clock = Hurried()
        code = """
            ready, tell = os.pipe()
            if os.fork() == 0:
                os.setsid()
                say(os.getpid()); os.write(tell, b'.')
                with open(sys.argv[1]) as held: held.read()
                os._exit(0)
            os.read(ready, 1)
        """
        outcome = stage(*python(code, held), time_limit_s=3600)
        assert (outcome.kind, outcome.exit_code) == ("exited", 0)
        assert outcome.reason == "a process that left its group still holds the output, which is read no further"
        assert identity_of(int(stage.told[0]), BOOT) is not None
        assert stage.is_locked()
        held.write_text("go")
        stage.wait_for_lock()


class TestTheLog:
    def test_is_its_owners_alone_whatever_the_umask(self, stage: Stage) -> None:
        before = os.umask(0)
        try:
            stage("/bin/pwd")
        finally:
            os.umask(before)
        assert stat.S_IMODE(stage.log.stat().st_mode) == 0o600

    def test_holds_both_streams_in_order_and_ends_with_a_line_end(self, stage: Stage) -> None:
        assert stage(*python("say('one'); os.write(2, b'two\\n\\n'); os.write(1, b'three')")).exit_code == 0
        assert stage.log.read_text() == "one\ntwo\n\nthree\n"
        assert stage.told == ["one", "two", "", "three"]

    def test_keeps_controls_for_its_readers_to_show_and_replaces_what_is_no_text(self, stage: Stage) -> None:
        code = r"os.write(1, b'\x1b[31mred\x1b[0m\x07 \x00 \xff\xc3 \xc3\xa9\r\n')"
        assert stage(*python(code)).output_bytes == 23
        assert stage.log.read_bytes() == "\x1b[31mred\x1b[0m\x07 \x00 �� é\r\n".encode()

    def test_keeps_no_secret_and_tells_none(self, stage: Stage) -> None:
        (stage.folder / "say.txt").write_text("".join(f"it is \x1b[1m{canary.text}\x1b[0m\n" for canary in CANARIES))
        outcome = stage("/bin/cat", "say.txt")
        said = "\n".join(stage.told)
        assert outcome.exit_code == 0
        assert said.count("[REDACTED:") >= len(CANARIES)
        assert (found_in(stage.log.read_bytes()), found_in(said)) == ([], [])

    def test_that_takes_no_more_ends_without_ending_the_command(self, applying: Callable[..., "Applying"]) -> None:
        code = "for number in range(2000): say('line', number)\nos.mkdir('marker')"
        applier = applying(python(code), file_size=4096)
        outcome = applier.outcome()
        assert (outcome["kind"], outcome["exit_code"]) == ("exited", 0)
        assert outcome["reason"] == "the log is incomplete: File too large"
        assert (outcome["log_bytes"], outcome["log_truncated"]) == (4096, True)
        assert applier.stage.log.stat().st_size == 4096
        assert applier.lines[-1] == "told line 1999", "whoever listens still hears all of it"
        assert (applier.stage.folder / "marker").exists()

    def test_of_a_gigabyte_is_cut_and_memory_stays_flat(self, applying: Callable[..., "Applying"]) -> None:
        code = """
            part = ("no line ends for so long " * 10_000)[:65536].encode()
            for number in range(1 << 14): os.write(1, part if number % 50 else part[:-1] + b'\\n')
        """
        applier = applying(python(code), quiet=True)
        outcome = applier.outcome()
        assert (outcome["kind"], outcome["exit_code"], outcome["log_truncated"]) == ("exited", 0, True)
        assert outcome["output_bytes"] == 1 << 30
        assert LOG_CAP - 2 * LINE_CAP < outcome["log_bytes"] == applier.stage.log.stat().st_size <= LOG_CAP
        assert applier.stage.log.read_text().endswith(f"\n{CUT}\n")
        assert outcome["peak_kib"] < 100 * 1024


class TestWithoutALogAndALock:
    def test_the_last_line_is_told_after_the_end_and_nothing_is_kept(self, stage: Stage) -> None:
        outcome = stage("/bin/sh", "-c", "echo one; echo two >&2; pwd >/dev/null; exit 3", log_path=None, lock_fd=None)
        assert (outcome.kind, outcome.exit_code, outcome.output_bytes) == ("exited", 3, 8)
        assert (outcome.log_bytes, outcome.log_truncated, outcome.reason) == (0, False, None)
        assert stage.told == ["two"]
        assert list(stage.folder.iterdir()) == [stage.lock]

    @on_linux
    def test_the_command_inherits_no_descriptor_at_all(self, stage: Stage) -> None:
        stage(*python("say(*sorted(os.listdir('/proc/self/fd'), key=int)[:-1])"), log_path=None, lock_fd=None)
        assert stage.told == ["0 1 2"]

    def test_what_cannot_be_started_says_why_and_tells_nothing(self, stage: Stage) -> None:
        outcome = stage("/no/such/program", log_path=None, lock_fd=None)
        assert (outcome.kind, outcome.reason) == ("not_started", "it cannot be started: No such file or directory")
        assert stage.told == []

    def test_a_gigabyte_holds_the_command_up_no_longer_than_it_takes_to_read(self, stage: Stage) -> None:
        code = "part = b'y\\n' * 32768\nfor _ in range(1 << 14): os.write(1, part)\nsay('done')"
        outcome = stage(*python(code), log_path=None, lock_fd=None)
        assert (outcome.exit_code, outcome.output_bytes, outcome.log_truncated) == (0, (1 << 30) + 5, False)
        assert stage.told == ["done"]


class TestAKilledApplier:
    def test_leaves_the_lock_with_the_command_until_that_ends(
        self, applying: Callable[..., "Applying"], held: Path
    ) -> None:
        applier = applying(python("say('ready'); open(sys.argv[1]).read(); os.mkdir('marker')", held))
        command = applier.identity()
        assert applier.line() == "told ready"
        applier.kill()
        assert applier.stage.is_locked()
        assert is_alive(command, command.boot) is not False
        held.write_text("go")
        applier.stage.wait_for_lock()
        assert (applier.stage.folder / "marker").exists()

    def test_that_had_not_let_the_command_go_leaves_one_that_never_ran(
        self, applying: Callable[..., "Applying"]
    ) -> None:
        applier = applying(python("os.mkdir('marker')"), hold=True)
        command = applier.identity()
        applier.kill()
        applier.stage.wait_for_lock()
        wait_for_end(command)
        assert not (applier.stage.folder / "marker").exists()


class Applying:
    """An applier of its own, of which each line is awaited."""

    def __init__(self, stage: Stage, argv: tuple[str, ...], **asked: object) -> None:
        self.stage = stage
        self.lines: list[str] = []
        whole: dict[str, object] = {
            "argv": argv, "folder": str(stage.folder), "environ": {}, "time_limit_s": 300, "log_path": str(stage.log),
            "lock": str(stage.lock), **asked,
        }  # fmt: skip
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.core.arc.applier", json.dumps(whole)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def line(self) -> str:
        """The next thing that it says."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the applier ended without a word"
        self.lines.append(line.rstrip("\n"))
        return self.lines[-1]

    def identity(self) -> ProcessIdentity:
        """Of the command, as it was recorded."""
        said, pid, started, boot = self.line().split(" ")
        assert said == "begun"
        return ProcessIdentity(pid=int(pid), started=int(started), boot=boot)

    def outcome(self) -> Any:
        """What it answers at last; the lines before are kept."""
        while not self.line().startswith("outcome "):
            pass
        return json.loads(self.lines.pop().removeprefix("outcome "))

    def kill(self) -> None:
        """As the system would, without a word."""
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """End it and what it began."""
        self.kill()
        for begun in [line.split() for line in self.lines if line.startswith("begun ")]:
            with suppress(ProcessLookupError):
                os.killpg(int(begun[1]), signal.SIGKILL)
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()


@pytest.fixture
def applying(stage: Stage) -> Iterator[Callable[..., Applying]]:
    started: list[Applying] = []

    def start(argv: tuple[str, ...], **asked: object) -> Applying:
        started.append(Applying(stage, argv, **asked))
        return started[-1]

    yield start
    for applier in started:
        applier.close()
