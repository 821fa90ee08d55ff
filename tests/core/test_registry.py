import shlex
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phelix_core.checks import Surface
from phelix_core.cli.options import parse
from phelix_core.commands.registry import CATALOGUE, Command, Effect, equivalent, load_command, validate
from phelix_core.errors import InvalidArgument
from tests.surfaces.queue_fleet import LEAST

ID = "ses_0123456789abcdef"
COMMANDS = {name: load_command(name) for name in CATALOGUE}
IDENTITY = [
    "actor", "role", "authenticated", "approval", "approved", "identity", "principal", "token", "credential", "via",
    "id", "rev", "status", "at_ms", "user", "extra", "schema_version", "__class__", "",
]  # fmt: skip
OF_A_STATUS = {"session list", "queue list", "queue checkpoint", "queue close", "queue advance", "operation list"}
"""Commands that take the status that a record has or gets; an identity it is nowhere."""
OVER_MCP = {"session create", "session show", "session list", "session checkpoint", "session complete", "session fail"}
NOT_OVER_MCP = {"authz approve", "authz revoke", "authz check", "authz list", "operation cancel"}
"""Of plans and operations what is a person's alone."""


def good(command: Command) -> dict[str, object]:
    """The least input that a command takes."""
    raw: dict[str, object] = {field.name: LEAST[field.name] for field in command.fields(Surface.CLI) if field.required}
    return raw | ({"step": "s"} if command.name == "session checkpoint" else {})


def fields_at_fault(command: Command, raw: dict[str, object], surface: Surface = Surface.CLI) -> dict[str, str]:
    with pytest.raises(InvalidArgument) as caught:
        validate(command, raw, surface)
    found: Any = caught.value.details["fields"]
    return found


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_each_name_in_the_catalogue_leads_to_the_command_of_that_name(command: Command) -> None:
    assert CATALOGUE[command.name].startswith(f"{command.function.__module__}:")
    assert command.help
    assert command.surfaces
    assert all(field.help for field in command.fields(Surface.CLI)), "a field without a word of help"


@pytest.mark.parametrize("surface", Surface)
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_no_surface_takes_a_field_that_is_not_declared_and_none_declares_an_identity(
    command: Command, surface: Surface
) -> None:
    for field in IDENTITY if surface in command.surfaces else []:
        if field != "status" or command.name not in OF_A_STATUS:
            assert fields_at_fault(command, good(command) | {field: "cli"}, surface) == {field: "unknown field"}


@pytest.mark.parametrize("name", ["session checkpoint", "session complete", "session fail"])
def test_over_mcp_a_guard_is_an_unknown_field_and_elsewhere_it_is_checked(name: str) -> None:
    raw = good(COMMANDS[name])
    assert fields_at_fault(COMMANDS[name], raw | {"if_rev": 1}, Surface.MCP) == {"if_rev": "unknown field"}
    for surface in (Surface.CLI, Surface.TUI):
        assert validate(COMMANDS[name], raw | {"if_rev": 1}, surface).if_rev == 1
        for wrong in (0, -1, True, "1", 1.0, 2**53 + 1):
            assert "if_rev" in fields_at_fault(COMMANDS[name], raw | {"if_rev": wrong}, surface)


def test_over_mcp_there_are_six_session_commands_and_no_cancel() -> None:
    carried = {
        name for name, command in COMMANDS.items() if name.startswith("session ") and Surface.MCP in command.surfaces
    }
    assert carried == OVER_MCP
    with pytest.raises(InvalidArgument, match="not carried"):
        validate(COMMANDS["session cancel"], {"session_id": ID}, Surface.MCP)


def test_over_mcp_nobody_approves_revokes_or_cancels() -> None:
    arc = {name for name in COMMANDS if name.split()[0] in {"plan", "authz", "operation", "inspect", "context"}}
    assert {name for name in arc if Surface.MCP not in COMMANDS[name].surfaces} == NOT_OVER_MCP
    for name in NOT_OVER_MCP:
        assert COMMANDS[name].surfaces == {Surface.CLI, Surface.TUI}
        with pytest.raises(InvalidArgument, match="not carried"):
            validate(COMMANDS[name], good(COMMANDS[name]), Surface.MCP)


def test_one_command_alone_executes_and_two_run_a_check_to_look() -> None:
    assert {name: command.effect for name, command in COMMANDS.items() if command.runs} == {
        "plan apply": Effect.WRITE,
        "inspect": Effect.READ,
        "context": Effect.READ,
    }


