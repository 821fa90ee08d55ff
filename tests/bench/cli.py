"""One call of the command line, start to exit, beside `python -c pass` of the same environment.

Fresh processes with a warm file cache, console script and interpreter of one environment, bytecode compiled. Where
valgrind is there the instructions are counted too, since that count repeats.
"""

import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from phelix_core.checks import Surface
from phelix_core.commands.environment import Environment, open_environment
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.settings import Settings
from tests.bench import Row, compile_bytecode, interleaved, median_ratio, plain_environment

BUDGET = 5.0
ROUNDS = 31
SESSIONS = 20
EVENTS = 50
_PHELIX = str(Path(sys.executable).with_name("phelix"))
_PASS = [sys.executable, "-c", "pass"]


def _calls(data_dir: str) -> dict[str, list[str]]:
    env = open_environment(Settings(data_dir=data_dir), Surface.CLI)
    for number in range(SESSIONS):
        run(load_command("session create"), {"title": f"Roll out service {number}", "app": "search-api"}, env)
    (session_id, *_) = env.sessions.ids()
    for number in range(EVENTS - 1):
        said = {"session_id": session_id, "step": "deploy", "note": f"host {number} answers its health check"}
        run(load_command("session checkpoint"), said, env)
    common = ["--json", "--data-dir", data_dir]
    context = _claimed(env)
    return {
        "session checkpoint --json": [
            *[_PHELIX, "session", "checkpoint", session_id],
            *["--step", "verify", "--note", "two hosts answer their health check", *common],
        ],
        "queue checkpoint --json": [
            *[_PHELIX, "queue", "checkpoint", "--lease", context["leaseId"], "--status", "in_progress"],
            *["--summary", "Two hosts answer their health check", "--next", "Wait for the third"],
            *["--evidence", "commit:4f1c2ab", *common],
        ],
        "session show --json": [_PHELIX, "session", "show", session_id, *common],
        "session list --limit 20 --json": [_PHELIX, "session", "list", "--limit", "20", *common],
        "--version (imports alone)": [_PHELIX, "--version"],
    }


def _claimed(env: Environment) -> Any:
    """A claim in a queue of twenty issues."""
    issues = [{"task": f"Roll out service {number}", "priority": "medium", "size": "S"} for number in range(SESSIONS)]
    batch = {"milestones": [{"milestone_key": "m", "description": "The rollout", "issues": issues}]}
    run(load_command("queue init"), {"name": "acme"}, env)
    run(load_command("queue campaign"), {"project_name": "search", "campaign_name": "rollout"}, env)
    run(load_command("queue plan"), {"batch": json.dumps(batch), "campaign": "rollout"}, env)
    host = {"host": "build-7", "workload_classes": ["default"], "ttl": 86_400, "agent": "a1"}
    context = run(load_command("queue claim"), host, env).result
    env.queue.close()
    return context


def _process(argv: list[str]) -> Callable[[], None]:
    environment = plain_environment()

    def work() -> None:
        subprocess.run(argv, env=environment, stdout=subprocess.DEVNULL, check=True)

    return work


def _instructions(argv: list[str]) -> float:
    """Millions of instructions that one process takes."""
    counted = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, *argv],
        env={**plain_environment(), "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(r"Collected : (\d+)", counted.stderr)
    assert found
    return int(found[1]) / 1e6


def rows() -> list[Row]:
    """Wall time, and instructions where they can be counted."""
    compile_bytecode()
    with tempfile.TemporaryDirectory() as data_dir:
        calls = _calls(data_dir)
        works = {"pass": _process(_PASS), **{name: _process(argv) for name, argv in calls.items()}}
        interleaved(works, 2)  # warm
        seconds = interleaved(works, ROUNDS)
        found = [
            Row(
                name=name,
                ours=statistics.median(seconds[name]) * 1e3,
                baseline=statistics.median(seconds["pass"]) * 1e3,
                unit="ms",
                ratio=median_ratio(seconds[name], seconds["pass"]),
                at_most=BUDGET,
            )
            for name in calls
        ]
        if shutil.which("valgrind"):
            bare = _instructions(_PASS[1:])
            for name, argv in calls.items():
                ours = _instructions(argv)
                found.append(Row(name=name, ours=ours, baseline=bare, unit="Mi", ratio=ours / bare, at_most=BUDGET))
    return found
