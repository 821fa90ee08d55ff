"""A plan: what one action would do to one application, immutable, under a hash of what it says.

Promises: what was read is written back member for member, known or not; a plan whose content is not what its hash
says is never a plan. The hash covers what would be executed and nothing volatile: compact JSON of version, action,
target, inputs, execution, preconditions and capabilities, with `<`, `>`, `&` and the two line separators escaped
and empty lists as null, hashed by SHA-256. Source: arc page; upstream sessions page, section 3.
"""

import json
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, cast

from phelix_core.checks import full_match
from phelix_core.errors import InvalidArgument, PlanCorrupt, PlanHashMismatch, PlanInvalid
from phelix_core.frozen import frozen
from phelix_core.shapes import Members, ShapeRefused
from phelix_core.strictjson import JsonRefused, dumps, loads, plain

PLAN_NAME: Final = full_match("pln_[0-9a-f]{16}", "a plan id")
MAX_PLAN_BYTES: Final = 64 * 1024
RECORD_VERSION: Final = "1"

DEPLOY: Final = "deploy"
ROLLBACK: Final = "rollback"
ACTIONS: Final = (DEPLOY, ROLLBACK)
"""What a plan of ours may do; plans of the guide's tool may name others, which open and never execute."""

CREATED: Final = "created"
_STATUSES = (CREATED, "applied", "failed")
_HASHED = ("action", "target", "inputs", "execution", "preconditions", "capabilities")
_ESCAPED = {
    ord("<"): "\\u003c",
    ord(">"): "\\u003e",
    ord("&"): "\\u0026",
    0x2028: "\\u2028",
    0x2029: "\\u2029",
}
_NO_MEMBERS: Final[Mapping[str, object]] = MappingProxyType({})


@frozen
class Actor:
    """Who asks, as the surface knows it: never an input."""

    type: str
    id: str | None
    authenticated: bool


@frozen
class Action:
    """What would be done, and to which application."""

    type: str
    application: str


@frozen
class Precondition:
    """One fact that held when the plan was made, in its one written form; `source` says where it was looked up."""

    type: str
    expected: str
    source: str | None = None


@frozen
class Correlation:
    """What the guide's own tool notes on a plan that it applied; ours stay as they were made."""

    operation_id: str | None
    deployment_id: str | None
    applied_at_ms: int


@frozen
class Plan:
    """One immutable plan; `document` is the record itself, of which the other members are readings.

    `actor` says who asked for it, as its surface knew; the guide's tool does not note that.
    """

    plan_id: str
    plan_hash: str
    created_at_ms: int
    status: str
    actor: Actor | None
    action: Action
    target: Mapping[str, object]
    inputs: Mapping[str, object]
    execution: Mapping[str, object]
    preconditions: tuple[Precondition, ...]
    capabilities: tuple[str, ...]
    correlation: Correlation | None
    document: Mapping[str, object]

    def members(self) -> dict[str, object]:
        """The record exactly as it was read or made."""
        return dict(self.document)


def decode_plan(data: bytes, plan_id: str) -> Plan:
    """The plan in `data`, which stands under the name of `plan_id`.

    Raises `PlanCorrupt` (no record of a plan), `PlanHashMismatch` (not what was hashed) or `PlanInvalid` (a record of
    another version, id or status, or one that was hashed in a shape that is no plan's).
    """
    try:
        return plan_of(loads(data), plan_id)
    except JsonRefused as refused:
        raise PlanCorrupt(f"The plan cannot be read: {refused}.") from None


def plan_of(document: object, plan_id: str) -> Plan:
    """The plan that `document` is; raises as `decode_plan` does."""
    try:
        members = members_from(document, "the plan")
        kept = dict(members.rest)
        version = members.text("schema_version")
        named = members.text("plan_id")
        told = members.text("plan_hash")
        status = members.text("status")
        created_at_ms = members.integer("created_at_ms", 0)
    except ShapeRefused as refused:
        raise PlanCorrupt(f"The plan cannot be read: {refused}.") from None
    if version != RECORD_VERSION or named != plan_id or status not in _STATUSES:
        raise PlanInvalid
    if told != plan_hash(version, {part: kept.get(part) for part in _HASHED}):
        raise PlanHashMismatch
    try:
        return Plan(
            plan_id=plan_id,
            plan_hash=told,
            created_at_ms=created_at_ms,
            status=status,
            actor=_actor(members.rest.pop("actor", None)),
            action=_action(members_from(members.rest.pop("action", None), "the action")),
            target=_table(members, "target"),
            inputs=_table(members, "inputs"),
            execution=_table(members, "execution"),
            preconditions=tuple(_precondition(item) for item in members.items("preconditions")),
            capabilities=_texts(members, "capabilities"),
            correlation=_correlation(members.rest.pop("correlation", None)),
            document=MappingProxyType(kept),
        )
    except ShapeRefused as refused:
        raise PlanInvalid(f"The plan breaks the plan format: {refused}.") from None


