"""The demo's applications, plans and operations: real enough to approve, apply, follow and cancel, and harmless.

Each application prints what a deployment would print, and sleeps. Under the demo's policy every execution wants an
approval, from the command line too. One plan waits, one is stale, and one operation's process is gone.
"""

import json
from contextlib import suppress
from typing import Final

from phelix_core.arc.applicability import CURRENT_VERSION, VERSION_INPUT, facts_of, preconditions_of
from phelix_core.arc.applications import Application, decode_application, execution_of
from phelix_core.arc.model import DEPLOY, Actor, Plan, Precondition, plan_document, plan_of
from phelix_core.arc.operations import (
    FAILED,
    SUCCEEDED,
    Operation,
    OperationError,
    begun,
    finished,
    new_operation,
    with_child,
)
from phelix_core.arc.output import OutputLog
from phelix_core.commands.environment import Environment
from phelix_core.errors import AlreadyExists, DeployFailed
from phelix_core.processes import ProcessIdentity

BEFORE: Final = "2.0.0"
CURRENT: Final = "2.1.0"
NEXT: Final = "2.2.0"
WAITS: Final = "waits"
IS_STALE: Final = "is stale"
DIED: Final = "died"
_MINUTE: Final = 60_000
_GONE: Final = 2**30
"""A pid that no system gives."""
_STEPS: Final = (
    "fetch the image",
    "start 2 instances",
    "shift 10% of the traffic",
    "watch the error rate",
    "shift all of the traffic",
    "stop the old instances",
)
_APPLICATION: Final = """\
# A demo: nothing is deployed. The commands print what a deployment would, and sleep.
name = "{name}"
language = "python"
version = "{current}"
versions = ["{before}", "{current}", "{next}"]

[deploy]
command = ["sh", "-c", {script}, "{{version}}"]
time_limit_seconds = 120

[rollback]
command = ["sh", "-c", {script}, "{{version}}"]
time_limit_seconds = 120

[health]
command = ["sh", "-c", "echo 2 of 2 instances answer"]
time_limit_seconds = 5
"""
_POLICY: Final = {
    "schema_version": "1",
    "mode": "enforced",
    "rules": [
        {
            "description": "Whoever asks, a person approves first",
            "actor": {"type": "*", "authenticated": False},
            "action": "*",
            "target": "*",
            "effect": "allow",
            "require_approval": True,
        }
    ],
}


class DemoArc:
    """Applications, plans and operations in one data directory."""

    def __init__(self, env: Environment) -> None:
        self._env = env
        self._arc = env.arc
        self._known: dict[str, Application] = {}
        self._fates = iter((WAITS, IS_STALE))
        self._deaths = iter((DIED,))

    def write_policy(self) -> None:
        """Write the policy under which every execution wants an approval."""
        self._arc.add_policy(json.dumps(_POLICY, indent=2).encode())

    def add_plan(self, plan_id: str, app: str, at_ms: int, via: str) -> str | None:
        """Write a plan that nobody has executed: the first waits, the second is stale; of others nothing is made."""
        fate = next(self._fates, None)
        if fate is not None:
            plan = self._plan(plan_id, app, at_ms, via, is_stale=fate == IS_STALE)
            self._arc.add_plan(plan)
        return fate

    def add_operation(
        self,
        plan_id: str | None,
        app: str,
        at_ms: int,
        via: str,
        *,
        deployment_id: str,
        fate: str | None,
        fallback: str,
    ) -> str:
        """Write an operation and the plan that it executed, if it has one; answers the operation's id.

        The first whose session goes on has lost its processes; those of failed sessions have failed.
        """
        if plan_id is None:
            self._arc.add_operation(_alone(fallback, app, at_ms, deployment_id))
            return fallback
        plan = self._plan(plan_id, app, at_ms, via, is_stale=True)
        self._arc.add_plan(plan)
        gone = ProcessIdentity(pid=_GONE, started=1, boot=self._env.clock.boot())
        operation = new_operation(
            plan,
            actor=Actor(type=via, id=None, authenticated=False),
            applier=gone,
            deployment_id=deployment_id,
            authz_decision_id=f"azd_{plan_id.removeprefix('pln_')}",
            approval_id=None,
            at_ms=at_ms,
        )
        operation = with_child(begun(operation, at_ms), gone, at_ms)
        died = fate is None and next(self._deaths, None) == DIED
        lines = _STEPS[: 3 if died or fate == FAILED else None]
        if not died:
            operation = _ended(operation, at_ms + _MINUTE, is_failed=fate == FAILED)
        self._arc.add_operation(operation)
        if died:
            log = OutputLog(self._arc.log_of(operation.id), None)
            log.feed("".join(f"{app} {CURRENT}: {line}\n" for line in lines).encode())
            log.close()
        return operation.id

    def _plan(self, plan_id: str, app: str, at_ms: int, via: str, *, is_stale: bool) -> Plan:
        application = self._application(app)
        version = CURRENT if is_stale else NEXT
        taken = preconditions_of(application, facts_of(application, ()), version)
        if is_stale:
            taken = tuple(
                Precondition(type=fact.type, expected=BEFORE, source=fact.source)
                if fact.type == CURRENT_VERSION
                else fact
                for fact in taken
            )
        document = plan_document(
            plan_id,
            app,
            at_ms,
            actor=Actor(type=via, id=None, authenticated=False),
            target={"language": application.language or ""},
            inputs={VERSION_INPUT: version, "reason": "as agreed in the weekly review"},
            execution=execution_of(application, DEPLOY, version),
            preconditions=taken,
            capabilities=(DEPLOY,),
        )
        return plan_of(document, plan_id)

    def _application(self, name: str) -> Application:
        """The application, its file written at its first use."""
        if name not in self._known:
            words = " ".join(f'"{step}"' for step in _STEPS)
            script = f'for step in {words}; do echo "$PHELIX_APPLICATION $0: $step"; sleep 1; done'
            text = _APPLICATION.format(name=name, before=BEFORE, current=CURRENT, next=NEXT, script=json.dumps(script))
            self._known[name] = decode_application(text.encode(), name)
            with suppress(AlreadyExists):
                self._arc.add_application(name, text.encode())
        return self._known[name]


def _ended(operation: Operation, at_ms: int, *, is_failed: bool) -> Operation:
    if is_failed:
        error = OperationError(code=DeployFailed.code, message="The deploy command ended with exit status 1.")
        return finished(operation, FAILED, at_ms, result={"exit_code": 1}, error=error)
    health = {"status": "healthy", "source": "command", "detail": "2 of 2 instances answer"}
    return finished(
        operation,
        SUCCEEDED,
        at_ms,
        result={"version": CURRENT, "from_version": BEFORE, "exit_code": 0, "verification": health},
    )


def _alone(operation_id: str, app: str, at_ms: int, deployment_id: str) -> Operation:
    """An operation without a plan, as the guide's own tool leaves one."""
    return Operation(
        schema_version="1",
        id=operation_id,
        kind=DEPLOY,
        app=app,
        status=SUCCEEDED,
        deployment_id=deployment_id,
        created_at_ms=at_ms,
        updated_at_ms=at_ms + _MINUTE,
        finished_at_ms=at_ms + _MINUTE,
    )
