"""A queue survives what happens to processes, disks and clocks; each proof fails a queue that is naive."""

import json
import os
import signal
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from phelix_core.clock import SystemClock
from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.sqlite import Database
from tests.core.faults import tracing
from tests.core.faults.claims import Counted, Rush, do, planned, queue_of
from tests.core.faults.naive_queue import QUEUES
from tests.core.faults.nursery import Nursery
from tests.core.faults.queue_sweeps import CHECKPOINT, CLAIM, CLOSE, VERBS, sweep
from tests.core.faults.shim import ERRNOS
from tests.core.faults.zombies import raise_zombies
from tests.core.queue.oracle import Reader
from tests.rig import FixedClock, did, environment, refused

ROOT = Path(__file__).parents[3]
CLAIMS = 800
"""In the ordinary run; `python -m tests.core.faults.claims` makes 5,000, with `--full` ten times."""
OPENERS = 16
HOST: dict[str, Any] = {"host": "h", "workload_classes": ["general"]}
SAID: dict[str, Any] = {"summary": "s", "next_step": "n", "evidence": ["e"]}


def rushed(rush: Rush) -> Counted:
    """The figures of a rush, after judging them: the body that the real queue and the naive one go through."""
    command = [sys.executable, "-m", "tests.core.faults.claims", "--figures", json.dumps(asdict(rush))]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    counted = Counted(**json.loads(ran.stdout))
    print(counted)
    counted.judge(rush)
    return counted


class TestEightProcesses:
    def test_claim_each_issue_once_though_one_in_a_hundred_is_killed_in_the_middle(self) -> None:
        counted = rushed(Rush(claims=CLAIMS))
        assert counted.kills > 0
        assert counted.acked + counted.held >= CLAIMS

    def test_claim_some_twice_where_they_select_and_then_update(self) -> None:
        with pytest.raises(AssertionError, match="duplicates"):
            rushed(Rush(claims=300, store="naive"))


class TestAZombie:
    @pytest.mark.parametrize("seed", range(2))
    def test_changes_nothing_whatever_it_tries(self, tmp_path: Path, seed: int) -> None:
        assert len(raise_zombies(tmp_path, seed, 6)) == 6 * 8

    def test_changes_much_where_a_holder_looks_at_its_own_word_alone(self, tmp_path: Path) -> None:
        with pytest.raises(AssertionError, match="seed 1"):
            raise_zombies(tmp_path, 1, 3, "unfenced")


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    if reason := tracing.why_not():
        pytest.skip(reason)
    with Nursery() as made:
        yield made


class TestEverySystemCall:
    @pytest.mark.parametrize("verb", VERBS)
    def test_may_be_the_last(self, nursery: Nursery, tmp_path: Path, verb: str) -> None:
        every = 1 if verb == CLAIM else 3
        assert sweep(nursery, tmp_path, verb, "kill", every=every).calls > 100 / every

    @pytest.mark.parametrize(("number", "error"), list(enumerate(ERRNOS)))
    def test_may_fail(self, nursery: Nursery, tmp_path: Path, number: int, error: str) -> None:
        verb = (CLAIM, CHECKPOINT, CLOSE)[number % 3]
        swept = sweep(nursery, tmp_path, verb, error, every=5, first=number)
        assert swept.told.keys() >= {"OK", "FILESYSTEM_ERROR"}

    def test_finds_the_queue_that_commits_each_statement(self, nursery: Nursery, tmp_path: Path) -> None:
        with pytest.raises(AssertionError, match="queue claim, kill at"):
            sweep(nursery, tmp_path, CLAIM, "kill", "autocommit", every=7)

    def test_finds_the_queue_that_does_not_look_how_its_write_went(self, nursery: Nursery, tmp_path: Path) -> None:
        with pytest.raises(AssertionError, match="acknowledged and lost"):
            sweep(nursery, tmp_path, CLOSE, "ENOSPC", "queue unchecked", every=3)


def forked(work: Any) -> int:
    """A process that does `work`."""
    pid = os.fork()
    if pid:
        return pid
    status = 70
    try:
        work()
        status = 0
    finally:
        if status:
            sys.excepthook(*sys.exc_info())  # pyright: ignore[reportArgumentType]
        os._exit(status)


def judge_reading(data_dir: Path, store: str) -> None:
    """A reader that is open all the while sees each claim whole or not at all."""
    planned(data_dir, 120).queue.close()

    def writes() -> None:
        env = queue_of(data_dir)
        assert env.kept is not None
        env.kept["queue"] = QUEUES[store](f"{data_dir}/queue.db", env.clock)
        for number in range(100):
            lease = do(env, CLAIM, session=f"S-{number}", **HOST)["leaseId"]
            do(env, CLOSE, lease=lease, status="done", **SAID)

    pid = forked(writes)
    db = Database(f"{data_dir}/queue.db", SystemClock(), read_only=True)
    reader, reads, ended = Reader(db), 0, 0
    try:
        while not ended:
            ended = os.waitpid(pid, os.WNOHANG)[0]
            with db.snapshot():
                rows, last = reader.rows("issues", "leases", "checkpoints"), reader.last_seq()
            held = {one["issue_id"] for one in rows["leases"].values() if one["status"] == "active"}
            running = {one["id"] for one in rows["issues"].values() if one["status"] == "in_progress"}
            claimed = [one for one in rows["checkpoints"].values() if one["title"] == "claim"]
            assert held == running, "half a claim"
            assert len(claimed) == len(rows["leases"]), "half a claim"
            assert max(one["seq"] for one in rows["checkpoints"].values()) == last, "half an event"
            reads += 1
        assert reads > 10
    finally:
        db.close()
        if not ended:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


