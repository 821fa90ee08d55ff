"""Queue, the room of the work itself: every issue, attention first, with why it is stale beside it.

Countdowns and findings are derived every second from what was read, and only lines that look different are
painted. Under the list stand the milestones with their gates; `m` lists them instead of the issues. What
changed its place waits while the cursor was moved within the last second. Source: console page, sections 2,
5 and 9.
"""

import asyncio
from collections.abc import Collection, Sequence
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.widgets import Input

from phelix_core.envelope import Envelope
from phelix_core.text import SafeStr
from phelix_core.views.queue.milestones import MilestoneRow
from phelix_core.views.queue.rows import STATES, IssueRow, tail_of
from phelix_core.views.queue.story import IssueStory, issue_story
from phelix_core.views.shown import shown
from phelix_tui.actions import Target
from phelix_tui.backlog import Backlog
from phelix_tui.desk import Desk, issue_target
from phelix_tui.form import Entry
from phelix_tui.issue_actions import IssueTarget
from phelix_tui.screens.drawing import failure_words, heading, labelled, refused_lines
from phelix_tui.screens.marking import MarkingRoom
from phelix_tui.screens.queue_drawing import preview_lines
from phelix_tui.widgets.pages import Bar, TextPage, cell
from phelix_tui.widgets.rowlist import Cell, Column, Row, RowList
from phelix_tui.wrapping import TextLine, line

_COLUMNS = (
    Column("state", SafeStr("STATUS"), 16),
    Column("issue", SafeStr("ISSUE"), 7, drop_order=4),
    Column("task", SafeStr("TASK"), 14, flex=True),
    Column("priority", SafeStr("PRIO"), 8, drop_order=1),
    Column("milestone", SafeStr("MILESTONE"), 11, drop_order=2),
    Column("left", SafeStr("LEASE"), 8, align="right"),
    Column("about", SafeStr("HOLDER, WAITS FOR"), 18, drop_order=3),
)
_GATES = (
    Column("state", SafeStr("STATUS"), 16),
    Column("key", SafeStr("MILESTONE"), 14, flex=True),
    Column("done", SafeStr("DONE"), 9, align="right"),
    Column("gate", SafeStr("GATE"), 24),
)
_NAMED = 3
_MOST_MILESTONES = 60
"""More than any screen's width has room for."""


