"""Answers about plans, approvals, operations and applications for people; programs read `--json`."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from phelix_core.arc.approvals import Approval
from phelix_core.arc.standing import ABSENT, PolicyTold
from phelix_core.cli.page import Page
from phelix_core.clock import SystemClock
from phelix_core.commands.arc.answers import OperationList, PlanList, RulingTold, ShownOperation, ShownPlan
from phelix_core.commands.arc.authorizing import ApprovalList, Checked, Revoked
from phelix_core.commands.arc.context import Situation
from phelix_core.commands.arc.endings import Applied
from phelix_core.frozen import members_of
from phelix_core.redaction import redact
from phelix_core.strictjson import plain
from phelix_core.text import SafeStr, visible
from phelix_core.views.moments import long_span, moment, span
from phelix_core.views.shown import shown

_WIDTH: Final = 14


def _field(page: Page, name: str, *parts: SafeStr | str | tuple[SafeStr | str, str]) -> None:
    page.line((f"{name:<{_WIDTH}}", "bold"), *parts, hang=_WIDTH)


def _when(ms: int, now_ms: int) -> str:
    return f"{moment(ms)} ({long_span(now_ms - ms)} ago)"


def _plan(page: Page, plan: ShownPlan) -> None:
    now_ms = SystemClock().now_ms()
    page.line((plan.plan_id, "bold"), " is ", (shown(plan.state), plan.state))
    _field(page, "would", shown(_intent(plan.action.type, plan.action.application, plan.inputs)))
    _execution(page, plan.execution)
    if reason := plan.inputs.get("reason"):
        _field(page, "reason", shown(str(reason)))
    asked = "" if plan.actor is None else f" by {plan.actor.type}"
    _field(page, "asked", shown(f"{_when(plan.created_at_ms, now_ms)}{asked}"))
    _field(page, "hash", shown(plan.plan_hash))
    _preconditions(page, plan)
    approved = plan.approval
    when = "" if approved.approved_at_ms is None else f", given {_when(approved.approved_at_ms, now_ms)}"
    _field(page, "approval", shown(f"{approved.state}{when}"))
    if plan.operation is None:
        _rulings(page, plan.authorization)
    else:
        _field(page, "operation", shown(f"{plan.operation.operation_id} "), (shown(plan.operation.status), ""))
    _next_of(page, plan)


def _preconditions(page: Page, plan: ShownPlan) -> None:
    """What the plan takes for granted, and whether it is so; of one that was executed that matters no more."""
    if plan.operation is not None:
        for fact in plan.preconditions:
            _field(page, "precondition", shown(f"· {fact['type']} {fact['expected']}"))
        return
    failed = {one.type: one for one in plan.applicability.failed_preconditions}
    for fact in plan.preconditions:
        kind, expected = str(fact["type"]), str(fact["expected"])
        wrong = failed.pop(kind, None)
        mark, role = ("✓", "ok") if wrong is None else ("✗", "fail")
        now = "" if wrong is None else f", now {wrong.actual}"
        _field(page, "precondition", (f"{mark} ", role), shown(f"{kind} {expected}{now}"))
    for one in failed.values():
        _field(page, "precondition", ("✗ ", "fail"), shown(f"{one.type} {one.expected}, now {one.actual}"))
    for missing in plan.applicability.missing_capabilities:
        _field(page, "capability", ("✗ ", "fail"), shown(f"{missing}: the application declares no such command"))


def _rulings(page: Page, rulings: Mapping[str, RulingTold]) -> None:
    for kind, ruling in rulings.items():
        role = "ok" if ruling.decision == "allow" else "warn"
        _field(page, f"over {kind}", (shown(ruling.code), role), shown(f"  {ruling.reason}"))


def _next_of(page: Page, plan: ShownPlan) -> None:
    """The command that a person would come to next."""
    if plan.operation is not None:
        page.line("Look at it:")
        page.shell(f"phelix operation status {plan.operation.operation_id} --log-lines 20")
    elif plan.state == "waiting":
        page.line("It waits for an approval:")
        page.shell(f"phelix authz approve {plan.plan_id} --expect-hash {plan.plan_hash}")
    elif plan.state in ("ready", "approved"):
        page.line("It can be executed:")
        page.shell(f"phelix plan apply {plan.plan_id}")


def _intent(action: str, application: str, inputs: Mapping[str, Any]) -> str:
    version = inputs.get("version")
    return f"{action} {application}" + (f" {version}" if version else "")


def _execution(page: Page, execution: Mapping[str, Any]) -> None:
    argv = execution.get("argv")
    if not isinstance(argv, list):
        _field(page, "runs", "nothing that Phelix knows how to run")
        return
    _field(page, "runs", shown(shlex.join(map(str, cast("list[object]", argv)))))
    names = cast("list[object]", execution.get("environment") or [])
    seen = f"; sees {', '.join(map(str, names))}" if names else "; sees nothing of the environment"
    _field(page, "", shown(f"in {execution.get('folder')}, for at most {execution.get('time_limit_seconds')} s{seen}"))


def _plans(page: Page, result: PlanList) -> None:
    now_ms = SystemClock().now_ms()
    rows = [
        (
            (shown(plan.state), plan.state),
            (plan.plan_id, ""),
            (shown(plan.action.type), ""),
            (shown(plan.action.application), ""),
            (shown(str(plan.inputs.get("version") or "")), ""),
            (shown("" if plan.actor is None else plan.actor.type), ""),
            (span(now_ms - plan.created_at_ms), ""),
        )
        for plan in result.plans
    ]
    if rows:
        page.table(("STATE", "PLAN", "ACTION", "APP", "VERSION", "BY", "AGE"), rows, flexible=3)
    else:
        page.line("No plans. `phelix plan create deploy APP --to VERSION` makes one.")
    _rest(page, result.count, truncated=result.truncated)
    _unreadable(page, result.unreadable)


def _rest(page: Page, count: int, *, truncated: bool) -> None:
    if truncated:
        page.line(f"Only the newest {count} are shown; --limit 0 shows all.")


def _unreadable(page: Page, bad: Sequence[Any]) -> None:
    for one in bad:
        page.line(("⚠ unreadable  ", "unread"), shown(f"{one.file}  {one.code}"))


def _applied(page: Page, result: Applied) -> None:
    told = dict(result.result or {})
    before = "was applied before: " if result.already_applied else ""
    page.line((f"{result.action} {result.application}", "bold"), shown(f" {before}"), (result.status, result.status))
    if told.get("version"):
        _field(page, "version", shown(f"{told.get('from_version') or 'none'} → {told['version']}"))
    if verification := told.get("verification"):
        detail = f"  {verification['detail']}" if verification.get("detail") else ""
        _field(page, "health", (shown(verification["status"]), verification["status"]), shown(detail))
    if result.operation_id:
        _field(page, "operation", shown(result.operation_id))
    if result.deployment_id:
        _field(page, "deployment", shown(result.deployment_id))


def _approval(page: Page, approval: Approval) -> None:
    page.line(f"Approved {approval.plan_id}: {shown(approval.action)} ", (shown(approval.target), "bold"))
    _field(page, "approval", approval.approval_id)
    _field(page, "hash", shown(approval.plan_hash))
    page.line("Whoever the policy lets execute it can do so now, once:")
    page.shell(f"phelix plan apply {approval.plan_id}")


def _revoked(page: Page, revoked: Revoked) -> None:
    page.line(f"Revoked the approval of {revoked.plan_id}. What has begun under it goes on.")


def _checked(page: Page, told: Checked) -> None:
    page.line(f"{told.plan_id}: ", (shown(told.code), "ok" if told.allowed else "warn"), shown(f"  {told.reason}"))
    _field(page, "mode", shown(told.mode))
    _field(page, "rule", "no rule decided" if told.rule_index < 0 else f"number {told.rule_index}, counted from 0")
    _field(page, "approval", shown(told.approval.state))
    _rulings(page, told.rulings)
    page.line("Nothing was executed, and nothing logged.")


def _policy(page: Page, policy: PolicyTold) -> None:
    if policy.state == ABSENT:
        _field(page, "policy", "none: the command line may execute, and nobody else")
    elif policy.reason is not None:
        _field(page, "policy", (shown(policy.state), "fail"), shown(f"  {policy.reason}"))
    else:
        _field(page, "policy", shown(f"{policy.state}, {policy.rules} rules"))


def _approvals(page: Page, result: ApprovalList) -> None:
    now_ms = SystemClock().now_ms()
    _policy(page, result.policy)
    rows = [
        (
            (one.plan_id, ""),
            (one.approval_id, ""),
            (shown(one.action), ""),
            (shown(one.target), ""),
            (shown(one.approver_provenance or one.approver_type), ""),
            (span(now_ms - one.approved_at_ms), ""),
        )
        for one in result.approvals
    ]
    if rows:
        page.table(("PLAN", "APPROVAL", "ACTION", "APP", "BY", "AGE"), rows, flexible=3)
    else:
        page.line("No approvals.")
    _rest(page, result.count, truncated=result.truncated)
    _unreadable(page, result.unreadable)
    if result.decisions:
        page.line(("Decisions, the newest first", "bold"))
        decided = [
            (
                (shown(one.decision), "ok" if one.decision == "allow" else "warn"),
                (shown(one.plan_id or ""), ""),
                (shown(one.actor_type), ""),
                (shown(one.code), ""),
                (moment(one.decided_at_ms), ""),
            )
            for one in result.decisions
        ]
        page.table(("DECISION", "PLAN", "BY", "CODE", "AT"), decided, flexible=3)
    if result.unreadable_decisions:
        page.line((f"{result.unreadable_decisions} lines of the log of decisions cannot be read", "warn"))


def _operation(page: Page, told: ShownOperation) -> None:
    now_ms, record = SystemClock().now_ms(), told.operation
    page.line((record.id, "bold"), " is ", (shown(told.status), told.status))
    if told.status == "indeterminate":
        _field(page, "", "its processes are gone and recorded no end: whether it succeeded is not known")
    _field(page, "does", shown(f"{record.kind} {record.app or ''}"))
    if record.plan_id:
        _field(page, "plan", shown(record.plan_id))
    if record.deployment_id:
        _field(page, "deployment", shown(record.deployment_id))
    _field(page, "begun", shown(_when(record.created_at_ms, now_ms)))
    if record.finished_at_ms is not None:
        took = long_span(record.finished_at_ms - record.created_at_ms)
        _field(page, "ended", shown(f"{moment(record.finished_at_ms)}, after {took}"))
    elif record.process is not None and record.process.child is not None:
        _field(page, "process", str(record.process.child.pid))
    result = dict(record.result or {})
    if result.get("version"):
        _field(page, "version", shown(f"{result.get('from_version') or 'none'} → {result['version']}"))
    if isinstance(verification := result.get("verification"), dict):
        seen = cast("dict[str, Any]", verification)
        _field(page, "health", (shown(str(seen.get("status"))), str(seen.get("status"))))
    if record.error is not None:
        _field(page, "error", (shown(record.error.code), "fail"), shown(f"  {record.error.message}"))
    _log(page, told.log or ())


def _log(page: Page, lines: Sequence[str]) -> None:
    """Lines of a log, looked through as one text first: some secrets take several."""
    for line in redact("\n".join(lines)).split("\n") if lines else ():
        page.line("  ", visible(line))


def _operations(page: Page, result: OperationList) -> None:
    draw_operations(page, result.operations)
    _rest(page, result.count, truncated=result.truncated)
    _unreadable(page, result.unreadable)


def draw_operations(page: Page, operations: Sequence[ShownOperation]) -> None:
    """A table of operations."""
    now_ms = SystemClock().now_ms()
    rows = [
        (
            (shown(one.status), one.status),
            (one.operation.id, ""),
            (shown(one.operation.kind), ""),
            (shown(one.operation.app or ""), ""),
            (shown(str((one.operation.result or {}).get("version") or "")), ""),
            (span(now_ms - one.operation.created_at_ms), ""),
        )
        for one in operations
    ]
    if rows:
        page.table(("STATUS", "OPERATION", "ACTION", "APP", "VERSION", "AGE"), rows, flexible=3)
    else:
        page.line("No operations.")


def _told(page: Page, result: object) -> None:
    """An answer as it is, member for member, a table where its items are alike."""
    _members(page, cast("dict[str, Any]", plain(result)), "")


def _situation(page: Page, result: Situation) -> None:
    """All topics, each under its name."""
    for name, _ in members_of(Situation):
        topic: object = getattr(result, name)
        if topic is None or isinstance(topic, bool):
            continue
        page.line((name.upper(), "bold"))
        draw: Callable[[Page, Any], None] = ARC_PAGES.get(topic.__class__, _told)
        draw(page, topic)
        page.line("")


def _members(page: Page, members: Mapping[str, Any], indent: str) -> None:
    for name, value in members.items():
        _member(page, name, value, indent)


def _member(page: Page, name: str, value: object, indent: str) -> None:
    told = name.removesuffix("_at_ms").removesuffix("_seconds").replace("_", " ")
    label = (f"{indent}{told:<{_WIDTH}}", "bold")
    items = cast("list[Any]", value) if isinstance(value, list) else []
    if isinstance(value, Mapping):
        page.line(label)
        _members(page, cast("Mapping[str, Any]", value), f"{indent}  ")
    elif items and isinstance(items[0], Mapping):
        page.line(label)
        _rows(page, cast("list[Mapping[str, object]]", items))
    elif items and name == "command":
        page.line(label, " ", shown(shlex.join(items)), hang=_WIDTH + 1)
    elif items and name == "lines":
        page.line(label)
        _log(page, items)
    else:
        unit = " s" if name.endswith("_seconds") else ""
        page.line(label, " ", _moment_or(name, cast("object", value)), unit, hang=_WIDTH + 1)


def _rows(page: Page, rows: Sequence[Mapping[str, object]]) -> None:
    """Items that are alike as a table; what only some have is told too."""
    if "schema_version" in rows[0]:  # records: those that have a table of their own come with one
        for row in rows:
            page.line("  ", shown(", ".join(f"{key} {_word(one)}" for key, one in row.items())), hang=4)
        return
    titles = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[(shown(_word(row.get(title))), "") for title in titles] for row in rows]
    page.table([title.replace("_", " ").upper() for title in titles], cells, flexible=len(titles) - 1)


def _moment_or(name: str, value: object) -> SafeStr:
    if name.endswith("_at_ms") and isinstance(value, int):
        return moment(value)
    return shown(_word(value))


def _word(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, cast("list[object]", value))) or "none"
    return str(value)


ARC_PAGES: Final[dict[type, Callable[[Page, Any], None]]] = {
    ShownPlan: _plan,
    PlanList: _plans,
    Applied: _applied,
    Approval: _approval,
    Revoked: _revoked,
    Checked: _checked,
    ApprovalList: _approvals,
    ShownOperation: _operation,
    OperationList: _operations,
    Situation: _situation,
}


def print_arc(page: Page, result: object) -> None:
    """Print what a command about plans, operations or applications answered."""
    draw: Callable[[Page, Any], None] = ARC_PAGES.get(type(result), _told)
    draw(page, result)
