"""A parsed filter on issues: a predicate over what filters see of them, and what a store can tell beforehand."""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from phelix_core.clock import Moment
from phelix_core.frozen import frozen
from phelix_core.queue import staleness
from phelix_core.queue.model import CRASH_LOOP, FAILED, FINISHED, PENDING, TASK_STATUSES
from phelix_core.queue.policy import breaches, is_escalated, stored_policy
from phelix_core.views.filter import completion
from phelix_core.views.filter.asked import Asked
from phelix_core.views.filter.completion import Completion, Counts, texts_counted
from phelix_core.views.filter.fields import Vocabulary
from phelix_core.views.filter.issues.subject import HAS, NUMBERS, TEXTS, IssueFilterable
from phelix_core.views.filter.issues.words import ISSUE_FIELDS, ISSUES
from phelix_core.views.filter.parse import alternatives_of
from phelix_core.views.filter.predicate import PATTERN_SECONDS, Predicate, Stopwatch, compiled, matches
from phelix_core.views.filter.ranges import Range
from phelix_core.views.filter.terms import Comparison, Term

_EVERY: Final = frozenset(TASK_STATUSES)
FLAG_STATUSES: Final[Mapping[str, frozenset[str]]] = {
    **{status: frozenset({status}) for status in TASK_STATUSES},
    "open": _EVERY - FINISHED,
    "waiting": frozenset({PENDING}),
    "crash-looping": frozenset({FAILED}),
}
"""The statuses of which an issue must have one for each `is:`; of the others any will do."""


def parse_issues(text: str) -> "IssueQuery":
    """The query on issues that `text` writes down; whatever is wrong with it is a `FilterError`.

    An empty text is the empty query, which accepts every issue.
    """
    return IssueQuery(alternatives_of(text, ISSUES))


@dataclass(frozen=True, slots=True)
class IssueQuery(Asked):
    """What a filter asks of issues."""

    @property
    def statuses(self) -> frozenset[str]:
        """The statuses outside of which no issue fits."""
        return frozenset[str]().union(*map(_statuses, self.alternatives)) if self.alternatives else _EVERY

    def predicate(
        self,
        now: Moment,
        *,
        marked: Container[str] = (),
        clock: Callable[[], float] | None = None,
        pattern_seconds: float = PATTERN_SECONDS,
    ) -> Predicate[IssueFilterable]:
        """The function for one run over any number of issues, as of `now`.

        With a `clock` (seconds) its patterns may take `pattern_seconds` in all; then it raises `FilterTooSlow`.
        """
        watch = Stopwatch(clock, pattern_seconds, ISSUES.rows) if clock else None
        return compiled(self.alternatives, IssueReader(now=now, marked=marked), watch)


def _statuses(terms: tuple[Term, ...]) -> frozenset[str]:
    return _EVERY.intersection(*map(_allowed, terms))


def _allowed(term: Term) -> frozenset[str]:
    if not isinstance(term, Comparison):
        return _EVERY
    values = [str(value) for value in term.values]
    if term.field == "status" and term.operator == "=":
        return _EVERY.difference(values) if term.negated else _EVERY.intersection(values)
    if term.field == "is" and not term.negated:
        return frozenset[str]().union(*(FLAG_STATUSES.get(value, _EVERY) for value in values))
    return _EVERY


@frozen
class IssueReader:
    """How issues are read at one moment, by both clocks."""

    now: Moment
    marked: Container[str] = ()

    @property
    def words(self) -> Vocabulary:
        """The fields of issues."""
        return ISSUES

    @property
    def texts(self) -> Mapping[str, Callable[[IssueFilterable], str]]:
        """Their texts."""
        return TEXTS

    @property
    def now_ms(self) -> int:
        """The moment by the wall clock."""
        return self.now.wall_ms

    def answered(self, term: Comparison) -> None:
        """Nothing: rows decide every term."""
        del term

    def phrase(self, folded: str) -> Predicate[IssueFilterable]:
        """Whether words occur in the issue's id, task, status or milestone."""
        return lambda row: folded in row.haystack or folded in row.milestone.folded

    def pattern(self, search: Callable[[str], bool]) -> Predicate[IssueFilterable]:
        """Whether one of those texts matches."""

        def accepts(row: IssueFilterable) -> bool:
            issue = row.issue
            return matches(search, (issue.id, issue.task, issue.status, *row.milestone.texts))

        return accepts

    def in_range(self, field: str, span: Range) -> Predicate[IssueFilterable]:
        """Whether a number lies in the range."""
        read = self._left if field == "left" else NUMBERS[field]
        low = -(2**63) if span.low is None else span.low
        high = 2**63 if span.high is None else span.high

        def accepts(row: IssueFilterable) -> bool:
            number = read(row)
            return number is not None and low <= number < high

        return accepts

    def _left(self, row: IssueFilterable) -> int | None:
        return None if row.lease is None else staleness.of_lease(row.lease, self.now).left_ms

    def flag(self, field: str, value: str) -> Predicate[IssueFilterable]:
        """What an issue is or has."""
        if field == "has":
            return HAS[value]
        if value in TASK_STATUSES:
            return lambda row: row.issue.status == value
        flags: dict[str, Predicate[IssueFilterable]] = {
            "stale": self._is_stale,
            "waiting": lambda row: row.issue.status == PENDING and not row.issue.promotable,
            "open": lambda row: row.issue.status not in FINISHED,
            "claimed": HAS["lease"],
            "escalated": self._is_escalated,
            "crash-looping": lambda row: row.issue.status == FAILED and row.issue.blocked_reason == CRASH_LOOP,
            "marked": self._is_marked,
        }
        return flags[value]

    def _is_stale(self, row: IssueFilterable) -> bool:
        if row.lease is None:
            return False
        finding = staleness.why_stale(row.issue.status, row.lease, self.now)
        return finding is not None and finding.reason is not None

    def _is_escalated(self, row: IssueFilterable) -> bool:
        policy = _policy_of(row.issue.policy)
        return is_escalated(row.issue, breaches(policy, row.issue, self.now.wall_ms) if policy else ())

    def _is_marked(self, row: IssueFilterable) -> bool:
        return row.id in self.marked


_policy_of = lru_cache(maxsize=256)(stored_policy)


def issue_completions(text: str, cursor: int, counts: Counts) -> list[Completion]:
    """What fits at `cursor` in a filter on issues, as `completions` has it for sessions."""
    return completion.completions(text, cursor, counts, ISSUES)


def issues_counted(
    rows: Iterable[IssueFilterable], field: str, now: Moment, marked: Container[str] = ()
) -> Mapping[str, int]:
    """How many of `rows` have each value of `field`; a value that several rows spell differently counts apart."""
    if field in TEXTS:
        return texts_counted(rows, ISSUE_FIELDS[field].kind, TEXTS[field])
    found: Counter[str] = Counter()
    if field in ("is", "has"):
        reader, rows = IssueReader(now=now, marked=marked), list(rows)
        for value in ISSUE_FIELDS[field].values:
            found[value] = sum(map(reader.flag(field, value), rows))
    return found