class QueueRoom(MarkingRoom):
    """The list of issues, the milestones, and a preview."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "find", "Find", id="queue.find"),
        Binding("m", "milestones", "Milestones, or issues", id="queue.milestones"),
        Binding("o", "open_session", "Its session", id="queue.session"),
        Binding("escape", "clear_filter", "Clear the filter", show=False, id="queue.clear"),
        Binding("R", "apply_waiting", "Apply waiting rows", show=False, id="queue.apply-waiting"),
        Binding("tab", "other_pane", "Other pane", show=False, id="queue.pane"),
        Binding("q", "app.home", "Back to Fleet", show=False, id="queue.back"),
    ]
    NAME = "Queue"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._preview_of: str | None = None
        self._story: IssueStory | None = None
        self._refused: SafeStr | None = None
        self._milestones: dict[str, MilestoneRow] = {}
        self._milestones_told: tuple[Sequence[MilestoneRow] | None, bool] = (None, False)

    def content(self) -> ComposeResult:
        """Banner, list, preview, filter, milestones, state line."""
        yield Bar(id="frozen", classes="-nothing")
        yield Bar(id="banner")
        with Container(id="body"):
            yield RowList(_COLUMNS, id="issues", placeholder=SafeStr("Reading the queue…"))
            yield RowList(_GATES, id="gates", placeholder=SafeStr("No milestones are planned."))
            yield TextPage(id="preview")
        yield Entry(id="filter", placeholder="words: task, id, milestone, agent, status", select_on_focus=False)
        yield Bar(id="milestones")
        yield Bar(id="state", classes="-nothing")

    def on_mount(self) -> None:
        """The list has the focus."""
        self._issues.focus()
        self.watch(self._issues, "scroll_y", self.time_passed, init=False)
        self.reorder()

    def on_screen_resume(self) -> None:
        """Catch up with what happened while another screen was in front."""
        self.live.tick(self.desk.moment(), ())
        if self.is_frozen:
            self.withhold(None)
            return
        self.keep_order()
        self.unmark_gone()
        self.reorder()
        self.ask_preview()

    @property
    def listed(self) -> RowList:
        """The issues, or the milestones."""
        return self._gates if self._on_milestones else self._issues

    @property
    def main_list(self) -> RowList:
        """The issues."""
        return self._issues

    @property
    def live(self) -> Backlog:
        """What is known now."""
        return self.desk.backlog

    @property
    def backlog(self) -> Backlog:
        """What is listed."""
        return self.still if isinstance(self.still, Backlog) else self.live

    def filter_in_force(self) -> str:
        """The words that the rows match."""
        return self.backlog.wanted

    @property
    def _issues(self) -> RowList:
        return self.query_one("#issues", RowList)

    @property
    def _gates(self) -> RowList:
        return self.query_one("#gates", RowList)

    @property
    def _on_milestones(self) -> bool:
        return self.has_class("-milestones")

    def selected_id(self) -> str | None:
        """The issue under the cursor."""
        return None if self._on_milestones else self._issues.cursor_id

    def what_to_copy(self) -> str | None:
        """The id; where the queue is empty, the command that fills it."""
        return self.selected_id() or (None if len(self.backlog) else self.first_command())

    def is_there(self, row_id: str) -> bool:
        """Whether the issue is still in the queue."""
        return row_id in self.backlog.issues

    def target_of(self, row_id: str) -> IssueTarget | None:
        """The issue, as it is on the screen."""
        return issue_target(self.backlog, row_id)

    def target(self) -> Target | None:
        """What is marked, or else the issue under the cursor; nothing while milestones are listed."""
        return None if self._on_milestones else super().target()

    def hints(self) -> tuple[Cell, ...]:
        """The keys to know here."""
        return (cell(" a act · m milestones · o session · / find · ? help ", "muted"),)

    # What comes in

    def board_changed(self, touched: Collection[str]) -> None:
        """Repaint what changed; bring in the new order, or let it wait."""
        if self.is_frozen:
            self.withhold(touched)
            return
        self.keep_order()
        self.unmark_gone()
        self._patch(touched)
        self._settle()
        if self.selected_id() in touched:
            self.ask_preview()

    def queue_failed(self) -> None:
        """Say that what is shown is old, and why; nothing that was read is taken away."""
        self._tell()
        if not self.is_frozen:
            self.reorder()

    def plans_changed(self) -> None:
        """Count what waits."""
        self._tell()

    def time_passed(self) -> None:
        """Count leases down; what turned stale moves up."""
        if self.is_frozen:
            self.withhold(self.live.tick(self.desk.moment(), ()))
            return
        self._patch(self.live.tick(self.desk.moment(), self._issues.visible_ids))
        self._settle()
        self._draw_preview()

    def _patch(self, ids: Collection[str]) -> None:
        known = self._issues.visible_ids if len(ids) > len(self._issues.visible_ids) else ids
        rows = (row for issue_id in known if (row := self.backlog.row(issue_id)) is not None)
        self._issues.patch([_line(row) for row in rows])

    def _settle(self) -> None:
        """Bring the new order in, unless somebody is moving about or has marked rows, or there are too many of them."""
        if self.backlog.moved and not self.holds_order():
            self.reorder()
        else:
            self._tell()

    def reorder(self) -> None:
        """Bring the new order in."""
        super().reorder()
        self.backlog.moved = False
        self._issues.set_order(self.backlog.order(), self._line_of)
        self._tell()

    def _line_of(self, issue_id: str) -> Row:
        row = self.backlog.row(issue_id)
        return _line(row) if row is not None else Row(issue_id, (Cell(SafeStr("")),) * len(_COLUMNS))

    # How it looks

    def _tell(self) -> None:
        """Keep title, banner, milestones, state line and the empty list's words true."""
        backlog, listed = self.backlog, self._issues.row_count
        number = f"{listed:,}/{len(backlog):,}" if backlog.wanted else f"{len(backlog):,}"
        counted = [*self.issue_count_cells(banner=True), *self.plan_count_cells(), cell(f"{number} issues ")]
        self.query_one("#title", Bar).show(self.title_cells(self.NAME), counted, keeps="right")
        self._tell_banner()
        self._tell_milestones()
        self.show_state(self._state(), self.told_marks())
        self._issues.placeholder = self._placeholder()
        if not len(backlog) or not (listed or self._on_milestones):
            wants_steps = not len(backlog) and self.desk.queue_read
            self.query_one("#preview", TextPage).show(self._first_steps() if wants_steps else [])
            self._preview_of = self._story = None

    def _tell_banner(self) -> None:
        banner, blockers = self.query_one("#banner", Bar), self.backlog.blockers()
        banner.set_class(not blockers, "-nothing")
        if blockers:
            named = ", ".join(tail_of(one) for one in blockers[:_NAMED])
            more = f" and {len(blockers) - _NAMED:,} more" if len(blockers) > _NAMED else ""
            told = cell(f" ■ claims BLOCKED {len(blockers):,} ", "bold error")
            banner.show(
                [told, cell(f" recover {named}{more} before anything new is claimed", "error")],
                [cell("a r recovers ", "muted")],
                keeps="left",
            )

    def _tell_milestones(self) -> None:
        rows = self.backlog.milestones()
        told_before, self._milestones_told = self._milestones_told, (rows, self._on_milestones)
        if told_before[0] is rows and told_before[1] == self._on_milestones:
            return
        self._milestones = {row.milestone_id: row for row in rows}
        strip = self.query_one("#milestones", Bar)
        strip.set_class(not rows, "-nothing")
        cells = [cell(" ")]
        for row in rows[:_MOST_MILESTONES]:
            closed = [name for name, is_open in row.gates if not is_open]
            cells += [cell(f"{row.looks.glyph} ", row.looks.role), Cell(row.key, row.looks.role)]
            cells += [cell(f" {row.done}/{row.total}", "muted")]
            cells += [cell(f" behind {closed[0]}", "warning")] if closed else []
            cells += [cell("   ")]
        strip.show(cells)
        if self._on_milestones:
            self._gates.set_rows([_gate_line(row) for row in rows])

    def _state(self) -> list[Cell]:
        if self.desk.queue_failure is not None:
            old = cell(" ✗ What is shown is old. ", "bold error") if len(self.backlog) else cell(" ✗ ", "error")
            return [old, Cell(self.desk.queue_failure, "error")]
        left: list[Cell] = []
        wanted = self.backlog.wanted
        if wanted:
            matching = f"   {self._issues.row_count:,} of {len(self.backlog):,} match · esc clears"
            left = [cell(" / ", "accent"), Cell(shown(wanted), "bold"), cell(matching, "muted")]
        if self.backlog.moved:
            left.append(cell(" ↕ a new order is waiting · R applies", "warning"))
        left += self.order_cells()
        return left

    def _placeholder(self) -> SafeStr:
        if self.desk.queue_failure is not None:
            return SafeStr("The queue could not be read.")
        if not self.desk.queue_read:
            return SafeStr("Reading the queue…")
        if not len(self.backlog):
            return SafeStr("No issues yet." if self.backlog.projects is not None else "There is no queue here yet.")
        return SafeStr(f"0 of {len(self.backlog):,} match. esc clears the filter.")

    def _first_steps(self) -> list[TextLine]:
        """What to run next where there is nothing to see."""
        if self.desk.queue_failure is not None:
            return [line(cell("The queue is at ", "muted"), Cell(self.desk.queue_place), hang=2)]
        what = "Nothing is planned here yet." if self.backlog.projects is not None else "There is no queue here yet."
        command = self.first_command()
        return [
            line(cell(what, "bold")),
            line(),
            line(cell("Make one, and bring work in, with", "muted")),
            *(line(cell(f"  {text}"), hang=4) for text in _FIRST_COMMANDS),
            line(),
            line(cell("y copies ", "muted"), cell(command)),
            line(cell("It goes to ", "muted"), Cell(self.desk.queue_place), hang=2),
            line(cell("This screen shows the queue as soon as it is there.", "muted")),
        ]

    def first_command(self) -> str:
        """What to run next where there is nothing."""
        return _FIRST_COMMANDS[2 if self.backlog.projects is not None else 0]

    @on(RowList.MarksChanged, "#issues")
    def _marks_changed(self) -> None:
        """With the last mark, what had waited for it comes in."""
        self._settle()

    # The preview

    @on(RowList.CursorMoved, "#issues")
    def _cursor_moved(self, message: RowList.CursorMoved) -> None:
        if message.lost is None and message.id is not None and self._preview_of is not None:
            self.cursor_was_moved()
        self.ask_preview()

    @work(exclusive=True, group="preview", exit_on_error=False)
    async def load_preview(self) -> None:
        """Read the issue under the cursor, unless the cursor has gone on meanwhile."""
        issue_id = self.selected_id()
        if issue_id is None or not self.query_one("#preview", TextPage).display:
            return
        read = await self.desk.show_issue(issue_id)
        if not self.is_mounted or self.selected_id() != issue_id:
            return
        another, self._preview_of = self._preview_of != issue_id, issue_id
        if isinstance(read, Envelope):
            self._story = None if another else self._story
            self._refused = failure_words(read.failure())
        else:
            self._story, self._refused = issue_story(read), None
        self._draw_preview(home=another)

    def _draw_preview(self, *, home: bool = False) -> None:
        """Draw what was read, as of now: countdowns and findings change with nothing written."""
        page, issue_id = self.query_one("#preview", TextPage), self.selected_id()
        if self._on_milestones:
            page.show(self._milestone_lines())
            return
        if issue_id is None or self._preview_of != issue_id:
            return
        lines = refused_lines(self._refused)
        state = self.backlog.state(issue_id)
        if self._story is not None and state is not None:
            now = self.desk.moment()
            told = self.backlog.explain(issue_id, now, self._story.last_step)
            milestone = self._milestones.get(self.backlog.issues[issue_id].milestone_id or "")
            lines += preview_lines(self._story, state, told, milestone, now.wall_ms)
        page.show(lines, home=home)

    def _milestone_lines(self) -> list[TextLine]:
        row = self._milestones.get(self._gates.cursor_id or "")
        if row is None:
            return []
        lines = [
            line(cell(f"{row.looks.glyph} {row.looks.word}  ", row.looks.role), Cell(row.key, "bold")),
            line(Cell(row.description)),
            line(),
            labelled("done", SafeStr(f"{row.done:,} of {row.total:,} issues")),
            *([labelled("deadline", row.deadline)] if row.deadline else []),
            line(),
            heading("Gates"),
        ]
        for name, is_open in row.gates:
            word, role = ("✓ open   ", "completed") if is_open else ("■ closed ", "warning")
            lines.append(line(cell(word, role), Cell(name), hang=9))
        return [*lines, *([] if row.gates else [line(cell("no milestone stands before it", "muted"))])]

    # What the operator does

    @on(RowList.Opened, "#issues")
    def _opened(self, message: RowList.Opened) -> None:
        self.open_issue(message.id)

    @on(RowList.CursorMoved, "#gates")
    def _gate_moved(self) -> None:
        self._draw_preview()

    @on(RowList.Opened, "#gates")
    def _gate_opened(self, message: RowList.Opened) -> None:
        """Show the issues of the milestone."""
        self.action_milestones()
        self._filter_by(self._milestones[message.id].key)

    def action_milestones(self) -> None:
        """Turn between issues and milestones."""
        self.toggle_class("-milestones")
        self._tell_milestones()
        self.listed.focus()
        self._draw_preview(home=True)
        self.ask_preview()

    def action_open_session(self) -> None:
        """Open the session that works, or last worked, on the selected issue."""
        issue_id = self.selected_id()
        if issue_id is not None:
            self.open_session_of(issue_id, self._story if self._preview_of == issue_id else None)

    @work(exclusive=True, group="prepare", exit_on_error=False)
    async def prepare_filter(self) -> None:
        """Make what filters look at while the first word is typed."""
        backlog = self.backlog
        known = dict(backlog.issues)
        texts = await asyncio.to_thread(lambda: {one: backlog.text_of(issue) for one, issue in known.items()})
        backlog.lend(texts, known)

    def _filter_by(self, text: str) -> None:
        self.filter_entry.value = text
        self.backlog.filter(text)
        self.reorder()

    @on(Input.Changed, "#filter")
    def _filter_changed(self, event: Input.Changed) -> None:
        self.backlog.filter(event.value)
        self.follow_typing(len(self.backlog), self.reorder)

    def action_clear_filter(self) -> None:
        """Leave the filter, or the milestones, and show every issue."""
        if self._on_milestones:
            self.action_milestones()
            return
        self._filter_by("")
        self.close_filter()


