"""The session record: its shape, its caps, and the one way between a record and its bytes.

Promises: the same state is always the same bytes; members this version does not know are kept; what
breaks the format is told apart as corrupt (not a session at all) and invalid (a session of another
kind). Source: sessions page, Record and Rules.
"""

from collections.abc import Mapping
from operator import ge
from re import compile as compile_pattern
from types import MappingProxyType
from typing import Any, Final, cast

from phelix_core.checks import MAX_INTEGER, full_match
from phelix_core.errors import InvalidArgument, SessionCorrupt, SessionInvalid
from phelix_core.frozen import changed, frozen
from phelix_core.shapes import Members, ShapeRefused
from phelix_core.strictjson import JsonRefused, dumps, loads, plain, quoted

RECORD_VERSION: Final = "1"
MAX_EVENTS: Final = 200
MAX_RECORD_BYTES: Final = 256 * 1024
MAX_READABLE_BYTES: Final = 1 << 20
MAX_REFERENCES: Final = 50

ACTIVE: Final = "active"
COMPLETED: Final = "completed"
FAILED: Final = "failed"
CANCELLED: Final = "cancelled"
STATUSES: Final = (ACTIVE, COMPLETED, FAILED, CANCELLED)

TITLE_CAP: Final = 200
PROJECT_CAP: Final = 200
APP_CAP: Final = 128
STEP_CAP: Final = 120
NOTE_CAP: Final = 500
RESULT_CAP: Final = 2_000

SESSION_ID = full_match("ses_[0-9a-f]{16}", "a session id: ses_ and 16 lowercase hex digits")
PLAN_ID = full_match("pln_[0-9a-f]{16}", "a plan id: pln_ and 16 lowercase hex digits")
OPERATION_ID = full_match("op_[0-9a-f]{16}", "an operation id: op_ and 16 lowercase hex digits")
DEPLOYMENT_ID = full_match("dep-[0-9a-f]{1,64}", "a deployment id: dep- and 1 to 64 lowercase hex digits")


_NO_MEMBERS: Final[Mapping[str, object]] = MappingProxyType({})


@frozen
class Actor:
    """Who created the session, as the surface knows it: provenance, never authority."""

    type: str
    id: str | None
    authenticated: bool
    extra: Mapping[str, object] = _NO_MEMBERS


@frozen
class Checkpoint:
    """Where the work got to; `seq` is that of the event which recorded it."""

    step: str | None = None
    note: str | None = None
    at_ms: int
    seq: int
    extra: Mapping[str, object] = _NO_MEMBERS


@frozen
class Event:
    """One line of the append-only history; `via` is the surface that wrote it."""

    seq: int
    type: str
    at_ms: int
    detail: str | None = None
    via: str | None = None
    extra: Mapping[str, object] = _NO_MEMBERS


@frozen
class Session:
    """One durable record of agent work; times are milliseconds since 1970 UTC; `rev` counts the events."""

    schema_version: str
    session_id: str
    status: str
    title: str | None = None
    project: str | None = None
    app: str | None = None
    actor: Actor
    rev: int
    created_at_ms: int
    updated_at_ms: int
    plan_ids: tuple[str, ...] = ()
    operation_ids: tuple[str, ...] = ()
    deployment_ids: tuple[str, ...] = ()
    checkpoint: Checkpoint | None = None
    final_result: str | None = None
    events: tuple[Event, ...]
    extra: Mapping[str, object] = _NO_MEMBERS

    @property
    def last_event_ms(self) -> int:
        """When anything was last recorded."""
        return self.events[-1].at_ms

    @property
    def events_left(self) -> int:
        """How many more events fit before only closing is possible."""
        return max(0, MAX_EVENTS - len(self.events))


def encode(session: Session) -> bytes:
    """The record's bytes; over the size cap is `InvalidArgument`, unless it closes the session.

    A session can always be closed, yet never into a file that no reader would open again.
    """
    data = _text(session).encode()
    cap = MAX_RECORD_BYTES if session.status == ACTIVE else MAX_READABLE_BYTES
    if len(data) > cap:
        raise InvalidArgument(
            f"The record would be {len(data)} bytes, over the cap of {cap}.",
            hint="Close this session and go on in a new one." if session.status == ACTIVE else None,
            details={"reason": "size_cap", "bytes": len(data), "cap": cap},
        )
    return data


def _text(session: Session) -> str:
    """What `dumps(plain(session))` says, in a third of the time: most of a record are its events, mostly of one shape.

    A line feed stands in JSON text between values only, so the place of the events is found without a doubt.
    """
    shell = dumps(plain(changed(session, events=())))
    events = ",\n    ".join([_event_text(event) for event in session.events])
    return shell.replace('\n  "events": []', f'\n  "events": [\n    {events}\n  ]', 1) if events else shell


