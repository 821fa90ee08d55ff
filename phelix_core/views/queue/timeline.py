"""What happened to an issue, newest first: events with the checkpoints that they carry, leases, the memory.

From what `queue show` answers, and from a page of `queue audit`: what one event, its checkpoint and its memory tell
together is one entry. Every text of it may be another program's: each passes `shown`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from phelix_core.clock import from_iso
from phelix_core.frozen import frozen
from phelix_core.text import SafeStr
from phelix_core.views.moments import long_span, moment
from phelix_core.views.queue.glyphs import GLYPHS, UNKNOWN
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
_OF_MEMORY: Final = frozenset(
    {
        *("memory_put_by", "mem0_memory_linked", "mem0_write_skipped"),
        *("mem0_context_loaded", "mem0_context_unavailable"),
    }
)
"""Events about the memory: of a checkpoint they tell the text no second time."""
_EMPTY: Final[tuple[object, ...]] = (None, "", [])
_TOLD_GAP_MS: Final = 1_000
_NOTHING: Final = SafeStr("")
_TAKEN: Final = "▸"
_ENDED: Final = "◂"
_REMEMBERED: Final = "¶"
_FIRST: Final = 0
_LAST: Final = 1 << 62
"""Where a lease's beginning and its end stand among events of the same moment."""


@frozen
class Entry:
    """One entry of the timeline; `gap` is how long nothing was recorded before it, `ids` what it names."""

    mark: SafeStr
    at_ms: int
    glyph: str
    status: str = ""
    kind: SafeStr
    tail: SafeStr = _NOTHING
    moved: SafeStr = _NOTHING
    detail: SafeStr
    ids: SafeStr = _NOTHING
    issue: SafeStr = _NOTHING
    by: SafeStr = _NOTHING
    via: SafeStr = _NOTHING
    is_of_memory: bool = False
    gap: SafeStr = _NOTHING

    @property
    def what(self) -> SafeStr:
        """What it tells of, with the end of the id where that is short enough to help."""
        return SafeStr(f"{self.kind} {self.tail}" if self.tail else self.kind)

    @property
    def at(self) -> SafeStr:
        """When, in UTC."""
        return moment(self.at_ms)


@frozen
class Remembered:
    """What the memory made of a checkpoint; without a reference it waits for the memory, `why` says what hinders."""

    checkpoint_id: str
    checkpoint: SafeStr
    kind: SafeStr
    ref: SafeStr
    summary: SafeStr
    why: SafeStr
    at_ms: int

    @property
    def waits(self) -> bool:
        """Whether the memory does not have it yet."""
        return not self.ref


Placed = tuple[int, int, Entry]
"""An entry with what orders it: its time, and its place among those of the same moment."""


def timeline_of(told: Told) -> tuple[Entry, ...]:
    """The timeline of what `queue show` answers."""
    leases = listed(told, "leases")
    placed = _events(told)
    placed += [_taken(lease) for lease in leases]
    placed += [_ended(lease) for lease in leases if lease.get("releasedAt")]
    return _ordered(placed)


def audited(told: Told) -> tuple[Entry, ...]:
    """The timeline of one page of `queue audit`: of leases and memories only what belongs to the page."""
    evidence = cast("Told", told["evidence"])
    placed = _events(evidence)
    carried = {_payload(event).get("checkpointId") for event in listed(evidence, "events")}
    linked = {_payload(event).get("memoryId") for event in listed(evidence, "events")}
    leases = {str(lease["id"]): lease for lease in listed(evidence, "leases")}
    for entry in listed(told, "timeline"):
        match str(entry["entryType"]):
            case "checkpoint" if entry["checkpoint"]["id"] not in carried:
                placed.append(_loose_point(entry["checkpoint"]))
            case "memory_link" if entry["memoryLink"]["memoryRef"] not in linked:
                placed.append(_loose_link(entry["memoryLink"]))
            case "lease_acquired":
                placed.append(_taken(entry["lease"]))
            case "lease_heartbeat":
                placed.append(_beaten(entry))
            case "lease_released" if str(entry["leaseId"]) in leases:
                placed.append(_ended(leases[str(entry["leaseId"])]))
            case _:
                pass
    return _ordered(placed)


