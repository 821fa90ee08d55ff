"""Pages of the queue for people: what the answer says, in a pipe and on a terminal, whatever the records hold."""

import io
import json
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from phelix_core.cli.inspection_pages import INSPECTIONS
from phelix_core.cli.page import Page
from phelix_core.cli.queue_cells import age_chart, status_bars, status_strip
from phelix_core.cli.queue_pages import DRAWN
from phelix_core.clock import iso
from phelix_core.commands.registry import CATALOGUE
from phelix_core.views.queue.glyphs import GLYPHS
from tests.rig import PHELIX, Phelix
from tests.tui.hostile import ESCAPES, MARKUP, WIDTHS
from tests.tui.pty_terminal import PtyTerminal, clean_environment
from tests.tui.queues import Queue, filled
from tests.tui.stage import Stage

COLUMNS = 80
HOST = ("--host", "host-a", "--workload-class", "code")
SGR = re.compile(r"\x1b\[[0-9;]*m")
HIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b\u200e\u200f\ufeff]")
MOVING = re.compile(r"\d\d:\d\d:\d\dZ|\d+[smhd]\b|[█░]")
"""What differs from one second to the next: times, what is left of leases."""
BREACHED = "Answer the auditors"


@dataclass(frozen=True)
class Board:
    """A queue with an issue of every state, and the command line over it."""

    phelix: Phelix
    ids: dict[str, str]

    def page(self, *argv: str) -> str:
        ran = self.phelix("queue", *argv)
        assert (ran.code, ran.err) == (0, ""), ran
        return ran.out.decode()

    def told(self, *argv: str) -> Any:
        return self.phelix("queue", *argv, "--json").result


def board(folder: Path) -> Board:
    """One issue of every state as of now, one of them in breach of its policy, one memory and one that waits."""
    stage = Stage(folder / "data")
    stage.clock.wall_ms = round(time.time() * 1000)
    queue, ids = filled(stage)
    rule = {"trigger": "deadline_breached", "action": "raise_priority", "priority": "critical", "note": "call Ann"}
    late = {"task": BREACHED, "priority": "low", "size": "S", "policy": {"escalationRules": [rule]}}
    late["deadlineAt"] = iso(stage.clock.wall_ms - 7_200_000)
    queue.does(
        "plan", batch=json.dumps({"milestones": [{"milestone_key": "audit", "description": "d", "issues": [late]}]})
    )
    queue.does("promote")
    queue.does("artifacts save", issue=next(one for task, one in ids.items() if "Port" in task), kind="r", path="/w/r")
    issues = queue.does("list", limit=0)["issues"]
    queue.agent.queue.close()
    return Board(Phelix(stage.data_dir, folder), {one["task"].split()[0]: one["id"] for one in issues} | ids)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Board:
    return board(tmp_path_factory.mktemp("full"))


@pytest.fixture
def own(full: Board, tmp_path: Path) -> Board:
    """The same, for a test that changes it."""
    shutil.copytree(full.phelix.data_dir, tmp_path / "data")
    return Board(Phelix(tmp_path / "data", tmp_path), full.ids)


def words(told: Any, path: str) -> Iterator[str]:
    """What stands at a path of an answer: `*` is each of a list or of an object's members, `?` each of its names."""
    first, _, rest = path.partition(".")
    if not path:
        yield str(told)
    elif first == "*":
        for one in told.values() if isinstance(told, dict) else told:  # pyright: ignore[reportUnknownVariableType]
            yield from words(one, rest)
    elif first == "?":
        yield from told
    elif first in told:
        yield from words(told[first], rest)


