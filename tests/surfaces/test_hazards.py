"""Hostile input and hostile surroundings: a coded error, its exit code, and not one byte changed.

Rows are those of the trust page's table of input hazards and of its promises P12 to P14. What stays a success says so.
"""

import io
import json
import os
import pty
import select
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phelix_core.checks import Surface
from phelix_core.cli.main import main
from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import CATALOGUE, load_command
from phelix_core.commands.run import run
from phelix_core.sessions.model import STATUSES
from phelix_core.strictjson import loads
from tests.rig import PHELIX, FixedClock, Phelix, bytes_of, did, environment, refused
from tests.surfaces import arc_fleet

ID = "ses_0000000000000001"
SECRET = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
ESCAPES = "\x1b]52;c;aGk=\x07\x1b[2J\x9b31m\u202eevil\u200b"
VERBS: dict[str, dict[str, object]] = {
    "session show": {}, "session checkpoint": {"step": "s"}, "session complete": {}, "session fail": {},
    "session cancel": {},
}  # fmt: skip


@pytest.fixture
def written(env: Environment, data_dir: Path) -> Path:
    """The file of one session."""
    did(env, "session create", title="ship")
    return data_dir / "sessions" / f"{ID}.json"


# Records


def good_record() -> dict[str, Any]:
    return {
        "schema_version": "1", "session_id": ID, "status": "active", "title": "ship",
        "actor": {"type": "cli", "id": None, "authenticated": False}, "rev": 1, "created_at_ms": 1, "updated_at_ms": 1,
        "events": [{"seq": 0, "type": "created", "at_ms": 1}],
    }  # fmt: skip


def swapped(member: str, text: str) -> bytes:
    """A good record whose `member` is the raw JSON `text`."""
    return json.dumps(good_record() | {member: "@"}).replace('"@"', text).encode()


HAZARDS: dict[str, tuple[bytes, str]] = {
    "100,000 nested brackets": (b"[" * 100_000, "SESSION_CORRUPT"),
    "nested brackets in an unknown member": (swapped("x", "[" * 100 + "]" * 100), "SESSION_CORRUPT"),
    "brackets behind an open text": (b"[" * 40 + b'"' + b'\\"' * 400_000, "SESSION_CORRUPT"),
    "5,000 digits": (swapped("rev", "9" * 5_000), "SESSION_CORRUPT"),
    "2^63": (swapped("rev", str(2**63)), "SESSION_CORRUPT"),
    "2^53 + 1": (swapped("updated_at_ms", str(2**53 + 1)), "SESSION_INVALID"),
    "NaN": (swapped("rev", "NaN"), "SESSION_CORRUPT"),
    "infinity": (swapped("x", "-Infinity"), "SESSION_CORRUPT"),
    "1e400": (swapped("rev", "1e400"), "SESSION_CORRUPT"),
    "1.0 for 1": (swapped("rev", "1.0"), "SESSION_CORRUPT"),
    "true for 1": (swapped("rev", "true"), "SESSION_CORRUPT"),
    "duplicate key": (swapped("rev", '1, "rev": 1'), "SESSION_CORRUPT"),
    "UTF-16": (json.dumps(good_record()).encode("utf-16"), "SESSION_CORRUPT"),
    "byte order mark": (b"\xef\xbb\xbf" + json.dumps(good_record()).encode(), "SESSION_CORRUPT"),
    "lone surrogate": (swapped("title", '"\\ud800"'), "SESSION_CORRUPT"),
    "NUL bytes": (b"\0" * 4_096, "SESSION_CORRUPT"),
    "truncated": (json.dumps(good_record()).encode()[:-1], "SESSION_CORRUPT"),
    "a byte over 1 MiB": (json.dumps(good_record()).encode().ljust((1 << 20) + 1), "SESSION_CORRUPT"),
    "path for an id": (swapped("session_id", '"../../etc/passwd"'), "SESSION_INVALID"),
    "path for a reference": (swapped("plan_ids", '["../../etc/passwd"]'), "SESSION_INVALID"),
    "secret for a status": (swapped("status", f'"{SECRET}"'), "SESSION_INVALID"),
    "escape for a status": (swapped("status", '"\\u001b[2J"'), "SESSION_INVALID"),
}


