"""Saved views: their files, the commands on them, and what a bad one does to nobody but itself."""

import errno
import json
import os
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.saved_views.model import SavedView, ViewRefused, decode, encode, one_line
from phelix_core.strictjson import plain
from tests.rig import FixedClock, Phelix, bytes_of, did, environment, refused

SECRET = "ghp_0123456789abcdefghijABCDEFGHIJ012345"


@pytest.fixture
def views(data_dir: Path) -> Path:
    folder = data_dir / "views"
    folder.mkdir(parents=True)
    return folder


def planned(env: Environment, name: str, /, **raw: object) -> Any:
    envelope = run(load_command(name), raw, env, dry_run=True)
    assert envelope.error is None, envelope.error
    return plain(envelope.result)


# The file


def test_a_saved_view_is_a_private_file_of_two_lines_and_reads_back(env: Environment, data_dir: Path) -> None:
    did(env, "view save", name="late", where='app=billing title~"a b"', title="late billing")
    file = data_dir / "views" / "late.toml"
    assert file.read_text() == 'title = "late billing"\nwhere = "app=billing title~\\"a b\\""\n'
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    shown = did(env, "view show", name="late")
    assert (shown.where, shown.title) == ('app=billing title~"a b"', "late billing")


def test_somebody_elses_file_is_dropped_in_and_used(env: Environment, views: Path) -> None:
    did(env, "session create", title="ship", app="billing")
    did(env, "session create", title="index", app="search")
    (views / "theirs.toml").write_text("# mine, now yours\nwhere = '''app=billing'''\n")
    assert [view.name for view in did(env, "view list").views] == ["theirs"]
    assert [row.app for row in did(env, "session list", view="theirs").sessions] == ["billing"]


def accepted(check: Callable[[str], str]) -> Callable[[str], bool]:
    def takes(text: str) -> bool:
        try:
            return check(text) == text
        except ValueError:
            return False

    return takes


LINES = st.text(max_size=60).filter(accepted(one_line(200).apply))


@given(LINES, LINES.filter(bool))
def test_whatever_one_line_a_view_holds_its_file_gives_back(text: str, title: str) -> None:
    where = 'title~"' + text.replace("\\", "").replace('"', "") + 'x"'
    view = SavedView(name="v", where=where, title=title)
    try:
        assert decode("v", encode(view)) == view
    except ViewRefused as error:  # taken together the two halves may look like a secret, or be none of the grammar's
        assert "where" in str(error)  # noqa: PT017 - most examples do not raise
    assert tomllib.loads(encode(view).decode()) == {"where": where, "title": title}


# The commands


def test_a_view_and_a_filter_together_show_what_both_accept(env: Environment) -> None:
    for title, app in (("ship", "billing"), ("ship", "search"), ("drop", "billing")):
        did(env, "session create", title=title, app=app)
    did(env, "view save", name="billing", where="app=billing")
    both = did(env, "session list", view="billing", where="title~ship").sessions
    assert [(row.title, row.app) for row in both] == [("ship", "billing")]
    loose = did(env, "session list", view="billing", where="/^ship$/ OR nothing", limit=1)
    assert [(row.title, row.app) for row in loose.sessions] == [("ship", "billing")]


def test_alternatives_of_a_view_do_not_leak_out_of_the_and(env: Environment) -> None:
    for title, app in (("ship", "billing"), ("ship", "search"), ("drop", "billing")):
        did(env, "session create", title=title, app=app)
    did(env, "view save", name="either", where="app=billing OR app=search")
    found = did(env, "session list", view="either", where="title=drop OR title=none").sessions
    assert [row.title for row in found] == ["drop"]


def test_what_a_filter_asks_of_marks_is_refused_outside_the_console(env: Environment) -> None:
    did(env, "view save", name="mine", where="is:marked")
    assert "marks are the console's" in refused(env, "session list", view="mine")["message"]


def test_nothing_is_written_over_unless_somebody_says_so(env: Environment, data_dir: Path) -> None:
    did(env, "view save", name="late", where="is:stale")
    before = bytes_of(data_dir)
    error = refused(env, "view save", name="late", where="is:active")
    assert (error["code"], "--replace" in error["hint"]) == ("ALREADY_EXISTS", True)
    assert bytes_of(data_dir) == before
    did(env, "view save", name="late", where="is:active", replace=True)
    assert did(env, "view show", name="late").where == "is:active"
    did(env, "view save", name="new", where="is:active", replace=True)
    assert did(env, "view list").count == 2


