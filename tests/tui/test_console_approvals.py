"""Operators' stories about plans: what waits and why, what would run, and what they do about it."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Button

from phelix_core.arc.operations import CANCELLED, FAILED
from phelix_core.clock import SystemClock
from phelix_core.processes import ProcessIdentity, started_at
from phelix_core.strictjson import loads
from phelix_tui.app import ConsoleApp
from phelix_tui.form import Entry
from phelix_tui.log_tail import FIRST_LINES, LogTail
from phelix_tui.messages import PlanWanted
from phelix_tui.screens.confirm import ConfirmScreen
from phelix_tui.screens.help import HelpScreen
from phelix_tui.screens.menu import ActionMenu
from phelix_tui.screens.plan import PlanRoom
from phelix_tui.screens.references import ReferencesMenu
from phelix_tui.screens.session import SessionRoom
from phelix_tui.widgets.pages import TextPage
from phelix_tui.widgets.rowlist import RowList
from tests.rig import bytes_of, did
from tests.tui.hostile import ESCAPES, MARKUP, WIDTHS
from tests.tui.plans import GONE, MINUTE, THERE, Plans, planned, plans_of, states_in
from tests.tui.stage import Stage, fleet_of, opened, until
from tests.tui.test_console_hostile_text import check
from tests.tui.walks import bar, page, press_apply, toasts, told, type_in


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path / "data")


async def approvals(app: ConsoleApp, pilot: Pilot[Any]) -> RowList:
    await pilot.press("5")
    await until(pilot, lambda: app.screen is app.approvals, "the room opens")
    await pilot.pause()
    return plans_of(app)


async def on_plan(app: ConsoleApp, pilot: Pilot[Any], row_id: str) -> None:
    """Put the cursor on a row, and wait until the preview is about it."""
    assert plans_of(app).move_to(row_id)
    await until(pilot, lambda: app.approvals.selected_id() == row_id and row_id in page(app, "preview"), "the preview")


async def lines_of_menu(pilot: Pilot[Any]) -> dict[str, str]:
    await pilot.press("a")
    screen = await opened(pilot, ActionMenu)
    return {row.id: row.cells[2].text for row in screen.query_one(RowList).rows}


async def confirming(app: ConsoleApp, pilot: Pilot[Any], key: str, text: str) -> ConfirmScreen:
    """From a row to the confirmation of an action, as far as what it would do is told."""
    await pilot.press("a")
    await opened(pilot, ActionMenu)
    await pilot.press(key)
    screen = await opened(pilot, ConfirmScreen)
    await until(pilot, lambda: text in page(app, "plan"), f"the dialog says {text!r}")
    return screen


async def proven(app: ConsoleApp, pilot: Pilot[Any], proof: str) -> None:
    await type_in(pilot, proof)
    assert app.screen.query_one("#proof-typed", Entry).value == proof
    await until(pilot, lambda: not app.screen.query_one("#apply", Button).disabled, "the proof opens the button")
    await press_apply(app, pilot)


def row(app: ConsoleApp, row_id: str) -> str:
    found = next(one for one in plans_of(app).rows if one.id == row_id)
    return " ".join(part.text for part in found.cells)


def approval(stage: Stage, plan_id: str) -> Path:
    return stage.data_dir / "authz" / "approvals" / f"{plan_id}.json"


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """A process that somebody may take for an applier, until it is ended."""
    with subprocess.Popen(["sleep", "60"]) as running:
        yield running
        running.kill()


def identity(process: "subprocess.Popen[bytes]") -> ProcessIdentity:
    return ProcessIdentity(pid=process.pid, started=started_at(process.pid) or 0, boot="")


def stands_for_the_log(log: Path, kind: str) -> None:
    """Put something in the log's place that is none."""
    log.unlink()
    if kind == "a link":
        secret = log.with_name("secret")
        secret.write_text("not for the screen\n", encoding="utf-8")
        log.symlink_to(secret)
    elif kind == "a pipe":
        os.mkfifo(log)


# What is seen


