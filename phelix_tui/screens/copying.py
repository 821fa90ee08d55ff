"""The menu of what can be copied of what is selected; `y` once more takes the first."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Key

from phelix_core.text import SafeStr
from phelix_core.views.shown import shown
from phelix_tui.copies import Copyable
from phelix_tui.screens.dialog import Dialog
from phelix_tui.widgets.pages import Bar, cell
from phelix_tui.widgets.rowlist import Cell, Column, Row, RowList

_COLUMNS = (
    Column("key", SafeStr("KEY"), 3),
    Column("name", SafeStr("WHAT TO COPY"), 28),
    Column("told", SafeStr("WHICH IS"), 20, flex=True),
)


class CopyMenu(Dialog[Copyable]):
    """Choose what to copy; answers it, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "leave", "Back", show=False, id="copying.back"),
        Binding("y", "first", "Copy the first", show=False, id="copying.first"),
    ]

    def __init__(self, title: SafeStr, copies: Sequence[Copyable]) -> None:
        super().__init__()
        self._title = title
        self._copies = {one.key: one for one in copies}

    def compose(self) -> ComposeResult:
        """Title, list, hint."""
        with Vertical(classes="dialog menu"):
            yield Bar(id="copying-title", classes="dialog-title")
            yield RowList(_COLUMNS, id="copying-list")
            yield Bar(id="copying-hint", classes="dialog-hint")

    def on_mount(self) -> None:
        """Fill the list."""
        self.query_one("#copying-title", Bar).show([cell(" Copy of ", "bold"), Cell(self._title)])
        hint = cell(" y copies the first, a key or enter on a line copies that")
        self.query_one("#copying-hint", Bar).show([hint], [cell(" esc back ")])
        menu = self.query_one("#copying-list", RowList)
        menu.styles.height = len(self._copies) + 1
        menu.set_rows([_row(one) for one in self._copies.values()])
        menu.focus()

    def on_key(self, event: Key) -> None:
        """A line's own key chooses it."""
        if event.character in self._copies and self.is_current:
            event.stop()
            event.prevent_default()
            self.dismiss(self._copies[event.character])

    def on_row_list_opened(self, message: RowList.Opened) -> None:
        """Enter or a click on a line chooses it."""
        message.stop()
        if self.is_current:
            self.dismiss(self._copies[message.id])

    def action_first(self) -> None:
        """Copy what stands first."""
        if self.is_current:
            self.dismiss(next(iter(self._copies.values())))


def _row(one: Copyable) -> Row:
    return Row(one.key, (cell(one.key, "accent"), cell(one.name), Cell(shown(one.told), "muted")))
