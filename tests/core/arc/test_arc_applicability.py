"""Applicability: each precondition that holds, fails, or cannot be checked; what is declared otherwise."""

from typing import Any

import pytest

from phelix_core.arc.applicability import (
    Applicability,
    Facts,
    FailedPrecondition,
    applicability_of,
    current_version_of,
    facts_of,
    preconditions_of,
    require_applicable,
)
from phelix_core.arc.applications import decode_application, execution_of
from phelix_core.arc.model import Plan, hash_of
from phelix_core.arc.operations import Operation, begun, finished
from phelix_core.errors import PlanCapabilityMissing, PlanStale
from phelix_core.frozen import changed
from tests.core.arc.samples import fact, sample_operation, sample_plan

NOW_MS = 99
APPLICATION = decode_application(
    b'name = "billing"\nversion = "v2"\nversions = ["v2", "v3"]\n[deploy]\ncommand = ["./deploy", "{version}"]\n',
    "billing",
)
PRINT = APPLICATION.fingerprint
FACTS = Facts(application=APPLICATION, current_version="v2")
GONE = Facts()
SPOILT = Facts(absent="unusable")
RUN = execution_of(APPLICATION, "deploy", "v3")


def plan_as_declared(**chosen: Any) -> Plan:
    whole: dict[str, Any] = {"inputs": {"version": "v3"}, "execution": RUN, **chosen}
    return sample_plan(**whole)


@pytest.mark.parametrize(
    ("kind", "expected", "facts", "actual"),
    [
        ("app_exists", "billing", FACTS, None),
        ("app_exists", "a1", FACTS, "billing"),
        ("app_exists", "billing", GONE, "missing"),
        ("app_exists", "missing", GONE, "missing"),
        ("app_exists", "billing", SPOILT, "unusable"),
        ("app_exists", "unusable", SPOILT, "unusable"),
        ("current_version", "v2", FACTS, None),
        ("current_version", "v1", FACTS, "v2"),
        ("current_version", "none", FACTS, "v2"),
        ("current_version", "none", changed(FACTS, current_version=None), None),
        ("current_version", "v2", changed(FACTS, current_version=None), "none"),
        ("current_version", "none", GONE, "missing"),
        ("current_version", "v2", SPOILT, "unusable"),
        ("version_exists", "v3", FACTS, None),
        ("version_exists", "v4", FACTS, "missing"),
        ("version_exists", "missing", FACTS, "missing"),
        ("version_exists", "", FACTS, "missing"),
        ("version_exists", "v3", GONE, "missing"),
        ("config_fingerprint", PRINT, FACTS, None),
        ("config_fingerprint", "sha256:22", FACTS, PRINT),
        ("config_fingerprint", "missing", GONE, "missing"),
        ("config_fingerprint", PRINT, SPOILT, "unusable"),
        ("moon_phase", "full", GONE, "unchecked"),
        ("execution", "anything", FACTS, "unchecked"),
        ("deploy_mode", "classic", FACTS, "unchecked"),
        ("source_commit", "abc", FACTS, "unchecked"),
        ("toolchain_available", "go", FACTS, "unchecked"),
        ("moon_phase", "unchecked", FACTS, "unchecked"),
        ("", "", FACTS, "unchecked"),
    ],
)
def test_a_precondition_holds_or_is_told_with_what_is_true_now_and_what_cannot_be_checked_fails(
    kind: str, expected: str, facts: Facts, actual: str | None
) -> None:
    found = applicability_of(plan_as_declared(preconditions=[fact(kind, expected)]), facts, NOW_MS)
    failed = () if actual is None else (FailedPrecondition(type=kind, expected=expected, actual=actual),)
    assert found.failed_preconditions == failed
    assert found.checked_at_ms == NOW_MS
    if actual is not None:
        assert found.state == "stale"


@pytest.mark.parametrize(
    ("action", "capabilities", "missing"),
    [
        ("deploy", (), ()),
        ("deploy", ("deploy",), ()),
        ("deploy", ("docker", "deploy"), ("docker",)),
        ("rollback", (), ("rollback",)),
        ("rebuild", ("docker",), ("docker", "rebuild")),
    ],
)
def test_an_action_and_each_capability_must_be_declared(
    action: str, capabilities: tuple[str, ...], missing: tuple[str, ...]
) -> None:
    plan = plan_as_declared(action=action, capabilities=capabilities)
    found = applicability_of(plan, FACTS, NOW_MS)
    assert found == Applicability(
        state="stale" if missing else "applicable",
        checked_at_ms=NOW_MS,
        failed_preconditions=(),
        missing_capabilities=missing,
    )
    if missing:
        with pytest.raises(PlanCapabilityMissing) as caught:
            require_applicable(plan, found)
        assert caught.value.details["missing_capabilities"] == list(missing)
    else:
        require_applicable(plan, found)


