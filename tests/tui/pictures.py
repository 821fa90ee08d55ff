"""The README's pictures, and the baselines that tests compare with: one set of files, made by one command.

    python -m tests.tui.pictures          writes screenshots/*.svg
    python -m tests.tui.pictures --check  says which differ

Pinned: size, clock, seed, theme, data directory's name. Each scene is what an operator sees after the keys
that it presses.
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.color import ColorSystem
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Button, Input

from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_tui.app import ConsoleApp
from phelix_tui.form import Entry
from phelix_tui.screens.activity import ActivityRoom
from phelix_tui.screens.bulk import BulkForm
from phelix_tui.screens.confirm import CommandForm, ConfirmScreen
from phelix_tui.screens.conflict import ConflictScreen
from phelix_tui.screens.copying import CopyMenu
from phelix_tui.screens.doctor import DoctorRoom
from phelix_tui.screens.exporting import ExportMenu
from phelix_tui.screens.help import HelpScreen
from phelix_tui.screens.issue import IssueRoom
from phelix_tui.screens.menu import ActionMenu
from phelix_tui.screens.order import OrderMenu
from phelix_tui.screens.palette import Palette
from phelix_tui.screens.plan import PlanRoom
from phelix_tui.screens.references import ReferencesMenu
from phelix_tui.screens.session import SessionRoom
from phelix_tui.screens.views import ViewsMenu
from phelix_tui.starting import as_svg
from phelix_tui.widgets.pages import Bar, TextPage
from phelix_tui.widgets.rowlist import RowList
from tests.tui.plans import Plans, planned, plans_of
from tests.tui.queues import Queue, filled, issues_of
from tests.tui.stage import Stage, at_home, fleet_of, opened, until
from tests.tui.walks import reviewed

FOLDER = Path(__file__).resolve().parents[2] / "screenshots"
Scene = Callable[[Stage, ConsoleApp, Pilot[Any]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture: its size, theme and the keys that lead to it."""

    name: str
    scene: Scene
    width: int = 120
    height: int = 40
    theme: str = "phelix-dark"
    sessions: int = 32
    read_only: bool = False
    queue: bool = False
    plans: bool = False


async def _preview_of(app: ConsoleApp, pilot: Pilot[Any]) -> None:
    page = app.fleet.query_one("#preview", TextPage)
    await until(pilot, lambda: not page.display or (app.fleet.selected_id() or "") in page.text, "the preview")


def _still(screen: Screen[Any]) -> None:
    """No cursor blinks in any field."""
    for entry in screen.query(Input):
        entry.cursor_blink = False