async def test_plans_stand_in_the_order_of_what_they_want_from_a_person(stage: Stage) -> None:
    _, ids = planned(stage)
    async with stage.app() as (app, pilot):
        await approvals(app, pilot)
        assert states_in(app) == [
            *("waiting", "waiting", "indeterminate", "running", "stale", "denied"),
            *("approved", "ready", "failed", "succeeded"),
        ]
        assert [one.id for one in plans_of(app).rows][:2] == [ids["waiting"], ids["waiting too"]], "the longest first"
        assert row(app, ids["waiting"]) == f"◆ waits …{ids['waiting'][-8:]} deploy invoices 2.1.0 → 2.2.0 mcp 14m"
        assert row(app, ids["waiting too"]).startswith("◆ waits …000000aa rollback identity 2.1.0 → 2.0.0 cli")
        assert "? indeterminate" in row(app, ids["indeterminate"])
        assert "◆ 2 wait · ? 1 indeterminate · 10 plans" in bar(app, "title")
        for key in ("1", "3", "4"):
            await pilot.press(key)
            await until(pilot, lambda: "◆ 2 wait" in bar(app, "title"), f"room {key} counts what waits")


async def test_a_plan_tells_what_would_run_on_what_and_what_of_it_holds_now(stage: Stage) -> None:
    _, ids = planned(stage)
    async with stage.app() as (app, pilot):
        await approvals(app, pilot)
        await on_plan(app, pilot, ids["waiting"])
        said = page(app, "preview")
        record: Any = loads((stage.data_dir / "plans" / f"{ids['waiting']}.json").read_bytes())
        for fact in (
            "WAITS for an approval, 14m 00s",
            " 0  ./deploy\n 1  --version\n 2  2.2.0\n 3  --wait",
            "in folder   deploy",
            "ended after 10m 00s",
            "sees of env PATH, REGION",
            "application invoices",
            "version     2.1.0 → 2.2.0",
            "reason      invoice API v3 leaves the canary",
            "asked by    mcp, 2026-08-01 11:46:00Z",
            "✓ app_exists         invoices",
            "✓ current_version    2.1.0",
            "✓ execution          as declared",
            "✓ deploy             declared",
            record["plan_hash"],
            "◆ approval  none",
            "◆ mcp       This plan may be executed once it has been approved. (rule 2)",
        ):
            assert fact in said, fact
        await on_plan(app, pilot, ids["stale"])
        said = page(app, "preview")
        assert "STALE: current_version is 2.1.0, expected 2.0.0" in said
        assert "✗ current_version    expected 2.0.0, is 2.1.0 now" in said
        await on_plan(app, pilot, ids["denied"])
        assert "DENIED: A rule denies this actor this action on this application. (rule 0)" in page(app, "preview")
        await on_plan(app, pilot, ids["approved"])
        assert "given 2026-08-01 11:54:00Z by cli through cli, for this very hash" in page(app, "preview")
        await on_plan(app, pilot, ids["failed"])
        assert "DEPLOY_FAILED: The deploy command ended with exit status 3." in page(app, "preview")
        await until(pilot, lambda: "the bucket does not answer" in page(app, "preview"), "the end of its log")
        await on_plan(app, pilot, ids["succeeded"])
        assert "health      healthy: 2 of 2 instances answer" in page(app, "preview")
        await on_plan(app, pilot, ids["indeterminate"])
        assert "its processes are gone and recorded no end" in page(app, "preview")


async def test_how_long_a_plan_waits_ticks_with_nothing_read(stage: Stage) -> None:
    _, ids = planned(stage)
    async with stage.app() as (app, pilot):
        await approvals(app, pilot)
        await on_plan(app, pilot, ids["waiting"])
        before, board = bytes_of(stage.data_dir), app.desk.plans.board
        stage.clock.wall_ms += 61_000
        await until(pilot, lambda: "WAITS for an approval, 15m 01s" in page(app, "preview"), "the page ticks", 2)
        assert row(app, ids["waiting"]).endswith("15m")
        assert app.desk.plans.board is board
        assert bytes_of(stage.data_dir) == before


async def test_a_fact_that_turns_shows_at_once_whoever_wrote_it(stage: Stage) -> None:
    plans, ids = planned(stage)
    async with stage.app() as (app, pilot):
        await approvals(app, pilot)
        await on_plan(app, pilot, ids["waiting"])
        plans.declare("invoices", "2.0.0")
        await until(pilot, lambda: "STALE: current_version is 2.0.0, expected 2.1.0" in page(app, "preview"), "stale")
        plans.declare("invoices", "2.1.0")
        await until(pilot, lambda: "WAITS" in page(app, "preview"), "it applies again")
        plans.approve(ids["waiting"])
        await until(pilot, lambda: "◇ approved" in row(app, ids["waiting"]), "approved")
        plans.policy({"schema_version": "1", "mode": "nonsense"})
        await until(pilot, lambda: "nothing executes" in bar(app, "banner"), "the policy cannot be used")
        assert "AUTHZ_INVALID" in bar(app, "banner")
        plans.tampers(ids["waiting"])
        await until(pilot, lambda: "⚠ unreadable" in row(app, ids["waiting"]), "somebody changed it")
        assert "PLAN_HASH_MISMATCH" in row(app, ids["waiting"])


