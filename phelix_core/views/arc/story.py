"""One plan's whole story: what would run, on what, what holds of it, who may execute it, and what became of it.

Every text of it may be another program's: each passes `shown`, once a look and not at every tick.
"""

import shlex
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, cast

from phelix_core.arc.applicability import CURRENT_VERSION, EXECUTION, NONE, VERSION_INPUT, FailedPrecondition
from phelix_core.arc.authorization import APPROVAL_REQUIRED, NO_RULE, Ruling
from phelix_core.arc.board import BadFile, BoardOperation, Seen
from phelix_core.arc.operations import INDETERMINATE, SUCCEEDED, Operation
from phelix_core.arc.policies import ALLOW
from phelix_core.arc.standing import APPROVED, DENIED, READY, STALE, VALID, WAITING, Standing
from phelix_core.arc.standing import NONE as NO_APPROVAL
from phelix_core.frozen import frozen_in_order
from phelix_core.text import SafeStr
from phelix_core.views.arc.rows import STATES, brief, since_ms, stale_reason, state_of, subject_of, versions_of
from phelix_core.views.moments import long_span, moment
from phelix_core.views.shown import shown

_REASON: Final = "reason"
_HOLDS: Final = ("✓", "ok")
_FAILS: Final = ("✗", "error")
_RULINGS: Final = {ALLOW: ("✓", "ok"), APPROVAL_REQUIRED: ("◆", "warning")}
_DENIES: Final = ("■", "failed")
_WORD: Final = SafeStr("approval")


@frozen_in_order
class Mark:
    """One line with a sign: what it is about, and what is told of it."""

    glyph: str
    role: str
    name: SafeStr
    told: SafeStr


@frozen_in_order
class PlanStory:
    """What does not change with time; `arguments` is None where there is nothing that Phelix knows how to run.

    `command` is the same in one line, quoted as a shell would want it; `tense` says whether it would run, runs or ran.
    """

    subject: SafeStr
    tense: str
    arguments: tuple[SafeStr, ...] | None
    command: SafeStr
    running: tuple[tuple[str, SafeStr], ...]
    about: tuple[tuple[str, SafeStr], ...]
    checks: tuple[Mark, ...]
    capabilities: tuple[Mark, ...]
    plan_id: SafeStr
    plan_hash: SafeStr
    asked: SafeStr
    approval: Mark
    rulings: tuple[Mark, ...]
    operation: tuple[tuple[str, SafeStr, str], ...]


def headline(seen: Seen, now_ms: int) -> SafeStr:
    """Where it stands, in a sentence, as of now."""
    state, since = state_of(seen), since_ms(seen)
    ago = "" if since is None else long_span(now_ms - since)
    if isinstance(seen, BadFile):
        return shown(f"UNREADABLE: {seen.code}; nothing of it is trusted, shown or executed")
    operation = seen.operation
    if operation is not None and not operation.is_finished:
        if state == INDETERMINATE:
            return SafeStr(f"INDETERMINATE: begun {ago} ago; its processes are gone and recorded no end")
        told = f"{STATES[state].word.upper()} for {ago}"
        return SafeStr(f"{told}; its end is asked for" if operation.cancel is not None else told)
    if operation is not None:
        return SafeStr(f"{STATES[state].word.upper()} {ago} ago")
    assert isinstance(seen, Standing)  # noqa: S101 - an operation on the board is there
    return _of_plan(seen, state, ago)


def _of_plan(standing: Standing, state: str, ago: str) -> SafeStr:
    may = " and ".join(kind for kind, ruling in standing.rulings.items() if ruling.allowed)
    told = {
        WAITING: f"WAITS for an approval, {ago}",
        STALE: f"STALE: {stale_reason(standing)}",
        DENIED: f"DENIED: {denied_reason(standing)}",
        APPROVED: f"APPROVED {ago} ago: {may} may apply it, once",
        READY: f"READY: {may} may apply it without an approval, once",
    }.get(state)
    if told is not None:
        return SafeStr(told)
    if standing.operation_status is not None:
        return shown(f"UNREADABLE: {standing.operation_status} keeps what became of it from being told")
    return shown(f"{standing.state.upper()}, as its own record says")


def denied_reason(standing: Standing) -> SafeStr:
    """Why nobody may execute it."""
    ruling = standing.rulings["cli"]
    return SafeStr(f"{shown(ruling.reason)}{_place(ruling)}")


def _place(ruling: Ruling) -> str:
    return "" if ruling.rule_index == NO_RULE else f" (rule {ruling.rule_index})"


_drawn: Final[deque[tuple[Standing, PlanStory]]] = deque(maxlen=3)


