"""`serve(tools)`: a table of tools as an MCP server on the process's standard streams, until the host leaves.

Standard output carries protocol and nothing else. The end of standard input ends the server once every call that came
is decided and answered; SIGINT and SIGTERM end it once the running write is, and what waits for its turn is refused
as not begun. Either way reads get a moment, and the process is gone within a second after the last write was decided.
Exit status: 0 after the end of input, 130 and 143 after the signals, 1 where the host stopped listening.
"""

import asyncio
import gc
import logging
import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final, cast

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream, TaskStatus
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCRequest,
    JSONRPCResponse,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    ToolAnnotations,
)
from mcp_types import Tool as ToolTold

from phelix_core import VERSION
from phelix_core.envelope import redacted
from phelix_core.mcp.calls import Calls, Told
from phelix_core.mcp.gate import Message, examined
from phelix_core.mcp.tools import Tool, failed_in_envelope
from phelix_core.mcp.wire import Wire, taken
from phelix_core.redaction import redact
from phelix_core.strictjson import dumps

CLOSING_S: Final = 0.3
"""How long the last answers may take to be written."""
_AHEAD: Final = 16
"""How many lines are read ahead of the one that is handed on."""
_UNHEARD: Final = 1
_BY_SIGNAL: Final = 128
_CANCELLED: Final = "notifications/cancelled"


def serve(
    tools: Sequence[Tool],
    *,
    name: str,
    title: str,
    instructions: str,
    told: Told = failed_in_envelope,
    interrupt: Callable[[], None] = lambda: None,
    hurry: Callable[[], None] = lambda: None,
) -> int:
    """Serve `tools` until the host leaves or a signal comes; answers the exit status.

    `told` gives the shape of the failures that no tool tells itself; `interrupt` is called when a signal comes, `hurry`
    when reads have had their moment at the end. Where a thread still works when the time is over, the process ends in
    here.
    """
    _silence_the_sdk()

    async def served(wire: Wire) -> int:
        calls = Calls(told, hurry)
        return await _Connection(wire, calls, interrupt).run(_server(tools, calls, name, title, instructions))

    with taken() as wire:
        status = anyio.run(served, wire)
    gc.freeze()  # a last look of the collector at all that the SDK imports would take most of the time left to end
    return status


def _silence_the_sdk() -> None:
    """Keep the SDK's log to itself: its tracebacks and warnings repeat what was sent."""
    log = logging.getLogger("mcp")
    log.addHandler(logging.NullHandler())
    log.propagate = False


