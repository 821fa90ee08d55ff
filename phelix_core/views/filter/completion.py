"""What may come next in a filter: fields first, then the values there are, with how many rows have each."""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping
from itertools import islice
from typing import Final, TypeVar

from phelix_core.frozen import frozen_in_order
from phelix_core.text import SafeStr, visible
from phelix_core.views.filter.canonical import value_text
from phelix_core.views.filter.fields import FIELDS, SESSIONS, Field, Kind, Vocabulary
from phelix_core.views.filter.reading import FLAG_STATES, Circumstances, state_reader
from phelix_core.views.filter.scan import MAX_BYTES, operator_after_name
from phelix_core.views.filter.subject import TEXTS, Filterable, has

_Row = TypeVar("_Row")
Counts = Callable[[str], Mapping[str, int] | None]

OFFERED: Final = 50
_SPANS: Final = ("15m", "1h", "1d", "7d")
_FIXED: Final = {Kind.SPAN: _SPANS, Kind.MOMENT: _SPANS, Kind.LEFT: _SPANS, Kind.NUMBER: ()}


@frozen_in_order
class Completion:
    """Put `text` in place of `start` to `end`; `count` is how many rows it stands for, where that is known."""

    text: str
    label: SafeStr
    count: int | None
    start: int
    end: int


def completions(text: str, cursor: int, counts: Counts, words: Vocabulary = SESSIONS) -> list[Completion]:
    """What fits at `cursor`; `counts` tells for a field how many rows have each value, None where nobody knows.

    Nothing is offered inside quoted text and patterns, nor for values that a terminal could not show as they are.
    """
    if len(text) > MAX_BYTES:
        return []
    cursor = max(0, min(cursor, len(text)))
    start = _term_start(text, cursor)
    start += text[start:cursor].startswith("-")
    typed = text[start:cursor]
    if typed.startswith(('"', "/")):
        return []
    name_end, operator = operator_after_name(text, start)
    value_start = name_end + len(operator)
    if not operator or cursor < value_start:
        return _fields(typed, start, value_start if operator else max(name_end, cursor), words)
    field = words.fields.get(text[start:name_end].lower())
    return _values(text, value_start, cursor, field, counts) if field and operator in field.operators else []


def counted(
    rows: Iterable[Filterable], field: str, now_ms: int, stale_after_ms: int, marked: Container[str] = ()
) -> Mapping[str, int]:
    """How many of `rows` have each value of `field`; a value that several rows spell differently counts apart."""
    at = Circumstances(now_ms=now_ms, stale_after_ms=stale_after_ms)
    found: Counter[str] = Counter()
    if field == "is":
        states = Counter(map(state_reader(at), rows := list(rows)))
        found.update({flag: sum(states[state] for state in meant) for flag, meant in FLAG_STATES.items()})
        found["marked"] = sum(row.session_id in marked for row in rows)
    elif field == "has":
        values = FIELDS["has"].values
        found.update(value for row in rows for value in values if has(row, value))
    elif field == "ref":
        found.update(state for row in rows for state in row.states or ())
    elif field in TEXTS:
        return texts_counted(rows, FIELDS[field].kind, TEXTS[field])
    return found


def texts_counted(rows: Iterable[_Row], kind: Kind, read: Callable[[_Row], str]) -> Mapping[str, int]:
    """How many of `rows` have each text that `read` finds, or each of several."""
    found: Counter[str] = Counter()
    for row in rows:
        text = read(row)
        found.update({line for line in text.split("\n") if line} if kind is Kind.LINES else (text,) if text else ())
    return found


def _term_start(text: str, cursor: int) -> int:
    """Where the term that `cursor` stands in or right after begins: after the last space outside quotes."""
    start, at = 0, 0
    quote = ""
    while at < cursor:
        char = text[at]
        if quote:
            at += char == "\\"
            quote = "" if char == quote else quote
        elif char.isspace():
            start = at + 1
        elif char == '"' or (char == "/" and text[start:at] in ("", "-")):
            quote = char
        at += 1
    return start


def _fields(typed: str, start: int, end: int, words: Vocabulary) -> list[Completion]:
    wanted = typed.lower()
    return [
        Completion(f"{field.name}{field.operators[0]}", SafeStr(field.example), None, start, end)
        for field in words.fields.values()
        if field.name.startswith(wanted)
    ]


def _values(text: str, start: int, cursor: int, field: Field, counts: Counts) -> list[Completion]:
    """Values of `field` that go on from what is typed of the last one, the most frequent first."""
    taken, start = _listed(text, start, cursor)
    typed = text[start:cursor].lstrip('"').casefold()
    end = _value_end(text, start, cursor)
    if field.kind in _FIXED:
        return [
            Completion(value, SafeStr(value), None, start, end)
            for value in _FIXED[field.kind]
            if value.startswith(typed)
        ]
    found = counts(field.name)
    known = {**dict.fromkeys(field.values, 0), **(found or {})}
    ranked = sorted(
        (not value.casefold().startswith(typed), -count, value)
        for value, count in known.items()
        if value and _goes_on(field, value.casefold(), typed) and value.casefold() not in taken
    )
    shown = ((value, -count) for _, count, value in ranked if visible(value) == value)
    return [
        Completion(value_text(value), SafeStr(value), None if found is None else count, start, end)
        for value, count in islice(shown, OFFERED)
    ]


def _goes_on(field: Field, value: str, typed: str) -> bool:
    """Whether `value` is meant by what is typed: by its start where the values are few, else by any part."""
    return value.startswith(typed) if field.values else typed in value


def _listed(text: str, start: int, cursor: int) -> tuple[set[str], int]:
    """The values before the last comma up to `cursor`, folded, and where the one being typed begins."""
    taken: set[str] = set()
    at, open_quote = start, False
    while at < cursor:
        if text[at] == '"':
            open_quote = not open_quote
        elif text[at] == "\\" and open_quote:
            at += 1
        elif text[at] == "," and not open_quote:
            taken.add(text[start:at].strip('"').casefold())
            start = at + 1
        at += 1
    return taken, start


def _value_end(text: str, start: int, cursor: int) -> int:
    """Where the value under the cursor ends, so that choosing one replaces it whole."""
    if text[start : start + 1] == '"':
        at = start + 1
        while at < len(text) and text[at] != '"':
            at += 2 if text[at] == "\\" else 1
        return min(at + 1, len(text)) if at < len(text) else cursor
    at = cursor
    while at < len(text) and not text[at].isspace() and text[at] != ",":
        at += 1
    return at
