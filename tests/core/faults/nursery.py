"""A process that has imported everything and forks one writer a case, since a start costs more than a write.

Run as a program it reads a list of cases a line (JSON) and answers the ids of their writers, which wait. The next line
lets them go, and the answer is their wait statuses. A writer's one line of output, its acknowledgement, goes to the
case's `out` file after the write returned; what it says on stderr goes there too.
"""

import ctypes
import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from select import select
from tempfile import TemporaryDirectory
from typing import Any, Self

from phelix_core.checks import Surface
from phelix_core.clock import SystemClock
from phelix_core.commands.environment import Environment, open_environment
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.settings import QUEUE_FILE, Settings
from tests.core.faults.naive import STORES
from tests.core.faults.naive_queue import QUEUES
from tests.core.faults.shim import faulty

_PR_SET_PTRACER = 0x59616D61
WORDS: dict[str, dict[str, object]] = {
    "session create": {"title": "Roll out the search service", "project": "search"},
    "session checkpoint": {"step": "deploy", "note": "two hosts answer their health check"},
    "session complete": {"result": "rolled out to all hosts"},
}
"""What each swept command is told, beside the session."""


def environment(data_dir: str, store: str) -> Environment:
    """The command line's environment on a real clock over `store`."""
    env = open_environment(Settings(data_dir=data_dir), Surface.CLI)
    if store in QUEUES:
        assert env.kept is not None
        env.kept["queue"] = QUEUES[store](f"{data_dir}/{QUEUE_FILE}", env.clock)
    sessions = STORES.get(store, STORES["real"])
    return replace(env, sessions=sessions(f"{data_dir}/sessions", SystemClock(), f"{data_dir}/cache"))


def write(case: dict[str, Any]) -> dict[str, Any]:
    """Carry the case's command out and say what its caller would be told."""
    env = environment(case["data_dir"], case["store"])
    with faulty(case.get("mode", "count"), case.get("at", 0)) as shim:
        try:
            envelope = run(load_command(case["command"]), case["raw"], env)
        except KeyboardInterrupt:
            return {"code": "CANCELLED", "calls": shim.made}
    code = "OK" if envelope.error is None else envelope.error.code
    return {"code": code, "calls": shim.made}


def _writer(case: dict[str, Any], gate: int, ready: int) -> None:
    """The forked child: wait, write, acknowledge. Between `ready` and the write it makes no call that is traced."""
    out = os.open(case["out"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(out, 1)
    os.dup2(out, 2)
    with suppress(OSError, AttributeError):  # let a sibling trace us where the system restricts that
        ctypes.CDLL(None).prctl(_PR_SET_PTRACER, ctypes.c_ulong(-1), 0, 0, 0)
    os.write(ready, b"r")
    select([gate], [], [])
    os.write(1, json.dumps(write(case)).encode())


def _warm_up() -> None:
    """Import all that a writer needs, so that none of its calls are an import's."""
    with TemporaryDirectory() as data_dir:
        env = environment(data_dir, "real")
        session: Any = run(load_command("session create"), {"title": "x"}, env).result
        for name in ("session checkpoint", "session complete"):
            raw = {**WORDS[name], "session_id": session.session_id}
            write({"data_dir": data_dir, "store": "real", "command": name, "raw": raw})
        warm_up_queue(data_dir)


def warm_up_queue(data_dir: str) -> None:
    """Claim, report and close once in a queue of its own."""
    env = environment(data_dir, "real")
    host: dict[str, object] = {"host": "h", "workload_classes": ["general"]}
    issue = {"task": "t", "priority": "low", "size": "S"}
    batch = json.dumps({"milestones": [{"milestone_key": "m", "description": "d", "issues": [issue]}]})
    words: dict[str, object] = {"summary": "s", "next_step": "n", "evidence": ["e"]}
    run(load_command("queue init"), {"name": "w"}, env)
    run(load_command("queue campaign"), {"project_name": "p", "campaign_name": "c"}, env)
    run(load_command("queue plan"), {"batch": batch}, env)
    claimed: Any = run(load_command("queue claim"), host, env).result
    held = {"lease": claimed["leaseId"]}
    run(load_command("queue checkpoint"), {**words, **held, "status": "in_progress"}, env)
    closed = run(load_command("queue close"), {**words, **held, "status": "done"}, env)
    assert closed.error is None
    env.queue.close()


def _serve() -> None:
    _warm_up()
    for line in sys.stdin:
        there, release = os.pipe()
        pids = [_fork(case, there, release) for case in json.loads(line)]
        os.close(there)
        print(json.dumps(pids), flush=True)
        sys.stdin.readline()
        os.close(release)  # every writer sees it at once
        print(json.dumps([os.waitpid(pid, 0)[1] for pid in pids]), flush=True)


def _fork(case: dict[str, Any], gate: int, release: int) -> int:
    """Make one writer; answers its process id once it waits at the gate, which opens when `release` is closed."""
    heard, ready = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 70
        try:
            os.close(release)
            _writer(case, gate, ready)
            status = 0
        finally:
            if status:
                sys.excepthook(*sys.exc_info())  # pyright: ignore[reportArgumentType]
            os._exit(status)
    os.close(ready)
    os.read(heard, 1)
    os.close(heard)
    return pid


@dataclass(frozen=True)
class Told:
    """What became of one writer: its wait status, and what it acknowledged (empty if it was killed)."""

    status: int
    code: str
    calls: list[str]
    noise: str


class Nursery:
    """The client's side; a context manager."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.core.faults.nursery"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[3],
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def _ask(self, line: str) -> list[int]:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def fork(self, case: dict[str, Any]) -> int:
        """Make the case's writer; answers its process id. It waits until `release`."""
        return self._ask(json.dumps([case]))[0]

    def release(self, case: dict[str, Any]) -> Told:
        """Let the writer go and wait for its end."""
        return _told(case, self._ask("go")[0])

    def release_all(self, cases: list[dict[str, Any]]) -> list[Told]:
        """Make a writer a case, let all go at the same moment, and wait for all."""
        self._ask(json.dumps(cases))
        return [_told(case, status) for case, status in zip(cases, self._ask("go"), strict=True)]


def _told(case: dict[str, Any], status: int) -> Told:
    said = Path(case["out"]).read_text()
    try:
        told: dict[str, Any] = json.loads(said)
    except ValueError:
        return Told(status, "", [], said)
    return Told(status, told["code"], told["calls"], "")


if __name__ == "__main__":
    _serve()
