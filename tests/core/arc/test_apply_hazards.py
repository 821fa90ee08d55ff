"""Hostile commands, policies, plans, approvals and disks, and many at once: a coded answer, the truth on record."""

import errno
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from phelix_core.arc import output
from phelix_core.arc.applicability import current_version_of
from phelix_core.arc.operations import operation_id_of
from phelix_core.arc.output import CUT
from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.errors import DeployLocked
from phelix_core.processes import holds_open, started_at
from tests.canaries import CANARIES, found_in
from tests.core.arc.apply_trial import HELD, PATIENCE_S, Trial, heard, let_go
from tests.core.arc.dying_applier import striking
from tests.core.arc.samples import rule
from tests.core.arc.stage import APPROVED_FIRST, declare, put_policy
from tests.rig import FixedClock, Phelix, bytes_of, did, refused

HOUR_MS = 3_600_000


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "ledger"


def planned(env: Environment, script: str, **chosen: str) -> str:
    """A plan to deploy an application whose command is a script, and the id of its one operation."""
    declare(Path(env.settings.data_dir), script)
    return did(env, "plan create", **{"action": "deploy", "app": "shop", "to": "1.4.0", **chosen}).plan_id


def counted(ledger: Path, then: str = "") -> str:
    """A script that notes in the ledger that it was executed."""
    return f"echo $PHELIX_OPERATION_ID >> {ledger}\n{then}"


def executions(ledger: Path) -> int:
    return len(ledger.read_text().splitlines()) if ledger.exists() else 0


def record(env: Environment, plan_id: str) -> Any:
    """The operation as its file has it."""
    path = Path(env.settings.data_dir) / "ops" / f"{operation_id_of(plan_id)}.json"
    return json.loads(path.read_bytes()) if path.exists() else None


def is_locked(env: Environment) -> bool:
    try:
        os.close(env.arc.application_lock("shop"))
    except DeployLocked:
        return True
    return False


# Commands

ENDINGS: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "exits 3": ("exit 3", "DEPLOY_FAILED", {"exit_code": 3}, "exit status 3"),
    "is killed": ("kill -9 $$", "DEPLOY_FAILED", {"signal": 9}, "signal 9"),
    "crashes": ("kill -SEGV $$", "DEPLOY_FAILED", {"signal": 11}, "signal 11"),
    "kills its group": ("kill -9 0", "DEPLOY_FAILED", {"signal": 9}, "signal 9"),
    "hangs": ("echo ready; sleep 600", "TIMEOUT", {"signal": 15}, "longer than 30 s"),
}


@pytest.mark.parametrize("how", ENDINGS)
def test_a_command_that_ends_badly_has_failed_and_how_is_on_record_and_the_answer_ever_after(
    env: Environment, clock: FixedClock, ledger: Path, how: str
) -> None:
    script, code, result, words = ENDINGS[how]
    plan_id = planned(env, counted(ledger, script))
    env = heard(env, lambda line: clock.advance(60 if line == "ready" else 0))
    first = refused(env, "plan apply", plan_id=plan_id)
    assert (first["code"], first["details"]["status"]) == (code, "failed")
    assert words in first["message"]
    stored = record(env, plan_id)
    assert (stored["status"], stored["error"]["code"]) == ("failed", code)
    assert {name: stored["result"].get(name) for name in ("exit_code", "signal")} == {
        "exit_code": None, "signal": None, **result,
    }  # fmt: skip
    again = refused(env, "plan apply", plan_id=plan_id)
    first["details"]["already_applied"] = True
    assert again == first
    assert executions(ledger) == 1
    assert not is_locked(env)


@pytest.mark.parametrize(
    ("command", "folder", "words"),
    [
        ('["no-such-program", "{version}"]', ".", "No such file"),
        ('["./absent", "{version}"]', ".", "No such file"),
        ('["./data", "{version}"]', ".", "Permission denied"),
        ('["/", "{version}"]', ".", "Permission denied"),
        ('["sh", "-c", "true"]', "absent", "its folder cannot be entered"),
        ('["./script", "{version}"]', ".", "cannot be started"),
    ],
)
def test_a_command_that_cannot_be_started_has_failed_and_nothing_ran(
    env: Environment, data_dir: Path, command: str, folder: str, words: str
) -> None:
    file = declare(data_dir)
    file.write_text(
        f'name = "shop"\nversions = ["1.4.0"]\n[deploy]\ncommand = {command}\nfolder = "{folder}"\n', encoding="utf-8"
    )
    (file.parent / "data").write_text("not a program")
    (file.parent / "script").write_text("#!/no/such/interpreter\n")
    (file.parent / "script").chmod(0o700)
    plan_id = did(env, "plan create", action="deploy", app="shop", to="1.4.0").plan_id
    told = refused(env, "plan apply", plan_id=plan_id)
    assert (told["code"], "Nothing of the deploy command ran" in told["message"]) == ("DEPLOY_FAILED", True)
    assert words in told["message"]
    stored = record(env, plan_id)
    assert stored["status"] == "failed"
    assert not {"exit_code", "signal"} & stored["result"].keys()
    assert not is_locked(env)


