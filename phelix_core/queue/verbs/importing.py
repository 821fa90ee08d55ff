"""Bringing a lifecycle database of another tool into the queue; the mapping is `phelix_core.queue.importing`."""

from phelix_core.queue.importing.batch import batch_of
from phelix_core.queue.importing.source import COLUMNS, Source
from phelix_core.queue.importing.taking import WANTED, Known
from phelix_core.queue.verbs.answers import Answer
from phelix_core.queue.verbs.ledger import Ledger


def import_database(ledger: Ledger, source: Source) -> Answer:
    """Record what the queue does not hold yet; answers what was taken, and what did not fit."""
    tx = ledger.tx
    projects = tx.projects()
    known = Known(
        rows={table: tx.known(table, WANTED[table], source.ids(table)) for table in COLUMNS},
        keys=frozenset(project.key for project in projects),
        names=frozenset((project.id, one.name) for project in projects for one in tx.campaigns(project.id)),
    )
    batch = batch_of(source, known, is_done=tx.is_milestone_done, now_ms=ledger.now.wall_ms)
    for event in batch.events:
        tx.record(event)
    return dict(batch.answer)
