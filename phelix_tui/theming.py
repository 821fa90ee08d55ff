"""Themes: TOML files, checked, made Textual themes; and the one table from roles to colours.

A widget names a role, never a colour, and a theme gives each role its colour through a variable
(`$st-stale`, `$ref-missing`, `$row-cursor`). Every variable has a stand-in among Textual's own, so
that a console under any Textual theme, or a user's half-filled one, still draws. A bad file is named
once, with its reason, and skipped. Status is never told by colour alone: the words are the caller's.
"""

import os
import stat
import tomllib
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from textual.color import Color, ColorParseError
from textual.theme import Theme

from phelix_core.frozen import frozen_in_order
from phelix_core.text import SafeStr
from phelix_core.views.shown import shown

DEFAULT_THEME = "phelix-dark"
LARGEST_FILE = 64 * 1024
"""Bytes; a theme takes about one thousand."""


STAND_INS: Mapping[str, str] = MappingProxyType(
    {
        "st-active": "primary",
        "st-stale": "warning",
        "st-completed": "success",
        "st-failed": "error",
        "st-cancelled": "foreground",
        "st-unread": "error",
        "ref-present": "success",
        "ref-missing": "error",
        "ref-unavailable": "warning",
        "ref-unknown": "foreground",
        "muted": "foreground",
        "row-cursor": "panel",
        "row-cursor-blurred": "surface",
        "row-marked": "surface",
    }
)
"""Each variable of ours, and the Textual variable whose colour it takes where a theme is silent."""

ROLES: Mapping[str, str] = MappingProxyType(
    {
        "": "foreground",
        "accent": "accent",
        "muted": "muted",
        "ok": "success",
        "warning": "warning",
        "error": "error",
        "active": "st-active",
        "stale": "st-stale",
        "completed": "st-completed",
        "failed": "st-failed",
        "cancelled": "st-cancelled",
        "unread": "st-unread",
        "present": "ref-present",
        "missing": "ref-missing",
        "unavailable": "ref-unavailable",
        "unknown": "ref-unknown",
    }
)
"""The role a cell may name, and the theme variable that colours it."""


@frozen_in_order
class Problem:
    """A theme file that was skipped, and why; both safe to show."""

    path: SafeStr
    reason: SafeStr


@frozen_in_order
class LoadedThemes:
    """The themes that can be used, ours first, and the files that cannot."""

    themes: tuple[Theme, ...]
    problems: tuple[Problem, ...]


def load_themes(user_folder: str | None = None) -> LoadedThemes:
    """Load the shipped themes and those in `user_folder`, which may be missing.

    A user's theme replaces a shipped one of its name; of two in the folder, the first by file name
    stays.
    """
    themes = {name: as_theme(raw) for name, raw in _shipped()}
    problems: list[Problem] = []
    own: set[str] = set()
    for path in _toml_files(user_folder) if user_folder is not None else ():
        try:
            found = _checked(_read(path), taken=own)
        except Exception as error:  # noqa: BLE001 - the edge: whatever is wrong with a file, it is skipped
            problems.append(Problem(shown(path), shown(f"{error}" or type(error).__name__)))
            continue
        own.add(found["name"])
        themes[found["name"]] = as_theme(found)
    return LoadedThemes(tuple(themes.values()), tuple(problems))


def _checked(text: str, taken: Collection[str]) -> dict[str, Any]:
    from phelix_tui.theme_file import checked  # noqa: PLC0415 - what shipped themes do without costs 5 ms, and pydantic 100

    return checked(text, taken)


def stamp_of(folder: str) -> tuple[tuple[str, int, int, int], ...] | None:
    """What tells whether the themes in a folder are still those that were read; None where there is no folder."""
    try:
        with os.scandir(folder) as entries:
            found = [entry for entry in entries if entry.name.endswith(".toml")]
    except OSError:
        return None
    stamps: list[tuple[str, int, int, int]] = []
    for entry in found:
        try:
            status = os.stat(entry.path)  # through a link, as it is read
        except OSError:
            stamps.append((entry.name, 0, 0, 0))
        else:
            stamps.append((entry.name, status.st_mtime_ns, status.st_size, status.st_ino))
    return tuple(sorted(stamps))


