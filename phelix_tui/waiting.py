"""Waits: in a thread of its own where there is no end to it, so that it takes none of the few that read."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Self, TypeVar

Answer = TypeVar("Answer")


async def at_once() -> None:
    """No wait."""


class OwnThread:
    """One thread while it is entered; `leave` makes what waits in it come back, and is called when the task ends."""

    def __init__(self, name: str, leave: Callable[[], object]) -> None:
        self._threads = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._leave = leave

    async def run(self, wait: Callable[[], Answer]) -> Answer:
        """What the wait came back with; a task that is cancelled goes only once the wait has come back."""
        waiting = asyncio.get_running_loop().run_in_executor(self._threads, wait)
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            self._leave()
            await asyncio.wait({waiting})
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._leave()
        self._threads.shutdown(wait=False)
