"""What the queue's rows are measured with: verbs in process, the same rows written raw, and large queues in seconds.

Raw means: the statements that the journal of a real run names, prepared beforehand, each verb's in one immediate
transaction with the same pragmas on a copy of the same file. No reading, no rule, no JSON is in it.
"""

import json
import os
import random
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import Any

import apsw

from phelix_core.clock import SystemClock, moment_of
from phelix_core.queue.model import Scope
from phelix_core.queue.planning import read_batch
from phelix_core.queue.routing import Host
from phelix_core.queue.sqlite import SqliteQueue
from phelix_core.queue.verbs import upkeep
from phelix_core.queue.verbs.advice import advise
from phelix_core.queue.verbs.begin import Ask, begin
from phelix_core.queue.verbs.ledger import Ledger, the_project
from phelix_core.queue.verbs.progress import Holding, Report, checkpoint, close

HOST = Host(name="build-7", workload_classes=frozenset({"default"}), capabilities=frozenset({"docker"}))
EVIDENCE = ("commit:4f1c2ab",)
STEP = Report(
    status="in_progress",
    summary="The migration runs on two of three shards; the third waits for its backup.",
    next_step="Run it on the third shard.",
    evidence=EVIDENCE,
)
LAST = Report(
    status="done",
    summary="All three shards are migrated and answer their health checks.",
    next_step="Nothing is left to do.",
    evidence=EVIDENCE,
)

Statement = tuple[str, tuple[Any, ...]]
Written = list[Statement]
"""What one verb wrote: the statements of its transaction."""


def mint() -> str:
    """A fresh id."""
    return os.urandom(8).hex()


@contextmanager
def scratch() -> Generator[str]:
    """A folder for queues; `PHELIX_BENCH_DIR` chooses the file system."""
    with TemporaryDirectory(dir=os.environ.get("PHELIX_BENCH_DIR")) as folder:
        yield folder


def batch_of(issues: int, milestones: int = 1) -> Any:
    """A plan of so many issues, as it comes from JSON."""
    each = issues // milestones
    return {
        "milestones": [
            {
                "milestone_key": f"m{number}",
                "description": f"Shard group {number} is migrated",
                "issues": [
                    {"task": f"Migrate shard {number}-{place}", "priority": "medium", "size": "S"}
                    for place in range(each)
                ],
            }
            for number in range(milestones)
        ]
    }


class Rig:
    """One process's queue, its verbs without the commands around them."""

    def __init__(self, path: str) -> None:
        self.queue_clock = SystemClock()
        self.queue = SqliteQueue(path, self.queue_clock)

    def do(self, verb: Callable[[Ledger], Any], *, create: bool = False) -> Any:
        """One verb, one transaction."""
        return self.queue.write(lambda tx: verb(Ledger(tx, mint)), "cli", create=create)

    def set_up(self, *campaigns: str) -> None:
        """A project with campaigns."""
        self.do(lambda ledger: upkeep.add_workspace(ledger, "acme"), create=True)
        for name in campaigns:
            self.do(
                lambda ledger, name=name: upkeep.add_campaign(
                    ledger, "billing", name, objective="", policy="{}", workspace=None
                )
            )

    def plan(self, batch: Any, campaign: str = "shards") -> Any:
        """Plan a batch into a campaign."""
        planned = read_batch(batch)
        return self.do(lambda ledger: upkeep.plan_issues(ledger, scope(ledger, campaign), planned))

    def promote(self) -> Any:
        """Make ready what may be."""
        return self.do(lambda ledger: upkeep.promote_queue(ledger, scope(ledger)))

    def reconcile(self) -> Any:
        """Reconcile by itself."""
        return self.do(lambda ledger: upkeep.reconcile_now(ledger, scope(ledger)))

    def advice(self) -> Any:
        """What this host could do next."""
        now = moment_of(self.queue_clock)
        return self.queue.read(lambda tx: advise(tx, Scope(project=the_project(tx, None)), HOST, now))

    def requeue(self, issue_id: str) -> Any:
        """An operator puts stale work back."""
        return self.do(
            lambda ledger: upkeep.resolve(
                ledger,
                scope(ledger),
                issue_id,
                resolution="requeue",
                reason="its agent died",
                next_step=None,
                if_epoch=None,
            )
        )

    def claim(self, session_id: str | None = None, preferred: str | None = None) -> Any:
        """Begin on the best ready issue, or on one."""
        own = session_id or f"agent-{mint()}"
        return self.do(
            lambda ledger: begin(ledger, Ask(scope=scope(ledger), host=HOST, session_id=own, preferred=preferred))
        )

    def checkpoint(self, context: Any) -> Any:
        """Record a step."""
        return self.do(lambda ledger: checkpoint(ledger, Holding(lease_id=context["leaseId"]), STEP))

    def close(self, context: Any) -> Any:
        """Close as done."""
        return self.do(lambda ledger: close(ledger, Holding(lease_id=context["leaseId"]), LAST))

    def cycle(self) -> Any:
        """Begin, checkpoint, close."""
        context = self.claim()
        self.checkpoint(context)
        self.close(context)
        return context

    def last_seq(self) -> int:
        """The number of the newest event."""
        return self.queue.read(lambda tx: tx.last_seq())

    def written_by(self, act: Callable[[], Any]) -> tuple[Written, Any]:
        """What one verb wrote, and what it answered."""
        before = self.last_seq()
        answer = act()
        events = self.queue.read(lambda tx: tx.events_since(before, limit=1_000_000))
        return [statement for event in events for statement in statements(event)], answer


