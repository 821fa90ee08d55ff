"""The public Python API: every name is there, every example in its documentation runs and says the truth."""

import doctest
import inspect
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import phelix_core
from phelix_core import SessionLifecycleAdapter, adapter, errors
from phelix_core.lifecycle import inputs
from phelix_core.lifecycle.actions import ACTIONS
from tests.contract.lifecycle import payloads

REPORT: dict[str, Any] = {"title": "t", "summary": "s", "next_step": "n", "artifact_ids": ("commit:1",)}
METHODS = {
    name: method for name, method in vars(SessionLifecycleAdapter).items() if name in ACTIONS or name == "perform"
}


@pytest.fixture
def ready(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """What the examples speak of: an adapter over a queue with two issues, the first ready."""
    folder = str(tmp_path / "data")
    made = SessionLifecycleAdapter(data_dir=folder)
    made.init_workspace(inputs.InitWorkspace(workspace_name="northwind"))
    made.create_campaign(inputs.CreateCampaign(project_name="billing", campaign_name="v3", objective="retire v2"))
    batch = payloads("lifecycle")["03_plan_issues"]["input"]["milestones"][:1]
    planned = made.plan_issues(inputs.PlanIssues(project_id="billing", campaign_id="v3", milestones=tuple(batch)))
    made.promote_queue(inputs.InScope(project_id="billing"))
    issue = planned["generatedMilestones"][0]["generatedIssues"][0]["id"]
    yield {**vars(adapter), **vars(inputs), "adapter": made, "folder": folder, "issue": issue}
    made.shut()


HOLDS = {"checkpoint", "close", "advance", "heartbeat", "inspect_audit", "inspect_health_snapshot"}
ENDED = {"begin_recovery": "needs_recovery", "recover": "needs_recovery", "unblock": "blocked", "retry": "failed"}


def arrange(name: str, known: dict[str, Any]) -> None:
    """Bring the queue to where an example begins."""
    made: SessionLifecycleAdapter = known["adapter"]
    if name in HOLDS or name in ENDED:
        known["context"] = made.begin_incremental(
            inputs.BeginIncremental(
                workspace_id="northwind",
                project_id="billing",
                host="h1",
                host_capabilities=inputs.HostCapabilities(workload_classes=("code",)),
                artifacts=(inputs.ArtifactRef(kind="branch", path="x"),),
                mem0_enabled=False,
            )
        )
    if name in ENDED:
        made.close(known["context"], inputs.Closing(**REPORT, task_status=ENDED[name]))
    if name == "list_artifacts":
        made.save_artifact(inputs.SaveArtifact(issue_id=known["issue"], kind="report", path="p"))
    if name == "undrain":
        made.drain(inputs.OnCampaign(campaign_id="v3", reason="r"))


def tried(text: str, known: dict[str, Any], name: str) -> None:
    test = doctest.DocTestParser().get_doctest(text, known, name, None, None)
    assert test.examples, f"{name} shows no example"
    told: list[str] = []
    failed, _ = doctest.DocTestRunner(optionflags=doctest.FAIL_FAST).run(test, out=told.append)
    assert not failed, "".join(told)


@pytest.mark.parametrize("name", METHODS)
def test_the_example_of_each_action_runs_and_answers_what_it_says(ready: dict[str, Any], name: str) -> None:
    arrange(name, ready)
    tried(inspect.getdoc(METHODS[name]) or "", ready, name)


def test_the_adapters_own_example_runs(ready: dict[str, Any]) -> None:
    tried(inspect.getdoc(SessionLifecycleAdapter) or "", ready, "SessionLifecycleAdapter")


def test_the_packages_own_example_runs(ready: dict[str, Any]) -> None:
    known = {name: getattr(phelix_core, name) for name in phelix_core.__all__}
    tried(phelix_core.__doc__ or "", {**known, "folder": ready["folder"]}, "phelix_core")


def test_every_action_is_a_method_with_types_and_nothing_else_is_public() -> None:
    assert set(METHODS) == {*ACTIONS, "perform"}
    public = {name for name in vars(SessionLifecycleAdapter) if not name.startswith("_")}
    assert public == {*ACTIONS, "perform", "shut"}
    for name in ACTIONS:
        told = inspect.signature(METHODS[name])
        assert told.return_annotation is not inspect.Signature.empty
        assert told.parameters["given"].annotation is ACTIONS[name].input


def test_every_public_name_is_there_and_is_typed() -> None:
    for name in phelix_core.__all__:
        assert getattr(phelix_core, name) is not None
    with pytest.raises(AttributeError):
        _ = phelix_core.nothing  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    assert Path(phelix_core.__file__).with_name("py.typed").exists()


def test_a_refusal_is_an_exception_with_its_code_and_an_input_that_is_wrong_names_its_place(
    ready: dict[str, Any],
) -> None:
    made: SessionLifecycleAdapter = ready["adapter"]
    with pytest.raises(errors.NotFound):
        made.inspect_export(inputs.InspectExport(project_id="none"))
    with pytest.raises(errors.InvalidArgument) as found:
        made.inspect_export(inputs.InspectExport(project_id="billing", run_limit=101))
    issues: Any = found.value.details["issues"]
    assert issues[0]["path"] == ["input", "runLimit"]
    with pytest.raises(errors.LeaseLost):
        made.heartbeat({"leaseId": "L-none"}, inputs.Heartbeat())


def test_the_process_is_the_holder_of_the_leases_that_it_takes(ready: dict[str, Any]) -> None:
    arrange("checkpoint", ready)
    told = ready["adapter"].inspect_audit(inputs.InspectAudit(issue_id=ready["issue"]))
    assert [one["holderPid"] for one in told["evidence"]["leases"]] == [os.getpid()]


def test_a_read_only_adapter_is_refused_by_the_core(ready: dict[str, Any]) -> None:
    with SessionLifecycleAdapter(data_dir=ready["folder"], read_only=True) as looking:
        assert looking.inspect_health_snapshot(inputs.InspectHealth(project_id="billing"))["snapshotVersion"] == 1
        with pytest.raises(errors.ReadOnly):
            looking.promote_queue(inputs.InScope(project_id="billing"))
