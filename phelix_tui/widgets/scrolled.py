"""What lists and pages of text share: how far they reach, told without laying the whole screen out.

Textual lays out and paints a screen whenever a widget's virtual size changes. What is out of sight looks the same,
however much of it there is. So the scroll bar alone is told; its column is always there (`overflow-y: scroll`), and
nothing beside it moves when it has something to show. Source: console page, section 10.
"""

from math import ceil
from typing import Final

from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar

_FINE: Final = 8


class Scrolled(ScrollView, inherit_bindings=False):
    """A scroll view whose extent may change at every record."""

    def reach(self, width: int, height: int) -> None:
        """Take `width` and `height` as all that there is, seen or not; what fits has a bar without a thumb."""
        size = Size(width, max(height, self.container_size.height))
        if size != self.virtual_size:
            self.set_reactive(Scrolled.virtual_size, size)  # pyright: ignore[reportArgumentType] - a reactive on the class
            self._fit_scroll_bar(size.height)
            if self.scroll_offset.y > self.max_scroll_y:
                self.scroll_to(y=self.max_scroll_y, animate=False, force=True)

    def _fit_scroll_bar(self, height: int) -> None:
        """Tell the bar how much there is; it is painted where that shows."""
        bar = self.vertical_scrollbar
        before = _thumb(bar)
        bar.set_reactive(ScrollBar.window_virtual_size, height)
        if _thumb(bar) != before:
            bar.refresh()


def _thumb(bar: ScrollBar) -> tuple[int, int]:
    """Where a scroll bar's thumb begins, and how long it is, in eighths of a cell: as fine as it is drawn."""
    height, whole, seen = bar.size.height, bar.window_virtual_size, bar.window_size
    length = max(1.0, seen * height / max(1, whole))
    return int((height - length) * bar.position / max(1, whole - seen) * _FINE), ceil(length * _FINE)