async def test_a_process_that_dies_without_a_word_is_told_within_seconds(
    stage: Stage, process: "subprocess.Popen[bytes]"
) -> None:
    plans, ids = planned(stage)
    there = identity(process)
    plans.begins(ids["waiting"], child=there, applier=there)
    async with stage.app() as (app, pilot):
        await approvals(app, pilot)
        assert "● running" in row(app, ids["waiting"])
        before = bytes_of(stage.data_dir)
        process.kill()
        process.wait()
        await until(pilot, lambda: "? indeterminate" in row(app, ids["waiting"]), "its process is gone", 3)
        assert bytes_of(stage.data_dir) == before


async def test_attention_has_a_row_for_each_plan_that_wants_somebody_and_opens_it(stage: Stage) -> None:
    plans, ids = planned(stage)
    plans.tampers(ids["ready"])
    async with stage.app() as (app, pilot):
        await pilot.press("4")
        causes = app.attention.query_one("#causes", RowList)
        await until(pilot, lambda: causes.row_count == 4, "the causes")
        said = [" ".join(part.text for part in one.cells[:3]) for one in causes.rows]
        assert said == [
            "? indeterminate deploy wallet 2.2.0 its processes are gone, no end told",
            "◆ plan waits deploy invoices 2.2.0 wants an approval, asked by mcp",
            "◆ plan waits rollback identity 2.0.0 wants an approval, asked by cli",
            f"⚠ plan unreadable plans/{ids['ready']}.json PLAN_HASH_MISMATCH",
        ]
        assert causes.move_to(f"approval:{ids['waiting']}")
        lines = await lines_of_menu(pilot)
        assert list(lines) == ["p", "v", "e", "x"]
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.attention, "back")
        await pilot.press("enter")
        await opened(pilot, PlanRoom)
        await until(pilot, lambda: "WAITS" in page(app, "story"), "its page")
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.attention, "back")
        assert causes.move_to(f"file:{ids['ready']}")
        await pilot.press("enter")
        await opened(pilot, PlanRoom)
        await until(pilot, lambda: "UNREADABLE: PLAN_HASH_MISMATCH" in page(app, "story"), "why")


async def test_words_narrow_the_list_and_an_empty_one_says_what_to_run(stage: Stage, tmp_path: Path) -> None:
    planned(stage)
    async with stage.app() as (app, pilot):
        await approvals(app, pilot)
        await pilot.press("slash", *"waits", "space", *"cli", "enter")
        await until(pilot, lambda: plans_of(app).row_count == 1, "the one that a person asked for")
        assert "1 of 10 match" in bar(app, "state")
        await pilot.press("escape")
        await until(pilot, lambda: plans_of(app).row_count == 10, "all of them")
    async with Stage(tmp_path / "empty").app() as (app, pilot):
        await approvals(app, pilot)
        assert "No plans yet." in plans_of(app).placeholder
        assert "phelix plan create deploy APP --to VERSION" in page(app, "preview")
        await pilot.press("y")
        assert app.clipboard == "phelix plan create deploy APP --to VERSION"


async def test_a_folder_that_cannot_be_read_is_told_and_takes_no_row_away(stage: Stage) -> None:
    plans, _ = planned(stage)
    async with stage.app() as (app, pilot):
        await approvals(app, pilot)
        folder = stage.data_dir / "plans"
        os.rename(folder, stage.data_dir / "aside")
        folder.write_bytes(b"")
        await until(pilot, lambda: "What is shown is old" in bar(app, "state"), "the failure", 3)
        assert plans_of(app).row_count == 10
        await pilot.press("4")
        causes = app.attention.query_one("#causes", RowList)
        await until(pilot, lambda: causes.rows[0].cells[0].text == "⚠ plans unreadable", "a cause")
        folder.unlink()
        os.rename(stage.data_dir / "aside", folder)
        await pilot.press("5")
        await until(pilot, lambda: "old" not in bar(app, "state"), "it is read again", 4)
        assert plans.data_dir == stage.data_dir


# What is rung


