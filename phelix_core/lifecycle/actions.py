"""The lifecycle's actions: which input each takes, which command it is, and how the one becomes the other.

A table and small functions; nothing here reads or writes. Source: surfaces page, JSON-driven lifecycle CLI.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from phelix_core.frozen import frozen
from phelix_core.lifecycle import inputs
from phelix_core.lifecycle.inputs import camel

Raw = dict[str, object]
Filling = Mapping[str, "str | Callable[[Any], object]"]
"""For each field of the command: the input's member, or what makes it of the input. None leaves the field out."""


@frozen
class Action:
    """One action: `holds` says that it is done under a lease, which its `context` names.

    `either` are pairs of members that say the same in two ways; both together are refused, for they may disagree.
    """

    name: str
    command: str
    input: type
    fills: Filling
    holds: bool = False
    either: tuple[tuple[str, str], ...] = ()
    always: Mapping[str, object] | None = None

    @property
    def answers(self) -> str:
        """The member that the answer stands under."""
        return "context" if self.name in BEGINS else "result"

    def place_of(self, field: str) -> tuple[str, ...]:
        """Where a payload's input has what the command calls `field`."""
        if field in _PLACES:
            return _PLACES[field]
        source = self.fills.get(field)
        return (camel(source),) if isinstance(source, str) else (field,)

    def raw(self, given: Any) -> Raw:
        """The raw request of the command."""
        filled = {  # a surface may not carry a member, and its input then has none
            name: source(given) if callable(source) else getattr(given, source, None)
            for name, source in self.fills.items()
        }
        return {name: value for name, value in filled.items() if value not in (None, ())} | dict(self.always or {})


_PLACES: Final[Mapping[str, tuple[str, ...]]] = {
    "workload_classes": ("hostCapabilities", "workloadClasses"),
    "capabilities": ("hostCapabilities", "capabilities"),
    "scorecards": ("csqrLiteScorecards",),
    "project": ("projectId",),
    "campaign": ("campaignId",),
    "memory_query": ("memoryQuery",),
    "memory_limit": ("memorySearchLimit",),
}
"""For fields that no single member fills by its name."""
BEGINS: Final = ("begin_incremental", "begin_recovery")


def _compact(value: object) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _artifacts(given: Any) -> tuple[str, ...]:
    return tuple(f"{one.kind}={one.path}" for one in given.artifacts)


def _scorecards(given: Any) -> str | None:
    cards = [{"path": one.path, "scorecard": one.scorecard} for one in given.csqr_lite_scorecards]
    return _compact(cards or None)


_HOST: Final[Filling] = {
    "host": "host",
    "workload_classes": lambda given: given.host_capabilities.workload_classes,
    "capabilities": lambda given: given.host_capabilities.capabilities,
}
_BEGIN: Final[Filling] = {
    **_HOST,
    "workspace": "workspace_id",
    "project": "project_id",
    "campaign": "campaign_id",
    "issue_id": "preferred_issue_id",
    "agent": "agent_id",
    "session": "session_id",
    "artifacts": _artifacts,
    "ttl": "lease_ttl_seconds",
    "freshness": "checkpoint_freshness_seconds",
    "holder_pid": "holder_pid",
    "memory": "mem0_enabled",
    "memory_query": lambda given: given.memory_query if given.mem0_enabled else None,
    "memory_limit": lambda given: given.memory_search_limit if given.mem0_enabled else None,
    "request_id": "request_id",
}
_REPORT: Final[Filling] = {
    "title": "title",
    "summary": "summary",
    "status": "task_status",
    "next_step": "next_step",
    "reason": "blocked_reason",
    "evidence": "artifact_ids",
    "scorecards": _scorecards,
    "memory": "persist_to_mem0",
    "memory_kind": "memory_kind",
    "memory_content": "memory_content",
    "metadata": lambda given: _compact(given.metadata),
    "request_id": "request_id",
}
_SCOPE: Final[Filling] = {"project": "project_id", "campaign": "campaign_id"}
_ON_ISSUE: Final[Filling] = {"issue_id": "issue_id", "reason": "reason", "request_id": "request_id"}
_ON_CAMPAIGN: Final[Filling] = {
    "campaign_id": "campaign_id",
    "reason": "reason",
    "project": "project_id",
    "request_id": "request_id",
}

