"""Operators' stories about the queue: what is stale and why, what it blocks, and what they do about it."""

import json
import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Button

from phelix_core.sqlite import Database
from phelix_tui.app import ConsoleApp
from phelix_tui.form import Choice, Entry
from phelix_tui.screens.confirm import CommandForm, ConfirmScreen
from phelix_tui.screens.conflict import ConflictScreen
from phelix_tui.screens.issue import IssueRoom
from phelix_tui.screens.menu import ActionMenu
from phelix_tui.screens.session import SessionRoom
from phelix_tui.widgets.rowlist import RowList
from tests.rig import bytes_of
from tests.tui.hostile import ESCAPES, MARKUP
from tests.tui.queues import BATCH, MINUTE, Queue, filled, issues_of, states_in
from tests.tui.stage import Stage, fleet_of, opened, until
from tests.tui.test_console_hostile_text import check
from tests.tui.walks import bar, page, planned, press_apply, toasts, told, type_in

TABLES = ("issues", "leases", "runs", "checkpoints", "artifacts", "events")
LEASE = "id, issue_id, run_id, agent_id, host, status, epoch, renewed_at, expires_at, released_at, end_reason"
ASIDE = re.compile(r'[0-9a-f]{16}|^(cli|tui)$|(?<="via":")(cli|tui)|(?<=_mono":)[0-9]+')


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path / "data")


def rows(stage: Stage) -> list[tuple[object, ...]]:
    """Every row of the queue; fresh ids, the surface and the machine's monotonic clock aside."""
    db = Database(f"{stage.data_dir}/queue.db", stage.clock, read_only=True)
    try:
        found = [
            (table, *row)
            for table in TABLES
            for row in db.ask(f"SELECT {LEASE if table == 'leases' else '*'} FROM {table} ORDER BY 1, 2")
        ]
    finally:
        db.close()
    aside = [tuple(ASIDE.sub("…", str(value)) for value in row) for row in found]
    return sorted(aside)


async def queue_room(app: ConsoleApp, pilot: Pilot[Any]) -> RowList:
    await pilot.press("3")
    await until(pilot, lambda: app.screen is app.queue and issues_of(app).row_count, "the queue is listed")
    await pilot.pause()
    return issues_of(app)


async def on_issue(app: ConsoleApp, pilot: Pilot[Any], issue_id: str) -> None:
    """Put the cursor on an issue, and wait until the preview is about it."""
    assert issues_of(app).move_to(issue_id)
    await until(pilot, lambda: app.queue.selected_id() == issue_id and issue_id in page(app, "preview"), "the preview")


async def action(pilot: Pilot[Any], key: str) -> CommandForm:
    await pilot.press("a")
    await opened(pilot, ActionMenu)
    await pilot.press(key)
    return await opened(pilot, CommandForm)


async def proven(app: ConsoleApp, pilot: Pilot[Any], proof: str) -> None:
    """Type what a wide action asks for, and press its button by the keyboard."""
    app.screen.query_one("#proof-typed", Entry).focus()
    await type_in(pilot, proof)
    await until(pilot, lambda: not app.screen.query_one("#apply", Button).disabled, "the proof opens the button")
    await press_apply(app, pilot)


async def recovering(app: ConsoleApp, pilot: Pilot[Any], issue_id: str, *, word: str = "requeue") -> ConfirmScreen:
    """From the list to the confirmation of a recovery."""
    await on_issue(app, pilot, issue_id)
    screen = await action(pilot, "r")
    screen.query_one(Choice).value = word
    await pilot.press("enter")
    await type_in(pilot, "its host went away")
    await planned(app, pilot, "its host went away")
    screen.query_one("#apply", Button).press()
    confirm = await opened(pilot, ConfirmScreen)
    await until(pilot, lambda: "its host went away" in page(app, "plan"), "the plan")
    return confirm


# What is seen


