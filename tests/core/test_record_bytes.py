"""The record's own fast reader and writer agree with the general ones, for any record."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phelix_core.errors import SessionCorrupt, SessionInvalid
from phelix_core.sessions.model import Actor, Checkpoint, Event, Session, decode, encode
from phelix_core.strictjson import dumps, plain

SESSION_ID = "ses_0123456789abcdef"
NESTED: dict[str, list[int]] = {"events": []}
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
some = st.none() | texts
numbers = st.integers(0, 2**53)
unknown: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    st.sampled_from(["events_of", "new", '\n  "events": []']),
    st.none() | texts | st.lists(numbers) | st.just(NESTED),
    max_size=2,
)
events = st.builds(Event, seq=numbers, type=texts, at_ms=numbers, detail=some, via=some, extra=unknown)
histories = st.lists(events, min_size=1, max_size=6, unique_by=lambda event: event.seq)
sessions = histories.map(lambda drawn: sorted(drawn, key=lambda event: event.seq)).flatmap(
    lambda history: st.builds(
        Session,
        schema_version=st.just("1"),
        session_id=st.just(SESSION_ID),
        status=st.just("active"),
        title=some,
        project=some,
        app=some,
        actor=st.builds(Actor, type=texts, id=some, authenticated=st.booleans(), extra=unknown),
        rev=st.just(len(history)),
        created_at_ms=numbers,
        updated_at_ms=numbers,
        checkpoint=st.none() | st.builds(Checkpoint, step=some, note=some, at_ms=numbers, seq=numbers, extra=unknown),
        final_result=some,
        events=st.just(tuple(history)),
        extra=unknown,
    )
)


@given(sessions)
def test_a_record_is_written_in_the_one_form_and_reads_back_as_the_same_session(session: Session) -> None:
    data = encode(session)
    assert data == dumps(plain(session)).encode()
    assert decode(data, SESSION_ID) == session
    assert encode(decode(data, SESSION_ID)) == data


def usual() -> dict[str, Any]:
    return {"seq": 0, "type": "created", "at_ms": 1, "detail": "session created", "via": "cli"}


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"seq": True}, SessionCorrupt),
        ({"at_ms": 1.0}, SessionCorrupt),
        ({"type": None}, SessionCorrupt),
        ({"detail": 7}, SessionCorrupt),
        ({"via": ["cli"]}, SessionCorrupt),
        ({"seq": -1}, SessionInvalid),
        ({"at_ms": 2**53 + 1}, SessionInvalid),
    ],
)
def test_an_event_that_is_almost_the_usual_one_is_judged_as_any_other(
    change: dict[str, Any], error: type[Exception]
) -> None:
    record: dict[str, Any] = {
        "schema_version": "1",
        "session_id": SESSION_ID,
        "status": "active",
        "actor": {"type": "cli", "id": None, "authenticated": False},
        "rev": 1,
        "events": [usual()],
    }
    assert decode(dumps(record).encode(), SESSION_ID).events == (Event(**usual()),)
    record["events"] = [usual() | change]
    with pytest.raises(error):
        decode(dumps(record).encode(), SESSION_ID)


@pytest.mark.parametrize("name", ["detail", "via"])
@pytest.mark.parametrize("absent", ["", None])
def test_an_empty_member_of_an_event_counts_as_absent(name: str, absent: str | None) -> None:
    record: dict[str, Any] = {
        "schema_version": "1",
        "session_id": SESSION_ID,
        "status": "active",
        "actor": {"type": "cli", "id": None, "authenticated": False},
        "rev": 1,
        "events": [usual() | {name: absent}],
    }
    assert getattr(decode(dumps(record).encode(), SESSION_ID).events[0], name) is None
