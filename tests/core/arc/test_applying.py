"""Applying: gate after gate, one execution, one record of it, and the same answer to whoever asks again."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from phelix_core.arc.operations import operation_id_of
from phelix_core.checks import Surface
from phelix_core.cli import main as command_line
from phelix_core.commands.arc import apart
from phelix_core.commands.environment import Environment, open_environment
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.frozen import changed
from phelix_core.settings import Settings
from tests.core.arc.apply_trial import HELD, Trial, heard, let_go
from tests.core.arc.samples import rule, sample_operation
from tests.core.arc.stage import APPROVED_FIRST, declare, put_policy
from tests.rig import NOW_MS, FixedClock, bytes_of, did, refused

SAYS = "echo deploying; env | sort | grep -v -e ^PWD -e ^OLDPWD -e ^_= -e ^SHLVL"


def planned(env: Environment, script: str = SAYS, **chosen: str) -> str:
    declare(Path(env.settings.data_dir), script)
    return did(env, "plan create", **{"action": "deploy", "app": "shop", "to": "1.4.0", **chosen}).plan_id


def record(env: Environment, plan_id: str) -> Any:
    return json.loads((Path(env.settings.data_dir) / "ops" / f"{operation_id_of(plan_id)}.json").read_bytes())


def codes_logged(env: Environment) -> list[str]:
    """Codes of the decisions, the oldest first."""
    return [decision.code for decision in reversed(env.arc.decisions()[0])]


def dry(env: Environment, **raw: object) -> Any:
    """What a preview of an apply answers."""
    return run(load_command("plan apply"), raw, env, dry_run=True)


# One execution


def test_a_plan_is_executed_and_who_did_it_and_how_it_ended_is_on_record(env: Environment, data_dir: Path) -> None:
    plan_id = planned(env)
    told = did(env, "plan apply", plan_id=plan_id)
    operation_id = operation_id_of(plan_id)
    assert (told.status, told.already_applied, told.operation_id) == ("succeeded", False, operation_id)
    stored = record(env, plan_id)
    assert stored["result"] | {"verification": None, "log": None} == {
        "version": "1.4.0", "from_version": "1.3.0", "exit_code": 0, "verification": None, "log": None,
    }  # fmt: skip
    assert (stored["status"], stored["kind"], stored["app"]) == ("succeeded", "deploy", "shop")
    assert (stored["plan_id"], stored["plan_hash"]) == (plan_id, env.arc.plan(plan_id).plan_hash)
    assert stored["deployment_id"] == told.deployment_id
    assert stored["process"]["applier"]["pid"] == stored["pid"] == os.getpid()
    assert stored["process"]["child"]["pid"] != os.getpid()
    (decision,) = env.arc.decisions()[0]
    assert (decision.decision_id, decision.plan_id) == (stored["authz_decision_id"], plan_id)
    assert {path.name for path in (data_dir / "ops").glob("op_*")} == {
        f"{operation_id}.json", f"{operation_id}.lock", f"{operation_id}.log",
    }  # fmt: skip


def test_whoever_applies_it_again_is_answered_the_same_and_nothing_runs_or_is_decided(
    env: Environment, data_dir: Path
) -> None:
    plan_id = planned(env)
    first = did(env, "plan apply", plan_id=plan_id)
    before = bytes_of(data_dir)
    put_policy(data_dir, rule(effect="deny"))
    again = did(env, "plan apply", plan_id=plan_id)
    (data_dir / "authz" / "policy.json").unlink()
    assert again == changed(first, already_applied=True)
    assert bytes_of(data_dir) == before


def test_a_command_sees_what_is_declared_and_who_it_is_and_nothing_else(
    env: Environment, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEEN", "1")
    monkeypatch.setenv("UNSEEN", "1")
    declare(data_dir, SAYS + "; cat")
    file = data_dir / "apps" / "shop" / "app.toml"
    file.write_text(file.read_text().replace("[rollback]", 'environment = ["SEEN", "ABSENT"]\n[rollback]'))
    plan_id = did(env, "plan create", action="deploy", app="shop", to="1.4.0").plan_id
    did(env, "plan apply", plan_id=plan_id)
    assert env.arc.log_tail(operation_id_of(plan_id), 50) == (
        "deploying",
        "PHELIX_ACTION=deploy",
        "PHELIX_APPLICATION=shop",
        "PHELIX_LOCK_FD=9",
        f"PHELIX_OPERATION_ID={operation_id_of(plan_id)}",
        "PHELIX_VERSION=1.4.0",
        "SEEN=1",
    )


def test_a_daemon_that_closes_the_lock_leaves_its_application_free_and_one_that_does_not_keeps_it(
    env: Environment, data_dir: Path
) -> None:
    pids = data_dir.parent / "pids"
    for closing, refusal in (("9>&-", None), ("", "DEPLOY_LOCKED")):
        script = f"setsid sh -c 'echo $$ >> {pids}; exec sleep 60' {closing} > /dev/null 2>&1 &\n"
        did(env, "plan apply", plan_id=planned(env, f"{script} while [ ! -s {pids} ]; do sleep 0.01; done"))
        told = run(load_command("plan apply"), {"plan_id": planned(env, "true", reason=f"after {closing}")}, env)
        for pid in pids.read_text().split():
            os.kill(int(pid), signal.SIGKILL)
        pids.unlink()
        assert (told.error.code if told.error is not None else None) == refusal


def test_a_rollback_goes_to_the_version_before_and_the_deploy_cannot_be_had_again(env: Environment) -> None:
    forward = planned(env)
    did(env, "plan apply", plan_id=forward)
    back = did(env, "plan create", action="rollback", app="shop").plan_id
    told = did(env, "plan apply", plan_id=back)
    assert (told.action, told.result["version"], told.result["from_version"]) == ("rollback", "1.3.0", "1.4.0")
    assert did(env, "plan apply", plan_id=forward).already_applied


def test_a_plan_is_stale_once_another_has_brought_another_version(env: Environment) -> None:
    first, second = planned(env), planned(env, to="1.2.0")
    did(env, "plan apply", plan_id=first)
    told = refused(env, "plan apply", plan_id=second)
    assert told["code"] == "PLAN_STALE"
    assert [one["type"] for one in told["details"]["failed_preconditions"]] == ["current_version"]


def test_health_is_looked_at_after_a_success_and_a_bad_one_is_told_and_changes_no_success(env: Environment) -> None:
    declare(Path(env.settings.data_dir), SAYS, more='[health]\ncommand = ["sh", "-c", "echo no; exit 1"]\n')
    plan_id = did(env, "plan create", action="deploy", app="shop", to="1.4.0").plan_id
    told = refused(env, "plan apply", plan_id=plan_id)
    assert (told["code"], told["details"]["already_applied"]) == ("HEALTH_CHECK_FAILED", False)
    stored = record(env, plan_id)
    assert (stored["status"], stored["result"]["verification"]["status"]) == ("succeeded", "unhealthy")
    again = refused(env, "plan apply", plan_id=plan_id)
    assert (again["code"], again["details"]["already_applied"]) == ("HEALTH_CHECK_FAILED", True)


# Decisions


def test_each_attempt_to_execute_leaves_one_decision_and_what_is_refused_before_leaves_none(
    env: Environment, data_dir: Path
) -> None:
    plan_id = planned(env)
    put_policy(data_dir, APPROVED_FIRST)
    assert refused(env, "plan apply", plan_id=plan_id)["code"] == "APPROVAL_REQUIRED"
    assert codes_logged(env) == ["APPROVAL_REQUIRED"]
    did(env, "authz approve", plan_id=plan_id)
    told = did(env, "plan apply", plan_id=plan_id)
    assert len(codes_logged(env)) == 2
    assert record(env, plan_id)["approval_id"] == env.arc.approval(plan_id).approval_id  # pyright: ignore[reportOptionalMemberAccess]
    assert did(env, "plan apply", plan_id=plan_id).operation_id == told.operation_id
    stale = planned(env, "echo another")
    declare(data_dir, SAYS)
    assert refused(env, "plan apply", plan_id=stale)["code"] == "PLAN_STALE"
    assert len(codes_logged(env)) == 2


def test_a_policy_that_changes_on_the_way_is_decided_on_again_and_the_last_word_counts(
    env: Environment, data_dir: Path
) -> None:
    plan_id = planned(env)
    mint = env.mint

    def minted() -> str:
        put_policy(data_dir, rule(effect="deny"))
        return mint()

    told = refused(changed(env, mint=minted), "plan apply", plan_id=plan_id)
    assert told["code"] == "AUTHZ_DENIED"
    assert codes_logged(env) == ["AUTHZ_ALLOWED", "AUTHZ_DENIED"]
    assert not list((data_dir / "ops").glob("op_*"))


def test_what_cannot_be_logged_is_not_executed(env: Environment, data_dir: Path) -> None:
    plan_id = planned(env)
    (data_dir / "authz").mkdir(exist_ok=True)
    (data_dir / "authz" / "decisions.jsonl").mkdir()
    assert refused(env, "plan apply", plan_id=plan_id)["code"] == "AUTHZ_INVALID"
    assert not list((data_dir / "ops").glob("op_*"))


# Previews


def _failed(env: Environment, script: str) -> str:
    plan_id = planned(env, script)
    refused(env, "plan apply", plan_id=plan_id)
    return plan_id


def _undeclared(env: Environment) -> str:
    plan_id = planned(env, action="rollback", to="1.2.0")
    file = Path(env.settings.data_dir) / "apps" / "shop" / "app.toml"
    file.write_text(file.read_text().partition("[rollback]")[0])
    return plan_id


def _spoilt(env: Environment) -> str:
    plan_id = planned(env)
    (Path(env.settings.data_dir) / "apps" / "shop" / "app.toml").write_text("name = ")
    return plan_id


def _removed(env: Environment) -> str:
    plan_id = planned(env)
    (Path(env.settings.data_dir) / "apps" / "shop" / "app.toml").unlink()
    return plan_id


def _damaged(env: Environment) -> str:
    plan_id = planned(env)
    path = Path(env.settings.data_dir) / "plans" / f"{plan_id}.json"
    path.write_bytes(path.read_bytes().replace(b"1.4.0", b"1.2.0"))
    return plan_id


def _denied(env: Environment) -> str:
    plan_id = planned(env)
    put_policy(Path(env.settings.data_dir), rule(effect="deny"))
    return plan_id


def _overtaken(env: Environment) -> str:
    plan_id = planned(env)
    did(env, "plan apply", plan_id=planned(env, to="1.2.0"))
    return plan_id


def _abandoned(env: Environment) -> str:
    plan_id = planned(env)
    env.arc.add_operation(sample_operation(env.arc.plan(plan_id)))
    return plan_id


def _cancelled(env: Environment) -> str:
    plan_id = _abandoned(env)
    did(env, "operation cancel", operation_id=operation_id_of(plan_id))
    return plan_id


def _unlogged(env: Environment) -> str:
    (Path(env.settings.data_dir) / "authz" / "decisions.jsonl").mkdir(parents=True)
    return planned(env)


REFUSALS: dict[str, tuple[Callable[[Environment], str], str]] = {
    "no plan": (lambda _: "pln_00000000000000ff", "NOT_FOUND"),
    "another content": (_damaged, "PLAN_HASH_MISMATCH"),
    "overtaken": (_overtaken, "PLAN_STALE"),
    "no application": (_removed, "PLAN_STALE"),
    "an application that cannot be used": (_spoilt, "INVALID_ARGUMENT"),
    "nothing declared": (_undeclared, "PLAN_STALE"),
    "denied": (_denied, "AUTHZ_DENIED"),
    "not to be logged": (_unlogged, "AUTHZ_INVALID"),
    "of unknown outcome": (_abandoned, "OUTCOME_UNKNOWN"),
    "cancelled before": (_cancelled, "CANCELLED"),
    "failed before": (lambda env: _failed(env, "exit 3"), "DEPLOY_FAILED"),
}


@pytest.mark.parametrize("why", REFUSALS)
def test_a_preview_refuses_what_an_apply_refuses_in_the_same_words_and_writes_nothing(
    env: Environment, data_dir: Path, why: str
) -> None:
    make, code = REFUSALS[why]
    plan_id = make(env)
    before = bytes_of(data_dir)
    previewed = dry(env, plan_id=plan_id).failure()
    assert bytes_of(data_dir) == before
    assert previewed["code"] == code
    assert refused(env, "plan apply", plan_id=plan_id) == previewed


def test_a_preview_shows_the_command_and_its_digest_admits_that_and_nothing_else(
    env: Environment, data_dir: Path
) -> None:
    plan_id = planned(env)
    before = bytes_of(data_dir)
    shown = dry(env, plan_id=plan_id).result
    assert bytes_of(data_dir) == before
    assert any(SAYS in effect and "1.4.0" in effect for effect in shown.side_effects)
    wrong = run(load_command("plan apply"), {"plan_id": plan_id}, env, expect_digest="sha256:" + "0" * 64)
    assert wrong.error is not None
    assert not (data_dir / "ops").exists() or not list((data_dir / "ops").glob("op_*"))
    told = run(load_command("plan apply"), {"plan_id": plan_id}, env, expect_digest=shown.digest)
    assert told.error is None
    again = dry(env, plan_id=plan_id).result
    assert "nothing is executed" in again.side_effects[0]


def test_a_preview_is_refused_while_another_apply_is_at_it(tmp_path: Path) -> None:
    trial = Trial(tmp_path, HELD)
    process = trial.started()
    try:
        trial.wait_until(trial.is_in_the_middle, "the command has not begun")
        for plan_id in (trial.plan_id, trial.other_id):
            before = bytes_of(trial.data_dir)
            previewed = trial.answered("plan apply", dry_run=True, plan_id=plan_id)
            assert bytes_of(trial.data_dir) == before
            assert (previewed.code, trial.applied(plan_id).code) == ("DEPLOY_LOCKED", "DEPLOY_LOCKED")
            assert previewed.document["error"]["details"]["operation_id"] == trial.operation_id
    finally:
        process.kill()
        process.communicate()
        trial.clear()


# What is read while it ends


def test_an_operation_that_was_recorded_between_the_look_at_it_and_at_its_processes_is_told_with_its_end(
    env: Environment,
) -> None:
    seen: list[Any] = []
    plan_id = planned(env)
    env = heard(env, lambda _: seen.append(env.arc.operation(operation_id_of(plan_id))))
    did(env, "plan apply", plan_id=plan_id)
    assert seen[0].status == "running"
    assert env.arc.status_of(seen[0]) == "indeterminate", "what a reader would tell that does not look again"
    operation, status = env.arc.told(seen[0])
    assert (operation.status, status) == ("succeeded", "succeeded")


# From the console


def console(trial: Trial) -> Environment:
    return open_environment(Settings(data_dir=str(trial.data_dir)), Surface.TUI)


def test_the_console_is_answered_once_it_runs_and_its_end_is_recorded_without_the_console(tmp_path: Path) -> None:
    trial = Trial(tmp_path, HELD)
    told = did(console(trial), "plan apply", plan_id=trial.plan_id)
    assert (told.status, told.operation_id, told.already_applied) == ("running", trial.operation_id, False)
    trial.release()
    trial.wait_until(lambda: trial.stored()["status"] == "succeeded", "it does not end")
    trial.wait_for_end()
    assert did(console(trial), "plan apply", plan_id=trial.plan_id).already_applied
    assert trial.executions() == 1


def test_the_console_is_told_the_refusal_of_the_process_that_applies(tmp_path: Path) -> None:
    trial = Trial(tmp_path)
    put_policy(trial.data_dir, rule(effect="deny"))
    told = refused(console(trial), "plan apply", plan_id=trial.plan_id)
    assert (told["code"], told["exit_code"]) == ("AUTHZ_DENIED", 11)
    assert trial.executions() == 0


def test_the_console_does_not_take_what_another_executes_or_left_for_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = Trial(tmp_path, HELD)
    process = trial.started(waits=True)
    try:
        let_go(process)
        trial.wait_until(trial.executions, "the command has not begun")
        assert refused(console(trial), "plan apply", plan_id=trial.plan_id)["code"] == "DEPLOY_LOCKED"
        process.kill()
        child = trial.child()
        assert child is not None
        os.killpg(child, signal.SIGKILL)
        process.communicate()
        trial.wait_for_end()
        assert refused(console(trial), "plan apply", plan_id=trial.plan_id)["code"] == "OUTCOME_UNKNOWN"
        looks = apart.__dict__["_running"]

        def naively(env: Environment, plan_id: str, _: int) -> Any:
            return looks(env, plan_id, process.pid)

        monkeypatch.setattr(apart, "_running", naively)
        naive = did(console(trial), "plan apply", plan_id=trial.plan_id)
        assert naive.status == "running", "what a console would say that does not look whose it is"
    finally:
        process.kill()
        process.communicate()
        trial.clear()


# The command line's answer


class Interrupting:
    """A stdout during whose flush somebody presses Ctrl-C."""

    def __init__(self) -> None:
        self.buffer = self
        self.written: list[bytes] = []

    def write(self, data: bytes) -> int:
        self.written.append(data)
        return len(data)

    def flush(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize(("words", "code"), [(["plan", "list"], 130), (["plan", "apply"], 0)])
def test_an_interrupt_while_the_answer_is_given_adds_no_second_answer(
    env: Environment, data_dir: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], code: int
) -> None:
    named = [planned(env)] if words[-1] == "apply" else []
    stdout = Interrupting()
    monkeypatch.setattr("sys.stdout", stdout)
    told = command_line.main([*words, *named, f"--data-dir={data_dir}", "--json"])
    monkeypatch.undo()
    assert told == code
    (answer,) = stdout.written
    assert json.loads(answer)["status"] == "succeeded"


def test_time_on_record_is_the_clocks(env: Environment, clock: FixedClock) -> None:
    plan_id = planned(env)
    clock.advance(5)
    did(heard(env, lambda _: clock.advance(1)), "plan apply", plan_id=plan_id)
    stored = record(env, plan_id)
    assert stored["created_at_ms"] == NOW_MS + 5_000
    assert stored["finished_at_ms"] == clock.now_ms()
