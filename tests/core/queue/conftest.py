"""Every test of the queue ends with its journal replayed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.core.queue.desk import Desk
from tests.rig import FixedClock


@pytest.fixture
def desk(data_dir: Path, clock: FixedClock) -> Iterator[Desk]:
    """An empty desk; whatever was done on it, the journal must tell all of it."""
    made = Desk(data_dir, clock)
    yield made
    made.require_replay()
    made.env.queue.close()
