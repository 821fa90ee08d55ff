"""A frozen list: nothing in it moves or changes, what is withheld is counted, and actions know what they saw."""

import os
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Button

from phelix_tui.app import ConsoleApp
from phelix_tui.screens.confirm import CommandForm
from phelix_tui.widgets.pages import Bar
from phelix_tui.widgets.rowlist import RowList
from tests.tui.plans import planned, plans_of
from tests.tui.queues import MINUTE, filled, issues_of
from tests.tui.stage import Stage, fleet_of, opened, until
from tests.tui.walks import agent_does, bar, form, page, record_of, type_in
from tests.tui.walks import planned as plan_shown


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    stage = Stage(tmp_path / "data")
    stage.fill(14)
    return stage


def drawn(rows: RowList) -> list[str]:
    """Every line of the list as it is on the screen."""
    return [rows.render_line(y).text for y in range(rows.size.height)]


async def freeze(app: ConsoleApp, pilot: Pilot[Any]) -> None:
    """Freeze the list in front, and wait until the line that says so has its place."""
    await pilot.press("f")
    line = app.screen.query_one("#frozen", Bar)
    await until(pilot, lambda: "FROZEN" in line.text and line.size.height == 1, "it is frozen")


async def test_nothing_moves_or_changes_and_what_is_withheld_is_counted_until_it_is_let_in(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        fleet = fleet_of(app)
        first, second, third = (row.id for row in fleet.rows[:3])
        await freeze(app, pilot)
        assert "FROZEN · 0 withheld · since 12:00:00Z (0s)" in bar(app, "frozen")
        before, title = drawn(fleet), bar(app, "title")
        agent_does(stage, "session checkpoint", session_id=first, step="woke up")
        agent_does(stage, "session checkpoint", session_id=first, step="and again")
        agent_does(stage, "session create", title="young")
        os.unlink(stage.data_dir / "sessions" / f"{third}.json")
        await until(pilot, lambda: "3 withheld" in bar(app, "frozen"), "one changed, one is new, one has gone")
        stage.clock.wall_ms += 3 * 3_600_000
        await until(pilot, lambda: "(3h)" in bar(app, "frozen"), "the banner goes on")
        await until(pilot, lambda: "watch" in bar(app, "doctor"), "the doctor line goes on")
        assert (drawn(fleet), bar(app, "title")) == (before, title)
        assert fleet.cursor_id == first
        await pilot.press("f")
        await until(pilot, lambda: third not in [row.id for row in fleet.rows], "what has gone goes")
        assert fleet.row_count == 14
        assert not app.screen.query_one("#frozen").display
        assert any("and again" in cell.text for row in fleet.rows if row.id == first for cell in row.cells)
        assert second in [row.id for row in fleet.rows]


async def test_a_list_that_is_not_frozen_moves(stage: Stage) -> None:
    """The control: the same changes, seen at once."""
    async with stage.app() as (app, pilot):
        fleet = fleet_of(app)
        before = drawn(fleet)
        agent_does(stage, "session checkpoint", session_id=fleet.rows[0].id, step="woke up")
        await until(pilot, lambda: drawn(fleet) != before, "it shows")


async def test_an_action_from_a_frozen_list_is_bound_to_what_is_on_the_screen(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        session_id = fleet_of(app).cursor_id or ""
        seen = record_of(stage, session_id)["rev"]
        await freeze(app, pilot)
        agent_does(stage, "session checkpoint", session_id=session_id, step="moved on")
        await until(pilot, lambda: "1 withheld" in bar(app, "frozen"), "it is withheld")
        await form(pilot, "c")
        await type_in(pilot, "all done")
        await until(pilot, lambda: f"now rev {seen + 1}" in bar(app, "guard"), "the guard says that it moved on")
        assert app.screen.query_one("#apply", Button).disabled
        assert record_of(stage, session_id)["status"] == "active"
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.fleet, "back")
        await pilot.press("f")
        await form(pilot, "c")
        screen = await opened(pilot, CommandForm)
        await type_in(pilot, "all done")
        await plan_shown(app, pilot, "all done")
        assert not screen.query_one("#apply", Button).disabled


async def test_filter_order_and_marks_go_on_working_on_what_is_frozen_and_stay_afterwards(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        fleet = fleet_of(app)
        await freeze(app, pilot)
        agent_does(stage, "session create", title="young", app="billing")
        await until(pilot, lambda: "1 withheld" in bar(app, "frozen"), "it is withheld")
        await pilot.press("space", "slash")
        await type_in(pilot, "is:active")
        await pilot.press("enter", "S")
        shown = [row.id for row in fleet.rows]
        assert 0 < len(shown) < 14
        assert "young" not in " ".join(drawn(fleet))
        marks = fleet.marks
        await pilot.press("f")
        await until(pilot, lambda: fleet.row_count == len(shown) + 1, "the new one matches too")
        assert app.desk.arrangement.wanted == "is:active"
        assert app.desk.arrangement.order_by.reverse
        assert fleet.marks == marks == app.desk.arrangement.marked


async def test_what_changed_while_another_room_was_in_front_is_withheld_too(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        fleet = fleet_of(app)
        await freeze(app, pilot)
        before = drawn(fleet)
        await pilot.press("3")
        await until(pilot, lambda: app.screen is app.queue, "the queue is in front")
        agent_does(stage, "session create", title="young")
        await until(pilot, lambda: len(app.desk.arrangement) == 15, "it is known")
        await pilot.press("1")
        await until(pilot, lambda: app.screen is app.fleet and "1 withheld" in bar(app, "frozen"), "it is withheld")
        assert drawn(fleet) == before


async def test_the_preview_of_a_frozen_row_says_where_the_record_is_ahead(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        second = fleet_of(app).rows[1].id
        await freeze(app, pilot)
        agent_does(stage, "session checkpoint", session_id=second, step="moved on")
        await until(pilot, lambda: "1 withheld" in bar(app, "frozen"), "it is withheld")
        await pilot.press("j")
        await until(pilot, lambda: "the frozen list shows rev" in page(app, "preview"), "the page says so")


async def test_a_frozen_queue_stands_still_while_leases_run_out(stage: Stage) -> None:
    filled(stage)
    async with stage.app() as (app, pilot):
        await pilot.press("3")
        await until(pilot, lambda: app.screen is app.queue and issues_of(app).row_count, "the queue is listed")
        await pilot.pause()
        stale = app.desk.backlog.counts["stale"]
        await freeze(app, pilot)
        before = drawn(issues_of(app))
        stage.clock.wall_ms += 200 * MINUTE
        await until(pilot, lambda: app.desk.backlog.counts["stale"] > stale, "leases run out")
        await until(pilot, lambda: "FROZEN · 0 withheld" not in bar(app, "frozen"), "they are counted")
        assert drawn(issues_of(app)) == before
        await pilot.press("f")
        await until(pilot, lambda: drawn(issues_of(app)) != before, "they come in")


async def test_frozen_plans_stand_still(stage: Stage) -> None:
    plans, _ = planned(stage)
    async with stage.app() as (app, pilot):
        await pilot.press("5")
        await until(pilot, lambda: app.screen is app.approvals and plans_of(app).row_count, "the plans are listed")
        await freeze(app, pilot)
        before = drawn(plans_of(app))
        plans.create("cart", "2.2.0")
        await until(pilot, lambda: "1 withheld" in bar(app, "frozen"), "it is withheld", 8)
        assert drawn(plans_of(app)) == before
        await pilot.press("f")
        await until(pilot, lambda: drawn(plans_of(app)) != before, "it comes in")
