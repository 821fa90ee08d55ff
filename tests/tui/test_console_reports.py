"""Public reports, as far as no other module holds them, and for each a naive version that fails.

`test_twenty_reports.py` says which tests answer which report.
"""

import asyncio
import errno
import inspect
import os
import re
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from textual.app import App, ComposeResult, SystemCommand
from textual.containers import Vertical
from textual.screen import ModalScreen, Screen
from textual.widget import Widget

from phelix_core.strictjson import dumps, loads
from phelix_tui.app import ConsoleApp
from phelix_tui.guard import InputGuard
from phelix_tui.watch import FolderWatch
from tests.rig import AS_A_PLAIN_USER, PHELIX, bytes_of, did
from tests.tui.hostile import hostile_record
from tests.tui.palette import back, entries, press_everything
from tests.tui.plans import planned
from tests.tui.pty_terminal import PtyTerminal, clean_environment
from tests.tui.queues import filled
from tests.tui.stage import GUARD_S, NOON_MS, Stage, fleet_of, until
from tests.tui.terminals import console, fill, ready
from tests.tui.test_console_agrees import header_counts, random_fleet
from tests.tui.test_console_hostile_text import drawn
from tests.tui.test_feed import one_more, rename_into_place
from tests.tui.walks import agent_does, bar, states_of

MINUTE = 60_000
NEVER = 3600.0


# Report 5: read-only leaks through one entry


def contents(data_dir: Path) -> dict[str, bytes | str | None]:
    """Every file but those that SQLite keeps for readers, and what the console keeps for itself."""
    return {
        name: data
        for name, data in bytes_of(data_dir).items()
        if not name.endswith(("-shm", "-wal")) and not name.startswith("cache/")
    }


async def try_the_palette(app: ConsoleApp, pilot: Any) -> set[str]:
    """In every room every entry, once where it is the same everywhere; answers what was tried."""
    tried: set[str] = set()
    seen: set[str] = set()
    themes = {*app.available_themes} - {"phelix-contrast"}  # one look stands for all of them
    for room in ("1", "3", "4", "5", "6", "7"):
        await pilot.press(room)
        for name in await entries(app):
            if (
                name == "Quit"
                or name in themes
                or name.startswith(("Ring again", "No bell for issues", "No bell for sess"))
                or (name in tried and name != "Act")
            ):
                continue
            if app.screen is app.fleet:
                await pilot.press(room)
            command = (await entries(app, name)).get(name)
            if command is None:
                continue
            result: Any = command()
            if asyncio.iscoroutine(result):
                await result
            await pilot.pause()
            await press_everything(app, pilot, seen, room)
            await back(app, pilot)
            assert app.screen is app.fleet, name
            tried.add(name)
        await back(app, pilot)
    return tried


class Leaking(ConsoleApp):
    """The naive console: one entry writes without the environment that refuses."""

    CSS_PATH = Path(inspect.getfile(ConsoleApp)).with_name("console.tcss")
    stage: Stage

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        yield from super().get_system_commands(screen)
        yield SystemCommand("Note", "Write a note", lambda: did(self.stage.agent, "session create", title="leaked"))


@pytest.mark.parametrize("kind", [ConsoleApp, Leaking], ids=["ours", "naive"])
async def test_in_read_only_mode_no_entry_of_the_palette_in_any_room_changes_a_byte(
    tmp_path: Path, kind: type[ConsoleApp], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    writing = Stage(tmp_path / "data")
    writing.fill(4)
    filled(writing)
    planned(writing)
    stage = Stage(tmp_path / "data", read_only=True)
    before = contents(stage.data_dir)
    app = kind(stage.console)
    app.guard = InputGuard(dialog_s=GUARD_S)
    if isinstance(app, Leaking):
        app.stage = writing
    async with app.run_test(size=(120, 40), notifications=True, tooltips=True) as pilot:
        await app.settled()
        if isinstance(app, Leaking):
            (await entries(app))["Note"]()
        else:
            assert {"Act", "Saved views", "Queue", "Approvals", "Help"} <= await try_the_palette(app, pilot)
        assert app.is_running
    assert (contents(stage.data_dir) == before) == (kind is ConsoleApp)


# Report 7: the system refuses another watch


def refuses(code: int) -> Any:
    async def watch(*_paths: str, **_options: Any) -> AsyncIterator[set[Any]]:
        raise OSError(code, os.strerror(code))
        yield set()

    return watch


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EMFILE], ids=["no watch left", "no descriptor left"])
async def test_where_the_system_refuses_a_watch_the_console_polls_says_so_and_misses_nothing(
    tmp_path: Path, code: int
) -> None:
    stage = Stage(tmp_path / "data")
    stage.fill(3)
    app = ConsoleApp(stage.console)
    watch = app.feed.watch
    app.feed.watch = FolderWatch(watch.folder, ignores=watch._ignores, awatch=refuses(code), poll_s=0.05)  # pyright: ignore[reportPrivateUsage]
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await app.settled()
        await until(pilot, lambda: "watch poll" in bar(app, "doctor"), "the mode is told")
        assert os.strerror(code) in bar(app, "doctor")
        created = agent_does(stage, "session create", title="seen by polling").session_id
        await until(pilot, lambda: created in {row.id for row in fleet_of(app).rows}, "the newcomer is listed")


