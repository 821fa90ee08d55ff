import pytest
from hypothesis import given
from hypothesis import strategies as st

from phelix_core.sessions.model import STATUSES
from phelix_core.sessions.staleness import clock_ahead_ms, why_stale

MINUTE = 60_000
HOUR = 60 * MINUTE
TIMES = st.integers(0, 2**53)


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("quiet_ms", [0, HOUR - 1, HOUR, 10 * HOUR])
def test_only_an_active_session_goes_stale_and_only_at_the_limit(status: str, quiet_ms: int) -> None:
    found = why_stale(status, 1_000, 1_000 + quiet_ms, HOUR)
    if status == "active" and quiet_ms >= HOUR:
        assert found is not None
        assert found.since_ms == 1_000 + HOUR
        assert found.reason == "no event for 60 minutes or more"
    else:
        assert found is None


def test_an_event_from_the_future_is_never_stale() -> None:
    assert why_stale("active", 10 * HOUR, 0, MINUTE) is None


@pytest.mark.parametrize(("ahead_ms", "told"), [(-1, None), (0, None), (5_000, None), (5_001, 5_001), (HOUR, HOUR)])
def test_a_clock_ahead_is_told_beyond_five_seconds(ahead_ms: int, told: int | None) -> None:
    assert clock_ahead_ms(HOUR + ahead_ms, HOUR) == told


@given(TIMES, TIMES, st.integers(MINUTE, 1_000 * HOUR))
def test_it_never_turns_fresh_by_waiting_and_never_both_stale_and_from_the_future(
    last_ms: int, now_ms: int, limit_ms: int
) -> None:
    found = why_stale("active", last_ms, now_ms, limit_ms)
    if found:
        assert why_stale("active", last_ms, now_ms + 1, limit_ms) == found
        assert found.since_ms <= now_ms
        assert clock_ahead_ms(last_ms, now_ms) is None
