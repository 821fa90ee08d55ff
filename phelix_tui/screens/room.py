"""What every room shares: a title bar, the doctor line, and keys that work everywhere."""

from collections.abc import Mapping
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from phelix_core.views.rows import STATES, Found
from phelix_tui.arrangement import Patch
from phelix_tui.desk import Desk
from phelix_tui.widgets.pages import Bar, cell
from phelix_tui.widgets.rowlist import Cell


class Room(Screen[None]):
    """One full screen of the console."""

    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - Textual's own declaration is not a ClassVar
        (0, "-tiny-width"),
        (40, "-narrow"),
        (60, "-stacked"),
        (100, "-split"),
        (160, "-wide"),
    ]
    VERTICAL_BREAKPOINTS = [(0, "-tiny-height"), (10, "-short"), (20, "-tall")]  # noqa: RUF012 - the same
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "app.act", "Act", id="room.act"),
        Binding("y", "app.copy_id", "Copy the id", id="room.copy"),
    ]

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self.desk = desk

    def compose(self) -> ComposeResult:
        """Title, the room's own content, doctor line."""
        yield Bar(id="title")
        yield from self.content()
        yield Bar(id="doctor")

    def content(self) -> ComposeResult:
        """What stands between the bars."""
        yield from ()

    def selected_id(self) -> str | None:
        """The session that `a` and `y` are about."""
        return None

    def records_changed(self, changes: Mapping[str, Found | None] | None, patch: Patch) -> None:
        """Some records (None: all) were looked at again; called on the room that is seen."""

    def time_passed(self) -> None:
        """A second has passed; called on the room that is seen."""

    def tell_doctor(self, parts: tuple[Cell, ...]) -> None:
        """Show how healthy the live view is."""
        self.query_one("#doctor", Bar).show(parts, self.hints())

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
        counts = self.desk.arrangement.summary()
        cells: list[Cell] = []
        for state in ("unreadable", "stale", "clock"):
            if counts.get(state):
                looks = STATES[state]
                cells += [cell(f"{looks.glyph} {counts[state]:,} {looks.word}", looks.role), cell(" · ")]
        return cells
