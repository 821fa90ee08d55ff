"""Plans: made of what is true when they are made, shown with what is true now, and changed by nobody."""

import json
from pathlib import Path
from typing import Any

import pytest

from phelix_core.checks import Surface
from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.strictjson import plain
from tests.core.arc.samples import rule
from tests.core.arc.stage import APPROVED_FIRST, declare, put_policy
from tests.rig import FixedClock, bytes_of, did, environment, refused


def made(env: Environment, action: str = "deploy", **raw: Any) -> dict[str, Any]:
    """A new plan of the application `shop`, as its answer says it."""
    asked = {"action": action, "app": "shop"} | ({"to": "1.4.0"} if action == "deploy" else {}) | raw
    return plain(did(env, "plan create", **asked))


def shown(env: Environment, plan_id: str) -> dict[str, Any]:
    return plain(did(env, "plan show", plan_id=plan_id))


def test_a_plan_says_what_would_be_run_on_what_and_who_asked(env: Environment, data_dir: Path) -> None:
    declare(data_dir)
    plan = made(env, reason="the spring release")
    stored = json.loads((data_dir / "plans" / f"{plan['plan_id']}.json").read_text())
    assert list(stored) == [
        "schema_version", "plan_id", "plan_hash", "created_at_ms", "status", "actor",
        "action", "target", "inputs", "execution", "preconditions", "capabilities",
    ]  # fmt: skip
    assert stored["execution"]["argv"] == ["sh", "-c", "echo did $0", "1.4.0"]
    assert stored["inputs"] == {"version": "1.4.0", "reason": "the spring release"}
    assert stored["actor"] == {"type": "cli", "id": None, "authenticated": False}
    assert [
        (one["type"], one["expected"]) for one in stored["preconditions"] if one["type"] != "config_fingerprint"
    ] == [
        ("app_exists", "shop"),
        ("current_version", "1.3.0"),
        ("version_exists", "1.4.0"),
    ]
    assert {name: plan[name] for name in stored} == stored
    assert (data_dir / "plans").stat().st_mode & 0o7777 == 0o700
    assert (data_dir / "plans" / f"{plan['plan_id']}.json").stat().st_mode & 0o7777 == 0o600


def test_the_same_content_has_the_same_hash_whoever_asks_and_whenever(
    env: Environment, data_dir: Path, clock: FixedClock
) -> None:
    declare(data_dir)
    first = made(env)
    clock.advance(60)
    mcp = environment(data_dir, clock, Surface.MCP)
    for _ in range(8):
        mcp.mint()
    second = made(mcp)
    assert first["plan_id"] != second["plan_id"]
    assert first["plan_hash"] == second["plan_hash"]
    assert (first["actor"]["type"], second["actor"]["type"]) == ("cli", "mcp")
    assert made(env, reason="another")["plan_hash"] != first["plan_hash"]


def test_making_a_plan_runs_nothing_and_a_dry_run_of_it_writes_nothing(env: Environment, data_dir: Path) -> None:
    ledger = data_dir.parent / "ledger"
    declare(data_dir, f"echo x >> {ledger}")
    before = bytes_of(data_dir)
    told = run(load_command("plan create"), {"action": "deploy", "app": "shop", "to": "1.4.0"}, env, dry_run=True)
    assert told.error is None
    assert bytes_of(data_dir) == before
    plan = plain(told.result)
    changes = {change["field"]: change["after"] for change in plan["changes"]}
    written = run(
        load_command("plan create"),
        {"action": "deploy", "app": "shop", "to": "1.4.0"},
        env,
        expect_digest=plan["digest"],
    )
    assert written.error is None
    assert plain(written.result)["plan_hash"] == changes["plan_hash"]
    assert not ledger.exists()


@pytest.mark.parametrize(
    ("raw", "code", "told"),
    [
        ({"action": "rebuild", "to": "1.4.0"}, "INVALID_ARGUMENT", "expected one of deploy, rollback"),
        ({"app": "Shop", "to": "1.4.0"}, "INVALID_ARGUMENT", "expected a name"),
        ({"app": "../x", "to": "1.4.0"}, "INVALID_ARGUMENT", "expected a name"),
        ({"app": "unknown", "to": "1.4.0"}, "NOT_FOUND", "There is no application unknown"),
        ({}, "INVALID_ARGUMENT", "there are 1.2.0, 1.3.0, 1.4.0"),
        ({"to": "9.9"}, "NOT_FOUND", "knows no version 9.9; there are 1.2.0, 1.3.0, 1.4.0"),
        ({"to": "--force"}, "INVALID_ARGUMENT", "expected a version"),
        ({"action": "rollback"}, "INVALID_ARGUMENT", "say which version"),
        ({"action": "rollback", "to": "1.3.0"}, "INVALID_ARGUMENT", "is the current version"),
        ({"to": "1.4.0", "reason": "x" * 501}, "INVALID_ARGUMENT", "over the cap of 500"),
    ],
)
def test_what_cannot_be_planned_is_refused_with_what_to_do_and_writes_nothing(
    env: Environment, data_dir: Path, raw: dict[str, str], code: str, told: str
) -> None:
    declare(data_dir)
    before = bytes_of(data_dir)
    error = refused(env, "plan create", **({"action": "deploy", "app": "shop"} | raw))
    assert (error["code"], told in error["message"]) == (code, True), error
    assert bytes_of(data_dir) == before


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name = 1", "name is not text"),
        ('name = "other"', "is not what its folder is called"),
        ('name = "shop"\n[deploy]\ncommand = "sh -c x"', "deploy.command is not a list"),
        ('name = "shop"\n[deploy]\ncommand = ["sh"]\nshell = true', "deploy.shell is unknown"),
        ('name = "shop"\n[deploy]\ncommand = ["sh", "token=ghp_16C7e42F292c6912E7710c838347Ae178B4a"]', "a secret"),
        ("name = ", "is not TOML"),
    ],
)
def test_a_declaration_that_is_not_understood_is_refused_by_its_file_and_key_and_never_by_a_value(
    env: Environment, data_dir: Path, text: str, told: str
) -> None:
    declare(data_dir).write_text(text)
    error = refused(env, "plan create", action="deploy", app="shop", to="1.4.0")
    assert (error["code"], told in error["message"], "apps/shop/app.toml" in error["message"]) == (
        "INVALID_ARGUMENT",
        True,
        True,
    ), error
    assert "ghp_" not in json.dumps(error)


