"""The memory beside the queue: asked at begins, told of what matters, linked to checkpoints, never in the way."""

import json
from collections.abc import Sequence
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from phelix_core.checks import Surface
from phelix_core.commands.environment import Environment, open_environment
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.memory.mem0 import Mem0Memory
from phelix_core.memory.port import Keepsake, MemoryScope, MemoryUnavailable, Recalled
from phelix_core.settings import Settings
from tests.core.queue.desk import HOST, REPORT, TABLES, Desk, milestone, work
from tests.rig import did


class Kept:
    """A memory in a list; it fails as often as it is told to."""

    def __init__(self, *, failing: str | None = None) -> None:
        self.keepsakes: list[Keepsake] = []
        self.asked: list[tuple[str, MemoryScope, int]] = []
        self.failing = failing

    def recall(self, query: str, scope: MemoryScope, limit: int) -> Sequence[Recalled]:
        self.asked.append((query, scope, limit))
        if self.failing is not None:
            raise MemoryUnavailable(self.failing)
        found = [one for one in self.keepsakes if one.scope.task == scope.task]
        return [Recalled(ref=f"m-{one.key}", text=one.text, score=1.0) for one in found][:limit]

    def remember(self, keepsake: Keepsake) -> str:
        if self.failing is not None:
            raise MemoryUnavailable(self.failing)
        if keepsake.key not in {one.key for one in self.keepsakes}:
            self.keepsakes.append(keepsake)
        return f"m-{keepsake.key}"


def living(desk: Desk, memory: Any, *, delivers: bool = True) -> Environment:
    """A process over the desk's queue that lives long enough to hand texts over."""
    settings = Settings(data_dir=str(desk.data_dir))
    env = open_environment(settings, Surface.CLI, clock=desk.clock, mint=desk.mint, delivers=delivers)
    assert env.kept is not None
    env.kept.update(memory=memory, queue=desk.env.queue)
    return env


def claim(env: Environment, **more: object) -> Any:
    return did(env, "queue claim", **HOST, memory=True, **more)


def say(env: Environment, context: Any, status: str, verb: str = "checkpoint", **more: object) -> Any:
    return did(env, f"queue {verb}", lease=context["leaseId"], status=status, **{**REPORT, **more})


