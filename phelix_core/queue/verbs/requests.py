"""A verb once: a retry after a lost answer gets the first answer. Source: queue page, Who may write (requestId)."""

import json
from collections.abc import Callable
from typing import Final

from phelix_core.errors import InvalidArgument
from phelix_core.queue.journal import Event, Insert
from phelix_core.queue.verbs.answers import Answer
from phelix_core.queue.verbs.ledger import Ledger

ANSWERED: Final = "request_answered"
"""The event that keeps an answer; it tells nothing of what the verb did."""
REPLAYED: Final = "replayed"
"""In an answer: it is the first one, given again."""


def once(
    ledger: Ledger, project_id: str, request_id: str | None, *, verb: str, given: str, body: Callable[[], Answer]
) -> Answer:
    """Carry `body` out unless this request was answered before; `given` is a digest of what the caller sent."""
    if request_id is None:
        return body()
    known = ledger.tx.answered(project_id, request_id)
    if known is not None:
        if known[:2] != (verb, given):
            raise InvalidArgument(
                "request-id: this id was used for another call.", hint="Give each call an id of its own."
            )
        answer: Answer = json.loads(known[2])
        return answer | {REPLAYED: True}
    answer = body()
    row = {
        "project_id": project_id,
        "request_id": request_id,
        "verb": verb,
        "input": given,
        "answer": json.dumps(answer, ensure_ascii=False, separators=(",", ":")),
        "at": ledger.now.wall_ms,
    }
    ledger.tx.record(Event(kind=ANSWERED, changes=(Insert(table="requests", row=row),), project_id=project_id))
    return answer
