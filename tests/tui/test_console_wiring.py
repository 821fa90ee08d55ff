"""Copies by the way that is told, keys from a file, the bell, `--plain`, first-run hints, the first hour."""

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from phelix_core.strictjson import loads
from phelix_tui.app import ConsoleApp
from phelix_tui.hints import HINTS, Hints
from phelix_tui.screens.copying import CopyMenu
from phelix_tui.screens.help import HelpScreen
from phelix_tui.screens.menu import ActionMenu
from phelix_tui.screens.session import SessionRoom
from phelix_tui.widgets.pages import Bar, TextPage
from phelix_tui.widgets.rowlist import RowList
from tests.rig import PHELIX, bytes_of
from tests.tui.plans import planned
from tests.tui.pty_terminal import PtyTerminal, clean_environment
from tests.tui.queues import filled
from tests.tui.stage import Stage, fleet_of, opened, until
from tests.tui.terminals import console, fill, ready
from tests.tui.walks import agent_does, bar, page, toasts, told


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    stage = Stage(tmp_path / "data")
    stage.fill(6)
    return stage


async def copied(app: ConsoleApp, pilot: Pilot[Any], key: str) -> str:
    """What is copied by a key of the menu."""
    app._clipboard = ""  # pyright: ignore[reportPrivateUsage]
    await pilot.press("y")
    await opened(pilot, CopyMenu)
    await pilot.press(key)
    await until(pilot, lambda: app.clipboard, "it is copied")
    return app.clipboard


# Copies


async def test_id_record_command_and_filter_are_copied_and_the_way_is_told(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        session_id = fleet_of(app).cursor_id or ""
        assert await copied(app, pilot, "i") == session_id
        await told(app, pilot, f"{session_id}: sent to the terminal by OSC 52, which cannot say whether it took it.")
        record: Any = loads((await copied(app, pilot, "r")).encode())
        assert record["result"]["session_id"] == session_id
        await told(app, pilot, "The record as JSON: sent")
        place = f"--data-dir {stage.data_dir}"
        assert await copied(app, pilot, "c") == f"phelix session show {session_id} {place}"
        await pilot.press("slash", *"app", "=", *"billing", "enter")
        await until(pilot, lambda: app.desk.arrangement.wanted == "app=billing", "the filter")
        assert await copied(app, pilot, "f") == "app=billing"
        assert await copied(app, pilot, "l") == f"phelix session list --where app=billing {place}"


async def test_issues_and_plans_are_copied_as_their_own_commands_show_them(stage: Stage) -> None:
    filled(stage)
    planned(stage)
    async with stage.app() as (app, pilot):
        for room, command in (("3", "phelix queue show "), ("5", "phelix plan show ")):
            await pilot.press(room)
            await until(pilot, lambda: app.screen is not app.fleet and app.screen.selected_id(), "a row")  # pyright: ignore[reportAttributeAccessIssue,reportUnknownLambdaType,reportUnknownMemberType]
            selected: Any = app.screen.selected_id()  # pyright: ignore[reportAttributeAccessIssue,reportUnknownMemberType,reportUnknownVariableType]
            assert (await copied(app, pilot, "c")).startswith(f"{command}{selected}")
            record: Any = loads((await copied(app, pilot, "r")).encode())
            assert selected in json.dumps(record["result"])


async def test_the_copy_menu_can_be_left_and_chosen_from_with_the_mouse(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await pilot.press("y")
        menu: Any = await opened(pilot, CopyMenu)
        await pilot.click(menu.query_one(RowList), offset=(4, 1))
        await until(pilot, lambda: app.clipboard == fleet_of(app).cursor_id, "the id")
        await pilot.press("y")
        await opened(pilot, CopyMenu)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.fleet, "back")


async def test_read_only_without_any_way_says_so_and_writes_no_file(tmp_path: Path) -> None:
    Stage(tmp_path / "data").fill(3)
    stage = Stage(tmp_path / "data", read_only=True)
    before = bytes_of(stage.data_dir)
    async with stage.app() as (app, pilot):
        app.environ = {"TERM": "dumb", "PATH": ""}
        await pilot.press("y")
        await opened(pilot, CopyMenu)
        await pilot.press("y")
        await told(app, pilot, "could not be copied")
    assert bytes_of(stage.data_dir) == before


# Keys from a file


async def test_keys_of_a_file_are_in_force_and_told_in_help_and_hints_and_problems_once(stage: Stage) -> None:
    (stage.data_dir / "keys.toml").write_text('[keys]\n"room.act" = "ctrl+g"\n"app.help" = "f1"\n"nope.nope" = "x"\n')
    async with stage.app() as (app, pilot):
        assert [toast for toast in toasts(app) if "keys.toml" in toast] == [
            "keys.toml: nope.nope: there is no binding of that id"
        ]
        assert "ctrl+g act · / find · f1 help" in bar(app, "doctor")
        await pilot.press("a")
        assert app.screen is app.fleet
        await pilot.press("ctrl+g")
        await opened(pilot, ActionMenu)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.fleet, "back")
        await pilot.press("f1")
        screen: Any = await opened(pilot, HelpScreen)
        text = screen.query_one(TextPage).text
        assert re.search(r"ctrl\+g +Act", text)
        assert "`ctrl+g` opens the actions" in text
        assert re.search(r"f1 +Help", text)


