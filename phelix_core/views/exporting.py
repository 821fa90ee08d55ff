"""Lists as text to keep or to hand on: sessions, issues and plans, as JSON, CSV or a Markdown table.

Promises: the same rows are always the same text, in the order given, free of secrets. JSON holds the members of the
records as every `--json` answer does, one document. CSV is that of RFC 4180 with a line of names: lines end in CR LF,
no cell holds a control character, and one that a spreadsheet would take for a formula has an apostrophe before it: it
begins, white space aside, with `=`, `+`, `-`, `@` or the wide form of one, or with a tab or a carriage return. In
Markdown whatever could be markup is escaped, so that a pipe ends no cell and an image fetches nothing. What ages on
the screen is here the moment it ages from: an export is read later. Source: console page, sections 3 and 11, and
"Text safety".
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Generic, NamedTuple, TypeVar, cast

from phelix_core.arc.board import BadFile, BoardOperation, Seen
from phelix_core.arc.standing import Standing
from phelix_core.queue.board import BoardIssue
from phelix_core.queue.model import ACTIVE, Lease
from phelix_core.redaction import redact
from phelix_core.sessions.model import record_name
from phelix_core.sessions.summary import SessionSummary
from phelix_core.strictjson import dumps, plain
from phelix_core.text import SafeStr
from phelix_core.views.arc.rows import PlanRow, since_ms
from phelix_core.views.moments import moment
from phelix_core.views.queue.rows import IssueRow
from phelix_core.views.rows import BadRecord, Found, SessionRow
from phelix_core.views.shown import shown

JSON: Final = "json"
CSV: Final = "csv"
MARKDOWN: Final = "md"

_Line = TypeVar("_Line")
_Cell = str | int | None


class SessionLine(NamedTuple):
    """A session's row, and what was found of it."""

    row: SessionRow
    found: Found

    @property
    def known(self) -> SessionSummary | None:
        """What was last read well."""
        return self.found.last_good if isinstance(self.found, BadRecord) else self.found


class IssueLine(NamedTuple):
    """An issue's row, the issue, and its lease."""

    row: IssueRow
    issue: BoardIssue
    lease: Lease | None

    @property
    def held(self) -> Lease | None:
        """The lease by which somebody holds the issue."""
        return self.lease if self.lease is not None and self.lease.status == ACTIVE else None


class PlanLine(NamedTuple):
    """A plan's or an operation's row, and what was seen of it."""

    row: PlanRow
    seen: Seen


@dataclass(frozen=True, slots=True)
class Column(Generic[_Line]):
    """One column: its name, and what a cell of it says."""

    name: str
    tell: Callable[[_Line], _Cell]


@dataclass(frozen=True, slots=True)
class Table(Generic[_Line]):
    """What is told of one list: its columns, and the JSON document of its lines."""

    name: str
    columns: tuple[Column[_Line], ...]
    document: Callable[[Sequence[_Line]], Mapping[str, object]]


def exported(table: Table[_Line], form: str, lines: Iterable[_Line]) -> str:
    """The lines as text in one of `FORMS`."""
    return FORMS[form](table, list(lines))


def _json(table: Table[Any], lines: Sequence[Any]) -> str:
    return dumps(_redacted(plain(table.document(lines)))) + "\n"


def _csv(table: Table[Any], lines: Sequence[Any]) -> str:
    rows = [[_csv_cell(column.name) for column in table.columns]]
    rows += [[_csv_cell(column.tell(line)) for column in table.columns] for line in lines]
    return "".join([f"{','.join(row)}\r\n" for row in rows])


def _markdown(table: Table[Any], lines: Sequence[Any]) -> str:
    rows = [[_markdown_cell(column.name) for column in table.columns], ["---"] * len(table.columns)]
    rows += [[_markdown_cell(column.tell(line)) for column in table.columns] for line in lines]
    return "".join([f"| {' | '.join(row)} |\n" for row in rows])


FORMS: Final[Mapping[str, Callable[[Table[Any], Sequence[Any]], str]]] = {
    JSON: _json,
    CSV: _csv,
    MARKDOWN: _markdown,
}
"""Every form by its name, which is also how its files end."""

_FORMULA: Final = re.compile(r"\s*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]")
_MARKUP: Final = re.compile(r"[\\`*\[\]<>|~&$]|(?<![^\W_])_|_(?![^\W_])")
"""What may be markup in a cell of a Markdown table; an underscore between letters is none."""


@lru_cache(8_192)
def _csv_cell(cell: _Cell) -> str:
    """Many cells of a table are the same."""
    if not isinstance(cell, str):
        return "" if cell is None else str(cell)
    text = shown(cell)
    text = f"'{text}" if _FORMULA.match(cell) or _FORMULA.match(text) else text
    return '"' + text.replace('"', '""') + '"' if '"' in text or "," in text else text


@lru_cache(8_192)
def _markdown_cell(cell: _Cell) -> str:
    if not isinstance(cell, str):
        return "" if cell is None else str(cell)
    return _MARKUP.sub(r"\\\g<0>", shown(cell))


