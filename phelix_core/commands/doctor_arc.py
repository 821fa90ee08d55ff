"""What the doctor looks at in plans, operations, policy and applications; looking executes and changes nothing."""

from collections.abc import Sequence
from typing import Any

from phelix_core.arc.operations import INDETERMINATE
from phelix_core.arc.standing import ABSENT, policy_told
from phelix_core.commands.arc.reading import ArcReading
from phelix_core.commands.doctor import FAIL, OK, WARN, Finding
from phelix_core.commands.environment import Environment
from phelix_core.errors import PhelixError

_FEW = 3


def arc_findings(env: Environment) -> tuple[Finding, ...]:
    """Look at each kind once; a folder that cannot be read fails as a whole."""
    try:
        reading = ArcReading(env)
        return (_plans(reading), _operations(reading), _applications(reading), _policy(reading))
    except PhelixError as error:
        return (Finding(check="plans", state=FAIL, detail=error.message, hint=error.hint),)


def _plans(reading: ArcReading) -> Finding:
    plans, bad = reading.store.plans()
    if bad:
        return Finding(
            check="plans",
            state=FAIL,
            detail=f"{len(plans)} verified, {len(bad)} not: {_named(bad)}",
            hint="None of them is ever executed; make a new plan.",
        )
    return Finding(check="plans", state=OK, detail=f"{len(plans)} verified" if plans else "none yet")


def _operations(reading: ArcReading) -> Finding:
    found, bad = reading.operations, reading.unreadable_operations
    if bad:
        return Finding(
            check="operations",
            state=FAIL,
            detail=f"{len(found)} read well, {len(bad)} do not: {_named(bad)}",
            hint="Their plans are not executed again while they stand there.",
        )
    lost = [one.id for one in found if reading.shown(one).status == INDETERMINATE]
    if lost:
        return Finding(
            check="operations",
            state=WARN,
            detail=f"{len(lost)} ended without a trace, such as {lost[0]}: whether they succeeded is not known",
            hint="`phelix inspect health APP` looks at the application itself.",
        )
    return Finding(check="operations", state=OK, detail=f"{len(found)} read well" if found else "none yet")


def _applications(reading: ArcReading) -> Finding:
    found, bad = reading.store.applications()
    if bad:
        hint = "`phelix inspect app NAME` says what is wrong with one."
        return Finding(check="applications", state=FAIL, detail=f"{len(bad)} unusable: {_named(bad)}", hint=hint)
    return Finding(check="applications", state=OK, detail=f"{len(found)} declared" if found else "none yet")


def _policy(reading: ArcReading) -> Finding:
    told = policy_told(reading.policy)
    if told.state == ABSENT:
        return Finding(check="policy", state=OK, detail="none: the command line may execute plans, and nobody else")
    if told.reason is not None:
        hint = "Correct authz/policy.json in the data directory."
        return Finding(check="policy", state=FAIL, detail=f"{told.state}: {told.reason}", hint=hint)
    return Finding(check="policy", state=OK, detail=f"{told.state}, {told.rules} rules")


def _named(bad: Sequence[Any]) -> str:
    more = f" and {len(bad) - _FEW} more" if len(bad) > _FEW else ""
    return ", ".join(f"{one.file} ({one.code})" for one in bad[:_FEW]) + more
