"""What the console's rows are measured with: processes on a pty, seen from outside, and changes made beside them.

What counts is when bytes arrive at the terminal, and how many.
"""

import os
import statistics
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from tests.tui.pty_terminal import PtyTerminal

Figure = tuple[str, str, str, str]
"""What was measured, the figure, its budget, and more of it."""

COLS, ROWS = 120, 40


def app_argv(name: str, *words: str) -> list[str]:
    """A program of this folder."""
    # -P: this folder has a `queue.py`, and the standard library has another
    return [sys.executable, "-P", str(Path(__file__).with_name(name)), *words]


def bare_argv() -> list[str]:
    """The least that a Textual program can be."""
    return app_argv("bare_app.py")


def console_argv(folder: str) -> list[str]:
    """The console over a data directory."""
    return [str(Path(sys.executable).with_name("phelix")), "tui", "--data-dir", folder]


def until_shown(argv: list[str], seen: str | Callable[[PtyTerminal], object], timeout: float = 60) -> float:
    """Seconds from the start of a process to what it shows."""
    start = time.perf_counter()
    with PtyTerminal(argv, cols=COLS, rows=ROWS, answers=True) as terminal:
        terminal.wait_for(seen, timeout)
        return time.perf_counter() - start


def beside_bare(argv: list[str], seen: str, rounds: int) -> tuple[float, float]:
    """Medians of a start: seconds until something is shown, and that beside a bare app that was started just before."""
    seconds, ratios = list[float](), list[float]()
    for _ in range(rounds):
        bare = until_shown(bare_argv(), "ready")
        seconds.append(until_shown(argv, seen))
        ratios.append(seconds[-1] / bare)
    return statistics.median(seconds), statistics.median(ratios)


def shown(terminal: PtyTerminal, act: Callable[[], object], mark: str, timeout: float = 20) -> float:
    """Seconds from the end of an act to the bytes that show it."""
    before, wanted = terminal.count_bytes(), mark.encode()
    act()
    start = time.perf_counter()
    terminal.wait_for(lambda seen: wanted in seen.raw_from(before), timeout)
    return time.perf_counter() - start


def mark_of(number: int) -> str:
    """Five capitals, each another one than in the mark before it: only cells that differ are sent."""
    return "".join(chr(65 + (number * 7 + place * 3) % 26) for place in range(5))


def cpu_s(pid: int) -> float:
    """Processor seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rss_mb(pid: int) -> float:
    """Resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


class Storm:
    """Changes, so many a second, from a thread, while it is entered."""

    def __init__(self, a_second: float, change: Callable[[int], object]) -> None:
        self._a_second, self._change, self._done = a_second, change, threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._passed = 0.0
        self.made = 0

    @property
    def rate(self) -> float:
        """How many a second there were in fact."""
        return self.made / self._passed if self._passed else 0.0

    def _run(self) -> None:
        start = time.perf_counter()
        while not self._done.is_set():
            self._change(self.made)
            self.made += 1
            self._passed = time.perf_counter() - start
            ahead = self.made / self._a_second - self._passed
            if ahead > 0:
                self._done.wait(ahead)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()


def p95(seconds: Sequence[float]) -> float:
    """The value that one in twenty exceeds."""
    return sorted(seconds)[max(0, int(len(seconds) * 0.95) - 1)]


def ms(seconds: Sequence[float]) -> str:
    """Median and p95."""
    return f"{statistics.median(seconds) * 1000:.0f} / {p95(seconds) * 1000:.0f} ms"


def told(figures: Sequence[Figure]) -> None:
    """Print figures beside their budgets."""
    for name, figure, budget, more in figures:
        print(f"{name:<62}{figure:>18}   {f'budget {budget}' if budget else '':<22}{more}".rstrip())
