"""Which edges of a dependency graph lie on a cycle. Pure, without recursion, and linear in the graph's size."""

from collections.abc import Iterator, Mapping, Sequence


def on_a_cycle(edges: Mapping[str, Sequence[str]]) -> set[tuple[str, str]]:
    """Edges, as (from, to), whose end leads back to their beginning."""
    part = _Components(edges).part
    return {(one, to) for one, needed in edges.items() for to in needed if part[one] == part[to]}


class _Components:
    """The strongly connected component of each node, by Tarjan's algorithm."""

    def __init__(self, edges: Mapping[str, Sequence[str]]) -> None:
        self.part: dict[str, int] = {}
        self._edges = edges
        self._found: dict[str, int] = {}
        self._low: dict[str, int] = {}
        self._open: list[str] = []
        self._walk: list[tuple[str, Iterator[str]]] = []
        for start in edges:
            if start not in self._found:
                self._follow(start)

    def _follow(self, start: str) -> None:
        self._enter(start)
        while self._walk:
            node, rest = self._walk[-1]
            after = next(rest, None)
            if after is None:
                self._leave(node)
            elif after not in self._found:
                self._enter(after)
            elif after not in self.part:
                self._low[node] = min(self._low[node], self._found[after])

    def _enter(self, node: str) -> None:
        self._found[node] = self._low[node] = len(self._found)
        self._open.append(node)
        self._walk.append((node, iter(self._edges.get(node, ()))))

    def _leave(self, node: str) -> None:
        """A node whose every edge was followed; where it leads to nothing older, its component is whole."""
        self._walk.pop()
        if self._walk:
            before = self._walk[-1][0]
            self._low[before] = min(self._low[before], self._low[node])
        if self._low[node] == self._found[node]:
            member = None
            while member != node:
                member = self._open.pop()
                self.part[member] = self._found[node]
