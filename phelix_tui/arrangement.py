"""Which rows there are, how they look now, and in which order: the list's memory, without a screen.

What every record costs is its place in the order and what a filter looks at; its line is drawn up only when
somebody wants to see it, so that a hundred thousand records are no matter. A change tells apart what only
repaints a line and what moves one, so that content is shown at once while a new order can wait. Time alone
also changes rows: ages of the lines on the screen, and sessions that go stale with no file changing, found
through a heap of the moments when that happens. The order by attention is always kept; one that an operator chose
stands beside it. Source: console page, sections 3, 4 and 9.
"""

import heapq
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from phelix_core.frozen import frozen_in_order
from phelix_core.sessions.model import ACTIVE
from phelix_core.sessions.staleness import SKEW_ALLOWED_MS
from phelix_core.sessions.summary import SessionSummary
from phelix_core.views.rows import STATES, BadRecord, Found, SessionRow, row_of, sort_key, state_of_found
from phelix_tui.filtering import Filtering
from phelix_tui.sorting import AT_ONCE, OWN, Key, Order, Places, Sorter, put_in_order

if TYPE_CHECKING:
    from phelix_core.views.filter import Filterable
    from phelix_core.views.ordering import SessionKey

_FILTER_AGAIN_MS: Final = 5_000
"""How often a filter that looks at ages is asked anew of every record."""
_FEW: Final = 1_000
"""Up to so many records are asked about one by one where the filter's answers change."""
_MOVING_FIELDS: Final = frozenset({"age", "seen", "created", "updated"})