async def test_a_bell_rings_once_for_what_begins_to_wait_and_never_for_what_was_there(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    rung: list[int] = []

    def ring(_: ConsoleApp) -> None:
        rung.append(1)

    monkeypatch.setattr(ConsoleApp, "bell", ring)
    plans, ids = planned(stage)
    async with stage.app() as (app, pilot):
        await pilot.pause(1.3)
        assert (rung, toasts(app)) == ([], []), "what waited before is no news"
        plans.approve(ids["waiting"])
        await until(pilot, lambda: not app.desk.plans.is_waiting(ids["waiting"]), "it waits no longer")
        plans.revoke(ids["waiting"])
        await told(app, pilot, "deploy invoices 2.2.0 began to wait for approval. 4 shows what needs a person.")
        assert rung == [1]
        for app_name in ("cart", "router", "inbox"):
            plans.create(app_name, "2.0.0")
        await told(app, pilot, "3 plans began to wait for approval. 4 shows what needs a person.")
        assert rung == [1, 1]
        stage.clock.wall_ms += MINUTE
        await pilot.pause(1.3)
        assert rung == [1, 1]


async def test_a_plan_that_is_approved_before_anybody_was_told_rings_no_bell(stage: Stage) -> None:
    plans, _ = planned(stage)
    async with stage.app() as (app, pilot):
        plan_id = plans.create("cart", "2.0.0")
        await until(pilot, lambda: app.desk.plans.is_waiting(plan_id), "it waits")
        plans.approve(plan_id)
        await pilot.pause(1.7)
        assert toasts(app) == []


# What is done


async def test_the_menu_says_of_each_action_that_cannot_be_done_why_not(stage: Stage) -> None:
    plans, ids = planned(stage)
    wanted = {
        "waiting": {"v": "no approval", "e": "no approval: it waits for one", "x": "no operation: it was not applied"},
        "approved": {"p": "already approved at 11:54:00Z"},
        "stale": dict.fromkeys("pe", "stale: current_version is 2.1.0, expected 2.0.0"),
        "running": {"p": "executed: its operation is running", "e": "executed: its operation is running"},
        "failed": {"e": "executed: its operation is failed", "x": "the operation has ended: failed"},
        "indeterminate": {"x": "nothing of the operation runs any more: it is indeterminate"},
        "denied": {"p": "denied, no approval can help: A rule denies", "e": "denied: A rule denies"},
        "tampered": dict.fromkeys("pvex", "the record cannot be trusted (PLAN_HASH_MISMATCH); nothing is done with it"),
    }
    ids["tampered"] = ids["ready"]
    plans.tampers(ids["tampered"])
    async with stage.app() as (app, pilot):
        await approvals(app, pilot)
        for name, reasons in wanted.items():
            await on_plan(app, pilot, ids[name])
            lines = await lines_of_menu(pilot)
            for key, reason in reasons.items():
                assert lines[key].startswith(reason), (name, key, lines[key])
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.approvals, "back")
        await on_plan(app, pilot, ids["running"])
        await pilot.press("a")
        menu = await opened(pilot, ActionMenu)
        await pilot.press("p")
        await told(app, pilot, "executed: its operation is running")
        assert app.screen is menu


async def test_an_approval_is_of_the_hash_on_the_screen_and_of_nothing_else(stage: Stage) -> None:
    _, ids = planned(stage)
    plan_id = ids["waiting"]
    async with stage.app(80, 24) as (app, pilot):
        await approvals(app, pilot)
        await on_plan(app, pilot, plan_id)
        screen = await confirming(app, pilot, "p", "lets cli and mcp execute this plan, once")
        said = page(app, "plan")
        assert screen.query_one("#cancel", Button).has_focus
        for fact in (
            "It executes nothing",
            "./deploy --version 2.2.0 --wait",
            "all 5 hold now",
            "--expect-hash sha256:",
        ):
            assert fact in said, fact
        await press_apply(app, pilot)
        await told(app, pilot, "Approve: deploy invoices 2.2.0 is approved at 2026-08-01 12:00:00Z")
        record: Any = loads(approval(stage, plan_id).read_bytes())
        assert record["plan_hash"] in said.replace("\n", "")
        assert record["approver_provenance"] == "tui"
        await until(pilot, lambda: "◇ approved" in row(app, plan_id), "the row follows")
        await confirming(app, pilot, "v", "what has begun under it goes on")
        await press_apply(app, pilot)
        await told(app, pilot, "Revoke: deploy invoices 2.2.0 has no approval any more")
        assert not approval(stage, plan_id).exists()


