import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phelix_core.checks import Surface
from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.sessions.model import Session
from phelix_core.strictjson import dumps, plain
from tests.rig import NOW_MS, CountedIds, FixedClock, bytes_of, did, environment, refused

FIRST = "ses_0000000000000001"
SECRET = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
CHANGES: dict[str, dict[str, object]] = {
    "session checkpoint": {"step": "deploy", "note": "10%", "deployments": ["dep-1"]},
    "session complete": {"result": "done"},
    "session fail": {"reason": "broke", "deployments": ["dep-2"]},
    "session cancel": {},
}


def plan_of(env: Environment, name: str, **raw: object) -> Any:
    envelope = run(load_command(name), raw, env, dry_run=True)
    assert envelope.error is None, envelope.error
    return plain(envelope.result)


def flat(members: dict[str, Any], prefix: str = "") -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in members.items():
        found |= flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}  # pyright: ignore[reportUnknownArgumentType]
    return found


def played(before: dict[str, Any], plan: Any, session: Session) -> dict[str, object]:
    """The record that a plan promises, its stand-ins filled from what was stored."""
    stored = flat(plain(session))
    members = flat({name: value for name, value in before.items() if name != "events"})
    for change in plan["changes"]:
        assert members.get(change["field"]) == change["before"]
        stand_in = change["after"] in ("‹now›", "‹new›")
        members[change["field"]] = stored[change["field"]] if stand_in else change["after"]
    return {name: value for name, value in members.items() if value is not None}


def without_events(session: Session) -> dict[str, object]:
    members = flat(plain(session)).items()
    return {name: value for name, value in members if name != "events" and value is not None}


@pytest.mark.parametrize(("name", "raw"), CHANGES.items(), ids=CHANGES.keys())
def test_a_change_writes_exactly_what_its_plan_showed(
    env: Environment, clock: FixedClock, name: str, raw: dict[str, object]
) -> None:
    before = did(env, "session create", title="ship")
    plan = plan_of(env, name, session_id=FIRST, **raw)
    clock.wall_ms += 5_000
    envelope = run(load_command(name), {"session_id": FIRST, **raw}, env, expect_digest=plan["digest"])
    after: Any = envelope.result
    assert envelope.error is None
    assert without_events(after) == played(plain(before), plan, after)
    assert plan["event"] == {**plain(after.events[-1]), "at_ms": "‹now›"}
    assert plan["preconditions"] == {"rev": 1, "status": "active"}
    assert plan["action"] == name


def test_a_creation_writes_exactly_what_its_plan_showed_however_late(env: Environment, clock: FixedClock) -> None:
    raw: dict[str, object] = {"title": "ship", "app": "billing"}
    plan = plan_of(env, "session create", **raw)
    clock.wall_ms += 86_400_000
    envelope = run(load_command("session create"), raw, env, expect_digest=plan["digest"])
    assert envelope.error is None, envelope.error
    after: Any = envelope.result
    assert without_events(after) == played({}, plan, after)
    assert plan["event"] == {**plain(after.events[-1]), "at_ms": "‹now›"}


def test_a_pruning_removes_exactly_what_its_plan_showed(env: Environment, clock: FixedClock) -> None:
    for _ in range(4):
        closed = did(env, "session create")
        clock.wall_ms += 1_000
        did(env, "session complete", session_id=closed.session_id)
    clock.wall_ms += 60_000
    plan = plan_of(env, "session prune", keep=2, older_than="1s")
    pruned = did(env, "session prune", keep=2, older_than="1s")
    assert [change["field"] for change in plan["changes"]] == [f"sessions/{name}.json" for name in pruned.removed]
    assert (len(pruned.removed), pruned.kept) == (2, 2)


@pytest.mark.parametrize(("name", "raw"), [*CHANGES.items(), ("session create", {"title": "x"})])
def test_a_dry_run_writes_nothing(env: Environment, data_dir: Path, name: str, raw: dict[str, object]) -> None:
    did(env, "session create")
    before = bytes_of(data_dir)
    plan_of(env, name, **({} if name == "session create" else {"session_id": FIRST}), **raw)
    assert bytes_of(data_dir) == before


