"""Durable files: the only code that opens, replaces or removes a record.

Promises: a reader sees a whole old file or a whole new one; what was acknowledged has been fsynced,
name and content; a failure before the name changed leaves every byte as it was (`FilesystemError`),
one after it is `OutcomeUnknown`, never plain failure. Links, FIFOs, devices and folders in place of a
file are refused without following or blocking. Source: sessions page, Writing; trust page, P3 and P7.
"""

import errno
import fcntl
import os
import stat
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

from phelix_core.clock import Clock
from phelix_core.errors import AlreadyExists, FilesystemError, NotFound, OutcomeUnknown, StoreBusy

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


def why(error: OSError) -> str:
    """What the system said, without paths or values."""
    return os.strerror(error.errno) if error.errno else "the system gave no reason"


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


def _read_all(descriptor: int, size: int, limit: int) -> bytes:
    """The file's bytes, `size` of them when it was opened; more than `limit` is `UnreadableFile`."""
    data = os.read(descriptor, min(size, limit) + 1)
    while size < len(data) <= limit and (more := os.read(descriptor, limit + 1 - len(data))):
        data += more
    if len(data) > limit:
        raise UnreadableFile(f"larger than {limit} bytes")
    return data


class Folder:
    """One folder of records, opened for each operation so that a replaced folder is never written blindly."""

    def __init__(self, path: str, clock: Clock) -> None:
        self.path = path
        self._clock = clock

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
            os.close(descriptor)

    def names(self) -> list[str]:
        """Names in the folder, in no order; an absent folder has none."""
        try:
            with self._opened() as folder:
                return os.listdir(folder)
        except NotFound:
            return []
        except OSError as error:
            raise FilesystemError(f"Cannot list the folder: {why(error)}.", details={"path": self.path}) from None

    def read(self, name: str, limit: int = MAX_FILE_BYTES) -> bytes:
        """Bytes of the regular file `name`; raises `NotFound`, `UnreadableFile` or `FilesystemError`."""
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
            return _read_all(descriptor, found.st_size, limit)
        except OSError as error:
            raise FilesystemError(f"Cannot read the record: {why(error)}.", details={"path": path}) from None
        finally:
            os.close(descriptor)

    def create(self, name: str, data: bytes) -> None:
        """Make `name` with `data`, durably; an existing name is `AlreadyExists` and stays untouched."""
        self.prepare()
        with self._opened() as folder:
            staged = self._stage(folder, name, data, None)
            named = False
            try:
                os.link(staged, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
                named = True
                os.unlink(staged, dir_fd=folder)
                _sync(folder)
            except OSError as error:
                raise self._failed(folder, staged, error, named=named) from None

    def replace(self, name: str, data: bytes) -> None:
        """Put `data` in place of the existing file `name`, durably; call it under `locked(name)`."""
        with self._opened() as folder:
            staged = self._stage(folder, name, data, os.stat(name, dir_fd=folder, follow_symlinks=False))
            named = False
            try:
                os.rename(staged, name, src_dir_fd=folder, dst_dir_fd=folder)
                named = True
                _sync(folder)
            except OSError as error:
                raise self._failed(folder, staged, error, named=named) from None

    def remove(self, name: str) -> None:
        """Remove `name` durably; one that has gone already is no error."""
        with self._opened() as folder:
            removed = False
            try:
                os.unlink(name, dir_fd=folder)
                removed = True
                _sync(folder)
            except FileNotFoundError:
                return
            except OSError as error:
                raise self._failed(folder, None, error, named=removed) from None

    @contextmanager
    def locked(self, name: str, lock: str) -> Generator[None]:
        """Hold the exclusive lock of the existing file `name`; the lock file's name is `lock`.

        Waits at most `LOCK_DEADLINE_S` seconds, then `StoreBusy`. A `name` that does not exist is `NotFound`
        and leaves no lock file behind.
        """
        descriptor = self._acquire(name, lock)
        try:
            yield
        finally:
            os.close(descriptor)

    def _acquire(self, name: str, lock: str) -> int:
        deadline = self._clock.monotonic() + LOCK_DEADLINE_S
        while True:
            self._require(name)
            descriptor = self._open_lock(lock)
            try:
                self._wait_for(descriptor, deadline)
                if self._still_is(lock, descriptor):
                    self._require(name, orphan=lock)
                    return descriptor
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)  # pruned while we waited: that lock guards nothing any more

    def _require(self, name: str, orphan: str | None = None) -> None:
        try:
            os.lstat(f"{self.path}/{name}")
        except (FileNotFoundError, NotADirectoryError):
            if orphan:
                with suppress(OSError):
                    os.unlink(f"{self.path}/{orphan}")
            raise NotFound from None
        except OSError as error:
            raise FilesystemError(f"Cannot look at the record: {why(error)}.") from None

    def _open_lock(self, lock: str) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            descriptor = os.open(f"{self.path}/{lock}", flags, _FILE_MODE)
        except OSError as error:
            raise FilesystemError(f"Cannot open the record's lock: {why(error)}.") from None
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise FilesystemError("The record's lock is not a regular file.")
        return descriptor

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

    def _still_is(self, lock: str, descriptor: int) -> bool:
        try:
            named = os.lstat(f"{self.path}/{lock}")
        except OSError:
            return False
        return os.path.samestat(named, os.fstat(descriptor))

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
        parent = os.path.dirname(path) or "."
        self._make(parent)
        with suppress(FileExistsError):
            os.mkdir(path, _FOLDER_MODE)
            os.chmod(path, _FOLDER_MODE)  # whatever the umask took away or left
            _keep_owner_of(parent, path)
            descriptor = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                _sync(descriptor)
            finally:
                os.close(descriptor)

    def _stage(self, folder: int, name: str, data: bytes, owner: os.stat_result | None) -> str:
        """Write `data` to a new temporary file and sync it; answers its name relative to the folder."""
        staged = f"{STAGING}/{name}.{os.urandom(8).hex()}"
        try:
            descriptor = self._open_staged(folder, staged)
        except OSError as error:
            raise self._failed(folder, None, error, named=False) from None
        try:
            os.fchmod(descriptor, _FILE_MODE)
            if os.geteuid() == 0:
                kept = owner or os.fstat(folder)
                os.fchown(descriptor, kept.st_uid, kept.st_gid)
            _write_all(descriptor, data)
            _sync(descriptor)
        except OSError as error:
            with suppress(OSError):
                os.close(descriptor)
            raise self._failed(folder, staged, error, named=False) from None
        os.close(descriptor)
        return staged

    def _open_staged(self, folder: int, staged: str) -> int:
        try:
            return os.open(staged, _STAGE_FLAGS, _FILE_MODE, dir_fd=folder)
        except FileNotFoundError:
            self._make(f"{self.path}/{STAGING}")
            return os.open(staged, _STAGE_FLAGS, _FILE_MODE, dir_fd=folder)

    def _failed(self, folder: int, staged: str | None, error: OSError, *, named: bool) -> Exception:
        """Name a failed write honestly and take its temporary file away."""
        if named:
            return OutcomeUnknown(details={"path": self.path, "reason": why(error)})
        if staged:
            with suppress(OSError):
                os.unlink(staged, dir_fd=folder)
        if isinstance(error, FileExistsError):
            return AlreadyExists()
        return FilesystemError(
            f"The write was refused: {why(error)}. Nothing was changed.", details={"path": self.path}
        )

    def clear_staged(self, name: str) -> None:
        """Take away temporary files that killed writers of `name` left; call it under `locked(name)`."""
        for stray in self.staged():
            if stray.startswith(f"{name}."):
                with suppress(OSError):
                    os.unlink(f"{self.path}/{STAGING}/{stray}")

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
