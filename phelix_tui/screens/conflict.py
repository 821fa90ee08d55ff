"""The conflict screen: what a change was about moved on while it was being made.

Three versions side by side: what was on the screen, what the record is now, and the change. Nothing is
retried by itself: the operator plans again on the new version, copies the text, or lets it go. Source:
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
from phelix_core.text import SafeStr, visible
from phelix_core.views.shown import shown
from phelix_tui.actions import Target
from phelix_tui.screens.confirm import Proposal
from phelix_tui.screens.dialog import Dialog
from phelix_tui.screens.drawing import heading
from phelix_tui.widgets.pages import Bar, TextPage, cell
from phelix_tui.wrapping import TextLine, line

_LABEL = 7


class ConflictScreen(Dialog[str]):
    """Answers `replan`, `copy` or None (let it go)."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer('copy')", "Copy my text", id="conflict.copy"),
        Binding("p", "answer('replan')", "Plan it again", id="conflict.replan"),
    ]

    def __init__(self, proposal: Proposal, current: Target | None, reason: SafeStr) -> None:
        super().__init__()
        self._proposal = proposal
        self._current = current
        self._reason = reason

    @property
    def can_replan(self) -> bool:
        """What is closed, unreadable or absent takes no change any more."""
        return self._current is not None and self._current.why_not(self._proposal.action) is None

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
                    yield Button(f"Plan again on {self._now()}", id="replan", compact=True, variant="primary")

    def _now(self) -> SafeStr:
        """The version that another plan would be on, in a word or two."""
        return visible("" if self._current is None else self._current.standing.partition(" · lease")[0])

    def on_mount(self) -> None:
        """Fill the three columns; letting go has the focus."""
        target = self._proposal.target
        bar = self.query_one("#conflict-title", Bar)
        bar.show([cell(" Conflict ", "bold"), cell(f"{self._proposal.action.verb}: {visible(target.id)}")])
        self.query_one("#base", TextPage).show([heading("What you saw"), *_version(target)])
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


def _version(target: Target | None) -> list[TextLine]:
    if target is None:
        return [line(cell("it has gone", "error"))]
    return [
        _member(name, shown(value), "") if name else line(cell(shown(value), "error"))
        for name, value in target.members()
    ]


def _member(name: str, value: SafeStr, role: str) -> TextLine:
    """A name and its value for a narrow column."""
    return line(cell(f"{name:<7}" if len(name) < _LABEL else f"{name} ", "muted"), cell(value, role), hang=2)


def _change(values: Mapping[str, object]) -> list[TextLine]:
    filled = [(name, value) for name, value in values.items() if value not in ("", ())]
    return [_member(name, shown(_as_text(value)), "bold") for name, value in filled]


def _as_text(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]


def text_of(proposal: Proposal) -> str:
    """What the operator had typed, to keep."""
    return "\n".join(redact(_as_text(value)) for value in proposal.values.values() if value not in ("", ()))
