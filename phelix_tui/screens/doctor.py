"""Doctor: how the live view, the files and the terminal are doing, and what the examination of the records found.

Facts are drawn anew every second; the examination reads every record, so it is made on opening and when it is asked
for, in a thread. Looking changes nothing; a repair is an action like any other. Source: console page, section 2.
"""

import asyncio
from typing import TYPE_CHECKING, ClassVar, Final, cast

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from phelix_core.checks import Surface
from phelix_core.commands.doctor import FAIL, OK, WARN, Examination, Finding
from phelix_core.commands.preview import WritePlan
from phelix_core.commands.registry import equivalent, load_command, validate
from phelix_core.envelope import Envelope
from phelix_core.text import SafeStr
from phelix_core.views.moments import time_of_day
from phelix_core.views.shown import shown
from phelix_tui.actions import Target
from phelix_tui.copies import Copyable
from phelix_tui.desk import Desk
from phelix_tui.doctor_actions import DirectoryTarget
from phelix_tui.feed import Feed
from phelix_tui.screens.drawing import failure_words, heading, labelled, refused_lines
from phelix_tui.screens.room import Room
from phelix_tui.vitals import Fact, Screen, file_facts, live_facts, terminal_facts, which_in
from phelix_tui.widgets.pages import Bar, TextPage, cell
from phelix_tui.widgets.rowlist import Cell
from phelix_tui.wrapping import TextLine, line

if TYPE_CHECKING:  # the app reads this module when somebody goes there
    from phelix_tui.app import ConsoleApp

_LOOKS: Final = {OK: ("✓", "ok"), WARN: ("▲", "warning"), FAIL: ("✗", "error")}
_FIX: Final = "doctor --fix"
"""What a hint says where a repair would help."""
_COLOURS: Final = {"truecolor": "16 million", "256": "256", "standard": "16", "windows": "16"}