def test_what_is_no_longer_true_is_told_before_what_is_not_declared() -> None:
    taken = [fact("current_version", "v1"), fact("app_exists", "billing")]
    plan = plan_as_declared(preconditions=taken, capabilities=["x"])
    with pytest.raises(PlanStale, match="current_version") as caught:
        require_applicable(plan, applicability_of(plan, FACTS, NOW_MS))
    assert caught.value.details["failed_preconditions"] == [
        {"type": "current_version", "expected": "v1", "actual": "v2"}
    ]


def test_a_plan_never_goes_stale_by_age() -> None:
    assert applicability_of(plan_as_declared(at_ms=0), FACTS, 2**53).state == "applicable"


@pytest.mark.parametrize(
    ("chosen", "is_checked"),
    [
        ({"execution": {**RUN, "argv": ["./deploy", "v2"]}}, True),
        ({"execution": {**RUN, "argv": ["./deploy", "v3", "--force"]}}, True),
        ({"execution": {**RUN, "time_limit_seconds": 1}}, True),
        ({"execution": {**RUN, "environment": ["LD_PRELOAD"]}}, True),
        ({"execution": {**RUN, "folder": "elsewhere"}}, True),
        ({"execution": {**RUN, "shell": True}}, True),
        ({"execution": {}}, True),
        ({"inputs": {"version": "v2"}}, True),
        ({"inputs": {"version": "--force"}}, False),
        ({"inputs": {"version": 3}}, False),
        ({"inputs": {}}, False),
    ],
)
def test_a_plan_that_would_run_anything_else_than_is_declared_is_stale_whatever_it_says_it_takes_for_granted(
    chosen: dict[str, Any],
    is_checked: bool,  # noqa: FBT001 - a table's column
) -> None:
    (failed,) = applicability_of(plan_as_declared(**chosen), FACTS, NOW_MS).failed_preconditions
    assert failed.type == "execution"
    assert failed.expected == hash_of(plan_as_declared(**chosen).execution)
    assert failed.actual.startswith("sha256:") is is_checked
    assert failed.actual != failed.expected


def test_what_would_be_run_is_not_compared_where_nothing_is_declared() -> None:
    for facts in (GONE, SPOILT):
        found = applicability_of(plan_as_declared(execution={}), facts, NOW_MS)
        assert (found.state, found.failed_preconditions) == ("stale", ())
        assert found.missing_capabilities == ("deploy",)


def deployed(version: object, at_ms: int, app: str = "billing", status: str = "succeeded") -> Operation:
    done = finished(begun(sample_operation(at_ms=at_ms), at_ms), status, at_ms, result={"version": version})
    return changed(done, app=app, id=f"op_{at_ms:016x}")


@pytest.mark.parametrize(
    ("operations", "version"),
    [
        ([], "v2"),
        ([deployed("v3", 5)], "v3"),
        ([deployed("v3", 5), deployed("v4", 9)], "v4"),
        ([deployed("v4", 9), deployed("v3", 5)], "v4"),
        ([deployed("v3", 5), deployed("v4", 9, status="failed")], "v3"),
        ([deployed("v3", 5), deployed("v4", 9, app="auth")], "v3"),
        ([deployed(17, 5), deployed("", 6), deployed(None, 7)], "v2"),
        ([sample_operation()], "v2"),
    ],
)
def test_the_current_version_is_what_last_succeeded_and_before_that_what_the_file_says(
    operations: list[Operation], version: str
) -> None:
    assert current_version_of(APPLICATION, operations) == version
    assert facts_of(APPLICATION, operations).current_version == version


def test_what_a_new_plan_takes_for_granted_is_true_when_it_is_made_and_not_after_it_was_carried_out() -> None:
    facts = facts_of(APPLICATION, [])
    plan = plan_as_declared(preconditions=preconditions_of(APPLICATION, facts, "v3"), capabilities=["deploy"])
    assert applicability_of(plan, facts, NOW_MS).state == "applicable"
    later = applicability_of(plan, facts_of(APPLICATION, [deployed("v3", 5)]), NOW_MS)
    assert [failed.type for failed in later.failed_preconditions] == ["current_version"]
    gone = applicability_of(plan, facts_of(None, []), NOW_MS)
    assert len(gone.failed_preconditions) == 4
    assert gone.missing_capabilities == ("deploy",)
