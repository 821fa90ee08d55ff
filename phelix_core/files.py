"""Durable files: the only code that opens, replaces or removes a record.

Promises: a reader sees a whole old file or a whole new one; what was acknowledged has been fsynced,
name and content; a failure before the name changed leaves every byte as it was (`FilesystemError`),
one after it is `OutcomeUnknown`, never plain failure; an interrupt counts as a failure. Links, FIFOs,
devices and folders in place of a file are refused without following or blocking. Source: sessions page,
Writing; trust page, P3 and P7.
"""

import errno
import fcntl
import os
import stat
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress

from phelix_core.clock import Clock
from phelix_core.errors import AlreadyExists, FilesystemError, NotFound, OutcomeUnknown, StoreBusy
from phelix_core.touched import Touched

MAX_FILE_BYTES = 1 << 20
LOCK_DEADLINE_S = 10.0
STAGING = ".staging"
"""Folder inside a record folder that holds temporary files, so that no listing or watcher meets one."""

_FILE_MODE = 0o600
_FOLDER_MODE = 0o700
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_STAGE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class UnreadableFile(Exception):
    """What stands at a record's name is no regular file of at most `MAX_FILE_BYTES`."""


def why(error: BaseException) -> str:
    """What the system said, without paths or values."""
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)
    return "interrupted" if isinstance(error, KeyboardInterrupt) else "the system gave no reason"


