"""Approvals: a person's word on one exact plan; no other plan, no other content, and nobody over MCP."""

import json
from pathlib import Path
from typing import Any

import pytest

from phelix_core.checks import Surface
from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.strictjson import plain
from tests.core.arc.stage import APPROVED_FIRST, declare, put_policy
from tests.core.arc.test_planning import made, shown
from tests.rig import FixedClock, bytes_of, did, environment, refused


@pytest.fixture
def plan(env: Environment, data_dir: Path) -> dict[str, Any]:
    """A plan that waits for an approval; what it runs is counted in `ledger` beside the data directory."""
    declare(data_dir, f"echo x >> {data_dir.parent}/ledger")
    put_policy(data_dir, APPROVED_FIRST)
    return made(env)


def executions(data_dir: Path) -> int:
    ledger = data_dir.parent / "ledger"
    return len(ledger.read_text().splitlines()) if ledger.exists() else 0


def test_an_approval_lets_a_waiting_plan_run_once_and_is_of_its_hash(
    env: Environment, data_dir: Path, plan: dict[str, Any]
) -> None:
    assert refused(env, "plan apply", plan_id=plan["plan_id"])["code"] == "APPROVAL_REQUIRED"
    assert executions(data_dir) == 0
    approval = did(env, "authz approve", plan_id=plan["plan_id"], expect_hash=plan["plan_hash"])
    assert (approval.plan_hash, approval.approver_type, approval.approver_authenticated) == (
        plan["plan_hash"],
        "cli",
        False,
    )
    assert shown(env, plan["plan_id"])["state"] == "approved"
    first = plain(did(env, "plan apply", plan_id=plan["plan_id"]))
    again = plain(did(env, "plan apply", plan_id=plan["plan_id"]))
    assert (first["already_applied"], again["already_applied"]) == (False, True)
    assert {**first, "already_applied": True} == again
    assert executions(data_dir) == 1


def test_approving_is_refused_where_there_is_nothing_to_approve(
    env: Environment, data_dir: Path, plan: dict[str, Any]
) -> None:
    plan_id = plan["plan_id"]
    other = "sha256:" + "0" * 64
    assert refused(env, "authz approve", plan_id=plan_id, expect_hash=other)["code"] == "PLAN_HASH_MISMATCH"
    assert refused(env, "authz approve", plan_id=plan_id, expect_hash="sha256:0")["code"] == "INVALID_ARGUMENT"
    assert refused(env, "authz approve", plan_id="pln_00000000000000ff")["code"] == "NOT_FOUND"
    did(env, "authz approve", plan_id=plan_id)
    before = bytes_of(data_dir)
    assert refused(env, "authz approve", plan_id=plan_id)["code"] == "ALREADY_EXISTS"
    assert bytes_of(data_dir) == before
    did(env, "plan apply", plan_id=plan_id)
    did(env, "authz revoke", plan_id=plan_id)
    executed = refused(env, "authz approve", plan_id=plan_id)
    assert (executed["code"], executed["details"]["reason"]) == ("INVALID_ARGUMENT", "executed")
    stale = made(env)["plan_id"]
    declare(data_dir, "echo something else")
    assert refused(env, "authz approve", plan_id=stale)["code"] == "PLAN_STALE"


def test_revoking_takes_the_approval_away_also_one_that_is_damaged(
    env: Environment, data_dir: Path, plan: dict[str, Any]
) -> None:
    plan_id = plan["plan_id"]
    assert refused(env, "authz revoke", plan_id=plan_id)["code"] == "NOT_FOUND"
    did(env, "authz approve", plan_id=plan_id)
    did(env, "authz revoke", plan_id=plan_id)
    assert refused(env, "plan apply", plan_id=plan_id)["code"] == "APPROVAL_REQUIRED"
    did(env, "authz approve", plan_id=plan_id)
    file = data_dir / "authz" / "approvals" / f"{plan_id}.json"
    file.write_text(file.read_text().replace('"deploy"', '"rollback"'))
    assert refused(env, "plan apply", plan_id=plan_id)["code"] == "APPROVAL_INVALID"
    assert shown(env, plan_id)["approval"] == {"state": "APPROVAL_INVALID"}
    did(env, "authz revoke", plan_id=plan_id)
    assert not file.exists()
    assert executions(data_dir) == 0


