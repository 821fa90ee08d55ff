"""A queue to look at: two milestones and a half, one issue of every state, a memory, all written through the commands.

Ids are counted, so that pictures are the same on every run; the clock is the stage's, so that leases run out when a
test says so.
"""

import json
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, Final

from phelix_core.checks import Surface
from phelix_core.commands.demo_queue import DemoMemory
from phelix_core.commands.environment import Environment, open_environment
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.frozen import changed
from phelix_tui.app import ConsoleApp
from phelix_tui.widgets.rowlist import RowList
from tests.tui.stage import Stage

MINUTE: Final = 60_000
CLASS: Final = ("code",)

BATCH: Final[Mapping[str, Any]] = {
    "milestones": [
        {
            "milestone_key": "foundations",
            "description": "Everything that the rest stands on",
            "issues": [
                {"task": "Pin the toolchain and the base image", "priority": "high", "size": "S"},
                {"task": "Port the ledger schema to STRICT tables", "priority": "critical", "size": "M"},
                {"task": "Replay last month's invoices against the new schema", "priority": "high", "size": "L"},
                {"task": "Load test the write path at 5,000 a second", "priority": "medium", "size": "M"},
                {"task": "Decide who signs the migration off", "priority": "medium", "size": "S"},
                {"task": "Draft the runbook", "priority": "medium", "size": "S"},
                {"task": "Reconcile rounding between old and new", "priority": "high", "size": "M"},
            ],
        },
        {
            "milestone_key": "rollout",
            "description": "From one customer to all of them",
            "depends_on_milestone_keys": ["foundations"],
            "issues": [
                {"task": "Canary at 1%", "priority": "high", "size": "S"},
                {"task": "Canary at 25%", "priority": "high", "size": "S", "depends_on_indices": [0]},
                {"task": "All customers", "priority": "critical", "size": "M", "depends_on_indices": [1]},
            ],
        },
        {
            "milestone_key": "docs",
            "description": "What people read",
            "issues": [
                {"task": "Write the change notes", "priority": "low", "size": "S"},
                {"task": "Bisect the broken link checker", "priority": "low", "size": "M"},
                {"task": "清理旧的结算文档", "priority": "low", "size": "S", "depends_on_indices": [0]},
            ],
        },
    ]
}


def counted() -> Callable[[], str]:
    """Ids in order, sixteen hexadecimal digits that differ at their end."""
    numbers = count(0xA1)
    return lambda: f"{next(numbers):016x}"


class Queue:
    """The commands of a queue, as the agents of a stage call them."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        opened = open_environment(stage.settings, Surface.CLI, clock=stage.clock, mint=counted())
        self.agent: Environment = changed(opened, kept={"memory": DemoMemory()})

    def does(self, name: str, /, **raw: object) -> Any:
        """Carry a command out; it must succeed."""
        envelope = run(load_command(f"queue {name}"), raw, self.agent)
        assert envelope.error is None, (name, envelope.error)
        return envelope.result

    def refused(self, name: str, /, **raw: object) -> str:
        """Carry a command out that must be refused; answers its code."""
        envelope = run(load_command(f"queue {name}"), raw, self.agent)
        assert envelope.error is not None, envelope.result
        return envelope.error.code

    def plan(self, batch: Mapping[str, Any] = BATCH) -> dict[str, str]:
        """Make the queue; answers the issues' ids by task."""
        self.does("init", name="northwind")
        self.does("campaign", project_name="billing", campaign_name="v3")
        planned = self.does("plan", batch=json.dumps(batch))
        return {
            issue["task"]: issue["id"]
            for milestone in planned["generatedMilestones"]
            for issue in milestone["generatedIssues"]
        }

    def claim(self, issue_id: str, agent: str, **more: object) -> Any:
        return self.does("claim", issue_id=issue_id, agent=agent, host="host-a", workload_classes=CLASS, **more)

    def close(self, lease: str, status: str, summary: str, **more: object) -> Any:
        report = {"summary": summary, "next_step": "Go on.", "evidence": ("run-1.log",)}
        return self.does("close", lease=lease, status=status, **report, **more)

    def checkpoint(self, lease: str, summary: str, status: str = "in_progress", **more: object) -> Any:
        report = {"summary": summary, "next_step": "Go on.", "evidence": ("run-1.log",)}
        return self.does("checkpoint", lease=lease, status=status, **report, **more)

    def issue(self, issue_id: str) -> Any:
        return self.does("show", issue_id=issue_id)["issue"]


def filled(stage: Stage) -> tuple[Queue, dict[str, str]]:
    """One issue of every state: done, ready, in progress, stale by both rules, blocked, failed, waiting."""
    queue, clock = Queue(stage), stage.clock
    start = clock.wall_ms
    clock.wall_ms = start - 95 * MINUTE
    ids = queue.plan()
    by = {task.split()[0]: issue_id for task, issue_id in ids.items()}
    done = queue.claim(by["Pin"], "builder-1")["leaseId"]
    queue.checkpoint(done, "Images are pinned by digest.")
    queue.close(done, "done", "Every image is pinned and builds twice the same.")
    failed = queue.claim(by["Bisect"], "builder-2")["leaseId"]
    queue.close(failed, "failed", "It depends on wall time; there is no first bad commit.")
    blocked = queue.claim(by["Decide"], "builder-3")["leaseId"]
    queue.close(blocked, "blocked", "Nobody answers.", reason="waits for finance to name a signer")
    clock.wall_ms = start - 74 * MINUTE
    queue.claim(by["Load"], "builder-4", ttl=7_200, freshness=3_600)
    clock.wall_ms = start - 44 * MINUTE
    ported = queue.claim(by["Port"], "builder-2", ttl=1_800, memory=True)["leaseId"]
    queue.checkpoint(ported, "Amounts become whole cents.", title="amounts", memory=True, memory_kind="decision")
    queue.does("memory sync")
    queue.checkpoint(ported, "Eleven of fourteen tables are ported.", memory=True)
    clock.wall_ms = start - 40 * MINUTE
    replayed = queue.claim(by["Replay"], "builder-5", ttl=7_200)["leaseId"]
    clock.wall_ms = start - 20 * MINUTE
    queue.claim(by["Draft"], "builder-1", ttl=1_800)
    queue.checkpoint(replayed, "Two invoices of May do not balance.", "needs_recovery")
    clock.wall_ms = start
    return queue, ids


def issues_of(app: ConsoleApp) -> RowList:
    """The list of issues."""
    return app.queue.query_one("#issues", RowList)


def states_in(app: ConsoleApp) -> list[str]:
    """The states of the issues as listed, from above."""
    return [row.state for one in issues_of(app).rows if (row := app.desk.backlog.row(one.id)) is not None]
