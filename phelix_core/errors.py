"""Every stable error code, one class each: the one table of codes, exit codes and retryability.

    PhelixError
    ├── exit 1   AlreadyExists  FilesystemError  InternalError  Cancelled  Unavailable (r)
    │            SessionConflict (r)  StoreBusy (r)  OutcomeUnknown (r)  LeaseConflict
    ├── exit 2   InvalidArgument
    ├── exit 3   SessionInvalid  SessionCorrupt  SessionInvalidTransition
    │            PlanInvalid  PlanCorrupt  PlanHashMismatch  PlanStale  PlanCapabilityMissing  OperationCorrupt
    │            QueueInvalidTransition  QueueIncompatible  QueueCorrupt  RecoveryRequired
    │            LeaseLost  NothingReady  IssueNotClaimable  HostMismatch
    ├── exit 11  AuthzDenied  AuthzInvalid  AuthzUnavailable (r)
    │            ApprovalRequired  ApprovalStale  ApprovalInvalid  ReadOnly
    ├── exit 12  NotFound
    ├── exit 21  DeployFailed  HealthCheckFailed (r)  DeployLocked (r)
    ├── exit 22  RollbackFailed
    ├── exit 60  TimedOut (r)
    └── exit 130 Interrupted, a Cancelled that the caller asked for

(r) means retryable: the same call may succeed later, after a re-read where a revision was named.
A class's docstring is its default message. Messages are written for people; programs read `code`.
"""

from collections.abc import Mapping
from typing import ClassVar


class PhelixError(Exception):
    """The command failed; `operation_id` names the durable operation that the call itself stands for, if any."""

    code: ClassVar[str] = "INTERNAL"
    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False

    def __init__(
        self,
        message: str | None = None,
        *,
        hint: str | None = None,
        details: Mapping[str, object] | None = None,
        operation_id: str | None = None,
    ) -> None:
        self.message = message or (type(self).__doc__ or "").strip()
        self.hint = hint
        self.operation_id = operation_id
        self.details = dict(details or {})
        super().__init__(self.message)


def kinds() -> list[type[PhelixError]]:
    """The class of each code, in the order of the codes."""
    found = [kind for kind in PhelixError.__subclasses__() if kind.__module__ == __name__]
    return sorted(found, key=lambda kind: kind.code)


class AlreadyExists(PhelixError):
    """A record with this id exists already."""

    code = "ALREADY_EXISTS"


class FilesystemError(PhelixError):
    """The file system refused; nothing was changed."""

    code = "FILESYSTEM_ERROR"


class InternalError(PhelixError):
    """Something unforeseen went wrong inside Phelix."""

    code = "INTERNAL"


class Cancelled(PhelixError):
    """Interrupted; nothing is half-written. Read the record again before you repeat a change."""

    code = "CANCELLED"


class Interrupted(Cancelled):
    """Interrupted; nothing is half-written. Read the record again before you repeat a change."""

    exit_code = 130


class Unavailable(PhelixError):
    """What this command needs is not available right now."""

    code = "UNAVAILABLE"
    retryable = True


class SessionConflict(PhelixError):
    """The session has changed since it was read; nothing was written."""

    code = "SESSION_CONFLICT"
    retryable = True


class StoreBusy(PhelixError):
    """Another writer held the record for too long; nothing was written."""

    code = "STORE_BUSY"
    retryable = True


class OutcomeUnknown(PhelixError):
    """The write may or may not have survived: read the record again before you retry."""

    code = "OUTCOME_UNKNOWN"
    retryable = True


class LeaseConflict(PhelixError):
    """The lease or its issue is no longer what was shown; nothing was written."""

    code = "LEASE_CONFLICT"


class InvalidArgument(PhelixError):
    """An argument is not acceptable; nothing was written."""

    code = "INVALID_ARGUMENT"
    exit_code = 2


class SessionInvalid(PhelixError):
    """The record is readable but breaks the session format; it was left as it is."""

    code = "SESSION_INVALID"
    exit_code = 3


class SessionCorrupt(PhelixError):
    """The record cannot be read as a session; it was left as it is."""

    code = "SESSION_CORRUPT"
    exit_code = 3


class SessionInvalidTransition(PhelixError):
    """The session is closed; a closed session never changes."""

    code = "SESSION_INVALID_TRANSITION"
    exit_code = 3


class PlanInvalid(PhelixError):
    """The plan is readable but breaks the plan format."""

    code = "PLAN_INVALID"
    exit_code = 3


