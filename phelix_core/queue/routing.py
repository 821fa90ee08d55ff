"""May this host take this issue, and why not. Pure.

The workload class must be among the host's, every required capability too; an issue without a class goes to
any host. A route is kept as one text, so that a claim looks only at what its host may take. Source: queue
page, Actions (host routing).
"""

import json
from typing import Final, cast

from phelix_core.frozen import frozen

ANY_HOST: Final = ""
"""The route of an issue that asks for no class."""


@frozen
class Route:
    """What an issue asks of its host."""

    workload_class: str | None
    capabilities: tuple[str, ...]

    @property
    def text(self) -> str:
        """The one text for it."""
        if self.workload_class is None:
            return ANY_HOST
        return json.dumps([self.workload_class, *sorted(self.capabilities)], ensure_ascii=False)


@frozen
class Host:
    """A host as the caller names it."""

    name: str
    workload_classes: frozenset[str]
    capabilities: frozenset[str]


@frozen
class Fit:
    """Whether a host may take a route, and what it misses."""

    eligible: bool
    required_class: str | None
    required: tuple[str, ...]
    missing_class: bool
    missing: tuple[str, ...]

    @property
    def told(self) -> str:
        """What is missing, for a person."""
        parts = [f'workload class "{self.required_class}"'] if self.missing_class else []
        parts += [f'capability "{name}"' for name in self.missing]
        return "needs " + ", ".join(parts) if parts else "fits"


def route_from(text: str) -> Route:
    """The route that a row holds; a damaged one fits no host that exists."""
    if text == ANY_HOST:
        return Route(workload_class=None, capabilities=())
    try:
        words = json.loads(text)
    except ValueError:
        words = None
    if not isinstance(words, list) or not words or not all(isinstance(w, str) for w in cast("list[object]", words)):
        return Route(workload_class=text, capabilities=())
    first, *rest = cast("list[str]", words)
    return Route(workload_class=first, capabilities=tuple(rest))


def fit(route: Route, host: Host) -> Fit:
    """Whether `host` may take `route`."""
    missing_class = route.workload_class is not None and route.workload_class not in host.workload_classes
    missing = tuple(need for need in route.capabilities if need not in host.capabilities)
    return Fit(
        eligible=not missing_class and not missing,
        required_class=route.workload_class,
        required=route.capabilities,
        missing_class=missing_class,
        missing=missing,
    )
