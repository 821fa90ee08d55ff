"""A deadline around a memory: each call ends in time, whatever the memory does.

A call runs in a thread of its own, one at a time; a second one waits for its turn within its own deadline. One that is
late is left behind, its answer dropped, and as long as it still runs every further call fails at once: threads do not
pile up. Whatever a memory raises becomes `MemoryUnavailable`.
"""

from collections.abc import Callable, Sequence
from threading import Event, Lock, Thread
from typing import Final, Generic, TypeVar

from phelix_core.clock import Clock, SystemClock
from phelix_core.memory.port import Keepsake, Memory, MemoryScope, MemoryUnavailable, Recalled

_Answer = TypeVar("_Answer")

STILL_BUSY: Final = "an earlier call has not ended yet"


class Bounded:
    """`memory`, each of whose calls may take `seconds`."""

    def __init__(self, memory: Memory, seconds: float, clock: Clock | None = None) -> None:
        self._memory = memory
        self._seconds = seconds
        self._clock = clock or SystemClock()
        self._turn = Lock()
        self._late: Event | None = None

    def recall(self, query: str, scope: MemoryScope, limit: int) -> Sequence[Recalled]:
        """As the memory answers, in time."""
        return self._within(lambda: self._memory.recall(query, scope, limit))

    def remember(self, keepsake: Keepsake) -> str:
        """As the memory answers, in time; a text whose answer came too late may be kept nevertheless."""
        return self._within(lambda: self._memory.remember(keepsake))

    def _within(self, call: Callable[[], _Answer]) -> _Answer:
        until = self._clock.monotonic() + self._seconds
        if self._late is not None and not self._late.is_set():
            raise MemoryUnavailable(STILL_BUSY)
        if not self._turn.acquire(timeout=self._seconds):
            raise self._silent()
        run = _Run(call, self._turn)
        try:
            if not run.ended.wait(max(0.0, until - self._clock.monotonic())):
                raise self._silent()
        finally:
            if not run.ended.is_set():
                self._late = run.ended
        return run.answer()

    def _silent(self) -> MemoryUnavailable:
        return MemoryUnavailable(f"no answer within {self._seconds:g} s")


class _Run(Generic[_Answer]):
    """One call in a thread that ends with it; `turn` is free again when the call has ended, late or not."""

    def __init__(self, call: Callable[[], _Answer], turn: Lock) -> None:
        self.ended = Event()
        self._call = call
        self._turn = turn
        self._answers: list[_Answer] = []
        self._failure = ""
        try:
            Thread(target=self._run, name="memory", daemon=True).start()
        except RuntimeError:
            turn.release()
            raise MemoryUnavailable("no thread can be started for it") from None

    def _run(self) -> None:
        try:
            self._answers.append(self._call())
        except MemoryUnavailable as error:
            self._failure = str(error)
        except BaseException as error:  # noqa: BLE001 - nothing stands above a thread that could say it
            self._failure = f"the memory failed: {type(error).__name__}"
        finally:
            self.ended.set()
            self._turn.release()

    def answer(self) -> _Answer:
        """What the call answered; raises what became of it instead."""
        if not self._answers:
            raise MemoryUnavailable(self._failure)
        return self._answers[0]
