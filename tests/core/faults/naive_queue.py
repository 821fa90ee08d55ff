"""Queues that write as one would without a second thought: each must fail the proofs that the real one passes."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from phelix_core.clock import moment_of
from phelix_core.errors import FilesystemError
from phelix_core.queue.sqlite import SqliteQueue
from phelix_core.queue.verbs import progress
from phelix_core.queue.verbs.ledger import Ledger
from phelix_core.queue.writing import Writing
from phelix_core.sqlite import Database


class _Unkept(Writing):
    def keep(self) -> None:
        """Nothing to keep: each statement is committed by itself."""


class AutocommitQueue(SqliteQueue):
    """Makes each statement a transaction of its own."""

    def write(self, body: Callable[[Writing], Any], via: str, watch: Any = None, *, create: bool = False) -> Any:
        del watch
        return body(_Unkept(self._open_writer(create=create), via, moment_of(self._clock)))


class UncheckedQueue(SqliteQueue):
    """Does not look at how its write went."""

    def write(self, body: Callable[[Writing], Any], via: str, watch: Any = None, *, create: bool = False) -> Any:
        try:
            return super().write(body, via, watch, create=create)
        except FilesystemError:
            return {}


QUEUES: dict[str, type[SqliteQueue]] = {
    "real": SqliteQueue,
    "autocommit": AutocommitQueue,
    "queue unchecked": UncheckedQueue,
}


@contextmanager
def unfenced() -> Generator[None]:
    """Holders who look at their own lease id and not at the row."""
    real = progress.held

    def held(ledger: Ledger, holding: progress.Holding) -> Any:
        lease = ledger.tx.lease(holding.lease_id)
        assert lease is not None
        return lease, ledger.tx.issue(lease.issue_id), ledger.tx.run(lease.run_id)

    progress.held = held
    try:
        yield
    finally:
        progress.held = real


def select_then_update(db: Database, agent: str) -> str | None:
    """A claim in two steps, each sound by itself."""
    found = db.patiently("SELECT id FROM issues WHERE status IN ('ready', 'pending') ORDER BY position LIMIT 1")
    if not found:
        return None
    issue_id = str(found[0][0])
    lease = f"'L-{agent}', project_id, campaign_id, id, '{agent}', NULL, '{agent}', 'h', 'active', 1"
    db.patiently(
        f"INSERT INTO leases SELECT {lease}, 1, 1, '', 0, 0, 1, 1, 0, 0, NULL, NULL, NULL, NULL, NULL"
        f" FROM issues WHERE id = '{issue_id}'"
    )
    db.patiently(f"UPDATE issues SET status = 'done', lease_epoch = 1 WHERE id = '{issue_id}'")
    return issue_id
