"""Help: the keys that work where it was asked for, drawn from the bindings themselves."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from phelix_core.text import visible
from phelix_core.views.arc import rows as plans
from phelix_core.views.queue import rows as issues
from phelix_core.views.rows import STATES
from phelix_core.views.story import REFERENCE_LOOKS
from phelix_tui.keys import key_name
from phelix_tui.screens.dialog import Dialog
from phelix_tui.screens.drawing import heading
from phelix_tui.widgets.pages import Bar, TextPage, cell
from phelix_tui.widgets.rowlist import Cell
from phelix_tui.wrapping import TextLine, line

if TYPE_CHECKING:
    from phelix_tui.app import ConsoleApp


class HelpScreen(Dialog[None]):
    """Keys, glyphs, and where to read on."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("q,question_mark", "leave", "Back", show=False, id="help.back")]

    def __init__(
        self, sections: Sequence[tuple[str, Sequence[Binding]]], reason: str | None, *, about: str = "session"
    ) -> None:
        super().__init__()
        self._sections = sections
        self._reason = reason
        self._about = about

    def compose(self) -> ComposeResult:
        """Title and page."""
        with Vertical(classes="dialog help"):
            yield Bar(id="help-title", classes="dialog-title")
            yield TextPage(id="help-page")

    def on_mount(self) -> None:
        """Draw the sections."""
        self.query_one("#help-title", Bar).show([cell(" Help", "bold")], [cell("esc back ")])
        lines: list[TextLine] = []
        for title, bindings in self._sections:
            lines += [heading(title), *_key_lines(bindings), line()]
        lines += [heading("Actions"), *self._actions(), line(), heading("What the signs mean")]
        lines += {"issue": _issue_signs, "plan": _plan_signs}.get(self._about, _signs)()
        page = self.query_one("#help-page", TextPage)
        page.show(lines)
        page.focus()

    def _actions(self) -> list[TextLine]:
        key = cast("ConsoleApp", self.app).key_of("room.act") or "a"  # pyright: ignore[reportUnknownMemberType] - App[Unknown]
        told = [line(cell(f"`{key}` opens the actions on the selected {self._about}. Nothing is ever written without"))]
        told.append(line(cell("a confirmation that shows the exact write.")))
        if self._reason is not None:
            told.append(line(cell("Not now: ", "warning"), Cell(visible(self._reason), "warning"), hang=9))
        return told


def _key_lines(bindings: Iterable[Binding]) -> list[TextLine]:
    keys: dict[str, list[str]] = {}
    for binding in bindings:
        if binding.description:
            keys.setdefault(binding.description, []).append(key_name(binding.key))
    return [line(cell(f"{' '.join(names):<18}", "accent"), cell(told), hang=18) for told, names in keys.items()]


def _signs() -> list[TextLine]:
    states = [
        line(cell(f"{looks.glyph} {looks.word:<12}", looks.role), cell(_MEANINGS[name]), hang=14)
        for name, looks in STATES.items()
    ]
    references = [
        line(cell(f"{glyph} {word:<12}", role), cell(_MEANINGS[state]), hang=14)
        for state, (glyph, word, role) in REFERENCE_LOOKS.items()
    ]
    return [*states, line(), *references]


def _issue_signs() -> list[TextLine]:
    return [
        line(cell(f"{looks.glyph} {looks.word:<15}", looks.role), cell(_ISSUE_MEANINGS[name]), hang=17)
        for name, looks in issues.STATES.items()
    ]


def _plan_signs() -> list[TextLine]:
    return [
        line(cell(f"{looks.glyph} {looks.word:<14}", looks.role), cell(_PLAN_MEANINGS[name]), hang=16)
        for name, looks in plans.STATES.items()
    ]


_PLAN_MEANINGS = {
    "waiting": "nothing but an approval keeps whoever asked from applying it",
    "indeterminate": "it was begun, its processes are gone, and no end is recorded; it is never run again",
    "unreadable": "the record is not what was written, or cannot be read; nothing is done with it",
    "running": "its command runs; its log follows on the plan's page",
    "pending": "it is authorized, and its command not started yet",
    "stale": "something it takes for granted is no longer so: make a new plan",
    "denied": "no rule of the policy lets anybody apply it",
    "approved": "a person has approved this very plan; it can be applied, once",
    "ready": "it can be applied without an approval",
    "failed": "its command ended with an error, or took too long",
    "cancelled": "its command was ended before it was done",
    "succeeded": "its command ended well",
    "applied": "another tool's record says that it was applied",
}
_ISSUE_MEANINGS = {
    "needs_recovery": "recorded as stale, or reported so: new claims wait until it is recovered",
    "stale": "its lease or its last checkpoint ran out; the next claim will record it",
    "clock": "whether its lease still runs cannot be told by this machine's clocks",
    "crash_loop": "recovered too often and failed for it; it blocks no claims",
    "failed": "the work did not succeed",
    "in_progress": "an agent holds it under a live lease",
    "ready": "every gate is open; the next claim may take it",
    "blocked": "waits for something outside the queue, until it is unblocked",
    "pending": "waits for other issues or milestones",
    "done": "the work reported that it finished",
    "archived": "its campaign was put away",
}
_MEANINGS = {
    "unreadable": "the record cannot be read; it is never overwritten",
    "stale": "active, but nothing was recorded for longer than the limit",
    "clock": "active, but its events are in the future: staleness cannot be told",
    "active": "work is being tracked",
    "failed": "closed: the work did not succeed",
    "cancelled": "closed: the work was no longer wanted",
    "completed": "closed: the work reported that it finished",
    "present": "the reference was looked up and is there",
    "missing": "looked for, and not there",
    "unavailable": "there, but it cannot be read or trusted",
    "unknown": "cannot be told: nothing correlates it",
}
