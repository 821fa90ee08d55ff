"""Models of plans and operations as lines of cells: a plan's page, what an approval or an apply would do, a log."""

from collections.abc import Iterable, Sequence
from typing import Final

from phelix_core.arc.board import Seen
from phelix_core.arc.operations import INDETERMINATE
from phelix_core.arc.standing import Standing
from phelix_core.text import SafeStr
from phelix_core.views.arc.rows import STATES, state_of, subject_of
from phelix_core.views.arc.story import Mark, PlanStory, facts_of, headline, plan_story
from phelix_core.views.confirmation import Confirmation
from phelix_core.views.moments import long_span
from phelix_tui.screens.drawing import heading, labelled
from phelix_tui.widgets.rowlist import Cell
from phelix_tui.wrapping import TextLine, line

_FIELD: Final = 22
_FACT: Final = 18
_WORD: Final = 9
_NEWEST: Final = 8
"""Lines of a log that a page beside others shows."""
_UNKNOWN_END: Final = (
    "Whether it succeeded is not known, and it is never run again. Look at the application itself, "
    "then make a new plan of what is true."
)


def headline_lines(seen: Seen, now_ms: int) -> list[TextLine]:
    """Where it stands, and since when."""
    looks = STATES[state_of(seen)]
    lines = [
        line(Cell(SafeStr(f"{looks.glyph} "), looks.role), Cell(headline(seen, now_ms), f"bold {looks.role}"), hang=2)
    ]
    if state_of(seen) == INDETERMINATE:
        lines.append(line(Cell(SafeStr(_UNKNOWN_END), looks.role)))
    return [*lines, line()]


def command_lines(story: PlanStory) -> list[TextLine]:
    """Exactly what would run, or did, an argument a line, and within which bounds."""
    lines = [heading(f"What {story.tense}")]
    if story.arguments is None:
        return [*lines, line(Cell(SafeStr("nothing that Phelix knows how to run"), "muted"))]
    for place, argument in enumerate(story.arguments):
        number = Cell(SafeStr(f"{place:>2}  "), "muted")
        lines.append(line(number, Cell(argument, "bold") if argument else Cell(SafeStr("empty"), "muted"), hang=4))
    return lines + [labelled(name, value) for name, value in story.running]


def subject_lines(story: PlanStory) -> list[TextLine]:
    """On what, and who asked for it."""
    about = [_named(name, value) for name, value in story.about]
    return [heading("On what"), *about, labelled("asked by", story.asked)]


def check_lines(story: PlanStory) -> list[TextLine]:
    """Each precondition and capability, and whether it holds now; or what was presupposed when it was begun."""
    return [
        heading("What it presupposed" if story.operation else "Preconditions and capabilities, now"),
        *(_mark(mark, _FACT) for mark in (*story.checks, *story.capabilities)),
    ]


def hash_lines(story: PlanStory) -> list[TextLine]:
    """The whole id and hash, which is what an approval is bound to."""
    return [labelled("plan", story.plan_id), labelled("hash", story.plan_hash)]


def authority_lines(story: PlanStory) -> list[TextLine]:
    """The approval, and what the policy says to each asker."""
    return [
        heading("Approval and policy" if story.rulings else "Approval"),
        *(_mark(mark, _WORD) for mark in (story.approval, *story.rulings)),
    ]


def operation_lines(facts: Iterable[tuple[str, SafeStr, str]]) -> list[TextLine]:
    """What became of it; nothing where it was never executed."""
    told = [labelled(name, value, role) for name, value, role in facts]
    return [heading("What became of it"), *told, line()] if told else []


def _named(name: str, value: SafeStr) -> TextLine:
    """A name that may be longer than our own labels."""
    return labelled(name if len(name) < len("application ") else f"{name} ", value, "bold" if name == "version" else "")


def _mark(mark: Mark, width: int) -> TextLine:
    name = Cell(SafeStr(f"{mark.name:<{width}} "))
    return line(Cell(SafeStr(f"{mark.glyph} "), mark.role), name, Cell(mark.told, _told_role(mark)), hang=width + 3)


def _told_role(mark: Mark) -> str:
    return mark.role if mark.role in ("error", "warning") else "muted"


