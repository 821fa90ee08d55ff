"""Copying: which ways there are, that the first good one takes the text exactly, and that what is said is true.

Programs are real processes in a folder of their own on PATH; the display is theirs, not ours.
"""

import base64
import contextlib
import os
import re
import signal
import stat
import subprocess
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from phelix_tui.clipboard import FILE, KEPT, LARGEST_OSC52, PROGRAM, TERMINAL, TMUX, copy, osc52, ways

TEXT = "title ☃ 'quoted' $(id)\n\x1b]0;x\x07 sk-ant-api03-" + "aB3" * 31
ALL = {"wl-copy", "xclip", "xsel", "pbcopy", "tmux"}
TAKES = 'cat > "$OUT.part"; printf "%s " "$(basename "$0")" "$@" > "$OUT.argv"; mv "$OUT.part" "$OUT"'


def names(environ: dict[str, str], installed: set[str] = ALL, size: int = 10) -> list[str]:
    found = ways({"TERM": "xterm", **environ}, size, lambda name: f"/bin/{name}" if name in installed else None)
    return [way.name for way in found]


class Machine:
    """A PATH of programs that a test writes, and what they took."""

    def __init__(self, folder: Path) -> None:
        self.bin, self.out, self.cache = folder / "bin", folder / "taken", folder / "data" / "cache"
        self.bin.mkdir()
        self.environ = {"PATH": f"{self.bin}:/usr/bin:/bin", "TERM": "xterm", "HOME": str(folder), "OUT": str(self.out)}

    def has(self, name: str, script: str = TAKES) -> None:
        file = self.bin / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, ["pbcopy", "OSC 52", FILE]),
        ({"DISPLAY": ":0"}, ["xclip", "xsel", "pbcopy", "OSC 52", FILE]),
        ({"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, ["wl-copy", "xclip", "xsel", "pbcopy", "OSC 52", FILE]),
        ({"SSH_CONNECTION": "1.2.3.4 5 6.7.8.9 22"}, ["OSC 52", FILE]),
        ({"SSH_TTY": "/dev/pts/1", "DISPLAY": "localhost:10"}, ["xclip", "xsel", "OSC 52", FILE]),
        ({"TMUX": "/tmp/tmux,1,0", "SSH_TTY": "/dev/pts/1"}, ["tmux", "OSC 52", FILE]),
        ({"TERM": "linux"}, ["pbcopy", FILE]),
        ({"TERM": "dumb", "TMUX": "/tmp/tmux,1,0"}, ["pbcopy", "tmux", FILE]),
        ({"TERM_PROGRAM": "Apple_Terminal"}, ["pbcopy", FILE]),
    ],
)
def test_the_ways_follow_from_the_environment_in_their_order(environ: dict[str, str], expected: list[str]) -> None:
    assert names(environ) == expected


def test_programs_that_are_not_installed_are_no_ways() -> None:
    assert names({"WAYLAND_DISPLAY": "w", "DISPLAY": ":0", "TMUX": "t"}, set()) == ["OSC 52", FILE]
    assert names({"DISPLAY": ":0"}, {"xsel"}) == ["xsel", "OSC 52", FILE]


def test_what_is_larger_than_terminals_take_is_not_sent_to_one() -> None:
    assert "OSC 52" in names({}, size=LARGEST_OSC52)
    assert "OSC 52" not in names({}, size=LARGEST_OSC52 + 1)
    assert len(osc52(b"x" * LARGEST_OSC52, {})) <= 100_000


@pytest.mark.parametrize(
    ("name", "variable", "argv"),
    [
        ("wl-copy", "WAYLAND_DISPLAY", "wl-copy --type text/plain "),
        ("xclip", "DISPLAY", "xclip -selection clipboard -in "),
        ("xsel", "DISPLAY", "xsel --clipboard --input "),
    ],
)
def test_a_program_gets_the_exact_text_on_its_input_and_none_of_it_as_an_argument(
    machine: Machine, name: str, variable: str, argv: str
) -> None:
    machine.has(name)
    copied = copy(TEXT, environ={**machine.environ, variable: "there"}, write=pytest.fail)
    assert (copied.kind, copied.told) == (PROGRAM, f"copied by {name}")
    assert machine.out.read_bytes() == TEXT.encode()
    assert Path(f"{machine.out}.argv").read_text() == argv


