"""When a lease is alive and when its work is stale, by which clock, and where it cannot be told."""

import pytest

from phelix_core.clock import Moment
from phelix_core.frozen import changed
from phelix_core.queue.model import Lease
from phelix_core.queue.staleness import Finding, of_checkpoint, of_lease, why_stale
from tests.core.queue.desk import HOST, HOUR, Desk, milestone
from tests.rig import NOW_MS, refused

LEASE = Lease(
    id="L", project_id="P", campaign_id=None, issue_id="I", run_id="R", session_id=None, agent_id="ann", host="h",
    status="active", epoch=1, ttl_ms=1_000, freshness_ms=2_000, boot="b", acquired_at=NOW_MS, renewed_at=NOW_MS,
    expires_at=NOW_MS + 1_000, deadline_mono=51_000, checkpoint_at=NOW_MS, checkpoint_mono=50_000,
    last_heartbeat_at=None, released_at=None, end_reason=None, holder_pid=None, holder_started=None,
)  # fmt: skip


def at(after_ms: int, *, wall: int = 0, boot: str = "b", mono: int | None = None) -> Moment:
    """So long after the lease was taken, with the wall clock moved by `wall`."""
    return Moment(wall_ms=NOW_MS + after_ms + wall, mono_ms=50_000 + after_ms if mono is None else mono, boot=boot)


@pytest.mark.parametrize("wall", [0, 7_200_000, -7_200_000])
@pytest.mark.parametrize(("after", "state"), [(0, "live"), (999, "live"), (1_000, "expired"), (1_001, "expired")])
def test_on_the_same_boot_the_monotonic_clock_alone_decides(after: int, state: str, wall: int) -> None:
    standing = of_lease(LEASE, at(after, wall=wall))
    assert (standing.state, standing.left_ms, standing.clock) == (state, 1_000 - after, "monotonic")


@pytest.mark.parametrize(("boot", "known"), [("other", "b"), ("", ""), ("", "b"), ("other", "")])
@pytest.mark.parametrize(
    ("after", "state"), [(-1, "cannot tell"), (0, "live"), (999, "live"), (1_000, "expired"), (7_200_000, "expired")]
)
def test_on_another_boot_the_wall_clock_decides_and_backwards_tells_nothing(
    after: int, state: str, boot: str, known: str
) -> None:
    standing = of_lease(changed(LEASE, boot=known), at(after, boot=boot, mono=5))
    assert (standing.state, standing.clock) == (state, "wall")
    assert (standing.left_ms is None) == (state == "cannot tell")


@pytest.mark.parametrize(("after", "state"), [(1_999, "live"), (2_000, "expired")])
@pytest.mark.parametrize("boot", ["b", "other"])
def test_a_checkpoint_is_fresh_until_its_limit(after: int, state: str, boot: str) -> None:
    assert of_checkpoint(LEASE, at(after, boot=boot)).state == state


@pytest.mark.parametrize(
    ("status", "after", "reason", "ends"),
    [
        ("in_progress", 999, None, None),
        ("in_progress", 1_000, "lease_expired", "lease_expired"),
        ("done", 0, None, "finished"),
        ("failed", 5_000, None, "finished"),
        ("blocked", 999, None, None),
        ("blocked", 1_000, None, "lease_expired"),
        ("ready", 0, "incoherent_state", "incoherent_state"),
        ("pending", 5_000, "incoherent_state", "incoherent_state"),
        ("needs_recovery", 999, None, None),
    ],
)
def test_the_rules_of_reconcile_in_their_order(status: str, after: int, reason: str | None, ends: str | None) -> None:
    expected = None if ends is None else Finding(reason=reason, ends=ends)
    assert why_stale(status, LEASE, at(after)) == expected


def test_a_lease_that_lives_is_stale_when_its_checkpoint_is_too_old_or_missing() -> None:
    longer = changed(LEASE, deadline_mono=90_000, expires_at=NOW_MS + 40_000)
    stale = Finding(reason="checkpoint_stale", ends="checkpoint_stale")
    assert why_stale("in_progress", longer, at(1_999)) is None
    assert why_stale("in_progress", longer, at(2_000)) == stale
    assert why_stale("blocked", longer, at(30_000)) is None
    assert why_stale("in_progress", changed(longer, checkpoint_at=None, checkpoint_mono=None), at(0)) == stale
    assert why_stale("in_progress", LEASE, at(-5_000, boot="other")) is None


