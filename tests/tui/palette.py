"""The palette as a list: every entry that its providers offer, whoever they are, and a walk that tries them all."""

import inspect
from collections.abc import Callable
from typing import Any

from textual.command import DiscoveryHit, Hit, Provider
from textual.pilot import Pilot
from textual.widgets import Button

from phelix_tui.app import ConsoleApp
from phelix_tui.screens.dialog import Dialog
from phelix_tui.screens.menu import ActionMenu
from phelix_tui.screens.room import Room

WORDS = ("", *"abcdefghijklmnopqrstuvwxyz", "session", "checkpoint", "approve", "recover", "theme", "save")
"""What is typed into it: nothing, every letter, and words that name what can be done."""


def name_of(hit: Hit | DiscoveryHit) -> str:
    """What an entry is called."""
    return str(hit.text)


async def entries(app: ConsoleApp, *typed: str) -> dict[str, Callable[[], object]]:
    """Every entry on the screen in front, by name, or what comes for what is typed."""
    found: dict[str, Callable[[], object]] = {}
    sources: Any = {*app.COMMANDS, *app.screen.COMMANDS}
    for source in sources:
        kind: Any = source if inspect.isclass(source) else source()
        provider: Provider = kind(app.screen)
        await provider.startup()
        for word in ("", *typed) if typed else WORDS:
            async for hit in provider.search(word) if word else provider.discover():
                found.setdefault(name_of(hit), hit.command)
    return dict(sorted(found.items()))


async def press_everything(app: ConsoleApp, pilot: Pilot[Any], seen: set[str], room: str) -> None:
    """Try whatever the dialogs that open offer, once: the keys, the first line, the buttons."""
    for _ in range(6):
        screen = app.screen
        name = f"{type(screen).__name__} {room if isinstance(screen, ActionMenu) else None}"
        if not isinstance(screen, Dialog) or name in seen:
            return
        seen.add(name)
        await pilot.pause(0.03)  # the guard of the stage opens after 20 ms
        for key in "kcfxrpe":
            if app.screen is screen:
                await pilot.press(key)
        for button in screen.query(Button) if app.screen is screen else ():
            if button.id != "cancel" and app.screen is screen:
                button.press()
                await pilot.pause()
        if app.screen is screen:
            await pilot.press("enter")


async def back(app: ConsoleApp, pilot: Pilot[Any]) -> None:
    """Go back to Fleet, whatever is in front."""
    for _ in range(12):
        if app.screen is app.fleet or not app.is_running:
            return
        if isinstance(app.screen, Room):
            app.action_home()
            await pilot.pause()
        else:
            await pilot.press("escape")
            await pilot.pause(0.03)
