"""Session, one record's room: its whole story, the record itself on the other page, and its past.

Who looks at the past sees it on the title bar, and nothing can be done from there. Source: console page, section 8.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType

from phelix_core.commands.session import ShownSession
from phelix_core.envelope import Envelope
from phelix_core.queue.board import Board
from phelix_core.views.rows import Found, SessionRow
from phelix_tui.actions import Action, SessionTarget, Target
from phelix_tui.arrangement import Patch
from phelix_tui.desk import Desk
from phelix_tui.screens.drawing import failure_lines, last_read_lines, raw_lines, state_cell, story_lines
from phelix_tui.screens.queue_drawing import session_lease_lines
from phelix_tui.screens.story_room import StoryRoom
from phelix_tui.travel import Travel
from phelix_tui.widgets.pages import Bar, TextPage, cell
from phelix_tui.widgets.rowlist import Cell
from phelix_tui.wrapping import TextLine, line

_BACK = "esc comes back to now"


@dataclass(frozen=True, slots=True)
class PastTarget(SessionTarget):
    """A session whose past is on the screen: nothing is done to it from there."""

    reason: str

    def why_not(self, action: Action | None) -> str | None:
        """It is the past."""
        del action
        return self.reason


class SessionRoom(StoryRoom):
    """The story and the raw record of one session, kept live."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "back", "Back", id="session.back"),
        Binding("tab", "other_page", "Story or record", id="session.page"),
        Binding("i", "open_issue", "Its issue", id="session.issue"),
        Binding("o", "open_references", "What it refers to", id="session.references"),
        Binding("t", "timeline", "Timeline of its past, and back to now", id="session.timeline"),
        Binding("left_square_bracket", "scrub(-1)", "Earlier in its past", id="session.earlier"),
        Binding("right_square_bracket", "scrub(1)", "Later in its past", id="session.later"),
        Binding("d", "diff", "Mark a point of the past, to compare", id="session.diff"),
    ]
    ABOUT = "session"
    OTHER = "Record"

    def __init__(self, desk: Desk, session_id: str) -> None:
        super().__init__(desk)
        self.session_id = session_id
        self._shown: ShownSession | None = None
        self._failure: Envelope | None = None
        self._issue_id: str | None = None
        self.travel = Travel()
        self._health: tuple[Cell, ...] = ()

    def on_mount(self) -> None:
        """Look for the issue that it worked on; the record is read by every room of one thing."""
        self._find_issue()

    def selected_id(self) -> str | None:
        """This room's session."""
        return self.session_id

    def target(self) -> Target | None:
        """The session; from its past it takes no action."""
        now = super().target()
        if not self.travel.is_on or not isinstance(now, SessionTarget):
            return now
        return PastTarget(now.session_id, now.found, f"historical: this is the past ({self.travel.told}); {_BACK}")

    def tell_doctor(self, parts: tuple[Cell, ...]) -> None:
        """Show how healthy the live view is, and remember it: other keys count in the past."""
        self._health = parts
        super().tell_doctor(parts)

    def hints(self) -> tuple[Cell, ...]:
        """The keys to know here."""
        if self.travel.is_on:
            return (cell(" [ ] earlier, later · d marks, compares · esc now · ? help ", "muted"),)
        return (cell(" a act · o opens references · t timeline · tab record · esc back · ? help ", "muted"),)

    def records_changed(self, changes: Mapping[str, Found | None] | None, patch: Patch) -> None:  # noqa: ARG002 - the room's signature
        """Read it again where it has changed."""
        if changes is None or self.session_id in changes:
            self.look_again()

    def plans_changed(self) -> None:
        """What it refers to may be another: read it again."""
        self.look_again()

    def time_passed(self) -> None:
        """Keep ages and staleness true; the past does not age."""
        self.desk.arrangement.tick(self.desk.now_ms(), (self.session_id,))
        if not self.travel.is_on:
            self.draw()

    def on_resize(self) -> None:
        """A timeline is as wide as the page."""
        if self.travel.is_on:
            self.call_after_refresh(self.draw)

    @work(exclusive=True, group="session", exit_on_error=False)
    async def look_again(self) -> None:
        """Read the record, and draw it."""
        shown = await self.desk.show(self.session_id)
        if not self.is_mounted:
            return
        self._failure = shown if isinstance(shown, Envelope) else None
        self._shown = shown if isinstance(shown, ShownSession) else self._shown
        if self.travel.is_on and self._shown is not None:
            self.travel.take(self._shown.session)
        self.draw()

    def draw(self) -> None:
        """Title, tabs and the page, as of now or of the past."""
        self.set_class(self.travel.is_on, "-past")
        if self.travel.is_on:
            self._draw_past()
            return
        row = self.desk.arrangement.row(self.session_id)
        state = [*self.plan_count_cells(), *([state_cell(row), cell(" ")] if row else [])]
        rev = f"rev {self._shown.session.rev} " if self._shown and not self._failure else ""
        self.query_one("#title", Bar).show(self.title_cells(self.session_id), [*state, cell(rev)])
        self.show_page([*self._trouble(), *self._content(row)])

    def _draw_past(self) -> None:
        """The title bar says that it is the past, and which point of it; there is one page."""
        from phelix_tui.screens.past_drawing import band_cells, past_lines  # noqa: PLC0415 - only who looks back

        named = [cell(" · "), cell(self.session_id, "bold"), *self.title_cells()[1:]]
        self.query_one("#title", Bar).show([*band_cells(self.travel), *named], keeps="left")
        self.query_one("#tabs", Bar).show([cell(" Timeline ", "bold accent")], [cell(f" {_BACK} ", "muted")])
        page = self.query_one("#story", TextPage)
        page.show([*self._trouble(), *past_lines(self.travel, page.text_width)])

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

    # The past

    def action_timeline(self) -> None:
        """Go to the newest point of its past; from the past, come back to now."""
        if self.travel.is_on:
            self._come_back()
        elif self._begin():
            self._stand()

    def action_scrub(self, by: int) -> None:
        """Go to an earlier or a later point; from now, there are only earlier ones."""
        if not self.travel.is_on and by > 0:
            self.notify("This is now; [ goes to the point before.", markup=False)
        elif self.travel.is_on or self._begin():
            self.travel.go(by)
            self._stand()

    def action_diff(self) -> None:
        """Mark the point here, so that others are compared with it; or let go of the one that is marked."""
        if self.travel.is_on or self._begin():
            self.travel.mark()
            self._stand()

    def action_back(self) -> None:
        """From the past come back to now; from now, to where this was opened from."""
        if self.travel.is_on:
            self._come_back()
        else:
            super().action_back()

    def action_other_page(self) -> None:
        """The past has one page."""
        if self.travel.is_on:
            self.notify(f"The record is that of now; {_BACK}.", markup=False)
        else:
            super().action_other_page()

    def _begin(self) -> bool:
        if self._shown is None:
            self.notify("The record has not been read; it has no past to show.", severity="warning", markup=False)
            return False
        self.travel.begin(self._shown.session)
        return True

    def _come_back(self) -> None:
        self.travel.leave()
        self._stand()

    def _stand(self) -> None:
        """Draw from the top, under the keys that count here."""
        self.draw()
        self.query_one("#story", TextPage).scroll_home(animate=False)
        self.tell_doctor(self._health)

    def action_open_issue(self) -> None:
        """Open the issue that it works, or worked, on."""
        issue_id = self.desk.backlog.of_session.get(self.session_id) or self._issue_id
        if issue_id is None:
            self.notify("No issue of the queue belongs to this session.", severity="warning", markup=False)
        else:
            self.open_issue(issue_id)
