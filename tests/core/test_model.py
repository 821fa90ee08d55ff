import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phelix_core.errors import InvalidArgument, PhelixError, SessionCorrupt, SessionInvalid
from phelix_core.sessions import model
from phelix_core.sessions.model import Actor, Checkpoint, Event, Session, decode, encode

SESSION_ID = "ses_1a2b3c4d5e6f7081"
TIMES = st.integers(0, 2**53)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
OPTIONAL = st.none() | TEXTS.filter(bool)
JSON = st.recursive(st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | TEXTS, st.lists, max_leaves=4)
UNKNOWN = st.dictionaries(TEXTS.map("x-{}".format), JSON, max_size=2)
HEX16 = st.integers(0, 2**64 - 1).map("{:016x}".format)

events = st.builds(
    Event,
    seq=st.integers(0, 500),
    type=TEXTS,
    at_ms=TIMES,
    detail=OPTIONAL,
    via=OPTIONAL,
    extra=UNKNOWN,
)


@st.composite
def sessions(draw: st.DrawFn) -> Session:
    """Any record that the format allows, members from the future included."""
    drawn = draw(st.lists(events, min_size=1, max_size=5, unique_by=lambda event: event.seq))
    history = tuple(sorted(drawn, key=lambda event: event.seq))
    return Session(
        schema_version="1",
        session_id=SESSION_ID,
        status=draw(st.sampled_from(model.STATUSES)),
        title=draw(OPTIONAL),
        project=draw(OPTIONAL),
        app=draw(OPTIONAL),
        actor=Actor(type=draw(TEXTS), id=draw(OPTIONAL), authenticated=draw(st.booleans()), extra=draw(UNKNOWN)),
        rev=len(history),
        created_at_ms=draw(TIMES),
        updated_at_ms=draw(TIMES),
        plan_ids=tuple(draw(st.lists(HEX16.map("pln_{}".format), max_size=3))),
        operation_ids=tuple(draw(st.lists(HEX16.map("op_{}".format), max_size=3))),
        deployment_ids=tuple(draw(st.lists(HEX16.map("dep-{}".format), max_size=3))),
        checkpoint=draw(
            st.none()
            | st.builds(Checkpoint, step=OPTIONAL, note=OPTIONAL, at_ms=TIMES, seq=st.integers(0, 200), extra=UNKNOWN)
        ),
        final_result=draw(OPTIONAL),
        events=history,
        extra=draw(UNKNOWN),
    )


@given(sessions())
def test_a_record_reads_back_equal_with_all_that_it_does_not_know(session: Session) -> None:
    assert decode(encode(session), SESSION_ID) == session


@given(sessions())
def test_the_same_state_is_always_the_same_bytes(session: Session) -> None:
    assert encode(decode(encode(session), SESSION_ID)) == encode(session)
    assert encode(copy.deepcopy(session)) == encode(session)


def document() -> dict[str, Any]:
    """The guide's own sample record, made whole: three events for revision 3."""
    return {
        "schema_version": "1",
        "session_id": SESSION_ID,
        "status": "active",
        "title": "ship billing v3",
        "project": "northwind",
        "app": "billing",
        "actor": {"type": "cli", "id": None, "authenticated": False},
        "rev": 2,
        "created_at_ms": 5,
        "updated_at_ms": 9,
        "plan_ids": ["pln_0123456789abcdef"],
        "operation_ids": ["op_0123456789abcdef"],
        "deployment_ids": ["dep-1"],
        "checkpoint": {"step": "deploy", "note": "canary at 10%", "at_ms": 9, "seq": 1},
        "final_result": "shipped",
        "events": [
            {"seq": 0, "type": "created", "at_ms": 5, "detail": "session created"},
            {"seq": 1, "type": "checkpoint", "at_ms": 9, "detail": "step=deploy", "via": "tui"},
        ],
    }


def test_keys_stand_in_their_order_with_two_spaces_and_no_trailing_newline() -> None:
    data = encode(decode(json.dumps(document()).encode(), SESSION_ID))
    assert data == json.dumps(document(), indent=2).encode()
    assert list(json.loads(data)) == list(document())


def test_text_beyond_ascii_is_written_as_itself() -> None:
    written = document() | {"title": "清理 <b>&"}
    assert "清理 <b>&".encode() in encode(decode(json.dumps(written).encode(), SESSION_ID))


