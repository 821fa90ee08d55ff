"""`inspect` and `context`: the truth from records and a live look, and not a byte changed by either."""

import os
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from phelix_core.arc.operations import begun
from phelix_core.checks import Surface
from phelix_core.commands.arc.inspecting import RESOURCES
from phelix_core.commands.environment import Environment
from phelix_core.frozen import changed
from phelix_core.processes import ProcessIdentity, identity_of
from phelix_core.strictjson import plain
from tests.core.arc.samples import sample_operation, sample_plan
from tests.core.arc.stage import declare
from tests.core.arc.test_planning import made
from tests.rig import FixedClock, bytes_of, did, environment, refused

HEALTHY = '\n[health]\ncommand = ["echo", "all well"]\n'


def seen(env: Environment, resource: str, app: str | None = None, **raw: object) -> dict[str, Any]:
    return plain(did(env, "inspect", resource=resource, **({"app": app} if app else {}), **raw))


@pytest.fixture
def deployed(env: Environment, data_dir: Path) -> str:
    """An application that was deployed once; the operation's id."""
    declare(data_dir, more=HEALTHY)
    return did(env, "plan apply", plan_id=made(env)["plan_id"]).operation_id


_LISTENERS: list[list[str]] = []


@cache
def _listen() -> None:
    """Hear of each file that is opened; the system knows no way to stop that again."""

    def heard(event: str, arguments: tuple[object, ...]) -> None:
        for listener in _LISTENERS if event == "open" else ():
            listener.append(str(arguments[0]))

    sys.addaudithook(heard)


@contextmanager
def opened(folder: Path) -> Generator[Counter[str]]:
    """How often each file below `folder` was opened meanwhile."""
    _listen()
    found, paths = Counter[str](), list[str]()
    _LISTENERS.append(paths)
    try:
        yield found
    finally:
        _LISTENERS.remove(paths)
        found.update(path.removeprefix(f"{folder}/") for path in paths if path.startswith(f"{folder}/"))


def under_way(env: Environment, applier: ProcessIdentity) -> str:
    """A later operation of the application that `applier` has begun, and not ended; its id."""
    operation = sample_operation(sample_plan("pln_00000000000000aa", "shop"), env.clock.now_ms() + 1)
    assert operation.process is not None
    process = changed(operation.process, applier=applier)
    operation = changed(begun(operation, operation.created_at_ms), process=process, pid=applier.pid)
    env.arc.add_operation(operation)
    return operation.id


def stamps(folder: Path) -> dict[str, tuple[int, int, int]]:
    return {str(path): (s.st_mtime_ns, s.st_size, s.st_ino) for path in folder.rglob("*") for s in [path.stat()]}


@pytest.mark.usefixtures("deployed")
def test_no_look_changes_a_file_or_a_moment_of_one(env: Environment, data_dir: Path) -> None:
    before = bytes_of(data_dir), stamps(data_dir)
    for resource in RESOURCES:
        seen(env, resource, "shop")
    did(env, "context", app="shop")
    did(env, "context")
    did(env, "operation list")
    assert (bytes_of(data_dir), stamps(data_dir)) == before


def test_an_empty_data_directory_is_told_as_what_it_is_and_is_not_made(env: Environment, data_dir: Path) -> None:
    assert seen(env, "project")["applications"] == []
    assert seen(env, "config")["policy"] == {"state": "absent"}
    assert plain(did(env, "context"))["operations"]["count"] == 0
    for resource in ("app", "deployment", "versions", "health"):
        assert refused(env, "inspect", resource=resource, app="shop")["code"] == "NOT_FOUND"
        nothing = refused(env, "inspect", resource=resource)
        assert (nothing["code"], "none is declared yet" in nothing["message"]) == ("INVALID_ARGUMENT", True)
    assert not data_dir.exists()


def test_a_deployment_is_known_through_its_operation_and_else_unknown_and_never_missing(
    env: Environment, data_dir: Path, deployed: str
) -> None:
    found = seen(env, "deployment", "shop")
    assert (found["status"], found["source"], found["operation_id"]) == ("succeeded", "operations", deployed)
    assert (found["version"], found["from_version"], found["under_way"]) == ("1.4.0", "1.3.0", None)
    assert seen(env, "deployment", found["deployment_id"]) == found
    other = seen(env, "deployment", "dep-00ff")
    assert (other["status"], other["source"], other["deployment_id"]) == ("unknown", "none", "dep-00ff")
    (data_dir / "ops" / f"{deployed}.json").unlink()
    lost = seen(env, "deployment", "shop")
    assert (lost["status"], lost["source"]) == ("unknown", "none")


