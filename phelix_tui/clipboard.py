"""Copying, by the first way that works, and saying which: a program, tmux, the terminal, else a private file.

- A program of this machine's screen (`wl-copy`, `xclip`, `xsel`, `pbcopy`), where that screen is the one that a
  person sits at: over SSH `pbcopy` would fill the clipboard of the wrong machine.
- tmux, which keeps the text in a buffer of its own and hands it to the terminal where it is allowed to.
- OSC 52 to the terminal, which cannot say whether it took it; what is larger than terminals take is not sent.
- A file of mode 0600 in the data directory's cache, put in place whole.

`ways` decides and touches nothing; `copy` does it, from any thread, raises nothing, and takes no longer than the
deadline for each program. The text is exact: only what is *said* about it is made safe. What is copied may be
secret, so it stands in no argument and in no message. Source: console page, Terminals; public report terok #819.
"""

import base64
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from phelix_core.clock import SystemClock
from phelix_core.errors import AlreadyExists, PhelixError
from phelix_core.files import Folder
from phelix_core.frozen import frozen_in_order
from phelix_core.text import SafeStr
from phelix_core.views.shown import shown
from phelix_tui.multiplexer import takes_commands, wrapped

DEADLINE_S: Final = 2.0
"""What one program gets; a display that does not answer keeps `xclip` waiting for ever."""
LARGEST_OSC52: Final = 74_994
"""Bytes of text: in base64, with its frame, the 100,000 bytes that terminals take as one sequence."""
FILE: Final = "copied.txt"
_LOCK: Final = ".copied.txt.lock"

PROGRAM: Final = "program"
TMUX: Final = "tmux"
TERMINAL: Final = "terminal"
KEPT: Final = "file"
"""Kinds of ways."""

_WAYLAND: Final = ("wl-copy", "--type", "text/plain")
_X11: Final = (("xclip", "-selection", "clipboard", "-in"), ("xsel", "--clipboard", "--input"))
_TMUX: Final = ("tmux", "load-buffer", "-w", "-")


@frozen_in_order
class Way:
    """One way to try; `argv` is that of the program which takes the text on its standard input."""

    kind: str
    name: str
    argv: tuple[str, ...] = ()


@frozen_in_order
class Copied:
    """How it went: the kind of way that took it, None where none did; `told` finishes a sentence about the text."""

    kind: str | None
    told: SafeStr


def ways(environ: Mapping[str, str], size: int, which: Callable[[str], str | None]) -> tuple[Way, ...]:
    """Ways that could work here for a text of `size` bytes, in the order to try; the file is always the last.

    `which` finds a program's path, or None.
    """
    found = [
        Way(kind, argv[0], (path, *argv[1:]))
        for kind, argv in _programs(environ)
        if (path := which(argv[0])) is not None
    ]
    if size <= LARGEST_OSC52 and takes_commands(environ) and environ.get("TERM_PROGRAM") != "Apple_Terminal":
        found.append(Way(TERMINAL, "OSC 52"))
    return (*found, Way(KEPT, FILE))


