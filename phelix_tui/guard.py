"""Keep what was typed before a person could read a dialog, and what was pasted, from acting.

Type-ahead is real: `x` and `y` typed in one breath confirm a dialog that nobody has seen. So all
input is dropped from the moment a dialog is pushed until 400 ms after its first paint, judged by the
time the input *arrived* (`event.time`), not by when it is handled. A paste reaches text fields only;
and what arrives within 100 ms after a paste is dropped too, since a pasted `ESC [ 201 ~` ends the
bracket early on some terminals and the rest then comes as keys.

Not covered: a terminal without bracketed paste, whose pastes cannot be told from fast typing. There
the first key that opens a dialog closes the guard behind it, and the rest is dropped.
Pilot's click bypasses `App.on_event`: the mouse is tested on a pty.
Source: console page, settled here; public report 18.
"""

import math
from collections.abc import Callable
from time import monotonic
from typing import Generic, TypeGuard, TypeVar

from textual import events
from textual.app import App
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input

Result = TypeVar("Result")
Answer = TypeVar("Answer")

DIALOG_S = 0.4
"""From a dialog's first paint, in seconds: nobody reads and answers faster."""
AFTER_PASTE_S = 0.1
"""After a paste, in seconds: what comes then was not typed."""
LONGEST_HOLD_S = 2.0
"""A dialog that was pushed and is not painted by then does not lock the keyboard any longer."""


class InputGuard:
    """Decide which input is dropped. Times are those of `event.time`: monotonic seconds."""

    def __init__(self, dialog_s: float = DIALOG_S, after_paste_s: float = AFTER_PASTE_S) -> None:
        self._dialog_s, self._after_paste_s = dialog_s, after_paste_s
        self._until = -math.inf
        self._pasted_at = -math.inf

    def hold(self, time: float) -> None:
        """Drop everything from now on: a dialog is being pushed. `arm` sets the end, at its first paint."""
        self._until = max(self._until, time + LONGEST_HOLD_S)

    def arm(self, time: float) -> None:
        """Drop what arrives, or has arrived, before `time` + 400 ms; `time` is that of the first paint."""
        self._until = time + self._dialog_s

    def drops(self, event: events.Event, focused: Widget | None) -> bool:
        """Whether the app should act as if `event` had not happened.

        Only keys, mouse events and pastes are ever dropped. Asking twice about one event answers twice
        the same.
        """
        if isinstance(event, events.Paste):
            early = event.time < self._until
            self._pasted_at = max(self._pasted_at, event.time)
            return early or not takes_text(focused)
        if isinstance(event, events.InputEvent):
            return event.time < self._until or 0 <= event.time - self._pasted_at < self._after_paste_s
        return False


def takes_text(widget: Widget | None) -> bool:
    """Whether `widget` is a text field that a paste may go to."""
    if widget is None or widget.disabled:
        return False
    # A text area is told by what it has: importing its class costs a thirtieth of the start, and nobody may need it.
    is_area = hasattr(widget, "document") and hasattr(widget, "read_only")
    return isinstance(widget, Input) or (is_area and not getattr(widget, "read_only", True))


class GuardedApp(App[Result], Generic[Result]):
    """An app whose input passes an `InputGuard` before anything else sees it."""

    def __init__(self, *, ansi_color: bool | None = None) -> None:
        super().__init__(ansi_color=ansi_color)
        self.guard = InputGuard()

    async def on_event(self, event: events.Event) -> None:
        """Drop what the guard does not let through (Textual's entrance for all input).

        Forwarded events are judged as well: a key that was handed to a widget before the dialog came
        bubbles back here, and Textual would look its binding up in the dialog.
        """
        if self.guard.drops(event, self._paste_target(event)):
            event.stop()
            return
        if self._is_late_text(event):
            event.stop()
            self.focused.post_message(events.Key(event.key, event.character))  # pyright: ignore[reportOptionalMemberAccess]
            return
        await super().on_event(event)

    def _is_late_text(self, event: events.Event) -> TypeGuard[events.Key]:
        """Whether a character comes back unused from a widget that lost the focus to a text field meanwhile.

        A text field uses every character it gets, so this one was typed right behind the key that opened the
        field. It is text, and must not act as a key.
        """
        is_text = isinstance(event, events.Key) and event.is_forwarded and event.is_printable
        return is_text and bool(self.screen_stack) and takes_text(self.focused)

    def _paste_target(self, event: events.Event) -> Widget | None:
        return self.focused if isinstance(event, events.Paste) and self.screen_stack else None

    def push_dialog(self, screen: ModalScreen[Answer], callback: Callable[[Answer | None], None] | None = None) -> None:
        """Push a dialog behind the guard: held from now, open 400 ms after its first paint."""
        self.guard.hold(monotonic())
        self.push_screen(screen, callback)
        screen.call_after_refresh(self._painted)

    def _painted(self) -> None:
        self.guard.arm(monotonic())
