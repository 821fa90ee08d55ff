"""The memory in the console: beside the checkpoints it came from, and handed what waits while the console is open."""

import json
import socket
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from threading import enumerate as threads
from typing import Any

import pytest
from textual.pilot import Pilot

from phelix_core.settings import load_settings
from phelix_core.sqlite import Database
from phelix_tui.app import ConsoleApp
from phelix_tui.deliveries import Deliveries
from phelix_tui.screens.issue import IssueRoom
from phelix_tui.starting import demo_fleet
from tests.tui.hostile import ALL
from tests.tui.queues import Queue, filled, issues_of
from tests.tui.stage import Stage, opened, until
from tests.tui.terminals import console, gone_within
from tests.tui.test_console_hostile_text import check
from tests.tui.walks import page, toasts

LONG_S = 60.0
"""The library of the memory takes its time to load."""


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path / "data")


async def in_room(app: ConsoleApp, pilot: Pilot[Any], issue_id: str) -> None:
    """Open an issue's room and wait for its story."""
    await pilot.press("3")
    await until(pilot, lambda: issues_of(app).row_count, "the queue is listed")
    assert issues_of(app).move_to(issue_id)
    await until(pilot, lambda: app.queue.selected_id() == issue_id, "the issue is chosen")
    await pilot.press("enter")
    await opened(pilot, IssueRoom)
    await until(pilot, lambda: "Leases" in page(app, "story"), "the story")


def of(ids: dict[str, str], word: str) -> str:
    return next(issue_id for task, issue_id in ids.items() if task.startswith(word))


# What is seen


async def test_a_room_tells_which_memory_a_checkpoint_made_and_which_waits(stage: Stage) -> None:
    _, ids = filled(stage)
    async with stage.app() as (app, pilot):
        await in_room(app, pilot, of(ids, "Port"))
        said = page(app, "story")
        told = " ".join(said[said.index("Memory") :].split())
        assert "note … waits for the memory of checkpoint Eleven of fourteen tables are ported." in told
        assert "decision mem-0001 of amounts Amounts become whole cents." in told
        await pilot.press("tab")
        said = " ".join(page(app, "story").split())
        assert (
            "Amounts become whole cents. · next: Go on. · evidence: run-1.log · remembered as decision mem-0001" in said
        )
        assert (
            "Eleven of fourteen tables are ported. · next: Go on. · evidence: run-1.log · waits for the memory" in said
        )


async def test_where_nothing_is_remembered_there_is_no_heading(stage: Stage) -> None:
    _, ids = filled(stage)
    async with stage.app() as (app, pilot):
        await in_room(app, pilot, of(ids, "Draft"))
        assert "emory" not in page(app, "story")


async def test_what_hinders_the_memory_is_told_with_what_waits(stage: Stage) -> None:
    queue, ids = filled(stage)
    assert queue.agent.kept is not None
    del queue.agent.kept["memory"]
    queue.does("memory sync")
    async with stage.app() as (app, pilot):
        await in_room(app, pilot, of(ids, "Port"))
        assert "… waits for the memory (no memory is configured)" in page(app, "story")


@pytest.mark.parametrize("text", ALL, ids=range(len(ALL)))
async def test_no_text_of_a_memory_breaks_the_room(stage: Stage, text: str) -> None:
    _, ids = filled(stage)
    db = Database(f"{stage.data_dir}/queue.db", stage.clock)
    db.ask("UPDATE memory_links SET memory_kind = ?, memory_ref = ?, summary = ?", [text, text, text])
    db.close()
    async with stage.app(80, 24) as (app, pilot):
        await in_room(app, pilot, of(ids, "Port"))
        for key in ("G", "tab"):
            await pilot.press(key)
            await pilot.pause()
            check(app, app.size)


# What the console hands over


def remembering(data_dir: Path, **chosen: Any) -> Stage:
    """A stage whose `config.toml` names a memory, the real one."""
    data_dir.mkdir(parents=True, exist_ok=True)
    (data_dir / "config.toml").write_text('[memory]\nprovider = "mem0"\n')
    return Stage(data_dir, memory=load_settings({}, data_dir=str(data_dir)).memory, **chosen)


def deliverers() -> list[str]:
    return [thread.name for thread in threads() if thread.name == "deliveries"]