def _programs(environ: Mapping[str, str]) -> list[tuple[str, tuple[str, ...]]]:
    is_remote = bool(environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"))
    programs: list[tuple[str, tuple[str, ...]]] = []
    if environ.get("WAYLAND_DISPLAY"):
        programs.append((PROGRAM, _WAYLAND))
    if environ.get("DISPLAY"):  # over SSH it is the forwarded one, and so the person's own
        programs += [(PROGRAM, argv) for argv in _X11]
    if not is_remote:
        programs.append((PROGRAM, ("pbcopy",)))
    if environ.get("TMUX"):
        programs.append((TMUX, _TMUX))
    return programs


def osc52(data: bytes, environ: Mapping[str, str]) -> str:
    """The sequence that hands `data` to the terminal's clipboard."""
    return wrapped(f"\x1b]52;c;{base64.b64encode(data).decode()}\x07", environ)


def copy(
    text: str,
    *,
    environ: Mapping[str, str] = os.environ,
    write: Callable[[str], object] | None = None,
    folder: str | None = None,
    deadline_s: float = DEADLINE_S,
) -> Copied:
    """Copy `text` by the first way that works; answers which, in words for a toast.

    `write` takes characters for the terminal; without it nothing goes there. `folder` is the data directory's cache;
    without it no file is written.
    """
    data = text.encode("utf-8", "replace")
    failed: list[str] = []
    for way in ways(environ, len(data), lambda name: shutil.which(name, path=environ.get("PATH"))):
        try:
            told = _tried(way, data, environ=environ, write=write, folder=folder, deadline_s=deadline_s)
        except Exception as error:  # noqa: BLE001 - an edge: a copy that failed is told, and ends nothing
            failed.append(f"{way.name} {_why(error, deadline_s)}")
            continue
        if told is not None:
            return Copied(way.kind, shown(f"{told}{_after(failed)}"))
    if len(data) > LARGEST_OSC52:
        failed.append("too large for OSC 52")
    return Copied(None, shown(f"could not be copied: {'; '.join(failed) or 'there is no way to do it here'}"))


class _Refused(Exception):
    """A program ended with an error; the message says how."""


def _tried(
    way: Way,
    data: bytes,
    *,
    environ: Mapping[str, str],
    write: Callable[[str], object] | None,
    folder: str | None,
    deadline_s: float,
) -> str | None:
    """Go one way; answers what to say, None where the way is not open, and raises where it failed."""
    if way.kind in (PROGRAM, TMUX):
        _feed(way.argv, data, environ, deadline_s)
        return f"copied by {way.name}"
    if way.kind == TERMINAL and write is not None:
        write(osc52(data, environ))
        return "sent to the terminal by OSC 52, which cannot say whether it took it"
    if way.kind == KEPT and folder is not None:
        _keep(folder, data)
        return f"written to {_at_home(f'{folder}/{FILE}', environ)}"
    return None


def _feed(argv: tuple[str, ...], data: bytes, environ: Mapping[str, str], deadline_s: float) -> None:
    """Give `data` to a program; what it says is dropped, and nothing of it may hold a pipe of ours open.

    `xclip` and `wl-copy` leave a process behind that serves the text: in a session of its own it outlives the
    console, and ctrl+c there does not reach it.
    """
    nothing = subprocess.DEVNULL
    with subprocess.Popen(  # noqa: S603 - a path that was looked up, fixed arguments, no shell
        argv, stdin=subprocess.PIPE, stdout=nothing, stderr=nothing, env=dict(environ), start_new_session=True
    ) as program:
        try:
            program.communicate(data, deadline_s)
        except BaseException:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(program.pid, signal.SIGKILL)
            raise
    if program.returncode:
        raise _Refused(f"ended with status {program.returncode}")


def _keep(folder: str, data: bytes) -> None:
    """Put the private file in place: a reader sees the old one or the new one, and no link is followed."""
    cache = Folder(folder, SystemClock())
    try:
        cache.create(FILE, data)
    except AlreadyExists:
        with cache.locked(FILE, _LOCK) as before:
            cache.replace(FILE, data, before)


def _why(error: Exception, deadline_s: float) -> str:
    """What went wrong, without a word of what was copied."""
    if isinstance(error, subprocess.TimeoutExpired):
        return f"did not end within {deadline_s:g} s"
    if isinstance(error, _Refused):
        return str(error)
    if isinstance(error, PhelixError):
        return f"could not be written: {error.message.rstrip('.')}"
    return f"failed: {os.strerror(error.errno)}" if isinstance(error, OSError) and error.errno else "failed"


def _after(failed: list[str]) -> str:
    return f" ({'; '.join(failed)})" if failed else ""


def _at_home(path: str, environ: Mapping[str, str]) -> str:
    home = environ.get("HOME", "")
    return f"~{path[len(home) :]}" if home and path.startswith(f"{home}/") else path
