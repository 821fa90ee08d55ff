"""The policy: who may execute which action on which application, as a person wrote it in `authz/policy.json`.

Promises: what is not understood to the last member is no policy, for a mistyped word must never widen a rule; a rule
says whether it means authenticated actors; the one wildcard is a bare `*`; nothing here matches a part of a name.
Source: arc page; upstream sessions page, section 3 (approval).
"""

from typing import Final

from phelix_core.arc.model import ACTIONS, RECORD_VERSION, Actor
from phelix_core.errors import AuthzInvalid
from phelix_core.frozen import frozen
from phelix_core.redaction import redact
from phelix_core.shapes import Members, ShapeRefused
from phelix_core.strictjson import JsonRefused, loads

MAX_POLICY_BYTES: Final = 64 * 1024
MAX_RULES: Final = 128
ANY: Final = "*"
ALLOW: Final = "allow"
DENY: Final = "deny"
LEGACY_LOCAL: Final = "legacy_local"
"""Nothing is enforced: the command line executes, and nobody else."""
ENFORCED: Final = "enforced"
ACTOR_TYPES: Final = ("cli", "api", "agent", "mcp", "service")

_RULED_ACTIONS = (*ACTIONS, "rebuild", ANY)
_LONGEST_TOLD = 40


@frozen
class Rule:
    """Who, doing what, to which application: allowed or denied, perhaps once the plan has been approved."""

    actor_type: str
    actor_id: str
    authenticated: bool
    action: str
    target: str
    effect: str
    require_approval: bool

    def matches(self, actor: Actor, action: str, target: str) -> bool:
        """Whether the rule speaks about this actor, action and application."""
        return (
            self.authenticated is actor.authenticated
            and self.actor_type in (ANY, actor.type)
            # An id that nobody has proven is a claim, and no claim matches.
            and (self.actor_id == ANY or (actor.authenticated and self.actor_id == actor.id))
            and self.action in (ANY, action)
            and self.target in (ANY, target)
        )


@frozen
class Policy:
    """Rules in their order; without any, nobody executes."""

    mode: str
    rules: tuple[Rule, ...]


def decode_policy(data: bytes) -> Policy:
    """The policy in `data`; raises `AuthzInvalid`, which says where and why."""
    try:
        return _policy(Members(loads(data), "the policy"))
    except (JsonRefused, ShapeRefused) as refused:
        raise AuthzInvalid(f"The policy is not valid: {refused}. Nothing executes before it is mended.") from None


def _policy(members: Members) -> Policy:
    if members.text("schema_version") != RECORD_VERSION:
        raise ShapeRefused("its schema_version is not one that this version of Phelix reads")
    members.rest.setdefault("mode", ENFORCED)
    mode = _one_of(members, "mode", (LEGACY_LOCAL, ENFORCED))
    items = members.items("rules")
    if len(items) > MAX_RULES:
        raise ShapeRefused(f"it has {len(items)} rules, over {MAX_RULES}")
    _require_known(members)
    return Policy(mode=mode, rules=tuple(_rule(item, place) for place, item in enumerate(items)))


def _rule(item: object, place: int) -> Rule:
    where = f"rule {place}"
    members = Members(item, where)
    actor = Members(members.rest.pop("actor", None), f"the actor of {where}")
    rule = Rule(
        actor_type=_one_of(actor, "type", (*ACTOR_TYPES, ANY)),
        actor_id=actor.optional_text("id") or ANY,
        authenticated=actor.flag("authenticated"),
        action=_one_of(members, "action", _RULED_ACTIONS),
        target=members.text("target"),
        effect=_one_of(members, "effect", (ALLOW, DENY)),
        require_approval="require_approval" in members.rest and members.flag("require_approval"),
    )
    members.optional_text("description")
    _require_known(actor)
    _require_known(members)
    if rule.actor_id != ANY and not rule.authenticated:
        raise ShapeRefused(f"{where} names an id that it does not want proven")
    if rule.effect == DENY and rule.require_approval:
        raise ShapeRefused(f"{where} denies, and so no approval can help")
    for name, value in (("target", rule.target), ("id", rule.actor_id)):
        if not value or (ANY in value and value != ANY):
            raise ShapeRefused(f"{name} of {where} is neither a whole name nor a bare {ANY}")
    return rule


def _one_of(members: Members, name: str, values: tuple[str, ...]) -> str:
    value = members.text(name)
    if value not in values:
        members.wrong(name, f"one of {', '.join(values)}")
    return value


def _require_known(members: Members) -> None:
    unknown = sorted(members.rest)
    if unknown:
        named = told_key(unknown[0])
        raise ShapeRefused(f"{members.where} holds an unknown member{named and f' {named}'}")


def told_key(key: str) -> str:
    """A member's name where it may be told: one that is short and simple and no secret, else nothing."""
    is_plain = key.isascii() and key.replace("_", "").replace("-", "").replace(".", "").isalnum()
    return key if is_plain and len(key) <= _LONGEST_TOLD and redact(key) == key else ""
