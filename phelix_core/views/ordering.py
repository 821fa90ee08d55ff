"""Lists in the order of any of their columns, up or down: keys for sessions and for issues, by the column's name.

A key is made of what is known of a row, with no line drawn up for it, and stays right as time passes: what ages is
ordered by the moment it ages from. Its last member is the id, which settles ties, upwards in both directions. Rows
with nothing in the column come last in both. Text goes without regard to case, numbers in it by their value, and as
it is stored: what is hidden of it on a screen moves no row. Keys of one column and direction compare with each other
alone. Source: console page, sections 3 and 10.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final

from phelix_core.queue.board import BoardIssue
from phelix_core.queue.model import ACTIVE, BLOCKED, PENDING, Lease
from phelix_core.sessions.summary import SessionSummary
from phelix_core.views.queue.rows import sort_key as issue_attention
from phelix_core.views.rows import BadRecord, Found
from phelix_core.views.rows import sort_key as session_attention

Key = tuple[Any, ...]
SessionKey = Callable[[str, Found, str], Key]
"""From a row's state, what was found and its id, as `views.rows.sort_key`."""
IssueKey = Callable[[str, BoardIssue, Lease | None, str, str], Key]
"""From a row's state, the issue, its lease, the milestone's key, and what the issue waits for while it is pending."""

STATE: Final = "state"
"""The column whose order is the list's own, attention first; downwards it turns the states around and nothing else."""
SESSION_COLUMNS: Final = (STATE, "session", "title", "app", "step", "age", "seen", "refs")
ISSUE_COLUMNS: Final = (STATE, "issue", "task", "priority", "milestone", "left", "about")
"""The columns of both lists by which they can be ordered."""

_LAST: Final = 1 << 62
_LAST_TEXT: Final = "\xff\xff"
"""Stand behind every number and every text."""
_START: Final = "\0"
_END: Final = "\xff"
"""End each text, before the id that settles ties in it: of two that begin alike the shorter is first, or the longer."""
_TURNED: Final = bytes(range(255, -1, -1))
_DIGITS: Final = re.compile("[0-9]+")
_SHORT: Final = 9

_SESSION_NUMBERS: Final[Mapping[str, Callable[[SessionSummary], int | None]]] = {
    "age": lambda known: -known.created_at_ms,
    "seen": lambda known: -known.last_event_ms,
    "refs": lambda known: (known.references.plans + known.references.operations + known.references.deployments) or None,
}
_SESSION_TEXTS: Final[Mapping[str, Callable[[SessionSummary], str | None]]] = {
    "title": attrgetter("title"),
    "app": attrgetter("app"),
    "step": lambda known: known.checkpoint.step if known.checkpoint else None,
}
_ISSUE_TEXTS: Final[Mapping[str, Callable[[BoardIssue, Lease | None, str, str], str | None]]] = {
    "task": lambda issue, _lease, _milestone, _waits: issue.task,
    "milestone": lambda _issue, _lease, milestone, _waits: milestone,
    "about": lambda issue, lease, _milestone, waits: _about(issue, lease, waits),
}


def order_sessions_by(column: str, *, reverse: bool = False) -> SessionKey:
    """The key of a session's row for one of `SESSION_COLUMNS`."""
    if column == STATE:
        return _sessions_turned if reverse else session_attention
    if column == "session":
        return lambda _state, _found, session_id: (_id(session_id, reverse=reverse), session_id)
    if column in _SESSION_NUMBERS:
        return _by_number(_SESSION_NUMBERS[column], -1 if reverse else 1)
    get, text = _SESSION_TEXTS[column], _turned if reverse else _upwards
    if column != "title":
        text = lru_cache(4_096)(text)  # many sessions share an application and a step

    def by_text(_state: str, found: Found, session_id: str) -> Key:
        known = found.last_good if isinstance(found, BadRecord) else found
        value = _code_of(found, column) if known is None else get(known)
        return f"{text(value) if value else _LAST_TEXT}{session_id}", session_id

    return by_text


def order_issues_by(column: str, *, reverse: bool = False) -> IssueKey:
    """The key of an issue's row for one of `ISSUE_COLUMNS`."""
    sign = -1 if reverse else 1
    if column == STATE:
        return lambda state, issue, lease, _milestone, _waits: _by_state(issue_attention(state, issue, lease), sign)
    if column == "issue":
        return lambda _state, issue, _lease, _milestone, _waits: (_id(issue.id, reverse=reverse), issue.id)
    if column == "priority":
        return lambda _state, issue, _lease, _milestone, _waits: (sign * issue.rank, issue.id)
    if column == "left":
        return lambda _state, issue, lease, _milestone, _waits: (_left(issue, lease, sign), issue.id)
    get, text = _ISSUE_TEXTS[column], _turned if reverse else _upwards

    def by_text(_state: str, issue: BoardIssue, lease: Lease | None, milestone: str, waits: str) -> Key:
        value = get(issue, lease, milestone, waits)
        return f"{text(value) if value else _LAST_TEXT}{issue.id}", issue.id

    return by_text


def _by_number(get: Callable[[SessionSummary], int | None], sign: int) -> SessionKey:
    def by_number(_state: str, found: Found, session_id: str) -> Key:
        known = found.last_good if isinstance(found, BadRecord) else found
        value = None if known is None else get(known)
        return _LAST if value is None else sign * value, session_id

    return by_number


def _code_of(found: Found, column: str) -> str | None:
    """What a record that was never read well shows for its title."""
    return found.code if column == "title" and isinstance(found, BadRecord) else None


def _sessions_turned(state: str, found: Found, session_id: str) -> Key:
    return _by_state(session_attention(state, found, session_id), -1)


def _by_state(key: Key, sign: int) -> Key:
    return sign * key[0], *key[1:]


def _left(issue: BoardIssue, lease: Lease | None, sign: int) -> int:
    """When a lease or its checkpoint runs out by the wall clock; only an order, no decision."""
    if lease is None or lease.status != ACTIVE:
        return _LAST
    if issue.status == BLOCKED or lease.checkpoint_at is None:
        return sign * lease.expires_at
    return sign * min(lease.expires_at, lease.checkpoint_at + lease.freshness_ms)


def _about(issue: BoardIssue, lease: Lease | None, waits: str) -> str | None:
    """Who holds the issue, or what it waits for."""
    if lease is not None and lease.status == ACTIVE and issue.status != BLOCKED:
        return lease.agent_id
    return waits if issue.status == PENDING else issue.blocked_reason


def _id(text: str, *, reverse: bool) -> str:
    """What orders an id: its letters and digits are no words and no numbers."""
    return _turned_around(text) if reverse else text


def _upwards(text: str) -> str:
    """What orders a text, in characters of one byte, which compare fastest: its UTF-8, whose order is the text's."""
    folded = _folded(text)
    return (folded if folded.isascii() else folded.encode("utf-8", "surrogatepass").decode("latin-1")) + _START


def _turned(text: str) -> str:
    """What orders it the other way around."""
    return _turned_around(_folded(text))


def _folded(text: str) -> str:
    return _DIGITS.sub(_by_value, text.casefold().replace(_START, "\1"))


def _turned_around(text: str) -> str:
    return text.encode("utf-8", "surrogatepass").translate(_TURNED).decode("latin-1") + _END


def _by_value(found: re.Match[str]) -> str:
    """A number behind how many digits it has, itself in digits that no other begins with."""
    digits = found[0]
    if digits[0] == "0":
        digits = digits.lstrip("0") or "0"
    many = len(digits)
    return f"{many}{digits}" if many < _SHORT else f"{'9' * (many // _SHORT)}{many % _SHORT}{digits}"
