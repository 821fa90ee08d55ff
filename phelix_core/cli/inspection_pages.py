"""Answers of the queue's inspections for people: export, audit, health, next, context, and what went to the memory.

A page says what the answer holds, the most pressing first, and where there is more the very command for it. Programs
read `--json`.
"""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from math import ceil
from typing import Any, Final, cast

from phelix_core.checks import Surface
from phelix_core.cli.options import Call
from phelix_core.cli.page import Page
from phelix_core.cli.queue_cells import (
    Answer,
    age_chart,
    field,
    gate,
    joined,
    lease_lines,
    status,
    status_bars,
    status_strip,
)
from phelix_core.commands.registry import equivalent, load_command, validate
from phelix_core.errors import PhelixError
from phelix_core.redaction import redact
from phelix_core.text import SafeStr
from phelix_core.views.moments import moment, time_of_day, to_the_minute
from phelix_core.views.queue.glyphs import GLYPHS
from phelix_core.views.queue.timeline import Entry, audited, ms_of, timeline_of
from phelix_core.views.shown import shown, shown_block

_SHOWN: Final = 10
_ENTRY: Final = 24
"""Cells before an entry's text."""


def _export(page: Page, answer: Answer, call: Call) -> None:
    queue, counts = answer["queue"], answer["queue"]["statusCounts"]
    _scope(page, answer)
    status_bars(page, counts)
    _issues(page, "needs_recovery", queue["recoveryIssues"], counts.get("needs_recovery", 0))
    _issues(page, "in_progress", queue["inProgressIssues"], counts.get("in_progress", 0))
    _issues(page, "ready", queue["readyIssues"], counts.get("ready", 0))
    for word in ("blocked", "pending"):
        found = [issue for issue in queue["blockedIssues"] if issue["status"] == word]
        _issues(page, word, found, counts.get(word, 0))
    for milestone in queue["blockedMilestones"]:
        _milestone(page, milestone)
    leases = answer["leases"]
    page.line((f"{leases['activeCount']:,} leases", "bold"), f", {leases['staleCount']} stale")
    lease_lines(page, leases["active"], leases["staleReasons"])
    _unseen_leases(page, leases, {str(one["id"]) for one in leases["active"]})
    policy = answer["policy"]
    _policy(page, policy, len(policy["escalatedIssues"]), len(policy["breachedIssues"]))
    for issue in policy["breachedIssues"]:
        _breaches(page, issue)
    _runs(page, answer["runs"])
    events = timeline_of({"events": answer["audit"]["recentEvents"]})
    page.line((f"{answer['audit']['recentEventCount']} newest events", "bold"))
    _entries(page, events, tells_issue=True)
    _more_of_export(page, answer, call)


def _scope(page: Page, answer: Answer) -> None:
    scope = answer["scope"]
    where = f", campaign {scope['campaignId']}" if scope.get("campaignId") else ", every campaign"
    page.line(shown(f"Project {scope['projectId']}{where}, at {moment(ms_of(answer['generatedAt']))}"))


def _issues(page: Page, word: str, issues: Sequence[Answer], total: int) -> None:
    """Issues of one status, each with what keeps it back or comes next."""
    if not issues:
        return
    many = f"{len(issues):,} of {total:,}" if total > len(issues) else f"{total:,}"
    page.line((f"{GLYPHS[word]} {many} {word}", word))
    for issue in issues:
        state = issue.get("policyState", {})
        effective = state.get("effectivePriority", issue["priority"])
        raised = "↑" if effective != issue["priority"] else ""
        note = issue.get("blockedReason") or issue.get("nextBestAction") or ""
        page.line(
            *("  ", shown(issue["id"]), shown(f"  {effective}{raised:<{9 - len(effective)}} {issue['size']:<2}  ")),
            (shown(issue["task"]), "bold"),
            (shown(f"  {gate(note)}" if note else ""), word if issue.get("blockedReason") else ""),
            hang=35,
        )


