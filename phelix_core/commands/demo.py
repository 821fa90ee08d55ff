"""`phelix demo`: a realistic fleet to look at, the same for the same seed, some of it stale.

The fleet is written through the stores like any other, at moments that lie in the past; `DemoFleet.step`
makes it move, through the commands like any agent.
"""

import os
from dataclasses import replace
from random import Random
from typing import Annotated, Final

from phelix_core.checks import BY_PLACE, Help, Surface, at_least, capped
from phelix_core.commands.demo_arc import DemoArc
from phelix_core.commands.demo_queue import DemoQueue
from phelix_core.commands.environment import Environment, open_environment
from phelix_core.commands.preview import FieldChange, WritePlan, digest_of, require_digest
from phelix_core.commands.registry import Effect, command, equivalent, load_command
from phelix_core.commands.run import run
from phelix_core.errors import AlreadyExists, FilesystemError
from phelix_core.files import why
from phelix_core.frozen import frozen, frozen_in_order
from phelix_core.redaction import redact
from phelix_core.sessions import transitions
from phelix_core.sessions.model import CANCELLED, COMPLETED, FAILED, Actor, Session
from phelix_core.sessions.transitions import References, Stamp
from phelix_core.settings import QUEUE_FILE

DEFAULT_SESSIONS: Final = 32
SEED: Final = 7
_MOST: Final = 1_000_000
_MINUTE: Final = 60_000
_TITLES: Final = (
    ("ship billing v3", "billing", ("inspect", "plan", "approve", "deploy", "verify")),
    ("rotate signing keys", "auth", ("inspect", "generate", "publish", "revoke old")),
    ("upgrade postgres to 17", "ledger", ("snapshot", "dry run", "migrate", "verify")),
    ("reindex product search", "search", ("snapshot", "reindex", "swap alias")),
    ("backfill invoice totals", "billing", ("sample", "backfill", "reconcile")),
    ("canary checkout latency fix", "checkout", ("deploy 5%", "deploy 25%", "deploy 100%")),
    ("triage flaky payments suite", "payments", ("collect", "bisect", "patch", "rerun")),
    ("清理过期的会话缓存", "edge-cache", ("scan", "evict", "verify")),
    ("draft incident report 2291", "docs", ("timeline", "draft", "review")),
    ("move nightly exports to the new bucket", "exports", ("copy", "compare", "switch")),
    ("tighten rate limits for anonymous API clients", "gateway", ("measure", "propose", "apply")),
    ("résumé parser: accept PDF 2.0", "intake", ("reproduce", "patch", "verify")),
)
_NOTES: Final = (
    "canary at 10%, error rate flat",
    "waiting for the nightly window",
    "3 of 8 shards done",
    "tests green on second run",
    "diff reviewed, no surprises",
    "p95 back under 180 ms",
    "retrying after a lock timeout",
)


@frozen
class WriteDemo:
    """Write a seeded fleet of sessions into an empty folder, to look at and to try things on."""

    directory: Annotated[str, BY_PLACE, capped(4096), Help("Folder to fill; it must be empty or not exist yet")]
    sessions: Annotated[int, at_least(1, _MOST), Help("How many sessions")] = DEFAULT_SESSIONS
    seed: Annotated[int, at_least(0), Help("Another seed makes another fleet")] = SEED


@frozen
class DemoWritten:
    """Where the fleet is, and how many sessions it has."""

    data_dir: str
    sessions: int


@command("demo", effect=Effect.WRITE, result=DemoWritten, surfaces=frozenset({Surface.CLI}))
def write_demo(request: WriteDemo, env: Environment) -> "DemoWrite":
    """Decide to fill a folder."""
    return DemoWrite(request, env)


class DemoWrite:
    """The intent to fill one empty folder."""

    def __init__(self, request: WriteDemo, env: Environment) -> None:
        self._request = request
        self._env = env
        self._directory = os.path.abspath(request.directory)

    def _require_empty(self) -> None:
        try:
            taken = bool(os.listdir(self._directory))
        except FileNotFoundError:
            return
        except OSError as error:
            raise FilesystemError(f"Cannot use the folder: {why(error)}.") from None
        if taken:
            raise AlreadyExists("The folder is not empty.", hint="Name a new folder for the demo.")

    def plan(self) -> WritePlan:
        """Name the folder and how much would be in it."""
        self._require_empty()
        target = {"directory": redact(self._directory)}
        changes = (
            FieldChange(field="sessions", before=None, after=self._request.sessions),
            FieldChange(field="queue", before=None, after="two campaigns, as agents left them"),
            FieldChange(field="applications", before=None, after="harmless ones, with plans and a policy"),
        )
        return WritePlan(
            action="demo",
            target=target,
            preconditions={"empty": True},
            changes=changes,
            event=None,
            side_effects=(),
            command=equivalent(write_demo, self._request),
            digest=digest_of("demo", target, {"empty": True}, changes),
        )

    def apply(self, expect_digest: str | None) -> DemoWritten:
        """Fill the folder."""
        self._require_empty()
        if expect_digest:
            require_digest(expect_digest, self.plan().digest)
        settings = replace(self._env.settings, data_dir=self._directory, queue=f"{self._directory}/{QUEUE_FILE}")
        inside = open_environment(settings, Surface.CLI, clock=self._env.clock)
        fleet = DemoFleet(inside, self._request.seed)
        fleet.write(self._request.sessions)
        fleet.write_queue()
        fleet.close()
        return DemoWritten(data_dir=redact(self._directory), sessions=self._request.sessions)


