"""A process that applies: it locks, runs one command and says what happens, a line each, until it is killed.

    python -m tests.core.arc.applier '{"argv": […], …}'

Said are `begun PID STARTED BOOT`, `told LINE`, and at the end `outcome JSON` or `interrupted`. With `"hold": true` the
record of the begin is not made before a line came in; with `"file_size": N` no file may grow larger; with `"patient":
true` a command that was asked to end has an hour; with `"unwaited": true` the system forgets how a child ended.
"""

import fcntl
import json
import os
import resource
import signal
import sys
from typing import Any

from phelix_core.arc import executor
from phelix_core.arc.executor import Execution, Outcome, run_command
from phelix_core.clock import SystemClock
from phelix_core.frozen import members_in
from phelix_core.processes import ProcessIdentity


def locked(path: str) -> int:
    """A descriptor that holds the lock at `path`."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return descriptor


def say(*words: object) -> None:
    """One line, at once."""
    print(*words, flush=True)


def apply(asked: dict[str, Any]) -> Outcome:
    """Run what is asked for."""

    def begun(identity: ProcessIdentity) -> None:
        say("begun", identity.pid, identity.started, identity.boot)
        if asked.get("hold"):
            sys.stdin.readline()

    def told(line: str) -> None:
        say("told", line)

    if asked.get("unwaited"):
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    if asked.get("patient"):
        executor.__dict__["GRACE_S"] = 3600.0
    if "file_size" in asked:
        resource.setrlimit(resource.RLIMIT_FSIZE, (asked["file_size"], asked["file_size"]))
    ask = Execution(
        argv=tuple(asked["argv"]),
        folder=asked["folder"],
        environ=asked["environ"],
        time_limit_s=asked["time_limit_s"],
        log_path=asked["log_path"],
        lock_fd=locked(asked["lock"]),
    )
    return run_command(ask, clock=SystemClock(), begun=begun, told=None if asked.get("quiet") else told)


def peak_kib() -> int:
    """The most memory that this program had; `ru_maxrss` would count what forked it as well."""
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:"))


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job begins with it ignored
    try:
        outcome = apply(json.loads(sys.argv[1]))
    except KeyboardInterrupt:
        say("interrupted")
    else:
        say("outcome", json.dumps({**members_in(outcome), "peak_kib": peak_kib()}))
