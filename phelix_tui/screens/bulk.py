"""One action on many marked sessions or issues: all listed, what is hidden named, the number typed, an end for each.

Ids and revisions are those on the screen when the action was asked for. Each is asked for by itself, one after the
other, with its own revision and digest: what moved on, or cannot be changed, is told and holds up nothing else. Escape
stops behind the one that is being written. Source: console page, section 6; public report derailed/k9s 3939.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import ClassVar, Final, cast

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.events import Key
from textual.widgets import Button, Input

from phelix_core.commands.preview import WritePlan
from phelix_core.commands.registry import load_command
from phelix_core.envelope import Envelope
from phelix_core.frozen import frozen_in_order
from phelix_core.strictjson import plain
from phelix_core.text import SafeStr, visible
from phelix_core.views.confirmation import Confirmation, confirmation
from phelix_core.views.shown import shown
from phelix_tui.actions import Action, why_not
from phelix_tui.activity import CONFLICT, DONE, FAILED, REFUSED, UNKNOWN, Deed
from phelix_tui.bulk_actions import BulkTarget, One
from phelix_tui.desk import Desk
from phelix_tui.form import Proof
from phelix_tui.screens.confirm import CommandForm, Proposal
from phelix_tui.screens.dialog import Dialog
from phelix_tui.screens.drawing import failure_words, heading, plan_lines
from phelix_tui.widgets.pages import Bar, TextPage, cell
from phelix_tui.widgets.rowlist import Cell
from phelix_tui.wrapping import TextLine, line

_ENDS: Final = {
    CONFLICT: ("▲", "conflicted", "warning"),
    REFUSED: ("✗", "refused", "error"),
    FAILED: ("✗", "failed", "error"),
    UNKNOWN: ("?", "unknown", "error"),
    DONE: ("✓", "applied", "ok"),
}
"""How each end looks; what needs a look comes first."""
_UNTRIED: Final = "untried"


@frozen_in_order
class End:
    """What came of one target: one of `_ENDS` or untried, and what is told of it."""

    target: One
    came: str
    told: SafeStr


class BulkForm(CommandForm):
    """The form of an action, with every session that it is for."""

    def _plan_lines(self, plan: WritePlan, told: Confirmation) -> list[TextLine]:  # noqa: ARG002 - the hook
        target = cast("BulkTarget", self.target)
        caution = load_command(self.action.command).caution
        return [
            line(cell("In ", "muted"), Cell(self.desk.place)),
            *_hidden_warning(target),
            *target_lines(target, self.action),
            line(),
            line(cell("Each gets its own confirmed change; the first of them, as an example:", "muted")),
            *plan_lines(told, caution),
        ]

    def records_changed(self, changes: Collection[str] | None) -> None:
        """Look again where one of them has changed."""
        if self.is_mounted and _concerns(cast("BulkTarget", self.target), changes):
            self.tell_guard()


class BulkConfirm(Dialog[Sequence[End]]):
    """Every write listed, Cancel in focus, the number to type; then what came of each. Answers the ends, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "copy_commands", "Copy the commands", id="bulk.copy"),
    ]

    def __init__(self, desk: Desk, proposal: Proposal) -> None:
        super().__init__()
        self.desk = desk
        self.action = proposal.action
        self.target = cast("BulkTarget", proposal.target)
        self._values = proposal.values
        self._plans: dict[str, WritePlan | Envelope] = {}
        self._ends: list[End] = []
        self._state = "looking"
        self._stopped = False

    def compose(self) -> ComposeResult:
        """Title, plan, guard, proof, buttons; Cancel first."""
        with Vertical(classes="dialog proposal"):
            yield Bar(id="proposal-title", classes="dialog-title")
            yield TextPage(id="plan")
            yield Bar(id="guard")
            yield Proof("0123456789")
            with Horizontal(classes="buttons"):
                yield Button("Cancel", id="cancel", compact=True)
                yield Button(self.action.verb, id="apply", variant="warning", compact=True, disabled=True)

    def on_mount(self) -> None:
        """Cancel has the focus."""
        named = [cell(f" {self.action.verb} ", "bold"), cell(self.target.named)]
        self.query_one("#proposal-title", Bar).show(named, [cell(f" {self.target.standing} ", "bold warning")])
        asked = [cell(" Type "), cell(self._proof(), "bold accent"), cell(" to go on:")]
        self.query_one(Proof).ask(asked)
        self.query_one("#cancel", Button).focus()
        self._look()

    # What it says

    @work(exclusive=True, group="plan", exit_on_error=False)
    async def _look(self) -> None:
        """Ask the core what each write would be."""
        for target in self.target.targets:
            raw = target.raw(self.action, self._values)
            envelope = await self.desk.call(self.action.command, raw, dry_run=True)
            self._plans[target.id] = envelope.result if isinstance(envelope.result, WritePlan) else envelope
            if not self.is_mounted:
                return
            if self._state == "looking":
                self.tell_guard()
        self._state = "asking"
        self.query_one("#plan", TextPage).show(self._plan_lines())
        self.tell_guard()

    def _plan_lines(self) -> list[TextLine]:
        lines = [line(cell("In ", "muted"), Cell(self.desk.place)), *_hidden_warning(self.target)]
        refused = sum(isinstance(plan, Envelope) for plan in self._plans.values())
        if refused:
            told = f"{refused:,} cannot be changed as they stand: nothing will be written to those"
            lines.append(line(cell("! ", "warning"), cell(told, "warning"), hang=2))
        lines += target_lines(self.target, self.action, self._plans)
        plan = next((plan for plan in self._plans.values() if isinstance(plan, WritePlan)), None)
        if plan is not None:
            told = confirmation(cast("dict[str, object]", plain(plan)))
            words = "The first of them, as an example; y copies the commands of all:"
            lines += [line(), line(cell(words, "muted")), *plan_lines(told, load_command(self.action.command).caution)]
        return lines

    def _end_lines(self) -> list[TextLine]:
        lines = [heading(self.summary()), line()]
        for came in (*_ENDS, _UNTRIED):
            glyph, word, role = _ENDS.get(came, ("−", "not tried", "muted"))
            lines += [
                line(
                    cell(f"{glyph} {word:<11} ", role),
                    Cell(SafeStr(f"…{end.target.id[-8:]}  ")),
                    Cell(SafeStr(f"{_title_of(end.target)}  "), "muted"),
                    Cell(end.told, "" if came == DONE else role),
                    hang=14,
                )
                for end in self._ends
                if end.came == came
            ]
        return lines

    def summary(self) -> str:
        """How many of each end."""
        return summary_of(self._ends)

    def tell_guard(self) -> None:
        """Say how things stand, and open or close the way on."""
        bar = self.query_one("#guard", Bar)
        guard, locked = self.target.guard(self.desk, self.action), why_not(self.target, self.desk.locked, self.action)
        of = f"{len(self.target.targets):,}"
        if self._state == "looking":
            bar.show([cell(f" … looking at {len(self._plans):,} of {of}", "accent")])
        elif self._state == "writing":
            word = "stopping behind this one" if self._stopped else "esc stops behind this one"
            bar.show([cell(f" … writing {len(self._ends) + 1:,} of {of}; {word}", "accent")])
        elif self._state == "ended":
            bar.show([cell(" What was not applied stays marked.", "muted")], [cell(" esc back ", "muted")])
        elif locked is not None:
            bar.show([cell(" ✗ ", "error"), Cell(visible(locked), "error")])
        else:
            bar.show([cell(f" {guard.text}", guard.role)], [cell(" y copies the commands ", "muted")], keeps="left")
        self.query_one(Proof).display = self._state in ("looking", "asking")
        apply, is_open = self.query_one("#apply", Button), self.may_go_on()
        if apply.has_focus and not is_open:
            self.query_one("#cancel", Button).focus()
        apply.disabled, apply.display = not is_open, self._state != "ended"

    def may_go_on(self) -> bool:
        """Whether the button works."""
        can = self._state == "asking" and self.desk.locked is None
        is_proven = self.query_one(Proof).typed == self._proof()
        return can and is_proven and any(isinstance(plan, WritePlan) for plan in self._plans.values())

    def _proof(self) -> str:
        return str(len(self.target.targets))

    def records_changed(self, changes: Collection[str] | None) -> None:
        """Look again where one of them has changed."""
        if self.is_mounted and self._state == "asking" and _concerns(self.target, changes):
            self.tell_guard()

    # What the operator does

    def on_key(self, event: Key) -> None:
        """The number may be typed at once."""
        if self._state == "asking":
            self.query_one(Proof).take(event)

    @on(Input.Changed, "#proof-typed")
    def _proof_changed(self) -> None:
        self.tell_guard()

    def action_copy_commands(self) -> None:
        """Copy the command line of every write."""
        commands = [str(plan.command) for plan in self._plans.values() if isinstance(plan, WritePlan)]
        if commands:
            self.copy("\n".join(commands), f"{len(commands):,} commands")

    def action_leave(self) -> None:
        """Close; while something is written, stop behind it."""
        if self._state == "writing":
            self._stopped = True
            self.tell_guard()
        elif self.is_current:
            self.dismiss(self._ends if self._state == "ended" else None)

    @on(Button.Pressed, "#cancel")
    def _cancelled(self) -> None:
        self.action_leave()

    @on(Button.Pressed, "#apply")
    def _confirmed(self) -> None:
        if self.may_go_on():
            self._state = "writing"
            self.tell_guard()
            self._write()

    @work(exclusive=True, group="apply", exit_on_error=False)
    async def _write(self) -> None:
        """Apply exactly what is shown, one by one."""
        for target in self.target.targets:
            self._ends.append(await self._written(target))
            if self.is_mounted:
                self.tell_guard()
        self._state = "ended"
        if self.is_mounted:
            button = self.query_one("#cancel", Button)
            button.label = "Close"
            self.query_one("#plan", TextPage).show(self._end_lines(), home=True)
            self.tell_guard()
            button.focus()

    async def _written(self, target: One) -> End:
        plan = self._plans[target.id]
        if isinstance(plan, Envelope):
            return End(target, REFUSED, failure_words(plan.failure()))
        if self._stopped:
            return End(target, _UNTRIED, SafeStr("stopped before it"))
        raw = target.raw(self.action, self._values)
        envelope = await self.desk.call(self.action.command, raw, expect_digest=plan.digest)
        deed: Deed = self.desk.activity.note(self.action, target, plan.command, envelope, self.desk.now_ms())
        return End(target, deed.came, deed.change if deed.came == DONE else failure_words(envelope.failure()))


