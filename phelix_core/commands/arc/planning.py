"""`plan create`, `show` and `list`: what would be done, written down before anybody does it.

A plan is made of what is true when it is made; nothing is assumed for the asker, who names the version. Source: arc
page; upstream sessions page, section 3.
"""

from typing import TYPE_CHECKING, Annotated, Final

from phelix_core.arc.applicability import VERSION_INPUT, Facts, preconditions_of
from phelix_core.arc.applications import VERSION, Application, execution_of
from phelix_core.arc.model import ACTIONS, ROLLBACK, Plan, plan_document, plan_of
from phelix_core.checks import BY_PLACE, Help, one_of
from phelix_core.commands.arc.answers import PlanList, ShownPlan, plan_summary, shown_plan
from phelix_core.commands.arc.fields import (
    ApplicationName,
    Limit,
    OnlyApplication,
    PlanId,
    limit_for,
)
from phelix_core.commands.arc.reading import ArcReading, asker_of
from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import Effect, command
from phelix_core.errors import InvalidArgument, NotFound, PhelixError
from phelix_core.frozen import frozen
from phelix_core.redaction import free_text

if TYPE_CHECKING:  # a plain write starts without the means to describe itself
    from phelix_core.commands.preview import WritePlan

_REASON_CAP: Final = 500
_FEW: Final = 5


@frozen
class CreatePlan:
    """Plan to deploy or roll back an application: an immutable record of what exactly would be run."""

    action: Annotated[str, one_of(*ACTIONS), BY_PLACE, Help("deploy or rollback")]
    app: ApplicationName
    to: Annotated[
        str | None, VERSION, Help("The version to bring; for a rollback the one before the current, if that is known")
    ] = None
    reason: Annotated[str | None, free_text(_REASON_CAP), Help("Why, in a line, for whoever approves it")] = None


@frozen
class ShowPlan:
    """Show one plan whole: what it would run, whether it still applies, who may execute it, and what became of it."""

    plan_id: PlanId


@frozen
class ListPlans:
    """List plans, newest first, each with whether it still applies and where it stands."""

    app: OnlyApplication = None
    limit: Limit = None


@command(
    "plan create",
    effect=Effect.WRITE,
    result=ShownPlan,
    caution="It executes nothing, and grants nothing: only `plan apply` executes.",
)
def create_plan(request: CreatePlan, env: Environment) -> "PlanCreation":
    """Decide a new plan."""
    return PlanCreation(request, env)


@command("plan show", effect=Effect.READ)
def show_plan(request: ShowPlan, env: Environment) -> ShownPlan:
    """Load, verify and look at one plan."""
    reading = ArcReading(env)
    return shown_plan(reading.standing(reading.store.plan(request.plan_id)))


@command("plan list", effect=Effect.READ)
def list_plans(request: ListPlans, env: Environment) -> PlanList:
    """Look at the newest plans."""
    limit = limit_for(request.limit, env.surface)
    reading = ArcReading(env)
    plans, unreadable = reading.store.plans()
    wanted = [plan for plan in plans if request.app in (None, plan.action.application)]
    rows = tuple(plan_summary(reading.standing(plan)) for plan in wanted[:limit])
    return PlanList(
        plans=rows,
        count=len(rows),
        truncated=len(rows) < len(wanted),
        unreadable=tuple(unreadable),
    )


class PlanCreation:
    """The intent to write one new plan."""

    def __init__(self, request: CreatePlan, env: Environment) -> None:
        self._request = request
        self._env = env
        self._reading = ArcReading(env)

    def _plan(self, plan_id: str) -> Plan:
        request, name = self._request, self._request.app
        application = self._reading.store.application(name)
        facts = self._reading.facts(name)
        version = _version(request, application, facts, self._reading)
        document = plan_document(
            plan_id,
            name,
            self._env.clock.now_ms(),
            action=request.action,
            actor=asker_of(self._env),
            target={"language": application.language} if application.language else {},
            inputs={VERSION_INPUT: version} | ({"reason": request.reason} if request.reason else {}),
            execution=execution_of(application, request.action, version),
            preconditions=preconditions_of(application, facts, version),
            capabilities=(request.action,),
        )
        return plan_of(document, plan_id)

    def plan(self) -> "WritePlan":
        """Describe the record; its id and time are fixed only when it is written, its hash is not."""
        from phelix_core.commands.preview import NEW, field_changes, plan_of  # noqa: PLC0415 - previews only

        after = {**self._plan("").members(), "plan_id": NEW}
        target = {"plan_id": NEW, "application": self._request.app}
        return plan_of(create_plan, self._request, self._env, target=target, changes=field_changes({}, after))

    def apply(self, expect_digest: str | None) -> ShownPlan:
        """Write the plan under a fresh id."""
        if expect_digest:
            from phelix_core.commands.preview import require_digest  # noqa: PLC0415 - previews only

            require_digest(expect_digest, self.plan().digest)
        plan = self._plan(f"pln_{self._env.mint()}")
        try:
            self._env.arc.add_plan(plan)
        except PhelixError as error:
            error.details.setdefault("plan_id", plan.plan_id)
            raise
        return shown_plan(self._reading.standing(plan))


def _version(request: CreatePlan, application: Application, facts: Facts, reading: ArcReading) -> str:
    """The version that is asked for; only a rollback's may go without saying."""
    name = application.name
    version = request.to
    if version is None and request.action == ROLLBACK:
        version = _version_before(name, facts, reading)
    if version is None:
        raise InvalidArgument(
            f"to: say which version of {name}{_choice(application)}.", details={"fields": {"to": "required"}}
        )
    if version not in application.versions:
        raise NotFound(
            f"The application {name} knows no version {version}{_choice(application)}.",
            hint=f"Versions are declared in apps/{name}/app.toml.",
        )
    if request.action == ROLLBACK and version == facts.current_version:
        raise InvalidArgument(
            f"to: {version} is the current version of {name}; there is nothing to roll back to.",
            details={"fields": {"to": "the current version"}},
        )
    return version


def _version_before(name: str, facts: Facts, reading: ArcReading) -> str | None:
    """The version before the current one, as the operation that brought the current one noted it."""
    for operation in reading.operations:
        result = operation.result or {}
        if operation.app == name and operation.is_finished and result.get("version") == facts.current_version:
            before = result.get("from_version")
            return before if isinstance(before, str) else None
    return None


def _choice(application: Application) -> str:
    known = application.versions
    if not known:
        return "; it declares none"
    more = f" and {len(known) - _FEW} more" if len(known) > _FEW else ""
    return f"; there are {', '.join(known[-_FEW:])}{more}"
