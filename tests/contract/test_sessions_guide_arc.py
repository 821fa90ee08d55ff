"""What the guide says of plans, approvals, operations and deployments, with the real ones and over real processes."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client

from phelix_core.cli.options import parse
from phelix_core.commands.registry import CATALOGUE, Effect, load_command
from phelix_core.errors import InvalidArgument
from phelix_core.strictjson import loads
from tests.contract.guide_stage import asked, beside_sessions, created, path_of, watching
from tests.contract.guide_works import (
    answer_of,
    applying,
    end_of_command,
    executions,
    held,
    operation_of,
    planned,
    works,
)
from tests.core.arc.samples import rule
from tests.core.arc.stage import APPROVED_FIRST, put_policy
from tests.mcp.host import Gate
from tests.mcp.test_session_tools import called, connected, did_call
from tests.rig import Phelix, Ran, bytes_of

FORGED: tuple[str, ...] = (
    "PHELIX_ACTOR",
    "PHELIX_VIA",
    "PHELIX_USER",
    "PHELIX_APPROVED",
    "USER",
    "LOGNAME",
    "SUDO_USER",
)
FORGERIES = ["--actor", "--authenticated", "--via", "--approver", "--approval", "--role", "--token", "--force", "--yes"]
BROKEN = {
    "garbage": ("garbage", "AUTHZ_INVALID"),
    "empty": ("", "AUTHZ_INVALID"),
    "an unknown member": ('{"schema_version": "1", "rules": [], "allow": "all"}', "AUTHZ_INVALID"),
    "a rule that lacks members": ('{"schema_version": "1", "rules": [{"effect": "allow"}]}', "AUTHZ_INVALID"),
    "too large": (" " * (64 << 10) + '{"schema_version": "1", "rules": []}', "AUTHZ_INVALID"),
    "no rule": ('{"schema_version": "1", "rules": []}', "AUTHZ_DENIED"),
}


def stamps(data_dir: Path) -> dict[str, tuple[int, int, int]]:
    """Every path with its inode, its mode and when it was changed: what no reading may touch."""
    return {
        str(path): (path.lstat().st_ino, path.lstat().st_mode, path.lstat().st_mtime_ns) for path in data_dir.rglob("*")
    }


def told(phelix: Phelix, *argv: str) -> Any:
    """The answer of a command that must change nothing, not even a time."""
    before = stamps(phelix.data_dir), bytes_of(phelix.data_dir)
    result = phelix(*argv, "--json").result
    assert (stamps(phelix.data_dir), bytes_of(phelix.data_dir)) == before, argv
    return result


def refused_with(answer: Ran) -> tuple[int, str]:
    return answer.code, answer.error["code"]


# Only plan apply executes, through an unchanged boundary


def test_a_plan_that_needs_approval_answers_so_linked_or_not_and_once_approved_it_runs_exactly_once(
    phelix: Phelix, data_dir: Path
) -> None:
    works(data_dir)
    put_policy(data_dir, APPROVED_FIRST)
    plan_id = planned(phelix)
    required = (11, "APPROVAL_REQUIRED")
    assert refused_with(phelix("plan", "apply", plan_id, "--json")) == required
    session_id = created(phelix)
    assert phelix("session", "checkpoint", session_id, "--step", "approved, I say", "--plan", plan_id).code == 0
    assert refused_with(phelix("plan", "apply", plan_id, "--json")) == required
    assert phelix("session", "complete", session_id, "--plan", plan_id, "--result", "applied, I say").code == 0
    assert refused_with(phelix("plan", "apply", plan_id, "--json")) == required
    assert refused_with(phelix("plan", "apply", plan_id, "--dry-run", "--json")) == required
    assert executions(data_dir) == told(phelix, "operation", "list")["count"] == 0
    assert phelix("authz", "approve", plan_id).code == 0
    applied = phelix("plan", "apply", plan_id, "--json")
    assert (applied.result["status"], applied.envelope["operation_id"]) == ("succeeded", operation_of(plan_id))
    again = phelix("plan", "apply", plan_id, "--json").result
    assert again == applied.result | {"already_applied": True}
    assert executions(data_dir) == told(phelix, "operation", "list")["count"] == 1


async def test_over_mcp_without_a_policy_a_plan_is_denied_linked_or_not(
    phelix: Phelix, data_dir: Path, tmp_path: Path
) -> None:
    works(data_dir)
    async with connected(data_dir, tmp_path) as client:
        plan_id = (await did_call(client, "phelix_plan_create", action="deploy", app="shop", to="1.4.0"))["plan_id"]
        session_id = (await did_call(client, "phelix_session_create"))["session_id"]
        for _ in range(2):
            answer = await called(client, "phelix_plan_apply", plan_id=plan_id)
            assert (answer["error"]["code"], answer["error"]["exit_code"]) == ("AUTHZ_DENIED", 11)
            assert "operation_id" not in answer
            await did_call(client, "phelix_session_checkpoint", session_id=session_id, plans=[plan_id], step="mine")
    assert executions(data_dir) == 0
    assert {one["code"] for one in told(phelix, "authz", "list")["decisions"]} == {"AUTHZ_DENIED"}
    assert phelix("authz", "approve", plan_id).code == 0
    async with connected(data_dir, tmp_path) as client:
        answer = await called(client, "phelix_plan_apply", plan_id=plan_id)
        assert answer["error"]["code"] == "AUTHZ_DENIED", "an approval makes no policy"
    assert executions(data_dir) == 0


def test_of_all_commands_plan_apply_alone_starts_what_an_application_declares(
    phelix: Phelix, data_dir: Path, tmp_path: Path
) -> None:
    works(data_dir)
    watched = watching(tmp_path)

    def did(*argv: str) -> Any:
        return phelix(*argv, "--json", env=watched).result

    plan_id = did("plan", "create", "deploy", "shop", "--to", "1.4.0")["plan_id"]
    session_id = did("session", "create")["session_id"]
    for argv in (
        ["session", "checkpoint", session_id, "--plan", plan_id], ["session", "show", session_id],
        ["plan", "show", plan_id], ["plan", "list"], ["plan", "apply", plan_id, "--dry-run"],
        ["authz", "check", plan_id], ["authz", "approve", plan_id], ["authz", "list"], ["authz", "revoke", plan_id],
        ["operation", "list"], ["inspect", "deployment", "shop"], ["inspect", "versions", "shop"],
        ["session", "complete", session_id, "--plan", plan_id],
    ):  # fmt: skip
        did(*argv)
    assert [line for line in asked(tmp_path) if not line.startswith("os.kill ")] == []
    assert executions(data_dir) == 0
    did("plan", "apply", plan_id)
    assert [line.split()[0] for line in asked(tmp_path)].count("subprocess.Popen") >= 1, "the watch sees who does"
    assert executions(data_dir) == 1
    running = {name for name in CATALOGUE if load_command(name).runs}
    assert {name for name in running if load_command(name).effect is Effect.WRITE} == {"plan apply"}


@pytest.mark.parametrize(("text", "code"), BROKEN.values(), ids=BROKEN)
def test_a_policy_that_cannot_be_understood_or_allows_nobody_lets_nobody_execute(
    phelix: Phelix, data_dir: Path, text: str, code: str
) -> None:
    works(data_dir)
    plan_id = planned(phelix)
    phelix("authz", "approve", plan_id)
    put_policy(data_dir, text=text)
    before = bytes_of(data_dir)
    assert refused_with(phelix("plan", "apply", plan_id, "--json")) == (11, code)
    assert executions(data_dir) == 0
    after = {name: data for name, data in bytes_of(data_dir).items() if data is not None}
    log = after.pop("authz/decisions.jsonl")
    assert after == {name: data for name, data in before.items() if data is not None}
    assert json.loads(log)["code"] == code


def test_a_policy_that_is_a_link_lets_nobody_execute(phelix: Phelix, data_dir: Path, tmp_path: Path) -> None:
    works(data_dir)
    plan_id = planned(phelix)
    elsewhere = put_policy(tmp_path / "elsewhere", rule())
    (data_dir / "authz").mkdir()
    (data_dir / "authz" / "policy.json").symlink_to(elsewhere)
    assert refused_with(phelix("plan", "apply", plan_id, "--json")) == (11, "AUTHZ_INVALID")
    assert executions(data_dir) == 0


def test_a_plan_that_was_changed_by_a_byte_is_never_executed(phelix: Phelix, data_dir: Path) -> None:
    works(data_dir)
    plan_id = planned(phelix)
    phelix("authz", "approve", plan_id)
    file = data_dir / "plans" / f"{plan_id}.json"
    file.write_text(file.read_text().replace("did $0", "bad $0"))
    before = bytes_of(data_dir)
    for argv in (["plan", "apply"], ["plan", "show"], ["authz", "approve"], ["authz", "check"]):
        assert refused_with(phelix(*argv, plan_id, "--json")) == (3, "PLAN_HASH_MISMATCH")
    assert bytes_of(data_dir) == before
    assert executions(data_dir) == 0


# No forged identity


def test_no_word_and_no_variable_names_who_plans_approves_or_applies(phelix: Phelix, data_dir: Path) -> None:
    works(data_dir)
    put_policy(data_dir, APPROVED_FIRST)
    plan_id = planned(phelix)
    before = bytes_of(data_dir)
    for argv in (
        ["plan", "create", "deploy", "shop", "--to=1.4.0"], ["plan", "apply", plan_id], ["authz", "approve", plan_id],
        ["authz", "revoke", plan_id], ["operation", "cancel", operation_of(plan_id)],
    ):  # fmt: skip
        for option in FORGERIES:
            with pytest.raises(InvalidArgument):
                parse([*argv, option, "mallory"])
        assert refused_with(phelix(*argv, FORGERIES[0], "mallory", "--json")) == (2, "INVALID_ARGUMENT")
    assert bytes_of(data_dir) == before
    forged = dict.fromkeys(FORGED, "mallory")
    made = phelix("plan", "create", "deploy", "shop", "--to=1.4.0", "--json", env=forged).result
    assert made["actor"] == {"type": "cli", "id": None, "authenticated": False}
    assert phelix("plan", "apply", made["plan_id"], env=forged).code == 11
    approval = phelix("authz", "approve", made["plan_id"], "--json", env=forged).result
    assert (approval["approver_type"], approval["approver_authenticated"]) == ("cli", False)
    assert "mallory" not in json.dumps([made, approval])


async def test_who_asks_over_mcp_is_mcp_to_the_policy_the_plan_the_operation_and_the_log(
    phelix: Phelix, data_dir: Path, tmp_path: Path
) -> None:
    works(data_dir)
    put_policy(data_dir, rule(actor={"type": "cli", "authenticated": False}))
    of_the_shell = planned(phelix)
    async with connected(data_dir, tmp_path) as client:
        answer = await called(client, "phelix_plan_apply", plan_id=of_the_shell)
        assert answer["error"]["code"] == "AUTHZ_DENIED", "a plan of the shell makes its caller no shell"
        for forged in ({"actor": "cli"}, {"via": "cli"}, {"approved": True}):
            answer = await called(client, "phelix_plan_apply", plan_id=of_the_shell, **forged)
            assert answer["error"]["code"] == "INVALID_ARGUMENT"
        put_policy(data_dir, rule(actor={"type": "mcp", "authenticated": False}))
        answer = await did_call(client, "phelix_plan_apply", plan_id=of_the_shell)
        shown = await did_call(client, "phelix_operation_status", operation_id=answer["operation_id"])
    assert shown["actor"] == {"type": "mcp", "id": None, "authenticated": False}
    newest, denied = told(phelix, "authz", "list")["decisions"]
    assert (newest["actor_type"], newest["code"], denied["code"]) == ("mcp", "AUTHZ_ALLOWED", "AUTHZ_DENIED")


# The four steps


def test_a_linked_plan_goes_stale_with_what_it_took_for_granted_and_the_session_stays_as_it_is(
    phelix: Phelix, data_dir: Path
) -> None:
    works(data_dir)
    plan_id, other = planned(phelix), planned(phelix, "1.2.0", "rollback")
    session_id = created(phelix)
    phelix("session", "checkpoint", session_id, "--plan", plan_id, "--plan", other)
    session = path_of(data_dir, session_id).read_bytes()
    plan = (data_dir / "plans" / f"{plan_id}.json").read_bytes()
    shown = told(phelix, "plan", "show", plan_id)
    assert (shown["applicability"]["state"], shown["state"]) == ("applicable", "ready")
    file = data_dir / "apps" / "shop" / "app.toml"
    declared = file.read_text()
    file.write_text(declared.replace("time_limit_seconds = 30", "time_limit_seconds = 31", 1))
    edited = told(phelix, "plan", "show", plan_id)["applicability"]
    assert edited["state"] == "stale"
    assert "config_fingerprint" in {failed["type"] for failed in edited["failed_preconditions"]}
    assert refused_with(phelix("plan", "apply", plan_id, "--json")) == (3, "PLAN_STALE")
    file.write_text(declared)
    assert told(phelix, "plan", "show", plan_id)["applicability"]["state"] == "applicable", "computed, never stored"
    assert phelix("plan", "apply", other).code == 0
    drifted = told(phelix, "plan", "show", plan_id)["applicability"]
    assert drifted["failed_preconditions"] == [{"type": "current_version", "expected": "1.3.0", "actual": "1.2.0"}]
    assert refused_with(phelix("plan", "apply", plan_id, "--json")) == (3, "PLAN_STALE")
    assert executions(data_dir) == 1
    assert path_of(data_dir, session_id).read_bytes() == session
    assert (data_dir / "plans" / f"{plan_id}.json").read_bytes() == plan


def test_an_operations_real_status_is_told_whoever_carried_it_out_and_whatever_became_of_them(
    phelix: Phelix, data_dir: Path
) -> None:
    works(data_dir)
    succeeded = planned(phelix)
    assert phelix("plan", "apply", succeeded).code == 0
    works(data_dir, "exit 3")
    failed = planned(phelix)
    assert refused_with(phelix("plan", "apply", failed, "--json")) == (21, "DEPLOY_FAILED")
    gate = held(data_dir)
    lost = planned(phelix)

    def status(plan_id: str) -> tuple[str, str]:
        shown = told(phelix, "operation", "status", operation_of(plan_id))
        return shown["status"], shown["source"]

    with applying(phelix, lost) as applier:
        gate.reached()
        assert status(lost) == ("running", "persisted")
        applier.kill()
        applier.wait()
        assert status(lost) == ("running", "persisted"), "its command still runs"
        end_of_command(data_dir, lost)
        assert status(lost) == ("indeterminate", "derived")
    assert (status(succeeded), status(failed)) == (("succeeded", "persisted"), ("failed", "persisted"))
    stored = json.loads((data_dir / "ops" / f"{operation_of(lost)}.json").read_bytes())
    assert stored["status"] == "running", "what is derived is never stored"
    assert executions(data_dir) == 3


def test_health_and_deployment_are_looked_up_live_and_no_session_says_anything_of_them(
    phelix: Phelix, data_dir: Path
) -> None:
    well = works(data_dir)
    plan_id = planned(phelix)
    session_id = created(phelix)
    applied = phelix("plan", "apply", plan_id, "--json").result
    phelix("session", "complete", session_id, "--result", "shipped", "--deployment", applied["deployment_id"])
    session = path_of(data_dir, session_id).read_bytes()
    assert told(phelix, "inspect", "health", "shop")["status"] == "healthy"
    deployment = told(phelix, "inspect", "deployment", "shop")
    assert (deployment["deployment_id"], deployment["status"]) == (applied["deployment_id"], "succeeded")
    well.unlink()
    assert told(phelix, "inspect", "health", "shop")["status"] == "unhealthy"
    shown = told(phelix, "session", "show", session_id)
    assert (shown["status"], shown["final_result"]) == ("completed", "shipped"), "a report is no statement about health"
    assert "health" not in json.dumps(shown)
    assert path_of(data_dir, session_id).read_bytes() == session
    assert executions(data_dir) == 1


@pytest.mark.parametrize("also_the_command", [False, True], ids=["applier", "applier and command"])
def test_whoever_follows_the_four_steps_after_a_kill_amid_an_apply_learns_the_truth(
    phelix: Phelix,
    data_dir: Path,
    also_the_command: bool,  # noqa: FBT001 - a table's column
) -> None:
    gate = held(data_dir)
    plan_id = planned(phelix)
    session_id = created(phelix, "--title", "ship")
    phelix("session", "checkpoint", session_id, "--step", "apply", "--plan", plan_id)
    with applying(phelix, plan_id) as applier:
        gate.reached()
        applier.kill()
        applier.wait()
        if also_the_command:
            end_of_command(data_dir, plan_id)
        [row] = told(phelix, "session", "list", "--status", "active")["sessions"]
        shown = told(phelix, "session", "show", row["session_id"])
        [linked] = shown["plan_ids"]
        plan = told(phelix, "plan", "show", linked)
        real = "indeterminate" if also_the_command else "running"
        assert (plan["state"], plan["operation"]["status"]) == (real, real)
        operation = told(phelix, "operation", "status", plan["operation"]["operation_id"])
        assert operation["status"] == real
        assert told(phelix, "inspect", "health", "shop")["status"] == "healthy"
        assert told(phelix, "inspect", "deployment", "shop")["status"] == real
        answer = phelix("plan", "apply", plan_id, "--json")
        assert refused_with(answer) == ((1, "OUTCOME_UNKNOWN") if also_the_command else (21, "DEPLOY_LOCKED"))
        assert answer.envelope["operation_id"] == operation["id"]
        assert executions(data_dir) == 1, "an interrupted plan is never run again"


async def test_an_agent_that_only_has_the_tools_follows_the_same_four_steps(
    phelix: Phelix, data_dir: Path, tmp_path: Path
) -> None:
    gate = held(data_dir)
    plan_id = planned(phelix)
    session_id = created(phelix, "--title", "ship")
    phelix("session", "checkpoint", session_id, "--step", "apply", "--plan", plan_id)
    with applying(phelix, plan_id) as applier:
        gate.reached()
        applier.kill()
        applier.wait()
        end_of_command(data_dir, plan_id)
        before = stamps(data_dir)
        async with connected(data_dir, tmp_path) as client:
            [row] = (await did_call(client, "phelix_session_list", status="active"))["sessions"]
            shown = await did_call(client, "phelix_session_show", session_id=row["session_id"])
            plan = await did_call(client, "phelix_plan_show", plan_id=shown["plan_ids"][0])
            operation_id = plan["operation"]["operation_id"]
            operation = await did_call(client, "phelix_operation_status", operation_id=operation_id)
            health = await did_call(client, "phelix_inspect", resource="health", app="shop")
            deployment = await did_call(client, "phelix_inspect", resource="deployment", app="shop")
        assert stamps(data_dir) == before
    assert (plan["state"], operation["status"], operation["source"]) == ("indeterminate", "indeterminate", "derived")
    assert (health["status"], deployment["status"]) == ("healthy", "indeterminate")


# Closing


@pytest.mark.parametrize("verb", ["complete", "fail", "cancel"])
def test_closing_a_session_amid_an_apply_ends_nothing_of_it_and_leaves_all_records_of_it(
    phelix: Phelix, data_dir: Path, verb: str
) -> None:
    gate = held(data_dir)
    plan_id = planned(phelix)
    session_id = created(phelix)
    with applying(phelix, plan_id) as applier:
        gate.reached()
        deployment_id = told(phelix, "operation", "status", operation_of(plan_id))["deployment_id"]
        linked = ["--plan", plan_id, "--operation", operation_of(plan_id), "--deployment", deployment_id]
        phelix("session", "checkpoint", session_id, *linked)
        before = beside_sessions(bytes_of(data_dir))
        assert phelix("session", verb, session_id).code == 0
        assert beside_sessions(bytes_of(data_dir)) == before
        assert applier.poll() is None
        gate.opened()
        assert answer_of(applier)["status"] == "succeeded"
    resolved = told(phelix, "session", "show", session_id)["resolved"]
    assert [one["status"] for kind in resolved for one in resolved[kind]] == ["applied", "succeeded", "succeeded"]


# As one story


async def test_an_agent_plans_and_is_refused_a_person_approves_the_agent_applies_and_the_record_tells_it_all(
    phelix: Phelix, data_dir: Path, tmp_path: Path
) -> None:
    gate = held(data_dir)
    put_policy(data_dir, APPROVED_FIRST)
    session_id = plan_id = deployment_id = approval_id = ""
    async with connected(data_dir, tmp_path) as agent:
        session_id = (await did_call(agent, "phelix_session_create", title="ship 1.4.0", app="shop"))["session_id"]
        plan_id = await plans_and_is_refused(agent, session_id)
        assert executions(data_dir) == 0
        approval_id = looked_at_and_approved(phelix, plan_id)
        assert (await did_call(agent, "phelix_plan_show", plan_id=plan_id))["state"] == "approved"
        deployment_id = await applies_while_both_look(agent, phelix, session_id, plan_id, gate)
        await verifies_and_completes(agent, session_id, deployment_id)
    operation_id = operation_of(plan_id)
    record: Any = loads(path_of(data_dir, session_id).read_bytes())
    assert [event["detail"] for event in record["events"]] == [
        "session created",
        "step=inspect; 1.3.0 runs",
        f"step=plan; linked {plan_id}",
        "step=wait; for an approval",
        f"step=apply; linked {operation_id}, {deployment_id}",
        "step=verify; healthy",
        "1.4.0 serves",
    ]
    assert {event["via"] for event in record["events"]} == {"mcp"}
    resolved = told(phelix, "session", "show", session_id)["resolved"]
    assert [one["status"] for kind in resolved for one in resolved[kind]] == ["applied", "succeeded", "succeeded"]
    decided = [(one["actor_type"], one["code"]) for one in told(phelix, "authz", "list")["decisions"]]
    assert decided == [("mcp", "AUTHZ_ALLOWED"), ("mcp", "APPROVAL_REQUIRED")]
    operation = told(phelix, "operation", "status", operation_id, "--log-lines", "5")
    assert (operation["actor"]["type"], operation["approval_id"]) == ("mcp", approval_id)
    assert operation["log"] == ["did 1.4.0"]
    assert operation["result"]["verification"]["status"] == "healthy"
    assert executions(data_dir) == 1


async def plans_and_is_refused(agent: Client, session_id: str) -> str:
    """What the agent does until nothing but a person's word is missing; answers its plan."""
    seen = await did_call(agent, "phelix_context", app="shop")
    assert seen["versions"]["current"] == "1.3.0"
    await did_call(agent, "phelix_session_checkpoint", session_id=session_id, step="inspect", note="1.3.0 runs")
    asked_for = {"action": "deploy", "app": "shop", "to": "1.4.0", "reason": "the spring release"}
    plan = await did_call(agent, "phelix_plan_create", **asked_for)
    plan_id: str = plan["plan_id"]
    assert (plan["state"], plan["authorization"]["mcp"]["code"]) == ("waiting", "APPROVAL_REQUIRED")
    await did_call(agent, "phelix_session_checkpoint", session_id=session_id, step="plan", plans=[plan_id])
    refusal = (await called(agent, "phelix_plan_apply", plan_id=plan_id))["error"]
    assert refusal["code"] == "APPROVAL_REQUIRED"
    assert "person" in refusal["hint"]
    await did_call(agent, "phelix_session_checkpoint", session_id=session_id, step="wait", note="for an approval")
    return plan_id


