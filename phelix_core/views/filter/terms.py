"""What a filter says, once read: alternatives of terms, as plain frozen values."""

from collections.abc import Callable
from dataclasses import dataclass, field

from phelix_core.frozen import frozen, frozen_in_order


@frozen_in_order
class Span:
    """A duration."""

    ms: int


@frozen_in_order
class Day:
    """A day in UTC, counted from 1970-01-01."""

    number: int


Value = str | int | Span | Day


@frozen
class Phrase:
    """Text that must occur in one of the texts that words are looked for in, such as a row's id or title."""

    text: str
    negated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A regular expression that must match in one of the texts that a phrase is looked for in."""

    source: str
    negated: bool = False
    search: Callable[[str], bool] = field(compare=False, repr=False)
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)


@frozen
class Comparison:
    """A field against values, of which any may fit; `!=` is written as a negated `=`."""

    field: str
    operator: str
    values: tuple[Value, ...]
    negated: bool = False


Term = Phrase | Pattern | Comparison

Alternatives = tuple[tuple[Term, ...], ...]
"""What a filter says: of these, one must hold with all its terms; none at all hold for every row."""
