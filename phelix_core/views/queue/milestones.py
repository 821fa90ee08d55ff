"""Milestones with their derived status and gate. Source: queue page, Vocabulary; console page, section 2."""

from collections.abc import Mapping, Sequence

from phelix_core.frozen import frozen
from phelix_core.queue.gates import is_done, milestone_status
from phelix_core.queue.model import DONE, Milestone
from phelix_core.text import SafeStr
from phelix_core.views.moments import moment
from phelix_core.views.queue.rows import STATES, tail_of
from phelix_core.views.rows import State
from phelix_core.views.shown import shown


@frozen
class MilestoneRow:
    """One milestone: its status, how far it is, and the gates before it."""

    milestone_id: str
    status: str
    key: SafeStr
    done: int
    total: int
    gates: tuple[tuple[SafeStr, bool], ...]
    deadline: SafeStr
    description: SafeStr

    @property
    def looks(self) -> State:
        """Glyph, word and role of its status."""
        return STATES[self.status]

    @property
    def gate(self) -> SafeStr:
        """What it waits for, by name."""
        closed = [name for name, open_ in self.gates if not open_]
        if closed:
            return SafeStr(f"waits for {', '.join(closed)}")
        return SafeStr("gate open" if self.gates else "no gate")


def milestone_rows(
    milestones: Sequence[Milestone],
    needs: Mapping[str, Sequence[str]],
    counts: Mapping[str, Mapping[str, int]],
) -> list[MilestoneRow]:
    """Milestones in their order; `counts` are issues of each status by milestone."""
    keys = {one.id: one.key for one in milestones}
    return [_row(one, needs.get(one.id, ()), keys, counts) for one in milestones]


def _row(
    one: Milestone, needed: Sequence[str], keys: Mapping[str, str], counts: Mapping[str, Mapping[str, int]]
) -> MilestoneRow:
    own = counts.get(one.id, {})
    gates = [(known, is_done(counts.get(known, {}))) for known in needed]
    closed = next((known for known, open_ in gates if not open_), None)
    status, _ = milestone_status(own, closed)
    return MilestoneRow(
        milestone_id=one.id,
        status=status,
        key=shown(one.key),
        done=own.get(DONE, 0),
        total=sum(own.values()),
        gates=tuple((shown(keys[known]) if known in keys else tail_of(known), open_) for known, open_ in gates),
        deadline=SafeStr("") if one.deadline_at is None else moment(one.deadline_at),
        description=shown(one.description),
    )
