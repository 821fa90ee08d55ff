"""What the rooms with a list and a preview share: when a new order may come in, its column, the filter, the panes.

What changed repaints at once; a new order waits while the cursor was moved within the last second. The filter
follows the typing, of many rows once it pauses. A frozen list shows what there was when it was frozen, and counts
what has changed since; filter and order go on working on that. Source: console page, sections 2, 3 and 9.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, ClassVar, Final, Protocol, Self, cast

from textual import on, work
from textual.binding import Binding, BindingType
from textual.timer import Timer
from textual.widgets import Input

from phelix_core.commands.faults import unforeseen
from phelix_core.text import SafeStr, visible
from phelix_core.views.moments import span, time_of_day
from phelix_tui.arrangement import Arrangement
from phelix_tui.backlog import Backlog
from phelix_tui.desk import Desk
from phelix_tui.screens.room import Room
from phelix_tui.sorting import AT_ONCE, OWN, Order
from phelix_tui.widgets.pages import Bar, TextPage, cell
from phelix_tui.widgets.rowlist import Cell, Column, RowList

if TYPE_CHECKING:
    from phelix_tui.app import ConsoleApp
    from phelix_tui.exports import Source, Written

_STILL_S: Final = 1.0
_PREVIEW_PAUSE_S: Final = 0.06
_MANY: Final = 10_000
_TYPING_PAUSE_S: Final = 0.08
_EXPORT_TOLD_S: Final = 0.25
_REORDER_PAUSE_S: Final = 0.5
"""A new order of many rows takes some 20 ms: in a storm of changes it is made twice a second at most."""


class Listing(Protocol):
    """What a list's rows come from: all that is known, in an order, under a filter."""

    @property
    def order_by(self) -> Order:
        """The order in force."""
        ...

    def __len__(self) -> int:
        """How many there are."""
        ...

    def sort(self, order: Order) -> None:
        """Put all in an order here and now."""
        ...

    def copy(self) -> Self:
        """The same, to stand still while this one goes on."""
        ...

    def look_like(self, other: Self) -> None:
        """Show what another shows: its filter, its order."""
        ...

    def row_ids(self) -> Iterable[str]:
        """Ids of all that is known."""
        ...

    def differs(self, other: Self, row_id: str) -> bool:
        """Whether a row is another here than there."""
        ...


