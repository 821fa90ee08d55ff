"""Is this session stale, and why: a finding that readers compute, never a status that is stored.

An active session is stale once its last event is older than the limit. A last event in the future says
that two clocks disagree: then it cannot be told, and the offset is named. Source: sessions page, Rules;
console page, section 5.
"""

from typing import Final

from phelix_core.frozen import frozen
from phelix_core.sessions.model import ACTIVE

SKEW_ALLOWED_MS: Final = 5_000


@frozen
class Stale:
    """Why a session counts as stale, and since when (milliseconds since 1970 UTC)."""

    reason: str
    since_ms: int


def why_stale(status: str, last_event_ms: int, now_ms: int, limit_ms: int) -> Stale | None:
    """The finding for a session whose last event was at `last_event_ms`; None while it is not stale."""
    if status != ACTIVE or now_ms - last_event_ms < limit_ms:
        return None
    minutes = limit_ms // 60_000
    return Stale(reason=f"no event for {minutes} minutes or more", since_ms=last_event_ms + limit_ms)


def clock_ahead_ms(last_event_ms: int, now_ms: int) -> int | None:
    """How far the record's clock is ahead of ours, where it is too far for staleness to be told."""
    ahead = last_event_ms - now_ms
    return ahead if ahead > SKEW_ALLOWED_MS else None
