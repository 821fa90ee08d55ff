"""What a session refers to: plans, operations, deployments, each with what is known of it; one that is there opens."""

from typing import Final

from phelix_core.commands.session import ShownSession
from phelix_core.sessions.references import MISSING, PRESENT
from phelix_core.text import SafeStr
from phelix_core.views.shown import shown
from phelix_core.views.story import REFERENCE_LOOKS, Reference, references
from phelix_tui.screens.choosing import Menu
from phelix_tui.widgets.pages import cell
from phelix_tui.widgets.rowlist import Cell, Column, Row

_OPENABLE: Final = REFERENCE_LOOKS[PRESENT][1]


class ReferencesMenu(Menu[Reference]):
    """Choose a reference; answers it, or None."""

    NAME = "references"
    COLUMNS = (
        Column("state", SafeStr("STATE"), 13),
        Column("kind", SafeStr("WHAT"), 10),
        Column("id", SafeStr("ID"), 20, flex=True),
        Column("note", SafeStr("KNOWN OF IT"), 20, drop_order=1),
    )
    EMPTY = SafeStr("It refers to nothing.")

    def __init__(self, session: ShownSession) -> None:
        listed = references(session.resolved) if session.resolved is not None else []
        found = {f"{one.kind} {one.id}": one for one in listed}
        super().__init__(
            [cell(" What ", "bold"), Cell(shown(session.session.session_id)), cell(" refers to", "bold")],
            cell(" enter opens the plan, with its operation and its log"),
            [_row(row_id, one) for row_id, one in found.items()],
            found,
        )
        self._found = found

    def choose(self, row_id: str) -> None:
        """Answer it; one that is not there says so, and opens nothing."""
        chosen = self._found[row_id]
        if chosen.word != _OPENABLE:
            self.notify(shown(_why_not(chosen)), severity="warning", markup=False)
        else:
            super().choose(row_id)


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
