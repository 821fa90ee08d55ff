"""A host that speaks by raw lines to a real server process, and the tools of a server that tests can hold in hand."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from phelix_core.strictjson import canonical, loads
from tests.rig import PHELIX

PATIENCE_S = 30
STAGE = Path(__file__).with_name("stage_server.py")
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "a test's host", "version": "0"},
}


def environ_of(scratch: Path) -> dict[str, str]:
    """What the servers of a test see of their surroundings."""
    root = Path(__file__).resolve().parents[2]
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(scratch / "home"),
        "TMPDIR": str(scratch),
        "PYTHONPATH": str(root),
        "LC_ALL": "C.UTF-8",
    }


def serve_argv(data_dir: Path, *more: str) -> list[str]:
    """The words that start the session server over `data_dir`."""
    return [str(PHELIX), "mcp", "serve", "--data-dir", str(data_dir), *more]


def stage_argv(folder: Path) -> list[str]:
    """The words that start the server whose tools a test holds in hand through FIFOs in `folder`."""
    return [sys.executable, str(STAGE), str(folder)]


class Host:
    """One server process and both its ends; whatever it does not answer in time fails the test."""

    def __init__(self, argv: Sequence[str], scratch: Path) -> None:
        self._said = scratch / "stderr.txt"
        with self._said.open("wb") as stderr:
            self.process = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, env=environ_of(scratch)
            )
        assert self.process.stdin
        assert self.process.stdout
        self.input, self.output = self.process.stdin, self.process.stdout
        self._held = b""
        self._next_id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait(PATIENCE_S)
        with suppress(BrokenPipeError):
            self.input.close()
        self.output.close()

    # Saying

    def line(self, data: bytes) -> None:
        """Send one raw line."""
        self.input.write(data + b"\n")
        self.input.flush()

    def notify(self, method: str, **params: object) -> None:
        self.line(canonical({"jsonrpc": "2.0", "method": method, "params": params}))

    def request(self, method: str, params: Mapping[str, object]) -> int:
        """Send a request; answers its id."""
        self._next_id += 1
        self.line(canonical({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params}))
        return self._next_id

    def call(self, tool: str, **arguments: object) -> int:
        """Send a tool call; answers its id."""
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    # Hearing

    def hear(self) -> Any:
        """The next line that the server says; None at its end."""
        while b"\n" not in self._held:
            ready, _, _ = select.select([self.output], [], [], PATIENCE_S)
            assert ready, "the server says nothing"
            chunk = os.read(self.output.fileno(), 1 << 16)
            if not chunk:
                assert not self._held, "half a line"
                return None
            self._held += chunk
        line, _, self._held = self._held.partition(b"\n")
        return loads(line)

    def hear_all(self) -> dict[Any, Any]:
        """Everything that the server still says until its end, by id."""
        heard: dict[Any, Any] = {}
        while (message := self.hear()) is not None:
            heard[message["id"]] = message
        return heard

    def answer(self, request_id: object) -> Any:
        """The answer to one request, which must be the next thing said."""
        message = self.hear()
        assert message["jsonrpc"] == "2.0"
        assert message["id"] == request_id, message
        return message

    def result(self, request_id: object) -> Any:
        """The structured result of one call, which must be the next thing said."""
        return self.answer(request_id)["result"]["structuredContent"]

    # From beginning to end

    def greet(self) -> Any:
        """Shake hands; answers what the server says of itself."""
        told = self.answer(self.request("initialize", HELLO))["result"]
        self.notify("notifications/initialized")
        return told

    def ping(self) -> None:
        """The server is alive and has said nothing else."""
        assert self.answer(self.request("ping", {}))["result"] == {}

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def ended(self, since: float, within_s: float = 1.0) -> int:
        """How the server ended, which must be at most `within_s` after the moment `since`."""
        status = self.process.wait(PATIENCE_S)
        took = time.monotonic() - since
        assert took < within_s, f"it took {took:.2f} s"
        return status

    @property
    def stderr(self) -> str:
        return self._said.read_text()


class Gate:
    """A FIFO that a tool waits at: it has begun when `reached`, and goes on when `opened`."""

    def __init__(self, folder: Path, name: str) -> None:
        self._path = folder / name
        os.mkfifo(self._path)
        self._end = -1

    def reached(self) -> None:
        """Wait until the tool waits."""
        self._end = os.open(self._path, os.O_WRONLY)

    def opened(self) -> float:
        """Let the tool go on; answers the moment."""
        os.close(self._end)
        return time.monotonic()
