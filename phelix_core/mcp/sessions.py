"""`phelix mcp serve`: six session tools, and seven that plan, execute and look.

A session can be closed here as completed or failed; to cancel one, and to guard a change by a revision, is for people.
So is to approve a plan, to revoke that, and to cancel an operation: no tool of these names exists. Source: surfaces
page, MCP; arc page, approval.
"""

import threading
from collections.abc import Callable
from typing import Any, Final

from phelix_core.checks import Surface
from phelix_core.commands.environment import never, open_environment
from phelix_core.commands.programs import ServeSessions
from phelix_core.mcp.serving import serve
from phelix_core.mcp.tools import Tool, command_tool
from phelix_core.settings import Settings

_INSTRUCTIONS: Final = (
    "Record what you are doing in a durable session, so that it can be followed and taken up again after a restart: "
    "create one when work begins, checkpoint it after each step with the ids of plans, operations and deployments, "
    "and complete or fail it at the end. After a restart, list active sessions and show the one that is yours. "
    "A session grants nothing and executes nothing. Keep secrets out of it. To change an application, make a plan, "
    "apply it, and look at its operation. A plan may wait for the approval of a person, which no tool gives: where the "
    "answer is APPROVAL_REQUIRED or AUTHZ_DENIED, say so and wait. A plan is executed once: applying it again answers "
    "the same. After a restart, show the session, its plans and operations, and inspect the application, before "
    "anything is done again; an operation that is indeterminate may have succeeded. Where a call was cancelled or its "
    "answer was lost, show the session before you repeat it: a write that had begun was carried to its end."
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


def tools(
    settings: Settings, interrupted: Callable[[], bool] = never, hurried: Callable[[], bool] = never
) -> list[Tool]:
    """All thirteen tools over one data directory.

    `interrupted` tells what executes that it is to end, `hurried` what runs something in order to look.
    """
    return [*session_tools(settings), *arc_tools(settings, interrupted, hurried)]


def arc_tools(
    settings: Settings, interrupted: Callable[[], bool] = never, hurried: Callable[[], bool] = never
) -> list[Tool]:
    """The tools about plans, operations and applications: one of them executes."""
    writes = open_environment(settings, Surface.MCP, interrupted=interrupted)
    reads = open_environment(settings, Surface.MCP, interrupted=lambda: interrupted() or hurried())
    return [
        command_tool("context", reads, title="Show the whole situation", advice="Start here."),
        command_tool("inspect", reads, title="Inspect one thing", described={"limit": _LIMIT}),
        command_tool(
            "plan create",
            writes,
            title="Make a plan",
            advice="The answer says under `authorization` whether it needs an approval.",
        ),
        command_tool("plan show", reads, title="Show a plan"),
        command_tool("plan list", reads, title="List plans", described={"limit": _LIMIT}),
        command_tool(
            "plan apply",
            writes,
            title="Execute a plan",
            advice="It may take as long as the application's time limit; if the answer is lost, show the plan.",
            destructive=True,
            idempotent=True,
        ),
        command_tool("operation status", reads, title="Show an operation"),
    ]


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
    ending, reads_end = threading.Event(), threading.Event()
    return serve(
        tools(settings, ending.is_set, reads_end.is_set),
        name="phelix",
        title="Phelix sessions and plans",
        instructions=_INSTRUCTIONS,
        interrupt=ending.set,
        hurry=reads_end.set,
    )
