"""Many processes on one queue: their rate beside raw transactions that write the same rows, and who gets how much.

python -m tests.bench queue
"""

import statistics
import time
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tests.bench import Row, median_ratio
from tests.bench.queue_rig import Raw, Rig, Written, copied, ready_queue, scratch, settle, statements

PROCESSES = 8
ROUNDS = 9
CYCLES = 25
"""Of each process in each round."""
CROWD = 32
WINDOW_S = 6.0
WINDOWS = 3

_spawn = get_context("spawn")


def _work(path: str, raw_path: str, orders: Connection) -> None:
    """A process that does as it is told: cycles of its own, or transactions that it is handed."""
    rig, raw = Rig(path), Raw(raw_path)
    rig.last_seq()
    orders.send(None)
    while True:
        match orders.recv():
            case ("cycles", count):
                for _ in range(count):
                    rig.cycle()
                orders.send(count)
            case ("write", transactions):
                orders.send(None)
                orders.recv()
                for transaction in transactions:
                    raw.write(transaction)
                orders.send(len(transactions))
            case ("until", deadline):
                done = 0
                while time.time() < deadline:
                    rig.cycle()
                    done += 1
                orders.send(done)
            case _:
                return


class Crowd:
    """Processes, told what to do all at once."""

    def __init__(self, count: int, path: str, raw_path: str) -> None:
        self._links: list[Connection] = []
        self._processes: list[Any] = []
        for _ in range(count):
            mine, theirs = _spawn.Pipe()
            process = _spawn.Process(target=_work, args=(path, raw_path, theirs), daemon=True)
            process.start()
            self._links.append(mine)
            self._processes.append(process)
        self.answers()

    def tell(self, *orders: object) -> None:
        """One order to each, or the same one to all."""
        for number, link in enumerate(self._links):
            link.send(orders[number % len(orders)])

    def answers(self) -> list[Any]:
        """What each of them says."""
        return [link.recv() for link in self._links]

    def end(self) -> None:
        """Let them go."""
        self.tell(("end",))
        for process in self._processes:
            process.join()


def _rate() -> Row:
    """Begin, checkpoint, close by eight processes; each round writes the rows of the round before it raw."""
    seconds: dict[str, list[float]] = {"ours": [], "raw": []}
    with scratch() as folder:
        path = ready_queue(folder, PROCESSES * CYCLES * (ROUNDS + 1) + PROCESSES)
        raw_path = copied(path, "raw.db")
        rig, crowd = Rig(path), Crowd(PROCESSES, path, raw_path)
        for _ in range(ROUNDS):
            before, start = rig.last_seq(), time.perf_counter()
            crowd.tell(("cycles", CYCLES))
            crowd.answers()
            seconds["ours"].append(time.perf_counter() - start)
            events = rig.queue.read(lambda tx, before=before: tx.events_since(before, limit=1_000_000))
            crowd.tell(
                *(("write", share) for share in _shares([(str(event.run_id), statements(event)) for event in events]))
            )
            crowd.answers()
            start = time.perf_counter()
            crowd.tell("go")
            crowd.answers()
            seconds["raw"].append(time.perf_counter() - start)
        crowd.end()
    ours, raw = ([PROCESSES * CYCLES / one for one in seconds[side][1:]] for side in ("ours", "raw"))
    return Row(
        name=f"begin, checkpoint, close, {PROCESSES} processes / raw transactions",
        ours=statistics.median(ours),
        baseline=statistics.median(raw),
        unit="/s",
        ratio=median_ratio(ours, raw),
        at_least=0.4,
    )


def _shares(written: list[tuple[str, Written]]) -> list[list[Written]]:
    """Every run's transactions to one process, equally many runs to each."""
    runs: dict[str, list[Written]] = {}
    for run_id, transaction in written:
        runs.setdefault(run_id, []).append(transaction)
    each = list(runs.values())
    return [[one for run in each[number::PROCESSES] for one in run] for number in range(PROCESSES)]


def _fairness() -> Row:
    """Jain's index of how many cycles each of 32 processes gets done in one window; 1 is the same for all."""
    found: list[float] = []
    with scratch() as folder:
        path = ready_queue(folder, 10_000)
        raw_path = copied(path, "raw.db")
        crowd = Crowd(CROWD, path, raw_path)
        for _ in range(WINDOWS):
            crowd.tell(("until", time.time() + WINDOW_S))
            done = crowd.answers()
            found.append(sum(done) ** 2 / (CROWD * sum(one * one for one in done)))
        crowd.end()
        settle(path)
        Path(raw_path).unlink()
    jain = statistics.median(found)
    return Row(
        name=f"fairness (Jain) at {CROWD} processes", ours=jain, baseline=1.0, unit="", ratio=jain, at_least=0.95
    )


def crowd_rows() -> list[Row]:
    """Rate and fairness."""
    return [_rate(), _fairness()]
