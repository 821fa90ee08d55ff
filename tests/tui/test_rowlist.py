import sys
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pty_terminal import PtyTerminal, clean_environment
from rich.cells import cell_len
from small_app import COLUMNS, SmallApp, make_row
from test_cells import HARD
from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.pilot import Pilot
from textual.strip import Strip
from wcwidth import wcwidth

from phelix_core.text import SafeStr, visible
from phelix_tui.widgets.rowlist import GUTTER, MARK_GLYPH, Column, Row, RowList, lay_out
from tests.tui.stage import until

ROOT = Path(__file__).parents[2]
ARGV = [sys.executable, str(Path(__file__).with_name("small_app.py"))]
ENVIRONMENT = clean_environment(PYTHONPATH=str(ROOT))


class ListApp(App[None]):
    def __init__(self, rows: Sequence[Row] = ()) -> None:
        super().__init__()
        self.first = rows
        self.said: list[object] = []
        self.list = RowList(COLUMNS, placeholder=visible("nothing here"))

    def compose(self) -> ComposeResult:
        yield self.list

    def on_mount(self) -> None:
        self.list.set_rows(self.first)

    def on_row_list_cursor_moved(self, event: RowList.CursorMoved) -> None:
        self.said.append((event.id, event.lost))

    def on_row_list_opened(self, event: RowList.Opened) -> None:
        self.said.append(f"open {event.id}")

    def on_row_list_marks_changed(self, event: RowList.MarksChanged) -> None:
        self.said.append(event.marks)


def numbered(*numbers: int) -> list[Row]:
    return [make_row(number) for number in numbers]


def ident(number: int) -> str:
    return f"ses_{number:06}"


@asynccontextmanager
async def shown(
    rows: Sequence[Row], size: tuple[int, int] = (80, 24)
) -> AsyncGenerator[tuple[RowList, Pilot[None], list[object]]]:
    app = ListApp(rows)
    async with app.run_test(size=size, notifications=True, tooltips=True) as pilot:
        await pilot.pause()
        app.said.clear()
        yield app.list, pilot, app.said


def drawn(rows: RowList) -> list[Strip]:
    return [rows.render_line(y) for y in range(rows.size.height)]


# The cursor belongs to an id (public report 4)


async def test_the_first_row_gets_the_cursor_and_an_empty_list_has_none() -> None:
    async with shown([]) as (rows, pilot, said):
        assert rows.cursor_id is None
        assert "nothing here" in rows.render_line(1).text
        await pilot.press("j", "G", "g", "enter", "pagedown", "ctrl+u")
        assert said == []
        rows.set_rows(numbered(1, 2))
        await pilot.pause()
        assert said == [(ident(1), None)]


async def test_keys_move_the_cursor_and_say_so() -> None:
    async with shown(numbered(*range(100)), (80, 22)) as (rows, pilot, said):
        for key, place in {
            "j": 1, "down": 2, "k": 1, "up": 0, "G": 99, "g": 0, "end": 99, "home": 0,
            "ctrl+d": 10, "pagedown": 31, "ctrl+u": 21, "pageup": 0,
        }.items():  # fmt: skip
            await pilot.press(key)
            assert rows.cursor_id == ident(place), key
            assert ident(place) in rows.visible_ids
        assert len(said) == 12
        await pilot.press("k", "enter")
        assert said[12:] == [f"open {ident(0)}"]


async def test_rows_that_come_go_and_move_leave_the_cursor_on_its_id() -> None:
    random = Random(7)
    numbers = list(range(200))
    async with shown(numbered(*numbers)) as (rows, pilot, said):
        rows.move_to(ident(100))
        await pilot.pause()
        said.clear()
        for _ in range(25):
            chosen = {*random.sample(numbers, 120), 100}
            order = random.sample(sorted(chosen), len(chosen))
            rows.set_rows(numbered(*order))
            assert rows.cursor_id == ident(100)
            assert ident(100) in rows.visible_ids
        await pilot.pause()
        assert said == []


