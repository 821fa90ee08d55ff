"""Reports 6, 8 and 10 through the feed: no change is lost, no half-written record is told, and idle is idle."""

import asyncio
import contextlib
import os
import tempfile
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.message import Message

from phelix_core.strictjson import dumps, loads
from phelix_core.views.rows import BadRecord, Found
from phelix_tui.feed import Feed
from phelix_tui.messages import SnapshotFailed, SnapshotLoaded, SnapshotPatched
from phelix_tui.watch import FolderWatch
from tests.tui.stage import Stage
from tests.tui.walks import agent_does

NEVER = 3600.0


class Board:
    """What the feed told so far, as a screen would hold it; every state that was ever shown is kept."""

    def __init__(self) -> None:
        self.known: dict[str, Found] = {}
        self.messages: list[Message] = []
        self.bad: list[str] = []
        self.came = asyncio.Event()

    def post(self, message: Message) -> None:
        self.messages.append(message)
        if isinstance(message, SnapshotLoaded):
            self.known = dict(message.known)
        elif isinstance(message, SnapshotPatched):
            for session_id, found in message.changes.items():
                if found is None:
                    self.known.pop(session_id, None)
                else:
                    self.known[session_id] = found
        self.bad += [found.code for found in self.known.values() if isinstance(found, BadRecord)]
        self.came.set()

    async def until(self, true: Callable[[], object], timeout: float = 10.0) -> None:  # noqa: ASYNC109
        async with asyncio.timeout(timeout):
            while not true():
                self.came.clear()
                await self.came.wait()

    def rev(self, session_id: str) -> int:
        found = self.known.get(session_id)
        return 0 if found is None or isinstance(found, BadRecord) else found.rev


@asynccontextmanager
async def feeding(stage: Stage, watch: FolderWatch | None = None) -> AsyncGenerator[tuple[Feed, Board]]:
    board = Board()
    feed = Feed(stage.console, board.post, watch)
    task = asyncio.create_task(feed.run())
    try:
        await board.until(lambda: board.messages)
        yield feed, board
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def a_stage(tmp_path: Path, sessions: int) -> tuple[Stage, list[Path]]:
    stage = Stage(tmp_path / "data")
    stage.fill(sessions)
    return stage, sorted((stage.data_dir / "sessions").glob("*.json"))


def one_more(record: Any) -> Any:
    """The record with one more event."""
    event = {**record["events"][-1], "seq": record["rev"] + 1}
    return {**record, "rev": record["rev"] + 1, "events": [*record["events"], event]}


def rename_into_place(file: Path, record: Any) -> None:
    staged = file.with_name(f".{file.name}.new")
    staged.write_bytes(dumps(record).encode())
    os.replace(staged, file)


async def test_a_thousand_renames_into_place_all_arrive_and_none_reads_as_broken(tmp_path: Path) -> None:
    stage, files = a_stage(tmp_path, 20)
    records: dict[Path, Any] = {file: loads(file.read_bytes()) for file in files}
    async with feeding(stage) as (_, board):
        for turn in range(1_000):
            file = files[turn % 20]
            records[file] = one_more(records[file])
            rename_into_place(file, records[file])
            if turn % 25 == 0:
                await asyncio.sleep(0)
        await board.until(lambda: {board.rev(file.stem) - records[file]["rev"] for file in files} == {0})
        assert board.bad == []


async def test_a_naive_reader_of_a_record_that_is_written_in_place_sees_it_broken(tmp_path: Path) -> None:
    """The control of the test below: one look, at the moment between truncating and writing."""
    stage, files = a_stage(tmp_path, 1)
    os.truncate(files[0], 0)
    feed = Feed(stage.console, lambda _: None)
    assert isinstance(feed._look_at_one(files[0].stem), BadRecord)  # pyright: ignore[reportPrivateUsage]


