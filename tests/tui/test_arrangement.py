"""The list's memory against a naive one that sorts and counts everything anew."""

from collections import Counter
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from phelix_core.sessions.model import STATUSES, Actor
from phelix_core.sessions.summary import ReferenceCounts, SessionSummary
from phelix_core.views.filter import filterable, lookups, parse
from phelix_core.views.rows import BadRecord, Found, SessionRow, counts, row_of, sort_key
from phelix_tui.arrangement import Arrangement

LIMIT = 60_000
START = 1_790_000_000_000
IDS = tuple(f"ses_{number:016x}" for number in range(6))


def summary(session_id: str = IDS[0], **members: Any) -> SessionSummary:
    plain = SessionSummary(
        session_id=session_id,
        status="active",
        title="ship billing",
        project=None,
        app=None,
        actor=Actor(type="cli", id=None, authenticated=False),
        rev=1,
        created_at_ms=START,
        updated_at_ms=START,
        last_event_ms=START,
        checkpoint=None,
        final_result=None,
        references=ReferenceCounts(plans=0, operations=0, deployments=0),
        stale=None,
    )
    return replace(plain, **{"last_event_ms": members.get("updated_at_ms", START), **members})


MOMENTS = st.integers(-4, 4).map(lambda step: START + step * LIMIT // 2)
GOOD = st.builds(
    summary,
    st.just(""),
    status=st.sampled_from(("active", "active", *STATUSES)),
    title=st.sampled_from(("ship billing", "rotate keys")),
    rev=st.integers(1, 3),
    created_at_ms=MOMENTS,
    updated_at_ms=MOMENTS,
)
FOUND = st.one_of(GOOD, st.builds(BadRecord, st.sampled_from(("SESSION_CORRUPT", "SESSION_INVALID"))))
LOADS = st.tuples(st.just("load"), st.dictionaries(st.sampled_from(IDS), FOUND))
CHANGES = st.tuples(st.just("change"), st.dictionaries(st.sampled_from(IDS), st.one_of(FOUND, st.none()), max_size=3))
TICKS = st.tuples(st.just("tick"), st.just(dict[str, Any]()))
FILTERS = st.tuples(st.just("filter"), st.sampled_from(("", "billing", "stale", "nothing here")))
STEPS = st.lists(
    st.tuples(st.sampled_from((0, 0, 1, 7_000, LIMIT // 2, LIMIT, -LIMIT // 2)), LOADS | CHANGES | TICKS | FILTERS),
    max_size=12,
)


class Naive:
    """Everything known, sorted and counted from nothing at each question."""

    def __init__(self) -> None:
        self.known: dict[str, Found] = {}
        self.wanted = ""

    def change(self, changes: dict[str, Found | None]) -> None:
        for session_id, found in changes.items():
            before = self.known.pop(session_id, None)
            if isinstance(found, BadRecord):
                good = before if isinstance(before, SessionSummary) else before.last_good if before else None
                self.known[session_id] = BadRecord(found.code, good)
            elif found is not None:
                self.known[session_id] = found

    def rows(self, now_ms: int) -> dict[str, SessionRow]:
        return {session_id: row_of(session_id, found, now_ms, LIMIT) for session_id, found in self.known.items()}

    def in_order(self, now_ms: int) -> list[SessionRow]:
        query = parse(self.wanted)
        return sorted(
            (
                row
                for row in self.rows(now_ms).values()
                if query.accepts(filterable(row.session_id, self.known[row.session_id]), now_ms, LIMIT)
            ),
            key=lambda row: sort_key(row.state, self.known[row.session_id], row.session_id),
        )


def named(step: tuple[str, Any]) -> dict[str, Found | None]:
    """The records of a step, each under its own id."""
    return {
        session_id: replace(found, session_id=session_id) if isinstance(found, SessionSummary) else found
        for session_id, found in step[1].items()
    }


@given(STEPS)
def test_whatever_happens_the_order_and_the_counts_are_those_of_a_naive_sort(steps: list[Any]) -> None:
    now_ms, naive, arrangement = START, Naive(), Arrangement(LIMIT)
    for passed_ms, step in steps:
        now_ms += passed_ms
        arrangement.tick(now_ms, ())
        if step[0] == "filter":
            naive.wanted = arrangement.wanted = step[1]
        elif step[0] == "change":
            naive.change(named(step))
            arrangement.change(named(step), now_ms)
        elif step[0] == "load":
            naive.change({**dict.fromkeys(naive.known), **named(step)})
            arrangement.load({sid: found for sid, found in named(step).items() if found}, now_ms)
        wanted = naive.in_order(now_ms)
        assert [(row.session_id, row.state) for row in arrangement.in_order()] == [
            (row.session_id, row.state) for row in wanted
        ]
        assert arrangement.summary() == counts(naive.rows(now_ms).values())
        assert len(arrangement) == len(naive.known)
        arrangement.tick(now_ms, IDS)
        assert arrangement.in_order() == wanted


@given(STEPS)
def test_a_patch_tells_every_row_that_differs_and_whether_the_order_does(steps: list[Any]) -> None:
    now_ms, arrangement = START, Arrangement(LIMIT)
    for passed_ms, step in steps:
        now_ms += passed_ms
        if step[0] == "filter":
            arrangement.wanted = step[1]
            continue
        before = {sid: row for sid in IDS if (row := arrangement.row(sid))}
        order = [row.session_id for row in arrangement.in_order()]
        if step[0] == "change":
            patch = arrangement.change(named(step), now_ms)
        elif step[0] == "load":
            patch = arrangement.load({sid: found for sid, found in named(step).items() if found}, now_ms)
        else:
            patch = arrangement.tick(now_ms, IDS[:2])
        after = {sid: row for sid in IDS if (row := arrangement.row(sid))}
        differing = {sid for sid in before.keys() & after.keys() if before[sid] != after[sid]}
        assert {row.session_id for row in patch.rows} == differing
        assert all(after[row.session_id] == row for row in patch.rows)
        if [row.session_id for row in arrangement.in_order()] != order:
            assert patch.moved
        if not order and not arrangement.order():
            assert not patch.moved, "nothing that is shown has moved"


FOUND_IDS = st.frozensets(st.sampled_from(IDS))


@given(
    st.dictionaries(st.sampled_from(IDS), GOOD),
    st.sampled_from(("ref:missing", "-ref:missing rotate", "ref:missing -plan~a OR billing", "ref:missing rev>1")),
    st.lists(st.tuples(FOUND_IDS, FOUND_IDS, CHANGES), min_size=1, max_size=6),
)
def test_whatever_the_core_finds_of_references_the_rows_are_those_of_a_fresh_list(
    known: dict[str, Any], text: str, steps: list[Any]
) -> None:
    arrangement = Arrangement(LIMIT)
    arrangement.load(named(("load", known)), START)  # pyright: ignore[reportArgumentType]
    everything = arrangement.order()
    arrangement.wanted = text
    assert arrangement.order() == everything, "what was shown stays until there are answers"
    for first, second, changes in steps:
        answers = dict(zip(sorted(arrangement.filtering.lookups), (first, second), strict=False))
        before = set(arrangement.order())
        assert arrangement.answer(answers) == len(before ^ set(arrangement.order()))
        arrangement.change(named(changes), START)
        fresh = Arrangement(LIMIT)
        fresh.load(arrangement.known(), START)
        fresh.wanted = text
        fresh.answer(answers)
        assert arrangement.order() == fresh.order()
        query, looked_up = parse(text), {term: answers[where] for term, where in lookups(parse(text)).items()}
        accepts = query.predicate(START, LIMIT, looked_up=looked_up)
        assert set(fresh.order()) == {sid for sid, found in fresh.known().items() if accepts(filterable(sid, found))}


def test_answers_to_a_filter_that_is_not_wanted_any_more_change_nothing() -> None:
    arrangement = Arrangement(LIMIT)
    arrangement.load({IDS[0]: summary(), IDS[1]: summary(IDS[1])}, START)
    arrangement.wanted = "ref:missing"
    arrangement.wanted = "ref:present"
    assert arrangement.answer({"ref:missing": frozenset()}) == 0
    assert arrangement.order() == [IDS[0], IDS[1]]
    arrangement.answer({"ref:present": frozenset({IDS[1]})})
    assert arrangement.order() == [IDS[1]]
    arrangement.wanted = ""
    assert arrangement.order() == [IDS[0], IDS[1]]


def test_attention_comes_first_then_the_newest_then_the_id_and_a_checkpoint_moves_nothing() -> None:
    old, new = START - LIMIT // 2, START - LIMIT // 4
    arrangement = Arrangement(LIMIT)
    arrangement.load(
        {
            IDS[0]: summary(IDS[0], status="completed"),
            IDS[1]: summary(IDS[1], created_at_ms=old),
            IDS[2]: summary(IDS[2], created_at_ms=new),
            IDS[3]: summary(IDS[3], created_at_ms=new),
            IDS[4]: summary(IDS[4], updated_at_ms=START - LIMIT),
            IDS[5]: BadRecord("SESSION_CORRUPT"),
        },
        START,
    )
    wanted = [IDS[5], IDS[4], IDS[2], IDS[3], IDS[1], IDS[0]]
    assert arrangement.order() == wanted
    patch = arrangement.change({IDS[1]: summary(IDS[1], created_at_ms=old, updated_at_ms=START + 1, rev=2)}, START + 1)
    assert not patch.moved
    assert arrangement.order() == wanted


def test_time_alone_turns_a_session_stale_that_is_not_on_the_screen() -> None:
    arrangement = Arrangement(LIMIT)
    arrangement.load({IDS[0]: summary(), IDS[1]: summary(IDS[1], status="completed")}, START)
    assert not arrangement.tick(START + LIMIT - 1, ())
    patch = arrangement.tick(START + LIMIT, ())
    assert [(row.session_id, row.state) for row in patch.rows] == [(IDS[0], "stale")]
    assert patch.moved == 1


def test_a_clock_that_is_set_back_and_runs_again_leaves_no_row_behind() -> None:
    arrangement = Arrangement(LIMIT)
    arrangement.load({IDS[0]: summary()}, START)
    seen = Counter[str]()
    for now_ms in (START + LIMIT, START, START - LIMIT, START + LIMIT):
        arrangement.tick(now_ms, ())
        seen[arrangement.in_order()[0].state] += 1
    assert seen == {"stale": 2, "active": 1, "clock": 1}


def test_a_new_record_that_the_filter_hides_waits_for_nobody() -> None:
    arrangement = Arrangement(LIMIT)
    arrangement.wanted = "rotate"
    arrangement.load({IDS[0]: summary()}, START)
    assert arrangement.change({IDS[1]: summary(IDS[1])}, START).moved == 0
    assert arrangement.change({IDS[2]: summary(IDS[2], title="rotate keys")}, START).moved == 1


def test_looking_at_the_same_records_again_and_again_costs_no_memory() -> None:
    arrangement = Arrangement(LIMIT)
    for _ in range(50):
        arrangement.load({session_id: summary(session_id) for session_id in IDS}, START)
    assert len(arrangement._turns) <= 2 * len(IDS)  # pyright: ignore[reportPrivateUsage]
