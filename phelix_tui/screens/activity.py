"""Activity: every write that was confirmed in this console, the newest first: its command, and the way back if any.

Source: console page, section 2.
"""

from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container

from phelix_core.text import SafeStr
from phelix_core.views.moments import moment, time_of_day
from phelix_core.views.shown import shown
from phelix_tui.actions import Target
from phelix_tui.activity import CONFLICT, DONE, FAILED, REFUSED, UNKNOWN, Deed
from phelix_tui.copies import Copyable
from phelix_tui.screens.drawing import heading, labelled
from phelix_tui.screens.room import Room
from phelix_tui.widgets.pages import Bar, TextPage, cell
from phelix_tui.widgets.rowlist import Cell, Column, Row, RowList
from phelix_tui.wrapping import TextLine, line

_COLUMNS = (
    Column("at", SafeStr("WHEN"), 9),
    Column("verb", SafeStr("ACTION"), 10, flex=True),
    Column("result", SafeStr("RESULT"), 10),
    Column("about", SafeStr("ID"), 20, drop_order=1),
    Column("undo", SafeStr("UNDO"), 4),
)
_LOOKS: Final = {
    DONE: ("✓", "ok"),
    CONFLICT: ("▲", "warning"),
    REFUSED: ("✗", "error"),
    FAILED: ("✗", "error"),
    UNKNOWN: ("?", "warning"),
}
_NOTHING: Final = "Nothing was done in this console yet; a opens the actions on what is selected."
_KEPT: Final = " Of this console alone: gone when it ends. Records keep their own history."


class ActivityRoom(Room):
    """The list of deeds, and a page about the one under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "other_pane", "List or page", show=False, id="activity.pane"),
        Binding("q,escape", "app.home", "Back to Fleet", show=False, id="activity.back"),
    ]
    ABOUT = "session"

    def content(self) -> ComposeResult:
        """List, page, and for how long it is kept."""
        with Container(id="body"):
            yield RowList(_COLUMNS, id="deeds", placeholder=SafeStr(_NOTHING))
            yield TextPage(id="preview")
        yield Bar(id="state")

    @property
    def listed(self) -> RowList:
        """The deeds."""
        return self.query_one("#deeds", RowList)

    def on_mount(self) -> None:
        """The list has the focus."""
        self.listed.focus()
        self.query_one("#state", Bar).show([cell(_KEPT, "muted")])
        self._look()

    def on_screen_resume(self) -> None:
        """List what was done meanwhile."""
        self._look()

    def _deed(self) -> Deed | None:
        return self.desk.activity.deed(self.listed.cursor_id)

    def selected_id(self) -> str | None:
        """What the deed under the cursor was about."""
        deed = self._deed()
        return None if deed is None else deed.about

    def copies(self) -> list[Copyable]:
        """The command."""
        deed = self._deed()
        return [] if deed is None else [Copyable(key="c", name="The command", text=deed.command)]

    def target(self) -> Target | None:
        """What the deed was about, as it is now."""
        deed = self._deed()
        if deed is None:
            return None
        if deed.kind == "issue":
            return self.desk.issue_target(deed.about)
        return self.desk.plan_target(deed.about) if deed.kind == "plan" else self.desk.target(deed.about)

    def hints(self) -> tuple[Cell, ...]:
        """The keys to know here."""
        return (cell(" y copies the command · enter opens · a act · ? help ", "muted"),)

    def _look(self) -> None:
        deeds = [*self.desk.activity]
        self.listed.set_rows([_row(deed) for deed in deeds])
        done = sum(deed.came == DONE for deed in deeds)
        others = f" · {len(deeds) - done:,} not" if done < len(deeds) else ""
        self.query_one("#title", Bar).show(
            self.title_cells("Activity"), [cell(f"{done:,} done{others} ")], keeps="right"
        )
        self._draw_page()

    def _draw_page(self) -> None:
        deed = self._deed()
        lines = [line(cell(_NOTHING, "muted"))] if deed is None else deed_lines(deed)
        self.query_one("#preview", TextPage).show(lines, home=True)

    @on(RowList.CursorMoved)
    def _moved(self) -> None:
        self._draw_page()

    @on(RowList.Opened)
    def _opened(self, message: RowList.Opened) -> None:
        """Open what the deed was about."""
        deed = self.desk.activity.deed(message.id)
        if deed is None:
            return
        if deed.kind == "issue":
            self.open_issue(deed.about)
        elif deed.kind == "session":
            self.open_session(deed.about)
        elif deed.kind == "plan":
            self.open_plan(deed.about)

    def action_other_pane(self) -> None:
        """Go between list and page."""
        page = self.query_one("#preview", TextPage)
        (page if self.listed.has_focus and page.display else self.listed).focus()


def _row(deed: Deed) -> Row:
    glyph, role = _LOOKS[deed.came]
    undo = {True: "yes", False: "no", None: ""}[deed.can_undo]
    return Row(
        deed.id,
        (
            Cell(time_of_day(deed.at_ms), "muted"),
            Cell(SafeStr(deed.verb), "bold"),
            Cell(SafeStr(f"{glyph} {deed.came}"), role),
            Cell(shown(deed.about), "muted"),
            Cell(SafeStr(undo), "muted"),
        ),
    )


def deed_lines(deed: Deed) -> list[TextLine]:
    """All that is known of a deed."""
    glyph, role = _LOOKS[deed.came]
    undo = {True: "can be undone: ", False: "cannot be undone: ", None: ""}[deed.can_undo]
    lines = [
        line(cell(f"{glyph} {deed.came}", f"bold {role}"), cell(f" {deed.code}" if deed.code else "", "bold")),
        line(Cell(deed.said), hang=2),
        line(),
        labelled("action", SafeStr(deed.verb), "bold"),
        labelled(deed.kind, shown(deed.about)),
        labelled("when", moment(deed.at_ms)),
    ]
    if deed.change:
        arrow = [Cell(deed.before, "muted"), cell(" → ", "accent")] if deed.before else []
        lines.append(line(cell("changed     ", "muted"), *arrow, Cell(deed.after, "bold"), hang=12))
    elif deed.before:
        lines.append(labelled("stood at", deed.before))
    lines += [labelled("undo", SafeStr(f"{undo}{deed.undo}")), line(), heading("The same from a shell")]
    return [*lines, line(Cell(deed.command), hang=2)]
