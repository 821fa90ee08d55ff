"""Plain-text filter: every word typed must occur in the row's id, title, app, step or state."""

from collections.abc import Callable

from phelix_core.views.rows import SessionRow


def matcher(text: str) -> Callable[[SessionRow], bool]:
    """A predicate for `text`; an empty one accepts every row. Case does not matter."""
    words = text.casefold().split()

    def accepts(row: SessionRow) -> bool:
        haystack = f"{row.session_id}\n{row.title}\n{row.app}\n{row.step}\n{row.looks.word}".casefold()
        return all(word in haystack for word in words)

    return accepts if words else lambda _: True
