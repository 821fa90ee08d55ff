"""Frames in fewer bytes: each cell of a terminal that takes them looks the same."""

from random import Random

import pyte
import pytest

from phelix_tui.sgr import thinned

STYLES = (
    "38;2;102;191;182;48;2;17;21;28",
    "38;2;230;184;106;48;2;17;21;28",
    "1;38;2;230;184;106;48;2;40;54;77",
    "48;2;17;21;28",
    "38;5;12;48;5;3",
    "1;3;4",
    "7",
    "31",
    "91;102",
    "38;2;1;2;3",
)
BETWEEN = ("", "", "", "", "\x1b[?2026h", "\x1b[2K", "\x1b[K", "\x1b[1J", "plain")


def looks(frames: list[str]) -> list[list[tuple[object, ...]]]:
    """Every cell of a terminal after these frames, with its colours and attributes."""
    screen = pyte.Screen(40, 12)
    stream = pyte.Stream(screen)
    for frame in frames:
        stream.feed(frame)
    return [[tuple(screen.buffer[y][x]) for x in range(40)] for y in range(12)]


def frame_of(random: Random) -> str:
    """Lines as Textual writes them, and things between their pieces that it does not write."""
    parts: list[str] = []
    for _ in range(random.randrange(1, 12)):
        row = random.randrange(1, 12)
        parts.append(f"\x1b[{row};{random.randrange(1, 9)}H")
        for _ in range(random.randrange(1, 7)):
            text = random.choice(("a", "word ", "   ", "漢字"))
            parts.append(f"{random.choice(BETWEEN)}\x1b[{random.choice(STYLES)}m{text}\x1b[0m")
        parts.append(random.choice(("", "\r\n")))
    return "".join(parts)


@pytest.mark.parametrize("seed", range(60))
def test_a_thinned_frame_paints_the_same_cells(seed: int) -> None:
    random = Random(seed)
    frames = [frame_of(random) for _ in range(6)]
    thin = [thinned(frame) for frame in frames]
    assert looks(thin) == looks(frames)
    assert sum(map(len, thin)) < sum(map(len, frames))


def test_pieces_of_one_style_set_it_once_and_a_shared_ground_is_kept() -> None:
    ground = "48;2;17;21;28"
    frame = f"\x1b[31;{ground}mone\x1b[0m\x1b[31;{ground}mtwo\x1b[0m\x1b[32;{ground}mthree\x1b[0m"
    assert thinned(frame) == f"\x1b[31;{ground}monetwo\x1b[32mthree\x1b[0m"


def test_an_attribute_that_ends_is_reset() -> None:
    assert thinned("\x1b[1;31mone\x1b[0m\x1b[31mtwo\x1b[0m") == "\x1b[1;31mone\x1b[0;31mtwo\x1b[0m"


def test_a_frame_leaves_a_terminal_that_is_reset() -> None:
    assert thinned("\x1b[31mone\x1b[0m\x1b[5;1H").endswith("\x1b[0m\x1b[5;1H")
    assert thinned("\x1b[31mone") == "\x1b[31mone"


def test_what_is_no_style_passes_as_it_is() -> None:
    other = "\x1b]52;c;aGk=\x07\x1b[?1049h\x1b[2J\x1bPtmux;\x1b\\text"
    assert thinned(other) == other
