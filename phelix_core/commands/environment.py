"""What a command works with: stores, clock, ids, settings and the surface; built once a process.

The actor comes from the surface and nowhere else, so that no request can name one. Source: sessions page,
Record (actor); architecture page, one declaration.
"""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from phelix_core.checks import Surface
from phelix_core.clock import Clock, SystemClock
from phelix_core.frozen import frozen
from phelix_core.sessions.listing import Progress
from phelix_core.sessions.model import Actor
from phelix_core.sessions.store import SessionStore
from phelix_core.sessions.transitions import Stamp
from phelix_core.settings import QUEUE_FILE, Settings

if TYPE_CHECKING:
    from phelix_core.arc.store import ArcStore
    from phelix_core.memory.port import Memory
    from phelix_core.queue.sqlite import SqliteQueue
    from phelix_core.saved_views.store import SavedViewStore
    from phelix_core.sessions.references import ReferenceSource


_Kept = TypeVar("_Kept")


def never() -> bool:
    """What is asked for, and does not happen."""
    return False


@frozen
class Environment:
    """Everything from outside that a command may touch."""

    settings: Settings
    surface: Surface
    clock: Clock
    mint: Callable[[], str]
    sessions: SessionStore
    progress: Progress | None = None
    kept: dict[str, Any] | None = None
    delivers: bool = False
    """Whether the process lives long enough to hand the memory what waits for it."""
    interrupted: Callable[[], bool] = never
    """Whether this process was told to end: what it executes is then ended, and recorded as cancelled."""
    narrate: Callable[[str], None] | None = None
    """Who is told each line of what is executed, while it is."""

    def once(self, name: str, make: Callable[[], _Kept]) -> _Kept:
        """What this environment keeps under a name, made at the first question."""
        kept = {} if self.kept is None else self.kept
        if name not in kept:
            kept[name] = make()
        return kept[name]

    @property
    def queue(self) -> "SqliteQueue":
        """The queue: one connection a process, opened at the first question."""
        from phelix_core.queue.sqlite import SqliteQueue  # noqa: PLC0415 - see `arc`

        def opened() -> SqliteQueue:
            path = self.settings.queue or f"{self.settings.data_dir}/{QUEUE_FILE}"
            return SqliteQueue(path, self.clock, own_folder=os.path.dirname(path) == self.settings.data_dir)

        return self.once("queue", opened)

    @property
    def memory(self) -> "Memory":
        """The memory that is configured, within its deadline; made at the first question."""
        from phelix_core.memory.opening import open_memory  # noqa: PLC0415 - see `arc`

        return self.once("memory", lambda: open_memory(self.settings))

    @property
    def arc(self) -> "ArcStore":
        """Plans and all that becomes of them; most calls look at none, so their code is read at the first look."""
        from phelix_core.arc.store import ArcStore  # noqa: PLC0415 - see above

        return ArcStore(self.settings.data_dir, self.clock)

    @property
    def references(self) -> "ReferenceSource":
        """Plans, operations and deployments as a session's references see them."""
        from phelix_core.arc.records import ArcRecords  # noqa: PLC0415 - see `arc`
        from phelix_core.commands.arc_references import ArcReferences  # noqa: PLC0415 - see `arc`

        return ArcReferences(ArcRecords(self.settings.data_dir, self.clock))

    @property
    def saved_views(self) -> "SavedViewStore":
        """Filters kept under a name."""
        from phelix_core.saved_views.store import SavedViewStore  # noqa: PLC0415 - see `arc`

        return SavedViewStore(f"{self.settings.data_dir}/views", self.clock)

    @property
    def actor(self) -> Actor:
        """Provenance of what this process creates: the console counts as the command line's."""
        kind = "mcp" if self.surface is Surface.MCP else "cli"
        return Actor(type=kind, id=None, authenticated=False)

    def stamp(self) -> Stamp:
        """Now, through this surface."""
        return Stamp(at_ms=self.clock.now_ms(), via=self.surface.value)


def random_hex() -> str:
    """Sixteen fresh lowercase hex digits."""
    return os.urandom(8).hex()


def open_environment(
    settings: Settings,
    surface: Surface,
    *,
    clock: Clock | None = None,
    mint: Callable[[], str] = random_hex,
    progress: Progress | None = None,
    delivers: bool = False,
    interrupted: Callable[[], bool] = never,
    narrate: Callable[[str], None] | None = None,
) -> Environment:
    """Wire the stores of one data directory; touches no file."""
    clock = clock or SystemClock()
    return Environment(
        settings=settings,
        surface=surface,
        clock=clock,
        mint=mint,
        sessions=SessionStore(f"{settings.data_dir}/sessions", clock, f"{settings.data_dir}/cache"),
        progress=progress,
        kept={},
        delivers=delivers,
        interrupted=interrupted,
        narrate=narrate,
    )