async def test_a_plain_watch_that_is_refused_ends_with_the_error(tmp_path: Path) -> None:
    """The control of the test above."""
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        async for _ in refuses(errno.ENOSPC)(str(tmp_path)):
            pass


# Report 10: a reader that feeds its own watch


async def test_a_reader_that_keeps_notes_in_the_folder_it_watches_never_comes_to_rest(tmp_path: Path) -> None:
    """The control of the idle tests: nothing is ignored, and each look leaves something behind."""
    watch = FolderWatch(str(tmp_path), ignores=lambda _: False, reconcile_s=NEVER, look_s=NEVER)
    looks = 0
    async with asyncio.timeout(10):  # one change would have been one look
        async for _ in watch.changes():
            looks += 1
            (tmp_path / "index.cache").write_text(str(looks), encoding="utf-8")
            if looks == 6:
                break
    assert looks == 6


# Report 11: clocks that disagree


def stamped(stage: Stage, ages_min: Iterable[float]) -> dict[str, float]:
    """An active session for each age in minutes, negative for the future; answers the ages by id."""
    folder = stage.data_dir / "sessions"
    folder.mkdir(parents=True, exist_ok=True)
    ages: dict[str, float] = {}
    for number, age in enumerate(ages_min):
        session_id = f"ses_{number:016x}"
        record = hostile_record(session_id, f"aged {number}")
        for moment in (record, record["checkpoint"], *record["events"]):
            moment.update({key: NOON_MS - round(age * MINUTE) for key in moment if key.endswith("at_ms")})
        (folder / f"{session_id}.json").write_bytes(dumps(record).encode())
        ages[session_id] = age
    return ages


@pytest.mark.parametrize("skew_min", [-10, 0, 10])
async def test_a_clock_that_is_off_shows_no_negative_age_and_makes_nothing_stale(tmp_path: Path, skew_min: int) -> None:
    stage = Stage(tmp_path / "data")
    ages = stamped(stage, (-600, -10, -0.2, 0, 0.5, 3, 9))
    stage.clock.wall_ms = NOON_MS + skew_min * MINUTE
    async with stage.app(160, 40) as (app, pilot):
        assert "stale" not in states_of(app)
        for row in fleet_of(app).rows:
            told = " ".join(cell.text for cell in row.cells[1:])
            assert not re.search(r"[-−]\s?\d+\s?[smhd]\b", told), told
            found = app.desk.arrangement.row(row.id)
            assert found is not None
            ahead_min = -ages[row.id] - skew_min
            assert (found.state == "clock") == (ahead_min * 60 > 5), (row.id, found.state)
        await pilot.press("4")
        await pilot.pause()
        assert not re.search(r"[-−]\d+[smhd]\b", "\n".join(strip.text for strip in drawn(app)))


def test_a_naive_age_is_negative_under_such_a_clock() -> None:
    """The control: what a subtraction says of a stamp that is ten minutes ahead."""
    age_s = (NOON_MS - (NOON_MS + 10 * MINUTE)) // 1000
    assert re.search(r"[-−]\d+[smhd]\b", f"{age_s // 60}m")


# Report 13: what goes on behind a dialog floods the line

FLOOD_S = 2.0
A_SECOND = 200


def flood(terminal: PtyTerminal, data_dir: Path) -> float:
    """Replace 200 records a second for two seconds; answers how many bytes a second came to the terminal."""
    files = sorted((data_dir / "sessions").glob("*.json"))
    records: dict[Path, Any] = {file: loads(file.read_bytes()) for file in files}
    pace = threading.Event()  # that never comes: the rate is what is tried
    before, started = terminal.count_bytes(), time.monotonic()
    for turn in range(round(FLOOD_S * A_SECOND)):
        file = files[turn % len(files)]
        records[file] = one_more(records[file])
        rename_into_place(file, records[file])
        pace.wait(max(0.0, started + (turn + 1) / A_SECOND - time.monotonic()))
    return (terminal.count_bytes() - before) / (time.monotonic() - started)


