"""`arc board` and `arc log`: plans and operations as a live view keeps them, and what an operation prints.

Promises: while nothing has changed, an answer is the very same object as before, and costs the stamps of a few folders
and files; what our writers do is seen at the next look, what somebody writes into a file in place within seconds; an
operation whose process ends without a word is found within a second. Nothing of it changes a byte. Source: console
page, Approvals.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from threading import RLock
from typing import Annotated, Any, Final, TypeVar

from phelix_core.arc.board import ArcBoard, BadFile, BoardOperation
from phelix_core.arc.model import CREATED, PLAN_NAME, Plan
from phelix_core.arc.operations import INDETERMINATE, OPERATION_NAME, Operation, operation_id_of
from phelix_core.arc.standing import Standing, policy_told
from phelix_core.arc.store import ArcStore
from phelix_core.checks import NATURAL, Help, Surface, at_least
from phelix_core.commands.arc.fields import OperationId
from phelix_core.commands.arc.reading import ArcReading
from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import Effect, command
from phelix_core.errors import NotFound
from phelix_core.files import Stamp
from phelix_core.frozen import changed, frozen
from phelix_core.sessions.model import DEPLOYMENT_ID

MOST_ENDED: Final = 50
"""Plans that have ended and are listed, the newest."""
PART: Final = 64 << 10
"""Bytes of a log that one answer holds, at most."""
_WHOLE_S: Final = 10.0
"""How often every record's own stamp is compared."""
_ALIVE_S: Final = 1.0
"""How often the processes of what runs are looked at."""
_KEPT: Final = "arc board"
_Record = TypeVar("_Record")


@frozen
class ShowArcBoard:
    """Answer what a live view keeps and compares; a program asks `plan list` and `operation list`."""

    plan: Annotated[str | None, PLAN_NAME, Help("Only this plan, however old")] = None
    operation: Annotated[str | None, OPERATION_NAME, Help("Only the plan of this operation, or the operation")] = None
    deployment: Annotated[str | None, DEPLOYMENT_ID, Help("Only the plan that led to this deployment")] = None


@frozen
class ReadLog:
    """Answer a part of what an operation has printed."""

    operation_id: OperationId
    start: Annotated[int | None, NATURAL, Help("From this byte on; without it, the end of the log")] = None
    limit: Annotated[int, at_least(1, PART), Help("At most so many bytes")] = PART


@frozen
class LogPart:
    """Bytes of a log as they stand, and where they begin; none where there is no log, or no more of it."""

    data: bytes
    begin: int


@command("arc board", effect=Effect.READ, surfaces=frozenset({Surface.TUI}))
def arc_board(request: ShowArcBoard, env: Environment) -> ArcBoard:
    """Look at everything, or at one plan."""
    watched = _watched(env)
    with watched.lock:
        if request.plan is not None:
            return watched.about(env, watched.store(env).plan(request.plan))
        if request.operation is not None:
            return _of_operation(watched, env, watched.store(env).operation(request.operation))
        if request.deployment is not None:
            found = watched.store(env).correlated(frozenset({request.deployment}))
            if request.deployment not in found:
                raise NotFound(f"No operation tells of the deployment {request.deployment}: it is unknown.")
            return _of_operation(watched, env, found[request.deployment])
        return watched.board(env)


@command("arc log", effect=Effect.READ, surfaces=frozenset({Surface.TUI}))
def read_log(request: ReadLog, env: Environment) -> LogPart:
    """Read a part of one log."""
    start = -request.limit if request.start is None else request.start
    data, begin = env.arc.log_part(request.operation_id, start, request.limit)
    return LogPart(data=data, begin=begin)


def _watched(env: Environment) -> "_Watched":
    return env.once(_KEPT, lambda: _Watched(_Remembering(env.settings.data_dir, env.clock)))


def _of_operation(watched: "_Watched", env: Environment, operation: Operation) -> ArcBoard:
    """The plan that an operation carried out; the operation alone where there is no such plan."""
    if operation.plan_id is not None:
        with suppress(NotFound):
            return watched.about(env, watched.store(env).plan(operation.plan_id))
    alone = _told([operation], watched.store(env))
    return ArcBoard(plans=(), operations=alone, bad=(), policy=policy_told(watched.reading(env).policy))


def _told(operations: Iterable[Operation], store: ArcStore) -> tuple[BoardOperation, ...]:
    return tuple(BoardOperation(operation=one, status=status) for one, status in store.all_told(operations))


class _Remembering(ArcStore):
    """A store that reads a record again only where its file has another stamp: plans, approvals, what has ended."""

    stamps_now: dict[str, Stamp]

    def __init__(self, data_dir: str, clock: Any) -> None:
        super().__init__(data_dir, clock)
        self.stamps_now = {}
        self._known: dict[str, tuple[Stamp, Any]] = {}
        self._names: tuple[int, list[str]] | None = None

    def look(self, stamps: dict[str, Stamp]) -> None:
        """From now on records are as they were when these stamps were taken, or newer."""
        self.stamps_now, self._names = stamps, None
        self._known = {path: known for path, known in self._known.items() if path in stamps}

    def application_names(self) -> list[str]:
        """Names of folders that may be applications', listed again where their folder has changed."""
        try:
            changed_ns = os.stat(self._apps.path).st_mtime_ns
        except OSError:
            return super().application_names()
        if self._names is None or self._names[0] != changed_ns:
            self._names = changed_ns, super().application_names()
        return self._names[1]

    def plan(self, plan_id: str) -> Plan:
        """Load a plan."""
        return self._remembered(f"{self._plans.path}/{plan_id}.json", lambda: super(_Remembering, self).plan(plan_id))

    def operation(self, operation_id: str) -> Operation:
        """Load an operation; one that goes on is read each time."""
        path = f"{self._operations.path}/{operation_id}.json"
        return self._remembered(path, lambda: super(_Remembering, self).operation(operation_id), _has_ended)

    def approval(self, plan_id: str) -> Any:
        """Load the approval filed for a plan, if any."""
        path = f"{self._approvals.path}/{plan_id}.json"
        return self._remembered(path, lambda: super(_Remembering, self).approval(plan_id))

    def _remembered(
        self, path: str, load: Callable[[], _Record], stays: Callable[[_Record], bool] = lambda _: True
    ) -> _Record:
        stamp, known = self.stamps_now.get(path), self._known.get(path)
        if stamp is not None and known is not None and known[0] == stamp:
            return known[1]
        record = load()
        if stamp is not None and stays(record):
            self._known[path] = (stamp, record)
        return record


