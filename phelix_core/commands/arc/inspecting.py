"""`inspect`: one topic about the project or one application, from records and, for health, a live look."""

from collections.abc import Callable, Mapping
from typing import Annotated, Final

from phelix_core.checks import BY_PLACE, Help, capped, one_of
from phelix_core.commands.arc import findings
from phelix_core.commands.arc.fields import Limit, limit_for
from phelix_core.commands.arc.findings import Topic
from phelix_core.commands.arc.reading import ArcReading
from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import Effect, command
from phelix_core.frozen import frozen

_NAME_CAP: Final = 128
RESOURCES: Final = (
    *("project", "runtime", "config", "capabilities", "operations"),
    *("app", "deployment", "versions", "health"),
)


@frozen
class Inspect:
    """Look at one thing: the project, what runs here, settings, what applications can do, or one application."""

    resource: Annotated[str, one_of(*RESOURCES), BY_PLACE, Help("What to look at")]
    app: Annotated[
        str | None, capped(_NAME_CAP), BY_PLACE, Help("The application; for deployment also the id of one")
    ] = None
    limit: Limit = None


@command("inspect", effect=Effect.READ)
def inspect(request: Inspect, env: Environment) -> Topic:
    """Look once."""
    reading, limit = ArcReading(env), limit_for(request.limit, env.surface)
    name = request.app
    if request.resource in _OF_THE_PROJECT:
        return _OF_THE_PROJECT[request.resource](env, reading, name, limit)
    named = findings.require_named(reading, request.resource, name)
    if not (request.resource == "deployment" and findings.is_deployment(named)):
        findings.require_application(reading, named)
    return _OF_ONE[request.resource](env, reading, named, limit)


_OF_THE_PROJECT: Final[Mapping[str, Callable[[Environment, ArcReading, str | None, int | None], Topic]]] = {
    "project": lambda env, reading, _, __: findings.project(env, reading),
    "runtime": lambda env, _, __, ___: findings.runtime(env),
    "config": lambda env, reading, _, __: findings.configuration(env, reading),
    "capabilities": lambda _, reading, name, __: findings.capabilities(reading, name),
    "operations": lambda _, reading, name, limit: findings.operations(reading, name, limit),
}
_OF_ONE: Final[Mapping[str, Callable[[Environment, ArcReading, str, int | None], Topic]]] = {
    "app": lambda _, reading, name, __: findings.application(reading, name),
    "deployment": lambda _, reading, name, __: findings.deployment(reading, name),
    "versions": lambda _, reading, name, limit: findings.versions(reading, name, limit),
    "health": lambda env, reading, name, _: findings.health(env, reading, name),
}
