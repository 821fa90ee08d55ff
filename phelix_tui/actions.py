"""What an operator can do to a session: which command, behind which key and gate, and why not now.

The only write path of the console: action → form → confirmation → `run`. No rule of the domain is
restated: whether a change is possible is the core's answer to a dry run; what is said here is why an
action makes no sense on what is on the screen.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from phelix_core.sessions.model import ACTIVE
from phelix_core.views.moments import time_of_day
from phelix_core.views.rows import BadRecord, Found

ADDITIVE: Final = 1
TERMINAL: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One thing to do: `key` in the action menu, the command, and the tier of its confirmation.

    `asks` names the field that must be filled in before the operator goes on; the core would take less.
    """

    key: str
    command: str
    verb: str
    summary: str
    tier: int
    asks: str | None = None
    done: str = "is written"

    @property
    def id(self) -> str:
        """A stable name for key maps and messages."""
        return self.command.replace(" ", ".")


SESSION_ACTIONS: Final = (
    Action(
        key="k",
        command="session checkpoint",
        verb="Checkpoint",
        summary="record a step, a note, or references",
        tier=ADDITIVE,
    ),
    Action(
        key="c",
        command="session complete",
        verb="Complete",
        summary="close it: the work reports that it finished",
        tier=TERMINAL,
        asks="result",
    ),
    Action(
        key="f",
        command="session fail",
        verb="Fail",
        summary="close it: the work did not succeed",
        tier=TERMINAL,
        asks="reason",
    ),
    Action(
        key="x",
        command="session cancel",
        verb="Cancel session",
        summary="close it: the work is no longer wanted",
        tier=TERMINAL,
        asks="reason",
    ),
)


SAVE_VIEW: Final = Action(
    key="s",
    command="view save",
    verb="Save view",
    summary="save the current filter…",
    tier=TERMINAL,
    asks="name",
)
REMOVE_VIEW: Final = Action(
    key="x",
    command="view remove",
    verb="Remove view",
    summary="remove the view under the cursor…",
    tier=TERMINAL,
    done="is removed",
)


@dataclass(frozen=True, slots=True)
class Target:
    """The session an action is for, as it is on the screen: bound to its id and revision."""

    session_id: str
    found: Found

    @property
    def name(self) -> str:
        """What the action is told to be about."""
        return self.session_id

    @property
    def rev(self) -> int | None:
        """The revision on the screen; None for a record that cannot be read."""
        return None if isinstance(self.found, BadRecord) else self.found.rev


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewTarget:
    """A saved view: what is known of it before the form is filled in, and the names that are taken.

    It is guarded by the digest alone of what is shown, which is bound to the file's bytes.
    """

    preset: Mapping[str, object]
    about: str = ""
    taken: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """The view's name, where it is known already."""
        return str(self.preset.get("name", ""))


def why_not(target: Target | ViewTarget | None, locked: str | None) -> str | None:
    """Why nothing can be done to `target` now; None when it can. `locked` says why nothing can be done at all."""
    if locked is not None or isinstance(target, ViewTarget):
        return locked
    if target is None:
        return "no session is selected"
    found = target.found
    if isinstance(found, BadRecord):
        return f"the record cannot be read ({found.code}); Phelix never writes over it"
    if found.status != ACTIVE:
        return f"closed: {found.status} at {time_of_day(found.updated_at_ms)}"
    return None


def raw_of(target: Target | ViewTarget, values: Mapping[str, object]) -> dict[str, object]:
    """Raw input for the command: what was filled in, for the session and revision, or the view, on the screen.

    A view of a taken name is written over: the confirmation shows what was there, and says so.
    """
    filled = {name: value for name, value in values.items() if value not in ("", ())}
    if isinstance(target, ViewTarget):
        replace = {"replace": True} if filled.get("name") in target.taken else {}
        return {**target.preset, **filled, **replace}
    return {"session_id": target.session_id, **filled, "if_rev": target.rev}
