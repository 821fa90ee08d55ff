"""Answers for people: rich tables on a terminal, plain and stable text elsewhere; errors on stderr.

One renderer a result type, found in one table. Text from records was made safe in the views, or passes
`shown` here; nothing is parsed as markup.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from phelix_core.cli.options import Call
from phelix_core.cli.page import Cell, Page
from phelix_core.clock import SystemClock
from phelix_core.commands.demo import DemoWritten
from phelix_core.commands.doctor import Examination
from phelix_core.commands.mcp_config import HostSnippet
from phelix_core.commands.preview import WritePlan
from phelix_core.commands.saved_views import RemovedView, ViewList
from phelix_core.commands.session import ShownSession
from phelix_core.commands.session_listing import SessionList
from phelix_core.commands.session_pruning import Pruned
from phelix_core.commands.skill import SkillInstalled, SkillText
from phelix_core.envelope import Envelope
from phelix_core.frozen import frozen_in_order
from phelix_core.saved_views.model import SavedView
from phelix_core.sessions.model import ACTIVE, Session
from phelix_core.settings import Settings
from phelix_core.strictjson import dumps, plain
from phelix_core.text import visible
from phelix_core.views import story
from phelix_core.views.confirmation import confirmation
from phelix_core.views.rows import session_row
from phelix_core.views.shown import shown, shown_block

_ARC_COMMANDS: Final = ("plan ", "authz ", "operation ", "inspect", "context")


@frozen_in_order
class Told:
    """What a drawing may need to know beside the result."""

    filtered: bool
    stale_after_ms: int


def print_result(result: object, call: Call, settings: Settings) -> None:
    """Print a command's result for people."""
    page = Page(sys.stdout, no_color=call.no_color)
    draw = _DRAWN.get(type(result))
    if draw is None and call.command.name.startswith("queue "):
        from phelix_core.cli.queue_pages import print_answer  # noqa: PLC0415 - queue commands only

        print_answer(page, call, result)
    elif draw is None and call.command.name.startswith(_ARC_COMMANDS):
        from phelix_core.cli.arc_pages import print_arc  # noqa: PLC0415 - these commands only

        print_arc(page, result)
    elif draw is None:
        page.line(shown_block(dumps(plain(result))))
    else:
        draw(page, result, Told(filtered=bool(call.raw), stale_after_ms=settings.stale_after_ms))


def print_error(envelope: Envelope, *, no_color: bool) -> None:
    """Tell on stderr what happened, what it means, and what to do."""
    told = envelope.failure()
    page = Page(sys.stderr, no_color=no_color)
    page.line((f"{told['code']}: ", "bold red"), visible(str(told["message"])))
    if "hint" in told:
        page.line("  ", visible(str(told["hint"])))


def _list(page: Page, result: SessionList, told: Told) -> None:
    now_ms = SystemClock().now_ms()
    rows: list[list[Cell]] = []
    for summary in result.sessions:
        row = session_row(summary, now_ms, told.stale_after_ms)
        looks = row.looks
        state = (f"{looks.glyph} {looks.word}", looks.role)
        texts = (row.title, row.app, row.step, row.age, row.seen, row.references)
        rows.append([state, (row.session_id, ""), *((text, "") for text in texts)])
    if rows:
        page.table(("STATUS", "SESSION", "TITLE", "APP", "STEP", "AGE", "SEEN", "REFS"), rows, flexible=2)
    else:
        page.line(
            "No sessions match." if told.filtered else "No sessions yet. `phelix session create --title …` opens one."
        )
    if result.truncated:
        page.line(f"Only the newest {result.count} are shown; --limit 0 shows all.")
    for bad in result.unreadable:
        page.line(("⚠ unreadable  ", "unread"), f"{bad.file}  {bad.code}")


def _session_page(page: Page, result: ShownSession, _: Told) -> None:
    session, now_ms = result.session, SystemClock().now_ms()
    for name, value in story.identity(session, now_ms):
        page.line((f"{name:<12}", "bold"), value)
    left = f", room for {result.events_left} more" if session.status == ACTIVE else ""
    page.line((f"{'timeline':<12}", "bold"), f"{len(session.events)} events{left}")
    for entry in story.timeline(session):
        page.line(f"  {entry.seq:>3}  {entry.at}  {entry.gap:<9} {entry.kind:<10} {entry.detail}")
    if result.resolved is None:
        return
    for reference in story.references(result.resolved):
        mark = (f"  {reference.glyph} {reference.word:<11} ", reference.role)
        page.line(mark, f"{reference.kind:<10} {reference.id}  {reference.note}")


