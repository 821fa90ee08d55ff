"""The only reader and writer of the arc's records: bytes and locks, no rules.

Beside plans and operations, `authz/` has the policy, which only people write, an approval a plan, and the log of
decisions; `apps/<name>/app.toml` is a person's. Reading changes nothing. A record that cannot be trusted is an error
with its code, never a guess, and hides no other.
"""

import os
from typing import Final

from phelix_core.arc.applications import (
    APPLICATION_FILE,
    APPLICATION_NAME,
    MAX_APPLICATION_BYTES,
    Application,
    decode_application,
)
from phelix_core.arc.approvals import (
    MAX_APPROVAL_BYTES,
    MAX_DECISION_BYTES,
    MAX_DECISIONS,
    Approval,
    Decision,
    appended,
    decode_approval,
    decode_decision,
    encode_approval,
    encode_decision,
)
from phelix_core.arc.model import PLAN_NAME
from phelix_core.arc.operations import INDETERMINATE, OPERATION_NAME, Operation
from phelix_core.arc.policies import MAX_POLICY_BYTES, Policy, decode_policy
from phelix_core.arc.records import ArcRecords, Unreadable, all_in, file_of, lock_name
from phelix_core.checks import CheckFailed
from phelix_core.clock import Clock
from phelix_core.errors import (
    AlreadyExists,
    ApprovalInvalid,
    AuthzInvalid,
    AuthzUnavailable,
    DeployLocked,
    FilesystemError,
    InvalidArgument,
    NotFound,
    PhelixError,
)
from phelix_core.files import Folder, Stamp, UnreadableFile, stamp_of
from phelix_core.processes import holders_of

_POLICY: Final = "policy.json"
_DECISIONS: Final = "decisions.jsonl"
_DECISIONS_LOCK: Final = "decisions.lock"
_LEFTOVER_AGE_S: Final = 3_600
LOG_TAIL_BYTES: Final = 256 << 10
_MAX_LOG_BYTES: Final = 2 * MAX_DECISIONS * MAX_DECISION_BYTES