_FIRST_COMMANDS = (
    "phelix queue init NAME",
    "phelix queue campaign PROJECT CAMPAIGN",
    "phelix queue plan FILE",
)


def _line(row: IssueRow) -> Row:
    looks = row.looks
    pressing = looks.rank <= STATES["stale"].rank
    return Row(
        row.issue_id,
        (
            Cell(SafeStr(f"{looks.glyph} {looks.word}"), looks.role),
            Cell(row.tail, "muted"),
            Cell(row.task or SafeStr("untitled"), "" if row.task else "muted"),
            Cell(SafeStr(row.priority), "error" if row.priority == "critical" else "muted"),
            Cell(row.milestone, "muted"),
            Cell(row.left, looks.role if pressing else ""),
            Cell(row.about, looks.role if pressing else "muted"),
        ),
    )


def _gate_line(row: MilestoneRow) -> Row:
    looks = row.looks
    closed = any(not is_open for _, is_open in row.gates)
    return Row(
        row.milestone_id,
        (
            Cell(SafeStr(f"{looks.glyph} {looks.word}"), looks.role),
            Cell(row.key),
            Cell(SafeStr(f"{row.done:,}/{row.total:,}"), "muted"),
            Cell(row.gate, "warning" if closed else "muted"),
        ),
    )
