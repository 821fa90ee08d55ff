"""What nobody foresaw: a redacted report in a file of its own, and the error that names it.

For the outermost edges alone: a process's, a worker's, a tool call's.
"""

import os
import sys

from phelix_core import VERSION
from phelix_core.errors import InternalError
from phelix_core.redaction import redact


def unforeseen(error: Exception) -> InternalError:
    """Write a redacted report of a fault nobody foresaw; answers the error that names its file."""
    import tempfile  # noqa: PLC0415 - only faults need it
    import traceback  # noqa: PLC0415 - only faults need it

    text = redact("".join(traceback.format_exception(error)))
    try:
        descriptor, path = tempfile.mkstemp(prefix="phelix-report-", suffix=".txt")
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.write(f"phelix {VERSION}, Python {sys.version}\n\n{text}")
    except OSError:
        return InternalError(hint="No report could be written.")
    return InternalError(hint=f"A report without secrets is in {path}.", details={"report": path})
