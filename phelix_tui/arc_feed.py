"""From plans, approvals and operations that change to messages: the board, or that it could not be looked at.

Twice a second one thread asks for the board. While nothing has changed that costs the stamps of a few folders and
files, and the answer is the very object that was told last, so that nobody is told again. An operation whose process
goes without a word is found by that look, too. Source: console page, section 9 and Approvals.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, cast

from textual.message import Message

from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_tui.messages import PlansFailed, PlansLoaded
from phelix_tui.polled import PolledFeed

if TYPE_CHECKING:
    from phelix_core.arc.board import ArcBoard

POLL_S: Final = 0.5


class ArcFeed(PolledFeed):
    """The loop over the board of plans."""

    def __init__(self, env: Environment, post: Callable[[Message], object]) -> None:
        super().__init__(env, post, poll_s=POLL_S)
        self._board: ArcBoard | None = None

    def _news(self) -> Message | None:
        envelope = run(load_command("arc board"), {}, self._env)
        if envelope.error is not None:
            raise envelope.error
        before, self._board = self._board, cast("ArcBoard", envelope.result)
        return PlansLoaded(self._board) if self._board is not before else None

    def _told(self, code: str, text: str) -> Message:
        return PlansFailed(code, text)

    def _forget(self) -> None:
        self._board = None
