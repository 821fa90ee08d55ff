"""Fields that several queue commands share."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, cast

from phelix_core.checks import (
    BY_PLACE,
    Alias,
    Check,
    CheckFailed,
    Contents,
    Help,
    Only,
    Surface,
    at_least,
    capped,
    one_of,
)
from phelix_core.commands.environment import Environment
from phelix_core.errors import InvalidArgument, LeaseLost
from phelix_core.queue.model import (
    JSON_CAP,
    LINE_CAP,
    LONGEST_S,
    MEMORY_KINDS,
    MOST_ARTIFACTS,
    MOST_CAPABILITIES,
    REASON_CAP,
    SUMMARY_CAP,
    TITLE_CAP,
    WORD_CAP,
)
from phelix_core.queue.verbs.progress import Holding
from phelix_core.redaction import free_text, redact
from phelix_core.strictjson import JsonRefused, loads

_CONTEXT_CAP: Final = 1 << 20


def _not_empty(value: str) -> str:
    if not value.strip():
        raise CheckFailed("expected text")
    return value


def _no_secret(value: str) -> str:
    if redact(value) != value:
        raise CheckFailed("it looks like a secret; take another id")
    return value


NOT_EMPTY: Final = Check(_not_empty, {"minLength": 1})
NO_SECRET: Final = Check(_no_secret)
"""For an id that must be kept as it is: hidden, two of them would be one."""

IssueId = Annotated[str, BY_PLACE, free_text(WORD_CAP), NOT_EMPTY, Help("Issue to work on")]
MaybeIssueId = Annotated[
    str | None, BY_PLACE, free_text(WORD_CAP), NOT_EMPTY, Help("Issue to take; the best one without")
]
CampaignId = Annotated[str, BY_PLACE, free_text(WORD_CAP), NOT_EMPTY, Help("Campaign, by its id or name")]
ProjectWord = Annotated[
    str | None,
    free_text(WORD_CAP),
    NOT_EMPTY,
    Help("Project, by its id, key or name; may be left out where there is one"),
]
CampaignWord = Annotated[str | None, free_text(WORD_CAP), NOT_EMPTY, Help("Only this campaign, by its id or name")]
Reason = Annotated[str, free_text(REASON_CAP), NOT_EMPTY, Help("Why; it is recorded")]
RequestId = Annotated[
    str | None, capped(WORD_CAP), NOT_EMPTY, NO_SECRET, Help("A retry under the same id gets the first answer")
]
IfEpoch = Annotated[
    int | None,
    at_least(0),
    Only(Surface.CLI, Surface.TUI),
    Help("Only while the issue is at this lease epoch"),
]
LeaseId = Annotated[str | None, free_text(WORD_CAP), NOT_EMPTY, Help("The lease that is held")]
ContextFile = Annotated[
    str | None, capped(_CONTEXT_CAP), Contents(_CONTEXT_CAP), Help("What the claim answered, instead of --lease")
]
Seconds = Annotated[int | None, at_least(1, LONGEST_S)]
Evidence = Annotated[
    tuple[Annotated[str, free_text(LINE_CAP), NOT_EMPTY], ...], Help("What backs it: an id, a path, a link; repeatable")
]
Summary = Annotated[str, free_text(SUMMARY_CAP), NOT_EMPTY, Help("What happened")]
NextStep = Annotated[str, free_text(LINE_CAP), NOT_EMPTY, Alias("next"), Help("What comes next")]
Title = Annotated[str | None, free_text(TITLE_CAP), NOT_EMPTY, Help("A title for the checkpoint")]
BlockReason = Annotated[str | None, free_text(REASON_CAP), NOT_EMPTY, Help("Why it is blocked")]
Agent = Annotated[
    str | None,
    free_text(WORD_CAP),
    NOT_EMPTY,
    Help("Who works; the same agent resumes its own lease. Else the session's id"),
]
HostName = Annotated[str, free_text(WORD_CAP), NOT_EMPTY, Help("The host that the work runs on")]
Classes = Annotated[
    tuple[Annotated[str, free_text(WORD_CAP), NOT_EMPTY], ...],
    Alias("workload_class"),
    Help("A class of work that the host takes; repeatable"),
]
Capabilities = Annotated[
    tuple[Annotated[str, free_text(WORD_CAP), NOT_EMPTY], ...],
    Alias("capability"),
    Help("Something the host can do; repeatable"),
]
Session = Annotated[
    str | None, free_text(WORD_CAP), NOT_EMPTY, Help("The run's own session id; without one a session record is made")
]
_ARTIFACT = re.compile(r"[^=]{1,128}=.+", re.DOTALL)


def _artifact(value: str) -> str:
    if _ARTIFACT.fullmatch(value) is None:
        raise CheckFailed("expected KIND=PATH")
    return value


Artifacts = Annotated[
    tuple[Annotated[str, free_text(WORD_CAP + 1 + LINE_CAP), Check(_artifact)], ...],
    Alias("artifact"),
    Help("What the work is on, as KIND=PATH; repeatable"),
]
Workspace = Annotated[
    str | None, free_text(WORD_CAP), NOT_EMPTY, Help("Workspace that the project must belong to, by its id or name")
]
Memory = Annotated[bool, Help("Ask the memory what it knows, and let reports be remembered")]
MemoryQuery = Annotated[str | None, free_text(LINE_CAP), NOT_EMPTY, Help("What to recall; the task without")]
MemoryLimit = Annotated[int | None, at_least(1, 25), Help("At most so many memories (5)")]
Remember = Annotated[bool | None, Help("Remember this report, whatever its status")]
MemoryKind = Annotated[str | None, one_of(*MEMORY_KINDS), Help("What kind of memory it makes")]
MemoryContent = Annotated[str | None, free_text(SUMMARY_CAP), NOT_EMPTY, Help("What to remember; the summary without")]
Metadata = Annotated[str | None, capped(JSON_CAP), Help("A JSON object of texts, kept beside the memory")]
Scorecards = Annotated[
    str | None,
    capped(_CONTEXT_CAP),
    Contents(_CONTEXT_CAP),
    Help("Scorecards as JSON, [{path, scorecard}]; they are kept as artifacts and count as evidence"),
]
RunWord = Annotated[
    str | None, free_text(WORD_CAP), NOT_EMPTY, Help("The run that holds the lease, instead of naming the lease")
]
HolderPid = Annotated[
    int | None, at_least(1, 2**22), Help("The process that holds the lease, to be shown when it is gone")
]
Limit = Annotated[int | None, at_least(0, 1_000_000), Help("At most so many; 0 means all")]


_MOST: Final = {
    "artifacts": MOST_ARTIFACTS,
    "evidence": MOST_ARTIFACTS,
    "capabilities": MOST_CAPABILITIES,
    "workload_classes": MOST_CAPABILITIES,
}


def require_few(request: Any) -> None:
    """Refuse lists over their caps."""
    for name, most in _MOST.items():
        number = len(getattr(request, name, ()))
        if number > most:
            told = f"{number} are given, at most {most} are taken"
            raise InvalidArgument(f"{name}: {told}.", details={"fields": {name: told}})


def artifacts_of(request: Any) -> tuple[tuple[str, str], ...]:
    """Kind and path of each artifact that was named."""
    return tuple((kind, path) for kind, _, path in (item.partition("=") for item in request.artifacts))


def holding_of(request: Any, env: Environment) -> Holding:
    """The lease that a holder names, that of the run that it names, or that of the context that it hands back."""
    if [request.lease, request.context, request.run].count(None) != 2:  # noqa: PLR2004 - all but one
        raise InvalidArgument("lease: name the lease, or its run, or hand back the claim's answer as --context.")
    path = env.queue.path
    if request.lease is not None:
        return Holding(lease_id=request.lease, path=path)
    if request.run is not None:
        run = env.queue.read(lambda tx: tx.run(request.run))
        if run is None or run.lease_id is None:
            raise LeaseLost("There is no such run with a lease.", details={"ended": None})
        return Holding(lease_id=run.lease_id, run_id=run.id, path=path)
    members = _context(request.context)
    words = {name: _word(members, name) for name in ("leaseId", "issueId", "runId", "agentId")}
    epoch = members.get("leaseEpoch")
    if epoch is not None and type(epoch) is not int:
        raise InvalidArgument("context: leaseEpoch is not a whole number.")
    if words["leaseId"] is None:
        raise InvalidArgument("context: it names no leaseId.", hint="Hand back what the claim answered, as it was.")
    return Holding(
        lease_id=words["leaseId"],
        issue_id=words["issueId"],
        run_id=words["runId"],
        agent_id=words["agentId"],
        epoch=epoch,
        path=path,
    )


def _context(text: str) -> Mapping[str, object]:
    """The context in an envelope, in a lifecycle answer, or by itself."""
    try:
        value = loads(text.encode())
    except JsonRefused as refused:
        raise InvalidArgument(f"context: {refused}.") from None
    for member in ("result", "context"):
        if isinstance(value, dict) and member in value:
            value = cast("dict[str, object]", value)[member]
    if not isinstance(value, dict):
        raise InvalidArgument("context: expected a JSON object.", hint="Hand back what the claim answered, as it was.")
    return cast("dict[str, object]", value)


def _word(members: Mapping[str, object], name: str) -> str | None:
    value = members.get(name)
    if value is not None and (not isinstance(value, str) or not value or len(value) > WORD_CAP):
        raise InvalidArgument(f"context: {name} is not an id.")
    return None if value is None else redact(value)


def json_of(text: str | None, where: str) -> object:
    """A JSON object handed in as text; nothing reads as an empty one."""
    if text is None:
        return {}
    try:
        return loads(text.encode())
    except JsonRefused as refused:
        raise InvalidArgument(f"{where}: {refused}.") from None