def looked_at_and_approved(phelix: Phelix, plan_id: str) -> str:
    """What the person does: finds the plan that waits, looks at it, and approves that very one."""
    [waiting] = told(phelix, "plan", "list")["plans"]
    assert (waiting["plan_id"], waiting["state"], waiting["actor"]["type"]) == (plan_id, "waiting", "mcp")
    shown = told(phelix, "plan", "show", plan_id)
    assert (shown["execution"]["argv"][-1], shown["inputs"]["reason"]) == ("1.4.0", "the spring release")
    approval = phelix("authz", "approve", plan_id, "--expect-hash", shown["plan_hash"], "--json").result
    approval_id: str = approval["approval_id"]
    return approval_id


async def applies_while_both_look(agent: Client, phelix: Phelix, session_id: str, plan_id: str, gate: Gate) -> str:
    """The agent applies, and both see it run until the gate is opened; answers the deployment."""
    operation_id, applied = operation_of(plan_id), dict[str, Any]()

    async def apply() -> None:
        applied.update(await called(agent, "phelix_plan_apply", plan_id=plan_id))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(apply)
        await anyio.to_thread.run_sync(gate.reached)
        running = await did_call(agent, "phelix_operation_status", operation_id=operation_id)
        assert running["status"] == told(phelix, "operation", "status", operation_id)["status"] == "running"
        assert told(phelix, "plan", "show", plan_id)["state"] == "running"
        linked = {"operations": [operation_id], "deployments": [running["deployment_id"]]}
        await did_call(agent, "phelix_session_checkpoint", session_id=session_id, step="apply", **linked)
        assert applied == {}
        gate.opened()
    assert (applied["operation_id"], applied["result"]["status"]) == (operation_id, "succeeded")
    deployment_id: str = applied["result"]["deployment_id"]
    return deployment_id


async def verifies_and_completes(agent: Client, session_id: str, deployment_id: str) -> None:
    """The agent looks at what it brought, and says so."""
    assert (await did_call(agent, "phelix_inspect", resource="health", app="shop"))["status"] == "healthy"
    deployed = await did_call(agent, "phelix_inspect", resource="deployment", app="shop")
    assert (deployed["deployment_id"], deployed["version"]) == (deployment_id, "1.4.0")
    await did_call(agent, "phelix_session_checkpoint", session_id=session_id, step="verify", note="healthy")
    await did_call(agent, "phelix_session_complete", session_id=session_id, result="1.4.0 serves")