def test_what_a_command_leaves_running_in_its_group_is_ended(env: Environment, ledger: Path) -> None:
    children: list[int] = []
    script = counted(ledger, "for n in 1 2 3; do sleep 600 & echo $!; done")
    env = heard(env, lambda line: children.append(int(line)))
    plan_id = planned(env, script)
    assert did(env, "plan apply", plan_id=plan_id).status == "succeeded"
    assert [started_at(child) for child in children] == [None] * 3
    assert not is_locked(env)


def test_a_command_prints_without_end_and_the_log_has_one(
    env: Environment, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "LOG_CAP", 64 << 10)
    plan_id = planned(env, counted(ledger, "yes 'no end of it is in sight' | head -c 100000000"))
    told = did(env, "plan apply", plan_id=plan_id)
    assert (told.result["log"]["output_bytes"], told.result["log"]["truncated"]) == (100_000_000, True)
    assert told.result["log"]["bytes"] <= 64 << 10
    assert env.arc.log_tail(told.operation_id, 1) == (CUT,)


def test_no_secret_and_no_escape_that_a_command_prints_gets_through(
    env: Environment, phelix: Phelix, tmp_path: Path, data_dir: Path
) -> None:
    said = tmp_path / "said"
    said.write_text("".join(f"it is {canary.text}\n" for canary in CANARIES) + "\x1b]52;c;cHduZWQ=\x07\x1b[2J \u202e\n")
    plan_id = planned(env, f"cat {said}; exit 4")
    told = phelix("plan", "apply", plan_id)
    assert told.code == 21
    assert found_in(told.out + told.err.encode()) == []
    assert not {"\x1b", "\x07", "\u202e"} & set(told.err + told.out.decode())
    shown = phelix("operation", "status", operation_id_of(plan_id), "--log-lines", "100")
    assert shown.code == 0
    assert not {"\x1b", "\x07", "\u202e"} & set(shown.err + shown.out.decode())
    exact = phelix("operation", "status", operation_id_of(plan_id), "--log-lines", "100", "--json").result["log"]
    assert exact[-1] == "\x1b]52;c;cHduZWQ=\x07\x1b[2J \u202e"
    for path in data_dir.rglob("*"):
        assert not path.is_file() or found_in(path.read_bytes()) == []


def test_a_command_that_takes_its_own_record_away_leaves_an_outcome_that_is_unknown(
    env: Environment, data_dir: Path, ledger: Path
) -> None:
    plan_id = planned(env, counted(ledger, f"rm {data_dir}/ops/$PHELIX_OPERATION_ID.json"))
    told = refused(env, "plan apply", plan_id=plan_id)
    assert (told["code"], told["details"]["exit_code"]) == ("OUTCOME_UNKNOWN", 0)
    assert executions(ledger) == 1


def test_a_command_that_damages_its_own_record_is_not_executed_again(
    env: Environment, data_dir: Path, ledger: Path
) -> None:
    plan_id = planned(env, counted(ledger, f"echo x > {data_dir}/ops/$PHELIX_OPERATION_ID.json"))
    assert refused(env, "plan apply", plan_id=plan_id)["code"] == "OUTCOME_UNKNOWN"
    assert refused(env, "plan apply", plan_id=plan_id)["code"] == "OPERATION_CORRUPT"
    assert executions(ledger) == 1


def test_a_command_that_kills_its_applier_is_told_as_running_and_then_as_indeterminate(tmp_path: Path) -> None:
    trial = Trial(tmp_path, "kill -9 $PPID\nread go < {held}")
    process = trial.started()
    try:
        assert process.wait(PATIENCE_S) == -signal.SIGKILL
        assert trial.answered("operation status", operation_id=trial.operation_id).document["result"]["status"] == (
            "running"
        )
        trial.release()
        trial.wait_for_end()
        assert trial.applied().code == "OUTCOME_UNKNOWN"
        assert trial.executions() == 1
    finally:
        process.communicate()
        trial.clear()