def plan_story(standing: Standing) -> PlanStory:
    """The story of one plan; the last few are remembered, since a page that ticks asks again."""
    for of, told in tuple(_drawn):
        if of is standing:
            return told
    told = _story_of(standing)
    _drawn.append((standing, told))
    return told


def _story_of(standing: Standing) -> PlanStory:
    plan = standing.plan
    argv = plan.execution.get("argv")
    words = [str(word) for word in cast("list[object]", argv)] if isinstance(argv, list) else None
    asked = "not recorded" if plan.actor is None else plan.actor.type
    if plan.actor is not None and plan.actor.id:
        asked += f" {plan.actor.id}{'' if plan.actor.authenticated else ' (not authenticated)'}"
    return PlanStory(
        subject=subject_of(standing),
        tense=_tense(standing.operation),
        arguments=None if words is None else tuple(map(shown, words)),
        command=shown(shlex.join(words or ())),
        running=() if words is None else tuple(_running(plan.execution)),
        about=tuple(_about(standing)),
        checks=tuple(_checks(standing)),
        capabilities=tuple(_capabilities(standing)),
        plan_id=shown(plan.plan_id),
        plan_hash=shown(plan.plan_hash),
        asked=shown(f"{asked}, {moment(plan.created_at_ms)}"),
        approval=_approval(standing),
        rulings=tuple(_rulings(standing)),
        operation=() if standing.operation is None else operation_facts(standing.operation, state_of(standing)),
    )


def _tense(operation: Operation | None) -> str:
    if operation is None:
        return "would run"
    return "ran" if operation.is_finished else "runs"


def _running(execution: Mapping[str, object]) -> Iterator[tuple[str, SafeStr]]:
    yield "in folder", shown(str(execution.get("folder") or "."))
    seconds = execution.get("time_limit_seconds")
    if isinstance(seconds, int):
        yield "ended after", long_span(seconds * 1_000)
    names = execution.get("environment")
    told = ", ".join(map(str, cast("list[object]", names))) if isinstance(names, list) and names else "nothing"
    yield "sees of env", shown(told)


def _about(standing: Standing) -> Iterator[tuple[str, SafeStr]]:
    plan = standing.plan
    yield "application", shown(plan.action.application)
    if versions := versions_of(standing):
        yield "version", shown(versions)
    known = {VERSION_INPUT, _REASON, "app_name"}
    if plan.inputs.get(_REASON):
        yield "reason", shown(str(plan.inputs[_REASON]))
    for name, value in (*plan.target.items(), *plan.inputs.items()):
        if name not in known and value not in (None, ""):
            yield name, shown(str(value))


def _checks(standing: Standing) -> Iterator[Mark]:
    """Each precondition as it was and as it is; and what holds for every plan, that it runs what is declared.

    Of a plan that was executed they are told as they were: what is true since then is its own doing.
    """
    if standing.operation_status is not None:
        for fact in standing.plan.preconditions:
            yield Mark("·", "muted", shown(fact.type), shown(brief(fact.expected)))
        return
    failed = list(standing.applicability.failed_preconditions)
    for fact in standing.plan.preconditions:
        wrong = next((one for one in failed if (one.type, one.expected) == (fact.type, fact.expected)), None)
        if wrong is None:
            yield Mark(*_HOLDS, shown(fact.type), shown(brief(fact.expected)))
        else:
            failed.remove(wrong)
            yield _failing(wrong)
    for one in failed:
        yield _failing(one)
    if standing.plan.execution and not any(one.type == EXECUTION for one in failed) and _was_compared(standing):
        yield Mark(*_HOLDS, SafeStr(EXECUTION), SafeStr("as declared"))


def _was_compared(standing: Standing) -> bool:
    """Whether what it would run was looked up: there is an application, and it declares the action."""
    found = standing.applicability
    return not found.missing_capabilities and not any(one.actual == "missing" for one in found.failed_preconditions)


def _failing(failed: FailedPrecondition) -> Mark:
    now = "nothing" if failed.type == CURRENT_VERSION and failed.actual == NONE else failed.actual
    return Mark(*_FAILS, shown(failed.type), shown(f"expected {brief(failed.expected)}, is {brief(now)} now"))


def _capabilities(standing: Standing) -> Iterator[Mark]:
    if standing.operation_status is not None:
        return
    missing = standing.applicability.missing_capabilities
    for name in sorted({*standing.plan.capabilities, *missing}):
        holds = name not in missing
        told = "declared" if holds else "the application declares no command for it"
        yield Mark(*(_HOLDS if holds else _FAILS), shown(name), SafeStr(told))


