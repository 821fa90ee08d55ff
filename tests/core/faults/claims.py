"""Many processes claim and close until nothing is left, and some are killed in the middle of a claim.

    python -m tests.core.faults.claims          8 processes, 5,000 claims, one in a hundred killed
    python -m tests.core.faults.claims --full   the same ten times, each with another seed

Afterwards each issue was claimed exactly once: it is done, or held by somebody who was killed.
"""

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from phelix_core.checks import Surface
from phelix_core.clock import SystemClock
from phelix_core.commands.environment import Environment, open_environment
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.settings import Settings
from phelix_core.sqlite import Database
from tests.core.faults.naive_queue import select_then_update
from tests.core.queue.oracle import Reader, no_rows
from tests.core.queue.oracle import apply as replayed

MOST_CALLS = 60
"""A claim asks the database about so often: a victim dies at one of these questions, or after the commit."""


@dataclass(frozen=True, kw_only=True)
class Rush:
    """How many come, and for how much."""

    processes: int = 8
    claims: int = 5_000
    killed: float = 0.01
    store: str = "real"
    seed: int = 1


@dataclass(frozen=True)
class Counted:
    """What came of it."""

    acked: int
    duplicates: int
    missing: int
    held: int
    kills: int
    untold: int
    jain: float
    seconds: float

    def judge(self, rush: Rush) -> None:
        """Assert that each issue was claimed once, whoever died."""
        assert self.duplicates == 0, self
        assert self.missing == 0, self
        assert self.untold == 0, self
        assert self.held <= self.kills, self
        assert rush.killed == 0 or rush.claims < 500 or self.kills > 0, self


def queue_of(data_dir: Path) -> Environment:
    """The command line's environment on a real clock."""
    return open_environment(Settings(data_dir=str(data_dir)), Surface.CLI)


def do(env: Environment, command: str, /, **raw: object) -> Any:
    """The answer of a command that must succeed."""
    envelope = run(load_command(command), raw, env)
    assert envelope.error is None, envelope.error
    return envelope.result


def planned(data_dir: Path, issues: int) -> Environment:
    """A queue with so many issues that wait for nothing."""
    env = queue_of(data_dir)
    do(env, "queue init", name="w")
    do(env, "queue campaign", project_name="p", campaign_name="c")
    rows = [{"task": f"t{number}", "priority": "medium", "size": "S"} for number in range(issues)]
    batch = {"milestones": [{"milestone_key": "m", "description": "d", "issues": rows}]}
    do(env, "queue plan", batch=json.dumps(batch))
    do(env, "queue promote")
    return env


def rush(asked: Rush, data_dir: Path) -> Counted:
    """Let them all loose, send a new one for each that was killed, and count."""
    planned(data_dir, asked.claims).queue.close()
    if asked.store != "real":
        Database(f"{data_dir}/queue.db", SystemClock()).script("DROP INDEX leases_active")
    start = time.monotonic()
    slots = {_forked(asked, data_dir, slot, 0): slot for slot in range(asked.processes)}
    kills = 0
    while slots:
        pid, status = os.wait()
        slot = slots.pop(pid)
        if os.WIFSIGNALED(status):
            assert os.WTERMSIG(status) == signal.SIGKILL
            kills += 1
            slots[_forked(asked, data_dir, slot, kills)] = slot
        else:
            assert status == 0, status
    return _counted(asked, data_dir, kills, time.monotonic() - start)


