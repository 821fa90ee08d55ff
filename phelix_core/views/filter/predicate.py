"""A query as one function of a row, made once and called a hundred thousand times.

All that does not depend on the row is decided here: words are folded, moments counted, the states that a
word could mean looked up. What is left for a row allocates next to nothing.
"""

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, replace
from typing import Final

from phelix_core.sessions.model import ACTIVE
from phelix_core.sessions.summary import SessionSummary
from phelix_core.views.filter.errors import FilterTooSlow
from phelix_core.views.filter.fields import FIELDS, Kind
from phelix_core.views.filter.ranges import Range, ranges, state_limits
from phelix_core.views.filter.subject import LINE_FIELDS, NUMBERS, TEXTS, Filterable, has
from phelix_core.views.filter.terms import Comparison, Pattern, Phrase, Term
from phelix_core.views.rows import CLOCK, STALE, STATES, UNREADABLE

Predicate = Callable[[Filterable], bool]

REFERENCE_FIELDS: Final = frozenset({"ref", "plan", "op", "dep"})
"""The fields that ask for references, of which a summary knows only how many there are."""

PATTERN_SECONDS: Final = 0.2
"""How long the patterns of a query may take over all rows together, unless the caller says otherwise."""

SEARCHED_CHARACTERS: Final = 1_000
"""How much of a text a pattern sees: more than any text that Phelix writes, and a bound on one search."""

FLAG_STATES: Final = {
    "stale": frozenset({STALE}),
    "active": frozenset({ACTIVE, STALE, CLOCK}),
    "closed": frozenset(STATES) - {ACTIVE, STALE, CLOCK, UNREADABLE},
    "unparsed": frozenset({UNREADABLE}),
}
"""The states that each `is:` means; a stale session is an active one, for stale is a finding, not a status."""


