"""Marks and actions: what is marked is what is changed, hidden or not, each at the revision that was on the screen."""

import fcntl
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Button, Input

from phelix_core.sessions.model import lock_name
from phelix_tui.app import ConsoleApp
from phelix_tui.form import Entry
from phelix_tui.screens.bulk import BulkConfirm, BulkForm
from phelix_tui.screens.confirm import CommandForm
from phelix_tui.screens.menu import ActionMenu
from tests.tui.stage import Stage, deaf, fleet_of, opened, until
from tests.tui.walks import agent_does, apply_to_all, bar, home, menu, page, record_of, reviewed, told, type_in


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    stage = Stage(tmp_path / "data")
    for number in range(10):
        app = "billing" if number < 2 else "auth"
        agent_does(stage, "session create", title=f"job {number}", app=app)
    return stage


def statuses(stage: Stage, ids: Any) -> list[str]:
    """The records as they stand on disk."""
    return [record_of(stage, one)["status"] for one in sorted(ids)]


async def marked(app: ConsoleApp, pilot: Pilot[Any], rows: int) -> list[str]:
    """Mark the first rows; answers their ids."""
    await pilot.press("g", "space", *(["j"] * (rows - 1)), "V")
    await until(pilot, lambda: len(fleet_of(app).marks) == rows, f"{rows} are marked")
    return list(fleet_of(app).ids[:rows])


async def only_billing(app: ConsoleApp, pilot: Pilot[Any]) -> None:
    """Filter the list to two of the ten."""
    await pilot.press("slash")
    await type_in(pilot, "app=billing")
    await pilot.press("enter")
    await until(pilot, lambda: fleet_of(app).row_count == 2, "two are left")


async def review(app: ConsoleApp, pilot: Pilot[Any], key: str, text: str) -> BulkConfirm:
    """From the list to the confirmation, with the first field filled in."""
    await menu(pilot)
    await pilot.press(key)
    form = await opened(pilot, BulkForm)
    await type_in(pilot, text)
    return await reviewed(app, pilot, form)


async def test_ten_marked_and_two_shown_the_dialog_names_the_eight_and_wants_the_number(stage: Stage) -> None:
    """Public report k9s 3939."""
    async with stage.app() as (app, pilot):
        ids = await marked(app, pilot, 10)
        await only_billing(app, pilot)
        cursor = fleet_of(app).cursor_id
        screen = await menu(pilot)
        assert "10 marked sessions, 8 hidden by the filter" in bar(app, "menu-title")
        await pilot.press("escape")
        await home(app, pilot)
        screen = await review(app, pilot, "x", "not wanted")
        text = page(app, "plan")
        assert "8 hidden by the filter: they are listed below" in text
        shown, hidden = text.split("Hidden by the filter: 8")
        listed = set(fleet_of(app).ids)
        assert {one for one in ids if one in shown} == listed
        assert all(one in hidden for one in ids if one not in listed)
        assert "rev 1" in text
        button = screen.query_one("#apply", Button)
        assert button.disabled
        assert screen.query_one("#cancel", Button).has_focus
        await type_in(pilot, "2")
        assert button.disabled, "how many are seen is not how many are changed"
        await pilot.press("backspace")
        assert statuses(stage, ids) == ["active"] * 10
        await apply_to_all(pilot, screen, "10")
        assert "10 applied" in page(app, "plan")
        assert statuses(stage, ids) == ["cancelled"] * 10
        await pilot.press("escape")
        await home(app, pilot)
        await told(app, pilot, "Cancel session: 10 applied.")
        assert fleet_of(app).marks == frozenset()
        assert app.desk.arrangement.wanted == "app=billing"
        assert fleet_of(app).cursor_id == cursor
        assert len(list(app.desk.activity)) == 10


async def test_a_naive_bulk_acts_on_what_nobody_sees_without_a_word(stage: Stage) -> None:
    """The control: what the list shows does not tell what is marked."""
    async with stage.app() as (app, pilot):
        await marked(app, pilot, 10)
        await only_billing(app, pilot)
        fleet = fleet_of(app)
        assert len(fleet.marks.intersection(fleet.ids)) == 2
        assert len(fleet.marks) == 10


async def test_each_is_bound_to_the_revision_on_the_screen_and_the_end_is_a_table(stage: Stage) -> None:
    async with deaf(stage) as (app, pilot):
        first, second, third, _ = await marked(app, pilot, 4)
        agent_does(stage, "session checkpoint", session_id=second, step="moved on before")
        screen = await review(app, pilot, "c", "all done")
        assert "SESSION_CONFLICT" in page(app, "plan"), "the core says so already"
        agent_does(stage, "session checkpoint", session_id=third, step="moved on after")
        agent_does(stage, "session complete", session_id=first, result="somebody was faster")
        await apply_to_all(pilot, screen, "4")
        text = page(app, "plan")
        assert text.count("✓ applied") == 1
        assert text.count("▲ conflicted") + text.count("✗ refused") == 3
        assert "▲ conflicted" in text
        assert record_of(stage, second)["status"] == record_of(stage, third)["status"] == "active"
        assert record_of(stage, first)["final_result"] == "somebody was faster"
        await pilot.press("escape")
        await home(app, pilot)
        assert fleet_of(app).marks == {first, second, third}, "what was not applied stays marked"