def test_a_dry_run_over_no_data_directory_makes_none(env: Environment, data_dir: Path) -> None:
    plan_of(env, "session create", title="x")
    assert not data_dir.exists()


@pytest.mark.parametrize(("name", "raw"), CHANGES.items(), ids=CHANGES.keys())
def test_a_plan_that_was_overtaken_is_not_applied(
    env: Environment, data_dir: Path, name: str, raw: dict[str, object]
) -> None:
    did(env, "session create")
    plan = plan_of(env, name, session_id=FIRST, **raw)
    did(env, "session checkpoint", session_id=FIRST, step="meanwhile")
    before = bytes_of(data_dir)
    envelope = run(load_command(name), {"session_id": FIRST, **raw}, env, expect_digest=plan["digest"])
    assert envelope.failure()["code"] == "SESSION_CONFLICT"
    assert envelope.failure()["retryable"] is True
    assert bytes_of(data_dir) == before


@pytest.mark.parametrize("digest", ["", "x", "sha256:", "sha256:" + "A" * 64, "sha256:" + "0" * 63])
def test_a_digest_that_no_plan_ever_had_is_refused_rather_than_ignored(
    env: Environment, data_dir: Path, digest: str
) -> None:
    envelope = run(load_command("session create"), {}, env, expect_digest=digest)
    assert envelope.failure()["code"] == "INVALID_ARGUMENT"
    assert not data_dir.exists()


def test_the_digest_binds_the_change_and_not_the_clock_or_the_folder(
    env: Environment, clock: FixedClock, tmp_path: Path
) -> None:
    did(env, "session create")
    first = plan_of(env, "session fail", session_id=FIRST, reason="a")
    clock.wall_ms += 1
    assert plan_of(env, "session fail", session_id=FIRST, reason="a")["digest"] == first["digest"]
    assert plan_of(env, "session fail", session_id=FIRST, reason="b")["digest"] != first["digest"]
    assert plan_of(env, "session cancel", session_id=FIRST, reason="a")["digest"] != first["digest"]
    other = environment(tmp_path / "other", clock)
    assert plan_of(other, "session create")["digest"] == plan_of(env, "session create")["digest"]


def test_reads_take_no_digest_and_no_dry_run(env: Environment) -> None:
    for asked in ({"dry_run": True}, {"expect_digest": ""}, {"expect_digest": "sha256:" + "0" * 64}):
        envelope = run(load_command("session list"), {}, env, **asked)  # pyright: ignore[reportArgumentType]
        assert envelope.failure()["code"] == "INVALID_ARGUMENT"


@pytest.mark.parametrize("name", [*CHANGES, "session create", "session prune", "doctor", "demo"])
def test_a_read_only_environment_refuses_every_write_and_shows_it_all_the_same(
    env: Environment, clock: FixedClock, data_dir: Path, tmp_path: Path, name: str
) -> None:
    did(env, "session create")
    known: dict[str, dict[str, object]] = {
        "session create": {}, "session prune": {"keep": 0, "older_than": "1d"}, "doctor": {"fix": True},
        "demo": {"directory": str(tmp_path / "demo")},
    }  # fmt: skip
    raw: dict[str, object] = known[name] if name in known else {"session_id": FIRST, **CHANGES[name]}
    before = bytes_of(data_dir)
    looking = environment(data_dir, clock, read_only=True)
    assert refused(looking, name, **raw)["code"] == "READ_ONLY"
    plan_of(looking, name, **raw)
    assert bytes_of(data_dir) == before
    assert not (tmp_path / "demo").exists()


def test_no_failure_is_raised_through_the_door_and_none_echoes_a_secret(env: Environment) -> None:
    error = refused(env, "session show", session_id=SECRET)
    assert SECRET not in json.dumps(error)
    error = refused(env, "session create", **{SECRET: SECRET, "title": "x" * 300 + SECRET})
    assert SECRET not in json.dumps(error)


