"""Forms and confirmations: the exact write, bound to the version on the screen, before anything is written.

A form shows what it would write while it is filled in. A confirmation is frozen: its digest is what is
applied or nothing is. Both watch what they are about, a session or an issue, and disable themselves when it
moves on. What is wide, or takes over others' work, also wants a proof typed: the last four of the id, or how
many are moved. Source: console page, section 6.
"""

from collections.abc import Collection, Mapping
from typing import ClassVar, cast

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.events import Key
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Button, Input

from phelix_core.commands.preview import WritePlan
from phelix_core.commands.registry import load_command
from phelix_core.envelope import Envelope
from phelix_core.frozen import frozen_in_order
from phelix_core.strictjson import plain
from phelix_core.text import SafeStr, visible
from phelix_core.views.confirmation import Confirmation, confirmation
from phelix_core.views.shown import shown
from phelix_tui.actions import ADDITIVE, WIDE, Action, Target, why_not
from phelix_tui.desk import Desk
from phelix_tui.form import Choice, FormField, Proof, choices_of, form_fields
from phelix_tui.plan_actions import PlanTarget
from phelix_tui.screens.dialog import Dialog
from phelix_tui.screens.drawing import plan_lines
from phelix_tui.screens.plan_drawing import write_lines
from phelix_tui.screens.queue_drawing import queue_plan_lines
from phelix_tui.widgets.pages import Bar, TextPage, cell
from phelix_tui.widgets.rowlist import Cell
from phelix_tui.wrapping import TextLine, line

_TYPING_PAUSE_S = 0.12
_PROVES = "0123456789abcdef"
"""What proofs are made of: counts, and ends of ids."""


@frozen_in_order
class Proposal:
    """A write that an operator wants: the action, its target as shown, and what was filled in."""

    action: Action
    target: Target
    values: Mapping[str, object]


@frozen_in_order
class Outcome:
    """What came of a proposal that was confirmed."""

    proposal: Proposal
    envelope: Envelope


class ProposalDialog(Dialog[Outcome | Proposal]):
    """What a form and a confirmation share: whose record it is, what would change, and the live guard."""

    HINT: ClassVar = "y copies the command"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "copy_command", "Copy the command", id="dialog.copy"),
    ]

    def __init__(self, desk: Desk, action: Action, target: Target) -> None:
        super().__init__()
        self.desk = desk
        self.action = action
        self.target = target
        self.plan: WritePlan | None = None
        self._applying = False
        self._shown: Confirmation | None = None

    # What it says

    def title_bar(self) -> Bar:
        """The verb, the whole id, the title, the revision."""
        bar = Bar(id="proposal-title", classes="dialog-title")
        named, title, standing = self.target.names(self.action)
        verb = cell(f" {self.action.verb} ", "bold")
        bar.show(
            [verb, cell(f"{visible(named)} "), Cell(shown(title), "muted")], [cell(f" {visible(standing)} ", "accent")]
        )
        return bar

    def show_plan(self, envelope: Envelope) -> None:
        """Draw what a dry run answered."""
        if isinstance(envelope.result, WritePlan):
            self.plan = envelope.result
            self._shown = confirmation(cast("Mapping[str, object]", plain(envelope.result)))
            self.query_one("#plan", TextPage).show(self._plan_lines(envelope.result, self._shown))
        else:
            self.plan = None
            self.show_refusal(envelope.failure())
        self.tell_guard()

    def _plan_lines(self, plan: WritePlan, told: Confirmation) -> list[TextLine]:
        caution = load_command(self.action.command).caution
        if self.target.kind == "issue":
            place = line(cell("In ", "muted"), Cell(self.desk.queue_place))
            return [place, *queue_plan_lines(plan, told, caution, self.desk.backlog)]
        place = line(cell("In ", "muted"), Cell(self.desk.place))
        if isinstance(self.target, PlanTarget):
            return [place, *write_lines(told, caution, self.target.seen)]
        return [place, *plan_lines(told, caution)]

    def show_refusal(self, told: Mapping[str, object]) -> None:
        """Say why there is no plan."""
        code, message = cell(f"{told['code']}  ", "bold error"), Cell(visible(str(told["message"])))
        self.query_one("#plan", TextPage).show([line(code, message, hang=2)])

    def fresh(self) -> bool:
        """Whether the target is still as it was when this dialog was asked for."""
        return self.target.guard(self.desk, self.action).fresh

    def tell_guard(self) -> None:
        """Say whether the record is still the one shown, and open or close the way on."""
        bar = self.query_one("#guard", Bar)
        guard = self.target.guard(self.desk, self.action)
        reason = why_not(self.target, self.desk.locked, self.action)
        if self._applying:
            bar.show([cell(" … writing; what came of it is told here", "accent")])
        elif reason is not None:
            bar.show([cell(" ✗ ", "error"), Cell(visible(reason), "error")])
        elif guard.fresh:
            unchanged = cell(f" {guard.text}", guard.role)
            bar.show([unchanged], [cell(f" {self.HINT} ", "muted")], keeps="left")
        else:
            bar.show([cell(f" {guard.text}", guard.role)])
        apply, open_ = self.query_one("#apply", Button), self.may_go_on()
        if apply.has_focus and not open_:
            self.query_one("#cancel", Button).focus()
        apply.disabled = not open_

    def may_go_on(self) -> bool:
        """Whether the button works."""
        return self.plan is not None and self.fresh() and not self.desk.read_only and not self._applying

    def records_changed(self, changes: Collection[str] | None) -> None:
        """Look again where the record this is about has changed."""
        if (changes is None or self.target.id in changes) and self.is_mounted:
            self.tell_guard()

    def plans_changed(self) -> None:
        """Look again where this is about a plan."""
        if self.target.kind == "plan" and self.is_mounted:
            self.tell_guard()

    # What the operator does

    def action_copy_command(self) -> None:
        """Copy the equivalent command line."""
        if self._shown is not None:
            self.copy(self._shown.command, "The command")

    def apply(self, proposal: Proposal) -> None:
        """Apply exactly what is shown, once."""
        if self.may_go_on() and self.plan is not None:
            self._applying = True
            self.tell_guard()
            self._apply(proposal, self.plan.digest)

    def action_leave(self) -> None:
        """Close without an answer; a write that is under way is waited for, since it can no longer be taken back."""
        if not self._applying:
            super().action_leave()

    @work(exclusive=True, group="apply", exit_on_error=False)
    async def _apply(self, proposal: Proposal, digest: str) -> None:
        raw = proposal.target.raw(self.action, proposal.values)
        command = "" if self.plan is None else self.plan.command
        envelope = await self.desk.call(self.action.command, raw, expect_digest=digest)
        self.desk.activity.note(self.action, proposal.target, command, envelope, self.desk.now_ms())
        if self.is_current:
            self.dismiss(Outcome(proposal, envelope))

    @on(Button.Pressed, "#cancel")
    def _cancelled(self) -> None:
        self.action_leave()


