"""The console as a terminal sees it: start, the way of a change to the screen, bytes, idleness.

Everything is measured on a real pty, from outside: what counts is when the bytes arrive.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from phelix_core.checks import Surface
from phelix_core.clock import SystemClock
from phelix_core.commands.demo import DemoFleet
from phelix_core.commands.environment import Environment, open_environment
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.commands.session_listing import SessionList
from phelix_core.settings import Settings
from tests.tui.pty_terminal import PtyTerminal

_STARTS = 5
_CHANGES = 40
_CALM_S = 6.0
"""A console that nobody writes to: its watch steps slower after five seconds of silence."""
_IDLE_S = 10.0


class PastClock(SystemClock):
    """Days ago: a fleet whose ages do not change while it is watched."""

    def now_ms(self) -> int:
        return super().now_ms() - 5 * 86_400_000


def bare_argv() -> list[str]:
    """The least that a Textual program can be."""
    # -P: this folder has a `queue.py`, and the standard library has another
    return [sys.executable, "-P", str(Path(__file__).with_name("bare_app.py"))]


def console_argv(folder: str) -> list[str]:
    """The console over a data directory."""
    return [str(Path(sys.executable).with_name("phelix")), "tui", "--data-dir", folder]


def until_shown(argv: list[str], seen: str | Callable[[PtyTerminal], object]) -> float:
    """Seconds from the start of a process to what it shows."""
    start = time.perf_counter()
    with PtyTerminal(argv, cols=120, rows=40) as terminal:
        terminal.wait_for(seen, 60)
        return time.perf_counter() - start


def starts(folder: str) -> dict[str, float]:
    """Medians of interleaved starts: the bare app, the console's shell, its first rows."""
    times: dict[str, list[float]] = {"bare": [], "shell": [], "rows": []}
    for _ in range(_STARTS):
        times["bare"].append(until_shown(bare_argv(), "ready"))
        times["shell"].append(until_shown(console_argv(folder), "phelix ·"))
        times["rows"].append(until_shown(console_argv(folder), "✓ completed"))
    return {name: statistics.median(found) for name, found in times.items()}


def _change(terminal: PtyTerminal, env: Environment, session_id: str, step: str) -> tuple[float, int]:
    """Seconds from a rename into place to the changed cell, and the bytes it took."""
    terminal.wait_quiet(0.3, 30)
    before, mark = terminal.count_bytes(), step.encode()
    assert run(load_command("session checkpoint"), {"session_id": session_id, "step": step}, env).error is None
    start = time.perf_counter()
    terminal.wait_for(lambda seen: mark in seen.raw[before:], 10)
    seconds = time.perf_counter() - start
    terminal.wait_quiet(0.1, 10)
    return seconds, terminal.count_bytes() - before


def changes(terminal: PtyTerminal, env: Environment, session_ids: list[str]) -> tuple[list[float], list[int]]:
    """The same for many changes of sessions on the screen, one after the other."""
    found = [
        _change(terminal, env, session_ids[number % len(session_ids)], f"zq{number:03}") for number in range(_CHANGES)
    ]
    return [seconds for seconds, _ in found], [size for _, size in found]


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


def cpu_s(pid: int) -> float:
    """Processor seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rss_mb(pid: int) -> float:
    """Resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def measure() -> dict[str, float]:
    """All figures, in seconds, bytes, shares and MB."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=folder, stale_after_ms=3_600_000)
        DemoFleet(open_environment(settings, Surface.CLI, clock=PastClock())).write(32)
        env = open_environment(settings, Surface.CLI, clock=PastClock())
        found = starts(folder)
        with PtyTerminal(console_argv(folder), cols=120, rows=40) as terminal:
            terminal.wait_for("✓ completed", 30)
            share, rate = idle(terminal)
            seconds, sizes = changes(terminal, env, _on_screen(env)[1:])
            rss = rss_mb(terminal.process.pid)
    seconds.sort()
    return {
        "bare_s": found["bare"],
        "shell_s": found["shell"],
        "rows_s": found["rows"],
        "change_p50_s": statistics.median(seconds),
        "change_p95_s": seconds[int(len(seconds) * 0.95) - 1],
        "patch_bytes": statistics.median(sizes),
        "idle_share": share,
        "idle_bytes_per_s": rate,
        "rss_mb": rss,
    }


def main() -> None:
    """Print the figures beside their budgets."""
    found = measure()
    shell, first = found["shell_s"] / found["bare_s"], found["rows_s"] / found["bare_s"]
    told = (
        ("shell painted / bare Textual app", f"{shell:.2f} x", "1.5 x", f"{found['shell_s']:.2f} s"),
        ("first rows / bare Textual app", f"{first:.2f} x", "2 x", f"{found['rows_s']:.2f} s"),
        ("rename on disk to changed cell, p50", f"{found['change_p50_s'] * 1000:.0f} ms", "30 ms", ""),
        ("rename on disk to changed cell, p95", f"{found['change_p95_s'] * 1000:.0f} ms", "60 ms", ""),
        ("one-row patch", f"{found['patch_bytes']:.0f} bytes", "1,000 bytes", ""),
        ("idle", f"{found['idle_share'] * 100:.1f} % of a core", "1 %", f"{found['idle_bytes_per_s']:.0f} bytes/s"),
        ("resident", f"{found['rss_mb']:.0f} MB", "250 MB", ""),
    )
    for name, figure, budget, more in told:
        print(f"{name:<40}{figure:>18}   budget {budget:<12}{more}")


if __name__ == "__main__":
    main()
