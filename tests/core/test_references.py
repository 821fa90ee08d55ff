from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pytest

from phelix_core.errors import (
    FilesystemError,
    InvalidArgument,
    NotFound,
    OperationCorrupt,
    PhelixError,
    PlanCorrupt,
    PlanHashMismatch,
    PlanInvalid,
)
from phelix_core.sessions import transitions
from phelix_core.sessions.model import Actor, Session
from phelix_core.sessions.references import Fact, require_loadable, resolve
from phelix_core.sessions.transitions import References, Stamp


class Source:
    """Facts held in memory, counting how often each kind is looked at."""

    def __init__(self, facts: Mapping[str, Fact | PhelixError]) -> None:
        self.facts = facts
        self.looks: Counter[str] = Counter()

    def plan(self, plan_id: str) -> Fact:
        self.looks["plan"] += 1
        return self._told(plan_id)

    def operation(self, operation_id: str) -> Fact:
        self.looks["operation"] += 1
        return self._told(operation_id)

    def deployments(self, wanted: frozenset[str]) -> Mapping[str, Fact]:
        self.looks["deployments"] += 1
        if isinstance(failure := self.facts.get("deployments"), PhelixError):
            raise failure
        return {name: fact for name in wanted if isinstance(fact := self.facts.get(name), Fact)}

    def _told(self, name: str) -> Fact:
        fact = self.facts.get(name, NotFound())
        if isinstance(fact, PhelixError):
            raise fact
        return fact


def session(plans: int = 0, operations: int = 0, deployments: int = 0) -> Session:
    actor = Actor(type="cli", id=None, authenticated=False)
    made = transitions.create(
        "ses_0000000000000001", actor, Stamp(at_ms=1, via="cli"), title=None, project=None, app=None
    )
    return replace(
        made,
        plan_ids=tuple(f"pln_{n}" for n in range(plans)),
        operation_ids=tuple(f"op_{n}" for n in range(operations)),
        deployment_ids=tuple(f"dep-{n}" for n in range(deployments)),
    )


def test_a_plan_or_operation_that_loads_is_present_with_its_status_and_detail() -> None:
    found = resolve(session(1, 1), Source({"pln_0": Fact("created", "sha256:x"), "op_0": Fact("failed", "deploy")}))
    assert [(r.present, r.state, r.status, r.detail) for r in (*found.plans, *found.operations)] == [
        (True, "present", "created", "sha256:x"),
        (True, "present", "failed", "deploy"),
    ]


def test_what_is_not_there_is_missing() -> None:
    found = resolve(session(1, 1), Source({}))
    assert {(r.present, r.state, r.error_code) for r in (*found.plans, *found.operations)} == {(False, "missing", None)}


@pytest.mark.parametrize("error", [PlanCorrupt, PlanInvalid, PlanHashMismatch, OperationCorrupt, FilesystemError])
def test_what_cannot_be_read_or_trusted_is_unavailable_with_its_code(error: type[PhelixError]) -> None:
    found = resolve(session(1, 1), Source({"pln_0": error(), "op_0": error()}))
    for reference in (*found.plans, *found.operations):
        assert (reference.present, reference.state, reference.error_code) == (False, "unavailable", error.code)


def test_a_deployment_that_nothing_correlates_is_unknown_and_never_missing() -> None:
    found = resolve(session(deployments=2), Source({"dep-1": Fact("running", "operation op_1")}))
    assert [(r.id, r.present, r.state) for r in found.deployments] == [
        ("dep-0", False, "unknown"),
        ("dep-1", True, "present"),
    ]


def test_deployments_are_unavailable_where_the_operations_cannot_be_looked_through() -> None:
    found = resolve(
        session(1, deployments=2), Source({"deployments": FilesystemError(), "pln_0": Fact("created", "h")})
    )
    assert {(r.state, r.error_code) for r in found.deployments} == {("unavailable", "FILESYSTEM_ERROR")}
    assert found.plans[0].state == "present", "one kind that fails hides no other"


def test_resolving_50_deployments_costs_one_pass_and_none_costs_nothing() -> None:
    source = Source({})
    resolve(session(50, 50, 50), source)
    assert source.looks == {"plan": 50, "operation": 50, "deployments": 1}
    source = Source({})
    resolve(session(), source)
    assert not source.looks


def test_references_stand_in_the_order_in_which_they_were_linked() -> None:
    found = resolve(session(3, 3, 3), Source({"pln_1": PlanCorrupt()}))
    assert [r.id for r in found.plans] == ["pln_0", "pln_1", "pln_2"]
    assert [r.id for r in found.deployments] == ["dep-0", "dep-1", "dep-2"]


@pytest.mark.parametrize("error", [NotFound, PlanCorrupt, PlanHashMismatch, FilesystemError, OperationCorrupt])
def test_linking_what_does_not_load_names_the_id_and_links_nothing(error: type[PhelixError]) -> None:
    source = Source({"pln_0": Fact("created", "h"), "op_0": error()})
    with pytest.raises(InvalidArgument) as caught:
        require_loadable(References(plans=("pln_0",), operations=("op_0",)), source)
    assert caught.value.details == {"id": "op_0", "reason": error.code}
    assert "Nothing was linked" in caught.value.message


def test_linking_a_deployment_looks_nothing_up() -> None:
    source = Source({})
    require_loadable(References(deployments=("dep-1",)), source)
    assert not source.looks
