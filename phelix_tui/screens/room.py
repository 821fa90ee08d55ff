"""What every room shares: a title bar, the doctor line, and keys that work everywhere."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from phelix_core.text import SafeStr
from phelix_core.views.queue import rows as issues
from phelix_core.views.queue.story import IssueStory
from phelix_core.views.rows import STATES, Found
from phelix_tui.actions import Target
from phelix_tui.arrangement import Patch
from phelix_tui.desk import Desk
from phelix_tui.messages import IssueWanted, PlanWanted, ReferencesWanted, SessionWanted
from phelix_tui.widgets.pages import Bar, cell
from phelix_tui.widgets.rowlist import Cell

if TYPE_CHECKING:
    from phelix_tui.app import ConsoleApp
    from phelix_tui.copies import Copyable

_BETWEEN: Final = " · "
_FOR_THE_WATCH: Final = 16
"""Cells of the doctor line that a hint leaves to the watcher's mode and lag."""

WIDTHS: Final = [(0, "-tiny-width"), (40, "-narrow"), (60, "-stacked"), (100, "-split"), (160, "-wide")]
HEIGHTS: Final = [(0, "-tiny-height"), (10, "-short"), (20, "-tall")]


def _renamed(told: str, moved: Mapping[str, str]) -> str:
    """`a act · / find` with other keys: each part of it begins with its own."""
    parts = [part.split(" ", 1) for part in told.strip().split(_BETWEEN)]
    return f" {_BETWEEN.join(' '.join([moved.get(words[0], words[0]), *words[1:]]) for words in parts)} "


