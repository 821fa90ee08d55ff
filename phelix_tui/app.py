"""The console's composition: rooms, dialogs, themes, feed and clock, and nothing of the domain.

Handlers here are the only writers of what is shown. Workers post messages.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from textual import on
from textual.app import SystemCommand
from textual.binding import Binding, BindingType
from textual.driver import Driver
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
from phelix_core.views.shown import shown
from phelix_tui.arc_feed import ArcFeed
from phelix_tui.arrangement import Patch
from phelix_tui.bell import EVERY_S, WORDS, Ring, sounded
from phelix_tui.deliveries import Deliveries, has_to_deliver
from phelix_tui.desk import Desk, Reading, is_writable
from phelix_tui.driver import CountingDriver
from phelix_tui.feed import Feed
from phelix_tui.fitting import FittingApp
from phelix_tui.line import QUESTION, Line
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
from phelix_tui.screens.dialog import Dialog
from phelix_tui.screens.drawing import failure_words
from phelix_tui.screens.fleet import FleetRoom
from phelix_tui.screens.room import Room
from phelix_tui.theming import DEFAULT_THEME, Problem, default_variables, load_themes, stamp_of
from phelix_tui.widgets.pages import cell
from phelix_tui.widgets.rowlist import Cell

if TYPE_CHECKING:
    from textual.binding import Keymap
    from textual.dom import DOMNode

    from phelix_tui.acting import Acting
    from phelix_tui.copies import Copyable
    from phelix_tui.hints import Hint, Hints
    from phelix_tui.keymap import LoadedKeys
    from phelix_tui.offering import Offering
    from phelix_tui.palette import Offer
    from phelix_tui.ringing import Ringer
    from phelix_tui.screens.activity import ActivityRoom
    from phelix_tui.screens.approvals import ApprovalsRoom
    from phelix_tui.screens.attention import AttentionRoom
    from phelix_tui.screens.doctor import DoctorRoom
    from phelix_tui.screens.palette import Palette
    from phelix_tui.screens.queue import QueueRoom

Kept = TypeVar("Kept", bound=Room)


class ConsoleApp(FittingApp[int]):
    """The operator's console over one data directory."""

    TITLE = "phelix"
    CSS_PATH = "console.tcss"
    ENABLE_COMMAND_PALETTE = False  # the one that Textual brings; ours finds records, too
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark", "help", "Help", id="app.help"),
        Binding("colon,ctrl+p", "command_palette", "Commands", id="app.palette"),
        Binding("1", "home", "Fleet", id="app.fleet"),
        Binding("2", "last_session", "The session last opened", show=False, id="app.session"),
        Binding("3", "queue", "Queue", id="app.queue"),
        Binding("4", "attention", "Attention", id="app.attention"),
        Binding("5", "approvals", "Approvals", id="app.approvals"),
        Binding("6", "activity", "Activity", id="app.activity"),
        Binding("7", "doctor", "Doctor", id="app.doctor"),
        Binding("T", "change_theme", "Theme", show=False, id="app.theme"),
        Binding("ctrl+l", "paint_anew", "Paint the screen anew", show=False, id="app.paint"),
        Binding("x", "put_hint_away", "Put the hint below away", show=False, id="app.hint"),
    ]

    def __init__(self, env: Environment, *, ansi_color: bool | None = None, feed: Feed | None = None) -> None:
        super().__init__(ansi_color=ansi_color)
        self.animation_level = "none"  # over a slow line every step in between is a repaint
        self.desk = Desk(env)
        self.feed = feed or Feed(env, self.post_message)
        self.queue_feed = QueueFeed(env, self.post_message)
        self.arc_feed = ArcFeed(env, self.post_message)
        self.line = Line()
        for live in (self.feed, self.queue_feed, self.arc_feed):
            live.ready = self.line.ready
        self._given = 0
        self.fleet = FleetRoom(self.desk)
        self._rooms: dict[str, Room] = {}
        self._deliveries: Deliveries | None = None
        self._last_session: str | None = None
        self._first_look = asyncio.Event()
        self._first_board = asyncio.Event()
        self._first_plans = asyncio.Event()
        self.when_read: Callable[[], object] | None = None
        """Called once, when everything has been read for the first time, or could not be."""
        self.environ: Mapping[str, str] = os.environ
        """Where it is told which ways there are to a clipboard and to a terminal's notifications."""
        self.rings_every_s = EVERY_S
        self._ringer: Ringer | None = None
        self._something_changed = False
        self._sessions_known = False
        self._copying = asyncio.Lock()
        self.keys_in_force: Keymap = {}
        """Keys that a person chose, by the binding's id."""
        self._loaded_keys = self._load_keys()
        self.hints: Hints | None = None
        """First-run hints, where the console is started for a person who may write."""
        self._theme_folder = f"{env.settings.data_dir}/themes"
        self._theme_stamp = stamp_of(self._theme_folder)
        self._themes = load_themes(self._theme_folder)
        for theme in self._themes.themes:
            self.register_theme(theme)
        self._is_dressed = self._is_live = False
        self._choose_theme()

    def _load_keys(self) -> "LoadedKeys | None":
        """Take a person's own keys, where there is a file of them; nobody else pays for the look at all bindings."""
        from phelix_tui import keymap  # noqa: PLC0415 - see above

        data_dir = self.desk.env.settings.data_dir
        if not os.path.lexists(f"{data_dir}/{keymap.FILE}"):
            return None
        loaded = keymap.load_keys(data_dir)
        self.keys_in_force = dict(loaded.keymap)
        self.set_keymap(loaded.keymap)
        return loaded

    def _choose_theme(self) -> None:
        """Start under the theme asked for: chosen once mounted, it would have every rule parsed and applied twice."""
        wanted = self.desk.env.settings.theme
        self.theme = wanted if wanted in self.available_themes else DEFAULT_THEME
        self.stylesheet.set_variables(self.get_css_variables())

    def refresh_css(self, animate: bool = True) -> None:  # noqa: FBT001, FBT002 - Textual's own form
        """Dress everything anew; the first time nothing is parsed yet, and once is enough (Textual's hook)."""
        if self._is_dressed:
            super().refresh_css(animate=animate)
        else:
            self._is_dressed = True
            self.stylesheet.update(self, animate=animate)

    def _look_for_themes(self) -> None:
        """Load a person's themes again where a file of them has changed."""
        stamp = stamp_of(self._theme_folder)
        if stamp != self._theme_stamp:
            self._theme_stamp = stamp
            self.run_worker(self._load_themes(), group="themes", exclusive=True, exit_on_error=False)

    async def _load_themes(self) -> None:
        loaded = await asyncio.to_thread(load_themes, self._theme_folder)
        before, self._themes = self._themes, loaded
        shown_now = self.current_theme
        for theme in before.themes:
            self.unregister_theme(theme.name)
        for theme in loaded.themes:
            self.register_theme(theme)
        self._tell_bad_themes(before.problems)
        if self.theme not in self.available_themes:
            self.notify(f"The theme {visible(self.theme)} has gone; {DEFAULT_THEME} is used.", markup=False)
            self.theme = DEFAULT_THEME
        elif self.current_theme != shown_now:
            self.mutate_reactive(ConsoleApp.theme)  # pyright: ignore[reportUnknownMemberType,reportArgumentType] - Reactive[Unknown]

    def _tell_bad_themes(self, before: Sequence[Problem]) -> None:
        """Name each file that cannot be used, once for each reason."""
        for problem in self._themes.problems:
            if problem not in before:
                told = visible(f"{problem.path}: {problem.reason}")
                self.notify(told, title="Theme skipped", severity="warning", markup=False)

    def theme_names(self) -> list[str]:
        """Names of the themes that can be chosen: ours and a person's own, then those that Textual brings."""
        ours = [theme.name for theme in self._themes.themes]
        return list(dict.fromkeys([*ours, *sorted(self.available_themes)]))

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Colours of our roles under a theme that has none (Textual's hook)."""
        return default_variables(self.current_theme)

    def get_default_screen(self) -> Screen[Any]:
        """Fleet is home: no other screen is made, laid out and painted before it (Textual's hook)."""
        return self.fleet

    def on_mount(self) -> None:
        """Tell of what could not be had."""
        wanted = self.desk.env.settings.theme
        if wanted and wanted != self.theme:
            self.notify(
                f"There is no theme {visible(wanted)}; {DEFAULT_THEME} is used.", severity="warning", markup=False
            )
        self._tell_bad_themes(before=())
        for problem in self._loaded_keys.problems if self._loaded_keys is not None else ():
            self.notify(problem.told, title="Key not used", severity="warning", markup=False)
        for kind in [kind for kind in self.desk.env.settings.quiet if kind not in WORDS]:
            told = shown(f"config.toml: quiet: there is no kind {kind}; there are {', '.join(sorted(WORDS))}")
            self.notify(told, severity="warning", markup=False)

    def _go_live(self) -> None:
        """Start the feeds and the clock, once there is something on the screen to wait before."""
        self.run_worker(self.feed.run(), name="feed", exclusive=True, exit_on_error=False)
        self.run_worker(self._watch_queue(), name="queue feed", group="queue", exclusive=True, exit_on_error=False)
        self.run_worker(self._watch_plans(), name="arc feed", group="arc", exclusive=True, exit_on_error=False)
        self.run_worker(self._read_once(), name="first look", group="first", exit_on_error=False)
        if has_to_deliver(self.desk.env.settings):
            self.run_worker(self._deliver(), name="deliveries", group="memory", exit_on_error=False)
        self.set_interval(1.0, self._second)

    async def _watch_queue(self) -> None:
        """Look at the queue, the sessions first where there are few of them."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._first_look.wait(), _SESSIONS_FIRST_S)
        await self.queue_feed.run()

    async def _watch_plans(self) -> None:
        """Look at plans, not before the sessions have been read and drawn."""
        await self._first_look.wait()
        await self.arc_feed.run()

    async def _read_once(self) -> None:
        await self.settled()
        if self.when_read is not None:
            self.when_read()

    async def _deliver(self) -> None:
        """Hand the memory what waits for it, not before what there is has been drawn."""
        await self.settled()
        self._deliveries = Deliveries(self.desk.env)
        self._deliveries.start()

    def on_unmount(self) -> None:
        """Hand nothing over any more."""
        if self._deliveries is not None:
            self._deliveries.stop()

    # How fast the terminal takes it

    def get_driver_class(self) -> type[Driver]:
        """The one that counts, on a terminal (Textual's hook)."""
        found = super().get_driver_class()
        return CountingDriver if found is CountingDriver.__base__ else found

    def forget_painted(self) -> None:
        """Send the next frame whole: the terminal has another size, or somebody else has written to it."""
        if isinstance(self._driver, CountingDriver):
            self._driver.canvas.forget()

    def action_paint_anew(self) -> None:
        """Paint the whole screen again, after another program has written across it."""
        self.paint_anew()

    def post_display_hook(self) -> None:
        """After a frame: ask the terminal to say when it has arrived; the first one is the shell (Textual's hook)."""
        if not self._is_live:
            self._is_live = True
            self._go_live()
        driver = self._driver
        if isinstance(driver, CountingDriver) and driver.given != self._given:
            if self.line.asks():
                driver.write(QUESTION)
            self.line.unsent, self._given = driver.unsent, driver.given

    def on_terminal_supports_synchronized_output(self) -> None:
        """The terminal has answered; what Textual makes of it goes on beside this."""
        self.line.answered()

    # What comes in

    @on(SnapshotLoaded)
    def _loaded(self, message: SnapshotLoaded) -> None:
        if message.arrangement is None:
            patch = self.desk.arrangement.load(message.known, self.desk.now_ms())
        else:
            patch = self.desk.replace(message.arrangement)
        self._sessions_known = True
        self.fleet.loaded()
        self._changed(None, patch)

    @on(SnapshotPatched)
    def _patched(self, message: SnapshotPatched) -> None:
        patch = self.desk.arrangement.change(message.changes, self.desk.now_ms())
        self._changed(message, patch)

    def _changed(self, message: SnapshotPatched | None, patch: Patch) -> None:
        changes = None if message is None else message.changes
        self._something_changed = True
        screen = self._in_front()
        if isinstance(screen, Room):
            screen.records_changed(changes, patch)
        elif isinstance(screen, Dialog):
            screen.records_changed(None if changes is None else changes.keys())
        self._tell_doctor()
        self._first_look.set()
        self._look_first()

    @on(SnapshotFailed)
    def _failed(self, message: SnapshotFailed) -> None:
        self._sessions_known = False
        if self._in_front() is not None:
            self.fleet.reading_failed(message.code, message.reason)
        self._first_look.set()

    @on(BoardLoaded)
    def _board_loaded(self, message: BoardLoaded) -> None:
        self.desk.queue_read, self.desk.queue_failure = True, None
        if message.backlog is None:
            touched = self.desk.backlog.take(message.board, self.desk.moment())
        else:
            message.backlog.look_like(self.desk.backlog)
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
        self._something_changed = True
        screen = self._in_front()
        self._first_board.set()
        self._join_sessions()
        if isinstance(screen, Room):
            screen.board_changed(touched)
        elif isinstance(screen, Dialog):
            screen.records_changed(touched)
        self._look_first()

    @on(PlansLoaded)
    def _plans_loaded(self, message: PlansLoaded) -> None:
        self.desk.plans_read, self.desk.plans_failure = True, None
        self.desk.plans.take(message.board)
        self._something_changed = True
        screen = self._in_front()
        self._first_plans.set()
        if isinstance(screen, (Room, Dialog)):
            screen.plans_changed()
        self._look_first()

    @on(PlansFailed)
    def _plans_failed(self, message: PlansFailed) -> None:
        self.desk.plans_failure = visible(f"{message.code}: {message.reason}")
        screen = self._in_front()
        self._first_plans.set()
        if isinstance(screen, Room):
            screen.plans_failed()

    # First-run hints

    def hint_in_sight(self) -> "Hint | None":
        """The hint to show in the room in front, if any is left."""
        left = self.hints.left if self.hints is not None and isinstance(self.screen, Room) else ()
        return next((hint for hint in left if self.key_of(hint.binding)), None)

    def action_put_hint_away(self) -> None:
        """Show the hint below no more."""
        hint = self.hint_in_sight()
        if hint is not None and self.hints is not None:
            self.hints.done(hint)
            self._tell_doctor()

    async def run_action(
        self,
        action: str | tuple[str, str, tuple[Any, ...]],
        default_namespace: "DOMNode | None" = None,
        namespaces: "Mapping[str, DOMNode] | None" = None,
    ) -> bool:
        """Take an action; a hint about it has done its work (Textual's entrance for keys and clicks)."""
        if self.hints is not None:
            name = action[1] if isinstance(action, tuple) else action.partition("(")[0].rpartition(".")[2]
            if self.hints.used(name):
                self._tell_doctor()
        return await super().run_action(action, default_namespace, namespaces)

    # What is rung

    @property
    def ringer(self) -> "Ringer":
        """Who rings, made once there is something to look at."""
        if self._ringer is None:
            from phelix_tui.ringing import Ringer  # noqa: PLC0415 - after the first rows

            muted = self.desk.env.settings.quiet
            self._ringer = Ringer(self.desk, self._ring, every_s=self.rings_every_s, muted=muted)
        return self._ringer

    def _look_first(self) -> None:
        """Learn how things stand as soon as all has been read: what begins in the next second is news already."""
        if self._ringer is None:
            self._look_what_became()

    def _look_what_became(self) -> None:
        """Ring for what became so since the last look, once everything has been looked at."""
        if self._first_look.is_set() and self._first_board.is_set() and self._first_plans.is_set():
            changed, self._something_changed = self._something_changed, False
            at_s = self.desk.env.clock.monotonic()
            self.ringer.look(at_s, sessions=self._sessions_known, changed=changed)

    def _ring(self, ring: Ring) -> None:
        """Ring the terminal, and say on the screen what became so and where it is."""
        self.bell()
        if not self.is_headless and self._driver is not None:
            told = sounded(ring.text, self.environ).decode("utf-8", "replace").removeprefix("\x07")
            self._driver.write(told)
        here = self._in_front() in (self._rooms.get("attention"), self._rooms.get("approvals"))
        way = "" if here else f" {self.key_of('app.attention')} shows what needs a person."
        self.notify(f"{ring.text}.{way}", markup=False)

    def quieten(self, kind: str) -> None:
        """Mute a kind of news, or let it ring again, until the console ends."""
        bell, (_, many, became) = self.ringer.bell, WORDS[kind]
        if kind in bell.muted:
            bell.unmute(kind)
            self.notify(f"The bell rings when {many} {became.replace('became', 'become')}.", markup=False)
        else:
            bell.mute(kind)
            self.notify(f"The bell is quiet about {many} that {became}, until the console ends.", markup=False)

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
        if message.state is not WorkerState.ERROR:
            return
        fault = unforeseen(cast("Exception", worker.error))
        told = (fault.code, f"The live view has stopped; start again. {fault.hint}")
        if worker.name == "feed":
            self._failed(SnapshotFailed(*told))
        elif worker.name == "queue feed":
            self._board_failed(BoardFailed(*told))
        elif worker.name == "arc feed":
            self._plans_failed(PlansFailed(*told))

    def _second(self) -> None:
        if self.line.is_behind:  # the next second will do
            return
        screen = self._in_front()
        if screen is not self._rooms.get("queue"):
            self.desk.backlog.tick(self.desk.moment(), ())
        if isinstance(screen, Room):
            self._join_sessions()
            screen.time_passed()
            self._tell_doctor()
        if screen is not self.fleet:
            self.desk.arrangement.tick(self.desk.now_ms(), ())  # Fleet draws everything anew when it is in front again
        self._look_what_became()
        self._look_for_themes()

    def _in_front(self) -> Screen[Any] | None:
        """The screen that is seen; None while there is nothing to draw on: one just opened, a console being ended."""
        return self.screen if self.is_running and self.screen.is_mounted else None

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

    def _kept(self, name: str, make: Callable[[], Kept]) -> Kept:
        """A room that is made when somebody goes there, and keeps its cursor while others are in front."""
        if name not in self._rooms:
            self._rooms[name] = made = make()
            self.install_screen(made, name)  # pyright: ignore[reportUnknownMemberType] - Screen[Unknown]
        return cast("Kept", self._rooms[name])

    @property
    def queue(self) -> "QueueRoom":
        """The room of issues."""
        from phelix_tui.screens.queue import QueueRoom  # noqa: PLC0415 - what Fleet does without costs its start nothing

        return self._kept("queue", lambda: QueueRoom(self.desk))

    @property
    def attention(self) -> "AttentionRoom":
        """The room of what needs a person."""
        from phelix_tui.screens.attention import AttentionRoom  # noqa: PLC0415 - as above

        return self._kept("attention", lambda: AttentionRoom(self.desk))

    @property
    def approvals(self) -> "ApprovalsRoom":
        """The room of plans."""
        from phelix_tui.screens.approvals import ApprovalsRoom  # noqa: PLC0415 - as above

        return self._kept("approvals", lambda: ApprovalsRoom(self.desk))

    @property
    def activity(self) -> "ActivityRoom":
        """The room of what was done in this console."""
        from phelix_tui.screens.activity import ActivityRoom  # noqa: PLC0415 - as above

        return self._kept("activity", lambda: ActivityRoom(self.desk))

    @property
    def doctor(self) -> "DoctorRoom":
        """The room of how the console and its records are doing."""
        from phelix_tui.screens.doctor import DoctorRoom  # noqa: PLC0415 - as above

        return self._kept("doctor", lambda: DoctorRoom(self.desk, self.feed))

    def action_queue(self) -> None:
        """Go to the queue."""
        self._go_to(self.queue)

    def action_attention(self) -> None:
        """Go to what needs attention."""
        self._go_to(self.attention)

    def action_approvals(self) -> None:
        """Go to the plans, what waits for a person first."""
        self._go_to(self.approvals)

    def action_activity(self) -> None:
        """Go to what was done in this console."""
        self._go_to(self.activity)

    def action_doctor(self) -> None:
        """Go to how the console and its records are doing."""
        self._go_to(self.doctor)

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
        from phelix_tui.screens.session import SessionRoom  # noqa: PLC0415 - as above

        if self._last_session is None:
            self.notify("No session was opened yet; enter opens one on Fleet.", severity="warning", markup=False)
        elif not (isinstance(self.screen, SessionRoom) and self.screen.session_id == self._last_session):
            self._open(SessionRoom(self.desk, self._last_session))

    @on(IssueWanted)
    def _issue_wanted(self, message: IssueWanted) -> None:
        from phelix_tui.screens.issue import IssueRoom  # noqa: PLC0415 - as above

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
        from phelix_tui.screens.session import SessionRoom  # noqa: PLC0415 - as above

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
        sections: list[tuple[str, Sequence[Binding]]] = [("Here", bindings_of(type(screen)))]
        if focused is not None:
            sections.append(("Moving about", bindings_of(type(focused))))
        sections.append(("Everywhere", bindings_of(type(self))))
        if self.keys_in_force:
            from phelix_tui.keymap import under  # noqa: PLC0415 - only where there is a file of keys

            sections = [(title, under(bindings, self.keys_in_force)) for title, bindings in sections]
        self._acting().show_help(sections, screen.target(), about=screen.ABOUT)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """What the palette offers here, but for records and views (Textual's hook)."""
        if isinstance(screen, Room):
            for offer in self._offering(screen).doable():
                yield SystemCommand(offer.title, offer.reason or offer.about, offer.run)  # pyright: ignore[reportArgumentType] - what it answers is not asked

    def _offering(self, room: Room) -> "Offering":
        from phelix_tui.offering import Offering  # noqa: PLC0415 - as the dialogs

        return Offering(self, self._acting(), room)

    def action_command_palette(self) -> None:
        """Find a room, an action, a session, an issue, a plan, a view or a theme by a few words."""
        self._open_palette()

    def action_change_theme(self) -> None:
        """Choose among the themes (Textual's action)."""
        self._open_palette("theme ")

    def _open_palette(self, typed: str = "") -> None:
        from phelix_tui.screens.palette import Palette  # noqa: PLC0415 - as the dialogs

        room = self.screen
        if not isinstance(room, Room):
            return
        offering = self._offering(room)
        palette = Palette(self.desk, offering.doable(), offering.record, typed=typed)

        def chosen(offer: "Offer | None") -> None:
            if offer is not None:
                self.call_later(offer.run)  # pyright: ignore[reportArgumentType] - what it answers is not asked

        # What is typed here is text and changes nothing: it is taken from the first key on.
        self.push_screen(palette, chosen)
        self.run_worker(self._offer_views(palette, offering), group="palette", exclusive=True, exit_on_error=False)

    async def _offer_views(self, palette: "Palette", offering: "Offering") -> None:
        palette.add(await offering.views())

    def show_view(self, where: str) -> None:
        """Go to Fleet, and put a saved view's filter in force."""
        self.action_home()
        self.fleet.show_view(where)

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

    # Copying

    def action_copy_menu(self) -> None:
        """Copy what is selected: by a menu where there is more than one thing to copy of it."""
        screen = self.screen
        copies = screen.copies() if isinstance(screen, Room) else []
        if len(copies) > 1:
            self._acting().show_copies(visible(copies[0].text), copies)
        elif copies:
            self.copy_one(copies[0])
        else:
            self.notify("Nothing is selected.", severity="warning", markup=False)

    def copy_one(self, one: "Copyable") -> None:
        """Copy one thing, read first where it has to be."""
        if one.text:
            self.hand_over(one.text, one.name if len(one.text) > _SHORT else visible(one.text))
        else:
            self.run_worker(self._copy_answer(one), group="copy", exit_on_error=False)

    async def _copy_answer(self, one: "Copyable") -> None:
        envelope = await self.desk.call(one.command, one.raw)
        if envelope.error is None:
            self.hand_over(envelope.json(), one.name)
        else:
            self.notify(failure_words(envelope.failure()), severity="error", markup=False)

    def copy_to_clipboard(self, text: str) -> None:
        """Copy what a text field cuts out, the same way (Textual's hook)."""
        self.hand_over(text, "What was cut out")

    def hand_over(self, text: str, what: str) -> None:
        """Copy `text` by the first way that works here, and say which; `what` is safe to show."""
        self._clipboard = text
        self.run_worker(self._hand_over(text, what), group="copy", exit_on_error=False)

    async def _hand_over(self, text: str, what: str) -> None:
        from phelix_tui.clipboard import copy  # noqa: PLC0415 - only who copies

        settings, driver = self.desk.env.settings, self._driver
        folder = None if settings.read_only else f"{settings.data_dir}/cache"
        write = None if driver is None else driver.write
        async with self._copying:  # what was asked for last is what stays
            copied = await asyncio.to_thread(copy, text, environ=self.environ, write=write, folder=folder)
        self.notify(f"{what}: {copied.told}.", severity="information" if copied.kind else "error", markup=False)

    def moved_keys(self) -> dict[str, str]:
        """What is pressed here in place of each default key that a person has moved, as both are called."""
        if not self.keys_in_force:
            return {}
        from phelix_tui.keys import key_name  # noqa: PLC0415 - only who tells of keys

        kinds = [type(self), type(self.screen), *([type(self.focused)] if self.focused is not None else [])]
        bindings = [one for kind in kinds for one in bindings_of(kind) if one.id in self.keys_in_force]
        return {key_name(one.key): self.key_of(one.id or "") for one in reversed(bindings)}

    def key_of(self, binding_id: str) -> str:
        """The first key in force for a binding, as a person calls it."""
        from phelix_tui.keys import key_name  # noqa: PLC0415 - only who tells of keys

        if binding_id in self.keys_in_force:
            return key_name(self.keys_in_force[binding_id].split(",")[0])
        kinds = [type(self), *([type(self.screen)] if self.screen_stack else [])]
        found = [one.key for kind in kinds for one in bindings_of(kind) if one.id == binding_id]
        return key_name(found[0]) if found else ""


_SESSIONS_FIRST_S = 0.2
"""How long the queue waits for the sessions to be read, which are what the first screen shows."""

_SHORT = 60
"""Characters of what is copied that are named whole."""


def bindings_of(kind: type) -> list[Binding]:
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
    from phelix_tui.starting import draw, live, tell  # noqa: PLC0415 - what starts differs with what was asked

    if request.screenshot is not None:
        return draw(request, settings)
    if request.plain:
        return tell(request, settings)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InvalidArgument(
            "The console needs a terminal.",
            hint="Use --plain for an account line by line, or --screenshot FILE to draw a picture.",
        )
    return live(request, settings)
