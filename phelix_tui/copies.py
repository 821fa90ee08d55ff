"""What `y` offers to copy about what is selected: its id, its record as JSON, the command that shows it, the filter.

Nothing is read before it is chosen. The JSON is what that command answers with `--json`, free of secrets like every
answer of ours; commands are written as a shell takes them, with the data directory that is shown. Source: console
page, section 3.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from phelix_core.checks import Surface
from phelix_core.commands.registry import equivalent, load_command, validate
from phelix_core.errors import PhelixError

_SHOWING: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "session": ("session show", "session_id"),
        "issue": ("queue show", "issue_id"),
        "plan": ("plan show", "plan_id"),
        "operation": ("operation status", "operation_id"),
    }
)
"""The command that shows a thing, and what it calls the id."""
LISTING: Final[Mapping[str, str]] = MappingProxyType({"session": "session list"})
"""The command that takes the filter of a room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copyable:
    """Something to copy: `key` in the menu, what it is called, and its text, or the command whose answer it is."""

    key: str
    name: str
    text: str = ""
    command: str = ""
    raw: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def told(self) -> str:
        """What stands beside it in the menu."""
        return self.text or f"what `phelix {self.command} --json` answers"


def copies_of(kind: str, subject: str | None, data_dir: str, where: str = "") -> list[Copyable]:
    """What can be copied of a thing of `kind`, and of the filter in force."""
    found: list[Copyable] = []
    if subject:
        found.append(Copyable(key="i", name="The id", text=subject))
    if subject and kind in _SHOWING:
        command, name = _SHOWING[kind]
        if line := _line(command, {name: subject}, data_dir):  # else the id is of a form that no command takes
            found.append(Copyable(key="r", name="The record as JSON", command=command, raw={name: subject}))
            found.append(Copyable(key="c", name="The command that shows it", text=line))
    if where:
        found.append(Copyable(key="f", name="The filter", text=where))
    if where and kind in LISTING and (line := _line(LISTING[kind], {"where": where}, data_dir)):
        found.append(Copyable(key="l", name="The command that lists these", text=line))
    return found


def _line(name: str, raw: Mapping[str, object], data_dir: str) -> str | None:
    """The command line that asks for it; None where the command would refuse what it is asked."""
    command = load_command(name)
    try:
        return equivalent(command, validate(command, raw, Surface.CLI), data_dir)
    except PhelixError:
        return None
