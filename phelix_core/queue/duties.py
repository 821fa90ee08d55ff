"""What the session record of a lease should come to. Pure; told to the commands, and to the doctor after a crash.

A claim without a session id makes a record; done completes it, failed fails it, a handoff, a recovery and
whatever else ends the lease cancel it, a block leaves it active. Source: queue page, Sessions and leases.
"""

from typing import Final

from phelix_core.frozen import frozen
from phelix_core.queue.model import ACTIVE, BLOCKED, DONE, FAILED, NEEDS_RECOVERY, Issue, Lease, Project

OPEN: Final = "open"
COMPLETE: Final = "complete"
FAIL: Final = "fail"
CANCEL: Final = "cancel"
RESUMED: Final = "resumed"
"""How a session ends whose agent resumed its lease under another one."""
_RECORD_PREFIX: Final = "ses_"
_WORDS: Final = {
    "handoff": "handed off: the issue is ready for the next agent",
    "recovered": "the lease went stale and its issue was recovered",
    "rollback": "the issue was rolled back",
    "archived": "the campaign was archived",
    "unblock": "an operator unblocked the issue",
    "retry": "an operator retried the issue",
    RESUMED: "the agent went on under another session",
}


@frozen
class Duty:
    """One record, and what it should come to; `title` and `app` are for a record that is to be made."""

    kind: str
    session_id: str
    issue_id: str
    text: str
    title: str
    app: str


def duty_of(lease: Lease, issue: Issue, project: Project, summary: str) -> Duty | None:
    """What the lease asks of its session record; None where no record of ours belongs to it."""
    if lease.session_id is None or not lease.session_id.startswith(_RECORD_PREFIX):
        return None
    kind, text = _kind(lease, summary)
    return Duty(
        kind=kind, session_id=lease.session_id, issue_id=issue.id, text=text, title=issue.task, app=project.name
    )


def _kind(lease: Lease, summary: str) -> tuple[str, str]:
    reason = lease.end_reason or ""
    if lease.status in {ACTIVE, NEEDS_RECOVERY} or reason == BLOCKED:
        return OPEN, ""
    if reason == DONE:
        return COMPLETE, summary
    if reason == FAILED:
        return FAIL, summary
    return CANCEL, _WORDS.get(reason, f"the lease ended: {reason or lease.status}")
