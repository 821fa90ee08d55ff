"""Plans and operations as the rows of a list: what waits for a person first, each state by glyph, word and role.

One table of states for every room. Whatever came from a record is made safe for a terminal here. Source: console page,
Approvals.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from phelix_core.arc.applicability import (
    APP_EXISTS,
    CONFIG_FINGERPRINT,
    CURRENT_VERSION,
    EXECUTION,
    VERSION_EXISTS,
    VERSION_INPUT,
    FailedPrecondition,
)
from phelix_core.arc.board import BadFile, BoardOperation, Seen
from phelix_core.arc.operations import CANCELLED, FAILED, INDETERMINATE, PENDING, RUNNING, SUCCEEDED, Operation
from phelix_core.arc.standing import APPROVED, DENIED, READY, STALE, WAITING, Standing
from phelix_core.frozen import frozen
from phelix_core.text import SafeStr
from phelix_core.views.moments import span
from phelix_core.views.rows import State
from phelix_core.views.shown import shown

UNREADABLE: Final = "unreadable"
_APPLIED: Final = "applied"  # as the guide's own tool stores it on a plan
ENDED: Final = 7
"""The rank of what has ended."""

STATES: Final[Mapping[str, State]] = {
    WAITING: State("◆", "waits", "warning", 0),
    INDETERMINATE: State("?", "indeterminate", "error", 1),
    UNREADABLE: State("⚠", "unreadable", "unread", 2),
    RUNNING: State("●", "running", "active", 3),
    PENDING: State("◌", "pending", "active", 3),
    STALE: State("▲", "stale", "stale", 4),
    DENIED: State("■", "denied", "cancelled", 5),
    APPROVED: State("◇", "approved", "accent", 6),
    READY: State("○", "ready", "accent", 6),
    FAILED: State("✗", "failed", "failed", ENDED),
    CANCELLED: State("−", "cancelled", "cancelled", ENDED),
    SUCCEEDED: State("✓", "succeeded", "completed", ENDED),
    _APPLIED: State("✓", "applied", "completed", ENDED),
}
"""An operation's state is its plan's, once there is one; a code in the place of a state reads as unreadable."""

_TAIL: Final = 8
_HASH: Final = "sha256:"
_DIGITS: Final = 12
_OLDEST_FIRST: Final = (WAITING, RUNNING, PENDING)


@frozen
class PlanRow:
    """One line of the list; every text is safe for a terminal."""

    row_id: str
    state: str
    tail: SafeStr
    action: SafeStr
    app: SafeStr
    version: SafeStr
    asked_by: SafeStr
    since: SafeStr

    @property
    def looks(self) -> State:
        """Glyph, word, role and rank of the row's state."""
        return STATES[self.state]


def row_id_of(seen: Seen) -> str:
    """What a row is called: the plan's id, the operation's where there is no plan, the one that a bad file has."""
    if isinstance(seen, Standing):
        return seen.plan.plan_id
    return seen.operation.id if isinstance(seen, BoardOperation) else seen.id


def state_of(seen: Seen) -> str:
    """A state of the table."""
    if isinstance(seen, BadFile):
        return UNREADABLE
    state = seen.state if isinstance(seen, Standing) else seen.status
    return state if state in STATES else UNREADABLE


def may_print(seen: Seen) -> bool:
    """Whether its log may still grow."""
    return state_of(seen) in (PENDING, RUNNING)


def since_ms(seen: Seen) -> int | None:
    """Since when it is in its state, as far as that is recorded."""
    if isinstance(seen, BadFile):
        return None
    operation = seen.operation
    if operation is not None:
        return operation.finished_at_ms or operation.created_at_ms
    assert isinstance(seen, Standing)  # noqa: S101 - an operation on the board is there
    approved_ms = seen.approval.approved_at_ms if seen.state == APPROVED else None
    return seen.plan.created_at_ms if approved_ms is None else approved_ms


