"""The arc as it is now, each kind of record read once however much is asked of it."""

from functools import cached_property

from phelix_core.arc.applicability import UNUSABLE, Facts, applicability_of, facts_of
from phelix_core.arc.applications import Application
from phelix_core.arc.model import Actor, Plan
from phelix_core.arc.operations import Operation, operation_id_of
from phelix_core.arc.records import Unreadable
from phelix_core.arc.standing import Execution, FiledApproval, FiledPolicy, Standing, standing_of
from phelix_core.checks import CheckFailed
from phelix_core.commands.arc.answers import ShownOperation
from phelix_core.commands.environment import Environment
from phelix_core.errors import (
    ApprovalInvalid,
    AuthzInvalid,
    AuthzUnavailable,
    InvalidArgument,
    NotFound,
    OperationCorrupt,
    PhelixError,
)


def asker_of(env: Environment) -> Actor:
    """Who asks here, as plans, policies and operations know actors."""
    actor = env.actor
    return Actor(type=actor.type, id=actor.id, authenticated=actor.authenticated)


class ArcReading:
    """One look at plans, operations, approvals, policy and applications; nothing of it changes a byte."""

    def __init__(self, env: Environment) -> None:
        self._clock = env.clock
        self._facts: dict[str, Facts] = {}
        self._shown: dict[str, ShownOperation] = {}
        self.store = env.arc

    @cached_property
    def _operations(self) -> tuple[list[Operation], list[Unreadable]]:
        return self.store.operations()

    @property
    def operations(self) -> list[Operation]:
        """Every operation, newest first."""
        return self._operations[0]

    @property
    def unreadable_operations(self) -> list[Unreadable]:
        """Files of operations that are none."""
        return self._operations[1]

    def shown(self, operation: Operation) -> ShownOperation:
        """An operation with the status to tell, looked at once; one that was withdrawn meanwhile is as it was read."""
        if operation.id not in self._shown:
            [(record, status)] = [*self.store.all_told([operation])] or [(operation, operation.status)]
            self._shown[operation.id] = ShownOperation(operation=record, status=status)
        return self._shown[operation.id]

    @cached_property
    def policy(self) -> FiledPolicy:
        """The policy, or why it cannot be had."""
        try:
            return self.store.policy()
        except (AuthzInvalid, AuthzUnavailable) as error:
            return error

    def approval(self, plan_id: str) -> FiledApproval:
        """The approval filed for a plan, or why it cannot be had."""
        try:
            return self.store.approval(plan_id)
        except (ApprovalInvalid, AuthzUnavailable) as error:
            return error

    def application(self, name: str) -> Application | None:
        """An application; None where there is none. Raises where its file cannot be used."""
        try:
            return self.store.application(name)
        except NotFound:
            return None

    def facts(self, name: str) -> Facts:
        """What is true of an application now."""
        if name not in self._facts:
            try:
                self._facts[name] = facts_of(self.application(name), self.operations)
            except InvalidArgument:
                self._facts[name] = Facts(absent=UNUSABLE)
        return self._facts[name]

    def execution_of(self, plan: Plan) -> Execution:
        """The one execution of a plan; a record of it that cannot be trusted is told by its code."""
        noted = plan.correlation.operation_id if plan.correlation else None
        operation_id = noted or operation_id_of(plan.plan_id)
        try:
            operation, status = self.store.told(self.store.operation(operation_id))
        except NotFound:
            return Execution(operation_id=operation_id)
        except PhelixError as error:
            return Execution(operation_id=operation_id, status=error.code)
        except CheckFailed:  # what the plan notes is no id of an operation
            return Execution(operation_id=operation_id, status=OperationCorrupt.code)
        return Execution(operation_id=operation_id, operation=operation, status=status)

    def standing(self, plan: Plan) -> Standing:
        """Where a plan stands now."""
        return standing_of(
            plan,
            applicability_of(plan, self.facts(plan.action.application), self._clock.now_ms()),
            self.approval(plan.plan_id),
            self.policy,
            self.execution_of(plan),
        )
