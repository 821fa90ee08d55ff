"""Which memory there is: opening one loads no library, touches no disk and never fails."""

from typing import Final

from phelix_core.clock import SystemClock
from phelix_core.memory.port import Memory, NoMemory
from phelix_core.settings import Settings

FOLDER: Final = "memory"
"""Where a memory lies in the data directory; derived, and may be deleted at any time."""


def open_memory(settings: Settings) -> Memory:
    """The memory that the settings name, within its deadline; `NoMemory` where they name none."""
    chosen = settings.memory
    if chosen is None:
        return NoMemory()
    from phelix_core.memory.bounded import Bounded  # noqa: PLC0415 - most people configure none, and pay for none
    from phelix_core.memory.mem0 import Mem0Memory  # noqa: PLC0415 - the same

    clock = SystemClock()
    folder = f"{settings.data_dir}/{FOLDER}"
    return Bounded(
        Mem0Memory(folder, clock, embedder=chosen.embedder, config=chosen.config), chosen.deadline_seconds, clock
    )
