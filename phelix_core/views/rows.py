"""Sessions as the rows of a list: attention first, each state by glyph, word and role.

One source for the console's Fleet and the command line's table, so that both always agree. Whatever came
from a record is made safe for a terminal here, once. Source: console page, sections 2 and 5.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final

from phelix_core.frozen import frozen, frozen_in_order
from phelix_core.sessions.model import ACTIVE, CANCELLED, COMPLETED, FAILED
from phelix_core.sessions.staleness import clock_ahead_ms, why_stale
from phelix_core.sessions.summary import SessionSummary
from phelix_core.text import SafeStr, visible
from phelix_core.views.moments import span
from phelix_core.views.shown import shown

STALE: Final = "stale"
CLOCK: Final = "clock"
UNREADABLE: Final = "unreadable"
_LONGEST: Final = 400
"""Characters of a record's text that a row keeps; the caps of what we write are lower."""


@frozen_in_order
class State:
    """How a state looks: a glyph, a word, a role that themes colour, and its rank in the list."""

    glyph: str
    word: str
    role: str
    rank: int


STATES: Final[Mapping[str, State]] = {
    UNREADABLE: State("⚠", "unreadable", "unread", 0),
    STALE: State("▲", "stale", "stale", 1),
    CLOCK: State("?", "clock?", "stale", 2),
    ACTIVE: State("●", "active", "active", 3),
    FAILED: State("✗", "failed", "failed", 4),
    CANCELLED: State("−", "cancelled", "cancelled", 5),
    COMPLETED: State("✓", "completed", "completed", 6),
}


@frozen_in_order
class BadRecord:
    """A record that cannot be read: the code that says why, and what was last read well, if anything was."""

    code: str
    last_good: SessionSummary | None = None


Found = SessionSummary | BadRecord
"""What a look at one record gave."""


@frozen
class SessionRow:
    """One line of the list; every text is safe for a terminal."""

    session_id: str
    state: str
    title: SafeStr
    app: SafeStr
    step: SafeStr
    age: SafeStr
    seen: SafeStr
    references: SafeStr

    @property
    def looks(self) -> State:
        """Glyph, word, role and rank of the row's state."""
        return STATES[self.state]


def state_of(summary: SessionSummary, now_ms: int, stale_after_ms: int) -> str:
    """A session's state as shown: its status, or stale, or that the clocks disagree."""
    if summary.status != ACTIVE:
        return summary.status
    if clock_ahead_ms(summary.last_event_ms, now_ms) is not None:
        return CLOCK
    return STALE if why_stale(ACTIVE, summary.last_event_ms, now_ms, stale_after_ms) else ACTIVE


def state_of_found(found: Found, now_ms: int, stale_after_ms: int) -> str:
    """The same for whatever a look at a record gave."""
    return UNREADABLE if isinstance(found, BadRecord) else state_of(found, now_ms, stale_after_ms)


def session_row(summary: SessionSummary, now_ms: int, stale_after_ms: int) -> SessionRow:
    """The line for a readable session."""
    point, counts = summary.checkpoint, summary.references
    linked = counts.plans + counts.operations + counts.deployments
    return SessionRow(
        session_id=summary.session_id,
        state=state_of(summary, now_ms, stale_after_ms),
        title=_for_a_line(summary.title),
        app=_for_a_line(summary.app),
        step=_for_a_line(point.step if point else None),
        age=span(now_ms - summary.created_at_ms),
        seen=span(now_ms - summary.last_event_ms),
        references=SafeStr(str(linked) if linked else ""),
    )


def _for_a_line(text: str | None) -> SafeStr:
    """Text for one cell, free of secrets; of what is far over every cap, and so not ours, only the start."""
    text = text or ""
    if len(text) <= _LONGEST:
        return _shown_again(text)
    return SafeStr(f"{shown(text[: 2 * _LONGEST])[:_LONGEST]}…")


@lru_cache(4_096)
def _shown_again(text: str) -> SafeStr:
    """Rows on the screen are drawn every second, with the same texts."""
    return shown(text)


def row_of(session_id: str, found: Found, now_ms: int, stale_after_ms: int) -> SessionRow:
    """The line for what was found; a record that went bad keeps what was last read well, marked as such."""
    if isinstance(found, SessionSummary):
        return session_row(found, now_ms, stale_after_ms)
    none = SafeStr("")
    if found.last_good is not None:
        good = session_row(found.last_good, now_ms, stale_after_ms)
        title = f"{found.last_good.title or 'untitled'} ({found.code}; as last read)"
        return replace(good, state=UNREADABLE, title=_for_a_line(title))
    return SessionRow(
        session_id=session_id,
        state=UNREADABLE,
        title=visible(found.code),
        app=none,
        step=none,
        age=none,
        seen=none,
        references=none,
    )


def created_ms(found: Found) -> int:
    """When the session was created, as far as that is known; 0 where it is not."""
    good = found if isinstance(found, SessionSummary) else found.last_good
    return good.created_at_ms if good else 0


def sort_key(state: str, found: Found, session_id: str) -> tuple[int, int, str]:
    """Attention first, then newest first, then by id: an order that a mere checkpoint does not change."""
    return STATES[state].rank, -created_ms(found), session_id


def counts(rows: Iterable[SessionRow]) -> dict[str, int]:
    """How many rows there are of each state, in the states' order; states without rows are left out."""
    found = dict.fromkeys(STATES, 0)
    for row in rows:
        found[row.state] += 1
    return {state: number for state, number in found.items() if number}
