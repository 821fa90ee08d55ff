"""What the gate makes of a line: a message, a refusal that names the request where it can, or nothing."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest

from phelix_core.mcp.gate import LINE_CAP, examined

PARSE_ERROR, INVALID_REQUEST = -32700, -32600
NOT_STRICT: list[tuple[bytes, Any]] = [
    (b"{", None),
    (b"hello", None),
    (b"\xff\xfe{\x00}\x00", None),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping"}x', None),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"x"}', 1),
    (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', None),
    (b'{"jsonrpc":"2.0","id":"a","method":"\\ud800"}', "a"),
    (b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', None),
    (b'{"jsonrpc":"2.0","id":3,"method":"ping","params":{"x":NaN}}', 3),
    (b'{"jsonrpc":"2.0","id":4,"method":"ping","params":{"x":1e400}}', 4),
    (b'{"jsonrpc":"2.0","id":5,"method":"ping","params":{"x":99999999999999999999}}', 5),
    (b'{"jsonrpc":"2.0","id":6,"method":"ping","params":{"x":' + b"[" * 40 + b"]" * 40 + b"}}", 6),
    (b'{"jsonrpc":"2.0","id":7,"params":' + b"[" * 100_000, None),
    (b"9" * 5_000, None),
]
NO_REQUEST: list[tuple[str, Any]] = [
    ('[{"jsonrpc":"2.0","id":1,"method":"ping"}]', None),
    ("[]", None),
    ("1", None),
    ("null", None),
    ('"ping"', None),
    ("{}", None),
    ('{"id":1,"method":"ping"}', 1),
    ('{"jsonrpc":"1.0","id":1,"method":"ping"}', 1),
    ('{"jsonrpc":2.0,"id":1,"method":"ping"}', 1),
    ('{"jsonrpc":"2.0","id":1}', 1),
    ('{"jsonrpc":"2.0","id":"x","method":1}', "x"),
    ('{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', 1),
    ('{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}', 1),
    ('{"jsonrpc":"2.0","id":null,"method":"ping"}', None),
    ('{"jsonrpc":"2.0","id":true,"method":"ping"}', None),
    ('{"jsonrpc":"2.0","id":1.0,"method":"ping"}', None),
    ('{"jsonrpc":"2.0","id":{},"method":"ping"}', None),
]


def refusal_of(line: bytes | None) -> JSONRPCError:
    found = examined(line)
    assert isinstance(found, JSONRPCError)
    return found


@pytest.mark.parametrize(("line", "request_id"), NOT_STRICT, ids=range(len(NOT_STRICT)))
def test_a_line_that_is_not_strict_json_is_refused_by_the_one_id_it_tells(line: bytes, request_id: Any) -> None:
    refusal = refusal_of(line)
    assert (refusal.error.code, refusal.id) == (PARSE_ERROR, request_id)
    assert '"id":' in refusal.model_dump_json(by_alias=True, exclude_unset=True), "the id is told, as null at least"


@pytest.mark.parametrize(("line", "request_id"), NO_REQUEST)
def test_json_that_is_no_single_request_is_refused(line: str, request_id: Any) -> None:
    refusal = refusal_of(line.encode())
    assert (refusal.error.code, refusal.id) == (INVALID_REQUEST, request_id)


def test_a_line_over_the_cap_is_refused_unseen() -> None:
    refusal = refusal_of(None)
    assert (refusal.error.code, refusal.id) == (PARSE_ERROR, None)
    assert str(LINE_CAP) in refusal.error.message


@pytest.mark.parametrize("line", [b"", b" \t\r", b'{"jsonrpc":"2.0","id":1,"result":{}}'])
def test_an_empty_line_and_an_answer_need_no_answer(line: bytes) -> None:
    assert examined(line) is None


def test_a_request_and_a_notification_pass_whole() -> None:
    params = {"name": "x", "arguments": {"a": [1, "é", None, 1.5, True]}}
    line = json.dumps({"jsonrpc": "2.0", "id": "7", "method": "tools/call", "params": params}).encode()
    passed = examined(line + b"\r")
    assert isinstance(passed, JSONRPCRequest)
    assert (passed.id, passed.method, passed.params) == ("7", "tools/call", params)
    noted = examined(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
    assert isinstance(noted, JSONRPCNotification)
    assert noted.model_dump(exclude_unset=True) == {"jsonrpc": "2.0", "method": "notifications/initialized"}


SECRET = "ghp_0123456789abcdefghijABCDEFGHIJ012345"


@pytest.mark.parametrize("form", ['"{}', '{{"{}":1,"{}":2}}', '{{"jsonrpc":"{}"}}', '["{}"]', "{} {}"])
def test_no_refusal_repeats_what_was_sent(form: str) -> None:
    assert SECRET not in refusal_of(form.format(SECRET, SECRET).encode()).error.message


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_no_line_raises(line: bytes) -> None:
    found = examined(line)
    assert found is None or isinstance(found, JSONRPCError)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "x"]), JSON_VALUES),
    st.booleans(),
)
def test_whatever_passes_is_one_well_formed_message(members: dict[str, Any], told: bool) -> None:  # noqa: FBT001 - drawn
    found = examined(json.dumps(members | ({"jsonrpc": "2.0", "method": "m"} if told else {})).encode())
    if isinstance(found, JSONRPCRequest):
        assert found.id == members["id"]
        assert type(found.id) in {int, str}
    elif isinstance(found, JSONRPCNotification):
        assert "id" not in members
