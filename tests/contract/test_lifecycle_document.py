"""The lifecycle document, sentence by sentence: `SENTENCES` says which tests show what each of them asks for.

Where time or many calls matter the payloads are carried out in process, under a clock that stands still; else by the
real program.
"""

import json
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from random import Random
from shutil import rmtree
from typing import Any

import pytest

from phelix_core.lifecycle.actions import ACTIONS
from phelix_core.queue.model import TASK_STATUSES
from phelix_core.sqlite import DatabaseUnusable
from tests.contract.lifecycle import VERSION, Program, filled, payloads
from tests.contract.payload_desk import BEGIN, REPORT, PayloadDesk
from tests.core.queue.desk import Desk, milestone, work
from tests.core.queue.test_memory import Kept, living
from tests.mcp.host import Host, environ_of
from tests.rig import PHELIX, FixedClock, did, environment

LEASE_STATUSES = ("active", "released", "needs_recovery", "recovered")
CONTRACT, HOOKS, DONE, ANTI = "TestCanonicalContract", "TestImplementationHooks", "TestDoneCriteria", "TestAntiPatterns"
SENTENCES: dict[tuple[str, int], tuple[str, tuple[str, ...]]] = {
    (CONTRACT, 1): (
        "The SQLite file is the truth; memory is optional support",
        (
            "test_1_the_queues_file_alone_says_how_the_work_stands",
            "test_1_a_memory_that_fails_or_is_gone_changes_no_status_lease_or_claim",
        ),
    ),
    (CONTRACT, 2): (
        "A session is the scope of a claim, not the life of a process",
        (
            "test_2_each_call_may_be_a_process_of_its_own_and_the_session_ends_at_its_close",
            "test_2_a_new_process_of_the_same_agent_goes_on_in_the_same_session",
        ),
    ),
    (CONTRACT, 3): (
        "The lifecycle selects the next issue and claims it; skills carry it out",
        (
            "test_3_a_begin_takes_the_first_of_the_queues_order",
            "test_3_no_action_but_the_begins_and_advance_gives_a_lease",
        ),
    ),
    (CONTRACT, 4): (
        "Status of tasks: seven words, apart from what is said of leases",
        (
            "test_4_a_report_takes_exactly_the_seven_words",
            "test_4_statuses_of_issues_and_of_leases_stand_apart_all_their_lives",
        ),
    ),
    (CONTRACT, 5): (
        "Reconcile before any new claim; stale is an expired lease or an old checkpoint",
        ("test_5_a_begin_reconciles_first_by_both_rules_and_to_the_millisecond",),
    ),
    (CONTRACT, 6): (
        "No new claim while recovery is unresolved or a row is incoherent",
        (
            "test_6_unresolved_recovery_refuses_every_new_claim_until_it_is_resolved",
            "test_6_a_row_that_no_rule_explains_refuses_as_well",
        ),
    ),
    (CONTRACT, 7): (
        "A checkpoint at the claim, at each change of status, and before the lease ends",
        ("test_7_each_claim_change_and_close_has_its_checkpoint",),
    ),
    (CONTRACT, 8): (
        "A checkpoint has status, summary, evidence and next step",
        ("test_8_a_checkpoint_without_one_of_its_four_parts_is_refused_and_names_it",),
    ),
    (CONTRACT, 9): (
        "Memory is read at a begin or recovery, written at what is significant, in scope and linked",
        (
            "test_9_the_memory_is_asked_at_begin_and_recovery_and_by_nothing_else",
            "test_9_the_memory_is_told_of_what_is_significant_or_asked_for_in_scope_and_linked",
        ),
    ),
    (CONTRACT, 10): (
        "Promotion at close(done) or by promote_queue, past the gates of issues and of milestones",
        (
            "test_10_closing_as_done_promotes_what_waited_for_it_alone",
            "test_10_both_kinds_of_gate_hold_whichever_of_them_opens_first",
        ),
    ),
    (CONTRACT, 11): (
        "Work comes in by plan_issues with milestones[] and in no older form",
        (
            "test_11_a_batch_of_milestones_is_brought_in_whole",
            "test_11_the_removed_payload_is_refused_with_its_members_named_and_no_row",
            "test_11_a_batch_that_is_wrong_in_one_place_brings_in_nothing",
        ),
    ),
    (CONTRACT, 12): (
        "Begins and next_action carry host and hostCapabilities; routing explains itself",
        (
            "test_12_a_host_or_its_capabilities_that_are_missing_are_named",
            "test_12_the_program_refuses_them_as_well_and_writes_nothing",
            "test_12_the_same_host_gets_the_same_issue_and_a_mismatch_says_what_is_missing",
        ),
    ),
    (HOOKS, 1): (
        "A begin claims or resumes, writes its first checkpoint and loads what is remembered of the task",
        ("test_1_a_begin_claims_or_resumes_writes_its_checkpoint_and_loads_the_memory_of_its_task",),
    ),
    (HOOKS, 2): (
        "The same begin reconciles first; what it finds is recorded and blocks until it is resolved",
        ("test_2_what_a_begin_finds_stale_is_evidence_in_the_queue_and_blocks_until_it_is_resolved",),
    ),
    (HOOKS, 3): (
        "A recovery ends the stale leases, opens a new one with its checkpoint, and work goes on under it",
        ("test_3_a_recovery_ends_every_stale_lease_and_goes_on_under_a_new_one",),
    ),
    (HOOKS, 4): (
        "A checkpoint is a row and an event; memory is written where it is significant or asked for",
        ("test_4_a_checkpoint_is_a_row_and_an_event_and_only_sometimes_a_memory",),
    ),
    (HOOKS, 5): (
        "A close writes the last checkpoint, links the memory, ends the lease and promotes",
        ("test_5_a_close_writes_its_checkpoint_links_its_memory_ends_the_lease_and_promotes",),
    ),
    (HOOKS, 6): (
        "promoteQueue promotes what is eligible without a project's own logic",
        ("test_6_promoting_takes_every_issue_that_waits_for_nothing_and_says_what_the_others_wait_for",),
    ),
    (DONE, 1): (
        "One issue was handled under one lifecycle",
        ("test_1_one_issue_has_one_lease_one_session_and_one_story",),
    ),
    (DONE, 2): (
        "Reconciliation was complete before any new claim",
        ("test_2_in_the_journal_every_finding_stands_before_the_claim_that_follows",),
    ),
    (DONE, 3): (
        "There are checkpoints for claim, changes of status and the end",
        ("test_3_no_issue_is_in_a_status_that_no_checkpoint_tells_of",),
    ),
    (DONE, 4): (
        "Memories are derived, scoped and linked to evidence",
        ("test_4_each_memory_is_derived_from_a_checkpoint_and_names_its_scope_and_evidence",),
    ),
    (DONE, 5): (
        "The queue was advanced by the lifecycle and by nobody's own writes",
        ("test_5_the_journal_tells_of_every_row_and_a_write_past_it_is_found",),
    ),
    (ANTI, 1): (
        "Taking the life of a process for the session",
        ("test_1_an_agent_that_is_killed_ends_no_session", "test_1_an_agent_that_leaves_properly_ends_none_either"),
    ),
    (ANTI, 2): (
        "Picking work past the queue",
        ("test_2_work_that_the_queue_does_not_offer_cannot_be_taken",),
    ),
    (ANTI, 3): (
        "Writing the state of issues directly",
        (
            "test_3_without_an_active_lease_no_report_is_taken",
            "test_3_a_status_that_was_written_past_the_lifecycle_is_found_and_blocks_claims",
        ),
    ),
    (ANTI, 4): (
        "Claiming while something is stale or needs recovery",
        ("test_4_no_agent_host_or_preference_gets_past_what_needs_recovery",),
    ),
    (ANTI, 5): (
        "Memories without a link to evidence",
        (
            "test_5_the_schema_lets_nothing_be_put_by_for_the_memory_without_its_checkpoint",
            "test_5_a_memory_whose_link_was_not_written_is_offered_again_until_it_is",
        ),
    ),
    (ANTI, 6): (
        "A promotion of one's own beside promote_queue",
        ("test_6_closing_as_done_and_promote_queue_agree_on_every_graph",),
    ),
    (ANTI, 7): (
        "Planning with milestoneDescription or issues at the top",
        ("test_7_no_form_of_the_removed_payload_brings_in_a_row",),
    ),
}
"""What the document asks for, by its chapter and its place in it, in words of ours; and the tests that show it."""


