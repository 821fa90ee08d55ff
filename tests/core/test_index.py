"""The listing index answers what a naive read of all files would, whoever changed them, whatever befell it."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Final

import apsw
import pytest

from phelix_core.checks import Surface
from phelix_core.clock import SystemClock
from phelix_core.commands.environment import open_environment
from phelix_core.commands.session_listing import SessionList
from phelix_core.errors import NotFound, PhelixError
from phelix_core.sessions import transitions
from phelix_core.sessions.index import INDEX_FILE, WORTH_AN_INDEX, SessionIndex
from phelix_core.sessions.listing import LISTED_COLUMNS, NOTES_FILE, PLACE, Listed, Wanted, summary_of
from phelix_core.sessions.model import COMPLETED, Actor, Session, encode, record_name
from phelix_core.sessions.store import SessionStore
from phelix_core.sessions.summary import summarise
from phelix_core.sessions.transitions import References, Stamp
from phelix_core.settings import Settings
from phelix_core.touched import Note, Touched, chained
from phelix_core.views import filter as filters
from phelix_core.views.rows import BadRecord
from tests.rig import did

ACTOR = Actor(type="cli", id=None, authenticated=False)
CLOCK = SystemClock()
ALL: Final = Wanted()


def session(number: int, at_ms: int = 1_000) -> Session:
    stamp = Stamp(at_ms=at_ms + number, via="cli")
    app = ("billing", "auth")[number % 2]
    return transitions.create(f"ses_{number:016x}", ACTOR, stamp, title=f"work {number}", project=None, app=app)


def step(found: Session, name: str) -> Session:
    stamp = Stamp(at_ms=found.updated_at_ms + 1, via="mcp")
    return transitions.checkpoint(found, stamp, step=name, note=None, linked=References())


def close(found: Session) -> Session:
    stamp = Stamp(at_ms=found.updated_at_ms + 1, via="mcp")
    return transitions.close(found, stamp, COMPLETED, text="done", linked=References())


class Folder:
    """A data directory with an index that is worth it from the first record on."""

    def __init__(self, path: Path) -> None:
        self.path, self.sessions, self.cache = path, path / "sessions", path / "cache"
        self.store = SessionStore(str(self.sessions), CLOCK, str(self.cache))
        path.mkdir(mode=0o700)

    def index(self, worth: int = 0) -> SessionIndex:
        notes = Touched(str(self.cache / NOTES_FILE), CLOCK)
        return SessionIndex(str(self.sessions), str(self.cache), CLOCK, self.store.load, notes, worth=worth)

    def listed(self, wanted: Wanted = ALL, *, check: bool = False) -> Listed:
        return self.index().list(wanted, check=check)

    def naive(self) -> tuple[list[Session], list[tuple[str, str]]]:
        """What reading every file gives: records newest first, and the bad ones."""
        good: list[Session] = []
        bad: list[tuple[str, str]] = []
        for session_id in self.store.ids():
            try:
                good.append(self.store.load(session_id))
            except NotFound:
                continue
            except PhelixError as error:
                bad.append((session_id, error.code))
        good.sort(key=lambda found: (found.created_at_ms, found.session_id), reverse=True)
        return good, sorted(bad)

    def agrees(self) -> None:
        """The index and a naive read say the same."""
        listed = self.listed()
        good, bad = self.naive()
        assert [summary_of(row, 0, 1_000) for row in listed.rows] == [summarise(found, 0, 1_000) for found in good]
        assert list(listed.unreadable) == bad

    def foreign(self, name: str, data: bytes) -> None:
        """Another program's rename into place."""
        self.sessions.mkdir(mode=0o700, exist_ok=True)
        made = self.path / "made"
        made.write_bytes(data)
        os.replace(made, self.sessions / name)

    def forget_wal(self) -> None:
        for suffix in ("-wal", "-shm"):
            Path(f"{self.cache / INDEX_FILE}{suffix}").unlink(missing_ok=True)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "data")


