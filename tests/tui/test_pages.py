"""Bars and pages: exactly as wide as they are, the important side kept, and no line repainted for nothing."""

from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.geometry import Region

from phelix_core.text import visible
from phelix_tui.theming import default_variables
from phelix_tui.widgets.pages import Bar, TextPage, cell
from phelix_tui.wrapping import line
from tests.tui.hostile import ALL
from tests.tui.stage import Stage, fleet_of, until
from tests.tui.walks import room


class Paper(App[None]):
    CSS = "TextPage { width: 20; height: 6; }"

    def __init__(self) -> None:
        super().__init__()
        self.animation_level = "none"

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return default_variables(self.current_theme)

    def compose(self) -> ComposeResult:
        yield Bar(id="bar")
        yield TextPage(id="page")


def drawn(widget: Any, y: int = 0) -> str:
    return "".join(segment.text for segment in widget.render_line(y))


@pytest.mark.parametrize("width", [1, 2, 5, 10, 20, 40, 80])
async def test_a_bar_is_as_wide_as_it_is_whatever_it_says(width: int) -> None:
    app = Paper()
    async with app.run_test(size=(width, 10)) as pilot:
        bar = app.query_one(Bar)
        for text in ALL:
            for keeps in (None, "left", "right"):
                bar.show([cell(visible(text[:100]))], [cell(visible(text[:9])), cell(" end ")], keeps=keeps)
                await pilot.pause()
                assert cell_len(drawn(bar)) == width


async def test_the_side_that_comes_first_is_kept_and_stands_apart() -> None:
    app = Paper()
    async with app.run_test(size=(20, 10)):
        bar = app.query_one(Bar)
        bar.show([cell("a very long left side")], [cell("5 stale ")])
        assert drawn(bar) == "a very lon… 5 stale "
        bar.show([cell("left")], [cell("a right side that is too long")])
        assert drawn(bar) == "left                "
        bar.show([cell("left")], [cell("a right side that is too long")], keeps="right")
        assert drawn(bar) == "a right side that i…"
        bar.show([cell("✓ all of the left")], [cell("hint")], keeps="left")
        assert drawn(bar) == "✓ all of the left   "


async def test_a_page_repaints_the_lines_that_say_something_else_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Paper()
    async with app.run_test(size=(40, 12)):
        page = app.query_one(TextPage)
        page.show([line("one"), line("two 1s"), line("three")])
        regions: list[Region] = []

        def noted(*changed: Region, **_: object) -> TextPage:
            regions.extend(changed)
            return page

        monkeypatch.setattr(page, "refresh", noted)
        page.show([line("one"), line("two 1s"), line("three")])
        assert regions == []
        page.show([line("one"), line("two 2s"), line("three")])
        assert regions == [Region(0, 1, page.content_size.width - 1, 1)], "all but the column of the scroll bar"


async def test_a_page_keeps_the_place_that_is_read_when_it_is_drawn_anew() -> None:
    app = Paper()
    async with app.run_test(size=(40, 12)) as pilot:
        page = app.query_one(TextPage)
        page.focus()
        page.show([line(f"line {number}") for number in range(50)])
        await pilot.pause()
        await pilot.press("ctrl+d")
        await until(pilot, lambda: page.scroll_offset.y > 0, "the page moves")
        top = page.scroll_offset.y
        page.show([line(f"line {number}!") for number in range(50)])
        await pilot.pause()
        assert page.scroll_offset.y == top
        assert drawn(page).startswith(f"line {top}!")
        page.show([line("short")])
        await pilot.pause()
        assert page.scroll_offset.y == 0
        assert drawn(page).startswith("short")


async def test_pages_move_by_the_same_keys_as_lists() -> None:
    app = Paper()
    async with app.run_test(size=(40, 12)) as pilot:
        page = app.query_one(TextPage)
        page.focus()
        page.show([line(f"line {number}") for number in range(50)])
        await pilot.pause()
        for keys, top in (("jj", 2), ("k", 1), ("G", 50 - page.size.height), ("g", 0)):
            await pilot.press(*keys)
            await until(pilot, lambda top=top: page.scroll_offset.y == top, f"{keys} leads to {top}")


async def test_a_page_wraps_to_its_width_when_that_changes(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data")
    stage.fill(3)
    async with stage.app(120, 40) as (app, pilot):
        assert fleet_of(app).row_count == 3
        await room(app, pilot, "Timeline")
        page = app.screen.query_one("#story", TextPage)
        for width in (60, 41, 200):
            await pilot.resize_terminal(width, 30)
            await pilot.pause()
            assert all(cell_len(drawn(page, y)) == page.content_size.width for y in range(page.size.height))
