"""Operations: every status against every change, who is gone, and records that come back as they were."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phelix_core.arc.operations import (
    CANCELLED,
    FAILED,
    FINISHED,
    INDETERMINATE,
    PENDING,
    RUNNING,
    SUCCEEDED,
    CancelAsked,
    Operation,
    OperationActor,
    OperationError,
    Processes,
    begun,
    cancel_asked,
    decode_operation,
    derived_status,
    encode_operation,
    finished,
    operation_id_of,
    operation_of,
    verified,
    with_child,
)
from phelix_core.checks import CheckFailed
from phelix_core.errors import InvalidArgument, OperationCorrupt
from phelix_core.frozen import changed
from phelix_core.processes import ProcessIdentity
from phelix_core.strictjson import plain
from tests.core.arc.samples import APPLIER, CHILD, OPERATION_ID, PLAN_ID, sample_operation

STATUSES = (PENDING, RUNNING, SUCCEEDED, FAILED, CANCELLED)
ALLOWED = {
    (PENDING, RUNNING), (PENDING, CANCELLED), (RUNNING, SUCCEEDED), (RUNNING, FAILED), (RUNNING, CANCELLED),
}  # fmt: skip


def moved(operation: Operation, status: str, at_ms: int = 20) -> Operation:
    return begun(operation, at_ms) if status == RUNNING else finished(operation, status, at_ms)


@pytest.mark.parametrize("after", STATUSES)
@pytest.mark.parametrize("before", STATUSES)
def test_an_operation_runs_and_ends_or_is_cancelled_before_that_and_moves_nowhere_else(before: str, after: str) -> None:
    operation = changed(sample_operation(), status=before)
    if (before, after) in ALLOWED:
        done = moved(operation, after)
        assert (done.status, done.updated_at_ms) == (after, 20)
        assert done.finished_at_ms == (20 if after in FINISHED else None)
    else:
        with pytest.raises(InvalidArgument, match="cannot become"):
            moved(operation, after)


def test_indeterminate_is_no_status_that_anything_becomes() -> None:
    with pytest.raises(InvalidArgument):
        finished(begun(sample_operation(), 10), INDETERMINATE, 20)


@pytest.mark.parametrize("status", STATUSES)
def test_only_a_running_operation_gets_a_child(status: str) -> None:
    operation = changed(sample_operation(), status=status)
    if status == RUNNING:
        assert with_child(operation, CHILD, 20).process == Processes(applier=APPLIER, child=CHILD)
    else:
        with pytest.raises(InvalidArgument):
            with_child(operation, CHILD, 20)


def test_time_never_runs_backwards_in_a_record() -> None:
    done = finished(begun(sample_operation(at_ms=100), 50), FAILED, 10)
    assert (done.updated_at_ms, done.finished_at_ms) == (100, 100)


@pytest.mark.parametrize("status", STATUSES)
def test_the_end_of_what_has_not_ended_can_be_asked_for_and_the_first_wish_stays(status: str) -> None:
    operation = changed(sample_operation(), status=status)
    if status in FINISHED:
        with pytest.raises(InvalidArgument, match="cannot become"):
            cancel_asked(operation, 20, "cli")
    else:
        asked = cancel_asked(cancel_asked(operation, 20, "cli"), 30, "tui")
        assert asked.cancel == CancelAsked(at_ms=20, via="cli")
        assert (asked.status, asked.updated_at_ms) == (status, 30)


@pytest.mark.parametrize("status", STATUSES)
def test_health_is_noted_once_and_only_on_a_success(status: str) -> None:
    operation = changed(sample_operation(), status=status, result={"version": "v3"})
    if status != SUCCEEDED:
        with pytest.raises(InvalidArgument):
            verified(operation, {"status": "healthy"}, 20)
        return
    seen = verified(operation, {"status": "healthy"}, 20)
    assert seen.result == {"version": "v3", "verification": {"status": "healthy"}}
    with pytest.raises(InvalidArgument):
        verified(seen, {"status": "unhealthy"}, 30)


@pytest.mark.parametrize("child", [True, False, None])
@pytest.mark.parametrize("applier", [True, False, None])
@pytest.mark.parametrize("status", STATUSES)
def test_it_is_indeterminate_only_if_it_never_ended_and_both_processes_are_surely_gone(
    status: str,
    applier: bool | None,  # noqa: FBT001 - a table's column
    child: bool | None,  # noqa: FBT001 - a table's column
) -> None:
    told = derived_status(changed(sample_operation(), status=status), applier_alive=applier, child_alive=child)
    gone = applier is False and child is False
    assert told == (INDETERMINATE if gone and status in {PENDING, RUNNING} else status)


def test_the_operation_of_a_plan_has_the_plans_digits() -> None:
    assert operation_id_of(PLAN_ID) == OPERATION_ID == sample_operation().id
    assert sample_operation().request_key == f"pln:{PLAN_ID}"
    for wrong in ("pln_0123", "op_0123456789abcdef", "../pln_0123456789abcdef", f"{PLAN_ID}\n"):
        with pytest.raises(CheckFailed):
            operation_id_of(wrong)


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
some = st.none() | texts
numbers = st.integers(0, 2**53)
unknown: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    st.sampled_from(["new", "x y", "größe"]), st.none() | texts | st.lists(numbers, max_size=2), max_size=2
)
identities = st.builds(ProcessIdentity, pid=numbers, started=numbers, boot=texts)
operations = st.builds(
    Operation,
    schema_version=st.just("1"),
    id=st.just(OPERATION_ID),
    kind=texts,
    app=some,
    status=st.sampled_from(STATUSES),
    request_key=some,
    actor=st.none() | st.builds(OperationActor, type=texts, id=some, authenticated=st.booleans(), extra=unknown),
    deployment_id=some,
    plan_id=some,
    plan_hash=some,
    authz_decision_id=some,
    approval_id=some,
    pid=numbers,
    process=st.none() | st.builds(Processes, applier=identities, child=st.none() | identities, extra=unknown),
    cancel=st.none() | st.builds(CancelAsked, at_ms=numbers, via=texts, extra=unknown),
    created_at_ms=numbers,
    updated_at_ms=numbers,
    finished_at_ms=st.none() | st.integers(1, 2**53),
    result=st.none() | unknown,
    error=st.none() | st.builds(OperationError, code=texts, message=texts, extra=unknown),
    extra=unknown,
)


@given(operations)
def test_an_operation_reads_back_as_it_was_with_all_that_is_not_known(operation: Operation) -> None:
    data = encode_operation(operation)
    assert decode_operation(data, OPERATION_ID) == operation
    assert encode_operation(decode_operation(data, OPERATION_ID)) == data


def guides_own(**chosen: object) -> dict[str, Any]:
    """A record as the guide's own tool writes it."""
    return {
        "schema_version": "1",
        "id": OPERATION_ID,
        "kind": "rebuild",
        "app": "Billing",
        "status": "succeeded",
        "actor": {"type": "cli", "id": None, "authenticated": False},
        "pid": 4711,
        "created_at_ms": 5,
        "updated_at_ms": 9,
        "finished_at_ms": 9,
        "result": {"version": 17, "port": 8080, "strategy": "classic"},
        "new_here": [1],
    } | chosen


