"""What a write would do, described: fields before and after, the event, the side effects, a digest.

Only dry runs, confirmations and `expect_digest` come here; a plain write starts without this module.
"""

import json
from collections.abc import Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Final

from phelix_core.checks import full_match
from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import Command, equivalent
from phelix_core.errors import SessionConflict
from phelix_core.frozen import frozen
from phelix_core.redaction import redact
from phelix_core.strictjson import canonical, plain

NOW: Final = "‹now›"
NEW: Final = "‹new›"
"""Stand-ins for values that are fixed only when the write is applied."""

DIGEST: Final = full_match("sha256:[0-9a-f]{64}", "a digest: sha256: and 64 lowercase hex digits")


@frozen
class FieldChange:
    """One member before and after; None where it is absent."""

    field: str
    before: object
    after: object


@frozen
class WritePlan:
    """Exactly what a write would do: what a confirmation shows and `--dry-run` prints.

    `digest` covers action, target, preconditions and changes, not the side effects and the outcome, which are
    advisory; `outcome` is what the write would answer, where that says more than the changes.
    """

    action: str
    target: Mapping[str, object]
    preconditions: Mapping[str, object]
    changes: tuple[FieldChange, ...]
    event: Mapping[str, object] | None
    side_effects: tuple[str, ...]
    command: str
    digest: str
    outcome: Mapping[str, Any] | None = None


_PINS: Final = (("if_rev", "rev"), ("if_epoch", "epoch"))
"""Fields that name a precondition."""
_NOTHING: Final[Mapping[str, object]] = MappingProxyType({})


def plan_of(
    command: Command,
    request: object,
    env: Environment,
    *,
    target: Mapping[str, object],
    changes: tuple[FieldChange, ...],
    preconditions: Mapping[str, object] = _NOTHING,
    event: Mapping[str, object] | None = None,
    side_effects: tuple[str, ...] = (),
    outcome: Mapping[str, Any] | None = None,
) -> WritePlan:
    """Describe a write of `command`; where a revision or an epoch is a precondition, the command shown names it."""
    pinned = {name: preconditions[word] for name, word in _PINS if word in preconditions}
    return WritePlan(
        action=command.name,
        target={**target, "data_dir": redact(env.settings.data_dir)},
        preconditions=preconditions,
        changes=changes,
        event=event,
        side_effects=side_effects,
        command=equivalent(command, request, env.settings.data_dir, **pinned),
        digest=digest_of(command.name, target, preconditions, changes),
        outcome=outcome,
    )


def digest_of(
    action: str,
    target: Mapping[str, object],
    preconditions: Mapping[str, object],
    changes: tuple[FieldChange, ...],
) -> str:
    """Digest of what a write would do."""
    covered = {"action": action, "target": target, "preconditions": preconditions, "changes": changes}
    return f"sha256:{sha256(canonical(plain(covered))).hexdigest()}"


def require_digest(expected: str, actual: str) -> None:
    """Refuse to apply anything but what was shown."""
    if expected != actual:
        raise SessionConflict(
            "What would be written is no longer what was shown; nothing was written.",
            hint="Look at the change again with --dry-run.",
            details={"expected_digest": expected, "digest": actual},
        )


def field_changes(before: Mapping[str, object], after: Mapping[str, object]) -> tuple[FieldChange, ...]:
    """Members that differ, nested ones by dotted name; times read as `NOW`."""
    old, new = _flat(before), _flat(after)
    names = dict.fromkeys((*new, *old))
    stamped = _stamped(old, new)
    return tuple(
        FieldChange(field=name, before=old.get(name), after=NOW if name in stamped else new.get(name))
        for name in names
        if name in stamped or json.dumps(old.get(name)) != json.dumps(new.get(name))
    )


def _stamped(old: Mapping[str, object], new: Mapping[str, object]) -> set[str]:
    """Times that this write sets, whatever the clock will say by then."""
    moved = {"updated_at_ms"}
    if "created_at_ms" not in old:
        moved.add("created_at_ms")
    if old.get("checkpoint.seq") != new.get("checkpoint.seq"):
        moved.add("checkpoint.at_ms")
    return moved & set(new)


def _flat(members: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for name, value in members.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")  # pyright: ignore[reportUnknownArgumentType]
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def event_shown(members: Mapping[str, Any]) -> dict[str, object]:
    """The newest event of a record that is not written yet."""
    return {**members["events"][-1], "at_ms": NOW}
