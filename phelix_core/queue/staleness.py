"""Is this lease alive, and why is this issue stale: findings with rule, inputs and clock. Pure.

On the boot that a lease was renewed in, the monotonic clock alone decides, so that no step of the wall
clock changes a decision and a sleeping machine ages nothing. On another boot the wall clock decides; where it
stands before the renewal it ran backwards, and nothing can be told: the lease is left alone. Both limits are
inclusive. Source: queue page, fencing (clock) and Reconcile.
"""

from typing import Final

from phelix_core.clock import Moment
from phelix_core.frozen import frozen
from phelix_core.queue.model import (
    BLOCKED,
    CHECKPOINT_STALE,
    FINISHED,
    INCOHERENT,
    LEASE_EXPIRED,
    PENDING,
    READY,
    Lease,
)

LIVE: Final = "live"
EXPIRED: Final = "expired"
CANNOT_TELL: Final = "cannot tell"

MONOTONIC: Final = "monotonic"
WALL: Final = "wall"


@frozen
class Standing:
    """How a lease or its last checkpoint stands; `left_ms` is negative once the limit has passed."""

    state: str
    left_ms: int | None
    clock: str


@frozen
class Finding:
    """What reconcile makes of one lease; `reason` is None where it only releases it."""

    reason: str | None
    ends: str


def of_lease(lease: Lease, now: Moment) -> Standing:
    """Whether the lease still runs."""
    return _standing(lease, lease.deadline_mono, lease.expires_at, now)


def of_checkpoint(lease: Lease, now: Moment) -> Standing:
    """Whether the last checkpoint under this lease is fresh enough."""
    if lease.checkpoint_at is None:
        return Standing(state=EXPIRED, left_ms=None, clock=WALL)
    mono = None if lease.checkpoint_mono is None else lease.checkpoint_mono + lease.freshness_ms
    return _standing(lease, mono, lease.checkpoint_at + lease.freshness_ms, now)


def _standing(lease: Lease, deadline_mono: int | None, deadline_wall: int, now: Moment) -> Standing:
    if deadline_mono is not None and now.boot and lease.boot == now.boot:
        left, clock = deadline_mono - now.mono_ms, MONOTONIC
    elif now.wall_ms < lease.renewed_at:
        return Standing(state=CANNOT_TELL, left_ms=None, clock=WALL)
    else:
        left, clock = deadline_wall - now.wall_ms, WALL
    return Standing(state=LIVE if left > 0 else EXPIRED, left_ms=left, clock=clock)


def why_stale(status: str, lease: Lease, now: Moment) -> Finding | None:
    """What reconcile does about an active lease on an issue of `status`, rules in their order; None lets it be."""
    if status in FINISHED:
        return Finding(reason=None, ends="finished")
    expired = of_lease(lease, now).state == EXPIRED
    if status == BLOCKED:  # exempt from checkpoint freshness
        return Finding(reason=None, ends=LEASE_EXPIRED) if expired else None
    if status in (READY, PENDING):
        return Finding(reason=INCOHERENT, ends=INCOHERENT)
    if expired:
        return Finding(reason=LEASE_EXPIRED, ends=LEASE_EXPIRED)
    if of_checkpoint(lease, now).state == EXPIRED:
        return Finding(reason=CHECKPOINT_STALE, ends=CHECKPOINT_STALE)
    return None
