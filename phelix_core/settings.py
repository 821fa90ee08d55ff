"""One frozen `Settings`: flag, then environment, then `<data-dir>/config.toml`, then default.

Handed down as a value; no rule reads the environment. An unknown or ill-typed key in the file is an
error that names the key and never its value.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from phelix_core.errors import FilesystemError, InvalidArgument

CONFIG_FILE = "config.toml"
_MINUTE_MS = 60_000
_DEFAULT_STALE_MINUTES = 60
_MAX_STALE_MINUTES = 60 * 24 * 366


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a person may choose; durations in milliseconds."""

    data_dir: str
    stale_after_ms: int = _DEFAULT_STALE_MINUTES * _MINUTE_MS
    theme: str | None = None
    read_only: bool = False


def load_settings(
    environ: Mapping[str, str],
    *,
    data_dir: str | None = None,
    theme: str | None = None,
    read_only: bool = False,
) -> Settings:
    """Resolve settings; raises `InvalidArgument` for a bad value and `FilesystemError` for an unreadable file."""
    folder = os.path.abspath(os.path.expanduser(data_dir or environ.get("PHELIX_DATA_DIR") or "~/.phelix"))
    if "\0" in folder:
        raise InvalidArgument("The data directory's path holds a NUL character.")
    written = _read_config(f"{folder}/{CONFIG_FILE}")
    minutes = _minutes(environ.get("PHELIX_STALE_AFTER_MINUTES"), written.get("stale_after_minutes"))
    return Settings(
        data_dir=folder,
        stale_after_ms=minutes * _MINUTE_MS,
        theme=theme or environ.get("PHELIX_THEME") or _text("theme", written.get("theme")),
        read_only=read_only,
    )


def _read_config(path: str) -> dict[str, object]:
    try:
        with open(path, "rb") as file:
            import tomllib  # noqa: PLC0415 - only where a file exists, so that others do not pay for the parser

            written = tomllib.load(file)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise FilesystemError(f"Cannot read {CONFIG_FILE}: {os.strerror(error.errno or 0)}.") from None
    except ValueError as error:
        raise InvalidArgument(f"{CONFIG_FILE} is not TOML: {error}.") from None
    unknown = sorted(set(written) - {"stale_after_minutes", "theme"})
    if unknown:
        raise InvalidArgument(
            f"{CONFIG_FILE} holds unknown keys: {', '.join(unknown)}.",
            hint="Known: stale_after_minutes, theme.",
        )
    return written


def _minutes(from_environment: str | None, from_file: object) -> int:
    value: object = from_file if from_file is not None else _DEFAULT_STALE_MINUTES
    if from_environment:
        value = int(from_environment) if from_environment.isdecimal() else None
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MAX_STALE_MINUTES:
        raise InvalidArgument(f"stale_after_minutes must be a whole number from 1 to {_MAX_STALE_MINUTES}.")
    return value


def _text(name: str, value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise InvalidArgument(f"{name} in {CONFIG_FILE} must be text.")
