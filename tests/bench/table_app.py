"""The same list on Textual's own `DataTable`, the way it is usually written: what the console is measured beside.

    python table_app.py DATA_DIR

It reads the sessions once, watches their folder as the console does, reads a changed record again and updates its
cells. It has no preview, no filter, no order and no states: what it takes is the widget's.
"""

import sys
from typing import ClassVar

from textual import work
from textual.app import App, ComposeResult
from textual.widgets import DataTable, Static

from phelix_core.checks import Surface
from phelix_core.commands.environment import open_environment
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.commands.session import ShownSession
from phelix_core.commands.session_listing import SessionList
from phelix_core.sessions.model import RECORD_NAME, Checkpoint
from phelix_core.settings import Settings
from phelix_tui.native import native_changes

_COLUMNS = ("session", "status", "title", "app", "step")
_WIDTHS = (20, 10, 40, 12, 20)


class TableApp(App[None]):
    """One table over one data directory."""

    CSS: ClassVar[str] = "DataTable { height: 1fr } #state { height: 1 }"

    def __init__(self, data_dir: str) -> None:
        super().__init__()
        self._env = open_environment(Settings(data_dir=data_dir), Surface.TUI)

    def compose(self) -> ComposeResult:
        yield DataTable[str](cursor_type="row")
        yield Static("reading", id="state", markup=False)

    def on_mount(self) -> None:
        """Read, then watch."""
        self._follow()

    @work
    async def _follow(self) -> None:
        table = self.query_one(DataTable[str])
        for name, width in zip(_COLUMNS, _WIDTHS, strict=True):
            table.add_column(name, key=name, width=width)
        changes = native_changes(self._env.sessions.path, watch_filter=lambda _, path: path.endswith(".json"))
        found = run(load_command("session list"), {"limit": 0}, self._env).result
        assert isinstance(found, SessionList)
        # Active ones first, as the measured changes are made to them.
        for one in sorted(found.sessions, key=lambda one: (one.status != "active", -one.created_at_ms, one.session_id)):
            table.add_row(
                one.session_id, one.status, one.title or "", one.app or "", _step(one.checkpoint), key=one.session_id
            )
        self.query_one("#state", Static).update(f"{table.row_count} in all")
        async for batch in changes:
            for _, path in batch:
                if match := RECORD_NAME.fullmatch(path.rpartition("/")[2]):
                    self._show(table, match[1])

    def _show(self, table: DataTable[str], session_id: str) -> None:
        raw = {"session_id": session_id, "no_resolve": True}
        answer = run(load_command("session show"), raw, self._env).result
        if isinstance(answer, ShownSession):
            table.update_cell(session_id, "status", answer.session.status)
            table.update_cell(session_id, "step", _step(answer.session.checkpoint))


def _step(checkpoint: Checkpoint | None) -> str:
    return "" if checkpoint is None else checkpoint.step or ""


if __name__ == "__main__":
    TableApp(sys.argv[1]).run()
