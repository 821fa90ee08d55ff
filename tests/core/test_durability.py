"""A record survives every fault: whatever call fails, kills or is interrupted, it is the old one or the new one."""

import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from phelix_core import files
from phelix_core.commands.environment import Environment
from phelix_core.sessions.model import Session
from tests.core.faults import tracing
from tests.core.faults.nursery import Nursery
from tests.core.faults.shim import ERRNOS, faulty
from tests.core.faults.sweeps import open_descriptors, shimmed_sweep, traced_sweep
from tests.core.faults.trial import FIRST, KINDS
from tests.rig import FixedClock, bytes_of, did, refused

NOBODY = 65_534
UPDATE, CREATE, CLOSE = "session checkpoint", "session create", "session complete"
FEWEST_CALLS = 12

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can write for another owner")


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery() as made:
        yield made


@pytest.fixture
def tracer() -> None:
    if reason := tracing.why_not():
        pytest.skip(f"{reason}; the sweep without strace ran")


@pytest.fixture
def session(env: Environment) -> Session:
    return did(env, "session create", title="Roll out the search service")


@pytest.fixture
def folder(data_dir: Path) -> Path:
    return data_dir / "sessions"


@pytest.mark.usefixtures("tracer")
class TestEverySystemCallOfARealWriter:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("mode", ["kill", "interrupt"])
    def test_may_be_its_last(self, nursery: Nursery, tmp_path: Path, kind: str, mode: str) -> None:
        assert traced_sweep(nursery, tmp_path, kind, mode).calls >= FEWEST_CALLS

    @pytest.mark.parametrize("kind", [UPDATE, CREATE, FIRST])
    @pytest.mark.parametrize("error", ERRNOS)
    def test_may_fail(self, nursery: Nursery, tmp_path: Path, kind: str, error: str) -> None:
        swept = traced_sweep(nursery, tmp_path, kind, error)
        assert swept.calls >= FEWEST_CALLS
        assert swept.told["OUTCOME_UNKNOWN"] == 1, "the folder's fsync, after the name changed"

    def test_finds_the_store_that_writes_in_place(self, nursery: Nursery, tmp_path: Path) -> None:
        with pytest.raises(AssertionError, match="session checkpoint, kill at write"):
            traced_sweep(nursery, tmp_path, UPDATE, "kill", store="in-place")

    def test_finds_the_store_that_does_not_look_how_its_write_went(self, nursery: Nursery, tmp_path: Path) -> None:
        with pytest.raises(AssertionError, match="session checkpoint, ENOSPC at write"):
            traced_sweep(nursery, tmp_path, UPDATE, "ENOSPC", store="unchecked")


class TestEveryCallOfTheOsModule:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("mode", ["kill-before", "kill-after"])
    def test_may_be_the_last(self, nursery: Nursery, tmp_path: Path, kind: str, mode: str) -> None:
        assert shimmed_sweep(nursery, tmp_path, kind, mode).calls >= FEWEST_CALLS

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("mode", [*ERRNOS, "short", "interrupt-before", "interrupt-after"])
    def test_may_fail_be_interrupted_or_write_short(self, tmp_path: Path, kind: str, mode: str) -> None:
        assert shimmed_sweep(None, tmp_path, kind, mode).calls >= FEWEST_CALLS

    def test_finds_the_store_that_writes_in_place(self, nursery: Nursery, tmp_path: Path) -> None:
        with pytest.raises(AssertionError, match="session checkpoint, kill-after at open"):
            shimmed_sweep(nursery, tmp_path, UPDATE, "kill-after", store="in-place")

    @pytest.mark.parametrize("mode", ["ENOSPC", "short"])
    def test_finds_the_store_that_does_not_look_how_its_write_went(self, tmp_path: Path, mode: str) -> None:
        with pytest.raises(AssertionError, match=f"session checkpoint, {mode} at write"):
            shimmed_sweep(None, tmp_path, UPDATE, mode, store="unchecked")


