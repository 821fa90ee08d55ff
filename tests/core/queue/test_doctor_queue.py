"""What the doctor sees of a queue, and how it catches up after a crash between the queue and its session records."""

from typing import Any

import pytest

from phelix_core.errors import Unavailable
from phelix_core.queue.sqlite import SqliteQueue
from phelix_core.sqlite import is_sound
from tests.core.queue.desk import Desk, milestone
from tests.rig import did


def finding(desk: Desk, check: str) -> Any:
    return next(one for one in did(desk.env, "doctor").findings if one.check == check)


def lose(desk: Desk, session_id: str) -> None:
    """As if the process had died between the commit and the record."""
    (desk.data_dir / "sessions" / f"{session_id}.json").unlink()


def test_a_queue_that_is_not_there_is_sound_and_is_not_made(desk: Desk) -> None:
    assert (finding(desk, "queue").state, finding(desk, "queue").detail) == ("ok", "none yet")
    assert not desk.path.exists()


def test_a_claim_whose_record_was_never_written_gets_it_under_the_surface_of_its_run(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    context = desk.claim()
    lose(desk, context["sessionId"])
    assert finding(desk, "queue sessions").state == "warn"
    fixed = did(desk.env, "doctor", fix=True).fixed
    assert f"{context['sessionId']} made" in fixed
    record = desk.env.sessions.load(context["sessionId"])
    assert (record.status, record.title, record.events[0].via) == ("active", "a", "cli")
    assert finding(desk, "queue sessions").state == "ok"


@pytest.mark.parametrize(("status", "outcome"), [("done", "completed"), ("failed", "failed"), ("ready", "cancelled")])
def test_a_close_whose_record_was_never_closed_is_caught_up_with(desk: Desk, status: str, outcome: str) -> None:
    desk.open().plan(milestone("m", "a"))
    context = desk.claim()
    path = desk.data_dir / "sessions" / f"{context['sessionId']}.json"
    before = path.read_bytes()
    desk.close(context, status, summary="how it went")
    path.write_bytes(before)
    assert finding(desk, "queue sessions").state == "warn"
    did(desk.env, "doctor", fix=True)
    assert desk.env.sessions.load(context["sessionId"]).status == outcome
    assert did(desk.env, "doctor", fix=True).fixed == ()


def test_a_record_that_was_pruned_after_its_lease_had_ended_is_not_missed(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    context = desk.claim()
    desk.close(context)
    lose(desk, context["sessionId"])
    assert finding(desk, "queue sessions").state == "ok"
    assert did(desk.env, "doctor", fix=True).fixed == ()


def test_a_hole_in_the_journal_is_told(desk: Desk) -> None:
    desk.open().plan(milestone("m", "a"))
    desk.writer.ask("DELETE FROM events WHERE seq = 2")
    desk.damaged = True
    assert finding(desk, "queue").state == "fail"
    assert "1 events are missing" in finding(desk, "queue").detail
    assert did(desk.env, "doctor").sound is False


@pytest.mark.parametrize("version", ["3.7.0", "3.40.1", "3.51.2"])
def test_an_engine_that_may_lose_commits_reads_and_never_writes(desk: Desk, version: str) -> None:
    desk.open().plan(milestone("m", "a"))
    old = SqliteQueue(str(desk.path), desk.clock, engine=lambda: version)
    assert not is_sound(version)
    assert old.read(lambda tx: tx.last_seq()) > 0
    with pytest.raises(Unavailable, match=version):
        old.write(lambda tx: tx.last_seq(), "cli")
    old.close()
