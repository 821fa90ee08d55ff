"""What a command works with: stores, clock, ids, settings and the surface; built once a process.

The actor comes from the surface and nowhere else, so that no request can name one. Source: sessions page,
Record (actor); architecture page, one declaration.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from phelix_core.arc.store import ArcStore
from phelix_core.checks import Surface
from phelix_core.clock import Clock, SystemClock
from phelix_core.sessions.model import Actor
from phelix_core.sessions.references import Fact
from phelix_core.sessions.store import SessionStore
from phelix_core.sessions.transitions import Stamp
from phelix_core.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Everything from outside that a command may touch."""

    settings: Settings
    surface: Surface
    clock: Clock
    mint: Callable[[], str]
    sessions: SessionStore
    arc: ArcStore

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
    settings: Settings, surface: Surface, *, clock: Clock | None = None, mint: Callable[[], str] = random_hex
) -> Environment:
    """Wire the stores of one data directory; touches no file."""
    clock = clock or SystemClock()
    return Environment(
        settings=settings,
        surface=surface,
        clock=clock,
        mint=mint,
        sessions=SessionStore(f"{settings.data_dir}/sessions", clock),
        arc=ArcStore(settings.data_dir, clock),
    )


class ArcReferences:
    """The arc's records as the facts that a session's references resolve to."""

    def __init__(self, arc: ArcStore) -> None:
        self._arc = arc

    def plan(self, plan_id: str) -> Fact:
        """A plan's stored status and its hash."""
        plan = self._arc.plan(plan_id)
        return Fact(plan.status, plan.plan_hash)

    def operation(self, operation_id: str) -> Fact:
        """An operation's derived status and its kind."""
        operation = self._arc.operation(operation_id)
        return Fact(self._arc.status_of(operation), operation.kind)

    def deployments(self, wanted: frozenset[str]) -> Mapping[str, Fact]:
        """The status of the newest operation that names each deployment."""
        return {
            deployment: Fact(self._arc.status_of(operation), f"operation {operation.operation_id}")
            for deployment, operation in self._arc.correlated(wanted).items()
        }
