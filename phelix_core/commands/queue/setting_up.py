"""`queue init`, `campaign` and `plan`: what work there is."""

from typing import Annotated

from phelix_core.checks import BY_PLACE, Contents, Help, capped
from phelix_core.commands.environment import Environment
from phelix_core.commands.queue.fields import (
    NOT_EMPTY,
    CampaignWord,
    ProjectWord,
    RequestId,
    Workspace,
    json_of,
)
from phelix_core.commands.queue.intent import QueueWrite
from phelix_core.commands.queue.targets import about, scope_of
from phelix_core.commands.registry import Effect, command
from phelix_core.frozen import frozen
from phelix_core.queue.model import BATCH_CAP, JSON_CAP, LINE_CAP, WORD_CAP, Scope
from phelix_core.queue.planning import read_batch
from phelix_core.queue.policy import policy_text, read_policy
from phelix_core.queue.store import Questions
from phelix_core.queue.verbs.answers import Answer
from phelix_core.queue.verbs.ledger import Ledger, the_campaign
from phelix_core.queue.verbs.upkeep import add_campaign, add_workspace, plan_issues
from phelix_core.redaction import free_text

Name = Annotated[str, free_text(WORD_CAP), NOT_EMPTY]


@frozen
class InitQueue:
    """Make the queue, or a further workspace in it."""

    name: Annotated[Name, BY_PLACE, Help("The workspace's name")]


@frozen
class CreateCampaign:
    """Make a campaign, and its project where that is new."""

    project_name: Annotated[
        str, BY_PLACE, free_text(WORD_CAP), NOT_EMPTY, Help("Project it belongs to, by id, key or name")
    ]
    campaign_name: Annotated[str, BY_PLACE, free_text(WORD_CAP), NOT_EMPTY, Help("The campaign's name")]
    objective: Annotated[str | None, free_text(LINE_CAP), Help("What it is for")] = None
    policy: Annotated[
        str | None, capped(JSON_CAP), Contents(JSON_CAP), Help("A JSON policy: service level, dispatch, maxRecoveries")
    ] = None
    workspace: Annotated[
        str | None, free_text(WORD_CAP), Help("Workspace of a new project, where there are several")
    ] = None


@frozen
class PlanIssues:
    """Bring work in: milestones with their issues and what waits for what, all or nothing."""

    batch: Annotated[
        str, BY_PLACE, capped(BATCH_CAP), Contents(BATCH_CAP), Help("JSON with milestones[]; - reads it from stdin")
    ]
    project: ProjectWord = None
    campaign: CampaignWord = None
    workspace: Workspace = None
    request_id: RequestId = None


@command(
    "queue init",
    effect=Effect.WRITE,
    result="phelix_core.commands.queue.answers:WorkspaceMade",
)
def init_queue(request: InitQueue, env: Environment) -> QueueWrite:
    """Decide a workspace."""
    return QueueWrite(init_queue, request, env, lambda ledger: add_workspace(ledger, request.name), creates=True)


@command(
    "queue campaign",
    effect=Effect.WRITE,
    result="phelix_core.commands.queue.answers:CampaignMade",
)
def create_campaign(request: CreateCampaign, env: Environment) -> QueueWrite:
    """Decide a campaign."""
    policy = policy_text(read_policy(json_of(request.policy, "policy"), "policy"))

    def verb(ledger: Ledger) -> Answer:
        return add_campaign(
            ledger,
            request.project_name,
            request.campaign_name,
            objective=request.objective or "",
            policy=policy,
            workspace=request.workspace,
        )

    return QueueWrite(create_campaign, request, env, verb)


@command(
    "queue plan",
    effect=Effect.WRITE,
    result="phelix_core.commands.queue.answers:Planned",
)
def plan(request: PlanIssues, env: Environment) -> QueueWrite:
    """Decide a batch."""
    milestones = read_batch(json_of(request.batch, "batch"))

    def scope(tx: Questions) -> Scope:
        project = scope_of(tx, request.project, None, request.workspace).project
        campaigns = tx.campaigns(project.id)
        campaign = the_campaign(tx, project, request.campaign, required=bool(campaigns))
        return Scope(project=project, campaign=campaign)

    return QueueWrite(
        plan,
        request,
        env,
        lambda ledger: plan_issues(ledger, scope(ledger.tx), milestones),
        target=lambda tx: about(scope(tx)),
    )
