"""`session show`: one record whole, and what it references."""

from typing import Annotated

from phelix_core.checks import Help
from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import Effect, command
from phelix_core.commands.session_fields import SessionId
from phelix_core.frozen import frozen
from phelix_core.sessions import model
from phelix_core.sessions.model import Session
from phelix_core.sessions.references import ResolvedReferences, resolve
from phelix_core.strictjson import plain


@frozen
class ShowSession:
    """Show one session whole, with the state of everything it references."""

    session_id: SessionId
    no_resolve: Annotated[bool, Help("Leave out the state of references")] = False


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


@command("session show", effect=Effect.READ)
def show_session(request: ShowSession, env: Environment) -> ShownSession:
    """Read one record and look its references up."""
    session = env.sessions.load(request.session_id)
    resolved = None if request.no_resolve else resolve(session, env.references)
    left = session.events_left if session.status == model.ACTIVE else 0
    return ShownSession(session=session, resolved=resolved, events_left=left)
