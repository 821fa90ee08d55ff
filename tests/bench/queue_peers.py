"""Claim and close beside the take and acknowledge of other queues on SQLite, 15,000 queued, at equal durability.

    python -m tests.bench queue_peers

Once as filled, once after as many again are done: what a queue keeps of its past costs it something or not.
All write ahead with synchronous FULL: litequeue sets NORMAL and is set to FULL after it is opened; huey takes
`fsync=True`; persist-queue keeps SQLite's default, FULL. litequeue and persist-queue acknowledge; huey's storage has
neither lease nor acknowledgement and stands beside without a budget. procrastinate and DBOS need PostgreSQL, are no
local file, and are not measured here.
"""

import statistics
from collections.abc import Callable
from importlib import import_module
from typing import Any

from tests.bench import Row, interleaved, median_ratio
from tests.bench.queue_rig import Raw, Rig, ready_queue, scratch

QUEUED = 15_000
ROUNDS = 21
TAKEN = 20
"""In each round."""
PAYLOAD = "x" * 330

Work = Callable[[], None]


def _ours(folder: str, done: int) -> Work:
    path = ready_queue(folder, done + QUEUED)
    raw = Raw(path)
    raw.write([("UPDATE issues SET status = 'done' WHERE rowid <= ?", (done,))])
    raw.close()
    rig = Rig(path)

    def work() -> None:
        for _ in range(TAKEN):
            rig.close(rig.claim())

    return work


def _litequeue(folder: str, done: int) -> Work:
    queue: Any = import_module("litequeue").LiteQueue(f"{folder}/litequeue.db")
    queue.conn.execute("BEGIN")
    for _ in range(done + QUEUED):
        queue.put(PAYLOAD)
    queue.conn.execute(f"UPDATE {queue.table} SET status = 2 WHERE rowid <= ?", (done,))
    queue.conn.execute("COMMIT")
    queue.conn.execute("PRAGMA synchronous=FULL")
    assert queue.conn.execute("PRAGMA synchronous").fetchone()[0] == 2

    def work() -> None:
        for _ in range(TAKEN):
            queue.done(queue.pop().message_id)

    return work


def _persist_queue(folder: str, done: int) -> Work:
    module: Any = import_module("persistqueue")
    queue: Any = module.SQLiteAckQueue(f"{folder}/persist", auto_commit=True)
    for connection in (queue._putter, queue._getter):
        assert connection.execute("PRAGMA synchronous").fetchone()[0] == 2
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    data = queue._serializer.dumps(PAYLOAD)
    with queue._putter:
        queue._putter.executemany(queue._sql_insert, [(data, 0.0)] * (done + QUEUED))
        queue._putter.execute(
            f"UPDATE {queue._table_name} SET status = {module.sqlackqueue.AckStatus.acked} WHERE _id <= ?", (done,)
        )
    queue.total = queue._count()

    def work() -> None:
        for _ in range(TAKEN):
            item = queue.get(block=False, raw=True)
            queue.ack(id=item["pqid"])

    return work


def _huey(folder: str, _: int) -> Work:
    storage: Any = import_module("huey.storage").SqliteStorage(filename=f"{folder}/huey.db", fsync=True)
    assert storage.conn.execute("PRAGMA synchronous").fetchone()[0] == 2
    with storage.db(commit=True) as cursor:
        rows = [(storage.name, PAYLOAD.encode(), 0.0) for _ in range(QUEUED)]
        cursor.executemany("INSERT INTO task (queue, data, priority) VALUES (?, ?, ?)", rows)

    def work() -> None:
        for _ in range(TAKEN):
            assert storage.dequeue() is not None

    return work


_PEERS: dict[str, tuple[Callable[[str, int], Work], str]] = {
    "litequeue": (_litequeue, "claim + close / litequeue pop + done"),
    "persistqueue": (_persist_queue, "claim + close / persist-queue get + ack"),
    "huey": (_huey, "claim + close / huey dequeue alone"),
}


def rows() -> list[Row]:
    """One row a peer that is installed, without a past and with one."""
    return [*_beside(0), *_beside(QUEUED)]


def _beside(done: int) -> list[Row]:
    with scratch() as folder:
        works = {"ours": _ours(folder, done)}
        for name, (make, _) in _PEERS.items():
            try:
                import_module(name)
            except ImportError:
                print(f"{name} is not installed: pip install '.[bench]'")
            else:
                works[name] = make(folder, done)
        interleaved(works, 2)
        seconds = interleaved(works, ROUNDS)
    rates = {name: [TAKEN / one for one in found] for name, found in seconds.items()}
    return [
        Row(
            name=f"{told}, {QUEUED:,} queued, {done:,} done",
            ours=statistics.median(rates["ours"]),
            baseline=statistics.median(rates[name]),
            unit="/s",
            ratio=median_ratio(rates["ours"], rates[name]),
            at_least=None if name == "huey" else 1.0,
        )
        for name, (_, told) in _PEERS.items()
        if name in rates
    ]