def scope(ledger: Ledger, campaign: str | None = None) -> Scope:
    """The project, or a campaign of it."""
    project = the_project(ledger.tx, None)
    named = None if campaign is None else ledger.tx.campaigns(project.id, campaign)[0]
    return Scope(project=project, campaign=named)


def statements(event: Any) -> Written:
    """The statements that write one event and its rows; the event's number is the next one."""
    found: Written = []
    for change in json.loads(event.changes):
        if change[0] == "+":
            names, values = list(change[2]), tuple(change[2].values())
            found.append((f"INSERT INTO {change[1]} ({', '.join(names)}) VALUES ({_marks(names)})", values))
        else:
            put = ", ".join(f"{name} = ?" for name in change[3])
            found.append((f"UPDATE {change[1]} SET {put} WHERE id = ?", (*change[3].values(), change[2])))
    names = ("id", "kind", "project_id", "campaign_id", "issue_id", "run_id", "via", "at", "payload", "changes")
    row = tuple(getattr(event, name) for name in names)
    found.append((f"INSERT INTO events ({', '.join(names)}) VALUES ({_marks(names)})", row))
    return found


def _marks(names: Sequence[str]) -> str:
    return ", ".join("?" * len(names))


class Raw:
    """A connection with the queue's pragmas that writes rows without looking."""

    def __init__(self, path: str) -> None:
        self.db: Any = apsw.Connection(path)
        for pragma in (
            "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "trusted_schema=OFF", "secure_delete=ON",
            "journal_size_limit=67108864",
        ):  # fmt: skip
            self.db.execute(f"PRAGMA {pragma}").fetchall()

    def write(self, written: Written) -> None:
        """One immediate transaction, begun with the same jittered patience."""
        execute = self.db.execute
        while True:
            try:
                execute("BEGIN IMMEDIATE")
                break
            except apsw.BusyError:
                time.sleep(0.0002 + random.random() * 0.0038)
        for sql, values in written:
            execute(sql, values)
        execute("COMMIT")

    def read(self) -> None:
        """One read transaction that looks at a row by its key."""
        execute = self.db.execute
        execute("BEGIN")
        execute("SELECT * FROM issues WHERE id = (SELECT depends_on FROM issue_dependencies LIMIT 1)").fetchall()
        execute("COMMIT")

    def close(self) -> None:
        """Let go of the file."""
        self.db.close()


def settle(path: str) -> None:
    """Move what is in the write-ahead log into the file, so that a copy of the file is whole."""
    raw = Raw(path)
    raw.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    raw.close()


def copied(path: str, name: str) -> str:
    """A copy of a settled queue beside it."""
    other = str(Path(path).with_name(name))
    copyfile(path, other)
    os.chmod(other, 0o600)
    return other


def ready_queue(folder: str, issues: int) -> str:
    """A queue of ready issues that depend on nothing."""
    path = f"{folder}/queue.db"
    rig = Rig(path)
    rig.set_up("shards")
    rig.plan(batch_of(issues, 10))
    rig.promote()
    rig.queue.close()
    settle(path)
    return path


# Large queues

