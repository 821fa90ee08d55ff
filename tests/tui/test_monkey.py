"""A monkey at the keyboard: random keys, bursts, pastes, clicks and sizes, while sessions, issues and plans change.

By seed; `PHELIX_MONKEY_SECONDS=600` makes it the long run. It watches, from outside, that nothing fails, that no byte
changes but by the writes that somebody confirmed, that no input reaches a dialog before it could be read, and that
cursor and dialogs stay with their ids.
"""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final, cast

import pytest
from textual import events
from textual._context import active_message_pump  # pyright: ignore[reportPrivateUsage] - who gets a message
from textual.message import Message
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import Button
from textual.worker import Worker, WorkerState

from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.sqlite import Database
from phelix_core.strictjson import loads
from phelix_tui.app import ConsoleApp
from phelix_tui.bulk_actions import BulkTarget
from phelix_tui.guard import InputGuard
from phelix_tui.screens.bulk import BulkConfirm
from phelix_tui.screens.confirm import ProposalDialog
from phelix_tui.screens.dialog import Dialog
from phelix_tui.screens.palette import Palette
from phelix_tui.widgets.rowlist import RowList
from tests.rig import bytes_of
from tests.tui.plans import Plans, planned
from tests.tui.queues import Queue, filled
from tests.tui.small_app import NoGuard
from tests.tui.stage import Stage
from tests.tui.terminals import console, fill, ready
from tests.tui.walks import toasts

SECONDS: Final = float(os.environ.get("PHELIX_MONKEY_SECONDS", "20"))
GUARD_S: Final = 0.025
"""How long the guard drops input on this stage, from a dialog's first paint."""
READABLE_S: Final = 2 * GUARD_S
"""How long the monkey looks at a dialog before it presses a key on purpose."""
KEYS: Final = (
    *("j", "k", "g", "G", "enter", "escape", "tab", "shift+tab", "space", "up", "down", "pagedown", "ctrl+d", "ctrl+u"),
    *("a", "c", "f", "x", "r", "l", "p", "o", "e", "s", "S", "d", "t", "left_square_bracket", "right_square_bracket"),
    *("v", "V", "U", "m", "n", "N", "R", "h", "slash", "question_mark", "colon", "1", "2", "3", "4", "5", "6", "7"),
    *("0", "b", "w", "y", "z", "E", "backspace", "home", "end", "T", "B"),
)
SIZES: Final = ((120, 40), (80, 24), (40, 10), (200, 60), (20, 5), (1, 1), (100, 30))
WAYS: Final = (
    ("a", "c", "z", "tab", "tab", "enter"),
    ("a", "k", "z", "enter"),
    ("a", "x", "b", "enter", "tab", "enter"),
)


