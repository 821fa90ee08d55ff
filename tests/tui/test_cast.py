"""The recorded session is an asciicast of version 2, small, and shows every room that it says it shows."""

import json
from pathlib import Path
from typing import Any

import pyte

from tests.tui.cast import COLS, ROWS, WALK, main

LARGEST = 200_000


def test_a_session_is_recorded_that_any_player_shows(tmp_path: Path) -> None:
    file = tmp_path / "tour.cast"
    assert main([str(file)]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["tour.cast"]
    data = file.read_bytes()
    assert len(data) < LARGEST
    header, *events = (json.loads(line) for line in data.decode().splitlines())
    assert (header["version"], header["width"], header["height"]) == (2, COLS, ROWS)
    assert len(events) == len(WALK) + 2
    screen = pyte.Screen(COLS, ROWS)
    stream = pyte.ByteStream(screen)
    seen: list[str] = []
    before = 0.0
    for event in events:
        at, kind, text = _event(event)
        assert kind == "o"
        assert at >= before
        before = at
        stream.feed(text.encode())
        seen.append("\n".join(screen.display))
    for step, text in zip(WALK, seen[1:-1], strict=True):
        assert step.shows in text, step
    for title in ("SESSION", "ISSUE", "CAUSE", "PLAN", "Act on", "Story │ Record"):
        assert any(title in text for text in seen), title


def _event(event: Any) -> tuple[float, str, str]:
    assert isinstance(event, list)
    at, kind, text = event  # type: ignore[misc]
    assert isinstance(at, float)
    assert isinstance(text, str)
    return at, str(kind), text  # type: ignore[arg-type]


def test_without_a_file_to_write_it_says_how_it_is_called(capsys: Any) -> None:
    assert main([]) == 2
    assert "usage" in capsys.readouterr().err