async def test_what_waited_is_in_the_memory_and_the_open_room_says_so_by_itself(tmp_path: Path) -> None:
    stage = remembering(tmp_path / "data")
    queue, ids = filled(stage)
    async with stage.app() as (app, pilot):
        await in_room(app, pilot, of(ids, "Port"))
        await until(pilot, lambda: "waits for the memory" not in page(app, "story"), "it is handed over", LONG_S)
        (link,) = [
            one for one in queue.does("show", issue_id=of(ids, "Port"))["memoryLinks"] if one["memoryKind"] == "note"
        ]
        await until(pilot, lambda: link["memoryRef"] in page(app, "story"), "its reference is told")
        assert toasts(app) == [], "quietly"
        events = queue.does("show", issue_id=of(ids, "Port"))["events"]
        assert events[0]["kind"] == "mem0_memory_linked"
        assert events[0]["via"] == "tui"
    assert (stage.data_dir / "memory").is_dir()


async def test_what_is_put_by_while_it_is_open_is_handed_over_in_its_turn(tmp_path: Path) -> None:
    queue, ids = filled(stage := Stage(tmp_path / "data"))
    deliveries = Deliveries(remembering(tmp_path / "data").console, every_s=0.05)
    async with stage.app() as (app, pilot):
        await in_room(app, pilot, of(ids, "Port"))
        assert "waits for the memory" in page(app, "story")
        deliveries.start()
        await until(pilot, lambda: "waits for the memory" not in page(app, "story"), "the first", LONG_S)
        host: dict[str, Any] = {"host": "host-b", "workload_classes": ("code",), "memory": True}
        lease = queue.does("recover", issue_id=of(ids, "Port"), resolution="resume", **host)["leaseId"]
        queue.checkpoint(lease, "Twelve of fourteen.", memory=True)

        def is_told() -> bool:
            memory = page(app, "story").partition("\nMemory")[2]
            return "Twelve of fourteen." in memory and "waits for the memory" not in memory

        await until(pilot, is_told, "the second", LONG_S)
        deliveries.stop()
        await until(pilot, lambda: not deliverers(), "the thread ends")


@pytest.mark.parametrize("case", ["no memory", "read-only", "no queue"])
async def test_where_nothing_is_to_be_handed_over_nothing_is_written(tmp_path: Path, case: str) -> None:
    data_dir = tmp_path / "data"
    queue = Queue(Stage(data_dir)) if case == "no queue" else filled(Stage(data_dir))[0]
    before = journal(queue)
    stage = Stage(data_dir) if case == "no memory" else remembering(data_dir, read_only=case == "read-only")
    async with stage.app() as (app, pilot):
        await until(pilot, lambda: app.desk.queue_read, "the queue is looked at")
        await until(pilot, lambda: bool(deliverers()) == (case == "no queue"), "a thread only where there is a memory")
    assert journal(queue) == before
    assert not (data_dir / "memory").exists()


def journal(queue: Queue) -> Any:
    """The newest event; None where there is no queue."""
    path = Path(queue.agent.queue.path)
    return queue.agent.queue.read(lambda tx: tx.last_seq()) if path.exists() else None


def test_a_demo_reaches_nobodys_memory(tmp_path: Path) -> None:
    stage = remembering(tmp_path / "data")
    with demo_fleet(stage.settings, moves=False) as inside:
        assert inside.memory is None


@contextmanager
def silent_server() -> Generator[tuple[str, Event]]:
    """Something that takes calls and answers none; and whether it was called."""
    called, server = Event(), socket.create_server(("127.0.0.1", 0))
    held: list[socket.socket] = []

    def take() -> None:
        while True:
            try:
                held.append(server.accept()[0])
            except OSError:
                return
            called.set()

    taker = Thread(target=take, daemon=True)
    taker.start()
    try:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1", called
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        taker.join(LONG_S)
        for connection in held:
            connection.close()


def test_a_memory_that_never_answers_holds_up_neither_a_key_nor_the_end(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data")
    filled(stage)
    with silent_server() as (url, called):
        embedder = {"provider": "openai", "config": {"model": "m", "api_key": "none", "openai_base_url": url}}
        (stage.data_dir / "mem0.json").write_text(json.dumps({"embedder": embedder}))
        (stage.data_dir / "config.toml").write_text(
            '[memory]\nprovider = "mem0"\nembedder = "config"\nconfig = "mem0.json"\ndeadline_seconds = 120\n'
        )
        with console(stage.data_dir) as terminal:
            terminal.wait_for("watch ", 20)
            assert called.wait(LONG_S), terminal.text
            terminal.send("3")
            terminal.wait_for("13 issues", 2)
            terminal.send("1")
            terminal.wait_for("7 sessions", 2)
            terminal.send("q")
            assert gone_within(terminal, 2) <= 2
            assert terminal.process.returncode == 0
