"""Stands in for a console that paints as fast as things change, whatever its terminal has taken."""

import sys

from phelix_core.cli.main import main
from phelix_tui.line import Line


def never(_line: Line) -> bool:
    """A line that is never behind."""
    return False


if __name__ == "__main__":
    Line.is_behind = property(never)  # pyright: ignore[reportAttributeAccessIssue] - that is the point
    sys.exit(main(["tui", "--data-dir", sys.argv[1]]))
