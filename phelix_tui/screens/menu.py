"""The action menu: every action on what is selected, each that cannot be done with the reason."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Key

from phelix_core.text import SafeStr, visible
from phelix_tui.actions import Action
from phelix_tui.screens.dialog import Dialog
from phelix_tui.widgets.pages import Bar, cell
from phelix_tui.widgets.rowlist import Cell, Column, Row, RowList

_COLUMNS = (
    Column("key", SafeStr("KEY"), 3),
    Column("verb", SafeStr("ACTION"), 14),
    Column("summary", SafeStr("WHAT IT DOES, OR WHY NOT NOW"), 20, flex=True),
)


class ActionMenu(Dialog[Action]):
    """Choose an action; answers it, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("q", "leave", "Back", show=False, id="menu.back")]

    def __init__(self, title: SafeStr, actions: Sequence[Action], reasons: Mapping[str, str | None]) -> None:
        super().__init__()
        self._title = title
        self._actions = {action.key: action for action in actions}
        self._reasons = reasons
        found = set(reasons.values())
        self._reason = found.pop() if len(found) == 1 else None

    def compose(self) -> ComposeResult:
        """Title, list, hint."""
        with Vertical(classes="dialog menu"):
            yield Bar(id="menu-title", classes="dialog-title")
            yield RowList(_COLUMNS, id="menu-list")
            yield Bar(id="menu-hint", classes="dialog-hint")

    def on_mount(self) -> None:
        """Fill the list; a disabled action is muted and says why."""
        self.query_one("#menu-title", Bar).show([cell(" Act on ", "bold"), Cell(self._title)])
        closing = " esc back "
        hint = cell(" press a key, or enter on a line") if self._reason is None else cell(f" {visible(self._reason)}")
        self.query_one("#menu-hint", Bar).show([hint], [cell(closing)], keeps="left")
        menu = self.query_one("#menu-list", RowList)
        menu.styles.height = len(self._actions) + 1
        menu.set_rows([self._row(action) for action in self._actions.values()])
        menu.focus()

    def _row(self, action: Action) -> Row:
        reason = self._reasons.get(action.key)
        role = "muted" if reason else ""
        told = visible(reason) if reason else SafeStr(action.summary)
        return Row(
            action.key,
            (
                Cell(SafeStr(action.key), role or "accent"),
                Cell(SafeStr(action.verb), role),
                Cell(told, role),
            ),
        )

    def on_key(self, event: Key) -> None:
        """An action's own key chooses it, before the list takes it for a movement."""
        if event.character in self._actions and self.is_current:
            event.stop()
            event.prevent_default()
            self._choose(event.character or "")

    def on_row_list_opened(self, message: RowList.Opened) -> None:
        """Enter or a click on a line chooses it."""
        message.stop()
        self._choose(message.id)

    def _choose(self, key: str) -> None:
        reason = self._reasons.get(key)
        if reason is not None:
            self.notify(visible(reason), severity="warning", markup=False)
        elif self.is_current:
            self.dismiss(self._actions[key])
