"""Hostile text, files and bytes in plans, approvals, operations and applications, and secrets in them.

What a command prints while it runs, and what becomes of what it leaves, is tried in `tests/core/arc`.
"""

import json
import os
import pty
import subprocess
from collections.abc import Callable
from pathlib import Path
from shutil import copytree, rmtree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phelix_core.arc.applications import VERSION_MARK
from phelix_core.arc.model import Precondition, plan_document
from phelix_core.checks import Surface
from phelix_core.cli.main import main
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.strictjson import dumps
from tests.canaries import CANARIES, IDS, Canary, found_in, found_under
from tests.contract.guide_works import executions, planned, works
from tests.core.arc.stage import declare
from tests.rig import PHELIX, FixedClock, Phelix, bytes_of, did, environment
from tests.surfaces.arc_fleet import KNOWN, fill

ESCAPES = "\x1b]52;c;aGk=\x07\x1b[2J\x9b31m\u202eevil\u200b"
STEERING = {"\x1b", "\x07", "\x9b", "\u202e", "\u200b"}
PLAN, OPERATION = "pln_00000000000000aa", "op_00000000000000aa"
LOOKS: list[tuple[str, dict[str, object]]] = [
    ("plan show", {"plan_id": KNOWN["done"]}), ("plan show", {"plan_id": KNOWN["approved"]}), ("plan list", {}),
    ("authz check", {"plan_id": KNOWN["approved"]}), ("authz list", {}),
    ("operation status", {"operation_id": KNOWN["succeeded"], "log_lines": 9}), ("operation list", {}),
    ("inspect", {"resource": "project"}), ("inspect", {"resource": "app", "app": "shop"}),
    ("inspect", {"resource": "deployment", "app": "shop"}), ("inspect", {"resource": "config"}),
    ("context", {"app": "shop"}), ("plan apply", {"plan_id": KNOWN["approved"]}),
]  # fmt: skip
"""Every way to look at the fleet; the last one with what applying would do."""
FILES = {
    "plan": f"plans/{KNOWN['approved']}.json",
    "operation": f"ops/{KNOWN['succeeded']}.json",
    "log": f"ops/{KNOWN['succeeded']}.log",
    "approval": f"authz/approvals/{KNOWN['approved']}.json",
    "policy": "authz/policy.json",
    "application": "apps/shop/app.toml",
}
CODES = {
    "NOT_FOUND", "INVALID_ARGUMENT", "PLAN_CORRUPT", "PLAN_INVALID", "PLAN_HASH_MISMATCH", "PLAN_STALE",
    "PLAN_CAPABILITY_MISSING", "OPERATION_CORRUPT", "AUTHZ_INVALID", "AUTHZ_UNAVAILABLE", "AUTHZ_DENIED",
    "APPROVAL_REQUIRED", "APPROVAL_STALE", "APPROVAL_INVALID",
}  # fmt: skip

