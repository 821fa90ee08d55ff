"""The one JSON form: our writer says what the standard encoder says, and a fast reading is a strict one."""

import json
from enum import IntEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phelix_core.strictjson import MAX_DEPTH, JsonRefused, dumps, loads

texts = st.text(st.characters(exclude_categories=["Cs"]))
scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | texts
finite = scalars.filter(lambda value: value not in (float("inf"), float("-inf")))
documents = st.recursive(finite, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5))


@given(documents)
def test_what_is_written_is_what_the_standard_encoder_writes(document: Any) -> None:
    assert dumps(document) == json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)


@given(documents)
def test_what_is_written_reads_back_as_the_same_value(document: Any) -> None:
    assert repr(loads(dumps(document).encode())) == repr(document)


ODD: list[Any] = [(1, ("a", {"b": (2,)})), {"a": ({}, [], ())}, IntEnum("Level", ["LOW"])(1)]


@pytest.mark.parametrize("value", ODD)
def test_odd_values_are_written_as_the_standard_encoder_writes_them(value: Any) -> None:
    nested = {"outer": [value]}
    assert dumps(nested) == json.dumps(nested, ensure_ascii=False, indent=2)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [float("-inf")], {"a": float("nan")}])
def test_numbers_that_are_not_json_are_not_written(value: Any) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        dumps(value)


@given(st.lists(st.sampled_from(['"', "\\", "[", "]", "{", "}", ":", ",", "1", " ", "a", "é"]), max_size=120))
def test_no_arrangement_of_brackets_quotes_and_escapes_hides_a_level(parts: list[str]) -> None:
    strings = "".join(parts)
    deep = "[" * (MAX_DEPTH + 1) + json.dumps(strings) + "]" * (MAX_DEPTH + 1)
    fits = "[" * MAX_DEPTH + json.dumps(strings) + "]" * MAX_DEPTH
    with pytest.raises(JsonRefused, match="nested deeper"):
        loads(deep.encode())
    loads(fits.encode())
    for broken in (strings, f"{strings}{'[' * 100_000}", f'"{strings}'):
        try:
            assert loads(broken.encode()) == json.loads(broken)
        except JsonRefused:
            continue


@pytest.mark.parametrize("number", [0, 10**17, -(10**17), 10**18, -(10**18), 2**63 - 1, -(2**63)])
def test_integers_of_64_bits_are_read_exactly(number: int) -> None:
    assert loads(f'{{"n": {number}, "s": "12345678901234567890"}}'.encode()) == {
        "n": number,
        "s": "12345678901234567890",
    }


@pytest.mark.parametrize("digits", [str(2**63), str(-(2**63) - 1), "9" * 5_000])
def test_integers_outside_64_bits_are_refused(digits: str) -> None:
    with pytest.raises(JsonRefused, match="64 bits"):
        loads(f'{{"n": {digits}}}'.encode())
