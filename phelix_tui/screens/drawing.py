"""Models of the views as lines of cells: what a session's page, a confirmation and a conflict look like."""

from collections.abc import Mapping, Sequence

from phelix_core.commands.session import ShownSession
from phelix_core.text import SafeStr, visible
from phelix_core.views import story
from phelix_core.views.confirmation import Confirmation
from phelix_core.views.rows import STATES, SessionRow
from phelix_tui.widgets.rowlist import Cell
from phelix_tui.wrapping import TextLine, line

_LABEL = 12
_CHANGED = {"view save": "view", "view remove": "view", "doctor": "data directory"}
"""What a write changes, where that is no record."""


def heading(text: str) -> TextLine:
    """A section's title."""
    return line(Cell(SafeStr(text), "bold accent"))


def labelled(name: str, value: SafeStr, role: str = "") -> TextLine:
    """A name and its value, the value hanging under itself."""
    return line(Cell(SafeStr(f"{name:<{_LABEL}}"), "muted"), Cell(value, role), hang=_LABEL)


def failure_words(failure: Mapping[str, object]) -> SafeStr:
    """A refusal in one line: its code and what it says."""
    return visible(f"{failure['code']}: {failure['message']}")


def refused_lines(refused: SafeStr | None) -> list[TextLine]:
    """Why what stands below is old, or not there; nothing where it could be read."""
    return [line(Cell(refused, "error"), hang=2), line()] if refused else []


def state_cell(row: SessionRow) -> Cell:
    """Glyph and word in the state's role."""
    looks = row.looks
    return Cell(SafeStr(f"{looks.glyph} {looks.word}"), looks.role)


def identity_lines(shown: ShownSession, row: SessionRow | None, now_ms: int) -> list[TextLine]:
    """Who and what; the status by glyph, word and colour."""
    lines: list[TextLine] = []
    for name, value in story.identity(shown.session, now_ms):
        if name == "status":
            looks = STATES[row.state if row else shown.session.status]
            lines.append(labelled(name, SafeStr(f"{looks.glyph} {looks.word}"), f"bold {looks.role}"))
        else:
            lines.append(labelled(name, value, "bold" if name == "title" else ""))
    return lines


def staleness_lines(
    shown: ShownSession, now_ms: int, stale_after_ms: int, leased: Sequence[TextLine] | None = None
) -> list[TextLine]:
    """Why it is stale, with rule, inputs and clock; nothing where there is nothing to say.

    `leased` are the words of the lease that decides instead.
    """
    if leased is not None:
        return list(leased)
    said = story.staleness(shown.session, now_ms, stale_after_ms)
    if not said:
        return []
    return [line(Cell(SafeStr("▲ "), "stale"), Cell(SafeStr(" ".join(said)), "stale"), hang=2), line()]


def reference_lines(shown: ShownSession, *, brief: bool = False) -> list[TextLine]:
    """Every reference with its state; a session without any says so. `brief` is for narrow pages."""
    if shown.resolved is None:
        return []
    found = story.references(shown.resolved)
    if not found:
        return [line(Cell(SafeStr("none linked"), "muted"))]
    word_width, kind_width = (0, 0) if brief else (11, 10)
    return [
        line(
            Cell(SafeStr(f"{reference.glyph} {reference.word:<{word_width}} "), reference.role),
            Cell(SafeStr(f"{reference.kind:<{kind_width}} {reference.id}  ")),
            Cell(reference.note, "muted"),
            hang=2 if brief else 14,
        )
        for reference in found
    ]


def timeline_lines(shown: ShownSession, newest: int | None = None) -> list[TextLine]:
    """Events in order, or the newest few, newest first."""
    entries = story.timeline(shown.session, newest)
    if newest is not None:
        entries = entries[::-1]
    return [
        line(
            Cell(SafeStr(f"{entry.seq:>3}  {entry.at}  "), "muted"),
            Cell(SafeStr(f"{entry.gap:<9} "), "muted"),
            Cell(SafeStr(f"{entry.kind:<10} "), "accent"),
            Cell(entry.detail),
            Cell(SafeStr(f"  via {entry.via}"), "muted"),
            hang=28,
        )
        for entry in entries
    ]


