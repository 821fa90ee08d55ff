"""`phelix doctor`: is this data directory sound, and what to do where it is not.

Looking changes nothing. `--fix` repairs what is safe to repair: modes that are too open, and temporary
files that killed writers left more than an hour ago. A session record is touched only where a crash left it
behind its lease: it is then closed as the queue says, or made.
"""

import os
import stat
import sys
from typing import TYPE_CHECKING, Annotated, Final

from phelix_core import VERSION
from phelix_core.checks import Help
from phelix_core.commands.environment import Environment
from phelix_core.commands.preview import FieldChange, WritePlan, digest_of, require_digest
from phelix_core.commands.registry import Effect, command, equivalent
from phelix_core.errors import PhelixError
from phelix_core.frozen import frozen
from phelix_core.redaction import redact
from phelix_core.sessions.model import ACTIVE, record_name
from phelix_core.sessions.staleness import clock_ahead_ms

if TYPE_CHECKING:
    from phelix_core.queue.duties import Duty

OK: Final = "ok"
WARN: Final = "warn"
FAIL: Final = "fail"
_OPEN_BITS: Final = 0o077


@frozen
class Examine:
    """Examine the data directory, records, queue, plans and terminal; repair what is safe with --fix."""

    fix: Annotated[
        bool, Help("Close modes that are too open, clear what killed writers left, and catch up after crashes")
    ] = False


@frozen
class Finding:
    """One thing looked at: `state` is ok, warn or fail; `hint` says what to do."""

    check: str
    state: str
    detail: str
    hint: str | None = None


@frozen
class Examination:
    """Everything looked at; `sound` is false while anything fails."""

    sound: bool
    findings: tuple[Finding, ...]
    fixed: tuple[str, ...] = ()


@command(
    "doctor",
    effect=Effect.WRITE,
    result=Examination,
    caution="No record is removed, and none changed but a session that a crash left behind its lease.",
)
def doctor(request: Examine, env: Environment) -> "Examination | Repair":
    """Look, or decide a repair."""
    return Repair(env) if request.fix else examine(env)


def examine(env: Environment) -> Examination:
    """Look at everything once."""
    findings = (
        _version(),
        _data_dir(env),
        _sessions_folder(env),
        *_records(env),
        _leftovers(env),
        *_queue(env),
        *_arc(env),
        _terminal(),
    )
    return Examination(sound=all(finding.state != FAIL for finding in findings), findings=findings)


def _queue(env: Environment) -> tuple[Finding, ...]:
    from phelix_core.commands.doctor_queue import queue_findings  # noqa: PLC0415 - it stands on this module

    return queue_findings(env)


def _arc(env: Environment) -> tuple[Finding, ...]:
    from phelix_core.commands.doctor_arc import arc_findings  # noqa: PLC0415 - it stands on this module

    return arc_findings(env)


def _version() -> Finding:
    python = ".".join(map(str, sys.version_info[:3]))
    return Finding(check="version", state=OK, detail=f"phelix {VERSION}, Python {python}, {sys.platform}")


def _data_dir(env: Environment) -> Finding:
    folder, path = env.settings.data_dir, redact(env.settings.data_dir)
    try:
        found = os.stat(folder)
    except FileNotFoundError:
        return Finding(
            check="data directory",
            state=OK,
            detail=f"{path} does not exist yet",
            hint="The first `phelix session create` makes it.",
        )
    except OSError as error:
        return Finding(check="data directory", state=FAIL, detail=f"{path}: {os.strerror(error.errno or 0)}")
    if not stat.S_ISDIR(found.st_mode):
        return Finding(check="data directory", state=FAIL, detail=f"{path} is not a folder", hint="Name another.")
    if not os.access(folder, os.W_OK | os.X_OK):
        return Finding(
            check="data directory",
            state=WARN,
            detail=f"{path} cannot be written",
            hint="Only reading works here.",
        )
    if stat.S_IMODE(found.st_mode) & _OPEN_BITS:
        mode = stat.S_IMODE(found.st_mode)
        return Finding(
            check="data directory",
            state=WARN,
            detail=f"{path} is open to other users (mode {mode:04o})",
            hint="`phelix doctor --fix` makes it 0700.",
        )
    return Finding(check="data directory", state=OK, detail=path)


def _sessions_folder(env: Environment) -> Finding:
    lax = _lax(env)
    if lax:
        return Finding(
            check="modes",
            state=WARN,
            detail=f"{len(lax)} files or folders are open to other users, such as {redact(lax[0])}",
            hint="`phelix doctor --fix` closes them.",
        )
    return Finding(check="modes", state=OK, detail="records are private to their owner")


