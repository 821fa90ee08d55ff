"""An apply that the console asks for, carried out by a process of its own.

A terminal line may break and a console be closed at any moment; neither may end a deployment, nor keep its outcome
from being recorded. So the console starts the command line, in a session of its own, and hears from it until the
operation is recorded as begun, or refused. Every gate is passed there. Source: console page, signals; arc page.
"""

import json
import subprocess
import sys
import threading
import time
from typing import Any, Final, cast

from phelix_core.arc.operations import PENDING, operation_id_of
from phelix_core.commands.arc.endings import Applied, applied
from phelix_core.commands.environment import Environment
from phelix_core.errors import Interrupted, OutcomeUnknown, PhelixError, Unavailable, kinds
from phelix_core.files import why

_PATIENCE_S: Final = 30.0
_LOOK_S: Final = 0.02


def begun_apart(env: Environment, plan_id: str, expect_digest: str | None) -> Applied:
    """Start an apply, and answer once its operation runs or has ended; raises what it was refused with."""
    digest = [] if expect_digest is None else [f"--expect-digest={expect_digest}"]
    words = ["plan", "apply", plan_id, *digest, f"--data-dir={env.settings.data_dir}", "--json"]
    try:
        process = subprocess.Popen(  # noqa: S603 - ourselves
            [sys.executable, "-c", _START, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise Unavailable(f"No process can be started for the apply: {why(error)}. Nothing was executed.") from None
    answer: list[bytes] = []
    heard = threading.Event()

    def hear() -> None:
        answer.append(process.communicate()[0])
        heard.set()

    threading.Thread(target=hear, name="apply", daemon=True).start()
    deadline = time.monotonic() + _PATIENCE_S  # another process is waited for, whatever this one's clock says
    while not heard.wait(_LOOK_S):
        running = _running(env, plan_id, process.pid)
        if running is not None:
            return running
        if time.monotonic() > deadline:
            raise OutcomeUnknown(
                "The apply was started and has not said anything yet.", hint=f"Look again: phelix plan show {plan_id}"
            )
    return _told(answer[0])


_START: Final = "import sys; from phelix_core.cli import start; sys.exit(start())"


def _running(env: Environment, plan_id: str, applier: int) -> Applied | None:
    """What can be told of an apply whose operation runs; None before that, and once it has ended.

    One that somebody else carries out, or carried out until it died, is not it.
    """
    try:
        operation = env.arc.operation(operation_id_of(plan_id))
    except PhelixError:
        return None
    if operation.status == PENDING or operation.is_finished or operation.pid != applier:
        return None
    return applied(operation, already=False)


def _told(answer: bytes) -> Applied:
    """The answer that the process gave, as the answer of this call; raises where it was a refusal."""
    try:
        envelope = cast("dict[str, Any]", json.loads(answer))
    except ValueError:
        raise OutcomeUnknown("The apply ended without an answer.", hint="Look at the plan again.") from None
    if "result" in envelope:
        return Applied(**envelope["result"])
    told = envelope["error"]
    known = {(kind.code, kind.exit_code): kind for kind in (*kinds(), Interrupted)}
    raise known.get((told["code"], told["exit_code"]), PhelixError)(
        told["message"],
        hint=told.get("hint"),
        details=told.get("details"),
        operation_id=envelope.get("operation_id"),
    )
