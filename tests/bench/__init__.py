"""Every figure of the README, as a ratio to a baseline measured in the same run.

    python -m tests.bench              all rows
    python -m tests.bench cli records  some

A module of this folder has `rows()`, or a `main()` that prints a table of its own. Machines are noisy: what counts are
medians of interleaved runs, ratios, and instruction counts where valgrind is there. Nothing here gates a test.
"""

import compileall
import os
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One figure beside its baseline; `ratio` is what the budget is about, and says nothing where there is none."""

    name: str
    ours: float
    baseline: float
    unit: str
    ratio: float
    at_most: float | None = None
    at_least: float | None = None

    @property
    def budget(self) -> str:
        """The bound on the ratio, in words."""
        if self.at_most is not None:
            return f"≤ {self.at_most:g}"
        return "" if self.at_least is None else f"≥ {self.at_least:g}"

    @property
    def met(self) -> bool | None:
        """Whether the ratio keeps to the budget; None where there is none."""
        if self.at_most is not None:
            return self.ratio <= self.at_most
        return None if self.at_least is None else self.ratio >= self.at_least


def interleaved(works: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each work in each round, one after the other in every round, so that all meet the same noise."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            start = perf_counter()
            work()
            seconds[name].append(perf_counter() - start)
    return seconds


def median_ratio(ours: Sequence[float], baseline: Sequence[float]) -> float:
    """Median over the rounds of one round's ratio."""
    return statistics.median(one / other for one, other in zip(ours, baseline, strict=True))


def compile_bytecode() -> None:
    """Compile our own modules as an installation does; an editable one under PYTHONDONTWRITEBYTECODE never would."""
    for package in ("phelix_core", "phelix_tui"):
        compileall.compile_dir(ROOT / package, quiet=1)


def plain_environment() -> dict[str, str]:
    """The environment without what would slow or change an interpreter's start."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COVERAGE"))}
