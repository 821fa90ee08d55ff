"""Answers of queue commands for people; programs read `--json`."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from phelix_core.cli.options import Call
from phelix_core.cli.page import Cell, Page
from phelix_core.cli.queue_cells import Answer, field, gate, status
from phelix_core.text import SafeStr
from phelix_core.views.moments import long_span
from phelix_core.views.queue.timeline import remembered
from phelix_core.views.shown import shown

_SHOWN: Final = 10


def print_answer(page: Page, call: Call, answer: Any) -> None:
    """Print what a queue command answered."""
    draw = DRAWN.get(call.command.name)
    if draw is None:
        from phelix_core.cli.inspection_pages import INSPECTIONS  # noqa: PLC0415 - inspections only

        INSPECTIONS[call.command.name](page, answer, call)
        return
    draw(page, answer)
    if answer.get("replayed"):
        page.line(("This call was answered before; nothing was written again.", "warn"))
    for failed in answer.get("sessionWritesFailed", ()):
        told = f"The record of session {failed['sessionId']} could not be written ({failed['code']}); "
        page.line((shown(told + "`phelix doctor --fix` catches up."), "warn"))


def _claimed(page: Page, context: Answer) -> None:
    verb = {"claim": "Claimed", "resume": "Resumed", "recovery": "Took over"}[str(context["claimMode"])]
    page.line((verb, "bold"), " ", shown(str(context["issueId"])), ": ", (shown(str(context["issueTask"])), "bold"))
    field(
        page, "lease", shown(f"{context['leaseId']}, epoch {context['leaseEpoch']}, until {context['leaseExpiresAt']}")
    )
    field(page, "session", shown(str(context["sessionId"])))
    for artifact in context["artifacts"]:
        field(page, artifact["kind"][:10], shown(str(artifact["path"])))
    if "nextBestAction" in context:
        field(page, "next", shown(str(context["nextBestAction"])))
    if others := [one for one in context.get("promotedIssueIds", ()) if one != context["issueId"]]:
        field(page, "promoted", shown(", ".join(others)))
    _recalled(page, context["mem0"])
    page.line(shown(f"Checkpoint with: phelix queue checkpoint --lease {context['leaseId']} --status in_progress …"))


def _recalled(page: Page, memory: Answer) -> None:
    """What the memory had to say, where it was asked."""
    if not memory["enabled"]:
        return
    for one in memory["recalledMemories"]:
        score = f" ({one['score']:.2f})" if "score" in one else ""
        field(page, "recalled", shown(f"{one['memory']}  {one['id']}{score}"))
    if "details" in memory:
        field(page, "memory", (shown(f"nothing recalled: {memory['details']}"), "warn"))
    elif not memory["recalledMemories"]:
        field(page, "memory", "it knows nothing of this yet")


def _remembered(page: Page, answer: Answer) -> None:
    """What became of a report in the memory."""
    reason = answer.get("mem0WriteSkippedReason")
    if "memoryId" in answer:
        field(page, "memory", shown(f"remembered as {answer['memoryId']}"))
    elif answer.get("memoryQueued"):
        why = f" ({reason})" if reason else ""
        field(page, "memory", shown(f"waits to be handed over{why}; `phelix queue memory sync` does it"))
    elif reason:
        field(page, "memory", shown(f"not remembered: {reason}"))


def _checkpointed(page: Page, answer: Answer) -> None:
    point, context = answer["checkpoint"], answer["context"]
    page.line(shown(f"{point['issueId']} is "), status(point["taskStatus"]), ": ", shown(point["summary"]))
    field(page, "next", shown(point["nextStep"]))
    if "releasedLease" in answer:
        field(page, "lease", shown(f"{answer['releasedLease']} ended"))
        _promoted_line(page, answer)
    elif point["taskStatus"] != "needs_recovery":
        field(page, "lease", shown(f"{context['leaseId']} until {context['leaseExpiresAt']}"))
    _remembered(page, answer)


def _promoted_line(page: Page, answer: Answer) -> None:
    if promoted := answer.get("promotedIssueIds"):
        field(page, "promoted", shown(", ".join(promoted)))


def _advanced(page: Page, answer: Answer) -> None:
    _checkpointed(page, answer["closeResult"])
    if answer["advanced"]:
        _claimed(page, answer["context"])
    else:
        stop = answer["stopReason"]
        page.line(("Nothing was claimed after it. ", "warn"), shown(f"{stop['code']}: {stop['message']}"))


def _recovered(page: Page, answer: Answer) -> None:
    if "claimMode" in answer:
        _claimed(page, answer)
    else:
        _moved(page, answer)


def _moved(page: Page, answer: Answer) -> None:
    page.line(shown(f"{answer['issueId']}: {answer['previousStatus']} → "), status(answer["newStatus"]))
    for key, told in (
        ("recoveredLeaseIds", "leases recovered"),
        ("endedLeaseIds", "leases ended"),
        ("returnedIssueIds", "back to pending"),
        ("goingOnIssueIds", "go on as they are"),
    ):
        if ids := answer.get(key):
            page.line(shown(f"  {told}: {', '.join(ids)}"))
    if answer.get("blockedReason"):
        page.line(shown(f"  {answer['blockedReason']}"))


def _extended(page: Page, answer: Answer) -> None:
    page.line(shown(f"Lease {answer['leaseId']} lives until {answer['leaseExpiresAt']}."))


def _made(page: Page, answer: Answer) -> None:
    kind, key = ("campaign", "campaignId") if "campaignId" in answer else ("workspace", "workspaceId")
    made = "made" if answer["created"] else "there already"
    page.line(shown(f"{kind} {answer[key]} is {made}."))
    if kind == "campaign":
        page.line(shown(f"project {answer['projectKey']} ({answer['projectId']})"))


def _planned(page: Page, answer: Answer) -> None:
    draw_graph(page, answer)
    page.line("All are pending. `phelix queue promote` makes ready what waits for nothing; a claim does so too.")


def draw_graph(page: Page, answer: Answer) -> None:
    """Milestones with their issues, each with what it waits for."""
    names = {one["id"]: one["key"] for one in answer["generatedMilestones"]}
    page.line(f"{answer['issueCount']} issues in {answer['milestoneCount']} milestones")
    for milestone in answer["generatedMilestones"]:
        needs = [shown(str(names.get(one, one))) for one in milestone["dependsOnMilestoneIds"]]
        behind = f"  ⇐ {', '.join(needs)}" if needs else ""
        page.line((shown(f"◆ {milestone['key']}"), "bold"), "  ", shown(milestone["description"]), behind)
        places = {one["id"]: number for number, one in enumerate(milestone["generatedIssues"])}
        for number, issue in enumerate(milestone["generatedIssues"]):
            last = number == len(milestone["generatedIssues"]) - 1
            waits = [str(places[one]) if one in places else shown(one) for one in issue["dependsOn"]]
            after = f"  ⇐ {', '.join(waits)}" if len(waits) < _SHOWN and waits else "  ⇐ several" if waits else ""
            page.line(f"  {'└' if last else '├'} {number:<3}", shown(issue["id"]), "  ", shown(issue["task"]), after)


def _promoted(page: Page, answer: Answer) -> None:
    moved, kept = answer["promotedIssueIds"], answer["keptBack"]
    page.line(f"{len(moved)} became ready, {len(kept)} stay pending.")
    for issue_id in moved:
        page.line("  ", status("ready"), "  ", shown(issue_id))
    for one in kept:
        page.line("  ", status("pending"), shown(f"  {one['issueId']}  {one['task']}  waits for {gate(one['reason'])}"))


def _reconciled(page: Page, answer: Answer) -> None:
    if not any(answer[key] for key in ("needsRecovery", "failed", "released")):
        page.line("Nothing is stale.")
    for one in answer["needsRecovery"]:
        page.line("  ", status("needs_recovery"), shown(f"  {one['issueId']}  {one['reason']}"))
    for one in answer["failed"]:
        page.line("  ", status("failed"), shown(f"  {one['issueId']}  {one['reason']}"))
    for lease in answer["released"]:
        page.line(shown(f"  lease {lease} released"))


def _campaign_moved(page: Page, answer: Answer) -> None:
    page.line(shown(f"Campaign {answer['campaignId']} is {answer['status']}."))
    for key, told in (
        ("blockedIssueIds", "blocked"),
        ("unblockedIssueIds", "go on"),
        ("endedLeaseIds", "leases ended"),
        ("returnedIssueIds", "back to pending"),
    ):
        if ids := answer.get(key):
            more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
            page.line(shown(f"  {told}: {', '.join(ids[:_SHOWN])}{more}"))


def _saved_artifact(page: Page, answer: Answer) -> None:
    page.line(shown(f"{answer['artifactId']}: {answer['kind']} {answer['path']} of {answer['issueId']}"))


def _artifacts(page: Page, answer: Answer) -> None:
    rows = [
        [(shown(one["id"]), ""), (shown(one["kind"]), ""), (shown(one["path"]), ""), (shown(one["status"]), "")]
        for one in answer["artifacts"]
    ]
    if rows:
        page.table(("ARTIFACT", "KIND", "PATH", "STATUS"), rows, flexible=2)
    else:
        page.line("No artifacts.")


def _list(page: Page, answer: Answer) -> None:
    rows: list[Sequence[Cell]] = []
    for issue in answer["issues"]:
        effective = issue.get("policyState", {}).get("effectivePriority", issue["priority"])
        raised = "" if effective == issue["priority"] else "↑"
        note = issue.get("blockedReason") or issue.get("nextBestAction") or ""
        rows.append(
            [
                status(issue["status"]),
                (shown(issue["id"]), ""),
                (shown(f"{effective}{raised}"), ""),
                (shown(issue["size"]), ""),
                (shown(issue["task"]), ""),
                (shown(note if len(note) <= _NOTE else note[: _NOTE - 1] + "…"), ""),
            ]
        )
    if rows:
        page.table(("STATUS", "ISSUE", "PRIORITY", "SIZE", "TASK", "NOTE"), rows, flexible=4)
    else:
        page.line("No issues match. `phelix queue plan FILE` brings work in.")
    if answer["truncated"]:
        page.line(f"Only the first {answer['count']} are shown; --limit 0 shows all.")


_NOTE: Final = 60


def _show(page: Page, answer: Answer) -> None:
    issue = answer["issue"]
    page.line(status(issue["status"]), "  ", shown(issue["id"]), "  ", (shown(issue["task"]), "bold"))
    field(page, "project", shown(answer["project"]["name"]))
    if "campaign" in answer:
        field(page, "campaign", shown(f"{answer['campaign']['name']} ({answer['campaign']['status']})"))
    if "milestone" in answer:
        field(page, "milestone", shown(f"{answer['milestone']['key']}: {answer['milestone']['description']}"))
    field(page, "priority", shown(f"{issue['priority']}, size {issue['size']}, lease epoch {issue['leaseEpoch']}"))
    for key, name in (("blockedReason", "reason"), ("nextBestAction", "next"), ("deadlineAt", "deadline")):
        if key in issue:
            field(page, name, shown(str(issue[key])))
    if "waitsFor" in answer:
        field(page, "waits for", shown(gate(answer["waitsFor"])))
    if "staleness" in answer:
        _staleness(page, answer["staleness"])
    _behind(page, "depends on", answer["dependencies"])
    _behind(page, "opens", answer["dependents"])
    for lease in reversed(answer["leases"][-_SHOWN:]):
        ended = f", {lease['endReason']}" if "endReason" in lease else ""
        gone = ", its process is gone" if lease.get("holderGone") else ""
        held = f"{lease['agentId']} on {lease['host']}"
        field(page, "lease", shown(f"{lease['id']} epoch {lease['epoch']} {lease['status']}{ended}{gone}: {held}"))
    for point in answer["checkpoints"]:
        field(
            page,
            "checkpoint",
            shown(f"{point['createdAt']} {point['title']} → {point['taskStatus']}: {point['summary']}"),
        )
    _made_of_it(page, answer)


def _made_of_it(page: Page, answer: Answer) -> None:
    """Artifacts, and what the memory made of checkpoints."""
    for artifact in answer["artifacts"]:
        field(page, "artifact", shown(f"{artifact['kind']} {artifact['path']} ({artifact['status']})"))
    for memory in remembered(answer):
        state = f"waits for the memory{f' ({memory.why})' if memory.why else ''}" if memory.waits else memory.ref
        field(page, "memory", SafeStr(f"{memory.kind} {state}: {memory.summary}"))


def _staleness(page: Page, told: Answer) -> None:
    words = [str(told["state"])]
    if "reason" in told:
        words.append(f"because {told['reason']}")
    if told.get("leaseLeftMs") is not None:
        left = int(told["leaseLeftMs"])
        words.append(f"lease {'ends in' if left > 0 else 'ended'} {long_span(abs(left))}{'' if left > 0 else ' ago'}")
    if told.get("checkpointLeftMs") is not None:
        age = int(told["freshnessSeconds"]) * 1000 - int(told["checkpointLeftMs"])
        words.append(f"last checkpoint {long_span(age)} ago, limit {long_span(int(told['freshnessSeconds']) * 1000)}")
    if "clock" in told:
        words.append(f"by the {told['clock']} clock")
    if told.get("blocksClaims"):
        words.append("blocks new claims")
    field(page, "lease", (shown("; ".join(words)), "stale" if told.get("blocksClaims") else ""))


def _behind(page: Page, name: str, issues: Sequence[Answer]) -> None:
    for issue in issues[:_SHOWN]:
        waits = f", waits for {gate(issue['waitsFor'])}" if "waitsFor" in issue else ""
        field(page, name, status(issue["status"]), shown(f"  {issue['id']}  {issue.get('task', '')}{waits}"))
    if len(issues) > _SHOWN:
        field(page, name, f"and {len(issues) - _SHOWN} more")


def _imported(page: Page, answer: Answer) -> None:
    for key, told in (("imported", "imported"), ("alreadyThere", "there already")):
        numbers = [f"{number:,} {table}" for table, number in answer[key].items() if number]
        page.line((f"{told:<14}", "bold"), ", ".join(numbers) or "nothing")
    for one in answer["notTaken"]:
        page.line((f"{'not taken':<14}", "bold"), shown(f"{one['count']:,} of {one['table']}: {one['reason']}"))
    if answer["leftOutCount"]:
        page.line((f"{answer['leftOutCount']:,} did not fit:", "warn"))
    for one in answer["leftOut"][:_MISFITS]:
        page.line(shown(f"  {one['table']} {one['id']}  {one['reason']}"))
    if answer["leftOutCount"] > _MISFITS:
        page.line(f"  and {answer['leftOutCount'] - _MISFITS:,} more; --json lists them.")


_MISFITS: Final = 40


DRAWN: Final[dict[str, Callable[[Page, Any], None]]] = {
    "queue init": _made,
    "queue campaign": _made,
    "queue plan": _planned,
    "queue list": _list,
    "queue show": _show,
    "queue claim": _claimed,
    "queue recover": _recovered,
    "queue checkpoint": _checkpointed,
    "queue heartbeat": _extended,
    "queue close": _checkpointed,
    "queue advance": _advanced,
    "queue artifacts save": _saved_artifact,
    "queue artifacts list": _artifacts,
    "queue promote": _promoted,
    "queue reconcile": _reconciled,
    "queue unblock": _moved,
    "queue retry": _moved,
    "queue rollback": _moved,
    "queue drain": _campaign_moved,
    "queue undrain": _campaign_moved,
    "queue archive": _campaign_moved,
    "queue import": _imported,
}
