"""Every status by every verb, against the table of the queue page; and what a milestone makes of its issues."""

from itertools import product
from typing import Any

import pytest

from phelix_core.queue.gates import is_done, milestone_status
from phelix_core.queue.model import TASK_STATUSES
from tests.core.queue.desk import HOST, REPORT, Desk, milestone, work
from tests.rig import refused

ENDS = ("in_progress", "blocked", "needs_recovery", "done", "failed")
BY_CHECKPOINT = {
    "in_progress": {"in_progress", "blocked", "done", "failed", "needs_recovery"},
    "blocked": {"blocked", "in_progress", "done", "failed", "needs_recovery"},
    "done": {"done"},
    "failed": {"failed"},
}
BY_CLOSE = {
    "in_progress": {"done", "failed", "blocked", "needs_recovery", "ready"},
    "blocked": {"blocked", "done", "failed", "needs_recovery"},
    "done": {"done"},
    "failed": {"failed"},
}
REFUSED = "QUEUE_INVALID_TRANSITION"
BY_OPERATOR: dict[str, dict[str, str]] = {
    "unblock": {"blocked": "ready"},
    "retry": {"failed": "ready"},
    "rollback": dict.fromkeys(TASK_STATUSES, "pending"),
    "requeue": {"needs_recovery": "ready"},
    "block": {"needs_recovery": "blocked"},
    "fail": {"needs_recovery": "failed"},
}


@pytest.mark.parametrize(("start", "to"), list(product(BY_CHECKPOINT, ENDS)))
def test_a_holder_checkpoints_as_the_table_says(desk: Desk, start: str, to: str) -> None:
    desk.open().plan(milestone("m", "a"))
    context = desk.claim("a")
    desk.say(context, start)
    if to in BY_CHECKPOINT[start]:
        assert desk.say(context, to)["context"]["currentTaskStatus"] == to
        assert desk.issue("a") == to
        active = "needs_recovery" if to == "needs_recovery" else "active"
        assert desk.lease(context["leaseId"]) == active
    else:
        error = desk.no("checkpoint", lease=context["leaseId"], status=to, **REPORT)
        assert (error["code"], error["details"]["from"], error["details"]["to"]) == (REFUSED, start, to)


@pytest.mark.parametrize(
    ("start", "to"), list(product(BY_CLOSE, ("done", "failed", "blocked", "needs_recovery", "ready")))
)
def test_a_holder_closes_as_the_table_says(desk: Desk, start: str, to: str) -> None:
    desk.open().plan(milestone("m", "a"))
    context = desk.claim("a", artifacts=["diff=a.patch"])
    desk.say(context, start)
    if to not in BY_CLOSE[start]:
        assert desk.no("close", lease=context["leaseId"], status=to, **REPORT)["code"] == REFUSED
        return
    desk.close(context, to)
    assert desk.issue("a") == to
    assert desk.lease(context["leaseId"]) == ("needs_recovery" if to == "needs_recovery" else "released")
    assert desk.one("SELECT status FROM artifacts") == "released"
    assert desk.one("SELECT finished_at IS NOT NULL FROM runs WHERE id = ?", context["runId"]) == 1


@pytest.mark.parametrize(("word", "verb"), list(product(("pending", "ready", "in_progress"), ("checkpoint", "close"))))
def test_words_that_a_verb_never_sets_are_refused_with_the_way_there_is(desk: Desk, word: str, verb: str) -> None:
    desk.open().plan(milestone("m", "a"))
    context = desk.claim("a")
    if (verb, word) in {("checkpoint", "in_progress"), ("close", "ready")}:
        return
    error = desk.no(verb, lease=context["leaseId"], status=word, **REPORT)
    assert error["code"] == "INVALID_ARGUMENT"
    assert word == "pending" or error["hint"]


@pytest.mark.parametrize(("start", "verb"), list(product(TASK_STATUSES, BY_OPERATOR)))
def test_an_operator_moves_an_issue_as_the_table_says(desk: Desk, start: str, verb: str) -> None:
    desk.open().plan(milestone("m", "a"))
    desk.go("a", start)
    assert desk.issue("a") == start
    raw: dict[str, Any] = {"issue_id": desk.ids["a"], "reason": "because"}
    name = verb
    if verb in ("requeue", "block", "fail"):
        name, raw = "recover", {**raw, "resolution": verb}
    to = BY_OPERATOR[verb].get(start)
    if to is None:
        assert desk.no(name, **raw)["code"] == REFUSED
        return
    epoch, before = desk.issue("a", "lease_epoch"), desk.titles("a")
    assert desk.do(name, **raw)["newStatus"] == to
    assert desk.issue("a") == to
    assert len(desk.titles("a")) == len(before) + 1
    assert desk.issue("a", "lease_epoch") == epoch
    assert desk.ask("SELECT id FROM leases WHERE status IN ('active', 'needs_recovery')") == []