def members_from(value: object, where: str) -> Members:
    """The members of `value` to take from, which leaves `value` as it is."""
    members = Members(value, where)
    members.rest = dict(members.rest)
    return members


def _action(members: Members) -> Action:
    action = Action(type=members.text("type"), application=members.text("application"))
    if not (action.type and action.application):
        members.wrong("type or application", "said")
    return action


def _actor(value: object) -> Actor | None:
    if value is None:
        return None
    members = members_from(value, "the actor")
    return Actor(type=members.text("type"), id=members.optional_text("id"), authenticated=members.flag("authenticated"))


def _table(members: Members, name: str) -> Mapping[str, object]:
    value = members.rest.pop(name, None)
    if value is None:
        return _NO_MEMBERS
    if not isinstance(value, dict):
        members.wrong(name, "an object")
    return MappingProxyType(cast("dict[str, object]", value))


def _precondition(item: object) -> Precondition:
    members = members_from(item, "a precondition")
    return Precondition(
        type=members.text("type"), expected=members.text("expected"), source=members.optional_text("source")
    )


def _texts(members: Members, name: str) -> tuple[str, ...]:
    items = members.items(name)
    texts = tuple(item for item in items if isinstance(item, str))
    if len(texts) != len(items):
        members.wrong(name, "a list of texts")
    return texts


def _correlation(value: object) -> Correlation | None:
    if value is None:
        return None
    members = members_from(value, "the correlation")
    return Correlation(
        operation_id=members.optional_text("operation_id"),
        deployment_id=members.optional_text("deployment_id"),
        applied_at_ms=members.integer("applied_at_ms", 0),
    )


def plan_hash(version: str, hashed: Mapping[str, object]) -> str:
    """The content hash over a plan's version and its six hashed members."""
    image: dict[str, object] = {"SchemaVersion": version}
    for part in _HASHED:
        image[part.capitalize()] = hashed[part] if hashed[part] != [] else None
    return hash_of(image)


def hash_of(image: Mapping[str, object]) -> str:
    """`sha256:` over the compact JSON of `image`, its members in their order, in the escapes of the guide's tool."""
    from hashlib import sha256  # noqa: PLC0415 - most calls touch no plan

    text = json.dumps(dict(image), ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(_ESCAPED)
    return f"sha256:{sha256(text.encode()).hexdigest()}"


def plan_document(
    plan_id: str,
    application: str,
    at_ms: int,
    *,
    action: str = DEPLOY,
    actor: Actor | None = None,
    target: Mapping[str, object] = _NO_MEMBERS,
    inputs: Mapping[str, object] = _NO_MEMBERS,
    execution: Mapping[str, object] = _NO_MEMBERS,
    preconditions: Iterable[Precondition] = (),
    capabilities: Iterable[str] = (),
) -> dict[str, object]:
    """The record of a new plan; its lists are sorted, so that the same content has the same hash.

    Who asked is beside what is hashed: the same content is the same, whoever asks for it.
    """
    facts = sorted({(fact.type, fact.expected, fact.source or "") for fact in preconditions})
    hashed: dict[str, object] = {
        "action": {"type": action, "application": application},
        "target": {"app_name": application} | dict(target),
        "inputs": dict(inputs),
        "execution": dict(execution),
        "preconditions": [{"type": kind, "expected": expected, "source": source} for kind, expected, source in facts],
        "capabilities": sorted(set(capabilities)),
    }
    head = {
        "schema_version": RECORD_VERSION,
        "plan_id": plan_id,
        "plan_hash": plan_hash(RECORD_VERSION, hashed),
    }
    asked = {} if actor is None else {"actor": plain(actor)}
    return {**head, "created_at_ms": at_ms, "status": CREATED, **asked, **hashed}


def encode_plan(plan: Plan) -> bytes:
    """The record's bytes; over the size cap is `InvalidArgument`, since no reader would open it again."""
    data = dumps(dict(plan.document)).encode()
    if len(data) > MAX_PLAN_BYTES:
        raise InvalidArgument(
            f"The plan would be {len(data)} bytes, over the cap of {MAX_PLAN_BYTES}.",
            details={"reason": "size_cap", "bytes": len(data), "cap": MAX_PLAN_BYTES},
        )
    return data
