"""`--where`, whatever it filters: the text read, and what is wrong with it told with its token."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from phelix_core.errors import InvalidArgument

if TYPE_CHECKING:
    from phelix_core.views.filter.asked import Asked

_Query = TypeVar("_Query", bound="Asked")


def parsed(parse: Callable[[str], _Query], text: str) -> _Query:
    """The filter, as `parse` reads it; one that asks for what only a console knows is refused."""
    with told():
        query = parse(text)
    if query.needs_marks:
        raise _refused("marks are the console's; there are none here", 0, len(text), None)
    return query


@contextmanager
def told() -> Generator[None]:
    """Filters that are wrong or too slow inside, as the refusal of `where`."""
    from phelix_core.views.filter import FilterError  # noqa: PLC0415 - most lists have no filter

    try:
        yield
    except FilterError as error:
        raise _refused(error.message, error.start, error.end, error.hint) from None


def _refused(message: str, start: int, end: int, hint: str | None) -> InvalidArgument:
    return InvalidArgument(
        f"where: {message.rstrip('.')}.",
        hint=hint,
        details={"fields": {"where": message}, "start": start, "end": end},
    )
