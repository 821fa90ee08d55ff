"""How far a terminal is behind what was written to it: live updates wait for it, what a person does never.

A slow line does not push back: a connection takes megabytes before it says no, and the screen then tells of minutes
ago. So every frame ends with a question that terminals answer at once (DECRQM, mode 2026: the same that asks for
synchronized output), and while a frame is unanswered the feeds read nothing more: changes gather in the watch, and
the next frame shows what is true by then. A terminal that never answered is told by what the process itself still
holds. Source: issue of scale, speed page (console rows); console page, section 9.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Final

QUESTION: Final = "\x1b[?2026$p"
WINDOW: Final = 1
"""Frames that may be under way."""
UNSENT_BYTES: Final = 4_096
"""What may wait to be taken by the system before a line counts as behind."""
GIVE_UP_S: Final = 10.0
"""A question that is not answered for so long went unheard: it is waited for no more."""
_AGAIN_S: Final = 0.05


class Line:
    """One terminal's answers; everything is called from the event loop."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._asked: deque[float] = deque()
        self._came = asyncio.Event()
        self._answers = False
        self.unsent: Callable[[], int] = int
        """Bytes that were written and that the system has not taken yet."""

    def asks(self) -> bool:
        """Note that a frame was written; whether a question should follow it."""
        if self._answers:
            self._asked.append(self._monotonic())
        return self._answers

    def answered(self) -> None:
        """The terminal has answered a question: all before it has arrived."""
        self._answers = True
        if self._asked:
            self._asked.popleft()
        self._came.set()

    @property
    def is_behind(self) -> bool:
        """Whether more should wait."""
        if self._asked and self._monotonic() - self._asked[0] >= GIVE_UP_S:
            self._asked.clear()
            self._answers = False
        return len(self._asked) >= WINDOW or self.unsent() > UNSENT_BYTES

    async def ready(self) -> None:
        """Wait until the terminal has caught up, or is given up."""
        while self.is_behind:
            self._came.clear()
            try:
                await asyncio.wait_for(self._came.wait(), _AGAIN_S)
            except TimeoutError:
                continue
