"""The smallest honest executor: it runs the one command that an application declares, and nothing else.

Promises: no shell; nothing of the command happens before `begun` has returned, so nothing runs without a record; the
command sees the environment it was given, /dev/null as its input, and of our descriptors only the lock, which it holds
for as long as it or a child that keeps the lock lives, whatever becomes of us; it runs in a session and process group
of its own, and when this returns, or raises, no process of that group is left. Whoever leaves the group by a session of
its own cannot be followed: where such a process holds on to the output, that is told and not waited for. If we are
killed, a command that was let go runs on; what it prints afterwards has no reader, which ends most commands.
Source: arc page.
"""

import os
import select
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from io import FileIO
from signal import SIGKILL, SIGTERM
from typing import Final, Literal

from phelix_core.arc.output import OutputEnd, OutputLog
from phelix_core.clock import Clock
from phelix_core.files import why
from phelix_core.frozen import frozen
from phelix_core.processes import ProcessIdentity, group_lives, identity_of

Kind = Literal["exited", "signalled", "timed_out", "cancelled", "not_started"]

LOCK_NUMBER: Final = 9
"""The descriptor under which a command holds the lock that it was given."""
GRACE_S: Final = 5.0
"""Between asking a group to end and ending it."""
DRAIN_S: Final = 1.0
"""What is still in the pipe may be read for so long after the group has gone."""

_KILLED_S: Final = 5.0  # a killed process that is still there after this hangs in the system
_POLL_MS: Final = 50
_POLL_CLOSED_MS: Final = 10
_READ: Final = 64 << 10
_STEPS: Final = ("its folder cannot be entered", "it cannot be started")  # before each of which the gate says ">"

# What is started first is the gate. It is told what to run only after the caller has recorded who will run it, and an
# order that does not come whole, because whoever gives it was killed, is none. A function between fork and exec could
# do the same, but may deadlock where other threads run, as in the console; a shell would read the command.
# Python ignores some signals, and a parent may block some: the command starts with none of that.
# The lock gets a number that a shell can write: a daemon that the command starts has to close it.
GATE: Final = r"""
import os, signal, sys
go, said, lock, number_of_lock = map(int, sys.argv[1:])
order = b""
while part := os.read(go, 65536):
    order += part
size, _, order = order.partition(b"\n")
if not size or len(order) != int(size):
    os._exit(1)
folder, count, *rest = order.split(b"\0")
argv, environ = rest[:int(count)], dict(pair.split(b"=", 1) for pair in rest[int(count):])
os.close(go)
if said == number_of_lock:
    said = os.dup(said)
os.set_inheritable(said, False)
if lock not in (-1, number_of_lock):
    os.dup2(lock, number_of_lock)
    os.close(lock)
for number in signal.valid_signals():
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_SETMASK, ())
try:
    os.write(said, b">")
    os.chdir(folder)
    os.write(said, b">")
    os.execvpe(argv[0], argv, environ)
except Exception as error:
    os.write(said, b"%d" % (getattr(error, "errno", None) or 0))
os._exit(127)
"""


@frozen
class Execution:
    """What to run: `environ` is all that the command sees, `lock_fd` an `flock`ed descriptor, nothing at `log_path`.

    Without a log nothing of what it prints is kept, and its last line is told after its end; without a lock it holds
    none.

    A program without a slash is looked for on the PATH of `environ`, one with a slash from `folder`. Whoever made the
    lock lets go of it by closing the descriptor, never by unlocking: that would unlock it for the command too.
    """

    argv: tuple[str, ...]
    folder: str
    environ: Mapping[str, str]
    time_limit_s: int
    log_path: str | None
    lock_fd: int | None


@frozen
class Outcome:
    """What became of it. However it was ended, `exit_code` or `signal` tells how the command itself went.

    Neither is known where nothing was started, or where the system did not tell. `log_bytes` is the log's size,
    `output_bytes` what the command printed; `log_truncated` says that the log does not hold all of it.
    """

    kind: Kind
    exit_code: int | None = None
    signal: int | None = None
    reason: str | None = None
    log_bytes: int = 0
    log_truncated: bool = False
    output_bytes: int = 0


