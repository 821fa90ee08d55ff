"""An approval, which is for one exact plan and nothing else, and a decision, which is one line of the log.

Promises: an approval names the plan by its id and its hash, its action and its application, under a hash of its own,
so that a file that was copied, edited or written for something else is none; what it proves about who approved is
what is written, that somebody could write in this data directory, and no more. A decision tells an attempt to
execute, whatever came of it. Source: arc page; upstream sessions page, sections 3 and 6.
"""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from phelix_core.arc.model import PLAN_NAME, RECORD_VERSION, Actor, Plan, hash_of
from phelix_core.checks import Check, CheckFailed, full_match
from phelix_core.errors import ApprovalInvalid, InvalidArgument
from phelix_core.frozen import frozen
from phelix_core.shapes import Members, ShapeRefused
from phelix_core.strictjson import JsonRefused, dumps, loads, plain

APPROVAL_NAME: Final = full_match("apr_[0-9a-f]{16}", "an approval id")
DECISION_NAME: Final = full_match("azd_[0-9a-f]{16}", "a decision id")
MAX_APPROVAL_BYTES: Final = 8 * 1024
MAX_DECISION_BYTES: Final = 8 * 1024
MAX_DECISIONS: Final = 512
APPROVED: Final = "approved"
"""The only decision that is stored: who does not approve, writes nothing."""
LOCAL_HOST: Final = "local_host"
"""What an approval proves: that its approver could write in this data directory."""

_NO_MEMBERS: Final[Mapping[str, object]] = MappingProxyType({})


@frozen
class Approval:
    """One approval of one plan; `target` is its application, and no member is beyond the hash but id, time, provenance.

    `approver_provenance` is the name that the host knew the approver by: colour, which nothing matches on.
    """

    schema_version: str
    approval_id: str
    approval_hash: str
    plan_id: str
    plan_hash: str
    action: str
    target: str
    decision: str
    approver_type: str
    approver_id: str | None = None
    approver_authenticated: bool
    approver_source: str
    approver_provenance: str | None = None
    approved_at_ms: int

    def is_for(self, plan: Plan) -> bool:
        """Whether it is this plan that was approved, as it stands."""
        bound = (self.plan_id, self.plan_hash, self.action, self.target)
        return bound == (plan.plan_id, plan.plan_hash, plan.action.type, plan.action.application)


def new_approval(
    plan: Plan, approver: Actor, *, approval_id: str, at_ms: int, provenance: str | None = None
) -> Approval:
    """The approval of `plan` by `approver`; the provenance is redacted before it gets here."""
    bound: dict[str, object] = {
        "schema_version": RECORD_VERSION,
        "plan_id": plan.plan_id,
        "plan_hash": plan.plan_hash,
        "action": plan.action.type,
        "target": plan.action.application,
        "decision": APPROVED,
        "approver_type": approver.type,
        "approver_id": approver.id,
        "approver_authenticated": approver.authenticated,
        "approver_source": LOCAL_HOST,
    }
    return _approval(
        Members(
            bound
            | {
                "approval_id": APPROVAL_NAME.apply(approval_id),
                "approval_hash": _hash_over(bound),
                "approver_provenance": provenance,
                "approved_at_ms": at_ms,
            },
            "the approval",
        )
    )


_HASHED: Final = {
    "schema_version": "SchemaVersion",
    "plan_id": "PlanID",
    "plan_hash": "PlanHash",
    "action": "Action",
    "target": "Target",
    "decision": "Decision",
    "approver_type": "ApproverType",
    "approver_id": "ApproverID",
    "approver_authenticated": "ApproverAuthenticated",
    "approver_source": "ApproverSource",
}
"""What the hash covers, under the names that the guide's own tool hashes it by: each opens the other's approvals."""


def _hash_over(bound: Mapping[str, object]) -> str:
    return hash_of({name: "" if (value := bound[key]) is None else value for key, name in _HASHED.items()})


def encode_approval(approval: Approval) -> bytes:
    """The record's bytes; over the size cap is `InvalidArgument`."""
    data = dumps(plain(approval)).encode()
    if len(data) > MAX_APPROVAL_BYTES:
        raise InvalidArgument(f"The approval would be {len(data)} bytes, over the cap of {MAX_APPROVAL_BYTES}.")
    return data


