"""What an operator can do to the data directory itself: repair what is safe to repair.

It is guarded by the digest alone of what is shown, which names every file. Source: console page, section 2 (Doctor).
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from phelix_core.commands.preview import WritePlan
from phelix_core.frozen import frozen_in_order
from phelix_core.text import SafeStr
from phelix_tui.actions import TERMINAL, Action, Guard

if TYPE_CHECKING:
    from phelix_tui.desk import Desk

REPAIR: Final = Action(
    key="f",
    command="doctor",
    verb="Repair",
    summary="fix what is safe: modes, leftovers, records behind leases",
    tier=TERMINAL,
    fields=(),
    preset={"fix": True},
)
DIRECTORY_ACTIONS: Final = (REPAIR,)
NO_DIRECTORY: Final = "it is being looked at"


@frozen_in_order
class DirectoryTarget:
    """The data directory as it was examined: how many repairs there are to make."""

    place: SafeStr
    repairs: int

    @property
    def id(self) -> str:
        """The data directory."""
        return self.place

    @property
    def kind(self) -> str:
        """A data directory."""
        return "directory"

    @property
    def standing(self) -> str:
        """How many repairs there are."""
        return f"{self.repairs:,} to repair"

    def names(self, action: Action) -> tuple[str, str, str]:  # noqa: ARG002 - there is one action
        """Where it is, and how many repairs."""
        return self.id, "", self.standing

    @property
    def actions(self) -> Sequence[Action]:
        """Repair."""
        return DIRECTORY_ACTIONS

    def why_not(self, action: Action | None) -> str | None:
        """Where nothing can be repaired there is nothing to do."""
        return "there is nothing to repair" if action is not None and not self.repairs else None

    def raw(self, action: Action, values: Mapping[str, object]) -> dict[str, object]:
        """What the action settles."""
        del values  # nothing is filled in
        return {**action.preset}

    def guard(self, desk: "Desk", action: Action) -> Guard:  # noqa: ARG002 - as above
        """Held to the digest."""
        return Guard(fresh=True, text=SafeStr("✓ done only if exactly this is still what would change"), role="ok")

    def proof(self, action: Action, plan: WritePlan) -> str:  # noqa: ARG002 - as above
        """Nothing."""
        return ""

    def told(self, action: Action, result: object) -> str:
        """How many were repaired, and whether all is well now."""
        fixed, sound = getattr(result, "fixed", ()), getattr(result, "sound", False)
        closing = "the data directory is sound" if sound else "something still fails"
        return f"{action.verb}: {len(fixed)} repaired; {closing}"

    def members(self) -> list[tuple[str, str]]:
        """How many repairs."""
        return [("repairs", str(self.repairs))]
