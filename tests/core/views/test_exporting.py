"""Exports read back: by the standard library, by a Markdown parser, and by somebody who opens them in a spreadsheet."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from phelix_core.checks import Surface
from phelix_core.clock import Moment
from phelix_core.commands.environment import Environment
from phelix_core.envelope import redacted
from phelix_core.queue.model import Lease
from phelix_core.sessions.model import Checkpoint
from phelix_core.strictjson import loads, plain
from phelix_core.text import SafeStr
from phelix_core.views.arc.rows import plan_row
from phelix_core.views.exporting import (
    FORMS,
    ISSUES,
    PLANS,
    SESSIONS,
    IssueLine,
    PlanLine,
    SessionLine,
    Table,
    exported,
)
from phelix_core.views.queue.rows import issue_row
from phelix_core.views.rows import BadRecord, Found, row_of
from phelix_core.views.shown import shown
from tests.core.arc.stage import APPROVED_FIRST, declare, put_policy
from tests.core.test_issue_filter import lease
from tests.core.test_views import is_safe
from tests.core.views.test_ordering import NOW, issue, summary
from tests.rig import FixedClock, did, environment

HOUR = 3_600_000
SECRET = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6"
FORMULAS = (
    "=1+1",
    "+1",
    "-2+3|cmd",
    "@SUM(1)",
    "\t=1",
    "\r=1",
    "  =1",
    "\n=1",
    "\ttab",
    "\rreturn",
    "\uff1d1",
    "\uff0d1",
)
STARTS = "=+-@\t\r\uff1d\uff0b\uff0d\uff20"
HOSTILE = (
    *FORMULAS,
    *(
        "a,b",
        'say "no"',
        '"',
        "'",
        "a;=1",
        "x\r\ny",
        "a|b",
        "\\",
        "a\\|b",
        "\\|",
        "`code`",
        "``",
        "*b*",
        "__b__",
        "a_b",
    ),
    *("_x_", "![i](http://x.invalid/i.png)", "[l](javascript:x)", "<b>", "<!-- ", "&lt;", "~~s~~", "$x$", "# h", "---"),
    *("\x1b[2J", "\x1b]52;c;cHdu\x07", "\x9b31m", "\u202egnp", "\0", "\u2028", "\ufeff=1", "清理", "👩\u200d👧", ""),
    *(" lead", "trail ", f"token {SECRET}"),
)
TABLES: list[Table[Any]] = [SESSIONS, ISSUES, PLANS]
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(HOSTILE)


def session_line(found: Found, session_id: str = "ses_00000000000000aa") -> SessionLine:
    return SessionLine(row_of(session_id, found, NOW, HOUR), found)


def of_text(text: str) -> SessionLine:
    """A session with `text` wherever it has text."""
    point = Checkpoint(step=text or None, note=text or None, at_ms=NOW, seq=1)
    return session_line(summary(0xAA, text or None, project=text, app=text, checkpoint=point, final_result=text))


def issue_line(text: str, held: Lease | None = None) -> IssueLine:
    one = issue(1, task=text, next_best_action=text, blocked_reason=text, deadline_at=NOW)
    at = Moment(wall_ms=NOW, mono_ms=0, boot="this")
    return IssueLine(issue_row(one, held, at, milestone=text, gate=SafeStr("")), one, held)


def read_csv(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


def read_markdown(text: str) -> list[list[str]]:
    """Rows of cells; anything in a cell but text is an error."""
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    assert tokens[0].type == "table_open"
    assert tokens[-1].type == "table_close"
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            assert {one.type for one in token.children or ()} <= {"text", "text_special"}, token
            rows[-1].append("".join(one.content for one in token.children or ()))
    return rows


def told(line: Any, table: Table[Any]) -> list[str]:
    """A line's cells as a person may see them."""
    cells = [column.tell(line) for column in table.columns]
    return ["" if cell is None else shown(cell) if isinstance(cell, str) else str(cell) for cell in cells]


def guarded(raw: object, cell: str) -> str:
    """The cell of a spreadsheet: what it could take for a formula stands behind an apostrophe."""
    text = raw if isinstance(raw, str) else ""
    begins = (text, text.strip(), cell.strip())
    return f"'{cell}" if any(one.startswith(tuple(STARTS)) for one in begins) else cell


def csv_cells(line: Any, table: Table[Any]) -> list[str]:
    raw = [column.tell(line) for column in table.columns]
    return [guarded(one, cell) for one, cell in zip(raw, told(line, table), strict=True)]