# The bell


async def test_sessions_that_become_stale_ring_once_together_and_quiet_kinds_do_not(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    rung: list[int] = []

    def ring(_: ConsoleApp) -> None:
        rung.append(1)

    monkeypatch.setattr(ConsoleApp, "bell", ring)
    hour = 61 * 60_000
    async with stage.app() as (app, pilot):
        await pilot.pause(1.2)
        assert rung == []
        stage.clock.wall_ms += hour
        await told(app, pilot, "became stale. 4 shows what needs a person.")
        assert rung == [1]
        session_id = agent_does(stage, "session create", title="ship it").session_id
        await until(pilot, lambda: session_id in app.desk.arrangement, "it is there")
        agent_does(stage, "session fail", session_id=session_id, reason="no")
        await told(app, pilot, "ship it failed.")
    quiet = Stage(stage.data_dir, quiet=("failed", "nonsense"))
    rung.clear()
    async with quiet.app() as (app, pilot):
        await told(app, pilot, "quiet: there is no kind nonsense; there are conflict, failed,")
        session_id = agent_does(stage, "session create", title="another").session_id
        agent_does(stage, "session fail", session_id=session_id, reason="no")
        await until(pilot, lambda: app.desk.arrangement.states.get(session_id) == "failed", "it failed")
        await pilot.pause(1.2)
        assert rung == []
        app.quieten("failed")
        session_id = agent_does(stage, "session create", title="a third").session_id
        agent_does(stage, "session fail", session_id=session_id, reason="no")
        await told(app, pilot, "a third failed.")


# Line by line


def test_plain_is_started_by_its_option_without_a_terminal_and_ends_by_ctrl_c(tmp_path: Path) -> None:
    fill(tmp_path / "data", 3)
    env = clean_environment(HOME=str(tmp_path), PHELIX_DATA_DIR=str(tmp_path / "data"))
    with PtyTerminal([str(PHELIX), "tui", "--plain"], cols=200, env=env) as terminal:
        terminal.wait_for("3 sessions in ~/data", 20)
        terminal.process.send_signal(signal.SIGINT)
        terminal.wait_end()
        assert b"\x1b" not in terminal.raw


# First-run hints


async def test_hints_come_one_at_a_time_and_each_is_gone_for_good_once_used_or_put_away(stage: Stage) -> None:
    async with stage.app(80, 24) as (app, pilot):
        assert "hides" not in bar(app, "doctor"), "none where nobody asked for them, as in pictures"
        app.hints = Hints(str(stage.data_dir))
        app._tell_doctor()  # pyright: ignore[reportPrivateUsage]
        assert "a: what can be done with the selected one · x hides" in bar(app, "doctor")
        assert "watch" in bar(app, "doctor")
        await pilot.press("a")
        await opened(pilot, ActionMenu)
        await pilot.press("escape")
        await until(pilot, lambda: "/: finds" in bar(app, "doctor"), "the next one")
        await pilot.press("x")
        await until(pilot, lambda: ":: any session" in bar(app, "doctor"), "the last one")
        await pilot.press("x")
        await until(pilot, lambda: "? help" in bar(app, "doctor"), "the keys again")
    assert Hints(str(stage.data_dir)).left == ()
    assert json.loads((stage.data_dir / "cache" / "hints.json").read_text())["done"] == ["act", "find", "palette"]


async def test_a_hint_that_does_not_fit_is_not_shown(stage: Stage) -> None:
    async with stage.app(40, 10) as (app, _):
        app.hints = Hints(str(stage.data_dir))
        app._tell_doctor()  # pyright: ignore[reportPrivateUsage]
        assert "hides" not in bar(app, "doctor")


@pytest.mark.parametrize("kept", [b"", b"[]", b'{"done": 3}', b'{"done": [[]]}', b"\xff", b"[" * 3000])
def test_a_file_of_hints_that_is_none_costs_a_hint_and_nothing_else(tmp_path: Path, kept: bytes) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "hints.json").write_bytes(kept)
    hints = Hints(str(tmp_path))
    assert hints.left == HINTS
    hints.done(HINTS[0])
    assert Hints(str(tmp_path)).left == HINTS[1:]
    (tmp_path / "cache" / "hints.json").unlink()
    (tmp_path / "cache" / "hints.json").mkdir()
    Hints(str(tmp_path)).done(HINTS[0])


