"""The demo's queue: a campaign with milestones, live and stale leases, a blocked and a crash-looping issue.

Everything is done through the commands that agents use, by a clock that starts in the past and is moved on;
on a boot that is not told, so that leases go by the wall clock. Source: console page (a fleet that moves).
"""

from random import Random
from typing import Any, Final

from phelix_core.checks import Surface
from phelix_core.clock import UNKNOWN_BOOT, Clock
from phelix_core.commands.environment import open_environment
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.frozen import changed
from phelix_core.memory.port import Keepsake, MemoryScope, Recalled
from phelix_core.settings import Settings
from phelix_core.strictjson import dumps

_MINUTE: Final = 60_000
_STARTED_MINUTES: Final = 122
_HOST: Final[dict[str, Any]] = {"host": "build-03", "workload_classes": ["code"], "capabilities": ["docker", "git"]}
_GPU: Final[dict[str, Any]] = {"dispatch": {"workloadClass": "gpu", "requiredHostCapabilities": ["cuda"]}}


def _issue(task: str, priority: str = "medium", size: str = "M", **more: Any) -> dict[str, Any]:
    return {"task": task, "priority": priority, "size": size, **more}


_ROLLOUT: Final = {
    "milestones": [
        {
            "milestone_key": "inventory",
            "description": "know what is there",
            "issues": [
                _issue("list every consumer of the invoice API", "high", "S"),
                _issue("record today's error rates", "medium", "S"),
            ],
        },
        {
            "milestone_key": "migrate",
            "description": "move consumers to v3",
            "depends_on_milestone_keys": ["inventory"],
            "issues": [
                _issue("move the checkout service", "critical", "L"),
                _issue("move the refunds worker", "high", "M"),
                _issue("move the nightly export", "medium", "M"),
                _issue("rewrite the tax rounding shim", "high", "L", policy={"maxRecoveries": 1}),
                _issue("drop the v2 client from the SDK", "low", "S", depends_on_indices=[0, 1, 2]),
            ],
        },
        {
            "milestone_key": "cutover",
            "description": "switch v2 off",
            "depends_on_milestone_keys": ["migrate"],
            "issues": [
                _issue("announce the date", "medium", "S"),
                _issue("delete the v2 routes", "high", "M", depends_on_indices=[0]),
            ],
        },
    ]
}
_SEARCH: Final = (
    "reindex products, shard %d",
    "compare relevance on shard %d",
    "swap the alias of shard %d",
    "warm the cache of shard %d",
)
_NOTES: Final = ("half of it is through", "tests are green", "waiting for a slot", "two of three checks pass")


class _MovedClock:
    """The real clock, some time ago; moved on by hand until it has caught up."""

    def __init__(self, clock: Clock, ago_ms: int) -> None:
        self._clock = clock
        self.behind_ms = ago_ms

    def now_ms(self) -> int:
        """Now, as the demo has it."""
        return self._clock.now_ms() - self.behind_ms

    def monotonic(self) -> float:
        """Seconds that never run backwards."""
        return self._clock.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        self._clock.sleep(seconds)

    def boot(self) -> str:
        """Not told: what is made here lay in the past."""
        return UNKNOWN_BOOT


class DemoMemory:
    """A memory that keeps nothing: it numbers what it is told, and has nothing to say."""

    def __init__(self) -> None:
        self._told: list[str] = []

    def recall(self, query: str, scope: MemoryScope, limit: int) -> tuple[Recalled, ...]:
        """Nothing."""
        del query, scope, limit
        return ()

    def remember(self, keepsake: Keepsake) -> str:
        """The number of a text, the same however often it is told."""
        if keepsake.key not in self._told:
            self._told.append(keepsake.key)
        return f"mem-{self._told.index(keepsake.key) + 1:04}"


