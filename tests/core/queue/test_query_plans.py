"""How the engine finds rows: every question of the working verbs goes by an index, and none reads all issues."""

from typing import Any

import pytest

from tests.core.queue.desk import HOST, REPORT, Desk, milestone, work
from tests.rig import refused

Asked = list[tuple[str, Any]]


@pytest.fixture
def crowd(desk: Desk) -> Desk:
    gpu = {"dispatch": {"workloadClass": "gpu"}}
    desk.open().plan(
        milestone("m", *(work(f"a{n}", *([n - 1] if n % 3 else [])) for n in range(60))),
        milestone("n", *(work(f"b{n}", policy=gpu) for n in range(60)), after=("m",)),
    )
    return desk.campaign_of("second").plan(milestone("o", *(work(f"c{n}", policy=gpu) for n in range(60))))


def asked_by(desk: Desk, verb: str, **raw: object) -> Asked:
    """Every question that a verb asked, with its values."""
    connection = desk.connection
    found: Asked = []

    def note(_: object, sql: str, values: Any) -> bool:
        if sql.startswith(("SELECT", "WITH", "UPDATE")):
            found.append((sql, values))
        return True

    connection.exec_trace = note
    try:
        desk.run(verb, raw)
    finally:
        connection.exec_trace = None
    return found


def plans_of(desk: Desk, asked: Asked) -> list[tuple[str, list[str]]]:
    db = desk.writer
    return [(sql, [str(row[3]) for row in db.ask(f"EXPLAIN QUERY PLAN {sql}", values)]) for sql, values in asked]


SMALL = ("campaigns", "projects", "workspaces", "lane", "CONSTANT ROW", "(subquery")
"""What is a handful of rows however much work there is."""


@pytest.mark.parametrize("analysed", [False, True])
def test_no_working_verb_reads_a_whole_table(crowd: Desk, analysed: bool) -> None:  # noqa: FBT001 - a case
    if analysed:
        crowd.writer.ask("ANALYZE")
    context = crowd.claim("a0", artifacts=["diff=a"])
    crowd.claim("a3", agent="gone", ttl=60)
    crowd.claim("a6", agent="eve", ttl=8_000)
    held = {"lease": context["leaseId"]}
    asked = [
        *asked_by(crowd, "claim", **HOST, agent="ann"),
        *asked_by(crowd, "claim", **HOST, campaign="first"),
        *asked_by(crowd, "claim", **HOST, issue_id=crowd.ids["a9"]),
        *asked_by(crowd, "claim", **HOST, campaign="second"),
        *asked_by(crowd, "checkpoint", **held, status="in_progress", **REPORT),
        *asked_by(crowd, "heartbeat", **held),
        *asked_by(crowd, "close", **held, status="done", **REPORT),
        *asked_by(crowd, "promote"),
        *asked_by(crowd, "promote", campaign="first"),
    ]
    crowd.clock.advance(60)
    asked += [
        *asked_by(crowd, "reconcile"),
        *asked_by(crowd, "reconcile", campaign="first"),
        *asked_by(crowd, "claim", **HOST),
        *asked_by(crowd, "recover", resolution="resume", **HOST),
        *asked_by(crowd, "rollback", issue_id=crowd.ids["a0"], reason="r"),
    ]
    assert len({sql for sql, _ in asked}) > 30
    for sql, steps in plans_of(crowd, asked):
        scans = [step for step in steps if step.startswith("SCAN") and not step.removeprefix("SCAN ").startswith(SMALL)]
        assert scans == [] or "max(seq)" in sql, (sql, steps)


INDEXES = {
    "issues_ready": ("campaign_id IS ?", "route = ?"),
    "issues_rank_due": ("rank_due_at <= ?",),
    "issues_promotable": ("promotable = 1",),
    "issues_needs_recovery": ("status = 'needs_recovery'",),
    "issues_in_progress": ("status = 'in_progress' AND", "NOT EXISTS"),
    "leases_active_in": ("FROM leases WHERE", "deadline_mono"),
    "leases_active": ("SELECT 1 FROM leases l",),
}


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("analysed", [False, True])
def test_each_question_of_a_claim_goes_by_its_partial_index(crowd: Desk, index: str, analysed: bool) -> None:  # noqa: FBT001 - a case
    if analysed:
        crowd.writer.ask("ANALYZE")
    plans = plans_of(crowd, asked_by(crowd, "claim", **HOST))
    found = [(sql, steps) for sql, steps in plans if all(word in sql for word in INDEXES[index])]
    assert found
    for sql, steps in found:
        assert any(f"INDEX {index} " in step for step in steps), (sql, steps)


def test_routes_are_hopped_over_and_claim_order_needs_no_sorting(crowd: Desk) -> None:
    plans = plans_of(crowd, asked_by(crowd, "claim", **HOST))
    routes = [steps for sql, steps in plans if sql.startswith("SELECT route FROM issues")]
    first = [steps for sql, steps in plans if "route = ?" in sql]
    assert routes
    assert all(any("INDEX issues_ready" in step for step in steps) for steps in routes)
    assert first
    assert not any("TEMP B-TREE" in step for steps in first for step in steps)


def test_a_claim_looks_at_no_issue_that_its_host_may_not_take(crowd: Desk) -> None:
    """However many others wait: the rows of another class are counted nowhere in what is asked."""
    error = refused(crowd.env, "queue claim", **HOST, campaign="second")
    assert (error["code"], len(error["details"]["candidates"])) == ("HOST_MISMATCH", 3)
    asked = asked_by(crowd, "claim", **HOST)
    assert not [values for sql, values in asked if "route = ?" in sql and "gpu" in str(values)]
