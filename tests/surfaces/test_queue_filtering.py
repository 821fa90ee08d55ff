"""`queue list --where`: the filter language over a queue's issues, beside the list's other options."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from phelix_core.commands.environment import Environment
from phelix_core.commands.queue import looking
from phelix_core.queue.model import TASK_STATUSES
from phelix_core.strictjson import dumps
from tests.rig import FixedClock, Phelix, bytes_of, did, environment, refused

HOST = {"host": "h1", "workload_classes": ["gpu"]}
REPORT = {"summary": "s", "next_step": "look at the logs", "evidence": ["commit:1"]}
GPU: dict[str, Any] = {"dispatch": {"workloadClass": "gpu", "requiredHostCapabilities": []}}
ALPHA: list[dict[str, Any]] = [
    {"task": "old", "priority": "high"},
    {"task": "held", "size": "XL", "policy": GPU},
    {"task": "done"},
    {"task": "broken", "priority": "low"},
    {"task": "stuck"},
    {"task": "free"},
    {"task": "behind", "depends_on_indices": [5]},
]
BETA: list[dict[str, Any]] = [{"task": "ship the invoice"}, {"task": "ship the rest"}]
GAMMA: list[dict[str, Any]] = [{"task": "another"}]


def plan(key: str, told: str, issues: list[dict[str, Any]]) -> dict[str, Any]:
    usual = {"priority": "medium", "size": "S"}
    return {"milestone_key": key, "description": told, "issues": [{**usual, **one} for one in issues]}


def batch(*milestones: dict[str, Any]) -> str:
    return dumps({"milestones": list(milestones)})


def tasks(env: Environment, **asked: Any) -> list[str]:
    return [issue["task"] for issue in did(env, "queue list", **asked)["issues"]]


def fill(env: Environment, clock: FixedClock) -> None:
    """One campaign with an issue in each state that matters, a second with one issue; an hour goes by."""
    did(env, "queue init", name="acme")
    for name in ("spring", "autumn"):
        did(env, "queue campaign", project_name="shop", campaign_name=name)
    did(env, "queue plan", batch=batch(plan("alpha", "first", ALPHA), plan("beta", "Second", BETA)), campaign="spring")
    clock.advance(1)
    did(env, "queue plan", batch=batch(plan("gamma", "later", GAMMA)), campaign="autumn")
    did(env, "queue promote")
    known = {issue["task"]: issue["id"] for issue in did(env, "queue list")["issues"]}

    def claim(task: str, **more: Any) -> str:
        return did(env, "queue claim", issue_id=known[task], campaign="spring", **HOST, **more)["leaseId"]

    for task, status in (("done", "done"), ("broken", "failed"), ("stuck", "blocked")):
        did(env, "queue close", lease=claim(task, agent=task), status=status, **REPORT)
    claim("held", agent="a1", ttl=7_200, freshness=7_200)
    claim("old", agent="gone", ttl=60)
    clock.advance(3_600)


@pytest.fixture
def env(tmp_path: Path, clock: FixedClock) -> Environment:
    env = environment(tmp_path / "data", clock)
    fill(env, clock)
    return env


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("ship", ["ship the invoice", "ship the rest"]),
        ("second -invoice", ["ship the rest"]),
        ("/^ship .* (rest|x)$/", ["ship the rest"]),
        ("is:stale", ["old"]),
        ("is:claimed -is:stale", ["held"]),
        ("left>30m", ["held"]),
        ("left<0s", ["old"]),
        ("agent=gone OR host=H1 size=XL", ["old", "held"]),
        ("class=gpu has:policy", ["held"]),
        ("status=done,failed", ["done", "broken"]),
        ("is:failed priority=low", ["broken"]),
        ("is:blocked next~logs", ["stuck"]),
        ("is:waiting", ["behind"]),
        ("epoch>0 is:open", ["old", "held", "stuck"]),
        ("milestone=beta,later", ["ship the invoice", "ship the rest", "another"]),
        ("campaign=autumn project=shop", ["another"]),
        ("status=pending age>30m", ["behind"]),
        ("seen<30m", []),
        ("status=ready is:done", []),
        ("nothing-like-this", []),
    ],
)
def test_a_filter_selects_what_it_says(env: Environment, where: str, found: list[str]) -> None:
    assert tasks(env, where=where) == found


def test_a_filter_joins_the_other_options_and_its_limit_says_whether_more_matched(env: Environment) -> None:
    assert tasks(env, where="ship", status="ready") == ["ship the invoice", "ship the rest"]
    assert tasks(env, where="ship OR is:done", status="done") == ["done"]
    assert tasks(env, where="is:done", status="ready") == []
    assert tasks(env, where="is:open", status="blocked") == ["stuck"]
    assert tasks(env, where="a", campaign="autumn") == ["another"]
    assert tasks(env, where="/e/", milestone="beta", campaign="spring") == ["ship the invoice", "ship the rest"]
    for where in ("ship", "status=ready ship", "/ship/"):
        found = did(env, "queue list", where=where, limit=1)
        assert (found["count"], found["truncated"]) == (1, True)
        found = did(env, "queue list", where=where, limit=2)
        assert (found["count"], found["truncated"]) == (2, False)
    assert tasks(env, where="", limit=0) == tasks(env, limit=0)


def test_pages_of_any_size_give_the_same_issues(env: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list(product((None, "ship OR is:open", "status=ready", "-is:done"), (None, *TASK_STATUSES), (0, 1, 3)))
    once = [did(env, "queue list", where=where, status=status, limit=limit) for where, status, limit in asked]
    monkeypatch.setattr(looking, "_PAGE", 1)
    monkeypatch.setattr(looking, "_LARGEST_PAGE", 2)
    assert [did(env, "queue list", where=w, status=s, limit=n) for w, s, n in asked] == once


@pytest.mark.parametrize(
    ("where", "token", "told"),
    [
        ("status=ready fooo=1", "fooo", "no field"),
        ("status=redy", "redy", "not a value"),
        ('task="open', '"open', "not closed"),
        ("/(/", "(", "not valid"),
        ("x is:marked", "x is:marked", "marks are the console's"),
        ("app=billing", "app", "known only for sessions"),
        ("x is:unparsed", "unparsed", "known only for sessions"),
        ("OR", "OR", "both sides"),
        ("left<soon", "soon", "not a duration"),
    ],
)
def test_a_wrong_filter_is_refused_and_its_token_named(env: Environment, where: str, token: str, told: str) -> None:
    error = refused(env, "queue list", where=where)
    assert error["code"] == "INVALID_ARGUMENT"
    assert told in error["message"]
    assert where[error["details"]["start"] : error["details"]["end"]] == token


def test_a_filter_is_read_before_the_queue_is_looked_for(tmp_path: Path, clock: FixedClock) -> None:
    empty = environment(tmp_path / "none", clock)
    assert refused(empty, "queue list", where="app=1")["code"] == "INVALID_ARGUMENT"
    assert refused(empty, "queue list", where="ship")["code"] == "NOT_FOUND"


class Slow(FixedClock):
    """A clock on which every look at it takes a second."""

    def monotonic(self) -> float:
        self.elapsed += 1
        return self.elapsed


def test_patterns_that_take_too_long_end_in_a_refusal_that_names_them(env: Environment, tmp_path: Path) -> None:
    del env
    error = refused(environment(tmp_path / "data", Slow()), "queue list", where="-zz /e/")
    assert "longer than 2000 ms over these queue issues" in error["message"]
    assert (error["details"]["start"], error["details"]["end"]) == (4, 7)


@pytest.mark.parametrize(
    "where", ["((((" * 400, "a " * 900, "x" * 2_001, "/(a+)+$/", "\x00", "-" * 500, '"' * 501, "=" * 900, "é" * 1_500]
)
def test_filters_of_any_length_and_nesting_end_in_an_answer(phelix: Phelix, where: str) -> None:
    phelix("queue", "init", "acme")
    phelix("queue", "campaign", "shop", "spring")
    phelix("queue", "plan", "-", stdin=batch(plan("m", "first", [{"task": "a" * 900}])).encode())
    before = bytes_of(phelix.data_dir)
    ran = phelix("queue", "list", f"--where={where.replace(chr(0), chr(92) + '0')}", "--json")
    assert ran.code in (0, 2)
    assert "Traceback" not in ran.err
    after = bytes_of(phelix.data_dir)
    assert {name: after[name] for name in after if not name.endswith(("-shm", "-wal"))} == {
        name: before[name] for name in before if not name.endswith(("-shm", "-wal"))
    }


def test_the_command_line_takes_the_filter_and_prints_its_refusal_for_people(phelix: Phelix, clock: FixedClock) -> None:
    env = environment(phelix.data_dir, clock)
    fill(env, clock)
    env.queue.close()
    assert phelix("queue", "list", "--where", "ship", "--json").result["count"] == 2
    ran = phelix("queue", "list", "--where", "stauts=ready")
    assert ran.code == 2
    assert "stauts" in ran.err
    assert "status" in ran.err


def test_a_secret_in_a_filter_is_not_echoed(phelix: Phelix) -> None:
    secret = "ghp_" + "a1B2" * 9
    for where in (f"status={secret}", f"is:{secret}", f"left<{secret}"):
        ran = phelix("queue", "list", "--where", where, "--json")
        assert ran.code == 2
        assert secret not in ran.out.decode()
        assert secret not in ran.err