def run_command(
    ask: Execution,
    *,
    clock: Clock,
    begun: Callable[[ProcessIdentity], None],
    told: Callable[[str], None] | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Run a command to its end, its time limit, or until `cancelled` says so; a fault of a callback ends it too.

    `begun` is told who will run it, before it does anything; it may still turn out that it cannot be started.
    `told` gets each line of the log, `cancelled` is asked many times a second: neither may take long.
    """
    try:
        order = _order(ask)
    except ValueError as refused:
        return _not_started(str(refused))
    try:
        log = OutputEnd(told) if ask.log_path is None else OutputLog(ask.log_path, told)
    except OSError as error:
        return _not_started(f"the log cannot be made: {why(error)}")
    try:
        run = _Run(ask.lock_fd, log, clock)
    except OSError as error:
        log.discard()
        return _not_started(f"no process can be started: {why(error)}")
    except BaseException:
        log.discard()
        raise
    with run:
        identity = identity_of(run.pid, clock.boot())
        if identity is not None:
            begun(identity)
            run.let_go(order)
        kind = run.follow(ask.time_limit_s, cancelled)
        run.end()
    return run.outcome(kind)


def _not_started(reason: str) -> Outcome:
    return Outcome(kind="not_started", reason=reason)


def _order(ask: Execution) -> bytes:
    """The command as the gate takes it; raises `ValueError` for what no system could run."""
    if not ask.argv or not ask.argv[0]:
        raise ValueError("no command is given")
    if not all(name and "=" not in name for name in ask.environ):
        raise ValueError("a variable has no possible name")
    pairs = [f"{name}={value}" for name, value in ask.environ.items()]
    try:
        parts = [os.fsencode(part) for part in (ask.folder, str(len(ask.argv)), *ask.argv, *pairs)]
    except UnicodeEncodeError:
        raise ValueError("the command holds characters that the system cannot take") from None
    if any(b"\0" in part for part in parts):
        raise ValueError("the command holds a NUL character")
    order = b"\0".join(parts)
    return b"%d\n%s" % (len(order), order)


class _Run:
    """One process from the gate to its end; leaving it by an error ends its group."""

    def __init__(self, lock_fd: int | None, log: OutputLog | OutputEnd, clock: Clock) -> None:
        self._log = log
        self._clock = clock
        self._is_open = True
        self._was_let_go = False
        self._said = b""
        self._went: tuple[int | None, int | None] | None = None
        self._reasons = list[str]()
        with ExitStack() as theirs, ExitStack() as ours:
            self._output, output = _pipe(ours, theirs)
            self._saying, said = _pipe(ours, theirs)
            go, self._go = _pipe(theirs, ours)
            lock = -1 if lock_fd is None else lock_fd
            self._process = subprocess.Popen(  # noqa: S603 - ourselves, as the gate
                [sys.executable, "-I", "-S", "-c", GATE, *map(str, (go.fileno(), said.fileno(), lock, LOCK_NUMBER))],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=(*(() if lock_fd is None else (lock_fd,)), go.fileno(), said.fileno()),
                start_new_session=True,
            )
            self._ours = ours.pop_all()
        os.set_blocking(self._output.fileno(), False)
        self._readable = select.poll()
        self._readable.register(self._output, select.POLLIN)

    @property
    def pid(self) -> int:
        """Of the command, which is the number of its group too."""
        return self._process.pid

    def __enter__(self) -> None:
        return None

    def __exit__(self, fault: type[BaseException] | None, *_: object) -> None:
        try:
            if fault is not None:
                self._log.hush()
                self.end()
        finally:
            self._leave(is_kept=self._was_let_go and (fault is not None or self._why_not_started() is None))

    def _leave(self, *, is_kept: bool) -> None:
        self._ours.close()
        if self._has_ended():
            self._process.wait()
        if is_kept:
            self._log.close()
        else:
            self._log.discard()

    def let_go(self, order: bytes) -> None:
        """Tell the gate what to run."""
        self._was_let_go = True
        rest = memoryview(order)
        with self._go, suppress(BrokenPipeError):
            while rest:
                rest = rest[self._go.write(rest) :]

    def follow(self, limit_s: int, cancelled: Callable[[], bool]) -> Kind:
        """Keep what the command prints until it ends or is to be ended."""
        until = self._clock.monotonic() + limit_s
        while not self._has_ended():
            if self._clock.monotonic() >= until:
                self._reasons.append(f"it ran longer than {limit_s} s")
                return "timed_out"
            if cancelled():
                return "cancelled"
            self._pump()
        return "exited"

    def end(self) -> None:
        """End what is left of the group, and keep what it still printed."""
        try:
            if self._lives():
                if self._has_ended():
                    self._reasons.append("what it left running was ended")
                self._signal(SIGTERM)
                self._pump_while(self._lives, GRACE_S)
        finally:
            self._signal(SIGKILL)
        self._pump_while(self._lives, _KILLED_S)
        if self._lives():
            self._reasons.append("a process of it hangs in the system and could not be ended")
        self._pump_while(lambda: self._is_open, DRAIN_S)
        if self._is_open:
            self._reasons.append("a process that left its group still holds the output, which is read no further")
        self._said += self._saying.read(64) if self._has_ended() else b""

    def outcome(self, kind: Kind) -> Outcome:
        """What became of it, after its end."""
        code, number = self._went or (None, None)
        log, reasons = self._log, list(self._reasons)
        unbegun = self._why_not_started()
        if unbegun is not None and kind == "exited":
            return _not_started(unbegun)
        if unbegun is not None:
            code = number = None
            reasons.append("the command had not begun")
        elif kind == "exited" and number is not None:
            kind = "signalled"
        elif (code, number) == (None, None):
            reasons.append("the system did not tell how it ended")
        if log.fault is not None:
            reasons.append(f"the log is incomplete: {log.fault}")
        return Outcome(
            kind=kind,
            exit_code=code,
            signal=number,
            reason="; ".join(reasons) or None,
            log_bytes=log.size,
            log_truncated=log.is_cut or log.fault is not None,
            output_bytes=log.printed,
        )

    def _why_not_started(self) -> str | None:
        """What the gate could not do; None if it became the command, or was ended before it could."""
        done = self._said.count(b">")
        failed = self._said[done:]
        if failed:
            return f"{_STEPS[done - 1]}: {why(OSError(int(failed), ''))}"
        return None if done == len(_STEPS) else "the process that was to become the command ended before it did"

    def _pump(self) -> None:
        """Wait a moment for output, and keep what there is."""
        if not self._readable.poll(_POLL_MS if self._is_open else _POLL_CLOSED_MS):
            return
        data = self._output.read(_READ)
        if data:
            self._log.feed(data)
        elif data is not None:
            self._is_open = False
            self._readable.unregister(self._output)

    def _pump_while(self, condition: Callable[[], bool], seconds: float) -> None:
        until = self._clock.monotonic() + seconds
        while condition() and self._clock.monotonic() < until:
            self._pump()

    def _lives(self) -> bool:
        return not self._has_ended() or group_lives(self.pid)

    def _has_ended(self) -> bool:
        """Whether the command has, and how. It is not waited for yet: until then its group's number is no other's."""
        if self._went is None and hasattr(os, "waitid"):
            try:
                found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                self._went = None, None
            else:
                if found is not None:
                    has_exited = found.si_code == os.CLD_EXITED
                    self._went = (found.si_status, None) if has_exited else (None, found.si_status)
        elif self._went is None and (code := self._process.poll()) is not None:
            self._went = (code, None) if code >= 0 else (None, -code)
        return self._went is not None

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)


def _pipe(reader: ExitStack, writer: ExitStack) -> tuple[FileIO, FileIO]:
    """A pipe whose ends are closed with those that hold them."""
    ends = os.pipe()
    return reader.enter_context(FileIO(ends[0], "rb")), writer.enter_context(FileIO(ends[1], "wb"))
