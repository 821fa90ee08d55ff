"""Plan, one plan's room: its whole story, and the log of its operation on the other page, which follows while it runs.

The log stays at its end while its end is looked at, and where it is once somebody scrolled up. Opened while the
operation runs, the room begins with the log. Source: console page, Approvals.
"""

from typing import ClassVar, Final

from textual import work
from textual.binding import Binding, BindingType

from phelix_core.arc.board import BadFile, Seen
from phelix_core.arc.operations import RUNNING, Operation
from phelix_core.arc.standing import Standing
from phelix_core.envelope import Envelope
from phelix_core.text import SafeStr, visible
from phelix_core.views.arc.rows import STATES, may_print, row_id_of, since_ms, state_of, subject_of
from phelix_core.views.moments import span
from phelix_tui.actions import Target
from phelix_tui.desk import Desk
from phelix_tui.log_tail import LogTail
from phelix_tui.plan_actions import PlanTarget
from phelix_tui.screens.drawing import failure_words, refused_lines
from phelix_tui.screens.plan_drawing import log_lines, plan_lines
from phelix_tui.screens.story_room import StoryRoom
from phelix_tui.widgets.pages import Bar, TextPage, cell
from phelix_tui.widgets.rowlist import Cell
from phelix_tui.wrapping import TextLine, line

PLAN: Final = "plan"
OPERATION: Final = "operation"
LOOK_S: Final = 0.25
"""How often a log that may grow is read on."""


class PlanRoom(StoryRoom):
    """The story and the log of one plan, kept live; found by its id, or by its operation's or deployment's."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "back", "Back", id="plan.back"),
        Binding("tab", "other_page", "Story or log", id="plan.page"),
    ]
    ABOUT = "plan"
    OTHER = "Log"

    def __init__(self, desk: Desk, kind: str, subject: str) -> None:
        super().__init__(desk)
        self.kind = kind
        self.subject = subject
        self._seen: Seen | None = None
        self._refused: SafeStr | None = None
        self._tail: LogTail | None = None

    def on_mount(self) -> None:
        """Read a log on while there may be more; the plan is read by every room of one thing."""
        self.set_interval(LOOK_S, self._read_on)

    def selected_id(self) -> str | None:
        """This room's plan, or the operation without one."""
        return self.subject

    def target(self) -> Target | None:
        """The plan, as it is on the screen."""
        return None if self._seen is None else PlanTarget(self._seen)

    def hints(self) -> tuple[Cell, ...]:
        """The keys to know here."""
        return (cell(" a act · tab log · esc back · ? help ", "muted"),)

    # What comes in

    def plans_changed(self) -> None:
        """Take what is on the board; what is older than that is looked at again."""
        self.look_again()

    def plans_failed(self) -> None:
        """Say why what is shown is old."""
        self._refused = self.desk.plans_failure
        self.draw()

    def time_passed(self) -> None:
        """Keep ages true."""
        self.draw()

    @work(exclusive=True, group="plan", exit_on_error=False)
    async def look_again(self) -> None:
        """Look at the plan, and draw it."""
        seen = self.desk.plans.seen(self.subject)
        if seen is None:
            answer = await self.desk.show_plan(self.kind, self.subject)
            if not self.is_mounted:
                return
            if isinstance(answer, Envelope):
                self._refused = failure_words(answer.failure())
                self.draw()
                return
            seen = answer
        first, self._seen, self._refused = self._seen is None, seen, None
        self._is_about(seen)
        if first and state_of(seen) == RUNNING:
            self.on_other_page = True
        self.draw(to_end=first and self.on_other_page)
        self._read_on(at_least_once=True)

    def _is_about(self, seen: Seen) -> None:
        """Whatever led here, from now on it is about this very record."""
        if not isinstance(seen, BadFile):
            self.kind = PLAN if isinstance(seen, Standing) else OPERATION
        self.subject = row_id_of(seen)

    # The log

    @property
    def _operation(self) -> Operation | None:
        return None if self._seen is None or isinstance(self._seen, BadFile) else self._seen.operation

    def _read_on(self, *, at_least_once: bool = False) -> None:
        """Read what was appended, where there may be something, and somebody sees it."""
        seen, operation = self._seen, self._operation
        if seen is None or operation is None or not self.is_current:
            return
        if self._tail is None or self._tail.operation_id != operation.id:
            self._tail = LogTail(self.desk, operation.id)
            at_least_once = True
        if at_least_once or may_print(seen):
            self._follow(self._tail)

    @work(group="log", exit_on_error=False)
    async def _follow(self, tail: LogTail) -> None:
        if await tail.look() and self.is_mounted and tail is self._tail:
            self.draw()

    # How it looks

    def draw(self, *, to_end: bool = False) -> None:
        """Title, tabs and the page, as of now; a log whose end is in sight stays at its end."""
        page, seen = self.query_one("#story", TextPage), self._seen
        follows = to_end or (self.on_other_page and page.is_at_end)
        named = visible(self.subject)
        state = self.plan_count_cells()
        if seen is not None:
            looks, since = STATES[state_of(seen)], since_ms(seen)
            age = "" if since is None else f" {span(self.desk.now_ms() - since)}"
            state += [Cell(subject_of(seen)), cell(f"  {looks.glyph} {looks.word}{age} ", looks.role)]
        self.query_one("#title", Bar).show(self.title_cells(named), state, keeps="right")
        self.show_page([*refused_lines(self._refused), *self._content()])
        if follows:
            page.scroll_end(animate=False, force=True)

    def _content(self) -> list[TextLine]:
        seen = self._seen
        if seen is None:
            return [] if self._refused else [line(cell("Reading the plan…", "muted"))]
        log = () if self._tail is None else self._tail.lines
        if not self.on_other_page:
            return plan_lines(seen, self.desk.now_ms(), log)
        cut, operation = self._tail is not None and self._tail.is_cut, self._operation
        file = SafeStr("" if operation is None else f"{self.desk.place}/ops/{operation.id}.log")
        return log_lines(seen, log, self.desk.now_ms(), cut=cut, file=file)

    def action_other_page(self) -> None:
        """Turn between story and log; a log opens at its end."""
        super().action_other_page()
        if self.on_other_page:
            self.query_one("#story", TextPage).scroll_end(animate=False, force=True)
