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
_ISSUE: Final = ("task", "priority", "size", "depends_on_indices", "policy", *_SHARED)


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
    """Read `milestones[]`; raises `InvalidArgument` naming the place of the first fault."""
    members = payload.an_object(value, "batch", None)
    if legacy := [name for name in ("milestoneDescription", "issues") if name in members]:
        raise InvalidArgument(
            f"batch: `{legacy[0]}` at the top is the removed single-milestone payload.",
            hint="Put the issues into milestones[], each with its milestone_key and description.",
        )
    members = payload.an_object(value, "batch", ("milestones",))
    items = payload.a_list(members.get("milestones"), "milestones", _MOST_MILESTONES, least=1)
    milestones = tuple(_milestone(item, f"milestones[{index}]") for index, item in enumerate(items))
    _require_sound(milestones)
    return milestones


def _milestone(value: object, where: str) -> PlannedMilestone:
    members = payload.an_object(value, where, _MILESTONE)
    items = payload.a_list(members.get("issues"), f"{where}.issues", _MOST_ISSUES, least=1)
    return PlannedMilestone(
        key=payload.text(members.get("milestone_key"), f"{where}.milestone_key"),
        description=payload.text(members.get("description"), f"{where}.description", LINE_CAP),
        depends_on_keys=_words(members, "depends_on_milestone_keys", where),
        depends_on_ids=_words(members, "depends_on_milestone_ids", where),
        issues=tuple(_issue(item, f"{where}.issues[{index}]", index) for index, item in enumerate(items)),
        **_shared(members, where),
    )


def _issue(value: object, where: str, index: int) -> PlannedIssue:
    members = payload.an_object(value, where, _ISSUE)
    edges: list[int] = []
    for place, item in enumerate(
        payload.a_list(members.get("depends_on_indices", []), f"{where}.depends_on_indices", _MOST_EDGES)
    ):
        if type(item) is not int or not 0 <= item < index:
            payload.wrong(
                f"{where}.depends_on_indices[{place}]", "expected the index of an earlier issue of this milestone"
            )
        edges.append(item)
    return PlannedIssue(
        task=payload.text(members.get("task"), f"{where}.task", LINE_CAP),
        priority=payload.one_of(members.get("priority"), f"{where}.priority", PRIORITIES),
        size=payload.one_of(members.get("size"), f"{where}.size", SIZES),
        depends_on=tuple(dict.fromkeys(edges)),
        policy=read_policy(members.get("policy", {}), f"{where}.policy"),
        **_shared(members, where),
    )


def _words(members: Mapping[str, object], name: str, where: str) -> tuple[str, ...]:
    items = payload.a_list(members.get(name, []), f"{where}.{name}", _MOST_EDGES)
    return tuple(dict.fromkeys(payload.text(item, f"{where}.{name}[{index}]") for index, item in enumerate(items)))


def _shared(members: Mapping[str, object], where: str) -> dict[str, Any]:
    recipients = payload.entries(members.get("recipients"), f"{where}.recipients")
    approvals = payload.entries(members.get("approvals"), f"{where}.approvals")
    known = {cast("str", recipient["id"]) for recipient in recipients}
    for index, approval in enumerate(approvals):
        named = payload.a_list(
            approval.get("recipientIds", []), f"{where}.approvals[{index}].recipientIds", _MOST_EDGES
        )
        if any(not isinstance(item, str) or item not in known for item in named):
            payload.wrong(
                f"{where}.approvals[{index}].recipientIds", "names a recipient that is not among the recipients"
            )
    return {
        "deadline_at": payload.a_time(members.get("deadlineAt"), f"{where}.deadlineAt"),
        "recipients": _text(recipients),
        "approvals": _text(approvals),
        "external_refs": _text(payload.entries(members.get("externalRefs"), f"{where}.externalRefs")),
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
