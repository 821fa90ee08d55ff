"""The way from an action key to a write, dialog by dialog: menu → form → confirmation → what came of it.

Read when the first dialog is asked for, so that the console's start does not pay for it. Every dialog is
about a session as it was on the screen; a conflict gets its own screen and is never retried by itself.
"""

from collections.abc import Sequence

from textual.binding import Binding

from phelix_core.errors import SessionConflict
from phelix_core.text import visible
from phelix_tui.actions import REMOVE_VIEW, SAVE_VIEW, SESSION_ACTIONS, Action, Target, ViewTarget, why_not
from phelix_tui.desk import Desk
from phelix_tui.feed import Feed
from phelix_tui.guard import GuardedApp
from phelix_tui.messages import SnapshotPatched
from phelix_tui.screens.confirm import CommandForm, ConfirmScreen, Outcome, Proposal, finished_line
from phelix_tui.screens.conflict import ConflictScreen, text_of
from phelix_tui.screens.fleet import FleetRoom
from phelix_tui.screens.help import HelpScreen
from phelix_tui.screens.menu import ActionMenu
from phelix_tui.screens.views import Remove, Save, Show, ViewChoice, ViewsMenu


class Acting:
    """One operator's way through the dialogs."""

    def __init__(self, app: GuardedApp[int], desk: Desk, feed: Feed) -> None:
        self._app = app
        self._desk = desk
        self._feed = feed

    def show_help(self, sections: Sequence[tuple[str, Sequence[Binding]]], target: Target | None) -> None:
        """Show the keys that work here, and why nothing can be done if so."""
        self._app.push_dialog(HelpScreen(sections, why_not(target, self._desk.locked)))

    def show_menu(self, target: Target | None) -> None:
        """Open the action menu on `target`."""
        reason = why_not(target, self._desk.locked)
        title = visible(target.session_id if target else "nothing")

        def chosen(action: Action | None) -> None:
            if action is not None and target is not None:
                self._fill_in(action, target)

        self._app.push_dialog(ActionMenu(title, SESSION_ACTIONS, reason), chosen)

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

    def _fill_in(self, action: Action, target: Target | ViewTarget) -> None:
        def filled(answer: Outcome | Proposal | None) -> None:
            if isinstance(answer, Proposal):
                self._confirm(answer)
            else:
                self._answered(answer)

        self._app.push_dialog(CommandForm(self._desk, action, target), filled)

    def _confirm(self, proposal: Proposal) -> None:
        self._app.push_dialog(ConfirmScreen(self._desk, proposal), self._answered)

    def _answered(self, answer: Outcome | Proposal | None) -> None:
        """Tell what came of it."""
        if not isinstance(answer, Outcome):
            return
        error, target = answer.envelope.error, answer.proposal.target
        if isinstance(error, SessionConflict) and isinstance(target, Target):
            self._app.run_worker(self._conflict(answer, target), exit_on_error=False)
            return
        severity = "information" if error is None else "error"
        self._app.notify(finished_line(answer), severity=severity, markup=False)

    async def _conflict(self, outcome: Outcome, target: Target) -> None:
        """Show the three versions, the current one read anew."""
        proposal = outcome.proposal
        session_id = target.session_id
        current = await self._feed.look_at(session_id)
        if current is not None:
            self._app.post_message(SnapshotPatched({session_id: current}))

        def chosen(answer: str | None) -> None:
            if answer == "copy":
                self._app.copy_to_clipboard(text_of(proposal))
                self._app.notify("Your text went to the terminal's clipboard (OSC 52).", markup=False)
            elif answer == "replan" and current is not None:
                self._confirm(Proposal(proposal.action, Target(session_id, current), proposal.values))

        reason = visible(str(outcome.envelope.failure()["message"]))
        self._app.push_dialog(ConflictScreen(proposal, target, current, reason), chosen)
