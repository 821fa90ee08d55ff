"""Many processes on few records: every acknowledged change is kept, every loser is told, no reader sees half."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from phelix_core.commands.environment import Environment
from phelix_core.sessions.model import Session
from tests.core.faults.nursery import Nursery, Told
from tests.core.faults.storm import Figures, Storm
from tests.rig import did

WRITERS = 12
GATE = 2_000
"""Updates in the ordinary run; `python -m tests.core.faults.storm` makes 10,000, with `--full` ten times."""
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery() as made:
        yield made


def weathered(storm: Storm) -> Figures:
    """The storm's figures, after judging them: the test body that the real store and the naive ones go through."""
    command = [sys.executable, "-m", "tests.core.faults.storm", "--figures", json.dumps(asdict(storm))]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    figures = Figures(**json.loads(ran.stdout))
    figures.judge(storm)
    return figures


def test_guarded_updates_by_sixteen_processes_are_kept_and_their_losers_told() -> None:
    figures = weathered(Storm(updates=GATE))
    assert figures.attempts == figures.told["OK"] + figures.told["SESSION_CONFLICT"] > GATE


def test_a_store_without_a_lock_loses_updates_in_the_same_storm() -> None:
    with pytest.raises(AssertionError, match=r"lost=[1-9]"):
        weathered(Storm(processes=8, sessions=2, updates=200, store="unlocked"))


def test_readers_of_a_store_that_writes_in_place_see_half_records_in_the_same_storm() -> None:
    with pytest.raises(AssertionError, match=r"unreadable=\{'SESSION_CORRUPT"):
        weathered(Storm(processes=4, sessions=2, updates=200, store="in-place"))


class TestWritersReleasedAtOnce:
    @pytest.fixture
    def session(self, env: Environment) -> Session:
        return did(env, "session create", title="Everybody writes here")

    def all_told(
        self, nursery: Nursery, data_dir: Path, session: Session, store: str = "real", **guard: int
    ) -> Counter[str]:
        cases = [
            {
                "data_dir": str(data_dir),
                "store": store,
                "command": "session checkpoint",
                "raw": {"session_id": session.session_id, "step": f"step {number}", **guard},
                "out": str(data_dir / f"told-{number}"),
            }
            for number in range(WRITERS)
        ]
        told: list[Told] = nursery.release_all(cases)
        return Counter(one.code for one in told)

    def test_all_land_when_none_is_guarded(
        self, env: Environment, nursery: Nursery, data_dir: Path, session: Session
    ) -> None:
        assert self.all_told(nursery, data_dir, session) == {"OK": WRITERS}
        after = env.sessions.load(session.session_id)
        assert after.rev == 1 + WRITERS
        assert {event.detail for event in after.events[1:]} == {f"step=step {number}" for number in range(WRITERS)}

    def test_exactly_one_wins_when_all_are_guarded_by_the_same_revision(
        self, env: Environment, nursery: Nursery, data_dir: Path, session: Session
    ) -> None:
        told = self.all_told(nursery, data_dir, session, if_rev=1)
        assert told == {"OK": 1, "SESSION_CONFLICT": WRITERS - 1}
        assert env.sessions.load(session.session_id).rev == 2

    def test_not_all_land_without_a_lock(
        self, env: Environment, nursery: Nursery, data_dir: Path, session: Session
    ) -> None:
        for _ in range(10):
            before = env.sessions.load(session.session_id).rev
            assert self.all_told(nursery, data_dir, session, store="unlocked") == {"OK": WRITERS}
            if env.sessions.load(session.session_id).rev < before + WRITERS:
                return
        pytest.fail("the control lost nothing: the test proves nothing")
