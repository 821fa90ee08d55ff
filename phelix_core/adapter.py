"""The lifecycle in process: one call an action, typed inputs and answers, refusals as exceptions.

What a program calls here goes the way of a payload: the input is read strictly, becomes a command's request, and goes
through `run()`. The process itself is named as the holder of the leases it takes, so that an operator sees when it is
gone. Source: surfaces page, In process; lifecycle document, Implementation Hooks.
"""

import os
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self, cast

from phelix_core.checks import Surface
from phelix_core.commands.environment import Environment, open_environment
from phelix_core.commands.queue import answers
from phelix_core.lifecycle.actions import ACTIONS
from phelix_core.lifecycle.faults import PayloadInvalid
from phelix_core.lifecycle.inputs import (
    BeginIncremental,
    BeginRecovery,
    Closing,
    CreateCampaign,
    GetContext,
    Heartbeat,
    InitWorkspace,
    InScope,
    InspectAudit,
    InspectExport,
    InspectHealth,
    ListArtifacts,
    MemorySync,
    NextAction,
    OnCampaign,
    OnIssue,
    PlanIssues,
    Recover,
    Report,
    SaveArtifact,
)
from phelix_core.lifecycle.performing import Performed, adapter_of, carry_out, perform, read_text
from phelix_core.settings import load_settings


