"""How the console itself is doing, as facts: its live view, the files behind it, the terminal it is drawn on.

Nothing is asked of the terminal, so no answer of its can be taken for a key. Texts are safe to show. Source: console
page, sections 2 (Doctor) and 9.
"""

import os
import shutil
from collections.abc import Callable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Final

from phelix_core.frozen import frozen, frozen_in_order
from phelix_core.redaction import redact
from phelix_core.text import SafeStr
from phelix_core.views.moments import long_span
from phelix_core.views.rows import BadRecord
from phelix_core.views.shown import shown
from phelix_tui.clipboard import KEPT, LARGEST_OSC52, TERMINAL, ways
from phelix_tui.multiplexer import in_tmux, takes_commands
from phelix_tui.watch import POLLING

if TYPE_CHECKING:
    from phelix_tui.desk import Desk
    from phelix_tui.feed import Feed

_FEW: Final = 3
_KIB: Final = 1024


@frozen_in_order
class Fact:
    """One thing to know, in the role that says how well it is."""

    name: str
    text: SafeStr
    role: str = ""


def live_facts(desk: "Desk", feed: "Feed") -> list[Fact]:
    """How changes come in: the watcher, its lag, what it missed, what cannot be read, clocks that disagree."""
    watch, now_s = feed.watch, desk.env.clock.monotonic()
    mode = f"{watch.mode}: {watch.reason}" if watch.reason else watch.mode
    again = f"; set up again {watch.restarts:,} times" if watch.restarts else ""
    lag = "not known yet" if watch.last_lag_ms is None else f"{watch.last_lag_ms:.0f} ms at the last change"
    last = (
        "none yet" if watch.last_event_at is None else f"{long_span(round((now_s - watch.last_event_at) * 1000))} ago"
    )
    looks = f"in {feed.scans:,} full looks"
    drift = f"{feed.drift:,} changes that no event told of, {looks}" if feed.drift else f"none {looks}"
    return [
        Fact("watcher", shown(f"{mode}{again}"), "warning" if watch.reason or watch.mode == POLLING else "ok"),
        Fact("lag", SafeStr(lag)),
        Fact("last event", SafeStr(last)),
        Fact("drift", SafeStr(drift), "warning" if feed.drift else "ok"),
        _quarantined(desk),
        _clock(desk),
        Fact("writes", shown(desk.locked or "allowed, each behind a confirmation"), "warning" if desk.locked else ""),
    ]


def _quarantined(desk: "Desk") -> Fact:
    """Records that cannot be read: told, kept as they are, and never written over."""
    many = desk.arrangement.summary().get("unreadable", 0)
    if not many:
        return Fact("quarantined", SafeStr("no record"), "ok")
    seen = ((one, desk.arrangement.found(one)) for one, state in desk.arrangement.pressing() if state == "unreadable")
    named = [f"{one} ({bad.code})" for one, bad in islice(seen, _FEW) if isinstance(bad, BadRecord)]
    more = f" and {many - len(named):,} more" if many > len(named) else ""
    return Fact("quarantined", shown(f"{many:,}: {', '.join(named)}{more}"), "error")


def _clock(desk: "Desk") -> Fact:
    """How far ahead of this machine's clock the records are that disagree with it."""
    many = desk.arrangement.summary().get("clock", 0)
    if not many:
        return Fact("clock", SafeStr("no record is from the future"), "ok")
    ahead = [
        (found.updated_at_ms - desk.now_ms(), one)
        for one, state in desk.arrangement.pressing()
        if state == "clock" and not isinstance(found := desk.arrangement.found(one), BadRecord) and found is not None
    ]
    most, who = max(ahead, default=(0, ""))
    return Fact("clock", shown(f"{many:,} from the future, the farthest by {long_span(most)}: {who}"), "warning")


def file_facts(desk: "Desk") -> list[Fact]:
    """Where the records are, and how large the queue's journal is; asks the file system."""
    facts = [Fact("directory", desk.place), Fact("sessions", SafeStr(f"{len(desk.arrangement):,} known"))]
    try:
        os.stat(desk.env.queue.path)
    except OSError:
        return [*facts, Fact("queue", SafeStr("none yet"))]
    try:
        wal = f"write-ahead log {os.stat(f'{desk.env.queue.path}-wal').st_size / _KIB:,.0f} KiB"
    except OSError:
        wal = "no write-ahead log"
    return [*facts, Fact("queue", shown(f"{desk.queue_place}, {wal}"))]


@frozen
class Screen:
    """What the console draws on: its size in cells, and the colours it sends."""

    width: int
    height: int
    colours: str


def terminal_facts(environ: Mapping[str, str], screen: Screen, which: Callable[[str], str | None]) -> list[Fact]:
    """What the terminal can do, as far as the environment tells; `which` finds a program's path, or None."""
    term, program = environ.get("TERM") or "not set", environ.get("TERM_PROGRAM", "")
    between = "tmux" if in_tmux(environ) else "screen" if environ.get("STY") else "none"
    remote = " over SSH" if environ.get("SSH_CONNECTION") or environ.get("SSH_TTY") else ""
    locale = environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG") or "not set"
    is_utf8 = "utf8" in locale.lower().replace("-", "")
    return [
        Fact("size", SafeStr(f"{screen.width}×{screen.height}")),
        Fact("colours", SafeStr(screen.colours)),
        Fact("terminal", shown(redact(f"TERM={term}{f', {program}' if program else ''}{remote}"))),
        Fact("multiplexer", SafeStr(between)),
        Fact("clipboard", _clipboard(environ, which)),
        Fact("bell", SafeStr("bell and notification" if takes_commands(environ) else "bell alone")),
        Fact("locale", shown(redact(locale)), "" if is_utf8 else "warning"),
    ]


def which_in(environ: Mapping[str, str]) -> Callable[[str], str | None]:
    """A look for programs along the path of an environment."""
    return lambda name: shutil.which(name, path=environ.get("PATH"))


def _clipboard(environ: Mapping[str, str], which: Callable[[str], str | None]) -> SafeStr:
    """The ways a copy would take, in the order they are tried."""
    words = {TERMINAL: "the terminal by OSC 52", KEPT: "a private file"}
    return shown(", else ".join(words.get(way.kind, way.name) for way in ways(environ, LARGEST_OSC52, which)))
