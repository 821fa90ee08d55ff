"""What the small menus share: a list with a title above and a hint below, and the ways to choose a line."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, Final, Generic

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Key

from phelix_core.text import SafeStr
from phelix_tui.screens.dialog import Answer, Dialog
from phelix_tui.widgets.pages import Bar, cell
from phelix_tui.widgets.rowlist import Cell, Column, Row, RowList

_TALLEST: Final = 16
_NO_KEYS: Final[Mapping[str, str]] = MappingProxyType({})


class Menu(Dialog[Answer], Generic[Answer]):
    """Choose a line by enter, by a click, or by its own key; answers what stands behind it, or None."""

    NAME: ClassVar = "menu"
    """What the ids of its parts begin with."""
    COLUMNS: ClassVar[Sequence[Column]] = ()
    EMPTY: ClassVar = SafeStr("")
    """What is told where there are no lines."""
    BINDINGS: ClassVar[list[BindingType]] = [Binding("q", "leave", "Back", show=False, id="menu.back")]

    def __init__(
        self,
        title: Sequence[Cell],
        hint: Cell,
        rows: Sequence[Row],
        answers: Mapping[str, Answer],
        keys: Mapping[str, str] = _NO_KEYS,
    ) -> None:
        super().__init__()
        self._title = title
        self._hint = hint
        self._rows = rows
        self._answers = answers
        self._keys = keys

    def compose(self) -> ComposeResult:
        """Title, list, hint."""
        with Vertical(classes="dialog menu"):
            yield Bar(id=f"{self.NAME}-title", classes="dialog-title")
            yield RowList(self.COLUMNS, id=f"{self.NAME}-list", placeholder=self.EMPTY)
            yield Bar(id=f"{self.NAME}-hint", classes="dialog-hint")

    def on_mount(self) -> None:
        """Fill the list, which has the focus."""
        self.query_one(f"#{self.NAME}-title", Bar).show(self._title)
        self.query_one(f"#{self.NAME}-hint", Bar).show([self._hint], [cell(" esc back ")], keeps="left")
        listed = self.listed
        listed.styles.height = min(max(len(self._rows), 1) + 1, _TALLEST)
        listed.set_rows(self._rows)
        listed.focus()

    @property
    def listed(self) -> RowList:
        """The lines."""
        return self.query_one(f"#{self.NAME}-list", RowList)

    def on_key(self, event: Key) -> None:
        """A line's own key chooses it, before the list takes it for a movement."""
        row_id = self._keys.get(event.character or "")
        if row_id is not None and self.is_current:
            event.stop()
            event.prevent_default()
            self.choose(row_id)

    def on_row_list_opened(self, message: RowList.Opened) -> None:
        """Enter or a click on a line chooses it."""
        message.stop()
        self.choose(message.id)

    def choose(self, row_id: str) -> None:
        """Answer what stands behind a line; a menu may refuse to."""
        if self.is_current:
            self.dismiss(self._answers[row_id])
