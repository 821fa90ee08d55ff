"""`phelix mcp serve`: the session tools, six and no more.

A session can be closed here as completed or failed; to cancel one, and to guard a change by a revision, is for people.
"""

from typing import Any, Final

from phelix_core.checks import Surface
from phelix_core.commands.environment import open_environment
from phelix_core.commands.programs import ServeSessions
from phelix_core.mcp.serving import serve
from phelix_core.mcp.tools import Tool, command_tool
from phelix_core.settings import Settings

_INSTRUCTIONS: Final = (
    "Record what you are doing in a durable session, so that it can be followed and taken up again after a restart: "
    "create one when work begins, checkpoint it after each step with the ids of plans, operations and deployments, "
    "and complete or fail it at the end. After a restart, list active sessions and show the one that is yours. "
    "A session grants nothing and executes nothing. Keep secrets out of it. Where a call was cancelled or its answer "
    "was lost, show the session before you repeat it: a write that had begun was carried to its end."
)
_LIMIT: Final[dict[str, Any]] = {
    "description": "At most so many rows: 20 without it or with 0, 100 at the most",
    "anyOf": [{"type": "integer", "minimum": 0, "maximum": 100}, {"type": "null"}],
}
_LINKED: Final = {
    "plans": {"description": "Ids of plans to link"},
    "operations": {"description": "Ids of operations to link"},
    "deployments": {"description": "Ids of deployments to link"},
}


def session_tools(settings: Settings) -> list[Tool]:
    """The six tools over one data directory; reads and writes share no store, for they run in threads."""
    reads, writes = (open_environment(settings, Surface.MCP) for _ in range(2))
    return [
        command_tool("session create", writes, title="Open a session"),
        command_tool(
            "session show", reads, title="Show a session", described={"session_id": {"description": "Session to show"}}
        ),
        command_tool("session list", reads, title="List sessions", described={"limit": _LIMIT}),
        command_tool(
            "session checkpoint",
            writes,
            title="Record a checkpoint",
            advice="At least one of step, note and an id to link is needed.",
            described=_LINKED,
        ),
        command_tool("session complete", writes, title="Close a session as completed", described=_LINKED),
        command_tool("session fail", writes, title="Close a session as failed", described=_LINKED),
    ]


def main(request: ServeSessions, settings: Settings) -> int:  # noqa: ARG001 - every program takes both
    """Serve until the host leaves; answers the exit status."""
    return serve(session_tools(settings), name="phelix", title="Phelix sessions", instructions=_INSTRUCTIONS)
