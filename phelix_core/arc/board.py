"""The arc as a live view keeps it: plans with where they stand, operations of their own, and files that are none."""

from phelix_core.arc.operations import Operation
from phelix_core.arc.standing import PolicyTold, Standing
from phelix_core.frozen import frozen


@frozen
class BoardOperation:
    """An operation that no plan on the board tells of, with the status to tell."""

    operation: Operation
    status: str


@frozen
class BadFile:
    """A file that stands where a record should, and is none: its name, and the code that says why."""

    folder: str
    file: str
    code: str

    @property
    def id(self) -> str:
        """The record that would be there."""
        return self.file.removesuffix(".json")


Seen = Standing | BoardOperation | BadFile
"""What a look at one record gave."""


@frozen
class ArcBoard:
    """What there was at one look; `left_out` counts the older plans that have ended and are not here."""

    plans: tuple[Standing, ...]
    operations: tuple[BoardOperation, ...]
    bad: tuple[BadFile, ...]
    policy: PolicyTold
    left_out: int = 0
