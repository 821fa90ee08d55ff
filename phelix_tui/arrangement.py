"""Which rows there are, how they look now, and in which order: the list's memory, without a screen.

What every record costs is its place in the order and what a filter looks at; its line is drawn up only when
somebody wants to see it, so that a hundred thousand records are no matter. A change tells apart what only
repaints a line and what moves one, so that content is shown at once while a new order can wait. Time alone
also changes rows: ages of the lines on the screen, and sessions that go stale with no file changing, found
through a heap of the moments when that happens. Source: console page, sections 4 and 9.
"""

import heapq
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from phelix_core.sessions.model import ACTIVE
from phelix_core.sessions.staleness import SKEW_ALLOWED_MS
from phelix_core.sessions.summary import SessionSummary
from phelix_core.views.rows import STATES, BadRecord, Found, SessionRow, row_of, sort_key, state_of_found
from phelix_tui.filtering import Filtering

if TYPE_CHECKING:
    from phelix_core.views.filter import Filterable

Key = tuple[int, int, str]

_FILTER_AGAIN_MS: Final = 5_000
"""How often a filter that looks at ages is asked anew of every record."""
_FEW: Final = 1_000
"""Up to so many records are asked about one by one where the filter's answers change."""
_MOVING_FIELDS: Final = frozenset({"age", "seen", "created", "updated"})


@dataclass(frozen=True, slots=True)
class Patch:
    """Rows whose line looks different, and how many rows came, went or belong elsewhere."""

    rows: tuple[SessionRow, ...]
    moved: int

    def __bool__(self) -> bool:
        """Whether anything on the screen may differ."""
        return bool(self.rows or self.moved)


