"""`phelix mcp lifecycle`: the lifecycle's actions as five tools, each with an `action`.

What a host may send is the action's input and nothing beside it: no contract version, no database, no process; the
server has its queue and names itself as the holder of what it takes. A begin answers a `sessionToken` beside its
context; it stands for the run, so it is good after a restart, and either may be handed back. Source: surfaces page,
MCP; reference page on the lifecycle's runtime, sections 2.7 and 9.
"""

import os
import threading
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, cast

from phelix_core import VERSION
from phelix_core.checks import Help, Surface
from phelix_core.commands.environment import Environment, open_environment
from phelix_core.commands.programs import ServeLifecycle
from phelix_core.commands.registry import Effect, load_command
from phelix_core.commands.run import run
from phelix_core.errors import PhelixError, kinds
from phelix_core.frozen import frozen
from phelix_core.lifecycle import inputs
from phelix_core.lifecycle.actions import ACTIONS, BEGINS, Action
from phelix_core.lifecycle.faults import Issue, PayloadInvalid, issue
from phelix_core.lifecycle.inputs import ContextRef, MaybeWord, camel, payload_input, without
from phelix_core.lifecycle.performing import Performed, adapter_of, carry_out, read, refusal
from phelix_core.mcp.serving import serve
from phelix_core.mcp.tools import Answered, Tool
from phelix_core.queue.verbs.advice import CONTRACT_VERSION
from phelix_core.settings import Settings
from phelix_core.strictjson import loads

_SESSION: Final = "ST-"
"""How a session token begins; the run's id follows."""
_PINNED: Final = ("db_path", "holder_pid")
"""Members that a caller may not say over MCP."""
_INSTRUCTIONS: Final = (
    "Take work from the queue under a lease, record checkpoints with evidence, and close it. Ask harness_inspector "
    "next_action what comes next. Recovery goes before new work: RECOVERY_REQUIRED names what must be recovered. "
    "LEASE_LOST means stop: another has the issue. Where a call was cancelled or its answer was lost, look with "
    "harness_inspector audit before you repeat it, or repeat it under the same requestId."
)

SessionToken = Annotated[MaybeWord, Help("What the begin answered; or hand back its whole context")]
MaybeContext = Annotated[ContextRef | None, Help("The context that the begin answered")]


@payload_input
class _Checkpointing:
    """A checkpoint of a session."""

    input: inputs.Report
    session_token: SessionToken = None
    context: MaybeContext = None


@payload_input
class _Closing:
    """The last word of a session."""

    close_input: inputs.Closing
    session_token: SessionToken = None
    context: MaybeContext = None


@payload_input
class _Beating:
    """A heartbeat of a session."""

    session_token: SessionToken = None
    context: MaybeContext = None
    lease_ttl_seconds: inputs.Seconds = None
    request_id: inputs.RequestId = None


@payload_input
class _Nothing:
    """Nothing is asked."""


@frozen
class _Way:
    """How one action of a tool is asked: the lifecycle's action, what MCP sends, and where the action's input is."""

    action: str
    sent: type
    part: str | None = None


def _plain(action: str) -> _Way:
    return _Way(action=action, sent=without(ACTIONS[action].input, *_PINNED))


CAPABILITIES: Final = "capabilities"
TOOLS: Final[Mapping[str, Mapping[str, _Way]]] = {
    "harness_inspector": {
        CAPABILITIES: _Way(action=CAPABILITIES, sent=_Nothing),
        "get_context": _plain("get_context"),
        "next_action": _plain("next_action"),
        "export": _plain("inspect_export"),
        "audit": _plain("inspect_audit"),
        "health_snapshot": _plain("inspect_health_snapshot"),
    },
    "harness_orchestrator": {
        name: _plain(name)
        for name in (
            "init_workspace",
            "create_campaign",
            "plan_issues",
            "promote_queue",
            "rollback_issue",
            "unblock",
            "retry",
            "recover",
        )
    },
    "harness_session": {
        "begin": _plain("begin_incremental"),
        "begin_recovery": _plain("begin_recovery"),
        "checkpoint": _Way(action="checkpoint", sent=_Checkpointing, part="input"),
        "close": _Way(action="close", sent=_Closing, part="close_input"),
        "advance": _Way(action="advance", sent=_Closing, part="close_input"),
        "heartbeat": _Way(action="heartbeat", sent=_Beating),
    },
    "harness_artifacts": {"save": _plain("save_artifact"), "list": _plain("list_artifacts")},
    "harness_admin": {name: _plain(name) for name in ("reconcile", "drain", "undrain", "archive", "memory_sync")},
}
"""Each tool with its actions, as a host names them."""
_ASKED_BY: Final = {way.action: (tool, word) for tool, ways in TOOLS.items() for word, way in ways.items()}
"""For each action of the lifecycle the tool that does it, and the tool's word for it."""
_TITLES: Final = {
    "harness_inspector": ("Look at the queue", "Look at the queue; nothing is changed."),
    "harness_orchestrator": ("Plan and put right", "Bring work in, and put right what failed, blocked or went stale."),
    "harness_session": ("Work under a lease", "Take an issue under a lease, record progress, close it."),
    "harness_artifacts": ("What work made", "Note what the work on an issue made, and list it."),
    "harness_admin": ("Keep the queue", "Record what is stale; drain, undrain or archive a campaign; sync the memory."),
}
_DESTRUCTIVE: Final = frozenset({"harness_orchestrator", "harness_admin"})


