"""Models of the queue's views as lines of cells: an issue's page, why it is stale, what a write would do."""

from collections.abc import Sequence
from typing import cast

from phelix_core.commands.preview import WritePlan
from phelix_core.strictjson import plain
from phelix_core.text import SafeStr
from phelix_core.views.confirmation import Confirmation
from phelix_core.views.moments import span
from phelix_core.views.queue.explanation import Explanation
from phelix_core.views.queue.milestones import MilestoneRow
from phelix_core.views.queue.plans import Line, plan_changes, plan_summary, promotion
from phelix_core.views.queue.rows import STATES, tail_of
from phelix_core.views.queue.story import IssueStory, Neighbour
from phelix_tui.backlog import Backlog
from phelix_tui.desk import Desk
from phelix_tui.screens.drawing import heading, labelled
from phelix_tui.widgets.rowlist import Cell
from phelix_tui.wrapping import TextLine, line

_ABOUT = 18


def explanation_lines(told: Explanation | None) -> list[TextLine]:
    """Why it is stale, with rule, inputs, clock, holder, what it blocks, and what recovery does."""
    if told is None:
        return []
    looks = STATES[told.state]
    lines = [line(Cell(SafeStr(f"{looks.glyph} "), looks.role), Cell(told.headline, f"bold {looks.role}"), hang=2)]
    for name, text in told.facts:
        role = "warning" if name == "it will not" else ""
        lines.append(labelled(name, text, role))
    return [*lines, line()]


def identity_lines(story: IssueStory, state: str) -> list[TextLine]:
    """Who and what, the state first."""
    looks = STATES[state]
    lines = [labelled("status", SafeStr(f"{looks.glyph} {looks.word}"), f"bold {looks.role}")]
    return lines + [labelled(name, value, "bold" if name == "task" else "") for name, value in story.identity]


def dependency_lines(story: IssueStory, milestone: MilestoneRow | None) -> list[TextLine]:
    """The milestone's gate, and dependencies both ways, each with what it waits for."""
    lines = [heading("Milestone gate"), *_gate_lines(milestone), line()]
    lines += [heading("It waits for"), *_neighbours(story.dependencies, "nothing: no issue before it"), line()]
    lines += [heading("What waits for it"), *_neighbours(story.dependents, "nothing depends on it")]
    return lines


def _gate_lines(milestone: MilestoneRow | None) -> list[TextLine]:
    if milestone is None:
        return [line(Cell(SafeStr("it belongs to no milestone"), "muted"))]
    looks = milestone.looks
    lines = [
        line(
            Cell(SafeStr(f"{looks.glyph} {looks.word}  "), looks.role),
            Cell(milestone.key, "bold"),
            Cell(SafeStr(f"  {milestone.done:,} of {milestone.total:,} done"), "muted"),
        )
    ]
    for name, is_open in milestone.gates:
        word = ("✓ open    ", "completed") if is_open else ("■ closed  ", "warning")
        lines.append(line(Cell(SafeStr(word[0]), word[1]), Cell(SafeStr("behind ")), Cell(name), hang=10))
    if not milestone.gates:
        lines.append(line(Cell(SafeStr("no milestone stands before it"), "muted")))
    return lines


def _neighbours(found: Sequence[Neighbour], nothing: str) -> list[TextLine]:
    if not found:
        return [line(Cell(SafeStr(nothing), "muted"))]
    lines: list[TextLine] = []
    for one in found:
        looks = STATES[one.status]
        waits = SafeStr(f"  waits for {one.waits}" if one.waits else "")
        lines.append(
            line(
                Cell(SafeStr(f"{looks.glyph} {looks.word:<14} "), looks.role),
                Cell(SafeStr(f"{one.tail} "), "muted"),
                Cell(one.task),
                Cell(waits, "muted"),
                hang=17,
            )
        )
    return lines


def lease_lines(story: IssueStory) -> list[TextLine]:
    """Every lease that there was, newest first."""
    if not story.leases:
        return [line(Cell(SafeStr("nobody ever held it"), "muted"))]
    return [
        line(Cell(SafeStr(f"{tail}  "), "accent" if active else "muted"), Cell(told, "" if active else "muted"), hang=9)
        for tail, told, active in story.leases
    ]


def artifact_lines(story: IssueStory) -> list[TextLine]:
    """What the work is on or made."""
    if not story.artifacts:
        return []
    return [line(), heading("Artifacts"), *(line(Cell(text), hang=2) for text in story.artifacts)]


def memory_lines(story: IssueStory) -> list[TextLine]:
    """What the memory made of each checkpoint, and which of them wait for it; nothing where it was told of none."""
    if not story.memories:
        return []
    lines = [line(), heading("Memory")]
    for one in story.memories:
        state = Cell(SafeStr("… waits for the memory"), "warning") if one.waits else Cell(one.ref, "accent")
        why = [Cell(SafeStr(f" ({one.why})"), "muted")] if one.why else []
        about = Cell(SafeStr(f"  of {one.checkpoint}"), "muted")
        lines.append(line(Cell(SafeStr(f"{one.kind:<17}")), state, *why, about, hang=17))
        if one.summary:
            lines.append(line(Cell(SafeStr(" " * 17)), Cell(one.summary), hang=17))
    return lines


