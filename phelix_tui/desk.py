"""What every screen works from: the environment, the rows known, and the one way to the core.

Commands run in threads, so that no disk makes the screen wait; what they answer comes back as an
envelope, also where something unforeseen went wrong.
"""

import asyncio
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from phelix_core.clock import Moment, moment_of
from phelix_core.commands.environment import Environment
from phelix_core.commands.faults import unforeseen
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.commands.session import ShownSession
from phelix_core.commands.session_listing import SessionList
from phelix_core.envelope import Envelope
from phelix_core.errors import NotFound, SessionCorrupt
from phelix_core.sessions.model import record_name
from phelix_core.text import SafeStr
from phelix_core.views.shown import shown
from phelix_tui.actions import SessionTarget
from phelix_tui.activity import Activity
from phelix_tui.arrangement import Arrangement, Patch
from phelix_tui.backlog import Backlog
from phelix_tui.feed import SECOND_LOOKS_S
from phelix_tui.issue_actions import IssueTarget

if TYPE_CHECKING:  # plans are looked at once the first rows are drawn
    from phelix_core.arc.board import ArcBoard, Seen
    from phelix_tui.plan_actions import PlanTarget
    from phelix_tui.plan_board import PlanBoard

_STORY = 200
"""Events and checkpoints of an issue that its room shows."""


def is_writable(folder: str) -> bool:
    """Whether records could be written in `folder`, or in the one that it would be made in."""
    while not os.path.exists(folder) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    return os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK)


class Reading:
    """Remembers how far a reading is; told from the thread that reads."""

    done = of = 0

    def __call__(self, done: int, of: int) -> None:
        """Take note."""
        self.done, self.of = (0, 0) if done >= of else (done, of)