def test_the_guides_own_record_without_times_and_via_is_read_and_dates_itself_by_its_events() -> None:
    written = document()
    del written["created_at_ms"], written["updated_at_ms"], written["project"]
    session = decode(json.dumps(written).encode(), SESSION_ID)
    assert (session.created_at_ms, session.updated_at_ms) == (5, 9)
    assert session.events[0].via is None


def test_the_guides_own_escapes_read_as_the_text_they_stand_for() -> None:
    data = json.dumps(document()).replace("ship billing v3", "a \\u003cb\\u003e \\u0026 c").encode()
    assert decode(data, SESSION_ID).title == "a <b> & c"


@pytest.mark.parametrize("member", ["title", "project", "app", "final_result"])
@pytest.mark.parametrize("empty", ["", None])
def test_empty_optional_text_is_absent(member: str, empty: str | None) -> None:
    session = decode(json.dumps(document() | {member: empty}).encode(), SESSION_ID)
    assert getattr(session, member) is None
    assert f'"{member}"'.encode() not in encode(session)


def test_absent_and_null_references_are_none_and_stay_unwritten() -> None:
    written = document() | {"plan_ids": None}
    del written["operation_ids"]
    session = decode(json.dumps(written).encode(), SESSION_ID)
    assert session.plan_ids == session.operation_ids == ()
    assert b"plan_ids" not in encode(session)


CORRUPT: dict[str, bytes] = {
    "empty file": b"",
    "garbage": b"garbage",
    "null": b"null",
    "list": b"[]",
    "text": b'"ses"',
    "number": b"1",
    "NUL bytes": b"\0" * 300,
    "truncated": json.dumps(document()).encode()[:-20],
    "trailing bytes": json.dumps(document()).encode() + b"}",
    "UTF-16": json.dumps(document()).encode("utf-16"),
    "100,000 nested brackets": b"[" * 100_000,
    "duplicate rev": json.dumps(document()).replace('"rev": 2', '"rev": 2, "rev": 2').encode(),
    "NaN": json.dumps(document()).replace('"rev": 2', '"rev": NaN').encode(),
    "1e400": json.dumps(document()).replace('"rev": 2', '"rev": 1e400').encode(),
    "5,000 digits": json.dumps(document()).replace('"rev": 2', f'"rev": {"9" * 5_000}').encode(),
    "2^63": json.dumps(document()).replace('"rev": 2', f'"rev": {2**63}').encode(),
    "lone surrogate": json.dumps(document()).replace("northwind", "\\ud800").encode(),
}
WRONG_TYPES: dict[str, list[object]] = {
    "schema_version": [1, None, [], {}],
    "session_id": [1, None],
    "status": [None, 1, []],
    "title": [1, [], {}, False],
    "project": [1],
    "app": [{}],
    "actor": [None, "cli", [], {}],
    "rev": ["2", 2.0, None, True, []],
    "created_at_ms": ["5", 5.5, True],
    "updated_at_ms": ["5", [], False],
    "plan_ids": ["pln_0123456789abcdef", {}, [1], [None]],
    "operation_ids": [{"a": 1}, [[]]],
    "deployment_ids": [1],
    "checkpoint": ["step", [], {}, {"at_ms": "1", "seq": 0}, {"at_ms": 1}, {"at_ms": 1, "seq": 1, "step": 4}],
    "final_result": [1],
    "events": ["x", {}, [1], [[]], [{}], [{"seq": 0}], [{"seq": 0, "type": 1, "at_ms": 1}]],
}
INVALID: dict[str, list[object]] = {
    "schema_version": ["2", "", "1.0", "01"],
    "session_id": ["ses_0000000000000000", "ses_", "../x"],
    "status": ["paused", "", "Active", "completed\n"],
    "rev": [0, 1, 3, -1, 2**53 + 1],
    "created_at_ms": [-1, 2**53 + 1],
    "updated_at_ms": [-1, 2**62],
    "plan_ids": [["pln_x"], ["op_0123456789abcdef"], ["pln_0123456789abcdef\n"], ["../../etc"]],
    "operation_ids": [["op_"]],
    "deployment_ids": [["dep-" + "a" * 65]],
    "checkpoint": [{"at_ms": -1, "seq": 0}, {"at_ms": 1, "seq": 2**53 + 1}],
    "events": [
        None,
        [],
        [{"seq": 0, "type": "created", "at_ms": 1}],
        [{"seq": -1, "type": "created", "at_ms": 1}],
        [{"seq": 1, "type": "created", "at_ms": 1}, {"seq": 0, "type": "checkpoint", "at_ms": 1}],
        [{"seq": 0, "type": "created", "at_ms": 1}, {"seq": 0, "type": "checkpoint", "at_ms": 1}],
    ],
}


