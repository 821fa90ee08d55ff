"""What `inspect` and `context` answer: one shape a topic, its members in their order."""

from phelix_core.arc.records import Unreadable
from phelix_core.arc.standing import PolicyTold
from phelix_core.commands.arc.answers import OperationList
from phelix_core.frozen import frozen


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
    unreadable: tuple[Unreadable, ...]
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
    unreadable: tuple[Unreadable, ...]


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
