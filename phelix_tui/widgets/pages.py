"""Text on the screen: a bar of one line, and a page of lines that scrolls.

Both draw segments, so that nothing is read as markup, and both are exactly as wide as they are. Cells name
roles; themes give them colours.
"""

from collections.abc import Sequence
from typing import ClassVar, Literal

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from phelix_core.text import SafeStr
from phelix_tui.cells import cell_width, fit
from phelix_tui.theming import role_colour
from phelix_tui.widgets.rowlist import Cell
from phelix_tui.widgets.scrolled import Scrolled
from phelix_tui.wrapping import TextLine, wrapped

Side = Literal["left", "right"]


class RoleStyles:
    """Rich styles of roles on a widget's own background, remembered until its style changes."""

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self._known: dict[str, Style] = {}

    def of(self, role: str) -> Style:
        """The style of a role; `bold` before a role's name makes it bold."""
        style = self._known.get(role)
        if style is None:
            variables = self._widget.app.theme_variables  # pyright: ignore[reportUnknownMemberType] - App[Unknown]
            name = role.removeprefix("bold").strip()
            fore, back = role_colour(variables, name), self._widget.background_colors[1]
            colour = (back + fore) if fore.a < 1 else fore
            style = Style(color=colour.rich_color, bgcolor=back.rich_color, bold=role.startswith("bold") or None)
            self._known[role] = style
        return style

    def forget(self) -> None:
        """Ask the theme again."""
        self._known.clear()


class Bar(Widget):
    """One line: cells on the left, cells on the right.

    Where both do not fit the left gives way, unless the right would leave it nothing; a bar that `keeps` one
    side gives all the room to that one.
    """

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    Bar { height: 1; width: 1fr; background: $panel; color: $foreground; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id, classes=classes)
        self._left: tuple[Cell, ...] = ()
        self._right: tuple[Cell, ...] = ()
        self._keeps: Side | None = None
        self._styles = RoleStyles(self)

    def show(self, left: Sequence[Cell], right: Sequence[Cell] = (), *, keeps: Side | None = None) -> None:
        """Set what the bar says; repaints only if it says something else."""
        self._keeps = keeps
        said = (tuple(left), tuple(right))
        if said != (self._left, self._right):
            self._left, self._right = said
            self.refresh()

    @property
    def text(self) -> str:
        """What the bar says, without roles."""
        return "".join(cell.text for cell in (*self._left, *self._right))

    def notify_style_update(self) -> None:
        """Follow a theme change (Textual's hook)."""
        super().notify_style_update()
        self._styles.forget()

    def render_line(self, y: int) -> Strip:
        """Draw the line."""
        width = self.size.width
        if y:
            return Strip.blank(width)
        right = sum(cell_width(cell.text) for cell in self._right)
        least = sum(cell_width(cell.text) for cell in self._left) if self._keeps == "left" else 1
        kept = self._right if right + least < width or self._keeps == "right" else ()
        right = min(right, width) if kept else 0
        gap = min(1, width - right) if kept else 0
        segments = self._segments(self._left, width - right - gap)
        segments += self._segments((), gap)
        segments += self._segments(kept, right)
        return Strip(segments, width)

    def _segments(self, cells: Sequence[Cell], width: int) -> list[Segment]:
        """Cells in exactly `width` cells."""
        segments: list[Segment] = []
        for cell in cells:
            taken = min(cell_width(cell.text), width)
            if taken:
                segments.append(Segment(fit(cell.text, taken), self._styles.of(cell.role)))
            width -= taken
        if width:
            segments.append(Segment(" " * width, self._styles.of("")))
        return segments