def test_tmux_keeps_it_and_hands_it_on(machine: Machine) -> None:
    machine.has("tmux")
    copied = copy(TEXT, environ={**machine.environ, "TMUX": "/tmp/tmux,1,0"}, write=pytest.fail)
    assert (copied.kind, copied.told) == (TMUX, "copied by tmux")
    assert machine.out.read_bytes() == TEXT.encode()
    assert Path(f"{machine.out}.argv").read_text() == "tmux load-buffer -w - "


def test_a_way_that_fails_is_told_of_and_the_next_is_taken(machine: Machine) -> None:
    machine.has("xclip", "echo 'Error: cannot open display' >&2; exit 1")
    machine.has("xsel", "exit 3")
    machine.has("tmux")
    copied = copy(TEXT, environ={**machine.environ, "DISPLAY": ":9", "TMUX": "t"})
    assert copied.told == "copied by tmux (xclip ended with status 1; xsel ended with status 3)"
    assert machine.out.read_bytes() == TEXT.encode()


def test_a_program_that_does_not_answer_is_ended_with_its_children(machine: Machine, tmp_path: Path) -> None:
    machine.has("xclip", f'sleep 60 & echo $! > "{tmp_path}/child"; wait')
    began = time.monotonic()
    copied = copy(
        TEXT, environ={**machine.environ, "DISPLAY": ":9"}, folder=str(machine.cache), write=None, deadline_s=0.5
    )
    assert time.monotonic() - began < 5
    assert copied.told == f"written to ~/data/cache/{FILE} (xclip did not end within 0.5 s)"
    assert not is_there(int((tmp_path / "child").read_text()))


def is_there(pid: int) -> bool:
    """Whether a process runs; one that was ended and not yet collected does not."""
    ended = time.monotonic() + 5
    while time.monotonic() < ended:
        status = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
        if not status.stdout.strip() or status.stdout.startswith("Z"):
            return False
    return True


@contextlib.contextmanager
def serving(folder: Path) -> Generator[str]:
    """A script that leaves a process behind, as `xclip` does to serve the selection."""
    try:
        yield f'cat > "$OUT"; sleep 60 & echo $! > "{folder}/server"'
    finally:
        os.kill(int((folder / "server").read_text()), signal.SIGKILL)


def test_a_program_that_leaves_a_server_behind_is_not_waited_for(machine: Machine, tmp_path: Path) -> None:
    with serving(tmp_path) as script:
        machine.has("xclip", script)
        copied = copy(TEXT, environ={**machine.environ, "DISPLAY": ":9"})
        assert copied.told == "copied by xclip"
        server = int((tmp_path / "server").read_text())
        assert os.getpgid(server) != os.getpgid(0), "ctrl+c on our terminal does not take the selection away"
    with serving(tmp_path), pytest.raises(subprocess.TimeoutExpired):
        # The control: who listens to what the program says waits for the server, too.
        subprocess.run(
            [machine.bin / "xclip"], env=machine.environ, input=b"", capture_output=True, timeout=0.5, check=False
        )


def test_a_program_that_reads_nothing_takes_a_long_text_without_a_fault(machine: Machine) -> None:
    machine.has("xclip", "exit 0")
    copied = copy("x" * 3_000_000, environ={**machine.environ, "DISPLAY": ":9"})
    assert copied.told == "copied by xclip"


def test_the_terminal_gets_one_sequence_and_nobody_claims_that_it_took_it(machine: Machine) -> None:
    sent: list[str] = []
    copied = copy(TEXT, environ=machine.environ, write=sent.append, folder=str(machine.cache))
    assert copied.kind == TERMINAL
    assert copied.told == "sent to the terminal by OSC 52, which cannot say whether it took it"
    assert sent == [f"\x1b]52;c;{base64.b64encode(TEXT.encode()).decode()}\x07"]
    assert not machine.cache.exists()


