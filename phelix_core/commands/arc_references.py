"""The arc's records as the facts that a session's references resolve to."""

from collections.abc import Mapping

from phelix_core.arc.operations import became, operation_id_of
from phelix_core.arc.records import ArcRecords
from phelix_core.errors import PhelixError
from phelix_core.sessions.references import Fact


class ArcReferences:
    """Looks plans, operations and deployments up for `sessions.references`."""

    def __init__(self, arc: ArcRecords) -> None:
        self._arc = arc

    def plan(self, plan_id: str) -> Fact:
        """What became of a plan, and its hash."""
        plan = self._arc.plan(plan_id)
        return Fact(became(plan, self._executed(plan_id)), plan.plan_hash)

    def _executed(self, plan_id: str) -> str | None:
        """The derived status of a plan's execution; None where there is none that can be read."""
        try:
            return self._arc.told(self._arc.operation(operation_id_of(plan_id)))[1]
        except PhelixError:
            return None

    def operation(self, operation_id: str) -> Fact:
        """An operation's derived status and its kind."""
        operation = self._arc.operation(operation_id)
        return Fact(self._arc.told(operation)[1], operation.kind)

    def deployments(self, wanted: frozenset[str]) -> Mapping[str, Fact]:
        """The status of the newest operation that names each deployment."""
        return {
            deployment: Fact(self._arc.told(operation)[1], f"operation {operation.id}")
            for deployment, operation in self._arc.correlated(wanted).items()
        }
