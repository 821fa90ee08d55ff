"""One declaration, three surfaces: each command through each of them stores and answers the same."""

import atexit
import fcntl
import json
import re
import sqlite3
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory
from typing import Any, cast

import pytest
from pydantic import TypeAdapter, ValidationError

from phelix_core import errors
from phelix_core.checks import Surface
from phelix_core.commands.arc.inspecting import RESOURCES
from phelix_core.commands.environment import Environment, open_environment
from phelix_core.commands.registry import CATALOGUE, Command, Effect, load_command, validate
from phelix_core.commands.run import run
from phelix_core.errors import Cancelled, Interrupted, InvalidArgument, PhelixError
from phelix_core.settings import Settings, load_settings
from phelix_core.strictjson import JsonRefused, dumps, loads, plain
from tests.core.queue.foreign import as_agents_left_it
from tests.rig import FixedClock, Phelix, bytes_of, did, environment
from tests.surfaces import arc_fleet, queue_fleet
from tests.surfaces.arc_fleet import ARC_REFUSED, ARC_STORED
from tests.surfaces.queue_fleet import LEAST, QUEUE_REFUSED, QUEUE_STORED
from tests.surfaces.schema_reader import KEYWORDS, TYPES, faults, parts

COMMANDS = {name: load_command(name) for name in CATALOGUE}
ID = "ses_0000000000000001"
CLOSED = "ses_0000000000000002"
ABSENT = "ses_00000000000000ff"
STORED: dict[str, dict[str, Any]] = {
    "session create": {"title": "ship", "project": "northwind", "app": "billing"},
    "session show": {"session_id": ID},
    "session list": {"status": "active", "app": "billing", "limit": 5},
    "session checkpoint": {"session_id": ID, "step": "deploy", "note": "10%", "deployments": ["dep-1", "dep-2"]},
    "session complete": {"session_id": ID, "result": "done", "deployments": ["dep-1"]},
    "session fail": {"session_id": ID, "reason": "broke"},
    "session cancel": {"session_id": ID, "reason": "superseded"},
    "session prune": {"keep": 0, "older_than": "1d"},
    "view save": {"name": "late", "where": "app=billing age>2h", "title": "late billing"},
    "view list": {},
    "view show": {"name": "kept"},
    "view remove": {"name": "kept"},
    "doctor": {},
    "mcp config": {"host": "codex", "server": "lifecycle"},
    "schema": {"words": ["session", "create"]},
    **QUEUE_STORED,
    **ARC_STORED,
}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "session create": ({"title": "x" * 201}, "INVALID_ARGUMENT"),
    "session show": ({"session_id": ABSENT}, "NOT_FOUND"),
    "session list": ({"status": "paused"}, "INVALID_ARGUMENT"),
    "session checkpoint": ({"session_id": ID}, "INVALID_ARGUMENT"),
    "session complete": ({"session_id": CLOSED}, "SESSION_INVALID_TRANSITION"),
    "session fail": ({"session_id": ID, "plans": ["pln_0000000000000001"]}, "INVALID_ARGUMENT"),
    "session cancel": ({"session_id": "x"}, "INVALID_ARGUMENT"),
    "session prune": ({"keep": -1, "older_than": "1d"}, "INVALID_ARGUMENT"),
    "view save": ({"name": "kept", "where": "app=search"}, "ALREADY_EXISTS"),
    "view show": ({"name": "absent"}, "NOT_FOUND"),
    "view remove": ({"name": "../sessions/x"}, "INVALID_ARGUMENT"),
    "schema": ({"words": ["nope"]}, "NOT_FOUND"),
    **QUEUE_REFUSED,
    **ARC_REFUSED,
}


def argv_of(command: Command, raw: dict[str, Any], folder: Path) -> list[str]:
    """The words that ask for `raw` on the command line; what goes in as a file's content is written in `folder`."""
    words = command.name.split()
    for field in command.fields(Surface.CLI):
        if field.name not in raw:
            continue
        for given in raw[field.name] if field.many else [raw[field.name]]:
            value = given
            if field.file_cap is not None:
                value = folder / f"{field.name}.json"
                value.write_text(given)
            words += [str(value)] if field.positional else [f"{field.option}={value}"]
    return words


