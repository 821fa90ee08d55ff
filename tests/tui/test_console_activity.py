"""Activity: every write that was confirmed here is listed with its command, what came of it, and the way back."""

import shlex
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from phelix_core.envelope import Envelope
from phelix_core.errors import DeployFailed, InternalError, LeaseLost, NotFound, OutcomeUnknown, SessionConflict
from phelix_core.views.rows import BadRecord
from phelix_tui.actions import SESSION_ACTIONS, SessionTarget
from phelix_tui.activity import MOST, UNDO, Activity
from phelix_tui.app import ConsoleApp
from phelix_tui.doctor_actions import DIRECTORY_ACTIONS
from phelix_tui.issue_actions import ISSUE_ACTIONS
from phelix_tui.plan_actions import PLAN_ACTIONS
from phelix_tui.screens.activity import ActivityRoom
from phelix_tui.screens.session import SessionRoom
from phelix_tui.view_actions import REMOVE_VIEW, SAVE_VIEW
from phelix_tui.widgets.rowlist import RowList
from tests.core.test_views import HOSTILE, is_safe
from tests.rig import Phelix, did
from tests.tui.plans import planned
from tests.tui.queues import Queue, filled
from tests.tui.stage import NOON_MS, Stage, deaf, fleet_of, opened, until
from tests.tui.walks import agent_does, bar, confirm, home, page, press_apply, record_of


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    stage = Stage(tmp_path / "data")
    stage.fill(14)
    return stage


async def activity(pilot: Pilot[Any]) -> ActivityRoom:
    await pilot.press("6")
    return await opened(pilot, ActivityRoom)


def rows(app: ConsoleApp) -> list[list[str]]:
    return [[cell.text for cell in row.cells] for row in app.screen.query_one("#deeds", RowList).rows]


async def complete(app: ConsoleApp, pilot: Pilot[Any], text: str) -> str:
    session_id = fleet_of(app).cursor_id or ""
    await confirm(app, pilot, "c", text)
    await press_apply(app, pilot)
    return session_id


async def test_a_write_is_listed_with_command_result_and_revisions_and_that_it_stays(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        screen = await activity(pilot)
        assert "Nothing was done in this console yet" in page(app, "preview")
        assert "gone when it ends" in bar(app, "state")
        await pilot.press("q")
        await home(app, pilot)
        session_id = await complete(app, pilot, "verified by hand")
        await home(app, pilot)
        screen = await activity(pilot)
        assert rows(app) == [["12:00:00Z", "Complete", "✓ done", session_id, "no"]]
        rev = record_of(stage, session_id)["rev"]
        told = page(app, "preview")
        assert f"rev {rev - 1} → rev {rev}" in told
        assert "cannot be undone: a closed session stays closed" in told
        assert f"--if-rev {rev - 1}" in told
        assert "1 done" in bar(app, "title")
        await pilot.press("enter")
        opened_room = await opened(pilot, SessionRoom)
        assert opened_room.session_id == session_id
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen, "back at the list")


async def test_the_command_can_be_copied_and_says_what_was_done(stage: Stage, tmp_path: Path) -> None:
    async with stage.app() as (app, pilot):
        session_id = await complete(app, pilot, "it's done")
        await home(app, pilot)
        screen = await activity(pilot)
        (copied,) = screen.copies()
        argv = shlex.split(copied.text)
        assert argv[:3] == ["phelix", "session", "complete"]
        assert Phelix(stage.data_dir, tmp_path)(*argv[1:], "--json").error["code"] == "SESSION_CONFLICT"
        assert session_id in argv


async def test_a_conflict_is_listed_as_one_and_as_nothing_written(stage: Stage) -> None:
    async with deaf(stage) as (app, pilot):
        session_id = fleet_of(app).cursor_id or ""
        await confirm(app, pilot, "c", "done")
        agent_does(stage, "session checkpoint", session_id=session_id, step="still here")
        await press_apply(app, pilot)
        await until(pilot, lambda: len(app.desk.activity) == 1, "it is noted")
        deed = app.desk.activity.deed("1")
        assert deed is not None
        assert (deed.came, deed.code, deed.change) == ("conflict", "SESSION_CONFLICT", "")
        assert deed.undo == "nothing was written"
        assert deed.can_undo is None


async def test_what_was_only_looked_at_is_no_deed(stage: Stage) -> None:
    async with stage.app() as (app, pilot):
        await confirm(app, pilot, "c", "done")
        await pilot.press("escape")
        await home(app, pilot)
        assert len(app.desk.activity) == 0


