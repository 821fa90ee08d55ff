"""Lexemes to terms: which field of a vocabulary is meant, whether its operator and values fit, and what would."""

from collections.abc import Callable
from typing import Final, NoReturn

from phelix_core.checks import MAX_INTEGER
from phelix_core.views.filter.errors import FilterError
from phelix_core.views.filter.fields import RESERVED, Field, Kind, Vocabulary, nearest
from phelix_core.views.filter.patterns import compile_pattern
from phelix_core.views.filter.scan import NO_VALUE_STARTS, Lexeme, Piece, lexemes, require_readable, shown
from phelix_core.views.filter.terms import Alternatives, Comparison, Day, Pattern, Phrase, Span, Term, Value
from phelix_core.views.moments import moment

MAX_TESTS: Final = 32
MAX_PATTERNS: Final = 4
UNITS_MS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
DAY_MS: Final = UNITS_MS["d"]
_LONGEST_NUMBER: Final = 9


def alternatives_of(text: str, words: Vocabulary) -> Alternatives:
    """What `text` says in these words; anything wrong with it is a `FilterError`, and nothing else is raised.

    An empty text says nothing, which every row fits.
    """
    require_readable(text)
    alternatives: list[list[Term]] = [[]]
    divider: Lexeme | None = None
    tests = 0
    for lexeme in lexemes(text, words.usual):
        if _is_or(lexeme):
            if not alternatives[-1]:
                _refuse_lonely_or(lexeme, words)
            divider = lexeme
            alternatives.append([])
            continue
        term = _term(lexeme, words)
        tests += _tests(term, words)
        if tests > MAX_TESTS:
            message = f"A filter makes at most {MAX_TESTS} tests."
            hint = f"leave the rest out, or use a list: {words.usual}=a,b"
            raise FilterError(message, lexeme.start, lexeme.end, hint)
        alternatives[-1].append(term)
    if divider and not alternatives[-1]:
        _refuse_lonely_or(divider, words)
    said = tuple(tuple(terms) for terms in alternatives if terms)
    _require_few_patterns(said)
    return said


def _is_or(lexeme: Lexeme) -> bool:
    return not lexeme.name and not lexeme.negated and lexeme.pieces[0] == Piece("OR", lexeme.start, lexeme.end)


def _refuse_lonely_or(lexeme: Lexeme, words: Vocabulary) -> NoReturn:
    hint = f'as in {words.usual}=a OR {words.usual}=b; quote it to search for the word: "OR"'
    raise FilterError("OR needs a term on both sides.", lexeme.start, lexeme.end, hint)


def _tests(term: Term, words: Vocabulary) -> int:
    """How many looks at a row the term costs; a list of exact texts costs one whatever its length."""
    if not isinstance(term, Comparison) or (term.operator == "=" and words.fields[term.field].kind is Kind.TEXT):
        return 1
    return len(term.values)


def _require_few_patterns(said: Alternatives) -> None:
    patterns = [term for terms in said for term in terms if isinstance(term, Pattern)]
    if len(patterns) > MAX_PATTERNS:
        extra = patterns[MAX_PATTERNS]
        message = f"A filter holds at most {MAX_PATTERNS} patterns."
        raise FilterError(message, extra.start, extra.end, "join two as /one|other/")


def _term(lexeme: Lexeme, words: Vocabulary) -> Term:
    first = lexeme.pieces[0]
    if lexeme.name:
        return _comparison(lexeme, words)
    if lexeme.pattern:
        search = compile_pattern(first)
        return Pattern(source=first.text, negated=lexeme.negated, search=search, start=lexeme.start, end=lexeme.end)
    if not first.text:
        raise FilterError("There is nothing between these quotes.", first.start, first.end)
    if not first.quoted and first.text in RESERVED:
        hint = f'terms side by side must all hold, and - excludes; to search for the word: "{first.text}"'
        raise FilterError(f"{first.text} is not part of the filter language here.", lexeme.start, lexeme.end, hint)
    return Phrase(text=first.text, negated=lexeme.negated)


def _comparison(lexeme: Lexeme, words: Vocabulary) -> Comparison:
    field = _field(lexeme, words)
    written, operator = lexeme.operator, lexeme.operator
    if written not in field.operators:
        message = f"{field.name} does not take {written}"
        hint = f"it takes {' '.join(field.operators)}, as in {field.example}"
        raise FilterError(f"{message}.", lexeme.start, lexeme.end, hint)
    if len(lexeme.pieces) > 1 and written[0] in "<>":
        raise FilterError(f"{written} takes one value.", lexeme.pieces[1].start, lexeme.end, f"as in {field.example}")
    for piece in lexeme.pieces:
        _require_value(lexeme, piece, words)
    negated = lexeme.negated
    if operator == "!=":
        operator, negated = "=", not negated
    if field.values and operator != "~":
        values = tuple(_known(field, piece, words) for piece in lexeme.pieces)
    else:
        values = tuple(_READERS[field.kind](field, operator, piece) for piece in lexeme.pieces)
    return Comparison(field=field.name, operator=operator, values=values, negated=negated)


