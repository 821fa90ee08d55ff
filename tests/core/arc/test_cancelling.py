"""Cancelling: what runs is ended and recorded as such, what ended by itself is not, and what is unsure stays so."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from phelix_core import files
from phelix_core.arc import executor
from phelix_core.arc.operations import Operation, begun, finished, operation_id_of
from phelix_core.clock import SystemClock
from phelix_core.commands.arc import operating
from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.frozen import changed
from phelix_core.processes import ProcessIdentity, identity_of, started_at
from tests.core.arc.apply_trial import HELD, PATIENCE_S, Trial, let_go
from tests.core.arc.dying_applier import once, striking
from tests.core.arc.samples import sample_operation
from tests.core.arc.stage import declare
from tests.rig import FixedClock, bytes_of, did, refused

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
STUBBORN = "trap '' TERM\n" + HELD


class Hurried(SystemClock):
    """A clock on which twenty seconds are one."""

    def monotonic(self) -> float:
        return 20 * super().monotonic()


class Applied:
    """A plan that a process of its own applies, and whose command waits."""

    def __init__(self, folder: Path, middle: str) -> None:
        self.trial = Trial(folder, middle)
        self.process = self.trial.started(waits=True)
        let_go(self.process)
        self.trial.wait_until(self.trial.is_in_the_middle, "the command has not begun")

    def cancel(self, clock: SystemClock | None = None) -> Any:
        """The code or status that `operation cancel` answers, and all that it says."""
        env = self.trial.env()
        env = changed(env, clock=clock) if clock else env
        told = run(load_command("operation cancel"), {"operation_id": self.trial.operation_id}, env)
        document = json.loads(told.json())
        return document["result"]["status"] if told.error is None else told.error.code, document

    def answer(self) -> Any:
        """What the applier says in the end."""
        return json.loads(self.process.communicate(timeout=PATIENCE_S)[0])

    def kill(self) -> None:
        """The applier alone."""
        self.process.kill()
        self.process.wait()

    def child(self) -> int:
        """The command's process."""
        child = self.trial.child()
        assert child is not None
        return child


@pytest.fixture
def applied(tmp_path: Path) -> Iterator[Callable[..., Applied]]:
    started: list[Applied] = []

    def start(middle: str = HELD) -> Applied:
        started.append(Applied(tmp_path, middle))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.communicate()
        one.trial.clear()


def test_what_runs_is_ended_and_its_applier_records_and_answers_that(applied: Callable[..., Applied]) -> None:
    one = applied()
    child = one.child()
    status, document = one.cancel()
    assert (status, document["operation_id"]) == ("cancelled", one.trial.operation_id)
    assert document["result"]["cancel"]["via"] == "cli"
    assert started_at(child) is None
    answer = one.answer()
    assert (answer["error"]["code"], answer["operation_id"]) == ("CANCELLED", one.trial.operation_id)
    assert one.process.returncode == 1
    stored = one.trial.stored()
    assert (stored["status"], stored["result"]["signal"]) == ("cancelled", signal.SIGTERM)
    assert one.trial.applied().code == "CANCELLED"
    assert (one.trial.executions(), one.trial.alive()) == (1, [])
    assert one.cancel()[0] == "INVALID_ARGUMENT"


@pytest.mark.parametrize("middle", [HELD, STUBBORN])
def test_what_outlived_its_applier_is_ended_to_the_last_process_and_recorded_here(
    applied: Callable[..., Applied], middle: str
) -> None:
    one = applied(middle)
    one.kill()
    assert one.trial.alive()
    assert one.cancel(Hurried())[0] == "cancelled"
    assert one.trial.alive() == []
    stored = one.trial.stored()
    assert (stored["status"], stored["error"]["code"], stored.get("result")) == ("cancelled", "CANCELLED", None)
    assert one.trial.applied().code == "CANCELLED"
    assert one.trial.executions() == 1


def test_what_a_command_left_in_its_group_is_ended_too_when_nobody_else_is_left(
    applied: Callable[..., Applied],
) -> None:
    one = applied("sleep 600 >/dev/null 2>&1 &\n" + HELD)
    child = one.child()
    one.trial.wait_until(lambda: len(one.trial.alive()) == len(("applier", "sh", "sleep")), "not begun")
    one.kill()
    os.kill(child, signal.SIGKILL)
    one.trial.wait_until(lambda: started_at(child) is None, "the command is still there")
    status = one.trial.answered("operation status", operation_id=one.trial.operation_id)
    assert status.document["result"]["status"] == "running"
    assert one.trial.applied(one.trial.other_id).code == "DEPLOY_LOCKED"
    assert one.cancel()[0] == "cancelled"
    assert one.trial.alive() == []


