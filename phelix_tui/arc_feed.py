"""From plans, approvals and operations that change to messages: the board, or that it could not be looked at.

Twice a second one thread asks for the board. While nothing has changed that costs the stamps of a few folders and
files, and the answer is the very object that was told last, so that nobody is told again. An operation whose process
goes without a word is found by that look, too. Source: console page, section 9 and Approvals.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, cast

from textual.message import Message

from phelix_core.commands.environment import Environment
from phelix_core.commands.faults import unforeseen
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.errors import PhelixError
from phelix_tui.messages import PlansFailed, PlansLoaded

if TYPE_CHECKING:
    from phelix_core.arc.board import ArcBoard

POLL_S: Final = 0.5
_AGAIN_S: Final = 2.0
"""Pause after a look that failed."""


class ArcFeed:
    """The loop; `post` takes its messages and may be called from the event loop only."""

    def __init__(self, env: Environment, post: Callable[[Message], object]) -> None:
        self._env = env
        self._post = post
        self._wake = asyncio.Event()
        self._board: ArcBoard | None = None
        self._failing: str | None = None

    def stirred(self) -> None:
        """This process wrote: look now."""
        self._wake.set()

    async def run(self) -> None:
        """Look whenever something may have changed, for ever."""
        while True:
            message = await asyncio.to_thread(self._look)
            if message is not None:
                self._post(message)
            try:
                await asyncio.wait_for(self._wake.wait(), POLL_S if self._failing is None else _AGAIN_S)
            except TimeoutError:
                continue
            self._wake.clear()

    def _look(self) -> Message | None:
        """What there is to tell; whatever happens, the loop goes on."""
        try:
            envelope = run(load_command("arc board"), {}, self._env)
        except Exception as error:  # noqa: BLE001 - a worker's edge: a feed that died would look as if nothing waited
            return self._failed(unforeseen(error))
        if envelope.error is not None:
            return self._failed(envelope.error)
        board = cast("ArcBoard", envelope.result)
        is_news = board is not self._board or self._failing is not None
        self._board, self._failing = board, None
        return PlansLoaded(board) if is_news else None

    def _failed(self, error: PhelixError) -> Message | None:
        """Tell of a failure once, however often it is tried again."""
        before, self._failing = self._failing, error.code
        hint = f" {error.hint}" if error.hint else ""
        return None if before == error.code else PlansFailed(error.code, f"{error.message}{hint}")