class Desk:
    """One console's working place."""

    def __init__(self, env: Environment) -> None:
        self.env = env
        self.arrangement = Arrangement(env.settings.stale_after_ms)
        self.backlog = Backlog()
        self.queue_read = False
        self.queue_failure: SafeStr | None = None
        self._plans: PlanBoard | None = None
        self.plans_read = False
        self.plans_failure: SafeStr | None = None
        self.activity = Activity()

    @property
    def read_only(self) -> bool:
        """Whether the core refuses every write here."""
        return self.env.settings.read_only

    @property
    def locked(self) -> str | None:
        """Why nothing can be changed here at all; None when it can."""
        if not self.read_only:
            return None
        if not is_writable(self.env.settings.data_dir):
            return "read-only: nothing can be written in the data directory"
        return "read-only: start without --read-only to make changes"

    @property
    def place(self) -> SafeStr:
        """The data directory as people write it."""
        return _at_home(self.env.settings.data_dir)

    @property
    def queue_place(self) -> SafeStr:
        """The queue's file as people write it."""
        return _at_home(self.env.queue.path)

    def file_of(self, session_id: str) -> SafeStr:
        """Where the session's record is."""
        return SafeStr(f"{self.place}/sessions/{record_name(session_id)}")

    def now_ms(self) -> int:
        """Now, by the clock that rows are drawn with."""
        return self.env.clock.now_ms()

    def progress(self) -> SafeStr:
        """How far the first reading is, where it is long enough to tell."""
        told = self.env.progress
        return SafeStr(f"{told.done:,} of {told.of:,}" if isinstance(told, Reading) and told.of else "")

    def replace(self, arrangement: Arrangement) -> Patch:
        """Work from another arrangement, under the same filter; what had gone bad keeps what was read well."""
        before, self.arrangement = self.arrangement, arrangement
        arrangement.inherit(before)
        return Patch((), len(arrangement))

    def moment(self) -> Moment:
        """Now by both clocks, as leases are judged."""
        return moment_of(self.env.clock)

    def target(self, session_id: str | None) -> SessionTarget | None:
        """The session as the screen shows it."""
        found = self.arrangement.found(session_id) if session_id else None
        return SessionTarget(session_id, found) if session_id and found is not None else None

    def issue_target(self, issue_id: str | None) -> IssueTarget | None:
        """The issue as the screen shows it."""
        return issue_target(self.backlog, issue_id)

    @property
    def plans(self) -> "PlanBoard":
        """Plans and operations; what they are read with is loaded at the first question."""
        if self._plans is None:
            from phelix_tui.plan_board import PlanBoard  # noqa: PLC0415 - see above

            self._plans = PlanBoard()
        return self._plans

    def plan_target(self, row_id: str | None) -> "PlanTarget | None":
        """The plan, or what stands in the place of one, as the screen shows it."""
        from phelix_tui.plan_actions import PlanTarget  # noqa: PLC0415 - see above

        seen = self.plans.seen(row_id)
        return None if seen is None else PlanTarget(seen)

    async def call(
        self, name: str, raw: Mapping[str, object], *, dry_run: bool = False, expect_digest: str | None = None
    ) -> Envelope:
        """Run a command in a thread."""
        return await asyncio.to_thread(self._call, name, raw, dry_run, expect_digest)

    def _call(self, name: str, raw: Mapping[str, object], dry_run: bool, expect_digest: str | None) -> Envelope:  # noqa: FBT001 - a thread's arguments go by place
        try:
            return run(load_command(name), raw, self.env, dry_run=dry_run, expect_digest=expect_digest)
        except Exception as error:  # noqa: BLE001 - a worker's edge: an unforeseen fault is an answer, not a crash
            return Envelope(error=unforeseen(error))

    async def matching(self, where: str, before: frozenset[str] | None = None) -> frozenset[str] | Envelope:
        """The ids of the sessions that the core lists for a filter; the envelope is a failure's.

        Where they are those of `before` it answers that very set, so that nobody compares again.
        """
        return await asyncio.to_thread(self._matching, where, before)

    def _matching(self, where: str, before: frozenset[str] | None) -> frozenset[str] | Envelope:
        envelope = self._call("session list", {"where": where, "limit": 0}, dry_run=False, expect_digest=None)
        if not isinstance(envelope.result, SessionList):
            return envelope
        found = frozenset(summary.session_id for summary in envelope.result.sessions)
        return before if before is not None and before == found else found

    async def show(self, session_id: str) -> ShownSession | Envelope:
        """Read one session with its references; the envelope is a failure's.

        A record that does not parse is looked at again, as the feed does: somebody may be writing it.
        """
        envelope = await self.call("session show", {"session_id": session_id})
        for pause in SECOND_LOOKS_S:
            if not isinstance(envelope.error, SessionCorrupt):
                break
            await asyncio.sleep(pause)
            envelope = await self.call("session show", {"session_id": session_id})
        return envelope.result if isinstance(envelope.result, ShownSession) else envelope

    async def show_plan(self, kind: str, subject: str) -> "Seen | Envelope":
        """Look at one plan by its id, its operation's or its deployment's, however old; the envelope is a failure's."""
        envelope = await self.call("arc board", {kind: subject})
        if envelope.error is not None:
            return envelope
        board = cast("ArcBoard", envelope.result)
        found = (*board.plans, *board.operations)
        return found[0] if found else Envelope(error=NotFound(f"There is no {kind} {subject} any more."))

    async def show_issue(self, issue_id: str) -> dict[str, Any] | Envelope:
        """Read one issue whole; the envelope is a failure's."""
        envelope = await self.call("queue show", {"issue_id": issue_id, "limit": _STORY})
        return cast("dict[str, Any]", envelope.result) if envelope.error is None else envelope


def issue_target(backlog: Backlog, issue_id: str | None) -> IssueTarget | None:
    """An issue as a backlog has it."""
    issue = backlog.issues.get(issue_id) if issue_id else None
    if issue is None:
        return None
    state, project = backlog.state(issue.id) or issue.status, backlog.project_name(issue.project_id)
    return IssueTarget(issue, backlog.leases.get(issue.id), state, project)


def _at_home(path: str) -> SafeStr:
    home = os.path.expanduser("~")
    return shown(f"~{path[len(home) :]}" if path.startswith(f"{home}/") else path)
