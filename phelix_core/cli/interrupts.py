"""Signals that ask the process to end, taken note of where something must be brought to an orderly end first."""

import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Final

_ASKING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def noted() -> Generator[Callable[[], bool]]:
    """While this lasts, such a signal ends nothing by itself: what is handed out tells whether one has come.

    Who ignores one, as behind `nohup`, goes on ignoring it.
    """
    came: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        came.append(number)

    before = {number: signal.getsignal(number) for number in _ASKING}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, note)
    try:
        yield lambda: bool(came)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