def _redacted(value: Any) -> Any:
    """As `envelope.redacted`, for many records with members of the same names and often the same texts."""
    if isinstance(value, str):
        return _redacted_again(value)
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {_redacted_again(name): _redacted(member) for name, member in members.items()}
    return [_redacted(item) for item in cast("list[Any]", value)] if isinstance(value, list) else value


_redacted_again: Final = lru_cache(8_192)(redact)


def _moment(ms: int | None) -> SafeStr | None:
    return None if ms is None else moment(ms)


def _of_known(get: Callable[[SessionSummary], _Cell]) -> Callable[[SessionLine], _Cell]:
    """A cell of what was last read well; empty where nothing was."""
    return lambda line: None if line.known is None else get(line.known)


def _of_held(get: Callable[[Lease], _Cell]) -> Callable[[IssueLine], _Cell]:
    return lambda line: None if line.held is None else get(line.held)


def _sessions(lines: Sequence[SessionLine]) -> Mapping[str, object]:
    """As `session list` answers."""
    read = [line.found for line in lines if isinstance(line.found, SessionSummary)]
    bad = [
        {"file": record_name(line.row.session_id), "code": line.found.code}
        for line in lines
        if isinstance(line.found, BadRecord)
    ]
    return {"sessions": read, "count": len(read), "truncated": False, "unreadable": bad}


def _issues(lines: Sequence[IssueLine]) -> Mapping[str, object]:
    issues = [{**plain(line.issue), "lease": line.lease} for line in lines]
    return {"issues": issues, "count": len(issues)}


def _plans(lines: Sequence[PlanLine]) -> Mapping[str, object]:
    seen = [line.seen for line in lines]
    return {
        "plans": [one for one in seen if isinstance(one, Standing)],
        "operations": [one for one in seen if isinstance(one, BoardOperation)],
        "unreadable": [one for one in seen if isinstance(one, BadFile)],
    }


SESSIONS: Final[Table[SessionLine]] = Table(
    "sessions",
    (
        Column("session", lambda line: line.row.session_id),
        Column("state", lambda line: line.row.looks.word),
        Column("status", _of_known(lambda known: known.status)),
        Column("title", _of_known(lambda known: known.title)),
        Column("project", _of_known(lambda known: known.project)),
        Column("app", _of_known(lambda known: known.app)),
        Column("step", _of_known(lambda known: known.checkpoint.step if known.checkpoint else None)),
        Column("note", _of_known(lambda known: known.checkpoint.note if known.checkpoint else None)),
        Column("created", _of_known(lambda known: moment(known.created_at_ms))),
        Column("last event", _of_known(lambda known: moment(known.last_event_ms))),
        Column("revision", _of_known(lambda known: known.rev)),
        Column("plans", _of_known(lambda known: known.references.plans)),
        Column("operations", _of_known(lambda known: known.references.operations)),
        Column("deployments", _of_known(lambda known: known.references.deployments)),
        Column("result", _of_known(lambda known: known.final_result)),
        Column("unreadable", lambda line: line.found.code if isinstance(line.found, BadRecord) else None),
    ),
    _sessions,
)

ISSUES: Final[Table[IssueLine]] = Table(
    "issues",
    (
        Column("issue", lambda line: line.issue.id),
        Column("state", lambda line: line.row.looks.word),
        Column("status", lambda line: line.issue.status),
        Column("task", lambda line: line.issue.task),
        Column("priority", lambda line: line.row.priority),
        Column("milestone", lambda line: line.row.milestone),
        Column("about", lambda line: line.row.about),
        Column("host", _of_held(lambda lease: lease.host)),
        Column("lease", _of_held(lambda lease: lease.id)),
        Column("expires", _of_held(lambda lease: moment(lease.expires_at))),
        Column("epoch", lambda line: line.issue.lease_epoch),
        Column("recoveries", lambda line: line.issue.recoveries),
        Column("deadline", lambda line: _moment(line.issue.deadline_at)),
        Column("next", lambda line: line.issue.next_best_action),
        Column("reason", lambda line: line.issue.blocked_reason),
        Column("created", lambda line: moment(line.issue.created_at)),
        Column("updated", lambda line: moment(line.issue.updated_at)),
    ),
    _issues,
)

PLANS: Final[Table[PlanLine]] = Table(
    "plans",
    (
        Column("plan", lambda line: line.row.row_id),
        Column("state", lambda line: line.row.looks.word),
        Column("action", lambda line: line.row.action),
        Column("app", lambda line: line.row.app),
        Column("version", lambda line: line.row.version),
        Column("asked by", lambda line: line.row.asked_by),
        Column("since", lambda line: _moment(since_ms(line.seen))),
        Column("operation", lambda line: line.seen.operation_id if isinstance(line.seen, Standing) else None),
    ),
    _plans,
)
"""What an export tells of each list."""
