"""Holders that are stopped past their lease and go on after somebody else took their work over.

    python -m tests.core.faults.zombies --seeds 1000

Each is a process that claims, stops itself, is declared stale and recovered by another process, and then tries
everything that a holder may do. It must be told `LEASE_LOST` each time, and no row may change.
"""

import argparse
import json
import os
import signal
import sys
import tempfile
from contextlib import nullcontext
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
from tests.core.faults.claims import do, planned
from tests.core.faults.naive_queue import unfenced
from tests.core.queue.oracle import Reader

TTL_S = 1
JUMP_MS = 2 * 3_600_000
ENDS = ("resume", "requeue", "block", "fail", "nothing")
HOST: dict[str, Any] = {"host": "h", "workload_classes": ["general"]}
SAID: dict[str, Any] = {"summary": "s", "next_step": "n", "evidence": ["e"]}


class SkewedClock(SystemClock):
    """The machine's clocks, with a wall clock that somebody set wrong."""

    def __init__(self, skew_ms: int) -> None:
        self.skew_ms = skew_ms

    def now_ms(self) -> int:
        return super().now_ms() + self.skew_ms


def skewed(data_dir: Path, skew_ms: int) -> Environment:
    """An environment whose wall clock is wrong by `skew_ms`."""
    return open_environment(Settings(data_dir=str(data_dir)), Surface.CLI, clock=SkewedClock(skew_ms))


def _zombie(data_dir: Path, number: int, skew_ms: int, said: Path) -> None:
    env = skewed(data_dir, skew_ms)
    context = do(env, "queue claim", session=f"S-{number}", ttl=TTL_S, **HOST)
    Path(f"{said}.claim").write_text(json.dumps(context))
    os.kill(os.getpid(), signal.SIGSTOP)
    lease: dict[str, Any] = {"lease": context["leaseId"]}
    tries: list[tuple[str, dict[str, Any]]] = [
        ("queue heartbeat", lease),
        *(("queue checkpoint", {**SAID, **lease, "status": to}) for to in ("in_progress", "done", "needs_recovery")),
        ("queue artifacts save", {**lease, "issue": context["issueId"], "kind": "k", "path": "p"}),
        *(("queue close", {**SAID, "context": json.dumps(context), "status": to}) for to in ("done", "ready")),
        ("queue advance", {**SAID, **lease, "status": "done"}),
    ]
    Random(number).shuffle(tries)
    told: list[str] = []
    for name, raw in tries:
        envelope = run(load_command(name), raw, env)
        told.append(f"{name} {'OK' if envelope.error is None else envelope.error.code}")
    said.write_text(json.dumps(told))


def raise_zombies(data_dir: Path, seed: int, number: int, store: str = "real") -> list[str]:
    """So many of them at once; answers what they were told, after judging it."""
    random = Random(seed)
    env = planned(data_dir, number)
    env.queue.close()
    pids = [_forked(data_dir, one, random.choice((-JUMP_MS, 0, JUMP_MS)), store) for one in range(number)]
    for pid in pids:
        assert os.WIFSTOPPED(os.waitpid(pid, os.WUNTRACED)[1])
    contexts = [json.loads((data_dir / f"said-{one}.claim").read_text()) for one in range(number)]
    _expired(data_dir, number)
    for context in contexts:
        end = random.choice(ENDS)
        raw: dict[str, Any] = {"issue_id": context["issueId"], "resolution": end, "reason": "r"}
        if end == "resume":
            raw |= HOST
        if end != "nothing":
            do(env, "queue recover", **raw)
    db = Database(env.queue.path, SystemClock(), read_only=True)
    reader = Reader(db)
    before = reader.rows(), reader.events()
    told: list[str] = []
    for one, pid in enumerate(pids):
        os.kill(pid, signal.SIGCONT)
        assert os.waitpid(pid, 0)[1] == 0, f"seed {seed}, zombie {one}"
        told += json.loads((data_dir / f"said-{one}").read_text())
    assert {word.rpartition(" ")[2] for word in told} == {"LEASE_LOST"}, f"seed {seed}: {told}"
    assert (reader.rows(), reader.events()) == before, f"seed {seed}: a zombie changed something"
    db.close()
    env.queue.close()
    return told


def _expired(data_dir: Path, number: int) -> None:
    """Reconcile by a clock that is wrong both ways, until every lease has run out by the monotonic one."""
    clock, found = SystemClock(), 0
    last = clock.monotonic() + 30
    environments = [skewed(data_dir, skew_ms) for skew_ms in (JUMP_MS, -JUMP_MS)]
    while found < number:
        assert clock.monotonic() < last, f"{found} of {number} leases expired"
        for env in environments:
            told = do(env, "queue reconcile")["needsRecovery"]
            now_ms = clock.monotonic() * 1000
            found += len(told)
            for one in told:
                lease = env.queue.read(lambda tx, one=one: tx.leases_of(one["issueId"])[-1])
                assert lease.acquired_at is not None
                assert lease.deadline_mono is not None
                assert lease.deadline_mono <= now_ms, "expired by the wall clock"
        clock.sleep(0.01)
    for env in environments:
        env.queue.close()


def _forked(data_dir: Path, number: int, skew_ms: int, store: str) -> int:
    pid = os.fork()
    if pid:
        return pid
    status = 70
    try:
        with unfenced() if store == "unfenced" else nullcontext():
            _zombie(data_dir, number, skew_ms, data_dir / f"said-{number}")
        status = 0
    finally:
        if status:
            sys.excepthook(*sys.exc_info())  # pyright: ignore[reportArgumentType]
        os._exit(status)


def main() -> int:
    """Raise as many as asked for, twenty at once."""
    parser = argparse.ArgumentParser(prog="python -m tests.core.faults.zombies")
    parser.add_argument("--seeds", type=int, default=200)
    asked = parser.parse_args()
    told = 0
    for seed in range(0, asked.seeds, 20):
        with tempfile.TemporaryDirectory() as scratch:
            told += len(raise_zombies(Path(scratch), seed, min(20, asked.seeds - seed)))
    print(f"{asked.seeds} zombies, {told} calls, all LEASE_LOST, no row changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
