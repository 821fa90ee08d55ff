"""One text file of somebody's project, such as an agent's host reads: written whole or not at all.

Promises: nothing is followed or written out of the folder that was named, and what stands in the way, a link or a
folder, stays as it is; a reader sees the whole old file or the whole new one. Unlike a record the file is for
everybody's eyes and is committed with its project, so its mode is what the umask leaves, and an existing one's stays.
"""

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Final

from phelix_core.errors import AlreadyExists, FilesystemError, NotFound, OutcomeUnknown
from phelix_core.files import why

_LARGEST: Final = 1 << 20
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_STAGE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MODE: Final = 0o666
_FOLDER_MODE: Final = 0o777
"""Both before the umask."""


class ProjectFile:
    """The file at `place`, slashes between its folders, below an existing `folder`."""

    def __init__(self, folder: str, place: str) -> None:
        self._folder = folder
        *self._parts, self._name = place.split("/")

    def read(self) -> bytes | None:
        """What it holds, None where there is no such file."""
        try:
            with self._opened(make=False) as inside:
                return None if inside is None else self._held(inside)
        except OSError as error:
            raise FilesystemError(f"Cannot read the file: {why(error)}.") from None

    def write(self, data: bytes, before: bytes | None) -> None:
        """Put `data` there, with the folders it needs, while it still holds `before`."""
        try:
            with self._opened(make=True) as inside:
                if inside is not None:
                    self._put(inside, data, before)
        except OSError as error:
            raise FilesystemError(f"The write was refused: {why(error)}.") from None

    @contextmanager
    def _opened(self, *, make: bool) -> Generator[int | None]:
        """Descriptor of the folder that holds the file; None where it is missing and not to be made."""
        inside: int | None = self._root()
        try:
            for part in self._parts:
                below = _entered(inside, part, make=make)
                os.close(inside)
                inside = below
                if inside is None:
                    break
            yield inside
        finally:
            if inside is not None:
                os.close(inside)

    def _root(self) -> int:
        try:
            return os.open(self._folder, _FOLDER)
        except FileNotFoundError:
            raise NotFound("There is no such folder.", hint="Name the folder of a project.") from None
        except OSError as error:
            raise FilesystemError(f"Cannot use the folder: {why(error)}.") from None

    def _held(self, inside: int) -> bytes | None:
        if not _exists(inside, self._name):
            return None
        if not stat.S_ISREG(os.lstat(self._name, dir_fd=inside).st_mode):
            raise _in_the_way(self._name)
        descriptor = os.open(self._name, _READ, dir_fd=inside)
        with open(descriptor, "rb") as file:
            return file.read(_LARGEST)

    def _put(self, inside: int, data: bytes, before: bytes | None) -> None:
        staged = f".{self._name}.{os.urandom(8).hex()}"
        try:
            self._stage(inside, staged, data)
            if self._held(inside) != before:
                raise AlreadyExists("The file has changed meanwhile; nothing was written.", hint="Look at it again.")
            if before is None:
                os.link(staged, self._name, src_dir_fd=inside, dst_dir_fd=inside, follow_symlinks=False)
            else:
                os.rename(staged, self._name, src_dir_fd=inside, dst_dir_fd=inside)
        except FileExistsError:
            raise AlreadyExists("Somebody else has just written the file.", hint="Look at it again.") from None
        finally:
            with suppress(OSError):
                os.unlink(staged, dir_fd=inside)
        try:
            os.fsync(inside)
        except OSError as error:
            raise OutcomeUnknown(details={"reason": why(error)}) from None

    def _stage(self, inside: int, staged: str, data: bytes) -> None:
        descriptor = os.open(staged, _STAGE, _MODE, dir_fd=inside)
        with open(descriptor, "wb") as file:
            if _exists(inside, self._name):
                os.fchmod(descriptor, stat.S_IMODE(os.lstat(self._name, dir_fd=inside).st_mode))
            file.write(data)
            file.flush()
            os.fsync(descriptor)


def _entered(inside: int, part: str, *, make: bool) -> int | None:
    """Descriptor of a folder in a folder; what stands there and is none is refused, links too."""
    if not _exists(inside, part):
        if not make:
            return None
        with suppress(FileExistsError):
            os.mkdir(part, _FOLDER_MODE, dir_fd=inside)
            os.fsync(inside)
    if not stat.S_ISDIR(os.lstat(part, dir_fd=inside).st_mode):
        raise _in_the_way(part)
    return os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=inside)


def _exists(inside: int, name: str) -> bool:
    try:
        os.lstat(name, dir_fd=inside)
    except FileNotFoundError:
        return False
    return True


def _in_the_way(name: str) -> AlreadyExists:
    return AlreadyExists(
        f"{name} is a link, or not what belongs there; it was left as it is.",
        hint="Links are not followed. Move it away, or print the text and put it where you want it.",
    )
