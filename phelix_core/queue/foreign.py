"""Reads a lifecycle database of another tool: whole, strictly read-only, in one consistent view.

Where nothing stands beside the file it is read without a lock and nothing is left beside it. Where a write-ahead
log or a rollback journal does, committed rows may stand there alone: then the engine reads both together, and may
leave its `-shm` index beside a log that had none. Whatever is no database of the version that is known is refused,
by what it lacks. Source: queue page, Actions (import); reference page on the lifecycle's runtime, section 1.
"""

import os
from collections.abc import Mapping
from stat import S_ISREG
from typing import Final

from phelix_core.clock import Clock
from phelix_core.errors import FilesystemError, InvalidArgument, QueueCorrupt, QueueIncompatible, StoreBusy
from phelix_core.queue.importing.source import COLUMNS, VERSION, Cell, Source
from phelix_core.queue.sqlite import APPLICATION_ID
from phelix_core.sqlite import ABSENT, Database, DatabaseRefused, DatabaseUnusable, patiently

MOST_BYTES: Final = 256 * 1024 * 1024
_BESIDE: Final = ("-wal", "-journal", "-shm")
_MOST_MISSING: Final = 10
_MOST_OTHERS: Final = 50
_NAME_CAP: Final = 128
_CODECS: Final = {"UTF-8": "utf-8", "UTF-16le": "utf-16-le", "UTF-16be": "utf-16-be"}


def read_source(path: str, clock: Clock) -> Source:
    """What the database at `path` holds; every refusal is coded, and nothing was changed."""
    try:
        return patiently(lambda: _read(path, clock), clock)
    except DatabaseUnusable as error:
        if str(error) == ABSENT:
            raise InvalidArgument("file: there is no such file.") from None
        if isinstance(error, DatabaseRefused):
            raise FilesystemError(f"The system refused to read the file ({error}); nothing was written.") from None
        raise _damaged(str(error)) from None
    except UnicodeDecodeError:  # a name in its schema: values are read as bytes
        raise _damaged("a name is not text") from None


def _damaged(told: str) -> QueueCorrupt:
    return QueueCorrupt(
        f"The file is damaged, or no database ({told}); nothing was written.", hint="Import a backup of it."
    )


def _read(path: str, clock: Clock) -> Source:
    before = _standing(path)
    alone = not any(name in before for name in ("-wal", "-journal"))
    db = Database(path, clock, read_only=True, immutable=alone)
    try:
        db.script("PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA temp_store=MEMORY;")
        with db.snapshot():
            source = _source(db)
    finally:
        db.close(as_it_was=True)
    if alone and _standing(path) != before:  # read without a lock, while somebody wrote
        raise StoreBusy(hint="Another program writes to the file: stop it, or try again.")
    return source


def _standing(path: str) -> dict[str, tuple[int, int, int]]:
    """The file and what stands beside it, each with what changes when somebody writes; refuses what is no file."""
    found: dict[str, tuple[int, int, int]] = {}
    for name in ("", *_BESIDE):
        try:
            told = os.lstat(path + name)
        except FileNotFoundError:
            if name:
                continue
            raise DatabaseUnusable(ABSENT) from None
        except OSError as error:
            raise DatabaseRefused(os.strerror(error.errno or 0)) from None
        if not S_ISREG(told.st_mode):
            raise InvalidArgument(
                f"file: {'not a regular file' if not name else f'what stands beside it as {name} is no regular file'}.",
                hint="Name the database itself, not a link to it.",
            )
        if told.st_size > MOST_BYTES:
            raise InvalidArgument(f"file: larger than {MOST_BYTES // (1024 * 1024)} MiB, which is read at once.")
        found[name] = (told.st_ino, told.st_size, told.st_mtime_ns)
    return found


def _source(db: Database) -> Source:
    _require_version(db)
    tables = {
        str(row[0]): _columns(db, str(row[0]))
        for row in db.ask("SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY name")
        if not str(row[0]).startswith("sqlite_")
    }
    _require_whole(tables)
    codec = _CODECS[str(db.ask("PRAGMA encoding")[0][0])]
    rows = {table: _rows(db, table, codec) for table in COLUMNS}
    others = {table: _count(db, table) for table in tables.keys() - COLUMNS.keys()}
    for table, columns in COLUMNS.items():
        others |= {f"{table}.{name}": len(rows[table]) for name in tables[table] - set(columns)}
    told = {name: number for name, number in sorted(others.items()) if number and len(name.encode()) <= _NAME_CAP}
    return Source(rows=rows, others=dict(list(told.items())[:_MOST_OTHERS]))


def _require_version(db: Database) -> None:
    if db.ask("PRAGMA application_id")[0][0] == APPLICATION_ID:
        raise QueueIncompatible("The file is a queue of Phelix already; nothing was written.", hint="Use it: --queue.")
    version = db.ask("PRAGMA user_version")[0][0]
    if version != VERSION:
        raise QueueIncompatible(
            f"The file has version {version}; only a lifecycle database of version {VERSION} can be imported.",
            details={"version": version, "expected": VERSION},
        )


def _columns(db: Database, table: str) -> set[str]:
    """Plain columns: generated ones are not among them, and nothing of them is computed."""
    return {str(row[0]) for row in db.ask("SELECT name FROM pragma_table_info(?)", [table])}


def _require_whole(tables: Mapping[str, set[str]]) -> None:
    missing = [f"table {table}" for table in COLUMNS if table not in tables]
    missing += [
        f"column {table}.{name}"
        for table, columns in COLUMNS.items()
        if table in tables
        for name in columns
        if name not in tables[table]
    ]
    if missing:
        raise QueueIncompatible(
            f"No lifecycle database of version {VERSION}: the file lacks {', '.join(missing[:_MOST_MISSING])}.",
            details={"missing": missing[:_MOST_MISSING], "missingCount": len(missing)},
        )


def _rows(db: Database, table: str, codec: str) -> list[Mapping[str, Cell]]:
    """Rows in the order they stand in; a value that is no text, or no text of this encoding, stays bytes."""
    columns = COLUMNS[table]
    asked = ", ".join(
        f"CASE typeof({name}) WHEN 'text' THEN CAST({name} AS BLOB) WHEN 'null' THEN NULL ELSE 0 END"
        for name in map(_quoted, columns)
    )
    found = db.ask(f"SELECT {asked} FROM {_quoted(table)}")  # noqa: S608 - names of ours
    return [{name: _cell(value, codec) for name, value in zip(columns, row, strict=True)} for row in found]


def _count(db: Database, table: str) -> int:
    return int(db.ask(f"SELECT count(*) FROM {_quoted(table)}")[0][0])  # noqa: S608 - quoted as a name


def _cell(value: object, codec: str) -> Cell:
    if value is None or not isinstance(value, bytes):
        return None if value is None else b""
    try:
        return value.decode(codec)
    except UnicodeDecodeError:
        return value


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
