"""What can be found out about the project, its applications and what runs: one small answer a topic.

Each is made of one `ArcReading`, so that a bundle of them reads every kind of record once. Nothing here changes a byte;
only health runs something, the check that the application declares. Source: arc page; upstream sessions page, part 5.
"""

import os
import platform
import sys
from collections.abc import Mapping
from typing import Any, Final

from phelix_core import VERSION
from phelix_core.arc.applicability import current_version_of
from phelix_core.arc.applications import APPLICATION_NAME, Application, DeclaredCommand, HealthCheck
from phelix_core.arc.health import check_health
from phelix_core.arc.operations import INDETERMINATE, Operation
from phelix_core.checks import CheckFailed, full_match
from phelix_core.commands.arc.answers import OperationList
from phelix_core.commands.arc.authorizing import PolicyTold, policy_told
from phelix_core.commands.arc.fields import UnreadableRecord
from phelix_core.commands.arc.reading import ArcReading
from phelix_core.commands.environment import Environment
from phelix_core.errors import InvalidArgument, NotFound
from phelix_core.frozen import frozen
from phelix_core.redaction import redact
from phelix_core.settings import NO_MEMORY

RECORDS: Final = "operations"
NOTHING: Final = "none"
UNKNOWN: Final = "unknown"
_DEPLOYMENT: Final = full_match("dep-[0-9a-f]{1,64}", "a deployment id")
_FEW: Final = 10


@frozen
class ApplicationTold:
    """An application in a few words; `current_version` is what the last operation to succeed brought."""

    name: str
    language: str | None
    current_version: str | None
    capabilities: tuple[str, ...]


@frozen
class Project:
    """The data directory, and what is declared and recorded in it."""

    data_dir: str
    phelix_version: str
    applications: tuple[ApplicationTold, ...]
    unreadable: tuple[UnreadableRecord, ...]
    plans: int
    operations: int


@frozen
class Runtime:
    """What carries commands out here, and the time it has."""

    phelix_version: str
    python: str
    platform: str
    machine: str
    sqlite: str
    pid: int
    boot_id: str
    now_ms: int


@frozen
class Configuration:
    """The settings in force, and the policy."""

    data_dir: str
    queue: str
    stale_after_ms: int
    theme: str | None
    read_only: bool
    memory: str
    policy: PolicyTold


@frozen
class Capabilities:
    """Which of deploy, rollback and health each application declares a command for."""

    applications: tuple[ApplicationTold, ...]
    unreadable: tuple[UnreadableRecord, ...]


@frozen
class CommandTold:
    """A declared command."""

    command: tuple[str, ...]
    time_limit_seconds: int
    environment: tuple[str, ...]
    folder: str


@frozen
class CheckTold:
    """A declared health check: a command, or a page and the status it is to answer."""

    command: CommandTold | None
    url: str | None
    expect_status: int | None
    time_limit_seconds: int


@frozen
class ApplicationShown:
    """One application whole: what its file declares, and what its operations brought."""

    name: str
    language: str | None
    version: str | None
    current_version: str | None
    versions: int
    capabilities: tuple[str, ...]
    fingerprint: str
    deploy: CommandTold | None
    rollback: CommandTold | None
    health: CheckTold | None


@frozen
class Versions:
    """The current version and the declared ones, in their order."""

    application: str
    current: str | None
    available: tuple[str, ...]
    count: int
    truncated: bool


@frozen
class UnderWay:
    """An operation that has not ended, as far as anybody knows."""

    operation_id: str
    status: str


@frozen
class Deployment:
    """What was last brought; one that nothing correlates is `unknown`, never missing. `under_way` tells of an apply."""

    application: str | None
    deployment_id: str | None
    status: str
    source: str
    action: str | None
    version: str | None
    from_version: str | None
    operation_id: str | None
    plan_id: str | None
    started_at_ms: int | None
    finished_at_ms: int | None
    under_way: UnderWay | None


@frozen
class CheckSeen:
    """One check and what it saw."""

    name: str
    status: str
    detail: str | None


@frozen
class HealthSeen:
    """How an application is, looked at just now."""

    application: str
    status: str
    source: str
    checks: tuple[CheckSeen, ...]
    checked_at_ms: int
    duration_ms: int


Topic = (
    Project
    | Runtime
    | Configuration
    | Capabilities
    | OperationList
    | ApplicationShown
    | Versions
    | Deployment
    | HealthSeen
)