def plan_lines(seen: Seen, now_ms: int, log: Sequence[SafeStr] = ()) -> list[TextLine]:
    """The page of one plan: where it stands, what became of it, what would run, what of it holds, whose word counts."""
    lines = headline_lines(seen, now_ms)
    tail = log_tail_lines(log)
    if not isinstance(seen, Standing):
        return [*lines, labelled("about", subject_of(seen)), *operation_lines(facts_of(seen)), *tail]
    story = plan_story(seen)
    became = operation_lines(story.operation)
    return [
        *lines,
        *became,
        *tail,
        *command_lines(story),
        line(),
        *subject_lines(story),
        line(),
        *check_lines(story),
        line(),
        *hash_lines(story),
        line(),
        *authority_lines(story),
    ]


def log_tail_lines(log: Sequence[SafeStr]) -> list[TextLine]:
    """The newest lines of a log; nothing where there are none."""
    if not log:
        return []
    newest = [line(Cell(SafeStr("│ "), "muted"), Cell(text), hang=2) for text in log[-_NEWEST:]]
    return [heading("The end of its log"), *newest, line()]


def write_lines(plan: Confirmation, caution: str | None, seen: Seen) -> list[TextLine]:
    """The exact write about a plan, in the order a confirmation says it: what it does not do, what it does, to what."""
    lines = [line(Cell(SafeStr(caution), "muted")), line()] if caution else []
    lines += [line(Cell(SafeStr("! "), "warning"), Cell(effect, "warning"), hang=2) for effect in plan.side_effects]
    lines += [line()] if plan.side_effects else []
    if isinstance(seen, Standing):
        story = plan_story(seen)
        failing = [mark for mark in (*story.checks, *story.capabilities) if mark.role == "error"]
        held = f"✓ all {len(story.checks)} hold now" if not failing else f"✗ {len(failing)} of them do not hold now"
        bounds = SafeStr("; ".join(f"{name} {value}" for name, value in story.running))
        facts = [] if story.operation else [labelled("facts", SafeStr(held), "error" if failing else "ok")]
        lines += [
            labelled("hash", story.plan_hash, "bold"),
            labelled(story.tense, story.command or SafeStr("nothing"), "bold"),
            labelled("", bounds),
            *(_named(name, value) for name, value in story.about),
            labelled("asked by", story.asked),
            *facts,
            line(),
        ]
    return [*lines, *_written(plan)]


def _written(plan: Confirmation) -> list[TextLine]:
    lines = [heading("What is written")]
    for change in plan.changes:
        before = [] if change.before is None else [Cell(change.before, "muted")]
        after = Cell(SafeStr("taken away"), "muted") if change.after is None else Cell(change.after, "bold")
        arrow = [Cell(SafeStr(" → "), "accent")] if before else []
        lines.append(
            line(Cell(SafeStr(f"{change.field:<{_FIELD}} "), "muted"), *before, *arrow, after, hang=_FIELD + 1)
        )
    if not plan.changes:
        lines.append(line(Cell(SafeStr("nothing"), "muted")))
    if plan.event is not None:
        lines += [line(), heading("Decision logged"), line(Cell(plan.event, "muted"), hang=2)]
    return [*lines, line(), heading("The same from a shell"), line(Cell(plan.command), hang=2)]


def log_lines(seen: Seen, log: Sequence[SafeStr], now_ms: int, *, cut: bool, file: SafeStr) -> list[TextLine]:
    """The page of a log: what was printed, and whether more may come."""
    operation = getattr(seen, "operation", None)
    if operation is None:
        return [line(Cell(SafeStr("It was not executed: there is no log."), "muted"))]
    lines = (
        [line(Cell(SafeStr("… what was printed before is in "), "muted"), Cell(file, "muted"), hang=2)] if cut else []
    )
    lines += [line(Cell(text), hang=2) for text in log]
    if not log:
        lines.append(
            line(
                Cell(
                    SafeStr("Nothing was printed yet." if not operation.is_finished else "Nothing was printed."),
                    "muted",
                )
            )
        )
    looks = STATES[state_of(seen)]
    told = f"{looks.glyph} {looks.word}"
    if operation.is_finished:
        took = long_span((operation.finished_at_ms or operation.updated_at_ms) - operation.created_at_ms)
        return [*lines, line(), line(Cell(SafeStr(f"── the log ends: {told}, after {took}"), looks.role))]
    if state_of(seen) == INDETERMINATE:
        return [*lines, line(), line(Cell(SafeStr(f"── {told}: no more will come"), looks.role))]
    return [
        *lines,
        line(),
        line(Cell(SafeStr(f"── {told} for {long_span(now_ms - operation.created_at_ms)}"), looks.role)),
    ]
