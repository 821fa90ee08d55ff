"""The action menu: every action on what is selected, each that cannot be done with the reason."""

from collections.abc import Mapping, Sequence

from phelix_core.text import SafeStr, visible
from phelix_tui.actions import Action
from phelix_tui.screens.choosing import Menu
from phelix_tui.widgets.pages import cell
from phelix_tui.widgets.rowlist import Cell, Column, Row


class ActionMenu(Menu[Action]):
    """Choose an action; answers it, or None. A disabled one is muted and says why."""

    COLUMNS = (
        Column("key", SafeStr("KEY"), 3),
        Column("verb", SafeStr("ACTION"), 14),
        Column("summary", SafeStr("WHAT IT DOES, OR WHY NOT NOW"), 20, flex=True),
    )

    def __init__(self, title: SafeStr, actions: Sequence[Action], reasons: Mapping[str, str | None]) -> None:
        found = set(reasons.values())
        reason = found.pop() if len(found) == 1 else None
        super().__init__(
            [cell(" Act on ", "bold"), Cell(title)],
            cell(" press a key, or enter on a line") if reason is None else cell(f" {visible(reason)}"),
            [_row(action, reasons.get(action.key)) for action in actions],
            {action.key: action for action in actions},
            {action.key: action.key for action in actions},
        )
        self._reasons = reasons

    def choose(self, row_id: str) -> None:
        """Answer the action, if it can be done."""
        reason = self._reasons.get(row_id)
        if reason is not None:
            self.notify(visible(reason), severity="warning", markup=False)
        else:
            super().choose(row_id)


def _row(action: Action, reason: str | None) -> Row:
    role = "muted" if reason else ""
    told = visible(reason) if reason else SafeStr(action.summary)
    return Row(
        action.key,
        (Cell(SafeStr(action.key), role or "accent"), Cell(SafeStr(action.verb), role), Cell(told, role)),
    )
