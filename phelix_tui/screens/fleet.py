"""Fleet, the home room: every session, attention first, with a preview of the one under the cursor.

What changed repaints at once; a new order waits while the cursor was moved within the last second, and
`R` applies it. The cursor belongs to an id and never moves by itself. Source: console page, sections 2
and 9.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.widgets import Input

from phelix_core.commands.session import ShownSession
from phelix_core.envelope import Envelope
from phelix_core.sessions.summary import SessionSummary
from phelix_core.text import SafeStr, visible
from phelix_core.views.rows import Found, SessionRow
from phelix_core.views.shown import shown
from phelix_tui.actions import SessionTarget
from phelix_tui.arrangement import Arrangement, Patch, subjects_of
from phelix_tui.desk import Desk
from phelix_tui.form import Entry
from phelix_tui.lookup import Lookup
from phelix_tui.messages import LookupFailed, LookupFinished, LookupTookLong
from phelix_tui.screens.drawing import failure_lines, last_read_lines, preview_lines, state_cell
from phelix_tui.screens.first_steps import FIRST_COMMAND, looking_command, unreadable_lines
from phelix_tui.screens.marking import MarkingRoom
from phelix_tui.screens.queue_drawing import session_lease_lines
from phelix_tui.screens.room import state_cells
from phelix_tui.widgets.pages import Bar, TextPage, cell
from phelix_tui.widgets.rowlist import Cell, Column, Row, RowList
from phelix_tui.wrapping import TextLine, line

if TYPE_CHECKING:
    from phelix_core.views.filter import Completion, Filterable, FilterError

_COLUMNS = (
    Column("state", SafeStr("STATUS"), 12),
    Column("session", SafeStr("SESSION"), 9),
    Column("title", SafeStr("TITLE"), 20, flex=True),
    Column("app", SafeStr("APP"), 11, drop_order=1),
    Column("step", SafeStr("STEP"), 13, drop_order=2),
    Column("age", SafeStr("AGE"), 5, align="right"),
    Column("seen", SafeStr("SEEN"), 5, drop_order=4, align="right"),
    Column("refs", SafeStr("REFS"), 4, drop_order=3, align="right"),
)
_OFFER_PAUSE_S = 0.1
_MOST_OFFERS = 12


class FleetRoom(MarkingRoom):
    """The list and its preview."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "find", "Find", id="fleet.find"),
        Binding("v", "app.views", "Saved views", id="fleet.views"),
        Binding("o", "open_references", "What it refers to", id="fleet.references"),
        Binding("escape", "clear_filter", "Clear the filter", show=False, id="fleet.clear"),
        Binding("R", "apply_waiting", "Apply waiting rows", show=False, id="fleet.apply-waiting"),
        Binding("tab", "other_pane", "List or preview", show=False, id="fleet.pane"),
        Binding("q", "app.quit", "Quit", id="fleet.quit"),
    ]

    ABOUT = "session"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._drawn: dict[str, tuple[SessionRow, Row]] = {}
        self._waiting = 0
        self._loaded = False
        self._failure: SafeStr | None = None
        self._read: ShownSession | Envelope | None = None
        self._preview_of: str | None = None
        self._last_good: ShownSession | None = None
        self._wrong: FilterError | None = None
        self._lookup = Lookup(desk, self.post_message)
        self._looking = False
        self._not_looked_up: SafeStr | None = None

    def content(self) -> ComposeResult:
        """List, preview, filter, state line."""
        yield Bar(id="frozen", classes="-nothing")
        with Container(id="body"):
            yield RowList(_COLUMNS, id="fleet", placeholder=SafeStr("Reading the records…"))
            yield TextPage(id="preview")
        yield Entry(id="filter", placeholder="billing is:stale age>2h -status=failed /regex/", select_on_focus=False)
        yield Bar(id="offers")
        yield Bar(id="state", classes="-nothing")

    def on_mount(self) -> None:
        """The list has the focus."""
        fleet = self.listed
        fleet.focus()
        self.watch(fleet, "scroll_y", self._scrolled, init=False)
        self.run_worker(self._lookup.run(), group="lookup", exit_on_error=False)
        self._tell()

    @property
    def listed(self) -> RowList:
        """The sessions."""
        return self.query_one("#fleet", RowList)

    @property
    def live(self) -> Arrangement:
        """What is known now."""
        return self.desk.arrangement

    @property
    def arrangement(self) -> Arrangement:
        """What is listed."""
        return self.still if isinstance(self.still, Arrangement) else self.live

    def selected_id(self) -> str | None:
        """The session under the cursor."""
        return self.listed.cursor_id

    def filter_in_force(self) -> str:
        """The filter that the rows match."""
        return self.arrangement.wanted

    def is_there(self, row_id: str) -> bool:
        """Whether the record is still known."""
        return row_id in self.arrangement

    def target_of(self, row_id: str) -> SessionTarget | None:
        """The session, as it is on the screen."""
        found = self.arrangement.found(row_id)
        return None if found is None else SessionTarget(row_id, found)

    def count_cells(self) -> list[Cell]:
        """How many of each state, of what is listed."""
        return super().count_cells() if self.still is None else state_cells(self.arrangement.summary())

    # What comes in

    def loaded(self) -> None:
        """The records could be read, whatever screen is in front; the cursor starts at the top."""
        first, self._loaded, self._failure = not self._loaded, True, None
        if first and not self.was_moved:
            self.call_after_refresh(self.listed.action_cursor_to_start)

    def records_changed(self, changes: Mapping[str, Found | None] | None, patch: Patch) -> None:
        """Repaint what changed; bring in the new order, or let it wait."""
        if self.is_frozen:
            self.withhold(None if changes is None else {*changes, *(row.session_id for row in patch.rows)})
            self._lookup.changed()
            return
        if changes is None:
            self.keep_order()
            self.unmark_gone()
        elif gone := [session_id for session_id, found in changes.items() if found is None]:
            self.listed.patch([self._line_of(session_id) for session_id in gone])
            self.unmark_gone(gone)
        self._take(patch)
        self._lookup.changed()
        selected = self.selected_id()
        if changes is None or selected in changes:
            self.ask_preview()

    def time_passed(self) -> None:
        """Age the rows on the screen; apply what has waited long enough."""
        patch = self.live.tick(self.desk.now_ms(), () if self.is_frozen else self.listed.visible_ids)
        if self.is_frozen:
            self.withhold([row.session_id for row in patch.rows])
            return
        self._take(patch)
        self._draw_preview()

    def plans_changed(self) -> None:
        """Count what waits; what the session under the cursor refers to may be another."""
        self._tell()
        if not self.is_frozen:
            self.ask_preview()

    def frozen(self) -> None:
        """Nothing waits any more: what comes is withheld."""
        self._waiting = 0
        self._tell()

    def thawed(self) -> None:
        """What was withheld comes in; marks go with records that have gone."""
        self.unmark_gone()
        super().thawed()
        self._lookup.changed()

    def _scrolled(self) -> None:
        """Rows that come into sight are as old as they are, not as old as they were."""
        if not self.is_frozen:
            self._take(self.live.tick(self.desk.now_ms(), self.listed.visible_ids))

    def reading_failed(self, code: str, reason: str) -> None:
        """Say that what is shown is old, and why; nothing is taken away."""
        self._failure = visible(f"{code}: {reason}")
        self._tell()

    def on_screen_resume(self) -> None:
        """Catch up with what happened while another screen was in front."""
        if self.is_frozen:
            self.withhold(None)
            self._tell()
            return
        self.keep_order()
        self.unmark_gone()
        self.reorder()
        self._lookup.changed()
        self.ask_preview()

    @on(LookupTookLong)
    def _looks_long(self) -> None:
        self._looking = True
        self._tell()

    @on(LookupFinished)
    def _looked_up(self, message: LookupFinished) -> None:
        """Show what a filter on references accepts; a new filter's rows at once, later ones as any new order."""
        arrangement = self.arrangement
        self._looking, self._not_looked_up = False, None
        was_pending = arrangement.filtering.is_pending
        if self.is_frozen and not was_pending:
            return  # asked for again once the list follows
        moved = arrangement.answer(message.answers)
        if not self.is_current:
            return  # drawn anew when this screen is in front again
        if was_pending and not arrangement.filtering.is_pending:
            self.reorder()
        else:
            self._take(Patch((), moved))

    @on(LookupFailed)
    def _lookup_failed(self, message: LookupFailed) -> None:
        """Say why the rows do not follow; nothing is taken away."""
        self._looking, self._not_looked_up = False, visible(f"{message.code}: {message.reason}")
        self._tell()

    def _take(self, patch: Patch) -> None:
        fleet = self.listed
        fleet.patch([self._line(row) for row in patch.rows])
        self._waiting += patch.moved
        if self._waiting and not self.holds_order():
            self.reorder()
        self._tell()

    def reorder(self) -> None:
        """Bring the new order in."""
        super().reorder()
        self._waiting = 0
        self.listed.set_order(self.arrangement.order(), self._line_of)
        self._tell()

    def _line_of(self, session_id: str) -> Row:
        """The row of an id in the list; one that has gone since the list was ordered says so."""
        row = self.arrangement.row(session_id)
        if row is not None:
            return self._line(row)
        self._drawn.pop(session_id, None)
        gone = (cell("∅ gone", "muted"), cell(f"…{session_id[-8:]}", "muted"), cell("the record has gone", "muted"))
        return Row(session_id, gone + (cell(""),) * (len(_COLUMNS) - len(gone)))

    # How it looks

    def _line(self, row: SessionRow) -> Row:
        known = self._drawn.get(row.session_id)
        if known is not None and known[0] == row:
            return known[1]
        title = Cell(row.title or SafeStr("untitled"), "" if row.title else "muted")
        drawn = Row(
            row.session_id,
            (
                state_cell(row),
                Cell(SafeStr(f"…{row.session_id[-8:]}"), "muted"),
                title,
                Cell(row.app, "muted"),
                Cell(row.step),
                Cell(row.age, "muted"),
                Cell(row.seen, "stale" if row.state == "stale" else ""),
                Cell(row.references, "muted"),
            ),
        )
        self._drawn[row.session_id] = (row, drawn)
        return drawn

    def _tell(self) -> None:
        """Keep title, state line and the empty list's words true."""
        fleet, arrangement = self.listed, self.arrangement
        listed, known = fleet.row_count, len(arrangement)
        number = f"{listed:,}/{known:,}" if arrangement.wanted else f"{known:,}"
        counted = [*self.count_cells(), *self.plan_count_cells(), cell(f"{number} sessions ")]
        if not self._loaded:
            counted = [cell("sessions unknown " if self._failure else "reading… ")]
        self.query_one("#title", Bar).show(self.title_cells(), counted, keeps="right")
        left, right = self._state()
        self.show_state(left, right)
        fleet.placeholder = self._placeholder()
        preview = self.query_one("#preview", TextPage)
        if not listed:
            preview.show(self._what_to_do() if not known else [])
            self._preview_of = self._read = self._last_good = None

    def _state(self) -> tuple[list[Cell], list[Cell]]:
        arrangement = self.arrangement
        if self._failure is not None:
            return [cell(" ✗ What is shown is old. ", "bold error"), Cell(self._failure, "error")], self.told_marks()
        left: list[Cell] = []
        if self._wrong is not None:
            return self._told_wrong(self._wrong), self.told_marks()
        if arrangement.wanted:
            left = [cell(" / ", "accent"), Cell(shown(arrangement.wanted), "bold"), *self._told_matches()]
        if self._waiting:
            left.append(cell(f" ↕ {self._waiting:,} waiting · R applies", "warning"))
        left += self.order_cells()
        return left, self.told_marks()

    def _told_matches(self) -> list[Cell]:
        """How many rows match; not while they are those of the filter before, or else that they may be old."""
        arrangement = self.arrangement
        cells: list[Cell] = []
        if not arrangement.filtering.is_pending:
            matching = self.listed.row_count
            way_out = "" if self._waiting else " · esc clears"
            cells.append(cell(f"   {matching:,} of {len(arrangement):,} match{way_out}", "muted"))
        if self._not_looked_up is not None:
            told = cell("   ✗ References could not be looked up, the rows are as before. ", "error")
            cells += [told, Cell(self._not_looked_up, "error")]
        elif self._looking:
            cells.append(cell("   looking…", "muted"))
        return cells

    def _told_wrong(self, wrong: "FilterError") -> list[Cell]:
        """What was typed with the token at fault marked, and what is wrong with it; the rows are as before."""
        text = self.filter_entry.value
        hint = f" {wrong.hint}" if wrong.hint else ""
        told = Cell(shown(f"   {wrong.message}{hint}"), "error")
        if shown(text) != visible(text):
            return [cell(" ✗ ", "error"), Cell(shown(text), "muted"), told]
        return [
            cell(" ✗ ", "error"),
            Cell(visible(text[: wrong.start]), "muted"),
            Cell(visible(text[wrong.start : wrong.end] or "…"), "bold error"),
            Cell(visible(text[wrong.end :]), "muted"),
            told,
        ]

    def _placeholder(self) -> SafeStr:
        arrangement = self.arrangement
        if self._failure is not None:
            return SafeStr("The records could not be read. Looking again…")
        if not self._loaded:
            return SafeStr(f"Reading the records… {self.desk.progress()}")
        if not len(arrangement):
            return SafeStr("No sessions yet. y copies the command for one.")
        if arrangement.filtering.is_pending:
            return SafeStr("Looking up references…" if self._not_looked_up is None else "References are unknown.")
        return SafeStr(f"0 of {len(arrangement):,} match. esc clears the filter.")

    def what_to_copy(self) -> str | None:
        """The id; where there is nothing to see, the command to run next."""
        if self.selected_id() is not None or len(self.arrangement):
            return self.selected_id()
        if self._failure is not None:
            return looking_command(self.desk.env.settings.data_dir)
        return FIRST_COMMAND if self._loaded else None

    def _what_to_do(self) -> list[TextLine]:
        """What to run next where there is nothing to see, or nothing that can be read."""
        if self._failure is not None:
            return unreadable_lines(self._failure, self.desk.env.settings.data_dir)
        return self._first_steps() if self._loaded else []

    def _first_steps(self) -> list[TextLine]:
        """What to run next where there is nothing to see."""
        return [
            line(cell("There are no sessions here yet.", "bold")),
            line(),
            line(cell("An agent opens one with", "muted")),
            line(cell(f"  {FIRST_COMMAND}"), hang=4),
            line(cell("  y copies it", "accent")),
            line(),
            line(cell("To look at a fleet that moves, without touching anything of yours:", "muted")),
            line(cell("  phelix tui --demo"), hang=4),
            line(),
            line(cell("This screen shows new sessions as they appear.", "muted")),
        ]

    # The preview

    @on(RowList.CursorMoved)
    def _cursor_moved(self, message: RowList.CursorMoved) -> None:
        if message.lost is None:
            self.cursor_was_moved()
        self.ask_preview()

    @work(exclusive=True, group="preview", exit_on_error=False)
    async def load_preview(self) -> None:
        """Read the session under the cursor, unless the cursor has gone on meanwhile."""
        session_id = self.selected_id()
        if session_id is None or not self.query_one("#preview", TextPage).display:
            return
        read = await self.desk.show(session_id)
        if not self.is_mounted or self.selected_id() != session_id:
            return
        another, self._preview_of, self._read = self._preview_of != session_id, session_id, read
        if another or isinstance(read, ShownSession):
            self._last_good = read if isinstance(read, ShownSession) else None
        self._draw_preview(home=another)

    def _draw_preview(self, *, home: bool = False) -> None:
        """Draw what was read, as of now: ages and staleness change with no file changing."""
        if self._preview_of is None or self._read is None or self._preview_of != self.selected_id():
            return
        lines = self._ahead_lines()
        row = self.arrangement.row(self._preview_of)
        if isinstance(self._read, Envelope):
            lines = failure_lines(self._read.failure(), self.desk.file_of(self._preview_of))
            lines, row = (lines + last_read_lines() if self._last_good else lines), None
        if self._last_good is not None:
            leased = session_lease_lines(self.desk, self._preview_of)
            limit_ms = self.desk.env.settings.stale_after_ms
            lines += preview_lines(self._last_good, row, self.desk.now_ms(), limit_ms, leased)
        self.query_one("#preview", TextPage).show(lines, home=home)

    def _ahead_lines(self) -> list[TextLine]:
        """That the record beside a frozen list is newer than the list shows."""
        found, read = self.arrangement.found(self._preview_of or ""), self._last_good
        if self.still is None or read is None or not isinstance(found, SessionSummary):
            return []
        now, then = len(read.session.events), found.rev
        told = f"▲ Read just now, at rev {now}; the frozen list shows rev {then}."
        return [] if now == then else [line(cell(told, "warning"), hang=2), line()]

    # What the operator does

    @on(RowList.Opened)
    def _opened(self, message: RowList.Opened) -> None:
        self.app.call_later(self.app.run_action, f"open_session('{message.id}')")  # pyright: ignore[reportUnknownMemberType]

    @work(exclusive=True, group="prepare", exit_on_error=False)
    async def prepare_filter(self) -> None:
        """Make what filters look at while the first word is typed: a tenth of a second at a hundred thousand."""
        known = self.arrangement.known()
        subjects = await asyncio.to_thread(subjects_of, known)
        self.arrangement.lend(subjects, known)
        self._offer()

    @on(Input.Changed, "#filter")
    def _filter_changed(self) -> None:
        self.follow_typing(len(self.arrangement), self._apply_filter)

    def _apply_filter(self) -> None:
        """Take the filter typed; where the text is no filter, what was shown stays."""
        from phelix_core.views.filter import FilterError  # noqa: PLC0415 - a fleet that nobody filters starts without

        text = self.filter_entry.value
        try:
            self.arrangement.wanted = text.strip()
        except FilterError as error:
            self._wrong = error
            self._tell()
        else:
            self._wrong = self._not_looked_up = None
            self._looking = self._looking and self.arrangement.filtering.is_pending
            self._lookup.filtered()
            self.reorder()
        if text:
            self._offer()

    @work(exclusive=True, group="offer", exit_on_error=False)
    async def _offer(self) -> None:
        """Offer fields, then values with how many sessions each stands for."""
        await asyncio.sleep(_OFFER_PAUSE_S)
        entry = self.filter_entry
        text, cursor = entry.value, entry.cursor_position
        subjects = list(self.arrangement.subjects.values())
        offers = await asyncio.to_thread(self._offers_for, text, cursor, subjects)
        if self.is_mounted and entry.value == text:
            self.query_one("#offers", Bar).show(_offered(offers), [cell("tab takes the first ", "muted")])

    def _offers_for(self, text: str, cursor: int, subjects: "Sequence[Filterable]") -> "Sequence[Completion]":
        from phelix_core.views.filter import completions, counted  # noqa: PLC0415 - as above

        now_ms, limit_ms = self.desk.now_ms(), self.desk.env.settings.stale_after_ms
        marked = self.arrangement.marked

        def counts(field: str) -> "Mapping[str, int] | None":
            if field == "ref":
                return None  # rows hold how many references there are, not how they are
            return counted(subjects, field, now_ms, limit_ms, marked)

        return completions(text, cursor, counts)[:_MOST_OFFERS]

    def _take_offer(self) -> None:
        """Put the first offer for what is typed now where the cursor is."""
        entry = self.filter_entry
        text = entry.value
        offers = self._offers_for(text, entry.cursor_position, list(self.arrangement.subjects.values()))
        if offers:
            entry.value = f"{text[: offers[0].start]}{offers[0].text}{text[offers[0].end :]}"
            entry.cursor_position = offers[0].start + len(offers[0].text)

    def why_not_save(self) -> str | None:
        """Why there is no filter to save; None where there is one."""
        if self._wrong is not None:
            return "what is typed is no filter; correct it first"
        return None if self.arrangement.wanted else "no filter is in force; / sets one"

    def show_view(self, where: str) -> None:
        """Put a saved view's filter in force, as if it had been typed."""
        self.filter_entry.value = where

    def action_clear_filter(self) -> None:
        """Leave the filter and show everything."""
        self.filter_entry.value = ""
        self.close_filter()

    # Marks

    @on(RowList.MarksChanged)
    def _marks_changed(self, message: RowList.MarksChanged) -> None:
        """A filter that asks for marks follows at once; with the last mark, what had waited for it comes in."""
        if self.arrangement.mark(message.marks) or (self._waiting and not self.holds_order()):
            self.reorder()
        self._tell()

    def action_other_pane(self) -> None:
        """Go between list and preview; in the filter, take the first offer."""
        if self.filter_entry.has_focus:
            self._take_offer()
        else:
            super().action_other_pane()


def _offered(offers: "Sequence[Completion]") -> list[Cell]:
    """Offers in a line, each with its count."""
    cells = [cell(" ")]
    for offer in offers:
        cells += [Cell(visible(offer.label), "accent")]
        cells += [cell(f" {offer.count:,}  " if offer.count is not None else "  ", "muted")]
    return cells
