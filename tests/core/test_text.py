import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phelix_core.text import TextRefused, utf8_size, visible, visible_block

ANY_TEXT = st.text(st.characters(exclude_categories=[]))
HAZARDS = {
    "ESC": "\x1b]52;c;aGk=\x07",
    "C1 CSI": "\x9b2J",
    "right-to-left override": "\u202e",
    "isolate": "\u2066",
    "zero-width space": "\u200b",
    "byte order mark": "\ufeff",
    "tag character": "\U000e0041",
    "lone surrogate": "\ud800",
    "line separator": "\u2028",
    "delete": "\x7f",
}


@pytest.mark.parametrize(("text", "size"), [("", 0), ("abc", 3), ("é", 2), ("清", 3), ("😀", 4)])
def test_size_counts_utf8_bytes(text: str, size: int) -> None:
    assert utf8_size(text) == size


@pytest.mark.parametrize("text", ["\0", "a\0b", "\ud800", "a\udfffb"])
def test_nul_and_lone_surrogates_have_no_size(text: str) -> None:
    with pytest.raises(TextRefused):
        utf8_size(text)


@pytest.mark.parametrize("hazard", HAZARDS.values(), ids=HAZARDS.keys())
def test_each_hazard_becomes_visible_marks_and_the_rest_stays(hazard: str) -> None:
    shown = visible(f"before{hazard}after")
    assert shown.startswith("before")
    assert shown.endswith("after")
    assert shown != f"before{hazard}after"


def test_joined_emoji_and_combining_accents_stay_as_they_are() -> None:
    for text in ("👩\u200d🚀", "e\u0301", "清理", "résumé"):
        assert visible(text) == text


@given(ANY_TEXT)
def test_nothing_visible_can_steer_a_terminal_or_break_a_line(text: str) -> None:
    shown = visible(text)
    shown.encode()
    assert not [char for char in shown if unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"}]
    assert not [char for char in shown if char in "\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068"]
    assert len(shown) == len(text)


@given(ANY_TEXT)
def test_visible_is_idempotent_and_a_block_keeps_line_feeds_only(text: str) -> None:
    assert visible(visible(text)) == visible(text)
    assert visible_block(text).count("\n") == text.count("\n")
    assert visible_block(text).replace("\n", "⏎") == visible(text)
