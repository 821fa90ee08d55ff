"""Approvals, the room of plans: what waits for a person first, with what would run, on what, and what holds of it.

Where a plan stands is looked up by the core whenever something has changed; how long it waits is told every second
without a look. The end of a log is read for the plan under the cursor alone. Source: console page, Approvals.
"""

from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.widgets import Input

from phelix_core.arc.board import BadFile
from phelix_core.arc.operations import INDETERMINATE, Operation
from phelix_core.arc.standing import WAITING
from phelix_core.text import SafeStr
from phelix_core.views.arc.rows import STATES, PlanRow, may_print
from phelix_core.views.shown import shown
from phelix_tui.actions import Target
from phelix_tui.desk import Desk
from phelix_tui.form import Entry
from phelix_tui.log_tail import LogTail
from phelix_tui.plan_actions import PlanTarget
from phelix_tui.plan_board import PlanBoard
from phelix_tui.screens.list_room import ListRoom
from phelix_tui.screens.plan_drawing import plan_lines
from phelix_tui.widgets.pages import Bar, TextPage, cell
from phelix_tui.widgets.rowlist import Cell, Column, Row, RowList
from phelix_tui.wrapping import TextLine, line

_COLUMNS = (
    Column("state", SafeStr("STATE"), 15),
    Column("plan", SafeStr("PLAN"), 9),
    Column("action", SafeStr("ACTION"), 8, drop_order=2),
    Column("app", SafeStr("APP"), 8, flex=True),
    Column("version", SafeStr("VERSION"), 15, drop_order=3),
    Column("asked", SafeStr("ASKED BY"), 8, drop_order=1),
    Column("since", SafeStr("SINCE"), 5, align="right"),
)
_FIRST_COMMAND = "phelix plan create deploy APP --to VERSION"


