"""A tool: what a host is told of it, and one call of it.

The hints that a host reads follow from what the tool does and cannot contradict it. `command_tool` makes the tool of
a declared command: its schema shows the fields that MCP carries, each unknown one is refused by `run()`, and the
answer is the envelope that the command line prints.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, cast

from phelix_core.checks import Surface
from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import Command, Effect, load_command
from phelix_core.commands.run import run
from phelix_core.envelope import Envelope
from phelix_core.errors import InvalidArgument, PhelixError
from phelix_core.frozen import frozen
from phelix_core.strictjson import loads

_NOTHING: Final[Mapping[str, Mapping[str, object]]] = MappingProxyType({})


@frozen
class Answered:
    """What a call answers: one plain JSON document, and whether it tells a failure."""

    document: dict[str, Any]
    failed: bool


def _never(arguments: Mapping[str, object]) -> bool:  # noqa: ARG001 - stands for a rule about arguments
    return False


@frozen
class Tool:
    """One tool of a server.

    `call` gets the arguments as the text of a JSON object. It refuses what it does not know and answers every refusal
    itself; what it raises is told as `INTERNAL`. Writes are called one at a time, in the order in which they came;
    reads beside them and beside each other, so a read's `call` may run in several threads. `looks` tells the calls
    that only look, of a tool whose other calls write. What `executes` somebody else's program may take its time, and so
    keeps no other write waiting. A tool that `runs` one to look, such as a check of health, is asked to end it when the
    server ends, and waited for until nothing of it is left.
    """

    name: str
    title: str
    description: str
    input_schema: dict[str, Any]
    effect: Effect
    call: Callable[[str], Answered]
    destructive: bool = False
    idempotent: bool = False
    executes: bool = False
    runs: bool = False
    looks: Callable[[Mapping[str, object]], bool] = _never

    @property
    def annotations(self) -> dict[str, bool]:
        """The hints of the protocol: reading destroys nothing and may be repeated; nothing here is of an open world."""
        reads = self.effect is Effect.READ
        return {
            "readOnlyHint": reads,
            "destructiveHint": self.destructive and not reads,
            "idempotentHint": self.idempotent or reads,
            "openWorldHint": False,
        }

    def only_looks(self, arguments: Mapping[str, object]) -> bool:
        """Whether a call with these arguments changes nothing."""
        return self.effect is Effect.READ or self.looks(arguments)


def in_envelope(envelope: Envelope) -> Answered:
    """An envelope as a call's answer."""
    return Answered(document=envelope.document(), failed=envelope.error is not None)


def failed_in_envelope(error: PhelixError) -> Answered:
    """A failure as a call's answer, in an envelope."""
    return in_envelope(Envelope(error=error))


def command_tool(
    name: str,
    env: Environment,
    *,
    title: str,
    advice: str = "",
    described: Mapping[str, Mapping[str, object]] = _NOTHING,
    destructive: bool = False,
    idempotent: bool = False,
) -> Tool:
    """The tool of the command `name`, carried out in `env`.

    `advice` follows the command's own words in the description; `described` adds keywords to the schemas of fields.
    """
    command = load_command(name)

    def call(arguments: str) -> Answered:
        raw = loads(arguments.encode())
        if not isinstance(raw, dict):
            return failed_in_envelope(InvalidArgument("The arguments are no JSON object."))
        return in_envelope(run(command, cast("dict[str, object]", raw), env))

    return Tool(
        name=f"phelix_{name.replace(' ', '_')}",
        title=title,
        description=" ".join(part for part in (command.help, command.caution, advice) if part),
        input_schema=input_schema(command, described),
        effect=command.effect,
        call=call,
        destructive=destructive,
        idempotent=idempotent,
        executes=command.runs and command.effect is Effect.WRITE,
        runs=command.runs and command.effect is Effect.READ,
    )


def input_schema(command: Command, described: Mapping[str, Mapping[str, object]] = _NOTHING) -> dict[str, Any]:
    """JSON Schema of what MCP may send to a command: its own fields and no other."""
    from pydantic import TypeAdapter  # noqa: PLC0415 - whoever only calls tools draws no schema

    drawn = TypeAdapter(command.request).json_schema()
    fields = command.fields(Surface.MCP)
    properties = {
        field.name: _described(drawn["properties"][field.name], field.help, described.get(field.name, {}))
        for field in fields
    }
    required = [field.name for field in fields if field.required]
    return {
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def _described(drawn: Mapping[str, Any], told: str, more: Mapping[str, object]) -> dict[str, Any]:
    """A field's schema with its help, without the title that its name repeats."""
    return {"description": told, **{key: value for key, value in drawn.items() if key != "title"}, **more}
