"""Public report 15: whatever ends the console, the terminal is restored or the process is gone in time."""

import os
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pty_terminal import PtyTerminal, clean_environment

from phelix_tui.terminal import RESTORING, ColourWish, Watchdog

ROOT = Path(__file__).parents[2]
ARGV = [sys.executable, str(Path(__file__).with_name("small_app.py"))]
ENVIRONMENT = clean_environment(PYTHONPATH=str(ROOT))
IN_TIME = 1.5
"""Seconds: 0.8 by design, and as much again for a machine that does other things."""
COLOUR = re.compile(rb"\x1b\[(?:[0-9]+;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])[0-9;]*m")


def idle(terminal: PtyTerminal) -> None:
    terminal.wait_for("ses_000003")
    terminal.wait_for(lambda t: 2004 in t.modes())


def busy_loop(terminal: PtyTerminal) -> None:
    idle(terminal)
    terminal.send("b")
    terminal.wait_for(lambda t: b"busy" in t.raw)


def busy_worker(terminal: PtyTerminal) -> None:
    idle(terminal)
    terminal.send("w")
    terminal.wait_for("working")


def busy_c_code(terminal: PtyTerminal) -> None:
    idle(terminal)
    terminal.send("c")
    terminal.wait_for(lambda t: b"busy" in t.raw)


def stuck_output(terminal: PtyTerminal) -> None:
    idle(terminal)
    terminal.stop_reading()
    for _ in range(30):
        terminal.send("pagedown", "pageup")


def assert_restored(terminal: PtyTerminal) -> None:
    assert terminal.modes() == {7, 25}
    assert terminal.kitty_depth() == 0
    assert terminal.settings() == terminal.settings_before


@pytest.mark.parametrize(
    ("number", "state"),
    [
        (signal.SIGTERM, idle),
        (signal.SIGTERM, busy_loop),
        (signal.SIGTERM, busy_worker),
        (signal.SIGHUP, idle),
        (signal.SIGHUP, busy_loop),
        (signal.SIGINT, idle),
        (signal.SIGINT, busy_loop),
    ],
)
def test_a_signal_restores_the_terminal_and_ends_the_process(
    number: signal.Signals, state: Callable[[PtyTerminal], None]
) -> None:
    with PtyTerminal(ARGV, env=ENVIRONMENT) as terminal:
        state(terminal)
        start = time.monotonic()
        terminal.signal(number)
        assert terminal.wait_end() == 128 + number
        assert time.monotonic() - start < IN_TIME
        assert_restored(terminal)


def test_an_idle_console_leaves_by_itself_before_the_watchdog_bites() -> None:
    with PtyTerminal(ARGV, env=ENVIRONMENT) as terminal:
        idle(terminal)
        terminal.signal(signal.SIGTERM)
        assert terminal.wait_end() == 128 + signal.SIGTERM
        assert RESTORING not in terminal.raw


def test_a_long_call_without_the_gil_does_not_hold_the_signal_back() -> None:
    with PtyTerminal(ARGV, env=ENVIRONMENT) as terminal:
        busy_c_code(terminal)
        start = time.monotonic()
        terminal.signal(signal.SIGTERM)
        assert terminal.wait_end() == 128 + signal.SIGTERM
        assert time.monotonic() - start < IN_TIME
        assert_restored(terminal)


def test_a_terminal_that_takes_no_output_does_not_hold_the_process() -> None:
    with PtyTerminal(ARGV, env=ENVIRONMENT) as terminal:
        stuck_output(terminal)
        start = time.monotonic()
        terminal.signal(signal.SIGTERM)
        assert terminal.wait_end() == 128 + signal.SIGTERM
        assert time.monotonic() - start < IN_TIME
        assert terminal.settings() == terminal.settings_before


def test_without_the_watchdog_a_signal_leaves_the_modes_on() -> None:
    with PtyTerminal([*ARGV, "--naive"], env=ENVIRONMENT) as terminal:
        idle(terminal)
        terminal.signal(signal.SIGTERM)
        assert terminal.wait_end() == -signal.SIGTERM
        assert {1049, 1003, 2004} <= terminal.modes()
        assert terminal.settings() != terminal.settings_before


@pytest.mark.parametrize(
    ("state", "extra"), [(idle, []), (busy_loop, []), (idle, ["--nohup"]), (busy_loop, ["--nohup"])]
)
def test_a_closed_terminal_ends_the_process(state: Callable[[PtyTerminal], None], extra: list[str]) -> None:
    with PtyTerminal([*ARGV, *extra], env=ENVIRONMENT) as terminal:
        state(terminal)
        start = time.monotonic()
        terminal.hang_up()
        assert terminal.wait_end() > 0
        assert time.monotonic() - start < IN_TIME


