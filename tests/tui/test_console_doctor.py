"""Doctor: the console tells how it is doing itself, what the records' examination found, and repairs what is safe."""

import asyncio
import os
import stat
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from phelix_core.text import SafeStr
from phelix_tui.app import ConsoleApp
from phelix_tui.desk import Desk
from phelix_tui.doctor_actions import REPAIR, DirectoryTarget
from phelix_tui.feed import Feed
from phelix_tui.screens.confirm import ConfirmScreen
from phelix_tui.screens.doctor import DoctorRoom
from phelix_tui.screens.help import HelpScreen
from phelix_tui.screens.menu import ActionMenu
from phelix_tui.vitals import Screen, file_facts, terminal_facts
from phelix_tui.watch import Batch, FolderWatch, Reason
from tests.core.test_views import HOSTILE, is_safe
from tests.rig import bytes_of
from tests.tui.stage import Stage, opened, until
from tests.tui.walks import agent_does, bar, page, planned, press_apply, told


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    stage = Stage(tmp_path / "data")
    stage.fill(8)
    return stage


async def doctor(app: ConsoleApp, pilot: Pilot[Any]) -> DoctorRoom:
    await pilot.press("7")
    screen = await opened(pilot, DoctorRoom)
    await until(pilot, lambda: "records are private" in page(app, "story") or "--fix" in page(app, "story"), "a look")
    return screen


def open_up(stage: Stage) -> Path:
    record = min((stage.data_dir / "sessions").glob("ses_*.json"))
    record.chmod(0o644)
    return record