async def test_the_row_under_the_cursor_keeps_its_height_on_the_screen() -> None:
    async with shown(numbered(*range(100))) as (rows, _pilot, _said):
        rows.move_to(ident(60))
        line = rows.visible_ids.index(ident(60))
        rows.set_rows(numbered(*range(200, 230), *range(100)))
        assert rows.visible_ids.index(ident(60)) == line
        rows.set_rows(numbered(*range(40, 100)))
        assert rows.visible_ids.index(ident(60)) == min(line, 20)


async def test_a_list_at_its_top_shows_what_comes_in_above() -> None:
    async with shown(numbered(*range(100))) as (rows, _pilot, _said):
        rows.set_rows(numbered(500, *range(100)))
        assert rows.visible_ids[:2] == (ident(500), ident(0))
        assert rows.cursor_id == ident(0)


async def test_a_lost_row_hands_the_cursor_to_the_one_that_followed_it() -> None:
    async with shown(numbered(*range(10))) as (rows, pilot, said):
        rows.move_to(ident(4))
        await pilot.pause()
        said.clear()
        rows.set_rows(numbered(9, 8, 6, 1, 0))
        await pilot.pause()
        assert said == [(ident(6), ident(4))]
        rows.set_rows(numbered(0, 1))
        await pilot.pause()
        assert said[1:] == [(ident(1), ident(6))]
        rows.set_rows([])
        await pilot.pause()
        assert said[2:] == [(None, ident(1))]
        assert rows.cursor_row is None


async def test_moving_to_an_unknown_id_changes_nothing() -> None:
    async with shown(numbered(1, 2)) as (rows, pilot, said):
        assert not rows.move_to("ses_gone")
        await pilot.pause()
        assert (rows.cursor_id, said) == (ident(1), [])


async def test_two_rows_of_one_id_are_refused() -> None:
    async with shown(numbered(1)) as (rows, _pilot, _said):
        with pytest.raises(ValueError, match="same id"):
            rows.set_rows(numbered(2, 2))
        assert rows.row_count == 1


# Marks


async def test_marks_belong_to_ids_and_outlive_a_filter() -> None:
    async with shown(numbered(*range(10))) as (rows, pilot, said):
        rows.toggle_mark()
        rows.toggle_mark(ident(5))
        await pilot.pause()
        assert said == [{ident(0)}, {ident(0), ident(5)}]
        assert rows.render_line(6).text.startswith(f" {MARK_GLYPH}")
        rows.set_rows(numbered(5, 6))
        assert rows.marks == {ident(0), ident(5)}
        assert rows.hidden_marks == {ident(0)}
        rows.marks = frozenset()
        assert not rows.render_line(1).text.startswith(f" {MARK_GLYPH}")


async def test_a_range_of_marks_starts_at_the_last_one_that_is_still_listed_and_marked() -> None:
    async with shown(numbered(*range(10))) as (rows, _pilot, _said):
        rows.toggle_mark(ident(2))
        rows.move_to(ident(4))
        rows.mark_range()
        assert rows.marks == {ident(2), ident(3), ident(4)}
        rows.toggle_mark()
        rows.move_to(ident(6))
        rows.mark_range()
        assert rows.marks == {ident(2), ident(3), ident(6)}, "the last one was unmarked"
        rows.set_rows(numbered(*range(7, 10)))
        rows.mark_range()
        assert rows.marks == {ident(2), ident(3), ident(6), ident(7)}, "the last one is not in the list"


class CountedList(RowList):
    """Counts how often it goes through all its marks."""

    passes = 0

    @property
    def hidden_marks(self) -> frozenset[str]:
        self.passes += 1
        return super().hidden_marks