@frozen_in_order
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
        self._places: Places | None = None
        self._key_of: SessionKey | None = None
        self._since_asked: set[str] | None = None
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

    @property
    def states(self) -> Mapping[str, str]:
        """The state of every record, in no order."""
        return self._states

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
        if session_id not in self._known:
            return False
        was_shown, is_shown = self._was_shown(session_id), self._is_shown(session_id)
        place = self._place_of(session_id)
        self._show(session_id, place, place, was_shown=was_shown, is_shown=is_shown)
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
        """Take over another's marks, filter, order and leases, and what it last read well of records bad now.

        An order that takes long to make is left to be asked for: `order_by` tells that it is not in force.
        """
        self.lease(other.leased, self._now_ms)
        self.look_like(other)
        bad = {session_id: found for session_id, found in self._known.items() if isinstance(found, BadRecord)}
        kept = {session_id: _keeping_good(other.found(session_id), found) for session_id, found in bad.items()}
        self.change(kept, self._now_ms)

    def row_ids(self) -> Iterable[str]:
        """Ids of all that is known."""
        return self._known

    def state(self, session_id: str) -> str | None:
        """A record's state as of now."""
        return self._states.get(session_id)

    def differs(self, other: "Arrangement", row_id: str) -> bool:
        """Whether a record is another here than there, or another is its state by now."""
        mine, theirs = self._known.get(row_id), other.found(row_id)
        return (mine is not theirs and mine != theirs) or self._states.get(row_id) != other.state(row_id)

    def look_like(self, other: "Arrangement") -> None:
        """Show what another shows: under its filter and marks, in its order where that is quickly made."""
        self._marked, self.filtering = other.marked, other.filtering
        if self.order_by != other.order_by and (len(self) <= AT_ONCE or other.order_by.is_own):
            self.sort(other.order_by)
        self._compile()
        self._select()

    def copy(self) -> "Arrangement":
        """The same, to stand still while this one goes on."""
        other = copy(self)
        other.part()
        return other

    def part(self) -> None:
        """Share nothing with what this was copied from."""
        self._known, self._states, self._keys = dict(self._known), dict(self._states), dict(self._keys)
        self._sorted, self._rows, self._turns = list(self._sorted), dict(self._rows), []
        self._subjects = None if self._subjects is None else dict(self._subjects)
        self._places = self._places and self._places.copy()
        self._members = None if self._members is None else set(self._members)
        self._shown = self._listed if self._members is None else list(self._shown)
        self.counts, self._since_asked = Counter(self.counts), None

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
            self._shown, self._members = self._listed, None
            return
        accepts, subjects = self._accepts, self.subjects
        self._shown = [key for key in self._listed if accepts(subjects[key[-1]])]
        self._members = {key[-1] for key in self._shown}

    def _was_shown(self, session_id: str) -> bool:
        return session_id in (self._known if self._members is None else self._members)

    def _is_shown(self, session_id: str) -> bool:
        """Whether a known record passes the filter."""
        return self._accepts is None or self._accepts(self.subjects[session_id])

    def order(self) -> list[str]:
        """Ids of the records that match the filter, in the order in force."""
        return [key[-1] for key in self._shown]

    # The order

    @property
    def order_by(self) -> Order:
        """The order in force."""
        return OWN if self._places is None else self._places.order

    @property
    def _listed(self) -> list[Key]:
        """Everything in the order in force."""
        return self._sorted if self._places is None else self._places.sorted

    def _place_of(self, session_id: str) -> Key | None:
        """A record's key in the order in force."""
        return (self._keys if self._places is None else self._places.keys).get(session_id)

    def sort(self, order: Order) -> None:
        """Put all in an order here and now."""
        self.take_places(None if order.is_own else self.sorter(order)())

    def sorter(self, order: Order) -> Sorter:
        """What makes the places of everything as it is now, in another thread; `take_places` brings them in."""
        from phelix_core.views.ordering import order_sessions_by  # noqa: PLC0415 - not before somebody sorts

        key_of = order_sessions_by(order.column, reverse=order.reverse)
        known, states = dict(self._known), dict(self._states)
        self._since_asked = since = set[str]()

        def made() -> Places:
            return Places(order, {one: key_of(states[one], found, one) for one, found in known.items()}, since)

        return made

    def take_places(self, places: Places | None) -> bool:
        """Bring an order in, None for the list's own, and put what has changed since it was asked for in its place.

        Answers whether it was: one that was asked for before another is too old.
        """
        if places is not None and places.since is not self._since_asked:
            return False
        self._places, self._key_of, self._since_asked = places, None, None
        if places is not None:
            from phelix_core.views.ordering import order_sessions_by  # noqa: PLC0415 - as above

            self._key_of = order_sessions_by(places.order.column, reverse=places.order.reverse)
            for session_id in places.since:
                self._replace(session_id)
        self._select()
        return True

    def _replace(self, session_id: str) -> None:
        """Give a record its place in the order that was chosen."""
        if self._since_asked is not None:
            self._since_asked.add(session_id)
        if self._places is not None and self._key_of is not None:
            found = self._known.get(session_id)
            key = None if found is None else self._key_of(self._states[session_id], found, session_id)
            self._places.put(session_id, key)

    def pressing(self) -> list[tuple[str, str]]:
        """Ids and states of the records that want attention, whatever the filter, most pressing first."""
        end = bisect_left(self._sorted, (STATES[ACTIVE].rank,))  # pyright: ignore[reportArgumentType] - a prefix sorts first
        return [(key[-1], self._states[key[-1]]) for key in self._sorted[:end]]

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
        if self._places is not None:
            self.sort(self._places.order)
        self._select()
        return Patch((), len(self._shown))

    def change(self, changes: Mapping[str, Found | None], now_ms: int) -> Patch:
        """Take in what a look at some records gave; None means gone."""
        self._now_ms = now_ms
        rows: list[SessionRow] = []
        moved = 0
        for session_id, found in changes.items():
            was_shown, old_key = self._was_shown(session_id), self._keys.get(session_id)
            old_state, old_place = self._states.get(session_id), self._place_of(session_id)
            if found is None:
                self._drop(session_id)
                moved += was_shown
                self._move(session_id, old_key, old_place, was_shown=was_shown, is_shown=False)
                continue
            self._put(session_id, _keeping_good(self._known.get(session_id), found))
            is_shown = self._is_shown(session_id)
            place = self._move(session_id, old_key, old_place, was_shown=was_shown, is_shown=is_shown)
            moved += (is_shown or was_shown) if place != old_place else is_shown != was_shown
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
        due = self._set_back(now_ms) if now_ms < self._now_ms else dict[str, None]()
        self._now_ms = now_ms
        shifted = self._filter_again()
        while self._turns and self._turns[0][0] <= now_ms:
            session_id = heapq.heappop(self._turns)[1]
            if session_id in self._known:
                due[session_id] = None
        patch = self.change({session_id: self._known[session_id] for session_id in due}, now_ms)
        aging = (
            self._redrawn(row_id, turned=False) for row_id in on_screen if row_id in self._known and row_id not in due
        )
        return Patch((*patch.rows, *(row for row in aging if row is not None)), patch.moved + shifted)

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

    def _put(self, session_id: str, found: Found) -> None:
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

    def _expect_turn(self, session_id: str, found: Found, now_ms: int) -> None:
        """Remember when time alone will change the state: into stale, or out of a future that cannot be told."""
        from_ms = _turning(found)
        if from_ms is None:
            return
        for turn in (from_ms - SKEW_ALLOWED_MS, from_ms + self._stale_after_ms):
            if turn > now_ms:
                heapq.heappush(self._turns, (turn, session_id))

    def _move(
        self, session_id: str, old_key: Key | None, old_place: Key | None, *, was_shown: bool, is_shown: bool
    ) -> Key | None:
        """Give a record its place in every order, and in what the filter shows; answers its key in the one in force."""
        key = self._keys.get(session_id)
        if old_key != key:
            put_in_order(self._sorted, old_key, key)
        self._replace(session_id)
        place = self._place_of(session_id)
        self._show(session_id, old_place, place, was_shown=was_shown, is_shown=is_shown)
        return place

    def _show(self, session_id: str, old: Key | None, new: Key | None, *, was_shown: bool, is_shown: bool) -> None:
        if self._members is not None and (old != new or was_shown != is_shown):
            put_in_order(self._shown, old if was_shown else None, new if is_shown else None)
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


def subjects_of(known: Mapping[str, Found]) -> "dict[str, Filterable]":
    """What filters look at, of many records; a tenth of a second at a hundred thousand."""
    from phelix_core.views.filter import filterable  # noqa: PLC0415 - a fleet that nobody filters starts without it

    return {session_id: filterable(session_id, found) for session_id, found in known.items()}
