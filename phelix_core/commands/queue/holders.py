"""Whether the process that holds a lease is still there, on this machine. Shown; nothing is decided by it."""

import os


def started_at(pid: int) -> int | None:
    """When a process was started, in ticks since the boot; 0 where the system does not tell, None if it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read(4096)
        fields = text[text.rindex(b")") + 2 :].split()
        return None if fields[0] in (b"Z", b"X") else int(fields[19])
    except FileNotFoundError:
        if os.path.isdir("/proc/self"):
            return None
    except (OSError, ValueError, IndexError):
        return 0
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except OSError:
        return 0
    return 0


def is_gone(pid: int | None, started: int | None, lease_boot: str, boot: str) -> bool | None:
    """Whether a holder is gone; None where nobody named it, or it ran on another boot of which nothing is known."""
    if pid is None or not boot or boot != lease_boot:
        return None
    now = started_at(pid)
    return now is None or (bool(started) and now not in {0, started})
