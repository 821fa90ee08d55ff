"""Plans and operations as the guide's own tool writes them: read, verified, never changed here.

A plan's hash covers what would be executed and nothing volatile: compact JSON of version, action, target,
inputs, execution, preconditions and capabilities, with `<`, `>`, `&` and the two line separators escaped
and empty lists as null, hashed by SHA-256. Source: arc page; upstream sessions page, section 3.
"""

import json
from typing import Final

from phelix_core.checks import full_match
from phelix_core.errors import OperationCorrupt, PlanCorrupt, PlanHashMismatch, PlanInvalid
from phelix_core.frozen import frozen
from phelix_core.shapes import Members, ShapeRefused
from phelix_core.strictjson import JsonRefused, loads

PLAN_NAME: Final = full_match("pln_[0-9a-f]{16}", "a plan id")
OPERATION_NAME: Final = full_match("op_[0-9a-f]{16}", "an operation id")
MAX_PLAN_BYTES: Final = 64 * 1024
FINISHED: Final = frozenset({"succeeded", "failed", "cancelled"})
INDETERMINATE: Final = "indeterminate"

_PLAN_VERSION = "1"
_PLAN_STATUSES = ("created", "applied", "failed")
_OPERATION_STATUSES = frozenset({"pending", "running"}) | FINISHED
_HASHED = ("action", "target", "inputs", "execution", "preconditions", "capabilities")
_ESCAPED = {
    ord("<"): "\\u003c",
    ord(">"): "\\u003e",
    ord("&"): "\\u0026",
    0x2028: "\\u2028",
    0x2029: "\\u2029",
}


@frozen
class Plan:
    """One immutable plan, as far as a reference needs it."""

    plan_id: str
    plan_hash: str
    status: str


@frozen
class Operation:
    """One execution; `status` is the stored one, `pid` the process that ran it (0: not recorded)."""

    operation_id: str
    kind: str
    status: str
    deployment_id: str | None
    created_at_ms: int
    pid: int


def decode_plan(data: bytes, plan_id: str) -> Plan:
    """The plan in `data`; raises `PlanCorrupt`, `PlanInvalid` or `PlanHashMismatch`."""
    try:
        document = loads(data)
        members = Members(document, "the plan")
        hashed = {part: members.rest.get(part) for part in _HASHED}
        version = members.text("schema_version")
        plan = Plan(
            plan_id=members.text("plan_id"),
            plan_hash=members.text("plan_hash"),
            status=members.text("status"),
        )
    except (JsonRefused, ShapeRefused) as refused:
        raise PlanCorrupt(f"The plan cannot be read: {refused}.") from None
    if version != _PLAN_VERSION or plan.plan_id != plan_id or plan.status not in _PLAN_STATUSES:
        raise PlanInvalid
    if plan.plan_hash != plan_hash(version, hashed):
        raise PlanHashMismatch
    return plan


def plan_hash(version: str, hashed: dict[str, object]) -> str:
    """The content hash over a plan's version and its six hashed members."""
    from hashlib import sha256  # noqa: PLC0415 - most calls touch no plan

    image: dict[str, object] = {"SchemaVersion": version}
    for part in _HASHED:
        image[part.capitalize()] = hashed[part] if hashed[part] != [] else None
    text = json.dumps(image, ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(_ESCAPED)
    return f"sha256:{sha256(text.encode()).hexdigest()}"


def plan_document(plan_id: str, application: str, at_ms: int) -> dict[str, object]:
    """A plan to deploy `application`, in the shape that `decode_plan` reads."""
    hashed: dict[str, object] = {
        "action": {"type": "deploy", "application": application},
        "target": {"app_name": application},
        "inputs": {},
        "execution": {},
        "preconditions": [],
        "capabilities": [],
    }
    head = {
        "schema_version": _PLAN_VERSION,
        "plan_id": plan_id,
        "plan_hash": plan_hash(_PLAN_VERSION, hashed),
    }
    return {**head, "created_at_ms": at_ms, "status": "created", **hashed}


def decode_operation(data: bytes, operation_id: str) -> Operation:
    """The operation in `data`; raises `OperationCorrupt`."""
    try:
        members = Members(loads(data), "the operation")
        operation = Operation(
            operation_id=members.text("id"),
            kind=members.text("kind"),
            status=members.text("status"),
            deployment_id=members.optional_text("deployment_id"),
            created_at_ms=members.integer("created_at_ms", 0),
            pid=members.integer("pid", 0),
        )
    except (JsonRefused, ShapeRefused) as refused:
        raise OperationCorrupt(f"The operation cannot be read: {refused}.") from None
    if operation.operation_id != operation_id or operation.status not in _OPERATION_STATUSES:
        raise OperationCorrupt
    return operation


def derived_status(operation: Operation, *, alive: bool) -> str:
    """The status to tell: an unfinished operation whose process is gone is indeterminate, never failed."""
    if operation.status in FINISHED or alive:
        return operation.status
    return INDETERMINATE
