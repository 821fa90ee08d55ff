"""The order that an operator chose for a list, by which column and which way; sorted without holding up the screen.

Keys end with the id of their row. Making and sorting a hundred thousand of them takes up to 0.3 s, so it is done in a
thread, and in parts: sorting is one step of the interpreter, and nothing else runs while it is taken. Source: console
page, sections 3 and 10.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable
from typing import Any, Final

from phelix_core.frozen import frozen_in_order
from phelix_core.text import SafeStr

Key = tuple[Any, ...]

ATTENTION: Final = "state"
"""The column whose order is the list's own: what needs a person first."""
AT_ONCE: Final = 5_000
"""Up to so many rows are sorted at once; more in a thread."""
_PART: Final = 10_000


@frozen_in_order
class Order:
    """A column's name, and whether its order is turned around."""

    column: str = ATTENTION
    reverse: bool = False

    @property
    def is_own(self) -> bool:
        """Whether it is the list's own order."""
        return self.column == ATTENTION and not self.reverse

    @property
    def turned(self) -> "Order":
        """The same column the other way around."""
        return Order(self.column, not self.reverse)

    @property
    def arrow(self) -> SafeStr:
        """Which way it goes."""
        return SafeStr("↓" if self.reverse else "↑")


OWN: Final = Order()


class Places:
    """Keys of the rows in a chosen order, and the rows so sorted; `since` are those that changed meanwhile."""

    def __init__(self, order: Order, keys: dict[str, Key], since: set[str]) -> None:
        self.order = order
        self.keys = keys
        self.since = since
        self.sorted = sorted_in_parts(keys.values())

    def put(self, row_id: str, key: Key | None) -> None:
        """Give a row its place, or take it out."""
        old = self.keys.pop(row_id, None)
        if key is not None:
            self.keys[row_id] = key
        if old != key:
            put_in_order(self.sorted, old, key)

    def copy(self) -> "Places":
        """The same, to go its own way."""
        other = Places(self.order, {}, set())
        other.keys, other.sorted = dict(self.keys), list(self.sorted)
        return other


def put_in_order(keys: list[Any], old: Any, new: Any) -> None:
    """Take `old` out of a sorted list and put `new` in, where they are not None."""
    if old is not None:
        del keys[bisect_left(keys, old)]
    if new is not None:
        insort(keys, new)


def sorted_in_parts(keys: Iterable[Key]) -> list[Key]:
    """All keys sorted, no step of it long: small parts first, then two neighbours at a time, already in order each."""
    left = list(keys)
    parts = [sorted(left[start : start + _PART]) for start in range(0, len(left), _PART)]
    while len(parts) > 1:
        parts = [_merged(parts[place : place + 2]) for place in range(0, len(parts), 2)]
    return parts[0] if parts else []


def _merged(parts: list[list[Key]]) -> list[Key]:
    joined = [key for part in parts for key in part]
    joined.sort()
    return joined


Sorter = Callable[[], Places]
"""Makes the places of what was known when it was asked for; for any thread."""
