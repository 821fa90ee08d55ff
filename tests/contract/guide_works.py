"""An application whose every execution leaves a line, and the real processes that plan it and carry it out."""

import fcntl
import json
import os
import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from phelix_core.clock import SystemClock
from phelix_core.processes import ProcessIdentity, is_alive
from tests.core.arc.stage import declare
from tests.mcp.host import Gate
from tests.rig import PHELIX, Phelix

PATIENCE_S = 30
VERSION = "1.4.0"


def works(data_dir: Path, does: str = "echo did $0") -> Path:
    """Declare the application `shop`: each command leaves a line in a ledger, then does that; it is well at first.

    Answers the file whose being there is its health.
    """
    well = data_dir.parent / "well"
    well.touch()
    health = f'\n[health]\ncommand = ["sh", "-c", "test -e {well}"]\ntime_limit_seconds = 10\n'
    declare(data_dir, f"echo x >> {ledger(data_dir)}; {does}", more=health)
    return well


def ledger(data_dir: Path) -> Path:
    return data_dir.parent / "ledger"


def executions(data_dir: Path) -> int:
    """How often a command of the application has begun."""
    return len(ledger(data_dir).read_text().splitlines()) if ledger(data_dir).exists() else 0


def held(data_dir: Path) -> Gate:
    """The application's commands wait at this gate from now on."""
    gate = Gate(data_dir.parent, "held")
    works(data_dir, f"cat {data_dir.parent}/held; echo did $0")
    return gate


def planned(phelix: Phelix, version: str = VERSION, action: str = "deploy") -> str:
    """The id of a new plan."""
    plan_id: str = phelix("plan", "create", action, "shop", "--to", version, "--json").result["plan_id"]
    return plan_id


def operation_of(plan_id: str) -> str:
    return plan_id.replace("pln_", "op_")


@contextmanager
def applying(phelix: Phelix, plan_id: str) -> Generator["subprocess.Popen[bytes]"]:
    """A process that applies the plan, gone at the end with whatever it began."""
    argv = [PHELIX, "plan", "apply", plan_id, "--json"]
    with subprocess.Popen(
        argv, env=phelix.environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            yield process
        finally:
            process.kill()
            end_of_command(phelix.data_dir, plan_id)


def answer_of(process: "subprocess.Popen[bytes]") -> Any:
    """The envelope that an applying process ends with."""
    return json.loads(process.communicate(timeout=PATIENCE_S)[0])


def end_of_command(data_dir: Path, plan_id: str) -> None:
    """Kill the group of a plan's command, if it still runs, and wait until nobody holds the application."""
    path = data_dir / "ops" / f"{operation_of(plan_id)}.json"
    operation: Any = json.loads(path.read_bytes()) if path.exists() else {}
    child = operation.get("process", {}).get("child")
    if child is not None and is_alive(ProcessIdentity(**child), SystemClock().boot()):
        with suppress(ProcessLookupError):
            os.killpg(child["pid"], signal.SIGKILL)
    for lock in data_dir.glob("ops/locks/*.lock"):
        with lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
