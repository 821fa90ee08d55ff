"""Payloads of every action, made of the schemas of their inputs: a whole one, and ways to spoil it by one member."""

import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from phelix_core.lifecycle.actions import ACTIONS, Action
from phelix_core.lifecycle.inputs import ContextRef
from phelix_core.lifecycle.performing import adapter_of
from tests.contract.lifecycle import VERSION
from tests.rig import bytes_of

Place = tuple[str | int, ...]
Schema = dict[str, Any]

OTHERS: Final[dict[str, tuple[Any, ...]]] = {
    "string": (1, 1.5, True, [], ["x"], {}),
    "integer": ("1", 1.5, 1.0, True, [], {}),
    "boolean": ("true", 1, 0, [], {}),
    "array": ("x", 1, True, {}),
    "object": ("x", 1, True, [], ["x"]),
}
"""Values of other types than the one that is expected; nothing is taken for what it looks like."""


@dataclass(frozen=True)
class Member:
    """A member of an input: its place, its schema, and whether it may be nothing or be left out."""

    place: Place
    schema: Schema
    nullable: bool
    required: bool

    @property
    def kind(self) -> str:
        return self.schema["type"]


def payload_of(action: Action) -> dict[str, Any]:
    """A payload with every member that the action takes."""
    made: dict[str, Any] = {"contractVersion": VERSION, "action": action.name}
    for part, kind in _parts(action).items():
        drawn = adapter_of(kind).json_schema()
        made[part] = _sample(drawn, drawn.get("$defs", {}))
    return made


def members_of(action: Action) -> list[Member]:
    """Every member at every level of what the action takes, items of lists included."""
    found: list[Member] = []
    for part, kind in _parts(action).items():
        drawn = adapter_of(kind).json_schema()
        found.append(Member((part,), drawn, nullable=False, required=True))
        found += _below(drawn, drawn.get("$defs", {}), (part,))
    return found


def _parts(action: Action) -> dict[str, type]:
    return {"context": ContextRef, "input": action.input} if action.holds else {"input": action.input}


def _plain(schema: Schema, known: dict[str, Schema]) -> tuple[Schema, bool]:
    """A schema without reference or alternative, and whether nothing is an alternative to it."""
    if "$ref" in schema:
        return known[schema["$ref"].removeprefix("#/$defs/")], False
    if "anyOf" in schema:
        one, nothing = schema["anyOf"]
        assert nothing == {"type": "null"}
        return _plain(one, known)[0], True
    return schema, False


def _sample(schema: Schema, known: dict[str, Schema]) -> Any:
    plain, _ = _plain(schema, known)
    if "enum" in plain:
        return plain["enum"][0]
    if plain["type"] == "array":
        return [_sample(plain["items"], known)]
    if plain["type"] == "object":
        named = plain.get("properties")
        return {"k": "v"} if named is None else {name: _sample(one, known) for name, one in named.items()}
    return {"string": "x", "integer": plain.get("minimum"), "boolean": True}[plain["type"]]


def _below(schema: Schema, known: dict[str, Schema], place: Place) -> Iterator[Member]:
    parts: dict[str | int, Schema] = dict(schema.get("properties", {}))
    if schema["type"] == "array":
        parts = {0: schema["items"]}
    elif isinstance(schema.get("additionalProperties"), dict):
        parts = {"k": schema["additionalProperties"]}
    for name, one in parts.items():
        plain, nullable = _plain(one, known)
        yield Member((*place, name), plain, nullable, name in schema.get("required", ()))
        yield from _below(plain, known, (*place, name))


# Spoiling a payload


def with_member(payload: Any, place: Place, value: Any) -> Any:
    """The payload with another value at a place."""
    made = deepcopy(payload)
    _parent(made, place)[place[-1]] = value
    return made


def without_member(payload: Any, place: Place) -> Any:
    """The payload without what stands at a place."""
    made = deepcopy(payload)
    del _parent(made, place)[place[-1]]
    return made


def _parent(payload: Any, place: Place) -> Any:
    for name in place[:-1]:
        payload = payload[name]
    return payload


def text_of(payload: Any) -> bytes:
    return json.dumps(payload).encode()


def kept(folder: Path) -> dict[str, bytes | str | None]:
    """The bytes of a data directory, but for the memory that the engine's readers share: each leaves its mark there."""
    return {name: data for name, data in bytes_of(folder).items() if not name.endswith("-shm")}


# The caps that the queue page names, by the member's name

_LINES: Final = ("path", "nextStep", "recoveryNextStep", "memoryQuery", "objective")
_HANDED_BACK: Final = ("effectId", "issueTask", "nextBestAction")
_REASONS: Final = ("reason", "blockedReason")
_LONG: Final = ("summary", "recoverySummary", "memoryContent")
UNCAPPED: Final = frozenset({("context", "scope", "k"), ("context", "promotedIssueIds", 0), ("input", "metadata", "k")})
"""Texts that have no cap of their own: what they stand in has one."""


def cap_of(place: Place) -> int:
    """How many bytes a text may have."""
    name = place[-2] if isinstance(place[-1], int) else place[-1]
    if name == "dbPath":
        return 4_096
    if name in (*_LINES, *_HANDED_BACK, "artifactIds"):
        return 1_000
    if name in _REASONS:
        return 500
    if name in _LONG:
        return 4_000
    return 200 if name == "title" else 128


NAMES: Final = tuple(ACTIONS)
HOLDING: Final = tuple(name for name, action in ACTIONS.items() if action.holds)
