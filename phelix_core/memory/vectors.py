"""The memory's own file, `memory.db`: what mem0 asks of a vector store, safe for any number of processes.

It answers the calls that adding and searching need, in the form mem0 gives them. Each call opens the file, makes one
transaction and lets go, so that a file deleted in between is an empty memory and nothing worse. Memories of another
embedder stay where they are and are never compared. It is derived and may be deleted at any time.
"""

import os
from array import array
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from operator import mul
from typing import Any, Final, cast

from phelix_core.clock import Clock
from phelix_core.errors import AlreadyExists
from phelix_core.files import Folder
from phelix_core.frozen import frozen
from phelix_core.sqlite import Database, DatabaseUnusable, Row
from phelix_core.strictjson import canonical, loads

FILE: Final = "memory.db"
VERSION: Final = 1
FILTERS: Final = ("user_id", "agent_id", "run_id", "campaign", "task", "key")
"""What memories can be told apart by."""
_SCHEMA: Final = f"""
CREATE TABLE memories (
    id TEXT PRIMARY KEY,
    space TEXT NOT NULL,
    {", ".join(f"{name} TEXT" for name in FILTERS)},
    payload TEXT NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (space, user_id, key)
) STRICT;
CREATE INDEX memories_by_scope ON memories (space, user_id, agent_id, campaign, task);
PRAGMA user_version = {VERSION};
"""


@frozen
class Found:
    """One memory as mem0 reads it; `score` is the cosine, where it was compared."""

    id: str
    payload: dict[str, Any]
    score: float | None = None


class SqliteVectors:
    """The vectors of one embedder, whose name is `space`."""

    def __init__(self, folder: Folder, clock: Clock, space: str) -> None:
        self._folder = folder
        self._clock = clock
        self._space = space

    def insert(self, vectors: list[list[float]], payloads: list[dict[str, Any]], ids: list[str]) -> None:
        """Keep each payload with its vector."""
        names = ("id", "space", *FILTERS, "payload", "vector")
        rows = [
            (
                memory_id,
                self._space,
                *(payload.get(name) for name in FILTERS),
                canonical(payload).decode(),
                array("f", vector).tobytes(),
            )
            for memory_id, payload, vector in zip(ids, payloads, vectors, strict=True)
        ]
        sql = f"INSERT INTO memories ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"  # noqa: S608 - names of ours
        with self._opened() as db, db.immediate():
            db.many(sql, rows)

    def search(
        self, query: str, vectors: list[float], top_k: int = 5, filters: Mapping[str, Any] | None = None
    ) -> list[Found]:
        """The nearest to a vector among those that the filters leave, the nearest first; ties by id."""
        del query
        asked = array("f", vectors)
        scored = [
            (max(0.0, sum(map(mul, asked, _vector(blob)))), memory_id, payload)
            for memory_id, payload, blob in self._rows("id, payload, vector", filters)
            if len(blob) == len(asked) * asked.itemsize
        ]
        scored.sort(key=lambda one: (-one[0], one[1]))
        return [
            Found(id=memory_id, payload=_read(payload), score=score) for score, memory_id, payload in scored[:top_k]
        ]

    def keyword_search(self, query: str, top_k: int = 5, filters: Mapping[str, Any] | None = None) -> None:
        """Words are in the vectors already: there is no second search."""

    def list(self, filters: Mapping[str, Any] | None = None, top_k: int = 100) -> list[Found]:
        """Memories that the filters leave, the oldest first."""
        rows = self._rows("id, payload", filters, "ORDER BY rowid LIMIT ?", (top_k,))
        return [Found(id=memory_id, payload=_read(payload)) for memory_id, payload in rows]

    def _rows(
        self, columns: str, filters: Mapping[str, Any] | None, rest: str = "", values: tuple[int, ...] = ()
    ) -> Sequence[Row]:
        chosen = dict(filters or {})
        if unknown := chosen.keys() - set(FILTERS):
            raise ValueError(f"no memory can be told by {', '.join(sorted(unknown))}")
        where = " AND ".join(f"{name} = ?" for name in ("space", *chosen))
        sql = f"SELECT {columns} FROM memories WHERE {where} {rest}"  # noqa: S608 - names out of FILTERS
        with self._opened() as db, db.snapshot():
            return db.ask(sql, (self._space, *chosen.values(), *values))

    @contextmanager
    def _opened(self) -> Generator[Database]:
        """The file, made with its modes before SQLite opens it; one of a newer version is left as it is."""
        found_or_made(self._folder, FILE)
        db = Database(f"{self._folder.path}/{FILE}", self._clock)
        try:
            if (found := _version(db)) == 0:
                with db.immediate():
                    if _version(db) == 0:
                        db.script(_SCHEMA)
            elif found != VERSION:
                raise DatabaseUnusable(f"of version {found}, newer than this program")
            yield db
        finally:
            db.close()


def found_or_made(folder: Folder, name: str) -> None:
    """See to it that `name` is there, empty and private where it was not."""
    if not os.path.lexists(f"{folder.path}/{name}"):
        with suppress(AlreadyExists):
            folder.create(name, b"")


def _version(db: Database) -> int:
    return int(db.patiently("PRAGMA user_version")[0][0])


def _vector(blob: bytes) -> "array[float]":
    return array("f", blob)


def _read(payload: str) -> dict[str, Any]:
    return cast("dict[str, Any]", loads(payload.encode()))
