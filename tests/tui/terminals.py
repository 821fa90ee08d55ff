"""The real console on a real terminal: started, awaited, and its records changed beside it."""

import re
import time
from pathlib import Path

from phelix_core.checks import Surface
from phelix_core.commands.demo import DemoFleet
from phelix_core.commands.environment import Environment, open_environment
from phelix_core.settings import Settings
from phelix_tui.hints import Hints
from tests.rig import PHELIX
from tests.tui.pty_terminal import PtyTerminal, clean_environment


def agent_of(data_dir: Path) -> Environment:
    """An agent's environment on the records, with the machine's own clock."""
    return open_environment(Settings(data_dir=str(data_dir)), Surface.MCP)


def fill(data_dir: Path, sessions: int) -> Environment:
    """A demo fleet as of now, of a person who needs no hints; answers an agent's environment beside it."""
    agent = agent_of(data_dir)
    DemoFleet(agent).write(sessions)
    hints = Hints(str(data_dir))
    for hint in hints.left:
        hints.done(hint)
    return agent


def console(data_dir: Path, *argv: str, cols: int = 80, rows: int = 24, **environ: str) -> PtyTerminal:
    """`phelix tui` on a terminal of its own."""
    home = data_dir.parent
    env = clean_environment(HOME=str(home), PHELIX_DATA_DIR=str(data_dir), TMPDIR=str(home), **environ)
    return PtyTerminal([str(PHELIX), "tui", *argv], cols=cols, rows=rows, env=env)


def ready(terminal: PtyTerminal) -> None:
    """Wait until the records are on the screen and the watch stands."""
    terminal.wait_for(lambda terminal: re.search(r"[1-9][\d,]* sessions", terminal.text), 20)
    terminal.wait_for("watch ", 20)


def gone_within(terminal: PtyTerminal, seconds: float) -> float:
    """How long the process still lived; fails when longer than `seconds`."""
    started = time.monotonic()
    terminal.process.wait(seconds)
    return time.monotonic() - started


def text_of(data: bytes) -> str:
    """Bytes of a terminal as the characters it would see."""
    return data.decode("utf-8", "replace")
