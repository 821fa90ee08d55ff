"""An application with a plan and an operation in each state that a command starts from; the same ids on every call."""

import tempfile
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

from phelix_core.arc.model import Actor
from phelix_core.arc.operations import (
    SUCCEEDED,
    Operation,
    begun,
    finished,
    new_operation,
    operation_id_of,
    verified,
    with_child,
)
from phelix_core.checks import Surface
from phelix_core.commands.environment import Environment, open_environment
from phelix_core.processes import ProcessIdentity
from phelix_core.settings import Settings
from tests.core.arc.samples import rule
from tests.core.arc.stage import declare, put_policy
from tests.rig import FixedClock, did

LONG_AGO_MS = 1_000
GONE = ProcessIdentity(pid=4_194_303, started=1, boot="a boot long ago")
"""A process that has certainly ended."""
CLI = Actor(type="cli", id=None, authenticated=False)
EACH_DEPLOY_IS_FREE = (rule(action="deploy"), rule(require_approval=True))
"""Whoever asks may deploy; everything else wants a person's approval."""


def fill(data_dir: Path) -> dict[str, str]:
    """Declare the application `shop` and make its records, long ago; answers their ids."""
    numbers = count(0x2000)
    settings = Settings(data_dir=str(data_dir))
    clock = FixedClock(LONG_AGO_MS)
    env = open_environment(settings, Surface.CLI, clock=clock, mint=lambda: f"{next(numbers):016x}")
    put_policy(data_dir, *EACH_DEPLOY_IS_FREE)
    declare(data_dir, "echo something else")
    known = {"stale": _planned(env, "deploy", "1.4.0")}
    declare(data_dir, "echo did $0")
    known["done"] = _planned(env, "deploy", "1.3.0", "the winter release")
    known["succeeded"] = _executed(env, known["done"], SUCCEEDED)
    known["lost"] = _planned(env, "deploy", "1.4.0", "whoever applied it died")
    known["indeterminate"] = _executed(env, known["lost"])
    known["begun"] = _planned(env, "deploy", "1.4.0", "about to begin")
    known["pending"] = operation_id_of(known["begun"])
    env.arc.add_operation(_authorized(env, known["begun"]))
    known["ready"] = _planned(env, "deploy", "1.4.0", "the spring release")
    known["waiting"] = _planned(env, "rollback", "1.2.0")
    known["approved"] = _planned(env, "rollback", "1.2.0", "it is slow")
    did(env, "authz approve", plan_id=known["approved"])
    return known


def _planned(env: Environment, action: str, version: str, reason: str | None = None) -> str:
    asked = {"action": action, "app": "shop", "to": version} | ({"reason": reason} if reason else {})
    plan_id: str = did(env, "plan create", **asked).plan_id
    return plan_id


def _authorized(env: Environment, plan_id: str) -> Operation:
    return new_operation(
        env.arc.plan(plan_id),
        actor=CLI,
        applier=GONE,
        deployment_id=f"dep-{plan_id[-4:]}",
        authz_decision_id=f"azd_{plan_id[4:]}",
        approval_id=None,
        at_ms=LONG_AGO_MS,
    )


def _executed(env: Environment, plan_id: str, status: str | None = None) -> str:
    """The operation of a plan that was executed, to its end or to where its applier died."""
    operation = with_child(begun(_authorized(env, plan_id), LONG_AGO_MS), GONE, LONG_AGO_MS)
    if status is not None:
        result = {"version": "1.3.0", "from_version": "1.2.0", "exit_code": 0}
        operation = finished(operation, status, LONG_AGO_MS, result=result)
        operation = verified(operation, {"status": "unknown", "source": "none"}, LONG_AGO_MS)
    env.arc.add_operation(operation)
    log = Path(env.arc.log_of(operation.id))
    log.write_text("did 1.3.0\n")
    log.chmod(0o600)
    return operation.id


def _known() -> Mapping[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        return fill(Path(folder) / "data")


KNOWN = _known()
ABSENT_PLAN = "pln_00000000000000ff"
NO_HASH = f"sha256:{'0' * 64}"

ARC_STORED: dict[str, dict[str, Any]] = {
    "plan create": {"action": "deploy", "app": "shop", "to": "1.4.0", "reason": "ship"},
    "plan show": {"plan_id": KNOWN["done"]},
    "plan list": {"app": "shop", "limit": 5},
    "plan apply": {"plan_id": KNOWN["ready"]},
    "authz approve": {"plan_id": KNOWN["waiting"]},
    "authz revoke": {"plan_id": KNOWN["approved"]},
    "authz check": {"plan_id": KNOWN["waiting"]},
    "authz list": {"limit": 5},
    "operation status": {"operation_id": KNOWN["indeterminate"], "log_lines": 5},
    "operation list": {"app": "shop", "limit": 2},
    "operation cancel": {"operation_id": KNOWN["pending"]},
    "inspect": {"resource": "versions", "app": "shop"},
    "context": {"app": "shop"},
}
ARC_REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "plan create": ({"action": "deploy", "app": "shop", "to": "9.9"}, "NOT_FOUND"),
    "plan show": ({"plan_id": ABSENT_PLAN}, "NOT_FOUND"),
    "plan list": ({"limit": -1}, "INVALID_ARGUMENT"),
    "plan apply": ({"plan_id": KNOWN["stale"]}, "PLAN_STALE"),
    "authz approve": ({"plan_id": KNOWN["waiting"], "expect_hash": NO_HASH}, "PLAN_HASH_MISMATCH"),
    "authz revoke": ({"plan_id": KNOWN["waiting"]}, "NOT_FOUND"),
    "authz check": ({"plan_id": ABSENT_PLAN}, "NOT_FOUND"),
    "authz list": ({"limit": -1}, "INVALID_ARGUMENT"),
    "operation status": ({"operation_id": "op_00000000000000ff"}, "NOT_FOUND"),
    "operation list": ({"status": "unknown"}, "INVALID_ARGUMENT"),
    "operation cancel": ({"operation_id": KNOWN["indeterminate"]}, "OUTCOME_UNKNOWN"),
    "inspect": ({"resource": "app", "app": "absent"}, "NOT_FOUND"),
    "context": ({"app": "shop", "versions": 101}, "INVALID_ARGUMENT"),
}
