"""`context`: everything an agent or a person needs to go on, in one answer, from one pass over the records."""

from typing import Annotated, Final

from phelix_core.arc.applications import APPLICATION_NAME
from phelix_core.checks import BY_PLACE, Help, at_least
from phelix_core.commands.arc import findings
from phelix_core.commands.arc.answers import OperationList
from phelix_core.commands.arc.findings import Look
from phelix_core.commands.arc.topics import (
    ApplicationShown,
    Capabilities,
    Configuration,
    Deployment,
    HealthSeen,
    Project,
    Runtime,
    Versions,
)
from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import Effect, command
from phelix_core.frozen import frozen

_MOST: Final = 100
_DEFAULT: Final = 20
_MOST_LINES: Final = 1_000
_DEFAULT_LINES: Final = 100


@frozen
class ShowContext:
    """Show the whole situation at once: the project, and of one application its versions, deployment and health."""

    app: Annotated[str | None, APPLICATION_NAME, BY_PLACE, Help("The application to look at, live")] = None
    versions: Annotated[int, at_least(1, _MOST), Help("At most so many versions, the last declared")] = _DEFAULT
    operations: Annotated[int, at_least(1, _MOST), Help("At most so many operations, the newest")] = _DEFAULT
    log_lines: Annotated[int, at_least(0, _MOST_LINES), Help("So many last lines of its newest log")] = _DEFAULT_LINES


@frozen
class LogTold:
    """The end of the log of an application's newest operation."""

    operation_id: str
    lines: tuple[str, ...]


@frozen
class Situation:
    """What there is; `truncated` says that versions or operations are more than are shown."""

    project: Project
    runtime: Runtime
    config: Configuration
    application: ApplicationShown | None = None
    deployment: Deployment | None = None
    versions: Versions | None = None
    health: HealthSeen | None = None
    capabilities: Capabilities
    operations: OperationList
    logs: LogTold | None = None
    truncated: bool


@command("context", effect=Effect.READ, runs=True)
def show_context(request: ShowContext, env: Environment) -> Situation:
    """Read every kind of record once; look at the application's health, if one is named."""
    look, name = Look(env), request.app
    project = findings.project(env, look)
    listed = findings.operations(look, name, request.operations)
    if name is None:
        return Situation(
            project=project,
            runtime=findings.runtime(env),
            config=findings.configuration(env, look),
            capabilities=findings.capabilities(look, None),
            operations=listed,
            truncated=listed.truncated,
        )
    versions = findings.versions(look, name, request.versions)
    return Situation(
        project=project,
        runtime=findings.runtime(env),
        config=findings.configuration(env, look),
        application=findings.application(look, name),
        deployment=findings.deployment(look, name),
        versions=versions,
        health=findings.health(env, look, name),
        capabilities=findings.capabilities(look, name),
        operations=listed,
        logs=_log(look, listed, request.log_lines),
        truncated=listed.truncated or versions.truncated,
    )


def _log(look: Look, listed: OperationList, lines: int) -> LogTold | None:
    if not (lines and listed.operations):
        return None
    newest = listed.operations[0].operation.id
    return LogTold(operation_id=newest, lines=look.store.log_tail(newest, lines))