@pytest.mark.usefixtures("deployed")
def test_an_application_is_told_with_what_its_operations_brought(env: Environment, data_dir: Path) -> None:
    app = seen(env, "app", "shop")
    assert (app["version"], app["current_version"], app["versions"]) == ("1.3.0", "1.4.0", 3)
    assert app["capabilities"] == ["deploy", "rollback", "health"]
    versions = seen(env, "versions", "shop", limit=2)
    assert (versions["current"], versions["available"], versions["truncated"]) == ("1.4.0", ["1.3.0", "1.4.0"], True)
    assert seen(env, "capabilities")["applications"] == seen(env, "project")["applications"]
    assert seen(env, "capabilities", "shop")["applications"][0]["name"] == "shop"
    (data_dir / "apps" / "bad").mkdir()
    (data_dir / "apps" / "bad" / "app.toml").write_text("[")
    assert seen(env, "project")["unreadable"] == [{"file": "bad/app.toml", "code": "INVALID_ARGUMENT"}]


@pytest.mark.usefixtures("deployed")
def test_health_is_looked_at_anew_each_time(env: Environment, data_dir: Path) -> None:
    found = seen(env, "health", "shop")
    assert (found["status"], found["source"]) == ("healthy", "command")
    assert found["checks"] == [{"name": "command", "status": "healthy", "detail": "all well"}]
    declare(data_dir, more='\n[health]\ncommand = ["sh", "-c", "echo disk full; exit 4"]\n')
    [check] = seen(env, "health", "shop")["checks"]
    assert check == {
        "name": "command",
        "status": "unhealthy",
        "detail": "the check ended with exit status 4: disk full",
    }
    declare(data_dir)
    assert seen(env, "health", "shop")["status"] == "unknown"


def test_a_context_holds_every_topic_and_says_what_it_left_out(env: Environment, deployed: str) -> None:
    whole = plain(did(env, "context", app="shop", versions=2, operations=1, log_lines=1))
    assert list(whole) == [
        "project", "runtime", "config", "application", "deployment", "versions", "health", "capabilities",
        "operations", "logs", "truncated",
    ]  # fmt: skip
    assert whole["logs"] == {"operation_id": deployed, "lines": ["did 1.4.0"]}
    assert whole["truncated"] is True
    assert list(plain(did(env, "context"))) == [
        "project", "runtime", "config", "capabilities", "operations", "truncated",
    ]  # fmt: skip
    for member, value in (("versions", 101), ("operations", 101), ("log_lines", 1_001), ("versions", 0)):
        assert refused(env, "context", app="shop", **{member: value})["code"] == "INVALID_ARGUMENT", member


def test_operations_are_listed_by_application_with_limits_and_bad_files_are_named(
    env: Environment, data_dir: Path, clock: FixedClock, deployed: str
) -> None:
    (data_dir / "ops" / "op_00000000000000ff.json").write_text("{}")
    for told in (seen(env, "operations"), plain(did(env, "operation list"))):
        assert [(one["id"], one["source"]) for one in told["operations"]] == [(deployed, "persisted")]
        assert told["unreadable"] == [{"file": "op_00000000000000ff.json", "code": "OPERATION_CORRUPT"}]
    assert seen(env, "operations", "other")["count"] == 0
    assert refused(environment(data_dir, clock, Surface.MCP), "inspect", resource="operations", limit=101)["code"] == (
        "INVALID_ARGUMENT"
    )


@pytest.mark.parametrize("app", ["../shop", "Shop", "dep-", "\x1b[31m", "x" * 129])
def test_a_name_that_is_none_is_refused_before_any_file_is_looked_for(env: Environment, app: str) -> None:
    for resource in ("app", "deployment", "versions", "health"):
        assert refused(env, "inspect", resource=resource, app=app)["code"] in ("NOT_FOUND", "INVALID_ARGUMENT")


@pytest.mark.usefixtures("deployed")
def test_an_apply_under_way_is_told_and_one_whose_processes_are_gone_is_indeterminate(
    env: Environment, data_dir: Path
) -> None:
    me = identity_of(os.getpid(), env.clock.boot())
    assert me is not None
    operation = under_way(env, me)
    lock = data_dir / "ops" / "locks" / "shop.lock"
    with lock.open("a"):
        found = seen(env, "deployment", "shop")
        assert (found["status"], found["operation_id"]) == ("running", operation)
        assert found["under_way"] == {"operation_id": operation, "status": "running"}
    before = bytes_of(data_dir)
    found = seen(env, "deployment", "shop")
    assert (found["status"], found["source"], found["under_way"]) == ("indeterminate", "operations", None)
    [told, *_] = seen(env, "operations", "shop")["operations"]
    assert (told["id"], told["status"], told["source"]) == (operation, "indeterminate", "derived")
    assert bytes_of(data_dir) == before


