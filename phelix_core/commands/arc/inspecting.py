"""`inspect`: one topic about the project or one application, from records and, for health, a live look."""

from collections.abc import Callable, Mapping
from typing import Annotated, Final

from phelix_core.checks import BY_PLACE, Help, capped, one_of
from phelix_core.commands.arc import findings
from phelix_core.commands.arc.fields import Limit, limit_for
from phelix_core.commands.arc.findings import Look
from phelix_core.commands.arc.topics import Topic
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


@command("inspect", effect=Effect.READ, runs=True)
def inspect(request: Inspect, env: Environment) -> Topic:
    """Look once."""
    look, limit = Look(env), limit_for(request.limit, env.surface)
    name = request.app
    if request.resource in _OF_THE_PROJECT:
        return _OF_THE_PROJECT[request.resource](env, look, name, limit)
    named = findings.require_named(look, request.resource, name)
    if not (request.resource == "deployment" and findings.is_deployment(named)):
        findings.require_application(look, named)
    return _OF_ONE[request.resource](env, look, named, limit)


_OF_THE_PROJECT: Final[Mapping[str, Callable[[Environment, Look, str | None, int | None], Topic]]] = {
    "project": lambda env, look, _, __: findings.project(env, look),
    "runtime": lambda env, _, __, ___: findings.runtime(env),
    "config": lambda env, look, _, __: findings.configuration(env, look),
    "capabilities": lambda _, look, name, __: findings.capabilities(look, name),
    "operations": lambda _, look, name, limit: findings.operations(look, name, limit),
}
_OF_ONE: Final[Mapping[str, Callable[[Environment, Look, str, int | None], Topic]]] = {
    "app": lambda _, look, name, __: findings.application(look, name),
    "deployment": lambda _, look, name, __: findings.deployment(look, name),
    "versions": lambda _, look, name, limit: findings.versions(look, name, limit),
    "health": lambda env, look, name, _: findings.health(env, look, name),
}