class DemoFleet:
    """A fleet in one data directory: written once, then moved step by step."""

    def __init__(self, env: Environment, seed: int = SEED) -> None:
        self._env = env
        self._random = Random(seed)  # noqa: S311 - a demo wants the same fleet each time, not secrecy
        self._moving: list[tuple[str, tuple[str, ...], int]] = []
        self._steps = 0
        self._queue = DemoQueue(env.settings, env.clock, seed + 1)
        self._arc = DemoArc(env)

    def write(self, sessions: int) -> None:
        """Write `sessions` records, with the plans and operations that some of them name."""
        now_ms = self._env.clock.now_ms()
        self._arc.write_policy()
        for number in range(sessions):
            self._env.sessions.create(self._session(number, now_ms))

    def write_queue(self) -> None:
        """Write the queue that some of the fleet's agents share."""
        self._queue.write()

    def close(self) -> None:
        """Let go of the queue."""
        self._queue.close()

    def _hex(self) -> str:
        return f"{self._random.getrandbits(64):016x}"

    def _session(self, number: int, now_ms: int) -> Session:
        title, app, steps = _TITLES[number % len(_TITLES)]
        if number >= len(_TITLES):
            title = f"{title} #{number // len(_TITLES) + 1}"
        fate = _FATES[number % len(_FATES)]
        via = self._random.choice(("cli", "mcp"))
        quiet_ms = fate.quiet_minutes * _MINUTE + self._random.randrange(50_000)
        pace_ms = self._random.randrange(2, 11) * _MINUTE
        done = self._random.randrange(1, len(steps) + 1)
        at_ms = now_ms - quiet_ms - pace_ms * done
        session = transitions.create(
            f"ses_{self._hex()}",
            Actor(type=via, id=None, authenticated=False),
            Stamp(at_ms=at_ms, via=via),
            title=title,
            project="northwind",
            app=app,
        )
        for step in steps[:done]:
            at_ms += pace_ms
            stamp = Stamp(at_ms=at_ms, via=via)
            linked = self._linked(fate, at_ms, app, via) if step == steps[0] else References()
            note = self._random.choice(_NOTES)
            session = transitions.checkpoint(session, stamp, step=step, note=note, linked=linked)
        if fate.outcome:
            stamp = Stamp(at_ms=at_ms + _MINUTE, via=via)
            return transitions.close(session, stamp, fate.outcome, text=fate.text, linked=References())
        if not fate.stays:
            self._moving.append((session.session_id, steps, done))
        return session

    def _linked(self, fate: "Fate", at_ms: int, app: str, via: str) -> References:
        plan_id, operation_id, deployment_id = f"pln_{self._hex()}", f"op_{self._hex()}", f"dep-{self._hex()}"
        if not fate.references:
            return References()
        if fate.references == ("plan",) and self._arc.add_plan(plan_id, app, at_ms, via) is not None:
            return References(plans=(plan_id,))
        operation_id = self._arc.add_operation(
            plan_id if "plan" in fate.references else None,
            app,
            at_ms,
            via,
            deployment_id=deployment_id,
            fate=fate.outcome,
            fallback=operation_id,
        )
        return References(plans=(plan_id,), operations=(operation_id,), deployments=(deployment_id,))

    def step(self) -> str | None:
        """Let one agent record its next step, finish, or start; answers the session or the lease that moved.

        Every other step is the queue's.
        """
        self._steps += 1
        if self._steps % 2 == 0:
            return self._queue.step()
        if not self._moving:
            return self._begin()
        place = self._random.randrange(len(self._moving))
        session_id, steps, done = self._moving[place]
        if done >= len(steps):
            self._moving.pop(place)
            self._begin()
            return self._call("session complete", session_id=session_id, result="done, checks are green")
        self._moving[place] = (session_id, steps, done + 1)
        note = self._random.choice(_NOTES)
        return self._call("session checkpoint", session_id=session_id, step=steps[done], note=note)

    def _begin(self) -> str | None:
        title, app, steps = self._random.choice(_TITLES)
        session_id = self._call("session create", title=title, app=app, project="northwind")
        if session_id:
            self._moving.append((session_id, steps, 0))
        return session_id

    def _call(self, name: str, **raw: object) -> str | None:
        answer = run(load_command(name), raw, self._env)
        return answer.result.session_id if isinstance(answer.result, Session) else None


@frozen_in_order
class Fate:
    """What becomes of a demo session."""

    quiet_minutes: int
    outcome: str | None = None
    text: str | None = None
    references: tuple[str, ...] = ()
    stays: bool = False


_FATES: Final = (
    Fate(0, references=("plan", "operation")),
    Fate(1),
    Fate(94, references=("plan",), stays=True),
    Fate(3, COMPLETED, "shipped to 100%, verified", references=("plan", "operation")),
    Fate(0),
    Fate(12, FAILED, "canary regressed; rolled back", references=("plan", "operation")),
    Fate(2, references=("operation",)),
    Fate(210, stays=True),
    Fate(45, COMPLETED, "all shards verified"),
    Fate(8, CANCELLED, "superseded by a newer plan"),
    Fate(5, references=("plan", "operation")),
    Fate(1_500, COMPLETED, "done"),
    Fate(30),
)