class ApprovalsRoom(ListRoom):
    """The list of plans, and a preview."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "find", "Find", id="approvals.find"),
        Binding("escape", "clear_filter", "Clear the filter", show=False, id="approvals.clear"),
        Binding("R", "apply_waiting", "Apply waiting rows", show=False, id="approvals.apply-waiting"),
        Binding("tab", "other_pane", "List or preview", show=False, id="approvals.pane"),
        Binding("q", "app.home", "Back to Fleet", show=False, id="approvals.back"),
    ]
    ABOUT = "plan"
    NAME = "Approvals"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._preview_of: str | None = None
        self._tail: LogTail | None = None

    def content(self) -> ComposeResult:
        """Banner, list, preview, filter, state line."""
        yield Bar(id="frozen", classes="-nothing")
        yield Bar(id="banner")
        with Container(id="body"):
            yield RowList(_COLUMNS, id="plans", placeholder=SafeStr("Reading the plans…"))
            yield TextPage(id="preview")
        yield Entry(id="filter", placeholder="words: id, application, action, state, asker", select_on_focus=False)
        yield Bar(id="state", classes="-nothing")

    def on_mount(self) -> None:
        """The list has the focus."""
        self.listed.focus()
        self.watch(self.listed, "scroll_y", self.time_passed, init=False)
        self.reorder()

    def on_screen_resume(self) -> None:
        """Catch up with what happened while another screen was in front."""
        if self.is_frozen:
            self.withhold(None)
            return
        self.reorder()
        self._draw_preview()
        self.ask_preview()

    @property
    def listed(self) -> RowList:
        """The plans."""
        return self.query_one("#plans", RowList)

    @property
    def live(self) -> PlanBoard:
        """What is known now."""
        return self.desk.plans

    @property
    def plans(self) -> PlanBoard:
        """What is listed."""
        return self.still if isinstance(self.still, PlanBoard) else self.live

    def filter_in_force(self) -> str:
        """The words that the rows match."""
        return self.plans.wanted

    def selected_id(self) -> str | None:
        """What is under the cursor."""
        return self.listed.cursor_id

    def what_to_copy(self) -> str | None:
        """The id; where there is no plan, the command that makes one."""
        return self.selected_id() or (None if len(self.plans) else _FIRST_COMMAND)

    def target(self) -> Target | None:
        """That plan, as it is on the screen."""
        seen = self.plans.seen(self.selected_id())
        return None if seen is None else PlanTarget(seen)

    def hints(self) -> tuple[Cell, ...]:
        """The keys to know here."""
        return (cell(" a act · enter opens · / find · ? help ", "muted"),)

    # What comes in

    def plans_changed(self) -> None:
        """Repaint what changed; bring in the new order, or let it wait."""
        if self.is_frozen:
            self.withhold(None)
            return
        self._patch()
        if self.plans.moved and not self.is_order_held(self.listed.row_count):
            self.reorder()
        self._tell()
        self._draw_preview()
        self.ask_preview()

    def plans_failed(self) -> None:
        """Say that what is shown is old, and why; nothing that was read is taken away."""
        self._tell()

    def time_passed(self) -> None:
        """Age the rows on the screen; a log that grows is read on."""
        if self.is_frozen:
            self.tell_frozen()
            return
        self._patch()
        if self.plans.moved and not self.is_order_held(self.listed.row_count):
            self.reorder()
        self._draw_preview()
        seen = self.plans.seen(self.selected_id())
        if seen is not None and may_print(seen):
            self.load_preview()

    def _patch(self) -> None:
        now_ms = self.now_ms()
        rows = (self.plans.row(row_id, now_ms) for row_id in self.listed.visible_ids)
        self.listed.patch([_line(row) for row in rows if row is not None])

    def reorder(self) -> None:
        """Bring the new order in."""
        super().reorder()
        self.plans.moved = False
        self.listed.set_order(self.plans.order(), self._line_of)
        self._tell()

    def _line_of(self, row_id: str) -> Row:
        row = self.plans.row(row_id, self.now_ms())
        if row is not None:
            return _line(row)
        gone = (cell("∅ gone", "muted"), cell(f"…{row_id[-8:]}", "muted"))
        return Row(row_id, gone + (cell(""),) * (len(_COLUMNS) - len(gone)))

    # How it looks

    def _tell(self) -> None:
        """Keep title, banner, state line and the empty list's words true."""
        plans, listed = self.plans, self.listed
        number = f"{listed.row_count:,}/{len(plans):,}" if plans.wanted else f"{len(plans):,}"
        counted = [*plans.count_cells(WAITING, INDETERMINATE), cell(f"{number} plan{'' if len(plans) == 1 else 's'} ")]
        if not self.desk.plans_read:
            counted = [cell("plans unknown " if self.desk.plans_failure else "reading… ")]
        self.query_one("#title", Bar).show(self.title_cells(self.NAME), counted, keeps="right")
        self._tell_banner()
        self.show_state(self._state())
        listed.placeholder = self._placeholder()
        if not listed.row_count:
            self.query_one("#preview", TextPage).show(self._first_steps())
            self._preview_of = self._tail = None

    def _tell_banner(self) -> None:
        """A policy that cannot be used stops every execution, and no row says so."""
        policy, banner = self.plans.board.policy, self.query_one("#banner", Bar)
        banner.set_class(policy.reason is None, "-nothing")
        if policy.reason is not None:
            told = [
                cell(" ⚠ nothing executes ", "bold error"),
                Cell(shown(f"{policy.state}: {policy.reason}"), "error"),
            ]
            banner.show(told, keeps="left")

    def _state(self) -> list[Cell]:
        plans = self.plans
        if self.desk.plans_failure is not None:
            old = cell(" ✗ What is shown is old. ", "bold error") if len(plans) else cell(" ✗ ", "error")
            return [old, Cell(self.desk.plans_failure, "error")]
        left: list[Cell] = []
        if plans.wanted:
            told = f"   {self.listed.row_count:,} of {len(plans):,} match · esc clears"
            left = [cell(" / ", "accent"), Cell(shown(plans.wanted), "bold"), cell(told, "muted")]
        if plans.moved:
            left.append(cell(" ↕ a new order is waiting · R applies", "warning"))
        left += self.order_cells()
        if plans.board.left_out and not left:
            left.append(cell(f" {plans.board.left_out:,} older plans that have ended are not listed", "muted"))
        return left

    def _placeholder(self) -> SafeStr:
        if self.desk.plans_failure is not None:
            return SafeStr("The plans could not be read.")
        if not self.desk.plans_read:
            return SafeStr("Reading the plans…")
        if not len(self.plans):
            return SafeStr("No plans yet.")
        return SafeStr(f"0 of {len(self.plans):,} match. esc clears the filter.")

    def _first_steps(self) -> list[TextLine]:
        """What to run next where there is nothing to see."""
        if not self.desk.plans_read or len(self.plans) or self.desk.plans_failure is not None:
            return []
        return [
            line(cell("There are no plans here yet.", "bold")),
            line(),
            line(cell("An application is declared in apps/NAME/app.toml; a plan is made with", "muted")),
            line(cell(f"  {_FIRST_COMMAND}"), hang=4),
            line(),
            line(cell("y copies it. A plan that wants an approval appears here by itself.", "muted")),
        ]

    # The preview

    @on(RowList.CursorMoved, "#plans")
    def _cursor_moved(self, message: RowList.CursorMoved) -> None:
        if message.lost is None and message.id is not None and self._preview_of is not None:
            self.cursor_was_moved()
        self._draw_preview()
        self.ask_preview()

    def _operation(self) -> Operation | None:
        seen = self.plans.seen(self.selected_id())
        return None if seen is None or isinstance(seen, BadFile) else seen.operation

    @work(group="preview", exit_on_error=False)
    async def load_preview(self) -> None:
        """Read the end of the log of what is under the cursor, if it has one."""
        operation = self._operation()
        if operation is None or not self.query_one("#preview", TextPage).display:
            return
        if self._tail is None or self._tail.operation_id != operation.id:
            self._tail = LogTail(self.desk, operation.id)
        if await self._tail.look() and self.is_mounted:
            self._draw_preview()

    def _draw_preview(self) -> None:
        """Draw where it stands, as of now."""
        page, row_id = self.query_one("#preview", TextPage), self.selected_id()
        seen = self.plans.seen(row_id)
        if seen is None:
            return
        another, self._preview_of = self._preview_of != row_id, row_id
        operation = self._operation()
        tail = self._tail
        is_its = tail is not None and operation is not None and tail.operation_id == operation.id
        log = tail.lines if tail is not None and is_its else ()
        page.show(plan_lines(seen, self.now_ms(), log), home=another)

    # What the operator does

    @on(RowList.Opened, "#plans")
    def _opened(self, message: RowList.Opened) -> None:
        self.open_plan(message.id)

    def prepare_filter(self) -> None:
        """There is nothing to prepare: plans are few."""

    @on(Input.Changed, "#filter")
    def _filter_changed(self, event: Input.Changed) -> None:
        self.plans.wanted = event.value.strip()
        self.follow_typing(len(self.plans), self.reorder)

    def action_clear_filter(self) -> None:
        """Leave the filter and show every plan."""
        self.filter_entry.value = ""
        self.close_filter()


def _line(row: PlanRow) -> Row:
    looks = row.looks
    pressing = looks.rank <= STATES[INDETERMINATE].rank
    return Row(
        row.row_id,
        (
            Cell(SafeStr(f"{looks.glyph} {looks.word}"), looks.role),
            Cell(row.tail, "muted"),
            Cell(row.action),
            Cell(row.app, "unread" if row.state == "unreadable" else ""),
            Cell(row.version, "muted"),
            Cell(row.asked_by, "muted"),
            Cell(row.since, looks.role if pressing else "muted"),
        ),
    )
