"""The registry: a command is declared once, and each surface reads the declaration.

A declaration is a frozen dataclass (the request), a function, an effect and the surfaces that carry it.
`CATALOGUE` names them all; only the module of the one that is called is imported. `validate` gives a
surface exactly its own fields: one that is absent there is an unknown field, not a hidden one. Source:
architecture page, one declaration; surfaces page, one registry.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cache
from importlib import import_module
from types import NoneType, UnionType
from typing import Annotated, Any, cast, get_args, get_origin, get_type_hints

from phelix_core.checks import Alias, Check, CheckFailed, Contents, Help, Only, Place, Surface
from phelix_core.commands.environment import Environment
from phelix_core.errors import InvalidArgument
from phelix_core.frozen import REQUIRED, frozen, members_of
from phelix_core.redaction import redact

CATALOGUE: Mapping[str, str] = {
    "session create": "phelix_core.commands.session_creation:create_session",
    "session show": "phelix_core.commands.session:show_session",
    "session list": "phelix_core.commands.session_listing:list_sessions",
    "session checkpoint": "phelix_core.commands.session_updates:checkpoint_session",
    "session complete": "phelix_core.commands.session_updates:complete_session",
    "session fail": "phelix_core.commands.session_updates:fail_session",
    "session cancel": "phelix_core.commands.session_updates:cancel_session",
    "session prune": "phelix_core.commands.session_pruning:prune_sessions",
    "queue init": "phelix_core.commands.queue.setting_up:init_queue",
    "queue campaign": "phelix_core.commands.queue.setting_up:create_campaign",
    "queue plan": "phelix_core.commands.queue.setting_up:plan",
    "queue list": "phelix_core.commands.queue.looking:list_issues",
    "queue show": "phelix_core.commands.queue.looking:show_issue",
    "queue health": "phelix_core.commands.queue.inspecting:queue_health",
    "queue export": "phelix_core.commands.queue.inspecting:export_queue",
    "queue audit": "phelix_core.commands.queue.auditing:audit_issue",
    "queue next": "phelix_core.commands.queue.advising:next_action",
    "queue context": "phelix_core.commands.queue.advising:show_context",
    "queue claim": "phelix_core.commands.queue.claiming:claim",
    "queue recover": "phelix_core.commands.queue.claiming:recover",
    "queue checkpoint": "phelix_core.commands.queue.progress:checkpoint_issue",
    "queue heartbeat": "phelix_core.commands.queue.progress:heartbeat_lease",
    "queue close": "phelix_core.commands.queue.progress:close_issue",
    "queue advance": "phelix_core.commands.queue.progress:advance",
    "queue artifacts save": "phelix_core.commands.queue.progress:save_an_artifact",
    "queue artifacts list": "phelix_core.commands.queue.progress:list_artifacts",
    "queue memory sync": "phelix_core.commands.queue.remembering:sync_memory",
    "queue promote": "phelix_core.commands.queue.upkeep:promote",
    "queue reconcile": "phelix_core.commands.queue.upkeep:reconcile",
    "queue unblock": "phelix_core.commands.queue.upkeep:unblock",
    "queue retry": "phelix_core.commands.queue.upkeep:retry",
    "queue rollback": "phelix_core.commands.queue.upkeep:rollback",
    "queue drain": "phelix_core.commands.queue.upkeep:drain",
    "queue undrain": "phelix_core.commands.queue.upkeep:undrain",
    "queue archive": "phelix_core.commands.queue.upkeep:archive",
    "queue import": "phelix_core.commands.queue.importing:import_queue",
    "plan create": "phelix_core.commands.arc.planning:create_plan",
    "plan show": "phelix_core.commands.arc.planning:show_plan",
    "plan list": "phelix_core.commands.arc.planning:list_plans",
    "plan apply": "phelix_core.commands.arc.applying:apply_plan",
    "authz approve": "phelix_core.commands.arc.authorizing:approve_plan",
    "authz revoke": "phelix_core.commands.arc.authorizing:revoke_approval",
    "authz check": "phelix_core.commands.arc.authorizing:check_plan",
    "authz list": "phelix_core.commands.arc.authorizing:list_approvals",
    "operation status": "phelix_core.commands.arc.operating:show_operation",
    "operation list": "phelix_core.commands.arc.operating:list_operations",
    "operation cancel": "phelix_core.commands.arc.operating:cancel_operation",
    "inspect": "phelix_core.commands.arc.inspecting:inspect",
    "context": "phelix_core.commands.arc.context:show_context",
    "view save": "phelix_core.commands.saved_views:save_view",
    "view list": "phelix_core.commands.saved_views:list_views",
    "view show": "phelix_core.commands.saved_views:show_view",
    "view remove": "phelix_core.commands.saved_views:remove_view",
    "demo": "phelix_core.commands.demo:write_demo",
    "skill": "phelix_core.commands.skill:skill",
    "doctor": "phelix_core.commands.doctor:doctor",
    "schema": "phelix_core.commands.schema:show_schema",
    "tui": "phelix_core.commands.programs:tui",
    "completion": "phelix_core.commands.programs:completion",
    "mcp serve": "phelix_core.commands.programs:mcp_serve",
    "mcp lifecycle": "phelix_core.commands.programs:mcp_lifecycle",
    "mcp config": "phelix_core.commands.mcp_config:mcp_config",
}

READ_MODELS: Mapping[str, str] = {
    "queue board": "phelix_core.commands.queue.board:board",
    "arc board": "phelix_core.commands.arc.board:arc_board",
    "arc log": "phelix_core.commands.arc.board:read_log",
}
"""Commands that a live view within this process asks: no other surface carries, lists or completes them."""

EVERYWHERE = frozenset(Surface)


class Effect(Enum):
    """What a command may do: look, change bytes, or start a program of its own."""

    READ = "read"
    WRITE = "write"
    PROGRAM = "program"


@frozen
class Field:
    """One field of a request, as every surface sees it."""

    name: str
    option: str
    kind: type
    many: bool
    required: bool
    default: object
    help: str
    checks: tuple[Check, ...]
    surfaces: frozenset[Surface]
    positional: bool = False
    file_cap: int | None = None


@frozen
class Command:
    """One declared command."""

    name: str
    request: type
    function: Callable[[Any, Environment], object]
    effect: Effect
    surfaces: frozenset[Surface]
    caution: str | None
    result: Any
    runs: bool

    def __call__(self, request: Any, env: Environment) -> object:
        """Carry the request out; for a write this answers the intent, which writes nothing yet."""
        return self.function(request, env)

    @property
    def help(self) -> str:
        """What the command does, in its request's words."""
        return (self.request.__doc__ or "").strip()

    def fields(self, surface: Surface) -> tuple[Field, ...]:
        """The fields that `surface` carries, in declared order."""
        return tuple(field for field in _fields(self.request) if surface in field.surfaces)