def test_what_left_its_group_keeps_the_application_until_it_ends_and_is_named(env: Environment, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "out")
    script = f"setsid sh -c 'echo $$; echo out > {tmp_path}/out; exec sleep 600' 2>&1 & read out < {tmp_path}/out"
    numbers: list[int] = []
    env = heard(env, lambda line: numbers.append(int(line)))
    plan_id = planned(env, script)
    env.clock.__dict__["monotonic"] = _hurried()
    try:
        told = did(env, "plan apply", plan_id=plan_id)
        assert told.status == "succeeded"
        assert is_locked(env)
        assert did(env, "operation status", operation_id=told.operation_id).status == "succeeded"
        assert holds_open(numbers[0], env.arc.lock_of("shop"))
        another = did(env, "plan create", action="deploy", app="shop", to="1.2.0").plan_id
        previewed: Any = run(load_command("plan apply"), {"plan_id": another}, env, dry_run=True).failure()
        assert previewed == refused(env, "plan apply", plan_id=another)
        assert previewed["code"] == "DEPLOY_LOCKED"
        assert previewed["details"]["processes"] == numbers
    finally:
        os.kill(numbers[0], signal.SIGKILL)


def _hurried() -> Callable[[], float]:
    moments = iter(range(10**9))
    return lambda: next(moments) / 4


# Policies, plans, approvals


def _put_link(data_dir: Path) -> None:
    real = put_policy(data_dir, rule()).rename(data_dir / "elsewhere.json")
    (data_dir / "authz" / "policy.json").symlink_to(real)


POLICIES: dict[str, tuple[Callable[[Path], object], str]] = {
    "malformed": (lambda data: put_policy(data, text="{"), "AUTHZ_INVALID"),
    "of unknown members": (
        lambda data: put_policy(data, text='{"schema_version":"1","rules":[],"x":1}'),
        "AUTHZ_INVALID",
    ),
    "too large": (
        lambda data: put_policy(data, text=json.dumps({"schema_version": "1", "rules": []}) + " " * (64 << 10)),
        "AUTHZ_INVALID",
    ),
    "a link": (_put_link, "AUTHZ_INVALID"),
    "a folder": (lambda data: (data / "authz" / "policy.json").mkdir(parents=True), "AUTHZ_INVALID"),
    "out of reach": (lambda data: (data / "authz").write_text("a file"), "AUTHZ_UNAVAILABLE"),
    "a denial": (lambda data: put_policy(data, rule(), rule(effect="deny")), "AUTHZ_DENIED"),
    "silent": (put_policy, "AUTHZ_DENIED"),
    "for approvals": (lambda data: put_policy(data, APPROVED_FIRST), "APPROVAL_REQUIRED"),
}


@pytest.mark.parametrize("what", POLICIES)
def test_a_policy_that_does_not_allow_it_refuses_with_its_code_and_a_preview_says_so_too(
    env: Environment, data_dir: Path, ledger: Path, what: str
) -> None:
    put, code = POLICIES[what]
    plan_id = planned(env, counted(ledger))
    put(data_dir)
    before = bytes_of(data_dir)
    previewed = run(load_command("plan apply"), {"plan_id": plan_id}, env, dry_run=True).failure()
    assert bytes_of(data_dir) == before
    told = refused(env, "plan apply", plan_id=plan_id)
    assert (told["code"], previewed) == (code, told)
    assert executions(ledger) == 0
    assert not (data_dir / "ops").exists() or record(env, plan_id) is None


def test_a_plan_of_which_any_byte_was_changed_is_refused_or_still_says_the_same(
    env: Environment, data_dir: Path, ledger: Path
) -> None:
    plan_id = planned(env, counted(ledger))
    path = data_dir / "plans" / f"{plan_id}.json"
    whole, plan = path.read_bytes(), env.arc.plan(plan_id)
    codes: dict[str, int] = {}
    for at in range(0, len(whole), 5):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        told = run(load_command("plan apply"), {"plan_id": plan_id}, env, dry_run=True)
        code = "OK" if told.error is None else told.error.code
        codes[code] = codes.get(code, 0) + 1
        if code == "OK":  # when it was made, and for whom: nothing that is executed
            now = env.arc.plan(plan_id)
            assert (now.plan_hash, now.execution, now.inputs) == (plan.plan_hash, plan.execution, plan.inputs)
    assert codes.keys() <= {"OK", "PLAN_CORRUPT", "PLAN_INVALID", "PLAN_HASH_MISMATCH"}
    assert codes["PLAN_HASH_MISMATCH"] > codes["OK"]
    path.write_bytes(whole.replace(b"1.4.0", b"1.2.0"))
    assert refused(env, "plan apply", plan_id=plan_id)["code"] == "PLAN_HASH_MISMATCH"
    assert (executions(ledger), record(env, plan_id)) == (0, None)


