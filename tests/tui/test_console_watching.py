"""Operators' stories that only look: finding, reading, waiting, and what the screen says where nothing can be done."""

import asyncio
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Button, Input

from phelix_core.commands.registry import CATALOGUE, Effect, load_command
from phelix_core.commands.run import run
from phelix_core.strictjson import dumps
from phelix_tui.app import ConsoleApp
from phelix_tui.screens.copying import CopyMenu
from phelix_tui.screens.help import HelpScreen
from phelix_tui.screens.menu import ActionMenu
from phelix_tui.screens.session import SessionRoom
from phelix_tui.widgets.pages import TextPage
from tests.rig import bytes_of
from tests.tui.queues import BATCH
from tests.tui.stage import Stage, fleet_of, opened, until
from tests.tui.walks import (
    agent_does,
    bar,
    confirm,
    home,
    menu,
    page,
    record_of,
    room,
    select,
    states_of,
    told,
    type_in,
)

HOUR = 3_600_000


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    stage = Stage(tmp_path / "data")
    stage.fill(14)
    return stage


def row_of(app: ConsoleApp, session_id: str) -> Any:
    row = app.desk.arrangement.row(session_id)
    assert row is not None
    return row


def line_of(app: ConsoleApp, session_id: str) -> str:
    """The row as it is drawn."""
    return next(" ".join(cell.text for cell in row.cells) for row in fleet_of(app).rows if row.id == session_id)


# Finding


async def test_attention_comes_first_and_the_title_counts_it(stage: Stage) -> None:
    async with stage.app() as (app, _):
        states = states_of(app)
        assert states == sorted(states, key=["stale", "active", "failed", "cancelled", "completed"].index)
        assert f"▲ {states.count('stale')} stale" in bar(app, "title")
        assert "14 sessions" in bar(app, "title")


