"""Campaign and issue policy: read strictly, merged, and what they make of a priority as time passes. Pure.

A policy is JSON: `owner`, `serviceLevel`, `escalationRules`, `dispatch`, `maxRecoveries`. The issue's wins over
its campaign's; rules and required capabilities add up. Source: queue page, Actions (begin_incremental, host
routing) and Reconcile (maxRecoveries); reference page on the lifecycle's runtime, section 5.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from phelix_core.errors import InvalidArgument
from phelix_core.frozen import changed, frozen
from phelix_core.queue.model import (
    DEFAULT_MAX_RECOVERIES,
    DONE,
    FAILED,
    MOST_CAPABILITIES,
    PENDING,
    PRIORITIES,
    READY,
    REASON_CAP,
    Issue,
)
from phelix_core.queue.payload import a_list, a_whole, an_object, optional_text, text, wrong
from phelix_core.queue.routing import Route

_MINUTE_MS: Final = 60_000
_AGES_MS: Final = 7 * 24 * 60 * _MINUTE_MS
"""A ready issue that waits longer than this rises one rank, once."""
_MOST_MINUTES: Final = 60 * 24 * 366 * 10
_MOST_RULES: Final = 50
_MOST_RECOVERIES: Final = 1_000

DEADLINE: Final = "deadline_breached"
RESPONSE: Final = "response_sla_breached"
RESOLVE: Final = "resolve_sla_breached"
RAISE: Final = "raise_priority"
ANNOTATE: Final = "annotate"
TRIGGERS: Final = (DEADLINE, RESPONSE, RESOLVE)


@frozen
class Rule:
    """What to do when a limit is breached."""

    trigger: str
    action: str
    priority: str | None = None
    note: str | None = None


@frozen
class Policy:
    """A policy as it was read."""

    owner: str | None = None
    response_minutes: int | None = None
    resolve_minutes: int | None = None
    rules: tuple[Rule, ...] = ()
    workload_class: str | None = None
    capabilities: tuple[str, ...] = ()
    max_recoveries: int | None = None


NO_POLICY: Final = Policy()
"""What most issues go by."""


def read_policy(value: object, where: str) -> Policy:
    """Read a policy; raises `InvalidArgument` naming the member at fault."""
    if value == {}:
        return NO_POLICY
    policy = an_object(value, where, ("owner", "serviceLevel", "escalationRules", "dispatch", "maxRecoveries"))
    level = an_object(
        policy.get("serviceLevel", {}), f"{where}.serviceLevel", ("responseWithinMinutes", "resolveWithinMinutes")
    )
    dispatch = an_object(policy.get("dispatch", {}), f"{where}.dispatch", ("workloadClass", "requiredHostCapabilities"))
    if dispatch and "workloadClass" not in dispatch:
        wrong(f"{where}.dispatch.workloadClass", "required")
    rules = a_list(policy.get("escalationRules", []), f"{where}.escalationRules", _MOST_RULES)
    needs = a_list(
        dispatch.get("requiredHostCapabilities", []), f"{where}.dispatch.requiredHostCapabilities", MOST_CAPABILITIES
    )
    return Policy(
        owner=optional_text(policy.get("owner"), f"{where}.owner"),
        response_minutes=a_whole(
            level.get("responseWithinMinutes"), f"{where}.serviceLevel.responseWithinMinutes", _MOST_MINUTES
        ),
        resolve_minutes=a_whole(
            level.get("resolveWithinMinutes"), f"{where}.serviceLevel.resolveWithinMinutes", _MOST_MINUTES
        ),
        rules=tuple(_rule(rule, f"{where}.escalationRules[{index}]") for index, rule in enumerate(rules)),
        workload_class=optional_text(dispatch.get("workloadClass"), f"{where}.dispatch.workloadClass"),
        capabilities=tuple(
            text(need, f"{where}.dispatch.requiredHostCapabilities[{index}]") for index, need in enumerate(needs)
        ),
        max_recoveries=a_whole(policy.get("maxRecoveries"), f"{where}.maxRecoveries", _MOST_RECOVERIES),
    )


def _rule(value: object, where: str) -> Rule:
    rule = an_object(value, where, ("trigger", "action", "priority", "note"))
    trigger, action, priority = rule.get("trigger"), rule.get("action"), rule.get("priority")
    if trigger not in TRIGGERS:
        wrong(f"{where}.trigger", f"expected one of {', '.join(TRIGGERS)}")
    if action not in (RAISE, ANNOTATE):
        wrong(f"{where}.action", f"expected {RAISE} or {ANNOTATE}")
    if priority is not None and priority not in PRIORITIES:
        wrong(f"{where}.priority", f"expected one of {', '.join(PRIORITIES)}")
    if action == RAISE and priority is None:
        wrong(f"{where}.priority", "required to raise a priority")
    note = optional_text(rule.get("note"), f"{where}.note", REASON_CAP)
    return Rule(
        trigger=cast("str", trigger), action=cast("str", action), priority=cast("str | None", priority), note=note
    )


def merged(campaign: Policy, issue: Policy) -> Policy:
    """The policy an issue goes by."""
    if campaign is NO_POLICY and issue is NO_POLICY:
        return NO_POLICY
    return Policy(
        owner=issue.owner or campaign.owner,
        response_minutes=issue.response_minutes or campaign.response_minutes,
        resolve_minutes=issue.resolve_minutes or campaign.resolve_minutes,
        rules=(*campaign.rules, *issue.rules),
        workload_class=issue.workload_class or campaign.workload_class,
        capabilities=tuple(sorted({*campaign.capabilities, *issue.capabilities})),
        max_recoveries=issue.max_recoveries or campaign.max_recoveries,
    )


def route_of(policy: Policy) -> Route:
    """Which hosts may take an issue of this policy; without a class any host may."""
    if policy.workload_class is None:
        return Route(workload_class=None, capabilities=())
    return Route(workload_class=policy.workload_class, capabilities=policy.capabilities)


def max_recoveries_of(policy: Policy) -> int:
    """How often an issue is recovered before it counts as a crash loop."""
    return policy.max_recoveries or DEFAULT_MAX_RECOVERIES


def policy_text(policy: Policy) -> str:
    """The policy as JSON, in the document's names; what is not set is left out."""
    if policy is NO_POLICY:
        return "{}"
    level = {"responseWithinMinutes": policy.response_minutes, "resolveWithinMinutes": policy.resolve_minutes}
    rules = [
        {"trigger": rule.trigger, "action": rule.action, "priority": rule.priority, "note": rule.note}
        for rule in policy.rules
    ]
    dispatch = {"workloadClass": policy.workload_class, "requiredHostCapabilities": list(policy.capabilities) or None}
    members: dict[str, Any] = {
        "owner": policy.owner,
        "serviceLevel": _present(level),
        "escalationRules": [_present(rule) for rule in rules],
        "dispatch": _present(dispatch) if policy.workload_class else {},
        "maxRecoveries": policy.max_recoveries,
    }
    return json.dumps(
        {name: value for name, value in members.items() if value}, ensure_ascii=False, separators=(",", ":")
    )


