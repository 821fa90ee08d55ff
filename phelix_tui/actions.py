"""What an operator can do: which command, behind which key and gate, to what, and why not now.

The only write path of the console: action → form → confirmation → `run`. No rule of the domain is
restated: whether a change is possible is the core's answer to a dry run; what is said here is why an
action makes no sense on what is on the screen. What an action is for is a `Target`: a session, or an
issue of the queue, as it was seen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from phelix_core.commands.preview import WritePlan
from phelix_core.frozen import frozen_in_order
from phelix_core.sessions.model import ACTIVE
from phelix_core.text import SafeStr, visible
from phelix_core.views.moments import time_of_day
from phelix_core.views.rows import BadRecord, Found

if TYPE_CHECKING:
    from phelix_tui.desk import Desk

ADDITIVE: Final = 1
TERMINAL: Final = 2
WIDE: Final = 3
"""Tiers of confirmation; the last one takes over others' work or moves many things, and wants a proof typed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One thing to do: `key` in the action menu, the command, and the tier of its confirmation.

    `asks` names the field that must be filled in before the operator goes on; the core would take less.
    `fields` are those that a person fills in, all that the screen does not where it is None; `also` adds some
    for a choice; `choices` are the words that a field may hold; `preset` holds what the action itself settles.
    """

    key: str
    command: str
    verb: str
    summary: str
    tier: int
    asks: str | None = None
    fields: tuple[str, ...] | None = None
    also: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    preset: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def id(self) -> str:
        """A stable name for key maps and messages."""
        return self.command.replace(" ", ".")


@frozen_in_order
class Guard:
    """Whether a target is still as it was seen, and how to say so."""

    fresh: bool
    text: SafeStr
    role: str


class Target(Protocol):
    """What an action is for, as it was on the screen when the operator chose it."""

    @property
    def id(self) -> str:
        """Whose record it is."""
        ...

    @property
    def kind(self) -> str:
        """`session` or `issue`."""
        ...

    @property
    def standing(self) -> str:
        """The revision, or the status and epoch, on the screen."""
        ...

    def names(self, action: Action) -> tuple[str, str, str]:
        """What `action` is about: id, what it is called as stored, and how it stands."""
        ...

    @property
    def actions(self) -> Sequence[Action]:
        """All that can be done to such a thing at any time."""
        ...

    def why_not(self, action: Action | None) -> str | None:
        """Why `action` (None: anything at all) cannot be done to it now; None when it can."""
        ...

    def raw(self, action: Action, values: Mapping[str, object]) -> dict[str, object]:
        """Raw input for the command: what was filled in, bound to what is on the screen."""
        ...

    def guard(self, desk: "Desk", action: Action) -> Guard:
        """Whether it is still as it was seen."""
        ...

    def proof(self, action: Action, plan: WritePlan) -> str:
        """What to type before a wide action goes on."""
        ...

    def told(self, action: Action, result: object) -> str:
        """What to tell when it was done."""
        ...

    def members(self) -> list[tuple[str, str]]:
        """What it was when it was seen, for comparing versions."""
        ...


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


@dataclass(frozen=True, slots=True)
class SessionTarget:
    """A session as it is on the screen: bound to its id and revision."""

    session_id: str
    found: Found

    @property
    def id(self) -> str:
        """The session's id."""
        return self.session_id

    @property
    def kind(self) -> str:
        """A session."""
        return "session"

    @property
    def rev(self) -> int | None:
        """The revision on the screen; None for a record that cannot be read."""
        return None if isinstance(self.found, BadRecord) else self.found.rev

    @property
    def standing(self) -> str:
        """The revision."""
        return f"rev {self.rev}"

    def names(self, action: Action) -> tuple[str, str, str]:  # noqa: ARG002 - a session takes all actions alike
        """Its id, title and revision; no title where the record cannot be read."""
        title = "" if isinstance(self.found, BadRecord) else self.found.title or ""
        return self.session_id, title, self.standing

    @property
    def actions(self) -> Sequence[Action]:
        """All that can be done to a session."""
        return SESSION_ACTIONS

    def why_not(self, action: Action | None) -> str | None:  # noqa: ARG002 - a session takes all actions or none
        """A record that cannot be read, or is closed, takes no change."""
        found = self.found
        if isinstance(found, BadRecord):
            return f"the record cannot be read ({found.code}); Phelix never writes over it"
        if found.status != ACTIVE:
            return f"closed: {found.status} at {time_of_day(found.updated_at_ms)}"
        return None

    def raw(self, action: Action, values: Mapping[str, object]) -> dict[str, object]:  # noqa: ARG002 - as above
        """What was filled in, for the session and revision on the screen."""
        return {"session_id": self.session_id, **filled(values), "if_rev": self.rev}

    def guard(self, desk: "Desk", action: Action) -> Guard:  # noqa: ARG002 - as above
        """Whether the record is still at this revision."""
        found = desk.arrangement.found(self.session_id)
        if found is None:
            return Guard(fresh=False, text=SafeStr("✗ the record has gone"), role="error")
        if isinstance(found, BadRecord):
            return Guard(fresh=False, text=visible(f"✗ the record cannot be read now ({found.code})"), role="error")
        if found.rev == self.rev:
            return Guard(fresh=True, text=SafeStr(f"✓ unchanged since rev {self.rev}"), role="ok")
        when = time_of_day(found.updated_at_ms)
        moved = SafeStr(f"▲ now rev {found.rev}, changed {when}: go back and look again")
        return Guard(fresh=False, text=moved, role="warning")

    def proof(self, action: Action, plan: WritePlan) -> str:  # noqa: ARG002 - as above
        """The last four of the id."""
        return self.session_id[-4:]

    def told(self, action: Action, result: object) -> str:
        """It is written."""
        del result
        return f"{action.verb}: {self.session_id} is written"

    def members(self) -> list[tuple[str, str]]:
        """Status, texts and revision."""
        return members_of_found(self.found)


def members_of_found(found: Found) -> list[tuple[str, str]]:
    """What a look at a record gave, as names and texts."""
    if isinstance(found, BadRecord):
        return [("", f"cannot be read: {found.code}")]
    point = found.checkpoint
    pairs = (
        ("rev", str(found.rev)),
        ("status", found.status),
        ("title", found.title),
        ("step", point.step if point else None),
        ("note", point.note if point else None),
        ("result", found.final_result),
        ("at", time_of_day(found.updated_at_ms)),
    )
    return [(name, str(value)) for name, value in pairs if value]


def filled(values: Mapping[str, object]) -> dict[str, object]:
    """What was filled in; the rest is as if it had not been asked."""
    return {name: value for name, value in values.items() if value not in ("", ())}


NO_SESSION: Final = "no session is selected"


def why_not(
    target: Target | None, locked: str | None, action: Action | None = None, nothing: str = NO_SESSION
) -> str | None:
    """Why nothing, or not `action`, can be done now; `locked` says why nothing can be done at all.

    `nothing` says what is missing where there is no target.
    """
    if locked is not None:
        return locked
    return nothing if target is None else target.why_not(action)
