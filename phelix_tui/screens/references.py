"""What a session refers to: plans, operations, deployments, each with what is known of it; one that is there opens."""

from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from phelix_core.commands.session import ShownSession
from phelix_core.sessions.references import MISSING, PRESENT
from phelix_core.text import SafeStr
from phelix_core.views.shown import shown
from phelix_core.views.story import REFERENCE_LOOKS, Reference, references
from phelix_tui.screens.dialog import Dialog
from phelix_tui.widgets.pages import Bar, cell
from phelix_tui.widgets.rowlist import Cell, Column, Row, RowList

_COLUMNS: Final = (
    Column("state", SafeStr("STATE"), 13),
    Column("kind", SafeStr("WHAT"), 10),
    Column("id", SafeStr("ID"), 20, flex=True),
    Column("note", SafeStr("KNOWN OF IT"), 20, drop_order=1),
)
_TALLEST: Final = 16
_OPENABLE: Final = REFERENCE_LOOKS[PRESENT][1]


class ReferencesMenu(Dialog[Reference]):
    """Choose a reference; answers it, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("q", "leave", "Back", show=False, id="references.back")]

    def __init__(self, session: ShownSession) -> None:
        super().__init__()
        found = references(session.resolved) if session.resolved is not None else []
        self._session_id = session.session.session_id
        self._found = {f"{one.kind} {one.id}": one for one in found}

    def compose(self) -> ComposeResult:
        """Title, list, hint."""
        with Vertical(classes="dialog menu"):
            yield Bar(id="references-title", classes="dialog-title")
            yield RowList(_COLUMNS, id="references-list", placeholder=SafeStr("It refers to nothing."))
            yield Bar(id="references-hint", classes="dialog-hint")

    def on_mount(self) -> None:
        """Fill the list; what is not there is muted."""
        title = [cell(" What ", "bold"), Cell(shown(self._session_id)), cell(" refers to", "bold")]
        self.query_one("#references-title", Bar).show(title)
        hint = cell(" enter opens the plan, with its operation and its log")
        self.query_one("#references-hint", Bar).show([hint], [cell(" esc back ")], keeps="left")
        listed = self.query_one("#references-list", RowList)
        listed.styles.height = min(max(len(self._found), 1) + 1, _TALLEST)
        listed.set_rows([_row(row_id, one) for row_id, one in self._found.items()])
        listed.focus()

    def on_row_list_opened(self, message: RowList.Opened) -> None:
        """Enter or a click chooses it; one that is not there says so, and opens nothing."""
        message.stop()
        chosen = self._found[message.id]
        if chosen.word != _OPENABLE:
            self.notify(shown(_why_not(chosen)), severity="warning", markup=False)
        elif self.is_current:
            self.dismiss(chosen)


def _row(row_id: str, one: Reference) -> Row:
    role = "" if one.word == _OPENABLE else "muted"
    state = Cell(SafeStr(f"{one.glyph} {one.word}"), one.role)
    return Row(row_id, (state, cell(one.kind, role), Cell(shown(one.id), role), Cell(one.note, "muted")))


def _why_not(one: Reference) -> str:
    """Why there is nothing to open."""
    if one.word == REFERENCE_LOOKS[MISSING][1]:
        return f"The {one.kind} {one.id} was looked for, and is not there."
    if one.note:
        return f"The {one.kind} {one.id} cannot be opened: {one.note}."
    return f"The {one.kind} {one.id} is unknown: no operation tells of it."
