"""What a lifecycle database of version 5 holds: its tables, what is read of them, and why the rest is not. Pure."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from phelix_core.frozen import frozen

VERSION: Final = 5

Cell = str | bytes | None
"""A value as it was read; what is no text comes as bytes, and no reader takes it."""

_NO_CELLS: Final[Mapping[str, int]] = MappingProxyType({})

COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "workspaces": ("id", "name", "kind", "created_at", "updated_at"),
    "projects": ("id", "workspace_id", "key", "name", "domain", "status", "created_at", "updated_at"),
    "campaigns": (
        *("id", "project_id", "name", "objective", "status", "scope_json", "policy_json", "created_at", "updated_at"),
    ),
    "milestones": (
        *("id", "project_id", "description", "priority", "status", "depends_on", "deadline_at"),
        *("recipients_json", "approvals_json", "external_refs_json", "blocked_reason"),
    ),
    "issues": (
        *("id", "project_id", "campaign_id", "milestone_id", "task", "priority", "status", "size", "depends_on"),
        *("deadline_at", "recipients_json", "approvals_json", "external_refs_json", "policy_json"),
        *("next_best_action", "blocked_reason", "created_at"),
    ),
    "runs": (
        *("id", "workspace_id", "project_id", "campaign_id", "session_type", "host", "status"),
        *("started_at", "finished_at", "notes"),
    ),
    "leases": (
        *("id", "workspace_id", "project_id", "campaign_id", "issue_id", "agent_id", "status"),
        *("acquired_at", "expires_at", "last_heartbeat_at", "released_at"),
    ),
    "artifacts": (
        *("id", "workspace_id", "project_id", "campaign_id", "issue_id", "kind", "path", "metadata_json"),
        "created_at",
    ),
    "checkpoints": (
        *("id", "run_id", "issue_id", "title", "summary", "task_status", "next_step", "artifact_ids_json"),
        "created_at",
    ),
    "events": ("id", "run_id", "issue_id", "kind", "payload", "created_at"),
    "memory_links": (
        *("id", "workspace_id", "project_id", "campaign_id", "issue_id", "memory_kind", "memory_ref", "summary"),
        "created_at",
    ),
}
"""Tables in the order in which they are taken: what a row hangs on comes first."""

NOT_TAKEN: Final[Mapping[str, str]] = {
    "active_sessions": "tokens of running processes; a claim by the same agent goes on under its lease",
    "sync_state": "state of another tool's synchronisation",
    "scheduler_injections": "notes of another tool's scheduler",
}
"""Why tables of that tool are left where they are."""
UNKNOWN_TABLE: Final = "no table of a lifecycle database of version 5"
UNKNOWN_COLUMN: Final = "no column of version 5"
DERIVED: Final = "priority, status and blocked_reason: here they are derived from the milestone's issues"


@frozen
class Source:
    """What was read: rows by table, and how many rows each other table (or `table.column`) has."""

    rows: Mapping[str, Sequence[Mapping[str, Cell]]]
    others: Mapping[str, int] = _NO_CELLS

    def ids(self, table: str) -> list[str]:
        """The ids of a table's rows."""
        return [own for row in self.rows[table] if isinstance(own := row["id"], str)]