def test_a_console_on_a_terminal_shows_them_and_a_read_only_one_does_not(tmp_path: Path) -> None:
    fill(tmp_path / "data", 3)
    (tmp_path / "data" / "cache" / "hints.json").unlink()
    with console(tmp_path / "data") as terminal:
        ready(terminal)
        terminal.wait_for("x hides")
    with console(tmp_path / "data", "--read-only") as terminal:
        ready(terminal)
        terminal.wait_for("? help")
        assert "x hides" not in terminal.text


# The first hour


async def test_an_empty_directory_says_what_to_run_and_copies_it(tmp_path: Path) -> None:
    async with Stage(tmp_path / "data").app(80, 24) as (app, pilot):
        assert "phelix session create" in page(app, "preview")
        await pilot.press("y")
        await until(pilot, lambda: app.clipboard.startswith("phelix session create --title"), "the command")
        await told(app, pilot, "OSC 52")


async def test_an_unreadable_directory_says_why_and_what_to_do_and_heals_by_itself(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data")
    stage.data_dir.mkdir()
    (stage.data_dir / "sessions").write_text("")
    async with stage.app(100, 30) as (app, pilot):
        said = page(app, "preview")
        assert "cannot be read" in said
        assert "FILESYSTEM_ERROR" in said
        assert "looks again every two seconds" in said
        await pilot.press("y")
        await until(pilot, lambda: app.clipboard.startswith("ls -ld "), "the command")
        os.unlink(stage.data_dir / "sessions")
        await until(pilot, lambda: "There are no sessions here yet" in page(app, "preview"), "it heals", 6)


# The mouse


async def test_rows_tabs_and_the_wheel_work_with_the_mouse(stage: Stage) -> None:
    async with stage.app(80, 24) as (app, pilot):
        await pilot.click(fleet_of(app), offset=(5, 3))
        assert fleet_of(app).cursor_id == fleet_of(app).rows[2].id
        await pilot.click(fleet_of(app), offset=(5, 3))
        await until(pilot, lambda: isinstance(app.screen, SessionRoom), "it opens")
        await until(pilot, lambda: "Timeline" in page(app, "story"), "its story")
        await pilot.click(app.screen.query_one("#tabs", Bar), offset=(11, 0))
        await until(pilot, lambda: '"schema_version"' in page(app, "story"), "the record")
        story = app.screen.query_one("#story", TextPage)
        story._on_mouse_scroll_down(_wheel(story))  # pyright: ignore[reportPrivateUsage]
        await until(pilot, lambda: story.scroll_offset.y > 0, "it scrolls")
        await pilot.click(app.screen.query_one("#tabs", Bar), offset=(2, 0))
        await until(pilot, lambda: "Timeline" in page(app, "story"), "the story again")


def _wheel(widget: TextPage) -> Any:
    from textual.events import MouseScrollDown  # noqa: PLC0415 - only here

    return MouseScrollDown(widget, 1, 1, 0, 1, 0, shift=False, meta=False, ctrl=False)
