import sqlite3
from collections import Counter
from pathlib import Path

from phelix_core.commands.demo import DEFAULT_SESSIONS, DemoFleet
from phelix_core.commands.environment import Environment
from tests.rig import FixedClock, bytes_of, did, environment, refused


def files_of(folder: Path) -> object:
    """Every file but the database's, which is compared by its rows."""
    return {name: data for name, data in bytes_of(folder).items() if data and not name.startswith("queue.db")}


def rows_of(file: Path) -> list[str]:
    """Every statement that rebuilds the database."""
    db = sqlite3.connect(file)
    try:
        return list(db.iterdump())
    finally:
        db.close()


def test_the_same_seed_at_the_same_time_is_the_same_fleet_to_the_byte(env: Environment, tmp_path: Path) -> None:
    for name, seed in (("a", 7), ("b", 7), ("c", 8)):
        did(env, "demo", directory=str(tmp_path / name), sessions=12, seed=seed)
    first, same, other = (files_of(tmp_path / name) for name in "abc")
    assert first == same
    assert first != other
    rows, again, others = (rows_of(tmp_path / name / "queue.db") for name in "abc")
    assert rows == again
    assert rows != others


def test_a_demo_fleet_has_something_of_everything_and_every_record_is_whole(env: Environment, tmp_path: Path) -> None:
    did(env, "demo", directory=str(tmp_path / "demo"))
    there = environment(tmp_path / "demo", FixedClock())
    listed = did(there, "session list", limit=0)
    own = [row for row in listed.sessions if row.project == "northwind"]
    assert (len(own), listed.unreadable) == (DEFAULT_SESSIONS, ()), "the others are the queue's claims"
    assert len(own) < listed.count
    statuses = Counter(row.status for row in listed.sessions)
    assert statuses.keys() == {"active", "completed", "failed", "cancelled"}
    assert 0 < sum(row.stale is not None for row in listed.sessions) < statuses["active"]
    resolved = [did(there, "session show", session_id=row.session_id).resolved for row in listed.sessions]
    assert "present" in {plan.state for found in resolved for plan in found.plans}
    assert "present" in {deployment.state for found in resolved for deployment in found.deployments}
    assert did(there, "doctor").sound is True


def test_a_folder_that_holds_anything_is_left_alone(env: Environment, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    before = bytes_of(tmp_path)
    error = refused(env, "demo", directory=str(tmp_path / "mine"))
    assert error["code"] == "ALREADY_EXISTS"
    assert refused(env, "demo", directory=str(tmp_path / "mine" / "thesis.txt"))["code"] == "FILESYSTEM_ERROR"
    assert bytes_of(tmp_path) == before


def test_a_moving_fleet_moves_by_valid_steps_alone(data_dir: Path, clock: FixedClock) -> None:
    env = environment(data_dir, clock)
    fleet = DemoFleet(env)
    fleet.write(6)
    fleet.write_queue()
    for _ in range(60):
        clock.wall_ms += 1_000
        assert fleet.step(), "a step that was refused"
    listed = did(env, "session list", limit=0)
    assert listed.count > 6
    assert listed.unreadable == ()


def test_a_demo_queue_has_milestones_leases_that_live_and_one_that_does_not_a_block_and_a_crash_loop(
    env: Environment, tmp_path: Path
) -> None:
    did(env, "demo", directory=str(tmp_path / "demo"))
    there = environment(tmp_path / "demo", FixedClock())
    health = did(there, "queue health")
    assert {milestone["status"] for milestone in health["milestones"]} == {"done", "failed", "blocked", "in_progress"}
    assert (health["leases"]["activeCount"], health["leases"]["staleCount"]) == (3, 1)
    assert list(health["leases"]["staleReasons"].values()) == ["lease_expired"]
    issues = did(there, "queue list", limit=0)["issues"]
    reasons = {
        issue["status"]: issue.get("blockedReason") for issue in issues if issue["status"] in {"failed", "blocked"}
    }
    assert reasons == {"failed": "crash_loop", "blocked": "needs the finance team's sign-off"}
