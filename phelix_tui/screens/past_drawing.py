"""The past as lines of cells: a rail with its gaps to scale, what is known at a point, how two points differ.

What no record tells is muted and says so. Lines are laid for a width, because a rail and columns have one.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from phelix_core.text import SafeStr
from phelix_core.views.moments import long_span, time_of_day
from phelix_core.views.past import FIELDS, LINKED, NOT_RECORDED, NOTHING, Link, Point, Told, differing, to_scale
from phelix_tui.cells import cell_width, fit
from phelix_tui.screens.drawing import heading
from phelix_tui.travel import Travel
from phelix_tui.widgets.pages import cell
from phelix_tui.widgets.rowlist import Cell
from phelix_tui.wrapping import TextLine, line, wrapped

_ROOMY: Final = 60
"""From this width on, names stand beside their values."""
_LABEL: Final = 23
_BAR: Final = 16
"""Cells of a list's longest gap."""
_GAP: Final = 2
_DAY_MS: Final = 86_400_000
_DETAIL, _WRITTEN = "detail", "checkpoint as written"
"""Names of `FIELDS` that often tell the same."""
HERE, MARKED = "●", "◆"
_HERE, _MARKED = "bold warning", "bold accent"


def band_cells(travel: Travel) -> list[Cell]:
    """That this is the past, and which point of it."""
    marked = travel.marked
    against = [] if marked is None else [cell(f" · against seq {marked.seq}", _MARKED)]
    return [cell(" HISTORICAL", _HERE), cell(f" {travel.told}", "bold"), *against]


def past_lines(travel: Travel, width: int) -> list[TextLine]:
    """The page of a point, or of the difference between two."""
    if width <= 0:
        return []
    marked, here = travel.marked, travel.here
    lines = rail_lines(travel, width)
    if marked is None:
        return [*lines, line(), *_point_lines(here, width), line(), *_list_lines(travel, width)]
    if marked.place == here.place:
        told = cell(f"seq {here.seq} is marked. Go to another point to see how it differs; d lets go.", "muted")
        return [*lines, line(), line(told), line(), *_point_lines(here, width)]
    return [*lines, line(), *diff_lines(marked, here, width)]


def rail_lines(travel: Travel, width: int) -> list[TextLine]:
    """Every point on one line, as far apart as they were in time; when it begins and ends below."""
    points = travel.points
    oldest, newest = points[0], points[-1]
    rail = [("─", "muted")] * width if len(points) > 1 else [(" ", "")]
    places = [*accumulate(to_scale([point.gap_ms for point in points], width - 1))]
    for at in places:
        rail[at] = ("┼", "")
    if len(points) > 1:
        rail[0], rail[places[-1]] = ("├", ""), ("┤", "")
    if travel.marked is not None:
        rail[places[travel.marked.place]] = (MARKED, _MARKED)
    rail[places[travel.here.place]] = (HERE, _HERE)
    first, last = _when(oldest, travel), _when(newest, travel)
    whole = f" {long_span(newest.at_ms - oldest.at_ms)}, gaps to scale "
    room = width - len(first) - len(last)
    under = f"{first}{(whole if len(whole) <= room else ' ').center(room)}{last}" if len(points) > 1 else first
    return [line(*(cell(sign, role) for sign, role in rail)), line(cell(fit(under, width).rstrip(), "muted"))]


def _when(point: Point, travel: Travel) -> SafeStr:
    """The time of day; with the date where the record goes over more than one day."""
    points = travel.points
    first, last = points[0], points[-1]
    return time_of_day(point.at_ms) if first.at_ms // _DAY_MS == last.at_ms // _DAY_MS else point.at


def _point_lines(point: Point, width: int) -> list[TextLine]:
    """What is known at a point; what there was none of is left out."""
    told = [(name, of(point)) for name, of in FIELDS if name != _WRITTEN or point.written != point.detail]
    lines = [_named(name, value, width) for name, value in told if value != NOTHING]
    return [*lines, *_link_lines(point.links)]