class CommandForm(ProposalDialog):
    """Fill in a command's fields, with what would be written below; answers a proposal, or None."""

    HINT: ClassVar = "enter goes on · esc back"

    def __init__(self, desk: Desk, action: Action, target: Target) -> None:
        super().__init__(desk, action, target)
        self._pause: Timer | None = None
        self._planned: dict[str, object] = {}

    def compose(self) -> ComposeResult:
        """Title, fields, plan, guard, buttons."""
        command = load_command(self.action.command)
        verb = self.action.verb if self.action.tier == ADDITIVE else "Review"
        with Vertical(classes="dialog proposal"):
            yield self.title_bar()
            with VerticalScroll(id="fields", can_focus=False):
                for field in form_fields(command, self.action):
                    required = field.name == self.action.asks or (field.required and self.action.fields is not None)
                    yield FormField(field, required=required, words=choices_of(field, self.action))
            yield TextPage(id="plan")
            yield Bar(id="guard")
            with Horizontal(classes="buttons"):
                yield Button("Cancel", id="cancel", compact=True)
                yield Button(verb, id="apply", variant="primary", compact=True, disabled=True)

    def on_mount(self) -> None:
        """Start in the first field."""
        self._show_fields()
        self.query(FormField).first().entry.focus()
        self._ask()

    def asked(self) -> list[FormField]:
        """The fields that are asked for now."""
        return [field for field in self.query(FormField) if field.display]

    def values(self) -> dict[str, object]:
        """What is filled in now."""
        return {field.field.name: field.value for field in self.asked()}

    def _show_fields(self) -> None:
        """Show the further fields of the choice that is made, and no others."""
        words = {str(choice.value) for choice in self.query(Choice)}
        for word, names in self.action.also.items():
            for field in self.query(FormField):
                if field.field.name in names:
                    field.display = word in words

    def may_go_on(self) -> bool:
        """A terminal action also wants its reason or result."""
        asked = self.action.asks
        return super().may_go_on() and (asked is None or bool(str(self.values().get(asked, "")).strip()))

    @on(Choice.Changed)
    def _chosen(self) -> None:
        """Another choice asks for other fields."""
        self._show_fields()
        self._typed()

    @on(Input.Changed)
    def _typed(self) -> None:
        """Ask the core what would be written, once typing pauses."""
        if self._pause is not None:
            self._pause.stop()
        self._pause = self.set_timer(_TYPING_PAUSE_S, self._ask)

    @on(Input.Submitted)
    def _next_field(self, event: Input.Submitted) -> None:
        """Enter goes on to the next field, and from the last to the button; it never applies."""
        self._go_behind(event.input)

    @on(Choice.Submitted)
    def _behind_choice(self, event: Choice.Submitted) -> None:
        self._go_behind(event.choice)

    def _go_behind(self, entry: Widget) -> None:
        entries = [field.entry for field in self.asked()]
        after = entries[entries.index(entry) + 1 :]
        (after or [self.query_one("#apply")])[0].focus()

    @work(exclusive=True, group="plan", exit_on_error=False)
    async def _ask(self) -> None:
        values = self.values()
        envelope = await self.desk.call(self.action.command, self.target.raw(self.action, values), dry_run=True)
        if not self.is_mounted:
            return
        self._planned = values
        details = envelope.error.details if envelope.error else {}
        wrong = cast("dict[str, str]", details.get("fields") or {})
        for field in self.query(FormField):
            field.tell(wrong.get(field.field.name))
        self.show_plan(envelope)

    def show_refusal(self, told: Mapping[str, object]) -> None:
        """A form that nobody has filled in yet is no mistake: it says quietly what it wants."""
        if any(field.value for field in self.asked() if isinstance(field.entry, Input)):
            super().show_refusal(told)
        else:
            self.query_one("#plan", TextPage).show([line(cell(visible(str(told["message"])), "muted"))])

    @on(Button.Pressed, "#apply")
    def _go_on(self) -> None:
        """A checkpoint is applied from its form; what closes a session is confirmed first."""
        proposal = Proposal(self.action, self.target, self.values())
        if self.action.tier == ADDITIVE:
            if proposal.values == self._planned:
                self.apply(proposal)
            else:
                self._ask()  # what was typed last is not on the screen yet: show it, apply at the next press
        elif self.may_go_on() and self.is_current:
            self.dismiss(proposal)