def _server(tools: Sequence[Tool], calls: Calls, name: str, title: str, instructions: str) -> Server[Any]:
    table = {tool.name: tool for tool in tools}
    told = ListToolsResult(tools=[_told_to_host(tool) for tool in tools])

    async def list_tools(_: ServerRequestContext[Any], __: PaginatedRequestParams | None) -> ListToolsResult:
        return told

    async def call_tool(context: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        tool = table.get(params.name)
        if tool is None:
            raise MCPError(code=INVALID_PARAMS, message=f"Unknown tool. There are: {', '.join(table)}.")
        request_id = cast("int | str", context.request_id)  # a call is a request
        answered = await calls.carried_out(request_id, tool, params.arguments or {})
        return CallToolResult(
            content=[TextContent(type="text", text=dumps(answered.document))],
            structured_content=answered.document,
            is_error=answered.failed,
        )

    server: Server[Any] = Server(
        name,
        version=VERSION,
        title=title,
        instructions=instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    server.middleware.clear()  # nothing of a call is told to a tracer
    return server


def _told_to_host(tool: Tool) -> ToolTold:
    return ToolTold(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        annotations=ToolAnnotations.model_validate(tool.annotations),
    )


class _Connection:
    """One host, from its first line to its end."""

    def __init__(self, wire: Wire, calls: Calls, interrupt: Callable[[], None]) -> None:
        self._wire = wire
        self._calls = calls
        self._interrupt = interrupt
        self._status = 0
        self._listening = anyio.CancelScope()
        self._all_sent = anyio.Event()

    async def run(self, server: Server[Any]) -> int:
        """Serve until the host leaves or a signal comes; answers the exit status."""
        to_sdk, sdk_reads = anyio.create_memory_object_stream[SessionMessage | Exception]()
        sdk_writes, from_sdk = anyio.create_memory_object_stream[SessionMessage]()
        async with anyio.create_task_group() as tasks:
            await tasks.start(self._heed_signals)
            tasks.start_soon(self._send, from_sdk)
            tasks.start_soon(server.run, sdk_reads, sdk_writes.clone(), server.create_initialization_options())
            with self._listening:
                await self._listen(to_sdk, sdk_writes)
            await self._calls.settled()
            with anyio.move_on_after(CLOSING_S):
                await to_sdk.aclose()
                await sdk_writes.aclose()
                await self._all_sent.wait()
            if self._calls.busy or not self._all_sent.is_set():
                os._exit(self._status)  # a thread would keep the process for as long as it likes
            tasks.cancel_scope.cancel()
        return self._status

    async def _heed_signals(self, *, task_status: TaskStatus[None]) -> None:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as received:
            task_status.started()
            async for number in received:
                self._status = _BY_SIGNAL + number
                self._interrupt()
                self._calls.end()
                self._listening.cancel()

    async def _listen(
        self, to_sdk: ObjectSendStream[SessionMessage | Exception], refusals: ObjectSendStream[SessionMessage]
    ) -> None:
        """Hand on what the gate lets pass, and answer what it refuses, until the end of the lines."""
        examined_lines: asyncio.Queue[Message | JSONRPCError | None] = asyncio.Queue()
        room = threading.Semaphore(_AHEAD)
        reader = threading.Thread(
            target=self._read, args=(asyncio.get_running_loop(), examined_lines, room), name="lines", daemon=True
        )
        reader.start()
        while (message := await examined_lines.get()) is not None:
            room.release()
            if isinstance(message, JSONRPCError):
                await refusals.send(SessionMessage(message))
            elif self._passes(message):
                await to_sdk.send(SessionMessage(message))

    def _read(
        self,
        loop: asyncio.AbstractEventLoop,
        examined_lines: asyncio.Queue[Message | JSONRPCError | None],
        room: threading.Semaphore,
    ) -> None:
        """Look at lines as they come, in a thread that nobody waits for; the end of them is told as None."""
        with suppress(RuntimeError):  # the loop has closed meanwhile
            try:
                for line in self._wire.lines():
                    if (message := examined(line)) is not None:
                        room.acquire()
                        loop.call_soon_threadsafe(examined_lines.put_nowait, message)
            except OSError:
                pass  # a stream that fails has ended
            finally:
                loop.call_soon_threadsafe(examined_lines.put_nowait, None)

    def _passes(self, message: Message) -> bool:
        if isinstance(message, JSONRPCRequest):
            self._calls.asked(message)
        elif message.method == _CANCELLED:
            request_id = cancelled_request_id_from_params(message.params)
            return request_id is None or self._calls.taken_back(request_id)
        return True

    async def _send(self, messages: ObjectReceiveStream[SessionMessage]) -> None:
        """Write each message; once nobody reads any more, listen no longer either."""
        loop, thread = asyncio.get_running_loop(), ThreadPoolExecutor(1, "send")
        async for sent in messages:
            try:
                await loop.run_in_executor(thread, lambda message: self._wire.send(_line(message)), sent.message)
            except OSError:
                self._status = self._status or _UNHEARD
                self._listening.cancel()
            if isinstance(sent.message, JSONRPCResponse | JSONRPCError):
                self._calls.answered(sent.message.id)
        self._all_sent.set()


def _line(message: JSONRPCMessage) -> str:
    """A message as it goes out; an error of the SDK's may repeat what was sent, so it passes the redactor."""
    if isinstance(message, JSONRPCError):
        told = message.error
        data = {} if told.data is None else {"data": redacted(told.data)}
        message = message.model_copy(
            update={"error": told.model_copy(update={"message": redact(told.message), **data})}
        )
    return message.model_dump_json(by_alias=True, exclude_unset=True)