HELD = 32
"""Live leases at any size: a fleet does not grow with its history."""
CHAINS = 400
"""Ready issues that each keep one pending issue back, in every large queue."""
_CAMPAIGNS = ("shards", "search", "ledger", "mobile")
_MADE = "rank_due_at, promotable, deadline_at, route, policy, max_recoveries, recipients, approvals, external_refs"
_ISSUES = (
    "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :count)"
    " INSERT INTO issues (id, project_id, campaign_id, milestone_id, position, task, priority, size, status, rank,"
    f" {_MADE}, next_best_action, blocked_reason, lease_epoch, recoveries, ready_at, created_at, updated_at)"
    " SELECT printf('I-%016x', i), :project, c.id, printf('M-%016x', i / 100), i % 100,"
    "  printf('Migrate shard %d of the ledger to the new engine', i),"
    "  CASE WHEN i < 2 * :chains THEN 'critical' WHEN i % 4 = 0 THEN 'high' ELSE 'medium' END, 'S', s.status,"
    " CASE WHEN i < 2 * :chains THEN 0 WHEN i % 4 = 0 THEN 1 ELSE 2 END,"
    "  CASE s.status WHEN 'ready' THEN :now + 604800001 END, 0, NULL, '', '{}', 5, '[]', '[]', '[]',"
    "  'Go on', CASE s.status WHEN 'blocked' THEN 'waits for a key' END, s.status NOT IN ('ready', 'pending'), 0,"
    "  CASE s.status WHEN 'ready' THEN :now - i END, :now - 86400000 + i / 100, :now - 1000"
    " FROM n JOIN (SELECT row_number() OVER (ORDER BY name) - 1 AS place, id FROM campaigns) c ON c.place = i / 100 % 4"
    " JOIN (SELECT value AS status, key FROM json_each(:states)) s"
    " ON s.key = CASE WHEN i < :chains THEN 4 WHEN i < 2 * :chains THEN 5 ELSE i * 7 % 100 END"
)
"""Issues in plan order: first `CHAINS` ready ones, then the pending ones that wait for them, then nine in ten done."""
_STATES = (
    *("done",) * 4, "ready", "pending", "ready", "blocked", "failed", "pending", *("done",) * 90,
)  # fmt: skip


def large_queue(folder: str, count: int) -> str:
    """A queue of `count` issues in mixed states: nine in ten done, a fleet's worth held, some of each other state."""
    path = f"{folder}/large-{count}.db"
    rig = Rig(path)
    rig.set_up(*_CAMPAIGNS)
    project = rig.queue.read(lambda tx: tx.projects()[0].id)
    rig.queue.close()
    db: Any = apsw.Connection(path)
    now = SystemClock().now_ms()
    known = {"count": count, "project": project, "now": now, "chains": CHAINS, "states": json.dumps(_STATES)}
    for statement in ("PRAGMA synchronous=OFF", "PRAGMA cache_size=-400000", "BEGIN"):
        db.execute(statement).fetchall()
    db.execute(
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE (i + 1) * 100 < :count)"
        " INSERT INTO milestones SELECT printf('M-%016x', i), :project, c.id, printf('m%d', i), 'A group of shards',"
        " i, NULL, '[]', '[]', '[]', :now - 86400000 FROM n JOIN"
        " (SELECT row_number() OVER (ORDER BY name) - 1 AS place, id FROM campaigns) c ON c.place = i % 4",
        known,
    ).fetchall()
    db.execute(_ISSUES, known).fetchall()
    db.execute(
        "INSERT INTO issue_dependencies SELECT printf('I-%016x', value + :chains), printf('I-%016x', value)"
        " FROM (WITH RECURSIVE n(value) AS (SELECT 0 UNION ALL SELECT value + 1 FROM n WHERE value + 1 < :chains)"
        " SELECT value FROM n)",
        known,
    ).fetchall()
    for statement in _HISTORY:
        db.execute(statement, known).fetchall()
    db.execute("COMMIT").fetchall()
    db.execute("ANALYZE").fetchall()
    db.close()
    settle(path)
    rig = Rig(path)
    for _ in range(HELD):
        rig.claim()
    rig.queue.close()
    settle(path)
    return path


_PAST = (
    "WITH past AS (SELECT substr(id, 3) AS own, project_id, campaign_id, id AS issue, updated_at AS at FROM issues"
    " WHERE status = 'done' AND position % 10 = 0)"
)
_HISTORY = (
    f"""INSERT INTO runs {_PAST} SELECT 'R-' || own, project_id, campaign_id, issue, 'L-' || own, 'incremental',
    'build-7', 'R-' || own, 'done', 'cli', at, at, '{{}}', '{{}}' FROM past""",
    f"""INSERT INTO leases {_PAST} SELECT 'L-' || own, project_id, campaign_id, issue, 'R-' || own, NULL, 'R-' || own,
    'build-7', 'released', 1, 1800000, 3600000, 'boot', at, at, at + 1800000, NULL, at, NULL, NULL, at, 'done', NULL,
    NULL FROM past""",
    f"""INSERT INTO checkpoints {_PAST} SELECT 'K-' || own, row_number() OVER (), 'R-' || own, issue, 'L-' || own,
    'close', 'It answers its health check.', 'done', 'Nothing is left.', '["commit:4f1c2ab"]', at FROM past""",
    f"""INSERT INTO events {_PAST} SELECT (SELECT max(seq) FROM events) + row_number() OVER (), 'E-' || own,
    'session_closed', project_id, campaign_id, issue, 'R-' || own, 'cli', at, '{{}}', '[]' FROM past""",
)
"""One issue in ten of those that are done keeps a run, a lease, a checkpoint and an event."""
