"""Plans: what is read is written back, and what was touched after it was hashed is no plan."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phelix_core.arc.model import (
    MAX_PLAN_BYTES,
    Precondition,
    decode_plan,
    encode_plan,
    plan_document,
    plan_hash,
    plan_of,
)
from phelix_core.errors import InvalidArgument, PhelixError, PlanCorrupt, PlanHashMismatch, PlanInvalid
from phelix_core.strictjson import dumps, plain
from tests.core.arc.samples import OPERATION_ID, PLAN_ID, fact, sample_plan

HASHED = ("action", "target", "inputs", "execution", "preconditions", "capabilities")

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
tables: st.SearchStrategy[dict[str, Any]] = st.dictionaries(texts, values, max_size=3)


def rehashed(document: dict[str, Any]) -> dict[str, Any]:
    """The document under the hash that its content has."""
    return document | {"plan_hash": plan_hash("1", {part: document.get(part) for part in HASHED})}


def text_of(document: dict[str, Any]) -> bytes:
    return dumps(document).encode()


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """The record of a plan under its right hash, with members that nobody knows."""
    document = plan_document(
        PLAN_ID,
        draw(texts.filter(bool)),
        1,
        action=draw(texts.filter(bool)),
        inputs=draw(tables),
        execution=draw(tables),
        preconditions=draw(st.lists(st.builds(Precondition, type=texts, expected=texts, source=texts), max_size=3)),
        capabilities=draw(st.lists(texts, max_size=3)),
    )
    document |= {f"x_{name}": value for name, value in draw(tables).items()}
    if operation := draw(st.none() | texts):
        document["correlation"] = {"operation_id": operation}
    return rehashed(document)


@given(documents())
def test_a_plan_is_written_as_it_was_read_with_all_that_is_not_known(document: dict[str, Any]) -> None:
    data = text_of(document)
    read = decode_plan(data, PLAN_ID)
    assert encode_plan(read) == data
    assert plain(read) == document
    assert decode_plan(encode_plan(read), PLAN_ID) == read


def test_members_of_the_guides_own_plan_are_read_and_kept() -> None:
    document = rehashed(
        {
            "schema_version": "1",
            "plan_id": PLAN_ID,
            "created_at_ms": 77,
            "status": "applied",
            "action": {"type": "rebuild", "application": "Billing"},
            "target": {"app_id": "a1", "app_name": "Billing", "language": "go"},
            "inputs": {"port": 8080, "build_args": ["A=<1>"]},
            "execution": {"strategy": "classic", "steps": ["build", "start"]},
            "preconditions": [{"type": "current_version", "expected": "v17", "source": "versions.json"}],
            "capabilities": ["docker"],
            "correlation": {"operation_id": OPERATION_ID, "deployment_id": "dep-1", "applied_at_ms": 78},
        }
    )
    before = json.dumps(document)
    plan = plan_of(document, PLAN_ID)
    assert (plan.action.type, plan.action.application, plan.created_at_ms) == ("rebuild", "Billing", 77)
    assert (plan.target["language"], plan.inputs["port"], plan.execution["strategy"]) == ("go", 8080, "classic")
    assert plan.preconditions == (Precondition(type="current_version", expected="v17", source="versions.json"),)
    assert plan.capabilities == ("docker",)
    assert plan.correlation
    assert (plan.correlation.operation_id, plan.correlation.applied_at_ms) == (OPERATION_ID, 78)
    assert json.dumps(document) == before, "reading takes nothing from what is read"


def test_a_plan_of_which_one_byte_was_edited_is_the_same_content_or_no_plan() -> None:
    document = plan_document(
        PLAN_ID,
        "billing",
        5,
        inputs={"version": "v3"},
        execution={"argv": ["./deploy", "v3"], "time_limit_seconds": 600},
        preconditions=[fact("current_version", "v2")],
        capabilities=["deploy"],
    )
    data = text_of(document)
    told = {name: value for name, value in document.items() if name in HASHED}
    refused = 0
    for place in range(len(data)):
        for byte in (data[place] ^ 1, ord("9"), 0):
            edited = data[:place] + bytes([byte]) + data[place + 1 :]
            if edited == data:
                continue
            try:
                read = plain(decode_plan(edited, PLAN_ID))
            except PhelixError as error:
                assert error.code in {"PLAN_CORRUPT", "PLAN_INVALID", "PLAN_HASH_MISMATCH"}  # noqa: PT017 - some pass
                refused += 1
            else:
                assert {name: value for name, value in read.items() if name in HASHED} == told
    assert refused > len(data)


@pytest.mark.parametrize(
    "changed",
    [
        {"action": None}, {"action": {"type": "deploy"}}, {"action": {"type": "", "application": "a"}},
        {"action": {"type": 1, "application": "a"}}, {"target": []}, {"inputs": "x"}, {"execution": 5},
        {"preconditions": [1]}, {"preconditions": [{"type": "app_exists"}]}, {"capabilities": [1]},
        {"capabilities": "deploy"}, {"correlation": []}, {"correlation": {"operation_id": 5}},
    ],
)  # fmt: skip
def test_what_was_hashed_in_another_shape_is_invalid(changed: dict[str, Any]) -> None:
    with pytest.raises(PlanInvalid):
        plan_of(rehashed(plan_document(PLAN_ID, "billing", 1) | changed), PLAN_ID)


@pytest.mark.parametrize("part", HASHED)
def test_a_hashed_part_that_is_missing_or_null_is_the_same_content(part: str) -> None:
    document = plan_document(PLAN_ID, "billing", 1)
    if part == "action":
        with pytest.raises(PlanHashMismatch):
            plan_of(document | {"action": None}, PLAN_ID)
        return
    null = rehashed(document | {part: None})
    absent = {name: value for name, value in null.items() if name != part}
    assert plan_of(null, PLAN_ID).plan_hash == plan_of(absent, PLAN_ID).plan_hash


@pytest.mark.parametrize(
    "data",
    [
        text_of(plan_document(PLAN_ID, "billing", 1)).decode().encode("utf-16"),
        text_of(plan_document(PLAN_ID, "billing", 1))[:-2],
        text_of(plan_document(PLAN_ID, "billing", 1)).replace(b"{", b'{"status": "created", ', 1),
        b'{"inputs": ' * 40 + b"1" + b"}" * 40,
        text_of(plan_document(PLAN_ID, "billing", 1) | {"created_at_ms": -1}),
    ],
    ids=["UTF-16", "truncated", "a key twice", "deep", "before time"],
)
def test_a_hostile_text_is_a_corrupt_plan(data: bytes) -> None:
    with pytest.raises(PlanCorrupt):
        decode_plan(data, PLAN_ID)


def test_the_same_content_has_the_same_hash_in_whatever_order_it_was_told() -> None:
    facts = [fact("current_version", "v2"), fact("app_exists", "billing")]
    one = sample_plan(preconditions=facts, capabilities=["rollback", "deploy", "deploy"])
    other = sample_plan(preconditions=facts[::-1], capabilities=["deploy", "rollback"])
    later = sample_plan("pln_00000000000000ff", at_ms=99, preconditions=facts, capabilities=["deploy", "rollback"])
    assert one.plan_hash == other.plan_hash == later.plan_hash
    assert one.plan_hash != sample_plan(application="auth").plan_hash


def test_a_plan_that_no_reader_would_open_again_is_not_written() -> None:
    with pytest.raises(InvalidArgument, match="over the cap"):
        encode_plan(sample_plan(inputs={"note": "x" * MAX_PLAN_BYTES}))