class Arrangement:
    """Every known record, sorted, attention first; lines for those that are looked at."""

    def __init__(self, stale_after_ms: int) -> None:
        self._stale_after_ms = stale_after_ms
        self._known: dict[str, Found] = {}
        self._subjects: dict[str, Filterable] | None = None
        self._states: dict[str, str] = {}
        self._keys: dict[str, Key] = {}
        self._sorted: list[Key] = []
        self._rows: dict[str, SessionRow] = {}
        self._turns: list[tuple[int, str]] = []
        self._now_ms = 0
        self._filtered_ms = 0
        self.filtering = Filtering()
        self.leased: dict[str, str] = {}
        self._accepts: Callable[[Filterable], bool] | None = None
        self._shown: list[Key] = self._sorted
        self._members: set[str] | None = None
        self._marked: frozenset[str] = frozenset()
        self.counts: Counter[str] = Counter()

    def __len__(self) -> int:
        """How many records are known."""
        return len(self._known)

    def __contains__(self, session_id: str) -> bool:
        """Whether the record is known."""
        return session_id in self._known

    def found(self, session_id: str) -> Found | None:
        """What the last look at the record gave."""
        return self._known.get(session_id)

    def row(self, session_id: str) -> SessionRow | None:
        """The record's line, drawn up when it is first asked for."""
        row = self._rows.get(session_id)
        found = self._known.get(session_id)
        if row is None and found is not None:
            row = row_of(session_id, found, self._now_ms, self._stale_after_ms)
            row = self._rows[session_id] = replace(row, state=self._state_of(session_id, found))
        return row

    @property
    def wanted(self) -> str:
        """The filter that rows must match; empty for all."""
        return self.filtering.wanted.text

    @wanted.setter
    def wanted(self, text: str) -> None:
        """Take another filter; one that is wrong raises `FilterError`, and the one before it stays.

        What is shown stays too while a filter on references waits for what the core finds.
        """
        if self.filtering.want(text):
            self._compile()
            self._select()

    def answer(self, answers: Mapping[str, frozenset[str]]) -> int:
        """Take the ids that the core found for what the filter asks of references; how many rows come or go."""
        changed = self.filtering.answer(answers)
        if changed is not None and len(changed) <= _FEW:
            self._compile()
            return sum(map(self._asked_again, changed))
        before = self._known.keys() if self._members is None else self._members
        self._compile()
        self._select()
        return len(before ^ (self._known.keys() if self._members is None else self._members))

    def _asked_again(self, session_id: str) -> bool:
        """Ask the filter of one record anew; whether it came or went by that."""
        key = self._keys.get(session_id)
        if key is None:
            return False
        was_shown, is_shown = self._was_shown(session_id), self._is_shown(session_id)
        self._move(key, key, was_shown=was_shown, is_shown=is_shown)
        return was_shown != is_shown

    @property
    def marked(self) -> frozenset[str]:
        """The ids that are marked, which a filter may ask for."""
        return self._marked

    def mark(self, marked: frozenset[str]) -> bool:
        """Take other marks; answers whether rows may come and go by that: the filter asks for marks."""
        self._marked = marked
        query = self.filtering.in_force.query
        if query is None or not query.needs_marks:
            return False
        self._compile()
        self._select()
        return True

    @property
    def subjects(self) -> "dict[str, Filterable]":
        """What filters look at; made of everything known when it is first asked for."""
        if self._subjects is None:
            self._subjects = subjects_of(self._known)
        return self._subjects

    def lend(self, subjects: "dict[str, Filterable]", known: Mapping[str, Found]) -> None:
        """Take what was made elsewhere of `known`, as far as nothing has changed since."""
        if self._subjects is None:
            from phelix_core.views.filter import filterable  # noqa: PLC0415 - somebody is about to filter

            self._subjects = {
                session_id: subjects[session_id]
                if known.get(session_id) is found and session_id in subjects
                else filterable(session_id, found)
                for session_id, found in self._known.items()
            }

    def inherit(self, other: "Arrangement") -> None:
        """Take over another's marks, filter and leases, and what it last read well of records that are bad now."""
        self._marked, self.filtering = other.marked, other.filtering
        self.lease(other.leased, self._now_ms)
        self._compile()
        self._select()
        bad = {session_id: found for session_id, found in self._known.items() if isinstance(found, BadRecord)}
        kept = {session_id: _keeping_good(other.found(session_id), found) for session_id, found in bad.items()}
        self.change(kept, self._now_ms)

    def known(self) -> dict[str, Found]:
        """A copy of what is known, for whoever makes something of it elsewhere."""
        return dict(self._known)

    def _compile(self) -> None:
        """The filter as of now: ages in it move with the clock."""
        self._filtered_ms = self._now_ms
        self._accepts = self.filtering.predicate(self._now_ms, self._stale_after_ms, self._marked)

    def _select(self) -> None:
        """Ask the filter of everything; from here on only what changes is asked again."""
        if self._accepts is None:
            self._shown, self._members = self._sorted, None
            return
        accepts, subjects = self._accepts, self.subjects
        self._shown = [key for key in self._sorted if accepts(subjects[key[2]])]
        self._members = {key[2] for key in self._shown}

    def _was_shown(self, session_id: str) -> bool:
        return session_id in (self._known if self._members is None else self._members)

    def _is_shown(self, session_id: str) -> bool:
        """Whether a known record passes the filter."""
        return self._accepts is None or self._accepts(self.subjects[session_id])

    def order(self) -> list[str]:
        """Ids of the records that match the filter, attention first."""
        return [key[2] for key in self._shown]

    def pressing(self) -> list[tuple[str, str]]:
        """Ids and states of the records that want attention, whatever the filter, most pressing first."""
        end = bisect_left(self._sorted, (STATES[ACTIVE].rank,))  # pyright: ignore[reportArgumentType] - a prefix sorts first
        return [(key[2], self._states[key[2]]) for key in self._sorted[:end]]

    def lease(self, states: Mapping[str, str], now_ms: int) -> Patch:
        """Take the states of the sessions whose lease decides about them; the others go by their own events."""
        before, self.leased = self.leased, dict(states)
        differing = {
            session_id
            for session_id in before.keys() | states.keys()
            if before.get(session_id) != states.get(session_id)
        }
        return self.change({one: self._known[one] for one in differing if one in self._known}, now_ms)

    def _state_of(self, session_id: str, found: Found) -> str:
        """A record's state as shown: one that is joined to a lease takes its staleness from there."""
        own = state_of_found(found, self._now_ms, self._stale_after_ms)
        return self.leased.get(session_id, own) if _turning(found) is not None else own

    def in_order(self) -> list[SessionRow]:
        """The same as lines."""
        return [row for session_id in self.order() if (row := self.row(session_id)) is not None]

    def load(self, known: Mapping[str, Found], now_ms: int) -> Patch:
        """Replace everything by what a whole look gave."""
        if self._known:
            changes: dict[str, Found | None] = dict.fromkeys(self._known.keys() - known.keys())
            changes.update(known)
            return self.change(changes, now_ms)
        self._now_ms = now_ms
        for session_id, found in known.items():
            self._put(session_id, found)
        self._sorted = sorted(self._keys.values())
        self._select()
        return Patch((), len(self._shown))

    def change(self, changes: Mapping[str, Found | None], now_ms: int) -> Patch:
        """Take in what a look at some records gave; None means gone."""
        self._now_ms = now_ms
        rows: list[SessionRow] = []
        moved = 0
        for session_id, found in changes.items():
            was_shown, old_key = self._was_shown(session_id), self._keys.get(session_id)
            old_state = self._states.get(session_id)
            if found is None:
                self._drop(session_id)
                moved += was_shown
                self._move(old_key, None, was_shown=was_shown, is_shown=False)
                continue
            key = self._put(session_id, _keeping_good(self._known.get(session_id), found))
            is_shown = self._is_shown(session_id)
            moved += (is_shown or was_shown) if key != old_key else is_shown != was_shown
            self._move(old_key, key, was_shown=was_shown, is_shown=is_shown)
            turned = old_state is not None and old_state != self._states[session_id]
            if (row := self._redrawn(session_id, turned=turned)) is not None:
                rows.append(row)
        return Patch(tuple(rows), moved)

    def _redrawn(self, session_id: str, *, turned: bool) -> SessionRow | None:
        """The line of a record that somebody looked at, or that turned, if it looks different now."""
        before = self._rows.pop(session_id, None)
        if before is None and not turned:
            return None
        row = self.row(session_id)
        return None if row == before else row

    def tick(self, now_ms: int, on_screen: Iterable[str]) -> Patch:
        """Let time pass: rows on the screen age, and rows anywhere turn stale."""
        due = dict.fromkeys(row_id for row_id in on_screen if row_id in self._known)
        if now_ms < self._now_ms:
            due = self._set_back(now_ms)
        self._now_ms = now_ms
        shifted = self._filter_again()
        while self._turns and self._turns[0][0] <= now_ms:
            session_id = heapq.heappop(self._turns)[1]
            if session_id in self._known:
                due[session_id] = None
        patch = self.change({session_id: self._known[session_id] for session_id in due}, now_ms)
        return Patch(patch.rows, patch.moved + shifted)

    def _filter_again(self) -> int:
        """Let a filter that looks at ages see them move; answers how many rows came or went by that."""
        query = self.filtering.in_force.query
        if query is None:
            return 0
        fields = {getattr(term, "field", "") for term in query.terms}
        if not fields & _MOVING_FIELDS:
            self._compile()
            return 0
        if 0 <= self._now_ms - self._filtered_ms < _FILTER_AGAIN_MS:
            return 0
        before = self._members or set()
        self._compile()
        self._select()
        return len(before ^ (self._members or set()))

    def _set_back(self, now_ms: int) -> dict[str, None]:
        """Forget what was expected of a clock that was set back: every row may have to turn once more."""
        self._turns.clear()
        for session_id, found in self._known.items():
            self._expect_turn(session_id, found, now_ms)
        return dict.fromkeys(self._known)

    def _put(self, session_id: str, found: Found) -> Key:
        """Take a record in, but for its place in the order."""
        state = self._state_of(session_id, found)
        before = self._states.get(session_id)
        if before is not None:
            self.counts[before] -= 1
        self.counts[state] += 1
        known = self._known.get(session_id)
        if _turning(known) != _turning(found):
            self._expect_turn(session_id, found, self._now_ms)
        if self._subjects is not None and known is not found:
            from phelix_core.views.filter import filterable  # noqa: PLC0415 - loaded already where there are subjects

            self._subjects[session_id] = filterable(session_id, found)
        key = sort_key(state, found, session_id)
        self._known[session_id], self._states[session_id], self._keys[session_id] = found, state, key
        return key

    def _expect_turn(self, session_id: str, found: Found, now_ms: int) -> None:
        """Remember when time alone will change the state: into stale, or out of a future that cannot be told."""
        from_ms = _turning(found)
        if from_ms is None:
            return
        for turn in (from_ms - SKEW_ALLOWED_MS, from_ms + self._stale_after_ms):
            if turn > now_ms:
                heapq.heappush(self._turns, (turn, session_id))

    def _move(self, old: Key | None, new: Key | None, *, was_shown: bool, is_shown: bool) -> None:
        """Give a record its place in the order, and in what the filter shows."""
        if old != new:
            _put_in_order(self._sorted, old, new)
        if self._members is not None and (old != new or was_shown != is_shown):
            _put_in_order(self._shown, old if was_shown else None, new if is_shown else None)
            session_id = (new or old or ("", "", ""))[2]
            (self._members.add if is_shown else self._members.discard)(session_id)

    def _drop(self, session_id: str) -> None:
        if self._known.pop(session_id, None) is None:
            return
        self.counts[self._states.pop(session_id)] -= 1
        self._rows.pop(session_id, None)
        if self._subjects is not None:
            del self._subjects[session_id]
        del self._keys[session_id]

    def summary(self) -> dict[str, int]:
        """How many rows of each state there are, in the states' order; states without rows are left out."""
        return {state: self.counts[state] for state in STATES if self.counts[state]}


def _turning(found: Found | None) -> int | None:
    """The moment that decides when time alone changes the state; None where it never does."""
    return found.last_event_ms if isinstance(found, SessionSummary) and found.status == ACTIVE else None


def _keeping_good(before: Found | None, now: Found) -> Found:
    """A record that went bad keeps what was last read well."""
    if not isinstance(now, BadRecord) or before is None:
        return now
    good = before if isinstance(before, SessionSummary) else before.last_good
    return BadRecord(now.code, good)


def _put_in_order(keys: list[Key], old: Key | None, new: Key | None) -> None:
    if old is not None:
        del keys[bisect_left(keys, old)]
    if new is not None:
        insort(keys, new)


def subjects_of(known: Mapping[str, Found]) -> "dict[str, Filterable]":
    """What filters look at, of many records; a tenth of a second at a hundred thousand."""
    from phelix_core.views.filter import filterable  # noqa: PLC0415 - a fleet that nobody filters starts without it

    return {session_id: filterable(session_id, found) for session_id, found in known.items()}