def test_an_approval_that_was_given_for_another_plan_or_content_is_none(
    env: Environment, data_dir: Path, plan: dict[str, Any]
) -> None:
    did(env, "authz approve", plan_id=plan["plan_id"])
    other = made(env, reason="another")["plan_id"]
    approvals = data_dir / "authz" / "approvals"
    (approvals / f"{other}.json").write_bytes((approvals / f"{plan['plan_id']}.json").read_bytes())
    assert refused(env, "plan apply", plan_id=other)["code"] == "APPROVAL_INVALID"
    did(env, "authz revoke", plan_id=other)
    file = data_dir / "plans" / f"{plan['plan_id']}.json"
    swapped = json.loads((data_dir / "plans" / f"{other}.json").read_text()) | {"plan_id": plan["plan_id"]}
    file.write_text(json.dumps(swapped))
    assert refused(env, "plan apply", plan_id=plan["plan_id"])["code"] == "APPROVAL_STALE"
    assert executions(data_dir) == 0


def test_no_approval_is_given_taken_or_looked_into_over_mcp(
    data_dir: Path, clock: FixedClock, plan: dict[str, Any]
) -> None:
    mcp = environment(data_dir, clock, Surface.MCP)
    before = bytes_of(data_dir)
    for name in ("authz approve", "authz revoke", "authz check", "operation cancel"):
        raw = {"operation_id": "op_0123456789abcdef"} if name.startswith("operation") else {"plan_id": plan["plan_id"]}
        assert refused(mcp, name, **raw)["code"] == "INVALID_ARGUMENT", name
    assert bytes_of(data_dir) == before


def test_a_check_says_what_apply_would_be_told_and_leaves_no_trace(
    env: Environment, data_dir: Path, plan: dict[str, Any]
) -> None:
    before = bytes_of(data_dir)
    told = plain(did(env, "authz check", plan_id=plan["plan_id"]))
    assert (told["allowed"], told["code"], told["rule_index"]) == (False, "APPROVAL_REQUIRED", 0)
    assert {kind: ruling["code"] for kind, ruling in told["rulings"].items()} == {
        "cli": "APPROVAL_REQUIRED",
        "mcp": "APPROVAL_REQUIRED",
    }
    assert bytes_of(data_dir) == before


def test_each_attempt_to_execute_is_one_line_of_the_log_whatever_came_of_it(
    env: Environment, data_dir: Path, clock: FixedClock, plan: dict[str, Any]
) -> None:
    refused(env, "plan apply", plan_id=plan["plan_id"])
    refused(environment(data_dir, clock, Surface.MCP), "plan apply", plan_id=plan["plan_id"])
    did(env, "authz approve", plan_id=plan["plan_id"])
    did(env, "plan apply", plan_id=plan["plan_id"])
    listed = plain(did(env, "authz list"))
    assert [(one["actor_type"], one["decision"], one["code"]) for one in reversed(listed["decisions"])] == [
        ("cli", "approval_required", "APPROVAL_REQUIRED"),
        ("mcp", "approval_required", "APPROVAL_REQUIRED"),
        ("cli", "allow", "AUTHZ_ALLOWED"),
    ]
    assert (listed["count"], listed["policy"]) == (1, {"state": "enforced", "rules": 1})
    [approval] = listed["approvals"]
    assert listed["decisions"][0]["approval_id"] == approval["approval_id"]


def test_an_approval_is_bound_to_what_a_dry_run_showed(env: Environment, data_dir: Path, plan: dict[str, Any]) -> None:
    raw = {"plan_id": plan["plan_id"]}
    before = bytes_of(data_dir)
    shown_first = run(load_command("authz approve"), raw, env, dry_run=True).result
    assert bytes_of(data_dir) == before
    digest = plain(shown_first)["digest"]
    put_policy(data_dir, APPROVED_FIRST | {"target": "shop"})
    assert run(load_command("authz approve"), raw, env, expect_digest=digest).error is None


def test_a_read_only_environment_refuses_every_change(data_dir: Path, clock: FixedClock, plan: dict[str, Any]) -> None:
    locked = environment(data_dir, clock, read_only=True)
    before = bytes_of(data_dir)
    for name in ("authz approve", "plan apply"):
        assert refused(locked, name, plan_id=plan["plan_id"])["code"] == "READ_ONLY", name
    assert refused(locked, "plan create", action="deploy", app="shop", to="1.4.0")["code"] == "READ_ONLY"
    assert bytes_of(data_dir) == before
    assert executions(data_dir) == 0