def test_a_multiplexer_is_passed_through() -> None:
    plain = osc52(b"x" * 5_000, {"TERM": "xterm"})
    through_tmux = osc52(b"x" * 5_000, {"TERM": "screen", "TMUX": "t"})
    assert through_tmux.startswith("\x1bPtmux;\x1b\x1b]52;c;")
    assert through_tmux.removeprefix("\x1bPtmux;").removesuffix("\x1b\\").replace("\x1b\x1b", "\x1b") == plain
    assert osc52(b"x", {"TERM": "tmux-256color"}).startswith("\x1bPtmux;"), "over SSH, TERM alone tells"
    pieces = re.findall("\x1bP(.*?)\x1b\\\\", osc52(b"x" * 5_000, {"TERM": "screen", "STY": "1.pts"}), re.DOTALL)
    assert "".join(pieces) == plain
    assert max(map(len, pieces)) < 256


def test_a_terminal_that_cannot_be_written_to_is_a_way_that_failed(machine: Machine) -> None:
    def broken(_: str) -> None:
        raise RuntimeError(TEXT)

    copied = copy(TEXT, environ=machine.environ, write=broken, folder=str(machine.cache))
    assert copied.told == f"written to ~/data/cache/{FILE} (OSC 52 failed)"


def test_the_file_is_private_and_exact_whatever_stood_at_its_name(machine: Machine, tmp_path: Path) -> None:
    environ, file, other = {**machine.environ, "TERM": "dumb"}, machine.cache / FILE, tmp_path / "other"
    other.write_text("somebody else's")

    def link() -> None:
        file.symlink_to(other)

    def pipe() -> None:
        os.mkfifo(file)

    def lax() -> None:
        file.write_text("old")
        file.chmod(0o644)

    machine.cache.mkdir(parents=True)
    for before in (lambda: None, link, pipe, lax):
        before()
        copied = copy(TEXT, environ=environ, folder=str(machine.cache))
        assert (copied.kind, copied.told) == (KEPT, f"written to ~/data/cache/{FILE}")
        assert not file.is_symlink()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert file.read_bytes() == TEXT.encode()
        file.unlink()
    assert other.read_text() == "somebody else's"


def test_the_file_is_replaced_whole_so_that_a_reader_of_the_old_one_still_has_it(machine: Machine) -> None:
    environ, file = {**machine.environ, "TERM": "dumb"}, machine.cache / FILE
    copy("the first", environ=environ, folder=str(machine.cache))
    with file.open("rb") as opened:
        copy("the second, which is longer", environ=environ, folder=str(machine.cache))
        assert opened.read() == b"the first"
    assert file.read_bytes() == b"the second, which is longer"
    assert os.listdir(machine.cache / ".staging") == []
    in_place = machine.cache / "naive"
    in_place.write_bytes(b"the first")
    with in_place.open("rb") as opened:
        in_place.write_bytes(b"the second, which is longer")
        assert opened.read() != b"the first", "the control: written in place it is torn away from its reader"


def test_where_no_way_is_left_that_is_told_and_nothing_is_raised(machine: Machine, tmp_path: Path) -> None:
    nowhere = {**machine.environ, "TERM": "dumb"}
    assert copy(TEXT, environ=nowhere).told == "could not be copied: there is no way to do it here"
    (tmp_path / "data").write_text("not a folder")
    copied = copy(TEXT, environ=nowhere, folder=str(machine.cache))
    assert copied.kind is None
    assert copied.told.startswith(f"could not be copied: {FILE} could not be written: Cannot make the folder")
    assert "aB3" not in copied.told
    large = copy("x" * (LARGEST_OSC52 + 1), environ=machine.environ, write=pytest.fail)
    assert large.told == "could not be copied: too large for OSC 52"


def test_a_lone_surrogate_is_copied_as_a_question_mark(machine: Machine) -> None:
    machine.has("xclip")
    assert copy("a\ud800b", environ={**machine.environ, "DISPLAY": ":9"}).kind == PROGRAM
    assert machine.out.read_bytes() == b"a?b"


def test_many_threads_copy_at_once_and_the_file_is_always_one_of_their_texts(machine: Machine) -> None:
    texts = [f"{number}" * 10_000 for number in range(8)]

    def copied(text: str) -> str | None:
        return copy(text, environ={"TERM": "dumb"}, folder=str(machine.cache)).kind

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(copied, texts)) == {KEPT}
    assert (machine.cache / FILE).read_text() in texts