def test_a_plan_that_is_whole_and_would_run_anything_else_than_is_declared_is_stale(
    env: Environment, data_dir: Path, ledger: Path
) -> None:
    plan_id = planned(env, counted(ledger))
    declare(data_dir, counted(ledger, "echo something else"))
    told = refused(env, "plan apply", plan_id=plan_id)
    assert told["code"] == "PLAN_STALE"
    assert {one["type"] for one in told["details"]["failed_preconditions"]} == {"config_fingerprint", "execution"}
    assert executions(ledger) == 0


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ('"plan_hash": "sha256:', '"plan_hash": "sha256:0'),
        ('"plan_id": "pln_0', '"plan_id": "pln_1'),
        ('"approver_type": "cli"', '"approver_type": "mcp"'),
        ('"decision": "approved"', '"decision": "denied"'),
        ("{", ""),
    ],
)
def test_an_approval_that_was_changed_approves_nothing(
    env: Environment, data_dir: Path, ledger: Path, part: str, other: str
) -> None:
    plan_id = planned(env, counted(ledger))
    put_policy(data_dir, APPROVED_FIRST)
    did(env, "authz approve", plan_id=plan_id)
    path = data_dir / "authz" / "approvals" / f"{plan_id}.json"
    assert part in path.read_text()
    path.write_text(path.read_text().replace(part, other))
    assert refused(env, "plan apply", plan_id=plan_id)["code"] == "APPROVAL_INVALID"
    assert (executions(ledger), record(env, plan_id)) == (0, None)


def test_an_approval_of_another_content_under_the_same_id_is_stale(
    env: Environment, data_dir: Path, ledger: Path
) -> None:
    plan_id = planned(env, counted(ledger))
    put_policy(data_dir, APPROVED_FIRST)
    did(env, "authz approve", plan_id=plan_id)
    path = data_dir / "plans" / f"{plan_id}.json"
    other = env.arc.plan(planned(env, counted(ledger), to="1.2.0"))
    path.write_bytes((data_dir / "plans" / f"{other.plan_id}.json").read_bytes().replace(*_ids(other.plan_id, plan_id)))
    told = refused(env, "plan apply", plan_id=plan_id)
    assert told["code"] == "APPROVAL_STALE"
    assert executions(ledger) == 0


def _ids(before: str, after: str) -> tuple[bytes, bytes]:
    return before.encode(), after.encode()


# A clock that jumps


@pytest.mark.parametrize("hours", [-9, 9])
def test_a_clock_that_jumps_while_it_runs_changes_no_end_and_no_order(
    env: Environment, clock: FixedClock, ledger: Path, hours: int
) -> None:
    def jump(line: str) -> None:
        clock.wall_ms += hours * HOUR_MS if line == "jump" else 0

    plan_id = planned(env, counted(ledger, "echo jump; sleep 0.01; echo jump"))
    assert did(heard(env, jump), "plan apply", plan_id=plan_id).status == "succeeded"
    stored = record(env, plan_id)
    assert stored["created_at_ms"] <= stored["finished_at_ms"] <= stored["updated_at_ms"]
    assert did(env, "plan apply", plan_id=plan_id).already_applied


def test_the_version_that_was_brought_last_is_the_current_one_also_after_the_clock_was_set_back(
    env: Environment, clock: FixedClock, ledger: Path
) -> None:
    first = planned(env, counted(ledger), to="1.4.0")
    did(env, "plan apply", plan_id=first)
    clock.wall_ms -= 12 * HOUR_MS
    second = planned(env, counted(ledger), to="1.2.0")
    did(env, "plan apply", plan_id=second)
    operations = env.arc.operations()[0]
    assert [one.plan_id for one in operations] == [second, first], "the newest first"
    assert current_version_of(env.arc.application("shop"), operations) == "1.2.0"


# A disk that is full


class FullDisk:
    """From the call number `since` on that would need room there is none, until it is `mended`."""

    def __init__(self, since: int) -> None:
        self.since = since
        self.needed = 0
        self.mended = False

    def __call__(self, name: str, _: int, when: str) -> None:
        if name not in ("mkdir", "write") or when == "after":
            return
        self.needed += 1
        if self.needed >= self.since and not self.mended:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


