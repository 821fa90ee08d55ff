"""Bringing a lifecycle database of another tool into the queue; the mapping is `phelix_core.queue.importing`.

The mapping takes seconds where there is much, so it is made before the queue is locked, beside what the queue holds
then; inside the transaction it counts only where the queue still holds just that, and is made anew where it does not.
"""

from phelix_core.queue.importing.batch import Batch, batch_of
from phelix_core.queue.importing.source import COLUMNS, Source
from phelix_core.queue.importing.taking import WANTED, Known
from phelix_core.queue.store import Questions
from phelix_core.queue.verbs.answers import Answer
from phelix_core.queue.verbs.ledger import Ledger


def known_of(tx: Questions, source: Source) -> Known:
    """What the queue holds of a database already."""
    projects = tx.projects()
    rows = {table: tx.known(table, WANTED[table], source.ids(table)) for table in COLUMNS}
    return Known(
        rows=rows,
        done=frozenset(own for own in rows["milestones"] if tx.is_milestone_done(own)),
        keys=frozenset(project.key for project in projects),
        names=frozenset((project.id, one.name) for project in projects for one in tx.campaigns(project.id)),
    )


def import_database(ledger: Ledger, source: Source, made: Batch) -> Answer:
    """Record what the queue does not hold yet; answers what was taken, and what did not fit."""
    known = known_of(ledger.tx, source)
    batch = made if made.known == known else batch_of(source, known, ledger.now.wall_ms)
    for event in batch.events:
        ledger.tx.record(event)
    return dict(batch.answer)
