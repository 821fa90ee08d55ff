"""What of plans and operations needs a person: one row a cause. Source: console page, section 2 (Attention)."""

from collections.abc import Iterable, Iterator

from phelix_core.arc.board import ArcBoard, BadFile, Seen
from phelix_core.arc.operations import INDETERMINATE
from phelix_core.arc.standing import WAITING, Standing
from phelix_core.text import SafeStr
from phelix_core.views.arc.rows import UNREADABLE, row_id_of, since_ms, state_of, subject_of
from phelix_core.views.moments import span
from phelix_core.views.queue.attention import PLAN, Cause, policy_cause
from phelix_core.views.shown import shown

_KINDS = {WAITING: "approval", INDETERMINATE: "operation", UNREADABLE: "file"}


def arc_causes(board: ArcBoard, seen: Iterable[Seen], now_ms: int) -> Iterator[Cause]:
    """What waits, what is indeterminate, what cannot be trusted, and a policy under which nothing executes."""
    if board.policy.reason is not None:
        yield policy_cause(shown(f"{board.policy.state}: {board.policy.reason}"))
    for one in seen:
        kind = _KINDS.get(state_of(one))
        if kind is None:
            continue
        since = since_ms(one)
        yield Cause(
            kind=kind,
            about=row_id_of(one),
            opens=PLAN,
            title=subject_of(one),
            reason=_reason(one),
            since=SafeStr("") if since is None else span(now_ms - since),
            since_ms=since or 0,
        )


def _reason(seen: Seen) -> SafeStr:
    if isinstance(seen, BadFile):
        return shown(seen.code)
    state = state_of(seen)
    if state == INDETERMINATE:
        return SafeStr("its processes are gone, no end told")
    if state == UNREADABLE:
        return shown(seen.state if isinstance(seen, Standing) else seen.status)
    asked = f", asked by {seen.plan.actor.type}" if isinstance(seen, Standing) and seen.plan.actor is not None else ""
    return shown(f"wants an approval{asked}")