async def fleet(_: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    await pilot.press("j", "j")
    await _preview_of(app, pilot)


async def filtered(_: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    await pilot.press("slash", *"billing")
    await pilot.press("enter")
    await _preview_of(app, pilot)


async def offers(_: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    """A filter that is being typed: what matches so far, and what may come next, with counts."""
    _still(app.screen)
    await pilot.press("slash", *"is:active app~c")
    await until(pilot, lambda: "checkout" in app.screen.query_one("#offers", Bar).text, "the offers")
    await _preview_of(app, pilot)


async def views(stage: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    """The menu of saved views, one of them broken, while a filter is in force."""
    for name, where, title in (
        ("late", "is:stale", "stale, the oldest first to look at"),
        ("billing", "app=billing -is:closed", None),
        ("failed-today", "status=failed updated>24h", "failed within a day"),
    ):
        raw = {"name": name, "where": where, **({"title": title} if title else {})}
        assert run(load_command("view save"), raw, stage.console).error is None
    (stage.data_dir / "views" / "from-a-friend.toml").write_text('where = "mood=fine"\n', encoding="utf-8")
    await filtered(stage, app, pilot)
    await pilot.press("v")
    screen = await opened(pilot, ViewsMenu)
    await until(pilot, lambda: screen.settled, "the counts")


async def save_view(stage: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    await filtered(stage, app, pilot)
    await pilot.press("v")
    menu = await opened(pilot, ViewsMenu)
    await until(pilot, lambda: menu.settled, "the counts")
    await pilot.press("s")
    form = await opened(pilot, CommandForm)
    await pilot.press(*"billing", "enter", *"everything", "space", *"of", "space", *"billing")
    await until(pilot, lambda: "of billing" in form.query_one("#plan", TextPage).text, "the plan")
    await pilot.click("#apply")
    screen = await opened(pilot, ConfirmScreen)
    await until(pilot, lambda: "of billing" in screen.query_one("#plan", TextPage).text, "the plan")


async def marked(_: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    """Three rows are marked, and a filter hides one of them."""
    await pilot.press("j", "space", "j", "space", "G", "space", "slash", *"is:stale", "enter", "g", "j")
    await until(pilot, lambda: fleet_of(app).hidden_mark_count == 1, "one mark is hidden")
    await _preview_of(app, pilot)


async def empty(_: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    page = app.fleet.query_one("#preview", TextPage)
    await until(pilot, lambda: not page.display or "session create" in page.text, "the first steps")


async def broken(stage: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    records = sorted((stage.data_dir / "sessions").glob("*.json"))
    for record in records[3:5]:
        torn = record.with_suffix(".torn")
        torn.write_bytes(record.read_bytes()[:200])
        os.replace(torn, record)
    await until(pilot, lambda: app.desk.arrangement.counts["unreadable"] == 2, "two rows are flagged")
    await pilot.press("g", "R")
    await _preview_of(app, pilot)


async def session(_: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    await pilot.press("enter")
    await opened(pilot, SessionRoom)
    page = app.screen.query_one("#story", TextPage)
    await until(pilot, lambda: "Timeline" in page.text, "the story")


async def record(stage: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    await session(stage, app, pilot)
    await pilot.press("tab")


async def past(stage: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    """A session that was stale goes on, and its operator looks back at the long gap."""
    session_id = app.fleet.selected_id() or ""
    for minutes, step in ((0, "verify"), (4, "swap alias"), (1, "watch")):
        stage.clock.wall_ms += minutes * 60_000
        raw = {"session_id": session_id, "step": step}
        assert run(load_command("session checkpoint"), raw, stage.agent).error is None
    await session(stage, app, pilot)
    page = app.screen.query_one("#story", TextPage)
    await until(pilot, lambda: "step=watch" in page.text, "the newest event")
    await pilot.press("left_square_bracket")


async def past_diff(stage: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    await past(stage, app, pilot)
    await pilot.press("d", "left_square_bracket", "left_square_bracket")


async def _without_toast(app: ConsoleApp, pilot: Pilot[Any], said: str) -> None:
    """Wait until a toast says something, and let the screen be without it."""
    toasts = app._notifications  # pyright: ignore[reportPrivateUsage]
    await until(pilot, lambda: any(said in str(told.message) for told in toasts), f"a toast says {said!r}")
    app.clear_notifications()
    await pilot.pause()


async def activity(stage: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    """One session was completed here, and another one got a checkpoint."""
    await confirm(stage, app, pilot)
    app.screen.query_one("#apply", Button).press()
    await until(pilot, lambda: app.screen is app.fleet, "it is written")
    await _without_toast(app, pilot, "is written")
    await pilot.press("g", "a")
    await opened(pilot, ActionMenu)
    await pilot.press("k")
    screen = await opened(pilot, CommandForm)
    await pilot.press(*"resumed")
    await until(pilot, lambda: "resumed" in screen.query_one("#plan", TextPage).text, "the plan")
    await until(pilot, lambda: not screen.query_one("#apply", Button).disabled, "the button")
    screen.query_one("#apply", Button).press()
    await _without_toast(app, pilot, "is written")
    await pilot.press("6")
    await opened(pilot, ActivityRoom)


async def doctor(stage: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    """Records of which two cannot be read and one is open to others; what is well is below the last line."""
    await broken(stage, app, pilot)
    records = sorted((stage.data_dir / "sessions").glob("ses_*.json"))
    for record in records:
        record.chmod(0o600)
    records[0].chmod(0o644)
    app.console._color_system = ColorSystem.TRUECOLOR  # pyright: ignore[reportPrivateUsage] - else the machine's own
    await _without_toast(app, pilot, "unreadable")
    await pilot.press("7")
    await opened(pilot, DoctorRoom)
    page = app.screen.query_one("#story", TextPage)
    await until(pilot, lambda: "Examination at" in page.text, "the examination")


async def actions(stage: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    await fleet(stage, app, pilot)
    await pilot.press("a")
    await opened(pilot, ActionMenu)


async def actions_disabled(stage: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    await fleet(stage, app, pilot)
    await pilot.press("G")
    await _preview_of(app, pilot)
    await pilot.press("a")
    await opened(pilot, ActionMenu)


async def form(stage: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    await actions(stage, app, pilot)
    await pilot.press("c")
    screen = await opened(pilot, CommandForm)
    for key in "verified by hand":
        await pilot.press("space" if key == " " else key)
    await until(pilot, lambda: "verified by hand" in screen.query_one("#plan", TextPage).text, "the plan")


async def confirm(stage: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    await form(stage, app, pilot)
    await pilot.click("#apply")
    screen = await opened(pilot, ConfirmScreen)
    await until(pilot, lambda: "verified by hand" in screen.query_one("#plan", TextPage).text, "the plan")


async def moved_on(stage: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    """A confirmation whose session another agent has just changed."""
    await confirm(stage, app, pilot)
    screen: Any = app.screen
    raw = {"session_id": screen.target.id, "step": "swap alias", "note": "alias swapped by the agent"}
    assert run(load_command("session checkpoint"), raw, stage.agent).error is None
    await until(pilot, lambda: not screen.fresh(), "the guard sees the new revision")
    await pilot.pause()


async def conflict(stage: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    """The same, when the operator was a moment faster than the watch; the room behind has caught up."""
    await confirm(stage, app, pilot)
    screen: Any = app.screen
    session_id = screen.target.id
    raw = {"session_id": session_id, "step": "swap alias", "note": "alias swapped by the agent"}
    assert run(load_command("session checkpoint"), raw, stage.agent).error is None
    screen.query_one("#apply", Button).press()
    await opened(pilot, ConflictScreen)
    preview = app.fleet.query_one("#preview", TextPage)
    await until(pilot, lambda: not screen.fresh(), "the new revision is known")
    app.fleet.on_screen_resume()
    app.fleet.tell_doctor(app._doctor_cells())  # pyright: ignore[reportPrivateUsage] - told only while it is in front
    await until(pilot, lambda: not preview.display or "swapped" in preview.text, "the preview behind shows it")


async def help_(_: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    await _preview_of(app, pilot)
    await pilot.press("question_mark")
    await opened(pilot, HelpScreen)


async def queue(_: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    await pilot.press("3")
    await until(pilot, lambda: issues_of(app).row_count, "the issues")
    await pilot.press("j")
    page = app.queue.query_one("#preview", TextPage)
    await until(pilot, lambda: not page.display or (app.queue.selected_id() or "") in page.text, "the preview")
    await pilot.press("R")


async def milestones(stage: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    await queue(stage, app, pilot)
    await pilot.press("m", "j")


async def no_queue(_: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    await pilot.press("3")
    page = app.queue.query_one("#preview", TextPage)
    await until(pilot, lambda: not page.display or "queue init" in page.text, "what to run")


async def issue(stage: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    await queue(stage, app, pilot)
    await pilot.press("enter")
    await opened(pilot, IssueRoom)
    page = app.screen.query_one("#story", TextPage)
    await until(pilot, lambda: "Leases" in page.text, "the story")


async def timeline(stage: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    await issue(stage, app, pilot)
    await pilot.press("tab")


async def memory(stage: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    """One checkpoint is remembered, another waits for the memory."""
    await issue(stage, app, pilot)
    await pilot.press("G")


async def attention(_: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    await pilot.press("4")
    causes = app.attention.query_one("#causes", RowList)
    await until(pilot, lambda: causes.row_count > 5, "the causes")


async def issue_actions(stage: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    await queue(stage, app, pilot)
    await pilot.press("a")
    await opened(pilot, ActionMenu)


async def recover_form(stage: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    await issue_actions(stage, app, pilot)
    await pilot.press("r")
    screen = await opened(pilot, CommandForm)
    await pilot.press("enter")
    screen.query_one("#field-reason", Entry).value = "its host went away"
    await until(pilot, lambda: "its host went away" in screen.query_one("#plan", TextPage).text, "the plan")


async def recover(stage: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    await recover_form(stage, app, pilot)
    app.screen.query_one("#apply", Button).press()
    screen = await opened(pilot, ConfirmScreen)
    await until(pilot, lambda: "its host went away" in screen.query_one("#plan", TextPage).text, "the plan")


async def promote(stage: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    """What is promoted is what a rollback had sent back."""
    hand = Queue(stage)
    for one in list(app.desk.backlog.issues.values()):
        if one.status == "ready":
            hand.does("rollback", issue_id=one.id, reason="planned anew")
    await until(pilot, lambda: app.desk.backlog.counts["pending"] == 6, "they are pending")
    await issue_actions(stage, app, pilot)
    await pilot.press("p")
    screen = await opened(pilot, ConfirmScreen)
    await until(pilot, lambda: "Promote now" in screen.query_one("#plan", TextPage).text, "the plan")


async def lease_conflict(stage: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    """Another agent took the issue over while the operator decided; the operator was a moment faster than the feed."""
    await recover(stage, app, pilot)
    screen: Any = app.screen
    screen.query_one("#proof-typed", Entry).value = screen.target.id[-4:]
    await until(pilot, lambda: not screen.query_one("#apply", Button).disabled, "the proof")
    host: dict[str, Any] = {"host": "host-b", "workload_classes": ("code",)}
    Queue(stage).does("recover", issue_id=screen.target.id, resolution="resume", agent="builder-9", **host)
    screen.query_one("#apply", Button).press()
    await opened(pilot, ConflictScreen)
    page = app.queue.query_one("#preview", TextPage)
    app.queue.on_screen_resume()
    app.queue.tell_doctor(app._doctor_cells())  # pyright: ignore[reportPrivateUsage] - told only while it is in front
    await until(pilot, lambda: not page.display or "builder-9" in page.text, "the preview behind shows it")


async def _on_plan(app: ConsoleApp, pilot: Pilot[Any], said: str) -> None:
    """Go to the plan whose preview says something, from above."""
    await pilot.press("5")
    await until(pilot, lambda: app.screen is app.approvals and plans_of(app).row_count, "the plans")
    listed, page = plans_of(app), app.approvals.query_one("#preview", TextPage)
    row_id = next(row.id for row in listed.rows if said in " ".join(part.text for part in row.cells))
    assert listed.move_to(row_id)
    await until(pilot, lambda: not page.display or row_id in page.text, "the preview")


async def approvals(_: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    await _on_plan(app, pilot, "invoices")


async def stale_plan(_: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    await _on_plan(app, pilot, "catalog")


async def running(_: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    await _on_plan(app, pilot, "router")
    page = app.approvals.query_one("#preview", TextPage)
    await until(pilot, lambda: "p95 41 ms" in page.text, "the end of the log")


async def log(stage: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    await running(stage, app, pilot)
    await pilot.press("enter")
    await opened(pilot, PlanRoom)
    page = app.screen.query_one("#story", TextPage)
    await until(pilot, lambda: "p95 41 ms" in page.text, "the log")


async def plan(stage: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    await log(stage, app, pilot)
    await pilot.press("tab")


async def plan_actions(stage: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    await stale_plan(stage, app, pilot)
    await pilot.press("a")
    await opened(pilot, ActionMenu)


async def _confirming(pilot: Pilot[Any], key: str) -> ConfirmScreen:
    await pilot.press("a")
    await opened(pilot, ActionMenu)
    await pilot.press(key)
    screen = await opened(pilot, ConfirmScreen)
    await until(pilot, lambda: "from a shell" in screen.query_one("#plan", TextPage).text, "what it would do")
    return screen


async def approve(stage: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    await approvals(stage, app, pilot)
    await _confirming(pilot, "p")


async def plan_moved_on(stage: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    """An approval of a plan that turned stale under the dialog."""
    await approvals(stage, app, pilot)
    screen = await _confirming(pilot, "p")
    Plans(stage).declare("invoices", "2.0.0")
    await until(pilot, lambda: not screen.fresh(), "the guard sees it")


async def apply(_: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    await _on_plan(app, pilot, "cart")
    screen = await _confirming(pilot, "e")
    entry = screen.query_one("#proof-typed", Entry)
    entry.cursor_blink = False
    entry.value = screen.target.id[-4:]
    await until(pilot, lambda: not screen.query_one("#apply", Button).disabled, "the proof")


async def references(_: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    """What a session refers to: one of each is there, or is not."""
    rows = [(row.id, " ".join(part.text for part in row.cells)) for row in fleet_of(app).rows]
    row_id = next(row_id for row_id, said in rows if "ship billing v3" in said)
    assert fleet_of(app).move_to(row_id)
    await _preview_of(app, pilot)
    await pilot.press("o")
    await opened(pilot, ReferencesMenu)


async def frozen(stage: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    """A list that stands still while three sessions go on, sorted by application."""
    await pilot.press("s")
    await opened(pilot, OrderMenu)
    await pilot.press("j", "j", "j", "enter")
    await until(pilot, lambda: "sorted by APP" in app.screen.query_one("#state", Bar).text, "the order")
    await pilot.press("g", "f")
    rows = fleet_of(app)
    active = [row.id for row in rows.rows if "active" in row.cells[0].text and row.id != rows.cursor_id][:3]
    for session_id in active:
        raw = {"session_id": session_id, "step": "verify", "note": "all hosts answer"}
        assert run(load_command("session checkpoint"), raw, stage.agent).error is None
    await until(pilot, lambda: "3 withheld" in app.screen.query_one("#frozen", Bar).text, "three are withheld")
    await _preview_of(app, pilot)
    app.fleet.tell_doctor(app._doctor_cells())  # pyright: ignore[reportPrivateUsage] - it is told once a second


async def order(_: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    await pilot.press("j", "j")
    await _preview_of(app, pilot)
    await pilot.press("s")
    await opened(pilot, OrderMenu)


async def export(_: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    await filtered(_, app, pilot)
    await pilot.press("E")
    await opened(pilot, ExportMenu)


async def copying(_: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    await filtered(_, app, pilot)
    await pilot.press("y")
    await opened(pilot, CopyMenu)


async def palette(stage: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    """A few letters find records, rooms and what can be done here."""
    await queue(stage, app, pilot)
    await pilot.press("colon")
    screen = await opened(pilot, Palette)
    _still(screen)
    await pilot.press(*"re")
    await until(pilot, lambda: screen.query_one(RowList).row_count > 8, "what is found")


async def bulk(_: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    """Five marked sessions are to be cancelled; a filter hides three of them."""
    await pilot.press("g", "j", "j", "j", "j", "j", "space", "j", "space", "j", "space", "j", "space", "j", "V")
    await pilot.press("slash", *"app=billing", "enter")
    await until(pilot, lambda: fleet_of(app).hidden_mark_count > 0, "some are hidden")
    await _preview_of(app, pilot)
    await pilot.press("a")
    await opened(pilot, ActionMenu)
    await pilot.press("x")
    form = await opened(pilot, BulkForm)
    await pilot.press(*"superseded")
    _still(await reviewed(app, pilot, form))


async def bulk_ends(stage: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    """What came of each: one moved on meanwhile and stays as its agent left it."""
    await bulk(stage, app, pilot)
    screen: Any = app.screen
    moved = screen.target.targets[-1].id
    raw = {"session_id": moved, "step": "verify"}
    assert run(load_command("session checkpoint"), raw, stage.agent).error is None
    screen.query_one(Input).value = str(len(screen.target.targets))
    await until(pilot, lambda: not screen.query_one("#apply", Button).disabled, "the way on is open")
    screen.query_one("#apply", Button).press()
    await until(pilot, lambda: str(screen.query_one("#cancel", Button).label) == "Close", "it has ended")


async def bulk_recover(stage: Stage, app: ConsoleApp, pilot: Pilot[Any]) -> None:
    """What a lost host left is recovered with one confirmation."""
    await queue(stage, app, pilot)
    await pilot.press("g", "space", "j", "j", "V", "a")
    await opened(pilot, ActionMenu)
    await pilot.press("r")
    form = await opened(pilot, BulkForm)
    await pilot.press("enter", *"host-a", "space", *"went", "space", *"away")
    _still(await reviewed(app, pilot, form))


PICTURES = (
    Picture("fleet", fleet),
    Picture("fleet-light", fleet, theme="phelix-light"),
    Picture("fleet-contrast", fleet, theme="phelix-contrast"),
    Picture("fleet-80x24", fleet, 80, 24),
    Picture("fleet-200x60", fleet, 200, 60, sessions=48),
    Picture("fleet-40x10", fleet, 40, 10),
    Picture("filtered-80x24", filtered, 80, 24),
    Picture("filter", offers),
    Picture("views", views),
    Picture("views-80x24", views, 80, 24),
    Picture("save-view-80x24", save_view, 80, 24),
    Picture("marked", marked),
    Picture("marked-80x24", marked, 80, 24),
    Picture("frozen", frozen),
    Picture("frozen-80x24", frozen, 80, 24),
    Picture("order-80x24", order, 80, 24),
    Picture("export-80x24", export, 80, 24),
    Picture("copy-80x24", copying, 80, 24),
    Picture("palette", palette, queue=True),
    Picture("palette-80x24", palette, 80, 24, queue=True),
    Picture("bulk", bulk),
    Picture("bulk-80x24", bulk, 80, 24),
    Picture("bulk-ends-80x24", bulk_ends, 80, 24),
    Picture("bulk-recover", bulk_recover, queue=True),
    Picture("bulk-recover-80x24", bulk_recover, 80, 24, queue=True),
    Picture("empty", empty, sessions=0),
    Picture("empty-80x24", empty, 80, 24, sessions=0),
    Picture("unreadable", broken),
    Picture("read-only-80x24", fleet, 80, 24, read_only=True),
    Picture("session", session),
    Picture("session-80x24-light", session, 80, 24, theme="phelix-light"),
    Picture("record-80x24", record, 80, 24),
    Picture("past", past),
    Picture("past-80x24", past, 80, 24),
    Picture("past-40x10", past, 40, 10),
    Picture("past-diff-80x24", past_diff, 80, 24),
    Picture("activity", activity),
    Picture("activity-80x24", activity, 80, 24),
    Picture("doctor", doctor, 120, 33),
    Picture("actions-80x24", actions, 80, 24),
    Picture("actions-disabled-80x24", actions_disabled, 80, 24),
    Picture("form-80x24", form, 80, 24),
    Picture("confirm", confirm),
    Picture("confirm-80x24", confirm, 80, 24),
    Picture("moved-on-80x24", moved_on, 80, 24),
    Picture("conflict", conflict),
    Picture("conflict-80x24-light", conflict, 80, 24, theme="phelix-light"),
    Picture("help-80x24", help_, 80, 24),
    Picture("queue", queue, queue=True),
    Picture("queue-80x24", queue, 80, 24, queue=True),
    Picture("queue-200x60", queue, 200, 60, queue=True),
    Picture("queue-40x10", queue, 40, 10, queue=True),
    Picture("queue-light", queue, theme="phelix-light", queue=True),
    Picture("milestones", milestones, queue=True),
    Picture("no-queue-80x24", no_queue, 80, 24),
    Picture("issue", issue, queue=True),
    Picture("issue-80x24", issue, 80, 24, queue=True),
    Picture("issue-timeline", timeline, queue=True),
    Picture("issue-memory-80x24", memory, 80, 24, queue=True),
    Picture("attention", attention, queue=True),
    Picture("attention-80x24", attention, 80, 24, queue=True),
    Picture("issue-actions-80x24", issue_actions, 80, 24, queue=True),
    Picture("recover-form-80x24", recover_form, 80, 24, queue=True),
    Picture("recover", recover, queue=True),
    Picture("recover-80x24", recover, 80, 24, queue=True),
    Picture("promote", promote, queue=True),
    Picture("lease-conflict", lease_conflict, queue=True),
    Picture("approvals", approvals, sessions=12, plans=True),
    Picture("approvals-80x24", approvals, 80, 24, sessions=12, plans=True),
    Picture("approvals-40x10", approvals, 40, 10, sessions=12, plans=True),
    Picture("approvals-stale-light", stale_plan, theme="phelix-light", sessions=12, plans=True),
    Picture("approvals-running", running, sessions=12, plans=True),
    Picture("plan", plan, sessions=12, plans=True),
    Picture("plan-log-80x24", log, 80, 24, sessions=12, plans=True),
    Picture("plan-actions-80x24", plan_actions, 80, 24, sessions=12, plans=True),
    Picture("approve", approve, sessions=12, plans=True),
    Picture("approve-80x24", approve, 80, 24, sessions=12, plans=True),
    Picture("plan-moved-on-80x24", plan_moved_on, 80, 24, sessions=12, plans=True),
    Picture("apply-80x24", apply, 80, 24, sessions=12, plans=True),
    Picture("references-80x24", references, 80, 24, sessions=12),
)


async def drawn(picture: Picture, folder: Path) -> str:
    """The picture as SVG, played in a console of its own over `folder`."""
    stage = Stage(at_home(folder), theme=picture.theme, read_only=picture.read_only)
    stage.fill(picture.sessions)
    if picture.queue:
        filled(stage)
    if picture.plans:
        planned(stage)
    async with stage.app(picture.width, picture.height) as (app, pilot):
        await until(pilot, lambda: fleet_of(app).row_count >= picture.sessions, "the rows")
        await picture.scene(stage, app, pilot)
        await pilot.pause()
        await pilot.pause()
        return as_svg(app, "phelix")


def main(argv: list[str]) -> int:
    """Write every picture, or those named; with `--check` only say which differ."""
    wanted = [name for name in argv if not name.startswith("-")]
    differing: list[str] = []
    for picture in PICTURES:
        if wanted and picture.name not in wanted:
            continue
        with tempfile.TemporaryDirectory() as folder:
            svg = asyncio.run(drawn(picture, Path(folder)))
        file = FOLDER / f"{picture.name}.svg"
        if not file.exists() or file.read_text(encoding="utf-8") != svg:
            differing.append(picture.name)
            if "--check" not in argv:
                file.write_text(svg, encoding="utf-8")
    print("\n".join(differing) or "nothing differs")
    return 1 if differing and "--check" in argv else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
