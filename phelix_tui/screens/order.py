"""The menu of the columns that a list can be sorted by; the one in force once more turns its order around."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from phelix_core.text import SafeStr
from phelix_tui.screens.dialog import Dialog
from phelix_tui.sorting import ATTENTION, OWN, Order
from phelix_tui.widgets.pages import Bar, cell
from phelix_tui.widgets.rowlist import Column, Row, RowList

_COLUMNS = (
    Column("column", SafeStr("COLUMN"), 20),
    Column("told", SafeStr("NOW"), 20, flex=True),
)


class OrderMenu(Dialog[Order]):
    """Choose a column; answers the order, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "leave", "Back", show=False, id="order.back"),
        Binding("s", "next", "The next column", show=False, id="order.next"),
    ]

    def __init__(self, columns: Sequence[Column], now: Order) -> None:
        super().__init__()
        self._sortable = columns
        self._now = now

    def compose(self) -> ComposeResult:
        """Title, list, hint."""
        with Vertical(classes="dialog menu"):
            yield Bar(id="order-title", classes="dialog-title")
            yield RowList(_COLUMNS, id="order-list")
            yield Bar(id="order-hint", classes="dialog-hint")

    def on_mount(self) -> None:
        """Start at the column in force."""
        self.query_one("#order-title", Bar).show([cell(" Sort by", "bold")])
        hint = [cell(" enter chooses · the column in force turns around")]
        self.query_one("#order-hint", Bar).show(hint, [cell(" esc back ")], keeps="left")
        menu = self.query_one("#order-list", RowList)
        menu.styles.height = len(self._sortable) + 1
        menu.set_rows([self._row(column) for column in self._sortable])
        menu.move_to(self._now.column)
        menu.focus()

    def _row(self, column: Column) -> Row:
        told = "attention first, the list's own order" if column.name == ATTENTION else ""
        if column.name == self._now.column:
            told = f"in force {self._now.arrow}{' · attention first' if self._now == OWN else ''}"
        return Row(column.name, (cell(column.title, "accent"), cell(told, "muted")))

    def action_next(self) -> None:
        """Go on to the next column, from the last to the first."""
        menu = self.query_one("#order-list", RowList)
        names = [column.name for column in self._sortable]
        menu.move_to(names[(names.index(menu.cursor_id or names[0]) + 1) % len(names)])

    def on_row_list_opened(self, message: RowList.Opened) -> None:
        """Enter or a click on a line chooses it."""
        message.stop()
        if self.is_current:
            self.dismiss(self._now.turned if message.id == self._now.column else Order(message.id))
