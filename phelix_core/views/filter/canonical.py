"""The one way to write a query down, for saved views: no longer than any text that means the same query."""

from typing import Final

from phelix_core.views.filter.asked import Asked
from phelix_core.views.filter.fields import RESERVED
from phelix_core.views.filter.scan import is_bare_value, is_bare_word
from phelix_core.views.filter.terms import Comparison, Day, Pattern, Phrase, Span, Term, Value
from phelix_core.views.moments import moment

_UNITS: Final = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000))


def canonical(query: Asked) -> str:
    """The query in its normal form; parsing it gives the same query."""
    return " OR ".join(" ".join(_term(term) for term in terms) for terms in query.alternatives)


def quoted(text: str) -> str:
    """`text` in quotes, with a backslash only where one without it would read differently."""
    kept: list[str] = []
    for at, char in enumerate(text):
        escaped = char == '"' or (char == "\\" and text[at + 1 : at + 2] in ("", "\\", '"'))
        kept.append(f"\\{char}" if escaped else char)
    return f'"{"".join(kept)}"'


def value_text(value: Value) -> str:
    """One value as it is written after an operator."""
    match value:
        case Span(ms):
            unit, size = next(((unit, size) for unit, size in _UNITS if ms and ms % size == 0), ("s", 1_000))
            return f"{ms // size}{unit}"
        case Day(number):
            return moment(number * 86_400_000).split(" ")[0]
        case int():
            return str(value)
        case _:
            return value if is_bare_value(value) else quoted(value)


def _term(term: Term) -> str:
    minus = "-" if term.negated else ""
    match term:
        case Phrase():
            bare = is_bare_word(term.text) and term.text not in RESERVED
            return minus + (term.text if bare else quoted(term.text))
        case Pattern():
            return f"{minus}/{term.source}/"
        case Comparison():
            return _comparison(term, minus)


def _comparison(term: Comparison, minus: str) -> str:
    operator = term.operator
    if operator == "=" and term.negated:
        operator, minus = "!=", ""
    return f"{minus}{term.field}{operator}{','.join(value_text(value) for value in term.values)}"
