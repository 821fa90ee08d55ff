"""What Fleet says where there is nothing to see yet, or nothing that can be read: why, and the command to run next."""

from shlex import quote
from typing import Final

from phelix_core.text import SafeStr
from phelix_core.views.shown import shown
from phelix_tui.widgets.pages import cell
from phelix_tui.widgets.rowlist import Cell
from phelix_tui.wrapping import TextLine, line

FIRST_COMMAND: Final = 'phelix session create --title "ship billing v3" --app billing'


def looking_command(data_dir: str) -> str:
    """The command that shows who may read the data directory."""
    return f"ls -ld {quote(data_dir)} {quote(f'{data_dir}/sessions')}"


def unreadable_lines(failure: SafeStr, data_dir: str) -> list[TextLine]:
    """Why nothing can be read, what to do about it, and that nobody has to start anything anew."""
    return [
        line(cell("The records cannot be read.", "bold error")),
        line(),
        line(Cell(failure, "error"), hang=2),
        line(),
        line(cell("To see what stands there and who may read it:", "muted")),
        line(Cell(shown(f"  {looking_command(data_dir)}")), hang=4),
        line(cell("  y copies it", "accent")),
        line(),
        line(cell("Another data directory: phelix tui --data-dir DIR", "muted"), hang=2),
        line(),
        line(cell("Nothing has to be started anew: this screen looks again every two seconds.", "muted"), hang=2),
    ]
