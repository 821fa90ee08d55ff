"""What a queue write would record, in words and values that hold before it is applied as well as then."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from phelix_core.clock import iso
from phelix_core.commands.preview import NOW, FieldChange
from phelix_core.queue.journal import CITED, SEQ
from phelix_core.queue.model import LONGEST_S
from phelix_core.queue.store import Recorded

_STAMPED: Final = frozenset(
    {
        *("created_at", "ready_at", "acquired_at", "renewed_at", "expires_at", "checkpoint_at"),
        *("last_heartbeat_at", "released_at", "started_at", "finished_at", "delivered_at", "at"),
    }
)
"""Times that a write sets, now or so long from now."""
_TIMES: Final = _STAMPED | {"deadline_at"}
_UNTOLD: Final = frozenset(
    {
        *("updated_at", "deadline_mono", "checkpoint_mono", "boot", "route", "rank_due_at", "promotable"),
        *("begin_input", "notes"),
    }
)
"""What follows from the rest, or says nothing to a person."""
_KINDS: Final = {
    "issues": "issue",
    "milestones": "milestone",
    "campaigns": "campaign",
    "projects": "project",
    "workspaces": "workspace",
    "leases": "lease",
    "runs": "run",
    "checkpoints": "checkpoint",
    "artifacts": "artifact",
    "issue_dependencies": "issue gate",
    "milestone_dependencies": "milestone gate",
    "requests": "request",
    "memory_outbox": "text for the memory",
    "memory_links": "memory link",
}
_HEX: Final = re.compile("[0-9a-f]{16}")


def changes_of(recorded: Sequence[Recorded], made: Mapping[str, int], now_ms: int) -> tuple[FieldChange, ...]:
    """Each column of an old row that changes, issues first, then each new row whole.

    A row that several events change is told once: as it was, and as it will be.
    """
    rows = [row for _, changed in recorded for row in changed]
    rows.sort(key=lambda row: (row.before is None, _FIRST.index(row.table) if row.table in _FIRST else len(_FIRST)))
    told: dict[str, FieldChange] = {}
    was: dict[str, Any] = {}
    will: dict[str, Any] = {}
    for row in rows:
        name = f"{_KINDS[row.table]} {without_new(row.id, made)}"
        after = _values(row.after, made, now_ms)
        if row.before is None:
            whole = {key: value for key, value in after.items() if value is not None}
            told[f"{name} {len(told)}"] = FieldChange(field=name, before=None, after=whole)
            continue
        before = _values(row.before, made, None)
        for column, value in after.items():
            field = f"{name} · {column}"
            was.setdefault(field, row.before.get(column))
            will[field] = row.after[column]
            first = told[field].before if field in told else before.get(column)
            told[field] = FieldChange(field=field, before=first, after=value)
    same = {field for field in was if was[field] == will[field]}
    return tuple(change for field, change in told.items() if field not in same)


_FIRST: Final = ("issues", "campaigns", "leases", "runs")


def event_of(recorded: Sequence[Recorded], made: Mapping[str, int], now_ms: int) -> Mapping[str, object] | None:
    """The first event, and what else would be recorded beside it."""
    if not recorded:
        return None
    first, *others = (event for event, _ in recorded)
    kinds: dict[str, int] = {}
    for event in others:
        kinds[event.kind] = kinds.get(event.kind, 0) + 1
    told: dict[str, object] = {
        "seq": "‹next›",
        "type": first.kind,
        "at_ms": NOW,
        **_values(first.payload, made, now_ms),
    }
    return told if not kinds else {**told, "and": [f"{kind} ×{number}" for kind, number in kinds.items()]}


def _values(row: Mapping[str, Any], made: Mapping[str, int], now_ms: int | None) -> dict[str, object]:
    """What a row says; with `now_ms`, what is stamped by it reads as a distance from now."""
    return {name: _value(name, value, made, now_ms) for name, value in row.items() if name not in _UNTOLD}


def _value(name: str, value: Any, made: Mapping[str, int], now_ms: int | None) -> object:
    if value is SEQ:
        return "‹next›"
    if value is CITED:
        return "‹this event›"
    if name in _TIMES and type(value) is int:
        return iso(value) if now_ms is None or name not in _STAMPED else _from_now(value, now_ms)
    return without_new(value, made)


def _from_now(value: int, now_ms: int) -> str:
    if value == now_ms:
        return NOW
    ahead, part = divmod(value - now_ms, 1000)
    return f"{NOW} + {ahead}s" if part == 0 and 0 < ahead <= LONGEST_S else iso(value)


def without_new(value: Any, made: Mapping[str, int]) -> Any:
    """A value with each id in it that was minted for the occasion told by its number, `‹new:3›`."""
    if isinstance(value, str):
        return _HEX.sub(lambda found: f"‹new:{made[found[0]]}›" if found[0] in made else found[0], value)
    if isinstance(value, (list, tuple)):
        return [without_new(item, made) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, Mapping):
        return {key: without_new(member, made) for key, member in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return value
