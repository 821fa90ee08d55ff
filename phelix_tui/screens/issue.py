"""Issue, one issue's room: why it is stale, what stands around it, who held it; and its timeline on the other page."""

from collections.abc import Collection
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from phelix_core.envelope import Envelope
from phelix_core.text import SafeStr, visible
from phelix_core.views.queue.story import IssueStory, issue_story
from phelix_tui.actions import Target
from phelix_tui.desk import Desk
from phelix_tui.screens.queue_drawing import story_lines, timeline_lines
from phelix_tui.screens.room import Room
from phelix_tui.widgets.pages import Bar, TextPage, cell
from phelix_tui.widgets.rowlist import Cell
from phelix_tui.wrapping import TextLine, line


class IssueRoom(Room):
    """The story and the timeline of one issue, kept live."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "back", "Back", id="issue.back"),
        Binding("tab", "other_page", "Story or timeline", id="issue.page"),
        Binding("s", "open_session", "Its session", id="issue.session"),
    ]

    def __init__(self, desk: Desk, issue_id: str) -> None:
        super().__init__(desk)
        self.issue_id = issue_id
        self._story: IssueStory | None = None
        self._refused: SafeStr | None = None
        self._timeline = False

    def content(self) -> ComposeResult:
        """One page."""
        yield Bar(id="tabs")
        yield TextPage(id="story")

    def on_mount(self) -> None:
        """Read the issue."""
        self.query_one("#story", TextPage).focus()
        self._draw()
        self._load()

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
            self._load()
        else:
            self._draw()

    def queue_failed(self) -> None:
        """Say why what is shown is old."""
        self._refused = self.desk.queue_failure
        self._draw()

    def time_passed(self) -> None:
        """Keep countdown and staleness true."""
        self.desk.backlog.tick(self.desk.moment(), (self.issue_id,))
        self._draw()

    def on_screen_resume(self) -> None:
        """Catch up with what happened while a dialog was in front."""
        self._load()

    @work(exclusive=True, group="issue", exit_on_error=False)
    async def _load(self) -> None:
        read = await self.desk.show_issue(self.issue_id)
        if not self.is_mounted:
            return
        if isinstance(read, Envelope):
            told = read.failure()
            self._refused = visible(f"{told['code']}: {told['message']}")
        else:
            self._story, self._refused = issue_story(read), None
        self._draw()

    def _draw(self) -> None:
        row, issue = self.desk.backlog.row(self.issue_id), self.desk.backlog.issues.get(self.issue_id)
        state: list[Cell] = []
        if row is not None and issue is not None:
            left = f" {row.left}" if row.left else ""
            state = [cell(f"{row.looks.glyph} {row.looks.word}{left} ", row.looks.role)]
            state.append(cell(f"epoch {issue.lease_epoch} ", "muted"))
        self.query_one("#title", Bar).show(self.title_cells(visible(self.issue_id)), state, keeps="right")
        story, timeline = ("muted", "bold accent") if self._timeline else ("bold accent", "muted")
        tabs = [cell(" Story ", story), cell("│", "muted"), cell(" Timeline ", timeline)]
        self.query_one("#tabs", Bar).show(tabs)
        refused = [line(Cell(self._refused, "error"), hang=2), line()] if self._refused else list[TextLine]()
        self.query_one("#story", TextPage).show([*refused, *self._content()])

    def _content(self) -> list[TextLine]:
        story, state = self._story, self.desk.backlog.state(self.issue_id)
        if story is None or state is None:
            return [] if self._refused else [line(cell("Reading the issue…", "muted"))]
        if self._timeline:
            return timeline_lines(story)
        issue = self.desk.backlog.issues[self.issue_id]
        rows = {row.milestone_id: row for row in self.desk.backlog.milestones()}
        told = self.desk.backlog.explain(self.issue_id, self.desk.moment(), story.last_step)
        return story_lines(story, state, told, rows.get(issue.milestone_id or ""))

    def action_open_session(self) -> None:
        """Open the session that works, or last worked, on it."""
        self.open_session_of(self.issue_id, self._story)

    def action_other_page(self) -> None:
        """Turn between the story and the timeline."""
        self._timeline = not self._timeline
        self._draw()
        self.query_one("#story", TextPage).scroll_home(animate=False)

    def action_back(self) -> None:
        """Go back to where it was opened from."""
        if self.is_current:
            self.dismiss()
