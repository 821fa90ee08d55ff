"""One frozen `Settings`: flag, then environment, then `<data-dir>/config.toml`, then default.

Handed down as a value; no rule reads the environment. An unknown or ill-typed key in the file is an
error that names the key and never its value.
"""

import os
from collections.abc import Mapping
from stat import S_ISREG
from typing import cast

from phelix_core.errors import FilesystemError, InvalidArgument
from phelix_core.frozen import frozen

CONFIG_FILE = "config.toml"
QUEUE_FILE = "queue.db"
_MINUTE_MS = 60_000
_DEFAULT_STALE_MINUTES = 60
_MAX_STALE_MINUTES = 60 * 24 * 366
_DIGITS = 10
_MOST_TEXTS = 32
_MAX_CONFIG_BYTES = 64 * 1024
_KNOWN = ("memory", "quiet", "stale_after_minutes", "theme")
_KNOWN_OF_MEMORY = ("config", "deadline_seconds", "embedder", "provider")
_DEFAULT_DEADLINE_S = 10
_MAX_DEADLINE_S = 120

NO_MEMORY = "none"
MEM0 = "mem0"
LOCAL_EMBEDDER = "local"
"""The embedder that needs no model and no network."""
CONFIGURED_EMBEDDER = "config"
"""The embedder that the memory's own configuration names."""


@frozen
class MemorySettings:
    """The memory that a person chose, mem0; `config` is the path of a configuration in its own form."""

    embedder: str = LOCAL_EMBEDDER
    config: str | None = None
    deadline_seconds: int = _DEFAULT_DEADLINE_S


@frozen
class Settings:
    """What a person may choose; durations in milliseconds. `queue` is the queue's file.

    `quiet` names the kinds of news for which the console does not ring.
    """

    data_dir: str
    queue: str = ""
    stale_after_ms: int = _DEFAULT_STALE_MINUTES * _MINUTE_MS
    theme: str | None = None
    read_only: bool = False
    memory: MemorySettings | None = None
    quiet: tuple[str, ...] = ()


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
        memory=_memory(written.get("memory"), folder),
        quiet=_texts("quiet", written.get("quiet", [])),
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
    _require_known(written, _KNOWN)
    return written


def _require_known(written: Mapping[str, object], known: tuple[str, ...], table: str = "") -> None:
    unknown = sorted(table + key for key in set(written) - set(known))
    if unknown:
        raise InvalidArgument(
            f"{CONFIG_FILE} holds unknown keys: {', '.join(unknown)}.",
            hint=f"Known: {', '.join(table + key for key in known)}.",
        )


def _memory(written: object, folder: str) -> MemorySettings | None:
    """The table `[memory]`, checked as a whole even where it says that there is none."""
    if written is None:
        return None
    if not isinstance(written, dict):
        raise InvalidArgument(f"memory in {CONFIG_FILE} must be a table.")
    table = cast("dict[str, object]", written)
    _require_known(table, _KNOWN_OF_MEMORY, "memory.")
    provider = _one_of("memory.provider", table.get("provider", NO_MEMORY), (NO_MEMORY, MEM0))
    embedders = (LOCAL_EMBEDDER, CONFIGURED_EMBEDDER)
    embedder = _one_of("memory.embedder", table.get("embedder", LOCAL_EMBEDDER), embedders)
    config = _text("memory.config", table.get("config"))
    if config is not None and (not config or "\0" in config):
        raise InvalidArgument(f"memory.config in {CONFIG_FILE} is empty or holds a NUL character.")
    if config is None and embedder == CONFIGURED_EMBEDDER:
        raise InvalidArgument(f"memory.embedder in {CONFIG_FILE} needs memory.config to say which.")
    seconds = _deadline(table.get("deadline_seconds", _DEFAULT_DEADLINE_S))
    if provider == NO_MEMORY:
        return None
    path = None if config is None else os.path.join(folder, os.path.expanduser(config))
    return MemorySettings(embedder=embedder, config=path, deadline_seconds=seconds)


def _one_of(name: str, value: object, known: tuple[str, ...]) -> str:
    if isinstance(value, str) and value in known:
        return value
    raise InvalidArgument(f"{name} in {CONFIG_FILE} must be one of: {', '.join(known)}.")


def _deadline(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MAX_DEADLINE_S:
        return value
    raise InvalidArgument(
        f"memory.deadline_seconds in {CONFIG_FILE} must be a whole number from 1 to {_MAX_DEADLINE_S}."
    )


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


def _texts(name: str, value: object) -> tuple[str, ...]:
    """A list of a few texts."""
    texts = cast("list[object]", value) if isinstance(value, list) else None
    if texts is None or len(texts) > _MOST_TEXTS or not all(isinstance(text, str) for text in texts):
        raise InvalidArgument(f"{name} in {CONFIG_FILE} must be a list of at most {_MOST_TEXTS} texts.")
    return tuple(map(str, texts))
