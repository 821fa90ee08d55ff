"""After the terminal's size has changed: fit what is shown to the size there is, paint it, give the focus back.

Textual alone loses three things when sizes follow each other fast, as they do while a window is dragged or a
multiplexer reattaches. A terminal that shrank and grew at once has lost its cells, and is not painted since
its size is the same as before. The last size may be lost: the handler of SIGWINCH reads it, is interrupted by
the next signal, and then posts what is old after what is new. And a widget that had no room for a moment loses
the focus for good, so that the keyboard is dead. So, once the sizes are still, the terminal is asked again,
and all is painted once more. Source: console page, public report 17.
"""

import shutil
from time import monotonic
from typing import Any, TypeVar

from textual.events import Resize
from textual.geometry import Size
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from phelix_tui.guard import GuardedApp

Result = TypeVar("Result")

_STILL_S = 0.1


class FittingApp(GuardedApp[Result]):
    """An app whose screens fit the terminal, whatever happened to its size."""

    def __init__(self, *, ansi_color: bool | None = None) -> None:
        super().__init__(ansi_color=ansi_color)
        self._had_focus: dict[Screen[Any], Widget] = {}
        self._fitting: Timer | None = None
        self._opened_at = float("inf")
        self._was_resized = False

    def on_mount(self) -> None:
        """Sizes that were told before there was anything to paint need no second painting."""
        self._opened_at = monotonic()

    def on_resize(self, event: Resize) -> None:
        """Remember where the keyboard is, and wait until the sizes are still."""
        self._was_resized = self._was_resized or event.time > self._opened_at
        self.forget_painted()
        for screen in self.screen_stack:
            if screen.focused is not None:
                self._had_focus[screen] = screen.focused
        self._fit_soon()

    def _fit_soon(self) -> None:
        if self._fitting is not None:
            self._fitting.stop()
        self._fitting = self.set_timer(_STILL_S, self._fit)

    def _fit(self) -> None:
        """Paint everything, or take the size that the terminal really has and look again."""
        size = self._real_size()
        if size != self.size:
            self.post_message(Resize(size, size))
            return
        self._give_focus_back()
        if self._was_resized:
            self._was_resized = False
            self.paint_anew()

    def forget_painted(self) -> None:
        """The terminal may show anything; for those who keep account of it."""

    def paint_anew(self) -> None:
        """Paint everything, whatever the terminal shows."""
        self.forget_painted()
        self.refresh()

    def _real_size(self) -> Size:
        """The terminal's size now, read where Textual reads it; a console without a terminal is as large as told."""
        return self.size if self.is_headless else Size(*shutil.get_terminal_size(self.size))

    def _give_focus_back(self) -> None:
        """Focus what had it, as far as it is still there and has room again."""
        for screen, widget in list(self._had_focus.items()):
            if screen not in self.screen_stack or not widget.is_attached or screen.focused is not None:
                del self._had_focus[screen]
            elif widget.focusable and widget.size.area:
                screen.set_focus(widget, scroll_visible=False)