@pytest.fixture
def desk(data_dir: Path, clock: FixedClock) -> Iterator[Desk]:
    """An open desk; whatever was done on it, the journal must tell all of it."""
    made = Desk(data_dir, clock).open()
    yield made
    made.require_replay()
    made.env.queue.close()


@pytest.fixture
def queue(desk: Desk) -> PayloadDesk:
    return PayloadDesk(desk)


@pytest.fixture
def program(data_dir: Path, tmp_path: Path, clock: FixedClock) -> Program:
    """The real program over a queue with two ready issues and one that waits for the first."""
    env = environment(data_dir, clock)
    did(env, "queue init", name="lab")
    did(env, "queue campaign", project_name="Acme", campaign_name="first")
    told = did(env, "queue plan", batch=json.dumps({"milestones": [milestone("m", "a", "b", work("c", 0))]}))
    did(env, "queue promote")
    env.queue.close()
    made = Program(data_dir, tmp_path)
    made.known |= {one["task"]: one["id"] for one in told["generatedMilestones"][0]["generatedIssues"]}
    return made


def remembering(queue: PayloadDesk, memory: Any) -> None:
    """Let the payloads be carried out by a process with a memory."""
    queue.env = living(queue.desk, memory)


def ready(counts: Any) -> int:
    return counts["queue"]["statusCounts"].get("ready", 0)


