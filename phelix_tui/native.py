"""The system's own events for folders, through watchfiles, with a wait that is longer while nothing happens.

watchfiles looks at what the system has told it once a step, and each step wakes a processor: a hundred a second cost
more of an idle core than all the rest of a console. So the step is short only while changes come. The first one after
a while of silence is told some 20 ms later than those that follow it. Source: speed page, console rows.
"""

import threading
from collections.abc import AsyncGenerator, Callable
from typing import Final

from watchfiles import Change
from watchfiles._rust_notify import RustNotify  # its documented lower floor: `awatch` takes one step for good

from phelix_tui.waiting import OwnThread

DEBOUNCE_MS: Final = 50
"""The longest that changes are gathered for."""
STEP_MS: Final = 10
CALM_STEP_MS: Final = 30
CALM_AFTER_MS: Final = 5_000


async def native_changes(
    *folders: str, watch_filter: Callable[[Change, str], bool]
) -> AsyncGenerator[set[tuple[Change, str]]]:
    """Sets of what changed in these folders, not below them.

    Raises what watchfiles raises, at the first step: FileNotFoundError, OSError where the system has no more watches.
    """
    stop = threading.Event()
    with (
        RustNotify(list(folders), False, False, 0, False, True) as watcher,  # noqa: FBT003 - it takes no names
        OwnThread("phelix-watch", stop.set) as thread,
    ):
        step = STEP_MS
        while True:
            found = await thread.run(lambda step=step: watcher.watch(DEBOUNCE_MS, step, CALM_AFTER_MS, stop))
            step = CALM_STEP_MS if found == "timeout" else STEP_MS
            if isinstance(found, str):
                continue
            changes = {(Change(kind), path) for kind, path in found}
            if wanted := {change for change in changes if watch_filter(*change)}:
                yield wanted
