"""Give the terminal back: whatever ends the console, its modes are undone or the process is gone, in 1 s.

Textual leaves by itself when its event loop is free. It does not when the loop or a worker is busy,
when SIGTERM or SIGHUP arrives (the default action ends it inside the alternate screen), or when the
terminal has gone (it spins on a dead descriptor). `Watchdog` covers these from a thread of its own:

- TERM, HUP, INT: the app is asked to leave; 0.8 s later, if the process is still there, the thread
  writes the restoring bytes itself and ends the process with 128 + n.
- The terminal is gone (hang-up on the descriptor, or `isatty` says so): the same within 0.3 s.
- `with` left by an exception, or the interpreter exits inside it: the restoring bytes are written.

The signal number reaches the thread through `signal.set_wakeup_fd`, which the C handler writes to, so
that it also arrives while the main thread is inside a long call that has let go of the GIL. The one
thing nobody here can outlive is C code that keeps the GIL; and SIGKILL, which leaves the modes behind.
Source: console page, terminal life; public report 15.
"""

import atexit
import contextlib
import os
import select
import signal
import termios
import threading
import time
from collections.abc import Callable, Generator, MutableMapping
from types import FrameType, TracebackType
from typing import Any, Self

from phelix_core.frozen import frozen_in_order

GRACE_S = 0.8
"""What the app gets for a clean exit after a signal."""
LOST_GRACE_S = 0.3
"""The same once there is no terminal left to restore."""
TICK_S = 0.25
"""How often `isatty` is asked, for systems whose `poll` does not report a hang-up."""

WATCHED = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)

RESTORING = b"".join(
    (
        b"\x1b[?2026l",  # synchronized output off, or nothing below would show
        b"\x1b[<u",  # kitty keyboard flags off, before the screen they belong to is left
        b"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?1016l",  # mouse
        b"\x1b[?1004l",  # focus reports
        b"\x1b[?2004l",  # bracketed paste
        b"\x1b[?2048l",  # in-band resize reports
        b"\x1b[0m\x1b[?7h",  # plain text, lines wrap
        b"\x1b[?1049l",  # the screen there was before
        b"\x1b[?25h",  # the cursor
    )
)


