"""What a filter looks at of an issue: its row, the lease that holds it, and what it stands in.

An `IssueFilterable` is built once for each change of an issue or its lease. It shares the rows; only `haystack`
is new, and what many issues stand in is made ready once, as a `Place`.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache
from operator import attrgetter
from typing import Final, NamedTuple

from phelix_core.queue.model import PRIORITIES, Campaign, Issue, Lease, Milestone, Project
from phelix_core.queue.routing import route_from
from phelix_core.views.filter.subject import as_lines


class Place(NamedTuple):
    """The texts by which people know a milestone, campaign or project; and as lines, as they are and folded."""

    texts: tuple[str, ...] = ()
    lines: str = ""
    folded: str = ""


NOWHERE: Final = Place()


class IssueFilterable(NamedTuple):
    """One issue as filters see it; `lease` is the active one, if anybody holds it."""

    id: str
    haystack: str
    issue: Issue
    lease: Lease | None
    milestone: Place
    campaign: Place
    project: Place


def milestone_place(milestone: Milestone) -> Place:
    """A milestone, by its key, id or description."""
    return _place(milestone.key, milestone.id, milestone.description)


def campaign_place(campaign: Campaign) -> Place:
    """A campaign, by its id or name."""
    return _place(campaign.id, campaign.name)


def project_place(project: Project) -> Place:
    """A project, by its id, key or name."""
    return _place(project.id, project.key, project.name)


def _place(*texts: str) -> Place:
    """A line break in a text would make two of it: it counts as a space here."""
    kept = tuple(dict.fromkeys(text.replace("\n", " ") for text in texts if text))
    lines = as_lines(kept)
    return Place(kept, lines, lines.casefold())


def issue_filterable(
    issue: Issue,
    lease: Lease | None = None,
    milestone: Place = NOWHERE,
    campaign: Place = NOWHERE,
    project: Place = NOWHERE,
) -> IssueFilterable:
    """What filters see of an issue; costs a microsecond."""
    haystack = f"{issue.id}\n{issue.task}\n{issue.status}".casefold()
    return IssueFilterable(issue.id, haystack, issue, lease, milestone, campaign, project)


class Surroundings:
    """What the issues of a scope stand in, and who holds them: from rows, made ready once for all issues."""

    def __init__(
        self,
        projects: Iterable[Project] = (),
        campaigns: Iterable[Campaign] = (),
        milestones: Iterable[Milestone] = (),
        leases: Iterable[Lease] = (),
    ) -> None:
        self._projects = {one.id: project_place(one) for one in projects}
        self._campaigns: dict[str | None, Place] = {one.id: campaign_place(one) for one in campaigns}
        self._milestones: dict[str | None, Place] = {one.id: milestone_place(one) for one in milestones}
        self._leases = {one.issue_id: one for one in leases}

    def filterable(self, issue: Issue) -> IssueFilterable:
        """What filters see of an issue in here; what is not known here counts as missing."""
        return issue_filterable(
            issue,
            self._leases.get(issue.id),
            self._milestones.get(issue.milestone_id, NOWHERE),
            self._campaigns.get(issue.campaign_id, NOWHERE),
            self._projects.get(issue.project_id, NOWHERE),
        )


@lru_cache(maxsize=256)
def _class_of(route: str) -> str:
    return route_from(route).workload_class or ""


def _priority(row: IssueFilterable) -> str:
    issue = row.issue
    return as_lines(dict.fromkeys((PRIORITIES[issue.rank], issue.priority)))


def _held(get: Callable[[Lease], str]) -> Callable[[IssueFilterable], str]:
    return lambda row: "" if row.lease is None else get(row.lease)


TEXTS: Final[dict[str, Callable[[IssueFilterable], str]]] = {
    "status": attrgetter("issue.status"),
    "task": attrgetter("issue.task"),
    "id": attrgetter("id"),
    "milestone": lambda row: row.milestone.lines,
    "campaign": lambda row: row.campaign.lines,
    "project": lambda row: row.project.lines,
    "agent": _held(attrgetter("agent_id")),
    "host": _held(attrgetter("host")),
    "lease": _held(attrgetter("id")),
    "priority": _priority,
    "size": attrgetter("issue.size"),
    "class": lambda row: _class_of(row.issue.route),
    "next": lambda row: row.issue.next_best_action or "",
    "reason": lambda row: row.issue.blocked_reason or "",
}
"""Each text field as written; one of several texts is `as_lines`; what is missing is empty."""

NUMBERS: Final[dict[str, Callable[[IssueFilterable], int | None]]] = {
    "epoch": attrgetter("issue.lease_epoch"),
    "recoveries": attrgetter("issue.recoveries"),
    "age": attrgetter("issue.created_at"),
    "created": attrgetter("issue.created_at"),
    "seen": attrgetter("issue.updated_at"),
    "updated": attrgetter("issue.updated_at"),
    "deadline": attrgetter("issue.deadline_at"),
}
"""Each field that is compared as a number, but what is left of a lease, which moves; a missing one is None."""

HAS: Final[dict[str, Callable[[IssueFilterable], bool]]] = {
    "lease": lambda row: row.lease is not None,
    "deadline": lambda row: row.issue.deadline_at is not None,
    "milestone": lambda row: row.issue.milestone_id is not None,
    "policy": lambda row: row.issue.policy not in ("", "{}"),
    "next": lambda row: bool(row.issue.next_best_action),
    "reason": lambda row: bool(row.issue.blocked_reason),
}
"""What an issue may have."""
