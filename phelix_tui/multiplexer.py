"""Escape sequences on their way to the terminal itself, through tmux or screen where one stands in between.

A multiplexer takes sequences for its own and drops those that it does not know; wrapped as a device control
string it hands them on. tmux does so where `allow-passthrough` is on, screen always, in small pieces. Neither says
whether it did. Pure: the environment is handed in. Source: console page, sections 3 and 11 (clipboard, bell).
"""

from collections.abc import Mapping
from typing import Final

_SCREEN_PIECE: Final = 76
"""Characters that screen takes in one string; it cuts off what is longer, from some hundreds on."""
_MUTE: Final = ("", "dumb", "linux")
"""Terminals that would print an operating system command instead of obeying or dropping it."""


def in_tmux(environ: Mapping[str, str]) -> bool:
    """Whether tmux draws the terminal, here or at the other end of a connection."""
    return bool(environ.get("TMUX")) or environ.get("TERM", "").startswith("tmux")


def takes_commands(environ: Mapping[str, str]) -> bool:
    """Whether the terminal is one that takes operating system commands, or drops them unseen."""
    return environ.get("TERM", "") not in _MUTE


def wrapped(sequence: str, environ: Mapping[str, str]) -> str:
    """The sequence as it must be written here to reach the terminal."""
    if in_tmux(environ):
        doubled = sequence.replace("\x1b", "\x1b\x1b")
        return f"\x1bPtmux;{doubled}\x1b\\"
    if environ.get("STY"):
        pieces = (sequence[at : at + _SCREEN_PIECE] for at in range(0, len(sequence), _SCREEN_PIECE))
        return "".join(f"\x1bP{piece}\x1b\\" for piece in pieces)
    return sequence