async def test_issues_stand_in_the_order_of_attention_with_leases_and_gates(stage: Stage) -> None:
    filled(stage)
    async with stage.app() as (app, pilot):
        await queue_room(app, pilot)
        states = states_in(app)
        assert states == [
            *("needs_recovery", "stale", "stale", "failed", "in_progress", "ready", "ready"),
            *("blocked", "pending", "pending", "pending", "pending", "done"),
        ]
        said = {row.id: " ".join(part.text for part in row.cells) for row in issues_of(app).rows}
        stale = next(text for text in said.values() if "Port" in text)
        assert "▲ stale" in stale
        assert "14m ago" in stale
        assert "builder-2" in stale
        assert "10m 00s" in next(text for text in said.values() if "Draft" in text), "a live lease counts down"
        assert "behind foundations" in next(text for text in said.values() if "Canary at 1%" in text)
        assert "claims BLOCKED 3" in bar(app, "banner")
        assert "rollout 0/3 behind foundations" in bar(app, "milestones")
        assert "13 issues" in bar(app, "title")


async def test_why_it_is_stale_is_told_with_rule_inputs_clock_holder_and_what_recovery_does(stage: Stage) -> None:
    _, ids = filled(stage)
    async with stage.app() as (app, pilot):
        await queue_room(app, pilot)
        await on_issue(app, pilot, ids["Port the ledger schema to STRICT tables"])
        said = page(app, "preview")
        for fact in (
            "STALE since 11:46:00Z",
            "lease_expired",
            "expires_at 11:46:00Z",
            "now 12:00:00Z",
            "last checkpoint 44m 00s ago (limit 1h 00m)",
            "wall clock",
            "builder-2 on host-a",
            "Eleven of fourteen tables",
            "every new claim in billing: 2 ready issues wait",
            "taken over under epoch 2",
            "stop any process",
        ):
            assert fact in said, fact
        await on_issue(app, pilot, ids["Load test the write path at 5,000 a second"])
        assert "checkpoint_stale" in page(app, "preview")
        assert "limit 1h 00m" in page(app, "preview")


async def test_a_lease_that_runs_out_with_nothing_written_shows_within_a_second_and_nothing_is_read(
    stage: Stage,
) -> None:
    _, ids = filled(stage)
    issue_id = ids["Draft the runbook"]
    async with stage.app() as (app, pilot):
        await queue_room(app, pilot)
        await pilot.pause(0.3)
        before, looks = bytes_of(stage.data_dir), app.queue_feed.looks
        assert app.desk.backlog.state(issue_id) == "in_progress"
        stage.clock.wall_ms += 10 * MINUTE
        await until(pilot, lambda: app.desk.backlog.state(issue_id) == "stale", "it turns stale", 1.5)
        row = next(row for row in issues_of(app).rows if row.id == issue_id)
        assert row.cells[0].text == "▲ stale"
        assert "claims BLOCKED 4" in bar(app, "banner")
        assert app.queue_feed.looks == looks
        assert bytes_of(stage.data_dir) == before


async def test_a_quiet_queue_is_never_read_again(stage: Stage) -> None:
    filled(stage)
    async with stage.app() as (app, pilot):
        await queue_room(app, pilot)
        await pilot.pause(0.4)
        looks = app.queue_feed.looks
        await pilot.pause(1.5)
        assert app.queue_feed.looks == looks, "our own reading woke us"


async def test_what_an_agent_does_is_seen_and_only_that_is_read(stage: Stage) -> None:
    queue, ids = filled(stage)
    async with stage.app() as (app, pilot):
        await queue_room(app, pilot)
        seq = app.desk.backlog.seq
        issue_id = ids["Decide who signs the migration off"]
        queue.does("unblock", issue_id=issue_id, reason="finance answered")
        await until(pilot, lambda: app.desk.backlog.state(issue_id) == "ready", "the row follows", 2)
        assert app.desk.backlog.seq == seq + 1
        await until(pilot, lambda: states_in(app).count("ready") == 3, "it is listed there")