class ThemeRefused(ValueError):
    """A theme file that cannot be used; the message says why."""


def as_theme(raw: Mapping[str, Any]) -> Theme:
    """Make a Textual theme of a checked file, with a value for each of our variables."""
    base = {key: value for key, value in raw["base"].items() if key != "muted"}
    ours = {name: _chosen(raw, name) or base[stand_in] for name, stand_in in STAND_INS.items()}
    accent = base.get("accent") or base["primary"]
    textuals = {
        "block-cursor-background": ours["row-cursor"],
        "block-cursor-foreground": base["foreground"],
        "block-cursor-blurred-background": ours["row-cursor-blurred"],
        "block-cursor-blurred-foreground": base["foreground"],
        "footer-background": base["panel"],
        "footer-foreground": base["foreground"],
        "footer-description-foreground": ours["muted"],
        "footer-key-foreground": accent,
        "input-selection-background": ours["row-cursor"],
        "border": accent,
        "border-blurred": ours["muted"],
        "scrollbar": ours["row-cursor"],
        "scrollbar-hover": ours["muted"],
        "scrollbar-active": accent,
        "scrollbar-background": base["background"],
        "scrollbar-background-hover": base["background"],
        "scrollbar-background-active": base["background"],
        "scrollbar-corner-color": base["background"],
    }
    return Theme(name=raw["name"], dark=raw["dark"], variables={**textuals, **ours}, **base)


def _chosen(raw: Mapping[str, Any], name: str) -> str | None:
    """The colour that a file gives a variable of ours, if it does."""
    part, _, key = name.partition("-")
    section = {"st": "status", "ref": "reference", "row": "row"}.get(part, "base")
    return raw.get(section, {}).get(key.replace("-", "_") or part)


def default_variables(theme: Theme) -> dict[str, str]:
    """Our variables under a theme that is not ours, for `App.get_theme_variable_defaults`."""
    known = theme.to_color_system().generate()
    return {name: known[stand_in] for name, stand_in in STAND_INS.items()}


def shipped_folder() -> str:
    """Folder of our own themes: inside the installed package, or the repository's in an editable one."""
    here = os.path.dirname(os.path.abspath(__file__))
    inside = os.path.join(here, "themes")
    return inside if _toml_files(inside) else os.path.join(os.path.dirname(here), "themes")


def _shipped() -> list[tuple[str, dict[str, Any]]]:
    """Read our own files at their word, the default one first; the tests put each through the check."""
    raw = [tomllib.loads(_read(path)) for path in _toml_files(shipped_folder())]
    raw.sort(key=lambda found: (found["name"] != DEFAULT_THEME, found["name"]))
    return [(found["name"], found) for found in raw]


def _toml_files(folder: str) -> list[str]:
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".toml"))
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names]


def _read(path: str) -> str:
    """Read a small regular file; a FIFO would keep the console waiting."""
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_FILE:
        raise ThemeRefused(f"not a regular file of at most {LARGEST_FILE} bytes")
    with open(path, encoding="utf-8") as file:
        return file.read()


_LAST_RESORT = Color(128, 128, 128)


def theme_colour(variables: Mapping[str, str], name: str) -> Color:
    """Colour of variable `name` (no `$`), by its stand-in if unset or not a plain colour."""
    for candidate in (name, STAND_INS.get(name, "foreground"), "foreground"):
        try:
            return Color.parse(variables[candidate])
        except (KeyError, ColorParseError):
            continue
    return _LAST_RESORT


def role_colour(variables: Mapping[str, str], role: str) -> Color:
    """Foreground colour of `role`; an unknown role is drawn as plain text."""
    return theme_colour(variables, ROLES.get(role, "foreground"))
