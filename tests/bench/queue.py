"""The queue's verbs beside the same rows written raw, alone and by many processes; plans, pages.

    python -m tests.bench queue            PHELIX_BENCH_DIR chooses the file system

Everything is durable (WAL, synchronous FULL) on both sides. Where fsync is dear both sides wait for it and the ratio
flatters; on a memory file system it is free, and the ratio says what is computed.
"""

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from phelix_core.checks import Surface
from phelix_core.commands.environment import Environment, open_environment
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.settings import Settings
from tests.bench import Row, interleaved, median_ratio
from tests.bench.queue_crowd import crowd_rows
from tests.bench.queue_rig import (
    EVIDENCE,
    LAST,
    STEP,
    Raw,
    Rig,
    Statement,
    Written,
    batch_of,
    copied,
    ready_queue,
    scratch,
    settle,
    statements,
)
from tests.bench.records import by_hand

ROUNDS = 31
CYCLES = 20
"""In each round."""
PLANNED = 10_000
PLANS = 7
CHECKPOINTS = 50_000
PAGES = 31


def _did(env: Environment, name: str, **raw: object) -> Any:
    envelope = run(load_command(name), raw, env)
    assert envelope.error is None, envelope.error
    return envelope.result


def _cycles() -> Row:
    """Begin, checkpoint, close by one process; the raw side writes what ours has just written."""
    with scratch() as folder:
        path = ready_queue(folder, 2_000)
        raw, rig = Raw(copied(path, "raw.db")), Rig(path)
        written: list[Written] = []

        def ours() -> None:
            for _ in range(CYCLES):
                rig.cycle()

        def hand() -> None:
            for transaction in written:
                raw.write(transaction)

        seconds: dict[str, list[float]] = {"ours": [], "raw": []}
        for _ in range(ROUNDS):
            before = rig.last_seq()
            found = interleaved({"ours": ours}, 1)["ours"]
            events = rig.queue.read(lambda tx, before=before: tx.events_since(before, limit=1_000_000))
            written[:] = [statements(event) for event in events]
            assert len(written) == 3 * CYCLES, "one event a verb"
            seconds["ours"] += found
            seconds["raw"] += interleaved({"raw": hand}, 1)["raw"]
    return _rates("begin, checkpoint, close, 1 process / raw transactions", seconds, 0.4)


def _rates(name: str, seconds: dict[str, list[float]], at_least: float) -> Row:
    """Cycles a second."""
    ours, raw = ([CYCLES / one for one in seconds[side][2:]] for side in ("ours", "raw"))
    return Row(
        name=name,
        ours=statistics.median(ours),
        baseline=statistics.median(raw),
        unit="/s",
        ratio=median_ratio(ours, raw),
        at_least=at_least,
    )


def _with_records() -> Row:
    """The same through the commands, with a session record for each claim, beside the rows and records by hand."""
    with scratch() as folder:
        path = ready_queue(folder, 2_000)
        raw, hand = Raw(copied(path, "raw.db")), f"{folder}/by-hand"
        Path(hand).mkdir()
        env = open_environment(Settings(data_dir=f"{folder}/data", queue=path), Surface.CLI)
        rig, sessions = Rig(path), Path(f"{folder}/data/sessions")
        claimed = {"host": "build-7", "workload_classes": ("default",)}
        step, last = ({**_report(report)} for report in (STEP, LAST))
        done: list[tuple[str, bytes, bytes]] = []

        def ours() -> None:
            for _ in range(CYCLES):
                context = _did(env, "queue claim", **claimed)
                record = sessions / f"{context['sessionId']}.json"
                opened = record.read_bytes()
                _did(env, "queue checkpoint", lease=context["leaseId"], **step)
                _did(env, "queue close", lease=context["leaseId"], **last)
                done.append((record.name, opened, record.read_bytes()))

        written: list[Written] = []

        def by_hands() -> None:
            for (name, opened, closed), place in zip(done, range(0, len(written), 3), strict=True):
                raw.write(written[place])
                by_hand(hand, name, opened)
                raw.write(written[place + 1])
                raw.write(written[place + 2])
                by_hand(hand, name, closed)

        seconds: dict[str, list[float]] = {"ours": [], "raw": []}
        for _ in range(ROUNDS):
            before = rig.last_seq()
            done.clear()
            seconds["ours"] += interleaved({"ours": ours}, 1)["ours"]
            events = rig.queue.read(lambda tx, before=before: tx.events_since(before, limit=1_000_000))
            written[:] = [statements(event) for event in events]
            seconds["raw"] += interleaved({"raw": by_hands}, 1)["raw"]
    return _rates("the same through the commands, with session records / by hand", seconds, 0.6)


def _report(report: Any) -> dict[str, object]:
    members = ("status", "summary", "next_step")
    return {**{name: getattr(report, name) for name in members}, "evidence": EVIDENCE}


