"""A queue write that has been decided and not yet done: one verb, planned by rehearsing it.

What a dry run shows is what the verb really would record, taken back; ids and times that only the real one
fixes read as stand-ins. Applying under a digest records again, compares, and takes everything back where it
differs. Source: surfaces page, one registry; console page, section 1.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast

from phelix_core.commands.environment import Environment
from phelix_core.commands.queue.records import Duties, told_again
from phelix_core.commands.registry import Command
from phelix_core.errors import LeaseConflict, PhelixError, ReadOnly
from phelix_core.frozen import changed, frozen, members_of
from phelix_core.queue.store import Questions, Recorded
from phelix_core.queue.verbs.answers import Answer
from phelix_core.queue.verbs.ledger import Ledger
from phelix_core.queue.verbs.requests import ANSWERED, REPLAYED, once
from phelix_core.redaction import redact
from phelix_core.settings import QUEUE_FILE
from phelix_core.strictjson import canonical, plain

if TYPE_CHECKING:  # a plain write starts without the means to describe itself
    from phelix_core.commands.preview import WritePlan

Verb = Callable[[Ledger], Answer]

_NOT_ASKED: Final = frozenset({"holder_pid"})
"""What a retry by another process says otherwise, and still asks for the same."""


@frozen
class Subject:
    """What a write is about, the project that it belongs to, and what must still hold when it is applied."""

    project_id: str = ""
    target: Mapping[str, object] = MappingProxyType({})
    preconditions: Mapping[str, object] = MappingProxyType({})


Target = Callable[[Questions], Subject]


def nothing_named(_: Questions) -> Subject:
    """The subject of a write that is about the whole queue."""
    return Subject()


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
        after: Callable[[Answer], Answer] = lambda answer: answer,
    ) -> None:
        self._command = command
        self._request = request
        self._env = env
        self._verb = verb
        self._target = target
        self._effects = effects
        self._creates = creates
        self._after = after

    def plan(self) -> "WritePlan":
        """Rehearse the verb and describe what it recorded."""
        if self._env.settings.read_only:
            raise ReadOnly(hint="Start without --read-only to make changes.")
        seen: list[tuple[Subject, Ledger]] = []
        minted = Minted(self._env.mint)

        def body(tx: Any) -> Answer:
            seen.append((self._target(tx), Ledger(tx, minted)))
            return self._verb(seen[0][1])

        answer, recorded = self._env.queue.rehearse(body, self._env.surface.value, create=self._creates)
        return self._described(*seen[0], answer, recorded)

    def apply(self, expect_digest: str | None) -> Answer:
        """Do it, then see to the session records that it concerns."""
        minted = Minted(self._env.mint)
        seen: list[tuple[Subject, Ledger, Answer]] = []
        refusals: list[PhelixError] = []
        duties = Duties(self._env)
        request_id = getattr(self._request, "request_id", None)
        needs_subject = expect_digest is not None or request_id is not None

        def body(tx: Any) -> Answer:
            subject = self._target(tx) if needs_subject else Subject()
            ledger = Ledger(tx, minted)
            try:
                answer = self._answered(ledger, subject, request_id)
            except PhelixError as refused:
                refusals.append(refused)
                duties.note(tx, ledger.kept.values())
                raise
            seen.append((subject, ledger, answer))
            duties.note(tx, ledger.touched.values() or told_again(tx, answer))
            return answer

        def compare(recorded: list[Recorded]) -> None:
            subject, ledger, answer = seen[0]
            digest = self._described(subject, ledger, answer, recorded).digest
            if digest != expect_digest and REPLAYED not in answer:
                raise LeaseConflict(
                    "What would be written is no longer what was shown; nothing was written.",
                    hint="Look at the change again with --dry-run.",
                    details={"expected_digest": expect_digest, "digest": digest},
                )

        watch = None if expect_digest is None else compare
        try:
            answer = self._env.queue.write(body, self._env.surface.value, watch, create=self._creates)
        except PhelixError as refused:
            if refused in refusals:  # what was kept of a refused verb is committed by now
                duties.carry_out()
            raise
        return self._after(answer | duties.carry_out())

    def _answered(self, ledger: Ledger, subject: Subject, request_id: str | None) -> Answer:
        """The verb's answer, or the first one where the same request was carried out before."""
        if request_id is None:
            return self._verb(ledger)
        from hashlib import sha256  # noqa: PLC0415 - few calls carry a request's id, and its library is a dear one

        asked = (name for name, _ in members_of(self._command.request) if name not in _NOT_ASKED)
        given = {name: plain(getattr(self._request, name)) for name in asked}
        return once(
            ledger,
            subject.project_id,
            request_id,
            verb=self._command.name,
            given=f"sha256:{sha256(canonical(given)).hexdigest()}",  # a batch or a context may hold what must not stay
            body=lambda: self._verb(ledger),
        )

    def _described(self, subject: Subject, ledger: Ledger, answer: Answer, recorded: Sequence[Recorded]) -> "WritePlan":
        from shlex import quote  # noqa: PLC0415 - previews only

        from phelix_core.commands.preview import plan_of  # noqa: PLC0415 - previews only
        from phelix_core.commands.queue.describing import changes_of, event_of, without_new  # noqa: PLC0415 - as above

        told = [one for one in recorded if one[0].kind != ANSWERED]
        now_ms, made = ledger.now.wall_ms, cast("Minted", ledger.mint).made
        plan = plan_of(
            self._command,
            self._request,
            self._env,
            target={**subject.target, "queue": redact(self._env.queue.path)},
            preconditions=subject.preconditions,
            changes=changes_of(told, made, now_ms),
            event=event_of(told, made, now_ms),
            side_effects=tuple(without_new(text, made) for text in self._effects(answer)),
            outcome=without_new(answer, made),
        )
        settings = self._env.settings
        if settings.queue in ("", f"{settings.data_dir}/{QUEUE_FILE}"):
            return plan
        return changed(plan, command=f"{plan.command} --queue {quote(redact(settings.queue))}")


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