class DoctorRoom(Room):
    """One page: facts above, findings below."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "examine", "Examine again", id="doctor.examine"),
        Binding("q,escape", "app.home", "Back to Fleet", show=False, id="doctor.back"),
    ]
    ABOUT = "directory"

    def __init__(self, desk: Desk, feed: Feed) -> None:
        super().__init__(desk)
        self._feed = feed
        self._files: list[Fact] = []
        self._terminal: list[Fact] = []
        self._measuring = self._left = False
        self._deeds: int = 0
        self._seen: Examination | None = None
        self._seen_at: SafeStr | None = None
        self._refused: SafeStr | None = None
        self._repairs: int | None = None
        self._looking = False

    def content(self) -> ComposeResult:
        """One page."""
        yield TextPage(id="story")

    def on_mount(self) -> None:
        """The page has the focus."""
        self.query_one("#story", TextPage).focus()

    def on_screen_resume(self) -> None:
        """Examine on opening and after a repair; a dialog that was left alone is no reason to."""
        deeds = self.desk.activity.made
        if self._left or self._seen is None or deeds != self._deeds:
            self._left, self._deeds = False, deeds
            self.action_examine()
        self._measure()

    def on_screen_suspend(self) -> None:
        """Know a dialog above this room from another room."""
        self._left = self not in self.app.screen_stack  # pyright: ignore[reportUnknownMemberType] - App[Unknown]

    def target(self) -> Target | None:
        """The data directory, once it was examined."""
        return None if self._repairs is None else DirectoryTarget(self.desk.place, self._repairs)

    def copies(self) -> list[Copyable]:
        """The command that examines it from a shell."""
        command = load_command("doctor")
        text = equivalent(command, validate(command, {}, Surface.CLI), self.desk.env.settings.data_dir)
        return [Copyable(key="c", name="The command", text=text)]

    def hints(self) -> tuple[Cell, ...]:
        """The keys to know here."""
        return (cell(" r examines again · a act · y command · ? help ", "muted"),)

    def time_passed(self) -> None:
        """Keep ages true."""
        self._measure()
        self.draw()

    def on_resize(self) -> None:
        """The size is one of the facts."""
        self._measure()

    @work(group="measures", exit_on_error=False)
    async def _measure(self) -> None:
        """Ask the file system, and which programs there are, in a thread: a dead disk must not stop the screen."""
        if self._measuring:
            return
        self._measuring = True
        try:
            self._files = await asyncio.to_thread(file_facts, self.desk)
            environ, screen = self._environ(), self._screen()
            self._terminal = await asyncio.to_thread(terminal_facts, environ, screen, which_in(environ))
        finally:
            self._measuring = False
        self.draw()

    def action_examine(self) -> None:
        """Look at every record, once at a time."""
        if not self._looking:
            self._looking = True
            self._examine()
        self.draw()

    @work(group="doctor", exit_on_error=False)
    async def _examine(self) -> None:
        """Examine, and ask what a repair would do; the screen goes on meanwhile."""
        try:
            seen = await self.desk.call("doctor", {})
            plan = await self.desk.call("doctor", {"fix": True}, dry_run=True)
            self._take(seen, plan)
        finally:
            self._looking = False
        if self.is_mounted:
            self.draw()

    def _take(self, seen: Envelope, plan: Envelope) -> None:
        self._repairs = len(plan.result.changes) if isinstance(plan.result, WritePlan) else 0
        if isinstance(seen.result, Examination):
            self._seen, self._refused = seen.result, None
            self._seen_at = time_of_day(self.desk.now_ms())
        else:
            self._refused = failure_words(seen.failure())

    # How it looks

    def draw(self) -> None:
        """Facts and findings as of now."""
        if not self.is_mounted:
            return
        self.query_one("#title", Bar).show(self.title_cells("Doctor"), self._verdict(), keeps="right")
        self.query_one("#story", TextPage).show(self._lines())

    def _verdict(self) -> list[Cell]:
        if self._looking or self._seen is None:
            return [cell("examining… " if self._looking else "not examined ", "muted")]
        failing = sum(finding.state == FAIL for finding in self._seen.findings)
        warned = sum(finding.state == WARN for finding in self._seen.findings)
        if failing:
            return [cell(f"✗ {failing} failing ", "error"), *([cell(f"▲ {warned} ", "warning")] if warned else [])]
        return [cell(f"▲ {warned} to look at ", "warning") if warned else cell("✓ sound ", "ok")]

    def _lines(self) -> list[TextLine]:
        """Trouble first: what fails or warns is told before what is well."""
        engine = [Fact("engine", shown(one.detail), _LOOKS[one.state][1]) for one in self._findings("engine")]
        return [
            heading("Live view"),
            *map(_fact_line, live_facts(self.desk, self._feed)),
            line(),
            heading("Files"),
            *map(_fact_line, (*self._files, *engine)),
            line(),
            heading("Terminal"),
            *map(_fact_line, self._terminal),
            line(),
            *self._examined(),
        ]

    def _findings(self, check: str) -> list[Finding]:
        return [] if self._seen is None else [one for one in self._seen.findings if one.check == check]

    def _environ(self) -> dict[str, str]:
        return {**cast("ConsoleApp", self.app).environ}  # pyright: ignore[reportUnknownMemberType] - App[Unknown]

    def _screen(self) -> Screen:
        app = cast("ConsoleApp", self.app)  # pyright: ignore[reportUnknownMemberType] - App[Unknown]
        sent = _COLOURS.get(app.console.color_system or "", "none")
        colours = "none: NO_COLOR is set" if app.ansi_color else f"{sent}, theme {app.theme}"
        return Screen(width=app.size.width, height=app.size.height, colours=shown(colours))

    def _examined(self) -> list[TextLine]:
        """What was found, the worst first, and what to do about each."""
        when = "" if self._seen_at is None else f" at {self._seen_at}"
        going = "; looking again…" if self._looking and self._seen is not None else ""
        lines = [heading(f"Examination{when}{going}"), *refused_lines(self._refused)]
        if self._seen is None:
            return lines if self._refused else [*lines, line(cell("Reading every record…", "muted"))]
        worst = sorted(self._seen.findings, key=lambda one: (FAIL, WARN, OK).index(one.state))
        here, place = self.desk.env.settings.data_dir, self.desk.place
        return [*lines, *(drawn for finding in worst for drawn in finding_lines(finding, here, place))]


def _fact_line(fact: Fact) -> TextLine:
    return labelled(fact.name, fact.text, fact.role)


def finding_lines(finding: Finding, here: str, place: str) -> list[TextLine]:
    """One finding by glyph, word and role, with its hint, and how to have it repaired here.

    The data directory `here` is written as people write it, as `place`.
    """
    detail = shown(finding.detail.replace(here, place))
    glyph, role = _LOOKS[finding.state]
    lines = [
        line(
            cell(f"{glyph} {finding.state:<5}", role),
            cell(f"{finding.check:<15} ", "muted"),
            Cell(detail, "" if finding.state == OK else role),
            hang=9,
        )
    ]
    if finding.hint:
        lines.append(line(cell("         "), Cell(shown(finding.hint), "muted"), hang=9))
        if _FIX in finding.hint:
            lines.append(
                line(cell("         "), cell("a, then f, does it here, behind a confirmation.", "accent"), hang=9)
            )
    return lines
