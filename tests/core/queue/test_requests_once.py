"""A retry after a lost answer gets the first answer, and nothing happens twice."""

import json
import os
from typing import Any

import pytest

from tests.canaries import CANARIES
from tests.core.queue.desk import HOST, REPORT, Desk, milestone, shown, work


def _calls(desk: Desk) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Verbs with their input and with something else in it, in an order in which each succeeds."""
    batch = json.dumps({"milestones": [milestone("late", "later")]})
    claimed = {**HOST, "issue_id": desk.ids["a"], "agent": "ann"}
    why = {"reason": "because"}

    def held() -> Any:
        return desk.one("SELECT id FROM leases WHERE status = 'active'")

    return [
        ("plan", {"batch": batch, "project": "Acme", "campaign": "first"}, {"batch": batch.replace("later", "sooner")}),
        ("promote", {"project": "Acme"}, {"campaign": "first"}),
        ("claim", {**claimed, "project": "Acme"}, {"agent": "bob"}),
        ("checkpoint", {**REPORT, "status": "in_progress", "lease": held}, {"summary": "else"}),
        ("heartbeat", {"lease": held}, {"ttl": 5}),
        ("artifacts save", {"issue": desk.ids["a"], "kind": "log", "path": "a.log", "lease": held}, {"path": "b.log"}),
        ("close", {**REPORT, "status": "needs_recovery", "lease": held}, {"status": "done"}),
        ("recover", {"resolution": "fail", "issue_id": desk.ids["a"], **why}, {"resolution": "block"}),
        ("retry", {"issue_id": desk.ids["a"], **why}, {"reason": "else"}),
        ("rollback", {"issue_id": desk.ids["a"], **why}, {"issue_id": desk.ids["b"]}),
        ("drain", {"campaign_id": desk.campaign, **why}, {"reason": "else"}),
        ("undrain", {"campaign_id": desk.campaign, **why}, {"reason": "else"}),
        ("reconcile", {"project": "Acme"}, {"campaign": "first"}),
        ("archive", {"campaign_id": desk.campaign, **why}, {"reason": "else"}),
    ]


def test_the_same_request_gets_the_same_answer_and_another_input_is_refused(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a", work("b", 0)))
    desk.do("campaign", project_name="Other", campaign_name="first")  # a second project makes no verb unsure of its own
    calls = _calls(desk)
    for number, (name, raw, other) in enumerate(calls):
        given = {key: value() if callable(value) else value for key, value in raw.items()}
        request = {"request_id": f"req-{number}"}
        first = desk.do(name, **given, **request)
        before = desk.content()
        desk.clock.advance(1)
        again = desk.do(name, **given, **request)
        assert again == {**first, "replayed": True}, name
        assert desk.content() == before, name
        assert desk.no(name, **{**given, **other}, **request)["code"] == "INVALID_ARGUMENT", name
    assert desk.no("undrain", **calls[-1][1], request_id="req-0")["code"] == "INVALID_ARGUMENT"


def test_a_request_is_one_of_its_project(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"), project="Acme")
    desk.campaign_of("first", project="Other").plan(milestone("n", "b"), project="Other")
    ours = desk.do("claim", **HOST, project="Acme", request_id="r")
    theirs = desk.do("claim", **HOST, project="Other", request_id="r")
    assert (ours["issueTask"], theirs["issueTask"]) == ("a", "b")


def test_a_refused_request_may_be_repeated(desk: Desk) -> None:
    desk.open()
    for _ in range(2):
        assert desk.no("claim", **HOST, request_id="r")["code"] == "NOTHING_READY"
    desk.plan(milestone("m", "a"))
    assert desk.do("claim", **HOST, request_id="r")["issueTask"] == "a"


def test_advancing_twice_under_one_request_closes_once_and_claims_once(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a", "b", "c"))
    raw: dict[str, Any] = {"lease": desk.claim("a")["leaseId"], "status": "done", **REPORT, "request_id": "r"}
    first = desk.do("advance", **raw)
    before = desk.content()
    again = desk.do("advance", **raw)
    assert again["context"] == {**first["context"], "replayed": True}
    assert desk.content() == before
    assert desk.statuses() == {"a": "done", "b": "in_progress", "c": "ready"}


def test_a_request_under_a_digest_is_applied_once_and_answered_again(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a", "b"))
    raw = {**HOST, "agent": "ann", "request_id": "r"}
    digest = shown(desk.run("claim", raw, dry_run=True))["digest"]
    first = desk.run("claim", raw, digest=digest)
    again = desk.run("claim", raw, digest=digest)
    assert first.error is None
    assert again.result == {**first.result, "replayed": True}  # pyright: ignore[reportGeneralTypeIssues]


@pytest.mark.parametrize("canary", CANARIES, ids=lambda canary: canary.kind)
def test_no_secret_of_a_call_stays_because_it_had_a_request_id(desk: Desk, canary: Any) -> None:
    desk.open()
    batch = json.dumps({"milestones": [milestone("m", work(f"use {canary.text} there", note=canary.text))]})
    assert desk.no("plan", batch=batch, request_id="r")["code"] == "INVALID_ARGUMENT"
    batch = json.dumps({"milestones": [milestone("m", work(f"use {canary.text} there"))]})
    desk.do("plan", batch=batch, request_id="r")
    for name in ("queue.db", "queue.db-wal"):
        assert canary.secret.encode() not in desk.path.with_name(name).read_bytes()


def test_a_request_id_that_looks_like_a_secret_is_refused_and_not_repeated(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    token = next(canary for canary in CANARIES if canary.kind == "github")
    error = desk.no("claim", **HOST, request_id=token.text)
    assert error["code"] == "INVALID_ARGUMENT"
    assert token.secret not in json.dumps(error)


def test_a_retry_by_another_process_that_names_itself_as_the_holder_is_the_same_request(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a", "b"))
    first = desk.claim(agent="ann", request_id="R-1", holder_pid=os.getpid())
    again = desk.claim(agent="ann", request_id="R-1", holder_pid=os.getppid())
    assert again == {**first, "replayed": True}
