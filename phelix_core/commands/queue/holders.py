"""Whether the process that holds a lease is still there, on this machine. Shown; nothing is decided by it."""

from phelix_core.processes import UNTOLD, ProcessIdentity, is_alive


def is_gone(pid: int | None, started: int | None, lease_boot: str, boot: str) -> bool | None:
    """Whether a holder is gone; None where nobody named it, or it ran on another boot of which nothing is known."""
    if pid is None or not boot or boot != lease_boot:
        return None
    return is_alive(ProcessIdentity(pid=pid, started=started or UNTOLD, boot=boot), boot) is False