ISSUES = ("readyIssues", "inProgressIssues", "recoveryIssues", "blockedIssues")
PAGES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "export": (
        ("export",),
        (
            *(f"queue.{name}.*.{member}" for name in ISSUES for member in ("id", "task", "size")),
            "queue.blockedIssues.*.blockedReason",
            *(f"queue.blockedMilestones.*.{member}" for member in ("id", "key", "status", "blockedReason")),
            *(f"leases.active.*.{member}" for member in ("id", "issueId", "agentId", "host")),
            *("leases.staleReasons.?", "leases.staleReasons.*", "scope.projectId", "policy.breachedIssues.*.id"),
            *(f"policy.breachedIssues.*.policyState.breaches.*.{name}" for name in ("trigger", "note", "priority")),
            *(f"runs.recent.*.{member}" for member in ("id", "agentId", "status", "sessionType")),
            *(f"audit.recentEvents.*.{member}" for member in ("id", "kind", "issueId", "payload.leaseId")),
        ),
    ),
    "audit": (
        ("audit", "Port"),
        (
            *("issue.id", "issue.task", "evidence.leases.*.id", "evidence.artifacts.*.path"),
            *(f"evidence.checkpoints.*.{member}" for member in ("id", "title", "summary", "nextStep")),
            *(f"evidence.events.*.{member}" for member in ("id", "kind", "payload.checkpointId", "payload.memoryId")),
            *(f"evidence.memoryLinks.*.{member}" for member in ("memoryRef", "memoryKind", "checkpointId")),
        ),
    ),
    "health": (
        ("health",),
        (
            *("leases.staleReasons.?", "leases.staleReasons.*", "queue.statusCounts.total", "scope.projectId"),
            *(f"claimsBlockedBy.*.{member}" for member in ("issueId", "reason", "summary", "nextStep")),
            *(f"milestones.*.{member}" for member in ("id", "key", "status", "blockedReason")),
            *("alerts.*.refIds.*", "leases.ages.*.count", "policy.trackedIssues"),
        ),
    ),
    "next": (
        ("next", *HOST),
        (
            *("reason", "context.stage", "context.issue.id", "context.issue.task", "context.lease.id"),
            *("context.lease.agentId", "context.blocker.code", "context.blocker.summary", "suggestedPayload.action"),
            *("suggestedPayload.input.?", "suggestedPayload.input.workspaceId"),
        ),
    ),
    "context": (
        ("context",),
        (
            *("workspaces.*.id", "workspaces.*.name"),
            *(f"projects.*.{member}" for member in ("id", "key", "name", "statusCounts.total")),
            *(f"projects.*.campaigns.*.{member}" for member in ("id", "name", "status", "objective")),
        ),
    ),
}
by_page = pytest.mark.parametrize("name", PAGES)


def argv_of(of: Board, name: str) -> list[str]:
    return [of.ids.get(word, word) for word in PAGES[name][0]]


@by_page
def test_a_page_says_what_the_answer_holds(full: Board, name: str) -> None:
    page, told = full.page(*argv_of(full, name)), full.told(*argv_of(full, name))
    for path in PAGES[name][1]:
        for word in words(told, path):
            gate = word.partition("_dependency:")[2]
            assert " ".join((gate or word).split()) in " ".join(page.split()), (path, word)


def test_every_member_that_a_page_is_asked_for_is_there_in_some_answer(full: Board) -> None:
    """A path that leads nowhere would prove nothing."""
    nowhere = {
        (name, path)
        for name, (_, paths) in PAGES.items()
        for path in paths
        if not [*words(full.told(*argv_of(full, name)), path)]
    }
    assert nowhere == set()


def test_every_command_of_the_queue_has_a_page() -> None:
    assert DRAWN.keys() | INSPECTIONS.keys() == {name for name in CATALOGUE if name.startswith("queue ")}
    assert not DRAWN.keys() & INSPECTIONS.keys()


# The commands on a page


def commands(page: str) -> list[str]:
    """The commands that a page offers to copy, each in one line."""
    joined = page.replace(" \\\n", " ")
    return [line.strip() for line in joined.splitlines() if line.startswith("  phelix queue ")]


def call(of: Board, command: str) -> tuple[str, Any]:
    """What a command that was copied answers, as a page and as JSON."""
    argv = shlex.split(command)[2:]
    return of.page(*argv), of.told(*argv)


