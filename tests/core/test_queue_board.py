"""The board: everything once, then only what changed, and by indexes however long the queue is."""

import json
from pathlib import Path
from typing import Any

from phelix_core.checks import Surface
from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.queue.board import Board
from phelix_core.sqlite import Database
from tests.rig import FixedClock, did, environment

HOST: dict[str, Any] = {"host": "h", "workload_classes": ("c",)}


def queue(data_dir: Path) -> tuple[Environment, list[str]]:
    """A console's environment over two milestones; answers the issues' ids."""
    env = environment(data_dir, FixedClock(), Surface.TUI)
    assert run(load_command("queue init"), {"name": "n"}, env).error is None
    did(env, "queue campaign", project_name="p", campaign_name="c")
    issue = {"task": "t", "priority": "low", "size": "S"}
    first = {"milestone_key": "a", "description": "d", "issues": [issue, {**issue, "depends_on_indices": [0]}]}
    second = {"milestone_key": "b", "description": "d", "depends_on_milestone_keys": ["a"], "issues": [issue]}
    planned = did(env, "queue plan", batch=json.dumps({"milestones": [first, second]}))
    return env, [one["id"] for made in planned["generatedMilestones"] for one in made["generatedIssues"]]


def board(env: Environment, **raw: object) -> Board:
    found = did(env, "queue board", **raw)
    assert isinstance(found, Board)
    return found


def test_the_whole_board_holds_every_issue_its_gates_and_its_milestones(tmp_path: Path) -> None:
    env, ids = queue(tmp_path)
    found = board(env)
    assert found.whole
    assert [issue.id for issue in sorted(found.issues, key=lambda issue: issue.position)] == ids
    assert found.needs == ((ids[1], ids[0]),)
    assert [milestone.key for milestone in found.milestones] == ["a", "b"]
    assert len(found.milestone_needs) == 1
    assert found.leases == ()


def test_behind_an_event_only_what_changed_is_answered(tmp_path: Path) -> None:
    env, ids = queue(tmp_path)
    seq = board(env).seq
    assert board(env, since=seq).issues == ()
    did(env, "queue claim", agent="a", **HOST)
    changed = board(env, since=seq)
    assert not changed.whole
    assert [issue.id for issue in changed.issues] == [ids[0]]
    assert [lease.issue_id for lease in changed.leases] == [ids[0]]
    assert board(env, since=changed.seq).issues == ()


def test_what_is_about_more_than_an_issue_is_answered_whole(tmp_path: Path) -> None:
    env, _ = queue(tmp_path)
    seq = board(env).seq
    did(env, "queue campaign", project_name="p", campaign_name="another")
    assert board(env, since=seq).whole
    assert board(env, since=seq + 1_000).whole, "another file stands in the place of the one that was known"


def test_a_session_leads_to_the_issue_that_it_worked_on(tmp_path: Path) -> None:
    env, ids = queue(tmp_path)
    session_id = did(env, "queue claim", agent="a", **HOST)["sessionId"]
    assert [issue.id for issue in board(env, session=session_id).issues] == [ids[0]]
    assert board(env, session="ses_00000000000000ff").issues == ()


def test_no_question_about_what_changed_walks_through_a_table(tmp_path: Path) -> None:
    env, _ = queue(tmp_path)
    db = Database(env.queue.path, env.clock, read_only=True)
    for sql in (
        "SELECT issue_id FROM events WHERE seq > 1 ORDER BY seq LIMIT 9",
        "SELECT id FROM issues WHERE id = 'x'",
        "SELECT depends_on FROM issue_dependencies WHERE issue_id = 'x'",
        "SELECT id FROM leases WHERE issue_id = 'x' AND status IN ('active', 'needs_recovery')",
        "SELECT id FROM leases WHERE status = 'active' AND holder_pid IS NOT NULL",
        "SELECT id FROM leases WHERE status = 'active'",
    ):
        plan = [str(row[-1]) for row in db.ask(f"EXPLAIN QUERY PLAN {sql}")]
        assert all("SEARCH" in step or "USING" in step for step in plan), (sql, plan)
    db.close()