_TABLE: Final = (
    Action(name="begin_incremental", command="queue claim", input=inputs.BeginIncremental, fills=_BEGIN),
    Action(
        name="begin_recovery",
        command="queue recover",
        input=inputs.BeginRecovery,
        fills={**_BEGIN, "summary": "recovery_summary", "next_step": "recovery_next_step"},
        always={"resolution": "resume"},
    ),
    Action(name="checkpoint", command="queue checkpoint", input=inputs.Report, fills=_REPORT, holds=True),
    Action(name="close", command="queue close", input=inputs.Closing, fills=_REPORT, holds=True),
    Action(name="advance", command="queue advance", input=inputs.Closing, fills=_REPORT, holds=True),
    Action(
        name="heartbeat",
        command="queue heartbeat",
        input=inputs.Heartbeat,
        fills={"ttl": "lease_ttl_seconds", "request_id": "request_id"},
        holds=True,
    ),
    Action(
        name="promote_queue",
        command="queue promote",
        input=inputs.InScope,
        fills={**_SCOPE, "request_id": "request_id"},
    ),
    Action(
        name="inspect_export",
        command="queue export",
        input=inputs.InspectExport,
        fills={**_SCOPE, "runs": "run_limit", "events": "event_limit", "limit": "limit", "cursor": "cursor"},
    ),
    Action(
        name="inspect_audit",
        command="queue audit",
        input=inputs.InspectAudit,
        fills={"issue_id": "issue_id", "limit": "event_limit", "cursor": "cursor"},
    ),
    Action(name="inspect_health_snapshot", command="queue health", input=inputs.InspectHealth, fills=_SCOPE),
    Action(name="init_workspace", command="queue init", input=inputs.InitWorkspace, fills={"name": "workspace_name"}),
    Action(
        name="create_campaign",
        command="queue campaign",
        input=inputs.CreateCampaign,
        fills={
            "project_name": "project_name",
            "campaign_name": "campaign_name",
            "objective": "objective",
            "workspace": "workspace_id",
            "policy": lambda given: _compact(given.policy),
        },
    ),
    Action(
        name="plan_issues",
        command="queue plan",
        input=inputs.PlanIssues,
        either=(("project_id", "project_name"), ("campaign_id", "campaign_name")),
        fills={
            "batch": lambda given: _compact({"milestones": given.milestones}),
            "project": lambda given: given.project_id or given.project_name,
            "campaign": lambda given: given.campaign_id or given.campaign_name,
            "workspace": "workspace_id",
            "request_id": "request_id",
        },
    ),
    Action(
        name="next_action",
        command="queue next",
        input=inputs.NextAction,
        either=(("project_id", "project_name"),),
        fills={
            **_HOST,
            "project": lambda given: given.project_id or given.project_name,
            "campaign": "campaign_id",
        },
    ),
    Action(name="get_context", command="queue context", input=inputs.GetContext, fills={"project": "project_id"}),
    Action(
        name="reconcile", command="queue reconcile", input=inputs.InScope, fills={**_SCOPE, "request_id": "request_id"}
    ),
    Action(name="rollback_issue", command="queue rollback", input=inputs.OnIssue, fills=_ON_ISSUE),
    Action(name="unblock", command="queue unblock", input=inputs.OnIssue, fills=_ON_ISSUE),
    Action(name="retry", command="queue retry", input=inputs.OnIssue, fills=_ON_ISSUE),
    Action(
        name="recover",
        command="queue recover",
        input=inputs.Recover,
        fills={**_ON_ISSUE, "resolution": "resolution", "next_step": "next_step"},
    ),
    Action(name="drain", command="queue drain", input=inputs.OnCampaign, fills=_ON_CAMPAIGN),
    Action(name="undrain", command="queue undrain", input=inputs.OnCampaign, fills=_ON_CAMPAIGN),
    Action(name="archive", command="queue archive", input=inputs.OnCampaign, fills=_ON_CAMPAIGN),
    Action(
        name="save_artifact",
        command="queue artifacts save",
        input=inputs.SaveArtifact,
        fills={
            "issue": "issue_id",
            "kind": "kind",
            "path": "path",
            "metadata": lambda given: _compact(given.metadata),
            "lease": "lease_id",
            "request_id": "request_id",
        },
    ),
    Action(
        name="list_artifacts",
        command="queue artifacts list",
        input=inputs.ListArtifacts,
        fills={"issue": "issue_id"},
    ),
    Action(name="memory_sync", command="queue memory sync", input=inputs.MemorySync, fills={"limit": "limit"}),
)
ACTIONS: Final[Mapping[str, Action]] = {action.name: action for action in _TABLE}
"""Every action by its name: the document's eight first."""
DOCUMENTED: Final = (
    "begin_incremental",
    "begin_recovery",
    "checkpoint",
    "close",
    "promote_queue",
    "inspect_export",
    "inspect_audit",
    "inspect_health_snapshot",
)
"""The actions that the lifecycle document itself names."""
