"""Plans and operations as the screen knows them: rows by id in their order, and who has begun to wait.

A board is whole, so that it replaces the one before; what time alone changes is derived as it is drawn.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from types import MappingProxyType
from typing import Final

from phelix_core.arc.board import ArcBoard, Seen
from phelix_core.arc.standing import ABSENT, WAITING, PolicyTold, Standing
from phelix_core.text import SafeStr
from phelix_core.views.arc.attention import arc_causes
from phelix_core.views.arc.rows import (
    STATES,
    PlanRow,
    plan_row,
    row_id_of,
    since_ms,
    sort_key,
    state_of,
    subject_of,
)
from phelix_core.views.queue.attention import Cause
from phelix_tui.sorting import OWN, Order
from phelix_tui.widgets.pages import cell
from phelix_tui.widgets.rowlist import Cell

_NOTHING = ArcBoard(plans=(), operations=(), bad=(), policy=PolicyTold(state=ABSENT))

_SAID: Final[Mapping[str, Callable[[PlanRow], str]]] = MappingProxyType(
    {
        "plan": lambda row: row.row_id,
        "action": lambda row: row.action,
        "app": lambda row: row.app,
        "version": lambda row: row.version,
        "asked": lambda row: row.asked_by,
    }
)
"""What rows are sorted by in the columns that hold text."""


class PlanBoard:
    """The newest board, sorted, what waits first."""

    def __init__(self) -> None:
        self.board = _NOTHING
        self.counts: Counter[str] = Counter()
        self.moved = False
        """Whether the order is another than whoever draws the list has seen; they take it back."""
        self.wanted = ""
        self.order_by = OWN
        """The order in force."""
        self._seen: dict[str, Seen] = {}
        self._order: list[str] = []
        self._said: dict[str, str] = {}
        self._was_read = False

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self._seen)

    def take(self, board: ArcBoard) -> frozenset[str]:
        """Work from another board; answers the plans that wait and did not before, none for the first board."""
        waited = self._waiting()
        found = sorted((*board.plans, *board.operations, *board.bad), key=sort_key)
        self.board, self._seen = board, {row_id_of(seen): seen for seen in found}
        self.counts = Counter(map(state_of, found))
        order = list(self._seen)
        self.moved = self.moved or order != self._order or bool(self.wanted) or not self.order_by.is_own
        self._order, self._said = order, {}
        first, self._was_read = not self._was_read, True
        return frozenset() if first else self._waiting() - waited

    def _waiting(self) -> frozenset[str]:
        return frozenset(row_id for row_id, seen in self._seen.items() if state_of(seen) == WAITING)

    def seen(self, row_id: str | None) -> Seen | None:
        """What was seen under an id."""
        return self._seen.get(row_id or "")

    def subject_of(self, row_id: str) -> SafeStr:
        """What a row is about, in a few words."""
        seen = self.seen(row_id)
        return SafeStr("") if seen is None else subject_of(seen)

    def is_waiting(self, row_id: str) -> bool:
        """Whether a plan waits for an approval."""
        seen = self.seen(row_id)
        return seen is not None and state_of(seen) == WAITING

    def states(self) -> dict[str, str]:
        """The state of every row."""
        return {row_id: state_of(seen) for row_id, seen in self._seen.items()}

    def holds_all(self) -> bool:
        """Whether what is not here is nowhere: no older plans were left out."""
        return not self.board.left_out

    def row(self, row_id: str, now_ms: int) -> PlanRow | None:
        """A row as of now."""
        seen = self.seen(row_id)
        return None if seen is None else plan_row(seen, now_ms)

    def order(self) -> list[str]:
        """Ids of the rows that match the filter, in the order in force."""
        words = self.wanted.casefold().split()
        return [row_id for row_id in self._in_order() if all(word in self._text_of(row_id) for word in words)]

    def sort(self, order: Order) -> None:
        """Put all in an order."""
        self.order_by = order

    def _in_order(self) -> Iterable[str]:
        """All rows in the order in force; what has nothing in the column comes last, ids settle ties."""
        if self.order_by.is_own:
            return self._order
        column, reverse = self.order_by.column, self.order_by.reverse
        if column not in _SAID:
            keys = {
                one: -(since_ms(seen) or 0) if column == "since" else sort_key(seen)[0]
                for one, seen in self._seen.items()
            }
            return sorted(sorted(keys), key=keys.__getitem__, reverse=reverse)
        said = {one: _SAID[column](plan_row(seen, 0)).casefold() for one, seen in self._seen.items()}
        filled = sorted(sorted(one for one in said if said[one]), key=said.__getitem__, reverse=reverse)
        return [*filled, *sorted(one for one in said if not said[one])]

    # A copy that stands still

    def row_ids(self) -> Iterable[str]:
        """Ids of all that is known."""
        return self._seen

    def differs(self, other: "PlanBoard", row_id: str) -> bool:
        """Whether a row is another here than there."""
        return self.seen(row_id) != other.seen(row_id)

    def copy(self) -> "PlanBoard":
        """The same, to stand still: a board that is taken in replaces all that was known."""
        return copy(self)

    def look_like(self, other: "PlanBoard") -> None:
        """Show what another shows: under its filter, in its order."""
        self.wanted, self.order_by = other.wanted, other.order_by

    def _text_of(self, row_id: str) -> str:
        """What a filter looks at."""
        if row_id not in self._said:
            seen = self._seen[row_id]
            row = plan_row(seen, 0)
            operation = seen.operation_id if isinstance(seen, Standing) else ""
            parts = (row_id, operation or "", row.looks.word, subject_of(seen), row.version, row.asked_by)
            self._said[row_id] = "\n".join(parts).casefold()
        return self._said[row_id]

    def causes(self, now_ms: int) -> Iterator[Cause]:
        """What of it needs a person."""
        return arc_causes(self.board, self._seen.values(), now_ms)

    def count_cells(self, *states: str) -> list[Cell]:
        """How many there are of some states, as a title says it: `◆ 2 wait`; of what waits where none is named."""
        cells: list[Cell] = []
        for state in states or (WAITING,):
            number, looks = self.counts[state], STATES[state]
            word = "wait" if state == WAITING and number != 1 else looks.word
            cells += [cell(f"{looks.glyph} {number:,} {word}", looks.role), cell(" · ")] if number else []
        return cells
