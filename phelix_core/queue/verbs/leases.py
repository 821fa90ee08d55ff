"""What beginning and holding share: a lease renewed."""

from typing import Any

from phelix_core.queue.model import Lease
from phelix_core.queue.verbs.ledger import Ledger


def renewal(ledger: Ledger, lease: Lease, *, ttl_ms: int | None = None, checkpointed: bool = False) -> dict[str, Any]:
    """Columns of a lease renewed to now and its TTL; a deadline that is later already stays."""
    now, ttl = ledger.now, ttl_ms or lease.ttl_ms
    mono, wall = now.mono_ms + ttl, now.wall_ms + ttl
    if lease.boot == now.boot and lease.deadline_mono is not None:
        if lease.deadline_mono > mono:
            mono, wall = lease.deadline_mono, max(lease.expires_at, wall)
    elif (left := lease.expires_at - max(now.wall_ms, lease.renewed_at)) > ttl:  # of another boot, by the wall clock
        mono, wall = now.mono_ms + left, max(lease.expires_at, now.wall_ms + left)
    put: dict[str, Any] = {"boot": now.boot, "renewed_at": now.wall_ms, "expires_at": wall, "deadline_mono": mono}
    if checkpointed:
        put |= {"checkpoint_at": now.wall_ms, "checkpoint_mono": now.mono_ms}
    elif lease.boot != now.boot:
        put["checkpoint_mono"] = (
            None if lease.checkpoint_at is None else now.mono_ms - (now.wall_ms - lease.checkpoint_at)
        )
    return put