def decode_approval(data: bytes, plan_id: str) -> Approval:
    """The approval in `data`, which is filed under `plan_id`; raises `ApprovalInvalid`."""
    try:
        members = Members(loads(data), "the approval")
        bound = {name: members.rest.get(name) for name in _HASHED}
        approval = _approval(members)
    except (JsonRefused, ShapeRefused) as refused:
        raise ApprovalInvalid(f"The approval cannot be read: {refused}.") from None
    if members.rest:
        raise ApprovalInvalid("The approval holds members that its hash does not cover.")
    if approval.schema_version != RECORD_VERSION or approval.decision != APPROVED:
        raise ApprovalInvalid("The approval is of a version or a decision that this version of Phelix does not read.")
    if approval.approval_hash != _hash_over(bound):
        raise ApprovalInvalid("The approval was changed after it was given: revoke it, and approve the plan again.")
    if approval.plan_id != plan_id:
        raise ApprovalInvalid("The approval filed for this plan is for another one.")
    return approval


def _approval(members: Members) -> Approval:
    return Approval(
        schema_version=members.text("schema_version"),
        approval_id=_id(members, "approval_id", APPROVAL_NAME),
        approval_hash=members.text("approval_hash"),
        plan_id=_id(members, "plan_id", PLAN_NAME),
        plan_hash=members.text("plan_hash"),
        action=members.text("action"),
        target=members.text("target"),
        decision=members.text("decision"),
        approver_type=members.text("approver_type"),
        approver_id=members.optional_text("approver_id"),
        approver_authenticated=members.flag("approver_authenticated"),
        approver_source=members.text("approver_source"),
        approver_provenance=members.optional_text("approver_provenance"),
        approved_at_ms=members.integer("approved_at_ms"),
    )


def _id(members: Members, name: str, form: Check) -> str:
    value = members.text(name)
    try:
        form.apply(value)
    except CheckFailed:
        members.wrong(name, "an id of its form")
    return value


@frozen
class Decision:
    """One attempt to execute: who, which plan, what was decided and why; `rule_index` is -1 where no rule decided."""

    schema_version: str
    decision_id: str
    decided_at_ms: int
    actor_type: str
    actor_id: str | None = None
    actor_authenticated: bool
    actor_provenance: str | None = None
    action: str
    target: str
    plan_id: str | None = None
    plan_hash: str | None = None
    decision: str
    code: str
    reason: str | None = None
    mode: str
    rule_index: int
    approval_id: str | None = None
    extra: Mapping[str, object] = _NO_MEMBERS


def encode_decision(decision: Decision) -> bytes:
    """The decision as one compact line with its end; over the size cap is `InvalidArgument`."""
    text = json.dumps(plain(decision), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    line = f"{text}\n".encode()
    if len(line) > MAX_DECISION_BYTES:
        raise InvalidArgument(f"The decision would be {len(line)} bytes, over the cap of {MAX_DECISION_BYTES}.")
    return line


def decode_decision(line: bytes) -> Decision | None:
    """The decision that a line of the log is; None where it is none."""
    try:
        members = Members(loads(line), "the decision")
        rule_index = members.rest.pop("rule_index", None)
        if type(rule_index) is not int or rule_index < -1:
            members.wrong("rule_index", "a rule's place")
        return Decision(
            schema_version=members.text("schema_version"),
            decision_id=_id(members, "decision_id", DECISION_NAME),
            decided_at_ms=members.integer("decided_at_ms"),
            actor_type=members.text("actor_type"),
            actor_id=members.optional_text("actor_id"),
            actor_authenticated=members.flag("actor_authenticated"),
            actor_provenance=members.optional_text("actor_provenance"),
            action=members.text("action"),
            target=members.text("target"),
            plan_id=members.optional_text("plan_id"),
            plan_hash=members.optional_text("plan_hash"),
            decision=members.text("decision"),
            code=members.text("code"),
            reason=members.optional_text("reason"),
            mode=members.text("mode"),
            rule_index=rule_index,
            approval_id=members.optional_text("approval_id"),
            extra=members.rest,
        )
    except (JsonRefused, ShapeRefused):
        return None


def appended(log: bytes, line: bytes, keep: int = MAX_DECISIONS) -> bytes:
    """The log with `line` at its end and the newest `keep` lines of it.

    A line that a killed writer left without its end gets one: what it tells is kept, and the next does not run into it.
    """
    lines = [old + b"\n" for old in log.split(b"\n") if old]
    return b"".join([*lines[max(0, len(lines) + 1 - keep) :], line])
