"""Time travel over one session's record: the points to stand at, what is known at each, how two of them differ.

A point is the moment after an event. Its revision, time, status and the event itself are in the record; step, note,
links and result are told where the record leaves no doubt, and read "not recorded" otherwise, as does what a
reference was found to be at the time: nobody wrote that down. What the newest checkpoint's event said stands beside
them as it was written. Every text passes `shown`. Source: console page, section 8.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from phelix_core.frozen import frozen, frozen_in_order
from phelix_core.sessions.model import ACTIVE, Session
from phelix_core.text import SafeStr
from phelix_core.views.histories import CHECKPOINT, Possible, links, reached, statuses
from phelix_core.views.moments import long_span, moment
from phelix_core.views.shown import shown


class Told(NamedTuple):
    """A value as the record tells it, empty where there was none; or that it does not tell."""

    text: SafeStr
    is_recorded: bool = True


NOT_RECORDED: Final = Told(SafeStr("not recorded"), is_recorded=False)
NOTHING: Final = Told(SafeStr(""))
LINKED: Final = Told(SafeStr("linked"))
STATE_THEN: Final = NOT_RECORDED
"""What a reference was found to be at a point of the past: present, missing or else."""


class Link(NamedTuple):
    """One reference of the record, and whether it was linked at the point."""

    kind: str
    id: SafeStr
    told: Told


@frozen
class Point:
    """The moment after one event; `place` counts from 0, `gap_ms` is the time since the point before.

    `seq` is the event's own number, which another tool may count differently. `written` is what the newest
    checkpoint's event up to here says, step, note and links in one.
    """

    place: int
    seq: int
    rev: int
    at_ms: int
    at: SafeStr
    gap_ms: int
    gap: SafeStr
    kind: SafeStr
    via: Told
    detail: SafeStr
    status: Told
    step: Told
    note: Told
    written: SafeStr
    result: Told
    plans: Told
    operations: Told
    deployments: Told
    links: tuple[Link, ...]


@frozen_in_order
class Difference:
    """A field that two points tell differently."""

    field: SafeStr
    a: Told
    b: Told


@frozen_in_order
class Diff:
    """How point `b` differs from `a`; `gap_ms` is negative where `b` is the earlier one.

    `untold` names the fields of which neither tells anything, so that they may differ or not.
    """

    a: Point
    b: Point
    gap_ms: int
    gap: SafeStr
    rows: tuple[Difference, ...]
    untold: tuple[str, ...]


FIELDS: Final[tuple[tuple[str, Callable[[Point], Told]], ...]] = (
    ("revision", lambda point: Told(SafeStr(str(point.rev)))),
    ("time", lambda point: Told(point.at)),
    ("event", lambda point: Told(point.kind)),
    ("by", lambda point: point.via),
    ("detail", lambda point: Told(point.detail)),
    ("status", lambda point: point.status),
    ("step", lambda point: point.step),
    ("note", lambda point: point.note),
    ("checkpoint as written", lambda point: Told(point.written)),
    ("result", lambda point: point.result),
    ("plans", lambda point: point.plans),
    ("operations", lambda point: point.operations),
    ("deployments", lambda point: point.deployments),
)
"""What is told of a point, in the order of a page."""


def points(session: Session) -> tuple[Point, ...]:
    """Every point of the record, oldest first."""
    was, linked = reached(session), _linked(session)
    results, states = _results(session), [_told(status) for status in statuses(session)]
    told: list[Point] = []
    written, before_ms = SafeStr(""), session.events[0].at_ms
    for place, event in enumerate(session.events):
        detail = shown(event.detail or "")
        written = detail if event.type == CHECKPOINT else written
        gap_ms = event.at_ms - before_ms
        here = linked[place]
        told.append(
            Point(
                place=place,
                seq=event.seq,
                rev=place + 1,
                at_ms=event.at_ms,
                at=moment(event.at_ms),
                gap_ms=gap_ms,
                gap=SafeStr(f"+{long_span(gap_ms)}" if place else ""),
                kind=shown(event.type),
                via=_told(event.via),
                detail=detail,
                status=states[place],
                step=_agreed(was[place], 0),
                note=_agreed(was[place], 1),
                written=written,
                result=results[place],
                plans=_count(here, "plan"),
                operations=_count(here, "operation"),
                deployments=_count(here, "deployment"),
                links=here,
            )
        )
        before_ms = event.at_ms
    return tuple(told)


def diff(session: Session, a: int, b: int) -> Diff:
    """How the record at place `b` differs from that at `a`, in either order."""
    every = points(session)
    return differing(every[a], every[b])


def differing(a: Point, b: Point) -> Diff:
    """The same of two points of one record."""
    pairs = [(SafeStr(name), of(a), of(b)) for name, of in FIELDS]
    pairs += [
        (SafeStr(f"{one.kind} {one.id}"), one.told, other.told) for one, other in zip(a.links, b.links, strict=True)
    ]
    gap_ms = b.at_ms - a.at_ms
    return Diff(
        a=a,
        b=b,
        gap_ms=gap_ms,
        gap=SafeStr(f"{'−' if gap_ms < 0 else '+'}{long_span(abs(gap_ms))}"),
        rows=tuple(Difference(name, one, other) for name, one, other in pairs if one != other),
        untold=tuple(name for name, of in FIELDS if a is not b and of(a) == of(b) == NOT_RECORDED),
    )


def to_scale(gaps_ms: Sequence[int], cells: int) -> tuple[int, ...]:
    """How many of `cells` each gap takes: together all of them, each its share to within one.

    Where no time passed at all, no gap takes any. A gap that runs backwards counts as none.
    """
    lengths = [max(0, gap) for gap in gaps_ms]
    whole = sum(lengths)
    if not whole or cells <= 0:
        return (0,) * len(lengths)
    shares = [divmod(length * cells, whole) for length in lengths]
    spare = cells - sum(share for share, _ in shares)
    by_rest = sorted(range(len(shares)), key=lambda place: (-shares[place][1], place))
    longer = frozenset(by_rest[:spare])
    return tuple(share + (place in longer) for place, (share, _) in enumerate(shares))


def _told(text: str | None) -> Told:
    return NOT_RECORDED if text is None else Told(shown(text))


def _agreed(possible: Possible, which: int) -> Told:
    """What every history agrees on."""
    found = None if possible is None else {one[which] or "" for one in possible}
    return _told(found.pop()) if found is not None and len(found) == 1 else NOT_RECORDED


def _results(session: Session) -> list[Told]:
    """A session has no result before it is closed; whether it was, the status tells."""
    told = [NOTHING if status == ACTIVE else NOT_RECORDED for status in statuses(session)]
    told[-1] = Told(shown(session.final_result or ""))
    return told


def _linked(session: Session) -> list[tuple[Link, ...]]:
    """Every reference of the record at each place, plans first."""
    told = links(session)
    kinds = (("plan", session.plan_ids), ("operation", session.operation_ids), ("deployment", session.deployment_ids))
    every = [(kind, shown(one), told[one]) for kind, ids in kinds for one in dict.fromkeys(ids)]
    words = {True: LINKED, False: NOTHING, None: NOT_RECORDED}
    return [
        tuple(Link(kind, one, words[places[place]]) for kind, one, places in every)
        for place in range(len(session.events))
    ]


def _count(here: Sequence[Link], kind: str) -> Told:
    """How many of a kind were linked, nothing for none."""
    told = [link.told for link in here if link.kind == kind]
    if NOT_RECORDED in told:
        return NOT_RECORDED
    number = told.count(LINKED)
    return Told(SafeStr(str(number) if number else ""))