async def test_a_change_among_a_hundred_thousand_marks_costs_what_it_costs_without_them() -> None:
    app = ListApp(numbered(*range(100_000)))
    app.list = CountedList(COLUMNS)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        rows = app.list
        assert isinstance(rows, CountedList)
        rows.toggle_mark(ident(0))
        await pilot.press("G")
        rows.mark_range()
        assert len(rows.marks) == 100_000
        for number in range(200):
            rows.patch([Row(ident(number), make_row(number + 1).cells)])
            assert rows.hidden_mark_count == 0
        assert rows.passes == 1


# The mouse


async def test_a_click_selects_and_a_second_one_opens() -> None:
    async with shown(numbered(*range(50))) as (rows, pilot, said):
        await pilot.click(rows, offset=(10, 4))
        assert said == [(ident(3), None)]
        await pilot.click(rows, offset=(10, 4))
        assert said[1:] == [f"open {ident(3)}"]
        await pilot.click(rows, offset=(10, 0))
        assert said[2:] == []


async def test_a_double_click_opens_once_whatever_was_selected() -> None:
    async with shown(numbered(*range(50))) as (rows, pilot, said):
        await pilot.double_click(rows, offset=(10, 4))
        assert said == [(ident(3), None), f"open {ident(3)}"]
    async with shown(numbered(*range(50))) as (rows, pilot, said):
        await pilot.double_click(rows, offset=(10, 1))
        assert said == [f"open {ident(0)}"]


def test_the_wheel_scrolls_under_a_header_that_stays() -> None:
    with PtyTerminal(ARGV, env=ENVIRONMENT) as terminal:
        terminal.wait_for("ses_000003")
        terminal.wait_for(lambda t: 1003 in t.modes())
        terminal.send(b"\x1b[<65;10;10M" * 10)
        terminal.wait_for("ses_000030")
        assert "SESSION" in terminal.lines()[1]
        assert "ses_000000" not in terminal.text


# What is drawn (public report 16)


@pytest.mark.parametrize("width", [1, 2, 3, 4, 7, 20, 40, 59, 80, 99, 100, 120, 300])
async def test_every_line_is_exactly_as_wide_as_the_widget(width: int) -> None:
    rows_of_hard_text = [make_row(n, title=visible(text)) for n, text in enumerate(HARD)]
    async with shown(rows_of_hard_text, (width, 30)) as (rows, _pilot, _said):
        rows.toggle_mark(ident(2))
        for strip in drawn(rows):
            text = strip.text
            assert strip.cell_length == cell_len(text) == rows.size.width == width
            assert sum(wcwidth(character) for character in text) == width


def test_the_right_edge_stands_straight_on_a_real_terminal() -> None:
    with PtyTerminal([*ARGV, "--hard"], env=ENVIRONMENT, rows=40) as terminal:
        terminal.wait_for("the end of the list")
        for line, text in enumerate(HARD, start=2):
            assert "".join(terminal.cell(x, line) for x in range(75, 79)) == "  2h", text
            assert "".join(terminal.cell(x, line) for x in range(64, 73)) == " billing ", text


async def test_columns_leave_in_their_order_and_the_flexible_one_takes_the_rest() -> None:
    async with shown(numbered(1), (80, 5)) as (rows, pilot, _said):
        assert rows.render_line(0).text.split() == ["ST", "SESSION", "TITLE", "APP", "AGE"]
        await pilot.resize_terminal(44, 5)
        await until(pilot, lambda: rows.size.width == 44, "it is narrower")
        assert rows.render_line(0).text.split() == ["ST", "SESSION", "TITLE", "AGE"]
        assert rows.render_line(1).text == "› * active  ses_000001 ship billing 1    2h "
        await pilot.resize_terminal(1, 1)
        await pilot.resize_terminal(80, 5)
        await until(pilot, lambda: rows.size.width == 80, "it is wide again")
        assert "billing" in rows.render_line(1).text


columns = st.lists(
    st.builds(
        Column,
        st.just("x"),
        st.just(SafeStr("X")),
        st.integers(1, 30),
        st.booleans(),
        st.integers(0, 5),
    ),
    max_size=8,
)


