"""Issue, one issue's room: why it is stale, what stands around it, who held it; and its timeline on the other page."""

from collections.abc import Collection
from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType

from phelix_core.envelope import Envelope
from phelix_core.text import SafeStr, visible
from phelix_core.views.queue.story import IssueStory, issue_story
from phelix_tui.actions import Target
from phelix_tui.desk import Desk
from phelix_tui.screens.drawing import failure_words, refused_lines
from phelix_tui.screens.queue_drawing import story_lines, timeline_lines
from phelix_tui.screens.story_room import StoryRoom
from phelix_tui.widgets.pages import Bar, cell
from phelix_tui.widgets.rowlist import Cell
from phelix_tui.wrapping import TextLine, line


class IssueRoom(StoryRoom):
    """The story and the timeline of one issue, kept live."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "back", "Back", id="issue.back"),
        Binding("tab", "other_page", "Story or timeline", id="issue.page"),
        Binding("o,s", "open_session", "Its session", id="issue.session"),
    ]
    OTHER = "Timeline"

    def __init__(self, desk: Desk, issue_id: str) -> None:
        super().__init__(desk)
        self.issue_id = issue_id
        self._story: IssueStory | None = None
        self._refused: SafeStr | None = None

    def selected_id(self) -> str | None:
        """This room's issue."""
        return self.issue_id

    def target(self) -> Target | None:
        """The issue, as it is on the screen."""
        return self.desk.issue_target(self.issue_id)

    def hints(self) -> tuple[Cell, ...]:
        """The keys to know here."""
        return (cell(" a act · tab timeline · s session · esc back · ? help ", "muted"),)

    def board_changed(self, touched: Collection[str]) -> None:
        """Read it again where it has changed; else what stands around it may have."""
        if self.issue_id in touched:
            self.look_again()
        else:
            self.draw()

    def queue_failed(self) -> None:
        """Say why what is shown is old."""
        self._refused = self.desk.queue_failure
        self.draw()

    def time_passed(self) -> None:
        """Keep countdown and staleness true."""
        self.desk.backlog.tick(self.desk.moment(), (self.issue_id,))
        self.draw()

    @work(exclusive=True, group="issue", exit_on_error=False)
    async def look_again(self) -> None:
        """Read the issue, and draw it."""
        read = await self.desk.show_issue(self.issue_id)
        if not self.is_mounted:
            return
        if isinstance(read, Envelope):
            self._refused = failure_words(read.failure())
        else:
            self._story, self._refused = issue_story(read), None
        self.draw()

    def draw(self) -> None:
        """Title, tabs and the page, as of now."""
        row, issue = self.desk.backlog.row(self.issue_id), self.desk.backlog.issues.get(self.issue_id)
        state = self.plan_count_cells()
        if row is not None and issue is not None:
            left = f" {row.left}" if row.left else ""
            state.append(cell(f"{row.looks.glyph} {row.looks.word}{left} ", row.looks.role))
            state.append(cell(f"epoch {issue.lease_epoch} ", "muted"))
        self.query_one("#title", Bar).show(self.title_cells(visible(self.issue_id)), state, keeps="right")
        self.show_page([*refused_lines(self._refused), *self._content()])

    def _content(self) -> list[TextLine]:
        story, state = self._story, self.desk.backlog.state(self.issue_id)
        if story is None or state is None:
            return [] if self._refused else [line(cell("Reading the issue…", "muted"))]
        if self.on_other_page:
            return timeline_lines(story)
        issue = self.desk.backlog.issues[self.issue_id]
        rows = {row.milestone_id: row for row in self.desk.backlog.milestones()}
        told = self.desk.backlog.explain(self.issue_id, self.desk.moment(), story.last_step)
        return story_lines(story, state, told, rows.get(issue.milestone_id or ""))

    def action_open_session(self) -> None:
        """Open the session that works, or last worked, on it."""
        self.open_session_of(self.issue_id, self._story)
