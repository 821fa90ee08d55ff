"""The port to a memory: what is asked of it, what it is given, and the one that is always there. Pure.

A memory is derived and may go at any time: whoever asks it must do without an answer. Source: queue page, Memory.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, Protocol

from phelix_core.frozen import frozen

NOT_CONFIGURED: Final = "no memory is configured"

_NO_MEMBERS: Final[Mapping[str, str]] = MappingProxyType({})


@frozen
class MemoryScope:
    """What a memory belongs to, by ids of the queue; a write carries `run`, a read never does."""

    workspace: str
    project: str
    campaign: str | None = None
    task: str | None = None
    run: str | None = None


@frozen
class Keepsake:
    """One text to remember. `key` is unique: given again after a lost answer, it is still one memory."""

    key: str
    kind: str
    text: str
    scope: MemoryScope
    checkpoint_id: str
    artifact_ids: tuple[str, ...] = ()
    note: str = ""
    metadata: Mapping[str, str] = _NO_MEMBERS


@frozen
class Recalled:
    """Something remembered; `score` is the memory's own, larger is nearer."""

    ref: str
    text: str
    score: float | None = None


class MemoryUnavailable(Exception):
    """The memory did not do what it was asked; the message says why, for people and for the journal."""


class Memory(Protocol):
    """A memory. Each call may take long and may fail with `MemoryUnavailable`, and with nothing else."""

    def recall(self, query: str, scope: MemoryScope, limit: int) -> Sequence[Recalled]:
        """The memories of `scope` nearest to `query`, the nearest first."""
        ...

    def remember(self, keepsake: Keepsake) -> str:
        """Keep a text; answers the memory's reference to it."""
        ...


class NoMemory:
    """The memory of those who configured none."""

    def recall(self, query: str, scope: MemoryScope, limit: int) -> Sequence[Recalled]:
        """Nothing is remembered."""
        del query, scope, limit
        raise MemoryUnavailable(NOT_CONFIGURED)

    def remember(self, keepsake: Keepsake) -> str:
        """Nothing is kept."""
        del keepsake
        raise MemoryUnavailable(NOT_CONFIGURED)