def command(
    name: str,
    *,
    effect: Effect,
    result: Any = None,
    surfaces: frozenset[Surface] = EVERYWHERE,
    caution: str | None = None,
    runs: bool = False,
) -> Callable[[Callable[[Any, Environment], object]], Command]:
    """Declare a command.

    `caution` says what it does not do, for help texts and dialogs. `result` is what it answers, as a type or as the
    place of one that only schemas need, `module:Name`; without it a read's return annotation says it. `runs` is
    for what runs a program of somebody else's: it may take its time, and whoever waits may end it.
    """

    def declare(function: Callable[[Any, Environment], object]) -> Command:
        request = function.__annotations__["request"]
        # What pydantic must know wherever it builds a type from this request: no unknown field, no coercion.
        request.__pydantic_config__ = {"extra": "forbid", "strict": True}
        return Command(
            name=name,
            request=request,
            function=function,
            effect=effect,
            surfaces=surfaces,
            caution=caution,
            result=result or function.__annotations__.get("return"),
            runs=runs,
        )

    return declare


def load_command(name: str) -> Command:
    """Import and answer the command `name`, which must be in `CATALOGUE` or in `READ_MODELS`."""
    module, _, attribute = (CATALOGUE.get(name) or READ_MODELS[name]).partition(":")
    return cast("Command", getattr(import_module(module), attribute))


@cache
def _fields(request: type) -> tuple[Field, ...]:
    hints = get_type_hints(request, include_extras=True)
    return tuple(_field(name, hints[name], default) for name, default in members_of(request))


