"""Session records beside leases: made, joined, completed, failed, cancelled; never in the way of the queue."""

import os
from pathlib import Path
from typing import Any

import pytest

from phelix_core.sessions.model import APP_CAP, TITLE_CAP
from tests.core.queue.desk import HOST, REPORT, Desk, milestone
from tests.rig import did, refused


def record(desk: Desk, session_id: str) -> Any:
    return desk.env.sessions.load(session_id)


def test_a_claim_makes_a_record_named_after_the_task_and_the_project(desk: Desk) -> None:
    task = "ü" * 500
    desk.open(project="Prüfung" * 16).plan(milestone("m", task))
    session = record(desk, desk.claim()["sessionId"])
    assert session.title == "ü" * (TITLE_CAP // 2)
    assert session.app is not None
    assert len(session.app.encode()) <= APP_CAP
    assert ("Prüfung" * 16).startswith(session.app)
    assert (session.status, session.actor.type) == ("active", "cli")


@pytest.mark.parametrize(
    ("status", "outcome"),
    [("done", "completed"), ("failed", "failed"), ("ready", "cancelled"), ("blocked", "active")],
)
def test_a_close_ends_the_record_as_it_ends_the_work(desk: Desk, status: str, outcome: str) -> None:
    desk.open().plan(milestone("m", "a"))
    context = desk.claim()
    assert "sessionWritesFailed" not in desk.close(context, status, summary="how it went")
    session = record(desk, context["sessionId"])
    assert session.status == outcome
    if outcome in ("completed", "failed"):
        assert "how it went" in str(session)


def test_what_follows_is_named_where_a_record_is_cancelled(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    for way, words in (
        ("handoff", "handed off"),
        ("recovered", "recovered"),
        ("rollback", "rolled back"),
        ("unblock", "unblocked"),
        ("archived", "archived"),
    ):
        desk.do("promote")
        context = desk.claim("a", ttl=60)
        if way == "handoff":
            desk.close(context, "ready")
        elif way == "recovered":
            desk.clock.advance(60)
            desk.do("recover", resolution="requeue", issue_id=desk.ids["a"], reason="gone")
        elif way == "rollback":
            desk.do("rollback", issue_id=desk.ids["a"], reason="wrong")
        elif way == "unblock":
            desk.say(context, "blocked")
            desk.do("unblock", issue_id=desk.ids["a"], reason="it came")
        else:
            desk.do("archive", campaign_id="first", reason="over")
        session = record(desk, context["sessionId"])
        assert session.status == "cancelled", way
        assert words in str(session), way


def test_a_take_over_cancels_the_old_record_and_makes_a_new_one(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    old = desk.claim(ttl=60)
    desk.clock.advance(60)
    new = desk.do("recover", resolution="resume", **HOST, agent="bob")
    assert record(desk, old["sessionId"]).status == "cancelled"
    assert record(desk, new["sessionId"]).status == "active"


def test_a_resume_goes_on_under_the_same_record_and_under_the_callers_own_id_where_it_has_one(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    first = desk.claim()
    again = desk.claim()
    assert again["sessionId"] == first["sessionId"]
    assert again["runId"].startswith("RUN-")
    own = desk.claim(session="my run 7")
    assert (own["sessionId"], own["runId"]) == ("my run 7", "my run 7")
    assert record(desk, first["sessionId"]).status == "cancelled"
    same = desk.claim(session="my run 7")
    assert (same["runId"], same["leaseId"]) == ("my run 7", first["leaseId"])
    assert len(list(Path(desk.env.sessions.path).glob("ses_*.json"))) == 1
    desk.close(same)


def test_an_existing_session_is_joined_and_completed_with_the_work(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    mine = did(desk.env, "session create", title="mine").session_id
    assert desk.claim(session=mine)["sessionId"] == mine
    desk.close(desk.claim(session=mine))
    assert record(desk, mine).status == "completed"
    assert record(desk, mine).title == "mine"


@pytest.mark.parametrize("how", ["closed", "unwritable", "corrupt"])
def test_a_record_that_cannot_be_written_never_fails_the_verb_and_is_recorded(desk: Desk, how: str) -> None:
    desk.open().plan(milestone("m", "a"))
    context = desk.claim()
    path = Path(desk.env.sessions.path, f"{context['sessionId']}.json")
    if how == "closed":
        did(desk.env, "session cancel", session_id=context["sessionId"], reason="by hand")
    elif how == "corrupt":
        path.write_bytes(b"\0" * 10)
    else:
        path.unlink()
        path.mkdir()
    answer = desk.close(context)
    code = {"closed": "SESSION_INVALID_TRANSITION", "corrupt": "SESSION_CORRUPT"}.get(how)
    told = answer["sessionWritesFailed"]
    assert [(one["sessionId"], one["issueId"]) for one in told] == [(context["sessionId"], desk.ids["a"])]
    assert code is None or told[0]["code"] == code
    assert desk.issue("a") == "done"
    assert desk.events("session_write_failed") == told


def test_a_sessions_folder_that_is_a_file_fails_no_claim(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    (desk.data_dir / "sessions").write_bytes(b"")
    answer = desk.claim()
    assert [one["issueId"] for one in answer["sessionWritesFailed"]] == [desk.ids["a"]]
    assert desk.issue("a") == "in_progress"


def test_a_record_is_not_written_when_the_verb_is_refused(desk: Desk) -> None:
    desk.open()
    assert desk.no("claim", **HOST)["code"] == "NOTHING_READY"
    assert not os.path.lexists(desk.env.sessions.path)


def test_what_a_refused_begin_released_reaches_the_records_too(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a", "b"))
    finished = desk.claim("a", ttl=60)
    desk.say(finished, "done", summary="all of it")
    desk.claim("b", agent="bob", ttl=60)
    desk.clock.advance(60)
    assert desk.unclaimed(agent="eve")["code"] == "RECOVERY_REQUIRED"
    assert desk.lease(finished["leaseId"]) == "released"
    assert record(desk, finished["sessionId"]).status == "completed"


def test_a_session_of_no_form_of_ours_makes_no_record(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a", "b", "c"))
    for task, word in (("a", "ses_nope"), ("b", "../../etc/passwd"), ("c", "SES_0123456789abcdef")):
        desk.close(desk.claim(task, agent=None, session=word))
    assert not os.path.lexists(desk.env.sessions.path)


def test_a_session_id_in_use_by_another_agent_is_refused(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a", "b"))
    desk.claim("a", session="run-1")
    error = refused(desk.env, "queue claim", **HOST, agent="bob", session="run-1")
    assert (error["code"], error["exit_code"]) == ("ALREADY_EXISTS", 1)
    assert desk.issue("b") == "ready"


def test_a_report_says_nothing_more_than_it_was_given(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    answer = desk.say(desk.claim())
    assert answer["checkpoint"]["summary"] == REPORT["summary"]
    assert answer["checkpoint"]["artifactIds"] == REPORT["evidence"]


def test_naming_the_unfinished_session_of_an_older_lease_goes_on_with_that_run(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a", "b"))
    older = desk.claim("a", session="shift-1")
    desk.clock.advance(1)
    desk.claim("b", session="shift-2")
    again = desk.claim(session="shift-1")
    assert (again["claimMode"], again["leaseId"], again["runId"]) == ("resume", older["leaseId"], "shift-1")
    assert refused(desk.env, "queue claim", **HOST, agent="bob", session="shift-1")["code"] == "NOTHING_READY"
