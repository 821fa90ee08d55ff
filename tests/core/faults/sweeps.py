"""Sweeps: the same write again and again, with a fault at each call in turn.

`phelix` is judged by `Trial.judge` after each; the first call at which a store breaks a promise ends the sweep with
`AssertionError`, which names the call.
"""

import gc
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.core.faults.nursery import Nursery, Told, write
from tests.core.faults.shim import ERRNOS
from tests.core.faults.tracing import traced
from tests.core.faults.trial import Trial

INJECTED = {
    "kill": "signal=KILL",
    "interrupt": "signal=INT",
    **{error: f"error={error}" for error in ERRNOS},
}
"""What strace does to a call, by the name the judgement knows it by."""


@dataclass(frozen=True)
class Swept:
    """How many calls were hit, and what the callers were told: "" stands for nothing at all."""

    calls: int
    told: dict[str, int]


def _tally(seen: Iterable[Told]) -> dict[str, int]:
    told: dict[str, int] = {}
    for one in seen:
        told[one.code] = told.get(one.code, 0) + 1
    return told


def traced_sweep(nursery: Nursery, scratch: Path, kind: str, mode: str, store: str = "real") -> Swept:
    """Fault `mode` at each system call of a real writer in its own process."""
    plain, calls = traced(nursery, (trial := Trial(scratch, kind, store)).case)
    trial.judge(plain, mode)
    seen: list[Told] = []
    for call in calls:
        trial = Trial(scratch, kind, store)
        told, _ = traced(nursery, trial.case, "-e", f"inject={call.name}:{INJECTED[mode]}:when={call.number}")
        _judge(trial, told, mode, f"{kind}, {mode} at {call.shown}")
        seen.append(told)
    return Swept(len(calls), _tally(seen))


def shimmed_sweep(nursery: Nursery | None, scratch: Path, kind: str, mode: str, store: str = "real") -> Swept:
    """Fault `mode` at each call of the `os` module: in a process of its own with a nursery, else in this one."""
    gc.collect()  # what other tests of this process left open must not be closed in the middle of this one
    gc.disable()
    try:
        return _each_call(nursery, scratch, kind, mode, store)
    finally:
        gc.enable()


def _each_call(nursery: Nursery | None, scratch: Path, kind: str, mode: str, store: str) -> Swept:
    plain = _shimmed(nursery, trial := Trial(scratch, kind, store))
    trial.judge(plain, mode)
    seen: list[Told] = []
    for number, name in enumerate(plain.calls, 1):
        trial = Trial(scratch, kind, store)
        trial.case |= {"mode": mode, "at": number}
        descriptors = open_descriptors()
        told = _shimmed(nursery, trial)
        if not mode.startswith("interrupt"):  # one that lands right after `open` leaves no name to close it by
            assert open_descriptors() == descriptors, f"{kind}, {mode} at {name} ({number}) left a descriptor open"
        _judge(trial, told, mode, f"{kind}, {mode} at {name} ({number})")
        seen.append(told)
    return Swept(len(plain.calls), _tally(seen))


def _shimmed(nursery: Nursery | None, trial: Trial) -> Told:
    if nursery is None:
        said = write(trial.case)
        return Told(0, said["code"], said["calls"], "")
    nursery.fork(trial.case)
    return nursery.release(trial.case)


def _judge(trial: Trial, told: Told, mode: str, where: str) -> None:
    try:
        trial.judge(told, mode)
    except Exception as broken:
        raise AssertionError(f"{where}: {broken}") from broken


def open_descriptors() -> int:
    """How many descriptors this process holds."""
    return len(os.listdir("/dev/fd"))
