"""A small queue with an issue in each state that a command starts from; the same ids on every call."""

import tempfile
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

from phelix_core.checks import Surface
from phelix_core.commands.environment import Environment, open_environment
from phelix_core.settings import Settings
from phelix_core.strictjson import dumps
from tests.rig import FixedClock, did

LONG_AGO_MS = 1_000
HOST = {"host": "h1", "workload_classes": ["default"]}


def batch(*tasks: str) -> str:
    """A plan of one milestone, its issues free of each other."""
    issues = [{"task": task, "priority": "medium", "size": "S"} for task in tasks]
    return dumps({"milestones": [{"milestone_key": "m", "description": "first", "issues": issues}]})


def fill(data_dir: Path) -> dict[str, str]:
    """Make the queue, long ago and on a boot that is not told: by now every lease has expired; answers its ids."""
    clock = FixedClock(LONG_AGO_MS)
    clock.boot_id = ""
    numbers = count(0x1000)
    settings = Settings(data_dir=str(data_dir))
    env = open_environment(settings, Surface.CLI, clock=clock, mint=lambda: f"{next(numbers):016x}")
    did(env, "queue init", name="acme")
    known = {
        "running": did(env, "queue campaign", project_name="billing", campaign_name="running")["campaignId"],
        "quiet": did(env, "queue campaign", project_name="billing", campaign_name="quiet")["campaignId"],
        "drained": did(env, "queue campaign", project_name="billing", campaign_name="drained")["campaignId"],
    }
    did(env, "queue plan", batch=batch("held", "done", "failed", "blocked"), campaign="running")
    did(env, "queue plan", batch=batch("free", "next"), campaign="quiet")
    did(env, "queue plan", batch=batch("later"), campaign="drained")
    did(env, "queue drain", campaign_id=known["drained"], reason="a pause")
    known["held"], known["lease"] = _claimed(env, "held", agent="a1", artifacts=["diff=/w/x"])
    for status in ("done", "failed", "blocked"):
        known[status], lease = _claimed(env, status, agent=status)
        did(env, "queue close", lease=lease, status=status, summary="s", next_step="n", evidence=["commit:1"])
    env.queue.close()
    return known


def _claimed(env: Environment, task: str, **more: Any) -> tuple[str, str]:
    if task == "held":
        did(env, "queue promote", campaign="running")
    issues = did(env, "queue list", campaign="running")["issues"]
    issue_id = next(issue["id"] for issue in issues if issue["task"] == task)
    answer = did(env, "queue claim", issue_id=issue_id, campaign="running", **HOST, **more)
    return issue_id, answer["leaseId"]


