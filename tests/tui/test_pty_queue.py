"""The queue on a real terminal, by the machine's own clocks: what runs out with nobody writing, and full lines."""

import json
import time
from pathlib import Path

import pytest

from tests.rig import Phelix
from tests.tui.pty_terminal import PtyTerminal
from tests.tui.queues import BATCH
from tests.tui.terminals import console

TTL_S = 4
LATE_S = 1.0
"""What the console promises: a finding shows within a second of its moment."""
SLACK_S = 1.0
"""What a busy machine needs besides."""


@pytest.fixture
def phelix(tmp_path: Path) -> Phelix:
    phelix = Phelix(tmp_path / "data", tmp_path)
    assert phelix("queue", "init", "northwind").code == 0
    assert phelix("queue", "campaign", "billing", "v3").code == 0
    assert phelix("queue", "plan", "-", stdin=json.dumps(BATCH).encode()).code == 0
    return phelix


def in_queue(terminal: PtyTerminal) -> None:
    """Wait for the console, and go to the queue."""
    terminal.wait_for("watch ", 20)
    terminal.send("3")
    terminal.wait_for("13 issues", 10)


def test_a_lease_that_runs_out_shows_within_a_second_with_no_file_changing(phelix: Phelix) -> None:
    with console(phelix.data_dir, cols=100, rows=30) as terminal:
        in_queue(terminal)
        before = time.monotonic()
        claimed = phelix("queue", "claim", "--agent", "a", "--host", "h", "--workload-class", "c", "--ttl", str(TTL_S))
        assert claimed.code == 0, claimed
        claimed_at = time.monotonic()
        terminal.wait_for("● in_progress", 2)
        terminal.wait_for("claims BLOCKED 1", TTL_S + LATE_S + SLACK_S)
        terminal.wait_for("▲ stale", LATE_S)
        seen = time.monotonic()
        assert seen - before >= TTL_S, "not a moment early"
        assert seen - claimed_at <= TTL_S + LATE_S + SLACK_S


def test_every_line_is_full_and_a_countdown_costs_little(phelix: Phelix) -> None:
    assert phelix("queue", "claim", "--agent", "a", "--host", "h", "--workload-class", "c").code == 0
    with console(phelix.data_dir, cols=120, rows=40) as terminal:
        in_queue(terminal)
        terminal.wait_for("● in_progress", 5)
        terminal.wait_quiet(0.3, 5)
        started, sent = time.monotonic(), terminal.count_bytes()
        terminal.wait_for(lambda _: time.monotonic() - started > 4, 10)
        assert terminal.count_bytes() - sent <= 1_000 * (time.monotonic() - started + 1), "a kilobyte a second at most"
        lines = terminal.lines()
        assert lines[0].startswith(" phelix · Queue")
        assert lines[0].endswith("13 issues")
        for room in ("4", "3", "enter"):
            terminal.send(room)
            terminal.wait_quiet(0.3, 5)
            assert "phelix" in terminal.lines()[0]
            assert terminal.lines()[-1].strip()
