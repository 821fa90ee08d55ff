"""What a batch may hold, how policies merge, what they make of a priority, and where work may run."""

import json
from typing import Any

import pytest

from phelix_core.errors import InvalidArgument
from phelix_core.queue.planning import read_batch
from phelix_core.queue.policy import Policy, merged, policy_text, read_policy, stored_policy
from phelix_core.queue.routing import ANY_HOST, Host, Route, fit, route_from
from tests.core.queue.desk import Desk, milestone, shown, work

DAY = 86_400
ISSUE = work("t")
_TRUE = {"depends_on_indices": True}
REFERENCES = [{"id": f"x{number}", "about": "y" * 9_000} for number in range(2)]
BAD: list[tuple[str, Any]] = [
    ("batch", []),
    ("batch", None),
    ("batch", {"milestoneDescription": "d", "issues": []}),
    ("batch", {"milestones": [milestone("m", "a")], "issues": []}),
    ("batch", {"milestones": [milestone("m", "a")], "more": 1}),
    ("milestones", {}),
    ("milestones", {"milestones": []}),
    ("milestones", {"milestones": {}}),
    ("milestones[0]", {"milestones": [7]}),
    ("milestones[0]", {"milestones": [milestone("m", "a", status="done")]}),
    ("milestones[0].issues", {"milestones": [milestone("m")]}),
    ("milestones[0].milestone_key", {"milestones": [milestone("", "a")]}),
    ("milestones[0].milestone_key", {"milestones": [milestone("k" * 129, "a")]}),
    ("milestones[1].milestone_key", {"milestones": [milestone("m", "a"), milestone("m", "b")]}),
    ("milestones[0].description", {"milestones": [{**milestone("m", "a"), "description": "d" * 1_001}]}),
    ("milestones[0].depends_on_milestone_keys", {"milestones": [milestone("m", "a", after=("none",))]}),
    ("milestones[0].depends_on_milestone_keys", {"milestones": [milestone("m", "a", after=("m",))]}),
    (
        "milestones[1].depends_on_milestone_keys",
        {
            "milestones": [
                milestone("m", "a"),
                milestone("n", "b", after=("p",)),
                milestone("o", "c", after=("n",)),
                milestone("p", "d", after=("o",)),
            ]
        },
    ),
    ("milestones[0].depends_on_milestone_ids", {"milestones": [milestone("m", "a", depends_on_milestone_ids=["M-1"])]}),
    ("milestones[0].issues[0].task", {"milestones": [milestone("m", {**ISSUE, "task": 7})]}),
    ("milestones[0].issues[0].task", {"milestones": [milestone("m", work("t" * 1_001))]}),
    ("milestones[0].issues[1].size", {"milestones": [milestone("m", "a", work("b", size="XXL"))]}),
    ("milestones[0].issues[0].size", {"milestones": [milestone("m", {"task": "t", "priority": "low"})]}),
    ("milestones[0].issues[0].priority", {"milestones": [milestone("m", work("b", priority="urgent"))]}),
    ("milestones[0].issues[0]", {"milestones": [milestone("m", {**ISSUE, "status": "ready"})]}),
    ("milestones[0].issues[0].depends_on_indices[0]", {"milestones": [milestone("m", work("a", 0))]}),
    ("milestones[0].issues[1].depends_on_indices[1]", {"milestones": [milestone("m", "z", work("a", 0, 2), "b")]}),
    ("milestones[0].issues[1].depends_on_indices[0]", {"milestones": [milestone("m", "z", work("a", -1))]}),
    ("milestones[0].issues[1].depends_on_indices", {"milestones": [milestone("m", "z", ISSUE | _TRUE)]}),
    ("milestones[0].issues[1].depends_on_indices[0]", {"milestones": [milestone("m", "z", work("a", 2**62))]}),
    ("milestones[0].issues[0].deadlineAt", {"milestones": [milestone("m", work("a", deadlineAt="2026-01-01"))]}),
    ("milestones[0].issues[0].deadlineAt", {"milestones": [milestone("m", work("a", deadlineAt="0001-01-01T00:00Z"))]}),
    ("milestones[0].deadlineAt", {"milestones": [milestone("m", "a", deadlineAt=5)]}),
    ("milestones[0].recipients[1].id", {"milestones": [milestone("m", "a", recipients=[{"id": "x"}, {"id": "x"}])]}),
    (
        "milestones[0].approvals[0].recipientIds",
        {"milestones": [milestone("m", "a", approvals=[{"id": "x", "recipientIds": ["nobody"]}])]},
    ),
    ("milestones[0].externalRefs", {"milestones": [milestone("m", "a", externalRefs=REFERENCES)]}),
    (
        "milestones[0].issues[0].policy.dispatch.workloadClass",
        {"milestones": [milestone("m", work("a", policy={"dispatch": {"requiredHostCapabilities": ["x"]}}))]},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("where", "batch"), BAD)
def test_a_batch_that_is_wrong_names_the_place_and_makes_no_row(desk: Desk, where: str, batch: Any) -> None:
    desk.open()
    error = desk.no("plan", batch=json.dumps(batch))
    assert (error["code"], error["exit_code"]) == ("INVALID_ARGUMENT", 2)
    assert error["message"].startswith(f"{where}:"), error["message"]


@pytest.mark.parametrize(
    "text", ["", "{", "[" * 50_000, '{"milestones":NaN}', '{"a":1,"a":2}', '{"a":9223372036854775808}']
)
def test_a_batch_that_is_no_json_is_refused(desk: Desk, text: str) -> None:
    desk.open()
    assert desk.no("plan", batch=text)["code"] == "INVALID_ARGUMENT"


def test_the_first_fault_is_found_behind_any_number_of_sound_ones() -> None:
    batch = {"milestones": [*(milestone(f"m{n}", "a") for n in range(200)), milestone("z", work("b", size="?"))]}
    with pytest.raises(InvalidArgument, match=r"milestones\[200\]\.issues\[0\]\.size"):
        read_batch(batch)


def test_milestones_may_be_named_before_they_stand_and_by_id_from_an_earlier_batch(desk: Desk) -> None:
    desk.open().plan(milestone("late", "b", after=("early",)), milestone("early", "a"))
    desk.plan(milestone("next", "c", depends_on_milestone_ids=[desk.milestones["late"]]))
    assert desk.statuses() == {"a": "ready", "b": "pending", "c": "pending"}
    desk.close(desk.claim("a"))
    assert desk.issue("c", "status, promotable") == ("pending", 0)
    desk.close(desk.claim("b"))
    assert desk.issue("c") == "ready"
    desk.plan(milestone("more", "d", depends_on_milestone_ids=[desk.milestones["early"]]), promote=False)
    assert desk.issue("d", "status, promotable") == ("pending", 1)


def test_a_milestone_of_another_project_is_no_gate(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"), project="Acme")
    desk.campaign_of("c", project="Other")
    batch = json.dumps({"milestones": [milestone("n", "b", depends_on_milestone_ids=[desk.milestones["m"]])]})
    assert desk.no("plan", batch=batch, project="Other")["code"] == "INVALID_ARGUMENT"


def test_a_dry_run_draws_what_planning_makes(desk: Desk) -> None:
    desk.open()
    raw: dict[str, Any] = {"batch": json.dumps({"milestones": [milestone("m", "a", work("b", 0))]})}
    before = desk.content()
    drawn = shown(desk.run("plan", raw, dry_run=True))["outcome"]["generatedMilestones"]
    assert desk.content() == before
    made = desk.do("plan", **raw)["generatedMilestones"]
    assert [len(one["generatedIssues"]) for one in drawn] == [len(one["generatedIssues"]) for one in made] == [2]


def test_an_archived_campaign_takes_no_plan(desk: Desk) -> None:
    desk.open()
    desk.do("archive", campaign_id="first", reason="over")
    batch = json.dumps({"milestones": [milestone("m", "a")]})
    assert desk.no("plan", batch=batch)["code"] == "QUEUE_INVALID_TRANSITION"


# Policies


RULE = {"trigger": "deadline_breached", "action": "raise_priority", "priority": "critical"}


@pytest.mark.parametrize(
    ("where", "policy"),
    [
        ("policy", []),
        ("policy", {"more": 1}),
        ("policy.owner", {"owner": ""}),
        ("policy.serviceLevel", {"serviceLevel": 1}),
        ("policy.serviceLevel.responseWithinMinutes", {"serviceLevel": {"responseWithinMinutes": 0}}),
        ("policy.serviceLevel.resolveWithinMinutes", {"serviceLevel": {"resolveWithinMinutes": 1.5}}),
        ("policy.serviceLevel.resolveWithinMinutes", {"serviceLevel": {"resolveWithinMinutes": 2**53}}),
        ("policy.escalationRules[0].trigger", {"escalationRules": [{**RULE, "trigger": "late"}]}),
        ("policy.escalationRules[0].action", {"escalationRules": [{**RULE, "action": "page"}]}),
        ("policy.escalationRules[1].priority", {"escalationRules": [RULE, {**RULE, "priority": None}]}),
        ("policy.escalationRules", {"escalationRules": [RULE] * 51}),
        ("policy.dispatch.workloadClass", {"dispatch": {"requiredHostCapabilities": ["x"]}}),
        (
            "policy.dispatch.requiredHostCapabilities[0]",
            {"dispatch": {"workloadClass": "x", "requiredHostCapabilities": [1]}},
        ),
        ("policy.maxRecoveries", {"maxRecoveries": 0}),
        ("policy.maxRecoveries", {"maxRecoveries": 1_001}),
    ],
)  # fmt: skip
def test_a_policy_that_is_wrong_names_the_member(desk: Desk, where: str, policy: Any) -> None:
    desk.open()
    error = desk.no("campaign", project_name="p", campaign_name="c", policy=json.dumps(policy))
    assert error["code"] == "INVALID_ARGUMENT"
    assert error["message"].startswith(f"{where}:"), error["message"]


def test_policies_merge_with_the_issues_own_over_its_campaigns() -> None:
    level = {"responseWithinMinutes": 5, "resolveWithinMinutes": 6}
    needs = {"workloadClass": "code", "requiredHostCapabilities": ["net", "gpu"]}
    ours = {"owner": "ops", "serviceLevel": level, "escalationRules": [RULE], "dispatch": needs, "maxRecoveries": 2}
    theirs = {
        "owner": "dev",
        "serviceLevel": {"resolveWithinMinutes": 9},
        "escalationRules": [{"trigger": "resolve_sla_breached", "action": "annotate", "note": "call"}],
        "dispatch": {"workloadClass": "docs", "requiredHostCapabilities": ["net", "tex"]},
        "maxRecoveries": 7,
    }
    both = merged(read_policy(ours, "policy"), read_policy(theirs, "policy"))
    assert (both.owner, both.response_minutes, both.resolve_minutes, both.max_recoveries) == ("dev", 5, 9, 7)
    assert [rule.trigger for rule in both.rules] == ["deadline_breached", "resolve_sla_breached"]
    assert (both.workload_class, both.capabilities) == ("docs", ("gpu", "net", "tex"))
    assert merged(read_policy(ours, "policy"), Policy()) == stored_policy(
        policy_text(merged(read_policy(ours, "p"), Policy()))
    )
    assert stored_policy(policy_text(both)) == both
    assert policy_text(Policy()) == "{}"


@pytest.mark.parametrize("text", ["", "[]", "{", "7", '{"owner":1}', "[" * 5_000])
def test_a_stored_policy_that_is_damaged_reads_as_none(text: str) -> None:
    assert stored_policy(text) is None


def test_routes_are_one_text_each_and_read_back() -> None:
    for route in (
        Route(workload_class=None, capabilities=()),
        Route(workload_class='a "b"', capabilities=()),
        Route(workload_class="ü", capabilities=("a", "b")),
    ):
        assert route_from(route.text) == route
    assert Route(workload_class=None, capabilities=()).text == ANY_HOST
    nowhere = Host(name="h", workload_classes=frozenset({"code"}), capabilities=frozenset())
    for damaged in ("{", "[]", "[1]", "null", '["x", 2]'):
        assert not fit(route_from(damaged), nowhere).eligible


@pytest.mark.parametrize(
    ("route", "eligible", "told"),
    [
        (Route(workload_class=None, capabilities=()), True, "fits"),
        (Route(workload_class="code", capabilities=("net",)), True, "fits"),
        (Route(workload_class="gpu", capabilities=()), False, 'needs workload class "gpu"'),
        (Route(workload_class="code", capabilities=("net", "tex")), False, 'needs capability "tex"'),
        (Route(workload_class="gpu", capabilities=("tex",)), False, 'needs workload class "gpu", capability "tex"'),
    ],
)
def test_a_host_takes_its_classes_and_what_asks_for_none(route: Route, eligible: bool, told: str) -> None:  # noqa: FBT001 - a case
    verdict = fit(route, Host(name="h", workload_classes=frozenset({"code"}), capabilities=frozenset({"net"})))
    assert (verdict.eligible, verdict.told) == (eligible, told)


def ranks(desk: Desk) -> dict[str, int]:
    desk.do("promote")
    return dict(desk.ask("SELECT task, rank FROM issues"))


def test_a_deadline_raises_where_the_policy_says_so_and_an_annotation_never(desk: Desk) -> None:
    soon = "2026-09-21T14:23:20Z"  # ten minutes from now
    notes = [{"trigger": "deadline_breached", "action": "annotate", "priority": "critical"}]
    desk.open().plan(
        milestone(
            "m",
            work("raised", deadlineAt=soon, policy={"escalationRules": [RULE]}),
            work("noted", deadlineAt=soon, policy={"escalationRules": notes}),
            work("plain", deadlineAt=soon),
        )
    )
    desk.clock.advance(599.999)
    assert ranks(desk) == {"raised": 2, "noted": 2, "plain": 2}
    desk.clock.advance(0.001)
    assert ranks(desk) == {"raised": 0, "noted": 2, "plain": 2}
    state = desk.do("show", issue_id=desk.ids["raised"])["issue"]["policyState"]
    assert (state["effectivePriority"], state["escalated"], len(state["breaches"])) == ("critical", True, 1)
    assert desk.events("priority_raised") == [{"from": 2, "to": 0}]
    assert desk.claim()["issueTask"] == "raised"


def test_service_levels_raise_from_creation_and_stop_with_the_work(desk: Desk) -> None:
    policy = {
        "serviceLevel": {"responseWithinMinutes": 10, "resolveWithinMinutes": 20},
        "escalationRules": [
            {"trigger": "response_sla_breached", "action": "raise_priority", "priority": "high"},
            {"trigger": "resolve_sla_breached", "action": "raise_priority", "priority": "critical"},
        ],
    }
    desk.open(policy=policy).plan(milestone("m", work("low", priority="low"), work("top", priority="critical")))
    desk.clock.advance(600)
    assert ranks(desk) == {"low": 1, "top": 0}
    desk.clock.advance(600)
    assert ranks(desk) == {"low": 0, "top": 0}
    desk.close(desk.claim("low"))
    assert "policyState" not in desk.do("show", issue_id=desk.ids["low"])["issue"] or (
        desk.do("show", issue_id=desk.ids["low"])["issue"]["policyState"]["breaches"] == []
    )


def test_seven_days_of_waiting_raise_by_one_rank_once(desk: Desk) -> None:
    desk.open().plan(milestone("m", work("low", priority="low"), work("medium"), work("critical", priority="critical")))
    desk.clock.advance(7 * DAY)
    assert ranks(desk) == {"low": 3, "medium": 2, "critical": 0}
    desk.clock.advance(0.001)
    assert ranks(desk) == {"low": 2, "medium": 1, "critical": 0}
    desk.clock.advance(300 * DAY)
    assert ranks(desk) == {"low": 2, "medium": 1, "critical": 0}
    desk.plan(milestone("n", work("fresh", priority="critical")))
    assert [desk.claim(agent=None)["issueTask"] for _ in range(2)] == ["critical", "fresh"]
