"""Is this plan still true of the world: computed from facts whenever it is asked, and never stored.

Promises: a plan is applicable while each of its preconditions holds and its application declares what it needs; what
cannot be checked here does not hold; no plan goes stale by age alone. Source: arc page; upstream sessions page,
section 3 (lifecycle).
"""

from collections.abc import Iterable
from typing import Final

from phelix_core.arc.applications import Application, execution_of
from phelix_core.arc.model import Plan, Precondition, hash_of
from phelix_core.arc.operations import SUCCEEDED, Operation
from phelix_core.errors import InvalidArgument, PlanCapabilityMissing, PlanStale
from phelix_core.frozen import frozen

APPLICABLE: Final = "applicable"
STALE: Final = "stale"
NONE: Final = "none"
MISSING: Final = "missing"
UNUSABLE: Final = "unusable"
"""What is told of an application whose file cannot be used."""
UNCHECKED: Final = "unchecked"

APP_EXISTS: Final = "app_exists"
CURRENT_VERSION: Final = "current_version"
VERSION_EXISTS: Final = "version_exists"
CONFIG_FINGERPRINT: Final = "config_fingerprint"
EXECUTION: Final = "execution"
"""Held by every plan, whether it says so or not: what it would run is what its application declares."""

VERSION_INPUT: Final = "version"


@frozen
class Facts:
    """What is true of a plan's application now; without one nothing is, and `absent` says why there is none."""

    application: Application | None = None
    current_version: str | None = None
    absent: str = MISSING


@frozen
class FailedPrecondition:
    """A fact that no longer holds, as it was and as it is."""

    type: str
    expected: str
    actual: str


@frozen
class Applicability:
    """Whether the plan still describes what executing it would do, and if not, in what it differs."""

    state: str
    checked_at_ms: int
    failed_preconditions: tuple[FailedPrecondition, ...]
    missing_capabilities: tuple[str, ...]


def facts_of(application: Application | None, operations: Iterable[Operation]) -> Facts:
    """The facts about one application, told by its file and by what was executed on it."""
    if application is None:
        return Facts()
    return Facts(application=application, current_version=current_version_of(application, operations))


def current_version_of(application: Application, operations: Iterable[Operation]) -> str | None:
    """The version that the last operation to succeed told; before there is one, what the application's file says."""
    told = [
        (operation.finished_at_ms or operation.updated_at_ms, operation.id, version)
        for operation in operations
        if operation.app == application.name and operation.status == SUCCEEDED and operation.result
        if isinstance(version := operation.result.get("version"), str) and version
    ]
    return max(told)[2] if told else application.version


def applicability_of(plan: Plan, facts: Facts, now_ms: int) -> Applicability:
    """Check every precondition and capability, and tell all that fails."""
    checked = [(fact, *_look_up(fact, plan, facts)) for fact in plan.preconditions]
    failed = [
        FailedPrecondition(type=fact.type, expected=fact.expected, actual=actual)
        for fact, actual, holds in checked
        if not holds
    ]
    declared = frozenset[str]() if facts.application is None else facts.application.capabilities
    missing = tuple(sorted({*plan.capabilities, plan.action.type} - declared))
    if facts.application is not None and not missing:
        failed += _other_execution(plan, facts.application)
    return Applicability(
        state=STALE if failed or missing else APPLICABLE,
        checked_at_ms=now_ms,
        failed_preconditions=tuple(failed),
        missing_capabilities=missing,
    )


def _other_execution(plan: Plan, application: Application) -> list[FailedPrecondition]:
    """Whether the plan would run anything but what its application declares; a hash proves only that it is whole."""
    version = plan.inputs.get(VERSION_INPUT)
    try:
        declared = execution_of(application, plan.action.type, version) if isinstance(version, str) else None
    except InvalidArgument:
        declared = None
    if declared == dict(plan.execution):
        return []
    actual = UNCHECKED if declared is None else hash_of(declared)
    return [FailedPrecondition(type=EXECUTION, expected=hash_of(plan.execution), actual=actual)]


def _look_up(fact: Precondition, plan: Plan, facts: Facts) -> tuple[str, bool]:
    """What is true now of one precondition, and whether that is what was expected."""
    expected, name, application = fact.expected, plan.action.application, facts.application
    if application is None:
        return facts.absent if fact.type in _LOOKED_UP else UNCHECKED, False
    if fact.type == APP_EXISTS:
        return name, expected == name
    if fact.type == CURRENT_VERSION:
        current = facts.current_version or NONE
        return current, expected == current
    if fact.type == VERSION_EXISTS:
        return (expected, True) if expected in application.versions else (MISSING, False)
    if fact.type == CONFIG_FINGERPRINT:
        return application.fingerprint, expected == application.fingerprint
    return UNCHECKED, False


_LOOKED_UP: Final = frozenset({APP_EXISTS, CURRENT_VERSION, VERSION_EXISTS, CONFIG_FINGERPRINT})


def preconditions_of(application: Application, facts: Facts, version: str) -> tuple[Precondition, ...]:
    """What a plan to bring `version` of an application takes for granted, as it is now."""
    source = "app.toml"
    return (
        Precondition(type=APP_EXISTS, expected=application.name, source=source),
        Precondition(type=CURRENT_VERSION, expected=facts.current_version or NONE, source="operations"),
        Precondition(type=VERSION_EXISTS, expected=version, source=source),
        Precondition(type=CONFIG_FINGERPRINT, expected=application.fingerprint, source=source),
    )


def require_applicable(plan: Plan, found: Applicability) -> None:
    """Refuse a plan that is no longer true, or needs what is not declared."""
    if found.failed_preconditions:
        names = ", ".join(sorted({failed.type for failed in found.failed_preconditions}))
        raise PlanStale(
            f"The plan is stale: {names}. Nothing was executed.",
            hint="Make a new plan of what is true now.",
            details={
                "plan_id": plan.plan_id,
                "failed_preconditions": [
                    {"type": failed.type, "expected": failed.expected, "actual": failed.actual}
                    for failed in found.failed_preconditions
                ],
            },
        )
    if found.missing_capabilities:
        raise PlanCapabilityMissing(
            f"The application declares no {', '.join(found.missing_capabilities)}. Nothing was executed.",
            details={"plan_id": plan.plan_id, "missing_capabilities": list(found.missing_capabilities)},
        )
