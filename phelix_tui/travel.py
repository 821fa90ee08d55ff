"""Where in one record's past an operator stands, and the point that others are compared with.

The points are those of the record as it was read last. A record only grows, so whoever stands at a point stays
there while events are added; of a record that has become shorter the last point is taken. Source: console page,
section 8.
"""

from typing import TYPE_CHECKING

from phelix_core.sessions.model import Session
from phelix_core.text import SafeStr
from phelix_core.views.moments import time_of_day

if TYPE_CHECKING:  # who never looks back does not pay for the means to
    from phelix_core.views.past import Point


class Travel:
    """One operator's journey through one record."""

    def __init__(self) -> None:
        self._session: Session | None = None
        self._points: tuple[Point, ...] = ()
        self._place: int | None = None
        self._marked: int | None = None

    @property
    def is_on(self) -> bool:
        """Whether the past is looked at, and not what is now."""
        return self._place is not None and bool(self._points)

    def begin(self, session: Session) -> None:
        """Stand at the newest point."""
        self.take(session)
        self._place, self._marked = len(self._points) - 1, None

    def take(self, session: Session) -> None:
        """Go by a newer reading of the record, standing where one stood."""
        from phelix_core.views.past import points  # noqa: PLC0415 - see above

        if session is not self._session:
            self._session, self._points = session, points(session)
        last = len(self._points) - 1
        self._place = None if self._place is None else min(self._place, last)
        self._marked = None if self._marked is None else min(self._marked, last)

    def leave(self) -> None:
        """Come back to now."""
        self._session, self._points, self._place, self._marked = None, (), None, None

    def go(self, by: int) -> None:
        """Go to another point, no further than there are any."""
        if self._place is not None:
            self._place = max(0, min(self._place + by, len(self._points) - 1))

    def mark(self) -> None:
        """Keep the point here for comparing; with one kept already, let go of it."""
        self._marked = self._place if self._marked is None else None

    @property
    def points(self) -> "tuple[Point, ...]":
        """Every point, oldest first."""
        return self._points

    @property
    def here(self) -> "Point":
        """The point that is stood at."""
        return self._points[self._place or 0]

    @property
    def marked(self) -> "Point | None":
        """The point that others are compared with."""
        return None if self._marked is None else self._points[self._marked]

    @property
    def told(self) -> SafeStr:
        """Where this is, in a few words."""
        return SafeStr(f"seq {self.here.seq} of {self._points[-1].seq} · {time_of_day(self.here.at_ms)}")
