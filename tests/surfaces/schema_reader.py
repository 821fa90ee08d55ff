"""JSON Schema as far as our declarations use it: walking a schema, and where a value breaks one."""

import re
from collections.abc import Iterator
from typing import Any, cast

KEYWORDS = {
    "$defs", "$ref", "additionalProperties", "anyOf", "default", "description", "enum", "items", "maximum", "minLength",
    "minimum", "pattern", "properties", "required", "title", "type",
}  # fmt: skip
TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
    "object": (dict,),
    "array": (list,),
}
Schema = dict[str, Any]


def parts(schema: object) -> Iterator[Schema]:
    """Every schema inside a schema, itself first."""
    if not isinstance(schema, dict):
        return
    found = cast("Schema", schema)
    yield found
    inner: list[object] = [*found.get("properties", {}).values(), *found.get("$defs", {}).values()]
    inner += [found.get("items"), found.get("additionalProperties"), *found.get("anyOf", [])]
    for part in inner:
        yield from parts(part)


def faults(schema: Schema, value: Any, root: Schema, at: str = "$") -> list[str]:
    """Where `value` breaks `schema`, whose references lead into `root`."""
    if "$ref" in schema:
        return faults(root["$defs"][schema["$ref"].removeprefix("#/$defs/")], value, root, at)
    if "anyOf" in schema:
        tried = [faults(option, value, root, at) for option in schema["anyOf"]]
        return [*min(tried, key=len), *_value_faults(schema, value, at)]
    kind = schema.get("type")
    if kind and (not isinstance(value, TYPES[kind]) or isinstance(value, bool) is not (kind == "boolean")):
        return [f"{at} is no {kind}"]
    return [
        *_value_faults(schema, value, at),
        *(_array_faults(schema, value, root, at) if kind == "array" else []),
        *(_object_faults(schema, value, root, at) if kind == "object" else []),
    ]


def _value_faults(schema: Schema, value: Any, at: str) -> Iterator[str]:
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at} is none of {schema['enum']}"
    if (
        "pattern" in schema
        and isinstance(value, str)
        and not re.search(schema["pattern"].removesuffix("$") + r"\Z", value)
    ):
        yield f"{at} does not match {schema['pattern']}"
    if "minLength" in schema and isinstance(value, str) and len(value) < schema["minLength"]:
        yield f"{at} is too short"
    if "minimum" in schema and isinstance(value, int) and not schema["minimum"] <= value <= schema["maximum"]:
        yield f"{at} is out of range"


def _array_faults(schema: Schema, items: list[Any], root: Schema, at: str) -> Iterator[str]:
    for number, item in enumerate(items):
        yield from faults(schema.get("items", {}), item, root, f"{at}[{number}]")


def _object_faults(schema: Schema, members: dict[str, Any], root: Schema, at: str) -> Iterator[str]:
    properties: Schema = schema.get("properties", {})
    others = schema.get("additionalProperties", True)
    yield from (f"{at}.{name} is missing" for name in schema.get("required", []) if name not in members)
    for name, member in members.items():
        if name in properties:
            yield from faults(properties[name], member, root, f"{at}.{name}")
        elif others is False:
            yield f"{at}.{name} is not declared"
        elif isinstance(others, dict):
            yield from faults(cast("Schema", others), member, root, f"{at}.{name}")