@pytest.mark.parametrize(
    ("argv", "path"),
    [
        (("export", "--limit", "2"), "queue.*.*.id"),
        (("export", "--limit", "1"), "leases.active.*.id"),
        (("audit", "Port", "--limit", "2"), "evidence.events.*.id"),
    ],
)
def test_the_command_for_the_next_page_leads_through_all_of_it(full: Board, argv: tuple[str, ...], path: str) -> None:
    argv = tuple(full.ids.get(word, word) for word in argv)
    page, told = full.page(*argv), full.told(*argv)
    counted = re.search(r"Page 1 of at most (\d+)|(\d+) more pages?", page)
    assert counted is not None
    most = int(counted[1] or 0) or int(counted[2]) + 1
    seen, turned = [*list_of(told, path)], 1
    while found := commands(page):
        assert len(found) == 1, found
        page, told = call(full, found[0])
        seen += list_of(told, path)
        turned += 1
    assert turned <= most
    whole = full.told(*argv[:-2], "--limit", "100")
    assert sorted(seen) == sorted(list_of(whole, path))


def list_of(told: Any, path: str) -> list[str]:
    told["queue"] = {name: one for name, one in told.get("queue", {}).items() if name != "statusCounts"}
    return [*words(told, path)]


def test_the_next_page_is_of_the_same_queue_wherever_it_lies(full: Board) -> None:
    place = ("--data-dir", str(full.phelix.data_dir), "--queue", f"{full.phelix.data_dir}/queue.db")
    (command,) = commands(full.page("export", "--limit", "1", *place))
    assert shlex.split(command)[-4:] == [*place]


def shell(of: Board, script: str) -> Any:
    """Run a script as somebody who pasted it would; answers what it printed."""
    environ = {**of.phelix.environ, "PATH": f"{PHELIX.parent}:{of.phelix.environ['PATH']}"}
    ran = subprocess.run(["bash", "-c", script], capture_output=True, env=environ, timeout=60, check=False, text=True)
    assert ran.returncode == 0, ran
    return ran.stdout


def payload_in(page: str) -> str:
    """The lifecycle call on a page, as it would be copied."""
    begin = page.index("  phelix-lifecycle")
    return page[begin : page.index("\nEOF\n", begin) + 5]


def test_what_is_suggested_succeeds_as_it_is_printed_in_both_forms(own: Board, tmp_path: Path) -> None:
    page = own.page("next", *HOST)
    assert all(f"fill in  {word}" in page for word in ("KIND and PATH", "FOUND"))
    twin = Board(Phelix(tmp_path / "twin" / "data", tmp_path), own.ids)
    shutil.copytree(own.phelix.data_dir, twin.phelix.data_dir)
    (command,) = commands(page)
    assert "Took over" in shell(own, command)
    assert json.loads(shell(twin, payload_in(page)))["context"]["claimMode"] == "recovery"


@pytest.mark.parametrize("steps", range(5))
def test_from_nothing_at_all_the_page_leads_to_a_claim(phelix: Phelix, steps: int) -> None:
    """No workspace, no project, work to promote, an empty queue: each page's command makes the next one possible."""
    of = Board(phelix, {})
    said = ["There is no queue here yet.", "There is no project yet.", "no open work", "Run:", "1 in_progress"]
    for step in range(steps):
        page = of.page("next", *HOST)
        assert said[step] in page, page
        if step == 2:
            batch = {"milestones": [{"milestone_key": "m", "description": "d", "issues": [TASK]}]}
            assert phelix("queue", "plan", "-", stdin=json.dumps(batch).encode()).code == 0
        for command in commands(page):
            shell(of, command)
    assert said[steps] in of.page("next", *HOST)


TASK = {"task": "t", "priority": "low", "size": "S"}