@pytest.mark.parametrize(("width", "height"), [(40, 10), (80, 24), (200, 60)])
async def test_result_and_way_back_stay_in_sight_at_every_size(stage: Stage, width: int, height: int) -> None:
    async with stage.app(width, height) as (app, pilot):
        target = app.desk.target(fleet_of(app).cursor_id)
        assert target is not None
        envelope = Envelope(error=NotFound("It has gone."))
        app.desk.activity.note(SESSION_ACTIONS[1], target, "phelix session complete", envelope, NOON_MS)
        await activity(pilot)
        strips = app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
        drawn = ["".join(segment.text for segment in strip) for strip in strips]
        for said in ("12:00:00Z", "Complete", "✗ refused", "UNDO"):
            assert any(said in text for text in drawn), said
        assert {len(text) for text in drawn} == {width}


# The model


def target() -> SessionTarget:
    return SessionTarget("ses_1a2b3c4d5e6f7081", BadRecord("SESSION_CORRUPT"))


@pytest.mark.parametrize(
    ("error", "came"),
    [
        (SessionConflict(), "conflict"),
        (LeaseLost(), "conflict"),
        (NotFound(), "refused"),
        (DeployFailed(operation_id=f"op_{1:016x}"), "failed"),
        (OutcomeUnknown(), "unknown"),
        (InternalError(), "unknown"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.code,
)
def test_what_came_of_it_tells_a_refusal_from_what_was_begun_and_from_what_nobody_knows(error: Any, came: str) -> None:
    deed = Activity().note(SESSION_ACTIONS[0], target(), "phelix", Envelope(error=error), 0)
    assert deed.came == came
    assert ("nothing was written" in deed.undo) == (came in ("conflict", "refused"))
    assert deed.after == (error.operation_id or "")


def test_an_issue_is_told_by_status_and_epoch_and_a_promotion_by_how_many_moved() -> None:
    done = Activity()
    moved = done.note(
        SESSION_ACTIONS[0], target(), "phelix", Envelope(result={"newStatus": "ready", "leaseEpoch": 8}), 0
    )
    assert moved.after == "ready · epoch 8"
    promoted = done.note(SESSION_ACTIONS[0], target(), "phelix", Envelope(result={"promotedIssueIds": ["a", "b"]}), 0)
    assert promoted.after == "2 made ready"
    assert [deed.id for deed in done] == ["2", "1"], "the newest first"


def test_every_action_says_whether_it_can_be_undone() -> None:
    actions = (*SESSION_ACTIONS, *ISSUE_ACTIONS, *PLAN_ACTIONS, *DIRECTORY_ACTIONS, SAVE_VIEW, REMOVE_VIEW)
    assert {action.verb for action in actions} - set(UNDO) == set()


def test_the_oldest_deeds_go_first_and_numbers_are_never_used_twice() -> None:
    done = Activity()
    for _ in range(MOST + 5):
        done.note(SESSION_ACTIONS[0], target(), "phelix", Envelope(error=NotFound()), 0)
    assert len(done) == MOST
    assert done.deed("5") is None
    assert len({deed.id for deed in done}) == MOST


def test_texts_of_others_are_safe_in_a_deed() -> None:
    deed = Activity().note(SESSION_ACTIONS[0], target(), HOSTILE, Envelope(error=NotFound(HOSTILE)), 0)
    assert is_safe(deed.command)
    assert is_safe(deed.said)


def after(result: object) -> str:
    return Activity().note(SESSION_ACTIONS[0], target(), "phelix", Envelope(result=result), 0).after


def test_what_the_queues_commands_answer_is_told_by_status_and_epoch(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data")
    queue, ids = filled(stage)
    by = {task.split()[0]: issue_id for task, issue_id in ids.items()}
    assert after(queue.does("unblock", issue_id=by["Decide"], reason="answered")) == "ready · epoch 1"
    assert after(queue.does("retry", issue_id=by["Bisect"], reason="known")) == "ready · epoch 1"
    assert after(queue.does("rollback", issue_id=by["Pin"], reason="wrong")) == "pending · epoch 1"
    assert after(queue.does("recover", issue_id=by["Port"], resolution="requeue", reason="gone")) == "ready · epoch 1"
    fresh = Queue(Stage(tmp_path / "fresh"))
    planned_ids = fresh.plan()
    assert after(fresh.does("promote", project="billing")) == "9 made ready"
    lease = fresh.claim(planned_ids["Pin the toolchain and the base image"], "builder-7")["leaseId"]
    assert after(fresh.close(lease, "done", "Pinned.")) == "done · epoch 1"


def test_what_the_commands_on_plans_answer_is_told_by_hash_or_operation(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data")
    plans, ids = planned(stage)
    approval = plans.approve(ids["waiting"])
    assert after(approval) == f"{approval.plan_hash[:19]}…"
    operation_id = plans.begins(ids["waiting"])
    shown = did(plans.person, "operation status", operation_id=operation_id)
    assert after(shown).startswith(f"{operation_id} ")
    assert after(did(plans.person, "authz revoke", plan_id=ids["waiting"])) == "no approval"
