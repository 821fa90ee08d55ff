"""Which rows there are, how they look now, and in which order: the list's memory, without a screen.

A change tells apart what only repaints a line and what moves one, so that content is shown at once while
a new order can wait. Time alone also changes rows: ages of the lines on the screen, and sessions that go
stale with no file changing, found through a heap of the moments when that happens. Source: console page,
section 9.
"""

import heapq
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from phelix_core.sessions.model import ACTIVE
from phelix_core.sessions.staleness import SKEW_ALLOWED_MS
from phelix_core.sessions.summary import SessionSummary
from phelix_core.views.match import matcher
from phelix_core.views.rows import STATES, BadRecord, Found, SessionRow, row_of, sort_key

Key = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class Patch:
    """Rows whose line looks different, and how many rows came, went or belong elsewhere."""

    rows: tuple[SessionRow, ...]
    moved: int

    def __bool__(self) -> bool:
        """Whether anything on the screen may differ."""
        return bool(self.rows or self.moved)


class Arrangement:
    """Every known record as a row, sorted, attention first."""

    def __init__(self, stale_after_ms: int) -> None:
        self._stale_after_ms = stale_after_ms
        self._known: dict[str, Found] = {}
        self._rows: dict[str, SessionRow] = {}
        self._keys: dict[str, Key] = {}
        self._sorted: list[Key] = []
        self._turns: list[tuple[int, str]] = []
        self._ticked_ms = 0
        self._accepts: Callable[[SessionRow], bool] = matcher("")
        self._filter = ""
        self.counts: Counter[str] = Counter()

    def __len__(self) -> int:
        """How many records are known."""
        return len(self._rows)

    def __contains__(self, session_id: str) -> bool:
        """Whether the record is known."""
        return session_id in self._rows

    def found(self, session_id: str) -> Found | None:
        """What the last look at the record gave."""
        return self._known.get(session_id)

    def row(self, session_id: str) -> SessionRow | None:
        """The record's line."""
        return self._rows.get(session_id)

    @property
    def wanted(self) -> str:
        """The filter that rows must match; empty for all."""
        return self._filter

    @wanted.setter
    def wanted(self, text: str) -> None:
        self._filter = text
        self._accepts = matcher(text)

    def in_order(self) -> list[SessionRow]:
        """Rows that match the filter, attention first."""
        rows = (self._rows[key[2]] for key in self._sorted)
        return list(filter(self._accepts, rows)) if self._filter else list(rows)

    def load(self, known: Mapping[str, Found], now_ms: int) -> Patch:
        """Replace everything by what a whole look gave."""
        changes: dict[str, Found | None] = dict.fromkeys(self._known.keys() - known.keys())
        changes.update(known)
        if self._rows:
            return self.change(changes, now_ms)
        for session_id, found in known.items():
            self._put(session_id, found, now_ms)
        self._sorted = sorted(self._keys.values())
        return Patch((), sum(map(self._accepts, self._rows.values())))

    def change(self, changes: Mapping[str, Found | None], now_ms: int) -> Patch:
        """Take in what a look at some records gave; None means gone."""
        rows: list[SessionRow] = []
        moved = 0
        for session_id, found in changes.items():
            before, old_key = self._rows.get(session_id), self._keys.get(session_id)
            if found is None:
                moved += self._drop(session_id)
                continue
            row, key = self._put(session_id, _keeping_good(self._known.get(session_id), found), now_ms)
            seen = self._accepts(row), before is not None and self._accepts(before)
            if key != old_key:
                self._place(old_key, key)
                moved += any(seen)
            else:
                moved += seen[0] != seen[1]
            if before is not None and row != before:
                rows.append(row)
        return Patch(tuple(rows), moved)

    def tick(self, now_ms: int, on_screen: Iterable[str]) -> Patch:
        """Let time pass: rows on the screen age, and rows anywhere turn stale."""
        due = dict.fromkeys(row_id for row_id in on_screen if row_id in self._known)
        if now_ms < self._ticked_ms:
            due = self._set_back(now_ms)
        self._ticked_ms = now_ms
        while self._turns and self._turns[0][0] <= now_ms:
            session_id = heapq.heappop(self._turns)[1]
            if session_id in self._known:
                due[session_id] = None
        return self.change({session_id: self._known[session_id] for session_id in due}, now_ms)

    def _set_back(self, now_ms: int) -> dict[str, None]:
        """Forget what was expected of a clock that was set back: every row may have to turn once more."""
        self._turns.clear()
        for session_id, found in self._known.items():
            self._expect_turn(session_id, found, now_ms)
        return dict.fromkeys(self._known)

    def _put(self, session_id: str, found: Found, now_ms: int) -> tuple[SessionRow, Key]:
        row = row_of(session_id, found, now_ms, self._stale_after_ms)
        before = self._rows.get(session_id)
        if before is not None:
            self.counts[before.state] -= 1
        self.counts[row.state] += 1
        key = sort_key(row, found)
        if _turning(self._known.get(session_id)) != _turning(found):
            self._expect_turn(session_id, found, now_ms)
        self._known[session_id], self._rows[session_id], self._keys[session_id] = found, row, key
        return row, key

    def _expect_turn(self, session_id: str, found: Found, now_ms: int) -> None:
        """Remember when time alone will change the state: into stale, or out of a future that cannot be told."""
        from_ms = _turning(found)
        if from_ms is None:
            return
        for turn in (from_ms - SKEW_ALLOWED_MS, from_ms + self._stale_after_ms):
            if turn > now_ms:
                heapq.heappush(self._turns, (turn, session_id))

    def _place(self, old: Key | None, new: Key) -> None:
        if old is not None:
            self._unplace(old)
        insort(self._sorted, new)

    def _unplace(self, key: Key) -> None:
        del self._sorted[bisect_left(self._sorted, key)]

    def _drop(self, session_id: str) -> bool:
        row = self._rows.pop(session_id, None)
        if row is None:
            return False
        self.counts[row.state] -= 1
        self._known.pop(session_id, None)
        self._unplace(self._keys.pop(session_id))
        return self._accepts(row)

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