def test_every_field_at_fault_is_named_at_once() -> None:
    wrong: dict[str, object] = {"session_id": "x", "step": 1, "plans": "pln_1", "if_rev": "1", "more": None}
    assert fields_at_fault(COMMANDS["session checkpoint"], wrong).keys() == wrong.keys()
    assert fields_at_fault(COMMANDS["session checkpoint"], {}) == {"session_id": "required"}


WRONG: list[tuple[str, str, list[Any]]] = [
    ("session create", "title", [1, True, [], {}, "a\0b", "\ud800", "x" * 201]),
    ("session show", "session_id", [None, 1, "", "ses_", ID.upper(), f"{ID}\n"]),
    ("session show", "no_resolve", [None, 1, 0, "true"]),
    ("session list", "limit", [-1, "1", 1.0, True, 2**53 + 1]),
    ("session list", "status", ["", "Active", 1]),
    ("session checkpoint", "plans", [None, "pln_0123456789abcdef", [None], [1], [["pln_"]], ["pln_"]]),
    ("session prune", "older_than", ["", "1", "d", "1w", "-1d", "1d\n", "1234567d", "1.5h", "٣d"]),
    ("plan create", "action", [None, "", "Deploy", "rebuild", "deploy\n", 1]),
    ("plan create", "app", [None, "", "Shop", "../shop", "shop/", ".", "a" * 65, "shop\n", 1]),
    ("plan create", "to", ["", "--force", "-1", "1.4.0\n", "1/2", "1 2", "v" * 129, 1.4]),
    ("plan create", "reason", [1, "a\0b", "\ud800", "x" * 501]),
    ("plan show", "plan_id", [None, "", "pln_", "PLN_0123456789ABCDEF", "pln_0123456789abcdef\n", ID]),
    ("authz approve", "expect_hash", ["", "sha256:", f"sha256:{'A' * 64}", f"sha256:{'0' * 63}", "0" * 64]),
    ("authz list", "limit", [-1, "1", 1.0, True]),
    ("operation status", "operation_id", [None, "op_", "op_0123456789abcdef ", "pln_0123456789abcdef"]),
    ("operation status", "log_lines", [-1, 1_001, "5", True, None]),
    ("operation list", "status", ["", "Running", "unknown"]),
    ("demo", "sessions", [0, -1, None, 10**6 + 1, "5"]),
    ("doctor", "fix", [None, "yes", 1]),
]


@pytest.mark.parametrize(("name", "field", "values"), WRONG)
def test_wrong_values_are_told_by_field(name: str, field: str, values: list[Any]) -> None:
    for value in values:
        assert fields_at_fault(COMMANDS[name], good(COMMANDS[name]) | {field: value}).keys() == {field}, value


def test_null_leaves_an_optional_field_out() -> None:
    raw = good(COMMANDS["session checkpoint"]) | {"note": None, "if_rev": None}
    assert validate(COMMANDS["session checkpoint"], raw, Surface.CLI).note is None


def test_a_request_cannot_be_changed_once_it_was_validated() -> None:
    request = validate(COMMANDS["session create"], {"title": "x"}, Surface.CLI)
    with pytest.raises(AttributeError):
        request.title = "y"


TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20).filter(
    lambda text: text.strip() != "-" and not text.startswith("-")
)


@given(TEXT, TEXT, st.lists(st.integers(0, 9).map("dep-{:x}".format), max_size=3), st.none() | st.integers(1, 99), TEXT)
def test_the_equivalent_command_line_asks_for_exactly_the_same(
    step: str, note: str, deployments: list[str], if_rev: int | None, folder: str
) -> None:
    command = COMMANDS["session checkpoint"]
    raw: dict[str, object] = {
        "session_id": ID,
        "step": step,
        "note": note,
        "deployments": deployments,
        "if_rev": if_rev,
    }
    request = validate(command, raw, Surface.TUI)
    words = shlex.split(equivalent(command, request, f"/tmp/{folder}"))
    assert words[0] == "phelix"
    call = parse(words[1:])
    assert call.command.name == command.name
    assert call.data_dir == f"/tmp/{folder}"
    assert validate(command, call.raw, Surface.CLI) == request


