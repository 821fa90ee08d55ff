"""Export, audit, health and context: true to the rows, paged without gaps, and read-only to the byte."""

import json
from typing import Any

import pytest

from phelix_core.checks import Surface
from phelix_core.commands.registry import load_command
from phelix_core.sqlite import Database
from tests.core.queue.desk import HOST, Desk, milestone, work
from tests.rig import did, refused

LATE = {"serviceLevel": {"resolveWithinMinutes": 1}, "escalationRules": [
    {"trigger": "resolve_sla_breached", "action": "raise_priority", "priority": "high"}
]}  # fmt: skip


def busy(desk: Desk) -> Desk:
    """A queue with an issue in every status, a stale lease and a breached policy."""
    desk.open().plan(
        milestone("m", "held", "done", "failed", "blocked", "lost", "free", work("late", policy=LATE)),
        milestone("n", "later", after=("m",)),
    )
    for task in ("done", "failed", "blocked"):
        desk.go(task, task)
    desk.claim("held", agent="ann", ttl=60)
    desk.say(desk.claim("lost", agent="bob"), "needs_recovery")
    desk.clock.advance(61)
    return desk


def test_an_export_tells_every_issue_by_what_it_waits_for(desk: Desk) -> None:
    told = busy(desk).do("export")
    queue = told["queue"]
    assert told["exportVersion"] == 1
    assert told["scope"] == {"projectId": desk.one("SELECT id FROM projects"), "campaignId": None}
    assert queue["statusCounts"] == {
        "in_progress": 1, "done": 1, "failed": 1, "blocked": 1, "needs_recovery": 1, "ready": 2, "pending": 1,
        "total": 8,
    }  # fmt: skip

    def tasks(name: str) -> list[str]:
        return [one["task"] for one in queue[name]]

    assert tasks("readyIssues") == ["late", "free"] or tasks("readyIssues") == ["free", "late"]
    assert tasks("inProgressIssues") == ["held"]
    assert tasks("recoveryIssues") == ["lost"]
    assert {one["task"]: one["blockedReason"] for one in queue["blockedIssues"]} == {
        "blocked": "so far",
        "later": f"milestone_dependency:{desk.milestones['m']}",
    }
    assert [(one["key"], one["status"], one["priority"]) for one in queue["blockedMilestones"]] == [
        ("n", "blocked", "medium")
    ]
    assert (told["leases"]["activeCount"], list(told["leases"]["staleReasons"].values())) == (1, ["lease_expired"])
    assert told["policy"]["trackedIssues"] == 1
    assert [one["task"] for one in told["policy"]["breachedIssues"]] == ["late"]
    assert told["policy"]["breachCounts"]["resolve_sla_breached"] == 1
    assert "nextCursor" not in told


def test_an_export_holds_run_level_events_too_and_as_many_as_were_asked_for(desk: Desk) -> None:
    told = busy(desk).do("export", events=100, runs=2)
    assert {"issues_planned", "campaign_created"} <= {one["kind"] for one in told["audit"]["recentEvents"]}
    assert told["audit"]["recentEventCount"] == len(told["audit"]["recentEvents"])
    assert (told["runs"]["recentCount"], len(told["runs"]["recent"])) == (2, 2)
    assert told["checkpoints"]["lastCheckpointAt"] is not None
    newest = [one["seq"] for one in told["audit"]["recentEvents"]]
    assert newest == sorted(newest, reverse=True)


def test_pages_of_an_export_hold_every_issue_once(desk: Desk) -> None:
    desk.open().plan(*(milestone(f"m{number}", *(f"{number}-{one}" for one in range(5))) for number in range(3)))
    seen: list[str] = []
    cursor: dict[str, Any] = {}
    for _ in range(10):
        told = desk.do("export", limit=4, **cursor)
        seen += [one["task"] for one in told["queue"]["readyIssues"]]
        if "nextCursor" not in told:
            break
        cursor = {"cursor": told["nextCursor"]}
    assert len(seen) == 15
    assert len(set(seen)) == 15


