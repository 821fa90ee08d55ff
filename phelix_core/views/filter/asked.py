"""What a filter asks, whatever the rows: its terms, and what of them a caller must know beforehand."""

from collections.abc import Container, Iterator
from dataclasses import dataclass

from phelix_core.views.filter.terms import Alternatives, Comparison, Term


@dataclass(frozen=True, slots=True)
class Asked:
    """Alternatives, each of terms that must all hold."""

    alternatives: Alternatives = ()

    @property
    def terms(self) -> Iterator[Term]:
        """Every term, in the order written."""
        return (term for terms in self.alternatives for term in terms)

    @property
    def is_empty(self) -> bool:
        """Whether it accepts every row for want of any term."""
        return not self.alternatives

    @property
    def needs_marks(self) -> bool:
        """Whether it asks for what is marked, which only a console knows."""
        return any("marked" in term.values for term in self.on({"is"}))

    def on(self, fields: Container[str]) -> Iterator[Comparison]:
        """The terms on these fields."""
        return (term for term in self.terms if isinstance(term, Comparison) and term.field in fields)
