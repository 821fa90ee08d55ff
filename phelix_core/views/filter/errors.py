"""What is wrong with a filter, where in its text, and what would be right."""


class FilterError(ValueError):
    """A filter is not acceptable; `start` and `end` are offsets of the token, in characters."""

    def __init__(self, message: str, start: int, end: int, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.start = start
        self.end = end
        self.hint = hint


class FilterTooSlow(FilterError):
    """The patterns of a filter took longer than they may over all rows together."""
