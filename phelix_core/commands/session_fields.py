"""Fields and surfaces that several session commands share."""

from typing import Annotated, Final

from phelix_core.checks import BY_PLACE, Help, Only, Surface
from phelix_core.sessions.model import SESSION_ID

TERMINAL_AND_CONSOLE: Final = Only(Surface.CLI, Surface.TUI)
NOT_OVER_MCP: Final = frozenset({Surface.CLI, Surface.TUI})

SessionId = Annotated[str, SESSION_ID, BY_PLACE, Help("Session to work on")]
