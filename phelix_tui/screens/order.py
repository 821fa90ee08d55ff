"""The menu of the columns that a list can be sorted by; the one in force once more turns its order around."""

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from phelix_core.text import SafeStr
from phelix_tui.screens.choosing import Menu
from phelix_tui.sorting import ATTENTION, OWN, Order
from phelix_tui.widgets.pages import cell
from phelix_tui.widgets.rowlist import Column, Row


class OrderMenu(Menu[Order]):
    """Choose a column; answers the order, or None."""

    NAME = "order"
    COLUMNS = (
        Column("column", SafeStr("COLUMN"), 20),
        Column("told", SafeStr("NOW"), 20, flex=True),
    )
    BINDINGS: ClassVar[list[BindingType]] = [Binding("s", "next", "The next column", show=False, id="order.next")]

    def __init__(self, columns: Sequence[Column], now: Order) -> None:
        names = [column.name for column in columns]
        super().__init__(
            [cell(" Sort by", "bold")],
            cell(" enter chooses · the column in force turns around"),
            [_row(column, now) for column in columns],
            {name: now.turned if name == now.column else Order(name) for name in names},
        )
        self._names = names
        self._now = now

    def on_mount(self) -> None:
        """Start at the column in force."""
        super().on_mount()
        self.listed.move_to(self._now.column)

    def action_next(self) -> None:
        """Go on to the next column, from the last to the first."""
        names = self._names
        self.listed.move_to(names[(names.index(self.listed.cursor_id or names[0]) + 1) % len(names)])


def _row(column: Column, now: Order) -> Row:
    told = "attention first, the list's own order" if column.name == ATTENTION else ""
    if column.name == now.column:
        told = f"in force {now.arrow}{' · attention first' if now == OWN else ''}"
    return Row(column.name, (cell(column.title, "accent"), cell(told, "muted")))
