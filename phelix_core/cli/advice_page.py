"""`queue next` for people: what could be done, why, and the very call for it, for a shell and as a lifecycle payload.

What the caller adds is stood for by words in capitals, each told. The payload is ASCII, so that it is exact and
harmless at once.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from phelix_core.checks import Surface
from phelix_core.cli.options import Call
from phelix_core.cli.page import Page
from phelix_core.cli.queue_cells import Answer, again, field, gate, lease_lines, placed, status
from phelix_core.commands.registry import equivalent, load_command, validate
from phelix_core.errors import PhelixError
from phelix_core.views.shown import shown, shown_block


def print_advice(page: Page, answer: Answer, call: Call) -> None:
    """Print the advice, what it is about, and the call."""
    context = answer["context"]
    stage = f" ({context['stage']})" if "stage" in context else ""
    page.line((shown(answer["reason"]), "bold"), shown(stage))
    if "issue" in context:
        issue = context["issue"]
        about = shown(f"  {issue['id']}  {context.get('priority', issue['priority'])}  {issue['task']}")
        field(page, "issue", status(issue["status"]), about)
    if "lease" in context:
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
        page.shell(again(call, project=context["projects"][0]["id"]))


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
        page.shell(placed(command, call))
    for words in told:
        field(page, "  fill in", words)
    page.line(("Or as a lifecycle payload:", "bold"))
    page.shell(f"{placed('phelix-lifecycle', call)} <<'EOF'")
    page.verbatim(f"{shown_block(json.dumps({**payload, 'input': given}, indent=2))}\nEOF\n")


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
