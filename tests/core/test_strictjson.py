import json
from dataclasses import dataclass
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phelix_core.strictjson import MAX_DEPTH, JsonRefused, canonical, dumps, loads, plain

ENCODABLE = st.text(st.characters(exclude_categories=["Cs"]))
SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
)
VALUES = st.recursive(
    SCALARS | ENCODABLE,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ENCODABLE, inner, max_size=4),
    max_leaves=15,
)
REFUSED = {
    "100,000 nested brackets": (b"[" * 100_000, "nested"),
    "nested objects": (b'{"a":' * 40 + b"1" + b"}" * 40, "nested"),
    "one level too many": (b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), "nested"),
    "5,000 digits": (b"9" * 5_000, "64 bits"),
    "minus 5,000 digits": (b"-" + b"9" * 5_000, "64 bits"),
    "2^63": (str(2**63).encode(), "64 bits"),
    "-2^63-1": (str(-(2**63) - 1).encode(), "64 bits"),
    "NaN": (b"NaN", "NaN"),
    "Infinity": (b"[Infinity]", "infinity"),
    "-Infinity": (b"-Infinity", "infinity"),
    "1e400": (b"1e400", "too large"),
    "-1e400": (b"-1e400", "too large"),
    "duplicate key": (b'{"a":1,"a":2}', "twice"),
    "duplicate key by escape": (b'{"a":1,"\\u0061":2}', "twice"),
    "UTF-16": ('{"a":1}'.encode("utf-16"), "UTF-8"),
    "UTF-16 without a mark": ('{"a":1}'.encode("utf-16-le"), "not JSON"),
    "UTF-8 with a mark": (b"\xef\xbb\xbf{}", "not JSON"),
    "Latin-1": (b'"\xe9"', "UTF-8"),
    "encoded surrogate": (b'"\xed\xa0\x80"', "UTF-8"),
    "escaped lone surrogate": (b'"\\ud800"', "surrogate"),
    "lone surrogate in a key": (b'{"\\udc00":1}', "surrogate"),
    "nested lone surrogate": (b'{"a":["\\ud800x"]}', "surrogate"),
    "empty": (b"", "not JSON"),
    "white space": (b" \n", "not JSON"),
    "two documents": (b"{} {}", "not JSON"),
    "NUL bytes": (b"\0" * 64, "not JSON"),
    "raw control character": (b'"\x1b"', "not JSON"),
    "open text": (b'"abc', "not JSON"),
    "single quotes": (b"{'a':1}", "not JSON"),
    "comment": (b"{}//", "not JSON"),
}


@pytest.mark.parametrize(("data", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_hazardous_text_is_refused_with_its_reason(data: bytes, reason: str) -> None:
    with pytest.raises(JsonRefused, match=reason):
        loads(data)


def test_the_deepest_allowed_text_is_read() -> None:
    assert loads(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH) is not None


def test_brackets_inside_texts_are_no_depth() -> None:
    text = "[{" * 200 + '\\"' + "}]"
    assert loads(json.dumps([text, text]).encode()) == [text, text]


@pytest.mark.parametrize("filler", [b'\\"', b"\\\\", b'"', b'" ', b'"\\', b"\\", b"[]", b'["'], ids=repr)
@pytest.mark.parametrize("opening", [b'"', b"", b'"a":"'], ids=repr)
def test_the_depth_is_judged_in_time_linear_in_the_text(opening: bytes, filler: bytes) -> None:
    data = b"[" * 40 + opening + filler * (500_000 // len(filler))
    started = perf_counter()
    with pytest.raises(JsonRefused):
        loads(data)
    assert perf_counter() - started < 5, "half a megabyte took seconds: an attacker's record would stop every list"


@given(VALUES)
def test_what_is_written_reads_back_equal(value: object) -> None:
    assert loads(dumps(value).encode()) == value


@given(VALUES)
def test_the_same_value_is_always_the_same_bytes(value: object) -> None:
    assert dumps(value) == dumps(loads(dumps(value).encode()))
    assert canonical(value) == canonical(loads(dumps(value).encode()))


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_and_nothing_else(data: bytes) -> None:
    try:
        value = loads(data)
    except JsonRefused:
        return
    assert json.loads(data) == value


@given(st.dictionaries(ENCODABLE, SCALARS))
def test_the_order_of_keys_does_not_change_the_canonical_form(members: dict[str, object]) -> None:
    assert canonical(members) == canonical(dict(reversed(members.items())))


def test_output_is_utf8_with_two_spaces_and_no_closing_newline() -> None:
    assert dumps({"a": ["é", 1]}) == '{\n  "a": [\n    "é",\n    1\n  ]\n}'


def test_nan_is_never_written() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        dumps(float("nan"))


@dataclass(frozen=True)
class Sample:
    always: int
    optional: str | None = None
    extra: object = None


def test_a_model_leaves_out_members_that_hold_their_default() -> None:
    assert plain(Sample(1, extra={})) == {"always": 1}
    assert plain(Sample(1, "x", {"later": (2,)})) == {"always": 1, "optional": "x", "later": (2,)}


def test_a_value_without_a_json_form_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="no JSON form for set"):
        plain({"a": {1}})
