"""The console on a real terminal, for what the test driver cannot see: bytes, signals, type-ahead, pastes, sizes."""

import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from phelix_core.strictjson import dumps, loads
from tests.rig import Phelix, bytes_of, did
from tests.tui.hostile import ALL, ESCAPES, hostile_record, write_hostile
from tests.tui.pty_terminal import PtyTerminal
from tests.tui.terminals import console, fill, gone_within, ready, text_of

IN_TIME = 3.0
"""Seconds: 1 s is what the watchdog allows; the rest is a busy machine's."""
C1 = re.compile("[\x80-\x9f]")
STRINGS = re.compile(r"\x1b[\]PX^_](.*?)(?:\x07|\x1b\\|\Z)", re.DOTALL)


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


def settle(terminal: PtyTerminal) -> None:
    """Wait out a dialog's guard, and whatever is still being drawn."""
    terminal.wait_quiet(0.5, 10)


# Report 2: bytes


def assert_nothing_of_records_in(raw: bytes) -> None:
    text = text_of(raw).replace("\x1b]22;default\x07", "")  # Textual's own: the shape of the mouse pointer
    assert not C1.search(text)
    assert not [found for found in STRINGS.findall(text) if "pwn" in found or "cHdu" in found or "never" in found]
    for sequence in ("\x1b[?1337h", "\x1b[31;7;66m", "\x07", "\x1b[?1049lpwn"):
        assert sequence not in text


def test_no_sequence_of_a_record_reaches_the_terminal(data_dir: Path) -> None:
    ids = write_hostile(data_dir, list(ESCAPES))
    with console(data_dir, cols=120, rows=40) as terminal:
        ready(terminal)
        for number, session_id in enumerate(ids):
            terminal.send("g", "j" * number, "enter")
            terminal.wait_for(f"phelix · {session_id}")
            terminal.wait_for("Timeline")
            terminal.send("tab")
            terminal.wait_for('"schema_version"')
            terminal.send("q")
            terminal.wait_for("sessions")
        terminal.send("a")
        terminal.wait_for("Act on")
        settle(terminal)
        terminal.send("c")
        terminal.wait_for("Review")
        assert "␛" in terminal.text
        assert_nothing_of_records_in(terminal.raw)


@pytest.mark.parametrize("argv", [("session", "list"), ("session", "show", "ses_0000000000000001")])
def test_no_sequence_of_a_record_reaches_a_pipe_or_a_terminal_from_the_command_line(
    data_dir: Path, tmp_path: Path, argv: tuple[str, ...]
) -> None:
    phelix = Phelix(data_dir, tmp_path)
    for text in ESCAPES:
        write_hostile(data_dir, [text])
        ran = phelix(*argv)
        assert ran.code == 0
        assert b"\x1b" not in ran.out
        assert_nothing_of_records_in(ran.out)
    with PtyTerminal([str(part) for part in ("env", *argv_on_a_terminal(data_dir, argv))], cols=100) as terminal:
        terminal.wait_end()
        assert_nothing_of_records_in(terminal.raw)


def argv_on_a_terminal(data_dir: Path, argv: tuple[str, ...]) -> list[str]:
    from tests.rig import PHELIX  # noqa: PLC0415 - only here

    return [f"PHELIX_DATA_DIR={data_dir}", str(PHELIX), *argv]


def test_the_naive_way_sends_them(data_dir: Path) -> None:
    """The control: `cat` of the same text, after JSON has been read, is what a careless list would send."""
    write_hostile(data_dir, ["\x1b]0;pwn title\x07"])
    show = "import json,sys; print(json.load(open(sys.argv[1]))['title'])"
    with PtyTerminal(["python3", "-c", show, str(next((data_dir / "sessions").glob("*.json")))]) as terminal:
        terminal.wait_end()
        with pytest.raises(AssertionError):
            assert_nothing_of_records_in(terminal.raw)


def test_what_is_pasted_into_a_field_sends_no_sequences_either(data_dir: Path) -> None:
    fill(data_dir, 3)
    with console(data_dir) as terminal:
        ready(terminal)
        terminal.send("/")
        terminal.wait_quiet()
        terminal.paste("pwn\x1b]0;pwn\x07\x1b[?1337h\x9b31m")
        terminal.wait_for("pwn")
        terminal.wait_quiet()
        assert_nothing_of_records_in(terminal.raw)


# Report 16: widths