def test_without_the_watchdog_a_closed_terminal_leaves_a_busy_process_behind() -> None:
    with PtyTerminal([*ARGV, "--naive", "--nohup"], env=ENVIRONMENT) as terminal:
        busy_loop(terminal)
        terminal.hang_up()
        with pytest.raises(TimeoutError):
            terminal.wait_end(IN_TIME)


def test_quitting_ends_with_zero_and_restores_once() -> None:
    with PtyTerminal(ARGV, env=ENVIRONMENT) as terminal:
        idle(terminal)
        terminal.send("q")
        assert terminal.wait_end() == 0
        assert_restored(terminal)
        assert terminal.raw.count(b"\x1b[?1049l") == 1


SCRIPT = """
import os, signal, sys, time
from phelix_tui.terminal import Watchdog
os.write(2, b"\\x1b[?1049h\\x1b[?1003h\\x1b[?25l\\x1b[>1u")
dog = Watchdog(lambda code: None, grace_s=0.2)
"""


def run_script(body: str) -> PtyTerminal:
    return PtyTerminal([sys.executable, "-c", SCRIPT + body], env=ENVIRONMENT)


def test_an_exception_through_the_watchdog_restores() -> None:
    with run_script("with dog: raise ValueError") as terminal:
        assert terminal.wait_end() == 1
        assert_restored(terminal)


def test_an_interpreter_that_exits_inside_restores() -> None:
    with run_script("dog.__enter__()") as terminal:
        assert terminal.wait_end() == 0
        assert_restored(terminal)


def test_a_process_that_lingers_after_a_signal_is_ended() -> None:
    with run_script("with dog: os.kill(os.getpid(), 15); time.sleep(0.05)\ntime.sleep(30)") as terminal:
        assert terminal.wait_end() == 128 + signal.SIGTERM


def test_interrupts_are_a_childs_own_while_it_has_the_terminal() -> None:
    body = (
        "with dog:\n"
        " with dog.ignoring_interrupts(): os.kill(os.getpid(), 2); time.sleep(0.4)\n"
        " print('still here'); os.kill(os.getpid(), 15); time.sleep(30)"
    )
    with run_script(body) as terminal:
        assert terminal.wait_end() == 128 + signal.SIGTERM
        assert b"still here" in terminal.raw


def test_a_normal_end_gives_the_signals_back() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)]
    with Watchdog(lambda _code: None) as watchdog:
        assert signal.getsignal(signal.SIGTERM) not in before
    assert [signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)] == before
    assert watchdog.exit_code is None
    assert signal.set_wakeup_fd(-1) == -1


# NO_COLOR


def test_no_color_sends_no_colour_at_all_and_still_shows_the_cursor() -> None:
    with PtyTerminal(ARGV, env={**ENVIRONMENT, "NO_COLOR": "1"}) as terminal:
        idle(terminal)
        terminal.send("j", "p")
        terminal.wait_for("patched 1")
        assert not COLOUR.findall(terminal.raw)
        assert terminal.lines()[3].startswith("›")


@pytest.mark.parametrize("extra", [{}, {"NO_COLOR": ""}])
def test_without_the_wish_colours_are_sent(extra: dict[str, str]) -> None:
    with PtyTerminal(ARGV, env={**ENVIRONMENT, **extra}) as terminal:
        idle(terminal)
        colours = set(re.findall(rb"38;2;(\d+);(\d+);(\d+)", terminal.raw))
        assert any(len(set(colour)) > 1 for colour in colours)


def test_plain_no_color_without_our_reading_still_sends_greys() -> None:
    with PtyTerminal([*ARGV, "--naive"], env={**ENVIRONMENT, "NO_COLOR": "1"}) as terminal:
        idle(terminal)
        assert COLOUR.findall(terminal.raw)


def test_children_of_a_suspended_console_are_told_of_no_color() -> None:
    environ = {"NO_COLOR": "yes"}
    wish = ColourWish.from_environment(environ)
    assert wish.ansi_color is True
    del environ["NO_COLOR"]  # as Textual does
    with wish.told_to_children(environ):
        assert environ == {"NO_COLOR": "yes"}
    assert environ == {}


def test_an_empty_no_color_asks_for_nothing() -> None:
    environ = {"NO_COLOR": ""}
    assert ColourWish.from_environment(environ).ansi_color is None
    assert environ == {}
    assert ColourWish.from_environment(dict(os.environ, NO_COLOR="1")).no_color == "1"
