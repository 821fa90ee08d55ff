"""A command's declared fields as a form: one widget a type, errors under their field, no rule restated."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.events import Key, Paste
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Button, Input

from phelix_core.checks import Surface
from phelix_core.commands.registry import Command, Field
from phelix_core.text import visible
from phelix_tui.actions import Action
from phelix_tui.widgets.pages import Bar, cell
from phelix_tui.widgets.rowlist import Cell

PRESET = frozenset({"session_id", "if_rev", "issue_id", "if_epoch", "where", "replace"})
"""Fields that the screen fills in: what is selected, how it stands, the filter in force and what it replaces."""


def form_fields(command: Command, action: Action | None = None) -> tuple[Field, ...]:
    """Fields that a person fills in: those that the action names, else all that the screen does not."""
    known = {field.name: field for field in command.fields(Surface.TUI) if field.name not in PRESET}
    if action is None or action.fields is None:
        return tuple(known.values())
    more = [name for names in action.also.values() for name in names]
    return tuple(known[name] for name in (*action.fields, *more))


def choices_of(field: Field, action: Action) -> tuple[str, ...]:
    """The words that a field may hold; none where it takes any text."""
    declared = next((check.schema["enum"] for check in field.checks if "enum" in check.schema), ())
    return action.choices.get(field.name) or tuple(cast("Sequence[str]", declared))


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


class Choice(Bar, can_focus=True):
    """One of a few words: left and right go between them, a word's first letter chooses it."""

    DEFAULT_CSS = """
    Choice { background: $boost; }
    Choice:focus { background: $row-cursor; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "step(-1)", "The one before", show=False, id="choice.before"),
        Binding("right,l,space", "step(1)", "The next one", show=False, id="choice.next"),
        Binding("enter,down", "done", "Go on", show=False, id="choice.done"),
    ]

    @dataclass
    class Changed(Message):
        """Another word was chosen."""

        choice: "Choice"

    @dataclass
    class Submitted(Message):
        """The operator goes on to the next field."""

        choice: "Choice"

    def __init__(self, words: Sequence[str], *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self._words = tuple(words)
        self._place = 0

    @property
    def value(self) -> str:
        """The word chosen."""
        return self._words[self._place]

    @value.setter
    def value(self, word: str) -> None:
        self._place = self._words.index(word)
        self._draw()
        self.post_message(self.Changed(self))

    def on_mount(self) -> None:
        """Show the words."""
        self._draw()

    def _draw(self) -> None:
        cells = [cell(" ")]
        for place, word in enumerate(self._words):
            chosen = place == self._place
            cells.append(cell(f"◉ {word}  " if chosen else f"○ {word}  ", "bold accent" if chosen else "muted"))
        self.show(cells, [cell("← → ", "muted")])

    def action_step(self, by: int) -> None:
        """Choose another word."""
        self.value = self._words[(self._place + by) % len(self._words)]

    def action_done(self) -> None:
        """Go on."""
        self.post_message(self.Submitted(self))


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

    def __init__(self, field: Field, *, required: bool, words: Sequence[str] = ()) -> None:
        super().__init__(classes="field")
        self.field = field
        told = field.help.replace("; repeatable", ": ids, separated by spaces")
        told, name = (f"{told} (required)" if required else told), f"field-{field.name}"
        self._input = Choice(words, id=name) if words else Entry(placeholder=told, select_on_focus=False, id=name)
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


class Proof(Horizontal):
    """What has to be typed before a wide write goes on; it may be typed at once, though Cancel has the focus."""

    def __init__(self, alphabet: str) -> None:
        super().__init__(id="proof")
        self._alphabet = alphabet

    def compose(self) -> ComposeResult:
        """What is asked for, and the field."""
        yield Bar(id="proof-asked")
        yield Entry(id="proof-typed", select_on_focus=False)

    @property
    def entry(self) -> Entry:
        """The field."""
        return self.query_one("#proof-typed", Entry)

    @property
    def typed(self) -> str:
        """What is typed."""
        return self.entry.value.strip()

    def ask(self, asked: Sequence[Cell]) -> None:
        """Say what is wanted."""
        self.query_one("#proof-asked", Bar).show(asked)

    def take(self, event: Key) -> None:
        """A character that proofs are made of goes into the field, wherever it was typed."""
        if event.character is None or event.character not in self._alphabet:
            return
        if self.entry.display and not self.entry.has_focus:
            self.entry.focus()
            self.entry.insert_text_at_cursor(event.character)
            event.stop()

    @on(Input.Submitted)
    def _done(self) -> None:
        """Enter goes on to the button; it never applies."""
        button = self.screen.query_one("#apply", Button)
        (self.screen.query_one("#cancel", Button) if button.disabled else button).focus()
