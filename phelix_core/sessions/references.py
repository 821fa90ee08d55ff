"""Ids to states: present, missing, unavailable or unknown, and never a guess.

The facts come through a small port, so that sessions know nothing of how plans and operations are kept.
Resolving K references costs one look at each plan and operation and one pass over all operations for
the deployments; it never fails as a whole. Source: sessions page, Rules.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, Protocol

from phelix_core.errors import InvalidArgument, NotFound, PhelixError
from phelix_core.frozen import frozen
from phelix_core.sessions.model import Session
from phelix_core.sessions.transitions import References

PRESENT: Final = "present"
MISSING: Final = "missing"
UNAVAILABLE: Final = "unavailable"
UNKNOWN: Final = "unknown"


class Fact(NamedTuple):
    """What a record says of itself: its status and one line more."""

    status: str | None
    detail: str | None


class ReferenceSource(Protocol):
    """Where plans, operations and deployments are looked up; failures are `PhelixError`."""

    def plan(self, plan_id: str) -> Fact:
        """Load and verify one plan."""
        ...

    def operation(self, operation_id: str) -> Fact:
        """Load one operation."""
        ...

    def deployments(self, wanted: frozenset[str]) -> Mapping[str, Fact]:
        """Those of `wanted` that some operation correlates, in one pass over the operations."""
        ...


@frozen
class Resolved:
    """One reference with its state; `error_code` says why it is unavailable."""

    id: str
    present: bool
    state: str
    status: str | None = None
    detail: str | None = None
    error_code: str | None = None


@frozen
class ResolvedReferences:
    """Every reference of a session, in the order linked."""

    plans: tuple[Resolved, ...]
    operations: tuple[Resolved, ...]
    deployments: tuple[Resolved, ...]


def resolve(session: Session, source: ReferenceSource) -> ResolvedReferences:
    """Look every reference of `session` up."""
    return ResolvedReferences(
        plans=tuple(_looked_up(plan_id, source.plan) for plan_id in session.plan_ids),
        operations=tuple(_looked_up(operation_id, source.operation) for operation_id in session.operation_ids),
        deployments=_correlated(session.deployment_ids, source),
    )


def require_loadable(linked: References, source: ReferenceSource) -> None:
    """Refuse to link a plan or operation that does not load and verify; names the first such id."""
    for reference, load in (
        *((plan_id, source.plan) for plan_id in linked.plans),
        *((operation_id, source.operation) for operation_id in linked.operations),
    ):
        try:
            load(reference)
        except PhelixError as error:
            raise InvalidArgument(
                f"Cannot link {reference}: {error.message.rstrip('.')}. Nothing was linked.",
                details={"id": reference, "reason": error.code},
            ) from None


def _looked_up(reference: str, load: Callable[[str], Fact]) -> Resolved:
    try:
        fact = load(reference)
    except NotFound:
        return Resolved(id=reference, present=False, state=MISSING)
    except PhelixError as error:
        return Resolved(id=reference, present=False, state=UNAVAILABLE, error_code=error.code)
    return Resolved(id=reference, present=True, state=PRESENT, status=fact.status, detail=fact.detail)


def _correlated(deployment_ids: tuple[str, ...], source: ReferenceSource) -> tuple[Resolved, ...]:
    if not deployment_ids:
        return ()
    try:
        found = source.deployments(frozenset(deployment_ids))
    except PhelixError as error:
        return tuple(
            Resolved(id=reference, present=False, state=UNAVAILABLE, error_code=error.code)
            for reference in deployment_ids
        )
    return tuple(
        Resolved(id=reference, present=True, state=PRESENT, status=fact.status, detail=fact.detail)
        if (fact := found.get(reference))
        else Resolved(id=reference, present=False, state=UNKNOWN)
        for reference in deployment_ids
    )