def _plans() -> list[Row]:
    """A plan beside one transaction that inserts the same rows in bulk; with and without reading the batch strictly."""
    seconds: dict[str, list[float]] = {"verb": [], "command": [], "bulk": []}
    with scratch() as folder:
        path = f"{folder}/queue.db"
        rig = Rig(path)
        rig.set_up("shards")
        rig.queue.close()
        settle(path)
        batch = batch_of(PLANNED, PLANNED // 100)
        text = json.dumps(batch)
        for turn in range(PLANS):
            verb, command, bulk = (copied(path, f"{name}-{turn}.db") for name in ("verb", "command", "bulk"))
            rig, raw = Rig(verb), Raw(bulk)
            rig.last_seq()
            seconds["verb"] += _timed(lambda rig=rig: rig.plan(batch))
            env = open_environment(Settings(data_dir=f"{folder}/data", queue=command), Surface.CLI)
            seconds["command"] += _timed(lambda env=env: _did(env, "queue plan", batch=text, campaign="shards"))
            (event,) = rig.queue.read(lambda tx: tx.events_since(tx.last_seq() - 1, limit=2))
            groups = _grouped(statements(event))
            seconds["bulk"] += _timed(lambda raw=raw, groups=groups: _bulk(raw, groups))
            rig.queue.close()
            env.queue.close()
            raw.close()
            for used in (verb, command, bulk):
                for name in Path(folder).glob(f"{Path(used).name}*"):
                    name.unlink()
    names = {
        "verb": f"plan of {PLANNED:,} issues, batch read and planned / bulk insert",
        "command": "the same through the command, from JSON text",
    }
    return [
        Row(
            name=told,
            ours=statistics.median(seconds[name]) * 1e3,
            baseline=statistics.median(seconds["bulk"]) * 1e3,
            unit="ms",
            ratio=median_ratio(seconds[name], seconds["bulk"]),
            at_most=3.0,
        )
        for name, told in names.items()
    ]


def _timed(act: Callable[[], object]) -> list[float]:
    start = time.perf_counter()
    act()
    return [time.perf_counter() - start]


def _grouped(written: Written) -> dict[str, list[tuple[Any, ...]]]:
    groups: dict[str, list[tuple[Any, ...]]] = {}
    for sql, values in written:
        groups.setdefault(sql, []).append(values)
    return groups


def _bulk(raw: Raw, groups: dict[str, list[tuple[Any, ...]]]) -> None:
    raw.db.execute("BEGIN IMMEDIATE")
    for sql, rows in groups.items():
        raw.db.executemany(sql, rows)
    raw.db.execute("COMMIT")


def _pages(asked: str, told: str) -> Row:
    """One page of an issue with many checkpoints beside the same page of one with fifty."""
    with scratch() as folder:
        path = ready_queue(folder, 10)
        rig = Rig(path)
        held = {name: rig.claim() for name in ("many", "few")}
        raw = Raw(path)
        for name, count in (("many", CHECKPOINTS), ("few", 50)):
            raw.write(_checkpoints(held[name], count))
        raw.close()
        env = open_environment(Settings(data_dir=f"{folder}/data", queue=path), Surface.CLI)
        shown = load_command(asked)

        def show(name: str) -> Callable[[], None]:
            def work() -> None:
                for _ in range(10):
                    assert run(shown, {"issue_id": held[name]["issueId"]}, env).document()["status"] == "succeeded"

            return work

        works = {name: show(name) for name in held}
        interleaved(works, 2)
        seconds = interleaved(works, PAGES)
    return Row(
        name=f"{told} of an issue with {CHECKPOINTS:,} checkpoints / with 50",
        ours=statistics.median(seconds["many"]) * 1e2,
        baseline=statistics.median(seconds["few"]) * 1e2,
        unit="ms",
        ratio=median_ratio(seconds["many"], seconds["few"]),
        at_most=1.5,
    )


def _checkpoints(context: Any, count: int) -> list[Statement]:
    """Checkpoints and their events, as so many calls would have left them."""
    known = (context["issueId"], context["runId"], context["leaseId"], context["projectId"], count)
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?5)"
    return [
        (
            f"""{numbers} INSERT INTO checkpoints SELECT printf('K-%s-%d', ?3, i),
            (SELECT max(seq) FROM events) + i, ?2, ?1, ?3, 'checkpoint', 'Shard ' || i || ' answers.', 'in_progress',
            'The next shard.', '[]', i FROM n WHERE ?4 <> ''""",
            known,
        ),
        (
            f"""{numbers} INSERT INTO events SELECT (SELECT max(seq) FROM events) + i, printf('E-%s-%d', ?3, i),
            'checkpoint_payload', ?4, NULL, ?1, ?2, 'cli', i, '{{}}', '[]' FROM n""",
            known,
        ),
    ]


def _looks() -> list[Row]:
    return [_pages("queue show", "queue show"), _pages("queue audit", "one page of inspect_audit")]


def rows() -> list[Row]:
    """One process, many, plans, pages."""
    return [_cycles(), *crowd_rows(), _with_records(), *_plans(), *_looks()]
