"""Is an application well: its own declared check, run once, and what was seen of it; nothing is written anywhere.

Promises: `healthy` and `unhealthy` are said only of what answered, or of what certainly did not; where the check itself
could not be made, the answer is `unknown` and says why. A command has every guarantee of the executor but a log; a page
is asked for once, without a proxy, without following it elsewhere, and the whole call ends with the time limit, however
slowly the other side talks. Source: arc page, health.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from phelix_core.arc.applications import HealthCheck
from phelix_core.clock import Clock
from phelix_core.frozen import frozen

if TYPE_CHECKING:
    from phelix_core.arc.executor import Outcome

HEALTHY: Final = "healthy"
UNHEALTHY: Final = "unhealthy"
UNKNOWN: Final = "unknown"
_LINE_CAP: Final = 200
_LOOK_S: Final = 0.05
_LEAST_BODY: Final = 1


@frozen
class Health:
    """What was seen: `source` is command, http or none; `detail` says why it is not healthy, or the last word of it."""

    status: str
    source: str
    detail: str | None
    checked_at_ms: int
    duration_ms: int


def _never() -> bool:
    return False


def check_health(
    check: HealthCheck | None,
    *,
    folder: str,
    environ: Mapping[str, str],
    clock: Clock,
    cancelled: Callable[[], bool] = _never,
) -> Health:
    """Look once; `folder` is the application's, `environ` all that a command sees."""
    at_ms, began = clock.now_ms(), clock.monotonic()
    if check is None:
        source, (status, detail) = "none", (UNKNOWN, "the application declares no health check")
    elif check.command is not None:
        source, (status, detail) = "command", _by_command(check, folder, environ, clock, cancelled)
    else:
        source, (status, detail) = "http", _by_page(check, clock, cancelled)
    took_ms = max(0, round((clock.monotonic() - began) * 1_000))
    return Health(status=status, source=source, detail=detail, checked_at_ms=at_ms, duration_ms=took_ms)


_Seen = tuple[str, str | None]


def _by_command(
    check: HealthCheck, folder: str, environ: Mapping[str, str], clock: Clock, cancelled: Callable[[], bool]
) -> _Seen:
    from phelix_core.arc.executor import Execution, run_command  # noqa: PLC0415 - only where there is a command

    declared = check.command
    assert declared is not None  # noqa: S101 - the caller looked
    last = ""

    def told(line: str) -> None:
        nonlocal last
        last = line.strip()[:_LINE_CAP] or last

    outcome = run_command(
        Execution(
            argv=declared.command,
            folder=f"{folder}/{declared.folder}",
            environ=environ,
            time_limit_s=declared.time_limit_seconds,
            log_path=None,
            lock_fd=None,
        ),
        clock=clock,
        begun=lambda _: None,
        told=told,
        cancelled=cancelled,
    )
    return _seen_of(outcome, last)


def _seen_of(outcome: "Outcome", last: str) -> _Seen:
    """What an outcome says of the application, with the last line that the check printed."""
    if outcome.kind == "not_started":
        return UNKNOWN, f"the check could not be made: {outcome.reason}"
    if outcome.kind == "cancelled":
        return UNKNOWN, "the check was interrupted"
    if outcome.kind == "timed_out":
        why = f"the check was ended: {outcome.reason}"
    elif outcome.signal is not None:
        why = f"the check was ended by signal {outcome.signal}"
    elif outcome.exit_code is None:
        return UNKNOWN, "the system did not tell how the check ended"
    elif outcome.exit_code == 0:
        return HEALTHY, last or None
    else:
        why = f"the check ended with exit status {outcome.exit_code}"
    return UNHEALTHY, f"{why}: {last}" if last else why


def _by_page(check: HealthCheck, clock: Clock, cancelled: Callable[[], bool]) -> _Seen:
    """Ask in a thread of its own: no timeout of a socket bounds a whole call, and nobody waits for one that hangs."""
    import threading  # noqa: PLC0415 - only where there is a page

    answers: list[_Seen] = []
    done = threading.Event()

    def ask() -> None:
        answers.append(_asked(check))
        done.set()

    threading.Thread(target=ask, name="health", daemon=True).start()
    deadline = clock.monotonic() + check.time_limit_seconds
    while not done.wait(_LOOK_S):
        if cancelled():
            return UNKNOWN, "the check was interrupted"
        if clock.monotonic() >= deadline:
            return UNHEALTHY, f"it did not answer within {check.time_limit_seconds} s"
    return answers[0]


def _asked(check: HealthCheck) -> _Seen:
    """One GET; who refuses the connection or answers otherwise is unhealthy, who cannot be found is unknown."""
    import http.client  # noqa: PLC0415 - only where there is a page
    import socket  # noqa: PLC0415 - the same
    from urllib.parse import urlsplit  # noqa: PLC0415 - the same

    parts = urlsplit(check.url or "")
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    path = parts.path or "/"
    connection = kind(parts.hostname or "", parts.port, timeout=check.time_limit_seconds)
    try:
        connection.request("GET", f"{path}?{parts.query}" if parts.query else path, headers={"Connection": "close"})
        answer = connection.getresponse()
        answer.read(_LEAST_BODY)
        status = answer.status
    except socket.gaierror:
        return UNKNOWN, "its host's name cannot be resolved"
    except TimeoutError:
        return UNHEALTHY, f"it did not answer within {check.time_limit_seconds} s"
    except ConnectionError as error:
        return UNHEALTHY, f"it does not take the connection: {(error.strerror or 'it was closed').lower()}"
    except (OSError, http.client.HTTPException, ValueError) as error:
        return UNKNOWN, f"it could not be asked: {type(error).__name__}"
    finally:
        connection.close()
    if status == check.expect_status:
        return HEALTHY, f"it answered {status}"
    return UNHEALTHY, f"it answered {status}, expected was {check.expect_status}"