@pytest.mark.parametrize(("data", "code"), HAZARDS.values(), ids=HAZARDS.keys())
def test_a_hostile_record_is_refused_by_every_verb_reported_by_list_and_left_alone(
    env: Environment, data_dir: Path, written: Path, data: bytes, code: str
) -> None:
    written.write_bytes(data)
    did(env, "session create", title="another")
    before = bytes_of(data_dir)
    for name, raw in VERBS.items():
        error = refused(env, name, session_id=ID, **raw)
        assert (error["code"], error["exit_code"]) == (code, 3)
        assert SECRET not in json.dumps(error)
    listed = did(env, "session list")
    assert [(bad.file, bad.code) for bad in listed.unreadable] == [(written.name, code)]
    assert listed.count == 1, "it hides no other"
    assert did(env, "session prune", keep=0, older_than="0s").removed == ()
    assert bytes_of(data_dir) == before


def special(kind: str, path: Path) -> None:
    path.unlink()
    match kind:
        case "link to a record":
            (path.parent / "elsewhere").write_text(json.dumps(good_record()))
            path.symlink_to(path.parent / "elsewhere")
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


@pytest.mark.parametrize(
    "kind", ["link to a record", "link to nothing", "link to a device", "FIFO", "folder", "a sparse terabyte"]
)
def test_what_stands_in_place_of_a_record_is_neither_followed_nor_waited_for(
    phelix: Phelix, written: Path, kind: str
) -> None:
    special(kind, written)
    before = sorted((path.name, path.lstat().st_mode, path.lstat().st_mtime_ns) for path in written.parent.iterdir())
    answer = phelix("session", "show", ID, "--json")
    assert (answer.code, answer.error["code"]) == (3, "SESSION_CORRUPT")
    answer = phelix("session", "checkpoint", ID, "--step", "s", "--json")
    assert (answer.code, answer.error["code"]) == (3, "SESSION_CORRUPT")
    assert phelix("session", "list", "--json").result["unreadable"] == [
        {"file": written.name, "code": "SESSION_CORRUPT"}
    ]
    after = sorted((path.name, path.lstat().st_mode, path.lstat().st_mtime_ns) for path in written.parent.iterdir())
    assert [entry for entry in after if not entry[0].endswith(".lock")] == before


# Arguments


ARGUMENTS: dict[str, list[str | bytes]] = {
    "lone surrogate in a title": ["session", "create", "--title", b"\xff"],
    "lone surrogate in a note": ["session", "checkpoint", ID, "--note", b"a\xed\xa0\x80b"],
    "lone surrogate in an id": ["session", "show", b"ses_\xff"],
    "lone surrogate for a command": [b"\xff"],
    "lone surrogate for an option": ["session", "list", b"--\xff"],
    "lone surrogate in a filter": ["session", "list", "--app", b"\xff"],
    "path for an id": ["session", "show", "../../etc/passwd"],
    "path for a plan": ["session", "checkpoint", ID, "--plan", "../plans/x"],
    "newline behind an id": ["session", "fail", f"{ID}\n"],
    "300 characters for an id": ["session", "show", "s" * 300],
    "5,000 digits": ["session", "list", "--limit", "9" * 5_000],
    "2^63": ["session", "list", "--limit", str(2**63)],
    "2^53 + 1": ["session", "fail", ID, "--if-rev", str(2**53 + 1)],
    "NaN": ["session", "list", "--limit", "NaN"],
    "digits of another script": ["session", "list", "--limit", "٣"],
    "escapes for a command": [ESCAPES.encode()],
    "escapes for a status": ["session", "list", "--status", ESCAPES.encode()],
    "secret for a command": [SECRET],
    "secret for an option": ["session", "list", f"--{SECRET}=1"],
    "secret for an id": ["session", "show", SECRET],
    "secret in a title over its cap": ["session", "create", "--title", SECRET * 10],
    "100,000 characters": ["session", "create", "--title", "x" * 100_000],
    "path for an application": ["plan", "create", "deploy", "../sessions", "--to", "1.4.0"],
    "lone surrogate for an application": ["plan", "create", "deploy", b"\xff", "--to", "1.4.0"],
    "option for a version": ["plan", "create", "deploy", "shop", "--to=--force"],
    "escapes for a version": ["plan", "create", "deploy", "shop", b"--to=" + ESCAPES.encode()],
    "secret for an action": ["plan", "create", SECRET, "shop", "--to", "1.4.0"],
    "secret for a hash": ["authz", "approve", "pln_0123456789abcdef", "--expect-hash", SECRET],
    "path for an operation": ["operation", "cancel", "../ops/op_0123456789abcdef"],
    "secret for a topic": ["inspect", SECRET, "shop"],
    "a digest that never was": ["session", "fail", ID, "--expect-digest", "x"],
    "an empty digest": ["session", "fail", ID, "--expect-digest", ""],
    "an empty data directory": ["session", "create", "--data-dir", ""],
}


