"""Stands in a process of `phelix` as its `sitecustomize` and watches what the process asks of the system.

Told by the environment: PHELIX_WATCH_LOG, a file to note each watched event in; PHELIX_WATCH_PAUSE, `<n> <fifo>`:
before its n-th change of a file, from 0 on, the process writes its number and the event to the FIFO and waits there
for ever; one that makes fewer waits at its end, when it has answered. Nothing of the product is replaced: these are
Python's own audit events, raised before the system is asked.
"""

import atexit
import os
import signal
import sys
from typing import Any, Final, NoReturn

CHANGES: Final = frozenset({"os.link", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.chmod"})
RUNS: Final = frozenset(
    {"subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "pty.spawn"}
)
REACHES: Final = frozenset({"socket.connect", "socket.bind", "socket.getaddrinfo", "socket.sendto"})
KILLS: Final = frozenset({"os.kill", "os.killpg", "signal.pthread_kill"})
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def _changes(event: str, args: tuple[Any, ...]) -> bool:
    """Whether the event is about to change, make or lock a file; one that is asked by its number was opened before."""
    if event == "open":
        return bool(args[2] & _WRITING) and not isinstance(args[0], int) and args[0] != os.devnull
    return event in CHANGES


def watch(log: str | None, pause: str | None) -> None:
    """Note events and wait before one of them."""
    number, _, fifo = (pause or "-1 ").partition(" ")
    left, within = int(number), False

    def wait(told: str) -> NoReturn:
        with open(fifo, "w", encoding="utf-8") as file:
            print(os.getpid(), told, file=file)
        while True:
            signal.pause()

    def seen(event: str, args: tuple[Any, ...]) -> None:
        nonlocal left, within
        changes = not within and _changes(event, args)
        if within or not (changes or event in RUNS | REACHES | KILLS):
            return
        within = True
        told = f"{'change' if changes else 'ask'} {event} {args[0]!s}"
        if log:
            with open(log, "a", encoding="utf-8") as file:
                print(told, file=file)
        if changes and left == 0:
            wait(told)
        left -= changes
        within = False

    def end() -> None:
        nonlocal within
        within = True
        wait("end")

    sys.addaudithook(seen)
    if pause:
        atexit.register(end)


if __name__ == "sitecustomize":
    watch(os.environ.get("PHELIX_WATCH_LOG"), os.environ.get("PHELIX_WATCH_PAUSE"))
