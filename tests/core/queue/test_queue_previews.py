"""What a dry run shows is what happens, and `--expect-digest` applies nothing else."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phelix_core.checks import Surface
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from tests.core.queue.desk import HOST, REPORT, TABLES, Desk, milestone, shown, work
from tests.rig import FixedClock, bytes_of

KINDS = {
    "issue": "issues", "milestone": "milestones", "campaign": "campaigns", "project": "projects",
    "workspace": "workspaces", "lease": "leases", "run": "runs", "checkpoint": "checkpoints", "artifact": "artifacts",
    "issue gate": "issue_dependencies", "milestone gate": "milestone_dependencies",
}  # fmt: skip
UNTOLD = {
    "updated_at",
    "deadline_mono",
    "checkpoint_mono",
    "boot",
    "route",
    "begin_input",
    "notes",
    "rank_due_at",
    "promotable",
}


def standing(desk: Desk) -> Desk:
    """A queue with an issue in every status, and one whose lease has gone stale without anybody saying so."""
    desk.open().plan(
        milestone("m", "done", "failed", "blocked", "held", "stuck", "ready", work("behind", 3), work("old")),
        milestone("n", "gated", after=("m",)),
    )
    for task in ("done", "failed", "blocked"):
        desk.close(desk.claim(task, agent=task), task)
    desk.claim("held", agent="holder", artifacts=["diff=a.patch"])
    stuck = desk.claim("stuck", agent="mole", artifacts=["log=run.log"])
    desk.claim("old", agent="gone", ttl=10)
    desk.clock.advance(20)
    desk.close(stuck, "needs_recovery")
    return desk


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """Made once: each test works on a twin of it."""
    return standing(Desk(tmp_path_factory.mktemp("model") / "data", FixedClock()))


@pytest.fixture
def busy(model: Desk, data_dir: Path) -> Iterator[Desk]:
    made = model.twin(data_dir)
    yield made
    made.require_replay()
    made.env.queue.close()


def _calls(desk: Desk) -> dict[str, tuple[str, dict[str, Any]]]:
    """A call of every verb that succeeds on `standing`."""
    held = {"lease": desk.one("SELECT id FROM leases WHERE agent_id = 'holder'")}
    why = {"reason": "because"}
    issue = desk.ids.__getitem__
    return {
        "init": ("init", {"name": "other lab"}),
        "campaign": ("campaign", {"project_name": "New", "campaign_name": "c", "objective": "more"}),
        "plan": ("plan", {"batch": '{"milestones":[%s]}' % _MILESTONE, "campaign": desk.campaign}),  # noqa: UP031 - braces
        "checkpoint": ("checkpoint", {**held, **REPORT, "status": "in_progress"}),
        "checkpoint block": ("checkpoint", {**held, **REPORT, "status": "blocked", "reason": "waits"}),
        "checkpoint give up": ("checkpoint", {**held, **REPORT, "status": "needs_recovery"}),
        "close": ("close", {**held, **REPORT, "status": "done"}),
        "hand off": ("close", {**held, **REPORT, "status": "ready"}),
        "advance": ("advance", {**held, **REPORT, "status": "failed"}),
        "heartbeat": ("heartbeat", held),
        "resume": ("claim", {**HOST, "agent": "holder"}),
        "take over": ("recover", {"resolution": "resume", "issue_id": issue("stuck"), **HOST, "artifacts": ["log=x"]}),
        "take over any": ("recover", {"resolution": "resume", **HOST, "agent": "eve"}),
        "requeue": ("recover", {"resolution": "requeue", "issue_id": issue("stuck"), **why}),
        "requeue stale": ("recover", {"resolution": "requeue", "issue_id": issue("old"), **why}),
        "block": ("recover", {"resolution": "block", "issue_id": issue("stuck"), **why}),
        "fail": ("recover", {"resolution": "fail", "issue_id": issue("stuck"), **why, "next_step": "read the log"}),
        "reconcile": ("reconcile", {}),
        "promote": ("promote", {}),
        "unblock": ("unblock", {"issue_id": issue("blocked"), **why}),
        "retry": ("retry", {"issue_id": issue("failed"), **why}),
        "rollback": ("rollback", {"issue_id": issue("done"), **why}),
        "rollback held": ("rollback", {"issue_id": issue("held"), **why}),
        "drain": ("drain", {"campaign_id": "first", **why}),
        "archive": ("archive", {"campaign_id": "first", **why}),
        "save": ("artifacts save", {"issue": issue("held"), "kind": "log", "path": "b.log", **held}),
    }


_MILESTONE = (
    '{"milestone_key":"k","description":"d","deadlineAt":"2026-09-21T14:14:00Z","issues":[{"task":"t","priority":'
    '"low","size":"S","deadlineAt":"2026-09-21T14:13:40Z"}]}'
)
ISSUES = ("take over", "requeue", "requeue stale", "block", "fail", "unblock", "retry", "rollback", "rollback held")
LEASES = ("checkpoint", "checkpoint block", "checkpoint give up", "close", "hand off", "advance", "heartbeat", "save")
OTHERS = (
    "init", "campaign", "plan", "resume", "take over any", "reconcile", "promote", "drain", "archive",
)  # fmt: skip
ALL = (*ISSUES, *LEASES, *OTHERS)


def _columns(desk: Desk, table: str) -> list[str]:
    return [row[1] for row in desk.ask(f"PRAGMA table_info({table})")]


def _difference(desk: Desk, before: dict[str, list[Any]]) -> tuple[Counter[str], dict[str, set[str]]]:
    """New rows by table, and the columns that moved of each old row."""
    after, made, moved = desk.content(), Counter[str](), dict[str, set[str]]()
    for table in TABLES:
        old = {row[:2] if "dependencies" in table else row[0]: row for row in before[table]}
        names = _columns(desk, table)
        for row in after[table]:
            known = old.get(row[:2] if "dependencies" in table else row[0])
            if known is None:
                made[table] += 1
            elif known != row:
                told = {name for name, one, two in zip(names, known, row, strict=True) if one != two} - UNTOLD
                moved.setdefault(f"{table} {row[0]}", set()).update(told)
    return made, {row: told for row, told in moved.items() if told}


def _told(plan: Any) -> tuple[Counter[str], dict[str, set[str]]]:
    """The same as the plan tells it; what moves there and back within one verb comes to nothing."""
    made, first, last = Counter[str](), dict[tuple[str, str], Any](), dict[tuple[str, str], Any]()
    for change in plan["changes"]:
        name, _, column = change["field"].partition(" · ")
        kind, _, own = name.rpartition(" ")
        if column:
            first.setdefault((f"{KINDS[kind]} {own}", column), change["before"])
            last[f"{KINDS[kind]} {own}", column] = change["after"]
        else:
            assert change["before"] is None
            made[KINDS[kind]] += 1
    moved: dict[str, set[str]] = {}
    for (row, column), before in first.items():
        if last[row, column] != before and "‹new" not in row:
            moved.setdefault(row, set()).add(column)
    return made, moved


def apply_as_shown(desk: Desk, name: str, raw: dict[str, Any], wait: int) -> None:
    """Plan, wait, apply under the digest: no row moves for the plan, and then exactly what it told."""
    before = desk.content()
    plan = shown(desk.run(name, raw, dry_run=True))
    assert desk.content() == before
    desk.clock.advance(wait)
    assert shown(desk.run(name, raw, dry_run=True))["digest"] == plan["digest"]
    assert desk.run(name, raw, digest=plan["digest"]).error is None
    if name != "advance":  # what it claims afterwards is decided then
        assert _difference(desk, before) == _told(plan)


@pytest.mark.parametrize("call", ALL)
def test_every_verb_does_what_its_dry_run_shows_however_long_the_reader_takes(busy: Desk, call: str) -> None:
    apply_as_shown(busy, *_calls(busy)[call], wait=7)


def test_the_calls_are_all_there(busy: Desk) -> None:
    assert set(_calls(busy)) == set(ALL)


@pytest.mark.parametrize("agent", ["ann", None])
def test_a_claim_does_what_its_dry_run_shows_though_its_record_is_still_to_be_made(
    desk: Desk, agent: str | None
) -> None:
    desk.open().plan(milestone("m", "a", work("b", 0)))
    raw = {**HOST, "artifacts": ["diff=a"]} | ({} if agent is None else {"agent": agent})
    apply_as_shown(desk, "claim", raw, wait=7)
    assert len(list((desk.data_dir / "sessions").glob("ses_*.json"))) == 1


def test_a_dry_run_of_the_first_verb_makes_no_file(desk: Desk) -> None:
    raw: dict[str, Any] = {"name": "lab"}
    plan = shown(desk.run("init", raw, dry_run=True))
    assert bytes_of(desk.data_dir) in ({}, {".": "absent"})
    assert desk.run("init", raw, digest=plan["digest"]).error is None


def _disturb(desk: Desk, task: str, how: str) -> None:
    """Something that changes an issue's lease, epoch, expiry or last checkpoint."""
    lease = desk.ask("SELECT id FROM leases WHERE issue_id = ? AND status = 'active'", desk.ids[task])
    if how == "heartbeat" and lease:
        desk.do("heartbeat", lease=lease[0][0], ttl=5_000)
    elif how == "checkpoint" and lease:
        desk.do("checkpoint", lease=lease[0][0], status="in_progress", **REPORT)
    elif how == "resume" and lease and task != "old":
        desk.claim(task, agent=desk.one("SELECT agent_id FROM leases WHERE id = ?", lease[0][0]))
    elif how == "reconcile":
        desk.clock.advance(2_000)
        desk.do("reconcile")
    else:
        desk.do("rollback", issue_id=desk.ids[task], reason="meanwhile")


