"""The weaknesses of the reference page's section 11 that concern what exists, by their number: none is ours.

13 (memory) and 15 (cleanup) come with their own commands; 21 is the query plans' and the bench's. Of 6 the advice of
`next_action` comes with it; here, that a stale lease can be recovered at once. W1, W2 and W4 are also statements 18, 19
and 20 of the checklist.
"""

import json

import pytest

from phelix_core.checks import Surface
from tests.core.queue.desk import HOST, REPORT, Desk, milestone, work
from tests.rig import did, refused


def test_w1_every_mix_of_statuses_is_reconciled_and_closed_without_a_milestone_in_the_way(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a", "b", "c", "d"))
    for task, status in (("a", "done"), ("b", "failed"), ("c", "blocked")):
        desk.close(desk.claim(task), status)
    desk.claim("d", ttl=1)
    desk.clock.advance(1)
    desk.do("reconcile")
    desk.do("retry", issue_id=desk.ids["b"], reason="again")
    assert desk.do("health")["milestones"][0]["status"] == "ready"


@pytest.mark.parametrize("status", ["done", "failed"])
def test_w2_finishing_by_checkpoint_and_walking_away_blocks_nobody_ever(desk: Desk, status: str) -> None:
    desk.open().plan(milestone("m", "a", "b"))
    desk.say(desk.claim("a"), status)
    for _ in range(3):
        desk.clock.advance(50_000)
        context = desk.claim("b", agent="bob")
        desk.close(context, "ready")
    assert desk.issue("a") == status


def test_w3_nobody_writes_with_a_lease_that_is_not_theirs(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a", "b"))
    old = desk.claim("a", ttl=60)
    desk.clock.advance(60)
    new = desk.do("recover", resolution="resume", **HOST, agent="bob")
    forged = [
        old,
        {**new, "issueId": desk.ids["b"]},
        {**old, "leaseId": new["leaseId"]},
        {**new, "leaseId": old["leaseId"]},
        {**new, "leaseId": "L-none"},
        {**new, "runId": "RUN-none"},
    ]
    for context in forged:
        for verb in ("checkpoint", "close", "advance"):
            raw = {"context": json.dumps(context), "status": "failed", **REPORT}
            assert desk.no(verb, **raw)["code"] == "LEASE_LOST"
        assert desk.no("heartbeat", context=json.dumps(context))["code"] == "LEASE_LOST"
    assert desk.statuses() == {"a": "in_progress", "b": "ready"}


def test_w4_a_gate_across_campaigns_stays_open(desk: Desk) -> None:
    desk.open("one").plan(milestone("m", "a"))
    desk.close(desk.claim("a"))
    gate = desk.milestones["m"]
    desk.campaign_of("two").plan(milestone("n", "b", depends_on_milestone_ids=[gate]), milestone("o", "c"))
    desk.do("promote", campaign="two")
    assert [one["status"] for one in desk.do("health")["milestones"]] == ["done", "ready", "ready"]
    desk.close(desk.claim("b"), "failed")
    assert [one["status"] for one in desk.do("health", campaign="one")["milestones"]] == ["done"]


def test_w5_a_begin_refuses_for_its_own_scope_alone_and_records_what_it_refuses_for(desk: Desk) -> None:
    desk.open("one").plan(milestone("m", "a"))
    desk.claim("a", ttl=60)
    desk.campaign_of("two").plan(milestone("n", "b", "c"))
    desk.clock.advance(60)
    assert desk.claim("b", agent="bob", campaign="two")["issueTask"] == "b"
    assert desk.issue("a") == "in_progress"
    assert desk.unclaimed("c", agent="eve")["code"] == "RECOVERY_REQUIRED"
    assert desk.issue("a") == "needs_recovery"


@pytest.mark.parametrize("resolution", ["resume", "requeue", "block", "fail"])
def test_w6_an_expired_lease_is_recovered_at_once_without_a_reconcile_before(desk: Desk, resolution: str) -> None:
    desk.open().plan(milestone("m", "a"))
    desk.claim("a", ttl=60)
    desk.clock.advance(60)
    more = HOST if resolution == "resume" else {"reason": "gone"}
    desk.do("recover", resolution=resolution, issue_id=desk.ids["a"], **more)
    expected = {"resume": "in_progress", "requeue": "ready", "block": "blocked", "fail": "failed"}
    assert desk.issue("a") == expected[resolution]


@pytest.mark.parametrize("verb", ["checkpoint", "close"])
def test_w7_work_that_reports_itself_stuck_is_recovered_at_once(desk: Desk, verb: str) -> None:
    desk.open().plan(milestone("m", "a"))
    context = desk.claim("a")
    desk.do(verb, lease=context["leaseId"], status="needs_recovery", **REPORT)
    assert desk.lease(context["leaseId"]) == "needs_recovery"
    again = desk.do("recover", resolution="resume", **HOST, agent="bob")
    assert (again["issueTask"], again["leaseEpoch"]) == ("a", 2)
    assert desk.lease(context["leaseId"]) == "recovered"


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE leases SET status = 'released'",
        "UPDATE issues SET status = 'ready' WHERE task = 'a'",
        "UPDATE issues SET status = 'pending' WHERE task = 'a'",
    ],
)
def test_w8_rows_that_contradict_each_other_are_found_and_can_be_recovered(desk: Desk, damage: str) -> None:
    desk.open().plan(milestone("m", "a", "b"))
    desk.claim("a")
    desk.damage(damage)
    error = desk.unclaimed("b")
    assert [one["reason"] for one in error["details"]["blockers"]] == ["incoherent_state"]
    assert desk.do("health")["alerts"][0]["kind"] == "needs_recovery"
    desk.do("recover", resolution="requeue", issue_id=desk.ids["a"], reason="looked at it")
    assert desk.claim("a", agent="eve")["leaseEpoch"] == 2


