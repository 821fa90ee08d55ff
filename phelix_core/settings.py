"""One frozen `Settings`: flag, then environment, then `<data-dir>/config.toml`, then default.

Handed down as a value; no rule reads the environment. An unknown or ill-typed key in the file is an
error that names the key and never its value.
"""

import os
from collections.abc import Mapping
from stat import S_ISREG

from phelix_core.errors import FilesystemError, InvalidArgument
from phelix_core.frozen import frozen

CONFIG_FILE = "config.toml"
QUEUE_FILE = "queue.db"
_MINUTE_MS = 60_000
_DEFAULT_STALE_MINUTES = 60
_MAX_STALE_MINUTES = 60 * 24 * 366
_DIGITS = 10
_MAX_CONFIG_BYTES = 64 * 1024


@frozen
class Settings:
    """What a person may choose; durations in milliseconds. `queue` is the queue's file."""

    data_dir: str
    queue: str = ""
    stale_after_ms: int = _DEFAULT_STALE_MINUTES * _MINUTE_MS
    theme: str | None = None
    read_only: bool = False


def load_settings(
    environ: Mapping[str, str],
    *,
    data_dir: str | None = None,
    queue: str | None = None,
    theme: str | None = None,
    read_only: bool = False,
) -> Settings:
    """Resolve settings; raises `InvalidArgument` for a bad value and `FilesystemError` for an unreadable file."""
    folder = _folder(environ.get("PHELIX_DATA_DIR") or "~/.phelix" if data_dir is None else data_dir)
    written = _read_config(f"{folder}/{CONFIG_FILE}")
    minutes = _minutes(environ.get("PHELIX_STALE_AFTER_MINUTES"), written.get("stale_after_minutes"))
    return Settings(
        data_dir=folder,
        queue=_queue_file(environ, queue, folder),
        stale_after_ms=minutes * _MINUTE_MS,
        theme=theme or environ.get("PHELIX_THEME") or _text("theme", written.get("theme")),
        read_only=read_only,
    )


def _queue_file(environ: Mapping[str, str], named: str | None, folder: str) -> str:
    """The queue's file: as named, else by the environment, ours before the lifecycle's, else in the data directory."""
    path = named if named is not None else environ.get("PHELIX_QUEUE") or environ.get("HARNESS_DB_PATH")
    if path is None:
        return f"{folder}/{QUEUE_FILE}"
    if not path or "\0" in path:
        raise InvalidArgument("The queue's path is empty or holds a NUL character.")
    return os.path.abspath(os.path.expanduser(path))


def _folder(named: str) -> str:
    """The data directory's absolute path."""
    if not named or "\0" in named:
        raise InvalidArgument("The data directory's path is empty or holds a NUL character.")
    try:
        return os.path.abspath(os.path.expanduser(named))
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise FilesystemError(f"Cannot tell which data directory is meant from here: {reason}.") from None


def _read_config(path: str) -> dict[str, object]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # whatever stands there, never wait
        with open(descriptor, "rb") as file:
            import tomllib  # noqa: PLC0415 - only where a file exists, so that others do not pay for the parser

            if not S_ISREG(os.fstat(descriptor).st_mode):
                raise FilesystemError(f"{CONFIG_FILE} is not a regular file.")
            text = file.read(_MAX_CONFIG_BYTES + 1)
            if len(text) > _MAX_CONFIG_BYTES:
                raise InvalidArgument(f"{CONFIG_FILE} is larger than {_MAX_CONFIG_BYTES} bytes.")
            written = tomllib.loads(text.decode())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise FilesystemError(f"Cannot read {CONFIG_FILE}: {os.strerror(error.errno or 0)}.") from None
    except ValueError as error:
        raise InvalidArgument(f"{CONFIG_FILE} is not TOML: {error}.") from None
    except RecursionError:
        raise InvalidArgument(f"{CONFIG_FILE} is nested too deeply.") from None
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
        value = int(from_environment) if from_environment.isdecimal() and len(from_environment) < _DIGITS else None
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MAX_STALE_MINUTES:
        raise InvalidArgument(f"stale_after_minutes must be a whole number from 1 to {_MAX_STALE_MINUTES}.")
    return value


def _text(name: str, value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise InvalidArgument(f"{name} in {CONFIG_FILE} must be text.")
