"""Comparisons with numbers, ages and moments as ranges of whole numbers: one meaning for rows and for SQL.

An age asks of a moment: older than two hours is created before two hours ago; what is left is a number like
any other. A day is as wide as it is, `created=2026-08-01` is any moment of it and `created>2026-08-01` any after it.
"""

from typing import Final

from phelix_core.frozen import frozen_in_order
from phelix_core.sessions.model import ACTIVE
from phelix_core.sessions.staleness import SKEW_ALLOWED_MS
from phelix_core.views.filter.fields import Kind
from phelix_core.views.filter.terms import Comparison, Day, Span, Value
from phelix_core.views.rows import CLOCK, STALE

_DAY_MS: Final = 86_400_000
_TURNED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@frozen_in_order
class Range:
    """Whole numbers from `low` up to but without `high`; None leaves that side open."""

    low: int | None
    high: int | None


def ranges(term: Comparison, kind: Kind, now_ms: int) -> tuple[Range, ...]:
    """The ranges of which a number must be in one, for `term` on a field of that kind to hold."""
    operator = _TURNED[term.operator] if kind is Kind.SPAN else term.operator
    return tuple(_range(operator, *_width(value, kind, now_ms)) for value in term.values)


def state_limits(now_ms: int, stale_after_ms: int) -> tuple[int, int]:
    """An active session is stale with a last event before the first moment, and ahead of us from the second on."""
    ahead = now_ms + SKEW_ALLOWED_MS + 1
    return min(now_ms - stale_after_ms + 1, ahead), ahead


def state_ranges(now_ms: int, stale_after_ms: int) -> dict[str, Range]:
    """Where an active session's last event lies for each state that it is shown in."""
    fresh, ahead = state_limits(now_ms, stale_after_ms)
    return {STALE: Range(None, fresh), ACTIVE: Range(fresh, ahead), CLOCK: Range(ahead, None)}


def _width(value: Value, kind: Kind, now_ms: int) -> tuple[int, int]:
    match value:
        case Day(number):
            return number * _DAY_MS, (number + 1) * _DAY_MS
        case Span(ms) if kind is Kind.LEFT:
            return ms, ms + 1
        case Span(ms):
            return now_ms - ms, now_ms - ms + 1
        case _:
            return int(value), int(value) + 1


def _range(operator: str, start: int, end: int) -> Range:
    return {
        "=": Range(start, end),
        "<": Range(None, start),
        "<=": Range(None, end),
        ">": Range(end, None),
        ">=": Range(start, None),
    }[operator]