class Watcher:
    """Sees every message that is handed out, and writes down what must not be."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.confirmed: list[ProposalDialog | BulkConfirm] = []
        self.opened: dict[int, float] = {}

    def __call__(self, message: Message) -> None:
        receiver: Any = active_message_pump.get()
        if isinstance(message, events.Mount) and isinstance(receiver, Dialog):
            self.opened[id(cast("object", receiver))] = time.monotonic()
        if isinstance(message, events.Key) and isinstance(receiver, Widget) and receiver.is_attached:
            self._key(message, receiver.screen if not isinstance(receiver, Dialog) else receiver)
        if isinstance(message, Button.Pressed) and message.button.id == "apply":
            dialog = message.button.screen
            asks = isinstance(dialog, (ProposalDialog, BulkConfirm))
            if asks and dialog.may_go_on() and dialog not in self.confirmed:
                self.confirmed.append(dialog)
        if isinstance(message, Worker.StateChanged) and message.state is WorkerState.ERROR:
            error: object = message.worker.error  # pyright: ignore[reportUnknownMemberType] - Worker[Unknown]
            self.faults.append(f"a worker failed: {error!r}")

    def _key(self, key: events.Key, screen: Any) -> None:
        since = self.opened.get(id(screen))
        if isinstance(screen, Palette):
            return  # it takes what is typed ahead: a search, from which nothing is written
        if isinstance(screen, Dialog) and (since is None or key.time < since + GUARD_S):
            self.faults.append(f"{key.key} reached {screen} before it could be read")


class Monkey:
    """One run over one console."""

    def __init__(
        self, stage: Stage, app: ConsoleApp, pilot: Pilot[Any], seed: int, *, others: "Others", habits: Sequence[int]
    ) -> None:
        self.random = Random(seed)
        self.stage, self.app, self.pilot, self.others = stage, app, pilot, others
        self.watcher = Watcher()
        self.habits = habits
        self.steps = 0
        self.settled = kept(stage)

    async def run(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not self.watcher.faults:
            await self.step()
            self.steps += 1
        await self.pilot.pause(0.3)
        self.look()

    async def step(self) -> None:
        match self.random.choice(self.habits):
            case 0:
                await self.pilot.resize_terminal(*self.random.choice(SIZES))
            case 1:
                await self.burst(self.random.choices(KEYS, k=6))
            case 2:
                await self.burst(self.random.choice(WAYS))
            case 3:
                self.app.post_message(events.Paste("axc\n"))
            case 4:
                await self.click()
            case 5 | 6 | 7:
                await self.somebody_else_acts()
            case 8:
                self.stage.clock.wall_ms += self.random.choice((1_000, 60_000, 600_000))
            case 9:
                for key in self.random.choice(WAYS):
                    await self.press(key)
            case _:
                await self.press(self.random.choice(KEYS))
        await self.pilot.pause(0.005)
        self.look()

    async def click(self) -> None:
        size = self.app.size
        spot = (self.random.randrange(max(1, size.width)), self.random.randrange(max(1, size.height)))
        await self.pilot.click(offset=spot)

    async def press(self, key: str) -> None:
        """One key, after a dialog could be read."""
        await self.pilot.pause(READABLE_S if isinstance(self.app.screen, Dialog) else 0)
        await self.pilot.press(key)

    async def burst(self, keys: Sequence[str]) -> None:
        """Faster than anybody reads: the rest comes as soon as the first has opened something, or has not."""
        self.app.post_message(events.Key(keys[0], keys[0] if len(keys[0]) == 1 else None))
        for _ in range(20):
            if isinstance(self.app.screen, Dialog):
                break
            await asyncio.sleep(0.002)
        for key in keys[1:]:
            self.app.post_message(events.Key(key, key if len(key) == 1 else None))

    async def somebody_else_acts(self) -> None:
        """Records change; the cursor stays on its id, and the dialog on its target."""
        await self.pilot.pause()
        self.look()
        screen, cursors = self.app.screen, self.cursors()
        target = screen.target.id if isinstance(screen, ProposalDialog) else None
        self.random.choice(self.others.acts)(self.random)
        self.settled = kept(self.stage)
        await self.pilot.pause(0.05)
        if self.app.screen is not screen:
            return
        if isinstance(screen, ProposalDialog) and screen.target.id != target:
            self.watcher.faults.append("the dialog is about another record now")
        for rows, cursor in cursors.items():
            if rows.is_attached and cursor in {row.id for row in rows.rows} and rows.cursor_id != cursor:
                self.watcher.faults.append(f"the cursor went from {cursor} to {rows.cursor_id} by itself")

    def cursors(self) -> dict[RowList, str | None]:
        return {rows: rows.cursor_id for rows in self.app.screen.query(RowList)}

    def look(self) -> None:
        """What must hold at every moment."""
        now = kept(self.stage)
        changed = {name for name in {*now, *self.settled} if now.get(name) != self.settled.get(name)}
        announced = {one.target.kind for one in self.watcher.confirmed}
        for name in changed:
            if not any(name.startswith(PLACES[kind]) for kind in announced):
                self.watcher.faults.append(f"{name} changed, and nobody confirmed it")
        self.settled = now
        for said in toasts(self.app):
            if "INTERNAL" in said:
                self.watcher.faults.append(f"told: {said}")


PLACES: Final[dict[str, tuple[str, ...]]] = {
    "session": ("sessions/",),
    "issue": ("queue",),
    "plan": ("plans/", "authz/", "ops/", "apps/", "operations/", "deployments/", "sessions/"),
    "view": ("views/",),
    "doctor": ("",),
}
"""Where a confirmed write may change bytes, by what it is about."""


def kept(stage: Stage) -> dict[str, object]:
    """What is on record: files byte by byte, and the queue row by row."""
    found: dict[str, object] = {
        name: data
        for name, data in bytes_of(stage.data_dir).items()
        if not name.startswith(("cache", "queue.db")) and ".lock" not in name and "/." not in name
    }
    db = Database(f"{stage.data_dir}/queue.db", stage.clock, read_only=True)
    try:
        for table in ("issues", "leases", "checkpoints", "events"):
            found[f"queue/{table}"] = list(db.ask(f"SELECT * FROM {table} ORDER BY 1, 2"))
    finally:
        db.close()
    return found


class Others:
    """What agents and people at other desks do meanwhile; a refusal is as good as anything."""

    def __init__(self, stage: Stage, queue: Queue, ids: dict[str, str], plans: Plans) -> None:
        self.stage, self.queue, self.ids, self.plans = stage, queue, ids, plans
        self.made = 0
        self.acts: list[Callable[[Random], object]] = [
            self.checkpoint, self.checkpoint, self.create, self.close, self.remove, self.tear,
            self.claim, self.recover, self.plan, self.approve,
        ]  # fmt: skip

    def _session(self, random: Random) -> Path | None:
        files = sorted((self.stage.data_dir / "sessions").glob("*.json"))
        return random.choice(files) if files else None

    def _does(self, name: str, raw: dict[str, object]) -> None:
        run(load_command(name), raw, self.stage.agent)

    def checkpoint(self, random: Random) -> None:
        if (file := self._session(random)) is not None:
            self._does("session checkpoint", {"session_id": file.stem, "step": f"step {random.randrange(9)}"})

    def create(self, random: Random) -> None:
        self.made += 1
        if self.made < 40:
            self._does("session create", {"title": f"newcomer {random.randrange(99)} [/x]", "app": "billing"})

    def close(self, random: Random) -> None:
        if (file := self._session(random)) is not None:
            self._does("session fail", {"session_id": file.stem, "reason": "gave up"})

    def remove(self, random: Random) -> None:
        if (file := self._session(random)) is not None and random.random() < 0.3:
            file.unlink()

    def tear(self, random: Random) -> None:
        if (file := self._session(random)) is not None:
            file.write_bytes(file.read_bytes()[: random.choice((0, 90))])

    def claim(self, random: Random) -> None:
        raw = {"issue_id": random.choice(sorted(self.ids.values())), "agent": "a", "host": "h"}
        run(load_command("queue claim"), {**raw, "workload_classes": ("code",)}, self.queue.agent)

    def recover(self, random: Random) -> None:
        raw = {"issue_id": random.choice(sorted(self.ids.values())), "resolution": "requeue", "reason": "gone"}
        run(load_command("queue recover"), raw, self.queue.agent)

    def plan(self, random: Random) -> None:
        raw = {"action": "deploy", "app": random.choice(("cart", "invoices")), "to": "2.2.0"}
        run(load_command("plan create"), raw, self.plans.agent)

    def approve(self, random: Random) -> None:
        files = sorted((self.stage.data_dir / "plans").glob("pln_*.json"))
        run(load_command("authz approve"), {"plan_id": random.choice(files).stem}, self.plans.person)


async def let_loose(
    tmp_path: Path, seed: int, seconds: float, guard: InputGuard, habits: Sequence[int] = range(20)
) -> Monkey:
    """A monkey on a full fleet."""
    stage = Stage(tmp_path / "data")
    stage.fill(14)
    queue, ids = filled(stage)
    plans, _ = planned(stage)
    app = ConsoleApp(stage.console)
    app.guard = guard
    watcher: list[Watcher] = []

    def hook(message: Message) -> None:
        for one in watcher:
            one(message)

    async with app.run_test(size=(120, 40), notifications=True, tooltips=True, message_hook=hook) as pilot:
        await app.settled()
        monkey = Monkey(stage, app, pilot, seed, others=Others(stage, queue, ids, plans), habits=habits)
        watcher.append(monkey.watcher)
        await monkey.run(seconds)
        assert app.is_running
    return monkey


@pytest.mark.parametrize("seed", [1, 2])
async def test_whatever_is_pressed_while_everything_changes_nothing_fails_and_nothing_unconfirmed_is_written(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkey = await let_loose(tmp_path, seed, SECONDS / 3, InputGuard(dialog_s=GUARD_S))
    assert monkey.watcher.faults == []
    assert monkey.steps > 10 * SECONDS / 3 / 3
    # What is on record under our surface is what was confirmed, and no more.
    written = [
        event
        for file in (monkey.stage.data_dir / "sessions").glob("*.json")
        for event in _events(file)
        if event.get("via") == "tui"
    ]
    confirmed = [one.target for one in monkey.watcher.confirmed if one.target.kind in ("session", "plan")]
    assert len(written) <= sum(len(one.targets) if isinstance(one, BulkTarget) else 1 for one in confirmed)


def _events(file: Path) -> list[Any]:
    try:
        record: Any = loads(file.read_bytes())
    except ValueError:
        return []
    return record["events"]


async def test_a_console_whose_guard_is_off_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: the same monkey, and a guard that lets everything through."""
    monkeypatch.chdir(tmp_path)
    monkey = await let_loose(tmp_path, 1, 20, NoGuard(), (2, 2, 10))
    assert any("before it could be read" in fault for fault in monkey.watcher.faults)


