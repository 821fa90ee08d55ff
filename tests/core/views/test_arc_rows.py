"""Plans and operations as rows, pages and causes: order, words, and nothing of a record that a terminal would obey."""

import pytest

from phelix_core.arc.applicability import EXECUTION, Facts, applicability_of
from phelix_core.arc.applications import decode_application, execution_of
from phelix_core.arc.approvals import Approval
from phelix_core.arc.board import ArcBoard, BadFile, BoardOperation, Seen
from phelix_core.arc.model import Actor, Plan, Precondition
from phelix_core.arc.operations import FAILED, INDETERMINATE, RUNNING, SUCCEEDED, Operation, begun, finished
from phelix_core.arc.policies import Policy, decode_policy
from phelix_core.arc.standing import Execution, PolicyTold, Standing, standing_of
from phelix_core.views.arc.attention import arc_causes
from phelix_core.views.arc.rows import STATES, plan_row, row_id_of, sort_key, stale_reason, state_of, subject_of
from phelix_core.views.arc.story import facts_of, headline, plan_story
from tests.core.arc.samples import policy_text, rule, sample_approval, sample_operation, sample_plan

MINUTE = 60_000
NOW = 10 * MINUTE
DECLARED = 'name = "billing"\nversion = "{0}"\nversions = ["1", "2"]\n[deploy]\ncommand = ["./deploy", "{{version}}"]\n'
APPLICATION = decode_application(DECLARED.format("1").encode(), "billing")
APPROVED_FIRST = decode_policy(policy_text(rule(require_approval=True)))


def plan(number: int = 1, at_ms: int = 0, application: str = "billing", **changed: object) -> Plan:
    return sample_plan(
        f"pln_{number:016x}",
        application,
        at_ms,
        actor=Actor(type="mcp", id=None, authenticated=False),
        inputs={"version": "2"},
        execution=execution_of(APPLICATION, "deploy", "2"),
        preconditions=[Precondition(type="current_version", expected="1", source="operations")],
        capabilities=("deploy",),
        **changed,
    )


def standing(
    of: Plan,
    *,
    current: str = "1",
    policy: Policy | None = APPROVED_FIRST,
    approval: Approval | None = None,
    operation: Operation | None = None,
    status: str | None = None,
) -> Standing:
    facts = Facts(application=APPLICATION, current_version=current)
    execution = Execution(operation_id="op_0", operation=operation, status=status or (operation and operation.status))
    return standing_of(of, applicability_of(of, facts, NOW), approval, policy, execution)


def ended(of: Plan, status: str, at_ms: int) -> Standing:
    return standing(of, operation=finished(begun(sample_operation(of, 0), 0), status, at_ms))


def test_rows_stand_in_the_order_of_what_they_want_from_a_person() -> None:
    seen: list[Seen] = [
        ended(plan(1), FAILED, 3 * MINUTE),
        ended(plan(2), SUCCEEDED, 4 * MINUTE),
        standing(plan(3), approval=sample_approval(plan(3))),
        standing(plan(4), policy=decode_policy(policy_text())),
        standing(plan(5), current="2"),
        standing(plan(6), operation=begun(sample_operation(plan(6)), 1)),
        BadFile(folder="plans", file="pln_0000000000000007.json", code="PLAN_CORRUPT"),
        standing(plan(8), operation=begun(sample_operation(plan(8)), 1), status=INDETERMINATE),
        standing(plan(9, at_ms=2 * MINUTE)),
        standing(plan(10, at_ms=MINUTE)),
    ]
    ordered = sorted(seen, key=sort_key)
    assert [int(row_id_of(one)[-2:], 16) for one in ordered] == [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]
    assert [state_of(one) for one in ordered[:4]] == ["waiting", "waiting", "indeterminate", "unreadable"]
    assert {state_of(one) for one in seen} <= STATES.keys()


def test_a_row_says_what_from_which_version_to_which_by_whom_and_since_when() -> None:
    row = plan_row(standing(plan(at_ms=3 * MINUTE)), NOW)
    assert (row.looks.glyph, row.looks.word) == ("◆", "waits")
    assert (row.tail, row.action, row.app, row.version, row.asked_by, row.since) == (
        "…00000001", "deploy", "billing", "1 → 2", "mcp", "7m",
    )  # fmt: skip
    approved = standing(plan(), approval=sample_approval(plan()))
    assert headline(approved, NOW).startswith("APPROVED 9m 59s ago: cli and mcp may apply it")


def test_a_row_of_an_operation_alone_and_one_of_a_bad_file_say_what_they_are() -> None:
    alone = BoardOperation(operation=begun(sample_operation(plan()), 0), status=RUNNING)
    assert plan_row(alone, NOW).app == "billing"
    assert subject_of(alone) == "deploy billing"
    assert ("operation", alone.operation.id, "") in list(facts_of(alone))
    bad = BadFile(folder="ops", file="op_0000000000000001.json", code="OPERATION_CORRUPT")
    row = plan_row(bad, NOW)
    assert (row.row_id, row.app, row.since, row.looks.word) == (
        "op_0000000000000001", "OPERATION_CORRUPT", "", "unreadable",
    )  # fmt: skip