def test_a_context_opens_every_file_at_most_once(env: Environment, data_dir: Path, deployed: str) -> None:
    (data_dir / "apps" / "other").mkdir()
    (data_dir / "apps" / "other" / "app.toml").write_text('name = "other"\n')
    for app in ("shop", None):
        with opened(data_dir) as files:
            did(env, "context", **({"app": app} if app else {}))
        assert [file for file, times in files.items() if times > 1 and "." in file] == []
        assert {f"ops/{deployed}.json", "apps/shop/app.toml", "apps/other/app.toml"} <= set(files)
        assert (f"ops/{deployed}.log" in files) is (app is not None)
    with opened(data_dir) as twice:
        did(env, "context")
        did(env, "context")
    assert twice["apps/shop/app.toml"] == 2, "who would read it twice is found out"


def test_what_stands_in_the_place_of_a_log_is_neither_followed_nor_waited_for(
    env: Environment, data_dir: Path, tmp_path: Path, deployed: str
) -> None:
    log = data_dir / "ops" / f"{deployed}.log"
    (tmp_path / "elsewhere").write_text("of another\n")
    for put in (lambda: log.symlink_to(tmp_path / "elsewhere"), lambda: os.mkfifo(log), log.mkdir):
        log.unlink()
        put()
        assert plain(did(env, "context", app="shop"))["logs"] == {"operation_id": deployed, "lines": []}
        if log.is_dir():
            log.rmdir()
            log.touch()


def test_a_log_is_told_by_its_last_lines_and_not_without_end(env: Environment, data_dir: Path, deployed: str) -> None:
    log = data_dir / "ops" / f"{deployed}.log"
    log.write_text("".join(f"line {number} \x1b[31m\u202e\n" for number in range(50_000)))
    lines = plain(did(env, "context", app="shop", log_lines=2))["logs"]["lines"]
    assert lines == ["line 49998 \x1b[31m\u202e", "line 49999 \x1b[31m\u202e"]
    assert len(plain(did(env, "context", app="shop"))["logs"]["lines"]) == 100
    log.write_text(f"{'x' * 1_000_000}\nlast\n")
    assert plain(did(env, "context", app="shop"))["logs"]["lines"] == ["last"]
    assert "logs" not in plain(did(env, "context", app="shop", log_lines=0))


@pytest.mark.usefixtures("deployed")
def test_a_project_names_every_record_that_it_could_not_read(env: Environment, data_dir: Path) -> None:
    (data_dir / "plans" / "pln_00000000000000ff.json").write_text("{}")
    (data_dir / "ops" / "op_00000000000000ff.json").write_text("{}")
    project = seen(env, "project")
    assert (project["plans"], project["operations"]) == (1, 1)
    assert [one["file"] for one in project["unreadable"]] == ["pln_00000000000000ff.json", "op_00000000000000ff.json"]


@pytest.mark.usefixtures("deployed")
def test_an_application_whose_file_cannot_be_used_says_so_and_its_deployment_is_known_all_the_same(
    env: Environment, data_dir: Path
) -> None:
    file = data_dir / "apps" / "shop" / "app.toml"
    file.write_text("name = 1")
    for resource in ("app", "versions", "health"):
        error = refused(env, "inspect", resource=resource, app="shop")
        assert (error["code"], error["details"]["file"]) == ("INVALID_ARGUMENT", "apps/shop/app.toml"), resource
    assert refused(env, "context", app="shop")["code"] == "INVALID_ARGUMENT"
    assert seen(env, "deployment", "shop")["version"] == "1.4.0"
    file.unlink()
    assert seen(env, "deployment", "shop")["version"] == "1.4.0"
    assert refused(env, "context", app="shop")["code"] == "NOT_FOUND"


def test_runtime_and_settings_hold_no_variable_of_the_environment(
    env: Environment, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_VARIABLE", "only-in-the-environment")
    declare(data_dir, more='\n[health]\ncommand = ["true"]\nenvironment = ["SHOP_VARIABLE"]\n')
    everything = repr([plain(did(env, "context", app="shop")), seen(env, "app", "shop")])
    assert "SHOP_VARIABLE" in everything
    assert "only-in-the-environment" not in everything