def _milestone(page: Page, milestone: Answer) -> None:
    done, all_of = milestone["issueCounts"].get("done", 0), sum(milestone["issueCounts"].values())
    words = [f"{done}/{all_of} done"]
    if "priority" in milestone:
        words.append(milestone["priority"])
    if "blockedReason" in milestone:
        words.append(f"waits for {gate(milestone['blockedReason'])}")
    if "deadlineAt" in milestone:
        words.append(f"deadline {to_the_minute(ms_of(milestone['deadlineAt']))}")
    name = status(milestone["status"])
    about = shown(f"  {milestone['id']}  {milestone['key']}  {', '.join(words)}")
    page.line("  ", (SafeStr(f"{name[0]:<16}"), name[1]), about, hang=40)


def _unseen_leases(page: Page, leases: Answer, seen: set[str]) -> None:
    """Leases that are stale, or of which that cannot be told, and stand on no line of this page."""
    for lease_id, reason in leases["staleReasons"].items():
        if lease_id not in seen:
            page.line("  ", (f"{GLYPHS['stale']} ", "stale"), shown(f"{lease_id}  {reason}"))
    for lease_id in leases["cannotTell"]:
        told = f"{lease_id}  cannot tell: the wall clock ran backwards across a boot"
        page.line("  ", (f"{GLYPHS['clock']} ", "unknown"), shown(told))


def _policy(page: Page, policy: Answer, escalated: int, breached: int) -> None:
    counts = [f"{number:,} {name}" for name, number in policy["breachCounts"].items() if number]
    told = f": {', '.join(counts)}" if counts else ""
    page.line(
        (f"{policy['trackedIssues']:,} issues under a policy or a deadline", "bold"),
        f", {escalated:,} escalated, ",
        (shown(f"{breached:,} in breach{told}"), "stale" if breached else ""),
    )


def _breaches(page: Page, issue: Answer) -> None:
    for breach in issue.get("policyState", {}).get("breaches", ()):
        note = f": {breach['note']}" if "note" in breach else ""
        to = f" to {breach['priority']}" if "priority" in breach else ""
        told = f"{breach['trigger']} for {breach['minutesOverdue']:,} minutes, {breach['action']}{to}{note}"
        page.line("  ", (f"{GLYPHS['stale']} ", "stale"), shown(f"{issue['id']}  {issue['task']}  {told}"), hang=24)


def _runs(page: Page, runs: Answer) -> None:
    page.line((f"{runs['recentCount']} newest runs", "bold"))
    for run in runs["recent"]:
        at = to_the_minute(ms_of(run["startedAt"]))
        ended = f", ended {to_the_minute(ms_of(run['finishedAt']))}" if "finishedAt" in run else ""
        who = f"{run['agentId']} on {run['host']}"
        page.line(
            *("  ", at, "  ", (shown(run["id"]), "bold")),
            shown(f"  {run['sessionType']}  {run['status']}  {who}{ended}"),
            hang=21,
        )


def _more_of_export(page: Page, answer: Answer, call: Call) -> None:
    """Which page this is, and the command for the next."""
    cursor = answer.get("nextCursor")
    if cursor is None:
        return
    queue, counts, leases = answer["queue"], answer["queue"]["statusCounts"], answer["leases"]
    lists = [value for name, value in queue.items() if name != "statusCounts"]
    limit = max(len(one) for one in (*lists, leases["active"]))
    kept_back = counts.get("blocked", 0) + counts.get("pending", 0)
    most = max(*(counts.get(word, 0) for word in ("ready", "in_progress", "needs_recovery")), kept_back)
    number = int(cursor.removeprefix("p"))
    pages = max(number + 1, ceil(max(most, leases["activeCount"]) / limit))
    page.line((f"Page {number} of at most {pages:,}; the next:", "bold"))
    page.shell(_again(call, cursor=cursor))


def _again(call: Call, **more: object) -> SafeStr:
    """The call as it was typed, with something else in it."""
    return _placed(equivalent(call.command, validate(call.command, call.raw, Surface.CLI), call.data_dir, **more), call)


