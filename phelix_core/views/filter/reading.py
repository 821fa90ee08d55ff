"""How a filter reads sessions: what words find, which states each `is:` means, what was looked up elsewhere."""

from collections.abc import Callable, Container, Mapping
from dataclasses import replace
from typing import Final

from phelix_core.frozen import frozen
from phelix_core.sessions.model import ACTIVE
from phelix_core.views.filter.fields import SESSIONS, Vocabulary
from phelix_core.views.filter.predicate import Predicate, matches
from phelix_core.views.filter.ranges import Range, state_limits
from phelix_core.views.filter.subject import NUMBERS, TEXTS, Filterable, has
from phelix_core.views.filter.terms import Comparison
from phelix_core.views.rows import CLOCK, STALE, STATES, UNREADABLE

REFERENCE_FIELDS: Final = frozenset({"ref", "plan", "op", "dep"})
"""The fields that ask for references, of which a summary knows only how many there are."""

FLAG_STATES: Final = {
    "stale": frozenset({STALE}),
    "active": frozenset({ACTIVE, STALE, CLOCK}),
    "closed": frozenset(STATES) - {ACTIVE, STALE, CLOCK, UNREADABLE},
    "unparsed": frozenset({UNREADABLE}),
}
"""The states that each `is:` means; a stale session is an active one, for stale is a finding, not a status."""


@frozen
class Circumstances:
    """What a run over sessions takes for granted, the time, the limit and the marks, and so how it reads them.

    With `looked_up`, terms on references are decided by ids found elsewhere and not by the rows.
    """

    now_ms: int
    stale_after_ms: int
    marked: Container[str] = ()
    looked_up: Mapping[Comparison, Container[str]] | None = None

    @property
    def words(self) -> Vocabulary:
        """The fields of sessions."""
        return SESSIONS

    @property
    def texts(self) -> Mapping[str, Callable[[Filterable], str]]:
        """Their texts."""
        return TEXTS

    def answered(self, term: Comparison) -> Predicate[Filterable] | None:
        """Terms on references, where they were looked up."""
        if self.looked_up is None or term.field not in REFERENCE_FIELDS:
            return None
        found = self.looked_up.get(replace(term, negated=False), ())
        return lambda row: row.session_id in found

    def phrase(self, folded: str) -> Predicate[Filterable]:
        """Whether words occur in one of the row's texts or name its state."""
        states = states_named(lambda word: folded in word.casefold())
        if not states:
            return lambda row: folded in row.haystack
        state = state_reader(self)
        return lambda row: folded in row.haystack or state(row) in states

    def pattern(self, search: Callable[[str], bool]) -> Predicate[Filterable]:
        """Whether one of the row's texts or the word of its state matches."""
        states, state = states_named(search), state_reader(self)

        def accepts(row: Filterable) -> bool:
            known = row.known
            point = known.checkpoint if known else None
            title, app, step = known and known.title, known and known.app, point and point.step
            if matches(search, (row.session_id, title, app, step, row.code)):
                return True
            return bool(states) and state(row) in states

        return accepts

    def in_range(self, field: str, span: Range) -> Predicate[Filterable]:
        """Whether a number of what is known of the row lies in the range."""
        read = NUMBERS[field]
        low = -(2**63) if span.low is None else span.low
        high = 2**63 if span.high is None else span.high

        def accepts(row: Filterable) -> bool:
            known = row.known
            return known is not None and low <= read(known) < high

        return accepts

    def flag(self, field: str, value: str) -> Predicate[Filterable]:
        """What a row is, has, or references."""
        if field == "has":
            return lambda row: has(row, value)
        if field == "ref":
            return lambda row: row.states is not None and value in row.states
        if value == "marked":
            marked = self.marked
            return lambda row: row.session_id in marked
        state = state_reader(self)
        wanted = FLAG_STATES[value]
        return lambda row: state(row) in wanted


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
