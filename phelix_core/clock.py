"""Time, handed down: the wall clock for what people read, the monotonic one for waiting."""

import time
from typing import Protocol


class Clock(Protocol):
    """What a command may ask of time; rules get plain integers instead."""

    def now_ms(self) -> int:
        """Milliseconds since 1970-01-01 UTC by the wall clock."""
        ...

    def monotonic(self) -> float:
        """Seconds that never run backwards, from an arbitrary start."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now_ms(self) -> int:
        """Milliseconds since 1970-01-01 UTC by the wall clock."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds that never run backwards."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)