def test_a_begin_asks_the_memory_in_the_scope_of_the_task_and_no_other_verb_does(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    memory = Kept()
    env = living(desk, memory)
    context = claim(env, memory_query="what broke", memory_limit=3)
    (asked,) = memory.asked
    scope = MemoryScope(
        workspace=context["workspaceId"], project=context["projectId"], campaign=desk.campaign, task=desk.ids["a"]
    )
    assert asked == ("what broke", scope, 3)
    assert context["mem0"] == {"enabled": True, "available": True, "query": "what broke", "recalledMemories": []}
    assert desk.events("mem0_context_loaded") == [{"query": "what broke", "recalledMemoryCount": 0}]
    say(env, context, "in_progress")
    did(env, "queue heartbeat", lease=context["leaseId"])
    say(env, context, "needs_recovery")
    assert len(memory.asked) == 1
    again = did(env, "queue recover", resolution="resume", issue_id=desk.ids["a"], **HOST, memory=True)
    assert len(memory.asked) == 2
    assert memory.asked[1][0] == "a", "the task, where nobody asks for anything"
    assert [one["memory"] for one in again["mem0"]["recalledMemories"]] == ["so far"]


SIGNIFICANT = {"blocked": "decision", "needs_recovery": "decision", "done": "summary", "failed": "artifact_context"}


@pytest.mark.parametrize("status", [*SIGNIFICANT, "in_progress"])
def test_a_checkpoint_is_remembered_where_it_is_significant(desk: Desk, status: str) -> None:
    desk.open().plan(milestone("m", "a"))
    memory = Kept()
    env = living(desk, memory)
    told = say(env, claim(env), status)
    if status not in SIGNIFICANT:
        assert memory.keepsakes == []
        assert "memoryId" not in told
        assert "mem0WriteSkippedReason" not in told
        return
    (kept,) = memory.keepsakes
    assert kept.kind == SIGNIFICANT[status]
    assert (kept.text, kept.note, kept.artifact_ids) == ("so far", "go on", ("commit:abc",))
    assert kept.checkpoint_id == told["checkpoint"]["id"]
    assert kept.scope.run == told["context"]["runId"], "a write says which run it was"
    link = desk.one("SELECT checkpoint_id, memory_ref, memory_kind, issue_id FROM memory_links")
    assert link == (told["checkpoint"]["id"], told["memoryId"], kept.kind, desk.ids["a"])
    assert desk.events("mem0_memory_linked") == [
        {"checkpointId": kept.checkpoint_id, "memoryId": told["memoryId"], "memoryKind": kept.kind}
    ]


@pytest.mark.parametrize("status", ["done", "ready"])
def test_any_close_is_remembered_and_an_explicit_word_decides_otherwise(desk: Desk, status: str) -> None:
    desk.open().plan(milestone("m", "a", "b", "c"))
    memory = Kept()
    env = living(desk, memory)
    say(env, claim(env), status, "close")
    assert [one.kind for one in memory.keepsakes] == ["summary"]
    say(env, claim(env), status, "close", memory=False)
    assert len(memory.keepsakes) == 1
    say(
        env,
        claim(env),
        "in_progress",
        memory=True,
        memory_kind="preference",
        memory_content="tabs",
        metadata='{"by": "ann"}',
    )
    last = memory.keepsakes[-1]
    assert (last.kind, last.text, dict(last.metadata)) == ("preference", "tabs", {"by": "ann"})


def test_a_session_without_memory_asks_and_tells_nothing_and_its_close_says_why(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    memory = Kept()
    env = living(desk, memory)
    context = did(env, "queue claim", **HOST)
    assert context["mem0"]["details"] == "memory is not enabled for this session"
    told = say(env, context, "done", "close")
    assert told["mem0WriteSkippedReason"] == "memory is not enabled for this session"
    assert (memory.asked, memory.keepsakes) == ([], [])
    assert desk.events("session_closed")[0]["memoryWriteSkipped"] == told["mem0WriteSkippedReason"]


def test_a_memory_that_fails_changes_nothing_and_the_skip_is_recorded_and_made_good(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a", work("b", 0)))
    memory = Kept(failing="the disk is full")
    env = living(desk, memory)
    context = claim(env)
    assert context["claimMode"] == "claim"
    assert context["mem0"]["details"] == "the disk is full"
    told = say(env, context, "done", "close")
    assert told["promotedIssueIds"] == [desk.ids["b"]]
    assert (told["mem0WriteSkippedReason"], told["memoryQueued"]) == ("the disk is full", True)
    assert desk.events("mem0_write_skipped") == [
        {"checkpointId": told["checkpoint"]["id"], "reason": "the disk is full"}
    ]
    assert desk.one("SELECT status, attempts, last_reason FROM memory_outbox") == ("queued", 1, "the disk is full")
    assert did(env, "queue memory sync")["waiting"] == 1
    assert len(desk.events("mem0_write_skipped")) == 1, "the same reason is recorded once, however often it is offered"
    memory.failing = None
    assert did(env, "queue memory sync") == {
        "linkedMemoryIds": [f"m-{memory.keepsakes[0].key}"],
        "skipped": [],
        "waiting": 0,
    }
    assert did(env, "queue memory sync")["linkedMemoryIds"] == [], "twice is once"
    assert desk.one("SELECT count(*) FROM memory_links") == 1


def test_a_short_call_leaves_its_text_to_one_that_lives_longer(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a", "b"))
    memory = Kept()
    short, long = living(desk, memory, delivers=False), living(desk, memory)
    told = say(short, claim(short), "done", "close")
    assert told["memoryQueued"] is True
    assert "memoryId" not in told
    assert memory.keepsakes == []
    say(long, claim(long), "done", "close")
    assert len(memory.keepsakes) == 2, "a delivery takes along what waits"
    assert desk.ask("SELECT DISTINCT status FROM memory_outbox") == [("delivered",)]


def test_a_text_that_was_kept_before_its_link_could_be_written_is_one_memory(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    memory = Kept()
    short = living(desk, memory, delivers=False)
    say(short, claim(short), "done", "close")
    row = short.queue.read(lambda tx: tx.outbox(limit=1))[0]
    memory.keepsakes.append(
        Keepsake(
            key=row.id, kind="summary", text="so far", scope=MemoryScope(workspace="w", project="p"), checkpoint_id="k"
        )
    )
    assert did(short, "queue memory sync")["linkedMemoryIds"] == [f"m-{row.id}"]
    assert len(memory.keepsakes) == 1


def test_a_dry_run_of_the_sync_hands_nothing_over(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    memory = Kept()
    short = living(desk, memory, delivers=False)
    say(short, claim(short), "done", "close")
    before = desk.content()
    plan = run(load_command("queue memory sync"), {}, short, dry_run=True).result
    assert "1 texts are offered" in str(plan)
    assert (desk.content(), memory.keepsakes) == (before, [])


def canonical(desk: Desk) -> dict[str, list[Any]]:
    """What the queue holds beside memory: every row, without the journal and the rows that only tell of memory."""
    told = {name: rows for name, rows in desk.content().items() if name in TABLES and not name.startswith("memory")}
    told["checkpoints"] = [row[:1] + row[2:] for row in told["checkpoints"]]  # an event's number differs
    told["runs"] = [row[:-2] for row in told["runs"]]  # so do the notes and the input of a begin with memory
    return told


def played(desk: Desk, memory: Any, *, wipe: Path | None = None) -> dict[str, list[Any]]:
    """Some work with a memory that may be wiped after each act."""
    env = living(desk, memory)
    desk.open().plan(milestone("m", "a", work("b", 0), "c"))

    def after() -> None:
        if wipe is not None:
            rmtree(wipe, ignore_errors=True)

    first = claim(env, agent="ann")
    after()
    say(env, first, "blocked", reason="waits")
    after()
    say(env, first, "in_progress")
    say(env, first, "done", "close")
    after()
    second = claim(env, agent="bob")
    after()
    say(env, second, "needs_recovery")
    after()
    third = did(env, "queue recover", resolution="resume", **HOST, memory=True)
    after()
    say(env, third, "ready", "close")
    return canonical(desk)


def without_ids(content: Any) -> str:
    """Rows with ids told by the order of their first use: with a memory more of them are minted."""
    known: dict[str, str] = {}

    def told(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [told(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
        if isinstance(value, str) and value[-16:].isalnum() and len(value) > 16 and ("-" in value or "_" in value):
            return known.setdefault(value, f"#{len(known)}")
        if isinstance(value, str) and value.startswith("["):
            return [told(item) if not item.startswith("E-") else "E" for item in json.loads(value)]
        return value

    return json.dumps(told(list(content.values())))


def test_deleting_the_memory_at_any_time_changes_no_status_lease_checkpoint_or_claim(
    tmp_path: Path, clock: Any
) -> None:
    folder = tmp_path / "store"
    told: list[str] = []
    for number, (memory, wipe) in enumerate(
        (
            (Kept(), None),
            (Mem0Memory(str(folder), clock), None),
            (Mem0Memory(str(folder), clock), folder),
            (Kept(failing="gone"), None),
        )
    ):
        desk = Desk(tmp_path / str(number), type(clock)())
        told.append(without_ids(played(desk, memory, wipe=wipe)))
        desk.require_replay()
        desk.env.queue.close()
    assert told[0] == told[1] == told[2] == told[3]


def test_the_real_memory_recalls_at_a_recovery_what_a_checkpoint_told_it(desk: Desk, tmp_path: Path) -> None:
    desk.open().plan(milestone("m", "move the readers"))
    env = living(desk, Mem0Memory(str(tmp_path / "store"), desk.clock))
    context = claim(env)
    say(env, context, "needs_recovery", summary="the replica lags behind by an hour")
    again = did(
        env, "queue recover", resolution="resume", **HOST, memory=True, memory_query="how far is the replica behind"
    )
    (found,) = again["mem0"]["recalledMemories"]
    assert found["memory"] == "the replica lags behind by an hour"
    link = desk.one("SELECT memory_ref FROM memory_links")
    assert found["id"] == link
