"""`milestones[]` to rows: milestones, issues and the edges between them. Pure.

Keys are unique in a batch and may be named in any order as long as they form no cycle; issues depend on
earlier ones of their own milestone by index. Milestones of earlier batches are named by id. Source: queue
page, Actions (plan_issues); reference page on the lifecycle's runtime, section 2.7.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from phelix_core.errors import InvalidArgument
from phelix_core.frozen import frozen
from phelix_core.queue import payload
from phelix_core.queue.model import LINE_CAP, PRIORITIES, SIZES, Issue, Milestone, Scope
from phelix_core.queue.policy import Policy, max_recoveries_of, merged, policy_text, ranked_row, read_policy, route_of

_MOST_MILESTONES: Final = 10_000
_MOST_ISSUES: Final = 100_000
_MOST_EDGES: Final = 1_000
_SHARED: Final = ("deadlineAt", "recipients", "approvals", "externalRefs")
_MILESTONE: Final = (
    "milestone_key", "description", "depends_on_milestone_ids", "depends_on_milestone_keys", "issues", *_SHARED,
)  # fmt: skip
_MOST_FAULTS: Final = 100
_ISSUE: Final = ("task", "priority", "size", "depends_on_indices", "policy", *_SHARED)


_KNOWN: Final[Mapping[tuple[str, ...], frozenset[str]]] = {names: frozenset(names) for names in (_MILESTONE, _ISSUE)}


@frozen
class PlannedIssue:
    """An issue as it was handed in."""

    task: str
    priority: str
    size: str
    depends_on: tuple[int, ...]
    policy: Policy
    deadline_at: int | None
    recipients: str
    approvals: str
    external_refs: str


@frozen
class PlannedMilestone:
    """A milestone as it was handed in."""

    key: str
    description: str
    depends_on_keys: tuple[str, ...]
    depends_on_ids: tuple[str, ...]
    issues: tuple[PlannedIssue, ...]
    deadline_at: int | None
    recipients: str
    approvals: str
    external_refs: str


@frozen
class Batch:
    """What a batch comes to: rows, and edges as (from, what it depends on)."""

    milestones: tuple[Milestone, ...]
    issues: tuple[Issue, ...]
    milestone_edges: tuple[tuple[str, str], ...]
    issue_edges: tuple[tuple[str, str], ...]


def read_batch(value: object) -> tuple[PlannedMilestone, ...]:
    """Read `milestones[]`; raises `InvalidArgument` naming the place of each fault of its milestones and issues."""
    members = payload.an_object(value, "batch", None)
    if legacy := [name for name in ("milestoneDescription", "issues") if name in members]:
        told = "is the removed single-milestone payload"
        raise InvalidArgument(
            f"batch: `{legacy[0]}` at the top {told}.",
            hint="Put the issues into milestones[], each with its milestone_key and description.",
            details={"fields": {legacy[0]: told}},
        )
    members = payload.an_object(value, "batch", ("milestones",))
    items = payload.a_list(members.get("milestones"), "milestones", _MOST_MILESTONES, least=1)
    faults: dict[str, str] = {}
    milestones = [_milestone(item, f"milestones[{index}]", faults) for index, item in enumerate(items)]
    if faults:
        first, reason = next(iter(faults.items()))
        raise InvalidArgument(f"{first}: {reason}.", details={"fields": faults})
    read = tuple(cast("list[PlannedMilestone]", milestones))
    _require_sound(read)
    return read


_Reader = Callable[[Mapping[str, object], str], Any]


def _read(
    readers: Mapping[str, _Reader], value: object, where: str, known: tuple[str, ...], faults: dict[str, str]
) -> dict[str, Any] | None:
    """Every member of an object, by its reader; None where one is at fault, and `faults` then tells each of them."""
    before = len(faults)
    if not isinstance(value, dict):
        faults[where] = "expected an object"
        return None
    members = cast("dict[str, object]", value)
    read: dict[str, Any] = {}
    if not members.keys() <= _KNOWN[known]:
        _tried(lambda: payload.an_object(members, where, known), faults)
    for name, reader in readers.items():
        try:
            read[name] = reader(members, where)
        except InvalidArgument as fault:
            _note(fault, faults)
    return read if len(faults) == before else None


def _tried(act: Callable[[], object], faults: dict[str, str]) -> None:
    try:
        act()
    except InvalidArgument as fault:
        _note(fault, faults)


def _note(fault: InvalidArgument, faults: dict[str, str]) -> None:
    for place, reason in cast("Mapping[str, str]", fault.details["fields"]).items():
        if len(faults) < _MOST_FAULTS:
            faults.setdefault(place, reason)


def _milestone(value: object, where: str, faults: dict[str, str]) -> PlannedMilestone | None:
    read = _read(_OF_A_MILESTONE, value, where, _MILESTONE, faults)
    items = cast("dict[str, object]", value).get("issues") if isinstance(value, dict) else None
    listed: list[object] = []
    try:
        listed = payload.a_list(items, f"{where}.issues", _MOST_ISSUES, least=1) if isinstance(value, dict) else []
    except InvalidArgument as fault:
        _note(fault, faults)
    issues = [_issue(item, f"{where}.issues[{index}]", index, faults) for index, item in enumerate(listed)]
    if read is None or faults:
        return None
    return PlannedMilestone(**read, issues=tuple(cast("list[PlannedIssue]", issues)))


def _issue(value: object, where: str, index: int, faults: dict[str, str]) -> PlannedIssue | None:
    read = _read(_OF_AN_ISSUE, value, where, _ISSUE, faults)
    if read is None:
        return None
    edges = cast("list[object]", read["depends_on"])
    for place, item in enumerate(edges):
        if type(item) is not int or not 0 <= item < index:
            faults[f"{where}.depends_on_indices[{place}]"] = "expected the index of an earlier issue of this milestone"
    read["depends_on"] = tuple(dict.fromkeys(edges))
    return PlannedIssue(**read)


def _words(name: str) -> _Reader:
    def read(members: Mapping[str, object], where: str) -> tuple[str, ...]:
        items = payload.a_list(members.get(name, []), f"{where}.{name}", _MOST_EDGES)
        return tuple(dict.fromkeys(payload.text(item, f"{where}.{name}[{index}]") for index, item in enumerate(items)))

    return read


def _entries(name: str) -> _Reader:
    return lambda members, where: _text(payload.entries(members.get(name), f"{where}.{name}"))


def _approvals(members: Mapping[str, object], where: str) -> str:
    """Approvals, each of recipients that are there."""
    if members.get("approvals") is None:
        return "[]"
    approvals = payload.entries(members.get("approvals"), f"{where}.approvals")
    known = {cast("str", one["id"]) for one in payload.entries(members.get("recipients"), f"{where}.recipients")}
    for index, approval in enumerate(approvals):
        place = f"{where}.approvals[{index}].recipientIds"
        named = payload.a_list(approval.get("recipientIds", []), place, _MOST_EDGES)
        if any(not isinstance(item, str) or item not in known for item in named):
            payload.wrong(place, "names a recipient that is not among the recipients")
    return _text(approvals)


_SHARED_READERS: Final[Mapping[str, _Reader]] = {
    "deadline_at": lambda members, where: payload.a_time(members.get("deadlineAt"), f"{where}.deadlineAt"),
    "recipients": _entries("recipients"),
    "approvals": _approvals,
    "external_refs": _entries("externalRefs"),
}
_OF_A_MILESTONE: Final[Mapping[str, _Reader]] = {
    "key": lambda members, where: payload.text(members.get("milestone_key"), f"{where}.milestone_key"),
    "description": lambda members, where: payload.text(members.get("description"), f"{where}.description", LINE_CAP),
    "depends_on_keys": _words("depends_on_milestone_keys"),
    "depends_on_ids": _words("depends_on_milestone_ids"),
    **_SHARED_READERS,
}
_OF_AN_ISSUE: Final[Mapping[str, _Reader]] = {
    "task": lambda members, where: payload.text(members.get("task"), f"{where}.task", LINE_CAP),
    "priority": lambda members, where: payload.one_of(members.get("priority"), f"{where}.priority", PRIORITIES),
    "size": lambda members, where: payload.one_of(members.get("size"), f"{where}.size", SIZES),
    "depends_on": lambda members, where: payload.a_list(
        members.get("depends_on_indices", []), f"{where}.depends_on_indices", _MOST_EDGES
    ),
    "policy": lambda members, where: read_policy(members.get("policy", {}), f"{where}.policy"),
    **_SHARED_READERS,
}


def _text(entries: Sequence[object]) -> str:
    return json.dumps(entries, ensure_ascii=False, separators=(",", ":")) if entries else "[]"


def _require_sound(milestones: tuple[PlannedMilestone, ...]) -> None:
    """Keys known, unique and free of cycles."""
    places: dict[str, int] = {}
    for index, milestone in enumerate(milestones):
        if milestone.key in places:
            payload.wrong(f"milestones[{index}].milestone_key", "stands twice in the batch")
        places[milestone.key] = index
    waiting: dict[str, set[str]] = {}
    behind: dict[str, list[str]] = {}
    for index, milestone in enumerate(milestones):
        for key in milestone.depends_on_keys:
            if key not in places:
                payload.wrong(f"milestones[{index}].depends_on_milestone_keys", "names a key that is not in the batch")
            behind.setdefault(key, []).append(milestone.key)
        waiting[milestone.key] = set(milestone.depends_on_keys)
    free = [key for key, needs in waiting.items() if not needs]
    while free:
        done = free.pop()
        del waiting[done]
        for key in behind.get(done, []):
            waiting[key].discard(done)
            if not waiting[key]:
                free.append(key)
    if waiting:
        index = min(places[key] for key in waiting)
        payload.wrong(f"milestones[{index}].depends_on_milestone_keys", "form a cycle")


def batch_of(
    milestones: tuple[PlannedMilestone, ...],
    scope: Scope,
    campaign_policy: Policy,
    *,
    is_done: Callable[[str], bool],
    mint: Callable[[], str],
    at_ms: int,
) -> Batch:
    """Rows and edges; `is_done` says of an existing milestone whether it opens the gate behind it."""
    ids = {milestone.key: f"M-{mint()}" for milestone in milestones}
    rows: list[Milestone] = []
    issues: list[Issue] = []
    milestone_edges: list[tuple[str, str]] = []
    issue_edges: list[tuple[str, str]] = []
    position = 0
    for place, milestone in enumerate(milestones):
        own = ids[milestone.key]
        needs = (*milestone.depends_on_ids, *(ids[key] for key in milestone.depends_on_keys))
        milestone_edges += [(own, needed) for needed in dict.fromkeys(needs)]
        gate_open = not milestone.depends_on_keys and all(is_done(needed) for needed in milestone.depends_on_ids)
        rows.append(
            Milestone(
                id=own,
                project_id=scope.project.id,
                campaign_id=scope.campaign_id,
                key=milestone.key,
                description=milestone.description,
                position=place,
                deadline_at=milestone.deadline_at,
                recipients=milestone.recipients,
                approvals=milestone.approvals,
                external_refs=milestone.external_refs,
                created_at=at_ms,
            )
        )
        made: list[str] = []
        for planned in milestone.issues:
            made.append(f"I-{mint()}")
            issue_edges += [(made[-1], made[index]) for index in planned.depends_on]
            ready = gate_open and not planned.depends_on
            issues.append(
                _row(
                    planned,
                    made[-1],
                    own,
                    position,
                    scope=scope,
                    campaign_policy=campaign_policy,
                    promotable=ready,
                    at_ms=at_ms,
                )
            )
            position += 1
    return Batch(
        milestones=tuple(rows),
        issues=tuple(issues),
        milestone_edges=tuple(milestone_edges),
        issue_edges=tuple(issue_edges),
    )


def _row(
    planned: PlannedIssue,
    issue_id: str,
    milestone_id: str,
    position: int,
    *,
    scope: Scope,
    campaign_policy: Policy,
    promotable: bool,
    at_ms: int,
) -> Issue:
    policy = merged(campaign_policy, planned.policy)
    issue = Issue(
        id=issue_id,
        project_id=scope.project.id,
        campaign_id=scope.campaign_id,
        milestone_id=milestone_id,
        position=position,
        task=planned.task,
        priority=planned.priority,
        size=planned.size,
        status="pending",
        rank=PRIORITIES.index(planned.priority),
        rank_due_at=None,
        promotable=int(promotable),
        deadline_at=planned.deadline_at,
        route=route_of(policy).text,
        policy=policy_text(policy),
        max_recoveries=max_recoveries_of(policy),
        recipients=planned.recipients,
        approvals=planned.approvals,
        external_refs=planned.external_refs,
        next_best_action=None,
        blocked_reason=None,
        lease_epoch=0,
        recoveries=0,
        ready_at=None,
        created_at=at_ms,
        updated_at=at_ms,
    )
    return ranked_row(issue, at_ms)
