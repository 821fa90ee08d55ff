"""Session records beside leases: made, completed, failed or cancelled after the queue's commit.

A record that cannot be written never fails the verb: the answer says so, the journal too, and the doctor
catches up. Source: queue page, Sessions and leases.
"""

from collections.abc import Iterable
from typing import Any

from phelix_core.commands.environment import Environment
from phelix_core.errors import PhelixError
from phelix_core.queue.duties import CANCEL, COMPLETE, FAIL, OPEN, Duty, duty_of
from phelix_core.queue.journal import Event
from phelix_core.queue.model import Lease
from phelix_core.queue.store import Questions
from phelix_core.queue.verbs.answers import Answer
from phelix_core.queue.verbs.ledger import the_issue, the_project
from phelix_core.queue.verbs.requests import REPLAYED
from phelix_core.sessions import model, transitions
from phelix_core.sessions.model import Actor, Session
from phelix_core.sessions.transitions import Stamp

_OUTCOMES = {COMPLETE: model.COMPLETED, FAIL: model.FAILED, CANCEL: model.CANCELLED}


class Duties:
    """What a verb leaves to be done to session records."""

    def __init__(self, env: Environment) -> None:
        self._env = env
        self._found: list[Duty] = []

    def note(self, tx: Questions, leases: Iterable[Lease]) -> None:
        """Look, inside the transaction, at the leases that the verb touched."""
        found = [duty_of_lease(tx, lease) for lease in leases]
        self._found = [duty for duty in found if duty is not None]

    def carry_out(self) -> Answer:
        """Write the records; what went wrong is answered and recorded, and refuses nothing."""
        failed: list[dict[str, object]] = []
        for duty in self._found:
            try:
                carry_out(duty, self._env, self._env.stamp(), self._env.actor)
            except PhelixError as error:
                failed.append({"sessionId": duty.session_id, "issueId": duty.issue_id, "code": error.code})
        if not failed:
            return {}
        self._record(failed)
        return {"sessionWritesFailed": failed}

    def _record(self, failed: list[dict[str, object]]) -> None:
        def body(tx: Any) -> None:
            for told in failed:
                issue = the_issue(tx, str(told["issueId"]))
                tx.record(
                    Event(
                        kind="session_write_failed",
                        project_id=issue.project_id,
                        campaign_id=issue.campaign_id,
                        issue_id=issue.id,
                        payload=told,
                    )
                )

        try:
            self._env.queue.write(body, self._env.surface.value)
        except PhelixError:
            return  # the answer tells it, and the doctor finds it by itself


def told_again(tx: Questions, answer: Answer) -> list[Lease]:
    """The lease of an answer that is given again: the first time may have ended between its commit and the record."""
    told = answer.get("leaseId") or answer.get("releasedLease")
    lease = tx.lease(told) if REPLAYED in answer and isinstance(told, str) else None
    return [] if lease is None else [lease]


def duty_of_lease(tx: Questions, lease: Lease) -> Duty | None:
    """What a lease asks of its record."""
    issue = the_issue(tx, lease.issue_id)
    project = the_project(tx, issue.project_id)
    last = next((point for point in tx.checkpoints_of(issue.id, limit=20) if point.lease_id == lease.id), None)
    return duty_of(lease, issue, project, last.summary if last else "")


def carry_out(duty: Duty, env: Environment, stamp: Stamp, actor: Actor) -> str | None:
    """Bring a record to what it should be; answers what was done, None where it was so already.

    Raises what the record's store raises; a record that is closed otherwise is `SessionInvalidTransition`.
    """
    known = duty.session_id if _is_record_id(duty.session_id) else None
    if known is None:
        return None
    try:
        before = env.sessions.load(known)
    except PhelixError as error:
        if error.code != "NOT_FOUND":
            raise
        before = env.sessions.create(_opened(duty, stamp, actor))
        if duty.kind == OPEN:
            return "made"
    if duty.kind == OPEN:
        transitions.require_active(before)
        return None
    outcome = _OUTCOMES[duty.kind]
    if before.status == outcome:
        return None
    text = _cut(duty.text, model.RESULT_CAP) or None
    none = transitions.references((), (), ())
    env.sessions.update(known, lambda session: transitions.close(session, stamp, outcome, text=text, linked=none))
    return outcome


def _is_record_id(word: str) -> bool:
    try:
        model.SESSION_ID.apply(word)
    except ValueError:
        return False
    return True


def _opened(duty: Duty, stamp: Stamp, actor: Actor) -> Session:
    return transitions.create(
        duty.session_id,
        actor,
        stamp,
        title=_cut(duty.title, model.TITLE_CAP),
        project=None,
        app=_cut(duty.app, model.APP_CAP),
    )


def _cut(text: str, cap: int) -> str:
    """As much of a text as fits, at a character boundary."""
    return text.encode()[:cap].decode(errors="ignore")
