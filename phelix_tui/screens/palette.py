"""The palette: type a few words, choose a room, an action, a saved view, a theme, or any session, issue or plan.

What cannot be done now is there too, muted, with its reason. The list belongs to the words that were typed: enter
waits until it does, so that nothing is chosen that has not been typed for.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input

from phelix_core.text import SafeStr, visible
from phelix_tui.desk import Desk
from phelix_tui.form import Entry
from phelix_tui.palette import MOST, Offer, RecordIndex, Subject, indexed, offers_for, shared
from phelix_tui.screens.dialog import Dialog
from phelix_tui.widgets.pages import Bar, cell
from phelix_tui.widgets.rowlist import Cell, Column, Row, RowList

_COLUMNS: Final = (
    Column("kind", SafeStr("WHAT"), 8),
    Column("title", SafeStr("NAME"), 24, flex=True),
    Column("about", SafeStr("ABOUT IT, OR WHY NOT NOW"), 30, drop_order=1),
    Column("key", SafeStr("KEY"), 6, drop_order=2, align="right"),
)


class Palette(Dialog[Offer]):
    """Choose an offer; answers it, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "go(1)", "Down", show=False, id="palette.down"),
        Binding("up", "go(-1)", "Up", show=False, id="palette.up"),
        Binding("pagedown", "go(8)", "Further down", show=False, id="palette.page-down"),
        Binding("pageup", "go(-8)", "Further up", show=False, id="palette.page-up"),
    ]

    def __init__(
        self, desk: Desk, doable: Sequence[Offer], record: Callable[[Subject], Offer | None], *, typed: str = ""
    ) -> None:
        super().__init__()
        self._desk = desk
        self._doable = list(doable)
        self._record = record
        self._typed = typed
        self._index: RecordIndex | None = None
        self._offers: dict[str, Offer] = {}
        self._told_for: str | None = None
        self._enter_waits = False

    def compose(self) -> ComposeResult:
        """Title, what is typed, what was found, hint."""
        with Vertical(classes="dialog palette"):
            yield Bar(id="palette-title", classes="dialog-title")
            yield Entry(
                self._typed, id="palette-typed", placeholder="a room, an action, an id, a title", select_on_focus=False
            )
            yield RowList(_COLUMNS, id="palette-list", placeholder=SafeStr("Nothing here is called that."))
            yield Bar(id="palette-hint", classes="dialog-hint")

    def on_mount(self) -> None:
        """What can be done is there at once, records as soon as they have been gone through."""
        self.query_one("#palette-title", Bar).show([cell(" Commands, sessions, issues, plans ", "bold")])
        self._listed.can_focus = False  # what is typed is always text
        entry = self.query_one("#palette-typed", Entry)
        entry.focus()
        entry.cursor_position = len(entry.value)
        self._show([])
        self._make_index()

    @property
    def _listed(self) -> RowList:
        return self.query_one("#palette-list", RowList)

    @property
    def is_settled(self) -> bool:
        """Whether the list is that of the words typed, records and all."""
        return self._told_for == self.query_one("#palette-typed", Entry).value

    def add(self, offers: Sequence[Offer]) -> None:
        """Offer more of what can be done here: what had to be read first."""
        self._doable += offers
        if self.is_mounted:
            self._search()

    @work(exclusive=True, group="index", exit_on_error=False)
    async def _make_index(self) -> None:
        made = indexed(self._desk)
        self._index = await asyncio.to_thread(made)
        if self.is_mounted:
            self._search()

    @on(Input.Changed, "#palette-typed")
    def _changed(self) -> None:
        self._search()

    @work(exclusive=True, group="search", exit_on_error=False)
    async def _search(self) -> None:
        """Find records for what is typed now, and show them with the rest."""
        typed, index = self.query_one("#palette-typed", Entry).value, self._index
        if index is None or not typed.strip():
            self._show([])
            self._told_for = typed if index is not None else None
        else:
            subjects = await asyncio.to_thread(index.find, typed, MOST)
            if not self.is_mounted or self.query_one("#palette-typed", Entry).value != typed:
                return
            self._show([offer for subject in subjects if (offer := self._record(subject)) is not None])
            self._told_for = typed
        if self._enter_waits and self._told_for is not None:
            self._enter_waits = False
            self._choose(self._listed.cursor_id)

    def _show(self, records: Sequence[Offer]) -> None:
        typed = self.query_one("#palette-typed", Entry).value
        before = list(self._offers)
        self._offers = {offer.id: offer for offer in shared(offers_for(self._doable, typed), records)}
        listed = self._listed
        listed.set_rows([_row(offer) for offer in self._offers.values()])
        if before != list(self._offers):
            listed.action_cursor_to_start()
        looking = "reading the records… " if self._index is None else ""
        hint = [cell(" ↑ ↓ choose · enter takes it", "muted")]
        self.query_one("#palette-hint", Bar).show(hint, [cell(f"{looking}esc back ", "muted")])

    def action_go(self, rows: int) -> None:
        """Move the cursor in the list, while the words keep the focus."""
        self._listed.action_cursor_by(rows)

    @on(Input.Submitted, "#palette-typed")
    def _submitted(self) -> None:
        if self.is_settled:
            self._choose(self._listed.cursor_id)
        else:
            self._enter_waits = True

    def on_row_list_opened(self, message: RowList.Opened) -> None:
        """A click on the line under the cursor chooses it."""
        message.stop()
        self._choose(message.id)

    def _choose(self, offer_id: str | None) -> None:
        offer = self._offers.get(offer_id or "")
        if offer is None or not self.is_current:
            return
        if offer.reason is not None:
            self.notify(visible(offer.reason), severity="warning", markup=False)
        else:
            self.dismiss(offer)


def _row(offer: Offer) -> Row:
    role = "muted" if offer.reason else ""
    about = visible(offer.reason) if offer.reason else offer.about
    cells = (
        cell(offer.kind, "muted"),
        Cell(offer.title, role),
        Cell(about, "muted"),
        cell(offer.key, role or "accent"),
    )
    return Row(offer.id, cells)