class ListRoom(Room):
    """A list with a preview of the row under the cursor, and a filter."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "sort", "Sort by a column", id="lists.sort"),
        Binding("S", "reverse", "Turn the order around", show=False, id="lists.reverse"),
        Binding("f", "freeze", "Freeze the list, or let changes in", id="lists.freeze"),
        Binding("E", "export", "Export what is listed", id="lists.export"),
    ]

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._moved_at = self._reordered_at = float("-inf")
        self._typing: Timer | None = None
        self.order = OWN
        """The order that is wanted; of many rows it is in force a moment later."""
        self._sorting: Order | None = None
        self.still: Listing | None = None
        """What a frozen list shows."""
        self._frozen_ms = 0
        self._withheld: set[str] = set()
        self._exporting: tuple[int, int] | None = None

    @property
    def listed(self) -> RowList:
        """The list that is in front."""
        raise NotImplementedError

    @property
    def main_list(self) -> RowList:
        """The list that can be sorted, frozen and exported."""
        return self.listed

    @property
    def live(self) -> Listing:
        """What is known now."""
        raise NotImplementedError

    @property
    def listing(self) -> Listing:
        """What is listed: what is known now, or was when the list was frozen."""
        return self.live if self.still is None else self.still

    def load_preview(self) -> object:
        """Read what is under the cursor, and draw it."""
        raise NotImplementedError

    def prepare_filter(self) -> object:
        """Make what filters look at while the first word is typed."""
        raise NotImplementedError

    def reorder(self) -> None:
        """Bring the new order in; a room adds which."""
        self._reordered_at = self.desk.env.clock.monotonic()
        self.mark_order()

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

    # The order

    @property
    def sortable(self) -> tuple[Column, ...]:
        """The columns that rows can be sorted by."""
        return self.main_list.columns

    def action_sort(self) -> None:
        """Choose the column to sort by."""
        from phelix_tui.screens.order import OrderMenu  # noqa: PLC0415 - as all dialogs

        def chosen(order: Order | None) -> None:
            if order is not None:
                self.sort_by(order)

        self.console.push_dialog(OrderMenu(self.sortable, self.order), chosen)

    def action_reverse(self) -> None:
        """Turn the order around."""
        self.sort_by(self.order.turned)

    @on(RowList.HeaderClicked)
    def _header_clicked(self, message: RowList.HeaderClicked) -> None:
        """A click on a column's title sorts by it, and then turns it around."""
        if message.row_list is self.main_list and message.column in {column.name for column in self.sortable}:
            self.sort_by(self.order.turned if message.column == self.order.column else Order(message.column))

    def sort_by(self, order: Order) -> None:
        """Sort by a column, of many rows in a thread; cursor and marks stay on their rows."""
        self.order, listing = order, self.listing
        if len(listing) > AT_ONCE and not order.is_own and isinstance(listing, (Arrangement, Backlog)):
            self.mark_order()
            self._sort_apart(order)
        else:
            listing.sort(order)
            self.reorder()

    @work(exclusive=True, group="sort", exit_on_error=False)
    async def _sort_apart(self, order: Order) -> None:
        self._sorting = order
        try:
            while isinstance(listing := self.listing, (Arrangement, Backlog)):
                places = await asyncio.to_thread(listing.sorter(order))
                if order != self.order or not self.is_mounted:
                    return
                if listing is self.listing and listing.take_places(places):
                    self.reorder()
                    return
        finally:
            self._sorting = None if self._sorting == order else self._sorting

    def keep_order(self) -> None:
        """Put what was read anew as a whole into the order that is wanted."""
        if self.order != self.listing.order_by and self._sorting is None:
            self.sort_by(self.order)

    def mark_order(self) -> None:
        """Say in the header which column is sorted by, and that it is still being done."""
        is_in_force = self.order == self.listing.order_by
        self.main_list.mark_sorted(self.order.column, self.order.arrow if is_in_force else "…")

    def order_cells(self) -> list[Cell]:
        """By what the list is sorted, where the header has no room to say so."""
        rows = self.main_list
        if self.order.is_own or rows.shows(self.order.column):
            return []
        title = next(column.title for column in self.sortable if column.name == self.order.column)
        return [cell(" sorted by ", "muted"), cell(f"{title}{self.order.arrow} ", "accent")]

    # Freezing

    @property
    def is_frozen(self) -> bool:
        """Whether nothing of the list changes."""
        return self.still is not None

    def action_freeze(self) -> None:
        """Freeze the list, or let in what was withheld."""
        if self.still is None and not len(self.live):
            self.notify("There is nothing to freeze yet.", severity="warning", markup=False)
        elif self.still is None:
            self.still, self._frozen_ms, self._withheld = self.live.copy(), self.desk.now_ms(), set()
            self.frozen()
        else:
            still, self.still = self.still, None
            self.live.look_like(still)
            self._withheld.clear()
            self.thawed()
            self.keep_order()
        self.tell_frozen()

    def now_ms(self) -> int:
        """As of when the list is drawn."""
        return self._frozen_ms if self.is_frozen else self.desk.now_ms()

    def frozen(self) -> None:
        """The list was frozen."""

    def thawed(self) -> None:
        """The list follows again: bring in what was withheld."""
        self.reorder()
        self.ask_preview()

    def withhold(self, row_ids: Iterable[str] | None) -> None:
        """Count what differs by now from what is listed, among some rows or all."""
        still, live = self.still, self.live
        if still is None:
            return
        for row_id in {*still.row_ids(), *live.row_ids()} if row_ids is None else row_ids:
            (self._withheld.add if live.differs(still, row_id) else self._withheld.discard)(row_id)
        self.tell_frozen()

    def tell_frozen(self) -> None:
        """Say since when the list is frozen, and how many rows have changed since; and how far an export is."""
        banner, right = self.query_one("#frozen", Bar), list[Cell]()
        left = [] if self._exporting is None else [cell(f" exporting… {_of(*self._exporting)}", "accent")]
        if self.is_frozen:
            ago = span(self.desk.now_ms() - self._frozen_ms)
            told = f" · {len(self._withheld):,} withheld · since {time_of_day(self._frozen_ms)} ({ago})"
            left = [cell(" FROZEN", "bold warning"), cell(told, "warning"), *left]
            right = [cell("f lets them in ", "muted")]
        banner.set_class(not left, "-nothing")
        banner.show(left, right, keeps="left")

    # Exporting

    def action_export(self) -> None:
        """Choose a form, and write what is listed into a new file."""
        from phelix_tui.exports import what_of  # noqa: PLC0415 - only who exports
        from phelix_tui.screens.exporting import ExportMenu  # noqa: PLC0415 - as all dialogs

        def chosen(form: str | None) -> None:
            if form is not None:
                self.call_after_refresh(self._export, form)  # a picture is of this screen, not of the menu

        if self._exporting is not None:
            self.notify("An export is being written already.", severity="warning", markup=False)
            return
        what = what_of(self.exportable)
        self.console.push_dialog(ExportMenu(SafeStr(f"{len(self.main_list.ids):,} {what}")), chosen)

    @property
    def exportable(self) -> "Source":
        """What is listed, as what exports are made of."""
        return cast("Source", self.listing)

    @work(group="export", exit_on_error=False)
    async def _export(self, form: str) -> None:
        from phelix_tui import exports  # noqa: PLC0415 - only who exports

        row_ids, now_ms = self.main_list.ids, self.desk.now_ms()
        name, folder = (
            exports.file_name(exports.what_of(self.exportable), now_ms, form),
            exports.place_for(self.desk.env.settings.data_dir),
        )
        if isinstance(folder, exports.Written):
            self._tell_export(folder)
            return
        self._exporting = (0, len(row_ids))
        if form == exports.SVG:
            from phelix_tui.starting import as_svg  # noqa: PLC0415 - it stands above the application

            svg = as_svg(self.console)
            writing = asyncio.to_thread(lambda: exports.write_new(folder, name, exports.redacted_picture(svg)))
        else:
            source = self.exportable.copy()
            writing = asyncio.to_thread(
                lambda: exports.write_new(
                    folder, name, exports.text_of(source, row_ids, form, self.now_ms(), self._export_goes_on)
                )
            )
        try:
            task = asyncio.ensure_future(writing)
            while not (await asyncio.wait({task}, timeout=_EXPORT_TOLD_S))[0]:
                self.tell_frozen()
            self._tell_export(task.result())
        except Exception as error:  # noqa: BLE001 - a worker's edge: an unforeseen fault is told, not lost
            told = unforeseen(error)
            self._tell_export(exports.Written(visible(f"{told.code}: {told.message}"), ok=False))
        finally:
            self._exporting = None
            self.tell_frozen()

    def _export_goes_on(self, done: int, of: int) -> None:
        """Remember how far it is; told from the thread that writes."""
        self._exporting = (done, of)

    def _tell_export(self, written: "Written") -> None:
        told = f"Exported to {written.told}" if written.ok else written.told
        self.notify(told, severity="information" if written.ok else "error", markup=False)

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

    @property
    def console(self) -> "ConsoleApp":
        """The application."""
        return cast("ConsoleApp", self.app)  # pyright: ignore[reportUnknownMemberType] - App[Unknown]

    def action_apply_waiting(self) -> None:
        """Bring the waiting order in."""
        self.reorder()

    def action_other_pane(self) -> None:
        """Go between list and preview."""
        preview = self.query_one("#preview", TextPage)
        (preview if self.listed.has_focus and preview.display else self.listed).focus()


def _of(done: int, of: int) -> str:
    return f"{done:,} of {of:,} "