def test_a_record_of_the_guides_own_tool_opens_and_is_written_back_whole() -> None:
    record = guides_own()
    operation = operation_of(record, OPERATION_ID)
    assert plain(operation) == record
    assert operation.process is None
    assert operation.is_finished


@pytest.mark.parametrize(
    "chosen",
    [
        {"schema_version": "2"}, {"schema_version": 1}, {"actor": "cli"}, {"actor": {"type": "cli"}},
        {"process": {}}, {"process": {"applier": {"pid": 1, "started": 2}}}, {"process": []},
        {"process": {"applier": {"pid": 1, "started": 2, "boot": "b", "host": "h"}}},
        {"process": {"applier": {"pid": 1, "started": "2", "boot": "b"}}},
        {"process": {"applier": {"pid": 1, "started": 2, "boot": "b"}, "child": 7}},
        {"cancel": 1}, {"cancel": {}}, {"cancel": {"at_ms": "1", "via": "cli"}}, {"cancel": {"at_ms": 1}},
        {"result": []}, {"error": "no"}, {"error": {"code": "X"}}, {"finished_at_ms": "9"}, {"status": "indeterminate"},
    ],
)  # fmt: skip
def test_a_record_of_another_shape_is_corrupt(chosen: dict[str, object]) -> None:
    with pytest.raises(OperationCorrupt):
        operation_of(guides_own(**chosen), OPERATION_ID)


def test_a_record_that_no_reader_would_open_again_is_not_written() -> None:
    with pytest.raises(InvalidArgument, match="would be"):
        encode_operation(changed(sample_operation(), result={"x": "y" * (1 << 20)}))


def test_a_change_keeps_what_it_does_not_know_and_makes_another_value() -> None:
    operation = changed(sample_operation(), extra={"new": [1]})
    done = finished(begun(operation, 10), FAILED, 20, error=OperationError(code="DEPLOY_FAILED", message="it said 1"))
    assert done.extra == {"new": [1]}
    assert done.error == OperationError(code="DEPLOY_FAILED", message="it said 1")
    assert operation == changed(sample_operation(), extra={"new": [1]})