def _sync(descriptor: int) -> None:
    """Ask for the disk itself, not for its cache."""
    if sys.platform == "darwin":
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fsync(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _close(descriptor: int) -> None:
    """Let go of a descriptor that nothing was written to: a failure to close it changes no answer."""
    with suppress(OSError):
        os.close(descriptor)


def _read_all(descriptor: int, size: int, limit: int) -> bytes:
    """The file's bytes, `size` of them when it was opened; more than `limit` is `UnreadableFile`."""
    data = os.read(descriptor, min(size, limit) + 1)
    while size < len(data) <= limit and (more := os.read(descriptor, limit + 1 - len(data))):
        data += more
    if len(data) > limit:
        raise UnreadableFile(f"larger than {limit} bytes")
    return data


Stamp = tuple[int, int, int]
"""A file's mtime in nanoseconds, size and inode."""


def stamp_of(found: os.stat_result) -> Stamp:
    """What tells a file from what it was."""
    return found.st_mtime_ns, found.st_size, found.st_ino


class Folder:
    """One folder of records, opened for each operation so that a replaced folder is never written blindly."""

    def __init__(self, path: str, clock: Clock, notes: Touched | None = None) -> None:
        self.path = path
        self._clock = clock
        self._notes = notes

    def _noted(self, folder: str | int, name: str) -> AbstractContextManager[None]:
        """Around each change of a name: tell the derived index which one, where there is an index."""
        return nullcontext() if self._notes is None else self._notes.noting(folder, name)

    @contextmanager
    def _opened(self) -> Generator[int]:
        """Descriptor of the folder; absent is `NotFound`, anything else `FilesystemError`."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise NotFound("The folder does not exist yet.") from None
        except OSError as error:
            raise FilesystemError(f"Cannot open the folder: {why(error)}.", details={"path": self.path}) from None
        try:
            yield descriptor
        finally:
            _close(descriptor)

    def names(self) -> list[str]:
        """Names in the folder, in no order; an absent folder has none."""
        try:
            with self._opened() as folder:
                return os.listdir(folder)
        except NotFound:
            return []
        except OSError as error:
            raise FilesystemError(f"Cannot list the folder: {why(error)}.", details={"path": self.path}) from None

    def stamps(self) -> Iterator[tuple[str, Stamp]]:
        """Names with mtime in nanoseconds, size and inode; an absent folder has none."""
        try:
            with os.scandir(self.path) as entries:
                for entry in entries:
                    with suppress(FileNotFoundError):
                        found = entry.stat(follow_symlinks=False)
                        yield entry.name, stamp_of(found)
        except FileNotFoundError:
            return
        except OSError as error:
            raise FilesystemError(f"Cannot list the folder: {why(error)}.", details={"path": self.path}) from None

    def require_listable(self) -> None:
        """Refuse a folder that cannot be looked into; an absent one is an empty one."""
        with suppress(NotFound), self._opened():
            pass

    def read(self, name: str, limit: int = MAX_FILE_BYTES) -> bytes:
        """Bytes of the regular file `name`; raises `NotFound`, `UnreadableFile` or `FilesystemError`."""
        with self._regular(name) as (descriptor, size):
            return _read_all(descriptor, size, limit)

    def part(self, name: str, start: int, limit: int) -> tuple[bytes, int]:
        """At most `limit` bytes of a growing file from `start` (below 0: from its end), and where they begin.

        Raises as `read` does; a file that is shorter than `start` has nothing more to give.
        """
        with self._regular(name) as (descriptor, size):
            begin = start if start >= 0 else max(0, size + start)
            return os.pread(descriptor, limit, begin), begin

    @contextmanager
    def _regular(self, name: str) -> Generator[tuple[int, int]]:
        """Descriptor and size of a regular file, opened without following or waiting."""
        path = f"{self.path}/{name}"
        try:
            descriptor = os.open(path, _READ_FLAGS)
        except (FileNotFoundError, NotADirectoryError):
            raise NotFound from None
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENXIO, errno.EMLINK):
                raise UnreadableFile("not a regular file") from None
            raise FilesystemError(f"Cannot open the record: {why(error)}.", details={"path": path}) from None
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise UnreadableFile("not a regular file")
            yield descriptor, found.st_size
        except OSError as error:
            raise FilesystemError(f"Cannot read the record: {why(error)}.", details={"path": path}) from None
        finally:
            _close(descriptor)

    def create(self, name: str, data: bytes) -> None:
        """Make `name` with `data`, durably; an existing name is `AlreadyExists` and stays untouched."""
        self.prepare()
        with self._opened() as folder:
            staged = self._stage(folder, name, data, None)
            try:
                try:
                    with self._noted(folder, name):
                        os.link(staged, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
                except OSError as error:
                    raise self._refused(error, folder, staged) from None
                _take_away(staged, folder)
                _sync(folder)
            except (OSError, KeyboardInterrupt) as error:
                raise self._unknown(error, folder, staged) from None

    def replace(self, name: str, data: bytes, before: os.stat_result | None = None) -> None:
        """Put `data` in place of the existing file `name`, durably; call it under `locked(name)`, which gives `before`.

        The new file gets the owner that the old one had.
        """
        before = before or self._require(name)
        with self._opened() as folder:
            staged = self._stage(folder, name, data, before)
            # What is raised after the call below began, and is not the call's own refusal, leaves the outcome open.
            try:
                try:
                    with self._noted(folder, name):
                        os.rename(staged, name, src_dir_fd=folder, dst_dir_fd=folder)
                except OSError as error:
                    raise self._refused(error, folder, staged) from None
                _sync(folder)
            except (OSError, KeyboardInterrupt) as error:
                raise self._unknown(error, folder, staged) from None

    def remove(self, name: str, lock: str) -> None:
        """Remove `name` durably, and the lock file that guarded it; call it under `locked(name)`.

        A name that has gone already is no error.
        """
        with self._opened() as folder:
            try:
                try:
                    with self._noted(folder, name):
                        os.unlink(name, dir_fd=folder)
                except FileNotFoundError:
                    return
                except OSError as error:
                    raise self._refused(error, folder) from None
                with self._noted(folder, lock):
                    _take_away(lock, folder)
                _sync(folder)
            except (OSError, KeyboardInterrupt) as error:
                raise self._unknown(error, folder) from None

    @contextmanager
    def locked(self, name: str, lock: str) -> Generator[os.stat_result]:
        """Hold the exclusive lock of the existing file `name`, and tell what stands there; the lock's name is `lock`.

        Waits at most `LOCK_DEADLINE_S` seconds, then `StoreBusy`. A `name` that does not exist is `NotFound`
        and leaves no lock file behind.
        """
        descriptor, found = self._acquire(name, lock)
        try:
            yield found
        finally:
            _close(descriptor)

    def try_lock(self, lock: str) -> int | None:
        """A descriptor of the file `lock`, locked exclusively without waiting; None where somebody holds it.

        The file is made where there is none, and stays. The lock lives as long as any process has the descriptor or a
        copy that it inherited: whoever lets go of it closes the descriptor and never unlocks it.
        """
        self.prepare()
        descriptor = self._open_lock(lock)
        try:
            self._guarding(descriptor, os.stat(self.path))
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _close(descriptor)
            return None
        except OSError as error:
            _close(descriptor)
            raise FilesystemError(f"Cannot lock {lock}: {why(error)}.", details={"path": self.path}) from None
        except BaseException:
            _close(descriptor)
            raise
        return descriptor

    def _acquire(self, name: str, lock: str) -> tuple[int, os.stat_result]:
        deadline = self._clock.monotonic() + LOCK_DEADLINE_S
        while True:
            owner = self._require(name)
            descriptor = self._open_lock(lock)
            try:
                opened = self._guarding(descriptor, owner)
                self._wait_for(descriptor, deadline)
                if self._still_is(lock, opened):
                    return descriptor, self._require(name, orphan=lock)
            except BaseException:
                _close(descriptor)
                raise
            _close(descriptor)  # pruned while we waited: that lock guards nothing any more

    def _require(self, name: str, orphan: str | None = None) -> os.stat_result:
        """What stands at `name`; where nothing does, take the lock file `orphan` away, which guards nothing."""
        try:
            return os.lstat(f"{self.path}/{name}")
        except (FileNotFoundError, NotADirectoryError):
            if orphan:
                _take_away(f"{self.path}/{orphan}")
            raise NotFound from None
        except OSError as error:
            raise FilesystemError(f"Cannot look at the record: {why(error)}.") from None

    def _open_lock(self, lock: str) -> int:
        flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            try:
                return os.open(f"{self.path}/{lock}", flags)
            except FileNotFoundError:
                with self._noted(self.path, lock):
                    return os.open(f"{self.path}/{lock}", flags | os.O_CREAT, _FILE_MODE)
        except OSError as error:
            raise FilesystemError(f"Cannot open the record's lock: {why(error)}.") from None

    def _guarding(self, descriptor: int, owner: os.stat_result) -> os.stat_result:
        """The lock's identity, once it is a file of its own that `owner`'s own writers can open too.

        A second name may be another's file: to give that away as root would hand it over.
        """
        try:
            found = os.fstat(descriptor)
            if stat.S_ISREG(found.st_mode) and found.st_nlink <= 1:
                _give(descriptor, found, owner)
                return found
        except OSError as error:
            raise FilesystemError(f"Cannot prepare the record's lock: {why(error)}.") from None
        raise FilesystemError("The record's lock is not a regular file of one name.")

    def _wait_for(self, descriptor: int, deadline: float) -> None:
        """Take the lock; jittered short waits keep many waiters fair, since flock has no queue with a deadline."""
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except (BlockingIOError, InterruptedError):
                if self._clock.monotonic() >= deadline:
                    raise StoreBusy from None
                self._clock.sleep(0.0005 + os.urandom(1)[0] / 255 * 0.003)
            except OSError as error:
                raise FilesystemError(f"Cannot lock the record: {why(error)}.") from None
            else:
                return

    def _still_is(self, lock: str, opened: os.stat_result) -> bool:
        try:
            return os.path.samestat(os.lstat(f"{self.path}/{lock}"), opened)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise FilesystemError(f"Cannot look at the record's lock: {why(error)}.") from None

    def prepare(self) -> None:
        """Make the folder (0700) with its parents; repair its mode where it is laxer and ours."""
        try:
            self._make(self.path)
            mode = os.lstat(self.path)
            if stat.S_IMODE(mode.st_mode) & 0o077 and stat.S_ISDIR(mode.st_mode) and mode.st_uid == os.geteuid():
                os.chmod(self.path, _FOLDER_MODE)
        except OSError as error:
            raise FilesystemError(f"Cannot make the folder: {why(error)}.", details={"path": self.path}) from None

    def _make(self, path: str) -> None:
        """Make `path` and what is missing above it, each name synced in its parent."""
        if os.path.isdir(path):
            return
        parent = os.path.dirname(path)
        if parent != path:
            self._make(parent)
        with suppress(FileExistsError):
            os.mkdir(path, _FOLDER_MODE)
            os.chmod(path, _FOLDER_MODE)  # whatever the umask took away or left
            _keep_owner_of(parent, path)
            descriptor = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                _sync(descriptor)
            finally:
                _close(descriptor)

    def _stage(self, folder: int, name: str, data: bytes, before: os.stat_result | None) -> str:
        """Write `data` to a new temporary file and sync it; answers its name relative to the folder.

        The file gets the owner of what was there `before`, else of the folder. Until a name is given to it, nothing
        counts as written: any failure, an interrupt too, takes the file away and leaves all else alone.
        """
        staged = f"{STAGING}/{name}.{os.urandom(8).hex()}"
        try:
            owner = before or os.fstat(folder)
            descriptor = self._open_staged(folder, staged)
            try:
                _give(descriptor, os.fstat(descriptor), owner)
                _write_all(descriptor, data)
                _sync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise self._refused(error, folder, staged) from None
        except BaseException:
            _take_away(staged, folder)
            raise
        return staged

    def _open_staged(self, folder: int, staged: str) -> int:
        try:
            return os.open(staged, _STAGE_FLAGS, _FILE_MODE, dir_fd=folder)
        except FileNotFoundError:
            self._make(f"{self.path}/{STAGING}")
            return os.open(staged, _STAGE_FLAGS, _FILE_MODE, dir_fd=folder)

    def _refused(self, error: OSError, folder: int, staged: str | None = None) -> Exception:
        """Tell a write that changed nothing, and take its temporary file away."""
        if staged:
            _take_away(staged, folder)
        if isinstance(error, FileExistsError):
            return AlreadyExists()
        return FilesystemError(
            f"The write was refused: {why(error)}. Nothing was changed.", details={"path": self.path}
        )

    def _unknown(self, error: BaseException, folder: int, staged: str | None = None) -> OutcomeUnknown:
        """Tell a write whose new name may be there, and may not survive; its temporary name is of no use any more."""
        if staged:
            _take_away(staged, folder)
        return OutcomeUnknown(details={"path": self.path, "reason": why(error)})

    def clear_staged(self, name: str) -> None:
        """Take away temporary files that killed writers of `name` left; call it under `locked(name)`."""
        for stray in self.staged():
            if stray.startswith(f"{name}."):
                _take_away(f"{self.path}/{STAGING}/{stray}")

    def staged(self) -> list[str]:
        """Names of temporary files, of living writers and of killed ones."""
        try:
            return os.listdir(f"{self.path}/{STAGING}")
        except OSError:
            return []

    def lax_modes(self) -> list[str]:
        """Paths of this folder and its files that other users may open."""
        paths = [self.path, f"{self.path}/{STAGING}"]
        try:
            with os.scandir(self.path) as entries:
                paths += [entry.path for entry in entries if entry.is_file(follow_symlinks=False)]
        except OSError:
            return []
        return [path for path in paths if _is_lax(path)]

    def old_leftovers(self, now_s: float, age_s: float, foreign: Callable[[str], bool]) -> list[str]:
        """Paths of temporary files older than `age_s` seconds: ours, and those whose name is `foreign`."""
        paths = [f"{self.path}/{STAGING}/{name}" for name in self.staged()]
        try:
            paths += [f"{self.path}/{name}" for name in os.listdir(self.path) if foreign(name)]
        except OSError:
            return []
        return sorted(path for path in paths if _age_s(path, now_s) > age_s)

    def repair(self, lax: list[str], leftovers: list[str]) -> list[str]:
        """Close modes and remove leftovers; answers what was done, and leaves out what could not be."""
        done: list[str] = []
        for path in lax:
            with suppress(OSError):
                os.chmod(path, _FOLDER_MODE if os.path.isdir(path) else _FILE_MODE, follow_symlinks=True)
                done.append(f"closed {path}")
        for path in leftovers:
            with suppress(OSError):
                os.unlink(path)
                done.append(f"removed {path}")
        return done


def _take_away(name: str, folder: int | None = None) -> None:
    """Remove what is of no use any more; where that fails it stays, and does no harm."""
    with suppress(OSError):
        os.unlink(name, dir_fd=folder)


def _give(descriptor: int, made: os.stat_result, owner: os.stat_result) -> None:
    """Make a file of ours private whatever the umask; made as root, it belongs to whom the record belongs."""
    us = os.geteuid()
    if stat.S_IMODE(made.st_mode) != _FILE_MODE and us in (0, made.st_uid):
        os.fchmod(descriptor, _FILE_MODE)
    if us == 0 and (made.st_uid, made.st_gid) != (owner.st_uid, owner.st_gid):
        os.fchown(descriptor, owner.st_uid, owner.st_gid)


def _is_lax(path: str) -> bool:
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return not stat.S_ISLNK(found.st_mode) and bool(stat.S_IMODE(found.st_mode) & 0o077)


def _age_s(path: str, now_s: float) -> float:
    try:
        return now_s - os.lstat(path).st_mtime
    except OSError:
        return 0.0


def _keep_owner_of(parent: str, path: str) -> None:
    """A folder made as root inside a person's folder stays that person's."""
    if os.geteuid() == 0:
        owner = os.stat(parent)
        os.chown(path, owner.st_uid, owner.st_gid)
