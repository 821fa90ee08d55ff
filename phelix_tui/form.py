"""A command's declared fields as a form: one widget a type, errors under their field, no rule restated."""

from collections.abc import Callable, Mapping
from typing import Final

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.events import Paste
from textual.widget import Widget
from textual.widgets import Input

from phelix_core.checks import Surface
from phelix_core.commands.registry import Command, Field
from phelix_core.text import visible
from phelix_tui.widgets.pages import Bar, cell

PRESET = frozenset({"session_id", "if_rev", "where", "replace"})
"""Fields that the screen fills in: what is selected, the revision shown, the filter in force and what it replaces."""


def form_fields(command: Command) -> tuple[Field, ...]:
    """Fields that a person fills in."""
    return tuple(field for field in command.fields(Surface.TUI) if field.name not in PRESET)


def _text(value: str) -> object:
    return value


def _ids(value: str) -> object:
    return tuple(value.replace(",", " ").split())


_READ: Mapping[bool, Callable[[str], object]] = {False: _text, True: _ids}


_CONTROLS: Final = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)), " ")


class Entry(Input):
    """One line of input that takes all of what is pasted, its lines joined: nothing is lost without a word.

    Control characters become spaces, since an input field draws what it holds as it is.
    """

    def _on_paste(self, event: Paste) -> None:
        joined = " ".join(part for line in event.text.splitlines() if (part := line.translate(_CONTROLS).strip()))
        event.prevent_default().stop()
        self.replace(joined, *self.selection)


class FormField(Vertical):
    """A label, an input that says what belongs in it, and a line for what is wrong."""

    DEFAULT_CSS = """
    FormField { height: auto; }
    FormField Horizontal { height: 1; }
    FormField .label { width: 13; background: $surface; }
    FormField Input { border: none; height: 1; width: 1fr; padding: 0 1; background: $boost; }
    FormField Input:focus { border: none; background: $row-cursor; }
    FormField > .wrong { display: none; background: $surface; }
    FormField.-wrong > .wrong { display: block; }
    """

    def __init__(self, field: Field, *, required: bool) -> None:
        super().__init__(classes="field")
        self.field = field
        told = field.help.replace("; repeatable", ": ids, separated by spaces")
        self._input = Entry(
            placeholder=f"{told} (required)" if required else told, select_on_focus=False, id=f"field-{field.name}"
        )
        self._label = Bar(classes="label")
        self._wrong = Bar(classes="wrong")

    def compose(self) -> ComposeResult:
        """Label and input side by side, the error below."""
        with Horizontal():
            yield self._label
            yield self._input
        yield self._wrong

    def on_mount(self) -> None:
        """Name the field in the declaration's words."""
        self._label.show([cell(self.field.option.lstrip("-").replace("-", " "), "bold")])

    @property
    def value(self) -> object:
        """What was filled in, in the field's own type."""
        return _READ[self.field.many](self._input.value)

    @property
    def entry(self) -> Widget:
        """What takes the focus."""
        return self._input

    def tell(self, wrong: str | None) -> None:
        """Show what is wrong, or that nothing is."""
        self.set_class(wrong is not None, "-wrong")
        self._wrong.show([cell("✗ ", "error"), cell(visible(wrong or ""), "error")])
