"""Whatever is done to a queue, in any order and at any time: nothing is stranded, and no gate, lease or number lies."""

import json
import os
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from phelix_core.clock import Clock, Moment
from phelix_core.errors import InvalidArgument
from phelix_core.queue import gates, planning, sqlite, staleness
from phelix_core.queue.model import Campaign, Issue, Lease, Project, Run, Scope
from phelix_core.queue.sqlite import SqliteQueue
from phelix_core.queue.transitions import CLAIM, CLOSE, RETRY
from phelix_core.queue.verbs import begin, progress, reconcile, upkeep
from phelix_core.queue.verbs.ledger import Ledger, Words
from phelix_core.queue.writing import Writing
from phelix_core.sqlite import MEMORY
from tests.core.queue import oracle
from tests.core.queue.machine import reached, run_machine
from tests.rig import NOW_MS, CountedIds, FixedClock

EXAMPLES = int(os.environ.get("PHELIX_MACHINE_EXAMPLES", "200"))
"""In all; 200 in the ordinary run."""
SHARDS = 2
GRAPHS = int(os.environ.get("PHELIX_GRAPHS", "2000"))
"""In all; 10,000 make the full figure."""
GRAPH_SHARDS = 2
GATED = ("milestones", "issues", "issue_dependencies", "milestone_dependencies")
SELDOM = 3
"""So many of the kinds may be missing from one shard."""
KINDS = {
    *("crash_loop", "gates_opened", "issue_drained", "issue_promoted"),
    *("issue_retried", "issue_returned", "issue_rollback", "issue_unblocked", "issue_undrained", "issues_planned"),
    *("lease_claimed", "lease_heartbeat", "lease_resumed", "needs_recovery", "priority_raised"),
    *("recovery_resolved", "request_answered", "session_closed", "checkpoint_payload", "artifact_saved"),
}
"""What events tell most: a run that did not see it all proves little."""


