"""What was done in this console: the command, what came of it, what it changed, and whether that can be undone.

Every write that was confirmed is noted where it is made, refusals too. What is kept is kept by this process alone: the
records themselves say what was done to them by whom, for ever. Source: console page, section 2.
"""

from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from phelix_core.envelope import Envelope
from phelix_core.errors import (
    Cancelled,
    DeployFailed,
    HealthCheckFailed,
    InternalError,
    LeaseConflict,
    LeaseLost,
    OutcomeUnknown,
    PhelixError,
    RollbackFailed,
    SessionConflict,
    TimedOut,
)
from phelix_core.frozen import frozen
from phelix_core.text import SafeStr
from phelix_core.views.shown import shown

if TYPE_CHECKING:
    from phelix_tui.actions import Action, Target

MOST: Final = 1_000
"""Deeds that are kept; the oldest go first."""

DONE: Final = "done"
CONFLICT: Final = "conflict"
REFUSED: Final = "refused"
FAILED: Final = "failed"
UNKNOWN: Final = "unknown"
"""What came of it: as asked, somebody was faster, a rule said no, it was begun and failed, nobody can tell."""

_CONFLICTS: Final = (SessionConflict, LeaseConflict, LeaseLost)
_BEGUN: Final = (DeployFailed, HealthCheckFailed, RollbackFailed, TimedOut, Cancelled)
_UNTOLD: Final = (OutcomeUnknown, InternalError)
_TO_PENDING: Final = "Roll back takes it to pending"

UNDO: Final[Mapping[str, tuple[bool, str]]] = {
    "Checkpoint": (False, "what was recorded stays; another checkpoint corrects it"),
    "Complete": (False, "a closed session stays closed"),
    "Fail": (False, "a closed session stays closed"),
    "Cancel session": (False, "a closed session stays closed"),
    "Recover": (False, "the lease has ended; what it did stays on record"),
    "Promote": (True, f"{_TO_PENDING}, issue by issue"),
    "Unblock": (True, f"{_TO_PENDING}; nothing blocks it again"),
    "Release": (False, "the lease has ended; the next claim takes the issue"),
    "Close": (True, f"{_TO_PENDING}; the lease has ended all the same"),
    "Roll back": (True, "Promote makes it ready again, once its gates are open"),
    "Retry": (True, _TO_PENDING),
    "Approve": (True, "Revoke undoes it, until the plan is applied"),
    "Revoke": (True, "Approve undoes it"),
    "Apply": (False, "going back is a plan of its own, with the action rollback"),
    "End operation": (False, "what the command did before its end stays done"),
    "Save view": (True, "Remove view takes it away; what it replaced is gone"),
    "Remove view": (True, "Save view makes it anew"),
    "Repair": (False, "what killed writers left is gone; modes can be opened by hand"),
}
"""By an action's verb: whether what it did can be undone, and how, or why not."""


@frozen
class Deed:
    """One write that was confirmed. Texts are safe to show; `about` is the id that it was about."""

    id: str
    at_ms: int
    verb: str
    kind: str
    about: str
    command: SafeStr
    came: str
    code: str
    said: SafeStr
    before: SafeStr
    after: SafeStr
    can_undo: bool | None
    undo: SafeStr

    @property
    def change(self) -> SafeStr:
        """Before and after in one line; nothing where nothing was written."""
        if not self.after:
            return SafeStr("")
        return SafeStr(f"{self.before} → {self.after}" if self.before else self.after)


class Activity:
    """The deeds of one console, newest first."""

    def __init__(self) -> None:
        self._deeds: deque[Deed] = deque(maxlen=MOST)
        self._made = 0

    @property
    def made(self) -> int:
        """How many there ever were."""
        return self._made

    def __len__(self) -> int:
        return len(self._deeds)

    def __iter__(self) -> Any:
        return iter(self._deeds)

    def deed(self, deed_id: str | None) -> Deed | None:
        """The deed of that number."""
        return next((deed for deed in self._deeds if deed.id == deed_id), None)

    def note(self, action: "Action", target: "Target", command: str, envelope: Envelope, at_ms: int) -> Deed:
        """Take note of a write: what was asked as a command line, and what the core answered."""
        self._made += 1
        error = envelope.error
        came, written = _came(error), error is None
        can_undo, undo = UNDO.get(action.verb, (False, "nothing here undoes it"))
        if not written:
            can_undo, undo = None, _LEFT[came]
        deed = Deed(
            id=str(self._made),
            at_ms=at_ms,
            verb=action.verb,
            kind=target.kind,
            about=target.id or str(getattr(envelope.result, "name", "")),
            command=shown(command),
            came=came,
            code="" if error is None else error.code,
            said=shown(target.told(action, envelope.result) if error is None else str(envelope.failure()["message"])),
            before=shown(target.names(action)[2]),
            after=shown(_after(envelope)),
            can_undo=can_undo,
            undo=shown(undo),
        )
        self._deeds.appendleft(deed)
        return deed


_LEFT: Final[Mapping[str, str]] = {
    CONFLICT: "nothing was written",
    REFUSED: "nothing was written",
    FAILED: "what was begun is not undone by itself",
    UNKNOWN: "look at the record before doing it again",
}


def _came(error: PhelixError | None) -> str:
    if error is None:
        return DONE
    if isinstance(error, _CONFLICTS):
        return CONFLICT
    if isinstance(error, _BEGUN):
        return FAILED
    return UNKNOWN if isinstance(error, _UNTOLD) else REFUSED


def _after(envelope: Envelope) -> str:
    """How things stand after a write: revision, status and epoch, hash or operation; nothing after a refusal."""
    result: Any = envelope.result
    if isinstance(result, Mapping):
        return _moved(cast("Mapping[str, Any]", result))
    if envelope.operation_id is not None:
        status = getattr(result, "status", None)
        return f"{envelope.operation_id} {status}" if status else envelope.operation_id
    if isinstance(rev := getattr(result, "rev", None), int):
        return f"rev {rev}"
    if isinstance(plan_hash := getattr(result, "plan_hash", None), str):
        return f"{plan_hash[:19]}…"
    if hasattr(result, "approval_id"):
        return "no approval"
    fixed: tuple[str, ...] | None = getattr(result, "fixed", None)
    return "" if fixed is None else f"{len(fixed)} repaired"


def _moved(answer: Mapping[str, Any]) -> str:
    """What became of an issue, or of the issues of a project."""
    context = cast("Mapping[str, Any]", answer.get("context") or answer)
    status = answer.get("newStatus") or context.get("currentTaskStatus")
    if status is None:
        promoted = answer.get("promotedIssueIds")
        return "" if promoted is None else f"{len(promoted)} made ready"
    epoch = answer.get("leaseEpoch", context.get("leaseEpoch"))
    return str(status) if epoch is None else f"{status} · epoch {epoch}"
