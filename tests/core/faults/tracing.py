"""The real system calls of a writer: listed by `strace`, and then made to fail or to kill, one at a time."""

import os
import re
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.core.faults.nursery import Nursery, Told

FILE_CALLS = (
    "chmod,chown,close,fchmod,fchmodat,fchown,fchownat,flock,fstat,fsync,getdents64,link,linkat,lstat,mkdir,"
    "mkdirat,newfstatat,open,openat,read,rename,renameat,renameat2,stat,unlink,unlinkat,write"
)
DATABASE_CALLS = f"{FILE_CALLS},access,fallocate,fcntl,fdatasync,ftruncate,lseek,mmap,pread64,pwrite64,readlink"


def _trace(names: str) -> str:
    return f"trace={','.join(f'?{name}' for name in names.split(','))}"  # `?`: not every machine has each of them


_TRACE = _trace(FILE_CALLS)
_TRACE_DATABASE = _trace(DATABASE_CALLS)
_LINE = re.compile(r"^(?:\d+ +)?(\w+)\((.*)$")


@dataclass(frozen=True)
class Call:
    """The `number`-th call of `name` after the writer was let go."""

    name: str
    number: int
    shown: str


@cache
def why_not() -> str | None:
    """Why calls cannot be traced here; None where they can."""
    strace = shutil.which("strace")
    if strace is None:
        return "strace is not installed"
    tried = subprocess.run([strace, "-o", os.devnull, "true"], capture_output=True, text=True, check=False)
    return None if tried.returncode == 0 else f"tracing is not permitted here: {tried.stderr.strip()}"


def traced(nursery: Nursery, case: dict[str, Any], *more: str) -> tuple[Told, list[Call]]:
    """Run one writer under strace; answers what it told and its calls from the first look at a file on."""
    pid = nursery.fork(case)
    log = Path(f"{case['out']}.trace")
    trace, start = (_TRACE_DATABASE, "/queue.db") if case["command"].startswith("queue ") else (_TRACE, "/sessions")
    command = ["strace", "-p", str(pid), "-o", str(log), "-e", trace, "-e", "signal=none", *more]
    strace = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert strace.stderr
    first = strace.stderr.readline()
    assert "attached" in first, first
    told = nursery.release(case)
    strace.wait()
    strace.stderr.close()
    return told, _calls(log.read_text(), start)


def _calls(log: str, first: str) -> list[Call]:
    counts: Counter[str] = Counter()
    calls: list[Call] = []
    for line in log.splitlines():
        if found := _LINE.match(line):
            counts[found[1]] += 1
            calls.append(Call(found[1], counts[found[1]], line))
    start = next((n for n, call in enumerate(calls) if first in call.shown), len(calls))
    end = next((n for n, call in enumerate(calls) if call.shown.startswith('write(1, "{\\"code')), len(calls))
    return calls[start:end]
