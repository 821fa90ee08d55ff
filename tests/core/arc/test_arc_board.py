"""The arc as a live view keeps it: nothing is read while nothing changes, and nothing that changes is missed."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from phelix_core.arc.board import ArcBoard
from phelix_core.arc.operations import INDETERMINATE, RUNNING, SUCCEEDED, begun, finished, new_operation, with_child
from phelix_core.arc.standing import APPROVED, STALE, WAITING, Standing
from phelix_core.checks import Surface
from phelix_core.commands.arc.board import MOST_ENDED
from phelix_core.commands.environment import Environment
from phelix_core.processes import ProcessIdentity, started_at
from tests.core.arc.samples import CLI, DECISION_ID
from tests.core.arc.stage import APPROVED_FIRST, declare, put_policy
from tests.rig import FixedClock, bytes_of, did, environment, refused

GONE = ProcessIdentity(pid=2**30, started=1, boot="boot-1")


class Arc:
    """A console's environment over one data directory, and an agent's beside it."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.clock = FixedClock()
        self.console: Environment = environment(data_dir, self.clock, Surface.TUI)
        self.agent: Environment = environment(data_dir, self.clock, Surface.MCP)
        self.person: Environment = environment(data_dir, self.clock)
        declare(data_dir)
        put_policy(data_dir, APPROVED_FIRST)

    def plan(self, to: str = "1.4.0") -> str:
        return did(self.agent, "plan create", action="deploy", app="shop", to=to).plan_id

    def begin(self, plan_id: str, process: ProcessIdentity = GONE) -> str:
        arc, now_ms = self.person.arc, self.clock.now_ms()
        operation = new_operation(
            arc.plan(plan_id),
            actor=CLI,
            applier=process,
            deployment_id="dep-01",
            authz_decision_id=DECISION_ID,
            approval_id=None,
            at_ms=now_ms,
        )
        arc.add_operation(with_child(begun(operation, now_ms), process, now_ms))
        return operation.id

    def end(self, operation_id: str) -> None:
        at_ms = self.clock.now_ms()
        self.person.arc.update_operation(operation_id, lambda now: finished(now, SUCCEEDED, at_ms, result={}))

    def board(self, **about: str) -> ArcBoard:
        return did(self.console, "arc board", **about)

    def settled(self) -> ArcBoard:
        """The board when nothing is looked at again."""
        board = self.board()
        assert self.board() is self.board()
        return board

    def states(self) -> dict[str, str]:
        return {one.plan.plan_id: one.state for one in self.board().plans}


