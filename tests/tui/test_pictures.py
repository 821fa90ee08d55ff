"""The pictures in `screenshots/`: what the README shows is what the console draws, and nothing is clipped.

`python -m tests.tui.pictures` writes them anew; look at them before you commit them.
"""

import re
import sys
from html import unescape
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.tui.pictures import FOLDER, PICTURES, Picture, drawn

CELL = 12.2
TEXT = re.compile(
    r'<text class="terminal-[^"]*" x="([0-9.]+)" y="[0-9.]+" textLength="([0-9.]+)" '
    r'clip-path="url\(#terminal-[0-9]+-line-([0-9]+)\)">([^<]*)</text>'
)
by_name = pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)


@pytest.mark.skipif(
    sys.platform != "linux", reason="the doctor line names the watcher: inotify here, fsevents on macOS"
)
@by_name
async def test_a_picture_is_what_the_console_draws(
    picture: Picture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))  # restored afterwards: the scene moves home
    svg = await drawn(picture, tmp_path)
    assert svg == (FOLDER / f"{picture.name}.svg").read_text(encoding="utf-8"), (
        f"screenshots/{picture.name}.svg differs: run `python -m tests.tui.pictures {picture.name}` and look at it"
    )


@by_name
def test_every_line_of_a_picture_is_exactly_as_wide_as_the_screen(picture: Picture) -> None:
    """A line's text ends with a line feed, which stands where the line's cells end."""
    svg = (FOLDER / f"{picture.name}.svg").read_text(encoding="utf-8")
    ends: dict[int, float] = {}
    for x, length, line, text in TEXT.findall(svg):
        shown = unescape(text).replace("\xa0", " ")
        if shown == "\n":
            ends[int(line)] = float(x) / CELL
        else:
            assert cell_len(shown) == round(float(length) / CELL), shown
            assert float(x) + float(length) <= picture.width * CELL + 0.1, shown
    assert {round(end, 3) for end in ends.values()} == {picture.width}
    assert len(ends) == picture.height - 1, "the last line has no line feed"


def test_no_picture_is_without_a_scene() -> None:
    assert {file.stem for file in FOLDER.glob("*.svg")} == {picture.name for picture in PICTURES}
