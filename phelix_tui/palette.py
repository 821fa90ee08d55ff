"""What the palette finds: what can be done here, and every session, issue and plan there is, by id, title, application.

Records are searched in one long text that is made of them once, in a thread, when the palette opens: a search of a
hundred thousand takes some milliseconds, in a thread as well, and no key waits for it. What is done here is few, and
looked through at once. Words may stand in any order; each must be there. Source: console page, section 3.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

from phelix_core.frozen import frozen
from phelix_core.text import SafeStr
from phelix_core.views.rows import BadRecord
from phelix_tui.desk import Desk

MOST: Final = 20
"""Hits that are ever shown."""
_BESIDE_RECORDS: Final = 8
"""Of what can be done here, where records match as well."""
_LOOKED_AT: Final = 400
"""Records that match, among which the best are chosen."""
_NOTHING: Final = SafeStr("")
SESSION: Final = "session"
ISSUE: Final = "issue"
PLAN: Final = "plan"


@frozen
class Offer:
    """One thing to choose: what it is called, what is told of it, and what it does; `reason` says why it cannot."""

    id: str
    kind: str
    title: SafeStr
    about: SafeStr = _NOTHING
    key: str = ""
    reason: str | None = None
    run: Callable[[], object]


def offers_for(offers: Sequence[Offer], typed: str) -> list[Offer]:
    """Those that hold every word typed, what is called just that first, then what begins with the first word."""
    words = typed.casefold().split()
    if not words:
        return list(offers)
    found: list[tuple[int, int, Offer]] = []
    for place, offer in enumerate(offers):
        title = offer.title.casefold()
        text = f"{offer.kind} {title} {offer.about.casefold()}"
        if all(word in text for word in words):
            is_it, begins = title == " ".join(words), title.startswith(words[0])
            rank = 0 if is_it else 1 if begins else 2 if all(word in title for word in words) else 3
            found.append((rank, place, offer))
    return [offer for _, _, offer in sorted(found, key=lambda one: one[:2])]


class Subject(NamedTuple):
    """A record that can be opened."""

    kind: str
    id: str


class RecordIndex:
    """Ids and titles of everything that can be opened, as one text to search in."""

    def __init__(self, told: Iterable[tuple[Subject, str]]) -> None:
        # Strings alone are kept: of a hundred thousand objects the collector would make the screen stand still.
        self._kinds: list[str] = []
        self._ids: list[str] = []
        lines: list[str] = []
        for subject, text in told:
            self._kinds.append(subject.kind)
            self._ids.append(subject.id)
            lines.append(text.casefold().replace("\n", " "))
        self._starts: list[int] = []
        at = 0
        for text in lines:
            self._starts.append(at)
            at += len(text) + 1
        self._text = "\n".join(lines) + "\n"

    def __len__(self) -> int:
        """How many records there are."""
        return len(self._ids)

    def find(self, typed: str, most: int) -> list[Subject]:
        """The best `most` that hold every word typed; an id typed whole, or its end, comes first."""
        words = sorted(typed.casefold().split(), key=len, reverse=True)
        if not words or any(word not in self._text for word in words):
            return []
        ranked = sorted((self._rank(place, words), place) for place in self._holding(words))
        return [Subject(self._kinds[place], self._ids[place]) for _, place in ranked[:most]]

    def _holding(self, words: Sequence[str]) -> Iterator[int]:
        """Places of records that hold all words, the first few hundred of them."""
        text, starts, at, left = self._text, self._starts, 0, _LOOKED_AT
        while left and (at := text.find(words[0], at)) >= 0:
            place = bisect_right(starts, at) - 1
            end = starts[place + 1] - 1 if place + 1 < len(starts) else len(text) - 1
            if all(text.find(word, starts[place], end) >= 0 for word in words[1:]):
                left -= 1
                yield place
            at = end

    def _rank(self, place: int, words: Sequence[str]) -> int:
        subject = self._ids[place].casefold()
        if subject in words or any(subject.endswith(word) for word in words):
            return 0
        line = self._text[self._starts[place] : self._text.find("\n", self._starts[place])]
        return 1 if all(line.startswith(word) or f" {word}" in line for word in words) else 2


def indexed(desk: Desk) -> Callable[[], RecordIndex]:
    """Take copies of what is known now; what is answered makes the index of them, in any thread."""
    pressing = [session_id for session_id, _ in desk.arrangement.pressing()]
    known = desk.arrangement.known()
    issues = list(desk.backlog.issues.values())
    plans = [(row_id, desk.plans.subject_of(row_id)) for row_id in desk.plans.states()] if desk.plans_read else []

    def made() -> RecordIndex:
        first = dict.fromkeys(one for one in pressing if one in known)

        def sessions() -> Iterator[tuple[Subject, str]]:
            for session_id in chain(first, (one for one in known if one not in first)):
                found = known[session_id]
                found = found.last_good if isinstance(found, BadRecord) else found
                title, app = (found.title or "", found.app or "") if found is not None else ("", "")
                yield Subject(SESSION, session_id), f"{session_id} {title} {app}"

        return RecordIndex(
            chain(
                ((Subject(PLAN, row_id), f"{row_id} {told}") for row_id, told in plans),
                ((Subject(ISSUE, issue.id), f"{issue.id} {issue.task}") for issue in issues),
                sessions(),
            )
        )

    return made


def shared(doable: Sequence[Offer], records: Sequence[Offer]) -> list[Offer]:
    """As much of both as fits: what can be done first, without crowding the records out."""
    room = max(_BESIDE_RECORDS, MOST - len(records))
    return [*doable[:room], *records][:MOST]