async def test_a_plan_that_is_swapped_under_the_dialog_is_never_approved(stage: Stage) -> None:
    """Whoever is faster than the screen meets the core, which compares the hash that was on the screen."""
    plans, ids = planned(stage)
    plan_id = ids["waiting"]
    async with stage.app() as (app, pilot):
        await approvals(app, pilot)
        await on_plan(app, pilot, plan_id)
        screen = await confirming(app, pilot, "p", "once")
        for worker in [*app.workers]:
            if worker.name == "arc feed":
                worker.cancel()  # the screen is not told any more
        await pilot.pause()
        plans.swaps(plan_id, "cart", "1.9.4")
        before = bytes_of(stage.data_dir)
        assert not screen.query_one("#apply", Button).disabled, "the screen does not know it"
        await press_apply(app, pilot)
        await told(app, pilot, "Approve: PLAN_HASH_MISMATCH")
        assert app.screen is app.approvals, "told plainly, and not tried again"
        assert not approval(stage, plan_id).exists()
        assert bytes_of(stage.data_dir) == before


async def test_a_command_without_the_hash_would_have_approved_what_was_swapped(stage: Stage) -> None:
    """The control of the test above: the same, bound to the id alone."""
    plans, ids = planned(stage)
    plans.swaps(ids["waiting"], "cart", "1.9.4")
    did(stage.console, "authz approve", plan_id=ids["waiting"])
    assert approval(stage, ids["waiting"]).exists()


async def test_the_dialog_closes_its_way_on_and_says_what_has_changed(stage: Stage) -> None:
    plans, ids = planned(stage)
    async with stage.app() as (app, pilot):
        await approvals(app, pilot)
        await on_plan(app, pilot, ids["waiting"])
        screen = await confirming(app, pilot, "p", "once")
        await until(pilot, lambda: "✓ unchanged: waits, sha256:" in bar(app, "guard"), "the guard")
        plans.declare("invoices", "2.0.0")
        await until(pilot, lambda: "▲ now stale: current_version is 2.0.0" in bar(app, "guard"), "stale")
        assert screen.query_one("#apply", Button).disabled
        plans.declare("invoices", "2.1.0")
        await until(pilot, lambda: "unchanged" in bar(app, "guard"), "it applies again")
        plans.approve(ids["waiting"])
        await until(pilot, lambda: "▲ approved at 12:00:00Z through cli" in bar(app, "guard"), "somebody was first")
        assert screen.query_one("#apply", Button).disabled
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.approvals, "back")
        await on_plan(app, pilot, ids["waiting too"])
        await confirming(app, pilot, "p", "once")
        plans.swaps(ids["waiting too"], "cart", "1.9.4")
        await until(pilot, lambda: "▲ the plan has another content now" in bar(app, "guard"), "another content")
        (stage.data_dir / "plans" / f"{ids['waiting too']}.json").unlink()
        await until(pilot, lambda: "✗ the record has gone" in bar(app, "guard"), "gone")


async def test_an_apply_wants_its_proof_ends_quickly_and_the_log_follows_to_the_end(stage: Stage) -> None:
    plans, _ = planned(stage)
    gate = stage.data_dir / "gate"
    script = f"echo step one; while [ ! -e {gate} ]; do sleep 0.02; done; printf 'step two\\n'"
    plans.declare("cart", "2.1.0", ("sh", "-c", script))
    plan_id = plans.create("cart", "2.2.0")
    plans.approve(plan_id)
    async with stage.app() as (app, pilot):
        await approvals(app, pilot)
        await on_plan(app, pilot, plan_id)
        screen = await confirming(app, pilot, "e", "runs sh -c")
        assert "at most once" in page(app, "plan")
        assert screen.query_one("#apply", Button).disabled
        await proven(app, pilot, plan_id[-4:])
        await until(pilot, lambda: any("is running as op_" in said for said in toasts(app)), "it has begun", 20)
        await until(pilot, lambda: "● running" in row(app, plan_id), "the row follows")
        await pilot.press("enter")
        await opened(pilot, PlanRoom)
        await until(pilot, lambda: "step one" in page(app, "story"), "the log")
        assert "── ● running for" in page(app, "story")
        gate.touch()
        await until(pilot, lambda: "step two" in page(app, "story"), "what was appended")
        await until(pilot, lambda: "── the log ends: ✓ succeeded" in page(app, "story"), "its end", 20)
        await pilot.press("tab")
        for fact in (
            "status      ✓ succeeded",
            "exit        status 0",
            "version     2.1.0 → 2.2.0",
            "deployment  dep-",
        ):
            assert fact in page(app, "story"), fact


