"""Text that somebody else may have stored, for people: free of secrets, then safe for a terminal.

`--json` stays exact; what a person sees, and so what a screenshot or a scrollback keeps, passes here.
"""

from phelix_core.redaction import redact
from phelix_core.text import SafeStr, visible, visible_block


def shown(text: str) -> SafeStr:
    """Text for one line."""
    return visible(redact(text))


def shown_block(text: str) -> SafeStr:
    """Text for several lines: as `shown`, but the line feeds stay."""
    return visible_block(redact(text))
