"""What a caller whose rows carry no references must ask the core, so that a filter on them still holds for its rows.

Each term on references becomes a filter of its own, and the ids of the sessions that it accepts become the
term: `Query.predicate` takes them as `looked_up`. A look-up is narrowed by those terms beside it that only a
change of the record can change; what moves with time or with marks is left to the caller, as of its own now.
"""

from dataclasses import replace
from typing import Final

from phelix_core.views.filter.canonical import canonical
from phelix_core.views.filter.query import Query
from phelix_core.views.filter.reading import REFERENCE_FIELDS
from phelix_core.views.filter.terms import Comparison, Term

_MOVING_FIELDS: Final = frozenset({"age", "seen", "created", "updated"})
_MOVING_STATES: Final = frozenset({"stale", "marked"})


def lookups(query: Query) -> dict[Comparison, str]:
    """The filter to ask for each term on references, which stands here without its minus."""
    terms = dict.fromkeys(
        replace(term, negated=False)
        for term in query.terms
        if isinstance(term, Comparison) and term.field in REFERENCE_FIELDS
    )
    return {term: canonical(Query(_around(term, query))) for term in terms}


def _around(term: Comparison, query: Query) -> tuple[tuple[Term, ...], ...]:
    """The alternatives that `term` stands in, with what narrows them; never longer than the query."""
    return tuple(
        dict.fromkeys(
            (term, *(other for other in terms if _narrows(other)))
            for terms in query.alternatives
            if any(isinstance(other, Comparison) and replace(other, negated=False) == term for other in terms)
        )
    )


def _narrows(term: Term) -> bool:
    """Whether the term is about the record's content alone: words and patterns also find states, which move."""
    if not isinstance(term, Comparison) or term.field in REFERENCE_FIELDS | _MOVING_FIELDS:
        return False
    return term.field != "is" or not _MOVING_STATES.intersection(term.values)
