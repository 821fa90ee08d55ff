"""The filter that is wanted and the one in force: they differ while the core is asked for references.

Rows hold only how many references there are, so a filter on them comes into force with what the core found
for each of its `lookups`; until then the one before it stays.
"""

from collections.abc import Callable, Collection, Container, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from phelix_core.views.filter import Comparison, Filterable, Query


@dataclass(frozen=True, slots=True)
class Filter:
    """One filter, read; `lookups` says for each of its terms on references what to ask the core."""

    text: str = ""
    query: "Query | None" = None
    lookups: "Mapping[Comparison, str]" = field(default_factory=dict["Comparison", str])


class Filtering:
    """What rows must match, and the answers that it takes to tell."""

    def __init__(self) -> None:
        self.wanted = self.in_force = Filter()
        self.answers: Mapping[str, frozenset[str]] = {}
        self._looked_up: Mapping[Comparison, Container[str]] = {}

    @property
    def is_pending(self) -> bool:
        """Whether the filter wanted is not in force yet, for want of answers."""
        return self.wanted is not self.in_force

    @property
    def lookups(self) -> frozenset[str]:
        """The filters that the core must be asked for."""
        return frozenset(self.wanted.lookups.values())

    def want(self, text: str) -> bool:
        """Take another filter, or raise `FilterError`; answers whether it is in force at once."""
        self.wanted = _read(text)
        if not self.answers.keys() >= self.lookups:
            return False
        self._enforce({where: self.answers[where] for where in self.lookups})
        return True

    def answer(self, answers: Mapping[str, frozenset[str]]) -> Collection[str] | None:
        """Take the ids that the core found; the rows that may come or go by that, None for any of them.

        Answers to what is not asked any more change nothing.
        """
        if not answers.keys() >= self.lookups:
            return ()
        was_pending, before = self.is_pending, self.answers
        self._enforce(answers)
        if was_pending:
            return None
        changed = [where for where in self.lookups if answers[where] is not before[where]]
        return frozenset[str]().union(*(answers[where] ^ before[where] for where in changed))

    def _enforce(self, answers: Mapping[str, frozenset[str]]) -> None:
        self.in_force, self.answers = self.wanted, answers
        self._looked_up = {term: answers[where] for term, where in self.wanted.lookups.items()}

    def predicate(
        self, now_ms: int, stale_after_ms: int, marked: Container[str]
    ) -> "Callable[[Filterable], bool] | None":
        """What is in force, as of now; None accepts every row."""
        query = self.in_force.query
        return query and query.predicate(now_ms, stale_after_ms, marked=marked, looked_up=self._looked_up)


def _read(text: str) -> Filter:
    if not text.strip():
        return Filter(text)
    from phelix_core.views.filter import lookups, parse  # noqa: PLC0415 - a fleet that nobody filters starts without it

    query = parse(text)
    return Filter(text, query, lookups(query))
