"""The bell: transitions only, together, not too often, quiet at first; and bytes that are safe for a terminal."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phelix_tui.bell import EVERY_S, FAILED, STALE, UNREADABLE, WAITING, WORDS, Bell, sounded

PLAIN = {"TERM": "xterm-256color"}


def text_of(bell: Bell, at_s: float, **now: set[str]) -> str | None:
    ring = bell.news({kind.replace("_", "-"): ids for kind, ids in now.items()}, at_s)
    return None if ring is None else ring.text


def test_the_first_look_at_each_kind_is_quiet() -> None:
    bell = Bell()
    assert text_of(bell, 0, stale={"a", "b"}) is None
    assert text_of(bell, 100, waiting={"p"}) is None, "plans are read later than sessions"
    assert text_of(bell, 200, stale={"a", "b"}, waiting={"p"}) is None
    assert bell.due_s() is None


def test_what_becomes_so_rings_and_what_stays_so_or_ends_does_not() -> None:
    bell = Bell()
    bell.news({STALE: ["a"]}, 0)
    assert text_of(bell, 1, stale={"a", "b"}) == "1 session became stale"
    assert text_of(bell, 101, stale={"a", "b"}) is None
    assert text_of(bell, 102, stale={"b"}) is None
    assert text_of(bell, 103, stale={"a", "b"}) == "1 session became stale", "it became so again"


def test_what_turns_together_is_told_together_the_most_pressing_first() -> None:
    bell = Bell()
    bell.news(dict.fromkeys(WORDS, ()), 0)
    ring = bell.news({STALE: list("abc"), FAILED: ["d"], WAITING: ["p", "q"]}, 1)
    assert ring is not None
    assert ring.text == "2 plans began to wait for approval; 3 sessions became stale; 1 session failed"
    assert ring.kinds == (WAITING, STALE, FAILED)


def test_between_two_bells_what_turns_is_kept_as_far_as_it_is_still_so() -> None:
    bell = Bell(every_s=10)
    bell.news({STALE: ()}, 0)
    assert text_of(bell, 1, stale={"a"}) == "1 session became stale"
    assert text_of(bell, 2, stale={"a", "b", "c"}) is None
    assert bell.due_s() == 11
    assert text_of(bell, 5, stale={"a", "c"}) is None, "b recovered"
    assert text_of(bell, 11) == "1 session became stale", "nothing new is needed: whoever ticks asks again"
    assert bell.due_s() is None
    assert text_of(bell, 12, stale={"a", "c", "d"}) is None
    assert text_of(bell, 13, stale=set()) is None
    assert bell.due_s() is None, "all of it is over, so nothing is due"


def test_a_muted_kind_is_followed_in_silence() -> None:
    bell = Bell(muted=[STALE])
    bell.news({STALE: (), FAILED: ()}, 0)
    assert text_of(bell, 1, stale={"a"}, failed={"f"}) == "1 session failed"
    bell.unmute(STALE)
    assert text_of(bell, 100, stale={"a"}) is None, "what is old does not ring once it is heard again"
    assert text_of(bell, 101, stale={"a", "b"}) == "1 session became stale"
    assert text_of(bell, 102, stale={"a", "b", "c"}) is None
    bell.mute(STALE)
    assert text_of(bell, 200) is None
    assert bell.muted == {STALE}


def test_one_alone_is_called_by_its_name_and_names_are_made_safe() -> None:
    bell = Bell(every_s=0)
    bell.news({STALE: (), UNREADABLE: ()}, 0)
    hostile = "ship\x1b]0;pwned\x07 sk-ant-api03-" + "aB3" * 31
    ring = bell.news({STALE: ["a"]}, 1, lambda kind, one: f"{kind} {one} {hostile}")
    assert ring is not None
    assert ring.text.startswith("stale a ship␛]0;pwned␇")
    assert ring.text.endswith(" became stale")
    assert "aB3aB3" not in ring.text
    ring = bell.news({STALE: list("abc")}, 2, lambda kind, one: f"never asked: {kind} {one}")
    assert ring is not None
    assert ring.text == "2 sessions became stale"


@given(st.lists(st.tuples(st.floats(0, 4), st.sets(st.sampled_from("abcde"))), max_size=40))
def test_however_things_go_bells_keep_their_distance_and_miss_nothing_that_lasts(
    steps: list[tuple[float, set[str]]],
) -> None:
    bell, at, rung, told = Bell(every_s=EVERY_S), 0.0, list[float](), 0
    bell.news({STALE: ()}, 0)
    for pause, ids in [*steps, (EVERY_S, {"new"}), (EVERY_S, {"new"})]:
        at += pause
        if (ring := bell.news({STALE: ids}, at)) is not None:
            rung.append(at)
            told += int(ring.text.split()[0])
    assert all(later - earlier >= EVERY_S for earlier, later in pairwise(rung))
    assert told >= 1
    assert bell.due_s() is None, "the last one, which lasted, was told"


def test_the_bytes_ring_and_notify_and_hold_no_sequence_of_others() -> None:
    data = sounded("3 sessions became stale\x1b]52;c;AAAA\x07\x9d\u202e", PLAIN)
    assert data == "\x07\x1b]9;phelix: 3 sessions became stale␛]52;c;AAAA␇�·\x07".encode()


def test_inside_tmux_the_notification_is_passed_through_and_the_bell_is_tmux_s_own() -> None:
    data = sounded("x", {"TERM": "screen-256color", "TMUX": "/tmp/tmux,1,0"})
    assert data == b"\x07\x1bPtmux;\x1b\x1b]9;phelix: x\x07\x1b\\"
    assert sounded("x", {"TERM": "screen", "STY": "1.pts"}) == b"\x07\x1bP\x1b]9;phelix: x\x07\x1b\\"


@pytest.mark.parametrize("terminal", ["linux", "dumb", ""])
def test_a_terminal_that_would_print_a_notification_gets_the_bell_alone(terminal: str) -> None:
    assert sounded("x", {"TERM": terminal}) == b"\x07"


def test_a_notification_is_never_long() -> None:
    data = sounded("x" * 5_000, {"TERM": "xterm", "STY": "1.pts"}).decode()
    assert len("".join(re.findall("\x1bP(.*?)\x1b\\\\", data, re.DOTALL))) < 300
