"""Ways to start the console: live on a terminal, on a demo fleet, told line by line, or drawn into a picture.

A fault that nobody foresaw ends it with a report free of secrets; Textual would print what is in memory.
"""

import gc
import os
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len

from phelix_core.checks import Surface
from phelix_core.commands.environment import open_environment
from phelix_core.commands.faults import unforeseen
from phelix_core.commands.programs import OpenConsole
from phelix_core.errors import FilesystemError, InternalError
from phelix_core.files import why
from phelix_core.redaction import redact
from phelix_core.settings import QUEUE_FILE, Settings
from phelix_tui.app import ConsoleApp, open_console
from phelix_tui.terminal import ColourWish, Watchdog

if TYPE_CHECKING:
    from textual.pilot import Pilot

_STEP_S = 0.9
_DEMO_SESSIONS = 32
_PICTURE = (120, 40)


class ReportingConsole(ConsoleApp):
    """The console as it is started: what ends it unforeseen is kept for the command line to tell."""

    fault: InternalError | None = None

    def _fatal_error(self) -> None:
        """End, without the traceback that Textual prints with every local variable (Textual's hook)."""
        if isinstance(self._exception, Exception):
            self.fault = self.fault or unforeseen(self._exception)
        self.stop_waiting()
        self._close_messages_no_wait()

    def require_sound(self) -> None:
        """Raise what ended the console, if it was a fault."""
        if self.fault is not None:
            raise self.fault


@contextmanager
def demo_fleet(settings: Settings, *, moves: bool) -> Generator[Settings]:
    """A seeded fleet in a temporary folder, moving by itself, gone afterwards."""
    import shutil  # noqa: PLC0415 - only a demo pays for these
    import tempfile  # noqa: PLC0415

    from phelix_core.commands.demo import DemoFleet  # noqa: PLC0415

    folder = tempfile.mkdtemp(prefix="phelix-demo-")
    done = Event()
    # Nothing that is made up reaches the memory of the person who looks at it.
    inside = replace(settings, data_dir=folder, queue=f"{folder}/{QUEUE_FILE}", memory=None)
    # The agents of the demo write, also where the console may not.
    fleet = DemoFleet(open_environment(replace(inside, read_only=False), Surface.CLI))
    fleet.write(_DEMO_SESSIONS)
    fleet.write_queue()

    def move() -> None:
        while not done.wait(_STEP_S):
            fleet.step()

    mover = Thread(target=move, name="phelix-demo", daemon=True)
    if moves:
        mover.start()
    try:
        yield inside
    finally:
        done.set()
        if moves:
            mover.join()
        fleet.close()
        shutil.rmtree(folder, ignore_errors=True)


def live(request: OpenConsole, settings: Settings) -> int:
    """Run on this terminal until the operator leaves or a signal ends it."""
    if request.demo:
        with demo_fleet(settings, moves=True) as inside:
            return _run(inside)
    return _run(settings)


def _run(settings: Settings) -> int:
    wish = ColourWish.from_environment()
    app = ReportingConsole(open_console(settings), ansi_color=wish.ansi_color)
    if not app.desk.read_only:
        from phelix_tui.hints import Hints  # noqa: PLC0415 - neither pictures nor tests show any

        app.hints = Hints(settings.data_dir)
    gc.disable()  # what is read first stays: looking through it while it comes in would take a fifth of the time
    app.when_read = _leave_alone
    with Watchdog(lambda code: app.exit(return_code=code)) as watchdog:
        app.run()
    app.require_sound()
    code = watchdog.exit_code if watchdog.exit_code is not None else app.return_code
    return code or 0


def _leave_alone() -> None:
    """Collect from now on, and never look through what has been read: of 100,000 records that takes 0.1 s each time."""
    gc.freeze()
    gc.enable()


def tell(request: OpenConsole, settings: Settings) -> int:
    """Give the account line by line, until it is interrupted or nobody reads it any more."""
    from phelix_tui.plain import run_plain  # noqa: PLC0415 - the screen does without

    if request.demo:
        with demo_fleet(settings, moves=True) as inside:
            return run_plain(open_console(inside))
    return run_plain(open_console(settings))


def draw(request: OpenConsole, settings: Settings) -> int:
    """Draw the first screen into an SVG file, without a terminal."""
    if request.demo:
        with demo_fleet(settings, moves=False) as inside:
            svg = picture(inside)
    else:
        svg = picture(settings)
    assert request.screenshot is not None  # noqa: S101 - the caller asked for it
    try:
        with open(request.screenshot, "w", encoding="utf-8") as file:
            file.write(svg)
    except OSError as error:
        raise FilesystemError(f"Cannot write the picture: {why(error)}.") from None
    sys.stderr.write(f"Drew {redact(os.path.basename(request.screenshot))}.\n")
    return 0


def picture(settings: Settings) -> str:
    """The first screen of these records, as SVG."""
    app = ReportingConsole(open_console(settings))
    drawn: list[str] = []

    async def look(pilot: "Pilot[Any]") -> None:
        await app.settled()
        if app.fault is None:
            await pilot.pause()
            drawn.append(as_svg(app))
            app.exit()

    app.run(headless=True, size=_PICTURE, auto_pilot=look)
    app.require_sound()
    return drawn[0]


_TEXT = re.compile(r' textLength="[0-9.]+"([^>]*)>([^<]*[^\x00-\x7f][^<]*)<')
_LEADING_SPACES = re.compile(r'x="([0-9.]+)"([^>]*?) textLength="([0-9.]+)"([^>]*)>((?:&#160;)+)')
_CELL = 12.2
"""Width of a cell in Textual's pictures."""


def as_svg(app: ConsoleApp, title: str | None = None) -> str:
    """What is on the screen, as SVG that looks the same everywhere.

    Some renderers drop a text's leading spaces, and wide characters are given the room of narrow ones.
    """
    from html import unescape  # noqa: PLC0415 - its table of names is long

    def widened(match: re.Match[str]) -> str:
        length = cell_len(unescape(match[2])) * _CELL
        return f' textLength="{length:.1f}"{match[1]}>{match[2]}<'

    def shifted(match: re.Match[str]) -> str:
        x, before, length, after, spaces = match.groups()
        by = len(spaces) // len("&#160;") * _CELL
        return f'x="{float(x) + by:.1f}"{before} textLength="{max(0.0, float(length) - by):.1f}"{after}>'

    return _LEADING_SPACES.sub(shifted, _TEXT.sub(widened, app.export_screenshot(title=title)))
