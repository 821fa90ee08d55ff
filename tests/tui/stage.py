"""The stage for console tests: the demo fleet at a fixed moment, and a console over it.

A fixed wall clock makes ages and pictures the same on every run; the monotonic side is real, because it
decides how long a person has been still.
"""

import os
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual import _wait
from textual.pilot import Pilot

from phelix_core.checks import Surface
from phelix_core.commands.demo import DemoFleet
from phelix_core.commands.environment import Environment, open_environment
from phelix_core.settings import Settings
from phelix_tui.app import ConsoleApp, open_console
from phelix_tui.guard import InputGuard
from phelix_tui.watch import FolderWatch
from phelix_tui.widgets.rowlist import RowList

# The pilot waits after each key until the process has been idle for so long, twice. It never knows what is still
# to come, so that tests await what they want (`until`), and 20 ms a look is a third of their time.
_wait.SLEEP_GRANULARITY, _wait.SLEEP_IDLE = 0.005, 0.002

NOON_MS = 1_785_585_600_000
"""2026-08-01 12:00:00Z."""


GUARD_S = 0.02
"""How long a dialog on the stage drops input: nobody has to read it here. The pty tests keep the real 400 ms."""


class StageClock:
    """Noon, until a test moves it."""

    def __init__(self) -> None:
        self.wall_ms = NOON_MS
        self.boot_id = ""
        """Not told, so that leases go by the wall clock, which stands still here."""

    def now_ms(self) -> int:
        return self.wall_ms

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def boot(self) -> str:
        return self.boot_id


class SteadyWatch(FolderWatch):
    """The real watch, but for the times that it tells: a picture must not depend on how fast a machine is."""

    @property
    def last_lag_ms(self) -> float | None:
        return None if super().last_lag_ms is None else 12.0

    @property
    def last_event_at(self) -> float | None:
        return None if super().last_event_at is None else time.monotonic()


class Stage:
    """A data directory with a console's environment over it, and an agent's beside it."""

    def __init__(self, data_dir: Path, **chosen: Any) -> None:
        self.data_dir = data_dir
        self.clock = StageClock()
        self.settings = Settings(data_dir=str(data_dir), **chosen)
        self.console: Environment = open_console(self.settings, clock=self.clock)
        self.agent: Environment = open_environment(self.settings, Surface.MCP, clock=self.clock)

    def fill(self, sessions: int = 32) -> None:
        """Write the demo fleet as of now."""
        DemoFleet(self.agent).write(sessions)

    @asynccontextmanager
    async def app(self, width: int = 120, height: int = 40) -> AsyncGenerator[tuple[ConsoleApp, Pilot[Any]]]:
        """A console that has read its records, with toasts and tooltips on, as users have them."""
        app = ConsoleApp(self.console)
        app.guard = InputGuard(dialog_s=GUARD_S)
        app.environ = {"TERM": "xterm", "PATH": ""}  # whatever this machine has, a copy goes to the terminal
        app.rings_every_s = 0.5
        app.feed.watch = SteadyWatch(app.feed.watch.folder, ignores=app.feed.watch._ignores)  # pyright: ignore[reportPrivateUsage]
        async with app.run_test(size=(width, height), notifications=True, tooltips=True) as pilot:
            await app.settled()
            await pilot.pause()
            yield app, pilot


@asynccontextmanager
async def deaf(stage: Stage) -> AsyncGenerator[tuple[ConsoleApp, Pilot[Any]]]:
    """A console that has read its records and is not told of any change: what it learns it has asked for."""
    async with stage.app() as (app, pilot):
        for worker in [*app.workers]:
            if worker.name == "feed":
                worker.cancel()
        await pilot.pause()
        yield app, pilot


def fleet_of(app: ConsoleApp) -> RowList:
    """The list of sessions."""
    return app.fleet.query_one("#fleet", RowList)


async def until(pilot: Pilot[Any], holds: Any, what: str, seconds: float = 5.0) -> None:
    """Wait for the screen to say something; fails with `what` after `seconds`."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"never happened: {what}"
        await pilot.pause(0.01)


async def opened(pilot: Pilot[Any], kind: type, seconds: float = 5.0) -> Any:
    """Wait for a screen of `kind` whose input guard has opened; answers the screen."""
    app: Any = pilot.app
    await until(pilot, lambda: isinstance(app.screen, kind), f"{kind.__name__} opens", seconds)
    await pilot.pause()

    def is_open() -> bool:
        return time.monotonic() >= app.guard._until

    await until(pilot, is_open, "the guard opens", seconds)
    return app.screen


def at_home(folder: Path) -> Path:
    """A data directory that shows as `~/.phelix`, whatever the machine calls it."""
    os.environ["HOME"] = str(folder)
    return folder / ".phelix"