def lifecycle_tools(settings: Settings) -> list[Tool]:
    """The five tools over one queue; a thread that reads has a connection of its own, and so have the writes."""
    own = threading.local()

    def reads() -> Environment:
        if not hasattr(own, "env"):
            own.env = open_environment(settings, Surface.MCP)
        return cast("Environment", own.env)

    writes = open_environment(settings, Surface.MCP, delivers=True)
    return [_tool(name, reads, writes) for name in TOOLS]


def _tool(name: str, reads: Callable[[], Environment], writes: Environment) -> Tool:
    ways = TOOLS[name]
    looking = frozenset(word for word, way in ways.items() if _only_looks(way))
    title, told = _TITLES[name]

    def looks(arguments: Mapping[str, object]) -> bool:
        return arguments.get("action") in looking

    def call(arguments: str) -> Answered:
        members = cast("dict[str, Any]", loads(arguments.encode()))
        try:
            return _answered(ways, members, reads() if looks(members) else writes)
        except PhelixError as error:
            return failed(error)

    return Tool(
        name=name,
        title=title,
        description=f"{told} {' '.join(_told(word, way) for word, way in ways.items())}",
        input_schema=_schema(ways),
        effect=Effect.READ if looking == ways.keys() else Effect.WRITE,
        call=call,
        destructive=name in _DESTRUCTIVE,
        looks=looks,
    )


def failed(error: PhelixError) -> Answered:
    """A refusal in the lifecycle's shape, as a call's answer."""
    return Answered(document=refusal(error), failed=True)


def _only_looks(way: _Way) -> bool:
    return way.action == CAPABILITIES or load_command(ACTIONS[way.action].command).effect is Effect.READ


def _answered(ways: Mapping[str, _Way], members: dict[str, Any], env: Environment) -> Answered:
    word = members.pop("action", None)
    way = ways.get(word) if isinstance(word, str) else None
    if way is None:
        raise PayloadInvalid([issue("invalid_value", ["action"], "Expected the name of an action", values=list(ways))])
    sent, issues = read(way.sent, members, [])
    if issues:
        raise PayloadInvalid(issues)
    if way.action == CAPABILITIES:
        return Answered(document={"action": CAPABILITIES, "result": capabilities()}, failed=False)
    action = ACTIONS[way.action]
    given, more = _given(action, way, sent, members, env)
    place = () if way.part is None else (camel(way.part),)
    performed = carry_out(action, given, env, place=place, **more)
    if performed.error is not None:
        return failed(performed.error)
    return Answered(document=_with_tool(_with_token(performed)), failed=False)


def _given(
    action: Action, way: _Way, sent: Any, members: Mapping[str, Any], env: Environment
) -> tuple[Any, dict[str, Any]]:
    """The action's input, and what names the lease or its holder."""
    given = getattr(sent, way.part) if way.part else sent
    if action.name in BEGINS:
        return given, {"holder_pid": os.getpid()}
    if not action.holds:
        return given, {}
    issues = _unnamed(sent, env)
    if issues:
        raise PayloadInvalid(issues)
    if sent.session_token is not None:
        return given, {"run": sent.session_token.removeprefix(_SESSION)}
    return given, {"held": members["context"]}


