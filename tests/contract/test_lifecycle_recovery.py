"""The document's recovery: whoever comes after an agent that was killed, at whatever point, recovers by reading alone,
puts right what is stale before it takes anything new, and takes the work to its end."""

import json
import os
import select
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.contract.recovery_agent import LAST, STEPS, Agent, Refused, Surface, started, surface
from tests.core.queue.desk import Desk, milestone, work
from tests.rig import FixedClock, did, environment

PATIENCE_S = 60
SEEDS = int(os.environ.get("PHELIX_RECOVERY_SEEDS", "4"))
"""How often an agent is killed on each surface."""
HOWS = ("asked", "journal", "record", "told")
"""When: as the call begins, as the queue's journal or a session record moves under it, when it was acknowledged."""
CALLS = len(STEPS) + 2
TASKS = 2


@dataclass(frozen=True)
class Death:
    """At which of its calls an agent dies, how far into it, and whether its successor has its name."""

    call: int
    how: str
    is_resumed: bool

    @classmethod
    def by(cls, seed: int) -> "Death":
        """One of them."""
        random, how = Random(f"death {seed}"), HOWS[seed % len(HOWS)]
        calls = [n for n in range(TASKS * CALLS) if how != "record" or n % CALLS in (0, CALLS - 1)]
        return cls(random.choice(calls), how, is_resumed=seed % 3 == 2)