def test_a_removed_view_is_gone_with_its_lock(env: Environment, data_dir: Path) -> None:
    did(env, "view save", name="late", where="is:stale")
    did(env, "view save", name="late", where="is:active", replace=True)
    assert did(env, "view remove", name="late").removed == "late"
    assert [path.name for path in (data_dir / "views").iterdir() if path.name != ".staging"] == []
    assert refused(env, "view remove", name="late")["code"] == "NOT_FOUND"
    assert refused(env, "view show", name="late")["code"] == "NOT_FOUND"


@pytest.mark.parametrize("where", ["", "   ", "app=", "nofield=1", "is:sleeping", '"open', "(", "a\tb", "a\u202eb"])
def test_a_text_that_is_no_filter_of_one_line_is_not_saved(env: Environment, data_dir: Path, where: str) -> None:
    error = refused(env, "view save", name="late", where=where)
    assert (error["code"], list(error["details"]["fields"])) == ("INVALID_ARGUMENT", ["where"])
    assert not data_dir.exists()


@pytest.mark.parametrize("name", ["", "Late", "1st", "a b", "../x", "a/b", "late\n", "a" * 41, ".late", "late.toml"])
def test_a_name_that_could_be_a_path_or_an_option_is_refused(env: Environment, data_dir: Path, name: str) -> None:
    for verb in ("save", "show", "remove"):
        raw = {"where": "is:stale"} if verb == "save" else {}
        assert refused(env, f"view {verb}", name=name, **raw)["code"] == "INVALID_ARGUMENT"
    assert refused(env, "session list", view=name)["code"] == "INVALID_ARGUMENT"
    assert not data_dir.exists()


def test_a_preview_writes_nothing_and_what_it_showed_is_what_is_written(env: Environment, data_dir: Path) -> None:
    raw = {"name": "late", "where": "is:stale", "title": "what is late"}
    plan = planned(env, "view save", **raw)
    assert not data_dir.exists()
    assert [(change["field"], change["before"], change["after"]) for change in plan["changes"]] == [
        ("where", None, "is:stale"), ("title", None, "what is late"),
    ]  # fmt: skip
    assert run(load_command("view save"), raw, env, expect_digest=plan["digest"]).error is None
    raw |= {"where": "is:active", "replace": True}
    plan = planned(env, "view save", **raw)
    assert [(change["field"], change["before"], change["after"]) for change in plan["changes"]] == [
        ("where", "is:stale", "is:active"),
    ]  # fmt: skip
    assert plan["side_effects"] == ["the view late that is there is written over"]


@pytest.mark.parametrize("name", ["view save", "view remove"])
def test_a_write_is_bound_to_the_very_bytes_that_were_shown(env: Environment, data_dir: Path, name: str) -> None:
    did(env, "view save", name="late", where="is:stale")
    raw = {"name": "late", **({"where": "is:active", "replace": True} if name == "view save" else {})}
    digest = planned(env, name, **raw)["digest"]
    (data_dir / "views" / "late.toml").write_text('where = "is:stale" # the same filter, another file\n')
    before = bytes_of(data_dir)
    envelope = run(load_command(name), raw, env, expect_digest=digest)
    assert envelope.error is not None
    assert envelope.error.code == "SESSION_CONFLICT"
    assert bytes_of(data_dir) == before


def test_read_only_refuses_and_still_previews(data_dir: Path) -> None:
    env = environment(data_dir, FixedClock(), read_only=True)
    assert refused(env, "view save", name="late", where="is:stale")["code"] == "READ_ONLY"
    assert planned(env, "view save", name="late", where="is:stale")["action"] == "view save"
    assert not data_dir.exists()


def test_a_secret_in_a_filter_or_a_title_is_cut_out_before_it_is_kept(env: Environment, data_dir: Path) -> None:
    did(env, "view save", name="late", where=f"title~{SECRET}", title=f"with {SECRET}")
    kept = (data_dir / "views" / "late.toml").read_text()
    assert SECRET not in kept
    assert kept.count("[REDACTED:") == 2
    did(env, "session list", view="late")


# Bad files

