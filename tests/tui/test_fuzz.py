"""Report 1 at large: random text in every field of sessions, issues, plans, views and themes, in every room and dialog.

`PHELIX_FUZZ_STRINGS=10000` makes it the long run. What a screen may hold is checked segment by segment, what a
terminal gets byte by byte.
"""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Final, cast

import pytest
from textual.pilot import Pilot
from textual.widgets import Button

from phelix_core.strictjson import dumps, loads
from phelix_tui.app import ConsoleApp
from phelix_tui.screens.dialog import Dialog
from phelix_tui.screens.issue import IssueRoom
from phelix_tui.screens.plan import PlanRoom
from phelix_tui.screens.session import SessionRoom
from tests.rig import bytes_of
from tests.tui.hostile import hostile_record, strings
from tests.tui.plans import Plans, plans_of
from tests.tui.queues import Queue, issues_of
from tests.tui.stage import Stage, opened, until
from tests.tui.terminals import console, ready, text_of
from tests.tui.test_console_hostile_text import check
from tests.tui.walks import confirm, home, page, select, toasts

STRINGS: Final = int(os.environ.get("PHELIX_FUZZ_STRINGS", "120"))
SIZES: Final = ((100, 30), (80, 24), (43, 12), (160, 40))
SOME_SGR: Final = "66m"
"""How colours end that only these texts ask for."""


class Texts:
    """The texts of a run, each handed out once, and over again when they are used up."""

    def __init__(self, count: int, seed: int) -> None:
        self.all = strings(count, seed)
        self.used = 0

    def __call__(self, cap: int | None = None) -> str:
        self.used += 1
        return self.all[(self.used - 1) % len(self.all)][:cap]

    def some(self, cap: int = 240) -> str:
        """Text for a field of a command: not blank, no more than `cap` characters, no NUL, which the core refuses."""
        text = self(cap).replace("\0", "")
        return text if text.strip() else "x"

    def left(self) -> int:
        return len(self.all) - self.used


