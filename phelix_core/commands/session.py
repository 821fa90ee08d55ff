"""The session commands that look: show and list."""

from typing import Annotated, Final

from phelix_core.checks import NATURAL, Help, Only, Surface, one_of
from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import Effect, command
from phelix_core.commands.session_fields import SessionId
from phelix_core.errors import InvalidArgument
from phelix_core.frozen import frozen
from phelix_core.redaction import free_text
from phelix_core.sessions import model
from phelix_core.sessions.listing import Wanted, summary_of
from phelix_core.sessions.model import Session
from phelix_core.sessions.references import ResolvedReferences, resolve
from phelix_core.sessions.summary import SessionSummary
from phelix_core.strictjson import plain

_LIST_LIMIT: Final = 100
_MCP_LIST_LIMIT: Final = 20
_MCP_LIST_CAP: Final = 100


@frozen
class ShowSession:
    """Show one session whole, with the state of everything it references."""

    session_id: SessionId
    no_resolve: Annotated[bool, Help("Leave out the state of references")] = False


@frozen
class ListSessions:
    """List sessions, newest first."""

    status: Annotated[str | None, one_of(*model.STATUSES), Help("Only sessions of this status")] = None
    app: Annotated[str | None, free_text(model.APP_CAP), Help("Only sessions of this application")] = None
    limit: Annotated[int | None, NATURAL, Help("At most so many rows; 0 means all")] = None
    check: Annotated[bool, Only(Surface.TUI), Help("Compare every file with the index first")] = False


@frozen
class ShownSession:
    """A session with what a reader computes about it."""

    session: Session
    resolved: ResolvedReferences | None
    events_left: int

    def members(self) -> dict[str, object]:
        """The record's members flat, then what was computed."""
        computed = {} if self.resolved is None else {"resolved": plain(self.resolved)}
        return {**plain(self.session), **computed, "events_left": self.events_left}


@frozen
class Unreadable:
    """A record that cannot be listed, with the code that says why."""

    file: str
    code: str


@frozen
class SessionList:
    """Rows, how many there are here, whether more matched, and the records that cannot be read."""

    sessions: tuple[SessionSummary, ...]
    count: int
    truncated: bool
    unreadable: tuple[Unreadable, ...]


@command("session show", effect=Effect.READ)
def show_session(request: ShowSession, env: Environment) -> ShownSession:
    """Read one record and look its references up."""
    session = env.sessions.load(request.session_id)
    resolved = None if request.no_resolve else resolve(session, env.references)
    left = session.events_left if session.status == model.ACTIVE else 0
    return ShownSession(session=session, resolved=resolved, events_left=left)


@command("session list", effect=Effect.READ)
def list_sessions(request: ListSessions, env: Environment) -> SessionList:
    """Answer from the index; a record that cannot be read is reported and hides no other."""
    now_ms, stale_after_ms = env.clock.now_ms(), env.settings.stale_after_ms
    limit = _list_limit(request.limit, env.surface)
    conditions = {"status = ?": request.status, "app = ?": request.app}
    asked = {sql: value for sql, value in conditions.items() if value is not None}
    wanted = Wanted(sql=" AND ".join(asked) or "1", values=tuple(asked.values()), limit=limit or None)
    found = env.sessions.listed(wanted, check=request.check, progress=env.progress)
    rows = tuple(summary_of(row, now_ms, stale_after_ms) for row in found.rows)
    unreadable = tuple(Unreadable(file=model.record_name(bad), code=code) for bad, code in found.unreadable)
    return SessionList(sessions=rows, count=len(rows), truncated=found.more, unreadable=unreadable)


def _list_limit(asked: int | None, surface: Surface) -> int:
    if surface is not Surface.MCP:
        return _LIST_LIMIT if asked is None else asked
    if asked is not None and asked > _MCP_LIST_CAP:
        raise InvalidArgument(f"limit: at most {_MCP_LIST_CAP} here.")
    return asked or _MCP_LIST_LIMIT
