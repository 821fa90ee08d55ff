"""`session create`: the intent to write one new record."""

from typing import TYPE_CHECKING, Annotated

from phelix_core.checks import Help
from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import Effect, command
from phelix_core.errors import PhelixError
from phelix_core.frozen import frozen
from phelix_core.redaction import free_text
from phelix_core.sessions import model, transitions
from phelix_core.sessions.model import Session
from phelix_core.strictjson import plain

if TYPE_CHECKING:  # a plain write starts without the means to describe itself
    from phelix_core.commands.preview import WritePlan


@frozen
class CreateSession:
    """Open a session: a durable record of one unit of work."""

    title: Annotated[str | None, free_text(model.TITLE_CAP), Help("What the work is")] = None
    project: Annotated[str | None, free_text(model.PROJECT_CAP), Help("Project it belongs to")] = None
    app: Annotated[str | None, free_text(model.APP_CAP), Help("Application it concerns")] = None


@command("session create", effect=Effect.WRITE, result=Session)
def create_session(request: CreateSession, env: Environment) -> "RecordCreation":
    """Decide a new record."""
    return RecordCreation(request, env)


class RecordCreation:
    """The intent to write one new record."""

    def __init__(self, request: CreateSession, env: Environment) -> None:
        self._request = request
        self._env = env

    def _session(self, session_id: str) -> Session:
        request = self._request
        return transitions.create(
            session_id,
            self._env.actor,
            self._env.stamp(),
            title=request.title or None,
            project=request.project or None,
            app=request.app or None,
        )

    def plan(self) -> "WritePlan":
        """Describe the record; its id and times are fixed only when it is written."""
        from phelix_core.commands.preview import NEW, event_shown, field_changes, plan_of  # noqa: PLC0415 - previews only

        after = {**plain(self._session("")), "session_id": NEW}
        event = event_shown(after)
        del after["events"]
        changes = field_changes({}, after)
        target = {"session_id": NEW}
        return plan_of(create_session, self._request, self._env, target=target, changes=changes, event=event)

    def apply(self, expect_digest: str | None) -> Session:
        """Write the record under a fresh id."""
        if expect_digest:
            from phelix_core.commands.preview import require_digest  # noqa: PLC0415 - previews only

            require_digest(expect_digest, self.plan().digest)
        session = self._session(f"ses_{self._env.mint()}")
        try:
            return self._env.sessions.create(session)
        except PhelixError as error:
            error.details.setdefault("session_id", session.session_id)
            raise