@pytest.mark.parametrize("how", ["heartbeat", "checkpoint", "resume", "reconcile", "rollback"])
@pytest.mark.parametrize("call", [*ISSUES, *LEASES])
def test_any_change_of_lease_epoch_expiry_or_checkpoint_makes_what_was_shown_a_conflict(
    busy: Desk, call: str, how: str
) -> None:
    name, raw = _calls(busy)[call]
    task = {busy.ids[task]: task for task in busy.ids}.get(raw.get("issue_id", raw.get("issue", "")), "held")
    if call == "take over":  # a recovery reconciles first, and that stays whatever becomes of it
        busy.do("reconcile")
    plan = shown(busy.run(name, raw, dry_run=True))
    _disturb(busy, task, how)
    if busy.run(name, raw, dry_run=True).error is None and how == "reconcile" and task not in ("held", "old"):
        return  # nothing of this issue changed: there was nothing to reconcile
    before = busy.content()
    refused = busy.run(name, raw, digest=plan["digest"]).failure()
    assert refused["code"] in ("LEASE_CONFLICT", "LEASE_LOST", "QUEUE_INVALID_TRANSITION", "ISSUE_NOT_CLAIMABLE")
    if busy.run(name, raw, dry_run=True).error is None:
        assert refused["code"] == "LEASE_CONFLICT"
    assert busy.content() == before


