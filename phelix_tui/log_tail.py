"""The end of an operation's log, read as it grows: whole lines, safe for a terminal, never more than so many.

A look reads what was appended since the last one, in a thread, and nothing else. Where it begins the log is read from
its last 64 KiB on. What a command printed is another program's text: each line passes `shown`. Source: console page,
Approvals.
"""

import asyncio
from codecs import getincrementaldecoder
from typing import Final

from phelix_core.commands.arc.board import PART, LogPart
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.text import SafeStr
from phelix_core.views.shown import shown
from phelix_tui.desk import Desk

FIRST_LINES: Final = 200
"""Lines that are there when the log is opened, at most."""
MOST_LINES: Final = 2_000
"""Lines that are kept of what comes then."""
LONGEST: Final = 2_000
"""Characters of one line that are shown."""
_PARTS: Final = 8
"""Parts that one look reads, at most."""


class LogTail:
    """One log's end; `lines` are replaced and never changed in place."""

    def __init__(self, desk: Desk, operation_id: str) -> None:
        self.operation_id = operation_id
        self.lines: tuple[SafeStr, ...] = ()
        self.is_cut = False
        """Whether the log holds more before these lines."""
        self._env = desk.env
        self._next: int | None = None
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._whole: tuple[SafeStr, ...] = ()
        self._rest = ""
        self._looking = False

    async def look(self) -> bool:
        """Read what was appended; answers whether there was anything. While a look is under way no other begins."""
        if self._looking:
            return False
        self._looking = True
        try:
            return await asyncio.to_thread(self._look)
        finally:
            self._looking = False

    def _look(self) -> bool:
        before = self.lines
        for _ in range(_PARTS):
            if self._take_part() < PART:
                break
        self.lines = (*self._whole, _for_a_page(self._rest)) if self._rest else self._whole
        return self.lines != before

    def _take_part(self) -> int:
        """Read the next part; answers its size."""
        is_first = self._next is None
        raw = {"operation_id": self.operation_id, **({} if is_first else {"start": self._next})}
        part = run(load_command("arc log"), raw, self._env).result
        if not isinstance(part, LogPart) or not part.data:
            return 0
        self._next = part.begin + len(part.data)
        *found, self._rest = (self._rest + self._decoder.decode(part.data)).split("\n")
        if len(self._rest) > PART:
            found, self._rest = [*found, self._rest], ""
        starts_within = is_first and part.begin > 0
        lines = (*self._whole, *map(_for_a_page, found[1:] if starts_within else found))
        most = FIRST_LINES if is_first else MOST_LINES
        self.is_cut = self.is_cut or starts_within or len(lines) > most
        self._whole = lines[-most:]
        return 0 if is_first else len(part.data)


def _for_a_page(text: str) -> SafeStr:
    """One line; of one that is very long the start, its secrets looked for beyond it."""
    if len(text) <= LONGEST:
        return shown(text)
    return SafeStr(f"{shown(text[: 2 * LONGEST])[:LONGEST]}…")