class Room(Screen[None]):
    """One full screen of the console."""

    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "app.act", "Act", id="room.act"),
        Binding("y", "app.copy_menu", "Copy the id, the record, a command", id="room.copy"),
    ]

    ABOUT: ClassVar[str] = "issue"
    """What actions would be about where nothing is selected: a session, an issue, a plan."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self.desk = desk

    def compose(self) -> ComposeResult:
        """Title, the room's own content, doctor line."""
        self._know_size()
        yield Bar(id="title")
        yield from self.content()
        yield Bar(id="doctor")

    def _know_size(self) -> None:
        """Be dressed for the size there is before anything is laid out; Textual would do both twice."""
        app = cast("ConsoleApp", self.app)  # pyright: ignore[reportUnknownMemberType] - App[Unknown]
        for breakpoints, cells in ((WIDTHS, app.size.width), (HEIGHTS, app.size.height)):
            self.add_class(max((least, name) for least, name in breakpoints if least <= cells)[1])

    def content(self) -> ComposeResult:
        """What stands between the bars."""
        yield from ()

    def on_mount(self) -> None:
        """Where toasts will stand takes part in no layout yet; Textual would hide it after the first one."""
        self.query("ToastRack").set(display=False)

    def show_state(self, left: Sequence[Cell], right: Sequence[Cell] = ()) -> None:
        """Say what is in force on the state line, which is there while there is something to say."""
        state = self.query_one("#state", Bar)
        state.show(left, right)
        state.set_class(not (left or right), "-nothing")

    def selected_id(self) -> str | None:
        """The session or issue that `y` is about."""
        return None

    def what_to_copy(self) -> str | None:
        """What `y` copies: the id of what is selected."""
        return self.selected_id()

    def filter_in_force(self) -> str:
        """The filter that the room's rows match; empty for none, or where there is no filter."""
        return ""

    def copies(self) -> "list[Copyable]":
        """What `y` offers to copy: of what is selected; of an empty room, the command that fills it."""
        from phelix_tui.copies import Copyable, copies_of  # noqa: PLC0415 - only who copies

        selected, wanted = self.selected_id(), self.what_to_copy()
        if selected is None and wanted is not None:
            return [Copyable(key="c", name="The command", text=wanted)]
        kind = self.ABOUT if (target := self.target()) is None else target.kind
        if kind == "plan" and selected is not None and selected.startswith("op_"):
            kind = "operation"
        return copies_of(kind, selected, self.desk.env.settings.data_dir, self.filter_in_force())

    def target(self) -> Target | None:
        """What `a` is about, as it is on the screen."""
        return self.desk.target(self.selected_id())

    def records_changed(self, changes: Mapping[str, Found | None] | None, patch: Patch) -> None:
        """Some records (None: all) were looked at again; called on the room that is seen."""

    def board_changed(self, touched: Collection[str]) -> None:
        """These issues of the queue were looked at again; called on the room that is seen."""

    def queue_failed(self) -> None:
        """The queue cannot be read: `desk.queue_failure` says why; called on the room that is seen."""

    def plans_changed(self) -> None:
        """Plans, approvals or operations were looked at again; called on the room that is seen."""

    def plans_failed(self) -> None:
        """Plans cannot be read: `desk.plans_failure` says why; called on the room that is seen."""

    def time_passed(self) -> None:
        """A second has passed; called on the room that is seen."""

    def tell_doctor(self, parts: tuple[Cell, ...]) -> None:
        """Show how healthy the live view is."""
        self.query_one("#doctor", Bar).show(parts, self._hint() or self._in_force(self.hints()))

    def _hint(self) -> tuple[Cell, ...]:
        """A first-run hint, while there is one and it fits beside the watch."""
        app = cast("ConsoleApp", self.app)  # pyright: ignore[reportUnknownMemberType] - App[Unknown]
        hint = app.hint_in_sight()
        if hint is None:
            return ()
        told = f" {app.key_of(hint.binding)}: {hint.text}"
        way_out = f" · {app.key_of('app.hint')} hides "
        fits = len(told) + len(way_out) + _FOR_THE_WATCH <= self.size.width
        return (cell(told, "accent"), cell(way_out, "muted")) if fits else ()

    def _in_force(self, told: tuple[Cell, ...]) -> tuple[Cell, ...]:
        """The keys to know, as a person's own file of keys leaves them."""
        app = cast("ConsoleApp", self.app)  # pyright: ignore[reportUnknownMemberType] - as above
        moved = app.moved_keys()
        return tuple(one._replace(text=SafeStr(_renamed(one.text, moved))) for one in told) if moved else told

    def hints(self) -> tuple[Cell, ...]:
        """The keys to know here."""
        return (cell(" a act · / find · ? help ", "muted"),)

    def title_cells(self, about: str = "") -> list[Cell]:
        """Product, mode, what the room is about, place: what may be cut off comes last."""
        mode = [cell(" · "), cell("READ-ONLY", "bold warning")] if self.desk.read_only else []
        subject = [cell(" · "), cell(about, "bold")] if about else []
        return [cell(" phelix", "bold accent"), *mode, *subject, cell(" · "), Cell(self.desk.place)]

    def count_cells(self) -> list[Cell]:
        """How many of each state that wants attention."""
        return state_cells(self.desk.arrangement.summary())

    def issue_count_cells(self, *, banner: bool = False) -> list[Cell]:
        """How many issues of each state that wants attention, and how many block claims where no banner says it."""
        backlog = self.desk.backlog
        cells: list[Cell] = []
        for state in (issues.NEEDS_RECOVERY, issues.STALE, issues.CLOCK, issues.CRASH_LOOP, issues.FAILED):
            if backlog.counts.get(state):
                looks = issues.STATES[state]
                cells += [cell(f"{looks.glyph} {backlog.counts[state]:,} {looks.word}", looks.role), cell(" · ")]
        if not banner and (blocked := len(backlog.blockers())):
            cells += [cell(f"claims BLOCKED {blocked:,}", "bold error"), cell(" · ")]
        return cells

    def plan_count_cells(self) -> list[Cell]:
        """How many plans wait for an approval."""
        return self.desk.plans.count_cells() if self.desk.plans_read else []

    # Ways to other rooms

    def open_issue(self, issue_id: str) -> None:
        """Open an issue's room above this one."""
        self.post_message(IssueWanted(issue_id))

    def open_plan(self, row_id: str) -> None:
        """Open the room of a plan, or of an operation without one, above this one."""
        kind = "operation" if row_id.startswith("op_") else "plan"
        self.post_message(PlanWanted(kind, row_id))

    def open_reference(self, kind: str, subject: str) -> None:
        """Open the plan that a session's reference leads to, above this room."""
        self.post_message(PlanWanted(kind, subject))

    def action_open_references(self) -> None:
        """Choose among what the selected session refers to."""
        session_id = self.selected_id()
        if session_id is not None:
            self.post_message(ReferencesWanted(session_id))

    def open_session(self, session_id: str) -> None:
        """Open a session's room above this one."""
        self.post_message(SessionWanted(session_id))

    def open_session_of(self, issue_id: str, story: IssueStory | None) -> None:
        """Open the session that works, or last worked, on an issue."""
        lease = self.desk.backlog.leases.get(issue_id)
        session_id = lease.session_id if lease is not None else None
        session_id = session_id or (story.session_id if story is not None else None)
        if session_id is None or self.desk.arrangement.found(session_id) is None:
            self.notify("No session record belongs to this issue.", severity="warning", markup=False)
        else:
            self.open_session(session_id)


def state_cells(counts: Mapping[str, int]) -> list[Cell]:
    """How many sessions there are of each state that wants attention, as a title says it."""
    cells: list[Cell] = []
    for state in ("unreadable", "stale", "clock"):
        if counts.get(state):
            looks = STATES[state]
            cells += [cell(f"{looks.glyph} {counts[state]:,} {looks.word}", looks.role), cell(" · ")]
    return cells