class TestCanonicalContract:
    """The twelve points."""

    def test_1_the_queues_file_alone_says_how_the_work_stands(self, program: Program, data_dir: Path) -> None:
        context = program.do("begin_incremental", **BEGIN, agentId="ann")["context"]
        program.do("checkpoint", context, **REPORT, taskStatus="in_progress")
        before = program.do("inspect_audit", issueId=context["issueId"])["result"]
        for path in data_dir.iterdir():
            if path.is_dir():
                rmtree(path)
        assert {path.name for path in data_dir.iterdir()} <= {"queue.db", "queue.db-wal", "queue.db-shm"}
        after = program.do("inspect_audit", issueId=context["issueId"])["result"]
        for part in ("issue", "summary"):
            assert after[part] == before[part]
        again = program.do("begin_incremental", **BEGIN, agentId="ann")["context"]
        assert (again["claimMode"], again["leaseId"]) == ("resume", context["leaseId"])
        assert again["nextBestAction"] == REPORT["nextStep"]

    @pytest.mark.parametrize("memory", [None, "the disk is full"])
    def test_1_a_memory_that_fails_or_is_gone_changes_no_status_lease_or_claim(
        self, queue: PayloadDesk, memory: str | None
    ) -> None:
        queue.desk.plan(milestone("m", "a", work("b", 0)))
        remembering(queue, Kept(failing=memory))
        held = queue.begin(mem0Enabled=True)
        assert held["mem0"]["available"] is (memory is None)
        assert queue.close(held)["promotedIssueIds"] == [queue.desk.ids["b"]]
        held = queue.begin(mem0Enabled=True)
        queue.say(held, "blocked", blockedReason="waits")
        assert queue.desk.statuses() == {"a": "done", "b": "blocked"}
        assert queue.desk.lease(held["leaseId"]) == "active"
        assert queue.points("a") == [("promotion", "ready"), ("claim", "in_progress"), ("a title", "done")]

    def test_2_each_call_may_be_a_process_of_its_own_and_the_session_ends_at_its_close(
        self, program: Program, data_dir: Path
    ) -> None:
        context = program.do("begin_incremental", **BEGIN, agentId="ann")["context"]
        told = program.do("checkpoint", context, **REPORT, taskStatus="in_progress")["result"]
        assert told["context"]["sessionId"] == context["sessionId"]
        record = data_dir / "sessions" / f"{context['sessionId']}.json"
        assert json.loads(record.read_bytes())["status"] == "active"
        program.do("close", context, **REPORT, taskStatus="done")
        assert json.loads(record.read_bytes())["status"] == "completed"

    def test_2_a_new_process_of_the_same_agent_goes_on_in_the_same_session(self, queue: PayloadDesk) -> None:
        queue.desk.plan(milestone("m", "a", "b"))
        first = queue.begin("a")
        queue.env = queue.desk.surface(queue.desk.env.surface)
        again = queue.begin()
        assert [again[name] for name in ("claimMode", "issueId", "leaseId", "sessionId")] == [
            "resume",
            *(first[name] for name in ("issueId", "leaseId", "sessionId")),
        ]
        assert queue.no("heartbeat", first)["code"] == "LEASE_LOST", "the process before it is out"

    def test_3_a_begin_takes_the_first_of_the_queues_order(self, queue: PayloadDesk) -> None:
        soon, later = "2026-12-01T00:00:00Z", "2026-12-02T00:00:00Z"
        queue.desk.plan(
            milestone(
                "m",
                work("5", priority="low"),
                work("4"),
                work("3", deadlineAt=later),
                work("2", deadlineAt=soon),
                work("1", priority="critical"),
            )
        )
        assert [queue.begin(agent=f"agent {n}")["issueTask"] for n in range(5)] == ["1", "2", "3", "4", "5"]
        assert queue.unbegun()["code"] == "NOTHING_READY"

    def test_3_no_action_but_the_begins_and_advance_gives_a_lease(self, data_dir: Path, clock: FixedClock) -> None:
        desk = Desk(data_dir, clock)
        queue, known, gave = PayloadDesk(desk), Program(data_dir, data_dir), set[str]()
        for payload in payloads("lifecycle").values():
            before = desk.content().get("leases", [])
            given = filled(payload, known.known)
            known.learn(queue.tell(given["action"], given.get("context"), **given["input"]))
            if len(desk.content()["leases"]) > len(before):
                gave.add(payload["action"])
        assert gave == {"begin_incremental", "begin_recovery", "advance"}
        assert {payload["action"] for payload in payloads("lifecycle").values()} == set(ACTIONS)

    def test_4_a_report_takes_exactly_the_seven_words(self, queue: PayloadDesk) -> None:
        seven = ("pending", "ready", "in_progress", "blocked", "needs_recovery", "done", "failed")
        assert seven == TASK_STATUSES
        queue.desk.plan(milestone("m", "a"))
        held = queue.begin("a")
        taken = {
            "checkpoint": {"in_progress", "blocked", "needs_recovery", "done", "failed"},
            "close": {"ready", "blocked", "needs_recovery", "done", "failed"},
        }
        for word in (*seven, "active", "released", "recovered", "archived", "Done", "in-progress", ""):
            for action, words in taken.items():
                told = queue.no(action, {**held, "leaseId": "L-none"}, **REPORT, taskStatus=word)
                assert told["code"] == ("LEASE_LOST" if word in words else "INVALID_ARGUMENT"), (action, word)
                if word not in seven:
                    assert [one["path"] for one in told["issues"]] == [["input", "taskStatus"]]

    def test_4_statuses_of_issues_and_of_leases_stand_apart_all_their_lives(self, queue: PayloadDesk) -> None:
        desk = queue.desk.plan(milestone("m", "a", "b", "c", "d", "e", work("f", 0)))
        for task, status in (("a", "failed"), ("b", "blocked"), ("c", "needs_recovery")):
            queue.close(queue.begin(task, agent=task), status)
        queue.say(queue.recover(), "in_progress")
        queue.begin("d", leaseTtlSeconds=60)
        desk.clock.advance(60)
        queue.do("reconcile", projectId="Acme")
        export = queue.do("inspect_export", projectId="Acme")
        assert {desk.statuses()[task] for task in "abcdef"} == set(TASK_STATUSES) - {"done"}
        assert {row[0] for row in desk.ask("SELECT DISTINCT status FROM leases")} == set(LEASE_STATUSES)
        for lease in desk.ask("SELECT issue_id, status FROM leases WHERE status = 'recovered'"):
            assert desk.one("SELECT status FROM issues WHERE id = ?", lease[0]) == "in_progress"
        assert all("leaseStatus" not in issue for issue in export["queue"]["readyIssues"])

    @pytest.mark.parametrize(("limit", "reason"), [("ttl", "lease_expired"), ("freshness", "checkpoint_stale")])
    def test_5_a_begin_reconciles_first_by_both_rules_and_to_the_millisecond(
        self, queue: PayloadDesk, limit: str, reason: str
    ) -> None:
        queue.desk.plan(milestone("m", "a", "b", "c"))
        limits = {"ttl": (600, 3_600), "freshness": (3_600, 600)}[limit]
        queue.begin("a", leaseTtlSeconds=limits[0], checkpointFreshnessSeconds=limits[1])
        queue.desk.clock.advance(599.999)
        assert queue.begin("b", agent="bob")["issueTask"] == "b"
        queue.desk.clock.advance(0.001)
        assert queue.blockers(queue.unbegun("eve")) == [("a", reason)]
        assert queue.desk.statuses() == {"a": "needs_recovery", "b": "in_progress", "c": "ready"}

    def test_6_unresolved_recovery_refuses_every_new_claim_until_it_is_resolved(self, queue: PayloadDesk) -> None:
        queue.desk.plan(milestone("m", "a", "b"))
        queue.begin("a", leaseTtlSeconds=60)
        queue.desk.clock.advance(60)
        assert queue.blockers(queue.unbegun()) == [("a", "lease_expired")]
        for _ in range(3):
            assert queue.blockers(queue.no("begin_incremental", **BEGIN, agentId="bob")) == [("a", "lease_expired")]
        assert ready(queue.health()) == 1
        assert queue.recover()["issueTask"] == "a"
        assert queue.begin(agent="bob")["issueTask"] == "b"

    def test_6_a_row_that_no_rule_explains_refuses_as_well(self, queue: PayloadDesk) -> None:
        queue.desk.plan(milestone("m", "a", "b"))
        queue.begin("a")
        queue.desk.damage("UPDATE leases SET status = 'released'")
        assert queue.blockers(queue.unbegun()) == [("a", "incoherent_state")]
        assert queue.desk.issue("b") == "ready"

    def test_7_each_claim_change_and_close_has_its_checkpoint(self, queue: PayloadDesk) -> None:
        queue.desk.plan(milestone("m", "a"))
        held = queue.begin("a", leaseTtlSeconds=86_400)
        queue.say(held, "blocked", title="stuck", blockedReason="waits")
        queue.say(held, title="going again")
        queue.begin("a")
        queue.desk.clock.advance(3_600)
        queue.unbegun()
        again = queue.recover()
        queue.say(again, title="nearly there")
        queue.close(again, title="finished")
        expected = [
            ("promotion", "ready"),
            ("claim", "in_progress"),
            ("stuck", "blocked"),
            ("going again", "in_progress"),
            ("resume", "in_progress"),
            ("needs_recovery", "needs_recovery"),
            ("recovery_claim", "in_progress"),
            ("nearly there", "in_progress"),
            ("finished", "done"),
        ]
        assert queue.points("a") == expected

    @pytest.mark.parametrize("action", ["checkpoint", "close", "advance"])
    @pytest.mark.parametrize("part", ["taskStatus", "summary", "artifactIds", "nextStep"])
    def test_8_a_checkpoint_without_one_of_its_four_parts_is_refused_and_names_it(
        self, queue: PayloadDesk, action: str, part: str
    ) -> None:
        queue.desk.plan(milestone("m", "a"))
        held = queue.begin("a")
        whole = {**REPORT, "taskStatus": "failed"}
        absent = {name: value for name, value in whole.items() if name != part}
        empty: dict[str, Any] = {**whole, part: [] if part == "artifactIds" else ""}
        for given in (absent, empty):
            told = queue.no(action, held, **given)
            assert told["code"] == "INVALID_ARGUMENT"
            assert [one["path"] for one in told["issues"]] == [["input", part]]
        queue.do(action, held, **whole)

    def test_9_the_memory_is_asked_at_begin_and_recovery_and_by_nothing_else(self, queue: PayloadDesk) -> None:
        queue.desk.plan(milestone("m", "a", "b"))
        memory = Kept()
        remembering(queue, memory)
        held = queue.begin("a", mem0Enabled=True, memoryQuery="what broke", memorySearchLimit=2)
        assert [(query, scope.task, limit) for query, scope, limit in memory.asked] == [
            ("what broke", queue.desk.ids["a"], 2)
        ]
        queue.say(held)
        queue.do("heartbeat", held)
        queue.close(held, "needs_recovery")
        queue.health()
        queue.audit("a")
        assert len(memory.asked) == 1
        again = queue.recover(mem0Enabled=True)
        assert [query for query, _, _ in memory.asked] == ["what broke", "a"]
        assert [one["memory"] for one in again["mem0"]["recalledMemories"]] == ["so far"]

    def test_9_the_memory_is_told_of_what_is_significant_or_asked_for_in_scope_and_linked(
        self, queue: PayloadDesk
    ) -> None:
        queue.desk.plan(milestone("m", "a"))
        memory = Kept()
        remembering(queue, memory)
        held = queue.begin("a", mem0Enabled=True)
        queue.say(held)
        assert memory.keepsakes == []
        told = [
            queue.say(held, persistToMem0=True, memoryKind="preference", memoryContent="tabs"),
            queue.say(held, "blocked", blockedReason="waits"),
            queue.say(held),
            queue.close(held),
        ]
        told = [one for one in told if "memoryId" in one]
        assert [(one.kind, one.text) for one in memory.keepsakes] == [
            ("preference", "tabs"),
            ("decision", "so far"),
            ("summary", "so far"),
        ]
        links = queue.audit("a")["evidence"]["memoryLinks"]
        assert {one["checkpointId"] for one in links} == {one["checkpoint"]["id"] for one in told}
        for one in memory.keepsakes:
            scope = held["scope"]
            assert (one.scope.workspace, one.scope.project, one.scope.campaign, one.scope.task, one.scope.run) == (
                *(scope[name] for name in ("workspace", "project", "campaign", "task", "run")),
            )

    def test_10_closing_as_done_promotes_what_waited_for_it_alone(self, queue: PayloadDesk) -> None:
        desk = queue.desk.plan(
            milestone("m", "a", "b", work("after a", 0), work("after both", 0, 1)),
            milestone("n", "after m", after=("m",)),
        )
        for status in ("failed", "blocked", "ready"):
            assert queue.close(queue.begin("b"), status).get("promotedIssueIds", []) == []
            if status != "ready":
                queue.do("retry" if status == "failed" else "unblock", issueId=desk.ids["b"], reason="again")
        assert queue.close(queue.begin("a"))["promotedIssueIds"] == [desk.ids["after a"]]
        assert queue.close(queue.begin("b"))["promotedIssueIds"] == [desk.ids["after both"]]
        queue.close(queue.begin("after a"))
        assert desk.issue("after m") == "pending"
        assert queue.close(queue.begin("after both"))["promotedIssueIds"] == [desk.ids["after m"]]

    def test_10_both_kinds_of_gate_hold_whichever_of_them_opens_first(self, queue: PayloadDesk) -> None:
        desk = queue.desk.plan(milestone("m", "a"), milestone("n", "b", work("c", 0), after=("m",)))

        def kept_back() -> dict[str, str]:
            told = queue.do("promote_queue", projectId="Acme")
            assert told["promotedIssueIds"] == []
            return {one["task"]: one["reason"] for one in told["keptBack"]}

        behind = f"milestone_dependency:{desk.milestones['m']}"
        assert kept_back() == {"b": behind, "c": behind}
        queue.close(queue.begin("a"))
        assert kept_back() == {"c": f"issue_dependency:{desk.ids['b']}"}
        queue.do("rollback_issue", issueId=desk.ids["a"], reason="it was wrong")
        assert desk.statuses() == {"a": "pending", "b": "pending", "c": "pending"}
        queue.do("promote_queue", projectId="Acme")
        assert desk.statuses() == {"a": "ready", "b": "pending", "c": "pending"}

    def test_11_a_batch_of_milestones_is_brought_in_whole(self, program: Program) -> None:
        batch = [milestone("x", "one", work("two", 0)), milestone("y", "three", after=("x",))]
        told = program.do("plan_issues", projectId="Acme", milestones=batch)["result"]
        assert (told["milestoneCount"], told["issueCount"]) == (2, 3)
        first, second = told["generatedMilestones"]
        assert [issue["task"] for issue in first["generatedIssues"]] == ["one", "two"]
        assert first["generatedIssues"][1]["dependsOn"] == [first["generatedIssues"][0]["id"]]
        assert second["dependsOnMilestoneIds"] == [first["id"]]
        assert program.do("inspect_health_snapshot", projectId="Acme")["result"]["queue"]["statusCounts"] == {
            "pending": 4,
            "ready": 2,
            "total": 6,
        }

    def test_11_the_removed_payload_is_refused_with_its_members_named_and_no_row(self, program: Program) -> None:
        legacy = {"projectId": "Acme", "milestoneDescription": "old", "issues": [work("one")]}
        before = program.do("inspect_export", projectId="Acme")["result"]["queue"]
        told = program({"contractVersion": VERSION, "action": "plan_issues", "input": legacy}).error
        assert told["code"] == "INVALID_ARGUMENT"
        named = {(one["code"], *one["path"], *one.get("keys", [])) for one in told["issues"]}
        assert named == {
            ("invalid_type", "input", "milestones"),
            ("unrecognized_keys", "input", "milestoneDescription"),
            ("unrecognized_keys", "input", "issues"),
        }
        assert program.do("inspect_export", projectId="Acme")["result"]["queue"] == before

    @pytest.mark.parametrize(
        ("place", "batch"),
        [
            ([], []),
            ([1, "issues", 2], [milestone("x", "a"), milestone("y", "b", "c", work("d", 2))]),
            ([1, "depends_on_milestone_keys"], [milestone("x", "a"), milestone("y", "b", after=("z",))]),
            ([1, "issues", 0, "size"], [milestone("x", "a"), milestone("y", work("b", size="huge"))]),
            ([1, "issues", 0], [milestone("x", "a"), milestone("y", work("b", zzz=1))]),
        ],
        ids=["nothing", "an index to itself", "an unknown key", "a bad size", "an unknown member"],
    )
    def test_11_a_batch_that_is_wrong_in_one_place_brings_in_nothing(
        self, queue: PayloadDesk, place: list[Any], batch: list[Any]
    ) -> None:
        told = queue.no("plan_issues", projectId="Acme", milestones=batch)
        assert told["code"] == "INVALID_ARGUMENT"
        (found,) = told["issues"]
        assert found["path"][: len(place) + 2] == ["input", "milestones", *place]
        assert queue.desk.ask("SELECT count(*) FROM issues UNION ALL SELECT count(*) FROM milestones") == [(0,), (0,)]

    @pytest.mark.parametrize("action", ["begin_incremental", "begin_recovery", "next_action"])
    def test_12_a_host_or_its_capabilities_that_are_missing_are_named(self, queue: PayloadDesk, action: str) -> None:
        queue.desk.plan(milestone("m", "a"))
        whole: dict[str, Any] = {"projectId": "Acme", "host": "h", "hostCapabilities": {"workloadClasses": ["code"]}}
        if action != "next_action":
            whole = {**BEGIN, **whole, **({"recoverySummary": "s"} if action == "begin_recovery" else {})}
        for missing in ({"host"}, {"hostCapabilities"}, {"host", "hostCapabilities"}):
            given = {name: value for name, value in whole.items() if name not in missing}
            told = queue.no(action, **given)
            assert told["code"] == "INVALID_ARGUMENT"
            assert {(*one["path"], one["message"]) for one in told["issues"]} == {
                ("input", name, "Required") for name in missing
            }
        wrong: list[Any] = [
            {},
            {"workloadClasses": []},
            {"capabilities": ["net"]},
            {"workloadClasses": "code"},
            ["code"],
        ]
        for spoiled in wrong:
            told = queue.no(action, **{**whole, "hostCapabilities": spoiled})
            assert [one["path"][:2] for one in told["issues"]] == [["input", "hostCapabilities"]]
        assert queue.tell(action, **whole).get("code") in {None, "NOTHING_READY"}

    def test_12_the_program_refuses_them_as_well_and_writes_nothing(self, program: Program) -> None:
        before = program.do("inspect_export", projectId="Acme")["result"]["queue"]
        for name in ("host", "hostCapabilities"):
            given = {member: value for member, value in BEGIN.items() if member != name}
            told = program({"contractVersion": VERSION, "action": "begin_incremental", "input": given}).error
            assert (told["code"], told["issues"][0]["path"]) == ("INVALID_ARGUMENT", ["input", name])
        assert program.do("inspect_export", projectId="Acme")["result"]["queue"] == before

    def test_12_the_same_host_gets_the_same_issue_and_a_mismatch_says_what_is_missing(self, queue: PayloadDesk) -> None:
        needs = {"dispatch": {"workloadClass": "gpu", "requiredHostCapabilities": ["net", "cuda"]}}
        desk = queue.desk.plan(milestone("m", work("on a gpu", priority="high", policy=needs), "anywhere"))
        advice = queue.do("next_action", **{name: BEGIN[name] for name in ("projectId", "host", "hostCapabilities")})
        assert advice["context"]["issue"]["task"] == "anywhere"
        assert queue.begin()["issueTask"] == "anywhere"
        told = queue.unbegun()
        assert told["code"] == "HOST_MISMATCH"
        (candidate,) = told["details"]["candidates"]
        assert (candidate["issueId"], candidate["missingWorkloadClass"], candidate["missingHostCapabilities"]) == (
            desk.ids["on a gpu"],
            "gpu",
            ["cuda"],
        )
        able = {"workloadClasses": ["gpu"], "capabilities": ["cuda", "net"]}
        assert queue.begin(agent="eve", hostCapabilities=able)["issueTask"] == "on a gpu"