def _present(members: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in members.items() if value is not None}


def stored_policy(text: str) -> Policy | None:
    """A policy as it stands in a row; None where somebody damaged it, which must hide nothing else."""
    if text == "{}":
        return NO_POLICY
    try:
        return read_policy(json.loads(text), "policy")
    except (ValueError, RecursionError, InvalidArgument):
        return None


@frozen
class Breach:
    """A limit that has passed."""

    trigger: str
    at: int
    action: str
    priority: str | None
    note: str | None


def breaches(policy: Policy, issue: Issue, now_ms: int) -> tuple[Breach, ...]:
    """Limits that an unfinished issue has passed, earliest first."""
    found: list[Breach] = []
    for trigger, at in _limits(policy, issue):
        if at > now_ms:
            continue
        rules = [rule for rule in policy.rules if rule.trigger == trigger] or [Rule(trigger=trigger, action="none")]
        found += [Breach(trigger=trigger, at=at, action=r.action, priority=r.priority, note=r.note) for r in rules]
    return tuple(found)


def is_escalated(issue: Issue, found: Sequence[Breach]) -> bool:
    """Whether its priority is not the one given any more, or a breach was found that its policy acts on."""
    return PRIORITIES[issue.rank] != issue.priority or any(breach.action != "none" for breach in found)


def _limits(policy: Policy, issue: Issue) -> list[tuple[str, int]]:
    if issue.status in (DONE, FAILED):
        return []
    limits: list[tuple[str, int]] = []
    if issue.deadline_at is not None:
        limits.append((DEADLINE, issue.deadline_at))
    if policy.response_minutes is not None and issue.status in (PENDING, READY):
        limits.append((RESPONSE, issue.created_at + policy.response_minutes * _MINUTE_MS))
    if policy.resolve_minutes is not None:
        limits.append((RESOLVE, issue.created_at + policy.resolve_minutes * _MINUTE_MS))
    return sorted(limits, key=lambda limit: limit[1])


def ranked(issue: Issue, policy: Policy, now_ms: int) -> tuple[int, int | None]:
    """Effective rank now, and when it could rise next; None where time will not change it.

    A policy only raises. Age raises by one rank, once, on top of the priority that was given.
    """
    rank = PRIORITIES.index(issue.priority)
    moves: list[tuple[int, int]] = []
    if issue.status == READY and issue.ready_at is not None and rank > 0:
        moves.append((issue.ready_at + _AGES_MS + 1, rank - 1))
    for trigger, at in _limits(policy, issue):
        raised = [
            PRIORITIES.index(rule.priority)
            for rule in policy.rules
            if rule.trigger == trigger and rule.action == RAISE and rule.priority
        ]
        moves += [(at, to) for to in raised]
    due: int | None = None
    for at, to in sorted(moves):
        if at <= now_ms:
            rank = min(rank, to)
        elif to < rank and due is None:
            due = at
    return rank, due


def ranked_row(issue: Issue, now_ms: int) -> Issue:
    """The issue with the rank that holds now."""
    rank, due = ranked(issue, stored_policy(issue.policy) or Policy(), now_ms)
    return changed(issue, rank=rank, rank_due_at=due)