def test_what_ended_by_itself_while_nobody_looked_is_unknown_and_not_cancelled(
    applied: Callable[..., Applied],
) -> None:
    one = applied()
    assert cancelled_too_late(one) == "OUTCOME_UNKNOWN"
    assert one.trial.stored()["status"] == "running"
    assert one.cancel()[0] == "OUTCOME_UNKNOWN"
    assert one.trial.applied().code == "OUTCOME_UNKNOWN"
    assert one.trial.executions() == 1


def cancelled_too_late(one: Applied) -> str:
    """What `operation cancel` says of a command without an applier that ends as its end is about to be asked for."""
    one.kill()

    def goes_on() -> None:
        one.trial.release()
        one.trial.wait_for_end()

    with striking(once("rename", goes_on), (files,)):
        return one.cancel()[0]


def test_a_canceller_that_does_not_look_who_ended_it_tells_a_command_that_ended_well_as_cancelled(
    applied: Callable[..., Applied], monkeypatch: pytest.MonkeyPatch
) -> None:
    def naively(self: Any, operation_id: str, **_: Any) -> Any:
        def cancelled(now: Operation) -> Operation:
            return finished(now, "cancelled", 99)

        return self._arc.update_operation(operation_id, cancelled)

    monkeypatch.setattr(operating.Cancelling, "_seen_to", naively)
    one = applied()
    assert cancelled_too_late(one) == "cancelled"
    assert one.trial.executions("end") == 1


def test_what_succeeds_before_it_could_be_ended_has_succeeded_and_the_wish_is_refused(
    applied: Callable[..., Applied],
) -> None:
    one = applied()

    def goes_on() -> None:
        one.trial.release()
        one.trial.wait_until(lambda: one.trial.stored()["status"] == "succeeded", "it does not succeed")

    with striking(once("lstat", goes_on), (files,)):
        code, document = one.cancel()
    assert (code, document["error"]["details"]["status"]) == ("SESSION_CONFLICT", "succeeded")
    assert "cancel" not in one.trial.stored()
    assert "result" in one.answer()
    assert one.trial.applied().document["result"]["already_applied"] is True


def test_an_applier_that_was_stopped_finds_the_end_recorded_and_keeps_it(applied: Callable[..., Applied]) -> None:
    one = applied()
    one.process.send_signal(signal.SIGSTOP)
    assert one.cancel(Hurried())[0] == "cancelled"
    stored = one.trial.stored()
    one.process.send_signal(signal.SIGCONT)
    assert one.answer()["error"]["code"] == "CANCELLED"
    assert one.trial.stored() == stored


# Before the command begins


def planned(env: Environment, script: str) -> str:
    declare(Path(env.settings.data_dir), script)
    return did(env, "plan create", action="deploy", app="shop", to="1.4.0").plan_id


def test_what_is_cancelled_before_it_begins_never_runs_and_stays_cancelled(
    env: Environment, data_dir: Path, tmp_path: Path
) -> None:
    plan_id = planned(env, f"echo ran >> {tmp_path}/ledger")
    operation_id = operation_id_of(plan_id)

    def cancel() -> None:
        assert did(env, "operation cancel", operation_id=operation_id).status == "cancelled"

    with striking(once("pipe", cancel), (executor,)):
        told = refused(env, "plan apply", plan_id=plan_id)
    assert (told["code"], told["details"]["status"]) == ("CANCELLED", "cancelled")
    assert did(env, "operation status", operation_id=operation_id).status == "cancelled"
    assert refused(env, "plan apply", plan_id=plan_id)["code"] == "CANCELLED"
    assert not (tmp_path / "ledger").exists()
    assert not list((data_dir / "ops").glob("*.log"))


def test_what_never_began_because_its_applier_died_can_be_cancelled(tmp_path: Path) -> None:
    trial = Trial(tmp_path)
    env = trial.env()
    applier = ProcessIdentity(pid=os.getpid(), started=1, boot=env.clock.boot())
    env.arc.add_operation(_by(trial, applier))
    assert trial.applied().code == "OUTCOME_UNKNOWN"
    assert did(env, "operation cancel", operation_id=trial.operation_id).status == "cancelled"
    assert trial.applied().code == "CANCELLED"
    assert trial.executions() == 0


def _by(trial: Trial, applier: ProcessIdentity) -> Any:
    operation = sample_operation(trial.env().arc.plan(trial.plan_id))
    assert operation.process is not None
    return changed(operation, pid=applier.pid, process=changed(operation.process, applier=applier))