@pytest.mark.parametrize("argv", ARGUMENTS.values(), ids=ARGUMENTS.keys())
def test_hostile_arguments_are_a_usage_error_that_changes_nothing_and_echoes_nothing_raw(
    phelix: Phelix, data_dir: Path, written: Path, argv: list[str | bytes]
) -> None:
    before = bytes_of(data_dir)
    answer = phelix(*argv, "--json")
    assert (answer.code, answer.error["code"]) == (2, "INVALID_ARGUMENT")
    assert answer.error["message"].endswith(".")
    plain = phelix(*argv)
    assert (plain.code, plain.out, plain.err) == (2, b"", answer.err)
    assert SECRET not in plain.err + answer.out.decode()
    assert not {"\x1b", "\x9b", "\u202e"} & set(plain.err)
    assert bytes_of(data_dir) == before
    assert written.exists()


def test_a_data_directory_whose_name_is_not_text_works_and_json_stays_utf8(phelix: Phelix, tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/odd\xff"
    assert phelix("session", "create", "--data-dir", folder).code == 0
    shown = phelix("session", "create", "--dry-run", "--json", "--data-dir", folder)
    assert shown.result["target"]["data_dir"] == f"{tmp_path}/odd?"
    assert phelix("doctor", "--data-dir", folder).code == 0


@pytest.mark.parametrize(
    "locale", [{"LC_ALL": "C"}, {"LC_ALL": "POSIX"}, {"PYTHONIOENCODING": "ascii"}, {"PYTHONUTF8": "0"}]
)
def test_json_is_utf8_and_text_is_printed_in_any_locale(
    phelix: Phelix, env: Environment, locale: dict[str, str]
) -> None:
    did(env, "session create", title="清理 ✓")
    listed = phelix("session", "list", "--json", env=locale)
    assert json.loads(listed.out.decode("utf-8"))["result"]["sessions"][0]["title"] == "清理 ✓"
    for argv in (["session", "list"], ["session", "show", ID], ["--help"], ["session", "create", "--help"]):
        assert phelix(*argv, env=locale).code == 0


# Text for people


def test_what_would_steer_a_terminal_is_shown_inert_and_kept_exact_in_json(
    phelix: Phelix, env: Environment, data_dir: Path
) -> None:
    did(env, "session create", title=ESCAPES, app=ESCAPES)
    did(env, "session checkpoint", session_id=ID, step=ESCAPES, note=f"{ESCAPES}\nsecond line")
    assert phelix("session", "show", ID, "--json").result["title"] == ESCAPES
    assert phelix("session", "list", "--json").result["sessions"][0]["app"] == ESCAPES
    for argv in (
        ["session", "list"], ["session", "show", ID], ["session", "complete", ID, "--result", ESCAPES, "--dry-run"],
        ["session", "complete", ID, "--result", ESCAPES], ["doctor"], ["session", "list", "--data-dir", f"{data_dir}"],
    ):  # fmt: skip
        answer = phelix(*argv)
        assert answer.code == 0
        text = answer.out.decode()
        assert not {"\x1b", "\x07", "\x9b", "\u202e", "\u200b"} & set(text)
    assert "evil" in phelix("session", "list").out.decode()


def test_on_a_terminal_only_our_own_escapes_reach_it(phelix: Phelix, env: Environment) -> None:
    did(env, "session create", title=f"{ESCAPES}[bold]not markup[/]")
    controller, terminal = pty.openpty()
    with subprocess.Popen(
        [PHELIX, "session", "list"],
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=terminal,
        env={**phelix.environ, "TERM": "xterm-256color", "COLUMNS": "120"},
    ) as process:
        os.close(terminal)
        seen = b""
        while select.select([controller], [], [], 30)[0]:
            try:
                more = os.read(controller, 65_536)
            except OSError:
                break
            if not more:
                break
            seen += more
    os.close(controller)
    assert process.returncode == 0
    assert b"\x1b[" in seen, "colour for a person"
    for hazard in (b"\x1b]52", b"\x1b[2J", "\u202e".encode(), b"\x07", "\x9b".encode()):
        assert hazard not in seen
    assert b"[bold]not markup[/]" in seen


# Modes and the data directory


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_everything_written_is_private_whatever_the_umask(
    phelix: Phelix, data_dir: Path, tmp_path: Path, umask: int
) -> None:
    created = phelix("session", "create", "--json", umask=umask).result["session_id"]
    assert phelix("session", "checkpoint", created, "--step", "s", umask=umask).code == 0
    assert phelix("demo", str(tmp_path / "demo"), "--sessions", "3", umask=umask).code == 0
    for folder in (data_dir, tmp_path / "demo"):
        for path in (folder, *folder.rglob("*")):
            mode = stat.S_IMODE(path.stat().st_mode)
            assert mode == (0o700 if path.is_dir() else 0o600), f"{path} is {mode:o}"


def test_lax_modes_are_told_by_doctor_and_closed_by_its_fix(phelix: Phelix, data_dir: Path, written: Path) -> None:
    for path in (data_dir, written.parent, written):
        path.chmod(0o777)
    before = bytes_of(data_dir)
    told = {finding["check"]: finding["state"] for finding in phelix("doctor", "--json").result["findings"]}
    assert (told["data directory"], told["modes"]) == ("warn", "warn")
    plan = phelix("doctor", "--fix", "--dry-run", "--json").result
    assert stat.S_IMODE(written.stat().st_mode) == 0o777
    assert f"--data-dir {data_dir}" in plan["command"], "the command shown must mean the folder shown"
    assert phelix("doctor", "--fix", "--expect-digest", plan["digest"], "--json").result["fixed"]
    assert [stat.S_IMODE(path.stat().st_mode) for path in (data_dir, written.parent, written)] == [0o700, 0o700, 0o600]
    assert bytes_of(data_dir) == before


def test_a_data_directory_that_is_a_file_is_told_and_stays_that_file(phelix: Phelix, data_dir: Path) -> None:
    data_dir.write_text("precious")
    for argv in (["session", "create"], ["session", "list"], ["session", "prune", "--keep", "0", "--older-than", "0s"]):
        answer = phelix(*argv, "--json")
        assert (answer.code, answer.error["code"]) == (1, "FILESYSTEM_ERROR")
        assert os.strerror(20) in answer.error["message"], "Not a directory"
    for argv in (["session", "show", ID], ["session", "fail", ID]):
        assert phelix(*argv, "--json").error["code"] in {"FILESYSTEM_ERROR", "NOT_FOUND"}
    assert phelix("doctor", "--json").result["sound"] is False
    assert data_dir.read_text() == "precious"


def test_a_data_directory_that_cannot_be_made_is_told(phelix: Phelix) -> None:
    answer = phelix("session", "create", "--data-dir", "/proc/phelix", "--json")
    assert (answer.code, answer.error["code"]) == (1, "FILESYSTEM_ERROR")


def test_a_read_only_data_directory_can_be_read_and_refuses_every_write(
    phelix: Phelix, data_dir: Path, written: Path
) -> None:
    folders = (data_dir, written.parent, written.parent / ".staging")
    before = bytes_of(data_dir)

    def call(*argv: str) -> tuple[int, Any]:
        ran = phelix.as_a_plain_user(*argv, "--json")
        assert "Traceback" not in ran.err
        return ran.code, loads(ran.out)

    try:
        for folder in folders:
            folder.chmod(0o500)
        assert call("session", "show", ID)[0] == call("session", "list")[0] == 0
        for argv in (["session", "create"], ["session", "checkpoint", ID, "--step", "s"], ["session", "fail", ID]):
            code, document = call(*argv)
            assert (code, document["error"]["code"]) == (1, "FILESYSTEM_ERROR")
        findings = call("doctor")[1]["result"]["findings"]
        assert {"check": "data directory", "state": "warn"}.items() <= findings[1].items()
        written.chmod(0o000)
        assert call("session", "show", ID)[1]["error"]["code"] == "FILESYSTEM_ERROR"
        assert call("session", "list")[1]["result"]["unreadable"] == [
            {"file": written.name, "code": "FILESYSTEM_ERROR"}
        ]
    finally:
        for folder in folders:
            folder.chmod(0o700)
        written.chmod(0o600)
    assert bytes_of(data_dir) == before


def test_a_working_folder_that_has_gone_is_told(phelix: Phelix, tmp_path: Path) -> None:
    script = 'mkdir gone && cd gone && rmdir ../gone && exec "$0" session list --data-dir relative --json'
    ran = subprocess.run(
        ["sh", "-c", script, PHELIX], cwd=tmp_path, env=phelix.environ, capture_output=True, check=False, timeout=60
    )
    assert ran.returncode == 1
    assert json.loads(ran.stdout)["error"]["code"] == "FILESYSTEM_ERROR"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"theme = ", 2), (b"nonsense = 1", 2), (b"\xff\xfe", 2), (b"stale_after_minutes = " + b"9" * 5_000, 2),
        (b"a = " + b"[" * 9_999, 2), (f"password = '{SECRET}'".encode(), 2), (ESCAPES.encode(), 2),
    ],
    ids=["cut off", "unknown", "UTF-16", "digits", "brackets", "secret", "escapes"],
)  # fmt: skip
def test_a_malformed_settings_file_is_told_by_name(
    phelix: Phelix, data_dir: Path, written: Path, text: bytes, code: int
) -> None:
    (data_dir / "config.toml").write_bytes(text)
    before = bytes_of(data_dir)
    for argv in (["session", "create"], ["session", "show", ID], ["doctor"]):
        answer = phelix(*argv, "--json")
        assert (answer.code, answer.error["code"]) == (code, "INVALID_ARGUMENT")
        assert "config.toml" in answer.error["message"]
        assert SECRET not in answer.err
        assert "\x1b" not in answer.err
    assert bytes_of(data_dir) == before
    assert written.exists()