class ConfirmScreen(ProposalDialog):
    """The frozen write with Cancel in focus; answers the outcome, or None."""

    def __init__(self, desk: Desk, proposal: Proposal) -> None:
        super().__init__(desk, proposal.action, proposal.target)
        self._proposal = proposal

    def compose(self) -> ComposeResult:
        """Title, plan, guard, buttons; Cancel first."""
        with Vertical(classes="dialog proposal"):
            yield self.title_bar()
            yield TextPage(id="plan")
            yield Bar(id="guard")
            if self.action.tier == WIDE:
                yield Proof(_PROVES)
            with Horizontal(classes="buttons"):
                yield Button("Cancel", id="cancel", compact=True)
                yield Button(self.action.verb, id="apply", variant="warning", compact=True, disabled=True)

    def on_mount(self) -> None:
        """Cancel has the focus."""
        self.query_one("#cancel", Button).focus()
        self._ask()

    def may_go_on(self) -> bool:
        """A wide action also wants its proof; one that would change nothing has nothing to go on to."""
        if self.plan is None or not self.plan.changes:
            return False
        return super().may_go_on() and (self.action.tier != WIDE or self.query_one(Proof).typed == self._proof())

    def _proof(self) -> str:
        return "" if self.plan is None else self.target.proof(self.action, self.plan)

    def tell_guard(self) -> None:
        """Also say what proof is wanted."""
        super().tell_guard()
        if self.action.tier != WIDE or self.plan is None:
            return
        asked = [cell(" Type "), cell(visible(self._proof()), "bold accent"), cell(" to go on:")]
        if not self.plan.changes:
            asked = [cell(" There is nothing to change.", "muted")]
        proof = self.query_one(Proof)
        proof.entry.display = bool(self.plan.changes)
        proof.ask(asked)

    def on_key(self, event: Key) -> None:
        """A proof may be typed at once."""
        if self.action.tier == WIDE:
            self.query_one(Proof).take(event)

    @on(Input.Changed, "#proof-typed")
    def _proof_changed(self) -> None:
        self.tell_guard()

    @work(exclusive=True, group="plan", exit_on_error=False)
    async def _ask(self) -> None:
        raw = self.target.raw(self.action, self._proposal.values)
        envelope = await self.desk.call(self.action.command, raw, dry_run=True)
        if self.is_mounted:
            self.show_plan(envelope)

    @on(Button.Pressed, "#apply")
    def _confirmed(self) -> None:
        self.apply(self._proposal)


def finished_line(outcome: Outcome) -> SafeStr:
    """What to tell the operator when a command has answered."""
    proposal = outcome.proposal
    if outcome.envelope.error is None:
        return visible(proposal.target.told(proposal.action, outcome.envelope.result))
    told = outcome.envelope.failure()
    return visible(f"{proposal.action.verb}: {told['code']}: {told['message']}")
