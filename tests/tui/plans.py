"""Plans to look at: applications, a policy, and plans in every state, written through the commands and the stores.

Ids are counted and processes have numbers of their own, so that pictures are the same on every run.
"""

import json
from pathlib import Path
from typing import Any, Final

from phelix_core.arc.model import Actor
from phelix_core.arc.operations import (
    CANCELLED,
    FAILED,
    SUCCEEDED,
    OperationError,
    begun,
    finished,
    new_operation,
    with_child,
)
from phelix_core.checks import Surface
from phelix_core.commands.environment import Environment, open_environment
from phelix_core.processes import ProcessIdentity
from phelix_core.strictjson import dumps, loads
from phelix_tui.app import ConsoleApp
from phelix_tui.widgets.rowlist import RowList
from tests.rig import did
from tests.tui.queues import counted
from tests.tui.stage import Stage

MINUTE: Final = 60_000
THERE: Final = ProcessIdentity(pid=1, started=0, boot="")
"""A process of which nobody can say that it has gone."""
GONE: Final = ProcessIdentity(pid=2**30, started=1, boot="")
APPLICATION: Final = """\
name = {name}
language = "python"
version = {version}
versions = ["1.9.4", "2.0.0", "2.1.0", "2.2.0"]

[deploy]
command = {command}
time_limit_seconds = 600
environment = ["PATH", "REGION"]
folder = "deploy"

[rollback]
command = ["./rollback", "--to", "{{version}}"]
time_limit_seconds = 120
"""
COMMAND: Final = ("./deploy", "--version", "{version}", "--wait")
APPROVED_FIRST: Final = {
    "schema_version": "1",
    "mode": "enforced",
    "rules": [
        {
            "actor": {"type": "*", "authenticated": False},
            "action": "*",
            "target": "legacy",
            "effect": "deny",
        },
        {
            "actor": {"type": "cli", "authenticated": False},
            "action": "*",
            "target": "handbook",
            "effect": "allow",
        },
        {
            "actor": {"type": "*", "authenticated": False},
            "action": "*",
            "target": "*",
            "effect": "allow",
            "require_approval": True,
        },
    ],
}
"""Nobody deploys `legacy`, the command line deploys `handbook`, and the rest wants an approval."""


class Plans:
    """What agents and people do about plans on a stage."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        mint = counted()
        self.agent = self._env(Surface.MCP, mint)
        self.person = self._env(Surface.CLI, mint)
        self.data_dir: Path = stage.data_dir

    def _env(self, surface: Surface, mint: Any) -> Environment:
        return open_environment(self.stage.settings, surface, clock=self.stage.clock, mint=mint)

    def declare(self, name: str, version: str = "2.1.0", command: tuple[str, ...] = COMMAND) -> Path:
        """Declare an application, as a person would; answers its file."""
        file = self.data_dir / "apps" / name / "app.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        told = APPLICATION.format(
            name=json.dumps(name), version=json.dumps(version), command=json.dumps(command, ensure_ascii=False)
        )
        file.write_text(told, encoding="utf-8")
        (file.parent / "deploy").mkdir(exist_ok=True)
        return file

    def policy(self, policy: object = APPROVED_FIRST) -> None:
        """Write the policy."""
        folder = self.data_dir / "authz"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / "policy.json").write_text(json.dumps(policy), encoding="utf-8")

    def create(self, app: str, to: str = "2.2.0", *, action: str = "deploy", by: str = "mcp", **more: object) -> str:
        """Make a plan, as an agent or a person would; answers its id."""
        env = self.person if by == "cli" else self.agent
        return did(env, "plan create", action=action, app=app, to=to, **more).plan_id

    def approve(self, plan_id: str) -> Any:
        return did(self.person, "authz approve", plan_id=plan_id)

    def revoke(self, plan_id: str) -> Any:
        return did(self.person, "authz revoke", plan_id=plan_id)

    def begins(self, plan_id: str, *, child: ProcessIdentity = THERE, applier: ProcessIdentity = THERE) -> str:
        """Somebody has begun to apply it; answers the operation's id."""
        arc, now_ms = self.person.arc, self.stage.clock.now_ms()
        operation = new_operation(
            arc.plan(plan_id),
            actor=Actor(type="cli", id=None, authenticated=False),
            applier=applier,
            deployment_id=f"dep-{plan_id.removeprefix('pln_')}",
            authz_decision_id=f"azd_{plan_id.removeprefix('pln_')}",
            approval_id=None,
            at_ms=now_ms,
        )
        arc.add_operation(with_child(begun(operation, now_ms), child, now_ms))
        return operation.id

    def log_of(self, operation_id: str) -> Path:
        """Where an operation's command prints to."""
        return Path(self.person.arc.log_of(operation_id))

    def prints(self, operation_id: str, *lines: str) -> None:
        """Its command prints whole lines."""
        self.appends(operation_id, "".join(f"{line}\n" for line in lines).encode())

    def appends(self, operation_id: str, data: bytes) -> None:
        """Its command prints something."""
        with self.log_of(operation_id).open("ab") as file:
            file.write(data)

    def ends(self, operation_id: str, status: str = SUCCEEDED, **result: object) -> None:
        """How it ended is recorded."""
        now_ms = self.stage.clock.now_ms()
        error = None
        if status == FAILED:
            error = OperationError(code="DEPLOY_FAILED", message="The deploy command ended with exit status 3.")
            result = {"exit_code": 3} | result
        if status == CANCELLED:
            error = OperationError(code="CANCELLED", message="It was cancelled through tui.")
        self.person.arc.update_operation(
            operation_id, lambda now: finished(now, status, now_ms, result=result, error=error)
        )

    def swaps(self, plan_id: str, app: str, to: str) -> str:
        """Another plan is put under the same id, sound in itself; answers its hash."""
        other = self.create(app, to)
        file, source = (self.data_dir / "plans" / f"{one}.json" for one in (plan_id, other))
        record: Any = loads(source.read_bytes())
        record["plan_id"] = plan_id
        source.unlink()
        _put(file, dumps(record).encode())
        return record["plan_hash"]

    def tampers(self, plan_id: str) -> None:
        """Somebody changes what a plan would run, and not its hash."""
        file = self.data_dir / "plans" / f"{plan_id}.json"
        record: Any = loads(file.read_bytes())
        record["execution"]["argv"] = ["./pwn"]
        _put(file, dumps(record).encode())


