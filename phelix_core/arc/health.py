"""Is an application well: its own declared check, run once, and what was seen of it; nothing is written anywhere.

Promises: `healthy` and `unhealthy` are said only of what answered, or of what certainly did not; where the check itself
could not be made, the answer is `unknown` and says why. A command has every guarantee of the executor but a log; a page
is asked for once, without a proxy, without following it elsewhere, and the whole call ends with the time limit, however
slowly the other side talks. Source: arc page, health.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from phelix_core.arc.applications import HealthCheck
from phelix_core.clock import Clock
from phelix_core.files import why
from phelix_core.frozen import frozen

if TYPE_CHECKING:
    from http.client import HTTPConnection

    from phelix_core.arc.executor import Outcome

HEALTHY: Final = "healthy"
UNHEALTHY: Final = "unhealthy"
UNKNOWN: Final = "unknown"
_LINE_CAP: Final = 200
_LOOK_S: Final = 0.05


@frozen
class Health:
    """What was seen: `source` is command, http or none; `detail` says why it is not healthy, or the last word of it."""

    status: str
    source: str
    detail: str | None
    checked_at_ms: int
    duration_ms: int


def check_health(
    check: HealthCheck | None,
    *,
    folder: str,
    environ: Mapping[str, str],
    clock: Clock,
    cancelled: Callable[[], bool] = lambda: False,
) -> Health:
    """Look once; `folder` is the application's; of `environ` a command sees what it names."""
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
        last = line.strip()[:_LINE_CAP]

    outcome = run_command(
        Execution(
            argv=declared.command,
            folder=f"{folder}/{declared.folder}",
            environ=declared.seen_of(environ),
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
    if (outcome.exit_code, outcome.signal) == (None, None):
        return UNKNOWN, f"it is not known how the check ended: {outcome.reason}"
    if outcome.kind == "timed_out":
        ended = f"the check was ended: {outcome.reason}"
    elif outcome.signal is not None:
        ended = f"the check was ended by signal {outcome.signal}"
    elif outcome.exit_code == 0:
        return HEALTHY, last or None
    else:
        ended = f"the check ended with exit status {outcome.exit_code}"
    return UNHEALTHY, f"{ended}: {last}" if last else ended


def _by_page(check: HealthCheck, clock: Clock, cancelled: Callable[[], bool]) -> _Seen:
    """Ask in a thread of its own: no timeout of a socket bounds a whole call, and nobody waits for one that hangs."""
    import threading  # noqa: PLC0415 - only where there is a page

    done = threading.Event()
    asking = _Asking(check)

    def ask() -> None:
        try:
            asking.ask()
        finally:
            done.set()

    threading.Thread(target=ask, name="health", daemon=True).start()
    deadline = clock.monotonic() + check.time_limit_seconds
    while not done.wait(_LOOK_S):
        if cancelled():
            asking.hang_up()
            return UNKNOWN, "the check was interrupted"
        if clock.monotonic() >= deadline:
            asking.hang_up()
            return asking.late
    return asking.seen


class _Asking:
    """One GET; who refuses the connection or answers otherwise is unhealthy, who cannot be found is unknown."""

    def __init__(self, check: HealthCheck) -> None:
        self.seen: _Seen = (
            UNKNOWN,
            "it could not be asked",
        )  # until something is known, also where asking fails in a way unheard of
        self._check = check
        self._connection: HTTPConnection | None = None
        self._is_found = False
        self._is_over = False

    @property
    def late(self) -> _Seen:
        """What is known where no answer came in time."""
        seconds = self._check.time_limit_seconds
        if not self._is_found:
            return UNKNOWN, f"its host's name was not resolved within {seconds} s"
        return UNHEALTHY, f"it did not answer within {seconds} s"

    def ask(self) -> None:
        """Ask, and keep what was seen."""
        from http.client import HTTPException  # noqa: PLC0415 - only where there is a page
        from socket import gaierror  # noqa: PLC0415 - the same

        try:
            status = self._status()
        except gaierror:
            self.seen = UNKNOWN, "its host's name cannot be resolved"
        except TimeoutError:
            self.seen = self.late
        except ConnectionError as error:
            self.seen = UNHEALTHY, f"it does not take the connection: {(error.strerror or 'it was closed').lower()}"
        except (OSError, HTTPException, ValueError) as error:
            self.seen = UNKNOWN, f"it could not be asked: {_told(error)}"
        else:
            self.seen = _seen_in(status, self._check.expect_status)
        finally:
            if self._connection is not None:
                self._connection.close()

    def hang_up(self) -> None:
        """End the call, from another thread, so that who talks without end is not listened to without end."""
        self._is_over = True
        line = None if self._connection is None else self._connection.sock
        if line is not None:
            with suppress(OSError):
                line.shutdown(2)

    def _status(self) -> int:
        """What the page answers; nothing of its body is read."""
        import http.client  # noqa: PLC0415 - only where there is a page
        import socket  # noqa: PLC0415 - the same
        from urllib.parse import urlsplit  # noqa: PLC0415 - the same

        parts = urlsplit(self._check.url or "")
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=self._check.time_limit_seconds)
        self._connection = connection
        # The connection looks the name up again: only so is it known, at any moment, whether there is one to blame.
        socket.getaddrinfo(connection.host, connection.port, type=socket.SOCK_STREAM)
        self._is_found = True
        connection.connect()
        if self._is_over:
            raise TimeoutError
        path = parts.path or "/"
        connection.request("GET", f"{path}?{parts.query}" if parts.query else path, headers={"Connection": "close"})
        with connection.getresponse() as answer:
            return answer.status


def _seen_in(status: int, expected: int | None) -> _Seen:
    if status == expected:
        return HEALTHY, f"it answered {status}"
    return UNHEALTHY, f"it answered {status}, expected was {expected}"


def _told(error: Exception) -> str:
    """Why, without addresses and values: the system's own word, else what kind of error it is."""
    return why(error).lower() if type(error) is OSError else type(error).__name__
