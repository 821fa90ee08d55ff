"""What a theme's file may say, for those that a person wrote."""

import json
import tomllib
from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar

from pydantic import TypeAdapter, ValidationError

from phelix_core.checks import Check, full_match
from phelix_tui.theming import ThemeRefused

NAME = full_match(r"[a-z][a-z0-9-]{0,39}", "a name of small letters, digits and hyphens")
COLOUR = full_match(r"#[0-9a-fA-F]{6}", "a colour such as #7db8f0")
Colour = Annotated[str, COLOUR]


def _colour_or_none(value: str | None) -> str | None:
    return None if value is None else COLOUR.apply(value)


MaybeColour = Annotated[str | None, Check(_colour_or_none)]


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseColours:
    """`[base]`: the grounds, the text on them, and the signals. What is optional takes after another."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}
    background: Colour
    surface: Colour
    panel: Colour
    foreground: Colour
    primary: Colour
    success: Colour
    warning: Colour
    error: Colour
    secondary: MaybeColour = None
    accent: MaybeColour = None
    muted: MaybeColour = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowGrounds:
    """`[row]`: grounds of the row under the cursor, with and without focus, and of marked rows."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}
    cursor: MaybeColour = None
    cursor_blurred: MaybeColour = None
    marked: MaybeColour = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusColours:
    """`[status]`: text that names a status."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}
    active: MaybeColour = None
    stale: MaybeColour = None
    completed: MaybeColour = None
    failed: MaybeColour = None
    cancelled: MaybeColour = None
    unread: MaybeColour = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceColours:
    """`[reference]`: text that names the state of a reference."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}
    present: MaybeColour = None
    missing: MaybeColour = None
    unavailable: MaybeColour = None
    unknown: MaybeColour = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThemeFile:
    """A theme as it stands in its file."""

    __pydantic_config__: ClassVar = {"extra": "forbid", "strict": True}
    name: Annotated[str, NAME]
    dark: bool
    base: BaseColours
    row: RowGrounds = RowGrounds()
    status: StatusColours = StatusColours()
    reference: ReferenceColours = ReferenceColours()


def checked(text: str, taken: Collection[str] = ()) -> dict[str, Any]:
    """Parse and check a theme file; `ThemeRefused` names the first thing that is wrong, or a taken name."""
    try:
        raw = tomllib.loads(text)
        found = TypeAdapter(ThemeFile).validate_json(json.dumps(raw, default=str))
    except tomllib.TOMLDecodeError as error:
        raise ThemeRefused(f"not TOML: {error}") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ThemeRefused(f"{where}: {first['msg']}") from None
    if found.name in taken:
        raise ThemeRefused(f"another file has the name {found.name} already")
    return asdict(found)