async def test_attention_has_one_row_a_cause_and_opens_what_it_is_about(stage: Stage) -> None:
    stage.fill(6)
    _, ids = filled(stage)
    async with stage.app() as (app, pilot):
        await pilot.press("4")
        await until(pilot, lambda: app.screen is app.attention, "the room opens")
        causes = app.attention.query_one("#causes", RowList)
        await until(pilot, lambda: causes.row_count > 5, "the causes")
        said = [row.cells[0].text for row in causes.rows]
        assert said[:2] == ["■ claims BLOCKED", "⚠ needs_recovery"]
        assert said[2:6] == ["? indeterminate", "◆ plan waits", "▲ stale lease", "▲ stale lease"]
        assert "✗ milestone failed" in said
        assert "▲ stale session" in said
        assert len({row.id for row in causes.rows}) == causes.row_count
        assert causes.move_to(f"lease:{ids['Port the ledger schema to STRICT tables']}")
        await pilot.press("enter")
        room = await opened(pilot, IssueRoom)
        await until(pilot, lambda: "lease_expired" in page(app, "story"), "why")
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.attention, "back where it was opened")
        assert room not in app.screen_stack


async def test_issue_and_session_open_each_other_and_a_session_goes_by_its_lease(stage: Stage) -> None:
    _, ids = filled(stage)
    issue_id = ids["Port the ledger schema to STRICT tables"]
    async with stage.app() as (app, pilot):
        session_id = app.desk.backlog.leases[issue_id].session_id or ""
        await until(
            pilot, lambda: (row := app.desk.arrangement.row(session_id)) and row.state == "stale", "its lease is stale"
        )
        live = app.desk.backlog.leases[ids["Draft the runbook"]].session_id or ""
        stage.clock.wall_ms += 5 * MINUTE
        row = app.desk.arrangement.row(live)
        assert row is not None
        assert row.state == "active"
        assert fleet_of(app).move_to(session_id)
        await until(pilot, lambda: "lease_expired" in page(app, "preview"), "Fleet tells the lease's reason")
        await pilot.press("enter")
        await opened(pilot, SessionRoom)
        await pilot.press("i")
        await opened(pilot, IssueRoom)
        await until(pilot, lambda: issue_id in page(app, "story"), "the issue")
        await pilot.press("s")
        room = await opened(pilot, SessionRoom)
        assert room.session_id == session_id
        assert len(app.screen_stack) == 2, "there and back makes no tower"


async def test_a_session_whose_lease_has_ended_still_opens_its_issue(stage: Stage) -> None:
    queue, ids = filled(stage)
    issue_id = ids["Pin the toolchain and the base image"]
    session_id = queue.does("show", issue_id=issue_id)["leases"][0]["sessionId"]
    async with stage.app() as (app, pilot):
        assert fleet_of(app).move_to(session_id)
        await pilot.press("enter")
        await opened(pilot, SessionRoom)
        await pilot.pause(0.3)
        await pilot.press("i")
        room = await opened(pilot, IssueRoom)
        assert room.issue_id == issue_id
        await pilot.press("tab")
        for said in ("lease_claimed", "taken", "ended", "Images are pinned by digest.", "in_progress → done"):
            assert said in page(app, "story"), said


async def test_milestones_are_listed_with_their_gates_and_lead_to_their_issues(stage: Stage) -> None:
    filled(stage)
    async with stage.app() as (app, pilot):
        await queue_room(app, pilot)
        await pilot.press("m")
        gates = app.queue.query_one("#gates", RowList)
        said = [" ".join(part.text for part in row.cells) for row in gates.rows]
        assert said == [
            "● in_progress foundations 1/7 no gate",
            "■ blocked rollout 0/3 waits for foundations",
            "✗ failed docs 0/3 no gate",
        ]
        await pilot.press("j", "enter")
        await until(pilot, lambda: issues_of(app).row_count == 3, "its issues")
        assert "3 of 13 match" in bar(app, "state")
        await pilot.press("escape")
        await until(pilot, lambda: issues_of(app).row_count == 13, "all of them again")


