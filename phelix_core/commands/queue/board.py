"""`queue board`: the queue as a live view keeps it, whole or what changed since an event."""

from typing import Annotated

from phelix_core.checks import NATURAL, Help, Surface
from phelix_core.clock import moment_of
from phelix_core.commands.environment import Environment
from phelix_core.commands.queue.fields import NOT_EMPTY
from phelix_core.commands.queue.holders import is_gone
from phelix_core.commands.registry import Effect, command
from phelix_core.frozen import changed, frozen
from phelix_core.queue.board import Board
from phelix_core.queue.model import WORD_CAP
from phelix_core.queue.store import Questions
from phelix_core.redaction import free_text

MOST_CHANGES = 5_000
"""Behind so many events the whole board costs less than its changes."""


@frozen
class ShowBoard:
    """Answer what a live view keeps and compares; a program asks `queue list` and `queue health`."""

    since: Annotated[int | None, NATURAL, Help("Only what changed behind this event")] = None
    session: Annotated[
        str | None, free_text(WORD_CAP), NOT_EMPTY, Help("Only the issue that this session worked on")
    ] = None


@command("queue board", effect=Effect.READ, surfaces=frozenset({Surface.TUI}))
def board(request: ShowBoard, env: Environment) -> Board:
    """Read the board in one consistent view."""

    def body(tx: Questions) -> Board:
        if request.session is not None:
            run = tx.run(request.session)
            return _part(tx, tx.last_seq(), [] if run is None or run.issue_id is None else [run.issue_id])
        seq, ids = tx.last_seq(), None
        if request.since is not None and request.since <= seq:
            ids = _changed(tx, request.since)
        return _whole(tx, seq) if ids is None else _part(tx, seq, ids)

    found, boot = env.queue.read(body), moment_of(env.clock).boot
    gone = [
        lease.id
        for lease in env.queue.read(lambda tx: tx.named_holders())
        if is_gone(lease.holder_pid, lease.holder_started, lease.boot, boot)
    ]
    return changed(found, gone=tuple(gone))


def _changed(tx: Questions, since: int) -> list[str] | None:
    """Ids of the issues that events behind `since` are about; None where one is about more than an issue."""
    touched = tx.touched_since(since, limit=MOST_CHANGES)
    ids = {issue_id for issue_id in touched if issue_id is not None}
    return None if len(touched) == MOST_CHANGES or None in touched else sorted(ids)


def _whole(tx: Questions, seq: int) -> Board:
    projects = tx.projects()
    return Board(
        seq=seq,
        whole=True,
        projects=tuple(projects),
        campaigns=tuple(campaign for project in projects for campaign in tx.campaigns(project.id)),
        milestones=tuple(tx.every_milestone()),
        milestone_needs=tuple(tx.milestone_needs()),
        issues=tuple(tx.board_issues(None)),
        needs=tuple(tx.issue_needs(None)),
        leases=tuple(tx.standing_leases(None)),
        gone=(),
    )


def _part(tx: Questions, seq: int, ids: list[str]) -> Board:
    return Board(
        seq=seq,
        whole=False,
        projects=(),
        campaigns=(),
        milestones=(),
        milestone_needs=(),
        issues=tuple(tx.board_issues(ids)),
        needs=tuple(tx.issue_needs(ids)),
        leases=tuple(tx.standing_leases(ids)),
        gone=(),
    )
