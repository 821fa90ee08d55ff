"""The standard streams of a program that answers once: kept there, written whole, and told apart when they refuse.

Source: surfaces page, Envelope (a closed pipe is not a traceback).
"""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TextIO


class Unheard(Exception):
    """Standard output refused the answer: its reader has gone, or its disk is full."""

    def __init__(self, reason: OSError) -> None:
        super().__init__()
        self.reason = reason


class Answer:
    """Whether this process has begun to give its answer: whatever comes then, there is no second one."""

    is_begun = False


@contextmanager
def answering() -> Generator[None]:
    """Write to stdout inside; what it refuses is told apart from faults of the command."""
    Answer.is_begun = True
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        raise Unheard(error) from None


def require_streams() -> None:
    """Stand an empty stream in for each that the caller closed, so that no record is opened under its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - for the process's life
    if reconfigure := getattr(sys.stdout, "reconfigure", None):
        reconfigure(errors="replace")  # a person's locale may lack a glyph


def let_go(stream: TextIO) -> None:
    """Keep the interpreter from complaining about `stream` while it flushes on the way out."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
