"""What the rooms with a list and a preview share: when a new order may come in, the filter's line, the panes.

What changed repaints at once; a new order waits while the cursor was moved within the last second. The filter
follows the typing, of many rows once it pauses. Source: console page, sections 2 and 9.
"""

from collections.abc import Callable
from typing import Final

from textual import on
from textual.timer import Timer
from textual.widgets import Input

from phelix_tui.desk import Desk
from phelix_tui.screens.room import Room
from phelix_tui.widgets.pages import TextPage
from phelix_tui.widgets.rowlist import RowList

_STILL_S: Final = 1.0
_PREVIEW_PAUSE_S: Final = 0.06
_MANY: Final = 10_000
_TYPING_PAUSE_S: Final = 0.08
_REORDER_PAUSE_S: Final = 0.5
"""A new order of many rows takes some 20 ms: in a storm of changes it is made twice a second at most."""


class ListRoom(Room):
    """A list with a preview of the row under the cursor, and a filter."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._moved_at = self._reordered_at = float("-inf")
        self._typing: Timer | None = None

    @property
    def listed(self) -> RowList:
        """The list that is in front."""
        raise NotImplementedError

    def load_preview(self) -> object:
        """Read what is under the cursor, and draw it."""
        raise NotImplementedError

    def prepare_filter(self) -> object:
        """Make what filters look at while the first word is typed."""
        raise NotImplementedError

    def reorder(self) -> None:
        """Bring the new order in; a room adds which."""
        self._reordered_at = self.desk.env.clock.monotonic()

    def cursor_was_moved(self) -> None:
        """Somebody is moving about: a new order waits."""
        self._moved_at = self.desk.env.clock.monotonic()

    @property
    def was_moved(self) -> bool:
        """Whether anybody has moved about yet."""
        return self._moved_at != float("-inf")

    def is_order_held(self, rows: int) -> bool:
        """Whether a new order of so many rows must wait: somebody is moving about, or there was one just now."""
        now = self.desk.env.clock.monotonic()
        moving = now - self._moved_at < _STILL_S
        crowded = rows > _MANY and now - self._reordered_at < _REORDER_PAUSE_S
        return rows > 0 and (moving or crowded)

    # The preview

    def on_resize(self) -> None:
        """A preview that had no room may have some now."""
        self.ask_preview()

    def ask_preview(self) -> None:
        """Read what is under the cursor as soon as the cursor rests."""
        self.set_timer(_PREVIEW_PAUSE_S, self.load_preview)

    # The filter

    @property
    def filter_entry(self) -> Input:
        """Where the filter is typed."""
        return self.query_one("#filter", Input)

    def action_find(self) -> None:
        """Open the filter."""
        self.add_class("-filtering")
        self.filter_entry.display = True
        self.set_focus(self.filter_entry)  # at once: what is typed next is text
        self.prepare_filter()

    def follow_typing(self, rows: int, follow: Callable[[], None]) -> None:
        """Show what matches; of many rows once typing pauses, so that every key is echoed at once."""
        if self._typing is not None:
            self._typing.stop()
        if rows > _MANY:
            self._typing = self.set_timer(_TYPING_PAUSE_S, follow)
        else:
            follow()

    @on(Input.Submitted, "#filter")
    def close_filter(self) -> None:
        """Go back to the list; what was typed stays in force."""
        self.remove_class("-filtering")
        self.filter_entry.display = False
        self.listed.focus()

    # Keys

    def action_apply_waiting(self) -> None:
        """Bring the waiting order in."""
        self.reorder()

    def action_other_pane(self) -> None:
        """Go between list and preview."""
        preview = self.query_one("#preview", TextPage)
        (preview if self.listed.has_focus and preview.display else self.listed).focus()