def timeline_lines(story: IssueStory) -> list[TextLine]:
    """Checkpoints, leases and events in one order, newest first, each with what changed."""
    lines: list[TextLine] = []
    for entry in story.timeline:
        moved = [Cell(SafeStr(f"{entry.moved}  "), "bold")] if entry.moved else []
        via = [Cell(SafeStr(f"  via {entry.via}"), "muted")] if entry.via else []
        lines.append(
            line(
                Cell(SafeStr(f"{entry.mark:>6}  {entry.at}  "), "muted"),
                Cell(SafeStr(f"{entry.gap:<9} "), "muted"),
                Cell(SafeStr(f"{entry.what:<18} "), "accent"),
                *moved,
                Cell(entry.detail),
                *via,
                hang=42,
            )
        )
    return lines


def brief_timeline_lines(story: IssueStory, now_ms: int, newest: int) -> list[TextLine]:
    """The newest few entries, short enough for a preview; checkpoints say what the memory made of them."""
    entries = [entry for entry in story.timeline if not entry.is_of_memory]
    return [
        line(
            Cell(SafeStr(f"{span(now_ms - entry.at_ms):>5} ago  "), "muted"),
            Cell(SafeStr(f"{entry.what} "), "accent"),
            Cell(entry.moved or entry.detail),
            hang=11,
        )
        for entry in entries[:newest]
    ]


def preview_lines(
    story: IssueStory, state: str, told: Explanation | None, milestone: MilestoneRow | None, now_ms: int
) -> list[TextLine]:
    """The page beside the list: why it needs attention first, then who, what stands around it, what happened."""
    return [
        *explanation_lines(told),
        *identity_lines(story, state),
        line(),
        *dependency_lines(story, milestone),
        line(),
        heading("Newest events"),
        *brief_timeline_lines(story, now_ms, 8),
    ]


def story_lines(
    story: IssueStory, state: str, told: Explanation | None, milestone: MilestoneRow | None
) -> list[TextLine]:
    """The whole story of one issue, but for its timeline."""
    return [
        *explanation_lines(told),
        *identity_lines(story, state),
        line(),
        *dependency_lines(story, milestone),
        line(),
        heading("Leases"),
        *lease_lines(story),
        *artifact_lines(story),
        *memory_lines(story),
    ]


def session_lease_lines(desk: Desk, session_id: str) -> list[TextLine] | None:
    """How the lease stands that decides about a session; None where none does."""
    issue_id = desk.backlog.of_session.get(session_id)
    if issue_id is None:
        return None
    told = desk.backlog.explain(issue_id, desk.moment())
    about = line(Cell(SafeStr("By its lease on issue "), "muted"), Cell(tail_of(issue_id), "accent"), hang=2)
    return None if told is None else [about, *explanation_lines(told)]


def queue_plan_lines(plan: WritePlan, shown: Confirmation, caution: str | None, backlog: Backlog) -> list[TextLine]:
    """The exact write, issues and leases in words, in the order a confirmation says it."""
    lines = [line(Cell(SafeStr(caution), "muted"), hang=0), line()] if caution else []
    outcome, changes = plan.outcome or {}, cast("Sequence[dict[str, object]]", plain(plan.changes))
    if "promotedIssueIds" in outcome and "keptBack" in outcome:
        lines += [*_promotion_lines(plan, backlog), line()]
    else:
        effects = shown.side_effects
        lines += [line(Cell(SafeStr("! "), "warning"), Cell(effect, "warning"), hang=2) for effect in effects]
        lines += [heading("What becomes of it"), *map(_change_line, plan_summary(changes)), line()]
    lines.append(heading("Every change in the queue"))
    lines += map(_change_line, plan_changes(changes))
    if not changes:
        lines.append(line(Cell(SafeStr("none"), "muted")))
    if shown.event is not None:
        lines += [line(), heading("Event appended"), line(Cell(shown.event, "muted"), hang=2)]
    lines += [line(), heading("The same from a shell"), line(Cell(shown.command), hang=2)]
    return lines


def _change_line(change: Line) -> TextLine:
    about = Cell(SafeStr(f"{change.about:<{_ABOUT}} "), "muted")
    return line(about, Cell(change.what), Cell(change.to, "bold"), hang=_ABOUT + 1)


def _promotion_lines(plan: WritePlan, backlog: Backlog) -> list[TextLine]:
    """What moves, and what stays and why each."""
    outcome = plan.outcome or {}
    told = promotion(outcome, backlog.tasks(backlog.issues), backlog.milestone_names())
    lines = [line(Cell(told.headline, "bold accent")), line()]
    for tail, task in told.moved:
        lines.append(
            line(Cell(SafeStr("→ ready   "), "completed"), Cell(SafeStr(f"{tail} "), "muted"), Cell(task), hang=18)
        )
    for tail, task, why in told.kept:
        lines.append(
            line(
                Cell(SafeStr("· stays   "), "muted"),
                Cell(SafeStr(f"{tail} "), "muted"),
                Cell(task),
                Cell(SafeStr(f"  waits for {why}"), "warning"),
                hang=18,
            )
        )
    return lines