class ArcStore(ArcRecords):
    """Plans, operations, approvals, policy, decisions and applications in one data directory."""

    def __init__(self, data_dir: str, clock: Clock) -> None:
        super().__init__(data_dir, clock)
        self._authz = Folder(f"{data_dir}/authz", clock)
        self._approvals = Folder(f"{data_dir}/authz/approvals", clock)
        self._apps = Folder(f"{data_dir}/apps", clock)

    # Approvals

    def approval(self, plan_id: str) -> Approval | None:
        """The approval filed for a plan, if any; raises `ApprovalInvalid` or `AuthzUnavailable`."""
        try:
            return decode_approval(self._approvals.read(file_of(PLAN_NAME, plan_id), MAX_APPROVAL_BYTES), plan_id)
        except NotFound:
            return None
        except UnreadableFile as unreadable:
            raise ApprovalInvalid(f"The approval is {unreadable}; it was not opened further.") from None
        except FilesystemError as error:
            raise AuthzUnavailable(f"The approval cannot be read. {error.message}", details=error.details) from None

    def approvals(self) -> tuple[list[Approval], list[Unreadable]]:
        """Every approval, newest first, and every file that is none, by name."""
        found, unreadable = all_in(self._approvals, PLAN_NAME, self._approval_there)
        return sorted(found, key=lambda one: (one.approved_at_ms, one.plan_id), reverse=True), unreadable

    def _approval_there(self, plan_id: str) -> Approval:
        approval = self.approval(plan_id)
        if approval is None:
            raise NotFound
        return approval

    def add_approval(self, approval: Approval) -> None:
        """File an approval; a plan that has one is `AlreadyExists`."""
        try:
            self._approvals.create(file_of(PLAN_NAME, approval.plan_id), encode_approval(approval))
        except AlreadyExists:
            raise AlreadyExists(
                f"The plan {approval.plan_id} has an approval already.",
                hint="Revoke it first, then approve the plan again.",
            ) from None

    def remove_approval(self, plan_id: str) -> None:
        """Take a plan's approval away, a damaged one too; where there is none it is `NotFound`."""
        name, lock = file_of(PLAN_NAME, plan_id), f"{plan_id}.lock"
        try:
            with self._approvals.locked(name, lock):
                self._approvals.remove(name, lock)
        except NotFound:
            raise NotFound(f"There is no approval for the plan {plan_id}.") from None

    # Policy and decisions

    def policy(self) -> Policy | None:
        """The policy, None only where there is no file of it; raises `AuthzInvalid` or `AuthzUnavailable`."""
        try:
            self._authz.require_listable()  # what stands in the folder's place must not pass for an absent policy
            return decode_policy(self._authz.read(_POLICY, MAX_POLICY_BYTES))
        except NotFound:
            return None
        except UnreadableFile as unreadable:
            raise AuthzInvalid(f"The policy is {unreadable}. Nothing executes before it is mended.") from None
        except FilesystemError as error:
            raise AuthzUnavailable(f"The policy cannot be read. {error.message}", details=error.details) from None

    def add_policy(self, data: bytes) -> None:
        """Write a policy where there is none, as a person would; one that is there is `AlreadyExists`."""
        decode_policy(data)
        self._authz.create(_POLICY, data)

    def add_decision(self, decision: Decision) -> None:
        """Append one line to the log and keep its newest; what the log held before is never lost to a fault."""
        line = encode_decision(decision)
        try:
            self._append(line)
        except NotFound:
            try:
                self._authz.create(_DECISIONS, line)
            except AlreadyExists:
                self._append(line)

    def _append(self, line: bytes) -> None:
        with self._authz.locked(_DECISIONS, _DECISIONS_LOCK) as stands:
            self._authz.replace(_DECISIONS, appended(self._log(), line), stands)

    def decisions(self) -> tuple[list[Decision], int]:
        """The log, newest first, and how many of its lines are no decisions."""
        lines = self._log().splitlines()
        found = [decision for line in reversed(lines) if (decision := decode_decision(line)) is not None]
        return found, len(lines) - len(found)

    def _log(self) -> bytes:
        try:
            return self._authz.read(_DECISIONS, _MAX_LOG_BYTES)
        except NotFound:
            return b""
        except UnreadableFile as unreadable:
            raise AuthzInvalid(f"The log of decisions is {unreadable}. Nothing executes before it is mended.") from None

    # Applications

    def application(self, name: str) -> Application:
        """One application; raises `NotFound`, or `InvalidArgument` where its file cannot be used."""
        try:
            APPLICATION_NAME.apply(name)
            data = Folder(f"{self._apps.path}/{name}", self._clock).read(APPLICATION_FILE, MAX_APPLICATION_BYTES)
        except (NotFound, CheckFailed):
            raise NotFound(
                f"There is no application {name}.", hint="Each has a file apps/<name>/app.toml in the data directory."
            ) from None
        except UnreadableFile as unreadable:
            file = f"apps/{name}/{APPLICATION_FILE}"
            raise InvalidArgument(f"{file} cannot be used: it is {unreadable}.", details={"file": file}) from None
        return decode_application(data, name)

    def applications(self) -> tuple[list[Application], list[Unreadable]]:
        """Every application by name, and every file of one that cannot be used."""
        found: list[Application] = []
        unreadable: list[Unreadable] = []
        for name in self.application_names():
            try:
                found.append(self.application(name))
            except NotFound:  # a folder of the guide's tool, which declares nothing
                continue
            except PhelixError as error:
                unreadable.append(Unreadable(file=f"{name}/{APPLICATION_FILE}", code=error.code))
        return found, unreadable

    def application_names(self) -> list[str]:
        """Names of folders that may be applications', sorted."""
        return sorted(self._apps.names())

    def add_application(self, name: str, data: bytes) -> None:
        """Write a new application's file, as a person would; one that is there is `AlreadyExists`."""
        decode_application(data, name)
        Folder(self.folder_of(name), self._clock).create(APPLICATION_FILE, data)

    def folder_of(self, name: str) -> str:
        """The folder of an application, within which its commands start."""
        return f"{self._apps.path}/{APPLICATION_NAME.apply(name)}"

    def log_of(self, operation_id: str) -> str:
        """The path of the log that an operation's command writes."""
        return f"{self._operations.path}/{OPERATION_NAME.apply(operation_id)}.log"

    def log_part(self, operation_id: str, start: int, limit: int) -> tuple[bytes, int]:
        """At most `limit` bytes of an operation's log from `start` (below 0: from its end), and where they begin.

        Where there is no log yet, or what stands there is none, there are no bytes.
        """
        try:
            return self._operations.part(f"{OPERATION_NAME.apply(operation_id)}.log", start, limit)
        except (NotFound, UnreadableFile):
            return b"", 0

    def log_tail(self, operation_id: str, lines: int) -> tuple[str, ...]:
        """The last whole lines of an operation's log, at most so many and `LOG_TAIL_BYTES` of them."""
        data, begin = self.log_part(operation_id, -LOG_TAIL_BYTES, LOG_TAIL_BYTES)
        found = data.decode("utf-8", "replace").split("\n")
        whole = found[1 if begin else 0 :]
        return tuple((whole[:-1] if whole[-1:] == [""] else whole)[-lines:])

    def withdraw_operation(self, operation_id: str) -> Operation | None:
        """Take away an operation of which nothing has begun, so that its plan is as if it had not been applied.

        One that was cancelled meanwhile stays, and is answered.
        """
        name, lock = file_of(OPERATION_NAME, operation_id), f"{operation_id}.lock"
        with self._operations.locked(name, lock):
            operation = self.operation(operation_id)
            if operation.is_finished:
                return operation
            self._operations.remove(name, lock)
            return None

    def application_lock(self, name: str) -> int:
        """A descriptor that is locked for one application; `DeployLocked` tells who holds it where that is known.

        Whoever lets go of it closes it, and never unlocks it: a command that inherited it holds on.
        """
        descriptor = self._locks.try_lock(lock_name(APPLICATION_NAME.apply(name)))
        if descriptor is not None:
            return descriptor
        raise _locked(name, self._holder(name), holders_of(self.lock_of(name)))

    def require_unlocked(self, name: str) -> None:
        """Refuse where an apply of the application is under way, or something that one left; takes no lock."""
        holder, pids = self._holder(name), holders_of(self.lock_of(name))
        if holder is not None or pids:
            raise _locked(name, holder, pids)

    def _holder(self, name: str) -> Operation | None:
        """The operation that holds an application; None where no record tells of one."""
        for operation in self.operations()[0]:
            if operation.app == name and not operation.is_finished and self.status_of(operation) != INDETERMINATE:
                return operation
        return None

    # Watching

    def stamps(self, *, whole: bool) -> dict[str, Stamp]:
        """Stamps by path, without opening a file: of the folders, the policy, and the applications' files.

        Whatever our writers do changes one of them; with `whole` there are those of all records too, so that a file
        which somebody wrote in place is noticed. What is absent has none.
        """
        folders = (self._plans, self._operations, self._authz, self._approvals, self._apps)
        paths = [folder.path for folder in folders] + [f"{self._authz.path}/{_POLICY}"]
        paths += [f"{self._apps.path}/{name}/{APPLICATION_FILE}" for name in self.application_names()]
        found = {path: stamp for path in paths if (stamp := _stamp_of(path)) is not None}
        for folder in folders[:4] if whole else ():
            found |= {f"{folder.path}/{name}": stamp for name, stamp in folder.stamps()}
        return found

    # Care

    def lax_modes(self) -> list[str]:
        """Paths among the records that other users may open; what people declare in `apps` is theirs."""
        return [path for folder in self._folders() for path in folder.lax_modes()]

    def leftovers(self) -> list[str]:
        """Paths of temporary files of killed writers, ours or the guide's tool's, over an hour old."""
        now_s = self._clock.now_ms() / 1_000
        return [
            path
            for folder in self._folders()
            for path in folder.old_leftovers(now_s, _LEFTOVER_AGE_S, _is_foreign_leftover)
        ]

    def _folders(self) -> tuple[Folder, ...]:
        return self._plans, self._operations, self._locks, self._authz, self._approvals


def _stamp_of(path: str) -> Stamp | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return stamp_of(found)


def _locked(name: str, holder: Operation | None, pids: list[int]) -> DeployLocked:
    if holder is not None:
        return DeployLocked(
            f"Another apply holds the application {name}: the operation {holder.id} of the plan {holder.plan_id}. "
            "Nothing was executed.",
            details={"application": name, "operation_id": holder.id},
        )
    if not pids:
        return DeployLocked(
            f"Another apply holds the application {name}. Nothing was executed.", details={"application": name}
        )
    return DeployLocked(
        f"The application {name} is held by the process {', '.join(map(str, pids))}: another apply that is about to "
        "begin, or what an earlier one left running. Nothing was executed.",
        hint="What was left running keeps the application until it ends.",
        details={"application": name, "processes": pids},
    )


def _is_foreign_leftover(name: str) -> bool:
    """Whether `name` is a temporary file as the guide's own tool names them."""
    record, mark, pid = name.partition(".tmp-")
    return bool(mark) and pid.isdecimal() and record.endswith((".json", ".jsonl"))
