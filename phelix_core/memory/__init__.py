"""Memory: derived support beside the queue, behind a port; it may be slow, broken or deleted at any time."""