def _placed(command: str, call: Call) -> SafeStr:
    """A command over the same queue."""
    return shown(command + (f" --queue {shlex.quote(redact(call.queue))}" if call.queue else ""))


def _audit(page: Page, answer: Answer, call: Call) -> None:
    issue, summary, evidence = answer["issue"], answer["summary"], answer["evidence"]
    page.line(status(issue["status"]), "  ", shown(issue["id"]), "  ", (shown(issue["task"]), "bold"), hang=2)
    most = summary.get("countedUpTo")
    numbers = [
        f"{summary[key]:,}{'+' if summary[key] == most else ''} {word}{'' if summary[key] == 1 else 's'}"
        for key, word in (
            ("eventCount", "event"),
            ("checkpointCount", "checkpoint"),
            ("leaseCount", "lease"),
            ("memoryLinkCount", "link to the memory"),
        )
        if summary[key]
    ]
    page.line(", ".join(numbers).replace("links to the memorys", "links to the memory"))
    _entries(page, audited(answer), tells_issue=False)
    reasons: dict[str, str] = {}
    active = [lease for lease in evidence["leases"] if lease["status"] == "active"]
    if active:
        page.line(("held by", "bold"))
        lease_lines(page, active, reasons)
    for artifact in evidence["artifacts"]:
        field(
            page, "artifact", shown(f"{artifact['id']}  {artifact['kind']} {artifact['path']} ({artifact['status']})")
        )
    if (cursor := answer.get("nextCursor")) is None:
        return
    size, older = len(evidence["events"]), summary["eventCount"] - len(evidence["events"])
    counted = f"{older:,}{'+' if summary['eventCount'] == most else ''} older events, {ceil(older / size):,} more pages"
    page.line((f"{'Older events follow' if call.raw.get('cursor') else counted}; the next page:", "bold"))
    page.shell(_again(call, cursor=cursor))


def _entries(page: Page, entries: Sequence[Entry], *, tells_issue: bool) -> None:
    """Entries newest first, under their days: when, how long after the one before, what, whose."""
    for day, found in groupby(entries, key=lambda entry: entry.at.partition(" ")[0]):
        page.line((day, "bold"))
        for entry in found:
            ids = [shown(f"E-{entry.mark[1:]}")] if entry.mark.startswith("E") else []
            ids += [entry.issue] if tells_issue and entry.issue else []
            by = [f"by {entry.by}"] if entry.by else []
            via = [f"via {entry.via}"] if entry.via else []
            said = "  ".join(part for part in (entry.moved, entry.detail) if part)
            whose = "  ".join([*ids, *([entry.ids] if entry.ids else []), *by, *via])
            page.line(
                ("  ", ""),
                (SafeStr(f"{time_of_day(entry.at_ms)}  {entry.gap:<9} "), "pending"),
                (SafeStr(f"{entry.glyph} "), entry.status),
                (SafeStr(f"{entry.mark} {entry.kind}" if entry.mark == "lease" else entry.kind), "bold"),
                (SafeStr(f"  {said}" if said else ""), ""),
                (SafeStr(f"  {whose}" if whose else ""), "pending"),
                hang=_ENTRY,
            )


