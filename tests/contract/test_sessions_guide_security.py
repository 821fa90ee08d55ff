"""The guide's authorization and security: what a session can never do, and how it fails."""

from pathlib import Path

import pytest

from phelix_core.commands.registry import CATALOGUE, Effect, load_command
from tests.contract.guide_stage import (
    CLOSERS,
    LINKED,
    MUTATIONS,
    PLAN,
    beside_sessions,
    created,
    path_of,
    planted,
)
from tests.rig import Phelix, bytes_of

ABSENT = "ses_00000000000000ff"
BAD_IDS = ["ses_0123456789ABCDEF", "../ses_0123456789abcdef", "ses_0123456789abcdef\n", "ses_0123456789abcde", PLAN, ""]
CORRUPT = {
    "garbage": (b"garbage", "SESSION_CORRUPT"),
    "empty": (b"", "SESSION_CORRUPT"),
    "a list": (b"[]", "SESSION_CORRUPT"),
    "cut short": (b'{"schema_version": "1", "session_id"', "SESSION_CORRUPT"),
    "another version": (b'"schema_version": "2"', "SESSION_INVALID"),
    "another status": (b'"status": "paused"', "SESSION_INVALID"),
    "another id": (b'"session_id": "ses_00000000000000aa"', "SESSION_INVALID"),
    "another revision": (b'"rev": 2', "SESSION_INVALID"),
}


def test_the_id_of_a_session_names_a_record_and_opens_nothing() -> None:
    taking = {
        name
        for name in CATALOGUE
        for field in load_command(name).fields(next(iter(load_command(name).surfaces)))
        if field.name in {"session", "session_id"}
    }
    assert taking == {
        "queue claim",
        "queue recover",
        "session cancel",
        "session checkpoint",
        "session complete",
        "session fail",
        "session show",
    }
    assert all(load_command(name).effect is not Effect.PROGRAM for name in taking)


def test_linking_a_plan_that_needs_approval_leaves_the_plan_the_policy_and_the_absence_of_an_approval(
    phelix: Phelix, data_dir: Path
) -> None:
    planted(data_dir)
    before = beside_sessions(bytes_of(data_dir))
    session_id = created(phelix)
    assert phelix("session", "checkpoint", session_id, "--plan", PLAN, "--step", "approved, I say").code == 0
    assert phelix("session", "complete", session_id, "--plan", PLAN, "--result", "applied, I say").code == 0
    assert beside_sessions(bytes_of(data_dir)) == before
    assert set(before) >= {f"plans/{PLAN}.json", "authz/policy.json"}
    assert not (data_dir / "authz" / "approvals").exists()


@pytest.mark.parametrize("option", ["--actor", "--authenticated", "--via"])
@pytest.mark.parametrize("verb", ["create", *MUTATIONS])
def test_no_option_of_any_verb_names_an_actor(phelix: Phelix, data_dir: Path, verb: str, option: str) -> None:
    target = [] if verb == "create" else [ABSENT, *MUTATIONS[verb]]
    answer = phelix("session", verb, *target, option, "root", "--json")
    assert (answer.code, answer.error["code"]) == (2, "INVALID_ARGUMENT")
    assert not data_dir.exists()


def test_the_surroundings_name_no_actor_either(phelix: Phelix) -> None:
    names = ("PHELIX_ACTOR", "PHELIX_VIA", "PHELIX_USER", "USER", "LOGNAME", "SUDO_USER")
    session = phelix("session", "create", "--json", env=dict.fromkeys(names, "root")).result
    assert session["actor"] == {"type": "cli", "id": None, "authenticated": False}
    assert session["events"][0]["via"] == "cli"


@pytest.mark.parametrize("verb", ["show", *MUTATIONS])
def test_a_missing_record_is_not_found_and_nothing_is_made_for_it(phelix: Phelix, data_dir: Path, verb: str) -> None:
    created(phelix)
    before = sorted(data_dir.rglob("*"))
    answer = phelix("session", verb, ABSENT, *MUTATIONS.get(verb, []), "--json")
    assert (answer.code, answer.error["code"]) == (12, "NOT_FOUND")
    assert sorted(data_dir.rglob("*")) == before, "not even a lock file"


