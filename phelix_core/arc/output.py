"""What a command prints, as it may be kept: whole lines, redacted, in a file of its own, and not without end.

No secret is looked at in half: lines are read to their end and seen together with the one before, the block of a
private key is held until it closes, and a line that is too long is cut where no secret stands. Apart from that text is
stored as it was printed, controls included: whoever shows it makes it visible. Memory stays flat whatever comes. A
file that takes no more ends the file, not the command.
"""

import os
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

from phelix_core.files import why
from phelix_core.redaction import redact

LOG_CAP: Final = 10 << 20
"""The file's size in bytes, at most."""
LINE_CAP: Final = 64 << 10
"""Characters of one line; the rest of it stands on the next."""
CUT: Final = f"[the log ends here: it keeps {LOG_CAP >> 20} MiB, and the command printed more]"

_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_MODE: Final = 0o600
_WINDOW: Final = 2 << 10  # as much as the rules take for one secret, and then some
_CUTS: Final = 8
_KEY_CAP: Final = 64 << 10
_END: Final = _KEY_CAP + LINE_CAP  # a key that is open at the end, and the line before it, stand in it whole
_GIVEN_UP: Final = "[REDACTED:text]"


class OutputLog:
    """The log of one run at `path`, where nothing may be yet; `told` gets each line that goes there.

    `size` is what the file holds and `printed` what came, in bytes; `fault` is why the file ends before the output.
    """

    def __init__(self, path: str, told: Callable[[str], None] | None) -> None:
        self.size = 0
        self.printed = 0
        self.is_cut = False
        self.fault: str | None = None
        self._path = path
        self._told = told
        self._lines = _Lines()
        self._room = LOG_CAP - len(CUT) - 1
        self._file = os.open(path, _FLAGS, _FILE_MODE)

    def feed(self, data: bytes) -> None:
        """Take what was printed next; what `told` raises comes out here."""
        self.printed += len(data)
        if not self.is_cut:
            self._keep(self._lines.feed(data))

    def hush(self) -> None:
        """Tell nobody any more."""
        self._told = None

    def close(self) -> None:
        """Keep what has no line end yet, and make sure of the file."""
        try:
            if not self.is_cut:
                self._keep(self._lines.end())
        finally:
            try:
                os.fsync(self._file)
            except OSError as error:
                self.fault = self.fault or why(error)
            self._let_go()

    def discard(self) -> None:
        """Remove the file: nothing ran that could have printed."""
        self._let_go()
        with suppress(OSError):
            os.unlink(self._path)

    def _let_go(self) -> None:
        try:
            os.close(self._file)
        except OSError as error:
            self.fault = self.fault or why(error)

    def _keep(self, lines: Iterator[str]) -> None:
        kept, data = list[str](), bytearray()
        for line in lines:
            encoded = line.encode() + b"\n"
            self.is_cut = len(data) + len(encoded) > self._room
            if self.is_cut:
                encoded = CUT.encode() + b"\n"
            kept.append(CUT if self.is_cut else line)
            data += encoded
            if self.is_cut:
                break
        self._room -= len(data)
        self._write(data)
        if self._told is not None:
            for line in kept:
                self._told(line)

    def _write(self, data: bytearray) -> None:
        rest = memoryview(data)
        try:
            while rest and self.fault is None:
                written = os.write(self._file, rest)
                self.size += written
                rest = rest[written:]
        except OSError as error:
            self.fault = why(error)


class OutputEnd:
    """In place of a log: nothing is kept, and `told` gets the last line that is not blank, once the run has ended.

    What comes before is not looked at, so that a command that prints much is not held up by whoever reads it.
    """

    size: Final = 0
    is_cut: Final = False
    fault: Final = None

    def __init__(self, told: Callable[[str], None] | None) -> None:
        self.printed = 0
        self._told = told
        self._end = bytearray()

    def feed(self, data: bytes) -> None:
        """Take what was printed next."""
        self.printed += len(data)
        self._end += data
        if len(self._end) > 2 * _END:
            del self._end[:-_END]

    def hush(self) -> None:
        """Tell nobody."""
        self._told = None

    def close(self) -> None:
        """Tell the last line."""
        begins_within = self.printed > len(self._end)  # a line, which may be the half of a secret
        lines = _Lines()
        found = [*lines.feed(bytes(self._end)), *lines.end()][1 if begins_within else 0 :]
        last = next((line for line in reversed(found) if line.strip()), None)
        if last is not None and self._told is not None:
            self._told(last)

    def discard(self) -> None:
        """Forget it: nothing ran that could have printed."""


class _Lines:
    """Redacted lines out of bytes that come in any pieces."""

    def __init__(self) -> None:
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._rest = ""  # a line whose end has not come
        self._before = ""  # the end of the line before, as it was printed
        self._held = ""  # a private key whose end has not come

    def feed(self, data: bytes) -> Iterator[str]:
        """Lines that have ended."""
        whole, ended, rest = (self._rest + self._decoder.decode(data)).rpartition("\n")
        self._rest = rest
        if ended:
            yield from self._block(whole)
        while len(self._rest) > LINE_CAP + _WINDOW:
            piece, self._rest = _cut_off(self._rest)
            yield from self._block(piece)

    def end(self) -> Iterator[str]:
        """What is left when nothing more comes."""
        rest, self._rest = self._rest + self._decoder.decode(b"", final=True), ""
        if rest:
            yield from self._block(rest)
        if self._held:
            held, self._held = self._held, ""
            yield from self._redacted(held)

    def _block(self, block: str) -> Iterator[str]:
        """Lines that came together, up to a private key that has not closed yet."""
        if self._held:
            block = f"{self._held}\n{block}"
        key = _open_key(block)
        self._held = "" if key is None or len(block) - key > _KEY_CAP else block[key:]
        if not self._held:
            yield from self._redacted(block)
        elif key:
            yield from self._redacted(block[: key - 1])

    def _redacted(self, block: str) -> Iterator[str]:
        before, self._before = self._before, block.rpartition("\n")[2][-_WINDOW:]
        for line in _after(before, block).split("\n"):
            yield line[:LINE_CAP]
            for at in range(LINE_CAP, len(line), LINE_CAP):
                yield line[at : at + LINE_CAP]


def _after(before: str, block: str) -> str:
    """`block` without its secrets, also those that the line before it gives away.

    Where a secret began on that line, what is left of the line stands here again: it went out before that was seen.
    """
    text = f"{before}\n{block}"
    redacted = redact(text)
    if redacted == text:
        return block
    for head in (before, redact(before)):
        if redacted.startswith(f"{head}\n"):
            return redacted[len(head) + 1 :]
    return redacted


def _open_key(block: str) -> int | None:
    """Where the line starts on which a private key begins that does not end in `block`."""
    label = block.rfind("PRIVATE KEY")
    start = block.rfind("\n", 0, max(label, 0)) + 1
    is_open = label >= 0 and block.rfind("BEGIN", start, label) > block.rfind("END", start, label)
    return start if is_open else None


def _cut_off(line: str) -> tuple[str, str]:
    """A piece of a line that is too long, and the rest: cut where no secret stands on both sides.

    Where one stands at each place that is tried, the piece is given up, and the word that goes on behind it.
    """
    for at in range(LINE_CAP, LINE_CAP - _CUTS * _WINDOW, -_WINDOW):
        left, right = line[at - _WINDOW : at], line[at : at + _WINDOW]
        if redact(left + right) == redact(left) + redact(right):
            return line[:at], line[at:]
    return _GIVEN_UP, line[LINE_CAP:].partition(" ")[2]