BAD: dict[str, tuple[bytes, str]] = {
    "cut off": (b'where = "is:', "not TOML at end of document"),
    "no TOML at all": (SECRET.encode(), "not TOML"),
    "empty": (b"", "no where"),
    "no filter in it": (b'title = "x"', "no where"),
    "unknown key": (b'where = "is:stale"\nsort = "age"', "unknown key sort"),
    "unknown key that is a secret": (f'where = "is:stale"\n{SECRET} = 1'.encode(), "unknown key"),
    "unknown key of escapes": (b'where = "is:stale"\n"\\u001b[2J" = 1', "unknown key;"),
    "number for a filter": (b"where = 1", "where is not text"),
    "list for a filter": (b'where = ["is:stale"]', "where is not text"),
    "table for a filter": (b'[where]\nx = "is:stale"', "where is not text"),
    "number for a title": (b'where = "is:stale"\ntitle = 5', "title is not text"),
    "two lines": (b'where = "is:stale\\nis:active"', "where: expected one line"),
    "an escape": (b'where = "is:stale"\ntitle = "\\u001b[2J"', "title: expected one line"),
    "a filter that no longer parses": (b'where = "mood=fine"', "no filter: "),
    "a filter that is a secret": (f'where = "is:{SECRET}"'.encode(), "no filter: "),
    "an empty filter": (b'where = " "', "where is empty"),
    "a filter over its cap": (b'where = "' + b"x" * 2_001 + b'"', "over the cap of 2000"),
    "UTF-16": ('where = "is:stale"'.encode("utf-16"), "not UTF-8"),
    "the same key twice": (b'where = "a"\nwhere = "b"', "not TOML"),
    "deep": (b"where = " + b"[" * 30_000, "not TOML"),
    "5,000 digits": (b"where = " + b"9" * 5_000, "not TOML"),
    "a byte over 64 KiB": (b'where = "is:stale"\n'.ljust(64 * 1024 + 1, b"#"), "larger than 65536 bytes"),
}


@pytest.mark.parametrize(("data", "reason"), BAD.values(), ids=BAD.keys())
def test_a_bad_file_is_told_by_whoever_asks_for_it_and_hides_no_other(
    env: Environment, views: Path, data: bytes, reason: str
) -> None:
    did(env, "view save", name="good", where="is:stale")
    (views / "bad.toml").write_bytes(data)
    before = bytes_of(views)
    for name, raw in (("view show", {"name": "bad"}), ("session list", {"view": "bad"})):
        error = refused(env, name, **raw)
        assert (error["code"], error["exit_code"]) == ("INVALID_ARGUMENT", 2)
        assert reason in error["message"]
        assert "bad.toml" in error["hint"], "what to do next"
        assert SECRET not in json.dumps(error)
        assert "\x1b" not in json.dumps(error, ensure_ascii=False)
    listed = did(env, "view list")
    assert [view.name for view in listed.views] == ["good"]
    assert [(bad.file, bad.code) for bad in listed.unusable] == [("bad.toml", "INVALID_ARGUMENT")]
    assert reason in listed.unusable[0].reason
    assert bytes_of(views) == before


def test_a_bad_file_can_be_written_anew_or_removed_and_the_preview_says_what_goes(
    env: Environment, views: Path
) -> None:
    for verb, raw in (("save", {"where": "is:stale", "replace": True}), ("remove", {})):
        (views / "bad.toml").write_text("where = 1")
        plan = planned(env, f"view {verb}", name="bad", **raw)
        assert ("file", "unusable: where is not text") in [
            (change["field"], change["before"]) for change in plan["changes"]
        ]
        envelope = run(load_command(f"view {verb}"), {"name": "bad", **raw}, env, expect_digest=plan["digest"])
        assert envelope.error is None
    assert not (views / "bad.toml").exists()


def special(kind: str, path: Path) -> None:
    match kind:
        case "link to a view":
            (path.parent.parent / "elsewhere").write_text('where = "is:stale"')
            path.symlink_to(path.parent.parent / "elsewhere")
        case "link to nothing":
            path.symlink_to("/nonexistent")
        case "link to a device":
            path.symlink_to("/dev/zero")
        case "FIFO":
            os.mkfifo(path)
        case _:
            path.mkdir()


@pytest.mark.parametrize("kind", ["link to a view", "link to nothing", "link to a device", "FIFO", "folder"])
def test_what_stands_in_place_of_a_view_is_neither_followed_nor_waited_for_nor_written_over(
    phelix: Phelix, data_dir: Path, views: Path, kind: str
) -> None:
    special(kind, views / "odd.toml")
    before = bytes_of(data_dir)
    for argv in (
        ["view", "show", "odd"], ["session", "list", "--view", "odd"], ["view", "remove", "odd"],
        ["view", "save", "odd", "--where", "is:stale"], ["view", "save", "odd", "--where", "is:stale", "--replace"],
        ["view", "remove", "odd", "--dry-run"], ["view", "save", "odd", "--where=x", "--replace", "--dry-run"],
    ):  # fmt: skip
        answer = phelix(*argv, "--json")
        assert (answer.code, answer.error["code"]) == (2, "INVALID_ARGUMENT"), argv
        assert "not a regular file" in answer.error["message"]
    assert [bad["file"] for bad in phelix("view", "list", "--json").result["unusable"]] == ["odd.toml"]
    assert "odd.toml" in phelix("view", "list").out.decode()
    assert bytes_of(data_dir) == before
    assert [path.name for path in views.iterdir()] == ["odd.toml"], "no lock file either"


