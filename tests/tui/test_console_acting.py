"""Operators' stories that end in a write: found, filled in, confirmed, told, and the same on every surface."""

from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Button

from phelix_core.files import Folder
from phelix_tui.screens.confirm import CommandForm, ConfirmScreen
from phelix_tui.screens.menu import ActionMenu
from phelix_tui.widgets.pages import Bar
from tests.rig import Phelix, bytes_of
from tests.tui.stage import Stage, fleet_of, opened, until
from tests.tui.walks import (
    agent_does,
    bar,
    confirm,
    form,
    home,
    menu,
    page,
    planned,
    press_apply,
    record_of,
    room,
    select,
    states_of,
    toasts,
    told,
    type_in,
)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    stage = Stage(tmp_path / "data")
    stage.fill(14)
    return stage


async def test_the_stale_session_is_found_first_and_completed_and_all_surfaces_agree(
    stage: Stage, tmp_path: Path
) -> None:
    async with stage.app() as (app, pilot):
        assert states_of(app)[0] == "stale"
        session_id = fleet_of(app).cursor_id
        assert session_id is not None
        assert session_id == fleet_of(app).rows[0].id
        await until(pilot, lambda: "STALE since" in page(app, "preview"), "the preview says why")

        screen = await confirm(app, pilot, "c", "verified by hand")
        assert screen.query_one("#cancel", Button).has_focus
        assert session_id in bar(app, "proposal-title")
        for said in ("no deployment", "status", "active", "completed", "phelix session"):
            assert said in page(app, "plan"), said
        assert "unchanged since rev" in bar(app, "guard")
        await pilot.press("tab", "enter")
        await home(app, pilot)
        await told(app, pilot, f"Complete: {session_id} is written")

        await until(
            pilot, lambda: (row := app.desk.arrangement.row(session_id)) and row.state == "completed", "the row"
        )
        on_disk = record_of(stage, session_id)
        shown = Phelix(stage.data_dir, tmp_path)("session", "show", session_id, "--json").result
        assert on_disk["status"] == shown["status"] == "completed"
        assert on_disk["final_result"] == shown["final_result"] == "verified by hand"
        assert on_disk["events"][-1]["via"] == "tui"
        assert shown["rev"] == on_disk["rev"] == len(on_disk["events"])


@pytest.mark.parametrize(
    ("key", "verb", "status", "text"),
    [("f", "Fail", "failed", "the canary regressed"), ("x", "Cancel session", "cancelled", "superseded")],
)
async def test_a_session_is_failed_or_cancelled_with_its_reason(
    stage: Stage, key: str, verb: str, status: str, text: str
) -> None:
    async with stage.app() as (app, pilot):
        session_id = fleet_of(app).cursor_id or ""
        await confirm(app, pilot, key, text)
        await press_apply(app, pilot)
        await home(app, pilot)
        await told(app, pilot, f"{verb}: {session_id} is written")
        assert record_of(stage, session_id)["status"] == status
        assert record_of(stage, session_id)["final_result"] == text


