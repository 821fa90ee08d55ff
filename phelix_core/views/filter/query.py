"""A parsed filter on sessions: what it asks of a row, as a predicate and as a condition on the index."""

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass

from phelix_core.views.filter import sql
from phelix_core.views.filter.asked import Asked
from phelix_core.views.filter.fields import SESSIONS
from phelix_core.views.filter.parse import alternatives_of
from phelix_core.views.filter.predicate import PATTERN_SECONDS, Predicate, Stopwatch, compiled
from phelix_core.views.filter.reading import Circumstances
from phelix_core.views.filter.sql import Where
from phelix_core.views.filter.subject import Filterable
from phelix_core.views.filter.terms import Comparison


def parse(text: str) -> "Query":
    """The query on sessions that `text` writes down; whatever is wrong with it is a `FilterError`.

    An empty text is the empty query, which accepts every row.
    """
    return Query(alternatives_of(text, SESSIONS))


@dataclass(frozen=True, slots=True)
class Query(Asked):
    """What a filter asks of sessions."""

    @property
    def needs_references(self) -> bool:
        """Whether rows must carry the states that their references resolve to."""
        return any(self.on({"ref"}))

    @property
    def needs_reference_ids(self) -> bool:
        """Whether rows must carry the ids that they reference."""
        return any(self.on({"plan", "op", "dep"}))

    def predicate(
        self,
        now_ms: int,
        stale_after_ms: int,
        *,
        marked: Container[str] = (),
        looked_up: Mapping[Comparison, Container[str]] | None = None,
        clock: Callable[[], float] | None = None,
        pattern_seconds: float = PATTERN_SECONDS,
    ) -> Predicate[Filterable]:
        """The function for one run over any number of rows.

        Rows without references need `looked_up`: the ids that each of the query's `lookups` found.
        With a `clock` (seconds) its patterns may take `pattern_seconds` in all; then it raises `FilterTooSlow`.
        """
        at = Circumstances(now_ms=now_ms, stale_after_ms=stale_after_ms, marked=marked, looked_up=looked_up)
        watch = Stopwatch(clock, pattern_seconds, SESSIONS.rows) if clock else None
        return compiled(self.alternatives, at, watch)

    def accepts(self, row: Filterable, now_ms: int, stale_after_ms: int, *, marked: Container[str] = ()) -> bool:
        """Whether one row fits; for many rows take `predicate` once."""
        return self.predicate(now_ms, stale_after_ms, marked=marked)(row)

    def sql(self, now_ms: int, stale_after_ms: int) -> Where:
        """The condition on the index's table; rows must pass `predicate` too unless it is exact."""
        return sql.where(self.alternatives, Circumstances(now_ms=now_ms, stale_after_ms=stale_after_ms))
