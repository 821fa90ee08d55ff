"""`plan apply`: the only path that executes, gate after gate, and the record of it.

Promises: a refusal consumes nothing and runs nothing, and leaves but its line in the log of decisions; a plan is
executed at most once, whoever dies when; the command begins only once its operation stands as running, with the
process that it is; how it ended is recorded from what was seen of it and from nothing else, and where that could not
be recorded the answer is `OUTCOME_UNKNOWN`. Whoever applies the plan again gets the same answer. Source: arc page,
`plan apply`; upstream sessions page, section 3 (apply order).
"""

import os
import shlex
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from phelix_core.arc.applicability import VERSION_INPUT, Facts, applicability_of, facts_of, require_applicable
from phelix_core.arc.applications import Application
from phelix_core.arc.authorization import Ruling, authorize, decision_of, require_allowed
from phelix_core.arc.model import Plan
from phelix_core.arc.operations import (
    Operation,
    begun,
    new_operation,
    operation_id_of,
    verified,
    with_child,
)
from phelix_core.checks import MAX_INTEGER, Surface
from phelix_core.commands.arc.endings import Applied, answer_of, answer_of_foreign, require_over, with_outcome
from phelix_core.commands.arc.fields import PlanId
from phelix_core.commands.arc.reading import ArcReading, asker_of
from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import Effect, command
from phelix_core.errors import (
    AlreadyExists,
    Interrupted,
    NotFound,
    OutcomeUnknown,
    PhelixError,
    PlanHashMismatch,
    Unavailable,
)
from phelix_core.frozen import changed, frozen
from phelix_core.processes import ProcessIdentity, identity_of
from phelix_core.redaction import redact
from phelix_core.strictjson import plain

if TYPE_CHECKING:  # a refusal needs neither the executor nor the means to describe a write
    from phelix_core.arc.executor import Execution, Outcome
    from phelix_core.commands.preview import WritePlan

_TRIES: Final = 3
_PAUSE_S: Final = 0.2


@frozen
class ApplyPlan:
    """Execute a plan: run what its application declares, once, if it still applies and may be executed."""

    plan_id: PlanId


@command(
    "plan apply",
    effect=Effect.WRITE,
    result=Applied,
    caution="A plan is executed at most once: applying it again answers the same and runs nothing.",
    runs=True,
)
def apply_plan(request: ApplyPlan, env: Environment) -> "Applying":
    """Decide an execution."""
    return Applying(request, env)


@frozen
class Passage:
    """What stands behind the gates: the plan, true of its application now, and what was ruled about it.

    `not_before_ms` follows all that is on record of the application: a clock that was set back must not put what is
    executed now before what was executed earlier, or the older version would pass for the current one.
    """

    plan: Plan
    application: Application
    facts: Facts
    ruling: Ruling
    not_before_ms: int