def _named(name: str, told: Told, width: int) -> TextLine:
    label = f"{name:<{_LABEL}}" if width >= _ROOMY else f"{name}  "
    return line(cell(label, "muted"), Cell(told.text, _role(told)), hang=_LABEL if width >= _ROOMY else 2)


def _role(told: Told) -> str:
    return "" if told.is_recorded else "muted"


def _link_lines(links: Sequence[Link]) -> list[TextLine]:
    """The references, as far as they were linked or may have been, and that nobody wrote down what they were."""
    shown = [link for link in links if link.told in (LINKED, NOT_RECORDED)]
    if not shown:
        return []
    lines = [
        line(
            Cell(SafeStr(f"{link.kind} ")),
            Cell(link.id),
            cell(f"  {'linked' if link.told == LINKED else 'whether it was linked by then is not recorded'}", "muted"),
            hang=2,
        )
        for link in shown
    ]
    then = cell("What each of them was found to be at the time is not recorded.", "muted")
    return [line(), heading("References then"), *lines, line(then)]


def _list_lines(travel: Travel, width: int) -> list[TextLine]:
    """Every point, the gap before it to scale beside the longest."""
    points = travel.points
    longest = max(point.gap_ms for point in points)
    lines = [heading(f"Timeline: {len(points)} point{'' if len(points) == 1 else 's'}")]
    for point in points:
        bar = to_scale([point.gap_ms, longest - point.gap_ms], _BAR)[0] if longest else 0
        here = point.place == travel.here.place
        gap = f"{point.gap:<9} {'━' * max(0, bar):<{_BAR}} " if width >= _ROOMY + _BAR else f"{point.gap:<9} "
        lines.append(
            line(
                cell(f"{HERE if here else ' '} ", _HERE),
                cell(f"{point.seq:>3} ", "bold" if here else ""),
                cell(f"{_when(point, travel)} {gap}", "muted"),
                Cell(SafeStr(f"{point.kind} "), "accent"),
                Cell(point.detail),
                hang=6,
            )
        )
    return lines


def diff_lines(a: Point, b: Point, width: int) -> list[TextLine]:
    """What differs between two points, in two columns; what neither tells is named below."""
    found = differing(a, b)
    names = max((cell_width(row.field) for row in found.rows), default=0) + _GAP
    label = names if width >= _ROOMY and names <= width // 3 else 0
    column = (width - label - _GAP) // 2
    heads = (
        line(cell(f"{MARKED} seq {a.seq}, marked", _MARKED)),
        line(cell(f"{HERE} seq {b.seq}, here", _HERE), cell(f"  {found.gap}", "muted")),
    )
    lines = _columns(SafeStr(""), heads, label, column)
    detail = next(((row.a, row.b) for row in found.rows if row.field == _DETAIL), None)
    for row in found.rows:
        if row.field == _WRITTEN and (row.a, row.b) == detail:
            continue  # between checkpoints it is what their events say
        pair = (_value(row.a), _value(row.b))
        lines += [] if label else [line(Cell(row.field, "muted"))]
        lines += _columns(row.field, pair, label, column)
    if found.untold:
        lines += [line(), line(cell(f"Not recorded at either: {', '.join(found.untold)}.", "muted"))]
    return lines


def _value(told: Told) -> TextLine:
    return line(cell("nothing", "muted") if told == NOTHING else Cell(told.text, _role(told)))


def _columns(name: SafeStr, pair: tuple[TextLine, TextLine], label: int, column: int) -> list[TextLine]:
    """A name and two texts side by side, each wrapped to its own column."""
    left, right = (wrapped(text, column) for text in pair)
    lines: list[TextLine] = []
    for number in range(max(len(left), len(right))):
        named = fit(name if number == 0 else "", label)
        first = left[number] if number < len(left) else ()
        second = right[number] if number < len(right) else ()
        pad = column - sum(cell_width(part.text) for part in first) + _GAP
        lines.append(line(*([Cell(named, "muted")] if label else []), *first, cell(" " * pad), *second))
    return lines
