"""The conflict screen: the record moved on while a change to it was being made.

Three versions side by side: what was on the screen, what the record is now, and the change. Nothing is
retried by itself: the operator re-plans on the new revision, copies the text, or lets it go. Source:
console page, section 7.
"""

from collections.abc import Mapping
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Button

from phelix_core.redaction import redact
from phelix_core.sessions.model import ACTIVE
from phelix_core.text import SafeStr
from phelix_core.views.moments import time_of_day
from phelix_core.views.rows import BadRecord, Found
from phelix_core.views.shown import shown
from phelix_tui.actions import Target
from phelix_tui.screens.confirm import Proposal
from phelix_tui.screens.dialog import Dialog
from phelix_tui.screens.drawing import heading
from phelix_tui.widgets.pages import Bar, TextPage, cell
from phelix_tui.wrapping import TextLine, line


class ConflictScreen(Dialog[str]):
    """Answers `replan`, `copy` or None (let it go)."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer('copy')", "Copy my text", id="conflict.copy"),
        Binding("p", "answer('replan')", "Plan it again", id="conflict.replan"),
    ]

    def __init__(self, proposal: Proposal, target: Target, current: Found | None, reason: SafeStr) -> None:
        super().__init__()
        self._proposal = proposal
        self._target = target
        self._current = current
        self._reason = reason

    @property
    def can_replan(self) -> bool:
        """A closed, unreadable or absent record takes no change any more."""
        current = self._current
        return current is not None and not isinstance(current, BadRecord) and current.status == ACTIVE

    def compose(self) -> ComposeResult:
        """Title, three versions, choices."""
        with Vertical(classes="dialog proposal"):
            yield Bar(id="conflict-title", classes="dialog-title")
            with Horizontal(id="versions"):
                yield TextPage(id="base", classes="version")
                yield TextPage(id="current", classes="version")
                yield TextPage(id="change", classes="version")
            yield Bar(id="conflict-reason")
            with Horizontal(classes="buttons"):
                yield Button("Let it go", id="cancel", compact=True)
                yield Button("Copy my text", id="copy", compact=True)
                if self.can_replan:
                    yield Button(f"Plan again on rev {self._rev()}", id="replan", compact=True, variant="primary")

    def _rev(self) -> int:
        current = self._current
        return 0 if current is None or isinstance(current, BadRecord) else current.rev

    def on_mount(self) -> None:
        """Fill the three columns; letting go has the focus."""
        target = self._target
        bar = self.query_one("#conflict-title", Bar)
        bar.show([cell(" Conflict ", "bold"), cell(f"{self._proposal.action.verb}: {target.session_id}")])
        self.query_one("#base", TextPage).show([heading("What you saw"), *_version(target.found)])
        self.query_one("#current", TextPage).show([heading("What it is now"), *_version(self._current)])
        self.query_one("#change", TextPage).show([heading("Your change"), *_change(self._proposal.values)])
        self.query_one("#conflict-reason", Bar).show([cell(" ▲ ", "warning"), cell(self._reason, "warning")])
        self.query_one("#cancel", Button).focus()

    def action_answer(self, answer: str) -> None:
        """Choose, where the choice is there."""
        if self.is_current and (answer != "replan" or self.can_replan):
            self.dismiss(answer)

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "cancel":
            self.action_leave()
        else:
            self.action_answer(event.button.id or "")


def _version(found: Found | None) -> list[TextLine]:
    if found is None:
        return [line(cell("the record has gone", "error"))]
    if isinstance(found, BadRecord):
        return [line(cell(f"cannot be read: {found.code}", "error"))]
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
    return [_member(name, shown(value), "") for name, value in pairs if value]


def _member(name: str, value: SafeStr, role: str) -> TextLine:
    """A name and its value for a narrow column."""
    return line(cell(f"{name:<7}", "muted"), cell(value, role), hang=2)


def _change(values: Mapping[str, object]) -> list[TextLine]:
    filled = [(name, value) for name, value in values.items() if value not in ("", ())]
    return [_member(name, shown(_as_text(value)), "bold") for name, value in filled]


def _as_text(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]


def text_of(proposal: Proposal) -> str:
    """What the operator had typed, to keep."""
    return "\n".join(redact(_as_text(value)) for value in proposal.values.values() if value not in ("", ()))
