"""What can be found out about the project, its applications and what runs: one small answer a topic.

Each is made of one `Look`, so that a bundle of them reads every kind of record once. Nothing here changes a byte;
only health runs something, the check that the application declares. Source: arc page; upstream sessions page, part 5.
"""

import os
import platform
import sys
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

from phelix_core import VERSION
from phelix_core.arc.applicability import current_version_of
from phelix_core.arc.applications import APPLICATION_NAME, Application, DeclaredCommand, HealthCheck
from phelix_core.arc.health import check_health
from phelix_core.arc.operations import INDETERMINATE, Operation
from phelix_core.arc.records import Unreadable
from phelix_core.arc.standing import policy_told
from phelix_core.checks import CheckFailed
from phelix_core.commands.arc.answers import OperationList
from phelix_core.commands.arc.reading import ArcReading
from phelix_core.commands.arc.topics import (
    ApplicationShown,
    ApplicationTold,
    Capabilities,
    CheckSeen,
    CheckTold,
    CommandTold,
    Configuration,
    Deployment,
    HealthSeen,
    Project,
    Runtime,
    UnderWay,
    Versions,
)
from phelix_core.commands.environment import Environment
from phelix_core.errors import InvalidArgument, NotFound
from phelix_core.redaction import redact
from phelix_core.sessions.model import DEPLOYMENT_ID
from phelix_core.settings import NO_MEMORY

RECORDS: Final = "operations"
NOTHING: Final = "none"
UNKNOWN: Final = "unknown"
_FEW: Final = 10


class Look(ArcReading):
    """One look, which reads each application's file once too."""

    def __init__(self, env: Environment) -> None:
        super().__init__(env)
        self._declared: dict[str, Application] = {}

    @cached_property
    def applications(self) -> tuple[list[Application], list[Unreadable]]:
        """Every application by name, and every file of one that cannot be used."""
        found, bad = self.store.applications()
        self._declared |= {one.name: one for one in found}
        return found, bad

    def declared(self, name: str) -> Application:
        """One application; raises `NotFound`, or `InvalidArgument` where its file cannot be used."""
        if name not in self._declared:
            self._declared[name] = self.store.application(name)
        return self._declared[name]


def project(env: Environment, look: Look) -> Project:
    """The whole project in short."""
    told, bad = _applications(look)
    plans, bad_plans = look.store.plans()
    return Project(
        data_dir=redact(env.settings.data_dir),
        phelix_version=VERSION,
        applications=told,
        unreadable=(*bad, *bad_plans, *look.unreadable_operations),
        plans=len(plans),
        operations=len(look.operations),
    )


def runtime(env: Environment) -> Runtime:
    """What runs here."""
    from phelix_core.sqlite import engine_version  # noqa: PLC0415 - no other topic needs the engine

    return Runtime(
        phelix_version=VERSION,
        python=platform.python_version(),
        platform=sys.platform,
        machine=platform.machine(),
        sqlite=engine_version(),
        pid=os.getpid(),
        boot_id=env.clock.boot(),
        now_ms=env.clock.now_ms(),
    )


def configuration(env: Environment, look: Look) -> Configuration:
    """Settings and policy."""
    settings = env.settings
    return Configuration(
        data_dir=redact(settings.data_dir),
        queue=redact(env.queue.path),
        stale_after_ms=settings.stale_after_ms,
        theme=settings.theme and redact(settings.theme),
        read_only=settings.read_only,
        memory=NO_MEMORY if settings.memory is None else "mem0",
        policy=policy_told(look.policy),
    )


def capabilities(look: Look, name: str | None) -> Capabilities:
    """What applications can do; of one, where it is named."""
    if name is not None:
        application = look.declared(name)
        return Capabilities(applications=(_told(application, look),), unreadable=())
    told, bad = _applications(look)
    return Capabilities(applications=told, unreadable=bad)


def operations(look: Look, name: str | None, limit: int | None) -> OperationList:
    """The newest operations."""
    wanted = [one for one in look.operations if name in (None, one.app)]
    rows = tuple(look.shown(one) for one in wanted[:limit])
    return OperationList(
        operations=rows,
        count=len(rows),
        truncated=len(rows) < len(wanted),
        unreadable=tuple(look.unreadable_operations),
    )


def application(look: Look, name: str) -> ApplicationShown:
    """One application whole."""
    found = look.declared(name)
    return ApplicationShown(
        name=found.name,
        language=found.language,
        version=found.version,
        current_version=current_version_of(found, look.operations),
        versions=len(found.versions),
        capabilities=_capabilities(found),
        fingerprint=found.fingerprint,
        deploy=_command(found.deploy),
        rollback=_command(found.rollback),
        health=_check(found.health),
    )


