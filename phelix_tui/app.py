"""The console's composition: rooms, dialogs, themes, feed and clock, and nothing of the domain.

Handlers here are the only writers of what is shown. Workers post messages.
"""

import asyncio
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual import on
from textual.app import SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.worker import Worker, WorkerState

from phelix_core.checks import Surface
from phelix_core.clock import Clock
from phelix_core.commands.environment import Environment, open_environment
from phelix_core.commands.faults import unforeseen
from phelix_core.commands.programs import OpenConsole
from phelix_core.envelope import Envelope
from phelix_core.errors import InvalidArgument
from phelix_core.settings import Settings
from phelix_core.text import visible
from phelix_tui.arc_feed import ArcFeed
from phelix_tui.arrangement import Patch
from phelix_tui.deliveries import Deliveries, has_to_deliver
from phelix_tui.desk import Desk, Reading, is_writable
from phelix_tui.feed import Feed
from phelix_tui.fitting import FittingApp
from phelix_tui.messages import (
    BoardFailed,
    BoardLoaded,
    IssueWanted,
    PlansFailed,
    PlansLoaded,
    PlanWanted,
    QueueGone,
    ReferencesWanted,
    SessionWanted,
    SnapshotFailed,
    SnapshotLoaded,
    SnapshotPatched,
)
from phelix_tui.queue_feed import QueueFeed
from phelix_tui.screens.attention import AttentionRoom
from phelix_tui.screens.dialog import Dialog
from phelix_tui.screens.drawing import failure_words
from phelix_tui.screens.fleet import FleetRoom
from phelix_tui.screens.issue import IssueRoom
from phelix_tui.screens.queue import QueueRoom
from phelix_tui.screens.room import Room
from phelix_tui.screens.session import SessionRoom
from phelix_tui.theming import DEFAULT_THEME, default_variables, load_themes
from phelix_tui.widgets.pages import cell
from phelix_tui.widgets.rowlist import Cell

if TYPE_CHECKING:
    from phelix_tui.acting import Acting
    from phelix_tui.screens.approvals import ApprovalsRoom


_TOGETHER_S = 1.0
"""Plans that begin to wait within so long are told of together."""