@pytest.mark.parametrize("reason", ["NOTHING_READY", "HOST_MISMATCH", "RECOVERY_REQUIRED", "ISSUE_NOT_CLAIMABLE"])
def test_w9_an_advance_loses_no_finished_work_and_leaves_no_run_open(desk: Desk, reason: str) -> None:
    gpu = {"dispatch": {"workloadClass": "gpu"}}
    desk.open().plan(milestone("m", "a", work("b", policy=gpu), "c"))
    context = desk.claim("a", campaign="first")
    desk.go("c", {"RECOVERY_REQUIRED": "needs_recovery"}.get(reason, "done"))
    if reason == "NOTHING_READY":
        desk.close(desk.claim("b", agent="gpu", workload_classes=["gpu"]), "failed")
    if reason == "ISSUE_NOT_CLAIMABLE":
        desk.do("drain", campaign_id="first", reason="holiday")
    answer = desk.do("advance", lease=context["leaseId"], status="done", **REPORT)
    assert (answer["advanced"], answer["stopReason"]["code"]) == (False, reason)
    assert desk.issue("a") == "done"
    assert desk.one("SELECT count(*) FROM runs WHERE finished_at IS NULL") == 0


def test_w10_a_challenger_cannot_shorten_what_a_healthy_holder_was_given(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a", "b"))
    desk.claim("a", ttl=7_200)
    desk.clock.advance(3_599)
    desk.claim("b", agent="eve", freshness=1, ttl=1)
    assert desk.issue("a") == "in_progress"
    assert desk.one("SELECT freshness_ms FROM leases WHERE agent_id = 'ann'") == 3_600_000


def test_w11_a_used_run_id_overwrites_no_run(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a", "b"))
    desk.close(desk.claim("a", session="run-1"))
    before = desk.ask("SELECT * FROM runs WHERE id = 'run-1'")
    desk.clock.advance(5)
    assert desk.unclaimed("b", session="run-1")["code"] == "ALREADY_EXISTS"
    assert desk.ask("SELECT * FROM runs WHERE id = 'run-1'") == before


def test_w12_a_pending_issue_is_not_claimable_and_its_gate_is_named(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a", work("b", 0)))
    error = desk.unclaimed("b")
    assert error["code"] == "ISSUE_NOT_CLAIMABLE"
    assert error["details"]["gate"] == f"issue_dependency:{desk.ids['a']}"


def test_w14_a_dry_reconcile_writes_nothing_a_real_one_leaves_evidence(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    desk.claim("a", ttl=60)
    desk.clock.advance(60)
    before = desk.content()
    assert desk.run("reconcile", {}, dry_run=True).error is None
    assert desk.content() == before
    desk.do("reconcile")
    assert desk.titles("a")[-1] == "needs_recovery"
    after = desk.content()
    assert desk.do("reconcile") == {"needsRecovery": [], "failed": [], "released": []}
    assert desk.content() == after


def test_w14_a_drained_campaign_is_not_claimed_from_and_its_own_work_goes_on(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a", "b"))
    context = desk.claim("a")
    desk.do("drain", campaign_id="first", reason="holiday")
    for more in ({}, {"campaign": "first"}):
        assert desk.unclaimed(**more)["code"] in ("NOTHING_READY", "ISSUE_NOT_CLAIMABLE")
        again = desk.claim(**more)
        assert (again["claimMode"], again["leaseId"]) == ("resume", context["leaseId"])
    desk.close(again, "ready")
    assert desk.unclaimed("a")["code"] == "ISSUE_NOT_CLAIMABLE"
    desk.do("undrain", campaign_id="first", reason="back")
    assert desk.claim("a", agent="bob")["claimMode"] == "claim"


def test_w16_blocked_work_is_unblocked_with_its_checkpoint_and_without_its_reason(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    desk.close(desk.claim("a"), "blocked", reason="waits for the key")
    assert desk.issue("a", "blocked_reason") == "waits for the key"
    desk.do("unblock", issue_id=desk.ids["a"], reason="it came")
    assert desk.issue("a", "status, blocked_reason") == ("ready", None)
    assert desk.titles("a")[-1] == "unblock"


def test_w17_no_age_lets_low_work_go_before_critical(desk: Desk) -> None:
    desk.open().plan(milestone("m", work("old", priority="low")))
    desk.clock.advance(400 * 86_400)
    desk.plan(milestone("n", work("new", priority="critical")))
    assert desk.claim()["issueTask"] == "new"


def test_w18_looking_never_makes_a_queue_and_unknown_scopes_are_errors(desk: Desk) -> None:
    reader = desk.surface(Surface.TUI, read_only=True)
    assert refused(reader, "queue health")["code"] == "NOT_FOUND"
    assert not desk.data_dir.exists()
    desk.open()
    assert refused(reader, "queue health", project="unknown")["code"] == "NOT_FOUND"


def test_w18_a_deadline_stops_alerting_when_the_work_is_done(desk: Desk) -> None:
    desk.open().plan(milestone("m", work("a", deadlineAt="2020-01-01T00:00:00Z")))
    assert desk.do("list")["issues"][0]["policyState"]["breaches"][0]["trigger"] == "deadline_breached"
    desk.close(desk.claim("a"))
    assert "policyState" not in desk.do("list")["issues"][0]


def test_w19_a_free_reference_backs_a_checkpoint_and_none_does_not(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    lease = desk.claim("a")["leaseId"]
    raw = {"lease": lease, "status": "in_progress", "summary": "s", "next_step": "n"}
    assert desk.no("checkpoint", **raw, evidence=[])["code"] == "INVALID_ARGUMENT"
    assert desk.do("checkpoint", **raw, evidence=["nothing we know"])["checkpoint"]["artifactIds"] == [
        "nothing we know"
    ]


def test_w20_events_of_one_millisecond_keep_their_order(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    context = desk.claim("a")
    for number in range(5):
        desk.say(context, summary=f"step {number}", next_step=f"then {number}")
    told = did(desk.env, "queue show", issue_id=desk.ids["a"])
    assert [one["summary"] for one in told["checkpoints"][:5]] == [f"step {number}" for number in (4, 3, 2, 1, 0)]
    assert [one["seq"] for one in told["events"]] == sorted((one["seq"] for one in told["events"]), reverse=True)
    assert told["issue"]["nextBestAction"] == "then 4"
