"""An agent that works a queue off by the lifecycle document, over the command line or over MCP.

As a program, `recovery_agent.py <surface> <data-dir> <agent> <ttl> <pid file>`, it takes one issue after the other
through its steps. Before each call it says `{"asks": n}` and waits for a line, after it what it was told; whoever
reads knows what was acknowledged, and can end it at any point. Its descriptor 2 is open in every process it starts.
"""

import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

import anyio

from tests.contract.lifecycle import LIFECYCLE, VERSION
from tests.mcp.host import environ_of
from tests.rig import PHELIX

STEPS: Final = ("draft", "build")
LAST: Final = "close it"
HOST: Final[dict[str, Any]] = {"host": "h", "hostCapabilities": {"workloadClasses": ["code"]}}
TOOLS: Final = {
    "get_context": ("harness_inspector", "get_context"),
    "next_action": ("harness_inspector", "next_action"),
    "inspect_export": ("harness_inspector", "export"),
    "inspect_audit": ("harness_inspector", "audit"),
    "inspect_health_snapshot": ("harness_inspector", "health_snapshot"),
    "begin_incremental": ("harness_session", "begin"),
    "begin_recovery": ("harness_session", "begin_recovery"),
    "checkpoint": ("harness_session", "checkpoint"),
    "close": ("harness_session", "close"),
}
"""The tool and the action that stand for a payload's action."""
PARTS: Final = {"checkpoint": "input", "close": "closeInput"}


class Refused(Exception):
    """A call was refused."""

    def __init__(self, document: Any) -> None:
        super().__init__(document)
        self.code: str = document["code"]
        self.details: Any = document.get("details", {})


class Surface(Protocol):
    """Where an agent makes its calls; each answers a whole document or raises `Refused`."""

    async def do(self, action: str, held: Any = None, /, **given: Any) -> Any:
        """One action; `held` is the answer of the begin that it goes on with."""
        ...

    async def follow(self, advice: Any, **more: Any) -> Any:
        """The call that `next_action` suggests, with what it requires."""
        ...


@dataclass(frozen=True)
class ByProgram:
    """`phelix-lifecycle`, a process for each call."""

    data_dir: Path
    scratch: Path
    lifeline: tuple[int, ...] = ()

    async def do(self, action: str, held: Any = None, /, **given: Any) -> Any:
        """Send one payload."""
        named = {} if held is None else {"context": held["context"]}
        payload = {"contractVersion": VERSION, "action": action, **named, "input": given}
        ran = await anyio.run_process(
            [str(LIFECYCLE), "--data-dir", str(self.data_dir)],
            input=json.dumps(payload).encode(),
            check=False,
            env=environ_of(self.scratch),
            pass_fds=self.lifeline,
        )
        if ran.returncode:
            raise Refused(json.loads(ran.stderr))
        return json.loads(ran.stdout)

    async def follow(self, advice: Any, **more: Any) -> Any:
        """Send the payload that is suggested."""
        payload = advice["suggestedPayload"]
        return await self.do(payload["action"], **payload["input"], **more)


@dataclass(frozen=True)
class ByMcp:
    """`phelix mcp lifecycle` through the SDK's client."""

    client: Any

    async def do(self, action: str, held: Any = None, /, **given: Any) -> Any:
        """Call one tool."""
        tool, word = TOOLS[action]
        if held is not None:
            given = {"sessionToken": held["sessionToken"], PARTS[action]: given}
        return await self._called(tool, {"action": word, **given})

    async def follow(self, advice: Any, **more: Any) -> Any:
        """Call the tool that is suggested."""
        return await self._called(advice["tool"], {**advice["suggestedArguments"], **more})

    async def _called(self, tool: str, arguments: dict[str, Any]) -> Any:
        answer = await self.client.call_tool(tool, arguments)
        if answer.is_error:
            raise Refused(answer.structured_content)
        return answer.structured_content