@given(columns, st.integers(0, 200))
def test_a_layout_fits_unless_what_must_stay_does_not(chosen: list[Column], width: int) -> None:
    places = lay_out(chosen, width)
    kept = [chosen[place.column] for place in places]
    dropped = [column for column in chosen if column not in kept]
    assert all(column.drop_order for column in dropped)
    assert [place.column for place in places] == sorted(place.column for place in places)
    droppable = [column for column in kept if column.drop_order]
    if droppable:
        assert GUTTER + sum(place.width + place.gap for place in places) <= width


def test_flexible_columns_share_what_the_others_leave() -> None:
    made = [Column(name, SafeStr(name), 10, flex=name in "bc") for name in "abc"]
    assert [place.width for place in lay_out(made, GUTTER + 10 + 10 + 10 + 2 + 5)] == [10, 13, 12]


async def test_the_same_widget_survives_a_storm_of_sizes() -> None:
    async with shown(numbered(*range(300))) as (rows, pilot, _said):
        rows.move_to(ident(250))
        for size in [(1, 1), (300, 100), (2, 3), (80, 24), (7, 2), (120, 40)]:
            await pilot.resize_terminal(*size)
            assert rows.cursor_id == ident(250)
            assert ident(250) in rows.visible_ids
            assert all(strip.cell_length == rows.size.width for strip in drawn(rows))


async def test_text_that_looks_like_markup_is_shown_as_it_is() -> None:
    async with shown([make_row(1, title="[@click=app.quit]x[/] [/nope]")]) as (rows, _pilot, _said):
        assert "[@click=app.quit]x[/] [/nope]" in rows.render_line(1).text


# What is repainted


def test_a_patch_of_one_row_sends_less_than_a_kilobyte_and_shows_at_once() -> None:
    with PtyTerminal(ARGV, env=ENVIRONMENT, cols=120, rows=40) as terminal:
        terminal.wait_for("ses_000003")
        terminal.wait_quiet()
        before = terminal.count_bytes()
        terminal.send("p")
        terminal.wait_for("patched 1")
        terminal.wait_quiet()
        assert 0 < terminal.count_bytes() - before < 1024
        assert sum("patched" in line for line in terminal.lines()) == 1


async def test_only_lines_that_look_different_are_repainted(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(numbered(*range(100))) as (rows, _pilot, _said):
        painted: list[Region] = []

        def note(*regions: Region) -> None:
            painted.extend(regions)

        monkeypatch.setattr(rows, "refresh", note)
        rows.patch([make_row(3, "stale"), make_row(99, "stale"), make_row(4), make_row(12345)])
        assert painted == [Region(0, 4, 79, 1)]
        assert rows.rows[99] == make_row(99, "stale")
        assert rows.row_count == 100
        painted.clear()
        rows.set_rows([make_row(7, "failed") if number == 7 else make_row(number) for number in range(100)])
        assert painted == [Region(0, 4, 79, 1), Region(0, 8, 79, 1)]


async def test_the_cost_of_a_patch_does_not_grow_with_the_rows() -> None:
    def seconds(rows: RowList, count: int) -> float:
        start = time.perf_counter()
        for turn in range(200):
            rows.patch([make_row(count // 2, "stale", f"turn {turn}")])
        return time.perf_counter() - start

    taken: dict[int, float] = {}
    for count in (100, 20_000):
        async with shown(numbered(*range(count))) as (rows, _pilot, _said):
            taken[count] = min(seconds(rows, count) for _ in range(3))
    assert taken[20_000] < 5 * taken[100]


async def test_a_theme_change_redraws_in_the_new_colours() -> None:
    app = SmallApp()
    async with app.run_test(notifications=True, tooltips=True) as pilot:
        rows = app.query_one(RowList)
        before = [segment.style for segment in rows.render_line(2)]
        app.theme = "textual-light"
        await pilot.pause()
        assert [segment.style for segment in rows.render_line(2)] != before
