"""Time, handed down: the wall clock for what people read, the monotonic one for waiting and for leases.

The monotonic clock is the machine's, the same for every process of one boot; it does not go on while the
machine sleeps. With the boot's id it says how long a lease has lived, whatever is done to the wall clock.
Source: queue page, fencing (clock).
"""

import os
import time
from typing import Protocol

from phelix_core.frozen import frozen

UNKNOWN_BOOT = ""
"""The id of a boot that the machine does not tell."""
_BOOT_ID_FILE = "/proc/sys/kernel/random/boot_id"


@frozen
class Moment:
    """Now, by both clocks, in milliseconds; `boot` says which run of the machine `mono_ms` counts in."""

    wall_ms: int
    mono_ms: int
    boot: str


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

    def boot(self) -> str:
        """Which run of the machine `monotonic` counts in; `UNKNOWN_BOOT` where that cannot be told."""
        ...


def moment_of(clock: Clock) -> Moment:
    """Both clocks at once."""
    return Moment(wall_ms=clock.now_ms(), mono_ms=int(clock.monotonic() * 1000), boot=clock.boot())


class SystemClock:
    """The machine's clocks; no process outlives the boot that it began in, so its id is read once."""

    _boot: str | None = None

    def now_ms(self) -> int:
        """Milliseconds since 1970-01-01 UTC by the wall clock."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds that never run backwards."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def boot(self) -> str:
        """The kernel's id of this boot, where it tells one; without, the wall clock decides about leases."""
        if self._boot is None:
            self._boot = _boot_id()
        return self._boot


def _boot_id() -> str:
    try:
        descriptor = os.open(_BOOT_ID_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return UNKNOWN_BOOT
    try:
        return os.read(descriptor, 128).decode("utf-8", "replace").strip()
    except OSError:
        return UNKNOWN_BOOT
    finally:
        os.close(descriptor)


def iso(ms: int) -> str:
    """A wall time as payloads write it, `2026-08-01T11:42:10.123Z`; beyond the year 9999 the last moment of it."""
    seconds, rest = divmod(min(max(ms, 0), _LAST_MS), 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{rest:03}Z"


def from_iso(text: str) -> int:
    """The milliseconds of an ISO time that names its offset; raises `ValueError`."""
    from datetime import datetime  # noqa: PLC0415 - only deadlines are read

    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("the time names no offset from UTC")
    return round(moment.timestamp() * 1000)


_LAST_MS = 253_402_300_799_999
