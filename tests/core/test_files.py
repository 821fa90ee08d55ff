import errno
import fcntl
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from phelix_core.errors import AlreadyExists, FilesystemError, NotFound, StoreBusy
from phelix_core.files import LOCK_DEADLINE_S, MAX_FILE_BYTES, STAGING, Folder, UnreadableFile
from tests.rig import FixedClock, bytes_of


@pytest.fixture
def folder(tmp_path: Path, clock: FixedClock) -> Folder:
    return Folder(str(tmp_path / "records"), clock)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        os.chdir(path.parent)  # a socket's name is capped at 108 bytes
        made.bind(path.name)


SPECIALS: dict[str, Callable[[Path], object]] = {
    "link to a file": lambda path: (path.parent / "t").write_text("x") and path.symlink_to(path.parent / "t"),
    "link to nothing": lambda path: path.symlink_to("/nonexistent"),
    "link to a device": lambda path: path.symlink_to("/dev/zero"),
    "FIFO": os.mkfifo,
    "folder": lambda path: path.mkdir(),
    "socket": make_socket,
    "a byte too large": lambda path: path.write_bytes(b"x" * (MAX_FILE_BYTES + 1)),
    "sparse and huge": lambda path: (path.touch(), os.truncate(path, 1 << 40)),
}


@pytest.mark.parametrize("make", SPECIALS.values(), ids=SPECIALS.keys())
def test_what_is_no_plain_file_is_refused_without_following_or_waiting(
    folder: Folder, make: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    folder.prepare()
    make(Path(folder.path, "a"))
    before = (
        bytes_of(Path(folder.path)) if Path(folder.path, "a").stat(follow_symlinks=False).st_size < 1 << 21 else None
    )
    with pytest.raises(UnreadableFile):
        folder.read("a")
    assert before is None or bytes_of(Path(folder.path)) == before


def test_the_largest_allowed_file_is_read(folder: Folder) -> None:
    folder.create("a", b"x" * MAX_FILE_BYTES)
    assert len(folder.read("a")) == MAX_FILE_BYTES


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777])
def test_modes_are_private_whatever_the_umask(folder: Folder, umask: int) -> None:
    before = os.umask(umask)
    try:
        folder.create("a", b"1")
        folder.replace("a", b"2")
        with folder.locked("a", "a.lock"):
            pass
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o7777 for path in (Path(folder.path), *Path(folder.path).iterdir())}
    lock = modes.pop("a.lock")
    assert modes == {"records": 0o700, STAGING: 0o700, "a": 0o600}
    assert lock & 0o077 == 0


def test_a_lax_folder_is_closed_by_the_next_new_record(folder: Folder) -> None:
    os.mkdir(folder.path)
    os.chmod(folder.path, 0o777)
    folder.create("a", b"")
    assert os.stat(folder.path).st_mode & 0o7777 == 0o700


def test_creating_what_exists_changes_nothing_and_leaves_no_temporary_file(folder: Folder) -> None:
    folder.create("a", b"1")
    before = bytes_of(Path(folder.path))
    with pytest.raises(AlreadyExists):
        folder.create("a", b"2")
    assert bytes_of(Path(folder.path)) == before


@pytest.mark.parametrize("make", [SPECIALS["link to nothing"], SPECIALS["FIFO"], SPECIALS["folder"]])
def test_creating_never_goes_through_what_stands_there(folder: Folder, make: Callable[[Path], object]) -> None:
    folder.prepare()
    make(Path(folder.path, "a"))
    with pytest.raises(AlreadyExists):
        folder.create("a", b"2")
    assert not Path(folder.path, "a").is_file()


def test_replacing_a_link_replaces_the_link_and_never_what_it_names(folder: Folder, tmp_path: Path) -> None:
    folder.create("other", b"kept")
    (tmp_path / "target").write_bytes(b"kept")
    os.symlink(tmp_path / "target", Path(folder.path, "a"))
    folder.replace("a", b"new")
    assert (tmp_path / "target").read_bytes() == b"kept"
    assert folder.read("a") == b"new"


def test_a_lock_that_is_a_link_or_a_fifo_is_refused(folder: Folder, tmp_path: Path) -> None:
    folder.create("a", b"")
    os.symlink(tmp_path / "elsewhere", Path(folder.path, "1.lock"))
    os.mkfifo(Path(folder.path, "2.lock"))
    for lock in ("1.lock", "2.lock"):
        with pytest.raises(FilesystemError), folder.locked("a", lock):
            pass
    assert not (tmp_path / "elsewhere").exists()


def test_a_lock_held_elsewhere_is_waited_for_until_the_deadline_and_then_told(
    folder: Folder, clock: FixedClock
) -> None:
    folder.create("a", b"1")
    held = os.open(Path(folder.path, "a.lock"), os.O_CREAT | os.O_RDWR, 0o600)
    fcntl.flock(held, fcntl.LOCK_EX)
    try:
        with pytest.raises(StoreBusy), folder.locked("a", "a.lock"):
            pass
    finally:
        os.close(held)
    assert LOCK_DEADLINE_S <= clock.elapsed < LOCK_DEADLINE_S + 1
    with folder.locked("a", "a.lock"):
        folder.replace("a", b"2")
    assert folder.read("a") == b"2"


def test_a_lock_is_not_needed_to_read(folder: Folder) -> None:
    folder.create("a", b"1")
    with folder.locked("a", "a.lock"):
        assert folder.read("a") == b"1"


def test_locking_what_is_not_there_leaves_no_lock(folder: Folder) -> None:
    folder.prepare()
    with pytest.raises(NotFound), folder.locked("a", "a.lock"):
        pass
    assert os.listdir(folder.path) == []


def test_an_absent_folder_has_no_names_and_a_file_in_its_place_is_an_error(folder: Folder) -> None:
    assert folder.names() == []
    Path(folder.path).write_text("")
    with pytest.raises(FilesystemError, match=os.strerror(errno.ENOTDIR)):
        folder.names()
    with pytest.raises(FilesystemError):
        folder.create("a", b"")
    assert Path(folder.path).read_text() == ""


def test_removing_twice_is_no_error(folder: Folder) -> None:
    folder.create("a", b"1")
    folder.remove("a", "a.lock")
    folder.remove("a", "a.lock")
    assert folder.names() == [STAGING]


def test_no_descriptor_stays_open_whether_it_worked_or_not(folder: Folder) -> None:
    folder.create("a", b"1")
    os.mkfifo(Path(folder.path, "fifo"))
    before = os.listdir("/dev/fd")
    for _ in range(3):
        folder.read("a")
        with folder.locked("a", "a.lock"):
            folder.replace("a", b"2")
        for refused in (lambda: folder.create("a", b""), lambda: folder.read("fifo"), lambda: folder.read("none")):
            with pytest.raises((AlreadyExists, UnreadableFile, NotFound)):
                refused()
    assert len(os.listdir("/dev/fd")) == len(before)
