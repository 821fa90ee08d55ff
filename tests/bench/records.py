"""One durable update of a record, in process, beside the same bytes written by hand.

By hand means: a temporary file, write, fsync, rename, fsync of the folder, and nothing else: no lock, no reading, no
check, no JSON. One session is updated again and again, as an agent's own process does; or twenty take turns, so that
nothing is remembered from one update to the next. Where fsync is cheap, as on a virtual disk, what is computed weighs
most. The second baseline reads, parses and writes the JSON too, as a script would.
"""

import json
import os
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

from phelix_core.clock import SystemClock
from phelix_core.sessions import transitions
from phelix_core.sessions.model import Actor, Session
from phelix_core.sessions.store import SessionStore
from phelix_core.sessions.transitions import References, Stamp
from tests.bench import Row, interleaved, median_ratio

BUDGET = 0.8
ROUNDS = 41
UPDATES = 20
"""In each round."""
STAMP = Stamp(at_ms=1_790_000_000_000, via="cli")


def _session(number: int, events: int) -> Session:
    actor = Actor(type="cli", id=None, authenticated=False)
    session = transitions.create(
        f"ses_{number:016x}", actor, STAMP, title="Roll out the search service", project="search", app="search-api"
    )
    for host in range(events - 1):
        note = f"host {host} answers its health check"
        session = transitions.checkpoint(session, STAMP, step="deploy", note=note, linked=References())
    return session


def by_hand(folder: str, name: str, data: bytes) -> None:
    """What durability alone takes."""
    staged = f"{folder}/{name}.{os.urandom(8).hex()}"
    descriptor = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.write(descriptor, data)
    os.fsync(descriptor)
    os.close(descriptor)
    os.rename(staged, f"{folder}/{name}")
    descriptor = os.open(folder, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def _edited(folder: str, name: str) -> bytes:
    """What a script would do: read, parse, append an event, write indented JSON."""
    document = json.loads(Path(f"{folder}/{name}").read_bytes())
    document["events"].append({"seq": document["rev"], "type": "checkpoint", "at_ms": STAMP.at_ms, "via": "cli"})
    document["events"].pop()
    return json.dumps(document, ensure_ascii=False, indent=2).encode()


def _works(scratch: str, events: int, sessions: int) -> dict[str, Callable[[], None]]:
    store = SessionStore(f"{scratch}/sessions", SystemClock(), f"{scratch}/cache")
    hand = f"{scratch}/by-hand"
    os.mkdir(hand)
    written: dict[str, bytes] = {}
    for number in range(sessions):
        session = store.create(_session(number, events))
        name = f"{session.session_id}.json"
        written[name] = Path(f"{scratch}/sessions/{name}").read_bytes()
        by_hand(hand, name, written[name])
    names = list(written) * (UPDATES // sessions)
    note = f"host {events - 2} answers its health check"

    earlier = {f"ses_{number:016x}": _session(number, events - 1) for number in range(sessions)}

    def again(before: Session) -> Session:
        """A checkpoint on the record as it was one event ago, so that its size stays what it is."""
        return transitions.checkpoint(earlier[before.session_id], STAMP, step="deploy", note=note, linked=References())

    def ours() -> None:
        for name in names:
            store.update(name.removesuffix(".json"), again)

    def written_by_hand() -> None:
        for name in names:
            by_hand(hand, name, written[name])

    def by_hand_with_json() -> None:
        for name in names:
            by_hand(hand, name, _edited(hand, name))

    return {"ours": ours, "by hand": written_by_hand, "by hand with json": by_hand_with_json}


def _measured(events: int, sessions: int) -> list[Row]:
    with tempfile.TemporaryDirectory(dir=os.environ.get("PHELIX_BENCH_DIR")) as scratch:
        works = _works(scratch, events, sessions)
        interleaved(works, 3)  # warm
        seconds = interleaved(works, ROUNDS)
        size = len(next(Path(f"{scratch}/sessions").glob("ses_*.json")).read_bytes())
    rates = {name: [UPDATES / one for one in found] for name, found in seconds.items()}
    return [
        Row(
            name=f"update of {events} events, {size:,} bytes, {sessions} in turn / {baseline}",
            ours=statistics.median(rates["ours"]),
            baseline=statistics.median(rates[baseline]),
            unit="/s",
            ratio=median_ratio(rates["ours"], rates[baseline]),
            at_least=BUDGET if baseline == "by hand" else None,
        )
        for baseline in ("by hand", "by hand with json")
    ]


def rows() -> list[Row]:
    """Records of a short and of a long session, alone and in turn."""
    return [row for events in (10, 50) for sessions in (1, UPDATES) for row in _measured(events, sessions)]
