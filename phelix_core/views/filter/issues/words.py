"""The vocabulary of a filter on the queue's issues."""

from typing import Final

from phelix_core.queue.model import PRIORITIES, SIZES, TASK_STATUSES
from phelix_core.views.filter.fields import (
    LEFT,
    MOMENT,
    NUMBER,
    PART,
    SESSIONS,
    SET,
    SPAN,
    TEXT,
    Field,
    Kind,
    Vocabulary,
)

FLAGS: Final = ("stale", "waiting", "open", "claimed", "escalated", "crash-looping", *TASK_STATUSES, "marked")
FACTS: Final = ("lease", "deadline", "milestone", "policy", "next", "reason")

ISSUE_FIELDS: Final = {
    field.name: field
    for field in (
        Field("status", Kind.TEXT, TEXT, "status=ready", TASK_STATUSES),
        Field("task", Kind.TEXT, PART, "task~invoice"),
        Field("id", Kind.TEXT, PART, "id~7081"),
        Field("milestone", Kind.LINES, TEXT, "milestone=beta"),
        Field("campaign", Kind.LINES, TEXT, "campaign=spring"),
        Field("project", Kind.LINES, TEXT, "project=shop"),
        Field("agent", Kind.TEXT, TEXT, "agent=builder-1"),
        Field("host", Kind.TEXT, TEXT, "host=runner-a"),
        Field("lease", Kind.TEXT, TEXT, "lease=L-0123"),
        Field("priority", Kind.LINES, TEXT, "priority=critical", PRIORITIES),
        Field("size", Kind.TEXT, TEXT, "size=S", SIZES),
        Field("class", Kind.TEXT, TEXT, "class=gpu"),
        Field("next", Kind.TEXT, PART, "next~deploy"),
        Field("reason", Kind.TEXT, PART, "reason~timeout"),
        Field("epoch", Kind.NUMBER, NUMBER, "epoch>3"),
        Field("recoveries", Kind.NUMBER, NUMBER, "recoveries>0"),
        Field("age", Kind.SPAN, SPAN, "age>2h"),
        Field("seen", Kind.SPAN, SPAN, "seen<15m"),
        Field("left", Kind.LEFT, LEFT, "left<5m"),
        Field("created", Kind.MOMENT, MOMENT, "created>=2026-08-01"),
        Field("updated", Kind.MOMENT, MOMENT, "updated>2h"),
        Field("deadline", Kind.MOMENT, MOMENT, "deadline<2026-08-01"),
        Field("is", Kind.SET, SET, "is:stale", FLAGS),
        Field("has", Kind.SET, SET, "has:lease", FACTS),
    )
}

ISSUES: Final = Vocabulary("queue issues", "milestone", ISSUE_FIELDS, lambda: SESSIONS)