def _health(page: Page, answer: Answer, call: Call) -> None:
    del call
    _scope(page, answer)
    status_bars(page, answer["queue"]["statusCounts"])
    leases = answer["leases"]
    page.line((f"{leases['activeCount']:,} leases", "bold"), f", {leases['staleCount']} stale")
    if leases["activeCount"]:
        age_chart(page, leases["ages"])
    _unseen_leases(page, leases, set())
    if blockers := answer["claimsBlockedBy"]:
        page.line((f"claims are blocked by {len(blockers)}", "needs_recovery"))
        for one in blockers:
            page.line("  ", status("needs_recovery"), shown(f"  {one['issueId']}  {one['reason']}"), hang=4)
            page.line(shown(f"      {one['summary']}  next: {one['nextStep']}"), hang=6)
    policy = answer["policy"]
    if policy["trackedIssues"]:
        _policy(page, policy, policy["escalatedIssueCount"], policy["breachedIssueCount"])
    for alert in answer["alerts"]:
        if alert["kind"] == "policy_breaches":
            page.line("  ", ("in breach: ", "stale"), shown(joined(alert["refIds"], _SHOWN)), hang=13)
    if answer["milestones"]:
        page.line((f"{len(answer['milestones']):,} milestones", "bold"))
    for milestone in answer["milestones"]:
        _milestone(page, milestone)
    audit = answer["audit"]
    if audit["failedRunCount"]:
        page.line((f"{audit['failedRunCount']:,} runs failed", "failed"))
    for name, at in (("checkpoint", answer["checkpoints"]["lastCheckpointAt"]), ("event", audit["lastEventAt"])):
        if at is not None:
            page.line(f"last {name:<11}{moment(ms_of(at))}")


def _next(page: Page, answer: Answer, call: Call) -> None:
    context = answer["context"]
    stage = f" ({context['stage']})" if "stage" in context else ""
    page.line((shown(answer["reason"]), "bold"), shown(stage))
    if "issue" in context:
        issue = context["issue"]
        about = shown(f"  {issue['id']}  {context.get('priority', issue['priority'])}  {issue['task']}")
        field(page, "issue", status(issue["status"]), about)
    if "lease" in context:
        page.line(("lease", "bold"))
        blocker = context.get("blocker", {})
        reasons = {context["lease"]["id"]: blocker.get("summary", "")} if blocker.get("refType") == "lease" else {}
        lease_lines(page, [context["lease"]], reasons)
    if "blocker" in context:
        blocker = context["blocker"]
        told = f"{blocker['code']}, {blocker['refType']} {blocker['refId']}: {gate(blocker['summary'])}"
        field(page, "because", shown(told))
    if "dispatch" in context:
        field(page, "this host", shown(_dispatch(context["dispatch"], str(context.get("host", "")))))
    for candidate in context.get("candidates", ()):
        told = f"{candidate['issueId']}  {candidate['task']}  {_missing(candidate)}"
        field(page, "candidate", shown(told))
    for project in context.get("projects", ()):
        field(page, "project", shown(f"{project['id']}  {project['key']}  {project['name']}"))
    if "suggestedPayload" in answer:
        _suggested(page, answer["suggestedPayload"], answer["requires"], call)
    elif "projects" in context:
        page.line(("Say which, as in:", "bold"))
        page.shell(_again(call, project=context["projects"][0]["id"]))


def _dispatch(dispatch: Answer, host: str) -> str:
    needed = [f"class {dispatch['requiredWorkloadClass']}"] if "requiredWorkloadClass" in dispatch else []
    needed += dispatch["requiredHostCapabilities"]
    needs = f" needs {', '.join(needed)}" if needed else " takes any host"
    return f"{host} may take it: it{needs}" if dispatch["eligible"] else f"{host} may not: {_missing(dispatch)}"


def _missing(told: Answer) -> str:
    missing = [f"class {told['missingWorkloadClass']}"] if "missingWorkloadClass" in told else []
    missing += told.get("missingHostCapabilities") or ()
    return f"missing: {', '.join(missing)}" if missing else "nothing is missing"


_FILLED_IN: Final[Mapping[str, tuple[object, str]]] = {
    "artifacts": ([{"kind": "KIND", "path": "PATH"}], "KIND and PATH: what the work is on, as branch and its name"),
    "recoverySummary": ("FOUND", "FOUND: what was found of the work"),
    "reason": ("WHY", "WHY: a reason, which is recorded"),
    "workspaceName": ("WORKSPACE", "WORKSPACE: a name"),
    "projectName": ("PROJECT", "PROJECT: a name"),
    "campaignName": ("CAMPAIGN", "CAMPAIGN: a name"),
    "objective": ("OBJECTIVE", "OBJECTIVE: what the campaign is for"),
}
"""What the caller adds to a payload: what stands for it, and what it is."""