def planned(data_dir: Path) -> list[str]:
    """A queue with some issues, all ready but the last, which waits for the first; answers their ids."""
    env = environment(data_dir, FixedClock(time.time_ns() // 1_000_000))
    did(env, "queue init", name="lab")
    did(env, "queue campaign", project_name="Acme", campaign_name="first")
    batch = [milestone("m", *(work(f"t{number}") for number in range(TASKS - 1)), work("last", 0))]
    told = did(env, "queue plan", batch=json.dumps({"milestones": batch}))
    did(env, "queue promote")
    env.queue.close()
    return [issue["id"] for issue in told["generatedMilestones"][0]["generatedIssues"]]


# The agent that dies


def traces(data_dir: Path, how: str) -> list[tuple[str, int, int]]:
    """What a call leaves behind, as far as `how` looks."""
    paths = sorted(data_dir.glob("sessions/*")) if how == "record" else [data_dir / "queue.db-wal"]
    found: list[tuple[str, int, int]] = []
    for path in paths:
        with suppress(FileNotFoundError):
            told = path.stat()
            found.append((path.name, told.st_size, told.st_mtime_ns))
    return found


def has_said(end: Any, within_s: float) -> bool:
    return bool(select.select([end], [], [], within_s)[0])


def said(running: Any) -> Iterator[Any]:
    """What an agent says, line by line."""
    held = b""
    while True:
        assert has_said(running.stdout, PATIENCE_S), "the agent says nothing"
        chunk = os.read(running.stdout.fileno(), 1 << 16)
        if not chunk:
            return
        *lines, held = (held + chunk).split(b"\n")
        yield from (json.loads(line) for line in lines)


def killed(kind: str, data_dir: Path, scratch: Path, death: Death) -> list[Any]:
    """Let an agent work until it dies; answers what it was told, when nothing of it lives any more."""
    pid_file = scratch / "server.pid"
    acknowledged: list[Any] = []
    is_dead = False
    with started(kind, data_dir, "dying", 1_800 if death.is_resumed else 1, pid_file) as running:
        assert running.stdin
        assert running.stderr
        for line in said(running):
            if "told" in line:
                acknowledged.append(line)
                if (death.how, death.call) == ("told", line["told"]):
                    is_dead = _kill(running.pid, pid_file)
            if "told" in line or is_dead:
                continue
            before = traces(data_dir, death.how)
            running.stdin.write(b"go\n")
            running.stdin.flush()
            if line["asks"] == death.call and death.how != "told":
                while death.how != "asked" and traces(data_dir, death.how) == before:
                    if has_said(running.stdout, 0.0005):
                        break
                is_dead = _kill(running.pid, pid_file)
        with suppress(BrokenPipeError):
            running.stdin.close()
        assert running.stderr.read() == b"", "nobody holds the other end any more, and nobody complained"
        assert running.wait(PATIENCE_S) == -signal.SIGKILL
    assert len(acknowledged) in (death.call, death.call + 1)
    return acknowledged


def _kill(agent: int, pid_file: Path) -> bool:
    if pid_file.exists():
        os.kill(int(pid_file.read_text()), signal.SIGKILL)
    os.killpg(agent, signal.SIGKILL)
    return True


# The agent that comes after


async def asks(at: Surface, action: str, **given: Any) -> Any:
    return (await at.do(action, projectId="Acme", **given))["result"]


async def advised(at: Surface) -> Any:
    return await asks(at, "next_action", host="h", hostCapabilities={"workloadClasses": ["code"]})


async def waits_for_leases(at: Surface) -> Any:
    """The health snapshot once no lease is left that somebody might still hold."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        health = await asks(at, "inspect_health_snapshot")
        if health["leases"]["staleCount"] == health["leases"]["activeCount"]:
            return health
        assert time.monotonic() < deadline, health


async def resumes(agent: Agent) -> bool:
    """Go on with what this very agent holds, as the export shows it; answers whether it holds anything."""
    export = await asks(agent.at, "inspect_export")
    for lease in export["leases"]["active"]:
        assert lease["agentId"] == agent.name
        assert (await advised(agent.at))["context"]["stage"] in {"ready_issue", "idle"}
        held = await agent.begins(preferredIssueId=lease["issueId"])
        assert (held["context"]["claimMode"], held["context"]["leaseId"]) == ("resume", lease["id"])
        await goes_on(agent, held)
    return bool(export["leases"]["active"])


async def recovers(agent: Agent) -> bool:
    """Resolve what is stale as `next_action` says; nothing new may be claimed before. Answers whether anything was."""
    health = await waits_for_leases(agent.at)
    if not (health["leases"]["activeCount"] or health["claimsBlockedBy"]):
        return False
    before = await advised(agent.at)
    assert before["context"]["stage"] == "expired_lease"
    with pytest.raises(Refused) as refused:
        await agent.begins()
    assert refused.value.code == "RECOVERY_REQUIRED"
    (blocker,) = refused.value.details["blockers"]
    assert (blocker["issueId"], blocker["reason"]) == (before["context"]["issue"]["id"], "lease_expired")
    after = await asks(agent.at, "inspect_health_snapshot")
    assert after["queue"]["statusCounts"].get("ready", 0) == health["queue"]["statusCounts"].get("ready", 0)
    assert (after["leases"]["activeCount"], len(after["claimsBlockedBy"])) == (0, 1), "marked, and nothing claimed"
    advice = await advised(agent.at)
    assert advice["context"]["stage"] == "needs_recovery"
    assert advice["requires"] == ["input.artifacts", "input.recoverySummary"]
    held = await agent.at.follow(
        advice,
        artifacts=[{"kind": "branch", "path": "work/fresh"}],
        recoverySummary="its agent was killed",
        agentId=agent.name,
    )
    assert (held["context"]["claimMode"], held["context"]["issueId"]) == ("recovery", blocker["issueId"])
    await goes_on(agent, held)
    return True


async def goes_on(agent: Agent, held: Any) -> None:
    """Take up an issue where its last checkpoint left it, which the audit tells as well."""
    points = (await audited(agent.at, held["context"]["issueId"]))["evidence"]["checkpoints"]
    steps = [one["nextStep"] for one in points if one["title"] in STEPS]
    assert held["context"].get("nextBestAction") == (steps[0] if steps else None)
    await agent.finishes(held)


async def works_off(agent: Agent) -> None:
    """Follow what `next_action` says, to the end."""
    while (advice := await advised(agent.at))["context"]["stage"] != "idle":
        assert advice["context"]["stage"] == "ready_issue"
        on = [{"kind": "branch", "path": "work/fresh"}]
        await agent.finishes(await agent.at.follow(advice, artifacts=on, agentId=agent.name))


# The judge


async def audited(at: Surface, issue: str) -> Any:
    told = (await at.do("inspect_audit", issueId=issue, eventLimit=100))["result"]
    assert "nextCursor" not in told
    return told


async def judge(at: Surface, issues: list[str], acknowledged: list[Any]) -> None:
    """Everything is done, once each, under one lease after the other, and nothing acknowledged is lost."""
    health = await asks(at, "inspect_health_snapshot")
    assert health["queue"]["statusCounts"] == {"done": len(issues), "total": len(issues)}
    assert (health["leases"]["activeCount"], health["claimsBlockedBy"]) == (0, [])
    for issue in issues:
        evidence = (await audited(at, issue))["evidence"]
        points = {one["id"]: one for one in evidence["checkpoints"]}
        for told in acknowledged:
            if told["issue"] == issue:
                assert told["checkpoint"] in points, f"acknowledged, and lost: {told}"
        titles = [one["title"] for one in points.values()]
        assert [titles.count(step) for step in (*STEPS, LAST)] == [1] * (len(STEPS) + 1), "no step is done twice"
        assert sum(event["kind"] == "session_closed" for event in evidence["events"]) == 1
        leases = sorted(evidence["leases"], key=lambda one: one["epoch"])
        assert [one["epoch"] for one in leases] == list(range(1, len(leases) + 1))
        assert all(one["status"] in {"released", "recovered"} for one in leases)
        for one, other in pairwise(leases):
            assert one["releasedAt"] <= other["acquiredAt"], "two leases at a time"


def may_be_held(acknowledged: list[Any], death: Death) -> set[bool]:
    """Whether the dead agent left a lease; the call that it died in may have taken or ended one."""
    held = len(acknowledged) % CALLS != 0
    is_open = len(acknowledged) == death.call and len(acknowledged) % CALLS in (0, CALLS - 1)
    return {False, True} if is_open else {held}


async def comes_after(kind: str, data_dir: Path, scratch: Path, death: Death) -> None:
    """Kill an agent, let another follow the document, and judge what is there in the end."""
    issues = planned(data_dir)
    acknowledged = killed(kind, data_dir, scratch, death)
    async with surface(kind, data_dir, scratch) as at:
        agent = Agent(at, "dying" if death.is_resumed else "fresh")
        found = await (resumes if death.is_resumed else recovers)(agent)
        assert found in may_be_held(acknowledged, death)
        await works_off(agent)
        await judge(at, issues, acknowledged)
    Desk(data_dir, FixedClock()).require_replay()


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_a_fresh_agent_recovers_by_payloads_what_a_killed_one_left(
    data_dir: Path, tmp_path: Path, seed: int
) -> None:
    await comes_after("program", data_dir, tmp_path, Death.by(seed))


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_a_fresh_agent_recovers_over_mcp_what_one_killed_with_its_server_left(
    data_dir: Path, tmp_path: Path, seed: int
) -> None:
    await comes_after("mcp", data_dir, tmp_path, Death.by(100 + seed))


def test_the_seeds_kill_in_each_way_and_are_followed_by_each_kind_of_successor() -> None:
    for first in (0, 100):
        deaths = [Death.by(first + seed) for seed in range(4)]
        assert {death.how for death in deaths} == set(HOWS)
        assert {death.is_resumed for death in deaths} == {False, True}


async def test_the_judge_notices_a_checkpoint_that_is_lost_and_work_that_is_not_done(
    data_dir: Path, tmp_path: Path
) -> None:
    issues = planned(data_dir)
    async with surface("mcp", data_dir, tmp_path) as at:
        agent = Agent(at, "fresh")
        with pytest.raises(AssertionError):
            await judge(at, issues, [])
        await works_off(agent)
        await judge(at, issues, [])
        with pytest.raises(AssertionError, match="acknowledged, and lost"):
            await judge(at, issues, [{"issue": issues[0], "checkpoint": "K-none"}])
