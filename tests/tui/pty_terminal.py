"""A terminal for tests: a real pty, every byte kept, a screen to read, waiting without sleeping.

`PtyTerminal` runs a command on a pty of its own, as its controlling terminal, and feeds what comes
out to pyte. `wait_for` wakes at each byte that arrives and fails with the screen in its message.
What pyte does not know (kitty keyboard flags, device queries) is taken out before it sees it.
"""

import contextlib
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self

import pyte

_TAKE_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execvp(sys.argv[1], sys.argv[1:])"
)
UNKNOWN_TO_PYTE = re.compile(
    rb"\x1b\[[<>=][0-9;]*[a-zA-Z]|\x1b\[\?[0-9;]*\$p|\x1bP.*?\x1b\\|\x1b\].*?(?:\x07|\x1b\\)", re.DOTALL
)
_UNFINISHED = re.compile(rb"\x1b(?:\[[0-9;<>=?$]*|[P\]][^\x07]*)?$")
_MODES = re.compile(rb"\x1b\[\?([0-9;]+)([hl])")
_BIG, _SMALL = 65_536, 256
"""Bytes read at once; a slow line is made of small parts, so that it is even."""
_QUESTION, _ANSWER = b"\x1b[?2026$p", b"\x1b[?2026;2$y"
_KITTY = re.compile(rb"\x1b\[([<>])[0-9;]*u")

KEYS: Mapping[str, str] = {
    "enter": "\r",
    "escape": "\x1b",
    "tab": "\t",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "pageup": "\x1b[5~",
    "pagedown": "\x1b[6~",
    "home": "\x1b[H",
    "end": "\x1b[F",
    "backspace": "\x7f",
}


