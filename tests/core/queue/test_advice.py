"""What may be done next: each stage with its call, followed as it is printed. The machine follows it from anywhere."""

import json
from typing import Any

import pytest

from phelix_core.lifecycle.performing import perform
from phelix_core.queue.verbs.advice import STAGES
from tests.core.queue.desk import HOST, Desk, milestone, work

GPU = {"dispatch": {"workloadClass": "gpu"}}


def stale(desk: Desk) -> None:
    desk.plan(milestone("m", "a", "b"))
    desk.claim("a", ttl=60)
    desk.clock.advance(60)


def crash_loop(desk: Desk) -> None:
    desk.plan(milestone("m", work("a", policy={"maxRecoveries": 1})))
    desk.claim("a")
    desk.clock.advance(4_000)
    desk.do("recover", resolution="resume", issue_id=desk.ids["a"], **HOST)
    desk.clock.advance(4_000)


def marked(desk: Desk) -> None:
    desk.plan(milestone("m", "a", "b"))
    desk.say(desk.claim("a"), "needs_recovery")


def marked_for_another_host(desk: Desk) -> None:
    desk.plan(milestone("m", work("a", policy=GPU)))
    context = desk.do("claim", host="h2", workload_classes=["gpu"])
    desk.say(context, "needs_recovery")


def incoherent(desk: Desk) -> None:
    desk.plan(milestone("m", "a"))
    desk.claim("a")
    desk.damage("UPDATE leases SET status = 'released'")


def ready(desk: Desk) -> None:
    desk.plan(milestone("m", "a"))


def about_to_be_promoted(desk: Desk) -> None:
    desk.plan(milestone("m", "a"), promote=False)


def mismatched(desk: Desk) -> None:
    desk.plan(milestone("m", work("a", policy=GPU)))


def blocked(desk: Desk) -> None:
    desk.plan(milestone("m", "a"))
    desk.close(desk.claim("a"), "blocked")


def drained(desk: Desk) -> None:
    desk.plan(milestone("m", "a"))
    desk.do("drain", campaign_id=desk.campaign, reason="a freeze")


def behind_a_failed_issue(desk: Desk) -> None:
    desk.plan(milestone("m", "a", work("b", 0)))
    desk.close(desk.claim("a"), "failed")


def behind_a_failed_milestone(desk: Desk) -> None:
    desk.plan(milestone("m", "a"), milestone("n", "b", after=("m",)))
    desk.close(desk.claim("a"), "failed")


def promotable_elsewhere(desk: Desk) -> None:
    desk.plan(milestone("m", work("a", policy=GPU)), promote=False)


def at_work(desk: Desk) -> None:
    desk.plan(milestone("m", "a"))
    desk.claim("a")


def nothing(desk: Desk) -> None:
    del desk


SITUATIONS: dict[str, tuple[Any, str, str | None]] = {
    "a lease that expired": (stale, "expired_lease", "begin_recovery"),
    "a lease that expires once too often": (crash_loop, "expired_lease", "reconcile"),
    "an issue that nobody holds": (incoherent, "expired_lease", "begin_recovery"),
    "an issue that says it needs recovery": (marked, "needs_recovery", "begin_recovery"),
    "one that only another host may recover": (marked_for_another_host, "dispatch_mismatch", "recover"),
    "one that only another host may take": (mismatched, "dispatch_mismatch", None),
    "a ready issue": (ready, "ready_issue", "begin_incremental"),
    "an issue that a begin would promote": (about_to_be_promoted, "ready_issue", "begin_incremental"),
    "a blocked issue": (blocked, "blocked_issue", "unblock"),
    "a drained campaign": (drained, "blocked_issue", "undrain"),
    "an issue behind a failed one": (behind_a_failed_issue, "blocked_issue", "retry"),
    "a milestone behind a failed one": (behind_a_failed_milestone, "blocked_milestone", "retry"),
    "a pending issue for another host": (promotable_elsewhere, "pending_promotion", "promote_queue"),
    "work that another does": (at_work, "idle", None),
    "no work": (nothing, "idle", None),
}


@pytest.mark.parametrize("name", SITUATIONS)
def test_each_situation_has_its_stage_and_its_call_succeeds_as_it_is_printed(desk: Desk, name: str) -> None:
    arrange, stage, action = SITUATIONS[name]
    desk.open()
    arrange(desk)
    before = desk.content()
    told = desk.do("next", **HOST)
    assert desk.content() == before, "a look changes nothing"
    assert told["context"]["stage"] == stage
    assert told["action"] == ("idle" if action is None else "call_tool")
    if action is None:
        assert "suggestedPayload" not in told
        return
    payload = json.loads(json.dumps(told["suggestedPayload"]))
    assert payload["action"] == action
    for place in told["requires"]:
        name = place.removeprefix("input.")
        assert name not in payload["input"]
        payload["input"][name] = [{"kind": "log", "path": "p"}] if name == "artifacts" else "because"
    performed = perform(json.dumps(payload).encode(), lambda _: desk.env)
    assert performed.error is None, performed.document


def test_every_stage_is_one_of_the_documents_and_is_reached() -> None:
    assert {stage for _, stage, _ in SITUATIONS.values()} == set(STAGES)


def test_a_mismatch_names_the_first_three_candidates_and_what_the_host_misses(desk: Desk) -> None:
    desk.open().plan(milestone("m", *(work(str(number), policy=GPU) for number in range(5))))
    told = desk.do("next", **HOST)["context"]
    assert [one["task"] for one in told["candidates"]] == ["0", "1", "2"]
    assert {one["missingWorkloadClass"] for one in told["candidates"]} == {"gpu"}
    assert told["dispatch"]["eligible"] is False


def test_a_stale_lease_goes_before_everything_and_the_one_that_the_host_may_recover_first(desk: Desk) -> None:
    desk.open().plan(milestone("m", work("a", policy=GPU, priority="critical"), "b", "c"))
    desk.do("claim", host="h2", workload_classes=["gpu"], issue_id=desk.ids["a"], agent="x")
    desk.claim("b")
    desk.clock.advance(4_000)
    told = desk.do("next", **HOST)
    assert (told["context"]["stage"], told["context"]["issue"]["task"]) == ("expired_lease", "b")
    assert told["context"]["blocker"]["refType"] == "lease"


def test_without_a_queue_a_project_or_a_choice_between_several_it_says_what_is_missing(desk: Desk) -> None:
    assert desk.do("next", **HOST)["suggestedPayload"]["action"] == "init_workspace"
    assert not desk.path.exists(), "a look makes no queue"
    desk.do("init", name="lab")
    told = desk.do("next", **HOST)
    assert (told["action"], told["suggestedPayload"]["action"]) == ("setup_required", "create_campaign")
    payload = told["suggestedPayload"] | {"input": {**told["suggestedPayload"]["input"]}}
    payload["input"] |= {"projectName": "p", "campaignName": "c", "objective": "o"}
    assert perform(json.dumps(payload).encode(), lambda _: desk.env).error is None
    assert desk.do("next", **HOST)["action"] == "idle"
    desk.campaign_of("other", project="Second")
    told = desk.do("next", **HOST)
    assert told["action"] == "clarify_scope"
    assert [one["name"] for one in told["context"]["projects"]] == ["p", "Second"]
