"""Payloads that are wrong: each is refused before anything is opened, its faults are named with their places, and what
was sent is never told back."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from phelix_core.lifecycle.actions import ACTIONS
from phelix_core.lifecycle.performing import PAYLOAD_CAP, perform
from phelix_core.strictjson import dumps, loads
from tests.canaries import CANARIES, IDS, Canary, found_in
from tests.contract.lifecycle import VERSION
from tests.contract.payload_desk import BEGIN, REPORT
from tests.contract.payload_table import (
    HOLDING,
    NAMES,
    OTHERS,
    UNCAPPED,
    cap_of,
    kept,
    members_of,
    payload_of,
    text_of,
    with_member,
    without_member,
)
from tests.core.queue.desk import Desk, milestone, work
from tests.rig import FixedClock


@pytest.fixture
def desk(data_dir: Path, clock: FixedClock) -> Iterator[Desk]:
    """An empty desk; whatever was done on it, the journal must tell all of it."""
    made = Desk(data_dir, clock)
    yield made
    made.require_replay()
    made.env.queue.close()


class Opened(Exception):
    """A payload was read without a complaint, and its queue asked for."""


def opens(path: str | None) -> NoReturn:
    raise Opened(path)


def refused(payload: Any) -> Any:
    """The account of a payload that must be refused with nothing opened."""
    text = payload if isinstance(payload, bytes) else text_of(payload)
    told = perform(text, opens)
    assert told.error is not None
    document = told.document
    assert list(document)[:2] == ["error", "code"]
    assert document["code"] == "INVALID_ARGUMENT"
    assert loads(dumps(document).encode()) == document
    return document


def issues(payload: Any) -> dict[tuple[Any, ...], set[str]]:
    """The codes of what is wrong with a payload, by their places."""
    found: dict[tuple[Any, ...], set[str]] = {}
    for one in refused(payload)["issues"]:
        assert one["message"]
        found.setdefault(tuple(one["path"]), set()).add(one["code"])
    return found


def is_taken(payload: Any) -> bool:
    try:
        assert perform(text_of(payload), opens).error is not None
    except Opened:
        return True
    return False


# Every action, spoiled by one member at a time


@pytest.mark.parametrize("name", NAMES)
def test_a_payload_with_every_member_and_one_with_the_required_ones_alone_are_read(name: str) -> None:
    whole = least = payload_of(ACTIONS[name])
    assert is_taken(whole)
    for member in members_of(ACTIONS[name]):
        if not member.required and isinstance(member.place[-1], str) and len(member.place) == 2:
            least = without_member(least, member.place)
            assert is_taken(without_member(whole, member.place)), member.place
            assert is_taken(with_member(whole, member.place, None)) is member.nullable, member.place
    assert is_taken(least)


@pytest.mark.parametrize("name", NAMES)
def test_a_member_that_nobody_knows_is_named_at_every_level(name: str) -> None:
    whole = payload_of(ACTIONS[name])
    levels = [()] + [
        member.place
        for member in members_of(ACTIONS[name])
        if member.kind == "object" and "properties" in member.schema
    ]
    assert ("input",) in levels
    for place in levels:
        told = refused(with_member(whole, (*place, "zzz"), 1))["issues"]
        assert [(one["code"], tuple(one["path"]), one["keys"]) for one in told] == [
            ("unrecognized_keys", place, ["zzz"])
        ]
        for known in ("contractversion", "contract_version", "__proto__", ""):
            assert issues(with_member(whole, (*place, known), 1)) == {place: {"unrecognized_keys"}}, known


@pytest.mark.parametrize("name", NAMES)
def test_a_name_in_another_spelling_is_an_unknown_member(name: str) -> None:
    action = ACTIONS[name]
    for member in members_of(action):
        word = member.place[-1]
        if len(member.place) == 2 and isinstance(word, str) and word != word.lower() and member.required:
            spelled = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in word)
            payload = with_member(payload_of(action), ("input", spelled), "x")
            assert issues(payload) == {("input",): {"unrecognized_keys"}}, spelled
            assert issues(without_member(payload, member.place)) == {
                ("input",): {"unrecognized_keys"},
                member.place: {"invalid_type"},
            }


@pytest.mark.parametrize("name", NAMES)
def test_each_required_member_that_is_missing_is_named(name: str) -> None:
    whole = payload_of(ACTIONS[name])
    for member in members_of(ACTIONS[name]):
        if member.required:
            told = refused(without_member(whole, member.place))["issues"]
            assert [(one["code"], tuple(one["path"]), one["message"]) for one in told] == [
                ("invalid_type", member.place, "Required")
            ]


@pytest.mark.parametrize("name", NAMES)
def test_a_member_of_another_type_is_named_and_none_is_taken_for_what_it_looks_like(name: str) -> None:
    whole = payload_of(ACTIONS[name])
    for member in members_of(ACTIONS[name]):
        for value in (*OTHERS[member.kind], *(() if member.nullable else (None,))):
            found = issues(with_member(whole, member.place, value))
            assert found.keys() == {member.place}, (member.place, value)
            assert found[member.place] <= {"invalid_type", "invalid_value"}


@pytest.mark.parametrize("name", NAMES)
def test_a_number_or_a_list_beyond_its_limits_and_an_unknown_word_are_named(name: str) -> None:
    whole = payload_of(ACTIONS[name])
    for member in members_of(ACTIONS[name]):
        beyond: list[Any] = []
        if member.kind == "integer":
            beyond = [member.schema["minimum"] - 1, member.schema["maximum"] + 1, -(2**63), 2**63 - 1]
        elif "enum" in member.schema:
            beyond = ["", "x", member.schema["enum"][0].upper(), f"{member.schema['enum'][0]} "]
        elif "maxItems" in member.schema:
            item = payload_at(whole, member.place)[0]
            beyond = [[item] * (member.schema["maxItems"] + 1), *([[]] if "minItems" in member.schema else [])]
        for value in beyond:
            assert issues(with_member(whole, member.place, value)) == {member.place: {"invalid_value"}}, value


def payload_at(payload: Any, place: tuple[str | int, ...]) -> Any:
    for name in place:
        payload = payload[name]
    return payload


@pytest.mark.parametrize("name", NAMES)
def test_text_is_refused_over_its_cap_in_bytes_and_never_cut_and_blank_text_is_none(name: str) -> None:
    whole = payload_of(ACTIONS[name])
    for member in members_of(ACTIONS[name]):
        if member.kind != "string" or "enum" in member.schema or member.place in UNCAPPED:
            continue
        cap = cap_of(member.place)
        longest = "é" * (cap // 2) + "x" * (cap % 2)
        assert is_taken(with_member(whole, member.place, longest)), member.place
        told = refused(with_member(whole, member.place, f"{longest}x"))["issues"]
        assert [(one["code"], tuple(one["path"])) for one in told] == [("invalid_value", member.place)]
        assert str(cap) in told[0]["message"], "a refusal says how much is taken"
        blank = () if member.place[-1] == "cursor" else ("", "  ", "\t")
        for value in (*blank, "a\0b"):
            found = issues(with_member(whole, member.place, value))
            assert found == {member.place: {"invalid_value"}}, (member.place, value)


@pytest.mark.parametrize("name", NAMES)
def test_faults_that_come_together_are_all_named(name: str) -> None:
    action = ACTIONS[name]
    spoiled = with_member(payload_of(action), ("contractVersion",), "5.0.0")
    expected: dict[tuple[Any, ...], set[str]] = {
        ("contractVersion",): {"invalid_value"},
        (): {"unrecognized_keys"},
    }
    spoiled["one"] = spoiled["other"] = {}
    for member in members_of(action):
        if len(member.place) == 1:
            spoiled = with_member(spoiled, (*member.place, "zzz"), 1)
            expected[member.place] = {"unrecognized_keys"}
        elif len(member.place) == 2:
            spoiled = with_member(spoiled, member.place, OTHERS[member.kind][0])
            expected[member.place] = {"invalid_type"}
    found = issues(spoiled)
    assert found.keys() == expected.keys()
    told = refused(spoiled)["issues"]
    assert [one["keys"] for one in told if one["path"] == []] == [["one"], ["other"]]


# The envelope around the input


@pytest.mark.parametrize("name", NAMES)
def test_any_contract_version_but_the_exact_one_is_refused_whatever_the_action(name: str) -> None:
    whole = payload_of(ACTIONS[name])
    assert issues(without_member(whole, ("contractVersion",))).keys() == {("contractVersion",)}
    others: list[Any] = ["5.0.0", "6.0.1", "6.0", "6", "6.0.0 ", "v6.0.0", "", 6, 6.0, None, True, [VERSION], {}]
    for other in others:
        told = refused(with_member(whole, ("contractVersion",), other))["issues"]
        assert [(one["code"], one["path"], one["values"]) for one in told] == [
            ("invalid_value", ["contractVersion"], [VERSION])
        ]


@pytest.mark.parametrize(
    "word",
    ["nope", "", "Close", "close ", "begin", "inspect_overview", "inspect_issue", "__class__", 1, None, ["close"], {}],
)
def test_an_action_that_nobody_knows_is_refused_and_the_known_ones_are_listed(word: Any) -> None:
    payload: dict[str, Any] = {"contractVersion": VERSION, "action": word, "context": {}, "input": {}}
    (told,) = refused(payload)["issues"]
    assert (told["code"], told["path"], told["values"]) == ("invalid_value", ["action"], list(ACTIONS))
    missing = refused({"input": {}})["issues"]
    assert [one["path"] for one in missing] == [["contractVersion"], ["action"]]


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(HOLDING)))
def test_a_context_is_an_unknown_member_of_what_is_done_under_no_lease(name: str) -> None:
    assert issues(payload_of(ACTIONS[name]) | {"context": {"leaseId": "L"}}) == {(): {"unrecognized_keys"}}


# Texts that are no payload

NO_PAYLOAD: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "invalid_json"),
    "white space": (b" \n\t ", "invalid_json"),
    "words": (b"hello", "invalid_json"),
    "half an object": (b'{"contractVersion": "6.0.0"', "invalid_json"),
    "two objects": (b"{}{}", "invalid_json"),
    "single quotes": (b"{'action': 'close'}", "invalid_json"),
    "a comma too many": (b'{"action": "close",}', "invalid_json"),
    "a comment": (b"{} // why", "invalid_json"),
    "NaN": (b'{"input": NaN}', "invalid_json"),
    "Infinity": (b'{"input": -Infinity}', "invalid_json"),
    "a number without end": (b'{"input": 1e999}', "invalid_json"),
    "an integer over 64 bits": (b'{"input": 9223372036854775808}', "invalid_json"),
    "digits without end": (b'{"input": ' + b"9" * 100_000 + b"}", "invalid_json"),
    "a key twice": (b'{"action": "close", "action": "close"}', "invalid_json"),
    "a key twice further in": (b'{"input": {"a": [{"b": 1, "b": 1}]}}', "invalid_json"),
    "a key twice by escapes": (b'{"action": "close", "\\u0061ction": "close"}', "invalid_json"),
    "deep lists": (b'{"input": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "invalid_json"),
    "deep objects": (b'{"a":' * 33 + b"1" + b"}" * 33, "invalid_json"),
    "a lone surrogate": (b'{"action": "\\ud800"}', "invalid_json"),
    "a lone surrogate as a key": (b'{"\\udfff": 1}', "invalid_json"),
    "a surrogate in bytes": (b'{"action": "\xed\xa0\x80"}', "invalid_json"),
    "a control character": (b'{"action": "a\x01b"}', "invalid_json"),
    "latin-1": ('{"action": "é"}'.encode("latin-1"), "invalid_json"),
    "UTF-16": ('{"action": "close"}'.encode("utf-16"), "invalid_json"),
    "UTF-16 without a mark": ('{"action": "close"}'.encode("utf-16-le"), "invalid_json"),
    "a byte order mark": (b'\xef\xbb\xbf{"action": "close"}', "invalid_json"),
    "zeros": (b"\0" * 64, "invalid_json"),
    "a list": (b"[]", "invalid_type"),
    "text": (b'"close"', "invalid_type"),
    "a number": (b"6", "invalid_type"),
    "true": (b"true", "invalid_type"),
    "null": (b"null", "invalid_type"),
    "too much": (b'{"input": "' + b"x" * PAYLOAD_CAP + b'"}', "too_big"),
    "too much of nothing": (b" " * (PAYLOAD_CAP + 1), "too_big"),
}


@pytest.mark.parametrize("name", NO_PAYLOAD)
def test_a_text_that_is_no_payload_is_refused_for_that_alone(name: str) -> None:
    text, code = NO_PAYLOAD[name]
    (told,) = refused(text)["issues"]
    assert (told["code"], told["path"]) == (code, [])
    assert len(told["message"]) < 200


def test_thirty_two_levels_are_read_and_a_payload_at_its_cap_is(desk: Desk) -> None:
    whole = payload_of(ACTIONS["save_artifact"])
    deep: Any = "x"
    for _ in range(29):
        deep = [deep]
    assert is_taken(with_member(whole, ("input", "metadata"), {"k": deep}))
    text = text_of(whole)
    with pytest.raises(Opened):
        perform(text + b" " * (PAYLOAD_CAP - len(text)), opens)
    assert desk.content() == {}


def test_however_many_faults_there_are_a_hundred_are_told() -> None:
    whole = payload_of(ACTIONS["close"])
    assert len(refused(whole | {f"z{number}": 1 for number in range(1_000)})["issues"]) == 100
    spoiled = with_member(whole, ("context", "scope"), dict.fromkeys(map(str, range(1_000)), 1))
    assert len(refused(spoiled)["issues"]) == 100


# Batches and policies, whose members are read by the queue itself

BATCH = [milestone("a", work("one", policy={"dispatch": {"workloadClass": "code"}}), work("two", 0))]


def planning(desk: Desk, milestones: Any, **more: Any) -> Any:
    given = {"projectId": "Acme", "campaignId": "first", "milestones": milestones, **more}
    payload = {"contractVersion": VERSION, "action": "plan_issues", "input": given}
    return perform(text_of(payload), lambda _: desk.env)


SPOILED_BATCHES: dict[str, tuple[tuple[str | int, ...], Any]] = {
    "no milestones": ((), []),
    "a milestone that is a list": ((0,), []),
    "an unknown member of a milestone": ((0, "zzz"), 1),
    "milestoneKey for milestone_key": ((0, "milestoneKey"), "a"),
    "a key that is a number": ((0, "milestone_key"), 1),
    "an empty key": ((0, "milestone_key"), ""),
    "a key over its cap": ((0, "milestone_key"), "x" * 129),
    "a description that is nothing": ((0, "description"), None),
    "no issues": ((0, "issues"), []),
    "issues that are an object": ((0, "issues"), {}),
    "issues that are nothing": ((0, "issues"), None),
    "an issue that is text": ((0, "issues", 1), "two"),
    "an unknown member of an issue": ((0, "issues", 1, "zzz"), 1),
    "an unknown priority": ((0, "issues", 1, "priority"), "urgent"),
    "a priority in capitals": ((0, "issues", 1, "priority"), "HIGH"),
    "an unknown size": ((0, "issues", 1, "size"), "XXXL"),
    "a size that is a number": ((0, "issues", 1, "size"), 3),
    "a task over its cap": ((0, "issues", 1, "task"), "é" * 501),
    "a task that is empty": ((0, "issues", 1, "task"), ""),
    "a forward index": ((0, "issues", 0, "depends_on_indices"), [1]),
    "an index to itself": ((0, "issues", 1, "depends_on_indices"), [1]),
    "an index below all": ((0, "issues", 1, "depends_on_indices"), [-1]),
    "an index that is text": ((0, "issues", 1, "depends_on_indices"), ["0"]),
    "an index that is true": ((0, "issues", 1, "depends_on_indices"), [True]),
    "a milestone that waits for itself": ((0, "depends_on_milestone_keys"), ["a"]),
    "a milestone that waits for an unknown one": ((0, "depends_on_milestone_keys"), ["b"]),
    "a milestone that waits for an unknown id": ((0, "depends_on_milestone_ids"), ["M-none"]),
    "a deadline without an offset": ((0, "issues", 1, "deadlineAt"), "2026-08-01T12:00:00"),
    "a deadline that is a number": ((0, "deadlineAt"), 1_790_000_000_000),
    "recipients that are text": ((0, "issues", 1, "recipients"), "ann"),
    "an approval by nobody": ((0, "approvals"), [{"id": "1", "recipientIds": ["none"]}]),
    "a policy that is a list": ((0, "issues", 0, "policy"), []),
    "an unknown member of a policy": ((0, "issues", 0, "policy", "zzz"), 1),
    "an unknown member further in": ((0, "issues", 0, "policy", "dispatch", "zzz"), 1),
    "a class that is a number": ((0, "issues", 0, "policy", "dispatch", "workloadClass"), 1),
}


@pytest.mark.parametrize("name", SPOILED_BATCHES)
def test_a_batch_that_is_wrong_anywhere_is_refused_with_its_place_and_no_row_is_made(
    desk: Desk, data_dir: Path, name: str
) -> None:
    desk.open()
    place, value = SPOILED_BATCHES[name]
    spoiled = with_member({"milestones": BATCH}, ("milestones", *place), value)["milestones"]
    rows, files = desk.content(), kept(data_dir)
    told = planning(desk, spoiled).document
    assert told["code"] == "INVALID_ARGUMENT"
    paths = [one["path"] for one in told["issues"]]
    assert all(path[:2] == ["input", "milestones"] for path in paths), paths
    shared = ["input", "milestones", *place]
    assert any(path == shared[: len(path)] or path[: len(shared)] == shared for path in paths), paths
    assert (desk.content(), kept(data_dir)) == (rows, files)
    assert planning(desk, BATCH).error is None, "only that was wrong"


@pytest.mark.parametrize(
    "place",
    [
        (0, "milestone_key"),
        (0, "description"),
        (0, "issues"),
        *((0, "issues", 1, n) for n in ("task", "priority", "size")),
    ],
)
def test_a_batch_without_a_member_that_it_needs_is_refused_with_its_place(
    desk: Desk, place: tuple[str | int, ...]
) -> None:
    desk.open()
    rows = desk.content()
    spoiled = without_member({"milestones": BATCH}, ("milestones", *place))["milestones"]
    told = planning(desk, spoiled).document
    assert [one["path"] for one in told["issues"]] == [["input", "milestones", *place]]
    assert desk.content() == rows


def test_two_milestones_with_one_key_and_a_ring_of_milestones_are_refused(desk: Desk) -> None:
    desk.open()
    rows = desk.content()
    twice = [milestone("a", "one"), milestone("a", "two")]
    ring = [milestone("a", "one", after=("b",)), milestone("b", "two", after=("a",))]
    for batch in (twice, ring):
        assert planning(desk, batch).document["code"] == "INVALID_ARGUMENT"
    assert desk.content() == rows


@pytest.mark.parametrize(
    "policy",
    [
        {"zzz": 1},
        {"dispatch": {"zzz": 1}},
        {"dispatch": []},
        {"dispatch": {"requiredHostCapabilities": "net"}},
        {"maxRecoveries": "3"},
        {"maxRecoveries": -1},
        {"serviceLevel": {"resolveWithinMinutes": 0}},
        {"escalationRules": {}},
    ],
)
def test_a_campaigns_policy_is_read_as_strictly_and_its_place_is_named(desk: Desk, policy: Any) -> None:
    desk.open()
    rows = desk.content()
    given = {"projectName": "Acme", "campaignName": "second", "objective": "o", "policy": policy}
    payload = {"contractVersion": VERSION, "action": "create_campaign", "input": given}
    told = perform(text_of(payload), lambda _: desk.env).document
    assert told["code"] == "INVALID_ARGUMENT"
    assert [one["path"][:2] for one in told["issues"]] == [["input", "policy"]]
    assert desk.content() == rows


def test_faults_that_come_together_in_a_batch_are_all_named(desk: Desk) -> None:
    desk.open()
    batch = [milestone("a", work("one", size="huge"), work("two", priority="urgent")), milestone("", "three", zzz=1)]
    told = planning(desk, batch).document
    assert {tuple(one["path"][2:]) for one in told["issues"]} == {
        (0, "issues", 0, "size"),
        (0, "issues", 1, "priority"),
        (1, "milestone_key"),
        (1,),
    }


# What only the rules can refuse, named as the payload names it

IN_PROGRESS = {**REPORT, "taskStatus": "in_progress"}
BIG = {"k": "x" * 20_000}
BY_RULES: dict[str, tuple[str, dict[str, Any], list[str | int]]] = {
    "no evidence": ("checkpoint", {**IN_PROGRESS, "artifactIds": []}, ["input", "artifactIds"]),
    "a checkpoint as ready": ("checkpoint", {**IN_PROGRESS, "taskStatus": "ready"}, ["input", "taskStatus"]),
    "a checkpoint as pending": ("checkpoint", {**IN_PROGRESS, "taskStatus": "pending"}, ["input", "taskStatus"]),
    "a close in progress": ("close", IN_PROGRESS, ["input", "taskStatus"]),
    "an advance as pending": ("advance", {**IN_PROGRESS, "taskStatus": "pending"}, ["input", "taskStatus"]),
    "a reason without a block": ("checkpoint", {**IN_PROGRESS, "blockedReason": "r"}, ["input", "blockedReason"]),
    "metadata over its cap": ("checkpoint", {**IN_PROGRESS, "metadata": BIG}, ["input", "metadata"]),
    "a scorecard over its cap": (
        "checkpoint",
        {**IN_PROGRESS, "csqrLiteScorecards": [{"path": "p", "scorecard": BIG}]},
        ["input", "csqrLiteScorecards", 0, "scorecard"],
    ),
    "a context over its cap": ("context", {"mem0": {"k": "x" * (1 << 20)}}, ["context"]),
    "one artifact twice": ("begin_incremental", {**BEGIN, "artifacts": BEGIN["artifacts"] * 2}, ["input", "artifacts"]),
    "a cursor of nobody's": ("inspect_export", {"projectId": "Acme", "cursor": "x"}, ["input", "cursor"]),
    "an artifact's metadata": (
        "save_artifact",
        {"issueId": "I", "kind": "k", "path": "p", "metadata": BIG},
        ["input", "metadata"],
    ),
}


@pytest.mark.parametrize("name", BY_RULES)
def test_what_a_rule_refuses_is_told_with_the_place_that_the_payload_has_for_it(desk: Desk, name: str) -> None:
    desk.open().plan(milestone("m", "a"))
    held = desk.claim("a")
    action, given, place = BY_RULES[name]
    payload: dict[str, Any] = {"contractVersion": VERSION, "action": action, "input": given}
    if action == "context":
        payload |= {"action": "checkpoint", "input": IN_PROGRESS, "context": held | given}
    elif ACTIONS[action].holds:
        payload["context"] = held
    rows = desk.content()
    told = perform(text_of(payload), lambda _: desk.env).document
    assert told["code"] == "INVALID_ARGUMENT"
    assert [one["path"][: len(place)] for one in told["issues"]] == [place]
    assert desk.content() == rows


# Secrets in what is refused


def spoiled_by(canary: Canary) -> Iterator[bytes]:
    """Payloads with a secret in each place that a refusal could tell of."""
    text = canary.text
    for name in ("begin_incremental", "close", "plan_issues"):
        whole = payload_of(ACTIONS[name])
        yield text_of(whole | {text: 1})
        yield text_of(whole | {"contractVersion": text})
        yield text_of(whole | {"action": text})
        yield text_of(whole | {"input": text})
        yield text_of(with_member(whole, ("input", text), text))
    close = payload_of(ACTIONS["close"])
    for member in members_of(ACTIONS["close"]):
        if member.kind == "string":
            yield text_of(with_member(close, member.place, {text: text}))
            if member.place not in UNCAPPED:
                yield text_of(with_member(close, member.place, text * 4_096))
        elif member.kind != "object":
            yield text_of(with_member(close, member.place, text))
    yield text_of(with_member(close, ("context", "scope"), {text: 1}))
    yield text_of(with_member(close, ("input", "metadata"), {text: [text]}))
    yield text_of(text)
    yield text.encode()
    yield json.dumps({text: 1})[:-2].encode()
    yield f'{{"{text}": NaN, "{text}": 1}}'.encode()


@pytest.mark.parametrize("canary", CANARIES, ids=IDS)
def test_no_refusal_of_a_payload_tells_a_secret_that_stood_in_it(canary: Canary) -> None:
    for payload in spoiled_by(canary):
        assert found_in(dumps(refused(payload))) == []


@pytest.mark.parametrize("canary", CANARIES, ids=IDS)
def test_no_refusal_by_the_queue_tells_a_secret_either_and_nothing_is_stored(
    desk: Desk, data_dir: Path, canary: Canary
) -> None:
    desk.open().plan(milestone("m", "a"))
    context = desk.claim("a")
    before = kept(data_dir)
    text = canary.text[:100]
    report = {"title": "t", "summary": text, "taskStatus": "done", "nextStep": text, "artifactIds": [text]}
    calls: list[tuple[str, dict[str, Any], Any]] = [
        ("inspect_audit", {"issueId": text}, None),
        ("inspect_export", {"projectId": text}, None),
        ("inspect_export", {"projectId": "Acme", "cursor": text}, None),
        ("get_context", {"projectId": text}, None),
        ("unblock", {"issueId": text, "reason": text}, None),
        ("drain", {"campaignId": text, "reason": text}, None),
        ("plan_issues", {"projectId": "Acme", "milestones": [{text: text}]}, None),
        ("plan_issues", {"projectId": "Acme", "milestones": [milestone("k", work("t", policy={text: text}))]}, None),
        ("plan_issues", {"projectId": "Acme", "milestones": [milestone("k", "t", after=(text,))]}, None),
        ("checkpoint", report, {"leaseId": text}),
        ("close", report, {**context, "runId": text}),
        ("close", {**report, "requestId": text}, context),
        ("close", {**report, "taskStatus": "in_progress"}, context),
        ("heartbeat", {}, {**context, "leaseEpoch": 99, "host": text}),
    ]
    for action, given, held in calls:
        payload = {"contractVersion": VERSION, "action": action, "input": given}
        told = perform(text_of(payload | ({} if held is None else {"context": held})), lambda _: desk.env)
        assert told.error is not None, (action, given)
        assert found_in(dumps(told.document)) == [], (action, given)
    assert kept(data_dir) == before
