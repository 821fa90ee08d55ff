"""The servers' common core over real pipes, by raw lines: what comes in, what goes out, and how it ends."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from phelix_core.mcp.calls import READERS
from phelix_core.mcp.gate import LINE_CAP
from phelix_core.strictjson import loads
from tests.mcp.host import HELLO, PATIENCE_S, Gate, Host, environ_of, stage_argv

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602
SECRET = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143}

Gates = Callable[[str], Gate]


def noted(folder: Path) -> list[str]:
    """What write calls have written, in order."""
    path = folder / "noted"
    return path.read_text().splitlines() if path.exists() else []


# What comes in


@pytest.mark.parametrize(
    ("line", "code", "request_id"),
    [
        (b"garbage", PARSE_ERROR, None),
        (b"\xff\xfe", PARSE_ERROR, None),
        (b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"look","name":"write"}}', PARSE_ERROR, 5),
        (b'{"jsonrpc":"2.0","id":6,"method":"\\ud800"}', PARSE_ERROR, 6),
        (b"[" * 100_000, PARSE_ERROR, None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', INVALID_REQUEST, None),
        (b'{"method":"ping","id":"x"}', INVALID_REQUEST, "x"),
        (b'{"jsonrpc":"2.0","id":9,"method":"nothing/of_the_kind"}', NO_METHOD, 9),
        (b'{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"nope"}}', INVALID_PARAMS, 10),
        (b'{"jsonrpc":"2.0","id":11,"method":"tools/call","params":{"arguments":{}}}', INVALID_PARAMS, 11),
        (
            b'{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"look","arguments":[]}}',
            INVALID_PARAMS,
            12,
        ),
    ],
)
def test_a_line_that_cannot_be_served_is_answered_and_the_server_lives_on(
    stage: Host, line: bytes, code: int, request_id: object
) -> None:
    stage.line(line)
    assert stage.answer(request_id)["error"]["code"] == code
    stage.ping()


def test_garbage_before_the_handshake_does_not_end_it(tmp_path: Path) -> None:
    with Host(stage_argv(tmp_path), tmp_path) as host:
        for line in (b"garbage", b"", b"[]"):
            host.line(line)
        assert [host.answer(None)["error"]["code"] for _ in range(2)] == [PARSE_ERROR, INVALID_REQUEST]
        assert host.answer(host.call("look", text="early"))["error"]["code"] == INVALID_PARAMS
        told = host.greet()
        assert told["serverInfo"]["name"] == "stage"
        assert told["capabilities"].keys() == {"tools"}


def test_a_line_over_the_cap_is_answered_and_the_next_one_served(stage: Host) -> None:
    stage.line(b'"' + b"x" * LINE_CAP + b'"')
    assert stage.answer(None)["error"]["code"] == PARSE_ERROR
    stage.ping()


def test_a_line_just_below_the_cap_is_served(stage: Host) -> None:
    text = "x" * (LINE_CAP - 200)
    assert stage.result(stage.call("look", text=text)) == {"saw": text}


def test_lines_that_arrive_in_pieces_or_together_are_the_same_lines(stage: Host) -> None:
    ping = b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\r\n'
    for byte in ping % 100:
        os.write(stage.input.fileno(), bytes([byte]))
    os.write(stage.input.fileno(), b"".join(ping % number for number in (101, 102, 103)))
    assert {stage.hear()["id"] for _ in range(4)} == {100, 101, 102, 103}


def test_an_error_of_the_sdk_repeats_no_secret(stage: Host) -> None:
    for method, params in ((SECRET, {}), ("tools/call", {"name": SECRET}), ("tools/call", {"name": 1, "x": SECRET})):
        said = json.dumps(stage.answer(stage.request(method, params)))
        assert '"error"' in said
        assert SECRET not in said
    stage.notify("notifications/progress", progressToken={"x": SECRET})
    stage.ping()
    assert SECRET not in stage.stderr


@pytest.mark.parametrize("version", ["2024-11-05", "2025-06-18", "2025-11-25"])
def test_a_host_of_an_earlier_protocol_is_served_by_it(tmp_path: Path, version: str) -> None:
    with Host(stage_argv(tmp_path), tmp_path) as host:
        told = host.answer(host.request("initialize", HELLO | {"protocolVersion": version}))["result"]
        assert told["protocolVersion"] == version
        host.notify("notifications/initialized")
        answer = host.answer(host.call("look", text="é"))["result"]
        assert loads(answer["content"][0]["text"].encode()) == {"saw": "é"}


# What goes out


def test_stdout_carries_protocol_only_whatever_a_tool_prints(stage: Host) -> None:
    assert stage.result(stage.call("chatter")) == {"read": ""}
    stage.ping()
    stage.input.close()
    assert stage.hear_all() == {}
    assert stage.process.wait(PATIENCE_S) == 0
    for said in ("printed", "written", "to the descriptor", "by a child"):
        assert said in stage.stderr


def test_a_tool_is_told_with_hints_that_follow_from_what_it_does(stage: Host) -> None:
    tools = stage.answer(stage.request("tools/list", {}))["result"]["tools"]
    hints = {
        tool["name"]: [tool["annotations"][f"{hint}Hint"] for hint in ("readOnly", "destructive", "idempotent")]
        for tool in tools
    }
    assert hints["write"] == [False, False, False]
    assert hints["look"] == [True, False, True]
    assert hints["either"] == [False, True, False]
    assert {tool["annotations"]["openWorldHint"] for tool in tools} == {False}


def test_what_nobody_foresaw_is_told_as_internal_and_reported_without_its_secret(stage: Host, tmp_path: Path) -> None:
    answer = stage.answer(stage.call("fail"))["result"]
    assert answer["isError"]
    error = answer["structuredContent"]["error"]
    assert error["code"] == "INTERNAL"
    [report] = tmp_path.glob("phelix-report-*")
    assert error["details"]["report"] == str(report)
    assert "RuntimeError" in report.read_text()
    assert SECRET not in report.read_text() + json.dumps(answer) + stage.stderr


def test_a_refusal_that_a_tool_raises_is_told_as_one(stage: Host) -> None:
    answer = stage.answer(stage.call("refuse"))["result"]
    assert answer["isError"]
    assert answer["structuredContent"]["error"]["code"] == "NOT_FOUND"
    assert SECRET not in json.dumps(answer)


# Side by side


def test_a_slow_write_keeps_no_read_waiting(stage: Host, gate: Gates) -> None:
    held = gate("held")
    slow = stage.call("write", text="first", at="held")
    held.reached()
    waiting = stage.call("write", text="second")
    assert stage.result(stage.call("look", text="meanwhile")) == {"saw": "meanwhile"}
    assert stage.result(stage.call("either", text="look")) == {"saw": "look"}
    assert stage.answer(stage.request("tools/list", {}))
    held.opened()
    assert stage.result(slow) == {"wrote": "first"}
    assert stage.result(waiting) == {"wrote": "second"}


def test_slow_reads_keep_no_write_and_no_other_read_waiting(stage: Host, gate: Gates) -> None:
    gates = [gate(f"held{number}") for number in range(READERS - 1)]
    slow = [stage.call("look", text=number, at=f"held{number}") for number in range(READERS - 1)]
    for held in gates:
        held.reached()
    assert stage.result(stage.call("write", text="meanwhile")) == {"wrote": "meanwhile"}
    assert stage.result(stage.call("look", text="meanwhile")) == {"saw": "meanwhile"}
    for number, held in enumerate(gates):
        held.opened()
        assert stage.result(slow[number]) == {"saw": number}


def test_what_executes_keeps_no_write_no_read_and_nothing_else_that_executes_waiting(stage: Host, gate: Gates) -> None:
    held = gate("held")
    slow = stage.call("execute", text="first", at="held")
    held.reached()
    assert stage.result(stage.call("write", text="a write")) == {"wrote": "a write"}
    assert stage.result(stage.call("look", text="a read")) == {"saw": "a read"}
    assert stage.result(stage.call("execute", text="another")) == {"wrote": "another"}
    held.opened()
    assert stage.result(slow) == {"wrote": "first"}


def test_a_slow_write_keeps_nothing_that_executes_waiting(stage: Host, gate: Gates) -> None:
    held = gate("held")
    slow = stage.call("write", text="first", at="held")
    held.reached()
    assert stage.result(stage.call("execute", text="meanwhile")) == {"wrote": "meanwhile"}
    held.opened()
    assert stage.result(slow) == {"wrote": "first"}


def test_thirty_two_calls_at_once_are_each_answered_right_and_writes_in_order(stage: Host, tmp_path: Path) -> None:
    asked = {
        stage.call(*(("write",) if number % 2 else ("look",)), text=number): number  # all sent before any is heard
        for number in range(32)
    }
    heard = {message["id"]: message["result"]["structuredContent"] for message in (stage.hear() for _ in asked)}
    assert heard == {
        request_id: {"wrote": number} if number % 2 else {"saw": number} for request_id, number in asked.items()
    }
    assert noted(tmp_path) == [str(number) for number in range(1, 32, 2)]


# Taken back


def cancel(host: Host, request_id: object) -> None:
    host.notify("notifications/cancelled", requestId=request_id, reason="changed its mind")


def test_a_write_that_has_begun_is_carried_to_its_end_and_answered_although_it_was_cancelled(
    stage: Host, gate: Gates, tmp_path: Path
) -> None:
    held = gate("held")
    begun = stage.call("write", text="begun", at="held")
    held.reached()
    cancel(stage, begun)
    stage.ping()
    held.opened()
    assert stage.result(begun) == {"wrote": "begun"}
    assert noted(tmp_path) == ["begun"]


def test_what_executes_is_carried_to_its_end_and_answered_although_it_was_cancelled(
    stage: Host, gate: Gates, tmp_path: Path
) -> None:
    held = gate("held")
    begun = stage.call("execute", text="begun", at="held")
    held.reached()
    cancel(stage, begun)
    stage.ping()
    held.opened()
    assert stage.result(begun) == {"wrote": "begun"}
    assert noted(tmp_path) == ["begun"]


def test_a_write_that_was_cancelled_before_it_began_never_begins(stage: Host, gate: Gates, tmp_path: Path) -> None:
    held = gate("held")
    begun = stage.call("write", text="begun", at="held")
    held.reached()
    for request_id in [stage.call("write", text="never") for _ in range(3)]:
        cancel(stage, request_id)
    last = stage.call("write", text="last")
    stage.ping()
    held.opened()
    assert stage.result(begun) == {"wrote": "begun"}
    assert stage.result(last) == {"wrote": "last"}
    assert noted(tmp_path) == ["begun", "last"]
    stage.ping()


def test_a_cancelled_read_is_not_answered_and_no_other_call_minds(stage: Host, gate: Gates) -> None:
    held = gate("held")
    slow = stage.call("look", at="held")
    held.reached()
    cancel(stage, slow)
    for request_id in (slow, 999, "x"):
        cancel(stage, request_id)
    assert stage.result(stage.call("look", text="next")) == {"saw": "next"}
    held.opened()
    stage.ping()


# The end


def test_the_end_of_input_ends_an_idle_server_at_once(stage: Host) -> None:
    stage.input.close()
    assert stage.ended(time.monotonic()) == 0
    assert stage.stderr == ""


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_an_idle_server_at_once(stage: Host, number: signal.Signals) -> None:
    stage.signal(number)
    assert stage.ended(time.monotonic()) == SIGNALS[number]
    assert stage.stderr == ""


def test_at_the_end_of_input_every_call_that_came_is_carried_out_and_answered(
    stage: Host, gate: Gates, tmp_path: Path
) -> None:
    held = gate("held")
    begun = stage.call("write", text="begun", at="held")
    waiting = [stage.call("write", text=number) for number in range(3)]
    held.reached()
    stage.input.close()
    assert stage.process.poll() is None
    since = held.opened()
    heard = stage.hear_all()
    assert stage.ended(since) == 0
    assert list(heard) == [begun, *waiting]
    assert all("result" in answer for answer in heard.values())
    assert noted(tmp_path) == ["begun", "0", "1", "2"]


def test_a_line_without_an_end_is_served_too(tmp_path: Path) -> None:
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO})
    call = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "look"}})
    ran = subprocess.run(
        stage_argv(tmp_path),
        input=f"{hello}\n{call}".encode(),
        capture_output=True,
        env=environ_of(tmp_path),
        timeout=PATIENCE_S,
        check=True,
    )
    answers: list[Any] = [loads(line) for line in ran.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == [1, 2]
    assert answers[1]["result"]["structuredContent"] == {"saw": None}


def test_a_read_that_does_not_end_keeps_no_server_beyond_the_end_of_input(stage: Host, gate: Gates) -> None:
    held = gate("held")
    slow = stage.call("look", at="held")
    held.reached()
    stage.input.close()
    since = time.monotonic()
    assert stage.ended(since) == 0
    assert "error" in stage.hear_all()[slow]


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_lets_the_running_write_be_decided_and_begins_no_other(
    stage: Host, gate: Gates, tmp_path: Path, number: signal.Signals
) -> None:
    held, looked_at = gate("held"), gate("looked_at")
    begun = stage.call("write", text="begun", at="held")
    waiting = stage.call("write", text="never")
    slow = stage.call("look", at="looked_at")
    held.reached()
    looked_at.reached()
    stage.signal(number)
    refused = stage.answer(waiting)["result"]
    assert refused["isError"]
    assert refused["structuredContent"]["error"]["code"] == "CANCELLED"
    assert "nothing was written" in refused["structuredContent"]["error"]["message"]
    since = held.opened()
    assert stage.result(begun) == {"wrote": "begun"}
    assert stage.ended(since) == SIGNALS[number]
    assert "error" in stage.hear_all()[slow]
    assert noted(tmp_path) == ["begun"]


def test_a_signal_after_the_end_of_input_drops_what_has_not_begun(stage: Host, gate: Gates, tmp_path: Path) -> None:
    held = gate("held")
    begun = stage.call("write", text="begun", at="held")
    waiting = stage.call("write", text="never")
    held.reached()
    stage.input.close()
    stage.signal(signal.SIGTERM)
    assert stage.answer(waiting)["result"]["structuredContent"]["error"]["code"] == "CANCELLED"
    since = held.opened()
    assert stage.result(begun) == {"wrote": "begun"}
    assert stage.ended(since) == 143
    assert noted(tmp_path) == ["begun"]


def test_a_host_that_stops_listening_ends_the_server_once_its_write_is_decided(
    stage: Host, gate: Gates, tmp_path: Path
) -> None:
    held = gate("held")
    stage.call("write", text="begun", at="held")
    held.reached()
    stage.output.close()
    since = held.opened()
    assert stage.ended(since) == 1
    assert noted(tmp_path) == ["begun"]
    assert stage.stderr == ""


def test_a_host_that_reads_no_answer_keeps_no_server_beyond_the_end_of_input(stage: Host) -> None:
    for _ in range(4):
        stage.call("look", text="x" * 100_000)  # more than a pipe holds
    stage.input.close()
    assert stage.ended(time.monotonic(), within_s=1.5) == 0
