"""Orders by column: the same as a slow and plain comparison gives, in both directions."""

import re
from bisect import insort
from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phelix_core.frozen import changed
from phelix_core.queue.board import BoardIssue
from phelix_core.queue.model import Lease
from phelix_core.sessions.model import Actor, Checkpoint
from phelix_core.sessions.summary import ReferenceCounts, SessionSummary
from phelix_core.views.ordering import ISSUE_COLUMNS, SESSION_COLUMNS, order_issues_by, order_sessions_by
from phelix_core.views.queue.rows import sort_key as issue_attention
from phelix_core.views.rows import STATES, BadRecord, Found
from phelix_core.views.rows import sort_key as session_attention
from tests.core.test_issue_filter import lease

NOW = 1_790_000_000_000
MINUTE = 60_000


def summary(number: int, title: str | None = None, **members: Any) -> SessionSummary:
    usual: dict[str, Any] = {
        "session_id": f"ses_{number:016x}",
        "status": "active",
        "title": title,
        "actor": Actor(type="cli", id=None, authenticated=False),
        "rev": 1,
        "created_at_ms": NOW,
        "updated_at_ms": NOW,
        "references": ReferenceCounts(plans=0, operations=0, deployments=0),
        "last_event_ms": NOW,
    }
    return SessionSummary(**{**usual, **members})


def ordered(found: dict[str, Found], column: str, *, reverse: bool = False, state: str = "active") -> list[str]:
    key = order_sessions_by(column, reverse=reverse)
    return [one[-1] for one in sorted(key(state, record, session_id) for session_id, record in found.items())]


def titled(*titles: str | None) -> dict[str, Found]:
    """Records of these titles, whose ids go up."""
    return {f"ses_{number:016x}": summary(number, title) for number, title in enumerate(titles)}


def titles(found: dict[str, Found], order: list[str]) -> list[str | None]:
    return [record.title if isinstance(record := found[one], SessionSummary) else None for one in order]


def plainly(text: str) -> list[tuple[int, int]]:
    """What orders a text, slowly: its letters without regard to case, its numbers by their value."""
    parts = re.findall("[0-9]+|[^0-9]", text.casefold().replace("\0", "\1"))
    return [(ord("0"), int(part)) if part[0] in "0123456789" else (ord(part), 0) for part in parts]


TITLES = st.text(st.sampled_from([*"aAbBzß0019 :.-é清\0\xff\ud800\U0010ffff"]), max_size=8)


@given(st.lists(st.none() | TITLES, max_size=12), st.randoms(use_true_random=False))
def test_titles_go_as_a_plain_comparison_says_whichever_way(given_titles: list[str | None], random: Random) -> None:
    found = titled(*given_titles)
    shuffled = dict(random.sample(list(found.items()), len(found)))
    named = sorted((one for one in found if found_title(found, one)), key=lambda one: plainly(found_title(found, one)))
    nameless = [one for one in found if not found_title(found, one)]
    assert ordered(shuffled, "title") == named + nameless
    turned = sorted(named)
    turned.sort(key=lambda one: plainly(found_title(found, one)), reverse=True)
    assert ordered(shuffled, "title", reverse=True) == turned + nameless


def found_title(found: dict[str, Found], session_id: str) -> str:
    record = found[session_id]
    return (record.title or "") if isinstance(record, SessionSummary) else ""


