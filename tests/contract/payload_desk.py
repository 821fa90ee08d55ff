"""Payloads carried out in process, on a queue whose clock stands still."""

from collections.abc import Sequence
from typing import Any, Final

from phelix_core.commands.environment import Environment
from phelix_core.lifecycle.performing import perform
from tests.contract.lifecycle import VERSION
from tests.contract.payload_table import text_of
from tests.core.queue.desk import Desk

BEGIN: Final[dict[str, Any]] = {
    "workspaceId": "lab",
    "projectId": "Acme",
    "host": "host-1",
    "hostCapabilities": {"workloadClasses": ["code"], "capabilities": ["net"]},
    "artifacts": [{"kind": "branch", "path": "work/a"}],
    "mem0Enabled": False,
}
REPORT: Final[dict[str, Any]] = {
    "title": "a title",
    "summary": "so far",
    "nextStep": "go on",
    "artifactIds": ["commit:abc"],
}


class PayloadDesk:
    """A desk that is worked at with payloads; `env` may be another process's, so to speak."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.env: Environment = desk.env

    def tell(self, action: str, held: Any = None, /, **given: Any) -> Any:
        """The whole answer, or the refusal."""
        payload = {"contractVersion": VERSION, "action": action, "input": given}
        told = perform(text_of(payload | ({} if held is None else {"context": held})), lambda _: self.env)
        return told.document

    def do(self, action: str, held: Any = None, /, **given: Any) -> Any:
        """What an action answers that must succeed."""
        told = self.tell(action, held, **given)
        assert list(told) in (["action", "result"], ["action", "context"]), told
        return told.get("result") or told["context"]

    def no(self, action: str, held: Any = None, /, **given: Any) -> Any:
        """The refusal of an action, which changed no row at all."""
        before = self.desk.content()
        told = self.tell(action, held, **given)
        assert "error" in told, told
        assert self.desk.content() == before, told
        return told

    # The calls that come again and again

    def begin(self, task: str | None = None, agent: str = "ann", **more: Any) -> Any:
        chosen = {} if task is None else {"preferredIssueId": self.desk.ids[task]}
        return self.do("begin_incremental", **{**BEGIN, "agentId": agent, **chosen, **more})

    def unbegun(self, agent: str = "bob", **more: Any) -> Any:
        """The refusal of a begin; what it found stale may have been recorded."""
        told = self.tell("begin_incremental", **{**BEGIN, "agentId": agent, **more})
        assert "error" in told, told
        return told

    def recover(self, agent: str = "eve", **more: Any) -> Any:
        given = {**BEGIN, "agentId": agent, "recoverySummary": "it was left alone", **more}
        return self.do("begin_recovery", **given)

    def say(self, held: Any, status: str = "in_progress", action: str = "checkpoint", **more: Any) -> Any:
        return self.do(action, held, **{**REPORT, "taskStatus": status, **more})

    def close(self, held: Any, status: str = "done", **more: Any) -> Any:
        return self.say(held, status, "close", **more)

    def audit(self, task: str) -> Any:
        """All that was recorded of an issue."""
        return self.do("inspect_audit", issueId=self.desk.ids[task], eventLimit=100)

    def health(self) -> Any:
        return self.do("inspect_health_snapshot", projectId="Acme")

    def points(self, task: str) -> Sequence[tuple[str, str]]:
        """Titles and statuses of an issue's checkpoints, oldest first."""
        found = self.audit(task)["evidence"]["checkpoints"]
        return [(one["title"], one["taskStatus"]) for one in reversed(found)]

    def blockers(self, told: Any) -> list[tuple[str, str]]:
        """What a refusal says must be recovered: tasks and reasons."""
        tasks = {issue: task for task, issue in self.desk.ids.items()}
        assert told["code"] == "RECOVERY_REQUIRED", told
        return [(tasks[one["issueId"]], one["reason"]) for one in told["details"]["blockers"]]