async def test_the_room_tells_watcher_lag_drift_files_terminal_and_findings(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await doctor(app, pilot)
        text = page(app, "story")
        for said in (
            "watcher     inotify",
            "last event  none yet",
            "drift       none in 0 full looks",
            "no record is from",
        ):
            assert said in text, said
        for said in ("sessions    8 known", "engine      SQLite", "size        120×40", "clipboard   ", "8 read well"):
            assert said in text, said
        assert "phelix-dark" in text


async def test_what_cannot_be_read_and_what_is_from_the_future_is_named(stage: Stage) -> None:
    records = sorted((stage.data_dir / "sessions").glob("ses_*.json"))
    records[0].write_text("{")
    stage.clock.wall_ms += 600_000
    ahead = agent_does(stage, "session create", title="from the future").session_id
    stage.clock.wall_ms -= 600_000
    async with stage.app() as (app, pilot):
        await doctor(app, pilot)
        text = page(app, "story")
        assert f"quarantined 1: {records[0].stem} (SESSION_CORRUPT)" in text
        assert f"1 from the future, the farthest by 10m 00s: {ahead}" in text
        assert "failing" in bar(app, "title")
        worst = text.index("✗ fail"), text.index("▲ warn"), text.index("✓ ok")
        assert sorted(worst) == [*worst], "the worst first"


async def test_what_is_safe_is_repaired_behind_a_confirmation_and_the_room_looks_again(stage: Stage) -> None:
    record = open_up(stage)
    async with stage.app() as (app, pilot):
        screen = await doctor(app, pilot)
        assert "a, then f, does it here" in page(app, "story")
        before = bytes_of(stage.data_dir)
        await pilot.press("a")
        await opened(pilot, ActionMenu)
        await pilot.press("f")
        confirm = await opened(pilot, ConfirmScreen)
        await planned(app, pilot, "open to others → private")
        assert "Changes in the data directory" in page(app, "plan")
        assert confirm.query_one("#cancel").has_focus
        assert stat.S_IMODE(record.stat().st_mode) == 0o644, "nothing happened yet"
        await press_apply(app, pilot)
        await told(app, pilot, "Repair: 1 repaired; the data directory is sound")
        assert app.screen is screen
        assert stat.S_IMODE(record.stat().st_mode) == 0o600
        assert bytes_of(stage.data_dir) == before, "no record is changed"
        await until(pilot, lambda: "--fix" not in page(app, "story"), "it looks again by itself")
        deed = app.desk.activity.deed("1")
        assert deed is not None
        assert (deed.verb, deed.came, deed.change) == ("Repair", "done", "1 to repair → 1 repaired")
        assert "doctor --fix" in deed.command


async def test_where_all_is_well_there_is_nothing_to_repair(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await doctor(app, pilot)
        await pilot.press("a")
        menu = await opened(pilot, ActionMenu)
        assert "nothing to repair" in bar(app, "menu-hint")
        await pilot.press("f")
        assert app.screen is menu


async def test_a_read_only_console_examines_and_repairs_nothing(tmp_path: Path) -> None:
    writer = Stage(tmp_path / "data")
    writer.fill(4)
    open_up(writer)
    stage = Stage(tmp_path / "data", read_only=True)
    before = bytes_of(stage.data_dir)
    async with stage.app() as (app, pilot):
        await doctor(app, pilot)
        assert "read-only" in page(app, "story")
        await pilot.press("a")
        await opened(pilot, ActionMenu)
        assert "read-only" in bar(app, "menu-hint")
        await pilot.press("f", "escape", "question_mark")
        await opened(pilot, HelpScreen)
        assert "Examine again" in page(app, "help-page")
    assert bytes_of(stage.data_dir) == before


async def test_it_examines_on_opening_and_when_asked_and_not_because_a_dialog_was_closed(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        screen = await doctor(app, pilot)
        first = screen._seen  # pyright: ignore[reportPrivateUsage]
        await pilot.press("question_mark")
        await opened(pilot, HelpScreen)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen, "help is closed")
        await pilot.pause()
        assert screen._seen is first  # pyright: ignore[reportPrivateUsage]
        assert not screen._looking  # pyright: ignore[reportPrivateUsage]
        await pilot.press("r")
        await until(pilot, lambda: screen._seen is not first, "it was asked for")  # pyright: ignore[reportPrivateUsage]
        second = screen._seen  # pyright: ignore[reportPrivateUsage]
        await pilot.press("1", "7")
        await until(pilot, lambda: screen._seen is not second, "it was opened again")  # pyright: ignore[reportPrivateUsage]


async def test_the_command_is_what_y_copies(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        screen = await doctor(app, pilot)
        (copied,) = screen.copies()
        assert copied.text.startswith("phelix doctor")
        assert "--fix" not in copied.text


@pytest.mark.parametrize(("width", "height"), [(40, 10), (80, 24), (200, 60)])
async def test_the_verdict_is_in_sight_at_every_size(stage: Stage, width: int, height: int) -> None:
    open_up(stage)
    async with stage.app(width, height) as (app, pilot):
        await doctor(app, pilot)
        await pilot.pause()
        strips = app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
        lines = ["".join(segment.text for segment in strip) for strip in strips]
        assert "▲" in lines[0]
        assert "Doctor" in lines[0]
        assert {len(text) for text in lines} == {width}


# The facts


def facts(environ: dict[str, str], programs: tuple[str, ...] = (), colours: str = "256") -> dict[str, str]:
    screen = Screen(width=80, height=24, colours=colours)
    found = terminal_facts(environ, screen, lambda name: f"/bin/{name}" if name in programs else None)
    return {fact.name: fact.text for fact in found}


def test_the_terminal_is_told_by_its_environment() -> None:
    plain = facts({"TERM": "xterm-256color", "LANG": "C.UTF-8"})
    assert (plain["multiplexer"], plain["clipboard"]) == ("none", "the terminal by OSC 52, else a private file")
    inside = facts(
        {"TERM": "tmux-256color", "TMUX": "/tmp/x", "DISPLAY": ":0", "SSH_TTY": "/dev/pts/1"}, ("tmux", "xclip")
    )
    assert inside["multiplexer"] == "tmux"
    assert inside["clipboard"] == "xclip, else tmux, else the terminal by OSC 52, else a private file"
    assert inside["terminal"] == "TERM=tmux-256color over SSH"
    assert facts({"TERM": "dumb"})["bell"] == "bell alone"
    assert facts({"TERM": "dumb"})["clipboard"] == "a private file"


def test_a_hostile_environment_reaches_no_terminal() -> None:
    for text in facts({"TERM": HOSTILE, "TERM_PROGRAM": HOSTILE, "LANG": HOSTILE}).values():
        assert is_safe(SafeStr(text))


def test_the_size_of_the_journal_is_told_where_there_is_a_queue(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data")
    desk = Desk(stage.console)
    assert [fact.text for fact in file_facts(desk) if fact.name == "queue"] == ["none yet"]
    agent_does(stage, "queue init", name="work")
    Path(f"{desk.env.queue.path}-wal").write_bytes(b"x" * 4096)
    (told_,) = [fact.text for fact in file_facts(desk) if fact.name == "queue"]
    assert told_.endswith("write-ahead log 4 KiB")


def test_a_repair_wants_something_to_repair() -> None:
    assert DirectoryTarget(SafeStr("~/.phelix"), 0).why_not(REPAIR) == "there is nothing to repair"
    assert DirectoryTarget(SafeStr("~/.phelix"), 2).why_not(REPAIR) is None


# Drift


class ScriptedWatch(FolderWatch):
    """The batches that a test hands out."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        self.batches: asyncio.Queue[Batch] = asyncio.Queue()
        self.rests = asyncio.Event()

    async def changes(self) -> AsyncIterator[Batch]:
        while True:
            if self.batches.empty():
                self.rests.set()
            yield await self.batches.get()


class Watched:
    """A feed over scripted batches."""

    def __init__(self, stage: Stage) -> None:
        self.watch = ScriptedWatch(stage.console.sessions.path)
        self.feed = Feed(stage.console, lambda _: None, self.watch)

    async def look(self, reason: Reason, *names: str) -> None:
        """Hand a batch out and wait until it has been looked at: the feed then asks for what comes after the next."""
        self.watch.rests.clear()
        self.watch.batches.put_nowait(Batch(frozenset(names) if names else None, reason))
        self.watch.batches.put_nowait(Batch(frozenset({"no record"}), "changed"))
        await asyncio.wait_for(self.watch.rests.wait(), 5)


@asynccontextmanager
async def watching(stage: Stage) -> AsyncGenerator[Watched]:
    watched = Watched(stage)
    running = asyncio.create_task(watched.feed.run())
    try:
        await watched.look("start")
        yield watched
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_a_change_without_an_event_is_drift_found_by_the_next_full_look(stage: Stage) -> None:
    names = sorted(os.listdir(stage.data_dir / "sessions"))
    quiet, heard = [name for name in names if name.endswith(".json")][:2]
    async with watching(stage) as watched:
        for name in (quiet, heard):
            file = stage.data_dir / "sessions" / name
            os.utime(file, ns=(1, file.stat().st_mtime_ns + 1_000_000))
        await watched.look("changed", heard)
        await watched.look("reconcile")
        assert watched.feed.drift == 1, "what an event told of is none: a naive count of what differs says 2"
        await watched.look("reconcile")
        assert (watched.feed.drift, watched.feed.scans) == (1, 2), "it stays counted, once"


async def test_an_event_that_comes_right_after_the_full_look_was_no_drift(stage: Stage) -> None:
    name = next(name for name in sorted(os.listdir(stage.data_dir / "sessions")) if name.endswith(".json"))
    async with watching(stage) as watched:
        file = stage.data_dir / "sessions" / name
        os.utime(file, ns=(1, file.stat().st_mtime_ns + 1_000_000))
        await watched.look("reconcile")
        assert watched.feed.drift == 1
        await watched.look("changed", name)
        assert watched.feed.drift == 0
