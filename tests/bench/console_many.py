"""The console over a hundred thousand sessions and as many issues, while two hundred things a second change.

Beside it, where it can be had, what Textual's `DataTable` takes for the same list.
"""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from phelix_core.checks import Surface
from phelix_core.commands.environment import open_environment
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.commands.session_listing import SessionList
from phelix_core.queue.board import Board
from phelix_core.settings import Settings
from phelix_core.views.filter import filterable, parse
from tests.bench.console_rig import (
    COLS,
    ROWS,
    Figure,
    Storm,
    app_argv,
    beside_bare,
    console_argv,
    cpu_s,
    mark_of,
    ms,
    rss_mb,
    shown,
)
from tests.bench.listing import SESSIONS, fill
from tests.bench.queue_rig import large_queue
from tests.tui.pty_terminal import PtyTerminal

ISSUES = int(os.environ.get("PHELIX_BENCH_ISSUES", "100000"))
SLOW_LINK = 16_000
"""Bytes a second: a 128 kbit line, half of what a poor mobile connection gives."""
_SESSION_UPDATES, _QUEUE_UPDATES = 150, 50
_STARTS = 7
_CHANGES = 40
_KEYS = 20
_TABLE_WAIT_S, _TABLE_CHANGES = 20.0, 10
_CALM = "is:active -is:stale"
"""Sessions at the top of the list are stale, and a change moves them: those that only change are further down."""


