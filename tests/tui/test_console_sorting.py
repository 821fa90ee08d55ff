"""Lists by any of their columns: in the order that the core's keys give, whatever happens meanwhile, cursor kept."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.pilot import Pilot

from phelix_core.views.ordering import ISSUE_COLUMNS, SESSION_COLUMNS, order_sessions_by
from phelix_tui.app import ConsoleApp
from phelix_tui.arrangement import Arrangement
from phelix_tui.screens import list_room
from phelix_tui.screens.order import OrderMenu
from phelix_tui.sorting import OWN, Order, sorted_in_parts
from phelix_tui.widgets.rowlist import RowList
from tests.rig import did
from tests.tui.plans import planned, plans_of
from tests.tui.queues import filled, issues_of
from tests.tui.stage import Stage, fleet_of, opened, until
from tests.tui.test_arrangement import IDS, LIMIT, START, STEPS, summary
from tests.tui.walks import agent_does, bar, type_in

ORDERS = [Order(column, reverse) for column in SESSION_COLUMNS for reverse in (False, True)]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    stage = Stage(tmp_path / "data")
    stage.fill(14)
    return stage


def header(rows: RowList) -> str:
    """The titles as drawn."""
    return rows.render_line(0).text


def ids(rows: RowList) -> list[str]:
    """The rows as listed."""
    return [row.id for row in rows.rows]


async def sort(pilot: Pilot[Any], column: str) -> None:
    """Choose a column in the menu."""
    await pilot.press("s")
    menu = await opened(pilot, OrderMenu)
    menu.query_one("#order-list", RowList).move_to(column)
    await pilot.press("enter")
    app: Any = pilot.app
    await until(pilot, lambda: app.screen is not menu, "the menu closes")


# The memory behind the list


@settings(max_examples=150, deadline=None)
@given(STEPS, st.lists(st.sampled_from(ORDERS), min_size=12, max_size=12))
def test_the_order_chosen_is_that_of_a_naive_sort_after_every_step(steps: Any, orders: list[Order]) -> None:
    now_ms, arrangement = START, Arrangement(LIMIT)
    for (passed, (what, given_)), order in zip(steps, orders, strict=False):
        now_ms += passed
        arrangement.sort(order)
        if what == "load":
            arrangement.load(given_, now_ms)
        elif what == "change":
            arrangement.change(given_, now_ms)
        elif what == "filter":
            arrangement.wanted = given_
        else:
            arrangement.tick(now_ms, IDS)
        key = order_sessions_by(order.column, reverse=order.reverse)
        shown = set(arrangement.order())
        known = {one: found for one, found in arrangement.known().items() if one in shown}
        keys = [key(arrangement.state(one) or "", found, one) for one, found in known.items()]
        assert arrangement.order() == [found[-1] for found in sorted(keys)]
        pressing = [one for one, _ in arrangement.pressing()]
        own = order_sessions_by("state")
        naive = sorted(own(arrangement.state(one) or "", f, one) for one, f in arrangement.known().items())
        assert pressing == [found[-1] for found in naive][: len(pressing)], (
            "attention is told whatever the list's order"
        )


def test_what_changes_while_a_thread_sorts_is_in_its_place_afterwards() -> None:
    arrangement = Arrangement(LIMIT)
    arrangement.load({one: summary(one, title=f"t{number}") for number, one in enumerate(IDS)}, START)
    made = arrangement.sorter(Order("title"))
    arrangement.change({IDS[0]: summary(IDS[0], title="t9", rev=2), IDS[1]: None, "ses_new": summary("ses_new")}, START)
    places = made()
    assert arrangement.take_places(places)
    assert arrangement.order() == ["ses_new", IDS[2], IDS[3], IDS[4], IDS[5], IDS[0]]
    naive = [key[-1] for key in made().sorted]
    assert naive != arrangement.order(), "what the thread made alone is old"


def test_of_two_orders_asked_for_the_first_is_too_late() -> None:
    arrangement = Arrangement(LIMIT)
    arrangement.load({one: summary(one) for one in IDS}, START)
    first, second = arrangement.sorter(Order("title")), arrangement.sorter(Order("age"))
    assert not arrangement.take_places(first())
    assert arrangement.order_by == OWN
    assert arrangement.take_places(second())


def test_sorting_in_parts_sorts() -> None:
    keys = [((number * 7_919) % 25_013, f"id{number}") for number in range(25_013)]
    assert sorted_in_parts(keys) == sorted(keys)
    assert sorted_in_parts([]) == []


def test_the_queue_stays_in_the_order_chosen_through_every_change(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data")
    queue, by_task = filled(stage)
    app = ConsoleApp(stage.console)
    backlog = app.desk.backlog

    def read() -> None:
        backlog.take(
            did(stage.console, "queue board", **({"since": backlog.seq} if len(backlog) else {})), app.desk.moment()
        )

    def naive(order: Order) -> list[str]:
        return [key[-1] for key in sorted(map(backlog.key_of(order), backlog.issues))]

    read()

    def recovered() -> None:
        for issue_id in backlog.blockers():
            queue.does("recover", issue_id=issue_id, resolution="requeue", reason="its agent died")

    changes: list[Callable[[], object]] = [
        recovered,
        lambda: queue.claim(by_task["Write the change notes"], "builder-9"),
    ]
    for column in ISSUE_COLUMNS:
        for reverse in (False, True):
            backlog.sort(Order(column, reverse))
            assert backlog.order() == naive(Order(column, reverse)), column
    for column, change in zip(("about", "left"), changes, strict=True):
        backlog.sort(Order(column))
        before = backlog.order()
        change()
        read()
        assert backlog.order() == naive(Order(column))
        assert backlog.order() != before
    for column in ISSUE_COLUMNS:
        backlog.sort(Order(column))
        stage.clock.wall_ms += 3_600_000
        backlog.tick(app.desk.moment(), ())
        assert backlog.order() == naive(Order(column))


# On the screen


async def test_the_menu_sorts_by_a_column_the_header_says_which_and_the_cursor_stays(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        fleet = fleet_of(app)
        assert "STATUS↑" in header(fleet)
        await pilot.press("j", "j", "space", "j")
        cursor, marks = fleet.cursor_id, fleet.marks
        await sort(pilot, "title")
        titles = [str(row.cells[2].text).casefold() for row in fleet.rows]
        assert titles == sorted(titles)
        assert "TITLE↑" in header(fleet)
        assert "STATUS↑" not in header(fleet)
        assert (fleet.cursor_id, fleet.marks) == (cursor, marks)
        await pilot.press("S")
        assert "TITLE↓" in header(fleet)
        turned = [str(row.cells[2].text).casefold() for row in fleet.rows]
        assert turned == titles[::-1]
        assert fleet.cursor_id == cursor
        await sort(pilot, "state")
        assert [row.id for row in fleet.rows] == [row.session_id for row in app.desk.arrangement.in_order()]
        assert app.fleet.order == OWN


async def test_the_column_in_force_once_more_turns_around_and_a_narrow_title_keeps_its_arrow(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await sort(pilot, "refs")
        await sort(pilot, "refs")
        assert app.fleet.order == Order("refs", reverse=True)
        assert "REF↓" in header(fleet_of(app))


async def test_a_filter_and_changes_keep_the_order_chosen(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        fleet = fleet_of(app)
        await sort(pilot, "title")
        agent_does(stage, "session create", title="AAA first of all")
        await until(pilot, lambda: fleet.row_count == 15, "it comes in", 3)
        assert "AAA" in fleet.rows[0].cells[2].text
        await pilot.press("slash")
        await type_in(pilot, "is:active")
        await pilot.press("enter")
        titles = [str(row.cells[2].text).casefold() for row in fleet.rows]
        assert titles == sorted(titles)
        assert 0 < len(titles) < 15


async def test_a_click_on_a_title_sorts_by_it(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        fleet = fleet_of(app)
        at = header(fleet).index("TITLE")
        await pilot.click(fleet, offset=(at + 1, 0))
        await until(pilot, lambda: "TITLE↑" in header(fleet), "by title")
        await pilot.click(fleet, offset=(at + 1, 0))
        await until(pilot, lambda: "TITLE↓" in header(fleet), "turned around")


async def test_issues_are_sorted_and_their_session_is_on_another_key(stage: Stage) -> None:
    filled(stage)
    async with stage.app() as (app, pilot):
        await pilot.press("3")
        await until(pilot, lambda: app.screen is app.queue and issues_of(app).row_count, "the queue is listed")
        await sort(pilot, "priority")
        ranks = [app.desk.backlog.issues[one].rank for one in ids(issues_of(app))]
        assert ranks == sorted(ranks)
        assert "sorted by PRIO↑" in bar(app, "state"), "the column has no room here"
        await pilot.resize_terminal(160, 40)
        await until(pilot, lambda: "PRIO↑" in header(issues_of(app)), "it has now")
        await until(pilot, lambda: "sorted by" not in bar(app, "state"), "the header says it")
        assert "o session" in bar(app, "doctor")


async def test_many_rows_are_sorted_in_a_thread_and_come_in_together(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_room, "AT_ONCE", 5)
    async with stage.app() as (app, pilot):
        fleet = fleet_of(app)
        before = ids(fleet)
        await sort(pilot, "title")
        await until(pilot, lambda: "TITLE↑" in header(fleet), "it is in force")
        assert ids(fleet) != before
        assert app.desk.arrangement.order_by == Order("title")


async def test_plans_are_sorted_by_what_their_columns_say(stage: Stage) -> None:
    planned(stage)
    async with stage.app() as (app, pilot):
        await pilot.press("5")
        await until(pilot, lambda: app.screen is app.approvals and plans_of(app).row_count, "the plans are listed")
        own = ids(plans_of(app))
        await sort(pilot, "app")
        told = [str(row.cells[3].text).casefold() for row in plans_of(app).rows]
        assert told == sorted(told)
        await pilot.press("S")
        assert [str(row.cells[3].text).casefold() for row in plans_of(app).rows] == sorted(told, reverse=True)
        await sort(pilot, "since")
        await sort(pilot, "state")
        assert ids(plans_of(app)) == own