def fleet(data_dir: Path, name: str = "") -> Environment:
    """The command line's environment over one active and one closed session, from long ago.

    There is a queue as well where the command `name` is about one, and an application with its plans.
    """
    about = "queue" if name.startswith("queue ") else "arc" if name in ARC_STORED else ""
    copytree(filled(about), data_dir)
    env = environment(data_dir, FixedClock(1_000))
    for _ in range(2):  # the sessions took the first ids
        env.mint()
    return env


@cache
def filled(about: str) -> Path:
    """A data directory to copy: made once a process, gone with it."""
    folder = TemporaryDirectory()
    atexit.register(folder.cleanup)
    data_dir = Path(folder.name) / "data"
    env = environment(data_dir, FixedClock(1_000))
    if about == "queue":
        queue_fleet.fill(data_dir)
    if about == "arc":
        arc_fleet.fill(data_dir)
    did(env, "session create", title="first", app="billing")
    did(env, "session create", title="second")
    did(env, "session complete", session_id=CLOSED)
    did(env, "view save", name="kept", where="app=billing is:active")
    return data_dir


def provenance_aside(value: Any) -> Any:
    """A value without what rightly differs between surfaces: who, through what, when, and which fresh id."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value).items()
        return {
            name: "…" if name in WHO or name.endswith(VARYING) else provenance_aside(member) for name, member in members
        }
    if isinstance(value, list):
        return [provenance_aside(item) for item in cast("list[Any]", value)]
    return FRESH.sub("…", value) if isinstance(value, str) else value


WHO = {"via", "actor", "at", "actor_type", "actor_provenance", "approver_provenance", "pid", "process", "boot_id"}
VARYING = ("_ms", "At", "_at", "_mono", "Ms", "dbPath", "data_dir")
"""How the names of members end that hold a time, a duration or a place."""
FRESH = re.compile(
    "(ses|pln|azd|apr)_(?!0{12}2)[0-9a-f]{16}|[A-Z]+-[0-9a-f]{16}|dep-[0-9a-f]{24}"
    "|(?<=through )(cli|mcp|tui)|.*(?=/queue.db)"
)
"""Ids that the fleet does not hold, the name of a surface in a sentence, and the folder of the queue."""
TABLES = ("issues", "leases", "runs", "checkpoints", "artifacts", "campaigns", "milestones", "events", "projects")


def queued(data_dir: Path) -> list[object]:
    """Every row of the queue, provenance aside; members of the journal that hold JSON are read."""
    if not (data_dir / "queue.db").exists():
        return []
    db = sqlite3.connect(data_dir / "queue.db")
    db.row_factory = sqlite3.Row
    rows: list[object] = []
    for table in TABLES:
        for row in db.execute(f"SELECT * FROM {table}"):
            members = {name: value for name, value in dict(row).items() if name not in {"changes", "boot"}}
            if table == "events":
                members["payload"] = loads(members["payload"].encode())
            rows.append((table, provenance_aside(members)))
    db.close()
    return sorted(rows, key=str)


def timeless() -> FixedClock:
    """A clock on a boot that is not told, as the one that the queue was made by."""
    clock = FixedClock()
    clock.boot_id = ""
    return clock


def undisturbed(data_dir: Path) -> object:
    """What a refusal must leave alone: every byte, but of the files that stand beside a database."""
    files = {name: data for name, data in bytes_of(data_dir).items() if not name.startswith("queue.db-")}
    return files, queued(data_dir)


def stored(data_dir: Path) -> list[object]:
    """Every record there is, provenance aside, every saved view, every log, and every row of the queue."""
    records = [
        provenance_aside(loads(path.read_bytes()))
        for pattern in ("sessions/ses_*.json", "plans/*.json", "ops/*.json", "authz/approvals/*.json")
        for path in data_dir.glob(pattern)
    ]
    decided = data_dir / "authz" / "decisions.jsonl"
    lines = decided.read_bytes().splitlines() if decided.exists() else []
    plain_files = [*data_dir.glob("views/*.toml"), *data_dir.glob("ops/*.log")]
    others = [provenance_aside(loads(line)) for line in lines] + [
        (path.name, path.read_bytes()) for path in plain_files
    ]
    return [*sorted([*records, *others], key=str), *queued(data_dir)]


def settled(data_dir: Path) -> None:
    """Wait until nobody applies any more: what the console has begun goes on without it."""
    for lock in data_dir.glob("ops/locks/*.lock"):
        with lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)


def told(answer: Any) -> Any:
    """A result provenance aside; what a doctor sees of its own process and folder differs rightly too."""
    if "findings" in answer:
        return [(finding["check"], finding["state"]) for finding in answer["findings"]]
    return provenance_aside(answer)


@pytest.mark.parametrize("name", STORED)
def test_every_surface_stores_and_answers_the_same(tmp_path: Path, name: str) -> None:
    command, raw = COMMANDS[name], STORED[name]
    answers: dict[str, tuple[object, object]] = {}
    fleet(tmp_path / "cli", name)
    ran = Phelix(tmp_path / "cli", tmp_path)(*argv_of(command, raw, tmp_path), "--json")
    answers["cli"] = (told(ran.result), stored(tmp_path / "cli"))
    for surface in command.surfaces - {Surface.CLI}:
        data_dir = tmp_path / surface.value
        fleet(data_dir, name)
        env = environment(data_dir, timeless(), surface)
        if name in {"session create", "queue claim", "queue advance"}:  # the fleet took the first ids
            env.mint()
            env.mint()
        if name == "plan apply" and surface is Surface.TUI:  # which answers as soon as a process of its own has begun
            env = open_environment(Settings(data_dir=str(data_dir)), surface)
            did(env, name, **raw)
            settled(data_dir)
            answer = plain(did(env, name, **raw)) | {"already_applied": False}
        else:
            answer = plain(did(env, name, **raw))
        answers[surface.value] = (told(answer), stored(data_dir))
    first = answers.pop("cli")
    for surface, answer in answers.items():
        assert answer == first, surface


@pytest.mark.parametrize("name", REFUSED)
def test_every_surface_refuses_with_the_same_words_and_changes_nothing(tmp_path: Path, name: str) -> None:
    command, (raw, code) = COMMANDS[name], REFUSED[name]
    data_dir = tmp_path / "data"
    fleet(data_dir, name)
    before = undisturbed(data_dir)
    ran = Phelix(data_dir, tmp_path)(*argv_of(command, raw, tmp_path), "--json")
    assert ran.error["code"] == code
    for surface in command.surfaces - {Surface.CLI}:
        env = environment(data_dir, timeless(), surface)
        if name == "plan apply" and surface is Surface.TUI:  # which waits for a process, by a clock that moves
            env = open_environment(Settings(data_dir=str(data_dir)), surface)
        assert plain(run(command, raw, env).failure()) == ran.error
    assert undisturbed(data_dir) == before


@pytest.mark.parametrize("name", [name for name in STORED if COMMANDS[name].effect is Effect.WRITE])
def test_a_dry_run_and_a_read_only_environment_write_nothing_whatever_the_surface(tmp_path: Path, name: str) -> None:
    command, data_dir = COMMANDS[name], tmp_path / "data"
    raw = STORED[name] | ({"fix": True} if name == "doctor" else {})
    fleet(data_dir, name)
    before = undisturbed(data_dir)
    for surface in command.surfaces:
        shown = run(command, raw, environment(data_dir, timeless(), surface), dry_run=True)
        assert shown.error is None
        assert re.fullmatch("sha256:[0-9a-f]{64}", plain(shown.result)["digest"])
        refusal = run(command, raw, environment(data_dir, timeless(), surface, read_only=True)).error
        assert refusal is not None
        assert refusal.code == "READ_ONLY"
        assert undisturbed(data_dir) == before


@pytest.mark.parametrize("name", [name for name in ARC_STORED if COMMANDS[name].effect is Effect.WRITE])
def test_what_a_dry_run_showed_is_done_under_its_digest_and_nothing_under_another(tmp_path: Path, name: str) -> None:
    command, raw = COMMANDS[name], STORED[name]
    for surface in command.surfaces:
        data_dir = tmp_path / surface.value
        fleet(data_dir, name)
        env = open_environment(Settings(data_dir=str(data_dir)), surface)
        digest = plain(run(command, raw, env, dry_run=True).result)["digest"]
        before = undisturbed(data_dir)
        other = run(command, raw, env, expect_digest=f"sha256:{'0' * 64}").error
        assert other is not None
        assert (other.code, other.details["digest"]) == ("SESSION_CONFLICT", digest)
        assert undisturbed(data_dir) == before
        assert run(command, raw, env, expect_digest=digest).error is None, surface
        settled(data_dir)


@pytest.mark.parametrize("name", [*STORED, "tui", "demo", "skill", "queue import", "completion"])
def test_each_surface_has_exactly_the_fields_that_are_declared_for_it(name: str) -> None:
    command = COMMANDS[name]
    everywhere = {field.name for field in command.fields(Surface.CLI)}
    live = {field.name for field in command.fields(Surface.TUI)} - everywhere
    assert live == ({"stamps"} if name == "session list" else set()), "what only a live view compares"
    assert everywhere <= {field.name for field in command.fields(Surface.TUI)}
    assert everywhere - {field.name for field in command.fields(Surface.MCP)} <= {
        "if_rev",
        "if_epoch",
        "where",
        "view",
        "check",
    }


def test_every_command_that_stores_is_tried_on_every_surface() -> None:
    untried = {name for name, command in COMMANDS.items() if command.effect is not Effect.PROGRAM} - STORED.keys()
    assert untried == {"demo", "skill", "queue import"}, "the command line's own: each takes a file or folder by name"
    assert all(COMMANDS[name].surfaces == {Surface.CLI} for name in untried)


# Envelope and streams


def lines_of(name: str, folder: Path) -> list[list[str]]:
    """The lines that a command is tried with: one that succeeds, one that a rule refuses where there is one, one that
    is no line at all. A program is started by none of them.
    """
    command, wrong = COMMANDS[name], [*name.split(), "--no-such-option"]
    if name in STORED:
        inputs = [STORED[name], *([REFUSED[name][0]] if name in REFUSED else [])]
        return [*(argv_of(command, raw, folder) for raw in inputs), wrong]
    named = {"demo": ["new-demo"], "skill": ["--host", "codex"], "queue import": ["old.sqlite"]}
    if name in named:
        if name == "queue import":
            as_agents_left_it(folder / "old.sqlite")
        return [[*name.split(), *named[name]], [*name.split(), *REFUSED_BY_NAME[name]], wrong]
    assert command.effect is Effect.PROGRAM
    return [wrong, [*name.split(), "one", "too", "many"]]


OF_AN_OPERATION = [["plan", "apply"], ["operation", "status"], ["operation", "cancel"]]
"""Only these answers stand for a durable operation, and name it."""
REFUSED_BY_NAME = {
    "demo": ["."],
    "skill": ["--install", "absent"],
    "queue import": ["absent.sqlite"],
}


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_command_keeps_the_rules_of_envelope_exit_status_and_streams(tmp_path: Path, name: str) -> None:
    """With `--json` one document on stdout, narration on stderr, and without it the same exit status."""
    folders = [tmp_path / "json", tmp_path / "text"]
    for folder in folders:
        folder.mkdir()
    tried = zip(*(lines_of(name, folder) for folder in folders), strict=True)
    for number, (for_json, for_text) in enumerate(tried):
        for folder in folders:
            fleet(folder / f"data{number}", name)
        as_json = Phelix(folders[0] / f"data{number}", tmp_path)(*for_json, "--json", cwd=folders[0])
        as_text = Phelix(folders[1] / f"data{number}", tmp_path)(*for_text, cwd=folders[1])
        assert as_json.code == as_text.code
        assert as_json.out.decode() == dumps(as_json.envelope) + "\n"
        standing_for = ["operation_id"] if for_json[:2] in OF_AN_OPERATION else []
        told_in = ["schema_version", *standing_for, "status", "error" if as_json.code else "result"]
        assert list(as_json.envelope) == [name for name in told_in if name in as_json.envelope]
        assert "operation_id" in as_json.envelope or not standing_for or as_json.code
        assert as_text.err == as_json.err
        if as_json.code:
            assert as_json.code == as_json.error["exit_code"]
            assert as_text.out == b"", "a failure leaves stdout empty without --json"
            assert as_text.err.startswith(f"{as_json.error['code']}: {as_json.error['message']}\n")
            assert list(as_json.error) == [
                key for key in ("code", "message", "exit_code", "retryable", "hint", "details") if key in as_json.error
            ]
        else:
            assert as_json.err == "", "a success needs no narration"
            assert as_text.out.strip()


TABLE = """
| 1 | `ALREADY_EXISTS` `FILESYSTEM_ERROR` `INTERNAL` `CANCELLED` `SESSION_CONFLICT`ʳ `STORE_BUSY`ʳ `OUTCOME_UNKNOWN`ʳ `UNAVAILABLE`ʳ `LEASE_CONFLICT` |
| 2 | `INVALID_ARGUMENT` |
| 3 | `SESSION_INVALID` `SESSION_CORRUPT` `SESSION_INVALID_TRANSITION` · `PLAN_INVALID` `PLAN_CORRUPT` `PLAN_HASH_MISMATCH` `PLAN_STALE` `PLAN_CAPABILITY_MISSING` `OPERATION_CORRUPT` · `QUEUE_INVALID_TRANSITION` `QUEUE_INCOMPATIBLE` `QUEUE_CORRUPT` `RECOVERY_REQUIRED` `LEASE_LOST` `NOTHING_READY` `ISSUE_NOT_CLAIMABLE` `HOST_MISMATCH` |
| 11 | `AUTHZ_DENIED` `AUTHZ_INVALID` `AUTHZ_UNAVAILABLE`ʳ `APPROVAL_REQUIRED` `APPROVAL_STALE` `APPROVAL_INVALID` `READ_ONLY` |
| 12 | `NOT_FOUND` |
| 21 | `DEPLOY_FAILED` `HEALTH_CHECK_FAILED`ʳ `DEPLOY_LOCKED`ʳ |
| 22 | `ROLLBACK_FAILED` |
| 60 | `TIMEOUT`ʳ |
"""  # noqa: E501 - the surfaces page's own table


def kinds(kind: type[PhelixError] = PhelixError) -> Iterator[type[PhelixError]]:
    for sub in kind.__subclasses__():
        if sub.__module__ == errors.__name__ and "code" in vars(sub):
            yield sub
        yield from kinds(sub)


def test_an_interrupt_has_the_code_of_what_is_cancelled_and_the_status_that_a_shell_expects() -> None:
    assert (Interrupted.code, Interrupted.exit_code, Interrupted().message) == (
        Cancelled.code,
        130,
        Cancelled().message,
    )
    others = {sub for kind in kinds() for sub in kind.__subclasses__() if "code" not in vars(sub)} - {Interrupted}
    assert {sub for sub in others if sub.__module__ == errors.__name__} == set(), "one class a code but for this"


def test_every_code_has_the_exit_status_and_retryability_of_the_table() -> None:
    table = {
        code: (int(exit_code), bool(retryable))
        for exit_code, codes in re.findall(r"^\| (\d+) \| (.*) \|$", TABLE, re.MULTILINE)
        for code, retryable in re.findall(r"`([A-Z_]+)`(ʳ?)", codes)
    }
    declared = {kind.code: (kind.exit_code, kind.retryable) for kind in kinds()}
    assert declared == table
    assert len(declared) == len(list(kinds())), "one class a code"


@pytest.mark.parametrize("kind", [*kinds()], ids=[kind.code for kind in kinds()])
def test_every_errors_default_message_is_its_docstring_and_its_place_in_the_tree_is_drawn(
    kind: type[PhelixError],
) -> None:
    assert kind().message == (kind.__doc__ or "").strip()
    assert kind().message.endswith(".")
    drawn = re.search(rf"exit {kind.exit_code} .*?\b{kind.__name__}\b( \(r\))?", errors.__doc__ or "", re.DOTALL)
    assert drawn
    assert bool(drawn[1]) is kind.retryable


# Schemas


@cache
def schema_of(name: str) -> Any:
    env = environment(Path("/nonexistent"), FixedClock())
    return did(env, "schema", words=name.split())


@pytest.mark.parametrize("name", CATALOGUE)
def test_each_schema_is_well_formed_and_says_nothing_that_no_reader_checks(name: str) -> None:
    drawn = schema_of(name)
    for root in (drawn["request"], drawn.get("result", {})):
        json.dumps(root, allow_nan=False)
        for part in parts(root):
            assert part.keys() <= KEYWORDS, part.keys() - KEYWORDS
            if "$ref" in part:
                assert part["$ref"].removeprefix("#/$defs/") in root["$defs"]
            assert part.get("type", "object") in TYPES
            if "properties" in part:
                assert set(part.get("required", [])) <= part["properties"].keys()
            if "pattern" in part:
                assert part["pattern"].startswith("^")
                assert part["pattern"].endswith("$")
                re.compile(part["pattern"])
    assert drawn["request"]["additionalProperties"] is False
    assert "actor" not in drawn["request"]["properties"]


@pytest.mark.parametrize("name", STORED)
def test_what_is_answered_fits_the_schema_of_the_result(tmp_path: Path, name: str) -> None:
    env = fleet(tmp_path / "data", name)
    raw = {} if name == "session list" else STORED[name]
    if name.startswith("queue "):
        env = environment(tmp_path / "data", timeless())
    answer = plain(did(env, name, **raw))
    root = schema_of(name)["result"]
    assert faults(root, answer, root) == []
    if name != "schema":
        assert faults(root, {}, root), "a schema that takes anything tells nothing"


@pytest.mark.parametrize("resource", RESOURCES)
def test_each_topic_that_can_be_inspected_fits_the_schema_and_is_the_same_everywhere(
    tmp_path: Path, resource: str
) -> None:
    fleet(tmp_path / "data", "inspect")
    app = {"app": "shop"} if resource in {"app", "deployment", "versions", "health"} else {}
    answers = [
        plain(did(environment(tmp_path / "data", timeless(), surface), "inspect", resource=resource, **app))
        for surface in Surface
    ]
    root = schema_of("inspect")["result"]
    assert [faults(root, answer, root) for answer in answers] == [[]] * 3
    assert answers == [answers[0]] * 3


def test_a_record_from_the_future_with_every_reference_fits_the_schema_too(tmp_path: Path) -> None:
    env = fleet(tmp_path / "data")
    did(env, "session checkpoint", session_id=ID, step="s", deployments=["dep-1"])
    path = tmp_path / "data" / "sessions" / f"{ID}.json"
    path.write_text(path.read_text().replace('"seq": 0,', '"seq": 0, "x": [1],')[:-1] + ', "x": {"y": null}}')
    (tmp_path / "data" / "sessions" / f"{ABSENT}.json").write_text("{")
    for name, raw in {"session show": {"session_id": ID}, "session list": {}}.items():
        root = schema_of(name)["result"]
        assert faults(root, plain(did(env, name, **raw)), root) == []


SAMPLES: list[Any] = [
    None, True, False, 0, 1, -1, 2**53, 2**53 + 1, 2**63, 10**30, 1.0, 1.5, "", "x", "1", "true", "active", "Active",
    "bash", "1d", "1d\n", "999999d", "x" * 128, "x" * 129, "é" * 64, "é" * 65, "x" * 501, "x" * 2_001, "x" * 4_097,
    "a\0b", ID, f"{ID}\n", ID.upper(), "pln_0000000000000001", [], ["x"], [ID], ["pln_0000000000000001"],
    ["pln_0000000000000001"] * 2, ["pln_0000000000000001", None], [1], [[]], {}, {"a": 1}, ["dep-1"],
    ["op_0000000000000001", "op_x"], 1_000_000, 1_000_001, "op_0000000000000001", f"sha256:{'0' * 64}", "deploy",
    "1.4.0", "shop", "../shop", "--force",
]  # fmt: skip


def takes(command: Command, document: dict[str, Any]) -> bool:
    try:
        validate(command, document, Surface.CLI)
    except InvalidArgument:
        return False
    return True


def takes_as_pydantic(command: Command, document: dict[str, Any]) -> bool:
    try:
        TypeAdapter(command.request).validate_json(json.dumps(document))
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize("name", CATALOGUE)
def test_pydantic_over_the_same_declaration_takes_and_refuses_the_same(name: str) -> None:
    command = COMMANDS[name]
    base = {field.name: LEAST[field.name] for field in command.fields(Surface.CLI) if field.required}
    assert takes(command, base)
    assert takes_as_pydantic(command, base)
    agreed: set[bool] = set()
    schema = schema_of(name)["request"]
    for field in [*command.fields(Surface.CLI)]:
        without = {key: value for key, value in base.items() if key != field.name}
        for document in [without, *({**base, field.name: sample} for sample in SAMPLES)]:
            ours = takes(command, document)
            assert takes_as_pydantic(command, document) is ours, document
            if ours:
                assert faults(schema, document, schema) == [], "refused by the schema that we print"
            agreed.add(ours)
    if base or agreed:
        assert agreed == {True, False}
    for unknown in ("actor", "extra", "__pydantic_config__", "authenticated"):
        assert not takes(command, {**base, unknown: "x"})
        assert not takes_as_pydantic(command, {**base, unknown: "x"})


@pytest.mark.parametrize("name", [name for name in STORED if name.startswith(("session", "view"))])
def test_both_readers_keep_the_same_value(name: str) -> None:
    command, raw = COMMANDS[name], STORED[name]
    secret = "token ghp_0123456789abcdefghijABCDEFGHIJ012345 end"
    texts = {
        field.name: secret for field in command.fields(Surface.CLI) if "note" in field.name or field.name == "title"
    }
    kept = TypeAdapter[Any](command.request).validate_json(json.dumps(raw | texts))
    assert kept == validate(command, raw | texts, Surface.CLI)
    assert "ghp_" not in repr(kept)


def test_the_gate_before_both_readers_refuses_what_pydantic_alone_would_take() -> None:
    for hostile in (b'{"title": "a", "title": "b"}', '{"title": "a"}'.encode("utf-16"), b'{"title": "\\ud800"}'):
        with pytest.raises(JsonRefused):
            loads(hostile)


def test_schema_without_a_command_lists_them_all(phelix: Phelix) -> None:
    assert list(phelix("schema", "--json").result["commands"]) == list(CATALOGUE)
    missing = phelix("schema", "session", "nope", "--json")
    assert (missing.code, missing.error["code"]) == (12, "NOT_FOUND")


def test_the_console_and_the_command_line_read_the_same_settings(tmp_path: Path) -> None:
    assert load_settings({"PHELIX_DATA_DIR": str(tmp_path)}) == load_settings({}, data_dir=str(tmp_path))
