"""The way from an action key to a write, dialog by dialog: menu → form → confirmation → what came of it.

Read when the first dialog is asked for, so that the console's start does not pay for it. Every dialog is
about a session, an issue or a plan as it was on the screen; a conflict is never retried by itself, and where there
are versions to compare it gets its own screen.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from textual.binding import Binding

from phelix_core.commands.session import ShownSession
from phelix_core.errors import LeaseConflict, LeaseLost, SessionConflict
from phelix_core.queue.board import Board
from phelix_core.text import SafeStr, visible
from phelix_core.views.story import Reference
from phelix_tui.actions import NO_SESSION, SESSION_ACTIONS, Action, SessionTarget, Target, why_not
from phelix_tui.arc_feed import ArcFeed
from phelix_tui.bulk_actions import BulkTarget
from phelix_tui.copies import Copyable
from phelix_tui.desk import Desk
from phelix_tui.doctor_actions import DIRECTORY_ACTIONS, NO_DIRECTORY
from phelix_tui.feed import Feed
from phelix_tui.issue_actions import ISSUE_ACTIONS, NO_ISSUE, IssueTarget
from phelix_tui.messages import BoardLoaded, SnapshotPatched
from phelix_tui.plan_actions import NO_PLAN, PLAN_ACTIONS
from phelix_tui.queue_feed import QueueFeed
from phelix_tui.screens.bulk import BulkConfirm, BulkForm, End, applied, summary_of
from phelix_tui.screens.confirm import CommandForm, ConfirmScreen, Outcome, Proposal, finished_line
from phelix_tui.screens.conflict import ConflictScreen, text_of
from phelix_tui.screens.copying import CopyMenu
from phelix_tui.screens.fleet import FleetRoom
from phelix_tui.screens.help import HelpScreen
from phelix_tui.screens.menu import ActionMenu
from phelix_tui.screens.references import ReferencesMenu
from phelix_tui.screens.views import Remove, Save, Show, ViewChoice, ViewsMenu
from phelix_tui.view_actions import REMOVE_VIEW, SAVE_VIEW, ViewTarget

if TYPE_CHECKING:  # the app reads this module when the first dialog is asked for
    from phelix_tui.app import ConsoleApp

_NOTHING: Final = {
    "session": (SESSION_ACTIONS, NO_SESSION),
    "issue": (ISSUE_ACTIONS, NO_ISSUE),
    "plan": (PLAN_ACTIONS, NO_PLAN),
    "directory": (DIRECTORY_ACTIONS, NO_DIRECTORY),
}
"""What there would be to do, and what is said, where nothing is selected."""


class Acting:
    """One operator's way through the dialogs."""

    def __init__(self, app: "ConsoleApp", desk: Desk, feed: Feed, queue_feed: QueueFeed, arc_feed: ArcFeed) -> None:
        self._app = app
        self._desk = desk
        self._feed = feed
        self._queue_feed = queue_feed
        self._arc_feed = arc_feed

    def show_help(
        self, sections: Sequence[tuple[str, Sequence[Binding]]], target: Target | None, *, about: str
    ) -> None:
        """Show the keys that work here, and why nothing can be done if so."""
        reason = why_not(target, self._desk.locked, nothing=_NOTHING[about][1])
        self._app.push_dialog(HelpScreen(sections, reason, about=about))

    def actions_on(self, target: Target | None, *, about: str) -> tuple[Sequence[Action], str]:
        """All that can be done to a target, or what there would be to do; and what is said where there is none."""
        none, nothing = _NOTHING[about]
        return (none if target is None else target.actions), nothing

    def begin(self, action: Action, target: Target | None) -> None:
        """Begin an action on a target: by its form, or by its confirmation."""
        if target is not None:
            self._fill_in(action, target)

    def show_menu(self, target: Target | None, *, about: str) -> None:
        """Open the action menu on `target`; without one, on what there would be, each with the reason."""
        actions, nothing = self.actions_on(target, about=about)
        reasons = {action.key: why_not(target, self._desk.locked, action, nothing) for action in actions}
        title = visible(target.id if target else "nothing")

        def chosen(action: Action | None) -> None:
            if action is not None and target is not None:
                self._fill_in(action, target)

        self._app.push_dialog(ActionMenu(title, actions, reasons), chosen)

    def show_copies(self, title: SafeStr, copies: Sequence[Copyable]) -> None:
        """Open the menu of what can be copied."""

        def chosen(one: Copyable | None) -> None:
            if one is not None:
                self._app.copy_one(one)

        self._app.push_dialog(CopyMenu(title, copies), chosen)

    def show_references(self, shown: ShownSession, open_: Callable[[str, str], None]) -> None:
        """Open the list of what a session refers to; `open_` takes the kind and the id of what is chosen."""

        def chosen(reference: Reference | None) -> None:
            if reference is not None:
                open_(reference.kind, reference.id)

        self._app.push_dialog(ReferencesMenu(shown), chosen)

    def show_views(self, fleet: FleetRoom) -> None:
        """Open the menu of saved views; what is chosen is put in force, saved or removed."""

        def chosen(choice: ViewChoice | None) -> None:
            match choice:
                case Show(view):
                    fleet.show_view(view.where)
                case Save(where, taken):
                    self._fill_in(SAVE_VIEW, ViewTarget(preset={"where": where}, about=where, taken=taken))
                case Remove(name):
                    self._confirm(Proposal(REMOVE_VIEW, ViewTarget(preset={"name": name}), {}))
                case None:
                    pass

        self._app.push_dialog(ViewsMenu(self._desk, fleet.why_not_save()), chosen)

    def _fill_in(self, action: Action, target: Target) -> None:
        def filled(answer: Outcome | Proposal | None) -> None:
            if isinstance(answer, Proposal):
                self._confirm(answer)
            else:
                self._answered(answer)

        if action.fields == ():
            self._confirm(Proposal(action, target, {}))
            return
        form = BulkForm if isinstance(target, BulkTarget) else CommandForm
        self._app.push_dialog(form(self._desk, action, target), filled)

    def _confirm(self, proposal: Proposal) -> None:
        if isinstance(proposal.target, BulkTarget):
            self._app.push_dialog(BulkConfirm(self._desk, proposal), partial(self._bulk_ended, proposal))
            return
        self._app.push_dialog(ConfirmScreen(self._desk, proposal), self._answered)

    def _bulk_ended(self, proposal: Proposal, ends: Sequence[End] | None) -> None:
        """Tell what came of many; what was applied is not marked any more."""
        if not ends:
            return
        is_issues = proposal.target.kind == "issue"
        rows, done = (self._app.queue if is_issues else self._app.fleet).main_list, applied(ends)
        rows.marks = rows.marks - done
        self._stir(proposal.target)
        severity = "information" if len(done) == len(ends) else "warning"
        self._app.notify(f"{proposal.action.verb}: {summary_of(ends)}.", severity=severity, markup=False)

    def _answered(self, answer: Outcome | Proposal | None) -> None:
        """Tell what came of it."""
        if not isinstance(answer, Outcome):
            return
        self._stir(answer.proposal.target)
        error = answer.envelope.error
        has_versions = answer.proposal.target.kind in ("session", "issue")
        if isinstance(error, (SessionConflict, LeaseConflict, LeaseLost)) and has_versions:
            self._app.run_worker(self._conflict(answer), exit_on_error=False)
            return
        severity = "information" if error is None else "error"
        self._app.notify(finished_line(answer), severity=severity, markup=False)

    def _stir(self, target: Target) -> None:
        """Look at what was written at once, where nothing watches the file."""
        if target.kind == "issue":
            self._queue_feed.stirred()
        if target.kind == "plan":
            self._arc_feed.stirred()

    async def _conflict(self, outcome: Outcome) -> None:
        """Show the three versions, the current one read anew."""
        proposal = outcome.proposal
        current = await self._current(proposal.target)

        def chosen(answer: str | None) -> None:
            if answer == "copy":
                self._app.hand_over(text_of(proposal), "Your text")
            elif answer == "replan" and current is not None:
                self._confirm(Proposal(proposal.action, current, proposal.values))

        reason = visible(str(outcome.envelope.failure()["message"]))
        self._app.push_dialog(ConflictScreen(proposal, current, reason), chosen)

    async def _current(self, target: Target) -> Target | None:
        """The target as it is now, read anew; None where it has gone."""
        if isinstance(target, IssueTarget):
            envelope = await self._desk.call("queue board", {"since": self._desk.backlog.seq})
            if isinstance(envelope.result, Board):
                self._desk.backlog.take(envelope.result, self._desk.moment())
                self._app.post_message(BoardLoaded(envelope.result))
            return self._desk.issue_target(target.id)
        current = await self._feed.look_at(target.id)
        if current is None:
            return None
        self._app.post_message(SnapshotPatched({target.id: current}))
        return SessionTarget(target.id, current)
