"""What the palette offers in the room in front: every key of it, actions on what is selected, views, themes, the bell.

Keys are taken from the bindings themselves, so that a new one is in the palette as it is in help; actions are those
of the menu with the same reasons, and go the same way of form and confirmation.
"""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from phelix_core.commands.saved_views import ViewList
from phelix_core.text import SafeStr, visible
from phelix_core.views.shown import shown
from phelix_tui.actions import why_not
from phelix_tui.bell import CONFLICT, WORDS
from phelix_tui.messages import IssueWanted, PlanWanted, SessionWanted
from phelix_tui.palette import ISSUE, PLAN, SESSION, Offer, Subject
from phelix_tui.screens.room import Room

if TYPE_CHECKING:
    from phelix_tui.acting import Acting
    from phelix_tui.app import ConsoleApp

_SKIPPED: Final = frozenset({"app.palette"})


class Offering:
    """Makes offers for one opening of the palette over one room."""

    def __init__(self, app: "ConsoleApp", acting: "Acting", room: Room) -> None:
        self._app = app
        self._acting = acting
        self._room = room

    def doable(self) -> list[Offer]:
        """All but what has to be read first."""
        return [*self._rooms(), *self._actions(), *self._keys(), *self._themes(), *self._bell()]

    def _rooms(self) -> Iterator[Offer]:
        yield from self._bound(type(self._app), self._app, "go")

    def _keys(self) -> Iterator[Offer]:
        yield from self._bound(type(self._room), self._room, "here")

    def _bound(self, kind: type, owner: "ConsoleApp | Room", told: str) -> Iterator[Offer]:
        """An offer for each binding that a class of ours tells of."""
        from phelix_tui.app import bindings_of  # noqa: PLC0415 - the app makes this

        known = set[str]()
        for binding in bindings_of(kind):
            if not binding.description or binding.id in _SKIPPED or binding.action in known:
                continue
            known.add(binding.action)
            name = binding.id or binding.action
            yield Offer(
                id=f"key {name}",
                kind=told,
                title=SafeStr(binding.description),
                key=self._app.key_of(binding.id or ""),
                run=partial(self._app.run_action, binding.action, owner),
            )

    def _actions(self) -> Iterator[Offer]:
        target, desk = self._room.target(), self._app.desk
        actions, nothing = self._acting.actions_on(target, about=self._room.ABOUT)
        for action in actions:
            yield Offer(
                id=f"act {action.id} {action.key}",
                kind="act",
                title=visible(f"{action.verb} {target.id if target is not None else ''}".strip()),
                about=SafeStr(action.summary),
                reason=why_not(target, desk.locked, action, nothing),
                run=partial(self._acting.begin, action, target),
            )

    def _themes(self) -> Iterator[Offer]:
        for name in self._app.theme_names():
            now = SafeStr("in force") if name == self._app.theme else SafeStr("")
            take = partial(setattr, self._app, "theme", name)
            yield Offer(id=f"theme {name}", kind="theme", title=visible(name), about=now, run=take)

    def _bell(self) -> Iterator[Offer]:
        for kind, (_, many, became) in WORDS.items():
            if kind == CONFLICT:
                continue  # it has its own screen, and rings nothing
            is_quiet = kind in self._app.ringer.bell.muted
            title = SafeStr(f"{'Ring again for' if is_quiet else 'No bell for'} {many} that {became}")
            yield Offer(id=f"bell {kind}", kind="bell", title=title, run=partial(self._app.quieten, kind))

    async def views(self) -> list[Offer]:
        """The saved views, read now; none where they cannot be read, which their menu tells."""
        envelope = await self._app.desk.call("view list", {})
        if not isinstance(envelope.result, ViewList):
            return []
        return [
            Offer(
                id=f"view {view.name}",
                kind="view",
                title=shown(view.name),
                about=shown(view.title or view.where),
                run=partial(self._app.show_view, view.where),
            )
            for view in envelope.result.views
        ]

    def record(self, subject: Subject) -> Offer | None:
        """A session, issue or plan as it is now; None where it has gone."""
        desk = self._app.desk
        if subject.kind == SESSION:
            row = desk.arrangement.row(subject.id)
            if row is None:
                return None
            title, about = row.title or SafeStr("untitled"), f"{row.looks.glyph} {row.looks.word} {shown(subject.id)}"
            message = SessionWanted(subject.id)
        elif subject.kind == ISSUE:
            issue = desk.backlog.row(subject.id)
            if issue is None:
                return None
            title, about = issue.task, f"{issue.looks.glyph} {issue.looks.word} {shown(subject.id)}"
            message = IssueWanted(subject.id)
        else:
            plan = desk.plans.row(subject.id, desk.now_ms())
            if plan is None:
                return None
            title, about = (
                desk.plans.subject_of(subject.id),
                f"{plan.looks.glyph} {plan.looks.word} {shown(subject.id)}",
            )
            message = PlanWanted("operation" if subject.id.startswith("op_") else PLAN, subject.id)
        run = partial(self._app.post_message, message)
        return Offer(id=f"{subject.kind} {subject.id}", kind=subject.kind, title=title, about=SafeStr(about), run=run)
