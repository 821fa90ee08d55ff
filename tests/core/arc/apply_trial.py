"""One plan applied in a process that dies, or whose command does, and the judgement on what is left of it.

The command appends to a ledger outside the data directory that it has begun, and at last that it has ended: what was
executed, and how often, is read there and nowhere else. What still runs is looked for among the machine's processes.
"""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

from phelix_core.arc.operations import operation_id_of
from phelix_core.checks import Surface
from phelix_core.commands.environment import Environment, open_environment
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.frozen import changed
from phelix_core.processes import holds_open
from phelix_core.settings import Settings
from tests.core.arc.stage import declare
from tests.rig import bytes_of, did

ROOT: Final = Path(__file__).parents[3]
PATIENCE_S: Final = 30
FINISHED: Final = ("succeeded", "failed", "cancelled")
Document = dict[str, Any]

SCRIPT: Final = """\
echo start $PHELIX_OPERATION_ID >> {ledger}
echo "it begins with $0"
{middle}
echo end $PHELIX_OPERATION_ID >> {ledger}
echo "it ends"
exit {code}
"""
HELD: Final = "read go < {held}"


@dataclass(frozen=True)
class Answer:
    """What a command said: the code of its error, or OK, and the document."""

    code: str
    document: Any


class Trial:
    """A data directory with two plans of one application, `plan_id` and `other_id`, and nothing executed."""

    def __init__(self, folder: Path, middle: str = "", code: int = 0) -> None:
        self.data_dir = folder / "data"
        self.ledger, self.held = folder / "ledger", folder / "held"
        self.code = code
        os.mkfifo(self.held)
        named = middle.format(held=self.held)
        self.app = declare(self.data_dir, SCRIPT.format(ledger=self.ledger, middle=named, code=code))
        env = self.env()
        self.plan_id: str = did(env, "plan create", action="deploy", app="shop", to="1.4.0").plan_id
        self.other_id: str = did(env, "plan create", action="deploy", app="shop", to="1.2.0").plan_id
        self.operation_id = operation_id_of(self.plan_id)
        self._lock = env.arc.lock_of("shop")

    def env(self) -> Environment:
        """An environment as a fresh process has it."""
        return open_environment(Settings(data_dir=str(self.data_dir)), Surface.CLI)

    # Applying

    def started(self, **asked: Any) -> "subprocess.Popen[bytes]":
        """A process that applies the plan, and dies as it is asked to."""
        whole = {"data_dir": str(self.data_dir), "plan_id": self.plan_id, **asked}
        return subprocess.Popen(
            [sys.executable, "-m", "tests.core.arc.dying_applier", json.dumps(whole)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
        )

    def answered(self, name: str, *, dry_run: bool = False, **raw: object) -> Answer:
        """What a command says in a fresh environment."""
        envelope = run(load_command(name), raw, self.env(), dry_run=dry_run)
        code = "OK" if envelope.error is None else envelope.error.code
        return Answer(code, json.loads(envelope.json()))

    def applied(self, plan_id: str | None = None) -> Answer:
        """What applying the plan, or another, says now."""
        return self.answered("plan apply", plan_id=plan_id or self.plan_id)

    def release(self) -> None:
        """Let a held command go on, as soon as it waits."""

        def is_let_go() -> bool:
            try:
                end = os.open(self.held, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                return not self.alive()
            os.write(end, b"go\n")
            os.close(end)
            return True

        self.wait_until(is_let_go, "nobody waits")

    # What there is, apart from what Phelix says

    def executions(self, what: str = "start", operation_id: str | None = None) -> int:
        """How often the command began, or came to its end."""
        wanted = f"{what} {operation_id or self.operation_id}"
        return self.ledger.read_text().splitlines().count(wanted) if self.ledger.exists() else 0

    def is_in_the_middle(self) -> bool:
        """Whether the command has begun, and what it said first is in the log."""
        return self.executions() > 0 and self.env().arc.log_tail(self.operation_id, 1) != ()

    def alive(self) -> list[int]:
        """Processes that hold the application, ours apart."""
        pids = [int(name) for name in os.listdir("/proc") if name.isdecimal() and int(name) != os.getpid()]
        return [pid for pid in pids if holds_open(pid, self._lock)]

    def stored(self) -> Any:
        """The operation's record as it stands on the disk; None where there is none."""
        try:
            return json.loads((self.data_dir / "ops" / f"{self.operation_id}.json").read_bytes())
        except FileNotFoundError:
            return None

    def child(self) -> int | None:
        """The recorded process of the command."""
        stored = self.stored()
        child = None if stored is None else stored["process"].get("child")
        return None if child is None else child["pid"]

    def wait_until(self, condition: Callable[[], object], what: str) -> None:
        """Until it is so."""
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, f"{what}: {self.stored()}"
            time.sleep(0.002)

    def wait_for_end(self) -> None:
        """Until no process holds the application any more."""
        self.wait_until(lambda: not self.alive(), "something still runs")

    def clear(self) -> None:
        """End all that is left."""
        for pid in self.alive():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def heard(env: Environment, told: Callable[[str], object]) -> Environment:
    """The environment of somebody who is told each line that a command prints."""
    return changed(env, narrate=told)


def read_status(trial: Trial) -> str | None:
    """What `operation status` tells; None where there is no operation."""
    told = trial.answered("operation status", operation_id=trial.operation_id)
    assert told.code in ("OK", "NOT_FOUND"), told
    return told.document["result"]["status"] if told.code == "OK" else None


# Deaths

HOWS: Final = (
    "applier at a call",
    "command in the middle",
    "applier after a call",
    "command at a call",
    "applier in the middle",
    "both at any time",
    "applier at a call",
    "applier at any time",
    "interrupted at any time",
    "applier in the middle",
    "command at any time",
    "applier after a call",
)
"""Who dies, and when; in the middle is while the command waits to be let go on."""
MIDDLES: Final = ("sleep 0.04", "sleep 60 & sleep 0.03", "(sleep 60 & sleep 60) & :", "")
CALLS: Final = 160
"""About so many calls an apply makes; beyond the last one nobody dies."""
BEHIND_GATES: Final = 70
STARTED: Final = 95
"""The numbers of the calls with which the operation's record begins, and the command."""


@dataclass(frozen=True)
class Death:
    """How a run ends, and what is done about what is left of it."""

    how: str
    at: int
    after_s: float
    middle: str
    code: int
    then: str

    @classmethod
    def by(cls, seed: int) -> "Death":
        """One of them."""
        random, how = Random(f"apply {seed}"), HOWS[seed % len(HOWS)]
        first = STARTED if how.startswith("command") else random.choice((1, BEHIND_GATES, BEHIND_GATES, STARTED))
        return cls(
            how=how,
            at=random.randint(first, CALLS),
            after_s=random.uniform(0.01, 0.2),
            middle=HELD if "middle" in how else random.choice(MIDDLES),
            code=random.choice((0, 0, 3)),
            then=random.choice(("cancel", "release", "kill")),
        )

    @property
    def may_signal(self) -> bool:
        """Whether the command may have been ended by a signal."""
        return not self.how.startswith("applier")


@contextmanager
def died(trial: Trial, death: Death) -> Generator[Any]:
    """Apply and die; the answer of an applier that lived, else None. At last nothing is left."""
    whom = death.how.split()[0]
    asked: Document = {}
    if "call" in death.how:
        asked = {"strikes": whom, "at": death.at, "when": "after" if "after" in death.how else "before"}
    process = trial.started(**asked, waits=True)
    try:
        let_go(process)
        if "middle" in death.how:
            trial.wait_until(trial.executions, "the command has not begun")
        elif "time" in death.how:
            _waited(process, death.after_s)
        if "call" not in death.how:
            _struck(whom, process, trial.child())
        out, noise = process.communicate(timeout=PATIENCE_S)
        assert b"Traceback" not in noise, noise.decode()
        was_killed = process.returncode == -signal.SIGKILL
        assert was_killed or out, noise.decode()
        yield None if was_killed else json.loads(out)
    finally:
        process.kill()
        process.communicate()
        trial.clear()


def _waited(process: "subprocess.Popen[bytes]", seconds: float) -> None:
    """Wait so long, or until it has something to say."""
    assert process.stdout
    select.select([process.stdout], [], [], seconds)


def let_go(*processes: "subprocess.Popen[bytes]") -> None:
    """Let those begin that wait, all at once, when each of them is ready."""
    for process in processes:
        assert process.stderr
        first = process.stderr.readline()
        assert first == b"ready\n", (first + process.stderr.read()).decode()
    for process in processes:
        assert process.stdin
        process.stdin.write(b"go\n")
        process.stdin.flush()


def _struck(whom: str, process: "subprocess.Popen[bytes]", child: int | None) -> None:
    if whom in ("applier", "both"):
        process.kill()
    if whom == "interrupted" and process.poll() is None:
        process.send_signal(signal.SIGINT)
    if whom in ("command", "both") and child is not None:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


# The judge

Reader = Callable[[Trial], str | None]


def judge(
    trial: Trial,
    death: Death,
    answer: Any,
    read: Reader = read_status,
    applied: Callable[[], Answer] | None = None,
) -> str:
    """Assert that the truth is told, now and after all that can be done about it; answers what was told at first."""
    applied = applied or trial.applied
    if answer is not None:
        _answer_is_recorded(trial, answer)
    if trial.child() is None:
        trial.wait_for_end()  # a process that never learned what to run goes by itself
    told = _looked_at(trial, read)
    first = told or "nothing"
    if told in ("pending", "running"):
        _is_locked(trial, death)
        told = _dealt_with(trial, death, read)
    assert told in (None, *FINISHED, "indeterminate"), f"{told}, and nothing runs"
    _has_evidence(trial, death, told)
    before = trial.executions()
    assert before <= 1, "executed twice"
    again = applied()
    if told is None:
        assert before == 0, "executed, and nothing is on record"
        assert again.code == ("OK" if trial.code == 0 else "DEPLOY_FAILED"), again
        assert trial.executions() == 1
    else:
        assert trial.executions() == before, "executed twice"
        assert again.code in _ANSWERS[told], (told, again)
        assert read(trial) == told
    os.close(trial.env().arc.application_lock("shop"))
    return first


_ANSWERS: Final = {
    "succeeded": ("OK",),
    "failed": ("DEPLOY_FAILED",),
    "cancelled": ("CANCELLED",),
    "indeterminate": ("OUTCOME_UNKNOWN",),
}


def _answer_is_recorded(trial: Trial, answer: Any) -> None:
    """Whoever lived to say how it ended has recorded the same."""
    stored = trial.stored()
    if "result" in answer:
        assert stored["status"] == "succeeded", answer
    elif answer["error"]["code"] in ("DEPLOY_FAILED", "CANCELLED") and stored is not None:
        assert stored["status"] == {"DEPLOY_FAILED": "failed", "CANCELLED": "cancelled"}[answer["error"]["code"]]
    else:
        assert answer["error"]["code"] in ("CANCELLED", "UNAVAILABLE"), answer
        assert stored is None, answer


def _looked_at(trial: Trial, read: Reader) -> str | None:
    """What every reader tells, with no byte changed; what runs must be told as such, and nothing else."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        bytes_before, alive = bytes_of(trial.data_dir), bool(trial.alive())
        told = read(trial)
        shown = trial.answered("plan show", plan_id=trial.plan_id).document["result"].get("operation")
        listed = trial.answered("operation list").document["result"]["operations"]
        trial.answered("plan list")
        trial.answered("plan apply", dry_run=True, plan_id=trial.plan_id)
        assert bytes_of(trial.data_dir) == bytes_before, "a reading changed something"
        if bool(trial.alive()) == alive:
            break
        assert time.monotonic() < deadline
    if alive:
        assert told in ("running", *FINISHED), f"{told}, and it still runs"
    else:
        assert told not in ("pending", "running"), f"{told}, and nothing runs"
    if read is read_status:
        assert (None if shown is None else shown["status"]) == told
        assert [one["status"] for one in listed] == ([] if told is None else [told])
    return told


def _is_locked(trial: Trial, death: Death) -> None:
    """What still runs keeps the application; only what waits is sure to run until it is let go on."""
    told = trial.applied()
    assert told.code in ("DEPLOY_LOCKED", "OUTCOME_UNKNOWN"), told
    if "middle" in death.how:
        assert (told.code, trial.applied(trial.other_id).code) == ("DEPLOY_LOCKED", "DEPLOY_LOCKED")
        assert trial.executions(operation_id=operation_id_of(trial.other_id)) == 0


def _dealt_with(trial: Trial, death: Death, read: Reader) -> str | None:
    """End what outlived its applier, or let it come to its end; nobody is there to see how it ends."""
    if death.then == "cancel" and trial.alive():
        told = trial.answered("operation cancel", operation_id=trial.operation_id)
        assert told.code in ("OK", "OUTCOME_UNKNOWN"), told
        assert not trial.alive(), "cancelled, and it still runs"
        now = read(trial)
        assert now == ("cancelled" if told.code == "OK" else "indeterminate")
        return now
    if death.then == "release" and "middle" in death.how:
        trial.release()
    if death.then != "release" or "sleep 60" in death.middle:
        child = trial.child()
        assert child is not None
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
    trial.wait_for_end()
    return read(trial)


def _has_evidence(trial: Trial, death: Death, told: str | None) -> None:
    """An end that is told was seen by somebody, and is what the ledger says."""
    stored, starts, ends = trial.stored(), trial.executions(), trial.executions("end")
    result: Document = (stored and stored.get("result")) or {}
    if told == "succeeded":
        assert (stored["status"], result.get("exit_code"), trial.code) == ("succeeded", 0, 0), (
            "succeeded without evidence"
        )
        assert (starts, ends) == (1, 1), "succeeded without evidence"
    elif told == "failed":
        assert stored["status"] == "failed", "failed without evidence"
        if "signal" in result:
            assert result["signal"] == signal.SIGKILL, stored
            assert death.may_signal, "failed without evidence"
        elif "exit_code" in result:
            assert (result["exit_code"], starts, ends) == (trial.code, 1, 1), "failed without evidence"
        else:
            assert "Nothing of the deploy command ran" in stored["error"]["message"], stored
            assert starts == 0, "failed without evidence"
    elif told == "cancelled":
        assert stored["status"] == "cancelled", "cancelled without evidence"
        assert death.how.startswith("interrupted") or stored["cancel"]["via"] == "cli", "cancelled without evidence"
    elif told == "indeterminate":
        assert stored["status"] in ("pending", "running"), "indeterminate is never stored"