@pytest.mark.parametrize("data", CORRUPT.values(), ids=CORRUPT.keys())
def test_what_is_no_record_at_all_is_corrupt(data: bytes) -> None:
    with pytest.raises(SessionCorrupt):
        decode(data, SESSION_ID)


@pytest.mark.parametrize(("member", "values"), WRONG_TYPES.items(), ids=WRONG_TYPES.keys())
def test_a_member_of_another_type_is_corrupt(member: str, values: list[object]) -> None:
    for value in values:
        with pytest.raises(SessionCorrupt):
            decode(json.dumps(document() | {member: value}).encode(), SESSION_ID)


@pytest.mark.parametrize("member", ["schema_version", "session_id", "status", "actor", "rev"])
def test_a_missing_member_is_corrupt(member: str) -> None:
    written = document()
    del written[member]
    with pytest.raises(SessionCorrupt):
        decode(json.dumps(written).encode(), SESSION_ID)


@pytest.mark.parametrize(("member", "values"), INVALID.items(), ids=INVALID.keys())
def test_a_member_that_breaks_the_format_is_invalid(member: str, values: list[object]) -> None:
    for value in values:
        with pytest.raises(SessionInvalid):
            decode(json.dumps(document() | {member: value}).encode(), SESSION_ID)


def test_a_refused_record_says_which_session_and_never_what_it_holds() -> None:
    written = document() | {"status": "token=ghp_0123456789abcdefghijABCDEFGHIJ012345"}
    with pytest.raises(PhelixError) as caught:
        decode(json.dumps(written).encode(), SESSION_ID)
    assert caught.value.details == {"session_id": SESSION_ID}
    assert "ghp_" not in caught.value.message


@given(st.binary(max_size=100) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_a_record_or_a_coded_refusal(data: bytes) -> None:
    with pytest.raises((SessionCorrupt, SessionInvalid)):
        decode(data, SESSION_ID)


MEMBERS = sorted(document())


@given(st.sampled_from(MEMBERS), JSON)
def test_any_value_of_any_member_is_read_or_refused_with_a_code(member: str, value: object) -> None:
    data = json.dumps(document() | {member: value}).encode()
    try:
        session = decode(data, SESSION_ID)
    except (SessionCorrupt, SessionInvalid):
        return
    assert decode(encode(session), SESSION_ID) == session


def sized(status: str, size: int) -> Session:
    """A record of exactly `size` bytes."""
    base = replace(decode(json.dumps(document()).encode(), SESSION_ID), status=status, extra={"x": ""})
    return replace(base, extra={"x": "y" * (size - len(encode(base)))})


def test_an_active_record_may_take_256_kib_and_not_a_byte_more() -> None:
    assert len(encode(sized("active", 256 * 1024))) == 256 * 1024
    with pytest.raises(InvalidArgument) as caught:
        encode(sized("active", 256 * 1024 + 1))
    assert caught.value.details == {"reason": "size_cap", "bytes": 256 * 1024 + 1, "cap": 256 * 1024}


@pytest.mark.parametrize("status", ["completed", "failed", "cancelled"])
def test_a_closed_record_may_be_larger_but_never_too_large_to_be_read_again(status: str) -> None:
    assert len(encode(sized(status, 1 << 20))) == 1 << 20
    with pytest.raises(InvalidArgument):
        encode(sized(status, (1 << 20) + 1))


@pytest.mark.parametrize("session_id", ["../x", "ses_1a2b3c4d5e6f7081\n", "", "ses_1A2B3C4D5E6F7081"])
def test_no_file_is_named_after_a_malformed_id(session_id: str) -> None:
    for name in (model.record_name, model.lock_name):
        with pytest.raises(ValueError, match="session id"):
            name(session_id)
    assert Path(model.record_name(SESSION_ID)).stem == SESSION_ID