def sort_key(seen: Seen) -> tuple[int, int, str]:
    """What waits comes first, the longest first; what has ended last, the newest first."""
    state, since = state_of(seen), since_ms(seen) or 0
    return STATES[state].rank, since if state in _OLDEST_FIRST else -since, row_id_of(seen)


def plan_row(seen: Seen, now_ms: int) -> PlanRow:
    """The line for what was seen."""
    since, row_id = since_ms(seen), row_id_of(seen)
    action, app, version, asked_by = _told(seen)
    return PlanRow(
        row_id=row_id,
        state=state_of(seen),
        tail=_for_a_line(f"…{row_id[-_TAIL:]}"),
        action=_for_a_line(action),
        app=_for_a_line(app),
        version=_for_a_line(version),
        asked_by=_for_a_line(asked_by),
        since=SafeStr("") if since is None else span(now_ms - since),
    )


def _told(seen: Seen) -> tuple[str, str, str, str]:
    """Action, application, versions and asker."""
    if isinstance(seen, BadFile):
        return "", seen.code, "", ""
    if isinstance(seen, BoardOperation):
        operation = seen.operation
        return operation.kind, operation.app or "", "", _asker(operation)
    plan = seen.plan
    asked_by = "" if plan.actor is None else plan.actor.type
    return plan.action.type, plan.action.application, versions_of(seen), asked_by


def _asker(operation: Operation) -> str:
    return "" if operation.actor is None else operation.actor.type


def versions_of(standing: Standing) -> str:
    """From which version to which, as far as the plan says."""
    plan = standing.plan
    to = plan.inputs.get(VERSION_INPUT)
    before = next((fact.expected for fact in plan.preconditions if fact.type == CURRENT_VERSION), None)
    return " → ".join(str(version) for version in (before, to) if version)


def subject_of(seen: Seen) -> SafeStr:
    """What it is about, in a few words: `deploy billing 2.2.0`."""
    if isinstance(seen, BadFile):
        return shown(f"{seen.folder}/{seen.file}")
    if isinstance(seen, BoardOperation):
        return shown(f"{seen.operation.kind} {seen.operation.app or ''}".strip())
    action, version = seen.plan.action, seen.plan.inputs.get(VERSION_INPUT)
    return shown(f"{action.type} {action.application}{f' {version}' if version else ''}")


def stale_reason(standing: Standing) -> SafeStr:
    """In what a plan differs from what is true now, the first such fact in words; nothing where it applies."""
    found = standing.applicability
    if found.missing_capabilities:
        return shown(f"the application declares no {', '.join(found.missing_capabilities)}")
    if not found.failed_preconditions:
        return SafeStr("")
    failed = sorted(found.failed_preconditions, key=lambda one: _TELLING.get(one.type, 0))
    more = f", and {len(failed) - 1} more" if len(failed) > 1 else ""
    return shown(f"{_in_words(failed[0])}{more}")


_TELLING: Final = {APP_EXISTS: -2, CURRENT_VERSION: -1, VERSION_EXISTS: -1, CONFIG_FINGERPRINT: 1, EXECUTION: 2}
"""Which of several is told first: a hash says least."""


def _in_words(failed: FailedPrecondition) -> str:
    if failed.type == APP_EXISTS:
        return f"the application {failed.expected} is {failed.actual}"
    if failed.type == CONFIG_FINGERPRINT:
        return "app.toml declares other commands than it did"
    if failed.type == EXECUTION:
        return "it would run something else than app.toml declares"
    return f"{failed.type} is {brief(failed.actual)}, expected {brief(failed.expected)}"


def brief(text: str) -> str:
    """A hash by its first digits; any other text as it is."""
    digits = text.removeprefix(_HASH)
    return f"{digits[:_DIGITS]}…" if digits != text and len(digits) > _DIGITS else text


@lru_cache(4_096)
def _for_a_line(text: str) -> SafeStr:
    """Rows on the screen are drawn every second, with the same texts."""
    return shown(text)