def project(env: Environment, reading: ArcReading) -> Project:
    """The whole project in short."""
    told, bad = _applications(reading)
    plans, _ = reading.store.plans()
    return Project(
        data_dir=redact(env.settings.data_dir),
        phelix_version=VERSION,
        applications=told,
        unreadable=bad,
        plans=len(plans),
        operations=len(reading.operations),
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


def configuration(env: Environment, reading: ArcReading) -> Configuration:
    """Settings and policy."""
    settings = env.settings
    return Configuration(
        data_dir=redact(settings.data_dir),
        queue=redact(env.queue.path),
        stale_after_ms=settings.stale_after_ms,
        theme=settings.theme and redact(settings.theme),
        read_only=settings.read_only,
        memory=NO_MEMORY if settings.memory is None else "mem0",
        policy=policy_told(reading),
    )


def capabilities(reading: ArcReading, name: str | None) -> Capabilities:
    """What applications can do; of one, where it is named."""
    if name is not None:
        application = reading.store.application(name)
        return Capabilities(applications=(_told(application, reading),), unreadable=())
    told, bad = _applications(reading)
    return Capabilities(applications=told, unreadable=bad)


def operations(reading: ArcReading, name: str | None, limit: int | None) -> OperationList:
    """The newest operations."""
    wanted = [one for one in reading.operations if name in (None, one.app)]
    rows = tuple(reading.shown(one) for one in wanted[:limit])
    return OperationList(
        operations=rows,
        count=len(rows),
        truncated=len(rows) < len(wanted),
        unreadable=tuple(UnreadableRecord(file=bad.file, code=bad.code) for bad in reading.unreadable_operations),
    )


def application(reading: ArcReading, name: str) -> ApplicationShown:
    """One application whole."""
    found = reading.store.application(name)
    return ApplicationShown(
        name=found.name,
        language=found.language,
        version=found.version,
        current_version=current_version_of(found, reading.operations),
        versions=len(found.versions),
        capabilities=_capabilities(found),
        fingerprint=found.fingerprint,
        deploy=_command(found.deploy),
        rollback=_command(found.rollback),
        health=_check(found.health),
    )


def versions(reading: ArcReading, name: str, limit: int | None) -> Versions:
    """The versions of one application: where not all are shown, the last declared ones."""
    found = reading.store.application(name)
    shown = found.versions if limit is None else found.versions[max(0, len(found.versions) - limit) :]
    return Versions(
        application=name,
        current=current_version_of(found, reading.operations),
        available=shown,
        count=len(shown),
        truncated=len(shown) < len(found.versions),
    )


def deployment(reading: ArcReading, named: str) -> Deployment:
    """The last deployment of an application, or the one of an id, as operations correlate it."""
    by_id = is_deployment(named)
    if not by_id:
        require_application(reading, named)
    own = [one for one in reading.operations if (one.deployment_id if by_id else one.app) == named]
    newest = next((one for one in own if one.deployment_id), None)
    name = (newest.app if newest is not None else None) if by_id else named
    under_way = next(
        (
            UnderWay(operation_id=told.operation.id, status=told.status)
            for one in reading.operations
            if name is not None and one.app == name and not one.is_finished
            for told in [reading.shown(one)]
            if told.status != INDETERMINATE and not told.operation.is_finished
        ),
        None,
    )
    shown = None if newest is None else reading.shown(newest)
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


def health(env: Environment, reading: ArcReading, name: str) -> HealthSeen:
    """Look at one application now, by the check that it declares."""
    found = reading.store.application(name)
    check = found.health
    environ = {} if check is None or check.command is None else check.command.seen_of(os.environ)
    seen = check_health(
        check, folder=reading.store.folder_of(name), environ=environ, clock=env.clock, cancelled=env.interrupted
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
        _DEPLOYMENT.apply(named)
    except CheckFailed:
        return False
    return True


def require_application(reading: ArcReading, name: str) -> None:
    """Refuse a name that no application has, neither declared nor on record."""
    try:
        APPLICATION_NAME.apply(name)
        reading.store.application(name)
    except (NotFound, CheckFailed):
        if not any(one.app == name for one in reading.operations):
            raise NotFound(f"There is no application {redact(name)}{_which(reading)}.") from None
    except InvalidArgument:
        pass  # its file cannot be used; what is on record of it is told all the same


def require_named(reading: ArcReading, resource: str, name: str | None) -> str:
    """The application that a topic is about; without one it is said which there are."""
    if name is None:
        raise InvalidArgument(
            f"app: say which application to inspect the {resource} of{_which(reading)}.",
            details={"fields": {"app": "required"}},
        )
    return name


def _which(reading: ArcReading) -> str:
    names = [one.name for one in reading.store.applications()[0]]
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return f"; there are {', '.join(names[:_FEW])}{more}" if names else "; none is declared yet"


def _applications(reading: ArcReading) -> tuple[tuple[ApplicationTold, ...], tuple[UnreadableRecord, ...]]:
    found, bad = reading.store.applications()
    told = tuple(_told(one, reading) for one in found)
    return told, tuple(UnreadableRecord(file=one.file, code=one.code) for one in bad)


def _told(found: Application, reading: ArcReading) -> ApplicationTold:
    return ApplicationTold(
        name=found.name,
        language=found.language,
        current_version=current_version_of(found, reading.operations),
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
