import os
from pathlib import Path
from typing import Any

import pytest

from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.strictjson import plain
from tests.rig import NOW_MS, FixedClock, bytes_of, did, environment

ID = "ses_0000000000000001"
HOUR_S = 3_600


def findings(env: Environment) -> dict[str, Any]:
    return {finding.check: finding for finding in did(env, "doctor").findings}


def aged(path: Path, age_s: int) -> Path:
    path.write_text("half a record")
    os.utime(path, (NOW_MS / 1_000 - age_s, NOW_MS / 1_000 - age_s))
    return path


def test_an_absent_data_directory_is_sound_and_is_not_made(env: Environment, data_dir: Path) -> None:
    assert did(env, "doctor").sound is True
    assert "does not exist yet" in findings(env)["data directory"].detail
    assert not data_dir.exists()


def test_looking_changes_nothing(env: Environment, data_dir: Path) -> None:
    did(env, "session create")
    (data_dir / "sessions" / "ses_00000000000000ff.json").write_text("{")
    os.chmod(data_dir, 0o755)
    before = bytes_of(data_dir)
    assert did(env, "doctor").sound is False
    assert bytes_of(data_dir) == before
    assert data_dir.stat().st_mode & 0o7777 == 0o755


def test_a_record_that_cannot_be_read_fails_is_named_and_is_never_repaired(env: Environment, data_dir: Path) -> None:
    did(env, "session create")
    bad = data_dir / "sessions" / "ses_00000000000000ff.json"
    bad.write_text("{")
    bad.chmod(0o600)
    finding = findings(env)["records"]
    assert (finding.state, "1 read well, 1 do not" in finding.detail, bad.name in finding.detail) == (
        "fail",
        True,
        True,
    )
    assert did(env, "doctor", fix=True).sound is False
    assert bad.read_text() == "{"


def test_leftovers_go_after_an_hour_and_only_those(env: Environment, data_dir: Path) -> None:
    did(env, "session create")
    sessions, staging = data_dir / "sessions", data_dir / "sessions" / ".staging"
    old = [aged(staging / f"{ID}.json.dead", HOUR_S + 1), aged(sessions / f"{ID}.json.tmp-4242", HOUR_S + 1)]
    kept = [
        aged(staging / f"{ID}.json.alive", HOUR_S - 60),
        aged(sessions / f"{ID}.json.tmp-4243", 0),
        aged(sessions / f"{ID}.json.tmp-", 9 * HOUR_S),
        aged(sessions / "notes.txt", 9 * HOUR_S),
    ]
    record = (sessions / f"{ID}.json").read_bytes()
    assert findings(env)["leftovers"].state == "warn"
    plan: Any = plain(run(load_command("doctor"), {"fix": True}, env, dry_run=True).result)
    removed = {change["field"] for change in plan["changes"] if change["before"] == "leftover"}
    assert removed == {str(path) for path in old}
    assert all(path.exists() for path in old), "a dry run removes nothing"
    fixed = did(env, "doctor", fix=True).fixed
    assert {f"removed {path}" for path in old} <= set(fixed)
    assert [path for path in old if path.exists()] == []
    assert [path for path in kept if not path.exists()] == []
    assert (sessions / f"{ID}.json").read_bytes() == record
    assert findings(env)["leftovers"].state == "ok"


def test_repairing_what_is_sound_does_nothing(env: Environment, data_dir: Path) -> None:
    did(env, "session create")
    before = bytes_of(data_dir)
    assert did(env, "doctor", fix=True).fixed == ()
    assert bytes_of(data_dir) == before


def test_no_link_is_followed_to_close_a_mode(env: Environment, data_dir: Path, tmp_path: Path) -> None:
    did(env, "session create")
    outside = tmp_path / "outside"
    outside.write_text("")
    outside.chmod(0o644)
    (data_dir / "sessions" / "ses_00000000000000ff.json").symlink_to(outside)
    did(env, "doctor", fix=True)
    assert outside.stat().st_mode & 0o7777 == 0o644


@pytest.mark.parametrize(("ahead_ms", "state"), [(0, "ok"), (5_000, "ok"), (5_001, "warn")])
def test_events_from_the_future_are_told_as_a_clock_that_differs(
    data_dir: Path, clock: FixedClock, ahead_ms: int, state: str
) -> None:
    did(environment(data_dir, FixedClock(NOW_MS + ahead_ms)), "session create")
    assert findings(environment(data_dir, clock))["clock"].state == state


def test_plans_operations_applications_and_the_policy_are_looked_at_and_each_fault_is_named(
    env: Environment, data_dir: Path
) -> None:
    sound = findings(env)
    assert {name: sound[name].state for name in ("plans", "operations", "applications", "policy")} == dict.fromkeys(
        ("plans", "operations", "applications", "policy"), "ok"
    )
    for name, text in (
        ("plans/pln_00000000000000aa.json", "{"),
        ("ops/op_00000000000000aa.json", "[]"),
        ("apps/shop/app.toml", "name = 1"),
        ("authz/policy.json", '{"schema_version": "1", "rulez": []}'),
    ):
        path = data_dir / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_text(text)
    before = bytes_of(data_dir)
    bad = findings(env)
    for name, told in (
        ("plans", "pln_00000000000000aa.json (PLAN_CORRUPT)"),
        ("operations", "op_00000000000000aa.json (OPERATION_CORRUPT)"),
        ("applications", "shop/app.toml (INVALID_ARGUMENT)"),
        ("policy", "AUTHZ_INVALID"),
    ):
        assert (bad[name].state, told in bad[name].detail, bool(bad[name].hint)) == ("fail", True, True), name
    assert bytes_of(data_dir) == before


def test_an_operation_whose_processes_are_gone_is_a_warning_and_modes_of_plans_are_closed(
    env: Environment, data_dir: Path
) -> None:
    did(env, "demo", directory=str(data_dir), sessions=14)
    found = findings(env)
    assert (found["operations"].state, "1 ended without a trace" in found["operations"].detail) == ("warn", True)
    plans = data_dir / "plans"
    plans.chmod(0o755)
    next(plans.iterdir()).chmod(0o644)
    assert findings(env)["modes"].state == "warn"
    assert len(did(env, "doctor", fix=True).fixed) == 2
    assert findings(env)["modes"].state == "ok"
