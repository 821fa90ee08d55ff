"""`session list --where`: the console's filter language from the command line, answered from the index."""

from pathlib import Path
from typing import Any

import pytest

from phelix_core.arc.operations import operation_of
from phelix_core.commands.environment import Environment
from tests.rig import FixedClock, Phelix, bytes_of, did, refused

HOUR = 3_600_000


def ids(found: Any) -> list[str]:
    return [summary.session_id for summary in found.sessions]


@pytest.fixture
def fleet(env: Environment, clock: FixedClock) -> dict[str, str]:
    """Three sessions an hour apart: billing (stale by now), auth (closed), search (fresh)."""
    made: dict[str, str] = {}
    for app in ("billing", "auth", "search"):
        made[app] = did(env, "session create", title=f"ship {app}", app=app).session_id
        clock.wall_ms += HOUR
    did(env, "session complete", session_id=made["auth"], result="done")
    return made


@pytest.mark.parametrize(
    ("where", "apps"),
    [
        ("ship", ["search", "auth", "billing"]),
        ("app=billing,search", ["search", "billing"]),
        ("is:stale", ["search", "billing"]),
        ("is:closed OR app=search", ["search", "auth"]),
        ("age>90m -is:closed", ["billing"]),
        ('title~"SHIP A"', ["auth"]),
        ("/^ship [bs]/", ["search", "billing"]),
        ("has:result", ["auth"]),
        ("rev>=2", ["auth"]),
        ("nothing-like-this", []),
    ],
)
def test_a_filter_selects_what_it_says(env: Environment, fleet: dict[str, str], where: str, apps: list[str]) -> None:
    assert ids(did(env, "session list", where=where)) == [fleet[app] for app in apps]


def test_a_filter_joins_the_other_options_and_its_limit_says_whether_more_matched(
    env: Environment, fleet: dict[str, str]
) -> None:
    found = did(env, "session list", where="ship", status="active", limit=1)
    assert (ids(found), found.truncated) == ([fleet["search"]], True)
    found = did(env, "session list", where="/ship/", limit=3)
    assert (found.count, found.truncated) == (3, False)
    found = did(env, "session list", where="/ship/", limit=2)
    assert (found.count, found.truncated) == (2, True)


def test_a_filter_on_references_looks_them_up(env: Environment, fleet: dict[str, str]) -> None:
    record = {"id": f"op_{1:016x}", "kind": "deploy", "status": "succeeded", "deployment_id": "dep-01"}
    env.arc.add_operation(operation_of(record, f"op_{1:016x}"))
    did(env, "session checkpoint", session_id=fleet["billing"], operations=[f"op_{1:016x}"], deployments=["dep-01"])
    did(env, "session checkpoint", session_id=fleet["search"], deployments=["dep-99"])
    assert ids(did(env, "session list", where="ref:unknown")) == [fleet["search"]]
    assert ids(did(env, "session list", where="ref:present")) == [fleet["billing"]]
    assert ids(did(env, "session list", where="ref:missing")) == []
    (Path(env.settings.data_dir) / "ops" / f"op_{1:016x}.json").unlink()
    assert ids(did(env, "session list", where="ref:missing")) == [fleet["billing"]]
    assert ids(did(env, "session list", where="dep=dep-01")) == [fleet["billing"]]


@pytest.mark.parametrize(
    ("where", "token"),
    [
        ("app=billing fooo=1", "fooo"),
        ("status=activ", "activ"),
        ('title="open', '"open'),
        ("/(/", "/(/"),
        ("is:marked", "is:marked"),
        ("lease=1", "lease"),
        ("OR", "OR"),
        ("age>soon", "soon"),
    ],
)
def test_a_wrong_filter_is_refused_and_its_token_named(env: Environment, where: str, token: str) -> None:
    told = refused(env, "session list", where=where)
    assert told["code"] == "INVALID_ARGUMENT"
    start, end = told["details"]["start"], told["details"]["end"]
    assert token in where[start:end] or where[start:end] in token
    assert end > start


@pytest.mark.parametrize(
    "where", ["((((" * 400, "a " * 900, "x" * 2_001, "/(a+)+$/", "\x00", "-" * 500, '"' * 501, "=" * 900, "é" * 1_500]
)
def test_filters_of_any_length_and_nesting_end_in_an_answer(phelix: Phelix, where: str) -> None:
    phelix("session", "create", "--title", "a" * 150)
    before = bytes_of(phelix.data_dir)
    argument = where.replace("\x00", "\\0")
    ran = phelix("session", "list", f"--where={argument}", "--json")
    assert ran.code in (0, 2)
    assert "Traceback" not in ran.err
    assert bytes_of(phelix.data_dir) == before


def test_the_command_line_takes_the_filter_and_prints_its_refusal_for_people(phelix: Phelix) -> None:
    phelix("session", "create", "--title", "ship billing", "--app", "billing")
    assert phelix("session", "list", "--where", "app=billing", "--json").result["count"] == 1
    ran = phelix("session", "list", "--where", "ap=billing")
    assert ran.code == 2
    assert "ap" in ran.err
    assert "app" in ran.err


def test_a_secret_in_a_filter_is_not_echoed(phelix: Phelix) -> None:
    secret = "ghp_" + "a1B2" * 9
    ran = phelix("session", "list", "--where", f"status={secret}", "--json")
    assert ran.code == 2
    assert secret not in ran.out.decode()
    assert secret not in ran.err
