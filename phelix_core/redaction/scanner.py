"""One pass over a text: what a person would copy of it is scanned, and what was found is cut from the text as sent.

Scanned is the text without escape sequences and invisible characters, compatibility forms folded, and for tokens
with the soft line breaks inside them closed; so a token stays found however it was split. Nothing but the
secrets is replaced.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from phelix_core.redaction.judges import JUDGES
from phelix_core.redaction.places import PLACES
from phelix_core.redaction.rules import Edge, Rule
from phelix_core.redaction.tokens import TOKENS
from phelix_core.redaction.values import compiled, is_random

_COVERED = "\0"
_MARK = "[REDACTED:"
_RULES = TOKENS + PLACES
_KINDS = frozenset(rule.kind for rule in _RULES) | {"private-key", "text"}
_HEAD = 3
_WRAPS_JUDGED = 8
_LONGEST = 400  # that a pattern takes for a bare value


class View(NamedTuple):
    """A text made from another one, with each character's place there (None: the same place)."""

    text: str
    places: list[int] | None = None
    breaks: tuple[int, ...] = ()  # where a line break was closed: before these characters, in order

    def place(self, at: int) -> int:
        """Where the character `at` stands in the text this one was made from."""
        return at if self.places is None else self.places[at]

    def next_break(self, after: int) -> int:
        """The first closed line break behind `after`, or the end of the text."""
        following = bisect_right(self.breaks, after)
        return self.breaks[following] if following < len(self.breaks) else len(self.text)

    def breaks_in(self, start: int, end: int) -> tuple[int, ...]:
        """The closed line breaks from before `start` to before `end`, the nearest few."""
        first = bisect_left(self.breaks, start)
        return self.breaks[first : min(bisect_right(self.breaks, end), first + _WRAPS_JUDGED)]


class Span(NamedTuple):
    """A stretch of text that holds a secret."""

    start: int
    end: int
    kind: str


def redact_once(text: str) -> str:
    """Replace each secret that shows in the text as it is; the answer may show more."""
    seen = _as_seen(text)
    flow = _flow(seen.text)
    rules = _triggered(seen.text, flow.text)
    spans = [span for rule in rules for span in _spans(rule, seen.text, flow)]
    if "PRIVATE" in seen.text:
        spans += _armoured(seen.text)
    return _cut(text, seen, spans) if spans else text


@cache
def _literals() -> tuple[dict[str, list[tuple[str, int]]], list[tuple[str, int]]]:
    """Each literal with its rule's number, by its first characters; and the few that are too short for that."""
    by_head: dict[str, list[tuple[str, int]]] = {}
    short: list[tuple[str, int]] = []
    for number, rule in enumerate(_RULES):
        for literal in rule.literals:
            place = by_head.setdefault(literal[:_HEAD], []) if len(literal) >= _HEAD else short
            place.append((literal, number))
    return by_head, short


def _triggered(text: str, flow: str) -> list[Rule]:
    """Rules of which a literal stands in the text, in the table's order."""
    lowered = text.lower() if text == flow else f"{text}\n{flow}".lower()
    by_head, short = _literals()
    heads = {lowered[at : at + _HEAD] for at in range(len(lowered) - _HEAD + 1)}
    near = [pair for head in heads & by_head.keys() for pair in by_head[head]]
    numbers = {number for literal, number in (*short, *near) if literal in lowered}
    if not numbers:
        return []
    longest = max(map(len, lowered.split()), default=0)
    found = (_RULES[number] for number in sorted(numbers))
    return [rule for rule in found if longest >= rule.run and _has_other(rule, lowered)]


def _has_other(rule: Rule, lowered: str) -> bool:
    return not rule.also or any(literal in lowered for literal in rule.also)


# What is scanned


def _as_seen(text: str) -> View:
    """The text without what no one sees, and with NUL over each mark of an earlier redaction."""
    view = View(text) if text.isascii() and _is_plain(text) else _unveiled(text)
    if _MARK in view.text:
        marks = compiled(r"\[REDACTED:([a-z0-9-]{1,40})\]")
        covered = marks.sub(lambda mark: _COVERED * len(mark[0]) if mark[1] in _KINDS else mark[0], view.text)
        view = View(covered, view.places)
    return view


def _is_plain(text: str) -> bool:
    return text.isprintable() or text.translate({9: " ", 10: " ", 13: " "}).isprintable()


