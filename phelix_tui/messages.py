"""What happened, as messages: facts in the past tense. Workers post them; handlers alone change the screen."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

from phelix_core.queue.board import Board
from phelix_core.views.rows import Found
from phelix_tui.arrangement import Arrangement
from phelix_tui.backlog import Backlog

if TYPE_CHECKING:  # plans are looked at once the first rows are drawn
    from phelix_core.arc.board import ArcBoard


@dataclass(eq=False, repr=False)
class SnapshotLoaded(Message):
    """Every record was looked at; of many, `arrangement` holds them sorted already."""

    known: Mapping[str, Found]
    arrangement: Arrangement | None = None


@dataclass(eq=False, repr=False)
class SnapshotPatched(Message):
    """Some records were looked at again; None means the record is gone."""

    changes: Mapping[str, Found | None]


@dataclass(eq=False, repr=False)
class LookupTookLong(Message):
    """The core has been looking up references for a while."""


@dataclass(eq=False, repr=False)
class LookupFinished(Message):
    """The ids that the core found for each filter it was asked for; empty when something else is wanted by now."""

    answers: Mapping[str, frozenset[str]]


@dataclass(eq=False, repr=False)
class LookupFailed(Message):
    """The references that the filter asks for could not be looked up."""

    code: str
    reason: str


@dataclass(eq=False, repr=False)
class SnapshotFailed(Message):
    """The records could not be looked at; what is shown is old."""

    code: str
    reason: str


@dataclass(eq=False, repr=False)
class BoardLoaded(Message):
    """The queue was looked at: all of it, or what changed; of many issues, `backlog` holds them sorted already."""

    board: Board
    backlog: Backlog | None = None


@dataclass(eq=False, repr=False)
class BoardFailed(Message):
    """The queue could not be looked at; what is shown of it is old."""

    code: str
    reason: str


@dataclass(eq=False, repr=False)
class QueueGone(Message):
    """There is no queue here."""


@dataclass(eq=False, repr=False)
class PlansLoaded(Message):
    """Plans, approvals and operations were looked at."""

    board: "ArcBoard"


@dataclass(eq=False, repr=False)
class PlansFailed(Message):
    """They could not be looked at; what is shown of them is old."""

    code: str
    reason: str


@dataclass(eq=False, repr=False)
class PlanWanted(Message):
    """An operator asked for a plan's room; `kind` says whose id `subject` is: a plan, an operation, a deployment."""

    kind: str
    subject: str


@dataclass(eq=False, repr=False)
class ReferencesWanted(Message):
    """An operator asked for what a session refers to."""

    session_id: str


@dataclass(eq=False, repr=False)
class IssueWanted(Message):
    """An operator asked for an issue's room."""

    issue_id: str


@dataclass(eq=False, repr=False)
class SessionWanted(Message):
    """An operator asked for a session's room."""

    session_id: str