@pytest.mark.parametrize("step", [2 * HOUR, -2 * HOUR])
def test_two_hours_of_wall_clock_change_no_decision(desk: Desk, step: int) -> None:
    desk.open().plan(milestone("m", "a", "b"))
    lease = desk.claim("a")["leaseId"]
    desk.clock.wall_ms += step * 1_000
    assert desk.do("reconcile")["needsRecovery"] == []
    desk.do("heartbeat", lease=lease)
    desk.clock.advance(1_799)
    assert desk.do("reconcile")["needsRecovery"] == []
    desk.clock.advance(1)
    assert desk.do("reconcile")["needsRecovery"] == [{"issueId": desk.ids["a"], "reason": "lease_expired"}]


def test_a_machine_that_sleeps_ages_no_lease(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    desk.claim("a")
    desk.clock.wall_ms += 12 * HOUR * 1_000
    assert desk.do("reconcile")["needsRecovery"] == []
    assert desk.do("show", issue_id=desk.ids["a"])["staleness"]["state"] == "live"


def test_after_a_reboot_the_wall_clock_decides_and_backwards_it_is_said_that_nobody_can_tell(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a", "b"))
    context = desk.claim("a")
    desk.clock.boot_id, desk.clock.elapsed = "boot-2", 0.0
    desk.clock.wall_ms -= 60_000
    assert desk.do("reconcile")["needsRecovery"] == []
    assert desk.do("health")["leases"]["cannotTell"] == [context["leaseId"]]
    assert desk.do("show", issue_id=desk.ids["a"])["staleness"]["state"] == "cannot tell"
    assert desk.claim("b", agent="bob")["issueTask"] == "b"
    desk.clock.wall_ms += 60_000 + 1_800_000 - 1
    assert desk.do("reconcile")["needsRecovery"] == []
    desk.clock.wall_ms += 1
    assert desk.do("reconcile")["needsRecovery"] == [{"issueId": desk.ids["a"], "reason": "lease_expired"}]


@pytest.mark.parametrize("back", [0, 2 * HOUR])
def test_a_renewal_after_a_reboot_shortens_nothing(desk: Desk, back: int) -> None:
    desk.open().plan(milestone("m", "a"))
    lease = desk.claim("a", freshness=86_400)["leaseId"]
    longer = desk.do("heartbeat", lease=lease, ttl=20 * HOUR)["leaseExpiresAt"]
    desk.clock.boot_id, desk.clock.elapsed = "boot-2", 7.0
    desk.clock.wall_ms -= back * 1_000
    assert desk.do("heartbeat", lease=lease)["leaseExpiresAt"] == longer
    desk.clock.advance(20 * HOUR - 1)
    assert desk.do("reconcile")["needsRecovery"] == []
    desk.clock.advance(1)
    assert len(desk.do("reconcile")["needsRecovery"]) == 1


def test_a_heartbeat_after_a_reboot_does_not_refresh_the_checkpoint(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    lease = desk.claim("a", ttl=10 * HOUR)["leaseId"]
    desk.clock.advance(3_000)
    desk.clock.boot_id, desk.clock.elapsed = "boot-2", 50_000.0
    desk.do("heartbeat", lease=lease)
    desk.clock.advance(599)
    assert desk.do("reconcile")["needsRecovery"] == []
    desk.clock.advance(1)
    assert desk.do("reconcile")["needsRecovery"] == [{"issueId": desk.ids["a"], "reason": "checkpoint_stale"}]


@pytest.mark.parametrize(("field", "seconds"), [("ttl", 0), ("ttl", -1), ("ttl", 86_401), ("ttl", 2**63)])
@pytest.mark.parametrize("verb", ["claim", "heartbeat", "recover"])
def test_seconds_outside_a_day_are_refused(desk: Desk, verb: str, field: str, seconds: int) -> None:
    desk.open().plan(milestone("m", "a"))
    lease = desk.claim("a")["leaseId"]
    raw = {"claim": HOST, "heartbeat": {"lease": lease}, "recover": {"resolution": "resume", **HOST}}[verb]
    assert desk.no(verb, **raw, **{field: seconds})["code"] == "INVALID_ARGUMENT"
    if verb != "heartbeat":
        assert desk.no(verb, **raw, freshness=seconds)["code"] == "INVALID_ARGUMENT"


def test_the_shortest_and_the_longest_lease_are_what_they_say(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a", "b"))
    short = desk.claim("a", ttl=1, freshness=1)
    desk.claim("b", agent="bob", ttl=86_400, freshness=86_400)
    desk.clock.advance(1)
    assert desk.do("reconcile")["needsRecovery"] == [{"issueId": desk.ids["a"], "reason": "lease_expired"}]
    assert refused(desk.env, "queue heartbeat", lease=short["leaseId"])["code"] == "LEASE_LOST"
    desk.clock.advance(86_398)
    assert desk.do("reconcile")["needsRecovery"] == []
    desk.clock.advance(1)
    assert desk.do("reconcile")["needsRecovery"] == [{"issueId": desk.ids["b"], "reason": "lease_expired"}]
