"""`queue promote`, `reconcile`, `unblock`, `retry`, `rollback`, `drain`, `undrain`, `archive`: an operator's acts."""

from collections.abc import Callable
from typing import Any, cast

from phelix_core.commands.environment import Environment
from phelix_core.commands.queue.fields import (
    CampaignId,
    CampaignWord,
    IfEpoch,
    IssueId,
    ProjectWord,
    Reason,
    RequestId,
)
from phelix_core.commands.queue.intent import QueueWrite, Subject
from phelix_core.commands.queue.targets import issue_target, scope_of, scope_target
from phelix_core.commands.registry import Command, Effect, command
from phelix_core.frozen import frozen
from phelix_core.queue.model import Campaign
from phelix_core.queue.store import Questions
from phelix_core.queue.verbs import upkeep as verbs
from phelix_core.queue.verbs.answers import Answer
from phelix_core.queue.verbs.ledger import Ledger, the_one, the_project

FENCES = "It stops no process: a holder that still runs is refused from now on."


@frozen
class PromoteQueue:
    """Make every issue ready whose gates are open, and say of the others what keeps them back."""

    project: ProjectWord = None
    campaign: CampaignWord = None
    request_id: RequestId = None


@frozen
class ReconcileQueue:
    """Record what is stale by now, so that it can be recovered."""

    project: ProjectWord = None
    campaign: CampaignWord = None
    request_id: RequestId = None


@frozen
class UnblockIssue:
    """Let a blocked issue go on."""

    issue_id: IssueId
    reason: Reason
    if_epoch: IfEpoch = None
    request_id: RequestId = None


@frozen
class RetryIssue:
    """Try a failed issue anew."""

    issue_id: IssueId
    reason: Reason
    if_epoch: IfEpoch = None
    request_id: RequestId = None


@frozen
class RollbackIssue:
    """Put an issue back to pending, and with it what it had opened."""

    issue_id: IssueId
    reason: Reason
    if_epoch: IfEpoch = None
    request_id: RequestId = None


@frozen
class DrainCampaign:
    """Let nothing new be claimed in a campaign; what runs goes on to its end."""

    campaign_id: CampaignId
    reason: Reason
    project: ProjectWord = None
    request_id: RequestId = None


@frozen
class UndrainCampaign:
    """Let a drained campaign go on."""

    campaign_id: CampaignId
    reason: Reason
    project: ProjectWord = None
    request_id: RequestId = None


@frozen
class ArchiveCampaign:
    """Put a campaign away: its leases end, and nobody claims from it any more."""

    campaign_id: CampaignId
    reason: Reason
    project: ProjectWord = None
    request_id: RequestId = None


@command(
    "queue promote",
    effect=Effect.WRITE,
    result="phelix_core.commands.queue.answers:Promoted",
)
def promote(request: PromoteQueue, env: Environment) -> QueueWrite:
    """Decide a promotion."""

    def verb(ledger: Ledger) -> Answer:
        return verbs.promote_queue(ledger, scope_of(ledger.tx, request.project, request.campaign))

    return QueueWrite(promote, request, env, verb, target=scope_target(request), effects=_promotion_told)


def _promotion_told(answer: Answer) -> tuple[str, ...]:
    moved, kept = cast("list[str]", answer["promotedIssueIds"]), cast("list[dict[str, str]]", answer["keptBack"])
    told = [f"{len(moved)} move to ready, {len(kept)} stay"]
    told += [f"{one['issueId']} stays: {one['reason']}" for one in kept]
    return tuple(told)


@command(
    "queue reconcile",
    effect=Effect.WRITE,
    result="phelix_core.commands.queue.answers:Reconciled",
    caution=FENCES,
)
def reconcile(request: ReconcileQueue, env: Environment) -> QueueWrite:
    """Decide what is stale."""

    def verb(ledger: Ledger) -> Answer:
        return verbs.reconcile_now(ledger, scope_of(ledger.tx, request.project, request.campaign))

    return QueueWrite(reconcile, request, env, verb, target=scope_target(request))


_IssueVerb = Callable[[Ledger, str, str, int | None], Answer]


def _on_issue(own: Command, request: Any, env: Environment, verb: _IssueVerb) -> QueueWrite:
    return QueueWrite(
        own,
        request,
        env,
        lambda ledger: verb(ledger, request.issue_id, request.reason, request.if_epoch),
        target=issue_target(request.issue_id),
        effects=_moved_told,
    )


def _moved_told(answer: Answer) -> tuple[str, ...]:
    told = [f"lease {lease} ends" for lease in answer.get("endedLeaseIds", ())]
    told += [f"{issue} goes back to pending" for issue in answer.get("returnedIssueIds", ())]
    told += [f"{issue} goes on: it is not taken back" for issue in answer.get("goingOnIssueIds", ())]
    return tuple(told)


@command(
    "queue unblock",
    effect=Effect.WRITE,
    result="phelix_core.commands.queue.answers:Moved",
    caution=FENCES,
)
def unblock(request: UnblockIssue, env: Environment) -> QueueWrite:
    """Decide an unblocking."""
    return _on_issue(unblock, request, env, verbs.unblock)


@command("queue retry", effect=Effect.WRITE, result="phelix_core.commands.queue.answers:Moved")
def retry(request: RetryIssue, env: Environment) -> QueueWrite:
    """Decide a retry."""
    return _on_issue(retry, request, env, verbs.retry)


@command(
    "queue rollback",
    effect=Effect.WRITE,
    result="phelix_core.commands.queue.answers:RolledBack",
    caution=FENCES,
)
def rollback(request: RollbackIssue, env: Environment) -> QueueWrite:
    """Decide a rollback."""
    return _on_issue(rollback, request, env, verbs.rollback)


_CampaignVerb = Callable[[Ledger, Campaign, str], Answer]


def _on_campaign(own: Command, request: Any, env: Environment, verb: _CampaignVerb) -> QueueWrite:
    def found(tx: Questions) -> Campaign:
        projects = tx.projects() if request.project is None else [the_project(tx, request.project)]
        match = [campaign for project in projects for campaign in tx.campaigns(project.id, request.campaign_id)]
        hint = "Several have this name: take its id."
        return the_one("campaign", match, lambda one: f"{one.id} of {one.project_id}", hint=hint)

    def target(tx: Questions) -> Subject:
        campaign = found(tx)
        return Subject(
            project_id=campaign.project_id,
            target={"campaign": campaign.id, "name": campaign.name},
            preconditions={"status": campaign.status},
        )

    return QueueWrite(own, request, env, lambda ledger: verb(ledger, found(ledger.tx), request.reason), target=target)


@command(
    "queue drain",
    effect=Effect.WRITE,
    result="phelix_core.commands.queue.answers:CampaignMoved",
)
def drain(request: DrainCampaign, env: Environment) -> QueueWrite:
    """Decide a drain."""
    return _on_campaign(drain, request, env, verbs.drain)


@command(
    "queue undrain",
    effect=Effect.WRITE,
    result="phelix_core.commands.queue.answers:CampaignMoved",
)
def undrain(request: UndrainCampaign, env: Environment) -> QueueWrite:
    """Decide that a campaign goes on."""
    return _on_campaign(undrain, request, env, verbs.undrain)


@command(
    "queue archive",
    effect=Effect.WRITE,
    result="phelix_core.commands.queue.answers:CampaignMoved",
    caution=FENCES,
)
def archive(request: ArchiveCampaign, env: Environment) -> QueueWrite:
    """Decide that a campaign is put away."""
    return _on_campaign(archive, request, env, verbs.archive)
