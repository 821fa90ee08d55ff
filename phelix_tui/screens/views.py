"""The menu of saved views: each with how many sessions it shows now, bad files with their reason.

Counts that only a look at references can tell come after the others.

Views are read when the menu opens, and again nowhere: what is chosen is put in force as text. Saving and
removing go the way of every write, through a confirmation.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar, Final

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Key

from phelix_core.commands.saved_views import UnusableView, ViewList
from phelix_core.envelope import Envelope
from phelix_core.frozen import frozen_in_order
from phelix_core.saved_views.model import SUFFIX, SavedView
from phelix_core.text import SafeStr, visible
from phelix_core.views.rows import Found
from phelix_core.views.shown import shown
from phelix_tui.arrangement import subjects_of
from phelix_tui.desk import Desk
from phelix_tui.screens.dialog import Dialog
from phelix_tui.screens.drawing import failure_words
from phelix_tui.view_actions import REMOVE_VIEW, SAVE_VIEW
from phelix_tui.widgets.pages import Bar, cell
from phelix_tui.widgets.rowlist import Cell, Column, Row, RowList

if TYPE_CHECKING:
    from phelix_core.views.filter import Comparison, Filterable, Query

_COLUMNS: Final = (
    Column("key", SafeStr("KEY"), 3),
    Column("name", SafeStr("VIEW"), 18),
    Column("told", SafeStr("WHAT IT SHOWS, OR WHY IT CANNOT"), 20, flex=True),
    Column("count", SafeStr("NOW"), 7, align="right"),
)
_TALLEST: Final = 16
_DIGITS: Final = "123456789"
_VIEW, _BAD, _SAVE = "view", "bad", "save"
"""What kinds of lines there are: the first word of their ids."""


@frozen_in_order
class Show:
    """Put this view in force."""

    view: SavedView


@frozen_in_order
class Save:
    """Save the filter in force; `taken` are the names of views that are there."""

    where: str
    taken: frozenset[str]


@frozen_in_order
class Remove:
    """Remove the view of this name."""

    name: str


ViewChoice = Show | Save | Remove


class ViewsMenu(Dialog[ViewChoice]):
    """Choose a view, or what to do with one; answers the choice, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "leave", "Back", show=False, id="views.back"),
        Binding("s", "save", "Save the current filter", show=False, id="views.save"),
        Binding("x", "remove", "Remove the view under the cursor", show=False, id="views.remove"),
    ]

    def __init__(self, desk: Desk, nothing_to_save: str | None) -> None:
        super().__init__()
        self._desk = desk
        self._why_not_save = desk.locked or nothing_to_save
        self._views: dict[str, SavedView] = {}
        self._bad: tuple[UnusableView, ...] = ()
        self._counts: dict[str, int] = {}
        self._failure: SafeStr | None = None
        self.settled = False
        """Whether views and counts have been read and drawn."""

    def compose(self) -> ComposeResult:
        """Title, list, hint."""
        with Vertical(classes="dialog menu"):
            yield Bar(id="views-title", classes="dialog-title")
            yield RowList(_COLUMNS, id="views-list", placeholder=SafeStr("Reading the views…"))
            yield Bar(id="views-hint", classes="dialog-hint")

    def on_mount(self) -> None:
        """Read the views; the list has the focus."""
        self.query_one("#views-title", Bar).show([cell(" Saved views ", "bold")], [cell(" esc back ")])
        hint = f" enter shows · s saves the filter · {REMOVE_VIEW.key} removes "
        self.query_one("#views-hint", Bar).show([cell(hint)])
        self.query_one("#views-list", RowList).focus()
        self._read()

    @work(exclusive=True, group="views", exit_on_error=False)
    async def _read(self) -> None:
        """Read the files, show them, then count what each shows now."""
        envelope = await self._desk.call("view list", {})
        if not self.is_mounted:
            return
        if isinstance(envelope.result, ViewList):
            self._views = {view.name: view for view in envelope.result.views}
            self._bad = envelope.result.unusable
        else:
            self._failure = failure_words(envelope.failure())
        self._draw()
        known = self._desk.arrangement.known()
        subjects, to_look_up = await asyncio.to_thread(self._count_plain, known)
        self._desk.arrangement.lend(subjects, known)
        if self.is_mounted:
            self._draw()
            await self._count_looked_up(to_look_up, subjects)
        self.settled = True

    def _count_plain(self, known: Mapping[str, Found]) -> "tuple[dict[str, Filterable], dict[str, Query]]":
        """Count what rows can tell; what filters look at, and the queries that ask for references, by view."""
        from phelix_core.views.filter import lookups, parse  # noqa: PLC0415 - as everywhere in the console

        subjects = subjects_of(known)
        to_look_up: dict[str, Query] = {}
        for view in self._views.values():
            query = parse(view.where)
            if lookups(query):
                to_look_up[view.name] = query
            else:
                self._count(view.name, query, subjects, {})
        return subjects, to_look_up

    async def _count_looked_up(self, queries: "Mapping[str, Query]", subjects: "Mapping[str, Filterable]") -> None:
        """Count the views on references one after the other; none is told where the core cannot say."""
        from phelix_core.views.filter import lookups  # noqa: PLC0415 - as above

        for name, query in queries.items():
            looked_up: dict[Comparison, frozenset[str]] = {}
            for term, where in lookups(query).items():
                found = await self._desk.matching(where)
                if not self.is_mounted:
                    return
                if isinstance(found, Envelope):
                    break
                looked_up[term] = found
            else:
                await asyncio.to_thread(self._count, name, query, subjects, looked_up)
                self._draw()

    def _count(
        self,
        name: str,
        query: "Query",
        subjects: "Mapping[str, Filterable]",
        looked_up: "Mapping[Comparison, frozenset[str]]",
    ) -> None:
        """Take down how many sessions a view shows, unless its patterns take long."""
        from phelix_core.views.filter import FilterTooSlow  # noqa: PLC0415 - as above

        now_ms, limit_ms = self._desk.now_ms(), self._desk.env.settings.stale_after_ms
        marked, clock = self._desk.arrangement.marked, self._desk.env.clock.monotonic
        accepts = query.predicate(now_ms, limit_ms, marked=marked, looked_up=looked_up, clock=clock)
        with suppress(FilterTooSlow):
            self._counts[name] = sum(map(accepts, subjects.values()))

    def _draw(self) -> None:
        menu = self.query_one("#views-list", RowList)
        rows = [self._view_row(place, view) for place, view in enumerate(self._views.values())]
        rows += [_bad_row(place, bad) for place, bad in enumerate(self._bad)]
        if self._failure is not None:
            rows.append(Row("failure", (cell(""), cell("✗ cannot read", "error"), Cell(self._failure), cell(""))))
        menu.set_rows([*rows, self._save_row()])
        menu.styles.height = min(menu.row_count + 1, _TALLEST)

    def _view_row(self, place: int, view: SavedView) -> Row:
        count = self._counts.get(view.name)
        told = Cell(shown(view.title or view.where))
        key = cell(_DIGITS[place : place + 1], "accent")
        return Row(f"{_VIEW} {view.name}", (key, cell(view.name), told, cell("" if count is None else f"{count:,}")))

    def _save_row(self) -> Row:
        reason = self._why_not_save
        role = "muted" if reason else ""
        told = Cell(visible(reason)) if reason else Cell(shown(self._desk.arrangement.wanted))
        name = cell("save filter…", role)
        return Row(_SAVE, (cell(SAVE_VIEW.key, role or "accent"), name, told._replace(role=role), cell("")))

    def on_key(self, event: Key) -> None:
        """A digit shows its view."""
        place = _DIGITS.find(event.character or " ")
        if 0 <= place < len(self._views) and self.is_current:
            event.stop()
            event.prevent_default()
            self.dismiss(Show(list(self._views.values())[place]))

    def on_row_list_opened(self, message: RowList.Opened) -> None:
        """Enter or a click on a line chooses it; a bad one says why it cannot be."""
        message.stop()
        kind, _, name = message.id.partition(" ")
        if kind == _SAVE:
            self.action_save()
        elif kind == _VIEW and self.is_current:
            self.dismiss(Show(self._views[name]))
        elif kind == _BAD:
            bad = self._bad[int(name)]
            self.notify(f"{shown(bad.file)}: {shown(bad.reason)}", severity="warning", markup=False)

    def action_save(self) -> None:
        """Save the filter in force, where there is one and it may be written."""
        if self._why_not_save is not None:
            self.notify(self._why_not_save, severity="warning", markup=False)
        elif self.is_current:
            taken = {*self._views, *(bad.file.removesuffix(SUFFIX) for bad in self._bad)}
            self.dismiss(Save(self._desk.arrangement.wanted, frozenset(taken)))

    def action_remove(self) -> None:
        """Remove the view under the cursor."""
        kind, _, name = (self.query_one("#views-list", RowList).cursor_id or "").partition(" ")
        if kind != _VIEW:
            self.notify("no view is under the cursor", severity="warning", markup=False)
        elif self._desk.locked is not None:
            self.notify(self._desk.locked, severity="warning", markup=False)
        elif self.is_current:
            self.dismiss(Remove(name))


def _bad_row(place: int, bad: UnusableView) -> Row:
    """A file that is no view: muted, its name and the reason."""
    cells = (
        cell("✗", "error"),
        Cell(shown(bad.file.removesuffix(SUFFIX)), "muted"),
        Cell(shown(bad.reason), "muted"),
        cell(""),
    )
    return Row(f"{_BAD} {place}", cells)
