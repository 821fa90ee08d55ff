"""What a list shows, written into a file of its own where the console was started: JSON, CSV, Markdown, or a picture.

Promises: what is written are the rows under the filter, in the order in force, frozen or not, free of secrets; the file
is new and its writer's alone (0600, never one that is there, never through a link); one that cannot be written whole is
not left behind. Nothing here touches the data directory. Rows are made and written in a thread, which tells how far it
is. Source: console page, sections 3 and 11, and "Text safety".
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from html import escape, unescape
from typing import Any, Final

from phelix_core.files import why
from phelix_core.frozen import frozen_in_order
from phelix_core.redaction import redact
from phelix_core.text import SafeStr
from phelix_core.views.exporting import FORMS, ISSUES, PLANS, SESSIONS, IssueLine, PlanLine, SessionLine, exported
from phelix_core.views.moments import moment
from phelix_core.views.shown import shown
from phelix_tui.arrangement import Arrangement
from phelix_tui.backlog import Backlog
from phelix_tui.plan_board import PlanBoard

SVG: Final = "svg"
"""A picture of the screen, besides the forms of text."""
_EVERY: Final = 1_000
"""Rows after which it is told how far it is."""
_TEXT: Final = re.compile(r">([^<>]+)</text>")

Progress = Callable[[int, int], None]
"""How many rows of how many are made."""
Source = Arrangement | Backlog | PlanBoard


@frozen_in_order
class Written:
    """What came of it: the file's full path as people write it, or why there is none."""

    told: SafeStr
    ok: bool


def file_name(what: str, now_ms: int, form: str) -> str:
    """What the file is called: what is in it, and when it was written."""
    stamp = re.sub(r"[^0-9 Z]", "", moment(now_ms)).replace(" ", "-")
    return f"phelix-{what}-{stamp}.{form}"


def what_of(source: Source) -> str:
    """What a list is a list of."""
    match source:
        case Arrangement():
            return SESSIONS.name
        case Backlog():
            return ISSUES.name
        case PlanBoard():
            return PLANS.name


def text_of(source: Source, row_ids: Sequence[str], form: str, now_ms: int, progress: Progress) -> str:
    """The rows as text in one of `FORMS`; `source` must stand still meanwhile."""
    table: Any = {SESSIONS.name: SESSIONS, ISSUES.name: ISSUES, PLANS.name: PLANS}[what_of(source)]
    return exported(table, form, _counted(source, row_ids, now_ms, progress))


def _counted(source: Source, row_ids: Sequence[str], now_ms: int, progress: Progress) -> Iterator[Any]:
    for number, row_id in enumerate(row_ids):
        if number % _EVERY == 0:
            progress(number, len(row_ids))
        line = _line(source, row_id, now_ms)
        if line is not None:
            yield line


def _line(source: Source, row_id: str, now_ms: int) -> SessionLine | IssueLine | PlanLine | None:
    match source:
        case Arrangement():
            session, found = source.row(row_id), source.found(row_id)
            return None if session is None or found is None else SessionLine(session, found)
        case Backlog():
            issue = source.row(row_id)
            return None if issue is None else IssueLine(issue, source.issues[row_id], source.leases.get(row_id))
        case PlanBoard():
            plan, seen = source.row(row_id, now_ms), source.seen(row_id)
            return None if plan is None or seen is None else PlanLine(plan, seen)


def redacted_picture(svg: str) -> str:
    """A picture whose texts are free of secrets: what somebody types into a filter is on it as it was typed."""

    def clean(match: re.Match[str]) -> str:
        text = unescape(match[1]).replace("\u00a0", " ")
        told = redact(text)
        return match[0] if told == text else f">{escape(told).replace(' ', '&#160;')}</text>"

    return _TEXT.sub(clean, svg)


def write_new(folder: str, name: str, text: str) -> Written:
    """Write a file that is not there yet; whatever goes wrong, there is an answer."""
    path = f"{folder.rstrip('/')}/{name}"
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        return Written(shown(f"Nothing was written: {_at_home(path)}: {why(error)}."), ok=False)
    try:
        with open(handle, "w", encoding="utf-8", errors="replace", newline="") as file:
            file.write(text)
    except OSError as error:
        with suppress(OSError):
            os.unlink(path)
        return Written(shown(f"Nothing was written: {_at_home(path)}: {why(error)}."), ok=False)
    return Written(shown(_at_home(path)), ok=True)


def place_for(data_dir: str) -> str | Written:
    """The folder that the console was started in, or why nothing is written there."""
    try:
        folder = os.getcwd()
    except OSError as error:
        return Written(
            shown(f"Nothing was written: the folder that the console was started in: {why(error)}."), ok=False
        )
    if os.path.commonpath((os.path.realpath(data_dir), os.path.realpath(folder))) == os.path.realpath(data_dir):
        told = "Nothing was written: the data directory is for records; start the console in another folder."
        return Written(SafeStr(told), ok=False)
    return folder


def _at_home(path: str) -> str:
    home = os.path.expanduser("~")
    return f"~{path[len(home) :]}" if path.startswith(f"{home}/") else path


FORMS_TOLD: Final = {
    "json": ("r", "JSON", "the members of the records, as --json answers"),
    "csv": ("c", "CSV", "a line a row, for spreadsheets"),
    "md": ("m", "Markdown", "a table, for notes and reviews"),
    SVG: ("p", "Picture", "the screen as it is, as SVG"),
}
"""Every form by how its files end: its key in the menu, its name, what it is good for."""
assert {*FORMS, SVG} == {*FORMS_TOLD}  # noqa: S101 - the two tables name the same forms
