"""Which process it was, and whether it is still there: a pid alone may be another's by now.

A process is named by its pid, the tick since the boot at which it was started, and the id of that boot. Looked at is
this machine, by its own process ids: one that runs in another container or on another host is not found here. What
has ended and was not yet waited for is gone. Nothing is changed and nobody is signalled.
"""

import os
from typing import Final

from phelix_core.frozen import frozen

UNTOLD: Final = 0
"""A start time that the system does not tell."""

_PROC: Final = "/proc"
_ENDED: Final = (b"Z", b"X")
_STATE, _GROUP, _STARTED = 0, 2, 19  # fields of /proc/<pid>/stat behind the name, which may hold spaces and brackets


@frozen
class ProcessIdentity:
    """One process, told from all that had its pid or will have it."""

    pid: int
    started: int
    boot: str


def identity_of(pid: int, boot: str) -> ProcessIdentity | None:
    """Who has `pid` now, in the run of the machine that is called `boot`; None if nobody has."""
    started = started_at(pid)
    return None if started is None else ProcessIdentity(pid=pid, started=started, boot=boot)


def is_alive(identity: ProcessIdentity, boot: str) -> bool | None:
    """Whether that process still runs; None where it cannot be told: only that somebody has its pid.

    A reboot ended every process, so one of another boot than `boot` is gone.
    """
    if identity.pid <= 0:
        return None
    if boot and identity.boot and boot != identity.boot:
        return False
    now = started_at(identity.pid)
    if now is None:
        return False
    if UNTOLD in (now, identity.started):
        return None
    if now != identity.started:
        return False
    return True if boot and identity.boot else None  # the same tick of two boots is another process


def started_at(pid: int) -> int | None:
    """When a process was started, in ticks since the boot; `UNTOLD` where the system does not tell, None if gone."""
    try:
        fields = _fields(pid)
        return None if fields[_STATE] in _ENDED else int(fields[_STARTED])
    except (FileNotFoundError, ProcessLookupError):
        pass  # it has gone; or there is no /proc, or one that hides the processes of others
    except (OSError, ValueError, IndexError):
        return UNTOLD
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return None
    except OSError:
        return UNTOLD
    return UNTOLD


def group_lives(group: int) -> bool:
    """Whether any process of a process group still runs; those that ended and nobody waits for do not count.

    Without /proc they do count, where the system says that they can be signalled.
    """
    try:
        names = os.listdir(_PROC)
    except OSError:
        names = []
    pids = [int(name) for name in names if name.isdecimal()]
    if pids:
        return any(_is_in(group, pid) for pid in pids)
    try:
        os.killpg(group, 0)
    except OSError:
        return False
    return True


def members_of_group(group: int) -> list[int]:
    """The pids of a process group that still run, as far as /proc tells."""
    try:
        pids = [int(name) for name in os.listdir(_PROC) if name.isdecimal()]
    except OSError:
        return []
    return [pid for pid in pids if _is_in(group, pid)]


def holds_open(pid: int, path: str) -> bool | None:
    """Whether a process has the file at `path` open; None where that cannot be told."""
    try:
        wanted = os.stat(path)
    except FileNotFoundError:
        return False
    except OSError:
        return None
    try:
        numbers = os.listdir(f"{_PROC}/{pid}/fd")
    except OSError:
        return None
    for number in numbers:
        try:
            found = os.stat(f"{_PROC}/{pid}/fd/{number}")
        except OSError:
            continue  # closed meanwhile
        if (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino):
            return True
    return False


def holders_of(path: str) -> list[int]:
    """The pids of other processes than this one that have the file at `path` open, as far as can be told."""
    try:
        pids = sorted(int(name) for name in os.listdir(_PROC) if name.isdecimal())
    except OSError:
        return []
    return [pid for pid in pids if pid != os.getpid() and holds_open(pid, path)]


def _is_in(group: int, pid: int) -> bool:
    try:
        fields = _fields(pid)
        return int(fields[_GROUP]) == group and fields[_STATE] not in _ENDED
    except (OSError, ValueError, IndexError):
        return False


def _fields(pid: int) -> list[bytes]:
    with open(f"{_PROC}/{pid}/stat", "rb") as file:
        text = file.read(4096)
    return text[text.rindex(b")") + 2 :].split()