def _put(file: Path, data: bytes) -> None:
    staged = file.with_name(f".{file.name}.new")
    staged.write_bytes(data)
    staged.replace(file)


def planned(stage: Stage) -> tuple[Plans, dict[str, str]]:
    """A plan of every state, by the state's name."""
    plans, clock = Plans(stage), stage.clock
    now_ms = clock.wall_ms
    plans.policy()
    for name, version in (
        ("invoices", "2.1.0"), ("identity", "2.1.0"), ("catalog", "2.0.0"), ("wallet", "2.1.0"), ("router", "2.1.0"),
        ("cart", "2.1.0"), ("handbook", "2.1.0"), ("legacy", "1.9.4"), ("inbox", "2.1.0"), ("reports", "2.1.0"),
    ):  # fmt: skip
        plans.declare(name, version)
    ids: dict[str, str] = {}
    clock.wall_ms = now_ms - 95 * MINUTE
    ids["succeeded"] = plans.create("inbox", "2.2.0")
    operation = plans.begins(ids["succeeded"])
    plans.prints(operation, "pull inbox 2.2.0", "2 of 2 instances answer")
    clock.wall_ms += 2 * MINUTE
    health = {"status": "healthy", "source": "command", "detail": "2 of 2 instances answer"}
    log = {"bytes": 42, "truncated": False}
    plans.ends(operation, version="2.2.0", from_version="2.1.0", exit_code=0, log=log, verification=health)
    ids["failed"] = plans.create("reports", "2.2.0", by="cli")
    operation = plans.begins(ids["failed"])
    plans.prints(operation, "pull reports 2.2.0", "error: the bucket does not answer")
    clock.wall_ms += MINUTE
    plans.ends(operation, FAILED)
    clock.wall_ms = now_ms - 44 * MINUTE
    ids["stale"] = plans.create("catalog", "2.1.0")
    plans.declare("catalog", "2.1.0")
    ids["denied"] = plans.create("legacy", "2.0.0")
    ids["indeterminate"] = plans.create("wallet", "2.2.0")
    plans.prints(plans.begins(ids["indeterminate"], child=GONE, applier=GONE), "start 2 instances", "shift 10%")
    clock.wall_ms = now_ms - 14 * MINUTE
    ids["waiting"] = plans.create("invoices", "2.2.0", reason="invoice API v3 leaves the canary")
    clock.wall_ms = now_ms - 6 * MINUTE
    ids["approved"] = plans.create("cart", "2.2.0")
    plans.approve(ids["approved"])
    ids["ready"] = plans.create("handbook", "2.2.0", by="cli")
    clock.wall_ms = now_ms - 3 * MINUTE
    ids["waiting too"] = plans.create("identity", "2.0.0", action="rollback", by="cli")
    ids["running"] = plans.create("router", "2.2.0")
    clock.wall_ms = now_ms - 72_000
    plans.prints(
        plans.begins(ids["running"]),
        "fetch the image",
        "start 2 instances",
        "instance 1 answers after 3.2 s",
        "instance 2 answers after 4.0 s",
        "shift 10% of the traffic",
        "error rate 0.02%, p95 41 ms",
    )
    clock.wall_ms = now_ms
    return plans, ids


def plans_of(app: ConsoleApp) -> RowList:
    """The list of plans."""
    return app.approvals.query_one("#plans", RowList)


def states_in(app: ConsoleApp) -> list[str]:
    """The states of the plans as listed, from above."""
    rows = [app.desk.plans.row(one.id, app.desk.now_ms()) for one in plans_of(app).rows]
    return [row.state for row in rows if row is not None]
