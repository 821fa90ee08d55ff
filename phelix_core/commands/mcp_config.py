"""`mcp config`: what the common agent hosts need to know to start a server of this installation.

The snippet names this interpreter's own program by its absolute path, since hosts start servers with a path of their
own, and the data directory and queue in force here where they are not the default. It is ASCII, so that no name of a
folder reaches a terminal as a command.
"""

import json
import os
import sys
from collections.abc import Callable
from typing import Annotated, Final

from phelix_core.checks import Help, Surface, one_of
from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import Effect, command
from phelix_core.errors import InvalidArgument
from phelix_core.frozen import frozen
from phelix_core.settings import QUEUE_FILE, Settings

_DEFAULT_FOLDER: Final = "~/.phelix"
_WITHOUT_A_SCRIPT: Final = "import sys; from phelix_core.cli import start; sys.exit(start())"
_BEYOND_ASCII: Final = 0x7F
_FOUR_DIGITS: Final = 0xFFFF


@frozen
class HostSnippet:
    """What one host takes, and where it belongs."""

    host: str
    server: str
    place: str
    format: str
    snippet: str
    command: tuple[str, ...]


def _under(member: str) -> Callable[[str, str, list[str]], str]:
    """JSON with the server under `member`, as most hosts take it."""

    def written(name: str, program: str, args: list[str]) -> str:
        return json.dumps({member: {name: {"type": "stdio", "command": program, "args": args}}}, indent=2)

    return written


def _toml(name: str, program: str, args: list[str]) -> str:
    listed = ", ".join(map(_quoted, args))
    return f"[mcp_servers.{name}]\ncommand = {_quoted(program)}\nargs = [{listed}]"


def _quoted(text: str) -> str:
    """A basic string of TOML, which takes JSON's escapes but no pair of surrogates."""
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    code = ord(char)
    if char.isprintable() and code < _BEYOND_ASCII:
        return char
    return f"\\u{code:04x}" if code <= _FOUR_DIGITS else f"\\U{code:08x}"


HOSTS: Final = {
    "claude-code": (".mcp.json in the project", "json", _under("mcpServers")),
    "codex": ("~/.codex/config.toml", "toml", _toml),
    "vscode": (".vscode/mcp.json in the workspace", "json", _under("servers")),
    "cursor": (".cursor/mcp.json in the project, or ~/.cursor/mcp.json", "json", _under("mcpServers")),
}
"""For each host the file that its snippet belongs in, the file's format, and what writes the snippet."""
_NAMES: Final = {"serve": "phelix", "lifecycle": "phelix-lifecycle"}


@frozen
class ConfigureHost:
    """Print what an agent's host takes to start one of the MCP servers.

    It belongs in .mcp.json (claude-code), ~/.codex/config.toml (codex), .vscode/mcp.json (vscode) or .cursor/mcp.json
    (cursor).
    """

    host: Annotated[str, one_of(*HOSTS), Help("claude-code, which is the default, codex, vscode or cursor")] = (
        "claude-code"
    )
    server: Annotated[str, one_of(*_NAMES), Help("serve, for session tools, or lifecycle, for queue tools")] = "serve"


@command("mcp config", effect=Effect.READ, surfaces=frozenset({Surface.CLI}))
def mcp_config(request: ConfigureHost, env: Environment) -> HostSnippet:
    """Write the snippet of one host."""
    words = [*_program(), "mcp", request.server, *_options(env.settings)]
    try:
        "".join(words).encode()
    except UnicodeEncodeError:
        raise InvalidArgument("A path is not UTF-8, and no host's file can hold it.") from None
    place, kind, written = HOSTS[request.host]
    return HostSnippet(
        host=request.host,
        server=request.server,
        place=place,
        format=kind,
        snippet=written(_NAMES[request.server], words[0], words[1:]) + "\n",
        command=tuple(words),
    )


def _program() -> list[str]:
    """The words that start this installation's `phelix` from anywhere."""
    script = os.path.join(os.path.dirname(os.path.abspath(sys.executable)), "phelix")
    if os.access(script, os.X_OK):
        return [script]
    return [os.path.abspath(sys.executable), "-c", _WITHOUT_A_SCRIPT]


def _options(settings: Settings) -> list[str]:
    """The data directory and the queue where a server would not find them by itself."""
    folder = [] if settings.data_dir == os.path.expanduser(_DEFAULT_FOLDER) else ["--data-dir", settings.data_dir]
    queue = [] if settings.queue in ("", f"{settings.data_dir}/{QUEUE_FILE}") else ["--queue", settings.queue]
    return [*folder, *queue]