def _known() -> Mapping[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        return fill(Path(folder) / "data")


KNOWN = _known()
REPORT = {"status": "done", "summary": "all of it", "next_step": "none", "evidence": ["commit:1"]}

QUEUE_STORED: dict[str, dict[str, Any]] = {
    "queue init": {"name": "other"},
    "queue campaign": {"project_name": "billing", "campaign_name": "new", "objective": "ship", "policy": "{}"},
    "queue plan": {"batch": batch("more"), "campaign": "quiet"},
    "queue list": {"status": "pending", "limit": 5},
    "queue show": {"issue_id": KNOWN["held"]},
    "queue health": {"campaign": "quiet"},
    "queue export": {"limit": 2, "runs": 3, "events": 5},
    "queue audit": {"issue_id": KNOWN["held"], "limit": 1},
    "queue next": {**HOST, "campaign": "running"},
    "queue context": {},
    "queue claim": {**HOST, "campaign": "quiet", "agent": "a9", "artifacts": ["diff=/w/y"], "ttl": 60},
    "queue recover": {"issue_id": KNOWN["held"], "resolution": "requeue", "reason": "its agent died"},
    "queue checkpoint": {**REPORT, "status": "in_progress", "lease": KNOWN["lease"], "title": "half"},
    "queue heartbeat": {"lease": KNOWN["lease"], "ttl": 60},
    "queue close": {**REPORT, "lease": KNOWN["lease"]},
    "queue advance": {**REPORT, "lease": KNOWN["lease"]},
    "queue artifacts save": {"issue": KNOWN["held"], "kind": "report", "path": "/w/r", "lease": KNOWN["lease"]},
    "queue artifacts list": {"issue": KNOWN["held"]},
    "queue memory sync": {"limit": 5},
    "queue promote": {"campaign": "quiet"},
    "queue reconcile": {},
    "queue unblock": {"issue_id": KNOWN["blocked"], "reason": "its key came"},
    "queue retry": {"issue_id": KNOWN["failed"], "reason": "fixed"},
    "queue rollback": {"issue_id": KNOWN["done"], "reason": "not really"},
    "queue drain": {"campaign_id": "running", "reason": "a pause"},
    "queue undrain": {"campaign_id": KNOWN["drained"], "reason": "go on"},
    "queue archive": {"campaign_id": "running", "reason": "over"},
}
QUEUE_REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "queue init": ({"name": ""}, "INVALID_ARGUMENT"),
    "queue campaign": ({"project_name": "x", "campaign_name": "y", "workspace": "none"}, "INVALID_ARGUMENT"),
    "queue plan": ({"batch": "{}", "campaign": "quiet"}, "INVALID_ARGUMENT"),
    "queue list": ({"campaign": "none"}, "NOT_FOUND"),
    "queue show": ({"issue_id": "I-none"}, "NOT_FOUND"),
    "queue health": ({"project": "none"}, "NOT_FOUND"),
    "queue export": ({"project": "none"}, "NOT_FOUND"),
    "queue audit": ({"issue_id": KNOWN["held"], "cursor": "p1"}, "INVALID_ARGUMENT"),
    "queue next": ({**HOST, "project": "none"}, "NOT_FOUND"),
    "queue context": ({"project": "none"}, "NOT_FOUND"),
    "queue claim": ({**HOST, "campaign": "drained"}, "ISSUE_NOT_CLAIMABLE"),
    "queue recover": ({"issue_id": KNOWN["done"], "resolution": "requeue", "reason": "r"}, "QUEUE_INVALID_TRANSITION"),
    "queue checkpoint": ({**REPORT, "lease": "L-none"}, "LEASE_LOST"),
    "queue heartbeat": ({"lease": "L-none"}, "LEASE_LOST"),
    "queue close": ({**REPORT, "status": "in_progress", "lease": KNOWN["lease"]}, "INVALID_ARGUMENT"),
    "queue advance": ({**REPORT, "lease": "L-none"}, "LEASE_LOST"),
    "queue artifacts save": ({"issue": "I-none", "kind": "k", "path": "p"}, "NOT_FOUND"),
    "queue artifacts list": ({"issue": "I-none"}, "NOT_FOUND"),
    "queue memory sync": ({"limit": 0}, "INVALID_ARGUMENT"),
    "queue promote": ({"campaign": "none"}, "NOT_FOUND"),
    "queue reconcile": ({"campaign": "none"}, "NOT_FOUND"),
    "queue unblock": ({"issue_id": KNOWN["done"], "reason": "r"}, "QUEUE_INVALID_TRANSITION"),
    "queue retry": ({"issue_id": KNOWN["done"], "reason": "r"}, "QUEUE_INVALID_TRANSITION"),
    "queue rollback": ({"issue_id": "I-none", "reason": "r"}, "NOT_FOUND"),
    "queue drain": ({"campaign_id": "drained", "reason": "r"}, "QUEUE_INVALID_TRANSITION"),
    "queue undrain": ({"campaign_id": "running", "reason": "r"}, "QUEUE_INVALID_TRANSITION"),
    "queue archive": ({"campaign_id": "none", "reason": "r"}, "NOT_FOUND"),
}
LEAST: dict[str, Any] = {
    "session_id": "ses_0000000000000001", "directory": "x", "shell": "bash", "keep": 1, "older_than": "1d",
    "name": "kept", "project_name": "x", "campaign_name": "x", "campaign_id": "x", "issue_id": "x", "issue": "x",
    "batch": "{}", "host": "x", "workload_classes": ["x"], "resolution": "requeue", "status": "done", "summary": "x",
    "next_step": "x", "evidence": ["x"], "reason": "x", "kind": "x", "path": "x", "where": "app=billing",
    "file": "x", "plan_id": "pln_0000000000002004", "operation_id": "op_0000000000002001", "action": "deploy",
    "app": "shop", "resource": "project",
}  # fmt: skip
"""For each field that some command requires, a value that it takes."""
