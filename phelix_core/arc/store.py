"""Where plans and operations are read from: `plans/<id>.json` and `ops/<id>.json`.

Reading changes nothing. A record that cannot be trusted is an error with its code, never a guess.
"""

import os
from collections.abc import Mapping

from phelix_core.arc.model import (
    MAX_PLAN_BYTES,
    OPERATION_NAME,
    PLAN_NAME,
    Operation,
    Plan,
    decode_operation,
    decode_plan,
    derived_status,
)
from phelix_core.checks import CheckFailed
from phelix_core.clock import Clock
from phelix_core.errors import NotFound, OperationCorrupt, PhelixError, PlanCorrupt
from phelix_core.files import Folder, UnreadableFile
from phelix_core.strictjson import dumps

_SUFFIX = ".json"


class ArcStore:
    """Plans and operations in one data directory."""

    def __init__(self, data_dir: str, clock: Clock) -> None:
        self._plans = Folder(f"{data_dir}/plans", clock)
        self._operations = Folder(f"{data_dir}/ops", clock)

    def plan(self, plan_id: str) -> Plan:
        """Load and verify a plan; raises `NotFound` or a `PLAN_…` error."""
        try:
            return decode_plan(self._plans.read(f"{PLAN_NAME.apply(plan_id)}{_SUFFIX}", MAX_PLAN_BYTES), plan_id)
        except NotFound:
            raise NotFound(f"There is no plan {plan_id}.") from None
        except UnreadableFile as unreadable:
            raise PlanCorrupt(f"The plan is {unreadable}; it was not opened further.") from None

    def operation(self, operation_id: str) -> Operation:
        """Load an operation, its status derived; raises `NotFound` or `OperationCorrupt`."""
        try:
            data = self._operations.read(f"{OPERATION_NAME.apply(operation_id)}{_SUFFIX}")
        except NotFound:
            raise NotFound(f"There is no operation {operation_id}.") from None
        except UnreadableFile as unreadable:
            raise OperationCorrupt(f"The operation is {unreadable}; it was not opened further.") from None
        return decode_operation(data, operation_id)

    def status_of(self, operation: Operation) -> str:
        """The status to tell, after a look at whether the operation's process still runs."""
        return derived_status(operation, alive=_is_running(operation.pid))

    def add_plan(self, document: Mapping[str, object]) -> None:
        """Write a new plan."""
        self._plans.create(f"{document['plan_id']}{_SUFFIX}", dumps(document).encode())

    def add_operation(self, document: Mapping[str, object]) -> None:
        """Write a new operation."""
        self._operations.create(f"{document['id']}{_SUFFIX}", dumps(document).encode())

    def correlated(self, wanted: frozenset[str]) -> Mapping[str, Operation]:
        """For each wanted deployment the newest operation that names it, in one pass; unreadable ones are skipped."""
        found: dict[str, Operation] = {}
        for name in self._operations.names():
            try:
                operation = self.operation(name.removesuffix(_SUFFIX))
            except (PhelixError, CheckFailed):
                continue
            deployment = operation.deployment_id
            if deployment in wanted and _is_newer(operation, found.get(deployment)):
                found[deployment] = operation
        return found


def _is_newer(operation: Operation, other: Operation | None) -> bool:
    key = (operation.created_at_ms, operation.operation_id)
    return other is None or key > (other.created_at_ms, other.operation_id)


def _is_running(pid: int) -> bool:
    """Whether a process of that number exists; one that we may not signal does."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True