async def test_what_runs_is_cancelled_from_its_page_and_ends_with_its_group(stage: Stage) -> None:
    plans, _ = planned(stage)
    stage.clock.boot_id = SystemClock().boot()  # who runs must be certain before it is signalled
    plans.declare("cart", "2.1.0", ("sh", "-c", "echo begun; sleep 60; echo never"))
    plan_id = plans.create("cart", "2.2.0")
    plans.approve(plan_id)
    async with stage.app() as (app, pilot):
        await approvals(app, pilot)
        await on_plan(app, pilot, plan_id)
        await confirming(app, pilot, "e", "runs sh -c")
        await proven(app, pilot, plan_id[-4:])
        await until(pilot, lambda: "● running" in row(app, plan_id), "it runs", 20)
        await until(pilot, lambda: app.screen is app.approvals, "the dialog has ended")
        await pilot.press("enter")
        await opened(pilot, PlanRoom)
        await confirming(app, pilot, "x", "ends the process group")
        await proven(app, pilot, plan_id[-4:])
        await told(app, pilot, f"op_{plan_id.removeprefix('pln_')} is cancelled", 20)
        await until(pilot, lambda: "── the log ends: − cancelled" in page(app, "story"), "its end")
        assert "never" not in page(app, "story")


async def test_a_running_operation_is_cancelled_by_the_end_of_its_own_id(stage: Stage) -> None:
    plans, ids = planned(stage)
    operation_id = f"op_{ids['running'].removeprefix('pln_')}"
    plans.ends(operation_id, FAILED)
    never = plans.begins(ids["waiting"], child=GONE, applier=THERE)
    async with stage.app() as (app, pilot):
        await approvals(app, pilot)
        await on_plan(app, pilot, ids["waiting"])
        await confirming(app, pilot, "x", "What the command did before its end is not undone")
        assert "status" in page(app, "plan")
        assert bar(app, "proposal-title").startswith(f" End operation {never} ")
        await type_in(pilot, "0000")
        await pilot.press("enter")
        assert app.screen.query_one("#apply", Button).disabled, "another end than its own"
        app.screen.query_one("#proof-typed", Entry).value = ""
        plans.ends(never, CANCELLED)
        await until(pilot, lambda: "▲ the operation is cancelled now" in bar(app, "guard"), "somebody was first")


async def test_what_somebody_else_did_first_is_told_and_not_tried_again(stage: Stage) -> None:
    plans, ids = planned(stage)
    async with stage.app() as (app, pilot):
        await approvals(app, pilot)
        await on_plan(app, pilot, ids["waiting"])
        await confirming(app, pilot, "p", "once")
        for worker in [*app.workers]:
            if worker.name == "arc feed":
                worker.cancel()
        await pilot.pause()
        plans.approve(ids["waiting"])
        before = bytes_of(stage.data_dir)
        await press_apply(app, pilot)
        await told(app, pilot, "Approve: ALREADY_EXISTS")
        assert app.screen is app.approvals
        assert bytes_of(stage.data_dir) == before


async def test_read_only_says_so_of_every_action_on_a_plan(tmp_path: Path) -> None:
    planned(Stage(tmp_path / "data"))
    stage = Stage(tmp_path / "data", read_only=True)
    async with stage.app() as (app, pilot):
        await approvals(app, pilot)
        lines = await lines_of_menu(pilot)
        assert len(lines) == 4
        assert all(said.startswith("read-only") for said in lines.values())


async def test_help_tells_the_signs_and_the_palette_leads_there(stage: Stage) -> None:
    planned(stage)
    async with stage.app() as (app, pilot):
        commands = [one.title for one in app.get_system_commands(app.screen)]
        assert "Approvals" in commands
        await approvals(app, pilot)
        await pilot.press("question_mark")
        await opened(pilot, HelpScreen)
        said = page(app, "help-page")
        assert "the actions on the selected plan" in said
        assert "◆ waits" in said
        assert "it is never run again" in said


# A log


