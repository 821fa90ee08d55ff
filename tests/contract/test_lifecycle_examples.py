"""Programs written for the lifecycle document: its own runtime's examples give the same keys and types here."""

from pathlib import Path

import pytest

from phelix_core.lifecycle.actions import ACTIONS, DOCUMENTED
from tests.contract.lifecycle import Program, Told, misfits, payloads

UPSTREAM = payloads("upstream")
OURS = payloads("lifecycle")
Played = dict[str, Told]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """Every example in its order, on one queue of ours; a heartbeat stands between, as theirs counts a claim as one."""
    home = tmp_path_factory.mktemp("upstream")
    program = Program(home / "data", home)
    program.learn(program.do("init_workspace", workspaceName="w"))
    made = program.do("create_campaign", projectName="p", campaignName="c", objective="o")
    program.learn(made)
    told: Played = {}
    for name, example in UPSTREAM.items():
        told[name] = program.play(example["input"])
        if name.startswith("02"):
            program.do("heartbeat", program.known["context"])
    return told


@pytest.mark.parametrize("name", UPSTREAM)
def test_an_example_of_the_documents_runtime_gives_the_same_keys_and_types(played: Played, name: str) -> None:
    example, told = UPSTREAM[name], played[name]
    assert told.code == example["exitCode"], told.err.decode()
    if example["stdout"] is None:
        assert list(misfits(example["stderr"], told.error)) == []
        assert told.error["code"] == "INVALID_ARGUMENT"
    else:
        assert list(misfits(example["stdout"], told.answer)) == []


def test_the_comparison_finds_what_is_missing_and_what_has_another_type() -> None:
    shape = {"a": "text", "b": [{"c": "number", "d?": "flag"}]}
    assert list(misfits(shape, {"a": "x", "b": [{"c": 1}, {"c": 2.5, "d": True}], "more": None})) == []
    found = list(misfits(shape, {"b": [{"c": True}, {"d": 1}]}))
    assert found == [
        ".a: missing",
        ".b[0].c: bool where number is expected",
        ".b[1].c: missing",
        ".b[1].d: int where flag is expected",
    ]


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """Our own example payloads, one after the other."""
    home = tmp_path_factory.mktemp("ours")
    program = Program(home / "data", home)
    return {name: program.play(payload) for name, payload in OURS.items()}


@pytest.mark.parametrize("name", OURS)
def test_an_example_payload_of_our_own_is_carried_out(ours: Played, name: str) -> None:
    answer = ours[name].answer
    assert answer["action"] == OURS[name]["action"]
    assert list(answer) == ["action", ACTIONS[answer["action"]].answers]


def test_every_action_has_an_example_payload_and_the_documents_eight_come_first() -> None:
    assert {payload["action"] for payload in OURS.values()} == set(ACTIONS)
    assert tuple(name for name in ACTIONS if name in DOCUMENTED) == DOCUMENTED
    assert len(DOCUMENTED) == 8


def test_the_readme_shows_a_payload_that_is_one_of_the_examples(ours: Played) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    shown = [name for name in ours if f"tests/fixtures/lifecycle/{name}.json" in readme]
    assert shown, "the README names example payloads"


@pytest.mark.parametrize("pair", [("projectId", "projectName"), ("campaignId", "campaignName")])
def test_what_is_named_in_two_ways_at_once_is_refused_with_its_place(tmp_path: Path, pair: tuple[str, str]) -> None:
    program = Program(tmp_path / "data", tmp_path)
    batch = OURS["03_plan_issues"]["input"]["milestones"]
    told = program(
        {
            "contractVersion": "6.0.0",
            "action": "plan_issues",
            "input": {"milestones": batch, pair[0]: "a", pair[1]: "b"},
        }
    ).error
    assert told["issues"] == [
        {"code": "invalid_value", "path": ["input", pair[1]], "message": f"Say it as {pair[0]} alone"}
    ]
    assert not (tmp_path / "data").exists()


def test_a_rules_refusal_speaks_of_the_payloads_members(tmp_path: Path) -> None:
    program = Program(tmp_path / "data", tmp_path)
    report = {"title": "t", "summary": "s", "taskStatus": "ready", "nextStep": "n", "artifactIds": ["x"]}
    payload = {"contractVersion": "6.0.0", "action": "checkpoint", "context": {"leaseId": "L"}, "input": report}
    told = program(payload).error
    assert told["error"].startswith("input.taskStatus: checkpoint takes one of ")
    assert told["issues"][0]["path"] == ["input", "taskStatus"]
    program.do("init_workspace", workspaceName="w")
    campaign = {"projectName": "p", "campaignName": "c", "objective": "o", "policy": {"a": 1, "b": 2}}
    told = program({"contractVersion": "6.0.0", "action": "create_campaign", "input": campaign}).error
    assert [(one["code"], one["keys"]) for one in told["issues"]] == [("unrecognized_keys", ["a", "b"])]