@pytest.mark.parametrize("number", range(SHARDS))
def test_anything_in_any_order_keeps_every_promise(number: int) -> None:
    reached.clear()
    run_machine(number + 1, EXAMPLES // SHARDS, 40, shrink=EXAMPLES > 200)
    seen = {name.removeprefix("event ") for name in reached if name.startswith("event ")}
    assert len(KINDS - seen) <= SELDOM, KINDS - seen


def _held_by_anybody(own: Ledger, holding: Any) -> tuple[Lease, Issue, Run]:
    """Whoever once had a lease may write."""
    lease = own.tx.lease(holding.lease_id)
    assert lease is not None
    issue, run = own.tx.issue(lease.issue_id), own.tx.run(lease.run_id)
    assert issue is not None
    assert run is not None
    return lease, issue, run


def _by_the_wall(clock: Clock) -> Moment:
    return Moment(wall_ms=clock.now_ms(), mono_ms=int(clock.monotonic() * 1000) + clock.now_ms() - NOW_MS, boot="one")


def _failed_unlocks(milestones: Any, issues: Any) -> Any:
    finished = [(one, "done" if status == "failed" else status) for one, status in issues]
    return gates_first_closed(milestones, finished)


gates_first_closed = gates.first_closed


def _nothing(*_: Any, **__: Any) -> None: ...


def _nothing_behind(*_: Any) -> dict[str, list[str]]:
    return {"returned": [], "goingOn": []}


def _nobody_freed(own: Ledger, issue: Issue, reason: str) -> tuple[tuple[Any, ...], list[str]]:
    return ((), []) if reason == "archived" else ledger_free(own, issue, reason)


ledger_free = Ledger.free


def _as_it_was(_: Ledger, lease: Lease, **__: Any) -> dict[str, int]:
    return {"expires_at": lease.expires_at}


NAIVE: dict[str, tuple[Any, str, Any]] = {
    "a lease that ended may still write": (progress, "held", _held_by_anybody),
    "what is done opens nothing": (Ledger, "mark_opened", _nothing),
    "a rollback takes nothing back": (Ledger, "close_behind", _nothing_behind),
    "the wall clock decides": (sqlite, "moment_of", _by_the_wall),
    "nothing is ever stale": (staleness, "why_stale", _nothing),
    "failed unlocks": (gates, "first_closed", _failed_unlocks),
    "claims without reconciling": (begin, "reconcile", _nothing),
    "no crash loop": (reconcile, "FAILED", "needs_recovery"),
    "archiving frees nobody": (Ledger, "free", _nobody_freed),
    "a lease is renewed by nothing": (progress, "renewal", _as_it_was),
}
"""What is put in place of what, and what the queue then does."""
GATES = {"what is done opens nothing", "a rollback takes nothing back", "failed unlocks"}


@pytest.mark.parametrize("name", sorted(NAIVE.keys() - GATES | {"what is done opens nothing"}))
def test_the_machine_finds_the_queue_in_which(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*NAIVE[name])
    with pytest.raises(BaseException) as found:  # noqa: PT011 - several faults may come at once, as a group
        run_machine(1, 150, 40, shrink=False)
    assert isinstance(found.value, (AssertionError, BaseExceptionGroup)), found.value


# Gates


class Graphs:
    """Random small graphs of issues and milestones in one queue; each is taken back after it was judged."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.queue = SqliteQueue(MEMORY, FixedClock())
        self.mint = CountedIds()
        self.queue.write(self._set_up, "cli", create=True)
        self.reader = oracle.Reader(self.queue._open_writer())  # pyright: ignore[reportPrivateUsage] - to see what is not committed

    def _set_up(self, tx: Writing) -> None:
        own = Ledger(tx, self.mint)
        upkeep.add_workspace(own, "w")
        for name in ("alpha", "beta"):
            upkeep.add_campaign(own, "p", name, objective="", policy="{}", workspace=None)

    def batch(self, known: list[str]) -> list[dict[str, Any]]:
        """Milestones in any order, with issues; some wait for milestones that were there before."""
        random = self.random
        keys = [f"m{number}" for number in range(random.randint(1, 3))]
        made: list[dict[str, Any]] = []
        for place, key in enumerate(keys):
            issues = [
                {
                    "task": "t",
                    "priority": random.choice(oracle.PRIORITIES),
                    "size": "S",
                    "depends_on_indices": [other for other in range(index) if random.random() < 0.5],
                }
                for index in range(random.randint(1, 4))
            ]
            made.append(
                {
                    "milestone_key": key,
                    "description": "d",
                    "depends_on_milestone_keys": [other for other in keys[:place] if random.random() < 0.4],
                    "depends_on_milestone_ids": [one for one in known if random.random() < 0.2],
                    "issues": issues,
                }
            )
        random.shuffle(made)
        return made

    def judged(self) -> int:
        """Plan two batches, then finish, fail, retry and roll back at random, judging every step."""

        def body(tx: Writing) -> int:
            project, campaigns = tx.projects()[0], tx.campaigns(tx.projects()[0].id)
            own = Ledger(tx, self.mint)
            rows = oracle.no_rows()
            self.planned(own, project, campaigns[0], [])
            self.checked(rows)
            steps = self.random.randint(3, 11)
            for step in range(steps):
                if step == 2 and steps % 3 == 0:
                    self.planned(own, project, campaigns[1], sorted(rows["milestones"]))
                elif step % 2:
                    self.moves(own, tx, rows)
                if self.random.random() < 0.8:
                    own.promote(Scope(project=project))
                    self.checked(rows)
                    assert not [one["id"] for one in rows["issues"].values() if one["promotable"]]
                self.checked(rows)
            return len(rows["issues"])

        return self.queue.rehearse(body, "cli")[0]

    def planned(self, own: Ledger, project: Project, campaign: Campaign, known: list[str]) -> None:
        milestones = planning.read_batch({"milestones": self.batch(known)})
        upkeep.plan_issues(own, Scope(project=project, campaign=campaign), milestones)

    def moves(self, own: Ledger, tx: Writing, rows: oracle.Rows) -> None:
        """Let one issue be done, fail, be tried anew or be rolled back."""
        known = sorted(rows["issues"].values(), key=lambda row: (row["status"] == "pending", row["id"]))
        movable = [row["id"] for row in known if row["status"] != "pending"] or [known[0]["id"]]
        issue_id = self.random.choice(movable)
        issue = tx.issue(issue_id)
        assert issue is not None
        words = Words("t", "s", "n")
        if issue.status == "ready":
            issue, _ = own.move("x", issue, "in_progress", CLAIM, words)
            to = self.random.choice(("done", "done", "failed"))
            after, _ = own.move("x", issue, to, CLOSE, words)
            if to == "done":
                own.mark_opened(after)
            self.checked(rows)
        elif issue.status == "failed" and self.random.random() < 0.5:
            to, columns = own.landing(issue)
            own.move("x", issue, to, RETRY, words, **columns)
        elif issue.status in {"done", "failed"}:
            upkeep.rollback(own, issue_id, "r", None)

    def checked(self, rows: oracle.Rows) -> None:
        rows |= self.reader.rows(*GATED)
        oracle.judge_gates(rows)


def judge_graphs(seed: int, number: int) -> int:
    """The body that the real rules and the naive ones go through; answers how many issues there were."""
    graphs = Graphs(Random(seed))
    seen = 0
    for graph in range(number):
        try:
            seen += graphs.judged()
        except AssertionError as broken:
            raise AssertionError(f"seed {seed}, graph {graph}: {broken}") from broken
    return seen


@pytest.mark.parametrize("seed", range(GRAPH_SHARDS))
def test_gates_of_random_graphs_are_those_of_brute_force(seed: int) -> None:
    assert judge_graphs(seed, GRAPHS // GRAPH_SHARDS) > 2 * GRAPHS // GRAPH_SHARDS


@pytest.mark.parametrize("name", sorted(GATES))
def test_random_graphs_find_the_queue_in_which(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*NAIVE[name])
    with pytest.raises(AssertionError, match="graph"):
        judge_graphs(1, 500)


def _cyclic(random: Random) -> Iterator[dict[str, Any]]:
    """Milestones in a ring of one to five, with others that hang on it or on nothing."""
    ring = random.randint(1, 5)
    for number in range(ring + random.randint(0, 3)):
        needs = [f"m{(number + 1) % ring}"] if number < ring else [f"m{random.randrange(number)}"]
        issue = {"task": "t", "priority": "low", "size": "S"}
        yield {
            "milestone_key": f"m{number}",
            "description": "d",
            "depends_on_milestone_keys": needs,
            "issues": [issue],
        }


@pytest.mark.parametrize("seed", range(100))
def test_a_cycle_is_refused(seed: int) -> None:
    random = Random(seed)
    batch = list(_cyclic(random))
    random.shuffle(batch)
    with pytest.raises(InvalidArgument, match="cycle"):
        planning.read_batch({"milestones": json.loads(json.dumps(batch))})
