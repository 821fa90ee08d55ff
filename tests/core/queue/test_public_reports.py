"""Public bug reports of this kind, by their number on the reference page: what each asks for, on one machine's clock.

The same with real processes, kills and stops stands among the faults; 15 to 18 and 21 to 24 are about records, files,
watching and redaction, and stand there.
"""

import json
from typing import Any

import pytest

from phelix_core.checks import Surface
from phelix_core.commands.environment import Environment, open_environment
from phelix_core.settings import Settings
from phelix_core.sqlite import BUSY_DEADLINE_S, Database
from tests.core.queue.desk import HOST, REPORT, Desk, milestone, work
from tests.rig import FixedClock, did, refused


class Impatient(FixedClock):
    """A clock that goes on while somebody waits, and lets go of a lock when it is time."""

    def __init__(self, until: float, release: Any) -> None:
        super().__init__()
        self.until, self.release = until, release

    def sleep(self, seconds: float) -> None:
        self.advance(max(seconds, 0.1))
        if self.elapsed >= self.until and self.release is not None:
            self.release()
            self.release = None


def waiting(desk: Desk, until: float) -> tuple[Environment, Impatient]:
    """An environment whose writes find the queue locked by somebody else until so many seconds have passed."""
    other = Database(str(desk.path), desk.clock)
    other.ask("BEGIN IMMEDIATE")

    def release() -> None:
        other.ask("ROLLBACK")
        other.close()

    clock = Impatient(until, release)
    settings = Settings(data_dir=str(desk.data_dir))
    return open_environment(settings, Surface.CLI, clock=clock, mint=desk.mint), clock