def remembered(told: Told) -> tuple[Remembered, ...]:
    """What the memory made of each checkpoint, and which wait for it, newest first; of `show` or an audit's evidence.

    A text waits where an event tells that it was put by, and no link that the memory has it.
    """
    points = {str(point["id"]): point for point in listed(told, "checkpoints")}
    found = [_linked(link, points) for link in listed(told, "memoryLinks")]
    linked = {one.checkpoint_id for one in found}
    skips: dict[str, str] = {}
    for event in listed(told, "events"):
        payload, kind = _payload(event), event["kind"]
        point_id = str(payload.get("checkpointId"))
        if kind == "mem0_write_skipped":
            skips.setdefault(point_id, str(payload.get("reason") or ""))
        elif kind == "memory_put_by" and point_id not in linked:
            found.append(_waiting(event, points.get(point_id), skips.get(point_id, "")))
    return tuple(sorted(found, key=lambda one: (one.at_ms, one.waits), reverse=True))


def _linked(link: Told, points: Mapping[str, Told]) -> Remembered:
    point_id = str(link.get("checkpointId") or "")
    return Remembered(
        checkpoint_id=point_id,
        checkpoint=_title(point_id, points.get(point_id)),
        kind=shown(str(link["memoryKind"])),
        ref=shown(str(link["memoryRef"])) or SafeStr("‹no reference›"),
        summary=shown(str(link.get("summary") or "")),
        why=_NOTHING,
        at_ms=ms_of(link["createdAt"]),
    )


def _waiting(event: Told, point: Told | None, why: str) -> Remembered:
    payload = _payload(event)
    point_id = str(payload.get("checkpointId"))
    return Remembered(
        checkpoint_id=point_id,
        checkpoint=_title(point_id, point),
        kind=shown(str(payload.get("memoryKind") or "")),
        ref=_NOTHING,
        summary=_NOTHING if point is None else shown(str(point["summary"])),
        why=shown(why),
        at_ms=ms_of(event["createdAt"]),
    )


def _title(point_id: str, point: Told | None) -> SafeStr:
    return tail_of(point_id) if point is None else shown(str(point["title"]))


def _ordered(placed: list[Placed]) -> tuple[Entry, ...]:
    """Newest first, each with the gap before it."""
    placed.sort(key=lambda one: one[:2], reverse=True)
    before = [entry.at_ms for _, _, entry in placed[1:]]
    return tuple(
        replace(entry, gap=SafeStr(f"+{long_span(entry.at_ms - last)}" if entry.at_ms - last >= _TOLD_GAP_MS else ""))
        for (_, _, entry), last in zip(placed, [*before, *(one[0] for one in placed[-1:])], strict=True)
    )


def _events(told: Told) -> list[Placed]:
    points = {str(point["id"]): point for point in listed(told, "checkpoints")}
    memories = {one.checkpoint_id: one for one in remembered(told)}
    agents = {str(lease.get("runId")): shown(str(lease["agentId"])) for lease in listed(told, "leases")}
    return [
        (ms_of(event["createdAt"]), int(event["seq"]), _event(event, points, memories, agents))
        for event in listed(told, "events")
    ]


def _event(
    event: Told, points: Mapping[str, Told], memories: Mapping[str, Remembered], agents: Mapping[str, SafeStr]
) -> Entry:
    payload = _payload(event)
    point_id, before, after = str(payload.get("checkpointId")), payload.get("from"), payload.get("taskStatus")
    point, memory = points.get(point_id), memories.get(point_id)
    is_of_memory = event["kind"] in _OF_MEMORY
    detail = [str(payload["reason"])] if payload.get("reason") else []
    if point is not None and is_of_memory:
        detail = [f"of {point['title']}", *detail]
    elif point is not None:
        detail = _point_words(point, memory)
    rest = [f"{name} {_text(value)}" for name, value in payload.items() if name not in _UNTOLD and value not in _EMPTY]
    status = "" if is_of_memory else str(after or "")
    return Entry(
        mark=shown(f"E{event['seq']}"),
        at_ms=ms_of(event["createdAt"]),
        glyph=_REMEMBERED if is_of_memory else GLYPHS.get(status, "·"),
        status=status if status in GLYPHS else "",
        kind=shown(str(event["kind"])),
        moved=shown(f"{before} → {after}" if before and after and before != after else ""),
        detail=shown(" · ".join([*detail, *rest])),
        ids=shown(" ".join(str(payload[name]) for name in ("checkpointId", "leaseId") if payload.get(name))),
        issue=shown(str(event.get("issueId") or "")),
        by=agents.get(str(event.get("runId")), _NOTHING),
        via=shown(str(event.get("via") or "not recorded")),
        is_of_memory=is_of_memory,
    )


