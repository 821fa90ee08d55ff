"""From a queue that changes to messages: the board, what changed of it, that it failed, that there is none.

Four times a second one thread asks whether the file is still the same, and whether somebody committed
(`PRAGMA data_version`); the board is read only then, and only what is behind the last event known. Reading
changes neither, so a quiet queue is never read. What this process commits itself does not move its own
`data_version`: whoever writes says `stirred`. Source: console page, section 9.
"""

import os
from collections.abc import Callable
from typing import Final

from textual.message import Message

from phelix_core.clock import moment_of
from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.errors import NotFound
from phelix_core.queue.board import Board
from phelix_tui.backlog import Backlog
from phelix_tui.messages import BoardFailed, BoardLoaded, QueueGone
from phelix_tui.polled import PolledFeed

POLL_S: Final = 0.25
_HOLDERS_S: Final = 2.0
"""How often holders that named their process are looked at: a process ends without a word to the queue."""
_MANY: Final = 2_000


class QueueFeed(PolledFeed):
    """The loop over the queue's file."""

    def __init__(self, env: Environment, post: Callable[[Message], object]) -> None:
        super().__init__(env, post, poll_s=POLL_S)
        self._file: tuple[int, int] | None = None
        self._version: int | None = None
        self._seq: int | None = None
        self._gone: tuple[str, ...] = ()
        self._holders_named = False
        self._holders_due = 0.0
        self._forced = True
        self._told_of: type[Message] | None = None
        """The message told last, where it was no failure's."""
        self.looks = 0
        """How often the board was read."""

    def stirred(self) -> None:
        """This process wrote: look now, whatever `data_version` says."""
        self._forced = True
        super().stirred()

    def _told(self, code: str, text: str) -> Message:
        return BoardFailed(code, text)

    def _forget(self) -> None:
        self._seq = self._version = self._told_of = None

    def _news(self) -> Message | None:
        file = self._identity()
        if file != self._file:  # made, removed, or another one in its place: connections know the old one
            self._env.queue.close()
            self._file, self._seq, self._version = file, None, None
        if file is None:
            return self._absent()
        forced, self._forced = self._forced, False
        version = self._env.queue.version()
        holders = self._holders_named and self._env.clock.monotonic() >= self._holders_due
        if self._seq is not None and version == self._version and not forced and not holders:
            return None
        return self._read(version)

    def _absent(self) -> Message | None:
        before, self._told_of = self._told_of, QueueGone
        return None if before is QueueGone else QueueGone()

    def _read(self, version: int | None) -> Message | None:
        self.looks += 1
        raw = {} if self._seq is None else {"since": self._seq}
        envelope = run(load_command("queue board"), raw, self._env)
        if isinstance(envelope.error, NotFound):
            return self._absent()
        if envelope.error is not None:
            raise envelope.error
        assert isinstance(envelope.result, Board)  # noqa: S101 - what this command answers
        board = envelope.result
        # The version was read before the board: what is committed in between is looked for again.
        self._seq, self._version = board.seq, version
        self._holders_named = self._holders_named or any(lease.holder_pid is not None for lease in board.leases)
        self._holders_due = self._env.clock.monotonic() + _HOLDERS_S
        is_news = board.whole or bool(board.issues) or board.gone != self._gone
        self._gone = board.gone
        before, self._told_of = self._told_of, BoardLoaded
        if not is_news and before is BoardLoaded:
            return None
        return BoardLoaded(board, self._sorted(board) if board.whole and len(board.issues) > _MANY else None)

    def _sorted(self, board: Board) -> Backlog:
        """Many issues take a second to sort: in this thread."""
        backlog = Backlog()
        backlog.take(board, moment_of(self._env.clock))
        return backlog

    def _identity(self) -> tuple[int, int] | None:
        """Which file the queue is now; None where there is none."""
        try:
            found = os.stat(self._env.queue.path)
        except OSError:
            return None
        return found.st_dev, found.st_ino
