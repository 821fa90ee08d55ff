"""Report 19: the command line's rows, the console's rows and the header's counts are of one mind, on any fleet."""

import re
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

from phelix_core.strictjson import dumps
from phelix_core.views.rows import STATES
from tests.rig import Phelix
from tests.tui.hostile import hostile_record
from tests.tui.stage import Stage, fleet_of
from tests.tui.walks import bar, states_of

MINUTE = 60_000


def random_fleet(data_dir: Path, seed: int, now_ms: int) -> int:
    """Records of every status and age, some of them broken, some from another version; answers how many."""
    random = Random(seed)
    folder = data_dir / "sessions"
    folder.mkdir(parents=True)
    number = random.randrange(10, 40)
    for place in range(number):
        session_id = f"ses_{place:016x}"
        status = random.choice(("active", "active", "completed", "failed", "cancelled"))
        record = hostile_record(session_id, f"task {random.randrange(5)}", status)
        at_ms = now_ms - random.choice((-600, 0, 1, 5, 59, 61, 600, 9_000)) * MINUTE - 30_000
        for moment in (record, record["checkpoint"], *record["events"]):
            moment.update({key: at_ms for key in moment if key.endswith("at_ms")})
        match random.randrange(12):
            case 0:
                data = dumps(record).encode()[:200]
            case 1:
                data = dumps({**record, "status": "paused"}).encode()
            case 2:
                data = dumps({**record, "schema_version": "2"}).encode()
            case _:
                data = dumps(record).encode()
        (folder / f"{session_id}.json").write_bytes(data)
    return number


def header_counts(text: str) -> dict[str, int]:
    """What the title bar counts, by state."""
    words = {state.word: name for name, state in STATES.items()}
    return {words[word]: int(number) for number, word in re.findall(r"(\d+) (\S+)", text) if word in words}


@pytest.mark.parametrize("seed", range(5))
async def test_rows_counts_and_the_command_line_agree_on_a_random_fleet(tmp_path: Path, seed: int) -> None:

    stage = Stage(tmp_path / "data")
    stage.clock.wall_ms = time.time_ns() // 1_000_000  # the command line has the machine's clock
    number = random_fleet(stage.data_dir, seed, stage.clock.wall_ms)
    phelix = Phelix(stage.data_dir, tmp_path)
    listed: Any = phelix("session", "list", "--limit", "0", "--json").result
    plain = phelix("session", "list", "--limit", "0").out.decode()
    async with stage.app() as (app, _):
        rows = {row.id: app.desk.arrangement.row(row.id) for row in fleet_of(app).rows}
        assert len(rows) == number
        assert {row["session_id"] for row in listed["sessions"]} | {
            bad["file"].removesuffix(".json") for bad in listed["unreadable"]
        } == set(rows)
        for row in listed["sessions"]:
            shown = rows[row["session_id"]]
            assert shown is not None
            [line] = [line for line in plain.splitlines() if row["session_id"] in line]
            assert line.startswith(f"{shown.looks.glyph} {shown.looks.word}")
            assert str(shown.title) in line
            assert (shown.state == "stale") == ("stale" in row)
        assert {bad["file"].removesuffix(".json") for bad in listed["unreadable"]} == {
            session_id for session_id, row in rows.items() if row and row.state == "unreadable"
        }
        attention = {state: states_of(app).count(state) for state in ("unreadable", "stale", "clock")}
        assert header_counts(bar(app, "title")) == {state: count for state, count in attention.items() if count}
        assert f"{number} sessions" in bar(app, "title")
