"""The palette: everything there is by a few words, at most twenty of it, nothing not typed for, and no key waits."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from phelix_core.sessions.summary import SessionSummary
from phelix_core.text import SafeStr
from phelix_tui.app import ConsoleApp, bindings_of
from phelix_tui.palette import MOST, Offer, RecordIndex, Subject, indexed, offers_for, shared
from phelix_tui.screens.confirm import CommandForm
from phelix_tui.screens.issue import IssueRoom
from phelix_tui.screens.palette import Palette
from phelix_tui.screens.plan import PlanRoom
from phelix_tui.screens.room import Room
from phelix_tui.screens.session import SessionRoom
from phelix_tui.widgets.rowlist import RowList
from tests.rig import bytes_of
from tests.tui.plans import planned
from tests.tui.queues import filled
from tests.tui.stage import Stage, fleet_of, opened, until
from tests.tui.walks import toasts


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    stage = Stage(tmp_path / "data")
    stage.fill(12)
    return stage


async def palette(app: ConsoleApp, pilot: Pilot[Any], typed: str = "") -> Palette:
    await pilot.press("colon")
    await until(pilot, lambda: isinstance(app.screen, Palette), "the palette")
    for character in typed:
        await pilot.press("space" if character == " " else character)
    found: Any = app.screen
    await until(pilot, lambda: found.is_settled, "what was found")
    return found


def rows_of(found: Palette) -> RowList:
    return found.query_one("#palette-list", RowList)


def titles(found: Palette) -> list[str]:
    return [str(row.cells[1].text) for row in rows_of(found).rows]


def offer(title: str, **more: Any) -> Offer:
    return Offer(id=title, kind="go", title=SafeStr(title), run=lambda: None, **more)


def test_words_stand_in_any_order_and_what_begins_with_the_first_comes_first() -> None:
    offers = [offer("Go to the queue"), offer("Queue"), offer("Fleet")]
    assert [one.title for one in offers_for(offers, "queue")] == ["Queue", "Go to the queue"]
    assert [one.title for one in offers_for(offers, "queue go")] == ["Queue", "Go to the queue"], (
        "`go` is what they are"
    )
    assert offers_for(offers, "queue nothing") == []
    assert offers_for(offers, " ") == offers


def test_an_id_or_its_end_comes_first_and_words_never_join_across_records() -> None:
    lines = {"ses_01": "ship ab12 billing", "ses_ab12": "rotate keys", "ses_03": "Straße\nkeys", "ses_04": "x"}
    index = RecordIndex((Subject("session", one), f"{one} {text}") for one, text in lines.items())
    assert [one.id for one in index.find("ab12", 9)] == ["ses_ab12", "ses_01"]
    assert [one.id for one in index.find("KEYS rotate", 9)] == ["ses_ab12"]
    assert [one.id for one in index.find("STRASSE", 9)] == ["ses_03"]
    assert index.find("billing rotate", 9) == []
    assert len(index.find("s", 2)) == 2
    assert index.find("", 9) == []


def test_there_are_never_more_than_twenty_and_records_are_not_crowded_out() -> None:
    many = [offer(f"one {number}") for number in range(40)]
    records = [offer(f"record {number}") for number in range(40)]
    assert len(shared(many, [])) == len(shared([], records)) == len(shared(many, records)) == MOST
    assert len([one for one in shared(many, records) if one.title.startswith("record")]) == 12


async def test_sessions_issues_plans_rooms_and_themes_are_found_and_opened(stage: Stage) -> None:
    filled(stage)
    _, ids = planned(stage)
    async with stage.app(100, 30) as (app, pilot):
        session_id = fleet_of(app).rows[3].id
        issue_id = sorted(app.desk.backlog.issues)[2]
        for typed, kind, about in (
            (session_id[-6:], SessionRoom, session_id),
            (issue_id, IssueRoom, issue_id),
            (ids["waiting"][-6:], PlanRoom, ids["waiting"]),
        ):
            await palette(app, pilot, typed)
            await pilot.press("enter")
            await until(pilot, lambda kind=kind: isinstance(app.screen, kind), f"{typed} opens")
            assert about in str(app.screen.query_one("#title").text), about  # pyright: ignore[reportAttributeAccessIssue,reportUnknownMemberType,reportUnknownArgumentType]
            await pilot.press("1")
        await palette(app, pilot, "queue")
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.queue, "the room")
        await palette(app, pilot, "theme light")
        await pilot.press("enter")
        await until(pilot, lambda: app.theme == "phelix-light", "the theme")


async def test_actions_are_there_with_their_reasons_and_go_the_same_way(stage: Stage) -> None:
    before = bytes_of(stage.data_dir)
    async with stage.app(120, 40) as (app, pilot):
        assert fleet_of(app).move_to(
            next(row.id for row in fleet_of(app).rows if app.desk.arrangement.states[row.id] == "active")
        )
        await pilot.pause()
        found = await palette(app, pilot, "complete")
        assert titles(found)[0].startswith("Complete ses_")
        await pilot.press("enter")
        await opened(pilot, CommandForm)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.fleet, "back")
        closed = next(row.id for row in fleet_of(app).rows if app.desk.arrangement.states[row.id] == "completed")
        assert fleet_of(app).move_to(closed)
        await pilot.pause()
        found = await palette(app, pilot, "act complete")
        assert "closed: completed" in rows_of(found).rows[0].cells[2].text
        await pilot.press("enter")
        await until(pilot, lambda: any("closed: completed" in toast for toast in toasts(app)), "the reason")
        assert app.screen is found
    assert bytes_of(stage.data_dir) == before


async def test_every_key_of_every_room_is_offered_there(stage: Stage) -> None:
    async with stage.app(120, 40) as (app, pilot):
        for key in "1345":
            await pilot.press(key)
            await pilot.pause()
            room = app.screen
            assert isinstance(room, Room)
            offered = {command.title for command in app.get_system_commands(room)}
            wanted = {
                one.description for kind in (type(room), type(app)) for one in bindings_of(kind) if one.description
            }
            assert wanted - offered == {"Commands"}


async def test_saved_views_are_offered_and_put_in_force_on_fleet(stage: Stage) -> None:
    (stage.data_dir / "views").mkdir()
    (stage.data_dir / "views" / "late.toml").write_text('where = "is:stale"\ntitle = "What is late"\n')
    async with stage.app(120, 40) as (app, pilot):
        await pilot.press("3")
        found = await palette(app, pilot, "view late")
        await until(pilot, lambda: titles(found) == ["late"], "the view")
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.fleet and app.desk.arrangement.wanted == "is:stale", "in force")


async def test_enter_waits_until_the_list_is_that_of_the_words_typed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Naive: what stands first at the moment of the key is taken, though it is what was found for fewer letters."""
    find, may_go_on = RecordIndex.find, __import__("threading").Event()

    def slow(self: RecordIndex, typed: str, most: int) -> list[Subject]:
        may_go_on.wait(5)
        return find(self, typed, most)

    async with stage.app(100, 30) as (app, pilot):
        session_id = fleet_of(app).rows[5].id
        await palette(app, pilot)
        monkeypatch.setattr(RecordIndex, "find", slow)
        await pilot.press(*session_id[-8:], "enter")
        await pilot.pause(0.1)
        assert isinstance(app.screen, Palette)
        may_go_on.set()
        await until(pilot, lambda: isinstance(app.screen, SessionRoom), "it opens")
        assert app.screen.session_id == session_id  # pyright: ignore[reportAttributeAccessIssue,reportUnknownMemberType]


