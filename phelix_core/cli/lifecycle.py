"""`phelix-lifecycle`: one JSON payload on standard input or from a file, one JSON answer.

A success stands on stdout with exit 0; any refusal is JSON on stderr with exit 1 and nothing on stdout. Source:
surfaces page, JSON-driven lifecycle CLI.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Final

from phelix_core import VERSION
from phelix_core.checks import Surface
from phelix_core.cli.options import Parser, named_file
from phelix_core.cli.streams import Unheard, answering, let_go, require_streams
from phelix_core.commands.environment import Environment, open_environment
from phelix_core.commands.faults import unforeseen
from phelix_core.errors import Cancelled, FilesystemError, PhelixError
from phelix_core.files import why
from phelix_core.lifecycle.actions import ACTIONS
from phelix_core.lifecycle.performing import PAYLOAD_CAP, Performed, perform
from phelix_core.settings import load_settings
from phelix_core.strictjson import dumps

_INTERRUPTED: Final = 130
_FAILED: Final = 1


def start() -> int:
    """Run the `phelix-lifecycle` script."""
    return main()


def main(argv: Sequence[str] | None = None) -> int:
    """Carry one payload out; answers the exit status."""
    require_streams()
    try:
        return _answered(_performed(sys.argv[1:] if argv is None else list(argv)))
    except PhelixError as error:
        return _answered(Performed(error=error))
    except KeyboardInterrupt:
        _answered(Performed(error=Cancelled()))
        return _INTERRUPTED
    except Unheard as unheard:
        let_go(sys.stdout)
        told = FilesystemError(f"The answer could not be written: {why(unheard.reason)}.")
        return _FAILED if isinstance(unheard.reason, BrokenPipeError) else _answered(Performed(error=told))
    except Exception as error:  # noqa: BLE001 - the process's edge: nothing unforeseen may end in a traceback
        return _answered(Performed(error=unforeseen(error)))


def _performed(argv: list[str]) -> Performed:
    given = _options().parse_args(argv)
    text = _payload(given.input)

    def opens(path: str | None) -> Environment:
        settings = load_settings(os.environ, data_dir=given.data_dir, queue=path or given.queue)
        return open_environment(settings, Surface.CLI, delivers=True)

    return perform(text, opens)


def _options() -> argparse.ArgumentParser:
    parser = Parser(
        prog="phelix-lifecycle",
        description="Carry out one lifecycle payload (contract 6.0.0): JSON on standard input, JSON out.",
        epilog=f"Actions: {', '.join(ACTIONS)}.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--input", metavar="FILE", help="Read the payload from a file instead of standard input")
    add("--queue", metavar="FILE", help="The queue's file, where the payload names none")
    add("--data-dir", metavar="DIR", help="Where records are kept (else PHELIX_DATA_DIR, else ~/.phelix)")
    add("--version", action="version", version=f"phelix {VERSION}")
    return parser


def _payload(path: str | None) -> bytes:
    if path in (None, "-"):
        return sys.stdin.buffer.read(PAYLOAD_CAP + 1)
    return named_file(path, "input", PAYLOAD_CAP)


def _answered(performed: Performed) -> int:
    text = (dumps(performed.document) + "\n").encode("utf-8", "replace")
    if performed.error is None:
        with answering():
            sys.stdout.buffer.write(text)
        return 0
    try:
        sys.stderr.buffer.write(text)
        sys.stderr.flush()
    except OSError:  # nobody can be told; the exit status still says it
        let_go(sys.stderr)
    return _FAILED
