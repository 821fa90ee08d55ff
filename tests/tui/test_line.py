"""A terminal that is behind holds live updates back, and nothing else; one that does not answer is not waited for."""

import asyncio
import sys
import time
from pathlib import Path

from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.commands.session_listing import SessionList
from phelix_tui.line import GIVE_UP_S, UNSENT_BYTES, Line
from tests.tui.pty_terminal import PtyTerminal
from tests.tui.terminals import PHELIX, fill, ready

SLOW = 4_000
"""Bytes a second."""
STORM_S = 4.0


class Time:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def test_a_line_that_never_answered_is_not_asked_and_not_waited_for() -> None:
    line = Line(Time())
    assert not any(line.asks() for _ in range(10))
    assert not line.is_behind
    await asyncio.wait_for(line.ready(), 1)


async def test_a_frame_under_way_holds_back_until_it_is_answered() -> None:
    line = Line(Time())
    line.answered()
    assert line.asks()
    assert line.is_behind
    waiting = asyncio.ensure_future(line.ready())
    done, _ = await asyncio.wait({waiting}, timeout=0.12)
    assert not done
    line.answered()
    await asyncio.wait_for(waiting, 1)


async def test_an_answer_that_nobody_asked_for_counts_for_nothing() -> None:
    line = Line(Time())
    for _ in range(5):
        line.answered()
    line.asks()
    assert line.is_behind


async def test_a_question_that_goes_unheard_is_given_up() -> None:
    moment = Time()
    line = Line(moment)
    line.answered()
    line.asks()
    moment.now += GIVE_UP_S
    assert not line.is_behind
    assert not line.asks(), "a terminal that stopped answering is asked no more"
    line.answered()
    assert line.asks()


async def test_bytes_that_the_system_does_not_take_hold_back_whether_it_answers_or_not() -> None:
    line = Line(Time())
    line.unsent = lambda: UNSENT_BYTES + 1
    assert line.is_behind
    line.unsent = lambda: UNSENT_BYTES
    assert not line.is_behind


def behind_after_a_storm(argv: list[str], env: Environment, mark: str) -> int:
    """Bytes that still come, once a storm over what is on the screen has passed, until its last change is seen."""
    found = run(load_command("session list"), {"status": "active"}, env).result
    assert isinstance(found, SessionList)
    ids = [one.session_id for one in found.sessions]
    with PtyTerminal(argv, cols=120, rows=40, answers=True) as terminal:
        ready(terminal)
        terminal.bytes_a_second = SLOW
        number, end = 0, time.monotonic() + STORM_S
        while time.monotonic() < end:
            raw = {"session_id": ids[number % len(ids)], "step": f"{number:03}{'xyz'[number % 3] * 9}"}
            assert run(load_command("session checkpoint"), raw, env).error is None
            number += 1
        assert run(load_command("session checkpoint"), {"session_id": ids[0], "step": mark}, env).error is None
        before = terminal.count_bytes()
        terminal.wait_for(mark, 90)
        return terminal.count_bytes() - before


def test_on_a_slow_line_the_screen_is_hardly_behind_and_without_waiting_it_is_far_behind(tmp_path: Path) -> None:
    env = fill(tmp_path / "data", 32)
    paced = behind_after_a_storm([str(PHELIX), "tui", "--data-dir", str(tmp_path / "data")], env, "paced")
    naive = behind_after_a_storm(
        [sys.executable, "-m", "tests.tui.unpaced_program", str(tmp_path / "data")], env, "naive"
    )
    assert paced * 2 < naive, (paced, naive)
