"""Leaving the console while the fleet moves: whatever arrives then finds no screen, and breaks nothing."""

import asyncio
from pathlib import Path

from phelix_tui.messages import SnapshotFailed, SnapshotLoaded, SnapshotPatched
from tests.tui.stage import Stage, fleet_of
from tests.tui.walks import room


async def _leave_amid_changes(stage: Stage, *, in_room: bool) -> None:
    async def flood() -> None:
        for _ in range(2_000):
            found = app.desk.arrangement.found(session_id)
            app.post_message(SnapshotPatched({session_id: found}))
            app.post_message(SnapshotLoaded({session_id: found} if found else {}))
            app.post_message(SnapshotFailed("FILESYSTEM_ERROR", "gone"))
            app._second()  # pyright: ignore[reportPrivateUsage] - the clock ticks on as well
            await asyncio.sleep(0)

    async with stage.app() as (app, pilot):
        session_id = fleet_of(app).cursor_id or ""
        if in_room:
            await room(app, pilot, "Timeline")
        flooding = asyncio.create_task(flood())
        await asyncio.sleep(0)
    flooding.cancel()
    await asyncio.gather(flooding, return_exceptions=True)


async def test_the_list_can_be_left_while_everything_changes(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data")
    stage.fill(5)
    await _leave_amid_changes(stage, in_room=False)


async def test_a_room_can_be_left_while_everything_changes(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data")
    stage.fill(5)
    await _leave_amid_changes(stage, in_room=True)
