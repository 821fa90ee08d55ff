"""One session's whole story: identity, why it is stale, timeline, references. Plain, safe, ready to draw.

Records are written by other tools too: each of their texts passes `shown`, once a session and not at every tick.
"""

from collections import deque
from collections.abc import Callable
from typing import Final, TypeVar

from phelix_core.envelope import redacted
from phelix_core.frozen import frozen_in_order
from phelix_core.sessions.model import ACTIVE, Session
from phelix_core.sessions.references import (
    MISSING,
    PRESENT,
    UNAVAILABLE,
    UNKNOWN,
    Resolved,
    ResolvedReferences,
)
from phelix_core.sessions.staleness import clock_ahead_ms, why_stale
from phelix_core.strictjson import dumps, plain
from phelix_core.text import SafeStr
from phelix_core.views.moments import long_span, moment, time_of_day, to_the_minute
from phelix_core.views.shown import shown, shown_block

_Answer = TypeVar("_Answer")
_KEPT: Final = 3

REFERENCE_LOOKS: Final = {
    PRESENT: ("✓", "present", "present"),
    MISSING: ("✗", "missing", "missing"),
    UNAVAILABLE: ("⊘", "unavailable", "unavailable"),
    UNKNOWN: ("?", "unknown", "unknown"),
}


def _remembered(draw: Callable[[Session, int | None], _Answer]) -> Callable[[Session, int | None], _Answer]:
    """Keep the last few answers: a page that ticks asks again about the session it is about."""
    kept: deque[tuple[Session, int | None, _Answer]] = deque(maxlen=_KEPT)

    def answer(session: Session, newest: int | None) -> _Answer:
        for of, as_many, told in tuple(kept):
            if of is session and as_many == newest:
                return told
        told = draw(session, newest)
        kept.append((session, newest, told))
        return told

    return answer


@frozen_in_order
class Moment:
    """One entry of the timeline; `gap` is how long nothing was recorded before it."""

    seq: int
    at: SafeStr
    gap: SafeStr
    kind: SafeStr
    detail: SafeStr
    via: SafeStr


@frozen_in_order
class Reference:
    """One reference with its state by glyph, word and role."""

    kind: str
    id: str
    glyph: str
    word: str
    role: str
    note: SafeStr


def identity(session: Session, now_ms: int) -> list[tuple[str, SafeStr]]:
    """Names and values that say which session this is; absent ones are left out."""
    ages = {
        "created": f"{moment(session.created_at_ms)}, {long_span(now_ms - session.created_at_ms)} ago",
        "updated": f"{moment(session.updated_at_ms)}, {long_span(now_ms - session.updated_at_ms)} ago",
    }
    pairs = [(name, SafeStr(ages.get(name, value))) for name, value in _texts(session, None)]
    return [(name, value) for name, value in pairs if value]


@_remembered
def _texts(session: Session, _: int | None) -> list[tuple[str, SafeStr]]:
    """What `identity` tells that does not change with time, in its order."""
    actor, point = session.actor, session.checkpoint
    who = f"{actor.type}{f' {actor.id}' if actor.id else ''}{'' if actor.authenticated else ' (not authenticated)'}"
    pairs = [
        ("session", session.session_id),
        ("status", session.status),
        ("title", session.title),
        ("project", session.project),
        ("app", session.app),
        ("created", None),
        ("updated", None),
        ("created by", who),
        ("revision", str(session.rev)),
        ("step", point.step if point else None),
        ("note", point.note if point else None),
        ("result", session.final_result),
    ]
    return [(name, shown(value or "")) for name, value in pairs]


def staleness(session: Session, now_ms: int, stale_after_ms: int) -> list[SafeStr]:
    """Why the session counts as stale, with rule, inputs and clock; empty while there is nothing to say."""
    if session.status != ACTIVE:
        return []
    last_ms = session.last_event_ms
    ahead = clock_ahead_ms(last_ms, now_ms)
    if ahead is not None:
        return [
            SafeStr(f"Cannot tell whether it is stale: its last event is {long_span(ahead)} in the future."),
            SafeStr(f"Last event {moment(last_ms)}; this machine's clock says {moment(now_ms)}."),
        ]
    finding = why_stale(session.status, last_ms, now_ms, stale_after_ms)
    if finding is None:
        return []
    return [
        SafeStr(f"STALE since {time_of_day(finding.since_ms)}: nothing recorded for {long_span(now_ms - last_ms)}"),
        SafeStr(f"(limit {long_span(stale_after_ms)}). Last event {moment(last_ms)}; now {to_the_minute(now_ms)}"),
        SafeStr("by this machine's clock. Stale is a finding, not a status: nothing was stopped or changed."),
    ]


def timeline(session: Session, newest: int | None = None) -> list[Moment]:
    """Every event in order, or the newest few, with the time that passed before it."""
    return _timeline(session, newest)


@_remembered
def _timeline(session: Session, newest: int | None) -> list[Moment]:
    entries: list[Moment] = []
    first = 0 if newest is None else max(0, len(session.events) - newest)
    before_ms = session.events[first - 1].at_ms if first else None
    for event in session.events[first:]:
        gap = "" if before_ms is None else f"+{long_span(event.at_ms - before_ms)}"
        entries.append(
            Moment(
                seq=event.seq,
                at=moment(event.at_ms),
                gap=SafeStr(gap),
                kind=shown(event.type),
                detail=shown(event.detail or ""),
                via=shown(event.via or "not recorded"),
            )
        )
        before_ms = event.at_ms
    return entries


def references(resolved: ResolvedReferences) -> list[Reference]:
    """Every reference, plans first, each with what is known of it and no more."""
    kinds = (
        ("plan", resolved.plans),
        ("operation", resolved.operations),
        ("deployment", resolved.deployments),
    )
    return [_reference(kind, found) for kind, group in kinds for found in group]


def _reference(kind: str, found: Resolved) -> Reference:
    glyph, word, role = REFERENCE_LOOKS[found.state]
    note = found.error_code or " ".join(part for part in (found.status, _brief(found.detail)) if part)
    return Reference(kind, found.id, glyph, word, role, shown(note))


def _brief(detail: str | None) -> str | None:
    """A content hash in its first twelve digits; all of it is in the record."""
    if detail is None or not detail.startswith("sha256:"):
        return detail
    return f"{detail[:19]}…"


def raw(session: Session) -> SafeStr:
    """The record as it stands on disk, but for its secrets, made safe for a terminal."""
    return _raw(session, None)


@_remembered
def _raw(session: Session, _: int | None) -> SafeStr:
    return shown_block(dumps(redacted(plain(session))))