@pytest.mark.parametrize("value", ["-5", "--json", "-x", "--title", "=", "a b", "'", '"', "$(rm)", "`x`", "a\nb", "\\"])
def test_the_equivalent_of_odd_text_survives_a_shell_and_the_parser(value: str) -> None:
    command = COMMANDS["session create"]
    request = validate(command, {"title": value}, Surface.TUI)
    call = parse(shlex.split(equivalent(command, request))[1:])
    assert validate(command, call.raw, Surface.CLI) == request


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("plan create", {"action": "rollback", "app": "shop", "to": "1.2.0", "reason": "-it is 'slow' $(rm)"}),
        ("plan apply", {"plan_id": "pln_0123456789abcdef"}),
        ("authz approve", {"plan_id": "pln_0123456789abcdef", "expect_hash": f"sha256:{'0' * 64}"}),
        ("operation cancel", {"operation_id": "op_0123456789abcdef"}),
        ("operation status", {"operation_id": "op_0123456789abcdef", "log_lines": 5}),
    ],
)
def test_the_equivalent_of_words_by_place_stands_in_their_places(name: str, raw: dict[str, object]) -> None:
    command = COMMANDS[name]
    request = validate(command, raw, Surface.TUI)
    call = parse(shlex.split(equivalent(command, request, "/tmp/here"))[1:])
    assert (call.command.name, call.data_dir) == (name, "/tmp/here")
    assert validate(command, call.raw, Surface.CLI) == request


ORDERS = [
    ["session", "list", "--json", "--data-dir", "D", "--status", "failed"],
    ["--json", "--data-dir", "D", "session", "list", "--status", "failed"],
    ["--data-dir=D", "--json", "session", "list", "--status=failed"],
    ["session", "--json", "list", "--status", "failed", "--data-dir=D"],
    ["session", "--data-dir", "D", "list", "--status", "failed", "--json"],
]


@pytest.mark.parametrize("argv", ORDERS, ids=" ".join)
def test_global_options_stand_before_or_after_the_command_alike(argv: list[str]) -> None:
    call = parse(argv)
    assert (call.command.name, call.json, call.data_dir) == ("session list", True, "D")
    assert call.raw == {"status": "failed"}


def test_only_what_was_typed_is_sent_on() -> None:
    assert parse(["session", "create"]).raw == {}
    assert parse(["session", "show", ID, "--no-resolve"]).raw == {"session_id": ID, "no_resolve": True}


@pytest.mark.parametrize(
    "argv",
    [
        ["--bogus", "session", "list"], ["session"], ["nope"], ["session", "nope"], ["--json"], ["--data-dir"],
        ["session", "list", "--limit", "x"], ["session", "list", "--limit", "1e3"], ["session", "list", "--limit", "٣"],
        ["session", "list", "--limit", "9" * 5_000], ["session", "list", "extra"], ["session", "show"],
        ["session", "show", ID, ID], ["session", "create", "--tit", "x"], ["session", "create", "--title"],
        ["session", "create", "--actor", "root"], ["session", "cancel", ID, "--plan", "pln_0123456789abcdef"],
        ["session", "list", "--dry-run"], ["session", "list", "--json=1"], ["session", "prune"],
        ["session", "show", ID, "--if-rev", "1"], ["", ""], ["session list"], ["doctor", "x"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_line_that_makes_no_sense_is_a_usage_error_with_a_hint(argv: list[str]) -> None:
    with pytest.raises(InvalidArgument) as caught:
        parse([word[:40] if word.isdecimal() else word for word in argv])
    assert caught.value.exit_code == 2
    assert "--help" in (caught.value.hint or "")


def test_writes_take_a_dry_run_and_reads_do_not() -> None:
    for name, command in COMMANDS.items():
        argv = [*name.split(), "--dry-run"]
        raw = good(command)
        for field in command.fields(Surface.CLI):
            if field.required:
                one = cast("list[object]", raw[field.name])[0] if field.many else raw[field.name]
                given = __file__ if field.file_cap else one
                argv += [str(given)] if field.positional else [field.option, str(given)]
        if command.effect is Effect.WRITE:
            assert parse(argv).dry_run
        else:
            with pytest.raises(InvalidArgument):
                parse(argv)


def test_of_several_items_the_one_at_fault_is_named_by_its_place_and_not_by_what_it_holds() -> None:
    command = load_command("session checkpoint")
    raw = {"session_id": "ses_1a2b3c4d5e6f7081", "deployments": ["dep-1", "dep-X", "dep-2"]}
    with pytest.raises(InvalidArgument) as found:
        validate(command, raw, Surface.CLI)
    fields: Any = found.value.details["fields"]
    assert fields["deployments"].startswith("number 2 of 3: expected")
    assert "dep-X" not in found.value.message
    with pytest.raises(InvalidArgument, match=r"^deployment: expected"):
        validate(command, raw | {"deployments": ["dep-X"]}, Surface.CLI)
