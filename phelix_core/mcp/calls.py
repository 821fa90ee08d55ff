"""The calls of one connection: writes one at a time in the order they came, reads beside them, and their end.

A slow call never keeps a read waiting, nor a read a write, nor what executes a program either of them. A call that was
taken back before it began never begins; a write that has begun is carried to its end and answered with what it did, as
the protocol allows for what cannot be taken back. At the end every write is decided, reads get a moment, and nothing
that a read has started is left behind. Source: surfaces page, MCP.

All of it is touched on the event loop alone, but for what runs in the threads.
"""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Final

import anyio
from anyio.lowlevel import checkpoint_if_cancelled
from mcp.shared.dispatcher import coerce_request_id
from mcp_types import JSONRPCRequest, RequestId

from phelix_core.commands.faults import unforeseen
from phelix_core.errors import Cancelled, PhelixError
from phelix_core.frozen import frozen
from phelix_core.mcp.tools import Answered, Tool
from phelix_core.strictjson import dumps

READERS: Final = 32
EXECUTORS: Final = 8
GRACE_S: Final = 0.5
"""How long reads may still take at the end."""
PATIENCE_S: Final = 15.0
"""How long one write is waited for at the end: longer than any lock is."""

Told = Callable[[PhelixError], Answered]
"""How a server's answers tell a failure."""


class Ending(Cancelled):
    """The server is ending; the call was not begun, and nothing was written."""


@frozen
class _Begun:
    """A call that was given to a thread."""

    request_id: RequestId
    future: Future[Answered]
    looks: bool
    executes: bool


class Calls:
    """What was asked and is not answered yet."""

    def __init__(self, told: Told, hurry: Callable[[], None]) -> None:
        self._told = told
        self._hurry = hurry
        self._writer = ThreadPoolExecutor(1, "write")
        self._executor = ThreadPoolExecutor(EXECUTORS, "execute")
        self._readers = ThreadPoolExecutor(READERS, "read")
        self._asked: set[RequestId] = set()
        self._begun: list[_Begun] = []
        self._threads: set[Future[Answered]] = set()
        self._running: set[Future[Answered]] = set()
        self._ending = False
        self._changed = anyio.Event()

    @property
    def busy(self) -> bool:
        """Whether a thread still works, also for a call that nobody waits for."""
        return any(not future.done() for future in self._threads)

    def asked(self, request: JSONRPCRequest) -> None:
        """A request is handed on; an answer is due."""
        self._asked.add(coerce_request_id(request.id))

    def answered(self, request_id: RequestId | None) -> None:
        """An answer has been written."""
        if request_id is not None:
            self._asked.discard(coerce_request_id(request_id))
            self._tell()

    def taken_back(self, request_id: RequestId) -> bool:
        """Whether a call that its caller gives up may be dropped; not so where its write has begun."""
        request_id = coerce_request_id(request_id)
        for begun in self._begun:
            if begun.request_id == request_id and not begun.future.cancel() and not begun.looks:
                return False
        self._asked.discard(request_id)
        self._tell()
        return True

    async def carried_out(self, request_id: RequestId, tool: Tool, arguments: Mapping[str, object]) -> Answered:
        """Call a tool in the thread that it belongs to."""
        await checkpoint_if_cancelled()
        if self._ending:
            return self._told(Ending())
        looks = tool.only_looks(arguments)
        threads = self._readers if looks else self._executor if tool.executes else self._writer
        future = threads.submit(self._called, tool, arguments)
        self._threads.add(future)
        if tool.runs:
            self._running = {one for one in self._running if not one.done()} | {future}
        begun = _Begun(request_id=coerce_request_id(request_id), future=future, looks=looks, executes=tool.executes)
        self._begun.append(begun)
        try:
            await _done(future)
        finally:
            self._begun.remove(begun)
            self._threads = {thread for thread in self._threads if not thread.done()}
            self._tell()
        if not future.cancelled():
            return future.result()
        if not self._ending:
            await anyio.sleep_forever()  # its caller took it back, and the SDK is about to drop it unanswered
        return self._told(Ending())

    def _called(self, tool: Tool, arguments: Mapping[str, object]) -> Answered:
        try:
            return tool.call(dumps(arguments))
        except PhelixError as refused:
            return self._told(refused)
        except Exception as error:  # noqa: BLE001 - a call's edge: an unforeseen fault is an answer, not a crash
            return self._told(unforeseen(error))

    def end(self) -> None:
        """Begin no call any more, those that wait for their turn neither."""
        self._ending = True
        for begun in self._begun:
            begun.future.cancel()
        self._tell()

    async def settled(self) -> None:
        """Wait until each write is decided and answered; reads get `GRACE_S` beyond that.

        What executes has a time limit of its own, and is waited for as long as nobody asked for the end: a host that
        has left is no reason to end what it began, nor to leave the outcome unrecorded. What only looks by running
        something, also for a caller that has given it up, is then asked to end.
        """
        await self._decided()
        running = [future for future in self._running if not future.done()]
        if running:
            self._hurry()
            with anyio.move_on_after(PATIENCE_S):
                for future in running:
                    await _done(future)
            with anyio.move_on_after(GRACE_S):
                while self._asked:
                    await self._changed.wait()

    async def _decided(self) -> None:
        while self._asked:
            while self._writes():
                with anyio.move_on_after(None if self._executes() else PATIENCE_S) as patience:
                    await self._changed.wait()
                if patience.cancelled_caught:
                    return
            with anyio.move_on_after(GRACE_S) as grace:
                while self._asked and not self._writes():
                    await self._changed.wait()
            if grace.cancelled_caught:
                return

    def _writes(self) -> bool:
        return any(not begun.looks for begun in self._begun)

    def _executes(self) -> bool:
        return not self._ending and any(begun.executes for begun in self._begun)

    def _tell(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


async def _done(future: Future[Answered]) -> None:
    """Wait for a thread's work; giving up the waiting does not touch the work."""
    loop, done = asyncio.get_running_loop(), anyio.Event()

    def tell(_: Future[Answered]) -> None:
        with suppress(RuntimeError):  # the loop may have closed by then
            loop.call_soon_threadsafe(done.set)

    future.add_done_callback(tell)
    await done.wait()