class Applying:
    """The intent to execute one plan."""

    def __init__(self, request: ApplyPlan, env: Environment) -> None:
        self._request = request
        self._env = env
        self._arc = env.arc
        self._asker = asker_of(env)

    def _look(self) -> Passage | Applied:
        """Go through the gates as far as looking goes; a plan that was executed answers for itself."""
        reading = ArcReading(self._env)
        plan = self._arc.plan(self._request.plan_id)
        if (answer := self._answered(plan, reading)) is not None:
            return answer
        application = reading.application(plan.action.application)
        facts = facts_of(application, reading.operations)
        require_applicable(plan, applicability_of(plan, facts, self._env.clock.now_ms()))
        if application is None:  # a plan that presupposes nothing, not even its application
            raise NotFound(f"There is no application {plan.action.application}. Nothing was executed.")
        ruling = authorize(reading.policy, self._asker, plan, reading.approval(plan.plan_id))
        return Passage(
            plan=plan,
            application=application,
            facts=facts,
            ruling=ruling,
            not_before_ms=_after(one for one in reading.operations if one.app == application.name),
        )

    def _answered(self, plan: Plan, reading: ArcReading) -> Applied | None:
        """The answer of the execution that there was; None if there was none. Raises where it failed or goes on."""
        try:
            operation, status = self._arc.told(self._arc.operation(operation_id_of(plan.plan_id)))
        except NotFound:
            return answer_of_foreign(plan, reading)
        require_over(operation, plan, status)
        return answer_of(operation, self._arc, already=True)

    def plan(self) -> "WritePlan":
        """Describe the execution; what would be refused is refused, and what was executed answers the same."""
        found = self._look()
        if isinstance(found, Applied):
            return self._nothing_to_do(found)
        require_allowed(found.ruling, found.plan)
        self._arc.decisions()  # a log that cannot be read is not written to either
        self._arc.require_unlocked(found.plan.action.application)
        return self._describe(found)

    def _nothing_to_do(self, answer: Applied) -> "WritePlan":
        from phelix_core.commands.preview import plan_of  # noqa: PLC0415 - previews only

        return plan_of(
            apply_plan,
            self._request,
            self._env,
            target={"plan_id": answer.plan_id, "operation_id": answer.operation_id},
            changes=(),
            side_effects=("nothing is executed: the plan has been applied",),
            outcome=plain(answer),
        )

    def _describe(self, passage: Passage) -> "WritePlan":
        from phelix_core.commands.preview import NEW, NOW, field_changes, plan_of  # noqa: PLC0415 - previews only

        plan, application = passage.plan, passage.application
        operation = {
            "id": operation_id_of(plan.plan_id),
            "status": "pending → running → ‹outcome›",
            "deployment_id": NEW,
            "authz_decision_id": NEW,
            "approval_id": passage.ruling.approval_id,
        }
        run = {name: plan.execution[name] for name in ("folder", "time_limit_seconds", "environment")}
        command_line = shlex.join(map(str, _argv(plan)))
        health = "its health is checked after that" if application.health else "it declares no health check"
        return plan_of(
            apply_plan,
            self._request,
            self._env,
            target={
                "plan_id": plan.plan_id,
                "plan_hash": plan.plan_hash,
                "application": application.name,
                "action": plan.action.type,
            },
            preconditions={"plan_hash": plan.plan_hash, "operation": None, "approval_id": passage.ruling.approval_id},
            changes=field_changes({}, {"operation": operation, "run": {"command": command_line, **run}}),
            event={
                "decision": passage.ruling.effect,
                "code": passage.ruling.code,
                "actor_type": self._asker.type,
                "rule_index": passage.ruling.rule_index,
                "decided_at_ms": NOW,
            },
            side_effects=(f"runs {command_line}", health),
            outcome={"operation_id": operation["id"], "code": passage.ruling.code},
        )

    def apply(self, expect_digest: str | None) -> Applied:
        """Go through the gates, execute, and answer how it ended."""
        if self._env.surface is Surface.TUI:
            from phelix_core.commands.arc.apart import begun_apart  # noqa: PLC0415 - the console only

            return begun_apart(self._env, self._request.plan_id, expect_digest)
        found = self._look()
        if isinstance(found, Applied):
            return found
        if expect_digest and found.ruling.allowed:
            from phelix_core.commands.preview import require_digest  # noqa: PLC0415 - previews only

            require_digest(expect_digest, self._describe(found).digest)
        decision_id = f"azd_{self._env.mint()}"
        self._decided(found, decision_id)
        lock = self._arc.application_lock(found.application.name)
        try:
            ruled, decided = found.ruling, found.plan.plan_hash
            found = self._look()  # another apply may have ended between the first look and the lock
            if isinstance(found, Applied):
                return found
            if found.plan.plan_hash != decided:
                raise PlanHashMismatch("The plan was replaced while it was looked at. Nothing was executed.")
            if found.ruling != ruled:  # or a policy been written, or an approval revoked
                decision_id = f"azd_{self._env.mint()}"
                self._decided(found, decision_id)
            return self._execute(found, decision_id, lock)
        finally:
            os.close(lock)  # and never unlocked: a command that outlives us holds on

    def _decided(self, passage: Passage, decision_id: str) -> None:
        """Log the decision, and refuse where it is no; without its line nothing is executed."""
        ruling = changed(passage.ruling, reason=redact(passage.ruling.reason))
        decision = decision_of(
            ruling,
            self._asker,
            passage.plan,
            decision_id=decision_id,
            at_ms=self._env.clock.now_ms(),
            provenance=self._env.surface.value,
        )
        try:
            self._arc.add_decision(decision)
        except PhelixError:
            require_allowed(ruling, passage.plan)  # a refusal is told as what it is, also where it cannot be logged
            raise
        require_allowed(ruling, passage.plan)

    # Behind the gates

    def _execute(self, passage: Passage, decision_id: str, lock: int) -> Applied:
        applier = identity_of(os.getpid(), self._env.clock.boot())
        assert applier is not None  # noqa: S101 - we are here
        mint = self._env.mint
        operation = new_operation(
            passage.plan,
            actor=self._asker,
            applier=applier,
            deployment_id=f"dep-{mint()}{mint()[:8]}",
            authz_decision_id=decision_id,
            approval_id=passage.ruling.approval_id,
            at_ms=max(self._env.clock.now_ms(), passage.not_before_ms),
        )
        if self._env.interrupted():
            raise Interrupted("Interrupted before anything was executed.")
        try:
            self._arc.add_operation(operation)
        except AlreadyExists:
            found = self._look()
            if isinstance(found, Applied):
                return found
            raise
        except PhelixError:
            self._withdraw(operation.id)
            raise
        outcome = self._run(passage, operation.id, lock)
        ended = self._recorded(operation.id, with_outcome(passage.plan, passage.facts, outcome, self._env), outcome)
        return answer_of(self._verified(ended, passage), self._arc, already=False, interrupted=self._env.interrupted())

    def _run(self, passage: Passage, operation_id: str, lock: int) -> "Outcome":
        """Run the declared command; what nothing has begun of is withdrawn, so that it consumes nothing."""
        from phelix_core.arc.executor import run_command  # noqa: PLC0415 - nothing else executes

        has_begun = False

        def begin(child: ProcessIdentity) -> None:
            nonlocal has_begun
            at_ms = self._env.clock.now_ms()
            self._arc.update_operation(operation_id, lambda now: with_child(begun(now, at_ms), child, at_ms))
            has_begun = True
            if told is not None:
                told(f"{plan.action.type} {plan.action.application} {plan.inputs[VERSION_INPUT]} (Ctrl-C cancels it)")

        plan, told = passage.plan, _quietly(self._env.narrate)
        try:
            outcome = run_command(
                self._execution(passage, operation_id, lock),
                clock=self._env.clock,
                begun=begin,
                told=told,
                cancelled=self._env.interrupted,
            )
        except BaseException as fault:
            if not has_begun:
                self._unbegun(operation_id, fault)
            if not isinstance(fault, Exception):
                raise
            raise OutcomeUnknown(
                "The command was ended by a fault of Phelix; whether it had done its work is not known.",
                details={"operation_id": operation_id},
                operation_id=operation_id,
            ) from fault
        if not has_begun:
            self._unbegun(operation_id, Unavailable(f"Nothing was executed: {redact(outcome.reason or 'no process')}."))
        return outcome

    def _unbegun(self, operation_id: str, fault: BaseException) -> None:
        """Raise why nothing has begun: cancelled before it could, or a fault, which consumes nothing."""
        cancelled = self._withdraw(operation_id)
        if cancelled is not None:
            answer_of(cancelled, self._arc, already=False)
        raise fault

    def _withdraw(self, operation_id: str) -> Operation | None:
        with suppress(PhelixError):
            return self._arc.withdraw_operation(operation_id)
        return None

    def _execution(self, passage: Passage, operation_id: str, lock: int) -> "Execution":
        from phelix_core.arc.executor import LOCK_NUMBER, Execution  # noqa: PLC0415 - nothing else executes

        plan, name = passage.plan, passage.application.name
        told = {
            "PHELIX_APPLICATION": name,
            "PHELIX_ACTION": plan.action.type,
            "PHELIX_VERSION": str(plan.inputs[VERSION_INPUT]),
            "PHELIX_OPERATION_ID": operation_id,
            "PHELIX_LOCK_FD": str(LOCK_NUMBER),
        }
        declared = passage.application.command_for(plan.action.type)
        assert declared is not None  # noqa: S101 - applicable plans have a declared command
        return Execution(
            argv=_argv(plan),
            folder=f"{self._arc.folder_of(name)}/{declared.folder}",
            environ=declared.seen_of(os.environ) | told,
            time_limit_s=declared.time_limit_seconds,
            log_path=self._arc.log_of(operation_id),
            lock_fd=lock,
        )

    def _recorded(self, operation_id: str, change: Callable[[Operation], Operation], outcome: "Outcome") -> Operation:
        """Record how it ended; where that fails for good, nobody may take it for anything but unknown."""
        for tried in range(_TRIES):
            try:
                return self._arc.update_operation(operation_id, change)
            except PhelixError as error:
                if tried == _TRIES - 1:
                    told = {"kind": outcome.kind, "exit_code": outcome.exit_code, "signal": outcome.signal}
                    raise OutcomeUnknown(
                        f"The command has ended, and that could not be recorded: {error.message}",
                        hint="Look at the application itself: phelix inspect health.",
                        details={"operation_id": operation_id, **told},
                        operation_id=operation_id,
                    ) from None
                self._env.clock.sleep(_PAUSE_S)
        raise AssertionError

    def _verified(self, operation: Operation, passage: Passage) -> Operation:
        """The operation with what a look at the application's health found, if it succeeded."""
        if operation.status != "succeeded" or "verification" in (operation.result or {}):
            return operation
        from phelix_core.arc.health import check_health  # noqa: PLC0415 - after a success only

        application = passage.application
        health = check_health(
            application.health,
            folder=self._arc.folder_of(application.name),
            environ=os.environ,
            clock=self._env.clock,
            cancelled=self._env.interrupted,
        )
        at_ms = self._env.clock.now_ms()
        try:
            return self._arc.update_operation(operation.id, lambda now: verified(now, plain(health), at_ms))
        except PhelixError:  # what succeeded has succeeded; the record keeps silent about its health
            return verified(operation, plain(health), at_ms)


def _after(operations: Iterable[Operation]) -> int:
    """A moment later than all that operations tell."""
    return min(max((one.updated_at_ms + 1 for one in operations), default=0), MAX_INTEGER)


def _argv(plan: Plan) -> tuple[str, ...]:
    """The command, which an applicable plan has in the words of its application."""
    argv = plan.execution["argv"]
    assert isinstance(argv, list)  # noqa: S101 - it is equal to the declared one
    return tuple(map(str, argv))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _quietly(narrate: Callable[[str], None] | None) -> Callable[[str], None] | None:
    """Tell each line as long as somebody listens: who stops listening must not end the command."""
    if narrate is None:
        return None

    def told(line: str) -> None:
        with suppress(OSError, ValueError):
            narrate(line)

    return told
