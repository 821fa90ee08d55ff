import json
import os
from pathlib import Path
from typing import Any

import pytest

from phelix_core.arc.model import decode_plan, plan_document
from phelix_core.arc.operations import decode_operation, operation_of
from phelix_core.arc.store import ArcStore
from phelix_core.errors import NotFound, OperationCorrupt, PhelixError, PlanCorrupt, PlanHashMismatch, PlanInvalid
from phelix_core.strictjson import dumps
from tests.rig import FixedClock, bytes_of

PLAN = "pln_0123456789abcdef"
OPERATION = "op_0123456789abcdef"


def plan(**changed: object) -> bytes:
    return dumps(plan_document(PLAN, "billing", 1) | changed).encode()


def operation(**changed: object) -> bytes:
    document = {"id": OPERATION, "kind": "deploy", "status": "succeeded", "deployment_id": "dep-1", "created_at_ms": 1}
    return json.dumps(document | changed).encode()


@pytest.fixture
def arc(tmp_path: Path, clock: FixedClock) -> ArcStore:
    return ArcStore(str(tmp_path), clock)


@pytest.mark.parametrize("status", ["created", "applied", "failed"])
def test_a_plan_is_verified_whatever_became_of_it(status: str) -> None:
    loaded = decode_plan(plan(status=status, correlation={"operation_id": OPERATION}, created_at_ms=99), PLAN)
    assert (loaded.plan_id, loaded.status) == (PLAN, status)
    assert loaded.plan_hash.startswith("sha256:")


@pytest.mark.parametrize("member", ["action", "target", "inputs", "execution", "preconditions", "capabilities"])
def test_changing_any_hashed_member_is_a_hash_mismatch(member: str) -> None:
    with pytest.raises(PlanHashMismatch):
        decode_plan(plan(**{member: {"replicas": 2}}), PLAN)


@pytest.mark.parametrize(
    "changed", [{"schema_version": "2"}, {"plan_id": "pln_0000000000000000"}, {"status": "running"}, {"status": ""}]
)
def test_a_plan_of_another_kind_is_invalid(changed: dict[str, Any]) -> None:
    with pytest.raises(PlanInvalid):
        decode_plan(plan(**changed), PLAN)


@pytest.mark.parametrize(
    "data", [b"", b"null", b"[]", b"{}", b"\0" * 99, b"[" * 100_000, plan(status=1), plan(plan_hash=None)]
)
def test_what_is_no_plan_is_corrupt(data: bytes) -> None:
    with pytest.raises(PlanCorrupt):
        decode_plan(data, PLAN)


def test_the_hash_is_over_escaped_compact_text_with_empty_lists_as_null() -> None:
    from hashlib import sha256  # noqa: PLC0415 - written out by hand beside the form it checks

    from phelix_core.arc.model import plan_hash  # noqa: PLC0415 - the function under this one test

    hashed: dict[str, object] = {
        "action": {"type": "deploy", "application": "a<b>&c\u2028"},
        "target": {},
        "inputs": {"é": 1},
        "execution": {},
        "preconditions": [],
        "capabilities": ["x"],
    }
    image = (
        '{"SchemaVersion":"1","Action":{"type":"deploy","application":"a\\u003cb\\u003e\\u0026c\\u2028"},"Target":{},'
        '"Inputs":{"é":1},"Execution":{},"Preconditions":null,"Capabilities":["x"]}'
    )
    assert plan_hash("1", hashed) == f"sha256:{sha256(image.encode()).hexdigest()}"


@pytest.mark.parametrize(
    "data",
    [
        b"", b"[]", b"{}", operation(id="op_0000000000000000"), operation(status="indeterminate"), operation(kind=None),
        operation(deployment_id=5), operation(pid="1"), operation(created_at_ms=-1),
    ],
)  # fmt: skip
def test_what_is_no_operation_is_corrupt(data: bytes) -> None:
    with pytest.raises(OperationCorrupt):
        decode_operation(data, OPERATION)


@pytest.mark.parametrize(
    ("pid", "status"),
    [
        (os.getpid(), "running"),
        (1, "running"),
        (0, "indeterminate"),
        (2**22 + 1, "indeterminate"),
        (2**53, "indeterminate"),
    ],
    ids=["our own", "the first", "not recorded", "beyond the largest", "beyond any"],
)
def test_the_process_is_looked_for_and_one_that_we_may_not_signal_lives(arc: ArcStore, pid: int, status: str) -> None:
    assert arc.status_of(decode_operation(operation(status="running", pid=pid), OPERATION)) == status


def test_each_absent_record_says_its_id(arc: ArcStore) -> None:
    with pytest.raises(NotFound, match=PLAN):
        arc.plan(PLAN)
    with pytest.raises(NotFound, match=OPERATION):
        arc.operation(OPERATION)


@pytest.mark.parametrize("special", ["fifo", "link", "folder", "large"])
def test_a_special_file_in_place_of_a_plan_or_operation_is_corrupt(arc: ArcStore, tmp_path: Path, special: str) -> None:
    for name in (f"plans/{PLAN}.json", f"ops/{OPERATION}.json"):
        path = tmp_path / name
        path.parent.mkdir()
        match special:
            case "fifo":
                os.mkfifo(path)
            case "link":
                path.symlink_to("/dev/zero")
            case "folder":
                path.mkdir()
            case _:
                path.write_bytes(b" " * (1 << 20) + b"{}")
    with pytest.raises(PlanCorrupt):
        arc.plan(PLAN)
    with pytest.raises(OperationCorrupt):
        arc.operation(OPERATION)


def test_a_plan_over_64_kib_is_not_read(arc: ArcStore, tmp_path: Path) -> None:
    (tmp_path / "plans").mkdir()
    (tmp_path / f"plans/{PLAN}.json").write_bytes(plan(note="x" * 65_536))
    with pytest.raises(PlanCorrupt, match="larger"):
        arc.plan(PLAN)


def test_the_newest_operation_correlates_a_deployment_and_unreadable_ones_hide_none(
    arc: ArcStore, tmp_path: Path
) -> None:
    def add(number: int, at_ms: int, deployment: str) -> None:
        operation_id = f"op_{number:016x}"
        document = {"id": operation_id, "kind": "deploy", "status": "failed", "created_at_ms": at_ms}
        arc.add_operation(operation_of(document | {"deployment_id": deployment}, operation_id))

    add(1, 5, "dep-a")
    add(2, 9, "dep-a")
    add(3, 7, "dep-a")
    add(4, 1, "dep-b")
    (tmp_path / "ops" / f"op_{9:016x}.json").write_bytes(b"garbage")
    (tmp_path / "ops" / "request-key-ledger.json").write_bytes(b"{}")
    before = bytes_of(tmp_path)
    found = arc.correlated(frozenset({"dep-a", "dep-c"}))
    assert {name: op.id for name, op in found.items()} == {"dep-a": f"op_{2:016x}"}
    assert bytes_of(tmp_path) == before


def test_no_error_of_the_arc_is_uncoded(arc: ArcStore, tmp_path: Path) -> None:
    (tmp_path / "plans").write_text("a file where the folder should be")
    with pytest.raises(PhelixError):
        arc.plan(PLAN)
