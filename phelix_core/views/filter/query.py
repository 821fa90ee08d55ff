"""A parsed filter: what it asks of a row, as a predicate and as a condition on the index."""

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass

from phelix_core.views.filter import predicate, sql
from phelix_core.views.filter.predicate import PATTERN_SECONDS, Circumstances, Predicate, Stopwatch
from phelix_core.views.filter.sql import Where
from phelix_core.views.filter.subject import Filterable
from phelix_core.views.filter.terms import Comparison, Term


@dataclass(frozen=True, slots=True)
class Query:
    """Alternatives, each of terms that must all hold."""

    alternatives: tuple[tuple[Term, ...], ...] = ()

    @property
    def terms(self) -> Iterator[Term]:
        """Every term, in the order written."""
        return (term for terms in self.alternatives for term in terms)

    @property
    def is_empty(self) -> bool:
        """Whether it accepts every row for want of any term."""
        return not self.alternatives

    @property
    def needs_references(self) -> bool:
        """Whether rows must carry the states that their references resolve to."""
        return any(self._fields({"ref"}))

    @property
    def needs_reference_ids(self) -> bool:
        """Whether rows must carry the ids that they reference."""
        return any(self._fields({"plan", "op", "dep"}))

    @property
    def needs_marks(self) -> bool:
        """Whether it asks for what is marked, which only a console knows."""
        return any("marked" in term.values for term in self._fields({"is"}))

    def predicate(
        self,
        now_ms: int,
        stale_after_ms: int,
        *,
        marked: Container[str] = (),
        looked_up: Mapping[Comparison, Container[str]] | None = None,
        clock: Callable[[], float] | None = None,
        pattern_seconds: float = PATTERN_SECONDS,
    ) -> Predicate:
        """The function for one run over any number of rows.

        Rows without references need `looked_up`: the ids that each of the query's `lookups` found.
        With a `clock` (seconds) its patterns may take `pattern_seconds` in all; then it raises `FilterTooSlow`.
        """
        watch = Stopwatch(clock, pattern_seconds) if clock else None
        at = Circumstances(
            now_ms=now_ms, stale_after_ms=stale_after_ms, marked=marked, looked_up=looked_up, stopwatch=watch
        )
        return predicate.compiled(self.alternatives, at)

    def accepts(self, row: Filterable, now_ms: int, stale_after_ms: int, *, marked: Container[str] = ()) -> bool:
        """Whether one row fits; for many rows take `predicate` once."""
        return self.predicate(now_ms, stale_after_ms, marked=marked)(row)

    def sql(self, now_ms: int, stale_after_ms: int) -> Where:
        """The condition on the index's table; rows must pass `predicate` too unless it is exact."""
        return sql.where(self.alternatives, Circumstances(now_ms=now_ms, stale_after_ms=stale_after_ms))

    def _fields(self, names: set[str]) -> Iterator[Comparison]:
        return (term for term in self.terms if isinstance(term, Comparison) and term.field in names)
