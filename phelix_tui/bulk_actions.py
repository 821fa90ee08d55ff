"""Marked sessions, or issues, as one target: each bound to what is on the screen of it; those out of sight are named.

Source: console page, section 6; public report derailed/k9s 3939.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from phelix_core.commands.preview import WritePlan
from phelix_core.frozen import frozen_in_order
from phelix_core.text import SafeStr
from phelix_tui.actions import SESSION_ACTIONS, WIDE, Action, Guard, SessionTarget
from phelix_tui.issue_actions import ISSUE_ACTIONS, PROMOTE, RECOVER, IssueTarget

if TYPE_CHECKING:
    from phelix_tui.desk import Desk

One = SessionTarget | IssueTarget
"""What can be one of many."""

_RECOVER_MANY: Final = replace(
    RECOVER, summary="stale work: requeue, block or fail", choices={"resolution": ("requeue", "block", "fail")}, also={}
)
"""Taking many over at once would make one agent the holder of what it cannot do at once."""
BULK_ACTIONS: Final = {
    "session": tuple(replace(action, tier=WIDE) for action in SESSION_ACTIONS),
    "issue": tuple(
        replace(_RECOVER_MANY if action is RECOVER else action, tier=WIDE)
        for action in ISSUE_ACTIONS
        if action is not PROMOTE  # it is about a project
    ),
}
"""What can be done to many: the same, and always with the number typed."""
_GUARDS: Final = ("if_rev", "if_epoch")


@frozen_in_order
class BulkTarget:
    """Sessions or issues as they were when they were asked for; `hidden` are those that the filter hides."""

    targets: tuple[One, ...]
    hidden: frozenset[str]

    @property
    def id(self) -> str:
        """How many they are, and how many of them are out of sight."""
        return f"{self.named}, {self.standing}" if self.hidden else self.named

    @property
    def named(self) -> str:
        """How many they are."""
        return f"{len(self.targets):,} marked {self.kind}{'' if len(self.targets) == 1 else 's'}"

    @property
    def kind(self) -> str:
        """What they are, each of them."""
        return self.targets[0].kind

    @property
    def standing(self) -> str:
        """How many are out of sight."""
        return f"{len(self.hidden):,} hidden by the filter" if self.hidden else ""

    def names(self, action: Action) -> tuple[str, str, str]:  # noqa: ARG002 - each is named by itself
        """How many, and how many out of sight."""
        return self.named, "", self.standing

    @property
    def actions(self) -> Sequence[Action]:
        """All that can be done to many of them."""
        return BULK_ACTIONS[self.kind]

    def why_not(self, action: Action | None) -> str | None:
        """None where one of them takes the action; else what keeps them all from it."""
        reasons = {target.why_not(action) for target in self.targets}
        if None in reasons:
            return None
        return next(iter(reasons)) if len(reasons) == 1 else "none of them takes it as they stand"

    def raw(self, action: Action, values: Mapping[str, object]) -> dict[str, object]:
        """What was filled in, for the first that takes it: what a form shows is an example."""
        takes = next((one for one in self.targets if one.why_not(action) is None), self.targets[0])
        return {name: value for name, value in takes.raw(action, values).items() if name not in _GUARDS}

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