class TestAReader:
    def test_never_sees_half_a_transaction(self, tmp_path: Path) -> None:
        judge_reading(tmp_path, "real")

    def test_sees_half_a_claim_where_each_statement_is_committed(self, tmp_path: Path) -> None:
        with pytest.raises(AssertionError, match="half a"):
            judge_reading(tmp_path, "autocommit")


class TestALock:
    def test_that_somebody_keeps_is_waited_for_ten_seconds_and_then_told_as_busy(
        self, data_dir: Path, clock: FixedClock
    ) -> None:
        planned(data_dir, 1).queue.close()
        env, other = environment(data_dir, clock), Database(f"{data_dir}/queue.db", SystemClock())
        before = Reader(other).rows()
        with other.immediate():
            told = refused(env, CLAIM, **HOST)
        assert (told["code"], told["retryable"]) == ("STORE_BUSY", True)
        assert 10 <= clock.elapsed < 10.1
        assert Reader(other).rows() == before

    def test_that_was_waited_for_costs_the_new_lease_nothing(
        self, data_dir: Path, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        planned(data_dir, 1).queue.close()
        env, other = environment(data_dir, clock), Database(f"{data_dir}/queue.db", SystemClock())
        other.ask("BEGIN IMMEDIATE")

        def nine_seconds_go_by(_: float) -> None:
            clock.advance(9)
            other.ask("ROLLBACK")

        monkeypatch.setattr(clock, "sleep", nine_seconds_go_by)
        context = did(env, CLAIM, session="S-1", ttl=60, **HOST)
        lease = env.queue.read(lambda tx: tx.lease(context["leaseId"]))
        assert lease is not None
        assert lease.deadline_mono == (9 + 60) * 1000
        assert lease.expires_at == clock.now_ms() + 60_000


def open_at_once(data_dir: Path) -> Counter[str]:
    """Sixteen processes make the same missing queue at the same moment; what they were told."""
    gate, opener = os.pipe()
    told = [data_dir / f"told-{number}" for number in range(OPENERS)]

    def opens(number: int) -> None:
        os.close(opener)
        env = queue_of(data_dir / "data")
        os.read(gate, 1)
        envelope = run(load_command("queue init"), {"name": "w"}, env)
        told[number].write_text("OK" if envelope.error is None else f"{envelope.error.code} {envelope.error.message}")
        if number % 2:
            do(env, "queue campaign", project_name="p", campaign_name=f"c{number}")

    pids = [forked(lambda number=number: opens(number)) for number in range(OPENERS)]
    os.close(gate)
    os.close(opener)
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * OPENERS, [one.read_text() for one in told if one.exists()]
    return Counter(one.read_text() for one in told)


class TestAMissingQueue:
    @pytest.mark.parametrize("_", range(4))
    def test_that_sixteen_make_at_once_is_one_sound_queue(self, tmp_path: Path, _: int) -> None:
        assert open_at_once(tmp_path) == {"OK": OPENERS}
        db = Database(f"{tmp_path}/data/queue.db", SystemClock(), read_only=True)
        assert db.ask("PRAGMA integrity_check") == [("ok",)]
        rows = Reader(db).rows()
        counted = len(rows["workspaces"]), len(rows["projects"]), len(rows["campaigns"])
        assert counted == (1, 1, OPENERS // 2)
        assert [event["seq"] for event in Reader(db).events()] == list(range(1, 1 + 1 + 1 + OPENERS // 2))

    def test_that_a_killed_maker_left_empty_is_no_queue_to_a_reader_and_is_made_by_the_next(
        self, env: Environment, data_dir: Path
    ) -> None:
        data_dir.mkdir()
        (data_dir / "queue.db").touch(0o600)
        assert refused(env, "queue list")["code"] == "NOT_FOUND"
        assert refused(env, CLAIM, **HOST)["code"] == "NOT_FOUND"
        assert (data_dir / "queue.db").read_bytes() == b""
        assert do(env, "queue init", name="w")["created"]


class TestModes:
    @pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
    def test_are_private_whatever_the_umask(self, data_dir: Path, umask: int) -> None:
        before = os.umask(umask)
        try:
            env = planned(data_dir, 1)
            did(env, CLAIM, session="S-1", **HOST)
        finally:
            os.umask(before)
        found = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [data_dir, *data_dir.iterdir()]}
        assert found == {data_dir.name: 0o700, **dict.fromkeys(("queue.db", "queue.db-wal", "queue.db-shm"), 0o600)}

    def test_that_let_others_in_are_closed_at_the_next_write(self, data_dir: Path) -> None:
        env = planned(data_dir, 2)
        did(env, CLAIM, session="S-1", **HOST)
        for path in (data_dir, *data_dir.iterdir()):
            path.chmod(0o777 if path.is_dir() else 0o666)
        again = queue_of(data_dir)
        did(again, CLAIM, session="S-2", **HOST)
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in data_dir.iterdir()}
        assert modes == dict.fromkeys(("queue.db", "queue.db-wal", "queue.db-shm"), 0o600)
        assert stat.S_IMODE(data_dir.stat().st_mode) == 0o700
