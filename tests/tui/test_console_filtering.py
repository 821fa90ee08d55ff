"""The filter language in the console: what matches, what is wrong, what is offered, and many records at once."""

import os
from pathlib import Path

import pytest
from textual.widgets import Input

from phelix_core.sessions.listing import INDEX_FILE
from phelix_core.views.rows import BadRecord
from phelix_tui.feed import Feed
from phelix_tui.messages import SnapshotLoaded, SnapshotPatched
from phelix_tui.watch import FolderWatch
from tests.tui.stage import Stage, fleet_of, until
from tests.tui.terminals import console, fill, ready
from tests.tui.test_feed import Board
from tests.tui.walks import agent_does, bar, states_of, type_in


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    stage = Stage(tmp_path / "data")
    stage.fill(26)
    return stage


async def test_a_field_of_the_language_selects_and_escape_shows_everything_again(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await pilot.press("slash")
        await type_in(pilot, "is:stale")
        await until(pilot, lambda: set(states_of(app)) == {"stale"}, "only stale rows")
        await pilot.press("escape")
        await until(pilot, lambda: fleet_of(app).row_count == 26, "everything is back")


async def test_a_wrong_filter_keeps_what_was_shown_and_marks_the_token(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await pilot.press("slash")
        await type_in(pilot, "is:stale")
        await until(pilot, lambda: set(states_of(app)) == {"stale"}, "only stale rows")
        app.screen.query_one("#filter", Input).value = "is:stale foo=1"
        await until(pilot, lambda: "There is no field foo" in bar(app, "state"), "the fault is told")
        assert set(states_of(app)) == {"stale"}
        app.screen.query_one("#filter", Input).value = "is:stale"
        await until(pilot, lambda: "match" in bar(app, "state"), "the fault is gone")


async def test_how_many_references_are_missing_is_offered_without_a_number_that_rows_do_not_know(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await pilot.press("slash")
        await type_in(pilot, "ref:m")
        await until(pilot, lambda: "missing" in bar(app, "offers"), "it is offered")
        assert "missing 0" not in bar(app, "offers")


async def test_values_are_offered_with_their_counts_and_tab_takes_the_first(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await pilot.press("slash")
        await type_in(pilot, "status=comp")
        await until(pilot, lambda: "completed" in bar(app, "offers"), "the value is offered")
        completed = sum(state == "completed" for state in app.desk.arrangement.counts.elements())
        assert f"completed {completed}" in bar(app, "offers")
        await pilot.press("tab")
        entry = app.screen.query_one("#filter", Input)
        await until(pilot, lambda: entry.value == "status=completed", "the offer is taken")
        await until(pilot, lambda: states_of(app) == ["completed"] * completed, "and applied")


async def test_a_record_that_stops_matching_leaves_and_one_that_begins_to_comes(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await pilot.press("slash")
        await type_in(pilot, "step=hotfix")
        await until(pilot, lambda: fleet_of(app).row_count == 0, "nothing matches")
        session_id = agent_does(stage, "session list", status="active").sessions[0].session_id
        agent_does(stage, "session checkpoint", session_id=session_id, step="hotfix")
        await until(pilot, lambda: [row.id for row in fleet_of(app).rows] == [session_id], "it comes")
        agent_does(stage, "session checkpoint", session_id=session_id, step="done")
        await until(pilot, lambda: fleet_of(app).row_count == 0, "it leaves")


async def test_a_filter_on_ages_lets_rows_in_as_time_passes(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await pilot.press("slash")
        await type_in(pilot, "app=newborn seen<1m")
        agent_does(stage, "session create", title="young", app="newborn")
        await until(pilot, lambda: fleet_of(app).row_count == 1, "it is young")
        stage.clock.wall_ms += 61_000
        await until(pilot, lambda: fleet_of(app).row_count == 0, "it has aged out of the filter")


def test_what_is_typed_right_behind_the_slash_is_text_and_not_keys(tmp_path: Path) -> None:
    fill(tmp_path / "data", 3)
    with console(tmp_path / "data") as terminal:
        ready(terminal)
        terminal.send(b"/aqx-none")
        terminal.wait_for("aqx-none")
        terminal.wait_for("0 of 3 match")
        assert "Act on" not in terminal.text
        assert terminal.process.poll() is None


# Many records: full looks that read only what drifted


async def drift(stage: Stage, happen: object) -> tuple[Board, int]:
    """A feed for which five records are many; answers its board after what happened, and what it told for that."""
    board = Board()
    watch = FolderWatch(str(stage.data_dir / "sessions"), look_s=3600, reconcile_s=3600, ignores=lambda _: True)
    feed = Feed(stage.console, board.post, watch, many=5)
    await feed._look(None)  # pyright: ignore[reportPrivateUsage]
    told = len(board.messages)
    assert callable(happen)
    happen()
    await feed._look(None)  # pyright: ignore[reportPrivateUsage]
    return board, told


async def test_a_full_look_at_many_reads_only_what_drifted_however_it_changed(stage: Stage) -> None:
    records = sorted((stage.data_dir / "sessions").glob("ses_*.json"))

    def happen() -> None:
        records[0].unlink()
        records[1].write_bytes(records[1].read_bytes().replace(b'"app": "', b'"app": "x'))
        made = stage.data_dir / "made"
        made.write_bytes(b"{")
        os.replace(made, records[2])

    board, told = await drift(stage, happen)
    assert isinstance(board.messages[0], SnapshotLoaded)
    (patch,) = board.messages[told:]
    assert isinstance(patch, SnapshotPatched)
    assert set(patch.changes) == {path.stem for path in records[:3]}
    assert patch.changes[records[0].stem] is None
    assert isinstance(patch.changes[records[2].stem], BadRecord)


async def test_a_full_look_at_many_that_finds_nothing_tells_nothing(stage: Stage) -> None:
    board, told = await drift(stage, lambda: None)
    assert len(board.messages) == told


async def test_many_records_come_sorted_and_the_first_of_them_at_once_where_there_is_an_index(stage: Stage) -> None:
    (stage.data_dir / "cache").mkdir()
    (stage.data_dir / "cache" / INDEX_FILE).touch()
    board, _ = await drift(stage, lambda: None)
    first, whole = board.messages
    assert isinstance(first, SnapshotPatched)
    assert isinstance(whole, SnapshotLoaded)
    assert 0 < len(first.changes) < len(whole.known) == 26
    assert whole.arrangement is not None
    assert len(whole.arrangement) == 26
    assert set(first.changes) <= set(whole.known)
