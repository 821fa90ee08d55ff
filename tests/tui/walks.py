"""Ways through the console that many tests take: to a row, to a form, to a confirmation, and what is said there."""

from typing import Any

from textual.pilot import Pilot
from textual.widgets import Button

from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.strictjson import loads
from phelix_tui.app import ConsoleApp
from phelix_tui.screens.bulk import BulkConfirm, BulkForm
from phelix_tui.screens.confirm import CommandForm, ConfirmScreen
from phelix_tui.screens.menu import ActionMenu
from phelix_tui.screens.session import SessionRoom
from phelix_tui.widgets.pages import Bar, TextPage
from tests.tui.stage import Stage, fleet_of, opened, until

KEYS = {" ": "space", ",": "comma", "_": "underscore", "-": "minus", "=": "equals_sign"}


def record_of(stage: Stage, session_id: str) -> Any:
    """The record as it stands on disk."""
    return loads((stage.data_dir / "sessions" / f"{session_id}.json").read_bytes())


def agent_does(stage: Stage, name: str, /, **raw: object) -> Any:
    """Another process's agent carries out a command on the same records."""
    envelope = run(load_command(name), raw, stage.agent)
    assert envelope.error is None, envelope.error
    return envelope.result


def states_of(app: ConsoleApp) -> list[str]:
    """The states of the rows as listed, from above."""
    rows = [app.desk.arrangement.row(row.id) for row in fleet_of(app).rows]
    return [row.state for row in rows if row]


def bar(app: ConsoleApp, name: str) -> str:
    """What a bar of the screen in front says."""
    return app.screen.query_one(f"#{name}", Bar).text


def page(app: ConsoleApp, name: str) -> str:
    """What a page of the screen in front says."""
    return app.screen.query_one(f"#{name}", TextPage).text


def toasts(app: ConsoleApp) -> list[str]:
    """What the operator was told in passing."""
    return [str(told.message) for told in app._notifications]  # pyright: ignore[reportPrivateUsage]


async def told(app: ConsoleApp, pilot: Pilot[Any], text: str, seconds: float = 5.0) -> None:
    """Wait for a toast that says `text`."""
    what = f"a toast says {text!r}: {toasts(app)}"
    await until(pilot, lambda: any(text in said for said in toasts(app)), what, seconds)


async def type_in(pilot: Pilot[Any], text: str) -> None:
    await pilot.press(*(KEYS.get(character, character) for character in text))


async def select(app: ConsoleApp, pilot: Pilot[Any], session_id: str) -> None:
    assert fleet_of(app).move_to(session_id)
    await pilot.pause()
    assert app.fleet.selected_id() == session_id


async def menu(pilot: Pilot[Any]) -> ActionMenu:
    await pilot.press("a")
    return await opened(pilot, ActionMenu)


async def form(pilot: Pilot[Any], key: str) -> CommandForm:
    await menu(pilot)
    await pilot.press(key)
    return await opened(pilot, CommandForm)


async def planned(app: ConsoleApp, pilot: Pilot[Any], text: str) -> None:
    """Wait until the dialog shows a plan with `text` in it, and lets the operator go on."""

    def shown() -> bool:
        return text in page(app, "plan") and not app.screen.query_one("#apply", Button).disabled

    await until(pilot, shown, f"the plan says {text!r}")


async def confirm(app: ConsoleApp, pilot: Pilot[Any], key: str, text: str) -> ConfirmScreen:
    """From a list or a room to the confirmation of a closing action, with its first field filled in."""
    await form(pilot, key)
    await type_in(pilot, text)
    await planned(app, pilot, text)
    await press_apply(app, pilot)
    screen = await opened(pilot, ConfirmScreen)
    await planned(app, pilot, text)
    return screen


async def reviewed(app: ConsoleApp, pilot: Pilot[Any], form: BulkForm) -> BulkConfirm:
    """From the form of an action on many, filled in, to its confirmation, once all of them are looked at."""
    await until(pilot, lambda: not form.query_one("#apply", Button).disabled, "the form lets go on")
    form.query_one("#apply", Button).press()
    screen = await opened(pilot, BulkConfirm)
    await until(pilot, lambda: "The first of them" in page(app, "plan"), "all are looked at")
    return screen


async def apply_to_all(pilot: Pilot[Any], screen: BulkConfirm, number: str) -> None:
    """Type the number and press the button by the keyboard."""
    await type_in(pilot, number)
    await until(pilot, lambda: not screen.query_one("#apply", Button).disabled, "the way on is open")
    await pilot.press("enter")
    assert screen.query_one("#apply", Button).has_focus
    await pilot.press("enter")
    await until(pilot, lambda: str(screen.query_one("#cancel", Button).label) == "Close", "it has ended")


async def press_apply(app: ConsoleApp, pilot: Pilot[Any]) -> None:
    """Go to the button by the keyboard and press it."""
    button = app.screen.query_one("#apply", Button)
    for _ in range(12):
        if button.has_focus:
            break
        await pilot.press("tab")
    assert button.has_focus
    await pilot.press("enter")


async def home(app: ConsoleApp, pilot: Pilot[Any]) -> None:
    await until(pilot, lambda: app.screen is app.fleet, "the list is in front again")


async def room(app: ConsoleApp, pilot: Pilot[Any], text: str) -> SessionRoom:
    """Open the selected session and wait for `text` in its story."""
    await pilot.press("enter")
    screen = await opened(pilot, SessionRoom)
    await until(pilot, lambda: text in page(app, "story"), f"the story says {text!r}")
    return screen
