"""Marked sessions as one target: each bound to its id and the revision on the screen; those out of sight are named.

Source: console page, section 6; public report derailed/k9s 3939.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from phelix_core.commands.preview import WritePlan
from phelix_core.text import SafeStr
from phelix_tui.actions import SESSION_ACTIONS, WIDE, Action, Guard, SessionTarget, filled

if TYPE_CHECKING:
    from phelix_tui.desk import Desk

BULK_ACTIONS = tuple(replace(action, tier=WIDE) for action in SESSION_ACTIONS)
"""What can be done to many: the same, and always with the number typed."""


@dataclass(frozen=True, slots=True)
class BulkTarget:
    """Sessions as they were when they were asked for; `hidden` are those that the filter hides."""

    targets: tuple[SessionTarget, ...]
    hidden: frozenset[str]

    @property
    def id(self) -> str:
        """How many they are, and how many of them are out of sight."""
        return f"{self.named}, {self.standing}" if self.hidden else self.named

    @property
    def named(self) -> str:
        """How many they are."""
        return f"{len(self.targets):,} marked session{'' if len(self.targets) == 1 else 's'}"

    @property
    def kind(self) -> str:
        """Sessions."""
        return "session"

    @property
    def standing(self) -> str:
        """How many are out of sight."""
        return f"{len(self.hidden):,} hidden by the filter" if self.hidden else ""

    def names(self, action: Action) -> tuple[str, str, str]:  # noqa: ARG002 - sessions take all actions alike
        """How many, and how many out of sight."""
        return self.named, "", self.standing

    @property
    def actions(self) -> Sequence[Action]:
        """All that can be done to many sessions."""
        return BULK_ACTIONS

    def why_not(self, action: Action | None) -> str | None:
        """None where one of them takes the action; else what keeps them all from it."""
        reasons = {target.why_not(action) for target in self.targets}
        if None in reasons:
            return None
        return next(iter(reasons)) if len(reasons) == 1 else "none of them can be changed any more"

    def raw(self, action: Action, values: Mapping[str, object]) -> dict[str, object]:
        """What was filled in, for the first that takes it: what a form shows is an example."""
        takes = next((one for one in self.targets if one.why_not(action) is None), self.targets[0])
        return {"session_id": takes.session_id, **filled(values)}

    def guard(self, desk: "Desk", action: Action) -> Guard:
        """How many have moved on; each is applied on its own, so that the others do not wait for them."""
        moved = sum(not target.guard(desk, action).fresh for target in self.targets)
        if not moved:
            return Guard(fresh=True, text=SafeStr(f"✓ all {len(self.targets):,} unchanged"), role="ok")
        told = f"▲ {moved:,} of {len(self.targets):,} moved on: nothing will be written to those"
        return Guard(fresh=True, text=SafeStr(told), role="warning")

    def proof(self, action: Action, plan: WritePlan) -> str:  # noqa: ARG002 - the same for all
        """How many they are."""
        return str(len(self.targets))

    def told(self, action: Action, result: object) -> str:  # noqa: ARG002 - each is told on its own
        """What was asked for."""
        return f"{action.verb}: {self.named}."

    def members(self) -> list[tuple[str, str]]:
        """Nothing to compare: versions are compared one by one."""
        return []
