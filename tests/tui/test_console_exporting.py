"""Exports: what the list shows, in its order, into a new private file where the console was started; no secrets."""

import csv
import io
import json
import subprocess
import sys
from html import escape, unescape
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from phelix_core.commands.session_listing import SessionList
from phelix_core.views.exporting import SESSIONS, exported
from phelix_tui.app import ConsoleApp
from phelix_tui.exports import place_for, redacted_picture, text_of, write_new
from phelix_tui.screens.exporting import ExportMenu
from tests.canaries import CANARIES, IDS, Canary, found_in
from tests.rig import bytes_of, did
from tests.tui.plans import planned, plans_of
from tests.tui.queues import filled, issues_of
from tests.tui.stage import Stage, fleet_of, opened, until
from tests.tui.walks import agent_does, toasts, told, type_in


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    stage = Stage(tmp_path / "data")
    stage.fill(14)
    (tmp_path / "home" / "desk").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "home" / "desk")
    return stage


def written(pattern: str = "phelix-*") -> list[Path]:
    """What was written where the console was started."""
    return sorted(Path().glob(pattern))


def linked(name: str) -> Path:
    """A link under that name; answers what it leads to."""
    target = Path("elsewhere")
    target.write_text("mine")
    Path(name).symlink_to(target)
    return target


async def export(app: ConsoleApp, pilot: Pilot[Any], key: str, said: str = "Exported to") -> Path | None:
    """Export by a form's key; answers the file."""
    await pilot.press("E")
    await opened(pilot, ExportMenu)
    await pilot.press(key)
    await told(app, pilot, said)
    found = written()
    return found[-1] if found else None


async def test_a_csv_holds_the_rows_under_the_filter_in_the_order_in_force(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await pilot.press("slash")
        await type_in(pilot, "is:active")
        await pilot.press("enter", "S")
        file = await export(app, pilot, "c")
        assert file is not None
        assert file.name == "phelix-sessions-20260801-120000Z.csv"
        assert file.stat().st_mode & 0o777 == 0o600
        rows = list(csv.DictReader(io.StringIO(file.read_bytes().decode())))
        assert [row["session"] for row in rows] == list(fleet_of(app).ids)
        assert 0 < len(rows) < 14
        assert toasts(app)[-1] == f"Exported to ~/desk/{file.name}"


async def test_json_holds_the_members_of_the_records_and_markdown_is_a_table(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        file = await export(app, pilot, "r")
        assert file is not None
        document = json.loads(file.read_bytes())
        assert [one["session_id"] for one in document["sessions"]] == list(fleet_of(app).ids)
        file.unlink()
        app.clear_notifications()
        file = await export(app, pilot, "m")
        assert file is not None
        assert len(file.read_text().splitlines()) == 14 + 2
        assert file.suffix == ".md"


async def test_issues_and_plans_are_exported_too(stage: Stage) -> None:
    filled(stage)
    planned(stage)
    async with stage.app() as (app, pilot):
        await pilot.press("3")
        await until(pilot, lambda: app.screen is app.queue and issues_of(app).row_count, "the queue is listed")
        file = await export(app, pilot, "c")
        assert file is not None
        assert "phelix-issues-" in file.name
        assert len(file.read_text().splitlines()) == issues_of(app).row_count + 1
        app.clear_notifications()
        await pilot.press("5")
        await until(pilot, lambda: app.screen is app.approvals and plans_of(app).row_count, "the plans are listed")
        await export(app, pilot, "c")
        file = written("phelix-plans-*")[0]
        assert len(file.read_text().splitlines()) == plans_of(app).row_count + 1


async def test_a_picture_is_of_the_list_and_not_of_the_menu(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        file = await export(app, pilot, "p")
        assert file is not None
        svg = file.read_text()
        assert svg.startswith("<svg")
        assert "STATUS" in svg
        assert "Markdown" not in svg


async def test_a_file_that_is_there_is_never_written_over_nor_a_link_followed(stage: Stage) -> None:
    name = "phelix-sessions-20260801-120000Z.csv"
    mine = linked(name)
    async with stage.app() as (app, pilot):
        await export(app, pilot, "c", "Nothing was written")
        assert name in toasts(app)[-1]
        assert mine.read_text() == "mine"


async def test_nothing_is_written_into_the_data_directory(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(stage.data_dir / "sessions")
    before = bytes_of(stage.data_dir / "sessions")
    async with stage.app() as (app, pilot):
        await export(app, pilot, "c", "the data directory is for records")
    assert bytes_of(stage.data_dir / "sessions") == before


async def test_a_frozen_list_is_exported_as_it_is_on_the_screen(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await pilot.press("f")
        agent_does(stage, "session create", title="young")
        await until(pilot, lambda: len(app.desk.arrangement) == 15, "there is one more")
        file = await export(app, pilot, "c")
        assert file is not None
        assert len(file.read_text().splitlines()) == 14 + 1


def test_a_folder_where_nothing_can_be_written_is_told_plainly(tmp_path: Path) -> None:
    written = write_new(str(tmp_path / "gone"), "x.csv", "text")
    assert not written.ok
    assert written.told.startswith("Nothing was written: ")
    assert isinstance(place_for(str(tmp_path / "no such data")), str)


def test_what_cannot_be_written_whole_is_not_left_behind(tmp_path: Path) -> None:
    program = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096));"
        "from phelix_tui.exports import write_new;"
        f"written = write_new({str(tmp_path)!r}, 'big.csv', 'x' * 100_000); assert not written.ok; print(written.told)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "Nothing was written" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_of_many_rows_it_is_told_how_far_it_is(stage: Stage) -> None:
    app = ConsoleApp(stage.console)
    arrangement = app.desk.arrangement
    listed: SessionList = did(stage.console, "session list", limit=0)
    arrangement.load({one.session_id: one for one in listed.sessions}, stage.clock.wall_ms)
    seen: list[tuple[int, int]] = []
    ids = arrangement.order() * 200
    text = text_of(arrangement, ids, "csv", stage.clock.wall_ms, lambda done, of: seen.append((done, of)))
    assert seen == [(0, 2_800), (1_000, 2_800), (2_000, 2_800)]
    assert text.count("\r\n") == 2_801
    assert exported(SESSIONS, "csv", []).count("\r\n") == 1


@pytest.mark.parametrize("canary", CANARIES[:8], ids=IDS[:8])
def test_a_secret_typed_into_the_filter_is_not_in_the_picture(canary: Canary) -> None:
    drawn = f'<text class="r1" x="0">{escape(canary.text).replace(" ", "&#160;")}</text>'
    assert found_in(unescape(drawn))
    assert not found_in(unescape(redacted_picture(drawn)))


def test_a_picture_without_secrets_is_left_as_it_is() -> None:
    drawn = '<text class="r1" textLength="24.4">▲&#160;stale &lt;b&gt;</text>'
    assert redacted_picture(drawn) == drawn