class Changes:
    """Things that happen to a folder of records, ours and foreign, by seed."""

    def __init__(self, folder: Folder, seed: int) -> None:
        self.folder = folder
        self.random = Random(seed)
        self.number = 0
        self.removed: dict[str, bytes] = {}

    def happen(self) -> None:
        kinds = (
            self.ours_creates,
            self.ours_updates,
            self.ours_updates,
            self.foreign_creates,
            self.foreign_replaces,
            self.foreign_deletes,
            self.foreign_restores,
            self.foreign_edits_in_place,
            self.foreign_breaks,
            self.cache_is_deleted,
        )
        self.random.choice(kinds)()

    def _some(self) -> Path | None:
        records = sorted(self.folder.sessions.glob("ses_*.json")) if self.folder.sessions.exists() else []
        return self.random.choice(records) if records else None

    def _fresh(self) -> Session:
        self.number += 1
        return session(self.number, self.random.randrange(10_000))

    def ours_creates(self) -> None:
        self.folder.store.create(self._fresh())

    def ours_updates(self) -> None:
        path = self._some()
        if path is None:
            return
        name = f"s{self.random.randrange(99)}"
        change = self.random.choice((close, lambda found: step(found, name)))
        try:
            self.folder.store.update(path.stem, change)
        except PhelixError:
            return  # closed already, or broken: nothing changed, and the list must say so

    def foreign_creates(self) -> None:
        made = self._fresh()
        self.folder.foreign(record_name(made.session_id), encode(made))

    def foreign_replaces(self) -> None:
        path = self._some()
        if path is not None:
            number = int(path.stem.removeprefix("ses_"), 16)
            made = step(session(number, self.random.randrange(10_000)), f"f{self.random.randrange(99)}")
            self.folder.foreign(path.name, encode(made))

    def foreign_deletes(self) -> None:
        path = self._some()
        if path is not None:
            self.removed[path.name] = path.read_bytes()
            path.unlink()

    def foreign_restores(self) -> None:
        if self.removed:
            name = self.random.choice(sorted(self.removed))
            self.folder.foreign(name, self.removed.pop(name))

    def foreign_edits_in_place(self) -> None:
        path = self._some()
        if path is not None:
            path.write_bytes(path.read_bytes().replace(b"work", b"play"))

    def foreign_breaks(self) -> None:
        path = self._some()
        if path is not None:
            self.folder.foreign(path.name, path.read_bytes()[: self.random.randrange(60)])

    def cache_is_deleted(self) -> None:
        for path in self.folder.cache.glob("*"):
            path.unlink()


@pytest.mark.parametrize("seed", range(30))
def test_after_every_change_by_anybody_the_list_equals_a_naive_read(folder: Folder, seed: int) -> None:
    changes = Changes(folder, seed)
    for _ in range(25):
        changes.happen()
        folder.agrees()


@pytest.mark.parametrize("seed", range(10))
def test_changes_between_two_looks_are_all_seen_at_the_next(folder: Folder, seed: int) -> None:
    changes = Changes(folder, 1_000 + seed)
    for _ in range(6):
        for _ in range(8):
            changes.happen()
        folder.agrees()


def test_an_index_that_trusts_the_number_of_names_is_misled_by_the_same_changes(folder: Folder) -> None:
    """The control: a cheaper sign of change than the folder's time and our notes fails the same comparison."""
    known: dict[str, object] = {"names": -1, "rows": []}

    def naive_index() -> object:
        names = len(os.listdir(folder.sessions))
        if names != known["names"]:
            known.update(names=names, rows=[found.session_id for found in folder.naive()[0] if found.rev == 1])
        return known["rows"]

    folder.store.create(session(1))
    folder.store.update(session(1).session_id, lambda found: step(found, "a"))
    naive_index()
    folder.foreign(record_name(session(1).session_id), encode(session(1)))
    assert naive_index() != [found.session_id for found in folder.naive()[0] if found.rev == 1]


