"""Why an issue is stale, or how its lease stands: rule, inputs, clock, holder, what it blocks, what recovery does.

Nothing is decided here; the rules are the queue's own. Source: console page, section 5; queue page, Reconcile.
"""

from collections.abc import Sequence
from typing import Final

from phelix_core.clock import Moment
from phelix_core.frozen import frozen_in_order
from phelix_core.queue import staleness
from phelix_core.queue.board import BoardIssue
from phelix_core.queue.model import (
    ACTIVE,
    BLOCKED,
    CHECKPOINT_STALE,
    CRASH_LOOP,
    INCOHERENT,
    LEASE_EXPIRED,
    NEEDS_RECOVERY,
    Lease,
)
from phelix_core.text import SafeStr
from phelix_core.views.moments import long_span, moment, time_of_day
from phelix_core.views.queue.rows import CLOCK, STALE, blocks_claims, finding_of, state_of, tail_of
from phelix_core.views.shown import shown

_RULES: Final = {
    LEASE_EXPIRED: "lease_expired: nobody renewed the lease in time",
    CHECKPOINT_STALE: "checkpoint_stale: the last checkpoint is older than allowed",
    INCOHERENT: "incoherent_state: the issue and its lease contradict each other",
    NEEDS_RECOVERY: "needs_recovery: its own holder reported it",
}
_CLOCKS: Final = {
    staleness.MONOTONIC: "monotonic, same boot: steps of the wall clock and sleep do not count",
    staleness.WALL: "wall clock: another boot, or one that is not told",
}
WILL_NOT: Final = SafeStr("stop any process or undo any work. A holder that still runs is refused from then on.")
_DAY_MS: Final = 86_400_000
_MOST_NAMED: Final = 3


@frozen_in_order
class Blocking:
    """What stands still because of an issue: claims in its scope, and the issues that depend on it."""

    scope: str
    ready: int
    dependents: Sequence[BoardIssue]


@frozen_in_order
class Explanation:
    """The finding in one line, its state, and the facts behind it as labels and texts."""

    state: str
    headline: SafeStr
    facts: tuple[tuple[str, SafeStr], ...]


def explanation(
    issue: BoardIssue,
    lease: Lease | None,
    now: Moment,
    *,
    gone: bool = False,
    last: str | None = None,
    blocking: Blocking | None = None,
) -> Explanation | None:
    """Explain a finding or a live lease; None where there is nothing to explain."""
    state = state_of(issue, lease, now)
    if lease is None and state not in (STALE, NEEDS_RECOVERY, CRASH_LOOP):
        return None
    rule = _rule(state, issue, lease, now)
    facts = [
        ("rule", SafeStr(rule)),
        ("inputs", _inputs(lease, now)),
        ("clock", _clock(state, lease, now)),
        ("holder", _holder(lease, gone=gone)),
        ("last step", shown(last or "")),
        ("blocks", _blocks(state, issue, blocking)),
    ]
    if state in (STALE, NEEDS_RECOVERY):
        facts += [("recovery", _recovery(state, issue, lease)), ("it will not", WILL_NOT)]
    return Explanation(
        state=state,
        headline=_headline(state, issue, lease, now),
        facts=tuple((name, text) for name, text in facts if text),
    )


def _rule(state: str, issue: BoardIssue, lease: Lease | None, now: Moment) -> str:
    if state == NEEDS_RECOVERY:
        recorded = _RULES.get(issue.blocked_reason or "")
        return f"{recorded}; recorded by reconcile" if recorded else _RULES[NEEDS_RECOVERY]
    if state == CRASH_LOOP:
        return f"crash_loop: recovered {issue.recoveries} times, the limit is {issue.max_recoveries}"
    finding = finding_of(issue, lease, now)
    return _RULES[finding] if finding is not None else ""