class TestImplementationHooks:
    """What the document says of each call."""

    def test_1_a_begin_claims_or_resumes_writes_its_checkpoint_and_loads_the_memory_of_its_task(
        self, queue: PayloadDesk
    ) -> None:
        queue.desk.plan(milestone("m", "a"))
        memory = Kept()
        remembering(queue, memory)
        held = queue.begin("a", mem0Enabled=True)
        assert (held["claimMode"], held["currentTaskStatus"]) == ("claim", "in_progress")
        point = queue.desk.one("SELECT title, task_status FROM checkpoints WHERE id = ?", held["currentCheckpointId"])
        assert point == ("claim", "in_progress")
        queue.say(held, persistToMem0=True, memoryContent="the port is 8080")
        again = queue.begin(mem0Enabled=True)
        assert (again["claimMode"], again["leaseId"]) == ("resume", held["leaseId"])
        assert [one["memory"] for one in again["mem0"]["recalledMemories"]] == ["the port is 8080"]
        assert {scope.task for _, scope, _ in memory.asked} == {queue.desk.ids["a"]}
        told = [event["kind"] for event in queue.audit("a")["evidence"]["events"]]
        assert told.count("mem0_context_loaded") == 2

    def test_2_what_a_begin_finds_stale_is_evidence_in_the_queue_and_blocks_until_it_is_resolved(
        self, queue: PayloadDesk
    ) -> None:
        desk = queue.desk.plan(milestone("m", "a", "b", "c"))
        queue.begin("a", leaseTtlSeconds=60)
        queue.begin("b", agent="bob", checkpointFreshnessSeconds=60)
        desk.clock.advance(60)
        found = queue.blockers(queue.unbegun("eve"))
        assert sorted(found) == [("a", "lease_expired"), ("b", "checkpoint_stale")]
        for task, reason in found:
            told = queue.audit(task)
            assert (told["issue"]["status"], told["issue"]["blockedReason"]) == ("needs_recovery", reason)
            (event,) = [one for one in told["evidence"]["events"] if one["kind"] == "needs_recovery"]
            (point,) = [one for one in told["evidence"]["checkpoints"] if one["title"] == "needs_recovery"]
            assert point["artifactIds"] == [event["id"]], "it cites its event"
            assert [one["status"] for one in told["evidence"]["leases"]] == ["needs_recovery"]
        queue.recover(preferredIssueId=desk.ids["a"])
        assert queue.blockers(queue.unbegun("zoe")) == [("b", "checkpoint_stale")]
        queue.do("recover", issueId=desk.ids["b"], resolution="fail", reason="not worth it")
        assert queue.begin(agent="zoe")["issueTask"] == "c"

    def test_3_a_recovery_ends_every_stale_lease_and_goes_on_under_a_new_one(self, queue: PayloadDesk) -> None:
        desk = queue.desk.plan(milestone("m", "a"))
        old = queue.begin("a", leaseTtlSeconds=60)
        queue.say(old, nextStep="run the slow tests")
        desk.clock.advance(60)
        new = queue.recover()
        assert (new["claimMode"], new["leaseEpoch"], new["nextBestAction"]) == ("recovery", 2, "run the slow tests")
        told = queue.audit("a")["evidence"]
        assert [(one["id"], one["status"]) for one in told["leases"]] == [
            (old["leaseId"], "recovered"),
            (new["leaseId"], "active"),
        ]
        assert told["checkpoints"][0]["title"] == "recovery_claim"
        assert "recovery_resolved" in [one["kind"] for one in told["events"]]
        for action in ("checkpoint", "close"):
            refused = queue.no(action, old, **REPORT, taskStatus="done")
            assert (refused["code"], refused["details"]["followedBy"]) == ("LEASE_LOST", new["leaseId"])
        queue.close(new)
        assert desk.statuses() == {"a": "done"}

    def test_4_a_checkpoint_is_a_row_and_an_event_and_only_sometimes_a_memory(self, queue: PayloadDesk) -> None:
        queue.desk.plan(milestone("m", "a"))
        memory = Kept()
        remembering(queue, memory)
        held = queue.begin("a", mem0Enabled=True)
        plain = queue.say(held)["checkpoint"]
        told = queue.audit("a")["evidence"]
        assert {name: value for name, value in plain.items() if name != "payloadEventId"} == told["checkpoints"][0]
        (event,) = [one for one in told["events"] if one["id"] == plain["payloadEventId"]]
        assert event["payload"]["checkpointId"] == plain["id"]
        assert (memory.keepsakes, queue.desk.ask("SELECT * FROM memory_outbox")) == ([], [])
        asked, significant = queue.say(held, persistToMem0=True), queue.say(held, "blocked", blockedReason="waits")
        unasked = queue.say(held, "blocked", blockedReason="waits", persistToMem0=False)
        assert "memoryId" not in unasked
        kept = [one.checkpoint_id for one in memory.keepsakes]
        assert kept == [asked["checkpoint"]["id"], significant["checkpoint"]["id"]]

    def test_5_a_close_writes_its_checkpoint_links_its_memory_ends_the_lease_and_promotes(
        self, queue: PayloadDesk
    ) -> None:
        desk = queue.desk.plan(milestone("m", "a", work("b", 0)))
        remembering(queue, Kept())
        held = queue.begin("a", mem0Enabled=True)
        told = queue.close(held, title="finished")
        assert (told["checkpoint"]["title"], told["checkpoint"]["taskStatus"]) == ("finished", "done")
        assert told["promotedIssueIds"] == [desk.ids["b"]]
        found = queue.audit("a")["evidence"]
        (link,) = found["memoryLinks"]
        assert (link["checkpointId"], link["memoryRef"]) == (told["checkpoint"]["id"], told["memoryId"])
        (lease,) = found["leases"]
        assert (lease["status"], lease["endReason"]) == ("released", "done")
        assert {one["status"] for one in found["artifacts"]} == {"released"}
        assert queue.no("close", held, **REPORT, taskStatus="done")["code"] == "LEASE_LOST"

    def test_6_promoting_takes_every_issue_that_waits_for_nothing_and_says_what_the_others_wait_for(
        self, queue: PayloadDesk
    ) -> None:
        desk = queue.desk.plan(
            milestone("m", "a", work("b", priority="high"), work("c", 0)),
            milestone("n", "d", after=("m",)),
            promote=False,
        )
        assert set(desk.statuses().values()) == {"pending"}
        told = queue.do("promote_queue", projectId="Acme")
        assert told["promotedIssueIds"] == [desk.ids["b"], desk.ids["a"]], "in the order of claims"
        assert {one["task"]: one["reason"] for one in told["keptBack"]} == {
            "c": f"issue_dependency:{desk.ids['a']}",
            "d": f"milestone_dependency:{desk.milestones['m']}",
        }
        before = desk.content()
        assert queue.do("promote_queue", projectId="Acme")["promotedIssueIds"] == []
        assert desk.content()["issues"] == before["issues"], "twice is once"
        assert queue.points("a") == [("promotion", "ready")]