def test_1_of_many_claims_on_one_issue_one_succeeds(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    answers = [desk.run("claim", {**HOST, "issue_id": desk.ids["a"], "agent": f"a{n}"}) for n in range(10)]
    codes = [answer.error.code for answer in answers if answer.error is not None]
    assert codes == ["ISSUE_NOT_CLAIMABLE"] * 9


def test_2_two_claims_never_share_a_run(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a", "b"))
    first, second = desk.claim(agent=None), desk.claim(agent=None)
    assert first["issueId"] != second["issueId"]
    assert first["leaseId"] != second["leaseId"]


def test_2_under_one_agents_name_the_later_call_goes_on_and_the_earlier_is_told_so(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a", "b"))
    first, second = desk.claim(), desk.claim()
    assert first["leaseId"] == second["leaseId"]
    assert desk.issue("b") == "ready"
    error = desk.no("checkpoint", context=json.dumps(first), status="done", **REPORT)
    assert error["code"] == "LEASE_LOST"


def test_3_a_second_writer_waits_its_turn_and_says_so_when_it_takes_too_long(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    env, _ = waiting(desk, until=5)
    assert did(env, "queue claim", **HOST, agent="ann")["issueTask"] == "a"
    env.queue.close()
    late, clock = waiting(desk, until=60)
    error = refused(late, "queue claim", **HOST, agent="bob")
    assert (error["code"], error["exit_code"], error["retryable"]) == ("STORE_BUSY", 1, True)
    assert BUSY_DEADLINE_S <= clock.elapsed < BUSY_DEADLINE_S + 1
    assert clock.release is not None
    clock.release()
    late.queue.close()


def test_4_a_holder_that_renews_outlives_any_bound_on_elapsed_time(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a", "b"))
    context = desk.claim("a")
    for _ in range(100):
        desk.clock.advance(1_799)
        desk.say(context)
        assert desk.do("reconcile")["needsRecovery"] == []
    desk.close(context)


def test_5_a_close_before_or_after_reconcile_ends_the_work_once(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a", "b"))
    first, second = desk.claim("a"), desk.claim("b", agent="bob")
    desk.clock.advance(5_000)
    desk.close(first)
    desk.do("reconcile")
    assert desk.no("close", lease=second["leaseId"], status="done", **REPORT)["code"] == "LEASE_LOST"
    assert desk.statuses() == {"a": "done", "b": "needs_recovery"}
    assert len(desk.events("session_closed")) == len(desk.events("needs_recovery")) == 1


def test_6_a_holder_that_was_given_up_is_told_to_stop(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    lease = desk.claim("a")["leaseId"]
    desk.clock.advance(1_800)
    desk.do("reconcile")
    error = desk.no("heartbeat", lease=lease)
    assert error["code"] == "LEASE_LOST"
    assert "Stop working" in error["message"]
    assert (error["details"]["ended"], error["details"]["reason"]) == ("needs_recovery", "lease_expired")


def test_7_a_holder_of_which_nothing_is_left_is_still_recovered(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a", "b"))
    context = desk.claim("a")
    desk.damage("DELETE FROM artifacts; UPDATE runs SET agent_id = '', notes = '{}', host = ''")
    (desk.data_dir / "sessions" / f"{context['sessionId']}.json").unlink()
    desk.clock.advance(1_800)
    assert desk.do("recover", resolution="resume", **HOST, agent="ann")["issueTask"] == "a"


@pytest.mark.parametrize("agent", ["ann", "bob"])
def test_8_the_same_host_and_agent_after_expiry_get_no_old_lease_back(desk: Desk, agent: str) -> None:
    desk.open().plan(milestone("m", "a", "b"))
    desk.claim("a", agent="ann")
    desk.clock.advance(1_800)
    assert desk.unclaimed(agent=agent)["code"] == "RECOVERY_REQUIRED"


def test_9_a_second_reconciler_finds_nothing_left_to_do(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    desk.claim("a")
    desk.clock.advance(1_800)
    desk.do("reconcile")
    desk.do("recover", resolution="resume", **HOST, agent="bob")
    before = desk.content()
    assert did(desk.surface(Surface.TUI), "queue reconcile") == {"needsRecovery": [], "failed": [], "released": []}
    assert desk.content() == before


def test_10_and_11_no_row_hides_the_next_however_many_there_are(desk: Desk) -> None:
    few = {"maxRecoveries": 1}
    desk.open().plan(milestone("m", *(work(f"t{n}", policy=few if n % 2 else {}) for n in range(30))))
    for number in range(30):
        desk.claim(f"t{number}", agent=f"a{number}", ttl=60)
    desk.damage("UPDATE issues SET policy = '{' WHERE task = 't0'; UPDATE issues SET recoveries = 9 WHERE task = 't1'")
    desk.damage("UPDATE issues SET recoveries = 1 WHERE task LIKE '%5'")
    desk.clock.advance(60)
    told = desk.do("reconcile")
    assert len(told["needsRecovery"]) + len(told["failed"]) == 30
    assert {one["issueId"] for one in told["failed"]} == {desk.ids[task] for task in ("t1", "t5", "t15", "t25")}
    assert desk.do("reconcile") == {"needsRecovery": [], "failed": [], "released": []}


@pytest.mark.parametrize("limit", [None, 1, 3])
def test_12_work_whose_holders_keep_dying_fails_as_a_crash_loop_and_blocks_nobody(
    desk: Desk, limit: int | None
) -> None:
    policy = {} if limit is None else {"maxRecoveries": limit}
    desk.open().plan(milestone("m", work("a", policy=policy), "b"))
    context = desk.claim("a", ttl=60)
    for _ in range(limit or 5):
        desk.clock.advance(60)
        context = desk.do("recover", resolution="resume", issue_id=desk.ids["a"], **HOST, ttl=60)
    desk.clock.advance(60)
    assert desk.claim("b", agent="bob")["issueTask"] == "b"
    assert desk.issue("a", "status, blocked_reason, recoveries") == ("failed", "crash_loop", limit or 5)
    assert desk.lease(context["leaseId"]) == "released"
    shown = desk.do("show", issue_id=desk.ids["a"])["staleness"]
    assert (shown["state"], shown["blocksClaims"]) == ("crash_loop", False)
    desk.do("retry", issue_id=desk.ids["a"], reason="fixed")
    assert desk.issue("a", "status, recoveries") == ("ready", 0)


def test_12_an_operators_late_recovery_of_a_crash_loop_is_told_what_became_of_it(desk: Desk) -> None:
    desk.open().plan(milestone("m", work("a", policy={"maxRecoveries": 1})))
    desk.claim("a", ttl=60)
    desk.clock.advance(60)
    desk.do("recover", resolution="resume", issue_id=desk.ids["a"], **HOST, ttl=60)
    desk.clock.advance(60)
    raw: dict[str, Any] = {"resolution": "requeue", "issue_id": desk.ids["a"], "reason": "r"}
    error = refused(desk.env, "queue recover", **raw)
    assert (error["code"], error["details"]["status"]) == ("QUEUE_INVALID_TRANSITION", "failed")
    assert desk.issue("a") == "failed"


@pytest.mark.parametrize("hours", [-2, 2])
def test_13_a_wall_clock_that_jumps_keeps_the_living_and_still_finds_the_dead(desk: Desk, hours: int) -> None:
    desk.open().plan(milestone("m", "a", "b"))
    desk.claim("a", ttl=60)
    living = desk.claim("b", agent="bob")
    desk.clock.wall_ms += hours * 3_600_000
    desk.clock.advance(60)
    assert desk.do("reconcile")["needsRecovery"] == [{"issueId": desk.ids["a"], "reason": "lease_expired"}]
    desk.say(living)


def test_14_a_claim_that_waited_long_for_the_lock_gets_its_whole_time(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    env, clock = waiting(desk, until=9)
    context = did(env, "queue claim", **HOST, agent="ann", ttl=5)
    acquired, mono = desk.lease(context["leaseId"], "expires_at - acquired_at, deadline_mono")
    assert acquired == 5_000
    assert mono >= 9_000 + 5_000
    assert mono == int(clock.elapsed * 1000) + 5_000
    env.queue.close()


def test_19_no_statement_is_left_open_by_any_verb(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a", work("b", 0)))
    desk.close(desk.claim("a"))
    desk.unclaimed(agent="bob", project="none")
    connection: Any = desk.connection
    assert not connection.in_transaction
    other = Database(str(desk.path), desk.clock)
    other.ask("BEGIN EXCLUSIVE")
    other.ask("ROLLBACK")
    assert other.ask("PRAGMA wal_checkpoint(TRUNCATE)")[0][0] == 0
    other.close()


@pytest.mark.parametrize(("ending", "opens"), [("done", True), ("failed", False), ("blocked", False), ("ready", False)])
def test_20_done_unlocks_and_nothing_else_does(desk: Desk, ending: str, opens: bool) -> None:  # noqa: FBT001 - a case
    desk.open().plan(milestone("m", "a", work("b", 0)), milestone("n", "c", after=("m",)))
    desk.close(desk.claim("a"), ending)
    desk.do("promote")
    assert desk.issue("b") == ("ready" if opens else "pending")
    assert desk.issue("c") == "pending"
    if opens:
        desk.close(desk.claim("b"))
        assert desk.issue("c") == "ready"
