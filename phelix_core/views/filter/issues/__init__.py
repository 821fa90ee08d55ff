"""The filter language for the queue's issues: the grammar of sessions' filters, with a vocabulary of its own.

- A word must occur in the issue's id, task or status, or in its milestone's key, id or description.
- `agent`, `host`, `lease` and `left` are those of the active lease, and missing where nobody holds the issue.
  `left<5m` is less than five minutes of it, or past its end; where the clocks cannot tell, it fits nothing.
- `priority` is the one that was given or the one that holds now; `is:escalated` where policy or age raised it.
- `class` is the workload class that its host must take. `age` counts from when it was planned, `seen` from its
  last change. `deadline<0s` is past its deadline.
- `is:open` is neither done nor failed, `is:waiting` pending behind a closed gate. `is:stale` has a lease that
  reconcile would find wanting: a finding and not a status.
"""

from phelix_core.views.filter.issues.query import IssueQuery, issue_completions, issues_counted, parse_issues
from phelix_core.views.filter.issues.subject import (
    NOWHERE,
    IssueFilterable,
    Place,
    Surroundings,
    campaign_place,
    issue_filterable,
    milestone_place,
    project_place,
)
from phelix_core.views.filter.issues.words import ISSUE_FIELDS

__all__ = [
    "ISSUE_FIELDS",
    "NOWHERE",
    "IssueFilterable",
    "IssueQuery",
    "Place",
    "Surroundings",
    "campaign_place",
    "issue_completions",
    "issue_filterable",
    "issues_counted",
    "milestone_place",
    "parse_issues",
    "project_place",
]
