"""A server whose tools do what a test needs of them: wait at a FIFO, print, fail; started as a process of its own."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from phelix_core.commands.registry import Effect
from phelix_core.errors import NotFound
from phelix_core.mcp.serving import serve
from phelix_core.mcp.tools import Answered, Tool
from phelix_core.strictjson import loads

FOLDER = Path(sys.argv[1])
SECRET = "ghp_0123456789abcdefghijABCDEFGHIJ012345"


def wait_at(name: str) -> None:
    """Block until the test has opened the FIFO and let go of it."""
    with (FOLDER / name).open("rb") as fifo:
        fifo.read()


def write(arguments: dict[str, Any]) -> dict[str, Any]:
    """Wait at a FIFO where one is named, then note the text."""
    if "at" in arguments:
        wait_at(arguments["at"])
    with (FOLDER / "noted").open("a") as file:
        file.write(f"{arguments['text']}\n")
    return {"wrote": arguments["text"]}


def look(arguments: dict[str, Any]) -> dict[str, Any]:
    """Wait at a FIFO where one is named, then answer."""
    if "at" in arguments:
        wait_at(arguments["at"])
    return {"saw": arguments.get("text")}


def only_looks(arguments: Mapping[str, object]) -> bool:
    return arguments.get("text") == "look"


def chatter(_: dict[str, Any]) -> dict[str, Any]:
    """Print by every means there is, and read what no tool may read."""
    print("printed")
    sys.stdout.write("written")
    sys.stdout.flush()
    os.write(1, b"to the descriptor\n")
    subprocess.run(["sh", "-c", "echo by a child; cat"], check=True)
    return {"read": sys.stdin.read() + os.read(0, 1).decode()}


def fail(_: dict[str, Any]) -> dict[str, Any]:
    raise RuntimeError(f"about {SECRET}")


def refuse(_: dict[str, Any]) -> dict[str, Any]:
    raise NotFound(f"There is no {SECRET}.")


def tool(name: str, effect: Effect, act: Callable[[dict[str, Any]], dict[str, Any]], **more: Any) -> Tool:
    def call(arguments: str) -> Answered:
        return Answered(document=act(cast("dict[str, Any]", loads(arguments.encode()))), failed=False)

    return Tool(
        name=name,
        title=name,
        description=name,
        input_schema={"type": "object"},
        effect=effect,
        call=call,
        **more,
    )


TOOLS = [
    tool("write", Effect.WRITE, write),
    tool("look", Effect.READ, look),
    tool("execute", Effect.WRITE, write, executes=True),
    tool("either", Effect.WRITE, look, looks=only_looks, destructive=True),
    tool("chatter", Effect.READ, chatter),
    tool("fail", Effect.WRITE, fail),
    tool("refuse", Effect.READ, refuse, idempotent=True),
]

if __name__ == "__main__":
    sys.exit(serve(TOOLS, name="stage", title="A stage", instructions="For tests."))
