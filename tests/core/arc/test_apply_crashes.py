"""Whoever dies while a plan is applied: it is never executed twice, and no end is told that nobody saw.

Some seeds run with all tests; `PHELIX_APPLY_SEEDS=200 pytest tests/core/arc/test_apply_crashes.py` runs them all.
"""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.core.arc.apply_trial import (
    BEHIND_GATES,
    CALLS,
    HELD,
    HOWS,
    PATIENCE_S,
    STARTED,
    Answer,
    Death,
    Trial,
    died,
    judge,
    read_status,
)

SEEDS = int(os.environ.get("PHELIX_APPLY_SEEDS", "12"))
"""How often somebody dies."""
pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")


@pytest.mark.parametrize("seed", range(SEEDS))
def test_whoever_is_killed_nothing_is_executed_twice_and_no_end_is_told_that_nobody_saw(
    tmp_path: Path, seed: int
) -> None:
    death = Death.by(seed)
    trial = Trial(tmp_path, death.middle, death.code)
    with died(trial, death) as answer:
        first = judge(trial, death, answer)
    if tally := os.environ.get("PHELIX_APPLY_TALLY"):
        with open(tally, "a", encoding="utf-8") as file:
            file.write(f"{death.how}: {first}\n")


def test_most_of_the_calls_that_may_be_struck_are_made_by_an_apply(tmp_path: Path) -> None:
    process = Trial(tmp_path).started(counts=True)
    noise = process.communicate(timeout=PATIENCE_S)[1].decode()
    counted = {name: int(number) for name, number in (line.split() for line in noise.splitlines())}
    assert CALLS * 0.9 < counted["calls"] < CALLS * 1.5, noise
    assert abs(counted["getpid"] - BEHIND_GATES) < 10, noise
    assert abs(counted["set_blocking"] - STARTED) < 10, noise


def test_the_seeds_kill_each_of_them_in_each_way() -> None:
    deaths = [Death.by(seed) for seed in range(48)]
    assert {death.how for death in deaths} == set(HOWS)
    assert {(death.then, death.code) for death in deaths if "applier in the middle" in death.how} >= {
        ("cancel", 0), ("release", 0), ("kill", 0),
    }  # fmt: skip


# What the judge would say of others


@pytest.fixture
def outlived(tmp_path: Path) -> Iterator[Trial]:
    """A trial whose applier was killed in the middle, and whose command goes on."""
    trial = Trial(tmp_path, HELD)
    with died(trial, middle("release")):
        yield trial


def middle(then: str) -> Death:
    return Death(how="applier in the middle", at=0, after_s=0, middle=HELD, code=0, then=then)


def test_the_judge_finds_an_applier_that_tries_again_what_it_does_not_know_the_end_of(outlived: Trial) -> None:
    def naively() -> Answer:
        process = outlived.started(is_naive=True)
        outlived.wait_until(lambda: outlived.executions() == 2, "not tried again")
        outlived.release()
        document = json.loads(process.communicate(timeout=PATIENCE_S)[0])
        return Answer("OK" if "result" in document else document["error"]["code"], document)

    with pytest.raises(AssertionError, match="executed twice"):
        judge(outlived, middle("release"), None, applied=naively)


def test_the_judge_finds_a_reader_that_takes_what_never_ended_for_failed(outlived: Trial) -> None:
    def naively(trial: Trial) -> str | None:
        told = read_status(trial)
        return "failed" if told == "indeterminate" else told

    with pytest.raises(AssertionError, match="failed without evidence"):
        judge(outlived, middle("release"), None, read=naively)


def test_the_judge_finds_a_reader_that_takes_a_command_that_came_to_its_last_line_for_succeeded(
    outlived: Trial,
) -> None:
    def naively(trial: Trial) -> str | None:
        told = read_status(trial)
        return "succeeded" if told == "indeterminate" and trial.executions("start") else told

    with pytest.raises(AssertionError, match="succeeded without evidence"):
        judge(outlived, middle("release"), None, read=naively)


def test_the_judge_finds_a_reader_that_trusts_a_number_that_is_anothers_by_now(outlived: Trial) -> None:
    def naively(trial: Trial) -> str | None:
        stored: Any = trial.stored()
        child = stored["process"]["child"]["pid"]
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return read_status(trial)
        return "running"

    child = outlived.child()
    assert child is not None
    os.killpg(child, signal.SIGKILL)
    outlived.wait_for_end()
    with subprocess.Popen(["sleep", "60"]) as another:
        path = outlived.data_dir / "ops" / f"{outlived.operation_id}.json"
        path.write_text(path.read_text().replace(f'"pid": {child}', f'"pid": {another.pid}'))
        assert outlived.child() == another.pid
        try:
            with pytest.raises(AssertionError, match="running, and nothing runs"):
                judge(outlived, middle("release"), None, read=naively)
            assert judge(outlived, middle("release"), None) == "indeterminate"
        finally:
            another.kill()
