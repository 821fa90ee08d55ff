"""A very small console for the pty tests: a list, a dialog, ways to be busy, behind guard and watchdog.

`python small_app.py [--naive] [--nohup] [--rows n]`; `--naive` runs without guard and watchdog.
"""

import argparse
import hashlib
import signal
import sys
import threading
import time
from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Button, Input, Static

from phelix_core.text import visible
from phelix_tui.guard import GuardedApp, InputGuard
from phelix_tui.terminal import ColourWish, Watchdog
from phelix_tui.widgets.rowlist import Cell, Column, Row, RowList

COLUMNS = (
    Column("status", visible("ST"), 9),
    Column("id", visible("SESSION"), 10),
    Column("title", visible("TITLE"), 12, flex=True),
    Column("app", visible("APP"), 9, drop_order=1),
    Column("age", visible("AGE"), 4, align="right"),
)


def make_row(number: int, status: str = "active", title: str | None = None, age: str = "2h") -> Row:
    return Row(
        f"ses_{number:06}",
        (
            Cell(visible(f"* {status}"), status),
            Cell(visible(f"ses_{number:06}")),
            Cell(visible(title if title is not None else f"ship billing {number}")),
            Cell(visible("billing"), "muted"),
            Cell(visible(age), "muted"),
        ),
    )


class Question(ModalScreen[str]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("y", "yes"), Binding("escape", "no")]

    def compose(self) -> ComposeResult:
        yield Static("really?", markup=False)
        yield Button("Yes, do it")

    def on_button_pressed(self) -> None:
        self.dismiss("clicked")

    def action_yes(self) -> None:
        self.dismiss("yes")

    def action_no(self) -> None:
        self.dismiss("no")


class NoGuard(InputGuard):
    """The naive control: everything passes."""

    def drops(self, event: events.Event, focused: Widget | None) -> bool:
        del event, focused
        return False


class SmallApp(GuardedApp[None]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("x", "ask"),
        Binding("f", "field"),
        Binding("p", "patch"),
        Binding("b", "block"),
        Binding("w", "work"),
        Binding("c", "c_code"),
        Binding("q", "quit"),
    ]

    def __init__(self, rows: int = 100, *, ansi_color: bool | None = None, guarded: bool = True) -> None:
        super().__init__(ansi_color=ansi_color)
        self.asked: list[str] = []
        self.patched = 0
        self.titles: Sequence[str | None] = ()
        self._count = rows
        if not guarded:
            self.guard = NoGuard()

    def compose(self) -> ComposeResult:
        yield Static("said: nothing", id="said", markup=False)
        yield RowList(COLUMNS, placeholder=visible("no rows"))
        yield Input(id="field")

    def on_mount(self) -> None:
        rows = self.query_one(RowList)
        titles = self.titles or [None] * self._count
        rows.set_rows([make_row(number, title=title) for number, title in enumerate(titles)])
        rows.focus()

    def say(self, text: str) -> None:
        self.query_one("#said", Static).update(visible(f"said: {text}"))

    def action_ask(self) -> None:
        self.say("asking")
        self.push_dialog(Question(), self.answered)

    def answered(self, answer: str | None) -> None:
        self.asked.append(str(answer))
        self.say(f"answer {answer}")

    def action_field(self) -> None:
        self.query_one("#field", Input).focus()

    def action_patch(self) -> None:
        self.patched += 1
        self.query_one(RowList).patch([make_row(3, "stale", f"patched {self.patched}")])

    def action_block(self) -> None:
        print("busy", file=sys.__stdout__, flush=True)
        while True:
            pass

    def action_c_code(self) -> None:
        """One long call that lets go of the GIL and never returns to Python."""
        print("busy", file=sys.__stdout__, flush=True)
        hashlib.pbkdf2_hmac("sha256", b"x", b"y", 200_000_000)

    def action_work(self) -> None:
        threading.Thread(target=time.sleep, args=(30,)).start()
        self.say("working")

    def on_row_list_opened(self, event: RowList.Opened) -> None:
        self.say(f"opened {event.id}")


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--naive", action="store_true")
    options.add_argument("--nohup", action="store_true")
    options.add_argument("--hard", action="store_true")
    options.add_argument("--rows", type=int, default=100)
    chosen = options.parse_args()
    app = SmallApp(
        chosen.rows,
        ansi_color=None if chosen.naive else ColourWish.from_environment().ansi_color,
        guarded=not chosen.naive,
    )
    if chosen.hard:
        from test_cells import HARD  # noqa: PLC0415 - only this run needs it

        app.titles = (*HARD, "the end of the list")
    if chosen.naive:
        if chosen.nohup:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
        app.run()
        return 0
    with Watchdog(lambda code: app.exit(return_code=code)) as watchdog:
        if chosen.nohup:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
        app.run()
    return watchdog.exit_code or app.return_code or 0


if __name__ == "__main__":
    sys.exit(main())
