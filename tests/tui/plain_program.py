"""Stands in for what `phelix tui --plain` starts: the account as the command line gives it, through its own edge."""

import asyncio
import sys
from collections.abc import Callable

from phelix_core.cli.main import PROGRAMS, main
from phelix_core.commands.programs import OpenConsole
from phelix_core.settings import Settings
from phelix_tui.app import open_console
from phelix_tui.plain import follow, run_plain


def started(request: OpenConsole, settings: Settings) -> int:  # noqa: ARG001 - a program's form
    """The account."""
    return run_plain(open_console(settings))


def naive(request: OpenConsole, settings: Settings) -> int:  # noqa: ARG001 - a program's form
    """The same with asyncio's own handling of ctrl+c, and without asking whether anybody reads."""
    asyncio.run(follow(open_console(settings), lambda line: print(line, flush=True)))
    return 0


if __name__ == "__main__":
    chosen: Callable[[OpenConsole, Settings], int] = {"run_plain": started, "naive": naive}[sys.argv[1]]
    PROGRAMS["tui"] = f"tests.tui.plain_program:{chosen.__name__}"
    sys.exit(main(["tui"]))
