"""Time travel over a record: what is told was so, in every record that this program can write, and no more is told."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phelix_core.errors import PhelixError
from phelix_core.sessions import transitions
from phelix_core.sessions.model import STATUSES, Actor, Checkpoint, Event, Session
from phelix_core.sessions.transitions import OUTCOMES, References, Stamp
from phelix_core.views.past import (
    FIELDS,
    LINKED,
    NOT_RECORDED,
    NOTHING,
    STATE_THEN,
    Point,
    Told,
    diff,
    differing,
    points,
    to_scale,
)
from phelix_core.views.shown import shown
from tests.core.test_model import sessions
from tests.core.test_views import HOSTILE, is_safe

PLANS = tuple(f"pln_{number:016x}" for number in range(4))
OPERATION, DEPLOYMENT = f"op_{7:016x}", "dep-9"
NONE = References()
MINUTE = 60_000


def opened(via: str = "cli") -> Session:
    actor = Actor(type="cli", id=None, authenticated=False)
    stamp = Stamp(at_ms=1_000, via=via)
    return transitions.create("ses_1a2b3c4d5e6f7081", actor, stamp, title="ship", project=None, app="billing")


def step(session: Session, step: str | None = None, note: str | None = None, *plans: str, via: str = "cli") -> Session:
    stamp = Stamp(at_ms=session.updated_at_ms + MINUTE, via=via)
    return transitions.checkpoint(session, stamp, step=step, note=note, linked=References(plans=plans))


def end(session: Session, outcome: str = "completed", text: str | None = None, linked: References = NONE) -> Session:
    return transitions.close(
        session, Stamp(at_ms=session.updated_at_ms + MINUTE, via="tui"), outcome, text=text, linked=linked
    )


def said(text: str | None) -> Told:
    return Told(shown(text or ""))


def reached(session: Session) -> list[tuple[str, str]]:
    return [(point.step.text, point.note.text) for point in points(session)]


WORDS = st.lists(
    st.sampled_from(["deploy", "step=", "; ", "linked ", *PLANS[:2], ", ", "10%", "step=a; b", "\n"]),
    min_size=1,
    max_size=4,
).map("".join)
SAYING = st.none() | WORDS
CHANGES = st.tuples(
    SAYING, SAYING, st.lists(st.sampled_from([*PLANS, OPERATION, DEPLOYMENT]), max_size=3), st.sampled_from(OUTCOMES)
)


def changed_by(session: Session, change: tuple[Any, ...], *, closes: bool) -> Session:
    step, note, linked, outcome = change
    stamp = Stamp(at_ms=session.updated_at_ms + MINUTE, via="mcp")
    references = transitions.references(
        *([one for one in linked if one.startswith(prefix)] for prefix in ("pln_", "op_", "dep-"))
    )
    if closes:
        return transitions.close(session, stamp, outcome, text=note, linked=references)
    return transitions.checkpoint(session, stamp, step=step, note=note, linked=references)


def lives(changes: list[tuple[Any, ...]], *, closes: bool) -> list[Session]:
    """A session after each of its events."""
    lived = [opened()]
    for number, change in enumerate(changes):
        try:
            lived.append(changed_by(lived[-1], change, closes=closes and number == len(changes) - 1))
        except PhelixError:
            continue
    return lived


def lies(told: Any, lived: list[Session]) -> list[object]:
    """What is told of a point and was not so."""
    found: list[object] = []
    for point, was in zip(told, lived, strict=True):
        reached = was.checkpoint
        truth = {
            "status": was.status,
            "step": reached.step if reached else None,
            "note": reached.note if reached else None,
            "result": was.final_result,
            "plans": str(len(was.plan_ids) or ""),
            "operations": str(len(was.operation_ids) or ""),
            "deployments": str(len(was.deployment_ids) or ""),
            "via": was.events[-1].via,
        }
        pairs = [(name, getattr(point, name), said(value)) for name, value in truth.items()]
        ids = {*was.plan_ids, *was.operation_ids, *was.deployment_ids}
        pairs += [(link.id, link.told, LINKED if link.id in ids else NOTHING) for link in point.links]
        found += [(point.place, *pair) for pair in pairs if pair[1] not in (pair[2], NOT_RECORDED)]
    return found


@given(st.lists(CHANGES, max_size=6), st.booleans())
def test_whatever_is_told_of_a_point_was_so(changes: list[tuple[Any, ...]], closes: bool) -> None:  # noqa: FBT001
    lived = lives(changes, closes=closes)
    told = points(lived[-1])
    assert lies(told, lived) == []
    assert [(point.rev, point.seq, point.at_ms) for point in told] == [
        (was.rev, was.events[-1].seq, was.updated_at_ms) for was in lived
    ]
    assert [point.status for point in told] == [said(was.status) for was in lived]


@given(st.lists(CHANGES, max_size=6), st.booleans())
def test_the_last_point_tells_everything(changes: list[tuple[Any, ...]], closes: bool) -> None:  # noqa: FBT001
    last = points(lives(changes, closes=closes)[-1])[-1]
    assert [name for name, of in FIELDS if of(last) == NOT_RECORDED] == []
    assert {link.told for link in last.links} <= {LINKED}


def test_who_reads_step_and_note_out_of_the_event_alone_tells_what_was_not_so() -> None:
    def naive(point: Point) -> Point:
        if point.kind != "checkpoint":
            return point
        first, _, rest = point.detail.partition("; ")
        step = first.removeprefix("step=") if first.startswith("step=") else ""
        return replace(point, step=said(step), note=said(rest if step else point.detail))

    lived = lives([(None, "step=deploy", [], ""), ("a; b", None, [], ""), ("c", "d", [], "")], closes=False)
    assert lies(points(lived[-1]), lived) == []
    assert len(lies(map(naive, points(lived[-1])), lived)) == 4


def test_two_pasts_that_leave_the_same_record_are_told_alike_as_not_recorded() -> None:
    one = step(step(opened(), "deploy", "10%"), "verify")
    other = step(step(opened(), None, "step=deploy; 10%"), "verify")
    assert one == other
    assert reached(one)[1] == (NO, NO)
    assert points(one)[1].written == "step=deploy; 10%"


NO = "not recorded"
LINKING = f"linked {PLANS[0]}"
RECOVERABLE: dict[str, tuple[Session, list[tuple[str, str]]]] = {
    "nothing is reached before the first checkpoint": (opened(), [("", "")]),
    "the newest checkpoint is in the record": (step(opened(), "deploy", "10%"), [("", ""), ("deploy", "10%")]),
    "a text that begins no step is a note": (
        step(step(step(opened(), None, "a; b"), "deploy", "10%"), "z"),
        [("", ""), ("", "a; b"), (NO, NO), ("z", "")],
    ),
    "closing changes neither": (end(step(opened(), "x"), text="step=y"), [("", ""), ("x", ""), ("x", "")]),
    "links alone leave what was": (step(step(opened(), "x", "y"), None, None, PLANS[0]), [("", ""), *[("x", "y")] * 2]),
    "so they do while nothing was": (step(opened(), None, None, PLANS[0]), [("", "")] * 2),
    "links besides are no part of a note": (
        step(step(opened(), None, "a", PLANS[0]), "x"),
        [("", ""), ("", "a"), ("x", "")],
    ),
    "a note may look like links": (step(step(opened(), None, LINKING), "x"), [("", ""), ("", LINKING), ("x", "")]),
    "a note that looks like links of the record is not told": (
        step(step(step(opened(), None, LINKING), "x"), "y", None, PLANS[0]),
        [("", ""), ("", NO), (NO, NO), ("y", "")],
    ),
}


@pytest.mark.parametrize("name", RECOVERABLE)
def test_step_and_note_are_told_where_there_is_one_way_to_have_written_the_record(name: str) -> None:
    session, expected = RECOVERABLE[name]
    assert reached(session) == expected


def linked(session: Session) -> list[list[Told]]:
    return [[link.told for link in point.links] for point in points(session)]


def test_a_reference_is_linked_from_the_one_event_that_names_it() -> None:
    session = end(step(step(opened(), "a"), None, None, PLANS[0]), linked=References(deployments=(DEPLOYMENT,)))
    assert linked(session) == [[NOTHING] * 2, [NOTHING] * 2, [LINKED, NOTHING], [LINKED] * 2]
    assert [point.plans.text for point in points(session)] == ["", "", "1", "1"]


def test_a_reference_that_two_events_name_is_told_before_both_and_after_both() -> None:
    session = step(step(step(opened(), None, f"linked {PLANS[0]}"), "a"), None, None, PLANS[0])
    assert linked(session) == [[NOTHING], [NOT_RECORDED], [NOT_RECORDED], [LINKED]]
    assert [point.plans for point in points(session)] == [NOTHING, NOT_RECORDED, NOT_RECORDED, said("1")]


def test_what_a_reference_was_found_to_be_was_never_recorded() -> None:
    assert STATE_THEN == NOT_RECORDED == Told(shown("not recorded"), is_recorded=False)


def test_a_text_that_says_not_recorded_is_another_thing_than_one_that_is_not() -> None:
    point = points(step(opened(), "not recorded", via="not recorded"))[-1]
    assert point.step.text == NOT_RECORDED.text
    assert point.step.is_recorded
    assert point.step != NOT_RECORDED


# Records of others


def test_an_event_without_its_surface_may_have_written_anything() -> None:
    ours = step(step(step(step(opened(), None, "a"), None, "b"), None, "c", PLANS[0]), None, "d")
    first, second, *rest = ours.events
    theirs = replace(ours, events=(first, replace(second, via=None), *rest))
    assert reached(ours) == [("", ""), ("", "a"), ("", "b"), ("", "c"), ("", "d")]
    assert reached(theirs) == [("", ""), (NO, NO), ("", "b"), ("", NO), ("", "d")]
    assert points(theirs)[1].via == NOT_RECORDED
    assert linked(theirs) == [[NOTHING], [NOT_RECORDED], [NOT_RECORDED], [LINKED], [LINKED]]


def test_an_event_of_an_unknown_type_leaves_its_own_point_and_what_follows_open() -> None:
    ours = end(step(step(opened(), None, "a"), None, "b"))
    before = list(ours.events)
    before[1] = replace(before[1], type="reopened")
    assert [point.status for point in points(replace(ours, events=tuple(before)))] == [
        *(said("active"), NOT_RECORDED, NOT_RECORDED, said("completed")),
    ]


CONTRADICTIONS: dict[str, Callable[[Session], Session]] = {
    "a step that no event wrote": lambda one: replace(one, checkpoint=Checkpoint(step="z", at_ms=1, seq=2)),
    "the checkpoint of an older event": lambda one: replace(one, checkpoint=Checkpoint(note="b", at_ms=1, seq=1)),
    "no checkpoint": lambda one: replace(one, checkpoint=None),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_record_that_contradicts_its_events_tells_of_its_last_moment_alone(name: str) -> None:
    session = CONTRADICTIONS[name](step(step(opened(), None, "a"), None, "b"))
    now = (session.checkpoint.step or "", session.checkpoint.note or "") if session.checkpoint else ("", "")
    assert reached(session) == [(NO, NO)] * 2 + [now]


@pytest.mark.parametrize("status", STATUSES)
def test_a_status_that_the_events_do_not_lead_to_is_told_of_the_last_point_alone(status: str) -> None:
    told = [point.status for point in points(replace(step(opened(), "a"), status=status))]
    assert told == ([said("active")] * 2 if status == "active" else [NOT_RECORDED, said(status)])


@given(sessions())
def test_any_record_that_can_be_read_can_be_travelled(session: Session) -> None:
    told = points(session)
    assert len(told) == session.rev
    assert told[-1].status == said(session.status)
    assert diff(session, 0, -1) == differing(told[0], told[-1])


def test_a_record_of_endless_parts_is_read_all_the_same() -> None:
    detail = "step=" + "a; " * 30_000
    first, second = step(opened(), "x").events
    events = (first, replace(second, detail=detail), *(Event(seq=n, type="checkpoint", at_ms=1) for n in range(2, 9)))
    session = replace(opened(), events=events, rev=len(events), checkpoint=Checkpoint(note="n", at_ms=1, seq=8))
    assert reached(session)[1:] == [(NO, NO)] * 7 + [("", "n")]


# Differences


def test_a_difference_names_each_field_that_is_told_otherwise_and_what_neither_tells() -> None:
    session = end(step(step(step(opened(), "a"), "b", "c"), None, "d", PLANS[0]), "failed", "broke")
    told = diff(session, 0, 4)
    assert {row.field: (row.a.text, row.b.text) for row in told.rows} == {
        "revision": ("1", "5"),
        "time": ("1970-01-01 00:00:01Z", "1970-01-01 00:04:01Z"),
        "event": ("created", "failed"),
        "by": ("cli", "tui"),
        "detail": ("session created", "broke"),
        "status": ("active", "failed"),
        "note": ("", "d"),
        "checkpoint as written": ("", f"d; linked {PLANS[0]}"),
        "result": ("", "broke"),
        "plans": ("", "1"),
        f"plan {PLANS[0]}": ("", "linked"),
    }
    assert (told.gap_ms, told.gap, told.untold) == (4 * MINUTE, "+4m 00s", ())
    assert diff(session, 1, 2).untold == ("step", "note")


@pytest.mark.parametrize(("a", "b"), [(0, 3), (1, 2), (2, 2)])
def test_a_difference_reads_the_same_from_either_end(a: int, b: int) -> None:
    session = end(step(step(opened(), "a"), None, "d", PLANS[0]))
    there, back = diff(session, a, b), diff(session, b, a)
    assert [(row.field, row.b, row.a) for row in there.rows] == [(row.field, row.a, row.b) for row in back.rows]
    assert there.gap_ms == -back.gap_ms
    assert there.untold == back.untold
    assert back.gap == ("+0s" if a == b else f"−{there.gap[1:]}")


def test_no_point_differs_from_itself() -> None:
    session = end(step(step(opened(), "a"), None, "d", PLANS[0]))
    for place in range(4):
        told = diff(session, place, place)
        assert (told.rows, told.untold, told.gap_ms) == ((), (), 0)


@given(st.lists(st.integers(-5, 10**9), max_size=12), st.integers(0, 200))
def test_gaps_drawn_to_scale_take_all_cells_and_each_its_share(gaps: list[int], cells: int) -> None:
    drawn, lengths = to_scale(gaps, cells), [max(0, gap) for gap in gaps]
    assert len(drawn) == len(gaps)
    assert sum(drawn) == (cells if sum(lengths) else 0)
    for length, taken in zip(lengths, drawn, strict=True):
        share = length * cells / sum(lengths) if sum(lengths) else 0
        assert share - 1 < taken < share + 1
    assert [taken for length, taken in zip(lengths, drawn, strict=True) if not length] == [0] * lengths.count(0)


# Safety


def test_whatever_a_record_holds_no_point_lets_it_reach_a_terminal() -> None:
    session = step(replace(opened(), title=HOSTILE), HOSTILE, HOSTILE, via=HOSTILE)
    session = end(session, "failed", HOSTILE)
    odd = replace(session, plan_ids=(HOSTILE,), events=(replace(session.events[0], type=HOSTILE), *session.events[1:]))
    for one in (session, odd):
        texts = [of(point).text for point in points(one) for _, of in FIELDS]
        texts += [text for point in points(one) for link in point.links for text in (link.kind, link.id)]
        told = diff(one, 0, 2)
        texts += [text for row in told.rows for text in (row.field, row.a.text, row.b.text)]
        assert [text for text in texts if not is_safe(text)] == []
        assert any("evil" in text for text in texts)


def test_a_secret_in_a_foreign_record_is_told_of_no_point() -> None:
    secret = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6"
    session = end(step(opened(), f"token {secret}", f"again {secret}"), text=secret)
    texts = [of(point).text for point in points(session) for _, of in FIELDS]
    assert [text for text in texts if secret[4:20] in text] == []
    assert any("[REDACTED" in text for text in texts)
