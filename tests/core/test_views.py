import unicodedata
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phelix_core.sessions import transitions
from phelix_core.sessions.model import STATUSES, Actor, Session
from phelix_core.sessions.references import Resolved, ResolvedReferences
from phelix_core.sessions.staleness import why_stale
from phelix_core.sessions.summary import summarise
from phelix_core.sessions.transitions import References, Stamp
from phelix_core.views import story
from phelix_core.views.moments import long_span, moment, span, time_of_day
from phelix_core.views.rows import STATES, session_row

HOUR = 3_600_000
NOW = 1_790_000_000_000
HOSTILE = "\x1b[2J\x9b31m\u202eevil\0\n\u2028"


def session(at_ms: int = NOW, **members: object) -> Session:
    actor = Actor(type="cli", id=None, authenticated=False)
    made = transitions.create(
        "ses_0000000000000001", actor, Stamp(at_ms=at_ms, via="cli"), title="Ship", project=None, app="billing"
    )
    return replace(made, **members)  # pyright: ignore[reportArgumentType]


def is_safe(text: str, *, block: bool = False) -> bool:
    allowed = "\n" if block else ""
    return not [
        char
        for char in text
        if (unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"} and char not in allowed) or char == "\u202e"
    ]


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("seen_ago_ms", [0, HOUR - 1, HOUR, 3 * HOUR, -5_000, -5_001])
def test_a_rows_state_is_the_status_or_what_a_reader_finds(status: str, seen_ago_ms: int) -> None:
    row = session_row(summarise(session(NOW - seen_ago_ms, status=status), NOW, HOUR), NOW, HOUR)
    if status != "active":
        assert row.state == status
    elif seen_ago_ms < -5_000:
        assert row.state == "clock"
    else:
        assert row.state == ("stale" if seen_ago_ms >= HOUR else "active")


def test_every_state_differs_by_glyph_and_word_and_attention_ranks_first() -> None:
    assert len({state.glyph for state in STATES.values()}) == len({s.word for s in STATES.values()}) == len(STATES)
    ranks = [state.rank for state in STATES.values()]
    assert ranks == sorted(ranks)
    assert list(STATES)[:2] == ["unreadable", "stale"]


def test_the_list_and_the_story_call_the_same_session_stale() -> None:
    for ago in (0, HOUR - 1, HOUR, 9 * HOUR):
        stale = session(NOW - ago)
        listed = summarise(stale, NOW, HOUR).stale
        assert (listed is not None) == bool(story.staleness(stale, NOW, HOUR))
        assert listed == why_stale("active", NOW - ago, NOW, HOUR)


def test_why_a_session_is_stale_names_the_limit_the_last_event_and_the_clock() -> None:
    told = " ".join(story.staleness(session(NOW - 2 * HOUR), NOW, HOUR))
    for needed in ("1h 00m", moment(NOW - 2 * HOUR), moment(NOW)[:16], "2h 00m", "nothing was stopped"):
        assert needed in told


def test_an_event_from_the_future_says_that_staleness_cannot_be_told() -> None:
    assert "Cannot tell" in story.staleness(session(NOW + HOUR), NOW, HOUR)[0]


def test_whatever_a_record_holds_no_view_lets_it_reach_a_terminal() -> None:
    linked = References(deployments=("dep-1",))
    hostile = transitions.checkpoint(
        session(title=HOSTILE, app=HOSTILE, project=HOSTILE),
        Stamp(at_ms=NOW, via=HOSTILE),
        step=HOSTILE,
        note=HOSTILE,
        linked=linked,
    )
    hostile = transitions.close(hostile, Stamp(at_ms=NOW, via="tui"), "failed", text=HOSTILE, linked=linked)
    row = session_row(summarise(hostile, NOW, HOUR), NOW, HOUR)
    found = (Resolved(id="dep-1", present=True, state="present", status=HOSTILE, detail=HOSTILE),)
    shown = [row.title, row.app, row.step, row.references]
    shown += [value for _, value in story.identity(hostile, NOW)]
    shown += [text for at in story.timeline(hostile) for text in (at.at, at.gap, at.kind, at.detail, at.via)]
    shown += [r.note for r in story.references(ResolvedReferences(plans=(), operations=(), deployments=found))]
    assert [text for text in shown if not is_safe(text)] == []
    assert is_safe(story.raw(hostile), block=True)
    assert "evil" in row.title


def test_the_timeline_holds_every_event_with_the_time_between() -> None:
    later = transitions.checkpoint(
        session(), Stamp(at_ms=NOW + 65_000, via="mcp"), step="deploy", note=None, linked=References()
    )
    first, second = story.timeline(later)
    assert (first.seq, first.gap, first.kind, first.via) == (0, "", "created", "cli")
    assert (second.seq, second.gap, second.kind, second.detail, second.via) == (
        1, "+1m 05s", "checkpoint", "step=deploy", "mcp",
    )  # fmt: skip


def test_an_event_without_via_says_that_it_is_not_recorded() -> None:
    old = session()
    assert story.timeline(replace(old, events=(replace(old.events[0], via=None),)))[0].via == "not recorded"


@pytest.mark.parametrize("state", ["present", "missing", "unavailable", "unknown"])
def test_each_reference_state_has_a_glyph_and_a_word_of_its_own(state: str) -> None:
    one = Resolved(id="pln_1", present=state == "present", state=state, error_code="PLAN_CORRUPT")
    told = story.references(ResolvedReferences(plans=(one,), operations=(), deployments=()))[0]
    assert (told.kind, told.word, told.note) == ("plan", state, "PLAN_CORRUPT")
    assert len({looks[0] for looks in story.REFERENCE_LOOKS.values()}) == 4


@pytest.mark.parametrize(
    ("ms", "short", "long"),
    [
        (-5, "0s", "0s"), (0, "0s", "0s"), (59_999, "59s", "59s"), (60_000, "1m", "1m 00s"),
        (94 * 60_000, "94m", "1h 34m"), (2 * HOUR, "2h", "2h 00m"), (47 * HOUR, "47h", "1d 23h"),
        (48 * HOUR, "2d", "2d 00h"), (2**53, "9999d", "104249991d 08h"),
    ],
)  # fmt: skip
def test_durations_read_in_few_letters(ms: int, short: str, long: str) -> None:
    assert (span(ms), long_span(ms)) == (short, long)
    assert len(span(ms)) <= 5


@given(st.integers(0, 253_402_300_799_999))
def test_moments_are_those_of_the_calendar(ms: int) -> None:
    told = datetime.fromtimestamp(ms // 1_000, UTC)
    assert moment(ms) == told.strftime("%Y-%m-%d %H:%M:%SZ").zfill(20)
    assert moment(ms).endswith(time_of_day(ms))


def test_a_moment_beyond_four_digits_of_year_reads_as_milliseconds() -> None:
    assert moment(2**53) == f"{2**53} ms"