async def test_beside_a_list_that_a_filter_leaves_empty_no_issue_is_told_of(stage: Stage) -> None:
    filled(stage)
    async with stage.app() as (app, pilot):
        await queue_room(app, pilot)
        await until(pilot, lambda: (app.queue.selected_id() or "none") in page(app, "preview"), "an issue is told of")
        await pilot.press("slash", *"nothing-has-this", "enter")
        await until(pilot, lambda: not issues_of(app).row_count, "none is listed")
        assert page(app, "preview") == ""
        await pilot.press("escape")
        await until(pilot, lambda: (app.queue.selected_id() or "none") in page(app, "preview"), "it is back")


# Where there is nothing, or nothing that can be read


async def test_without_a_queue_the_room_says_what_to_run_next_and_shows_it_when_it_comes(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await pilot.press("3")
        await until(pilot, lambda: "phelix queue init NAME" in page(app, "preview"), "what to run")
        assert not (stage.data_dir / "queue.db").exists()
        await pilot.press("y")
        await told(app, pilot, "OSC 52")
        assert app.clipboard == "phelix queue init NAME"
        Queue(stage).plan()
        await until(pilot, lambda: issues_of(app).row_count == 13, "the queue appears", 2)
        for file in stage.data_dir.glob("queue.db*"):
            file.unlink()
        await until(pilot, lambda: issues_of(app).row_count == 0, "it is gone", 2)
        assert "no queue here" in issues_of(app).placeholder


@pytest.mark.parametrize(
    ("damage", "code"), [(b"x" * 8192, "QUEUE_CORRUPT"), (None, "QUEUE_INCOMPATIBLE")], ids=["no database", "foreign"]
)
async def test_a_queue_that_cannot_be_read_names_the_code_and_keeps_the_last_rows(
    stage: Stage, damage: bytes | None, code: str
) -> None:
    filled(stage)
    async with stage.app() as (app, pilot):
        await queue_room(app, pilot)
        for file in stage.data_dir.glob("queue.db-*"):
            file.unlink()
        spoilt = stage.data_dir / "spoilt"
        if damage is None:
            with closing(sqlite3.connect(spoilt)) as db:
                db.executescript("PRAGMA application_id=7; CREATE TABLE theirs (x);")
        else:
            spoilt.write_bytes(damage)
        os.replace(spoilt, stage.data_dir / "queue.db")
        await until(pilot, lambda: code in bar(app, "state"), "the code", 3)
        assert "What is shown is old" in bar(app, "state")
        assert issues_of(app).row_count == 13
        await pilot.press("4")
        causes = app.attention.query_one("#causes", RowList)
        await until(pilot, lambda: causes.row_count and causes.rows[0].cells[0].text == "⚠ queue unreadable", "a cause")


# What is done


async def test_the_menu_lists_every_action_each_that_cannot_be_done_with_its_reason(stage: Stage) -> None:
    _, ids = filled(stage)
    async with stage.app() as (app, pilot):
        await queue_room(app, pilot)
        await on_issue(app, pilot, ids["Draft the runbook"])
        await pilot.press("a")
        screen = await opened(pilot, ActionMenu)
        lines = {row.id: row.cells[2].text for row in screen.query_one(RowList).rows}
        assert list(lines) == ["r", "p", "u", "l", "o", "b", "t"]
        assert "lease is live" in lines["r"]
        assert "only a blocked issue" in lines["u"]
        assert "only a failed issue" in lines["t"]
        await pilot.press("r")
        await told(app, pilot, "lease is live")
        assert app.screen is screen


@pytest.mark.parametrize(
    ("word", "status"), [("requeue", "ready"), ("block", "blocked"), ("fail", "failed")], ids=lambda word: word
)
async def test_a_recovery_in_the_console_leaves_the_rows_that_the_command_line_leaves(
    tmp_path: Path, word: str, status: str
) -> None:
    by_hand, by_console = Stage(tmp_path / "hand"), Stage(tmp_path / "console")
    queue, ids = filled(by_hand)
    filled(by_console)
    issue_id = ids["Port the ledger schema to STRICT tables"]
    queue.does("recover", issue_id=issue_id, resolution=word, reason="its host went away", if_epoch=1)
    async with by_console.app() as (app, pilot):
        await queue_room(app, pilot)
        screen = await recovering(app, pilot, issue_id, word=word)
        plan = page(app, "plan")
        for said in (
            f"status  in_progress → {status}",
            "stops no process",
            "--if-epoch 1",
        ):
            assert said in plan, said
        assert screen.query_one("#cancel", Button).has_focus
        assert screen.query_one("#apply", Button).disabled
        await proven(app, pilot, issue_id[-4:])
        await told(app, pilot, f"Recover: {issue_id} is {status}")
        await until(pilot, lambda: app.desk.backlog.state(issue_id) == status, "the row follows")
    assert rows(by_console) == rows(by_hand)


async def test_a_proof_may_be_typed_at_once_though_cancel_has_the_focus(stage: Stage) -> None:
    _, ids = filled(stage)
    issue_id = ids["Port the ledger schema to STRICT tables"]
    async with stage.app() as (app, pilot):
        await queue_room(app, pilot)
        screen = await recovering(app, pilot, issue_id)
        assert screen.query_one("#cancel", Button).has_focus
        await pilot.press("y")
        assert screen.query_one("#proof-typed", Entry).value == "", "y copies the command"
        await pilot.press(*issue_id[-4:])
        assert screen.query_one("#proof-typed", Entry).value == issue_id[-4:]
        await until(pilot, lambda: not screen.query_one("#apply", Button).disabled, "the proof opens the button")
        await press_apply(app, pilot)
        await told(app, pilot, f"Recover: {issue_id} is ready")


async def test_a_takeover_asks_who_takes_over_and_mints_a_lease(stage: Stage) -> None:
    queue, ids = filled(stage)
    issue_id = ids["Port the ledger schema to STRICT tables"]
    async with stage.app() as (app, pilot):
        await queue_room(app, pilot)
        await on_issue(app, pilot, issue_id)
        screen = await action(pilot, "r")
        assert len(screen.asked()) == 2
        screen.query_one(Choice).value = "resume"
        await until(pilot, lambda: len(screen.asked()) == 7, "the form asks for more")
        for name, value in (
            ("reason", "by hand"),
            ("agent", "operator"),
            ("host", "desk"),
            ("workload_classes", "code"),
        ):
            screen.query_one(f"#field-{name}", Entry).value = value
        await planned(app, pilot, "new: agent id operator")
        screen.query_one("#apply", Button).press()
        await opened(pilot, ConfirmScreen)
        await until(pilot, lambda: "new: agent id operator" in page(app, "plan"), "the plan")
        await proven(app, pilot, issue_id[-4:])
        await told(app, pilot, f"{issue_id} is in_progress")
    lease = queue.does("show", issue_id=issue_id)["leases"][-1]
    assert (lease["agentId"], lease["epoch"], lease["status"]) == ("operator", 2, "active")


async def test_a_takeover_between_dialog_and_apply_is_refused_with_nothing_written(stage: Stage) -> None:
    """Report 12: the lease on the screen is compared, not the issue alone."""
    queue, ids = filled(stage)
    issue_id = ids["Port the ledger schema to STRICT tables"]
    async with stage.app() as (app, pilot):
        await queue_room(app, pilot)
        screen = await recovering(app, pilot, issue_id)
        app.screen.query_one("#proof-typed", Entry).value = issue_id[-4:]
        await until(pilot, lambda: not screen.query_one("#apply", Button).disabled, "the button opens")
        host: dict[str, Any] = {"host": "host-b", "workload_classes": ("code",)}
        queue.does("recover", issue_id=issue_id, resolution="resume", agent="builder-9", **host)
        after = rows(stage)
        screen.query_one("#apply", Button).press()
        conflict = await opened(pilot, ConflictScreen)
        assert "LEASE_CONFLICT" not in toasts(app)
        said = page(app, "current")
        assert "builder-9" in said
        assert "builder-2" in page(app, "base")
        assert not conflict.can_replan, "its lease is live now"
        assert rows(stage) == after
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.queue, "let go")