def test_every_state_has_a_glyph_and_a_word_of_its_own_so_that_none_is_told_by_colour() -> None:
    assert len({looks.word for looks in STATES.values()}) == len(STATES)
    assert all(looks.glyph and looks.role for looks in STATES.values())


def test_what_is_stale_says_in_words_what_differs_the_plainest_first() -> None:
    assert stale_reason(standing(plan(), current="2")) == "current_version is 2, expected 1"
    assert stale_reason(standing(plan())) == ""
    other = sample_plan(inputs={"version": "2"}, execution={"argv": ["./other"]}, capabilities=("deploy",))
    told = standing(other)
    assert stale_reason(told) == "it would run something else than app.toml declares"
    assert any((mark.name, mark.glyph) == (EXECUTION, "✗") for mark in plan_story(told).checks)
    needs = plan(2, action="rollback")
    assert "the application declares no rollback" in stale_reason(standing(needs))


def test_a_story_tells_each_fact_as_it_was_and_as_it_is_and_what_each_asker_is_told() -> None:
    told = plan_story(standing(plan(), current="2"))
    assert told.arguments == ("./deploy", "2")
    assert [(mark.glyph, mark.name, mark.told) for mark in told.checks] == [
        ("✗", "current_version", "expected 1, is 2 now"),
        ("✓", "execution", "as declared"),
    ]
    assert [(mark.glyph, mark.name) for mark in told.rulings] == [("◆", "cli"), ("◆", "mcp")]
    assert told.approval.told == "none"
    without = plan_story(standing(plan(), policy=None))
    assert [(mark.glyph, mark.name) for mark in without.rulings] == [("✓", "cli"), ("■", "mcp")]


def test_of_what_was_executed_nothing_is_told_as_if_it_could_be_again() -> None:
    told = plan_story(ended(plan(), SUCCEEDED, MINUTE))
    assert told.tense == "ran"
    assert told.rulings == ()
    assert told.capabilities == ()
    assert {mark.glyph for mark in told.checks} == {"·"}
    assert ("health", "not looked at", "muted") in told.operation


def test_an_approval_of_another_content_is_told_as_good_for_nothing() -> None:
    told = plan_story(standing(plan(), approval=sample_approval(plan(2))))
    assert told.approval.glyph == "✗"
    assert told.approval.told.startswith("APPROVAL_STALE, given 1970-01-01")


def test_each_cause_is_one_row_and_an_unusable_policy_is_one_by_itself() -> None:
    waits, dead = standing(plan(1)), standing(plan(2), operation=sample_operation(plan(2)), status=INDETERMINATE)
    bad = BadFile(folder="plans", file="pln_0000000000000007.json", code="PLAN_CORRUPT")
    board = ArcBoard(
        plans=(waits, dead, standing(plan(3), current="2")),
        operations=(),
        bad=(bad,),
        policy=PolicyTold(state="AUTHZ_INVALID", reason="It is no policy."),
    )
    causes = list(arc_causes(board, (*board.plans, bad), NOW))
    assert [(one.kind, one.about, one.opens) for one in causes] == [
        ("policy", "", "plans"),
        ("approval", "pln_0000000000000001", "plan"),
        ("operation", "pln_0000000000000002", "plan"),
        ("file", "pln_0000000000000007", "plan"),
    ]
    assert causes[1].reason == "wants an approval, asked by mcp"


@pytest.mark.parametrize("text", ["\x1b[31mx", "a\nb", "\u202ex", "\x9bx"], ids=["escape", "newline", "bidi", "c1"])
def test_no_text_of_a_record_reaches_a_row_or_a_page_as_it_is(text: str) -> None:
    hostile = sample_plan(
        application=text,
        inputs={"version": text, text: text, "reason": text},
        execution={"argv": [text], "folder": text, "environment": [text], "time_limit_seconds": 5},
        target={text: text},
        preconditions=[Precondition(type=text, expected=text)],
        capabilities=(text,),
        actor=Actor(type=text, id=text, authenticated=False),
    )
    seen = standing(hostile)
    row, told = plan_row(seen, NOW), plan_story(seen)
    said = [row.app, row.version, row.asked_by, row.action, headline(seen, NOW), subject_of(seen), told.command]
    said += [told.asked, told.approval.told, *(told.arguments or ()), *(value for _, value in told.about)]
    said += [value for _, value in told.running]
    said += [part for mark in (*told.checks, *told.capabilities, *told.rulings) for part in (mark.name, mark.told)]
    assert all(text not in one and one.isprintable() for one in said), said
