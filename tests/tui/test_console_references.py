"""Filters on references in the console: looked up by the core, followed as plans and records change, told when not."""

import asyncio
import os
import threading
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.message import Message
from textual.widgets import Input

from phelix_core.arc.model import plan_document, plan_of
from phelix_tui.app import ConsoleApp
from phelix_tui.desk import Desk
from phelix_tui.lookup import Lookup
from phelix_tui.messages import LookupFinished
from tests.rig import did
from tests.tui.stage import NOON_MS, Stage, deaf, fleet_of, until
from tests.tui.walks import agent_does, bar, type_in

PLAN = "pln_00000000000000aa"
PROMISED_S = 3.0 + 1.5
"""What plans do is seen after three seconds; the rest is for a busy machine."""


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    stage = Stage(tmp_path / "data")
    stage.fill(26)
    return stage


def listed(stage: Stage, where: str) -> set[str]:
    return {row.session_id for row in did(stage.console, "session list", where=where, limit=0).sessions}


def ids(app: ConsoleApp) -> set[str]:
    return {row.id for row in fleet_of(app).rows}


async def filtered(app: ConsoleApp, pilot: Any, where: str) -> None:
    await pilot.press("slash")
    await type_in(pilot, where)
    await pilot.press("enter")
    await until(pilot, lambda: "match" in bar(app, "state"), f"{where} is in force")


async def test_a_filter_on_references_shows_what_a_shell_lists_and_escape_shows_everything(stage: Stage) -> None:
    torn = listed(stage, "ref:missing")
    assert 0 < len(torn) < 26
    async with stage.app() as (app, pilot):
        await filtered(app, pilot, "ref:missing")
        assert ids(app) == torn
        await pilot.press("escape")
        await until(pilot, lambda: fleet_of(app).row_count == 26, "everything is back")


async def test_a_plan_that_appears_or_vanishes_changes_the_list_in_time(stage: Stage) -> None:
    stage.agent.arc.add_plan(plan_of(plan_document(PLAN, "billing", NOON_MS), PLAN))
    session_id = agent_does(stage, "session create", title="new").session_id
    agent_does(stage, "session checkpoint", session_id=session_id, plans=[PLAN])
    plan = stage.data_dir / "plans" / f"{PLAN}.json"
    async with stage.app() as (app, pilot):
        await filtered(app, pilot, "ref:missing")
        assert session_id not in ids(app), "its plan is there"
        os.rename(plan, stage.data_dir / "aside")
        await until(pilot, lambda: session_id in ids(app), "its plan has gone", PROMISED_S)
        os.rename(stage.data_dir / "aside", plan)
        await until(pilot, lambda: session_id not in ids(app), "its plan is back", PROMISED_S)


async def test_a_record_that_begins_to_name_a_plan_comes(stage: Stage) -> None:
    stage.agent.arc.add_plan(plan_of(plan_document(PLAN, "billing", NOON_MS), PLAN))
    session_id = agent_does(stage, "session list", status="active").sessions[0].session_id
    async with stage.app() as (app, pilot):
        await filtered(app, pilot, f"plan={PLAN}")
        assert ids(app) == set()
        assert "0 of 26 match" in bar(app, "state")
        agent_does(stage, "session checkpoint", session_id=session_id, plans=[PLAN])
        await until(pilot, lambda: ids(app) == {session_id}, "it comes")


async def test_marks_and_references_in_one_filter_are_both_followed(stage: Stage) -> None:
    torn = listed(stage, "ref:missing")
    async with stage.app() as (app, pilot):
        fleet = fleet_of(app)
        marked = min(torn)
        whole = next(row.id for row in fleet.rows if row.id not in torn)
        fleet.marks = frozenset({marked, whole})
        await filtered(app, pilot, "ref:missing is:marked")
        assert ids(app) == {marked}
        fleet.marks = frozenset()
        await until(pilot, lambda: ids(app) == set(), "the mark has gone, and so has the row")
        await pilot.press("escape")
        fleet.marks = frozenset({whole})
        await filtered(app, pilot, "is:marked OR ref:missing")
        assert ids(app) == torn | {whole}


async def test_a_failed_look_up_is_told_keeps_the_rows_and_is_tried_again(stage: Stage) -> None:
    torn = listed(stage, "ref:missing")
    folder, away = stage.data_dir / "sessions", stage.data_dir / "elsewhere"
    async with deaf(stage) as (app, pilot):
        await filtered(app, pilot, "ref:missing")
        os.rename(folder, away)
        folder.write_text("no folder")
        await until(pilot, lambda: "could not be looked up" in bar(app, "state"), "it is told", PROMISED_S)
        assert ids(app) == torn
        app.screen.query_one("#filter", Input).value = "ref:present"
        await until(pilot, lambda: "/ ref:present   ✗ References" in bar(app, "state"), "and of another filter")
        assert ids(app) == torn, "the rows of the filter before, which are told as no matches of this one"
        folder.unlink()
        os.rename(away, folder)
        await until(pilot, lambda: "match" in bar(app, "state"), "it works again", PROMISED_S)
        assert ids(app) == listed(stage, "ref:present")
        assert "could not" not in bar(app, "state")


@asynccontextmanager
async def busy_threads() -> AsyncGenerator[threading.Event]:
    """Every thread that the console could work in is taken, until the event is set or at the end."""
    free = threading.Event()
    held = [asyncio.get_running_loop().run_in_executor(None, free.wait) for _ in range(40)]
    try:
        yield free
    finally:
        free.set()
        await asyncio.gather(*held)


async def test_a_look_up_that_takes_long_is_told_the_rows_stay_and_the_newest_filter_wins(stage: Stage) -> None:
    async with deaf(stage) as (app, pilot), busy_threads() as free:
        await pilot.press("slash")
        app.screen.query_one("#filter", Input).value = "ref:missing"
        await until(pilot, lambda: "looking…" in bar(app, "state"), "it is told")
        assert fleet_of(app).row_count == 26
        assert "match" not in bar(app, "state"), "the rows are not this filter's"
        app.screen.query_one("#filter", Input).value = "ref:present"
        free.set()
        await until(pilot, lambda: "match" in bar(app, "state"), "it ends")
        assert ids(app) == listed(stage, "ref:present")
        assert "looking" not in bar(app, "state")


async def test_asks_never_overlap_and_many_changes_are_one_reason_to_ask_again(stage: Stage) -> None:
    desk = Desk(stage.console)
    desk.arrangement.wanted = "ref:missing"
    told: list[Message] = []
    lookup = Lookup(desk, told.append)
    asking = asyncio.create_task(lookup.run())
    try:
        deadline = time.monotonic() + 2.5
        while time.monotonic() < deadline:
            lookup.changed()
            await asyncio.sleep(0.01)
    finally:
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
    answers = [message.answers for message in told if isinstance(message, LookupFinished)]
    assert 2 <= len(answers) <= 3, "at once, then once a second"
    assert answers[0] == {"ref:missing": listed(stage, "ref:missing")}