def _suggested(page: Page, payload: Answer, requires: Sequence[str], call: Call) -> None:
    """The same call for both command lines, ready to copy."""
    given, told = dict(payload["input"]), list[str]()
    for member in requires:
        name = member.removeprefix("input.")
        given[name], words = _FILLED_IN.get(name, (name.upper(), f"{name.upper()}: {name}"))
        told.append(words)
    if (command := _command_of(str(payload["action"]), given)) is not None:
        page.line(("Run:", "bold"))
        page.shell(_placed(command + (f" --data-dir {shlex.quote(call.data_dir)}" if call.data_dir else ""), call))
    page.line(("Or the same as a lifecycle payload:", "bold"))
    options = f" --data-dir {shlex.quote(call.data_dir)}" if call.data_dir else ""
    page.line(_placed(f"phelix-lifecycle{options}", call), " <<'EOF'")
    # ASCII, so that it is exact and harmless at once.
    page.verbatim(shown_block(json.dumps({**payload, "input": given}, indent=2)) + "\nEOF\n")
    for words in told:
        page.line("fill in    ", words, hang=11)


def _command_of(word: str, given: Mapping[str, object]) -> str | None:
    """The command that a payload is; None where it cannot be told."""
    from phelix_core.lifecycle.actions import ACTIONS  # noqa: PLC0415 - most pages suggest nothing
    from phelix_core.lifecycle.performing import read  # noqa: PLC0415 - the same

    action = ACTIONS.get(word)
    if action is None:
        return None
    made, issues = read(action.input, given, ())
    if issues:
        return None
    command = load_command(action.command)
    try:
        return equivalent(command, validate(command, action.raw(made), Surface.CLI))
    except PhelixError:
        return None


def _context(page: Page, answer: Answer, call: Call) -> None:
    del call
    projects = cast("Sequence[Answer]", answer["projects"])
    for workspace in answer["workspaces"]:
        page.line((shown(workspace["name"]), "bold"), shown(f"  {workspace['id']}"))
        for project in projects:
            if project["workspaceId"] == workspace["id"]:
                _project(page, project)
    if not answer["workspaces"]:
        page.line("No workspace yet. `phelix queue init NAME` makes one.")
    elif not projects:
        page.line("No project yet. `phelix queue campaign PROJECT CAMPAIGN` makes one.")


def _project(page: Page, project: Answer) -> None:
    head = (shown(project["name"]), "bold")
    page.line("  ", head, shown(f"  {project['id']}  {project['key']}  {project['statusCounts']['total']:,} issues"))
    page.line("    ", *status_strip(project["statusCounts"]), hang=4)
    for campaign in project["campaigns"]:
        about = f"  {campaign['id']}  {campaign['status']}  {campaign['statusCounts']['total']:,} issues"
        page.line("    ", (shown(campaign["name"]), "bold"), shown(about))
        if campaign.get("objective"):
            page.line("      ", shown(campaign["objective"]), hang=6)
        page.line("      ", *status_strip(campaign["statusCounts"]), hang=6)


def _synced(page: Page, answer: Answer, call: Call) -> None:
    del call
    taken, skipped = answer["linkedMemoryIds"], answer["skipped"]
    page.line((f"The memory took {len(taken):,}", "bold"), f"; {answer['waiting']:,} still wait.")
    for ref in taken:
        page.line("  ", (f"{GLYPHS['done']} ", "done"), shown(ref))
    for one in skipped:
        page.line("  ", (f"{GLYPHS['failed']} ", "failed"), shown(f"{one['checkpointId']}  {one['reason']}"), hang=4)


INSPECTIONS: Final[dict[str, Callable[[Page, Any, Call], None]]] = {
    "queue export": _export,
    "queue audit": _audit,
    "queue health": _health,
    "queue next": _next,
    "queue context": _context,
    "queue memory sync": _synced,
}