def test_a_plan_goes_stale_with_what_it_presupposed_and_never_by_age(
    env: Environment, data_dir: Path, clock: FixedClock
) -> None:
    file = declare(data_dir)
    plan = made(env)
    clock.advance(10 * 365 * 86_400)
    assert shown(env, plan["plan_id"])["state"] == "ready"
    text = file.read_text()
    file.write_text(text.replace("time_limit_seconds = 30", "time_limit_seconds = 31", 1))
    stale = shown(env, plan["plan_id"])
    assert (stale["state"], stale["status"]) == ("stale", "created")
    assert {one["type"] for one in stale["applicability"]["failed_preconditions"]} == {
        "config_fingerprint",
        "execution",
    }
    file.write_text(text.replace('version = "1.3.0"', 'version = "1.4.0"'))
    [failed] = shown(env, plan["plan_id"])["applicability"]["failed_preconditions"]
    assert failed == {"type": "current_version", "expected": "1.3.0", "actual": "1.4.0"}
    file.write_text(text)
    assert shown(env, plan["plan_id"])["state"] == "ready", "staleness is computed, never stored"
    file.unlink()
    gone = shown(env, plan["plan_id"])["applicability"]
    assert {one["actual"] for one in gone["failed_preconditions"]} == {"missing"}


def test_a_list_has_the_newest_plans_first_and_names_what_it_cannot_read(
    env: Environment, data_dir: Path, clock: FixedClock
) -> None:
    declare(data_dir)
    ids: list[str] = []
    for _ in range(22):
        clock.advance(1)
        ids.append(made(env)["plan_id"])
    (data_dir / "plans" / "pln_00000000000000ff.json").write_text("{")
    listed = plain(did(env, "plan list"))
    assert (listed["count"], listed["truncated"]) == (20, True)
    assert [one["plan_id"] for one in listed["plans"]] == ids[:1:-1]
    assert listed["unreadable"] == [{"file": "pln_00000000000000ff.json", "code": "PLAN_CORRUPT"}]
    assert did(env, "plan list", limit=0).count == 22
    assert (did(env, "plan list", limit=3).count, did(env, "plan list", app="other").count) == (3, 0)
    mcp = environment(data_dir, clock, Surface.MCP)
    assert (did(mcp, "plan list", limit=0).count, did(mcp, "plan list", limit=100).count) == (20, 22)
    assert refused(mcp, "plan list", limit=101)["code"] == "INVALID_ARGUMENT"
    assert refused(env, "plan list", limit=-1)["code"] == "INVALID_ARGUMENT"


def test_a_plan_changed_by_one_byte_is_none_any_more_on_any_way_to_it(env: Environment, data_dir: Path) -> None:
    declare(data_dir)
    plan = made(env)
    file = data_dir / "plans" / f"{plan['plan_id']}.json"
    file.write_text(file.read_text().replace("echo did", "echo bad"))
    before = bytes_of(data_dir)
    for name in ("plan show", "plan apply", "authz approve", "authz check"):
        assert refused(env, name, plan_id=plan["plan_id"])["code"] == "PLAN_HASH_MISMATCH", name
    assert did(env, "plan list").count == 0
    assert bytes_of(data_dir) == before


@pytest.mark.parametrize(
    ("rules", "asked"),
    [
        (None, ("cli", "ready")),
        (None, ("mcp", "ready")),
        ([APPROVED_FIRST], ("mcp", "waiting")),
        ([rule(), rule(require_approval=True)], ("cli", "ready")),
        ([rule(actor={"type": "mcp", "authenticated": False}, require_approval=True), rule()], ("mcp", "waiting")),
        ([rule(actor={"type": "mcp", "authenticated": False}, require_approval=True), rule()], ("cli", "ready")),
        ([rule(effect="deny")], ("cli", "denied")),
        ([], ("cli", "denied")),
        ([rule(actor={"type": "cli", "authenticated": False}, require_approval=True)], ("mcp", "waiting")),
    ],
    ids=str,
)
def test_where_a_plan_stands_follows_from_the_policy_and_from_who_asked(
    data_dir: Path, clock: FixedClock, rules: list[dict[str, Any]] | None, asked: tuple[str, str]
) -> None:
    declare(data_dir)
    asker, state = asked
    plan = made(environment(data_dir, clock, Surface(asker)))
    if rules is not None:
        put_policy(data_dir, *rules)
    assert shown(environment(data_dir, clock), plan["plan_id"])["state"] == state


def test_a_rollback_goes_to_the_version_before_where_an_operation_tells_it(env: Environment, data_dir: Path) -> None:
    declare(data_dir)
    did(env, "plan apply", plan_id=made(env)["plan_id"])
    assert made(env, "rollback")["inputs"] == {"version": "1.3.0"}
    assert made(env, "rollback", to="1.2.0")["inputs"] == {"version": "1.2.0"}