def test_several_projects_are_listed_with_the_question_for_one_of_them(own: Board) -> None:
    assert own.phelix("queue", "campaign", "search", "v1").code == 0
    page = own.page("next", *HOST)
    projects = own.told("next", *HOST)["context"]["projects"]
    assert len(projects) == 2
    assert all(one["id"] in page and one["key"] in page for one in projects)
    assert "needs recovery" in call(own, commands(page)[0])[0] or "is stale" in call(own, commands(page)[0])[0]


def test_a_host_that_may_take_nothing_is_told_what_it_misses(own: Board) -> None:
    for issue in own.told("list", "--limit", "0")["issues"]:
        if issue["status"] in ("needs_recovery", "in_progress", "ready"):
            own.phelix("queue", "rollback", issue["id"], "--reason", "planned anew")
    own.phelix("queue", "retry", own.ids["Bisect"], "--reason", "again")
    issue = {
        **TASK,
        "task": "embed",
        "policy": {"dispatch": {"workloadClass": "gpu", "requiredHostCapabilities": ["cuda"]}},
    }
    batch = {"milestones": [{"milestone_key": "gpu", "description": "d", "issues": [issue]}]}
    name = own.told("context")["projects"][0]["name"]
    assert own.phelix("queue", "campaign", name, "gpu").code == 0
    planned = own.phelix("queue", "plan", "-", "--campaign", "gpu", stdin=json.dumps(batch).encode())
    assert planned.code == 0
    assert own.phelix("queue", "promote").code == 0
    page = own.page("next", *HOST, "--campaign", "gpu")
    assert "candidate" in page
    assert "missing: class gpu, cuda" in page


# On a terminal


def on_terminal(of: Board, *argv: str, cols: int = COLUMNS, **environ: str) -> str:
    """What a terminal gets, colours taken away; nothing else may be in it."""
    env = clean_environment(**{**of.phelix.environ, **environ})
    with PtyTerminal([str(PHELIX), "queue", *argv], cols=cols, rows=200, env=env) as terminal:
        assert terminal.wait_end(30) == 0
        said = SGR.sub("", terminal.raw.decode())
    said = said.replace("\r\n", "\n")
    assert not HIDDEN.search(said), said
    return said


def bare(page: str) -> str:
    """A page without what differs between a pipe and a terminal, and from one second to the next."""
    return "".join(MOVING.sub("", page).replace(" \\\n", " ").split())


@pytest.mark.parametrize("cols", [COLUMNS, 120, 44])
@by_page
def test_a_terminal_is_told_the_same_and_no_line_is_wider(full: Board, name: str, cols: int) -> None:
    said = on_terminal(full, *argv_of(full, name), cols=cols)
    # What is copied into another program is not broken: the terminal itself does that where it must.
    ours = said.replace(payload_in(said), "") if name == "next" else said
    widest = max(ours.splitlines(), key=cell_len)
    assert cell_len(widest) <= cols, widest
    assert bare(said) == bare(full.page(*argv_of(full, name)))


@by_page
def test_without_colour_a_terminal_is_told_the_same(full: Board, name: str) -> None:
    said = on_terminal(full, *argv_of(full, name), NO_COLOR="1")
    assert bare(said) == bare(full.page(*argv_of(full, name)))


def test_a_command_that_a_terminal_continues_is_one_that_a_shell_takes(own: Board) -> None:
    said = on_terminal(own, "next", *HOST)
    begin = said.index("  phelix queue ")
    copied = said[begin : said.index("\n  fill in", begin)]
    assert copied.count("\\\n") >= 2
    assert "Took over" in shell(own, copied)


@pytest.mark.parametrize("cols", [COLUMNS, 50])
def test_a_list_names_every_issue_whole_however_narrow_the_terminal(full: Board, cols: int) -> None:
    said = on_terminal(full, "list", cols=cols)
    lines = said.splitlines()
    assert max(map(cell_len, lines)) <= cols
    for issue in full.told("list")["issues"]:
        assert any(f"{GLYPHS[issue['status']]} {issue['status']}" in one and issue["id"] in one for one in lines)


