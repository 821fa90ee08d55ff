"""Fixtures that every test may ask for: a clock that stands still, counted ids, real folders, real processes."""

import gc
import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from phelix_core.commands.environment import Environment
from tests.rig import FixedClock, Phelix, environment

# A shell's background and nohup start us with some signals ignored, and what tests start would inherit that.
for _number, _usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _usual)

settings.register_profile(
    "phelix",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=100,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("phelix")


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """A data directory that does not exist yet."""
    return tmp_path / "data"


@pytest.fixture
def env(data_dir: Path, clock: FixedClock) -> Environment:
    """The command line's environment over an empty data directory."""
    return environment(data_dir, clock)


@pytest.fixture
def phelix(data_dir: Path, tmp_path: Path) -> Phelix:
    """`phelix(*argv)` runs the real command line over `data_dir`; reports of faults go to `tmp_path`."""
    return Phelix(data_dir, tmp_path)


def pytest_collection_finish() -> None:
    """What was imported and collected stays: looking through it again and again takes a quarter of the run."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:  # noqa: ARG001 - the hook's form
    """One worker more than cores: the tests of consoles and processes wait for a third of their time."""
    return (os.cpu_count() or 1) + 1
