"""Answers of the queue's inspections for people: export, audit, health, next, context, and what went to the memory.

A page says what the answer holds, the most pressing first, and where there is more the very command for it. Programs
read `--json`.
"""

from collections.abc import Callable, Sequence
from itertools import groupby
from math import ceil
from typing import Any, Final, cast

from phelix_core.cli.advice_page import print_advice
from phelix_core.cli.options import Call
from phelix_core.cli.page import Page
from phelix_core.cli.queue_cells import (
    Answer,
    again,
    age_chart,
    field,
    gate,
    joined,
    lease_lines,
    many,
    status,
    status_bars,
    status_strip,
)
from phelix_core.text import SafeStr
from phelix_core.views.moments import moment, time_of_day, to_the_minute
from phelix_core.views.queue.glyphs import GLYPHS
from phelix_core.views.queue.timeline import Entry, audited, ms_of, timeline_of
from phelix_core.views.shown import shown

_SHOWN: Final = 10
_ENTRY: Final = 25
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
    _milestones(page, queue["blockedMilestones"], "blocked milestone")
    leases = answer["leases"]
    page.line((many(leases["activeCount"], "lease"), "bold"), f", {leases['staleCount']:,} stale")
    lease_lines(page, leases["active"], leases["staleReasons"])
    _unseen_leases(page, leases, {str(one["id"]) for one in leases["active"]})
    policy = answer["policy"]
    _policy(page, policy, len(policy["escalatedIssues"]), len(policy["breachedIssues"]))
    for issue in policy["breachedIssues"]:
        _breaches(page, issue)
    _runs(page, answer["runs"])
    events = timeline_of({"events": answer["audit"]["recentEvents"]})
    page.line((many(answer["audit"]["recentEventCount"], "newest event"), "bold"))
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


def _milestones(page: Page, milestones: Sequence[Answer], name: str = "milestone") -> None:
    if milestones:
        page.line((many(len(milestones), name), "bold"))
    for milestone in milestones:
        _milestone(page, milestone)


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
        (f"{many(policy['trackedIssues'], 'issue')} under a policy or a deadline", "bold"),
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
    page.line((many(runs["recentCount"], "newest run"), "bold"))
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
    page.shell(again(call, cursor=cursor))


def _audit(page: Page, answer: Answer, call: Call) -> None:
    issue, summary, evidence = answer["issue"], answer["summary"], answer["evidence"]
    page.line(status(issue["status"]), "  ", shown(issue["id"]), "  ", (shown(issue["task"]), "bold"), hang=2)
    most = summary.get("countedUpTo")
    page.line(
        ", ".join(
            many(summary[key], word, capped=summary[key] == most)
            for key, word in (
                ("eventCount", "event"),
                ("checkpointCount", "checkpoint"),
                ("leaseCount", "lease"),
                ("memoryLinkCount", "memory"),
            )
            if summary[key]
        )
    )
    _entries(page, audited(answer), tells_issue=False)
    active = [lease for lease in evidence["leases"] if lease["status"] == "active"]
    if active:
        page.line(("held by", "bold"))
        lease_lines(page, active, {})
    for artifact in evidence["artifacts"]:
        field(
            page, "artifact", shown(f"{artifact['id']}  {artifact['kind']} {artifact['path']} ({artifact['status']})")
        )
    if (cursor := answer.get("nextCursor")) is None:
        return
    told = "Older events follow; the next page:"
    if not call.raw.get("cursor"):
        size, older = len(evidence["events"]), summary["eventCount"] - len(evidence["events"])
        counted = many(older, "older event", capped=summary["eventCount"] == most)
        told = f"{counted}, {many(ceil(older / size), 'more page')}; the next:"
    page.line((told, "bold"))
    page.shell(again(call, cursor=cursor))


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
    page.line((many(leases["activeCount"], "lease"), "bold"), f", {leases['staleCount']:,} stale")
    if leases["activeCount"]:
        age_chart(page, leases["ages"])
    _unseen_leases(page, leases, set())
    _blockers(page, answer["claimsBlockedBy"])
    policy = answer["policy"]
    if policy["trackedIssues"]:
        _policy(page, policy, policy["escalatedIssueCount"], policy["breachedIssueCount"])
    for alert in answer["alerts"]:
        if alert["kind"] == "policy_breaches":
            page.line("  ", ("in breach: ", "stale"), shown(joined(alert["refIds"], _SHOWN)), hang=13)
    _milestones(page, answer["milestones"])
    _last(page, answer)


def _blockers(page: Page, blockers: Sequence[Answer]) -> None:
    if blockers:
        page.line((f"claims are blocked by {len(blockers):,}", "needs_recovery"))
    for one in blockers:
        about = f"  {one['issueId']}  {one['reason']}: {one['summary']}  next: {one['nextStep']}"
        page.line("  ", status("needs_recovery"), shown(about), hang=20)


def _last(page: Page, answer: Answer) -> None:
    audit = answer["audit"]
    if audit["failedRunCount"]:
        page.line((f"{many(audit['failedRunCount'], 'run')} failed", "failed"))
    for name, at in (("checkpoint", answer["checkpoints"]["lastCheckpointAt"]), ("event", audit["lastEventAt"])):
        if at is not None:
            page.line(f"last {name:<11}{moment(ms_of(at))}")


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
    "queue next": print_advice,
    "queue context": _context,
    "queue memory sync": _synced,
}