def _forked(asked: Rush, data_dir: Path, slot: int, life: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    status = 70
    try:
        work = _claim if asked.store == "real" else _claim_naively
        with open(data_dir / f"acked-{slot}", "a", encoding="utf-8", buffering=1) as acked:
            work(asked, data_dir, f"w{slot}.{life}", Random(f"{asked.seed} {slot} {life}"), acked)
        status = 0
    finally:
        if status:
            sys.excepthook(*sys.exc_info())  # pyright: ignore[reportArgumentType]
        os._exit(status)


def _claim(asked: Rush, data_dir: Path, name: str, random: Random, acked: Any) -> None:
    env, number = queue_of(data_dir), 0
    claim, close = load_command("queue claim"), load_command("queue close")
    while True:
        number += 1
        raw = {"host": "h", "workload_classes": ["general"], "session": f"{name}-{number}"}
        if random.random() < asked.killed:
            _dies_at(random.randint(1, MOST_CALLS))
        envelope = run(claim, raw, env)
        if envelope.error is not None:
            assert envelope.error.code == "NOTHING_READY", envelope.error
            return
        answer: Any = envelope.result
        acked.write(f"{answer['issueId']} {answer['leaseEpoch']}\n")
        said = {"status": "done", "summary": "s", "next_step": "n", "evidence": ["e"]}
        closed = run(close, {**said, "lease": answer["leaseId"]}, env)
        assert closed.error is None, closed.error


def _dies_at(call: int) -> None:
    """SIGKILL at the so-many-th question from now; where a claim asks less often, right after its commit."""
    ask, commit = Database.ask, Database._commit  # pyright: ignore[reportPrivateUsage]
    left = [call]

    def asks(self: Database, *given: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return ask(self, *given)

    def commits(self: Database) -> None:
        commit(self)
        os.kill(os.getpid(), signal.SIGKILL)

    Database.ask, Database._commit = asks, commits  # pyright: ignore[reportPrivateUsage,reportAttributeAccessIssue]


def _claim_naively(_: Rush, data_dir: Path, name: str, __: Random, acked: Any) -> None:
    db, number = Database(f"{data_dir}/queue.db", SystemClock()), 0
    while (issue_id := select_then_update(db, f"{name}-{(number := number + 1)}")) is not None:
        acked.write(f"{issue_id} 1\n")


def _counted(asked: Rush, data_dir: Path, kills: int, seconds: float) -> Counted:
    lines = [(data_dir / f"acked-{slot}").read_text().split("\n")[:-1] for slot in range(asked.processes)]
    acked = Counter(line for own in lines for line in own)
    db = Database(f"{data_dir}/queue.db", SystemClock(), read_only=True)
    assert db.ask("PRAGMA integrity_check") == [("ok",)]
    reader = Reader(db)
    rows = reader.rows()
    if asked.store == "real":
        told = no_rows()
        for place, event in enumerate(reader.events(), 1):
            assert event["seq"] == place
            replayed(told, event)
        assert told == rows
    leases = Counter(lease["issue_id"] for lease in rows["leases"].values())
    held = {lease["issue_id"] for lease in rows["leases"].values() if lease["status"] == "active"}
    done = {issue["id"] for issue in rows["issues"].values() if issue["status"] == "done"}
    names = {line.split()[0] for line in acked}
    shares = [len(own) for own in lines]
    return Counted(
        acked=acked.total(),
        duplicates=sum(number - 1 for number in acked.values()) + sum(number - 1 for number in leases.values()),
        missing=len(set(rows["issues"]) - (done | held)),
        held=len(held - done),
        kills=kills,
        untold=len(names - (done | held)),
        jain=round(sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares)), 4),
        seconds=round(seconds, 1),
    )


def main() -> int:
    """Rush as asked for, print each round's figures as one line, and fail where a promise is broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.core.faults.claims")
    parser.add_argument("--full", action="store_true", help="ten rounds, each with another seed")
    parser.add_argument("--figures", metavar="RUSH", help="one rush told as JSON; print its figures, judge nothing")
    given = parser.parse_args()
    if given.figures:
        with tempfile.TemporaryDirectory() as scratch:
            print(json.dumps(vars(rush(Rush(**json.loads(given.figures)), Path(scratch)))))
        return 0
    for seed in range(1, 11 if given.full else 2):
        asked = Rush(seed=seed)
        with tempfile.TemporaryDirectory() as scratch:
            counted = rush(asked, Path(scratch))
        print(f"{asked} {counted}", flush=True)
        counted.judge(asked)
    return 0


if __name__ == "__main__":
    sys.exit(main())
