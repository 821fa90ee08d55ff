"""Sweeps of the queue: the same verb again and again, with a fault at each system call in turn.

    python -m tests.core.faults.queue_sweeps    every call of every verb, killed and failed in each way

Whatever happened, the queue is the old one or the new one, whole: it passes the engine's own check, its journal
tells every row, what was acknowledged is there, what was refused changed nothing, and the next write works.
"""

import shutil
import sys
import tempfile
from itertools import count
from pathlib import Path
from typing import Any

from phelix_core.clock import SystemClock
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.sqlite import Database
from tests.core.faults.claims import do, planned, queue_of
from tests.core.faults.nursery import Nursery, Told
from tests.core.faults.shim import ERRNOS
from tests.core.faults.sweeps import INJECTED, Swept
from tests.core.faults.tracing import traced
from tests.core.queue.oracle import Reader, judge_gates, judge_rows, no_rows
from tests.core.queue.oracle import apply as replayed

CLAIM, CHECKPOINT, CLOSE = "queue claim", "queue checkpoint", "queue close"
VERBS = (CLAIM, CHECKPOINT, CLOSE)
SAID: dict[str, Any] = {"summary": "s", "next_step": "n", "evidence": ["e"]}
HOST: dict[str, Any] = {"host": "h", "workload_classes": ["general"], "agent": "a"}
_MAY_FAIL = {"OK", "FILESYSTEM_ERROR", "OUTCOME_UNKNOWN"}
"""And `QUEUE_CORRUPT` where a page cannot be read: the engine takes that for a damaged file system."""
_numbers = count(1)


class Stage:
    """A queue before a verb, copied for each trial."""

    def __init__(self, scratch: Path, verb: str) -> None:
        self.scratch, self.verb = scratch, verb
        self.folder = scratch / f"stage-{next(_numbers)}"
        env = planned(self.folder, 3)
        self.lease = ""
        if verb != CLAIM:
            self.lease = do(env, CLAIM, session="S-1", **HOST)["leaseId"]
        env.queue.close()
        self.seq = len(_events(self.folder))

    def raw(self) -> dict[str, Any]:
        """What the verb is told."""
        if self.verb == CLAIM:
            return {**HOST, "session": "S-1"}
        return {**SAID, "lease": self.lease, "status": "in_progress" if self.verb == CHECKPOINT else "done"}

    def trial(self, store: str) -> dict[str, Any]:
        """A case for the nursery, over a copy."""
        data_dir = self.scratch / f"trial-{next(_numbers)}"
        shutil.copytree(self.folder, data_dir)
        out = f"{data_dir}.out"
        return {"data_dir": str(data_dir), "store": store, "command": self.verb, "raw": self.raw(), "out": out}

    def judge(self, case: dict[str, Any], told: Told, mode: str, whole: int, hit: str) -> None:
        """Assert what must be true after the fault `mode`; the verb makes `whole` events."""
        assert told.noise == "", told.noise
        may = _MAY_FAIL | ({"QUEUE_CORRUPT"} if (mode, hit) == ("EIO", "pread64") else set[str]())
        assert told.code in ({"", "OK"} if mode == "kill" else may), told
        data_dir = Path(case["data_dir"])
        assert _checked(data_dir) == [("ok",)]
        events = _events(data_dir)
        made = len(events) - self.seq
        assert made in {0, whole}, f"{made} of {whole} events"
        assert told.code != "OK" or made == whole, "acknowledged and lost"
        assert told.code in {"", "OK", "OUTCOME_UNKNOWN"} or made == 0, "refused and yet changed"
        self._told_by_the_journal(data_dir, events)
        env = queue_of(data_dir)
        envelope = run(load_command(self.verb), self.raw(), env)
        expected = "LEASE_LOST" if self.verb == CLOSE and made else None
        assert (envelope.error.code if envelope.error else None) == expected, "the next write does not work"
        env.queue.close()
        shutil.rmtree(data_dir)

    def _told_by_the_journal(self, data_dir: Path, events: list[dict[str, Any]]) -> None:
        db = Database(f"{data_dir}/queue.db", SystemClock(), read_only=True)
        rows, told = Reader(db).rows(), no_rows()
        db.close()
        for place, event in enumerate(events, 1):
            assert event["seq"] == place
            replayed(told, event)
        assert told == rows
        judge_rows(rows)
        judge_gates(rows)


def _checked(data_dir: Path) -> list[Any]:
    db = Database(f"{data_dir}/queue.db", SystemClock())
    try:
        return db.ask("PRAGMA integrity_check")
    finally:
        db.close()


def _events(data_dir: Path) -> list[dict[str, Any]]:
    db = Database(f"{data_dir}/queue.db", SystemClock(), read_only=True)
    try:
        return Reader(db).events()
    finally:
        db.close()


def sweep(
    nursery: Nursery, scratch: Path, verb: str, mode: str, store: str = "real", *, every: int = 1, first: int = 0
) -> Swept:
    """Fault `mode` at each system call of `verb`, or at every so-many-th of them."""
    stage = Stage(scratch, verb)
    plain, calls = traced(nursery, case := stage.trial(store))
    assert plain.code == "OK", plain
    whole = len(_events(Path(case["data_dir"]))) - stage.seq
    told: dict[str, int] = {}
    hit = 0
    if mode != "kill":  # a lock is had or not had: a local disk that is full or broken does not refuse one
        calls = [call for call in calls if call.name != "fcntl"]
    for call in calls[first::every]:
        case = stage.trial(store)
        one, _ = traced(nursery, case, "-e", f"inject={call.name}:{INJECTED[mode]}:when={call.number}")
        try:
            stage.judge(case, one, mode, whole, call.name)
        except Exception as broken:
            raise AssertionError(f"{verb}, {mode} at {call.name} ({call.number}) {call.shown}: {broken}") from broken
        told[one.code] = told.get(one.code, 0) + 1
        hit += 1
    return Swept(hit, told)


def main() -> int:
    """Sweep everything and print what came of it."""
    with Nursery() as nursery, tempfile.TemporaryDirectory() as scratch:
        for verb in VERBS:
            for mode in ("kill", *ERRNOS):
                print(f"{verb:18} {mode:7} {sweep(nursery, Path(scratch), verb, mode)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