def _session(page: Page, session: Session, _: Told) -> None:
    last = session.events[-1]
    page.line(f"{session.session_id} is {session.status} at revision {session.rev}: {shown(last.detail or last.type)}")


def _plan(page: Page, plan: WritePlan, _: Told) -> None:
    told = confirmation(plain(plan))
    if plan.outcome is not None and "text" in plan.outcome:
        page.verbatim(plan.outcome["text"])
    on = f" on {told.target}" if told.target else ""
    where = f" in {told.data_dir}" if told.data_dir else ""
    page.line("Would run ", (told.action, "bold"), f"{on}{where}")
    if plan.outcome is not None and "generatedMilestones" in plan.outcome:
        from phelix_core.cli.queue_pages import draw_graph  # noqa: PLC0415 - plans of the queue only

        draw_graph(page, plan.outcome)
        told = replace(told, changes=())
    for change in told.changes:
        page.line(
            f"  {change.field}: {'absent' if change.before is None else change.before} → ",
            change.after or "absent",
        )
    if told.event:
        page.line(f"  event: {told.event}")
    for effect in told.side_effects:
        page.line(f"  note: {effect}")
    page.line(f"  command: {told.command}")
    page.line(f"  digest: {plan.digest}")
    page.line("Nothing was written.")


def _pruned(page: Page, result: Pruned, _: Told) -> None:
    page.line(f"Removed {len(result.removed)} closed sessions, kept {result.kept}.")
    for session_id in result.removed:
        page.line(f"  {session_id}")


def _views(page: Page, result: ViewList, _: Told) -> None:
    if result.views:
        rows = [((view.name, ""), (shown(view.where), ""), (shown(view.title or ""), "")) for view in result.views]
        page.table(("VIEW", "WHERE", "TITLE"), rows, flexible=1)
    else:
        page.line("No saved views yet. `phelix view save NAME --where …` keeps a filter.")
    for bad in result.unusable:
        page.line(("✗ unusable  ", "fail"), f"{visible(bad.file)}  {bad.code}  {visible(bad.reason)}")


def _view(page: Page, view: SavedView, _: Told) -> None:
    for name, value in (("view", view.name), ("title", view.title), ("where", view.where)):
        if value:
            page.line((f"{name:<12}", "bold"), shown(value))
    page.line((f"{'use it':<12}", "bold"), f"phelix session list --view {view.name}")


def _removed_view(page: Page, result: RemovedView, _: Told) -> None:
    page.line(f"Removed the saved view {result.removed}.")


def _examination(page: Page, result: Examination, _: Told) -> None:
    for finding in result.findings:
        page.line((f"{finding.state:<5}", finding.state), f"{finding.check:<15} {visible(finding.detail)}")
        if finding.hint:
            page.line(f"{'':<21}{visible(finding.hint)}")
    for done in result.fixed:
        page.line(("fixed ", "ok"), visible(done))


def _demo(page: Page, result: DemoWritten, _: Told) -> None:
    page.line(f"{result.sessions} sessions are in {visible(result.data_dir)}.")
    page.line(f"Look at them: phelix tui --data-dir {visible(result.data_dir)}")


def _snippet(page: Page, result: HostSnippet, _: Told) -> None:
    page.verbatim(result.snippet)


def _skill(page: Page, result: SkillText, _: Told) -> None:
    page.verbatim(result.text)


def _installed(page: Page, result: SkillInstalled, _: Told) -> None:
    word = "was there already" if result.outcome == "unchanged" else f"is {result.outcome}"
    page.line(f"The skill for {result.host} {word}: {visible(result.path)}")


_DRAWN: Final[dict[type, Callable[[Page, Any, Told], None]]] = {
    SessionList: _list,
    ShownSession: _session_page,
    Session: _session,
    WritePlan: _plan,
    Pruned: _pruned,
    Examination: _examination,
    DemoWritten: _demo,
    ViewList: _views,
    SavedView: _view,
    RemovedView: _removed_view,
    HostSnippet: _snippet,
    SkillText: _skill,
    SkillInstalled: _installed,
}