def test_our_own_writers_spare_the_index_the_comparison_of_all_files(folder: Folder) -> None:
    for number in range(5):
        folder.store.create(session(number))
    folder.store.update(session(1).session_id, lambda found: step(found, "first"))
    folder.listed()
    folder.store.update(session(1).session_id, lambda found: step(found, "second"))
    folder.store.update(session(2).session_id, lambda found: step(found, "third"))
    reads: list[str] = []
    index: Any = folder.index()

    def read(session_id: str) -> Session:
        reads.append(session_id)
        return folder.store.load(session_id)

    index._read = read
    index._compare_all = None  # calling it would raise
    found = index.list(ALL)
    steps = [(row[0], row[PLACE["step"]]) for row in found.rows if row[PLACE["step"]]]
    assert steps == [(session(2).session_id, "third"), (session(1).session_id, "second")]
    assert sorted(reads) == [session(1).session_id, session(2).session_id]


def note(name: str, before_ns: int, after_ns: int) -> Note:
    return Note(name=name, before_ns=before_ns, after_ns=after_ns)


def test_a_chain_of_notes_joins_only_what_nobody_else_came_between() -> None:
    notes = [note("a", 10, 20), note("b", 20, 30)]
    assert chained(notes, 10, 30) == {"a", "b"}
    assert chained(notes, 20, 30) == {"b"}
    assert chained(notes, 10, 31) is None
    assert chained([note("a", 10, 20), note("b", 21, 30)], 10, 30) is None
    assert chained([], 10, 10) == set()
    assert chained([], 10, 11) is None


def sqlite(path: Path, sql: str, flags: int = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE) -> list[Any]:
    """What another program's SQLite does to a file."""
    connection: Any = apsw.Connection(str(path), flags=flags)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def _garbage(path: Path) -> None:
    path.write_bytes(b"not a database, but long enough to look like something" * 40)


def _half_written(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _another_version(path: Path) -> None:
    sqlite(path, "PRAGMA user_version=99; DROP TABLE rows; CREATE TABLE rows (other TEXT)")


def _empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("befall", [_garbage, _half_written, _another_version, _empty, Path.unlink])
def test_a_damaged_index_is_made_anew(folder: Folder, befall: Callable[[Path], None]) -> None:
    for number in range(30):
        folder.store.create(session(number))
    folder.agrees()
    folder.forget_wal()
    befall(folder.cache / INDEX_FILE)
    folder.agrees()
    found = sqlite(folder.cache / INDEX_FILE, "SELECT count(*) FROM rows", apsw.SQLITE_OPEN_READONLY)
    assert found == [(30,)]


def _fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/null")


def _others(path: Path) -> None:
    path.unlink()
    sqlite(path, "PRAGMA application_id=7; CREATE TABLE precious (word TEXT)")


@pytest.mark.parametrize("befall", [_fifo, _directory, _link, _others])
def test_what_is_not_our_index_is_left_alone_and_the_answer_is_right(
    folder: Folder, befall: Callable[[Path], None]
) -> None:
    for number in range(5):
        folder.store.create(session(number))
    folder.agrees()
    folder.forget_wal()
    path = folder.cache / INDEX_FILE
    befall(path)
    before = path.lstat()
    folder.agrees()
    folder.store.create(session(9))
    folder.agrees()
    assert (path.lstat().st_ino, path.lstat().st_mode) == (before.st_ino, before.st_mode)


def test_a_cache_that_cannot_be_made_costs_time_and_nothing_else(folder: Folder) -> None:
    folder.cache.write_text("a file where the folder should be")
    for number in range(5):
        folder.store.create(session(number))
    folder.agrees()
    assert folder.cache.read_text() == "a file where the folder should be"


def test_the_index_is_private_to_its_owner(folder: Folder) -> None:
    old = os.umask(0)
    try:
        folder.store.create(session(1))
        folder.listed()
    finally:
        os.umask(old)
    assert folder.cache.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in folder.cache.iterdir() if path.stat().st_mode & 0o077] == []


def test_a_few_records_are_read_without_leaving_an_index_behind(folder: Folder) -> None:
    folder.store.create(session(1))
    assert len(folder.index(WORTH_AN_INDEX).list(ALL).rows) == 1
    assert not folder.cache.exists()
    for number in range(2, WORTH_AN_INDEX + 2):
        folder.foreign(record_name(session(number).session_id), encode(session(number)))
    assert len(folder.index(WORTH_AN_INDEX).list(ALL).rows) == WORTH_AN_INDEX + 1
    assert (folder.cache / INDEX_FILE).exists()


