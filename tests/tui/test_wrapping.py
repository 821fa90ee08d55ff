"""Text laid into lines: nothing wider than asked, nothing lost, nothing but what was there."""

from hypothesis import given
from hypothesis import strategies as st

from phelix_core.text import SafeStr, visible
from phelix_tui.cells import cell_width, settled
from phelix_tui.widgets.rowlist import Cell
from phelix_tui.wrapping import TextLine, line, wrapped
from tests.tui.hostile import ALL

TEXTS = st.one_of(
    st.sampled_from(ALL).map(lambda text: text[:300]), st.text(max_size=60), st.text("ab 汉e\u0301", max_size=40)
)
LINES = st.builds(
    TextLine,
    st.lists(st.builds(Cell, TEXTS.map(visible), st.sampled_from(("", "muted", "bold"))), max_size=4).map(tuple),
    st.integers(0, 30),
)


def text_of(cells: tuple[Cell, ...]) -> str:
    return "".join(cell.text for cell in cells)


@given(LINES, st.integers(1, 60))
def test_no_line_is_wider_than_asked_unless_one_character_is(text: TextLine, width: int) -> None:
    for laid in wrapped(text, width):
        assert cell_width(text_of(laid)) <= max(width, 2 if width == 1 else width)


@given(LINES, st.integers(3, 60))
def test_every_character_but_spaces_is_there_once_and_in_order(text: TextLine, width: int) -> None:
    wanted = "".join(settled(cell.text) for cell in text.cells).replace(" ", "")
    assert "".join(text_of(laid) for laid in wrapped(text, width)).replace(" ", "") == wanted


@given(LINES, st.integers(9, 60))
def test_no_line_is_empty_but_for_an_empty_text(text: TextLine, width: int) -> None:
    lines = wrapped(text, width)
    assert lines
    if len(lines) > 1:
        assert all(text_of(laid).strip() for laid in lines[1:])


def test_words_stay_whole_where_they_fit_and_hang_under_each_other() -> None:
    laid = wrapped(line("name    ", Cell(SafeStr("one two three"), "bold"), hang=8), 16)
    assert [text_of(cells) for cells in laid] == ["name    one two ", "        three"]
    assert laid[1][1] == Cell(SafeStr("three"), "bold")


def test_spaces_at_the_end_of_a_full_line_make_no_empty_line() -> None:
    assert [text_of(cells) for cells in wrapped(line("four  ", Cell(SafeStr(""), "muted")), 4)] == ["four"]


def test_a_long_word_is_cut_at_whole_characters_with_their_marks() -> None:
    assert [text_of(cells) for cells in wrapped(line("汉汉汉"), 5)] == ["汉汉", "汉"]
    marked = "e\u0332" * 5
    assert [text_of(cells) for cells in wrapped(line(marked), 2)] == ["e\u0332" * 2, "e\u0332" * 2, "e\u0332"]


def test_neighbours_of_one_role_are_one_piece() -> None:
    assert wrapped(line("a ", "b ", "c"), 20) == [(Cell(SafeStr("a b c"), ""),)]


def test_no_room_is_no_lines() -> None:
    assert wrapped(line("x"), 0) == []
