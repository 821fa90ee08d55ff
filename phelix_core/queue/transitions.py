"""Which status may follow which, and by whom. Pure. Source: queue page, Vocabulary and transitions."""

from typing import Final

from phelix_core.errors import InvalidArgument, QueueInvalidTransition
from phelix_core.queue.model import (
    BLOCKED,
    DONE,
    FAILED,
    FINISHED,
    IN_PROGRESS,
    NEEDS_RECOVERY,
    PENDING,
    READY,
    TASK_STATUSES,
    Issue,
)

CHECKPOINT: Final = "checkpoint"
CLOSE: Final = "close"
CLAIM: Final = "claim"
PROMOTION: Final = "promotion"
RECOVERY: Final = "recovery"
RECONCILE: Final = "reconcile"
UNBLOCK: Final = "unblock"
RETRY: Final = "retry"
ROLLBACK: Final = "rollback"
DRAIN: Final = "drain"
ARCHIVE: Final = "archive"

_HOLDER_ENDS = frozenset({BLOCKED, DONE, FAILED, NEEDS_RECOVERY})
_BY_HOLDER = {
    CHECKPOINT: {IN_PROGRESS: _HOLDER_ENDS, BLOCKED: frozenset({IN_PROGRESS, DONE, FAILED, NEEDS_RECOVERY})},
    CLOSE: {
        IN_PROGRESS: _HOLDER_ENDS | {READY, PENDING},
        BLOCKED: frozenset({DONE, FAILED, NEEDS_RECOVERY}),
    },
}
_UNFINISHED = frozenset(TASK_STATUSES) - FINISHED
_BY_MACHINE = {
    PROMOTION: {PENDING: frozenset({READY})},
    CLAIM: {READY: frozenset({IN_PROGRESS}), BLOCKED: frozenset({IN_PROGRESS})},
    RECOVERY: {NEEDS_RECOVERY: frozenset({IN_PROGRESS, READY, PENDING, BLOCKED, FAILED})},
    RECONCILE: {status: frozenset({NEEDS_RECOVERY, FAILED}) for status in _UNFINISHED},
    UNBLOCK: {BLOCKED: frozenset({READY, PENDING})},
    RETRY: {FAILED: frozenset({READY, PENDING})},
    ROLLBACK: {status: frozenset({PENDING}) for status in TASK_STATUSES},
    DRAIN: {PENDING: frozenset({BLOCKED}), READY: frozenset({BLOCKED})},
    ARCHIVE: {status: frozenset({PENDING}) for status in _UNFINISHED},
}
ALLOWED: Final = _BY_HOLDER | _BY_MACHINE
"""By verb and by the status before: the statuses that may follow. The same status again is always allowed.

A handoff, a recovery, an unblock or a retry ends in `pending` where a gate of the issue has closed meanwhile.
"""

CHECKPOINT_STATUSES: Final = (IN_PROGRESS, BLOCKED, NEEDS_RECOVERY, DONE, FAILED)
CLOSE_STATUSES: Final = (DONE, FAILED, BLOCKED, NEEDS_RECOVERY, READY)


def require_transition(issue: Issue, to: str, verb: str) -> None:
    """Refuse what the table does not hold."""
    if to != issue.status and to not in ALLOWED[verb].get(issue.status, frozenset()):
        raise QueueInvalidTransition(
            f"Issue {issue.id} is {issue.status}; {verb} cannot make it {to}.",
            details={"issueId": issue.id, "from": issue.status, "to": to, "by": verb},
        )


def require_status(word: str, allowed: tuple[str, ...], verb: str) -> None:
    """Refuse a status that `verb` never sets, before anything is read."""
    if word in allowed:
        return
    hint = "To hand the issue back, close it with `ready`." if word in (READY, PENDING) else None
    hint = "A close ends the work; a checkpoint goes on with it." if verb == CLOSE and word == IN_PROGRESS else hint
    told = f"{verb} takes one of {', '.join(allowed)}"
    raise InvalidArgument(f"status: {told}.", hint=hint, details={"fields": {"status": told}})