async def test_a_dialog_closes_its_button_as_soon_as_the_holder_is_heard_of(stage: Stage) -> None:
    queue, ids = filled(stage)
    issue_id = ids["Port the ledger schema to STRICT tables"]
    lease = queue.does("show", issue_id=issue_id)["leases"][-1]["id"]
    async with stage.app() as (app, pilot):
        await queue_room(app, pilot)
        screen = await recovering(app, pilot, issue_id)
        app.screen.query_one("#proof-typed", Entry).value = issue_id[-4:]
        await until(pilot, lambda: not screen.query_one("#apply", Button).disabled, "the button opens")
        queue.does("heartbeat", lease=lease)
        await until(pilot, lambda: screen.query_one("#apply", Button).disabled, "the button closes", 2)
        assert "go back and look again" in bar(app, "guard")


async def test_promotion_says_what_moves_and_what_stays_and_why_and_wants_the_count(stage: Stage) -> None:
    queue = Queue(stage)
    ids = queue.plan()
    async with stage.app() as (app, pilot):
        await queue_room(app, pilot)
        await on_issue(app, pilot, ids["Canary at 1%"])
        await pilot.press("a")
        await opened(pilot, ActionMenu)
        await pilot.press("p")
        screen = await opened(pilot, ConfirmScreen)
        await until(pilot, lambda: "Promote now would move 9 and keep 4." in page(app, "plan"), "the promise")
        plan = page(app, "plan")
        assert "Canary at 1%  waits for milestone foundations" in plan
        assert "Draft the runbook" in plan
        assert "billing" in bar(app, "proposal-title")
        screen.query_one("#proof-typed", Entry).focus()
        await type_in(pilot, "8")
        await pilot.pause()
        assert screen.query_one("#apply", Button).disabled
        await pilot.press("backspace")
        await proven(app, pilot, "9")
        await told(app, pilot, "Promote: 9 moved to ready")
        await until(pilot, lambda: states_in(app).count("ready") == 9, "they are ready")
        await pilot.press("a")
        await opened(pilot, ActionMenu)
        await pilot.press("p")
        await opened(pilot, ConfirmScreen)
        await until(pilot, lambda: "would move 0 and keep 4" in page(app, "plan"), "nothing is left to move")
        assert app.screen.query_one("#apply", Button).disabled