def _has_ended(operation: Operation) -> bool:
    return operation.is_finished


class _Watched:
    """One console's look at the arc: the last board, and what tells that it is old."""

    def __init__(self, store: _Remembering) -> None:
        self.lock = RLock()
        self._store = store
        self._board: ArcBoard | None = None
        self._stamps: dict[str, Stamp] = {}
        self._whole: dict[str, Stamp] = {}
        self._whole_due = self._alive_due = 0.0
        self._running: tuple[tuple[Operation, str], ...] = ()
        self._again = False

    def store(self, env: Environment) -> _Remembering:
        """The records, as remembered as the stamps of now allow."""
        self._store.look(env.arc.stamps(whole=True))
        return self._store

    def reading(self, env: Environment) -> ArcReading:
        """A look at all of it."""
        reading = ArcReading(env)
        reading.store = self._store
        return reading

    def about(self, env: Environment, plan: Plan) -> ArcBoard:
        """One plan alone."""
        reading = self.reading(env)
        return ArcBoard(plans=(reading.standing(plan),), operations=(), bad=(), policy=policy_told(reading.policy))

    def board(self, env: Environment) -> ArcBoard:
        """Everything; the same object as before while nothing has changed."""
        now_s = env.clock.monotonic()
        brief, is_old = self._store.stamps(whole=False), self._board is None
        is_other = brief != self._stamps
        # Two changes within one tick of the file system's clock look like one: behind each there is another look.
        is_old, self._again, self._stamps = is_old or is_other or self._again, is_other, brief
        if not is_old and now_s >= self._whole_due:
            self._whole_due = now_s + _WHOLE_S
            is_old = env.arc.stamps(whole=True) != self._whole
        if not is_old and self._running and now_s >= self._alive_due:
            self._alive_due = now_s + _ALIVE_S
            is_old = any(self._store.status_of(operation) != status for operation, status in self._running)
        if is_old or self._board is None:
            before, self._board = self._board, None  # whatever fails below is tried again at the next look
            found = self._looked(env)
            self._board = before if before is not None and _timeless(before) == _timeless(found) else found
            self._whole_due, self._alive_due = now_s + _WHOLE_S, now_s + _ALIVE_S
        return self._board

    def _looked(self, env: Environment) -> ArcBoard:
        store, reading = self.store(env), self.reading(env)
        self._whole = store.stamps_now
        plans, bad_plans = store.plans()
        operations = {one.id: one for one in reading.operations}
        open_, ended = _parted(plans, operations)
        standings = [reading.standing(plan) for plan in (*open_, *ended[:MOST_ENDED])]
        told_of = {standing.operation_id for standing in standings}
        alone = [one for one in operations.values() if not one.is_finished and one.id not in told_of]
        board = ArcBoard(
            plans=tuple(standings),
            operations=_told(alone, store),
            bad=(
                *(BadFile(folder="plans", file=one.file, code=one.code) for one in bad_plans),
                *(bad for bad in _bad_operations(reading) if bad.id not in told_of),
            ),
            policy=policy_told(reading.policy),
            left_out=max(0, len(ended) - MOST_ENDED),
        )
        self._running = tuple(_running(standings, board.operations))
        return board


def _timeless(board: ArcBoard) -> ArcBoard:
    """The board without when it was looked at."""
    plans = (changed(one, applicability=changed(one.applicability, checked_at_ms=0)) for one in board.plans)
    return changed(board, plans=tuple(plans))


def _bad_operations(reading: ArcReading) -> Iterator[BadFile]:
    for one in reading.unreadable_operations:
        yield BadFile(folder="ops", file=one.file, code=one.code)


def _parted(plans: Iterable[Plan], operations: dict[str, Operation]) -> tuple[list[Plan], list[Plan]]:
    """Plans of which something may still be done, or become known; and those that have ended, the newest end first."""
    open_: list[Plan] = []
    ended: list[tuple[int, Plan]] = []
    for plan in plans:
        noted = plan.correlation.operation_id if plan.correlation else None
        operation = operations.get(noted or operation_id_of(plan.plan_id))
        if operation is not None and operation.is_finished:
            ended.append((operation.finished_at_ms or operation.updated_at_ms, plan))
        elif operation is None and plan.status != CREATED:
            ended.append((plan.created_at_ms, plan))
        else:
            open_.append(plan)
    return open_, [plan for _, plan in sorted(ended, key=lambda pair: (pair[0], pair[1].plan_id), reverse=True)]


def _running(standings: Iterable[Standing], alone: Iterable[BoardOperation]) -> Iterable[tuple[Operation, str]]:
    """What still runs, as far as was told: what is indeterminate stays so until its record changes."""
    for operation, status in (
        *((one.operation, one.operation_status) for one in standings),
        *((one.operation, one.status) for one in alone),
    ):
        if operation is not None and status is not None and not operation.is_finished and status != INDETERMINATE:
            yield operation, status
