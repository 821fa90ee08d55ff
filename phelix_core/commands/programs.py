"""Programs that the command line starts: their options are declared like any other command's."""

from typing import Annotated, Final

from phelix_core.checks import BY_PLACE, Help, Surface, capped, one_of
from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import Effect, command
from phelix_core.frozen import frozen

SHELLS: Final = ("bash", "zsh", "fish")
_CLI_ONLY: Final = frozenset({Surface.CLI})  # a program is started from a shell


@frozen
class OpenConsole:
    """Open the console: watch the fleet live, read a session's story, act behind confirmations."""

    read_only: Annotated[bool, Help("Refuse every change, in the core")] = False
    demo: Annotated[bool, Help("Open a seeded fleet that moves, in a temporary folder")] = False
    plain: Annotated[bool, Help("Tell it line by line, for screen readers, pipes and logs")] = False
    theme: Annotated[str | None, capped(128), Help("Theme to start with")] = None
    screenshot: Annotated[str | None, capped(4096), Help("Draw the first screen into this SVG file and leave")] = None


@frozen
class PrintCompletion:
    """Print the completion script of a shell."""

    shell: Annotated[str, BY_PLACE, one_of(*SHELLS), Help("bash, zsh or fish")]


@frozen
class ServeSessions:
    """Serve the session tools to an agent's host, as an MCP server on standard input and output."""

    read_only: Annotated[bool, Help("Refuse every change, in the core")] = False


@frozen
class ServeLifecycle:
    """Serve the lifecycle's tools to an agent's host, as an MCP server on standard input and output."""

    read_only: Annotated[bool, Help("Refuse every change, in the core")] = False


@command("tui", effect=Effect.PROGRAM, surfaces=_CLI_ONLY)
def tui(request: OpenConsole, env: Environment) -> None:
    """Started by the command line."""


@command("completion", effect=Effect.PROGRAM, surfaces=_CLI_ONLY)
def completion(request: PrintCompletion, env: Environment) -> None:
    """Started by the command line."""


@command(
    "mcp serve",
    effect=Effect.PROGRAM,
    surfaces=_CLI_ONLY,
    caution="`phelix mcp config` prints what a host needs to start it.",
)
def mcp_serve(request: ServeSessions, env: Environment) -> None:
    """Started by the command line."""


@command(
    "mcp lifecycle",
    effect=Effect.PROGRAM,
    surfaces=_CLI_ONLY,
    caution="`phelix mcp config --server lifecycle` prints what a host needs to start it.",
)
def mcp_lifecycle(request: ServeLifecycle, env: Environment) -> None:
    """Started by the command line."""