async def test_a_log_that_is_scrolled_stays_where_it_is_and_follows_again_at_its_end(stage: Stage) -> None:
    plans, ids = planned(stage)
    operation_id = f"op_{ids['running'].removeprefix('pln_')}"
    plans.prints(operation_id, *(f"line {number}" for number in range(60)))
    async with stage.app(80, 24) as (app, pilot):
        await approvals(app, pilot)
        await on_plan(app, pilot, ids["running"])
        await pilot.press("enter")
        await opened(pilot, PlanRoom)
        story = app.screen.query_one("#story", TextPage)
        await until(pilot, lambda: "line 59" in story.text and story.is_at_end, "it opens at its end")
        await pilot.press("g")
        assert story.scroll_offset.y == 0
        plans.prints(operation_id, "one more")
        await until(pilot, lambda: "one more" in story.text, "it is read on")
        assert story.scroll_offset.y == 0, "somebody reads there"
        await pilot.press("G")
        plans.prints(operation_id, *(f"and {number}" for number in range(30)))
        await until(pilot, lambda: "and 29" in story.text, "it is read on")
        await until(pilot, lambda: story.is_at_end, "its end is followed")


async def test_a_log_is_opened_at_its_end_bounded_and_read_on_from_there(stage: Stage) -> None:
    plans, ids = planned(stage)
    operation_id = f"op_{ids['running'].removeprefix('pln_')}"
    lines = b"".join(b"%06d %s\n" % (number, b"x" * 90) for number in range(3_000))
    plans.appends(operation_id, lines + "half ü".encode()[:-1])
    async with stage.app() as (app, _):
        tail = LogTail(app.desk, operation_id)
        assert await tail.look()
        assert len(tail.lines) == FIRST_LINES + 1
        assert tail.is_cut
        assert tail.lines[-2].startswith("002999 x")
        assert tail.lines[-1] == "half "
        assert not await tail.look(), "nothing was appended"
        plans.appends(operation_id, "ü".encode()[-1:] + b" whole\n" + b"y" * 70_000 + b"\nafter\n")
        assert await tail.look()
        assert tail.lines[-3] == "half ü whole"
        assert tail.lines[-2].startswith("yyyy")
        assert len(tail.lines[-2]) <= 2_001
        assert tail.lines[-1] == "after"


@pytest.mark.parametrize("kind", ["absent", "a link", "a pipe"])
async def test_what_is_no_log_is_not_read_and_waits_for_nothing(stage: Stage, kind: str) -> None:
    plans, ids = planned(stage)
    operation_id = f"op_{ids['running'].removeprefix('pln_')}"
    stands_for_the_log(plans.log_of(operation_id), kind)
    async with stage.app() as (app, pilot):
        await approvals(app, pilot)
        await on_plan(app, pilot, ids["running"])
        await pilot.press("enter")
        await opened(pilot, PlanRoom)
        await until(pilot, lambda: "Nothing was printed yet." in page(app, "story"), "the page")
        assert "not for the screen" not in page(app, "story")


# What a session refers to


async def test_what_a_session_refers_to_opens_and_what_is_not_there_says_so(stage: Stage) -> None:
    plans, ids = planned(stage)
    gone = plans.create("cart", "2.0.0")
    refers = {
        "plans": (ids["waiting"], gone),
        "operations": (f"op_{ids['succeeded'].removeprefix('pln_')}",),
        "deployments": (f"dep-{ids['failed'].removeprefix('pln_')}", "dep-00"),
    }
    session = did(plans.agent, "session create", title="ship it").session_id
    did(plans.agent, "session checkpoint", session_id=session, **refers)
    (stage.data_dir / "plans" / f"{gone}.json").unlink()
    async with stage.app() as (app, pilot):
        assert fleet_of(app).move_to(session)
        for room in ("fleet", "session"):
            if room == "session":
                await pilot.press("enter")
                await opened(pilot, SessionRoom)
            for kind, subject, said in (
                ("plan", ids["waiting"], "WAITS for an approval"),
                ("operation", refers["operations"][0], ids["succeeded"]),
                ("deployment", refers["deployments"][0], ids["failed"]),
            ):
                await pilot.press("o")
                await opened(pilot, ReferencesMenu)
                assert app.screen.query_one(RowList).move_to(f"{kind} {subject}")
                await pilot.press("enter")
                await opened(pilot, PlanRoom)
                await until(pilot, lambda said=said: said in page(app, "story"), f"{kind} opens its plan")
                await pilot.press("escape")
                await until(pilot, lambda: not isinstance(app.screen, PlanRoom), "back")
        await pilot.press("o")
        menu = await opened(pilot, ReferencesMenu)
        for row_id, said in ((f"plan {gone}", "is not there"), ("deployment dep-00", "is unknown")):
            assert menu.query_one(RowList).move_to(row_id)
            await pilot.press("enter")
            await told(app, pilot, said)
            assert app.screen is menu, "nothing opens"