def _approval(standing: Standing) -> Mark:
    found = standing.approval
    if found.state == NO_APPROVAL:
        rulings = standing.rulings.values() if standing.operation_status is None else ()
        wanted = any(ruling.effect == APPROVAL_REQUIRED for ruling in rulings)
        return Mark("◆" if wanted else "·", "warning" if wanted else "muted", _WORD, SafeStr("none"))
    given = "" if found.approved_at_ms is None else f"given {moment(found.approved_at_ms)}"
    by = "" if found.approver_type is None else f" by {found.approver_type}"
    through = "" if found.approver_provenance is None else f" through {found.approver_provenance}"
    told = shown(f"{given}{by}{through}".strip())
    if found.state == VALID:
        return Mark(*_HOLDS, _WORD, SafeStr(f"{told}, for this very hash"))
    return Mark(*_FAILS, _WORD, SafeStr(f"{shown(found.state)}, {told or 'unreadable'}: good for nothing, revoke it"))


def _rulings(standing: Standing) -> Iterator[Mark]:
    """What each asker would be told; nothing once there is nothing left to ask for."""
    for kind, ruling in standing.rulings.items() if standing.operation_status is None else ():
        yield _ruling(kind, ruling)


def _ruling(kind: str, ruling: Ruling) -> Mark:
    return Mark(
        *_RULINGS.get(ruling.effect, _DENIES), SafeStr(kind), SafeStr(f"{shown(ruling.reason)}{_place(ruling)}")
    )


def operation_facts(operation: Operation, state: str) -> tuple[tuple[str, SafeStr, str], ...]:
    """Names, values and roles that say what became of an execution; absent ones are left out."""
    looks, result = STATES[state], dict(operation.result or {})
    facts: list[tuple[str, str, str]] = [
        ("operation", operation.id, ""),
        ("status", f"{looks.glyph} {looks.word}", f"bold {looks.role}"),
        ("begun", f"{moment(operation.created_at_ms)}{_by(operation)}", ""),
        ("process", _processes(operation), ""),
        ("cancel", _cancel(operation), "warning"),
        ("ended", _ended(operation), ""),
        ("exit", _exit(result), ""),
        ("error", "" if operation.error is None else f"{operation.error.code}: {operation.error.message}", "error"),
        ("version", _brought(result), ""),
        ("health", *_health(result, state)),
        ("deployment", operation.deployment_id or "", ""),
        ("log", _log(result), ""),
    ]
    return tuple((name, shown(value), role) for name, value, role in facts if value)


def _by(operation: Operation) -> str:
    return "" if operation.actor is None else f" by {operation.actor.type}"


def _processes(operation: Operation) -> str:
    if operation.is_finished:
        return ""
    if operation.process is None:
        return f"applier {operation.pid}" if operation.pid else ""
    child = operation.process.child
    return f"applier {operation.process.applier.pid}, command {'not started' if child is None else child.pid}"


def _cancel(operation: Operation) -> str:
    asked = operation.cancel
    return "" if asked is None else f"asked for {moment(asked.at_ms)} through {asked.via}"


def _ended(operation: Operation) -> str:
    ended_ms = operation.finished_at_ms
    if ended_ms is None:
        return ""
    return f"{moment(ended_ms)}, after {long_span(ended_ms - operation.created_at_ms)}"


def _exit(result: Mapping[str, object]) -> str:
    if result.get("signal") is not None:
        return f"by signal {result['signal']}"
    return "" if result.get("exit_code") is None else f"status {result['exit_code']}"


def _brought(result: Mapping[str, object]) -> str:
    version = result.get("version")
    return "" if version is None else f"{result.get('from_version') or 'none'} → {version}"


def _health(result: Mapping[str, object], state: str) -> tuple[str, str]:
    """What the look right after it found; what succeeded without one says so."""
    found = result.get("verification")
    if not isinstance(found, dict):
        return ("not looked at", "muted") if state == SUCCEEDED else ("", "")
    seen = cast("dict[str, object]", found)
    status, detail = str(seen.get("status")), seen.get("detail")
    role = {"healthy": "ok", "unhealthy": "error"}.get(status, "muted")
    return f"{status}{f': {detail}' if detail else ''}", role


def _log(result: Mapping[str, object]) -> str:
    found = result.get("log")
    if not isinstance(found, dict):
        return ""
    seen = cast("dict[str, object]", found)
    size = seen.get("bytes")
    told = f"{size:,} bytes" if isinstance(size, int) else ""
    return f"{told}, and the command printed more" if seen.get("truncated") else told


def facts_of(seen: Seen) -> Iterable[tuple[str, SafeStr, str]]:
    """What there is to tell of an operation without a plan, or of a file that is none."""
    if isinstance(seen, BoardOperation):
        return operation_facts(seen.operation, state_of(seen))
    if isinstance(seen, BadFile):
        return (("file", shown(f"{seen.folder}/{seen.file}"), ""), ("code", shown(seen.code), "error"))
    return ()
