"""Saved views in the console: the menu, putting one in force, saving and removing behind a confirmation."""

import os
import random
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Button, Input

from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_tui.app import ConsoleApp
from phelix_tui.screens.confirm import CommandForm, ConfirmScreen
from phelix_tui.screens.views import ViewsMenu
from phelix_tui.widgets.rowlist import RowList
from tests.canaries import found_in, in_turn
from tests.rig import Phelix, bytes_of, did
from tests.tui.stage import Stage, deaf, fleet_of, opened, until
from tests.tui.test_canaries_console import check
from tests.tui.walks import bar, home, page, planned, press_apply, states_of, toasts, told, type_in


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    stage = Stage(tmp_path / "data")
    stage.fill(26)
    return stage


def keep(stage: Stage, name: str, where: str, **more: object) -> None:
    """Somebody saves a view from a shell."""
    did(stage.console, "view save", name=name, where=where, **more)


async def views(pilot: Pilot[Any]) -> ViewsMenu:
    await pilot.press("v")
    screen: ViewsMenu = await opened(pilot, ViewsMenu)
    await until(pilot, lambda: screen.settled, "the views are read and counted")
    return screen


def lines(screen: ViewsMenu) -> list[list[str]]:
    return [[cell.text for cell in row.cells] for row in screen.query_one("#views-list", RowList).rows]


async def filtered_by(app: ConsoleApp, pilot: Pilot[Any], where: str) -> None:
    await pilot.press("slash")
    await type_in(pilot, where)
    await pilot.press("enter")
    await until(pilot, lambda: app.desk.arrangement.wanted == where, "the filter is in force")


def is_in_force(app: ConsoleApp, where: str) -> bool:
    """Whether the list answers to the filter, its references looked up."""
    filtering = app.desk.arrangement.filtering
    return filtering.wanted.text == where and not filtering.is_pending


def files(stage: Stage) -> list[str]:
    return sorted(path.name for path in (stage.data_dir / "views").glob("*.toml"))


async def test_a_view_is_chosen_with_its_count_and_escape_shows_everything_again(stage: Stage) -> None:
    keep(stage, "late", "is:stale", title="what is late")
    keep(stage, "billing", "app=billing")
    async with stage.app() as (app, pilot):
        stale = app.desk.arrangement.counts["stale"]
        screen = await views(pilot)
        assert [line[:3] for line in lines(screen)[:2]] == [
            ["1", "billing", "app=billing"],
            ["2", "late", "what is late"],
        ]
        assert lines(screen)[1][3] == str(stale)
        await pilot.press("j", "enter")
        await home(app, pilot)
        await until(pilot, lambda: states_of(app) == ["stale"] * stale, "the view is in force")
        assert "is:stale" in bar(app, "state")
        assert app.screen.query_one("#filter", Input).value == "is:stale", "as if it had been typed"
        await pilot.press("escape")
        await until(pilot, lambda: fleet_of(app).row_count == 26, "everything is back")


async def test_a_view_that_asks_for_references_has_its_count_and_opens_on_those_rows(stage: Stage) -> None:
    keep(stage, "torn", "ref:missing")
    torn = did(stage.console, "session list", where="ref:missing", limit=0).sessions
    async with stage.app() as (app, pilot):
        assert lines(await views(pilot))[0] == ["1", "torn", "ref:missing", str(len(torn))]
        await pilot.press("1")
        await until(pilot, lambda: f"{len(torn)} of 26 match" in bar(app, "state"), "it is in force")
        assert {row.id for row in fleet_of(app).rows} == {row.session_id for row in torn}


async def test_a_view_on_references_that_the_core_refuses_to_look_up_has_no_count(stage: Stage) -> None:
    keep(stage, "torn", "ref:missing")
    async with deaf(stage) as (_, pilot):
        (stage.data_dir / "sessions").rename(stage.data_dir / "elsewhere")
        (stage.data_dir / "sessions").write_text("no folder")
        assert lines(await views(pilot))[0] == ["1", "torn", "ref:missing", ""]


async def test_no_view_is_in_force_at_the_start(stage: Stage) -> None:
    keep(stage, "late", "is:stale")
    async with stage.app() as (app, pilot):
        await views(pilot)
        await pilot.press("1")
        await until(pilot, lambda: fleet_of(app).row_count < 26, "the view is in force")
    async with stage.app() as (app, pilot):
        assert fleet_of(app).row_count == 26


