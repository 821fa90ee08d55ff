"""The strict gate: each line that comes in is a message for the SDK, a refusal, or nothing at all.

A line reaches the SDK only if it is strict JSON of a bearable size and one well-formed request or notification;
the SDK itself would leave many a bad line unanswered, or take it for another. A refusal names the request's id
where the line tells exactly one, so that nobody waits for its answer. No refusal repeats what was sent. Source:
surfaces page, MCP; trust page, input hazards.
"""

import json
from typing import Any, Final, cast

from mcp_types import (
    INVALID_REQUEST,
    JSONRPC_VERSION,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    RequestId,
)

from phelix_core.strictjson import JsonRefused, loads

LINE_CAP: Final = 9 << 20
"""Bytes of one line: the largest batch that a queue takes, with a message around it."""

Message = JSONRPCRequest | JSONRPCNotification


def examined(line: bytes | None) -> Message | JSONRPCError | None:
    """What one line is, without its end: a message, the answer that refuses it, or None for what needs neither.

    None in place of a line stands for one over `LINE_CAP`, which nobody kept.
    """
    if line is None:
        return _refused(PARSE_ERROR, f"A line may have at most {LINE_CAP} bytes.")
    if not line.strip():
        return None
    try:
        document = loads(line)
    except JsonRefused as refused:
        return _refused(PARSE_ERROR, f"The line is not strict JSON: {refused}.", _told_id(line))
    if isinstance(document, list):
        return _refused(INVALID_REQUEST, "Batches are not taken: send each message on a line of its own.")
    if not isinstance(document, dict):
        return _refused(INVALID_REQUEST, "The line is no JSON object.")
    return _message(cast("dict[str, Any]", document))


def _message(members: dict[str, Any]) -> Message | JSONRPCError | None:
    told = members.get("id")
    request_id = told if _is_id(told) else None
    if "method" not in members and ("result" in members or "error" in members):
        return None  # an answer: these servers ask their hosts nothing
    if (wrong := _why_no_message(members, request_id)) is not None:
        return _refused(INVALID_REQUEST, wrong, request_id)
    given = {name: members[name] for name in ("method", "params") if members.get(name) is not None}
    if request_id is None:
        return JSONRPCNotification(jsonrpc="2.0", **given)
    return JSONRPCRequest(jsonrpc="2.0", id=request_id, **given)


def _why_no_message(members: dict[str, Any], request_id: RequestId | None) -> str | None:
    """What keeps an object from being a request or a notification."""
    if members.get("jsonrpc") != JSONRPC_VERSION:
        return 'The message does not say "jsonrpc": "2.0".'
    if not isinstance(members.get("method"), str):
        return "The message names no method."
    if not isinstance(members.get("params"), dict | None):
        return "params is no object."
    if "id" in members and request_id is None:
        return "An id is text or a whole number."
    return None


def _refused(code: int, message: str, request_id: RequestId | None = None) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=code, message=message))


def _is_id(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _told_id(line: bytes) -> RequestId | None:
    """The one id that a line tells which is not strict JSON, but JSON of some kind; None where none can be told."""
    try:
        members: object = json.loads(line.decode("utf-8"), object_pairs_hook=tuple)
    except (ValueError, RecursionError):
        return None
    if not isinstance(members, tuple):
        return None
    ids = [value for name, value in cast("tuple[tuple[str, Any], ...]", members) if name == "id"]
    if len(ids) != 1 or not _is_id(ids[0]):
        return None
    try:
        str(ids[0]).encode()
    except (UnicodeEncodeError, ValueError):
        return None  # a lone surrogate, or more digits than anybody writes
    return ids[0]