@pytest.mark.parametrize("start", TASK_STATUSES)
def test_a_claim_takes_what_is_ready_alone(desk: Desk, start: str) -> None:
    desk.open().plan(milestone("m", "a", work("b")))
    desk.go("a", start)
    if start in ("ready", "pending"):  # promoted at the begin: every gate of it is open
        assert desk.claim("a", agent="eve")["claimMode"] == "claim"
    else:
        expected = "RECOVERY_REQUIRED" if start == "needs_recovery" else "ISSUE_NOT_CLAIMABLE"
        assert desk.unclaimed("a", agent="eve")["code"] == expected
        assert desk.issue("a") == start


@pytest.mark.parametrize("start", TASK_STATUSES)
def test_a_take_over_is_for_what_needs_recovery_alone(desk: Desk, start: str) -> None:
    desk.open().plan(milestone("m", "a"))
    desk.go("a", start)
    raw = {"issue_id": desk.ids["a"], "resolution": "resume", **HOST, "agent": "eve"}
    if start == "needs_recovery":
        assert desk.do("recover", **raw)["claimMode"] == "recovery"
        assert desk.issue("a", "status, recoveries, lease_epoch") == ("in_progress", 1, 2)
    else:
        assert desk.no("recover", **raw)["code"] == "ISSUE_NOT_CLAIMABLE"


@pytest.mark.parametrize("start", TASK_STATUSES)
def test_draining_and_undraining_touch_what_waits_alone(desk: Desk, start: str) -> None:
    desk.open().plan(milestone("m", "a"))
    desk.go("a", start)
    moves = start in ("pending", "ready")
    drained = desk.do("drain", campaign_id="first", reason="holiday")
    assert drained["blockedIssueIds"] == ([desk.ids["a"]] if moves else [])
    assert desk.issue("a") == ("blocked" if moves else start)
    assert desk.no("drain", campaign_id="first", reason="again")["code"] == REFUSED
    back = desk.do("undrain", campaign_id="first", reason="back")
    assert back["unblockedIssueIds"] == drained["blockedIssueIds"]
    assert desk.issue("a") == ("ready" if moves else start)
    assert desk.no("undrain", campaign_id="first", reason="again")["code"] == REFUSED


@pytest.mark.parametrize("start", TASK_STATUSES)
def test_archiving_ends_leases_and_puts_their_issues_back(desk: Desk, start: str) -> None:
    desk.open().plan(milestone("m", "a"))
    desk.go("a", start)
    desk.do("archive", campaign_id="first", reason="over")
    assert desk.issue("a") == ("pending" if start in ("in_progress", "needs_recovery") else start)
    assert desk.ask("SELECT id FROM leases WHERE status IN ('active', 'needs_recovery')") == []
    desk.clock.advance(100_000)
    assert desk.do("reconcile") == {"needsRecovery": [], "failed": [], "released": []}
    for more in ({}, {"campaign": "first"}, {"issue_id": desk.ids["a"]}):
        error = refused(desk.env, "queue claim", **HOST, **more)
        assert error["code"] in ("NOTHING_READY", "ISSUE_NOT_CLAIMABLE")
    assert desk.no("archive", campaign_id="first", reason="again")["code"] == REFUSED
    assert desk.issue("a") != "in_progress"


@pytest.mark.parametrize("start", TASK_STATUSES)
def test_reconciling_leaves_healthy_issues_of_every_status_alone(desk: Desk, start: str) -> None:
    desk.open().plan(milestone("m", "a"))
    desk.go("a", start)
    before = desk.content()
    assert desk.do("reconcile") == {"needsRecovery": [], "failed": [], "released": []}
    assert desk.content() == before