def test_a_settings_file_that_is_a_fifo_is_not_waited_for(phelix: Phelix, data_dir: Path) -> None:
    data_dir.mkdir()
    os.mkfifo(data_dir / "config.toml")
    assert phelix("session", "list", "--json").error["code"] == "FILESYSTEM_ERROR"


# Standard streams


@pytest.mark.parametrize(
    ("stdin", "reason"),
    [(b"x" * ((1 << 20) + 1), "larger"), (b"\xff\xfe", "UTF-8"), (b"a\0b", "NUL"), (b"x" * 201, "over the cap")],
)
def test_standard_input_that_is_no_acceptable_text_is_refused(
    phelix: Phelix, data_dir: Path, stdin: bytes, reason: str
) -> None:
    answer = phelix("session", "create", "--title", "-", "--json", stdin=stdin)
    assert (answer.code, answer.error["code"]) == (2, "INVALID_ARGUMENT")
    assert reason in answer.error["message"]
    assert not data_dir.exists()


def test_standard_input_is_one_text_without_its_last_newline(phelix: Phelix) -> None:
    answer = phelix("session", "create", "--title", "-", "--app", "a", "--json", stdin="清\nb\n\n".encode())
    assert answer.result["title"] == "清\nb\n"
    assert "title" not in phelix("session", "create", "--title", "-", "--json", stdin=b"\n").result