def test_a_dialog_is_quiet_while_two_hundred_records_a_second_change_and_the_list_is_not(tmp_path: Path) -> None:
    """Both in one run: what the list sends in front is the control of what it does not send behind a dialog."""
    data_dir = tmp_path / "data"
    fill(data_dir, 40)
    with console(data_dir, cols=120, rows=40) as terminal:
        ready(terminal)
        terminal.wait_quiet(0.4, 20)
        assert flood(terminal, data_dir) > 1_000, "the list shows what happens"
        terminal.wait_quiet(0.4, 20)
        terminal.send("?")
        terminal.wait_for("Moving about")
        terminal.wait_quiet(0.6, 20)
        assert flood(terminal, data_dir) <= 1_000


# Report 14: a folder that may not be read is no empty folder


@pytest.fixture
def closed_folder(tmp_path: Path) -> Any:
    data_dir = tmp_path / "data"
    fill(data_dir, 3)
    os.chmod(data_dir / "sessions", 0)
    yield data_dir
    os.chmod(data_dir / "sessions", 0o700)


def test_a_folder_that_may_not_be_read_is_told_as_such_on_a_terminal(closed_folder: Path) -> None:
    environ = clean_environment(HOME=str(closed_folder.parent), PHELIX_DATA_DIR=str(closed_folder))
    with PtyTerminal([sys.executable, "-c", AS_A_PLAIN_USER, str(PHELIX), "tui"], cols=120, env=environ) as terminal:
        terminal.wait_for("sessions unknown", 20)
        terminal.wait_for("could not be read")
        assert "No sessions yet" not in terminal.text
        os.chmod(closed_folder / "sessions", 0o700)
        terminal.wait_for("3 sessions", 12)


def test_a_naive_listing_of_such_a_folder_is_empty_and_says_nothing(closed_folder: Path) -> None:
    """The control: `glob` passes over what it may not read."""
    count = "import glob, sys; print('rows', len(glob.glob(sys.argv[1] + '/sessions/*.json')))"
    argv = [sys.executable, "-c", AS_A_PLAIN_USER, sys.executable, "-c", count, str(closed_folder)]
    with PtyTerminal(argv) as terminal:
        terminal.wait_end()
        assert "rows 0" in terminal.text


# Report 17: sizes that nobody thought of


class Gauge(Widget):
    """A naive bar: its share of what is left beside a label of one cell."""

    def render(self) -> str:
        return "#" * (70 // (self.size.width - 1))


class NaiveDialog(ModalScreen[None]):
    def compose(self) -> ComposeResult:
        with Vertical():
            yield Gauge()


class NaiveApp(App[None]):
    def on_mount(self) -> None:
        self.push_screen(NaiveDialog())


async def storm(app: App[None]) -> None:
    random, sizes = Random(7), [(1, 1), (300, 100), (2, 40), (120, 2)]
    async with app.run_test() as pilot:
        for _ in range(12):
            await pilot.resize_terminal(*random.choice(sizes))


async def test_a_storm_of_sizes_reaches_widgets_at_widths_at_which_careless_arithmetic_fails() -> None:
    """The control of the storms: the same sizes under a dialog that divides by what is left."""
    with pytest.raises(ZeroDivisionError):
        await storm(NaiveApp())


# Reports 19 and 20: counts from what is stored, and rows of what is known


@pytest.mark.parametrize("seed", range(2))
async def test_counts_of_what_records_say_of_themselves_are_not_those_of_the_header(tmp_path: Path, seed: int) -> None:
    """The control of report 19: a stored status knows nothing of staleness, nor of records that do not parse."""
    stage = Stage(tmp_path / "data")
    number = random_fleet(stage.data_dir, seed, stage.clock.wall_ms)
    naive: dict[str, int] = {}
    for file in (stage.data_dir / "sessions").glob("*.json"):
        try:
            record: Any = loads(file.read_bytes())
        except ValueError:
            continue
        naive[record["status"]] = naive.get(record["status"], 0) + 1
    async with stage.app() as (app, _):
        assert header_counts(bar(app, "title")) != {state: naive[state] for state in ("stale",) if state in naive}
        assert f"{number} sessions" in bar(app, "title")


def test_a_list_of_known_statuses_alone_drops_a_record_without_a_word(tmp_path: Path) -> None:
    """The control of report 20."""
    stage = Stage(tmp_path / "data")
    stage.fill(3)
    file = min((stage.data_dir / "sessions").glob("*.json"))
    file.write_bytes(dumps({**loads(file.read_bytes()), "status": "paused"}).encode())  # type: ignore[dict-item]
    records: list[Any] = [loads(one.read_bytes()) for one in (stage.data_dir / "sessions").glob("*.json")]
    known = [one for one in records if one["status"] in ("active", "completed", "failed", "cancelled")]
    assert len(known) == len(records) - 1
