"""The frame of every dialog: centred, above all else, closed by escape, never by a stray key."""

from collections.abc import Collection
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar, cast

from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

if TYPE_CHECKING:
    from phelix_tui.app import ConsoleApp

Answer = TypeVar("Answer")


class Dialog(ModalScreen[Answer], Generic[Answer]):
    """A modal screen that escape dismisses without an answer."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Back", id="dialog.back")]

    def action_leave(self) -> None:
        """Close without an answer; harmless when it is closing already."""
        if self.is_current:
            self.dismiss(None)

    def records_changed(self, changes: Collection[str] | None) -> None:
        """Some records (None: all) were looked at again; called on the dialog in front."""

    def plans_changed(self) -> None:
        """Plans, approvals or operations were looked at again; called on the dialog in front."""

    def copy(self, text: str, what: str) -> None:
        """Copy text by the first way that works, which is told."""
        cast("ConsoleApp", self.app).hand_over(text, what)  # pyright: ignore[reportUnknownMemberType] - App[Unknown]
