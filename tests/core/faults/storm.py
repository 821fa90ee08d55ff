"""A storm: many processes update few sessions at once, guarded by `if_rev`, while others read.

    python -m tests.core.faults.storm            16 processes, 60 sessions, 10,000 acknowledged updates
    python -m tests.core.faults.storm --full     the same ten times, each with another seed, and four readers

Each writer reads a session, asks for a change at the revision it saw, and notes what it was told. Afterwards every
record must hold exactly the acknowledged changes: none lost, none double, none that was refused.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.errors import PhelixError
from phelix_core.sessions.model import MAX_EVENTS
from tests.core.faults.nursery import environment

CHECKPOINT = "session checkpoint"
GIVE_UP = 100
"""So often may a writer meet an unreadable record before it stops."""


@dataclass(frozen=True, kw_only=True)
class Storm:
    """How hard it blows: `updates` in all are acknowledged, as evenly over the sessions as it goes."""

    processes: int = 16
    sessions: int = 60
    updates: int = 10_000
    readers: int = 2
    store: str = "real"
    seed: int = 1


@dataclass(frozen=True)
class Figures:
    """What came of a storm."""

    attempts: int
    told: Mapping[str, int]
    reads: int
    unreadable: Mapping[str, int]
    lost: int
    strange: int
    seconds: float

    def judge(self, storm: Storm) -> None:
        """Assert that nothing was lost and that everybody was told the truth."""
        assert not self.unreadable, self
        assert self.told.keys() == {"OK", "SESSION_CONFLICT"}, self
        assert self.lost == self.strange == 0, self
        assert self.told["OK"] == storm.updates, self
        assert self.reads > 0, self


def blow(storm: Storm, data_dir: Path) -> Figures:
    """Raise the storm over a new data directory and count what is left."""
    assert storm.updates <= storm.sessions * (MAX_EVENTS - 1)
    env = environment(str(data_dir), "real")
    ids = [_created(env, number) for number in range(storm.sessions)]
    each, more = divmod(storm.updates, storm.sessions)
    wanted = {session_id: 1 + each + (number < more) for number, session_id in enumerate(ids)}
    start = time.monotonic()
    writers = [_forked(_write, storm, data_dir, number, wanted) for number in range(storm.processes)]
    readers = [_forked(_read, storm, data_dir, -1 - number, wanted) for number in range(storm.readers)]
    heard = [_heard(data_dir, pid) for pid in writers]
    seconds = time.monotonic() - start
    (data_dir / "calm").touch()
    read = [_heard(data_dir, pid) for pid in readers]
    told = _summed(one["told"] for one in heard)
    acked = Counter(tuple(note) for one in heard for note in one["acked"])
    kept = _kept(env, ids)
    return Figures(
        attempts=told.total(),
        told=told,
        reads=sum(one["reads"] for one in read),
        unreadable=_summed(one["unreadable"] for one in (*heard, *read)),
        lost=(acked - kept).total(),
        strange=(kept - acked).total(),
        seconds=seconds,
    )


def _summed(counts: Iterable[dict[str, int]]) -> Counter[str]:
    total = Counter[str]()
    for count in counts:
        total.update(count)
    return total


def _created(env: Environment, number: int) -> str:
    created: Any = run(load_command("session create"), {"title": f"storm {number}"}, env).result
    return created.session_id


def _kept(env: Environment, ids: list[str]) -> Counter[tuple[str, ...]]:
    """Every change that the records hold, as (session, note, rev)."""
    kept: Counter[tuple[str, ...]] = Counter()
    for session_id in ids:
        try:
            session = env.sessions.load(session_id)
        except PhelixError:
            continue
        kept.update((session_id, event.detail or "", str(event.seq + 1)) for event in session.events[1:])
    return kept


def _forked(work: Any, storm: Storm, data_dir: Path, number: int, wanted: dict[str, int]) -> int:
    """A process that does `work` and leaves what it counted in a file named by its id."""
    pid = os.fork()
    if pid:
        return pid
    status = 70
    try:
        counted = work(environment(str(data_dir), storm.store), Random(storm.seed * 1_000 + number), wanted, number)
        (data_dir / f"counted-{os.getpid()}").write_text(json.dumps(counted))
        status = 0
    finally:
        if status:
            sys.excepthook(*sys.exc_info())  # pyright: ignore[reportArgumentType]
        os._exit(status)


def _heard(data_dir: Path, pid: int) -> dict[str, Any]:
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    return json.loads((data_dir / f"counted-{pid}").read_text())


def _write(env: Environment, random: Random, wanted: dict[str, int], number: int) -> dict[str, Any]:
    """Update random sessions until each has what is wanted."""
    checkpoint = load_command(CHECKPOINT)
    told, unreadable = Counter[str](), Counter[str]()
    acked: list[tuple[str, str, str]] = []
    left, parent = list(wanted), os.getppid()
    while left and unreadable.total() < GIVE_UP and os.getppid() == parent:
        session_id = random.choice(left)
        try:
            rev = env.sessions.load(session_id).rev
        except PhelixError as error:
            unreadable[error.code] += 1
            continue
        if rev >= wanted[session_id]:
            left.remove(session_id)
            continue
        note = f"{number}.{told.total()}"
        envelope = run(checkpoint, {"session_id": session_id, "note": note, "if_rev": rev}, env)
        told["OK" if envelope.error is None else envelope.error.code] += 1
        if envelope.error is None:
            acked.append((session_id, note, str(rev + 1)))
    return {"told": told, "acked": acked, "unreadable": unreadable}


def _read(env: Environment, random: Random, wanted: dict[str, int], _: int) -> dict[str, Any]:
    """Read random sessions until the writers are done; a record is never unreadable and never goes back."""
    calm = Path(env.settings.data_dir) / "calm"
    seen: dict[str, int] = {}
    unreadable = Counter[str]()
    ids, reads, parent = list(wanted), 0, os.getppid()
    while reads == 0 or (not calm.exists() and os.getppid() == parent):
        session_id = random.choice(ids)
        reads += 1
        try:
            rev = env.sessions.load(session_id).rev
        except PhelixError as error:
            unreadable[error.code] += 1
            continue
        if rev < seen.get(session_id, 0):
            unreadable["WENT_BACK"] += 1
        seen[session_id] = rev
    return {"reads": reads, "unreadable": unreadable}


def main() -> int:
    """Blow as asked for, print each round's figures as one line, and fail where a promise is broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.core.faults.storm")
    parser.add_argument("--full", action="store_true", help="ten rounds with four readers")
    parser.add_argument(
        "--figures", metavar="STORM", help="one storm told as JSON; print its figures and judge nothing"
    )
    asked = parser.parse_args()
    if asked.figures:
        with tempfile.TemporaryDirectory() as scratch:
            print(json.dumps(vars(blow(Storm(**json.loads(asked.figures)), Path(scratch) / "data"))))
        return 0
    for seed in range(1, 11 if asked.full else 2):
        storm = Storm(seed=seed, readers=4 if asked.full else 2)
        with tempfile.TemporaryDirectory() as scratch:
            figures = blow(storm, Path(scratch) / "data")
        print(f"{storm} {figures}", flush=True)
        figures.judge(storm)
    return 0


if __name__ == "__main__":
    sys.exit(main())