async def test_a_checkpoint_is_applied_from_its_form_with_what_was_filled_in(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        session_id = fleet_of(app).cursor_id or ""
        rev = record_of(stage, session_id)["rev"]
        await form(pilot, "k")
        assert "INVALID_ARGUMENT" not in page(app, "plan"), "an empty form is no mistake yet"
        assert app.screen.query_one("#apply", Button).disabled
        await type_in(pilot, "verify")
        await pilot.press("enter")
        await type_in(pilot, "all shards green")
        await planned(app, pilot, "all shards green")
        await press_apply(app, pilot)
        await home(app, pilot)
        await told(app, pilot, f"Checkpoint: {session_id} is written")
        record = record_of(stage, session_id)
        assert (record["rev"], record["status"]) == (rev + 1, "active")
        assert (record["checkpoint"]["step"], record["checkpoint"]["note"]) == ("verify", "all shards green")
        await until(
            pilot, lambda: (row := app.desk.arrangement.row(session_id)) and row.state == "active", "no longer stale"
        )


async def test_enter_in_the_last_field_goes_to_the_button_and_applies_nothing(stage: Stage) -> None:
    before = bytes_of(stage.data_dir)
    async with stage.app() as (app, pilot):
        screen = await form(pilot, "x")
        await type_in(pilot, "superseded")
        await planned(app, pilot, "superseded")
        await pilot.press("enter")
        assert screen.query_one("#apply", Button).has_focus
        assert app.screen is screen
        await pilot.press("escape")
        await home(app, pilot)
    assert bytes_of(stage.data_dir) == before


async def test_a_closing_action_wants_its_text_first(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await form(pilot, "f")
        await until(pilot, lambda: "Changes in the record" in page(app, "plan"), "the plan")
        assert app.screen.query_one("#apply", Button).disabled
        await type_in(pilot, "x")
        await until(pilot, lambda: not app.screen.query_one("#apply", Button).disabled, "the button opens")


async def test_what_the_core_refuses_stands_under_its_field_and_opens_no_button(stage: Stage) -> None:
    before = bytes_of(stage.data_dir)
    async with stage.app() as (_, pilot):
        screen = await form(pilot, "k")
        await type_in(pilot, "deploy")
        await pilot.press("tab", "tab")
        await type_in(pilot, "pln_nonsense")

        def wrong() -> list[str]:
            return [told.text for told in screen.query(".-wrong .wrong").results(Bar)]

        await until(pilot, wrong, "the field's error")
        assert "a plan id" in wrong()[0]
        assert screen.query_one("#apply", Button).disabled
    assert bytes_of(stage.data_dir) == before


async def test_cancel_and_escape_leave_every_dialog_without_a_write(stage: Stage) -> None:
    before = bytes_of(stage.data_dir)
    async with stage.app() as (app, pilot):
        await menu(pilot)
        await pilot.press("escape")
        await home(app, pilot)
        await form(pilot, "k")
        await pilot.press("escape")
        await home(app, pilot)
        await confirm(app, pilot, "c", "done")
        await pilot.press("escape")
        await home(app, pilot)
        await confirm(app, pilot, "c", "done")
        await pilot.press("enter")
        await home(app, pilot)
        assert toasts(app) == []
    assert bytes_of(stage.data_dir) == before


async def test_the_same_actions_work_from_the_sessions_own_room(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        session_id = fleet_of(app).cursor_id or ""
        screen = await room(app, pilot, "Timeline")
        await confirm(app, pilot, "c", "closed from its room")
        await press_apply(app, pilot)
        await until(pilot, lambda: app.screen is screen, "the room is in front again")
        await until(pilot, lambda: "closed from its room" in page(app, "story"), "the room tells the new story")
        await until(pilot, lambda: "completed" in bar(app, "title"), "the title says so, too")
        assert record_of(stage, session_id)["status"] == "completed"


# The live guard, and what happens between looking and writing


async def test_apply_closes_and_says_why_as_soon_as_the_session_moves_on(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        session_id = fleet_of(app).cursor_id or ""
        screen = await confirm(app, pilot, "c", "done")
        await pilot.press("tab")
        assert screen.query_one("#apply", Button).has_focus
        rev = agent_does(stage, "session checkpoint", session_id=session_id, step="still here").rev
        await until(pilot, lambda: screen.query_one("#apply", Button).disabled, "the button closes", 3)
        assert f"now rev {rev}" in bar(app, "guard")
        assert screen.query_one("#cancel", Button).has_focus, "the keyboard is not left on a dead button"
        after = bytes_of(stage.data_dir)
        screen.query_one("#apply", Button).press()
        await pilot.pause()
        assert app.screen is screen
        assert bytes_of(stage.data_dir) == after


async def test_a_record_that_goes_or_breaks_under_a_dialog_closes_it(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        session_id = fleet_of(app).cursor_id or ""
        file = stage.data_dir / "sessions" / f"{session_id}.json"
        good = file.read_bytes()
        screen = await confirm(app, pilot, "c", "done")
        file.write_bytes(good[:100])
        await until(pilot, lambda: "cannot be read now" in bar(app, "guard"), "the guard sees the broken record")
        assert screen.query_one("#apply", Button).disabled
        file.unlink()
        await until(pilot, lambda: "has gone" in bar(app, "guard"), "the guard sees that it went")
        assert screen.query_one("#apply", Button).disabled


async def test_a_double_press_of_apply_writes_once(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        session_id = fleet_of(app).cursor_id or ""
        rev = record_of(stage, session_id)["rev"]
        screen = await confirm(app, pilot, "c", "done")
        button = screen.query_one("#apply", Button)
        button.press()
        button.press()
        await home(app, pilot)
        await told(app, pilot, "is written")
        await pilot.pause()
        assert len(toasts(app)) == 1
        assert record_of(stage, session_id)["rev"] == rev + 1


async def test_a_dialog_cannot_be_pushed_twice(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await pilot.press("a", "a", "a")
        await opened(pilot, ActionMenu)
        assert len([screen for screen in app.screen_stack if isinstance(screen, ActionMenu)]) == 1
        await pilot.press("k", "k")
        await opened(pilot, CommandForm)
        assert len(app.screen_stack) == len({type(screen) for screen in app.screen_stack})


async def test_a_slow_write_cannot_be_left_unanswered(stage: Stage) -> None:
    """Escape while the lock is held would hide what came of the write."""
    async with stage.app() as (app, pilot):
        session_id = fleet_of(app).cursor_id or ""
        screen = await confirm(app, pilot, "c", "done")
        folder = Folder(stage.agent.sessions.path, stage.clock)
        with folder.locked(f"{session_id}.json", f"{session_id}.lock"):
            await press_apply(app, pilot)
            await until(pilot, lambda: "writing" in bar(app, "guard"), "the dialog says that it is writing")
            await pilot.press("escape", "enter")
            await pilot.pause(0.1)
            assert app.screen is screen
            assert record_of(stage, session_id)["status"] == "active"
        await home(app, pilot)
        await told(app, pilot, "is written")
        assert record_of(stage, session_id)["status"] == "completed"


async def test_apply_right_after_typing_never_writes_what_was_not_shown(stage: Stage) -> None:
    """The plan on the screen is a moment older than the last letter."""
    async with stage.app() as (app, pilot):
        session_id = fleet_of(app).cursor_id or ""
        rev = record_of(stage, session_id)["rev"]
        screen = await form(pilot, "k")
        await type_in(pilot, "verify")
        await planned(app, pilot, "verify")
        await type_in(pilot, "ing")
        screen.query_one("#apply", Button).press()
        await planned(app, pilot, "verifying")
        assert app.screen is screen, "no conflict with oneself"
        assert record_of(stage, session_id)["rev"] == rev
        screen.query_one("#apply", Button).press()
        await home(app, pilot)
        await told(app, pilot, "is written")
        assert record_of(stage, session_id)["checkpoint"]["step"] == "verifying"


async def test_a_paste_of_several_lines_loses_none_of_them(stage: Stage) -> None:
    from textual.events import Paste  # noqa: PLC0415 - only here

    async with stage.app() as (app, pilot):
        await form(pilot, "c")
        app.post_message(Paste("first line\n  second line\r\nthird"))
        await planned(app, pilot, "first line second line third")


async def test_the_equivalent_command_does_the_same_from_a_shell(stage: Stage, tmp_path: Path) -> None:
    """What `y` copies is the confirmed write, pinned to the revision on the screen."""
    import shlex  # noqa: PLC0415 - only here

    async with stage.app() as (app, pilot):
        session_id = fleet_of(app).cursor_id or ""
        await confirm(app, pilot, "c", "it's done")
        await pilot.press("y")
        await told(app, pilot, "OSC 52")
        copied = shlex.split(app.clipboard)
        assert copied[:2] == ["phelix", "session"]
        await pilot.press("escape")
        assert Phelix(stage.data_dir, tmp_path)(*copied[1:], "--json").result["status"] == "completed"
        assert record_of(stage, session_id)["final_result"] == "it's done"
        assert Phelix(stage.data_dir, tmp_path)(*copied[1:], "--json").error["code"] == "SESSION_CONFLICT"


async def test_the_menus_letters_choose_and_its_lines_can_be_opened(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await menu(pilot)
        await pilot.press("down", "enter")
        screen: Any = await opened(pilot, CommandForm)
        assert screen.action.command == "session complete"
        await pilot.press("escape")
        await home(app, pilot)
        screen = await form(pilot, "k")
        assert screen.action.command == "session checkpoint"


async def test_a_session_that_is_selected_while_another_moves_stays_the_target(stage: Stage) -> None:
    """Report 4: rows come, go and sort themselves above the cursor between two keys."""
    async with stage.app() as (app, pilot):
        session_id = fleet_of(app).rows[3].id
        await select(app, pilot, session_id)
        for number in range(3):
            agent_does(stage, "session create", title=f"newcomer {number}")
        (stage.data_dir / "sessions" / f"{fleet_of(app).rows[0].id}.json").unlink()
        await pilot.press("a")
        screen = await opened(pilot, ActionMenu)
        assert session_id in bar(app, "menu-title")
        await until(pilot, lambda: len(app.desk.arrangement) == 16, "the newcomers are known")
        await pilot.press("k")
        screen = await opened(pilot, CommandForm)
        assert screen.target.id == session_id
        await pilot.press("escape")
        await home(app, pilot)
        assert app.fleet.selected_id() == session_id
        assert len(fleet_of(app).rows) == 16


async def test_a_naive_cursor_by_place_would_have_hit_another_session(stage: Stage) -> None:
    """The control of the test above: the place that the cursor was at holds another session by then."""
    async with stage.app() as (app, pilot):
        place, session_id = 3, fleet_of(app).rows[3].id
        (stage.data_dir / "sessions" / f"{fleet_of(app).rows[0].id}.json").unlink()
        await until(pilot, lambda: fleet_of(app).row_count == 13, "the row goes")
        assert fleet_of(app).rows[place].id != session_id


async def test_a_confirmation_is_about_the_session_it_was_opened_for(stage: Stage) -> None:
    """Also when the row it came from has moved in the list meanwhile."""
    async with stage.app() as (app, pilot):
        session_id = fleet_of(app).cursor_id or ""
        screen: Any = await confirm(app, pilot, "c", "done")
        assert isinstance(screen, ConfirmScreen)
        others = [row.id for row in fleet_of(app).rows[1:4]]
        for other in others:
            agent_does(stage, "session fail", session_id=other, reason="gave up")

        def closed() -> bool:
            return all((row := app.desk.arrangement.row(other)) and row.state == "failed" for other in others)

        await until(pilot, closed, "they close")
        await press_apply(app, pilot)
        await home(app, pilot)
        await told(app, pilot, "is written")
        assert record_of(stage, session_id)["status"] == "completed"