def test_pages_of_an_audit_hold_every_entry_once_and_end(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    context = desk.claim("a")
    for number in range(7):
        desk.clock.advance(1)
        desk.say(context, summary=f"step {number}")
    desk.do("heartbeat", lease=context["leaseId"])
    desk.clock.advance(4_000)
    desk.do("reconcile")
    desk.do("recover", resolution="resume", issue_id=desk.ids["a"], **HOST)
    whole = desk.do("audit", issue_id=desk.ids["a"], limit=100)
    assert "nextCursor" not in whole
    entries: list[Any] = []
    points: list[Any] = []
    events: list[Any] = []
    cursor: dict[str, Any] = {}
    pages = 0
    while True:
        page = desk.do("audit", issue_id=desk.ids["a"], limit=3, **cursor)
        pages += 1
        entries += page["timeline"]
        points += page["evidence"]["checkpoints"]
        events += page["evidence"]["events"]
        assert page["summary"]["checkpointCount"] == whole["summary"]["checkpointCount"]
        if "nextCursor" not in page:
            break
        cursor = {"cursor": page["nextCursor"]}
    assert pages == 4
    assert [one["id"] for one in events] == [one["id"] for one in whole["evidence"]["events"]]
    assert [one["id"] for one in points] == [one["id"] for one in whole["evidence"]["checkpoints"]]

    def named(timeline: list[Any]) -> list[str]:
        return sorted(json.dumps(one, sort_keys=True) for one in timeline)

    assert named(entries) == named(whole["timeline"])
    kinds = [one["entryType"] for one in whole["timeline"]]
    assert kinds.count("lease_acquired") == 2
    assert kinds.count("lease_released") == 1
    assert kinds.count("lease_heartbeat") == 1
    assert whole["timeline"] == sorted(whole["timeline"], key=lambda one: one["at"], reverse=True)


def test_an_audit_says_of_each_checkpoint_what_it_set_and_what_came_next(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    desk.say(desk.claim("a"), evidence=["commit:1", "log"])
    told = desk.do("audit", issue_id=desk.ids["a"])["evidence"]["checkpoints"][0]
    assert (told["taskStatus"], told["nextStep"], told["artifactIds"]) == ("in_progress", "go on", ["commit:1", "log"])


def test_health_names_stale_leases_by_both_rules_and_counts_ages(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a", "b", "c"))
    desk.claim("a", agent="x", ttl=60)
    second = desk.claim("b", agent="y", freshness=60, ttl=80_000)
    desk.clock.advance(61)
    desk.do("recover", resolution="requeue", issue_id=desk.ids["a"], reason="r")
    desk.do("recover", resolution="requeue", issue_id=desk.ids["b"], reason="r")
    first = desk.claim("a", agent="x", ttl=60)
    second = desk.claim("b", agent="y", freshness=60, ttl=80_000)
    desk.clock.advance(59)
    third = desk.claim("c", agent="z")
    desk.clock.advance(2)
    told = desk.do("health")
    assert told["leases"]["staleReasons"] == {
        first["leaseId"]: "lease_expired",
        second["leaseId"]: "checkpoint_stale",
    }
    assert third["leaseId"] in told["leases"]["activeLeaseIds"]
    assert [one["count"] for one in told["leases"]["ages"]][:2] == [1, 2]
    assert sum(one["count"] for one in told["leases"]["ages"]) == told["leases"]["activeCount"] == 3
    assert [(one["kind"], one["severity"], one["count"]) for one in told["alerts"]] == [("stale_leases", "high", 2)]


def test_health_counts_failed_runs_breaches_and_what_blocks_claims(desk: Desk) -> None:
    told = busy(desk).do("health")
    assert told["audit"]["failedRunCount"] == 1
    assert told["policy"] == {
        "trackedIssues": 1,
        "escalatedIssueCount": 1,
        "breachedIssueCount": 1,
        "breachCounts": {"deadline_breached": 0, "response_sla_breached": 0, "resolve_sla_breached": 1},
    }
    assert [one["issueId"] for one in told["claimsBlockedBy"]] == [desk.ids["lost"]]
    assert {one["kind"] for one in told["alerts"]} == {"stale_leases", "needs_recovery", "policy_breaches"}


def test_the_context_counts_each_campaign(desk: Desk) -> None:
    desk.open("first").plan(milestone("m", "a"))
    desk.campaign_of("second").plan(milestone("m", "b", "c"), campaign=desk.campaign)
    told = desk.do("context")
    (project,) = told["projects"]
    assert project["statusCounts"]["total"] == 3
    assert [(one["name"], one["statusCounts"]["total"]) for one in project["campaigns"]] == [
        ("first", 1),
        ("second", 2),
    ]
    assert told["workspaces"] == [{"id": project["workspaceId"], "name": "lab"}]


LOOKS: dict[str, dict[str, Any]] = {
    "export": {}, "audit": {"issue_id": "held"}, "health": {}, "next": HOST, "context": {},
    "show": {"issue_id": "held"}, "list": {},
}  # fmt: skip


@pytest.mark.parametrize("name", LOOKS)
def test_an_inspection_changes_no_byte_and_makes_no_file(desk: Desk, name: str) -> None:
    busy(desk).env.queue.close()
    db = Database(str(desk.path), desk.clock)
    db.ask("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    raw = {key: desk.ids.get(value, value) if isinstance(value, str) else value for key, value in LOOKS[name].items()}
    before = desk.path.read_bytes()
    looking = desk.surface(Surface.CLI, read_only=True)
    did(looking, f"queue {name}", **raw)
    looking.queue.close()
    assert desk.path.read_bytes() == before


@pytest.mark.parametrize("name", sorted(set(LOOKS) - {"next"}))
def test_an_inspection_of_what_is_not_there_says_so_and_makes_nothing(desk: Desk, name: str) -> None:
    raw = dict.fromkeys(LOOKS[name], "I-none")
    assert desk.no(name, **raw)["code"] == "NOT_FOUND"
    assert not desk.data_dir.exists()
    desk.open()
    assert refused(desk.env, f"queue {name}", **(raw or {"project": "none"}))["code"] == "NOT_FOUND"


def test_one_row_that_somebody_damaged_hides_no_other_from_an_export(desk: Desk) -> None:
    busy(desk)
    desk.damage("UPDATE issues SET policy = 'not json', recipients = '{' WHERE task = 'late'")
    told = desk.do("export")
    assert told["queue"]["statusCounts"]["total"] == 8
    assert told["policy"]["breachedIssues"] == []
    assert desk.do("health")["policy"]["trackedIssues"] == 1


def test_every_inspection_is_a_read_on_every_surface() -> None:
    for name in LOOKS:
        command = load_command(f"queue {name}")
        assert command.effect.value == "read"
        assert command.surfaces == frozenset(Surface)