@asynccontextmanager
async def surface(kind: str, data_dir: Path, scratch: Path, pid_file: str = os.devnull) -> AsyncGenerator[Surface]:
    """The surface of that kind; a server of it has its number in `pid_file`, as it is in no group of its host's."""
    if kind == "program":
        yield ByProgram(data_dir, scratch, (os.dup(2),))
        return
    from mcp.client import Client  # noqa: PLC0415 - half a second that the other agents are spared
    from mcp.client.stdio import StdioServerParameters, stdio_client  # noqa: PLC0415 - the same

    words = ["-c", 'echo $$ >"$0" && exec "$@"', pid_file, str(PHELIX), "mcp", "lifecycle", "--data-dir", str(data_dir)]
    with os.fdopen(os.dup(2), "w") as told:  # what a test runner stands in for stderr has no descriptor
        server = stdio_client(StdioServerParameters(command="sh", args=words, env=environ_of(scratch)), errlog=told)
        async with Client(server) as client:
            yield ByMcp(client)


@dataclass
class Agent:
    """Somebody with a name who works; `before` and `after` are told of each call that changes something."""

    at: Surface
    name: str
    ttl: int = 1_800
    before: Callable[[str], None] = lambda _: None
    after: Callable[[str, Any], None] = lambda _, __: None
    made: list[str] = field(default_factory=list[str])

    async def calls(self, action: str, held: Any = None, /, **given: Any) -> Any:
        """One call that changes something."""
        self.before(action)
        answer = await self.at.do(action, held, **given)
        self.after(action, answer)
        return answer

    async def begins(self, **more: Any) -> Any:
        """Claim or resume."""
        given = {"workspaceId": "lab", "projectId": "Acme", **HOST, "agentId": self.name, "mem0Enabled": False}
        on = [{"kind": "branch", "path": f"work/{self.name}"}]
        return await self.calls("begin_incremental", **given, artifacts=on, leaseTtlSeconds=self.ttl, **more)

    async def finishes(self, held: Any) -> None:
        """Take an issue through the steps that its last checkpoint left, and close it."""
        left = [*STEPS, LAST]
        for step in left[left.index(held["context"].get("nextBestAction", STEPS[0])) :]:
            after = left[left.index(step) + 1] if step != LAST else "nothing"
            report = {
                "title": step,
                "summary": f"{step} by {self.name}",
                "nextStep": after,
                "artifactIds": ["commit:1"],
            }
            if step == LAST:
                await self.calls("close", held, **report, taskStatus="done")
            else:
                await self.calls("checkpoint", held, **report, taskStatus="in_progress")

    async def works(self) -> None:
        """Take one issue after the other, until there is none."""
        while True:
            try:
                held = await self.begins()
            except Refused as refused:
                if refused.code != "NOTHING_READY":
                    raise
                return
            await self.finishes(held)


def _says(**told: Any) -> None:
    print(json.dumps(told), flush=True)


async def main(kind: str, data_dir: str, name: str, ttl: str, pid_file: str) -> None:
    """Work until there is nothing to do."""
    asked = 0

    def before(action: str) -> None:
        nonlocal asked
        _says(asks=asked, action=action)
        assert sys.stdin.readline()
        asked += 1

    def after(action: str, answer: Any) -> None:
        context = answer["context"] if action == "begin_incremental" else answer["result"]["context"]
        _says(told=asked - 1, action=action, issue=context["issueId"], checkpoint=context["currentCheckpointId"])

    async with surface(kind, Path(data_dir), Path(pid_file).parent, pid_file) as at:
        await Agent(at, name, int(ttl), before, after).works()


def started(kind: str, data_dir: Path, name: str, ttl: int, pid_file: Path) -> "subprocess.Popen[bytes]":
    """An agent in a process group of its own."""
    words = [sys.executable, __file__, kind, str(data_dir), name, str(ttl), str(pid_file)]
    return subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environ_of(pid_file.parent),
        start_new_session=True,
    )


if __name__ == "__main__":
    _, *_words = sys.argv
    anyio.run(lambda: main(*_words))
