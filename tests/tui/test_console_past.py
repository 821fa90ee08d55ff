"""Time travel: what is on the screen is the past and says so, stays where it was put, and lets nothing be done."""

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from phelix_core.views.past import points
from phelix_tui.app import ConsoleApp
from phelix_tui.cells import cell_width
from phelix_tui.screens.help import HelpScreen
from phelix_tui.screens.menu import ActionMenu
from phelix_tui.screens.past_drawing import HERE, MARKED, diff_lines, past_lines, rail_lines
from phelix_tui.screens.session import SessionRoom
from phelix_tui.travel import Travel
from phelix_tui.wrapping import TextLine, wrapped
from tests.core.test_views import is_safe
from tests.rig import bytes_of
from tests.tui.hostile import ALL, mixtures, write_hostile
from tests.tui.stage import Stage, opened, until
from tests.tui.walks import agent_does, bar, page, room, told

MINUTE = 60_000
STEPS = (("fetch", 1), ("build", 2), ("deploy", 30))


def grown(stage: Stage) -> str:
    """A session of four points: created, then 1, 2 and 30 minutes apart; now is the moment of the last."""
    noon = stage.clock.wall_ms
    stage.clock.wall_ms = noon - 33 * MINUTE
    session_id = agent_does(stage, "session create", title="ship billing").session_id
    for step, minutes in STEPS:
        stage.clock.wall_ms += minutes * MINUTE
        agent_does(stage, "session checkpoint", session_id=session_id, step=step)
    return session_id


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    stage = Stage(tmp_path / "data")
    grown(stage)
    return stage


async def past(app: ConsoleApp, pilot: Pilot[Any], *keys: str) -> SessionRoom:
    screen = await room(app, pilot, "deploy")
    await pilot.press("t", *keys)
    await until(pilot, lambda: "HISTORICAL" in bar(app, "title"), "the band")
    return screen


BEFORE, AFTER = "left_square_bracket", "right_square_bracket"


async def test_the_title_becomes_a_band_that_names_the_point_and_escape_comes_back_to_now(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        screen = await past(app, pilot)
        assert "HISTORICAL seq 3 of 3 · 12:00:00Z" in bar(app, "title")
        await pilot.press(BEFORE)
        assert "HISTORICAL seq 2 of 3 · 11:30:00Z" in bar(app, "title")
        assert screen.has_class("-past")
        assert "build" in page(app, "story")
        assert "earlier, later" in bar(app, "doctor"), "the keys that count here"
        await pilot.press("escape")
        assert app.screen is screen
        assert "HISTORICAL" not in bar(app, "title")
        assert not screen.has_class("-past")
        assert "a act" in bar(app, "doctor")
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.fleet, "then back to the list")