@given(st.lists(TEXTS, max_size=4))
@example(list(HOSTILE))
def test_a_csv_of_any_sessions_reads_back_cell_by_cell(texts: list[str]) -> None:
    lines = [of_text(text) for text in texts]
    text = exported(SESSIONS, "csv", lines)
    assert read_csv(text) == [
        [column.name for column in SESSIONS.columns],
        *(csv_cells(one, SESSIONS) for one in lines),
    ]
    assert is_safe(text.replace("\r\n", ""))
    assert text.count("\r\n") == len(lines) + 1, "a line of names and one a session"


@given(st.lists(TEXTS, max_size=4))
@example(list(HOSTILE))
def test_a_markdown_table_of_any_sessions_reads_back_cell_by_cell(texts: list[str]) -> None:
    lines = [of_text(text) for text in texts]
    text = exported(SESSIONS, "md", lines)
    expected = [[column.name for column in SESSIONS.columns], *(told(one, SESSIONS) for one in lines)]
    assert read_markdown(text) == [[cell.strip() for cell in row] for row in expected]
    assert is_safe(text, block=True)
    assert text.count("\n") == len(lines) + 2


@given(st.lists(TEXTS, max_size=4))
@example(list(HOSTILE))
def test_a_json_of_any_sessions_holds_the_members_of_each(texts: list[str]) -> None:
    lines = [of_text(text) for text in texts]
    document: Any = loads(exported(SESSIONS, "json", lines).encode())
    assert document["sessions"] == [redacted(plain(line.found)) for line in lines]
    assert (document["count"], document["unreadable"]) == (len(lines), [])


@given(st.lists(TEXTS, max_size=3), st.none() | TEXTS)
def test_issues_read_back_from_each_form(texts: list[str], agent: str | None) -> None:
    held = None if agent is None else lease(agent_id=agent, host=agent)
    lines = [issue_line(text, held) for text in texts]
    assert read_csv(exported(ISSUES, "csv", lines))[1:] == [csv_cells(one, ISSUES) for one in lines]
    expected = [[cell.strip() for cell in told(one, ISSUES)] for one in lines]
    assert read_markdown(exported(ISSUES, "md", lines))[1:] == expected
    document: Any = loads(exported(ISSUES, "json", lines).encode())
    assert document == {
        "issues": [redacted({**plain(one.issue), "lease": plain(held)}) for one in lines],
        "count": len(lines),
    }


def test_a_naive_table_of_the_same_texts_is_torn_or_marked_up() -> None:
    def naive(line: SessionLine, joint: str) -> str:
        return joint.join(told(line, SESSIONS))

    width = len(SESSIONS.columns)
    lines = [of_text(text) for text in HOSTILE if '"' not in text]
    assert [row for line in lines for row in read_csv(naive(line, ",")) if len(row) != width]
    head = exported(SESSIONS, "md", [])
    marked = 0
    for line in lines:
        try:
            marked += read_markdown(f"{head}| {naive(line, ' | ')} |\n")[1] != [
                one.strip() for one in told(line, SESSIONS)
            ]
        except AssertionError:
            marked += 1
    assert marked >= 8


@pytest.mark.parametrize("number", range(len(FORMULAS)))
def test_no_cell_begins_a_formula(number: int) -> None:
    text = exported(SESSIONS, "csv", [of_text(FORMULAS[number])])
    (cells,) = read_csv(text)[1:]
    title = cells[[column.name for column in SESSIONS.columns].index("title")]
    assert title.startswith("'")
    assert [cell for cell in cells if cell.strip()[:1] in {*STARTS}] == []


@pytest.mark.parametrize("text", ["a=1", "1+1", "'=1", "ses_1", "−1", "a\t=1"])
def test_text_that_begins_no_formula_is_left_alone(text: str) -> None:
    assert csv_cells(of_text(text), SESSIONS) == told(of_text(text), SESSIONS)
    assert read_csv(exported(SESSIONS, "csv", [of_text(text)]))[1] == told(of_text(text), SESSIONS)


@pytest.mark.parametrize("form", FORMS)
def test_no_form_holds_a_secret_and_the_same_rows_are_the_same_text(form: str) -> None:
    secret = f"token {SECRET}"
    texts = [
        exported(SESSIONS, form, [of_text(secret)]),
        exported(ISSUES, form, [issue_line(secret, lease(agent_id=secret, host=secret))]),
    ]
    assert [text for text in texts if SECRET[4:20] in text] == []
    assert all("REDACTED" in text for text in texts)
    assert texts[0] == exported(SESSIONS, form, iter([of_text(secret)]))