async def test_the_filter_narrows_while_typing_and_escape_clears_it(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await pilot.press("slash")
        await type_in(pilot, "bill")
        assert 0 < fleet_of(app).row_count < 14
        assert "match · esc clears" in bar(app, "state")
        narrowed = fleet_of(app).row_count
        await type_in(pilot, "ing stale")
        assert fleet_of(app).row_count < narrowed
        await pilot.press("enter")
        assert fleet_of(app).has_focus
        await pilot.press("escape")
        assert fleet_of(app).row_count == 14
        assert "match" not in bar(app, "state")


async def test_a_filter_that_nothing_matches_says_so_and_how_to_leave(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await pilot.press("slash")
        await type_in(pilot, "zzz")
        assert fleet_of(app).row_count == 0
        assert "0 of 14 match" in fleet_of(app).placeholder
        assert page(app, "preview") == ""
        await pilot.press("a")
        assert app.screen is app.fleet, "the letter went into the field"
        await pilot.press("enter", "a")
        await opened(pilot, ActionMenu)
        assert "no session is selected" in fleet_cells(app)
        await pilot.press("escape")
        await home(app, pilot)
        await pilot.press("escape")
        assert fleet_of(app).row_count == 14


def fleet_cells(app: ConsoleApp) -> str:
    """All that the open menu's list says."""
    from phelix_tui.widgets.rowlist import RowList  # noqa: PLC0415 - only here

    return "\n".join(" ".join(cell.text for cell in row.cells) for row in app.screen.query_one(RowList).rows)


async def test_a_session_that_comes_and_does_not_match_the_filter_announces_nothing(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await pilot.press("slash")
        await type_in(pilot, "billing")
        await pilot.press("enter", "j")
        shown = fleet_of(app).row_count
        agent_does(stage, "session create", title="something else", app="auth")
        await until(pilot, lambda: len(app.desk.arrangement) == 15, "it is known")
        assert "waiting" not in bar(app, "state")
        assert f"{shown}/15 sessions" in bar(app, "title")


# Reading


async def test_a_session_opens_to_its_story_turns_to_its_record_and_closes_again(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        session_id = fleet_of(app).cursor_id or ""
        screen = await room(app, pilot, "Timeline")
        for said in (session_id, "STALE since", "References", "created by", "via "):
            assert said in page(app, "story"), said
        assert session_id in bar(app, "title")
        await pilot.press("tab")
        assert '"schema_version": "1"' in page(app, "story")
        assert app.screen.query_one("#story", TextPage).has_focus
        await pilot.press("tab")
        assert "Timeline" in page(app, "story")
        await pilot.press("escape")
        await home(app, pilot)
        assert fleet_of(app).cursor_id == session_id
        await pilot.press("enter", "enter")
        again = await opened(pilot, SessionRoom)
        assert again is not screen
        assert len(app.screen_stack) == 2, "two presses open one room"
        await pilot.press("q")
        await home(app, pilot)
        assert app.is_running, "q goes back from a room, and quits on the list alone"


async def test_an_open_story_follows_the_record(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        session_id = fleet_of(app).cursor_id or ""
        await room(app, pilot, "Timeline")
        agent_does(stage, "session checkpoint", session_id=session_id, note="a sign of life")
        await until(pilot, lambda: "a sign of life" in page(app, "story"), "the new event is on the page", 3)
        assert "STALE" not in page(app, "story")


async def test_a_session_that_was_removed_under_its_room_says_so_and_keeps_what_was_read(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        session_id = fleet_of(app).cursor_id or ""
        await room(app, pilot, "Timeline")
        (stage.data_dir / "sessions" / f"{session_id}.json").unlink()
        await until(pilot, lambda: "NOT_FOUND" in page(app, "story"), "the page says that it is gone", 3)
        assert "last read well" in page(app, "story")
        assert "Timeline" in page(app, "story")


async def test_help_lists_the_keys_of_here_and_why_nothing_can_be_done(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await pilot.press("G", "question_mark")
        await opened(pilot, HelpScreen)
        text = page(app, "help-page")
        for key, told_ in (
            ("/", "Find"),
            ("a", "Act"),
            ("j down", "Down"),
            ("?", "Help"),
            ("q", "Quit"),
            ("T", "Theme"),
        ):
            line = next(line for line in text.splitlines() if line.endswith(told_))
            assert key in line
        assert "Not now: closed: completed at" in text
        await pilot.press("escape")
        await home(app, pilot)
        await pilot.press("g", "enter")
        await opened(pilot, SessionRoom)
        await pilot.press("question_mark")
        await opened(pilot, HelpScreen)
        assert "Story or record" in page(app, "help-page")
        assert "Find" not in page(app, "help-page")
        assert "Not now" not in page(app, "help-page")


async def test_every_binding_has_an_id_and_no_bare_key_writes(stage: Stage) -> None:
    async with stage.app() as (app, _):
        bindings = [
            binding
            for kind in (ConsoleApp, type(app.fleet), SessionRoom, type(fleet_of(app)), TextPage)
            for part in kind.__mro__
            if part.__module__.startswith("phelix_tui")
            for binding in part.__dict__.get("BINDINGS", ())
        ]
        assert all(binding.id for binding in bindings)
        assert len({binding.id for binding in bindings}) == len(set(bindings))


async def test_the_theme_changes_at_once_and_the_list_stays_where_it_was(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await pilot.press("j", "j")
        at, before = fleet_of(app).cursor_id, app.theme
        await pilot.press("T")
        await until(pilot, lambda: app.screen is not app.fleet, "the themes are offered")
        await pilot.pause()
        await type_in(pilot, "phelix-light")
        await until(pilot, lambda: "phelix-light" in str(app.screen.query_one(Input).value), "typed")
        await pilot.pause(0.2)
        await pilot.press("enter")
        await until(pilot, lambda: app.theme == "phelix-light", "the theme")
        await home(app, pilot)
        assert before != app.theme
        assert fleet_of(app).cursor_id == at


async def test_the_palette_opens_by_both_keys_and_acts_through_the_same_menu(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        for key in ("colon", "ctrl+p"):
            await pilot.press(key)
            await until(pilot, lambda: app.screen is not app.fleet, "the palette opens")
            await pilot.press("escape")
            await home(app, pilot)
        await pilot.press("colon")
        await until(pilot, lambda: app.screen is not app.fleet, "the palette opens")
        await type_in(pilot, "act")
        await pilot.pause(0.3)
        await pilot.press("enter")
        await opened(pilot, ActionMenu)
        await pilot.press("ctrl+p")
        await pilot.pause()
        assert isinstance(app.screen, ActionMenu), "no palette over a dialog"


async def test_the_id_is_copied_whole_and_the_way_is_named(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await pilot.press("y")
        await opened(pilot, CopyMenu)
        await pilot.press("y")
        await until(pilot, lambda: app.clipboard == fleet_of(app).cursor_id, "it is copied")
        await told(app, pilot, "OSC 52")


# Where nothing can be done


async def test_read_only_disables_every_action_with_the_reason_and_the_core_refuses_as_well(tmp_path: Path) -> None:
    """Report 5: the screen and the core both say no; the core says it to every write command there is."""
    stage = Stage(tmp_path / "data", read_only=True)
    stage.fill(5)
    before = bytes_of(stage.data_dir)
    async with stage.app() as (app, pilot):
        assert "READ-ONLY" in bar(app, "title")
        screen = await menu(pilot)
        assert fleet_cells(app).count("read-only: start without --read-only") == 4
        for key in ("k", "c", "f", "x"):
            await pilot.press(key)
            await pilot.pause()
            assert app.screen is screen
        await pilot.press("enter")
        await told(app, pilot, "read-only")
        assert app.screen is screen
        session_id = fleet_of(app).cursor_id
        writes = [name for name in CATALOGUE if load_command(name).effect is Effect.WRITE]
        raws: dict[str, dict[str, object]] = {
            "session create": {"title": "x"},
            "doctor": {"fix": True},
            "session checkpoint": {"session_id": session_id, "step": "x"},
            "session prune": {"keep": 1, "older_than": "1d"},
            "view save": {"name": "late", "where": "is:stale"},
            "view remove": {"name": "kept"},
            "demo": {"directory": str(tmp_path / "elsewhere")},
            **_queue_writes(),
            **_plan_writes(),
        }
        for name in writes:
            command = load_command(name)
            env = app.desk.env if command.surfaces & {app.desk.env.surface} else None
            if env is None:
                continue
            answer = run(command, raws.get(name, {"session_id": session_id}), env)
            assert answer.error is not None, name
            assert answer.error.code == "READ_ONLY", (name, answer.error)
    assert bytes_of(stage.data_dir) == before


def _plan_writes() -> dict[str, dict[str, object]]:
    """A sound input for each write about plans."""
    on_plan: dict[str, object] = {"plan_id": "pln_0000000000000001"}
    return {
        "plan create": {"action": "deploy", "app": "billing", "to": "2.2.0"},
        "operation cancel": {"operation_id": "op_0000000000000001"},
        **dict.fromkeys(("plan apply", "authz approve", "authz revoke"), on_plan),
    }


def _queue_writes() -> dict[str, dict[str, object]]:
    """A sound input for each write of the queue."""
    report: dict[str, object] = {"lease": "L", "summary": "x", "next_step": "x", "evidence": ["x"]}
    on_issue: dict[str, object] = {"issue_id": "I", "reason": "x"}
    raws: dict[str, dict[str, object]] = {
        "init": {"name": "n"},
        "campaign": {"project_name": "p", "campaign_name": "c"},
        "plan": {"batch": json.dumps(BATCH)},
        "claim": {"host": "h", "workload_classes": ["c"]},
        "recover": {**on_issue, "resolution": "requeue"},
        "checkpoint": {**report, "status": "in_progress"},
        "heartbeat": {"lease": "L"},
        "artifacts save": {"issue": "I", "kind": "k", "path": "p"},
        **{key: {**report, "status": "done"} for key in ("close", "advance")},
        **{key: {} for key in ("promote", "reconcile", "memory sync")},
        **dict.fromkeys(("unblock", "retry", "rollback"), on_issue),
        **{key: {"campaign_id": "c", "reason": "x"} for key in ("drain", "undrain", "archive")},
    }
    return {f"queue {name}": raw for name, raw in raws.items()}


async def test_a_folder_that_cannot_be_written_says_that_and_not_to_start_otherwise(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.write_text("not a folder", encoding="utf-8")
    stage = Stage(data)
    async with stage.app() as (app, pilot):
        assert "READ-ONLY" in bar(app, "title")
        await menu(pilot)
        assert "nothing can be written" in fleet_cells(app)


async def test_a_closed_session_says_when_it_was_closed_instead_of_acting(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        closed = next(row.id for row in fleet_of(app).rows if row_of(app, row.id).state == "completed")
        await select(app, pilot, closed)
        screen = await menu(pilot)
        assert fleet_cells(app).count("closed: completed at ") == 4
        await pilot.press("c")
        await told(app, pilot, "closed: completed at")
        assert app.screen is screen


async def test_an_unreadable_record_is_flagged_keeps_its_last_good_content_and_takes_no_change(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        session_id = fleet_of(app).rows[6].id
        title = record_of(stage, session_id)["title"]
        file = stage.data_dir / "sessions" / f"{session_id}.json"
        await select(app, pilot, session_id)
        await until(pilot, lambda: session_id in page(app, "preview"), "the preview")
        file.write_bytes(file.read_bytes()[:150])
        await until(pilot, lambda: row_of(app, session_id).state == "unreadable", "the row is flagged")
        await until(pilot, lambda: "⚠ 1 unreadable" in bar(app, "title"), "the title counts it")
        assert title in line_of(app, session_id)
        assert "parse errors 1" in bar(app, "doctor")
        await until(pilot, lambda: "SESSION_CORRUPT" in page(app, "preview"), "the preview says why")
        assert "last read well" in page(app, "preview")
        assert title in page(app, "preview")
        torn = bytes_of(stage.data_dir)
        screen = await menu(pilot)
        assert "cannot be read (SESSION_CORRUPT)" in fleet_cells(app)
        await pilot.press("c")
        await pilot.pause()
        assert app.screen is screen
        answer = await app.desk.call("session complete", {"session_id": session_id, "result": "x"})
        assert answer.error is not None
        assert answer.error.code == "SESSION_CORRUPT"
        assert bytes_of(stage.data_dir) == torn


@pytest.mark.parametrize(
    ("member", "value"), [("status", "paused"), ("schema_version", "2"), ("status", "[/nope]\x1b[2J")]
)
async def test_an_unknown_status_or_version_is_listed_flagged_and_never_changed(
    stage: Stage, member: str, value: str
) -> None:
    """Report 20."""
    session_id = next((stage.data_dir / "sessions").glob("*.json")).stem
    file = stage.data_dir / "sessions" / f"{session_id}.json"
    file.write_bytes(dumps({**record_of(stage, session_id), member: value}).encode())
    before = bytes_of(stage.data_dir)
    async with stage.app() as (app, pilot):
        assert fleet_of(app).rows[0].id == session_id, "what cannot be read wants attention first"
        assert row_of(app, session_id).state == "unreadable"
        assert "SESSION_INVALID" in line_of(app, session_id)
        await pilot.press("a", "k")
        await opened(pilot, ActionMenu)
        assert "cannot be read (SESSION_INVALID)" in fleet_cells(app)
        for name in ("session checkpoint", "session complete", "session fail", "session cancel"):
            answer = await app.desk.call(name, {"session_id": session_id, **({"step": "x"} if "check" in name else {})})
            assert answer.error is not None
            assert answer.error.code == "SESSION_INVALID"
    assert bytes_of(stage.data_dir) == before


# Nothing there, or nothing to be had


async def test_an_empty_data_directory_tells_the_first_steps_and_shows_the_first_session(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data")
    async with stage.app() as (app, pilot):
        assert "No sessions yet" in fleet_of(app).placeholder
        assert "phelix session create" in page(app, "preview")
        session_id = agent_does(stage, "session create", title="the first").session_id
        await until(pilot, lambda: fleet_of(app).row_count == 1, "the first session appears")
        assert fleet_of(app).cursor_id == session_id
        await until(pilot, lambda: "the first" in page(app, "preview"), "its preview")


async def test_a_sessions_folder_that_is_a_file_is_an_error_and_no_empty_list(tmp_path: Path) -> None:
    """Report 14, from the start."""
    stage = Stage(tmp_path / "data")
    stage.data_dir.mkdir()
    (stage.data_dir / "sessions").write_text("", encoding="utf-8")
    async with stage.app() as (app, pilot):
        assert "could not be read" in fleet_of(app).placeholder
        assert "FILESYSTEM_ERROR" in bar(app, "state")
        assert "sessions unknown" in bar(app, "title"), "not 0: nobody knows"
        assert "No sessions yet" not in page(app, "preview")
        (stage.data_dir / "sessions").unlink()
        await until(pilot, lambda: "No sessions yet" in fleet_of(app).placeholder, "it heals by itself", 8)
        assert "FILESYSTEM_ERROR" not in bar(app, "state")


async def test_rows_stay_and_are_marked_old_while_the_folder_cannot_be_read(stage: Stage) -> None:
    """Report 14, in the middle."""
    sessions, aside = stage.data_dir / "sessions", stage.data_dir / "aside"
    async with stage.app() as (app, pilot):
        sessions.rename(aside)
        sessions.write_text("", encoding="utf-8")
        await until(pilot, lambda: "What is shown is old" in bar(app, "state"), "the rows are marked old")
        assert fleet_of(app).row_count == 14
        sessions.unlink()
        aside.rename(sessions)
        await until(pilot, lambda: "What is shown is old" not in bar(app, "state"), "it heals by itself", 8)
        assert fleet_of(app).row_count == 14


async def test_the_list_recovers_when_its_folder_is_deleted_and_made_again(stage: Stage) -> None:
    """Report 9: at once, and after a while."""
    sessions = stage.data_dir / "sessions"
    async with stage.app() as (app, pilot):
        shutil.rmtree(sessions)
        first = agent_does(stage, "session create", title="made at once").session_id
        await until(pilot, lambda: [row.id for row in fleet_of(app).rows] == [first], "the new folder's session")
        shutil.rmtree(sessions)
        await until(pilot, lambda: fleet_of(app).row_count == 0, "the list empties")
        second = agent_does(stage, "session create", title="made later").session_id
        await until(pilot, lambda: [row.id for row in fleet_of(app).rows] == [second], "the newer folder's session")


# Time


async def test_a_session_goes_stale_within_a_second_though_no_file_changes(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        session_id = next(row.id for row in fleet_of(app).rows if row_of(app, row.id).state == "active")
        await select(app, pilot, session_id)
        await until(pilot, lambda: session_id in page(app, "preview"), "the preview")
        assert "STALE" not in page(app, "preview")
        looks = app.feed.looks
        stage.clock.wall_ms = row_found(app, session_id).updated_at_ms + HOUR
        await until(pilot, lambda: "▲ stale" in line_of(app, session_id), "the row says so", 3)
        await until(pilot, lambda: "STALE since" in page(app, "preview"), "and the preview", 3)
        assert app.feed.looks == looks


def row_found(app: ConsoleApp, session_id: str) -> Any:
    return app.desk.arrangement.found(session_id)


async def test_ages_tick_in_the_list_the_preview_and_the_room(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        session_id = agent_does(stage, "session create", title="brand new").session_id
        await until(pilot, lambda: fleet_of(app).row_count == 15, "it appears")
        await select(app, pilot, session_id)
        await until(pilot, lambda: "0s ago" in page(app, "preview"), "the preview")
        stage.clock.wall_ms += 7_000
        await until(pilot, lambda: "7s" in line_of(app, session_id), "the row ages", 3)
        await until(pilot, lambda: "7s ago" in page(app, "preview"), "the preview ages", 3)
        await room(app, pilot, "7s ago")
        stage.clock.wall_ms += 2_000
        await until(pilot, lambda: "9s ago" in page(app, "story"), "the room ages", 3)


async def test_a_row_that_is_scrolled_into_sight_is_as_old_as_it_is(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data")
    stage.fill(40)
    async with stage.app(80, 12) as (app, pilot):
        last = fleet_of(app).rows[-1].id
        assert last not in fleet_of(app).visible_ids
        stage.clock.wall_ms += 60 * HOUR
        await pilot.press("G")
        await pilot.pause()
        assert last in fleet_of(app).visible_ids
        assert row_of(app, last).age.endswith("d"), "not as it was when it was last in sight"


async def test_a_new_order_waits_while_the_cursor_moves_and_one_key_applies_it(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await pilot.press("j")
        order = [row.id for row in fleet_of(app).rows]
        newcomer = agent_does(stage, "session create", title="newcomer").session_id
        async with asyncio.timeout(5):
            while "waiting" not in bar(app, "state"):
                await pilot.press("j", "k")  # somebody is reading
        assert [row.id for row in fleet_of(app).rows] == order
        assert "1 waiting · R applies" in bar(app, "state")
        await pilot.press("R")
        assert newcomer in [row.id for row in fleet_of(app).rows]
        assert "waiting" not in bar(app, "state")
        assert fleet_of(app).cursor_id == order[1]


async def test_a_new_order_comes_by_itself_once_the_cursor_is_still(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await pilot.press("j")
        agent_does(stage, "session create", title="newcomer")
        await until(pilot, lambda: fleet_of(app).row_count == 15, "the newcomer comes in", 4)


async def test_content_is_repainted_at_once_while_the_order_waits(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        session_id = next(row.id for row in fleet_of(app).rows if row_of(app, row.id).state == "active")
        agent_does(stage, "session checkpoint", session_id=session_id, step="step nine")
        async with asyncio.timeout(5):
            while "step nine" not in line_of(app, session_id):
                await pilot.press("j", "k")


# Small screens


async def test_a_preview_that_gets_room_is_filled(stage: Stage) -> None:
    async with stage.app(50, 12) as (app, pilot):
        assert not app.fleet.query_one("#preview").display
        await pilot.resize_terminal(120, 40)
        await until(pilot, lambda: (fleet_of(app).cursor_id or "-") in page(app, "preview"), "the preview is filled")


@pytest.mark.parametrize("width", [20, 40, 60, 80])
async def test_what_wants_attention_is_counted_at_every_width(tmp_path: Path, width: int) -> None:
    stage = Stage(tmp_path / ("a-data-directory-with-a-long-name-" * 3))
    stage.fill(14)
    sessions = stage.data_dir / "sessions"
    for file in sorted(sessions.glob("*.json"))[:2]:
        os.truncate(file, 100)
    async with stage.app(width, 24) as (app, pilot):
        await pilot.pause()
        title = app.screen.query_one("#title")
        drawn = "".join(segment.text for segment in title.render_line(0))
        assert "⚠ 2 unreadable" in drawn
        assert len(drawn) == width


@pytest.mark.parametrize("size", [(1, 1), (5, 2), (39, 9), (300, 100)])
async def test_every_screen_survives_every_size(stage: Stage, size: tuple[int, int]) -> None:
    """Report 17, a first part: each dialog is opened at 80x24 and squeezed."""
    async with stage.app(80, 24) as (app, pilot):
        await pilot.resize_terminal(*size)
        await pilot.pause()
        await pilot.resize_terminal(80, 24)
        screen = await confirm(app, pilot, "c", "done")
        for width, height in (size, (80, 24), (1, 1), size, (120, 40)):
            await pilot.resize_terminal(width, height)
            await pilot.pause()
        assert app.screen is screen
        assert screen.query_one("#cancel", Button).has_focus
        await pilot.press("escape")
        await home(app, pilot)


async def test_the_keyboard_works_again_after_the_screen_was_too_small_for_it(stage: Stage) -> None:
    async with stage.app(80, 24) as (app, pilot):
        await pilot.resize_terminal(1, 1)
        await pilot.pause(0.15)
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: fleet_of(app).has_focus, "the list has the focus again")
        await pilot.press("j", "enter")
        screen = await opened(pilot, SessionRoom)
        assert screen.selected_id() == fleet_of(app).rows[1].id
        await pilot.resize_terminal(1, 1)
        await pilot.pause(0.15)
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: screen.query_one("#story").has_focus, "the page has the focus again")
