"""`session prune`: the intent to remove closed sessions that are beyond need."""

from typing import Annotated, Final

from phelix_core.checks import NATURAL, Help, full_match
from phelix_core.commands.environment import Environment
from phelix_core.commands.preview import FieldChange, WritePlan, plan_of, require_digest
from phelix_core.commands.registry import Effect, command
from phelix_core.commands.session_fields import NOT_OVER_MCP
from phelix_core.frozen import frozen
from phelix_core.sessions import model
from phelix_core.sessions.model import Session

_UNIT_MS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def _milliseconds(duration: str) -> int:
    """Milliseconds in a duration that passed `DURATION`."""
    return int(duration[:-1]) * _UNIT_MS[duration[-1]]


DURATION: Final = full_match("[0-9]{1,6}[smhd]", "a duration such as 45s, 15m, 2h or 30d")


@frozen
class PruneSessions:
    """Remove closed sessions that are beyond the newest KEEP and older than a duration."""

    keep: Annotated[int, NATURAL, Help("How many of the newest closed sessions to keep in any case")]
    older_than: Annotated[str, DURATION, Help("Closed for longer than this, such as 30d")]


@frozen
class Pruned:
    """Which sessions were removed, and how many closed ones remain."""

    removed: tuple[str, ...]
    kept: int


@command(
    "session prune",
    effect=Effect.WRITE,
    result=Pruned,
    surfaces=NOT_OVER_MCP,
    caution="Active sessions are never removed.",
)
def prune_sessions(request: PruneSessions, env: Environment) -> "Pruning":
    """Decide which closed sessions to remove."""
    return Pruning(request, env)


class Pruning:
    """The intent to remove closed sessions that both conditions name."""

    def __init__(self, request: PruneSessions, env: Environment) -> None:
        self._request = request
        self._env = env

    def _closed(self) -> list[Session]:
        """Closed sessions, newest first."""
        found = [
            session
            for _, session in self._env.sessions.load_all()
            if isinstance(session, Session) and session.status != model.ACTIVE
        ]
        return sorted(found, key=lambda session: (session.created_at_ms, session.session_id), reverse=True)

    def _doomed(self, closed: list[Session]) -> list[Session]:
        before_ms = self._env.clock.now_ms() - _milliseconds(self._request.older_than)
        return [session for session in closed[self._request.keep :] if session.updated_at_ms < before_ms]

    def plan(self) -> WritePlan:
        """Name each session that would go."""
        return self._describe(self._doomed(self._closed()))

    def _describe(self, doomed: list[Session]) -> WritePlan:
        changes = tuple(
            FieldChange(field=f"sessions/{model.record_name(session.session_id)}", before=session.status, after=None)
            for session in doomed
        )
        target = {"sessions": len(doomed)}
        return plan_of(prune_sessions, self._request, self._env, target=target, changes=changes)

    def apply(self, expect_digest: str | None) -> Pruned:
        """Remove them one by one, each looked at again under its lock."""
        closed = self._closed()
        doomed = self._doomed(closed)
        if expect_digest:
            require_digest(expect_digest, self._describe(doomed).digest)
        removed = [
            session.session_id
            for session in doomed
            if self._env.sessions.remove(session.session_id, lambda now, seen=session: now == seen)
        ]
        return Pruned(removed=tuple(removed), kept=len(closed) - len(removed))
