"""Report 1: whatever a record says is text. It crashes nothing, runs nothing, and moves no column."""

from pathlib import Path
from typing import Any
from unicodedata import category

import pytest
from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.geometry import Size
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widgets import Button, Static

from phelix_tui.app import ConsoleApp
from phelix_tui.screens.conflict import ConflictScreen
from tests.tui.hostile import ALL, MARKUP, mixtures, write_hostile
from tests.tui.stage import Stage, fleet_of, opened, until
from tests.tui.walks import agent_does, confirm, form, home, menu, page, record_of, select, type_in

UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Kinds of characters that steer: controls, formats, halves of pairs, ends of lines and paragraphs."""


def drawn(app: App[Any]) -> list[Strip]:
    """Every line of the screen as the terminal would get it."""
    return app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]


def check(app: ConsoleApp, size: Size) -> None:
    """No link, no control character, every line exactly as wide as the screen."""
    lines = drawn(app)
    assert len(lines) == size.height
    for strip in lines:
        assert sum(cell_len(segment.text) for segment in strip) == size.width, strip.text
        for text, style, _ in strip:
            assert style is None or ("@click" not in style.meta and style.link is None), text
            told = {one for one in text if category(one) in UNSEEN and one != "\u200d"}
            assert not told, repr(text)


async def look_at_everything(app: ConsoleApp, pilot: Pilot[Any], session_id: str) -> None:
    """The list, the preview, the story, the record, the menu, the form."""
    await select(app, pilot, session_id)
    await until(pilot, lambda: session_id in page(app, "preview"), "the preview")
    check(app, app.size)
    await pilot.press("enter")
    await until(pilot, lambda: "Timeline" in story(app), "the story")
    check(app, app.size)
    await pilot.press("tab")
    check(app, app.size)
    await pilot.press("G")
    check(app, app.size)
    await pilot.press("escape")
    await home(app, pilot)


def story(app: ConsoleApp) -> str:
    return page(app, "story") if app.screen.query("#story") else ""


@pytest.mark.parametrize("part", range(2))
async def test_no_text_of_a_record_breaks_a_screen(tmp_path: Path, part: int) -> None:
    stage = Stage(tmp_path / "data")
    ids = write_hostile(stage.data_dir, [*ALL, *mixtures(6)][part::2])
    async with stage.app(100, 30) as (app, pilot):
        assert fleet_of(app).row_count == len(ids)
        for session_id in ids:
            await look_at_everything(app, pilot, session_id)
        assert app.is_running


@pytest.mark.parametrize("text", [*MARKUP, "\x1b[31m\x1b]0;pwn\x07", "汉" * 300, "x" * 5_000])
async def test_no_text_of_a_record_breaks_a_dialog(tmp_path: Path, text: str) -> None:
    stage = Stage(tmp_path / "data")
    [session_id] = write_hostile(stage.data_dir, [text])
    async with stage.app(80, 24) as (app, pilot):
        await menu(pilot)
        check(app, app.size)
        await pilot.press("escape")
        await home(app, pilot)
        screen: Any = await confirm(app, pilot, "c", "mine")
        check(app, app.size)
        agent_does(stage, "session checkpoint", session_id=session_id, note="theirs")
        screen.query_one("#apply", Button).press()
        await opened(pilot, ConflictScreen)
        check(app, app.size)
        await pilot.click(offset=(20, 5))
        await pilot.press("escape")
        await home(app, pilot)
        assert app.is_running


@pytest.mark.parametrize("text", MARKUP)
async def test_what_the_operator_types_is_text_as_well(tmp_path: Path, text: str) -> None:
    stage = Stage(tmp_path / "data")
    stage.fill(1)
    async with stage.app(80, 24) as (app, pilot):
        session_id = fleet_of(app).cursor_id or ""
        screen = await form(pilot, "k")
        screen.query_one("#field-note").value = text  # type: ignore[attr-defined] - an Input
        await until(pilot, lambda: text in page(app, "plan"), "the plan")
        check(app, app.size)
        screen.query_one("#apply", Button).press()
        await home(app, pilot)
        assert record_of(stage, session_id)["checkpoint"]["note"] == text
        await pilot.press("slash")
        await type_in(pilot, "[/x]")
        check(app, app.size)


async def test_theme_files_of_any_name_are_told_of_as_text(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data")
    stage.fill(1)
    themes = stage.data_dir / "themes"
    themes.mkdir()
    (themes / "[@click=app.quit]\x1b[31m.toml").write_text("nonsense =", encoding="utf-8")
    async with stage.app(80, 24) as (app, pilot):
        await pilot.pause()
        notice = " ".join(str(told.message) for told in app._notifications)  # pyright: ignore[reportPrivateUsage]
        assert "[@click=app.quit]␛[31m.toml" in notice
        check(app, app.size)


async def test_a_record_of_a_megabyte_of_text_is_drawn_without_a_wait(tmp_path: Path) -> None:
    """The format's reader takes records up to a megabyte; a page of one must not stop the keyboard."""
    stage = Stage(tmp_path / "data")
    ids = write_hostile(stage.data_dir, ["汉" * 18_000, "words and " * 6_000])
    async with stage.app(80, 24) as (app, pilot):
        for session_id in ids:
            await look_at_everything(app, pilot, session_id)


async def test_the_naive_way_crashes_and_runs_what_a_record_says() -> None:
    """The control: the same texts as `str` in Textual's own widget."""

    class Naive(App[None]):
        def compose(self) -> ComposeResult:
            yield Static("[@click=app.bell]x[/]", id="link")

    app = Naive()
    async with app.run_test() as pilot:
        await pilot.pause()
        links = [style for strip in drawn(app) for _, style, _ in strip if style and "@click" in style.meta]
        assert links
        with pytest.raises(Exception, match="nope"):
            app.query_one("#link", Static).update("[/nope]")
