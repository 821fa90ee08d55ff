"""An application: what a person declares in `apps/<name>/app.toml`, and what of it an execution would run.

Promises: what is not understood to the last key is refused, naming the file and the key and never a value; a command
is a list of texts that no shell ever reads, with a time limit, names of the variables that it may see, and a folder
inside the application's own; a version stands in it only where `{version}` says so, and can be no option and no path.
Source: arc page, application.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, NoReturn, cast

from phelix_core.arc.model import DEPLOY, ROLLBACK, hash_of
from phelix_core.arc.policies import told_key
from phelix_core.checks import Check, CheckFailed, full_match
from phelix_core.errors import InvalidArgument, PlanCapabilityMissing
from phelix_core.frozen import frozen
from phelix_core.redaction import redact
from phelix_core.strictjson import plain
from phelix_core.text import TextRefused, utf8_size, visible

APPLICATION_NAME: Final = full_match(
    "[a-z0-9_][a-z0-9._-]{0,63}", "a name of at most 64 small letters, digits, dots, hyphens and underscores"
)
VERSION: Final = full_match("[A-Za-z0-9][A-Za-z0-9._+-]{0,127}", "a version of at most 128 letters, digits and . _ + -")
APPLICATION_FILE: Final = "app.toml"
MAX_APPLICATION_BYTES: Final = 64 * 1024
VERSION_MARK: Final = "{version}"

_MAX_VERSIONS = 1_000
_MAX_ARGUMENTS = 64
_MAX_ARGUMENT_BYTES = 4_096
_MAX_VARIABLES = 64
_MAX_SECONDS = 86_400
_DEFAULT_SECONDS = 600
_DEFAULT_HEALTH_SECONDS = 10
_MAX_URL_BYTES = 2_048
_FIRST_STATUS, _LAST_STATUS, _OK_STATUS = 100, 599, 200
_VARIABLE = full_match("[A-Za-z_][A-Za-z0-9_]{0,127}", "a variable's name")
_LANGUAGE = full_match("[A-Za-z0-9][A-Za-z0-9 .+#_-]{0,63}", "a language's name")
_COMMAND_KEYS = ("command", "environment", "folder", "time_limit_seconds")
_HEALTH_KEYS = (*_COMMAND_KEYS, "expect_status", "url")
_KEYS = ("deploy", "health", "language", "name", "rollback", "version", "versions")


@frozen
class DeclaredCommand:
    """One command: its arguments, how long it may take, what it sees of the environment, and where it starts."""

    command: tuple[str, ...]
    time_limit_seconds: int
    environment: tuple[str, ...]
    folder: str

    def seen_of(self, environ: Mapping[str, str]) -> dict[str, str]:
        """What the command sees of an environment: the variables that it names, and no other."""
        return {name: environ[name] for name in self.environment if name in environ}


@frozen
class HealthCheck:
    """How to tell that the application is well: a command that succeeds, or a page with that status."""

    command: DeclaredCommand | None
    url: str | None
    time_limit_seconds: int
    expect_status: int | None


@frozen
class Application:
    """One application; `version` is the current one as its file says, `fingerprint` what its commands were."""

    name: str
    language: str | None
    version: str | None
    versions: tuple[str, ...]
    deploy: DeclaredCommand | None
    rollback: DeclaredCommand | None
    health: HealthCheck | None
    fingerprint: str

    @property
    def capabilities(self) -> frozenset[str]:
        """The actions that a command is declared for."""
        return frozenset(action for action in (DEPLOY, ROLLBACK) if self.command_for(action) is not None)

    def command_for(self, action: str) -> DeclaredCommand | None:
        """The command declared for an action; None for any action that there is none for."""
        return {DEPLOY: self.deploy, ROLLBACK: self.rollback}.get(action)


def execution_of(application: Application, action: str, version: str) -> dict[str, object]:
    """What a plan says of its execution: the declared command with `version` in its place.

    Raises `PlanCapabilityMissing` where none is declared, `InvalidArgument` for what can be no version.
    """
    declared = application.command_for(action)
    if declared is None:
        raise PlanCapabilityMissing(
            f"The application {application.name} declares no such action. Nothing was planned.",
            hint=f"Declare it in apps/{application.name}/{APPLICATION_FILE}.",
        )
    try:
        VERSION.apply(version)
    except CheckFailed as failed:
        raise InvalidArgument(f"The version cannot be used: {failed}.") from None
    return {
        "argv": [argument.replace(VERSION_MARK, version) for argument in declared.command],
        "time_limit_seconds": declared.time_limit_seconds,
        "environment": list(declared.environment),
        "folder": declared.folder,
    }


def decode_application(data: bytes, name: str) -> Application:
    """The application in `data`, whose folder is called `name`; raises `InvalidArgument`."""
    table = _Table(_parsed(data, name), name)
    table.require_known(_KEYS)
    if table.text("name", APPLICATION_NAME) != name:
        table.refuse("name", "is not what its folder is called")
    version = table.optional_text("version", VERSION)
    deploy, rollback, health = (_command(table, DEPLOY), _command(table, ROLLBACK), _health(table))
    language = table.optional_text("language", _LANGUAGE)
    # Versions come and go under preconditions of their own; they are no change of what would be run.
    shown = {"name": name, "language": language, DEPLOY: deploy, ROLLBACK: rollback, "health": health}
    return Application(
        name=name,
        language=language,
        version=version,
        versions=table.texts("versions", VERSION, _MAX_VERSIONS),
        deploy=deploy,
        rollback=rollback,
        health=health,
        fingerprint=hash_of(plain(shown)),
    )


def _parsed(data: bytes, name: str) -> Mapping[str, object]:
    import tomllib  # noqa: PLC0415 - most calls read no application

    if len(data) > MAX_APPLICATION_BYTES:
        raise _invalid(name, f"it is larger than {MAX_APPLICATION_BYTES} bytes")
    try:
        return tomllib.loads(data.decode())
    except UnicodeDecodeError:
        raise _invalid(name, "it is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        # What tomllib says may quote the file; where it stopped is all that helps to correct it.
        place = f"{error}".rpartition("(at ")[2].rstrip(")") if "(at " in f"{error}" else ""
        raise _invalid(name, f"it is not TOML at {place}" if place else "it is not TOML") from None


def _command(table: "_Table", action: str) -> DeclaredCommand | None:
    inner = table.table(action)
    if inner is None:
        return None
    inner.require_known(_COMMAND_KEYS)
    return _declared(inner, _DEFAULT_SECONDS)


def _declared(table: "_Table", seconds: int) -> DeclaredCommand:
    command = table.texts("command", _ARGUMENT, _MAX_ARGUMENTS)
    if not command or not command[0].strip():
        table.refuse("command", "names no program")
    return DeclaredCommand(
        command=command,
        time_limit_seconds=table.integer("time_limit_seconds", seconds, 1, _MAX_SECONDS),
        environment=table.texts("environment", _VARIABLE, _MAX_VARIABLES),
        folder=table.optional_text("folder", _FOLDER) or ".",
    )


def _health(outer: "_Table") -> HealthCheck | None:
    table = outer.table("health")
    if table is None:
        return None
    table.require_known(_HEALTH_KEYS)
    if table.has("command") == table.has("url"):
        table.refuse("command", "or url must be there, and not both")
    seconds = table.integer("time_limit_seconds", _DEFAULT_HEALTH_SECONDS, 1, _MAX_SECONDS)
    if table.has("command"):
        if table.has("expect_status"):
            table.refuse("expect_status", "is of a url, and here is none")
        command = _declared(table, _DEFAULT_HEALTH_SECONDS)
        return HealthCheck(command=command, url=None, time_limit_seconds=seconds, expect_status=None)
    for key in ("environment", "folder"):
        if table.has(key):
            table.refuse(key, "is of a command, and here is none")
    return HealthCheck(
        command=None,
        url=table.text("url", _URL),
        time_limit_seconds=seconds,
        expect_status=table.integer("expect_status", _OK_STATUS, _FIRST_STATUS, _LAST_STATUS),
    )


def _argument(value: str) -> str:
    try:
        size = utf8_size(value)
    except TextRefused as refused:
        raise CheckFailed(str(refused)) from None
    if size > _MAX_ARGUMENT_BYTES:
        raise CheckFailed(f"expected at most {_MAX_ARGUMENT_BYTES} bytes")
    return value


def _folder(value: str) -> str:
    _argument(value)
    if not value or value.startswith("/") or ".." in value.split("/"):
        raise CheckFailed("expected a folder inside the application's own")
    return value


def _url(value: str) -> str:
    from urllib.parse import urlsplit  # noqa: PLC0415 - only where there is one

    if len(value.encode()) > _MAX_URL_BYTES or visible(value) != value or any(map(str.isspace, value)):
        raise CheckFailed(f"expected a URL of at most {_MAX_URL_BYTES} bytes, without spaces and control characters")
    try:
        parts = urlsplit(value)
        named = parts.hostname, parts.port
    except ValueError:
        raise CheckFailed("expected a URL") from None
    if parts.scheme not in ("http", "https") or not named[0]:
        raise CheckFailed("expected a URL of http or https with a host")
    if parts.username is not None or parts.password is not None:
        raise CheckFailed("expected a URL without a user or password: this file is no place for secrets")
    return value


_ARGUMENT = Check(_argument)
_FOLDER = Check(_folder)
_URL = Check(_url)


class _Table:
    """Typed reading of one TOML table; what is wrong is `InvalidArgument`, which names the key."""

    def __init__(self, table: Mapping[str, object], name: str, path: str = "") -> None:
        self._table = table
        self._name = name
        self._path = path

    def has(self, key: str) -> bool:
        return key in self._table

    def refuse(self, key: str, what: str) -> NoReturn:
        raise _invalid(self._name, f"{self._path}{key} {what}", f"{self._path}{key}")

    def require_known(self, known: Iterable[str]) -> None:
        unknown = sorted(set(self._table) - set(known))
        if unknown:
            named = told_key(unknown[0])
            self.refuse(named or "a key", f"is unknown; known are {', '.join(known)}")

    def table(self, key: str) -> "_Table | None":
        value = self._table.get(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            self.refuse(key, "is not a table")
        return _Table(MappingProxyType(cast("dict[str, object]", value)), self._name, f"{self._path}{key}.")

    def text(self, key: str, check: Check) -> str:
        return self._checked(key, self._table.get(key), check)

    def optional_text(self, key: str, check: Check) -> str | None:
        return self.text(key, check) if self.has(key) else None

    def integer(self, key: str, default: int, least: int, most: int) -> int:
        value = self._table.get(key, default)
        if type(value) is not int or not least <= value <= most:
            self.refuse(key, f"is not a whole number from {least} to {most}")
        return value

    def texts(self, key: str, check: Check, most: int) -> tuple[str, ...]:
        value = self._table.get(key, [])
        if not isinstance(value, list):
            self.refuse(key, "is not a list")
        items = cast("list[object]", value)
        if len(items) > most:
            self.refuse(key, f"has {len(items)} entries, over {most}")
        return tuple(self._checked(key, item, check) for item in items)

    def _checked(self, key: str, value: object, check: Check) -> str:
        if not isinstance(value, str):
            self.refuse(key, "is not text" if self.has(key) else "is missing")
        try:
            kept: str = check.apply(value)
        except CheckFailed as failed:
            self.refuse(key, f"is not usable: {failed}")
        if redact(kept) != kept:
            self.refuse(key, "looks like a secret, which every plan would repeat; name a variable in environment")
        return kept


def _invalid(name: str, what: str, key: str | None = None) -> InvalidArgument:
    file = f"apps/{name}/{APPLICATION_FILE}"
    details = {"file": file} if key is None else {"file": file, "key": key}
    return InvalidArgument(f"{file} cannot be used: {what}.", hint=f"Correct {file}.", details=details)
