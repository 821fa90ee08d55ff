"""What the feeds share that ask from time to time whether something has changed.

The asking and its pauses are in a thread of their own: while nothing changes, the event loop is not woken at all.
A failure is told once, however often it is tried again, and the next look that works is told whatever it finds.
Source: console page, section 9.
"""

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Final

from textual.message import Message

from phelix_core.commands.environment import Environment
from phelix_core.commands.faults import unforeseen
from phelix_core.errors import PhelixError
from phelix_tui.waiting import OwnThread, at_once

AGAIN_S: Final = 2.0
"""Pause after a look that failed."""


class PolledFeed(ABC):
    """The loop; `post` takes its messages and is called from the event loop only."""

    def __init__(self, env: Environment, post: Callable[[Message], object], *, poll_s: float) -> None:
        self._env = env
        self._post = post
        self._poll_s = poll_s
        self._wake = threading.Event()
        self._left = False
        self._failing: str | None = None
        self.ready: Callable[[], Awaitable[None]] = at_once
        """Waited for before anything is told."""

    def stirred(self) -> None:
        """This process wrote: look now."""
        self._wake.set()

    async def run(self) -> None:
        """Tell whatever changes, for ever."""
        self._left = False
        with OwnThread(type(self).__name__, self._leave) as thread:
            while True:
                message = await thread.run(self._until_news)
                if message is not None:
                    await self.ready()
                    self._post(message)
                await asyncio.sleep(0)  # what is told is taken before the next look

    def _leave(self) -> None:
        self._left = True
        self._wake.set()

    def _until_news(self) -> Message | None:
        while not self._left:
            self._wake.clear()
            message = self._look()
            if message is not None:
                return message
            self._wake.wait(self._poll_s if self._failing is None else AGAIN_S)
        return None

    def _look(self) -> Message | None:
        """What there is to tell; whatever happens, the loop goes on."""
        try:
            message = self._news()
        except PhelixError as error:
            return self._failed(error)
        except Exception as error:  # noqa: BLE001 - a worker's edge: a feed that died would look as if nothing happened
            return self._failed(unforeseen(error))
        self._failing = None
        return message

    def _failed(self, error: PhelixError) -> Message | None:
        self._forget()
        before, self._failing = self._failing, error.code
        hint = f" {error.hint}" if error.hint else ""
        return None if before == error.code else self._told(error.code, f"{error.message}{hint}")

    @abstractmethod
    def _news(self) -> Message | None:
        """Look, in the thread; None where nothing has changed since the last look that was not forgotten."""

    @abstractmethod
    def _told(self, code: str, text: str) -> Message:
        """The message of a failure."""

    @abstractmethod
    def _forget(self) -> None:
        """After a failure: the next look is of everything."""
