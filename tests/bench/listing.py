"""Listing a hundred thousand sessions: one call beside the same call at ten, and the first listing.

    python -m tests.bench listing          100,000 records
    PHELIX_BENCH_SESSIONS=10000 python -m tests.bench listing

The records are written without fsync: what is measured is reading them.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from random import Random

from phelix_core.checks import Surface
from phelix_core.commands.environment import Environment, open_environment
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.sessions import transitions
from phelix_core.sessions.model import COMPLETED, Actor, Session, encode, record_name
from phelix_core.sessions.transitions import References, Stamp
from phelix_core.settings import Settings
from tests.bench import Row, compile_bytecode, interleaved, median_ratio, plain_environment

SESSIONS = int(os.environ.get("PHELIX_BENCH_SESSIONS", "100000"))
ROUNDS = 15
UPDATES_A_SECOND = 50
_PHELIX = str(Path(sys.executable).with_name("phelix"))
_APPS = ("billing", "auth", "search", "ledger", "gateway")


def record(random: Random, at_ms: int, number: int) -> Session:
    """A session of nine events, some 2 KB, seven in ten closed."""
    actor = Actor(type="cli", id=None, authenticated=False)
    session = transitions.create(
        f"ses_{random.getrandbits(64):016x}",
        actor,
        Stamp(at_ms=at_ms, via="cli"),
        title=f"roll out service {number}",
        project="northwind",
        app=random.choice(_APPS),
    )
    for turn in range(8):
        stamp = Stamp(at_ms=at_ms + 60_000 * (turn + 1), via="cli")
        note = f"host {turn} answers its health check"
        session = transitions.checkpoint(session, stamp, step=f"step {turn}", note=note, linked=References())
    if random.random() < 0.7:
        stamp = Stamp(at_ms=at_ms + 600_000, via="cli")
        return transitions.close(session, stamp, COMPLETED, text="verified", linked=References())
    return session


def fill(data_dir: str, sessions: int) -> None:
    """Write records straight into the folder."""
    folder = Path(data_dir) / "sessions"
    folder.mkdir(parents=True, mode=0o700)
    random, now_ms = Random(7), time.time_ns() // 1_000_000
    for number in range(sessions):
        made = record(random, now_ms - random.randrange(86_400_000 * 30), number)
        (folder / record_name(made.session_id)).write_bytes(encode(made))


def _call(data_dir: str, *argv: str) -> None:
    subprocess.run(
        [_PHELIX, *argv, "--json", "--data-dir", data_dir],
        env=plain_environment(),
        stdout=subprocess.DEVNULL,
        check=True,
    )


class _Updates:
    """Fifty durable updates a second, from a thread of its own, while it is entered."""

    def __init__(self, env: Environment, session_ids: list[str]) -> None:
        self._env, self._ids, self._done = env, session_ids, threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        checkpoint = load_command("session checkpoint")
        number = 0
        while not self._done.wait(1 / UPDATES_A_SECOND):
            run(checkpoint, {"session_id": self._ids[number % len(self._ids)], "step": f"u{number}"}, self._env)
            number += 1

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()


def _first(data_dir: str) -> tuple[float, float]:
    """Seconds of the first listing, the index made, and of reading and parsing the same files once."""
    env = open_environment(Settings(data_dir=data_dir), Surface.CLI)
    start = time.perf_counter()
    count = sum(1 for _ in env.sessions.load_all())
    parsed = time.perf_counter() - start
    assert count == SESSIONS
    start = time.perf_counter()
    assert run(load_command("session list"), {"limit": 20}, env).error is None
    return time.perf_counter() - start, parsed


def _active(env: Environment) -> list[str]:
    found = run(load_command("session list"), {"status": "active", "limit": 150}, env).document()["result"]
    assert isinstance(found, dict)
    return [row["session_id"] for row in found["sessions"]]  # pyright: ignore[reportUnknownVariableType]


def rows() -> list[Row]:
    """First listing; list and show, quiet and while updates land."""
    compile_bytecode()
    with tempfile.TemporaryDirectory() as scratch:
        many, few = f"{scratch}/many", f"{scratch}/few"
        fill(many, SESSIONS)
        fill(few, 10)
        first, parsed = _first(many)
        size = f"at {SESSIONS:,} sessions"
        found = [
            Row(name=f"first listing {size}", ours=first, baseline=parsed, unit="s", ratio=first / parsed, at_most=1.5)
        ]
        env = open_environment(Settings(data_dir=many), Surface.CLI)
        active = _active(env)
        calls = {"session list --limit 20": ("session", "list", "--limit", "20")}
        for name, argv in calls.items():
            found.append(_beside(f"{name} {size}", many, few, argv, 1.5))
            with _Updates(env, active):
                found.append(_beside(f"{name} {size}, {UPDATES_A_SECOND} updates a second", many, few, argv, 4.0))
        shown = {many: active[0], few: env.sessions.ids()[0]}
        few_env = open_environment(Settings(data_dir=few), Surface.CLI)
        shown[few] = few_env.sessions.ids()[0]
        found.append(_shown(f"session show {size}", shown, many, few))
    return found


def _beside(name: str, many: str, few: str, argv: tuple[str, ...], at_most: float) -> Row:
    seconds = interleaved({"many": lambda: _call(many, *argv), "few": lambda: _call(few, *argv)}, ROUNDS)
    return _row(name, seconds, at_most)


def _shown(name: str, shown: dict[str, str], many: str, few: str) -> Row:
    works = {
        "many": lambda: _call(many, "session", "show", shown[many]),
        "few": lambda: _call(few, "session", "show", shown[few]),
    }
    return _row(name, interleaved(works, ROUNDS), 1.5)


def _row(name: str, seconds: dict[str, list[float]], at_most: float) -> Row:
    ours, baseline = seconds["many"], seconds["few"]
    return Row(
        name=name,
        ours=statistics.median(ours) * 1000,
        baseline=statistics.median(baseline) * 1000,
        unit="ms",
        ratio=median_ratio(ours, baseline),
        at_most=at_most,
    )