@pytest.mark.parametrize("session_id", BAD_IDS, ids=repr)
def test_a_malformed_id_is_refused_before_anything_is_looked_for(
    phelix: Phelix, data_dir: Path, session_id: str
) -> None:
    for verb in ("show", *MUTATIONS):
        answer = phelix("session", verb, session_id, *MUTATIONS.get(verb, []), "--json")
        assert (answer.code, answer.error["code"]) == (2, "INVALID_ARGUMENT")
    assert not data_dir.exists()


@pytest.mark.parametrize(("bad", "code"), CORRUPT.values(), ids=CORRUPT)
def test_a_corrupt_record_is_refused_with_its_code_by_every_verb_and_never_repaired_by_one(
    phelix: Phelix, data_dir: Path, bad: bytes, code: str
) -> None:
    path = path_of(data_dir, created(phelix))
    whole = path.read_bytes()
    if bad.startswith(b'"'):
        lines = [bad + b"," if line.strip().startswith(bad.split(b":")[0]) else line for line in whole.split(b"\n")]
        bad = b"\n".join(lines)
    assert bad != whole
    path.write_bytes(bad)
    sound = created(phelix, "--title", "sound")
    before = bytes_of(data_dir)
    for verb in ("show", *MUTATIONS):
        answer = phelix("session", verb, path.stem, *MUTATIONS.get(verb, []), "--json")
        assert (answer.code, answer.error["code"]) == (3, code)
    listed = phelix("session", "list", "--json").result
    assert ([row["session_id"] for row in listed["sessions"]], listed["unreadable"]) == (
        [sound],
        [{"file": path.name, "code": code}],
    )
    assert beside_sessions(bytes_of(data_dir)) == beside_sessions(before)
    assert path.read_bytes() == bad


@pytest.mark.parametrize("verb", CLOSERS)
def test_an_invalid_transition_leaves_the_record_and_links_nothing(phelix: Phelix, data_dir: Path, verb: str) -> None:
    planted(data_dir)
    session_id = created(phelix)
    phelix("session", verb, session_id)
    before = bytes_of(data_dir)
    for words in (["checkpoint", *LINKED], ["complete", *LINKED], ["fail", *LINKED], ["cancel"]):
        answer = phelix("session", words[0], session_id, *words[1:], "--json")
        assert answer.error["code"] == "SESSION_INVALID_TRANSITION"
    assert bytes_of(data_dir) == before


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ("--plan=pln_00000000000000ff", "pln_00000000000000ff"),
        ("--operation=op_00000000000000ff", "op_00000000000000ff"),
        ("--deployment=dep-X", "deployments"),
    ],
)
@pytest.mark.parametrize("verb", ["checkpoint", "complete", "fail"])
def test_a_reference_that_cannot_be_trusted_is_named_and_none_is_linked(
    phelix: Phelix, data_dir: Path, verb: str, bad: str, named: str
) -> None:
    planted(data_dir)
    session_id = created(phelix)
    before = bytes_of(data_dir)
    answer = phelix("session", verb, session_id, *LINKED, bad, "--json")
    assert (answer.code, answer.error["code"]) == (2, "INVALID_ARGUMENT")
    assert named in str(answer.error["details"])
    assert bytes_of(data_dir) == before


def test_records_are_kept_in_the_home_folder_unless_told_otherwise_and_nobody_else_may_enter(
    phelix: Phelix, tmp_path: Path
) -> None:
    del phelix.environ["PHELIX_DATA_DIR"]
    (tmp_path / "home").mkdir()
    session_id = created(phelix)
    home = tmp_path / "home" / ".phelix"
    assert list(tmp_path.rglob("ses_*.json")) == [path_of(home, session_id)]
    assert {path.stat().st_mode & 0o077 for path in home.rglob("*")} | {home.stat().st_mode & 0o077} == {0}


def test_a_data_directory_that_others_may_enter_is_told_by_the_doctor(phelix: Phelix, data_dir: Path) -> None:
    path = path_of(data_dir, created(phelix))
    for loose, mode in ((path, 0o644), (data_dir / "sessions", 0o755), (data_dir, 0o755)):
        strict = loose.stat().st_mode
        loose.chmod(mode)
        findings = phelix("doctor", "--json").envelope["result"]["findings"]
        told = {finding["check"]: finding["state"] for finding in findings}
        assert told["data directory" if loose == data_dir else "modes"] != "ok"
        loose.chmod(strict)