@pytest.mark.parametrize("way", ["handoff", "requeue", "retry", "unblock", "undrain"])
def test_work_that_is_put_back_lands_in_pending_where_a_gate_has_closed_meanwhile(desk: Desk, way: str) -> None:
    desk.open().plan(milestone("m", "a", work("b", 0)))
    desk.close(desk.claim("a"))
    context: Any = None
    if way == "undrain":
        desk.do("drain", campaign_id="first", reason="holiday")
    else:
        context = desk.claim("b")
        if way != "handoff":
            desk.close(context, {"requeue": "needs_recovery", "retry": "failed", "unblock": "blocked"}[way])
    desk.do("rollback", issue_id=desk.ids["a"], reason="wrong")
    if way == "handoff":
        desk.close(context, "ready")
    elif way == "undrain":
        desk.do("undrain", campaign_id="first", reason="back")
    else:
        more = {"resolution": "requeue"} if way == "requeue" else {}
        desk.do("recover" if way == "requeue" else way, issue_id=desk.ids["b"], reason="on", **more)
    gate = f"issue_dependency:{desk.ids['a']}"
    assert desk.issue("b", "status, blocked_reason, promotable") == ("pending", gate, 0)
    if way == "undrain":
        desk.do("promote")
    desk.close(desk.claim("a", agent="again"))
    assert desk.issue("b", "status, blocked_reason") == ("ready", None)


def test_rolling_back_what_is_done_takes_back_what_it_opened_and_tells_what_goes_on(desk: Desk) -> None:
    desk.open().plan(
        milestone("m", "a", work("ready", 0), work("runs", 0), work("done", 0)),
        milestone("n", "behind", "behind runs", after=("m",)),
    )
    desk.close(desk.claim("a"))
    for task in ("done", "runs", "ready"):
        desk.close(desk.claim(task))
    desk.do("rollback", issue_id=desk.ids["ready"], reason="first")
    desk.do("promote")
    desk.close(desk.claim("ready"))
    desk.claim("behind runs", agent="bob")
    desk.do("rollback", issue_id=desk.ids["runs"], reason="second")
    assert desk.issue("behind") == "pending"
    desk.do("promote")
    desk.claim("runs", agent="eve")
    told = desk.do("rollback", issue_id=desk.ids["a"], reason="wrong")
    assert told["returnedIssueIds"] == []
    assert told["goingOnIssueIds"] == [desk.ids["runs"], desk.ids["behind runs"]]
    assert desk.statuses() == {
        "a": "pending", "ready": "done", "runs": "in_progress", "done": "done", "behind": "pending",
        "behind runs": "in_progress",
    }  # fmt: skip


def test_an_issue_marked_but_not_promoted_loses_its_mark_when_its_gate_closes(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a", work("b", 0)))
    desk.say(desk.claim("a"), "done")
    assert desk.issue("b", "status, promotable") == ("pending", 1)
    desk.do("rollback", issue_id=desk.ids["a"], reason="wrong")
    assert desk.issue("b", "status, promotable") == ("pending", 0)
    assert desk.do("promote")["promotedIssueIds"] == [desk.ids["a"]]


@pytest.mark.parametrize(
    ("counts", "gate", "status"),
    [
        ({"failed": 1, "done": 3, "in_progress": 1}, None, "failed"),
        ({"failed": 1}, "M-1", "failed"),
        ({"done": 2}, None, "done"),
        ({"done": 2}, "M-1", "done"),
        ({"done": 1, "in_progress": 1, "ready": 1}, None, "in_progress"),
        ({"ready": 1, "blocked": 1, "pending": 1}, None, "ready"),
        ({"blocked": 1, "pending": 1}, None, "blocked"),
        ({"needs_recovery": 1, "pending": 1, "done": 1}, None, "blocked"),
        ({"pending": 2, "done": 1}, None, "pending"),
        ({"pending": 2}, "M-1", "blocked"),
        ({"ready": 2}, "M-1", "blocked"),
        ({}, None, "pending"),
    ],
)
def test_a_milestones_status_follows_from_its_issues(counts: dict[str, int], gate: str | None, status: str) -> None:
    assert milestone_status(counts, gate)[0] == status
    assert is_done(counts) == (counts == {"done": 2})


def test_a_milestone_behind_an_undone_one_is_blocked_and_names_it(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"), milestone("n", "b", after=("m",)))
    told = {one["key"]: (one["status"], one.get("blockedReason")) for one in desk.do("health")["milestones"]}
    assert told == {"m": ("ready", None), "n": ("blocked", f"milestone_dependency:{desk.milestones['m']}")}
    desk.close(desk.claim("a"), "failed")
    assert [one["status"] for one in desk.do("health")["milestones"]] == ["failed", "blocked"]
    assert desk.do("promote")["promotedIssueIds"] == []