def clean_environment(**extra: str) -> dict[str, str]:
    """What a program on a plain modern terminal finds; nothing of the machine that runs the tests."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "PYTHONPATH") if name in os.environ}
    return {"LC_ALL": "C.UTF-8", **kept, "TERM": "xterm-256color", "COLORTERM": "truecolor", **extra}


class PtyTerminal:
    """One command on one terminal. Use it as a context manager: leaving it ends the command."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cols: int = 80,
        rows: int = 24,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        bytes_a_second: int | None = None,
        answers: bool = False,
    ) -> None:
        """Start the command.

        `answers`: the question for synchronized output is answered, as most terminals do. `bytes_a_second` makes the
        line as slow: what the command writes beyond it waits, as on a slow connection.
        """
        self.bytes_a_second, self._answers = bytes_a_second, answers
        self._screen = pyte.Screen(cols, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._raw = bytearray()
        self._held = b""
        self._changed = threading.Condition()
        master, slave = os.openpty()
        self._master: int | None = master
        self._stop = os.pipe()
        self._set_size(cols, rows)
        self.settings_before = termios.tcgetattr(slave)
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _TAKE_TERMINAL, *argv],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=dict(env) if env is not None else clean_environment(),
            cwd=cwd,
            start_new_session=True,
        )
        # Kept open, so that the settings can be read and nothing is lost when the command ends.
        self._slave: int | None = slave
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    # What is on the terminal

    @property
    def raw(self) -> bytes:
        """All bytes so far."""
        with self._changed:
            return bytes(self._raw)

    def raw_from(self, place: int) -> bytes:
        """The bytes that came after so many."""
        with self._changed:
            return bytes(self._raw[place:])

    def count_bytes(self) -> int:
        """How many bytes came so far."""
        with self._changed:
            return len(self._raw)

    def lines(self) -> list[str]:
        """The screen now, line by line, without trailing spaces."""
        with self._changed:
            return [line.rstrip() for line in self._screen.display]

    @property
    def text(self) -> str:
        """The screen now, as one text."""
        return "\n".join(self.lines())

    def cell(self, x: int, y: int) -> str:
        """What stands in one cell; empty behind a wide character."""
        with self._changed:
            return self._screen.buffer[y][x].data

    def modes(self) -> set[int]:
        """The DEC private modes that are on now (25 is the cursor, 1049 the alternate screen)."""
        on: set[int] = set()
        for numbers, letter in _MODES.findall(self.raw):
            for number in numbers.split(b";"):
                (on.add if letter == b"h" else on.discard)(int(number))
        return on

    def kitty_depth(self) -> int:
        """How many sets of kitty keyboard flags are pushed now."""
        depth = 0
        for sign in _KITTY.findall(self.raw):
            depth = depth + 1 if sign == b">" else max(0, depth - 1)
        return depth

    def settings(self) -> list[object]:
        """The line settings (termios) now."""
        assert self._slave is not None
        return termios.tcgetattr(self._slave)

    # What a person does

    def send(self, *keys: str | bytes) -> None:
        """Type: names from `KEYS`, `ctrl+x`, or the characters themselves; bytes go out as they are."""
        for key in keys:
            self._write(key if isinstance(key, bytes) else self._bytes_of(key))

    def paste(self, text: str) -> None:
        """Paste, in brackets, as a terminal does once the mode is on."""
        self._write(b"\x1b[200~" + text.encode() + b"\x1b[201~")

    def click(self, x: int, y: int) -> None:
        """Press and release the left button on cell `x`, `y`, counted from zero (SGR reports)."""
        self._write(f"\x1b[<0;{x + 1};{y + 1}M\x1b[<0;{x + 1};{y + 1}m".encode())

    def resize(self, cols: int, rows: int) -> None:
        """Change the terminal's size; the command is told by SIGWINCH."""
        with self._changed:
            self._screen.resize(lines=rows, columns=cols)
        self._set_size(cols, rows)

    def stop_reading(self) -> None:
        """Read no more, as a stalled connection: what the command writes stays in the terminal's queue."""
        if self._reader.is_alive():
            os.write(self._stop[1], b".")
            self._reader.join()
        for descriptor in self._stop:
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def hang_up(self) -> None:
        """Close the terminal, as when its window goes away: the command is left without one."""
        self.stop_reading()  # a read in flight would keep a closed terminal alive
        for descriptor in (self._slave, self._master):
            if descriptor is not None:
                os.close(descriptor)
        self._slave = self._master = None

    # Waiting

    def wait_for(self, what: str | Callable[["PtyTerminal"], object], timeout: float = 10.0) -> None:
        """Wait until the screen shows a text, or a question about the terminal is answered with yes."""
        deadline = time.monotonic() + timeout
        while True:
            seen = self.count_bytes()
            ended = self.process.poll() is not None
            if (what in self.text) if isinstance(what, str) else what(self):
                return
            with self._changed:
                left = deadline - time.monotonic()
                if left <= 0 or ended:
                    screen = "\n".join(self._screen.display)
                    raise AssertionError(f"not seen: {what!r}; ended: {ended}; the screen is\n{screen}")
                if len(self._raw) == seen:
                    self._changed.wait(min(left, 0.25))

    def wait_quiet(self, seconds: float = 0.15, timeout: float = 5.0) -> None:
        """Wait until nothing has come for so long."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while time.monotonic() < deadline:
                if not self._changed.wait(seconds):
                    return
        raise AssertionError("the terminal does not come to rest")

    def wait_end(self, timeout: float = 10.0) -> int:
        """Wait until the command has ended; its exit status, negative for a signal."""
        try:
            status = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise TimeoutError("the command still runs") from None
        if self._reader.is_alive():
            self.wait_quiet(0.05)
        return status

    # Ending

    def signal(self, number: int) -> None:
        """Send a signal to the command alone."""
        os.kill(self.process.pid, number)

    def close(self) -> None:
        """End the command, if it still runs, and give the terminal up."""
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.hang_up()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Inside

    def _write(self, data: bytes) -> None:
        assert self._master is not None
        while data:
            data = data[os.write(self._master, data) :]

    @staticmethod
    def _bytes_of(key: str) -> bytes:
        if key.startswith("ctrl+") and len(key) == len("ctrl+x"):
            return bytes((ord(key[-1]) & 0x1F,))
        return KEYS.get(key, key).encode()

    def _set_size(self, cols: int, rows: int) -> None:
        assert self._master is not None
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def _read(self) -> None:
        """Keep all bytes and feed the screen, until told to stop (the reader's thread)."""
        assert self._master is not None
        poller = select.poll()
        poller.register(self._master, select.POLLIN)
        poller.register(self._stop[0], select.POLLIN)
        while True:
            ready = dict(poller.poll())
            if self._stop[0] in ready:
                return
            try:
                data = os.read(self._master, _BIG if self.bytes_a_second is None else _SMALL)
            except OSError:
                return
            if self.bytes_a_second is not None:
                time.sleep(len(data) / self.bytes_a_second)
            with self._changed:
                self._raw += data
                self._feed(data)
                self._changed.notify_all()
                asked = self._raw.count(_QUESTION, max(0, len(self._raw) - len(data) - len(_QUESTION) + 1))
            if self._answers and asked:
                os.write(self._master, _ANSWER * asked)

    def _feed(self, data: bytes) -> None:
        data = UNKNOWN_TO_PYTE.sub(b"", self._held + data)
        unfinished = _UNFINISHED.search(data)
        cut = unfinished.start() if unfinished else len(data)
        self._held = data[cut:]
        self._stream.feed(data[:cut])
