"""What happened, as messages: facts in the past tense. Workers post them; handlers alone change the screen."""

from collections.abc import Mapping
from dataclasses import dataclass

from textual.message import Message

from phelix_core.views.rows import Found


@dataclass
class SnapshotLoaded(Message):
    """Every record was looked at."""

    known: Mapping[str, Found]


@dataclass
class SnapshotPatched(Message):
    """Some records were looked at again; None means the record is gone."""

    changes: Mapping[str, Found | None]


@dataclass
class SnapshotFailed(Message):
    """The records could not be looked at; what is shown is old."""

    code: str
    reason: str
