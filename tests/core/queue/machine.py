"""A machine that does anything to a queue, in any order, and judges every row after each act.

Fed by Hypothesis. `python -m tests.core.queue.machine` runs it long; `PHELIX_MACHINE_EXAMPLES` says how long.
"""

import json
import os
import sys
from collections import Counter
from copy import deepcopy
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any
from zlib import crc32

from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from phelix_core.clock import SystemClock, iso
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.lifecycle.performing import perform
from phelix_core.queue.transitions import CHECKPOINT_STATUSES, CLOSE_STATUSES
from phelix_core.sqlite import Database
from tests.core.queue import oracle
from tests.core.queue.oracle import Row, Rows
from tests.rig import FixedClock, environment

CAMPAIGNS = ("alpha", "beta", "gamma")
AGENTS = ("ann", "bob", "cy")
HOSTS: dict[str, tuple[list[str], list[str]]] = {
    "plain": (["general"], []),
    "gpu": (["gpu", "general"], ["cuda"]),
    "all": (["gpu", "general"], ["cuda", "net"]),
}
MOST_ISSUES = 14
RECONCILES = {"queue claim", "queue recover"}
"""Commands whose refusal may leave marks."""
MARKS = {"needs_recovery", "crash_loop", "lease_released"}
BOOTED_AT_S = 5.0

picks = st.integers(0, 4095).map(lambda drawn: crc32(drawn.to_bytes(2, "big")) % 1000)
"""A number that says which; scattered, since small numbers are drawn more often than others."""
words = st.sampled_from
reached: Counter[str] = Counter()
"""How often each command was carried out or refused, by its code: what a run of the machine really did."""


def _seconds(*choices: int) -> st.SearchStrategy[int]:
    return words(choices)


@st.composite
def batches(draw: st.DrawFn) -> list[Row]:
    """One to three milestones, in any order, free of cycles; `after` counts back into what was planned before."""
    keys = [f"m{number}" for number in range(draw(st.integers(1, 3)))]
    batch: list[Row] = []
    for place, key in enumerate(keys):
        issues = [draw(_issues(index)) for index in range(draw(st.integers(1, 3)))]
        needs = [other for other in keys[:place] if draw(st.booleans())]
        batch.append(
            {
                "milestone_key": key,
                "description": "d",
                "depends_on_milestone_keys": needs,
                "issues": issues,
                "after": draw(st.lists(picks, max_size=1)),
            }
        )
    return draw(st.permutations(batch))


@st.composite
def _issues(draw: st.DrawFn, index: int) -> Row:
    policy: Row = {"maxRecoveries": draw(st.integers(1, 3))}
    if (kind := draw(words(("", "", "", "general", "gpu", "net")))) != "":
        needs = {"gpu": ["cuda"], "net": ["net"]}.get(kind, [])
        policy["dispatch"] = {"workloadClass": "gpu" if needs else "general", "requiredHostCapabilities": needs}
    row: Row = {
        "task": f"task {index}",
        "priority": draw(words(oracle.PRIORITIES)),
        "size": "S",
        "depends_on_indices": [other for other in range(index) if draw(st.booleans())],
        "policy": policy,
    }
    if draw(words((False, False, True))):
        row["deadline_in"] = draw(_seconds(60, 7200))
        policy["escalationRules"] = [
            {"trigger": "deadline_breached", "action": "raise_priority", "priority": "critical"}
        ]
    return row


def may_close(was: str, status: str) -> bool:
    """Whether a holder may close an issue so: what is blocked is handed back by unblocking it."""
    return was in {status, "in_progress"} or (was == "blocked" and status != "ready")