def versions(look: Look, name: str, limit: int | None) -> Versions:
    """The versions of one application: where not all are shown, the last declared ones."""
    found = look.declared(name)
    shown = found.versions if limit is None else found.versions[max(0, len(found.versions) - limit) :]
    return Versions(
        application=name,
        current=current_version_of(found, look.operations),
        available=shown,
        count=len(shown),
        truncated=len(shown) < len(found.versions),
    )


def deployment(look: Look, named: str) -> Deployment:
    """The last deployment of an application, or the one of an id, as operations correlate it."""
    by_id = is_deployment(named)
    own = [one for one in look.operations if (one.deployment_id if by_id else one.app) == named]
    newest = next((one for one in own if one.deployment_id), None)
    name = (newest.app if newest is not None else None) if by_id else named
    under_way = next(
        (
            UnderWay(operation_id=told.operation.id, status=told.status)
            for one in look.operations
            if name is not None and one.app == name and not one.is_finished
            for told in [look.shown(one)]
            if told.status != INDETERMINATE and not told.operation.is_finished
        ),
        None,
    )
    shown = None if newest is None else look.shown(newest)
    record: Operation | None = None if shown is None else shown.operation
    result: Mapping[str, Any] = {} if record is None or record.result is None else record.result
    return Deployment(
        application=name,
        deployment_id=(named if by_id else None) if record is None else record.deployment_id,
        status=UNKNOWN if shown is None else shown.status,
        source=NOTHING if record is None else RECORDS,
        action=None if record is None else record.kind,
        version=result.get("version"),
        from_version=result.get("from_version"),
        operation_id=None if record is None else record.id,
        plan_id=None if record is None else record.plan_id,
        started_at_ms=None if record is None else record.created_at_ms,
        finished_at_ms=None if record is None else record.finished_at_ms,
        under_way=under_way,
    )


def health(env: Environment, look: Look, name: str) -> HealthSeen:
    """Look at one application now, by the check that it declares."""
    found = look.declared(name)
    check = found.health
    seen = check_health(
        check, folder=look.store.folder_of(name), environ=os.environ, clock=env.clock, cancelled=env.interrupted
    )
    return HealthSeen(
        application=name,
        status=seen.status,
        source=seen.source,
        checks=() if check is None else (CheckSeen(name=seen.source, status=seen.status, detail=seen.detail),),
        checked_at_ms=seen.checked_at_ms,
        duration_ms=seen.duration_ms,
    )


def is_deployment(named: str) -> bool:
    """Whether what was named is the id of a deployment."""
    try:
        DEPLOYMENT_ID.apply(named)
    except CheckFailed:
        return False
    return True


def require_application(look: Look, name: str) -> None:
    """Refuse a name that no application has, neither declared nor on record."""
    try:
        APPLICATION_NAME.apply(name)
        look.declared(name)
    except (NotFound, CheckFailed):
        if not any(one.app == name for one in look.operations):
            raise NotFound(f"There is no application {redact(name)}{_which(look)}.") from None
    except InvalidArgument:
        pass  # its file cannot be used; what is on record of it is told all the same


def require_named(look: Look, resource: str, name: str | None) -> str:
    """The application that a topic is about; without one it is said which there are."""
    if name is None:
        raise InvalidArgument(
            f"app: say which application to inspect the {resource} of{_which(look)}.",
            details={"fields": {"app": "required"}},
        )
    return name


def _which(look: Look) -> str:
    names = [one.name for one in look.applications[0]]
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return f"; there are {', '.join(names[:_FEW])}{more}" if names else "; none is declared yet"


def _applications(look: Look) -> tuple[tuple[ApplicationTold, ...], tuple[Unreadable, ...]]:
    found, bad = look.applications
    told = tuple(_told(one, look) for one in found)
    return told, tuple(bad)


def _told(found: Application, look: Look) -> ApplicationTold:
    return ApplicationTold(
        name=found.name,
        language=found.language,
        current_version=current_version_of(found, look.operations),
        capabilities=_capabilities(found),
    )


def _capabilities(found: Application) -> tuple[str, ...]:
    return (*sorted(found.capabilities), *(("health",) if found.health is not None else ()))


def _command(declared: DeclaredCommand | None) -> CommandTold | None:
    if declared is None:
        return None
    return CommandTold(
        command=declared.command,
        time_limit_seconds=declared.time_limit_seconds,
        environment=declared.environment,
        folder=declared.folder,
    )


def _check(check: HealthCheck | None) -> CheckTold | None:
    if check is None:
        return None
    return CheckTold(
        command=_command(check.command),
        url=check.url,
        expect_status=check.expect_status,
        time_limit_seconds=check.time_limit_seconds,
    )
