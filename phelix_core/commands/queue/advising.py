"""`queue next` and `context`: what could be done next by a host, and what there is; read, and nothing decided.

Source: queue page, Actions (next_action); reference page on the lifecycle's runtime, section 5.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Final

from phelix_core.checks import Help
from phelix_core.clock import Moment, moment_of
from phelix_core.commands.environment import Environment
from phelix_core.commands.queue.fields import (
    NOT_EMPTY,
    CampaignWord,
    Capabilities,
    Classes,
    HostName,
    ProjectWord,
    require_few,
)
from phelix_core.commands.queue.inspecting import status_counts
from phelix_core.commands.queue.shapes import (
    issue_shape,
    lease_shape,
)
from phelix_core.commands.queue.targets import scope_of
from phelix_core.commands.registry import Effect, command
from phelix_core.errors import NotFound, PhelixError
from phelix_core.frozen import frozen
from phelix_core.queue.model import (
    PRIORITIES,
    WORD_CAP,
    Scope,
)
from phelix_core.queue.routing import Host, fit, route_from
from phelix_core.queue.store import Questions
from phelix_core.queue.verbs.advice import CONTRACT_VERSION, Advice, advise
from phelix_core.queue.verbs.answers import Answer, present
from phelix_core.redaction import free_text

_LISTED: Final = 100


@frozen
class NextAction:
    """Say what this host could do next, and the very call for it; nothing is decided or written."""

    host: HostName
    workload_classes: Classes
    capabilities: Capabilities = ()
    project: ProjectWord = None
    campaign: CampaignWord = None


@frozen
class ShowContext:
    """Say which workspaces, projects and campaigns there are, and how many issues of each status."""

    project: Annotated[str | None, free_text(WORD_CAP), NOT_EMPTY, Help("Only this project")] = None


@command("queue next", effect=Effect.READ, result="phelix_core.commands.queue.answers:NextAction")
def next_action(request: NextAction, env: Environment) -> dict[str, Any]:
    """Look for what could be done next."""
    require_few(request)
    host = Host(
        name=request.host,
        workload_classes=frozenset(request.workload_classes),
        capabilities=frozenset(request.capabilities),
    )
    now = moment_of(env.clock)

    def body(tx: Questions) -> Answer:
        if request.project is None and (unclear := _unclear(tx)) is not None:
            return unclear
        scope = scope_of(tx, request.project, request.campaign)
        return _advised(scope, advise(tx, scope, host, now), host, now)

    try:
        return env.queue.read(body)
    except NotFound:
        if _has_queue(env):
            raise
        return _setup("There is no queue here yet.", "init_workspace", {}, ("input.workspaceName",))


def _has_queue(env: Environment) -> bool:
    try:
        env.queue.read(lambda tx: tx.last_seq())
    except PhelixError:
        return False
    return True


def _unclear(tx: Questions) -> Answer | None:
    """What keeps a question without a project from having one answer; None where there is exactly one project."""
    projects = tx.projects()
    if len(projects) == 1:
        return None
    if projects:
        return {
            "action": "clarify_scope",
            "reason": f"There are {len(projects)} projects: say which is meant.",
            "requires": ["input.projectId"],
            "context": {"projects": [{"id": one.id, "key": one.key, "name": one.name} for one in projects[:_LISTED]]},
        }
    if not tx.workspaces():
        return _setup("There is no workspace yet.", "init_workspace", {}, ("input.workspaceName",))
    needed = ("input.projectName", "input.campaignName", "input.objective")
    workspace = tx.workspaces()[0]
    return _setup("There is no project yet.", "create_campaign", {"workspaceId": workspace.id}, needed)


def _setup(reason: str, action: str, given: Answer, requires: Sequence[str]) -> Answer:
    return {
        "action": "setup_required",
        "reason": reason,
        "suggestedPayload": {"contractVersion": CONTRACT_VERSION, "action": action, "input": given},
        "requires": list(requires),
        "context": {"stage": "setup_required"},
    }


def _advised(scope: Scope, advice: Advice, host: Host, now: Moment) -> Answer:
    issue, lease = advice.issue, advice.lease
    verdict = None if issue is None else fit(route_from(issue.route), host)
    return present(
        {
            "action": "idle" if advice.action is None else "call_tool",
            "reason": advice.reason,
            "suggestedPayload": advice.payload,
            "requires": list(advice.requires),
            "context": present(
                {
                    "stage": advice.stage,
                    "priority": None if issue is None else PRIORITIES[issue.rank],
                    "projectId": scope.project.id,
                    "campaignId": scope.campaign_id,
                    "host": host.name,
                    "issue": None if issue is None else issue_shape(issue, now.wall_ms),
                    "dispatch": None
                    if verdict is None
                    else present(
                        {
                            "eligible": verdict.eligible,
                            "requiredWorkloadClass": verdict.required_class,
                            "requiredHostCapabilities": list(verdict.required),
                            "missingWorkloadClass": verdict.required_class if verdict.missing_class else None,
                            "missingHostCapabilities": list(verdict.missing) or None,
                        }
                    ),
                    "lease": None if lease is None else lease_shape(lease, now),
                    "blocker": None if advice.blocker is None else dict(advice.blocker),
                    "candidates": list(advice.candidates) or None,
                }
            ),
        }
    )


@command("queue context", effect=Effect.READ, result="phelix_core.commands.queue.answers:QueueContext")
def show_context(request: ShowContext, env: Environment) -> dict[str, Any]:
    """Read what there is."""

    def body(tx: Questions) -> Answer:
        projects = tx.projects(request.project)
        if request.project is not None and not projects:
            raise NotFound("There is no such project.")
        return {
            "workspaces": [{"id": one.id, "name": one.name} for one in tx.workspaces()],
            "projects": [
                {
                    "id": project.id,
                    "key": project.key,
                    "name": project.name,
                    "workspaceId": project.workspace_id,
                    "statusCounts": status_counts(tx, Scope(project=project)),
                    "campaigns": [
                        {
                            "id": one.id,
                            "name": one.name,
                            "objective": one.objective,
                            "status": one.status,
                            "statusCounts": status_counts(tx, Scope(project=project, campaign=one)),
                        }
                        for one in tx.campaigns(project.id)
                    ],
                }
                for project in projects
            ],
        }

    return env.queue.read(body)