async def test_what_moves_on_while_the_dialog_is_open_is_told_live(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        ids = await marked(app, pilot, 3)
        await review(app, pilot, "c", "all done")
        assert "✓ all 3 unchanged" in bar(app, "guard")
        agent_does(stage, "session checkpoint", session_id=ids[0], step="moved on")
        await until(pilot, lambda: "1 of 3 moved on" in bar(app, "guard"), "the guard says so")


async def test_what_is_closed_already_is_named_and_the_rest_goes_on(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        agent_does(stage, "session complete", session_id=fleet_of(app).ids[0], result="done")
        await until(pilot, lambda: app.desk.arrangement.counts["completed"] == 1, "one is closed")
        await pilot.press("G")
        ids = [*await marked(app, pilot, 9), fleet_of(app).ids[9]]
        await pilot.press("G", "space")
        screen = await review(app, pilot, "f", "did not work")
        assert "1 cannot be changed as they stand" in page(app, "plan")
        await apply_to_all(pilot, screen, "10")
        assert "9 applied, 1 refused" in page(app, "plan")
        assert sorted(statuses(stage, ids)) == ["completed", *["failed"] * 9]


async def test_escape_stops_behind_the_one_being_written(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        ids = await marked(app, pilot, 10)
        screen = await review(app, pilot, "x", "not wanted")
        with open(stage.data_dir / "sessions" / lock_name(ids[2]), "ab") as held:  # noqa: ASYNC230 - a lock, no data
            fcntl.flock(held, fcntl.LOCK_EX)
            await type_in(pilot, "10")
            screen.query_one("#apply", Button).press()
            await until(pilot, lambda: "writing 3 of 10" in bar(app, "guard"), "the third waits for its lock")
            await pilot.press("escape")
            assert "stopping behind this one" in bar(app, "guard")
        await until(pilot, lambda: str(screen.query_one("#cancel", Button).label) == "Close", "it has ended")
        assert "3 applied, 7 not tried" in page(app, "plan")
        assert sorted(statuses(stage, ids)) == [*["active"] * 7, *["cancelled"] * 3]


async def test_one_mark_in_sight_is_that_session_and_one_out_of_sight_wants_the_number(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await pilot.press("G", "space")
        (only,) = fleet_of(app).marks
        await pilot.press("g")
        await menu(pilot)
        assert only in bar(app, "menu-title")
        await pilot.press("c")
        form = await opened(pilot, CommandForm)
        assert not isinstance(form, BulkForm)
        await pilot.press("escape")
        await home(app, pilot)
        await pilot.press("slash")
        await type_in(pilot, "app=billing" if record_of(stage, only)["app"] == "auth" else "app=auth")
        await pilot.press("enter")
        await until(pilot, lambda: only not in fleet_of(app).ids, "it is hidden")
        screen = await review(app, pilot, "x", "not wanted")
        assert "1 hidden by the filter" in page(app, "plan")
        await apply_to_all(pilot, screen, "1")
        assert record_of(stage, only)["status"] == "cancelled"


async def test_a_checkpoint_of_many_wants_the_number_too(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        ids = await marked(app, pilot, 3)
        screen = await review(app, pilot, "k", "deploy")
        await apply_to_all(pilot, screen, "3")
        assert [record_of(stage, one)["rev"] for one in ids] == [2, 2, 2]


async def test_nothing_is_written_in_read_only_and_the_menu_says_why(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data", read_only=True)
    writer = Stage(tmp_path / "data")
    for number in range(3):
        agent_does(writer, "session create", title=f"job {number}")
    async with stage.app() as (app, pilot):
        ids = await marked(app, pilot, 3)
        await menu(pilot)
        assert "read-only" in bar(app, "menu-hint")
        await pilot.press("x")
        await pilot.pause()
        assert isinstance(app.screen, ActionMenu)
        assert statuses(writer, ids) == ["active"] * 3


@pytest.mark.parametrize("size", [(40, 10), (80, 24), (200, 60)])
async def test_the_dialog_fits_every_terminal(stage: Stage, size: tuple[int, int]) -> None:
    async with stage.app(*size) as (app, pilot):
        await marked(app, pilot, 4)
        screen = await review(app, pilot, "x", "no")
        for name in ("#apply", "#cancel", "#proof-typed", "#guard"):
            region = screen.query_one(name).region
            assert region.height == 1, name
            assert screen.region.contains_region(region), name
        assert isinstance(screen.query_one("#proof-typed"), Input | Entry)