def write_now(descriptor: int, data: bytes) -> bool:
    """Write to a terminal without ever waiting for it; False if it would not take everything.

    Output that is stuck in the terminal's queue is thrown away to make room: the screen it was for is
    about to be left.
    """
    try:
        # A description of our own, so that O_NONBLOCK does not leak into other writers.
        own = os.open(os.ttyname(descriptor), os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        for _ in range(2):
            with contextlib.suppress(OSError):
                data = data[os.write(own, data) :]
            if not data:
                return True
            with contextlib.suppress(termios.error):
                termios.tcflush(own, termios.TCOFLUSH)
        return False
    finally:
        os.close(own)


class Watchdog:
    """See the module. Use it as a context manager around `App.run`, on the main thread.

    `leave(code)` asks the app for a clean exit; it is called on the watchdog's thread, once, and must
    not wait (`App.exit(return_code=code)` is fine: posting a message is safe from threads). When the
    `with` block is left after a signal the watchdog stays armed, so that a worker which keeps the
    process alive is outlived; the caller then exits with `exit_code`.
    """

    def __init__(
        self,
        leave: Callable[[int], None],
        *,
        grace_s: float = GRACE_S,
        lost_grace_s: float = LOST_GRACE_S,
        tick_s: float = TICK_S,
        input_fd: int = 0,
        output_fd: int = 2,  # Textual draws on standard error
    ) -> None:
        self._leave = leave
        self._grace_s, self._lost_grace_s, self._tick_s = grace_s, lost_grace_s, tick_s
        self._input_fd, self._output_fd = input_fd, output_fd
        self._exit_code: int | None = None
        self._deadline: float | None = None
        self._deaf = False
        self._inside = False
        self._attributes: list[Any] | None = None
        self._former: dict[int, Any] = {}
        self._former_wakeup = -1
        self._read_end = self._write_end = -1
        self._thread: threading.Thread | None = None

    @property
    def exit_code(self) -> int | None:
        """128 + the signal that ended the console (129 too if the terminal went); None without one."""
        return self._exit_code

    def __enter__(self) -> Self:
        """Remember the terminal's settings, take the signals, start the thread."""
        with contextlib.suppress(termios.error):
            self._attributes = termios.tcgetattr(self._input_fd)
        self._read_end, self._write_end = os.pipe()
        os.set_blocking(self._write_end, False)
        self._former_wakeup = signal.set_wakeup_fd(self._write_end, warn_on_full_buffer=False)
        self._former = {number: signal.signal(number, self._on_signal) for number in WATCHED}
        self._inside = True
        atexit.register(self._at_exit)
        self._thread = threading.Thread(target=self._watch, name="phelix-watchdog", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stand down after a normal end; stay armed after a signal; restore after an exception."""
        if error is not None:
            self.restore()
        self._inside = False
        atexit.unregister(self._at_exit)
        if self._exit_code is not None:
            return
        signal.set_wakeup_fd(self._former_wakeup)
        for number, handler in self._former.items():
            signal.signal(number, handler)
        self._wake(0)
        if self._thread is not None:
            self._thread.join()
        os.close(self._read_end)
        os.close(self._write_end)

    @contextlib.contextmanager
    def ignoring_interrupts(self) -> Generator[None]:
        """Leave INT to a child that has the terminal for now (`App.suspend`): ctrl+c there is its own."""
        self._deaf = True
        try:
            yield
        finally:
            self._deaf = False

    def restore(self) -> None:
        """Write the restoring bytes and the terminal's former settings, without waiting for either."""
        # A background process that changes the terminal is stopped by SIGTTOU, unless it is blocked.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
        try:
            write_now(self._output_fd, RESTORING)
            if self._attributes is not None:
                with contextlib.suppress(termios.error):
                    termios.tcsetattr(self._input_fd, termios.TCSANOW, self._attributes)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _at_exit(self) -> None:
        if self._inside:
            self.restore()

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        """Tell the thread once more, in case someone else has taken the wakeup descriptor."""
        self._wake(number)

    def _wake(self, number: int) -> None:
        with contextlib.suppress(OSError):
            os.write(self._write_end, bytes((number,)))

    # On the watchdog's thread

    def _watch(self) -> None:
        """Wait for a signal's number, the loss of the terminal, or the deadline that follows either."""
        poller = select.poll()
        poller.register(self._read_end, select.POLLIN)
        has_terminal = os.isatty(self._input_fd)
        if has_terminal:
            poller.register(self._input_fd, 0)  # A hang-up is reported unasked.
        while True:
            for descriptor, _ in poller.poll(self._pause_ms()):
                if descriptor == self._read_end:
                    if not self._hear(os.read(self._read_end, 64)):
                        return
                else:
                    poller.unregister(descriptor)
            if has_terminal and not os.isatty(self._input_fd):
                has_terminal = False
                self._begin(signal.SIGHUP, self._lost_grace_s)
            if self._deadline is not None and time.monotonic() >= self._deadline:
                self._end()

    def _pause_ms(self) -> float:
        if self._deadline is None:
            return self._tick_s * 1000
        return max(0.0, min(self._deadline - time.monotonic(), self._tick_s)) * 1000

    def _hear(self, numbers: bytes) -> bool:
        """Act on what came through the pipe; False means stand down."""
        for number in numbers:
            if number == 0:
                return False
            if number in WATCHED and not (self._deaf and number == signal.SIGINT):
                self._begin(number, self._grace_s)
        return True

    def _begin(self, number: int, grace_s: float) -> None:
        """Start the countdown, or shorten it; ask the app to leave if this is the first reason."""
        deadline = time.monotonic() + grace_s
        first = self._exit_code is None
        self._deadline = deadline if self._deadline is None else min(self._deadline, deadline)
        if first:
            self._exit_code = 128 + number
            with contextlib.suppress(Exception):  # An app that cannot leave is what the deadline is for.
                self._leave(self._exit_code)

    def _end(self) -> None:
        if self._inside:
            self.restore()
        os._exit(self._exit_code or 1)


@frozen_in_order
class ColourWish:
    """What `NO_COLOR` asks for (https://no-color.org: any value but the empty one).

    Textual takes the variable out of the environment, also for children, takes an empty one for a
    wish, and under it alone still sends greys. `ansi_color` given to `App` sends no colour at all.
    """

    no_color: str | None

    @classmethod
    def from_environment(cls, environ: MutableMapping[str, str] = os.environ) -> Self:
        """Read the wish before the App is made; an empty `NO_COLOR` is taken away, for it asks nothing."""
        if environ.get("NO_COLOR") == "":
            del environ["NO_COLOR"]
        return cls(environ.get("NO_COLOR"))

    @property
    def ansi_color(self) -> bool | None:
        """For `App(ansi_color=…)`: True draws without colours, None leaves it to the theme."""
        return True if self.no_color else None

    @contextlib.contextmanager
    def told_to_children(self, environ: MutableMapping[str, str] = os.environ) -> Generator[None]:
        """Put `NO_COLOR` back for what runs inside `App.suspend`."""
        if self.no_color:
            environ["NO_COLOR"] = self.no_color
        try:
            yield
        finally:
            environ.pop("NO_COLOR", None)
