"""Record a short session of the console: `python -m tests.tui.cast FILE` writes an asciicast, version 2.

The real program on a real terminal, over the seeded demo records. The walk is written down below, each step with what
it waits for, so that the file can be made again; times in it are those of the walk and not of the machine. For each
step it holds what the terminal shows then, the lines that have changed and no others: a fifth of what was sent.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

import pyte
import pyte.screens

from tests.rig import PHELIX
from tests.tui.pty_terminal import UNKNOWN_TO_PYTE, PtyTerminal, clean_environment

COLS: Final = 100
ROWS: Final = 30
SEED: Final = 7
READING_S: Final = 1.8
"""How long a step stays on the screen before the next key, in the recording."""


class Step(NamedTuple):
    """Keys to press, what is on the screen then, and how long a viewer looks at it."""

    keys: tuple[str, ...]
    shows: str
    seconds: float = READING_S


WALK: Final = (
    Step(("j", "j"), "sessions", 0.6),
    Step(("/", *"is:stale"), "is:stale"),
    Step(("escape",), "sessions", 0.6),
    Step(("enter",), "Story │ Record"),
    Step(("q",), "SESSION", 0.6),
    Step(("a",), "Act on"),
    Step(("escape",), "SESSION", 0.6),
    Step(("3",), "ISSUE"),
    Step(("enter",), "Story │ Timeline"),
    Step(("4",), "CAUSE"),
    Step(("5",), "PLAN"),
    Step(("enter",), "What would run"),
    Step(("1",), "SESSION", 0.6),
    Step(("?",), "Moving about"),
    Step(("escape",), "SESSION", 0.6),
)
DIALOGS: Final = ("Act on", "Moving about")
"""Steps behind which input is dropped for 400 ms."""
HEX: Final = re.compile("[0-9a-f]{6}")
Event = tuple[float, str, str]


class Film:
    """What a terminal shows, drawn anew with as few bytes as that takes."""

    def __init__(self) -> None:
        self._screen = pyte.Screen(COLS, ROWS)
        self._stream = pyte.ByteStream(self._screen)
        self._taken = 0
        self._lines = [""] * ROWS

    def take(self, raw: bytes) -> str:
        """The lines that differ from those of the last time, after all bytes so far."""
        self._stream.feed(UNKNOWN_TO_PYTE.sub(b"", raw[self._taken :]))
        self._taken = len(raw)
        lines = [self._line(y) for y in range(ROWS)]
        told = "".join(f"\x1b[{y + 1}H{line}" for y, line in enumerate(lines) if line != self._lines[y])
        self._lines = lines
        return f"\x1b[?25l{told}\x1b[0m"

    def _line(self, y: int) -> str:
        row = self._screen.buffer[y]
        told, before, ground = "\x1b[0m", "", "default"
        for x in range(COLS):
            cell = row[x]
            style = _sgr(cell)
            if cell.data == " " and cell.bg == ground and not (cell.reverse or cell.underscore):
                style = before  # nobody sees the colour of a blank
            told += (f"\x1b[{style}m" if style != before else "") + cell.data
            before, ground = style, "" if cell.reverse or cell.underscore else cell.bg
        return told


def _sgr(cell: pyte.screens.Char) -> str:
    marks = [("1", cell.bold), ("3", cell.italics), ("4", cell.underscore), ("7", cell.reverse)]
    colours = [(38, cell.fg), (48, cell.bg)]
    told = ["0", *(number for number, on in marks if on)]
    for place, colour in colours:
        if HEX.fullmatch(colour):
            red, green, blue = bytes.fromhex(colour)
            told.append(f"{place};2;{red};{green};{blue}")
    return ";".join(told)


def record(folder: Path) -> list[Event]:
    """Walk through the console over demo records made in `folder`; what the terminal got, step by step."""
    data_dir = folder / ".phelix"
    environ = clean_environment(HOME=str(folder), PHELIX_DATA_DIR=str(data_dir), TMPDIR=str(folder))
    subprocess.run(
        [str(PHELIX), "demo", str(data_dir), "--seed", str(SEED)], env=environ, check=True, capture_output=True
    )
    events: list[Event] = []
    film = Film()
    at = 0.2
    with PtyTerminal([str(PHELIX), "tui"], cols=COLS, rows=ROWS, env=environ) as terminal:

        def take() -> None:
            events.append((round(at, 1), "o", film.take(terminal.raw)))

        terminal.wait_for("watch ", 20)
        terminal.wait_quiet(0.4, 20)
        take()
        at += READING_S
        for step in WALK:
            terminal.send(*step.keys)
            terminal.wait_for(step.shows)
            terminal.wait_quiet(0.45 if step.shows in DIALOGS else 0.15, 20)
            take()
            at += step.seconds
    events.append((round(at, 1), "o", "\x1b[0m\x1b[2J\x1b[H\x1b[?25h"))
    return events


def write(path: Path, events: list[Event]) -> None:
    """Write the recording; a reader never meets half of it."""
    header = {"version": 2, "width": COLS, "height": ROWS, "title": "phelix tui", "env": {"TERM": "xterm-256color"}}
    lines = [json.dumps(header, ensure_ascii=False), *(json.dumps(event, ensure_ascii=False) for event in events)]
    staged = path.with_name(f".{path.name}.new")
    staged.write_text("\n".join([*lines, ""]), encoding="utf-8")
    os.replace(staged, path)


def main(argv: list[str]) -> int:
    """Record to the file that is named."""
    if len(argv) != 1:
        print("usage: python -m tests.tui.cast FILE", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="phelix-cast-") as folder:
        write(Path(argv[0]), record(Path(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
