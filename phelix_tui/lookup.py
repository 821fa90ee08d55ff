"""Asks the core, again and again, which sessions the terms on references of the filter fit.

One ask at a time: while one runs, any number of reasons for another become one. Another filter is asked for
at once, and what an ask finds for a filter that is not wanted any more is forgotten. What changes in records
is asked for a second after the last ask, and what plans and operations do, of which nothing tells, every
three seconds; a fleet so large that an ask takes long is asked less often, so that this never takes more
than a third of one processor while records change, and a tenth while they do not. A failed ask is told and
tried again at the same pace.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from textual.message import Message

from phelix_core.envelope import Envelope
from phelix_tui.desk import Desk
from phelix_tui.messages import LookupFailed, LookupFinished, LookupTookLong

LONG_S: Final = 0.3
"""From when on an ask is told to be under way."""
_CHANGED_S: Final = 1.0
_CHANGED_SHARE: Final = 2.0
_QUIET_S: Final = 3.0
_QUIET_SHARE: Final = 9.0


class Lookup:
    """The loop; `post` takes its messages and may be called from the event loop only."""

    def __init__(self, desk: Desk, post: Callable[[Message], object]) -> None:
        self._desk = desk
        self._post = post
        self._wake = asyncio.Event()
        self._changed = False
        self._ended = float("-inf")
        self._took = 0.0
        self._asked: frozenset[str] | None = None

    def filtered(self) -> None:
        """Another filter is wanted."""
        if self._desk.arrangement.filtering.is_pending:
            self._asked = None
        self._wake.set()

    def changed(self) -> None:
        """Records have changed."""
        self._changed = True
        self._wake.set()

    async def run(self) -> None:
        """Ask whenever it is time to, for ever."""
        while True:
            await self._due()
            await self._ask()

    async def _due(self) -> None:
        """Wait until there is something to ask, and it is time to."""
        while (wait := self._wait()) is None or wait > 0:
            self._wake.clear()
            if wait is None:
                await self._wake.wait()
            else:
                await asyncio.wait({woken := asyncio.ensure_future(self._wake.wait())}, timeout=wait)
                woken.cancel()

    def _wait(self) -> float | None:
        """For how long the next ask has to wait; None while there is nothing to ask."""
        wanted = self._desk.arrangement.filtering.lookups
        if not wanted:
            return None
        if wanted != self._asked:
            return 0.0
        least, share = (_CHANGED_S, _CHANGED_SHARE) if self._changed else (_QUIET_S, _QUIET_SHARE)
        return self._ended + max(least, self._took * share) - self._now()

    def _now(self) -> float:
        return self._desk.env.clock.monotonic()

    async def _ask(self) -> None:
        asked, began, self._changed = self._desk.arrangement.filtering.lookups, self._now(), False
        slow = asyncio.get_running_loop().call_later(LONG_S, self._post, LookupTookLong())
        try:
            message = await self._answered(asked)
        finally:
            slow.cancel()
        self._asked, self._ended = asked, self._now()
        self._took = self._ended - began
        self._post(message)

    async def _answered(self, asked: frozenset[str]) -> Message:
        """What the core finds for each of `asked`; nothing once something else is wanted."""
        answers = dict[str, frozenset[str]]()
        for where in asked:
            found = await self._desk.matching(where, self._desk.arrangement.filtering.answers.get(where))
            if self._desk.arrangement.filtering.lookups != asked:
                return LookupFinished({})
            if isinstance(found, Envelope):
                told = found.failure()
                return LookupFailed(str(told["code"]), str(told["message"]))
            answers[where] = found
        return LookupFinished(answers)
