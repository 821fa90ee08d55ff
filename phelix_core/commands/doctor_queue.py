"""What the doctor looks at in the queue: engine, file, journal, and session records that a crash left behind."""

from collections.abc import Iterable, Iterator
from typing import Final

from phelix_core.commands.doctor import FAIL, OK, WARN, Finding
from phelix_core.commands.environment import Environment
from phelix_core.commands.queue.records import carry_out, duty_of_lease
from phelix_core.errors import NotFound, PhelixError
from phelix_core.queue.duties import OPEN, Duty
from phelix_core.queue.model import Lease
from phelix_core.queue.store import Questions
from phelix_core.redaction import redact
from phelix_core.sessions.model import ACTIVE, Actor
from phelix_core.sessions.transitions import Stamp
from phelix_core.sqlite import engine_version, is_sound

_LARGE_WAL: Final = 64 * 1024 * 1024
_PAGE: Final = 500
_SURFACES: Final = frozenset({"cli", "mcp", "tui"})


def queue_findings(env: Environment) -> tuple[Finding, ...]:
    """Look at the queue; one that is not there yet is no fault."""
    engine = _engine()
    queue = env.queue
    try:
        wrong = queue.check()
    except NotFound:
        hint = "`phelix queue init NAME` makes one, where agents are to share work."
        return (engine, Finding(check="queue", state=OK, detail="none yet", hint=hint))
    except PhelixError as error:
        return (engine, Finding(check="queue", state=FAIL, detail=error.message, hint=error.hint))
    if wrong is not None:
        hint = "Keep the file, and go on from a copy made by a backup."
        return (engine, Finding(check="queue", state=FAIL, detail=redact(wrong), hint=hint))
    found = [engine]
    if lax := queue.lax_modes():
        detail = f"{redact(lax[0])} is open to other users"
        found.append(Finding(check="queue", state=WARN, detail=detail, hint="The next write to the queue closes it."))
    elif (size := queue.wal_bytes()) > _LARGE_WAL:
        detail = f"the write-ahead log has grown to {size // (1024 * 1024)} MiB"
        hint = "A reader that never lets go keeps it from shrinking."
        found.append(Finding(check="queue", state=WARN, detail=detail, hint=hint))
    else:
        events = queue.read(lambda tx: tx.last_seq())
        found.append(Finding(check="queue", state=OK, detail=f"sound, {events} events"))
    return (*found, _records(env))


def _engine() -> Finding:
    version = engine_version()
    if is_sound(version):
        return Finding(check="engine", state=OK, detail=f"SQLite {version}")
    return Finding(
        check="engine",
        state=WARN,
        detail=f"SQLite {version} can lose commits where several processes write",
        hint="Install apsw 3.51.3 or newer.",
    )


def _records(env: Environment) -> Finding:
    behind = list(records_behind(env))
    if not behind:
        return Finding(check="queue sessions", state=OK, detail="each lease agrees with its session record")
    duty, _ = behind[0]
    return Finding(
        check="queue sessions",
        state=WARN,
        detail=f"{len(behind)} session records do not agree with their leases, such as {duty.session_id}",
        hint="`phelix doctor --fix` completes what a crash left between the two.",
    )


def records_behind(env: Environment) -> Iterator[tuple[Duty, str]]:
    """Records that lack what their lease came to, each with the surface of its run.

    A closed record is never touched, and one that was pruned after its lease had ended is not missed.
    """
    after = ""
    while True:
        page = env.queue.read(lambda tx, after=after: [(lease, *_duty(tx, lease)) for lease in _leases(tx, after)])
        for _, duty, via in page:
            if duty is not None and _is_behind(env, duty):
                yield duty, via
        if len(page) < _PAGE:
            return
        after = page[-1][0].id


def _leases(tx: Questions, after: str) -> list[Lease]:
    return tx.leases_with_records(after, _PAGE)


def _duty(tx: Questions, lease: Lease) -> tuple[Duty | None, str]:
    run = tx.run(lease.run_id)
    return duty_of_lease(tx, lease), run.via if run is not None and run.via in _SURFACES else "cli"


def _is_behind(env: Environment, duty: Duty) -> bool:
    try:
        record = env.sessions.load(duty.session_id)
    except NotFound:
        return duty.kind == OPEN
    except PhelixError:
        return False  # told as a record that cannot be read
    return record.status == ACTIVE and duty.kind != OPEN


def catch_up(env: Environment, behind: Iterable[tuple[Duty, str]]) -> list[str]:
    """Bring records to what their leases came to, each under the surface of its own run."""
    done: list[str] = []
    for duty, via in behind:
        actor = Actor(type="mcp" if via == "mcp" else "cli", id=None, authenticated=False)
        try:
            outcome = carry_out(duty, env, Stamp(at_ms=env.clock.now_ms(), via=via), actor)
        except PhelixError:
            continue  # the examination that follows tells of it again
        if outcome is not None:
            done.append(f"{duty.session_id} {outcome}")
    return done