class SessionLifecycleAdapter:
    """The lifecycle's actions over one queue.

    `data_dir` and `queue` are found as the command line finds them, where they are not given. Each method raises a
    `PhelixError` with its stable `code` where the action is refused, and then nothing was written, but for what a
    begin found stale.

    >>> with SessionLifecycleAdapter(data_dir=folder) as lifecycle:
    ...     lifecycle.get_context(GetContext())["projects"][0]["name"]
    'billing'
    """

    def __init__(self, *, data_dir: str | None = None, queue: str | None = None, read_only: bool = False) -> None:
        settings = load_settings(os.environ, data_dir=data_dir, queue=queue, read_only=read_only)
        self._env = open_environment(settings, Surface.CLI, delivers=True)
        self._others: dict[str, Environment] = {}

    def __enter__(self) -> Self:
        """Use it in a `with`; the queue's file is let go of at its end."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Let go of the queue's file."""
        self.shut()

    def shut(self) -> None:
        """Let go of the queue's file; the next call opens it again."""
        for env in (self._env, *self._others.values()):
            env.queue.close()

    # The document's eight

    def begin_incremental(self, given: BeginIncremental) -> answers.Context:
        """Take the best ready issue that the host may take, or go on under one's own lease.

        >>> context = adapter.begin_incremental(
        ...     BeginIncremental(
        ...         workspace_id="northwind",
        ...         project_id="billing",
        ...         agent_id="ann",
        ...         host="h1",
        ...         host_capabilities=HostCapabilities(workload_classes=("code",)),
        ...         artifacts=(ArtifactRef(kind="branch", path="work/a"),),
        ...         mem0_enabled=False,
        ...     )
        ... )
        >>> context["issueTask"], context["claimMode"]
        ('write the migration', 'claim')
        """
        return cast("answers.Context", self._begun("begin_incremental", given))

    def begin_recovery(self, given: BeginRecovery) -> answers.Context:
        """Take over an issue that needs recovery; what is stale is marked first.

        >>> context = adapter.begin_recovery(
        ...     BeginRecovery(
        ...         workspace_id="northwind",
        ...         project_id="billing",
        ...         host="h1",
        ...         host_capabilities=HostCapabilities(workload_classes=("code",)),
        ...         artifacts=(ArtifactRef(kind="branch", path="work/b"),),
        ...         mem0_enabled=False,
        ...         recovery_summary="its tables are half filled",
        ...     )
        ... )
        >>> context["claimMode"], context["leaseEpoch"]
        ('recovery', 2)
        """
        return cast("answers.Context", self._begun("begin_recovery", given))

    def checkpoint(self, context: Mapping[str, Any], given: Report) -> answers.Checkpointed:
        """Record progress under a lease, and renew it; `context` is what the begin answered.

        >>> told = adapter.checkpoint(
        ...     context,
        ...     Report(
        ...         title="half way",
        ...         summary="the tables are there",
        ...         task_status="in_progress",
        ...         next_step="fill them",
        ...         artifact_ids=("commit:4f1c2ab",),
        ...     ),
        ... )
        >>> told["checkpoint"]["taskStatus"]
        'in_progress'
        """
        return cast("answers.Checkpointed", self._held("checkpoint", context, given))

    def close(self, context: Mapping[str, Any], given: Closing) -> answers.Closed:
        """End the work on an issue: final checkpoint, lease ended, what waited for it promoted.

        >>> told = adapter.close(
        ...     context,
        ...     Closing(
        ...         title="done",
        ...         summary="migrated",
        ...         task_status="done",
        ...         next_step="prove that it can be undone",
        ...         artifact_ids=("commit:9d03e77",),
        ...     ),
        ... )
        >>> len(told["promotedIssueIds"])
        1
        """
        return cast("answers.Closed", self._held("close", context, given))

    def promote_queue(self, given: InScope) -> answers.Promoted:
        """Make every issue ready whose gates are open.

        >>> adapter.promote_queue(InScope(project_id="billing"))["promotedIssueIds"]
        []
        """
        return cast("answers.Promoted", self._done("promote_queue", given))

    def inspect_export(self, given: InspectExport) -> answers.Export:
        """How a project stands.

        >>> adapter.inspect_export(InspectExport(project_id="billing"))["queue"]["statusCounts"]["total"]
        2
        """
        return cast("answers.Export", self._done("inspect_export", given))

    def inspect_audit(self, given: InspectAudit) -> answers.Audit:
        """Everything that was recorded of one issue, a page at a time.

        >>> adapter.inspect_audit(InspectAudit(issue_id=issue))["summary"]["leaseCount"]
        1
        """
        return cast("answers.Audit", self._done("inspect_audit", given))

    def inspect_health_snapshot(self, given: InspectHealth) -> answers.Health:
        """Counts, leases, what blocks claims.

        >>> adapter.inspect_health_snapshot(InspectHealth(project_id="billing"))["leases"]["activeCount"]
        1
        """
        return cast("answers.Health", self._done("inspect_health_snapshot", given))

    # Under a lease

    def advance(self, context: Mapping[str, Any], given: Closing) -> answers.Advanced:
        """Close, then claim the next one; the close stays whatever the claim answers.

        >>> told = adapter.advance(
        ...     context,
        ...     Closing(
        ...         title="done",
        ...         summary="migrated",
        ...         task_status="done",
        ...         next_step="prove that it can be undone",
        ...         artifact_ids=("commit:9d03e77",),
        ...     ),
        ... )
        >>> told["advanced"], told["context"]["issueTask"]
        (True, 'prove that it can be undone')
        """
        return cast("answers.Advanced", self._held("advance", context, given))

    def heartbeat(self, context: Mapping[str, Any], given: Heartbeat) -> answers.Extended:
        """Extend a lease; it is no checkpoint.

        >>> adapter.heartbeat(context, Heartbeat(lease_ttl_seconds=7200))["leaseEpoch"]
        1
        """
        return cast("answers.Extended", self._held("heartbeat", context, given))

    def save_artifact(self, given: SaveArtifact) -> answers.SavedArtifact:
        """Note something that the work on an issue made.

        >>> adapter.save_artifact(SaveArtifact(issue_id=issue, kind="report", path="out/plan.txt"))["kind"]
        'report'
        """
        return cast("answers.SavedArtifact", self._done("save_artifact", given))

    def list_artifacts(self, given: ListArtifacts) -> answers.Artifacts:
        """What the work on an issue made or was on.

        >>> adapter.list_artifacts(ListArtifacts(issue_id=issue))["count"]
        1
        """
        return cast("answers.Artifacts", self._done("list_artifacts", given))

    # Planning and upkeep

    def init_workspace(self, given: InitWorkspace) -> answers.WorkspaceMade:
        """Make the queue, or a further workspace in it.

        >>> adapter.init_workspace(InitWorkspace(workspace_name="southwind"))["created"]
        True
        """
        return cast("answers.WorkspaceMade", self._done("init_workspace", given))

    def create_campaign(self, given: CreateCampaign) -> answers.CampaignMade:
        """Make a campaign, and its project where that is new.

        >>> adapter.create_campaign(
        ...     CreateCampaign(project_name="billing", campaign_name="v4", objective="retire v3")
        ... )["created"]
        True
        """
        return cast("answers.CampaignMade", self._done("create_campaign", given))

    def plan_issues(self, given: PlanIssues) -> answers.Planned:
        """Bring work in, all or nothing.

        >>> adapter.plan_issues(
        ...     PlanIssues(
        ...         project_id="billing",
        ...         milestones=(
        ...             {
        ...                 "milestone_key": "docs",
        ...                 "description": "people find it",
        ...                 "issues": [{"task": "write it up", "priority": "low", "size": "S"}],
        ...             },
        ...         ),
        ...     )
        ... )["issueCount"]
        1
        """
        return cast("answers.Planned", self._done("plan_issues", given))

    def next_action(self, given: NextAction) -> answers.NextAction:
        """What this host could do next, and the call for it.

        >>> told = adapter.next_action(
        ...     NextAction(host="h1", host_capabilities=HostCapabilities(workload_classes=("code",)))
        ... )
        >>> told["context"]["stage"], told["requires"]
        ('ready_issue', ['input.artifacts'])
        """
        return cast("answers.NextAction", self._done("next_action", given))

    def get_context(self, given: GetContext) -> answers.QueueContext:
        """Which workspaces, projects and campaigns there are.

        >>> [one["name"] for one in adapter.get_context(GetContext())["workspaces"]]
        ['northwind']
        """
        return cast("answers.QueueContext", self._done("get_context", given))

    def reconcile(self, given: InScope) -> answers.Reconciled:
        """Record what is stale by now.

        >>> adapter.reconcile(InScope(project_id="billing"))["needsRecovery"]
        []
        """
        return cast("answers.Reconciled", self._done("reconcile", given))

    def recover(self, given: Recover) -> answers.Recovered:
        """An operator's word on what becomes of stale work.

        >>> adapter.recover(Recover(issue_id=issue, resolution="requeue", reason="its host went down"))["newStatus"]
        'ready'
        """
        return cast("answers.Recovered", self._done("recover", given))

    def unblock(self, given: OnIssue) -> answers.Moved:
        """A blocked issue goes on.

        >>> adapter.unblock(OnIssue(issue_id=issue, reason="the copy is there"))["newStatus"]
        'ready'
        """
        return cast("answers.Moved", self._done("unblock", given))

    def retry(self, given: OnIssue) -> answers.Moved:
        """A failed issue is tried anew.

        >>> adapter.retry(OnIssue(issue_id=issue, reason="the column is kept"))["newStatus"]
        'ready'
        """
        return cast("answers.Moved", self._done("retry", given))

    def rollback_issue(self, given: OnIssue) -> answers.RolledBack:
        """An issue goes back to pending, and with it what it had opened.

        >>> adapter.rollback_issue(OnIssue(issue_id=issue, reason="plan it anew"))["newStatus"]
        'pending'
        """
        return cast("answers.RolledBack", self._done("rollback_issue", given))

    def drain(self, given: OnCampaign) -> answers.CampaignMoved:
        """Nothing new is claimed in a campaign.

        >>> adapter.drain(OnCampaign(campaign_id="v3", reason="a freeze"))["status"]
        'drained'
        """
        return cast("answers.CampaignMoved", self._done("drain", given))

    def undrain(self, given: OnCampaign) -> answers.CampaignMoved:
        """A drained campaign goes on.

        >>> adapter.undrain(OnCampaign(campaign_id="v3", reason="it is over"))["status"]
        'active'
        """
        return cast("answers.CampaignMoved", self._done("undrain", given))

    def archive(self, given: OnCampaign) -> answers.CampaignMoved:
        """A campaign is put away.

        >>> adapter.archive(OnCampaign(campaign_id="v3", reason="superseded"))["status"]
        'archived'
        """
        return cast("answers.CampaignMoved", self._done("archive", given))

    def memory_sync(self, given: MemorySync) -> answers.MemorySynced:
        """Hand the memory what waits for it.

        >>> adapter.memory_sync(MemorySync())["waiting"]
        0
        """
        return cast("answers.MemorySynced", self._done("memory_sync", given))

    def perform(self, payload: str) -> dict[str, Any]:
        """Carry out one JSON payload, as the command line does.

        >>> told = adapter.perform('{"contractVersion": "6.0.0", "action": "get_context", "input": {}}')
        >>> told["action"]
        'get_context'
        """
        return _answer(perform(payload.encode(), self._over))

    def _over(self, path: str | None) -> Environment:
        """The environment over the queue that an input names."""
        if path is None or path == self._env.queue.path:
            return self._env
        if path not in self._others:
            own = self._env.settings
            settings = load_settings(os.environ, data_dir=own.data_dir, queue=path, read_only=own.read_only)
            self._others[path] = open_environment(settings, Surface.CLI, delivers=True)
        return self._others[path]

    def _done(
        self, name: str, given: Any, *, context: Mapping[str, Any] | None = None, holder_pid: int | None = None
    ) -> Any:
        action = ACTIONS[name]
        text = adapter_of(given.__class__).dump_json(given, by_alias=True, exclude_none=True)
        checked, issues = read_text(action.input, text, ["input"])
        if issues:
            raise PayloadInvalid(issues)
        env = self._over(getattr(checked, "db_path", None))
        return _answer(carry_out(action, checked, env, held=context, holder_pid=holder_pid))[action.answers]

    def _begun(self, name: str, given: BeginIncremental | BeginRecovery) -> Any:
        return self._done(name, given, holder_pid=given.holder_pid or os.getpid())

    def _held(self, name: str, context: Mapping[str, Any], given: Any) -> Any:
        return self._done(name, given, context=context)


def _answer(performed: Performed) -> dict[str, Any]:
    if performed.error is not None:
        raise performed.error
    return performed.document