async def test_a_record_that_is_truncated_and_then_written_never_flashes_as_unreadable(tmp_path: Path) -> None:
    stage, files = a_stage(tmp_path, 3)
    file = files[1]
    record: Any = loads(file.read_bytes())
    async with feeding(stage) as (_, board):
        for rev in range(record["rev"] + 1, record["rev"] + 9):
            record = one_more(record)
            data = dumps(record).encode()
            with file.open("wb", buffering=0) as opened:
                opened.write(data[: len(data) // 2])
                await asyncio.sleep(0.04)  # half of it is there long enough to be met
                opened.write(data[len(data) // 2 :])
            await board.until(lambda rev=rev: board.rev(file.stem) == rev)
        assert board.bad == []


async def test_a_record_that_stays_broken_is_told_after_three_more_looks(tmp_path: Path) -> None:
    stage, files = a_stage(tmp_path, 3)
    async with feeding(stage) as (_, board):
        os.truncate(files[0], 90)
        await board.until(lambda: isinstance(board.known[files[0].stem], BadRecord))
        assert len(board.known) == 3


async def deaf(*_paths: str, **_options: Any) -> AsyncGenerator[set[Any]]:
    """A watcher that loses every event."""
    await asyncio.Event().wait()
    yield set()


async def test_events_that_are_lost_are_made_up_for_by_the_next_full_look(tmp_path: Path) -> None:
    """Report 8. In place, so that the folder's time does not tell of it either."""
    stage, files = a_stage(tmp_path, 3)
    folder = str(stage.data_dir / "sessions")
    record = one_more(loads(files[0].read_bytes()))
    patient = FolderWatch(folder, awatch=deaf, reconcile_s=NEVER, look_s=NEVER)
    async with feeding(stage, patient) as (_, board):
        files[0].write_bytes(dumps(record).encode())
        with contextlib.suppress(TimeoutError):
            await board.until(lambda: board.rev(files[0].stem) == record["rev"], 0.4)
        assert board.rev(files[0].stem) == record["rev"] - 1, "the control: without the full look it stays old"
    healing = FolderWatch(folder, awatch=deaf, reconcile_s=0.3, look_s=NEVER)
    async with feeding(stage, healing) as (_, board):
        record = one_more(record)
        files[0].write_bytes(dumps(record).encode())
        files[1].unlink()
        await board.until(lambda: board.rev(files[0].stem) == record["rev"] and files[1].stem not in board.known, 3)


async def test_an_idle_folder_is_not_read(tmp_path: Path) -> None:
    """Report 10: what we read ourselves must not wake us."""
    stage, files = a_stage(tmp_path, 5)
    async with feeding(stage) as (feed, board):
        agent_does(stage, "session create", title="the last change")
        await board.until(lambda: len(board.known) == 6)
        await asyncio.sleep(0.5)  # events of that write have come by then
        looks = feed.looks
        for file in files:
            await feed.look_at(file.stem)
        await asyncio.sleep(2.5)
        assert feed.looks == looks


async def test_a_folder_that_cannot_be_read_is_told_as_such_and_tried_again(tmp_path: Path) -> None:
    """Report 14."""
    stage, _ = a_stage(tmp_path, 3)
    sessions, aside = stage.data_dir / "sessions", stage.data_dir / "aside"
    sessions.rename(aside)
    sessions.write_text("", encoding="utf-8")
    watch = FolderWatch(str(sessions), awatch=deaf, reconcile_s=NEVER, look_s=NEVER, poll_s=NEVER)
    async with feeding(stage, watch) as (_, board):
        assert isinstance(board.messages[0], SnapshotFailed)
        assert board.messages[0].code == "FILESYSTEM_ERROR"
        sessions.unlink()
        aside.rename(sessions)
        await board.until(lambda: len(board.known) == 3)


async def test_a_fault_that_nobody_foresaw_is_told_and_does_not_end_the_feed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    stage, files = a_stage(tmp_path, 3)
    clock: Any = stage.clock
    async with feeding(stage) as (_, board):

        def broken() -> int:
            raise RuntimeError("a clock that fails")

        clock.now_ms, good = broken, clock.now_ms
        rename_into_place(files[0], one_more(loads(files[0].read_bytes())))
        await board.until(lambda: len([m for m in board.messages if isinstance(m, SnapshotFailed)]) == 2)
        assert isinstance(board.messages[-1], SnapshotFailed)
        assert board.messages[-1].code == "INTERNAL"
        reports = [name for name in os.listdir(tmp_path) if name.startswith("phelix-report-")]
        assert len(reports) == 1, "one report, however often it is tried"
        clock.now_ms = good
        await board.until(lambda: isinstance(board.messages[-1], SnapshotLoaded))
        assert len(board.known) == 3