class Stopwatch:
    """Adds up what the patterns of one run over the rows take, and ends it when that is too much."""

    def __init__(self, clock: Callable[[], float], limit: float = PATTERN_SECONDS) -> None:
        self._clock = clock
        self._limit = limit
        self._spent = 0.0

    def timed(self, term: Pattern, accepts: Predicate) -> Predicate:
        """The same predicate, on the clock."""
        clock, limit = self._clock, self._limit

        def accepts_in_time(row: Filterable) -> bool:
            began = clock()
            accepted = accepts(row)
            self._spent += clock() - began
            if self._spent > limit:
                message = f"The patterns took longer than {limit * 1000:.0f} ms over these sessions."
                raise FilterTooSlow(message, term.start, term.end, "use plain words, or fewer repeats in the pattern")
            return accepted

        return accepts_in_time


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What a run over the rows takes for granted: the time, the limit, the marks, and a clock for patterns.

    With `looked_up`, terms on references are decided by ids found elsewhere and not by the rows.
    """

    now_ms: int
    stale_after_ms: int
    marked: Container[str] = ()
    looked_up: Mapping[Comparison, Container[str]] | None = None
    stopwatch: Stopwatch | None = None


def compiled(alternatives: tuple[tuple[Term, ...], ...], at: Circumstances) -> Predicate:
    """Whether a row fits one of `alternatives`; none at all fit every row."""
    if not alternatives:
        return lambda _: True
    return _any([_all([_term(term, at) for term in _cheap_first(terms)]) for terms in alternatives])


def _cheap_first(terms: tuple[Term, ...]) -> list[Term]:
    return sorted(terms, key=lambda term: isinstance(term, Pattern))


def _all(tests: list[Predicate]) -> Predicate:
    if len(tests) == 1:
        return tests[0]
    first, second, *more = tests
    if not more:
        return lambda row: first(row) and second(row)

    def accepts(row: Filterable) -> bool:
        for test in tests:  # noqa: SIM110 - a generator a row would cost more than the tests
            if not test(row):
                return False
        return True

    return accepts


def _any(tests: list[Predicate]) -> Predicate:
    if len(tests) == 1:
        return tests[0]

    def accepts(row: Filterable) -> bool:
        for test in tests:  # noqa: SIM110 - as above
            if test(row):
                return True
        return False

    return accepts


def _term(term: Term, at: Circumstances) -> Predicate:
    match term:
        case Phrase():
            accepts = _phrase(term.text.casefold(), at)
        case Pattern():
            accepts = _pattern(term, at)
        case Comparison():
            accepts = _comparison(term, at)
    return (lambda row: not accepts(row)) if term.negated else accepts


def state_reader(at: Circumstances) -> Callable[[Filterable], str]:
    """The state that a row is shown in, as `rows.state_of` has it, by comparing two numbers."""
    fresh, ahead = state_limits(at.now_ms, at.stale_after_ms)

    def state(row: Filterable) -> str:
        known = row.known
        if known is None or row.code is not None:
            return UNREADABLE
        if known.status != ACTIVE:
            return known.status
        last = known.last_event_ms
        return STALE if last < fresh else ACTIVE if last < ahead else CLOCK

    return state


def states_named(occurs: Callable[[str], bool]) -> frozenset[str]:
    """The states whose word a search finds."""
    return frozenset(state for state, looks in STATES.items() if occurs(looks.word))


def _phrase(folded: str, at: Circumstances) -> Predicate:
    states = states_named(lambda word: folded in word.casefold())
    if not states:
        return lambda row: folded in row.haystack
    state = state_reader(at)
    return lambda row: folded in row.haystack or state(row) in states


def _pattern(term: Pattern, at: Circumstances) -> Predicate:
    search, states, state = term.search, states_named(term.search), state_reader(at)

    def accepts(row: Filterable) -> bool:
        known = row.known
        point = known.checkpoint if known else None
        title, app, step = known and known.title, known and known.app, point and point.step
        for text in (row.session_id, title, app, step, row.code):
            if text and search(text if len(text) <= SEARCHED_CHARACTERS else text[:SEARCHED_CHARACTERS]):
                return True
        return bool(states) and state(row) in states

    return at.stopwatch.timed(term, accepts) if at.stopwatch else accepts


def _comparison(term: Comparison, at: Circumstances) -> Predicate:
    if at.looked_up is not None and term.field in REFERENCE_FIELDS:
        found = at.looked_up.get(replace(term, negated=False), ())
        return lambda row: row.session_id in found
    kind = FIELDS[term.field].kind
    if kind is Kind.SET:
        return _any([_flag(term.field, str(value), at) for value in term.values])
    if kind in (Kind.TEXT, Kind.LINES):
        return _text(term)
    read, spans = NUMBERS[term.field], ranges(term, at.now_ms)
    return _in_range(read, spans[0]) if len(spans) == 1 else _any([_in_range(read, span) for span in spans])


def _in_range(read: Callable[[SessionSummary], int], span: Range) -> Predicate:
    low = -(2**63) if span.low is None else span.low
    high = 2**63 if span.high is None else span.high

    def accepts(row: Filterable) -> bool:
        known = row.known
        return known is not None and low <= read(known) < high

    return accepts


def _text(term: Comparison) -> Predicate:
    read, values = TEXTS[term.field], [str(value).casefold() for value in term.values]
    if term.operator == "~":
        return _any([_containing(read, value) for value in values])
    if term.field in LINE_FIELDS:
        return _any([_containing(read, f"\n{value}\n") if value else (lambda row: not read(row)) for value in values])
    if len(values) == 1:
        only = values[0]
        return lambda row: read(row).casefold() == only
    wanted = frozenset(values)
    return lambda row: read(row).casefold() in wanted


def _containing(read: Callable[[Filterable], str], part: str) -> Predicate:
    return lambda row: part in read(row).casefold()


def _flag(field: str, value: str, at: Circumstances) -> Predicate:
    if field == "has":
        return lambda row: has(row, value)
    if field == "ref":
        return lambda row: row.states is not None and value in row.states
    if value == "marked":
        marked = at.marked
        return lambda row: row.session_id in marked
    state = state_reader(at)
    wanted = FLAG_STATES[value]
    return lambda row: state(row) in wanted
