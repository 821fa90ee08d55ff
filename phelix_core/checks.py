"""Checks on request fields: small frozen objects that hold one function each.

The command line runs a check itself; pydantic finds the same one through
`__get_pydantic_core_schema__`, so that one declaration serves every surface. A check answers with
the value to keep, or raises `CheckFailed` with a sentence for the person who typed it.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from re import compile as compile_pattern
from types import MappingProxyType
from typing import Any, NamedTuple

from phelix_core.text import TextRefused, utf8_size


class CheckFailed(ValueError):
    """A value is not acceptable; the message says what would be."""


class Surface(Enum):
    """Where a command is called from; written as `via` on each event."""

    CLI = "cli"
    MCP = "mcp"
    TUI = "tui"


class Help(NamedTuple):
    """One line about a field, for help texts, schemas and forms."""

    text: str

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> Any:
        """Say the line in the field's JSON Schema, before what is said there already."""
        drawn = handler(core)
        told = drawn.get("description")
        return {**drawn, "description": f"{self.text}. {told}" if told else self.text}


class Alias(NamedTuple):
    """The singular name a list-valued field has on the command line, such as `plan` for `plans`."""

    name: str


class Contents(NamedTuple):
    """The command line takes a file's name (`-` for standard input) and sends what it holds, at most `cap` bytes."""

    cap: int


class Place:
    """The command line takes the field by its place among the words rather than by an option."""


BY_PLACE = Place()


class Unprinted:
    """A member that readers within the process need and no answer holds; left out of the JSON Schema too."""

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> Any:
        """Leave the member out."""
        from pydantic_core import PydanticOmit  # noqa: PLC0415 - the command line must start without pydantic

        raise PydanticOmit


class Only:
    """The surfaces that carry a field; absent from all others, not merely hidden."""

    def __init__(self, *surfaces: Surface) -> None:
        self.surfaces = frozenset(surfaces)


class Check(NamedTuple):
    """One function on one value, with the JSON Schema keywords that tell of it."""

    apply: Callable[[Any], Any]
    schema: Mapping[str, object] = MappingProxyType({})

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Give pydantic the same function, after its own type check; an optional field's null is not looked at."""
        from pydantic_core import core_schema  # noqa: PLC0415 - the command line must start without pydantic

        def apply(value: Any) -> Any:
            return None if value is None else self.apply(value)

        return core_schema.no_info_after_validator_function(apply, handler(source))

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> Any:
        """Add this check's keywords to the field's JSON Schema, beside an optional field's null and not over it."""
        drawn = handler(core)
        if "anyOf" not in drawn:
            return {**drawn, **self.schema}
        null = {"type": "null"}
        return {**drawn, "anyOf": [kind if kind == null else {**kind, **self.schema} for kind in drawn["anyOf"]]}


def full_match(pattern: str, what: str) -> Check:
    """Accept text that matches `pattern` from end to end (no trailing newline slips through)."""
    compiled: list[Any] = []

    def apply(value: str) -> str:
        if not compiled:
            compiled.append(compile_pattern(pattern))
        if compiled[0].fullmatch(value) is None:
            raise CheckFailed(f"expected {what}")
        return value

    return Check(apply, {"pattern": f"^{pattern}$"})


MAX_INTEGER = 2**53
"""The largest whole number that JSON keeps exactly everywhere."""


def at_least(minimum: int, maximum: int = MAX_INTEGER) -> Check:
    """Accept integers from `minimum` to `maximum`."""
    most = "" if maximum == MAX_INTEGER else f" and at most {maximum}"

    def apply(value: int) -> int:
        if not minimum <= value <= maximum:
            raise CheckFailed(f"expected a whole number of at least {minimum}{most}")
        return value

    return Check(apply, {"minimum": minimum, "maximum": maximum})


def one_of(*values: str) -> Check:
    """Accept exactly one of `values`."""

    def apply(value: str) -> str:
        if value not in values:
            raise CheckFailed(f"expected one of {', '.join(values)}")
        return value

    return Check(apply, {"enum": list(values)})


def capped(cap: int) -> Check:
    """Accept text of at most `cap` UTF-8 bytes as sent, free of NUL and lone surrogates; never cut."""

    def apply(value: str) -> str:
        try:
            size = utf8_size(value)
        except TextRefused as refused:
            raise CheckFailed(str(refused)) from None
        if size > cap:
            raise CheckFailed(f"{size} bytes of UTF-8 are over the cap of {cap}; shorten it, it is never cut")
        return value

    return Check(apply, {"description": f"At most {cap} bytes of UTF-8."})


POSITIVE = at_least(1)
NATURAL = at_least(0)
