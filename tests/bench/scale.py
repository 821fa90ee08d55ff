"""The console over a hundred thousand sessions while two hundred a second change, as a terminal sees it.

python -m tests.bench scale          PHELIX_BENCH_SESSIONS chooses another number
"""

import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from random import Random
from typing import Self

from phelix_core.checks import Surface
from phelix_core.commands.environment import Environment, open_environment
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.commands.session_listing import SessionList
from phelix_core.settings import Settings
from phelix_core.views.filter import filterable, parse
from tests.bench.console import bare_argv, console_argv, cpu_s, rss_mb, until_shown
from tests.bench.listing import SESSIONS, fill
from tests.tui.pty_terminal import PtyTerminal

UPDATES_A_SECOND = 200
_STARTS = 3
_CHANGES = 40
_KEYS = 20


class Storm:
    """Durable updates of random active sessions, so many a second, from a thread, while it is entered."""

    def __init__(self, env: Environment, session_ids: list[str]) -> None:
        self._env, self._ids, self._done = env, session_ids, threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.made = 0

    def _run(self) -> None:
        checkpoint, random = load_command("session checkpoint"), Random(3)
        start = time.perf_counter()
        while not self._done.is_set():
            run(checkpoint, {"session_id": random.choice(self._ids), "step": f"u{self.made}"}, self._env)
            self.made += 1
            ahead = self.made / UPDATES_A_SECOND - (time.perf_counter() - start)
            if ahead > 0:
                self._done.wait(ahead)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()


def _shown(terminal: PtyTerminal, act: Callable[[], object], mark: str) -> float:
    """Seconds from an act to the bytes that show it."""
    before, wanted = terminal.count_bytes(), mark.encode()
    act()
    start = time.perf_counter()
    terminal.wait_for(lambda seen: wanted in seen.raw[before:], 20)
    return time.perf_counter() - start


def _changes(terminal: PtyTerminal, env: Environment, session_ids: list[str]) -> list[float]:
    """Seconds from a rename into place to the changed cell, for sessions on the screen."""
    checkpoint, found = load_command("session checkpoint"), list[float]()
    for number in range(_CHANGES):
        raw = {"session_id": session_ids[number % len(session_ids)], "step": f"zq{number:03}"}
        found.append(_shown(terminal, lambda raw=raw: run(checkpoint, raw, env), f"zq{number:03}"))
        time.sleep(0.1)
    return sorted(found)


def _keys(terminal: PtyTerminal) -> list[float]:
    """Seconds from a movement key to the first bytes that follow it."""
    found: list[float] = []
    for number in range(_KEYS):
        before = terminal.count_bytes()
        terminal.send("j" if number % 2 else "k")
        start = time.perf_counter()
        terminal.wait_for(lambda seen, before=before: seen.count_bytes() > before, 10)
        found.append(time.perf_counter() - start)
        time.sleep(0.05)
    return sorted(found)


def _listed(env: Environment, **asked: object) -> SessionList:
    found = run(load_command("session list"), asked, env).result
    assert isinstance(found, SessionList)
    return found


def _filtering(env: Environment) -> tuple[float, float]:
    """Seconds that the console's filter and order take over everything, in process."""
    now_ms, limit_ms = env.clock.now_ms(), env.settings.stale_after_ms
    subjects = [filterable(row.session_id, row) for row in _listed(env, limit=0).sessions]
    accepts = parse("app=billing is:stale").predicate(now_ms, limit_ms)
    start = time.perf_counter()
    assert [subject for subject in subjects if accepts(subject)]
    filtered = time.perf_counter() - start
    keys = [(-subject.known.created_at_ms, subject.session_id) for subject in subjects if subject.known]
    Random(1).shuffle(keys)
    start = time.perf_counter()
    keys.sort()
    return filtered, time.perf_counter() - start


def main() -> None:
    """Print the figures beside their budgets."""
    with tempfile.TemporaryDirectory() as folder:
        fill(folder, SESSIONS)
        env = open_environment(Settings(data_dir=folder), Surface.CLI)
        # Sessions at the top of the list are stale; those changed on the screen are made fresh ones at its active part.
        active = [row.session_id for row in _listed(env, status="active", limit=2_000).sessions]
        bare = statistics.median(until_shown(bare_argv(), "ready") for _ in range(_STARTS))
        first = statistics.median(until_shown(console_argv(folder), "▲ stale") for _ in range(_STARTS))
        filtered, ordered = _filtering(env)
        with PtyTerminal(console_argv(folder), cols=120, rows=40) as terminal:
            start = time.perf_counter()
            terminal.wait_for(f"{SESSIONS:,} sessions", 120)
            everything = time.perf_counter() - start
            terminal.send("/", "is:active -is:stale", "enter")
            terminal.wait_for("match", 20)
            on_screen = [row.session_id for row in _listed(env, where="is:active -is:stale", limit=20).sessions]
            quiet = _changes(terminal, env, on_screen[3:])
            keys = _keys(terminal)
            cpu, begun = cpu_s(terminal.process.pid), time.perf_counter()
            with Storm(env, active[100:]) as storm:
                stormy = _changes(terminal, env, on_screen[3:])
                busy_keys = _keys(terminal)
                passed = time.perf_counter() - begun
            share = (cpu_s(terminal.process.pid) - cpu) / passed
            rss = rss_mb(terminal.process.pid)
    told = (
        ("first rows / bare Textual app, warm index", f"{first / bare:.2f} x", "2 x", f"{first:.2f} s"),
        ("everything read and sorted", f"{everything:.1f} s", "8 s", ""),
        ("rename to cell, quiet, p50 / p95", _both(quiet), "30 / 60 ms", ""),
        (f"rename to cell, {storm.made / passed:.0f} updates a second, p50 / p95", _both(stormy), "- / 150 ms", ""),
        ("movement key to bytes, quiet, p50 / p95", _both(keys), "50 ms", ""),
        ("movement key to bytes, in the storm, p50 / p95", _both(busy_keys), "50 ms", ""),
        ("filter over all", f"{filtered * 1000:.0f} ms", "60 ms", ""),
        ("sort of all", f"{ordered * 1000:.0f} ms", "250 ms", ""),
        ("share of a core in the storm", f"{share * 100:.0f} %", "", ""),
        ("resident", f"{rss:.0f} MB", "250 MB", ""),
    )
    print(f"{SESSIONS:,} sessions")
    for name, figure, budget, more in told:
        print(f"{name:<58}{figure:>16}   budget {budget:<12}{more}")


def _both(seconds: list[float]) -> str:
    return f"{statistics.median(seconds) * 1000:.0f} / {seconds[int(len(seconds) * 0.95) - 1] * 1000:.0f} ms"


if __name__ == "__main__":
    main()