def test_the_envelope_has_its_keys_in_order_and_nothing_else(env: Environment) -> None:
    success = run(load_command("session create"), {}, env).document()
    assert list(success) == ["schema_version", "status", "result"]
    failure = run(load_command("session show"), {"session_id": "ses_00000000000000ff"}, env).document()
    assert list(failure) == ["schema_version", "status", "error"]
    told: Any = failure["error"]
    assert list(told) == ["code", "message", "exit_code", "retryable", "hint"]
    conflict = refused(env, "session fail", session_id=FIRST, if_rev=7)
    assert list(conflict) == ["code", "message", "exit_code", "retryable", "hint", "details"]


TEXT = st.none() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
STEPS = st.lists(
    st.tuples(
        st.sampled_from([*["session checkpoint"] * 6, "session complete", "session fail", "session cancel"]),
        TEXT,
        TEXT,
        st.lists(st.integers(0, 9).map("dep-{:x}".format), max_size=3),
        st.none() | st.integers(1, 8),
        st.integers(-3_000, 3_000),
    ),
    max_size=8,
)


@settings(max_examples=40)
@given(STEPS)
def test_whatever_is_asked_the_plan_tells_what_run_then_does(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[Any, ...]]
) -> None:
    clock = FixedClock()
    data_dir = tmp_path_factory.mktemp("d") / "data"
    env = environment(data_dir, clock)
    session: Session = did(env, "session create", title="ship")
    for name, text, note, deployments, if_rev, later_ms in steps:
        clock.wall_ms += later_ms
        raw: dict[str, Any] = {"session_id": session.session_id, "deployments": deployments, "if_rev": if_rev}
        raw |= {"step": text, "note": note} if name == "session checkpoint" else {}
        raw |= {"result": text} if name == "session complete" else {}
        raw |= {"reason": text} if name in ("session fail", "session cancel") else {}
        if name == "session cancel":
            del raw["deployments"]
        before = bytes_of(data_dir)
        asked = copy.deepcopy(raw)
        shown = run(load_command(name), raw, env, dry_run=True)
        assert bytes_of(data_dir) == before
        answer = run(load_command(name), raw, env)
        assert raw == asked, "input is never changed"
        if shown.error or answer.error:
            assert shown.failure() == answer.failure()
            assert bytes_of(data_dir) == before, "a refusal changes nothing"
            continue
        after: Any = answer.result
        assert without_events(after) == played(plain(session), plain(shown.result), after)
        session = after
    assert did(env, "session show", session_id=session.session_id).session == session


def test_two_environments_over_one_folder_with_the_same_clock_and_ids_write_the_same_bytes(tmp_path: Path) -> None:
    found: list[dict[str, object]] = []
    for name in ("a", "b"):
        env = environment(tmp_path / name, FixedClock())
        did(env, "session create", title="清理", app="x")
        did(env, "session checkpoint", session_id=FIRST, step="s", deployments=["dep-1", "dep-1"])
        did(env, "session complete", session_id=FIRST, result="done")
        found.append(dict(bytes_of(tmp_path / name)))
    assert found[0] == found[1]


def test_the_fixed_rig_counts_ids_and_keeps_its_clock_still() -> None:
    ids = CountedIds()
    assert (ids(), ids()) == (f"{1:016x}", f"{2:016x}")
    assert FixedClock().now_ms() == NOW_MS


def test_the_surface_decides_the_actor_and_via(tmp_path: Path) -> None:
    for surface, actor in ((Surface.CLI, "cli"), (Surface.TUI, "cli"), (Surface.MCP, "mcp")):
        session = did(environment(tmp_path / surface.value, FixedClock(), surface), "session create")
        assert plain(session.actor) == {"type": actor, "id": None, "authenticated": False}
        assert session.events[0].via == surface.value


def test_an_answer_is_one_json_document_in_the_one_form(env: Environment) -> None:
    envelope = run(load_command("session create"), {"title": "清"}, env)
    assert envelope.json() == dumps(envelope.document()) + "\n"
    assert json.loads(envelope.json())["result"]["title"] == "清"