async def test_the_current_filter_is_saved_behind_a_confirmation_that_shows_the_file(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await filtered_by(app, pilot, "is:stale")
        await views(pilot)
        await pilot.press("s")
        await opened(pilot, CommandForm)
        await type_in(pilot, "late")
        await pilot.press("enter")
        await type_in(pilot, "what is late")
        await planned(app, pilot, "what is late")
        assert files(stage) == []
        await press_apply(app, pilot)
        screen: Any = await opened(pilot, ConfirmScreen)
        await planned(app, pilot, "what is late")
        assert screen.query_one("#cancel", Button).has_focus
        assert "phelix view save late --where is:stale" in page(app, "plan")
        assert "--replace" not in page(app, "plan")
        assert files(stage) == []
        await press_apply(app, pilot)
        await told(app, pilot, "late is written")
        await home(app, pilot)
        kept = (stage.data_dir / "views" / "late.toml").read_text()
        assert kept == 'title = "what is late"\nwhere = "is:stale"\n'
        assert lines(await views(pilot))[0][:3] == ["1", "late", "what is late"]


async def test_a_name_that_is_taken_is_written_over_only_after_saying_so(stage: Stage) -> None:
    keep(stage, "late", "is:active")
    async with stage.app() as (app, pilot):
        await filtered_by(app, pilot, "is:stale")
        await views(pilot)
        await pilot.press("s")
        await opened(pilot, CommandForm)
        await type_in(pilot, "late")
        await planned(app, pilot, "is written over")
        await press_apply(app, pilot)
        await opened(pilot, ConfirmScreen)
        await planned(app, pilot, "is:active → is:stale")
        await press_apply(app, pilot)
        await told(app, pilot, "late is written")
    assert did(stage.console, "view show", name="late").where == "is:stale"


async def test_a_view_that_changed_under_its_confirmation_is_not_written_over(stage: Stage) -> None:
    keep(stage, "late", "is:active")
    async with stage.app() as (app, pilot):
        await views(pilot)
        await pilot.press("x")
        await opened(pilot, ConfirmScreen)
        await planned(app, pilot, "is:active")
        keep(stage, "late", "is:closed", replace=True)
        await press_apply(app, pilot)
        await told(app, pilot, "SESSION_CONFLICT")
        await home(app, pilot)
    assert did(stage.console, "view show", name="late").where == "is:closed"


async def test_a_view_is_removed_behind_a_confirmation(stage: Stage) -> None:
    keep(stage, "late", "is:stale")
    async with stage.app() as (app, pilot):
        await views(pilot)
        await pilot.press("x")
        await opened(pilot, ConfirmScreen)
        await planned(app, pilot, "is:stale → absent")
        assert files(stage) == ["late.toml"]
        await press_apply(app, pilot)
        await told(app, pilot, "late is removed")
        assert files(stage) == []


async def test_a_name_that_is_none_stands_under_its_field_and_opens_no_button(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await filtered_by(app, pilot, "is:stale")
        await views(pilot)
        await pilot.press("s")
        screen = await opened(pilot, CommandForm)
        await type_in(pilot, "Late")
        await until(pilot, lambda: any("small letters" in b.text for b in screen.query(".wrong")), "the field says why")
        assert screen.query_one("#apply", Button).disabled


async def test_without_a_filter_there_is_nothing_to_save_and_the_entry_says_so(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        screen = await views(pilot)
        assert lines(screen) == [["s", "save filter…", "no filter is in force; / sets one", ""]]
        await pilot.press("s")
        await told(app, pilot, "no filter is in force")
        assert app.screen is screen


async def test_read_only_says_why_nothing_is_saved_or_removed_and_the_core_refuses_it(tmp_path: Path) -> None:
    writer = Stage(tmp_path / "data")
    writer.fill(5)
    keep(writer, "late", "is:stale")
    stage = Stage(tmp_path / "data", read_only=True)
    before = bytes_of(stage.data_dir)
    async with stage.app() as (app, pilot):
        await filtered_by(app, pilot, "is:stale")
        screen = await views(pilot)
        assert "read-only" in lines(screen)[-1][2]
        for key in ("s", "x"):
            await pilot.press(key)
            await pilot.pause()
            assert app.screen is screen
        assert len([said for said in toasts(app) if "read-only" in said]) == 2
        for name, raw in (("view save", {"name": "x", "where": "is:stale"}), ("view remove", {"name": "late"})):
            answer = run(load_command(name), raw, app.desk.env)
            assert answer.error is not None
            assert answer.error.code == "READ_ONLY"
        await pilot.press("1")
        await until(pilot, lambda: app.desk.arrangement.wanted == "is:stale", "looking still works")
    assert bytes_of(stage.data_dir) == before


async def test_bad_files_are_shown_with_their_reason_and_cannot_be_chosen(stage: Stage) -> None:
    keep(stage, "late", "is:stale")
    folder = stage.data_dir / "views"
    (folder / "broken.toml").write_text("where = ")
    (folder / "old.toml").write_text('where = "mood=fine"')
    (folder / "Odd Name.toml").write_text('where = "is:stale"')
    os.mkfifo(folder / "pipe.toml")
    async with stage.app() as (app, pilot):
        screen = await views(pilot)
        told_by = {line[1]: line[2] for line in lines(screen)}
        assert "not TOML" in told_by["broken"]
        assert "no filter" in told_by["old"]
        assert "small letters" in told_by["Odd Name"]
        assert "not a regular file" in told_by["pipe"]
        await pilot.press("j", "enter")
        await until(pilot, lambda: any(".toml: " in said for said in toasts(app)), "the reason is told")
        assert app.screen is screen
        await pilot.press("1")
        await home(app, pilot)


async def test_a_folder_of_views_that_is_none_is_told_in_the_menu(stage: Stage) -> None:
    (stage.data_dir / "views").write_text("precious")
    async with stage.app() as (_, pilot):
        screen = await views(pilot)
        assert "FILESYSTEM_ERROR" in lines(screen)[0][2]


async def test_no_view_of_somebody_else_shows_a_secret(stage: Stage) -> None:
    folder = stage.data_dir / "views"
    folder.mkdir()
    secret = in_turn(0).text
    (folder / "mine.toml").write_text(f"where = 'title~\"{secret}\"'\ntitle = '{secret}'\n")
    (folder / f"{secret}.toml").write_text("where = 'is:stale'")
    (folder / "bad.toml").write_text(f"where = 'is:{secret}'\n")
    async with stage.app(200, 40) as (app, pilot):
        await views(pilot)
        check(app)
        await pilot.press("1")
        await until(pilot, lambda: app.desk.arrangement.wanted != "", "the view is in force")
        assert not found_in(app.desk.arrangement.wanted)
        check(app)


TERMS = (
    "billing", "-billing", "is:stale", "-is:stale", "is:active", "is:closed", "status=failed", "app=billing,auth",
    "app!=billing", "step~deploy", "has:result", "-has:checkpoint", "has:reference", "rev>3", "rev<=2", "age>1h",
    "seen<15m", "updated>2h", "/^rotate/", "-/ship|index/", "title~keys", 'step=""', "created>=2026-08-01", "actor=mcp",
    "ref:missing", "-ref:missing", "ref:present", "ref:unknown,unavailable", "plan~pln_", 'plan=""', "-plan~a", "op~0",
    "op!=op_0", "dep~dep-", "-dep~b",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
async def test_a_view_shows_the_same_rows_in_the_console_and_on_the_command_line(stage: Stage, seed: int) -> None:
    choose = random.Random(seed)
    for number in range(9):
        alternatives = (" ".join(choose.sample(TERMS, choose.randint(1, 2))) for _ in range(choose.randint(1, 3)))
        keep(stage, f"view-{number}", " OR ".join(alternatives))
    shown: set[int] = set()
    async with stage.app() as (app, pilot):
        for number in range(9):
            where = did(stage.console, "view show", name=f"view-{number}").where
            listed = did(stage.console, "session list", view=f"view-{number}", limit=0).sessions
            screen = await views(pilot)
            assert lines(screen)[number][3] == str(len(listed)), where
            await pilot.press(str(number + 1))
            await until(pilot, lambda where=where: is_in_force(app, where), "the view is in force")
            assert sorted(row.id for row in fleet_of(app).rows) == sorted(row.session_id for row in listed), where
            shown.add(len(listed))
    assert len(shown) > 3, "views that all show everything, or nothing, prove nothing"


async def test_a_view_saved_in_the_console_answers_a_shell(stage: Stage, tmp_path: Path) -> None:
    async with stage.app() as (app, pilot):
        await filtered_by(app, pilot, "app=billing")
        await views(pilot)
        await pilot.press("s")
        await opened(pilot, CommandForm)
        await type_in(pilot, "billing")
        await planned(app, pilot, "app=billing")
        await press_apply(app, pilot)
        await opened(pilot, ConfirmScreen)
        await planned(app, pilot, "app=billing")
        await press_apply(app, pilot)
        await told(app, pilot, "billing is written")
        rows = {row.id for row in fleet_of(app).rows}
    answer = Phelix(stage.data_dir, tmp_path)("session", "list", "--view", "billing", "--json")
    assert {row["session_id"] for row in answer.result["sessions"]} == rows
