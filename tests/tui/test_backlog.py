"""What the console holds of the queue, without a screen: it follows the board, and never loses what stands."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from phelix_core.checks import Surface
from phelix_core.clock import moment_of
from phelix_core.commands.environment import Environment
from phelix_core.queue.board import Board
from phelix_tui.backlog import Backlog
from tests.rig import FixedClock, did, environment


def claimed_by_a_process(env: Environment, pid: int) -> Any:
    did(env, "queue init", name="n")
    did(env, "queue campaign", project_name="p", campaign_name="c")
    issue = {"task": "t", "priority": "low", "size": "S"}
    milestone = {"milestone_key": "a", "description": "d", "issues": [issue]}
    did(env, "queue plan", batch=json.dumps({"milestones": [milestone]}))
    return did(env, "queue claim", agent="a", host="h", workload_classes=("c",), holder_pid=pid)


def test_a_holder_whose_process_went_keeps_its_lease_until_the_lease_ends(tmp_path: Path) -> None:
    clock = FixedClock()
    env = environment(tmp_path / "data", clock, Surface.TUI)
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        context = claimed_by_a_process(env, process.pid)
        backlog = Backlog()

        def looks() -> set[str]:
            board = did(env, "queue board", **({"since": backlog.seq} if len(backlog) else {}))
            assert isinstance(board, Board)
            return backlog.take(board, moment_of(clock))

        looks()
        assert backlog.state(context["issueId"]) == "in_progress"
    finally:
        process.kill()
        process.wait()
        assert process.stdin is not None
        process.stdin.close()
    assert context["issueId"] in looks()
    assert backlog.gone == {context["leaseId"]}
    assert backlog.leases[context["issueId"]].id == context["leaseId"]
    assert backlog.state(context["issueId"]) == "in_progress", "gone is shown; the lease alone decides"
    assert backlog.blockers() == []
    assert "GONE" in str(backlog.explain(context["issueId"], moment_of(clock)))
    clock.advance(3_600)
    backlog.tick(moment_of(clock), ())
    assert backlog.state(context["issueId"]) == "stale"
    env.queue.close()