@pytest.mark.parametrize(
    ("task", "key", "fields", "status"),
    [
        ("Decide who signs the migration off", "u", {"reason": "finance answered"}, "ready"),
        ("Bisect the broken link checker", "t", {"reason": "the cause is known"}, "ready"),
        ("Pin the toolchain and the base image", "b", {"reason": "the digest is wrong"}, "pending"),
        ("Draft the runbook", "l", {"summary": "handed over", "next_step": "go on", "evidence": "notes.md"}, "ready"),
        ("Draft the runbook", "o", {"summary": "all done", "next_step": "none", "evidence": "notes.md"}, "done"),
    ],
    ids=["unblock", "retry", "roll back", "release", "close"],
)
async def test_an_operators_acts_are_confirmed_and_done(
    stage: Stage, task: str, key: str, fields: dict[str, str], status: str
) -> None:
    queue, ids = filled(stage)
    async with stage.app() as (app, pilot):
        await queue_room(app, pilot)
        await on_issue(app, pilot, ids[task])
        screen = await action(pilot, key)
        for name, value in fields.items():
            screen.query_one(f"#field-{name}", Entry).value = value
        first = next(iter(fields.values()))
        await planned(app, pilot, first)
        screen.query_one("#apply", Button).press()
        confirm = await opened(pilot, ConfirmScreen)
        await planned(app, pilot, first)
        assert confirm.query_one("#cancel", Button).has_focus
        assert f"→ {status}" in page(app, "plan")
        await press_apply(app, pilot)
        await told(app, pilot, f"{ids[task]} is {status}")
        await until(pilot, lambda: app.desk.backlog.issues[ids[task]].status == status, "the row follows")
    assert queue.issue(ids[task])["status"] == status


