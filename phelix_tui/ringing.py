"""What the bell is about: the ids of each kind that is so now, what a person calls them, and when to look.

A source that has not been read yet, or cannot be read, is left out: nothing is known of it. Everything is gone
through, so it is looked at once a second at most, and only where something may have turned. The terminal is rung by
its bell and by its notification (OSC 9); the screen says the same in a toast. A conflict
rings nothing: it is met by who acts, and its screen is in front of them.
"""

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Final

from phelix_core.arc.operations import INDETERMINATE
from phelix_core.arc.standing import WAITING
from phelix_core.queue.model import FAILED as FAILED_ISSUE
from phelix_core.queue.model import NEEDS_RECOVERY
from phelix_core.sessions.model import FAILED as FAILED_SESSION
from phelix_core.views.queue import rows as issues
from phelix_core.views.rows import STALE as STALE_SESSION
from phelix_core.views.rows import UNREADABLE as UNREADABLE_SESSION
from phelix_tui import bell
from phelix_tui.desk import Desk

_OF_SESSIONS: Final[Mapping[str, str]] = MappingProxyType(
    {STALE_SESSION: bell.STALE, UNREADABLE_SESSION: bell.UNREADABLE, FAILED_SESSION: bell.FAILED}
)
_OF_ISSUES: Final[Mapping[str, str]] = MappingProxyType(
    {NEEDS_RECOVERY: bell.ISSUE_RECOVERY, issues.STALE: bell.ISSUE_STALE, FAILED_ISSUE: bell.ISSUE_FAILED}
)
_OF_PLANS: Final[Mapping[str, str]] = MappingProxyType({WAITING: bell.WAITING, INDETERMINATE: bell.INDETERMINATE})


def now_so(desk: Desk, *, sessions: bool) -> dict[str, Collection[str]]:
    """The ids of each kind; `sessions` says whether all records have been read and can be."""
    found: dict[str, Collection[str]] = {}
    if sessions:
        found |= _sorted_out(desk.arrangement.states, _OF_SESSIONS)
    if desk.queue_read and desk.queue_failure is None:
        found |= _sorted_out(desk.backlog.states, _OF_ISSUES)
    if desk.plans_read and desk.plans_failure is None:
        found |= _sorted_out(desk.plans.states(), _OF_PLANS)
    return found


def _sorted_out(states: Mapping[str, str], kinds: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {kind: [] for kind in kinds.values()}
    for subject, state in states.items():
        if state in kinds:
            found[kinds[state]].append(subject)
    return found


def name_of(desk: Desk, kind: str, subject: str) -> str:
    """What a person calls one of them."""
    if kind == bell.CONFLICT:
        return "a change of yours"
    if kind in _OF_PLANS.values():
        return desk.plans.subject_of(subject)
    if kind in _OF_ISSUES.values():
        issue = desk.backlog.row(subject)
        return "" if issue is None else issue.task
    row = desk.arrangement.row(subject)
    return subject if row is None or not row.title else row.title


class Ringer:
    """Looks at what is so, and rings for what became so; `ring` is handed the bell, at most every ten seconds."""

    def __init__(
        self, desk: Desk, ring: Callable[[bell.Ring], None], *, every_s: float, muted: Collection[str]
    ) -> None:
        self._desk = desk
        self._ring = ring
        self.bell = bell.Bell(every_s=every_s, muted=muted)
        self._stamp: object = None
        self._before: dict[str, frozenset[str]] = {}
        self._unsettled = False

    def look(self, at_s: float, *, sessions: bool, changed: bool) -> None:
        """Take in how things are; `changed` says whether anything was read since the last look.

        What is so must be so at two looks: what ends at once is no news, and what begins together is told together.
        """
        desk, before = self._desk, self._before
        stamp = (sessions, desk.arrangement.summary(), dict(desk.backlog.counts))
        due = self.bell.due_s()
        if changed or self._unsettled or stamp != self._stamp or (due is not None and at_s >= due):
            self._stamp = stamp
            now = {kind: frozenset(ids) for kind, ids in now_so(desk, sessions=sessions).items()}
            self._before, self._unsettled = {**before, **now}, any(ids != before.get(kind) for kind, ids in now.items())
            lasting = {kind: ids & before.get(kind, ids) for kind, ids in now.items()}
            rung = self.bell.news(lasting, at_s, lambda kind, subject: name_of(desk, kind, subject))
            if rung is not None:
                self._ring(rung)
