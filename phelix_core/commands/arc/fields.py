"""Fields and limits that several of these commands share."""

from typing import Annotated, Final

from phelix_core.arc.applications import APPLICATION_NAME
from phelix_core.arc.model import PLAN_NAME
from phelix_core.arc.operations import OPERATION_NAME
from phelix_core.checks import BY_PLACE, NATURAL, Help, Surface
from phelix_core.errors import InvalidArgument

NOT_OVER_MCP: Final = frozenset({Surface.CLI, Surface.TUI})
"""Who approves, revokes and cancels: never a program that asks over MCP."""

DEFAULT_LIMIT: Final = 20
MCP_CAP: Final = 100

PlanId = Annotated[str, PLAN_NAME, BY_PLACE, Help("The plan")]
OperationId = Annotated[str, OPERATION_NAME, BY_PLACE, Help("The operation")]
ApplicationName = Annotated[str, APPLICATION_NAME, BY_PLACE, Help("The application")]
OnlyApplication = Annotated[str | None, APPLICATION_NAME, Help("Only those of this application")]
Limit = Annotated[int | None, NATURAL, Help("At most so many, the newest first: 20 without it, 0 for all")]


def limit_for(asked: int | None, surface: Surface) -> int | None:
    """How many rows may be answered; None for all. Over MCP 0 is the default, and more than its cap is refused."""
    if surface is Surface.MCP:
        if asked is not None and asked > MCP_CAP:
            raise InvalidArgument(f"limit: expected at most {MCP_CAP}.", details={"fields": {"limit": "too many"}})
        return asked or DEFAULT_LIMIT
    return DEFAULT_LIMIT if asked is None else asked or None
