"""A list of any length in which the cursor and the marks belong to ids, never to places.

What this promises: the cursor stays on the row it was put on, however rows come, go and change their
order; a changed row repaints its own line and nothing else; every line is exactly as wide as the
widget; and the cost of a change does not grow with the number of rows.

Lines are drawn by `render_line` from plain segments, so no text is ever read as markup. Cells hold
`SafeStr`; `cells.fit` sees to their width. The cursor and the marks have glyphs of their own in a
gutter of two cells, because colour alone says nothing to some people and some terminals.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from phelix_core.frozen import frozen_in_order
from phelix_core.text import SafeStr
from phelix_tui.cells import Align, fit
from phelix_tui.theming import role_colour, theme_colour
from phelix_tui.widgets.scrolled import Scrolled

CURSOR_GLYPH = "›"
MARK_GLYPH = "*"
GUTTER = 2
"""Cells before the first column: one for the cursor's glyph, one for the mark's."""
ROOMY = 100
"""From this width on, columns stand two cells apart instead of one."""
_CACHED_STRIPS = 1024


class Cell(NamedTuple):
    """Text of one column, and the role (see `theming.ROLES`) that colours it."""

    text: SafeStr
    role: str = ""


@frozen_in_order
class Row:
    """One line: `cells` stand in the order of the columns; two rows are equal if they look equal."""

    id: str
    cells: tuple[Cell, ...]


@frozen_in_order
class Column:
    """One column. `width` is in cells, for a flexible one the least it is given.

    `drop_order`: columns that do not fit leave in this order, 1 first; 0 never leaves. At least one
    column should be `flex`: those that are share what the others leave.
    """

    name: str
    title: SafeStr
    width: int
    flex: bool = False
    drop_order: int = 0
    align: Align = "left"


class Place(NamedTuple):
    """Where a column landed: its place among the columns, its width, the gap after it, its side."""

    column: int
    width: int
    gap: int
    align: Align


def lay_out(columns: Sequence[Column], width: int) -> tuple[Place, ...]:
    """Give `columns` their widths in a line of `width` cells, gutter included.

    Droppable columns leave until the rest fits. If what must stay is still too wide, the flexible
    columns shrink to nothing, and the line is cut at its end.
    """
    gap = 2 if width >= ROOMY else 1
    kept = list(enumerate(columns))

    def spare() -> int:
        return width - GUTTER - sum(column.width + gap for _, column in kept) + gap

    for pair in sorted((p for p in kept if p[1].drop_order), key=lambda p: p[1].drop_order):
        if spare() >= 0:
            break
        kept.remove(pair)
    flexible = [index for index, column in kept if column.flex]
    each, rest = divmod(spare(), len(flexible) or 1)
    extra = {index: each + (place < rest) for place, index in enumerate(flexible)}
    places = [Place(index, max(0, column.width + extra.get(index, 0)), gap, column.align) for index, column in kept]
    return tuple(places[:-1] + [place._replace(gap=0) for place in places[-1:]])


class RowList(Scrolled, can_focus=True, inherit_bindings=False):
    """The list. Rows go in by `set_rows` and `patch`; what the user does comes out as messages."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {"rowlist--header"}
    DEFAULT_CSS = """
    RowList {
        width: 1fr;
        height: 1fr;
        overflow-x: hidden;
        overflow-y: scroll;
        background: $background;
        color: $foreground;
        scrollbar-size-vertical: 1;
        & > .rowlist--header { color: $foreground; background: $panel; text-style: bold; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "cursor_by(1)", "Down", show=False, id="list.down"),
        Binding("k,up", "cursor_by(-1)", "Up", show=False, id="list.up"),
        Binding("g,home", "cursor_to_start", "First", show=False, id="list.first"),
        Binding("G,end", "cursor_to_end", "Last", show=False, id="list.last"),
        Binding("ctrl+d", "cursor_by_page(0.5)", "Half a page down", show=False, id="list.half-down"),
        Binding("ctrl+u", "cursor_by_page(-0.5)", "Half a page up", show=False, id="list.half-up"),
        Binding("pagedown", "cursor_by_page(1)", "Page down", show=False, id="list.page-down"),
        Binding("pageup", "cursor_by_page(-1)", "Page up", show=False, id="list.page-up"),
        Binding("enter", "open", "Open", show=False, id="list.open"),
    ]

    @dataclass
    class CursorMoved(Message):
        """The cursor is on `id` now; `lost` is the id it was on, if that one has left the list."""

        row_list: "RowList"
        id: str | None
        lost: str | None = None

        @property
        def control(self) -> "RowList":
            """The list that speaks, for selectors."""
            return self.row_list

    @dataclass
    class Opened(Message):
        """The user asked for the row `id`: enter, a double click, or a click on the cursor's row."""

        row_list: "RowList"
        id: str

        @property
        def control(self) -> "RowList":
            """The list that speaks, for selectors."""
            return self.row_list

    @dataclass
    class MarksChanged(Message):
        """The user or the program marked or unmarked rows; `marks` is the whole set now."""

        row_list: "RowList"
        marks: frozenset[str]

        @property
        def control(self) -> "RowList":
            """The list that speaks, for selectors."""
            return self.row_list

    @dataclass
    class HeaderClicked(Message):
        """The user clicked the title of a column."""

        row_list: "RowList"
        column: str

        @property
        def control(self) -> "RowList":
            """The list that speaks, for selectors."""
            return self.row_list

    def __init__(
        self,
        columns: Sequence[Column] = (),
        *,
        placeholder: SafeStr = SafeStr(""),  # noqa: B008 - an immutable string
        id: str | None = None,  # noqa: A002 - Textual's own name
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._columns = tuple(columns)
        self._places: tuple[Place, ...] | None = None
        self._drawn_for = -1
        """Cells that places and strips were made for."""
        self._sorted: tuple[str, str] | None = None
        self._ids: list[str] = []
        self._given: dict[str, Row] = {}
        self._draw: Callable[[str], Row] = self._given.__getitem__
        self._seen: dict[str, Row] = {}
        self._index: dict[str, int] = {}
        self._cursor_id: str | None = None
        self._marks: frozenset[str] = frozenset()
        self._last_mark: str | None = None
        self._hidden: int | None = 0
        self._placeholder = placeholder
        self._strips: LRUCache[tuple[str, bool, bool, bool], tuple[Row, Strip]] = LRUCache(_CACHED_STRIPS)
        self._styles_of: dict[tuple[str, str], Style] = {}
        self._opened_by_click = False

    # What the program says

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns, also those that do not fit at the moment."""
        return self._columns

    def set_columns(self, columns: Sequence[Column]) -> None:
        """Replace the columns; the rows that follow must have a cell for each."""
        self._columns = tuple(columns)
        self._forget_strips()
        self.refresh()

    def mark_sorted(self, column: str, arrow: str) -> None:
        """Say in the header by which column the rows are sorted, and which way."""
        if self._sorted != (column, arrow):
            self._sorted = (column, arrow)
            self.refresh(Region(0, 0, max(1, self.size.width), 1))

    def shows(self, column: str) -> bool:
        """Whether a column has room at the moment."""
        places = self._laid_out(self.size.width - self.scrollbar_size_vertical)
        return any(self._columns[place.column].name == column for place in places)

    def _title(self, column: Column) -> Cell:
        """A column's title, with the arrow where the rows are sorted by it."""
        if self._sorted is None or column.name != self._sorted[0]:
            return Cell(column.title)
        return Cell(SafeStr(f"{column.title[: max(0, column.width - 1)]}{self._sorted[1]}"))

    @property
    def placeholder(self) -> SafeStr:
        """What an empty list says in its first line."""
        return self._placeholder

    @placeholder.setter
    def placeholder(self, text: SafeStr) -> None:
        if text != self._placeholder:
            self._placeholder = text
            self.refresh()

    def set_rows(self, rows: Sequence[Row]) -> None:
        """Replace content and order by rows that are all there. Two rows of one id raise ValueError."""
        given = {row.id: row for row in rows}
        if len(given) != len(rows):
            raise ValueError("two rows have the same id")
        self._arrange(list(given), given.__getitem__)
        self._given = given

    def set_order(self, ids: Sequence[str], draw: Callable[[str], Row]) -> None:
        """Replace the order; `draw` makes the row of an id when it comes into sight.

        O(len(ids)); only lines that look different are repainted. The cursor stays on its id, at the same
        height of the screen where that can be. If the id is gone it goes to the first row that used to follow
        it and is still here, else to the last that came before, and `CursorMoved` names the id that was lost.
        Marks stay, also those of rows that are not shown (`hidden_marks`). Ids must differ.
        """
        self._arrange(ids, draw)
        self._given = {}

    def _arrange(self, ids: Sequence[str], draw: Callable[[str], Row]) -> None:
        index = {row_id: place for place, row_id in enumerate(ids)}
        if len(index) != len(ids):
            raise ValueError("two rows have the same id")
        before = self._faces()
        anchor_id, anchor_line = self._anchor()
        heir = self._heir(index)
        lost, moved = self._cursor_id, heir != self._cursor_id
        self._ids, self._draw, self._index, self._cursor_id = list(ids), draw, index, heir
        self._hidden = None
        self._fit_extent()
        self._keep_height(heir if anchor_id == lost else anchor_id, anchor_line)
        self._repaint_differences(before)
        if moved:
            self.post_message(self.CursorMoved(self, heir, lost))

    def patch(self, rows: Iterable[Row]) -> None:
        """Change the content of known ids in place, whatever their number; unknown ids are ignored.

        O(rows given). Order, cursor and scroll position stay. Each changed row on the screen repaints
        its one line.
        """
        changed: list[int] = []
        for row in rows:
            place = self._index.get(row.id)
            if place is None:
                continue
            if row.id in self._given:
                self._given[row.id] = row
            if self._seen.get(row.id) != row:
                self._seen[row.id] = row
                changed.append(place)
        self._refresh_rows(*changed)

    # What the program asks

    @property
    def row_count(self) -> int:
        """How many rows there are."""
        return len(self._ids)

    @property
    def rows(self) -> Sequence[Row]:
        """All rows, in order, drawn for whoever asks: for tests and small lists."""
        return [self._draw(row_id) for row_id in self._ids]

    @property
    def ids(self) -> Sequence[str]:
        """The ids, in order."""
        return tuple(self._ids)

    @property
    def cursor_id(self) -> str | None:
        """The id under the cursor; None only while the list is empty."""
        return self._cursor_id

    @property
    def cursor_row(self) -> Row | None:
        """The row under the cursor."""
        return None if self._cursor_id is None else self._draw(self._cursor_id)

    @property
    def visible_ids(self) -> tuple[str, ...]:
        """The ids on the screen now, from above."""
        top = self.scroll_offset.y
        return tuple(self._ids[top : top + self._page])

    def move_to(self, row_id: str) -> bool:
        """Put the cursor on `row_id` and scroll to it; False if the list does not hold it."""
        place = self._index.get(row_id)
        if place is None:
            return False
        self._go(place)
        return True

    # Marks

    @property
    def marks(self) -> frozenset[str]:
        """The marked ids, hidden ones included."""
        return self._marks

    @marks.setter
    def marks(self, marks: Iterable[str]) -> None:
        wanted = frozenset(marks)
        changed = wanted ^ self._marks
        if not changed:
            return
        self._marks, self._hidden = wanted, None
        if self._last_mark not in wanted:
            self._last_mark = None
        self._refresh_rows(*(self._index[row_id] for row_id in changed if row_id in self._index))
        self.post_message(self.MarksChanged(self, wanted))

    @property
    def hidden_marks(self) -> frozenset[str]:
        """The marked ids that the list does not hold at the moment."""
        return frozenset(row_id for row_id in self._marks if row_id not in self._index)

    @property
    def hidden_mark_count(self) -> int:
        """How many marks are hidden; counted when marks or order have changed, not each time somebody asks."""
        if self._hidden is None:
            self._hidden = len(self.hidden_marks)
        return self._hidden

    def toggle_mark(self, row_id: str | None = None) -> None:
        """Mark or unmark `row_id`, or the cursor's row; an empty list has nothing to mark."""
        target = self._cursor_id if row_id is None else row_id
        if target is not None:
            self._last_mark = target
            self.marks = self._marks ^ {target}

    def mark_range(self) -> None:
        """Mark every row from the last one marked to the cursor's; where that one is not here, the cursor's alone."""
        if self._cursor_id is None:
            return
        place = self._cursor_place
        start = place if self._last_mark is None else self._index.get(self._last_mark, place)
        self._last_mark = self._cursor_id
        self.marks = self._marks.union(self._ids[min(start, place) : max(start, place) + 1])

    # What the user does

    def action_cursor_by(self, rows: int) -> None:
        """Move the cursor by a number of rows."""
        self._go(self._cursor_place + rows)

    def action_cursor_by_page(self, pages: float) -> None:
        """Move the cursor by pages; half a page is at least one row."""
        step = max(1, int(abs(pages) * self._page))
        self._go(self._cursor_place + (step if pages > 0 else -step))

    def action_cursor_to_start(self) -> None:
        """Move the cursor to the first row."""
        self._go(0)

    def action_cursor_to_end(self) -> None:
        """Move the cursor to the last row."""
        self._go(len(self._ids) - 1)

    def action_open(self) -> None:
        """Ask for the cursor's row to be opened."""
        if self._cursor_id is not None:
            self.post_message(self.Opened(self, self._cursor_id))

    def on_click(self, event: events.Click) -> None:
        """Select the row under the mouse; open it if it was selected before, or by a double click."""
        offset = event.get_content_offset(self)
        if offset is not None and offset.y == 0 and event.button == 1:
            event.stop()
            self._click_header(offset.x)
            return
        place = -1 if offset is None or offset.y < 1 else self.scroll_offset.y + offset.y - 1
        if event.button != 1 or not 0 <= place < len(self._ids):
            return
        event.stop()
        opens = self._ids[place] == self._cursor_id
        if event.chain == 1:
            self._opened_by_click = opens
        elif self._opened_by_click:
            return  # The first click of this chain has opened it already.
        else:
            self._opened_by_click = opens
        self._go(place)
        if opens:
            self.action_open()

    def _click_header(self, x: int) -> None:
        """Tell which column's title stands at `x`."""
        start = GUTTER
        for place in self._laid_out(self.size.width - self.scrollbar_size_vertical):
            if start <= x < start + place.width:
                self.post_message(self.HeaderClicked(self, self._columns[place.column].name))
            start += place.width + place.gap

    # How it is drawn

    def render_line(self, y: int) -> Strip:
        """Draw line `y` of the widget: the header, a row, or nothing."""
        width = self.size.width
        if width != self._drawn_for:
            self._forget_strips()
            self._drawn_for = width
        if y == 0:
            return self._line(
                tuple(self._title(column) for column in self._columns),
                "  ",
                {"": self.get_component_rich_style("rowlist--header")},
                width,
            )
        place = self.scroll_offset.y + y - 1
        if place < len(self._ids):
            return self._row_strip(self._look(self._ids[place]), width)
        text = self._placeholder if y == 1 and not self._ids else ""
        return Strip([Segment(fit("  " + text, width), self._style("muted", "background"))], width)

    def _look(self, row_id: str) -> Row:
        """Draw a row, and remember how it was last seen."""
        if len(self._seen) > _CACHED_STRIPS:
            self._seen.clear()
        row = self._seen[row_id] = self._draw(row_id)
        return row

    def _row_strip(self, row: Row, width: int) -> Strip:
        """Draw `row` in its present state, from the cache if it looked the same before."""
        here, marked = row.id == self._cursor_id, row.id in self._marks
        key = (row.id, here, marked, self.has_focus)
        cached = self._strips.get(key)
        if cached is not None and cached[0] == row:
            return cached[1]
        ground = "background"
        if here:
            ground = "row-cursor" if self.has_focus else "row-cursor-blurred"
        elif marked:
            ground = "row-marked"
        gutter = (CURSOR_GLYPH if here else " ") + (MARK_GLYPH if marked else " ")
        styles = {role: self._style(role, ground) for role in {"", "accent", *(c.role for c in row.cells)}}
        strip = self._line(row.cells, gutter, styles, width)
        self._strips.discard(key)  # setting a known key would leave the strip of the row as it was
        self._strips[key] = (row, strip)
        return strip

    def _line(self, cells: tuple[Cell, ...], gutter: str, styles: dict[str, Style], width: int) -> Strip:
        """Set cells in their places; the answer is `width` cells wide whatever they hold.

        The last cell stays empty: the scroll bar is drawn over it.
        """
        plain = styles[""]
        segments = [Segment(fit(gutter, min(GUTTER, width)), styles.get("accent", plain))]
        left = width - GUTTER - self.scrollbar_size_vertical
        for place in self._laid_out(left + GUTTER):
            if left <= 0:
                break
            text, role = cells[place.column]
            taken = min(place.width, left)
            gap = min(place.gap, left - taken)
            left -= taken + gap
            if taken + gap:
                segments.append(Segment(fit(text, taken, place.align) + " " * gap, styles[role]))
        rest = max(0, left) + min(self.scrollbar_size_vertical, max(0, width - GUTTER))
        if rest:
            segments.append(Segment(" " * rest, plain))
        return Strip(segments, width)

    def _laid_out(self, width: int) -> tuple[Place, ...]:
        if self._places is None:
            self._places = lay_out(self._columns, width)
        return self._places

    def _style(self, role: str, ground: str) -> Style:
        """Rich style of `role` on the background variable `ground`, remembered until a theme changes."""
        style = self._styles_of.get((role, ground))
        if style is None:
            variables = self.app.theme_variables  # pyright: ignore[reportUnknownMemberType] - App[Unknown]
            back = self.background_colors[1]
            if ground != "background":
                back += theme_colour(variables, ground)
            fore = role_colour(variables, role)
            style = Style(
                color=(back + fore).rich_color if fore.a < 1 else fore.rich_color,
                bgcolor=back.rich_color,
                bold=ground == "row-cursor",
            )
            self._styles_of[role, ground] = style
        return style

    def _forget_strips(self) -> None:
        """Drop all that was drawn for other columns, widths or colours."""
        self._strips.clear()
        self._styles_of.clear()
        self._places = None

    def notify_style_update(self) -> None:
        """Follow a theme change (Textual's hook)."""
        super().notify_style_update()
        self._forget_strips()

    def on_resize(self) -> None:
        """Keep the cursor in sight; the columns are laid out as they are drawn."""
        self._fit_extent()
        if self._cursor_id is not None:
            self._scroll_into_view(self._cursor_place)

    # Where things are

    @property
    def _page(self) -> int:
        """Rows that fit on the screen, at least one."""
        return max(1, self.size.height - 1)

    @property
    def _cursor_place(self) -> int:
        return 0 if self._cursor_id is None else self._index[self._cursor_id]

    def _go(self, place: int) -> None:
        """Put the cursor on the row at `place`, or the nearest there is."""
        if not self._ids:
            return
        place = min(max(place, 0), len(self._ids) - 1)
        before, after = self._cursor_id, self._ids[place]
        self._cursor_id = after
        self._scroll_into_view(place)
        if before == after:
            return
        self._refresh_rows(place, *(() if before is None else (self._index[before],)))
        self.post_message(self.CursorMoved(self, after))

    def _heir(self, index: dict[str, int]) -> str | None:
        """Find the id that gets the cursor when the rows become those of `index`."""
        if self._cursor_id in index:
            return self._cursor_id
        start = self._cursor_place
        for row_id in (*self._ids[start:], *reversed(self._ids[:start])):
            if row_id in index:
                return row_id
        return next(iter(index), None)

    def _anchor(self) -> tuple[str | None, int]:
        """Name the row that should not move on the screen, and its line below the header.

        The cursor's, if it is in sight; else the topmost, so that what is being read stays in place.
        """
        top = self.scroll_offset.y
        if not self._ids:
            return None, 0
        if top <= self._cursor_place < top + self._page:
            return self._cursor_id, self._cursor_place - top
        return self._ids[min(top, len(self._ids) - 1)], 0

    def _keep_height(self, anchor_id: str | None, line: int) -> None:
        """Scroll so that the anchor is on its old line; a list at its top stays there if it can."""
        place = self._index.get(anchor_id or "", self._cursor_place)
        top = self.scroll_offset.y
        if top == 0 and place < self._page:
            return
        self._scroll_to_row(place - line)

    def _scroll_into_view(self, place: int) -> None:
        top = self.scroll_offset.y
        if place < top:
            self._scroll_to_row(place)
        elif place >= top + self._page:
            self._scroll_to_row(place - self._page + 1)

    def _scroll_to_row(self, top: int) -> None:
        """Show the row at `top` first; force, since a scrollbar that is not shown yet forbids it."""
        self.scroll_to(y=top, animate=False, force=True)

    def _fit_extent(self) -> None:
        """One line for each row, and one for the header that never scrolls away."""
        self.reach(self.size.width, len(self._ids) + 1)

    # What is repainted

    def _faces(self) -> list[tuple[str, Row | None, bool]]:
        """Say what each line below the header shows: id, row as last seen, and whether the cursor is there."""
        top = self.scroll_offset.y
        return [
            (row_id, self._seen.get(row_id), row_id == self._cursor_id) for row_id in self._ids[top : top + self._page]
        ]

    def _repaint_differences(self, before: list[tuple[str, Row | None, bool]]) -> None:
        """Repaint the lines that do not show any more what they showed."""
        after = [(row_id, self._draw(row_id), here) for row_id, _, here in self._faces()]
        if not before or not after:
            self.refresh()
            return
        longest = max(len(before), len(after))
        top = self.scroll_offset.y
        self._refresh_rows(
            *(top + line for line in range(longest) if before[line : line + 1] != after[line : line + 1])
        )

    def _refresh_rows(self, *places: int) -> None:
        """Repaint the lines of these rows, as far as they are on the screen."""
        top = self.scroll_offset.y
        width = max(1, self.size.width - self.scrollbar_size_vertical)
        seen = range(top, top + self._page)
        regions = [Region(0, place - top + 1, width, 1) for place in places if place in seen]
        if regions:
            self.refresh(*regions)
