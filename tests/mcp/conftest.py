"""Real server processes on real pipes, gone when the test is."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.mcp.host import Gate, Host, serve_argv, stage_argv


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Host]:
    """A host of the server whose tools wait at gates, after the handshake."""
    with Host(stage_argv(tmp_path), tmp_path) as host:
        host.greet()
        yield host


@pytest.fixture
def gate(tmp_path: Path) -> Callable[[str], Gate]:
    """`gate(name)` makes a gate that a tool of the stage can be told to wait at."""
    return lambda name: Gate(tmp_path, name)


@pytest.fixture
def sessions(tmp_path: Path, data_dir: Path) -> Iterator[Host]:
    """A host of the session server over `data_dir`, after the handshake."""
    with Host(serve_argv(data_dir), tmp_path) as host:
        host.greet()
        yield host
