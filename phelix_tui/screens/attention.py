"""Attention: one row for each cause that needs a person, of sessions, queue and plans; enter opens what it is about.

Source: console page, section 2.
"""

from collections.abc import Collection, Mapping
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from phelix_core.text import SafeStr
from phelix_core.views.queue.attention import (
    ISSUE,
    PLAN,
    PLANS,
    SESSION,
    Cause,
    plans_cause,
    queue_cause,
    session_cause,
)
from phelix_core.views.rows import Found
from phelix_tui.actions import Target
from phelix_tui.arrangement import Patch
from phelix_tui.backlog import MOST_CAUSES
from phelix_tui.desk import Desk
from phelix_tui.screens.room import Room
from phelix_tui.widgets.pages import Bar, cell
from phelix_tui.widgets.rowlist import ROOMY, Cell, Column, Row, RowList

_COLUMNS = (
    Column("cause", SafeStr("CAUSE"), 18),
    Column("title", SafeStr("WHAT"), 16, flex=True),
    Column("reason", SafeStr("WHY"), 29, flex=True),
    Column("since", SafeStr("SINCE"), 5, align="right"),
    Column("about", SafeStr("ID"), 9, drop_order=1),
)


class AttentionRoom(Room):
    """The list of causes, the most pressing first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,escape", "app.home", "Back to Fleet", show=False, id="attention.back"),
    ]

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._causes: dict[str, Cause] = {}

    def content(self) -> ComposeResult:
        """The list."""
        yield RowList(_COLUMNS, id="causes", placeholder=SafeStr("Nothing needs attention."))

    def on_mount(self) -> None:
        """The list has the focus."""
        self.query_one("#causes", RowList).focus()
        self._look()

    def on_screen_resume(self) -> None:
        """Catch up with what happened while another screen was in front."""
        self.time_passed()

    def _cause(self) -> Cause | None:
        return self._causes.get(self.query_one("#causes", RowList).cursor_id or "")

    def selected_id(self) -> str | None:
        """What the cause under the cursor is about."""
        cause = self._cause()
        return None if cause is None else cause.about

    def target(self) -> Target | None:
        """The issue, session or plan that the cause is about."""
        cause = self._cause()
        if cause is None or cause.opens not in (ISSUE, SESSION, PLAN):
            return None
        if cause.opens == PLAN:
            return self.desk.plan_target(cause.about)
        return self.desk.issue_target(cause.about) if cause.opens == ISSUE else self.desk.target(cause.about)

    def hints(self) -> tuple[Cell, ...]:
        """The keys to know here."""
        return (cell(" enter opens · a act · ? help ", "muted"),)

    def records_changed(self, changes: Mapping[str, Found | None] | None, patch: Patch) -> None:  # noqa: ARG002 - the room's signature
        """Look again."""
        self._look()

    def board_changed(self, touched: Collection[str]) -> None:
        """Look again."""
        del touched
        self._look()

    def queue_failed(self) -> None:
        """What cannot be read is a cause by itself; those that were known stay."""
        self._look()

    def plans_changed(self) -> None:
        """Look again."""
        self._look()

    def plans_failed(self) -> None:
        """What cannot be read is a cause by itself; those that were known stay."""
        self._look()

    def time_passed(self) -> None:
        """Things turn stale with nothing written."""
        self.desk.arrangement.tick(self.desk.now_ms(), ())
        self.desk.backlog.tick(self.desk.moment(), ())
        self._look()

    def _look(self) -> None:
        causes = [*self.desk.backlog.causes(self.desk.moment()), *self._session_causes()]
        if self.desk.plans_read:
            causes += self.desk.plans.causes(self.desk.now_ms())
        if self.desk.plans_failure is not None:
            causes.append(plans_cause(self.desk.plans_failure))
        if self.desk.queue_failure is not None:
            causes.append(queue_cause(self.desk.queue_failure))
        causes.sort(key=lambda cause: (cause.looks.rank, cause.since_ms, cause.about))
        self._causes = {cause.id: cause for cause in causes[:MOST_CAUSES]}
        listed = self.query_one("#causes", RowList)
        listed.set_rows([_line(cause) for cause in self._causes.values()])
        more = f" of {len(causes):,}" if len(causes) > MOST_CAUSES else ""
        number = f"{len(self._causes):,}{more} cause{'' if len(causes) == 1 else 's'} "
        waiting = self.plan_count_cells() if self.size.width >= ROOMY else []  # there is a row for each anyway
        counted = [*self.issue_count_cells(), *waiting, cell(number)]
        self.query_one("#title", Bar).show(self.title_cells("Attention"), counted, keeps="right")

    def _session_causes(self) -> list[Cause]:
        """Sessions that need a person; one that is joined to a lease has its cause there."""
        arrangement, now_ms = self.desk.arrangement, self.desk.now_ms()
        found: list[Cause] = []
        for session_id, state in arrangement.pressing():
            seen = arrangement.found(session_id)
            if seen is None or session_id in self.desk.backlog.of_session:
                continue
            if (cause := session_cause(session_id, seen, state, now_ms)) is not None:
                found.append(cause)
        return found

    @on(RowList.Opened)
    def _opened(self, message: RowList.Opened) -> None:
        cause = self._causes.get(message.id)
        if cause is None:
            return
        if cause.opens == ISSUE:
            self.open_issue(cause.about)
        elif cause.opens == SESSION:
            self.open_session(cause.about)
        elif cause.opens == PLAN:
            self.open_plan(cause.about)
        else:
            room = "approvals" if cause.opens == PLANS else "queue"
            self.app.call_later(self.app.run_action, room)  # pyright: ignore[reportUnknownMemberType] - App[Unknown]


def _line(cause: Cause) -> Row:
    looks = cause.looks
    return Row(
        cause.id,
        (
            Cell(SafeStr(f"{looks.glyph} {looks.word}"), looks.role),
            Cell(cause.title),
            Cell(cause.reason, looks.role),
            Cell(cause.since, "muted"),
            Cell(cause.tail, "muted"),
        ),
    )