async def test_read_only_offers_nothing_and_the_core_refuses(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data", read_only=True)
    writing = Stage(tmp_path / "data")
    filled(writing)
    before = bytes_of(stage.data_dir)
    async with stage.app() as (app, pilot):
        await queue_room(app, pilot)
        await pilot.press("a")
        screen = await opened(pilot, ActionMenu)
        assert all("read-only" in row.cells[2].text for row in screen.query_one(RowList).rows)
        raw = {"issue_id": issues_of(app).cursor_id, "resolution": "requeue", "reason": "x"}
        envelope = await app.desk.call("queue recover", raw)
        assert envelope.error is not None
        assert envelope.error.code == "READ_ONLY"
    kept = {name: data for name, data in bytes_of(stage.data_dir).items() if not name.endswith(("-shm", "-wal"))}
    assert kept == {name: data for name, data in before.items() if not name.endswith(("-shm", "-wal"))}


# Text and sizes


@pytest.mark.parametrize("text", [*MARKUP, *ESCAPES, "汉" * 60, "x" * 400], ids=range(len(MARKUP) + len(ESCAPES) + 2))
async def test_no_text_of_the_queue_breaks_a_screen(stage: Stage, text: str) -> None:
    queue, word = Queue(stage), text[:40]
    queue.does("init", name=word)
    queue.does("campaign", project_name=word, campaign_name=word, objective=text)
    issue = {"task": text, "priority": "low", "size": "S"}
    first = {"milestone_key": word, "description": text, "issues": [issue, {**issue, "depends_on_indices": [0]}]}
    second = {"milestone_key": f"{word}2", "description": text, "depends_on_milestone_keys": [word], "issues": [issue]}
    found = queue.does("plan", batch=json.dumps({"milestones": [first, second]}))
    issue_id = found["generatedMilestones"][0]["generatedIssues"][0]["id"]
    host: dict[str, Any] = {"host": word, "workload_classes": (word,)}
    lease = queue.does("claim", issue_id=issue_id, agent=word, artifacts=(f"{word.replace('=', '')}={word}",), **host)
    queue.does(
        "checkpoint", lease=lease["leaseId"], status="needs_recovery", summary=text, next_step=text, evidence=(text,),
        title=word,
    )  # fmt: skip
    async with stage.app(100, 30) as (app, pilot):
        await queue_room(app, pilot)
        await until(pilot, lambda: issue_id in page(app, "preview"), "the preview")
        check(app, app.size)
        await pilot.press("m")
        await pilot.pause()
        check(app, app.size)
        await pilot.press("m", "enter")
        await opened(pilot, IssueRoom)
        await until(pilot, lambda: "Leases" in page(app, "story"), "the story")
        check(app, app.size)
        await pilot.press("G")
        check(app, app.size)
        await pilot.press("tab")
        check(app, app.size)
        await pilot.press("a")
        await opened(pilot, ActionMenu)
        check(app, app.size)
        await pilot.press("r")
        await opened(pilot, CommandForm)
        await pilot.press("enter")
        await type_in(pilot, "x")
        await planned(app, pilot, "needs_recovery → ready")
        check(app, app.size)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, IssueRoom), "back")
        await pilot.press("4")
        await until(pilot, lambda: app.screen is app.attention, "attention")
        check(app, app.size)
        assert app.is_running


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 10), (200, 60), (20, 5), (1, 1)])
async def test_every_room_of_the_queue_is_drawn_at_every_size(stage: Stage, size: tuple[int, int]) -> None:
    filled(stage)
    async with stage.app(*size) as (app, pilot):
        await queue_room(app, pilot)
        check(app, app.size)
        for keys in ("m", "m", "4", "3", "enter", "tab"):
            await pilot.press(keys)
            await pilot.pause()
            check(app, app.size)


def test_the_batch_of_the_stage_is_the_one_the_pictures_show() -> None:
    assert sum(len(milestone["issues"]) for milestone in BATCH["milestones"]) == 13