class PlanCorrupt(PhelixError):
    """The plan cannot be read."""

    code = "PLAN_CORRUPT"
    exit_code = 3


class PlanHashMismatch(PhelixError):
    """The plan's content does not match its hash: it was changed after it was made."""

    code = "PLAN_HASH_MISMATCH"
    exit_code = 3


class PlanStale(PhelixError):
    """The plan is no longer true of its application; nothing was executed."""

    code = "PLAN_STALE"
    exit_code = 3


class PlanCapabilityMissing(PhelixError):
    """The plan needs what this application does not declare; nothing was executed."""

    code = "PLAN_CAPABILITY_MISSING"
    exit_code = 3


class OperationCorrupt(PhelixError):
    """The operation record cannot be read."""

    code = "OPERATION_CORRUPT"
    exit_code = 3


class QueueInvalidTransition(PhelixError):
    """The issue's status does not allow this; nothing was written."""

    code = "QUEUE_INVALID_TRANSITION"
    exit_code = 3


class QueueIncompatible(PhelixError):
    """The file is no queue of this version; it was left as it is."""

    code = "QUEUE_INCOMPATIBLE"
    exit_code = 3


class QueueCorrupt(PhelixError):
    """The queue's file is damaged or is no database; it was left as it is."""

    code = "QUEUE_CORRUPT"
    exit_code = 3


class RecoveryRequired(PhelixError):
    """Work in scope needs recovery; nothing new can be claimed before it is resolved."""

    code = "RECOVERY_REQUIRED"
    exit_code = 3


class LeaseLost(PhelixError):
    """The lease is no longer active: stop working on its issue. Nothing was written."""

    code = "LEASE_LOST"
    exit_code = 3


class NothingReady(PhelixError):
    """No issue is ready in this scope."""

    code = "NOTHING_READY"
    exit_code = 3


class IssueNotClaimable(PhelixError):
    """The issue cannot be claimed as it is; nothing was written."""

    code = "ISSUE_NOT_CLAIMABLE"
    exit_code = 3


class HostMismatch(PhelixError):
    """Issues are ready, and this host may take none of them."""

    code = "HOST_MISMATCH"
    exit_code = 3


class AuthzDenied(PhelixError):
    """The policy does not allow this actor to execute the plan; nothing was executed."""

    code = "AUTHZ_DENIED"
    exit_code = 11


class AuthzInvalid(PhelixError):
    """The policy, or the log of its decisions, is not valid: nothing executes before it is mended."""

    code = "AUTHZ_INVALID"
    exit_code = 11


class AuthzUnavailable(PhelixError):
    """The policy cannot be read right now: nothing executes without it."""

    code = "AUTHZ_UNAVAILABLE"
    exit_code = 11
    retryable = True


class ApprovalRequired(PhelixError):
    """The plan waits for an approval; nothing was executed."""

    code = "APPROVAL_REQUIRED"
    exit_code = 11


class ApprovalStale(PhelixError):
    """The approval is for something else than this plan; nothing was executed."""

    code = "APPROVAL_STALE"
    exit_code = 11


class ApprovalInvalid(PhelixError):
    """The approval cannot be trusted: it is damaged, or was changed after it was given."""

    code = "APPROVAL_INVALID"
    exit_code = 11


class ReadOnly(PhelixError):
    """Phelix runs read-only here; nothing was written."""

    code = "READ_ONLY"
    exit_code = 11


class NotFound(PhelixError):
    """There is no such record."""

    code = "NOT_FOUND"
    exit_code = 12


class DeployFailed(PhelixError):
    """The deploy command failed; its operation says how."""

    code = "DEPLOY_FAILED"
    exit_code = 21


class HealthCheckFailed(PhelixError):
    """The command succeeded, and the application is not healthy after it."""

    code = "HEALTH_CHECK_FAILED"
    exit_code = 21
    retryable = True


class DeployLocked(PhelixError):
    """Another apply holds this application; nothing was executed."""

    code = "DEPLOY_LOCKED"
    exit_code = 21
    retryable = True


class RollbackFailed(PhelixError):
    """The rollback command failed; its operation says how."""

    code = "ROLLBACK_FAILED"
    exit_code = 22


class TimedOut(PhelixError):
    """The command ran past its time limit and was ended."""

    code = "TIMEOUT"
    exit_code = 60
    retryable = True