Say = Callable[..., str]


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fleet, for many examples to look at."""
    data_dir = tmp_path_factory.mktemp("arena") / "data"
    fill(data_dir)
    return data_dir


@pytest.fixture
def say(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> Say:
    """`say(*argv)` runs the command line in this process; answers all that it said."""

    def said(*argv: str) -> str:
        capsys.readouterr()
        main([*argv, "--data-dir", str(data_dir)])
        out, err = capsys.readouterr()
        assert "INTERNAL" not in err, (argv, err)
        return out + err

    return said


# Text


def hostile_plan(data_dir: Path, text: str) -> Path:
    """A plan of another tool, whole under its hash, with `text` wherever there can be one."""
    document = plan_document(
        PLAN,
        text,
        1,
        action=text,
        target={"language": text, text: text},
        inputs={"version": text, "reason": text, text: [text]},
        execution={"argv": [text, text], "folder": text, "environment": [text], text: {text: text}},
        preconditions=(Precondition(type=text, expected=text, source=text),),
        capabilities=(text,),
    )
    file = data_dir / "plans" / f"{PLAN}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(dumps(document))
    return file


def hostile_operation(data_dir: Path, text: str) -> Path:
    """An operation of another tool with `text` wherever there can be one."""
    file = data_dir / "ops" / f"{OPERATION}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    told = {
        "schema_version": "1", "id": OPERATION, "kind": text, "app": text, "status": "failed", "request_key": text,
        "deployment_id": text, "plan_id": text, "plan_hash": text, "created_at_ms": 1, "updated_at_ms": 2,
        "finished_at_ms": 3, "result": {"version": text, "from_version": text, "verification": {"status": text}},
        "error": {"code": text, "message": text}, "actor": {"type": text, "id": text, "authenticated": False},
        text: text,
    }  # fmt: skip
    file.write_text(dumps(told))
    file.with_suffix(".log").write_text(f"{text}\n{text}\n")
    return file


PAGES = [
    ["plan", "show", PLAN], ["plan", "list"], ["plan", "apply", PLAN], ["plan", "apply", PLAN, "--dry-run"],
    ["authz", "check", PLAN], ["authz", "approve", PLAN], ["authz", "approve", PLAN, "--dry-run"], ["authz", "list"],
    ["operation", "status", OPERATION, "--log-lines", "20"], ["operation", "list"], ["operation", "cancel", OPERATION],
    ["inspect", "operations"], ["inspect", "project"], ["context"],
]  # fmt: skip


def test_what_would_steer_a_terminal_in_anothers_plan_or_operation_is_shown_inert_and_kept_exact_in_json(
    say: Say, data_dir: Path
) -> None:
    hostile_plan(data_dir, ESCAPES)
    hostile_operation(data_dir, ESCAPES)
    for argv in PAGES:
        assert not STEERING & set(say(*argv)), argv
    assert "evil" in say("plan", "list") + say("operation", "list")
    assert json.loads(say("plan", "show", PLAN, "--json"))["result"]["inputs"]["reason"] == ESCAPES
    told = json.loads(say("operation", "status", OPERATION, "--log-lines", "9", "--json"))["result"]
    assert (told["kind"], told["log"]) == (ESCAPES, [ESCAPES, ESCAPES])


def test_what_would_steer_a_terminal_in_a_reason_or_a_declared_command_is_shown_inert(say: Say, data_dir: Path) -> None:
    file = declare(data_dir)
    argv = json.dumps(["sh", "-c", f"echo did; : {ESCAPES}", VERSION_MARK])
    command = file.read_text().replace('["sh", "-c", "echo did $0", "{version}"]', argv)
    file.write_text(command)
    made = say("plan", "create", "deploy", "shop", "--to=1.4.0", f"--reason={ESCAPES}")
    assert "evil" in made
    [plan] = json.loads(say("plan", "list", "--json"))["result"]["plans"]
    assert plan["inputs"]["reason"] == ESCAPES
    lines = (
        ["plan", "show"], ["plan", "apply", "--dry-run"], ["authz", "approve", "--dry-run"], ["authz", "approve"],
        ["authz", "check"], ["plan", "apply"], ["plan", "apply"],
    )  # fmt: skip
    said = [made, *(say(*words[:2], plan["plan_id"], *words[2:]) for words in lines)]
    said += [say("plan", "list"), say("inspect", "app", "shop"), say("context", "shop"), say("authz", "list")]
    assert not STEERING & set("".join(said))


def test_what_a_command_prints_reaches_a_terminal_line_by_line_and_inert(phelix: Phelix, data_dir: Path) -> None:
    works(data_dir, r"printf '\033]52;c;aGk=\007\033[2Jfirst\nsecond\n[bold]third[/]\n'")
    plan_id = planned(phelix)
    controller, terminal = pty.openpty()
    with subprocess.Popen(
        [PHELIX, "plan", "apply", plan_id],
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=terminal,
        env={**phelix.environ, "TERM": "xterm-256color", "COLUMNS": "120"},
    ) as process:
        os.close(terminal)
        seen = b""
        while True:
            try:
                more = os.read(controller, 65_536)
            except OSError:
                break
            if not more:
                break
            seen += more
    os.close(controller)
    assert process.returncode == 0
    for hazard in (b"\x1b]52", b"\x1b[2J", b"\x07"):
        assert hazard not in seen
    assert [word in seen for word in (b"first", b"second\r\n", b"[bold]third[/]")] == [True] * 3
    assert executions(data_dir) == 1


@pytest.mark.parametrize("canary", CANARIES, ids=IDS)
def test_anothers_plan_and_operation_are_shown_to_people_without_the_secret_and_kept_exact_in_json(
    say: Say, data_dir: Path, canary: Canary
) -> None:
    kept = (hostile_plan(data_dir, canary.text), hostile_operation(data_dir, canary.text))
    for argv in PAGES:
        assert not found_in(say(*argv)), argv
    for argv in (["plan", "apply", PLAN], ["authz", "approve", PLAN], ["operation", "cancel", OPERATION]):
        assert not found_in(say(*argv, "--json")), argv
    assert found_in(say("plan", "show", PLAN, "--json")) == [canary.kind]
    assert found_in(say("operation", "status", OPERATION, "--json")) == [canary.kind]
    assert found_under(data_dir, (*kept, kept[1].with_suffix(".log"))) == {}


DECLARED: dict[str, tuple[str, str]] = {
    "argument": ('"{version}"]', '"{version}", @]'),
    "value for a number": ("time_limit_seconds = 30", "time_limit_seconds = @"),
    "folder": ("time_limit_seconds = 30", "folder = @"),
    "key": ("time_limit_seconds = 30", "@ = 30"),
    "table": ("[rollback]", "[@]"),
    "name": ('name = "shop"', "name = @"),
    "address": ("[rollback]", "[health]\nurl = @\n[rollback]"),
    "other text": ('name = "shop"', "@"),
}
OTHER_TEXTS: dict[str, tuple[str, str]] = {
    "language": ('"python"', "@"),
    "variable": ("time_limit_seconds = 30", "environment = [@]"),
    "version": ('"1.4.0"', "@"),
    "path of an address": ("[rollback]", '[health]\nurl = "http://localhost/@"\n[rollback]'),
}


def told_of_declaration(say: Say, data_dir: Path, canary: Canary, places: dict[str, tuple[str, str]]) -> list[str]:
    """Where in a declaration the secret would have to be for some answer to tell it."""
    file = declare(data_dir)
    good, found = file.read_text(), list[str]()
    for name, (before, after) in places.items():
        quoted = canary.text if '"@' in after or '/@"' in after else json.dumps(canary.text)
        file.write_text(good.replace(before, after.replace("@", quoted), 1))
        said = [
            say(*argv, *as_json)
            for argv in (
                ["plan", "create", "deploy", "shop", "--to=1.3.0"], ["inspect", "app", "shop"], ["inspect", "project"],
                ["inspect", "versions", "shop"], ["context", "shop"], ["doctor"],
            )
            for as_json in ([], ["--json"])
        ]  # fmt: skip
        found += [name] if found_in("".join(said)) or found_under(data_dir, (file,)) else []
        rmtree(data_dir / "plans", ignore_errors=True)
    return found


@pytest.mark.parametrize("canary", CANARIES, ids=IDS)
def test_a_declaration_that_holds_a_secret_is_refused_and_not_told(say: Say, data_dir: Path, canary: Canary) -> None:
    assert told_of_declaration(say, data_dir, canary, DECLARED) == []


def test_no_text_of_a_declaration_may_be_a_secret(say: Say, data_dir: Path) -> None:
    assert [told_of_declaration(say, data_dir, canary, OTHER_TEXTS) for canary in CANARIES[:3]] == [[], [], []]


@pytest.mark.parametrize("canary", CANARIES, ids=IDS)
def test_a_policy_or_an_approval_that_holds_a_secret_is_refused_and_not_told(
    say: Say, data_dir: Path, canary: Canary
) -> None:
    fill(data_dir)
    quoted = json.dumps(canary.text)
    rule = {"actor": {"type": "*", "authenticated": False}, "action": "*", "target": "*", "effect": "allow"}
    policy, approval = data_dir / "authz" / "policy.json", data_dir / FILES["approval"]
    given = json.loads(approval.read_bytes())
    for text in (
        canary.text, f"{{{quoted}: 1}}", dumps({"schema_version": "1", "mode": canary.text, "rules": []}),
        dumps({"schema_version": "1", "rules": [rule | {"action": canary.text}]}),
        dumps({"schema_version": "1", "rules": [rule | {canary.text: 1}]}),
        dumps({"schema_version": "1", "rules": [rule | {"target": f"{canary.text}*"}]}),
    ):  # fmt: skip
        policy.write_text(text)
        approval.write_text(dumps(given | {"approver_provenance": canary.text}) if text == canary.text else text)
        for argv in (
            ["plan", "apply", KNOWN["approved"]], ["plan", "show", KNOWN["approved"]], ["plan", "list"],
            ["authz", "check", KNOWN["approved"]], ["authz", "list"], ["inspect", "config"], ["context", "shop"],
            ["authz", "revoke", "--dry-run", KNOWN["approved"]], ["doctor"],
        ):  # fmt: skip
            assert not found_in(say(*argv)), (argv, text)
    assert found_under(data_dir, (policy, approval)) == {}


# Files


def special(kind: str, path: Path) -> None:
    path.unlink()
    match kind:
        case "link to nothing":
            path.symlink_to("/nonexistent")
        case "link to a device":
            path.symlink_to("/dev/zero")
        case "FIFO":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case _:
            path.touch()
            os.truncate(path, 1 << 40)


@pytest.mark.parametrize("kind", ["link to nothing", "link to a device", "FIFO", "folder", "a sparse terabyte"])
@pytest.mark.parametrize("name", FILES)
def test_what_stands_in_place_of_a_record_is_neither_followed_nor_waited_for_and_lets_nobody_execute(
    tmp_path: Path, arena: Path, name: str, kind: str
) -> None:
    data_dir = tmp_path / "data"
    copytree(arena, data_dir)
    path = data_dir / FILES[name]
    special(kind, path)
    found = path.lstat()
    env = environment(data_dir, FixedClock(), Surface.CLI)
    for command, raw in LOOKS:
        error = run(load_command(command), raw, env, dry_run=command == "plan apply").error
        assert error is None or error.code in CODES, (command, error)
    applied = run(load_command("plan apply"), {"plan_id": KNOWN["approved"]}, env)
    assert (applied.error is None) is (name in {"operation", "log"}), applied
    assert (path.lstat().st_mode, path.lstat().st_mtime_ns) == (found.st_mode, found.st_mtime_ns)


# Bytes


def mutated(data: bytes, kind: int, at: int, value: int) -> bytes:
    """`data` with a byte changed or added, some cut out, its end cut off, repeated, or turned around."""
    head, tail = data[:at], data[at:]
    return [
        head + bytes([value]) + tail[1:],
        head + bytes([value]) + tail,
        head + tail[value % 16 + 1 :],
        head,
        data + tail,
        tail + head,
    ][kind]


@settings(max_examples=120)
@given(
    st.sampled_from(sorted(FILES)),
    st.integers(0, 5),
    st.integers(0, 10_000),
    st.integers(0, 255) | st.sampled_from(list(b'{}[]",:\\0123456789-eENtfn=#')),
)
def test_no_bytes_of_any_record_raise_and_no_look_at_them_changes_one(
    arena: Path, name: str, kind: int, at: int, value: int
) -> None:
    path = arena / FILES[name]
    whole = path.read_bytes()
    try:
        path.write_bytes(mutated(whole, kind, at % len(whole), value))
        before = bytes_of(arena)
        env = environment(arena, FixedClock(), Surface.CLI)
        for command, raw in LOOKS:
            error = run(load_command(command), raw, env, dry_run=command == "plan apply").error
            assert error is None or error.code in CODES, (command, error)
        assert bytes_of(arena) == before
    finally:
        path.write_bytes(whole)


def test_a_reading_of_the_whole_fleet_succeeds(arena: Path) -> None:
    """The control: what is refused above is refused for what was done to it."""
    env = environment(arena, FixedClock(), Surface.CLI)
    for command, raw in LOOKS[:-1]:
        did(env, command, **raw)
    assert run(load_command("plan apply"), LOOKS[-1][1], env, dry_run=True).error is None
