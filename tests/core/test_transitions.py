from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phelix_core.errors import InvalidArgument, PhelixError, SessionConflict, SessionInvalid, SessionInvalidTransition
from phelix_core.sessions import transitions
from phelix_core.sessions.model import MAX_EVENTS, STATUSES, Actor, Session, decode, encode
from phelix_core.sessions.transitions import References, Stamp

SESSION_ID = "ses_1a2b3c4d5e6f7081"
NONE = References()


def stamp(at_ms: int = 2_000, via: str = "cli") -> Stamp:
    return Stamp(at_ms=at_ms, via=via)


def opened(at_ms: int = 1_000) -> Session:
    actor = Actor(type="cli", id=None, authenticated=False)
    return transitions.create(SESSION_ID, actor, stamp(at_ms), title="ship", project=None, app="billing")


def ids(prefix: str, numbers: range) -> tuple[str, ...]:
    return tuple(f"{prefix}{number:016x}" for number in numbers)


VERBS: dict[str, tuple[Callable[[Session], Session], str]] = {
    "checkpoint": (lambda s: transitions.checkpoint(s, stamp(), step="deploy", note=None, linked=NONE), "active"),
    "complete": (lambda s: transitions.close(s, stamp(), "completed", text="done", linked=NONE), "completed"),
    "fail": (lambda s: transitions.close(s, stamp(), "failed", text="broke", linked=NONE), "failed"),
    "cancel": (lambda s: transitions.close(s, stamp(), "cancelled", text=None, linked=NONE), "cancelled"),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("status", STATUSES)
def test_every_verb_moves_an_active_session_and_no_closed_one(status: str, verb: str) -> None:
    change, becomes = VERBS[verb]
    before = replace(opened(), status=status)
    if status != "active":
        with pytest.raises(SessionInvalidTransition, match=status):
            change(before)
        return
    after = change(before)
    assert after.status == becomes
    assert after.rev == before.rev + 1
    assert after.events[-1].type == (verb if verb == "checkpoint" else becomes)
    assert after.events[:-1] == before.events


def test_creation_is_one_event_at_revision_one() -> None:
    session = opened()
    assert (session.status, session.rev, len(session.events)) == ("active", 1, 1)
    event = session.events[0]
    assert (event.seq, event.type, event.detail, event.via) == (0, "created", "session created", "cli")
    assert session.created_at_ms == session.updated_at_ms == event.at_ms == 1_000


@pytest.mark.parametrize(
    ("step", "note", "linked", "detail"),
    [
        ("deploy", None, NONE, "step=deploy"),
        (None, "10%", NONE, "10%"),
        ("deploy", "10%", NONE, "step=deploy; 10%"),
        (
            "deploy",
            "10%",
            References(plans=("pln_1",), deployments=("dep-2",)),
            "step=deploy; 10%; linked pln_1, dep-2",
        ),
        (None, None, References(operations=("op_1",)), "linked op_1"),
    ],
)
def test_a_checkpoints_event_tells_what_was_said(
    step: str | None, note: str | None, linked: References, detail: str
) -> None:
    after = transitions.checkpoint(opened(), stamp(), step=step, note=note, linked=linked)
    assert after.events[-1].detail == detail
    assert after.checkpoint is not None
    assert (after.checkpoint.step, after.checkpoint.note, after.checkpoint.seq) == (step, note, 1)


def test_a_checkpoint_of_nothing_is_refused() -> None:
    for nothing in (None, ""):
        with pytest.raises(InvalidArgument, match="at least one"):
            transitions.checkpoint(opened(), stamp(), step=nothing, note=nothing, linked=NONE)


def test_references_alone_keep_the_step_and_note_before_them_and_move_the_time() -> None:
    before = transitions.checkpoint(opened(), stamp(3_000), step="deploy", note="10%", linked=NONE)
    after = transitions.checkpoint(before, stamp(4_000), step=None, note=None, linked=References(plans=("pln_1",)))
    assert after.checkpoint is not None
    assert (after.checkpoint.step, after.checkpoint.note) == ("deploy", "10%")
    assert (after.checkpoint.seq, after.checkpoint.at_ms) == (2, 4_000)


def test_a_step_alone_replaces_the_note_too() -> None:
    before = transitions.checkpoint(opened(), stamp(), step="deploy", note="10%", linked=NONE)
    after = transitions.checkpoint(before, stamp(), step="verify", note=None, linked=NONE)
    assert after.checkpoint is not None
    assert (after.checkpoint.step, after.checkpoint.note) == ("verify", None)


def test_a_reference_already_linked_is_stored_once_and_the_event_still_counts() -> None:
    once = transitions.checkpoint(opened(), stamp(), step=None, note=None, linked=References(plans=("pln_1", "pln_2")))
    again = transitions.checkpoint(once, stamp(), step=None, note=None, linked=References(plans=("pln_2", "pln_3")))
    assert again.plan_ids == ("pln_1", "pln_2", "pln_3")
    assert (again.rev, len(again.events)) == (3, 3)


@pytest.mark.parametrize("kind", ["plans", "operations", "deployments"])
def test_fifty_references_of_a_kind_fit_and_the_51st_refuses_the_whole_call(kind: str) -> None:
    full = transitions.checkpoint(
        opened(), stamp(), step=None, note=None, linked=References(**{kind: ids("x", range(50))})
    )
    same = transitions.checkpoint(full, stamp(), step=None, note=None, linked=References(**{kind: ids("x", range(50))}))
    assert same.rev == full.rev + 1
    with pytest.raises(InvalidArgument, match="cap of 50"):
        transitions.checkpoint(full, stamp(), step="s", note=None, linked=References(**{kind: ids("x", range(49, 51))}))


def test_the_cap_on_references_counts_each_id_once() -> None:
    assert len(transitions.references(ids("x", range(50)) * 3, (), ()).plans) == 50
    with pytest.raises(InvalidArgument, match="51 operations references"):
        transitions.references((), ids("x", range(51)), ())


def test_a_record_already_over_the_reference_cap_can_still_be_closed() -> None:
    over = replace(opened(), plan_ids=ids("pln_", range(60)))
    assert transitions.close(over, stamp(), "completed", text=None, linked=NONE).status == "completed"


def filled() -> Session:
    session = opened()
    while len(session.events) < MAX_EVENTS:
        session = transitions.checkpoint(session, stamp(), step="s", note=None, linked=NONE)
    return session


@pytest.mark.parametrize("outcome", transitions.OUTCOMES)
def test_at_200_events_a_checkpoint_is_refused_and_closing_is_event_201(outcome: str) -> None:
    full = filled()
    assert full.events_left == 0
    with pytest.raises(InvalidArgument) as caught:
        transitions.checkpoint(full, stamp(), step="s", note=None, linked=NONE)
    assert caught.value.details["reason"] == "event_cap"
    closed = transitions.close(full, stamp(), outcome, text="done", linked=NONE)
    assert (closed.rev, len(closed.events), closed.events[-1].seq) == (201, 201, 200)
    assert decode(encode(closed), SESSION_ID) == closed


@pytest.mark.parametrize("text", ["", None])
def test_closing_without_a_word_leaves_no_result_and_a_detail_that_says_so(text: str | None) -> None:
    closed = transitions.close(opened(), stamp(), "completed", text=text or None, linked=NONE)
    assert closed.final_result is None
    assert closed.events[-1].detail == "session completed"


def test_closing_with_references_keeps_the_checkpoint_and_links_them() -> None:
    before = transitions.checkpoint(opened(), stamp(), step="deploy", note=None, linked=NONE)
    after = transitions.close(before, stamp(), "failed", text="broke", linked=References(deployments=("dep-1",)))
    assert after.checkpoint == before.checkpoint
    assert after.deployment_ids == ("dep-1",)
    assert (after.final_result, after.events[-1].detail) == ("broke", "broke; linked dep-1")


def test_a_clock_that_ran_backwards_does_not_turn_the_record_back() -> None:
    before = opened(at_ms=9_000)
    after = transitions.checkpoint(before, stamp(1_000), step="s", note=None, linked=NONE)
    assert after.checkpoint is not None
    assert after.updated_at_ms == after.events[-1].at_ms == after.checkpoint.at_ms == 9_000
    assert after.created_at_ms == 9_000


def test_the_actor_of_the_creation_stays_whoever_writes_later() -> None:
    after = transitions.checkpoint(opened(), stamp(via="mcp"), step="s", note=None, linked=NONE)
    assert after.actor == opened().actor
    assert [event.via for event in after.events] == ["cli", "mcp"]


@pytest.mark.parametrize(("rev", "conflicts"), [(None, False), (1, False), (2, True), (9, True)])
def test_a_guard_lets_only_its_own_revision_through(rev: int | None, conflicts: bool) -> None:  # noqa: FBT001 - a table's column
    if not conflicts:
        transitions.require_rev(opened(), rev)
        return
    with pytest.raises(SessionConflict) as caught:
        transitions.require_rev(opened(), rev)
    assert caught.value.details == {"session_id": SESSION_ID, "expected_rev": rev, "rev": 1}


TEXT = st.none() | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
LINKS = st.builds(
    References,
    plans=st.lists(st.integers(0, 60).map("pln_{:016x}".format), max_size=20, unique=True).map(tuple),
    operations=st.lists(st.integers(0, 9).map("op_{:016x}".format), max_size=3, unique=True).map(tuple),
    deployments=st.lists(st.integers(0, 9).map("dep-{:x}".format), max_size=3, unique=True).map(tuple),
)
CALLS = st.lists(
    st.tuples(
        st.sampled_from([*["checkpoint"] * 8, "completed", "failed", "cancelled"]),
        st.integers(0, 5_000),
        st.sampled_from(["cli", "mcp", "tui"]),
        TEXT,
        TEXT,
        LINKS,
    ),
    max_size=30,
)


@given(CALLS)
def test_whatever_is_called_the_record_keeps_its_promises(calls: list[tuple[Any, ...]]) -> None:
    session = replace(opened(), extra={"from_the_future": {"kept": [1]}})
    for verb, at_ms, via, step, note, linked in calls:
        before = session
        try:
            if verb == "checkpoint":
                session = transitions.checkpoint(session, stamp(at_ms, via), step=step, note=note, linked=linked)
            else:
                session = transitions.close(session, stamp(at_ms, via), verb, text=note, linked=linked)
        except PhelixError:
            assert session is before
            continue
        assert session.rev == before.rev + 1 == len(session.events)
        assert session.events[:-1] == before.events, "history is append-only"
        assert [event.seq for event in session.events] == list(range(session.rev)), "no gap"
        times = [event.at_ms for event in session.events]
        assert times == sorted(times), "never backwards"
        assert session.updated_at_ms == times[-1] >= session.created_at_ms
        assert session.events[-1].via == via
        for kind in ("plan_ids", "operation_ids", "deployment_ids"):
            now, then = getattr(session, kind), getattr(before, kind)
            assert now[: len(then)] == then, "nothing linked is ever lost"
            assert len(set(now)) == len(now) <= 50
        assert session.extra == before.extra
        assert (before.status, session.status == "active") in {("active", True), ("active", False)}
        assert (session.actor, session.title, session.session_id) == (before.actor, before.title, before.session_id)
    assert decode(encode(session), SESSION_ID) == session


def test_events_of_another_tools_record_are_numbered_on_from_its_last_and_never_beyond_what_json_keeps() -> None:
    session = opened()
    foreign = replace(session, events=(replace(session.events[0], seq=7),))
    after = transitions.checkpoint(foreign, stamp(), step="a", note=None, linked=NONE)
    assert [event.seq for event in after.events] == [7, 8]
    assert after.checkpoint is not None
    assert after.checkpoint.seq == 8
    assert decode(encode(after), after.session_id) == after
    last = replace(session, events=(replace(session.events[0], seq=2**53),))
    with pytest.raises(SessionInvalid):
        transitions.close(last, stamp(), "completed", text=None, linked=NONE)
