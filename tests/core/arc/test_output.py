"""What a command prints is kept in whole lines, without its secrets, and not without end."""

import errno
import os
from pathlib import Path
from random import Random

import pytest

from phelix_core.arc import output
from phelix_core.arc.output import CUT, LINE_CAP, OutputEnd, OutputLog
from tests.canaries import CANARIES, Canary, found_in
from tests.core.faults.shim import ERRNOS, FaultyOs


class Kept:
    """A log and what was told of it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "log"
        self.told: list[str] = []
        self.log = OutputLog(str(self.path), self.told.append)

    def __call__(self, *pieces: bytes) -> list[str]:
        """The lines that come of these reads; the log holds the same."""
        for piece in pieces:
            self.log.feed(piece)
        self.log.close()
        assert self.path.read_bytes().decode() == "".join(f"{line}\n" for line in self.told)
        assert (self.log.size, self.log.printed) == (self.path.stat().st_size, sum(map(len, pieces)))
        return self.told


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


def bytewise(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


@pytest.mark.parametrize("canary", CANARIES, ids=lambda canary: canary.kind)
@pytest.mark.parametrize("split", ["bytes", "lines", "reads"])
def test_a_secret_is_found_however_it_is_read(kept: Kept, canary: Canary, split: str) -> None:
    data = f"before\n{canary.text}\nafter\n".encode()
    pieces = {"bytes": bytewise(data), "lines": data.splitlines(keepends=True), "reads": [data[:30], data[30:]]}
    told = kept(*pieces[split])
    assert found_in("\n".join(told)) == []
    assert (told[0], told[-1]) == ("before", "after")


@pytest.mark.parametrize("canary", CANARIES[:-1], ids=lambda canary: canary.kind)
def test_a_line_that_is_too_long_is_cut_but_no_secret_on_it(kept: Kept, canary: Canary) -> None:
    filler = "all is well " * 7_000
    line = f"{filler[: LINE_CAP - len(canary.text) // 2]} {canary.text} {filler}"
    told = kept(line.encode())
    assert found_in("".join(told)) == []
    assert len(told) > 1
    assert max(map(len, told)) <= LINE_CAP
    assert "".join(told).count("all is well") == line.count("all is well")


def test_a_line_of_nothing_but_secrets_is_given_up(kept: Kept) -> None:
    random = Random(1)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    secrets = ["".join(random.choices(letters, k=249)) for _ in range(400)]
    pairs = " ".join(f"token={secret}" for secret in secrets)
    told = kept(f"wherever it is cut, it is cut inside of one: {pairs}".encode())
    assert told[0] == "[REDACTED:text]"
    said = "".join(told)
    assert [secret for secret in secrets if secret[:16] in said or secret[-16:] in said] == []


def test_a_line_is_seen_with_the_one_before(kept: Kept) -> None:
    assert kept(b"password:\n", b"  tr0ub4dor&3xyz\n", b"plain\n") == [
        "password:", "  [REDACTED:assigned-secret]", "plain",
    ]  # fmt: skip


def test_lines_without_secrets_are_kept_to_the_letter_however_they_are_read(tmp_path: Path) -> None:
    lines = ["", "plain", "\x1b[31mred\x1b[0m", "é ü \u202e", "a\0b", "two\r", "END PRIVATE KEY", "x" * LINE_CAP]
    data = "\n".join(lines).encode()
    for number, pieces in enumerate((bytewise(data), [data], data.splitlines(keepends=True))):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert Kept(folder)(*pieces) == lines


def test_what_is_no_utf_8_is_replaced(kept: Kept) -> None:
    assert kept(b"\xff\xc3", b"\xa9 \xe2\x82", b"\nend \xe2\x82") == ["\ufffd\u00e9 \ufffd", "end \ufffd"]


def test_a_key_that_never_ends_is_held_no_longer_than_a_key_is(kept: Kept) -> None:
    kept.log.feed(b"-----BEGIN PRIVATE KEY-----\n")
    assert kept.told == []
    for number in range(5_000):
        kept.log.feed(b"no line of a key, number %d\n" % number)
    assert kept.told[-1] == "no line of a key, number 4999"
    assert len(kept.told) >= 5_000
    kept.log.close()


def test_a_key_whose_end_never_comes_is_no_less_a_key(kept: Kept) -> None:
    block = CANARIES[-1].text.rpartition("\n")[0]
    told = kept(f"see\n{block}".encode())
    assert told == ["see", "[REDACTED:private-key]"]


def test_a_log_that_is_cut_says_so_once_and_counts_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "LOG_CAP", 1 << 10)
    small = Kept(tmp_path)
    told = small(*[b"seventeen letters\n"] * 100, b"and no end")
    assert told == [*["seventeen letters"] * (len(told) - 1), CUT]
    assert (1 << 10) - 18 < small.log.size <= 1 << 10
    assert small.log.is_cut


def test_whoever_hushes_is_told_nothing_more_and_the_log_goes_on(kept: Kept) -> None:
    kept.log.feed(b"one\ntwo")
    kept.log.hush()
    kept.log.feed(b"\nthree")
    kept.log.close()
    assert kept.told == ["one"]
    assert kept.path.read_text() == "one\ntwo\nthree\n"


@pytest.mark.parametrize("error", ERRNOS)
@pytest.mark.parametrize("call", ["write", "second write", "fsync", "close"])
def test_a_disk_that_fails_is_told_and_nothing_else_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: str, call: str
) -> None:
    at = ["open", "write", "second write", "fsync", "close"].index(call) + 1
    monkeypatch.setattr(output, "os", FaultyOs(error, at))
    kept = Kept(tmp_path)
    for piece in (b"one\n", b"two\n"):
        kept.log.feed(piece)
    kept.log.close()
    assert kept.log.fault == os.strerror(getattr(errno, error))
    assert kept.told == ["one", "two"]
    written = {"write": "", "second write": "one\n"}.get(call, "one\ntwo\n")
    assert (kept.path.read_text(), kept.log.size) == (written, len(written))


def test_a_disk_that_takes_little_at_once_gets_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "os", FaultyOs("short", 2))
    kept = Kept(tmp_path)
    assert kept(b"a line of some length\n") == ["a line of some length"]
    assert kept.log.fault is None


def last_of(*pieces: bytes) -> str | None:
    """What is told of a run without a log that printed these reads."""
    told: list[str] = []
    end = OutputEnd(told.append)
    for piece in pieces:
        end.feed(piece)
        assert told == [], "nothing is told before the end"
    end.close()
    assert end.printed == sum(map(len, pieces))
    assert len(told) <= 1
    return told[0] if told else None


def test_without_a_log_the_last_line_that_is_not_blank_is_told() -> None:
    assert last_of(b"one\ntwo", b" words\n\n", b"  \n") == "two words"
    assert last_of(b"one\n", b"no end") == "no end"
    assert (last_of(), last_of(b"\n \n")) == (None, None)
    assert last_of(b"password:\n", b"  tr0ub4dor&3xyz\n") == "  [REDACTED:assigned-secret]"


@pytest.mark.parametrize("canary", CANARIES[::8], ids=lambda canary: canary.kind)
def test_without_a_log_no_half_of_a_secret_is_told_either(canary: Canary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "_END", 1 << 10)
    secret = canary.text.encode()
    for cut in range(4, len(secret), 8):
        blank = b"\n" * ((1 << 10) - len(secret) + cut)
        told = last_of(b"x" * (2 << 10), secret, blank)
        assert found_in(told or "") == [], cut
    assert found_in(secret[4:]), "which is found where it stands"


def test_without_a_log_memory_and_time_do_not_grow_with_what_is_printed() -> None:
    block = b"y\n" * (32 << 10)
    end = OutputEnd(None)
    for _ in range(1_000):
        end.feed(block)
    assert (end.printed, end.size, end.is_cut) == (1_000 * len(block), 0, False)
    assert last_of(*[block] * 100, b"the last word\n") == "the last word"


def test_without_a_log_whoever_hushes_is_told_nothing() -> None:
    told: list[str] = []
    end = OutputEnd(told.append)
    end.feed(b"one\n")
    end.hush()
    end.close()
    assert told == []
