"""A real `phelix plan apply` that is struck at one call of its own to the system, or is naive on purpose.

    python -m tests.core.arc.dying_applier '{"data_dir": …, "plan_id": …}'

With `"strikes": "applier"` or `"command"` that process is killed as the call number `at` is made, or with
`"when": "after"` right after it; with `"counts": true` it says at the end which call was the first of each name, and
how many there were. With `"waits": true` it says `ready`, and begins when a line came in. With `"is_naive": true` it
keeps no lock, and whatever is not finished it does again.
"""

import json
import os
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from phelix_core import files
from phelix_core.arc import executor, output, store
from phelix_core.arc.operations import Operation
from phelix_core.cli.main import main
from phelix_core.commands.arc import applying, operating
from phelix_core.errors import AlreadyExists, NotFound

CALLS = frozenset(
    {"chmod", "chown", "close", "fchmod", "fchown", "fstat", "fsync", "getpid", "link", "lstat", "mkdir", "open"}
    | {"killpg", "pipe", "read", "rename", "set_blocking", "unlink", "waitid", "write"}
)
MODULES: tuple[Any, ...] = (files, executor, output, applying, operating)


Strike = Callable[[str, int, str], None]
"""Is told a call's name and number, and whether it is before or after it."""


class StrikingOs:
    """Forwards everything to `os`; `strike` is told of each of `CALLS`, by its name and number, before and after."""

    def __init__(self, strike: Strike) -> None:
        self.made = 0
        self._strike = strike

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name not in CALLS:
            return real

        def call(*args: Any, **named: Any) -> Any:
            self.made += 1
            number = self.made
            self._strike(name, number, "before")
            answer = real(*args, **named)
            self._strike(name, number, "after")
            return answer

        return call


@contextmanager
def striking(strike: Strike, modules: tuple[Any, ...] = MODULES) -> Generator[StrikingOs]:
    """Let what applies work on a `StrikingOs`."""
    struck = StrikingOs(strike)
    try:
        for module in modules:
            module.os = struck
        yield struck
    finally:
        for module in modules:
            module.os = os


def once(name: str, does: Callable[[], object]) -> Strike:
    """A strike that does something just before the first call of that name."""
    struck: list[str] = []

    def strike(called: str, _: int, when: str) -> None:
        if called == name and when == "before" and not struck:
            struck.append(name)
            does()

    return strike


class NaiveStore(store.ArcStore):
    """Takes what was begun and never ended for something to do again, and locks nothing."""

    def told(self, operation: Operation) -> tuple[Operation, str]:
        if not operation.is_finished:
            raise NotFound
        return super().told(operation)

    def add_operation(self, operation: Operation) -> None:
        while True:
            for path in (f"{self._operations.path}/{operation.id}.json", self.log_of(operation.id)):
                with suppress(FileNotFoundError):
                    os.unlink(path)
            with suppress(AlreadyExists):
                return super().add_operation(operation)

    def application_lock(self, name: str) -> int:
        self._locks.prepare()
        return os.open(self.lock_of(name), os.O_RDWR | os.O_CREAT, 0o600)


def _victim(whom: str) -> int | None:
    if whom == "applier":
        return os.getpid()
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return int(children[0]) if children else None


def _apply(asked: dict[str, Any]) -> int:
    seen: dict[str, int] = {}

    def strike(name: str, number: int, when: str) -> None:
        seen.setdefault(name, number)
        if number != asked.get("at") or when != asked.get("when", "before"):
            return
        victim = _victim(asked["strikes"])
        if victim is not None:
            os.kill(victim, signal.SIGKILL)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # a shell's background, and nohup, ignore some
        signal.signal(number, signal.SIG_DFL if number != signal.SIGINT else signal.default_int_handler)
    if asked.get("is_naive"):
        store.__dict__["ArcStore"] = NaiveStore
    if asked.get("waits"):
        print("ready", file=sys.stderr, flush=True)
        sys.stdin.readline()
    with striking(strike) as struck:
        code = main(["plan", "apply", asked["plan_id"], f"--data-dir={asked['data_dir']}", "--json"])
    if asked.get("counts"):
        for name, number in [*seen.items(), ("calls", struck.made)]:
            print(name, number, file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(_apply(json.loads(sys.argv[1])))