SIGNALS: Final = (signal.SIGWINCH, signal.SIGCONT, signal.SIGURG, signal.SIGCHLD)
"""Those that a console gets in its life and must outlive."""
TYPED: Final = "jkgGq\tasxfcdtvVUmR[]/?:1234567\r\x1b \x04\x15"


@pytest.mark.parametrize("seed", [3])
def test_keys_sizes_and_signals_on_a_real_terminal_end_as_one_wants(tmp_path: Path, seed: int) -> None:
    data_dir, random = tmp_path / "data", Random(seed)
    fill(data_dir, 12)
    before = bytes_of(data_dir)
    with console(data_dir, "--read-only", cols=100, rows=30) as terminal:
        ready(terminal)
        deadline = time.monotonic() + SECONDS / 3
        while time.monotonic() < deadline:
            match random.randrange(8):
                case 0:
                    terminal.resize(*random.choice(SIZES))
                case 1:
                    terminal.signal(random.choice(SIGNALS))
                case _:
                    key = random.choice(TYPED)
                    terminal.send(key if key != "q" else "j")
            terminal.wait_quiet(0.02, 10)
            assert terminal.process.poll() is None
        terminal.signal(signal.SIGTERM)
        assert terminal.wait_end() == 128 + signal.SIGTERM
        assert terminal.modes() == {7, 25}
        assert b"Traceback" not in terminal.raw
    after = {name: data for name, data in bytes_of(data_dir).items() if not name.startswith("cache")}
    assert after == {name: data for name, data in before.items() if not name.startswith("cache")}
