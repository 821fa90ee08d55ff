"""A queue write that has been decided and not yet done: one verb, planned by rehearsing it.

What a dry run shows is what the verb really would record, taken back; ids and times that only the real one
fixes read as stand-ins. Applying under a digest records again, compares, and takes everything back where it
differs. Source: surfaces page, one registry; console page, section 1.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from phelix_core.commands.environment import Environment
from phelix_core.commands.queue.records import Duties
from phelix_core.commands.registry import Command
from phelix_core.errors import LeaseConflict, ReadOnly
from phelix_core.frozen import members_of
from phelix_core.queue.store import Questions, Recorded
from phelix_core.queue.verbs.answers import Answer
from phelix_core.queue.verbs.ledger import Ledger, the_project
from phelix_core.strictjson import plain

if TYPE_CHECKING:  # a plain write starts without the means to describe itself
    from phelix_core.commands.preview import WritePlan

Verb = Callable[[Ledger], Answer]
Target = Callable[[Questions], tuple[Mapping[str, object], Mapping[str, object]]]
"""What a write is about: its target, and what must still hold when it is applied."""


def nothing_named(_: Questions) -> tuple[Mapping[str, object], Mapping[str, object]]:
    """The target of a write that is about the whole queue."""
    return {}, {}


class QueueWrite:
    """The intent of one verb."""

    def __init__(
        self,
        command: Command,
        request: Any,
        env: Environment,
        verb: Verb,
        *,
        target: Target = nothing_named,
        effects: Callable[[Answer], tuple[str, ...]] = lambda _: (),
        creates: bool = False,
    ) -> None:
        self._command = command
        self._request = request
        self._env = env
        self._verb = verb
        self._target = target
        self._effects = effects
        self._creates = creates

    def plan(self) -> "WritePlan":
        """Rehearse the verb and describe what it recorded."""
        if self._env.settings.read_only:
            raise ReadOnly(hint="Start without --read-only to make changes.")
        named: list[tuple[Mapping[str, object], Mapping[str, object]]] = []
        ledgers: list[Ledger] = []
        minted = Minted(self._env.mint)

        def body(tx: Any) -> Answer:
            named.append(self._target(tx))
            ledgers.append(Ledger(tx, minted))
            return self._verb(ledgers[0])

        answer, recorded = self._env.queue.rehearse(body, self._env.surface.value, create=self._creates)
        return self._described(named[0], answer, recorded, ledgers[0])

    def apply(self, expect_digest: str | None) -> Answer:
        """Do it, then see to the session records that it concerns."""
        minted = Minted(self._env.mint)
        named: list[tuple[Mapping[str, object], Mapping[str, object]]] = []
        answers: list[Answer] = []
        ledgers: list[Ledger] = []
        duties = Duties(self._env)

        def body(tx: Any) -> Answer:
            if expect_digest is not None:
                named.append(self._target(tx))
            ledgers.append(Ledger(tx, minted))
            answers.append(self._answered(ledgers[0]))
            duties.note(tx, ledgers[0])
            return answers[0]

        def compare(recorded: list[Recorded]) -> None:
            digest = self._described(named[0], answers[0], recorded, ledgers[0]).digest
            if digest != expect_digest:
                raise LeaseConflict(
                    "What would be written is no longer what was shown; nothing was written.",
                    hint="Look at the change again with --dry-run.",
                    details={"expected_digest": expect_digest, "digest": digest},
                )

        watch = None if expect_digest is None else compare
        answer = self._env.queue.write(body, self._env.surface.value, watch, create=self._creates)
        return answer | duties.carry_out()

    def _answered(self, ledger: Ledger) -> Answer:
        """The verb's answer, or the first one where the same request was carried out before."""
        request_id = getattr(self._request, "request_id", None)
        if request_id is None:
            return self._verb(ledger)
        from phelix_core.queue.verbs.requests import once  # noqa: PLC0415 - few calls carry a request's id

        given = {name: plain(getattr(self._request, name)) for name, _ in members_of(self._command.request)}
        project = the_project(ledger.tx, getattr(self._request, "project", None))
        text = json.dumps(given, ensure_ascii=False, separators=(",", ":"))
        return once(
            ledger, project.id, request_id, verb=self._command.name, given=text, body=lambda: self._verb(ledger)
        )

    def _described(
        self,
        named: tuple[Mapping[str, object], Mapping[str, object]],
        answer: Answer,
        recorded: Sequence[Recorded],
        ledger: Ledger,
    ) -> "WritePlan":
        from phelix_core.commands.preview import plan_of  # noqa: PLC0415 - previews only
        from phelix_core.commands.queue.describing import changes_of, event_of, without_new  # noqa: PLC0415 - as above

        target, preconditions = named
        now_ms, made = ledger.now.wall_ms, cast("Minted", ledger.mint).made
        return plan_of(
            self._command,
            self._request,
            self._env,
            target={**target, "queue": self._env.queue.path},
            preconditions=preconditions,
            changes=changes_of(recorded, made, now_ms),
            event=event_of(recorded, made, now_ms),
            side_effects=tuple(without_new(text, made) for text in self._effects(answer)),
            outcome=without_new(answer, made),
        )


class Minted:
    """Fresh ids, remembered so that a description can stand something in for them."""

    def __init__(self, mint: Callable[[], str]) -> None:
        self._mint = mint
        self.made: dict[str, int] = {}

    def __call__(self) -> str:
        """The next id."""
        fresh = self._mint()
        self.made[fresh] = len(self.made) + 1
        return fresh