def test_every_line_is_as_wide_as_the_terminal_whatever_the_titles(data_dir: Path) -> None:
    """The clock of the columns: the scroll bar and the right edge stand in their cells on every line."""
    write_hostile(data_dir, list(ALL))
    with console(data_dir, cols=70, rows=20) as terminal:
        ready(terminal)
        for _ in range(4):
            settle(terminal)
            body = terminal.lines()[1:-1]
            rows = [line for line in body if re.match(r"[› ] [⚠▲●✗−✓?] ", line)]
            assert rows
            for y, line in enumerate(body):
                if line in rows:
                    assert terminal.cell(2, y + 1) in "⚠▲●✗−✓?", line
                    assert terminal.cell(15, y + 1) == "…", line
                    assert terminal.cell(69, y + 1).strip() in {"", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}, line
            terminal.send("ctrl+d", "ctrl+d")


# Report 15: signals, and a terminal that goes away


def idle(_: PtyTerminal) -> None:
    """On the list."""


def in_a_dialog(terminal: PtyTerminal) -> None:
    terminal.send("a")
    terminal.wait_for("Act on")
    settle(terminal)
    terminal.send("c")
    terminal.wait_for("Review")


def in_a_room(terminal: PtyTerminal) -> None:
    terminal.send("enter")
    terminal.wait_for("Story │ Record")
    terminal.wait_for("created by")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("state", [idle, in_a_dialog])
def test_a_signal_restores_the_terminal_and_ends_the_console(
    data_dir: Path, state: Callable[[PtyTerminal], None], number: signal.Signals
) -> None:
    fill(data_dir, 5)
    with console(data_dir) as terminal:
        ready(terminal)
        assert {1049, 2004} <= terminal.modes()
        state(terminal)
        terminal.signal(number)
        gone_within(terminal, IN_TIME)
        assert terminal.wait_end() == 128 + number
        assert terminal.modes() == {7, 25}
        assert terminal.kitty_depth() == 0
        assert terminal.settings() == terminal.settings_before


@pytest.mark.parametrize("state", [idle, in_a_dialog, in_a_room])
def test_a_terminal_that_goes_away_ends_the_console(data_dir: Path, state: Callable[[PtyTerminal], None]) -> None:
    fill(data_dir, 5)
    with console(data_dir) as terminal:
        ready(terminal)
        state(terminal)
        terminal.hang_up()
        gone_within(terminal, IN_TIME)


def test_a_demo_leaves_no_folder_behind_and_quits_in_time(tmp_path: Path, data_dir: Path) -> None:
    with console(data_dir, "--demo") as terminal:
        ready(terminal)
        assert list(tmp_path.glob("phelix-demo-*"))
        terminal.send("q")
        assert terminal.wait_end() == 0
        assert terminal.modes() == {7, 25}
    assert not list(tmp_path.glob("phelix-demo-*"))


def test_a_read_only_demo_moves_all_the_same(data_dir: Path) -> None:
    with console(data_dir, "--demo", "--read-only") as terminal:
        ready(terminal)
        terminal.wait_for("READ-ONLY")
        terminal.wait_for(lambda t: re.search(r"watch \w+ \d+ ms", t.text))


# Type-ahead and reports 4 and 18: pastes


def test_keys_sent_in_one_burst_do_not_act_on_a_dialog_that_nobody_has_seen(data_dir: Path) -> None:
    fill(data_dir, 5)
    before = bytes_of(data_dir)
    with console(data_dir) as terminal:
        ready(terminal)
        terminal.send("ack verified\t\t\t\t\t\t\r\r\r")
        terminal.wait_for("Act on")
        settle(terminal)
        assert "Act on" in terminal.text, "the first key opened the menu, and the rest was dropped"
        terminal.send("c")
        terminal.wait_for("Review")
        assert "verified" not in terminal.text
        settle(terminal)
        terminal.send("done")
        terminal.wait_for("→ done")
        settle(terminal)
        terminal.send("\t\t\t\t\t\t\r\r\r")
        terminal.wait_for(lambda t: "Review" not in t.text)
        settle(terminal)
        assert bytes_of(data_dir) == before, "the confirmation was not answered by the keys that opened it"


@pytest.mark.parametrize("text", ["axxx\n", "acc\n", "ack\r\r", "q", "a\x1b[201~xx\r"])
def test_a_paste_on_the_list_or_in_a_room_does_nothing(data_dir: Path, text: str) -> None:
    fill(data_dir, 5)
    before = bytes_of(data_dir)
    with console(data_dir) as terminal:
        ready(terminal)
        terminal.paste(text)
        terminal.wait_quiet(0.3)
        assert "Act on" not in terminal.text
        in_a_room(terminal)
        terminal.paste(text)
        terminal.wait_quiet(0.3)
        assert "Story │ Record" in terminal.text
        assert "Act on" not in terminal.text
    assert bytes_of(data_dir) == before


