"""Frames in the cells that differ: a terminal that takes them shows what it would have shown."""

from random import Random

import pyte
import pytest
from wcwidth import wcswidth

from phelix_tui.canvas import Canvas

COLS, LINES = 40, 12
STYLES = ("38;2;102;191;182;48;2;17;21;28", "1;38;2;230;184;106;48;2;40;54;77", "48;2;17;21;28", "7", "31", "91;102")
WORDS = ("a", "word ", "   ", "漢字", "e\u0301te\u0301", "● ok", "한 ", "\u2500\u2500")


class Terminal:
    """What a terminal makes of what it is sent."""

    def __init__(self) -> None:
        self.screen = pyte.Screen(COLS + 1, LINES)  # it wraps at a mark on a last cell, which terminals do not
        self.feed = pyte.Stream(self.screen).feed

    def looks(self) -> list[list[tuple[object, ...]]]:
        """Every cell, with its colours and attributes."""
        return [[tuple(self.screen.buffer[y][x]) for x in range(COLS)] for y in range(LINES)]


def line_of(random: Random, row: int, column: int = 1) -> str:
    """A piece of a line as Textual writes it: where, and segments that each set their style and reset it."""
    parts, left = [f"\x1b[{row};{column}H"], COLS // 2
    while left > 0 and random.random() < 0.95:
        word = random.choice([word for word in WORDS if wcswidth(word) <= left])
        parts.append(f"\x1b[{random.choice(STYLES)}m{word}\x1b[0m")
        left -= wcswidth(word)
    return "".join(parts)


def frame_of(random: Random, before: list[str]) -> str:
    """Some lines as they were, some that differ, and where the cursor is left."""
    pieces = [
        random.choice(before)
        if before and random.random() < 0.6
        else line_of(random, random.randrange(1, LINES + 1), random.choice((1, COLS // 2 + 1)))
        for _ in range(random.randrange(1, 9))
    ]
    before += pieces
    lines = [piece if piece.startswith(f"\x1b[{LINES};") else f"{piece}\n" for piece in pieces]
    return "".join(lines) + f"\x1b[{random.randrange(1, LINES + 1)};1H"


def sent(canvas: Canvas, data: str) -> str:
    difference = canvas.difference(data)
    return data if difference is None else difference


def frames_of(seed: int) -> list[str]:
    random, before = Random(seed), list[str]()
    others = ("\x1b[2J", "\x1b[?1049h", "\x1b[4;4Hplain\x1b[K", "\x1b]52;c;aGk=\x07", "\x1b[?2026$p", "\x07")
    return [random.choice(others) if random.random() < 0.1 else frame_of(random, before) for _ in range(40)]


class Remembering(Canvas):
    """Naive: what it does not read changes nothing for it."""

    def forget(self) -> None:
        pass


def first_that_differs(canvas: Canvas, frames: list[str]) -> tuple[int | None, int]:
    """The first frame after which a terminal that got the differences shows something else; characters sent."""
    thin, whole, taken = Terminal(), Terminal(), 0
    for number, frame in enumerate(frames):
        difference = sent(canvas, frame)
        taken += len(difference)
        thin.feed(difference)
        whole.feed(frame)
        if thin.looks() != whole.looks():
            return number, taken
    return None, taken


@pytest.mark.parametrize("seed", range(12))
def test_what_differs_makes_of_the_terminal_what_the_whole_frame_would(seed: int) -> None:
    frames = frames_of(seed)
    differs, taken = first_that_differs(Canvas(), frames)
    assert differs is None
    assert taken < sum(map(len, frames)) * 0.8


def test_a_canvas_that_believes_what_was_erased_to_be_there_is_found_out() -> None:
    assert any(first_that_differs(Remembering(), frames_of(seed))[0] is not None for seed in range(12))


def test_a_frame_that_is_there_already_is_not_sent_and_one_cell_of_it_is_sent_alone() -> None:
    canvas = Canvas()
    first = "\x1b[3;1H\x1b[31mone two three\x1b[0m\n\x1b[4;1H\x1b[32mfour\x1b[0m\x1b[1;1H"
    assert sent(canvas, first) == "\x1b[3;1H\x1b[31mone two three\x1b[4;1H\x1b[32mfour\x1b[0m\x1b[1;1H"
    assert sent(canvas, first) == ""
    assert sent(canvas, first.replace("two", "twO")) == "\x1b[3;7H\x1b[31mO\x1b[0m\x1b[1;1H"


def test_half_of_a_wide_character_is_written_with_its_other_half() -> None:
    canvas = Canvas()
    sent(canvas, "\x1b[1;1H漢字x\x1b[1;1H")
    assert sent(canvas, "\x1b[1;1H漢aax\x1b[1;1H") == "\x1b[1;3Haa\x1b[1;1H"
    assert sent(canvas, "\x1b[1;1Ha字ax\x1b[1;1H") == "\x1b[1;1Ha字\x1b[1;1H"
    sent(canvas, "\x1b[2;1H漢字\x1b[1;1H")
    sent(canvas, "\x1b[2;2Haa\x1b[1;1H")  # between two: both lose a half
    assert sent(canvas, "\x1b[2;1H aa \x1b[1;1H") == "\x1b[2;1H aa \x1b[1;1H"


def test_text_whose_width_terminals_disagree_about_is_sent_as_it_comes() -> None:
    canvas = Canvas()
    frame = "\x1b[1;1Ha\u2630b\x1b[1;1H"
    assert canvas.difference(frame) is None
    assert canvas.difference(frame) is None
