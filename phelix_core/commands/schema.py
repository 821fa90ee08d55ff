"""`phelix schema`: JSON Schema of any request and result, made from the declarations themselves."""

from typing import Annotated, Any, Final, cast

from phelix_core.checks import BY_PLACE, Help, capped
from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import CATALOGUE, Effect, command, load_command
from phelix_core.errors import NotFound
from phelix_core.frozen import frozen


@frozen
class ShowSchema:
    """Print the JSON Schema of a command's request and result, or list the commands."""

    words: Annotated[tuple[Annotated[str, capped(64)], ...], BY_PLACE, Help("Command, such as: session create")] = ()


@command("schema", effect=Effect.READ)
def show_schema(request: ShowSchema, env: Environment) -> dict[str, Any]:  # noqa: ARG001 - every command takes it
    """Draw up the schema."""
    name = " ".join(request.words)
    if not name:
        return {"commands": {known: load_command(known).help for known in CATALOGUE}}
    if name not in CATALOGUE:
        raise NotFound("There is no such command.", hint="`phelix schema` lists them.")
    from pydantic import TypeAdapter  # noqa: PLC0415 - no other command pays for pydantic

    asked = load_command(name)
    drawn: dict[str, Any] = {"command": name, "request": TypeAdapter(asked.request).json_schema()}
    if asked.result is not None:
        result = _resolved(asked.result)
        drawn["result"] = _as_written(TypeAdapter(result).json_schema(mode="serialization"))
    return drawn


def _resolved(result: Any) -> Any:
    """The type that a command answers; one that only schemas need is declared by its place, `module:Name`."""
    if not isinstance(result, str):
        return result
    from importlib import import_module  # noqa: PLC0415 - only schemas need it

    module, _, name = result.partition(":")
    return getattr(import_module(module), name)


def _as_written(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of what is printed: members kept from other versions are open, flat members are flat."""
    for part in [schema, *cast("dict[str, dict[str, Any]]", schema.get("$defs", {})).values()]:
        properties: dict[str, Any] = part.get("properties", {})
        if properties.pop("extra", None) is not None:
            part["additionalProperties"] = True
        # A member with a default is left out while it holds it, so only those without one are required.
        part["required"] = [name for name in part.get("required", []) if "default" not in properties.get(name, {})]
        part["required"] = [name for name in part["required"] if name in properties]
    for part in [schema, *cast("dict[str, dict[str, Any]]", schema.get("$defs", {})).values()]:
        _flatten(part, schema)
    return schema


_FLAT: Final = {"ShownSession": "session", "ShownOperation": "operation"}
"""Answers that say the members of a record flat, before what is computed about it."""


def _flatten(part: dict[str, Any], schema: dict[str, Any]) -> None:
    member = _FLAT.get(part.get("title", ""))
    if member is None or member not in part["properties"]:
        return
    record = schema["$defs"][part["properties"].pop(member)["$ref"].removeprefix("#/$defs/")]
    part["properties"] = {**record["properties"], **part["properties"]}
    part["required"] = list(
        dict.fromkeys([*record["required"], *(name for name in part["required"] if name != member)])
    )
    part["additionalProperties"] = True
