"""What the rooms of one thing share: its story on the first page, something else about it behind `tab`."""

from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.events import Click

from phelix_tui.desk import Desk
from phelix_tui.screens.room import Room
from phelix_tui.widgets.pages import Bar, TextPage, cell
from phelix_tui.wrapping import TextLine

_STORY: Final = " Story "


class StoryRoom(Room):
    """Two pages about one thing, read again when this screen is in front again."""

    OTHER: ClassVar[str]
    """The other page's name."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.on_other_page = False

    def content(self) -> ComposeResult:
        """One page."""
        yield Bar(id="tabs")
        yield TextPage(id="story")

    def on_mount(self) -> None:
        """Read what the room is about."""
        self.query_one("#story", TextPage).focus()
        self.draw()
        self.look_again()

    def on_screen_resume(self) -> None:
        """Catch up with what happened while a dialog was in front."""
        self.look_again()

    def look_again(self) -> object:
        """Read what the room is about, and draw it."""
        raise NotImplementedError

    def draw(self) -> None:
        """Draw what was read, as of now."""
        raise NotImplementedError

    def show_page(self, lines: list[TextLine]) -> None:
        """Put lines on the page that is in front."""
        story, other = ("muted", "bold accent") if self.on_other_page else ("bold accent", "muted")
        tabs = [cell(_STORY, story), cell("│", "muted"), cell(f" {self.OTHER} ", other)]
        self.query_one("#tabs", Bar).show(tabs)
        self.query_one("#story", TextPage).show(lines)

    @on(Click, "#tabs")
    def _tab_clicked(self, event: Click) -> None:
        """Turn to the page whose name was clicked."""
        if (event.x >= len(_STORY)) != self.on_other_page:
            self.action_other_page()

    def action_other_page(self) -> None:
        """Turn between the two pages."""
        self.on_other_page = not self.on_other_page
        self.draw()
        self.query_one("#story", TextPage).scroll_home(animate=False)

    def action_back(self) -> None:
        """Go back to where it was opened from."""
        if self.is_current:
            self.dismiss()
