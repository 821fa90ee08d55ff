"""The only door into the commands: validate, then look or write, then one envelope.

A write command answers an intent. With `dry_run` the intent is described and nothing is written; else it
is applied, and with `expect_digest` only while the description still has that digest. A read-only
environment refuses every intent here, so that no surface can leak a write. Source: surfaces page, one
registry; console page, sections 1 and 5.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from phelix_core.checks import CheckFailed
from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import Command, Effect, validate
from phelix_core.envelope import Envelope
from phelix_core.errors import InvalidArgument, PhelixError, ReadOnly

if TYPE_CHECKING:  # a plain write starts without the means to describe itself
    from phelix_core.commands.preview import WritePlan


@runtime_checkable
class Write(Protocol):
    """A write that has been decided and not yet done."""

    def plan(self) -> "WritePlan":
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
        if command.effect is Effect.READ and (dry_run or expect_digest is not None):
            raise InvalidArgument(f"`{command.name}` writes nothing; --dry-run and --expect-digest do not apply.")
        if expect_digest is not None:
            _require_digest_form(expect_digest)
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


def _require_digest_form(expected: str) -> None:
    """Refuse a digest that no preview ever showed: an empty one would guard nothing."""
    from phelix_core.commands.preview import DIGEST  # noqa: PLC0415 - only guarded writes need it

    try:
        DIGEST.apply(expected)
    except CheckFailed as failed:
        raise InvalidArgument(f"expect-digest: {failed}.", hint="--dry-run prints it.") from None
