"""The menu of the forms that a list can be exported in."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Key

from phelix_core.text import SafeStr
from phelix_tui.exports import FORMS_TOLD
from phelix_tui.screens.dialog import Dialog
from phelix_tui.widgets.pages import Bar, cell
from phelix_tui.widgets.rowlist import Cell, Column, Row, RowList

_COLUMNS = (
    Column("key", SafeStr("KEY"), 3),
    Column("form", SafeStr("FORM"), 10),
    Column("told", SafeStr("WHAT IT IS"), 20, flex=True),
)


class ExportMenu(Dialog[str]):
    """Choose a form; answers how its files end, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("q", "leave", "Back", show=False, id="exporting.back")]

    def __init__(self, what: SafeStr) -> None:
        super().__init__()
        self._what = what
        self._by_key = {key: form for form, (key, _, _) in FORMS_TOLD.items()}

    def compose(self) -> ComposeResult:
        """Title, list, hint."""
        with Vertical(classes="dialog menu"):
            yield Bar(id="exporting-title", classes="dialog-title")
            yield RowList(_COLUMNS, id="exporting-list")
            yield Bar(id="exporting-hint", classes="dialog-hint")

    def on_mount(self) -> None:
        """Fill the list."""
        self.query_one("#exporting-title", Bar).show([cell(" Export ", "bold"), Cell(self._what)])
        hint = cell(" into a new file, where the console was started")
        self.query_one("#exporting-hint", Bar).show([hint], [cell(" esc back ")], keeps="left")
        menu = self.query_one("#exporting-list", RowList)
        menu.styles.height = len(FORMS_TOLD) + 1
        menu.set_rows(
            [
                Row(form, (cell(key, "accent"), cell(name), cell(told, "muted")))
                for form, (key, name, told) in FORMS_TOLD.items()
            ]
        )
        menu.focus()

    def on_key(self, event: Key) -> None:
        """A form's own key chooses it, before the list takes it for a movement."""
        form = self._by_key.get(event.character or "")
        if form is not None and self.is_current:
            event.stop()
            event.prevent_default()
            self.dismiss(form)

    def on_row_list_opened(self, message: RowList.Opened) -> None:
        """Enter or a click on a line chooses it."""
        message.stop()
        if self.is_current:
            self.dismiss(message.id)
