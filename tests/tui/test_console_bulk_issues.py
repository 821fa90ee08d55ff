"""Marked issues: one recovery, release or rollback for many, each bound to the epoch or lease on the screen."""

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Button

from phelix_tui.app import ConsoleApp
from phelix_tui.form import Choice
from phelix_tui.screens.bulk import BulkConfirm, BulkForm
from phelix_tui.widgets.rowlist import RowList
from tests.tui.queues import MINUTE, Queue, filled, issues_of
from tests.tui.stage import Stage, opened, until
from tests.tui.walks import apply_to_all, bar, menu, page, reviewed, told, type_in

STALE = ("Port the ledger schema to STRICT tables", "Load test the write path at 5,000 a second")
LOST = "Replay last month's invoices against the new schema"


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path / "data")


async def marked(app: ConsoleApp, pilot: Pilot[Any], rows: int) -> list[str]:
    """Go to the queue and mark its first rows, which want recovery; answers their ids."""
    await pilot.press("3")
    await until(pilot, lambda: app.screen is app.queue and issues_of(app).row_count, "the queue is listed")
    await pilot.press("g", "space", *(["j"] * (rows - 1)), "V")
    await until(pilot, lambda: len(issues_of(app).marks) == rows, f"{rows} are marked")
    return list(issues_of(app).ids[:rows])


async def recovering(app: ConsoleApp, pilot: Pilot[Any]) -> BulkConfirm:
    """From the marks to the confirmation of a recovery of all of them."""
    await menu(pilot)
    await pilot.press("r")
    form = await opened(pilot, BulkForm)
    form.query_one(Choice).value = "requeue"
    await pilot.press("enter")
    await type_in(pilot, "host-a went away")
    return await reviewed(app, pilot, form)


def statuses(queue: Queue, ids: list[str]) -> list[str]:
    return [queue.issue(one)["status"] for one in ids]


async def test_what_a_lost_host_left_is_recovered_at_once_and_what_is_hidden_is_named(stage: Stage) -> None:
    queue, by_task = filled(stage)
    async with stage.app() as (app, pilot):
        ids = await marked(app, pilot, 3)
        assert sorted(ids) == sorted(by_task[task] for task in (*STALE, LOST))
        await pilot.press("slash", *"ledger", "enter")
        await until(pilot, lambda: issues_of(app).row_count == 1, "one is left")
        assert "3 marked (2 hidden)" in bar(app, "state")
        screen = await recovering(app, pilot)
        text = page(app, "plan")
        shown, hidden = text.split("Hidden by the filter: 2")
        assert by_task[STALE[0]] in shown
        assert all(by_task[task] in hidden for task in (STALE[1], LOST))
        assert "epoch 1" in text
        assert screen.query_one("#cancel", Button).has_focus
        assert screen.query_one("#apply", Button).disabled
        before = statuses(queue, ids)
        await type_in(pilot, "1")
        assert screen.query_one("#apply", Button).disabled, "how many are seen is not how many are changed"
        await pilot.press("backspace")
        assert statuses(queue, ids) == before
        await apply_to_all(pilot, screen, "3")
        assert "3 applied" in page(app, "plan")
        assert statuses(queue, ids) == ["ready"] * 3
        await pilot.press("escape")
        await told(app, pilot, "Recover: 3 applied.")
        await until(pilot, lambda: app.screen is app.queue, "back")
        assert issues_of(app).marks == frozenset()
        await until(pilot, lambda: not app.queue.backlog.blockers(), "claims are open again, at once")
        assert len(list(app.desk.activity)) == 3


async def test_an_issue_whose_lease_moved_on_is_left_alone_and_the_others_go_on(stage: Stage) -> None:
    queue, by_task = filled(stage)
    async with stage.app() as (app, pilot):
        ids = await marked(app, pilot, 3)
        screen = await recovering(app, pilot)
        moved = by_task[STALE[1]]
        queue.does("recover", issue_id=moved, resolution="block", reason="somebody was faster", if_epoch=1)
        await until(pilot, lambda: "1 of 3 moved on" in bar(app, "guard"), "it is told")
        await apply_to_all(pilot, screen, "3")
        text = page(app, "plan")
        assert "2 applied" in text
        assert "1 conflicted" in text or "1 refused" in text
        assert [queue.issue(one)["status"] for one in ids if one != moved] == ["ready"] * 2
        assert queue.issue(moved)["status"] == "blocked"
        assert queue.issue(moved)["blockedReason"] == "somebody was faster"
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.queue, "back")
        assert issues_of(app).marks == {moved}, "what was not applied stays marked"


async def test_what_some_of_them_do_not_take_is_named_and_a_project_is_not_promoted_by_marks(stage: Stage) -> None:
    queue, _ = filled(stage)
    async with stage.app() as (app, pilot):
        ids = await marked(app, pilot, 4)
        await menu(pilot)
        assert [row.id for row in app.screen.query_one(RowList).rows] == ["r", "u", "l", "o", "b", "t"]
        await pilot.press("escape")
        confirm = await recovering(app, pilot)
        assert "1 cannot be changed as they stand" in page(app, "plan")
        await apply_to_all(pilot, confirm, "4")
        assert "3 applied" in page(app, "plan")
        assert statuses(queue, ids)[3] == "failed"


async def test_a_row_under_marks_stays_where_it_is_until_the_last_mark_goes(stage: Stage) -> None:
    queue, by_task = filled(stage)
    async with stage.app() as (app, pilot):
        await marked(app, pilot, 1)
        order = list(issues_of(app).ids)
        stage.clock.wall_ms += 60 * MINUTE
        queue.does("recover", issue_id=by_task[STALE[0]], resolution="fail", reason="host-a went away", if_epoch=1)
        await until(pilot, lambda: app.desk.backlog.state(by_task[STALE[0]]) == "failed", "the row follows")
        await until(pilot, lambda: "a new order is waiting" in bar(app, "state"), "it waits")
        assert list(issues_of(app).ids) == order
        await pilot.press("U")
        await until(pilot, lambda: list(issues_of(app).ids) != order, "it comes in")
