"""What tests of the core and of its surfaces stand on, without fixtures: clock, ids, processes, comparing bytes."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from phelix_core.checks import Surface
from phelix_core.commands.environment import Environment, open_environment
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.envelope import Envelope
from phelix_core.settings import Settings
from phelix_core.strictjson import loads

NOW_MS = 1_790_000_000_000
PHELIX = Path(sys.executable).with_name("phelix")


class FixedClock:
    """A clock that moves only when a test moves it; sleeping moves its monotonic side."""

    def __init__(self, now_ms: int = NOW_MS) -> None:
        self.wall_ms = now_ms
        self.elapsed = 0.0
        self.boot_id = "boot-1"

    def now_ms(self) -> int:
        return self.wall_ms

    def monotonic(self) -> float:
        return self.elapsed

    def sleep(self, seconds: float) -> None:
        self.elapsed += seconds

    def boot(self) -> str:
        return self.boot_id

    def advance(self, seconds: float) -> None:
        """Let time pass by both clocks."""
        self.wall_ms += round(seconds * 1000)
        self.elapsed += seconds


class CountedIds:
    """Ids in order: the first is …0001."""

    def __init__(self) -> None:
        self._numbers: Iterator[int] = count(1)

    def __call__(self) -> str:
        return f"{next(self._numbers):016x}"


@dataclass(frozen=True)
class Ran:
    """What a process said and how it ended."""

    code: int
    out: bytes
    err: str

    @property
    def envelope(self) -> Any:
        """The one JSON document on stdout, which must be in its one form."""
        assert self.out.endswith(b"\n}\n"), self.out
        return loads(self.out)

    @property
    def result(self) -> Any:
        assert self.code == 0, self
        return self.envelope["result"]

    @property
    def error(self) -> Any:
        assert self.code != 0, self
        assert "Traceback" not in self.err, self.err
        return self.envelope["error"]


AS_A_PLAIN_USER = """
import ctypes, os, sys
if os.geteuid() == 0:  # root passes over modes unless its capabilities to do so are dropped before the program starts
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP
os.execv(sys.argv[1], sys.argv[1:])
"""


class Phelix:
    """Runs the installed `phelix` as a process of its own over one data directory."""

    def __init__(self, data_dir: Path, scratch: Path) -> None:
        self.data_dir = data_dir
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(scratch / "home"),
            "PHELIX_DATA_DIR": str(data_dir),
            "TMPDIR": str(scratch),
            "LC_ALL": "C.UTF-8",
        }

    def __call__(
        self,
        *argv: str | bytes,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        umask: int = -1,
    ) -> Ran:
        return self._run([str(PHELIX), *argv], stdin, env, cwd, umask)

    def as_a_plain_user(self, *argv: str) -> Ran:
        """The same for somebody whom file modes bind, also where the tests are root's."""
        return self._run([sys.executable, "-c", AS_A_PLAIN_USER, str(PHELIX), *argv])

    def _run(
        self,
        argv: Sequence[str | bytes],
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        umask: int = -1,
    ) -> Ran:
        ran = subprocess.run(
            argv,
            input=stdin,
            capture_output=True,
            env={**self.environ, **(env or {})},
            cwd=cwd,
            umask=umask,
            timeout=60,
            check=False,
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr.decode("utf-8", "replace"))


def environment(data_dir: Path, clock: FixedClock, surface: Surface = Surface.CLI, **chosen: Any) -> Environment:
    """An environment over `data_dir` with counted ids."""
    return open_environment(Settings(data_dir=str(data_dir), **chosen), surface, clock=clock, mint=CountedIds())


def did(env: Environment, name: str, /, **raw: object) -> Any:
    """The result of a command that must succeed, carried out in process."""
    envelope = run(load_command(name), raw, env)
    assert envelope.error is None, envelope.error
    return envelope.result


def refused(env: Environment, name: str, /, **raw: object) -> Any:
    """The error of a command that must fail, as its envelope tells it."""
    envelope: Envelope = run(load_command(name), raw, env)
    assert envelope.error is not None, envelope.result
    return envelope.failure()


def bytes_of(folder: Path) -> dict[str, bytes | str | None]:
    """Every path under `folder` with its bytes: what a refusal must leave alone.

    Folders read as None, links and special files as what they are. An empty lock file is left out: a writer may make
    one beside a record that exists, and it holds nothing.
    """
    found: dict[str, bytes | str | None] = {}
    for path in sorted(folder.rglob("*")) if folder.is_dir() and not folder.is_symlink() else [folder]:
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"link to {path.readlink()}"
        elif path.is_dir():
            found[name] = None
        elif not path.exists():
            found[name] = "absent"
        elif not path.is_file():
            found[name] = f"special {path.stat().st_mode:o}"
        elif not (path.suffix == ".lock" and path.stat().st_size == 0):
            found[name] = path.read_bytes()
    return found