def _unnamed(sent: Any, env: Environment) -> list[Issue]:
    """What is wrong with how a session is named."""
    if (sent.session_token is None) == (sent.context is None):
        return [issue("invalid_value", ["sessionToken"], "Expected the sessionToken, or the context, of a begin")]
    if sent.session_token is not None and not sent.session_token.startswith(_SESSION):
        return [issue("invalid_value", ["sessionToken"], "Expected the sessionToken that the begin answered")]
    if sent.context is not None and sent.context.db_path not in (None, env.queue.path):
        return [issue("invalid_value", ["context", "dbPath"], "The context is of another queue than this server's")]
    return []


def _with_token(performed: Performed) -> dict[str, Any]:
    """The answer, with the session's token where one has begun."""
    document = performed.document
    context = document.get("context") or document.get("result", {}).get("context")
    if isinstance(context, dict) and document["action"] in (*BEGINS, "advance") and "runId" in context:
        return {**document, "sessionToken": f"{_SESSION}{context['runId']}"}
    return document


def _with_tool(document: dict[str, Any]) -> dict[str, Any]:
    """The answer of `next_action`, with the tool that its payload belongs to and the arguments that it takes."""
    payload = document.get("result", {}).get("suggestedPayload") if document["action"] == "next_action" else None
    if payload is None:
        return document
    tool, word = _ASKED_BY[payload["action"]]
    asked = {"tool": tool, "suggestedArguments": {"action": word, **payload["input"]}}
    return {**document, "result": {**document["result"], **asked}}


def capabilities() -> dict[str, Any]:
    """What this server can do, for a program to look at first."""
    return {
        "contractVersion": CONTRACT_VERSION,
        "server": {"name": "phelix", "version": VERSION},
        "tools": {name: list(ways) for name, ways in TOOLS.items()},
        "actions": {
            name: {"command": f"phelix {action.command}", "writes": load_command(action.command).effect is Effect.WRITE}
            for name, action in ACTIONS.items()
        },
        "codes": {kind.code: kind.retryable for kind in kinds()},
    }


def _told(word: str, way: _Way) -> str:
    """One action for a host: what it does, and what it needs."""
    drawn = adapter_of(way.sent).json_schema()
    needs = ", ".join(drawn.get("required", ()))
    what = CAPABILITIES if way.action == CAPABILITIES else load_command(ACTIONS[way.action].command).help
    lease = "sessionToken or context" if hasattr(way.sent, "session_token") or "sessionToken" in str(drawn) else ""
    needed = ", ".join(part for part in (lease, needs) if part)
    return f"{word}: {what.rstrip('.')}{f' (needs {needed})' if needed else ''}."


def _schema(ways: Mapping[str, _Way]) -> dict[str, Any]:
    """One flat object for all actions: hosts read no alternatives at the top, so descriptions say what each needs."""
    properties: dict[str, Any] = {
        "action": {"type": "string", "enum": list(ways), "description": "What to do"},
    }
    for way in ways.values():
        drawn = adapter_of(way.sent).json_schema()
        for name, property_schema in drawn.get("properties", {}).items():
            properties.setdefault(name, _inlined(property_schema, drawn.get("$defs", {})))
    if "context" in properties:  # handed back as it was: nobody has to know its members
        properties["context"] = {"type": "object", "description": "The whole context that the begin answered"}
    return {"type": "object", "properties": properties, "required": ["action"], "additionalProperties": False}


def _inlined(part: Any, known: Mapping[str, Any]) -> Any:
    """A schema without references, and without the titles that repeat a member's name."""
    if isinstance(part, list):
        return [_inlined(item, known) for item in cast("list[Any]", part)]
    if not isinstance(part, dict):
        return part
    members = cast("dict[str, Any]", part)
    if "$ref" in members:
        target = known[str(members["$ref"]).removeprefix("#/$defs/")]
        return _inlined({**target, **{name: value for name, value in members.items() if name != "$ref"}}, known)
    # A title of text repeats a name; one that is a schema is a member called so.
    return {name: _inlined(value, known) for name, value in members.items() if name != "title" or value != str(value)}


def _hand_over(settings: Settings) -> None:
    """Offer the memory what others left waiting for it."""
    run(load_command("queue memory sync"), {}, open_environment(settings, Surface.MCP, delivers=True))


def main(request: ServeLifecycle, settings: Settings) -> int:  # noqa: ARG001 - every program takes both
    """Serve until the host leaves; answers the exit status."""
    if settings.memory is not None and not settings.read_only:
        threading.Thread(target=_hand_over, args=(settings,), name="memory", daemon=True).start()
    return serve(
        lifecycle_tools(settings),
        name="phelix-lifecycle",
        title="Phelix lifecycle",
        instructions=_INSTRUCTIONS,
        told=failed,
    )
