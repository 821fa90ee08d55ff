"""Filters on the queue's issues: each field and operator against a naive reading, errors, completion."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phelix_core.clock import Moment
from phelix_core.queue.model import PRIORITIES, TASK_STATUSES, Campaign, Issue, Lease, Milestone, Project
from phelix_core.views.filter import FIELDS, FilterError, FilterTooSlow, canonical, parse
from phelix_core.views.filter.issues import (
    ISSUE_FIELDS,
    IssueFilterable,
    Surroundings,
    issue_completions,
    issue_filterable,
    issues_counted,
    parse_issues,
)

MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR
NOW = 20_000 * DAY + 5 * HOUR
MONO = 50 * HOUR
AT = Moment(wall_ms=NOW, mono_ms=MONO, boot="this")
TODAY = "2024-10-04"
RAISES = (
    '{"escalationRules":[{"trigger":"deadline_breached","action":"raise_priority","priority":"high"}],'
    '"dispatch":{"workloadClass":"GPU"}}'
)
NOTES = '{"escalationRules":[{"trigger":"deadline_breached","action":"annotate"}]}'
NONE: list[str] = []
ROUTES = {"": "", '["GPU"]': "GPU", '["arm", "net"]': "arm", "[]": "[]"}


def issue(**members: Any) -> Issue:
    usual: dict[str, Any] = {
        "id": "I-1",
        "project_id": "P-1",
        "campaign_id": None,
        "milestone_id": None,
        "position": 0,
        "task": "ship it",
        "priority": "medium",
        "size": "S",
        "status": "ready",
        "rank": 2,
        "rank_due_at": None,
        "promotable": 1,
        "deadline_at": None,
        "route": "",
        "policy": "{}",
        "max_recoveries": 5,
        "recipients": "[]",
        "approvals": "[]",
        "external_refs": "[]",
        "next_best_action": None,
        "blocked_reason": None,
        "lease_epoch": 0,
        "recoveries": 0,
        "ready_at": None,
        "created_at": NOW,
        "updated_at": NOW,
    }
    return Issue(**{**usual, **members})


def lease(**members: Any) -> Lease:
    usual: dict[str, Any] = {
        "id": "L-1",
        "project_id": "P-1",
        "campaign_id": None,
        "issue_id": "I-1",
        "run_id": "RUN-1",
        "session_id": None,
        "agent_id": "a1",
        "host": "h1",
        "status": "active",
        "epoch": 1,
        "ttl_ms": HOUR,
        "freshness_ms": HOUR,
        "boot": "this",
        "acquired_at": NOW,
        "renewed_at": NOW,
        "expires_at": NOW + HOUR,
        "deadline_mono": MONO + HOUR,
        "checkpoint_at": NOW,
        "checkpoint_mono": MONO,
        "last_heartbeat_at": None,
        "released_at": None,
        "end_reason": None,
        "holder_pid": None,
        "holder_started": None,
    }
    return Lease(**{**usual, **members})


PROJECT = Project(
    id="P-1", workspace_id="W", key="shop", name="The Shop", domain="", status="active", created_at=0, updated_at=0
)
CAMPAIGNS = [
    Campaign(
        id=f"C-{name}", project_id="P-1", name=name, objective="", status="active", scope="{}", policy="{}",
        created_at=0, updated_at=0,
    )
    for name in ("a", "Big B")
]  # fmt: skip
MILESTONES = [
    Milestone(
        id=f"M-{key}", project_id="P-1", campaign_id=None, key=key, description=told, position=0, deadline_at=None,
        recipients="[]", approvals="[]", external_refs="[]", created_at=0,
    )
    for key, told in (("ab", "a ß\nb"), ("x", ""), ("B", "B"))
]  # fmt: skip


def finds(text: str, found: Issue, held: Lease | None = None) -> bool:
    around = Surroundings([PROJECT], CAMPAIGNS, MILESTONES, [held] if held else [])
    return parse_issues(text).predicate(AT)(around.filterable(found))


def wrong(text: str) -> FilterError:
    with pytest.raises(FilterError) as caught:
        parse_issues(text)
    assert 0 <= caught.value.start <= caught.value.end <= len(text)
    return caught.value


# --- against a naive reading


@dataclass(frozen=True)
class Facts:
    """An issue as the oracle sees it, in plain words."""

    issue: Issue
    lease: Lease | None

    @property
    def row(self) -> IssueFilterable:
        around = Surroundings([PROJECT], CAMPAIGNS, MILESTONES, [self.lease] if self.lease else [])
        return around.filterable(self.issue)

    def texts(self, field: str) -> list[str]:
        """Each text of a field; none is empty."""
        it, held = self.issue, self.lease
        milestone = next(([m.key, m.id, m.description] for m in MILESTONES if m.id == it.milestone_id), NONE)
        campaign = next(([c.id, c.name] for c in CAMPAIGNS if c.id == it.campaign_id), NONE)
        known: dict[str, list[str | None]] = {
            "status": [it.status],
            "task": [it.task],
            "id": [it.id],
            "milestone": [text.replace("\n", " ") for text in milestone],
            "campaign": [*campaign],
            "project": ["P-1", "shop", "The Shop"],
            "agent": [held and held.agent_id],
            "host": [held and held.host],
            "lease": [held and held.id],
            "priority": [it.priority, PRIORITIES[it.rank]],
            "size": [it.size],
            "class": [ROUTES[it.route]],
            "next": [it.next_best_action],
            "reason": [it.blocked_reason],
        }
        return [text for text in known[field] if text]

    @property
    def searched(self) -> list[str]:
        return [text for field in ("id", "task", "status", "milestone") for text in self.texts(field)]

    def number(self, field: str) -> int | None:
        it = self.issue
        return {"epoch": it.lease_epoch, "recoveries": it.recoveries, "left": self.left, "age": NOW - it.created_at,
                "seen": NOW - it.updated_at, "created": it.created_at, "updated": it.updated_at,
                "deadline": it.deadline_at}[field]  # fmt: skip

    @property
    def left(self) -> int | None:
        """Told by this boot's clock, else by the wall's, unless that runs behind the renewal."""
        held = self.lease
        if held is None:
            return None
        if held.boot == "this" and held.deadline_mono is not None:
            return held.deadline_mono - MONO
        return None if held.renewed_at > NOW else held.expires_at - NOW

    @property
    def stale(self) -> bool:
        held, status = self.lease, self.issue.status
        if held is None or status in ("done", "failed", "blocked"):
            return False
        if status in ("ready", "pending") or (self.left is not None and self.left <= 0):
            return True
        if held.checkpoint_at is None:
            return True
        if held.boot == "this" and held.checkpoint_mono is not None:
            return held.checkpoint_mono + held.freshness_ms <= MONO
        return held.renewed_at <= NOW and held.checkpoint_at + held.freshness_ms <= NOW

    @property
    def escalated(self) -> bool:
        it = self.issue
        late = it.deadline_at is not None and it.deadline_at <= NOW and it.status not in ("done", "failed")
        return PRIORITIES[it.rank] != it.priority or (late and it.policy in (RAISES, NOTES))


WORD = st.sampled_from(["a", "A", "ab", "b", "ß", "SS", "a b", 'a"b', "a,b", "crash_loop", "e", "ready", "-", "İ"])
TIMES = st.sampled_from([0, 1, MINUTE, HOUR - 1, HOUR, HOUR + 1, 2 * HOUR, DAY, 5 * HOUR, 5 * HOUR + 1, -HOUR])


@st.composite
def facts(draw: st.DrawFn) -> Facts:
    one_of = st.sampled_from
    moved = draw(st.booleans())
    found = issue(
        id=draw(one_of(["I-1", "I-ab"])),
        campaign_id=draw(one_of([None, "C-a", "C-Big B", "C-gone"])),
        milestone_id=draw(one_of([None, "M-ab", "M-x", "M-B", "M-gone"])),
        task=draw(WORD),
        priority=draw(one_of(PRIORITIES)),
        rank=draw(st.integers(0, 3)),
        size=draw(one_of(["S", "M", "L", "XL"])),
        status=draw(one_of(TASK_STATUSES)),
        promotable=draw(st.integers(0, 1)),
        deadline_at=draw(st.none() | TIMES.map(lambda ago: NOW - ago)),
        route=draw(one_of(list(ROUTES))),
        policy=draw(one_of(["{}", RAISES, NOTES, "damaged", '{"owner":"a"}'])),
        next_best_action=draw(st.none() | WORD),
        blocked_reason=draw(st.none() | WORD),
        lease_epoch=draw(st.integers(0, 4)),
        recoveries=draw(st.integers(0, 4)),
        created_at=NOW - draw(TIMES),
        updated_at=NOW - draw(TIMES),
    )
    if not draw(st.booleans()):
        return Facts(found, None)
    ago = draw(TIMES)
    held = lease(
        id=draw(one_of(["L-1", "L-ab"])),
        issue_id=found.id,
        agent_id=draw(WORD),
        host=draw(WORD),
        boot=draw(one_of(["this", "other", ""])),
        renewed_at=NOW - ago,
        expires_at=NOW - draw(TIMES),
        deadline_mono=None if moved else MONO - draw(TIMES),
        checkpoint_at=draw(st.none() | TIMES.map(lambda past: NOW - past)),
        checkpoint_mono=draw(st.none() | TIMES.map(lambda past: MONO - past)),
    )
    return Facts(found, held)


Check = Callable[[Facts], bool]
Written = tuple[str, Check]
ORDER: dict[str, Callable[[int, int], bool]] = {
    "=": lambda a, b: a == b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@st.composite
def text_terms(draw: st.DrawFn) -> Written:
    field = draw(st.sampled_from([name for name, it in ISSUE_FIELDS.items() if it.kind.value in ("text", "lines")]))
    operator = draw(st.sampled_from(ISSUE_FIELDS[field].operators))
    fixed = ISSUE_FIELDS[field].values
    known = (
        st.sampled_from(fixed) if fixed and operator != "~" else WORD | st.sampled_from(["I-1", "C-a", "GPU", "M-x"])
    )
    values = draw(st.lists(known if fixed else known | st.just(""), min_size=1, max_size=3))
    folded = [value.casefold() for value in values]

    def check(row: Facts) -> bool:
        texts = [text.casefold() for text in row.texts(field)]
        if operator == "~":
            return any(value in text for value in folded for text in texts or [""])
        any_is = any(value in texts if value else not texts for value in folded)
        return any_is == (operator == "=")

    return f"{field}{operator}{','.join(map(quote, values))}", check


@st.composite
def number_terms(draw: st.DrawFn) -> Written:
    fields = [name for name, it in ISSUE_FIELDS.items() if it.kind.value in ("number", "span", "moment", "left")]
    field = draw(st.sampled_from(fields))
    kind = ISSUE_FIELDS[field].kind.value
    operator = draw(st.sampled_from(ISSUE_FIELDS[field].operators))
    if kind == "moment" and (operator in ("=", "!=") or draw(st.booleans())):
        start, end = NOW - 5 * HOUR, NOW + 19 * HOUR

        def on_day(row: Facts) -> bool:
            at = row.number(field)
            inside = at is not None and start <= at < end
            return {
                "=": inside,
                "!=": not inside,
                "<": at is not None and at < start,
                "<=": at is not None and at < end,
                ">": at is not None and at >= end,
                ">=": at is not None and at >= start,
            }[operator]

        return f"{field}{operator}{TODAY}", on_day
    value = draw(st.integers(0, 3))

    def check(row: Facts) -> bool:
        number = row.number(field)
        against = {"number": value, "moment": NOW - value * HOUR}.get(kind, value * HOUR)
        if operator == "!=":
            return number != against
        return number is not None and ORDER[operator](number, against)

    return f"{field}{operator}{value}{'' if kind == 'number' else 'h'}", check


FLAGS: dict[str, Check] = {
    "is:stale": lambda row: row.stale,
    "is:waiting": lambda row: row.issue.status == "pending" and row.issue.promotable == 0,
    "is:open": lambda row: row.issue.status not in ("done", "failed"),
    "is:claimed": lambda row: row.lease is not None,
    "is:escalated": lambda row: row.escalated,
    "is:crash-looping": lambda row: (row.issue.status, row.issue.blocked_reason) == ("failed", "crash_loop"),
    "is:marked": lambda row: row.issue.id == "I-1",
    "is:stale,done": lambda row: row.stale or row.issue.status == "done",
    "has:lease": lambda row: row.lease is not None,
    "has:deadline": lambda row: row.issue.deadline_at is not None,
    "has:milestone": lambda row: row.issue.milestone_id is not None,
    "has:policy": lambda row: row.issue.policy != "{}",
    "has:next": lambda row: row.issue.next_best_action is not None,
    "has:reason": lambda row: row.issue.blocked_reason is not None,
}


def is_status(status: str) -> Written:
    return f"is:{status}", lambda row: row.issue.status == status


def occurring(text: str) -> Written:
    return quote(text), lambda row: any(text.casefold() in part.casefold() for part in row.searched)


def matching(pattern: str) -> Written:
    naive = re.compile(pattern.replace("$", r"\Z"), re.IGNORECASE)
    return f"/{pattern}/", lambda row: any(naive.search(part) for part in row.searched)


def excluding(term: Written) -> Written:
    return f"-{term[0]}", lambda row: not term[1](row)


def alternatives(terms: list[list[Written]]) -> Written:
    text = " OR ".join(" ".join(written for written, _ in every) for every in terms)
    return text, lambda row: not terms or any(all(check(row) for _, check in every) for every in terms)


SINGLE: st.SearchStrategy[Written] = st.one_of(
    text_terms(),
    number_terms(),
    st.sampled_from(list(FLAGS.items())),
    st.sampled_from(TASK_STATUSES).map(is_status),
    (WORD | st.sampled_from(["progress", "done", "M-a", "I-1"])).map(occurring),
    st.sampled_from(["^a", "a.b", "b$", "^i-", "^(a+)+$", "_re"]).map(matching),
)
TERMS = st.lists(SINGLE | SINGLE.map(excluding), min_size=1, max_size=3)
QUERIES = st.lists(TERMS, max_size=3).map(alternatives).filter(lambda query: query[0].count("/") <= 8)


@given(QUERIES, st.lists(facts(), min_size=1, max_size=8))
def test_an_issue_fits_when_a_naive_reading_says_so(query: Written, rows: list[Facts]) -> None:
    text, check = query
    asked = parse_issues(text)
    accepts = asked.predicate(AT, marked={"I-1"})
    for row in rows:
        assert accepts(row.row) == check(row), (text, row)
        assert row.issue.status in asked.statuses or not check(row)
    assert parse_issues(canonical(asked)) == asked


def test_every_field_is_compared_by_the_naive_reading_and_every_flag_is_in_it() -> None:
    flags = {*(f"is:{status}" for status in TASK_STATUSES), *FLAGS}
    written = {f"{name}:{value}" for name in ("is", "has") for value in ISSUE_FIELDS[name].values}
    assert written <= flags
    assert {it.kind.value for it in ISSUE_FIELDS.values()} == {
        "text", "lines", "number", "span", "moment", "left", "set",
    }  # fmt: skip


@given(st.text(max_size=40) | st.lists(st.sampled_from([*ISSUE_FIELDS, *'=~<>:-/", ', "OR ", "S", "5m"])).map("".join))
def test_any_text_is_a_filter_or_a_refusal_with_its_place(text: str) -> None:
    try:
        asked = parse_issues(text)
    except FilterError:
        wrong(text)
        return
    asked.predicate(AT)(issue_filterable(issue(), lease()))
    assert parse_issues(canonical(asked)) == asked


# --- what is settled


def test_a_missing_holder_counts_as_empty_and_what_is_left_of_no_lease_fits_nothing() -> None:
    assert finds('agent="" agent!=a1 lease="" -left<5m -left>5m -has:lease', issue())
    assert finds("agent=A1 host~H lease=l-1 left>59m left<=60m has:lease is:claimed", issue(), lease())


def test_what_is_left_goes_by_the_clock_that_decides_about_the_lease() -> None:
    ended = lease(deadline_mono=MONO - MINUTE)
    assert finds("left<5m left<=0s is:stale", issue(status="in_progress"), ended)
    other = lease(boot="other", expires_at=NOW + 2 * MINUTE)
    assert finds("left<5m -is:stale", issue(status="in_progress"), other)
    backwards = lease(boot="other", renewed_at=NOW + HOUR)
    assert finds("-left<99d -left>0s -is:stale", issue(status="in_progress"), backwards)


def test_a_blocked_issue_whose_lease_ended_is_not_stale_for_reconcile_only_releases_it() -> None:
    assert finds("is:blocked -is:stale", issue(status="blocked"), lease(deadline_mono=MONO - 1))


def test_a_priority_is_found_as_it_was_given_and_as_it_holds_now() -> None:
    raised = issue(priority="low", rank=0)
    assert finds("priority=critical priority=low -priority=high is:escalated", raised)
    assert finds("size=xl size!=s", issue(size="XL"))


def test_a_word_is_looked_for_in_id_task_status_and_milestone_and_in_nothing_else() -> None:
    found = issue(milestone_id="M-ab", next_best_action="deploy", status="needs_recovery")
    for text in ("i-1", "ship", "needs_", "m-ab", "ss", '"ß b"', "/^needs/", "/^m-ab$/"):
        assert finds(text, found), text
    for text in ("deploy", "a1", "shop", '"it needs"', "/b.x/"):
        assert not finds(text, found, lease()), text


@pytest.mark.parametrize(
    ("text", "statuses"),
    [
        ("", set(TASK_STATUSES)),
        ("x", set(TASK_STATUSES)),
        ("status=done x", {"done"}),
        ("status=done OR x", set(TASK_STATUSES)),
        ("status=done,failed status!=done", {"failed"}),
        ("status=done OR is:ready age>1h", {"done", "ready"}),
        ("is:waiting", {"pending"}),
        ("is:waiting,stale", set(TASK_STATUSES)),
        ("is:crash-looping", {"failed"}),
        ("-is:done", set(TASK_STATUSES)),
        ("is:open status=done", set(NONE)),
        ("status~o", set(TASK_STATUSES)),
        ('status=""', set(NONE)),
    ],
)
def test_a_query_says_which_statuses_are_worth_a_look(text: str, statuses: set[str]) -> None:
    assert parse_issues(text).statuses == statuses


# --- what is wrong


@pytest.mark.parametrize(
    ("text", "token", "message", "hint"),
    [
        ("x stauts=ready", "stauts", "no field stauts", "did you mean status?"),
        ("x zzzzz=1", "zzzzz", "no field zzzzz", "fields are status, task"),
        ("x -app=a", "app", "app is known only for sessions", "queue issues have no such field"),
        ("x ref:missing", "ref", "ref is known only for sessions", ""),
        ("x rev>1", "rev", "rev is known only for sessions", ""),
        ("x is:active", "active", "is:active is known only for sessions", "values are stale"),
        ("x status=cancelled", "cancelled", "status=cancelled is known only for sessions", "values are pending"),
        ("x has:result", "result", "has:result is known only for sessions", ""),
        ("x status=stale", "stale", "not a value of status", "did you mean is:stale?"),
        ("x is:high", "high", "not a value of is", "did you mean priority=high?"),
        ("x status=redy", "redy", "not a value of status", "did you mean ready?"),
        ("x size=xxl", "xxl", "not a value of size", "S, M, L, XL"),
        ('x priority=""', '""', "not a value of priority", "critical"),
        ("x left=5m", "left=5m", "left does not take =", "left<5m"),
        ("x left<soon", "soon", "not a duration", "left<5m"),
        ("x epoch>-1", "-1", "whole number", "epoch>3"),
        ("x deadline=2h", "2h", "never met exactly", "deadline>2h"),
        ("x milestone= y", "milestone=", "value is missing", 'milestone=""'),
        ("x (a", "(a", "Parentheses", "milestone=a,b"),
        ("x -", "-", "minus sign", "-milestone=billing"),
        ("OR x", "OR", "both sides", "milestone=a OR milestone=b"),
        ("/a/ /b/ /c/ /d/ -/e/", "-/e/", "at most 4 patterns", "/one|other/"),
        ("x /(a)\\1/", "\\1", "back-references", ""),
    ],
)
def test_what_is_wrong_names_its_token_and_which_list_knows_it(text: str, token: str, message: str, hint: str) -> None:
    error = wrong(text)
    assert text[error.start : error.end] == token
    assert message in error.message
    assert hint in (error.hint or "")


def test_each_list_says_of_the_others_fields_that_the_other_knows_them() -> None:
    for here, there, parse_it, rows in (
        (FIELDS, ISSUE_FIELDS, parse, "queue issues"),
        (ISSUE_FIELDS, FIELDS, parse_issues, "sessions"),
    ):
        for name in there.keys() - here.keys():
            with pytest.raises(FilterError) as caught:
                parse_it(f"{name}={1}")
            assert caught.value.message == f"{name} is known only for {rows}."


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|a)*b", "(?:a|aa)+$", "(.*)(.*)(.*)(.*)q", "(a|b|ab)*zq"])
def test_a_pattern_that_would_never_end_elsewhere_ends_at_once(pattern: str) -> None:
    assert not finds(f"/{pattern}x/", issue(task="a" * 500_000 + "!"))


def test_patterns_share_their_time_over_all_issues() -> None:
    ticks = iter(range(100))
    accepts = parse_issues("/ship/").predicate(AT, clock=lambda: next(ticks) * 0.05)
    row = issue_filterable(issue())
    for _ in range(4):
        assert accepts(row)
    with pytest.raises(FilterTooSlow, match="over these queue issues"):
        accepts(row)


# --- completion


def test_fields_and_values_of_issues_are_offered_with_counts() -> None:
    rows = [
        issue_filterable(issue(priority="low", rank=0), lease()),
        issue_filterable(issue(priority="low", rank=3, size="XL", status="blocked")),
    ]

    def offered(text: str) -> list[tuple[str, int | None]]:
        found = issue_completions(text, len(text), lambda field: issues_counted(rows, field, AT))
        return [(offer.text, offer.count) for offer in found]

    assert [text for text, _ in offered("")] == [f"{name}{it.operators[0]}" for name, it in ISSUE_FIELDS.items()]
    assert offered("priority=")[:2] == [("low", 2), ("critical", 1)]
    assert offered("size=x") == [("XL", 1)]
    assert offered("is:b") == [("blocked", 1)]
    assert ("claimed", 1) in offered("is:")
    assert offered("agent=") == [("a1", 1)]
    assert [text for text, _ in offered("left<")] == ["15m", "1h", "1d", "7d"]
    assert offered("epoch>") == []
    assert offered("app=") == []


@given(st.lists(facts(), max_size=6))
def test_what_is_counted_is_what_filters_find(found: list[Facts]) -> None:
    rows = [one.row for one in found]
    for field in ISSUE_FIELDS:
        operator = "=" if "=" in ISSUE_FIELDS[field].operators else ":"
        for value, count in issues_counted(rows, field, AT, marked={"I-1"}).items():
            if field in ("priority", "size", "is", "has", "status"):
                accepts = parse_issues(f"{field}{operator}{value}").predicate(AT, marked={"I-1"})
                assert count == sum(map(accepts, rows)), (field, value)
            else:
                assert count <= len(rows)