def _point_words(point: Told, memory: Remembered | None) -> list[str]:
    """A checkpoint in words, and what the memory made of it."""
    words = [f"{point['title']}: {point['summary']}", f"next: {point['nextStep']}"]
    if evidence := [one for one in point.get("artifactIds") or () if not str(one).startswith("E-")]:
        words.append(f"evidence: {_text(evidence)}")
    if memory is not None:
        words.append("waits for the memory" if memory.waits else f"remembered as {memory.kind} {memory.ref}")
    return words


def _loose_point(point: Told) -> Placed:
    """A checkpoint whose event is not on the page."""
    at_ms, status = ms_of(point["createdAt"]), str(point["taskStatus"])
    entry = Entry(
        mark=_NOTHING,
        at_ms=at_ms,
        glyph=GLYPHS.get(status, UNKNOWN),
        status=status if status in GLYPHS else "",
        kind=SafeStr("checkpoint"),
        moved=shown(f"→ {status}"),
        detail=shown(" · ".join(_point_words(point, None))),
        ids=shown(str(point["id"])),
    )
    return at_ms, _LAST - 1, entry


def _loose_link(link: Told) -> Placed:
    """A memory whose event is not on the page."""
    at_ms = ms_of(link["createdAt"])
    told = f"remembered as {link['memoryKind']} {link['memoryRef']}: {link.get('summary') or ''}"
    ids = shown(str(link.get("checkpointId") or ""))
    entry = Entry(
        mark=SafeStr("memory"), at_ms=at_ms, glyph=_REMEMBERED, kind=SafeStr("linked"), detail=shown(told), ids=ids
    )
    return at_ms, _LAST - 1, entry


def _taken(lease: Told) -> Placed:
    at_ms = ms_of(lease["acquiredAt"])
    detail = shown(f"epoch {lease['epoch']} to {lease['agentId']} on {lease['host']}")
    return at_ms, _FIRST, _of_lease(str(lease["id"]), at_ms, _TAKEN, "taken", detail)


def _ended(lease: Told) -> Placed:
    at_ms = ms_of(lease["releasedAt"])
    detail = shown(f"{lease['status']}: {lease.get('endReason') or ''}")
    return at_ms, _LAST, _of_lease(str(lease["id"]), at_ms, _ENDED, "ended", detail)


def _beaten(entry: Told) -> Placed:
    at_ms = ms_of(entry["at"])
    return (
        at_ms,
        _LAST - 1,
        _of_lease(str(entry["leaseId"]), at_ms, "·", "heartbeat", shown(f"the last of {entry['agentId']}")),
    )


def _of_lease(lease_id: str, at_ms: int, glyph: str, kind: str, detail: SafeStr) -> Entry:
    return Entry(
        mark=SafeStr("lease"),
        at_ms=at_ms,
        glyph=glyph,
        kind=SafeStr(kind),
        tail=tail_of(lease_id),
        detail=detail,
        ids=shown(lease_id),
    )


def listed(told: Told, name: str) -> Sequence[Told]:
    """A member that lists things; none where it is absent."""
    return cast("Sequence[Told]", told.get(name) or ())


def ms_of(text: object) -> int:
    """The milliseconds of an answer's time; 0 where it is none."""
    try:
        return from_iso(str(text))
    except ValueError:
        return 0


def _payload(event: Told) -> Told:
    payload = event.get("payload")
    return cast("Told", payload) if isinstance(payload, Mapping) else {}


def _text(value: object) -> str:
    return ", ".join(map(str, cast("Iterable[object]", value))) if isinstance(value, list) else str(value)