# Escape sequences as bytes and as they look in logs; of other strings to the terminal only the introducer goes,
# since their payload (a link's address, a title) may hold a secret.
_ESCAPES = (
    r"(?:\x1b\[|\x9b|\\(?:x1b|033|e|u001[bB])\[)[0-?]{0,64}[ -/]{0,8}[@-~]"
    r"|\x1b\]8;[^;\x07\x1b]{0,64};(?:\x07|\x1b\\)|\x1b\][0-9]{0,4};?|\x1b[ -/]{0,4}[0-~]"
)
_DASHES = dict.fromkeys((0x2010, 0x2011, 0x2012, 0x2212), "-")
_QUOTES = dict.fromkeys((0x201C, 0x201D, 0x201E, 0x2033), '"') | dict.fromkeys((0x2018, 0x2019, 0x201A, 0x2032), "'")
_FOLDED = {code: ord(character) for code, character in (_DASHES | _QUOTES).items()}


def _unveiled(text: str) -> View:
    """Drop escape sequences, controls, format characters and combining marks; fold compatibility forms."""
    from unicodedata import category, normalize  # noqa: PLC0415 - most text is plain

    kept: list[str] = []
    places: list[int] = []
    at = 0
    escapes = compiled(_ESCAPES)
    for escape in (*escapes.finditer(text), None):
        end = len(text) if escape is None else escape.start()
        for place in range(at, end):
            character = text[place]
            if character.isascii():
                shown = character if character.isprintable() or character in "\t\n\r" else ""
            elif category(character) in _UNSEEN or character in _BLANK:
                shown = ""
            else:
                shown = normalize("NFKC", character).translate(_FOLDED)
            kept.append(shown)
            places.extend([place] * len(shown))
        at = end if escape is None else escape.end()
    return View("".join(kept), places)


_UNSEEN = frozenset({"Cf", "Cc", "Cs", "Co", "Cn", "Mn", "Me"})
_BLANK = frozenset("\u115f\u1160\u3164\uffa0\u2800")
_WRAP = r"[ \t]{0,8}(?:\\|=)?\r?\n[ \t]{0,24}(?:[>|#*+] ?|//[ ]?){0,3}[ \t]{0,8}"


def _flow(text: str) -> View:
    """The text with its soft line breaks closed: those with a token's characters on both sides."""
    if "\n" not in text:
        return View(text)
    kept: list[str] = []
    places: list[int] = []
    breaks: list[int] = []
    at = 0
    for wrap in compiled(_WRAP).finditer(text):
        start, end = wrap.span()
        if at < start < end < len(text) and _in_token(text[start - 1]) and _in_token(text[end]):
            kept.append(text[at:start])
            places.extend(range(at, start))
            breaks.append(len(places))
            at = end
    kept.append(text[at:])
    places.extend(range(at, len(text)))
    return View("".join(kept), places, tuple(breaks))


def _in_token(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character in "_-+/=.~:%$")


# Where the secrets are


def _spans(rule: Rule, text: str, flow: View) -> Iterator[Span]:
    if rule.edge is Edge.NONE:
        return _places(rule, text)
    return _tokens(rule, flow)


def _places(rule: Rule, text: str) -> Iterator[Span]:
    """Secrets told by what stands before them; a match that is judged harmless costs one step, not its length."""
    pattern, judge = compiled(rule.pattern), JUDGES[rule.judge]
    at = 0
    while match := pattern.search(text, at):
        found = judge(match)
        if found is None:
            at = max(match.start(1), match.start() + 1)
        else:
            start, end = found
            at = end = _continued(text, start, end)
            yield Span(start, end, rule.kind)


def _continued(text: str, start: int, end: int) -> int:
    """Where a value really ends that its pattern or a soft line break cuts short: it goes on while it looks random."""
    if end - start >= _LONGEST and (rest := compiled(_REST).match(text, end)):
        end = rest.end()
    while is_random(text[start:end], 8):
        wrap = compiled(_WRAP).match(text, end)
        rest = wrap and compiled(r"[A-Za-z0-9_+/=.~-]{4,1000}").match(text, wrap.end())
        if not rest or not is_random(rest[0], 4):
            break
        start, end = rest.span()
    return end