class Machine(RuleBasedStateMachine):
    """One queue of one project, three campaigns, three agents, and a clock that anybody may move."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(mkdtemp(prefix="machine-"))
        self.clock = FixedClock()
        self.env = environment(self.folder / "data", self.clock)
        self.contexts: list[Row] = []
        self.terms: dict[str, tuple[str, float, float]] = {}
        """By lease: the boot it was renewed in, when it ends and when its checkpoint is stale, in monotonic ms."""
        self.rows: Rows = oracle.no_rows()
        self.seq = 0
        self.sessions = 0
        self.requests = 0

    def teardown(self) -> None:
        self.env.queue.close()
        if hasattr(self, "_db"):
            self._db.close()
        rmtree(self.folder)

    @initialize(first=batches(), second=batches())
    def makes_a_queue(self, first: list[Row], second: list[Row]) -> None:
        for name, raw in (
            ("queue init", {"name": "w"}),
            *(("queue campaign", {"project_name": "p", "campaign_name": name}) for name in CAMPAIGNS),
        ):
            assert run(load_command(name), raw, self.env).error is None
        self._db = Database(self.env.queue.path, SystemClock(), read_only=True)
        self.reader = oracle.Reader(self._db)
        self.look()
        self.plans_into(first, 0)
        self.plans_into(second, 1)

    # Acting and judging

    def act(self, name: str, *, zombie: bool = False, **raw: Any) -> tuple[str, Any]:
        """Carry a command out, judge what it left, and answer its code and its answer or details."""
        given = {key: value for key, value in raw.items() if value is not None}
        envelope = run(load_command(name), given, self.env)
        code = "OK" if envelope.error is None else envelope.error.code
        reached[f"{name} {code}"] += 1
        events = self.look()
        if code != "OK":
            told = {event["kind"] for event in events}
            assert told <= (MARKS if name in RECONCILES else set[str]()), f"{name} was refused ({code}) and left {told}"
        if zombie:
            assert (code, events) == ("LEASE_LOST", []), f"a zombie's {name} was told {code}"
        answer: Any = envelope.result if envelope.error is None else envelope.error.details
        assert "sessionWritesFailed" not in answer, answer
        return code, answer

    def look(self) -> list[Row]:
        """Replay what is new in the journal, compare it with every row, and judge the rows."""
        events = self.reader.events(self.seq)
        for event in events:
            self.seq += 1
            assert event["seq"] == self.seq, f"a gap before {event}"
            oracle.judge_event(self.rows, event)
            oracle.apply(self.rows, event)
            reached[f"event {event['kind']}"] += 1
        real = self.reader.rows()
        for table, rows in real.items():
            assert self.rows[table] == rows, f"replay tells another story of {table}"
        if events:
            oracle.judge_gates(real)
            oracle.judge_rows(real)
        return events

    def campaign(self, pick: int, *, may_be_none: bool = False) -> Row | None:
        known = sorted(self.rows["campaigns"].values(), key=lambda row: row["name"])
        if may_be_none and pick % 4:
            return None
        return known[pick % len(known)]

    def issue(self, pick: int, *statuses: str) -> Row | None:
        """An issue of one of these statuses, else any."""
        known = list(self.rows["issues"].values())
        fitting = [one for one in known if one["status"] in statuses] or known
        return fitting[pick % len(fitting)] if fitting else None

    def some(self, *statuses: str) -> bool:
        """Whether any issue has one of these statuses."""
        return any(one["status"] in statuses for one in self.rows["issues"].values())

    def live(self) -> list[Row]:
        """What was answered to holders whose lease and run still hold."""
        leases = self.rows["leases"]
        return [
            context
            for context in self.contexts
            if (lease := leases[context["leaseId"]])["status"] == "active" and lease["run_id"] == context["runId"]
        ]

    def dead(self) -> list[Row]:
        """What was answered to those whose lease ended, or who were followed by another run."""
        alive = self.live()
        return [context for context in self.contexts if context not in alive]

    @property
    def mono_ms(self) -> int:
        return int(self.clock.elapsed * 1000)

    def holds(self, context: Row) -> None:
        """A lease was just granted or taken on again."""
        if context not in self.contexts:
            self.contexts.append(context)
        self.renewed(context["leaseId"], checkpointed=True)

    def renewed(self, lease_id: str, *, ttl_s: int | None = None, checkpointed: bool) -> None:
        lease = self.rows["leases"][lease_id]
        boot, ends, stale = self.terms.get(lease_id, (self.clock.boot_id, 0, 0))
        if checkpointed:
            stale = self.mono_ms + lease["freshness_ms"]
        elif boot != self.clock.boot_id:  # how old it was, only the wall clock can tell
            stale = lease["checkpoint_mono"] + lease["freshness_ms"]
        later = self.mono_ms + (lease["ttl_ms"] if ttl_s is None else ttl_s * 1000)
        ends = max(later, ends) if boot == self.clock.boot_id else later
        ends = max(ends, lease["deadline_mono"]) if boot != self.clock.boot_id else ends
        self.terms[lease_id] = (self.clock.boot_id, ends, stale)
        assert lease["deadline_mono"] == ends, lease

    # Time

    @rule(seconds=_seconds(1, 30, 61, 900, 1801, 3601, 8 * 86_400))
    def time_passes(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @rule(hours=words((-2, 2)))
    def the_wall_clock_jumps(self, hours: int) -> None:
        self.clock.wall_ms += hours * 3_600_000

    @rule(asleep_s=_seconds(0, 100, 4000))
    def the_machine_starts_again(self, asleep_s: int) -> None:
        self.clock.boot_id = f"boot-{int(self.clock.boot_id.removeprefix('boot-')) + 1}"
        self.clock.elapsed = BOOTED_AT_S
        self.clock.wall_ms += asleep_s * 1000

    # Planning

    @precondition(lambda self: len(self.rows["issues"]) < MOST_ISSUES)
    @rule(batch=batches(), pick=picks)
    def plans(self, batch: list[Row], pick: int) -> None:
        self.plans_into(batch, pick)

    def plans_into(self, batch: list[Row], pick: int) -> None:
        campaign = self.campaign(pick)
        assert campaign is not None
        before, known = set(self.rows["issues"]), sorted(self.rows["milestones"])
        batch = deepcopy(batch)
        for milestone in batch:
            after = milestone.pop("after")
            milestone["depends_on_milestone_ids"] = [known[one % len(known)] for one in after if known]
            for issue in milestone["issues"]:
                if "deadline_in" in issue:
                    issue["deadlineAt"] = iso(self.clock.wall_ms + issue.pop("deadline_in") * 1000)
        code, _ = self.act("queue plan", batch=json.dumps({"milestones": batch}), campaign=campaign["id"])
        assert code == ("QUEUE_INVALID_TRANSITION" if campaign["status"] == "archived" else "OK")
        if code == "OK":
            made = set(self.rows["issues"]) - before
            assert len(made) == sum(len(milestone["issues"]) for milestone in batch)

    # Taking work

    def session_id(self, pick: int) -> str | None:
        """None, one that is new, or one that was used before."""
        if pick % 5 == 0 and self.contexts:
            return self.contexts[pick % len(self.contexts)]["runId"]
        if pick % 2:
            return None
        self.sessions += 1
        return f"S-{self.sessions}"

    def asked(self, host: str, agent: str | None, ttl: int | None, pick: int) -> Row:
        classes, capabilities = HOSTS[host]
        return {
            "host": host,
            "workload_classes": classes,
            "capabilities": capabilities,
            "agent": agent,
            "ttl": ttl,
            "freshness": (None, 60, 86_400)[pick % 3],
            "session": self.session_id(pick),
            "artifacts": ["diff=a.patch"] if pick % 3 == 0 else None,
        }

    @rule(
        host=words(sorted(HOSTS)),
        agent=words((None, *AGENTS)),
        ttl=words((None, 60, 7200)),
        pick=picks,
        prefers=words((False, False, True)),
    )
    def claims(self, host: str, agent: str | None, ttl: int | None, pick: int, prefers: bool) -> None:  # noqa: FBT001 - drawn
        self.claims_as(host, agent, ttl, pick, prefers=prefers)

    def claims_as(self, host: str, agent: str | None, ttl: int | None, pick: int, *, prefers: bool) -> None:
        campaign = self.campaign(pick, may_be_none=True)
        own = None if campaign is None else campaign["id"]
        wanted = self.issue(pick, "ready", "in_progress", "blocked") if prefers else None
        asked = self.asked(host, agent, ttl, pick)
        code, told = self.act("queue claim", campaign=own, issue_id=None if wanted is None else wanted["id"], **asked)
        waiting = oracle.in_scope(self.rows, own, "needs_recovery", running=False)
        ready = [
            one
            for one in oracle.in_scope(self.rows, own, "ready", "pending", running=True)
            if not oracle.closed_gates(self.rows, one)
        ]
        fitting = [one for one in ready if oracle.fits(one, *HOSTS[host])]
        if code == "OK":
            self.was_claimed(told, agent, own, wanted=wanted, waiting=waiting, fitting=fitting)
        elif code == "RECOVERY_REQUIRED":
            assert {one["issueId"] for one in told["blockers"]} == {one["id"] for one in waiting} != set[str]()
        elif code == "NOTHING_READY":
            assert not ready
        elif code == "HOST_MISMATCH":
            assert (not fitting and ready) or wanted is not None
        elif code == "ISSUE_NOT_CLAIMABLE":
            assert wanted is not None or (campaign is not None and campaign["status"] != "active")
        else:
            assert (code, asked["session"] in self.rows["runs"]) == ("ALREADY_EXISTS", True)
        if code != "ISSUE_NOT_CLAIMABLE" and (code != "OK" or told["claimMode"] == "claim"):
            assert not self.expected_of_reconcile(own), "a claim that did not reconcile"
        if code != "RECOVERY_REQUIRED" and not (campaign is not None and campaign["status"] != "active"):
            assert code in {"OK", "ISSUE_NOT_CLAIMABLE", "HOST_MISMATCH", "NOTHING_READY", "ALREADY_EXISTS"}

    def was_claimed(
        self,
        context: Row,
        agent: str | None,
        campaign: str | None,
        *,
        wanted: Row | None,
        waiting: list[Row],
        fitting: list[Row],
    ) -> None:
        issue = self.rows["issues"][context["issueId"]]
        assert (issue["status"], context["leaseEpoch"]) == ("in_progress", issue["lease_epoch"])
        assert wanted is None or wanted["id"] == issue["id"]
        self.holds(context)
        lease = self.rows["leases"][context["leaseId"]]
        assert agent in (None, lease["agent_id"])
        if context["claimMode"] == "resume":
            return
        assert context["claimMode"] == "claim"
        assert not waiting, "claimed past what needs recovery"
        assert not [one for one in oracle.in_scope(self.rows, campaign, "pending", running=True) if one["promotable"]]
        assert wanted is not None or all(oracle.claim_key(issue) < oracle.claim_key(one) for one in fitting)
        for one in (*fitting, issue):
            ready_at = one["ready_at"] if one is not issue else None
            assert one["rank"] <= oracle.least_urgent_rank({**one, "ready_at": ready_at}, self.clock.wall_ms), one

    @rule(pick=picks, status=words(("done", "done", "failed", "ready", "blocked")))
    def takes_work_and_ends_it(self, pick: int, status: str) -> None:
        self.claims_as("all", AGENTS[pick % 3], None, pick, prefers=False)
        if self.live():
            self.closes_with(status, pick, again=False)

    @precondition(lambda self: self.some("needs_recovery"))
    @rule(resolution=words(("requeue", "block", "fail", "resume", "resume")), host=words(sorted(HOSTS)), pick=picks)
    def recovers(self, resolution: str, host: str, pick: int) -> None:
        self.recovers_as(resolution, host, pick)

    def recovers_as(self, resolution: str, host: str, pick: int) -> None:
        issue = self.issue(pick, "needs_recovery") if pick % 7 else self.issue(pick)
        assert issue is not None
        if resolution == "resume":
            asked = self.asked(host, AGENTS[pick % 3], None, pick)
            code, told = self.act("queue recover", resolution=resolution, issue_id=issue["id"], **asked)
            if code == "OK":
                assert told["claimMode"] == "recovery"
                self.holds(told)
            return
        before = self.rows["issues"][issue["id"]]["recoveries"]
        code, told = self.act("queue recover", resolution=resolution, issue_id=issue["id"], reason="r")
        if code == "OK":
            closed = oracle.closed_gates(self.rows, issue)
            to = {"block": "blocked", "fail": "failed", "requeue": "pending" if closed else "ready"}[resolution]
            assert told["newStatus"] == self.rows["issues"][issue["id"]]["status"] == to
            assert self.rows["issues"][issue["id"]]["recoveries"] == before + 1
        elif issue["status"] == "needs_recovery":
            raise AssertionError(code)

    # Under a lease

    def report(self, context: Row, status: str, pick: int) -> Any:
        named: Row = {"lease": context["leaseId"]} if pick % 2 else {"context": json.dumps(context)}
        reason = "waits" if status == "blocked" and pick % 3 else None
        return {
            "status": status,
            "summary": "s",
            "next_step": "n",
            "evidence": ["file"],
            "reason": reason,
            **named,
        }

    @precondition(lambda self: self.live())
    @rule(status=words(CHECKPOINT_STATUSES), pick=picks)
    def checkpoints(self, status: str, pick: int) -> None:
        context = self.live()[pick % len(self.live())]
        was = self.rows["issues"][context["issueId"]]["status"]
        code, _ = self.act("queue checkpoint", **self.report(context, status, pick))
        assert code == ("OK" if may_close(was, status) else "QUEUE_INVALID_TRANSITION")
        if code == "OK":
            assert self.rows["issues"][context["issueId"]]["status"] == status
            if status != "needs_recovery":
                self.renewed(context["leaseId"], checkpointed=True)

    @precondition(lambda self: self.live())
    @rule(ttl=words((None, 1, 7200)), pick=picks)
    def heartbeats(self, ttl: int | None, pick: int) -> None:
        context = self.live()[pick % len(self.live())]
        assert self.act("queue heartbeat", lease=context["leaseId"], ttl=ttl)[0] == "OK"
        self.renewed(context["leaseId"], ttl_s=ttl, checkpointed=False)

    @precondition(lambda self: self.live())
    @rule(status=words(CLOSE_STATUSES), pick=picks, again=st.booleans())
    def closes(self, status: str, pick: int, again: bool) -> None:  # noqa: FBT001 - drawn
        self.closes_with(status, pick, again=again)

    def closes_with(self, status: str, pick: int, *, again: bool) -> None:
        context = self.live()[pick % len(self.live())]
        was = self.rows["issues"][context["issueId"]]["status"]
        self.requests += 1
        report: Row = {**self.report(context, status, pick), "request_id": f"R-{self.requests}"}
        code, told = self.act("queue close", **report)
        assert code == ("OK" if may_close(was, status) else "QUEUE_INVALID_TRANSITION")
        if code != "OK":
            return
        assert self.rows["leases"][context["leaseId"]]["status"] == (
            "needs_recovery" if status == "needs_recovery" else "released"
        )
        if status == "done":
            self.nothing_waits_to_be_promoted(None)
        if again:
            seq = self.seq
            assert self.act("queue close", **report) == ("OK", {**told, "replayed": True})
            assert self.seq == seq

    @precondition(lambda self: self.live())
    @rule(status=words(CLOSE_STATUSES), pick=picks)
    def advances(self, status: str, pick: int) -> None:
        context = self.live()[pick % len(self.live())]
        was = self.rows["issues"][context["issueId"]]["status"]
        code, told = self.act("queue advance", **self.report(context, status, pick))
        assert code == ("OK" if may_close(was, status) else "QUEUE_INVALID_TRANSITION")
        if code == "OK":
            assert self.rows["leases"][context["leaseId"]]["status"] != "active"
            assert told["advanced"] is ("context" in told) is not ("stopReason" in told)
            if told["advanced"]:
                self.holds(told["context"])

    @precondition(lambda self: self.live())
    @rule(pick=picks)
    def saves_an_artifact(self, pick: int) -> None:
        context = self.live()[pick % len(self.live())]
        lease = context["leaseId"] if pick % 3 else None
        code, _ = self.act("queue artifacts save", issue=context["issueId"], kind="log", path="p", lease=lease)
        assert code == "OK"

    @precondition(lambda self: self.dead())
    @rule(pick=picks, status=words(CLOSE_STATUSES))
    def a_zombie_tries_everything(self, pick: int, status: str) -> None:
        context = self.dead()[pick % len(self.dead())]
        handed = json.dumps(context)
        report = {**self.report(context, status, 0), "context": handed}
        self.act("queue heartbeat", zombie=True, context=handed)
        self.act("queue close", zombie=True, **report)
        self.act("queue advance", zombie=True, **report)
        moved = "in_progress" if status == "ready" else status
        self.act("queue checkpoint", zombie=True, **{**report, "status": moved})
        if self.rows["leases"][context["leaseId"]]["status"] != "active":
            self.act(
                "queue artifacts save",
                zombie=True,
                issue=context["issueId"],
                kind="k",
                path="p",
                lease=context["leaseId"],
            )

    # An operator

    def nothing_waits_to_be_promoted(self, campaign: str | None) -> None:
        pending = oracle.in_scope(self.rows, campaign, "pending", running=True)
        left = [one["id"] for one in pending if not oracle.closed_gates(self.rows, one)]
        assert not left, f"{left} could be promoted, and were not"

    @rule(pick=picks)
    def promotes(self, pick: int) -> None:
        campaign = self.campaign(pick, may_be_none=True)
        own = None if campaign is None else campaign["id"]
        code, told = self.act("queue promote", campaign=own)
        assert code == "OK"
        self.nothing_waits_to_be_promoted(own)
        pending = {one["id"]: one for one in oracle.in_scope(self.rows, own, "pending", running=True)}
        assert {one["issueId"] for one in told["keptBack"]} == set(pending)
        for one in told["keptBack"]:
            assert one["reason"] in oracle.closed_gates(self.rows, pending[one["issueId"]])

    @rule(pick=picks)
    def reconciles(self, pick: int) -> None:
        campaign = self.campaign(pick, may_be_none=True)
        self.reconciles_in(None if campaign is None else campaign["id"])

    def reconciles_in(self, own: str | None) -> None:
        expected = self.expected_of_reconcile(own)
        code, told = self.act("queue reconcile", campaign=own)
        assert code == "OK"
        found = {one["issueId"]: one["reason"] for one in told["needsRecovery"]}
        found |= {one["issueId"]: "crash_loop" for one in told["failed"]}
        found |= {self.rows["leases"][one]["issue_id"]: "released" for one in told["released"]}
        assert found == expected, f"at {self.mono_ms} of {self.clock.boot_id}, wall {self.clock.wall_ms}"
        seq = self.seq
        assert self.act("queue reconcile", campaign=own)[1] == {"needsRecovery": [], "failed": [], "released": []}
        assert self.seq == seq, "reconcile twice is not once"

    def expected_of_reconcile(self, campaign: str | None) -> dict[str, str]:
        """By issue: what the page says of each active lease now."""
        expected: dict[str, str] = {}
        for lease in self.rows["leases"].values():
            issue = self.rows["issues"][lease["issue_id"]]
            if lease["status"] != "active" or campaign not in (None, issue["campaign_id"]):
                continue
            boot, ends, stale = self.terms[lease["id"]]
            if boot == self.clock.boot_id:
                expired, old = ends <= self.mono_ms, stale <= self.mono_ms
            elif self.clock.wall_ms < lease["renewed_at"]:
                expired = old = False
            else:
                expired = lease["expires_at"] <= self.clock.wall_ms
                old = lease["checkpoint_at"] + lease["freshness_ms"] <= self.clock.wall_ms
            if issue["status"] in {"done", "failed"} or (issue["status"] == "blocked" and expired):
                expected[issue["id"]] = "released"
            elif issue["status"] == "in_progress" and (expired or old):
                reason = "lease_expired" if expired else "checkpoint_stale"
                expected[issue["id"]] = reason if issue["recoveries"] < issue["max_recoveries"] else "crash_loop"
        return expected

    @precondition(lambda self: self.some("in_progress", "needs_recovery"))
    @rule(pick=picks)
    def somebody_dies_again_and_again(self, pick: int) -> None:
        for again in range(3):
            self.clock.advance(86_401)
            self.reconciles_in(None)
            if self.some("needs_recovery"):
                self.recovers_as("resume", "all", pick + again)

    @precondition(lambda self: self.some("done"))
    @rule(pick=picks)
    def takes_back_what_was_done(self, pick: int) -> None:
        needed = {depends_on for _, depends_on in self.rows["issue_dependencies"]}
        done = [one["id"] for one in self.rows["issues"].values() if one["status"] == "done"]
        chosen = [one for one in done if one in needed] or done
        assert self.act("queue rollback", issue_id=chosen[pick % len(chosen)], reason="r")[0] == "OK"

    @precondition(lambda self: self.some("blocked", "failed", "done"))
    @rule(verb=words(("unblock", "retry", "rollback")), pick=picks)
    def puts_back(self, verb: str, pick: int) -> None:
        wanted = {"unblock": ("blocked",), "retry": ("failed",), "rollback": ("done",)}[verb]
        issue = self.issue(pick, *wanted) if pick % 7 else self.issue(pick)
        assert issue is not None
        was, status = dict(issue), oracle.campaign_status(self.rows, issue)
        code, told = self.act(f"queue {verb}", issue_id=issue["id"], reason="r")
        if verb == "rollback":
            assert (code, self.rows["issues"][issue["id"]]["status"]) == ("OK", "pending")
        elif was["status"] in wanted and (verb == "retry" or status == "active"):
            closed = oracle.closed_gates(self.rows, issue)
            assert (code, told["newStatus"]) == ("OK", "pending" if closed else "ready")
        else:
            assert code == "QUEUE_INVALID_TRANSITION"

    @rule(verb=words(("drain", "undrain", "undrain")), pick=picks)
    def drains(self, verb: str, pick: int) -> None:
        campaign = self.campaign(pick)
        assert campaign is not None
        was = campaign["status"]
        held = {lease["id"] for lease in self.rows["leases"].values() if lease["status"] == "active"}
        code, _ = self.act(f"queue {verb}", campaign_id=campaign["id"], reason="r")
        assert (code == "OK") is (was == {"drain": "active", "undrain": "drained"}[verb])
        assert held == {lease["id"] for lease in self.rows["leases"].values() if lease["status"] == "active"}
        own = [one for one in self.rows["issues"].values() if one["campaign_id"] == campaign["id"]]
        if code == "OK" and verb == "drain":
            assert not [one for one in own if one["status"] in {"pending", "ready"}]
        elif code == "OK":
            assert not [one for one in own if (one["blocked_reason"] or "").startswith("campaign_drain")]

    @precondition(lambda self: self.live())
    @rule(pick=picks)
    def archives(self, pick: int) -> None:
        if pick % 3:  # seldom: what is archived is out of the game
            return
        campaign = self.campaign(pick)
        assert campaign is not None
        was = campaign["status"]
        assert (self.act("queue archive", campaign_id=campaign["id"], reason="r")[0] == "OK") is (was != "archived")

    # What is advised

    @rule(host=words(sorted(HOSTS)), pick=picks)
    def follows_the_advice(self, host: str, pick: int) -> None:
        """What `next` suggests is carried out as it is printed, its `requires` filled in; it must succeed."""
        campaign = self.campaign(pick, may_be_none=True)
        own = None if campaign is None else campaign["id"]
        classes, capabilities = HOSTS[host]
        asked: Row = {"host": host, "workload_classes": classes, "capabilities": capabilities}
        seq = self.seq
        code, told = self.act("queue next", campaign=own, **asked)
        assert (code, self.seq) == ("OK", seq), "a look changes nothing"
        stage = told["context"]["stage"]
        reached[f"advice {stage} {told.get('suggestedPayload', {}).get('action')}"] += 1
        if told["action"] == "idle":
            waiting = oracle.in_scope(self.rows, own, "needs_recovery", running=False)
            assert not waiting, "idle past what needs recovery"
            ready = oracle.in_scope(self.rows, own, "ready", running=True)
            fitting = [one for one in ready if oracle.fits(one, *HOSTS[host])]
            running = campaign is None or campaign["status"] == "active"
            assert not (fitting and running), "idle past what this host may take"
            return
        payload = json.loads(json.dumps(told["suggestedPayload"]))
        for place in told["requires"]:
            name = place.removeprefix("input.")
            payload["input"][name] = [{"kind": "log", "path": "p"}] if name == "artifacts" else "because"
        performed = perform(json.dumps(payload).encode(), lambda _: self.env)
        self.look()
        assert performed.error is None, f"{stage}: {payload} was refused: {performed.document}"
        if "context" in performed.document:
            self.holds(performed.document["context"])


def machine_settings(examples: int, steps: int = 30) -> Any:
    """Settings for a run of the machine; the seed is fixed where nobody gives one."""
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        derandomize=False,
        print_blob=True,
        verbosity=Verbosity.normal,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )


def run_machine(seed_number: int, examples: int, steps: int = 30, *, shrink: bool = True) -> None:
    """Run it from a seed, which is told where it fails."""

    class Seeded(Machine):
        pass

    chosen = machine_settings(examples, steps)
    if not shrink:
        chosen = settings(chosen, phases=(Phase.generate,))
    try:
        run_state_machine_as_test(seed(seed_number)(Seeded), settings=chosen)
    except BaseException:
        print(f"seed {seed_number}, {examples} examples of {steps} steps", file=sys.stderr)
        raise


def main() -> int:
    """A long run."""
    examples = int(os.environ.get("PHELIX_MACHINE_EXAMPLES", "5000"))
    run_machine(int(os.environ.get("PHELIX_MACHINE_SEED", "1")), examples, 60)
    for name, number in sorted(reached.items()):
        print(f"{number:8} {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
