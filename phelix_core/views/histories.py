"""What a session's events say for certain about its past: step, note and links after each of them.

A checkpoint's event holds step, note and links as one text, joined by `; `, and that text may have been made in
several ways: `step=deploy; half done` is a step with a note, or a step of that whole text, or a note of it. So every
history that could have ended as the record did is kept in mind, and only what all of them agree on is told. An event
of another tool, one without the surface that wrote it, and one of an unknown type could have done anything; a record
that contradicts its own events tells of its last moment alone. Source: console page, section 8; sessions page, Record.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from phelix_core.checks import Surface
from phelix_core.frozen import frozen_in_order
from phelix_core.sessions.model import ACTIVE, Event, Session
from phelix_core.sessions.transitions import OUTCOMES

CREATED: Final = "created"
CHECKPOINT: Final = "checkpoint"

_OURS: Final = frozenset(surface.value for surface in Surface)
_JOINT: Final = "; "
_STEP: Final = "step="
_LINKED: Final = "linked "
_MOST_PARTS: Final = 64
"""A text in more parts counts as telling nothing."""

Reached = tuple[str | None, str | None]
"""A step and a note."""
Possible = frozenset[Reached] | None
"""What step and note may have been; None where it may have been anything."""
_NOTHING_REACHED: Final[frozenset[Reached]] = frozenset({(None, None)})


@frozen_in_order
class _Effect:
    """What an event may have done to step and note: written one of `writes`, or left them, where it `keeps`."""

    writes: Possible
    keeps: bool


_ANYTHING: Final = _Effect(None, keeps=True)
_LEAVES: Final = _Effect(frozenset(), keeps=True)


def statuses(session: Session) -> list[str | None]:
    """The status after each event; None where it cannot be told."""
    told: list[str | None] = []
    status: str | None = ACTIVE
    for event in session.events:
        if event.type in OUTCOMES:
            status = event.type
        elif event.type not in (CREATED, CHECKPOINT):
            status = None
        told.append(status)
    if told[-1] not in (session.status, None):
        told = [None] * len(told)
    told[-1] = session.status
    return told


def reached(session: Session) -> list[Possible]:
    """What step and note may have been after each event."""
    linking = _Linking(session)
    effects = [_effect(event, place, linking) for place, event in enumerate(session.events)]
    possible = _forward(effects)
    point = session.checkpoint
    last: frozenset[Reached] = frozenset({(point.step, point.note)}) if point else _NOTHING_REACHED
    return _backward(possible, effects, last) if _is_coherent(session) else [*[None] * (len(effects) - 1), last]


def _is_coherent(session: Session) -> bool:
    """Whether the record's checkpoint is the one of its newest checkpoint event."""
    seqs = [event.seq for event in session.events if event.type == CHECKPOINT]
    return seqs[-1:] == ([session.checkpoint.seq] if session.checkpoint else [])


def _forward(effects: Sequence[_Effect]) -> list[Possible]:
    """What may have been, by what came before."""
    told: list[Possible] = []
    now: Possible = _NOTHING_REACHED
    for effect in effects:
        before = now if effect.keeps else frozenset[Reached]()
        now = None if before is None or effect.writes is None else before | effect.writes
        told.append(now)
    return told


def _backward(possible: list[Possible], effects: Sequence[_Effect], last: frozenset[Reached]) -> list[Possible]:
    """What of it agrees with what came after; a contradiction leaves the last moment alone."""
    told = list(possible)
    after: Possible = last
    for place in range(len(told) - 1, -1, -1):
        here = _both(told[place], after)
        if here is not None and not here:
            return [*[None] * (len(told) - 1), last]
        told[place] = here
        writes = effects[place].writes
        after = here if writes is not None and here is not None and not writes & here else None
    return told


def _both(one: Possible, other: Possible) -> Possible:
    if one is None or other is None:
        return other if one is None else one
    return one & other


def _effect(event: Event, place: int, linking: "_Linking") -> _Effect:
    if event.type in OUTCOMES or (event.type == CREATED and place == 0):
        return _LEAVES
    detail = _written(event)
    if event.type != CHECKPOINT or detail is None or detail.count(_JOINT) > _MOST_PARTS:
        return _ANYTHING
    rest = linking.without(detail)
    if rest is None:
        return _Effect(_readings(detail), keeps=False)
    writes = _readings(rest)
    return _Effect(writes if place in linking.certain else writes | _readings(detail), keeps=not rest)


def _readings(text: str) -> frozenset[Reached]:
    """Every step and note that `text` may have been made of."""
    if not text:
        return frozenset()
    found: set[Reached] = {(None, text)}
    if text.startswith(_STEP):
        parts = text.removeprefix(_STEP).split(_JOINT)
        for number in range(1, len(parts) + 1):
            step, note = _JOINT.join(parts[:number]), _JOINT.join(parts[number:])
            if step and (note or number == len(parts)):
                found.add((step, note or None))
    return frozenset(found)


def _written(event: Event) -> str | None:
    """The detail that this program wrote; None where it may be another tool's, or there is none."""
    return (event.detail or None) if event.via in _OURS else None


def links(session: Session) -> dict[str, list[bool | None]]:
    """For each linked id whether it was linked after each event; None where it cannot be told."""
    sources, last = _Linking(session).sources, len(session.events) - 1
    told: dict[str, list[bool | None]] = {}
    for reference, places in sources.items():
        first, surely = (places[0], places[-1]) if places else (0, last)
        told[reference] = [False if place < first else place >= surely or None for place in range(last + 1)]
    return told


class _Linking:
    """Which events may have linked which id, and which have for certain linked something."""

    def __init__(self, session: Session) -> None:
        ids = (*session.plan_ids, *session.operation_ids, *session.deployment_ids)
        self._ids = frozenset(ids)
        self.sources: Mapping[str, list[int]] = {one: [] for one in ids}
        for place, event in enumerate(session.events):
            for one in self._may_link(place, event):
                self.sources[one].append(place)
        self.certain = frozenset(places[0] for places in self.sources.values() if len(places) == 1)

    def _may_link(self, place: int, event: Event) -> Sequence[str]:
        if event.type == CREATED and place == 0:
            return ()
        detail = _written(event)
        if event.type not in (CHECKPOINT, *OUTCOMES) or detail is None:
            return tuple(self.sources)
        return self._named(detail)

    def _named(self, detail: str) -> Sequence[str]:
        """The ids that the end of a text tells as linked; none where one of them is not in the record."""
        words = detail.rpartition(_JOINT)[2]
        if not words.startswith(_LINKED):
            return ()
        named = words.removeprefix(_LINKED).split(", ")
        return named if self._ids.issuperset(named) and len(set(named)) == len(named) else ()

    def without(self, detail: str) -> str | None:
        """The text before the links that it may end with; None where it cannot end with any."""
        return detail.rpartition(_JOINT)[0] if self._named(detail) else None
