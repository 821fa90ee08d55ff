"""The only door into the commands: validate, then look or write, then one envelope.

A write command answers an intent. With `dry_run` the intent is described and nothing is written; else it
is applied, and with `expect_digest` only while the description still has that digest. A read-only
environment refuses every intent here, so that no surface can leak a write. Source: surfaces page, one
registry; console page, sections 1 and 5.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import Command, Effect, validate
from phelix_core.envelope import Envelope
from phelix_core.errors import InvalidArgument, PhelixError, ReadOnly, SessionConflict
from phelix_core.strictjson import canonical, plain

NOW: Final = "‹now›"
NEW: Final = "‹new›"
"""Stand-ins for values that are fixed only when the write is applied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """One member before and after; None where it is absent."""

    field: str
    before: object
    after: object


@dataclass(frozen=True, slots=True, kw_only=True)
class WritePlan:
    """Exactly what a write would do: what a confirmation shows and `--dry-run` prints.

    `digest` covers action, target, preconditions and changes, not the side effects, which are advisory.
    """

    action: str
    target: Mapping[str, object]
    preconditions: Mapping[str, object]
    changes: tuple[FieldChange, ...]
    event: Mapping[str, object] | None
    side_effects: tuple[str, ...]
    command: str
    digest: str


@runtime_checkable
class Write(Protocol):
    """A write that has been decided and not yet done."""

    def plan(self) -> WritePlan:
        """Describe the write as the world is now; refusals are those of `apply`."""
        ...

    def apply(self, expect_digest: str | None) -> object:
        """Do it, unless `expect_digest` is given and the description has another digest by now."""
        ...


def run(
    command: Command,
    raw: Mapping[str, object],
    env: Environment,
    *,
    dry_run: bool = False,
    expect_digest: str | None = None,
) -> Envelope:
    """Carry one command out for `env.surface`; every refusal is an envelope, nothing is raised for it."""
    try:
        if command.effect is Effect.READ and (dry_run or expect_digest):
            raise InvalidArgument(f"`{command.name}` writes nothing; --dry-run and --expect-digest do not apply.")
        outcome = command(validate(command, raw, env.surface), env)
        if not isinstance(outcome, Write):
            return Envelope(result=outcome)
        if dry_run:
            return Envelope(result=outcome.plan())
        if env.settings.read_only:
            raise ReadOnly(hint="Start without --read-only to make changes.")
        return Envelope(result=outcome.apply(expect_digest))
    except PhelixError as error:
        return Envelope(error=error)


def digest_of(
    action: str,
    target: Mapping[str, object],
    preconditions: Mapping[str, object],
    changes: tuple[FieldChange, ...],
) -> str:
    """Digest of what a write would do."""
    from hashlib import sha256  # noqa: PLC0415 - only previews need it

    covered = {"action": action, "target": target, "preconditions": preconditions, "changes": changes}
    return f"sha256:{sha256(canonical(plain(covered))).hexdigest()}"


def require_digest(expected: str | None, actual: str) -> None:
    """Refuse to apply anything but what was shown."""
    if expected is not None and expected != actual:
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
