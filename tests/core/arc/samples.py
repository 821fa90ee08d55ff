"""Plans, policies and records that the tests of the arc begin with."""

import json
from typing import Any

from phelix_core.arc.approvals import Approval, new_approval
from phelix_core.arc.model import Actor, Plan, Precondition, plan_document, plan_of
from phelix_core.arc.operations import Operation, new_operation
from phelix_core.processes import ProcessIdentity

PLAN_ID = "pln_0123456789abcdef"
OPERATION_ID = "op_0123456789abcdef"
APPROVAL_ID = "apr_0123456789abcdef"
DECISION_ID = "azd_0123456789abcdef"
CLI = Actor(type="cli", id=None, authenticated=False)
MCP = Actor(type="mcp", id=None, authenticated=False)
APPLIER = ProcessIdentity(pid=41, started=7, boot="boot-1")
CHILD = ProcessIdentity(pid=42, started=8, boot="boot-1")


def sample_plan(plan_id: str = PLAN_ID, application: str = "billing", at_ms: int = 5, **chosen: Any) -> Plan:
    return plan_of(plan_document(plan_id, application, at_ms, **chosen), plan_id)


def fact(kind: str, expected: str) -> Precondition:
    return Precondition(type=kind, expected=expected)


def sample_operation(plan: Plan | None = None, at_ms: int = 9) -> Operation:
    return new_operation(
        plan or sample_plan(),
        actor=CLI,
        applier=APPLIER,
        deployment_id="dep-01",
        authz_decision_id=DECISION_ID,
        approval_id=None,
        at_ms=at_ms,
    )


def sample_approval(plan: Plan | None = None) -> Approval:
    return new_approval(plan or sample_plan(), CLI, approval_id=APPROVAL_ID, at_ms=7, provenance="ann")


def rule(**changed: Any) -> dict[str, Any]:
    """A rule that lets anybody unproven do anything, and what a test changes of it; None takes a member away."""
    whole = {"actor": {"type": "*", "authenticated": False}, "action": "*", "target": "*", "effect": "allow"} | changed
    return {name: value for name, value in whole.items() if value is not None}


def policy_text(*rules: object, **changed: object) -> bytes:
    return json.dumps({"schema_version": "1", "mode": "enforced", "rules": list(rules)} | changed).encode()
