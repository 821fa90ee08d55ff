"""`queue import`: an existing lifecycle database, only read, brought into the queue."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

from phelix_core.checks import BY_PLACE, Help, Surface, capped
from phelix_core.commands.environment import Environment
from phelix_core.commands.queue.fields import NOT_EMPTY
from phelix_core.commands.queue.intent import QueueWrite, Subject
from phelix_core.commands.registry import Effect, command
from phelix_core.errors import InvalidArgument, NotFound
from phelix_core.frozen import changed, frozen
from phelix_core.queue.foreign import read_source
from phelix_core.queue.importing.batch import batch_of
from phelix_core.queue.importing.source import Source
from phelix_core.queue.importing.taking import NOTHING_KNOWN, Known
from phelix_core.queue.store import Recorded
from phelix_core.queue.verbs.answers import Answer
from phelix_core.queue.verbs.importing import import_database, known_of
from phelix_core.queue.verbs.ledger import Ledger
from phelix_core.redaction import redact

if TYPE_CHECKING:  # a plain write starts without the means to describe itself
    from phelix_core.commands.preview import WritePlan

_PATH_CAP: Final = 4_096
_NOTED: Final = 20


@frozen
class ImportQueue:
    """Bring an existing lifecycle database (version 5) into the queue, ids kept; the file is only read."""

    file: Annotated[
        str, BY_PLACE, capped(_PATH_CAP), NOT_EMPTY, Help("The database; importing it twice is importing it once")
    ]


@command(
    "queue import",
    effect=Effect.WRITE,
    surfaces=frozenset({Surface.CLI}),
    caution="Tokens of running processes are not taken: an agent goes on by claiming its issue again.",
    result="phelix_core.commands.queue.answers:Imported",
)
def import_queue(request: ImportQueue, env: Environment) -> "ImportWrite":
    """Read the database whole, and decide what of it is new."""
    path = os.path.abspath(request.file)
    _require_another(path, env.queue.path)
    source = read_source(path, env.clock)
    batch = batch_of(source, _known(source, env), env.clock.now_ms())
    return ImportWrite(
        import_queue,
        request,
        env,
        lambda ledger: import_database(ledger, source, batch),
        target=lambda _: Subject(target={"file": redact(path)}),
        effects=_notes,
        creates=True,
    )


def _require_another(path: str, queue: str) -> None:
    try:
        same = os.path.samefile(path, queue)
    except OSError:
        return
    if same:
        raise InvalidArgument("file: it is the queue's own file.", hint="--queue names the queue to import it into.")


def _known(source: Source, env: Environment) -> Known:
    try:
        return env.queue.read(lambda tx: known_of(tx, source))
    except NotFound:
        return NOTHING_KNOWN


def _notes(answer: Answer) -> tuple[str, ...]:
    """The report, as far as a person reads it at once."""
    notes = [f"{one['table']} {one['id']}: {one['reason']}" for one in answer["leftOut"][:_NOTED]]
    if (more := answer["leftOutCount"] - len(notes)) > 0:
        notes.append(f"and {more} more that did not fit; --json lists them")
    return tuple(notes)


class ImportWrite(QueueWrite):
    """The intent of an import: described by numbers and one digest, not by thousands of rows."""

    def _described(self, subject: Subject, ledger: Ledger, answer: Answer, recorded: Sequence[Recorded]) -> "WritePlan":
        from phelix_core.commands.preview import FieldChange, digest_of  # noqa: PLC0415 - previews only

        whole = super()._described(subject, ledger, answer, recorded)
        numbers = {table: number for table, number in answer["imported"].items() if number}
        changes = (
            *(FieldChange(field=table, before=None, after=number) for table, number in numbers.items()),
            *([FieldChange(field="rows", before=None, after=whole.digest)] if numbers else []),
        )
        target = {name: told for name, told in whole.target.items() if name != "data_dir"}
        digest = digest_of(whole.action, target, whole.preconditions, changes)
        return changed(whole, changes=changes, digest=digest)