def _require_value(lexeme: Lexeme, piece: Piece, words: Vocabulary) -> None:
    """Refuse nothing where a value should be, and what looks like a slip rather than a value."""
    if piece.quoted:
        return
    if not piece.text:
        message = f"A value is missing after {lexeme.name.lower()}{lexeme.operator}."
        hint = f'it follows with no space before it; "" means none, as in {words.usual}=""'
        raise FilterError(message, lexeme.start, piece.end, hint)
    if piece.text[0] in NO_VALUE_STARTS:
        message = f"A value cannot start with {piece.text[0]} unless it is quoted."
        hint = "write one operator and no space after it; double quotes go around a value that really starts so"
        raise FilterError(message, piece.start, piece.end, hint)


def _field(lexeme: Lexeme, words: Vocabulary) -> Field:
    name = lexeme.name.lower()
    field = words.fields.get(name)
    if field is not None:
        return field
    start = lexeme.start + lexeme.negated
    end = start + len(name)
    other = words.elsewhere()
    if name in other.fields:
        message = f"{name} is known only for {other.rows}."
        raise FilterError(message, start, end, f"{words.rows} have no such field")
    near = nearest(name, words.fields)
    meant = f"did you mean {near}?" if near else f"fields are {', '.join(words.fields)}"
    hint = f"{meant} Or quote the whole to search for that text."
    raise FilterError(f"There is no field {shown(name)}.", start, end, hint)


def _known(field: Field, piece: Piece, words: Vocabulary) -> Value:
    """One of the values that the field has; slips and values of other fields get told where they belong."""
    value = field.value_named(piece.text)
    if value is not None:
        return value
    if not piece.text and field.kind is Kind.TEXT:
        return ""
    typed = piece.text.lower()
    hint = f"values are {', '.join(field.values)}"
    elsewhere = next(
        (
            f"{other.name}{other.operators[0]}{named}"
            for other in words.fields.values()
            if (named := other.value_named(typed)) is not None
        ),
        None,
    )
    if elsewhere is None and _has_value(words.elsewhere(), field.name, typed):
        message = f"{field.name}{field.operators[0]}{typed} is known only for {words.elsewhere().rows}."
        raise FilterError(message, piece.start, piece.end, hint)
    meant = elsewhere or nearest(typed, field.values)
    if meant:
        hint = f"did you mean {meant}? Else {hint}"
    message = f"{shown(piece.text) or 'Nothing'} is not a value of {field.name}."
    raise FilterError(message, piece.start, piece.end, hint)


def _has_value(words: Vocabulary, name: str, value: str) -> bool:
    field = words.fields.get(name)
    return field is not None and field.value_named(value) is not None


def _text(field: Field, operator: str, piece: Piece) -> Value:
    del field, operator
    return piece.text


def _number(field: Field, operator: str, piece: Piece) -> Value:
    del operator
    number = _digits(piece.text, len(str(MAX_INTEGER)))
    if number is None or number > MAX_INTEGER:
        hint = f"as in {field.example}"
        raise FilterError(f"{field.name} is a whole number, at most 2^53.", piece.start, piece.end, hint)
    return number


def _span(field: Field, operator: str, piece: Piece) -> Value:
    del operator
    span = _read_span(piece.text)
    if span is None:
        hint = f"a number and s, m, h or d, as in {field.example}"
        raise FilterError(f"{shown(piece.text)} is not a duration.", piece.start, piece.end, hint)
    return span


def _moment(field: Field, operator: str, piece: Piece) -> Value:
    day = _read_day(piece.text)
    if day is not None:
        return day
    span = _read_span(piece.text)
    if span is None:
        hint = f"a day in UTC or a duration ago, as in {field.example} or {field.name}>2h"
        raise FilterError(f"{shown(piece.text)} is neither a day nor a duration.", piece.start, piece.end, hint)
    if operator == "=":
        hint = f"as in {field.name}>{piece.text}, which means later than {piece.text} ago"
        raise FilterError("A moment so long ago is never met exactly.", piece.start, piece.end, hint)
    return span


def _read_span(text: str) -> Span | None:
    unit = UNITS_MS.get(text[-1:].lower())
    number = _digits(text[:-1], _LONGEST_NUMBER)
    return None if unit is None or number is None else Span(number * unit)


def _read_day(text: str) -> Day | None:
    """The day that `text` names as year-month-day; one that no calendar has does not come back from its number."""
    parts = text.split("-")
    numbers = [_digits(part, 4) for part in parts]
    year, month, day = (*numbers, None, None, None)[:3]
    if year is None or month is None or day is None:
        return None
    number = _days_since_1970(year, month, day)
    return Day(number) if moment(number * DAY_MS).split(" ")[0] == text else None


def _days_since_1970(year: int, month: int, day: int) -> int:
    """The inverse of the calendar in `moments`: years start in March, so that the leap day is a year's last."""
    early = month < 3  # noqa: PLR2004 - January and February end the year before
    era, year_of_era = divmod(year - early, 400)
    day_of_year = (153 * (month + 9 if early else month - 3) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468


def _digits(text: str, longest: int) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= longest else None


_READERS: Final[dict[Kind, Callable[[Field, str, Piece], Value]]] = {
    Kind.TEXT: _text,
    Kind.LINES: _text,
    Kind.SET: _text,
    Kind.NUMBER: _number,
    Kind.SPAN: _span,
    Kind.MOMENT: _moment,
    Kind.LEFT: _span,
}