class TestDoneCriteria:
    """How one knows that it was done right."""

    def test_1_one_issue_has_one_lease_one_session_and_one_story(self, program: Program, data_dir: Path) -> None:
        context = program.do("begin_incremental", **BEGIN, agentId="ann")["context"]
        program.do("checkpoint", context, **REPORT, taskStatus="in_progress")
        program.do("close", context, **REPORT, taskStatus="done")
        told = program.do("inspect_audit", issueId=context["issueId"])["result"]
        assert told["issue"]["status"] == "done"
        (lease,) = told["evidence"]["leases"]
        assert (lease["id"], lease["sessionId"]) == (context["leaseId"], context["sessionId"])
        mine = [one for one in told["evidence"]["checkpoints"] if one["title"] != "promotion"]
        assert {one["runId"] for one in mine} == {context["runId"]}
        (record,) = (data_dir / "sessions").glob("ses_*.json")
        assert (record.stem, json.loads(record.read_bytes())["status"]) == (context["sessionId"], "completed")

    def test_2_in_the_journal_every_finding_stands_before_the_claim_that_follows(self, queue: PayloadDesk) -> None:
        desk = queue.desk.plan(milestone("m", "a", "b", "c", "d"))
        for task in ("a", "b"):
            queue.begin(task, agent=task, leaseTtlSeconds=60)
        desk.clock.advance(60)
        held = queue.recover(preferredIssueId=desk.ids["b"])
        marked = desk.ask("SELECT seq, issue_id FROM events WHERE kind = 'needs_recovery'")
        resolved = desk.one("SELECT seq FROM events WHERE kind = 'recovery_resolved'")
        assert {issue for _, issue in marked} == {desk.ids["a"], desk.ids["b"]}
        assert all(seq < resolved for seq, _ in marked)
        leases = len(desk.ask("SELECT id FROM leases"))
        queue.unbegun("zoe")
        assert len(desk.ask("SELECT id FROM leases")) == leases
        queue.recover()
        assert queue.begin(agent="zoe")["issueTask"] == "c"
        assert held["issueTask"] == "b"

    def test_3_no_issue_is_in_a_status_that_no_checkpoint_tells_of(self, queue: PayloadDesk) -> None:
        desk = queue.desk.plan(milestone("m", *"abcdefg"), milestone("n", "h", after=("m",)))
        for task, status in (("a", "done"), ("b", "failed"), ("c", "blocked"), ("d", "ready")):
            queue.close(queue.begin(task, agent=task), status)
        queue.say(queue.begin("e", agent="e", leaseTtlSeconds=86_400))
        queue.begin("f", agent="f", leaseTtlSeconds=60)
        desk.clock.advance(60)
        queue.do("reconcile", projectId="Acme")
        queue.do("rollback_issue", issueId=desk.ids["g"], reason="not yet")
        queue.do("unblock", issueId=desk.ids["c"], reason="it came")
        queue.do("retry", issueId=desk.ids["b"], reason="again")
        for task, status in desk.statuses().items():
            points = queue.points(task)
            assert (points[-1][1] if points else "pending") == status, task
        changed = desk.ask("SELECT task_status FROM checkpoints ORDER BY issue_id, seq")
        assert {one[0] for one in changed} == set(TASK_STATUSES)

    def test_4_each_memory_is_derived_from_a_checkpoint_and_names_its_scope_and_evidence(
        self, queue: PayloadDesk
    ) -> None:
        desk = queue.desk.plan(milestone("m", "a", "b"))
        memory = Kept()
        remembering(queue, memory)
        for task, status in (("a", "done"), ("b", "needs_recovery")):
            queue.close(queue.begin(task, mem0Enabled=True), status, summary=f"about {task}")
        queue.close(queue.recover(mem0Enabled=True), "failed", summary="given up")
        assert len(memory.keepsakes) == 3
        for kept in memory.keepsakes:
            row = desk.one(
                "SELECT k.summary, k.issue_id, k.run_id, k.artifact_ids, l.project_id, l.campaign_id"
                " FROM memory_links l JOIN checkpoints k ON k.id = l.checkpoint_id WHERE l.memory_ref = ?",
                f"m-{kept.key}",
            )
            scope = kept.scope
            assert (kept.text, scope.task, scope.run, json.dumps(kept.artifact_ids)) == (
                *row[:3],
                json.dumps(json.loads(row[3])),
            )
            assert (scope.project, scope.campaign) == row[4:]
        told = [json.loads(row[0]) for row in desk.ask("SELECT payload FROM events WHERE kind = 'mem0_memory_linked'")]
        assert {one["checkpointId"] for one in told} == {kept.checkpoint_id for kept in memory.keepsakes}

    def test_5_the_journal_tells_of_every_row_and_a_write_past_it_is_found(self, queue: PayloadDesk) -> None:
        desk = queue.desk.plan(milestone("m", "a", "b", work("c", 0)))
        queue.close(queue.begin("a"))
        desk.require_replay()
        for promoted in ("a", "b", "c"):
            assert queue.points(promoted)[0] == ("promotion", "ready")
        desk.damage(f"UPDATE issues SET status = 'in_progress' WHERE id = '{desk.ids['c']}'")
        assert queue.do("reconcile", projectId="Acme")["needsRecovery"] == [
            {"issueId": desk.ids["c"], "reason": "incoherent_state"}
        ]