class TextPage(Scrolled, can_focus=True, inherit_bindings=False):
    """Lines of text that wrap to the width and scroll."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    TextPage {
        width: 1fr; height: 1fr; overflow-x: hidden; overflow-y: scroll;
        background: $background; color: $foreground; scrollbar-size-vertical: 1;
        padding: 0 1;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "scroll_down", "Down", show=False, id="page.down"),
        Binding("k,up", "scroll_up", "Up", show=False, id="page.up"),
        Binding("g,home", "scroll_home", "First line", show=False, id="page.first"),
        Binding("G,end", "scroll_end", "Last line", show=False, id="page.last"),
        Binding("ctrl+d,pagedown,space", "page_down", "Page down", show=False, id="page.page-down"),
        Binding("ctrl+u,pageup", "page_up", "Page up", show=False, id="page.page-up"),
    ]

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id, classes=classes)
        self._lines: tuple[TextLine, ...] = ()
        self._laid: list[tuple[Cell, ...]] = []
        self._wrapped: dict[TextLine, list[tuple[Cell, ...]]] = {}
        self._laid_for = -1
        self._styles = RoleStyles(self)

    def show(self, lines: Sequence[TextLine], *, home: bool = False) -> None:
        """Set the text; the place read stays, unless `home` asks for the top."""
        if tuple(lines) != self._lines:
            before, self._lines = self._laid, tuple(lines)
            self._lay_out()
            self._repaint_differences(before)
        if home:
            self.scroll_home(animate=False)

    @property
    def is_at_end(self) -> bool:
        """Whether the last line is in sight."""
        return self.scroll_offset.y >= self.max_scroll_y

    @property
    def text(self) -> str:
        """All lines, unwrapped, without roles."""
        return "\n".join("".join(cell.text for cell in text.cells) for text in self._lines)

    def _lay_out(self) -> None:
        """Wrap what was not there before; a page that ticks is mostly the page it was."""
        width = self._text_width()
        known = self._wrapped if self._laid_for == width else {}
        self._laid_for = width
        self._wrapped = {text: known.get(text) or wrapped(text, width) for text in self._lines}
        self._laid = [laid for text in self._lines for laid in self._wrapped[text]]
        self._take_room()

    def _take_room(self) -> None:
        """Be as high as the text."""
        self.reach(self._laid_for, len(self._laid))

    def _repaint_differences(self, before: Sequence[tuple[Cell, ...]]) -> None:
        """Repaint the text of the lines in sight that say something else."""
        top, width, height = self.scroll_offset.y, self._text_width(), self.content_size.height
        differing = [y for y in range(height) if before[top + y : top + y + 1] != self._laid[top + y : top + y + 1]]
        if differing:
            self.refresh(*(Region(0, y, width, 1) for y in differing))

    def _text_width(self) -> int:
        """Cells for text, beside the scroll bar."""
        return max(0, self.content_size.width - self.styles.scrollbar_size_vertical)

    @property
    def text_width(self) -> int:
        """Cells that a line of text may take, for those who lay out lines themselves."""
        return self._text_width()

    def on_resize(self) -> None:
        """Reach as far as the text does; it is wrapped as it is drawn."""
        self._fit_width()
        self._take_room()

    def _fit_width(self) -> None:
        """Wrap anew where the width has changed."""
        if self._laid_for != self._text_width():
            self._lay_out()

    def notify_style_update(self) -> None:
        """Follow a theme change (Textual's hook)."""
        super().notify_style_update()
        self._styles.forget()

    def render_line(self, y: int) -> Strip:
        """Draw one visible line."""
        self._fit_width()
        width = self.content_size.width
        place = self.scroll_offset.y + y
        cells = self._laid[place] if 0 <= place < len(self._laid) else ()
        segments: list[Segment] = []
        left = width
        for cell in cells:
            taken = min(cell_width(cell.text), left)
            if taken:
                segments.append(Segment(fit(cell.text, taken), self._styles.of(cell.role)))
            left -= taken
        if left > 0:
            segments.append(Segment(" " * left, self._styles.of("")))
        return Strip(segments, width)


def cell(text: SafeStr | str, role: str = "") -> Cell:
    """A cell; text that came from a record must be a `SafeStr` already."""
    return Cell(SafeStr(text), role)
