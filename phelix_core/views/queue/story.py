"""One issue's whole story, from what `queue show` answers: who and what, gates both ways, leases, timeline.

Every text of it may be another program's: each passes `shown`, once an answer and not at every tick.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from phelix_core.clock import from_iso
from phelix_core.queue.model import DONE
from phelix_core.text import SafeStr
from phelix_core.views.moments import long_span, moment
from phelix_core.views.queue.rows import tail_of
from phelix_core.views.shown import shown

Told = Mapping[str, Any]

_UNTOLD: Final = frozenset(
    {
        *("checkpointId", "taskStatus", "nextStep", "from", "leaseId", "reason", "summary"),
        *("agentId", "claimMode", "epoch", "artifactIds"),
    }
)
"""Members of an event that its checkpoint, its lease or the move tell already."""
_EMPTY: Final[tuple[object, ...]] = (None, "", [])


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the timeline, newest first; `gap` is how long nothing was recorded before it."""

    mark: SafeStr
    at_ms: int
    at: SafeStr
    gap: SafeStr
    kind: SafeStr
    moved: SafeStr
    detail: SafeStr
    via: SafeStr


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An issue that this one depends on, or that depends on it; `waits` says what it still waits for."""

    issue_id: str
    tail: SafeStr
    status: str
    task: SafeStr
    waits: SafeStr


@dataclass(frozen=True, slots=True)
class IssueStory:
    """What does not change with time."""

    identity: tuple[tuple[str, SafeStr], ...]
    dependencies: tuple[Neighbour, ...]
    dependents: tuple[Neighbour, ...]
    milestone_gates: tuple[tuple[SafeStr, bool], ...]
    leases: tuple[tuple[SafeStr, SafeStr, bool], ...]
    timeline: tuple[Entry, ...]
    artifacts: tuple[SafeStr, ...]
    last_step: SafeStr
    session_id: str | None


def issue_story(told: Told) -> IssueStory:
    """Draw up the story of one answer."""
    leases = _list(told, "leases")
    return IssueStory(
        identity=tuple(_identity(told)),
        dependencies=tuple(_neighbour(one) for one in _list(told, "dependencies")),
        dependents=tuple(_neighbour(one) for one in _list(told, "dependents")),
        milestone_gates=tuple(
            (shown(str(one["id"])), bool(one["done"])) for one in _list(told, "milestoneDependencies")
        ),
        leases=tuple(_lease(one) for one in reversed(leases)),
        timeline=tuple(_timeline(told)),
        artifacts=tuple(shown(f"{one['kind']} {one['path']} ({one['status']})") for one in _list(told, "artifacts")),
        last_step=_last_step(told),
        session_id=next((str(one["sessionId"]) for one in reversed(leases) if one.get("sessionId")), None),
    )


def _list(told: Told, name: str) -> Sequence[Told]:
    return cast("Sequence[Told]", told.get(name) or ())


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
        ("waits for", told.get("waitsFor")),
        ("epoch", f"{issue['leaseEpoch']}, recovered {issue['recoveries']} of at most {issue['maxRecoveries']} times"),
        ("created", moment(_ms(issue["createdAt"]))),
        ("updated", moment(_ms(issue["updatedAt"]))),
    )
    return [(name, shown(str(value))) for name, value in pairs if value]


def _named(thing: Told, name: str) -> str:
    return f"{thing[name]} ({thing['id']})"


def _neighbour(one: Told) -> Neighbour:
    status = str(one["status"])
    waits = "" if status == DONE else str(one.get("waitsFor") or "")
    return Neighbour(str(one["id"]), tail_of(str(one["id"])), status, shown(str(one.get("task") or "")), shown(waits))


def _lease(one: Told) -> tuple[SafeStr, SafeStr, bool]:
    """An id, what became of the lease, and whether it is active."""
    is_active = one["status"] == "active"
    ended = "" if is_active else f": {one.get('endReason') or 'no reason told'}"
    when = f", until {moment(_ms(one['releasedAt']))}" if one.get("releasedAt") else ""
    told = f"epoch {one['epoch']}, {one['agentId']} on {one['host']}, from {moment(_ms(one['acquiredAt']))}{when}"
    return tail_of(str(one["id"])), shown(f"{one['status']}{ended}; {told}"), is_active


def _last_step(told: Told) -> SafeStr:
    point = next(iter(_list(told, "checkpoints")), None)
    return SafeStr("") if point is None else shown(f"{point['title']}: {point['summary']}")


def _timeline(told: Told) -> list[Entry]:
    """Events with the checkpoints that they carry, and the leases' own beginnings and ends, newest first."""
    points = {point["id"]: point for point in _list(told, "checkpoints")}
    found = [(_ms(event["createdAt"]), int(event["seq"]), _event(event, points)) for event in _list(told, "events")]
    for lease in _list(told, "leases"):
        found += [(at_ms, 0 if begins else 1 << 62, words) for at_ms, begins, words in _lease_marks(lease)]
    found.sort(key=lambda entry: entry[:2], reverse=True)
    entries: list[Entry] = []
    for place, (at_ms, _, (mark, kind, moved, detail, via)) in enumerate(found):
        before_ms = found[place + 1][0] if place + 1 < len(found) else at_ms
        gap = SafeStr(f"+{long_span(at_ms - before_ms)}" if at_ms - before_ms >= _TOLD_GAP_MS else "")
        entries.append(Entry(mark, at_ms, moment(at_ms), gap, kind, moved, detail, via))
    return entries


_TOLD_GAP_MS: Final = 1_000
_Words = tuple[SafeStr, SafeStr, SafeStr, SafeStr, SafeStr]


def _event(event: Told, points: Mapping[str, Told]) -> _Words:
    payload = cast("Told", event.get("payload") or {})
    point = points.get(str(payload.get("checkpointId")))
    before, after = payload.get("from"), payload.get("taskStatus")
    moved = f"{before} → {after}" if before and after and before != after else ""
    rest = [f"{name} {_text(value)}" for name, value in payload.items() if name not in _UNTOLD and value not in _EMPTY]
    detail = [str(payload["reason"])] if payload.get("reason") else []
    if point is not None:
        detail = [f"{point['title']}: {point['summary']}", f"next: {point['nextStep']}"]
        if evidence := [one for one in point.get("artifactIds") or () if not str(one).startswith("E-")]:
            detail.append(f"evidence: {_text(evidence)}")
    return (
        shown(f"E{event['seq']}"),
        shown(str(event["kind"])),
        shown(moved),
        shown(" · ".join([*detail, *rest])),
        shown(str(event.get("via") or "not recorded")),
    )


def _text(value: object) -> str:
    return ", ".join(map(str, cast("list[object]", value))) if isinstance(value, list) else str(value)


def _lease_marks(lease: Told) -> list[tuple[int, bool, _Words]]:
    """A lease's own marks in the timeline."""
    name, nothing = SafeStr("lease"), SafeStr("")
    tail = tail_of(str(lease["id"]))
    taken = shown(f"epoch {lease['epoch']} to {lease['agentId']} on {lease['host']}")
    marks = [(_ms(lease["acquiredAt"]), True, (name, SafeStr(f"taken {tail}"), nothing, taken, nothing))]
    if lease.get("releasedAt"):
        ended = shown(f"{lease['status']}: {lease.get('endReason') or ''}")
        marks.append((_ms(lease["releasedAt"]), False, (name, SafeStr(f"ended {tail}"), nothing, ended, nothing)))
    return marks


def _ms(text: object) -> int:
    """The milliseconds of an answer's time; 0 where it is none."""
    try:
        return from_iso(str(text))
    except ValueError:
        return 0
