"""Phelix: durable agent sessions and a leased work queue, one core for people and programs.

The public Python API: the lifecycle's actions through `SessionLifecycleAdapter`, and any command of the command line
through `run`. Each name is imported when it is first asked for, so that a call pays for nothing that it does not use.

>>> env = open_environment(load_settings({}, data_dir=folder), Surface.CLI)
>>> made = run(load_command("session create"), {"title": "ship billing v3"}, env)
>>> made.exit_code, made.document()["result"]["status"]
(0, 'active')
>>> run(load_command("session show"), {"session_id": "ses_0"}, env).error.code
'INVALID_ARGUMENT'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from phelix_core.adapter import SessionLifecycleAdapter
    from phelix_core.checks import Surface
    from phelix_core.commands.environment import Environment, open_environment
    from phelix_core.commands.registry import load_command
    from phelix_core.commands.run import run
    from phelix_core.envelope import Envelope
    from phelix_core.errors import PhelixError
    from phelix_core.settings import Settings, load_settings

VERSION: Final = "0.1.0"

_PLACES: Final = {
    "SessionLifecycleAdapter": "phelix_core.adapter",
    "Surface": "phelix_core.checks",
    "Environment": "phelix_core.commands.environment",
    "open_environment": "phelix_core.commands.environment",
    "load_command": "phelix_core.commands.registry",
    "run": "phelix_core.commands.run",
    "Envelope": "phelix_core.envelope",
    "PhelixError": "phelix_core.errors",
    "Settings": "phelix_core.settings",
    "load_settings": "phelix_core.settings",
}

__all__ = [
    "VERSION",
    "Envelope",
    "Environment",
    "PhelixError",
    "SessionLifecycleAdapter",
    "Settings",
    "Surface",
    "load_command",
    "load_settings",
    "open_environment",
    "run",
]


def __getattr__(name: str) -> Any:
    """Import a public name where it is first asked for."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)
