"""`session list`: rows newest first, answered from the index; the filter language where one is typed.

A record that cannot be read is reported and hides no other. Source: sessions page, Rules; console page,
section 4.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Final

from phelix_core.checks import NATURAL, Help, Only, Surface, Unprinted, one_of
from phelix_core.commands.environment import Environment
from phelix_core.commands.filtering import parsed, told
from phelix_core.commands.registry import Effect, command
from phelix_core.errors import InvalidArgument, NotFound, PhelixError
from phelix_core.files import Stamp
from phelix_core.frozen import frozen
from phelix_core.redaction import free_text
from phelix_core.saved_views.model import VIEW_NAME, WHERE_CAP
from phelix_core.sessions import model
from phelix_core.sessions.listing import PLACE, Row, Value, Wanted, summary_of
from phelix_core.sessions.references import MISSING, PRESENT, UNAVAILABLE, UNKNOWN
from phelix_core.sessions.summary import SessionSummary

if TYPE_CHECKING:
    from phelix_core.views.filter import Query

_NOT_OVER_MCP: Final = Only(Surface.CLI, Surface.TUI)
_LIST_LIMIT: Final = 100
_MCP_LIST_LIMIT: Final = 20
_MCP_LIST_CAP: Final = 100


@frozen
class ListSessions:
    """List sessions, newest first."""

    status: Annotated[str | None, one_of(*model.STATUSES), Help("Only sessions of this status")] = None
    app: Annotated[str | None, free_text(model.APP_CAP), Help("Only sessions of this application")] = None
    where: Annotated[
        str | None, free_text(WHERE_CAP), _NOT_OVER_MCP, Help("Only what this filter accepts, as in the console's /")
    ] = None
    view: Annotated[
        str | None, VIEW_NAME, _NOT_OVER_MCP, Help("Only what this saved view shows; with --where, what both accept")
    ] = None
    limit: Annotated[int | None, NATURAL, Help("At most so many rows; 0 means all")] = None
    stamps: Annotated[
        bool, Only(Surface.TUI), Help("Answer the files' stamps and no rows: what a live view compares")
    ] = False
    check: Annotated[bool, _NOT_OVER_MCP, Help("Compare every file with the index first")] = False


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
    stamps: Annotated[Mapping[str, Stamp] | None, Unprinted()] = None


@command("session list", effect=Effect.READ)
def list_sessions(request: ListSessions, env: Environment) -> SessionList:
    """Answer from the index."""
    if request.stamps:
        return SessionList(sessions=(), count=0, truncated=False, unreadable=(), stamps=env.sessions.stamps())
    now_ms, stale_after_ms = env.clock.now_ms(), env.settings.stale_after_ms
    limit = _limit(request.limit, env.surface) or None
    conditions: list[tuple[str, tuple[Value, ...]]] = [
        (f"{column} = ?", (value,))
        for column, value in (("status", request.status), ("app", request.app))
        if value is not None
    ]
    loose: list[Query] = []
    for query in _queries(request, env):
        where = query.sql(now_ms, stale_after_ms)
        conditions.append((f"({where.text})", where.parameters))
        if not where.exact:
            loose.append(query)

    def summary(row: Row) -> SessionSummary:
        return summary_of(row, now_ms, stale_after_ms)

    wanted = Wanted(
        sql=" AND ".join(sql for sql, _ in conditions) or "1",
        values=tuple(value for _, values in conditions for value in values),
        limit=None if loose else limit,
        make=tuple if loose else summary,
    )
    found = env.sessions.listed(wanted, check=request.check, progress=env.progress)
    rows, more = found.rows, found.more
    if loose:
        accepted = found.rows
        for query in loose:
            accepted = tuple(_accepted(query, accepted, env, now_ms))
        rows, more = tuple(map(summary, accepted[:limit])), limit is not None and len(accepted) > limit
    return SessionList(
        sessions=rows,
        count=len(rows),
        truncated=more,
        unreadable=tuple(Unreadable(file=model.record_name(bad), code=code) for bad, code in found.unreadable),
    )


def _limit(asked: int | None, surface: Surface) -> int:
    if surface is not Surface.MCP:
        return _LIST_LIMIT if asked is None else asked
    if asked is not None and asked > _MCP_LIST_CAP:
        raise InvalidArgument(f"limit: at most {_MCP_LIST_CAP} here.")
    return asked or _MCP_LIST_LIMIT


def _queries(request: ListSessions, env: Environment) -> "list[Query]":
    """The filters that rows must all pass: the one typed, and the saved view's."""
    typed = [] if request.where is None else [_parsed(request.where)]
    if request.view is None:
        return typed
    query = _parsed(env.saved_views.load(request.view).where)
    return [*typed, query]


def _parsed(text: str) -> "Query":
    from phelix_core.views import filter as filters  # noqa: PLC0415 - most lists have no filter

    return parsed(filters.parse, text)


def _accepted(query: "Query", rows: Iterable[Row], env: Environment, now_ms: int) -> Iterable[Row]:
    """Rows that the filter accepts, where SQL could only tell most of it."""
    from phelix_core.views import filter as filters  # noqa: PLC0415 - most lists have no filter

    stale_after_ms = env.settings.stale_after_ms
    rows = list(rows)
    accepts = query.predicate(now_ms, stale_after_ms, clock=env.clock.monotonic)
    states = _states_of(rows, env) if query.needs_references else None
    with told():
        for row in rows:
            references = _references(row)
            seen = None if states is None else frozenset(states[reference] for reference in references)
            summary = summary_of(row, now_ms, stale_after_ms)
            if accepts(filters.filterable(row[0], summary, references, seen)):
                yield row


def _references(row: Row) -> tuple[str, ...]:
    return tuple((row[PLACE["reference_ids"]] or "").split())


def _states_of(rows: Iterable[Row], env: Environment) -> dict[str, str]:
    """The state of every reference that the rows name: one look at each plan and operation, one pass for all else."""
    named = {reference for row in rows for reference in _references(row)}
    source = env.references
    deployments = frozenset(reference for reference in named if reference.startswith("dep-"))
    try:
        correlated = source.deployments(deployments)
        states = {reference: PRESENT if reference in correlated else UNKNOWN for reference in deployments}
    except PhelixError:
        states = dict.fromkeys(deployments, UNAVAILABLE)
    for reference in named - deployments:
        states[reference] = _state(source.plan if reference.startswith("pln_") else source.operation, reference)
    return states


def _state(load: Callable[[str], object], reference: str) -> str:
    try:
        load(reference)
    except NotFound:
        return MISSING
    except PhelixError:
        return UNAVAILABLE
    return PRESENT