@pytest.fixture
def arc(tmp_path: Path) -> Arc:
    return Arc(tmp_path / "data")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which files are opened from now on."""
    names: list[str] = []
    really = os.open

    def noting(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        names.append(os.fsdecode(path))
        return really(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", noting)
    return names


def test_an_empty_directory_has_an_empty_board_and_stays_empty(tmp_path: Path) -> None:
    console = environment(tmp_path / "none", FixedClock(), Surface.TUI)
    board: ArcBoard = did(console, "arc board")
    assert (board.plans, board.operations, board.bad, board.policy.state) == ((), (), (), "absent")
    assert did(console, "arc board") is board
    assert not (tmp_path / "none").exists()


def test_while_nothing_changes_no_file_is_opened_and_the_very_same_board_is_answered(
    arc: Arc, opened: list[str]
) -> None:
    arc.begin(arc.plan())
    arc.plan("1.2.0")
    board = arc.settled()
    before = bytes_of(arc.data_dir)
    opened.clear()
    for _ in range(50):
        arc.clock.advance(1)
        assert arc.board() is board
    assert [name for name in opened if not Path(name).is_dir()] == []
    assert len(opened) <= 50 // 10, "and once in ten seconds the names of applications are listed"
    assert bytes_of(arc.data_dir) == before


def test_the_search_for_opened_files_finds_them(arc: Arc, opened: list[str]) -> None:
    """The control of the test above."""
    plan_id = arc.plan()
    opened.clear()
    arc.board()
    assert any(plan_id in name for name in opened)


def test_what_changes_is_seen_at_the_next_look_whoever_writes_it(arc: Arc) -> None:
    plan_id = arc.plan()
    arc.settled()
    assert arc.states() == {plan_id: WAITING}
    did(arc.person, "authz approve", plan_id=plan_id)
    assert arc.states() == {plan_id: APPROVED}
    did(arc.person, "authz revoke", plan_id=plan_id)
    assert arc.states() == {plan_id: WAITING}
    file = arc.data_dir / "apps" / "shop" / "app.toml"
    file.write_text(file.read_text().replace('version = "1.3.0"', 'version = "1.2.0"', 1))
    assert arc.states() == {plan_id: STALE}
    put_policy(arc.data_dir, text="{}")
    assert arc.board().policy.state == "AUTHZ_INVALID"


def test_two_changes_within_one_tick_of_the_clock_of_the_disk_are_both_seen(arc: Arc) -> None:
    """The folder tells the same time after both; a look that trusts it alone would keep what it saw in between."""
    first = arc.plan()
    folder = arc.data_dir / "plans"
    at = folder.stat().st_mtime_ns
    assert set(arc.states()) == {first}
    second = arc.plan("1.2.0")
    os.utime(folder, ns=(at, at))
    assert set(arc.states()) == {first, second}


def test_a_record_that_is_changed_in_place_is_found_within_ten_seconds_and_never_trusted(arc: Arc) -> None:
    plan_id = arc.plan()
    arc.settled()
    file = arc.data_dir / "plans" / f"{plan_id}.json"
    folder = file.parent.stat()
    file.write_text(file.read_text().replace('"1.4.0"', '"6.6.6"'))
    os.utime(file.parent, ns=(folder.st_atime_ns, folder.st_mtime_ns))
    arc.clock.advance(9)
    assert arc.states() == {plan_id: WAITING}
    arc.clock.advance(1.5)
    board = arc.board()
    assert board.plans == ()
    assert [(one.folder, one.id, one.code) for one in board.bad] == [("plans", plan_id, "PLAN_HASH_MISMATCH")]


def test_a_process_that_dies_without_a_word_is_found_within_a_second(arc: Arc) -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        there = ProcessIdentity(pid=process.pid, started=started_at(process.pid) or 0, boot="")
        plan_id = arc.plan()
        arc.begin(plan_id, there)
        arc.settled()
        assert arc.states() == {plan_id: RUNNING}
        process.kill()
        process.wait()
    arc.clock.advance(0.4)
    assert arc.states() == {plan_id: RUNNING}
    arc.clock.advance(0.7)
    assert arc.states() == {plan_id: INDETERMINATE}


def test_of_what_has_ended_the_newest_are_listed_and_older_ones_answer_for_themselves(arc: Arc) -> None:
    ids = list[str]()
    for _ in range(MOST_ENDED + 3):
        arc.clock.advance(1)
        ids.append(arc.plan())
        arc.end(arc.begin(ids[-1]))
    open_ = arc.plan()
    board = arc.board()
    assert [one.plan.plan_id for one in board.plans] == [open_, *ids[:2:-1]]
    assert board.left_out == 3
    [old] = arc.board(plan=ids[0]).plans
    assert old.state == SUCCEEDED
    [by_operation] = arc.board(operation=f"op_{ids[0].removeprefix('pln_')}").plans
    assert by_operation.plan.plan_id == ids[0]
    [by_deployment] = arc.board(deployment="dep-01").plans
    assert by_deployment.plan.plan_id == ids[-1], "the newest that tells of it"


def test_an_operation_without_its_plan_stands_for_itself(arc: Arc) -> None:
    plan_id = arc.plan()
    operation_id = arc.begin(plan_id)
    (arc.data_dir / "plans" / f"{plan_id}.json").unlink()
    board = arc.board()
    assert [(one.operation.id, one.status) for one in board.operations] == [(operation_id, INDETERMINATE)]
    [alone] = arc.board(operation=operation_id).operations
    assert alone.status == INDETERMINATE


def test_a_damaged_operation_is_told_once_by_its_plan(arc: Arc) -> None:
    plan_id = arc.plan()
    operation_id = arc.begin(plan_id)
    (arc.data_dir / "ops" / f"{operation_id}.json").write_text("{")
    board = arc.board()
    [standing] = board.plans
    assert isinstance(standing, Standing)
    assert standing.state == "OPERATION_CORRUPT"
    assert board.bad == ()


def test_what_no_operation_tells_of_is_unknown(arc: Arc) -> None:
    assert refused(arc.console, "arc board", deployment="dep-ff")["code"] == "NOT_FOUND"
    assert refused(arc.console, "arc board", plan="pln_00000000000000ff")["code"] == "NOT_FOUND"


@pytest.mark.parametrize("surface", [Surface.CLI, Surface.MCP])
def test_only_the_console_is_answered(arc: Arc, surface: Surface) -> None:
    other = environment(arc.data_dir, arc.clock, surface)
    assert refused(other, "arc board")["code"] == "INVALID_ARGUMENT"
    assert refused(other, "arc log", operation_id="op_0000000000000001")["code"] == "INVALID_ARGUMENT"


def test_a_log_is_answered_in_parts_from_its_end_and_from_where_one_left_off(arc: Arc) -> None:
    operation_id = arc.begin(arc.plan())
    log = Path(arc.person.arc.log_of(operation_id))
    assert did(arc.console, "arc log", operation_id=operation_id).data == b""
    log.write_bytes(b"one\ntwo\n")
    part = did(arc.console, "arc log", operation_id=operation_id, limit=4)
    assert (part.data, part.begin) == (b"two\n", 4)
    assert did(arc.console, "arc log", operation_id=operation_id, start=8).data == b""
    with log.open("ab") as file:
        file.write(b"three\n")
    assert did(arc.console, "arc log", operation_id=operation_id, start=8).data == b"three\n"
