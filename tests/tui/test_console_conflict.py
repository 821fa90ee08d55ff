"""Between looking and writing the record may move on: refused, told with three versions, never retried by itself."""

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Button

from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.strictjson import dumps
from phelix_tui.app import ConsoleApp
from phelix_tui.screens.confirm import ConfirmScreen
from phelix_tui.screens.conflict import ConflictScreen
from tests.rig import bytes_of
from tests.tui.stage import Stage, fleet_of, opened, until
from tests.tui.walks import agent_does, confirm, home, page, press_apply, record_of, toasts, told


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    stage = Stage(tmp_path / "data")
    stage.fill(14)
    return stage


async def overtaken(
    stage: Stage, app: ConsoleApp, pilot: Pilot[Any], name: str = "session checkpoint", **raw: object
) -> ConflictScreen:
    """A confirmation whose Apply is pressed just after an agent changed the record, before the watch tells of it."""
    screen = await confirm(app, pilot, "c", "mine")
    agent_does(stage, name, session_id=screen.target.id, **(raw or {"note": "theirs"}))
    screen.query_one("#apply", Button).press()
    return await opened(pilot, ConflictScreen)


async def test_a_record_that_changed_between_opening_and_apply_is_not_written(stage: Stage) -> None:
    """Report 12."""
    async with stage.app() as (app, pilot):
        screen: Any = await confirm(app, pilot, "c", "mine")
        session_id = screen.target.id
        agent_does(stage, "session checkpoint", session_id=session_id, note="theirs")
        theirs = bytes_of(stage.data_dir)
        screen.query_one("#apply", Button).press()
        conflict = await opened(pilot, ConflictScreen)
        assert conflict.query_one("#cancel", Button).has_focus
        assert bytes_of(stage.data_dir) == theirs
        assert [type(screen) for screen in app.screen_stack].count(ConflictScreen) == 1
        await pilot.press("escape")
        await home(app, pilot)
    assert bytes_of(stage.data_dir) == theirs


async def test_a_naive_write_without_the_revision_would_have_closed_the_others_work(stage: Stage) -> None:
    """The control of the test above: the same write, sent without what the operator saw."""
    async with stage.app() as (app, pilot):
        screen: Any = await confirm(app, pilot, "c", "mine")
        session_id = screen.target.id
        agent_does(stage, "session checkpoint", session_id=session_id, note="theirs")
        naive = run(load_command("session complete"), {"session_id": session_id, "result": "mine"}, app.desk.env)
        assert naive.error is None
        assert record_of(stage, session_id)["status"] == "completed"


async def test_the_same_revision_with_other_content_is_not_written_either(stage: Stage) -> None:
    """A record put back from elsewhere may carry the number that was on the screen; the digest still differs."""
    async with stage.app() as (app, pilot):
        screen: Any = await confirm(app, pilot, "c", "mine")
        session_id = screen.target.id
        file = stage.data_dir / "sessions" / f"{session_id}.json"
        record = record_of(stage, session_id)
        record["final_result"] = "put here by a backup"
        file.write_bytes(dumps(record).encode())
        theirs = bytes_of(stage.data_dir)
        screen.query_one("#apply", Button).press()
        await opened(pilot, ConflictScreen)
        assert bytes_of(stage.data_dir) == theirs


async def test_the_conflict_screen_shows_three_versions(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        session_id = fleet_of(app).cursor_id or ""
        rev = record_of(stage, session_id)["rev"]
        await overtaken(stage, app, pilot)
        assert f"rev    {rev}" in page(app, "base")
        assert f"rev    {rev + 1}" in page(app, "current")
        assert "theirs" in page(app, "current")
        assert "theirs" not in page(app, "base")
        assert "mine" in page(app, "change")


async def test_planning_again_on_the_new_revision_shows_a_new_confirmation_and_works(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        session_id = fleet_of(app).cursor_id or ""
        rev = record_of(stage, session_id)["rev"]
        await overtaken(stage, app, pilot)
        await pilot.press("p")
        screen: Any = await opened(pilot, ConfirmScreen)
        assert screen.target.rev == rev + 1
        assert screen.query_one("#cancel", Button).has_focus
        await until(pilot, lambda: not screen.query_one("#apply", Button).disabled, "the new plan")
        assert record_of(stage, session_id)["rev"] == rev + 1, "nothing is retried by itself"
        await press_apply(app, pilot)
        await home(app, pilot)
        await told(app, pilot, "is written")
        record = record_of(stage, session_id)
        assert (record["status"], record["final_result"], record["rev"]) == ("completed", "mine", rev + 2)


async def test_planning_again_meets_the_next_conflict_the_same_way(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await overtaken(stage, app, pilot)
        await pilot.press("p")
        screen: Any = await opened(pilot, ConfirmScreen)
        await until(pilot, lambda: not screen.query_one("#apply", Button).disabled, "the new plan")
        agent_does(stage, "session checkpoint", session_id=screen.target.id, note="theirs again")
        screen.query_one("#apply", Button).press()
        await opened(pilot, ConflictScreen)
        assert "theirs again" in page(app, "current")
        assert len([screen for screen in app.screen_stack if isinstance(screen, ConflictScreen)]) == 1


async def test_the_typed_text_can_be_taken_along(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await overtaken(stage, app, pilot)
        await pilot.press("y")
        await told(app, pilot, "Your text: sent to the terminal by OSC 52")
        assert app.clipboard == "mine"
        await home(app, pilot)


async def test_letting_go_writes_nothing_and_says_nothing(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await overtaken(stage, app, pilot)
        theirs = bytes_of(stage.data_dir)
        await pilot.press("enter")
        await home(app, pilot)
        assert toasts(app) == []
        assert bytes_of(stage.data_dir) == theirs


async def test_a_session_that_was_closed_meanwhile_offers_no_new_plan(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        conflict = await overtaken(stage, app, pilot, "session fail", reason="theirs")
        assert [button.id for button in conflict.query(Button)] == ["cancel", "copy"]
        assert "failed" in page(app, "current")
        await pilot.press("p")
        await pilot.pause()
        assert app.screen is conflict


async def test_a_record_that_is_gone_or_broken_at_apply_is_told_and_left_alone(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        screen: Any = await confirm(app, pilot, "c", "mine")
        file = stage.data_dir / "sessions" / f"{screen.target.id}.json"
        file.write_bytes(file.read_bytes()[:100])
        screen.query_one("#apply", Button).press()
        await told(app, pilot, "SESSION_CORRUPT")
        await home(app, pilot)
        assert len(file.read_bytes()) == 100
