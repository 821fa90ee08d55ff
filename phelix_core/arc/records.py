"""Where plans and operations are kept: `plans/<id>.json` and `ops/<id>.json`; bytes and locks, no rules.

Both are created once; operations are changed under their lock. Reading changes nothing. A record that cannot be trusted
is an error with its code, never a guess, and hides no other. This much is all that a session's references need.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final, TypeVar

from phelix_core.arc.model import MAX_PLAN_BYTES, PLAN_NAME, Plan, decode_plan, encode_plan
from phelix_core.arc.operations import (
    INDETERMINATE,
    OPERATION_NAME,
    Operation,
    decode_operation,
    derived_status,
    encode_operation,
)
from phelix_core.checks import Check, CheckFailed
from phelix_core.clock import Clock
from phelix_core.errors import NotFound, OperationCorrupt, PhelixError, PlanCorrupt
from phelix_core.files import Folder, UnreadableFile
from phelix_core.frozen import frozen
from phelix_core.processes import ProcessIdentity, holds_open, is_alive, members_of_group, started_at

_SUFFIX: Final = ".json"
_Record = TypeVar("_Record")


@frozen
class Unreadable:
    """A record that a listing leaves out, and why."""

    file: str
    code: str


class ArcRecords:
    """Plans and operations in one data directory."""

    def __init__(self, data_dir: str, clock: Clock) -> None:
        self._clock = clock
        self._plans = Folder(f"{data_dir}/plans", clock)
        self._operations = Folder(f"{data_dir}/ops", clock)
        self._locks = Folder(f"{data_dir}/ops/locks", clock)

    def plan(self, plan_id: str) -> Plan:
        """Load and verify a plan; raises `NotFound` or a `PLAN_…` error."""
        try:
            return decode_plan(self._plans.read(file_of(PLAN_NAME, plan_id), MAX_PLAN_BYTES), plan_id)
        except NotFound:
            raise NotFound(f"There is no plan {plan_id}.") from None
        except UnreadableFile as unreadable:
            raise PlanCorrupt(f"The plan is {unreadable}; it was not opened further.") from None

    def plans(self) -> tuple[list[Plan], list[Unreadable]]:
        """Every plan, newest first, and every file that is none, by name."""
        found, unreadable = all_in(self._plans, PLAN_NAME, self.plan)
        return sorted(found, key=lambda plan: (plan.created_at_ms, plan.plan_id), reverse=True), unreadable

    def add_plan(self, plan: Plan) -> None:
        """Write a new plan; an existing id is `AlreadyExists`."""
        self._plans.create(file_of(PLAN_NAME, plan.plan_id), encode_plan(plan))

    def operation(self, operation_id: str) -> Operation:
        """Load an operation; raises `NotFound` or `OperationCorrupt`."""
        try:
            data = self._operations.read(file_of(OPERATION_NAME, operation_id))
        except NotFound:
            raise _no_operation(operation_id) from None
        except UnreadableFile as unreadable:
            raise OperationCorrupt(f"The operation is {unreadable}; it was not opened further.") from None
        return decode_operation(data, operation_id)

    def operations(self) -> tuple[list[Operation], list[Unreadable]]:
        """Every operation, newest first, and every file that is none, by name."""
        found, unreadable = all_in(self._operations, OPERATION_NAME, self.operation)
        return sorted(found, key=_age, reverse=True), unreadable

    def add_operation(self, operation: Operation) -> None:
        """Write a new operation; an existing id is `AlreadyExists`, which is what keeps a plan from running twice."""
        self._operations.create(file_of(OPERATION_NAME, operation.id), encode_operation(operation))

    def update_operation(self, operation_id: str, change: Callable[[Operation], Operation]) -> Operation:
        """Read, change and write one operation under its lock; what `change` raises leaves it as it was."""
        name, lock = file_of(OPERATION_NAME, operation_id), f"{operation_id}.lock"
        try:
            with self._operations.locked(name, lock) as stands:
                after = change(self.operation(operation_id))
                data = encode_operation(after)
                self._operations.replace(name, data, stands)
                return after
        except NotFound:
            raise _no_operation(operation_id) from None

    def status_of(self, operation: Operation) -> str:
        """The status to tell, after a look at whether the operation's processes still run."""
        if operation.is_finished:
            return operation.status
        boot, who = self._clock.boot(), operation.process
        if who is None:  # the guide's tool notes a number alone, which may be another's by now
            gone = operation.pid <= 0 or started_at(operation.pid) is None
            return derived_status(operation, applier_alive=False if gone else None, child_alive=False)
        return derived_status(
            operation,
            applier_alive=self._still_applies(operation, who.applier, boot),
            child_alive=False if who.child is None else self._still_runs(operation, who.child, boot),
        )

    def told(self, operation: Operation) -> tuple[Operation, str]:
        """The operation as it stands, with the status to tell; one that was withdrawn meanwhile is `NotFound`.

        Whoever carried it out may have recorded the end and gone after it was read here, so one whose processes are
        gone is read again: by then nobody is left to change it.
        """
        status = self.status_of(operation)
        if status != INDETERMINATE:
            return operation, status
        again = self.operation(operation.id)
        return again, self.status_of(again)

    def all_told(self, operations: Iterable[Operation]) -> Iterator[tuple[Operation, str]]:
        """Each of them as `told`; one that was withdrawn meanwhile is left out."""
        for operation in operations:
            with suppress(NotFound):
                yield self.told(operation)

    def _still_applies(self, operation: Operation, applier: ProcessIdentity, boot: str) -> bool | None:
        """Whether its applier lives and is still at it: whoever applies holds the application's lock open all the time.

        A console or a server outlives what it applied, and may have been unable to record the end of it.
        """
        alive = is_alive(applier, boot)
        return False if alive and holds_open(applier.pid, self.lock_of(operation.app or "")) is False else alive

    def _still_runs(self, operation: Operation, child: ProcessIdentity, boot: str) -> bool | None:
        """Whether its command lives, or a part of it in its group, which holds the lock as the command did.

        The number of a group alone proves nothing: it may be another's by now.
        """
        alive = is_alive(child, boot)
        return alive if alive is not False or child.boot != boot else self.has_left_running(operation, child)

    def has_left_running(self, operation: Operation, child: ProcessIdentity) -> bool:
        """Whether a process of the command's group still runs that the command, gone by itself, started."""
        lock = self.lock_of(operation.app or "")
        return any(holds_open(pid, lock) for pid in members_of_group(child.pid))

    def lock_of(self, application: str) -> str:
        """The path of the lock that whoever applies holds, and its command after it."""
        return f"{self._locks.path}/{lock_name(application)}"

    def correlated(self, wanted: frozenset[str]) -> Mapping[str, Operation]:
        """For each wanted deployment the newest operation that names it, in one pass; unreadable ones are skipped."""
        return {
            operation.deployment_id: operation
            for operation in reversed(self.operations()[0])
            if operation.deployment_id in wanted
        }