def _field(name: str, hint: Any, default: object) -> Field:
    marks: list[object] = []
    if get_origin(hint) is Annotated:
        hint, *marks = get_args(hint)
    many = get_origin(hint) is tuple
    if many:
        hint = get_args(hint)[0]
        if get_origin(hint) is Annotated:
            hint, *inner = get_args(hint)
            marks.extend(inner)
    elif isinstance(hint, UnionType):
        hint = next(part for part in get_args(hint) if part is not NoneType)
    only = next((mark for mark in marks if isinstance(mark, Only)), None)
    alias = next((mark.name for mark in marks if isinstance(mark, Alias)), name)
    return Field(
        name=name,
        option=f"--{alias.replace('_', '-')}",
        kind=hint,
        many=many,
        required=default is REQUIRED,
        default=default,
        help=next((mark.text for mark in marks if isinstance(mark, Help)), ""),
        checks=tuple(mark for mark in marks if isinstance(mark, Check)),
        surfaces=only.surfaces if only else EVERYWHERE,
        positional=any(isinstance(mark, Place) for mark in marks),
        file_cap=next((mark.cap for mark in marks if isinstance(mark, Contents)), None),
    )


def validate(command: Command, raw: Mapping[str, object], surface: Surface) -> Any:
    """Build the full request from what a surface sent; every refusal is one `InvalidArgument`.

    `details.fields` maps each field at fault to what is wrong with it.
    """
    if surface not in command.surfaces:
        raise InvalidArgument(f"`{command.name}` is not carried by this surface.")
    wrong: dict[str, str] = {}
    values: dict[str, object] = {}
    known = {field.name: field for field in command.fields(surface)}
    for name in raw:
        if name not in known:
            wrong[name] = "unknown field"
    for name, field in known.items():
        if name not in raw:
            if field.required:
                wrong[name] = "required"
            continue
        try:
            values[name] = _checked(field, raw[name])
        except CheckFailed as failed:
            wrong[name] = str(failed)
    if wrong:
        first, reason = next(iter(wrong.items()))
        named = known[first].option.lstrip("-") if first in known else first
        raise InvalidArgument(f"{named}: {reason}.", details={"fields": wrong})
    return command.request(**values)


def _checked(field: Field, value: object) -> object:
    if field.many:
        if not isinstance(value, (list, tuple)):
            raise CheckFailed("expected a list")
        items = cast("list[object]", value)
        return tuple(_item(field, items, place) for place in range(len(items)))
    if value is None and field.default is None:
        return None
    return _one(field, value)


def _item(field: Field, items: Sequence[object], place: int) -> object:
    """One of several; what is wrong with it names its place, and not what may be a secret."""
    try:
        return _one(field, items[place])
    except CheckFailed as failed:
        told = f"number {place + 1} of {len(items)}: " if len(items) > 1 else ""
        raise CheckFailed(f"{told}{failed}") from None


_EXPECTED = {str: "text", int: "a whole number", bool: "true or false"}


def _one(field: Field, value: object) -> object:
    if type(value) is not field.kind:
        raise CheckFailed(f"expected {_EXPECTED[field.kind]}")
    for check in field.checks:
        value = check.apply(value)
    return value


def equivalent(command: Command, request: object, data_dir: str | None = None, **more: object) -> str:
    """The command line that asks for the same, ready to copy into a shell; a secret in a path is told as one."""
    from shlex import quote  # noqa: PLC0415 - only previews need it

    words = ["phelix", *command.name.split()]
    options: list[str] = []
    for field in command.fields(Surface.CLI):
        value = more.get(field.name, getattr(request, field.name))
        if field.file_cap is not None and value is not None:
            (words if field.positional else options).append("-" if field.positional else f"{field.option} -")
        elif field.positional and not field.many:
            words += [] if value is None else [quote(redact(str(value)))]
        elif field.positional:
            words.append(quote(redact(str(value))))
        elif field.many:
            options += [_option(field.option, item) for item in cast("tuple[object, ...]", value)]
        elif value is True:
            options.append(field.option)
        elif value is not None and value is not False and value != field.default:
            options.append(_option(field.option, value))
    if data_dir:
        options.append(f"--data-dir {_path(data_dir)}")
    return " ".join([*words, *options])


def _path(path: str) -> str:
    """A path for a shell, below the home folder as people write it."""
    from shlex import quote  # noqa: PLC0415 - only previews need it

    home, path = os.path.expanduser("~"), redact(path)
    return f"~/{quote(path[len(home) + 1 :])}" if path.startswith(f"{home}/") else quote(path)


def _option(name: str, value: object) -> str:
    from shlex import quote  # noqa: PLC0415 - only previews need it

    text = quote(str(value))
    return f"{name}={text}" if str(value).startswith("-") else f"{name} {text}"