def _event_text(event: Event) -> str:
    if event.extra or event.detail is None or event.via is None:
        return dumps(plain(event), "\n    ")
    return (
        f'{{\n      "seq": {event.seq},\n      "type": {quoted(event.type)},\n      "at_ms": {event.at_ms},\n'
        f'      "detail": {quoted(event.detail)},\n      "via": {quoted(event.via)}\n    }}'
    )


def decode(data: bytes, session_id: str) -> Session:
    """The record in `data`, which stands under the name of `session_id`.

    Raises `SessionCorrupt` (not JSON, wrong types, missing members) or `SessionInvalid` (another version,
    unknown status, another id, integers outside 0..2^53, `rev` other than the number of events, events out of
    the order of their `seq`).
    """
    try:
        document = loads(data)
    except JsonRefused as refused:
        raise SessionCorrupt(f"The record is not readable: {refused}.", details={"session_id": session_id}) from None
    try:
        return _session(Members(document, "the record"), session_id)
    except ShapeRefused as refused:
        kind = SessionInvalid if refused.invalid else SessionCorrupt
        raise kind(f"The record is not valid: {refused}.", details={"session_id": session_id}) from None


def _session(members: Members, session_id: str) -> Session:
    version = members.text("schema_version")
    if version != RECORD_VERSION:
        raise ShapeRefused("schema_version is not one that this version of Phelix reads", invalid=True)
    if members.text("session_id") != session_id:
        raise ShapeRefused("session_id is not the one that the file's name says", invalid=True)
    status = members.text("status")
    if status not in STATUSES:
        raise ShapeRefused("status is not one that this version of Phelix knows", invalid=True)
    rev = members.integer("rev")
    events = tuple([_usual_event(item) or _event(Members(item, "an event")) for item in members.items("events")])
    if not events or rev != len(events):
        raise ShapeRefused(f"rev is {rev} but the record holds {len(events)} events", invalid=True)
    order = [event.seq for event in events]
    if any(map(ge, order, order[1:])):
        raise ShapeRefused("the events are not in the order of their seq", invalid=True)
    checkpoint = members.rest.pop("checkpoint", None)
    return Session(
        schema_version=version,
        session_id=session_id,
        status=status,
        rev=rev,
        events=events,
        title=members.optional_text("title"),
        project=members.optional_text("project"),
        app=members.optional_text("app"),
        actor=_actor(Members(members.rest.pop("actor", None), "the actor")),
        # The guide's sample record has neither time; its events say both.
        created_at_ms=members.integer("created_at_ms", events[0].at_ms),
        updated_at_ms=members.integer("updated_at_ms", events[-1].at_ms),
        plan_ids=members.ids("plan_ids", PLAN_ID),
        operation_ids=members.ids("operation_ids", OPERATION_ID),
        deployment_ids=members.ids("deployment_ids", DEPLOYMENT_ID),
        checkpoint=None if checkpoint is None else _checkpoint(Members(checkpoint, "the checkpoint")),
        final_result=members.optional_text("final_result"),
        extra=members.rest,
    )


def _actor(members: Members) -> Actor:
    return Actor(
        type=members.text("type"),
        id=members.optional_text("id"),
        authenticated=members.flag("authenticated"),
        extra=members.rest,
    )


def _checkpoint(members: Members) -> Checkpoint:
    return Checkpoint(
        step=members.optional_text("step"),
        note=members.optional_text("note"),
        at_ms=members.integer("at_ms"),
        seq=members.integer("seq"),
        extra=members.rest,
    )


_USUAL_NAMES: Final = ("seq", "type", "at_ms", "detail", "via")
_USUAL_KINDS: Final = (int, str, int, str, str)


def _usual_event(item: object) -> Event | None:
    """An event exactly as this version writes it, read at once: the most of a record, in half the time of `_event`."""
    if not isinstance(item, dict):
        return None
    members = cast("dict[str, Any]", item)
    if tuple(members) != _USUAL_NAMES or tuple(map(type, members.values())) != _USUAL_KINDS:
        return None
    seq, kind, at_ms, detail, via = members.values()
    if not (0 <= seq <= MAX_INTEGER and 0 <= at_ms <= MAX_INTEGER and detail and via):
        return None
    return Event(seq=seq, type=kind, at_ms=at_ms, detail=detail, via=via, extra=_NO_MEMBERS)


def _event(members: Members) -> Event:
    return Event(
        seq=members.integer("seq"),
        type=members.text("type"),
        at_ms=members.integer("at_ms"),
        detail=members.optional_text("detail"),
        via=members.optional_text("via"),
        extra=members.rest,
    )


RECORD_NAME = compile_pattern(r"(ses_[0-9a-f]{16})\.json")


def record_name(session_id: str) -> str:
    """File name of a session's record; `session_id` must have passed `SESSION_ID`."""
    return f"{SESSION_ID.apply(session_id)}.json"


def lock_name(session_id: str) -> str:
    """File name of a session's lock."""
    return f"{SESSION_ID.apply(session_id)}.lock"