def _records(env: Environment) -> tuple[Finding, ...]:
    now_ms, read, ahead, bad = env.clock.now_ms(), 0, 0, list[str]()
    try:
        for session_id, found in env.sessions.load_all():
            if isinstance(found, PhelixError):
                bad.append(f"{record_name(session_id)} ({found.code})")
                continue
            read += 1
            ahead += found.status == ACTIVE and clock_ahead_ms(found.last_event_ms, now_ms) is not None
    except PhelixError as error:
        return (Finding(check="records", state=FAIL, detail=error.message),)
    records = (
        Finding(
            check="records",
            state=FAIL,
            detail=f"{read} read well, {len(bad)} do not: {', '.join(bad[:3])}",
            hint="Restore them from a copy; Phelix never overwrites a record it cannot read.",
        )
        if bad
        else Finding(check="records", state=OK, detail=f"{read} read well")
    )
    if not ahead:
        return (records, Finding(check="clock", state=OK, detail="no record is from the future"))
    skew = Finding(
        check="clock",
        state=WARN,
        detail=f"{ahead} active sessions have events in the future: whether they are stale cannot be told",
        hint="Set the clocks of the machines that write here.",
    )
    return (records, skew)


def _lax(env: Environment) -> list[str]:
    return [*env.sessions.lax_modes(), *env.saved_views.lax_modes(), *env.arc.lax_modes()]


def _strays(env: Environment) -> list[str]:
    return [*env.sessions.leftovers(), *env.saved_views.leftovers(), *env.arc.leftovers()]


def _leftovers(env: Environment) -> Finding:
    strays = _strays(env)
    if strays:
        return Finding(
            check="leftovers",
            state=WARN,
            detail=f"{len(strays)} temporary files of killed writers",
            hint="`phelix doctor --fix` removes them.",
        )
    return Finding(check="leftovers", state=OK, detail="none")


def _terminal() -> Finding:
    output = sys.__stdout__  # the console puts a stand-in, which has no descriptor, in the place of `sys.stdout`
    if output is None or not output.isatty():
        return Finding(check="terminal", state=OK, detail="not a terminal: output is plain")
    size = os.get_terminal_size(output.fileno())
    encoding = (output.encoding or "unknown").lower()
    detail = f"{size.columns}x{size.lines}, TERM={redact(os.environ.get('TERM', 'unset'))}, {encoding}"
    if encoding.replace("-", "") != "utf8":
        return Finding(check="terminal", state=WARN, detail=detail, hint="Use a UTF-8 locale, or glyphs will be wrong.")
    return Finding(check="terminal", state=OK, detail=detail)


def _behind(env: Environment) -> "list[tuple[Duty, str]]":
    """Session records that a crash left behind their leases; none where the queue cannot be read."""
    from phelix_core.commands.doctor_queue import records_behind  # noqa: PLC0415 - it stands on this module

    try:
        return list(records_behind(env))
    except PhelixError:
        return []


class Repair:
    """The intent to close modes and clear leftovers."""

    def __init__(self, env: Environment) -> None:
        self._env = env

    def _lax(self) -> list[str]:
        folder = self._env.settings.data_dir
        try:
            own = bool(stat.S_IMODE(os.stat(folder).st_mode) & _OPEN_BITS)
        except OSError:
            own = False
        return [*([folder] if own else []), *_lax(self._env)]

    def plan(self) -> WritePlan:
        """Name every file that would be closed or removed."""
        changes = (
            *(FieldChange(field=redact(path), before="open to others", after="private") for path in self._lax()),
            *(FieldChange(field=redact(path), before="leftover", after=None) for path in _strays(self._env)),
            *(
                FieldChange(field=duty.session_id, before="active or absent", after=duty.kind)
                for duty, _ in _behind(self._env)
            ),
        )
        target = {"data_dir": redact(self._env.settings.data_dir)}
        return WritePlan(
            action="doctor",
            target=target,
            preconditions={},
            changes=changes,
            event=None,
            side_effects=(),
            command=equivalent(doctor, Examine(fix=True), self._env.settings.data_dir),
            digest=digest_of("doctor", target, {}, changes),
        )

    def apply(self, expect_digest: str | None) -> Examination:
        """Repair, then look again."""
        if expect_digest:
            require_digest(expect_digest, self.plan().digest)
        from phelix_core.commands.doctor_queue import catch_up  # noqa: PLC0415 - it stands on this module

        fixed = [
            *self._env.sessions.repair(self._lax(), _strays(self._env)),
            *catch_up(self._env, _behind(self._env)),
        ]
        seen = examine(self._env)
        return Examination(sound=seen.sound, findings=seen.findings, fixed=tuple(map(redact, fixed)))