def _tokens(rule: Rule, flow: View) -> Iterator[Span]:
    """Secrets told by their own shape, across soft line breaks."""
    pattern, judge = compiled(rule.pattern), JUDGES[rule.judge]
    at = 0
    while match := pattern.search(flow.text, at):
        found = judge(match) if _starts(rule, match.start(), flow) else None
        end = _token_end(rule, pattern, match, flow) if found else None
        if found is None or end is None:
            at = match.start() + 1
        else:
            yield Span(flow.place(found[0]), flow.place(end - 1) + 1, rule.kind)
            at = end


_ESCAPED_BEFORE = (r"\\[nrtbf]", r"%[0-9A-Fa-f]{2}", r"\\[ux][0-9A-Fa-f]{2,4}")


def _starts(rule: Rule, start: int, flow: View) -> bool:
    """Whether a token may start here: nothing of a word stands before it, except a written escape such as `%3D`."""
    before = flow.text[max(0, start - 6) : start]
    if rule.edge is Edge.FREE or flow.breaks_in(start, start) or not before[-1:].isalnum():
        return True
    return any(compiled(rf".{{0,6}}{escape}").fullmatch(before) for escape in _ESCAPED_BEFORE)


_REST = r"[A-Za-z0-9_-]*+(?:\.[A-Za-z0-9_-]{4,}+)*+={0,2}"
_GOES_ON = 4  # characters of a line that may look like more of a token


def _token_end(rule: Rule, pattern: re.Pattern[str], match: re.Match[str], flow: View) -> int | None:
    """Where the token ends: with its line if it is whole there and the next line does not look like more of it."""
    start, end = match.span()
    breaks = flow.breaks_in(start + 1, end)
    for at, following in zip(breaks, (*breaks[1:], end), strict=False):
        if pattern.fullmatch(flow.text, start, at) and not is_random(flow.text[at:following], _GOES_ON):
            return at
    if rule.edge is not Edge.BOTH:
        return _rest_end(end, flow)
    return None if flow.text[end : end + 1].isalnum() and not flow.breaks_in(end, end) else end


def _rest_end(end: int, flow: View) -> int:
    """Where a token ends that is longer than its shape demands: over closed breaks only while it looks random."""
    rest = compiled(_REST)
    while match := rest.match(flow.text, end, stop := flow.next_break(end)):
        end = match.end()
        more = rest.match(flow.text, stop, flow.next_break(stop)) if end == stop else None
        if not more or not is_random(more[0], _GOES_ON):
            break
        end = more.end()
    return end


# Armoured private keys


_ARMOUR = r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
_ARMOUR_END = r"-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
_ARMOUR_LINE = (
    r"(?:\s|\\[nr]|[>|#*+\"',])*+(?:[A-Za-z0-9+/]{16,}+={0,2}|[A-Za-z0-9+/]{1,15}+={1,2}"
    r"|(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|Subject): ?[^\n\\]{0,200}|=[A-Za-z0-9+/]{4})"
)


def _armoured(text: str) -> Iterator[Span]:
    """Private key blocks: to their end line, or as far as the key's lines go where that is missing."""
    begin_line, end_line, key_line = compiled(_ARMOUR), compiled(_ARMOUR_END), compiled(_ARMOUR_LINE)
    begin = begin_line.search(text)
    while begin:
        following = begin_line.search(text, begin.end())
        close = end_line.search(text, begin.end(), following.start() if following else len(text))
        at = close.end() if close else begin.end()
        while not close and (line := key_line.match(text, at)):
            at = line.end()
        if at > begin.end():
            yield Span(begin.start(), at, "private-key")
        begin = following


# Cutting them out


def _cut(text: str, seen: View, spans: Iterable[Span]) -> str:
    """The text as sent with each span replaced; where spans overlap, the rule that comes first names the kind."""
    parts: list[str] = []
    at = 0
    for span in _merged(spans):
        start, end = seen.place(span.start), seen.place(span.end - 1) + 1
        parts += (text[at:start], f"{_MARK}{span.kind}]")
        at = end
    return "".join((*parts, text[at:]))


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Spans by place, overlapping ones as one; `spans` come in the order of precedence."""
    ranked = sorted((span.start, rank, span) for rank, span in enumerate(spans))
    merged: list[tuple[int, Span]] = []
    for _, rank, span in ranked:
        if merged and span.start < merged[-1][1].end:
            first_rank, first = merged[-1]
            kind = first.kind if first_rank < rank else span.kind
            merged[-1] = (min(rank, first_rank), Span(first.start, max(first.end, span.end), kind))
        else:
            merged.append((rank, span))
    return [span for _, span in merged]