def brief_timeline_lines(shown: ShownSession, now_ms: int, newest: int) -> list[TextLine]:
    """The newest few events, short enough for a preview: how long ago, what, and the detail."""
    from phelix_core.views.moments import span  # noqa: PLC0415 - only previews are brief

    events = shown.session.events[::-1][:newest]
    entries = story.timeline(shown.session, newest)[::-1]
    return [
        line(
            Cell(SafeStr(f"{span(now_ms - event.at_ms):>5} ago  "), "muted"),
            Cell(SafeStr(f"{entry.kind} "), "accent"),
            Cell(entry.detail),
            hang=11,
        )
        for event, entry in zip(events, entries, strict=True)
    ]


def preview_lines(
    shown: ShownSession,
    row: SessionRow | None,
    now_ms: int,
    stale_after_ms: int,
    leased: Sequence[TextLine] | None = None,
) -> list[TextLine]:
    """The page beside the list: why it needs attention first, then who, what it touches, what happened."""
    return [
        *staleness_lines(shown, now_ms, stale_after_ms, leased),
        *identity_lines(shown, row, now_ms),
        line(),
        heading("References"),
        *reference_lines(shown, brief=True),
        line(),
        heading("Newest events"),
        *brief_timeline_lines(shown, now_ms, 8),
    ]


def story_lines(
    shown: ShownSession,
    row: SessionRow | None,
    now_ms: int,
    stale_after_ms: int,
    leased: Sequence[TextLine] | None = None,
) -> list[TextLine]:
    """The whole story of one session."""
    left = f", room for {shown.events_left} more" if shown.events_left else ""
    return [
        *staleness_lines(shown, now_ms, stale_after_ms, leased),
        *identity_lines(shown, row, now_ms),
        line(),
        heading("References"),
        *reference_lines(shown),
        line(),
        heading(f"Timeline: {len(shown.session.events)} events{left}"),
        *timeline_lines(shown),
    ]


def raw_lines(shown: ShownSession) -> list[TextLine]:
    """The record as it stands on disk."""
    return [line(Cell(SafeStr(text)), hang=2) for text in story.raw(shown.session).split("\n")]


def failure_lines(told: Mapping[str, object], file: SafeStr) -> list[TextLine]:
    """Why a record cannot be shown, and where it is."""
    return [
        line(Cell(SafeStr("⚠ "), "unread"), Cell(visible(str(told["code"])), "bold unread"), hang=2),
        line(Cell(visible(str(told["message"])))),
        line(),
        line(Cell(SafeStr("The file is "), "muted"), Cell(file, "muted"), hang=2),
        line(),
    ]


def last_read_lines() -> list[TextLine]:
    """What stands above content that is older than the file."""
    return [line(Cell(SafeStr("What follows is what was last read well:"), "bold unread"), hang=2), line()]


def plan_lines(plan: Confirmation, caution: str | None) -> list[TextLine]:
    """The exact write, in the order a confirmation says it."""
    lines = [line(Cell(SafeStr(caution), "muted"), hang=0), line()] if caution else []
    lines += [line(Cell(SafeStr("! "), "warning"), Cell(effect, "warning"), hang=2) for effect in plan.side_effects]
    lines.append(heading(f"Changes in the {_CHANGED.get(plan.action, 'record')}"))
    for change in plan.changes:
        before = change.before if change.before is not None else SafeStr("absent")
        after = change.after if change.after is not None else SafeStr("absent")
        lines.append(
            line(
                Cell(SafeStr(f"{change.field:<18} "), "muted"),
                Cell(before, "muted"),
                Cell(SafeStr(" → "), "accent"),
                Cell(after, "bold"),
                hang=19,
            )
        )
    if plan.event is not None:
        lines += [line(), heading("Event appended"), line(Cell(plan.event), hang=2)]
    lines += [line(), heading("The same from a shell"), line(Cell(plan.command), hang=2)]
    return lines
