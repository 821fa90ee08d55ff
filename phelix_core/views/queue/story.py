"""One issue's whole story, from what `queue show` answers: who and what, gates both ways, leases, memory, timeline.

Every text of it may be another program's: each passes `shown`, once an answer and not at every tick.
"""

from typing import cast

from phelix_core.frozen import frozen_in_order
from phelix_core.queue.model import DONE
from phelix_core.text import SafeStr
from phelix_core.views.moments import moment
from phelix_core.views.queue.plans import gate_words
from phelix_core.views.queue.rows import tail_of
from phelix_core.views.queue.timeline import Entry, Remembered, Told, listed, ms_of, remembered, timeline_of
from phelix_core.views.shown import shown


@frozen_in_order
class Neighbour:
    """An issue that this one depends on, or that depends on it; `waits` says what it still waits for."""

    issue_id: str
    tail: SafeStr
    status: str
    task: SafeStr
    waits: SafeStr


@frozen_in_order
class IssueStory:
    """What does not change with time."""

    identity: tuple[tuple[str, SafeStr], ...]
    dependencies: tuple[Neighbour, ...]
    dependents: tuple[Neighbour, ...]
    milestone_gates: tuple[tuple[SafeStr, bool], ...]
    leases: tuple[tuple[SafeStr, SafeStr, bool], ...]
    timeline: tuple[Entry, ...]
    artifacts: tuple[SafeStr, ...]
    memories: tuple[Remembered, ...]
    last_step: SafeStr
    session_id: str | None


def issue_story(told: Told) -> IssueStory:
    """Draw up the story of one answer."""
    leases = listed(told, "leases")
    return IssueStory(
        identity=tuple(_identity(told)),
        dependencies=tuple(_neighbour(one) for one in listed(told, "dependencies")),
        dependents=tuple(_neighbour(one) for one in listed(told, "dependents")),
        milestone_gates=tuple(
            (shown(str(one["id"])), bool(one["done"])) for one in listed(told, "milestoneDependencies")
        ),
        leases=tuple(_lease(one) for one in reversed(leases)),
        timeline=timeline_of(told),
        artifacts=tuple(shown(f"{one['kind']} {one['path']} ({one['status']})") for one in listed(told, "artifacts")),
        memories=remembered(told),
        last_step=_last_step(told),
        session_id=next((str(one["sessionId"]) for one in reversed(leases) if one.get("sessionId")), None),
    )


def _identity(told: Told) -> list[tuple[str, SafeStr]]:
    issue, campaign, milestone = cast("Told", told["issue"]), told.get("campaign"), told.get("milestone")
    state = cast("Told", issue.get("policyState") or {})
    effective = state.get("effectivePriority", issue["priority"])
    raised = f", given as {issue['priority']}" if effective != issue["priority"] else ""
    pairs = (
        ("issue", issue["id"]),
        ("task", issue["task"]),
        ("project", _named(told["project"], "name")),
        ("campaign", None if campaign is None else f"{_named(campaign, 'name')}, {campaign['status']}"),
        ("milestone", None if milestone is None else f"{milestone['key']}  {milestone['description']}"),
        ("priority", f"{effective}{raised}, size {issue['size']}"),
        ("deadline", issue.get("deadlineAt")),
        ("next step", issue.get("nextBestAction")),
        ("reason", issue.get("blockedReason")),
        ("waits for", gate_words(told["waitsFor"], {}, {}) if "waitsFor" in told else None),
        ("epoch", f"{issue['leaseEpoch']}, recovered {issue['recoveries']} of at most {issue['maxRecoveries']} times"),
        ("created", moment(ms_of(issue["createdAt"]))),
        ("updated", moment(ms_of(issue["updatedAt"]))),
    )
    return [(name, shown(str(value))) for name, value in pairs if value]


def _named(thing: Told, name: str) -> str:
    return f"{thing[name]} ({thing['id']})"


def _neighbour(one: Told) -> Neighbour:
    status = str(one["status"])
    waits = "" if status == DONE or "waitsFor" not in one else gate_words(str(one["waitsFor"]), {}, {})
    return Neighbour(str(one["id"]), tail_of(str(one["id"])), status, shown(str(one.get("task") or "")), shown(waits))


def _lease(one: Told) -> tuple[SafeStr, SafeStr, bool]:
    """An id, what became of the lease, and whether it is active."""
    is_active = one["status"] == "active"
    ended = "" if is_active else f": {one.get('endReason') or 'no reason told'}"
    when = f", until {moment(ms_of(one['releasedAt']))}" if one.get("releasedAt") else ""
    told = f"epoch {one['epoch']}, {one['agentId']} on {one['host']}, from {moment(ms_of(one['acquiredAt']))}{when}"
    return tail_of(str(one["id"])), shown(f"{one['status']}{ended}; {told}"), is_active


def _last_step(told: Told) -> SafeStr:
    point = next(iter(listed(told, "checkpoints")), None)
    return SafeStr("") if point is None else shown(f"{point['title']}: {point['summary']}")