async def test_an_operation_without_a_plan_has_a_page_and_a_log_of_its_own(stage: Stage) -> None:
    plans, ids = planned(stage)
    operation_id = f"op_{ids['running'].removeprefix('pln_')}"
    (stage.data_dir / "plans" / f"{ids['running']}.json").unlink()
    async with stage.app() as (app, pilot):
        await approvals(app, pilot)
        await on_plan(app, pilot, operation_id)
        assert "● running" in row(app, operation_id)
        lines = await lines_of_menu(pilot)
        assert lines["p"] == "this operation's plan is not here"
        assert lines["x"] == "cancel it: end the command that runs"
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.approvals, "back")
        await pilot.press("enter")
        await opened(pilot, PlanRoom)
        await until(pilot, lambda: "shift 10% of the traffic" in page(app, "story"), "its log")
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.approvals, "back")
        plans.ends(operation_id)
        app.post_message(PlanWanted("deployment", f"dep-{ids['running'].removeprefix('pln_')}"))
        room = await opened(pilot, PlanRoom)
        await until(pilot, lambda: "SUCCEEDED" in page(app, "story"), "its deployment leads to it")
        board = app.desk.plans.board
        plans.create("cart", "2.0.0")
        await until(pilot, lambda: app.desk.plans.board is not board, "something else has changed")
        await pilot.pause(0.1)
        assert (room.subject, "INVALID" in page(app, "story")) == (operation_id, False)


async def test_a_plan_that_is_too_old_for_the_list_still_opens(stage: Stage) -> None:
    plans, ids = planned(stage)
    old = ids["succeeded"]
    for _ in range(50):
        plan_id = plans.create("handbook", "2.2.0")
        plans.ends(plans.begins(plan_id))
    session = did(plans.agent, "session create", title="ship it").session_id
    did(plans.agent, "session checkpoint", session_id=session, plans=(old,))
    async with stage.app() as (app, pilot):
        await approvals(app, pilot)
        assert "2 older plans that have ended are not listed" in bar(app, "state")
        assert app.desk.plans.seen(old) is None
        await pilot.press("1", "o")
        await opened(pilot, ReferencesMenu)
        await pilot.press("enter")
        await opened(pilot, PlanRoom)
        await until(pilot, lambda: "SUCCEEDED" in page(app, "story"), "its page")
        lines = await lines_of_menu(pilot)
        assert lines["e"] == "executed: its operation is succeeded"


# Hostile text, and every size


HOSTILE = (*MARKUP[:3], *ESCAPES[:5], WIDTHS[0], WIDTHS[1], "a\nb\r\nc\u2028d\tf", "汉" * 900, "x" * 2_000)


@pytest.mark.parametrize("part", range(2))
async def test_no_text_of_a_plan_or_a_log_breaks_a_screen_or_is_obeyed(stage: Stage, part: int) -> None:
    plans = Plans(stage)
    plans.policy()
    for number, text in enumerate(HOSTILE[part::2]):
        plans.declare(f"app{number}", "2.1.0", ("./deploy", text))
        plan_id = plans.create(f"app{number}", "2.2.0", reason=text[:160])
        plans.appends(plans.begins(plan_id), f"first\n{text}\nafter\n".encode())
        if number < 3:
            plans.approve(plans.create(f"app{number}", "2.0.0", reason=text[:160]))
    async with stage.app(100, 30) as (app, pilot):
        await approvals(app, pilot)
        for one in plans_of(app).rows:
            await on_plan(app, pilot, one.id)
            check(app, app.size)
            await pilot.press("enter")
            await opened(pilot, PlanRoom)
            await until(pilot, lambda: "after" in page(app, "story") or "APPROVED" in page(app, "story"), "the page")
            check(app, app.size)
            await pilot.press("tab")
            await pilot.pause()
            check(app, app.size)
            if "APPROVED" in page(app, "story"):
                await confirming(app, pilot, "e", "runs ./deploy")
                check(app, app.size)
                await pilot.press("escape")
                await opened(pilot, PlanRoom)
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.approvals, "back")
        assert app.is_running


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 10), (200, 60), (20, 5), (1, 1)])
async def test_every_room_of_plans_is_drawn_at_every_size(stage: Stage, size: tuple[int, int]) -> None:
    planned(stage)
    async with stage.app(*size) as (app, pilot):
        await approvals(app, pilot)
        for keys in ("j", "tab", "tab", "enter", "tab", "G", "a"):
            await pilot.press(keys)
            await pilot.pause()
            check(app, app.size)
