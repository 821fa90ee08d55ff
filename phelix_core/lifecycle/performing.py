"""One lifecycle payload to its answer: read strictly, carried out through `run()`, told in the document's shapes.

A success is `{action, context}` for the two begins, else `{action, result}`; a refusal is `{error, code}` with its
`issues`, hint and details where it has any. Source: surfaces page, JSON-driven lifecycle CLI.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final, cast

from pydantic import TypeAdapter, ValidationError

from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import Effect, load_command
from phelix_core.commands.run import run
from phelix_core.envelope import redacted
from phelix_core.errors import InvalidArgument, PhelixError
from phelix_core.frozen import frozen
from phelix_core.lifecycle.actions import ACTIONS, Action
from phelix_core.lifecycle.faults import Issue, PayloadInvalid, issue, issues_in, issues_of, placed
from phelix_core.lifecycle.inputs import ContextRef, camel
from phelix_core.queue.verbs.advice import CONTRACT_VERSION
from phelix_core.redaction import redact
from phelix_core.strictjson import JsonRefused, dumps, loads, plain

PAYLOAD_CAP: Final = 9 * 1024 * 1024
"""A payload is a plan batch at most, and what stands around it."""

Opens = Callable[[str | None], Environment]
"""Opens the environment over the queue that a payload names, or over the one that is configured."""


@frozen
class Performed:
    """What came of a payload: exactly one of `answer` and `error` is set."""

    answer: Mapping[str, Any] | None = None
    error: PhelixError | None = None

    @property
    def document(self) -> dict[str, Any]:
        """The answer, or the account of the refusal, redacted."""
        if self.error is None:
            return dict(self.answer or {})
        return refusal(self.error)


def refusal(error: PhelixError) -> dict[str, Any]:
    """A refusal in the lifecycle's shape."""
    told: dict[str, Any] = {"error": redact(error.message), "code": error.code}
    if issues := issues_in(error):
        told["issues"] = redacted(plain(issues))
    if error.hint:
        told["hint"] = redact(error.hint)
    details = {name: value for name, value in error.details.items() if name not in ("issues", "fields")}
    if details:
        told["details"] = redacted(plain(details))
    return told


def perform(text: bytes, opens: Opens) -> Performed:
    """Carry out one payload; every refusal is answered, nothing is raised for it."""
    try:
        return _performed(text, opens)
    except PhelixError as error:
        return Performed(error=error)


def _performed(text: bytes, opens: Opens) -> Performed:
    members = _document(text)
    issues: list[Issue] = []
    if members.get("contractVersion") != CONTRACT_VERSION:
        issues.append(
            issue("invalid_value", ["contractVersion"], f'Expected "{CONTRACT_VERSION}"', values=[CONTRACT_VERSION])
        )
    word = members.get("action")
    action = ACTIONS.get(word) if isinstance(word, str) else None
    if action is None:
        issues.append(issue("invalid_value", ["action"], "Expected the name of an action", values=list(ACTIONS)))
    known = {"contractVersion", "action", "input"} | ({"context"} if action is None or action.holds else set[str]())
    issues += [
        issue("unrecognized_keys", [], f"Unknown member {redact(name)[:64]!r}", keys=[redact(name)[:64]])
        for name in members
        if name not in known
    ]
    if action is None:
        raise PayloadInvalid(issues)
    given, found = read(action.input, members.get("input", _ABSENT), ["input"])
    issues += found
    context: Any = None
    if action.holds:
        context, found = read(ContextRef, members.get("context", _ABSENT), ["context"])
        issues += found
    if issues:
        raise PayloadInvalid(issues)
    env = opens(context.db_path if action.holds else given.db_path)
    return carry_out(action, given, env, held=cast("Mapping[str, object] | None", members.get("context")))


def carry_out(
    action: Action,
    given: Any,
    env: Environment,
    *,
    held: Mapping[str, object] | None = None,
    place: Sequence[str] = ("input",),
    **more: object,
) -> Performed:
    """Carry out an action whose input was read at `place`; `held` is the context that names its lease."""
    if both := [pair for pair in action.either if None not in (getattr(given, pair[0]), getattr(given, pair[1]))]:
        told = [issue("invalid_value", [*place, camel(two)], f"Say it as {camel(one)} alone") for one, two in both]
        return Performed(error=PayloadInvalid(told))
    raw = action.raw(given) | {name: value for name, value in more.items() if value is not None}
    if held is not None:
        raw["context"] = dumps(held)
    envelope = run(load_command(action.command), raw, env)
    if envelope.error is not None:
        return Performed(error=placed(envelope.error, action.place_of, place))
    return Performed(answer={"action": action.name, action.answers: plain(envelope.result)})


def is_read(action: Action) -> bool:
    """Whether an action writes nothing."""
    return load_command(action.command).effect is Effect.READ


_ABSENT: Final = object()


def _document(text: bytes) -> dict[str, Any]:
    """The members of a payload."""
    if len(text) > PAYLOAD_CAP:
        raise PayloadInvalid([issue("too_big", [], f"The payload is larger than {PAYLOAD_CAP} bytes")])
    try:
        value = loads(text)
    except JsonRefused as refused:
        raise PayloadInvalid([issue("invalid_json", [], redact(str(refused)))]) from None
    if not isinstance(value, dict):
        raise PayloadInvalid([issue("invalid_type", [], "Expected an object", expected="object")])
    return cast("dict[str, Any]", value)


def read(kind: type, value: object, place: Sequence[str | int]) -> tuple[Any, list[Issue]]:
    """One part of a payload, strictly; what is wrong with it comes as issues."""
    if value is _ABSENT:
        return None, [issue("invalid_type", place, "Required", expected="object")]
    return read_text(kind, dumps(value), place)


def read_text(kind: type, text: str | bytes, place: Sequence[str | int]) -> tuple[Any, list[Issue]]:
    """The same of a part that is text already."""
    try:
        return adapter_of(kind).validate_json(text), []
    except ValidationError as error:
        return None, issues_of(error.errors(include_url=False, include_input=False), place)
    except ValueError:  # a number or a text that no reader of JSON takes back
        raise InvalidArgument("The payload cannot be read as JSON.") from None


@cache
def adapter_of(kind: type) -> TypeAdapter[Any]:
    """The reader of an input; made once a process."""
    return TypeAdapter(kind)
