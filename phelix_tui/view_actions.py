"""What an operator can do to saved views: save the filter in force, remove one.

Source: console page, section 4 (saved views).
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from phelix_core.commands.preview import WritePlan
from phelix_core.frozen import frozen
from phelix_core.text import SafeStr
from phelix_tui.actions import TERMINAL, Action, Guard, filled

if TYPE_CHECKING:
    from phelix_tui.desk import Desk

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
)


@frozen
class ViewTarget:
    """A saved view: what is known of it before the form is filled in, and the names that are taken.

    It is guarded by the digest alone of what is shown, which is bound to the file's bytes.
    """

    preset: Mapping[str, object]
    about: str = ""
    taken: frozenset[str] = frozenset()

    @property
    def id(self) -> str:
        """The view's name, where it is known already."""
        return str(self.preset.get("name", ""))

    @property
    def kind(self) -> str:
        """A saved view."""
        return "view"

    @property
    def standing(self) -> str:
        """Nothing: a view has no revision."""
        return ""

    def names(self, action: Action) -> tuple[str, str, str]:  # noqa: ARG002 - saving and removing name alike
        """Its name, and the filter it is about."""
        return self.id, self.about, self.standing

    @property
    def actions(self) -> Sequence[Action]:
        """Save and remove."""
        return (SAVE_VIEW, REMOVE_VIEW)

    def why_not(self, action: Action | None) -> str | None:  # noqa: ARG002 - the core decides
        """Nothing speaks against it from here."""
        return None

    def raw(self, action: Action, values: Mapping[str, object]) -> dict[str, object]:  # noqa: ARG002 - as above
        """What was filled in; a view of a taken name is written over, and the confirmation says so."""
        given = filled(values)
        replace = {"replace": True} if given.get("name") in self.taken else {}
        return {**self.preset, **given, **replace}

    def guard(self, desk: "Desk", action: Action) -> Guard:  # noqa: ARG002 - as above
        """Held to the digest."""
        return Guard(fresh=True, text=SafeStr("✓ this is what will be written, or nothing"), role="ok")

    def proof(self, action: Action, plan: WritePlan) -> str:  # noqa: ARG002 - no action on views is wide
        """Nothing."""
        return ""

    def told(self, action: Action, result: object) -> str:
        """That it is written or removed."""
        done = "is removed" if action is REMOVE_VIEW else "is written"
        return f"{action.verb}: {self.id or getattr(result, 'name', '')} {done}"

    def members(self) -> list[tuple[str, str]]:
        """Its filter."""
        return [("where", self.about)] if self.about else []
