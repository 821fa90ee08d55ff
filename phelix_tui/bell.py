"""What is worth a bell: only that something *became* so, told together, not too often, and never at the first look.

Whoever watches hands in, for each kind, the ids of which it is true now; `Bell` answers what to say, if anything.
The first time a kind is handed in is quiet, so the ids must be those of a whole look: hand in nothing before one, and
nothing while looking fails. What turned while the bell had to be silent is told at the next chance, as far as it is
still so. A muted kind goes on being followed, so that nothing old rings once it is heard again.
Pure: the clock's seconds are handed in. Source: console page, section 11 (notifications).
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

from phelix_core.frozen import frozen_in_order
from phelix_core.text import SafeStr
from phelix_core.views.shown import shown
from phelix_tui.multiplexer import takes_commands, wrapped

EVERY_S: Final = 10.0
"""From one bell to the next, at least."""
_LONGEST: Final = 200
"""Characters of a notification; desktops cut off less."""

STALE: Final = "stale"
FAILED: Final = "failed"
UNREADABLE: Final = "unreadable"
CONFLICT: Final = "conflict"
ISSUE_STALE: Final = "issue-stale"
ISSUE_RECOVERY: Final = "issue-recovery"
ISSUE_FAILED: Final = "issue-failed"
WAITING: Final = "waiting"
INDETERMINATE: Final = "indeterminate"

WORDS: Final[Mapping[str, tuple[str, str, str]]] = {
    WAITING: ("plan", "plans", "began to wait for approval"),
    INDETERMINATE: ("operation", "operations", "became indeterminate"),
    CONFLICT: ("change", "changes", "met a conflict"),
    ISSUE_RECOVERY: ("issue", "issues", "came to need recovery"),
    ISSUE_STALE: ("issue", "issues", "became stale"),
    ISSUE_FAILED: ("issue", "issues", "failed"),
    STALE: ("session", "sessions", "became stale"),
    UNREADABLE: ("record", "records", "became unreadable"),
    FAILED: ("session", "sessions", "failed"),
}
"""What becomes so, one and many of it, and how that is said; the most pressing kind first."""

Name = Callable[[str, str], str]
"""A kind and an id; answers what a person calls it."""


@frozen_in_order
class Ring:
    """One bell: what it is about, a text a kind, and the kinds."""

    kinds: tuple[str, ...]
    texts: tuple[SafeStr, ...]

    @property
    def text(self) -> SafeStr:
        """All of it in one line: `3 sessions became stale; 1 plan began to wait for approval`."""
        return SafeStr("; ".join(self.texts))


class Bell:
    """Remembers what was so; `news` says when to ring. Times are seconds of one clock that never runs backwards."""

    def __init__(self, *, every_s: float = EVERY_S, muted: Iterable[str] = ()) -> None:
        self._every_s = every_s
        self._muted = set(muted)
        self._now: dict[str, frozenset[str]] = {}
        self._pending: dict[str, set[str]] = {}
        self._rung_s: float | None = None

    @property
    def muted(self) -> frozenset[str]:
        """The kinds that do not ring."""
        return frozenset(self._muted)

    def mute(self, kind: str) -> None:
        """Ring no more for a kind, also not for what waits to be told."""
        self._muted.add(kind)
        self._pending.pop(kind, None)

    def unmute(self, kind: str) -> None:
        """Ring again for what becomes so from now on."""
        self._muted.discard(kind)

    def due_s(self) -> float | None:
        """When to ask again although nothing changed; None while nothing waits to be told."""
        if not self._pending:
            return None
        return 0.0 if self._rung_s is None else self._rung_s + self._every_s

    def news(self, now: Mapping[str, Collection[str]], at_s: float, name: Name | None = None) -> Ring | None:
        """Take in of what each kind is true now (kinds left out are as before); answers the bell to ring, or None.

        `name` says what a single one is called; several are counted.
        """
        for kind, ids in now.items():
            self._take(kind, frozenset(ids))
        if not self._pending or (self._rung_s is not None and 0 <= at_s - self._rung_s < self._every_s):
            return None
        kinds = [kind for kind in WORDS if kind in self._pending]
        texts = tuple(self._told(kind, name) for kind in kinds)
        self._pending, self._rung_s = {}, at_s
        return Ring(tuple(kinds), texts)

    def _take(self, kind: str, ids: frozenset[str]) -> None:
        """Note what of a kind is new, and forget what is not so any more."""
        before, self._now[kind] = self._now.get(kind), ids
        if before is None or kind in self._muted:
            return
        pending = (self._pending.get(kind, set()) & ids) | (ids - before)
        if pending:
            self._pending[kind] = pending
        else:
            self._pending.pop(kind, None)

    def _told(self, kind: str, name: Name | None) -> SafeStr:
        """A kind's text."""
        ids, (one, many, became) = self._pending[kind], WORDS[kind]
        if len(ids) > 1:
            return SafeStr(f"{len(ids):,} {many} {became}")
        called = name(kind, next(iter(ids))) if name is not None else ""
        return shown(f"{called} {became}") if called else SafeStr(f"1 {one} {became}")


def sounded(text: str, environ: Mapping[str, str]) -> bytes:
    """The bytes that ring a terminal's bell and show `text` as its notification (OSC 9).

    The text is made safe here, too, and begins with our name: what begins with a number is another command of OSC 9
    to some terminals. The bell itself is tmux's to hear, so it is not wrapped.
    """
    if not takes_commands(environ):
        return b"\x07"
    told = shown(text)
    told = told if len(told) <= _LONGEST else f"{told[:_LONGEST]}…"
    return f"\x07{wrapped(f'{_OSC9}phelix: {told}{_END}', environ)}".encode("utf-8", "replace")


_OSC9: Final = "\x1b]9;"
_END: Final = "\x07"
