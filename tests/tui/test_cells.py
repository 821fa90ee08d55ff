"""Public report 16: text of any script takes exactly the cells it was given."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from wcwidth import wcswidth, wcwidth

from phelix_tui.cells import DISPUTED, ELLIPSIS, cell_width, crop, fit, settled

HARD = (
    "plain",
    "日本語のタイトル",
    "한국어 제목",
    "\u1112\u1161\u11ab lone jamo \u1161",
    "e\u0301te\u0301",
    "\u0301 mark first",
    "z\u0300\u0301\u0302\u0303\u0304\u0305\u0306 piled up",
    "👩\u200d💻 joined",
    "👨\u200d👩\u200d👧\u200d👦",
    "❤\ufe0f text and emoji ❤\ufe0e",
    "1\ufe0f\u20e3 keycap",
    "👍🏽 tone, and alone 🏽",
    "🇩🇪🇫🇷 flags",
    "① ambiguous … ● ▲ ✓ ⊘",
    "हिन्दी शीर्षक",
    "ไทย ภาษาไทย",
    "עִבְרִית and العربية",
    "\u2630\u4dc0 wide since Unicode 16",
    "\x1b[31m\x07\x9b control",
    "full\uff37idth",
    "\U000e0101 selectors \ufe00",
)


def told_by_terminal(text: str) -> int:
    """Cells that pyte, xterm and most others advance by: each character for itself."""
    return sum(wcwidth(character) for character in text)


@pytest.mark.parametrize("text", HARD)
def test_every_width_is_met_by_every_way_of_counting(text: str) -> None:
    for width in range(40):
        shown = fit(text, width)
        assert cell_len(shown) == width
        assert told_by_terminal(shown) == width
        assert wcswidth(shown) == width
        assert all(told_by_terminal(character) >= 0 for character in shown)


def test_padding_by_length_fails_the_same_corpus() -> None:
    naive = [text[:20].ljust(20) for text in HARD]
    assert sum(told_by_terminal(text) != 20 or cell_len(text) != 20 for text in naive) >= 10


@given(st.text(max_size=30), st.integers(0, 40), st.sampled_from(["left", "right"]))
def test_any_text_fits_any_width(text: str, width: int, align: str) -> None:
    shown = fit(text, width, "right" if align == "right" else "left")
    assert cell_len(shown) == told_by_terminal(shown) == width


@given(st.text(max_size=30))
def test_settled_text_stays_as_it_is(text: str) -> None:
    assert settled(settled(text)) == settled(text)
    assert cell_width(text) == told_by_terminal(settled(text))


def test_readable_parts_of_joined_characters_stay() -> None:
    assert settled("👩\u200d💻 ❤\ufe0f 🇩🇪 1\ufe0f\u20e3 👍🏽") == "👩💻 ❤ DE 1 👍"
    assert settled("e\u0301\u1112\u1161\u11ab") == "\u00e9\ud55c"


def test_a_disputed_character_is_shown_as_one_cell() -> None:
    assert settled("a\u093fb") == f"a{DISPUTED}b"


def test_cut_text_ends_in_an_ellipsis_and_whole_text_does_not() -> None:
    assert fit("abcdef", 4) == f"abc{ELLIPSIS}"
    assert fit("abcd", 4) == "abcd"
    assert fit("日本語", 4) == f"日{ELLIPSIS} "
    assert crop("日本語", 4) == f"日{ELLIPSIS}"
    assert fit("7m", 4, "right") == "  7m"