class TestAnInterrupt:
    @pytest.mark.parametrize(("command", "call"), [(UPDATE, "rename"), (CREATE, "link")])
    def test_after_the_name_changed_is_an_unknown_outcome(
        self, env: Environment, session: Session, command: str, call: str
    ) -> None:
        words: dict[str, Any] = {"step": "s", "session_id": session.session_id} if command == UPDATE else {"title": "t"}
        before = len(env.sessions.ids()), env.sessions.load(session.session_id).rev
        with faulty() as shim:
            shim.__dict__[call] = _then_interrupted(getattr(os, call))
            assert refused(env, command, **words)["code"] == "OUTCOME_UNKNOWN"
        assert (len(env.sessions.ids()), env.sessions.load(session.session_id).rev) != before

    def test_before_the_name_changed_leaves_every_byte_and_no_temporary_file(
        self, env: Environment, session: Session, data_dir: Path
    ) -> None:
        before = bytes_of(data_dir)
        with faulty() as shim:
            shim.__dict__["fsync"] = _then_interrupted(os.fsync)
            with pytest.raises(KeyboardInterrupt):
                did(env, UPDATE, session_id=session.session_id, step="s")
        assert bytes_of(data_dir) == before


def _then_interrupted(real: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **named: Any) -> None:
        real(*args, **named)
        raise KeyboardInterrupt

    return call