def _headline(state: str, issue: BoardIssue, lease: Lease | None, now: Moment) -> SafeStr:
    if state == STALE:
        over_ms = _over_ms(finding_of(issue, lease, now), lease, now)
        since = "" if over_ms is None else f" since {time_of_day(now.wall_ms - over_ms)}, {long_span(over_ms)} ago"
        return SafeStr(f"STALE{since}")
    if state in (NEEDS_RECOVERY, CRASH_LOOP):
        word = "NEEDS RECOVERY" if state == NEEDS_RECOVERY else "FAILED as a crash loop"
        ago = long_span(now.wall_ms - issue.updated_at)
        return SafeStr(f"{word} since {time_of_day(issue.updated_at)}, {ago} ago")
    if state == CLOCK or lease is None:
        return SafeStr("CANNOT TELL whether the lease still runs")
    standing = staleness.of_lease(lease, now)
    if lease.status != ACTIVE or standing.left_ms is None:
        return SafeStr(f"Lease {lease.status}")
    if standing.left_ms <= 0:
        return SafeStr(f"Lease ran out {long_span(-standing.left_ms)} ago; a blocked issue keeps its place")
    return SafeStr(f"Lease live, {long_span(standing.left_ms)} left")


def _over_ms(finding: str | None, lease: Lease | None, now: Moment) -> int | None:
    """How long ago the rule began to hold."""
    if lease is None or finding not in (LEASE_EXPIRED, CHECKPOINT_STALE):
        return None
    standing = staleness.of_lease(lease, now) if finding == LEASE_EXPIRED else staleness.of_checkpoint(lease, now)
    return None if standing.left_ms is None else max(0, -standing.left_ms)


def _inputs(lease: Lease | None, now: Moment) -> SafeStr:
    if lease is None:
        return SafeStr("in progress, and no active lease holds it")
    told = f"lease {tail_of(lease.id)}, epoch {lease.epoch}; expires_at {_at(lease.expires_at, now)}"
    told += f" ({long_span(lease.ttl_ms)} unrenewed)"
    if lease.checkpoint_at is None:
        told += "; no checkpoint under it"
    else:
        told += f"; last checkpoint {long_span(now.wall_ms - lease.checkpoint_at)} ago"
        told += f" (limit {long_span(lease.freshness_ms)})"
    return SafeStr(f"{told}; now {_at(now.wall_ms, now)}")


def _at(ms: int, now: Moment) -> SafeStr:
    """A moment, by its time of day where it is today's."""
    return time_of_day(ms) if ms // _DAY_MS == now.wall_ms // _DAY_MS else moment(ms)


def _clock(state: str, lease: Lease | None, now: Moment) -> SafeStr:
    if lease is None:
        return SafeStr("")
    standing = staleness.of_lease(lease, now)
    if state == CLOCK or standing.state == staleness.CANNOT_TELL:
        behind = long_span(lease.renewed_at - now.wall_ms)
        return SafeStr(f"cannot tell: this wall clock stands {behind} before the lease's renewal, on another boot")
    return SafeStr(_CLOCKS[standing.clock])


def _holder(lease: Lease | None, *, gone: bool) -> SafeStr:
    if lease is None:
        return SafeStr("nobody")
    told = f"{shown(lease.agent_id)} on {shown(lease.host)}"
    if lease.holder_pid is not None:
        told += f", process {lease.holder_pid}: {'GONE' if gone else 'there when last looked at'}"
    return SafeStr(told)


def _blocks(state: str, issue: BoardIssue, blocking: Blocking | None) -> SafeStr:
    if blocking is None:
        return SafeStr("")
    told: list[str] = []
    if blocks_claims(state, issue):
        ready = f"{blocking.ready:,} ready issue{'' if blocking.ready == 1 else 's'}"
        waits = "waits" if blocking.ready == 1 else "wait"
        told.append(f"every new claim in {shown(blocking.scope)}: {ready} {waits}")
    elif state in (CRASH_LOOP, BLOCKED, STALE):
        told.append("no claims")
    if behind := blocking.dependents:
        named = ", ".join(f"{tail_of(one.id)} {shown(one.task)[:40]}" for one in behind[:_MOST_NAMED])
        more = f" and {len(behind) - _MOST_NAMED} more" if len(behind) > _MOST_NAMED else ""
        told.append(f"{len(behind)} that depend on it: {named}{more}")
    return SafeStr("; ".join(told))


def _recovery(state: str, issue: BoardIssue, lease: Lease | None) -> SafeStr:
    ends = "" if lease is None else f"lease {tail_of(lease.id)} ends, "
    marks = "the finding is recorded, " if state == STALE else ""
    outcome = f"Then it is ready, blocked or failed, or taken over under epoch {issue.lease_epoch + 1}, as you choose"
    return SafeStr(f"{marks}{ends}a checkpoint and an event are written. {outcome}. All history stays.")
