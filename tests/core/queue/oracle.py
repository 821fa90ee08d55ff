"""The rules of gates, of claims and of time once more, literally and by brute force, over plain rows.

Written from the queue page alone: nothing here calls the code that it judges.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from phelix_core.sqlite import Database

Row = dict[str, Any]
Rows = dict[str, dict[Any, Row]]
"""Every row by its table and its key."""

KEYS: Mapping[str, tuple[str, ...]] = {
    "workspaces": ("id",),
    "projects": ("id",),
    "campaigns": ("id",),
    "milestones": ("id",),
    "issues": ("id",),
    "issue_dependencies": ("issue_id", "depends_on"),
    "milestone_dependencies": ("milestone_id", "depends_on"),
    "leases": ("id",),
    "runs": ("id",),
    "checkpoints": ("id",),
    "artifacts": ("id",),
    "requests": ("project_id", "request_id"),
    "memory_outbox": ("id",),
    "memory_links": ("id",),
}
WEEK_MS = 7 * 24 * 3600 * 1000
PRIORITIES = ["critical", "high", "medium", "low"]


def no_rows() -> Rows:
    """A queue before its first event."""
    return {table: {} for table in KEYS}


def key_of(table: str, row: Row) -> Any:
    """What names a row in its table."""
    names = KEYS[table]
    return row[names[0]] if len(names) == 1 else tuple(row[name] for name in names)


class Reader:
    """Reads every row of a queue on a connection of its own."""

    def __init__(self, db: Database) -> None:
        self._db = db
        told = {row[0] for row in db.ask("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        assert told == {*KEYS, "events"}, "a table that no replay is checked against"
        self._names = {table: [row[1] for row in db.ask(f"PRAGMA table_info({table})")] for table in (*KEYS, "events")}

    def rows(self, *tables: str) -> Rows:
        """All of these tables; of every one but the journal where none is named."""
        found: Rows = {}
        for table in tables or KEYS:
            names = self._names[table]
            listed = [dict(zip(names, row, strict=True)) for row in self._db.ask(f"SELECT * FROM {table}")]
            found[table] = {key_of(table, row): row for row in listed}
        return found

    def events(self, after: int = 0) -> list[Row]:
        """The journal behind `after`."""
        names = self._names["events"]
        asked = self._db.ask("SELECT * FROM events WHERE seq > ? ORDER BY seq", [after])
        return [dict(zip(names, row, strict=True)) for row in asked]

    def last_seq(self) -> int:
        """The number of the newest event."""
        return int(self._db.ask("SELECT max(seq) FROM events")[0][0])


def apply(rows: Rows, event: Row) -> None:
    """What an event says that it did to the rows."""
    for change in json.loads(event["changes"]):
        if change[0] == "+":
            key = key_of(change[1], change[2])
            assert key not in rows[change[1]], f"{change[1]} {key} is made twice"
            rows[change[1]][key] = dict(change[2])
        else:
            rows[change[1]][change[2]].update(change[3])


def judge_event(rows: Rows, event: Row) -> None:
    """One status, one checkpoint: an event that is about to be applied moves issues only as it may."""
    moved: dict[str, str] = {}
    raised: dict[str, int] = {}
    points: dict[str, list[str]] = {}
    leases: dict[str, int] = {}
    for sign, table, *rest in json.loads(event["changes"]):
        if sign == "~" and table == "issues":
            before = rows["issues"][rest[0]]
            if "status" in rest[1]:
                assert rest[1]["status"] != before["status"], event
                assert rest[0] not in moved, event
                moved[rest[0]] = rest[1]["status"]
            if "lease_epoch" in rest[1]:
                raised[rest[0]] = rest[1]["lease_epoch"] - before["lease_epoch"]
        elif sign == "+" and table == "checkpoints":
            points.setdefault(rest[0]["issue_id"], []).append(rest[0]["task_status"])
            assert rest[0]["seq"] == event["seq"], event
        elif sign == "+" and table == "leases":
            leases[rest[0]["issue_id"]] = rest[0]["epoch"] - rows["issues"][rest[0]["issue_id"]]["lease_epoch"]
    assert all(len(told) == 1 for told in points.values()), event
    assert all(points.get(issue) == [status] for issue, status in moved.items()), f"a change without its word: {event}"
    for issue, (told,) in points.items():
        assert issue in moved or told == rows["issues"][issue]["status"], f"a checkpoint tells another status: {event}"
    assert raised == leases == dict.fromkeys(raised, 1), f"an epoch rises by one, with a lease: {event}"


# Gates


def done_milestone(rows: Rows, milestone: str) -> bool:
    """A milestone is done iff it has issues and each of them is done."""
    own = [issue["status"] for issue in rows["issues"].values() if issue["milestone_id"] == milestone]
    return len(own) > 0 and all(status == "done" for status in own)


def closed_gates(rows: Rows, issue: Row) -> list[str]:
    """Names of everything that an issue still waits for."""
    closed = [
        f"milestone_dependency:{needed}"
        for milestone, needed in rows["milestone_dependencies"]
        if milestone == issue["milestone_id"] and not done_milestone(rows, needed)
    ]
    return closed + [
        f"issue_dependency:{needed}"
        for waiting, needed in rows["issue_dependencies"]
        if waiting == issue["id"] and rows["issues"][needed]["status"] != "done"
    ]


def judge_gates(rows: Rows) -> None:
    """A ready issue's gates are open, and the mark on the others says exactly whether theirs are."""
    for issue in rows["issues"].values():
        closed = closed_gates(rows, issue)
        if issue["status"] == "ready":
            assert not closed, f"{issue['id']} is ready before {closed}"
        expected = int(issue["status"] == "pending" and not closed)
        assert issue["promotable"] == expected, f"{issue['id']} {issue['status']} waits for {closed or 'nothing'}"