def fuzzed(value: Any, texts: Texts, kept: frozenset[str]) -> Any:
    """The record with another text in place of each that is free, at every depth."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {name: one if name in kept else fuzzed(one, texts, kept) for name, one in members.items()}
    if isinstance(value, list):
        entries = cast("list[Any]", value)
        return [fuzzed(one, texts, kept) for one in entries]
    return texts() if isinstance(value, str) else value


SESSION_KEPT: Final = frozenset({"schema_version", "session_id", "status", "plan_ids"})


def sessions(data_dir: Path, texts: Texts) -> list[str]:
    """As many records as there are texts for."""
    folder = data_dir / "sessions"
    folder.mkdir(parents=True)
    ids: list[str] = []
    while texts.left() > 0:
        session_id = f"ses_{len(ids) + 1:016x}"
        status = ("active", "completed", "failed", "cancelled")[len(ids) % 4]
        record = fuzzed(hostile_record(session_id, "x", status), texts, SESSION_KEPT)
        (folder / f"{session_id}.json").write_bytes(dumps({**record, texts() or "more": 1}).encode())
        ids.append(session_id)
    return ids


def told_safely(app: ConsoleApp) -> None:
    """Toasts are text as well."""
    for said in toasts(app):
        assert "\x1b" not in said
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", said), repr(said)


async def rooms(app: ConsoleApp, pilot: Pilot[Any]) -> None:
    """Every room that has a key, from its top to its end."""
    for key in "134567":
        await pilot.press(key)
        await pilot.pause()
        check(app, app.size)
        await pilot.press("G")
        await pilot.pause()
        check(app, app.size)
    told_safely(app)
    app.action_home()
    await home(app, pilot)


async def dialogs(app: ConsoleApp, pilot: Pilot[Any], keys: str) -> None:
    """The menu of actions, and what is behind each of its keys; nothing of it is carried out."""
    room = app.screen
    for key in ("", *keys):
        await pilot.press("a")
        await opened(pilot, Dialog)
        check(app, app.size)
        if key:
            await pilot.press(key)
            await pilot.pause(0.03)
            check(app, app.size)
        for _ in range(4):
            if app.screen is room:
                break
            await pilot.press("escape")
            await pilot.pause(0.03)
        assert app.screen is room


@pytest.mark.parametrize("part", range(2))
async def test_no_text_of_a_session_breaks_a_room_a_dialog_or_a_toast_or_is_obeyed(tmp_path: Path, part: int) -> None:
    stage = Stage(tmp_path / "data")
    ids = sessions(stage.data_dir, Texts(STRINGS // 4, 100 + part))
    before = bytes_of(stage.data_dir)
    async with stage.app(*SIZES[part]) as (app, pilot):
        if part == 0:
            await rooms(app, pilot)
        for number, session_id in enumerate(ids):
            await select(app, pilot, session_id)
            check(app, app.size)
            await pilot.press("enter")
            await opened(pilot, SessionRoom)
            await until(pilot, lambda: "Timeline" in page(app, "story"), "the story")
            check(app, app.size)
            for key in ("tab", "G"):
                await pilot.press(key)
                check(app, app.size)
            if number % 8 == 0:
                await dialogs(app, pilot, "kcfx" if number == 0 else "k")
            await pilot.press("escape")
            await home(app, pilot)
        assert {name: data for name, data in bytes_of(stage.data_dir).items() if not name.startswith("cache")} == before
        told_safely(app)
        assert app.is_running


async def test_a_write_to_such_a_session_is_told_safely(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data")
    ids = sessions(stage.data_dir, Texts(12, 300))
    async with stage.app(80, 24) as (app, pilot):
        await select(app, pilot, ids[0])
        screen = await confirm(app, pilot, "c", "it is done")
        check(app, app.size)
        screen.query_one("#apply", Button).press()
        await home(app, pilot)
        await until(pilot, lambda: toasts(app), "what came of it")
        told_safely(app)
        check(app, app.size)


def queue_of(stage: Stage, texts: Texts, issues: int) -> None:
    """A queue with another text in each of its fields."""
    queue, word = Queue(stage), lambda: texts.some(30).strip() or "w"
    queue.does("init", name=word())
    queue.does("campaign", project_name=word(), campaign_name=word(), objective=texts.some())
    milestones = [
        {
            "milestone_key": f"{word()[:30]}{number}",
            "description": texts.some(),
            "issues": [{"task": texts.some(), "priority": "low", "size": "S"} for _ in range(4)],
        }
        for number in range(max(1, issues // 4))
    ]
    planned = queue.does("plan", batch=json.dumps({"milestones": milestones}))
    for milestone in planned["generatedMilestones"]:
        host: dict[str, Any] = {"host": word(), "workload_classes": (word(),)}
        issue_id = milestone["generatedIssues"][0]["id"]
        lease = queue.does("claim", issue_id=issue_id, agent=word(), **host)["leaseId"]
        told: dict[str, Any] = {"summary": texts.some(), "next_step": texts.some(), "evidence": (texts.some(),)}
        queue.does("checkpoint", lease=lease, status="in_progress", title=word(), **told)


async def test_no_text_of_an_issue_breaks_a_room_or_a_dialog_or_is_obeyed(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data")
    queue_of(stage, Texts(STRINGS, 200), max(4, STRINGS // 60))
    async with stage.app(*SIZES[2]) as (app, pilot):
        await pilot.press("3")
        await until(pilot, lambda: app.screen is app.queue and issues_of(app).row_count, "the queue is listed")
        for number, row in enumerate(list(issues_of(app).rows)):
            issues_of(app).move_to(row.id)
            await pilot.pause()
            check(app, app.size)
            await pilot.press("enter")
            await opened(pilot, IssueRoom)
            await until(pilot, lambda: page(app, "story").strip(), "the story")
            for key in ("G", "tab"):
                await pilot.press(key)
                check(app, app.size)
            if number == 0:
                await dialogs(app, pilot, "rlp")
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.queue, "back")
        await pilot.press("m")
        await pilot.pause()
        check(app, app.size)
        app.action_home()
        await home(app, pilot)
        await rooms(app, pilot)


async def test_no_text_of_a_plan_breaks_a_room_or_a_dialog_or_is_obeyed(tmp_path: Path) -> None:
    """Also in plans that were not made here: every text of the record is another, which its hash then tells."""
    stage = Stage(tmp_path / "data")
    plans, texts = Plans(stage), Texts(STRINGS, 400)
    plans.policy()
    kept = frozenset({"schema_version", "plan_id", "plan_hash", "status", "action"})
    for number in range(max(4, STRINGS // 80)):
        reason = texts.some(150)
        plans.declare(f"app{number}", "2.1.0", ("./deploy", re.sub("[\0\x7f-\x9f]", "", texts.some())))
        plan_id = plans.create(f"app{number}", "2.2.0", reason=reason)
        if number % 2:
            plans.appends(plans.begins(plan_id), texts().encode("utf-8", "replace"))
        else:
            file = stage.data_dir / "plans" / f"{plan_id}.json"
            file.chmod(0o600)
            file.write_bytes(dumps(fuzzed(loads(file.read_bytes()), texts, kept)).encode())
    async with stage.app(*SIZES[3]) as (app, pilot):
        await pilot.press("5")
        await until(pilot, lambda: app.screen is app.approvals and plans_of(app).row_count, "plans are listed")
        for number, row in enumerate(list(plans_of(app).rows)):
            plans_of(app).move_to(row.id)
            await pilot.pause()
            check(app, app.size)
            await pilot.press("enter")
            await pilot.pause(0.05)
            check(app, app.size)
            if isinstance(app.screen, PlanRoom):
                await pilot.press("tab", "G")
                check(app, app.size)
                if number < 2:
                    await dialogs(app, pilot, "ae")
            app.action_home()
            await pilot.press("5")
        app.action_home()
        await rooms(app, pilot)


def file_names(texts: Texts, count: int) -> Iterator[str]:
    """What a file may be called."""
    for _ in range(count):
        name = texts().replace("/", "_").replace("\0", "0") or "x"
        yield name.encode("utf-8", "replace")[:60].decode("utf-8", "ignore") or "y"


async def test_no_text_of_a_view_or_a_theme_breaks_the_menu_or_a_toast_or_is_obeyed(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data")
    stage.fill(3)
    texts, random = Texts(STRINGS, 500), Random(5)
    count = max(6, STRINGS // 40)
    for folder in ("views", "themes"):
        (stage.data_dir / folder).mkdir()
        for number, name in enumerate(file_names(texts, count)):
            text = json.dumps(texts(), ensure_ascii=False)  # TOML's strings in quotes are written like JSON's
            body = {"views": f"where = {text}\nabout = {text}", "themes": f"name = {text}\n[base]\nbackground = {text}"}
            whole = body[folder] if random.random() < 0.7 else texts()
            safe = name if number % 2 else f"v{number}"
            (stage.data_dir / folder / f"{safe}.toml").write_bytes(whole.encode("utf-8", "replace"))
    async with stage.app(80, 24) as (app, pilot):
        await pilot.pause(0.1)
        check(app, app.size)
        told_safely(app)
        await pilot.press("v")
        await opened(pilot, Dialog)
        for _ in range(count):
            await pilot.press("j")
            check(app, app.size)
        await pilot.press("escape")
        await home(app, pilot)
        for name in list(app.available_themes):
            app.theme = name
        await pilot.pause()
        check(app, app.size)


SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_].*?(?:\x07|\x1b\\)|[^\[\]PX^_])", re.DOTALL)


def kinds(raw: bytes) -> set[str]:
    """The sequences in it, places and colours aside."""
    found = set(SEQUENCE.findall(text_of(raw)))
    return {re.sub(r"\[[0-9;:]*([mHG])", r"[\1", one) for one in found if SOME_SGR not in one} | {
        one for one in found if SOME_SGR in one
    }


def walked(data_dir: Path, ids: list[str]) -> bytes:
    """What a terminal gets while a person looks at some sessions."""
    with console(data_dir, cols=100, rows=30) as terminal:
        ready(terminal)
        for _ in ids:
            terminal.send("enter")
            terminal.wait_for("Story │ Record")
            terminal.send("tab")
            terminal.wait_for('"schema_version"')
            terminal.send("G")
            terminal.wait_quiet(0.05)
            terminal.send("q")
            terminal.wait_for("sessions")
            terminal.send("j")
        return terminal.raw


def test_a_terminal_gets_no_kind_of_sequence_from_such_records_that_it_does_not_get_from_plain_ones(
    tmp_path: Path,
) -> None:
    plain_dir, fuzz_dir = tmp_path / "plain" / "data", tmp_path / "fuzz" / "data"
    ids = sessions(fuzz_dir, Texts(60, 600))
    plain = plain_dir / "sessions"
    plain.mkdir(parents=True)
    for number, session_id in enumerate(ids):
        status = ("active", "completed", "failed", "cancelled")[number % 4]
        (plain / f"{session_id}.json").write_bytes(dumps(hostile_record(session_id, "plain", status)).encode())
    ours, theirs = kinds(walked(plain_dir, ids[:3])), kinds(walked(fuzz_dir, ids[:3]))
    assert theirs <= ours, theirs - ours
    naive = "".join(strings(60, 600)).encode()
    assert not kinds(naive) <= ours, "the control: the texts themselves hold others"
