"""What happened to an issue, and what the memory made of it, as data for people."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from phelix_core.text import SafeStr
from phelix_core.views.queue.glyphs import GLYPHS
from phelix_core.views.queue.rows import STATES
from phelix_core.views.queue.story import issue_story
from phelix_core.views.queue.timeline import Entry, audited, remembered, timeline_of
from tests.core.queue.desk import HOST, REPORT, Desk, milestone
from tests.core.queue.test_memory import Kept, claim, living, say
from tests.rig import FixedClock, did


@pytest.fixture
def desk(tmp_path: Path, clock: FixedClock) -> Desk:
    return Desk(tmp_path / "data", clock).open().plan(milestone("m", "a"))


def shown(desk: Desk) -> Any:
    return desk.do("show", issue_id=desk.ids["a"])


def audits(desk: Desk, limit: int) -> list[Any]:
    """Every page of the audit."""
    pages = [desk.do("audit", issue_id=desk.ids["a"], limit=limit)]
    while "nextCursor" in pages[-1]:
        pages.append(desk.do("audit", issue_id=desk.ids["a"], limit=limit, cursor=pages[-1]["nextCursor"]))
    return pages


def lived(desk: Desk, memory: Any) -> None:
    """An issue with a history: claimed, remembered, stale, taken over, handed on, done."""
    env = living(desk, memory)
    context = claim(env)
    desk.clock.advance(60)
    say(env, context, "in_progress", memory=True, summary="half of it", title="halfway")
    did(env, "queue heartbeat", lease=context["leaseId"])
    desk.clock.advance(7_200)
    did(env, "queue reconcile")
    desk.clock.advance(300)
    again = did(env, "queue recover", resolution="resume", **HOST, memory=True)
    desk.clock.advance(120)
    say(env, again, "done", "close", summary="all of it")


def test_console_and_command_line_have_one_table_of_glyphs() -> None:
    assert {name: looks.glyph for name, looks in STATES.items()} == GLYPHS
    assert list(GLYPHS) == sorted(STATES, key=lambda name: STATES[name].rank)


def test_an_issue_that_the_memory_was_told_nothing_of_has_no_memory(desk: Desk) -> None:
    desk.close(desk.claim("a"))
    assert remembered(shown(desk)) == ()
    assert issue_story(shown(desk)).memories == ()
    assert not any(
        "memory" in entry.detail and "emoryWriteSkipped" not in entry.detail for entry in timeline_of(shown(desk))
    )


def test_a_memory_stands_beside_its_checkpoint_with_its_kind_reference_and_summary(desk: Desk) -> None:
    memory = Kept()
    env = living(desk, memory)
    context = claim(env)
    desk.clock.advance(60)
    told = say(
        env, context, "in_progress", memory=True, memory_kind="decision", memory_content="whole cents", title="how"
    )
    (made,) = issue_story(shown(desk)).memories
    assert (made.kind, made.ref, made.summary, made.checkpoint, made.waits) == (
        *("decision", told["memoryId"], "whole cents", "how"),
        False,
    )
    entry = entry_of(timeline_of(shown(desk)), "checkpoint_payload")
    assert entry.detail.endswith(f"evidence: commit:abc · remembered as decision {told['memoryId']}")
    linked = entry_of(timeline_of(shown(desk)), "mem0_memory_linked")
    assert linked.detail == f"of how · memoryId {told['memoryId']} · memoryKind decision"
    assert "so far" not in linked.detail, "the checkpoint has said it"


def test_a_text_that_was_put_by_waits_until_it_is_linked_and_says_what_hinders(desk: Desk) -> None:
    memory = Kept(failing="the disk is full")
    short, long = living(desk, memory, delivers=False), living(desk, memory)
    say(short, claim(short), "blocked", summary="needs a word")
    (waiting,) = remembered(shown(desk))
    assert (waiting.waits, waiting.ref, waiting.why, waiting.summary) == (True, "", "", "needs a word")
    assert entry_of(timeline_of(shown(desk)), "checkpoint_payload").detail.endswith("waits for the memory")
    did(long, "queue memory sync")
    desk.clock.advance(60)
    memory.failing = "it is asleep"
    did(long, "queue memory sync")
    (hindered,) = remembered(shown(desk))
    assert (hindered.waits, hindered.why) == (True, "it is asleep"), "the newest reason"
    memory.failing = None
    did(long, "queue memory sync")
    (made,) = remembered(shown(desk))
    assert (made.waits, made.why, made.checkpoint_id) == (False, "", waiting.checkpoint_id)


def test_a_link_that_names_no_checkpoint_is_told_all_the_same() -> None:
    link = {"memoryKind": "note", "memoryRef": "", "createdAt": "2026-01-01T00:00:00.000Z"}
    (made,) = remembered({"memoryLinks": [link], "checkpoints": [], "events": []})
    assert (made.kind, made.ref, made.summary, made.waits) == ("note", "‹no reference›", "", False)


def entry_of(entries: tuple[Entry, ...], kind: str) -> Entry:
    found = [entry for entry in entries if entry.kind == kind]
    assert len(found) == 1, [entry.kind for entry in entries]
    return found[0]


def without_gap(entry: Entry) -> Entry:
    return replace(entry, gap=SafeStr(""))


def test_a_page_of_the_audit_tells_what_the_whole_story_tells_and_heartbeats_besides(desk: Desk) -> None:
    lived(desk, Kept())
    (page,) = audits(desk, 100)
    told = [entry for entry in audited(page) if entry.kind != "heartbeat"]
    assert list(map(without_gap, told)) == list(map(without_gap, timeline_of(shown(desk))))
    (beat,) = [entry for entry in audited(page) if entry.kind == "heartbeat"]
    assert beat.ids == page["evidence"]["leases"][0]["id"]


@pytest.mark.parametrize("limit", [1, 2, 3, 5])
def test_pages_of_the_audit_tell_each_thing_once_and_leave_nothing_out(desk: Desk, limit: int) -> None:
    lived(desk, Kept())
    (whole,) = audits(desk, 100)
    pages = audits(desk, limit)
    marks = [(entry.mark, entry.kind, entry.at_ms) for page in pages for entry in audited(page)]
    named = [mark for mark in marks if mark[0]]
    assert len(named) == len(set(named))
    assert {mark for mark in named if mark[0] != "memory"} == {
        (entry.mark, entry.kind, entry.at_ms) for entry in audited(whole)
    }
    for page in pages:
        said = " ".join(f"{entry.detail} {entry.ids}" for entry in audited(page))
        for point in page["evidence"]["checkpoints"]:
            assert point["id"] in said
            assert point["summary"] in said


def test_gaps_are_told_between_neighbours_and_whose_the_work_was(desk: Desk) -> None:
    lived(desk, Kept())
    entries = timeline_of(shown(desk))
    done, recovered = entry_of(entries, "session_closed"), entry_of(entries, "recovery_resolved")
    assert (done.moved, done.glyph, done.status) == ("in_progress → done", GLYPHS["done"], "done")
    assert [entry.gap for entry in entries if entry.gap] == ["+2m 00s", "+5m 00s", "+2h 00m", "+1m 00s"]
    assert recovered.by == done.by != ""
    assert [entry.at_ms for entry in entries] == sorted((entry.at_ms for entry in entries), reverse=True)


def test_what_somebody_else_wrote_into_an_event_is_text_and_no_crash() -> None:
    event = {"seq": 3, "kind": "x\x1b[2J", "createdAt": "not a time", "via": None, "payload": ["no", "object"]}
    unheard = {
        **event,
        "seq": 4,
        "payload": {"taskStatus": "melted", "from": "ready", "checkpointId": "K-9", "list": [1]},
    }
    entries = timeline_of({"events": [unheard, event]})
    assert [entry.kind for entry in entries] == ["x␛[2J"] * 2
    assert (entries[0].glyph, entries[0].status, entries[0].moved) == ("·", "", "ready → melted")
    assert entries[0].detail == "list 1"
    assert {entry.via for entry in entries} == {"not recorded"}


def test_a_checkpoint_without_its_event_is_told_by_itself(desk: Desk) -> None:
    desk.say(desk.claim("a"), summary="alone")
    (page,) = audits(desk, 100)
    page["evidence"]["events"] = []
    kinds = [entry.kind for entry in audited(page) if entry.kind == "checkpoint"]
    assert len(kinds) == len(page["evidence"]["checkpoints"])
    assert any("alone" in entry.detail and entry.ids.startswith("K-") for entry in audited(page))
    assert REPORT["summary"] not in " ".join(entry.detail for entry in audited(page))