HOSTILE = tuple(text[:200] for text in (*MARKUP, *ESCAPES, *WIDTHS) if text.strip())


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Board:
    """Each text wherever a row has one."""
    folder = tmp_path_factory.mktemp("hostile")
    stage = Stage(folder / "data")
    stage.clock.wall_ms = round(time.time() * 1000)
    queue = Queue(stage)
    queue.does("init", name=HOSTILE[7])
    queue.does("campaign", project_name=HOSTILE[8][:60], campaign_name=HOSTILE[9], objective=HOSTILE[10])
    issues = [{"task": text, "priority": "low", "size": "S"} for text in HOSTILE]
    queue.does(
        "plan",
        batch=json.dumps({"milestones": [{"milestone_key": "m\x1b]0;m", "description": "d\n", "issues": issues}]}),
    )
    queue.does("promote")
    ids = [one["id"] for one in queue.does("list", limit=0)["issues"]]
    for place, (issue_id, text) in enumerate(zip(ids, HOSTILE, strict=True)):
        if place % 2:
            continue
        said: dict[str, Any] = {"summary": text, "next_step": text, "evidence": (text,), "title": text[:60]}
        lease = queue.claim(issue_id, text[:40], memory=True, artifacts=(f"kind={text[:60]}",))["leaseId"]
        queue.does("checkpoint", lease=lease, status="in_progress", memory=True, **said)
        if place % 4:
            queue.does("close", lease=lease, status="blocked", reason=text[:120], **said)
    queue.agent.queue.close()
    return Board(Phelix(stage.data_dir, folder), {str(place): issue_id for place, issue_id in enumerate(ids)})


CALLS = (("export",), ("health",), ("next", *HOST), ("context",), ("list",))


@pytest.mark.parametrize("argv", CALLS, ids=lambda argv: argv[0])
def test_hostile_text_is_harmless_and_moves_no_column(hostile: Board, argv: tuple[str, ...]) -> None:
    assert not HIDDEN.search(hostile.page(*argv))
    said = on_terminal(hostile, *argv)
    assert max(cell_len(line) for line in said.splitlines()) <= COLUMNS
    if argv == ("export",):
        listed = [line for line in said.splitlines() if line.startswith("  I-")]
        assert len(listed) == len(HOSTILE)
        for line in listed:
            assert re.match(r"  I-[0-9a-f]{16}  low       S   \S", line), line


@pytest.mark.parametrize("place", range(0, len(HOSTILE), 2))
def test_a_history_of_hostile_text_is_harmless_and_hangs_together(hostile: Board, place: int) -> None:
    argv = ("audit", hostile.ids[str(place)])
    page = hostile.page(*argv)
    assert not HIDDEN.search(page)
    assert len(re.findall(r"^  \d\d:\d\d:\d\dZ ", page, re.MULTILINE)) >= 4, "no text begins a line of its own"
    said = on_terminal(hostile, *argv)
    assert max(cell_len(line) for line in said.splitlines()) <= COLUMNS
    day = said.index("\n20")
    for line in said[day:].splitlines()[2:]:
        if not line.startswith(("20", "held by", "artifact", "  L-", " " * 11)):
            assert re.match(r"  \d\d:\d\d:\d\dZ  .{9} \S ", line), line


# What the memory says


def test_what_a_memory_does_is_told_in_one_line(own: Board) -> None:
    taken = own.page("recover", own.ids["Port"], "--resolution", "resume", *HOST, "--agent", "ann", "--memory")
    assert "memory     nothing recalled: no memory is configured" in taken.splitlines()
    lease = re.findall(r"L-[0-9a-f]{16}", taken)[0]
    report = ("--lease", lease, "--summary", "s", "--next", "n", "--evidence", "commit:1")
    said = own.page("checkpoint", *report, "--status", "in_progress", "--memory")
    waits = "memory     waits to be handed over; `phelix queue memory sync` does it"
    assert waits in said.splitlines()
    assert waits in own.page("close", *report, "--status", "done").splitlines()
    assert f"The memory took 0; 3 still wait.\n  {GLYPHS['failed']} K-" in own.page("memory", "sync")
    assert "no memory is configured" in own.page("memory", "sync")
    shown = own.page("show", own.ids["Port"]).splitlines()
    assert "memory     decision mem-0001: Amounts become whole cents." in shown
    assert (
        "memory     note waits for the memory (no memory is configured): Eleven of fourteen tables are ported." in shown
    )


