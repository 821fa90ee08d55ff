"""Session, one record's room: its whole story, and the record itself on the other page."""

from collections.abc import Mapping
from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType

from phelix_core.commands.session import ShownSession
from phelix_core.envelope import Envelope
from phelix_core.queue.board import Board
from phelix_core.views.rows import Found, SessionRow
from phelix_tui.arrangement import Patch
from phelix_tui.desk import Desk
from phelix_tui.screens.drawing import failure_lines, last_read_lines, raw_lines, state_cell, story_lines
from phelix_tui.screens.queue_drawing import session_lease_lines
from phelix_tui.screens.story_room import StoryRoom
from phelix_tui.widgets.pages import Bar, cell
from phelix_tui.widgets.rowlist import Cell
from phelix_tui.wrapping import TextLine, line


class SessionRoom(StoryRoom):
    """The story and the raw record of one session, kept live."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "back", "Back", id="session.back"),
        Binding("tab", "other_page", "Story or record", id="session.page"),
        Binding("i", "open_issue", "Its issue", id="session.issue"),
        Binding("o", "open_references", "What it refers to", id="session.references"),
    ]
    ABOUT = "session"
    OTHER = "Record"

    def __init__(self, desk: Desk, session_id: str) -> None:
        super().__init__(desk)
        self.session_id = session_id
        self._shown: ShownSession | None = None
        self._failure: Envelope | None = None
        self._issue_id: str | None = None

    def on_mount(self) -> None:
        """Look for the issue that it worked on; the record is read by every room of one thing."""
        self._find_issue()

    def selected_id(self) -> str | None:
        """This room's session."""
        return self.session_id

    def hints(self) -> tuple[Cell, ...]:
        """The keys to know here."""
        return (cell(" a act · o opens references · tab record · esc back · ? help ", "muted"),)

    def records_changed(self, changes: Mapping[str, Found | None] | None, patch: Patch) -> None:  # noqa: ARG002 - the room's signature
        """Read it again where it has changed."""
        if changes is None or self.session_id in changes:
            self.look_again()

    def plans_changed(self) -> None:
        """What it refers to may be another: read it again."""
        self.look_again()

    def time_passed(self) -> None:
        """Keep ages and staleness true."""
        self.desk.arrangement.tick(self.desk.now_ms(), (self.session_id,))
        self.draw()

    @work(exclusive=True, group="session", exit_on_error=False)
    async def look_again(self) -> None:
        """Read the record, and draw it."""
        shown = await self.desk.show(self.session_id)
        if not self.is_mounted:
            return
        self._failure = shown if isinstance(shown, Envelope) else None
        self._shown = shown if isinstance(shown, ShownSession) else self._shown
        self.draw()

    def draw(self) -> None:
        """Title, tabs and the page, as of now."""
        row = self.desk.arrangement.row(self.session_id)
        state = [*self.plan_count_cells(), *([state_cell(row), cell(" ")] if row else [])]
        rev = f"rev {self._shown.session.rev} " if self._shown and not self._failure else ""
        self.query_one("#title", Bar).show(self.title_cells(self.session_id), [*state, cell(rev)])
        self.show_page([*self._trouble(), *self._content(row)])

    def _trouble(self) -> list[TextLine]:
        """Why the record cannot be read now; what was read before stays below."""
        if self._failure is None:
            return []
        lines = failure_lines(self._failure.failure(), self.desk.file_of(self.session_id))
        return [*lines, *last_read_lines()] if self._shown else lines

    def _content(self, row: SessionRow | None) -> list[TextLine]:
        shown = self._shown
        if shown is None:
            return [] if self._failure else [line(cell("Reading the record…", "muted"))]
        if self.on_other_page:
            return raw_lines(shown)
        row = None if self._failure else row
        leased = session_lease_lines(self.desk, self.session_id)
        return story_lines(shown, row, self.desk.now_ms(), self.desk.env.settings.stale_after_ms, leased)

    @work(exclusive=True, group="issue", exit_on_error=False)
    async def _find_issue(self) -> None:
        """The issue that this session works on, or worked on before its lease ended."""
        self._issue_id = self.desk.backlog.of_session.get(self.session_id)
        if self._issue_id is None and self.desk.backlog.projects is not None:
            envelope = await self.desk.call("queue board", {"session": self.session_id})
            if isinstance(envelope.result, Board) and envelope.result.issues:
                self._issue_id = envelope.result.issues[0].id

    def action_open_issue(self) -> None:
        """Open the issue that it works, or worked, on."""
        issue_id = self.desk.backlog.of_session.get(self.session_id) or self._issue_id
        if issue_id is None:
            self.notify("No issue of the queue belongs to this session.", severity="warning", markup=False)
        else:
            self.open_issue(issue_id)
