"""The glyph of each status and finding of an issue, the most pressing first: one table for every surface.

Nothing is imported, so that a page on the command line costs no more for it.
"""

from collections.abc import Mapping
from typing import Final

GLYPHS: Final[Mapping[str, str]] = {
    "needs_recovery": "⚠",
    "stale": "▲",
    "clock": "?",
    "crash_loop": "✗",
    "failed": "✗",
    "in_progress": "●",
    "ready": "○",
    "blocked": "■",
    "pending": "·",
    "done": "✓",
    "archived": "−",
}
UNKNOWN: Final = "?"
"""The glyph of a status that nobody told of."""