def test_a_paste_into_a_dialog_is_text_for_its_field_and_never_an_answer(data_dir: Path) -> None:
    fill(data_dir, 5)
    before = bytes_of(data_dir)
    with console(data_dir) as terminal:
        ready(terminal)
        terminal.send("a")
        terminal.wait_for("Act on")
        settle(terminal)
        terminal.paste("ccc\n")
        terminal.wait_quiet(0.3)
        assert "Act on" in terminal.text
        assert "Review" not in terminal.text
        terminal.send("c")
        terminal.wait_for("Review")
        settle(terminal)
        terminal.paste("axxx\n\n")
        terminal.wait_for("→ axxx")
        settle(terminal)
        assert "Review" in terminal.text
        terminal.send("\t\t\t\t\t\t")
        terminal.wait_quiet()
        terminal.paste("\r\r\n")
        terminal.wait_quiet(0.3)
        assert "Review" in terminal.text
    assert bytes_of(data_dir) == before


# Report 17: sizes


def test_a_storm_of_sizes_with_dialogs_open_ends_in_a_whole_screen(data_dir: Path) -> None:
    fill(data_dir, 20)
    random = Random(7)
    sizes = [(1, 1), (300, 100), (2, 40), (120, 2), (40, 10), (39, 9), (1, 100), (300, 1)]
    with console(data_dir) as terminal:
        ready(terminal)
        for state in (idle, in_a_room, in_a_dialog):
            state(terminal)
            for _ in range(15):
                terminal.resize(*random.choice(sizes))
            terminal.resize(80, 24)
            terminal.wait_for("phelix ·", 20)
            settle(terminal)
            assert terminal.process.poll() is None
        assert "Review" in terminal.text
        assert all(len(line) <= 80 for line in terminal.lines())


# Report 10, in small: idle


def quiet_fleet(data_dir: Path) -> None:
    """Sessions so old that no age changes for a good while."""
    ids = write_hostile(data_dir, ["plain"] * 5)
    for session_id in ids:
        record = hostile_record(session_id, "plain", status="completed")
        old_ms = time.time_ns() // 1_000_000 - 20 * 86_400_000 - 3_600_000
        for moment in (record, record["checkpoint"], *record["events"]):
            moment.update({key: old_ms for key in moment if key.endswith("at_ms")})
        (data_dir / "sessions" / f"{session_id}.json").write_bytes(dumps(record).encode())


def test_an_idle_console_sends_nothing(data_dir: Path) -> None:
    quiet_fleet(data_dir)
    with console(data_dir) as terminal:
        ready(terminal)
        terminal.wait_for("status ")
        terminal.wait_quiet(1.2, 10)
        before = terminal.count_bytes()
        terminal.wait_quiet(3, 10)
        assert terminal.count_bytes() == before


def test_a_changed_record_is_on_the_screen_within_the_budget_and_costs_few_bytes(data_dir: Path) -> None:
    """One changed row: well under a second on any machine, and less than a kilobyte beside the preview."""
    agent = fill(data_dir, 30)
    with console(data_dir, cols=80, rows=16) as terminal:
        ready(terminal)
        terminal.send("G")
        settle(terminal)
        now_ms = time.time_ns() // 1_000_000
        records: list[Any] = [loads(file.read_bytes()) for file in (data_dir / "sessions").glob("*.json")]
        session_id = min(
            (now_ms - record["updated_at_ms"], record["session_id"])
            for record in records
            if record["status"] == "active"
        )[1]
        terminal.send("g")
        settle(terminal)
        before = terminal.count_bytes()
        did(agent, "session checkpoint", session_id=session_id, step="seen at once")
        started = time.monotonic()
        terminal.wait_for("seen at once")
        assert time.monotonic() - started < 1.5
        terminal.wait_quiet(0.3)
        assert terminal.count_bytes() - before < 4_000


def test_a_console_needs_a_terminal_and_says_so(data_dir: Path, tmp_path: Path) -> None:
    ran = Phelix(data_dir, tmp_path)("tui")
    assert ran.code == 2
    assert "needs a terminal" in ran.err
    assert not os.path.exists(data_dir), "looking makes no folder"
