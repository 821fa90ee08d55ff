"""The statements of the reference page's section 12 that are about the queue's core, by their number.

Elsewhere: 1, 9 and 23 in test_memory.py, 13 and 25 in tests/contract, 22 in test_advice.py and the machine, 24 in
test_inspections.py too. Of 2 and 15 the parts with several processes stand among the faults.
"""

import json

import pytest

from phelix_core.checks import Surface
from phelix_core.queue.model import PRIORITIES, TASK_STATUSES
from tests.core.queue.desk import HOST, REPORT, TABLES, Desk, milestone, work
from tests.rig import FixedClock, bytes_of, did, refused


def test_2_a_new_process_of_the_same_agent_goes_on_under_the_same_lease(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a", "b"))
    first = desk.claim("a")
    later = did(desk.surface(Surface.CLI), "queue claim", **HOST, agent="ann")
    assert (later["claimMode"], later["leaseId"], later["leaseEpoch"]) == ("resume", first["leaseId"], 1)
    assert later["runId"] != first["runId"]
    assert later["sessionId"] == first["sessionId"]
    assert desk.no("heartbeat", context=json.dumps(first))["code"] == "LEASE_LOST"
    desk.close(later)
    assert desk.lease(first["leaseId"], "status, end_reason") == ("released", "done")


def test_3_a_claim_takes_the_first_by_priority_deadline_age_and_place(desk: Desk) -> None:
    soon, later = "2026-12-01T00:00:00Z", "2026-12-02T00:00:00Z"
    desk.open().plan(
        milestone(
            "m",
            work("6", priority="low"),
            work("4"),
            work("5"),
            work("3", deadlineAt=later),
            work("2", deadlineAt=soon),
            work("1", priority="critical"),
        )
    )
    desk.clock.advance(60)
    desk.plan(milestone("n", "5b", work("1b", priority="critical")))
    taken = [desk.claim(agent=None)["issueTask"] for _ in range(8)]
    assert taken == ["1", "1b", "2", "3", "4", "5", "5b", "6"]
    assert desk.unclaimed()["code"] == "NOTHING_READY"


def test_4_seven_statuses_of_issues_and_four_of_leases_never_mix(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    assert TASK_STATUSES == ("pending", "ready", "in_progress", "blocked", "needs_recovery", "done", "failed")
    context = desk.claim("a")
    for word in ("active", "released", "recovered", "archived", "", "Done", "in-progress"):
        assert desk.no("checkpoint", lease=context["leaseId"], status=word, **REPORT)["code"] == "INVALID_ARGUMENT"
        assert desk.no("close", lease=context["leaseId"], status=word, **REPORT)["code"] == "INVALID_ARGUMENT"


@pytest.mark.parametrize(("seconds", "reason"), [(1_800, "lease_expired"), (3_600, "checkpoint_stale")])
def test_5_a_begin_reconciles_first_and_both_limits_are_inclusive(desk: Desk, seconds: int, reason: str) -> None:
    desk.open().plan(milestone("m", "a", "b"))
    ttl = 1_800 if reason == "lease_expired" else 80_000
    desk.claim("a", ttl=ttl)
    desk.clock.advance(seconds - 0.001)
    assert desk.claim("b", agent="bob")["issueTask"] == "b"
    desk.clock.advance(0.001)
    error = desk.unclaimed(agent="eve")
    assert error["code"] == "RECOVERY_REQUIRED"
    assert [one["reason"] for one in error["details"]["blockers"]] == [reason]
    assert desk.issue("a", "status, blocked_reason") == ("needs_recovery", reason)


def test_6_unresolved_recovery_refuses_every_new_claim_and_its_evidence_stays(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a", "b"))
    stale = desk.claim("a", ttl=60)
    desk.clock.advance(60)
    error = desk.unclaimed("b")
    assert error["details"]["blockers"] == [
        {
            "issueId": desk.ids["a"],
            "leaseId": stale["leaseId"],
            "reason": "lease_expired",
            "summary": "The lease expired.",
            "nextStep": "Recover it before anything new is claimed.",
        }
    ]
    assert desk.issue("b") == "ready"
    assert desk.titles("a")[-1] == "needs_recovery"
    assert len(desk.events("needs_recovery")) == 1
    assert desk.ask("SELECT session_type FROM runs WHERE host = 'phelix' ORDER BY started_at DESC, id DESC")[0] == (
        "reconcile",
    )


def test_6_an_incoherent_row_refuses_too_and_is_recorded(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a", "b"))
    desk.claim("a")
    desk.damage("UPDATE leases SET status = 'released'")
    assert desk.unclaimed("b")["code"] == "RECOVERY_REQUIRED"
    assert desk.issue("a", "status, blocked_reason") == ("needs_recovery", "incoherent_state")


def test_7_each_act_adds_exactly_one_checkpoint_and_repeated_begins_none(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    expected = ["promotion"]
    assert desk.titles("a") == expected
    desk.claim("a")
    expected.append("claim")
    context = desk.claim("a")
    expected.append("resume")
    desk.say(context, "blocked", reason="waits")
    expected.append("checkpoint")
    desk.say(context)
    expected.append("checkpoint")
    desk.clock.advance(3_600)
    for _ in range(3):
        desk.unclaimed()
    expected.append("needs_recovery")
    assert desk.titles("a") == expected
    context = desk.do("recover", resolution="resume", issue_id=desk.ids["a"], **HOST, agent="eve")
    expected.append("recovery_claim")
    desk.close(context, "failed")
    expected.append("close")
    desk.do("retry", issue_id=desk.ids["a"], reason="again")
    expected.append("retry")
    desk.do("rollback", issue_id=desk.ids["a"], reason="back")
    expected.append("rollback")
    assert desk.titles("a") == expected


@pytest.mark.parametrize("missing", ["status", "summary", "next_step", "evidence"])
@pytest.mark.parametrize("verb", ["checkpoint", "close", "advance"])
def test_8_a_report_without_one_of_its_four_parts_is_refused_before_any_write(
    desk: Desk, verb: str, missing: str
) -> None:
    desk.open().plan(milestone("m", "a"))
    whole = {"lease": desk.claim("a")["leaseId"], "status": "failed", **REPORT}
    without = {name: value for name, value in whole.items() if name != missing}
    many = missing == "evidence"
    empty: dict[str, object] = {**whole, missing: [] if many else ""}
    blank: dict[str, object] = {**whole, missing: [""] if many else "  "}
    for raw in (without, empty, blank):
        error = desk.no(verb, **raw)
        assert (error["code"], error["exit_code"]) == ("INVALID_ARGUMENT", 2)


def test_8_the_next_step_becomes_the_next_best_action_and_resuming_shows_it(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    desk.say(desk.claim("a"), next_step="run the slow tests")
    assert desk.issue("a", "next_best_action") == "run the slow tests"
    assert desk.claim("a")["nextBestAction"] == "run the slow tests"
    assert desk.do("show", issue_id=desk.ids["a"])["checkpoints"][0]["nextStep"] == "run the slow tests"


def test_10_closing_as_done_promotes_what_promote_would_and_in_the_same_event_stream(desk: Desk) -> None:
    desk.open().plan(
        milestone("m", "a", work("b", 0), work("c", 1)),
        milestone("n", "d", after=("m",)),
        milestone("o", "e", work("f", 0)),
    )
    assert desk.statuses() == {
        "a": "ready", "b": "pending", "c": "pending", "d": "pending", "e": "ready", "f": "pending",
    }  # fmt: skip
    assert desk.close(desk.claim("a"))["promotedIssueIds"] == [desk.ids["b"]]
    assert desk.do("promote")["promotedIssueIds"] == []
    assert desk.close(desk.claim("b"))["promotedIssueIds"] == [desk.ids["c"]]
    kept = {one["issueId"]: one["reason"] for one in desk.do("promote")["keptBack"]}
    assert kept == {
        desk.ids["d"]: f"milestone_dependency:{desk.milestones['m']}",
        desk.ids["f"]: f"issue_dependency:{desk.ids['e']}",
    }
    assert desk.close(desk.claim("c"))["promotedIssueIds"] == [desk.ids["d"]]


def test_10_an_issue_behind_both_kinds_of_gate_waits_for_both_whichever_opens_first(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"), milestone("n", "b", work("c", 0), after=("m",)))
    shown = desk.do("show", issue_id=desk.ids["c"])
    assert shown["waitsFor"] == f"milestone_dependency:{desk.milestones['m']}"
    desk.close(desk.claim("a"))
    assert desk.statuses() == {"a": "done", "b": "ready", "c": "pending"}
    assert desk.do("show", issue_id=desk.ids["c"])["waitsFor"] == f"issue_dependency:{desk.ids['b']}"
    desk.close(desk.claim("b"))
    assert desk.issue("c") == "ready"


def test_12_a_claim_without_a_host_or_its_classes_is_refused(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    for missing in ("host", "workload_classes"):
        raw = {name: value for name, value in HOST.items() if name != missing}
        assert desk.no("claim", **raw)["details"]["fields"] == {missing: "required"}


def test_12_a_mismatch_names_issue_class_and_missing_capabilities(desk: Desk) -> None:
    needs = {"dispatch": {"workloadClass": "gpu", "requiredHostCapabilities": ["net", "cuda"]}}
    desk.open().plan(milestone("m", *(work(f"t{number}", policy=needs) for number in range(5))))
    error = desk.unclaimed()
    assert (error["code"], error["exit_code"]) == ("HOST_MISMATCH", 3)
    assert [one["issueId"] for one in error["details"]["candidates"]] == [desk.ids[f"t{n}"] for n in range(3)]
    assert error["details"]["candidates"][0] == {
        "issueId": desk.ids["t0"],
        "task": "t0",
        "requiredWorkloadClass": "gpu",
        "requiredHostCapabilities": ["cuda", "net"],
        "missingWorkloadClass": "gpu",
        "missingHostCapabilities": ["cuda"],
    }
    assert desk.claim(workload_classes=["gpu"], capabilities=["net", "cuda"])["issueTask"] == "t0"


def test_14_a_session_id_is_made_where_none_is_given_and_a_finished_one_is_refused(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a", "b"))
    made = desk.claim("a")
    assert made["sessionId"] == made["runId"]
    assert made["sessionId"].startswith("ses_")
    desk.close(made)
    history = desk.ask("SELECT * FROM runs WHERE id = ?", made["runId"])
    assert desk.unclaimed("b", session=made["sessionId"])["code"] == "ALREADY_EXISTS"
    assert desk.ask("SELECT * FROM runs WHERE id = ?", made["runId"]) == history
    assert desk.issue("b") == "ready"


def test_15_recovery_ends_every_stale_lease_and_opens_one(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    old = desk.claim("a", ttl=60)
    desk.clock.advance(60)
    new = desk.do("recover", resolution="resume", **HOST, agent="bob")
    assert (new["claimMode"], new["leaseEpoch"]) == ("recovery", 2)
    assert desk.lease(old["leaseId"], "status, end_reason, released_at IS NULL") == ("recovered", "recovered", 0)
    assert desk.ask("SELECT id FROM leases WHERE status = 'active'") == [(new["leaseId"],)]
    assert desk.titles("a")[-1] == "recovery_claim"
    told = desk.events("recovery_resolved")
    assert [(one["recoveredLeaseIds"], one["replacementLeaseId"]) for one in told] == [
        ([old["leaseId"]], new["leaseId"])
    ]
    for _ in range(7):
        error = refused(desk.env, "queue recover", resolution="resume", **HOST, agent="eve")
        assert error["code"] == "NOTHING_READY"


def test_16_however_many_claim_one_issue_one_lease_is_active(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    desk.claim("a", agent="agent-0")
    for number in range(1, 9):
        error = desk.unclaimed("a", agent=f"agent-{number}")
        assert (error["code"], error["details"]["status"]) == ("ISSUE_NOT_CLAIMABLE", "in_progress")
    assert desk.one("SELECT count(*) FROM leases") == 1


def test_17_a_lease_that_is_not_the_one_that_holds_is_refused_with_how_it_ended(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a", "b"))
    old, other = desk.claim("a", ttl=60), desk.claim("b", agent="bob", ttl=80_000)
    desk.clock.advance(60)
    new = desk.do("recover", resolution="resume", issue_id=desk.ids["a"], **HOST, agent="eve")
    for verb, more in (("checkpoint", {"status": "failed"}), ("close", {"status": "failed"}), ("heartbeat", {})):
        report = {} if verb == "heartbeat" else REPORT
        error = desk.no(verb, lease=old["leaseId"], **more, **report)
        assert (error["code"], error["exit_code"]) == ("LEASE_LOST", 3)
        assert error["details"]["ended"] == "recovered"
        assert error["details"]["followedBy"] == new["leaseId"]
        assert desk.no(verb, lease="L-unknown", **more, **report)["code"] == "LEASE_LOST"
        for wrong in ({"issueId": desk.ids["b"]}, {"runId": other["runId"]}, {"leaseEpoch": 1}):
            assert desk.no(verb, context=json.dumps(new | wrong), **more, **report)["code"] == "LEASE_LOST"
    assert desk.do("heartbeat", context=json.dumps(new))["leaseEpoch"] == 2


@pytest.mark.parametrize("ending", ["done", "blocked", "expired"])
def test_18_two_ready_issues_of_a_milestone_do_not_hinder_each_other(desk: Desk, ending: str) -> None:
    desk.open().plan(milestone("m", "a", "b"))
    context = desk.claim("a")
    if ending == "expired":
        desk.clock.advance(1_800)
        assert desk.do("reconcile")["needsRecovery"] == [{"issueId": desk.ids["a"], "reason": "lease_expired"}]
    else:
        desk.close(context, ending)
    assert desk.issue("b") == "ready"
    assert desk.do("health")["milestones"][0]["status"] == "ready"


@pytest.mark.parametrize("status", ["done", "failed"])
def test_19_a_finished_issue_with_a_live_lease_never_breaks_reconcile(desk: Desk, status: str) -> None:
    desk.open().plan(milestone("m", "a", "b"))
    context = desk.claim("a")
    desk.say(context, status)
    desk.clock.advance(10_000)
    assert desk.claim("b", agent="bob")["issueTask"] == "b"
    assert desk.lease(context["leaseId"], "status, end_reason") == ("released", status)
    assert desk.issue("a") == status


def test_20_promoting_one_campaign_leaves_the_milestones_of_another(desk: Desk) -> None:
    desk.open("one").plan(milestone("m", "a", "b"))
    desk.close(desk.claim("a"))
    desk.claim("b")
    desk.campaign_of("two").plan(milestone("n", "c"), promote=False)
    before = desk.ask("SELECT * FROM issues WHERE task IN ('a', 'b')")
    states = desk.do("health", campaign="one")["milestones"]
    desk.do("promote", campaign="two")
    assert desk.ask("SELECT * FROM issues WHERE task IN ('a', 'b')") == before
    assert desk.do("health", campaign="one")["milestones"] == states
    assert desk.issue("c") == "ready"


def test_21_a_close_that_ends_nothing_leaves_the_issue_claimable_or_recoverable(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a", "b"))
    context = desk.claim("a")
    assert desk.no("close", lease=context["leaseId"], status="in_progress", **REPORT)["code"] == "INVALID_ARGUMENT"
    desk.close(context, "ready", next_step="take it from here")
    again = desk.claim("a", agent="bob")
    assert (again["claimMode"], again["leaseEpoch"], again["nextBestAction"]) == ("claim", 2, "take it from here")
    desk.close(again, "needs_recovery")
    assert desk.do("recover", resolution="resume", **HOST, agent="eve")["issueTask"] == "a"


def test_24_looking_changes_no_byte_makes_no_file_and_refuses_what_is_not_there(desk: Desk) -> None:
    for verb, raw in (("list", {}), ("show", {"issue_id": "I-1"}), ("health", {})):
        assert refused(desk.env, f"queue {verb}", **raw)["code"] == "NOT_FOUND"
    assert bytes_of(desk.data_dir.parent) == {} or not desk.path.exists()
    desk.open().plan(milestone("m", "a"))
    desk.claim("a")
    desk.env.queue.close()
    before = desk.path.read_bytes()
    reader = desk.surface(Surface.CLI, read_only=True)
    for verb, raw in (("list", {}), ("show", {"issue_id": desk.ids["a"]}), ("health", {})):
        did(reader, f"queue {verb}", **raw)
    for verb, raw in (
        ("list", {"project": "nope"}),
        ("list", {"campaign": "nope"}),
        ("list", {"milestone": "nope"}),
        ("show", {"issue_id": "I-nope"}),
        ("health", {"project": "nope"}),
    ):
        error = refused(reader, f"queue {verb}", **raw)
        assert (error["code"], error["exit_code"]) == ("NOT_FOUND", 12)
    reader.queue.close()
    assert desk.path.read_bytes() == before


def test_26_an_advance_keeps_its_close_when_the_next_claim_fails(desk: Desk) -> None:
    gpu = {"dispatch": {"workloadClass": "gpu"}}
    desk.open().plan(milestone("m", "a", "b", work("c", policy=gpu)))
    on = desk.do("advance", lease=desk.claim("a")["leaseId"], status="done", **REPORT)
    assert (on["advanced"], on["context"]["issueTask"]) == (True, "b")
    assert on["context"]["sessionId"] != on["closeResult"]["context"]["sessionId"]
    stopped = desk.do("advance", lease=on["context"]["leaseId"], status="done", **REPORT)
    assert (stopped["advanced"], stopped["stopReason"]["code"]) == (False, "HOST_MISMATCH")
    assert desk.statuses() == {"a": "done", "b": "done", "c": "ready"}
    assert desk.one("SELECT count(*) FROM runs WHERE finished_at IS NULL") == 0


def test_27_a_heartbeat_extends_never_shortens_and_is_recorded(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    context = desk.claim("a")
    lease = context["leaseId"]
    longer = desk.do("heartbeat", lease=lease, ttl=7_200)["leaseExpiresAt"]
    assert longer > context["leaseExpiresAt"]
    assert desk.do("heartbeat", lease=lease, ttl=1)["leaseExpiresAt"] == longer
    assert len(desk.events("lease_heartbeat")) == 2
    desk.clock.advance(3_600)  # the lease lives, and its checkpoint is stale: a heartbeat does not refresh it
    assert desk.do("reconcile")["needsRecovery"] == [{"issueId": desk.ids["a"], "reason": "checkpoint_stale"}]
    assert desk.no("heartbeat", lease=lease)["code"] == "LEASE_LOST"


def _lived(desk: Desk) -> dict[str, list[object]]:
    """A working day through one surface."""
    desk.open().plan(milestone("m", "a", work("b", 0), "c"), milestone("n", "d", after=("m",)))
    desk.say(desk.claim("a", artifacts=["diff=a.patch"]), "blocked", reason="waits")
    desk.do("unblock", issue_id=desk.ids["a"], reason="it came")
    desk.close(desk.claim("a"))
    desk.claim("c", agent="bob", ttl=60)
    desk.clock.advance(60)
    desk.unclaimed("b")
    desk.do("recover", resolution="requeue", issue_id=desk.ids["c"], reason="gone")
    desk.do("drain", campaign_id="first", reason="holiday")
    desk.do("undrain", campaign_id="first", reason="back")
    desk.do("rollback", issue_id=desk.ids["a"], reason="wrong")
    desk.require_replay()
    return desk.content()


def test_28_the_command_line_and_the_console_make_the_same_rows(desk: Desk) -> None:
    console = Desk(desk.data_dir.parent / "console", FixedClock(), Surface.TUI)
    ours, theirs = _lived(desk), _lived(console)
    for table in (*TABLES, "events"):
        told = json.dumps([ours[table], theirs[table]]).replace('"tui"', '"cli"').replace('\\"tui\\"', '\\"cli\\"')
        mine, other = json.loads(told)
        assert mine == other, table
    assert PRIORITIES == ("critical", "high", "medium", "low")
