"""The guide's command lines, word for word where they can be, and what it says of all of them."""

from pathlib import Path
from typing import Any

import pytest

from tests.contract.guide_stage import DEPLOYMENT, LINKED, MUTATIONS, OPERATION, PLAN, created, path_of, planted
from tests.rig import Phelix, bytes_of
from tests.surfaces.test_upstream_checklist import write_operation, write_plan

ABSENT = "ses_00000000000000ff"
LINES: dict[str, tuple[list[str], dict[str, Any]]] = {
    "create": (["--title", "ship billing v3", "--app", "billing"], {"title": "ship billing v3", "app": "billing"}),
    "show": (["ses_…"], {"title": "ship billing v3"}),
    "list": (["--status", "active", "--app", "billing", "--limit", "20"], {"count": 1, "truncated": False}),
    "checkpoint": (
        ["ses_…", "--step", "deploy", "--note", "canary at 10%", *LINKED],
        {"plan_ids": [PLAN], "operation_ids": [OPERATION], "deployment_ids": [DEPLOYMENT]},
    ),
    "complete": (
        ["ses_…", "--result", "shipped v3 to 100%"],
        {"status": "completed", "final_result": "shipped v3 to 100%"},
    ),
    "fail": (
        ["ses_…", "--reason", "canary regressed; rolled back"],
        {"status": "failed", "final_result": "canary regressed; rolled back"},
    ),
    "cancel": (
        ["ses_…", "--reason", "superseded by a newer plan"],
        {"status": "cancelled", "final_result": "superseded by a newer plan"},
    ),
}
REFUSED = {
    "create": ["--title", "x" * 201],
    "show": [ABSENT],
    "list": ["--status", "paused"],
    **{verb: [ABSENT, *words] for verb, words in MUTATIONS.items()},
}


def words_of(verb: str, session_id: str) -> list[str]:
    """A line of the guide about that session."""
    return [session_id if word == "ses_…" else word for word in LINES[verb][0]]


@pytest.mark.parametrize("verb", LINES)
def test_each_line_of_the_guide_does_what_it_says(phelix: Phelix, data_dir: Path, verb: str) -> None:
    planted(data_dir)
    session_id = created(phelix, *LINES["create"][0])
    result = phelix("session", verb, *words_of(verb, session_id), "--json").result
    expected = LINES[verb][1]
    assert {name: result[name] for name in expected} == expected
    assert (result.get("session_id", session_id) == session_id) is (verb != "create")


@pytest.mark.parametrize("verb", LINES)
def test_every_command_answers_one_envelope_with_json_and_the_same_status_without(
    phelix: Phelix, data_dir: Path, tmp_path: Path, verb: str
) -> None:
    planted(data_dir)
    plain = Phelix(tmp_path / "plain", tmp_path)
    planted(plain.data_dir)
    for words in (words_of(verb, created(phelix)), REFUSED[verb]):
        answer = phelix("session", verb, *words, "--json")
        document = answer.envelope
        assert document["schema_version"] == "1"
        assert document["status"] == ("failed" if answer.code else "succeeded")
        assert list(document) == ["schema_version", "status", "error" if answer.code else "result"]
        if answer.code:
            assert {"code", "message", "exit_code", "retryable"} <= answer.error.keys()
            assert answer.error["exit_code"] == answer.code
        here = [created(plain) if word.startswith("ses_") and word != ABSENT else word for word in words]
        told = plain("session", verb, *here)
        assert told.code == answer.code
        assert not told.out.startswith(b"{"), "without --json it is written for people"
    assert answer.code, "the second was refused"


def test_no_session_answer_has_an_operation_id_for_a_session_is_no_operation(phelix: Phelix, data_dir: Path) -> None:
    planted(data_dir)
    for verb in LINES:
        session_id = created(phelix, *LINES["create"][0])
        answer = phelix("session", verb, *words_of(verb, session_id), "--json").envelope
        assert list(answer) == ["schema_version", "status", "result"]
        assert "operation_id" not in answer["result"]


@pytest.mark.parametrize("verb", MUTATIONS)
def test_a_guarded_change_applies_at_its_revision_and_is_otherwise_refused_until_it_is_read_again(
    phelix: Phelix, data_dir: Path, verb: str
) -> None:
    session_id = created(phelix)
    phelix("session", "checkpoint", session_id, "--step", "somebody was faster")
    before = bytes_of(data_dir)
    answer = phelix("session", verb, session_id, *MUTATIONS[verb], "--if-rev", "1", "--json")
    assert (answer.code, answer.error["code"], answer.error["retryable"]) == (1, "SESSION_CONFLICT", True)
    assert bytes_of(data_dir) == before
    rev = phelix("session", "show", session_id, "--json").result["rev"]
    after = phelix("session", verb, session_id, *MUTATIONS[verb], "--if-rev", str(rev), "--json").result
    assert after["rev"] == rev + 1 == 3


@pytest.mark.parametrize("verb", ["create", "show", "list"])
def test_what_changes_no_record_takes_no_guard(phelix: Phelix, verb: str) -> None:
    answer = phelix("session", verb, *words_of(verb, ABSENT), "--if-rev", "1", "--json")
    assert (answer.code, answer.error["code"]) == (2, "INVALID_ARGUMENT")


def test_show_tells_of_each_reference_whether_it_is_present_missing_unavailable_or_unknown(
    phelix: Phelix, data_dir: Path
) -> None:
    ids = {state: digit * 16 for state, digit in (("present", "a"), ("missing", "b"), ("unavailable", "c"))}
    words: list[str] = []
    for number in ids.values():
        write_plan(data_dir, f"pln_{number}")
        write_operation(data_dir, f"op_{number}", deployment_id=f"dep-{number[0]}")
        words += ["--plan", f"pln_{number}", "--operation", f"op_{number}"]
    session_id = created(phelix)
    assert phelix("session", "checkpoint", session_id, *words, "--deployment=dep-a", "--deployment=dep-f").code == 0
    for name in ("plans/pln_", "ops/op_"):
        (data_dir / f"{name}{ids['missing']}.json").unlink()
        (data_dir / f"{name}{ids['unavailable']}.json").write_text("{")
    before = path_of(data_dir, session_id).read_bytes()
    resolved = phelix("session", "show", session_id, "--json").result["resolved"]
    assert {kind: [one["state"] for one in resolved[kind]] for kind in resolved} == {
        "plans": ["present", "missing", "unavailable"],
        "operations": ["present", "missing", "unavailable"],
        "deployments": ["present", "unknown"],
    }
    assert [one["present"] for one in resolved["plans"]] == [True, False, False]
    assert [one.get("error_code") for one in resolved["operations"]] == [None, None, "OPERATION_CORRUPT"]
    assert path_of(data_dir, session_id).read_bytes() == before