def lock_name(application: str) -> str:
    """What the lock of an application is called."""
    return f"{application}.lock"


def file_of(form: Check, name: str) -> str:
    """The name of the file that a record stands under; what is no id of its form is `CheckFailed`."""
    return f"{form.apply(name)}{_SUFFIX}"


def _ids(folder: Folder, form: Check) -> Iterator[str]:
    """Ids that records stand under, by name; other files are no records."""
    for name in sorted(folder.names()):
        stem = name.removesuffix(_SUFFIX)
        try:
            if stem != name:
                yield form.apply(stem)
        except CheckFailed:
            continue


def all_in(folder: Folder, form: Check, load: Callable[[str], _Record]) -> tuple[list[_Record], list[Unreadable]]:
    """Every record of a folder, and every file of a record's name that is none; one that vanishes is left out."""
    found: list[_Record] = []
    unreadable: list[Unreadable] = []
    for name in _ids(folder, form):
        try:
            found.append(load(name))
        except NotFound:
            continue
        except PhelixError as error:
            unreadable.append(Unreadable(file=f"{name}{_SUFFIX}", code=error.code))
    return found, unreadable


def _age(operation: Operation) -> tuple[int, str]:
    return operation.created_at_ms, operation.id


def _no_operation(operation_id: str) -> NotFound:
    return NotFound(f"There is no operation {operation_id}.")