class Fleet:
    """A data directory with both, and what changes it."""

    def __init__(self, folder: str) -> None:
        fill(folder, SESSIONS)
        Path(large_queue(folder, ISSUES)).rename(f"{folder}/queue.db")
        self.folder = folder
        settings = Settings(data_dir=folder, queue=f"{folder}/queue.db")
        self.env = open_environment(settings, Surface.CLI)
        active = self.listed(status="active", limit=2_000)
        self.on_screen = self.listed(where=_CALM, limit=20)[3:]
        self._active = [one for one in active[100:] if one not in self.on_screen]
        board = run(load_command("queue board"), {}, open_environment(settings, Surface.TUI)).result
        assert isinstance(board, Board)
        self._leases = [lease.id for lease in board.leases if lease.status == "active"]

    def listed(self, **asked: object) -> list[str]:
        """Ids of a list."""
        found = run(load_command("session list"), asked, self.env).result
        assert isinstance(found, SessionList)
        return [row.session_id for row in found.sessions]

    def update_session(self, session_id: str, step: str) -> None:
        """One durable checkpoint."""
        raw = {"session_id": session_id, "step": step}
        assert run(load_command("session checkpoint"), raw, self.env).error is None

    def update_issue(self, turn: int, summary: str) -> None:
        """One durable checkpoint of a held issue."""
        raw = {
            "lease": self._leases[turn % len(self._leases)],
            "status": "in_progress",
            "summary": summary,
            "next_step": "go on",
            "evidence": ["commit:4f1c2ab"],
        }
        failed = run(load_command("queue checkpoint"), raw, self.env).error
        assert failed is None, failed

    def storm(self) -> Storm:
        """Updates of random active sessions, and between them of held issues."""
        random, every = Random(3), (_SESSION_UPDATES + _QUEUE_UPDATES) // _QUEUE_UPDATES

        def change(turn: int) -> None:
            if turn % every == 0:
                self.update_issue(turn // every, f"u{turn}")
            else:
                self.update_session(random.choice(self._active), f"u{turn}")

        return Storm(_SESSION_UPDATES + _QUEUE_UPDATES, change)


def _changes(terminal: PtyTerminal, fleet: Fleet, count: int = _CHANGES, timeout: float = 20) -> list[float]:
    """Seconds from a rename into place to the changed cell, for sessions on the screen."""
    found: list[float] = []
    for number in range(count):
        session_id, step = fleet.on_screen[number % len(fleet.on_screen)], mark_of(number)
        found.append(shown(terminal, lambda one=session_id, step=step: fleet.update_session(one, step), step, timeout))
        time.sleep(0.1)
    return found


def _keys(terminal: PtyTerminal) -> list[float]:
    """Seconds from a movement key to the cursor in its new line."""
    found: list[float] = []
    for number in range(_KEYS):
        before = _cursor(terminal)
        terminal.send("k" if number % 2 else "j")
        start = time.perf_counter()
        terminal.wait_for(lambda seen, before=before: _cursor(seen) not in {before, None}, 20)
        found.append(time.perf_counter() - start)
        time.sleep(0.05)
    return found


def _cursor(terminal: PtyTerminal) -> int | None:
    """The line that the list's cursor is in."""
    return next((number for number, line in enumerate(terminal.lines()) if line.startswith("›")), None)


def _settles(terminal: PtyTerminal, act: Callable[[], object], seen: str) -> float:
    """Seconds from an act to a screen that shows something."""
    start = time.perf_counter()
    act()
    terminal.wait_for(seen, 30)
    return time.perf_counter() - start


def _filtering(fleet: Fleet) -> tuple[float, float]:
    """Seconds that the console's filter and order take over everything, in process."""
    now_ms, limit_ms = fleet.env.clock.now_ms(), fleet.env.settings.stale_after_ms
    found = run(load_command("session list"), {"limit": 0}, fleet.env).result
    assert isinstance(found, SessionList)
    subjects = [filterable(row.session_id, row) for row in found.sessions]
    accepts = parse("app=billing is:stale").predicate(now_ms, limit_ms)
    start = time.perf_counter()
    assert [subject for subject in subjects if accepts(subject)]
    filtered = time.perf_counter() - start
    keys = [(-subject.known.created_at_ms, subject.session_id) for subject in subjects if subject.known]
    Random(1).shuffle(keys)
    start = time.perf_counter()
    keys.sort()
    return filtered, time.perf_counter() - start


def _ours(fleet: Fleet) -> list[Figure]:
    """The console on a fast line."""
    first, ratio = beside_bare(console_argv(fleet.folder), "▲ stale", _STARTS)
    filtered, ordered = _filtering(fleet)
    with PtyTerminal(console_argv(fleet.folder), cols=COLS, rows=ROWS, answers=True) as terminal:
        start = time.perf_counter()
        terminal.wait_for(f"{SESSIONS:,} sessions", 120)
        everything = time.perf_counter() - start
        terminal.send("/", _CALM, "enter")
        terminal.wait_for("match", 20)
        quiet, keys = _changes(terminal, fleet), _keys(terminal)
        terminal.wait_quiet(0.3, 30)
        before, begun, cpu = terminal.count_bytes(), time.perf_counter(), cpu_s(terminal.process.pid)
        with fleet.storm() as storm:
            time.sleep(5)
            sent = (terminal.count_bytes() - before) / (time.perf_counter() - begun)
            stormy, busy_keys = _changes(terminal, fleet), _keys(terminal)
            share = (cpu_s(terminal.process.pid) - cpu) / (time.perf_counter() - begun)
        terminal.wait_quiet(0.3, 30)
        opened = _settles(terminal, lambda: terminal.send("3"), "· Queue ·")
        terminal.wait_quiet(0.3, 30)
        queue_keys = _keys(terminal)
        with fleet.storm():
            busy_queue_keys = _keys(terminal)
        terminal.wait_quiet(0.3, 30)
        narrowed = _settles(terminal, lambda: terminal.send("/", f"{ISSUES - 1}"), "1 of ")
        rss = rss_mb(terminal.process.pid)
    rate = f"{storm.rate:.0f} updates a second"
    return [
        ("first rows / bare Textual app, warm index", f"{ratio:.2f} x", "2 x", f"{first:.2f} s"),
        ("everything read and sorted, the queue too", f"{everything:.1f} s", "8 s", ""),
        ("rename to cell, quiet, p50 / p95", ms(quiet), "30 / 60 ms", ""),
        (f"rename to cell, {rate}, p50 / p95", ms(stormy), "- / 150 ms", ""),
        ("movement key to cursor, quiet, p50 / p95", ms(keys), "50 ms", ""),
        (f"movement key to cursor, {rate}, p50 / p95", ms(busy_keys), "50 ms", ""),
        ("Queue opened", f"{opened * 1000:.0f} ms", "", ""),
        ("movement key in Queue, quiet, p50 / p95", ms(queue_keys), "50 ms", ""),
        ("movement key in Queue, in the storm, p50 / p95", ms(busy_queue_keys), "50 ms", ""),
        ("filter of the Queue, typed to narrowed", f"{narrowed * 1000:.0f} ms", "", ""),
        ("filter over all sessions", f"{filtered * 1000:.0f} ms", "60 ms", ""),
        ("sort of all sessions", f"{ordered * 1000:.0f} ms", "250 ms", ""),
        ("in the storm: of a core; to the terminal", f"{share * 100:.0f} %; {sent:.0f} B/s", "", ""),
        ("resident, sessions alone", f"{_alone(fleet):.0f} MB", "250 MB", ""),
        ("resident, with the issues, after all this", f"{rss:.0f} MB", "", ""),
    ]


def _alone(fleet: Fleet) -> float:
    """Megabytes of a console that has read the sessions, and has no queue."""
    argv = [*console_argv(fleet.folder), "--queue", f"{fleet.folder}/none.db"]
    with PtyTerminal(argv, cols=COLS, rows=ROWS, answers=True) as terminal:
        terminal.wait_for(f"{SESSIONS:,} sessions", 120)
        terminal.wait_quiet(1.0, 30)
        return rss_mb(terminal.process.pid)


def _over_a_slow_link(fleet: Fleet) -> list[Figure]:
    """The console in the storm on a line of `SLOW_LINK`."""
    line = f"{SLOW_LINK * 8 // 1000} kbit/s"
    with PtyTerminal(
        console_argv(fleet.folder), cols=COLS, rows=ROWS, answers=True, bytes_a_second=SLOW_LINK
    ) as terminal:
        terminal.wait_for(f"{SESSIONS:,} sessions", 120)
        terminal.send("/", _CALM, "enter")
        terminal.wait_for("match", 30)
        terminal.wait_quiet(0.3, 60)
        with fleet.storm() as storm:
            seconds, keys = _changes(terminal, fleet), _keys(terminal)
    rate = f"{storm.rate:.0f} updates a second"
    return [
        (f"rename to cell over {line}, {rate}, p50 / p95", ms(seconds), "", ""),
        (f"movement key to cursor over {line}, {rate}, p50 / p95", ms(keys), "", ""),
    ]


def _table(fleet: Fleet) -> list[Figure]:
    """`DataTable` over the same sessions."""
    start = time.perf_counter()
    with PtyTerminal(app_argv("table_app.py", fleet.folder), cols=COLS, rows=ROWS, answers=True) as terminal:
        terminal.wait_for(f"{SESSIONS} in all", 300)
        terminal.wait_quiet(3.0, 120)
        settled = time.perf_counter() - start - 3.0
        before = terminal.count_bytes()
        quiet = _changes(terminal, fleet, 10)
        terminal.wait_quiet(0.3, 30)
        size = (terminal.count_bytes() - before) / 10
        rss = rss_mb(terminal.process.pid)
        try:
            with fleet.storm():
                time.sleep(2)
                busy = ms(_changes(terminal, fleet, _TABLE_CHANGES, _TABLE_WAIT_S))
        except AssertionError:
            busy = f"not in {_TABLE_WAIT_S:.0f} s"
    return [
        ("DataTable: everything on the screen and at rest", f"{settled:.1f} s", "", ""),
        ("DataTable: rename to cell, quiet, p50 / p95", ms(quiet), "", ""),
        ("DataTable: rename to cell in the storm", busy, "", ""),
        ("DataTable: one changed row", f"{size:,.0f} bytes", "", ""),
        ("DataTable: resident", f"{rss:.0f} MB", "", "sessions alone"),
    ]


def figures() -> list[Figure]:
    """All of them."""
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(folder)
        return [*_ours(fleet), *_over_a_slow_link(fleet), *_table(fleet)]
