"""Claim, close with promotion, reconcile, next_action: from 1,000 to a million issues, beside themselves at 1,000.

    python -m tests.bench queue_scale        PHELIX_BENCH_ISSUES=100000 stops earlier

A larger file costs any transaction more: the growth of a raw transaction that writes the same rows into a copy of
the same file is taken out.
"""

import os
import statistics
import time
from collections.abc import Callable
from typing import Any

from tests.bench import Row
from tests.bench.queue_rig import Raw, Rig, copied, large_queue, scratch

LARGEST = int(os.environ.get("PHELIX_BENCH_ISSUES", "1000000"))
SIZES = tuple(size for size in (1_000, 10_000, 100_000, 1_000_000) if size <= LARGEST)
ROUNDS = 60
WARM = 10
BUDGET = 1.3


class Pair:
    """A queue of one size, and a copy into which the same rows are written raw."""

    def __init__(self, folder: str, size: int) -> None:
        path = large_queue(folder, size)
        self.raw = Raw(copied(path, f"raw-{size}.db"))
        self.rig = Rig(path)
        self.ours: dict[str, list[float]] = {}
        self.hand: dict[str, list[float]] = {}
        self.rig.reconcile()

    def step(self, name: str, act: Callable[[], Any]) -> Any:
        """Time one verb and the raw transaction that writes what it wrote."""
        seconds: list[float] = []

        def timed() -> Any:
            start = time.perf_counter()
            answer = act()
            seconds.append(time.perf_counter() - start)
            return answer

        written, answer = self.rig.written_by(timed)
        start = time.perf_counter()
        self.raw.write(written)
        self.hand.setdefault(name, []).append(time.perf_counter() - start)
        self.ours.setdefault(name, []).append(seconds[0])
        return answer

    def round(self) -> None:
        """One of each verb."""
        self.look("next_action", self.rig.advice)
        context = self.step("claim", self.rig.claim)
        closed = self.step("close with promotion", lambda: self.rig.close(context))
        assert closed["promotedIssueIds"], "every issue that is closed here keeps one back"
        self.step("reconcile, nothing stale", self.rig.reconcile)
        context = self.rig.written_by(self.rig.claim)
        self.raw.write(context[0])
        self._forget(context[1]["leaseId"])
        found = self.step("reconcile, one stale", self.rig.reconcile)
        assert len(found["needsRecovery"]) == 1
        self._requeue(found["needsRecovery"][0]["issueId"])

    def look(self, name: str, act: Callable[[], Any]) -> None:
        """Time a question; beside it, one read transaction of the copy."""
        start = time.perf_counter()
        act()
        self.ours.setdefault(name, []).append(time.perf_counter() - start)
        start = time.perf_counter()
        self.raw.read()
        self.hand.setdefault(name, []).append(time.perf_counter() - start)

    def _forget(self, lease_id: str) -> None:
        """Let a lease expire."""
        for raw in (self.raw, Raw(self.rig.queue.path)):
            raw.write([("UPDATE leases SET deadline_mono = 0 WHERE id = ?", (lease_id,))])
            if raw is not self.raw:
                raw.close()

    def _requeue(self, issue_id: str) -> None:
        written, _ = self.rig.written_by(lambda: self.rig.requeue(issue_id))
        self.raw.write(written)


def rows() -> list[Row]:
    """One row a verb and size."""
    with scratch() as folder:
        pairs = {size: Pair(folder, size) for size in SIZES}
        for _ in range(ROUNDS):
            for pair in pairs.values():
                pair.round()
    small, found = pairs[SIZES[0]], list[Row]()
    for name in small.ours:
        for size in SIZES[1:]:
            ours, base = _median(pairs[size].ours[name]), _median(small.ours[name])
            growth = _median(pairs[size].hand[name]) / _median(small.hand[name])
            found.append(
                Row(
                    name=f"{name} at {size:,} / at {SIZES[0]:,}, raw growth {growth:.2f} out",
                    ours=ours * 1e6,
                    baseline=base * 1e6,
                    unit="µs",
                    ratio=ours / base / growth,
                    at_most=BUDGET,
                )
            )
    return found


def _median(seconds: list[float]) -> float:
    return statistics.median(seconds[WARM:])