class TestALock:
    def test_that_is_held_is_waited_for_ten_seconds_and_then_told_as_busy(
        self, env: Environment, clock: FixedClock, session: Session, folder: Path, data_dir: Path
    ) -> None:
        with open(folder / f"{session.session_id}.lock", "w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            before = bytes_of(data_dir)
            told = refused(env, UPDATE, session_id=session.session_id, step="s")
        assert (told["code"], told["retryable"]) == ("STORE_BUSY", True)
        assert 10 <= clock.elapsed < 10.1
        assert bytes_of(data_dir) == before

    def test_of_a_pruned_record_is_not_trusted_by_the_writer_who_waited_for_it(
        self, env: Environment, clock: FixedClock, session: Session, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        record, lock = folder / f"{session.session_id}.json", folder / f"{session.session_id}.lock"
        with open(lock, "w") as pruner:
            fcntl.flock(pruner, fcntl.LOCK_EX)

            def pruned(seconds: float) -> None:
                clock.elapsed += seconds
                record.unlink()
                lock.unlink()
                fcntl.flock(pruner, fcntl.LOCK_UN)

            monkeypatch.setattr(clock, "sleep", pruned)
            assert refused(env, UPDATE, session_id=session.session_id, step="s")["code"] == "NOT_FOUND"
        assert not record.exists()
        assert not lock.exists()

    def test_that_was_replaced_while_waiting_is_waited_for_anew(
        self, env: Environment, clock: FixedClock, session: Session, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lock = folder / f"{session.session_id}.lock"
        with open(lock, "w") as old, open(folder / "another.lock", "w") as new:
            fcntl.flock(old, fcntl.LOCK_EX)
            fcntl.flock(new, fcntl.LOCK_EX)

            def replaced(seconds: float) -> None:
                clock.elapsed += seconds
                if not os.path.samestat(os.stat(lock), os.fstat(new.fileno())):
                    (folder / "another.lock").rename(lock)
                    fcntl.flock(old, fcntl.LOCK_UN)

            monkeypatch.setattr(clock, "sleep", replaced)
            assert refused(env, UPDATE, session_id=session.session_id, step="s")["code"] == "STORE_BUSY"
        assert env.sessions.load(session.session_id).rev == 1

    def test_of_a_record_that_vanished_meanwhile_is_taken_away(
        self, env: Environment, session: Session, folder: Path
    ) -> None:
        def vanished(descriptor: int) -> os.stat_result:
            """The moment after the lock file was made."""
            (folder / f"{session.session_id}.json").unlink(missing_ok=True)
            return os.fstat(descriptor)

        with faulty() as shim:
            shim.__dict__["fstat"] = vanished
            assert refused(env, UPDATE, session_id=session.session_id, step="s")["code"] == "NOT_FOUND"
        assert list(folder.glob("*.lock")) == []

    def test_is_not_made_for_a_record_that_is_missing(self, env: Environment, session: Session, folder: Path) -> None:
        assert refused(env, UPDATE, session_id="ses_00000000000000ff", step="s")["code"] == "NOT_FOUND"
        assert refused(env, "session cancel", session_id="ses_00000000000000ff")["code"] == "NOT_FOUND"
        assert [path.name for path in folder.glob("ses_*")] == [f"{session.session_id}.json"]

    def test_that_a_killed_holder_left_is_no_obstacle(self, env: Environment, session: Session, folder: Path) -> None:
        (folder / f"{session.session_id}.lock").touch(0o600)
        assert did(env, UPDATE, session_id=session.session_id, step="s").rev == 2

    @pytest.mark.parametrize("kind", ["link", "dangling link", "second name", "fifo", "folder"])
    def test_that_is_no_file_of_its_own_is_refused(
        self, env: Environment, session: Session, data_dir: Path, tmp_path: Path, kind: str
    ) -> None:
        lock, target = data_dir / f"sessions/{session.session_id}.lock", tmp_path / "target"
        if kind != "dangling link":
            target.write_text("not ours")
            target.chmod(0o644)
        if kind.endswith("link"):
            lock.symlink_to(target)
        elif kind == "second name":
            lock.hardlink_to(target)
        elif kind == "fifo":
            os.mkfifo(lock)
        else:
            lock.mkdir()
        before = bytes_of(data_dir)
        assert refused(env, UPDATE, session_id=session.session_id, step="s")["code"] == "FILESYSTEM_ERROR"
        assert bytes_of(data_dir) == before
        if kind == "dangling link":
            assert not target.exists()
        else:
            assert (stat.S_IMODE(target.stat().st_mode), target.read_text()) == (0o644, "not ours")

    def test_and_record_go_together_when_pruned(
        self, env: Environment, clock: FixedClock, session: Session, folder: Path
    ) -> None:
        did(env, CLOSE, session_id=session.session_id)
        clock.wall_ms += 86_400_000
        assert did(env, "session prune", keep=0, older_than="1h").removed == (session.session_id,)
        assert [path.name for path in folder.iterdir()] == [files.STAGING]


def test_a_thousand_writes_and_refusals_leave_no_descriptor_open(env: Environment, session: Session) -> None:
    before = open_descriptors()
    for round_ in range(125):
        current: str = session.session_id
        if round_ % 60 == 59:
            session = did(env, CREATE, title="the next hundred")
        did(env, UPDATE, session_id=current, step=f"s{round_}")
        assert refused(env, UPDATE, session_id=current, step="s", if_rev=1)["code"] == "SESSION_CONFLICT"
        assert refused(env, UPDATE, session_id=current, step="s" * 121)["code"] == "INVALID_ARGUMENT"
        assert refused(env, UPDATE, session_id="ses_00000000000000ff", step="s")["code"] == "NOT_FOUND"
        for call in ("fsync", "rename", "fstat", "write"):
            with faulty() as shim:
                shim.__dict__[call] = _full
                assert refused(env, UPDATE, session_id=current, step="s")["code"] == "FILESYSTEM_ERROR"
    assert open_descriptors() == before


def _full(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o277])
def test_everything_is_private_whatever_the_umask(env: Environment, data_dir: Path, folder: Path, umask: int) -> None:
    staged: list[int] = []

    def looked_at(source: str, name: str, **at: int) -> None:
        staged.append(stat.S_IMODE((folder / source).stat().st_mode))
        os.rename(source, name, **at)

    before = os.umask(umask)
    try:
        with faulty() as shim:
            shim.__dict__["rename"] = looked_at
            session = did(env, CREATE, title="t")
            did(env, UPDATE, session_id=session.session_id, step="s")
    finally:
        os.umask(before)
    assert staged == [0o600]
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in [data_dir, *data_dir.rglob("*")]}
    assert modes == {path: 0o700 if path.is_dir() else 0o600 for path in modes}
    assert {path.suffix for path in folder.glob("ses_*")} == {".json", ".lock"}


@as_root
def test_what_root_writes_stays_its_owners(env: Environment, data_dir: Path, session: Session) -> None:
    for path in [data_dir, *data_dir.rglob("*")]:
        os.chown(path, NOBODY, NOBODY)
    (data_dir / f"sessions/{files.STAGING}").rmdir()
    did(env, UPDATE, session_id=session.session_id, step="s")
    did(env, CREATE, title="made as root")
    owners = {path: (path.stat().st_uid, path.stat().st_gid) for path in data_dir.rglob("*")}
    assert set(owners.values()) == {(NOBODY, NOBODY)}
    assert {path.suffix for path in owners} >= {".json", ".lock"}


@as_root
def test_a_record_keeps_its_owner_where_the_folder_is_anothers(
    env: Environment, data_dir: Path, session: Session
) -> None:
    record = data_dir / f"sessions/{session.session_id}.json"
    os.chown(record, NOBODY, NOBODY)
    did(env, UPDATE, session_id=session.session_id, step="s")
    assert (record.stat().st_uid, record.with_suffix(".lock").stat().st_uid) == (NOBODY, NOBODY)