def test_a_file_whose_name_is_none_is_told_once_and_others_are_no_views(env: Environment, views: Path) -> None:
    for name in (b"Late Billing.toml", b"\xff.toml", f"{SECRET}.toml".encode(), b"notes.txt", b".toml"):
        Path(os.fsdecode(os.fsencode(views) + b"/" + name)).write_text('where = "is:stale"')
    listed = did(env, "view list")
    assert listed.views == ()
    assert len(listed.unusable) == 4
    assert {bad.code for bad in listed.unusable} == {"INVALID_ARGUMENT"}
    assert all("small letters" in bad.reason for bad in listed.unusable)
    assert SECRET not in json.dumps(plain(listed))


def test_a_view_that_may_not_be_read_is_told_and_hides_no_other(env: Environment, phelix: Phelix, views: Path) -> None:
    did(env, "view save", name="good", where="is:stale")
    locked = views / "locked.toml"
    locked.write_text('where = "is:active"\n')
    before = bytes_of(views)
    locked.chmod(0o000)
    try:
        for argv in (
            ["view", "show", "locked"],
            ["session", "list", "--view", "locked"],
            ["view", "save", "locked", "--where", "is:stale", "--replace"],
            ["view", "remove", "locked"],
        ):
            told = phelix.as_a_plain_user(*argv, "--json").error
            assert told["code"] == "FILESYSTEM_ERROR", argv
            assert os.strerror(errno.EACCES) in told["message"]
        listed = phelix.as_a_plain_user("view", "list", "--json").result
        assert [view["name"] for view in listed["views"]] == ["good"]
        assert [(bad["file"], bad["code"]) for bad in listed["unusable"]] == [("locked.toml", "FILESYSTEM_ERROR")]
    finally:
        locked.chmod(0o600)
    assert bytes_of(views) == before


def test_a_folder_of_views_that_is_none_is_told(phelix: Phelix, data_dir: Path) -> None:
    data_dir.mkdir()
    (data_dir / "views").write_text("precious")
    for argv in (["view", "list"], ["view", "save", "late", "--where", "is:stale"]):
        answer = phelix(*argv, "--json")
        assert (answer.code, answer.error["code"]) == (1, "FILESYSTEM_ERROR")
    assert (data_dir / "views").read_text() == "precious"


def test_no_views_are_an_empty_list_and_make_no_folder(env: Environment, data_dir: Path) -> None:
    assert did(env, "view list").count == 0
    assert not data_dir.exists()


# What stands around it


def test_doctor_closes_the_modes_of_views_and_clears_what_killed_writers_left(env: Environment, data_dir: Path) -> None:
    did(env, "view save", name="late", where="is:stale")
    file = data_dir / "views" / "late.toml"
    file.chmod(0o644)
    stray = data_dir / "views" / ".staging" / "late.toml.dead"
    stray.write_text("half")
    os.utime(stray, (1, 1))
    states = {finding.check: finding.state for finding in did(env, "doctor").findings}
    assert (states["modes"], states["leftovers"]) == ("warn", "warn")
    did(env, "doctor", fix=True)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not stray.exists()
    states = {finding.check: finding.state for finding in did(env, "doctor").findings}
    assert (states["modes"], states["leftovers"]) == ("ok", "ok")


def test_people_see_a_view_and_how_to_use_it(phelix: Phelix) -> None:
    assert "No saved views yet" in phelix("view", "list").out.decode()
    assert phelix("view", "save", "late", "--where", "is:stale", "--title", "what is late").code == 0
    assert phelix("view", "list").out.decode().split() == [
        "VIEW", "WHERE", "TITLE", "late", "is:stale", "what", "is", "late",
    ]  # fmt: skip
    assert "phelix session list --view late" in phelix("view", "show", "late").out.decode()
    assert "Removed" in phelix("view", "remove", "late").out.decode()