@pytest.mark.parametrize("call", [*ISSUES, *LEASES])
def test_what_is_shown_names_status_epoch_lease_holder_expiry_and_last_checkpoint(busy: Desk, call: str) -> None:
    name, raw = _calls(busy)[call]
    told = shown(busy.run(name, raw, dry_run=True))["preconditions"]
    assert set(told) == {"status", "epoch", "lease", "lease_status", "holder", "expires_at", "last_checkpoint"}


@given(
    seed=st.lists(st.tuples(st.sampled_from(ALL), st.integers(0, 90), st.booleans()), min_size=1, max_size=6),
)
@settings(max_examples=25)
def test_whatever_came_before_a_verb_that_can_be_shown_is_applied_as_shown(
    model: Desk, seed: list[tuple[str, int, bool]]
) -> None:
    with TemporaryDirectory() as folder:
        desk = model.twin(Path(folder) / "data")
        calls = _calls(desk)
        for call, wait, guarded in seed:
            name, raw = calls[call]
            if not guarded:
                desk.run(name, raw)
            elif desk.run(name, raw, dry_run=True).error is None:
                apply_as_shown(desk, name, raw, wait=0)
            desk.clock.advance(wait)
        desk.require_replay()
        desk.env.queue.close()


def test_the_command_shown_names_the_queue_and_pins_the_epoch(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    desk.close(desk.claim("a"), "failed")
    raw = {"issue_id": desk.ids["a"], "reason": "again"}
    command = shown(desk.run("retry", raw, dry_run=True))["command"]
    assert command == (f"phelix queue retry {desk.ids['a']} --reason again --if-epoch 1 --data-dir {desk.data_dir}")
    elsewhere = desk.surface(Surface.CLI, queue=str(desk.path.parent / "other queue.db"))
    told = shown(run(load_command("queue init"), {"name": "lab"}, elsewhere, dry_run=True))["command"]
    assert told.endswith(f"--queue '{desk.path.parent}/other queue.db'")


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_read_only_environment_writes_nothing(busy: Desk, dry_run: bool) -> None:  # noqa: FBT001 - a case
    before, files = busy.content(), bytes_of(busy.data_dir / "sessions")
    reader = busy.surface(Surface.TUI, read_only=True)
    for name, raw in _calls(busy).values():
        error = run(load_command(f"queue {name}"), raw, reader, dry_run=dry_run).failure()
        assert (error["code"], error["exit_code"]) == ("READ_ONLY", 11)
    assert busy.content() == before
    assert bytes_of(busy.data_dir / "sessions") == files


@pytest.mark.parametrize("digest", ["", "sha256:", "sha256:" + "g" * 64, "sha256:" + "0" * 63])
def test_a_digest_that_no_dry_run_shows_is_refused(busy: Desk, digest: str) -> None:
    name, raw = _calls(busy)["rollback"]
    assert busy.run(name, raw, digest=digest).failure()["code"] == "INVALID_ARGUMENT"


def test_an_epoch_that_moved_on_refuses_without_a_digest_too(busy: Desk) -> None:
    for call in ("take over", "requeue", "unblock", "retry", "rollback"):
        name, raw = _calls(busy)[call]
        error = busy.no(name, **raw, if_epoch=0)
        assert (error["code"], error["exit_code"], error["retryable"]) == ("LEASE_CONFLICT", 1, False)