def test_standard_input_cannot_be_two_texts(phelix: Phelix, data_dir: Path) -> None:
    answer = phelix("session", "create", "--title", "-", "--app", "-", "--json", stdin=b"x")
    assert (answer.code, answer.error["code"]) == (2, "INVALID_ARGUMENT")
    assert "standard input" in answer.error["message"]
    assert not data_dir.exists()


def closing(redirections: str, *argv: str, environ: dict[str, str]) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of `phelix` started by a shell with `redirections`."""
    ran = subprocess.run(
        ["sh", "-c", f'exec "$0" "$@" {redirections}', PHELIX, *argv],
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=60,
    )
    return ran.returncode, ran.stdout.decode(), ran.stderr.decode()


@pytest.mark.parametrize(
    "argv", [["session", "list"], ["session", "list", "--json"], ["--help"], ["completion", "bash"]]
)
def test_a_full_disk_behind_stdout_is_told_without_a_traceback(phelix: Phelix, written: Path, argv: list[str]) -> None:
    code, out, err = closing(">/dev/full", *argv, environ=phelix.environ)
    assert (code, out) == (1, "")
    assert "Traceback" not in err
    assert err.startswith(("FILESYSTEM_ERROR: The answer could not be written", "INTERNAL"))
    assert written.exists()


@pytest.mark.parametrize(("argv", "code"), [(["session", "list"], 0), (["session", "show", "x"], 2), (["--help"], 0)])
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-", "2>/dev/full"])
def test_closed_streams_change_neither_the_exit_status_nor_what_is_said_on_the_others(
    phelix: Phelix, written: Path, argv: list[str], code: int, closed: str
) -> None:
    found, _, err = closing(closed, *argv, environ=phelix.environ)
    assert found == code
    assert "Traceback" not in err
    assert "Exception" not in err
    assert written.exists()


def test_no_record_is_ever_opened_under_the_number_of_a_closed_stream(
    phelix: Phelix, data_dir: Path, written: Path
) -> None:
    code, _, _ = closing("<&- >&- 2>&-", "session", "checkpoint", ID, "--step", "s", "--json", environ=phelix.environ)
    assert code == 0
    assert json.loads(written.read_bytes())["rev"] == 2
    assert (data_dir / "sessions" / f"{ID}.lock").read_bytes() == b""


@pytest.mark.parametrize(
    "argv", [["session", "list"], ["session", "list", "--json"], ["completion", "bash"]], ids=" ".join
)
def test_a_reader_that_has_gone_is_no_traceback(phelix: Phelix, env: Environment, argv: list[str]) -> None:
    for _ in range(3):
        did(env, "session create", title="x" * 200)
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        ran = subprocess.run(
            [PHELIX, *argv], env=phelix.environ, stdout=pipe, stderr=subprocess.PIPE, check=False, timeout=60
        )
    assert (ran.returncode, ran.stderr) == (1, b"")


@pytest.mark.parametrize("as_json", [True, False])
def test_an_interrupt_is_exit_130_and_an_answer_like_any_other(phelix: Phelix, data_dir: Path, as_json: bool) -> None:  # noqa: FBT001 - a table's column
    argv = [PHELIX, "session", "create", "--title", "-", *(["--json"] if as_json else [])]
    with subprocess.Popen(
        argv,
        env=phelix.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        waiting_for_standard_input(process.pid)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err.startswith(b"CANCELLED: ")
    if as_json:
        document: Any = loads(out)
        assert (document["error"]["code"], document["error"]["exit_code"]) == ("CANCELLED", 130)
    else:
        assert out == b""
    assert not data_dir.exists()


INTERRUPTED_WHILE_IMPORTING = """
import signal, sys