# What cannot be ended from here


def test_what_runs_and_cannot_be_ended_from_here_is_not_recorded_as_cancelled(tmp_path: Path) -> None:
    trial = Trial(tmp_path)
    env = changed(trial.env(), clock=Hurried())
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as another:
        operation = begun(_by(trial, ProcessIdentity(pid=another.pid, started=0, boot="")), 10)
        env.arc.add_operation(changed(operation, process=None))  # as the guide's tool notes it: a number alone
        told = refused(env, "operation cancel", operation_id=trial.operation_id)
        assert told["code"] == "UNAVAILABLE"
        assert another.poll() is None
        assert trial.stored()["status"] == "running"
        assert another.stdin
        another.stdin.write(b"\n")
    assert refused(env, "operation cancel", operation_id=trial.operation_id)["code"] == "OUTCOME_UNKNOWN"


def test_a_process_that_has_the_number_of_a_command_by_now_is_not_signalled(tmp_path: Path) -> None:
    trial = Trial(tmp_path)
    env = trial.env()
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as another:
        here = identity_of(another.pid, env.clock.boot())
        assert here is not None
        gone = changed(here, started=here.started - 1)
        operation = begun(_by(trial, gone), 10)
        assert operation.process is not None
        env.arc.add_operation(changed(operation, process=changed(operation.process, child=gone)))
        assert refused(env, "operation cancel", operation_id=trial.operation_id)["code"] == "OUTCOME_UNKNOWN"
        assert another.poll() is None
        another.kill()


def test_a_preview_of_it_says_what_would_be_ended_and_changes_nothing(applied: Callable[..., Applied]) -> None:
    one = applied()
    before = bytes_of(one.trial.data_dir)
    told = one.trial.answered("operation cancel", dry_run=True, operation_id=one.trial.operation_id)
    assert told.code == "OK"
    assert f"ends the process group {one.child()}" in told.document["result"]["side_effects"]
    assert bytes_of(one.trial.data_dir) == before
    assert one.trial.alive()


# An interrupt


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_apply_ends_its_command_records_that_and_says_so(
    applied: Callable[..., Applied], number: signal.Signals
) -> None:
    one = applied("sleep 600 &\n" + HELD)
    one.process.send_signal(number)
    answer = one.answer()
    assert one.process.returncode == 130
    assert (answer["error"]["code"], answer["error"]["exit_code"]) == ("CANCELLED", 130)
    assert answer["error"]["details"]["status"] == "cancelled"
    assert "interrupted" in answer["error"]["message"]
    assert one.trial.alive() == []
    stored = one.trial.stored()
    assert (stored["status"], stored["result"]["signal"]) == ("cancelled", signal.SIGTERM)
    again = one.trial.applied()
    assert again.code == "CANCELLED"
    assert one.trial.executions() == 1


def test_an_interrupt_that_came_before_anything_was_executed_consumes_nothing(env: Environment, tmp_path: Path) -> None:
    plan_id = planned(env, f"echo ran >> {tmp_path}/ledger")
    told = refused(changed(env, interrupted=lambda: True), "plan apply", plan_id=plan_id)
    assert (told["code"], told["exit_code"]) == ("CANCELLED", 130)
    assert "before anything was executed" in told["message"]
    assert refused(env, "operation status", operation_id=operation_id_of(plan_id))["code"] == "NOT_FOUND"
    assert did(env, "plan apply", plan_id=plan_id).status == "succeeded"


def test_a_command_that_does_not_go_when_interrupted_is_ended_by_force(env: Environment, clock: FixedClock) -> None:
    lines: list[str] = []

    def told(line: str) -> None:
        lines.append(line)

    def interrupted() -> bool:
        return "ready" in lines

    class Impatient(FixedClock):
        def monotonic(self) -> float:
            """The machine's time, and more of it once there was a line, until the command's grace is over."""
            self.elapsed = min(6.0, self.elapsed + 0.5 * interrupted())
            return time.monotonic() + self.elapsed

    plan_id = planned(env, "trap '' TERM; echo ready; while :; do sleep 0.01; done")
    env = changed(env, clock=Impatient(clock.wall_ms), narrate=told, interrupted=interrupted)
    assert refused(env, "plan apply", plan_id=plan_id)["code"] == "CANCELLED"
    found = did(env, "operation status", operation_id=operation_id_of(plan_id))
    assert (found.status, found.operation.result["signal"]) == ("cancelled", signal.SIGKILL)