def test_an_absent_data_directory_is_an_empty_list_and_stays_absent(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "data")
    folder.path.rmdir()
    assert folder.listed() == Listed(rows=(), more=False, unreadable=())
    assert not folder.path.exists()


def test_a_limit_says_whether_more_matched(folder: Folder) -> None:
    for number in range(4):
        folder.store.create(session(number))
    found = folder.listed(Wanted(sql="app = ?", values=("auth",), limit=1))
    assert [row[0] for row in found.rows] == [session(3).session_id]
    assert found.more
    assert not folder.listed(Wanted(sql="app = ?", values=("auth",), limit=2)).more


def test_a_row_keeps_what_other_versions_wrote(folder: Folder) -> None:
    made = step(session(1), "deploy")
    strange = encode(made).replace(b'"authenticated": false', b'"authenticated": false, "badge": {"n": 1}')
    folder.foreign(record_name(made.session_id), strange.replace(b'"seq": 1\n  },', b'"seq": 1, "mood": "calm"\n  },'))
    (row,) = folder.listed().rows
    record = folder.store.load(made.session_id)
    assert record.checkpoint is not None
    assert (record.checkpoint.extra, record.actor.extra) == ({"mood": "calm"}, {"badge": {"n": 1}})
    assert len(row) == len(LISTED_COLUMNS)
    assert summary_of(row, 9_000_000, 1_000) == summarise(record, 9_000_000, 1_000)


def test_the_index_holds_what_the_filter_language_asks_it_for(folder: Folder) -> None:
    folder.store.create(step(session(1), "Größe"))
    folder.foreign(record_name(session(2).session_id), b"{")
    folder.listed()
    record = folder.store.load(session(1).session_id)
    asked = f"SELECT {', '.join(filters.COLUMNS)} FROM rows WHERE code IS NULL"
    (good,) = sqlite(folder.cache / INDEX_FILE, asked, apsw.SQLITE_OPEN_READONLY)
    assert good == filters.columns_of(filters.filterable(record.session_id, summarise(record, 0, 1_000)))
    asked = f"SELECT {', '.join(filters.COLUMNS)} FROM rows WHERE code IS NOT NULL"
    (bad,) = sqlite(folder.cache / INDEX_FILE, asked, apsw.SQLITE_OPEN_READONLY)
    assert bad == filters.columns_of(filters.filterable(session(2).session_id, BadRecord("SESSION_CORRUPT")))


def test_in_place_edits_that_move_a_record_between_filters_are_found_by_a_full_check(folder: Folder) -> None:
    folder.store.create(session(1))
    folder.listed()
    path = folder.sessions / record_name(session(1).session_id)
    path.write_bytes(path.read_bytes().replace(b'"auth"', b'"hiring"'))
    wanted = Wanted(sql="app = ?", values=("hiring",))
    assert [row[0] for row in folder.listed(wanted, check=True).rows] == [session(1).session_id]


def test_processes_that_build_the_index_together_all_answer_right(folder: Folder) -> None:
    for number in range(150):
        folder.foreign(record_name(session(number).session_id), encode(session(number)))
    program = (
        "import sys\n"
        "from phelix_core.cli.main import main\n"
        "sys.exit(main(['session', 'list', '--limit', '0', '--json', '--data-dir', sys.argv[1]]))"
    )
    argv = [sys.executable, "-c", program, str(folder.path)]
    running = [subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)]
    answers = [process.communicate(timeout=60) for process in running]
    assert {process.returncode for process in running} == {0}, answers
    documents = {out.replace(b'"stale"', b"") for out, _ in answers}
    assert {document.count(b'"session_id"') for document in documents} == {150}


def test_the_first_build_tells_how_far_it_is(data_dir: Path) -> None:
    told: list[tuple[int, int]] = []
    settings = Settings(data_dir=str(data_dir))
    env = open_environment(settings, Surface.CLI, progress=lambda done, of: told.append((done, of)))
    for number in range(WORTH_AN_INDEX):
        env.sessions.create(session(number))
    found: SessionList = did(env, "session list", limit=0)
    assert found.count == WORTH_AN_INDEX
    assert told == [(WORTH_AN_INDEX, WORTH_AN_INDEX)]