def test_titles_go_by_what_people_read_and_not_by_code_points() -> None:
    found = titled("v10", "Zebra", "v9", "apple", "V2", None, "v009", "v" + "9" * 40, "v" + "8" * 41)
    assert titles(found, ordered(found, "title")) == [
        *("apple", "V2", "v9", "v009", "v10", "v" + "9" * 40, "v" + "8" * 41, "Zebra", None),
    ]
    by_code_point = sorted(one for one in titles(found, list(found)) if one)
    assert by_code_point[0] == "V2", "the naive order"


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("column", SESSION_COLUMNS)
def test_ties_go_by_id_upwards_and_rows_come_in_as_they_would_be_sorted(column: str, *, reverse: bool) -> None:
    random = Random(3)
    found: dict[str, Found] = {
        f"ses_{number:016x}": summary(
            number,
            random.choice(["a", "A", "b 2", None]),
            app=random.choice(["x", None]),
            checkpoint=random.choice([None, Checkpoint(step="s", at_ms=NOW, seq=1)]),
            created_at_ms=NOW - random.randrange(3),
            last_event_ms=NOW - random.randrange(3),
            references=ReferenceCounts(plans=random.randrange(3), operations=0, deployments=0),
        )
        for number in random.sample(range(500), 60)
    }
    key = order_sessions_by(column, reverse=reverse)
    keys = [key("active", record, session_id) for session_id, record in found.items()]
    one_by_one: list[tuple[Any, ...]] = []
    for one in keys:
        insort(one_by_one, one)
    assert one_by_one == sorted(keys)
    assert {one[-1] for one in keys} == found.keys()
    if column == "session":
        assert [one[-1] for one in one_by_one] == sorted(found, reverse=reverse)
        return
    shown: dict[str, Callable[[SessionSummary], object]] = {
        "state": lambda known: known.created_at_ms,
        "title": lambda known: (known.title or "").casefold(),
        "app": lambda known: known.app,
        "step": lambda known: known.checkpoint and known.checkpoint.step,
        "age": lambda known: known.created_at_ms,
        "seen": lambda known: known.last_event_ms,
        "refs": lambda known: known.references.plans,
    }
    for before, after in pairwise(one_by_one):
        one, other = found[before[-1]], found[after[-1]]
        assert isinstance(one, SessionSummary)
        assert isinstance(other, SessionSummary)
        if shown[column](one) == shown[column](other):
            assert before[-1] < after[-1]


def test_ages_go_from_the_youngest_and_references_from_the_fewest() -> None:
    found: dict[str, Found] = {
        one.session_id: one
        for one in (
            summary(
                number,
                created_at_ms=NOW - age,
                last_event_ms=NOW - seen,
                references=ReferenceCounts(plans=plans, operations=1 if plans else 0, deployments=0),
            )
            for number, (age, seen, plans) in enumerate([(9, 1, 2), (3, 3, 0), (5, 2, 7)])
        )
    }
    numbers = {
        (column, reverse): [int(one[4:], 16) for one in ordered(found, column, reverse=reverse)]
        for column in ("age", "seen", "refs")
        for reverse in (False, True)
    }
    assert numbers == {
        ("age", False): [1, 2, 0], ("age", True): [0, 2, 1],
        ("seen", False): [0, 2, 1], ("seen", True): [1, 2, 0],
        ("refs", False): [0, 2, 1], ("refs", True): [2, 0, 1],
    }, "no references are none to order by: they come last"  # fmt: skip


def test_the_state_column_is_the_lists_own_order_and_downwards_its_states_alone_turn_around() -> None:
    rows = [(state, summary(number, created_at_ms=NOW - number % 3)) for number, state in enumerate([*STATES] * 3)]
    up, down = order_sessions_by("state"), order_sessions_by("state", reverse=True)
    assert [up(state, one, one.session_id) for state, one in rows] == [
        session_attention(state, one, one.session_id) for state, one in rows
    ]
    by_id = {one.session_id: (state, one) for state, one in rows}
    turned = [by_id[key[-1]] for key in sorted(down(state, one, one.session_id) for state, one in rows)]
    assert list(dict.fromkeys(state for state, _ in turned)) == [*STATES][::-1]
    for state in STATES:
        mine = [one for its, one in turned if its == state]
        assert mine == sorted(mine, key=lambda one: (-one.created_at_ms, one.session_id))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("column", ["title", "app", "step", "age", "seen", "refs"])
def test_a_record_that_went_bad_stays_where_it_was_and_one_that_was_never_read_comes_last(
    column: str, *, reverse: bool
) -> None:
    good = summary(1, "b", app="b", references=ReferenceCounts(plans=2, operations=0, deployments=0))
    good = changed(good, checkpoint=Checkpoint(step="b", at_ms=NOW, seq=1))
    key = order_sessions_by(column, reverse=reverse)
    assert key("unreadable", BadRecord("SESSION_CORRUPT", good), good.session_id) == key(
        "active", good, "ses_" + "0" * 15 + "1"
    )
    never = key("unreadable", BadRecord("SESSION_CORRUPT"), "ses_0")
    if column == "title":
        assert never == key("active", summary(0, "SESSION_CORRUPT"), "ses_0"), "its title is the code"
    else:
        assert never > key("active", good, good.session_id)