async def test_scrubbing_from_now_goes_to_the_point_before_and_no_further_than_there_are_points(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await room(app, pilot, "deploy")
        await pilot.press(AFTER)
        await told(app, pilot, "This is now")
        assert "HISTORICAL" not in bar(app, "title")
        await pilot.press(BEFORE)
        assert "seq 2 of 3" in bar(app, "title")
        await pilot.press(*[BEFORE] * 5)
        assert "seq 0 of 3" in bar(app, "title")
        assert "session created" in page(app, "story")
        await pilot.press(*[AFTER] * 9)
        assert "seq 3 of 3" in bar(app, "title")
        await pilot.press("t")
        assert "HISTORICAL" not in bar(app, "title"), "the same key comes back"


async def test_events_that_arrive_in_the_past_move_nothing_but_how_many_there_are(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        screen = await past(app, pilot, BEFORE, BEFORE)
        before = page(app, "story")
        agent_does(stage, "session checkpoint", session_id=screen.session_id, step="verify")
        await until(pilot, lambda: "seq 1 of 4" in bar(app, "title"), "the newcomer is counted")
        assert "11:28:00Z" in bar(app, "title")
        after = page(app, "story")
        assert "Timeline: 5 points" in after
        point = slice(before.index("revision"), before.index("Timeline"))
        assert before[point] in after, "what is told of the point is what it was"


async def test_from_the_past_every_action_is_refused_with_that_reason(stage: Stage) -> None:
    """The naive version offers what can be done to the session now, about a point that is long gone."""
    before = bytes_of(stage.data_dir)
    async with stage.app() as (app, pilot):
        screen = await room(app, pilot, "deploy")
        await pilot.press("a")
        menu = await opened(pilot, ActionMenu)
        assert "press a key" in bar(app, "menu-hint"), "the control: now there is something to do"
        assert all("historical" not in row.cells[2].text for row in menu.listed.rows)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen, "back")
        await pilot.press("t", BEFORE, "a")
        menu = await opened(pilot, ActionMenu)
        assert "historical: this is the past (seq 2 of 3 · 11:30:00Z)" in bar(app, "menu-hint")
        for row in menu.listed.rows:
            assert "historical" in row.cells[2].text
            await pilot.press(row.id)
        await pilot.press("enter")
        assert app.screen is menu
        await pilot.press("escape", "question_mark")
        await opened(pilot, HelpScreen)
        assert "Not now: historical" in page(app, "help-page")
        assert "Mark a point" in page(app, "help-page")
    assert bytes_of(stage.data_dir) == before


async def test_two_points_are_compared_in_two_columns_of_what_differs(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await past(app, pilot, BEFORE, "d")
        assert "seq 2 is marked" in page(app, "story")
        await pilot.press(BEFORE)
        text = page(app, "story")
        (step,) = [line for line in text.splitlines() if line.startswith("detail ")]
        assert step.removeprefix("detail").split() == ["step=build", "step=fetch"]
        assert "Not recorded at either: step, note." in text
        assert "−2m 00s" in text
        assert "status" not in text, "what is the same is left out"
        assert "Timeline:" not in text
        assert "against seq 2" in bar(app, "title")
        await pilot.press("d")
        assert "against" not in bar(app, "title")


async def test_the_record_page_is_not_passed_off_as_the_past(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        screen = await past(app, pilot, BEFORE)
        await pilot.press("tab")
        await told(app, pilot, "esc comes back to now")
        assert not screen.on_other_page


@pytest.mark.parametrize(("width", "height"), [(40, 10), (80, 24), (200, 60)])
async def test_the_point_is_named_at_every_size(stage: Stage, width: int, height: int) -> None:
    async with stage.app(width, height) as (app, pilot):
        await past(app, pilot, BEFORE)
        strips = app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
        lines = ["".join(segment.text for segment in strip) for strip in strips]
        assert "HISTORICAL seq 2 of 3 · 11:30:00Z" in lines[0]
        assert {cell_width(text) for text in lines} == {width}
        await pilot.resize_terminal(width + 20, height)
        await until(pilot, lambda: rail_width(app) > width, "the rail is drawn anew")


def rail_width(app: ConsoleApp) -> int:
    return len(page(app, "story").splitlines()[0])


# Lines


def travelled(stage: Stage, place: int, marked: int | None = None) -> Travel:
    session_id = next((stage.data_dir / "sessions").glob("ses_*.json")).stem
    travel = Travel()
    travel.begin(agent_does(stage, "session show", session_id=session_id).session)
    if marked is not None:
        travel.go(-99)
        travel.go(marked)
        travel.mark()
    travel.go(-99)
    travel.go(place)
    return travel


def texts(lines: list[TextLine]) -> list[str]:
    return ["".join(part.text for part in laid.cells) for laid in lines]


def test_the_rails_gaps_are_to_scale(stage: Stage) -> None:
    rail = texts(rail_lines(travelled(stage, 3), 67))[0]
    places = [at for at, sign in enumerate(rail) if sign != "─"]
    assert places == [0, 2, 6, 66], "1, 2 and 30 minutes in 66 cells"
    assert rail[66] == HERE
    assert texts(rail_lines(travelled(stage, 1, marked=2), 67))[0][2:7:4] == HERE + MARKED


def test_points_closer_than_a_cell_leave_the_one_that_is_stood_at_in_sight(stage: Stage) -> None:
    rail = texts(rail_lines(travelled(stage, 1), 8))[0]
    assert rail.count(HERE) == 1


@pytest.mark.parametrize("width", [0, 1, 2, 9, 36, 59, 60, 76, 196])
def test_no_line_of_rail_or_comparison_is_wider_than_its_page(stage: Stage, width: int) -> None:
    for travel in (travelled(stage, 1), travelled(stage, 1, marked=3), travelled(stage, 2, marked=2)):
        past_lines(travel, width)
        if width:
            assert max(map(cell_width, texts(rail_lines(travel, width)))) <= max(width, 9)
    compared = diff_lines(points(_session(stage))[0], points(_session(stage))[3], width)
    if width >= 36:
        assert max(map(cell_width, texts(compared)[:-1])) <= width


def _session(stage: Stage) -> Any:
    session_id = next((stage.data_dir / "sessions").glob("ses_*.json")).stem
    return agent_does(stage, "session show", session_id=session_id).session


def test_what_another_tool_left_untold_reads_not_recorded_and_is_muted(stage: Stage) -> None:
    file = next((stage.data_dir / "sessions").glob("ses_*.json"))
    file.write_text(file.read_text().replace('"via": "mcp"', '"via": "cron"', 3))
    lines = past_lines(travelled(stage, 1), 100)
    told = [laid for laid in lines if "not recorded" in texts([laid])[0]]
    assert told
    assert {part.role for laid in told for part in laid.cells if "not recorded" in part.text} == {"muted"}


def test_what_the_last_checkpoint_said_is_told_where_the_event_itself_says_something_else(stage: Stage) -> None:
    session_id = next((stage.data_dir / "sessions").glob("ses_*.json")).stem
    agent_does(stage, "session complete", session_id=session_id, result="done")
    assert "checkpoint as written" not in " ".join(texts(past_lines(travelled(stage, 3), 100)))
    assert "checkpoint as written  step=deploy" in " ".join(texts(past_lines(travelled(stage, 4), 100)))


def test_a_record_that_became_shorter_leaves_one_at_its_last_point(stage: Stage) -> None:
    from dataclasses import replace  # noqa: PLC0415 - only here

    travel, session = travelled(stage, 3, marked=2), _session(stage)
    travel.take(replace(session, events=session.events[:2], checkpoint=None))
    assert (travel.here.place, travel.marked and travel.marked.place) == (1, 1)


@pytest.mark.parametrize("width", [37, 77])
def test_hostile_records_pass_through_the_past_safely_and_every_line_fits(tmp_path: Path, width: int) -> None:
    stage = Stage(tmp_path / "data")
    for session_id in write_hostile(stage.data_dir, [*ALL, *mixtures(20)]):
        travel = Travel()
        travel.begin(agent_does(stage, "session show", session_id=session_id).session)
        lines = past_lines(travel, width)
        travel.mark()
        travel.go(-1)
        for laid in (*lines, *past_lines(travel, width)):
            assert all(is_safe(part.text) for part in laid.cells), session_id
            assert max(sum(cell_width(part.text) for part in row) for row in wrapped(laid, width)) <= width, session_id


async def test_markup_in_a_record_fires_nothing_from_the_past(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data")
    write_hostile(stage.data_dir, ["[@click=app.quit]x[/]", "[/nope]"])
    async with stage.app(80, 24) as (app, pilot):
        await pilot.press("enter")
        screen = await opened(pilot, SessionRoom)
        await until(pilot, lambda: "Timeline" in page(app, "story"), "the story")
        await pilot.press("t", "d", BEFORE)
        assert "HISTORICAL" in bar(app, "title")
        for y in range(1, 20):
            await pilot.click("#story", offset=(30, y))
        assert app.screen is screen