# What is in scope, and what a claim must choose


def campaign_status(rows: Rows, issue: Row) -> str:
    """The status of the issue's campaign; one without a campaign runs."""
    return "active" if issue["campaign_id"] is None else rows["campaigns"][issue["campaign_id"]]["status"]


def in_scope(rows: Rows, campaign: str | None, *statuses: str, running: bool) -> list[Row]:
    """Issues of these statuses: in campaigns that run, or in all that are not archived."""
    allowed = {"active"} if running else {"active", "drained"}
    return [
        issue
        for issue in rows["issues"].values()
        if issue["status"] in statuses
        and campaign in (None, issue["campaign_id"])
        and campaign_status(rows, issue) in allowed
    ]


def fits(issue: Row, classes: Iterable[str], capabilities: Iterable[str]) -> bool:
    """Whether a host may take an issue, by the policy that the issue was stored with."""
    dispatch = json.loads(issue["policy"]).get("dispatch", {})
    if "workloadClass" not in dispatch:
        return True
    return dispatch["workloadClass"] in classes and set(dispatch.get("requiredHostCapabilities", ())) <= set(
        capabilities
    )


def claim_key(issue: Row) -> tuple[Any, ...]:
    """Effective priority, deadline with none last, creation, place in the plan, id."""
    deadline = issue["deadline_at"]
    return (issue["rank"], deadline is None, deadline or 0, issue["created_at"], issue["position"], issue["id"])


def least_urgent_rank(issue: Row, now_ms: int) -> int:
    """The rank that a ready issue has at least by now: age raises by one, a deadline that passed to critical."""
    rank = PRIORITIES.index(issue["priority"])
    if issue["ready_at"] is not None and now_ms - issue["ready_at"] > WEEK_MS:
        rank = max(0, rank - 1)
    rules = json.loads(issue["policy"]).get("escalationRules", ())
    if issue["deadline_at"] is not None and issue["deadline_at"] <= now_ms and rules:
        rank = 0
    return rank


# Rest


def judge_rows(rows: Rows) -> None:
    """Nothing is stranded, nobody holds twice, and nothing outlives the lease it belongs to."""
    active: dict[str, list[str]] = {}
    for lease in rows["leases"].values():
        if lease["status"] == "active":
            active.setdefault(lease["issue_id"], []).append(lease["id"])
            assert lease["epoch"] == rows["issues"][lease["issue_id"]]["lease_epoch"], lease
            assert campaign_status(rows, rows["issues"][lease["issue_id"]]) != "archived", lease
            assert lease["released_at"] is None, lease
    assert all(len(leases) == 1 for leases in active.values()), active
    for issue in rows["issues"].values():
        held = issue["id"] in active
        if issue["status"] == "in_progress":
            assert held, f"{issue['id']} is in progress, and nobody holds it"
        elif issue["status"] in {"pending", "ready", "needs_recovery"}:
            assert not held, f"{issue['id']} is {issue['status']} and held"
        elif issue["status"] == "blocked":
            assert issue["blocked_reason"], f"{issue['id']} is blocked for no reason"
        if issue["status"] == "needs_recovery":
            assert campaign_status(rows, issue) != "archived", f"{issue['id']} is listed nowhere"
    held_runs = {lease["run_id"] for lease in rows["leases"].values() if lease["status"] == "active"}
    for run in rows["runs"].values():
        assert run["finished_at"] is not None or run["id"] in held_runs, f"nobody ever finishes {run}"
    for artifact in rows["artifacts"].values():
        assert artifact["status"] != "active" or artifact["issue_id"] in active, f"nobody works on {artifact}"