class ConsoleApp(FittingApp[int]):
    """The operator's console over one data directory."""

    TITLE = "phelix"
    CSS_PATH = "console.tcss"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark", "help", "Help", id="app.help"),
        Binding("colon,ctrl+p", "command_palette", "Commands", id="app.palette"),
        Binding("1", "home", "Fleet", id="app.fleet"),
        Binding("2", "last_session", "The session last opened", show=False, id="app.session"),
        Binding("3", "queue", "Queue", id="app.queue"),
        Binding("4", "attention", "Attention", id="app.attention"),
        Binding("5", "approvals", "Approvals", id="app.approvals"),
        Binding("T", "change_theme", "Theme", show=False, id="app.theme"),
    ]

    def __init__(self, env: Environment, *, ansi_color: bool | None = None, feed: Feed | None = None) -> None:
        super().__init__(ansi_color=ansi_color)
        self.animation_level = "none"  # over a slow line every step in between is a repaint
        self.desk = Desk(env)
        self.feed = feed or Feed(env, self.post_message)
        self.queue_feed = QueueFeed(env, self.post_message)
        self.arc_feed = ArcFeed(env, self.post_message)
        self.fleet = FleetRoom(self.desk)
        self.queue = QueueRoom(self.desk)
        self.attention = AttentionRoom(self.desk)
        self._approvals: ApprovalsRoom | None = None
        self._deliveries: Deliveries | None = None
        self._last_session: str | None = None
        self._first_look = asyncio.Event()
        self._first_board = asyncio.Event()
        self._first_plans = asyncio.Event()
        self._begun_to_wait: set[str] = set()
        self._themes = load_themes(f"{env.settings.data_dir}/themes")
        for theme in self._themes.themes:
            self.register_theme(theme)
        self._choose_theme()

    def _choose_theme(self) -> None:
        """Start under the theme asked for: chosen once mounted, it would have every rule parsed and applied twice."""
        wanted = self.desk.env.settings.theme
        self.theme = wanted if wanted in self.available_themes else DEFAULT_THEME
        self.stylesheet.set_variables(self.get_css_variables())

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Colours of our roles under a theme that has none (Textual's hook)."""
        return default_variables(self.current_theme)

    async def on_mount(self) -> None:
        """Tell of themes that could not be had, open Fleet, start the feed and the clock."""
        wanted = self.desk.env.settings.theme
        if wanted and wanted != self.theme:
            self.notify(
                f"There is no theme {visible(wanted)}; {DEFAULT_THEME} is used.", severity="warning", markup=False
            )
        for problem in self._themes.problems:
            told = visible(f"{problem.path}: {problem.reason}")
            self.notify(told, title="Theme skipped", severity="warning", markup=False)
        for name, room in (("queue", self.queue), ("attention", self.attention)):
            # Installed, they keep their cursors while others are in front.
            self.install_screen(room, name)  # pyright: ignore[reportUnknownMemberType] - Screen[Unknown]
        await self.push_screen(self.fleet)
        self.run_worker(self.feed.run(), name="feed", exclusive=True, exit_on_error=False)
        self.run_worker(self.queue_feed.run(), name="queue feed", group="queue", exclusive=True, exit_on_error=False)
        self.run_worker(self._watch_plans(), name="arc feed", group="arc", exclusive=True, exit_on_error=False)
        if has_to_deliver(self.desk.env.settings):
            self.run_worker(self._deliver(), name="deliveries", group="memory", exit_on_error=False)
        self.set_interval(1.0, self._second)

    async def _watch_plans(self) -> None:
        """Look at plans, not before the sessions have been read and drawn."""
        await self._first_look.wait()
        await self.arc_feed.run()

    async def _deliver(self) -> None:
        """Hand the memory what waits for it, not before what there is has been drawn."""
        await self.settled()
        self._deliveries = Deliveries(self.desk.env)
        self._deliveries.start()

    def on_unmount(self) -> None:
        """Hand nothing over any more."""
        if self._deliveries is not None:
            self._deliveries.stop()

    # What comes in

    @on(SnapshotLoaded)
    def _loaded(self, message: SnapshotLoaded) -> None:
        if message.arrangement is None:
            patch = self.desk.arrangement.load(message.known, self.desk.now_ms())
        else:
            patch = self.desk.replace(message.arrangement)
        self.fleet.loaded()
        self._changed(None, patch)

    @on(SnapshotPatched)
    def _patched(self, message: SnapshotPatched) -> None:
        patch = self.desk.arrangement.change(message.changes, self.desk.now_ms())
        self._changed(message, patch)

    def _changed(self, message: SnapshotPatched | None, patch: Patch) -> None:
        changes = None if message is None else message.changes
        screen = self._in_front()
        if isinstance(screen, Room):
            screen.records_changed(changes, patch)
        elif isinstance(screen, Dialog):
            screen.records_changed(None if changes is None else changes.keys())
        self._tell_doctor()
        self._first_look.set()

    @on(SnapshotFailed)
    def _failed(self, message: SnapshotFailed) -> None:
        if self._in_front() is not None:
            self.fleet.reading_failed(message.code, message.reason)
        self._first_look.set()

    @on(BoardLoaded)
    def _board_loaded(self, message: BoardLoaded) -> None:
        self.desk.queue_read, self.desk.queue_failure = True, None
        if message.backlog is None:
            touched = self.desk.backlog.take(message.board, self.desk.moment())
        else:
            message.backlog.filter(self.desk.backlog.wanted)
            self.desk.backlog, touched = message.backlog, {issue.id for issue in message.board.issues}
        self._queue_changed(touched)

    @on(QueueGone)
    def _queue_gone(self) -> None:
        self.desk.queue_read, self.desk.queue_failure = True, None
        touched = set(self.desk.backlog.issues)
        self.desk.backlog.forget()
        self._queue_changed(touched)

    @on(BoardFailed)
    def _board_failed(self, message: BoardFailed) -> None:
        self.desk.queue_read, self.desk.queue_failure = True, visible(f"{message.code}: {message.reason}")
        screen = self._in_front()
        self._first_board.set()
        if isinstance(screen, Room):
            screen.queue_failed()

    def _queue_changed(self, touched: set[str]) -> None:
        screen = self._in_front()
        self._first_board.set()
        self._join_sessions()
        if isinstance(screen, Room):
            screen.board_changed(touched)
        elif isinstance(screen, Dialog):
            screen.records_changed(touched)

    @on(PlansLoaded)
    def _plans_loaded(self, message: PlansLoaded) -> None:
        self.desk.plans_read, self.desk.plans_failure = True, None
        begun = self.desk.plans.take(message.board)
        screen = self._in_front()
        self._first_plans.set()
        if isinstance(screen, (Room, Dialog)):
            screen.plans_changed()
        if begun:
            if not self._begun_to_wait:
                self.set_timer(_TOGETHER_S, self._tell_what_waits)
            self._begun_to_wait |= begun

    @on(PlansFailed)
    def _plans_failed(self, message: PlansFailed) -> None:
        self.desk.plans_failure = visible(f"{message.code}: {message.reason}")
        screen = self._in_front()
        self._first_plans.set()
        if isinstance(screen, Room):
            screen.plans_failed()

    def _tell_what_waits(self) -> None:
        """Ring once for the plans that have begun to wait, as far as they still do."""
        waiting = [one for one in sorted(self._begun_to_wait) if self.desk.plans.is_waiting(one)]
        self._begun_to_wait.clear()
        if not waiting:
            return
        told = f"{len(waiting)} plans wait for approval"
        if len(waiting) == 1:
            told = f"A plan waits for approval: {self.desk.plans.subject_of(waiting[0])}"
        here = self._in_front() is self._approvals
        self.bell()
        self.notify(told if here else f"{told}. 5 shows {'it' if len(waiting) == 1 else 'them'}.", markup=False)

    def _join_sessions(self) -> None:
        """Sessions that work under a lease take their staleness from it."""
        patch = self.desk.arrangement.lease(self.desk.backlog.session_states(), self.desk.now_ms())
        screen = self._in_front()
        if patch and isinstance(screen, Room):
            screen.records_changed({}, patch)

    @on(Worker.StateChanged)
    def _worker_ended(self, message: Worker.StateChanged) -> None:
        """A feed that has ended must not pass for a quiet fleet."""
        worker = cast("Worker[Any]", message.worker)  # pyright: ignore[reportUnknownMemberType] - Worker[Unknown]
        if worker.name == "feed" and message.state is WorkerState.ERROR:
            told = unforeseen(cast("Exception", worker.error))
            self._failed(SnapshotFailed(told.code, f"The live view has stopped; start again. {told.hint}"))
        if worker.name == "queue feed" and message.state is WorkerState.ERROR:
            told = unforeseen(cast("Exception", worker.error))
            self._board_failed(BoardFailed(told.code, f"The live view has stopped; start again. {told.hint}"))
        if worker.name == "arc feed" and message.state is WorkerState.ERROR:
            told = unforeseen(cast("Exception", worker.error))
            self._plans_failed(PlansFailed(told.code, f"The live view has stopped; start again. {told.hint}"))

    def _second(self) -> None:
        screen = self._in_front()
        if isinstance(screen, Room):
            if not isinstance(screen, QueueRoom):
                self.desk.backlog.tick(self.desk.moment(), ())
            self._join_sessions()
            screen.time_passed()
            self._tell_doctor()

    def _in_front(self) -> Screen[Any] | None:
        """The screen that is seen; None while the console is being taken down, when there is nothing to draw on."""
        return self.screen if self.is_running else None

    def _tell_doctor(self) -> None:
        screen = self._in_front()
        if isinstance(screen, Room):
            screen.tell_doctor(self._doctor_cells())

    def _doctor_cells(self) -> tuple[Cell, ...]:
        """How the live view is doing: the watcher, its lag, records that do not parse, clocks that disagree."""
        watch, counts = self.feed.watch, self.desk.arrangement.summary()
        cells = [cell(f" watch {watch.mode}", "ok" if not watch.reason else "warning")]
        if watch.last_lag_ms is not None:
            cells.append(cell(f" {watch.last_lag_ms:.0f} ms", "muted"))
        bad, skewed = counts.get("unreadable", 0), counts.get("clock", 0)
        cells.append(cell(f" · parse errors {bad}", "error" if bad else "muted"))
        cells.append(cell(f" · clock {f'disagrees in {skewed}' if skewed else 'ok'}", "warning" if skewed else "muted"))
        if watch.reason:
            cells.append(cell(f" · {visible(watch.reason)}", "warning"))
        return tuple(cells)

    async def settled(self) -> None:
        """Wait until records, queue and plans have been read for the first time and drawn."""
        await self._first_look.wait()
        await self._first_board.wait()
        await self._first_plans.wait()

    def stop_waiting(self) -> None:
        """Nobody waits any longer for what will not come."""
        self._first_look.set()
        self._first_board.set()
        self._first_plans.set()

    # Rooms

    def action_home(self) -> None:
        """Go to Fleet."""
        while isinstance(self.screen, Room) and not isinstance(self.screen, FleetRoom):
            self.pop_screen()

    def action_queue(self) -> None:
        """Go to the queue."""
        self._go_to(self.queue)

    def action_attention(self) -> None:
        """Go to what needs attention."""
        self._go_to(self.attention)

    @property
    def approvals(self) -> "ApprovalsRoom":
        """The room of plans, made when somebody goes there."""
        if self._approvals is None:
            from phelix_tui.screens.approvals import ApprovalsRoom  # noqa: PLC0415 - as the dialogs

            self._approvals = ApprovalsRoom(self.desk)
            self.install_screen(self._approvals, "approvals")  # pyright: ignore[reportUnknownMemberType] - as above
        return self._approvals

    def action_approvals(self) -> None:
        """Go to the plans, what waits for a person first."""
        self._go_to(self.approvals)

    def _go_to(self, room: Room) -> None:
        if not isinstance(self.screen, Room) or self.screen is room:
            return
        if room in self.screen_stack:
            while self.screen is not room:
                self.pop_screen()
        else:
            self.action_home()
            self.push_screen(room)
        self.call_after_refresh(self._tell_doctor)

    def action_last_session(self) -> None:
        """Go to the session that was opened last."""
        if self._last_session is None:
            self.notify("No session was opened yet; enter opens one on Fleet.", severity="warning", markup=False)
        elif not (isinstance(self.screen, SessionRoom) and self.screen.session_id == self._last_session):
            self._open(SessionRoom(self.desk, self._last_session))

    @on(IssueWanted)
    def _issue_wanted(self, message: IssueWanted) -> None:
        below = self.screen_stack[-2] if len(self.screen_stack) > 1 else None
        if isinstance(below, IssueRoom) and below.issue_id == message.issue_id and isinstance(self.screen, Room):
            self.pop_screen()  # issue and session open each other: going there and back makes no tower
        else:
            self._open(IssueRoom(self.desk, message.issue_id))

    @on(SessionWanted)
    def _session_wanted(self, message: SessionWanted) -> None:
        self.action_open_session(message.session_id)

    @on(PlanWanted)
    def _plan_wanted(self, message: PlanWanted) -> None:
        from phelix_tui.screens.plan import PlanRoom  # noqa: PLC0415 - as the dialogs

        self._open(PlanRoom(self.desk, message.kind, message.subject))

    @on(ReferencesWanted)
    def _references_wanted(self, message: ReferencesWanted) -> None:
        choosing = self._choose_reference(message.session_id)
        self.run_worker(choosing, group="references", exclusive=True, exit_on_error=False)

    async def _choose_reference(self, session_id: str) -> None:
        """Let the operator choose what a session refers to; what is not there is told, and opens nothing."""
        shown = await self.desk.show(session_id)
        room = self._in_front()
        if not isinstance(room, Room):
            return
        if isinstance(shown, Envelope):
            self.notify(failure_words(shown.failure()), severity="error", markup=False)
        else:
            self._acting().show_references(shown, room.open_reference)

    def action_open_session(self, session_id: str) -> None:
        """Open a session's room."""
        below = self.screen_stack[-2] if len(self.screen_stack) > 1 else None
        if isinstance(below, SessionRoom) and below.session_id == session_id and isinstance(self.screen, Room):
            self.pop_screen()
        elif not isinstance(self.screen, SessionRoom):
            self._last_session = session_id
            self._open(SessionRoom(self.desk, session_id))

    def _open(self, room: Room) -> None:
        """Put a room above the one in front, once however often it was asked for."""
        if isinstance(self.screen, Room) and type(self.screen) is not type(room):
            self.push_screen(room)
            self.call_after_refresh(self._tell_doctor)

    def action_help(self) -> None:
        """Show the keys that work here."""
        screen = self.screen
        if not isinstance(screen, Room):
            return
        focused = self.focused
        sections: list[tuple[str, Sequence[Binding]]] = [("Here", _bindings(type(screen)))]
        if focused is not None:
            sections.append(("Moving about", _bindings(type(focused))))
        sections.append(("Everywhere", _bindings(type(self))))
        self._acting().show_help(sections, screen.target(), about=screen.ABOUT)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """What the palette offers besides themes."""
        yield SystemCommand("Theme", "Change how the console looks", self.action_change_theme)
        yield SystemCommand("Help", "Show the keys that work here", self.action_help)
        if isinstance(screen, Room):
            yield SystemCommand("Act", "Open the actions on what is selected", self.action_act)
        if screen is self.fleet:
            yield SystemCommand("Saved views", "Show a saved view, or save the filter", self.action_views)
        yield SystemCommand("Fleet", "Go to the list of sessions", self.action_home)
        yield SystemCommand("Queue", "Go to the issues of the queue", self.action_queue)
        yield SystemCommand("Attention", "Go to what needs a person", self.action_attention)
        yield SystemCommand("Approvals", "Go to the plans that wait for a person", self.action_approvals)
        yield SystemCommand("Quit", "Leave the console", self.action_quit)

    # Acting

    def action_act(self) -> None:
        """Open the action menu on what is selected."""
        screen = self.screen
        if isinstance(screen, Room):
            self._acting().show_menu(screen.target(), about=screen.ABOUT)

    def action_views(self) -> None:
        """Open the menu of saved views."""
        if self.screen is self.fleet:
            self._acting().show_views(self.fleet)

    def _acting(self) -> "Acting":
        from phelix_tui.acting import Acting  # noqa: PLC0415 - the dialogs are a tenth of the start

        return Acting(self, self.desk, self.feed, self.queue_feed, self.arc_feed)

    def action_copy_id(self) -> None:
        """Copy the id of what is selected; where a room is empty, the command that fills it."""
        screen = self.screen
        selected = screen.what_to_copy() if isinstance(screen, Room) else None
        if selected:
            self.copy_to_clipboard(selected)
            self.notify(f"{visible(selected)} went to the terminal's clipboard (OSC 52).", markup=False)


def _bindings(kind: type) -> list[Binding]:
    """Bindings that a class and its own bases declare, nearest first, without Textual's own."""
    found: list[Binding] = []
    for part in kind.__mro__:
        if part.__module__.startswith("phelix_tui"):
            declared = part.__dict__.get("BINDINGS", ())
            found += [made for binding in declared for made in Binding.make_bindings([binding])]
    return found


def open_console(settings: Settings, *, clock: Clock | None = None) -> Environment:
    """The console's environment: read-only where asked for, and where nothing could be written."""
    read_only = settings.read_only or not is_writable(settings.data_dir)
    return open_environment(replace(settings, read_only=read_only), Surface.TUI, clock=clock, progress=Reading())


def main(request: OpenConsole, settings: Settings) -> int:
    """Run the console on this terminal; answers the exit status."""
    from phelix_tui.starting import draw, live  # noqa: PLC0415 - what starts differs with what was asked

    if request.screenshot is not None:
        return draw(request, settings)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InvalidArgument(
            "The console needs a terminal.",
            hint="Use `phelix session list`, or --screenshot FILE to draw a picture.",
        )
    return live(request, settings)