HOLDER = """
    import sys
    from phelix_core import SessionLifecycleAdapter
    from phelix_core.lifecycle.inputs import ArtifactRef, BeginIncremental, HostCapabilities

    with SessionLifecycleAdapter(data_dir=sys.argv[1]) as lifecycle:
        context = lifecycle.begin_incremental(
            BeginIncremental(
                workspace_id="lab", project_id="Acme", agent_id="ann", host="h", mem0_enabled=False,
                host_capabilities=HostCapabilities(workload_classes=("code",)),
                artifacts=(ArtifactRef(kind="branch", path="b"),),
            )
        )
        print(context["leaseId"], flush=True)
        sys.stdin.read()
"""


class TestAntiPatterns:
    """What the document warns of: each cannot be done, or is refused."""

    def test_1_an_agent_that_is_killed_ends_no_session(self, program: Program, tmp_path: Path) -> None:
        words = [str(PHELIX), "mcp", "lifecycle", "--data-dir", str(program.data_dir)]
        with Host(words, tmp_path) as host:
            host.greet()
            begun = host.result(host.call("harness_session", action="begin", **BEGIN, agentId="ann"))
            host.signal(signal.SIGKILL)
            assert host.process.wait(60) == -signal.SIGKILL
        lease = begun["context"]["leaseId"]
        health = program.do("inspect_health_snapshot", projectId="Acme")["result"]
        assert (health["leases"]["activeLeaseIds"], health["claimsBlockedBy"]) == ([lease], [])
        told = program.do("inspect_audit", issueId=begun["context"]["issueId"])["result"]
        (shown,) = told["evidence"]["leases"]
        assert (shown["status"], shown["holderGone"]) == ("active", True), "seen, and not decided upon"
        again = program.do("begin_incremental", **BEGIN, agentId="ann")["context"]
        assert (again["claimMode"], again["leaseId"]) == ("resume", lease)

    def test_1_an_agent_that_leaves_properly_ends_none_either(self, program: Program, tmp_path: Path) -> None:
        words = [sys.executable, "-c", textwrap.dedent(HOLDER), str(program.data_dir)]
        left = subprocess.run(words, capture_output=True, input=b"", env=environ_of(tmp_path), timeout=60, check=True)
        lease = left.stdout.decode().strip()
        again = program.do("begin_incremental", **BEGIN, agentId="ann")["context"]
        assert (again["claimMode"], again["leaseId"]) == ("resume", lease)
        program.do("close", again, **REPORT, taskStatus="done")
        health = program.do("inspect_health_snapshot", projectId="Acme")["result"]
        assert health["leases"]["activeCount"] == 0

    def test_2_work_that_the_queue_does_not_offer_cannot_be_taken(self, queue: PayloadDesk) -> None:
        desk = queue.desk.plan(
            milestone("m", "taken", "done", "blocked", work("gated", 0)), milestone("n", "x", after=("m",))
        )
        queue.begin("taken", agent="bob")
        queue.close(queue.begin("done"))
        queue.close(queue.begin("blocked"), "blocked")
        for task in ("taken", "done", "blocked", "gated", "x"):
            told = queue.no("begin_incremental", **BEGIN, agentId="ann", preferredIssueId=desk.ids[task])
            assert told["code"] == "ISSUE_NOT_CLAIMABLE", task
        assert queue.no("begin_incremental", **BEGIN, preferredIssueId="I-none")["code"] == "NOT_FOUND"
        other = {**BEGIN, "workspaceId": "elsewhere"}
        assert queue.no("begin_incremental", **other)["code"] in {"NOT_FOUND", "INVALID_ARGUMENT"}

    def test_3_without_an_active_lease_no_report_is_taken(self, queue: PayloadDesk) -> None:
        desk = queue.desk.plan(milestone("m", "a", "b"))
        ended = queue.begin("a")
        queue.close(ended)
        held = queue.begin("b")
        foreign = [ended, {"leaseId": "L-none"}, {**held, "issueId": desk.ids["a"]}, {**held, "runId": ended["runId"]}]
        for context in (*foreign, {**held, "leaseEpoch": 2}):
            for action in ("checkpoint", "close", "advance"):
                assert queue.no(action, context, **REPORT, taskStatus="failed")["code"] == "LEASE_LOST"
        for name, action in ACTIONS.items():
            members = set(action.input.__annotations__)
            assert action.holds or not members & {"task_status", "status"}, f"{name} sets a status without a lease"

    def test_3_a_status_that_was_written_past_the_lifecycle_is_found_and_blocks_claims(
        self, queue: PayloadDesk
    ) -> None:
        desk = queue.desk.plan(milestone("m", "a", "b", "c"))
        held = queue.begin("a")
        desk.damage(f"UPDATE issues SET status = 'ready' WHERE id = '{held['issueId']}'")
        assert queue.blockers(queue.unbegun()) == [("a", "incoherent_state")]
        queue.do("recover", issueId=desk.ids["a"], resolution="requeue", reason="somebody wrote into the file")
        desk.damage(f"UPDATE issues SET status = 'in_progress' WHERE id = '{desk.ids['b']}'")
        assert queue.blockers(queue.unbegun()) == [("b", "incoherent_state")]

    def test_4_no_agent_host_or_preference_gets_past_what_needs_recovery(self, queue: PayloadDesk) -> None:
        desk = queue.desk.plan(milestone("m", "a", "b", "c", "d"))
        queue.close(queue.begin("a", agent="zoe"), "needs_recovery")
        desk.clock.advance(1)
        ways: list[dict[str, Any]] = [
            {"agentId": "zoe"},
            {"agentId": "bob", "preferredIssueId": desk.ids["c"]},
            {"host": "another", "hostCapabilities": {"workloadClasses": ["gpu"]}},
            {"campaignId": desk.campaign},
            {"leaseTtlSeconds": 1, "checkpointFreshnessSeconds": 1},
            {"sessionId": "RUN-of-my-own"},
            {"preferredIssueId": desk.ids["a"]},
        ]
        for way in ways:
            assert queue.blockers(queue.no("begin_incremental", **{**BEGIN, **way})) == [("a", "needs_recovery")], way
        assert desk.statuses() == {"a": "needs_recovery", "b": "ready", "c": "ready", "d": "ready"}

    def test_5_the_schema_lets_nothing_be_put_by_for_the_memory_without_its_checkpoint(
        self, queue: PayloadDesk
    ) -> None:
        desk = queue.desk.plan(milestone("m", "a"))
        remembering(queue, Kept())
        queue.close(queue.begin("a", mem0Enabled=True))
        before = desk.content()
        for spoiled in ("NULL", "'K-none'"):
            with pytest.raises(DatabaseUnusable, match="constraint"):
                desk.writer.script(f"UPDATE memory_outbox SET checkpoint_id = {spoiled}")
        assert desk.content() == before

    def test_5_a_memory_whose_link_was_not_written_is_offered_again_until_it_is(self, queue: PayloadDesk) -> None:
        desk = queue.desk.plan(milestone("m", "a"))
        memory = Kept(failing="it sleeps")
        remembering(queue, memory)
        told = queue.close(queue.begin("a", mem0Enabled=True))
        assert (told["memoryQueued"], told["mem0WriteSkippedReason"]) == (True, "it sleeps")
        assert desk.ask("SELECT * FROM memory_links") == []
        assert queue.do("memory_sync")["waiting"] == 1
        memory.failing = None
        (ref,) = queue.do("memory_sync")["linkedMemoryIds"]
        (link,) = queue.audit("a")["evidence"]["memoryLinks"]
        assert (link["memoryRef"], link["checkpointId"]) == (ref, told["checkpoint"]["id"])
        assert queue.do("memory_sync") == {"linkedMemoryIds": [], "skipped": [], "waiting": 0}

    @pytest.mark.parametrize("seed", range(8))
    def test_6_closing_as_done_and_promote_queue_agree_on_every_graph(self, queue: PayloadDesk, seed: int) -> None:
        desk, random = queue.desk, Random(seed)
        keys = ["m0", "m1", "m2", "m3"]
        batch: list[Any] = []
        for place, key in enumerate(keys):
            issues = [
                work(f"{key} {n}", *sorted(random.sample(range(n), random.randint(0, min(n, 2))))) for n in range(4)
            ]
            batch.append(
                milestone(key, *issues, after=tuple(random.sample(keys[:place], random.randint(0, min(place, 2)))))
            )
        desk.plan(*batch)
        closed = 0
        while any(status == "ready" for status in desk.statuses().values()):
            promoted = queue.close(queue.begin()).get("promotedIssueIds", [])
            closed += 1
            assert queue.do("promote_queue", projectId="Acme")["promotedIssueIds"] == [], "nothing was left"
            for issue in promoted:
                queue.do("rollback_issue", issueId=issue, reason="to promote it by the other way")
            assert queue.do("promote_queue", projectId="Acme")["promotedIssueIds"] == promoted
        assert closed == len(keys) * 4

    def test_7_no_form_of_the_removed_payload_brings_in_a_row(self, queue: PayloadDesk) -> None:
        issues = [work("one")]
        forms: list[dict[str, Any]] = [
            {"milestoneDescription": "old", "issues": issues},
            {"milestone_description": "old", "issues": issues},
            {"milestoneDescription": "old", "issues": issues, "milestones": []},
            {"milestoneDescription": "old", "milestones": [milestone("m", "one")]},
            {"issues": issues, "milestones": [milestone("m", "one")]},
            {"issues": issues},
            {"milestones": [{"milestoneDescription": "old", "issues": issues}]},
            {"milestones": milestone("m", "one")},
        ]
        for form in forms:
            told = queue.no("plan_issues", projectId="Acme", **form)
            assert told["code"] == "INVALID_ARGUMENT"
            assert told["issues"], form
        assert queue.desk.ask("SELECT count(*) FROM issues UNION ALL SELECT count(*) FROM milestones") == [(0,), (0,)]


def test_the_table_and_the_tests_agree() -> None:
    told = [(chapter, test) for (chapter, _), (_, tests) in SENTENCES.items() for test in tests]
    classes = (TestCanonicalContract, TestImplementationHooks, TestDoneCriteria, TestAntiPatterns)
    found = [(one.__name__, name) for one in classes for name in vars(one) if name.startswith("test_")]
    assert sorted(told) == sorted(found)
    assert len(set(told)) == len(told)
    for (_, number), (sentence, tests) in SENTENCES.items():
        assert sentence
        assert all(test.startswith(f"test_{number}_") for test in tests)
    numbers = {chapter: sorted(number for name, number in SENTENCES if name == chapter) for chapter, _ in SENTENCES}
    assert {chapter: len(held) for chapter, held in numbers.items()} == {CONTRACT: 12, HOOKS: 6, DONE: 5, ANTI: 7}
    assert all(held == list(range(1, len(held) + 1)) for held in numbers.values())
