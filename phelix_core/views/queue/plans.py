"""What a confirmed queue write would do, in words: statuses from and to, leases ended and begun, what stays.

The plan names rows and columns; a person reads issues and leases. Nothing is left out: what has no words of its
own is told as it stands. Source: console page, section 6.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from phelix_core.frozen import frozen_in_order
from phelix_core.queue.gates import gate_in
from phelix_core.text import SafeStr
from phelix_core.views.queue.rows import tail_of
from phelix_core.views.shown import shown

_LONG: Final = 16
_INTERNAL: Final = frozenset({"ready_at", "rank", "rank_due_at", "promotable", "seq"})
_NEW: Final[Mapping[str, tuple[str, ...]]] = {
    "lease": ("agent_id", "host", "epoch", "expires_at", "session_id"),
    "checkpoint": ("title", "summary", "next_step", "artifact_ids"),
    "run": ("session_type", "agent_id", "host"),
    "artifact": ("kind", "path"),
}


@frozen_in_order
class Line:
    """One line of a plan: what it is about, and what happens to it; `to` is what it becomes, where that is one word."""

    about: SafeStr
    what: SafeStr
    to: SafeStr


def plan_changes(changes: Sequence[Mapping[str, Any]]) -> list[Line]:
    """The rows that would change, in the order of the plan; what is bookkeeping comes last."""
    main: list[Line] = []
    rest: list[Line] = []
    for change in changes:
        row, _, column = str(change["field"]).partition(" · ")
        kind, _, row_id = row.rpartition(" ")
        about = shown(f"{kind} {_brief(row_id)}")
        if not column:
            line = _new(kind, about, cast("Mapping[str, Any]", change["after"]))
            (rest if kind == "run" else main).append(line)
            continue
        before = "none" if change["before"] is None else str(change["before"])
        after = "none" if change["after"] is None else str(change["after"])
        line = Line(about, shown(f"{column.replace('_', ' ')}  {before} → "), shown(after))
        (rest if column in _INTERNAL or kind == "run" else main).append(line)
    return [*main, *rest]


def plan_summary(changes: Sequence[Mapping[str, Any]]) -> list[Line]:
    """What becomes of each issue and lease in the end, whatever steps lead there."""
    first: dict[str, str] = {}
    last: dict[str, str] = {}
    for change in changes:
        row, _, column = str(change["field"]).partition(" · ")
        kind = row.partition(" ")[0]
        if kind in ("issue", "lease") and column == "status":
            first.setdefault(row, str(change["before"]))
            last[row] = str(change["after"])
        elif kind == "lease" and not column:
            new = cast("Mapping[str, Any]", change["after"])
            first[row] = "new"
            last[row] = f"{new.get('status')}, epoch {new.get('epoch')}, for {new.get('agent_id')}"
    lines: list[Line] = []
    for row, before in first.items():
        kind, _, row_id = row.rpartition(" ")
        lines.append(Line(shown(f"{kind} {_brief(row_id)}"), shown(f"{before} → "), shown(last[row])))
    return lines


def _new(kind: str, about: SafeStr, row: Mapping[str, Any]) -> Line:
    names = _NEW.get(kind) or tuple(row)
    told = ", ".join(f"{name.replace('_', ' ')} {row[name]}" for name in names if row.get(name) not in (None, "", "[]"))
    return Line(about, shown(f"new: {told}"), SafeStr(""))


def _brief(row_id: str) -> str:
    return str(tail_of(row_id)) if len(row_id) > _LONG else row_id


@frozen_in_order
class Promotion:
    """What a promotion would move, and what would stay and why."""

    moved: tuple[tuple[SafeStr, SafeStr], ...]
    kept: tuple[tuple[SafeStr, SafeStr, SafeStr], ...]

    @property
    def headline(self) -> SafeStr:
        """How many move, and how many stay."""
        return SafeStr(f"Promote now would move {len(self.moved):,} and keep {len(self.kept):,}.")


def promotion(outcome: Mapping[str, Any], tasks: Mapping[str, str], names: Mapping[str, str]) -> Promotion:
    """Read a promotion's outcome; `tasks` and `names` say what issues and milestones are called."""
    moved = [(tail_of(str(one)), shown(tasks.get(str(one), ""))) for one in outcome.get("promotedIssueIds") or ()]
    kept = [
        (tail_of(str(one["issueId"])), shown(str(one["task"])), gate_words(str(one["reason"]), tasks, names))
        for one in outcome.get("keptBack") or ()
    ]
    return Promotion(tuple(moved), tuple(kept))


def gate_words(reason: str, tasks: Mapping[str, str], names: Mapping[str, str]) -> SafeStr:
    """A gate's reason, such as `issue_dependency:I-…`, as people say it."""
    gate = gate_in(reason)
    if gate is None:
        return shown(reason)
    if gate.kind == "milestone":
        return shown(f"milestone {names.get(gate.id, gate.id)}")
    task = tasks.get(gate.id)
    return SafeStr(f"{tail_of(gate.id)}{f' {shown(task)}' if task else ''}")
