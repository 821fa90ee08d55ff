"""What the tests of the sessions guide stand on: planted plans and operations, watched processes, a place to wait."""

import os
import select
import shutil
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.contract import guide_watch
from tests.contract.guide_agent import OPERATIONS, PLANS
from tests.rig import Phelix
from tests.surfaces.test_upstream_checklist import write_operation, write_plan

PATIENCE_S = 60
CLOSERS = {"complete": "completed", "fail": "failed", "cancel": "cancelled"}
MUTATIONS = {"checkpoint": ["--step", "s"], "complete": [], "fail": [], "cancel": []}
PLAN, OPERATION, DEPLOYMENT = PLANS[0], OPERATIONS[0], "dep-1"
LINKED = ["--plan", PLAN, "--operation", OPERATION, "--deployment", DEPLOYMENT]
SECRET = "ghp_0123456789abcdefghijABCDEFGHIJ012345"


def planted(data_dir: Path) -> None:
    """Plans and operations that can be linked, an application's state, and a policy under which plans need approval."""
    for plan_id in PLANS:
        write_plan(data_dir, plan_id)
    for operation_id in OPERATIONS:
        write_operation(data_dir, operation_id, deployment_id=f"dep-{operation_id[-1]}")
    (data_dir / "apps" / "Billing").mkdir(parents=True)
    (data_dir / "apps" / "Billing" / "deploy.json").write_text('{"deployment_id": "dep-1", "status": "running"}')
    (data_dir / "authz").mkdir()
    (data_dir / "authz" / "policy.json").write_text(
        '{"schema_version": "1", "mode": "enforced", "rules": [{"actor": {"type": "*", "authenticated": false},'
        ' "action": "*", "target": "*", "effect": "allow", "require_approval": true}]}'
    )


def path_of(data_dir: Path, session_id: str) -> Path:
    return data_dir / "sessions" / f"{session_id}.json"


def created(phelix: Phelix, *options: str) -> str:
    """The id of a new session."""
    session_id: str = phelix("session", "create", *options, "--json").result["session_id"]
    return session_id


def beside_sessions(files: dict[str, Any]) -> dict[str, Any]:
    """All but the records themselves and the listing index, which is derived from them."""
    return {name: data for name, data in files.items() if name.split("/")[0] not in {"sessions", "cache"}}


def watching(scratch: Path) -> dict[str, str]:
    """The surroundings of a process that notes what it asks of the system; `asked` reads the notes."""
    folder = scratch / "watch"
    folder.mkdir(exist_ok=True)
    shutil.copy(guide_watch.__file__, folder / "sitecustomize.py")
    return {
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PHELIX_WATCH_LOG": str(scratch / "watch.log"),
    }


def asked(scratch: Path) -> list[str]:
    """What the watched processes asked for beyond changing files: programs, connections, signals."""
    log = scratch / "watch.log"
    lines = log.read_text().splitlines() if log.exists() else []
    return [line.removeprefix("ask ") for line in lines if line.startswith("ask ")]


class Meeting:
    """A FIFO at which a process that waits for its end says which one it is."""

    def __init__(self, scratch: Path) -> None:
        self.path = scratch / "meeting"
        os.mkfifo(self.path)
        self.end = os.open(self.path, os.O_RDWR | os.O_NONBLOCK)  # open for writing as well, so that it has no end

    def before(self, change: int) -> str:
        """The words that have a watched process wait here before that change of a file."""
        return f"{change} {self.path}"

    def heard(self) -> tuple[int, str]:
        """Who waits, and before what; called when there is something to read."""
        said = b""
        while not said.endswith(b"\n"):
            said += os.read(self.end, 4096)
        pid, _, what = said.decode().strip().partition(" ")
        return int(pid), what


@contextmanager
def meeting(scratch: Path) -> Generator[Meeting]:
    """A place to meet, taken away at the end."""
    place = Meeting(scratch)
    try:
        yield place
    finally:
        os.close(place.end)
        place.path.unlink()


def readable(*ends: int) -> Sequence[int]:
    """Those of the descriptors that can be read, waiting for the first."""
    ready, _, _ = select.select(ends, [], [], PATIENCE_S)
    assert ready, "nobody says anything"
    return ready
