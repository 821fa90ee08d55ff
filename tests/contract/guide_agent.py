"""An agent that records its work, the story that its calls should have told, and the judge of what is read of it.

As a program, `guide_agent.py <phelix> <instructions>`, it makes one call of the real command line after the other and
says `told <n>` on its standard output after each that succeeded; it knows nothing but what it was told.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from random import Random
from typing import Any, Final

PLANS: Final = tuple(f"pln_{number:016x}" for number in range(1, 4))
OPERATIONS: Final = tuple(f"op_{number:016x}" for number in range(1, 4))
DEPLOYMENTS: Final = tuple(f"dep-{number:x}" for number in range(1, 9))
CLOSERS: Final = {"complete": "completed", "fail": "failed"}
_MANY: Final = ("plans", "operations", "deployments")
LONG, SHORT = "Roll out the search service", "Rotate the certificates"


@dataclass(frozen=True)
class Call:
    """One call about the session of that title; `given` holds its members by the names that MCP has for them."""

    verb: str
    title: str
    given: dict[str, Any] = field(default_factory=dict[str, Any])

    def argv(self, ids: Mapping[str, str]) -> list[str]:
        """The words for the command line."""
        words = ["session", self.verb, *([] if self.verb == "create" else [ids[self.title]])]
        for name, given in self.arguments({}).items():
            many = name in _MANY
            option = f"--{name.removesuffix('s') if many else name}"
            words += [f"{option}={value}" for value in (given if many else [given])]
        return [*words, "--json"]

    def arguments(self, ids: Mapping[str, str]) -> dict[str, Any]:
        """The arguments of the tool."""
        if self.verb == "create":
            return {"title": self.title, **self.given}
        return {**({"session_id": ids[self.title]} if ids else {}), **self.given}


@dataclass(frozen=True)
class Story:
    """What there is to know of one session: its status, what it touched, and where it got to."""

    status: str
    rev: int
    step: str | None = None
    note: str | None = None
    final_result: str | None = None
    plans: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    deployments: tuple[str, ...] = ()
    history: tuple[str, ...] = ()


Stories = dict[str, Story]


def work(seed: int) -> list[Call]:
    """Nine calls about two sessions: the first one is closed at the end, the second stays in flight."""
    random = Random(seed)
    calls = [Call("create", LONG, {"app": "search"}), Call("checkpoint", LONG, {"step": "inspect"})]
    calls.append(Call("create", SHORT))
    for number in range(5):
        linked = {
            kind: random.sample(known, random.randint(1, 3))
            for kind, known in zip(_MANY, (PLANS, OPERATIONS, DEPLOYMENTS), strict=True)
            if random.random() < 0.5
        }
        words = {"step": f"step {number}", "note": f"{random.randrange(100)} %"}
        told = {name: text for name, text in words.items() if random.random() < 0.6} or ({} if linked else words)
        calls.append(Call("checkpoint", random.choice((LONG, SHORT)), {**told, **linked}))
    calls.append(Call(*random.choice((("complete", LONG, {"result": "done"}), ("fail", LONG, {"reason": "it broke"})))))
    return calls


def told_by(calls: Sequence[Call]) -> Iterator[Stories]:
    """The stories before the first call and after each."""
    stories: Stories = {}
    yield stories
    for call in calls:
        before = stories.get(call.title)
        stories = {**stories, call.title: _after(before, call)}
        yield stories


def _after(before: Story | None, call: Call) -> Story:
    if before is None:
        assert call.verb == "create"
        return Story("active", 1, history=("created",))
    links = {kind: tuple(dict.fromkeys((*getattr(before, kind), *call.given.get(kind, ())))) for kind in _MANY}
    after = replace(before, rev=before.rev + 1, **links)
    if call.verb == "checkpoint":
        words = {name: call.given.get(name) for name in ("step", "note")}
        return replace(after, history=(*before.history, "checkpoint"), **(words if any(words.values()) else {}))
    status = CLOSERS[call.verb]
    text = call.given.get("result") or call.given.get("reason")
    return replace(after, history=(*before.history, status), status=status, final_result=text)


def read(shown: Iterable[Mapping[str, Any]]) -> Stories:
    """The stories in records as `session show` answers them."""
    stories: Stories = {}
    for record in shown:
        events = record["events"]
        assert [event["seq"] for event in events] == list(range(record["rev"])), "the history is whole and in order"
        assert record["title"] not in stories
        point = record.get("checkpoint", {})
        stories[record["title"]] = Story(
            status=record["status"],
            rev=record["rev"],
            step=point.get("step"),
            note=point.get("note"),
            final_result=record.get("final_result"),
            plans=tuple(record.get("plan_ids", ())),
            operations=tuple(record.get("operation_ids", ())),
            deployments=tuple(record.get("deployment_ids", ())),
            history=tuple(event["type"] for event in events),
        )
    return stories


def calls_done(calls: Sequence[Call], acknowledged: int, found: Stories) -> int:
    """How many calls are in the records: as many as were acknowledged, or the one that was under way as well."""
    states = list(told_by(calls))
    for done in (acknowledged, acknowledged + 1):
        if done < len(states) and found == states[done]:
            return done
    raise AssertionError(f"after {acknowledged} acknowledged calls of {calls} there is {found}")


@dataclass(frozen=True)
class Instructions:
    """What an agent is told: its calls, the ids that are known, and where one of its calls is to wait for the end."""

    calls: list[Call]
    ids: dict[str, str] = field(default_factory=dict[str, str])
    pause_in: int = -1
    pause: str = ""

    def json(self) -> str:
        return json.dumps(asdict(self))


def work_on(phelix: str, told: Instructions) -> int:
    """Make each call; answers the exit status of the first that failed."""
    ids = dict(told.ids)
    for number, call in enumerate(told.calls):
        paused = {"PHELIX_WATCH_PAUSE": told.pause} if number == told.pause_in else {}
        ran = subprocess.run(
            [phelix, *call.argv(ids)], stdout=subprocess.PIPE, env={**os.environ, **paused}, check=False
        )
        if ran.returncode:
            return ran.returncode
        answer = json.loads(ran.stdout)["result"]
        ids[answer["title"]] = answer["session_id"]
        print("told", number, flush=True)
    return 0


if __name__ == "__main__":
    given = json.loads(sys.argv[2])
    given["calls"] = [Call(**call) for call in given["calls"]]
    sys.exit(work_on(sys.argv[1], Instructions(**given)))