async def test_the_mouse_chooses_what_is_under_it(stage: Stage) -> None:
    async with stage.app(100, 30) as (app, pilot):
        found = await palette(app, pilot, "go queue")
        assert titles(found) == ["Queue"]
        await pilot.click(rows_of(found), offset=(4, 1))
        await until(pilot, lambda: app.screen is app.queue, "the room")


@pytest.mark.parametrize("size", [(40, 10), (80, 24), (200, 60)], ids=str)
async def test_it_fits_small_and_large_terminals(stage: Stage, size: tuple[int, int]) -> None:
    async with stage.app(*size) as (app, pilot):
        found = await palette(app, pilot)
        listed = rows_of(found)
        assert listed.size.height >= 4
        assert listed.region.right <= size[0]
        assert listed.region.bottom < size[1]


async def test_the_loop_is_not_kept_waiting_by_a_hundred_thousand_sessions(stage: Stage) -> None:
    """The index and each search are made in a thread; naive: made on the loop, it stands still as long as they take."""
    async with stage.app(100, 30) as (app, _):
        known = app.desk.arrangement.known()
        some = next(found for found in known.values() if isinstance(found, SessionSummary))
        many = {f"ses_{number:016x}": some for number in range(100_000)}
        app.desk.arrangement.load(many, app.desk.now_ms())
        made = indexed(app.desk)
        index, stood, took = await _in_a_thread(made)
        assert len(index) >= 100_000
        assert stood < 0.05
        assert took > 0.05, "naive: it would stand still as long as it takes"
        found, stood, took = await _in_a_thread(lambda: index.find("ses 000186", MOST))
        assert len(found) == MOST
        assert stood < 0.05
        assert took < 0.25


async def _in_a_thread(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """What `work` answers, how long the loop stood still meanwhile and how long it took: the best of a few tries.

    Other programs on the machine may keep both waiting.
    """
    answer, stood, took = None, float("inf"), float("inf")
    for _ in range(5):
        started = time.perf_counter()
        done = asyncio.ensure_future(asyncio.to_thread(work))
        longest = 0.0
        while not done.done():
            before = time.perf_counter()
            await asyncio.sleep(0.001)
            longest = max(longest, time.perf_counter() - before)
        answer, stood, took = done.result(), min(stood, longest), min(took, time.perf_counter() - started)
    return answer, stood, took
