"""Public report 18: neither type-ahead nor a paste fires a binding."""

import sys
from pathlib import Path

import pytest
from pty_terminal import PtyTerminal, clean_environment
from small_app import SmallApp
from textual import events
from textual.widgets import Button, Input, TextArea

from phelix_tui.guard import InputGuard

ROOT = Path(__file__).parents[2]
ARGV = [sys.executable, str(Path(__file__).with_name("small_app.py"))]
ENVIRONMENT = clean_environment(PYTHONPATH=str(ROOT))


def at(event: events.Event, time: float) -> events.Event:
    event.time = time
    return event


def key(time: float) -> events.Event:
    return at(events.Key("y", "y"), time)


def test_a_fresh_guard_drops_nothing_but_stray_pastes() -> None:
    guard = InputGuard()
    assert not guard.drops(key(5.0), None)
    assert not guard.drops(events.Focus(), None)
    assert guard.drops(at(events.Paste("x"), 5.0), None)


def test_keys_and_mouse_from_before_the_first_paint_to_400_ms_after_are_dropped() -> None:
    guard = InputGuard()
    guard.arm(10.0)
    click = at(events.MouseDown(None, 0, 0, 0, 0, 1, shift=False, meta=False, ctrl=False), 10.1)
    assert guard.drops(key(9.9), None)
    assert guard.drops(key(10.399), None)
    assert guard.drops(click, None)
    assert not guard.drops(key(10.401), None)
    assert not guard.drops(at(events.Resize.from_dimensions((80, 24), None), 10.1), None)


def test_a_held_guard_drops_until_armed_and_lets_go_by_itself_after_two_seconds() -> None:
    guard = InputGuard()
    guard.hold(10.0)
    assert guard.drops(key(11.9), None)
    assert not guard.drops(key(12.1), None)
    guard.arm(10.2)
    assert not guard.drops(key(10.7), None)


def test_pastes_reach_text_fields_only() -> None:
    guard = InputGuard()
    paste = at(events.Paste("hello"), 20.0)
    assert not guard.drops(paste, Input())
    assert not guard.drops(paste, TextArea())
    assert guard.drops(paste, TextArea(read_only=True))
    assert guard.drops(paste, Input(disabled=True))
    assert guard.drops(paste, Button("x"))


def test_a_paste_into_a_field_of_a_dialog_waits_for_the_guard_too() -> None:
    guard = InputGuard()
    guard.arm(20.0)
    assert guard.drops(at(events.Paste("hello"), 20.2), Input())
    assert not guard.drops(at(events.Paste("hello"), 20.5), Input())


def test_what_follows_a_paste_at_once_is_not_typing() -> None:
    guard = InputGuard()
    guard.drops(at(events.Paste("x"), 30.0), None)
    assert guard.drops(key(30.05), None)
    assert not guard.drops(key(30.2), None)
    assert not guard.drops(key(29.9), None)


async def test_typeahead_does_not_answer_a_dialog_and_a_later_key_does() -> None:
    app = SmallApp()
    async with app.run_test(notifications=True, tooltips=True) as pilot:
        await pilot.press("x", "y")
        assert app.asked == []
        app.guard.arm(-1.0)
        await pilot.press("y")
        assert app.asked == ["yes"]


async def test_the_same_typeahead_answers_without_the_guard() -> None:
    app = SmallApp(guarded=False)
    async with app.run_test(notifications=True, tooltips=True) as pilot:
        await pilot.press("x", "y")
        assert app.asked == ["yes"]


@pytest.mark.parametrize("naive", [False, True])
def test_typeahead_on_a_real_terminal(naive: bool) -> None:  # noqa: FBT001 - a parameter of the test
    with PtyTerminal([*ARGV, *(["--naive"] if naive else [])], env=ENVIRONMENT) as terminal:
        terminal.wait_for("ses_000003")
        terminal.send("xy")
        terminal.wait_for("answer yes" if naive else "really?")
        terminal.wait_quiet(0.5)
        assert ("answer" in terminal.text) == naive
        if not naive:
            terminal.send("y")
            terminal.wait_for("answer yes")


@pytest.mark.parametrize("naive", [False, True])
def test_a_mouse_click_on_a_new_dialog_is_dropped_as_well(naive: bool) -> None:  # noqa: FBT001 - a parameter
    with PtyTerminal([*ARGV, *(["--naive"] if naive else [])], env=ENVIRONMENT) as terminal:
        terminal.wait_for("ses_000003")
        terminal.send("x")
        terminal.wait_for("Yes, do it")
        terminal.click(5, 2)
        if not naive:
            terminal.wait_quiet(0.5)
            assert "really?" in terminal.text
            terminal.click(5, 2)
        terminal.wait_for("answer clicked")


@pytest.mark.parametrize("text", ["xyyy\n", "x\x1b[201~xyy\r", "q"])
def test_a_paste_anywhere_does_nothing(text: str) -> None:
    with PtyTerminal(ARGV, env=ENVIRONMENT) as terminal:
        terminal.wait_for("ses_000003")
        terminal.wait_for(lambda t: 2004 in t.modes())
        terminal.paste(text)
        terminal.wait_quiet()
        assert "said: nothing" in terminal.text
        terminal.send("x")
        terminal.wait_for("really?")
        terminal.wait_quiet(0.5)
        terminal.paste("y")
        terminal.wait_quiet()
        assert "really?" in terminal.text


def test_a_paste_into_a_text_field_is_its_text() -> None:
    with PtyTerminal(ARGV, env=ENVIRONMENT) as terminal:
        terminal.wait_for("ses_000003")
        terminal.send("f")
        terminal.wait_quiet()
        terminal.paste("xyq")
        terminal.wait_for(lambda t: any("xyq" in line for line in t.lines()[-3:]))
        assert "said: nothing" in terminal.text
