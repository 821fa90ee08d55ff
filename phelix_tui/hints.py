"""Three first-run hints, one at a time, each gone for good once its key is used or the hint is put away.

They stand at the right of the doctor line, where the keys to know are told otherwise, and take no line of their own.
What has been seen is kept in `<data-dir>/cache/hints.json`: to lose it costs a hint. A file that cannot be read or
written is no trouble of the operator's; hints then go with the console.
"""

import json
from contextlib import suppress
from typing import Any, Final

from phelix_core.clock import SystemClock
from phelix_core.errors import AlreadyExists
from phelix_core.files import Folder
from phelix_core.frozen import frozen_in_order

FILE: Final = "hints.json"
_LOCK: Final = ".hints.json.lock"
_LARGEST: Final = 4096


@frozen_in_order
class Hint:
    """A hint: its name in the file, the action that shows it was understood, the binding, and the words."""

    name: str
    action: str
    binding: str
    text: str


HINTS: Final = (
    Hint("act", "act", "room.act", "what can be done with the selected one"),
    Hint("find", "find", "fleet.find", "finds: try is:stale, or a word"),
    Hint("palette", "command_palette", "app.palette", "any session, issue, plan, command"),
)


class Hints:
    """Which hints are still to be shown; asked and told on the screen's side, kept in a file."""

    def __init__(self, data_dir: str) -> None:
        self._folder = Folder(f"{data_dir}/cache", SystemClock())
        self._done = self._load()

    def _load(self) -> set[str]:
        with suppress(Exception):  # whatever stands there
            kept: Any = json.loads(self._folder.read(FILE, _LARGEST))
            return {hint.name for hint in HINTS if hint.name in kept["done"]}
        return set()

    @property
    def left(self) -> tuple[Hint, ...]:
        """Those that nobody has used or put away yet."""
        return tuple(hint for hint in HINTS if hint.name not in self._done)

    def used(self, action: str) -> bool:
        """Note that an action was taken; whether that was news."""
        meant = [hint for hint in self.left if hint.action == action]
        for hint in meant:
            self.done(hint)
        return bool(meant)

    def done(self, hint: Hint) -> None:
        """Show a hint no more."""
        self._done.add(hint.name)
        with suppress(Exception):  # as above: it is shown once more, some day
            self._keep(json.dumps({"done": sorted(self._done)}).encode())

    def _keep(self, data: bytes) -> None:
        try:
            self._folder.create(FILE, data)
        except AlreadyExists:
            with self._folder.locked(FILE, _LOCK) as before:
                self._folder.replace(FILE, data, before)