Filling = Callable[[int], tuple[str, str, FullDisk]]


@pytest.fixture
def filling(env: Environment, ledger: Path) -> Filling:
    """Applies a new plan on a disk that fills; answers the plan, what was told, and the disk."""

    def fill(since: int) -> tuple[str, str, FullDisk]:
        disk = FullDisk(since)
        plan_id = planned(env, counted(ledger, "echo one\necho two"))
        ledger.unlink(missing_ok=True)
        with striking(disk):
            told = run(load_command("plan apply"), {"plan_id": plan_id}, env)
        disk.mended = True
        return plan_id, "OK" if told.error is None else told.error.code, disk

    return fill


def test_a_disk_that_fills_at_any_write_ends_in_a_coded_answer_and_the_truth(
    env: Environment, ledger: Path, filling: Filling
) -> None:
    told: list[tuple[str, str | None]] = []
    for since in range(1, 100):
        plan_id, code, disk = filling(since)
        stored = record(env, plan_id)
        told.append((code, stored and stored["status"]))
        ran = executions(ledger)
        if code == "FILESYSTEM_ERROR":
            assert (ran, stored) == (0, None), "a refusal consumes nothing"
            assert did(env, "plan apply", plan_id=plan_id).status == "succeeded"
        elif code == "OUTCOME_UNKNOWN":
            assert ran == 1
            assert refused(env, "plan apply", plan_id=plan_id)["code"] == "OUTCOME_UNKNOWN"
            assert did(env, "operation status", operation_id=operation_id_of(plan_id)).status == "indeterminate"
        else:
            assert (code, ran) == ("OK", 1)
            assert did(env, "plan apply", plan_id=plan_id).already_applied
        assert executions(ledger) == 1
        assert not is_locked(env)
        _declared_anew(env)
        if disk.needed < since:
            break
    assert [code for code, _ in told[-1:]] == ["OK"]
    assert {code for code, _ in told} == {"FILESYSTEM_ERROR", "OUTCOME_UNKNOWN", "OK"}


def _declared_anew(env: Environment) -> None:
    """Nothing of the application's past is left, so that the next plan is made of the same facts."""
    for path in (Path(env.settings.data_dir) / "ops").glob("op_*"):
        path.unlink()


# Many at once


def raced(trial: Trial, plan_ids: list[str]) -> list[str]:
    """What each of several processes answers that apply at the same moment."""
    racers = [
        trial.started(waits=True, **({} if plan_id == trial.plan_id else {"plan_id": plan_id})) for plan_id in plan_ids
    ]
    let_go(*racers)
    answers = [json.loads(racer.communicate(timeout=PATIENCE_S)[0]) for racer in racers]
    return ["OK" if "result" in answer else answer["error"]["code"] for answer in answers]


RACERS = 8


def test_of_many_who_apply_one_plan_at_once_one_executes_it(tmp_path: Path) -> None:
    trial = Trial(tmp_path, "sleep 0.2")
    codes = raced(trial, [trial.plan_id] * RACERS)
    assert set(codes) <= {"OK", "DEPLOY_LOCKED"}
    assert "OK" in codes
    assert (trial.executions(), trial.executions("end")) == (1, 1)
    assert trial.applied().document["result"]["already_applied"] is True


def test_of_many_who_apply_two_plans_of_one_application_one_is_at_it_at_a_time(tmp_path: Path) -> None:
    trial = Trial(tmp_path, "sleep 0.05", code=3)
    codes = raced(trial, [trial.plan_id, trial.other_id] * (RACERS // 2))
    assert set(codes) <= {"DEPLOY_FAILED", "DEPLOY_LOCKED"}
    lines = trial.ledger.read_text().splitlines()
    assert [line.split()[0] for line in lines] == ["start", "end"] * (len(lines) // 2)
    assert [line.split()[1] for line in lines[::2]] == [line.split()[1] for line in lines[1::2]]
    assert len(lines) in (2, 4)


def test_many_who_lock_nothing_and_overwrite_execute_it_more_than_once(tmp_path: Path) -> None:
    trial = Trial(tmp_path, HELD)
    racers = [trial.started(is_naive=True)]
    try:
        trial.wait_until(trial.executions, "the command has not begun")
        racers.append(trial.started(is_naive=True))
        trial.wait_until(lambda: trial.executions() == 2, "executed once")
    finally:
        for racer in racers:
            racer.kill()
            racer.communicate()
        trial.clear()
