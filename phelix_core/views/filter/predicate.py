"""Terms as one function of a row, made once and called a hundred thousand times.

All that does not depend on the row is decided here: words are folded, moments counted, the states that a
word could mean looked up. What is left for a row allocates next to nothing. How rows of one kind are read,
a `Reader` knows.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Protocol, TypeVar

from phelix_core.views.filter.errors import FilterTooSlow
from phelix_core.views.filter.fields import Kind, Vocabulary
from phelix_core.views.filter.ranges import Range, ranges
from phelix_core.views.filter.terms import Alternatives, Comparison, Pattern, Phrase, Term

_Row = TypeVar("_Row")
_Read = TypeVar("_Read", contravariant=True)  # noqa: PLC0105 - what a reader is given

Predicate = Callable[[_Row], bool]

PATTERN_SECONDS: Final = 0.2
"""How long the patterns of a query may take over all rows together, unless the caller says otherwise."""

SEARCHED_CHARACTERS: Final = 1_000
"""How much of a text a pattern sees: more than any text that Phelix writes, and a bound on one search."""


class Reader(Protocol[_Read]):
    """How rows of one kind are read at one moment: what each form of term asks of a row."""

    @property
    def words(self) -> Vocabulary:
        """The fields that there are."""
        ...

    @property
    def now_ms(self) -> int:
        """The moment that ages and moments are counted from."""
        ...

    @property
    def texts(self) -> Mapping[str, Callable[[_Read], str]]:
        """Each text field as written; one of several texts is `as_lines`; what is missing is empty."""
        ...

    def answered(self, term: Comparison) -> Callable[[_Read], bool] | None:
        """The term as it was decided elsewhere, its minus aside; None where rows decide it."""
        ...

    def phrase(self, folded: str) -> Callable[[_Read], bool]:
        """Whether a row says these words somewhere."""
        ...

    def pattern(self, search: Callable[[str], bool]) -> Callable[[_Read], bool]:
        """Whether a text that words are looked for in matches."""
        ...

    def in_range(self, field: str, span: Range) -> Callable[[_Read], bool]:
        """Whether a number or moment lies in a range; what is missing lies in none."""
        ...

    def flag(self, field: str, value: str) -> Callable[[_Read], bool]:
        """Whether a row is or has what `value` names."""
        ...


class Stopwatch:
    """Adds up what the patterns of one run over the rows take, and ends it when that is too much."""

    def __init__(self, clock: Callable[[], float], limit: float, rows: str) -> None:
        self._clock = clock
        self._rows = rows
        self._limit = limit
        self._spent = 0.0

    def timed(self, term: Pattern, accepts: Predicate[_Row]) -> Predicate[_Row]:
        """The same predicate, on the clock."""
        clock, limit, rows = self._clock, self._limit, self._rows

        def accepts_in_time(row: _Row) -> bool:
            began = clock()
            accepted = accepts(row)
            self._spent += clock() - began
            if self._spent > limit:
                message = f"The patterns took longer than {limit * 1000:.0f} ms over these {rows}."
                raise FilterTooSlow(message, term.start, term.end, "use plain words, or fewer repeats in the pattern")
            return accepted

        return accepts_in_time


def compiled(alternatives: Alternatives, reader: Reader[_Row], stopwatch: Stopwatch | None = None) -> Predicate[_Row]:
    """Whether a row fits one of `alternatives`; none at all fit every row."""
    if not alternatives:
        return lambda _: True
    return _any([_all([_term(term, reader, stopwatch) for term in _cheap_first(terms)]) for terms in alternatives])


def _cheap_first(terms: tuple[Term, ...]) -> list[Term]:
    return sorted(terms, key=lambda term: isinstance(term, Pattern))


def _all(tests: list[Predicate[_Row]]) -> Predicate[_Row]:
    if len(tests) == 1:
        return tests[0]
    first, second, *more = tests
    if not more:
        return lambda row: first(row) and second(row)

    def accepts(row: _Row) -> bool:
        for test in tests:  # noqa: SIM110 - a generator a row would cost more than the tests
            if not test(row):
                return False
        return True

    return accepts


def _any(tests: list[Predicate[_Row]]) -> Predicate[_Row]:
    if len(tests) == 1:
        return tests[0]

    def accepts(row: _Row) -> bool:
        for test in tests:  # noqa: SIM110 - as above
            if test(row):
                return True
        return False

    return accepts


def _term(term: Term, reader: Reader[_Row], stopwatch: Stopwatch | None) -> Predicate[_Row]:
    match term:
        case Phrase():
            accepts = reader.phrase(term.text.casefold())
        case Pattern():
            accepts = reader.pattern(term.search)
            accepts = stopwatch.timed(term, accepts) if stopwatch else accepts
        case Comparison():
            accepts = _comparison(term, reader)
    return (lambda row: not accepts(row)) if term.negated else accepts


def matches(search: Callable[[str], bool], texts: Iterable[str | None]) -> bool:
    """Whether one of `texts` matches, as far as patterns look."""
    for text in texts:
        if text and search(text if len(text) <= SEARCHED_CHARACTERS else text[:SEARCHED_CHARACTERS]):
            return True
    return False


def _comparison(term: Comparison, reader: Reader[_Row]) -> Predicate[_Row]:
    answered = reader.answered(term)
    if answered is not None:
        return answered
    kind = reader.words.fields[term.field].kind
    if kind is Kind.SET:
        return _any([reader.flag(term.field, str(value)) for value in term.values])
    if kind in (Kind.TEXT, Kind.LINES):
        return _text(term, reader.texts[term.field], is_lines=kind is Kind.LINES)
    return _any([reader.in_range(term.field, span) for span in ranges(term, kind, reader.now_ms)])


def _text(term: Comparison, read: Callable[[_Row], str], *, is_lines: bool) -> Predicate[_Row]:
    values = [str(value).casefold() for value in term.values]
    if term.operator == "~":
        return _any([_containing(read, value) for value in values])
    if is_lines:
        return _any([_containing(read, f"\n{value}\n") if value else (lambda row: not read(row)) for value in values])
    if len(values) == 1:
        only = values[0]
        return lambda row: read(row).casefold() == only
    wanted = frozenset(values)
    return lambda row: read(row).casefold() in wanted


def _containing(read: Callable[[_Row], str], part: str) -> Predicate[_Row]:
    return lambda row: part in read(row).casefold()
