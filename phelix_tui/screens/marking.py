"""Lists whose rows can be marked, so that one action is about many: marks stay on ids, whatever a filter hides.

While rows are marked they stay where they are. A mark goes with its record. Source: console page, sections 3, 6 and 9;
public report derailed/k9s 3939.
"""

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import Binding, BindingType

from phelix_tui.actions import Target
from phelix_tui.bulk_actions import BulkTarget, One
from phelix_tui.screens.list_room import ListRoom
from phelix_tui.widgets.pages import cell
from phelix_tui.widgets.rowlist import MARK_GLYPH, Cell


class MarkingRoom(ListRoom):
    """A list with a preview and marks."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "mark", "Mark or unmark", show=False, id="lists.mark"),
        Binding("V", "mark_range", "Mark from the last mark to here", show=False, id="lists.mark-range"),
        Binding("U", "unmark", "Unmark all", show=False, id="lists.unmark"),
    ]

    def is_there(self, row_id: str) -> bool:
        """Whether what a row stands for is still known."""
        raise NotImplementedError

    def target_of(self, row_id: str) -> One | None:
        """What a row stands for, as it is on the screen."""
        raise NotImplementedError

    def target(self) -> Target | None:
        """What is marked, or else what is under the cursor, as it is on the screen."""
        row_id, rows = self.selected_id(), self.main_list
        if not rows.marks:
            return None if row_id is None else self.target_of(row_id)
        hidden = rows.hidden_marks
        ids = [*(one for one in rows.ids if one in rows.marks), *sorted(hidden)]
        targets = tuple(target for one in ids if (target := self.target_of(one)) is not None)
        if len(targets) > 1 or hidden:
            return BulkTarget(targets, hidden) if targets else None
        return targets[0] if targets else None

    def holds_order(self) -> bool:
        """Whether a new order must wait: somebody is moving about, or has marked rows."""
        rows = self.main_list
        return self.is_order_held(rows.row_count) or (rows.row_count > 0 and bool(rows.marks))

    def told_marks(self) -> list[Cell]:
        """How many rows are marked, and how many of them the list does not show."""
        rows = self.main_list
        if not rows.marks:
            return []
        hidden = f" ({rows.hidden_mark_count:,} hidden)" if rows.hidden_mark_count else ""
        return [cell(f" {MARK_GLYPH} {len(rows.marks):,} marked{hidden} ", "accent")]

    def unmark_gone(self, gone: Iterable[str] | None = None) -> None:
        """A mark goes with its record; `gone` names the records that have gone, where that is known."""
        rows = self.main_list
        if not rows.marks:
            return
        lost = [row_id for row_id in (rows.marks if gone is None else gone) if not self.is_there(row_id)]
        if any(row_id in rows.marks for row_id in lost):
            rows.marks = rows.marks.difference(lost)

    def action_mark(self) -> None:
        """Mark or unmark the row under the cursor; a preview that cannot scroll hands its space bar on to here."""
        rows = self.main_list
        if rows.has_focus and rows.cursor_id is not None and self.is_there(rows.cursor_id):
            rows.toggle_mark()

    def action_mark_range(self) -> None:
        """Mark the rows from the last one marked to the cursor."""
        if self.listed is self.main_list:
            self.main_list.mark_range()
            self.unmark_gone()

    def action_unmark(self) -> None:
        """Unmark all rows, hidden ones too."""
        self.main_list.marks = frozenset()
