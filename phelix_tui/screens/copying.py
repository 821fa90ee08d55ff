"""The menu of what can be copied of what is selected; `y` once more takes the first."""

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from phelix_core.text import SafeStr
from phelix_core.views.shown import shown
from phelix_tui.copies import Copyable
from phelix_tui.screens.choosing import Menu
from phelix_tui.widgets.pages import cell
from phelix_tui.widgets.rowlist import Cell, Column, Row


class CopyMenu(Menu[Copyable]):
    """Choose what to copy; answers it, or None."""

    NAME = "copying"
    COLUMNS = (
        Column("key", SafeStr("KEY"), 3),
        Column("name", SafeStr("WHAT TO COPY"), 28),
        Column("told", SafeStr("WHICH IS"), 20, flex=True),
    )
    BINDINGS: ClassVar[list[BindingType]] = [Binding("y", "first", "Copy the first", show=False, id="copying.first")]

    def __init__(self, title: SafeStr, copies: Sequence[Copyable]) -> None:
        super().__init__(
            [cell(" Copy of ", "bold"), Cell(title)],
            cell(" y copies the first, a key or enter on a line copies that"),
            [_row(one) for one in copies],
            {one.key: one for one in copies},
            {one.key: one.key for one in copies},
        )
        self._first = copies[0].key

    def action_first(self) -> None:
        """Copy what stands first."""
        self.choose(self._first)


def _row(one: Copyable) -> Row:
    return Row(one.key, (cell(one.key, "accent"), cell(one.name), Cell(shown(one.told), "muted")))