@pytest.mark.parametrize("form", FORMS)
def test_a_list_of_nothing_is_a_whole_export(form: str) -> None:
    for table in TABLES:
        text = exported(table, form, [])
        read: dict[str, Any] = {"json": json.loads, "csv": read_csv, "md": read_markdown}
        assert read[form](text)
        assert text.endswith("\n")


def test_names_of_columns_differ_and_are_plain_words() -> None:
    for table in TABLES:
        names = [column.name for column in table.columns]
        assert len(set(names)) == len(names)
        assert [name for name in names if not name.replace(" ", "").isalpha()] == []


def test_a_record_that_cannot_be_read_is_told_with_its_code_and_what_was_last_read_well() -> None:
    good = summary(0xAA, "was good")
    lines = [
        session_line(BadRecord("SESSION_CORRUPT", good)),
        session_line(BadRecord("SESSION_INVALID"), "ses_00000000000000bb"),
    ]
    document: Any = json.loads(exported(SESSIONS, "json", lines))
    assert document == {
        "sessions": [],
        "count": 0,
        "truncated": False,
        "unreadable": [
            {"file": "ses_00000000000000aa.json", "code": "SESSION_CORRUPT"},
            {"file": "ses_00000000000000bb.json", "code": "SESSION_INVALID"},
        ],
    }
    names, *rows = read_csv(exported(SESSIONS, "csv", lines))
    told = [dict(zip(names, row, strict=True)) for row in rows]
    assert [(one["state"], one["title"], one["unreadable"]) for one in told] == [
        ("unreadable", "was good", "SESSION_CORRUPT"),
        ("unreadable", "", "SESSION_INVALID"),
    ]


def test_the_json_of_the_fleet_is_what_the_list_answers(env: Environment) -> None:
    did(env, "session create", title="one", app="billing")
    second = did(env, "session create", title="two")
    did(env, "session checkpoint", session_id=second.session_id, step="deploy")
    answer = did(env, "session list")
    lines = [session_line(found, found.session_id) for found in answer.sessions]
    assert json.loads(exported(SESSIONS, "json", lines)) == plain(answer)


def test_what_is_not_held_tells_no_lease_and_a_released_one_holds_nothing() -> None:
    names, held, released = read_csv(
        exported(ISSUES, "csv", [issue_line("t", lease(host="h")), issue_line("t", lease(host="h", status="released"))])
    )
    assert dict(zip(names, held, strict=True))["host"] == "h"
    assert dict(zip(names, released, strict=True))["host"] == ""


def test_plans_read_back_from_each_form(env: Environment, data_dir: Path, clock: FixedClock) -> None:
    declare(data_dir)
    put_policy(data_dir, APPROVED_FIRST)
    plan = did(env, "plan create", action="deploy", app="shop", to="1.4.0", reason=f"token {SECRET}")
    (data_dir / "plans" / "pln_00000000000000ff.json").write_text("=1")
    board = did(environment(data_dir, clock, Surface.TUI), "arc board")
    lines = [PlanLine(plan_row(seen, clock.now_ms()), seen) for seen in (*board.plans, *board.bad)]
    assert len(lines) == 2
    document: Any = json.loads(exported(PLANS, "json", lines))
    assert document["plans"] == redacted(plain(board.plans))
    assert [one["file"] for one in document["unreadable"]] == ["pln_00000000000000ff.json"]
    names, first, second = read_csv(exported(PLANS, "csv", lines))
    shown = dict(zip(names, first, strict=True))
    assert (shown["plan"], shown["state"], shown["action"], shown["app"], shown["version"]) == (
        *(plan.plan_id, "waits", "deploy", "shop", "1.3.0 → 1.4.0"),
    )
    assert dict(zip(names, second, strict=True))["state"] == "unreadable"
    assert read_markdown(exported(PLANS, "md", lines))[1:] == [first, second]
    assert not [form for form in FORMS if SECRET[4:20] in exported(PLANS, form, lines)]


def test_a_session_that_went_stale_is_told_by_state_and_by_status() -> None:
    told = summary(0xAA, "t")
    line = SessionLine(row_of("ses_00000000000000aa", told, NOW + 2 * HOUR, HOUR), told)
    assert read_csv(exported(SESSIONS, "csv", [line]))[1][1:3] == ["stale", "active"]