def test_there_is_no_order_by_a_column_that_neither_list_has() -> None:
    with pytest.raises(KeyError):
        order_sessions_by("colour")
    with pytest.raises(KeyError):
        order_issues_by("colour")


# Issues


def issue(number: int, **members: Any) -> BoardIssue:
    usual: dict[str, Any] = {
        "id": f"I-{number:016x}",
        "project_id": "P-1",
        "campaign_id": None,
        "milestone_id": None,
        "position": 0,
        "task": "t",
        "status": "ready",
        "rank": 2,
        "deadline_at": None,
        "next_best_action": None,
        "blocked_reason": None,
        "lease_epoch": 0,
        "recoveries": 0,
        "max_recoveries": 5,
        "created_at": NOW,
        "updated_at": NOW,
    }
    return BoardIssue(**{**usual, **members})


Line = tuple[str, BoardIssue, Lease | None, str, str]


def numbers(lines: list[Line], column: str, *, reverse: bool = False) -> list[int]:
    key = order_issues_by(column, reverse=reverse)
    return [POSITIONS[one[-1]] for one in sorted(key(*line) for line in lines)]


def held(agent_id: str, expires_at: int, checkpoint_at: int | None = None, **members: Any) -> Lease:
    return lease(agent_id=agent_id, expires_at=expires_at, checkpoint_at=checkpoint_at, freshness_ms=20, **members)


RUNS: dict[str, Any] = {"status": "in_progress"}
STUCK: dict[str, Any] = {"status": "blocked", "blocked_reason": "needs a word"}
LINES: list[Line] = [
    ("ready", issue(0, task="Port 10", rank=1), None, "beta", ""),
    ("in_progress", issue(1, task="port 9", rank=0, **RUNS), held("b", 50), "alpha", ""),
    ("in_progress", issue(2, task="canary", rank=3, **RUNS), held("A", 90, 10), "", ""),
    ("blocked", issue(3, task="Canary", rank=1, **STUCK), held("c", 70, 10), "beta", ""),
    ("pending", issue(4, task="zz", rank=0, status="pending"), None, "Alpha", "behind beta"),
    ("ready", issue(5, task="zz", rank=0), held("z", 1, status="released"), "alpha 2", ""),
]
POSITIONS = {line[1].id: position for position, line in enumerate(LINES)}
EXPECTED = {
    "issue": ([0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0]),
    "task": ([2, 3, 1, 0, 4, 5], [4, 5, 0, 1, 2, 3]),
    "priority": ([1, 4, 5, 0, 3, 2], [2, 0, 3, 1, 4, 5]),
    "milestone": ([1, 4, 5, 0, 3, 2], [0, 3, 5, 1, 4, 2]),
    "left": ([2, 1, 3, 0, 4, 5], [3, 1, 2, 0, 4, 5]),
    "about": ([2, 1, 4, 3, 0, 5], [3, 4, 1, 2, 0, 5]),
}


@pytest.mark.parametrize("column", EXPECTED)
def test_issues_go_by_what_the_column_shows_ties_by_id_and_nothing_last(column: str) -> None:
    assert (numbers(LINES, column), numbers(LINES, column, reverse=True)) == EXPECTED[column]
    assert (numbers(LINES[::-1], column), numbers(LINES[::-1], column, reverse=True)) == EXPECTED[column]


def test_every_column_of_the_queue_is_an_order_and_its_state_is_the_lists_own() -> None:
    assert {"state", *EXPECTED} == set(ISSUE_COLUMNS)
    key = order_issues_by("state")
    assert [key(*line) for line in LINES] == [issue_attention(*line[:3]) for line in LINES]
    assert numbers(LINES, "state") == [2, 1, 5, 0, 3, 4], "what runs out first, then by priority"
    assert numbers(LINES, "state", reverse=True) == [4, 3, 5, 0, 2, 1]
