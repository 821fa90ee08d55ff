"""What a pending issue waits for, and what a milestone's issues make of it. Pure.

An issue is ready iff every issue it depends on is done and every milestone that its milestone depends on
is done; a failed one never unlocks. The milestone's gate is named first. A milestone's status is derived and
never asserted. Source: queue page, Vocabulary and Actions (promote_queue).
"""

from collections.abc import Mapping, Sequence
from typing import Final

from phelix_core.frozen import frozen
from phelix_core.queue.model import BLOCKED, DONE, FAILED, IN_PROGRESS, NEEDS_RECOVERY, PENDING, READY

_DEPENDENCY: Final = "_dependency:"


@frozen
class Gate:
    """Something that is not done yet and stands before an issue."""

    kind: str
    id: str

    @property
    def reason(self) -> str:
        """The word for it in answers."""
        return f"{self.kind}{_DEPENDENCY}{self.id}"


def gate_in(reason: str) -> Gate | None:
    """The gate that a reason is the word for; None where it tells of something else."""
    kind, _, waited = reason.partition(_DEPENDENCY)
    return Gate(kind=kind, id=waited) if waited else None


def first_closed(milestones: Sequence[tuple[str, bool]], issues: Sequence[tuple[str, str]]) -> Gate | None:
    """The first gate that is closed: milestones as (id, done), then issues as (id, status)."""
    for milestone_id, done in milestones:
        if not done:
            return Gate(kind="milestone", id=milestone_id)
    for issue_id, status in issues:
        if status != DONE:
            return Gate(kind="issue", id=issue_id)
    return None


def milestone_status(counts: Mapping[str, int], closed_gate: str | None) -> tuple[str, str | None]:
    """Status and reason of a milestone with so many issues of each status; `closed_gate` is one it depends on.

    A milestone whose own issues are all done or have one failed is that, whatever it depends on.
    """
    total = sum(counts.values())
    if counts.get(FAILED):
        return FAILED, None
    if total and counts.get(DONE) == total:
        return DONE, None
    if closed_gate is not None:
        return BLOCKED, Gate(kind="milestone", id=closed_gate).reason
    for status in (IN_PROGRESS, READY):
        if counts.get(status):
            return status, None
    for status in (BLOCKED, NEEDS_RECOVERY):
        if counts.get(status):
            return BLOCKED, f"issue_{status}"
    return PENDING, None


def is_done(counts: Mapping[str, int]) -> bool:
    """Whether a milestone opens the gates behind it; one without issues never does."""
    return bool(counts) and set(counts) == {DONE}
