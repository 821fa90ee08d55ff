"""Approvals on a real terminal: one bell for what begins to wait, and nothing that a command prints is obeyed."""

import re
from pathlib import Path

from tests.core.arc.stage import APPROVED_FIRST, declare, put_policy
from tests.rig import Phelix
from tests.tui.pty_terminal import PtyTerminal
from tests.tui.terminals import console

TITLES = re.compile(rb"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
"""Sequences that end with what rings the bell where it stands alone."""
HOSTILE = r"printf 'before \033]0;pwned\007 \033[31;7mred\033[2J \233 after\n'"


def bells(terminal: PtyTerminal) -> int:
    """How often it has rung."""
    return TITLES.sub(b"", terminal.raw).count(b"\x07")


def test_what_begins_to_wait_rings_once_and_what_a_command_prints_is_text(tmp_path: Path) -> None:
    phelix = Phelix(tmp_path / "data", tmp_path)
    declare(phelix.data_dir, HOSTILE)
    put_policy(phelix.data_dir, APPROVED_FIRST)
    assert phelix("plan", "create", "deploy", "shop", "--to", "1.2.0").code == 0
    with console(phelix.data_dir, cols=100, rows=30) as terminal:
        terminal.wait_for("◆ 1 waits", 20)
        assert bells(terminal) == 0
        created = phelix("plan", "create", "deploy", "shop", "--to", "1.4.0", "--json")
        plan_id = created.result["plan_id"]
        terminal.wait_for("deploy shop 1.4.0 began to wait for approval", 10)
        terminal.wait_quiet(0.5, 10)
        assert bells(terminal) == 1
        terminal.send("5")
        terminal.wait_for("WAITS for an approval", 10)
        assert phelix("authz", "approve", plan_id).code == 0
        assert phelix("plan", "apply", plan_id).code == 0
        terminal.wait_for("✓ succeeded", 10)
        terminal.send("G", "enter")
        terminal.wait_for("What ran", 10)
        terminal.send("tab")
        terminal.wait_for("the log ends: ✓ succeeded", 10)
        assert "before ␛]0;pwned␇ ␛[31;7mred␛[2J � after" in terminal.text
        assert bells(terminal) == 1
        assert b"\x1b]0;pwned" not in terminal.raw
        assert b"\x1b[31;7m" not in terminal.raw
