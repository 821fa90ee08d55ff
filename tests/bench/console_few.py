"""The console over 32 sessions, as a terminal sees it: start, the way of a change to the screen, bytes, idleness."""

import statistics
import tempfile
import time

from phelix_core.checks import Surface
from phelix_core.clock import SystemClock
from phelix_core.commands.demo import DemoFleet
from phelix_core.commands.environment import Environment, open_environment
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.commands.session_listing import SessionList
from phelix_core.settings import Settings
from tests.bench import compile_bytecode
from tests.bench.console_rig import (
    COLS,
    ROWS,
    Figure,
    beside_bare,
    console_argv,
    cpu_s,
    mark_of,
    ms,
    rss_mb,
    shown,
)
from tests.tui.pty_terminal import PtyTerminal

_STARTS = 15
_CHANGES = 40
_CALM_S = 6.0
"""A console that nobody writes to: its watch steps slower after five seconds of silence."""
_IDLE_S = 10.0


class PastClock(SystemClock):
    """Days ago: a fleet whose ages do not change while it is watched."""

    def now_ms(self) -> int:
        return super().now_ms() - 5 * 86_400_000


def changes(terminal: PtyTerminal, env: Environment, session_ids: list[str]) -> tuple[list[float], list[int]]:
    """Seconds from a rename into place to the changed cell, and the bytes it took, one change after the other."""
    checkpoint, seconds, sizes = load_command("session checkpoint"), list[float](), list[int]()
    for number in range(_CHANGES):
        terminal.wait_quiet(0.3, 30)
        before, step = terminal.count_bytes(), mark_of(number)
        raw = {"session_id": session_ids[number % len(session_ids)], "step": step}
        seconds.append(shown(terminal, lambda raw=raw: run(checkpoint, raw, env), step))
        terminal.wait_quiet(0.1, 10)
        sizes.append(terminal.count_bytes() - before)
    return seconds, sizes


def _on_screen(env: Environment) -> list[str]:
    """Active sessions: in a fleet of 32 all of them are on a screen of 40 lines."""
    found = run(load_command("session list"), {"status": "active"}, env).result
    assert isinstance(found, SessionList)
    return [summary.session_id for summary in found.sessions]


def idle(terminal: PtyTerminal) -> tuple[float, float]:
    """Share of a core, and bytes a second, while nothing happens."""
    terminal.wait_quiet(_CALM_S, 60)
    cpu, sent, start = cpu_s(terminal.process.pid), terminal.count_bytes(), time.perf_counter()
    time.sleep(_IDLE_S)
    passed = time.perf_counter() - start
    return (cpu_s(terminal.process.pid) - cpu) / passed, (terminal.count_bytes() - sent) / passed


def figures() -> list[Figure]:
    """All of them."""
    compile_bytecode()
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=folder, stale_after_ms=3_600_000)
        DemoFleet(open_environment(settings, Surface.CLI, clock=PastClock())).write(32)
        env = open_environment(settings, Surface.CLI, clock=PastClock())
        shell_s, shell = beside_bare(console_argv(folder), "phelix ·", _STARTS)
        first_s, first = beside_bare(console_argv(folder), "✓ completed", _STARTS)
        with PtyTerminal(console_argv(folder), cols=COLS, rows=ROWS, answers=True) as terminal:
            terminal.wait_for("✓ completed", 30)
            share, rate = idle(terminal)
            seconds, sizes = changes(terminal, env, _on_screen(env)[1:])
            rss = rss_mb(terminal.process.pid)
    return [
        ("shell painted / bare Textual app", f"{shell:.2f} x", "1.5 x", f"{shell_s:.2f} s"),
        ("first rows / bare Textual app", f"{first:.2f} x", "2 x", f"{first_s:.2f} s"),
        ("rename on disk to changed cell, p50 / p95", ms(seconds), "30 / 60 ms", ""),
        ("one-row patch", f"{statistics.median(sizes):.0f} bytes", "1,000 bytes", ""),
        ("idle", f"{share * 100:.1f} % of a core", "1 %", f"{rate:.0f} bytes/s"),
        ("resident", f"{rss:.0f} MB", "250 MB", ""),
    ]
