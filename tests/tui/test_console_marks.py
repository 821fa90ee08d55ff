"""Marks in the console: by id, through filters, changes and removals; told in words, and live in the filter."""

import os
from pathlib import Path

import pytest
from textual.widgets import Input

from phelix_tui.widgets.rowlist import MARK_GLYPH
from tests.tui.stage import Stage, fleet_of, until
from tests.tui.walks import agent_does, bar, home, room, type_in


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    stage = Stage(tmp_path / "data")
    stage.fill(26)
    return stage


async def test_space_marks_and_unmarks_and_the_state_line_says_how_many(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        fleet = fleet_of(app)
        first = fleet.cursor_id
        await pilot.press("space", "j", "space")
        await until(pilot, lambda: "2 marked" in bar(app, "state"), "two are told")
        assert first in fleet.marks
        assert MARK_GLYPH in "".join(strip.text for strip in app.screen._compositor.render_strips())  # pyright: ignore[reportPrivateUsage]
        await pilot.press("space")
        await until(pilot, lambda: "1 marked" in bar(app, "state"), "one is told")
        await pilot.press("U")
        await until(pilot, lambda: "marked" not in bar(app, "state"), "none is told")
        assert fleet.marks == frozenset()


async def test_a_range_runs_from_the_last_mark_to_the_cursor_both_ways(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        fleet = fleet_of(app)
        ids = [row.id for row in fleet.rows]
        await pilot.press("j", "j", "space", "j", "j", "V")
        assert fleet.marks == set(ids[2:5])
        await pilot.press("g", "V")
        assert fleet.marks == set(ids[:5]), "from the last one marked upwards"
        await pilot.press("U", "G", "V")
        assert fleet.marks == {ids[-1]}, "without a mark, the cursor's row alone"


async def test_marks_outlive_a_filter_and_those_it_hides_are_counted(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        fleet = fleet_of(app)
        await pilot.press("space", "G", "space")
        marks = fleet.marks
        await pilot.press("slash")
        await type_in(pilot, "is:stale")
        await until(pilot, lambda: "2 marked (1 hidden)" in bar(app, "state"), "the hidden one is told")
        await pilot.press("escape")
        await until(pilot, lambda: fleet.row_count == 26, "everything is back")
        assert fleet.marks == marks
        assert "2 marked" in bar(app, "state")
        assert "hidden" not in bar(app, "state")


async def test_a_filter_on_marks_follows_them_live(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        fleet = fleet_of(app)
        ids = [row.id for row in fleet.rows]
        await pilot.press("space", "j", "space", "slash")
        await type_in(pilot, "is:marked")
        await pilot.press("enter")
        await until(pilot, lambda: [row.id for row in fleet.rows] == ids[:2], "the marked ones")
        await pilot.press("space")
        await until(pilot, lambda: fleet.row_count == 1, "what is unmarked leaves")
        await pilot.press("U")
        await until(pilot, lambda: fleet.row_count == 0, "none is left")
        await pilot.press("escape", "g", "space", "slash")
        await type_in(pilot, "-is:marked")
        await pilot.press("enter")
        await until(pilot, lambda: [row.id for row in fleet.rows] == ids[1:], "all others")
        cursor = fleet.cursor_id
        await pilot.press("space")
        await until(pilot, lambda: cursor not in [row.id for row in fleet.rows], "what is marked leaves")
        assert fleet.marks == {ids[0], cursor}


async def test_the_offers_count_what_is_marked(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await pilot.press("space", "j", "space", "slash")
        await type_in(pilot, "is:ma")
        await until(pilot, lambda: "marked 2" in bar(app, "offers"), "two are offered")


async def test_a_mark_stays_with_its_session_through_changes_and_a_new_order_waits(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        fleet = fleet_of(app)
        before = [row.id for row in fleet.rows]
        marked = fleet.cursor_id or ""
        await pilot.press("space")
        agent_does(stage, "session checkpoint", session_id=marked, step="woke up")
        await until(pilot, lambda: any(c.text == "woke up" for c in fleet.rows[0].cells), "the row says so in place")
        agent_does(stage, "session create", title="young")
        await until(pilot, lambda: len(app.desk.arrangement) == 27, "the new one is known")
        assert [row.id for row in fleet.rows] == before
        await until(pilot, lambda: "waiting · R applies" in bar(app, "state"), "what waits is told")
        await pilot.press("R")
        await until(pilot, lambda: fleet.row_count == 27, "R brings it in")
        assert fleet.marks == {marked}
        assert "1 marked" in bar(app, "state")


async def test_with_the_last_mark_what_waited_comes_in(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await pilot.press("space")
        agent_does(stage, "session create", title="young")
        await until(pilot, lambda: "waiting" in bar(app, "state"), "it waits")
        await pilot.press("U")
        await until(pilot, lambda: fleet_of(app).row_count == 27, "it comes in")


async def test_a_mark_vanishes_with_its_record_and_the_line_says_that_it_has_gone(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        fleet = fleet_of(app)
        first = fleet.cursor_id or ""
        await pilot.press("space", "j", "space")
        os.unlink(stage.data_dir / "sessions" / f"{first}.json")
        await until(pilot, lambda: "1 marked" in bar(app, "state"), "one mark is left")
        assert first not in fleet.marks
        assert "∅ gone" in [cell.text for cell in fleet.rows[0].cells], "until the order is brought in"
        await pilot.press("k", "space")
        assert first not in fleet.marks, "what has gone cannot be marked"
        await pilot.press("R")
        await until(pilot, lambda: fleet.row_count == 25, "the line goes")


async def test_a_record_that_goes_while_another_room_is_in_front_takes_its_mark_along(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        fleet = fleet_of(app)
        marked = fleet.cursor_id or ""
        await pilot.press("space", "G")
        await room(app, pilot, "Timeline")
        os.unlink(stage.data_dir / "sessions" / f"{marked}.json")
        await until(pilot, lambda: len(app.desk.arrangement) == 25, "it has gone")
        await pilot.press("escape")
        await home(app, pilot)
        await until(pilot, lambda: fleet.marks == frozenset(), "its mark too")


async def test_an_empty_list_has_nothing_to_mark(tmp_path: Path) -> None:
    async with Stage(tmp_path / "data").app() as (app, pilot):
        await pilot.press("space", "V", "U")
        assert fleet_of(app).marks == frozenset()


async def test_space_in_the_filter_and_in_the_preview_is_no_mark(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await pilot.press("slash", "a", "space", "b")
        assert app.screen.query_one("#filter", Input).value == "a b"
        await pilot.press("escape")
        await until(pilot, lambda: fleet_of(app).has_focus, "the list has the focus")
        await pilot.press("tab")
        await until(pilot, lambda: app.screen.query_one("#preview").has_focus, "the preview has it")
        await pilot.press("space")
        assert fleet_of(app).marks == frozenset()


async def test_at_eighty_columns_filter_waiting_rows_and_marks_are_all_told_whole(stage: Stage) -> None:
    async with stage.app(80, 24) as (app, pilot):
        await pilot.press("space", "G", "space", "slash")
        await type_in(pilot, "is:stale")
        await pilot.press("enter")
        await until(pilot, lambda: "(1 hidden)" in bar(app, "state"), "a mark is hidden")
        agent_does(stage, "session checkpoint", session_id=fleet_of(app).rows[-1].id, step="woke up")
        await until(pilot, lambda: "waiting" in bar(app, "state"), "it waits")
        state = app.screen.query_one("#state").render_line(0).text
        for said in ("/ is:stale", "of 26 match", "1 waiting · R applies", "2 marked (1 hidden)"):
            assert said in state, state