class Interrupting:
    def find_spec(self, name, path, target=None):
        if name == "phelix_core.cli.options":
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
from phelix_core.cli import start
sys.exit(start())
"""


def test_an_interrupt_while_the_program_is_still_being_read_is_no_traceback(phelix: Phelix, data_dir: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_WHILE_IMPORTING, "session", "create"],
        env=phelix.environ,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, b"", b"")
    assert not data_dir.exists()


def waiting_for_standard_input(pid: int) -> None:
    """Return once the process blocks in a read of its standard input (system call 0 or 63, descriptor 0)."""
    while True:
        call = Path(f"/proc/{pid}/syscall").read_text().split()
        if call[0] in {"0", "63"} and int(call[1], 16) == 0:
            return


# Fuzz


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with one session of each status, for thousands of refusals to leave alone."""
    data_dir = tmp_path_factory.mktemp("arena") / "data"
    env = environment(data_dir, FixedClock())
    for verb in (None, "session complete", "session fail", "session cancel"):
        session = did(env, "session create", title="x")
        if verb:
            did(env, verb, session_id=session.session_id)
    did(env, "view save", name="kept", where="is:active")
    arc_fleet.fill(data_dir)
    return data_dir


def call_main(argv: list[str], data_dir: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main([*argv, "--data-dir", str(data_dir)])
    out, err = capsys.readouterr()
    return code, out, err


OPTIONS = sorted({field.option for name in CATALOGUE for field in load_command(name).fields(Surface.CLI)})
HOSTILE = st.sampled_from(
    [
        "-", "--", "", "\0", "\udcff", "\ud800", ESCAPES, SECRET, "../x", "a" * 3_000, "9" * 5_000, "-1", "1e400",
        "NaN", "[" * 500, "%s%n", "{0}", "~", "/", "\n", "=", "--=", "---", "-x", "--json=", "٣", "pln_" + "0" * 16,
        "dep-1", "1d", "kept", "is:stale", "sha256:" + "0" * 64, *STATUSES, *(f"ses_{n:016x}" for n in range(5)),
        *arc_fleet.KNOWN.values(), "shop", "deploy", "rollback", "1.4.0", "health",
    ]
)  # fmt: skip
WORDS = (
    HOSTILE
    | st.sampled_from([*OPTIONS, "--json", "--no-color", "--dry-run", "--expect-digest", "--help", "-h", "--version"])
    | st.text(max_size=12)
)


def spoken(name: str, words: list[str]) -> list[str]:
    return [*name.split(), *words]


NOT_IN_PROCESS = {"tui", "demo", "skill", "mcp serve", "mcp lifecycle"}
"""What would take this process's own streams, or write into whatever folder it is told."""
COMMAND_LINES = st.builds(
    spoken,
    st.sampled_from([*(name for name in CATALOGUE if name not in NOT_IN_PROCESS), "", "session", "view", "nope"]),
    st.lists(WORDS, max_size=6),
)


@settings(max_examples=600)
@given(COMMAND_LINES)
def test_no_command_line_raises_or_changes_a_byte_unless_it_succeeds(
    arena: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, argv: list[str]
) -> None:
    monkeypatch.setenv("TMPDIR", str(arena.parent))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"from standard input\n")))
    before = bytes_of(arena)
    code, out, err = call_main(argv, arena, capsys)
    assert code in {0, 1, 2, 3, 11, 12}
    assert "INTERNAL" not in err, argv
    if code:
        assert but_for_decisions(bytes_of(arena)) == but_for_decisions(before), "a refusal changed something"
        assert err.strip()
    assert not {"\x1b", "\x9b", "\u202e"} & set(err)
    assert SECRET not in out + err
    if code and out:
        assert loads(out.encode("utf-8"))
    if bytes_of(arena) != before:
        restore(arena, before)