class DemoQueue:
    """A queue in one data directory: written once, then moved step by step."""

    def __init__(self, settings: Settings, clock: Clock, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311 - a demo wants the same fleet each time, not secrecy
        self._clock = _MovedClock(clock, _STARTED_MINUTES * _MINUTE)
        opened = open_environment(settings, Surface.CLI, clock=self._clock, mint=self._hex, delivers=True)
        self._env = changed(opened, kept={"memory": DemoMemory()})
        self._held: list[tuple[str, str, int]] = []
        self._shard = 0

    def write(self) -> None:
        """Bring the work in, and let most of it happen."""
        self._did("queue init", name="northwind")
        self._did("queue campaign", project_name="billing", campaign_name="invoice API v3", objective="retire v2")
        self._did("queue campaign", project_name="billing", campaign_name="search", objective="reindex everything")
        self._did("queue plan", batch=dumps(_ROLLOUT), campaign="invoice API v3")
        self._more_search()
        for agent in ("scout-1", "scout-2"):
            self._pass(11)
            self._done(self._claim(agent), "the list is in the wiki")
        self._crash_loop()
        self._blocked(self._claim("agent-7", memory=True))
        self._pass(30)
        refunds = self._claim("agent-4", memory=True)
        self._progress(refunds, "the refunds worker answers from v3 in staging", memory=True)
        self._pass(44)
        for number in range(2):
            self._begin(f"indexer-{number + 1}")
        self._pass(6)
        self._clock.behind_ms = 0

    def step(self) -> str | None:
        """Let one agent of the search campaign record progress, finish, or take the next issue; answers its lease."""
        if not self._held:
            return self._begin("indexer-1")
        place = self._random.randrange(len(self._held))
        agent, lease, progress = self._held[place]
        if progress < 2:  # noqa: PLR2004 - checkpoints before an issue is done
            if self._progress(lease, self._random.choice(_NOTES)) is None:
                self._held.pop(place)
                return None
            self._held[place] = (agent, lease, progress + 1)
            return lease
        self._held.pop(place)
        self._done(lease, "checked and swapped in")
        return self._begin(agent)

    def close(self) -> None:
        """Let go of the file."""
        self._env.queue.close()

    def _hex(self) -> str:
        return f"{self._random.getrandbits(64):016x}"

    def _pass(self, minutes: int) -> None:
        self._clock.behind_ms -= minutes * _MINUTE

    def _did(self, name: str, /, **raw: object) -> Any:
        """What a command answers; None where it is refused: somebody else may act in the demo too."""
        answer = run(load_command(name), raw, self._env)
        return None if answer.error is not None else answer.result

    def _claim(self, agent: str, campaign: str = "invoice API v3", **more: object) -> str | None:
        answer = self._did("queue claim", agent=agent, campaign=campaign, **_HOST, **more)
        return None if answer is None else str(answer["leaseId"])

    def _progress(self, lease: str | None, summary: str, **more: object) -> Any:
        return self._report("queue checkpoint", lease, "in_progress", summary, "go on", **more)

    def _done(self, lease: str | None, summary: str) -> Any:
        return self._report("queue close", lease, "done", summary, "nothing")

    def _report(self, name: str, lease: str | None, status: str, summary: str, next_step: str, **more: object) -> Any:
        told = {"status": status, "summary": summary, "next_step": next_step, "evidence": [f"commit:{self._hex()[:7]}"]}
        return self._did(name, lease=lease, **told, **more)

    def _crash_loop(self) -> None:
        """An issue whose agent dies again and again, until it counts as failed."""
        shim = next(one for one in self._did("queue list", status="ready")["issues"] if "shim" in one["task"])
        self._did("queue claim", issue_id=shim["id"], agent="agent-9", campaign="invoice API v3", ttl=300, **_HOST)
        self._pass(8)
        self._did("queue recover", issue_id=shim["id"], resolution="resume", agent="agent-9", ttl=300, **_HOST)
        self._pass(8)
        self._did("queue reconcile", campaign="invoice API v3")

    def _blocked(self, lease: str | None) -> None:
        self._pass(4)
        self._report("queue close", lease, "blocked", "needs the finance team's sign-off", "ask them again")

    def _begin(self, agent: str) -> str | None:
        lease = self._claim(agent, "search")
        if lease is None:
            self._more_search()
            lease = self._claim(agent, "search")
        if lease is not None:
            self._held.append((agent, lease, 0))
        return lease

    def _more_search(self) -> None:
        """Another shard to be reindexed."""
        self._shard += 1
        issues = [_issue(task % self._shard, size="S") for task in _SEARCH]
        issues[1]["depends_on_indices"] = [0]
        issues[2]["depends_on_indices"] = [1]
        if self._shard == 1:
            issues.append(_issue("embed the descriptions anew", "high", "XL", policy=_GPU))
        milestone = {"milestone_key": f"shard {self._shard}", "description": "one shard", "issues": issues}
        self._did("queue plan", batch=dumps({"milestones": [milestone]}), campaign="search")
