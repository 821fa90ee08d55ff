from collections.abc import Callable
from threading import Event, Thread
from threading import enumerate as threads

import pytest

from phelix_core.memory.bounded import STILL_BUSY, Bounded
from phelix_core.memory.opening import open_memory
from phelix_core.memory.port import NOT_CONFIGURED, Keepsake, MemoryScope, MemoryUnavailable, Recalled
from phelix_core.settings import MemorySettings, Settings

SCOPE = MemoryScope(workspace="northwind", project="billing")
KEEPSAKE = Keepsake(key="k1", kind="note", text="the canary held", scope=SCOPE, checkpoint_id="C-1")
LONG_S = 60.0
SHORT_S = 0.05


class Script:
    """A memory that does what a test tells it to."""

    def __init__(self, act: Callable[[], str]) -> None:
        self.act = act
        self.calls = 0

    def recall(self, query: str, scope: MemoryScope, limit: int) -> tuple[Recalled, ...]:
        return (Recalled(ref=self.remember(KEEPSAKE), text=f"{query} in {scope.project}, {limit}"),)

    def remember(self, keepsake: Keepsake) -> str:
        del keepsake
        self.calls += 1
        return self.act()


class Held:
    """A call that has begun and goes on until it is let go."""

    def __init__(self) -> None:
        self.begun = Event()
        self.let_go = Event()

    def __call__(self) -> str:
        self.begun.set()
        assert self.let_go.wait(LONG_S)
        return "late"


def raising(error: BaseException) -> Callable[[], str]:
    def act() -> str:
        raise error

    return act


def workers() -> list[Thread]:
    return [thread for thread in threads() if thread.name == "memory"]


def wait_for_the_worker_to_end() -> None:
    for thread in workers():
        thread.join(LONG_S)


def test_a_memory_in_time_answers_as_it_is() -> None:
    bounded = Bounded(Script(lambda: "ref-1"), LONG_S)
    assert bounded.remember(KEEPSAKE) == "ref-1"
    assert bounded.recall("canary", SCOPE, 3) == (Recalled(ref="ref-1", text="canary in billing, 3"),)


def test_a_slow_memory_is_unavailable_once_its_time_is_over() -> None:
    held = Held()
    with pytest.raises(MemoryUnavailable, match=r"^no answer within 0\.05 s$"):
        Bounded(Script(held), SHORT_S).remember(KEEPSAKE)
    held.let_go.set()


def test_while_a_late_call_runs_every_further_one_fails_at_once_and_starts_no_thread() -> None:
    held = Held()
    memory = Script(held)
    bounded = Bounded(memory, SHORT_S)
    with pytest.raises(MemoryUnavailable):
        bounded.remember(KEEPSAKE)
    before = len(workers())
    for _ in range(20):
        with pytest.raises(MemoryUnavailable, match=STILL_BUSY):
            bounded.recall("canary", SCOPE, 3)
    assert (memory.calls, len(workers())) == (1, before)
    held.let_go.set()


def test_after_a_late_call_has_ended_the_memory_is_asked_again_and_its_late_answer_is_nobody_s() -> None:
    held = Held()
    memory = Script(held)
    bounded = Bounded(memory, SHORT_S)
    with pytest.raises(MemoryUnavailable):
        bounded.remember(KEEPSAKE)
    held.let_go.set()
    wait_for_the_worker_to_end()
    memory.act = lambda: "new"
    assert bounded.remember(KEEPSAKE) == "new"


def test_a_second_call_waits_for_its_turn_and_is_answered() -> None:
    held = Held()
    memory = Script(held)
    bounded = Bounded(memory, LONG_S)
    answers: list[str] = []
    first = Thread(target=lambda: answers.append(bounded.remember(KEEPSAKE)))
    first.start()
    assert held.begun.wait(LONG_S)
    second = Thread(target=lambda: answers.append(bounded.remember(KEEPSAKE)))
    second.start()
    held.let_go.set()
    first.join(LONG_S)
    second.join(LONG_S)
    assert (answers, memory.calls) == (["late", "late"], 2)


def test_a_memory_s_own_reason_is_passed_on() -> None:
    with pytest.raises(MemoryUnavailable, match=r"^the disk is full$"):
        Bounded(Script(raising(MemoryUnavailable("the disk is full"))), LONG_S).remember(KEEPSAKE)


@pytest.mark.parametrize("error", [ValueError("sk-secret"), MemoryError(), SystemExit(3), RecursionError("sk-secret")])
def test_anything_else_that_is_raised_is_told_by_its_name_alone(error: BaseException) -> None:
    bounded = Bounded(Script(raising(error)), LONG_S)
    with pytest.raises(MemoryUnavailable, match=f"^the memory failed: {type(error).__name__}$"):
        bounded.recall("canary", SCOPE, 3)
    with pytest.raises(MemoryUnavailable):
        bounded.recall("canary", SCOPE, 3)


def test_settings_without_a_memory_open_one_that_says_so() -> None:
    with pytest.raises(MemoryUnavailable, match=NOT_CONFIGURED):
        open_memory(Settings(data_dir="/nowhere")).recall("canary", SCOPE, 3)


def test_opening_a_memory_touches_nothing_even_where_nothing_can_be() -> None:
    memory = open_memory(Settings(data_dir="/dev/null", memory=MemorySettings()))
    with pytest.raises(MemoryUnavailable, match="folder"):
        memory.remember(KEEPSAKE)


def test_where_no_thread_can_be_started_the_call_fails_and_the_next_one_may_succeed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_: Thread) -> None:
        raise RuntimeError("can't start new thread")

    bounded = Bounded(Script(lambda: "ref-1"), LONG_S)
    with monkeypatch.context() as full:
        full.setattr(Thread, "start", refuse)
        with pytest.raises(MemoryUnavailable, match="no thread can be started"):
            bounded.remember(KEEPSAKE)
    assert bounded.remember(KEEPSAKE) == "ref-1"


def test_a_call_that_waits_for_its_turn_waits_no_longer_than_its_own_time() -> None:
    held = Held()
    bounded = Bounded(Script(held), SHORT_S)

    def fail() -> None:
        with pytest.raises(MemoryUnavailable):
            bounded.remember(KEEPSAKE)

    first = Thread(target=fail)
    first.start()
    assert held.begun.wait(LONG_S)
    fail()
    first.join(LONG_S)
    held.let_go.set()