def summary_of(ends: Iterable[End]) -> str:
    """How many of each end there are, in words."""
    found = [end.came for end in ends]
    words = [(came, word) for came, (_, word, _) in _ENDS.items()][::-1]
    told = [f"{found.count(came):,} {word}" for came, word in (*words, (_UNTRIED, "not tried")) if came in found]
    return ", ".join(told)


def applied(ends: Iterable[End]) -> frozenset[str]:
    """Those that took the change."""
    return frozenset(end.target.id for end in ends if end.came == DONE)


def target_lines(
    target: BulkTarget, action: Action, plans: "dict[str, WritePlan | Envelope] | None" = None
) -> list[TextLine]:
    """Each with the revision or the lease that it is bound to; those in sight, then those hidden by the filter."""
    seen = [one for one in target.targets if one.id not in target.hidden]
    hidden = [one for one in target.targets if one.id in target.hidden]
    lines: list[TextLine] = []
    for title, found in ((f"In the list: {len(seen):,}", seen), (f"Hidden by the filter: {len(hidden):,}", hidden)):
        if found:
            lines += [line(), heading(title), *(_target_line(one, action, plans) for one in found)]
    return lines


def _target_line(target: One, action: Action, plans: "dict[str, WritePlan | Envelope] | None") -> TextLine:
    plan = None if plans is None else plans.get(target.id)
    reason = target.why_not(action)
    if isinstance(plan, Envelope):
        reason = failure_words(plan.failure())
    mark = cell("✗ ", "error") if reason else cell("  ")
    parts = [
        mark,
        Cell(visible(target.id)),
        cell(f"  {target.standing:<7} ", "accent"),
        Cell(_title_of(target), "muted"),
    ]
    return line(*parts, *([cell(f"  {visible(reason)}", "error")] if reason else []), hang=4)


def _title_of(target: One) -> SafeStr:
    title = target.names(target.actions[0])[1]
    return shown(title) if title else SafeStr("untitled")


def _hidden_warning(target: BulkTarget) -> list[TextLine]:
    if not target.hidden:
        return []
    told = f"{target.standing}: they are listed below, and changed with the rest. U unmarks all."
    return [line(cell("! ", "warning"), cell(told, "bold warning"), hang=2)]


def _concerns(target: BulkTarget, changes: Collection[str] | None) -> bool:
    return changes is None or any(one.id in changes for one in target.targets)