def but_for_decisions(files: dict[str, Any]) -> dict[str, Any]:
    """All but the log, which tells of an attempt to execute also where it was refused."""
    return {name: data for name, data in files.items() if name not in {"authz/decisions.jsonl", "authz/.staging"}}


def restore(data_dir: Path, before: dict[str, bytes | str | None]) -> None:
    """Put back what a command that succeeded changed, so that each example starts from the same fleet."""
    for name in bytes_of(data_dir).keys() - before.keys():
        if (data_dir / name).is_file():
            (data_dir / name).unlink()
    for name, data in before.items():
        if isinstance(data, bytes):
            (data_dir / name).write_bytes(data)


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


@settings(max_examples=600)
@given(
    st.integers(0, 5),
    st.integers(0, 10_000),
    st.integers(0, 255) | st.sampled_from(list(b'{}[]",:\\0123456789-eENtfn')),
    st.sampled_from(["show", "fail"]),
)
def test_no_bytes_of_a_record_raise_and_a_refusal_changes_none(
    tmp_path_factory: pytest.TempPathFactory, kind: int, at: int, value: int, verb: str
) -> None:
    data = json.dumps(good_record() | {"plan_ids": ["pln_" + "0" * 16], "x": [1, {"y": None}]}, indent=1).encode()
    data = mutated(data, kind, at % len(data), value)
    env = environment(tmp_path_factory.getbasetemp() / "fuzzed", FixedClock())
    path = Path(env.sessions.path, f"{ID}.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    envelope = run(load_command(f"session {verb}"), {"session_id": ID}, env)
    if envelope.error:
        assert envelope.error.code in {"SESSION_CORRUPT", "SESSION_INVALID", "SESSION_INVALID_TRANSITION"}
        assert path.read_bytes() == data
    else:
        loads(path.read_bytes())
        assert env.sessions.load(ID).session_id == ID