def test_a_session_without_memory_is_told_why_nothing_is_remembered(own: Board) -> None:
    lease = own.told("export")["leases"]["active"]
    draft = next(one["id"] for one in lease if one["issueId"] == own.ids["Draft"])
    report = ("--lease", draft, "--summary", "s", "--next", "n", "--evidence", "commit:1")
    said = own.page("close", *report, "--status", "done").splitlines()
    assert "memory     not remembered: memory is not enabled for this session" in said


def test_a_real_memory_takes_what_waits_and_says_it_again_to_who_takes_over(own: Board) -> None:
    (own.phelix.data_dir / "config.toml").write_text('[memory]\nprovider = "mem0"\n')
    ran = own.phelix("queue", "memory", "sync")
    assert ran.code == 0, ran
    first, taken = ran.out.decode().splitlines()
    assert first == "The memory took 1; 0 still wait."
    assert taken.startswith(f"  {GLYPHS['done']} ")
    page = own.page("recover", own.ids["Port"], "--resolution", "resume", *HOST, "--memory", "--memory-query", "tables")
    (recalled,) = [line for line in page.splitlines() if line.startswith("recalled ")]
    assert "Eleven of fourteen tables are ported." in recalled
    assert taken.split()[1] in recalled


# Charts


def drawn(draw: Any, *args: Any) -> str:
    stream = io.StringIO()
    draw(Page(stream, no_color=True), *args)
    return stream.getvalue()


def ages(*counts: int) -> list[dict[str, int]]:
    steps = (0, 60, 300, 900, 3_600, 14_400, 86_400)
    made = [{"fromSeconds": first, "toSeconds": last} for first, last in pairwise(steps)]
    return [{**step, "count": count} for step, count in zip([*made, {"fromSeconds": steps[-1]}], counts, strict=True)]


def test_ages_of_leases_are_a_chart_over_its_labels_and_numbers() -> None:
    assert drawn(age_chart, ages(0, 1, 14, 7, 2, 1_200_000, 0)).splitlines() == [
        "  age       ▁▁▁▁▁ ▂▂▂▂▂ ▂▂▂▂▂ ▂▂▂▂▂ ▂▂▂▂▂ █████████ ▁▁▁▁▁",
        "            <1m   <5m   <15m  <60m  <4h   <24h      ≥24h",
        "            0     1     14    7     2     1,200,000 0",
    ]
    assert drawn(age_chart, ages(1, 2, 3, 4, 5, 6, 8)).splitlines()[0] == (
        "  age       ▂▂▂▂▂ ▃▃▃▃▃ ▄▄▄▄▄ ▅▅▅▅▅ ▅▅▅▅▅ ▆▆▆▆▆ █████"
    )


def test_statuses_are_bars_and_a_strip_in_the_order_of_attention() -> None:
    counts = {"done": 5, "needs_recovery": 1, "ready": 2, "total": 8}
    assert drawn(status_bars, counts).splitlines() == [
        "8 issues",
        f"  ⚠ needs_recovery         1  {'█' * 4}",
        f"  ○ ready                  2  {'█' * 8}",
        f"  ✓ done                   5  {'█' * 19}",
    ]
    strip = "".join(text for text, _ in status_strip(counts))
    assert strip == f"{'⚠' * 2}{'○' * 6}{'✓' * 12}  needs_recovery=1  ready=2  done=5"
    assert status_strip({"total": 0}) == [("no issues", "pending")]
